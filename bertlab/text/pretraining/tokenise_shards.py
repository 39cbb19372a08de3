"""Tokenise the shards of a corpus in several processes, and assign every document to a random bucket.

A process writes the documents of its shard to one file; each record batch in it contains documents of a single bucket.
The parent process reads the files in the order of the shards, so the corpus does not depend on which process is done
first.

Shape legend: D documents.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from pathlib import Path

import datasets
import numpy as np
import pyarrow as pa

from bertlab.config.errors import DataError
from bertlab.text.pretraining import worker_process
from bertlab.text.pretraining.sentences import split_sentences
from bertlab.text.readers.documents import Shard, make_invalid_text_error, read_texts
from bertlab.text.readers.invalid_rows import InvalidRows
from bertlab.text.tokenizers.wordpiece import Tokenizer

MAX_BUFFERED_TOKENS = 1 << 20  # a process writes its documents to its file when they have more tokens than this
# the maximum number of texts that are tokenised together, and the approximate maximum of their characters
BATCH_ROWS, BATCH_CHARACTERS = 64, 1 << 20


@dataclass
class Counts:
    """Counts of a shard or of the whole corpus."""

    documents: int = 0
    tokens: int = 0
    characters: int = 0
    bytes: int = 0  # the number of bytes of the text in UTF-8
    invalid: int = 0  # the number of rows and files that could not be used and were left out
    first_invalid: list[DataError] = field(default_factory=list)  # the errors of the first five of these rows and files

    def add(self, other: "Counts") -> None:
        for name in ("documents", "tokens", "characters", "bytes", "invalid"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.first_invalid = (self.first_invalid + other.first_invalid)[:5]


@dataclass(frozen=True)
class TokenisationJob:
    """The settings that every process needs."""

    tokenizer: Tokenizer
    build_directory: Path
    column: str
    seed: int
    skip_invalid: bool
    num_buckets: int

    @property
    def schema(self) -> pa.Schema:
        """The columns of a document, as in the rows of `corpus.Corpus`.

        They are the token ids, the number of tokens in every sentence, the name of the source, and its index in the
        list of sources. Files of corpora name the last column `nth`, and call sentences segments.
        """
        columns = {
            "input_ids": datasets.Sequence(datasets.Value(self.id_type)),
            "segment_lengths": datasets.Sequence(datasets.Value("int32")),
            "source": datasets.Value("string"),
            "nth": datasets.Value("int16"),
        }
        return datasets.Features(columns).arrow_schema

    @property
    def id_type(self) -> str:
        """The smallest integer type for all token ids."""
        return "uint16" if self.tokenizer.vocab_size <= 1 << 16 else "int32"

    def make_bucket_path(self, index: int) -> str:
        return str(self.build_directory / f"bucket-{index}.arrow")

    def make_shard_path(self, index: int) -> str:
        return str(self.build_directory / f"shard-{index}.arrow")


def tokenise_shards(
    job: TokenisationJob, shards: list[Shard], workers: int
) -> Iterator[tuple[list[int], list[DataError], Counts]]:
    """Yield for each shard: the bucket of each record batch in its file, the errors of its invalid rows, its counts."""
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


_job: TokenisationJob  # the job of this process, see `_set_job`


def _set_job(job: TokenisationJob) -> None:
    global _job
    _job = job


def _start_worker(job: TokenisationJob) -> None:
    worker_process.set_up()
    _set_job(job)


def _tokenise_shard(indexed_shard: tuple[int, Shard]) -> tuple[list[int], list[DataError], Counts]:
    index, shard = indexed_shard
    rng = np.random.default_rng([_job.seed, index])
    counts, buckets, errors = Counts(), [], []
    documents: list[tuple[np.ndarray, list[int]]] = []
    buffered_tokens = 0
    with pa.OSFile(_job.make_shard_path(index), "wb") as sink, pa.ipc.new_stream(sink, _job.schema) as writer:
        for batch in _group(read_texts(shard, _job.column), lambda text: len(text.text or ""), BATCH_ROWS):
            for text, (ids, lengths) in zip(batch, _tokenise_texts([text.text or "" for text in batch]), strict=True):
                if not lengths:
                    error = make_invalid_text_error(shard, text)
                    if not _job.skip_invalid:
                        InvalidRows("stop").report(error)
                    errors.append(error)
                    continue
                documents.append((ids, lengths))
                num_characters, num_bytes = len(text.text), len(text.text.encode("utf-8", "surrogatepass"))
                counts.add(Counts(1, len(ids), num_characters, num_bytes))
                buffered_tokens += len(ids)
            if buffered_tokens > MAX_BUFFERED_TOKENS:
                buckets += _write_documents(documents, shard, rng, writer)
                documents, buffered_tokens = [], 0
        buckets += _write_documents(documents, shard, rng, writer)
    counts.add(Counts(invalid=len(errors), first_invalid=errors[:5]))
    return buckets, errors, counts


def _group(items: Iterable, count_characters: Callable, max_items: float = math.inf) -> Iterator[list]:
    """Group items into lists of about `BATCH_CHARACTERS` characters and at most `max_items` items."""
    group, num_characters = [], 0
    for item in items:
        group.append(item)
        num_characters += count_characters(item)
        if len(group) == max_items or num_characters >= BATCH_CHARACTERS:
            yield group
            group, num_characters = [], 0
    if group:
        yield group


def _tokenise_texts(texts: list[str]) -> Iterator[tuple[np.ndarray, list[int]]]:
    """Yield the token ids of each text and the lengths of its sentences; sentences without tokens are left out.

    The texts are tokenised together. If they are very long, each text is tokenised in groups of sentences, so that
    memory does not depend on the length of a text.
    """
    if sum(map(len, texts)) < 2 * BATCH_CHARACTERS:
        sentences = [split_sentences(text) for text in texts]
        encoded = iter(_job.tokenizer.encode_plain([sentence for document in sentences for sentence in document]))
        for document in sentences:
            sentence_ids = [ids for ids in (next(encoded) for _ in document) if ids]
            yield np.array([id for ids in sentence_ids for id in ids], _job.id_type), list(map(len, sentence_ids))
        return
    for text in texts:
        sentence_ids = [
            ids for group in _group(split_sentences(text), len) for ids in _encode_sentences(group) if len(ids)
        ]
        yield np.concatenate([np.zeros(0, _job.id_type), *sentence_ids]), list(map(len, sentence_ids))


def _encode_sentences(sentences: list[str]) -> Iterator[np.ndarray]:
    """Yield the token ids of each sentence; a very long one is cut into pieces, between words if possible."""
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
    """Assign each document to a random bucket, write a record batch for each bucket used, and return these buckets."""
    bucket_D = rng.integers(_job.num_buckets, size=len(documents))
    ids_type, lengths_type = (_job.schema.field(name).type for name in ("input_ids", "segment_lengths"))
    buckets = np.unique(bucket_D).tolist()
    for k in buckets:
        members = [documents[d] for d in np.flatnonzero(bucket_D == k)]
        columns = [
            pa.array([ids for ids, _ in members], ids_type),
            pa.array([lengths for _, lengths in members], lengths_type),
            pa.array([shard.label] * len(members)),
            pa.array([shard.source] * len(members), pa.int16()),
        ]
        writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=_job.schema))
    return buckets
