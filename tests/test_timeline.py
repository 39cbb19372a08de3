"""Training runs: the timeline of their snapshots, reading and exporting them, and the time machine in a browser."""

import json
import math
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from support.errors import raises_error
from support.texts import text
from support.tiny_model import TEXTS
from support.view_facts import decode

import bertlab
from bertlab import cli
from bertlab.abilities.timeline.compute import MAX_PROBS, check_fits, timeline
from bertlab.checkpoints import checkpoint, history
from bertlab.config.config import ModelConfig
from bertlab.config.errors import BertlabError, DataError, TextError
from bertlab.nn.fast.model import FastBert
from bertlab.text.tokenizers.wordpiece import Tokenizer
from bertlab.training.export_run import ExportRunConfig, export_run
from bertlab.views import html, payload
from bertlab.views.widget import TimelineWidget

TEXT, PAIR = "The keeper carried the [MASK] and some [MASK].", "Rain fell all night."


@pytest.fixture
def run(runs, tmp_path):
    """A copy of the run that a test may damage."""
    return shutil.copytree(runs / "learner", tmp_path / "learner")


# -- timelines ---------------------------------------------------------------------------------------------------


def test_each_moment_has_the_results_of_its_snapshot_alone(runs):
    progress = []
    seen = timeline(runs / "learner", TEXT, PAIR, on_progress=lambda *so_far: progress.append(so_far))
    assert progress == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert [snapshot.step for snapshot in seen.snapshots] == [0, 10, 30, 40]
    assert [snapshot.tokens for snapshot in seen.snapshots] == [0, 1000, 3000, 4000]
    for at, snapshot in enumerate(seen.snapshots):
        session = bertlab.load(snapshot.path)
        assert session.encode(TEXT, PAIR) == seen.tokens
        np.testing.assert_allclose(seen.probs[at], session.attention(TEXT, PAIR).probs_LNTT, atol=1e-3)
        assert seen.follows[at] == pytest.approx(session.next_sentence(TEXT, PAIR).probability, abs=1e-5)
        for track, fill in zip(seen.tracks, session.fill_mask(TEXT, 6, PAIR), strict=True):
            assert track.position == fill.position
            shares = dict(zip(track.words, track.probs_SW[at], strict=True))
            best = sorted(shares.values(), reverse=True)[:6]
            assert best == pytest.approx([c.probability for c in fill.candidates], abs=1e-3)
            for candidate in fill.candidates:
                assert shares[candidate.token] == pytest.approx(candidate.probability, abs=1e-3)
    assert len({probs.tobytes() for probs in seen.probs}) == 4, "the snapshots differ"


def test_a_text_without_mask_and_pair_has_only_attention(runs):
    seen = timeline(runs / "learner", "Green tea.")
    assert seen.tracks == ()
    assert seen.follows is None
    assert seen.probs[0].shape[2] == len(seen.tokens)


def test_snapshots_of_another_vocabulary_are_refused_in_one_line(run, tiny_model):
    other = Tokenizer.train(TEXTS, 300, cased=False, strip_accents=False, coverage=1.0)
    model = FastBert(tiny_model.config.replace(vocab_size=other.vocab_size), ("mlm", "nsp"))
    checkpoint.save(run / "snapshots" / "step-00000030", model, other, {"steps": 30}, dtype=torch.float32)
    with raises_error(DataError, "snapshots-vocabularies-differ", first="step-00000000", second="step-00000030"):
        timeline(run, TEXT)


def test_snapshots_of_another_size_are_refused_in_one_line(run, tiny_model, tiny_tokenizer):
    model = FastBert(tiny_model.config.replace(num_layers=1), ("mlm", "nsp"))
    checkpoint.save(run / "snapshots" / "step-00000030", model, tiny_tokenizer, {"steps": 30}, dtype=torch.float32)
    with raises_error(DataError, "snapshots-sizes-differ", first_size="2 x 2", second_size="1 x 2"):
        timeline(run, TEXT)


@pytest.mark.parametrize("text", ["", "tea " * 80])
def test_a_text_that_cannot_be_read_is_refused(runs, text):
    with pytest.raises(TextError, match=r"^[^\n]+$"):
        timeline(runs / "learner", text)


def test_more_attention_than_can_move_smoothly_is_refused():
    config = ModelConfig()
    most = int((MAX_PROBS / 10 / 144) ** 0.5)
    check_fits(config, most, 10)
    with raises_error(TextError, "timeline-text-too-long", limit=most):
        check_fits(config, most + 1, 10)


def test_the_payload_carries_every_moment(runs):
    run = runs / "learner"
    seen = timeline(run, TEXT, PAIR)
    rows = [*history.read_log(run), {"step": 41, "loss": math.nan}]
    header, blocks = payload.unpack(payload.timeline_bytes(seen, log=rows, options={"lang": "ko"}))
    assert header["options"] == {"lang": "ko"}
    assert [moment["step"] for moment in header["moments"]] == [0, 10, 30, 40]
    assert header["moments"][1]["validation"]["masked_accuracy"] == 0.1
    assert header["curve"]["step"] == list(range(1, 42))
    assert header["curve"]["loss"][-1] is None
    for probs_LNTT, block in zip(seen.probs, blocks, strict=True):
        decoded = decode(block, {"bytes": 1, "power": 0.5}).reshape(probs_LNTT.shape)
        expected = probs_LNTT.astype(np.float32)
        assert np.all(np.abs(decoded - expected) <= np.sqrt(expected) / 255 + 1e-5)


def test_a_widget_holds_the_moments_and_its_state(runs):
    seen = timeline(runs / "learner", TEXT)
    widget = TimelineWidget(seen, log=history.read_log(runs / "learner"), state={"at": 10}, lang="ko")
    assert widget.state == {"at": 10}
    header, blocks = payload.unpack(widget.payload)
    assert len(header["moments"]) == len(blocks) == 4
    assert header["options"] == {"lang": "ko"}


# -- reading a run -------------------------------------------------------------------------------------------------


def test_the_valid_rows_of_a_damaged_log_are_read(run):
    with (run / "log.jsonl").open("ab") as file:
        file.write(b'{"step": 41, "loss": 4.0}\n\xff\xfe garbage\n[1, 2]\n{"loss": 1}\n{"step": 42, "lo')
    rows = history.read_log(run)
    assert len(rows) == 44
    assert rows[-1] == {"step": 41, "loss": 4.0}


def test_a_run_without_log_or_snapshots(tmp_path):
    assert history.read_log(tmp_path) == []
    assert not history.is_run(tmp_path)
    assert history.find_runs(tmp_path / "nowhere") == {}
    assert history.find_runs("\0") == {}
    with raises_error(DataError, "run-no-snapshots"):
        history.find_snapshots(tmp_path)


def test_runs_are_found_in_a_directory_and_the_run_itself(runs, shipped_runs):
    assert history.find_runs(runs) == {"learner": runs / "learner"}
    assert history.find_runs(runs / "learner") == {"learner": runs / "learner"}
    assert history.find_shipped_runs() == {"learner": runs / "learner"}


def test_the_status_of_a_run(run):
    rows = history.read_log(run)
    assert history.find_run_status(run, rows) == history.RunStatus("finished", 40, pytest.approx(0, abs=3600))
    shutil.rmtree(run / "checkpoint")
    now = (run / "log.jsonl").stat().st_mtime
    assert history.find_run_status(run, rows, now + 5) == history.RunStatus("running", 40, pytest.approx(5))
    assert history.find_run_status(run, rows, now + history.STALL_SECONDS + 1).state == "stopped"
    assert history.find_run_status(run, [*rows, {"step": 41, "loss": math.nan}]).state == "diverged"
    assert history.find_run_status(run, [*rows, {"step": 41, "diverged": "the loss rose"}]).state == "diverged"
    risen = [{"step": 40 + step, "loss": 9.0} for step in range(1, 30)]
    assert history.find_run_status(run, [*rows, *risen], now).state == "running", "it may come down again"
    assert history.find_run_status(run, [*rows, *risen], now + history.STALL_SECONDS + 1).state == "diverged"


def test_a_thinned_log_keeps_validation_rows_the_last_step_and_mean_losses():
    steps = [{"step": step, "tokens": 10 * step, "loss": 1 / step, "learning_rate": step} for step in range(1, 10_001)]
    validation_rows = [{"step": step, "tokens": 10 * step, "validation": {"mlm_loss": 1.0}} for step in (100, 5000)]
    kept_rows = history.thin_log([*steps, *validation_rows], 400)
    thinned = [row for row in kept_rows if history.is_step(row)]
    assert 250 <= len(thinned) <= 400
    assert [row for row in kept_rows if not history.is_step(row)] == validation_rows
    assert [row["step"] for row in kept_rows] == sorted(row["step"] for row in kept_rows)
    assert [row["step"] for row in thinned[:10]] == list(range(1, 11)), "dense early"
    assert thinned[-1]["step"] == 10_000
    assert thinned[-1]["tokens"] == 100_000
    start = thinned[-2]["step"]
    mean = sum(1 / step for step in range(start + 1, 10_001)) / (10_000 - start)
    assert thinned[-1]["loss"] == pytest.approx(mean, abs=1e-6)
    assert thinned[-1]["learning_rate"] == 10_000, "the learning rate is that of the last step, not a mean"


# -- exporting a run ---------------------------------------------------------------------------------------------


def test_export_run_ships_what_the_time_machine_needs(runs, tmp_path, capsys):
    out = tmp_path / "assets" / "learner"
    assert cli.main(["export-run", str(runs / "learner"), "--out", str(out), "--rows", "10"]) == 0
    assert "snapshots at steps 0, 10, 30, 40" in capsys.readouterr().out
    assert not (out / "checkpoint").exists()
    assert not (out / "state.safetensors").exists()
    text = (out / "run.json").read_text()
    assert "/data" not in text, "the export does not reveal directories of this machine"
    assert json.loads(text)["corpus"] == "tea"
    rows = history.read_log(out)
    assert len([row for row in rows if history.is_step(row)]) <= 10
    assert len([row for row in rows if "validation" in row]) == 3
    assert history.find_run_status(out, rows).state == "finished"
    ours, theirs = (timeline(place, TEXT, PAIR) for place in (out, runs / "learner"))
    assert all(np.array_equal(a, b) for a, b in zip(ours.probs, theirs.probs, strict=True))


def test_export_run_thins_snapshots_over_the_logarithm_of_the_step(runs, tmp_path):
    assert cli.main(["export-run", str(runs / "learner"), "--out", str(tmp_path / "few"), "--snapshots", "3"]) == 0
    assert [snapshot.step for snapshot in history.find_snapshots(tmp_path / "few")] == [0, 10, 40]


@pytest.mark.parametrize(
    ("source", "settings", "id"),
    [
        ("nowhere", {}, "run-directory-invalid"),
        ("learner", {"rows": 1}, "export-rows-too-few"),
        ("learner", {"snapshots": 1}, "export-rows-too-few"),
        ("learner", {"out": Path()}, "export-target-exists"),
    ],
)
def test_export_run_refuses_in_one_line(runs, tmp_path, source, settings, id):
    with raises_error(BertlabError, id):
        export_run(ExportRunConfig(**{"source": runs / source, "out": tmp_path / "out"} | settings))
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["log.jsonl", "run.json", "snapshots/step-00000010/README.md", "checkpoint/vocab.txt"])
def test_export_run_does_not_follow_links_out_of_the_run(runs, tmp_path, name):
    """A link in a run from elsewhere must not copy a file of this machine into the export."""
    received, secret = tmp_path / "received", tmp_path / "secret"
    shutil.copytree(runs / "learner", received)
    secret.write_text('{"step": 1, "password": "tea"}')
    (received / name).unlink(missing_ok=True)
    (received / name).symlink_to(secret)
    with raises_error(DataError, "run-file-outside", path=received / name):
        export_run(ExportRunConfig(source=received, out=tmp_path / "out"))
    assert not (tmp_path / "out").exists()


def test_export_run_does_not_follow_a_snapshot_that_is_a_link(runs, tmp_path):
    received, elsewhere = tmp_path / "received", tmp_path / "elsewhere"
    shutil.copytree(runs / "learner", received)
    (received / "snapshots" / "step-00000010").rename(elsewhere)
    (received / "snapshots" / "step-00000010").symlink_to(elsewhere)
    with raises_error(DataError, "run-file-outside"):
        export_run(ExportRunConfig(source=received, out=tmp_path / "out"))
    shutil.move(elsewhere, received / "moved")
    (received / "snapshots" / "step-00000010").unlink()
    (received / "snapshots" / "step-00000010").symlink_to("../moved")
    assert export_run(ExportRunConfig(source=received, out=tmp_path / "out")), "a link inside the run is harmless"


def test_damaged_logs_and_records_are_skipped(runs, tmp_path):
    """A damaged first line, an integer of 5,000 digits or deep nesting loses only its own row."""
    run = tmp_path / "run"
    shutil.copytree(runs / "learner", run)
    rows = history.read_log(run)
    damaged = ["\x00{half a li", '{"step": 1' + "0" * 5000 + "}", '{"step": 1' + "0" * 400 + ', "loss": 1.0}',
               "[" * 1_000_000, '"text"', '{"step": true, "loss": 1}']  # fmt: skip
    log = run / "log.jsonl"
    log.write_text("\n".join(damaged) + "\n" + log.read_text(encoding="utf-8"), encoding="utf-8")
    assert history.read_log(run) == rows
    record = run / "snapshots" / "step-00000010" / "bertlab.json"
    record.write_text('{"steps": 1' + "0" * 400 + ', "tokens": 1e999, "validation": {"mlm_loss": 1' + "0" * 400 + "}}")
    snapshot = history.find_snapshots(run)[1]
    assert (snapshot.step, snapshot.tokens, snapshot.validation) == (10, 0, {})
    assert history.find_run_status(run, rows).state == "finished"


def test_an_export_that_fails_leaves_no_files(runs, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(shutil, "copyfile", full)
    assert cli.main(["export-run", str(runs / "learner"), "--out", str(tmp_path / "out")]) == 2
    assert list(tmp_path.iterdir()) == []


def test_the_error_for_a_directory_without_run_is_one_line(tmp_path):
    with pytest.raises(BertlabError, match=r"^[^\n]+$"):
        timeline(tmp_path, TEXT)


# -- in a browser --------------------------------------------------------------------------------------------------


@pytest.mark.browser
def test_the_slider_the_keys_and_play_move_everything_together(runs, chromium, tmp_path):
    playwright = pytest.importorskip("playwright.sync_api")
    run = runs / "learner"
    seen = timeline(run, TEXT.replace("keeper", "</script>"), PAIR)
    file = tmp_path / "machine.html"
    file.write_text(html.timeline_html(seen, log=history.read_log(run)), encoding="utf-8")
    best = [track.words[int(np.argmax(track.probs_SW[0]))] for track in seen.tracks]
    page_errors = []
    page = chromium.new_page(viewport={"width": 1280, "height": 1000})
    page.set_default_timeout(30_000)
    page.on("pageerror", lambda error: page_errors.append(str(error)))
    page.goto(file.as_uri())
    expect = playwright.expect
    expect.set_options(timeout=30_000)
    name, slider = page.locator(".bl-moment-name"), page.locator("input[type=range]")
    expect(name).to_contain_text("step 0 ")
    page.evaluate("() => bertlab.listen((state) => { document.body.dataset.heard = JSON.stringify(state); })")
    slider.focus()
    page.keyboard.press("End")
    expect(name).to_contain_text("step 40")
    page.keyboard.press("Home")
    expect(name).to_contain_text("step 0 ")
    words = page.locator(".bl-words")
    for number, word in enumerate(best):
        expect(words.nth(number).locator("bdi").first).to_have_text(word)
    expect(words.nth(2).locator(".bl-share")).to_have_text(f"{seen.follows[0] * 100:.1f}%")
    page.keyboard.press("ArrowRight")
    expect(name).to_contain_text("step 10")
    expect(page.locator(".bl-figures")).to_contain_text("10.0%")
    page.locator(".bl-moment-grid canvas").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    heard = page.locator("body")
    expect(heard).to_have_attribute("data-heard", '{"at":10,"against":null,"layer":1,"head":1}')
    page.get_by_role("button", name=text("canvas-side-by-side")).click()
    expect(page.locator(".bl-moment")).to_have_count(2)
    expect(page.locator(".bl-moment").first.locator("select")).to_have_value("0")
    canvas = page.locator(".bl-moment").last.locator(".bl-moment-head canvas")
    box = canvas.bounding_box()
    canvas.hover(position={"x": box["width"] - 30, "y": box["height"] - 30})
    expect(page.locator("[role=status]")).to_contain_text("step 0: 0.")
    page.mouse.move(2, 2)
    canvas.focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowDown"):
        page.keyboard.press(key)
    first, second = seen.tokens[0].token, seen.tokens[1].token
    expect(page.locator("[role=status]")).to_contain_text(f"{second} → {second} · step 0:")
    page.keyboard.press("ArrowUp")
    expect(page.locator("[role=status]")).to_contain_text(f"{first} → {second} · step 0:")
    page.keyboard.press("Escape")
    expect(page.locator("[role=status]")).to_contain_text(text("canvas-time-hint"))
    slider.focus()
    page.keyboard.press("Space")
    expect(name).to_contain_text("step 40")
    expect(page.locator(".bl-play")).to_contain_text("Play")
    expect(heard).to_have_attribute("data-heard", '{"at":40,"against":0,"layer":1,"head":1}')
    assert not page_errors


@pytest.mark.skipif(not history.find_shipped_runs(), reason="no shipped runs")
def test_shipped_runs_have_snapshots_with_validation_metrics():
    for path in history.find_shipped_runs().values():
        moments = history.find_snapshots(path)
        assert len(moments) >= 5, path
        assert moments[0].step == 0
        for moment in moments:
            assert {"masked_accuracy", "nsp_accuracy"} <= moment.validation.keys(), moment
        assert bertlab.load(moments[-1].path).fill_mask("He went to the [MASK].")
