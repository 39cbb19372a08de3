"""Split development sets of KorQuAD and KLUE-NLI into training and evaluation rows.

Run `python scripts/korean_splits.py DATA OUT`.

DATA is a directory with `korquad/KorQuAD_v1.0_dev.json.gz`, `klue_nli/validation.parquet` and `xnli_ko/train.parquet`;
the official training sets are not in it. Part of each development set is therefore used for training, and the rest for
evaluation. These are not the official splits, so results on them are not comparable with published ones.

- KorQuAD: every fifth article of the file is for evaluation, the others are for training.
- KLUE-NLI: of every four premises, in the order of the file, the first two are for training and the other two for
  evaluation; all rows with the same premise are in one part. The rows of the Korean part of XNLI are for training too.
"""

import gzip
import json
import sys
from collections.abc import Sequence
from pathlib import Path

import pyarrow
import pyarrow.parquet

EVALUATION_INTERVAL = 5  # one of this many articles is for evaluation
# Premises are split in groups of two, because every second premise of the file has one row and the others have two.
PREMISES_PER_GROUP = 2
NLI_COLUMNS = ["premise", "hypothesis", "label"]


def split_articles(articles: Sequence[dict]) -> dict[str, list[dict]]:
    """Split the articles of KorQuAD.

    >>> parts = split_articles([{"title": str(number)} for number in range(1, 8)])
    >>> [article["title"] for article in parts["validation"]], len(parts["train"])
    (['5'], 6)
    """
    parts: dict[str, list[dict]] = {"train": [], "validation": []}
    for number, article in enumerate(articles, 1):
        parts["train" if number % EVALUATION_INTERVAL else "validation"].append(article)
    return parts


def split_premises(rows: Sequence[dict]) -> dict[str, list[dict]]:
    """Split the rows of KLUE-NLI by their premise.

    >>> parts = split_premises([{"premise": premise} for premise in "aabcdbce"])
    >>> ["".join(row["premise"] for row in part) for part in parts.values()]
    ['aabbe', 'cdc']
    """
    numbers: dict[str, int] = {}
    parts: dict[str, list[dict]] = {"train": [], "validation": []}
    for row in rows:
        number = numbers.setdefault(row["premise"], len(numbers))
        parts["validation" if number // PREMISES_PER_GROUP % 2 else "train"].append(row)
    return parts


def write_korquad(data: Path, out: Path) -> None:
    """Write `train.json` and `validation.json` in the format of KorQuAD to a directory."""
    with gzip.open(data / "korquad" / "KorQuAD_v1.0_dev.json.gz", "rt", encoding="utf-8") as file:
        content = json.load(file)
    out.mkdir(parents=True, exist_ok=True)
    for split, articles in split_articles(content["data"]).items():
        text = json.dumps(content | {"data": articles}, ensure_ascii=False)
        (out / f"{split}.json").write_text(text, encoding="utf-8")


def write_klue_nli(data: Path, out: Path) -> None:
    """Write `train.parquet` and `validation.parquet` to a directory."""
    rows, translated_rows = (
        pyarrow.parquet.read_table(data / name, columns=NLI_COLUMNS).to_pylist()
        for name in ("klue_nli/validation.parquet", "xnli_ko/train.parquet")
    )
    parts = split_premises(rows)
    parts["train"] = [*translated_rows, *parts["train"]]
    out.mkdir(parents=True, exist_ok=True)
    for split, part in parts.items():
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(part), out / f"{split}.parquet")


def main() -> None:
    """Write both splits to the directory of the second argument."""
    data, out = map(Path, sys.argv[1:])
    write_korquad(data, out / "korquad")
    write_klue_nli(data, out / "klue_nli")


if __name__ == "__main__":
    main()
