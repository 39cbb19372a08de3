"""Type-ahead: the most probable words after a text, endings of its last word, and words for its gaps.

BERT reads a whole text and was not trained to write from left to right. The next word is predicted at a [MASK] after
the text: once with nothing after the [MASK], and once with a full stop after it. Without the full stop, BERT often
predicts a full stop, because the texts that it was trained on end with one.

Shape legend: P positions, V vocabulary.
"""

from dataclasses import dataclass

from bertlab.abilities.writing.masked_inputs import predict_positions
from bertlab.abilities.writing.surprise import GAP, MAX_PROPOSALS, ProposedWord, list_best_tokens, rank_words
from bertlab.config.errors import TextError
from bertlab.nn.bert import Bert
from bertlab.tasks.inference import require_positive
from bertlab.tasks.masked_lm import find_mask_positions
from bertlab.text.tokenizers.encoding import MASK
from bertlab.text.tokenizers.wordpiece import Tokenizer

CONTEXT_TOKENS = 128  # how many tokens before the [MASK] are read
FULL_STOP = "."


@dataclass(frozen=True)
class Gap:
    """A gap of a text and the words that the model proposes for it."""

    start: int
    """The index of its first character in the text."""
    end: int
    """The index after its last character."""
    words: tuple[ProposedWord, ...]
    """The most probable words, most probable first."""


@dataclass(frozen=True)
class TypeAhead:
    """What could be written after a text, and in its gaps."""

    words: tuple[ProposedWord, ...]
    """The most probable next words if nothing follows the [MASK]."""
    last_words: tuple[ProposedWord, ...]
    """The most probable next words if a full stop follows, so that the next word ends a sentence."""
    endings: tuple[ProposedWord, ...]
    """The most probable tokens that continue the last word, such as a Korean particle, without "##"; none if the text
    ends with a space or a punctuation mark."""
    stop_probability: float
    """The probability that a punctuation mark comes next, if nothing follows the [MASK]."""
    gaps: tuple[Gap, ...]
    """The gaps of the text, in order; each is predicted while the others stay masked."""


def compute_type_ahead(model: Bert, tokenizer: Tokenizer, text: str, top_k: int = MAX_PROPOSALS) -> TypeAhead:
    """Predict the next word of a text, and the words of its gaps.

    Args:
        model: a model with an MLM output layer.
        tokenizer: its tokenizer.
        text: the text; ___ or [MASK] is a gap.
        top_k: the maximum number of words for each gap, for the ending and for the next word.

    Raises:
        MissingHead: the model has no MLM output layer.
        TextError: the text has no words, or it has gaps and more tokens than the model has positions.
    """
    model.require_head("mlm")
    require_positive(top_k=top_k)
    masked = GAP.sub(MASK, text)
    ids = tuple(tokenizer.encode_ids([masked])[0])
    if not ids:
        raise TextError("text-empty")
    # four positions are left for [CLS], [MASK], the full stop and [SEP]
    context = ids[-min(CONTEXT_TOKENS, model.config.max_tokens - 4) :]
    beginning = (tokenizer.cls_id, *context, tokenizer.mask_id)
    position = len(beginning) - 1
    inputs = [(*beginning, tokenizer.sep_id), (*beginning, *tokenizer.encode_word(FULL_STOP), tokenizer.sep_id)]
    log_probs_by_input = {each: log_probs_1V[0] for each, _, log_probs_1V in
             predict_positions(model, tokenizer, [(each, (position,)) for each in inputs])}  # fmt: skip
    next_V, last_V = (log_probs_by_input[each] for each in inputs)
    # whether the text ends with a letter or digit, and its last characters contain no gap
    is_inside_word = text[-1].isalnum() and not GAP.search(text[-len(MASK) :])
    return TypeAhead(
        rank_words(tokenizer, next_V, top_k), rank_words(tokenizer, last_V, top_k),
        _rank_endings(tokenizer, next_V, top_k) if is_inside_word else (), _sum_punctuation(tokenizer, next_V),
        _fill_gaps(model, tokenizer, text, masked, top_k),
    )  # fmt: skip


def _rank_endings(tokenizer: Tokenizer, log_probs_V, top_k: int) -> tuple[ProposedWord, ...]:
    """Return the most probable tokens that continue a word."""
    endings = [
        ProposedWord(tokenizer.tokens([id])[0].removeprefix("##"), probability)
        for id, probability in list_best_tokens(log_probs_V)
        if id not in tokenizer.special_ids and tokenizer.continues_word(id)
    ]
    return tuple(endings[:top_k])


def _sum_punctuation(tokenizer: Tokenizer, log_probs_V) -> float:
    """Sum the probabilities of the punctuation marks among the most probable tokens."""
    return sum(
        probability
        for id, probability in list_best_tokens(log_probs_V)
        if not any(map(str.isalnum, tokenizer.tokens([id])[0]))
    )


def _fill_gaps(model: Bert, tokenizer: Tokenizer, text: str, masked: str, top_k: int) -> tuple[Gap, ...]:
    """Predict the words of the gaps; `masked` is the text with a [MASK] in place of each gap."""
    spans = [gap.span() for gap in GAP.finditer(text)]
    if not spans:
        return ()
    encoding = tokenizer.encode(masked, max_tokens=model.config.max_tokens)
    positions = tuple(find_mask_positions(tokenizer, encoding))
    ((_, _, log_probs_PV),) = predict_positions(model, tokenizer, [(encoding.ids, positions)])
    return tuple(
        Gap(*span, rank_words(tokenizer, log_probs_V, top_k))
        for span, log_probs_V in zip(spans, log_probs_PV, strict=True)
    )
