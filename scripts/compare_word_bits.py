"""Compare checkpoints, also with different vocabularies, by their word bits per character on held-out text.

Run `python scripts/compare_word_bits.py --texts novels.parquet --checkpoints scratch runs/domain`. Words are also shown
in two groups: those that the vocabularies split into different tokens, and the others.

Word bits: each token is predicted while it and the later tokens of its word are masked, as in `bertlab writing`. The
other tokens of a word do not reveal it, so that checkpoints with different vocabularies can be compared.
Standard errors are over paragraphs; the difference of two checkpoints is computed for each paragraph.

Shape legend: N paragraphs.
"""

import math
import random
from dataclasses import dataclass
from pathlib import Path

import torch
import tyro

from bertlab.abilities.writing.surprise import ScoredWord, compute_surprises
from bertlab.checkpoints import checkpoint
from bertlab.text.readers.text_file import read_documents

MIN_CHARACTERS, MAX_CHARACTERS = 200, 600  # of a paragraph


@dataclass(frozen=True)
class Options:
    """Compare the word bits per character of checkpoints on held-out texts."""

    texts: list[Path]
    """Files with a document in each row; each is measured by itself."""
    checkpoints: list[str]
    """The checkpoints; each is compared with those before it."""
    paragraphs: int = 90
    """The number of paragraphs of each file, drawn at random (always the same ones)."""


def choose_paragraphs(documents: list[str], count: int) -> list[str]:
    """Draw lines of suitable length at random."""
    lines = [line.strip() for document in documents for line in document.splitlines()]
    suitable = [line for line in lines if MIN_CHARACTERS <= len(line) <= MAX_CHARACTERS]
    return random.Random(0).sample(suitable, min(count, len(suitable)))


def compute_ratio(bits_N: torch.Tensor, characters_N: torch.Tensor) -> tuple[float, float]:
    """Return bits per character and its standard error over the paragraphs (linearised ratio of sums)."""
    ratio = bits_N.sum() / characters_N.sum()
    deviations_N = bits_N - ratio * characters_N
    n = len(bits_N)
    error = (deviations_N.square().sum() * n / (n - 1)).sqrt() / characters_N.sum()
    return ratio.item(), error.item()


def sum_bits(words: list[ScoredWord]) -> float:
    """Add up the surprise of words, in bits."""
    return sum(word.surprise for word in words) / math.log(2)


def compare(path: Path, names: list[str], count: int) -> None:
    """Print the results of all checkpoints on one file."""
    documents = list(read_documents(path).texts)
    paragraphs = choose_paragraphs(documents, count)
    characters_N = torch.tensor([float(len(each)) for each in paragraphs])
    print(f"{path.name}: {len(paragraphs)} paragraphs, {int(characters_N.sum()):,} characters", flush=True)
    bits_by_name: dict[str, torch.Tensor] = {}
    words_by_name: dict[str, list[ScoredWord]] = {}
    for name in names:
        loaded = checkpoint.load(name)
        surprises = compute_surprises(loaded.model.eval(), loaded.tokenizer, paragraphs)
        bits_N = torch.tensor([sum_bits(each.words) for each in surprises])
        num_tokens = sum(map(len, loaded.tokenizer.encode_ids(documents)))
        bits, error = compute_ratio(bits_N, characters_N)
        print(f"  {name}: {100 * num_tokens / sum(map(len, documents)):.2f} tokens per 100 characters, "
              f"{bits:.4f} ± {error:.4f} word bits", flush=True)  # fmt: skip
        for other, other_bits_N in bits_by_name.items():
            change, error = compute_ratio(bits_N - other_bits_N, characters_N)
            print(f"    minus {other}: {change:+.4f} ± {error:.4f}", flush=True)
        bits_by_name[name] = bits_N
        words_by_name[name] = [word for each in surprises for word in each.words]
    print_by_tokens(words_by_name)


def print_by_tokens(words_by_name: dict[str, list[ScoredWord]]) -> None:
    """Print the bits of the words whose tokens differ between the checkpoints, and of the other words."""
    tokens_by_checkpoint = [[[t.token for t in word.tokens] for word in words] for words in words_by_name.values()]
    differences = [any(tokens != each[0] for tokens in each) for each in zip(*tokens_by_checkpoint, strict=True)]
    for name, words in words_by_name.items():
        for label, is_different in (("split differently", True), ("split alike", False)):
            selected = [word for word, differs in zip(words, differences, strict=True) if differs == is_different]
            mean = sum_bits(selected) / max(len(selected), 1)
            print(f"  {name}: {len(selected):,} words {label}, {mean:.3f} bits each", flush=True)


def main() -> None:
    """Compare the checkpoints on each file."""
    options = tyro.cli(Options)
    torch.set_num_threads(1)
    for path in options.texts:
        compare(path, options.checkpoints, options.paragraphs)


if __name__ == "__main__":
    main()
