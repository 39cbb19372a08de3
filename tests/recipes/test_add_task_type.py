"""Recipe of CONTRIBUTING.md: a task type with its own output layer, fine-tuned and evaluated by the commands."""

import csv
import json
from collections import Counter

import pytest
import torch.nn.functional as F
from support.task_rows import jsonl
from torch import nn

from bertlab.cli import main
from bertlab.config import tasks
from bertlab.config.languages import Message
from bertlab.config.tasks import TaskSpec, register_task
from bertlab.nn.heads import HEADS, HeadSpec, register_head
from bertlab.tasks.loss import Loss
from bertlab.tasks.registry import TASK_TYPES, register
from bertlab.tasks.regression import RegressionTask

WEATHER = TaskSpec(
    "classification", "", "en", ("accuracy",), "tests/recipes", text=("report",), label=("sky",),
    labels=("dry", "wet"), test=(),
)  # fmt: skip


def strength_loss(model: nn.Module, batch) -> Loss:
    value_B = model.head("strength")(model.pool(batch.inputs)).squeeze(-1).float()
    error_B = (value_B - batch.labels_B.float()).abs()
    loss = F.smooth_l1_loss(value_B, batch.labels_B.float())
    return Loss(loss, {"error": error_B.detach().mean()}, batch.inputs.attention_mask_BT.sum())


class StrengthTask(RegressionTask):
    """A toy task type: the strength of the wind, predicted by its own output layer and trained with its own loss."""

    name = "strength"
    head = "strength"
    command = ""
    page = ""
    loss = staticmethod(strength_loss)

    def compute_scores(self, model, batch):
        return model.head("strength")(model.pool(batch)).squeeze(-1)


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


@pytest.fixture
def strength(monkeypatch):
    monkeypatch.setattr(tasks, "TASKS", dict(tasks.TASKS))
    register(StrengthTask())
    linear = HeadSpec(
        lambda config: nn.Linear(config.hidden_size, 1), Message("head-regress"),
        Message("head-remedy-finetune", task="custom --type strength"), "BertModel", {"": "strength"},
        reads_pooled=True,
    )  # fmt: skip
    register_head("strength", linear)
    register_task("wind", WEATHER.replace(kind="strength", labels=(), label=("force",), metrics=("spearman",)))
    yield
    TASK_TYPES.remove("strength")
    del HEADS["strength"]


def test_a_new_task_type(strength, tmp_path, tiny_checkpoint, capsys):
    data = write(tmp_path, "force", (7.0, 1.0))
    measured = finetune_and_evaluate("wind", data, tiny_checkpoint, tmp_path / "run", capsys)
    assert -100 <= measured["spearman"] <= 100


def test_a_new_task_type_is_trained_as_a_custom_task(strength, shipped, tmp_path, capsys):
    """The command line of CONTRIBUTING.md, with a smaller checkpoint."""
    with (tmp_path / "wind.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, ("id", "report", "force"))
        writer.writeheader()
        writer.writerows(rows("force", (7.0, 1.0)))
    words = ["finetune", "custom", "--type", "strength", "--text-column", "report", "--label-column", "force"]
    words += ["--data", str(tmp_path / "wind.csv"), "--from", "scratch", "--out", str(tmp_path / "wind")]
    assert main([*words, "--device", "cpu", "--precision", "float32", "--threads", "1"]) == 0
    capsys.readouterr()
    checkpoint = str(tmp_path / "wind" / "checkpoint")
    words = ["evaluate", "custom", "--checkpoint", checkpoint, "--data", str(tmp_path / "wind.csv"), "--json"]
    assert main(words) == 0
    assert json.loads(capsys.readouterr().out)["examples"] == 24


def test_an_inherited_alias_names_the_parent_type(strength):
    assert TASK_TYPES["regress"].name == "regression"


def test_task_heads_are_stored_under_different_names():
    """Otherwise a checkpoint could open with the wrong head.

    Classification and regression may share their tensor names, since the number of labels distinguishes them.
    """
    stored = Counter((head.hf_class, head.hf_modules[""]) for head in HEADS.values())
    assert {key for key, count in stored.items() if count > 1} == {("BertForSequenceClassification", "classifier")}
    assert stored["BertForSequenceClassification", "classifier"] == 2
