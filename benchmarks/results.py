"""Record results in `benchmarks/results.jsonl`, and generate BENCHMARKS.md from it (`bertlab bench report`).

Rows are only appended; the report shows the newest row of each claim, in one table per topic.
"""

import json
import shlex
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import date
from pathlib import Path
from typing import Annotated

import tyro

from bertlab.config.errors import DataError
from bertlab.config.files import write_atomically

RESULTS_PATH = Path(__file__).parent / "results.jsonl"

INTRODUCTION = """\
# Benchmarks

`bertlab bench report` writes this file from `benchmarks/results.jsonl`, to which benchmarks append their results if
they are run with `--record`. It shows the newest result of each benchmark, whether or not it meets its target.
[The lab notebook](docs/lab-notebook.md) has settings and failed experiments, and results that no command reproduces.

A ratio is the median over several rounds: how many times faster (or smaller) bertlab is than the implementation in
"compared with", unless the row says otherwise. In brackets: minimum, maximum and n, the number of rounds, seeds or
examples. Machines: *EPYC* is two cores of an AMD EPYC (Zen 5) with bfloat16, *Xeon* two threads of an Intel Xeon with
AVX-512 on a shared machine, *Xeon AMX* two cores of a later Xeon. Nothing has been measured on a GPU yet. The commit is
the one that was measured; up to 2026-11-23, the one that added the result.
"""

# topics that share a table with another one -> the title of the table
TABLE_OF_TOPIC = {
    **dict.fromkeys(("Pre-training", "Data"), "Pre-training and data"),
    **dict.fromkeys(("App", "Serving"), "App and serving"),
}
TABLE_HEADER = (
    "| benchmark | value | target | compared with | machine | date, commit | command |",
    "|---|---:|---:|---|---|---|---|",
)


@dataclass(frozen=True)
class Result:
    """A measurement that supports a claim: one row of `benchmarks/results.jsonl`."""

    claim: str  # a topic, a colon, and the quantity in plain words
    value: float  # the median if there are several rounds
    unit: str = ""  # "x" for a ratio, "%", "ms", "MB" and so on
    spread: tuple[float, float] | None = None  # the minimum and the maximum over the rounds
    n: int | None = None  # the number of rounds, seeds or examples
    peer: str | None = None  # what the value is compared with
    target: float | None = None  # a minimum for speeds; a maximum for times, sizes and errors
    command: str = ""
    hardware: str | None = None
    commit: str | None = None  # the one that was measured
    date: str | None = None  # YYYY-MM-DD


@dataclass(frozen=True)
class ReportConfig:
    """Write BENCHMARKS.md from the recorded results.

    Examples:
      bertlab bench report
      bertlab bench report --results my-results.jsonl --out my-benchmarks.md
    """

    results: Annotated[Path, tyro.conf.arg(metavar="FILE")] = RESULTS_PATH
    """The file of recorded results, which benchmarks write with --record."""
    out: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """Where to write the report. Default: BENCHMARKS.md in the parent of the directory that contains the results
    file."""


def append_results(results: Sequence[Result], path: Path | None = None) -> None:
    """Append results to a file, each with the command line of this process, the commit and the date."""
    path = path or RESULTS_PATH
    path.parent.mkdir(parents=True, exist_ok=True)
    origin = {"command": read_command_line(), "commit": find_current_commit(), "date": date.today().isoformat()}
    with path.open("a", encoding="utf-8") as file:
        for result in results:
            file.write(json.dumps(asdict(replace(result, **origin)), ensure_ascii=False) + "\n")


def read_results(path: Path) -> list[Result]:
    """Read the results of a file; raise DataError if it is missing or a line of it is not a result."""
    if not path.is_file():
        raise DataError("bench-results-missing", path=str(path))
    rows = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        try:
            row = json.loads(line)
            rows.append(Result(**row | {"spread": tuple(row["spread"]) if row.get("spread") else None}))
        except (ValueError, TypeError, AttributeError):
            raise DataError("bench-results-line-invalid", path=str(path), line=number) from None
    return rows


def run(config: ReportConfig) -> None:
    """Write the report and print its path."""
    out = config.out or config.results.parent.parent / "BENCHMARKS.md"
    lines = format_report(read_results(config.results))
    write_atomically(out, "\n".join(lines) + "\n")
    print(f"{out}: {len(lines)} lines")


def format_report(results: Iterable[Result]) -> list[str]:
    """Return the lines of the report: tables by topic, with the newest result of each claim."""
    newest = {result.claim: result for result in results}
    topics: dict[str, list[Result]] = {}
    for result in newest.values():
        topic = result.claim.partition(":")[0]
        topics.setdefault(TABLE_OF_TOPIC.get(topic, topic), []).append(result)
    lines = INTRODUCTION.splitlines()
    for topic, rows in topics.items():
        lines += ["", f"## {topic}", *TABLE_HEADER, *map(_format_row, rows)]
    return lines


def _format_row(result: Result) -> str:
    details = [f"{result.spread[0]:g} to {result.spread[1]:g}"] if result.spread else []
    details += [f"n = {result.n:,}"] if result.n else []
    value = _format_value(result.value, result.unit) + (f" ({', '.join(details)})" if details else "")
    target = "" if result.target is None else _format_value(result.target, result.unit)
    origin = ", ".join(filter(None, (result.date, result.commit))) or "not recorded"
    claim = result.claim.partition(":")[2].strip()
    return (
        f"| {claim} | {value} | {target} | {result.peer or ''} | {result.hardware or ''} | {origin} "
        f"| `{result.command}` |"
    )


def _format_value(value: float, unit: str) -> str:
    """
    >>> _format_value(4.07, "x"), _format_value(46.8, "%"), _format_value(12345.0, "tokens/s")
    ('4.07x', '46.8 %', '12,345 tokens/s')
    """
    number = f"{value:,.0f}" if abs(value) >= 1000 else f"{value:g}"
    return f"{number}{unit}" if unit == "x" else f"{number} {unit}".strip()


def read_command_line() -> str:
    """Return the command line of this process, without the flags that do not affect the results."""
    arguments = [argument for argument in sys.argv[1:] if argument not in ("--record", "--json")]
    return shlex.join(["bertlab", *arguments])


def find_current_commit() -> str | None:
    """Return the short hash of the current commit, with "+" at its end if there are uncommitted changes."""
    git = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--abbrev=7", "--dirty=+", "--exclude=*"]
    try:
        return subprocess.run(git, capture_output=True, text=True, check=True).stdout.strip() or None
    except (OSError, subprocess.CalledProcessError):
        return None
