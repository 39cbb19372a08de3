"""Fine-tuning and evaluation of every task, custom tasks, repeated seeds and grids."""

import copy
import csv
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
import torch
import torch.nn.functional as F
from support.errors import raises_error, raises_row_error
from support.task_rows import directory_of, jsonl, metrics_of, read_examples, rows_of

import bertlab
from bertlab.checkpoints import checkpoint
from bertlab.cli import main
from bertlab.config.errors import BertlabError
from bertlab.config.lock import exclusive_lock
from bertlab.config.tasks import TASKS, TaskSpec, get_task
from bertlab.tasks.classification import CLASSIFICATION
from bertlab.tasks.labelled_rows import match_labels, read_columns
from bertlab.tasks.registry import TASK_TYPES, register
from bertlab.tasks.training_data import make_finetuning_model
from bertlab.text.readers.rows import Rows
from bertlab.training import hyperparameter_search
from bertlab.training.evaluate import EvaluateConfig, evaluate
from bertlab.training.evaluate import run as run_evaluate
from bertlab.training.finetune import Evaluation, FinetuneConfig, finetune, read_data, run_with_evaluations
from bertlab.training.optimizers import OptimConfig

# tasks that differ in type, number of texts, splits, labels, columns or metrics; every other one is like one of them
DIFFERENT = (
    "sst2", "mnli", "mrpc", "stsb", "klue_sts", "squad", "squad_v2", "klue_mrc", "korquad", "swag", "comve", "wnut17",
    "klue_ner", "stsb_vectors", "all_nli_vectors", "klue_nli_vectors",
)  # fmt: skip


def config(tmp_path, tiny_checkpoint, name, **changes) -> FinetuneConfig:
    settings = {
        "task": name, "from_": str(tiny_checkpoint), "out": tmp_path / "run", "epochs": 1, "batch_size": 8,
        "max_tokens": 48, "dropout": 0.0, "optim": OptimConfig(lr=1e-3), "precision": "float32", "device": "cpu",
    }  # fmt: skip
    return FinetuneConfig(**{**settings, **changes})


@pytest.fixture(scope="module")
def finetuned(tmp_path_factory, tiny_checkpoint):
    """finetuned(task) -> the directory of its rows and a checkpoint fine-tuned on them, made once."""
    cache: dict[str, tuple[Path, Path]] = {}

    def finetuned(name: str) -> tuple[Path, Path]:
        if name not in cache:
            directory = tmp_path_factory.mktemp(name)
            data = directory_of(directory / "data", get_task(name))
            list(finetune(config(directory, tiny_checkpoint, name, data=str(data))))
            cache[name] = data, directory / "run" / "checkpoint"
        return cache[name]

    return finetuned


def test_a_new_task_head_differs_from_the_one_before_the_fine_tuning_of_the_checkpoint(tiny_model):
    """With equal initial weights, labels in another order would start from weights trained for the opposite labels."""

    def new_head(encoder):
        torch.manual_seed(0)
        return make_finetuning_model(encoder, "classify", 0.0, ("bad", "good"))

    first, again = new_head(tiny_model), new_head(tiny_model)
    assert torch.equal(first.heads["classify"].weight, again.heads["classify"].weight)
    with torch.no_grad():
        finetuned = copy.deepcopy(first)
        for weight in finetuned.parameters():
            weight.add_(1e-3 * torch.randn_like(weight))
    finetuned.config = finetuned.config.replace(labels=("negative", "positive"))
    second = new_head(finetuned)
    rows = [model.heads["classify"].weight for model in (first, second)]
    assert abs(F.cosine_similarity(rows[0].flatten(), rows[1].flatten(), 0)) < 0.4


def data_of(rows: list[dict]) -> Rows:
    return Rows("mine.csv", tuple(rows[0]), rows)


# -- the table of tasks --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", TASKS)
def test_every_task_spec_is_complete(name):
    spec = get_task(name)
    assert spec.source
    assert spec.language in ("en", "ko")
    assert spec.metrics
    assert spec.hub_id or name in ("comve", "story_qa", "story_qa_ko")
    if spec.kind != "span":
        assert spec.text
    if spec.kind in ("classification", "tagging"):
        assert len(set(spec.labels)) == len(spec.labels) > 1


def test_the_tasks_of_the_paper_exist():
    paper = {"mnli", "qqp", "qnli", "sst2", "cola", "stsb", "mrpc", "rte", "squad", "squad_v2", "swag", "conll2003"}
    assert paper <= TASKS.keys()
    with raises_error(BertlabError, "task-excluded", task="WNLI"):
        get_task("wnli")
    with raises_error(BertlabError, "task-unknown"):
        get_task("mine")


# -- from rows to a checkpoint, for every task -------------------------------------------------------------------


@pytest.mark.parametrize("name", DIFFERENT)
def test_tasks_are_trained_and_evaluated_from_a_directory(name, tmp_path, finetuned):
    spec = get_task(name)
    data, path = finetuned(name)
    opened = bertlab.load(path)
    assert opened.heads == ((TASK_TYPES[spec.kind].head,) if TASK_TYPES[spec.kind].head else ())
    assert opened.labels == (spec.labels if TASK_TYPES[spec.kind].has_labels else ())
    metrics = opened.record["validation"]
    assert set(spec.metrics) <= set(metrics)
    assert all(-100 <= metrics[metric] <= 100 for metric in spec.metrics)
    settings = EvaluateConfig(name, data=str(data), checkpoint=str(opened.path), max_tokens=48, json=True, device="cpu")
    again = evaluate(settings)
    assert {k: v for k, v in again.items() if "thresh" not in k} == pytest.approx(
        {k: v for k, v in metrics.items() if "thresh" not in k}, abs=9
    ), "weights are stored in 16 bits, so the prediction of one row may change"
    if spec.test and spec.kind != "span":
        test_result = evaluate(replace(settings, split="test", out=tmp_path / "predicted"))
        assert test_result["examples"] == 12
        written = sorted(path.name for path in (tmp_path / "predicted").iterdir())
        assert written == sorted(spec.submission or [f"{name}.{'conll' if spec.kind == 'tagging' else 'tsv'}"])


@pytest.mark.cuda
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("name", ["sst2", "stsb", "comve", "wnut17", "squad_v2"])
def test_cuda_trains_and_predicts_like_the_cpu(name, tmp_path, tiny_checkpoint, finetuned):
    data, path = finetuned(name)
    cuda_settings = replace(config(tmp_path, tiny_checkpoint, name, data=str(data)), device="cuda")
    losses = [report.loss for report in finetune(cuda_settings)]
    rows = [json.loads(line) for line in (path.parent / "log.jsonl").read_text().splitlines()]
    assert losses == pytest.approx([row["loss"] for row in rows if "loss" in row], rel=1e-3)
    settings = EvaluateConfig(name, data=str(data), checkpoint=str(path), max_tokens=48, json=True)
    on_cuda, on_cpu = (evaluate(replace(settings, device=device)) for device in ("cuda", "cpu"))
    assert on_cuda == pytest.approx(on_cpu, abs=0.1)


@pytest.mark.parametrize("name", ["sst2", "stsb", "comve", "wnut17", "klue_ner", "squad"])
def test_written_predictions_have_the_metrics_of_the_checkpoint(name, tmp_path, finetuned):
    data, path = finetuned(name)
    settings = EvaluateConfig(name, data=str(data), checkpoint=str(path), json=True)
    out = tmp_path / "predicted.json" if name == "squad" else tmp_path / "predicted.tsv"
    metrics = evaluate(replace(settings, out=out))
    scored = evaluate(EvaluateConfig(name, data=str(data), predictions=out))
    # a value is written with three decimals
    assert {k: scored[k] for k in metrics} == pytest.approx(metrics, abs=1.0 if name == "stsb" else 1e-9)


@pytest.mark.parametrize("name", ["sst2", "mrpc", "stsb", "mnli"])
def test_prediction_files_have_the_format_of_glue(name, tmp_path, finetuned):
    spec = get_task(name)
    data, path = finetuned(name)
    settings = EvaluateConfig(name, data=str(data), checkpoint=str(path), json=True)
    evaluate(replace(settings, split="test", out=tmp_path / "glue"))
    lines = (tmp_path / "glue" / spec.submission[0]).read_text().splitlines()
    assert lines[0] == "index\tprediction"
    index, predicted = zip(*(line.split("\t") for line in lines[1:]), strict=True)
    assert index == tuple(map(str, range(12)))
    if name == "stsb":
        assert all(0 <= float(value) <= 5 and len(value.split(".")[1]) == 3 for value in predicted)
        assert bertlab.load(path).value_range == (0.0, 5.0), "the range of the training values"
    else:
        assert set(predicted) <= (set(spec.labels) if name == "mnli" else {"0", "1"})


def test_mnli_has_two_validation_and_two_test_splits(tmp_path, finetuned):
    data, path = finetuned("mnli")
    assert {"accuracy", "mismatched_accuracy"} <= checkpoint.load(path).record["validation"].keys()
    settings = EvaluateConfig(
        "mnli", data=str(data), checkpoint=str(path), split="test", out=tmp_path / "glue", json=True
    )
    evaluate(settings)
    for name in ("MNLI-m.tsv", "MNLI-mm.tsv"):
        predicted = {line.split("\t")[1] for line in (tmp_path / "glue" / name).read_text().splitlines()[1:]}
        assert predicted <= {"entailment", "neutral", "contradiction"}
    with raises_error(BertlabError, "out-needs-directory"):
        evaluate(replace(settings, out=tmp_path / "one.tsv"))
    evaluate(replace(settings, split="test_mismatched", out=tmp_path / "other"))
    assert [path.name for path in (tmp_path / "other").iterdir()] == ["MNLI-mm.tsv"]


@pytest.mark.parametrize(("name", "predicted"), [("sst2", "-1"), ("comve", "-1"), ("stsb", "nan")])
def test_an_invalid_prediction_raises_an_error_with_its_row(name, predicted, tmp_path, finetuned):
    data, _ = finetuned(name)
    mine = tmp_path / "mine.tsv"
    mine.write_text(f"index\tprediction\n{'id0' if get_task(name).id == 'id' else 0}\t{predicted}\n")
    with raises_error(BertlabError, "prediction-invalid", row=1):
        evaluate(EvaluateConfig(name, data=str(data), predictions=mine))


@pytest.mark.parametrize("row", ['{"index": 0}', '{"prediction": 1}', '{"index": 0, "prediction": null}'])
def test_a_prediction_with_a_missing_cell_is_an_invalid_row(row, tmp_path, finetuned):
    data, _ = finetuned("sst2")
    mine = tmp_path / "mine.jsonl"
    mine.write_text(row + '\n{"index": 1, "prediction": 1}\n')
    with raises_error(BertlabError, "invalid-row", row=1):
        evaluate(EvaluateConfig("sst2", data=str(data), predictions=mine))


def damaged_reviews(path, with_ids):
    """Five reviews as JSON Lines: row 2 has an unknown label, row 4 is no JSON, row 5 repeats the id of row 1."""
    rows = [{"idx": 7 + n, "sentence": f"Tea {n}.", "label": n % 2} for n in range(5)]
    rows[1]["label"], rows[4]["idx"] = "neither", 7
    if not with_ids:
        for row in rows:
            del row["idx"]
    lines = [json.dumps(row) for row in rows]
    lines[3] = lines[3][:-1]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("with_ids", [True, False])
def test_predictions_of_skipped_rows_are_ignored(with_ids, tmp_path):
    data, mine = damaged_reviews(tmp_path / "rows.jsonl", with_ids), tmp_path / "mine.tsv"
    options = EvaluateConfig("sst2", data=str(data), predictions=mine, invalid="skip")
    # with ids, row 5 is skipped too, because row 1 has the same id
    row_ids, valid = ([7, 8, 9, 10, 7], [7, 9]) if with_ids else ([0, 1, 2, 3, 4], [0, 2, 4])
    mine.write_text("index\tprediction\n" + "".join(f"{row_id}\t0\n" for row_id in row_ids))
    assert evaluate(options) == {"accuracy": 100.0, "examples": len(valid)}
    mine.write_text("index\tprediction\n" + "".join(f"{row_id}\t0\n" for row_id in valid))
    assert evaluate(options)["examples"] == len(valid), "the file may leave the skipped rows out"
    mine.write_text("index\tprediction\n" + "".join(f"{row_id}\t0\n" for row_id in [*row_ids, 99]))
    with raises_error(BertlabError, "predictions-id-unknown", row=6, id="99"):
        evaluate(options)
    mine.write_text("index\tprediction\n" + "".join(f"{row_id}\t0\n" for row_id in [*row_ids, row_ids[2]]))
    with raises_error(BertlabError, "predictions-id-repeated", row=6, id=str(row_ids[2])):
        evaluate(options)


def test_tags_of_skipped_sentences_are_ignored(tmp_path):
    rows = [{"id": str(n), "tokens": ["Tea"] * (n + 1), "ner_tags": ["O"] * (n + 1)} for n in range(4)]
    rows[0]["ner_tags"], rows[2]["ner_tags"][0] = ["B-location"], "neither"
    data, mine = jsonl(tmp_path / "rows.jsonl", rows), tmp_path / "mine.conll"
    sentences = ["Tea B-location\n", *("Tea O\n" * (n + 1) for n in range(1, 4))]
    options = EvaluateConfig("wnut17", data=str(data), predictions=mine, invalid="skip")
    mine.write_text("\n".join(sentences))
    assert evaluate(options)["entity_f1"] == 100
    mine.write_text("\n".join(sentences[:2] + sentences[3:]))
    assert evaluate(options)["entity_f1"] == 100, "the file may leave the skipped sentences out"
    mine.write_text("\n".join(sentences[:2]))
    with raises_error(BertlabError, "conll-sentences-differ"):
        evaluate(options)


@pytest.mark.parametrize("digits", [400, 5000])
@pytest.mark.parametrize("name", ["sst2", "stsb"])
def test_a_prediction_with_too_many_digits_is_invalid(name, digits, tmp_path, finetuned):
    data, _ = finetuned(name)
    number = "1" + "0" * digits
    (tmp_path / "mine.tsv").write_text(f"index\tprediction\n0\t{number}\n")
    with raises_error(BertlabError, "prediction-invalid", row=1):
        evaluate(EvaluateConfig(name, data=str(data), predictions=tmp_path / "mine.tsv"))
    (tmp_path / "mine.jsonl").write_text(f'{{"index": 0, "prediction": {number}}}\n')
    with raises_error(BertlabError, "prediction-invalid" if digits == 400 else "invalid-row", row=1):
        evaluate(EvaluateConfig(name, data=str(data), predictions=tmp_path / "mine.jsonl"))


@pytest.mark.parametrize(("name", "label"), [("stsb", "1" + "0" * 400), ("stsb", "7" * 5000), ("sst2", "1" * 4000)])
def test_fine_tuning_skips_and_counts_invalid_rows(name, label, tmp_path, tiny_checkpoint):
    data = jsonl(tmp_path / "train.jsonl", rows_of(get_task(name)))
    columns = dict.fromkeys(get_task(name).text, "Tea.")
    row = json.dumps(columns)[:-1] + f', "label": {label}}}\n'
    data.write_text('{"not JSON\n' + row + data.read_text())
    settings = config(tmp_path, tiny_checkpoint, name, data=str(data))
    with raises_row_error("row-not-json", row=1):
        read_data(settings)
    facts = read_data(replace(settings, invalid="skip")).facts
    assert facts["skipped"] == 2
    assert facts["examples"] + facts["held_out"] == 24


@pytest.mark.parametrize("name", ["squad", "squad_v2"])
def test_questions_without_answers_are_predicted_but_not_scored(name, tmp_path, finetuned):
    _, path = finetuned(name)
    questions = rows_of(get_task("squad"), 6)
    data = tmp_path / "test.json"
    data.write_text(json.dumps({"data": [{"paragraphs": [
        {"context": row["context"], "qas": [{"id": row["id"], "question": row["question"]}]} for row in questions
    ]}]}))  # fmt: skip
    config = EvaluateConfig(name, data=str(data), checkpoint=str(path), json=True)
    with raises_error(BertlabError, "evaluate-rows-without-labels"):
        evaluate(config)
    predicted = tmp_path / "predicted.json"
    assert evaluate(replace(config, out=predicted)) == {"questions": 6}
    before = (path / "bertlab.json").read_text()
    with raises_error(BertlabError, "record-needs-labels"):
        run_evaluate(replace(config, out=predicted, record=True))
    assert (path / "bertlab.json").read_text() == before
    assert json.loads(predicted.read_text()).keys() == {row["id"] for row in questions}
    # a column of empty answers has the same effect as no such column
    empty = [row | {"answers": {"text": [], "answer_start": []}} for row in questions]
    bare = [{key: row[key] for key in ("id", "context", "question")} for row in questions]
    for rows in (empty, bare):
        assert evaluate(replace(config, data=str(jsonl(tmp_path / "rows.jsonl", rows)), out=predicted)) == {
            "questions": 6
        }
    if name == "squad_v2":
        for threshold, silent in ((1e9, False), (-1e9, True)):
            evaluate(replace(config, out=predicted, threshold=threshold))
            assert [not text for text in json.loads(predicted.read_text()).values()] == [silent] * 6
        record = json.loads(before)
        checkpoint.write_record(path, record | {"null_threshold": -1e8}, "")
        evaluate(replace(config, out=predicted))
        checkpoint.write_record(path, record, "")
        assert not any(json.loads(predicted.read_text()).values()), "the stored threshold is used"


@pytest.mark.parametrize(
    ("name", "without", "line"),
    [
        ("squad", [3], r"validation.parquet row 4 \(id id3\): has no answer"),
        ("squad", range(12), "has no labels, so it cannot be used for evaluation"),
        ("squad_v2", range(12), "has no labels, so it cannot be used for evaluation"),
    ],
)
def test_a_validation_question_without_answer_is_reported_before_training(
    name, without, line, tmp_path, tiny_checkpoint
):
    rows = rows_of(get_task("squad"), 12)
    place = tmp_path / "data"
    place.mkdir()
    for number in without:
        rows[number]["answers"] = {"text": [], "answer_start": []}
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows_of(get_task("squad"))), place / "train.parquet")
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), place / "validation.parquet")
    settings = config(tmp_path, tiny_checkpoint, name, data=str(place))
    with pytest.raises(BertlabError, match=line):
        read_data(settings)
    if len(without) == 1:
        assert read_data(replace(settings, invalid="skip")).facts["skipped"] == 1


def test_unanswerable_questions_are_made_from_correctly_placed_answers(tmp_path, tiny_checkpoint):
    passage = "The mill was built by John Carter on the east bank. In 1850 Mary Ellis bought it."
    about = {"title": "Mill", "context": passage, "question": "Who built the mill?"}
    rows = [about | {"id": f"q{n}", "answers": {"text": ["John Carter"], "answer_start": [22]}} for n in range(8)]
    rows[2] = rows[2] | {"answers": {"text": ["a kettle"], "answer_start": [500]}}
    place = tmp_path / "train.parquet"
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), place)
    settings = config(tmp_path, tiny_checkpoint, "squad_v2", data=str(place), make_unanswerable=0.5)
    with raises_row_error("answer-not-in-passage"):
        read_data(settings)
    facts = read_data(replace(settings, invalid="skip")).facts
    assert facts["skipped"] == 1
    assert facts["examples"] > 7


def test_fine_tuning_learns_the_task(tmp_path, tiny_checkpoint):
    rows = rows_of(get_task("sst2"), 240)
    data = jsonl(tmp_path / "train.jsonl", rows)
    settings = config(tmp_path, tiny_checkpoint, "sst2", data=str(data), epochs=6, optim=OptimConfig(lr=3e-3))
    reports = list(run_with_evaluations(settings))
    measured = [report for report in reports if isinstance(report, Evaluation)]
    assert [report.is_final for report in measured] == [False] * 5 + [True]
    assert measured[-1].metrics["accuracy"] > 80
    assert measured[-1].metrics["examples"] == 24, "a tenth was held out"


# -- custom tasks --------------------------------------------------------------------------------------------------

COLUMN_FLAGS = {
    "classification": ["--text-column", "review", "--label-column", "stars"],
    "regression": ["--text-column", "review", "--pair-column", "other", "--label-column", "score"],
    "multiple_choice": ["--text-column", "review", "--choice-columns", "a", "b", "--label-column", "right"],
    "tagging": ["--text-column", "review", "--label-column", "tags"],
    "span": ["--text-column", "review", "--pair-column", "other", "--label-column", "first"],
}


def write_custom_csv(path):
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, ["review", "other", "stars", "score", "a", "b", "right", "tags", "first"])
        writer.writeheader()
        for number, row in enumerate(rows_of(get_task("sst2"), 40)):
            text = row["sentence"]
            writer.writerow(
                {
                    "review": text, "other": 'a "quoted", text', "stars": number % 3 + 1, "score": number / 7,
                    "a": "tea", "b": "bread\nand rain", "right": number % 2, "tags": "B-X" + " O" * text.count(" "),
                    "first": text.split()[0],
                }
            )  # fmt: skip
    return path


@pytest.mark.parametrize("kind", COLUMN_FLAGS)
def test_a_custom_task_is_trained_and_evaluated(kind, tmp_path, tiny_checkpoint, capsys):
    data = write_custom_csv(tmp_path / "mine.csv")
    flags = [
        "finetune",
        "custom",
        "--type",
        kind,
        *COLUMN_FLAGS[kind],
        "--data",
        str(data),
        "--from",
        str(tiny_checkpoint),
    ]
    flags += ["--out", str(tmp_path / "run"), "--epochs", "1", "--batch-size", "8", "--device", "cpu"]
    if kind == "span":  # no questions are held out
        flags += ["--validation", str(data)]
    assert main(flags) == 0, capsys.readouterr().err
    counted = "total" if kind == "span" else "examples"
    printed = capsys.readouterr().out
    assert counted in printed
    assert ("4 of the 40 training rows are held out" in printed) == (kind != "span"), printed
    path = tmp_path / "run" / "checkpoint"
    assert main(flags) == 0, "the run is finished"
    assert "differ" not in capsys.readouterr().err
    if kind == "classification":
        assert bertlab.load(path).labels == ("1", "2", "3")
    assert bertlab.load(path).num_texts == {"classification": 1, "regression": 2}.get(kind)
    assert (bertlab.load(path).value_range is not None) == (kind == "regression")
    # the checkpoint records its task, so no flag is needed
    words = [
        "evaluate",
        "custom",
        "--checkpoint",
        str(path),
        "--data",
        str(data),
        "--out",
        str(tmp_path / "predicted.csv"),
    ]
    assert main([*words, "--json"]) == 0, capsys.readouterr().err
    assert json.loads(capsys.readouterr().out)[counted] == 40
    assert (tmp_path / "predicted.csv").stat().st_size


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ([], "--type"),
        (["--type", "sort"], "there is no task type sort: use one of classification, regression"),
        (["--type", "classification"], "--text-column"),
        (["--type", "multiple_choice", "--text-column", "review"], "--choice-columns"),
        (["--type", "tagging", "--text-column", "review", "--pair-column", "other"], "--pair-column is for"),
        (["--type", "span", "--choice-columns", "a"], "--choice-columns is for multiple_choice"),
        (["--type", "span"], "no column context, question; its columns are review, other"),
        ([*("--type", "span"), *COLUMN_FLAGS["span"][:4]], 'no column "answers" to train on'),
        (
            ["--type", "span", *COLUMN_FLAGS["span"][:5], "a"],
            "row 1: has the answer 'tea', which does not occur in its passage",
        ),
        (["--type", "classification", "--text-column", "reviews"], "no column reviews; its columns are review, other"),
        (["--type", "classification", "--text-column", "review"], 'no column "label" to train on'),
        (["--type", "classification", "--text-column", "review", "--label-column", "score"], "--type regress"),
        (["--type", "regression", "--text-column", "review", "--label-column", "a"], "row 1: has 'tea' where a number"),
        (["--type", "classification", "--text-column", "review", "--label-column", "a"], "at least two labels"),
    ],
)
def test_an_invalid_custom_task_prints_one_line(flags, message, tmp_path, tiny_checkpoint, capsys):
    data = write_custom_csv(tmp_path / "mine.csv")
    words = ["finetune", "custom", *flags, "--data", str(data), "--from", str(tiny_checkpoint)]
    assert main([*words, "--out", str(tmp_path / "run")]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not (tmp_path / "run").exists()


def test_custom_questions_are_scored_in_their_own_language(tmp_path, tiny_checkpoint):
    rows = [{"context": f"방앗간은 {n}년에 지었다.", "question": "언제 지었나?", "answer": f"{n}년"} for n in range(20)]
    data = str(jsonl(tmp_path / "mine.jsonl", rows))
    settings = config(tmp_path, tiny_checkpoint, "custom", kind="span", data=data, validation=data)
    list(finetune(settings))
    record = bertlab.load(tmp_path / "run" / "checkpoint").record
    assert record["task"]["language"] == "ko"
    predicted = tmp_path / "predicted.json"
    predicted.write_text(json.dumps({str(n): f"{n}일" for n in range(20)}))
    metrics = evaluate(EvaluateConfig("custom", kind="span", data=data, predictions=predicted))
    assert metrics["exact_match"] == 0
    assert metrics["f1"] > 50, "F1 compares characters in Korean, not words"


def test_flags_rename_the_columns_of_a_known_task(tmp_path, tiny_checkpoint):
    rows = [
        {"review": row["sentence"], "mood": get_task("sst2").labels[row["label"]]} for row in rows_of(get_task("sst2"))
    ]
    data = jsonl(tmp_path / "mine.jsonl", rows)
    settings = config(tmp_path, tiny_checkpoint, "sst2", data=str(data), text_column="review", label_column="mood")
    list(finetune(settings))
    assert bertlab.load(tmp_path / "run" / "checkpoint").labels == ("negative", "positive")
    with raises_error(BertlabError, "known-task-has-kind", kind="classification"):
        read_data(replace(settings, kind="tagging"))


def test_tags_that_mark_no_entities_are_scored_by_accuracy(tmp_path, tiny_checkpoint):
    rows = [{"words": "the kettle sings", "tags": "DET NOUN VERB"}, {"words": "rain fell", "tags": "NOUN VERB"}] * 10
    settings = config(
        tmp_path, tiny_checkpoint, "custom", data=str(jsonl(tmp_path / "mine.jsonl", rows)), kind="tagging",
        text_column="words", label_column="tags", epochs=30, optim=OptimConfig(lr=3e-3),
    )  # fmt: skip
    list(finetune(settings))
    metrics = bertlab.load(tmp_path / "run" / "checkpoint").record["validation"]
    assert metrics == {"accuracy": pytest.approx(100), "examples": 2}


def test_validation_rows_are_found_under_the_name_validation(tmp_path, tiny_checkpoint):
    """The validation split of NSMC is called test on the hub, but a user's directory may call it validation."""
    place = tmp_path / "mine"
    place.mkdir()
    for split, count in (("train", 24), ("validation", 12)):
        jsonl(place / f"{split}.jsonl", rows_of(get_task("nsmc"), count))
    facts = read_data(config(tmp_path, tiny_checkpoint, "nsmc", data=str(place))).facts
    assert (facts["examples"], facts["held_out"]) == (24, 12)


def test_a_hub_data_set_is_evaluated_on_its_validation_splits(tmp_path, tiny_checkpoint, monkeypatch):
    import datasets

    split_sizes = {"train": 24, "validation_matched": 9, "validation_mismatched": 6}

    def load_dataset(path, name, split, **options):
        if split not in split_sizes:
            raise ValueError(f"Unknown split {split!r}")
        return datasets.Dataset.from_list(rows_of(get_task("mnli"), split_sizes[split]))

    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    facts = read_data(config(tmp_path, tiny_checkpoint, "mnli", data="someone/pairs")).facts
    assert (facts["examples"], facts["held_out"]) == (24, 15)


@pytest.mark.parametrize(
    ("flag", "line"),
    [
        (["--steps", "0"], "--steps is 0; it must be at least 1"),
        (["--evaluate-every", "0"], "--evaluate-every is 0"),
        (["--max-tokens", "4"], "--max-tokens is 4; it must be at least 5"),
        (["--dropout", "2"], "--dropout is 2.0; it must be at least 0 and less than 1"),
        (["--seed", "-1"], "--seed is -1"),
        (["--threads", "-1"], "--threads is -1"),
        (["--minutes", "0"], "--minutes is 0.0; it must be more than 0"),
        (["--optim.lr", "-1"], "--optim.lr is -1.0; it must be more than 0"),
        (["--optim.beta2", "1"], "--optim.beta2 is 1.0; it must be at least 0 and less than 1"),
        (["--ema", "1"], "--ema is 1.0"),
    ],
)
def test_numbers_out_of_range_print_one_line(flag, line, tmp_path, capsys):
    assert main(["pretrain", str(tmp_path), "--out", str(tmp_path / "run"), *flag]) == 2
    error = capsys.readouterr().err
    assert line in error
    assert error.count("\n") == 1


# -- labels of the checkpoint --------------------------------------------------------------------------------------


def test_labels_in_another_order_are_matched_by_name(tmp_path, finetuned):
    """A published MNLI checkpoint may begin with contradiction."""
    spec = get_task("mnli")
    data, path = finetuned("mnli")
    settings = EvaluateConfig("mnli", data=str(data), checkpoint=str(path), json=True)
    metrics = evaluate(settings)
    # the same model with its labels in another order
    loaded = checkpoint.load(path)
    model, order = loaded.model, [2, 0, 1]
    head = model.heads["classify"]
    head.weight.data, head.bias.data = head.weight.data[order], head.bias.data[order]
    model.config = model.config.replace(labels=tuple(spec.labels[number].upper() for number in order))
    reordered = checkpoint.save(tmp_path / "reordered", model, loaded.tokenizer, {})
    assert evaluate(replace(settings, checkpoint=str(reordered))) == pytest.approx(metrics)
    evaluate(replace(settings, checkpoint=str(reordered), split="test", out=tmp_path / "glue"))


def test_f1_refers_to_label_1_of_the_task_in_any_label_order():
    spec, rows = get_task("mrpc"), data_of(rows_of(get_task("mrpc"), 8))
    ordinary, reordered = read_examples(rows, spec), read_examples(rows, spec, spec.labels[::-1])
    predicted = [1, 1, 1, 1, 0, 1, 0, 0]
    assert metrics_of(ordinary, predicted) == metrics_of(reordered, [1 - answer for answer in predicted])


def test_a_checkpoint_of_another_task_is_rejected():
    row = get_task("rte")
    assert match_labels(row, ("LABEL_0", "LABEL_1")) == row.labels
    with raises_error(BertlabError, "checkpoint-lacks-labels"):
        match_labels(row, ("entailment", "neutral", "contradiction"))
    wider = TaskSpec("tagging", "", "", ("entity_f1",), "", labels=("O", "B-PER", "I-PER"))
    assert match_labels(wider, ("I-PER", "O", "B-PER", "B-MISC")) == ("I-PER", "O", "B-PER", "B-MISC")


def test_a_head_is_kept_only_if_the_labels_are_the_same(tmp_path, finetuned):
    _, path = finetuned("qnli")
    old = checkpoint.load(path).model.heads["classify"].weight
    for name, same in (("qnli", True), ("sst2", False)):
        other = directory_of(tmp_path / name, get_task(name))
        training_data = read_data(config(tmp_path, path, name, data=str(other), out=tmp_path / f"{name}-run"))
        assert np.allclose(training_data.make_model(0.0).heads["classify"].weight.detach(), old.detach()) is same


# -- resuming, seeds and grids -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["stsb", "swag", "wnut17"])
def test_a_stopped_run_resumes_with_identical_losses(name, tmp_path, tiny_checkpoint):
    data = str(directory_of(tmp_path / "data", get_task(name)))
    settings = config(tmp_path, tiny_checkpoint, name, data=data, epochs=3, dropout=0.1, save_minutes=0.0)
    uninterrupted = [report.loss for report in finetune(replace(settings, out=tmp_path / "whole"))]
    stopped = finetune(replace(settings, out=tmp_path / "parts"))
    first = [next(stopped).loss for _ in range(4)]
    stopped.close()
    train = tmp_path / "data" / "train.parquet"
    before = train.read_bytes()
    for rows, change in (
        (rows_of(get_task(name), 20), "examples was 24, now 20"),
        (rows_of(get_task(name))[::-1], "digest"),
    ):
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), train)
        with pytest.raises(BertlabError, match=rf"started with different data \({change}"):
            list(finetune(replace(settings, out=tmp_path / "parts")))
    train.write_bytes(before)
    rest = [report.loss for report in finetune(replace(settings, out=tmp_path / "parts"))]
    assert first[: len(uninterrupted) - len(rest)] + rest == uninterrupted


def grid_words(tmp_path, tiny_checkpoint, *flags):
    data = directory_of(tmp_path / "data", get_task("sst2"))
    words = ["finetune", "sst2", "--data", str(data), "--from", str(tiny_checkpoint), "--out", str(tmp_path / "grid")]
    return [*words, "--batch-size", "8", "--epochs", "1", "--max-tokens", "32", "--device", "cpu", *flags]


def test_a_grid_table_shows_distinct_learning_rates():
    done = [{"setting": {"lr": lr, "batch_size": 8, "epochs": 3.0}, "figures": {"f1": lr}} for lr in (1e-4, 1.5e-4)]
    head, *lines = hyperparameter_search.format_results(done, "f1")
    assert [line.split()[0] for line in lines] == ["0.00015", "0.0001"]
    assert {len(line) for line in lines} == {len(head)}


def test_a_grid_runs_every_setting_with_every_seed(tmp_path, tiny_checkpoint, capsys):
    words = grid_words(tmp_path, tiny_checkpoint, "--seeds", "2", "--grid-rates", "1e-3", "1e-2")
    assert main(words) == 0, capsys.readouterr().err
    shown = capsys.readouterr().out
    assert "accuracy mean" in shown
    assert "run 4 of 4" in shown
    done = [json.loads(line) for line in (tmp_path / "grid" / "grid.jsonl").read_text().splitlines()]
    assert {(row["setting"]["lr"], row["setting"]["seed"]) for row in done} == {
        (lr, s) for lr in (1e-3, 1e-2) for s in (0, 1)
    }
    best = max(row["figures"]["accuracy"] for row in done)
    record = checkpoint.load(tmp_path / "grid" / "checkpoint").record
    assert record["validation"]["accuracy"] == best
    files = sorted(path.name for path in next((tmp_path / "grid" / "runs").iterdir()).iterdir())
    assert files == [".lock", "log.jsonl", "run.json"], "a finished run keeps its log but no weights"

    # a stopped grid is resumed: only the missing run is trained
    (tmp_path / "grid" / "grid.jsonl").write_text("".join(json.dumps(row) + "\n" for row in done[:-1]))
    assert main(words) == 0
    again = capsys.readouterr().out
    assert "run 4 of 4" in again
    assert "run 3 of 4" not in again
    finished = [json.loads(line) for line in (tmp_path / "grid" / "grid.jsonl").read_text().splitlines()]
    assert [row["setting"] for row in finished] == [row["setting"] for row in done]
    assert finished[-1]["figures"] == done[-1]["figures"]


@pytest.mark.parametrize("more", [(), ("--seeds", "2")], ids=["one run", "several"])
def test_a_run_in_progress_is_not_started_again(tmp_path, tiny_checkpoint, capsys, more):
    words = grid_words(tmp_path, tiny_checkpoint, *more)
    with exclusive_lock(tmp_path / "grid" / ".lock", "another"):
        assert main(words) == 2
    assert f"the run in {tmp_path / 'grid'} is under way in another process" in capsys.readouterr().err
    assert [path.name for path in (tmp_path / "grid").iterdir()] == [".lock"]


def test_grid_tries_the_settings_of_the_paper(tmp_path, tiny_checkpoint):
    settings = config(tmp_path, tiny_checkpoint, "rte", grid=True)
    tried = hyperparameter_search.list_combinations(settings)
    assert len(tried) == 18
    assert {row["lr"] for row in tried} == {5e-5, 3e-5, 2e-5}
    assert {row["batch_size"] for row in tried} == {16, 32}
    assert {row["epochs"] for row in tried} == {2, 3, 4}


def test_a_grid_is_validated_before_it_starts(tmp_path, tiny_checkpoint, capsys):
    assert main(grid_words(tmp_path, tiny_checkpoint, "--grid-batches", "8", "0")) == 2
    assert "--grid-batches is 0; it must be at least 1" in capsys.readouterr().err
    assert not (tmp_path / "grid").exists()


def test_a_grid_needs_validation_rows(tmp_path, tiny_checkpoint, capsys):
    data = jsonl(tmp_path / "train.jsonl", rows_of(get_task("sst2")))
    words = ["finetune", "sst2", "--data", str(data), "--from", str(tiny_checkpoint), "--out", str(tmp_path / "grid")]
    assert main([*words, "--seeds", "2", "--hold-out", "0"]) == 2
    assert "--validation" in capsys.readouterr().err


def test_an_excluded_task_explains_why(tmp_path, tiny_checkpoint, capsys):
    assert main(["finetune", "wnli", "--from", str(tiny_checkpoint), "--out", str(tmp_path / "run")]) == 2
    assert main(["evaluate", "wnli", "--checkpoint", str(tiny_checkpoint)]) == 2
    assert capsys.readouterr().err.count("WNLI is excluded: the BERT paper excludes it too") == 2


def test_a_missing_network_prints_one_line(tmp_path, tiny_checkpoint, monkeypatch, capsys):
    import datasets

    def refuse(*args, **options):
        raise ConnectionError("Couldn't reach 'nyu-mll/glue' on the Hub\nmore of it")

    monkeypatch.setattr(datasets, "load_dataset", refuse)
    words = ["finetune", "rte", "--from", str(tiny_checkpoint), "--out", str(tmp_path / "run")]
    assert main(words) == 2
    error = capsys.readouterr().err
    assert "nyu-mll/glue:rte" in error
    assert error.count("\n") == 1
    for task_without_hub in ("comve", "story_qa"):
        assert main(["finetune", task_without_hub, *words[2:]]) == 2
        assert "not on the hub" in capsys.readouterr().err


# -- from outside the package --------------------------------------------------------------------------------------


def read_backwards(row: dict, spec: TaskSpec) -> tuple[str, ...]:
    return tuple(" ".join(reversed(text.split())) for text in read_columns(row, spec))


def test_a_task_and_a_task_type_are_added_from_outside(tmp_path, tiny_checkpoint, monkeypatch):
    row = get_task("sst2")
    data = directory_of(tmp_path / "data", row)
    monkeypatch.setitem(TASKS, "toy", row.replace(kind="reversed_classification", hub_id=""))
    reads_backwards = replace(CLASSIFICATION.read, read_texts=read_backwards)
    register(CLASSIFICATION.replace(name="reversed_classification", read=reads_backwards))
    try:
        list(finetune(config(tmp_path, tiny_checkpoint, "toy", data=str(data))))
        path = tmp_path / "run" / "checkpoint"
        opened = bertlab.load(path)
        assert opened.record["task"]["kind"] == "reversed_classification"
        assert opened.classify("The boats stayed in.").best.label in ("negative", "positive")
        out = tmp_path / "predictions.tsv"
        settings = EvaluateConfig("toy", data=str(data), checkpoint=str(path), json=True, device="cpu", out=out)
        metrics = evaluate(settings)
        assert metrics["examples"] == 12
        assert evaluate(EvaluateConfig("toy", data=str(data), predictions=out)) == metrics
    finally:
        del TASK_TYPES["reversed_classification"]
