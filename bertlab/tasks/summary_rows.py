"""Rows of extractive summarisation: a document, its sentences, the chosen ones, and an optional reference summary."""

import json
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from bertlab.config.errors import DataError
from bertlab.tasks.examples import Example, read_text
from bertlab.tasks.rouge import sum_rouge_1_and_2
from bertlab.text.pretraining.sentences import find_sentences, split_sentences

# usual names of the column that contains the document or the list of its sentences
DOCUMENT_NAMES = ("document", "sentences", "article", "text", "본문", "문장")
NUM_SENTENCES = 3  # the default number of sentences in a summary
_WORD = re.compile(r"\w+")  # a word: letters, digits and underscores
_NUMBERS = re.compile(r"\[?[\d\s,;]*\]?")  # a list of numbers, with or without brackets around it
_MAX_SHOWN = 60  # the maximum number of characters of a sentence in a message


@dataclass(frozen=True, slots=True)
class SummaryExample(Example):
    """A document; its texts are the sentences, and its target has 1 for each chosen sentence and 0 for the others."""

    reference: str = ""
    """The reference summary; "" if there is none."""
    has_target_from_reference: bool = False
    """Whether the target was computed from the reference, because the row has no column of chosen sentences."""

    @property
    def chosen(self) -> tuple[int, ...]:
        """The indices of the chosen sentences."""
        return tuple(index for index, is_chosen in enumerate(self.target or ()) if is_chosen)


def read_sentences(cell: object, column: str) -> tuple[str, ...]:
    """Read the sentences in a cell: a list of sentences, or a document, which is split into sentences."""
    if isinstance(cell, list):
        if not all(isinstance(sentence, str) for sentence in cell):
            raise DataError("cell-not-list-of-texts", column=repr(column))
        sentences = tuple(cell)
    else:
        text = read_text({column: cell}, column)
        sentences = tuple(text[slice(*span)] for span in find_sentences(text))
    if not any(sentence.strip() for sentence in sentences):
        raise DataError("row-empty")
    return sentences


def read_chosen_sentences(cell: object, sentences: Sequence[str]) -> tuple[int, ...]:
    """Read which sentences are chosen -> 1 for each chosen sentence and 0 for the others.

    Args:
        cell: the indices of the chosen sentences, from 0, or their texts: as a list, as one text, or as JSON.

    >>> sentences = ["Rain fell.", "Tea.", "It ended."]
    >>> read_chosen_sentences("0, 2", sentences), read_chosen_sentences(["Tea."], sentences)
    ((1, 0, 1), (0, 1, 0))
    """
    if isinstance(cell, str) and _NUMBERS.fullmatch(cell.strip()):
        cell = [int(number) for number in re.findall(r"\d+", cell)]
    elif isinstance(cell, str) and cell.lstrip().startswith("["):  # tables store lists as JSON
        with suppress(ValueError):
            cell = value if isinstance(value := json.loads(cell), list) else cell
    index_of_text: dict[str, int] = {}
    for index, sentence in enumerate(sentences):
        index_of_text.setdefault(_normalise(sentence), index)
    chosen: set[int] = set()
    for item in cell if isinstance(cell, list) else [cell]:
        if isinstance(item, str):
            chosen.update(_find_sentence_indices(item, index_of_text))
        elif isinstance(item, int | float) and not isinstance(item, bool) and item in range(len(sentences)):
            chosen.add(int(item))
        else:
            raise DataError("chosen-sentence-unknown", index=repr(item)[:_MAX_SHOWN], last=len(sentences) - 1)
    return tuple(int(index in chosen) for index in range(len(sentences)))


def _find_sentence_indices(text: str, index_of_text: dict[str, int]) -> list[int]:
    """Find the sentence that equals a text, or the sentences that the text consists of."""
    if (index := index_of_text.get(_normalise(text))) is not None:
        return [index]
    parts = split_sentences(text)
    if missing := next((part for part in parts if _normalise(part) not in index_of_text), None):
        raise DataError("chosen-sentence-not-found", sentence=repr(missing[:_MAX_SHOWN]))
    return [index_of_text[_normalise(part)] for part in parts]


def _normalise(text: str) -> str:
    return " ".join(text.split())


def choose_by_reference(sentences: Sequence[str], reference: str, num_sentences: int = NUM_SENTENCES) -> list[int]:
    """Choose the sentences that are most similar to a reference summary, one at a time.

    Each step adds the sentence that raises the sum of ROUGE-1 and ROUGE-2 most. The search ends when no sentence raises
    the sum.

    Source: Liu 2019 (BERTSUM, arXiv 1903.10318), section 4.1; Nallapati et al. 2017 (arXiv 1611.04230), section 3.

    >>> choose_by_reference(["Rain fell.", "Tea was cold.", "The keeper slept."], "the keeper slept, rain fell")
    [0, 2]
    """
    chosen: list[int] = []
    best_value = 0.0
    while len(chosen) < num_sentences:
        values = {
            index: sum_rouge_1_and_2(reference, " ".join(sentences[each] for each in sorted([*chosen, index])))
            for index in range(len(sentences))
            if index not in chosen
        }
        index = max(values, key=values.__getitem__, default=None)
        if index is None or values[index] <= best_value:
            break
        best_value = values[index]
        chosen.append(index)
    return sorted(chosen)


def choose_by_scores(
    sentences: Sequence[str], scores: Sequence[float], num_sentences: int = NUM_SENTENCES
) -> tuple[list[int], list[int]]:
    """Choose the sentences with the largest scores; skip those that share three consecutive words with a chosen one.

    Returns:
        The indices of the chosen sentences and of the skipped ones, both by descending score.

    Source: Liu 2019 (BERTSUM, arXiv 1903.10318), section 4.2, trigram blocking.
    """
    chosen, skipped, chosen_trigrams = [], [], set()
    for index in sorted(range(len(sentences)), key=lambda each: -scores[each]):
        if len(chosen) >= num_sentences:
            break
        trigrams = list_trigrams(sentences[index])
        if chosen_trigrams & trigrams:
            skipped.append(index)
            continue
        chosen.append(index)
        chosen_trigrams |= trigrams
    return chosen, skipped


def list_trigrams(text: str) -> set[tuple[str, ...]]:
    """List the trigrams of a text (three consecutive words); a text with fewer words has one tuple of all its words.

    >>> sorted(list_trigrams("The rain fell, slowly."))
    [('rain', 'fell', 'slowly'), ('the', 'rain', 'fell')]
    """
    words = _WORD.findall(text.lower())
    return {tuple(words[first : first + 3]) for first in range(max(1, len(words) - 2))}


def find_windows(lengths: Sequence[int], max_tokens: int) -> list[tuple[int, int]]:
    """Divide the sentences of a document into windows of at most `max_tokens` tokens.

    Consecutive windows share about half of their sentences, so that most sentences have other sentences on
    both sides in at least one window.

    Args:
        lengths: the number of tokens of each sentence; none of them exceeds `max_tokens`.

    Returns:
        (first sentence, sentence after the last) of each window.

    >>> find_windows([4, 4, 4, 4, 4], 8), find_windows([4, 4, 4], 12)
    ([(0, 2), (1, 3), (2, 4), (3, 5)], [(0, 3)])
    """
    windows: list[tuple[int, int]] = []
    first = end = 0
    while True:
        size = sum(lengths[first:end])
        while end < len(lengths) and size + lengths[end] <= max_tokens:
            size += lengths[end]
            end += 1
        windows.append((first, end))
        if end == len(lengths):
            return windows
        first += max(1, (end - first) // 2)
        while sum(lengths[first : end + 1]) > max_tokens:  # the next sentence must fit
            first += 1
        end = max(first, end)
