"""How surprising each word of a text is: minus the logarithm of the probability of its tokens, each masked in turn.

The sum over a text is its pseudo-log-likelihood with the sign changed (Salazar et al. 2020, Masked Language Model
Scoring, arXiv 1910.14659, section 2.2). If only one token of a word is masked, the others reveal it; therefore the
later tokens of the same word are masked too by default (PLL-word-l2r, Kauf and Ivanova 2023, arXiv 2305.10588,
section 3).

BERT reads a long text in parts of whole sentences, so that the time grows with its length and not with its square.
"""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from typing import Literal, get_args

import torch

from bertlab.abilities.writing.masked_inputs import TokenQuery, compute_log_probs, predict_positions
from bertlab.config.errors import BertlabError, TextError
from bertlab.nn.bert import Bert
from bertlab.tasks.inference import require_positive
from bertlab.text.pretraining.sentences import find_sentences
from bertlab.text.tokenizers.encoding import MASK, MASK_NAMES
from bertlab.text.tokenizers.wordpiece import Encoding, Tokenizer
from bertlab.text.word_spans import find_words

PART_TOKENS = 64  # tokens of a part without [CLS] and [SEP]
SPARE_TOKENS = 8  # positions left for [CLS], [SEP], and the additional tokens of a changed part
MaskingName = Literal["word", "token"]  # what is masked together with a token; see `compute_surprise`
MASKINGS: tuple[MaskingName, ...] = get_args(MaskingName)
SEARCHED_TOKENS = 100  # only whole words among so many of the most probable tokens are proposed
MAX_PROPOSALS = 5  # by default, the maximum number of words that are proposed for a place
GAP = re.compile(r"_{3,}|" + "|".join(map(re.escape, MASK_NAMES)))  # ___ or [MASK]
# a word, or 48 characters of a longer one; a sentence that is too long for one part is cut after such chunks
_CHUNK = re.compile(r"\s*\S{1,48}\s*")


@dataclass(frozen=True)
class ScoredToken:
    """A token of a word with the probability that the model assigns to it."""

    token: str
    """The token as in the vocabulary; "##" marks tokens that continue a word."""
    probability: float
    """Its probability while it is masked, 0..1."""
    surprise: float
    """-ln p, in nats."""


@dataclass(frozen=True)
class ScoredWord:
    """A word of a text and how surprising it is."""

    text: str
    """The word."""
    start: int
    """The index of its first character in the text."""
    end: int
    """The index after its last character."""
    tokens: tuple[ScoredToken, ...]
    """Its tokens."""
    surprise: float
    """The sum of the surprise of its tokens, in nats."""
    is_unknown: bool
    """Whether one of its tokens is [UNK], so that `surprise` does not measure the word itself."""

    @property
    def is_punctuation(self) -> bool:
        """Whether the word has no letter and no digit."""
        return not any(character.isalnum() for character in self.text)


@dataclass(frozen=True)
class TextSurprise:
    """The surprise of every word of a text."""

    words: tuple[ScoredWord, ...]
    """The words in text order, punctuation marks included; a gap (___ or [MASK]) is left out."""
    parts: tuple[tuple[int, int], ...]
    """The characters (start, end) of each part that BERT read by itself."""
    masking: MaskingName
    """Whether the later tokens of a word were masked together with each token ("word") or not ("token")."""

    @property
    def num_tokens(self) -> int:
        """The number of tokens of all words."""
        return sum(len(word.tokens) for word in self.words)

    @property
    def total(self) -> float:
        """The sum of the surprise of all words: the pseudo-log-likelihood with the sign changed, in nats."""
        return sum(word.surprise for word in self.words)

    @property
    def mean(self) -> float:
        """The mean surprise of a token, in nats."""
        return self.total / max(self.num_tokens, 1)

    @property
    def pseudo_perplexity(self) -> float:
        """The exponential of the mean: BERT is on average as unsure as if it chose among that many tokens."""
        return math.exp(self.mean)

    def find_misfits(self, threshold: float) -> list[int]:
        """Return the indices of the words, without punctuation marks, whose surprise exceeds a threshold in nats."""
        return [i for i, word in enumerate(self.words) if word.surprise > threshold and not word.is_punctuation]


@dataclass(frozen=True)
class ProposedWord:
    """A word that the model proposes for a gap of a text or instead of one of its words."""

    text: str
    """The word."""
    probability: float
    """Its probability there, 0..1."""


@dataclass(frozen=True)
class WordProposals:
    """A word of a text, and the words that the model proposes instead of it."""

    index: int
    """Its index in `TextSurprise.words`."""
    text: str
    """The word."""
    proposals: tuple[ProposedWord, ...]
    """The most probable whole words of the vocabulary while it is masked, most probable first; single tokens only."""


@dataclass(frozen=True)
class TextPart:
    """A part of a text and its tokens."""

    start: int
    """The index of its first character in the text."""
    text: str
    """The part."""
    encoding: Encoding
    """Its tokens."""
    words: tuple[tuple[int, int, tuple[int, ...]], ...]
    """The start and the end of each word in the part, and the positions of its tokens."""


def compute_surprise(
    model: Bert, tokenizer: Tokenizer, text: str, masking: MaskingName = "word", progress: Callable = iter
) -> TextSurprise:
    """Compute the surprise of every word of a text.

    Args:
        model: a model with an MLM output layer.
        tokenizer: its tokenizer.
        text: the text, of any length.
        masking: "word": each token is masked together with the later tokens of its word; "token": each token is masked
            by itself.
        progress: wraps the sequence of batches, as `tqdm` does.

    Raises:
        MissingHead: the model has no MLM output layer.
        TextError: the text has no words, or a piece without spaces that is longer than the model can read at once.
        BertlabError: there is no such masking.
    """
    return compute_surprises(model, tokenizer, [text], masking, progress)[0]


def compute_surprises(
    model: Bert, tokenizer: Tokenizer, texts: Sequence[str], masking: MaskingName = "word", progress: Callable = iter
) -> list[TextSurprise]:
    """Compute the surprise of every word of several texts in common batches; see `compute_surprise`."""
    model.require_head("mlm")
    if masking not in MASKINGS:
        raise BertlabError("writing-masking-unknown", masking=masking, known=list(MASKINGS))
    parts = [split_text(model, tokenizer, text) for text in texts]
    return score_parts(model, tokenizer, parts, masking, progress)


def score_parts(
    model: Bert,
    tokenizer: Tokenizer,
    parts: Sequence[Sequence[TextPart]],
    masking: MaskingName = "word",
    progress: Callable = iter,
) -> list[TextSurprise]:
    """Compute the surprise of every word of several texts, each given by its parts; see `compute_surprise`."""
    queries = [query for part in chain.from_iterable(parts) for query in _list_queries(tokenizer, part, masking)]
    log_probs = iter(compute_log_probs(model, tokenizer, queries, progress))
    return [_make_text_surprise(tokenizer, text_parts, masking, log_probs) for text_parts in parts]


def split_text(model: Bert, tokenizer: Tokenizer, text: str) -> list[TextPart]:
    """Split a text into parts of whole sentences with at most `PART_TOKENS` tokens; longer sentences are cut at spaces.

    Raises:
        TextError: the text has no words, or a piece without spaces that is longer than the model can read at once.
    """
    starts = [start for start, _ in find_sentences(text)]
    edges = [0, *starts[1:], len(text)]
    sentences = [(start, end) for start, end in pairwise(edges) if start < end]
    spans: list[tuple[int, int]] = []
    size, limit = 0, min(PART_TOKENS, model.config.max_tokens - SPARE_TOKENS)
    for (start, end), length in zip(sentences, _count_tokens(tokenizer, text, sentences), strict=True):
        pieces = [(start, end, length)]
        if length > limit:
            chunks = [(start + each.start(), start + each.end()) for each in _CHUNK.finditer(text[start:end])]
            pieces = [(*c, n) for c, n in zip(chunks, _count_tokens(tokenizer, text, chunks), strict=True)]
            size = limit  # so that the sentence does not share a part with the one before it
        for first, last, count in pieces:
            if spans and size + count <= limit:
                spans[-1], size = (spans[-1][0], last), size + count
            else:
                spans.append((first, last))
                size = count
    parts = [make_part(model, tokenizer, start, text[start:end]) for start, end in spans]
    if not any(part.words for part in parts):
        raise TextError("text-empty")
    return parts


def mask_gaps(text: str) -> tuple[str, list[int]]:
    """Replace every gap ___ of a text with [MASK].

    Returns:
        The text with [MASK], and for each index in it the corresponding index in the original text.

    >>> mask_gaps("a ___!")
    ('a [MASK]!', [0, 1, 2, 2, 2, 2, 2, 2, 5, 6])
    """
    parts, text_indices, cursor = [], [], 0
    for gap in GAP.finditer(text):
        parts += [text[cursor : gap.start()], MASK]
        text_indices += [*range(cursor, gap.start()), *[gap.start()] * len(MASK)]
        cursor = gap.end()
    return "".join([*parts, text[cursor:]]), [*text_indices, *range(cursor, len(text) + 1)]


def _count_tokens(tokenizer: Tokenizer, text: str, spans: Sequence[tuple[int, int]]) -> list[int]:
    """Count the tokens of each (start, end) span of a text."""
    return [len(ids) for ids in tokenizer.encode_ids([text[start:end] for start, end in spans])]


def make_part(model: Bert, tokenizer: Tokenizer, start: int, text: str) -> TextPart:
    """Encode a part of a text, and assign its tokens to its words.

    Args:
        model: the model.
        tokenizer: its tokenizer.
        start: the index of the first character of the part in the text.
        text: the part.

    Raises:
        TextError: the part has more tokens than the model has positions.
    """
    masked, text_indices = mask_gaps(text)
    encoding = tokenizer.encode(masked, max_tokens=model.config.max_tokens)
    offsets = tuple((text_indices[first], text_indices[last]) for first, last in encoding.offsets)
    encoding = replace(encoding, offsets=offsets)
    spans = [(text_indices[first], text_indices[last]) for first, last in find_words(masked)]
    words, index = [], 0
    positions: dict[tuple[int, int], list[int]] = {}
    for position, (first, last) in enumerate(encoding.offsets):
        if encoding.special[position]:
            continue
        while index < len(spans) and spans[index][1] <= first:
            index += 1
        is_in_word = index < len(spans) and spans[index][0] < max(last, first + 1)
        positions.setdefault(spans[index] if is_in_word else (first, last), []).append(position)
    words = [(*span, tuple(word_positions)) for span, word_positions in positions.items()]
    return TextPart(start, text, encoding, tuple(words))


def _list_queries(tokenizer: Tokenizer, part: TextPart, masking: MaskingName) -> Iterable[TokenQuery]:
    """Yield a query for every token of a part, except for [MASK]."""
    ids = part.encoding.ids
    for _, _, positions in part.words:
        for token_index, position in enumerate(positions):
            if ids[position] != tokenizer.mask_id:
                masked_positions = positions[token_index:] if masking == "word" else (position,)
                masked = tuple(tokenizer.mask_id if index in masked_positions else id for index, id in enumerate(ids))
                yield TokenQuery(masked, position, ids[position])


def _make_text_surprise(
    tokenizer: Tokenizer, parts: Sequence[TextPart], masking: MaskingName, log_probs: Iterator[float]
) -> TextSurprise:
    """Make the result for one text; `log_probs` continues with the log-probabilities of the queries of this text."""
    words = []
    for part in parts:
        ids, tokens = part.encoding.ids, part.encoding.tokens
        for start, end, positions in part.words:
            positions = [position for position in positions if ids[position] != tokenizer.mask_id]
            if positions:
                values = [next(log_probs) for _ in positions]
                scored = tuple(
                    ScoredToken(tokens[position], math.exp(value), 0.0 - value)
                    for position, value in zip(positions, values, strict=True)
                )
                is_unknown = any(ids[position] == tokenizer.unk_id for position in positions)
                span = part.start + start, part.start + end
                words.append(ScoredWord(part.text[start:end], *span, scored, -sum(values), is_unknown))
    return TextSurprise(tuple(words), tuple((part.start, part.start + len(part.text)) for part in parts), masking)


def propose_words(
    model: Bert, tokenizer: Tokenizer, text: str, indices: Sequence[int], top_k: int = MAX_PROPOSALS
) -> tuple[WordProposals, ...]:
    """Find the most probable whole words in place of some words of a text.

    Args:
        model: a model with an MLM output layer.
        tokenizer: its tokenizer.
        text: the text.
        indices: the indices of the words in `TextSurprise.words`; each is replaced by one [MASK] while the others stay.
        top_k: the maximum number of proposals for each word.

    Raises:
        MissingHead: the model has no MLM output layer.
        TextError: the text has no words.
        BertlabError: the text has no word with one of the indices.
    """
    model.require_head("mlm")
    require_positive(top_k=top_k)
    words = [
        (part, part.text[start:end], positions)
        for part in split_text(model, tokenizer, text)
        for start, end, positions in part.words
        if any(part.encoding.ids[position] != tokenizer.mask_id for position in positions)
    ]
    inputs = []
    for index in indices:
        if not 0 <= index < len(words):
            raise BertlabError("writing-word-missing", index=index, last=len(words) - 1)
        ids, positions = words[index][0].encoding.ids, words[index][2]
        inputs.append(((*ids[: positions[0]], tokenizer.mask_id, *ids[positions[-1] + 1 :]), positions[:1]))
    log_probs_by_input = {
        (ids, positions): log_probs_1V[0]
        for ids, positions, log_probs_1V in predict_positions(model, tokenizer, list(dict.fromkeys(inputs)))
    }
    return tuple(
        WordProposals(index, word, rank_words(tokenizer, log_probs_by_input[each], top_k, without=word))
        for index, word, each in zip(indices, (words[index][1] for index in indices), inputs, strict=True)
    )


def list_best_tokens(log_probs_V: torch.Tensor) -> list[tuple[int, float]]:
    """List the ids and probabilities of the `SEARCHED_TOKENS` most probable tokens, most probable first."""
    best = log_probs_V.topk(min(SEARCHED_TOKENS, len(log_probs_V)))
    return [(id, math.exp(value)) for id, value in zip(best.indices.tolist(), best.values.tolist(), strict=True)]


def rank_words(
    tokenizer: Tokenizer, log_probs_V: torch.Tensor, top_k: int, without: str = ""
) -> tuple[ProposedWord, ...]:
    """Return the most probable tokens that are whole words: they have a letter or digit, and do not continue a word.

    Args:
        tokenizer: the tokenizer.
        log_probs_V: the log-probabilities of all tokens.
        top_k: the maximum number of words.
        without: a word that is left out. If it begins with a capital letter, so do the returned words.
    """
    words: list[ProposedWord] = []
    for id, probability in list_best_tokens(log_probs_V):
        (token,) = tokenizer.tokens([id])
        if token in tokenizer.special_tokens or tokenizer.continues_word(id):
            continue
        word = match_case(token.lstrip("\u2581\u0120 "), without)  # marks of a space before the word
        if any(map(str.isalnum, word)) and word.lower() != without.lower():
            words.append(ProposedWord(word, probability))
    return tuple(words[:top_k])


def match_case(word: str, original: str) -> str:
    """Write a word with a capital first letter if the word that it replaces has one.

    This is needed because many vocabularies have only lower case.

    >>> match_case("rain", "Snow"), match_case("rain", "snow")
    ('Rain', 'rain')
    """
    return word[:1].upper() + word[1:] if original[:1].isupper() else word
