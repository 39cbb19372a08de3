"""Predict the tags of a text, and find its named entities from the tags.

Shape legend: T tokens, K tags.
"""

import re
from bisect import bisect_left
from dataclasses import dataclass, replace

import numpy as np
import torch

from bertlab.tasks.entity_spans import choose_tags, find_entity_spans, is_entity_scheme
from bertlab.text.tokenizers.wordpiece import Encoding
from bertlab.text.word_spans import find_words


@dataclass(frozen=True)
class TaggedWord:
    """A word (or a token, see `read_tag_logits`) with its tag."""

    text: str
    start: int
    end: int
    """The word is text[start:end] of the whole text."""
    tag: str
    """The tag; see `choose_tags`."""
    probabilities: tuple[float, ...]
    """The probability of every tag, in the order of `Tags.labels`."""


@dataclass(frozen=True)
class Entity:
    """A named entity: consecutive words with tags such as B-PER and I-PER."""

    text: str
    start: int
    end: int
    """The entity is text[start:end] of the whole text."""
    label: str
    """The entity type, such as PER."""
    probability: float
    """The mean probability of the words' tags."""


@dataclass(frozen=True)
class Tags:
    """The tags of a text."""

    labels: tuple[str, ...]
    """All tags that the checkpoint can predict."""
    words: tuple[TaggedWord, ...]
    entities: tuple[Entity, ...]
    """The named entities; () if the tags are not entity tags, but parts of speech, for example."""

    def probability(self, word: TaggedWord) -> float:
        """Return the probability of the tag of a word."""
        return word.probabilities[self.labels.index(word.tag)]


def read_tag_logits(
    labels: tuple[str, ...], text: str, encoding: Encoding, logits_TK: torch.Tensor, by_token: bool = False
) -> Tags:
    """Choose the tags of the words by the logits of their first tokens, and find the entities from the tags.

    Args:
        by_token: whether to choose a tag for every token instead of every word, for checkpoints that were trained
            on tags of characters (KLUE-NER). In Korean, a name and the particle attached to it are one word, but need
            different tags.
    """
    probs_TK = logits_TK.softmax(-1).cpu().numpy()
    tokens = [
        (position, *encoding.offsets[position])
        for position, is_special in enumerate(encoding.special)
        if not is_special
    ]
    if by_token:
        units = tokens
    else:  # the first token of every word; words without a token are skipped
        starts, units = [start for _, start, _ in tokens], []
        for start, end in find_words(text):
            index = bisect_left(starts, start)
            if index < len(starts) and starts[index] < end:
                units.append((tokens[index][0], start, end))
    probs_UK = probs_TK[[position for position, _, _ in units]]
    is_inside_word_U = [by_token and text[max(0, start - 1) : start + 1].isalnum() for _, start, _ in units]
    tags = choose_tags(np.log(probs_UK.clip(1e-30)), labels, is_inside_word_U)
    words = [
        TaggedWord(text[start:end], start, end, labels[tag], tuple(probs_K.tolist()))
        for (_, start, end), tag, probs_K in zip(units, tags, probs_UK, strict=True)
    ]
    entities = []
    for label, first, last in find_entity_spans([word.tag for word in words]) if is_entity_scheme(labels) else ():
        entity_words = words[first : last + 1]
        start, end = entity_words[0].start, entity_words[-1].end
        probability = float(np.mean([word.probabilities[labels.index(word.tag)] for word in entity_words]))
        entities.append(Entity(text[start:end], start, end, label, probability))
    return Tags(labels, tuple(words), tuple(entities))


def merge_tokens(tags: Tags, text: str) -> Tags:
    """Give every word between spaces the tag of its first token with a letter or digit; the entities stay unchanged.

    Tokens without letters and digits are skipped, so that a word does not get the tag of the quotation mark before it.
    A word without any letter or digit has the tag of its first token. In Korean, a word between spaces is an eojeol: a
    noun with its particle, for example.

    >>> tokens = [TaggedWord("Kim", 0, 3, "B-PS", (1.0, 0.0)), TaggedWord("'s", 3, 5, "O", (0.0, 1.0))]
    >>> [(word.text, word.tag) for word in merge_tokens(Tags(("B-PS", "O"), tuple(tokens), ()), "Kim's").words]
    [("Kim's", 'B-PS')]
    """
    merged = []
    for word in re.finditer(r"\S+", text):
        tokens = [token for token in tags.words if word.start() <= token.start < word.end()]
        if tokens:
            tagged = next((token for token in tokens if any(map(str.isalnum, token.text))), tokens[0])
            merged.append(replace(tagged, text=word.group(), start=word.start(), end=word.end()))
    return replace(tags, words=tuple(merged))
