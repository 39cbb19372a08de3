"""The commands of the READMEs and of the guide run as written, with less training and smaller data."""

import json
import re
import shlex
import shutil
import subprocess
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from support.stories import squad_file, stories
from torch.distributed.run import parse_args

from bertlab.checkpoints.locate import find_shipped_checkpoints
from bertlab.cli import main
from bertlab.cli.commands import COMMANDS as COMMANDS_BY_NAME
from bertlab.text.pretraining.corpus import Corpus
from bertlab.text.pretraining.sentence_pairs import IS_NEXT, NOT_NEXT, make_pairs

ROOT = Path(__file__).resolve().parents[1]
NAMES = {"en": "README.md", "ko": "README.ko.md"}
READMES = {language: (ROOT / name).read_text(encoding="utf-8") for language, name in NAMES.items()}


def read_guide(language: str) -> str:
    paths = sorted((ROOT / "docs" / "guide").glob("*.md"))
    paths = [path for path in paths if path.name.endswith(".ko.md") == (language == "ko")]
    return "\n".join(path.read_text(encoding="utf-8") for path in paths)


ENGLISH, KOREAN = (f"{READMES[language]}\n{read_guide(language)}" for language in ("en", "ko"))


def blocks(text: str) -> list[tuple[str, str]]:
    """The fenced code blocks of a text, as (language, lines)."""
    return re.findall(r"^```(\w*)\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def commands(text: str) -> list[list[str]]:
    lines = [line for language, block in blocks(text) if language == "sh" for line in block.splitlines()]
    found = [tuple(shlex.split(line, comments=True)[1:]) for line in lines if line.startswith("bertlab ")]
    return [list(words) for words in dict.fromkeys(found)]


def launched(text: str) -> list[list[str]]:
    lines = [line for _, block in blocks(text) for line in block.replace("\\\n", " ").splitlines()]
    return [shlex.split(line, comments=True)[1:] for line in lines if line.startswith("torchrun ")]


COMMANDS, LAUNCHED = commands(ENGLISH), launched(ENGLISH)
TRAINING = ("prepare", "pretrain", "finetune", "evaluate")
DOMAIN = [words for words in COMMANDS if "runs/novels" in words]  # the commands of "Your own domain"
WITH_ROWS = (*TRAINING, "compress")


@pytest.mark.parametrize("words", [c for c in COMMANDS + commands(KOREAN) if c[0] not in WITH_ROWS], ids=" ".join)
@pytest.mark.skipif("strongest" not in find_shipped_checkpoints(), reason="no shipped checkpoints")
def test_the_commands_that_use_a_checkpoint_print_a_result(words, capsys):
    assert main(words) == 0
    out = capsys.readouterr().out
    assert len(out.splitlines()) > 2
    assert not out.startswith("no answer"), out


@pytest.mark.skipif("strongest" not in find_shipped_checkpoints(), reason="no shipped checkpoints")
@pytest.mark.parametrize(("text", "name"), [(READMES["en"], "strongest"), (READMES["ko"], "korean")], ids=["en", "ko"])
def test_the_python_of_the_readme_runs(monkeypatch, text, name):
    monkeypatch.chdir(ROOT)
    (block,) = [block for language, block in blocks(text) if language == "python"]
    names: dict = {}
    exec(block, names)  # our own README
    assert names["session"].name == name


def test_the_training_commands_run_one_after_another(tmp_path, monkeypatch, capsys):
    """prepare, pretrain, finetune, evaluate: each reads the output of the one before it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "texts").mkdir()
    for i, story in enumerate(stories(20)):
        (tmp_path / "texts" / f"{i}.txt").write_text(story.replace("\n", " "))
    data = squad_file(tmp_path / "squad.json", 24)
    smaller = {
        "prepare": ["--workers", "1"],
        "pretrain": ["--steps", "2", "--batch-size", "4", "--threads", "1"],
        "finetune": ["--data", str(data), "--epochs", "0.5", "--batch-size", "8", "--threads", "1"],
        "evaluate": ["--data", str(data)],
    }
    training_commands = [c for c in COMMANDS if c[0] in TRAINING and c not in DOMAIN]
    assert [c[0] for c in training_commands] == list(TRAINING)
    for words in training_commands:
        assert main([*words, *smaller[words[0]]]) == 0, capsys.readouterr().err
    printed = capsys.readouterr().out
    assert "f1" in printed
    pairs = make_pairs(Corpus.open(tmp_path / "runs" / "corpus").read_documents(0), 64, np.random.default_rng(0))
    assert set(pairs.label_E) == {IS_NEXT, NOT_NEXT}
    assert json.loads((tmp_path / "runs" / "squad" / "checkpoint" / "bertlab.json").read_text())["from"] == "mine"


@pytest.mark.skipif("strongest" not in find_shipped_checkpoints(), reason="no shipped checkpoints")
def test_the_commands_for_a_domain_continue_a_checkpoint_with_new_tokens(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "novels").mkdir()
    for i, story in enumerate(stories(20)):
        (tmp_path / "novels" / f"{i}.txt").write_text(story.replace("\n", " ") + "\nThe glassblowers sold vases.")
    smaller = {"prepare": ["--workers", "1"], "pretrain": ["--steps", "1", "--batch-size", "2", "--threads", "1"]}
    assert [words[0] for words in DOMAIN] == ["prepare", "pretrain"]
    for words in DOMAIN:
        assert main([*words, *smaller[words[0]]]) == 0, capsys.readouterr().err
    record = json.loads((tmp_path / "runs" / "domain" / "checkpoint" / "bertlab.json").read_text())
    assert re.fullmatch(r"strongest \(with \d+ new tokens\)", record["from"])


@pytest.mark.parametrize("words", [c for c in COMMANDS + commands(KOREAN) if c[0] == "compress"], ids=" ".join)
@pytest.mark.skipif("nsmc" not in find_shipped_checkpoints(), reason="no shipped checkpoints")
def test_the_compression_commands_write_a_checkpoint_that_classifies(words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    texts = ["A quiet, lovely film.", "A waste of two hours.", "정말 재미있는 영화예요.", "시간이 아까웠어요."] * 4
    rows = [{"sentence": text, "document": text, "label": (i + 1) % 2, "id": i} for i, text in enumerate(texts)]
    data = Path(words[words.index("--data") + 1])
    data.mkdir(parents=True)
    for split in ("train", "validation", "test"):
        (data / f"{split}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    smaller = ["--retrain-steps", "1", "--batch-size", "4"] if "--retrain-steps" in words else []
    assert main([*words, *smaller]) == 0, capsys.readouterr().err
    assert "accuracy" in capsys.readouterr().out
    assert main(["classify", texts[0], "--checkpoint", words[words.index("--out") + 1]]) == 0


@pytest.mark.parametrize("words", [c for c in commands(KOREAN) if c[0] in TRAINING], ids=" ".join)
def test_the_training_commands_of_the_korean_readme_are_parsed(words, monkeypatch, capsys):
    command, configs = COMMANDS_BY_NAME[words[0]], []
    monkeypatch.setattr(import_module(command.module, "bertlab"), command.function, configs.append)
    assert main(words) == 0, capsys.readouterr().err
    assert len(configs) == 1


@pytest.mark.parametrize("words", LAUNCHED, ids=" ".join)
def test_the_torchrun_commands_are_parsed_and_have_an_end(words, monkeypatch, capsys):
    launch = parse_args(words)
    assert (launch.module, launch.training_script) == (True, "bertlab")
    configs = []
    monkeypatch.setattr("bertlab.training.pretraining.pretrain.run", configs.append)
    assert main(launch.training_script_args) == 0, capsys.readouterr().err
    assert configs[0].minutes or configs[0].steps < 100_000


def test_the_korean_readme_has_the_same_torchrun_commands():
    assert launched(KOREAN) == LAUNCHED


def test_each_run_of_the_readme_has_its_own_directory():
    directories = [words[words.index("--out") + 1] for words in [*COMMANDS, *LAUNCHED] if "--out" in words]
    assert len(directories) == len(set(directories)) > len(LAUNCHED) > 0, directories


@pytest.mark.skipif(shutil.which("make") is None, reason="no make")
@pytest.mark.parametrize("target", sorted(set(re.findall(r"^make (\w+)", ENGLISH + KOREAN, re.MULTILINE))))
def test_the_make_targets_of_the_readme_exist(target):
    done = subprocess.run(["make", "--dry-run", target], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("text", READMES.values(), ids=READMES)
def test_the_directories_and_links_of_the_readme_exist(text):
    (tree,) = [block for language, block in blocks(text) if not language]
    for place in [line.split()[0] for line in tree.splitlines()] + re.findall(r"\]\(([^)]+)\)", text):
        assert (ROOT / place).exists(), place
