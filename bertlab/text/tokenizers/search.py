"""How WordPiece splits a word: the longest-match search, and the merges that made each token in training.

Source: Devlin et al. 2019, section 3; the search is `WordpieceTokenizer` in google-research/bert/tokenization.py.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

CONTINUATION = "##"  # the prefix of a token that continues a word


@dataclass(frozen=True)
class SearchStep:
    """One step of the search: the longest token of the vocabulary with which the rest of a word begins."""

    start: int  # the index, in the word, of the first character that the step examines
    rejected: tuple[str, ...]
    """The candidates that are not in the vocabulary, in the order in which they were tried, longest first."""
    token: str  # the token found; "" if no candidate is in the vocabulary
    id: int | None


@dataclass(frozen=True)
class WordSearch:
    """How one word was split."""

    word: str  # the word after normalisation, for example in lower case
    steps: tuple[SearchStep, ...]
    """The steps of the search, in order; () for a special token and for a word that is too long."""
    tokens: tuple[str, ...]  # the tokens of the word: ("[UNK]",) if a step found none or the word is too long
    is_too_long: bool = False  # whether the word has more characters than the tokenizer allows


@dataclass(frozen=True)
class Merge:
    """Two neighbouring tokens that training joined into a new one."""

    left: str
    right: str  # the second token, with "##"
    token: str
    rank: int  # the place of this merge among all merges of training; the first merge has rank 1


@dataclass(frozen=True)
class MergeHistory:
    """The merges that build one token from its characters, in the order in which training made them."""

    token: str
    merges: tuple[Merge, ...]  # the merges; () for a single character
    is_unique: bool
    """Whether the vocabulary allows only one way to build the token. If it allows several, `merges` is the way in which
    each merge makes the token with the smallest id."""


def search_word(
    word: str, vocab: Mapping[str, int], max_characters: int = 100, unknown: str = "[UNK]", is_word_end: bool = False
) -> WordSearch:
    """Split a word by taking the longest token of the vocabulary again and again.

    Args:
        is_word_end: whether `word` is the end of a longer word, so that its first token begins with "##" too.

    >>> search_word("teapot", {"tea": 5, "te": 6, "##pot": 7}).tokens
    ('tea', '##pot')
    >>> search_word("teas", {"tea": 5, "te": 6}).steps[-1]
    SearchStep(start=3, rejected=('##s',), token='', id=None)
    """
    if len(word) > max_characters:
        return WordSearch(word, (), (unknown,), is_too_long=True)
    steps, start = [], 0
    while start < len(word):
        prefix, rejected, token = CONTINUATION if start or is_word_end else "", [], ""
        for end in range(len(word), start, -1):
            candidate = prefix + word[start:end]
            if candidate in vocab:
                token = candidate
                break
            rejected.append(candidate)
        steps.append(SearchStep(start, tuple(rejected), token, vocab.get(token)))
        if not token:
            return WordSearch(word, tuple(steps), (unknown,))
        start += len(token) - len(prefix)
    return WordSearch(word, tuple(steps), tuple(step.token for step in steps))


def shows_merge_order(vocab: Mapping[str, int], special: frozenset[str]) -> bool:
    """Whether the token ids of a vocabulary show the order of its merges.

    This holds for vocabularies that `bertlab prepare` trained: single characters come first, and every longer token can
    be split into two tokens with smaller ids.

    >>> [shows_merge_order(vocab, frozenset()) for vocab in ({"a": 0, "##b": 1, "ab": 2}, {"ab": 0, "a": 1, "##b": 2})]
    [True, False]
    """
    return all(
        token in special or len(_remove_prefix(token)) == 1 or next(_find_splits(token, vocab), None) is not None
        for token in vocab
    )


def find_merges(token: str, vocab: Mapping[str, int], first_id: int) -> MergeHistory:
    """Reconstruct how training built a token from its characters.

    Training joins the most frequent pair of neighbouring tokens, adds the joined token to the vocabulary and repeats.
    A token that was made earlier therefore has a smaller id. The reconstruction begins with the characters, and
    repeatedly joins the two neighbours whose joined token has the smallest id.

    >>> vocab = {"a": 0, "##b": 1, "##c": 2, "##bc": 3, "abc": 4}
    >>> [(merge.left, merge.right, merge.rank) for merge in find_merges("abc", vocab, 3).merges]
    [('##b', '##c', 1), ('a', '##bc', 2)]
    """
    text = _remove_prefix(token)
    is_continuation = token.startswith(CONTINUATION) and len(token) > len(CONTINUATION)
    parts = [character if index == 0 and not is_continuation else CONTINUATION + character
             for index, character in enumerate(text)]  # fmt: skip
    merges = []
    while len(parts) > 1:
        joined = [left + _remove_prefix(right) for left, right in pairwise(parts)]
        index = min(range(len(joined)), key=lambda i: vocab.get(joined[i], len(vocab)))
        if joined[index] not in vocab:
            break
        merges.append(Merge(parts[index], parts[index + 1], joined[index], vocab[joined[index]] - first_id + 1))
        parts[index : index + 2] = [joined[index]]
    made_tokens = (token, *(merge.token for merge in merges))
    is_unique = all(len(list(_find_splits(each, vocab))) <= 1 for each in made_tokens if len(_remove_prefix(each)) > 1)
    return MergeHistory(token, tuple(merges), is_unique and parts == [token])


def _find_splits(token: str, vocab: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    """Yield each pair of tokens that, joined, give `token`; both have smaller ids than `token`."""
    prefix = CONTINUATION if token.startswith(CONTINUATION) and len(token) > len(CONTINUATION) else ""
    text, limit = _remove_prefix(token), vocab[token]
    for cut in range(1, len(text)):
        left, right = prefix + text[:cut], CONTINUATION + text[cut:]
        if vocab.get(left, limit) < limit and vocab.get(right, limit) < limit:
            yield left, right


def _remove_prefix(token: str) -> str:
    """Return the characters of a token without "##"; the token "##" itself stays as it is."""
    return token.removeprefix(CONTINUATION) or token
