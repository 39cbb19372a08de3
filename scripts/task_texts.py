"""Write the training rows of some tasks as plain text for pre-training.

Run `python scripts/task_texts.py DATA OUT`. OUT gets one Parquet file with the columns `id` and `text` for each task.
The texts of a row, such as a premise and its hypothesis, are the lines of one document; rows that begin with the same
text share a document. A document with a text that also stands in a validation or test file of the task is left out.
"""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow
import pyarrow.parquet

# task -> the columns with its texts
TASKS = {
    "korean/nsmc": ["document"],
    "korean/xnli_ko": ["premise", "hypothesis"],
    "korean/klue_sts": ["sentence1", "sentence2"],
    "comve": ["choices"],
    "glue/stsb": ["sentence1", "sentence2"],
    "glue/mrpc": ["sentence1", "sentence2"],
    "glue/rte": ["sentence1", "sentence2"],
    "glue/sst2": ["sentence"],
}


def read_texts(path: Path, columns: Sequence[str]) -> Iterator[list[str]]:
    """Yield the texts of each row; of a multiple-choice row, the right choice."""
    for row in pyarrow.parquet.read_table(path).to_pylist():
        values = [row[column] for column in columns]
        texts = [value[int(row["label"])] if isinstance(value, list) else value for value in values]
        yield [text.strip() for text in texts if text and text.strip()]


def collect_documents(rows: Iterator[list[str]], held_out: set[str]) -> list[str]:
    """Join the texts of rows that begin with the same text, without repetitions, into documents of one text per line.

    >>> collect_documents(iter([["a", "b"], ["a", "c"], ["d"], []]), held_out={"d"})
    ['a\\nb\\nc']
    """
    documents: dict[str, dict[str, None]] = {}
    for texts in filter(None, rows):
        documents.setdefault(texts[0], {}).update(dict.fromkeys(texts))
    return ["\n".join(texts) for texts in documents.values() if held_out.isdisjoint(texts)]


def main() -> None:
    """Write the files."""
    data, out = map(Path, sys.argv[1:])
    out.mkdir(parents=True, exist_ok=True)
    for task, columns in TASKS.items():
        files = [data / task / name for name in ("validation.parquet", "test.parquet")]
        held_out = {text for file in files if file.is_file() for texts in read_texts(file, columns) for text in texts}
        documents = collect_documents(read_texts(data / task / "train.parquet", columns), held_out)
        name = Path(task).name
        rows = [{"id": f"{name}-{number}", "text": text} for number, text in enumerate(documents)]
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), out / f"{name}.parquet")
        print(f"{name}: {len(documents):,} documents, {sum(map(len, documents)):,} characters")


if __name__ == "__main__":
    main()
