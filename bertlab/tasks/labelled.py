"""What a model says of examples with labels, values, choices or tags, and how good that is.

Knows examples and models; no files and no optimiser.
"""

from collections.abc import Callable, Sequence

import numpy as np
import torch

from bertlab.config.errors import BertlabError
from bertlab.config.tasks import TaskSpec
from bertlab.nn.bert import Bert
from bertlab.tasks.examples import Examples
from bertlab.tasks.features import Features, spread
from bertlab.tasks.metrics import LABEL_METRICS, character_f1_macro, entities
from bertlab.text.batches import score

ASK = {
    "classify": lambda model, batch: model.classify(model.pooled(batch)).softmax(-1),
    "regress": lambda model, batch: model.regress(model.pooled(batch)),
    "choose": lambda model, batch: model.choose(model.pooled(batch)),
    "tag": lambda model, batch: model.tag(model(batch).hidden_BTH).argmax(-1),
}


def predict(model: Bert, features: Features, batch_size: int = 64, progress: Callable = iter) -> list:
    """What a model says of every example, in their order.

    Args:
        progress: wraps the parts the inputs are taken in (say, `tqdm`).

    Returns:
        for classify and choose the probability of every label or choice, float64 [K]; for regress a float; for tag a
        list with the tag of every token.

    Raises:
        MissingHead: the model has no head of this kind.
    """
    kind = features.examples.spec.kind
    model.head(kind)
    device = model.embeddings.token.weight.device
    was_training = model.training
    model.eval()
    with torch.inference_mode():
        said = score(features, lambda batch: ASK[kind](model, batch.to(device)), features.pad_id, batch_size, progress)
    model.train(was_training)
    if kind == "tag":
        return tags_of(features, said)
    if kind == "choose":
        scores_EC = np.stack(said).astype(np.float64).reshape(-1, features.group)
        powers_EC = np.exp(scores_EC - scores_EC.max(1, keepdims=True))
        return list(powers_EC / powers_EC.sum(1, keepdims=True))
    return [float(value) for value in said] if kind == "regress" else [probs.astype(np.float64) for probs in said]


def tags_of(features: Features, said: Sequence[np.ndarray]) -> list[list[str]]:
    """The tags of every example's units out of the best tag of every token of every input [T]."""
    examples = features.examples
    labels = examples.labels
    found: list[dict[int, str]] = [{} for _ in examples]
    for i, tags_T in enumerate(said):
        units_T = features.unit_I[i]
        own = found[int(features.example_I[i])]
        own.update((int(unit), labels[int(tag)]) for unit, tag in zip(units_T, tags_T, strict=False) if unit >= 0)
    if examples.spec.unit == "character":
        return [spread(own, row.texts) for own, row in zip(found, examples, strict=True)]
    # a word without any piece, such as a lone joiner, is told nothing of
    outside = "O" if "O" in labels else labels[0]
    return [[own.get(u, outside) for u in range(len(row.texts))] for own, row in zip(found, examples, strict=True)]


def answers(spec: TaskSpec, predicted: Sequence) -> list:
    """The best label's or choice's number, the value, or the tags."""
    return [int(np.argmax(p)) for p in predicted] if spec.kind in ("classify", "choose") else list(predicted)


def named(figures: dict, split: str, first: bool) -> dict:
    """The figures of one split among several: the first one's as they are, another's under its name.

    >>> named({"accuracy": 71.0}, "validation_mismatched", first=False)
    {'mismatched_accuracy': 71.0}
    """
    return figures if first else {f"{split.partition('_')[2] or split}_{name}": v for name, v in figures.items()}


def figures(examples: Examples, given: Sequence) -> dict:
    """The task's measures in percent, as leaderboards show them, the deciding one first, and how many were measured.

    A correlation with something constant counts as 0.

    Args:
        given: as `answers` gives them, in the order of the examples.

    Raises:
        BertlabError: the examples have no labels.
    """
    if not examples.labelled:
        raise BertlabError(f"{examples.name} has no labels, so nothing can be measured on it")
    if examples.spec.kind == "tag":
        gold = [[examples.labels[tag] for tag in row.target] for row in examples]
        found = _tag_figures(gold, given, examples)
    else:
        gold, told = np.array([row.target for row in examples]), np.array(given)
        if examples.spec.labels:  # F1 is of the task's label 1, wherever a checkpoint has that
            place = np.array([_place(name, examples.spec.labels) for name in examples.labels])
            gold, told = place[gold], place[told]
        found = {name: LABEL_METRICS[name](gold, told) for name in examples.spec.metrics}
    measured = {name: 100 * float(np.nan_to_num(found[name])) for name in examples.spec.metrics}
    return measured | {"examples": len(examples)}


def _tag_figures(gold: list[list[str]], given: Sequence[list[str]], examples: Examples) -> dict[str, float]:
    if "accuracy" in examples.spec.metrics:
        flat = (np.array([tag for row in rows for tag in row]) for rows in (gold, given))
        return {"accuracy": LABEL_METRICS["accuracy"](*flat)}
    found = {f"entity_{name}": value for name, value in entities(gold, given).items()}
    return found | {"character_f1_macro": character_f1_macro(gold, given)}


def _place(name: str, labels: tuple[str, ...]) -> int:
    return labels.index(name) if name in labels else len(labels)


def fitting_labels(spec: TaskSpec, own: tuple[str, ...]) -> tuple[str, ...]:
    """A checkpoint's labels as a task spells them, in the checkpoint's order.

    Labels without names ("LABEL_0") are taken to be in the task's order.

    Raises:
        BertlabError: the checkpoint does not tell apart what the task does.

    >>> row = TaskSpec("classify", "", "en", ("accuracy",), "", labels=("entailment", "neutral", "contradiction"))
    >>> fitting_labels(row, ("CONTRADICTION", "NEUTRAL", "ENTAILMENT"))
    ('contradiction', 'neutral', 'entailment')
    """
    if not spec.labels or spec.kind not in ("classify", "tag"):
        return own
    if len(own) == len(spec.labels) and all(name == f"LABEL_{number}" for number, name in enumerate(own)):
        return spec.labels
    spelled = {name.lower(): name for name in spec.labels}
    if missing := [name for name in spec.labels if name.lower() not in {label.lower() for label in own}]:
        raise BertlabError(
            f"the checkpoint tells apart {', '.join(own)}; this task also has {', '.join(missing)}: "
            "it was fine-tuned for another task"
        )
    return tuple(spelled.get(name.lower(), name) for name in own)
