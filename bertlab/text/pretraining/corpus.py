"""A prepared corpus: documents cut into segments, tokenised once, in an order shuffled once.

It is a directory: memory-mapped Arrow rows (one a document) and `corpus.json` (how it was made). Pairs and masks are
drawn from it anew each epoch. `text/pretraining/preparing.py` makes one. Knows no model.
"""

import json
import re
from dataclasses import dataclass, replace
from pathlib import Path

import datasets
import numpy as np
import pyarrow as pa

from bertlab.config.errors import DataError, first_line
from bertlab.text.pretraining.sentence_pairs import Documents, starts
from bertlab.text.tokenizers.wordpiece import Tokenizer

# a sentence ends at . ! ? or their full-width forms, closing quotes and brackets included, before white space
SENTENCE_END = re.compile(r"""(?<=[.!?。！？])["'”’)\]]*\s+""")

BATCHES = 16  # at least in a block, or about one in 32 pairs would be left out


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
        try:
            facts = json.loads((path / "corpus.json").read_text(encoding="utf-8"))
        except ValueError:
            raise DataError(f"{directory} is damaged: its corpus.json is not JSON; prepare it again") from None
        if (path / "rows" / "state.json").is_file():  # as `datasets` saves; how it was kept until version 0.1
            return cls(datasets.load_from_disk(str(path / "rows")), facts)
        files = sorted((path / "rows").glob("*.arrow"))
        if not files:
            raise DataError(f"{directory} is damaged: its rows are missing")
        try:
            rows = [datasets.Dataset.from_file(str(file)) for file in files]
        except (OSError, pa.ArrowException) as error:
            raise DataError(f"{directory} is damaged: {first_line(error)}; prepare it again") from None
        return cls(datasets.concatenate_datasets(rows), facts)

    @property
    def names(self) -> list[str]:
        """Of its sources, without their directories."""
        return [Path(source).name for source in self.facts["settings"]["sources"]]

    def check_vocabulary(self, tokenizer: Tokenizer, directory: str | Path, whose: str | Path) -> None:
        """Raises DataError where it was tokenised with another vocabulary: its numbers would stand for other pieces.

        Args:
            directory: where this corpus lies. whose: what has the tokenizer; both are told.
        """
        if self.facts["settings"]["vocabulary"] != tokenizer.digest:
            raise DataError(
                f"{directory} was tokenised with another vocabulary than {whose}: prepare it again with "
                f"--tokenizer {whose}"
            )

    @property
    def num_blocks(self) -> int:
        return -(-len(self.rows) // self.block_size)

    def in_blocks_for(self, tokens: int) -> "Corpus":
        """The same with blocks so large that a batch of so many tokens is a small part of one: of the pairs of a block
        those that do not fill a last batch are left out."""
        documents = BATCHES * tokens * self.facts["documents"] // max(1, self.facts["tokens"])
        return replace(self, block_size=max(self.block_size, documents))

    def _span(self, block: int) -> tuple[int, int]:
        """The first document of a block and how many it has: all blocks about as many, `block_size` at most."""
        first, end = (len(self.rows) * edge // self.num_blocks for edge in (block, block + 1))
        return first, end - first

    def documents(self, block: int) -> Documents:
        """The documents of one block, flat."""
        first, size = self._span(block)
        table = self.rows.data.slice(first, size)

        def flat(column):
            lists = table.column(column).combine_chunks()
            return lists.flatten().to_numpy(zero_copy_only=False), lists.value_lengths().to_numpy()

        tokens, _ = flat("input_ids")
        segment_lengths, segments_D = flat("segment_lengths")
        _, source_D = np.unique(table.column("source").to_numpy(), return_inverse=True)
        return Documents(tokens, starts(segment_lengths), starts(segments_D), source_D, np.arange(size))

    def times(self, block: int, rng: np.random.Generator) -> np.ndarray | None:
        """How often an epoch takes each document of a block, by its source's weight; None: each once.

        A weight of 2.5 gives two, and a third time to half of the documents.
        """
        weights = np.array(self.facts.get("weights", [1.0]))
        if (weights == 1).all():
            return None
        first, size = self._span(block)
        weight_D = weights[self.rows.data.slice(first, size).column("nth").to_numpy()]
        return (weight_D + rng.random(size)).astype(np.int64)
