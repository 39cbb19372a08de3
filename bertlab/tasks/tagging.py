"""Tagging: one tag for every word or character, such as named-entity tags (Devlin et al. 2019, section 5.3).

Shape legend: B batch, T tokens, I inputs, U units (words or characters), K tags, X tokens that predict a tag.
"""

from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from bertlab.checkpoints.checkpoint import Checkpoint
from bertlab.config.errors import DataError
from bertlab.config.tasks import TaskSpec
from bertlab.nn.bert import Bert
from bertlab.tasks import prediction_files
from bertlab.tasks.entity_spans import entity_spans, is_entity_scheme, order_tags
from bertlab.tasks.error_analysis import ConfusionMatrix, ScoredRow, build_confusion_matrix
from bertlab.tasks.examples import Examples, find_label_index, split_cell
from bertlab.tasks.features import IGNORED, TEXTS_AT_ONCE, Features, check_max_tokens, to_ragged
from bertlab.tasks.inference import device_of, inference
from bertlab.tasks.labelled_task import ANALYSIS_BATCH, LabelledTaskType
from bertlab.tasks.loss import Loss
from bertlab.tasks.metrics import LABEL_METRICS, character_f1_macro, entity_metrics
from bertlab.tasks.span.windows import Ragged
from bertlab.tasks.task_type import ProgressMetric
from bertlab.tasks.training_data import TrainingOptions
from bertlab.text.batch import Batch, LabelBatch, collate
from bertlab.text.batches import score
from bertlab.text.readers.rows import Rows, is_blank
from bertlab.text.tokenizers.wordpiece import Encoding, Tokenizer
from bertlab.text.word_spans import find_words

NO_ENTITY = ""  # the name of a missing entity in the confusion matrix

# -- predictions -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class WordTags:
    """A word and its tag."""

    text: str
    """The word."""
    start: int
    """Its first character in the text."""
    end: int
    """The character after it."""
    tag: str
    """The most probable tag."""
    probabilities: tuple[float, ...]
    """The probability of every tag, in the order of `Tags.labels`."""


@dataclass(frozen=True)
class Entity:
    """Consecutive words whose tags mark one named entity."""

    text: str
    """The text of the words."""
    start: int
    """The first character in the text."""
    end: int
    """The character after the last."""
    label: str
    """The type of the entity."""
    probability: float
    """The mean probability of the words' tags."""


@dataclass(frozen=True)
class Tags:
    """The tags of a text."""

    labels: tuple[str, ...]
    """The checkpoint's tags."""
    words: tuple[WordTags, ...]
    """Every word."""
    entities: tuple[Entity, ...]
    """The named entities; () if the tags do not mark entities, such as parts of speech."""


def predict_tags(model: Bert, text: str, encoding: Encoding, by_token: bool = False) -> Tags:
    """Predict the tag of every word from its first token, and the entities that the tags mark.

    Args:
        by_token: predict a tag for every token instead, for checkpoints trained on tags of characters (KLUE-NER). In
            Korean a name and the particle attached to it are one word, and need different tags.

    Raises:
        MissingHead: the model has no tagging output layer.
    """
    labels = model.config.labels
    logits_1TK = model.tag(model(collate([encoding]).to(device_of(model))).hidden_BTH)
    probs_TK = logits_1TK[0].softmax(-1).cpu().numpy()
    tokens = [
        (position, *encoding.offsets[position])
        for position, is_special in enumerate(encoding.special)
        if not is_special
    ]
    if by_token:
        units = tokens
    else:
        units = [(position, start, end) for position, (start, end) in _first_tokens(tokens, find_words(text))]
    rows = [
        WordTags(
            text[start:end], start, end, labels[int(probs_TK[position].argmax())], tuple(probs_TK[position].tolist())
        )
        for position, start, end in units
    ]
    entities = []
    for label, first, last in entity_spans([row.tag for row in rows]) if is_entity_scheme(labels) else ():
        entity_words = rows[first : last + 1]
        start, end = entity_words[0].start, entity_words[-1].end
        probability = float(np.mean([max(word.probabilities) for word in entity_words]))
        entities.append(Entity(text[start:end], start, end, label, probability))
    return Tags(labels, tuple(rows), tuple(entities))


def _first_tokens(
    tokens: Sequence[tuple[int, int, int]], word_spans: Sequence[tuple[int, int]]
) -> list[tuple[int, tuple[int, int]]]:
    """Find the position of the first token of every word; words without a token are skipped.

    Args:
        tokens: (position, first character, character after the last) of each token.
        word_spans: (first character, character after the last) of each word.

    Returns:
        (position, word span) of each word.

    >>> _first_tokens([(1, 0, 3), (2, 3, 5), (3, 6, 9)], [(0, 5), (6, 9)])
    [(1, (0, 5)), (3, (6, 9))]
    """
    token_starts = np.array([start for _, start, _ in tokens], np.int64)
    first_tokens = []
    for start, end in word_spans:
        index = int(np.searchsorted(token_starts, start))
        if index < len(token_starts) and token_starts[index] < end:
            first_tokens.append((tokens[index][0], (start, end)))
    return first_tokens


# -- loss --------------------------------------------------------------------------------------------------------


class TaggingLoss:
    """Mean cross-entropy of the tags, over the tokens that predict one."""

    def __call__(self, model: nn.Module, batch: LabelBatch) -> Loss:
        hidden_BTH, tags_BT = model(batch.inputs).hidden_BTH, batch.labels_B
        has_tag_BT = tags_BT != IGNORED
        logits_XK, tags_X = model.tag(hidden_BTH[has_tag_BT]).float(), tags_BT[has_tag_BT]
        count = max(1, len(tags_X))  # a batch that contains only spaces has no tags; its loss is 0
        accuracy = (logits_XK.detach().argmax(-1) == tags_X).sum() / count
        loss = F.cross_entropy(logits_XK, tags_X, reduction="sum") / count
        return Loss(loss, {"tag_accuracy": accuracy}, batch.inputs.attention_mask_BT.sum(), {"tag": loss})

    def counts(self, batch: LabelBatch) -> dict[str, torch.Tensor]:
        """The number of tokens that the loss is a mean over."""
        return {"tag": (batch.labels_B != IGNORED).sum()}


# -- features ----------------------------------------------------------------------------------------------------


def _tokenise_words(tokenizer: Tokenizer, sentences: Sequence[tuple[str, ...]]):
    """Tokenise sentences given as words.

    Yields:
        For each sentence its token ids, and for each token the index of its word if it is the word's first token, else
        -1.
    """
    distinct_words = list(dict.fromkeys(word for sentence in sentences for word in sentence))
    ids_of_word = dict(zip(distinct_words, tokenizer.encode_ids(distinct_words), strict=True))
    for sentence in sentences:
        ids, units = [], []
        for index, word in enumerate(sentence):
            word_ids = ids_of_word[word]
            ids += word_ids
            units += [index, *[-1] * (len(word_ids) - 1)] if word_ids else []
        yield ids, units


def _tokenise_characters(tokenizer: Tokenizer, sentences: Sequence[tuple[str, ...]]):
    """Tokenise sentences given as characters; a token predicts the tag of its first character."""
    encoded = tokenizer.encode_segments(["".join(characters) for characters in sentences])
    for characters, row in zip(sentences, encoded, strict=True):
        unit_of = np.repeat(np.arange(len(characters)), [len(character) for character in characters])
        yield row.ids, [int(unit_of[begin]) if end > begin else -1 for begin, end in row.offsets]


def _split_long(units: Sequence[int], max_tokens: int) -> list[tuple[int, int]]:
    """Split a sentence into parts of at most `max_tokens` tokens, before the first token of a unit if possible.

    Args:
        units: for each token the index of its unit if it is the unit's first token, else -1.

    Returns:
        (first token, token after the last) of each part.

    >>> _split_long([0, 1, -1, 2, 3, -1], 4), _split_long([], 4)
    ([(0, 4), (4, 6)], [(0, 0)])
    """
    parts, first = [], 0
    while len(units) - first > max_tokens:
        end = first + max_tokens
        while end > first + 1 and units[end] < 0:
            end -= 1
        end = end if units[end] >= 0 else first + max_tokens
        parts.append((first, end))
        first = end
    return [*parts, (first, len(units))]


def spread_tags(tags_by_start: dict[int, str], characters: Sequence[str]) -> list[str]:
    """Convert tags of tokens to tags of characters; an entity continues with I, also over a space inside it.

    Args:
        tags_by_start: the tag of each token, by the index of its first character.

    >>> spread_tags({0: "B-LC", 2: "I-LC", 4: "O"}, list("서울 역에"))
    ['B-LC', 'I-LC', 'I-LC', 'I-LC', 'O']
    >>> spread_tags({0: "B-PS", 3: "O"}, list("영희 가"))
    ['B-PS', 'I-PS', 'O', 'O']
    """
    tags, previous = [], "O"
    for index, character in enumerate(characters):
        if index in tags_by_start:
            tags.append(tags_by_start[index])
        elif previous == "O":
            tags.append("O")
        elif character.strip():
            tags.append("I" + previous[1:])
        else:
            # a space belongs to the entity only if the next token continues the entity
            next_tag = next((tags_by_start[i] for i in range(index + 1, len(characters)) if i in tags_by_start), "O")
            tags.append(next_tag if next_tag == "I" + previous[1:] else "O")
        previous = tags[-1]
    return tags


# -- the task type -----------------------------------------------------------------------------------------------


class TaggingTask(LabelledTaskType):
    """One tag for every word or character."""

    name = "tagging"
    aliases = ("tag",)
    head = "tag"
    command = "tag"
    page = "tag"
    metrics = ("entity_f1", "entity_precision", "entity_recall")
    progress_metric = ProgressMetric(key="tag_accuracy", label="tags")
    uses_labels = True
    table_suffix = "conll"
    token_columns = ("tokens", "words")
    loss = TaggingLoss()

    def recorded_settings(self, spec: TaskSpec, options: TrainingOptions) -> dict:
        return {"unit": spec.unit}

    def read_texts(self, row: dict, spec: TaskSpec) -> tuple[str, ...]:
        value = row.get(spec.text[0])
        if not isinstance(value, list | str):
            raise DataError("cell-without-tokens", column=repr(spec.text[0]))
        return tuple(map(str, split_cell(value)))

    def find_labels(self, data: Rows, spec: TaskSpec, column: str | None, cells: list) -> tuple[str, ...]:
        if spec.labels:
            return spec.labels
        if column is not None and data.names.get(column):
            return data.names[column]
        return order_tags(str(tag) for cell in cells for tag in split_cell(cell) if not is_blank(tag))

    def adapt_spec(self, spec: TaskSpec, labels: tuple[str, ...]) -> TaskSpec:
        # tags such as parts of speech mark no entities, so entity F1 is undefined
        return spec if is_entity_scheme(labels) else spec.replace(metrics=("accuracy",))

    def read_target(self, cell: object, labels, names_by_number, texts: tuple[str, ...]) -> tuple[int, ...]:
        tags = split_cell(cell)
        if len(tags) != len(texts):
            raise DataError("row-tag-count-differs", tags=len(tags), tokens=len(texts))
        if empty := next((token for tag, token in zip(tags, texts, strict=True) if is_blank(tag)), None):
            raise DataError("tag-empty", token=repr(empty))
        return tuple(find_label_index(tag, labels, names_by_number) for tag in tags)

    def distinct_targets(self, examples: Examples) -> set:
        return {tag for row in examples for tag in row.target}

    def format_target(self, examples: Examples, target: int) -> str:
        return examples.labels[target]

    def make_features(self, tokenizer: Tokenizer, examples: Examples, max_tokens: int) -> Features:
        """Tokenise sentences; a long sentence is split into several inputs, so that every word gets a prediction."""
        check_max_tokens(max_tokens)
        tokenise = _tokenise_characters if examples.spec.unit == "character" else _tokenise_words
        flat, units, lengths, example_of_input = array("i"), array("i"), array("q"), array("q")
        for begin in range(0, len(examples), TEXTS_AT_ONCE):
            sentences = [row.texts for row in examples[begin : begin + TEXTS_AT_ONCE]]
            for example, (ids, unit_T) in enumerate(tokenise(tokenizer, sentences), begin):
                for first, end in _split_long(unit_T, max_tokens - 2):
                    flat.extend([tokenizer.cls_id, *ids[first:end], tokenizer.sep_id])
                    units.extend([-1, *unit_T[first:end], -1])
                    lengths.append(end - first + 2)
                    example_of_input.append(example)
        ids = to_ragged(flat, lengths)
        unit_I = Ragged(np.array(units, np.int32), ids.start)
        return Features(examples, ids, np.array(lengths), np.array(example_of_input), unit_I, 1, tokenizer.pad_id)

    def scores(self, model: Bert, batch: Batch) -> torch.Tensor:
        return model.tag(model(batch).hidden_BTH).argmax(-1)

    def decode(self, features: Features, scores_I: Sequence[np.ndarray]) -> list[list[str]]:
        """Convert the best tag of every token of every input [T] to the tags of every example's words or characters."""
        examples, labels = features.examples, features.examples.labels
        tags_by_unit: list[dict[int, str]] = [{} for _ in examples]  # one dictionary for each example
        for i, tags_T in enumerate(scores_I):
            for unit, tag in zip(features.unit_I[i], tags_T, strict=False):
                if unit >= 0:
                    tags_by_unit[int(features.example_I[i])][int(unit)] = labels[int(tag)]
        if examples.spec.unit == "character":
            return [spread_tags(tags, row.texts) for tags, row in zip(tags_by_unit, examples, strict=True)]
        # a word without a token, such as a lone zero-width joiner, has no prediction
        default = "O" if "O" in labels else labels[0]
        return [
            [tags.get(unit, default) for unit in range(len(row.texts))]
            for tags, row in zip(tags_by_unit, examples, strict=True)
        ]

    def choose_predictions(self, outputs: Sequence[list[str]]) -> list[list[str]]:
        return list(outputs)

    def raw_metrics(self, examples: Examples, predictions: Sequence[list[str]]) -> dict[str, float]:
        gold = [[examples.labels[tag] for tag in row.target] for row in examples]
        if "accuracy" in examples.spec.metrics:
            flat = (np.array([tag for row in rows for tag in row]) for rows in (gold, predictions))
            return {"accuracy": LABEL_METRICS["accuracy"](*flat)}
        metrics = {f"entity_{name}": value for name, value in entity_metrics(gold, predictions).items()}
        return metrics | {"character_f1_macro": character_f1_macro(gold, predictions)}

    def read_predictions(self, path: Path, examples: Examples, options) -> list[list[str]]:
        return prediction_files.read_conll(path, examples)

    def write_file(self, path: Path, examples: Examples, predictions: list) -> None:
        prediction_files.write_conll(path, examples, predictions)

    # predictions are written in the format of CoNLL; these two methods exist because the base class declares them
    def format_prediction(self, examples: Examples, row, prediction: list[str]) -> str:
        return " ".join(prediction)

    def parse_prediction(self, cell: str, examples: Examples) -> list[str]:
        return cell.split()

    def score_examples(
        self, loaded: Checkpoint, features: Features, progress: Callable
    ) -> tuple[list, list[ScoredRow], ConfusionMatrix]:
        examples, model = features.examples, loaded.model
        device = device_of(model)
        with inference(model):
            probs_ITK = score(
                features, lambda b: model.tag(model(b.to(device)).hidden_BTH).softmax(-1), features.pad_id,
                ANALYSIS_BATCH, progress,
            )  # fmt: skip
        predictions = self.decode(features, [probs_TK.argmax(-1) for probs_TK in probs_ITK])
        gold_probabilities = _lowest_gold_probabilities(features, probs_ITK)
        separator = "" if examples.spec.unit == "character" else " "
        marks_entities = is_entity_scheme(examples.labels)
        types = [type for label in examples.labels for type, _, _ in entity_spans([label])]
        names = tuple(dict.fromkeys([*types, NO_ENTITY] if marks_entities else examples.labels))
        scored_rows, counts = [], []
        for row, (example, tags) in enumerate(zip(examples, predictions, strict=True)):
            gold = [examples.labels[tag] for tag in example.target]
            share_correct = np.mean([a == b for a, b in zip(gold, tags, strict=True)])
            tag_texts = [_format_tags(example.texts, side, separator, marks_entities) for side in (gold, tags)]
            scored_rows.append(
                ScoredRow(example.id, example.texts, *tag_texts, float(share_correct), gold_probabilities[row])
            )
            pairs = _pair_entities(gold, tags) if marks_entities else zip(gold, tags, strict=True)
            counts += [((names.index(a), names.index(b)), row) for a, b in pairs]
        return predictions, scored_rows, build_confusion_matrix(names, counts)

    def attention_texts(self, row: ScoredRow, separator: str, predict: Callable) -> tuple[str, str]:
        return separator.join(row.texts), ""

    def table_row(self, prediction: Tags) -> dict[str, str | float]:
        tags = " ".join(f"{word.text}/{word.tag}" for word in prediction.words)
        return {"entities": "; ".join(f"{e.label}: {e.text}" for e in prediction.entities), "tags": tags}


def _lowest_gold_probabilities(features: Features, probs_ITK: Sequence[np.ndarray]) -> list[float]:
    """For every example, the lowest probability of a gold tag."""
    lowest = [1.0] * len(features.examples)
    for i, probs_TK in enumerate(probs_ITK):
        units_T, example = features.unit_I[i], int(features.example_I[i])
        for position in np.flatnonzero(units_T >= 0):
            probability = float(probs_TK[position, features.examples[example].target[units_T[position]]])
            lowest[example] = min(lowest[example], probability)
    return lowest


def _pair_entities(gold: Sequence[str], predicted: Sequence[str]) -> list[tuple[str, str]]:
    """Pair the gold type of every entity with the predicted type; "" if no predicted or gold entity has the same span.

    >>> _pair_entities(["B-PER", "I-PER", "O", "B-LOC"], ["B-ORG", "I-ORG", "B-LOC", "I-LOC"])
    [('PER', 'ORG'), ('LOC', ''), ('', 'LOC')]
    """
    gold_types, predicted_types = (
        {(first, last): type for type, first, last in entity_spans(tags)} for tags in (gold, predicted)
    )
    pairs = [(type, predicted_types.get(span, NO_ENTITY)) for span, type in gold_types.items()]
    return pairs + [(NO_ENTITY, type) for span, type in predicted_types.items() if span not in gold_types]


def _format_tags(tokens: Sequence[str], tags: Sequence[str], separator: str, marks_entities: bool) -> str:
    """Format tags as text: the entities, or every word with its tag.

    >>> _format_tags(["Clara", "plays"], ["B-PER", "O"], " ", True), _format_tags(["Clara"], ["NOUN"], " ", False)
    ('PER: Clara', 'Clara/NOUN')
    """
    if not marks_entities:
        return " ".join(f"{token}/{tag}" for token, tag in zip(tokens, tags, strict=True))
    return "; ".join(f"{type}: {separator.join(tokens[first : last + 1])}" for type, first, last in entity_spans(tags))
