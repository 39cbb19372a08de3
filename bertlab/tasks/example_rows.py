"""Generate labelled rows from templates, for trying an evaluation without data; each template determines the label.

The templates of a language are in `locales/*/example_rows.toml`. The rows are easier and more alike than real data, so
a metric on them says that a checkpoint works, not how good it is.
"""

import itertools
import json
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from bertlab.config.files import write_atomically
from bertlab.config.languages import DEFAULT, read_data
from bertlab.config.tasks import TaskSpec

_PLACEHOLDER = re.compile(r"\{([A-Za-z_]+?)(\d*)\}")  # the name and the number of a placeholder, such as {person2}
# The similarity of two generated sentences, from 0 to 5 as in STS-B. Each name says how the second sentence differs
# from the first.
_SAME, _OTHER_PERSON, _RELATED, _OTHER_ACTION, _UNRELATED = 5.0, 3.0, 2.0, 1.0, 0.0
# For each requested row, at most this many rows are generated, because many of them are equal. If there are still too
# few distinct rows, fewer rows are returned.
MAX_ATTEMPTS_PER_ROW = 50


def generate_rows(
    spec: TaskSpec, labels: Sequence[str] = (), language: str = DEFAULT, count: int = 500, seed: int = 0
) -> list[dict]:
    """Generate distinct labelled rows with the columns of a task.

    Args:
        labels: the labels of the checkpoint. For classification there must be two, first the negative one; without
            labels, "negative" and "positive" are used. Tags that are not among the labels become "O".
        language: a language code; a language without templates gets the English ones.
        count: maximum number of rows. The result has fewer rows if the templates do not yield as many distinct rows,
            and no rows if the templates do not suit the task, such as a classification of text pairs.

    >>> from bertlab.config.tasks import TASKS
    >>> generate_rows(TASKS["sst2"], ("negative", "positive"), count=1)
    [{'sentence': 'The ending is full of warmth.', 'label': 'positive', 'idx': '0'}]
    """
    templates = read_data("example_rows", language).get(spec.kind)
    if spec.kind not in _GENERATORS or templates is None:
        return []
    rng = random.Random(f"{seed} {spec.kind}")
    endless_rows = _GENERATORS[spec.kind](spec, labels, templates, rng)
    rows: dict[str, dict] = {}
    for row in itertools.islice(endless_rows, MAX_ATTEMPTS_PER_ROW * count):
        rows.setdefault(repr(row), row)
        if len(rows) == count:
            break
    return [row | {spec.id: str(index)} if spec.id else row for index, row in enumerate(rows.values())]


def write_example_rows(path: str | Path, spec: TaskSpec, labels: Sequence[str] = (), language: str = DEFAULT) -> Path:
    """Write the rows of `generate_rows` to a JSON Lines file, and return its path."""
    write_atomically(path := Path(path), format_json_lines(generate_rows(spec, labels, language)))
    return path


def format_json_lines(rows: Sequence[dict]) -> str:
    """Format rows as JSON Lines."""
    return "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)


class _TemplateFiller:
    """Replaces the placeholders of templates, such as {person}, with entries of lists; always with the same entry."""

    def __init__(self, lists: Mapping[str, Sequence], rng: random.Random):
        self.lists, self.rng = lists, rng
        self.entries: dict[str, str] = {}

    def choose_entry(self, name: str, number: str = "") -> str:
        """Choose the entry for a placeholder. {person} and {person2} have the same list, but get different entries."""
        key = name + number
        if key not in self.entries:
            used = {self.entries.get(name + other_number) for other_number in ("", "2", "3")}
            self.entries[key] = self.rng.choice([entry for entry in self.lists[name] if entry not in used])
        return self.entries[key]

    def fill(self, template: str) -> str:
        """Fill a template that is a whole sentence: its first letter becomes a capital letter."""
        text = self.fill_part(template)
        return text[:1].upper() + text[1:]

    def fill_part(self, template: str) -> str:
        return _PLACEHOLDER.sub(lambda match: self.choose_entry(*match.groups()), template)


# -- generators, one for each task type; they yield rows without end, or none if the templates do not suit the task ---


def _generate_classification(
    spec: TaskSpec, labels: Sequence[str], templates: Mapping, rng: random.Random
) -> Iterator[dict]:
    columns, names = spec.text or ("text",), labels or ("negative", "positive")
    if len(columns) > 1 or len(names) != 2:  # the templates have one text and two labels
        return
    while True:
        positive = rng.random() < 0.5
        template = rng.choice(templates["positive" if positive else "negative"])
        yield {columns[0]: _TemplateFiller(templates, rng).fill(template), spec.label[0]: names[positive]}


def _generate_regression(
    spec: TaskSpec, labels: Sequence[str], templates: Mapping, rng: random.Random
) -> Iterator[dict]:
    columns = spec.text or ("text", "pair")
    if len(columns) != 2:
        return
    while True:
        (action, paraphrase, related), (other_action, *_) = rng.sample(templates["action"], 2)
        person, other_person = rng.sample(templates["person"], 2)
        first = f"{person} {action}."
        second, value = rng.choice([
            (f"{person} {paraphrase}.", _SAME), (f"{other_person} {action}.", _OTHER_PERSON),
            (f"{person} {related}.", _RELATED), (f"{person} {other_action}.", _OTHER_ACTION),
            (rng.choice(templates["unrelated"]), _UNRELATED),
        ])  # fmt: skip
        yield {columns[0]: first, columns[1]: second, spec.label[0]: value}


def _generate_multiple_choice(
    spec: TaskSpec, labels: Sequence[str], templates: Mapping, rng: random.Random
) -> Iterator[dict]:
    context_column, *choice_columns = spec.text or ("context", "choices")
    num_choices = len(choice_columns) if len(choice_columns) > 1 else 3
    while True:
        context, *choices = map(_TemplateFiller(templates, rng).fill, rng.choice(templates["statements"]))
        correct = choices[0]  # each template has the context, the correct choice, and then the wrong ones
        choices = (choices * 2)[:num_choices]
        rng.shuffle(choices)
        row = {context_column: context} | ({spec.choice_prefix_column: ""} if spec.choice_prefix_column else {})
        row |= dict(
            zip(choice_columns, choices, strict=True) if len(choice_columns) > 1 else [(choice_columns[0], choices)]
        )
        yield row | {spec.label[0]: choices.index(correct)}


def _generate_tagging(spec: TaskSpec, labels: Sequence[str], templates: Mapping, rng: random.Random) -> Iterator[dict]:
    tokens_column = spec.text[0] if spec.text else "tokens"
    while True:
        filler, tokens, tags = _TemplateFiller(templates, rng), [], []
        for part in rng.choice(templates["sentence"]).split():
            placeholder = _PLACEHOLDER.fullmatch(part)
            words = filler.choose_entry(*placeholder.groups()).split() if placeholder else [part]
            tokens += words
            tags += _tag_words(words, placeholder[1] if placeholder else "", labels, templates.get("articles", ()))
        tokens[0] = tokens[0][:1].upper() + tokens[0][1:]
        yield {tokens_column: tokens, spec.label[0]: tags}


def _tag_words(words: Sequence[str], entity_type: str, labels: Sequence[str], articles: Sequence[str]) -> list[str]:
    """Tag the words of an entity, or of other text if `entity_type` is "". An article has the tag "O"."""
    if entity_type and words[0] in articles:
        return ["O", *_tag_words(words[1:], entity_type, labels, articles)]
    tags = [f"{'I' if index else 'B'}-{entity_type}" if entity_type else "O" for index in range(len(words))]
    return [tag if not labels or tag in labels else "O" for tag in tags]


def _generate_span(spec: TaskSpec, labels: Sequence[str], templates: Mapping, rng: random.Random) -> Iterator[dict]:
    while True:
        filler = _TemplateFiller(templates, rng)
        passage = filler.fill(templates["passage"])
        if spec.unanswerable and rng.random() < 0.4:
            question, answers = filler.fill(rng.choice(templates["unanswerable"])), {"text": [], "answer_start": []}
        else:
            question, answer = map(filler.fill_part, rng.choice(templates["questions"]))
            answers = {"text": [answer], "answer_start": [passage.index(answer)]}
        columns = dict(zip(spec.text or ("context", "question"), (passage, question), strict=True))
        yield {"title": "", **columns, spec.label[0]: answers}


# name of a task type -> its generator: (task, labels of the checkpoint, templates of the language, rng) -> endless rows
_GENERATORS: dict[str, Callable[[TaskSpec, Sequence[str], Mapping, random.Random], Iterator[dict]]] = {
    "classification": _generate_classification, "regression": _generate_regression,
    "multiple_choice": _generate_multiple_choice, "tagging": _generate_tagging, "span": _generate_span,
}  # fmt: skip
