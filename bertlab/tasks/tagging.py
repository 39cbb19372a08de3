"""Tagging: one tag for every word or character, such as named-entity tags (Devlin et al. 2019, section 5.3).

Shape legend: B batch, T tokens, I inputs, K tags, X tokens that predict a tag.
"""

from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from bertlab.checkpoints.checkpoint import Checkpoint
from bertlab.config.errors import DataError
from bertlab.config.tasks import TaskSpec
from bertlab.tasks.entity_spans import choose_tags, find_entity_spans, is_entity_scheme, order_tags
from bertlab.tasks.error_analysis import ANALYSIS_BATCH_SIZE, ScoredRow, TaskAnalysis, build_confusion_matrix
from bertlab.tasks.examples import Examples, find_label_index, split_cell
from bertlab.tasks.features import NO_TAG, TEXTS_AT_ONCE, Ragged, TextFeatures, check_max_tokens
from bertlab.tasks.inference import run_batches
from bertlab.tasks.labelled_rows import RowReader
from bertlab.tasks.loss import Loss
from bertlab.tasks.metrics import accuracy, character_f1_macro, compute_entity_metrics, in_percent
from bertlab.tasks.prediction_files import read_conll, write_conll
from bertlab.tasks.tag_alignment import split_long_sentence, spread_tags, tokenise_characters, tokenise_words
from bertlab.tasks.tag_prediction import Tags
from bertlab.tasks.task_type import ProgressMetric, TaskType
from bertlab.text.batch import LabelBatch
from bertlab.text.readers.rows import Rows, is_blank
from bertlab.text.tokenizers.wordpiece import Tokenizer

# The label "no entity" of the confusion matrix: the prediction for a missed entity, or the gold label of a wrongly
# predicted one.
NO_ENTITY = ""


@dataclass(frozen=True)
class TaggingLoss:
    """Mean cross-entropy of the tags, over the tokens that predict a tag."""

    head: str

    def __call__(self, model: nn.Module, batch: LabelBatch) -> Loss:
        hidden_BTH, tags_BT = model(batch.inputs).hidden_BTH, batch.labels_B
        has_tag_BT = tags_BT != NO_TAG
        logits_XK, tags_X = model.head(self.head)(hidden_BTH[has_tag_BT]).float(), tags_BT[has_tag_BT]
        count = max(1, len(tags_X))  # a batch that contains only spaces has no tags; its loss is 0
        accuracy = (logits_XK.detach().argmax(-1) == tags_X).sum() / count
        loss = F.cross_entropy(logits_XK, tags_X, reduction="sum") / count
        return Loss(loss, {"tag_accuracy": accuracy}, batch.inputs.attention_mask_BT.sum(), {"tag": loss})

    def count_items(self, batch: LabelBatch) -> dict[str, torch.Tensor]:
        """Count the tokens that the loss is averaged over."""
        return {"tag": (batch.labels_B != NO_TAG).sum()}


def _read_texts(row: dict, spec: TaskSpec) -> tuple[str, ...]:
    value = row.get(spec.text[0])
    if not isinstance(value, list | str):
        raise DataError("cell-without-tokens", column=repr(spec.text[0]))
    return tuple(map(str, split_cell(value)))


def _find_labels(data: Rows, spec: TaskSpec, column: str | None, cells: list) -> tuple[str, ...]:
    if spec.labels:
        return spec.labels
    if column is not None and data.label_names.get(column):
        return data.label_names[column]
    return order_tags(str(tag) for cell in cells for tag in split_cell(cell) if not is_blank(tag))


def _read_target(cell: object, labels, names_by_number, texts: tuple[str, ...]) -> tuple[int, ...]:
    tags = split_cell(cell)
    if len(tags) != len(texts):
        raise DataError("row-tag-count-differs", tags=len(tags), tokens=len(texts))
    if empty := next((token for tag, token in zip(tags, texts, strict=True) if is_blank(tag)), None):
        raise DataError("tag-empty", token=repr(empty))
    return tuple(find_label_index(tag, labels, names_by_number) for tag in tags)


def _encode(tokenizer: Tokenizer, examples: Examples, max_tokens: int) -> TextFeatures:
    """Tokenise sentences; a sentence that is too long for one input becomes several inputs and is not truncated."""
    check_max_tokens(max_tokens)
    tokenise = tokenise_characters if examples.spec.unit == "character" else tokenise_words
    flat_ids, flat_units, lengths, example_of_input = array("i"), array("i"), array("q"), array("q")
    for begin in range(0, len(examples), TEXTS_AT_ONCE):
        sentences = [row.texts for row in examples[begin : begin + TEXTS_AT_ONCE]]
        for example_index, (ids, unit_T) in enumerate(tokenise(tokenizer, sentences), begin):
            for first, end in split_long_sentence(unit_T, max_tokens - 2):
                flat_ids.extend([tokenizer.cls_id, *ids[first:end], tokenizer.sep_id])
                flat_units.extend([-1, *unit_T[first:end], -1])
                lengths.append(end - first + 2)
                example_of_input.append(example_index)
    return TextFeatures(
        examples=examples,
        pad_id=tokenizer.pad_id,
        ids=Ragged.from_flat(flat_ids, lengths),
        second_start_I=np.array(lengths),
        example_I=np.array(example_of_input),
        unit_I=Ragged.from_flat(flat_units, lengths),
    )


def _decode(features: TextFeatures, log_probs_ITK: Sequence[np.ndarray]) -> list[list[str]]:
    """Choose one tag for each word or character of each example by the log-probabilities of its tokens."""
    examples, labels = features.examples, features.examples.labels
    units: list[list[int]] = [[] for _ in examples]  # of each example, the units that tokens predict
    log_probs: list[list[np.ndarray]] = [[] for _ in examples]
    for i, log_probs_TK in enumerate(log_probs_ITK):
        unit_T, example = features.unit_I[i], int(features.example_I[i])
        units[example] += unit_T[unit_T >= 0].tolist()
        log_probs[example] += list(log_probs_TK[: len(unit_T)][unit_T >= 0])
    tags_of_example: list[dict[int, str]] = []  # unit index -> tag
    for row, row_units, row_log_probs in zip(examples, units, log_probs, strict=True):
        is_inside_word_U = [
            examples.spec.unit == "character" and unit > 0 and f"{row.texts[unit - 1]}{row.texts[unit]}".isalnum()
            for unit in row_units
        ]
        tags = choose_tags(np.array(row_log_probs).reshape(-1, len(labels)), labels, is_inside_word_U)
        tags_of_example.append({unit: labels[tag] for unit, tag in zip(row_units, tags, strict=True)})
    if examples.spec.unit == "character":
        return [spread_tags(tags, row.texts) for tags, row in zip(tags_of_example, examples, strict=True)]
    # a word without a token, such as a lone zero-width joiner, has no prediction and gets this tag
    default = "O" if "O" in labels else labels[0]
    return [
        [tags.get(unit, default) for unit in range(len(row.texts))]
        for tags, row in zip(tags_of_example, examples, strict=True)
    ]


def compute_tag_metrics(examples: Examples, predictions: Sequence[list[str]]) -> dict[str, float]:
    """Compute the metrics of predicted tags, as fractions."""
    gold = [[examples.labels[tag] for tag in row.target] for row in examples]
    if "accuracy" in examples.spec.metrics:
        return {"accuracy": accuracy(*(np.array([tag for row in rows for tag in row]) for rows in (gold, predictions)))}
    by_character = examples.spec.unit == "character"
    if by_character:
        gold, predictions = (_drop_spaces(examples, rows) for rows in (gold, predictions))
    metrics = compute_entity_metrics(gold, predictions, strict=by_character)
    metrics = {f"entity_{name}": value for name, value in metrics.items()}
    return metrics | {"character_f1_macro": character_f1_macro(gold, predictions)}


def _drop_spaces(examples: Examples, tags: Sequence[list[str]]) -> list[list[str]]:
    """Drop the tags of spaces, which KLUE-NER does not score.

    Source: klue_baseline/data/klue_ner.py and metrics/functional.py of KLUE-benchmark/KLUE-baseline, where entities
    are then compared in the strict mode of `seqeval` (Park et al. 2021, arXiv 2105.09680).
    """
    return [
        [tag for character, tag in zip(row.texts, row_tags, strict=True) if character.strip()]
        for row, row_tags in zip(examples, tags, strict=True)
    ]


def _explain(task_type: TaskType, loaded: Checkpoint, features: TextFeatures, progress: Callable) -> TaskAnalysis:
    examples = features.examples
    with_probabilities = task_type.replace(
        compute=lambda model, head, batch: model.logits(head, batch).softmax(-1),
        decode=lambda features, probs_ITK: probs_ITK,
    )
    probs_ITK = run_batches(with_probabilities, loaded.model, features, ANALYSIS_BATCH_SIZE, progress)
    predictions = task_type.decode(features, [np.log(probs_TK.clip(1e-30)) for probs_TK in probs_ITK])
    gold_probabilities = _find_lowest_gold_probabilities(features, probs_ITK)
    separator = "" if examples.spec.unit == "character" else " "
    are_entity_tags = is_entity_scheme(examples.labels)
    types = [type for label in examples.labels for type, _, _ in find_entity_spans([label])]
    names = tuple(dict.fromkeys([*types, NO_ENTITY] if are_entity_tags else examples.labels))
    scored_rows, confusion_pairs = [], []
    for index, (example, tags) in enumerate(zip(examples, predictions, strict=True)):
        gold = [examples.labels[tag] for tag in example.target]
        gold_text, predicted_text = (
            _format_tags(example.texts, tag_names, separator, are_entity_tags) for tag_names in (gold, tags)
        )
        scored_rows.append(
            ScoredRow(
                example.id,
                example.texts,
                gold=gold_text,
                prediction=predicted_text,
                score=float(np.mean([a == b for a, b in zip(gold, tags, strict=True)])),
                probability=gold_probabilities[index],
            )
        )
        name_pairs = _pair_entities(gold, tags) if are_entity_tags else zip(gold, tags, strict=True)
        confusion_pairs += [((names.index(a), names.index(b)), index) for a, b in name_pairs]
    confusion = build_confusion_matrix(names, confusion_pairs, counts_rows=False)
    return TaskAnalysis(task_type.score(examples, predictions), scored_rows, confusion)


def _find_lowest_gold_probabilities(features: TextFeatures, probs_ITK: Sequence[np.ndarray]) -> list[float]:
    """Find the lowest probability of a gold tag in each example; 1 if no token predicts a tag."""
    lowest = [1.0] * len(features.examples)
    for i, probs_TK in enumerate(probs_ITK):
        units_T, example = features.unit_I[i], int(features.example_I[i])
        for position in np.flatnonzero(units_T >= 0):
            probability = float(probs_TK[position, features.examples[example].target[units_T[position]]])
            lowest[example] = min(lowest[example], probability)
    return lowest


def _pair_entities(gold: Sequence[str], predicted: Sequence[str]) -> list[tuple[str, str]]:
    """Pair the gold type of every entity with the predicted type of the same span; "" if one of the two is missing.

    >>> _pair_entities(["B-PER", "I-PER", "O", "B-LOC"], ["B-ORG", "I-ORG", "B-LOC", "I-LOC"])
    [('PER', 'ORG'), ('LOC', ''), ('', 'LOC')]
    """
    gold_types, predicted_types = (
        {(first, last): type for type, first, last in find_entity_spans(tags)} for tags in (gold, predicted)
    )
    pairs = [(type, predicted_types.get(span, NO_ENTITY)) for span, type in gold_types.items()]
    return pairs + [(NO_ENTITY, type) for span, type in predicted_types.items() if span not in gold_types]


def _format_tags(tokens: Sequence[str], tags: Sequence[str], separator: str, are_entity_tags: bool) -> str:
    """Format tags as text: entity tags as the list of entities, other tags as every word with its tag.

    >>> _format_tags(["Clara", "plays"], ["B-PER", "O"], " ", True), _format_tags(["Clara"], ["NOUN"], " ", False)
    ('PER: Clara', 'Clara/NOUN')
    """
    if not are_entity_tags:
        return " ".join(f"{token}/{tag}" for token, tag in zip(tokens, tags, strict=True))
    return "; ".join(
        f"{type}: {separator.join(tokens[first : last + 1])}" for type, first, last in find_entity_spans(tags)
    )


def _make_table_row(prediction: Tags) -> dict[str, str | float]:
    tags = " ".join(f"{word.text}/{word.tag}" for word in prediction.words)
    return {"entities": "; ".join(f"{e.label}: {e.text}" for e in prediction.entities), "tags": tags}


TAGGING = TaskType(
    name="tagging",
    predicts="a tag for every word",
    head="tag",
    command="tag",
    page="tag",
    make_table_row=_make_table_row,
    token_columns=("tokens", "words"),
    metrics=("entity_f1", "entity_precision", "entity_recall"),
    progress_metric=ProgressMetric("tag_accuracy", "tags"),
    read=RowReader(
        _read_target,
        _read_texts,
        find_labels=_find_labels,
        # with tags that are not entity tags, such as parts of speech, entity F1 is undefined
        adapt_spec=lambda spec, labels: spec if is_entity_scheme(labels) else spec.replace(metrics=("accuracy",)),
        list_targets=lambda example: example.target,
        format_target=lambda labels, target: labels[target],
    ),
    encode=_encode,
    make_loss=TaggingLoss,
    compute=lambda model, head, batch: model.logits(head, batch).float().log_softmax(-1),
    decode=_decode,
    score=in_percent(compute_tag_metrics),
    explain=_explain,
    file_name="{task}.conll",
    write_file=write_conll,
    read_file=read_conll,
    collect_settings=lambda spec, options: {"unit": spec.unit},
    choose_attention_texts=lambda row, separator, predict: (separator.join(row.texts), ""),
)
