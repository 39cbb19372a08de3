"""Pages that intervene in a model: effects, undo, links, and error messages."""

import json
import re

import numpy as np
import pytest
import torch
from bertlab_app import calls
from bertlab_app.data import cached_results, sessions, stepwise_results
from safetensors.torch import load_file
from support.figures import read_charts
from support.pages import bodies, errors, open_page
from support.texts import text

import bertlab
from bertlab.abilities.compare import figures as differences
from bertlab.abilities.results import Outcome, PredictionChange
from bertlab.abilities.surgery import figures as change_figures
from bertlab.checkpoints import checkpoint
from bertlab.checkpoints.vocabulary import extend_vocabulary
from bertlab.cli import main
from bertlab.text.tokenizers.extension import extend_tokenizer

MASKED = "Green [MASK], some [MASK]."
PREDICTIONS = [
    {"ask": "masked_lm", "masked": MASKED},
    {"ask": "sentence_pair"},
    {"ask": "span", "question": "Who carried it?", "passage": "The keeper of the old mill carried it."},
]


def grid(app) -> dict:
    """The data that the grid of heads receives."""
    (proto,) = [e.proto for e in app.get("bidi_component") if e.proto.component_name == "bertlab_heads"]
    return json.loads(proto.json)


def link(app) -> str:
    """The changes in the address."""
    found = app.query_params["changes"]
    return found if isinstance(found, str) else found[0]


def result_html(app) -> str:
    return next(body for body in bodies(app) if 'class="say"' in body)


def click(app, key: str):
    return next(button for button in app.button if button.key == key).click().run()


@pytest.mark.parametrize("prediction", PREDICTIONS, ids=lambda prediction: prediction["ask"])
def test_every_kind_is_measured_and_shown_before_and_after(shipped, prediction):
    app = open_page("heads", changes="0.1,1", **prediction)
    assert not errors(app)
    data = grid(app)
    assert [len(row) for row in data["effects"]] == [2, 2]
    assert any(abs(effect) > 0.001 for row in data["effects"] for effect in row)
    assert data["off"] == ["0.1", "1.0", "1.1"]
    assert len(read_charts(app)) == 1


def test_each_change_can_be_removed_and_the_last_undone(shipped):
    app = open_page("heads", masked=MASKED, changes="0.1,r1.0.2-u,p1.2-0.1", other="Some bread.")
    assert link(app) == "0.1,r1.0.2-u,p1.2-0.1"
    before = result_html(app)
    app = click(app, "back-r1.0.2")
    assert link(app) == "0.1,r1.0.2-u,p1.2-0.1,r1.0.2"
    assert grid(app)["off"] == ["0.1"]
    app = next(button for button in app.button if button.label == text("heads-undo")).click().run()
    assert result_html(app) == before
    app = next(button for button in app.button if button.label == "Reset").click().run()
    assert "changes" not in app.query_params
    assert grid(app)["off"] == []


def test_page_sets_attention_row_and_patches_hidden_state(shipped):
    app = open_page("heads", masked=MASKED, tool="row", **{"row.layer": "1", "row.how": "hand"})
    app = click(app, "put-row")
    assert link(app).startswith("r1.0.0-0:0.")
    assert not errors(app)
    app = open_page("heads", masked=MASKED, tool="patch", other="Some bread.")
    app = next(button for button in app.button if button.label == text("heads-apply")).click().run()
    assert link(app) == "he.1-e.1"
    app = next(button for button in app.button if button.label == text("heads-patch-all-positions")).click().run()
    assert "can be patched: choose one position in each" in errors(app)[0], "the texts differ in length"
    assert len(errors(app)) == 1


@pytest.mark.parametrize("changes", ["9.0", "0.7", "nonsense", "<script>alert(1)</script>", "r0.0.60-u", "9" * 3000])
def test_invalid_change_is_reported_once_and_can_be_undone(shipped, changes):
    app = open_page("heads", masked=MASKED, changes=f"0.1,{changes}")
    assert len(errors(app)) == 1
    assert "<script" not in errors(app)[0]
    app = next(button for button in app.button if button.label == text("heads-undo")).click().run()
    assert not errors(app)
    assert link(app) == "0.1"


@pytest.mark.parametrize(
    ("screen", "link"),
    [
        ("heads", {"masked": "No mask."}),
        ("heads", {"masked": "[MASK] tea " * 60}),
        ("logit-lens", {"masked": ""}),
        ("logit-lens", {"masked": "[MASK] tea " * 60}),
    ],
)
def test_invalid_input_is_reported_in_one_line(shipped, screen, link):
    app = open_page(screen, **link)
    assert len(errors(app)) == 1


def test_observed_mask_can_be_chosen(shipped):
    first, second = (grid(open_page("heads", masked=MASKED, which=which))["effects"] for which in ("1", "2"))
    assert first != second


def test_command_on_the_page_creates_the_pruned_checkpoint(shipped, tmp_path, monkeypatch):
    app = open_page("heads", masked=MASKED, tool="keep", changes="0.1,9.9")
    command = app.get("code")[0].proto.code_text
    assert command == "bertlab export pruned --checkpoint strongest --prune 0.1"
    monkeypatch.chdir(tmp_path)
    assert main(command.split()[1:]) == 0
    assert json.loads((tmp_path / "pruned" / "config.json").read_text())["pruned_heads"] == {"0": [1]}
    record = json.loads((tmp_path / "pruned" / "bertlab.json").read_text())
    assert not record["validation"], "metrics of the unpruned model do not apply"
    pruned, whole = sessions.find_checkpoint(str(tmp_path / "pruned")), sessions.find_checkpoint("strongest")
    expected = calls.compute(whole, "intervene", "masked_lm", MASKED, None, changes="0.1")
    got = calls.compute(pruned, "intervene", "masked_lm", MASKED, None).outcomes[0]
    assert got.before == pytest.approx(expected.outcomes[expected.top].after, abs=2e-3), "stored in 16 bits"


def test_logit_lens_draws_part_of_long_text_and_fills_masks_jointly(shipped):
    app = open_page("logit-lens", masked="Some bread, [MASK] tea [MASK]. " + "Tea. " * 20, at="30")
    assert not errors(app)
    assert any("Positions " in caption.value for caption in app.caption)
    assert len(read_charts(app)) == 2
    assert len(app.dataframe[0].value) == 6


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["heads", MASKED], 0),
        (["heads", MASKED, "--change", "0.1,r1.0.2-u"], 0),
        (["heads", "Tea.", "Bread.", "--ask", "sentence_pair", "--json"], 0),
        (["heads", MASKED, "--change", "7.0"], 2),
        (["heads", "Tea.", "--ask", "sentence_pair"], 2),
        (["logit-lens", MASKED], 0),
        (["logit-lens", MASKED, "--beams", "3"], 0),
        (["logit-lens", "Tea.", "--beams", "3"], 2),
        (["logit-lens", MASKED, "--json"], 0),
        (["export", "out", "--prune", "0.9"], 2),
        (["export", "out", "--prune", "0"], 2),
        (["export", " ", "--prune", "0.0"], 2),
        (["export", "out", "--average", "nobody"], 2),
        (["export", "out", "--average", "strongest", "--prune", "0.0"], 2),
        (["export", "out", "--average", "strongest", "--share", "1"], 2),
        (["export", "out", "--share", "0.3"], 2),
    ],
)
def test_commands(shipped, capsys, tmp_path, monkeypatch, words, code):
    monkeypatch.chdir(tmp_path)
    assert main(words) == code
    out, err = capsys.readouterr()
    assert len(err.strip().splitlines()) == (1 if code else 0), err
    if "--json" in words:
        assert json.loads(out)["checkpoint"] == "strongest"
    assert not list(tmp_path.iterdir())


def test_export_in_eight_bits(shipped, capsys, tmp_path):
    assert main(["export", str(tmp_path / "small"), "--checkpoint", "sst2", "--dtype", "float8"]) == 0
    assert "float8" in capsys.readouterr().out
    stored = load_file(tmp_path / "small" / "model.safetensors")
    assert stored["classifier.weight"].dtype == torch.float8_e4m3fn
    before, after = (bertlab.load(source).classify("Green tea.") for source in ("sst2", tmp_path / "small"))
    assert after.best.probability == pytest.approx(before.best.probability, abs=0.1)


def test_the_card_of_a_smaller_dtype_states_no_metrics_of_the_original(capsys, tmp_path):
    """The record of the shipped classifier is complete, so its card states metrics."""
    wide, narrow = tmp_path / "wide", tmp_path / "narrow"
    assert main(["export", str(wide), "--checkpoint", "sst2"]) == 0
    assert main(["export", str(narrow), "--checkpoint", str(wide), "--dtype", "float8"]) == 0
    assert "| accuracy | 88.76 |" in (wide / "README.md").read_text(encoding="utf-8")
    card = (narrow / "README.md").read_text(encoding="utf-8")
    assert "eight bits" in card
    assert "| accuracy |" not in card
    assert "88.76" not in card


@pytest.mark.parametrize("words", [["--prune", "0.0"], ["--dtype", "float8"], ["--dtype", "float16"]])
def test_an_export_with_other_weights_drops_the_results_of_the_original(tiny_model, tiny_tokenizer, tmp_path, words):
    record = bertlab.load("sst2").record | {
        "cloze": [{"text": "Hot [MASK].", "guesses": [[["tea", 0.5]]], "fits": ["tea"], "kind": "food", "right": True}],
        "other_tasks": {"rte": {"metrics": {"accuracy": 60.0}, "measured_on": "rte"}},
    }
    original = checkpoint.save(tmp_path / "original", tiny_model, tiny_tokenizer, record, dtype=torch.float32)
    assert main(["export", str(tmp_path / "made"), "--checkpoint", str(original), *words]) == 0
    exported = bertlab.load(tmp_path / "made").record
    same_weights = words == ["--dtype", "float16"]
    assert exported.keys() & {"cloze", "other_tasks"} == ({"cloze", "other_tasks"} if same_weights else set())
    assert bool(exported["validation"]) == same_weights
    assert ("note" in exported) == (words[0] == "--dtype")


@pytest.mark.parametrize(
    "words", [["--prune", "0.1"], ["--prune", "0.1", "--zeroed"], ["--average", "sst2", "--share", "0.25"]]
)
def test_an_export_drops_the_metrics_of_the_original_and_can_be_evaluated(tmp_path, words):
    """The metrics and the note of the shipped classifier do not apply to a changed copy of it."""
    exported, rows = tmp_path / "made", tmp_path / "rows.csv"
    rows.write_text("sentence,label\na fine evening,1\na dull one,0\n", encoding="utf-8")
    assert main(["export", str(exported), "--checkpoint", "sst2", *words]) == 0
    card = (exported / "README.md").read_text(encoding="utf-8")
    assert "| accuracy |" not in card
    assert bertlab.load("sst2").record["note"] not in card
    assert ("0.1 (layer.head, from 0) of sst2" if "--prune" in words else "75 % of sst2 and 25 % of sst2") in card
    assert ("transformers 5 does not" in card) == (words == ["--prune", "0.1"])
    assert main(["evaluate", "sst2", "--checkpoint", str(exported), "--data", str(rows), "--record"]) == 0
    card = (exported / "README.md").read_text(encoding="utf-8")
    assert "| accuracy |" in card
    assert f"\nOn {rows.name}.\n" in card


def test_interrupted_head_effects_resume_after_finished_layers(shipped):
    inputs, progress = ("sentence_pair", "Rain fell on the harbour.", "The boats stayed in."), []
    chosen = sessions.find_checkpoint("strongest")

    def stop(share: float) -> None:
        progress.append(share)
        raise InterruptedError

    with pytest.raises(InterruptedError):
        stepwise_results.compute_head_effects(chosen, *inputs, progress=stop)
    whole = stepwise_results.compute_head_effects(chosen, *inputs, progress=progress.append)
    assert progress == [0.5, 1.0], "only the second of two layers was left to compute"
    expected = sessions.open_session(chosen).head_effects(*inputs)
    assert (whole.layers, whole.label) == (expected.layers, expected.label)
    np.testing.assert_allclose(whole.effects_LN, expected.effects_LN, atol=1e-6)
    stepwise_results.compute_head_effects(chosen, *inputs, progress=progress.append)
    assert len(progress) == 2, "nothing is measured twice"


def test_hidden_states_and_layers_share_one_numbering(shipped):
    """The output of layer 1 is called layer 1 wherever it is shown, and the embeddings have no number."""
    app = open_page("heads", tool="patch", masked=MASKED, **{"patch.layer": "2", "patch.into": "0"})
    layers = [box for box in app.selectbox if box.key in ("patch.layer", "patch.into")]
    assert [list(box.options) for box in layers] == [["embeddings", "layer 0", "layer 1"]] * 2
    assert [box.value for box in layers] == [2, 0], "an old link keeps its meaning"
    lens = calls.compute(sessions.find_checkpoint("strongest"), "lens", MASKED)
    rows = change_figures.lens_grid(lens).layout.yaxis.ticktext
    assert list(rows) == ["embeddings", "layer 0", "layer 1"]
    assert list(change_figures.lens_rank(lens, 1).layout.xaxis.ticktext) == ["embeddings", "0", "1"]


def test_click_on_a_head_difference_opens_that_head(shipped):
    found = cached_results.compare_checkpoints(
        sessions.find_checkpoint("strongest"), sessions.find_checkpoint("scratch"), "Green tea."
    )
    cells_LN = differences.head_differences(found).data[0].customdata
    assert [tuple(place) for row in cells_LN for place in row[:, :2]] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    app = open_page("compare", before="strongest", after="scratch", **{"compare.layer": "1", "compare.head": "1"})
    assert [field.value for field in app.number_input] == [1, 1]


def test_words_that_two_vocabularies_split_differently_are_listed(shipped, tmp_path):
    old = checkpoint.load("scratch")
    extended = extend_tokenizer(old.tokenizer, ["kiln"])
    path = checkpoint.save(tmp_path / "potter", extend_vocabulary(old, extended), extended, {}, dtype=torch.float32)
    link = {"before": "scratch", "after": str(path), "b": ""}
    (table,) = (body for body in bodies(open_page("compare", **link, a="She carried the kiln.")) if "<table" in body)
    assert re.findall(r'<th scope="row"[^>]*>(.*?)</th>', table) == ["kiln"]
    assert "k ##i ##l ##n" in table
    assert not any("<table" in body for body in bodies(open_page("compare", **link, a="She carried the bowl.")))


def make_change(*labels: str) -> PredictionChange:
    return PredictionChange("sentence_pair", tuple(Outcome(label, 0.5, 0.25, 0.0, -1.1) for label in labels), 0)


def test_bars_of_few_outcomes_leave_no_empty_space():
    heights = [
        change_figures.before_after(make_change(*"abcdefghijkl"[:count])).layout.height for count in (2, 5, 10, 12)
    ]
    assert heights[0] < heights[1] == heights[2] < heights[3], "five or more may be joined by others after a change"


def test_a_long_outcome_is_broken_before_its_bracket():
    names = {"b": "NotNext(이어지지 않음)"}
    ticks = change_figures.before_after(
        make_change("a", "b", "short(1)", "(aaaaaaaaaaaaaaaaaaaa"), names=names
    ).layout.yaxis
    assert list(ticks.ticktext) == ["(aaaaaaa…aaaaaa", "short(1)", "NotNext<br>(이어지지 않음)", "a"]
