"""Commands, links, checkpoints and runs from before the packages were renamed still work."""

import json
from importlib import import_module
from pathlib import Path

import pytest

import bertlab
from bertlab.checkpoints import history
from bertlab.checkpoints.locate import find_shipped_checkpoints
from bertlab.cli import main
from bertlab.cli.commands import ALIASES, COMMANDS
from bertlab.config.languages import render

HERE = Path(__file__).parent
ROOT = HERE.parent
OLD = json.loads((HERE / "compatibility" / "commands.json").read_text())
FLAGS = [(command, flag) for command, row in OLD.items() for flag in row["flags"]]

# The query parameters of old links: for each page, one link of each kind.
LINK_PARAMETERS = {
    "attention": [{"view": "matrix", "layer": "1"}, {"look": "neuron", "token": "2"}, {"hide": "1", "layer": "2"}],
    "fill_mask": [{"mask": "3.6"}, {"text": "A [MASK] of tea."}],
    "next_sentence": [{"first": "Green tea.", "second": "Bread."}, {"nsp": "probes"}],
    "question": [{"question": "Who?", "passage": "The keeper carried the lantern."}],
    "classify": [{"judged": "A small wonder."}],
    "tag": [{"named": "Clara Schumann played in Vienna."}],
    "heads": [{"changes": "0.1,1.1"}, {"ask": "span"}, {"ask": "nsp"}, {"ask": "classify"}, {"tool": "patch"},
              {"tool": "row", "row.how": "hand"}, {"tool": "keep", "changes": "0.1"}],
    "logit_lens": [{"masked": "The old [MASK] carried the [MASK]."}],
    "xray": [{"question": "Who?", "passage": "The keeper carried the lantern."}],
    "compare": [{"between": "inputs"}],
    "training": [{"x": "tokens"}],
    "time_machine": [{"at": "0"}],
    "evaluation": [{"from": "paste", "pasted": "sentence,label\nA wonder.,positive\nA bore.,negative\n"}],
}  # fmt: skip


# Values that a page replaces with their new name in its URL.
RENAMED_VALUES = {"nsp": "sentence_pair", "classify": "classification", "mask": "masked_lm", "probes": "test-pairs"}


@pytest.mark.parametrize(("command", "flag"), FLAGS, ids=lambda value: value if isinstance(value, str) else value[0])
def test_an_old_flag_is_understood(command, flag, monkeypatch, capsys):
    row, parsed = COMMANDS[ALIASES.get(command, command)], []
    monkeypatch.setattr(import_module(f"bertlab.{row.module}"), row.function, parsed.append)
    words = [*command.split(), *OLD[command]["required"], *flag]
    code, err = main(words), capsys.readouterr().err
    assert "unrecognized" not in err.lower(), err
    assert "invalid choice" not in err.lower(), err
    assert parsed or code, words


@pytest.mark.parametrize(
    ("words", "old", "new"),
    [
        ("pretrain corpus --out run", "--mask 0.3", "--chosen-share 0.3"),
        ("pretrain corpus --out run", "--unmasked-share 0.2", "--pairs-only-share 0.2"),
        ("pretraining-example text", "--mask 0.3", "--chosen-share 0.3"),
        ("compress sst2 --task sst2 --out small", "--layers 2", "--keep-layers 2"),
        ("cost", "--share 0.3", "--peak-share 0.3"),
        ("writing text", "--no-whole-words", "--no-mask-rest-of-word"),
        ("bench serve sst2", "--student sst2", "--small sst2"),
        ("bench families", "--mask 0.2", "--chosen-share 0.2"),
    ],
)
def test_a_renamed_flag_means_the_same_under_its_old_name(words, old, new, monkeypatch):
    command = " ".join(words.split()[: 2 if words.startswith("bench") else 1])
    row, parsed = COMMANDS[command], []
    monkeypatch.setattr(import_module(f"bertlab.{row.module}"), row.function, parsed.append)
    for flag in (old, new, ""):
        assert main([*words.split(), *flag.split()]) == 0
    with_old, with_new, without_flag = parsed
    assert with_old == with_new != without_flag


@pytest.mark.skipif("strongest" not in find_shipped_checkpoints(), reason="no shipped checkpoints")
@pytest.mark.parametrize(
    "name",
    [
        "strongest",
        "scratch",
        "korean",
        "korean_morphemes",
        "squad",
        "sst2",
        "stsb",
        "wikiann_en",
        "nsmc",
        "comve",
        "klue_ner",
        "klue_sts",
        "sentences",
        "klue_nli",
        "korquad",
        "sentences_ko",
    ],
)
def test_a_shipped_checkpoint_opens(name):
    session = bertlab.load(name)
    assert session.attention("Tea and bread.").probs_LNTT.shape[0] == session.config.num_layers
    assert main(["info", "--checkpoint", name]) == 0


@pytest.mark.skipif(not (ROOT / "assets" / "runs").is_dir(), reason="no shipped runs")
@pytest.mark.parametrize("name", ["tiny-en", "tiny-ko"])
def test_an_old_run_is_read(name):
    run = ROOT / "assets" / "runs" / name
    log = history.read_log(run)
    assert history.find_snapshots(run)
    assert any("loss" in row for row in log)
    assert history.find_run_status(run, history.thin_log(log)).state == "finished"


@pytest.mark.parametrize(
    ("screen", "parameters"), [(screen, link) for screen, links in LINK_PARAMETERS.items() for link in links], ids=str
)
def test_an_old_link_opens(shipped, screen, parameters):
    from support.pages import open_example_page

    app = open_example_page(screen, **parameters)
    assert not app.exception, app.exception[0].message
    for name, value in parameters.items():
        shown = "".join(app.query_params.get(name, value))
        assert shown in (value, RENAMED_VALUES.get(value)), f"{name} became {shown!r}"


def test_an_old_page_name_opens_the_renamed_page(shipped):
    from support.pages import open_example_page

    app = open_example_page("depth", masked="The old [MASK] carried the [MASK].")
    assert not app.exception, app.exception[0].message
    assert app.session_state["url.page"] == "logit-lens"
    assert "".join(app.query_params["masked"]) == "The old [MASK] carried the [MASK]."


def test_the_old_page_name_question_opens_the_page_answer(shipped):
    from support.pages import open_example_page

    parameters = {"question": "Who?", "passage": "The keeper carried the lantern."}
    app = open_example_page("question", **parameters)
    assert not app.exception, app.exception[0].message
    assert app.session_state["url.page"] == "answer"
    assert app.title[0].value == render("answer-title")
    assert {name: "".join(app.query_params[name]) for name in parameters} == parameters
    assert app.text_input("question").value == "Who?"
    assert app.text_area("passage").value == parameters["passage"]


def test_an_old_link_to_the_evaluation_of_questions_evaluates_answers(shipped):
    from support.pages import open_example_page

    app = open_example_page("evaluation", measure="question", **{"from": "path"})
    assert not app.exception, app.exception[0].message
    assert "".join(app.query_params["measure"]) == "answer"


@pytest.mark.parametrize(("old", "new"), [("attend", "attention"), ("lens", "logit-lens")])
def test_an_old_command_name_runs_the_renamed_command(shipped, old, new, capsys):
    text = "The keeper carried the [MASK]."
    assert main([new, text, "--json"]) == 0
    expected = capsys.readouterr().out
    assert main([old, text, "--json"]) == 0
    assert capsys.readouterr().out == expected
    assert bertlab.default_checkpoint(old) == bertlab.default_checkpoint(new)
