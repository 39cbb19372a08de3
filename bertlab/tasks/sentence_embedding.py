"""Sentence embedding: one vector for each text; vectors of texts with similar meaning have a large cosine.

There is no output layer: the vector is pooled from the last layer's hidden states. The same model computes the vectors
of both texts of a pair (siamese fine-tuning). The rows determine the loss:

- pairs with a similarity value, such as STS: the cosine is fitted to the value (cosine regression)
- pairs with an inference label (NLI), or without a label: for each entailed pair, the first text should have a larger
  cosine with its own second text than with the second texts of the other pairs in the batch (in-batch negatives). A row
  may also have a text that contradicts the first text, which is a further negative

Source: Reimers and Gurevych 2019 (arXiv 1908.10084), section 3; Henderson et al. 2017 (arXiv 1705.00652), section 4.4.

Shape legend: B pairs (of a batch, or of all examples), C texts of a row (2, or 3 with a contradiction), P dimensions of
a vector, X candidates among which a text's own second text is to be found.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

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
from bertlab.tasks.examples import Example, Examples, find_label_index, read_label_name
from bertlab.tasks.features import Features, TextFeatures, tokenise_texts
from bertlab.tasks.labelled_rows import RowReader, read_columns
from bertlab.tasks.loss import Loss
from bertlab.tasks.metrics import in_percent, score_targets
from bertlab.tasks.regression import REGRESSION, find_value_range, read_value
from bertlab.tasks.task_type import ProgressMetric, TaskType
from bertlab.tasks.training_data import TrainingOptions
from bertlab.text.batch import Batch, LabelBatch
from bertlab.text.readers.invalid_rows import InvalidRows
from bertlab.text.readers.rows import Rows

ENTAILMENT, CONTRADICTION = "entailment", "contradiction"  # the names of the inference labels (NLI) that are used
RANKING_SCALE = 20.0  # the factor of the cosines in `ranking_loss` (temperature 1/20), as in `sentence-transformers`
RETRIEVAL_ACCURACY = "retrieval_accuracy"  # the metric of entailed pairs: the mean of the results of `decode`
_ADDED_LABEL = "\0label"  # the name of the label column that is added to rows without one; no file has such a column


# -- rows


def _find_labels(data: Rows, spec: TaskSpec, column: str | None, cells: list) -> tuple[str, ...]:
    """Find the inference labels (NLI); () for similarity values and for pairs without a label."""
    if spec.labels or column is None:
        return spec.labels
    if names := data.label_names.get(column):
        return tuple(names)
    names = sorted({read_label_name(cell) for cell in cells})
    return tuple(names) if ENTAILMENT in names else ()


def _read_texts(row: dict, spec: TaskSpec) -> tuple[str, ...]:
    texts = read_columns(row, spec)
    if len(texts) < 2:
        raise DataError("row-needs-pair")
    return texts


def _check_texts(texts: tuple[str, ...], first_row_texts: tuple[str, ...]) -> None:
    if not all(text.strip() for text in texts):
        raise DataError("row-empty")


_read_pairs = RowReader(
    lambda cell, labels, names_by_number, texts: (
        find_label_index(cell, labels, names_by_number) if labels else read_value(cell)
    ),
    _read_texts,
    _check_texts,
    find_labels=_find_labels,
    adapt_spec=lambda spec, labels: spec.replace(labels=labels, metrics=(RETRIEVAL_ACCURACY,)) if labels else spec,
    requires_varied_targets=lambda examples: not examples.spec.labels,  # pairs with labels may all be entailed
)


def _read(
    data: Rows,
    spec: TaskSpec,
    labels: tuple[str, ...] = (),
    invalid_rows: InvalidRows | None = None,
    training: bool = False,
) -> Examples:
    """Read pairs with a value, or entailed pairs.

    The target of an entailed pair is a flag that `ranking_loss` reads: 1 if the row has a third text, which contradicts
    the first one, otherwise 0.
    """
    if spec.labels in ((), (ENTAILMENT,)) and data.find_label_column(spec.label, is_required=False) is None:
        spec = spec.replace(metrics=(RETRIEVAL_ACCURACY,), labels=(ENTAILMENT,))
        rows = [{**row, _ADDED_LABEL: 0} for row in data.rows]
        data = replace(data, columns=(*data.columns, _ADDED_LABEL), rows=rows)
        examples = _read_pairs(data, spec.replace(label=(_ADDED_LABEL,)), (), invalid_rows)
        rows = tuple(replace(row, target=float(len(row.texts) > 2)) for row in examples.rows)
        return replace(examples, spec=spec, rows=rows)
    examples = _read_pairs(data, spec, labels, invalid_rows, training)
    return _choose_entailed_pairs(examples) if examples.spec.labels and examples.is_labelled else examples


def _choose_entailed_pairs(examples: Examples) -> Examples:
    """Choose the entailed pairs, and add a contradiction of the first text as the third text, if there is one."""
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


def _encode(tokenizer, examples: Examples, max_tokens: int) -> TextFeatures:
    num_texts = max(len(row.texts) for row in examples)
    # In a row without a contradiction, a copy of the second text takes the place of the third text; `ranking_loss`
    # ignores the copy.
    texts = [text for row in examples for text in (*row.texts, *row.texts[-1:] * (num_texts - len(row.texts)))]
    return tokenise_texts(tokenizer, examples, texts, [], max_tokens, num_texts, torch.float32)


# -- losses


@dataclass(frozen=True)
class EmbeddingLoss:
    """`cosine_loss` for pairs with similarity values, otherwise `ranking_loss`.

    The negatives of `ranking_loss` come from the same micro-batch, so gradient accumulation changes this loss.
    """

    pooling: tuple[str, ...]
    """The pooling modes; see `nn.pooling.POOLING_MODES`."""
    value_range: tuple[float, float] | None
    """The similarity values that correspond to the cosines 0 and 1; None for the ranking loss."""

    def __call__(self, model: nn.Module, batch: LabelBatch) -> Loss:
        vectors_IP = _compute_vectors(model, "", batch.inputs.ungroup(), self.pooling)
        vectors_BCP = vectors_IP.unflatten(0, batch.inputs.input_ids_BT.shape[:2])
        if self.value_range is None:
            loss, metrics = ranking_loss(vectors_BCP, batch.labels_B, _find_equal_inputs(batch.inputs))
        else:
            low, high = self.value_range
            loss, metrics = cosine_loss(vectors_BCP, (batch.labels_B.float() - low) / (high - low))
        return Loss(loss, metrics, batch.inputs.attention_mask_BT.sum())


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
        equal_BB: whether two rows have the same first or second text; such rows are not negatives of each other.

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


# -- predictions and metrics


def _compute_vectors(model: Bert, head: str, batch: Batch, pooling: tuple[str, ...] = ("mean",)) -> torch.Tensor:
    """Compute the vector of each input -> [B, P]."""
    return pool_sentences(model(batch).hidden_BTH, batch.attention_mask_BT, pooling)


def _decode(features: Features, scores_I: Sequence[np.ndarray]) -> list[float]:
    """Compute the cosine of every pair or, for entailed pairs, whether the nearest second text is that of the pair."""
    vectors_BCP = np.stack(scores_I).reshape(-1, features.inputs_per_example, len(scores_I[0]))
    first_BP, second_BP = vectors_BCP[:, 0], vectors_BCP[:, 1]
    if not features.examples.spec.labels:
        return (first_BP * second_BP).sum(-1).tolist()
    second_texts = [row.texts[1] for row in features.examples]
    parts = (first_BP[start : start + 1000] @ second_BP.T for start in range(0, len(first_BP), 1000))
    nearest_B = np.concatenate([cosine_BB.argmax(-1) for cosine_BB in parts])
    return [float(second_texts[i] == text) for i, text in zip(nearest_B, second_texts, strict=True)]


def _score(examples: Examples, predictions: Sequence[float]) -> dict[str, float]:
    if examples.spec.labels:
        return dict.fromkeys(examples.spec.metrics, float(np.mean(predictions)))
    return score_targets(examples, predictions)


def _adapt_to_checkpoint(task_type: TaskType, loaded: Checkpoint, options: object) -> TaskType:
    return task_type.replace(compute=partial(_compute_vectors, pooling=loaded.sentence_settings.pooling))


def _adapt_to_training(task_type: TaskType, loaded: Checkpoint, options: TrainingOptions, train: Examples) -> TaskType:
    pooling = (options.pooling,) if options.pooling else loaded.sentence_settings.pooling
    has_values = not train.spec.labels
    values = [row.target for row in train]
    loss = EmbeddingLoss(pooling, (min(values), max(values)) if has_values else None)
    settings = {"pooling": "+".join(pooling), "loss": "cosine regression" if has_values else "ranking"}
    return task_type.replace(
        compute=partial(_compute_vectors, pooling=pooling),
        make_loss=lambda head: loss,
        progress_metric=task_type.progress_metric if has_values else ProgressMetric("accuracy", "accuracy"),
        collect_settings=lambda spec, options: settings,
        make_sentence_settings=lambda options: SentenceSettings(pooling, options.max_tokens, is_recorded=True),
    )


SENTENCE_EMBEDDING = REGRESSION.replace(
    name="sentence_embedding",
    predicts="the similarity of two texts, from their vectors",
    head="",
    command="embed",
    page="sentences",
    make_table_row=None,
    read_logits=None,
    score_variants=None,
    required_flags=("text_column", "pair_column"),
    epochs=4.0,
    predicts_value=False,
    read=_read,
    encode=_encode,
    make_loss=lambda head: EmbeddingLoss(("mean",), None),
    compute=_compute_vectors,
    decode=_decode,
    score=in_percent(_score),
    adapt_to_checkpoint=_adapt_to_checkpoint,
    adapt_to_training=_adapt_to_training,
    collect_facts=lambda features: {} if features.examples.spec.labels else find_value_range(features),
    make_sentence_settings=lambda options: SentenceSettings(("mean",), options.max_tokens, is_recorded=True),
)
