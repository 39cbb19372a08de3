"""Recipe of CONTRIBUTING.md: a task type with its own output layer, fine-tuned and evaluated by the commands."""

import csv
import json
from collections import Counter

import pytest
import torch.nn.functional as F
from support.task_rows import jsonl
from torch import nn

import bertlab
from bertlab.cli import main
from bertlab.config import tasks
from bertlab.config.languages import Message
from bertlab.config.tasks import TaskSpec, register_task
from bertlab.nn.heads import HEADS, HeadSpec, LinearHead, register_head
from bertlab.tasks.classification import CLASSIFICATION
from bertlab.tasks.loss import Loss
from bertlab.tasks.registry import TASK_TYPES, register
from bertlab.tasks.regression import REGRESSION

WEATHER = TaskSpec(
    "classification", "", "en", ("accuracy",), "tests/recipes", text=("report",), label=("sky",),
    labels=("dry", "wet"), test=(),
)  # fmt: skip


def strength_loss(model: nn.Module, batch) -> Loss:
    value_B, target_B = model.logits("strength", batch.inputs)[:, 0].float(), batch.labels_B.float()
    error = (value_B.detach() - target_B).abs().mean()
    return Loss(F.smooth_l1_loss(value_B, target_B), {"error": error}, batch.inputs.attention_mask_BT.sum())


STRENGTH = REGRESSION.replace(
    name="strength", predicts="the strength of the wind", head="strength", command="", page="",
    make_loss=lambda head: strength_loss,
)  # fmt: skip


def make_head(name: str, build, **fields) -> HeadSpec:
    remedy = Message("head-remedy-finetune", task=f"custom --type {name}")
    return HeadSpec(build, Message("head-regress"), remedy, "BertModel", {"": name}, reads_pooled=True, **fields)


@pytest.fixture(autouse=True)
def restore(monkeypatch):
    monkeypatch.setattr(tasks, "TASKS", dict(tasks.TASKS))
    saved = [(table, dict(table)) for table in (TASK_TYPES, HEADS)]
    yield
    for table, content in saved:
        table.clear()
        table.update(content)


def rows(label: str, values) -> list[dict]:
    reports = ("Rain fell on the harbour all night.", "The sun shone on the mill.")
    return [{"id": f"r{i}", "report": f"{reports[i % 2]} Day {i}.", label: values[i % 2]} for i in range(24)]


def write(directory, label: str, values):
    for split in ("train", "validation"):
        jsonl(directory / f"{split}.jsonl", rows(label, values))
    return directory


def finetune_and_evaluate(name, data, start, out, capsys) -> dict:
    words = ["finetune", name, "--from", str(start), "--data", str(data), "--out", str(out), "--epochs", "2"]
    words += ["--batch-size", "4", "--device", "cpu", "--precision", "float32", "--threads", "1", "--seed", "0"]
    assert main(words) == 0
    capsys.readouterr()
    assert main(["evaluate", name, "--checkpoint", str(out / "checkpoint"), "--data", str(data), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_a_new_task_type(tmp_path, tiny_checkpoint, capsys):
    """The command lines of CONTRIBUTING.md: first as a task of the catalogue, then as a custom task."""
    register(STRENGTH)
    register_head("strength", make_head("strength", lambda config: nn.Linear(config.hidden_size, 1)))
    register_task("wind", WEATHER.replace(kind="strength", labels=(), label=("force",), metrics=("spearman",)))
    data = write(tmp_path, "force", (7.0, 1.0))
    measured = finetune_and_evaluate("wind", data, tiny_checkpoint, tmp_path / "run", capsys)
    assert -100 <= measured["spearman"] <= 100
    with (tmp_path / "wind.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, ("id", "report", "force"))
        writer.writeheader()
        writer.writerows(rows("force", (7.0, 1.0)))
    words = ["finetune", "custom", "--type", "strength", "--text-column", "report", "--label-column", "force"]
    words += ["--data", str(tmp_path / "wind.csv"), "--from", str(tiny_checkpoint), "--out", str(tmp_path / "wind")]
    assert main([*words, "--device", "cpu", "--precision", "float32", "--threads", "1"]) == 0
    capsys.readouterr()
    checkpoint = str(tmp_path / "wind" / "checkpoint")
    words = ["evaluate", "custom", "--checkpoint", checkpoint, "--data", str(tmp_path / "wind.csv"), "--json"]
    assert main(words) == 0
    assert json.loads(capsys.readouterr().out)["examples"] == 24


def test_a_new_task_type_with_labels_opens_again(tmp_path, tiny_checkpoint, capsys):
    register(CLASSIFICATION.replace(name="sky", head="sky", command="", page=""))
    head = make_head("sky", lambda config: LinearHead(config, len(config.labels)), has_labels=True)
    register_head("sky", head)
    register_task("skies", WEATHER.replace(kind="sky"))
    data = write(tmp_path, "sky", ("wet", "dry"))
    measured = finetune_and_evaluate("skies", data, tiny_checkpoint, tmp_path / "run", capsys)
    assert 0 <= measured["accuracy"] <= 100
    opened = bertlab.load(tmp_path / "run" / "checkpoint")
    assert (opened.heads, opened.config.labels) == (("sky",), ("dry", "wet"))
    assert [task_type.name for task_type in opened.task_types if task_type.head] == ["sky"]


def test_task_heads_are_stored_under_different_names():
    """Otherwise a checkpoint could open with the wrong head.

    Classification and regression may share their tensor names, since the number of labels distinguishes them.
    """
    stored = Counter((head.hf_class, head.hf_modules[""]) for head in HEADS.values())
    assert {key for key, count in stored.items() if count > 1} == {("BertForSequenceClassification", "classifier")}
    assert stored["BertForSequenceClassification", "classifier"] == 2
