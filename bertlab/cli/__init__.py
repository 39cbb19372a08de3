"""F5, the command line: names to functions, flags from dataclasses, mistakes in one line.

Only the module of the command that is called gets imported, so help comes at once. Knows nothing of how an answer is
found or how a model learns.

commands    the table of them all: where each lives, and what it does in a line
dispatch    a command line -> the command that is meant, its configuration and an exit code
common      what every question to a checkpoint takes, and how its answer is told
ask         fill-mask, nsp, answer, classify, choose, tag
look        attend, heads, lens
checkpoint  info, export
reproduce   a table of the paper
window      app

Training, measuring and benchmarks live with what they run: `learn` and `bench`.
"""

from bertlab.cli.dispatch import main

__all__ = ["main"]
