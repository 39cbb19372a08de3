"""ROUGE: metrics of the words, word pairs and word sequences that a summary shares with a reference.

A word is a sequence of letters and digits; words are compared in lower case, without stemming. In Korean, a word
includes its particles, so the values are lower than with a tokenizer that splits the particles off.

Source: Lin 2004, ROUGE: A Package for Automatic Evaluation of Summaries, sections 2 and 3.
"""

import re
from collections import Counter
from collections.abc import Sequence

METRICS = ("rouge1", "rouge2", "rougeL")  # the names of the metrics that `compute_rouge` returns
_WORD = re.compile(r"[^\W_]+")  # a word: letters and digits


def compute_rouge(reference: str, summary: str) -> dict[str, float]:
    """Compute the F1 of ROUGE-1, ROUGE-2 and ROUGE-L, 0..1; each text is one sequence of words.

    >>> compute_rouge("the cat sat here", "the cat ran")
    {'rouge1': 0.5714285714285714, 'rouge2': 0.4, 'rougeL': 0.5714285714285714}
    """
    words = [_WORD.findall(text.lower()) for text in (reference, summary)]
    values = [_f1(_count_common(*words, size), words, size) for size in (1, 2)]
    return dict(zip(METRICS, [*values, _f1(compute_lcs_length(*words), words, 1)], strict=True))


def sum_rouge_1_and_2(reference: str, summary: str) -> float:
    """Compute the sum of ROUGE-1 and ROUGE-2, 0..2, without the slower ROUGE-L.

    >>> round(sum_rouge_1_and_2("the cat sat here", "the cat ran"), 4)
    0.9714
    """
    words = [_WORD.findall(text.lower()) for text in (reference, summary)]
    return sum(_f1(_count_common(*words, size), words, size) for size in (1, 2))


def _f1(matches: int, words: Sequence[Sequence[str]], size: int) -> float:
    """Compute the F1 of the n-grams (n = `size`) of two texts, of which `matches` are common; 0 if there are none."""
    total = sum(max(0, len(each) - size + 1) for each in words)
    return 2 * matches / total if total else 0.0


def _count_common(reference: Sequence[str], summary: Sequence[str], size: int) -> int:
    """Count the common n-grams (n = `size`), each as often as in the text that contains it less often."""
    counts = [Counter(zip(*(words[skip:] for skip in range(size)), strict=False)) for words in (reference, summary)]
    return (counts[0] & counts[1]).total()


def compute_lcs_length(first: Sequence[str], second: Sequence[str]) -> int:
    """Compute the length of the longest common subsequence; a row of the table is the bits of one integer.

    Source: Hyyrö 2004, Bit-parallel LCS-length computation revisited.

    >>> compute_lcs_length("abcbdab", "bdcaba")
    4
    """
    occurrences: dict[str, int] = {}  # word -> integer whose bit i says whether the word is at index i of `first`
    for index, word in enumerate(first):
        occurrences[word] = occurrences.get(word, 0) | 1 << index
    all_bits = (1 << len(first)) - 1
    row = all_bits
    for word in second:
        matches = row & occurrences.get(word, 0)
        row = ((row + matches) | (row - matches)) & all_bits
    return len(first) - row.bit_count()
