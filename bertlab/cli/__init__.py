"""The command line.

A command consists of a dataclass, whose fields become its flags, and a function that takes an instance of it. Only the
module of the command that runs is imported, so that `--help` is fast.

commands    the table of all commands: the module and the summary of each
dispatch    find the command, parse its arguments, run it, return an exit code
flags       build flags and help texts from a dataclass
query       arguments and printing shared by the commands that query a checkpoint
ask         fill-mask, next-sentence, answer, classify, choose, tag
explore     attend, heads, lens
checkpoint  info, export
reproduce   reproduce a table of the paper
app         start the app

The commands that train, evaluate and benchmark are in `bertlab.training` and `bertlab.bench`.
"""

from bertlab.cli.dispatch import main

__all__ = ["main"]
