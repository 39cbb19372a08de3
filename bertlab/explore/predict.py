"""What a model says: the word behind a mask, whether B follows A, where the answer is, and a vector for a text.

Encoded inputs in, facts out. Knows no checkpoint and no file.

Shape legend: B batch, T tokens, H hidden, M masks, V vocabulary, W words, K windows, S spans.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from bertlab.config.errors import BertlabError, TextError
from bertlab.explore.encode import batch_of_one
from bertlab.explore.facts import Answer, Answers, Candidate, MaskFill, NextSentence, Original
from bertlab.explore.word_spans import words
from bertlab.nn.bert import Bert
from bertlab.tasks.span.decoding import Decoded, decode_spans
from bertlab.tasks.span.windows import Window, windows
from bertlab.text.batch import collate
from bertlab.text.batches import score_spans
from bertlab.text.tokenizers.wordpiece import Encoding, Tokenizer

N_BEST = 20  # as in run_squad.py


def fill_mask(
    model: Bert, tokenizer: Tokenizer, encoding: Encoding, top_k: int = 5, originals: Sequence[str] = ()
) -> list[MaskFill]:
    """The `top_k` most probable pieces for every [MASK], each judged with the other masks still in place.

    Args:
        originals: the word that each mask replaced, "" where it is not known. A word of several tokens counts as not
            known.

    Raises:
        MissingHead: the model has no masked-word head.
        TextError: there is no [MASK].
    """
    model.head("mlm")
    at_least_one(top_k=top_k)
    positions = [position for position, id in enumerate(encoding.ids) if id == tokenizer.mask_id]
    if not positions:
        raise TextError("there is no [MASK]: write [MASK] in place of the word to guess")
    hidden_MH = model(batch_of_one(encoding, device_of(model))).hidden_BTH[0, positions]
    # a vocabulary padded to a round size has rows that stand for no piece
    probs_MV = model.mlm(hidden_MH)[:, : tokenizer.vocab_size].softmax(-1)
    best = probs_MV.topk(min(top_k, tokenizer.vocab_size))
    words = (*originals, *[""] * len(positions))[: len(positions)]
    return [
        MaskFill(
            position,
            *encoding.offsets[position],
            tuple(map(Candidate, tokenizer.pieces(ids), ids, probs)),
            _original(tokenizer, word, probs_V),
        )
        for position, word, probs_V, ids, probs in zip(
            positions, words, probs_MV, best.indices.tolist(), best.values.tolist(), strict=True
        )
    ]


def _original(tokenizer: Tokenizer, word: str, probs_V: torch.Tensor) -> Original | None:
    """The token that a mask replaced; None where the word has several tokens, is unknown to the vocabulary or empty."""
    ids = tokenizer.encode_plain([word])[0] if word else []
    if len(ids) != 1 or ids[0] == tokenizer.unk_id:
        return None
    probability = probs_V[ids[0]]
    rank = 1 + int((probs_V > probability).sum())
    return Original(tokenizer.pieces(ids)[0], ids[0], float(probability), rank)


def next_sentence(model: Bert, encoding: Encoding, asked: str) -> NextSentence:
    """Whether B follows A, or what the head was asked of them. Raises MissingHead."""
    model.head("nsp")
    logits_2 = model.nsp(model(batch_of_one(encoding, device_of(model))).pooled_BH)[0]
    return NextSentence(float(logits_2.softmax(-1)[0]), asked)


@dataclass(frozen=True)
class SpanReading:
    """One question read over a passage: its windows, the logits of each, and the spans that are made of them."""

    passage: str
    windows: list[Window]
    start_KT: list[np.ndarray]
    end_KT: list[np.ndarray]
    decoded: Decoded


def read_spans(
    model: Bert,
    tokenizer: Tokenizer,
    question: str,
    passage: str,
    *,
    n_best: int = N_BEST,
    max_answer_tokens: int = 30,
    stride: int = 128,
    max_tokens: int = 384,
    batch_size: int = 8,
    progress: Callable = iter,
) -> SpanReading:
    """Read every window of a question; see `Session.answer` for the arguments and what is raised."""
    model.head("span")
    at_least_one(n_best=n_best, max_answer_tokens=max_answer_tokens, stride=stride, batch_size=batch_size)
    device = device_of(model)
    found = windows(tokenizer, question, passage, min(max_tokens, model.config.max_positions), stride)
    start_KT, end_KT = score_spans(
        found, lambda batch: model.span(model(batch.to(device)).hidden_BTH), tokenizer.pad_id, batch_size, progress
    )
    # so that a probability does not depend on how many answers are asked for, up to the usual number
    decoded = decode_spans(found, start_KT, end_KT, passage, max(n_best, N_BEST), max_answer_tokens)
    return SpanReading(passage, found, start_KT, end_KT, decoded)


def answers(reading: SpanReading, n_best: int = N_BEST) -> Answers:
    """Where the passage answers the question, by a reading of it."""
    decoded, found = reading.decoded, reading.windows
    *probs_S, no_answer_probability = softmax([*(span.score for span in decoded.spans), decoded.no_answer_score])
    best = decoded.spans[0].window if decoded.spans else 0
    places = words(reading.passage)
    return Answers(
        answers=tuple(
            Answer(span.text, span.start, span.end, span.score, float(prob))
            for span, prob in zip(decoded.spans[:n_best], probs_S, strict=False)
        ),
        no_answer_score=decoded.no_answer_score,
        no_answer_probability=float(no_answer_probability),
        words=tuple(places),
        start_probs=_by_word(found[best], softmax(reading.start_KT[best]), places),
        end_probs=_by_word(found[best], softmax(reading.end_KT[best]), places),
        windows=tuple(covered(window) for window in found),
        best_window=best,
    )


def embed(model: Bert, encodings: Sequence[Encoding], pad_id: int, batch_size: int = 32) -> np.ndarray:
    """Mean of the last hidden states over the tokens of each input, scaled to length 1 -> float32 [inputs, H].

    Source: Reimers and Gurevych 2019 (arXiv 1908.10084), mean pooling.
    """
    device = device_of(model)
    vectors_BH = np.zeros((len(encodings), model.config.hidden_size), np.float32)
    order = sorted(range(len(encodings)), key=lambda row: -len(encodings[row]))
    for first in range(0, len(order), batch_size):
        rows = order[first : first + batch_size]
        batch = collate([encodings[row] for row in rows], pad_id).to(device)
        weight_BT1 = batch.attention_mask_BT[..., None].float()
        mean_BH = (model(batch).hidden_BTH * weight_BT1).sum(1) / weight_BT1.sum(1)
        vectors_BH[rows] = torch.nn.functional.normalize(mean_BH, dim=-1).cpu().numpy()
    return vectors_BH


def device_of(model: Bert) -> torch.device:
    return model.embeddings.token.weight.device


def at_least_one(**numbers: int) -> None:
    """Raise BertlabError for a number below 1."""
    for name, number in numbers.items():
        if number < 1:
            raise BertlabError(f"{name} is {number}; it must be at least 1")


def softmax(scores: Sequence[float] | np.ndarray) -> np.ndarray:
    """Scores -> probabilities, however large the scores.

    >>> softmax([1000.0, 1000.0]).tolist()
    [0.5, 0.5]
    """
    powers = np.exp(np.asarray(scores, np.float64) - np.max(scores))
    return powers / powers.sum()


def _by_word(window: Window, probs_T: np.ndarray, places: list[tuple[int, int]]) -> tuple[float, ...]:
    """The probabilities of a window's pieces, added up for each word of the whole passage."""
    starts_W = np.array([start for start, _ in places], np.int64)
    begin_P, end_P = window.offsets_T2[window.passage].T
    word_P = np.searchsorted(starts_W, begin_P, side="right") - 1
    counted_P = (word_P >= 0) & (end_P > begin_P)
    return tuple(np.bincount(word_P[counted_P], probs_T[window.passage][counted_P], minlength=len(starts_W)).tolist())


def covered(window: Window) -> tuple[int, int]:
    """The characters of the passage that a window shows."""
    offsets_P2 = window.offsets_T2[window.passage]
    return int(offsets_P2[0, 0]), int(offsets_P2[-1, 1])
