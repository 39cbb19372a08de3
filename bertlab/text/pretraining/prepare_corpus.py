"""Prepare a corpus from raw text with several processes, in memory that does not depend on the amount of text.

The processes tokenise shards of the text (`tokenise_shards`) and assign the documents to random buckets: temporary
files, each of which fits into memory. Then every bucket is shuffled separately. A document can therefore end up
anywhere in the corpus, although all files are read and written sequentially.
"""

import hashlib
import json
import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pyarrow as pa
from tqdm import tqdm

from bertlab.config.errors import DataError
from bertlab.config.files import write_atomically
from bertlab.config.languages import Message
from bertlab.config.lock import exclusive_lock
from bertlab.text.pretraining.corpus import CHECKSUMS, Corpus, compute_checksum, read_facts
from bertlab.text.pretraining.tokenise_shards import Counts, TokenisationJob, tokenise_shards
from bertlab.text.readers.documents import Shard, files_of, find_shards
from bertlab.text.readers.encoding import make_printable
from bertlab.text.readers.invalid_rows import InvalidRowAction, InvalidRows
from bertlab.text.tokenizers.wordpiece import Tokenizer

BUCKET_BYTES = 16 << 20  # the approximate size of the text in a bucket
MAX_BUCKETS = 200  # a limit on open files; with more than 3 GB of text, buckets are larger
FILE_BYTES = 4 << 30  # the approximate maximum size of one Arrow file of the corpus
INVALID_ROWS = "invalid_rows.jsonl"  # the file that lists the skipped rows and files
# formats of the progress bar: if the size of the text is unknown, and if it is known
STREAM_BAR = "tokenising {elapsed} {postfix}"
BAR = "tokenising {percentage:5.1f}%|{bar}| {elapsed}<{remaining} {postfix}"


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
    """Tokenise documents in parallel and store them in `out`, or open `out` if it has a corpus with these settings.

    Args:
        vocabulary: a tokenizer, or a function that trains one on shards of the sources.
        weights: how many times an epoch of training uses the documents of each source; () for once each. The weights
            do not change the stored documents.
        invalid: "stop" at a row or file that cannot be used, or "skip" it, count it, and list it in
            `invalid_rows.jsonl`.
    """
    out, sources = Path(out).absolute(), [str(source) for source in sources]
    weights = list(weights or [1.0] * len(sources))
    if len(weights) != len(sources) or not all(0 <= w < 100 for w in weights) or (weights and not any(weights)):
        raise DataError("corpus-weights-invalid", sources=len(sources), weights=weights)
    settings = {
        "sources": [make_printable(source) for source in sources],
        "column": column,
        "seed": seed,
        "invalid": invalid,
        "stream": stream,
        "files": _compute_fingerprint(sources),
        "learnt": vocabulary_settings,
        "vocabulary": vocabulary.digest if isinstance(vocabulary, Tokenizer) else None,
    }
    if facts := read_facts(out):
        if changed := _find_changed_settings(facts, settings):
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
        raise _make_no_text_error(sources, invalid_files)
    with _open_build_directory(out) as build_directory:
        tokenizer = vocabulary if isinstance(vocabulary, Tokenizer) else vocabulary(shards)
        start = time.monotonic()
        num_buckets = min(MAX_BUCKETS, -(-sum(shard.size for shard in shards) // BUCKET_BYTES))
        if not all(shard.size for shard in shards):
            num_buckets = MAX_BUCKETS  # the size of a stream is unknown, so assume that it is large
        job = TokenisationJob(tokenizer, build_directory, column, seed, invalid == "skip", num_buckets)
        counts = _fill_buckets(job, shards, invalid_files, workers)
        if not counts.documents:
            raise _make_no_text_error(sources, counts.first_invalid)
        _shuffle_buckets(job)
        tokenizer.save(build_directory / "tokenizer")
        facts = asdict(counts) | {"first_invalid": [str(error) for error in counts.first_invalid]}
        facts |= {"settings": settings | {"vocabulary": tokenizer.digest}, "weights": weights}
        facts |= {
            CHECKSUMS: {path.name: compute_checksum(path) for path in sorted((build_directory / "rows").iterdir())}
        }
        _write_json(build_directory / "corpus.json", facts | {"seconds": round(time.monotonic() - start, 2)})
    return Corpus.open(out)


def _make_no_text_error(sources: list[str], errors: Sequence[DataError]) -> DataError:
    names = [make_printable(source) for source in sources]
    if not errors:
        return DataError("sources-without-text", sources=names)
    return DataError("sources-without-valid-text", sources=names, first=errors[0])


def _find_changed_settings(facts: dict, settings: dict) -> list[Message | str]:
    """Return which settings of an existing corpus differ from the requested ones.

    Some settings are not compared: those that did not exist when the corpus was made, the action for invalid rows if
    the corpus has no invalid rows, and the vocabulary if it is to be trained.
    """
    existing, requested = (
        values | {"sources": [os.path.normpath(source) for source in values["sources"]]}
        for values in (facts["settings"], settings)
    )
    is_ignored = {"invalid": not facts["invalid"], "vocabulary": not requested["vocabulary"]}
    changed = [name for name in existing if existing[name] != requested.get(name) and not is_ignored.get(name)]
    if "sources" in changed:  # then the files differ too, but one message is enough
        changed = [name for name in changed if name != "files"]
    vocabulary_change = Message("corpus-change-vocabulary")
    descriptions = {
        "sources": Message("corpus-change-sources"), "files": Message("corpus-change-files"),
        "learnt": vocabulary_change, "vocabulary": vocabulary_change,
    }  # fmt: skip
    return list(dict.fromkeys(descriptions.get(name, f"--{name}") for name in changed))


def _compute_fingerprint(sources: list[str]) -> str:
    """Return a digest that changes when a local file is changed; it does not cover data sets of the hub."""
    paths = sorted({str(file) for source in sources for file in files_of(source) or ()})
    stats = [(path, os.stat(path)) for path in paths if os.path.exists(path)]
    return hashlib.sha256(repr([(path, s.st_size, s.st_mtime_ns) for path, s in stats]).encode()).hexdigest()[:16]


def _write_json(path: Path, facts: dict) -> None:
    write_atomically(path, json.dumps(facts, indent=2, ensure_ascii=False))


@contextmanager
def _open_build_directory(out: Path) -> Iterator[Path]:
    """Yield a directory that a `with` block fills; then rename it to `out`, or delete it after an error."""
    work_directory = out.with_name(out.name + ".building")
    with exclusive_lock(work_directory / ".lock", Message("lock-owner-corpus", path=out)):
        build_directory = work_directory / "corpus"
        shutil.rmtree(build_directory, ignore_errors=True)
        try:
            (build_directory / "rows").mkdir(parents=True)
            yield build_directory
            if out.exists():
                out.rmdir()  # `out` was empty; this fails if another program has written to it since
            build_directory.rename(out)
        except OSError as error:
            raise DataError("file-unwritable", path=out, reason=error.strerror or str(error)) from error
        finally:
            shutil.rmtree(work_directory, ignore_errors=True)


def _fill_buckets(job: TokenisationJob, shards: list[Shard], invalid_files: list[DataError], workers: int) -> Counts:
    total = Counts(invalid=len(invalid_files), first_invalid=invalid_files[:5])
    size = sum(shard.size for shard in shards)
    start = time.monotonic()
    with ExitStack() as files:
        sinks = [files.enter_context(pa.OSFile(job.make_bucket_path(k), "wb")) for k in range(job.num_buckets)]
        writers = [files.enter_context(pa.ipc.new_stream(sink, job.schema)) for sink in sinks]
        error_file = files.enter_context((job.build_directory / INVALID_ROWS).open("w", encoding="utf-8"))
        error_file.writelines(map(_format_invalid_row, invalid_files))
        bar = files.enter_context(tqdm(total=size or None, bar_format=BAR if size else STREAM_BAR))
        for index, (buckets, errors, counts) in enumerate(tokenise_shards(job, shards, workers)):
            with pa.OSFile(job.make_shard_path(index)) as file:
                for k, batch in zip(buckets, pa.ipc.open_stream(file), strict=True):
                    writers[k].write_batch(batch)
            os.unlink(job.make_shard_path(index))
            error_file.writelines(map(_format_invalid_row, errors))
            total.add(counts)
            speed = total.bytes / 1e6 / (time.monotonic() - start)
            bar.set_postfix_str(f"{total.documents:,} documents, {speed:.1f} MB/s", refresh=False)
            bar.update(shards[index].size)
    if not total.invalid:
        (job.build_directory / INVALID_ROWS).unlink()
    return total


def _format_invalid_row(error: DataError) -> str:
    params = error.params
    line = {"path": str(params.get("source", params.get("path"))), "row": params.get("row")}
    return json.dumps(line | {"reason": str(params.get("reason", error))}, ensure_ascii=False) + "\n"


def _shuffle_buckets(job: TokenisationJob) -> None:
    """Shuffle every bucket and write the buckets one after another into files of bounded size."""
    with ExitStack() as open_file:
        sink, writer = None, None
        for k in range(job.num_buckets):
            with pa.OSFile(job.make_bucket_path(k)) as file:
                table = pa.ipc.open_stream(file).read_all().combine_chunks()
            os.unlink(job.make_bucket_path(k))
            order = np.random.default_rng([job.seed, k, 1]).permutation(len(table))
            if sink is None or sink.tell() > FILE_BYTES:
                open_file.pop_all().close()
                sink = open_file.enter_context(
                    pa.OSFile(str(job.build_directory / "rows" / f"rows-{k:05d}.arrow"), "wb")
                )
                writer = open_file.enter_context(pa.ipc.new_stream(sink, job.schema))
            writer.write_table(table.take(order), max_chunksize=1024)
