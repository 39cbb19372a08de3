"""Learn a WordPiece vocabulary from texts."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain

from tokenizers import trainers

from bertlab.config.errors import DataError
from bertlab.text.tokenizers.files import SPECIAL_TOKENS, build_backend

SAMPLE = 20_000_000  # characters that decide on the alphabet
MAX_SPLIT = 0.05  # share of characters that stripping accents may take apart
_SURROGATE = re.compile("[\ud800-\udfff]")


def learn_vocabulary(
    texts: Iterable[str],
    vocab_size: int,
    cased: bool = False,
    strip_accents: bool | None = None,
    min_frequency: int = 2,
    coverage: float = 0.9995,
) -> list[str]:
    """The tokens of a vocabulary in the order of their ids; the same texts in the same order give the same ones.

    Args: see `Tokenizer.train`.

    Raises:
        DataError: there is no text, stripping accents would take its syllables apart (Hangul), or the vocabulary is
            too small for the alphabet.
    """
    texts = iter(texts)
    sample = list(_first_characters(texts, SAMPLE))
    backend = build_backend(list(SPECIAL_TOKENS), not cased, strip_accents)
    normalise = backend.normalizer.normalize_str
    raw, seen = Counter(), Counter()
    for text in sample:
        raw.update(text)
        seen.update(normalise(replace_surrogates(text)))
    for space in [character for character in seen if character.isspace()]:
        del seen[space]
    if not seen:
        raise DataError("vocab-no-text")
    split_apart = sum(count for c, count in raw.items() if len(normalise(replace_surrogates(c)).strip()) > 1)
    if split_apart > MAX_SPLIT * seen.total():
        raise DataError("vocab-accents-split-syllables")
    alphabet = choose_alphabet(seen, coverage)
    # Punctuation and Chinese characters always stand alone, so they need no "##" form.
    pre_tokenise = backend.pre_tokenizer.pre_tokenize_str
    inner = [f"##{c}" for c in alphabet if len(pre_tokenise(normalise(f"a{c}"))) == 1]
    smallest = len(SPECIAL_TOKENS) + len(alphabet) + len(inner)
    if vocab_size < smallest:
        raise DataError("vocab-size-too-small", size=vocab_size, smallest=smallest)
    # The "##x" are listed in advance, in order. Otherwise the library numbers them in the order of a hash table, which
    # differs from run to run and decides between pairs of equal frequency.
    trainer = trainers.WordPieceTrainer(
        vocab_size=vocab_size,
        min_frequency=min_frequency,
        special_tokens=[*SPECIAL_TOKENS, *inner],
        initial_alphabet=alphabet,
        limit_alphabet=len(alphabet),
        show_progress=False,
    )
    backend.train_from_iterator((replace_surrogates(text) for text in chain(sample, texts)), trainer=trainer)
    ids = backend.get_vocab()
    return sorted(ids, key=ids.__getitem__)


def choose_alphabet(seen: Counter, coverage: float) -> list[str]:
    """The most frequent characters that make up `coverage` of a text, in code point order.

    >>> choose_alphabet(Counter("aaaabbbc"), 0.8)
    ['a', 'b']
    """
    chosen, missing = [], coverage * seen.total()
    for character, count in sorted(seen.items(), key=lambda item: (-item[1], item[0])):
        if missing <= 0:
            break
        chosen.append(character)
        missing -= count
    return sorted(chosen)


def replace_surrogates(text: str) -> str:
    """Lone surrogates, which UTF-8 cannot hold, become U+FFFD: the normaliser drops it, and offsets stay the same."""
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def _first_characters(texts: Iterator[str], limit: int) -> Iterator[str]:
    for text in texts:
        yield text
        limit -= len(text)
        if limit <= 0:
            return
