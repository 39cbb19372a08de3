"""How fast `bertlab prepare` is and how much memory it takes, over once, twice and four times the same text.

    python scripts/bench_prepare.py texts/*.parquet --megabytes 24 --workers 2

Every size is prepared by the command itself in a process of its own; memory is that of all its processes together,
looked up twenty times a second (Linux only). Two figures: resident memory, in which what processes share counts once
for each of them, and the part of it that is no file's (anonymous), which is what a machine must have. Then the same
command once more, which finds its work done.
"""

import json
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import tyro
from datasets import Dataset

from bertlab.text.readers.documents import find_shards, read_texts


def slice_of(files: list[str], column: str, megabytes: float, directory: Path) -> Path:
    """The first so many megabytes of text, a share from each file, as one Parquet file."""
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
    """Resident and anonymous memory, in kB, of a process and its descendants."""
    parent, resident, anonymous = {}, {}, {}
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            found = dict(line.split(":", 1) for line in status.read_text().splitlines())
        except OSError:
            continue  # it has just ended
        pid = int(status.parent.name)
        parent[pid] = int(found["PPid"])
        resident[pid], anonymous[pid] = (int(found.get(name, "0").split()[0]) for name in ("VmRSS", "RssAnon"))
    tree, new = set(), {root}
    while new:
        tree |= new
        new = {pid for pid, above in parent.items() if above in tree} - tree
    return sum(resident.get(pid, 0) for pid in tree), sum(anonymous.get(pid, 0) for pid in tree)


def measured(command: list[str]) -> tuple[float, int, int]:
    """Seconds, and peaks of resident and anonymous memory in MB."""
    began = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    peaks = (0, 0)
    while process.poll() is None:
        peaks = tuple(map(max, peaks, memory_of_tree(process.pid)))
        time.sleep(0.05)
    if process.returncode:
        raise SystemExit(process.stderr.read())
    return time.monotonic() - began, peaks[0] >> 10, peaks[1] >> 10


@dataclass(frozen=True)
class BenchPrepare:
    """Prepare the same text once, twice and four times over."""

    files: tyro.conf.Positional[tuple[str, ...]]
    """Where the text is from."""
    column: str = "text"
    megabytes: float = 24
    """Of text, from all files together."""
    times: tuple[int, ...] = (1, 2, 4)
    workers: int = 2
    tokenizer: Path = Path("assets/checkpoints/strongest")


def main(asked: BenchPrepare) -> None:
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        text = slice_of(list(asked.files), asked.column, asked.megabytes, directory)
        print("text, MB | documents | tokens | seconds | MB/s | peak memory, MB | of which anonymous | again, s")
        print("--- | --- | --- | --- | --- | --- | --- | ---")
        for times in asked.times:
            source, out = directory / f"x{times}", directory / f"out-{times}"
            source.mkdir()
            for nth in range(times):
                (source / f"slice-{nth}.parquet").symlink_to(text)
            command = [sys.executable, "-m", "bertlab", "prepare", str(source), "--out", str(out)]
            command += ["--tokenizer", str(asked.tokenizer), "--workers", str(asked.workers)]
            _, resident, anonymous = measured(command)
            again, _, _ = measured(command)
            facts = json.loads((out / "corpus.json").read_text())
            size, seconds = facts["bytes"] / 1e6, facts["seconds"]
            row = [f"{times} x {size / times:.1f}", f"{facts['documents']:,}", f"{facts['tokens']:,}", f"{seconds:.1f}"]
            row += [f"{size / seconds:.1f}", str(resident), str(anonymous), f"{again:.1f}"]
            print(" | ".join(row), flush=True)


if __name__ == "__main__":
    main(tyro.cli(BenchPrepare))
