"""A prepared corpus: documents split into sentences, tokenised once, in an order shuffled once.

It is a directory: memory-mapped Arrow rows (one a document) and `corpus.json` (how it was made). Sentence pairs and
masks are drawn from it anew each epoch. `prepare_corpus` makes one.
"""

import json
import re
import zlib
from dataclasses import dataclass, replace
from pathlib import Path

import datasets
import numpy as np
import pyarrow as pa

from bertlab.config.errors import DataError, first_line
from bertlab.text.pretraining.sentence_pairs import Documents, offsets
from bertlab.text.tokenizers.wordpiece import Tokenizer

# a sentence ends at . ! ? or their full-width forms, closing quotes and brackets included, before white space
SENTENCE_END = re.compile(r"""(?<=[.!?。！？])["'”’)\]]*\s+""")

MIN_BATCHES = 16  # in a block; the last batch of a block may be left out, which is then at most about one pair in 32
CHECKSUMS = "checksums"  # the field of corpus.json with the CRC-32 of each file of rows
# fields of corpus.json by their names until version 0.1
OLD_NAMES = {"damages": "invalid", "damaged": "first_invalid"}
OLD_SETTINGS = {"damaged": "invalid"}


def split_sentences(text: str) -> list[str]:
    """Split a text into lines, and these into sentences: the units that sentence pairs are made of.

    >>> split_sentences('It rains. "Come in!" she said.\\nThe door closed.')
    ['It rains.', '"Come in!"', 'she said.', 'The door closed.']
    """
    sentences = []
    for line in text.splitlines():
        start = 0
        for end in SENTENCE_END.finditer(line):
            sentences.append(line[start : end.end()].strip())
            start = end.end()
        sentences.append(line[start:].strip())
    return [sentence for sentence in sentences if sentence]


def read_facts(directory: str | Path) -> dict | None:
    """Read what `corpus.json` says of a corpus, under today's names.

    Returns:
        None where there is no such file.

    Raises:
        DataError: the file is damaged.
    """
    path = Path(directory) / "corpus.json"
    if not path.is_file():
        return None
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        raise DataError("corpus-facts-damaged", path=path, directory=directory) from None
    if not _are_facts(facts):
        raise DataError("corpus-facts-damaged", path=path, directory=directory)
    facts = {"invalid": 0, "first_invalid": []} | {OLD_NAMES.get(name, name): value for name, value in facts.items()}
    return facts | {"settings": {OLD_SETTINGS.get(name, name): value for name, value in facts["settings"].items()}}


def _are_facts(facts: object) -> bool:
    """Whether the content of a corpus.json has the fields that are used, of the right types."""
    if not isinstance(facts, dict) or not isinstance(settings := facts.get("settings"), dict):
        return False
    sources, weights = settings.get("sources"), facts.get("weights", [])
    return (
        all(type(facts.get(name)) is int for name in ("documents", "tokens"))
        and isinstance(sources, list)
        and all(isinstance(source, str) for source in sources)
        and isinstance(weights, list)
        and all(type(weight) in (int, float) for weight in weights)
    )


@dataclass(frozen=True)
class Corpus:
    """A prepared corpus, opened."""

    rows: datasets.Dataset
    """One document each: `input_ids`, `segment_lengths` (tokens of each sentence), `source` and `nth`."""
    facts: dict
    """The content of corpus.json."""
    block_size: int = 2048
    """Documents that are drawn from and shuffled together, at most."""

    @classmethod
    def open(cls, directory: str | Path) -> "Corpus":
        """Open a prepared corpus, and compare its files with their checksums.

        Raises:
            DataError: the directory is not a prepared corpus, or it is damaged.
        """
        path = Path(directory)
        if (facts := read_facts(path)) is None:
            raise DataError("corpus-not-found", path=directory)
        if (path / "rows" / "state.json").is_file():  # saved by `datasets`, as until version 0.1
            return cls(datasets.load_from_disk(str(path / "rows")), facts)
        files = sorted((path / "rows").glob("*.arrow"))
        if not files:
            raise DataError("corpus-rows-missing", path=directory)
        checksums = facts.get(CHECKSUMS, {})
        try:
            if any(file.name in checksums and checksums[file.name] != file_checksum(file) for file in files):
                raise DataError("corpus-checksum-differs", path=directory)
            rows = [datasets.Dataset.from_file(str(file)) for file in files]
        except (OSError, pa.ArrowException) as error:
            raise DataError("corpus-rows-damaged", path=directory, reason=first_line(error)) from None
        return cls(datasets.concatenate_datasets(rows), facts)

    @property
    def source_names(self) -> list[str]:
        """The names of its sources, without their directories."""
        return [Path(source).name for source in self.facts["settings"]["sources"]]

    def check_vocabulary(self, tokenizer: Tokenizer, directory: str | Path, owner: str | Path) -> None:
        """Check that it was tokenised with this vocabulary; with another, its ids would stand for other tokens.

        Args:
            directory: where this corpus is.
            owner: the checkpoint that has the tokenizer.

        Raises:
            DataError: it was tokenised with another vocabulary; the message names `directory` and `owner`.
        """
        if self.facts["settings"].get("vocabulary") != tokenizer.digest:
            raise DataError("corpus-vocabulary-differs", path=directory, owner=owner)

    @property
    def num_blocks(self) -> int:
        return -(-len(self.rows) // self.block_size)

    def in_blocks_for(self, tokens: int) -> "Corpus":
        """The same corpus with blocks so large that a batch of this many tokens is a small part of one.

        The pairs at the end of a block that do not fill a batch are left out, so small blocks would leave out many.
        """
        documents = MIN_BATCHES * tokens * self.facts["documents"] // max(1, self.facts["tokens"])
        return replace(self, block_size=max(self.block_size, documents))

    def _span(self, block: int) -> tuple[int, int]:
        """The first document of a block and their number; all blocks have about as many, `block_size` at most."""
        first, end = (len(self.rows) * edge // self.num_blocks for edge in (block, block + 1))
        return first, end - first

    def documents(self, block: int) -> Documents:
        """The documents of one block."""
        first, size = self._span(block)
        table = self.rows.data.slice(first, size)

        def flat(column):
            lists = table.column(column).combine_chunks()
            return lists.flatten().to_numpy(zero_copy_only=False), lists.value_lengths().to_numpy()

        tokens, _ = flat("input_ids")
        segment_lengths, segments_D = flat("segment_lengths")
        _, source_D = np.unique(table.column("source").to_numpy(), return_inverse=True)
        return Documents(tokens, offsets(segment_lengths), offsets(segments_D), source_D, np.arange(size))

    def repetitions(self, block: int, rng: np.random.Generator) -> np.ndarray | None:
        """How often an epoch takes each document of a block, by the weight of its source; None if each once.

        A weight of 2.5 takes each document twice, and a random half of them a third time.

        Raises:
            DataError: the number of a source is beyond the weights.
        """
        weights = np.array(self.facts.get("weights", [1.0]))
        if (weights == 1).all():
            return None
        first, size = self._span(block)
        source_D = self.rows.data.slice(first, size).column("nth").to_numpy()
        if source_D.max(initial=0) >= len(weights):
            raise DataError("corpus-weights-invalid", sources=int(source_D.max()) + 1, weights=weights.tolist())
        weight_D = weights[source_D]
        return (weight_D + rng.random(size)).astype(np.int64)


def file_checksum(path: Path) -> str:
    """The CRC-32 of a file, in hexadecimal."""
    checksum = 0
    with path.open("rb") as file:
        while data := file.read(1 << 20):
            checksum = zlib.crc32(data, checksum)
    return f"{checksum:08x}"
