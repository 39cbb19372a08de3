"""`bertlab bench prepare`: measure the speed and memory of `bertlab prepare` on one, two and four copies of a text.

Each amount of text is prepared by the command itself, in a separate process. The resident memory of the command and its
worker processes together is sampled twenty times per second; shared memory counts once per process.
"""

import json
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import psutil
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
    """The files with the text, in a column `text`."""
    megabytes: float = 24
    """The benchmark takes a sample of this many megabytes from the files, the same amount from each."""
    copies: Annotated[tuple[int, ...], tyro.conf.arg(metavar="INT ...")] = (1, 2, 4)
    """The amounts of text to prepare, as multiples of the sample (see --megabytes). Each amount is measured once."""
    workers: int = 2
    """Worker processes of `bertlab prepare`."""
    tokenizer: str = "strongest"
    """The checkpoint whose tokenizer is used."""


def measure(config: PrepareBenchConfig) -> list[dict]:
    """Return a row of measurements for each amount of text."""
    rows = []
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        text = write_sample(list(config.files), config.megabytes, directory / "sample.parquet")
        for copies in config.copies:
            source, out = directory / f"x{copies}", directory / f"out-{copies}"
            source.mkdir()
            for index in range(copies):
                (source / f"slice-{index}.parquet").symlink_to(text)
            command = [sys.executable, "-m", "bertlab", "prepare", str(source), "--out", str(out)]
            command += ["--tokenizer", str(locate.find(config.tokenizer)), "--workers", str(config.workers)]
            peak_mb = run_and_measure(command)
            info = json.loads((out / "corpus.json").read_text())
            megabytes, seconds = info["bytes"] / 1e6, info["seconds"]
            rows.append({
                "megabytes": round(megabytes, 3), "documents": info["documents"], "tokens": info["tokens"],
                "seconds": round(seconds, 1), "megabytes_per_second": round(megabytes / seconds, 1), "peak_mb": peak_mb,
            })  # fmt: skip
    return rows


def write_sample(files: list[str], megabytes: float, path: Path) -> Path:
    """Write an equal amount of text from the start of each file to a Parquet file, and return its path."""
    texts: list[str] = []
    for file in files:
        size = 0
        for shard in find_shards([file], "text")[0]:
            for _, text, _ in read_texts(shard, "text"):
                if size < megabytes * 1e6 / len(files):
                    texts.append(text or "")
                    size += len(texts[-1].encode())
    Dataset.from_dict({"text": texts}).to_parquet(path, batch_size=500)
    return path


def run_and_measure(command: list[str]) -> int:
    """Run a command, and return the peak memory in MB of its process and the descendants of that."""
    process = psutil.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    peak = 0
    while process.poll() is None:
        resident = 0
        with suppress(psutil.Error):  # a process has just ended
            for each in (process, *process.children(recursive=True)):
                resident += each.memory_info().rss
        peak = max(peak, resident)
        time.sleep(0.05)
    if process.returncode:
        reason = (process.stderr.read().strip().splitlines() or [""])[-1]
        raise BertlabError("bench-command-failed", command="bertlab prepare", reason=reason)
    return peak >> 20


def run(config: PrepareBenchConfig) -> None:
    """Measure, print the measurements, and record the results if `--record` is given."""
    hardware, sizes = describe_hardware(torch.device("cpu")), measure(config)
    growth, copies = round(sizes[-1]["peak_mb"] / sizes[0]["peak_mb"], 2), config.copies[-1] / config.copies[0]
    speed = f"Data: preparing text, {config.workers} workers"
    memory = f"Data: peak memory of `bertlab prepare`, {copies:g} times the text relative to the text once"
    results = [
        Result(speed, sizes[-1]["megabytes_per_second"], unit="MB/s", hardware=hardware),
        Result(memory, growth, unit="x", hardware=hardware),
    ]
    report(
        {"hardware": hardware, "workers": config.workers} | ({"sizes": sizes} if config.json else {}), results, config
    )
    if not config.json:
        rows = [[name.replace("_", " ") for name in sizes[0]], *([f"{v:,}" for v in row.values()] for row in sizes)]
        print("\n".join(["", *format_table(rows, ">" * len(rows[0]))]))
