"""Sample rows to try the evaluation page with, in the columns of a task: `samples.toml` in each folder of
`bertlab/locales`."""

import csv
import io
import json
from collections.abc import Sequence

from bertlab.config.languages import read_data
from bertlab.config.tasks import TaskSpec
from bertlab.tasks.registry import TASK_TYPES


def sample(spec: TaskSpec, labels: Sequence[str], language: str) -> str:
    """A few labelled rows as CSV, JSON lines or, for questions, SQuAD's JSON.

    Args:
        spec: the task whose columns the rows have.
        labels: the labels of the checkpoint. Other labels do not occur.
        language: a language code; English where the language has no samples.

    >>> from bertlab.config.tasks import TASKS
    >>> print(sample(TASKS["sst2"], ("negative", "positive"), "en").splitlines()[1])
    A small wonder from the first scene to the last.,positive
    """
    return _SAMPLES.get(TASK_TYPES[spec.kind].name, _classification)(spec, labels, read_data("samples", language))


def _classification(spec: TaskSpec, labels: Sequence[str], texts: dict) -> str:
    text, *rest = spec.text or ("text",)
    values = (labels[0], labels[-1]) if labels else (1.0, 4.0)
    second = {rest[0]: texts["second"]} if rest else {}
    return _csv([{text: one} | second | {spec.label[0]: values[positive]} for one, positive in texts["classification"]])


def _regression(spec: TaskSpec, labels: Sequence[str], texts: dict) -> str:
    if len(spec.text) != 2:
        return _classification(spec, labels, texts)
    return _csv([dict(zip((*spec.text, spec.label[0]), row, strict=True)) for row in texts["regression"]])


def _multiple_choice(spec: TaskSpec, labels: Sequence[str], texts: dict) -> str:
    text, *rest = spec.text or ("text",)
    context, *choices = texts["multiple_choice"]
    row = {text: context} | ({spec.start: ""} if spec.start else {})
    if len(rest) > 1:
        row |= dict(zip(rest, [*choices, *choices[:1] * (len(rest) - len(choices))], strict=True))
    else:
        row[rest[0] if rest else "choices"] = choices
    return json.dumps(row | {spec.label[0]: 0}, ensure_ascii=False)


def _tagging(spec: TaskSpec, labels: Sequence[str], texts: dict) -> str:
    column = spec.text[0] if spec.text else "tokens"
    return _csv(
        [{column: tokens, spec.label[0]: " ".join(_tags(tags.split(), labels))} for tokens, tags in texts["tagging"]]
    )


def _span(spec: TaskSpec, labels: Sequence[str], texts: dict) -> str:
    return _squad_json(texts["passage"], texts["questions"])


# task type -> its function; others have the rows of a classification
_SAMPLES = {"regression": _regression, "multiple_choice": _multiple_choice, "tagging": _tagging, "span": _span}


def _csv(table: Sequence[dict]) -> str:
    file = io.StringIO(newline="")
    writer = csv.DictWriter(file, list(table[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(table)
    return file.getvalue()


def _tags(kinds: Sequence[str], labels: Sequence[str]) -> list[str]:
    """Entity types as the checkpoint's own tags; "O" for those it does not have."""
    outside = "O" if "O" in labels else labels[0]
    before, tags = "-", []
    for kind in kinds:
        tag = f"{'I' if kind == before else 'B'}-{kind}"
        tags.append(tag if tag in labels else outside)
        before = kind
    return tags


def _squad_json(context: str, answered: Sequence[tuple[str, str]]) -> str:
    questions = [
        {"id": str(number), "question": question,
         "answers": [{"text": answer, "answer_start": context.index(answer)}] if answer else []}
        for number, (question, answer) in enumerate(answered, 1)
    ]  # fmt: skip
    return json.dumps(
        {"data": [{"paragraphs": [{"context": context, "qas": questions}]}]}, ensure_ascii=False, indent=1
    )
