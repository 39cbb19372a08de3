"""The command line.

A command consists of a dataclass, whose fields become its flags, and a function that takes an instance of it. Only the
module of the command that runs is imported, so that `--help` is fast.

commands    the table of all commands: the module and the summary of each
dispatch    find the command, parse its arguments, run it, return an exit code
flags       build flags and help texts from a dataclass
query       flags, input and output that several commands share

ask                  fill-mask, next-sentence, answer, classify, choose, tag
sentences            embed, similar, cluster
summarise, writing   the commands of the same names
explore              attention, heads, logit-lens
pretraining_example  pretraining-example
cost, story_world    cost, story-world
checkpoint           info, export
export_live          export-live
app, serve           start the app, start the HTTP server
reproduce            reproduce a table of the paper

The commands that prepare data, train, evaluate and compress are in `bertlab.training`, the benchmarks in
`benchmarks`.
"""

from bertlab.cli.dispatch import main

__all__ = ["main"]
