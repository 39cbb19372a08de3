"""Raw text -> a prepared corpus, by several processes, in memory that does not grow with the text.

Each process takes a shard of a source, cuts and tokenises it, and deals its documents out at random over as many stacks
as there are such that one fits in memory; then every stack is shuffled by itself. So any document may come to lie
anywhere, and everything is read and written front to back. Knows no model.
"""

import hashlib
import json
import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path

import datasets
import numpy as np
import pyarrow as pa
from tqdm import tqdm

from bertlab.config.errors import DataError
from bertlab.config.files import write_atomically
from bertlab.config.languages import Message
from bertlab.config.lock import exclusive_lock
from bertlab.text.pretraining import worker_process as helpers
from bertlab.text.pretraining.corpus import Corpus, segments
from bertlab.text.readers.corpus_files import NO_TEXT, Damage, Shard, damage_of, files_of, shards, texts
from bertlab.text.readers.invalid_rows import InvalidRowAction, InvalidRows
from bertlab.text.tokenizers.wordpiece import Tokenizer

STACK = 16 << 20  # bytes of text whose documents are shuffled among each other
MOST_STACKS = 200  # of them are open at once, so beyond 3 GB of text they are larger
TOKENS_AT_ONCE = 1 << 20  # that a process holds
FILE = 4 << 30  # bytes of tokens in one Arrow file
STREAM_BAR = "tokenising {elapsed} {postfix}"
BAR = "tokenising {percentage:5.1f}%|{bar}| {elapsed}<{remaining} {postfix}"
SAID = {
    "sources": "other texts",
    "files": "texts that have changed since",
    "learnt": "another vocabulary",
    "vocabulary": "another vocabulary",
}


@dataclass
class Tally:
    """What came of a shard, or of all. damaged: the first few; damages: how many. bytes: of text, in UTF-8."""

    documents: int = 0
    tokens: int = 0
    characters: int = 0
    bytes: int = 0
    damages: int = 0
    damaged: list[Damage] = field(default_factory=list)

    def add(self, other: "Tally") -> None:
        for name in ("documents", "tokens", "characters", "bytes", "damages"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.damaged = (self.damaged + other.damaged)[:5]


def prepare(
    sources: list[str],
    vocabulary: Tokenizer | Callable[[list[Shard]], Tokenizer],
    out,
    *,
    column: str = "text",
    seed: int = 0,
    workers: int = 2,
    weights: list[float] | None = None,
    damaged: InvalidRowAction = "stop",
    stream: bool = False,
    learnt: dict | None = None,
) -> Corpus:
    """Tokenise documents in parallel and keep them under `out`. The same settings a second time open what is there.

    Args:
        vocabulary: a tokenizer, or what makes one from shards of the sources, and then `learnt` says how.
        weights: how often an epoch goes through each source; training heeds them, nothing here changes with them.
        damaged: "stop" at a row or file that cannot be used, or "skip" it, count it, and list it in damaged.jsonl.
        stream: take hub data sets as they come instead of downloading them first.

    Raises:
        DataError: unreadable sources, damage, or `out` holds something else, another corpus included.
        BertlabError: another process is preparing it.
    """
    out, sources = Path(out).absolute(), [str(source) for source in sources]
    weights = list(weights or [1.0] * len(sources))
    if len(weights) != len(sources) or not all(0 <= w < 100 for w in weights) or (weights and not any(weights)):
        raise DataError(f"{len(sources)} sources need as many weights, from 0 to 100 and not all 0; got {weights}")
    settings = {
        "sources": sources,
        "column": column,
        "seed": seed,
        "damaged": damaged,
        "stream": stream,
        "files": _stamp(sources),
        "learnt": learnt,
        "vocabulary": vocabulary.digest if isinstance(vocabulary, Tokenizer) else None,
    }
    there = made(out)
    if there:
        if changed := _changed(there, settings):
            raise DataError(f"{out} holds a corpus of {', '.join(changed)}: name another --out, or remove it")
        if there.get("weights", [1.0] * len(sources)) != weights:
            _write_json(out / "corpus.json", there | {"weights": weights})
        return Corpus.open(out)
    if out.exists() and any(out.iterdir()):
        raise DataError(f"{out} exists and is no prepared corpus; name another directory")
    found, broken = shards(sources, column, stream, workers)
    if broken and damaged == "stop":
        InvalidRows("stop")(str(broken[0]))
    if not found:
        raise _nothing(sources, broken)
    with _building(out) as building:
        tokenizer = vocabulary if isinstance(vocabulary, Tokenizer) else vocabulary(found)
        began = time.monotonic()
        job = _Job(tokenizer, building, column, seed, damaged == "skip", _stacks(found))
        tally = _dealt(job, found, broken, workers)
        if not tally.documents:
            raise _nothing(sources, tally.damaged)
        _shuffled(job)
        tokenizer.save(building / "tokenizer")
        facts = asdict(tally) | {"damaged": [str(damage) for damage in tally.damaged]}
        facts |= {"settings": settings | {"vocabulary": tokenizer.digest}, "weights": weights}
        _write_json(building / "corpus.json", facts | {"seconds": round(time.monotonic() - began, 2)})
    return Corpus.open(out)


def _nothing(sources: list[str], damaged: Sequence[Damage]) -> DataError:
    first = f": {damaged[0]}" if damaged else ""
    return DataError(f"no text was found in {', '.join(sources)}{first}")


def made(out: Path) -> dict | None:
    """What is known of the corpus at `out`, if one is there. Raises DataError if that is damaged."""
    if not (out / "corpus.json").is_file():
        return None
    try:
        return json.loads((out / "corpus.json").read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise DataError(f"{out / 'corpus.json'} is damaged: remove {out} to prepare it anew") from error


def _changed(facts: dict, ours: dict) -> list[str]:
    """In what a corpus differs from what is asked; one made before there was a setting is not asked for it, and where
    nothing was damaged it does not matter what was to be done about it."""
    theirs, ours = (
        found | {"sources": [os.path.normpath(source) for source in found["sources"]]}
        for found in (facts["settings"], ours)
    )
    free = {"damaged": not facts.get("damages"), "vocabulary": not ours["vocabulary"]}
    changed = [name for name in theirs if theirs[name] != ours.get(name) and not free.get(name)]
    if "sources" in changed:
        changed = [name for name in changed if name != "files"]
    return list(dict.fromkeys(SAID.get(name, f"another --{name}") for name in changed))


def _stamp(sources: list[str]) -> str:
    """Changes when a file does; what lies on the hub is not asked for."""
    files = sorted({str(file) for source in sources for file in files_of(source) or ()})
    stats = [(path, os.stat(path)) for path in files if os.path.exists(path)]
    return hashlib.sha256(repr([(path, s.st_size, s.st_mtime_ns) for path, s in stats]).encode()).hexdigest()[:16]


def _write_json(path: Path, facts: dict) -> None:
    write_atomically(path, json.dumps(facts, indent=2, ensure_ascii=False))


@contextmanager
def _building(out: Path) -> Iterator[Path]:
    """A directory that takes the place of `out` when all went well, and leaves nothing when not.

    Only one process at a time has it.
    """
    place = out.with_name(out.name + ".building")
    with exclusive_lock(place / ".lock", Message("lock-owner-corpus", path=out)):
        building = place / "corpus"
        shutil.rmtree(building, ignore_errors=True)
        try:
            (building / "rows").mkdir(parents=True)
            yield building
            if out.exists():
                out.rmdir()  # it was empty; what came to lie there since is not ours to remove
            building.rename(out)
        except OSError as error:
            raise DataError(f"{out} cannot be written: {error.strerror or error}") from error
        finally:
            shutil.rmtree(place, ignore_errors=True)


# -- dealing out -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Job:
    """What every process knows."""

    tokenizer: Tokenizer
    building: Path
    column: str
    seed: int
    skip: bool
    stacks: int

    @property
    def schema(self) -> pa.Schema:
        kind = "uint16" if self.tokenizer.vocab_size <= 1 << 16 else "int32"
        columns = {
            "input_ids": datasets.Sequence(datasets.Value(kind)),
            "segment_lengths": datasets.Sequence(datasets.Value("int32")),
            "source": datasets.Value("string"),
            "nth": datasets.Value("int16"),
        }
        return datasets.Features(columns).arrow_schema

    def stack(self, k: int) -> str:
        return str(self.building / f"stack-{k}.arrow")

    def shard(self, nth: int) -> str:
        return str(self.building / f"shard-{nth}.arrow")


def _stacks(found: list[Shard]) -> int:
    size = sum(shard.size for shard in found)
    # how much is streamed is not known; what cannot be known to be small is taken for large
    return MOST_STACKS if any(not shard.size for shard in found) else min(MOST_STACKS, -(-size // STACK))


def _dealt(job: _Job, found: list[Shard], broken: list[Damage], workers: int) -> Tally:
    """Every document into its stack."""
    total = Tally(damages=len(broken), damaged=broken[:5])
    size = sum(shard.size for shard in found)
    began = time.monotonic()
    with ExitStack() as files:
        sinks = [files.enter_context(pa.OSFile(job.stack(k), "wb")) for k in range(job.stacks)]
        writers = [files.enter_context(pa.ipc.new_stream(sink, job.schema)) for sink in sinks]
        damages = files.enter_context((job.building / "damaged.jsonl").open("w", encoding="utf-8"))
        damages.writelines(_line(damage) for damage in broken)
        bar = files.enter_context(tqdm(total=size or None, bar_format=BAR if size else STREAM_BAR))
        for nth, (stacks, damaged, tally) in enumerate(_in_turn(job, found, workers)):
            with pa.OSFile(job.shard(nth)) as file:
                for k, batch in zip(stacks, pa.ipc.open_stream(file), strict=True):
                    writers[k].write_batch(batch)
            os.unlink(job.shard(nth))
            damages.writelines(map(_line, damaged))
            total.add(tally)
            speed = total.bytes / 1e6 / (time.monotonic() - began)
            bar.set_postfix_str(f"{total.documents:,} documents, {speed:.1f} MB/s", refresh=False)
            bar.update(found[nth].size)
    if not total.damages:
        (job.building / "damaged.jsonl").unlink()
    return total


def _line(damage: Damage) -> str:
    return json.dumps(asdict(damage), ensure_ascii=False) + "\n"


def _in_turn(job: _Job, found: list[Shard], workers: int) -> Iterator[tuple[list[int], list[Damage], Tally]]:
    """The results of all shards, in their order, whoever was done first."""
    workers = max(1, min(workers, len(found)))
    if workers == 1:
        _begin(job)
        yield from map(_tokenise, enumerate(found))
        return
    try:
        with ProcessPoolExecutor(workers, initializer=_begin_apart, initargs=(job,)) as pool:
            yield from pool.map(_tokenise, enumerate(found))
    except BrokenProcessPool as error:
        raise DataError("a process that tokenises was ended from outside, for want of memory perhaps") from error


_job: _Job


def _begin(job: _Job) -> None:
    global _job
    _job = job


def _begin_apart(job: _Job) -> None:
    helpers.begin()
    _begin(job)


def _tokenise(numbered: tuple[int, Shard]) -> tuple[list[int], list[Damage], Tally]:
    """One shard into a file of batches, and to which stack each of them goes."""
    nth, shard = numbered
    rng = np.random.default_rng([_job.seed, nth])
    tally, stacks, damaged, held, tokens = Tally(), [], [], [], 0
    rows = texts(shard, _job.column)
    with pa.OSFile(_job.shard(nth), "wb") as sink, pa.ipc.new_stream(sink, _job.schema) as writer:
        while some := list(islice(rows, 64)):
            cut = [segments(text or "") for _, text, _ in some]
            ids = iter(_job.tokenizer.encode_plain([segment for document in cut for segment in document]))
            for (i, text, why), document in zip(some, cut, strict=True):
                found = [segment for segment in (next(ids) for _ in document) if segment]
                if not found:
                    damage = damage_of(shard, i, why or NO_TEXT)
                    if not _job.skip:
                        InvalidRows("stop")(str(damage))
                    damaged.append(damage)
                    continue
                lengths = [len(segment) for segment in found]
                held.append(([token for segment in found for token in segment], lengths))
                tally.add(Tally(1, sum(lengths), len(text), len(text.encode("utf-8", "surrogatepass"))))
                tokens += sum(lengths)
            if tokens > TOKENS_AT_ONCE:
                stacks += _deal(held, shard, rng, writer)
                held, tokens = [], 0
        stacks += _deal(held, shard, rng, writer)
    tally.add(Tally(damages=len(damaged), damaged=damaged[:5]))
    return stacks, damaged, tally


def _deal(held: list[tuple[list[int], list[int]]], shard: Shard, rng, writer) -> list[int]:
    stack_D = rng.integers(_job.stacks, size=len(held))
    ids_type, lengths_type = (_job.schema.field(name).type for name in ("input_ids", "segment_lengths"))
    stacks = np.unique(stack_D).tolist()
    for k in stacks:
        own = [held[d] for d in np.flatnonzero(stack_D == k)]
        columns = [
            pa.array([ids for ids, _ in own], ids_type),
            pa.array([lengths for _, lengths in own], lengths_type),
            pa.array([shard.label] * len(own)),
            pa.array([shard.nth] * len(own), pa.int16()),
        ]
        writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=_job.schema))
    return stacks


def _shuffled(job: _Job) -> None:
    """The stacks, each shuffled, one after the other into files of bounded size."""
    with ExitStack() as last:
        sink, writer = None, None
        for k in range(job.stacks):
            with pa.OSFile(job.stack(k)) as file:
                table = pa.ipc.open_stream(file).read_all().combine_chunks()
            os.unlink(job.stack(k))
            order = np.random.default_rng([job.seed, k, 1]).permutation(len(table))
            if sink is None or sink.tell() > FILE:
                last.pop_all().close()
                sink = last.enter_context(pa.OSFile(str(job.building / "rows" / f"rows-{k:05d}.arrow"), "wb"))
                writer = last.enter_context(pa.ipc.new_stream(sink, job.schema))
            writer.write_table(table.take(order), max_chunksize=1024)
