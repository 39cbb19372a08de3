"""Tokenise sentences of tagged words or characters, and align tokens with tags.

A unit is a word or a character, whichever has tags in the data (`TaskSpec.unit`). The unit index of a token is the
index of the unit whose tag it predicts; it is -1 if the token predicts no tag.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from bertlab.text.tokenizers.wordpiece import Tokenizer


def tokenise_words(tokenizer: Tokenizer, sentences: Sequence[tuple[str, ...]]) -> Iterator[tuple[list[int], list[int]]]:
    """Tokenise sentences given as words -> token ids, unit indices; the first token of a word predicts its tag."""
    distinct_words = list(dict.fromkeys(word for sentence in sentences for word in sentence))
    ids_of_word = dict(zip(distinct_words, tokenizer.encode_ids(distinct_words), strict=True))
    for sentence in sentences:
        ids, unit_indices = [], []
        for index, word in enumerate(sentence):
            word_ids = ids_of_word[word]
            ids += word_ids
            unit_indices += [index, *[-1] * (len(word_ids) - 1)] if word_ids else []
        yield ids, unit_indices


def tokenise_characters(
    tokenizer: Tokenizer, sentences: Sequence[tuple[str, ...]]
) -> Iterator[tuple[list[int], list[int]]]:
    """Tokenise sentences given as characters -> token ids, unit indices; a token predicts the tag of its first one."""
    encoded = tokenizer.encode_segments(["".join(characters) for characters in sentences])
    for characters, row in zip(sentences, encoded, strict=True):
        # A character of the data may consist of several code points, but the offsets of tokens count code points.
        unit_of_code_point = np.repeat(np.arange(len(characters)), [len(character) for character in characters])
        yield row.ids, [int(unit_of_code_point[begin]) if end > begin else -1 for begin, end in row.offsets]


def split_long_sentence(unit_indices: Sequence[int], max_tokens: int) -> list[tuple[int, int]]:
    """Split a sentence into parts of at most `max_tokens` tokens -> (first token, token after the last) of each.

    A part ends before a token that predicts a tag, if possible, so that the tokens of a word stay together.

    >>> split_long_sentence([0, 1, -1, 2, 3, -1], 4), split_long_sentence([], 4)
    ([(0, 4), (4, 6)], [(0, 0)])
    """
    parts, first = [], 0
    while len(unit_indices) - first > max_tokens:
        end = first + max_tokens
        while end > first + 1 and unit_indices[end] < 0:
            end -= 1
        end = end if unit_indices[end] >= 0 else first + max_tokens
        parts.append((first, end))
        first = end
    return [*parts, (first, len(unit_indices))]


def spread_tags(tags_by_start: dict[int, str], characters: Sequence[str]) -> list[str]:
    """Convert tags of tokens, by the index of the token's first character, to tags of characters.

    All characters of an entity after the first one, with the spaces between them, have an I-tag.

    >>> spread_tags({0: "B-LC", 3: "I-LC", 4: "O"}, list("서울 역에"))
    ['B-LC', 'I-LC', 'I-LC', 'I-LC', 'O']
    >>> spread_tags({0: "B-PS", 3: "O"}, list("영희 가"))
    ['B-PS', 'I-PS', 'O', 'O']
    """
    tags, previous = [], "O"
    for index, character in enumerate(characters):
        if index in tags_by_start:
            tags.append(tags_by_start[index])
        elif previous == "O":
            tags.append("O")
        elif character.strip():
            tags.append("I" + previous[1:])
        else:
            # a space belongs to the entity only if the next token continues the entity
            next_tag = next((tags_by_start[i] for i in range(index + 1, len(characters)) if i in tags_by_start), "O")
            tags.append(next_tag if next_tag == "I" + previous[1:] else "O")
        previous = tags[-1]
    return tags
