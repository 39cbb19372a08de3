"""Extractive summaries: a score for every sentence of a document; the best sentences make up the summary.

An input has [CLS] before and [SEP] after every sentence; the token types of consecutive sentences alternate between 0
and 1 (interval segments). A linear layer maps the hidden state of each [CLS] to the logit that its sentence is chosen.
A document that is longer than the model's maximum input is read in overlapping windows.

Source: Liu 2019 (BERTSUM, arXiv 1903.10318), section 3.

Shape legend: B batch, T tokens, X sentences of a batch, S sentences of a document.
"""

from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from bertlab.checkpoints.checkpoint import Checkpoint
from bertlab.config.errors import DataError
from bertlab.config.tasks import TaskSpec
from bertlab.tasks.error_analysis import ANALYSIS_BATCH_SIZE, ScoredRow, TaskAnalysis
from bertlab.tasks.examples import Examples
from bertlab.tasks.features import NO_TAG, Features, Input, Ragged, TextFeatures, check_max_tokens
from bertlab.tasks.labelled_rows import RowReader
from bertlab.tasks.loss import Loss
from bertlab.tasks.metrics import in_percent
from bertlab.tasks.prediction_files import TableFile
from bertlab.tasks.rouge import METRICS as ROUGE
from bertlab.tasks.rouge import compute_rouge
from bertlab.tasks.summary_rows import (
    DOCUMENT_NAMES,
    NUM_SENTENCES,
    SummaryExample,
    choose_by_reference,
    choose_by_scores,
    find_windows,
    read_chosen_sentences,
    read_sentences,
)
from bertlab.tasks.task_type import ProgressMetric, TaskType
from bertlab.text.batch import LabelBatch
from bertlab.text.readers.invalid_rows import InvalidRows
from bertlab.text.readers.rows import Rows
from bertlab.text.readers.text_file import REFERENCE_NAMES
from bertlab.text.tokenizers.wordpiece import Tokenizer

DOCUMENTS_AT_ONCE = 500  # how many documents are tokenised together, which bounds the memory
MIN_WINDOW_TOKENS = 16  # of a window for predictions, even if all documents in fine-tuning were shorter
WINDOW_TOKENS_KEY = "window_tokens"  # in `bertlab.json`: the number of tokens of the longest window in fine-tuning
R_PRECISION = "r_precision"  # the name of a metric, see `score_summaries`
# The prefix of the metrics of a baseline, the summary that consists of the document's first sentences.
FIRST_PREFIX = "first_"
_METRICS = (R_PRECISION, FIRST_PREFIX + R_PRECISION)
# The name of an added column with the sentences that `choose_by_reference` chose; no file has a column of this name.
_BY_REFERENCE = "\0chosen"


@dataclass(frozen=True, kw_only=True)
class SummaryFeatures(TextFeatures):
    """The windows of documents. In `unit_I`, each [CLS] has the index of its sentence, and other tokens have -1."""

    truncated: tuple[tuple[int, int], ...] = ()
    """(index of the document, index of the sentence) for each sentence that is longer than a window and was cut off."""

    def __getitem__(self, i: int) -> Input:
        return Input(self.ids[i], (np.cumsum(self.unit_I[i] >= 0) - 1) % 2)


@dataclass(frozen=True)
class SummaryLoss:
    """Mean binary cross-entropy of the sentences: chosen or not chosen."""

    head: str

    def __call__(self, model: nn.Module, batch: LabelBatch) -> Loss:
        hidden_BTH, target_BT = model(batch.inputs).hidden_BTH, batch.labels_B
        is_sentence_BT = target_BT != NO_TAG
        logit_X = model.head(self.head)(hidden_BTH[is_sentence_BT])[..., 0].float()
        target_X = target_BT[is_sentence_BT].float()
        count = max(1, len(target_X))
        accuracy = ((logit_X.detach() > 0) == (target_X > 0)).sum() / count
        loss = F.binary_cross_entropy_with_logits(logit_X, target_X, reduction="sum") / count
        metrics = {"sentence_accuracy": accuracy}
        return Loss(loss, metrics, batch.inputs.attention_mask_BT.sum(), {"sentence": loss})

    def count_items(self, batch: LabelBatch) -> dict[str, torch.Tensor]:
        """Count the sentences that the loss is averaged over."""
        return {"sentence": (batch.labels_B != NO_TAG).sum()}


# -- rows


def _make_example(row: dict, spec: TaskSpec, id: str, texts: tuple[str, ...], target) -> SummaryExample:
    reference = row.get(spec.text[1]) if len(spec.text) > 1 else None
    return SummaryExample(id, texts, target, reference if isinstance(reference, str) else "", _BY_REFERENCE in row)


_read_documents = RowReader(
    lambda cell, labels, names_by_number, texts: read_chosen_sentences(cell, texts),
    lambda row, spec: read_sentences(row.get(spec.text[0]), spec.text[0]),
    make_example=_make_example,
    list_targets=lambda example: example.target,
    format_target=lambda labels, target: "chosen" if target else "not chosen",
)


def _read(
    data: Rows,
    spec: TaskSpec,
    labels: tuple[str, ...] = (),
    invalid_rows: InvalidRows | None = None,
    training: bool = False,
) -> Examples:
    """Convert rows to examples; without a column of chosen sentences, `choose_by_reference` chooses them."""
    spec = _find_columns(data, spec)
    label = spec.label
    if len(spec.text) > 1 and data.find_label_column(label, is_required=False) is None:
        data, spec = _add_chosen(data, spec), spec.replace(label=(_BY_REFERENCE,))
    examples = _read_documents(data, spec, labels, invalid_rows, training)
    has_references = any(row.reference for row in examples)
    metrics = (*_METRICS, *ROUGE, *(FIRST_PREFIX + name for name in ROUGE)) if has_references else _METRICS
    return replace(examples, spec=examples.spec.replace(label=label, metrics=metrics))


def _find_columns(data: Rows, spec: TaskSpec) -> TaskSpec:
    """Find the columns of the document and of the reference, if any; another usual name may replace a usual name."""
    document, *reference = spec.text
    if document in DOCUMENT_NAMES and document not in data.columns:
        document = next((name for name in DOCUMENT_NAMES if name in data.columns), document)
    if not reference:
        reference = [name for name in REFERENCE_NAMES if name in data.columns][:1]
    elif reference[0] in REFERENCE_NAMES and reference[0] not in data.columns:
        reference = []
    return spec.replace(text=(document, *reference))


def _add_chosen(data: Rows, spec: TaskSpec) -> Rows:
    """Add a column with the choice of `choose_by_reference`; [] for an invalid row, which is reported later."""
    rows = []
    for row in data.rows:
        try:
            chosen = choose_by_reference(read_sentences(row.get(spec.text[0]), spec.text[0]), str(row[spec.text[1]]))
        except (DataError, KeyError):
            chosen = []
        rows.append({**row, _BY_REFERENCE: chosen})
    return replace(data, columns=(*data.columns, _BY_REFERENCE), rows=rows)


def _collect_facts(features: SummaryFeatures) -> dict:
    facts = {WINDOW_TOKENS_KEY: int(np.diff(features.ids.start).max())}
    return facts | ({"chosen_by": "reference"} if features.examples[0].has_target_from_reference else {})


def _encode(tokenizer: Tokenizer, examples: Examples, max_tokens: int) -> SummaryFeatures:
    """Tokenise documents, and divide those that are too long into windows."""
    check_max_tokens(max_tokens)
    flat_ids, flat_units, lengths, example_of_input = array("i"), array("i"), array("q"), array("q")
    truncated = []
    for begin in range(0, len(examples), DOCUMENTS_AT_ONCE):
        documents = examples[begin : begin + DOCUMENTS_AT_ONCE]
        ids_of_sentence = iter(tokenizer.encode_plain([text for row in documents for text in row.texts]))
        for example_index, row in enumerate(documents, begin):
            sentences = [next(ids_of_sentence) for _ in row.texts]
            truncated += [(example_index, i) for i, ids in enumerate(sentences) if len(ids) > max_tokens - 2]
            sentences = [[tokenizer.cls_id, *ids[: max_tokens - 2], tokenizer.sep_id] for ids in sentences]
            for first, end in find_windows([len(ids) for ids in sentences], max_tokens):
                window_start = len(flat_ids)
                for index in range(first, end):
                    flat_ids.extend(sentences[index])
                    flat_units.extend([index, *[-1] * (len(sentences[index]) - 1)])
                lengths.append(len(flat_ids) - window_start)
                example_of_input.append(example_index)
    return SummaryFeatures(
        examples=examples,
        pad_id=tokenizer.pad_id,
        ids=Ragged.from_flat(flat_ids, lengths),
        second_start_I=np.array(lengths),
        example_I=np.array(example_of_input),
        unit_I=Ragged.from_flat(flat_units, lengths),
        truncated=tuple(truncated),
    )


# -- predictions and metrics


def choose_window_size(loaded: Checkpoint) -> int:
    """Choose the length of the longest window in fine-tuning, because no scores were learned at later positions."""
    recorded_size = loaded.record.get(WINDOW_TOKENS_KEY)
    is_recorded = type(recorded_size) is int and recorded_size > 0
    size = recorded_size if is_recorded else loaded.max_tokens_for(0) or SUMMARISATION.max_tokens
    return min(max(size, MIN_WINDOW_TOKENS), loaded.config.max_positions)


def _decode(features: SummaryFeatures, scores_I: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Collect the scores of the sentences -> for each document, the probability [S] that each sentence is chosen.

    If several windows contain a sentence, its score comes from the window that gives it the most context. The context
    of a sentence is the number of the window's sentences before it or after it, whichever is smaller.
    """
    scores = [np.zeros(len(row.texts), np.float32) for row in features.examples]
    contexts = [np.full(len(row.texts), -1) for row in features.examples]
    for i, score_T in enumerate(scores_I):
        units_T, example = features.unit_I[i], int(features.example_I[i])
        positions = np.flatnonzero(units_T >= 0)
        units, order = units_T[positions], np.arange(len(positions))
        context = np.minimum(order, order[::-1])
        is_better = context > contexts[example][units]
        scores[example][units[is_better]] = score_T[positions][is_better]
        contexts[example][units[is_better]] = context[is_better]
    return scores


def score_summaries(examples: Examples, predictions: Sequence[np.ndarray]) -> dict[str, float]:
    """Compute R-precision and, for rows with a reference, ROUGE, of the predicted and of the first sentences.

    R-precision is the share of the R chosen sentences that are among the R sentences with the largest scores.
    """
    values: dict[str, list[float]] = {name: [] for name in examples.spec.metrics}
    for row, scores in zip(examples, predictions, strict=True):
        if len(scores) != len(row.texts):
            raise DataError("summary-scores-count-differs", id=row.id, scores=len(scores), count=len(row.texts))
        if row.chosen:
            values[R_PRECISION].append(_compute_share_found(row.chosen, _choose_best(scores, len(row.chosen))))
            values[FIRST_PREFIX + R_PRECISION].append(_compute_share_found(row.chosen, range(len(row.chosen))))
        if row.reference.strip():
            chosen = sorted(choose_by_scores(row.texts, scores)[0])
            for prefix, indices in (("", chosen), (FIRST_PREFIX, range(min(NUM_SENTENCES, len(scores))))):
                rouge = compute_rouge(row.reference, " ".join(row.texts[index] for index in indices))
                for name, value in rouge.items():
                    values[prefix + name].append(value)
    return {name: float(np.mean(each)) if each else 0.0 for name, each in values.items()}


def _choose_best(scores_S: np.ndarray, count: int) -> list[int]:
    """Choose the `count` sentences with the largest scores -> their indices in text order."""
    return sorted(np.argsort(-scores_S, kind="stable")[:count].tolist())


def _compute_share_found(chosen: Sequence[int], predicted: Sequence[int]) -> float:
    return len({*chosen} & {*predicted}) / len(chosen)


def _parse_prediction(cell: str, examples: Examples) -> np.ndarray:
    scores = np.array([float(score) for score in cell.split()], np.float32)
    if not np.isfinite(scores).all():
        raise ValueError(cell)
    return scores


def _explain(task_type: TaskType, loaded: Checkpoint, features: Features, progress: Callable) -> TaskAnalysis:
    predictions = task_type.compute_outputs(loaded.model, features, ANALYSIS_BATCH_SIZE, progress)
    rows = []
    for row, scores in zip(features.examples, predictions, strict=True):
        best = _choose_best(scores, len(row.chosen))
        gold, predicted = (", ".join(str(index + 1) for index in indices) for indices in (row.chosen, best))
        score = _compute_share_found(row.chosen, best) if best else 1.0
        lowest_probability = min((float(scores[index]) for index in row.chosen), default=1.0)
        rows.append(ScoredRow(row.id, (" ".join(row.texts),), gold, predicted, score, lowest_probability))
    return TaskAnalysis(task_type.score(features.examples, predictions), rows)


_FILE = TableFile(lambda examples, row, prediction: " ".join(f"{score:.4f}" for score in prediction), _parse_prediction)

SUMMARISATION = TaskType(
    name="summarisation",
    predicts="a score for every sentence of a document",
    head="summarise",
    command="summary",
    page="summary",
    column_flags=("text_column", "pair_column"),
    columns={"text": DOCUMENT_NAMES[:1], "label": ("chosen",)},
    required_flags=(),
    has_fixed_columns=True,
    metrics=_METRICS,
    max_tokens=512,
    batch_size=8,  # few, because windows are long
    progress_metric=ProgressMetric("sentence_accuracy", "sentences"),
    read=_read,
    encode=_encode,
    choose_max_tokens=choose_window_size,
    make_loss=SummaryLoss,
    compute=lambda model, head, batch: model.logits(head, batch)[..., 0].sigmoid(),
    decode=_decode,
    score=in_percent(score_summaries),
    explain=_explain,
    write_file=_FILE.write,
    read_file=_FILE.read,
    collect_facts=_collect_facts,
)
