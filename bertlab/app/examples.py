"""The texts each page opens with, per language: `examples.toml` in each folder of `bertlab/locales`."""

from dataclasses import dataclass
from functools import cache

from bertlab.config.languages import read_data

Pair = tuple[str, str]


@dataclass(frozen=True)
class Examples:
    """Examples in one language."""

    short: str
    """A sentence for the picture of the start page."""
    pair: Pair
    """Two sentences for the input and the attention page."""
    changed: str
    """Another second sentence, to compare `pair` with."""
    sentence: str
    """A sentence to hide words of."""
    hidden: str
    """The number of the word of `sentence` that is hidden at first."""
    masked: str
    """A sentence with a [MASK]."""
    other: str
    """Another sentence with a [MASK], whose hidden states are patched into `masked`."""
    judged: str
    """A review, for the classifiers."""
    alike: Pair
    """Two sentences that mean nearly the same, for checkpoints that compare sentences."""
    named: str
    """A sentence with names."""
    passage: str
    """A passage that answers `questions`."""
    questions: tuple[str, ...]
    """Questions about `passage`."""
    moment: Pair
    """A sentence pair with a [MASK], for the time machine."""
    follows: dict[str, Pair]
    """Sentence pairs for next-sentence prediction, by what they show: follow, other, near."""


@cache
def examples(code: str) -> Examples:
    """The examples of a language, or the English ones where its folder has none."""
    return Examples(**{name: _tuples(value) for name, value in read_data("examples", code).items()})


def _tuples(value):
    if isinstance(value, dict):
        return {name: tuple(pair) for name, pair in value.items()}
    return tuple(value) if isinstance(value, list) else value
