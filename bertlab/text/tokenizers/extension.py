"""Extend a WordPiece vocabulary with tokens of another domain; the existing tokens keep their ids.

A new token joins consecutive tokens into which the old vocabulary splits a word; often it is the whole word. WordPiece
searches for the longest match, so it finds the new token before the shorter ones, and the word gets fewer tokens. Words
with characters that the old vocabulary lacks stay [UNK].
"""

import heapq
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import combinations, islice, pairwise

import tokenizers

from bertlab.text.tokenizers.search import CONTINUATION, search_word
from bertlab.text.tokenizers.wordpiece import Tokenizer

MIN_FREQUENCY = 2  # a new token must occur in at least this many passages
# A passage has this many tokens. A word counts once per passage; otherwise the names in one novel would dominate.
PASSAGE_TOKENS = 2048
# At most this many split words are examined. The rarest ones are left out, which bounds the memory.
MAX_WORDS = 200_000
BATCH_TEXTS = 64  # how many texts are tokenised at once


def learn_new_tokens(tokenizer: Tokenizer, texts: Iterable[str], count: int) -> list[str]:
    """Choose at most `count` new tokens, each time the one that reduces the number of tokens of the texts most."""
    return choose_tokens(dict(count_split_words(tokenizer, texts).most_common(MAX_WORDS)), count)


def count_split_words(tokenizer: Tokenizer, texts: Iterable[str]) -> Counter[tuple[str, ...]]:
    """Count the passages in which each word of several tokens occurs -> {tokens of the word: number of passages}."""
    continues_word = [token.startswith(CONTINUATION) for token in tokenizer.vocab]  # for each token id
    counts, texts = Counter(), iter(texts)
    while batch := list(islice(texts, BATCH_TEXTS)):
        for ids in tokenizer.encode_plain(batch):
            starts = [position for position, id in enumerate(ids) if not continues_word[id]]
            words = pairwise([*starts, len(ids)])
            # (token ids of a word, index of a passage in which it occurs)
            passages = {(tuple(ids[start:end]), start // PASSAGE_TOKENS) for start, end in words if end - start > 1}
            counts.update(word for word, _ in passages)
    return Counter({tuple(tokenizer.tokens(word)): count for word, count in counts.items()})


def choose_tokens(word_counts: dict[tuple[str, ...], int], count: int) -> list[str]:
    """Choose the sequences of tokens that save the most tokens if each becomes one token; see `learn_new_tokens`.

    Args:
        word_counts: the tokens of each word, and in how many passages it occurs.

    >>> choose_tokens({("tea", "##pot"): 5, ("tea", "##pot", "##s"): 2, ("mu", "##g", "##s"): 3}, 2)
    ['teapot', 'mugs']
    """
    passage_counts = list(word_counts.values())
    boundaries = []  # for each word, the offsets at which its tokens begin, and the offset of the word's end
    occurrences = defaultdict(list)  # candidate -> [(index of a word, start and end of the candidate in it)]
    for word_index, pieces in enumerate(word_counts):
        ends, text = [0], ""
        for piece in pieces:
            text += piece.removeprefix(CONTINUATION) if text else piece
            ends.append(len(text))
        boundaries.append(set(ends))
        for start, end in combinations(range(len(ends)), 2):
            if end - start > 1:
                candidate = (CONTINUATION if start else "") + text[ends[start] : ends[end]]
                occurrences[candidate].append((word_index, ends[start], ends[end]))

    def find_occurrences(candidate: str) -> list[tuple[int, list[int]]]:
        """Find the words in which the candidate still begins and ends at token boundaries."""
        matches, last = [], (-1, 0)  # `last`: the word index and the end offset of the last match
        for word_index, start, end in occurrences[candidate]:
            overlaps, offsets = word_index == last[0] and start < last[1], boundaries[word_index]
            if start in offsets and end in offsets and not overlaps:
                matches.append((word_index, [offset for offset in offsets if start < offset < end]))
                last = word_index, end
        return matches

    def count_saved_tokens(candidate: str) -> int:
        matches = find_occurrences(candidate)
        frequency = sum(passage_counts[index] for index, inner_offsets in matches if inner_offsets)
        saved_tokens = sum(passage_counts[index] * len(inner_offsets) for index, inner_offsets in matches)
        return saved_tokens if frequency >= MIN_FREQUENCY else 0

    # The queue has the negative count of saved tokens for each candidate, because `heapq` returns the smallest entry
    # first. Each choice can only reduce the counts, so a count in the queue may be too large. The first candidate is
    # the best one if its count is unchanged; otherwise it is queued again with its new count.
    queue = [(-count_saved_tokens(candidate), candidate) for candidate in occurrences]
    heapq.heapify(queue)
    chosen = []
    while queue and len(chosen) < count:
        queued_negative_count, candidate = heapq.heappop(queue)
        negative_count = -count_saved_tokens(candidate)
        if negative_count == 0:
            continue
        if negative_count > queued_negative_count:
            heapq.heappush(queue, (negative_count, candidate))
            continue
        chosen.append(candidate)
        for word_index, inner_offsets in find_occurrences(candidate):
            boundaries[word_index].difference_update(inner_offsets)
    return chosen


def extend_tokenizer(tokenizer: Tokenizer, tokens: Sequence[str]) -> Tokenizer:
    """Return a copy of a WordPiece tokenizer with further tokens; their ids follow those of its own tokens."""
    description = tokenizer.describe()
    description["model"]["vocab"] |= {token: tokenizer.vocab_size + index for index, token in enumerate(tokens)}
    return Tokenizer(tokenizers.Tokenizer.from_str(json.dumps(description)))


def is_extension(tokenizer: Tokenizer, base: Tokenizer) -> bool:
    """Whether `tokenizer` is `base` with further tokens: all other ids, and the normalisation, are the same."""
    if tokenizer.kind != "WordPiece" or base.kind != "WordPiece" or tokenizer.vocab_size <= base.vocab_size:
        return False
    description, base_description = tokenizer.describe(), base.describe()
    vocab = description["model"]["vocab"]
    description["model"]["vocab"] = {token: id for token, id in vocab.items() if id < base.vocab_size}
    return description == base_description


def split_token(token: str, tokenizer: Tokenizer) -> list[int]:
    """Split a token of another vocabulary with a WordPiece vocabulary, and return the ids.

    A token with "##" is split like the end of a word. If a token cannot be split, the result is the id of [UNK] alone.
    """
    is_word_end = token.startswith(CONTINUATION)
    text, unknown = token.removeprefix(CONTINUATION), tokenizer.special.unk
    search = search_word(text, tokenizer.vocab, tokenizer.max_word_chars, unknown, is_word_end)
    return [tokenizer.vocab[piece] for piece in search.tokens]
