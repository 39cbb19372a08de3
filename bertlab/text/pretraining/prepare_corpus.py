"""Raw text to a prepared corpus, by several processes, in memory that does not grow with the text.

Each process takes a shard of a source, splits it into sentences, tokenises it, and distributes its documents at random
over buckets, of which there are so many that one fits in memory. Then every bucket is shuffled by itself. So a document
may end up anywhere, and everything is read and written sequentially.
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
from pathlib import Path

import datasets
import numpy as np
import pyarrow as pa
from tqdm import tqdm

from bertlab.config.errors import DataError
from bertlab.config.files import write_atomically
from bertlab.config.languages import Message
from bertlab.config.lock import exclusive_lock
from bertlab.text.pretraining import worker_process
from bertlab.text.pretraining.corpus import CHECKSUMS, Corpus, file_checksum, read_facts, split_sentences
from bertlab.text.readers.documents import Shard, Text, files_of, find_shards, invalid_text, read_texts
from bertlab.text.readers.encoding import printable
from bertlab.text.readers.invalid_rows import InvalidRowAction, InvalidRows
from bertlab.text.tokenizers.wordpiece import Tokenizer

BUCKET_BYTES = 16 << 20  # of text whose documents are shuffled with one another
MAX_BUCKETS = 200  # files that are open at once; beyond 3 GB of text, buckets are larger
MAX_TOKENS_HELD = 1 << 20  # by a process, before it writes them
BATCH_ROWS, BATCH_CHARACTERS = 64, 1 << 20  # tokenised at once, at most; a longer document is tokenised in parts
FILE_BYTES = 4 << 30  # of tokens in one Arrow file
INVALID_ROWS = "invalid_rows.jsonl"
STREAM_BAR = "tokenising {elapsed} {postfix}"
BAR = "tokenising {percentage:5.1f}%|{bar}| {elapsed}<{remaining} {postfix}"


@dataclass
class Counts:
    """What a shard, or the whole corpus, came to."""

    documents: int = 0
    """Documents tokenised."""
    tokens: int = 0
    """Their tokens."""
    characters: int = 0
    """Their characters."""
    bytes: int = 0
    """Their bytes in UTF-8."""
    invalid: int = 0
    """Rows and files left out."""
    first_invalid: list[DataError] = field(default_factory=list)
    """The errors of the first few of them."""

    def add(self, other: "Counts") -> None:
        """Add the counts of another part."""
        for name in ("documents", "tokens", "characters", "bytes", "invalid"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.first_invalid = (self.first_invalid + other.first_invalid)[:5]


def prepare_corpus(
    sources: Sequence[str | Path],
    vocabulary: Tokenizer | Callable[[list[Shard]], Tokenizer],
    out: str | Path,
    *,
    column: str = "text",
    seed: int = 0,
    workers: int = 2,
    weights: Sequence[float] = (),
    invalid: InvalidRowAction = "stop",
    stream: bool = False,
    vocabulary_settings: dict | None = None,
) -> Corpus:
    """Tokenise documents in parallel and store them under `out`. The same settings a second time open what is there.

    Args:
        sources: files, directories and hub ids; see `find_shards`.
        vocabulary: a tokenizer, or a function that trains one on shards of the sources.
        out: the directory of the corpus.
        column: the column that holds the text.
        seed: of the order of documents.
        workers: processes that tokenise.
        weights: how often an epoch goes through each source, used in training only; once each, if empty.
        invalid: "stop" at a row or file that cannot be used, or "skip" it, count it, and list it in
            `invalid_rows.jsonl`.
        stream: read hub data sets as they come instead of downloading them first.
        vocabulary_settings: the settings with which `vocabulary` trains a tokenizer.

    Raises:
        DataError: unreadable sources, an invalid row, or `out` holds something else, such as another corpus.
        BertlabError: another process is preparing the same corpus.
    """
    out, sources = Path(out).absolute(), [str(source) for source in sources]
    weights = list(weights or [1.0] * len(sources))
    if len(weights) != len(sources) or not all(0 <= w < 100 for w in weights) or (weights and not any(weights)):
        raise DataError("corpus-weights-invalid", sources=len(sources), weights=weights)
    settings = {
        "sources": [printable(source) for source in sources],
        "column": column,
        "seed": seed,
        "invalid": invalid,
        "stream": stream,
        "files": _fingerprint(sources),
        "learnt": vocabulary_settings,
        "vocabulary": vocabulary.digest if isinstance(vocabulary, Tokenizer) else None,
    }
    if facts := read_facts(out):
        if changed := _changed_settings(facts, settings):
            raise DataError("corpus-differs", path=out, changes=changed)
        if facts.get("weights", [1.0] * len(sources)) != weights:
            _write_json(out / "corpus.json", facts | {"weights": weights})
        return Corpus.open(out)
    if out.exists() and any(out.iterdir()):
        raise DataError("directory-not-empty", path=out)
    shards, invalid_files = find_shards(sources, column, stream, workers)
    if invalid_files and invalid == "stop":
        InvalidRows("stop").report(invalid_files[0])
    if not shards:
        raise _without_text(sources, invalid_files)
    with _building(out) as building:
        tokenizer = vocabulary if isinstance(vocabulary, Tokenizer) else vocabulary(shards)
        start = time.monotonic()
        job = _Job(tokenizer, building, column, seed, invalid == "skip", _count_buckets(shards))
        counts = _fill_buckets(job, shards, invalid_files, workers)
        if not counts.documents:
            raise _without_text(sources, counts.first_invalid)
        _shuffle_buckets(job)
        tokenizer.save(building / "tokenizer")
        facts = asdict(counts) | {"first_invalid": [str(error) for error in counts.first_invalid]}
        facts |= {"settings": settings | {"vocabulary": tokenizer.digest}, "weights": weights}
        facts |= {CHECKSUMS: {path.name: file_checksum(path) for path in sorted((building / "rows").iterdir())}}
        _write_json(building / "corpus.json", facts | {"seconds": round(time.monotonic() - start, 2)})
    return Corpus.open(out)


def _without_text(sources: list[str], invalid: Sequence[DataError]) -> DataError:
    names = [printable(source) for source in sources]
    if not invalid:
        return DataError("sources-without-text", sources=names)
    return DataError("sources-without-valid-text", sources=names, first=invalid[0])


def _changed_settings(facts: dict, settings: dict) -> list[Message | str]:
    """In what a corpus differs from the settings asked for.

    A corpus made before a setting existed does not differ in it; where nothing was invalid, it does not matter what was
    to be done about invalid rows.
    """
    theirs, ours = (
        found | {"sources": [os.path.normpath(source) for source in found["sources"]]}
        for found in (facts["settings"], settings)
    )
    irrelevant = {"invalid": not facts["invalid"], "vocabulary": not ours["vocabulary"]}
    changed = [name for name in theirs if theirs[name] != ours.get(name) and not irrelevant.get(name)]
    if "sources" in changed:
        changed = [name for name in changed if name != "files"]
    vocabulary = Message("corpus-change-vocabulary")
    described = {
        "sources": Message("corpus-change-sources"), "files": Message("corpus-change-files"),
        "learnt": vocabulary, "vocabulary": vocabulary,
    }  # fmt: skip
    return list(dict.fromkeys(described.get(name, f"--{name}") for name in changed))


def _fingerprint(sources: list[str]) -> str:
    """A digest that changes when a file does; what is on the hub is not looked at."""
    paths = sorted({str(file) for source in sources for file in files_of(source) or ()})
    stats = [(path, os.stat(path)) for path in paths if os.path.exists(path)]
    return hashlib.sha256(repr([(path, s.st_size, s.st_mtime_ns) for path, s in stats]).encode()).hexdigest()[:16]


def _write_json(path: Path, facts: dict) -> None:
    write_atomically(path, json.dumps(facts, indent=2, ensure_ascii=False))


@contextmanager
def _building(out: Path) -> Iterator[Path]:
    """A directory that takes the place of `out` if all goes well, and is removed if not; one process at a time."""
    place = out.with_name(out.name + ".building")
    with exclusive_lock(place / ".lock", Message("lock-owner-corpus", path=out)):
        building = place / "corpus"
        shutil.rmtree(building, ignore_errors=True)
        try:
            (building / "rows").mkdir(parents=True)
            yield building
            if out.exists():
                out.rmdir()  # it was empty; this fails if something else has been put there since
            building.rename(out)
        except OSError as error:
            raise DataError("file-unwritable", path=out, reason=error.strerror or str(error)) from error
        finally:
            shutil.rmtree(place, ignore_errors=True)


# -- distributing documents over buckets -------------------------------------------------------------------------


@dataclass(frozen=True)
class _Job:
    """What every process needs."""

    tokenizer: Tokenizer
    building: Path
    column: str
    seed: int
    skip_invalid: bool
    buckets: int

    @property
    def schema(self) -> pa.Schema:
        columns = {
            "input_ids": datasets.Sequence(datasets.Value(self.id_type)),
            "segment_lengths": datasets.Sequence(datasets.Value("int32")),
            "source": datasets.Value("string"),
            "nth": datasets.Value("int16"),
        }
        return datasets.Features(columns).arrow_schema

    @property
    def id_type(self) -> str:
        """The smallest type that holds all token ids."""
        return "uint16" if self.tokenizer.vocab_size <= 1 << 16 else "int32"

    def bucket_path(self, number: int) -> str:
        return str(self.building / f"bucket-{number}.arrow")

    def shard_path(self, number: int) -> str:
        return str(self.building / f"shard-{number}.arrow")


def _count_buckets(shards: list[Shard]) -> int:
    size = sum(shard.size for shard in shards)
    # the size of a stream is unknown, so it is taken to be large
    return MAX_BUCKETS if any(not shard.size for shard in shards) else min(MAX_BUCKETS, -(-size // BUCKET_BYTES))


def _fill_buckets(job: _Job, shards: list[Shard], invalid_files: list[DataError], workers: int) -> Counts:
    """Tokenise all shards and write every document into its bucket."""
    total = Counts(invalid=len(invalid_files), first_invalid=invalid_files[:5])
    size = sum(shard.size for shard in shards)
    start = time.monotonic()
    with ExitStack() as files:
        sinks = [files.enter_context(pa.OSFile(job.bucket_path(k), "wb")) for k in range(job.buckets)]
        writers = [files.enter_context(pa.ipc.new_stream(sink, job.schema)) for sink in sinks]
        list_file = files.enter_context((job.building / INVALID_ROWS).open("w", encoding="utf-8"))
        list_file.writelines(map(_invalid_line, invalid_files))
        bar = files.enter_context(tqdm(total=size or None, bar_format=BAR if size else STREAM_BAR))
        for number, (buckets, invalid, counts) in enumerate(_in_order(job, shards, workers)):
            with pa.OSFile(job.shard_path(number)) as file:
                for k, batch in zip(buckets, pa.ipc.open_stream(file), strict=True):
                    writers[k].write_batch(batch)
            os.unlink(job.shard_path(number))
            list_file.writelines(map(_invalid_line, invalid))
            total.add(counts)
            speed = total.bytes / 1e6 / (time.monotonic() - start)
            bar.set_postfix_str(f"{total.documents:,} documents, {speed:.1f} MB/s", refresh=False)
            bar.update(shards[number].size)
    if not total.invalid:
        (job.building / INVALID_ROWS).unlink()
    return total


def _invalid_line(error: DataError) -> str:
    """The error of a row or a file as a line of JSON."""
    params = error.params
    line = {"path": str(params.get("source", params.get("path"))), "row": params.get("row")}
    return json.dumps(line | {"reason": str(params.get("reason", error))}, ensure_ascii=False) + "\n"


def _in_order(job: _Job, shards: list[Shard], workers: int) -> Iterator[tuple[list[int], list[DataError], Counts]]:
    """The results of all shards, in their order, whichever is done first."""
    workers = max(1, min(workers, len(shards)))
    if workers == 1:
        _set_job(job)
        yield from map(_tokenise_shard, enumerate(shards))
        return
    try:
        with ProcessPoolExecutor(workers, initializer=_start_worker, initargs=(job,)) as pool:
            yield from pool.map(_tokenise_shard, enumerate(shards))
    except BrokenProcessPool as error:
        raise DataError("worker-killed") from error


_job: _Job


def _set_job(job: _Job) -> None:
    global _job
    _job = job


def _start_worker(job: _Job) -> None:
    worker_process.start()
    _set_job(job)


def _tokenise_shard(numbered: tuple[int, Shard]) -> tuple[list[int], list[DataError], Counts]:
    """Tokenise one shard into a file of record batches.

    Returns:
        the bucket of each record batch, the errors of invalid rows, and the counts.
    """
    number, shard = numbered
    rng = np.random.default_rng([_job.seed, number])
    counts, buckets, invalid = Counts(), [], []
    held: list[tuple[np.ndarray, list[int]]] = []
    tokens = 0
    with pa.OSFile(_job.shard_path(number), "wb") as sink, pa.ipc.new_stream(sink, _job.schema) as writer:
        for batch in _batches(read_texts(shard, _job.column)):
            for text, (ids, lengths) in zip(batch, _tokenise([text.text or "" for text in batch]), strict=True):
                if not lengths:
                    error = invalid_text(shard, text)
                    if not _job.skip_invalid:
                        InvalidRows("stop").report(error)
                    invalid.append(error)
                    continue
                held.append((ids, lengths))
                characters, size = len(text.text), len(text.text.encode("utf-8", "surrogatepass"))
                counts.add(Counts(1, len(ids), characters, size))
                tokens += len(ids)
            if tokens > MAX_TOKENS_HELD:
                buckets += _write_documents(held, shard, rng, writer)
                held, tokens = [], 0
        buckets += _write_documents(held, shard, rng, writer)
    counts.add(Counts(invalid=len(invalid), first_invalid=invalid[:5]))
    return buckets, invalid, counts


def _batches(texts: Iterator[Text]) -> Iterator[list[Text]]:
    """Texts in lists of bounded length, so that memory depends on neither the number nor the length of documents."""
    batch, characters = [], 0
    for text in texts:
        batch.append(text)
        characters += len(text.text or "")
        if len(batch) == BATCH_ROWS or characters >= BATCH_CHARACTERS:
            yield batch
            batch, characters = [], 0
    if batch:
        yield batch


def _tokenise(texts: list[str]) -> Iterator[tuple[np.ndarray, list[int]]]:
    """Token ids of each text, and the lengths of its sentences; those without tokens are left out."""
    if sum(map(len, texts)) < 2 * BATCH_CHARACTERS:
        sentences = [split_sentences(text) for text in texts]
        ids = iter(_job.tokenizer.encode_plain([sentence for document in sentences for sentence in document]))
        for document in sentences:
            found = [sentence for sentence in (next(ids) for _ in document) if sentence]
            tokens = np.array([token for sentence in found for token in sentence], _job.id_type)
            yield tokens, [len(sentence) for sentence in found]
        return
    for text in texts:
        found = [sentence for part in _parts(split_sentences(text)) for sentence in _encode(part) if len(sentence)]
        yield np.concatenate([np.zeros(0, _job.id_type), *found]), list(map(len, found))


def _parts(sentences: list[str]) -> Iterator[list[str]]:
    """Sentences in lists of about `BATCH_CHARACTERS`."""
    part, characters = [], 0
    for sentence in sentences:
        part.append(sentence)
        characters += len(sentence)
        if characters >= BATCH_CHARACTERS:
            yield part
            part, characters = [], 0
    yield part


def _encode(sentences: list[str]) -> Iterator[np.ndarray]:
    """Token ids of each sentence; one longer than `BATCH_CHARACTERS` is tokenised in pieces cut between words."""
    if sum(map(len, sentences)) < 2 * BATCH_CHARACTERS:
        yield from (np.array(ids, _job.id_type) for ids in _job.tokenizer.encode_plain(sentences))
        return
    for sentence in sentences:
        pieces = []
        while sentence:
            end = sentence.rfind(" ", 1, BATCH_CHARACTERS) if len(sentence) > BATCH_CHARACTERS else len(sentence)
            end = end if end > 0 else BATCH_CHARACTERS
            pieces.append(np.array(_job.tokenizer.encode_plain([sentence[:end]])[0], _job.id_type))
            sentence = sentence[end:]
        yield np.concatenate([np.zeros(0, _job.id_type), *pieces])


def _write_documents(documents: list[tuple[np.ndarray, list[int]]], shard: Shard, rng, writer) -> list[int]:
    """Draw a bucket for each document, and write one record batch for each bucket drawn; returns these buckets."""
    bucket_D = rng.integers(_job.buckets, size=len(documents))
    ids_type, lengths_type = (_job.schema.field(name).type for name in ("input_ids", "segment_lengths"))
    buckets = np.unique(bucket_D).tolist()
    for k in buckets:
        own = [documents[d] for d in np.flatnonzero(bucket_D == k)]
        columns = [
            pa.array([ids for ids, _ in own], ids_type),
            pa.array([lengths for _, lengths in own], lengths_type),
            pa.array([shard.label] * len(own)),
            pa.array([shard.source] * len(own), pa.int16()),
        ]
        writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=_job.schema))
    return buckets


def _shuffle_buckets(job: _Job) -> None:
    """Write the buckets, each shuffled, one after another into files of bounded size."""
    with ExitStack() as last:
        sink, writer = None, None
        for k in range(job.buckets):
            with pa.OSFile(job.bucket_path(k)) as file:
                table = pa.ipc.open_stream(file).read_all().combine_chunks()
            os.unlink(job.bucket_path(k))
            order = np.random.default_rng([job.seed, k, 1]).permutation(len(table))
            if sink is None or sink.tell() > FILE_BYTES:
                last.pop_all().close()
                sink = last.enter_context(pa.OSFile(str(job.building / "rows" / f"rows-{k:05d}.arrow"), "wb"))
                writer = last.enter_context(pa.ipc.new_stream(sink, job.schema))
            writer.write_table(table.take(order), max_chunksize=1024)
