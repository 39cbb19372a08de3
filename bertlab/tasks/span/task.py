"""Question answering: the answer is a span of a passage (Devlin et al. 2019, sections 4.2 and 4.3).

Shape legend: B batch, T tokens, S candidates (spans and "no answer"), P positions of the hidden states from which the
logits are computed, H hidden.
"""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

from bertlab.checkpoints.checkpoint import Checkpoint
from bertlab.config.errors import DataError
from bertlab.config.files import write_atomically
from bertlab.config.languages import DEFAULT, detect_language
from bertlab.config.tasks import TaskSpec
from bertlab.tasks.error_analysis import ScoredRow
from bertlab.tasks.evaluation import EvaluationOptions
from bertlab.tasks.examples import Examples
from bertlab.tasks.loss import Loss
from bertlab.tasks.recomputable_prediction import RecomputablePrediction
from bertlab.tasks.span import squad
from bertlab.tasks.span.answer import answer_questions
from bertlab.tasks.span.decoding import DecodedSpans
from bertlab.tasks.span.error_analysis import explain_answers
from bertlab.tasks.span.metrics import choose_script, score_squad, score_with_threshold
from bertlab.tasks.span.unanswerable import add_unanswerable
from bertlab.tasks.span.windows import encode_questions
from bertlab.tasks.task_type import ProgressMetric, TaskType
from bertlab.tasks.training_data import TrainingOptions
from bertlab.text.batch import SpanBatch
from bertlab.text.readers.invalid_rows import InvalidRows
from bertlab.text.readers.rows import Rows
from bertlab.text.tokenizers.wordpiece import Encoding

MAX_ANSWER_TOKENS = 30  # the maximum number of tokens in an answer, as in `run_squad.py`
NO_ANSWER = ""  # the text of the prediction "no answer"


@dataclass(frozen=True)
class SpanPredictions:
    """The predicted answers of a split."""

    answers: dict[str, str]
    """Question id -> the text of the best span."""
    no_answer: dict[str, float] | None
    """Question id -> no-answer score. If a model predicted the answers, this is the margin: the score of "no answer"
    minus the score of the best span. None if a file contains the answers and there are no scores."""
    threshold: float | None
    """The threshold tau: the prediction is "no answer" if the no-answer score exceeds it. If it is None, tau is tuned
    on these rows for answers of a model, and no threshold is applied to answers from a file."""
    are_from_model: bool = True


@dataclass(frozen=True)
class SpanLoss:
    """Mean of the cross-entropies of start and end, each with a softmax over all tokens except padding.

    The metric "exact" is the share of windows in which the correct start and the correct end have the largest logits.
    """

    head: str

    def __call__(self, model: nn.Module, batch: SpanBatch) -> Loss:
        inputs = batch.inputs
        logits_BT2 = model.logits(self.head, inputs).float()
        logits_BT2 = logits_BT2.masked_fill(~inputs.attention_mask_BT[..., None], float("-inf"))
        start = F.cross_entropy(logits_BT2[..., 0], batch.start_B)
        end = F.cross_entropy(logits_BT2[..., 1], batch.end_B)
        with torch.no_grad():
            predicted_B2 = logits_BT2.argmax(1)
            exact = ((predicted_B2[:, 0] == batch.start_B) & (predicted_B2[:, 1] == batch.end_B)).float().mean()
        return Loss((start + end) / 2, {"exact": exact}, inputs.attention_mask_BT.sum())


def set_detected_language(spec: TaskSpec, rows: Sequence[Mapping]) -> TaskSpec:
    """Return the task with the language of the questions, which decides how answers are compared.

    The language is detected from letters, so the task's language is kept if only the default one, English, is detected.
    """
    detected = detect_language([row["question"] for row in rows])
    return spec.replace(language=detected) if not spec.language or detected != DEFAULT else spec


def _read(
    data: Rows,
    spec: TaskSpec,
    labels: tuple[str, ...] = (),
    invalid_rows: InvalidRows | None = None,
    training: bool = False,
) -> Examples:
    """Convert rows to questions; in training, a row is invalid if its answer is not at the stated position."""
    rows = squad.read_questions(data, invalid_rows, spec, training)
    spec = set_detected_language(spec, rows)
    is_labelled = squad.is_labelled(rows, spec.unanswerable)
    if training:
        rows = squad.select_trainable_rows(rows, spec.unanswerable, invalid_rows)
        if not rows:
            raise DataError("no-trainable-row")
    elif is_labelled:
        rows = squad.select_scorable_rows(rows, spec.unanswerable, invalid_rows)
    return squad.make_examples(rows, data.name, spec, is_labelled)


def _extend_training(examples: Examples, options: TrainingOptions) -> Examples:
    if options.make_unanswerable is None:
        return examples
    rows = add_unanswerable([question.row for question in examples], options.make_unanswerable, options.seed)
    return squad.make_examples(rows, examples.name, examples.spec)


def _choose(
    examples: Examples,
    decoded: Sequence[DecodedSpans],
    threshold: float | None = None,
    default: float | None = None,
    tune: bool = False,
) -> SpanPredictions:
    """Choose the best spans. The threshold is `threshold`, else tuned (None) if possible, else `default`."""
    if threshold is None and not (tune and examples.is_labelled):
        threshold = default
    ids = [row.id for row in examples]
    return SpanPredictions(
        {id: spans.text for id, spans in zip(ids, decoded, strict=True)},
        {id: spans.no_answer_margin for id, spans in zip(ids, decoded, strict=True)},
        threshold,
    )


def score_answers(examples: Examples, predictions: SpanPredictions) -> dict:
    """Compute SQuAD's metrics in percent, and count the questions; see `span.metrics.score_squad`."""
    spec, rows = examples.spec, [{"id": row.id, "answers": row.target} for row in examples]
    if predictions.are_from_model:
        return score_with_threshold(predictions.answers, predictions.no_answer, rows, spec, predictions.threshold)
    version = "2.0" if spec.unanswerable else "1.1"
    return score_squad(
        predictions.answers, rows, version, predictions.no_answer, predictions.threshold, choose_script(spec)
    )


def _write_file(path: Path, examples: Examples, predictions: SpanPredictions) -> None:
    threshold = predictions.threshold
    if threshold is None and predictions.are_from_model and examples.is_labelled:
        threshold = score_answers(examples, predictions).get("null_threshold")
    if threshold is None or not examples.spec.unanswerable:
        threshold = math.inf
    scores = predictions.no_answer or {}
    answers = {
        id: NO_ANSWER if scores.get(id, -math.inf) > threshold else text for id, text in predictions.answers.items()
    }
    write_atomically(path, json.dumps(answers, ensure_ascii=False))


def _read_file(path: Path, examples: Examples, options: EvaluationOptions) -> SpanPredictions:
    scores = squad.read_scores(options.no_answer) if options.no_answer else None
    return SpanPredictions(squad.read_predictions(path), scores, options.threshold, are_from_model=False)


def _adapt_to_checkpoint(task_type: TaskType, loaded: Checkpoint, options: EvaluationOptions | None) -> TaskType:
    threshold, tune = (options.threshold, options.tune_threshold) if options else (None, False)
    return task_type.replace(
        encode=partial(encode_questions, stride=loaded.stride),
        choose=partial(_choose, threshold=threshold, default=loaded.null_threshold or 0.0, tune=tune),
    )


def _choose_attention_texts(row: ScoredRow, separator: str, predict: Callable) -> tuple[str, str]:
    # The passage may be too long for one input, so only the window with the best answer is shown.
    question, passage = row.texts
    answers = predict(question, passage)
    start, end = answers.windows[answers.best_window]
    return question, passage[start:end]


def _recompute(
    task_type: TaskType, loaded: Checkpoint, encoding: Encoding, pair: str | None, mask: int
) -> RecomputablePrediction:
    """Make a prediction whose candidates are all spans of up to 30 passage tokens, followed by "no answer"."""
    passage = [
        position
        for position, (segment, special) in enumerate(zip(encoding.token_type_ids, encoding.special, strict=True))
        if segment == 1 and not special
    ]
    spans = [(first, last) for i, first in enumerate(passage) for last in passage[i : i + MAX_ANSWER_TOKENS]]
    positions = (0, *passage)
    index_of_position = {position: index for index, position in enumerate(positions)}
    start_S, end_S = torch.tensor(
        [(index_of_position[first], index_of_position[last]) for first, last in [*spans, (0, 0)]]
    ).T

    def compute_logits(hidden_BPH: torch.Tensor) -> torch.Tensor:
        logits_BP2 = loaded.model.head(task_type.head)(hidden_BPH)
        return logits_BP2[:, start_S, 0] + logits_BP2[:, end_S, 1]

    def find_text(candidate: int) -> str:
        if candidate == len(spans):
            return NO_ANSWER
        first, last = spans[candidate]
        return pair[encoding.offsets[first][0] : encoding.offsets[last][1]]

    return RecomputablePrediction(task_type.name, encoding, positions, compute_logits, find_text)


SPAN = TaskType(
    name="span",
    predicts="an answer in a passage",
    head="span",
    command="answer",
    page="answer",
    column_flags=("text_column", "pair_column"),
    recompute=_recompute,
    interventions_need_pair=True,
    interventions_cover_all_candidates=True,
    columns={"text": ("context", "question"), "label": ("answers", "answer"), "id": "id"},
    required_flags=(),
    has_fixed_columns=True,
    change_columns=lambda spec, text, pair, choices: spec.replace(text=(text or spec.text[0], pair or spec.text[1])),
    metrics=("f1", "exact_match"),
    max_tokens=384,
    epochs=2.0,
    batch_size=512,
    progress_metric=ProgressMetric("exact", "exact"),
    reads_windows=True,
    open_rows=squad.open_rows,
    read=_read,
    extend_training=_extend_training,
    encode=encode_questions,
    make_loss=SpanLoss,
    compute=lambda model, head, batch: model.logits(head, batch),
    run=answer_questions,
    choose=_choose,
    score=score_answers,
    explain=explain_answers,
    file_name="predictions.json",
    write_file=_write_file,
    read_file=_read_file,
    adapt_to_training=lambda task_type, loaded, options, train: task_type.replace(
        encode=partial(encode_questions, stride=options.stride)
    ),
    adapt_to_checkpoint=_adapt_to_checkpoint,
    collect_settings=lambda spec, options: {"stride": options.stride},
    choose_attention_texts=_choose_attention_texts,
)
