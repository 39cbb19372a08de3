"""The base class of task types with one target for each row: classification, regression, multiple choice and tagging.

Shape legend: I inputs, T tokens, K labels.
"""

from abc import abstractmethod
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import numpy as np
import torch

from bertlab.checkpoints.checkpoint import Checkpoint
from bertlab.config.errors import BertlabError, DataError
from bertlab.config.tasks import TaskSpec
from bertlab.nn.bert import Bert
from bertlab.tasks import prediction_files
from bertlab.tasks.error_analysis import AnalysisRows, ConfusionMatrix, ScoredRow, TaskAnalysis
from bertlab.tasks.examples import Example, Examples, hold_out, read_text
from bertlab.tasks.features import Features, text_features
from bertlab.tasks.inference import device_of, inference
from bertlab.tasks.metrics import LABEL_METRICS
from bertlab.tasks.task_type import EvaluationOptions, FinetuneTaskType
from bertlab.tasks.training_data import HELD_OUT_OF_TRAINING, TrainingData, TrainingOptions, checksum
from bertlab.text.batch import Batch
from bertlab.text.batches import score
from bertlab.text.readers.data_file import Limits
from bertlab.text.readers.invalid_rows import InvalidRows, invalid_row
from bertlab.text.readers.rows import Rows, choose_evenly, is_blank, row_id, value_of
from bertlab.text.readers.splits import available_splits, find_split, has_split, read_split

ANALYSIS_BATCH = 16  # rows between two steps of a progress bar


class LabelledTaskType(FinetuneTaskType):
    """A task type whose rows are `Examples` and whose inputs are `Features`."""

    table_suffix: ClassVar[str] = "tsv"
    """The suffix of a file of predictions."""

    # -- hooks: contents of a row -----------------------------------------------------------------------------------

    def read_texts(self, row: dict, spec: TaskSpec) -> tuple[str, ...]:
        """The texts of a row. Raises DataError."""
        return tuple(read_text(row, column) for column in spec.text)

    def check_texts(self, texts: tuple[str, ...], first: tuple[str, ...]) -> None:
        """Refuse texts that cannot be used.

        Args:
            first: the texts of the first usable row.

        Raises:
            DataError: they are empty.
        """
        if not any(text.strip() for text in texts):
            raise DataError("row-empty")

    @abstractmethod
    def read_target(self, cell: object, labels: tuple[str, ...], numbered: tuple[str, ...], texts: tuple[str, ...]):
        """The target in a cell.

        Args:
            labels: the names that a target numbers.
            numbered: the names that a number in the cell refers to.
            texts: of the row.

        Raises:
            DataError: it is no target of this type.
        """

    def find_labels(self, data: Rows, spec: TaskSpec, column: str | None, cells: list) -> tuple[str, ...]:
        """The labels that the task, the source or the column's cells say there are."""
        return spec.labels

    def settle_spec(self, spec: TaskSpec, labels: tuple[str, ...]) -> TaskSpec:
        """The task once its labels are known."""
        return spec

    def different_targets(self, examples: Examples) -> set:
        """The distinct targets of the examples."""
        return {row.target for row in examples}

    def target_name(self, examples: Examples, target: int | float) -> object:
        """The form in which a message shows a target."""
        return target

    def needs_variety(self, examples: Examples) -> bool:
        """Whether training rows that all have the same target are refused."""
        return True

    # -- hooks: features and predictions ----------------------------------------------------------------------------

    def make_features(self, tokenizer, examples: Examples, max_tokens: int) -> Features:
        """Tokenise examples; inputs over `max_tokens` are truncated. Raises TextError."""
        seconds = [row.texts[1] for row in examples] if len(examples[0].texts) > 1 else []
        return text_features(tokenizer, examples, [row.texts[0] for row in examples], seconds, max_tokens)

    @abstractmethod
    def scores(self, model: Bert, batch: Batch) -> torch.Tensor:
        """The scores of the output layer for each input, in the form that `decode` takes."""

    @abstractmethod
    def decode(self, features: Features, scores_I: Sequence[np.ndarray]) -> list:
        """Convert the scores of every input to one distribution, value or list of tags for each example."""

    def best(self, outputs: Sequence) -> list:
        """The predictions, in the form of a target: the number of the best label, a value, or the tags."""
        return [int(np.argmax(probabilities)) for probabilities in outputs]

    def raw_metrics(self, examples: Examples, predictions: Sequence) -> dict[str, float]:
        """The task's metrics as fractions."""
        labels, gold, predicted = examples.spec.labels, *map(np.array, ([r.target for r in examples], predictions))
        if labels:  # F1 is of the task's label 1, whatever its place among the checkpoint's
            place = np.array([labels.index(name) if name in labels else len(labels) for name in examples.labels])
            gold, predicted = place[gold], place[predicted]
        return {name: LABEL_METRICS[name](gold, predicted) for name in examples.spec.metrics}

    @abstractmethod
    def score_examples(
        self, loaded: Checkpoint, features: Features, progress: Callable
    ) -> tuple[list, list[ScoredRow], ConfusionMatrix]:
        """Predict all examples; return the predictions, a scored row for each, and the confusion matrix."""

    def extra_facts(self, examples: Examples) -> dict:
        """Facts about the training rows that `bertlab.json` records beside their number."""
        return {}

    # -- hooks: files of predictions -------------------------------------------------------------------------------

    @abstractmethod
    def prediction_cell(self, examples: Examples, row: Example, prediction) -> str:
        """A prediction as a benchmark's table has it."""

    @abstractmethod
    def parse_prediction(self, cell: str, examples: Examples):
        """A cell of such a table as a prediction. Raises ValueError or IndexError."""

    # -- reading ---------------------------------------------------------------------------------------------------

    def read_examples(
        self,
        data: Rows,
        spec: TaskSpec,
        labels: tuple[str, ...] = (),
        invalid_rows: InvalidRows | None = None,
        training: bool = False,
    ) -> Examples:
        """The examples of a data set.

        Args:
            labels: the names that targets number, such as a checkpoint's own labels; without any, the task's, or the
                source's, or all that occur.
            invalid_rows: receives the rows that cannot be used; without it the first one raises.
            training: whether every row needs a label, and more than one label is needed.

        Raises:
            DataError: a column is missing, a row is invalid, no row is left, or there is nothing to learn.
        """
        invalid_rows = InvalidRows() if invalid_rows is None else invalid_rows
        data.require_columns((*spec.text, *([spec.start] if spec.start else [])))
        column = data.find_label_column(spec.label, training)
        cells = [] if column is None else [value_of(row, column) for row in data.rows]
        has_label = [not is_blank(cell) for cell in cells]
        label_cells = [cell for cell, present in zip(cells, has_label, strict=True) if present]
        if "-1" not in labels and all(_is_secret(cell) for cell in label_cells):
            label_cells, has_label = [], [False] * len(cells)
        labels = labels or self.find_labels(data, spec, column, label_cells)
        spec = self.settle_spec(spec, labels)
        if not any(has_label):
            column = None
        if column is None and training:
            raise DataError("training-rows-without-labels", name=data.name)
        rows = self._read_rows(data, spec, labels, column, has_label, invalid_rows)
        if not rows:
            raise DataError("no-usable-row", name=data.name, count=len(data))
        examples = Examples(data.name, spec, labels, tuple(rows))
        if training:
            self._check_variety(examples)
        return examples

    def _read_rows(
        self, data: Rows, spec: TaskSpec, labels: tuple, column: str | None, has_label: list, invalid_rows: InvalidRows
    ) -> list[Example]:
        rows: list[Example] = []
        numbers: dict[str, int] = {}
        numbered = (data.names.get(column) or spec.labels) if column is not None else ()
        for place, (number, row) in enumerate(data.number_rows()):
            id = None
            try:
                id = row_id(row, spec.id, number)
                texts = self.read_texts(row, spec)
                self.check_texts(texts, rows[0].texts if rows else texts)
                target = None
                if column is not None:
                    if not has_label[place]:
                        raise DataError("row-without-label", column=repr(column))
                    target = self.read_target(value_of(row, column), labels, numbered, texts)
                if spec.id in row and numbers.setdefault(id, number) != number:
                    raise DataError("row-id-repeated", row=numbers[id])
                rows.append(Example(id, texts, target))
            except DataError as error:
                invalid_rows.report(invalid_row(data.name, number, error, id if spec.id in row else None))
        return rows

    def _check_variety(self, examples: Examples) -> None:
        targets = self.different_targets(examples)
        if len(targets) > 1 or not self.needs_variety(examples):
            return
        (only,) = targets
        raise DataError("one-label-only", name=examples.name, label=repr(self.target_name(examples, only)))

    # -- training --------------------------------------------------------------------------------------------------

    def read_training_data(self, spec: TaskSpec, loaded: Checkpoint, options: TrainingOptions) -> TrainingData:
        source, invalid_rows = options.data or spec.hub_id, InvalidRows(options.invalid)
        train = self.read_examples(
            read_split(source, "train", invalid_rows=invalid_rows), spec, (), invalid_rows, training=True
        )
        parts: dict[str, Examples] = {}
        for split in _held_out_splits(spec, options.data, options.validation):
            rows = read_split(options.validation or source, split, invalid_rows=invalid_rows)
            parts[split] = self.read_examples(rows, spec, train.labels, invalid_rows)
        if not parts and options.hold_out:
            order = np.random.default_rng(options.seed).permutation
            train, parts[HELD_OUT_OF_TRAINING] = hold_out(train, options.hold_out, order)
        for examples in parts.values():
            if not examples.labelled:
                raise BertlabError("held-out-rows-without-labels", name=examples.name)
        features = self.make_features(loaded.tokenizer, train, options.max_tokens)
        held_out = {
            split: self.make_features(loaded.tokenizer, rows, options.max_tokens) for split, rows in parts.items()
        }

        def measure(model: Bert, limit: int | None, progress: Callable) -> dict:
            metrics: dict = {}
            for number, (split, whole) in enumerate(held_out.items()):
                part = whole
                if limit is not None and limit < len(whole.examples):
                    sample = whole.examples.of(choose_evenly(len(whole.examples), limit))
                    part = self.make_features(loaded.tokenizer, sample, options.max_tokens)
                predictions = self.best(self.outputs(model, part, progress=progress))
                metrics |= name_metrics(self.compute_metrics(part.examples, predictions), split, first=not number)
            return metrics

        facts = {"examples": len(train), "skipped": len(invalid_rows), "held_out": sum(map(len, parts.values()))}
        if parts:
            drawn = HELD_OUT_OF_TRAINING in parts
            facts["measured_on"] = [HELD_OUT_OF_TRAINING if drawn else Path(str(options.validation or source)).name]
        targets = np.array(str([row.target for row in train]).encode())
        return TrainingData(
            self, train.spec, loaded, train.labels if self.uses_labels else (), features.batches,
            measure if parts else None, facts | self.extra_facts(train), options,
            checksum((features.ids.flat, features.ids.start, targets)),
        )  # fmt: skip

    # -- predicting and measuring ----------------------------------------------------------------------------------

    def outputs(self, model: Bert, features: Features, batch_size: int = 64, progress: Callable = iter) -> list:
        """Predict every example, in order, in the form that `decode` returns.

        Args:
            progress: wraps the parts that the inputs are taken in (say, `tqdm`).

        Raises:
            MissingHead: the model lacks the output layer.
        """
        model.head(self.head)
        device = device_of(model)
        with inference(model):
            scores_I = score(
                features, lambda batch: self.scores(model, batch.to(device)), features.pad_id, batch_size, progress
            )
        return self.decode(features, scores_I)

    def evaluation_splits(self, spec: TaskSpec, options: EvaluationOptions) -> Sequence[str]:
        if options.split == "test" and not spec.test:
            raise BertlabError("task-without-test-split", task=options.task)
        splits = {"validation": spec.validation, "test": spec.test}.get(options.split, (options.split,))
        # a directory may have only one of two validation sets
        return (available_splits(options.source, splits, options.split) or splits[:1]) if options.local else splits

    def read_split(self, spec: TaskSpec, split: str, loaded: Checkpoint | None, options: EvaluationOptions) -> Examples:
        labels = self.match_labels(spec, loaded.config.labels) if loaded else spec.labels
        invalid_rows = InvalidRows(options.invalid)
        rows = read_split(options.source, split, invalid_rows=invalid_rows)
        if options.limit:
            rows = replace(rows, rows=rows.rows[: options.limit])
        return self.read_examples(rows, spec, labels, invalid_rows)

    def predict(self, loaded: Checkpoint, examples: Examples, options: EvaluationOptions, progress: Callable) -> list:
        max_tokens = options.max_tokens or loaded.max_tokens_for(self.max_tokens)
        features = self.make_features(loaded.tokenizer, examples, min(max_tokens, loaded.model.config.max_positions))
        return self.best(self.outputs(loaded.model, features, progress=progress))

    def read_predictions(self, path: Path, examples: Examples, options: EvaluationOptions) -> list:
        return prediction_files.read_table(path, examples, self.parse_prediction)

    def write_predictions(
        self, out: Path, split: str, number_of_splits: int, examples: Examples, predictions: list, options
    ) -> None:
        spec = examples.spec
        official = next((names for names in (spec.test, spec.validation) if split in names), (split,))
        name = f"{options.task}.{self.table_suffix}"
        path = prediction_files.choose_path(out, options.task, name, spec, official.index(split), number_of_splits)
        self.write_file(path, examples, predictions)

    def write_file(self, path: Path, examples: Examples, predictions: list) -> None:
        """Write one file of predictions."""
        prediction_files.write_table(path, examples, predictions, self.prediction_cell)

    def compute_metrics(self, examples: Examples, predictions: Sequence) -> dict:
        """The task's metrics in percent, as leaderboards show them, and the number of examples.

        A correlation that is undefined, because one side is constant, counts as 0.

        Raises:
            BertlabError: the examples have no labels.
        """
        if not examples.labelled:
            raise BertlabError("rows-without-labels", name=examples.name)
        raw = self.raw_metrics(examples, predictions)
        metrics = {name: 100 * float(np.nan_to_num(raw[name])) for name in examples.spec.metrics}
        return metrics | {"examples": len(examples)}

    def match_labels(self, spec: TaskSpec, own: tuple[str, ...]) -> tuple[str, ...]:
        """A checkpoint's labels as a task spells them, in the checkpoint's order.

        Labels without names ("LABEL_0") are taken to be in the task's order.

        Raises:
            BertlabError: the checkpoint lacks a label of the task.
        """
        if not spec.labels or not self.uses_labels:
            return own
        if len(own) == len(spec.labels) and all(name == f"LABEL_{number}" for number, name in enumerate(own)):
            return spec.labels
        spelled = {name.lower(): name for name in spec.labels}
        if missing := [name for name in spec.labels if name.lower() not in {label.lower() for label in own}]:
            raise BertlabError("checkpoint-lacks-labels", labels=own, missing=missing)
        return tuple(spelled.get(name.lower(), name) for name in own)

    # -- error analysis --------------------------------------------------------------------------------------------

    def read_analysis_rows(
        self, source: str | Path, split: str, spec: TaskSpec, limits: Limits | None = None
    ) -> AnalysisRows:
        split = choose_split(source, split, spec)
        rows = read_split(source, split, limits)
        return AnalysisRows(rows.name, rows.columns, rows.rows, rows.names)

    def read_analysis_examples(
        self, rows: AnalysisRows, spec: TaskSpec, loaded: Checkpoint, invalid_rows: InvalidRows
    ) -> Examples:
        labels = self.match_labels(spec, loaded.config.labels)
        spec = spec if spec.labels else spec.replace(labels=labels)
        return self.read_examples(rows, spec, labels if self.uses_labels else (), invalid_rows)

    def analyse(self, loaded: Checkpoint, examples: Examples, progress: Callable) -> TaskAnalysis:
        max_tokens = min(loaded.max_tokens_for(self.max_tokens), loaded.config.max_positions)
        features = self.make_features(loaded.tokenizer, examples, max_tokens)
        predictions, scored_rows, confusion = self.score_examples(loaded, features, progress)
        return TaskAnalysis(self.compute_metrics(examples, predictions), scored_rows, confusion)


def build_confusion_matrix(names: Sequence[str], counts: Sequence[tuple[tuple[int, int], int]]) -> ConfusionMatrix:
    """Build a confusion matrix.

    Args:
        names: the labels, in the order of the matrix's rows and columns.
        counts: ((label, prediction), row index), once for each count.
    """
    cells = defaultdict(list)
    for cell, row in counts:
        cells[cell].append(row)
    return ConfusionMatrix(tuple(names), {cell: tuple(rows) for cell, rows in cells.items()})


def name_metrics(metrics: dict, split: str, first: bool) -> dict:
    """The metrics of one split among several: the first one's as they are, another's with its name in front.

    >>> name_metrics({"accuracy": 71.0}, "validation_mismatched", first=False)
    {'mismatched_accuracy': 71.0}
    """
    return metrics if first else {f"{split.partition('_')[2] or split}_{name}": v for name, v in metrics.items()}


def choose_split(source: str | Path, split: str, spec: TaskSpec) -> str:
    """Find the first split of a kind, such as validation, that a file or directory has.

    Raises:
        DataError: there is none.
    """
    names = {"validation": spec.validation, "test": spec.test}.get(split) or (split,)
    split = next((name for name in names if has_split(source, name)), split)
    if not find_split(source, split):
        raise DataError("rows-not-found", path=source)
    return split


def _held_out_splits(spec: TaskSpec, data: str | None, validation: str | None) -> tuple[str, ...]:
    """The splits to measure on: of --validation, which must have one; else those beside the training rows."""
    if validation:
        return available_splits(validation, spec.validation, "validation") or spec.validation[:1]
    if data is None:
        return spec.validation
    return () if Path(data).is_file() else available_splits(data, spec.validation, "validation")


def _is_secret(value: object) -> bool:
    """Whether a label is -1, which GLUE puts in every row of a test set whose labels are secret."""
    return str(value).strip() in ("-1", "-1.0")
