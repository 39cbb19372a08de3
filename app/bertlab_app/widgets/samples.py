"""Sample rows for the Evaluation page, in the columns of a task. The texts are in `locales/*/samples.toml`."""

import csv
import io
import json
from collections.abc import Sequence

from bertlab.config.languages import read_data
from bertlab.config.tasks import TaskSpec


def format_sample_rows(spec: TaskSpec, labels: Sequence[str], language: str) -> str:
    """Return a few labelled rows as CSV, JSON Lines or, for questions, in SQuAD's JSON format.

    Args:
        spec: the task, which determines the columns.
        labels: the labels of the checkpoint; the rows have only labels from this list.
        language: a language code; a language without samples gets the English ones.

    >>> from bertlab.config.tasks import TASKS
    >>> print(format_sample_rows(TASKS["sst2"], ("negative", "positive"), "en").splitlines()[1])
    A small wonder from the first scene to the last.,positive
    """
    return _FORMATTERS.get(spec.kind, _format_classification)(spec, labels, read_data("samples", language))


def _format_classification(spec: TaskSpec, labels: Sequence[str], texts: dict) -> str:
    """Format one row for each sample text, with the first or the last label of the checkpoint, as CSV."""
    text_column, *other_columns = spec.text or ("text",)
    values = (labels[0], labels[-1]) if labels else (1.0, 4.0)
    second_text = {other_columns[0]: texts["second"]} if other_columns else {}
    return _format_csv(
        [
            {text_column: text} | second_text | {spec.label[0]: values[positive]}
            for text, positive in texts["classification"]
        ]
    )


def _format_regression(spec: TaskSpec, labels: Sequence[str], texts: dict) -> str:
    """Format pairs of texts with a value as CSV; for a task with one text, the rows of classification."""
    if len(spec.text) != 2:
        return _format_classification(spec, labels, texts)
    return _format_csv([dict(zip((*spec.text, spec.label[0]), row, strict=True)) for row in texts["regression"]])


def _format_multiple_choice(spec: TaskSpec, labels: Sequence[str], texts: dict) -> str:
    """Format one row, whose first choice is correct, as a line of JSON."""
    context_column, *choice_columns = spec.text or ("text",)
    context, *choices = texts["multiple_choice"]
    row = {context_column: context} | ({spec.choice_prefix_column: ""} if spec.choice_prefix_column else {})
    if len(choice_columns) > 1:  # one column for each choice; the first choice fills any further columns
        cells = [*choices, *choices[:1] * (len(choice_columns) - len(choices))]
        row |= dict(zip(choice_columns, cells, strict=True))
    else:
        row[choice_columns[0] if choice_columns else "choices"] = choices
    return json.dumps(row | {spec.label[0]: 0}, ensure_ascii=False)


def _format_tagging(spec: TaskSpec, labels: Sequence[str], texts: dict) -> str:
    """Format sentences with one tag for each word as CSV."""
    column = spec.text[0] if spec.text else "tokens"
    return _format_csv(
        [
            {column: tokens, spec.label[0]: " ".join(_make_tags(tags.split(), labels))}
            for tokens, tags in texts["tagging"]
        ]
    )


def _format_questions(spec: TaskSpec, labels: Sequence[str], texts: dict) -> str:
    """Format a passage and questions about it in the JSON format of SQuAD."""
    context = texts["passage"]
    questions = [
        {"id": str(number), "question": question,
         "answers": [{"text": answer, "answer_start": context.index(answer)}] if answer else []}
        for number, (question, answer) in enumerate(texts["questions"], 1)
    ]  # fmt: skip
    return json.dumps(
        {"data": [{"paragraphs": [{"context": context, "qas": questions}]}]}, ensure_ascii=False, indent=1
    )


# task type -> the function that formats its sample rows; for other task types, `_format_classification` does
_FORMATTERS = {
    "regression": _format_regression, "multiple_choice": _format_multiple_choice, "tagging": _format_tagging,
    "span": _format_questions,
}  # fmt: skip


def _format_csv(table: Sequence[dict]) -> str:
    file = io.StringIO(newline="")
    writer = csv.DictWriter(file, list(table[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(table)
    return file.getvalue()


def _make_tags(entity_types: Sequence[str], labels: Sequence[str]) -> list[str]:
    """Convert the entity type of every word to a tag of the checkpoint; "O" if the checkpoint has no such tag."""
    outside = "O" if "O" in labels else labels[0]
    previous, tags = "-", []
    for entity_type in entity_types:
        tag = f"{'I' if entity_type == previous else 'B'}-{entity_type}"
        tags.append(tag if tag in labels else outside)
        previous = entity_type
    return tags
