"""Recipes of pre-training settings, as functions and on the command line."""

import json
from pathlib import Path

import pytest
import tyro

import bertlab
from bertlab import api, cli
from bertlab.checkpoints import checkpoint
from bertlab.training.pretraining import pretrain as module
from bertlab.training.pretraining.config import RECIPES, PretrainConfig, fast, google, recipe_from_arguments, stories

SMALL = ["--preset", "tiny", "--steps", "3", "--batch-size", "4", "--max-tokens", "16", "--final-max-tokens", "32"]
SMALL += ["--threads", "1", "--no-snapshots", "--no-sample-predictions", "--device", "cpu", "--precision", "float32"]


def test_the_google_recipe_has_the_settings_of_the_paper():
    config = google(Path("corpus"), Path("out"))
    assert (config.preset, config.steps, config.batch_size) == ("base", 1_000_000, 256)
    assert (config.max_tokens, config.final_max_tokens, config.final_share) == (128, 512, 0.1)
    assert (config.dropout, config.init, config.start, config.pair_objective, config.chosen_share) == (
        0.1,
        0.02,
        "paper",
        "next",
        0.15,
    )
    optim = config.optim
    assert (optim.lr, optim.beta1, optim.beta2, optim.eps) == (1e-4, 0.9, 0.999, 1e-6)
    assert (optim.weight_decay, optim.max_grad_norm, optim.bias_correction) == (0.01, 1.0, False)
    assert optim.learning_rate_at(10_000 / 1_000_000) == pytest.approx(1e-4)
    assert optim.learning_rate_at(0.505) == pytest.approx(0.5e-4)


def test_a_keyword_changes_one_setting():
    config = fast(Path("corpus"), Path("out"), batch_size=8)
    assert config.batch_size == 8
    assert config.optim == fast(Path("corpus"), Path("out")).optim


def test_a_preset_sets_the_heads_in_the_recipe_of_stories():
    """The recipe has its own number of heads, which must not remain with another preset."""
    assert stories(None, Path("out")).attention_heads == 4
    assert stories(None, Path("out"), preset="base").attention_heads is None
    for words in (["--preset", "mini"], ["--preset=mini"]):
        assert recipe_from_arguments(["--recipe", "stories", *words]) == stories(None, tyro.MISSING, preset="mini")


def test_only_sentence_pairs_delay_the_masks_in_the_recipe_of_stories():
    pairs, tokens = (recipe_from_arguments(["--recipe", "stories", *words]) for words in ([], ["--family", "roberta"]))
    assert pairs.pairs_only_share == pairs.optim.low_share > 0
    assert (tokens.pair_objective, tokens.pairs_only_share, tokens.optim.low_share) == ("none", 0, 0)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([], ("stories", "tiny", 4, 20)),
        (["--preset", "small"], ("stories", "small", None, 20)),
        (["--preset", "tiny"], ("stories", "tiny", 4, 20)),
        (["--batch-size", "4"], ("stories", "tiny", 4, 4)),
        (["--recipe", "plain"], ("plain", "mini", None, 32)),
        (["--recipe=fast"], ("fast", "mini", None, 16)),
        (["--from", "scratch"], ("plain", "mini", None, 32)),
    ],
)
def test_the_recipe_of_stories_is_the_default_without_a_corpus(words, expected, corpus, tmp_path, monkeypatch):
    seen = []
    monkeypatch.setattr(module, "run", seen.append)
    words = [*words, "--out", str(tmp_path / "run")]
    assert cli.main(["pretrain", *words]) == 0
    assert cli.main(["pretrain", *words, str(corpus)]) == 0
    without, with_corpus = seen
    assert without.corpus is None
    assert (without.recipe, without.preset, without.attention_heads, without.batch_size) == expected
    assert with_corpus.recipe == ("fast" if "--recipe=fast" in words else "plain")


def test_python_also_trains_on_stories_with_their_recipe(tmp_path, monkeypatch):
    seen = []
    monkeypatch.setattr(module, "run", seen.append)
    monkeypatch.setattr(api, "_read_result", lambda out: out)
    bertlab.pretrain(None, tmp_path / "run", chosen_share=0.3)
    bertlab.pretrain(None, tmp_path / "run", recipe="fast")
    bertlab.pretrain(None, tmp_path / "run", from_="scratch")
    assert [(config.recipe, config.chosen_share) for config in seen] == [
        ("stories", 0.3),
        ("fast", 0.25),
        ("plain", 0.15),
    ]


@pytest.mark.parametrize("words", [["--recipe", "google"], ["a", "--recipe=google", "--steps", "4"]])
def test_a_recipe_is_read_from_the_command_line(words):
    assert recipe_from_arguments(words).recipe == "google"


@pytest.mark.parametrize("words", [[], ["--recipe"], ["--recipe", "plain"], ["corpus", "--out", "google"]])
def test_a_command_line_without_a_known_recipe_gives_none(words):
    assert recipe_from_arguments(words) is None


def test_a_checkpoint_is_continued_with_a_lower_learning_rate(corpus, tmp_path, monkeypatch):
    seen = []
    monkeypatch.setattr(module, "run", seen.append)
    words = ["pretrain", str(corpus), "--out", str(tmp_path / "run")]
    for more in ([], ["--from", "strongest"], ["--from=strongest", "--optim.lr", "5e-4"],
                 ["--from", "strongest", "--new-vocabulary"]):  # fmt: skip
        assert cli.main([*words, *more]) == 0
    plain = PretrainConfig(corpus=corpus, out=tmp_path / "run").optim.lr
    assert [config.optim.lr for config in seen] == [plain, plain / 10, 5e-4, plain]
    assert [config.from_ for config in seen] == [None, *["strongest"] * 3]


@pytest.mark.parametrize("name", RECIPES)
def test_flags_change_a_recipe_on_the_command_line(corpus, tmp_path, name, monkeypatch, capsys):
    seen = []
    monkeypatch.setattr(module, "run", seen.append)
    words = ["pretrain", str(corpus), "--out", str(tmp_path / "run"), "--recipe", name, "--optim.lr", "0.005"]
    assert cli.main(words) == 0
    (config,) = seen
    expected = RECIPES[name](corpus, tmp_path / "run")
    assert config.optim.lr == 0.005
    assert config.optim.warmup == expected.optim.warmup
    assert config.optim.bias_correction == expected.optim.bias_correction
    assert (config.recipe, config.preset, config.final_max_tokens) == (name, expected.preset, expected.final_max_tokens)


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_runs_and_is_resumed_only_with_the_same_recipe(corpus, tmp_path, name, capsys):
    words = ["pretrain", str(corpus), "--out", str(tmp_path / name), "--recipe", name, *SMALL]
    assert cli.main(words) == 0, capsys.readouterr().err
    record = checkpoint.load(tmp_path / name / "checkpoint").record
    assert record["steps"] == 3
    assert record["settings"]["dropout"] == RECIPES[name](corpus, tmp_path).dropout
    assert json.loads((tmp_path / name / "run.json").read_text())["recipe"] == name
    assert cli.main(words) == 0, capsys.readouterr().err
    other = next(other for other in RECIPES if other != name)
    assert cli.main([*words, "--recipe", other]) == 2
    assert "another" in capsys.readouterr().err


def test_an_unknown_preset_of_a_recipe_gets_one_line(corpus, tmp_path, capsys):
    for words in (["--recipe", "stories", str(corpus)], []):
        assert cli.main(["pretrain", "--out", str(tmp_path / "run"), "--preset", "enormous", *words]) == 2
        assert capsys.readouterr().err.count("\n") == 1


def test_an_unknown_recipe_gets_one_line(corpus, tmp_path, capsys):
    assert cli.main(["pretrain", str(corpus), "--out", str(tmp_path / "run"), "--recipe", "grandmothers"]) == 2
    line = capsys.readouterr().err
    assert "recipe" in line
    assert line.count("\n") == 1
    assert not (tmp_path / "run").exists()
