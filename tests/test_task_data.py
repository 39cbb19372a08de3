"""Reading rows of tasks from files, errors that name invalid rows, and the features made from rows."""

import gzip
import io
import json
import lzma
import os
import tracemalloc
from pathlib import Path

import datasets
import httpx2
import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
from support.errors import raises_error, raises_row_error
from support.task_rows import directory_of, features_of, jsonl, read_examples, rows_of
from transformers import BertTokenizerFast

from bertlab.config.errors import DataError, NoSuchSplit
from bertlab.config.languages import Message
from bertlab.config.tasks import TaskSpec, get_task
from bertlab.tasks.examples import hold_out
from bertlab.tasks.features import NO_TAG, compute_truncated_lengths
from bertlab.tasks.registry import TASK_TYPES
from bertlab.tasks.span.squad import read_rows, read_scores
from bertlab.tasks.tag_alignment import spread_tags
from bertlab.text.batches import ShuffledSampler
from bertlab.text.readers import data_file, json_values, registry
from bertlab.text.readers import hub as hubs
from bertlab.text.readers.data_file import Limits
from bertlab.text.readers.documents import find_shards, read_texts
from bertlab.text.readers.invalid_rows import InvalidRows
from bertlab.text.readers.rows import Rows, read_file, row_id
from bertlab.text.readers.splits import find_split, has_split, read_split
from scripts import korean_splits

SST2, RTE, STSB, SWAG, WNUT = map(get_task, ("sst2", "rte", "stsb", "swag", "wnut17"))


def read_error(*args, **options) -> str:
    with pytest.raises(DataError) as error:
        read_examples(*args, **options)
    assert "\n" not in str(error.value)
    return str(error.value)


def data(rows: list[dict], **names) -> Rows:
    return Rows("mine.csv", tuple(dict.fromkeys(column for row in rows for column in row)), rows, names)


# -- files -------------------------------------------------------------------------------------------------------

ROWS = [{"text": 'tea, "green"\nhot', "label": "good"}, {"text": "찻잔", "label": "bad"}]
CSV = 'text,label\n"tea, ""green""\nhot",good\n찻잔,bad\n'


COMPRESSIONS = {
    "": bytes,
    ".gz": gzip.compress,
    ".xz": lzma.compress,
    ".zst": lambda content: pyarrow.compress(content, "zstd", asbytes=True),
}


def parquet_bytes(table: pyarrow.Table) -> bytes:
    sink = io.BytesIO()
    pyarrow.parquet.write_table(table, sink)
    return sink.getvalue()


@pytest.mark.parametrize("suffix", COMPRESSIONS)
@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.json", "a.jsonl", "a.parquet"])
def test_every_format_gives_the_same_rows_plain_and_compressed(name, suffix, tmp_path):
    content = {
        ".csv": ("\ufeff" + CSV).encode(),
        ".tsv": 'text\tlabel\n"tea, ""green""\nhot"\tgood\n찻잔\tbad\n'.encode(),
        ".json": json.dumps(ROWS, indent=1).encode(),
        ".jsonl": "".join(json.dumps(row) + "\n" for row in ROWS).encode(),
        ".parquet": parquet_bytes(pyarrow.Table.from_pylist(ROWS)),
    }[Path(name).suffix]
    path = tmp_path / (name + suffix)
    path.write_bytes(COMPRESSIONS[suffix](content))
    rows = read_file(path)
    assert rows.rows == ROWS
    assert rows.columns == ("text", "label")
    # the same files are texts for a corpus
    shards, invalid = find_shards([str(path)])
    assert not invalid
    assert [text for shard in shards for _, text, _ in read_texts(shard)] == [row["text"] for row in ROWS]


@pytest.mark.parametrize("suffix", COMPRESSIONS)
def test_plain_text_gives_a_row_for_each_document(suffix, tmp_path):
    (tmp_path / f"a.txt{suffix}").write_bytes(COMPRESSIONS[suffix]("Tea.\nHot.\n\n찻잔.\n".encode()))
    assert read_file(tmp_path / f"a.txt{suffix}").rows == [{"text": "Tea.\nHot."}, {"text": "찻잔."}]


@pytest.mark.parametrize("encoding", ["cp949", "utf-16", "utf-8-sig"])
def test_tables_as_excel_saves_them_are_read(encoding, tmp_path):
    (tmp_path / "a.csv").write_bytes('리뷰,감정\n"재미있다, 정말",긍정\n지루하다,부정\n'.encode(encoding))
    table = read_file(tmp_path / "a.csv")
    assert table.rows == [{"리뷰": "재미있다, 정말", "감정": "긍정"}, {"리뷰": "지루하다", "감정": "부정"}]


def test_a_stray_quote_in_a_tab_separated_file_is_text(tmp_path):
    (tmp_path / "a.tsv").write_text("index\tsentence\n0\ta \"stray quote\n1\t5' tall\n")
    assert [row["sentence"] for row in read_file(tmp_path / "a.tsv").rows] == ['a "stray quote', "5' tall"]


@pytest.mark.parametrize(
    ("name", "content", "id"),
    [
        ("a.csv", "text,text\na,b\n", "table-columns-repeated"),
        ("a.csv", "text,label\n", "file-without-rows"),
        ("a.csv", "", "file-empty"),
        ("a.csv", " \n", "file-empty"),
        ("a.csv", "id;text\n1;Tea.\n", "table-delimiter-not-comma"),
        ("a.tsv", "title; text\nTea; Hot.\n", "table-delimiter-not-tab"),
        ("a.json", "[]", "file-without-rows"),
        ("a.parquet", "PAR1", "file-not-parquet"),
        ("a.xlsx", "x", "file-format-unknown"),
        ("a", "x", "file-format-unknown"),
    ],
)
def test_an_unreadable_file_raises_an_error_with_its_name(name, content, id, tmp_path):
    (tmp_path / name).write_text(content)
    with raises_error(DataError, id) as record:
        read_file(tmp_path / name)
    assert name in str(record.value)


@pytest.mark.parametrize(
    ("name", "content", "row", "id"),
    [
        ("a.csv", "text,label\nfine,1\nbroken\n", 3, "row-field-count"),
        ("a.csv", 'text,label\n"open,1\n', 2, "row-table-damaged"),
        ("a.csv", b"text\nfine\ncaf\xe9\n", 3, "row-not-decodable"),
        ("a.jsonl", '{"text": 1}\n{"text": \n', 2, "row-not-json"),
        ("a.jsonl", '{"text": 1}\n[1]\n', 2, "row-not-an-object"),
        ("a.jsonl", '{"text": 1}\n{"text": ' + "7" * 5000 + "}\n", 2, "row-integer-too-long"),
        ("a.jsonl", '{"text": ' + "[" * 10**6 + "\n", 1, "row-json-too-deep"),
        ("a.jsonl", '{"a\\udc00": 1}\n', 1, "row-column-name-invalid"),
        ("a.json", '[{"text": 1}', 2, "rows-after-unreadable"),
        ("a.json", '{"text": ' + "[" * 10**6, 1, "row-json-too-deep"),
        ("a.json.gz", "not gzip", 1, "row-not-json"),
    ],
)
def test_an_invalid_row_raises_an_error_with_its_number(name, content, row, id, tmp_path):
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    with raises_error(DataError, "invalid-row", source=str(tmp_path / name), row=row) as record:
        read_file(tmp_path / name)
    assert record.value.params["reason"].id == id


def test_rows_keep_their_numbers_when_others_are_skipped(tmp_path, capsys):
    long = '{"text": ' + "7" * 5000 + "}\n"
    (tmp_path / "train-00000-of-00002.jsonl").write_text('{"text": "a"}\n{"text": \n{"text": "b"}\n' + long)
    (tmp_path / "train-00001-of-00002.jsonl").write_text('[1]\n{"text": "c"}\n')
    invalid_rows = InvalidRows("skip")
    rows = read_split(tmp_path, "train", invalid_rows=invalid_rows)
    assert list(rows.enumerate_rows()) == [(1, {"text": "a"}), (3, {"text": "b"}), (6, {"text": "c"})]
    assert [error.params["row"] for error in invalid_rows.errors] == [2, 4, 1]
    assert capsys.readouterr().err.count("skipped: ") == 3
    with raises_row_error("row-not-json", row=2):
        read_split(tmp_path, "train", invalid_rows=InvalidRows("stop"))
    (tmp_path / "train-00000-of-00002.jsonl").write_text(long)
    with raises_error(DataError, "no-usable-row", count=1):
        read_split(tmp_path, "train", invalid_rows=InvalidRows("skip"))


@pytest.mark.parametrize("score", ["NaN", "1" + "0" * 400, "true", '"0.5"', "null"])
def test_no_answer_scores_are_numbers(score, tmp_path):
    (tmp_path / "scores.json").write_text(f'{{"q1": 0.5, "q2": {score}}}')
    with raises_error(DataError, "no-answer-scores-invalid"):
        read_scores(tmp_path / "scores.json")


def test_text_of_any_arrow_type_is_text(tmp_path):
    """Categories of pandas are dictionaries, and other programs write large strings or string views."""
    texts = ["Tea.", "Rain.", "Tea."]
    for kind in (pyarrow.dictionary(pyarrow.int8(), pyarrow.string()), pyarrow.string_view(), pyarrow.large_string()):
        pyarrow.parquet.write_table(pyarrow.table({"text": pyarrow.array(texts).cast(kind)}), tmp_path / "a.parquet")
        shards, invalid = find_shards([str(tmp_path / "a.parquet")])
        assert not invalid
        assert [text for shard in shards for _, text, _ in read_texts(shard)] == texts
        assert [row["text"] for row in read_file(tmp_path / "a.parquet").rows] == texts


def test_invalid_parquet_content_raises_an_error(tmp_path):
    path = tmp_path / "a.parquet"
    array = pyarrow.array(["a", "b"])
    pyarrow.parquet.write_table(pyarrow.Table.from_arrays([array, array], names=["text", "text"]), path)
    with raises_error(DataError, "table-columns-repeated", columns=["text"]):
        read_file(path)
    _, (error,) = find_shards([str(path)])
    assert error.id == "table-columns-repeated"
    years = pyarrow.array([0, 300 * 10**15], pyarrow.timestamp("us"))  # in the year 11476
    pyarrow.parquet.write_table(pyarrow.table({"text": ["a", "b"], "date": years}), path)
    with raises_error(DataError, "invalid-row", row=2) as record:
        read_file(path)
    assert record.value.params["reason"].id == "row-value-unreadable"
    text = pyarrow.array([b"Fine.", b"caf\xe9"]).view(pyarrow.string())
    pyarrow.parquet.write_table(pyarrow.table({"text": text}), path)
    with raises_error(DataError, "invalid-row", row=2) as record:
        read_file(path)
    assert record.value.params["reason"].id == "row-not-decodable"
    for metadata in (b"[]", b"{", b'{"info": {"features": {"text": {"_type": "ClassLabel", "names": 3}}}}'):
        table = pyarrow.table({"text": ["a"]}).replace_schema_metadata({b"huggingface": metadata})
        pyarrow.parquet.write_table(table, path)
        assert read_file(path).label_names == {}


def test_a_file_name_that_is_not_utf_8_raises_an_error(tmp_path):
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.jsonl"))
    path.write_text('{"text": "Tea."}\n')
    with raises_error(DataError, "file-name-not-utf-8"):
        read_file(path)
    shards, (error,) = find_shards([str(tmp_path)])
    assert not shards
    assert error.id == "file-name-not-utf-8"


def test_an_id_that_is_not_unicode_is_an_invalid_row(tmp_path):
    with raises_error(DataError, "row-id-invalid"):
        row_id({"id": "\ud800"}, "id", 1)


# -- limits ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a.jsonl.gz", "a.csv.xz", "a.json.zst", "a.txt.gz", "a.parquet.gz"])
def test_a_decompression_bomb_raises_an_error(name, tmp_path, monkeypatch):
    """20 MB of line breaks in a file of a few kB are read no further than the allowed ratio.

    Recording memory is slow, so that ratio is lower here: gzip stores 1 kB of line breaks in one byte.
    """
    monkeypatch.setattr(data_file, "MIN_CHECKED_BYTES", 1 << 17)
    monkeypatch.setattr(data_file, "MAX_RATIO", 10)
    content = (b"text\n" if ".csv" in name else b"") + b"\n" * (20 << 20)
    (tmp_path / name).write_bytes(COMPRESSIONS[Path(name).suffix](content))
    tracemalloc.start()
    try:
        with raises_error(DataError, "compression-ratio-too-high"):
            read_file(tmp_path / name)
        assert tracemalloc.get_traced_memory()[1] < 15 << 20
    finally:
        tracemalloc.stop()


def test_an_upload_is_limited_in_size_and_lines(tmp_path, monkeypatch):
    limits = Limits(bytes=4 << 20, lines=1000)
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(os.urandom(4 << 20).hex().encode()))
    with raises_error(DataError, "compressed-file-too-large", megabytes=4):
        read_file(tmp_path / "a.jsonl.gz", limits)
    jsonl(tmp_path / "b.jsonl", ROWS * 501)
    with raises_error(DataError, "file-too-many-lines", lines=1000):
        read_file(tmp_path / "b.jsonl", limits)
    for name, content in (("c.json", json.dumps(ROWS * 501)), ("c.csv", "\n" * 1001 + "text\na\n")):
        (tmp_path / name).write_text(content)
        with raises_error(DataError, "file-too-many-lines"):
            read_file(tmp_path / name, limits)
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(ROWS * 501), tmp_path / "d.parquet")
    with raises_error(DataError, "file-too-many-lines"):
        read_file(tmp_path / "d.parquet", limits)
    assert len(read_file(tmp_path / "b.jsonl")) == 1002, "no limit where a plain file is named on the command line"


def test_a_line_that_is_too_long_is_one_invalid_row(tmp_path, monkeypatch):
    monkeypatch.setattr(data_file, "MAX_ROW_BYTES", 1000)
    monkeypatch.setattr(json_values, "MAX_ROW_BYTES", 1000)
    rows = [{"text": "tea " * 9}, {"text": "tea " * 999}, {"text": "rain " * 9}]
    jsonl(tmp_path / "a.jsonl", rows)
    (shard,), _ = find_shards([str(tmp_path / "a.jsonl")])
    read = list(read_texts(shard))
    assert [row.text for row in read] == [rows[0]["text"], None, rows[2]["text"]]
    assert [row.number for row in read] == [1, 2, 3]
    assert read[1].reason.id == "row-too-long"


# -- a format from outside the package ---------------------------------------------------------------------------


class Recipes(registry.FileFormat):
    """A toy format: a title, a colon and a text in each line."""

    suffixes = (".recipe",)

    def read(self, file, section, columns=None):
        for number, line in enumerate(file.lines(), 1):
            title, colon, text = line.decode().strip().partition(": ")
            reason = None if colon else Message("row-without-text")
            yield registry.Record(number, {"title": title, "text": text} if colon else None, reason)


@pytest.fixture
def recipes():
    registry.register(Recipes)
    yield format
    registry.unregister(Recipes)


def test_a_registered_format_is_read_everywhere(recipes, tmp_path):
    assert "recipe" in registry.upload_suffixes()
    (tmp_path / "train.recipe").write_text("Tea: Boil water.\nBread: Bake dough.\n")
    (tmp_path / "b.recipe.zst").write_bytes(COMPRESSIONS[".zst"](b"Soup: Cut leeks.\nnothing\n"))
    assert read_split(tmp_path, "train").rows[0] == {"title": "Tea", "text": "Boil water."}
    shards, _ = find_shards([str(tmp_path)])
    assert [row.text for shard in shards for row in read_texts(shard)] == [
        "Cut leeks.",
        None,
        "Boil water.",
        "Bake dough.",
    ]


def test_splits_are_found_in_a_directory(tmp_path):
    names = ("train-00000-of-00001.parquet", "dev-v1.1.json", "KorQuAD_v1.0_test.json.gz", "README.md", ".train.json")
    for name in names:
        (tmp_path / name).touch()
    for split, name in zip(("train", "validation", "test"), names, strict=False):
        assert [path.name for path in find_split(tmp_path, split)] == [name]
    with raises_error(NoSuchSplit, "split-not-found", split="validation_matched"):
        find_split(tmp_path, "validation_matched")
    (tmp_path / "train.csv").touch()
    with raises_error(DataError, "split-ambiguous", split="train"):
        find_split(tmp_path, "train")
    assert has_split(tmp_path, "validation")
    assert not has_split(tmp_path, "validation_matched")
    with raises_error(DataError, "split-ambiguous", split="train"):  # several files are not a missing split
        has_split(tmp_path, "train")
    assert not find_split("nyu-mll/glue:mnli", "train")
    assert not find_split("e9t/nsmc@refs/convert/parquet", "train")
    for missing in ("runs/a/b", "missing.csv", "missing/rows.csv"):
        with raises_error(DataError, "file-not-found", path=missing):
            find_split(missing, "train")


def test_several_files_form_one_split(tmp_path):
    names = [f"train-{number:05}-of-00012.jsonl" for number in range(12)]
    for number, name in enumerate(names):
        (tmp_path / name).write_text(json.dumps({"sentence": f"tea {number}", "label": number % 2}) + "\n")
    assert [path.name for path in find_split(tmp_path, "train")] == names
    rows = read_split(tmp_path, "train")
    assert [row["sentence"] for row in rows.rows] == [f"tea {number}" for number in range(12)]
    assert rows.name == f"{tmp_path} (train, 12 files)"
    assert has_split(tmp_path, "train")
    (tmp_path / names[3]).rename(tmp_path / "elsewhere.jsonl")
    for function in (find_split, has_split):
        with raises_error(DataError, "split-part-not-found", split="train", part=3, parts=12):
            function(tmp_path, "train")
    (tmp_path / "elsewhere.jsonl").rename(tmp_path / names[3].replace("12.jsonl", "13.jsonl"))
    with raises_error(DataError, "split-ambiguous", split="train"):
        find_split(tmp_path, "train")


def test_parts_of_a_split_have_the_same_columns(tmp_path):
    (tmp_path / "train-00000-of-00002.csv").write_text("sentence,label\nTea.,1\n")
    (tmp_path / "train-00001-of-00002.csv").write_text("text,label\nRain.,0\n")
    with raises_error(DataError, "part-column-not-found", column=["sentence"]):
        read_split(tmp_path, "train")


def test_questions_are_read_from_several_files(tmp_path):
    for number, name in enumerate(("train-00000-of-00002.json", "train-00001-of-00002.json")):
        question = {"id": str(number), "question": "Who?", "answers": [{"text": "mill", "answer_start": 4}]}
        data = {"data": [{"title": "A", "paragraphs": [{"context": "The mill.", "qas": [question]}]}]}
        (tmp_path / name).write_text(json.dumps(data))
    assert [row["id"] for row in read_rows(tmp_path, "train")] == ["0", "1"]
    (tmp_path / "train-00001-of-00002.json").write_text((tmp_path / "train-00000-of-00002.json").read_text())
    with pytest.raises(DataError, match=r"\(train, 2 files\) row 2 \(id 0\): repeats the id of row 1"):
        read_rows(tmp_path, "train")


def test_the_hub_and_a_file_give_the_same_examples(tmp_path, monkeypatch):
    """The data set itself names the labels that numbers stand for."""
    rows = [{"id": str(n), "tokens": ["the", "mill"], "ner_tags": [1, n % 2]} for n in range(4)]
    names = datasets.ClassLabel(names=["B-X", "O"])
    columns = {
        "id": datasets.Value("string"), "tokens": datasets.List(datasets.Value("string")),
        "ner_tags": datasets.List(names),
    }  # fmt: skip
    data_set = datasets.Dataset.from_list(rows, features=datasets.Features(columns))
    calls = []
    monkeypatch.setattr(datasets, "load_dataset", lambda *a, **o: calls.append((a, o)) or data_set)
    data_set.to_parquet(tmp_path / "train.parquet")
    spec = TaskSpec("tagging", "", "", ("entity_f1",), "", text=("tokens",), label=("ner_tags",))
    hub = read_examples(read_split("some/tags:en@v2", "train"), spec)
    assert calls[0][0] == ("some/tags", "en")
    assert calls[0][1] | {"split": "train", "revision": "v2"} == calls[0][1]
    file = read_examples(read_split(tmp_path, "train"), spec)
    assert hub.labels == file.labels == ("B-X", "O")
    assert hub.rows == file.rows
    assert hub[1].target == (1, 1)


@pytest.mark.parametrize(
    ("error", "reason"),
    [(httpx2.ReadError("the connection was reset"), "the connection was reset"), (TimeoutError(), "TimeoutError")],
)
def test_an_unreachable_hub_does_not_mean_a_missing_split(monkeypatch, error, reason):
    def load_dataset(*args, **options):
        raise error

    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    with raises_error(DataError, "hub-data-unavailable", reason=reason):
        has_split("some/tags", "validation")


def test_a_missing_split_is_recognised_by_the_error_of_datasets(tmp_path, monkeypatch):
    (tmp_path / "train.jsonl").write_text('{"text": "Tea."}\n')
    real, files = datasets.load_dataset, {"train": str(tmp_path / "train.jsonl")}

    def load_dataset(path, name, *, split, streaming, revision):
        return real("json", data_files=files, split=split, streaming=streaming, cache_dir=tmp_path / "cache")

    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    assert has_split("some/tags", "train")
    assert not has_split("some/tags", "validation")
    with pytest.raises(NoSuchSplit):
        hubs.load("some/tags", "validation", streaming=True)


# -- invalid rows ----------------------------------------------------------------------------------------------


def with_invalid_row(spec: TaskSpec, **changes) -> Rows:
    """Valid rows except the third, in which these cells are changed; ... removes a cell."""
    rows = rows_of(spec)
    rows[2] = {key: value for key, value in (rows[2] | changes).items() if value is not ...}
    return data(rows)


@pytest.mark.parametrize(
    ("spec", "changes", "id"),
    [
        (SST2, {"label": "grand"}, "label-unknown"),
        (SST2, {"label": 2}, "label-unknown"),
        (SST2, {"label": -1}, "label-unknown"),
        (SST2, {"label": None}, "row-without-label"),
        (SST2, {"sentence": "  "}, "row-empty"),
        (SST2, {"sentence": None}, "cell-missing"),
        (SST2, {"sentence": ["a"]}, "cell-not-text"),
        (SST2, {"idx": 0}, "row-id-repeated"),
        (RTE, {"sentence1": "", "sentence2": "\t"}, "row-empty"),
        (STSB, {"label": "many"}, "cell-not-number"),
        (STSB, {"label": "inf"}, "cell-not-number"),
        (SWAG, {"label": 4}, "choice-unknown"),
        (SWAG, {"ending1": ""}, "row-empty"),
        (WNUT, {"ner_tags": ["O"]}, "row-tag-count-differs"),
        (WNUT, {"tokens": [], "ner_tags": []}, "row-empty"),
        (WNUT, {"tokens": 7}, "cell-without-tokens"),
        (WNUT, {"tokens": ["a"], "ner_tags": ["B-dragon"]}, "label-unknown-of-many"),
        (WNUT, {"tokens": ["a", "b"], "ner_tags": ["O", ""]}, "tag-empty"),
        (WNUT, {"tokens": ["a", "b"], "ner_tags": ["O", None]}, "tag-empty"),
    ],
)
def test_an_invalid_row_stops_reading_or_is_skipped(spec, changes, id, capsys):
    rows = with_invalid_row(spec, **changes)
    with raises_row_error(id, row=3):
        read_examples(rows, spec)
    skipping = InvalidRows("skip")
    assert len(read_examples(rows, spec, invalid_rows=skipping)) == 23
    assert len(skipping) == 1
    assert "row 3" in capsys.readouterr().err


def test_minus_one_means_hidden_labels_only_if_every_label_is_minus_one():
    moods = data([{"text": sentence, "label": mood} for sentence, mood in zip("abcdef", [-1, 0, 1] * 2, strict=True)])
    own = TaskSpec("classification", "", "", ("accuracy",), "", text=("text",), id="")
    assert read_examples(moods, own, training=True).labels == ("-1", "0", "1")
    values = read_examples(moods, own.replace(kind="regression"), training=True)
    assert [row.target for row in values][:3] == [-1, 0, 1]
    hidden = data([{"text": sentence, "label": -1} for sentence in "abc"])
    assert not read_examples(hidden, own).is_labelled
    assert read_examples(hidden, own, ("-1", "0", "1")).is_labelled, "the checkpoint has a label of this name"


def test_a_pair_may_have_one_empty_text():
    """Some questions of QQP are empty, and GLUE needs predictions for them too."""
    assert len(read_examples(with_invalid_row(RTE, sentence2=""), RTE)) == 24


def test_some_errors_cannot_be_skipped():
    skip = InvalidRows("skip")
    rows = rows_of(SST2)
    assert "no column sentence; its columns are idx, text" in read_error(
        data([{"idx": 1, "text": "a", "label": 0}]), SST2
    )
    unlabelled = data([{"idx": row["idx"], "sentence": row["sentence"]} for row in rows])
    assert 'no column "label" to train on' in read_error(unlabelled, SST2, training=True)
    assert not read_examples(unlabelled, SST2).is_labelled
    assert not read_examples(data(rows_of(SST2, labelled=False)), SST2).is_labelled
    with raises_error(DataError, "training-rows-without-labels"):
        read_examples(data(rows_of(SST2, labelled=False)), SST2, training=True)
    one_label = data([row | {"label": 1} for row in rows])
    with raises_error(DataError, "one-label-only", label="'positive'"):
        read_examples(one_label, SST2, training=True)
    untagged = data([row | {"ner_tags": ["O"] * len(row["tokens"])} for row in rows_of(WNUT)])
    with raises_error(DataError, "one-label-only", label="'O'"):
        read_examples(untagged, WNUT, training=True)
    textless = data([row | {"sentence": ""} for row in rows])
    with raises_error(DataError, "no-usable-row", count=24):
        read_examples(textless, SST2, (), skip)
    choices = TaskSpec("multiple_choice", "", "", ("accuracy",), "", text=("context", "choices"))
    uneven = [{"context": "a", "choices": ["b", "c"], "label": 0}, {"context": "a", "choices": ["b"] * 3, "label": 0}]
    with raises_row_error("row-choice-count-differs", row=2, count=3, first=2):
        read_examples(data(uneven), choices)
    with raises_row_error("cell-not-list-of-texts"):
        read_examples(data([{"context": "a", "choices": "b", "label": 0}]), choices)


def test_a_label_is_read_from_a_nested_column_or_a_column_with_a_dot():
    """KLUE-STS has its value at labels.label; a column name may also contain a dot."""
    rows = [{"guid": str(n), "sentence1": "a", "sentence2": "b", "labels": {"label": n / 2}} for n in range(3)]
    assert [row.target for row in read_examples(data(rows), get_task("klue_sts"))] == [0.0, 0.5, 1.0]
    own = TaskSpec("classification", "", "", ("accuracy",), "", text=("text",), label=("my.mood",))
    named = read_examples(data([{"text": "a", "my.mood": "good"}, {"text": "b", "my.mood": "bad"}]), own)
    assert [named.labels[row.target] for row in named] == ["good", "bad"]


def test_labels_of_a_custom_task_are_found_and_sorted():
    own = TaskSpec("classification", "", "", ("accuracy",), "", text=("text",))
    for cells, labels in (
        ([10, 9, 2.0, "2"], ("2", "9", "10")),
        (["so-so", "bad ", "good", "bad"], ("bad", "good", "so-so")),
        ([True, False, True, False], ("False", "True")),
    ):
        examples = read_examples(data([{"text": f"t{n}", "label": cell} for n, cell in enumerate(cells)]), own)
        assert examples.labels == labels
    many = data([{"text": f"t{n}", "label": n / 7} for n in range(50)])
    assert "50 different values in 'label' in 50 rows" in read_error(many, own)


def test_held_out_rows_are_never_trained_on():
    whole = read_examples(data(rows_of(SST2, 40)), SST2)
    train, dev = hold_out(whole, 0.1, np.random.default_rng(3).permutation)
    assert (len(train), len(dev)) == (36, 4)
    assert sorted(row.id for part in (train, dev) for row in part) == sorted(row.id for row in whole)
    with raises_error(DataError, "too-few-rows-to-hold-out", count=40):
        hold_out(whole, 0.001, np.random.default_rng(3).permutation)


# -- features ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spec", [SST2, RTE], ids=["single", "pair"])
@pytest.mark.parametrize("max_tokens", [9, 12, 13, 64])
def test_inputs_equal_those_of_transformers(spec, max_tokens, tiny_tokenizer, tmp_path):
    rows = rows_of(spec)
    for number, row in enumerate(rows):
        row[spec.text[0]] += " the potter set tea" * (number % 4)
    examples = read_examples(data(rows), spec)
    features = features_of(tiny_tokenizer, examples, max_tokens)
    tiny_tokenizer.save(tmp_path)
    reference = BertTokenizerFast.from_pretrained(tmp_path)
    for number, row in enumerate(examples):
        text_ids = [reference(text, add_special_tokens=False)["input_ids"] for text in row.texts]
        whole = reference(*row.texts, truncation=len(row.texts) == 1, max_length=max_tokens)
        ids, types = whole["input_ids"], whole["token_type_ids"]
        if len(ids) > max_tokens:  # transformers truncates pairs of equal length differently from Google
            a, b = compute_truncated_lengths(len(text_ids[0]), len(text_ids[1]), max_tokens - 3)
            ids = [ids[0], *text_ids[0][:a], ids[-1], *text_ids[1][:b], ids[-1]]
            types = [0] * (a + 2) + [1] * (b + 1)
        assert features[number].ids.tolist() == ids
        assert features[number].token_type_ids.tolist() == types


def test_truncated_lengths_equal_those_of_google():
    for a in range(12):
        for b in range(12):
            for limit in range(2, 14):
                one, other = a, b
                while one + other > limit:  # `_truncate_seq_pair` of run_classifier.py
                    one, other = (one - 1, other) if one > other else (one, other - 1)
                assert compute_truncated_lengths(a, b, limit) == (one, other)


def test_the_first_token_of_each_word_predicts_its_tag(tiny_tokenizer):
    rows = [
        {"tokens": ["lanterns", "\u200d", "Mill", "x" * 120, "tea"], "ner_tags": ["B-person", "O", "O", "O", "I-group"]}
    ]
    examples = read_examples(data(rows), WNUT)
    features = features_of(tiny_tokenizer, examples, 64)
    batch = features.make_batch(np.array([0]))
    tokens = tiny_tokenizer.tokens(features[0].ids)
    has_tag = batch.labels_B[0] != NO_TAG
    first_tokens = [token for token, tagged in zip(tokens, has_tag.tolist(), strict=True) if tagged]
    assert not any(token.startswith("##") for token in first_tokens)
    assert len(first_tokens) == 4, "a lone zero-width joiner has no token"
    names = [WNUT.labels[tag] for tag in batch.labels_B[0][has_tag].tolist()]
    assert names == ["B-person", "O", "O", "I-group"]
    assert not has_tag[0]
    assert not has_tag[-1]


@pytest.mark.parametrize("name", ["wnut17", "klue_ner"])
def test_long_sentences_are_split_without_losing_words(name, tiny_tokenizer):
    spec = get_task(name)
    rows = rows_of(spec, 6)
    for row in rows:
        row["tokens"], row["ner_tags"] = row["tokens"] * 9, row["ner_tags"] * 9
    examples = read_examples(data(rows), spec)
    whole, split = (features_of(tiny_tokenizer, examples, size) for size in (4000, 16))
    assert len(split) > len(whole) == 6
    assert max(map(len, split.ids)) <= 16
    for number in range(6):
        units = [split.unit_I[i] for i in np.flatnonzero(split.example_I == number)]
        assert np.concatenate([u[1:-1] for u in units]).tolist() == whole.unit_I[number][1:-1].tolist()


def test_tags_of_tokens_become_tags_of_characters():
    """A token has the tag of its first character; a space inside a name belongs to the name."""
    characters = list("김 철수가 서울에서")
    gold = ["B-PS", "I-PS", "I-PS", "I-PS", "O", "O", "B-LC", "I-LC", "O", "O"]
    tokens = {0: "B-PS", 2: "I-PS", 4: "O", 6: "B-LC", 8: "O"}
    assert spread_tags(tokens, characters) == gold
    assert spread_tags({}, characters) == ["O"] * 10


@pytest.mark.parametrize("name", ["sst2", "stsb", "swag", "comve", "conll2003", "klue_ner"])
def test_micro_batches_have_the_gradients_of_one_batch(name, tiny_model, tiny_tokenizer, tmp_path):
    """Gradients summed over micro-batches equal those of the whole batch."""
    import torch

    from bertlab.tasks.training_data import make_finetuning_model
    from bertlab.training.gradient import GlobalGradient

    spec = get_task(name)
    examples = read_examples(read_split(directory_of(tmp_path, spec), "train"), spec)
    batch = features_of(tiny_tokenizer, examples, 48).make_batch(np.arange(11))
    gradients = []
    for parts in (1, 4):
        torch.manual_seed(0)
        model = make_finetuning_model(tiny_model, TASK_TYPES[spec.kind].head, 0.0, examples.labels)
        loss = GlobalGradient(model, TASK_TYPES[spec.kind].loss, parts)(batch)
        gradients.append((loss, model.embeddings.token.weight.grad))
    (whole, whole_gradient), (split, split_gradient) = gradients
    assert split.value.item() == pytest.approx(whole.value.item(), rel=1e-5)
    assert {k: float(v) for k, v in split.metrics.items()} == pytest.approx(
        {k: float(v) for k, v in whole.metrics.items()}
    )
    torch.testing.assert_close(split_gradient, whole_gradient, rtol=1e-4, atol=1e-6)


def test_batches_are_shuffled_over_all_rows():
    sampler = ShuffledSampler(1000, 16, seed=0, make_batch=lambda rows: rows)
    epoch = [next(sampler) for _ in range(len(sampler))]
    assert sorted(np.concatenate(epoch)) == list(range(1000))
    # rows are often sorted in the file; the standard deviation within a random batch is about 280
    assert np.mean([rows.std() for rows in epoch[:-1]]) > 250
    assert next(sampler).tolist() != epoch[0].tolist(), "another epoch, another order"


def test_korean_splits_keep_articles_and_premises_apart(tmp_path, bertlab_data):
    directory, splits = bertlab_data / "tasks" / "korean", ("train", "validation")
    korean_splits.write_korquad(directory, tmp_path / "korquad")
    korean_splits.write_klue_nli(directory, tmp_path / "klue_nli")
    passages = {split: {row["context"] for row in read_rows(tmp_path / "korquad", split)} for split in splits}
    assert not passages["train"] & passages["validation"]
    rows = {split: read_split(tmp_path / "klue_nli", split).rows for split in splits}
    assert [len(part) for part in rows.values()] == [8250, 750]
    assert not {row["premise"] for row in rows["train"]} & {row["premise"] for row in rows["validation"]}
    assert (
        read_examples(read_split(tmp_path / "klue_nli", "validation"), get_task("klue_nli")).labels[0] == "entailment"
    )
