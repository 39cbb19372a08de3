"""The commands as functions: `bertlab.prepare`, `pretrain`, `finetune` and `evaluate`."""

import csv
import dataclasses
import inspect
import sys
from pathlib import Path

import docstring_parser
import pytest
from support.errors import raises_error
from support.stories import stories

import bertlab
from bertlab.abilities import results
from bertlab.abilities.compare import compute as compare
from bertlab.abilities.timeline import compute as timeline
from bertlab.config.errors import BertlabError
from bertlab.session import Session
from bertlab.tasks import error_analysis
from bertlab.tasks.registry import TASK_TYPES
from bertlab.tasks.span import answer


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
        "own", directory / "tuned", from_=pretrained.checkpoint, kind="classify", data=str(directory / "reviews.csv"),
        epochs=1.0, batch_size=8, max_tokens=16, threads=1, **rows,
    )  # fmt: skip
    assert tuned.steps == 5 or tuned.steps > 0
    assert tuned.metrics["accuracy"] >= 0
    assert tuned.load().classify("Good tea.").best.label in {"good", "bad"}
    result = bertlab.evaluate("own", tuned.checkpoint, data=str(directory / "reviews.csv"), threads=1, **rows)
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


def public_dataclasses() -> list[type]:
    """The dataclasses that the package exports or that hold the results of its task types, in a stable order."""
    exported = [getattr(bertlab, name) for name in bertlab.__all__]
    modules = {sys.modules[type(task_type).__module__] for task_type in TASK_TYPES.values()}
    modules |= {answer, compare, error_analysis, results, timeline}
    for module in modules:
        own = [value for value in vars(module).values() if getattr(value, "__module__", None) == module.__name__]
        exported += [value for value in own if not value.__name__.startswith("_")]
    kinds = {kind for kind in exported if isinstance(kind, type) and dataclasses.is_dataclass(kind)}
    return sorted(kinds, key=lambda kind: (kind.__module__, kind.__name__))


@pytest.mark.parametrize("kind", public_dataclasses(), ids=lambda kind: kind.__name__)
def test_every_field_of_a_public_dataclass_is_documented(kind):
    parts = [
        base for base in kind.__mro__ if dataclasses.is_dataclass(base)
    ]  # a field is documented where it is defined
    rows = [row for part in parts for row in docstring_parser.parse_from_object(part).params]
    documented = {row.arg_name for row in rows if row.description}
    assert {field.name for field in dataclasses.fields(kind)} <= documented


@pytest.mark.parametrize("name", ["prepare", "pretrain", "finetune", "evaluate"])
def test_every_argument_of_a_function_is_documented(name):
    function = getattr(bertlab, name)
    documented = {row.arg_name for row in docstring_parser.parse(function.__doc__).params}
    assert set(inspect.signature(function).parameters) <= documented


def test_older_public_names_still_work():
    assert bertlab.shipped is bertlab.find_shipped_checkpoints


def test_evaluate_accepts_the_older_name_of_its_first_parameter(monkeypatch):
    monkeypatch.setattr("bertlab.training.evaluate.evaluate", lambda config: {"task": config.task})
    assert bertlab.evaluate(what="sst2", checkpoint="sst2").metrics == {"task": "sst2"}
