"""`bertlab prepare`: raw text -> a corpus ready for pre-training, and a vocabulary if none is given.

Knows no model.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from bertlab.checkpoints import locate
from bertlab.config.errors import DataError
from bertlab.config.limits import apart
from bertlab.text.pretraining.corpus import Corpus
from bertlab.text.pretraining.preparing import made, prepare
from bertlab.text.readers.corpus_files import Shard, texts
from bertlab.text.readers.invalid_rows import InvalidRowAction
from bertlab.text.tokenizers.wordpiece import Tokenizer

BITES = 256  # that a sample is taken in, at most: to open a shard for a few words costs more than they are worth


@dataclass(frozen=True)
class PrepareConfig:
    """Tokenise text once, in parallel, for `bertlab pretrain`.

    Examples:
      bertlab prepare texts/ --out runs/corpus                          learn a vocabulary, then tokenise
      bertlab prepare texts/ --cased --out runs/corpus                  Korean keeps its syllables in a cased one
      bertlab prepare wiki.parquet --tokenizer strongest --out runs/corpus
      bertlab prepare wiki/ novels/ --weights 1 3 --workers 8 --out runs/mixed    novels count three times
    """

    text: Annotated[tyro.conf.Positional[tuple[str, ...]], tyro.conf.arg(metavar="TEXT ...")]
    """Files (.parquet, .jsonl, .json, .csv, .tsv, .txt), directories of them, or hub ids. In .txt a blank line ends a
    document, and so does the line with which it reaches a megabyte; a longer line is parted between words."""
    out: Annotated[Path, tyro.conf.arg(metavar="DIR")]
    """The prepared corpus; its `tokenizer` folder holds the vocabulary. One that is there is opened, never replaced."""
    tokenizer: Annotated[str | None, tyro.conf.arg(metavar="CHECKPOINT")] = None
    """Whose vocabulary to use: a checkpoint's (a directory, a shipped name or a hub id) or a vocab.txt; without it one
    is learnt from the text."""
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
    weights: Annotated[tuple[float, ...], tyro.conf.arg(metavar="NUMBER ...")] = ()
    """How often an epoch goes through each TEXT, in their order: `--weights 2 0.5` takes all of the first twice, and of
    the second half the documents, drawn anew each time. Once each, if not given. Training heeds it; changing it later
    tokenises nothing again."""
    invalid: Annotated[InvalidRowAction, tyro.conf.arg(aliases=("--damaged",))] = "stop"
    """What to do about a damaged file, or a row that is damaged or without text: stop and name it, or leave it out,
    count it and list it in damaged.jsonl."""
    stream: bool = False
    """Take hub data sets as they come instead of downloading them first; each process takes shards of its own."""
    workers: int = 2
    """Processes that tokenise."""


def run(config: PrepareConfig) -> Corpus:
    """Prepare a corpus; prints what came of it."""
    _check(config)
    before = made(config.out)
    vocabulary, learnt = _vocabulary(config)
    corpus = prepare(
        list(config.text),
        vocabulary,
        config.out,
        column=config.column,
        seed=config.seed,
        workers=config.workers,
        weights=list(config.weights),
        damaged=config.invalid,
        stream=config.stream,
        learnt=learnt,
    )
    facts = corpus.facts
    print(
        f"{config.out}: {facts['documents']:,} documents, {facts['tokens']:,} tokens, "
        f"{facts['characters'] / facts['tokens']:.2f} characters a token"
    )
    if facts["documents"] == 1:
        print("a single document: no second sentence can come from another (in .txt, a blank line ends a document)")
    if damages := facts.get("damages"):
        print(f"{damages:,} damaged left out, all in {config.out / 'damaged.jsonl'}:")
        print(*(f"  {line}" for line in facts["damaged"]), *["  ..."] * (damages > len(facts["damaged"])), sep="\n")
    if "seconds" in facts:
        there = before is not None and before | {"weights": None} == facts | {"weights": None}
        again = " (it was there already)" if there else ""
        speed = facts["bytes"] / 1e6 / max(facts["seconds"], 0.01)
        if there and before.get("weights") != facts.get("weights"):
            print(f"the sources weigh {_weights(facts)} from now on, as asked; before {_weights(before)}")
        print(f"{facts['bytes'] / 1e6:,.1f} MB of text in {facts['seconds']:,.1f} s: {speed:.1f} MB/s{again}")
    return corpus


def _weights(facts: dict) -> str:
    return " : ".join(f"{weight:g}" for weight in facts.get("weights") or ())


def _check(config: PrepareConfig) -> None:
    """Refuse what only a vocabulary that is learnt heeds, beside one that is given."""
    if config.tokenizer is None:
        return
    # of a vocab.txt nothing but the flag says whether it is cased
    learnt = ("vocab_size", "sample") if Path(config.tokenizer).is_file() else ("vocab_size", "sample", "cased")
    if idle := apart(config, PrepareConfig, learnt):
        raise DataError(f"--tokenizer brings a vocabulary as it is: leave out {', '.join(idle)}")


def _vocabulary(config: PrepareConfig) -> tuple[Tokenizer | Callable[[list[Shard]], Tokenizer], dict | None]:
    """A tokenizer, or how to learn one and from what settings."""
    if config.tokenizer is None:

        def learn(found: list[Shard]) -> Tokenizer:
            print(f"learning {config.vocab_size:,} pieces")
            sample = _evenly(found, config.column, config.sample)
            tokenizer = Tokenizer.train(sample, config.vocab_size, cased=config.cased)
            if tokenizer.vocab_size < config.vocab_size:
                print(f"{tokenizer.vocab_size:,} pieces were learnt: this text gives no more")
            return tokenizer

        return learn, {"vocab_size": config.vocab_size, "cased": config.cased, "sample": config.sample}
    if Path(config.tokenizer).is_file():
        return Tokenizer.from_vocab(config.tokenizer, lowercase=not config.cased), None
    found = locate.find(config.tokenizer, weights=False)
    return Tokenizer.load(found / "tokenizer" if (found / "tokenizer").is_dir() else found), None


def _evenly(found: list[Shard], column: str, characters: int) -> Iterator[str]:
    """About so many characters, from the beginnings of shards all over the sources; all there is, if it is no more.

    Every shard adds its part to what is owed, and one is opened when that comes to a bite: a long one for its part, and
    of many small ones as many as it takes.
    """
    size, bite = sum(shard.size for shard in found), characters / BITES
    rate = characters / size if size > characters else math.inf
    owed = bite
    for shard in found:
        # the size of what is streamed is not known
        owed += rate * shard.size if shard.size else characters / len(found)
        if owed <= bite:
            continue
        for _, text, _ in texts(shard, column):
            yield text or ""
            owed -= len(text or "")
            if owed < 0:
                break
        owed = min(owed, bite)  # what one has not is not asked of the next
