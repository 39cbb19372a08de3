"""The predictions whose change under interventions is measured: a masked token, next sentence, an answer, a label.

Each is a choice among candidates, read from the last hidden states; `PROBES` has a row for each.

Shape legend: B batch, T tokens, P positions read, H hidden, C candidates, S spans.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch

from bertlab.config.errors import BertlabError, TextError
from bertlab.explore.encode import encode
from bertlab.nn.bert import Bert
from bertlab.text.tokenizers.wordpiece import Encoding, Tokenizer

MAX_ANSWER_TOKENS = 30  # as in run_squad.py
NO_ANSWER = ""


@dataclass(frozen=True)
class Probe:
    """One prediction for one input."""

    kind: str
    """A key of `PROBES`."""
    encoding: Encoding
    """The input."""
    positions: tuple[int, ...]
    """The tokens from whose last hidden states it is read."""
    logits: Callable[[torch.Tensor], torch.Tensor]
    """The hidden states at these positions, hidden_BPH -> logits_BC over the candidates."""
    label: Callable[[int], str]
    """The number of a candidate -> its text."""


@dataclass(frozen=True)
class ProbeSpec:
    """A kind of prediction."""

    head: str
    """The output layer that it needs."""
    build: Callable[..., Probe]
    """Model, tokenizer, encoding, pair and mask number -> Probe."""
    two_texts: bool = False
    """Whether it needs two texts."""


def probe(model: Bert, tokenizer: Tokenizer, kind: str, text: str, pair: str | None = None, mask: int = 0) -> Probe:
    """The prediction of this kind for one input.

    Args:
        kind: "mask" (a masked token), "nsp" (whether `pair` follows `text`), "span" (where the passage `pair` answers
            the question `text`) or "classify" (the label).
        mask: which [MASK], counted from 0.

    Raises:
        MissingHead: the model has no output layer for it.
        TextError: no [MASK] of that number, no second text, or more tokens than positions.
    """
    if kind not in PROBES:
        raise BertlabError("prediction-unknown", prediction=kind, predictions=list(PROBES))
    model.head(PROBES[kind].head)
    if PROBES[kind].two_texts and pair is None:
        raise TextError("second-text-missing", prediction=kind)
    encoding = encode(tokenizer, text, pair, model.config)
    return PROBES[kind].build(model, tokenizer, encoding, pair, mask)


def _mask(model: Bert, tokenizer: Tokenizer, encoding: Encoding, pair: str | None, mask: int) -> Probe:
    positions = [position for position, id in enumerate(encoding.ids) if id == tokenizer.mask_id]
    if not positions:
        raise TextError("mask-missing")
    if not 0 <= mask < len(positions):
        raise TextError("mask-out-of-range", mask=mask, last=len(positions) - 1)

    def logits(hidden_B1H: torch.Tensor) -> torch.Tensor:
        # an embedding table padded to a round size has rows without a token
        return model.mlm(hidden_B1H[:, 0])[:, : tokenizer.vocab_size]

    return Probe("mask", encoding, (positions[mask],), logits, lambda id: tokenizer.pieces([id])[0])


def _nsp(model: Bert, tokenizer: Tokenizer, encoding: Encoding, pair: str | None, mask: int) -> Probe:
    return _pooled(model, "nsp", encoding, model.nsp, ("IsNext", "NotNext"))


def _classify(model: Bert, tokenizer: Tokenizer, encoding: Encoding, pair: str | None, mask: int) -> Probe:
    return _pooled(model, "classify", encoding, model.classify, model.config.labels)


def _pooled(model: Bert, kind: str, encoding: Encoding, head: Callable, labels: tuple[str, ...]) -> Probe:
    """A prediction from the pooled token."""
    position = len(encoding) - 1 if model.config.left_to_right else 0
    return Probe(kind, encoding, (position,), lambda hidden_B1H: head(model.pooler(hidden_B1H)), labels.__getitem__)


def _span(model: Bert, tokenizer: Tokenizer, encoding: Encoding, pair: str | None, mask: int) -> Probe:
    """Every span of at most 30 tokens of the passage, and "no answer" as the last candidate, scored S.T_i + E.T_j."""
    passage = [
        position
        for position, (segment, special) in enumerate(zip(encoding.token_type_ids, encoding.special, strict=True))
        if segment == 1 and not special
    ]
    spans = [(first, last) for at, first in enumerate(passage) for last in passage[at : at + MAX_ANSWER_TOKENS]]
    read = (0, *passage)
    at_T = {position: at for at, position in enumerate(read)}
    start_S, end_S = torch.tensor([(at_T[first], at_T[last]) for first, last in [*spans, (0, 0)]]).T

    def logits(hidden_BPH: torch.Tensor) -> torch.Tensor:
        logits_BP2 = model.span(hidden_BPH)
        return logits_BP2[:, start_S, 0] + logits_BP2[:, end_S, 1]

    def label(candidate: int) -> str:
        if candidate == len(spans):
            return NO_ANSWER
        first, last = spans[candidate]
        return pair[encoding.offsets[first][0] : encoding.offsets[last][1]]

    return Probe("span", encoding, read, logits, label)


PROBES = {
    "mask": ProbeSpec("mlm", _mask),
    "nsp": ProbeSpec("nsp", _nsp, two_texts=True),
    "span": ProbeSpec("span", _span, two_texts=True),
    "classify": ProbeSpec("classify", _classify),
}
