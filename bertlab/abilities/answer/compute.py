"""The answer x-ray: the prediction for every window of a passage, and the attention between question and answer.

Shape legend: T tokens of a window, P passage tokens of a window, K windows, N heads.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import torch

from bertlab.abilities.queries import Query
from bertlab.abilities.results import SpanAttention, SpanXray, TokenRow, WindowReading
from bertlab.config.errors import TextError
from bertlab.nn.trace import Trace
from bertlab.tasks.inference import find_device, softmax
from bertlab.tasks.span.answer import N_BEST, SpanReading, find_answers, find_window_characters, read_span_logits
from bertlab.tasks.span.decoding import decode_spans
from bertlab.tasks.span.windows import Window, make_windows
from bertlab.text.batch import collate
from bertlab.text.tokenizers.wordpiece import Tokenizer

if TYPE_CHECKING:
    from bertlab.abilities.answer import Answer
    from bertlab.session import Session


def prepare_reading(session: Session, ability: Answer) -> Query:
    """Prepare the query whose result is the `SpanReading` of all windows."""
    settings = session.window_settings(ability.stride, ability.max_tokens)
    window_tokens = min(settings["max_tokens"], session.config.max_tokens)
    windows = make_windows(session.tokenizer, ability.question, ability.passage, window_tokens, settings["stride"])

    def finish(outputs: list[torch.Tensor]) -> SpanReading:
        logits = [logits_T2.numpy() for logits_T2 in outputs]
        start_KT, end_KT = [logits_T2[:, 0] for logits_T2 in logits], [logits_T2[:, 1] for logits_T2 in logits]
        return read_span_logits(ability.passage, windows, start_KT, end_KT, ability.n_best, ability.max_answer_tokens)

    return Query("span", tuple(windows), finish)


def make_xray(session: Session, ability: Answer, reading: SpanReading) -> SpanXray:
    """Find the answers, and the prediction for every window."""
    answers = find_answers(reading, ability.n_best)
    tau = session.loaded.null_threshold if ability.threshold is None else ability.threshold
    return SpanXray(
        answers=replace(answers, null_threshold=tau),
        answer_windows=tuple(span.window for span in reading.decoded.spans[: ability.n_best]),
        readings=tuple(
            _read_window(reading, session.tokenizer, k, max(ability.n_best, N_BEST), ability.max_answer_tokens)
            for k in range(len(reading.windows))
        ),
    )


def compute_span_attention(
    session: Session,
    question: str,
    passage: str,
    window: int,
    start: int,
    end: int,
    stride: int | None = None,
    max_tokens: int | None = None,
) -> SpanAttention:
    """Compute the attention from the question and from the answer in one window; see `Session.span_attention`."""
    model, tokenizer, settings = session.model, session.tokenizer, session.window_settings(stride, max_tokens)
    window_tokens = min(settings["max_tokens"], model.config.max_tokens)
    all_windows = make_windows(tokenizer, question, passage, window_tokens, settings["stride"])
    if not 0 <= window < len(all_windows):
        raise TextError("window-out-of-range", window=window, last=len(all_windows) - 1)
    span_window = all_windows[window]
    begin_P, end_P = span_window.offsets_T2[span_window.passage_slice].T
    inside_P = (begin_P < end) & (end_P > start) & (end_P > begin_P)
    answer_positions = [span_window.passage_slice.start + int(index) for index in inside_P.nonzero()[0]]
    if not answer_positions:
        raise TextError("window-without-characters", window=window, start=start, end=end)
    question_positions = list(range(1, 1 + span_window.num_question_tokens))
    trace = Trace.of("probs")
    model(collate([span_window], tokenizer.pad_id).to(find_device(model)), trace=trace)
    # The mean is computed layer by layer, because the rows of all heads together would need much memory.
    means = [
        torch.stack([probs_1NTT[0, :, rows].mean(1) for probs_1NTT in trace["probs"]]).float().cpu().numpy()
        for rows in (question_positions, answer_positions)
    ]
    tokens = _make_token_rows(span_window, tokenizer)
    return SpanAttention(tokens, tuple(question_positions), tuple(answer_positions), *means)


def _read_window(
    reading: SpanReading, tokenizer: Tokenizer, k: int, n_best: int, max_answer_tokens: int
) -> WindowReading:
    """Return the prediction for the window with index `k` alone."""
    window, starts_T, ends_T = reading.windows[k], reading.start_KT[k], reading.end_KT[k]
    # `n_best` must be the same as for the answers: with fewer starts and ends to combine, the best score could differ.
    decoded = decode_spans([window], [starts_T], [ends_T], reading.passage, n_best, max_answer_tokens)
    best = decoded.spans[0] if decoded.spans else None
    return WindowReading(
        *find_window_characters(window),
        tokens=_make_token_rows(window, tokenizer),
        start_probs_T=softmax(starts_T),
        end_probs_T=softmax(ends_T),
        answer=(best.start, best.end) if best else None,
        score=best.score if best else float("-inf"),
        no_answer_score=decoded.no_answer_score,
    )


def _make_token_rows(window: Window, tokenizer: Tokenizer) -> tuple[TokenRow, ...]:
    """List a window's tokens as rows; passage tokens have offsets into the passage, all others 0."""
    special_positions = {0, *range(window.num_question_tokens + 1, window.passage_slice.start), len(window) - 1}
    tokens = tokenizer.tokens([int(id) for id in window.ids])
    columns = (window.ids, tokens, window.offsets_T2, window.token_type_ids)
    return tuple(
        TokenRow(position, int(id), token, int(start), int(end), int(segment), position in special_positions)
        for position, (id, token, (start, end), segment) in enumerate(zip(*columns, strict=True))
    )
