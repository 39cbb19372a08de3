"""How a checkpoint does on labelled rows, one by one: the figures, what it takes for what, and what it finds hardest.

A checkpoint and rows in, facts out; knows no page and no optimiser.

Shape legend: G given, S said, T tokens, K labels.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import torch

from bertlab.learn.labelled import answers, figures, fitting_labels, predict, tags_of
from bertlab.learn.metrics import answer_f1, exact_match, normalised_answer, normalised_korean_answer
from bertlab.learn.own_task import METRICS, OWN, Columns
from bertlab.learn.questions import answer_all, measured
from bertlab.spec.errors import DataError
from bertlab.spec.tasks import KINDS, TASKS, TaskSpec, task
from bertlab.text.buckets import score
from bertlab.text.damaged import Complaints
from bertlab.text.examples import read_examples
from bertlab.text.features import Features, features
from bertlab.text.rows import Rows, find_split, has_split, read_file, spaced
from bertlab.text.spans import Decoded
from bertlab.text.squad import read_rows
from bertlab.text.tags import entity_spans, is_scheme
from bertlab.weights.checkpoint import Loaded

AT_ONCE = 16  # rows between two steps of a progress bar
NONE = ""  # in the place of an entity where there is none

# a question is of the first kind that has one of these in it
QUESTION_WORDS = {
    "en": {word: rf"\b{word}\b" for word in ("why", "when", "where", "who", "which", "how", "what")}
    | {"who": r"\b(who|whom|whose)\b", "how many": r"\bhow (many|much|long|old|far|large)\b"},
    "ko": {
        "왜": "왜|이유",
        "언제": "언제",
        "어디": "어디|어느 (곳|나라|도시)",
        "누구": "누구|누가",
        "몇·얼마": "몇|얼마",
        "어떻게": "어떻게|어떤 (방법|방식)",
        "무엇": "무엇|무슨|뭐|어떤|어느|이름",
    },
}
_ASKED_FIRST = ("how many",)
_LENGTHS = ((0, "0"), (1, "1"), (2, "2"), (4, "3-4"), (8, "5-8"))


@dataclass(frozen=True)
class Judged:
    """A row and what was said of it.

    texts: one or two; a context and its choices; the tokens; or question and passage. given, said: as they are read.
    score: 1 right, 0 wrong, and between them the F1 of an answer or the share of right tags. chance: the probability
    of what is given (of a sentence's tags the lowest; of an answer its share of the n-best); None for numbers.
    values: given and said, where these are numbers.
    """

    id: str
    texts: tuple[str, ...]
    given: str
    said: str
    score: float
    chance: float | None
    values: tuple[float, float] | None = None

    @property
    def ease(self) -> tuple[float, ...]:
        """What is lowest for the hardest rows."""
        if self.values is not None:
            return (-abs(self.values[0] - self.values[1]),)
        return (self.chance, self.score)


@dataclass(frozen=True)
class Confusion:
    """What was given (down) and said (across). cells: the numbers of the rows behind each, one for each count; a row
    with several entities is in several. "" names no entity: missed ones are said to be it, invented ones given."""

    names: tuple[str, ...]
    cells: dict[tuple[int, int], tuple[int, ...]]

    @cached_property
    def counts_GS(self) -> np.ndarray:
        counts_GS = np.zeros((len(self.names), len(self.names)), np.int64)
        for place, rows in self.cells.items():
            counts_GS[place] = len(rows)
        return counts_GS

    @property
    def shares_GS(self) -> np.ndarray:
        """Of what is given, the share that is said to be each; 0 where nothing is."""
        return self.counts_GS / np.maximum(self.counts_GS.sum(1, keepdims=True), 1)

    @property
    def commonest(self) -> float:
        """The share that is right of always saying what is given most often."""
        return float(self.counts_GS.sum(1).max() / self.counts_GS.sum())


@dataclass(frozen=True)
class Group:
    """Questions of one kind: the numbers of their rows, and EM and F1 in percent."""

    name: str
    rows: tuple[int, ...]
    exact_match: float
    f1: float


@dataclass(frozen=True)
class Examination:
    """figures: the task's measures in percent. rows: what was asked. total: how many there were to choose from.
    left_out: why rows that cannot be used were left out. confusion: for labels, choices and tags. groups: for
    questions, by "question" word and by "length" of the given answer in words."""

    name: str
    spec: TaskSpec
    figures: dict[str, float]
    rows: tuple[Judged, ...]
    total: int
    left_out: tuple[str, ...]
    confusion: Confusion | None = None
    groups: dict[str, tuple[Group, ...]] | None = None

    def hardest(self, rows: Sequence[int] | None = None) -> list[int]:
        """The numbers of rows (of these, or of all), hardest first: the farthest off, or the least probable truth."""
        chosen = range(len(self.rows)) if rows is None else sorted(set(rows))
        return sorted(chosen, key=lambda row: self.rows[row].ease)


@dataclass(frozen=True)
class Given(Rows):
    """Rows to measure on, and why some could not be read as such."""

    left_out: tuple[str, ...] = ()


# -- what is asked -----------------------------------------------------------------------------------------------


def spec_for(loaded: Loaded, name: str = "", text: Sequence[str] = (), label: str = "") -> TaskSpec:
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
        spec = TASKS["squad"] if kind == "span" else TaskSpec(kind, "", "", METRICS[kind], "", id="")
    loaded.model.head(spec.kind)
    spec = spec.replace(text=tuple(text)) if text else spec
    return spec.replace(label=(label,)) if label else spec


def labelled_rows(source: str | Path, spec: TaskSpec, split: str = "validation") -> Given:
    """The rows of a file, or of one split of a directory.

    Raises:
        DataError: neither is there, or it is damaged.
    """
    names = {"validation": spec.validation, "test": spec.test}.get(split) or (split,)
    split = next((name for name in names if has_split(source, name)), split)
    found = find_split(source, split)
    if found is None:
        raise DataError(f"there is no file {source}")
    if spec.kind != "span":
        rows = read_file(found)
        return Given(rows.name, rows.columns, rows.rows, rows.names)
    complaints = Complaints("skip", shown=0)
    questions = read_rows(found, split, complaints)
    columns = ("id", "question", "context", "answers")
    return Given(str(found), columns, questions, left_out=tuple(complaints.lines))


def examine(loaded: Loaded, rows: Given, spec: TaskSpec, most: int = 500, progress: Callable = iter) -> Examination:
    """Ask a checkpoint of `most` rows from all over, and measure what it says.

    Args:
        progress: wraps the parts that the rows are taken in (say, `tqdm`).

    Raises:
        BertlabError: rows that are not the task's, or labels that are not the checkpoint's; one line.
    """
    if spec.kind == "span":
        return _examine_spans(loaded, rows, spec, most, progress)
    labels = fitting_labels(spec, loaded.config.labels)
    spec = spec if spec.labels else spec.replace(labels=labels)
    complaints = Complaints("skip", shown=0)
    try:
        usable = read_examples(rows, spec, labels if spec.kind in ("classify", "tag") else (), complaints)
    except DataError as error:
        if not complaints:
            raise
        raise DataError(f"{error}; the first: {complaints.lines[0]}") from None
    if not usable.labelled:
        raise DataError(f"{rows.name} has no labels, so nothing can be measured on it")
    chosen = usable.of(spaced(len(usable), most))
    read = features(loaded.tokenizer, chosen, min(spec.max_tokens, loaded.config.max_positions))
    ask = _ask_tags if spec.kind == "tag" else _ask
    given, judged, confusion = ask(loaded, read, progress)
    return Examination(
        rows.name, spec, figures(chosen, given), tuple(judged), len(rows), tuple(complaints.lines), confusion
    )


# -- labels, numbers and choices ---------------------------------------------------------------------------------


def _ask(loaded: Loaded, read: Features, progress: Callable) -> tuple[list, list[Judged], Confusion | None]:
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


def _ask_tags(loaded: Loaded, read: Features, progress: Callable) -> tuple[list, list[Judged], Confusion]:
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


# -- questions ---------------------------------------------------------------------------------------------------


def _examine_spans(loaded: Loaded, rows: Given, spec: TaskSpec, most: int, progress: Callable) -> Examination:
    chosen = [rows.rows[row] for row in spaced(len(rows), most)]
    language = "ko" if loaded.tokenizer.language == "ko" else "en"
    unanswerable = any(not row["answers"]["text"] for row in chosen)
    if all(not row["answers"]["text"] for row in chosen):
        raise DataError(f"{rows.name} has no labels, so nothing can be measured on it")
    spec = spec.replace(unanswerable=unanswerable, language=language)
    decoded: list[Decoded] = []
    for first in progress(range(0, len(chosen), AT_ONCE)):
        decoded += answer_all(loaded.model, loaded.tokenizer, chosen[first : first + AT_ONCE])
    texts = {row["id"]: found.text for row, found in zip(chosen, decoded, strict=True)}
    margins = {row["id"]: found.no_answer_margin for row, found in zip(chosen, decoded, strict=True)}
    tau = (loaded.null_threshold or 0.0) if unanswerable else None
    told = measured(texts, margins, chosen, spec, tau)
    judged, exact = [], []
    for row, found in zip(chosen, decoded, strict=True):
        said = "" if unanswerable and found.no_answer_margin > tau else found.text
        golds = _golds(row, language)
        exact.append(max(exact_match(said, gold, language) for gold in golds))
        f1 = max(answer_f1(said, gold, float(unanswerable), language) for gold in golds)
        chance = _chance(found, golds, unanswerable, language)
        judged.append(Judged(row["id"], (row["question"], row["context"]), golds[0], said, f1, chance))
    by_word, by_length = defaultdict(list), defaultdict(list)
    for number, row in enumerate(judged):
        by_word[question_word(row.texts[0], language)].append(number)
        by_length[_length(row.given)].append(number)
    order = [name for _, name in _LENGTHS] + ["9+"]
    groups = {
        "question": [*sorted(by_word.items(), key=lambda item: -len(item[1]))],
        "length": [(name, by_length[name]) for name in order if name in by_length],
    }
    shown = ("f1", "exact_match", "has_answer_f1", "no_answer_f1", "best_f1", "null_threshold", "total")
    return Examination(
        rows.name, spec, {name: told[name] for name in shown if name in told}, tuple(judged), len(rows), rows.left_out,
        groups={by: tuple(_group(name, own, judged, exact) for name, own in found) for by, found in groups.items()},
    )  # fmt: skip


def _golds(row: dict, language: str) -> list[str]:
    """The given answers that hold a word, as SQuAD's scripts count them; "" where there is none."""
    normalised = normalised_korean_answer if language == "ko" else normalised_answer
    return [text for text in row["answers"]["text"] if normalised(text)] or [""]


def _chance(found: Decoded, golds: Sequence[str], unanswerable: bool, language: str) -> float:
    """The share of the given answers in a softmax over the n-best, and over "no answer" where that may be said."""
    said = [(span.text, span.score) for span in found.spans]
    if unanswerable:
        said.append(("", found.no_answer_score))
    scores = np.array([value for _, value in said])
    if not len(scores):
        return 0.0
    shares = np.exp(scores - scores.max())
    right = [any(exact_match(text, gold, language) for gold in golds) for text, _ in said]
    return float(shares[right].sum() / shares.sum())


def question_word(question: str, language: str = "en") -> str:
    """What a question asks for, by its question word; "" for one without.

    >>> question_word("In how many years?"), question_word("To whom?"), question_word("Name the mill.")
    ('how many', 'who', '')
    """
    table = QUESTION_WORDS[language]
    order = [*(name for name in _ASKED_FIRST if name in table), *table]
    return next((name for name in order if re.search(table[name], question.lower())), "")


def _length(answer: str) -> str:
    words = len(answer.split())
    return next((name for most, name in _LENGTHS if words <= most), "9+")


def _group(name: str, rows: Sequence[int], judged: Sequence[Judged], exact: Sequence[float]) -> Group:
    em, f1 = (100 * float(np.mean([of(row) for row in rows])) for of in (exact.__getitem__, lambda r: judged[r].score))
    return Group(name, tuple(rows), em, f1)
