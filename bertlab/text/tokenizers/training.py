"""Learn a WordPiece vocabulary from texts."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain

from tokenizers import trainers

from bertlab.config.errors import DataError
from bertlab.text.tokenizers.files import SPECIAL_TOKENS, build_backend

SAMPLE_CHARACTERS = 20_000_000  # the alphabet is determined from this many characters at the start of the texts
MAX_SPLIT_SHARE = 0.05  # the maximum share, 0 to 1, of characters that stripping accents may split into several
# a lone surrogate, which a Python string may contain although UTF-8 cannot encode it
_SURROGATE = re.compile("[\ud800-\udfff]")


def learn_vocabulary(
    texts: Iterable[str],
    vocab_size: int,
    cased: bool = False,
    strip_accents: bool | None = None,
    min_frequency: int = 2,
    coverage: float = 0.9995,
) -> list[str]:
    """Learn a vocabulary and return its tokens in the order of their ids; see `Tokenizer.train`."""
    texts = iter(texts)
    sample = list(_take_characters(texts, SAMPLE_CHARACTERS))
    backend = build_backend(list(SPECIAL_TOKENS), not cased, strip_accents)
    normalise = backend.normalizer.normalize_str
    raw_counts, counts = Counter(), Counter()  # of the characters before and after normalisation
    for text in sample:
        raw_counts.update(text)
        counts.update(normalise(replace_surrogates(text)))
    for space in [character for character in counts if character.isspace()]:
        del counts[space]
    if not counts:
        raise DataError("vocab-no-text")
    # how many characters of the sample the normalisation splits into several characters
    split_count = sum(count for c, count in raw_counts.items() if len(normalise(replace_surrogates(c)).strip()) > 1)
    if split_count > MAX_SPLIT_SHARE * counts.total():
        raise DataError("vocab-accents-split-syllables")
    alphabet = choose_alphabet(counts, coverage)
    # Punctuation marks and Chinese characters are always words of their own, so they need no "##" form.
    pre_tokenise = backend.pre_tokenizer.pre_tokenize_str
    continuations = [f"##{c}" for c in alphabet if len(pre_tokenise(normalise(f"a{c}"))) == 1]
    min_size = len(SPECIAL_TOKENS) + len(alphabet) + len(continuations)
    if vocab_size < min_size:
        raise DataError("vocab-size-too-small", size=vocab_size, smallest=min_size)
    # The "##x" tokens are listed in advance, in order. Otherwise their ids follow the order of a hash table in the
    # library. That order differs between runs, and it decides which of two pairs of equal frequency is merged first.
    trainer = trainers.WordPieceTrainer(
        vocab_size=vocab_size,
        min_frequency=min_frequency,
        special_tokens=[*SPECIAL_TOKENS, *continuations],
        initial_alphabet=alphabet,
        limit_alphabet=len(alphabet),
        show_progress=False,
    )
    backend.train_from_iterator((replace_surrogates(text) for text in chain(sample, texts)), trainer=trainer)
    ids = backend.get_vocab()
    return sorted(ids, key=ids.__getitem__)


def choose_alphabet(counts: Counter, coverage: float) -> list[str]:
    """Choose the most frequent characters until they make up the share `coverage` of a text, and sort them.

    >>> choose_alphabet(Counter("aaaabbbc"), 0.8)
    ['a', 'b']
    """
    chosen, remaining = [], coverage * counts.total()
    for character, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        if remaining <= 0:
            break
        chosen.append(character)
        remaining -= count
    return sorted(chosen)


def replace_surrogates(text: str) -> str:
    """Replace lone surrogates, which are not valid in UTF-8, with U+FFFD, which the normaliser drops.

    The length of the text stays the same, and so do the offsets.
    """
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def _take_characters(texts: Iterator[str], limit: int) -> Iterator[str]:
    """Yield texts until they have `limit` characters together; the last text is not cut."""
    for text in texts:
        yield text
        limit -= len(text)
        if limit <= 0:
            return
