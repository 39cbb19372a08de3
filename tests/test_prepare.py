"""Preparing a corpus: file formats, workers, weights, and errors that name each invalid row."""

import csv
import gzip
import json
import os
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import datasets
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.errors import raises_error

from bertlab.cli import main
from bertlab.config.errors import BertlabError, DataError
from bertlab.config.languages import Message
from bertlab.text.pretraining import prepare_corpus, tokenise_shards
from bertlab.text.pretraining.corpus import Corpus
from bertlab.text.pretraining.sampler import LongPairs, PairSampler
from bertlab.text.readers import data_file, documents, plain_text, tables
from bertlab.text.readers.documents import FileShard, StreamShard, find_shards, make_invalid_text_error, read_texts
from bertlab.text.readers.encoding import encoding_of
from bertlab.text.readers.invalid_rows import make_row_error
from bertlab.text.readers.registry import Section
from bertlab.text.readers.rows import read_file
from bertlab.text.tokenizers.wordpiece import Tokenizer
from bertlab.training.pretraining import prepare as prepare_command
from bertlab.training.pretraining.prepare import PrepareConfig, run

WORDS = ["the", "a", "and", "our", "one", "behind", "that", "old", "green", "lemon", "sold", "found"]
WORDS += ["baker", "pilot", "boat", "door"]


def stories(count: int, seed: int = 0, lines: int = 6) -> list[str]:
    rng = np.random.default_rng(seed)
    return ["\n".join(f"{' '.join(rng.choice(WORDS, 7))} {n}." for _ in range(lines)) for n in range(count)]


def jsonl(path: Path, rows: list, column: str = "text") -> Path:
    path.write_text("".join(json.dumps({column: row}) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture
def vocabulary(tmp_path, tiny_tokenizer) -> Path:
    tiny_tokenizer.save(tmp_path / "vocabulary")
    return tmp_path / "vocabulary"


@pytest.fixture
def config(tmp_path, vocabulary) -> PrepareConfig:
    return PrepareConfig((), tmp_path / "out", tokenizer=vocabulary, workers=1)


@pytest.fixture
def serve_hub(monkeypatch):
    """A function that replaces `hub.load`."""

    def serve(load):
        monkeypatch.setattr(documents.hub, "load", load)
        documents._hub_rows.cache_clear()

    yield serve
    documents._hub_rows.cache_clear()


def token_ids(corpus: Corpus) -> list[list[int]]:
    return corpus.rows["input_ids"][:]


def reason_ids(shards, column: str = "text") -> list[str]:
    """The ids of the reasons for which rows are invalid."""
    return [row.reason.id for shard in shards for row in read_texts(shard, column) if row.text is None]


# -- reading -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["jsonl", "json", "parquet", "txt"])
@pytest.mark.parametrize("shard_bytes", [40, 1 << 20])
def test_every_row_of_every_format_is_read_once_with_its_number(kind, shard_bytes, tmp_path, monkeypatch):
    monkeypatch.setattr(documents, "SHARD_BYTES", shard_bytes)
    expected = ["The first text.\nIts second line.", "둘째 글은 한국어로 쓴다.", *stories(9)]
    path = tmp_path / f"notes-00.{kind}"
    if kind == "txt":
        path.write_text("\ufeff" + "\n \n\n".join(expected) + "\n", encoding="utf-8", newline="\r\n")
    elif kind == "jsonl":
        jsonl(path, expected, "body")
    elif kind == "json":
        path.write_text(json.dumps([{"body": text} for text in expected]))
    else:
        datasets.Dataset.from_dict({"body": expected, "id": range(11)}).to_parquet(path, batch_size=4)
    column = "text" if kind == "txt" else "body"
    shards, invalid = find_shards([str(path)], column)
    assert not invalid
    assert {shard.label for shard in shards} == {"notes"}
    assert len(shards) == 1 or shard_bytes == 40 or kind == "parquet"
    rows = [(shard.row_number(n), text) for shard in shards for n, text, _ in read_texts(shard, column)]
    assert [text for _, text in rows] == expected
    if kind == "txt":
        first_lines = [
            path.read_text(encoding="utf-8-sig").split("\n").index(text.split("\n")[0]) + 1 for text in expected
        ]
        assert [number for number, _ in rows] == first_lines
    else:
        assert [number for number, _ in rows] == list(range(1, 12))


@pytest.mark.parametrize("shard_bytes", [60, 1 << 20])
@pytest.mark.parametrize("kind", ["csv", "tsv"])
def test_tables_are_read_row_by_row_and_invalid_rows_are_named(kind, shard_bytes, tmp_path, monkeypatch):
    """In a .csv, a text may contain commas, quotation marks and line breaks."""
    monkeypatch.setattr(documents, "SHARD_BYTES", shard_bytes)
    several_lines = "A line.\nAnother,\nand a third." if kind == "csv" else "A line."
    written = ["One, two.", 'She said "tea", twice.', several_lines, "", "둘째 글은 한국어로 쓴다."]
    path = tmp_path / f"notes.{kind}"
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        plain = {"delimiter": "\t", "quoting": csv.QUOTE_NONE, "quotechar": None}
        rows = csv.writer(file, **(plain if kind == "tsv" else {}))
        rows.writerow(("id", "body"))
        rows.writerows(enumerate(written))
    with path.open("ab") as file:
        file.write(b"7\n" + "8,9".replace(",", "," if kind == "csv" else "\t").encode() + b"\xff\n")
    shards, invalid = find_shards([str(path)], "body")
    assert not invalid
    assert len(shards) == 1 or shard_bytes == 60
    read = [(shard.row_number(n), text, reason) for shard in shards for n, text, reason in read_texts(shard, "body")]
    assert [text for _, text, _ in read] == [text or None for text in written] + [None, None]
    assert [number for number, _, _ in read] == [2, 3, 4, *((7, 8, 9, 10) if kind == "csv" else (5, 6, 7, 8))]
    reasons = [reason for *_, reason in read[3:]]
    assert [reason and reason.id for reason in reasons] == [
        "row-without-text", None, "row-field-count", "row-not-decodable",
    ]  # fmt: skip
    assert reasons[2].params == {"fields": 1, "columns": 2}
    assert reasons[3].params == {"encoding": "UTF-8", "byte": 2, "value": "0xff"}
    _, (error,) = find_shards([str(path)], "text")
    assert error.id == "corpus-column-not-found"
    assert error.params == {"path": str(path), "column": "text", "columns": ["id", "body"]}


@pytest.mark.parametrize("shard_bytes", [60, 1 << 20])
def test_quotation_marks_in_tab_separated_files_are_understood(shard_bytes, tmp_path, monkeypatch):
    """pandas and Excel put them around fields; in the files of GLUE they are part of the text."""
    monkeypatch.setattr(documents, "SHARD_BYTES", shard_bytes)
    written = ["Tea.", 'She said "tea", twice.', "A line.\nAnother.", "A tab\there.", "Rain fell."]
    path = tmp_path / "notes.TSV"
    with path.open("w", newline="") as file:
        csv.writer(file, delimiter="\t").writerows([("id", "text"), *enumerate(written)])
    shards, _ = find_shards([str(tmp_path)])
    assert [text for shard in shards for _, text, _ in read_texts(shard)] == written
    assert [row["text"] for row in read_file(path).rows] == written
    path.write_text('id\ttext\n1\t"Tea," she said.\n2\tand "more".\n3\t"So."\n')
    expected = ['"Tea," she said.', 'and "more".', '"So."']
    shards, _ = find_shards([str(path)])
    assert [text for shard in shards for _, text, _ in read_texts(shard)] == expected
    assert [row["text"] for row in read_file(path).rows] == expected


@pytest.mark.parametrize("word", ["tea ", "찻집 "])
def test_quoting_of_a_long_table_is_guessed_from_its_beginning(word, tmp_path, monkeypatch):
    monkeypatch.setattr(data_file, "SAMPLE_BYTES", 1000)
    monkeypatch.setattr(tables, "SAMPLE_BYTES", 1000)
    written = [f'{number} "{word * (number % 9)}"\nand more.' for number in range(300)]
    path = tmp_path / "notes.tsv"
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, delimiter="\t").writerows([("id", "text"), *enumerate(written)])
    shards, _ = find_shards([str(path)])
    assert [text for shard in shards for _, text, _ in read_texts(shard)] == written
    assert [row["text"] for row in read_file(path).rows] == written


def test_hidden_files_are_ignored_and_uppercase_suffixes_are_accepted(tmp_path):
    for name in (".notes.txt", "._a.TXT", ".checkpoints/a.txt", "deep/B.TXT", "c.Csv"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("text\nTea.\n")
    shards, invalid = find_shards([str(tmp_path)])
    assert not invalid
    assert [Path(shard.path).name for shard in shards] == ["c.Csv", "B.TXT"]


@pytest.mark.parametrize(
    ("content", "id", "params"),
    [
        (b"id;text\n1;Tea.\n", "table-delimiter-not-comma", {"delimiter": "';'"}),
        (
            f"{'Rain fell. ' * 900}\nTea.\n".encode(),
            "corpus-column-not-found",
            {"columns": [("Rain fell. " * 9)[:40] + "…"]},
        ),
    ],
)
def test_a_table_with_an_unexpected_delimiter_or_header_is_reported(content, id, params, tmp_path):
    (tmp_path / "a.csv").write_bytes(content)
    _, (error,) = find_shards([str(tmp_path / "a.csv")])
    assert error.id == id
    assert error.params.items() >= params.items()


@pytest.mark.parametrize(
    "content",
    [
        "비가 온다.\n".encode()[:-3] + b"\n",  # a character is cut off
        b"\xeb" + "비가 온다. 눈이 온다.\n".encode(),
        "One café.\n".encode("latin-1"),
        "「雨」が降る。".encode("shift-jis"),
        b"\x00\xff" * 50,
    ],
)
def test_damaged_text_is_not_mistaken_for_another_encoding(content):
    assert encoding_of(content) == "utf-8-sig"


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.txt", "a.jsonl", "a.json"])
@pytest.mark.parametrize("shard_bytes", [700, 1 << 20])
@pytest.mark.parametrize("encoding", ["cp949", "utf-16"])
def test_korean_as_excel_saves_it_is_read(name, encoding, shard_bytes, tmp_path, monkeypatch):
    monkeypatch.setattr(documents, "SHARD_BYTES", shard_bytes)
    texts = [f"비가 {n}시에 왔다. “겨우” 그쳤다, 뾰족한 지붕 위로." for n in range(60)]
    written = {
        ".csv": lambda: "text\n" + "".join(f'"{text}"\n' for text in texts),
        ".tsv": lambda: "id\ttext\n" + "".join(f"{n}\t{text}\n" for n, text in enumerate(texts)),
        ".txt": lambda: "\n\n".join(texts),
        ".jsonl": lambda: "".join(json.dumps({"text": text}, ensure_ascii=False) + "\n" for text in texts),
        ".json": lambda: json.dumps([{"text": text} for text in texts], ensure_ascii=False),
    }[Path(name).suffix]()
    (tmp_path / name).write_bytes(written.encode(encoding))
    shards, invalid = find_shards([str(tmp_path / name)])
    assert not invalid
    assert [text for shard in shards for _, text, _ in read_texts(shard)] == texts


def test_a_table_with_an_unclosed_quotation_mark_has_an_invalid_row(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text('text\nTea.\n"Rain fell.\nBread.\n')
    (shard,), _ = find_shards([str(path)])
    first, second = read_texts(shard)
    assert first == (2, "Tea.", None)
    assert (second.number, second.text, second.reason.id) == (3, None, "row-table-damaged-lines")
    assert second.reason.params == {"reason": "unexpected end of data", "lines": 1}


@pytest.mark.parametrize("shard_bytes", [700, 1 << 20])
def test_a_long_text_without_blank_lines_is_split_into_documents(shard_bytes, tmp_path, monkeypatch):
    """Each ends at the end of a line. Short documents after it are never split, wherever a shard ends."""
    monkeypatch.setattr(documents, "SHARD_BYTES", shard_bytes)
    monkeypatch.setattr(plain_text, "DOCUMENT_BYTES", 300)
    lines, short = [f"Line {number} of a long text." for number in range(400)], [story[:250] for story in stories(40)]
    path = tmp_path / "a.txt"
    path.write_text("\n".join(lines) + "\n\n" + "\n\n".join(short))
    shards, _ = find_shards([str(path)])
    rows = [(shard.row_number(n), text) for shard in shards for n, text, _ in read_texts(shard)]
    assert max(shard.size for shard in shards) < 700 + 2 * 300 or shard_bytes > 700
    assert max(len(text) for _, text in rows) < 300 + 30
    long = [(number, text) for number, text in rows if number <= 400]
    assert "\n".join(text for _, text in long).split("\n") == lines
    assert all(text.split("\n")[0] == lines[number - 1] for number, text in long)
    assert [text for number, text in rows if number > 400] == short


@pytest.mark.parametrize("shard_bytes", [700, 1 << 20])
@pytest.mark.parametrize("unit", ["green tea and a mill ", "물레방아 옆 찻집의 ", "물레방아옆찻집의", "🫖🌾"])
def test_a_text_without_line_breaks_is_split_into_documents(shard_bytes, unit, tmp_path, monkeypatch):
    """It is split between words, or between characters if it has no spaces; later rows keep their line numbers."""
    monkeypatch.setattr(documents, "SHARD_BYTES", shard_bytes)
    monkeypatch.setattr(plain_text, "DOCUMENT_BYTES", 300)
    line, short = unit * (4000 // len(unit.encode())), "Rain fell."
    path = tmp_path / "a.txt"
    path.write_text(f"{line}\n\n{short}\n", encoding="utf-8")
    shards, _ = find_shards([str(path)])
    assert len(shards) == 1 or shard_bytes == 700
    rows = [(shard.row_number(n), text) for shard in shards for n, text, _ in read_texts(shard)]
    assert rows[-1] == (3, short)
    assert {number for number, _ in rows[:-1]} == {1}
    assert "".join(text for _, text in rows[:-1]) == line
    assert max(len(text.encode()) for _, text in rows) <= 300
    assert len(rows) < 40
    if " " in unit:
        assert all(text.endswith(" ") for _, text in rows[:-1])


def test_the_shards_of_a_streamed_hub_data_set_contain_every_row_once(tmp_path, serve_hub):
    files = [str(jsonl(tmp_path / f"part-{i}.jsonl", stories(10, seed=i))) for i in range(3)]

    def load(name, split, streaming=False):
        return datasets.load_dataset("json", data_files=files, split=split, streaming=streaming, cache_dir=tmp_path)

    serve_hub(load)
    everything = Counter(text for i in range(3) for text in stories(10, seed=i))
    for stream, workers, count in ((True, 2, 3), (True, 5, 5), (False, 2, 1)):
        shards, _ = find_shards(["owner/name"], stream=stream, workers=workers)
        assert len(shards) == count
        assert Counter(text for shard in shards for _, text, _ in read_texts(shard)) == everything


def test_a_sample_reads_only_the_beginning_of_a_stream(tmp_path, monkeypatch):
    everything = [f"{number} " + "tea " * 25 for number in range(1000)]
    read = []

    def rows(shard, column):
        for number, text in enumerate(everything):
            read.append(text)
            yield documents.Text(number, text, None)

    monkeypatch.setattr(prepare_command, "read_texts", rows)
    shards = [StreamShard("owner/name", "", 0, 0, index, 2, "rows") for index in range(2)]
    assert sum(map(len, prepare_command._sample_text(shards, "text", 10_000))) < 11_000
    assert len(read) < 110


@pytest.mark.parametrize(("characters", "expected"), [(10**6, 300_000), (200_000, 200_000), (30_000, 30_000)])
def test_a_sample_of_many_small_shards_reads_enough_of_them(characters, expected, monkeypatch):
    monkeypatch.setattr(
        prepare_command, "read_texts", lambda shard, column: [documents.Text(1, shard.path.ljust(100), None)]
    )
    small = [FileShard(str(i), "", 0, 100, None, Section()) for i in range(3000)]
    sample = list(prepare_command._sample_text(small, "text", characters))
    assert sum(map(len, sample)) == pytest.approx(expected, rel=0.01)
    halves = Counter(int(text) < 1500 for text in sample)
    assert halves[True] == pytest.approx(halves[False], rel=0.02)


def test_a_sample_of_many_large_shards_opens_few_evenly_spread_ones(monkeypatch):
    opened = []

    def rows(shard, column):
        opened.append(int(shard.path))
        return (documents.Text(i, "tea " * 25, None) for i in range(shard.size // 100))

    monkeypatch.setattr(prepare_command, "read_texts", rows)
    large = [FileShard(str(i), "", 0, 10**6, None, Section()) for i in range(3000)]
    characters = sum(map(len, prepare_command._sample_text(large, "text", 10**6)))
    assert characters == pytest.approx(10**6, rel=0.03)
    assert len(opened) <= 257
    assert max(np.diff(opened)) < 20


# -- preparing ---------------------------------------------------------------------------------------------------


def test_workers_and_buckets_neither_lose_nor_repeat_a_document(config, tmp_path, monkeypatch):
    """Different numbers of workers even give the same order of documents."""
    monkeypatch.setattr(documents, "SHARD_BYTES", 3000)
    files = [jsonl(tmp_path / f"part-{i}.jsonl", stories(60, seed=i)) for i in range(3)]
    config = replace(config, text=tuple(map(str, files)))
    one = token_ids(run(config))
    assert token_ids(run(replace(config, out=tmp_path / "two", workers=3))) == one
    monkeypatch.setattr(prepare_corpus, "BUCKET_BYTES", 4000)
    monkeypatch.setattr(tokenise_shards, "MAX_BUFFERED_TOKENS", 500)
    monkeypatch.setattr(prepare_corpus, "FILE_BYTES", 20_000)
    many = run(replace(config, out=tmp_path / "many"))
    assert len(list((tmp_path / "many" / "rows").iterdir())) > 1
    assert token_ids(many) != one
    assert sorted(token_ids(many)) == sorted(one)
    assert len(one) == 180
    assert many.facts["documents"] == 180
    assert many.facts["tokens"] == sum(map(len, one))
    assert many.facts["bytes"] == sum(len(text) for i in range(3) for text in stories(60, seed=i))


def test_a_single_document_is_reported(config, tmp_path, capsys):
    (tmp_path / "a.txt").write_text("\n".join(stories(3)))
    run(replace(config, text=(str(tmp_path / "a.txt"),)))
    assert "single document" in capsys.readouterr().out
    (tmp_path / "a.txt").write_text("\n \n".join(stories(3)))
    assert run(replace(config, text=(str(tmp_path / "a.txt"),), out=tmp_path / "three")).facts["documents"] == 3
    assert "single document" not in capsys.readouterr().out


def test_documents_of_all_files_are_mixed(config, tmp_path):
    files = [jsonl(tmp_path / f"{name}-0.jsonl", stories(200)) for name in ("first", "second")]
    sources = run(replace(config, text=tuple(map(str, files)))).rows["source"][:]
    assert 60 < sources[:200].count("first") < 140


def test_a_prepared_corpus_is_opened_and_its_weights_can_change(config, tmp_path, monkeypatch, capsys):
    text = jsonl(tmp_path / "a.jsonl", stories(20))
    config = replace(config, text=(str(text),), tokenizer=None, vocab_size=90)
    run(config)
    monkeypatch.setattr(prepare_corpus, "_fill_buckets", None)
    monkeypatch.setattr(prepare_corpus.Tokenizer, "train", None)
    corpus = run(config)
    assert "(prepared earlier)" in capsys.readouterr().out
    assert len(corpus.rows) == 20
    assert run(replace(config, weights=(2.0,))).facts["weights"] == [2.0]
    assert "weights of the sources changed from 1 to 2" in capsys.readouterr().out


def test_a_corpus_is_never_replaced_by_another(config, tmp_path):
    text, other = (jsonl(tmp_path / name, stories(20)) for name in ("a.jsonl", "b.jsonl"))
    config = replace(config, text=(str(text),), tokenizer=None, vocab_size=90)
    run(config)
    before = {path: path.stat().st_mtime_ns for path in config.out.rglob("*")}
    for changed, expected in (
        ({"text": (str(other),)}, ["different texts"]),
        ({"vocab_size": 95}, ["a different vocabulary"]),
        (
            {"tokenizer": str(tmp_path / "vocabulary"), "vocab_size": PrepareConfig.vocab_size},
            ["a different vocabulary"],
        ),
        ({"seed": 1}, ["--seed"]),
        ({"column": "body", "stream": True}, ["--column", "--stream"]),
    ):
        with raises_error(DataError, "corpus-differs", path=config.out) as record:
            run(replace(config, **changed))
        assert list(map(str, record.value.params["changes"])) == expected
    jsonl(text, stories(21))
    with raises_error(DataError, "corpus-differs", changes=[Message("corpus-change-files")]):
        run(config)
    assert {path: path.stat().st_mtime_ns for path in config.out.rglob("*")} == before


def test_the_same_paths_written_differently_open_the_corpus(config, tmp_path, monkeypatch):
    """If no row was invalid, the value of --invalid makes no difference either."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "texts").mkdir()
    jsonl(tmp_path / "texts" / "a.jsonl", stories(20))
    run(replace(config, text=("texts",)))
    before = (config.out / "corpus.json").stat().st_mtime_ns
    for text in ("texts/", "./texts"):
        run(replace(config, text=(text,), invalid="skip"))
    assert (config.out / "corpus.json").stat().st_mtime_ns == before


def test_a_corpus_is_prepared_by_one_process_at_a_time(config, tmp_path, monkeypatch):
    """A second process removes no file of the first; files that a killed process left behind are removed."""
    config = replace(config, text=(str(jsonl(tmp_path / "a.jsonl", stories(20))),))
    refused, fill_buckets = [], prepare_corpus._fill_buckets

    def fill_while_another_prepares(*job):
        with pytest.raises(BertlabError) as record:
            run(config)
        refused.append(record.value)
        return fill_buckets(*job)

    (tmp_path / "out.building" / "corpus" / "leftover").mkdir(parents=True)
    monkeypatch.setattr(prepare_corpus, "_fill_buckets", fill_while_another_prepares)
    assert run(config).facts["documents"] == 20
    assert len(refused) == 1
    assert f"the preparation of {config.out}" in str(refused[0])
    assert sorted(path.name for path in config.out.iterdir()) == ["corpus.json", "rows", "tokenizer"]
    assert not (tmp_path / "out.building").exists()


def test_a_corpus_prepared_from_the_hub_opens_without_the_hub(config, tmp_path, serve_hub):
    rows = datasets.Dataset.from_dict({"text": stories(20)})
    serve_hub(lambda name, split, streaming=False: rows)
    config = replace(config, text=("owner/name",))
    expected = token_ids(run(config))
    serve_hub(None)
    assert token_ids(run(config)) == expected


@pytest.mark.parametrize(
    "content",
    ["[]", "{}", "[" * 10**6, '{"settings": []}', '{"settings": {"sources": [1]}, "documents": 1, "tokens": 1}'],
)
def test_a_damaged_corpus_json_is_refused(content, config, tmp_path):
    config = replace(config, text=(str(jsonl(tmp_path / "a.jsonl", stories(9))),))
    run(config)
    (config.out / "corpus.json").write_text(content)
    with raises_error(DataError, "corpus-facts-damaged"):
        Corpus.open(config.out)
    with raises_error(DataError, "corpus-facts-damaged"):
        run(config)


def test_a_changed_byte_in_a_corpus_is_noticed(config, tmp_path):
    corpus = run(replace(config, text=(str(jsonl(tmp_path / "a.jsonl", stories(9))),)))
    (path,) = (config.out / "rows").iterdir()
    content = bytearray(path.read_bytes())
    tokens = np.concatenate(token_ids(corpus)).astype(np.uint16).tobytes()[:40]
    content[content.index(tokens)] ^= 1
    path.write_bytes(content)
    with raises_error(DataError, "corpus-checksum-differs"):
        Corpus.open(config.out)


def test_token_ids_beyond_the_vocabulary_are_refused(config, tmp_path, tiny_tokenizer):
    corpus = run(replace(config, text=(str(jsonl(tmp_path / "a.jsonl", stories(9))),)))
    smaller = SimpleNamespace(vocab_size=20, cls_id=2, sep_id=3, pad_id=0)
    with raises_error(DataError, "corpus-token-unknown", size=20):
        next(PairSampler(corpus, smaller, 4, 64, seed=0))


def test_long_documents_are_tokenised_in_parts_and_joined_again(config, tmp_path, monkeypatch):
    """Memory is bounded: at most a fixed number of characters is tokenised at once, even within one sentence."""
    long = ["tea and bread. " * 900, "the old boat " * 900, "bread"]
    config = replace(config, text=(str(jsonl(tmp_path / "a.jsonl", long)),))
    expected = token_ids(run(config))
    monkeypatch.setattr(tokenise_shards, "BATCH_CHARACTERS", 100)
    sizes, encode = [], Tokenizer.encode_plain

    def encode_plain(tokenizer, texts):
        sizes.append(sum(map(len, texts)))
        return encode(tokenizer, texts)

    monkeypatch.setattr(Tokenizer, "encode_plain", encode_plain)
    assert token_ids(run(replace(config, out=tmp_path / "parts"))) == expected
    assert max(sizes) <= 200


def test_preparing_does_not_import_torch(tmp_path, vocabulary):
    text = jsonl(tmp_path / "a.jsonl", stories(20))
    script = (
        "import sys; from bertlab.cli import main; code = main(sys.argv[1:]);"
        "sys.exit(code or ('torch is imported' if 'torch' in sys.modules else 0))"
    )
    words = ["prepare", str(text), "--out", str(tmp_path / "out"), "--tokenizer", str(vocabulary), "--workers", "2"]
    result = subprocess.run([sys.executable, "-c", script, *words], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert "MB/s" in result.stdout
    assert "100.0%" in result.stderr


def test_sources_without_text_are_refused_and_out_may_be_the_current_directory(config, tmp_path, monkeypatch):
    (tmp_path / "empty.txt").touch()
    without_text = replace(config, text=(str(tmp_path / "empty.txt"),), tokenizer=None, invalid="skip")
    with raises_error(DataError, "sources-without-valid-text") as record:
        run(without_text)
    assert record.value.params["first"].id == "file-empty"
    text = jsonl(tmp_path / "a.jsonl", stories(5))
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert len(run(replace(config, text=(str(text),), out=Path())).rows) == 5
    assert (tmp_path / "here" / "corpus.json").is_file()


def test_a_tokenizer_may_be_given_by_the_name_of_a_checkpoint(config, tmp_path, tiny_checkpoint, monkeypatch, capsys):
    monkeypatch.setenv("BERTLAB_CHECKPOINTS", str(tiny_checkpoint.parent))
    text = jsonl(tmp_path / "a.jsonl", stories(9))
    corpus = run(replace(config, text=(str(text),), tokenizer=tiny_checkpoint.name))
    assert (config.out / "tokenizer" / "vocab.txt").read_text() == (tiny_checkpoint / "vocab.txt").read_text()
    assert corpus.facts["documents"] == 9
    words = ["prepare", str(text), "--out", str(tmp_path / "other"), "--tokenizer", "./nobody"]
    assert main(words) == 2
    assert capsys.readouterr().err.splitlines()[-1] == "bertlab: there is no directory ./nobody"


def test_a_text_too_short_for_the_vocabulary_is_reported(config, tmp_path, capsys):
    config = replace(config, text=(str(jsonl(tmp_path / "a.jsonl", stories(9))),), tokenizer=None, vocab_size=8000)
    run(config)
    size = Tokenizer.load(config.out / "tokenizer").vocab_size
    assert size < 200
    assert f"the vocabulary has only {size} tokens" in capsys.readouterr().out
    run(replace(config, vocab_size=60, out=tmp_path / "other"))
    assert "only" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("cased", "flags"), [(False, ["--vocab-size", "--sample"]), (True, ["--vocab-size", "--sample", "--cased"])]
)
def test_flags_for_training_a_vocabulary_are_refused_with_a_tokenizer(config, tmp_path, cased, flags):
    config = replace(config, text=(str(jsonl(tmp_path / "a.jsonl", stories(9))),))
    with raises_error(DataError, "tokenizer-flags-unused", flags=flags):
        run(replace(config, vocab_size=8000, sample=9, cased=cased))
    # --cased is allowed for a vocab.txt, which does not record whether it is cased
    run(replace(config, tokenizer=config.tokenizer / "vocab.txt", cased=True))
    assert not Tokenizer.load(config.out / "tokenizer").lowercase


def _kill_worker(numbered_shard):
    os._exit(9)


def test_a_killed_worker_ends_the_preparation(config, tmp_path, monkeypatch):
    monkeypatch.setattr(documents, "SHARD_BYTES", 500)
    monkeypatch.setattr(tokenise_shards, "_tokenise_shard", _kill_worker)
    text = jsonl(tmp_path / "a.jsonl", stories(20))
    with raises_error(DataError, "worker-killed"):
        run(replace(config, text=(str(text),), workers=2))
    assert not list(tmp_path.glob("out*"))


# -- weights -----------------------------------------------------------------------------------------------------


def test_an_epoch_takes_each_source_as_often_as_its_weight(config, tmp_path, tiny_tokenizer):
    names = {"often": 3.0, "once": 1.0, "half": 0.5, "never": 0.0}
    files = [str(jsonl(tmp_path / f"{name}.jsonl", stories(300, seed=i))) for i, name in enumerate(names)]
    corpus = run(replace(config, text=tuple(files), weights=tuple(names.values())))
    corpus = replace(corpus, block_size=500)
    sampler = PairSampler(corpus, tiny_tokenizer, 16, 64, seed=0)
    source_counts, epochs = Counter(), 4
    positions, keys = [], []
    while sampler.position.epoch < epochs:
        position = sampler.position
        positions.append(position)
        keys.append(next(sampler).key_B)
        if position.row == 0:
            _, pairs, _ = sampler._current[1]
            labels = np.unique(corpus.rows.data.slice(500 * _block(sampler, position), 500).column("source").to_numpy())
            counts = Counter(labels[d] for d in _sources(sampler)[pairs.document_a_E])
            source_counts.update(counts)
    assert source_counts["never"] == 0
    assert source_counts["often"] / source_counts["once"] == pytest.approx(3, rel=0.05)
    assert source_counts["half"] / source_counts["once"] == pytest.approx(0.5, rel=0.1)
    again = next(PairSampler(corpus, tiny_tokenizer, 16, 64, seed=0, position=positions[len(positions) // 2]))
    assert (again.key_B == keys[len(positions) // 2]).all()


def test_static_masking_repeats_pairs_and_masks(config, tmp_path, tiny_tokenizer):
    corpus = run(replace(config, text=(str(jsonl(tmp_path / "a.jsonl", stories(40))),)))
    sampler = PairSampler(corpus, tiny_tokenizer, 8, 48, seed=0, mask_copies=2)
    epochs = {}
    while sampler.position.epoch < 4:
        epoch, batch = sampler.position.epoch, next(sampler)
        epochs.setdefault(epoch, []).append((batch.key_B.tolist(), batch.inputs.input_ids_BT.tolist()))
    assert epochs[0] == epochs[2] != epochs[1] == epochs[3]


def test_epochs_without_documents_are_skipped(config, tmp_path, tiny_tokenizer):
    corpus = run(replace(config, text=(str(jsonl(tmp_path / "a.jsonl", stories(3))),), weights=(0.1,)))
    sampler = PairSampler(corpus, tiny_tokenizer, 4, 64, seed=0)
    epochs = [sampler.position.epoch for _ in range(20) if len(next(sampler))]
    assert epochs[-1] > 40  # most epochs have no documents


def test_a_large_batch_is_full_even_with_small_blocks(config, tmp_path, tiny_tokenizer):
    corpus = run(replace(config, text=(str(jsonl(tmp_path / "a.jsonl", stories(600, lines=2))),)))
    small = replace(corpus, block_size=20)
    sampler = PairSampler(small.enlarge_blocks(32 * 64), tiny_tokenizer, 32, 64, seed=0)
    assert {len(next(sampler)) for _ in range(40)} == {32}
    assert len(next(PairSampler(small, tiny_tokenizer, 32, 64, seed=0))) < 32
    sizes = [len(small.read_documents(block)) for block in range(small.num_blocks)]
    assert sum(sizes) == 600
    uneven = replace(corpus, block_size=32)
    assert {len(uneven.read_documents(block)) for block in range(uneven.num_blocks)} == {31, 32}


def test_special_tokens_in_a_text_are_ordinary_text(config, tmp_path, tiny_tokenizer):
    corpus = run(replace(config, text=(str(jsonl(tmp_path / "a.jsonl", ["Tea [SEP] and [MASK].\nA [PAD] bowl."])),)))
    ids = {id for document in token_ids(corpus) for id in document}
    assert not ids & {tiny_tokenizer.sep_id, tiny_tokenizer.mask_id, tiny_tokenizer.pad_id}
    assert tiny_tokenizer.mask_id in tiny_tokenizer.encode_ids(["Tea [SEP] and [MASK]."])[0]


def _block(sampler: PairSampler, position) -> int:
    """The number of the block at this position, in the shuffled order of its epoch."""
    return int(
        np.random.default_rng([sampler.seed, position.epoch]).permutation(sampler.corpus.num_blocks)[position.block]
    )


def _sources(sampler: PairSampler) -> np.ndarray:
    return sampler._current[1][0].source_D


@pytest.mark.parametrize("weights", [(1.0,), (1.0, -1.0), (0.0, 0.0), (1.0, float("nan"))])
def test_invalid_weights_are_refused(config, tmp_path, weights):
    text = str(jsonl(tmp_path / "a.jsonl", stories(3)))
    with raises_error(DataError, "corpus-weights-invalid", sources=2):
        run(replace(config, text=(text, text), weights=weights))


# -- invalid rows ------------------------------------------------------------------------------------------------------


def write_truncated(path: Path) -> Path:
    datasets.Dataset.from_dict({"text": stories(50)}).to_parquet(path)
    path.write_bytes(path.read_bytes()[:-40])
    return path


def write_damaged(path: Path) -> Path:
    """Its second row group, from row 21, is overwritten with zeros."""
    datasets.Dataset.from_dict({"text": stories(40)}).to_parquet(path, batch_size=20)
    data = bytearray(path.read_bytes())
    middle = len(data) // 2
    data[middle : middle + 200] = bytes(200)
    path.write_bytes(data)
    return path


def write_latin1_row(path: Path) -> Path:
    """Its second row is in Latin-1, the others are in UTF-8."""
    column = pa.array([b"Fine.", b"A caf\xe9.", b"Fine."]).view(pa.string())
    pq.write_table(pa.table({"text": column}), path)
    return path


# file name -> a function that writes it, the number of its invalid row (None: the whole file is), the id of the reason
INVALID = {
    "latin.parquet": (write_latin1_row, 2, "row-not-decodable"),
    "truncated.parquet": (write_truncated, None, "file-not-parquet"),
    "damaged.parquet": (write_damaged, 21, "rows-after-unreadable"),
    "other.parquet": (
        lambda p: datasets.Dataset.from_dict({"body": ["x"]}).to_parquet(p) and p, None, "corpus-column-not-found"),
    "number.parquet": (
        lambda p: datasets.Dataset.from_dict({"text": [1]}).to_parquet(p) and p, None, "corpus-column-not-text"),
    "broken.jsonl": (lambda p: p.write_text('{"text": "One."}\n{"text": "Tw\n') and p, 2, "row-not-json"),
    "list.jsonl": (lambda p: p.write_text('["One."]\n') and p, 1, "row-not-an-object"),
    "column.jsonl": (lambda p: p.write_text('{"body": "One."}\n') and p, 1, "row-without-column"),
    "number.jsonl": (lambda p: p.write_text('\n{"text": 5}\n') and p, 2, "row-value-not-text"),
    "nothing.jsonl": (lambda p: p.write_text('{"text": "One."}\n{"text": ""}\n') and p, 2, "row-without-text"),
    "null.jsonl": (lambda p: p.write_text('{"text": null}\n') and p, 1, "row-without-text"),
    "blank.jsonl": (lambda p: p.write_text('{"text": " \\n "}\n') and p, 1, "row-without-text"),
    "latin.jsonl": (lambda p: p.write_bytes(b'{"text": "caf\xe9"}\n') and p, 1, "row-not-decodable"),
    "digits.jsonl": (lambda p: p.write_text('{"text": ' + "7" * 5000 + "}\n") and p, 1, "row-integer-too-long"),
    "deep.jsonl": (lambda p: p.write_text('{"text": ' + "[" * 10**6 + "\n") and p, 1, "row-json-too-deep"),
    "surrogate.jsonl": (
        lambda p: p.write_text('{"text": "One.", "\\ud800": 1}\n') and p, 1, "row-column-name-invalid"),
    "latin.txt": (lambda p: p.write_bytes(b"One.\n\nA caf\xe9.\n") and p, 3, "row-not-decodable"),
    "array.json": (lambda p: p.write_text('[{"text": "One."},') and p, 2, "rows-after-unreadable"),
    "deep.json": (lambda p: p.write_text('[{"text": "One."}, ' + "[" * 10**6) and p, 2, "rows-after-unreadable"),
    "digits.json": (lambda p: p.write_text(f'[{{"text": {"7" * 5000}}}, {{"text": "One."}}]') and p, 1,
                    "row-integer-too-long"),
    "empty.txt": (lambda p: p.touch() or p, None, "file-empty"),
    "cut.jsonl.gz": (
        lambda p: p.write_bytes(gzip.compress(b'{"text": "One."}\n' * 999)[:-20]) and p, None,
        "compressed-file-damaged"),
}  # fmt: skip


@pytest.mark.parametrize("name", INVALID)
@pytest.mark.parametrize("workers", [1, 2])
def test_an_invalid_row_stops_the_run_or_is_counted(name, workers, config, tmp_path, capsys):
    make, row, id = INVALID[name]
    path = make(tmp_path / name)
    good = jsonl(tmp_path / "good.jsonl", stories(5))
    config = replace(config, text=(str(good), str(path)), workers=workers)
    with raises_error(DataError, "invalid-row-stops") as record:
        run(config)
    error = record.value.params["error"]
    assert str(path) in str(error)
    if row is None:
        assert error.id == id
    else:
        assert (error.id, error.params["row"], error.params["reason"].id) == ("invalid-row", row, id)
    assert not list(tmp_path.glob("out*"))
    capsys.readouterr()
    corpus = run(replace(config, invalid="skip"))
    assert corpus.facts["invalid"] == 1
    assert str(error) in capsys.readouterr().out
    lines = [json.loads(line) for line in (config.out / "invalid_rows.jsonl").read_text().splitlines()]
    assert [(line["path"], line["row"]) for line in lines] == [(str(path), row)]
    assert len(corpus.rows) >= 5


def test_rows_around_an_invalid_row_are_read(config, tmp_path):
    rows = [json.dumps({"text": text}) for text in stories(50)]
    (tmp_path / "a.jsonl").write_text("\n".join([*rows[:10], '{"text": ' + "7" * 5000 + "}", *rows[10:]]) + "\n")
    (tmp_path / "a.json").write_text(f"[{', '.join([*rows[:10], '7' * 5000, *rows[10:]])}]")
    for name in ("a.jsonl", "a.json"):
        out = tmp_path / f"out-{name}"
        corpus = run(replace(config, text=(str(tmp_path / name),), invalid="skip", out=out))
        assert (corpus.facts["documents"], corpus.facts["invalid"]) == (50, 1)
        assert json.loads((out / "invalid_rows.jsonl").read_text())["row"] == 11


@pytest.fixture
def streamed(tmp_path, serve_hub):
    """A function that serves files as a streamed data set of the hub and returns the name of its source."""

    def serve(*files: Path) -> str:
        def load(name, split, streaming=False):
            kind, names = {".jsonl": "json"}.get(files[0].suffix, files[0].suffix[1:]), [str(file) for file in files]
            return datasets.load_dataset(kind, data_files=names, split=split, streaming=streaming, cache_dir=tmp_path)

        serve_hub(load)
        return "owner/name"

    return serve


@pytest.mark.parametrize("damage", [b"Two, and, three.\n", b"A caf\xe9.\n"], ids=["wrong columns", "not UTF-8"])
def test_a_damaged_stream_stops_the_run_or_is_skipped(damage, config, tmp_path, streamed):
    (tmp_path / "b.csv").write_bytes(b"text\nOne.\n" + damage)
    config = replace(config, text=(streamed(tmp_path / "b.csv"),), stream=True)
    with raises_error(DataError, "invalid-row-stops") as record:
        run(config)
    error = record.value.params["error"]
    assert (error.params["source"], error.params["row"]) == ("owner/name", 1)
    assert error.params["reason"].id == "rows-after-unreadable"
    good = jsonl(tmp_path / "good.jsonl", stories(5))
    corpus = run(replace(config, text=(str(good), *config.text), invalid="skip"))
    assert (corpus.facts["documents"], corpus.facts["invalid"]) == (5, 1)


def invalid_rows(shards) -> list[tuple[str, int, str]]:
    """The source, number and reason of every invalid row of these shards."""
    errors = [make_invalid_text_error(shard, row) for shard in shards for row in read_texts(shard) if row.text is None]
    return [(error.params["source"], error.params["row"], error.params["reason"].id) for error in errors]


def test_a_row_of_a_stream_is_numbered_within_its_data_set_or_shard(tmp_path, streamed):
    """The number counts from the start of the data set, or of its shard if each shard is read separately."""
    files = [jsonl(tmp_path / f"{i}.jsonl", [*stories(5), "", *stories(3)]) for i in range(2)]

    def invalid_rows_with(workers):
        return invalid_rows(find_shards([streamed(*files[: 3 - workers])], stream=True, workers=workers)[0])

    assert invalid_rows_with(2) == [("owner/name", 6, "row-without-text")]
    assert invalid_rows_with(1) == [(f"owner/name shard {n} of 2", 6, "row-without-text") for n in (1, 2)]


def test_an_unreadable_row_of_the_hub_is_reported_with_its_number(serve_hub):
    class Rows(list):
        column_names, data = ["text"], pa.table({"text": ["x"]})

        def __getitem__(self, i):
            if i == documents.HUB_ROWS:
                raise pa.ArrowInvalid("spoiled")
            return {"text": "x"}

    serve_hub(lambda name, split, streaming: Rows(range(documents.HUB_ROWS + 5)))
    shards, _ = find_shards(["owner/name"])
    assert invalid_rows(shards) == [("owner/name", documents.HUB_ROWS + 1, "rows-after-unreadable")]


@pytest.mark.parametrize("suffix", ["", ":configuration", "@refs/convert/parquet", ":configuration@refs/pr/1"])
def test_the_id_of_a_hub_data_set_may_have_a_configuration_and_a_revision(serve_hub, suffix):
    names = []
    rows = datasets.Dataset.from_dict({"text": ["x"]})
    serve_hub(lambda name, split, streaming: names.append(name) or rows)
    (shard,), _ = find_shards([f"owner/name{suffix}"])
    assert (names, shard.path, shard.label) == ([shard.path], f"owner/name{suffix}", "name")


def test_every_invalid_row_is_listed_and_the_first_few_are_printed(config, tmp_path, capsys):
    jsonl(tmp_path / "a.jsonl", ["", *stories(9)] * 12)
    corpus = run(replace(config, text=(str(tmp_path / "a.jsonl"),), invalid="skip"))
    assert corpus.facts["documents"] == 108
    assert "12 invalid rows or files left out" in (printed := capsys.readouterr().out)
    assert printed.count("has no text") == 5
    rows = [json.loads(line)["row"] for line in (config.out / "invalid_rows.jsonl").read_text().splitlines()]
    assert rows == list(range(1, 120, 10))


def test_the_command_reports_an_invalid_row_in_one_line(config, tmp_path, capsys):
    path = jsonl(tmp_path / "a.jsonl", ["Fine.", 7])
    words = ["prepare", str(path), "--out", str(tmp_path / "out"), "--tokenizer", str(config.tokenizer)]
    assert main(words) == 2
    assert capsys.readouterr().err.splitlines()[-1].startswith(f"bertlab: {path} row 2: has a value of type number")
    assert main([*words, "--invalid", "skip"]) == 0


def test_an_invalid_row_is_reported_with_its_number():
    assert str(make_row_error("a.jsonl", 1234, Message("row-without-text"))) == "a.jsonl row 1,234: has no text"


def test_prefetched_pairs_are_the_same(config, tmp_path, tiny_tokenizer):
    corpus = run(replace(config, text=(str(jsonl(tmp_path / "a.jsonl", stories(90))),)))
    corpus = replace(corpus, block_size=20)
    longer = LongPairs(96, 0.5)
    direct = PairSampler(corpus, tiny_tokenizer, 16, 48, seed=0, long_pairs=longer)
    prefetching = PairSampler(corpus, tiny_tokenizer, 16, 48, seed=0, long_pairs=longer, prefetch_blocks=2)
    for step in range(120):
        assert direct.update_progress(step / 120) == prefetching.update_progress(step / 120)
        ours, theirs = next(prefetching), next(direct)
        assert (ours.key_B == theirs.key_B).all()
        assert (ours.inputs.input_ids_BT == theirs.inputs.input_ids_BT).all()
    assert direct.position == prefetching.position
    assert direct.position.has_long_pairs
    assert direct.position.epoch > 0


SLEEPER = """
import sys, time
from concurrent.futures import ProcessPoolExecutor
from bertlab.text.pretraining import worker_process
pool = ProcessPoolExecutor(2, initializer=worker_process.set_up)
print(*[pool.submit(__import__("os").getpid).result() for _ in range(2)], *pool._processes, flush=True)
time.sleep(60)
"""


def test_workers_end_with_their_parent():
    process = subprocess.Popen([sys.executable, "-c", SLEEPER], stdout=subprocess.PIPE, text=True)
    pids = {int(pid) for pid in process.stdout.readline().split()}
    process.kill()
    process.wait()
    deadline = time.monotonic() + 30
    while any(_alive(pid) for pid in pids):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False
