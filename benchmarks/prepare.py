"""`bertlab bench prepare`: measure the speed and memory of `bertlab prepare` on one, two and four copies of a text.

Each amount of text is prepared by the command itself, in a separate process. The memory of the command and its worker
processes together is sampled twenty times per second (Linux only). Two numbers are reported: resident memory,
in which shared memory counts once per process, and anonymous memory, the part of it that is not mapped from files.
The command then runs again, to measure how fast it detects that the corpus already exists.
"""

import json
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import torch
import tyro
from datasets import Dataset

from benchmarks.harness import BenchOptions, report
from benchmarks.results import Result
from bertlab.checkpoints import locate
from bertlab.config.errors import BertlabError
from bertlab.config.text_table import format_table
from bertlab.text.readers.documents import find_shards, read_texts
from bertlab.training.devices import describe_hardware


@dataclass(frozen=True)
class PrepareBenchConfig(BenchOptions):
    """Measure the speed and the memory of `bertlab prepare` for increasing amounts of text.

    Examples:
      bertlab bench prepare texts/part-0.parquet --megabytes 24 --workers 2
    """

    files: Annotated[tyro.conf.Positional[tuple[str, ...]], tyro.conf.arg(metavar="FILE ...")]
    """The files with the text."""
    column: str = "text"
    """The column with the text."""
    megabytes: float = 24
    """The benchmark takes a sample of this many megabytes from the files, the same amount from each."""
    copies: Annotated[tuple[int, ...], tyro.conf.arg(metavar="INT ...", aliases=("--times",))] = (1, 2, 4)
    """The amounts of text to prepare, as multiples of the sample (see --megabytes). Each amount is measured once."""
    workers: int = 2
    """Worker processes of `bertlab prepare`."""
    tokenizer: str = "strongest"
    """The checkpoint whose tokenizer is used."""


def measure(config: PrepareBenchConfig) -> dict:
    """Return a row of measurements for each amount of text (`sizes`), with the hardware and the number of workers."""
    rows = []
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        text = write_sample(list(config.files), config.column, config.megabytes, directory)
        for copies in config.copies:
            source, out = directory / f"x{copies}", directory / f"out-{copies}"
            source.mkdir()
            for index in range(copies):
                (source / f"slice-{index}.parquet").symlink_to(text)
            command = [sys.executable, "-m", "bertlab", "prepare", str(source), "--out", str(out)]
            command += ["--tokenizer", str(locate.find(config.tokenizer)), "--workers", str(config.workers)]
            _, resident, anonymous = run_and_measure(command)
            seconds_again, _, _ = run_and_measure(command)
            corpus_info = json.loads((out / "corpus.json").read_text())
            megabytes, seconds = corpus_info["bytes"] / 1e6, corpus_info["seconds"]
            rows.append({
                "megabytes": round(megabytes, 3), "documents": corpus_info["documents"],
                "tokens": corpus_info["tokens"],
                "seconds": round(seconds, 1), "megabytes_per_second": round(megabytes / seconds, 1),
                "peak_resident_mb": resident, "peak_anonymous_mb": anonymous, "seconds_again": round(seconds_again, 1),
            })  # fmt: skip
    return {"hardware": describe_hardware(torch.device("cpu")), "workers": config.workers, "sizes": rows}


def write_sample(files: list[str], column: str, megabytes: float, directory: Path) -> Path:
    """Write the sample to a Parquet file, and return its path.

    The sample contains an equal amount of text from the start of each file.
    """
    texts: list[str] = []
    for file in files:
        size = 0
        for shard in find_shards([file], column)[0]:
            for _, text, _ in read_texts(shard, column):
                if size < megabytes * 1e6 / len(files):
                    texts.append(text or "")
                    size += len(texts[-1].encode())
    Dataset.from_dict({"text": texts}).to_parquet(directory / "slice-0.parquet", batch_size=500)
    return directory / "slice-0.parquet"


def read_process_tree_memory(root_pid: int) -> tuple[int, int]:
    """Return the resident and the anonymous memory, in kB, of a process and its descendants."""
    parents, resident, anonymous = {}, {}, {}
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            fields = dict(line.split(":", 1) for line in status.read_text().splitlines())
        except OSError:
            continue  # the process has just ended
        pid = int(status.parent.name)
        parents[pid] = int(fields["PPid"])
        resident[pid], anonymous[pid] = (int(fields.get(name, "0").split()[0]) for name in ("VmRSS", "RssAnon"))
    tree, new_pids = set(), {root_pid}  # process ids
    while new_pids:
        tree |= new_pids
        new_pids = {pid for pid, parent in parents.items() if parent in tree} - tree
    return sum(resident.get(pid, 0) for pid in tree), sum(anonymous.get(pid, 0) for pid in tree)


def run_and_measure(command: list[str]) -> tuple[float, int, int]:
    """Run a command, and return its seconds and the peaks of its resident and anonymous memory in MB.

    Raises:
        BertlabError: the command fails.
    """
    start = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    peaks = (0, 0)
    while process.poll() is None:
        peaks = tuple(map(max, peaks, read_process_tree_memory(process.pid)))
        time.sleep(0.05)
    if process.returncode:
        reason = (process.stderr.read().strip().splitlines() or [""])[-1]
        raise BertlabError("bench-command-failed", command="bertlab prepare", reason=reason)
    return time.monotonic() - start, peaks[0] >> 10, peaks[1] >> 10


def run(config: PrepareBenchConfig) -> None:
    """Measure, print the measurements, and record the results if `--record` is given."""
    measurements = measure(config)
    first, last = measurements["sizes"][0], measurements["sizes"][-1]
    growth = round(last["peak_resident_mb"] / first["peak_resident_mb"], 2)
    details = {"hardware": measurements["hardware"]}
    results = [
        Result(f"Data: preparing text, {config.workers} workers", last["megabytes_per_second"], unit="MB/s", **details),
        Result(
            f"Data: peak memory of `bertlab prepare`, {config.copies[-1] / config.copies[0]:g} times the text relative "
            "to the text once",
            growth, unit="x", **details,
        ),
    ]  # fmt: skip
    if config.json:
        report(measurements, results, config)
        return
    sizes = measurements.pop("sizes")
    report(measurements, results, config)
    rows = [[name.replace("_", " ") for name in sizes[0]], *([f"{value:,}" for value in row.values()] for row in sizes)]
    print("\n".join(["", *format_table(rows, ">" * len(rows[0]))]))
