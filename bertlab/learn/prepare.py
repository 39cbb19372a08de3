"""`bertlab prepare`: raw text -> a corpus ready for pre-training, and a vocabulary if none is given.

Knows no model.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from bertlab.spec.errors import BertlabError
from bertlab.text.corpus import Corpus, prepare, read
from bertlab.text.tokenizer import Tokenizer


@dataclass(frozen=True)
class PrepareConfig:
    """Tokenise text once, in parallel, for `bertlab pretrain`.

    Examples:
      bertlab prepare texts/ --out runs/corpus                          learn a vocabulary, then tokenise
      bertlab prepare wiki.parquet --tokenizer assets/checkpoints/strongest --out runs/corpus
    """

    text: Annotated[tyro.conf.Positional[tuple[str, ...]], tyro.conf.arg(metavar="TEXT ...")]
    """Files (.parquet, .jsonl, .txt), directories of them, or hub ids."""
    out: Annotated[Path, tyro.conf.arg(metavar="DIR")]
    """The prepared corpus; its `tokenizer` folder holds the vocabulary."""
    tokenizer: Annotated[Path | None, tyro.conf.arg(metavar="PATH")] = None
    """A checkpoint directory or vocab.txt whose vocabulary to use; without it one is learnt from the text."""
    vocab_size: int = 8192
    """How many pieces to learn."""
    cased: bool = False
    """Keep capitals and accents; needed for Korean."""
    column: str = "text"
    """The column that holds the text."""
    sample: int = 60_000_000
    """Learn the vocabulary from about this many characters, taken evenly from the whole."""
    seed: int = 0
    """Of the order of documents."""
    workers: int = 2
    """Processes that tokenise."""


def run(config: PrepareConfig) -> Corpus:
    """Prepare a corpus; prints what came of it."""
    tokenizer = _tokenizer(config)
    corpus = prepare(
        list(config.text), tokenizer, config.out, column=config.column, seed=config.seed, workers=config.workers
    )
    tokenizer.save(config.out / "tokenizer")
    facts = corpus.facts
    print(
        f"{config.out}: {facts['documents']:,} documents, {facts['tokens']:,} tokens, "
        f"{facts['characters'] / facts['tokens']:.2f} characters a token, {facts['empty']} without text left out"
    )
    return corpus


def _tokenizer(config: PrepareConfig) -> Tokenizer:
    if config.tokenizer is None:
        if (config.out / "tokenizer").is_dir():
            return Tokenizer.load(config.out / "tokenizer")
        rows = read(list(config.text), config.column)
        print(f"learning {config.vocab_size:,} pieces from {len(rows):,} documents")
        return Tokenizer.train(_evenly(rows, config.sample), config.vocab_size, cased=config.cased)
    if config.tokenizer.is_dir():
        return Tokenizer.load(config.tokenizer)
    if config.tokenizer.is_file():
        return Tokenizer.from_vocab(config.tokenizer, lowercase=not config.cased)
    raise BertlabError(f"there is no tokenizer at {config.tokenizer}")


def _evenly(rows, characters: int):
    """Every n-th document, so that about `characters` are seen and every source has its share."""
    head = rows.select(range(0, len(rows), max(1, len(rows) // 200)))
    mean = sum(len(text or "") for text in head["text"]) / len(head)
    step = max(1, int(len(rows) * mean / characters))
    for row in rows.select(range(0, len(rows), step)):
        yield row["text"] or ""
