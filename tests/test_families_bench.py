"""`bertlab bench families`: finished runs are skipped, rows of replaced checkpoints do not count, and the tables."""

import json
import shutil

import pytest
from support.errors import command_error

from benchmarks import families
from benchmarks.families import FamiliesBenchConfig, append_row, do_missing_runs, read_rows, select_rows
from benchmarks.family_runs import TASKS, make_pretraining_config, save_rows
from benchmarks.family_table import format_document, summarise
from bertlab.cli import main
from bertlab.config.errors import DataError

NAMES = ("bert", "roberta", "albert", "electra", "modernbert", "distilbert")


@pytest.fixture(scope="module")
def tasks(tmp_path_factory):
    """A directory with 40 rows of SST-2, where the label is that of the adjective."""
    directory = tmp_path_factory.mktemp("tasks") / "sst2"
    directory.mkdir()
    rows = [{"sentence": f"a {word} boat", "label": label} for word, label in (("good", 1), ("old", 0)) * 20]
    for split in ("train", "validation"):
        (directory / f"{split}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return directory.parent


def make_config(corpus, tasks, directory, **changes) -> FamiliesBenchConfig:
    settings = {
        "minutes": 0.004, "layers": 1, "hidden": 32, "attention_heads": 2, "batch_size": 4, "max_tokens": 32,
        "precision": "float32", "evaluation_rows": 64, "families": ("bert",), "seed_values": (0,),
        "parts": ("pretraining", "sst2"), "task_rows": 20,
    }  # fmt: skip
    return FamiliesBenchConfig(
        corpus=corpus, validation=corpus, data=tasks, out=directory / "runs", results=directory / "rows.jsonl",
        **settings | changes,
    )  # fmt: skip


def do_runs(config) -> list[dict]:
    rows = []
    for row in do_missing_runs(config):
        append_row(config.results, row)
        rows.append(row)
    return rows


def test_every_family_is_trained_evaluated_and_not_repeated(corpus, tasks, tmp_path):
    teacher = make_config(corpus, tasks, tmp_path / "teacher", parts=("pretraining",), layers=2)
    do_runs(teacher)
    run = families.locate_pretraining(teacher, families.make_row_settings(teacher), "bert", 0)
    config = make_config(corpus, tasks, tmp_path, families=NAMES, teacher=str(run))
    rows = do_runs(config)
    assert [(row["family"], row["part"]) for row in rows] == [
        (name, p) for name in NAMES for p in ("pretraining", "sst2")
    ]
    pretraining = {row["family"]: row for row in rows if row["part"] == "pretraining"}
    for row in pretraining.values():
        assert row["steps"] > 0
        assert row["tokens_per_second"] > 0
        assert 0 <= row["masked_accuracy"] <= 1
    assert "nsp_accuracy" in pretraining["bert"]
    assert "order_accuracy" in pretraining["albert"]
    assert "replaced_recall" in pretraining["electra"]
    assert pretraining["albert"]["parameters"] < pretraining["bert"]["parameters"]
    assert do_runs(config) == []

    (table,) = summarise([read_rows(config.results)])
    document = "\n".join(format_document([table]))
    assert "| RoBERTa's recipe | masked tokens | 1 |" in document
    assert document.count("| BERT |") == 2


def test_pretraining_again_replaces_the_rows_of_its_tasks(corpus, tasks, tmp_path):
    config = make_config(corpus, tasks, tmp_path)
    first = do_runs(config)
    shutil.rmtree(config.out)
    assert do_runs(config) == []  # all rows are there, so no checkpoint is needed
    # without the row of the task, its run needs the checkpoint, so pre-training is repeated
    lines = config.results.read_text().splitlines()
    config.results.write_text(lines[0] + "\n")
    again = do_runs(config)
    assert [row["part"] for row in again] == ["pretraining", "sst2"]
    rows = [*first, *again]
    for row in rows:
        row["key"] = (row["family"], row["seed"], row["part"])
    again[0]["checkpoint"] = "other"
    assert list(select_rows(rows, again[0]["settings"])) == [("bert", 0, "pretraining")]


def test_a_row_that_was_half_written_is_dropped(tmp_path):
    path = tmp_path / "rows.jsonl"
    row = {"family": "bert", "seed": 0, "part": "sst2", "value": 1.0, "settings": {}}
    append_row(path, row)
    path.write_text(path.read_text() + '{"family": "be')
    assert len(read_rows(path)) == 1
    append_row(path, row | {"seed": 1})
    assert [each["seed"] for each in read_rows(path)] == [0, 1]
    path.write_text('{"family": "be\n' + path.read_text())
    with pytest.raises(DataError) as caught:
        read_rows(path)
    assert (caught.value.id, caught.value.params["line"]) == ("bench-results-line-invalid", 1)


def test_families_differ_only_in_what_their_papers_change(corpus, tmp_path):
    configs = {
        name: make_pretraining_config(FamiliesBenchConfig(), name, 7, tmp_path, corpus, corpus) for name in NAMES
    }
    differing = {
        field
        for field in vars(configs["bert"])
        if len({str(getattr(config, field)) for config in configs.values()}) > 1
    }
    assert differing == {
        "family", "pair_objective", "token_objective", "chosen_share", "mask_share", "random_share", "start", "teacher",
    }  # fmt: skip
    assert [name for name, config in configs.items() if config.chosen_share != 0.25] == ["modernbert"]
    assert {name: config.start for name, config in configs.items() if config.start != "neighbours"} == {
        "modernbert": "paper", "distilbert": "teacher",
    }  # fmt: skip


def test_rows_are_limited_evenly(tasks, tmp_path):
    directory = save_rows("sst2", tasks / "sst2", tmp_path, max_rows=4)
    for split in ("train", "validation"):
        assert len((directory / f"{split}.jsonl").read_text().splitlines()) == 4
    assert save_rows("sst2", tasks / "sst2", tmp_path).name == f"sst2-{TASKS['sst2'].rows}-1000000000"


def test_means_and_spreads_over_seeds():
    settings = {"layers": 1}
    common = {"family": "bert", "settings": settings, "hardware": "a CPU", "date": "2026-01-02", "checkpoint": "a"}
    rows = [
        common | {"seed": seed, "part": "pretraining", "masked_accuracy": value, "tokens": 10}
        for seed, value in ((0, 0.25), (1, 0.27))
    ]
    rows += [common | {"seed": 0, "part": name, "value": value} for name, value in
             (("sst2", 60.0), ("mrpc", 80.0), ("stsb", 10.0), ("cola", 2.0), ("squad", 9.0))]  # fmt: skip
    (table,) = summarise([rows])
    values = table.families[0].values
    assert values["masked_accuracy"] == (pytest.approx(0.26), pytest.approx(0.0141, abs=1e-4), 2)
    assert values["glue"] == (38.0, None, 1)
    assert values["squad"] == (9.0, None, 1)


def test_missing_data_is_reported(corpus, tmp_path):
    error = command_error("bench", "families", "--corpus", str(corpus), "--results", str(tmp_path / "none"))
    assert (error.id, error.params["flags"]) == ("bench-families-needs-data", ["--validation", "--data"])
    assert command_error("bench", "families", "--results", str(tmp_path / "none")).id == "bench-families-no-rows"


def test_the_command_prints_the_table_of_finished_runs(corpus, tasks, tmp_path, capsys):
    config = make_config(corpus, tasks, tmp_path, parts=("pretraining",))
    do_runs(config)
    document = tmp_path / "families.md"
    assert main(["bench", "families", "--results", str(config.results), "--document", str(document)]) == 0
    assert "| BERT | masked tokens and next sentence | 1 | 0.0" in (printed := capsys.readouterr().out)
    assert document.read_text() == printed
