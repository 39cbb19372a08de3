"""Sentence embedding: one vector for each text; vectors of texts with similar meaning have a large cosine.

There is no output layer: the vector is pooled from the last layer's hidden states. The same model computes the vectors
of both texts of a pair (siamese fine-tuning). The rows determine the loss:

- pairs with a similarity value, such as STS: the cosine is fitted to the value (cosine regression)
- pairs with an inference label (NLI), or without a label: for each entailed pair, the first text should have a larger
  cosine with its own second text than with the second texts of the other pairs in the batch (in-batch negatives). A row
  may also have a text that contradicts the first text, which is a further negative

Source: Reimers and Gurevych 2019 (arXiv 1908.10084), section 3; Henderson et al. 2017 (arXiv 1705.00652), section 4.4.

Shape legend: B pairs (of a batch, or of all examples), C texts of a row (2, or 3 with a contradiction), I inputs,
T tokens, P dimensions of a vector, X candidates among which a text's own second text is to be found.
"""

import copy
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from bertlab.checkpoints.checkpoint import Checkpoint
from bertlab.checkpoints.sentence_settings import SentenceSettings
from bertlab.config.errors import DataError
from bertlab.config.tasks import TaskSpec
from bertlab.nn.bert import Bert
from bertlab.nn.pooling import pool_sentences
from bertlab.tasks.error_analysis import ScoredRow
from bertlab.tasks.examples import Example, Examples, find_label_index, read_label_name, read_text
from bertlab.tasks.features import Features, tokenise_texts
from bertlab.tasks.labelled_task import ANALYSIS_BATCH_SIZE
from bertlab.tasks.loss import Loss
from bertlab.tasks.regression import RegressionTask
from bertlab.tasks.task_type import EvaluationOptions, ProgressMetric
from bertlab.tasks.training_data import TrainingData, TrainingOptions
from bertlab.text.batch import Batch, LabelBatch
from bertlab.text.readers.invalid_rows import InvalidRows
from bertlab.text.readers.rows import Rows

ENTAILMENT, CONTRADICTION = "entailment", "contradiction"  # the names of the inference labels (NLI) that are used
RANKING_SCALE = 20.0  # the factor of the cosines in `ranking_loss` (temperature 1/20), as in `sentence-transformers`
RETRIEVAL_ACCURACY = "retrieval_accuracy"  # the metric of entailed pairs: the mean of the results of `decode`
_ADDED_LABEL = "\0label"  # the name of the label column that is added to rows without one; no file has such a column


class SentenceEmbeddingTask(RegressionTask):
    """One vector for each text, trained on pairs of texts."""

    name = "sentence_embedding"
    aliases = ()
    head = ""
    command = "embed"
    page = "sentences"
    metrics = ("spearman", "pearson")
    progress_metric = ProgressMetric(key="error", label="error")
    column_flags = ("text_column", "pair_column")
    required_flags = ("text_column", "pair_column")
    makes_sentence_vectors = True
    epochs = 4.0

    pooling: tuple[str, ...] = ("mean",)
    """The pooling modes; see `nn.pooling.POOLING_MODES`."""
    value_range: tuple[float, float] | None = None
    """The similarity values that correspond to the cosines 0 and 1; None for the ranking loss."""

    def adapt_to(self, settings: SentenceSettings) -> "SentenceEmbeddingTask":
        """Return this task type with the pooling of a checkpoint."""
        adapted = copy.copy(self)
        adapted.pooling = settings.pooling
        return adapted

    # -- rows -------------------------------------------------------------------------------------------------------

    def find_labels(self, data: Rows, spec: TaskSpec, column: str | None, cells: list) -> tuple[str, ...]:
        """Find the inference labels (NLI); () for similarity values and for pairs without a label."""
        if spec.labels or column is None:
            return spec.labels
        if names := data.label_names.get(column):
            return tuple(names)
        names = sorted({read_label_name(cell) for cell in cells})
        return tuple(names) if ENTAILMENT in names else ()

    def adapt_spec(self, spec: TaskSpec, labels: tuple[str, ...]) -> TaskSpec:
        return spec.replace(labels=labels, metrics=(RETRIEVAL_ACCURACY,)) if labels else spec

    def read_target(self, cell: object, labels, names_by_number, texts) -> float:
        return find_label_index(cell, labels, names_by_number) if labels else super().read_target(cell, (), (), texts)

    def requires_varied_targets(self, examples: Examples) -> bool:
        return not examples.spec.labels  # pairs with labels may all be entailed

    def read_examples(
        self,
        data: Rows,
        spec: TaskSpec,
        labels: tuple[str, ...] = (),
        invalid_rows: InvalidRows | None = None,
        training: bool = False,
    ) -> Examples:
        if spec.labels in ((), (ENTAILMENT,)) and data.find_label_column(spec.label, is_required=False) is None:
            return self._read_unlabelled_pairs(data, spec, invalid_rows)
        examples = super().read_examples(data, spec, labels, invalid_rows, training)
        return _choose_entailed_pairs(examples) if examples.spec.labels and examples.is_labelled else examples

    def _read_unlabelled_pairs(self, data: Rows, spec: TaskSpec, invalid_rows: InvalidRows | None) -> Examples:
        """Read pairs without a label. All of them count as entailed; a third text, if any, contradicts the first.

        The target of an example is a flag that `ranking_loss` reads: 1 if the row has a third text, otherwise 0.
        """
        spec = spec.replace(metrics=(RETRIEVAL_ACCURACY,), labels=(ENTAILMENT,))
        rows = [{**row, _ADDED_LABEL: 0} for row in data.rows]
        labelled_data = replace(data, columns=(*data.columns, _ADDED_LABEL), rows=rows)
        examples = super().read_examples(labelled_data, spec.replace(label=(_ADDED_LABEL,)), (), invalid_rows)
        rows = tuple(replace(row, target=float(len(row.texts) > 2)) for row in examples.rows)
        return replace(examples, spec=spec, rows=rows)

    def read_texts(self, row: dict, spec: TaskSpec) -> tuple[str, ...]:
        texts = tuple(read_text(row, column) for column in spec.text)
        if len(texts) < 2:
            raise DataError("row-needs-pair")
        return texts

    def check_texts(self, texts: tuple[str, ...], first_row_texts: tuple[str, ...]) -> None:
        if not all(text.strip() for text in texts):
            raise DataError("row-empty")

    def collect_extra_facts(self, features: Features) -> dict:
        """Return the range of the similarity values; {} for pairs without them."""
        return {} if features.examples.spec.labels else super().collect_extra_facts(features)

    def make_features(self, tokenizer, examples: Examples, max_tokens: int) -> Features:
        num_texts = max(len(row.texts) for row in examples)
        # In a row without a contradiction, a copy of the second text takes the place of the third text; `ranking_loss`
        # ignores the copy.
        texts = [text for row in examples for text in (*row.texts, *row.texts[-1:] * (num_texts - len(row.texts)))]
        return tokenise_texts(tokenizer, examples, texts, [], max_tokens, num_texts, torch.float32)

    # -- training ---------------------------------------------------------------------------------------------------

    def collect_recorded_settings(self, spec: TaskSpec, options: TrainingOptions) -> dict:
        return {"pooling": "+".join(self.pooling), "loss": "ranking" if spec.labels else "cosine regression"}

    def make_sentence_settings(self, options: TrainingOptions) -> SentenceSettings:
        return SentenceSettings(self.pooling, options.max_tokens, is_recorded=True)

    def read_training_data(self, spec: TaskSpec, loaded: Checkpoint, options: TrainingOptions) -> TrainingData:
        settings = loaded.sentence_settings
        adapted = self.adapt_to(replace(settings, pooling=(options.pooling,)) if options.pooling else settings)
        data = super(SentenceEmbeddingTask, adapted).read_training_data(spec, loaded, options)
        adapted.value_range = tuple(data.facts["value_range"]) if "value_range" in data.facts else None
        if adapted.value_range is None:
            adapted.progress_metric = ProgressMetric(key="accuracy", label="accuracy")
        return data

    # Other task types assign a function here; this loss needs `self`, for the pooling.
    def loss(self, model: nn.Module, batch: LabelBatch) -> Loss:
        """Compute `cosine_loss` if the rows have similarity values, otherwise `ranking_loss`.

        The negatives of `ranking_loss` come from the same micro-batch, so gradient accumulation changes this loss.
        """
        vectors_BCP = self.compute_scores(model, batch.inputs.ungroup()).unflatten(
            0, batch.inputs.input_ids_BT.shape[:2]
        )
        if self.value_range is None:
            loss, metrics = ranking_loss(vectors_BCP, batch.labels_B, _find_equal_inputs(batch.inputs))
        else:
            low, high = self.value_range
            loss, metrics = cosine_loss(vectors_BCP, (batch.labels_B.float() - low) / (high - low))
        return Loss(loss, metrics, batch.inputs.attention_mask_BT.sum())

    # -- predictions and metrics ------------------------------------------------------------------------------------

    def compute_scores(self, model: Bert, batch: Batch) -> torch.Tensor:
        """Compute the vector of each input -> [B, P]."""
        return pool_sentences(model(batch).hidden_BTH, batch.attention_mask_BT, self.pooling)

    def decode(self, features: Features, scores_I: Sequence[np.ndarray]) -> list[float]:
        """Compute the cosine of every pair or, for entailed pairs, whether the nearest second text is that of the pair.

        Pairs without a label count as entailed. For each entailed pair, the first text is compared with the second
        texts of all pairs. The result is 1 if the second text of its own pair has the largest cosine, otherwise 0.
        """
        vectors_BCP = np.stack(scores_I).reshape(-1, features.inputs_per_example, len(scores_I[0]))
        first_BP, second_BP = vectors_BCP[:, 0], vectors_BCP[:, 1]
        if not features.examples.spec.labels:
            return (first_BP * second_BP).sum(-1).tolist()
        second_texts = [row.texts[1] for row in features.examples]
        parts = (first_BP[start : start + 1000] @ second_BP.T for start in range(0, len(first_BP), 1000))
        nearest_B = np.concatenate([cosine_BB.argmax(-1) for cosine_BB in parts])
        return [float(second_texts[i] == text) for i, text in zip(nearest_B, second_texts, strict=True)]

    def compute_raw_metrics(self, examples: Examples, predictions: Sequence) -> dict[str, float]:
        if examples.spec.labels:
            return dict.fromkeys(examples.spec.metrics, float(np.mean(predictions)))
        return super().compute_raw_metrics(examples, predictions)

    def predict(self, loaded: Checkpoint, examples: Examples, options: EvaluationOptions, progress: Callable) -> list:
        return super(SentenceEmbeddingTask, self.adapt_to(loaded.sentence_settings)).predict(
            loaded, examples, options, progress
        )

    def score_examples(self, loaded: Checkpoint, features: Features, progress: Callable) -> tuple[list, list, None]:
        adapted = self.adapt_to(loaded.sentence_settings)
        predictions = adapted.compute_outputs(loaded.model, features, ANALYSIS_BATCH_SIZE, progress)
        rows = [
            ScoredRow(
                row.id, row.texts[:2], gold=f"{row.target:g}", prediction=f"{value:.2f}", score=0.0,
                probability=None, values=(float(row.target), value),
            )
            for row, value in zip(features.examples, predictions, strict=True)
        ]  # fmt: skip
        return predictions, rows, None


def cosine_loss(vectors_BCP: torch.Tensor, target_B: torch.Tensor) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    """Compute the mean squared error of the cosine of every pair -> (loss, metrics).

    Args:
        vectors_BCP: the vectors of both texts, with the L2 norm 1.
        target_B: the cosines to fit, in 0..1.
    """
    cosine_B = (vectors_BCP[:, 0] * vectors_BCP[:, 1]).sum(-1)
    return F.mse_loss(cosine_B, target_B), {"error": F.l1_loss(cosine_B.detach(), target_B)}


def ranking_loss(
    vectors_BCP: torch.Tensor, has_negative_B: torch.Tensor, equal_BB: torch.Tensor
) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    """Compute the cross-entropy of matching each first text of the batch with the second text of its own row.

    Args:
        vectors_BCP: the vectors of the first text, the second text and, if C is 3, a contradiction, with the L2 norm 1.
        has_negative_B: 1 where the third text is a contradiction; 0 where it only repeats the second text, and is
            ignored.
        equal_BB: whether two rows of the batch have the same first or second text. Such rows are not negatives of each
            other.

    Returns:
        The loss, and the metrics of the batch.
    """
    rows_B = torch.arange(len(vectors_BCP), device=vectors_BCP.device)
    cosine_BB = vectors_BCP[:, 0] @ vectors_BCP[:, 1].T
    is_other_BB = rows_B[:, None] != rows_B
    logits_BX = (RANKING_SCALE * cosine_BB).masked_fill(equal_BB & is_other_BB, -torch.inf)
    if vectors_BCP.shape[1] > 2:
        negative_logits_BB = RANKING_SCALE * vectors_BCP[:, 0] @ vectors_BCP[:, 2].T
        logits_BX = torch.cat([logits_BX, negative_logits_BB.masked_fill(has_negative_B < 0.5, -torch.inf)], dim=-1)
    accuracy = (logits_BX.detach().argmax(-1) == rows_B).float().mean()
    return F.cross_entropy(logits_BX, rows_B), {"accuracy": accuracy}


def _find_equal_inputs(inputs: Batch) -> torch.Tensor:
    """Find the pairs of rows that have the same first or the same second text -> bool [B, B]."""
    ids_CBT = inputs.input_ids_BT.transpose(0, 1)[:2]
    return (ids_CBT[:, :, None] == ids_CBT[:, None]).all(-1).any(0)


def _choose_entailed_pairs(examples: Examples) -> Examples:
    """Choose the entailed pairs, and add a contradiction of the first text as the third text, if there is one.

    The target of an example is a flag that `ranking_loss` reads: 1 if the row has a third text, otherwise 0.
    """
    labels = examples.labels
    contradiction: dict[str, str] = {}  # first text -> a text that contradicts it
    for row in examples:
        if labels[row.target] == CONTRADICTION:
            contradiction.setdefault(row.texts[0], row.texts[1])
    entailed = []
    for row in examples:
        if labels[row.target] == ENTAILMENT:
            negative = [contradiction[row.texts[0]]] if row.texts[0] in contradiction else []
            entailed.append(Example(row.id, (*row.texts, *negative), float(bool(negative))))
    if not entailed:
        raise DataError("rows-without-entailment", name=examples.name)
    return replace(examples, rows=tuple(entailed))
