"""Tagging: a tag for every word or character, such as the entities of a text (Devlin et al. 2019, section 5.3).

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
from bertlab.tasks.error_analysis import ConfusionMatrix, ScoredRow
from bertlab.tasks.examples import Examples, label_number, split_cell
from bertlab.tasks.features import IGNORED, TEXTS_AT_ONCE, Features, check_max_tokens, to_ragged
from bertlab.tasks.inference import device_of, inference
from bertlab.tasks.labelled_task import ANALYSIS_BATCH, LabelledTaskType, build_confusion_matrix
from bertlab.tasks.loss import Loss
from bertlab.tasks.metrics import LABEL_METRICS, character_f1_macro, entities
from bertlab.tasks.span.windows import Ragged
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
    """Neighbouring words whose tags mark one entity."""

    text: str
    """The words."""
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
    """The entities; () where the tags mark none, such as parts of speech."""


def predict_tags(model: Bert, text: str, encoding: Encoding, by_token: bool = False) -> Tags:
    """Predict the tag of every word at its first token, and the entities.

    Args:
        by_token: give every token a tag of its own, as for a checkpoint trained on tags of characters (KLUE-NER), where
            a Korean name and the particle after it are one word.

    Raises:
        MissingHead: the model has no tagging output layer.
    """
    labels = model.config.labels
    logits_1TK = model.tag(model(collate([encoding]).to(device_of(model))).hidden_BTH)
    probs_TK = logits_1TK[0].softmax(-1).cpu().numpy()
    places_T = [(position, *encoding.offsets[position]) for position, s in enumerate(encoding.special) if not s]
    if by_token:
        units = places_T
    else:
        units = [(position, start, end) for position, (start, end) in _first_tokens(places_T, find_words(text))]
    rows = [
        WordTags(text[start:end], start, end, labels[int(probs_TK[p].argmax())], tuple(probs_TK[p].tolist()))
        for p, start, end in units
    ]
    text_entities = []
    for label, first, last in entity_spans([row.tag for row in rows]) if is_entity_scheme(labels) else ():
        inside = rows[first : last + 1]
        start, end = inside[0].start, inside[-1].end
        probability = float(np.mean([max(word.probabilities) for word in inside]))
        text_entities.append(Entity(text[start:end], start, end, label, probability))
    return Tags(labels, tuple(rows), tuple(text_entities))


def _first_tokens(
    tokens: Sequence[tuple[int, int, int]], word_spans: Sequence[tuple[int, int]]
) -> list[tuple[int, tuple[int, int]]]:
    """The first token of every word; words without a token (spaces to the tokenizer) are left out.

    Args:
        tokens: (position, first character, character after the last) of each.

    >>> _first_tokens([(1, 0, 3), (2, 3, 5), (3, 6, 9)], [(0, 5), (6, 9)])
    [(1, (0, 5)), (3, (6, 9))]
    """
    begins = np.array([start for _, start, _ in tokens], np.int64)
    firsts = []
    for start, end in word_spans:
        number = int(np.searchsorted(begins, start))
        if number < len(begins) and begins[number] < end:
            firsts.append((tokens[number][0], (start, end)))
    return firsts


# -- loss --------------------------------------------------------------------------------------------------------


class TaggingLoss:
    """Mean cross-entropy of the tags, over the tokens that predict one."""

    def __call__(self, model: nn.Module, batch: LabelBatch) -> Loss:
        hidden_BTH, tags_BT = model(batch.inputs).hidden_BTH, batch.labels_B
        has_tag_BT = tags_BT != IGNORED
        logits_XK, tags_X = model.tag(hidden_BTH[has_tag_BT]).float(), tags_BT[has_tag_BT]
        count = max(1, len(tags_X))  # a batch of spaces alone has no tag, and a loss of 0
        accuracy = (logits_XK.detach().argmax(-1) == tags_X).sum() / count
        loss = F.cross_entropy(logits_XK, tags_X, reduction="sum") / count
        return Loss(loss, {"tag_accuracy": accuracy}, batch.inputs.attention_mask_BT.sum(), {"tag": loss})

    def counts(self, batch: LabelBatch) -> dict[str, torch.Tensor]:
        """How many tokens the mean is over."""
        return {"tag": (batch.labels_B != IGNORED).sum()}


# -- features ----------------------------------------------------------------------------------------------------


def _word_tokens(tokenizer: Tokenizer, sentences: Sequence[tuple[str, ...]]):
    """For every sentence its token ids, and for each token the word it is the first of, else -1."""
    distinct = list(dict.fromkeys(word for sentence in sentences for word in sentence))
    ids_of = dict(zip(distinct, tokenizer.encode_ids(distinct), strict=True))
    for sentence in sentences:
        ids, units = [], []
        for number, word in enumerate(sentence):
            own = ids_of[word]
            ids += own
            units += [number, *[-1] * (len(own) - 1)] if own else []
        yield ids, units


def _character_tokens(tokenizer: Tokenizer, sentences: Sequence[tuple[str, ...]]):
    """As `_word_tokens` for tags of characters: every token predicts the tag of its first character."""
    encoded = tokenizer.encode_segments(["".join(characters) for characters in sentences])
    for characters, row in zip(sentences, encoded, strict=True):
        unit_of = np.repeat(np.arange(len(characters)), [len(character) for character in characters])
        yield row.ids, [int(unit_of[begin]) if end > begin else -1 for begin, end in row.offsets]


def _split_long(units: Sequence[int], room: int) -> list[tuple[int, int]]:
    """The parts of a row of tokens that is longer than `room`, split before the first token of a unit if possible.

    >>> _split_long([0, 1, -1, 2, 3, -1], 4), _split_long([], 4)
    ([(0, 4), (4, 6)], [(0, 0)])
    """
    parts, first = [], 0
    while len(units) - first > room:
        last = first + room
        while last > first + 1 and units[last] < 0:
            last -= 1
        last = last if units[last] >= 0 else first + room
        parts.append((first, last))
        first = last
    return [*parts, (first, len(units))]


def spread_tags(tokens: dict[int, str], characters: Sequence[str]) -> list[str]:
    """Convert tags of tokens to tags of characters: an entity continues as I, also over a space inside it.

    Args:
        tokens: the tag of each token, by the place of its first character.

    >>> spread_tags({0: "B-LC", 2: "I-LC", 4: "O"}, list("서울 역에"))
    ['B-LC', 'I-LC', 'I-LC', 'I-LC', 'O']
    >>> spread_tags({0: "B-PS", 3: "O"}, list("영희 가"))
    ['B-PS', 'I-PS', 'O', 'O']
    """
    tags, last = [], "O"
    for place, character in enumerate(characters):
        if place in tokens:
            tags.append(tokens[place])
        elif last == "O":
            tags.append("O")
        elif character.strip():
            tags.append("I" + last[1:])
        else:
            after = next((tokens[p] for p in range(place + 1, len(characters)) if p in tokens), "O")
            tags.append(after if after == "I" + last[1:] else "O")
        last = tags[-1]
    return tags


# -- the task type -----------------------------------------------------------------------------------------------


class TaggingTask(LabelledTaskType):
    """A tag for every word or character."""

    name = "tagging"
    aliases = ("tag",)
    head = "tag"
    command = "tag"
    page = "tag"
    metrics = ("entity_f1", "entity_precision", "entity_recall")
    progress_metric = ("tag_accuracy", "tags")
    uses_labels = True
    table_suffix = "conll"
    token_columns = ("tokens", "words")
    loss = TaggingLoss()

    def recorded_settings(self, spec: TaskSpec, options: TrainingOptions) -> dict:
        return {"unit": spec.unit}

    def read_texts(self, row: dict, spec: TaskSpec) -> tuple[str, ...]:
        value = row.get(spec.text[0])
        if not isinstance(value, list | str):
            raise DataError("cell-is-no-tokens", column=repr(spec.text[0]))
        return tuple(map(str, split_cell(value)))

    def find_labels(self, data: Rows, spec: TaskSpec, column: str | None, cells: list) -> tuple[str, ...]:
        if spec.labels:
            return spec.labels
        if column is not None and data.names.get(column):
            return data.names[column]
        return order_tags(str(tag) for cell in cells for tag in split_cell(cell) if not is_blank(tag))

    def settle_spec(self, spec: TaskSpec, labels: tuple[str, ...]) -> TaskSpec:
        # entity F1 is undefined for tags such as parts of speech
        return spec if is_entity_scheme(labels) else spec.replace(metrics=("accuracy",))

    def read_target(self, cell: object, labels, numbered, texts: tuple[str, ...]) -> tuple[int, ...]:
        tags = split_cell(cell)
        if len(tags) != len(texts):
            raise DataError("row-with-other-tags", tags=len(tags), tokens=len(texts))
        if empty := next((token for tag, token in zip(tags, texts, strict=True) if is_blank(tag)), None):
            raise DataError("tag-empty", token=repr(empty))
        return tuple(label_number(tag, labels, numbered) for tag in tags)

    def different_targets(self, examples: Examples) -> set:
        return {tag for row in examples for tag in row.target}

    def target_name(self, examples: Examples, target: int) -> str:
        return examples.labels[target]

    def make_features(self, tokenizer: Tokenizer, examples: Examples, max_tokens: int) -> Features:
        """Long sentences are split instead of cut, so that every word is read."""
        check_max_tokens(max_tokens)
        read = _character_tokens if examples.spec.unit == "character" else _word_tokens
        flat, units, lengths, example_of = array("i"), array("i"), array("q"), array("q")
        for begin in range(0, len(examples), TEXTS_AT_ONCE):
            part = [row.texts for row in examples[begin : begin + TEXTS_AT_ONCE]]
            for number, (ids, unit_T) in enumerate(read(tokenizer, part), begin):
                for first, last in _split_long(unit_T, max_tokens - 2):
                    flat.extend([tokenizer.cls_id, *ids[first:last], tokenizer.sep_id])
                    units.extend([-1, *unit_T[first:last], -1])
                    lengths.append(last - first + 2)
                    example_of.append(number)
        ids = to_ragged(flat, lengths)
        unit_I = Ragged(np.array(units, np.int32), ids.start)
        return Features(examples, ids, np.array(lengths), np.array(example_of), unit_I, 1, tokenizer.pad_id)

    def scores(self, model: Bert, batch: Batch) -> torch.Tensor:
        return model.tag(model(batch).hidden_BTH).argmax(-1)

    def decode(self, features: Features, scores_I: Sequence[np.ndarray]) -> list[list[str]]:
        """The tags of every example's units, from the best tag of every token of every input [T]."""
        examples, labels = features.examples, features.examples.labels
        tags_of: list[dict[int, str]] = [{} for _ in examples]
        for i, tags_T in enumerate(scores_I):
            units_T = features.unit_I[i]
            own = tags_of[int(features.example_I[i])]
            own.update((int(unit), labels[int(tag)]) for unit, tag in zip(units_T, tags_T, strict=False) if unit >= 0)
        if examples.spec.unit == "character":
            return [spread_tags(own, row.texts) for own, row in zip(tags_of, examples, strict=True)]
        # a word without any token, such as a lone zero-width joiner, has no prediction
        outside = "O" if "O" in labels else labels[0]
        return [
            [own.get(u, outside) for u in range(len(row.texts))] for own, row in zip(tags_of, examples, strict=True)
        ]

    def best(self, outputs: Sequence[list[str]]) -> list[list[str]]:
        return list(outputs)

    def raw_metrics(self, examples: Examples, predictions: Sequence[list[str]]) -> dict[str, float]:
        gold = [[examples.labels[tag] for tag in row.target] for row in examples]
        if "accuracy" in examples.spec.metrics:
            flat = (np.array([tag for row in rows for tag in row]) for rows in (gold, predictions))
            return {"accuracy": LABEL_METRICS["accuracy"](*flat)}
        metrics = {f"entity_{name}": value for name, value in entities(gold, predictions).items()}
        return metrics | {"character_f1_macro": character_f1_macro(gold, predictions)}

    def read_predictions(self, path: Path, examples: Examples, options) -> list[list[str]]:
        return prediction_files.read_conll(path, examples)

    def write_file(self, path: Path, examples: Examples, predictions: list) -> None:
        prediction_files.write_conll(path, examples, predictions)

    # the predictions are names of tags, and their file is not a table of cells
    def prediction_cell(self, examples: Examples, row, prediction: list[str]) -> str:
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
        joint = "" if examples.spec.unit == "character" else " "
        scheme = is_entity_scheme(examples.labels)
        types = [type for label in examples.labels for type, _, _ in entity_spans([label])]
        names = tuple(dict.fromkeys([*types, NO_ENTITY] if scheme else examples.labels))
        scored_rows, counts = [], []
        for row, (example, tags) in enumerate(zip(examples, predictions, strict=True)):
            gold = [examples.labels[tag] for tag in example.target]
            correct = np.mean([a == b for a, b in zip(gold, tags, strict=True)])
            tag_texts = [_show_tags(example.texts, side, joint, scheme) for side in (gold, tags)]
            scored_rows.append(
                ScoredRow(example.id, example.texts, *tag_texts, float(correct), gold_probabilities[row])
            )
            pairs = _pair_entities(gold, tags) if scheme else zip(gold, tags, strict=True)
            counts += [((names.index(a), names.index(b)), row) for a, b in pairs]
        return predictions, scored_rows, build_confusion_matrix(names, counts)

    def attention_texts(self, row: ScoredRow, joint: str, predict: Callable) -> tuple[str, str]:
        return joint.join(row.texts), ""

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
    """(gold type, predicted type) of every entity; an entity of one side only, or with other ends, pairs with "".

    >>> _pair_entities(["B-PER", "I-PER", "O", "B-LOC"], ["B-ORG", "I-ORG", "B-LOC", "I-LOC"])
    [('PER', 'ORG'), ('LOC', ''), ('', 'LOC')]
    """
    gold_types, predicted_types = (
        {(first, last): type for type, first, last in entity_spans(tags)} for tags in (gold, predicted)
    )
    pairs = [(type, predicted_types.get(place, NO_ENTITY)) for place, type in gold_types.items()]
    return pairs + [(NO_ENTITY, type) for place, type in predicted_types.items() if place not in gold_types]


def _show_tags(tokens: Sequence[str], tags: Sequence[str], joint: str, scheme: bool) -> str:
    """Format tags as text: the entities, or every word with its tag.

    >>> _show_tags(["Clara", "plays"], ["B-PER", "O"], " ", True), _show_tags(["Clara"], ["NOUN"], " ", False)
    ('PER: Clara', 'Clara/NOUN')
    """
    if not scheme:
        return " ".join(f"{token}/{tag}" for token, tag in zip(tokens, tags, strict=True))
    return "; ".join(f"{type}: {joint.join(tokens[a : b + 1])}" for type, a, b in entity_spans(tags))
