"""How a checkpoint does on labelled rows, one by one: the figures, what it takes for what, and what it finds hardest.
Questions are examined in `examine_questions`.

A checkpoint and rows in, facts out; knows no page and no optimiser.

Shape legend: I inputs, T tokens, K labels.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch

from bertlab.checkpoints.checkpoint import Checkpoint
from bertlab.config.errors import DataError
from bertlab.config.tasks import KINDS, TaskSpec, task
from bertlab.tasks.custom import OWN, Columns, plain
from bertlab.tasks.examples import read_examples
from bertlab.tasks.features import Features, features
from bertlab.tasks.labelled import answers, figures, fitting_labels, predict, tags_of
from bertlab.tasks.span.squad import read_rows
from bertlab.tasks.tag_spans import entity_spans, is_scheme
from bertlab.text.batches import score
from bertlab.text.readers.data_file import Limits
from bertlab.text.readers.invalid_rows import InvalidRows
from bertlab.text.readers.rows import evenly_spaced
from bertlab.text.readers.splits import find_split, has_split, read_split, split_name
from bertlab.training.error_analysis.questions import examine_questions
from bertlab.training.error_analysis.results import Confusion, Examination, Given, Judged

AT_ONCE = 16  # rows between two steps of a progress bar
NONE = ""  # in the place of an entity where there is none


# -- what is asked -----------------------------------------------------------------------------------------------


def spec_for(loaded: Checkpoint, name: str = "", text: Sequence[str] = (), label: str = "") -> TaskSpec:
    """The task to measure a checkpoint by, with these columns in the place of its own.

    Args:
        name: a row of the task table; "" is what the checkpoint notes it was taught, or else what its head can do.

    Raises:
        BertlabError: no task of that name.
        MissingHead: the checkpoint has no head for it.
    """
    if name:
        spec = task(name)
    elif noted := loaded.record.get("task"):
        spec = Columns().spec(OWN, noted)
    else:
        kind = next((kind for kind in KINDS if kind in loaded.heads), "classify")
        spec = plain(kind)
    loaded.model.head(spec.kind)
    spec = spec.replace(text=tuple(text)) if text else spec
    return spec.replace(label=(label,)) if label else spec


def labelled_rows(source: str | Path, spec: TaskSpec, split: str = "validation", limits: Limits | None = None) -> Given:
    """The rows of a file, or of one split of a directory.

    Args:
        limits: the most that a file may hold; see `read_file`.

    Raises:
        DataError: neither is there, or it is damaged.
    """
    names = {"validation": spec.validation, "test": spec.test}.get(split) or (split,)
    split = next((name for name in names if has_split(source, name)), split)
    if not (found := find_split(source, split)):
        raise DataError(f"there is no file {source}")
    if spec.kind != "span":
        rows = read_split(source, split, limits)
        return Given(rows.name, rows.columns, rows.rows, rows.names)
    complaints = InvalidRows("skip", shown=0)
    questions = read_rows(source, split, complaints, spec)
    columns = ("id", "question", "context", "answers")
    return Given(split_name(source, split, found), columns, questions, left_out=tuple(complaints.errors))


def examine(loaded: Checkpoint, rows: Given, spec: TaskSpec, most: int = 500, progress: Callable = iter) -> Examination:
    """Ask a checkpoint of `most` rows from all over, and measure what it says.

    Args:
        progress: wraps the parts that the rows are taken in (say, `tqdm`).

    Raises:
        BertlabError: rows that are not the task's, or labels that are not the checkpoint's; one line.
    """
    if spec.kind == "span":
        return examine_questions(loaded, rows, spec, most, progress)
    labels = fitting_labels(spec, loaded.config.labels)
    spec = spec if spec.labels else spec.replace(labels=labels)
    complaints = InvalidRows("skip", shown=0)
    try:
        usable = read_examples(rows, spec, labels if spec.kind in ("classify", "tag") else (), complaints)
    except DataError as error:
        if not complaints:
            raise
        raise DataError(f"{error}; the first: {complaints.lines[0]}") from None
    if not usable.labelled:
        raise DataError(f"{rows.name} has no labels, so nothing can be measured on it")
    chosen = usable.of(evenly_spaced(len(usable), most))
    read = features(loaded.tokenizer, chosen, min(loaded.max_tokens_for(spec), loaded.config.max_positions))
    ask = _ask_tags if spec.kind == "tag" else _ask
    given, judged, confusion = ask(loaded, read, progress)
    return Examination(
        rows.name, spec, figures(chosen, given), tuple(judged), len(rows), tuple(complaints.lines), confusion
    )


# -- labels, numbers and choices ---------------------------------------------------------------------------------


def _ask(loaded: Checkpoint, read: Features, progress: Callable) -> tuple[list, list[Judged], Confusion | None]:
    examples, kind = read.examples, read.examples.spec.kind
    predicted = predict(loaded.model, read, AT_ONCE, progress)
    given = answers(examples.spec, predicted)
    if kind == "regress":
        rows = [
            Judged(e.id, e.texts, f"{e.target:g}", f"{value:.2f}", 0.0, None, (float(e.target), value))
            for e, value in zip(examples, given, strict=True)
        ]
        return given, rows, None
    rows = []
    for e, best, probs_K in zip(examples, given, predicted, strict=True):
        names = e.texts[1:] if kind == "choose" else examples.labels
        right = float(best == e.target)
        rows.append(Judged(e.id, e.texts, names[e.target], names[best], right, float(probs_K[e.target])))
    names = tuple(str(c + 1) for c in range(examples.choices)) if kind == "choose" else examples.labels
    places = [((e.target, best), row) for row, (e, best) in enumerate(zip(examples, given, strict=True))]
    return given, rows, _confusion(names, places)


def _confusion(names: Sequence[str], places: Sequence[tuple[tuple[int, int], int]]) -> Confusion:
    cells = defaultdict(list)
    for place, row in places:
        cells[place].append(row)
    return Confusion(tuple(names), {place: tuple(rows) for place, rows in cells.items()})


# -- tags --------------------------------------------------------------------------------------------------------


def _ask_tags(loaded: Checkpoint, read: Features, progress: Callable) -> tuple[list, list[Judged], Confusion]:
    examples, model = read.examples, loaded.model
    device = model.embeddings.token.weight.device
    with torch.inference_mode():
        probs_ITK = score(
            read, lambda b: model.tag(model(b.to(device)).hidden_BTH).softmax(-1), read.pad_id, AT_ONCE, progress
        )
    said = tags_of(read, [probs_TK.argmax(-1) for probs_TK in probs_ITK])
    lowest = _least_probable(read, probs_ITK)
    gold = [[examples.labels[tag] for tag in e.target] for e in examples]
    joint = "" if examples.spec.unit == "character" else " "
    scheme = is_scheme(examples.labels)
    rows, places = [], []
    kinds = [kind for label in examples.labels for kind, _, _ in entity_spans([label])] if scheme else examples.labels
    names = tuple(dict.fromkeys([*kinds, *([NONE] if scheme else [])]))
    for row, (e, ours, theirs) in enumerate(zip(examples, gold, said, strict=True)):
        right = np.mean([a == b for a, b in zip(ours, theirs, strict=True)])
        shown = [_shown(e.texts, tags, joint, scheme) for tags in (ours, theirs)]
        rows.append(Judged(e.id, e.texts, *shown, float(right), lowest[row]))
        pairs = _entity_pairs(ours, theirs) if scheme else zip(ours, theirs, strict=True)
        places += [((names.index(a), names.index(b)), row) for a, b in pairs]
    return said, rows, _confusion(names, places)


def _least_probable(read: Features, probs_ITK: Sequence[np.ndarray]) -> list[float]:
    """Of every example, the probability of the given tag where it is lowest."""
    lowest = [1.0] * len(read.examples)
    for i, probs_TK in enumerate(probs_ITK):
        units_T = read.unit_I[i]
        example = int(read.example_I[i])
        for position in np.flatnonzero(units_T >= 0):
            chance = float(probs_TK[position, read.examples[example].target[units_T[position]]])
            lowest[example] = min(lowest[example], chance)
    return lowest


def _entity_pairs(given: Sequence[str], said: Sequence[str]) -> list[tuple[str, str]]:
    """The type given and the type said of every entity; one that only one side has, or with other ends, is none of the
    other's.

    >>> _entity_pairs(["B-PER", "I-PER", "O", "B-LOC"], ["B-ORG", "I-ORG", "B-LOC", "I-LOC"])
    [('PER', 'ORG'), ('LOC', ''), ('', 'LOC')]
    """
    ours, theirs = ({(a, b): kind for kind, a, b in entity_spans(tags)} for tags in (given, said))
    found = [(kind, theirs.get(place, NONE)) for place, kind in ours.items()]
    return found + [(NONE, kind) for place, kind in theirs.items() if place not in ours]


def _shown(tokens: Sequence[str], tags: Sequence[str], joint: str, scheme: bool) -> str:
    """Tags to be read: the entities, or every word with its tag.

    >>> _shown(["Clara", "plays"], ["B-PER", "O"], " ", True), _shown(["Clara"], ["NOUN"], " ", False)
    ('PER: Clara', 'Clara/NOUN')
    """
    if not scheme:
        return " ".join(f"{token}/{tag}" for token, tag in zip(tokens, tags, strict=True))
    return "; ".join(f"{kind}: {joint.join(tokens[a : b + 1])}" for kind, a, b in entity_spans(tags))
