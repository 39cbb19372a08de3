"""`bertlab bench prepare`: speed and memory of `bertlab prepare`, over once, twice and four times the same text.

Every size is prepared by the command itself, in a process of its own. Memory is that of all its processes together,
sampled twenty times a second (Linux only): resident memory, in which shared pages count once a process, and its
anonymous part, which the machine must have. Then the same command runs again and finds its work done.
"""

import json
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import torch
import tyro
from datasets import Dataset

from bertlab.bench.harness import BenchOptions, report
from bertlab.bench.results import Result
from bertlab.checkpoints import locate
from bertlab.config.errors import BertlabError
from bertlab.text.readers.documents import find_shards, read_texts
from bertlab.training.devices import describe_hardware


@dataclass(frozen=True)
class PrepareBenchConfig(BenchOptions):
    """Measure the speed and the memory of `bertlab prepare` for growing amounts of text.

    Examples:
      bertlab bench prepare texts/part-0.parquet --megabytes 24 --workers 2
    """

    files: tyro.conf.Positional[tuple[str, ...]]
    """Files that the text is taken from."""
    column: str = "text"
    """The column of the text."""
    megabytes: float = 24
    """Megabytes of text, from all files together."""
    times: tuple[int, ...] = (1, 2, 4)
    """Numbers of copies of the text; each is measured once."""
    workers: int = 2
    """Worker processes of `bertlab prepare`."""
    tokenizer: str = "strongest"
    """The checkpoint whose tokenizer is used."""


def bench(config: PrepareBenchConfig) -> dict:
    """Return `sizes`, a row for each amount of text."""
    rows = []
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        text = take_megabytes(list(config.files), config.column, config.megabytes, directory)
        for times in config.times:
            source, out = directory / f"x{times}", directory / f"out-{times}"
            source.mkdir()
            for number in range(times):
                (source / f"slice-{number}.parquet").symlink_to(text)
            command = [sys.executable, "-m", "bertlab", "prepare", str(source), "--out", str(out)]
            command += ["--tokenizer", str(locate.find(config.tokenizer)), "--workers", str(config.workers)]
            _, resident, anonymous = run_measured(command)
            again, _, _ = run_measured(command)
            facts = json.loads((out / "corpus.json").read_text())
            size, seconds = facts["bytes"] / 1e6, facts["seconds"]
            rows.append({
                "megabytes": round(size, 3), "documents": facts["documents"], "tokens": facts["tokens"],
                "seconds": round(seconds, 1), "megabytes_per_second": round(size / seconds, 1),
                "peak_resident_mb": resident, "peak_anonymous_mb": anonymous, "seconds_again": round(again, 1),
            })  # fmt: skip
    return {"hardware": describe_hardware(torch.device("cpu")), "workers": config.workers, "sizes": rows}


def take_megabytes(files: list[str], column: str, megabytes: float, directory: Path) -> Path:
    """Write the first megabytes of text, an equal share from each file, as one Parquet file, and return its path."""
    kept: list[str] = []
    for file in files:
        size = 0
        for shard in find_shards([file], column)[0]:
            for _, text, _ in read_texts(shard, column):
                if size < megabytes * 1e6 / len(files):
                    kept.append(text or "")
                    size += len(kept[-1].encode())
    Dataset.from_dict({"text": kept}).to_parquet(directory / "slice-0.parquet", batch_size=500)
    return directory / "slice-0.parquet"


def memory_of_tree(root: int) -> tuple[int, int]:
    """Return the resident and the anonymous memory, in kB, of a process and its descendants."""
    parent, resident, anonymous = {}, {}, {}
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            found = dict(line.split(":", 1) for line in status.read_text().splitlines())
        except OSError:
            continue  # the process has just ended
        pid = int(status.parent.name)
        parent[pid] = int(found["PPid"])
        resident[pid], anonymous[pid] = (int(found.get(name, "0").split()[0]) for name in ("VmRSS", "RssAnon"))
    tree, new = set(), {root}
    while new:
        tree |= new
        new = {pid for pid, above in parent.items() if above in tree} - tree
    return sum(resident.get(pid, 0) for pid in tree), sum(anonymous.get(pid, 0) for pid in tree)


def run_measured(command: list[str]) -> tuple[float, int, int]:
    """Run a command and return its seconds, and its peaks of resident and anonymous memory in MB."""
    start = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    peaks = (0, 0)
    while process.poll() is None:
        peaks = tuple(map(max, peaks, memory_of_tree(process.pid)))
        time.sleep(0.05)
    if process.returncode:
        reason = (process.stderr.read().strip().splitlines() or [""])[-1]
        raise BertlabError("bench-command-failed", command="bertlab prepare", reason=reason)
    return time.monotonic() - start, peaks[0] >> 10, peaks[1] >> 10


def run(config: PrepareBenchConfig) -> None:
    """Measure, print and record."""
    measurements = bench(config)
    first, last = measurements["sizes"][0], measurements["sizes"][-1]
    growth = round(last["peak_resident_mb"] / first["peak_resident_mb"], 2)
    details = {"hardware": measurements["hardware"]}
    results = [
        Result(f"Data: preparing text, {config.workers} workers", last["megabytes_per_second"], unit="MB/s", **details),
        Result(
            f"Data: peak memory of `bertlab prepare`, {config.times[-1] / config.times[0]:g} times the text relative "
            "to the text once",
            growth, unit="x", **details,
        ),
    ]  # fmt: skip
    if config.json:
        report(measurements, results, config)
        return
    sizes = measurements.pop("sizes")
    report(measurements, results, config)
    print("\n" + " | ".join(name.replace("_", " ") for name in sizes[0]))
    print("\n".join(" | ".join(f"{value:,}" for value in row.values()) for row in sizes))
