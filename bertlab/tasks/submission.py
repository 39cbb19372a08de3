"""What a model said, in files: each benchmark's own format, and back again to be scored.

GLUE: a table of index and prediction, tabs between, under the official names (https://gluebenchmark.com/faq). Tags: a
token and its tag a line, a blank line between sentences, as CoNLL has it. Everything else: a table like GLUE's; a name
in .csv gives commas. Knows no model.
"""

import csv
import io
import math
from collections.abc import Sequence
from pathlib import Path

from bertlab.config.errors import DataError
from bertlab.config.files import write_atomically
from bertlab.tasks.examples import Examples
from bertlab.text.readers.rows import read_file


def place(out: Path, task: str, examples: Examples, number: int = 0, several: bool = False) -> Path:
    """The file to write: `out` itself, or in a directory the one that the benchmark wants.

    Args:
        number: which of the task's test splits this is; several: whether there are more than one, so that `out` cannot
            be a single file.

    Raises:
        DataError: several sets of predictions for one file.
    """
    if out.is_dir() or not out.suffix:
        files = examples.spec.submission
        return out / (files[number] if number < len(files) else f"{task}.{'conll' if _is_tags(examples) else 'tsv'}")
    if several:
        raise DataError(f"{task} has several sets of predictions: name a directory to write them to, not {out}")
    return out


def write(path: Path, examples: Examples, given: Sequence) -> None:
    """Predictions as `labelled.answers` gives them; the file is there whole or not at all.

    Raises:
        BertlabError: it cannot be written.
    """
    text = _conll(examples, given) if _is_tags(examples) else _table(path, examples, given)
    write_atomically(path, text)


def read(path: Path, examples: Examples) -> list:
    """Anybody's predictions, in the order of the examples; ids decide, not the order in the file.

    Raises:
        DataError: the file is damaged, an id is missing, unknown or twice there, or a label is unknown.
    """
    if _is_tags(examples):
        return _read_conll(path, examples)
    found = read_file(path)
    names = ("index", "id"), ("prediction", "label")
    columns = [next((name for name in options if name in found.columns), None) for options in names]
    if None in columns:
        raise DataError(f"{path} holds no predictions: expected the columns index and prediction")
    said: dict[str, object] = {}
    wanted = {row.id for row in examples}
    for number, row in enumerate(found.rows, 1):
        id = str(row[columns[0]])
        if id in said:
            raise DataError(f"{path}: row {number} predicts {id} a second time")
        if id not in wanted:
            raise DataError(f"{path}: row {number} predicts {id}, which {examples.name} does not have")
        said[id] = _answer(row[columns[1]], examples, f"{path}: row {number}")
    missing = [row.id for row in examples if row.id not in said]
    if missing:
        raise DataError(f"{path} says nothing of {len(missing)} rows of {examples.name}, the first is {missing[0]}")
    return [said[row.id] for row in examples]


def _is_tags(examples: Examples) -> bool:
    return examples.spec.kind == "tag"


def _table(path: Path, examples: Examples, given: Sequence) -> str:
    text = io.StringIO()
    writer = csv.writer(text, delimiter="," if path.suffix == ".csv" else "\t", lineterminator="\n")
    writer.writerow(["index", "prediction"])
    spec = examples.spec
    for row, answer in zip(examples, given, strict=True):
        if spec.kind == "regress":
            # STS-B's scale ends there, and GLUE refuses what lies outside
            shown = f"{min(5.0, max(0.0, answer)) if spec.submission else answer:.3f}"
        elif spec.kind == "classify":
            # GLUE's numbers are the task's, whatever order a checkpoint has its labels in
            shown = name = examples.labels[answer]
            if spec.submission and not spec.names:
                if name not in spec.labels:
                    raise DataError(f"row {row.id} of {examples.name} is told to be {name!r}, which the task has not")
                shown = str(spec.labels.index(name))
        else:
            shown = str(answer)
        writer.writerow([row.id, shown])
    return text.getvalue()


def _answer(cell: object, examples: Examples, where: str) -> int | float:
    spec, shown = examples.spec, str(cell).strip()
    try:
        if spec.kind == "regress":
            if math.isfinite(value := float(shown)):
                return value
        elif shown in examples.labels:
            return examples.labels.index(shown)
        elif (number := int(shown)) >= 0:
            if spec.kind == "choose":
                return range(examples.choices)[number]
            return examples.labels.index((spec.labels or examples.labels)[number])
    except (ValueError, IndexError):
        pass
    raise DataError(f"{where} has {shown!r}, which is no answer to this task")


def _conll(examples: Examples, given: Sequence) -> str:
    # a token that is a space itself, as in KLUE-NER, stays one: the tab parts it from its tag
    lines = (
        "".join(f"{token}\t{tag}\n" for token, tag in zip(row.texts, tags, strict=True))
        for row, tags in zip(examples, given, strict=True)
    )
    return "\n".join(lines)


def _read_conll(path: Path, examples: Examples) -> list[list[str]]:
    try:
        blocks = path.read_text(encoding="utf-8").split("\n\n")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"cannot read {path}: {getattr(error, 'strerror', None) or 'not UTF-8 text'}") from None
    sentences = [[line for line in block.split("\n") if line] for block in blocks]
    sentences = [sentence for sentence in sentences if sentence]
    if len(sentences) != len(examples):
        raise DataError(f"{path} has {len(sentences)} sentences, {examples.name} has {len(examples)}")
    given = []
    for number, (lines, row) in enumerate(zip(sentences, examples, strict=True), 1):
        if len(lines) != len(row.texts):
            raise DataError(f"{path}: sentence {number} has {len(lines)} tags for {len(row.texts)} tokens")
        tags = [line.replace("\t", " ").rpartition(" ")[2] for line in lines]
        if unknown := next((tag for tag in tags if tag not in examples.labels), None):
            raise DataError(f"{path}: sentence {number} has the unknown tag {unknown!r}")
        given.append(tags)
    return given
