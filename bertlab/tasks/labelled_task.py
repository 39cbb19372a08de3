"""The base class of task types with one target per row: all types for fine-tuning except question answering.

Shape legend: I inputs.
"""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar

import numpy as np
import torch

from bertlab.checkpoints.checkpoint import Checkpoint
from bertlab.config.errors import BertlabError
from bertlab.config.tasks import TaskSpec
from bertlab.nn.bert import Bert
from bertlab.tasks import prediction_files
from bertlab.tasks.error_analysis import ConfusionMatrix, ScoredRow, TaskAnalysis
from bertlab.tasks.examples import Example, Examples, hold_out
from bertlab.tasks.features import Features, tokenise_texts
from bertlab.tasks.inference import find_device, inference
from bertlab.tasks.labelled_rows import LabelledRowReader
from bertlab.tasks.metrics import LABEL_METRICS, prefix_metrics
from bertlab.tasks.splits import find_held_out_splits
from bertlab.tasks.task_type import EvaluationOptions
from bertlab.tasks.training_data import HELD_OUT_OF_TRAINING, TrainingData, TrainingOptions, checksum
from bertlab.text.batch import Batch
from bertlab.text.batches import score
from bertlab.text.readers.invalid_rows import InvalidRows
from bertlab.text.readers.rows import choose_evenly
from bertlab.text.readers.splits import available_splits, read_split

ANALYSIS_BATCH_SIZE = 16  # inputs in a batch; few, so that the progress bar of an error analysis is updated often


class LabelledTaskType(LabelledRowReader):
    """A task type whose rows are `Examples` and whose inputs are `Features`."""

    table_suffix: ClassVar[str] = "tsv"
    """The suffix of a prediction file, without the dot."""

    # -- methods that subclasses override: features and predictions ------------------------------------------------

    def make_features(self, tokenizer, examples: Examples, max_tokens: int) -> Features:
        """Tokenise examples; inputs longer than `max_tokens` are truncated.

        Raises:
            TextError: `max_tokens` is too small.
        """
        texts_a = [row.texts[0] for row in examples]
        texts_b = [row.texts[1] for row in examples] if len(examples[0].texts) > 1 else []
        return tokenise_texts(tokenizer, examples, texts_a, texts_b, max_tokens)

    @abstractmethod
    def compute_scores(self, model: Bert, batch: Batch) -> torch.Tensor:
        """Compute the scores of the output layer for each input, in the form that `decode` expects."""

    @abstractmethod
    def decode(self, features: Features, scores_I: Sequence[np.ndarray]) -> list:
        """Convert the scores of every input to one distribution, value or list of tags for each example."""

    def choose_predictions(self, outputs: Sequence) -> list:
        """Choose the prediction of each example from the outputs of `decode`.

        Returns:
            For each example the index of a label or choice, a value, or the names of its tags.
        """
        return [int(np.argmax(probabilities)) for probabilities in outputs]

    def compute_raw_metrics(self, examples: Examples, predictions: Sequence) -> dict[str, float]:
        """Compute the task's metrics as fractions, before `compute_metrics` converts them to percent."""
        labels = examples.spec.labels
        gold, predicted = np.array([row.target for row in examples]), np.array(predictions)
        if labels:
            # F1 is computed for label 1 in the order of the task; the checkpoint may have another order
            task_index = np.array([labels.index(name) if name in labels else len(labels) for name in examples.labels])
            gold, predicted = task_index[gold], task_index[predicted]
        return {name: LABEL_METRICS[name](gold, predicted) for name in examples.spec.metrics}

    @abstractmethod
    def score_examples(
        self, loaded: Checkpoint, features: Features, progress: Callable
    ) -> tuple[list, list[ScoredRow], ConfusionMatrix]:
        """Predict all examples; return the predictions, a scored row for each, and the confusion matrix (or None)."""

    def collect_extra_facts(self, features: Features) -> dict:
        """Return further properties of the training rows that `bertlab.json` records, such as the range of the values.

        The caller adds these properties to `TrainingData.facts`, which also contains the numbers of rows.
        """
        return {}

    # -- methods that subclasses override: prediction files --------------------------------------------------------

    @abstractmethod
    def format_prediction(self, examples: Examples, row: Example, prediction) -> str:
        """Format a prediction as a cell of a prediction file."""

    @abstractmethod
    def parse_prediction(self, cell: str, examples: Examples):
        """Read a prediction from a cell of a prediction file.

        Raises:
            ValueError, IndexError: the cell contains no valid prediction.
        """

    # -- training --------------------------------------------------------------------------------------------------

    def read_training_data(self, spec: TaskSpec, loaded: Checkpoint, options: TrainingOptions) -> TrainingData:
        source, invalid_rows = options.data or spec.hub_id, InvalidRows(options.invalid)
        train = self.read_examples(
            read_split(source, "train", invalid_rows=invalid_rows), spec, (), invalid_rows, training=True
        )
        held_out: dict[str, Examples] = {}
        for split in find_held_out_splits(spec, options.data, options.validation):
            rows = read_split(options.validation or source, split, invalid_rows=invalid_rows)
            held_out[split] = self.read_examples(rows, spec, train.labels, invalid_rows)
        if not held_out and options.hold_out:
            order = np.random.default_rng(options.seed).permutation
            train, held_out[HELD_OUT_OF_TRAINING] = hold_out(train, options.hold_out, order)
        for examples in held_out.values():
            if not examples.is_labelled:
                raise BertlabError("held-out-rows-without-labels", name=examples.name)
        features = self.make_features(loaded.tokenizer, train, options.max_tokens)
        held_out_features = {
            split: self.make_features(loaded.tokenizer, examples, options.max_tokens)
            for split, examples in held_out.items()
        }

        def measure(model: Bert, limit: int | None, progress: Callable) -> dict:
            """Compute the metrics of all held-out splits, each on at most `limit` examples."""
            metrics: dict = {}
            for index, (split, split_features) in enumerate(held_out_features.items()):
                examples = split_features.examples
                if limit is not None and limit < len(examples):
                    examples = examples.select(choose_evenly(len(examples), limit))
                    split_features = self.make_features(loaded.tokenizer, examples, options.max_tokens)
                predictions = self.choose_predictions(self.compute_outputs(model, split_features, progress=progress))
                metrics |= prefix_metrics(self.compute_metrics(examples, predictions), split, is_first=index == 0)
            return metrics

        facts = {"examples": len(train), "skipped": len(invalid_rows), "held_out": sum(map(len, held_out.values()))}
        if held_out:
            source_name = Path(str(options.validation or source)).name
            facts["measured_on"] = [HELD_OUT_OF_TRAINING if HELD_OUT_OF_TRAINING in held_out else source_name]
        targets = np.array(str([row.target for row in train]).encode())  # as bytes, for the checksum
        return TrainingData(
            self, train.spec, loaded, train.labels if self.uses_labels else (), features.make_batches,
            measure if held_out else None, facts | self.collect_extra_facts(features), options,
            checksum((features.ids.flat, features.ids.start, targets)),
        )  # fmt: skip

    # -- prediction and metrics ------------------------------------------------------------------------------------

    def compute_outputs(self, model: Bert, features: Features, batch_size: int = 64, progress: Callable = iter) -> list:
        """Compute the output of the model for every example, in order, in the form that `decode` returns.

        Args:
            model: the model.
            features: the inputs of the examples.
            batch_size: the number of inputs in a batch.
            progress: wraps the iterable of batches, as `tqdm` does.

        Raises:
            MissingHead: the model lacks the output layer.
        """
        model.require_head(self.head)
        device = find_device(model)
        with inference(model):
            scores_I = score(
                features,
                lambda batch: self.compute_scores(model, batch.to(device)),
                features.pad_id,
                batch_size,
                progress,
            )
        return self.decode(features, scores_I)

    def list_evaluation_splits(self, spec: TaskSpec, options: EvaluationOptions) -> Sequence[str]:
        if options.split == "test" and not spec.test:
            raise BertlabError("task-without-test-split", task=options.task)
        splits = {"validation": spec.validation, "test": spec.test}.get(options.split, (options.split,))
        # some tasks have two validation splits, of which the user's directory may contain only one
        return (
            (available_splits(options.source, splits, options.split) or splits[:1]) if options.is_user_data else splits
        )

    def read_split(self, spec: TaskSpec, split: str, loaded: Checkpoint | None, options: EvaluationOptions) -> Examples:
        labels = self.match_labels(spec, loaded.config.labels) if loaded else spec.labels
        invalid_rows = InvalidRows(options.invalid)
        rows = read_split(options.source, split, invalid_rows=invalid_rows)
        if options.limit:
            rows = rows.first(options.limit)
        return self.read_examples(rows, spec, labels, invalid_rows)

    def make_inputs(self, loaded: Checkpoint, examples: Examples, max_tokens: int | None) -> Features:
        max_tokens = max_tokens or loaded.max_tokens_for(self.max_tokens)
        return self.make_features(loaded.tokenizer, examples, min(max_tokens, loaded.config.max_tokens))

    def predict(self, loaded: Checkpoint, examples: Examples, options: EvaluationOptions, progress: Callable) -> list:
        features = self.make_inputs(loaded, examples, options.max_tokens)
        return self.choose_predictions(self.compute_outputs(loaded.model, features, progress=progress))

    def read_predictions(self, path: Path, examples: Examples, options: EvaluationOptions) -> list:
        return prediction_files.read_table(path, examples, self.parse_prediction)

    def write_predictions(
        self, out: Path, split: str, number_of_splits: int, examples: Examples, predictions: list, options
    ) -> None:
        spec = examples.spec
        # all splits of the same kind (validation or test), in the order of their file names in `spec.submission`
        split_group = next((names for names in (spec.test, spec.validation) if split in names), (split,))
        default_name = f"{options.task}.{self.table_suffix}"
        path = prediction_files.choose_path(
            out, options.task, default_name, spec, split_group.index(split), number_of_splits
        )
        self.write_file(path, examples, predictions)

    def write_file(self, path: Path, examples: Examples, predictions: list) -> None:
        """Write one prediction file."""
        prediction_files.write_table(path, examples, predictions, self.format_prediction)

    def compute_metrics(self, examples: Examples, predictions: Sequence) -> dict:
        """Compute the task's metrics in percent, as leaderboards show them, and count the examples.

        A correlation that is undefined, because all labels or all predictions are equal, counts as 0.

        Raises:
            BertlabError: the examples have no labels.
        """
        if not examples.is_labelled:
            raise BertlabError("rows-without-labels", name=examples.name)
        fractions = self.compute_raw_metrics(examples, predictions)
        metrics = {name: 100 * float(np.nan_to_num(fractions[name])) for name in examples.spec.metrics}
        return metrics | {"examples": len(examples)}

    # -- error analysis --------------------------------------------------------------------------------------------

    def analyse(self, loaded: Checkpoint, examples: Examples, progress: Callable) -> TaskAnalysis:
        features = self.make_inputs(loaded, examples, None)
        predictions, scored_rows, confusion = self.score_examples(loaded, features, progress)
        return TaskAnalysis(self.compute_metrics(examples, predictions), scored_rows, confusion)
