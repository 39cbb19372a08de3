"""Raw text -> a prepared corpus: read through `datasets`, cut into segments, tokenised once, kept as Arrow.

A prepared corpus is a directory: memory-mapped Arrow rows (one a document) and `corpus.json` (how it was made). Pairs
and masks are drawn from it anew each epoch. Knows no model.
"""

import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import datasets
import numpy as np

from bertlab.spec.errors import DataError
from bertlab.text import hub
from bertlab.text.pairs import Documents

LOADERS = {".parquet": "parquet", ".jsonl": "json", ".json": "json", ".txt": "text"}
# a sentence ends at . ! ? or their full-width forms, closing quotes and brackets included, before white space
SENTENCE_END = re.compile(r"""(?<=[.!?。！？])["'”’)\]]*\s+""")


def read(sources: list[str], column: str = "text", streaming: bool = False):
    """Documents from files or hub data sets, as one `datasets` data set with the columns `text` and `source`.

    Args:
        sources: paths of .parquet, .jsonl, .json or .txt files (a blank line ends a document), directories of such
            files, or hub ids ("owner/name" or "owner/name:config").
        column: the column that holds the text.
        streaming: read rows as they are needed instead of writing Arrow files first.

    Raises:
        DataError: nothing there, an unreadable file, or no such column.
    """
    if not sources:
        raise DataError("no source of text was named")
    parts = [_read_one(source, column, streaming) for source in sources]
    return parts[0] if len(parts) == 1 else datasets.concatenate_datasets(parts)


def _read_one(source: str, column: str, streaming: bool):
    path = Path(source)
    if path.is_dir():
        files = sorted(str(p) for p in path.rglob("*") if p.suffix in LOADERS)
        if not files:
            raise DataError(f"{source} holds no {', '.join(LOADERS)} file")
        return read(files, column, streaming)
    try:
        if path.exists():
            if not path.stat().st_size:
                raise DataError(f"{source} is empty")
            if path.suffix not in LOADERS:
                raise DataError(f"{source} is not one of {', '.join(LOADERS)}")
            options = {"sample_by": "paragraph"} if path.suffix == ".txt" else {}
            kind = LOADERS[path.suffix]
            rows = datasets.load_dataset(kind, data_files=str(path), split="train", streaming=streaming, **options)
        elif path.suffix in LOADERS or source.count("/") != 1:
            raise DataError(f"there is no file {source}")
        else:
            rows = hub.load(source, "train", streaming)
    except DataError:
        raise
    except (OSError, ValueError, RuntimeError, datasets.exceptions.DatasetsError) as error:
        reason = str(error.__cause__ or error).splitlines()[0]  # the cause, where `datasets` wraps it in a general word
        raise DataError(f"{source} cannot be read: {reason}") from error
    names = rows.column_names or list(next(iter(rows), {}))
    if column not in names:
        raise DataError(f"{source} has no column {column!r}; it has {', '.join(names) or 'no rows'}")
    kind = rows.features[column].dtype if rows.features else "string"
    if kind not in ("string", "large_string"):
        raise DataError(f"{source} has no text in {column!r} but {kind}: name the column that holds the text")
    label = Path(source).name.split("-")[0].split(".")[0]
    rows = rows.select_columns([column])
    if column != "text":
        rows = rows.rename_column(column, "text")
    return rows.map(lambda batch: {"source": [label] * len(batch["text"])}, batched=True)


def segments(text: str) -> list[str]:
    """The sentences of a text, lines first; the unit that pairs are built from.

    >>> segments('It rains. "Come in!" she said.\\nThe door closed.')
    ['It rains.', '"Come in!"', 'she said.', 'The door closed.']
    """
    found = []
    for line in text.splitlines():
        begin = 0
        for end in SENTENCE_END.finditer(line):
            found.append(line[begin : end.end()].strip())
            begin = end.end()
        found.append(line[begin:].strip())
    return [segment for segment in found if segment]


@dataclass(frozen=True)
class Corpus:
    """A prepared corpus, opened. rows: one document each, with `input_ids`, `segment_lengths`, `source`."""

    rows: datasets.Dataset
    facts: dict
    block_size: int = 2048

    @classmethod
    def open(cls, directory) -> "Corpus":
        """Raises DataError when the directory is no prepared corpus."""
        path = Path(directory)
        if not (path / "corpus.json").is_file():
            raise DataError(f"{directory} is no prepared corpus; make one with `bertlab prepare`")
        return cls(datasets.load_from_disk(str(path / "rows")), json.loads((path / "corpus.json").read_text()))

    @property
    def num_blocks(self) -> int:
        return -(-len(self.rows) // self.block_size)

    def documents(self, block: int) -> Documents:
        """The documents of one block, flat: `block_size` of them, the last block fewer."""
        first = block * self.block_size
        size = min(self.block_size, len(self.rows) - first)
        table = self.rows.data.slice(first, size)

        def flat(column):
            lists = table.column(column).combine_chunks()
            return lists.flatten().to_numpy(zero_copy_only=False), lists.value_lengths().to_numpy()

        tokens, _ = flat("input_ids")
        segment_lengths, segments_D = flat("segment_lengths")
        _, source_D = np.unique(table.column("source").to_numpy(), return_inverse=True)
        return Documents(tokens, _starts(segment_lengths), _starts(segments_D), source_D)


def _starts(lengths: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])


def prepare(sources: list[str], tokenizer, out, *, column: str = "text", seed: int = 0, workers: int = 2) -> Corpus:
    """Tokenise documents in parallel, in an order shuffled once, and keep them under `out`.

    The same settings a second time open what is there. Documents without a letter of text are counted and left out.

    Raises:
        DataError: unreadable sources, or `out` holds something else.
    """
    out = Path(out)
    settings = {"sources": [str(s) for s in sources], "column": column, "seed": seed, "vocabulary": tokenizer.digest}
    if (out / "corpus.json").is_file() and json.loads((out / "corpus.json").read_text())["settings"] == settings:
        return Corpus.open(out)
    if out.exists() and any(out.iterdir()) and not (out / "corpus.json").is_file():
        raise DataError(f"{out} exists and is no prepared corpus; name another directory")
    documents = read(sources, column)
    kind = "uint16" if tokenizer.vocab_size <= 1 << 16 else "int32"
    features = datasets.Features(
        {
            "input_ids": datasets.Sequence(datasets.Value(kind)),
            "segment_lengths": datasets.Sequence(datasets.Value("int32")),
            "source": datasets.Value("string"),
            "characters": datasets.Value("int32"),
        }
    )
    rows = documents.shuffle(seed=seed).map(
        _tokenise,
        batched=True,
        batch_size=64,
        num_proc=workers if workers > 1 else None,
        fn_kwargs={"tokenizer": tokenizer},
        remove_columns=["text"],
        features=features,
        desc="tokenising",
    )
    if not len(rows):
        raise DataError(f"no text was found in {', '.join(map(str, sources))}")
    facts = {
        "settings": settings,
        "documents": len(rows),
        "empty": len(documents) - len(rows),
        "tokens": int(sum(len(ids) for ids in _batches(rows, "input_ids"))),
        "characters": int(sum(n.sum() for n in _batches(rows, "characters"))),
    }
    building = out.with_name(out.name + ".building")
    shutil.rmtree(building, ignore_errors=True)
    rows.save_to_disk(str(building / "rows"))
    (building / "corpus.json").write_text(json.dumps(facts, indent=2, ensure_ascii=False))
    if out.exists():
        shutil.rmtree(out)
    building.rename(out)
    return Corpus.open(out)


def _batches(rows: datasets.Dataset, column: str) -> Iterator[np.ndarray]:
    for chunk in rows.data.column(column).chunks:
        flat = chunk.flatten() if hasattr(chunk, "value_lengths") else chunk
        yield flat.to_numpy(zero_copy_only=False)


def _tokenise(batch: dict, tokenizer) -> dict:
    columns: dict[str, list] = {"input_ids": [], "segment_lengths": [], "source": [], "characters": []}
    cut = [segments(text or "") for text in batch["text"]]
    ids = iter(tokenizer.encode_ids([segment for document in cut for segment in document]))
    for document, text, source in zip(cut, batch["text"], batch["source"], strict=True):
        pieces = [piece for piece in (next(ids) for _ in document) if piece]
        if pieces:
            columns["input_ids"].append([i for piece in pieces for i in piece])
            columns["segment_lengths"].append([len(piece) for piece in pieces])
            columns["source"].append(source)
            columns["characters"].append(len(text))
    return columns
