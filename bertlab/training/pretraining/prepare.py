"""`bertlab prepare`: tokenise raw text into a corpus for pre-training, and train a vocabulary if none is given."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import tyro

from bertlab.checkpoints import locate
from bertlab.config.errors import DataError
from bertlab.config.languages import DEFAULT, languages
from bertlab.config.limits import check_limits, find_differing_flags
from bertlab.text.pretraining.corpus import Corpus, read_facts
from bertlab.text.pretraining.prepare_corpus import INVALID_ROWS, prepare_corpus
from bertlab.text.readers.documents import Shard, read_texts
from bertlab.text.readers.invalid_rows import InvalidRowAction
from bertlab.text.story_world.files import write_stories
from bertlab.text.story_world.world import StoryWorld
from bertlab.text.tokenizers.extension import extend_tokenizer, learn_new_tokens
from bertlab.text.tokenizers.wordpiece import Tokenizer

STORY_WORLD = "story-world"  # if this name is the only TEXT, it stands for generated stories
# The text on which a vocabulary is trained is read from at most about this many shards, because opening one takes time.
MAX_SAMPLE_SHARDS = 256


@dataclass(frozen=True)
class PrepareConfig:
    """Tokenise text into a corpus for `bertlab pretrain`, and train a vocabulary if none is given.

    Examples:
      bertlab prepare texts/ --out runs/corpus            # train a vocabulary, then tokenise
      bertlab prepare texts/ --cased --out runs/corpus    # Korean needs a cased vocabulary
      bertlab prepare wiki.parquet --tokenizer strongest --out runs/corpus
      bertlab prepare novels/ --tokenizer strongest --extend-vocabulary 2000 --out runs/novels    # add domain words
      bertlab prepare story-world --out runs/world        # if you have no text: generated stories
      bertlab prepare wiki/ novels/ --weights 1 3 --workers 8 --out runs/mixed    # an epoch uses the novels three times
    """

    text: Annotated[tyro.conf.Positional[tuple[str, ...]], tyro.conf.arg(metavar="TEXT ...")]
    """Files (.parquet, .jsonl, .json, .csv, .tsv, .txt, each also .gz, .xz or .zst), directories of them, or hub ids.
    In .txt, a blank line ends a document. Documents of more than a megabyte are split at line ends. A single line of
    more than a megabyte is split between words. The name story-world stands for short stories that bertlab
    generates. Held-out stories for `bertlab pretrain --validation` are then prepared too, in a second directory: with
    `--out runs/world`, it is runs/world-heldout."""
    out: Annotated[Path, tyro.conf.arg(metavar="DIR")]
    """The directory for the corpus; its `tokenizer` folder contains the vocabulary. If the corpus
    exists already, only the weights of its texts (--weights) can be changed."""
    tokenizer: Annotated[str | None, tyro.conf.arg(metavar="CHECKPOINT")] = None
    """The vocabulary to use: that of a checkpoint (a directory, the name of a shipped checkpoint, or a hub id) or a
    vocab.txt. Without this flag, a vocabulary is trained on the text."""
    extend_vocabulary: Annotated[int | None, tyro.conf.arg(metavar="INT")] = None
    """With --tokenizer: add this number of tokens, which are chosen so that the text needs as few tokens as possible.
    They are words that the vocabulary splits, or parts of such words. The existing tokens keep their ids, so `bertlab
    pretrain --from CHECKPOINT` can continue the checkpoint; the embedding of each new token then starts as the
    mean of the embeddings of the tokens into which it was split before."""
    vocab_size: int = 8192
    """The size of the vocabulary to train, in tokens."""
    cased: bool = False
    """Keep capitals and accents. Korean needs this flag; for Korean stories it is always set."""
    column: str = "text"
    """The column with the text."""
    sample: int = 60_000_000
    """Train or extend the vocabulary on about this many characters, sampled evenly from the whole text."""
    seed: int = 0
    """Seed for shuffling the documents. With story-world, it is also the seed of the
    stories: another seed gives other stories."""
    weights: Annotated[tuple[float, ...], tyro.conf.arg(metavar="NUMBER ...")] = ()
    """One number for each TEXT, in the same order: how many times an epoch uses the documents of this TEXT. With
    `--weights 2 0.5`, an epoch uses the first TEXT twice, and of the second a random half of the documents, chosen anew
    for each epoch. Default: 1 for each TEXT. Weights affect training only. To change the weights of an existing corpus,
    run the same command with other weights; nothing is tokenised again."""
    invalid: Annotated[InvalidRowAction, tyro.conf.arg(aliases=("--damaged",))] = "stop"
    """What to do about a file or row that is damaged or has no text: stop with an error, or skip it and list it in
    invalid_rows.jsonl."""
    stream: bool = False
    """Stream hub data sets instead of downloading them first."""
    workers: int = 2
    """Number of processes that tokenise in parallel."""
    language: Annotated[str, tyro.conf.arg(metavar="CODE")] = DEFAULT
    """The language of story-world: en or ko."""
    documents: int = 20_000
    """The number of training stories of story-world, with about 125 English words each. In addition, a tenth as many
    held-out stories are generated."""


def run(config: PrepareConfig) -> Corpus:
    """Prepare a corpus, and print its size.

    Raises:
        BertlabError: two flags contradict each other, or `prepare_corpus` raises an error.
    """
    if config.text == (STORY_WORLD,) and not Path(STORY_WORLD).exists():
        return _prepare_stories(config)
    if flags := find_differing_flags(config, PrepareConfig, ("language", "documents")):
        raise DataError("story-flags-unused", flags=flags)
    return _prepare_texts(config)


def _prepare_texts(config: PrepareConfig, **train_options: object) -> Corpus:
    """Prepare a corpus of texts; `train_options` are further arguments of `Tokenizer.train`."""
    _check_flags(config)
    earlier_facts = read_facts(config.out)
    vocabulary, vocabulary_settings = _choose_vocabulary(config, train_options)
    corpus = prepare_corpus(
        config.text,
        vocabulary,
        config.out,
        column=config.column,
        seed=config.seed,
        workers=config.workers,
        weights=config.weights,
        invalid=config.invalid,
        stream=config.stream,
        vocabulary_settings=vocabulary_settings,
    )
    facts = corpus.facts
    print(
        f"{config.out}: {facts['documents']:,} documents, {facts['tokens']:,} tokens, "
        f"{facts['characters'] / facts['tokens']:.2f} characters per token"
    )
    if facts["documents"] == 1:
        print("a single document, so no sentence pair combines two documents (in .txt, a blank line ends a document)")
    if invalid := facts["invalid"]:
        print(f"{invalid:,} invalid rows or files left out, all listed in {config.out / INVALID_ROWS}:")
        print(*(f"  {line}" for line in facts["first_invalid"]), sep="\n")
        if invalid > len(facts["first_invalid"]):
            print("  ...")
    if "seconds" in facts:
        # Whether the corpus existed already; then the command can change only its weights.
        was_prepared = earlier_facts is not None and earlier_facts | {"weights": None} == facts | {"weights": None}
        speed = facts["bytes"] / 1e6 / max(facts["seconds"], 0.01)
        if was_prepared and earlier_facts.get("weights") != facts.get("weights"):
            print(f"weights of the sources changed from {_format_weights(earlier_facts)} to {_format_weights(facts)}")
        print(
            f"{facts['bytes'] / 1e6:,.1f} MB of text in {facts['seconds']:,.1f} s: {speed:.1f} MB/s"
            f"{' (prepared earlier)' if was_prepared else ''}"
        )
    return corpus


def _prepare_stories(config: PrepareConfig) -> Corpus:
    """Write training and held-out stories to files beside the corpus, prepare both, and return the training corpus."""
    check_limits(config)
    world = StoryWorld(config.language, config.seed)
    stories_directory = config.out.with_name(f"{config.out.name}-stories")
    training_file = write_stories(stories_directory, world, config.documents)
    held_out_file = write_stories(stories_directory, world, max(1, config.documents // 10), held_out=True)
    # Lowercasing includes the removal of accents, and this would split Hangul syllables into letters. A language with a
    # script of its own therefore needs a cased vocabulary.
    is_cased = config.cased or bool(languages()[config.language].script)
    config_without_story_flags = replace(config, language=DEFAULT, documents=PrepareConfig.documents)
    # The vocabulary covers every character, because the stories contain no rare characters of other languages.
    training_config = replace(
        config_without_story_flags, text=(str(training_file),), cased=is_cased and config.tokenizer is None
    )
    corpus = _prepare_texts(training_config, coverage=1.0)
    # The held-out stories use the vocabulary of the corpus, so the flags for making a vocabulary have their defaults.
    vocabulary_flags = {"tokenizer": str(config.out / "tokenizer"), "vocab_size": PrepareConfig.vocab_size}
    vocabulary_flags |= {"sample": PrepareConfig.sample, "cased": False, "extend_vocabulary": None}
    held_out_config = replace(
        config_without_story_flags, text=(str(held_out_file),), out=held_out_corpus(config.out), **vocabulary_flags
    )
    _prepare_texts(held_out_config)
    return corpus


def held_out_corpus(corpus: Path) -> Path:
    """Return the directory of the held-out stories that belong to a corpus of stories.

    >>> held_out_corpus(Path("runs/world")).name
    'world-heldout'
    """
    return corpus.with_name(f"{corpus.name}-heldout")


def _format_weights(facts: dict) -> str:
    """Format the weights of the texts of a corpus, such as "2 : 0.5"."""
    return " : ".join(f"{weight:g}" for weight in facts.get("weights") or ())


def _check_flags(config: PrepareConfig) -> None:
    """Reject flags for training a vocabulary if `--tokenizer` names one, and `--extend-vocabulary` if it does not."""
    if config.tokenizer is None:
        if config.extend_vocabulary is not None:
            raise DataError("extend-vocabulary-without-tokenizer")
        return
    unused_fields = ["vocab_size"]
    if config.extend_vocabulary is None:
        unused_fields.append("sample")
    if not Path(config.tokenizer).is_file():  # a vocab.txt does not record whether it is cased, so it may need --cased
        unused_fields.append("cased")
    if flags := find_differing_flags(config, PrepareConfig, unused_fields):
        raise DataError("tokenizer-flags-unused", flags=flags)


def _choose_vocabulary(
    config: PrepareConfig, train_options: dict
) -> tuple[Tokenizer | Callable[[list[Shard]], Tokenizer], dict | None]:
    """Load the tokenizer that `--tokenizer` names, or make a function that trains one or extends that tokenizer.

    Args:
        config: the configuration.
        train_options: further arguments of `Tokenizer.train`.

    Returns:
        The tokenizer or the function, and the settings of the training (None for an existing tokenizer that is used
        unchanged).
    """
    if config.tokenizer is None:

        def train(shards: list[Shard]) -> Tokenizer:
            print(f"training a vocabulary of {config.vocab_size:,} tokens")
            sample = _sample_text(shards, config.column, config.sample)
            tokenizer = Tokenizer.train(sample, config.vocab_size, cased=config.cased, **train_options)
            if tokenizer.vocab_size < config.vocab_size:
                print(f"the vocabulary has only {tokenizer.vocab_size:,} tokens: this text gives no more")
            return tokenizer

        return train, {"vocab_size": config.vocab_size, "cased": config.cased, "sample": config.sample} | train_options
    tokenizer = _load_tokenizer(config)
    if config.extend_vocabulary is None:
        return tokenizer, None
    if tokenizer.kind != "WordPiece":
        raise DataError("extend-vocabulary-unsupported", kind=tokenizer.kind, tokenizer=config.tokenizer)

    def extend(shards: list[Shard]) -> Tokenizer:
        print(f"choosing {config.extend_vocabulary:,} tokens for the vocabulary of {config.tokenizer}")
        sample = _sample_text(shards, config.column, config.sample)
        tokens = learn_new_tokens(tokenizer, sample, config.extend_vocabulary)
        examples = (
            f"such as {', '.join(tokens[:8])}" if tokens else "because no word that is split occurs in two passages"
        )
        print(f"{len(tokens):,} new tokens, {examples}")
        return extend_tokenizer(tokenizer, tokens)

    settings = {"extends": tokenizer.digest, "new_tokens": config.extend_vocabulary, "sample": config.sample}
    return extend, settings


def _load_tokenizer(config: PrepareConfig) -> Tokenizer:
    """Load the tokenizer of the file, corpus or checkpoint that `--tokenizer` names."""
    if Path(config.tokenizer).is_file():
        return Tokenizer.from_vocab(config.tokenizer, lowercase=not config.cased)
    directory = locate.find(config.tokenizer, needs_weights=False)
    subdirectory = directory / "tokenizer"
    return Tokenizer.load(subdirectory if subdirectory.is_dir() else directory)


def _sample_text(shards: list[Shard], column: str, num_characters: int) -> Iterator[str]:
    """Yield about `num_characters` characters from the beginnings of shards, or the whole text if it is shorter.

    Each shard adds to a quota of characters, in proportion to its size. If the quota then exceeds a minimum, the shard
    is opened and read until the quota is used up. Therefore every long shard is opened, but only some of the
    small shards, evenly spaced.
    """
    size, minimum = sum(shard.size for shard in shards), num_characters / MAX_SAMPLE_SHARDS
    characters_per_byte = num_characters / size if size > num_characters else math.inf
    quota = minimum
    for shard in shards:
        # The size of a stream is unknown, so a stream adds an equal share of the characters.
        quota += characters_per_byte * shard.size if shard.size else num_characters / len(shards)
        if quota <= minimum:
            continue
        for row in read_texts(shard, column):
            yield row.text or ""
            quota -= len(row.text or "")
            if quota < 0:
                break
        quota = min(quota, minimum)  # if this shard was too short, the next one does not make up for it
