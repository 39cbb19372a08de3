"""The commands as functions: `bertlab.prepare`, `pretrain`, `finetune` and `evaluate`."""

import csv
from pathlib import Path

import pytest
from support.errors import raises_error
from support.stories import stories

import bertlab
from bertlab.config.errors import BertlabError
from bertlab.session import Session


@pytest.fixture(scope="module")
def directory(tmp_path_factory) -> Path:
    directory = tmp_path_factory.mktemp("api")
    (directory / "stories.txt").write_text("\n\n".join(stories(120)), encoding="utf-8")
    with open(directory / "reviews.csv", "w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["text", "label"])
        rows.writerows((f"The {word} tea number {number}.", word) for number in range(20) for word in ("good", "bad"))
    return directory


@pytest.fixture(scope="module")
def pretrained(directory) -> bertlab.TrainingResult:
    corpus = bertlab.prepare(directory / "stories.txt", out=directory / "corpus", vocab_size=150, workers=1)
    assert corpus.path == directory / "corpus"
    assert corpus.documents == 120
    assert corpus.characters > corpus.tokens > 1000
    return bertlab.pretrain(
        str(corpus.path), str(directory / "run"), layers=1, hidden=16, attention_heads=2, steps=3, batch_size=4,
        max_tokens=32, threads=1, snapshots=False, optim={"lr": 3e-4},
    )  # fmt: skip


def test_pretraining_returns_what_it_wrote(pretrained, directory):
    assert (pretrained.run, pretrained.checkpoint) == (directory / "run", directory / "run" / "checkpoint")
    assert pretrained.steps == 3
    assert pretrained.tokens > 0
    session = pretrained.load()
    assert isinstance(session, Session)
    assert session.fill_mask("The [MASK].")
    assert '"lr": 0.0003' in (directory / "run" / "run.json").read_text(), "a dictionary changes parts of `optim`"


def test_fine_tuning_and_evaluation(pretrained, directory):
    rows = {"text_column": "text", "label_column": "label"}
    tuned = bertlab.finetune(
        "custom", directory / "tuned", from_=pretrained.checkpoint, kind="classification",
        data=str(directory / "reviews.csv"), epochs=1.0, batch_size=8, max_tokens=16, threads=1, **rows,
    )  # fmt: skip
    assert tuned.steps == 5 or tuned.steps > 0
    assert tuned.metrics["accuracy"] >= 0
    assert tuned.load().classify("Good tea.").best.label in {"good", "bad"}
    result = bertlab.evaluate("custom", tuned.checkpoint, data=str(directory / "reviews.csv"), threads=1, **rows)
    assert 0 <= result.metrics["accuracy"] <= 100
    assert result.metrics["examples"] == 40


def test_invalid_settings_and_checkpoints_raise_one_line_errors(directory):
    with pytest.raises(BertlabError) as error:
        bertlab.pretrain(directory / "corpus", directory / "refused", batch_size=0)
    assert "\n" not in str(error.value)
    with pytest.raises(TypeError, match="stepz"):
        bertlab.pretrain(directory / "corpus", directory / "refused", stepz=3)
    with raises_error(BertlabError, "checkpoint-not-found", name="./nowhere"):
        bertlab.evaluate("sst2", "./nowhere")
