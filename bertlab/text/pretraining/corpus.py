"""A prepared corpus: documents that were split into sentences, tokenised and shuffled once.

It is a directory with memory-mapped Arrow rows (one per document) and `corpus.json` (how the corpus was made). Every
epoch makes new random sentence pairs and masks from it. `prepare_corpus` writes a corpus.

Shape legend: D documents.
"""

import json
import zlib
from dataclasses import dataclass, replace
from pathlib import Path

import datasets
import numpy as np
import pyarrow as pa

from bertlab.config.errors import DataError, first_line
from bertlab.text.pretraining.sentence_pairs import Documents, compute_offsets
from bertlab.text.tokenizers.wordpiece import Tokenizer

# The minimum number of batches in a block of the maximum size. The last, incomplete batch of a block may be left out;
# if a block has exactly 16 batches, that is one pair in 32 on average.
MIN_BATCHES = 16
CHECKSUMS = "checksums"  # the field of corpus.json with the CRC-32 of each file of rows


def read_facts(directory: str | Path) -> dict | None:
    """Read the facts about a corpus from `corpus.json`: settings, numbers of documents and tokens. None without it."""
    path = Path(directory) / "corpus.json"
    if not path.is_file():
        return None
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        raise DataError("corpus-facts-damaged", path=path, directory=directory) from None
    if not _has_valid_fields(facts):
        raise DataError("corpus-facts-damaged", path=path, directory=directory)
    return facts


def _has_valid_fields(facts: object) -> bool:
    if not isinstance(facts, dict) or not isinstance(settings := facts.get("settings"), dict):
        return False
    sources, weights = settings.get("sources"), facts.get("weights", [])
    return (
        all(type(facts.get(name)) is int for name in ("documents", "tokens", "invalid"))
        and isinstance(sources, list)
        and all(isinstance(source, str) for source in sources)
        and isinstance(weights, list)
        and all(type(weight) in (int, float) for weight in weights)
    )


@dataclass(frozen=True)
class Corpus:
    """An open prepared corpus."""

    rows: datasets.Dataset
    """One row per document: `input_ids`, `segment_lengths` (tokens of each segment; here a segment is a sentence),
    `source` (a name) and `nth` (the index of this source in the sources and weights of corpus.json)."""
    facts: dict  # the content of corpus.json
    block_size: int = 2048  # the maximum number of documents in a block. Pairs are made and shuffled within a block

    @classmethod
    def open(cls, directory: str | Path) -> "Corpus":
        """Open a prepared corpus and check its files against their checksums."""
        path = Path(directory)
        if (facts := read_facts(path)) is None:
            raise DataError("corpus-not-found", path=directory)
        files = sorted((path / "rows").glob("*.arrow"))
        if not files:
            raise DataError("corpus-rows-missing", path=directory)
        checksums = facts.get(CHECKSUMS, {})
        try:
            if any(file.name in checksums and checksums[file.name] != compute_checksum(file) for file in files):
                raise DataError("corpus-checksum-differs", path=directory)
            rows = [datasets.Dataset.from_file(str(file)) for file in files]
        except (OSError, pa.ArrowException) as error:
            raise DataError("corpus-rows-damaged", path=directory, reason=first_line(error)) from None
        return cls(datasets.concatenate_datasets(rows), facts)

    @property
    def source_names(self) -> list[str]:
        return [Path(source).name for source in self.facts["settings"]["sources"]]

    def check_vocabulary(self, tokenizer: Tokenizer, directory: str | Path, owner: str | Path) -> None:
        """Raise DataError unless the corpus was tokenised with this vocabulary."""
        if self.facts["settings"].get("vocabulary") != tokenizer.digest:
            raise DataError("corpus-vocabulary-differs", path=directory, owner=owner)

    @property
    def num_blocks(self) -> int:
        return -(-len(self.rows) // self.block_size)

    def enlarge_blocks(self, batch_tokens: int) -> "Corpus":
        """Return the corpus with blocks of at least `MIN_BATCHES` batches of `batch_tokens` tokens.

        This bound holds for the maximum block size. All blocks have nearly the same size, which may be half of the
        maximum. If the last pairs of a block do not fill a batch, they are left out; with small blocks, these would be
        a large share.
        """
        num_documents = MIN_BATCHES * batch_tokens * self.facts["documents"] // max(1, self.facts["tokens"])
        return replace(self, block_size=max(self.block_size, num_documents))

    def _find_block_span(self, block: int) -> tuple[int, int]:
        first, end = (len(self.rows) * edge // self.num_blocks for edge in (block, block + 1))
        return first, end - first

    def read_documents(self, block: int) -> Documents:
        """Read the documents of one block."""
        first, size = self._find_block_span(block)
        table = self.rows.data.slice(first, size)

        def flatten(column):
            """Return all values of a column of lists, and the length of each list."""
            lists = table.column(column).combine_chunks()
            return lists.flatten().to_numpy(zero_copy_only=False), lists.value_lengths().to_numpy()

        tokens, _ = flatten("input_ids")
        sentence_lengths, num_sentences_D = flatten("segment_lengths")  # segment: here a sentence
        _, source_D = np.unique(table.column("source").to_numpy(), return_inverse=True)
        sentence_start, document_start = compute_offsets(sentence_lengths), compute_offsets(num_sentences_D)
        return Documents(tokens, sentence_start, document_start, source_D, np.arange(size))

    def draw_repetitions(self, block: int, rng: np.random.Generator) -> np.ndarray | None:
        """Choose at random how many times an epoch uses each document, by the weight of the document's source.

        With a weight of 2.5, each document is used twice, and a random half of them a third time.

        Returns:
            int64 [D]; None if every document is used once.
        """
        weights = np.array(self.facts.get("weights", [1.0]))
        if (weights == 1).all():
            return None
        first, size = self._find_block_span(block)
        source_index_D = self.rows.data.slice(first, size).column("nth").to_numpy()
        if source_index_D.max(initial=0) >= len(weights):
            raise DataError("corpus-weights-invalid", sources=int(source_index_D.max()) + 1, weights=weights.tolist())
        weight_D = weights[source_index_D]
        return (weight_D + rng.random(size)).astype(np.int64)


def compute_checksum(path: Path) -> str:
    """Return the CRC-32 of a file, in hexadecimal."""
    checksum = 0
    with path.open("rb") as file:
        while data := file.read(1 << 20):
            checksum = zlib.crc32(data, checksum)
    return f"{checksum:08x}"
