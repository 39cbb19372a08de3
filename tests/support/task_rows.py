"""Small data sets that a model can learn, with the columns of each task, and functions that write them to disk."""

import json
from pathlib import Path

import pyarrow
import pyarrow.parquet

from bertlab.config.tasks import TaskSpec
from bertlab.tasks.registry import TASK_TYPES
from bertlab.tasks.span.squad import SQUAD, read_rows

WHO = ["the potter", "the keeper", "a train", "the boats", "she", "할머니가"]
DID = ["set the bowl", "carried the lantern", "leaves at six", "stayed in", "asked for tea", "차를 끓였다"]


def sentence(number: int) -> str:
    return f"{WHO[number % 6]} {DID[number // 6 % 6]} {number}."


def rows_of(spec: TaskSpec, count: int = 24, labelled: bool = True) -> list[dict]:
    """`count` rows in the format of the hub; the text determines the label."""
    rows = []
    for number in range(count):
        kind, row = spec.kind, {} if not spec.id else {spec.id: number if spec.id == "idx" else f"id{number}"}
        if kind in ("classification", "regression"):
            label = number % max(2, len(spec.labels)) if kind == "classification" else number % 6 * 1.0
            for column in spec.text:
                row[column] = f"{sentence(number)} {DID[int(label)]}"
        elif kind == "sentence_embedding":
            label = number % len(spec.labels) if spec.labels else number % 6 * 1.0
            for place, column in enumerate(spec.text):
                row[column] = f"{sentence(number // 3)} {DID[int(label) * place % 6]}"
        elif kind == "multiple_choice":
            label = number % (4 if len(spec.text) > 2 else 3)
            row[spec.text[0]] = sentence(number)
            choices = [DID[0] if choice == label else DID[1] for choice in range(4 if len(spec.text) > 2 else 3)]
            if len(spec.text) > 2:
                row |= {spec.choice_prefix_column: "she", **dict(zip(spec.text[1:], choices, strict=True))}
            else:
                row[spec.text[1]] = choices
        elif kind == "tagging":
            words = sentence(number).split()
            name = spec.labels[1][2:]
            tags = [f"B-{name}" if i == 0 else f"I-{name}" if i == 1 else "O" for i in range(len(words))]
            if spec.unit == "character":
                tagged_words = zip(words, tags, strict=True)
                tags = [tag for word, first in tagged_words for tag in [first, *["O"] * len(word)]][:-1]
                words = list(" ".join(words))
            row["tokens"], label = words, tags
        else:
            context = f"{sentence(number)} Rain fell."
            impossible = spec.unanswerable and number % 3 == 0
            answers = {"text": [WHO[number % 6]], "answer_start": [0]}
            row |= {
                "title": "t", "context": context, "question": "Who?",
                "answers": {"text": [], "answer_start": []} if impossible else answers,
            }  # fmt: skip
            if spec.id == "guid":
                row["is_impossible"] = impossible
            rows.append(row)
            continue
        if not labelled:
            label = -1 if kind in ("classification", "regression", "multiple_choice", "sentence_embedding") else None
        row[spec.label[0]] = label
        rows.append(row)
    return rows


def read_examples(data, spec: TaskSpec, *args, **options):
    """The examples of rows, read by the spec's task type."""
    return TASK_TYPES[spec.kind].read(data, spec, *args, **options)


def read_squad(path, invalid_rows=None, spec: TaskSpec = SQUAD) -> list[dict]:
    return read_rows(path, "train", invalid_rows, spec)


def features_of(tokenizer, examples, max_tokens: int):
    """The inputs of examples, made by their task type."""
    return TASK_TYPES[examples.spec.kind].encode(tokenizer, examples, max_tokens)


def metrics_of(examples, predictions) -> dict:
    """The metrics of predictions, computed by the examples' task type."""
    return TASK_TYPES[examples.spec.kind].score(examples, predictions)


def predictions_of(loaded, examples, max_tokens: int) -> list:
    """The predictions of a checkpoint for examples."""
    task_type = TASK_TYPES[examples.spec.kind]
    features = features_of(loaded.tokenizer, examples, max_tokens)
    return task_type.choose(examples, task_type.compute_outputs(loaded.model, features))


def directory_of(place: Path, spec: TaskSpec) -> Path:
    """Write the training split, every validation split and every test split as Parquet files."""
    place.mkdir(parents=True, exist_ok=True)
    for split in ("train", *spec.validation, *spec.test):
        rows = rows_of(spec, 24 if split == "train" else 12, labelled=split not in spec.test)
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), place / f"{split}.parquet")
    return place


def jsonl(path: Path, rows: list[dict]) -> Path:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path
