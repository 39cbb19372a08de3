"""Question answering: the answer is a span of a passage (Devlin et al. 2019, sections 4.2 and 4.3).

Shape legend: B batch, T tokens, W windows, S candidates (spans and "no answer"), P positions of the hidden
states from which the logits are computed, H hidden.
"""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from bertlab.checkpoints.checkpoint import Checkpoint
from bertlab.config.errors import DataError
from bertlab.config.files import write_atomically
from bertlab.config.languages import DEFAULT, detect_language
from bertlab.config.tasks import TaskSpec, make_span_task
from bertlab.nn.bert import Bert
from bertlab.tasks.error_analysis import AnalysisRows, ScoredRow, TaskAnalysis
from bertlab.tasks.loss import Loss
from bertlab.tasks.recomputable_prediction import RecomputablePrediction
from bertlab.tasks.span.answer import answer_questions
from bertlab.tasks.span.error_analysis import analyse_questions
from bertlab.tasks.span.metrics import choose_script, score_squad, score_with_threshold
from bertlab.tasks.span.squad import is_labelled, read_predictions, read_rows, read_scores, select_scorable_rows
from bertlab.tasks.span.unanswerable import add_unanswerable
from bertlab.tasks.span.windows import (
    SpanFeatures,
    SpanWindows,
    make_span_features,
    make_span_windows,
    select_trainable_rows,
)
from bertlab.tasks.splits import choose_split
from bertlab.tasks.task_type import EvaluationOptions, FinetuneTaskType, ProgressMetric
from bertlab.tasks.training_data import TrainingData, TrainingOptions, checksum
from bertlab.text.batch import SpanBatch, collate
from bertlab.text.batches import ShuffledSampler
from bertlab.text.readers.data_file import Limits
from bertlab.text.readers.invalid_rows import InvalidRows
from bertlab.text.readers.rows import choose_evenly
from bertlab.text.readers.splits import find_split, has_split, split_name
from bertlab.text.tokenizers.wordpiece import Encoding, Tokenizer

MAX_ANSWER_TOKENS = 30  # the maximum number of tokens in an answer, as in `run_squad.py`
NO_ANSWER = ""  # the text of the prediction "no answer"


@dataclass(frozen=True)
class Questions(Sequence):
    """The questions of one split, with the columns of SQuAD; see `tasks.span.squad`."""

    name: str
    """The name of the file or data set, as shown in messages."""
    spec: TaskSpec
    """The task, including the language, which determines how answers are compared."""
    rows: list[dict]
    """The questions."""
    is_labelled: bool
    """Whether answers can be scored on these questions; see `tasks.span.squad.is_labelled`."""

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, row):
        return self.rows[row]

    def select(self, rows: Sequence[int]) -> "Questions":
        """Select the questions at these indices."""
        return replace(self, rows=[self.rows[row] for row in rows])


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
    """True if a model predicted the answers, False if they were read from a file."""


def span_loss(model: nn.Module, batch: SpanBatch) -> Loss:
    """Mean of the cross-entropies of start and end, each with a softmax over all tokens except padding.

    The metric "exact" is the share of windows in which the correct start and the correct end have the largest logits.
    """
    inputs = batch.inputs
    logits_BT2 = model.span(model(inputs).hidden_BTH).float()
    logits_BT2 = logits_BT2.masked_fill(~inputs.attention_mask_BT[..., None], float("-inf"))
    start = F.cross_entropy(logits_BT2[..., 0], batch.start_B)
    end = F.cross_entropy(logits_BT2[..., 1], batch.end_B)
    with torch.no_grad():
        predicted_B2 = logits_BT2.argmax(1)
        exact = ((predicted_B2[:, 0] == batch.start_B) & (predicted_B2[:, 1] == batch.end_B)).float().mean()
    return Loss((start + end) / 2, {"exact": exact}, inputs.attention_mask_BT.sum())


def make_span_batches(
    features: SpanFeatures, pad_id: int, batch_size: int, seed: int, shard: tuple[int, int] = (0, 1)
) -> ShuffledSampler:
    """Make endless shuffled batches of windows with the positions of their answers.

    Args:
        features: the windows and the positions.
        pad_id: the token id of padding.
        batch_size: the number of windows in a batch over all processes.
        seed: the seed of the shuffling.
        shard: (rank, number of processes); they select the part of every batch that this process reads.
    """
    windows = features.windows

    def make_batch(rows: np.ndarray) -> SpanBatch:
        inputs = collate([windows[int(w)] for w in rows], pad_id)
        return SpanBatch(inputs, torch.from_numpy(features.start_W[rows]), torch.from_numpy(features.end_W[rows]))

    return ShuffledSampler(len(windows), batch_size, seed, make_batch, shard)


def set_detected_language(spec: TaskSpec, rows: Sequence[Mapping]) -> TaskSpec:
    """Return the task with the language of the questions; the language decides how answers are compared.

    A language detected from the letters of the questions replaces the task's language. If the rows for squad_v2 are
    Korean, for example, the language becomes Korean.

    Args:
        spec: the task; its language is kept if only the default language, English, is detected.
        rows: the questions.
    """
    detected = detect_language([row["question"] for row in rows])
    return spec.replace(language=detected) if not spec.language or detected != DEFAULT else spec


def compute_answer_metrics(
    model: nn.Module,
    tokenizer: Tokenizer,
    rows: Sequence[dict],
    spec: TaskSpec,
    threshold: float | None = None,
    **options,
) -> dict:
    """Answer questions with a model, and compute the task's metrics.

    Args:
        model: a model with a span output layer.
        tokenizer: the tokenizer of the model.
        rows: questions with the columns of SQuAD.
        spec: the task.
        threshold: tau, for tasks with unanswerable questions; None tunes it on these rows.
        options: other keyword arguments of `answer_questions`.
    """
    return score_with_threshold(
        *_index_answers_and_margins(rows, answer_questions(model, tokenizer, rows, **options)), rows, spec, threshold
    )


def _index_answers_and_margins(rows: Sequence[dict], decoded: Sequence) -> tuple[dict[str, str], dict[str, float]]:
    """Make two dictionaries: question id -> text of the best span, and question id -> no-answer margin."""
    ids = [row["id"] for row in rows]
    answers = {id: spans.text for id, spans in zip(ids, decoded, strict=True)}
    return answers, {id: spans.no_answer_margin for id, spans in zip(ids, decoded, strict=True)}


class SpanTask(FinetuneTaskType):
    """The answer to a question as a span of a passage."""

    name = "span"
    aliases = ("question", "answer")
    head = "span"
    command = "answer"
    page = "answer"
    supports_interventions = True
    interventions_need_pair = True
    interventions_cover_all_candidates = True
    metrics = ("f1", "exact_match")
    max_tokens = 384
    reads_windows = True
    epochs = 2.0
    progress_metric = ProgressMetric(key="exact", label="exact")
    column_flags = ("text_column", "pair_column")
    required_flags = ()
    scores_no_answer = True
    count_name = "questions"
    json_suffix = ".json"  # a file of SQuAD is a single JSON object over many lines
    has_fixed_columns = True
    loss = staticmethod(span_loss)

    def make_default_spec(self) -> TaskSpec:
        return make_span_task(hub_id="", source="", language="")

    def change_columns(self, spec: TaskSpec, text: str | None, pair: str | None, choices: Sequence[str]) -> TaskSpec:
        return spec.replace(text=(text or spec.text[0], pair or spec.text[1]))

    def collect_recorded_settings(self, spec: TaskSpec, options: TrainingOptions) -> dict:
        return {"stride": options.stride}

    # -- training --------------------------------------------------------------------------------------------------

    def read_training_data(self, spec: TaskSpec, loaded: Checkpoint, options: TrainingOptions) -> TrainingData:
        """Read the rows of a fine-tuning run; a row is invalid if its answer is not at the stated position."""
        source, invalid_rows = options.data or spec.hub_id, InvalidRows(options.invalid)
        rows = read_rows(source, "train", invalid_rows, spec, training=True)
        spec = set_detected_language(spec, rows)
        if options.make_unanswerable is not None:
            # Unanswerable questions are made only from rows whose answers are at their stated positions.
            rows, _ = select_trainable_rows(rows, spec.unanswerable, invalid_rows)
            rows = add_unanswerable(rows, options.make_unanswerable, options.seed)
        validation = options.validation
        if validation is None and (options.data is None or has_split(options.data, "validation")):
            validation = source
        held_out = read_rows(validation, "validation", invalid_rows, spec) if validation else []
        if held_out:
            held_out = select_scorable_rows(held_out, validation, spec.unanswerable, invalid_rows)
        features = make_span_features(
            loaded.tokenizer, rows, options.max_tokens, options.stride, has_unanswerable=spec.unanswerable,
            invalid_rows=invalid_rows,
        )  # fmt: skip
        if not len(features):
            raise DataError("no-trainable-row")

        def measure(model: Bert, limit: int | None, progress: Callable) -> dict:
            """Compute the metrics on at most `limit` held-out questions."""
            uses_all_rows = limit is None or limit >= len(held_out)
            sample = held_out if uses_all_rows else [held_out[i] for i in choose_evenly(len(held_out), limit)]
            return compute_answer_metrics(
                model, loaded.tokenizer, sample, spec, max_tokens=options.max_tokens, stride=options.stride,
                progress=progress,
            )  # fmt: skip

        def make_batches(batch_size: int, seed: int, shard: tuple[int, int]) -> ShuffledSampler:
            return make_span_batches(features, loaded.tokenizer.pad_id, batch_size, seed, shard)

        facts = {"examples": len(rows), "skipped": len(invalid_rows)}
        if held_out:
            facts["measured_on"] = [Path(str(validation)).name]
        inputs = features.windows
        digest = checksum(
            (inputs.question_ids.flat, inputs.question_ids.start, inputs.passage_ids.flat, features.start_W,
             features.end_W)
        )  # fmt: skip
        return TrainingData(self, spec, loaded, (), make_batches, measure if held_out else None, facts, options, digest)

    # -- evaluation ------------------------------------------------------------------------------------------------

    def read_split(
        self, spec: TaskSpec, split: str, loaded: Checkpoint | None, options: EvaluationOptions
    ) -> Questions:
        invalid_rows = InvalidRows(options.invalid)
        rows = read_rows(options.source, split, invalid_rows, spec)
        spec = set_detected_language(spec, rows)
        labelled = is_labelled(rows, spec.unanswerable)
        if labelled:
            rows = select_scorable_rows(rows, options.source, spec.unanswerable, invalid_rows)
        return Questions(options.source, spec, rows[: options.limit], labelled)

    def make_inputs(self, loaded: Checkpoint, examples: Questions, max_tokens: int | None) -> SpanWindows:
        max_tokens = min(max_tokens or loaded.max_tokens_for(self.max_tokens), loaded.config.max_tokens)
        questions, passages = ([row[column] for row in examples] for column in ("question", "context"))
        return make_span_windows(loaded.tokenizer, questions, passages, max_tokens, loaded.stride)

    def predict(
        self, loaded: Checkpoint, examples: Questions, options: EvaluationOptions, progress: Callable
    ) -> SpanPredictions:
        decoded = answer_questions(
            loaded.model, loaded.tokenizer, examples.rows,
            max_tokens=options.max_tokens or loaded.max_tokens_for(self.max_tokens), stride=loaded.stride,
            progress=progress,
        )  # fmt: skip
        threshold = options.threshold
        if threshold is None and not (options.tune_threshold and examples.is_labelled):
            threshold = loaded.null_threshold or 0.0
        return SpanPredictions(*_index_answers_and_margins(examples.rows, decoded), threshold)

    def read_predictions(self, path: Path, examples: Questions, options: EvaluationOptions) -> SpanPredictions:
        scores = read_scores(options.no_answer) if options.no_answer else None
        return SpanPredictions(read_predictions(path), scores, options.threshold, are_from_model=False)

    def write_predictions(
        self, out: Path, split: str, number_of_splits: int, examples: Questions, predictions: SpanPredictions, options
    ) -> None:
        threshold = predictions.threshold
        if threshold is None and predictions.are_from_model and examples.is_labelled:
            threshold = self.compute_metrics(examples, predictions).get("null_threshold")
        if threshold is None or not examples.spec.unanswerable:
            threshold = math.inf
        scores = predictions.no_answer or {}
        answers = {
            id: NO_ANSWER if scores.get(id, -math.inf) > threshold else text for id, text in predictions.answers.items()
        }
        path = out if out.suffix and not out.is_dir() else out / "predictions.json"
        write_atomically(path, json.dumps(answers, ensure_ascii=False))

    def compute_metrics(self, examples: Questions, predictions: SpanPredictions) -> dict:
        """Compute SQuAD's metrics in percent, and count the questions; see `span.metrics.score_squad`."""
        spec, rows = examples.spec, examples.rows
        if not predictions.are_from_model:
            version = "2.0" if spec.unanswerable else "1.1"
            return score_squad(
                predictions.answers, rows, version, predictions.no_answer, predictions.threshold, choose_script(spec)
            )
        return score_with_threshold(predictions.answers, predictions.no_answer, rows, spec, predictions.threshold)

    # -- error analysis --------------------------------------------------------------------------------------------

    def read_analysis_rows(
        self, source: str | Path, split: str, spec: TaskSpec, invalid_rows: InvalidRows, limits: Limits | None = None
    ) -> AnalysisRows:
        split = choose_split(source, split, spec)
        questions = read_rows(source, split, invalid_rows, spec, limits=limits)
        name = split_name(source, split, find_split(source, split))
        columns = ("id", "question", "context", "answers")
        return AnalysisRows(name, columns, questions)

    def read_analysis_examples(
        self, rows: AnalysisRows, spec: TaskSpec, loaded: Checkpoint, invalid_rows: InvalidRows
    ) -> Questions:
        spec = set_detected_language(spec, rows.rows)
        # `analyse_questions` scores these rows as v2.0 if any of them has no answer
        return Questions(rows.name, spec, list(rows.rows), is_labelled(rows.rows, has_unanswerable=True))

    def analyse(self, loaded: Checkpoint, examples: Questions, progress: Callable) -> TaskAnalysis:
        return analyse_questions(loaded, examples.rows, examples.spec, self.max_tokens, progress)

    def choose_attention_texts(self, row: ScoredRow, separator: str, predict: Callable) -> tuple[str, str]:
        # The passage may be too long for one input, so only the window with the best answer is shown.
        question, passage = row.texts
        answers = predict(question, passage)
        start, end = answers.windows[answers.best_window]
        return question, passage[start:end]

    # -- recomputable prediction -------------------------------------------------------------------------------

    def make_recomputable_prediction(
        self, loaded: Checkpoint, encoding: Encoding, pair: str | None, mask: int
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
            logits_BP2 = loaded.model.span(hidden_BPH)
            return logits_BP2[:, start_S, 0] + logits_BP2[:, end_S, 1]

        def find_text(candidate: int) -> str:
            """Return the text of a candidate, given by its index."""
            if candidate == len(spans):
                return NO_ANSWER
            first, last = spans[candidate]
            return pair[encoding.offsets[first][0] : encoding.offsets[last][1]]

        return RecomputablePrediction(self.name, encoding, positions, compute_logits, find_text)
