"""Preparing text: any kind of file, any number of workers, weights, and damage that is never passed over in silence."""

import csv
import json
import os
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import datasets
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bertlab.cli import main
from bertlab.config.errors import BertlabError, DataError
from bertlab.text.pretraining import preparing
from bertlab.text.pretraining.corpus import Corpus
from bertlab.text.pretraining.sampler import Longer, PairSampler
from bertlab.text.readers import corpus_files as sources
from bertlab.text.readers import rows as rows_module
from bertlab.text.readers.corpus_files import Damage, Shard, damage_of, row_number, shards, texts
from bertlab.text.readers.files import encoding_of
from bertlab.text.readers.rows import read_file
from bertlab.text.tokenizers.wordpiece import Tokenizer
from bertlab.training.pretraining import prepare as prepare_command
from bertlab.training.pretraining.prepare import PrepareConfig, run

COLUMN = "say with --column which holds the text"
WORDS = [
    "the",
    "baker",
    "sold",
    "a",
    "lemon",
    "and",
    "our",
    "pilot",
    "found",
    "one",
    "old",
    "boat",
    "behind",
    "that",
    "green",
    "door",
]


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


def documents(corpus: Corpus) -> list[list[int]]:
    return corpus.rows["input_ids"][:]


# -- reading -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["jsonl", "json", "parquet", "txt"])
@pytest.mark.parametrize("shard", [40, 1 << 20])
def test_every_row_of_any_kind_of_file_is_read_once_and_knows_its_number(kind, shard, tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "SHARD_BYTES", shard)
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
    found, damaged = shards([str(path)], column)
    assert not damaged
    assert {p.label for p in found} == {"notes"}
    assert len(found) == 1 or shard == 40 or kind == "parquet"
    rows = [(row_number(p, i), text) for p in found for i, text, _ in texts(p, column)]
    assert [text for _, text in rows] == expected
    if kind == "txt":
        begun = [path.read_text(encoding="utf-8-sig").split("\n").index(text.split("\n")[0]) + 1 for text in expected]
        assert [number for number, _ in rows] == begun
    else:
        assert [number for number, _ in rows] == list(range(1, 12))


@pytest.mark.parametrize("shard", [60, 1 << 20])
@pytest.mark.parametrize("kind", ["csv", "tsv"])
def test_tables_are_read_row_by_row_and_damage_is_named(kind, shard, tmp_path, monkeypatch):
    """A text of a .csv may have commas, quotation marks and line breaks in it."""
    monkeypatch.setattr(sources, "SHARD_BYTES", shard)
    broken = "A line.\nAnother,\nand a third." if kind == "csv" else "A line."
    written = ["One, two.", 'She said "tea", twice.', broken, "", "둘째 글은 한국어로 쓴다."]
    path = tmp_path / f"notes.{kind}"
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        plain = {"delimiter": "\t", "quoting": csv.QUOTE_NONE, "quotechar": None}
        rows = csv.writer(file, **(plain if kind == "tsv" else {}))
        rows.writerow(("id", "body"))
        rows.writerows(enumerate(written))
    with path.open("ab") as file:
        file.write(b"7\n" + "8,9".replace(",", "," if kind == "csv" else "\t").encode() + b"\xff\n")
    found, damaged = shards([str(path)], "body")
    assert not damaged
    assert len(found) == 1 or shard == 60
    read = [(row_number(part, i), text, why) for part in found for i, text, why in texts(part, "body")]
    assert [text for _, text, _ in read] == [text or None for text in written] + [None, None]
    assert [number for number, _, _ in read] == [2, 3, 4, *((7, 8, 9, 10) if kind == "csv" else (5, 6, 7, 8))]
    assert [why for *_, why in read[3:]] == [
        "has no text", "", "has 1 fields, but there are 2 columns", "is not UTF-8: byte 2 of it is 0xff",
    ]  # fmt: skip
    _, damaged = shards([str(path)], "text")
    assert [str(damage) for damage in damaged] == [f"{path}: has no column 'text'; it has id, body: {COLUMN}"]


@pytest.mark.parametrize("shard", [60, 1 << 20])
def test_a_table_with_tabs_and_quotation_marks_around_its_fields(shard, tmp_path, monkeypatch):
    """As pandas and Excel write it; of GLUE's, marks are words of the text."""
    monkeypatch.setattr(sources, "SHARD_BYTES", shard)
    written = ["Tea.", 'She said "tea", twice.', "A line.\nAnother.", "A tab\there.", "Rain fell."]
    path = tmp_path / "notes.TSV"
    with path.open("w", newline="") as file:
        csv.writer(file, delimiter="\t").writerows([("id", "text"), *enumerate(written)])
    found, _ = shards([str(tmp_path)])
    assert [text for part in found for _, text, _ in texts(part)] == written
    assert [row["text"] for row in read_file(path).rows] == written
    path.write_text('id\ttext\n1\t"Tea," she said.\n2\tand "more".\n3\t"So."\n')
    expected = ['"Tea," she said.', 'and "more".', '"So."']
    found, _ = shards([str(path)])
    assert [text for part in found for _, text, _ in texts(part)] == expected
    assert [row["text"] for row in read_file(path).rows] == expected


@pytest.mark.parametrize("word", ["tea ", "찻집 "])
def test_a_long_table_is_told_by_its_beginning(word, tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "SAMPLE", 1000)
    monkeypatch.setattr(rows_module, "SAMPLE", 1000)
    written = [f'{number} "{word * (number % 9)}"\nand more.' for number in range(300)]
    path = tmp_path / "notes.tsv"
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, delimiter="\t").writerows([("id", "text"), *enumerate(written)])
    found, _ = shards([str(path)])
    assert [text for part in found for _, text, _ in texts(part)] == written
    assert [row["text"] for row in read_file(path).rows] == written


def test_hidden_files_are_passed_over_and_capital_letters_are_not(tmp_path):
    for name in (".notes.txt", "._a.TXT", ".checkpoints/a.txt", "deep/B.TXT", "c.Csv"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("text\nTea.\n")
    found, damaged = shards([str(tmp_path)])
    assert not damaged
    assert [Path(part.path).name for part in found] == ["c.Csv", "B.TXT"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("text\nTea.\n".encode("utf-16"), "is UTF-16, not UTF-8: save it as UTF-8"),
        (b"id;text\n1;Tea.\n", "is parted by ';', not by commas: save it with commas between"),
        (
            f"{'Rain fell. ' * 900}\nTea.\n".encode(),
            f"has no column 'text'; it has {('Rain fell. ' * 9)[:40]}…: {COLUMN}",
        ),
    ],
)
def test_a_table_of_another_making_is_named(content, said, tmp_path):
    (tmp_path / "a.csv").write_bytes(content)
    _, damaged = shards([str(tmp_path / "a.csv")])
    assert [damage.why for damage in damaged] == [said]


@pytest.mark.parametrize(
    "content",
    [
        "비가 온다.\n".encode()[:-3] + b"\n",  # a character broken off
        b"\xeb" + "비가 온다. 눈이 온다.\n".encode(),
        "One café.\n".encode("latin-1"),
        "「雨」が降る。".encode("shift-jis"),
        b"\x00\xff" * 50,
    ],
)
def test_damaged_text_is_not_taken_for_another_encoding(content):
    assert encoding_of(content) == "utf-8-sig"


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.txt", "a.jsonl", "a.json"])
@pytest.mark.parametrize("shard", [700, 1 << 20])
def test_korean_as_excel_saves_it_is_read(name, shard, tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "SHARD_BYTES", shard)
    said = [f"비가 {n}시에 왔다. “겨우” 그쳤다, 뾰족한 지붕 위로." for n in range(60)]
    written = {
        ".csv": lambda: "text\n" + "".join(f'"{one}"\n' for one in said),
        ".tsv": lambda: "id\ttext\n" + "".join(f"{n}\t{one}\n" for n, one in enumerate(said)),
        ".txt": lambda: "\n\n".join(said),
        ".jsonl": lambda: "".join(json.dumps({"text": one}, ensure_ascii=False) + "\n" for one in said),
        ".json": lambda: json.dumps([{"text": one} for one in said], ensure_ascii=False),
    }[Path(name).suffix]()
    (tmp_path / name).write_bytes(written.encode("cp949"))
    found, damaged = shards([str(tmp_path / name)])
    assert not damaged
    assert [text for part in found for _, text, _ in texts(part)] == said


def test_a_table_whose_quotation_mark_never_ends_is_damaged(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text('text\nTea.\n"Rain fell.\nBread.\n')
    (found,), _ = shards([str(path)])
    read = list(texts(found))
    assert read[0] == (1, "Tea.", "")
    assert read[1][:2] == (2, None)
    assert read[1][2] == "is damaged: unexpected end of data, and the 1 lines after it with it"
    assert len(read) == 2


@pytest.mark.parametrize("shard", [700, 1 << 20])
def test_a_long_text_without_blank_lines_is_several_documents(shard, tmp_path, monkeypatch):
    """Each ends with a line, and shorter ones after it are whole wherever a shard is cut."""
    monkeypatch.setattr(sources, "SHARD_BYTES", shard)
    monkeypatch.setattr(sources, "DOCUMENT_BYTES", 300)
    lines, short = [f"Line {number} of a long text." for number in range(400)], [story[:250] for story in stories(40)]
    path = tmp_path / "a.txt"
    path.write_text("\n".join(lines) + "\n\n" + "\n\n".join(short))
    found, _ = shards([str(path)])
    rows = [(row_number(part, i), text) for part in found for i, text, _ in texts(part)]
    assert max(part.size for part in found) < 700 + 2 * 300 or shard > 700
    assert max(len(text) for _, text in rows) < 300 + 30
    long = [(number, text) for number, text in rows if number <= 400]
    assert "\n".join(text for _, text in long).split("\n") == lines
    assert all(text.split("\n")[0] == lines[number - 1] for number, text in long)
    assert [text for number, text in rows if number > 400] == short


@pytest.mark.parametrize("shard", [700, 1 << 20])
@pytest.mark.parametrize("unit", ["green tea and a mill ", "물레방아 옆 찻집의 ", "물레방아옆찻집의", "🫖🌾"])
def test_a_text_without_line_breaks_is_several_documents(shard, unit, tmp_path, monkeypatch):
    """Parted between words, or where there are none, between characters; what comes after has its own line's number."""
    monkeypatch.setattr(sources, "SHARD_BYTES", shard)
    monkeypatch.setattr(sources, "DOCUMENT_BYTES", 300)
    line, short = unit * (4000 // len(unit.encode())), "Rain fell."
    path = tmp_path / "a.txt"
    path.write_text(f"{line}\n\n{short}\n", encoding="utf-8")
    found, _ = shards([str(path)])
    assert len(found) == 1 or shard == 700
    rows = [(row_number(part, i), text) for part in found for i, text, _ in texts(part)]
    assert rows[-1] == (3, short)
    assert {number for number, _ in rows[:-1]} == {1}
    assert "".join(text for _, text in rows[:-1]) == line
    assert max(len(text.encode()) for _, text in rows) <= 300
    assert len(rows) < 40
    if " " in unit:
        assert all(text.endswith(" ") for _, text in rows[:-1])


def test_a_hub_data_set_is_streamed_in_shares_that_are_all_of_it(tmp_path, monkeypatch):
    files = [str(jsonl(tmp_path / f"part-{i}.jsonl", stories(10, seed=i))) for i in range(3)]

    def load(name, split, streaming=False):
        return datasets.load_dataset("json", data_files=files, split=split, streaming=streaming, cache_dir=tmp_path)

    monkeypatch.setattr(sources.hub, "load", load)
    sources._hub_rows.cache_clear()
    everything = Counter(text for i in range(3) for text in stories(10, seed=i))
    for stream, workers, shares in ((True, 2, 3), (True, 5, 5), (False, 2, 1)):
        found, _ = shards(["owner/name"], stream=stream, workers=workers)
        assert len(found) == shares
        assert Counter(text for shard in found for _, text, _ in texts(shard)) == everything
    sources._hub_rows.cache_clear()


def test_a_stream_gives_its_share_of_the_sample_and_is_read_no_further(tmp_path, monkeypatch):
    everything = [f"{number} " + "tea " * 25 for number in range(1000)]
    read = []

    def rows(shard, column):
        for number, text in enumerate(everything):
            read.append(text)
            yield number, text, None

    monkeypatch.setattr(prepare_command, "texts", rows)
    shares = [Shard("owner/name", "share", "", 0, share, 2, 0) for share in range(2)]
    assert sum(map(len, prepare_command._evenly(shares, "text", 10_000))) < 11_000
    assert len(read) < 110


@pytest.mark.parametrize(("asked", "expected"), [(10**6, 300_000), (200_000, 200_000), (30_000, 30_000)])
def test_of_many_small_shards_the_sample_takes_as_many_as_it_needs(asked, expected, monkeypatch):
    monkeypatch.setattr(prepare_command, "texts", lambda shard, column: [(0, str(shard.first).ljust(100), "")])
    small = [Shard("a", "lines", "", 0, i, i + 100, 100) for i in range(3000)]
    taken = list(prepare_command._evenly(small, "text", asked))
    assert sum(map(len, taken)) == pytest.approx(expected, rel=0.01)
    halves = Counter(int(text) < 1500 for text in taken)
    assert halves[True] == pytest.approx(halves[False], rel=0.02)


def test_of_many_large_shards_the_sample_opens_few_all_over(monkeypatch):
    opened = []

    def rows(shard, column):
        opened.append(shard.first)
        return ((i, "tea " * 25, "") for i in range(shard.size // 100))

    monkeypatch.setattr(prepare_command, "texts", rows)
    large = [Shard("a", "lines", "", 0, i, 0, 10**6) for i in range(3000)]
    taken = sum(map(len, prepare_command._evenly(large, "text", 10**6)))
    assert taken == pytest.approx(10**6, rel=0.03)
    assert len(opened) <= 257
    assert max(np.diff(opened)) < 20


# -- preparing ---------------------------------------------------------------------------------------------------


def test_neither_workers_nor_stacks_lose_or_double_a_document(config, tmp_path, monkeypatch):
    """And the number of workers changes nothing at all."""
    monkeypatch.setattr(sources, "SHARD_BYTES", 3000)
    files = [jsonl(tmp_path / f"part-{i}.jsonl", stories(60, seed=i)) for i in range(3)]
    config = replace(config, text=tuple(map(str, files)))
    one = documents(run(config))
    assert documents(run(replace(config, out=tmp_path / "two", workers=3))) == one
    monkeypatch.setattr(preparing, "STACK", 4000)
    monkeypatch.setattr(preparing, "TOKENS_AT_ONCE", 500)
    monkeypatch.setattr(preparing, "FILE", 20_000)
    many = run(replace(config, out=tmp_path / "many"))
    assert len(list((tmp_path / "many" / "rows").iterdir())) > 1
    assert documents(many) != one
    assert sorted(documents(many)) == sorted(one)
    assert len(one) == 180
    assert many.facts["documents"] == 180
    assert many.facts["tokens"] == sum(map(len, one))
    assert many.facts["bytes"] == sum(len(text) for i in range(3) for text in stories(60, seed=i))


def test_a_single_document_is_told_to_have_no_random_second_sentence(config, tmp_path, capsys):
    (tmp_path / "a.txt").write_text("\n".join(stories(3)))
    run(replace(config, text=(str(tmp_path / "a.txt"),)))
    assert "single document" in capsys.readouterr().out
    (tmp_path / "a.txt").write_text("\n \n".join(stories(3)))
    assert run(replace(config, text=(str(tmp_path / "a.txt"),), out=tmp_path / "three")).facts["documents"] == 3
    assert "single document" not in capsys.readouterr().out


def test_documents_of_all_files_lie_mixed(config, tmp_path):
    files = [jsonl(tmp_path / f"{name}-0.jsonl", stories(200)) for name in ("first", "second")]
    found = run(replace(config, text=tuple(map(str, files)))).rows["source"][:]
    assert 60 < found[:200].count("first") < 140


def test_the_second_time_it_is_there_at_once_until_something_changes(config, tmp_path, monkeypatch, capsys):
    text = jsonl(tmp_path / "a.jsonl", stories(20))
    config = replace(config, text=(str(text),), tokenizer=None, vocab_size=90)
    run(config)
    monkeypatch.setattr(preparing, "_dealt", None)
    monkeypatch.setattr(preparing.Tokenizer, "train", None)
    corpus = run(config)
    assert "it was there already" in capsys.readouterr().out
    assert len(corpus.rows) == 20
    assert run(replace(config, weights=(2.0,))).facts["weights"] == [2.0]
    assert "weigh 2 from now on, as asked; before 1" in capsys.readouterr().out


def test_another_corpus_is_never_replaced(config, tmp_path):
    text, other = (jsonl(tmp_path / name, stories(20)) for name in ("a.jsonl", "b.jsonl"))
    config = replace(config, text=(str(text),), tokenizer=None, vocab_size=90)
    run(config)
    before = {path: path.stat().st_mtime_ns for path in config.out.rglob("*")}
    for changed, said in (
        ({"text": (str(other),)}, "other texts"),
        ({"vocab_size": 95}, "another vocabulary"),
        ({"tokenizer": str(tmp_path / "vocabulary"), "vocab_size": PrepareConfig.vocab_size}, "another vocabulary"),
        ({"seed": 1}, "another --seed"),
        ({"column": "body", "stream": True}, "another --column, another --stream"),
    ):
        with pytest.raises(DataError) as error:
            run(replace(config, **changed))
        assert str(error.value) == f"{config.out} holds a corpus of {said}: name another --out, or remove it"
    jsonl(text, stories(21))
    with pytest.raises(DataError, match="out holds a corpus of texts that have changed since: name another --out"):
        run(config)
    assert {path: path.stat().st_mtime_ns for path in config.out.rglob("*")} == before


def test_the_same_texts_written_otherwise_open_what_is_there(config, tmp_path, monkeypatch):
    """And where nothing was damaged, whatever was to be done about damage."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "texts").mkdir()
    jsonl(tmp_path / "texts" / "a.jsonl", stories(20))
    run(replace(config, text=("texts",)))
    before = (config.out / "corpus.json").stat().st_mtime_ns
    for text in ("texts/", "./texts"):
        run(replace(config, text=(text,), invalid="skip"))
    assert (config.out / "corpus.json").stat().st_mtime_ns == before


def test_what_is_being_prepared_is_not_begun_again(config, tmp_path, monkeypatch):
    """Nor is anything of it removed; what a killed one left is."""
    config = replace(config, text=(str(jsonl(tmp_path / "a.jsonl", stories(20))),))
    said, dealt = [], preparing._dealt

    def dealt_twice(*job):
        with pytest.raises(BertlabError) as error:
            run(config)
        said.append(str(error.value))
        return dealt(*job)

    (tmp_path / "out.building" / "corpus" / "left").mkdir(parents=True)
    monkeypatch.setattr(preparing, "_dealt", dealt_twice)
    assert run(config).facts["documents"] == 20
    assert len(said) == 1
    assert said[0].startswith(f"the preparation of {config.out} is under way in another process: wait until")
    assert sorted(path.name for path in config.out.iterdir()) == ["corpus.json", "rows", "tokenizer"]
    assert not (tmp_path / "out.building").exists()


def test_a_corpus_of_the_hub_that_is_there_needs_no_hub(config, tmp_path, monkeypatch):
    rows = datasets.Dataset.from_dict({"text": stories(20)})
    monkeypatch.setattr(sources.hub, "load", lambda name, split, streaming=False: rows)
    sources._hub_rows.cache_clear()
    config = replace(config, text=("owner/name",))
    expected = documents(run(config))
    sources._hub_rows.cache_clear()
    monkeypatch.setattr(sources.hub, "load", None)
    assert documents(run(config)) == expected


def test_a_corpus_prepared_before_stacks_still_opens(config, tmp_path):
    corpus = run(replace(config, text=(str(jsonl(tmp_path / "a.jsonl", stories(20))),)))
    expected = documents(corpus)
    old = tmp_path / "old"
    corpus.rows.remove_columns("nth").save_to_disk(str(old / "rows"))
    facts = {**corpus.facts, "settings": {k: corpus.facts["settings"][k] for k in ("sources", "column", "seed")}}
    del facts["weights"]
    (old / "corpus.json").write_text(json.dumps(facts))
    assert documents(Corpus.open(old)) == expected
    assert documents(run(replace(config, text=tuple(facts["settings"]["sources"]), out=old))) == expected
    assert (old / "rows" / "state.json").is_file()


def test_nothing_of_torch_is_needed(tmp_path, vocabulary):
    text = jsonl(tmp_path / "a.jsonl", stories(20))
    script = (
        "import sys; from bertlab.cli import main; code = main(sys.argv[1:]);"
        "sys.exit(code or ('torch is imported' if 'torch' in sys.modules else 0))"
    )
    words = ["prepare", str(text), "--out", str(tmp_path / "out"), "--tokenizer", str(vocabulary), "--workers", "2"]
    done = subprocess.run([sys.executable, "-c", script, *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "MB/s" in done.stdout
    assert "100.0%" in done.stderr


def test_sources_without_any_text_and_a_directory_called_dot(config, tmp_path, monkeypatch):
    (tmp_path / "empty.txt").touch()
    asked = replace(config, text=(str(tmp_path / "empty.txt"),), tokenizer=None, invalid="skip")
    with pytest.raises(DataError, match=r"no text was found in .*empty.txt: .*empty.txt: is empty"):
        run(asked)
    text = jsonl(tmp_path / "a.jsonl", stories(5))
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert len(run(replace(config, text=(str(text),), out=Path())).rows) == 5
    assert (tmp_path / "here" / "corpus.json").is_file()


def test_a_vocabulary_is_named_as_a_checkpoint_is(config, tmp_path, tiny_checkpoint, monkeypatch, capsys):
    monkeypatch.setenv("BERTLAB_CHECKPOINTS", str(tiny_checkpoint.parent))
    text = jsonl(tmp_path / "a.jsonl", stories(9))
    corpus = run(replace(config, text=(str(text),), tokenizer=tiny_checkpoint.name))
    assert (config.out / "tokenizer" / "vocab.txt").read_text() == (tiny_checkpoint / "vocab.txt").read_text()
    assert corpus.facts["documents"] == 9
    words = ["prepare", str(text), "--out", str(tmp_path / "other"), "--tokenizer", "./nobody"]
    assert main(words) == 2
    assert capsys.readouterr().err.splitlines()[-1] == "bertlab: there is no directory ./nobody"


def test_a_text_that_gives_fewer_pieces_says_how_many(config, tmp_path, capsys):
    config = replace(config, text=(str(jsonl(tmp_path / "a.jsonl", stories(9))),), tokenizer=None, vocab_size=8000)
    run(config)
    learnt = Tokenizer.load(config.out / "tokenizer").vocab_size
    assert learnt < 200
    said = f"learning 8,000 pieces\n{learnt} pieces were learnt: this text gives no more\n"
    assert capsys.readouterr().out.startswith(said)
    run(replace(config, vocab_size=60, out=tmp_path / "other"))
    assert "were learnt" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("cased", "idle"), [(False, "--vocab-size, --sample"), (True, "--vocab-size, --sample, --cased")]
)
def test_a_vocabulary_that_is_given_is_not_learnt(config, tmp_path, cased, idle):
    config = replace(config, text=(str(jsonl(tmp_path / "a.jsonl", stories(9))),))
    with pytest.raises(DataError, match=f"--tokenizer brings a vocabulary as it is: leave out {idle}$"):
        run(replace(config, vocab_size=8000, sample=9, cased=cased))
    # a vocab.txt does not say it itself
    run(replace(config, tokenizer=config.tokenizer / "vocab.txt", cased=True))
    assert not Tokenizer.load(config.out / "tokenizer").lowercase


def _die(numbered):
    os._exit(9)


def test_a_process_that_is_killed_ends_the_preparation(config, tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "SHARD_BYTES", 500)
    monkeypatch.setattr(preparing, "_tokenise", _die)
    text = jsonl(tmp_path / "a.jsonl", stories(20))
    with pytest.raises(DataError, match="ended from outside"):
        run(replace(config, text=(str(text),), workers=2))
    assert not list(tmp_path.glob("out*"))


# -- weights -----------------------------------------------------------------------------------------------------


def test_weights_say_how_often_an_epoch_takes_each_source(config, tmp_path, tiny_tokenizer):
    names = {"often": 3.0, "once": 1.0, "half": 0.5, "never": 0.0}
    files = [str(jsonl(tmp_path / f"{name}.jsonl", stories(300, seed=i))) for i, name in enumerate(names)]
    corpus = run(replace(config, text=tuple(files), weights=tuple(names.values())))
    corpus = replace(corpus, block_size=500)
    sampler = PairSampler(corpus, tiny_tokenizer, 16, 64, seed=0)
    found, epochs = Counter(), 4
    places, keys = [], []
    while sampler.place.epoch < epochs:
        place = sampler.place
        places.append(place)
        keys.append(next(sampler).key_B)
        if place.row == 0:
            _, pairs, _ = sampler._loaded[1]
            labels = np.unique(corpus.rows.data.slice(500 * _block(sampler, place), 500).column("source").to_numpy())
            counts = Counter(labels[d] for d in _sources(sampler)[pairs.document_a_E])
            found.update(counts)
    assert found["never"] == 0
    assert found["often"] / found["once"] == pytest.approx(3, rel=0.05)
    assert found["half"] / found["once"] == pytest.approx(0.5, rel=0.1)
    again = next(PairSampler(corpus, tiny_tokenizer, 16, 64, seed=0, place=places[len(places) // 2]))
    assert (again.key_B == keys[len(places) // 2]).all()


def test_an_epoch_may_leave_out_every_document(config, tmp_path, tiny_tokenizer):
    corpus = run(replace(config, text=(str(jsonl(tmp_path / "a.jsonl", stories(3))),), weights=(0.1,)))
    sampler = PairSampler(corpus, tiny_tokenizer, 4, 64, seed=0)
    epochs = [sampler.place.epoch for _ in range(20) if len(next(sampler))]
    assert epochs[-1] > 40  # most of them had none


def test_a_large_batch_leaves_little_out(config, tmp_path, tiny_tokenizer):
    corpus = run(replace(config, text=(str(jsonl(tmp_path / "a.jsonl", stories(600, lines=2))),)))
    small = replace(corpus, block_size=20)
    sampler = PairSampler(small.in_blocks_for(32 * 64), tiny_tokenizer, 32, 64, seed=0)
    assert {len(next(sampler)) for _ in range(40)} == {32}
    assert len(next(PairSampler(small, tiny_tokenizer, 32, 64, seed=0))) < 32
    sizes = [len(small.documents(block)) for block in range(small.num_blocks)]
    assert sum(sizes) == 600
    uneven = replace(corpus, block_size=32)
    assert {len(uneven.documents(block)) for block in range(uneven.num_blocks)} == {31, 32}


def test_a_text_that_tells_of_special_pieces_holds_none(config, tmp_path, tiny_tokenizer):
    corpus = run(replace(config, text=(str(jsonl(tmp_path / "a.jsonl", ["Tea [SEP] and [MASK].\nA [PAD] bowl."])),)))
    ids = {id for document in documents(corpus) for id in document}
    assert not ids & {tiny_tokenizer.sep_id, tiny_tokenizer.mask_id, tiny_tokenizer.pad_id}
    assert tiny_tokenizer.mask_id in tiny_tokenizer.encode_ids(["Tea [SEP] and [MASK]."])[0]


def _block(sampler: PairSampler, place) -> int:
    return int(np.random.default_rng([sampler.seed, place.epoch]).permutation(sampler.corpus.num_blocks)[place.block])


def _sources(sampler: PairSampler) -> np.ndarray:
    return sampler._loaded[1][0].source_D


@pytest.mark.parametrize("weights", [(1.0,), (1.0, -1.0), (0.0, 0.0), (1.0, float("nan"))])
def test_weights_that_are_none_are_refused(config, tmp_path, weights):
    text = str(jsonl(tmp_path / "a.jsonl", stories(3)))
    with pytest.raises(DataError, match="need as many weights"):
        run(replace(config, text=(text, text), weights=weights))


# -- damage ------------------------------------------------------------------------------------------------------


def truncated(path: Path) -> Path:
    datasets.Dataset.from_dict({"text": stories(50)}).to_parquet(path)
    path.write_bytes(path.read_bytes()[:-40])
    return path


def spoiled(path: Path) -> Path:
    """Its second row group is no longer what the footer says."""
    datasets.Dataset.from_dict({"text": stories(40)}).to_parquet(path, batch_size=20)
    data = bytearray(path.read_bytes())
    middle = len(data) // 2
    data[middle : middle + 200] = bytes(200)
    path.write_bytes(data)
    return path


def mixed(path: Path) -> Path:
    column = pa.array([b"Fine.", b"A caf\xe9.", b"Fine."]).view(pa.string())
    pq.write_table(pa.table({"text": column}), path)
    return path


DAMAGED = {
    "latin.parquet": (mixed, 2, "is not UTF-8: byte 6"),
    "truncated.parquet": (truncated, None, "cannot be read"),
    "spoiled.parquet": (spoiled, 21, "cannot be read"),
    "other.parquet": (
        lambda p: datasets.Dataset.from_dict({"body": ["x"]}).to_parquet(p) and p, None, "has no column 'text'"),
    "broken.jsonl": (lambda p: p.write_text('{"text": "One."}\n{"text": "Tw\n') and p, 2, "is no JSON"),
    "list.jsonl": (lambda p: p.write_text('["One."]\n') and p, 1, "is no JSON object but list"),
    "column.jsonl": (lambda p: p.write_text('{"body": "One."}\n') and p, 1, "has no column 'text'; it has body"),
    "number.jsonl": (lambda p: p.write_text('\n{"text": 5}\n') and p, 2, "has no text in 'text' but int"),
    "nothing.jsonl": (lambda p: p.write_text('{"text": "One."}\n{"text": ""}\n') and p, 2, "has no text"),
    "null.jsonl": (lambda p: p.write_text('{"text": null}\n') and p, 1, "has no text"),
    "blank.jsonl": (lambda p: p.write_text('{"text": " \\n "}\n') and p, 1, "has no text"),
    "latin.jsonl": (lambda p: p.write_bytes(b'{"text": "caf\xe9"}\n') and p, 1, "is not UTF-8: byte 14"),
    "latin.txt": (lambda p: p.write_bytes(b"One.\n\nA caf\xe9.\n") and p, 3, "is not UTF-8"),
    "array.json": (lambda p: p.write_text('[{"text": "One."},') and p, 1, "is no JSON array"),
    "empty.txt": (lambda p: p.touch() or p, None, "is empty"),
}  # fmt: skip


@pytest.mark.parametrize("name", DAMAGED)
@pytest.mark.parametrize("workers", [1, 2])
def test_damage_is_named_and_stops_the_run_or_is_counted(name, workers, config, tmp_path, capsys):
    make, row, why = DAMAGED[name]
    path = make(tmp_path / name)
    good = jsonl(tmp_path / "good.jsonl", stories(5))
    config = replace(config, text=(str(good), str(path)), workers=workers)
    with pytest.raises(DataError) as caught:
        run(config)
    line = str(caught.value)
    assert line.startswith(str(path))
    assert (f" row {row}:" in line) == (row is not None)
    assert why in line
    assert "--invalid skip" in line
    assert "\n" not in line
    assert not list(tmp_path.glob("out*"))
    capsys.readouterr()
    corpus = run(replace(config, invalid="skip"))
    assert corpus.facts["damages"] == 1
    assert line.removesuffix(" (--invalid skip leaves out what cannot be used)") in capsys.readouterr().out
    listed = [json.loads(line) for line in (config.out / "damaged.jsonl").read_text().splitlines()]
    assert [(d["path"], d["row"]) for d in listed] == [(str(path), row)]
    assert len(corpus.rows) >= 5


@pytest.fixture
def streamed(tmp_path, monkeypatch):
    """Files -> the source that streams them as a data set of the hub."""

    def serve(*files: Path) -> str:
        def load(name, split, streaming=False):
            kind, names = {".jsonl": "json"}.get(files[0].suffix, files[0].suffix[1:]), [str(file) for file in files]
            return datasets.load_dataset(kind, data_files=names, split=split, streaming=streaming, cache_dir=tmp_path)

        monkeypatch.setattr(sources.hub, "load", load)
        sources._hub_rows.cache_clear()
        return "owner/name"

    yield serve
    sources._hub_rows.cache_clear()


@pytest.mark.parametrize("spoil", [b"Two, and, three.\n", b"A caf\xe9.\n"], ids=["no table", "no UTF-8"])
def test_a_damaged_stream_is_named_and_stops_the_run_or_is_left_out(spoil, config, tmp_path, streamed):
    (tmp_path / "b.csv").write_bytes(b"text\nOne.\n" + spoil)
    config = replace(config, text=(streamed(tmp_path / "b.csv"),), stream=True)
    with pytest.raises(DataError, match=r"^owner/name row 1: and what comes after it cannot be read: .*--invalid skip"):
        run(config)
    good = jsonl(tmp_path / "good.jsonl", stories(5))
    corpus = run(replace(config, text=(str(good), *config.text), invalid="skip"))
    assert (corpus.facts["documents"], corpus.facts["damages"]) == (5, 1)


def test_a_row_of_a_stream_is_named_as_it_can_be_found(tmp_path, streamed):
    """By its number in the data set, or in the one of its shards that a process reads alone."""
    files = [jsonl(tmp_path / f"{i}.jsonl", [*stories(5), "", *stories(3)]) for i in range(2)]

    def damaged(workers):
        found, _ = shards([streamed(*files[: 3 - workers])], stream=True, workers=workers)
        return [str(damage_of(s, i, why)) for s in found for i, text, why in texts(s) if text is None]

    assert damaged(2) == ["owner/name row 6: has no text"]
    assert damaged(1) == [f"owner/name shard {n} of 2 row 6: has no text" for n in (1, 2)]


def test_a_row_of_the_hub_that_cannot_be_read_is_named(tmp_path, monkeypatch):
    class Rows(list):
        column_names, data = ["text"], pa.table({"text": ["x"]})

        def __getitem__(self, i):
            if i == sources.ROWS:
                raise pa.ArrowInvalid("spoiled")
            return {"text": "x"}

    monkeypatch.setattr(sources.hub, "load", lambda name, split, streaming: Rows(range(sources.ROWS + 5)))
    sources._hub_rows.cache_clear()
    found, _ = shards(["owner/name"])
    damage = [damage_of(s, i, why) for s in found for i, text, why in texts(s) if text is None]
    assert [(d.path, d.row) for d in damage] == [("owner/name", sources.ROWS + 1)]
    sources._hub_rows.cache_clear()


def test_every_damaged_row_is_listed_and_the_first_few_are_printed(config, tmp_path, capsys):
    jsonl(tmp_path / "a.jsonl", ["", *stories(9)] * 12)
    corpus = run(replace(config, text=(str(tmp_path / "a.jsonl"),), invalid="skip"))
    assert corpus.facts["documents"] == 108
    assert "12 damaged left out" in (printed := capsys.readouterr().out)
    assert printed.count("has no text") == 5
    rows = [json.loads(line)["row"] for line in (config.out / "damaged.jsonl").read_text().splitlines()]
    assert rows == list(range(1, 120, 10))


def test_the_command_line_says_it_in_one_line(config, tmp_path, capsys):
    path = jsonl(tmp_path / "a.jsonl", ["Fine.", 7])
    words = ["prepare", str(path), "--out", str(tmp_path / "out"), "--tokenizer", str(config.tokenizer)]
    assert main(words) == 2
    assert capsys.readouterr().err.splitlines()[-1].startswith(f"bertlab: {path} row 2: has no text in 'text' but int")


def test_a_row_is_named_as_people_count():
    assert str(Damage("a.jsonl", 1234, "has no text")) == "a.jsonl row 1,234: has no text"
    assert str(Damage("a.jsonl", None, "is empty")) == "a.jsonl: is empty"


def test_pairs_drawn_ahead_are_the_same(config, tmp_path, tiny_tokenizer):
    corpus = run(replace(config, text=(str(jsonl(tmp_path / "a.jsonl", stories(90))),)))
    corpus = replace(corpus, block_size=20)
    longer = Longer(96, 0.5)
    here = PairSampler(corpus, tiny_tokenizer, 16, 48, seed=0, longer=longer)
    ahead = PairSampler(corpus, tiny_tokenizer, 16, 48, seed=0, longer=longer, ahead=2)
    for step in range(120):
        assert here.turn(step / 120) == ahead.turn(step / 120)
        ours, theirs = next(ahead), next(here)
        assert (ours.key_B == theirs.key_B).all()
        assert (ours.inputs.input_ids_BT == theirs.inputs.input_ids_BT).all()
    assert here.place == ahead.place
    assert here.place.longer
    assert here.place.epoch > 0


SLEEPER = """
import sys, time
from concurrent.futures import ProcessPoolExecutor
from bertlab.text import helpers
pool = ProcessPoolExecutor(2, initializer=helpers.begin)
print(*[pool.submit(__import__("os").getpid).result() for _ in range(2)], *pool._processes, flush=True)
time.sleep(60)
"""


def test_helpers_end_with_the_process_they_help():
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
