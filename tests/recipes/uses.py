"""Uses of what the recipes of CONTRIBUTING.md add; `tests/test_contributing.py` runs them where it is added."""

import json
import os
import shutil

import numpy as np
import pytest
import torch
from bertlab_app.widgets import files
from safetensors.torch import load_file, save_file
from support.pages import errors, open_page
from support.recipes import read_recipes
from support.stories import losses, stories

import bertlab
from bertlab.abilities.answer import span_attention
from bertlab.checkpoints import checkpoint
from bertlab.cli import main
from bertlab.config.errors import TextError
from bertlab.tasks.masked_lm import Candidate, MaskFill
from bertlab.views import assets, figures

RECIPES = read_recipes()
FAST = ["--device", "cpu", "--precision", "float32", "--threads", "1"]


def run(words: list[str], *more: str) -> None:
    assert main([*words, *more]) == 0


@pytest.fixture(autouse=True)
def directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_task_of_a_known_type(directory, shipped, capsys):
    rows = [f"{('The sun shone', 'Rain fell')[i % 2]} on day {i}.,{i % 2}" for i in range(24)]
    (directory / "weather.csv").write_text("\n".join(["report,sky", *rows]))
    finetune, evaluate = RECIPES["A task of a known type"].commands
    run(finetune, *FAST, "--epochs", "1")
    assert checkpoint.load("runs/weather").config.labels == ("dry", "wet")
    capsys.readouterr()
    run(evaluate, "--json")
    assert json.loads(capsys.readouterr().out)["examples"] == 24


def test_a_family_of_encoders(tiny_checkpoint, directory, capsys):
    """The toy family leaves the first two rows of the position embeddings unused, as RoBERTa does."""
    toy = shutil.copytree(tiny_checkpoint, directory / "runs" / "toybert")
    config = json.loads((toy / "config.json").read_text())
    config |= {"model_type": "toybert", "max_position_embeddings": config["max_position_embeddings"] + 2}
    (toy / "config.json").write_text(json.dumps(config))
    weights = load_file(toy / "model.safetensors")
    (name,) = (name for name in weights if name.endswith("position_embeddings.weight"))
    unused = torch.full((2, weights[name].shape[1]), 100.0)
    save_file(weights | {name: torch.cat([unused, weights[name]])}, toy / "model.safetensors")
    (words,) = RECIPES["A family of encoders"].commands
    run(words, "--json")
    found = json.loads(capsys.readouterr().out)
    run([*words[:-1], str(tiny_checkpoint)], "--json")
    assert found | {"checkpoint": ""} == json.loads(capsys.readouterr().out) | {"checkpoint": ""}
    loaded = bertlab.load(toy)
    saved = checkpoint.save(directory / "saved", loaded.model, loaded.tokenizer, {})
    assert json.loads((saved / "config.json").read_text())["model_type"] == "toybert"


def test_an_optimiser(corpus, directory):
    (directory / "runs").mkdir()
    (directory / "runs" / "corpus").symlink_to(corpus)
    (words,) = RECIPES["An optimiser"].commands
    words = [*words, *FAST, "--preset", "tiny", "--batch-size", "4", "--max-tokens", "32", "--no-snapshots"]
    run(words, "--no-sample-predictions", "--steps", "12")
    first = losses(directory / "runs" / "sgd")
    assert len(first) == 12
    assert first[-1] < first[0]
    run(words, "--no-sample-predictions", "--steps", "14")  # goes on where the first run ended
    assert losses(directory / "runs" / "sgd")[:12] == first
    assert len(losses(directory / "runs" / "sgd")) == 14


class TestAFileFormat:
    def test_prepares_a_corpus(self, directory):
        (directory / "tales.cards").write_text("".join(f"Card: {' '.join(story.split())}\n" for story in stories(50)))
        (words,) = RECIPES["A file format"].commands
        run(words, "--vocab-size", "60", "--workers", "1")
        assert json.loads((directory / "runs/tales/corpus.json").read_text())["documents"] == 50

    def test_is_read_as_an_upload(self, shipped, monkeypatch):
        monkeypatch.setattr(files, "may_start_jobs", lambda: False)  # as for a student: the page itself reads the file
        page = open_page("classify")
        content = "Monday: Rain fell.\nTuesday: The boats stayed in.\n"
        page.file_uploader(key="upload-classify").set_value(("reports.cards", content.encode(), "text/plain")).run()
        page = next(button for button in page.button if button.key == "ask-classify").click().run()
        assert not page.exception
        assert not errors(page)
        table = page.dataframe[-1].value
        assert list(table["title"]) == ["Monday", "Tuesday"]
        assert not any(table["error"])

    def test_reports_an_invalid_row(self, shipped):
        page = open_page("evaluation", **{"from": "upload", "skip": "0"})
        lines = [*(f"{number % 2}: Green tea number {number}." for number in range(6)), "no colon"]
        upload = page.file_uploader(key="evaluation-upload")
        page = upload.set_value(("rows.cards", "\n".join(lines).encode(), "text/plain")).run()
        (error,) = errors(page)
        assert "rows.cards row 7" in error


def test_an_interface_language(shipped):
    page = open_page("input", lang="fr")
    assert not page.exception
    assert page.title[0].value == "Jetons"
    page.text_input(key="a").set_value("").run()
    assert "le texte est vide" in " ".join(errors(page))
    assert TextError("text-empty").render("fr") == "le texte est vide"
    figure = span_attention.heads_map(np.full((2, 3), 0.1), 0.1, lang="fr")
    assert figure.layout.yaxis.ticktext == ("Couche 0", "Couche 1")
    assert figure.layout.xaxis.title.text == "Head", "what the folder lacks appears in English"


def test_a_colour_of_the_views():
    figure = figures.mask_bars(MaskFill(1, 0, 6, (Candidate("tea", 5, 0.4),)))
    assert list(figure.data[0].marker.color) == ["#2f6fbd"]
    assert '"blue": "#2f6fbd"' in assets.bundle_module("attention")
    assert "BERTLAB_PALETTE" not in os.environ
