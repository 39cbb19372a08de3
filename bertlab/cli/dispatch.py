"""From a command line to the command that is meant, and from what comes of it to an exit code.

A user's mistake is one line on stderr, never a traceback. Knows no command.
"""

import contextlib
import io
import os
import re
import sys
import time
from collections.abc import Sequence
from importlib import import_module

import bertlab
from bertlab.cli.commands import COMMANDS, HELP
from bertlab.config.errors import BertlabError
from bertlab.config.limits import check_limits

USAGE, INTERRUPTED, BROKEN_PIPE = 2, 130, 141  # exit codes; the last two are 128 + the signal, as shells have it


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command -> its exit code: 0, or 2 for a user's mistake, which is said in one line on stderr."""
    with contextlib.suppress(AttributeError, ValueError):
        # a terminal that cannot show a character gets a question mark and not a traceback
        sys.stdout.reconfigure(errors="replace")
        sys.stderr.reconfigure(errors="replace")
    try:
        code = _run(list(sys.argv[1:] if argv is None else argv))
        sys.stdout.flush()
        return code
    except BertlabError as error:
        return _refuse(str(error))
    except KeyboardInterrupt as stop:
        if said := str(stop):
            print(f"bertlab: {said}", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # whoever read has gone; Python flushes once more when it ends, which must not fail again
        with contextlib.suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except MemoryError:
        return _refuse("there is not enough memory for this")
    except OSError as error:
        return _refuse(f"{error.filename}: {error.strerror}" if error.filename else str(error))


def _run(words: list[str]) -> int:
    if not words or words[0] in ("-h", "--help", "help"):
        listed = "\n".join(f"  {name:16}{command.line}" for name, command in COMMANDS.items())
        print(HELP.format(version=bertlab.__version__, commands=listed), end="")
        return 0
    if words[0] == "--version":
        print(bertlab.__version__)
        return 0
    name, *rest = words
    if rest and f"{name} {rest[0]}" in COMMANDS:
        name, rest = f"{name} {rest[0]}", rest[1:]
    if name not in COMMANDS:
        raise BertlabError(f"there is no command {name!r}: bertlab --help lists them")
    command = COMMANDS[name]
    _wait_asleep(name)
    try:
        module = import_module(f"bertlab.{command.module}")
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("bertlab"):
            raise
        raise BertlabError(f"bertlab {name} needs {error.name}: pip install {error.name}") from None
    recipe = import_module(f"bertlab.{command.recipes}").asked(rest) if command.recipes else None
    config = _parse(getattr(module, command.config), f"bertlab {name}", rest, recipe)
    if config is None:
        return 0
    check_limits(config)
    code = getattr(module, command.function)(config)
    return code if isinstance(code, int) else 0


def _wait_asleep(name: str) -> None:
    """Let a thread that waits for others sleep soon.

    By default it stays awake for milliseconds: where another program has a core it does so at every layer, and a step
    takes several times as long (BENCHMARKS.md). OpenMP reads this when torch loads it. `bench` has the machine to
    itself.
    """
    if not name.startswith("bench") and "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", "1000")


def _parse(kind: type, name: str, words: list[str], recipe: object | None = None) -> object | None:
    """Words to a configuration, the recipe changed by them if there is one; None where help was asked for and given."""
    from bertlab.cli import flags  # a tenth of a second that the list of commands need not wait for

    boxed, (about, examples) = io.StringIO(), flags.about(kind)
    if not {"-h", "--help"}.isdisjoint(words):
        print(about, end="\n\n")
    try:
        with contextlib.redirect_stderr(boxed):
            return flags.parse(kind, words, prog=name, description="", **({"default": recipe} if recipe else {}))
    except SystemExit as exit:
        if not exit.code:
            print(f"\nExamples:\n{examples}")  # at the end, where long help leaves the reader
            return None
    raise BertlabError(f"{_unboxed(boxed.getvalue())} ({name} --help says more)")


def _unboxed(report: str) -> str:
    """The first paragraph of a report in a box, as one line.

    >>> _unboxed("╭─ Value error ─╮\\n│ Expected one  │\\n│   number      │\\n│ ───────────── │\\n│ See --help    │")
    'Expected one number'
    """
    paragraph = []
    for line in re.sub(r"\x1b\[[0-9;]*m", "", report).splitlines()[1:]:
        text = line[1:-1].rstrip()
        rule = set(text) <= set(" ─-")
        if rule and paragraph:
            break
        # what stands further in is the help of an argument, which --help gives better
        if not rule and not text.startswith(8 * " "):
            paragraph += text.split()
    return " ".join(paragraph) or "this cannot be understood"


def _refuse(line: str) -> int:
    if os.environ.get("TORCHELASTIC_RUN_ID") and (rank := os.environ.get("RANK", "0")) != "0":
        # a mistake all processes share is said by the first; when that has ended, torchrun ends this one
        time.sleep(10)
        line = f"process {rank}: {line}"
    print(f"bertlab: {' '.join(line.split())}", file=sys.stderr)
    return USAGE
