"""Find the command that a command line names, run it, and return an exit code.

A user's mistake is printed as one line on standard error, with exit code 2. A bug is printed as one line too, with exit
code 1, and its stack trace is written to a log.
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
from bertlab.abilities.registry import find_abilities
from bertlab.checkpoints.assets import REPOSITORY
from bertlab.cli.commands import ALIASES, BENCH_HELP, COMMANDS, HELP
from bertlab.config.crash_log import log_unexpected_error
from bertlab.config.errors import BertlabError
from bertlab.config.languages import Message
from bertlab.config.limits import check_limits

# arguments that ask for the list of commands or benchmarks
HELP_WORDS = ("-h", "--help", "help")
# exit codes; as in shells, the exit code after a signal is 128 + the number of the signal
BUG, USAGE_ERROR, INTERRUPTED, BROKEN_PIPE = 1, 2, 130, 141


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command.

    Args:
        argv: the arguments after `bertlab`. Default: the arguments of this process.

    Returns:
        The exit code: 0, 2 for a user's mistake, 1 for a bug, 130 after Ctrl-C (143 after
        SIGTERM, 129 after SIGHUP), 141 if the program that reads the output has closed the pipe.
    """
    with contextlib.suppress(AttributeError, ValueError):
        # a character that the terminal cannot show is printed as a question mark instead of raising
        sys.stdout.reconfigure(errors="replace")
        sys.stderr.reconfigure(errors="replace")
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        code = _run(arguments)
        sys.stdout.flush()
        return code
    except BertlabError as error:
        return _print_error(error)
    except KeyboardInterrupt as interrupt:
        if message := str(interrupt):
            print(f"bertlab: {message}", file=sys.stderr)
        return getattr(interrupt, "exit_code", INTERRUPTED)
    except BrokenPipeError:
        # at exit, Python flushes standard output again, which would fail, so it is redirected to the null device
        with contextlib.suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except MemoryError:
        return _print_error(BertlabError("out-of-memory"))
    except OSError as error:
        if error.filename:
            path, reason = str(error.filename), error.strerror or type(error).__name__
            return _print_error(BertlabError("file-operation-failed", path=path, reason=reason))
        return _print_error(BertlabError("operation-failed", reason=str(error)))
    except (SystemExit, GeneratorExit):
        raise
    except BaseException as error:  # noqa: BLE001 - a panic of a Rust library is not an `Exception`
        _print_error(log_unexpected_error(error, f"bertlab {' '.join(arguments[:2])}"))
        return BUG


def _run(arguments: list[str]) -> int:
    """Run a command, or print a list of commands or the version. Return the exit code."""
    if not arguments or arguments[0] in HELP_WORDS:
        print(HELP.format(version=bertlab.__version__, commands=_list_commands()), end="")
        return 0
    # a benchmark takes minutes, so it starts only if the command line names it or sets one of its flags
    if arguments[0] == "bench" and (not arguments[1:] or arguments[1] in HELP_WORDS):
        print(BENCH_HELP.format(commands=_list_commands("bench ")), end="")
        return 0
    if arguments[0] == "--version":
        print(bertlab.__version__)
        return 0
    name, arguments = _find_command(arguments)
    _shorten_thread_spinning(name)
    if ability := find_abilities("command").get(name):
        from bertlab.cli.ask import ask, make_options  # imports tyro, which `bertlab --help` does not need

        options = _parse(make_options(ability), f"bertlab {name}", arguments)
        if options is not None:
            check_limits(options)
            ask(options)
        return 0
    command = COMMANDS[name]
    if name.startswith("bench"):
        if not (REPOSITORY / "benchmarks").is_dir():  # the installed package has no benchmarks
            raise BertlabError("bench-needs-clone")
        sys.path.append(str(REPOSITORY))
    try:
        module = import_module(command.module, "bertlab")
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith(("bertlab", "benchmarks")):
            raise
        raise BertlabError("command-needs-package", command=name, package=error.name) from None
    recipes = import_module(command.recipes, "bertlab") if command.recipes else None
    # A recipe changes the defaults. Some recipes depend on parsed flags; the arguments are then parsed a second time.
    recipe = recipes.recipe_from_arguments(arguments) if recipes else None
    config = _parse(getattr(module, command.config), f"bertlab {name}", arguments, recipe)
    if config is not None and recipes and (recipe := recipes.recipe_from_config(config, arguments)):
        config = _parse(getattr(module, command.config), f"bertlab {name}", arguments, recipe)
    if config is None:
        return 0
    check_limits(config)
    code = getattr(module, command.function)(config)
    return code if isinstance(code, int) else 0


def _list_commands(prefix: str = "") -> str:
    """List the commands whose names start with a prefix, one per line, without the prefix, and their summaries."""
    commands = COMMANDS if prefix else find_abilities("command") | COMMANDS
    summaries = {name.removeprefix(prefix): row.summary for name, row in commands.items() if name.startswith(prefix)}
    width = max(map(len, summaries)) + 2
    return "\n".join(f"  {name:{width}}{summary}" for name, summary in summaries.items())


def _find_command(arguments: list[str]) -> tuple[str, list[str]]:
    """Split a command line into the name of a command, which has one or two words, and its arguments.

    >>> _find_command(["bench", "lengths", "--json"]), _find_command(["nsp", "a", "b"])
    (('bench lengths', ['--json']), ('next-sentence', ['a', 'b']))
    """
    for num_words in (2, 1):
        name = " ".join(arguments[:num_words])
        name = ALIASES.get(name, name)
        if name in COMMANDS or name in find_abilities("command"):
            if arguments[0] == "bench" and num_words == 1 and not arguments[1].startswith("-"):
                raise BertlabError("command-unknown", command=" ".join(arguments[:2]))
            return name, arguments[num_words:]
    raise BertlabError("command-unknown", command=arguments[0])


def _shorten_thread_spinning(name: str) -> None:
    """Make OpenMP threads that wait for other threads sleep after 1,000 spins.

    By default they spin for milliseconds. If another program uses one of the cores, they do so in every layer, and a
    training step takes several times as long (docs/lab-notebook.md). OpenMP reads the environment variable
    GOMP_SPINCOUNT when torch loads it. Benchmarks keep the default, because they are run on an otherwise idle machine.
    """
    if not name.startswith("bench") and "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", "1000")


def _parse(config_type: type, name: str, arguments: list[str], recipe: object | None = None) -> object | None:
    """Parse arguments into a configuration.

    Args:
        config_type: the dataclass of the configuration.
        name: the name of the command in its help.
        recipe: a configuration whose values are the defaults. If it is None, the dataclass's defaults are used.

    Returns:
        The configuration, or None after printing the help.
    """
    # This imports tyro, which takes 0.1 s. The list of commands, which is printed without parsing, does not need it.
    from bertlab.cli import flags

    # `report` receives what tyro prints about invalid arguments
    report, (description, examples) = io.StringIO(), flags.split_docstring(config_type)
    if not {"-h", "--help"}.isdisjoint(arguments):
        print(description, end="\n\n")
        # without the other arguments, because tyro's usage line omits positional arguments that are given
        arguments = ["--help"]
    try:
        with contextlib.redirect_stderr(report):
            return flags.parse(
                config_type, arguments, prog=name, description="", **({"default": recipe} if recipe else {})
            )
    except SystemExit as system_exit:
        if not system_exit.code:
            print(f"\nExamples:\n{examples}")  # the examples come last, so that they are visible below a long help text
            return None
    reason = _extract_message(report.getvalue()) or Message("arguments-not-understood")
    raise BertlabError("arguments-invalid", reason=reason, command=name)


def _extract_message(report: str) -> str:
    """Return the first paragraph of tyro's boxed report as one line.

    >>> _extract_message("╭─ Value error ─╮\\n│ Expected one  │\\n│   number      │\\n│ ─────── │\\n│ See help │")
    'Expected one number'
    """
    paragraph = []
    for line in re.sub(r"\x1b\[[0-9;]*m", "", report).splitlines()[1:]:
        text = line[1:-1].rstrip()
        is_separator = set(text) <= set(" ─-")
        if is_separator and paragraph:
            break
        # lines with a larger indent are the help of an argument, which `--help` shows better
        if not is_separator and not text.startswith(8 * " "):
            paragraph += text.split()
    return " ".join(paragraph)


def _print_error(error: BertlabError) -> int:
    """Print an error as one line on standard error, and return the exit code of a user's mistake."""
    rank = os.environ.get("RANK", "0")
    if os.environ.get("TORCHELASTIC_RUN_ID") and rank != "0":
        # All processes fail with the same error. The main process reports it. Then torchrun ends this process, while it
        # sleeps.
        time.sleep(10)
        error = BertlabError("process-failed", rank=rank, error=error)
    print(f"bertlab: {' '.join(str(error).split())}", file=sys.stderr)
    return USAGE_ERROR
