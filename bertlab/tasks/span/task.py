"""Spans: the answer to a question as a span of a passage (Devlin et al. 2019, sections 4.2 and 4.3).

Shape legend: B batch, T tokens, W windows, S spans, P tokens of the passage, H hidden, C candidates.
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
from bertlab.config.languages import detect_language
from bertlab.config.tasks import TaskSpec, span_task
from bertlab.nn.bert import Bert
from bertlab.tasks.error_analysis import AnalysisRows, ScoredRow, TaskAnalysis
from bertlab.tasks.labelled_task import choose_split
from bertlab.tasks.loss import Loss
from bertlab.tasks.probe import Probe
from bertlab.tasks.span.answer import answer_questions
from bertlab.tasks.span.error_analysis import analyse_questions
from bertlab.tasks.span.metrics import script_of, squad, squad_with_threshold
from bertlab.tasks.span.squad import is_labelled, keep_labelled, read_predictions, read_rows, read_scores
from bertlab.tasks.span.unanswerable import add_unanswerable
from bertlab.tasks.span.windows import SpanFeatures, keep_answer_in_place, span_features
from bertlab.tasks.task_type import EvaluationOptions, FinetuneTaskType
from bertlab.tasks.training_data import TrainingData, TrainingOptions, checksum
from bertlab.text.batch import SpanBatch, collate
from bertlab.text.batches import ShuffledSampler
from bertlab.text.readers.data_file import Limits
from bertlab.text.readers.invalid_rows import InvalidRows
from bertlab.text.readers.rows import choose_evenly
from bertlab.text.readers.splits import find_split, has_split, split_name
from bertlab.text.tokenizers.wordpiece import Encoding, Tokenizer

MAX_ANSWER_TOKENS = 30  # as in run_squad.py
NO_ANSWER = ""


@dataclass(frozen=True)
class Questions(Sequence):
    """Rows with the columns of SQuAD; see `tasks.span.squad`."""

    name: str
    """Where they come from, for messages."""
    spec: TaskSpec
    """The task, with a language to compare answers in."""
    rows: list[dict]
    """The questions."""
    labelled: bool
    """Whether answers can be scored on them."""

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, row):
        return self.rows[row]

    def of(self, rows: Sequence[int]) -> "Questions":
        """Only these rows."""
        return replace(self, rows=[self.rows[row] for row in rows])


@dataclass(frozen=True)
class SpanPredictions:
    """Answers to questions, by id."""

    answers: dict[str, str]
    """The best span of each question."""
    no_answer: dict[str, float] | None
    """A score of "no answer" for each question; from a model, its margin over the best span."""
    threshold: float | None
    """tau: a higher score means "no answer". None: tune it on these rows, or, for answers from a file, apply none."""
    from_model: bool = True
    """Whether a model made them, rather than a file."""


def span_loss(model: nn.Module, batch: SpanBatch) -> Loss:
    """Mean of the start and end cross-entropies; padding cannot be chosen."""
    inputs = batch.inputs
    logits_BT2 = model.span(model(inputs).hidden_BTH).float()
    logits_BT2 = logits_BT2.masked_fill(~inputs.attention_mask_BT[..., None], float("-inf"))
    start = F.cross_entropy(logits_BT2[..., 0], batch.start_B)
    end = F.cross_entropy(logits_BT2[..., 1], batch.end_B)
    with torch.no_grad():
        predicted_B2 = logits_BT2.argmax(1)
        hits = ((predicted_B2[:, 0] == batch.start_B) & (predicted_B2[:, 1] == batch.end_B)).float().mean()
    return Loss((start + end) / 2, {"exact": hits}, inputs.attention_mask_BT.sum())


def span_batches(
    features: SpanFeatures, pad_id: int, batch_size: int, seed: int, share: tuple[int, int] = (0, 1)
) -> ShuffledSampler:
    """Endless shuffled batches of windows and the places of their answers."""
    windows = features.windows

    def make(rows: np.ndarray) -> SpanBatch:
        inputs = collate([windows[int(w)] for w in rows], pad_id)
        return SpanBatch(inputs, torch.from_numpy(features.start_W[rows]), torch.from_numpy(features.end_W[rows]))

    return ShuffledSampler(len(windows), batch_size, seed, make, share)


def with_language(spec: TaskSpec, rows: Sequence[Mapping]) -> TaskSpec:
    """The task with a language to compare answers in: its own or, where it has none, that of the questions."""
    return spec if spec.language else spec.replace(language=detect_language([row["question"] for row in rows]))


def answer_metrics(
    model: nn.Module,
    tokenizer: Tokenizer,
    rows: Sequence[dict],
    spec: TaskSpec,
    threshold: float | None = None,
    **options,
) -> dict:
    """The task's metrics of a model's answers; where questions may lack an answer, with tau tuned on these rows.

    Args:
        threshold: tau; None tunes it.
        options: as for `answer_questions`.
    """
    return squad_with_threshold(
        *_by_id(rows, answer_questions(model, tokenizer, rows, **options)), rows, spec, threshold
    )


def _by_id(rows: Sequence[dict], decoded: Sequence) -> tuple[dict[str, str], dict[str, float]]:
    """The best answers and the no-answer margins, by id."""
    ids = [row["id"] for row in rows]
    answers = {id: spans.text for id, spans in zip(ids, decoded, strict=True)}
    return answers, {id: spans.no_answer_margin for id, spans in zip(ids, decoded, strict=True)}


class SpanTask(FinetuneTaskType):
    """The answer to a question as a span of a passage."""

    name = "span"
    aliases = ("question", "answer")
    head = "span"
    command = "answer"
    page = "question"
    can_probe = True
    probe_reads_pair = True
    probe_covers_all_candidates = True
    metrics = ("f1", "exact_match")
    max_tokens = 384
    reads_windows = True
    epochs = 2.0
    progress_metric = ("exact", "exact")
    column_flags = ("text_column", "pair_column")
    required_flags = ()
    scores_no_answer = True
    count_name = "questions"
    json_suffix = ".json"  # SQuAD's own form is one value over many lines
    fixed_columns = True
    loss = staticmethod(span_loss)

    def default_spec(self) -> TaskSpec:
        return span_task("", "", "")

    def change_columns(self, spec: TaskSpec, text: str | None, pair: str | None, choices: Sequence[str]) -> TaskSpec:
        return spec.replace(text=(text or spec.text[0], pair or spec.text[1]))

    def recorded_settings(self, spec: TaskSpec, options: TrainingOptions) -> dict:
        return {"stride": options.stride}

    # -- training --------------------------------------------------------------------------------------------------

    def read_training_data(self, spec: TaskSpec, loaded: Checkpoint, options: TrainingOptions) -> TrainingData:
        """A row whose answer is not at its place is reported as invalid."""
        source, invalid_rows = options.data or spec.hub_id, InvalidRows(options.invalid)
        rows = read_rows(source, "train", invalid_rows, spec, training=True)
        spec = with_language(spec, rows)
        if options.make_unanswerable is not None:
            # questions made from an answer need its place to be right
            rows, _ = keep_answer_in_place(rows, spec.unanswerable, invalid_rows)
            rows = add_unanswerable(rows, options.make_unanswerable, options.seed)
        validation = options.validation
        if validation is None and (options.data is None or has_split(options.data, "validation")):
            validation = source
        held_out = read_rows(validation, "validation", invalid_rows, spec) if validation else []
        if held_out:
            held_out = keep_labelled(held_out, validation, spec.unanswerable, invalid_rows)
        features = span_features(
            loaded.tokenizer, rows, options.max_tokens, options.stride, unanswerable=spec.unanswerable,
            invalid_rows=invalid_rows,
        )  # fmt: skip
        if not len(features):
            raise DataError("no-row-to-learn")

        def measure(model: Bert, limit: int | None, progress: Callable) -> dict:
            all_rows = limit is None or limit >= len(held_out)
            own = held_out if all_rows else [held_out[i] for i in choose_evenly(len(held_out), limit)]
            return answer_metrics(
                model, loaded.tokenizer, own, spec, max_tokens=options.max_tokens, stride=options.stride,
                progress=progress,
            )  # fmt: skip

        def batches(batch_size: int, seed: int, share: tuple[int, int]) -> ShuffledSampler:
            return span_batches(features, loaded.tokenizer.pad_id, batch_size, seed, share)

        facts = {"examples": len(rows), "skipped": len(invalid_rows)}
        if held_out:
            facts["measured_on"] = [Path(str(validation)).name]
        inputs = features.windows
        digest = checksum(
            (inputs.question_ids.flat, inputs.question_ids.start, inputs.passage_ids.flat, features.start_W,
             features.end_W)
        )  # fmt: skip
        return TrainingData(self, spec, loaded, (), batches, measure if held_out else None, facts, options, digest)

    # -- evaluation ------------------------------------------------------------------------------------------------

    def read_split(
        self, spec: TaskSpec, split: str, loaded: Checkpoint | None, options: EvaluationOptions
    ) -> Questions:
        invalid_rows = InvalidRows(options.invalid)
        rows = read_rows(options.source, split, invalid_rows, spec)
        spec = with_language(spec, rows)
        labelled = is_labelled(rows, spec.unanswerable)
        if labelled:
            rows = keep_labelled(rows, options.source, spec.unanswerable, invalid_rows)
        return Questions(options.source, spec, rows[: options.limit], labelled)

    def predict(
        self, loaded: Checkpoint, examples: Questions, options: EvaluationOptions, progress: Callable
    ) -> SpanPredictions:
        decoded = answer_questions(
            loaded.model, loaded.tokenizer, examples.rows,
            max_tokens=options.max_tokens or loaded.max_tokens_for(self.max_tokens), stride=loaded.stride,
            progress=progress,
        )  # fmt: skip
        threshold = options.threshold
        if threshold is None and not (options.tune_threshold and examples.labelled):
            threshold = loaded.null_threshold or 0.0
        return SpanPredictions(*_by_id(examples.rows, decoded), threshold)

    def read_predictions(self, path: Path, examples: Questions, options: EvaluationOptions) -> SpanPredictions:
        scores = read_scores(options.no_answer) if options.no_answer else None
        return SpanPredictions(read_predictions(path), scores, options.threshold, from_model=False)

    def write_predictions(
        self, out: Path, split: str, number_of_splits: int, examples: Questions, predictions: SpanPredictions, options
    ) -> None:
        threshold = predictions.threshold
        if threshold is None and predictions.from_model and examples.labelled:
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
        """SQuAD's metrics, see `span.metrics.squad`; only the number of questions where there are no answers."""
        spec, rows = examples.spec, examples.rows
        if not predictions.from_model:
            version = "2.0" if spec.unanswerable else "1.1"
            return squad(
                predictions.answers, rows, version, predictions.no_answer, predictions.threshold, script_of(spec)
            )
        return squad_with_threshold(predictions.answers, predictions.no_answer, rows, spec, predictions.threshold)

    # -- error analysis --------------------------------------------------------------------------------------------

    def read_analysis_rows(
        self, source: str | Path, split: str, spec: TaskSpec, limits: Limits | None = None
    ) -> AnalysisRows:
        split = choose_split(source, split, spec)
        invalid_rows = InvalidRows("skip", max_printed=0)
        questions = read_rows(source, split, invalid_rows, spec, limits=limits)
        name = split_name(source, split, find_split(source, split))
        columns = ("id", "question", "context", "answers")
        return AnalysisRows(name, columns, questions, invalid_rows=tuple(invalid_rows.errors))

    def read_analysis_examples(
        self, rows: AnalysisRows, spec: TaskSpec, loaded: Checkpoint, invalid_rows: InvalidRows
    ) -> Questions:
        spec = with_language(spec, rows.rows)
        # which answers are missing decides how they are scored; see `analyse`
        return Questions(rows.name, spec, list(rows.rows), is_labelled(rows.rows, unanswerable=True))

    def analyse(self, loaded: Checkpoint, examples: Questions, progress: Callable) -> TaskAnalysis:
        return analyse_questions(loaded, examples.rows, examples.spec, self.max_tokens, progress)

    def attention_texts(self, row: ScoredRow, joint: str, predict: Callable) -> tuple[str, str]:
        # of a long passage, the window that the answer was found in
        question, passage = row.texts
        answers = predict(question, passage)
        start, end = answers.windows[answers.best_window]
        return question, passage[start:end]

    # -- one prediction to watch -----------------------------------------------------------------------------------

    def probe(self, model: Bert, tokenizer: Tokenizer, encoding: Encoding, pair: str | None, mask: int) -> Probe:
        """Every span of at most 30 tokens of the passage and, last, no answer; each scored S.T_i + E.T_j."""
        passage = [
            position
            for position, (segment, special) in enumerate(zip(encoding.token_type_ids, encoding.special, strict=True))
            if segment == 1 and not special
        ]
        spans = [(first, last) for at, first in enumerate(passage) for last in passage[at : at + MAX_ANSWER_TOKENS]]
        read = (0, *passage)
        place_of = {position: place for place, position in enumerate(read)}
        start_S, end_S = torch.tensor([(place_of[first], place_of[last]) for first, last in [*spans, (0, 0)]]).T

        def logits(hidden_BPH: torch.Tensor) -> torch.Tensor:
            logits_BP2 = model.span(hidden_BPH)
            return logits_BP2[:, start_S, 0] + logits_BP2[:, end_S, 1]

        def label(candidate: int) -> str:
            if candidate == len(spans):
                return NO_ANSWER
            first, last = spans[candidate]
            return pair[encoding.offsets[first][0] : encoding.offsets[last][1]]

        return Probe(self.name, encoding, read, logits, label)
