"""Write the training and evaluation rows of *squad*: SQuAD v1.1, generated and real unanswerable questions.

Run `python scripts/squad_rows.py DATA OUT`. DATA has `squad/train.parquet` and `squad_v2/validation.parquet`. OUT gets
train.parquet (v1.1's training set, unanswerable questions generated from it, and the questions of `TRAINING_ARTICLES`
of v2.0) and validation.parquet (the other articles of v2.0).
"""

import sys
from pathlib import Path

import pyarrow
import pyarrow.parquet

from bertlab.tasks.span.unanswerable import add_unanswerable

# articles of v2.0's development set that are not in the half of v1.1's development set at hand
TRAINING_ARTICLES = {
    "Computational_complexity_theory", "Ctenophora", "Huguenot", "Imperialism", "Islamism", "Rhine",
}  # fmt: skip
GENERATED = 0.3  # generated unanswerable questions for each question of v1.1
REAL_COPIES, ANSWERABLE_COPIES = 4, 2  # how often each unanswerable and each answerable question of v2.0 is used


def main() -> None:
    """Write both files."""
    data, out = map(Path, sys.argv[1:])
    out.mkdir(parents=True, exist_ok=True)
    answerable = pyarrow.parquet.read_table(data / "squad" / "train.parquet")
    rows = add_unanswerable(answerable.to_pylist(), GENERATED)
    held_out = []
    for row in pyarrow.parquet.read_table(data / "squad_v2" / "validation.parquet").to_pylist():
        if row["title"] not in TRAINING_ARTICLES:
            held_out.append(row)
            continue
        copies = ANSWERABLE_COPIES if row["answers"]["text"] else REAL_COPIES
        rows += [row | {"id": f"{row['id']}.{number}"} for number in range(copies)]
    for name, part in (("train", rows), ("validation", held_out)):
        table = pyarrow.Table.from_pylist(part, schema=answerable.schema)
        pyarrow.parquet.write_table(table, out / f"{name}.parquet")
        print(f"{name}: {len(part):,} questions, {sum(not row['answers']['text'] for row in part):,} without an answer")


if __name__ == "__main__":
    main()
