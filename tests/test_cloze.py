"""Cloze sentences: predictions printed and logged during training, on the model card, and in TensorBoard."""

import itertools
import json
import sys
from dataclasses import replace

import pytest
import torch
from support.errors import raises_error
from support.stories import settings

from bertlab.checkpoints import checkpoint
from bertlab.config.errors import BertlabError, TextError
from bertlab.config.languages import read_data
from bertlab.text.tokenizers.wordpiece import Tokenizer
from bertlab.training.evaluate import EvaluateConfig
from bertlab.training.evaluate import run as run_evaluate
from bertlab.training.model_card import render_card
from bertlab.training.pretraining import cloze
from bertlab.training.pretraining.pretrain import pretrain
from bertlab.training.pretraining.pretrain import run as run_pretrain


def test_there_are_ten_sentences_in_each_language_with_one_mask():
    for rows in map(cloze.read_clozes, ("en", "ko")):
        assert len(rows) == len({row.text for row in rows}) == 10
        assert all(row.text.count("[MASK]") == 1 and row.fits and row.kind for row in rows)
    assert {row.kind for row in cloze.read_clozes("en")} == {row.kind for row in cloze.read_clozes("ko")}


@pytest.mark.parametrize("language", ["en", "ko"])
def test_the_everyday_sentences_of_both_parts_differ_and_have_one_mask(language):
    parts = read_data("everyday", language)
    texts = [[text for rows in parts[part].values() for text, *_ in rows] for part in ("validation", "test")]
    assert [len(part) for part in texts] == [60, 60]
    assert len({*texts[0], *texts[1]}) == 120
    assert all(text.count("[MASK]") == 1 for part in texts for text in part)
    assert all(fits for part in parts.values() for rows in part.values() for _, *fits in rows)


def test_everyday_sentences_are_scored_by_the_rank_of_a_word_that_fits(monkeypatch, tiny_model, tiny_tokenizer):
    def predict(model, tokenizer, texts, top):
        tokens = {"a [MASK].": ["Cat", "dog"], "b [MASK].": ["x", "##cat", "y", "z", "dog"], "c [MASK].": ["##cat"]}
        return [{"text": text, "guesses": [[[token, 0.1] for token in tokens[text]]]} for text in texts]

    rows = {"one": [["a [MASK].", "cat"], ["b [MASK].", "dog", "cat"]], "two": [["c [MASK].", "cat"]]}
    monkeypatch.setattr(cloze, "predict_masks", predict)
    monkeypatch.setattr(cloze, "read_data", lambda name, language: {"test": rows})
    assert cloze.measure_everyday(tiny_model, tiny_tokenizer, "test") == {
        "everyday_first": pytest.approx(100 / 3), "everyday_among_five": pytest.approx(200 / 3), "sentences": 3,
        "among_five_one": 100.0, "among_five_two": 0.0,
    }  # fmt: skip


def test_the_everyday_result_is_recorded_in_the_card(corpus, tmp_path, capsys):
    list(pretrain(settings(corpus, tmp_path / "run", steps=1)))
    saved = tmp_path / "run" / "checkpoint"
    run_evaluate(EvaluateConfig(task="everyday", checkpoint=str(saved), split="test", record=True, json=True))
    metrics = json.loads(capsys.readouterr().out.splitlines()[-1])
    record = checkpoint.load(saved).record
    assert record["everyday"] == metrics
    assert metrics["sentences"] == 60
    assert f"| {metrics['everyday_among_five']:.1f} % |" in (saved / "README.md").read_text()
    with raises_error(BertlabError, "evaluate-everyday-needs-checkpoint"):
        run_evaluate(EvaluateConfig(task="everyday", checkpoint=str(saved), split="dev"))


def test_the_vocabulary_decides_the_language():
    korean = Tokenizer.train(["짧은 우리말 글 하나를 여기에 적어 둔다."] * 3, 100, cased=True)
    assert korean.language == "ko"
    assert set(cloze.select_default_sentences(korean)) <= {row.text for row in cloze.read_clozes("ko")}
    english = Tokenizer.train(["A plain text in English, of no great length."] * 3, 100)
    assert english.language == "en"
    sentences = cloze.select_default_sentences(english)
    assert len(sentences) == len({row.kind for row in cloze.read_clozes("en")})
    assert set(sentences) <= {row.text for row in cloze.read_clozes("en")}


def test_predictions_are_those_of_the_model(tiny_model, tiny_tokenizer):
    texts = ("The [MASK] bowl.", "A much longer text about [MASK] tea and [MASK].")
    rows = cloze.predict_masks(tiny_model, tiny_tokenizer, texts)
    assert [len(row["guesses"]) for row in rows] == [1, 2]
    for text, row in zip(texts, rows, strict=True):
        encoding = tiny_tokenizer.encode(text)
        ids_BT = torch.tensor([encoding.ids])
        from bertlab.text.batch import Batch

        hidden_TH = tiny_model(Batch(ids_BT, torch.tensor([encoding.token_type_ids]), None)).hidden_BTH[0]
        masks = [i for i, id in enumerate(encoding.ids) if id == tiny_tokenizer.mask_id]
        probs_MV = tiny_model.mlm(hidden_TH[masks]).softmax(-1)
        for guesses, probs_V in zip(row["guesses"], probs_MV, strict=True):
            best = probs_V.topk(3)
            assert [token for token, _ in guesses] == tiny_tokenizer.tokens(best.indices.tolist())
            assert [p for _, p in guesses] == pytest.approx(best.values.tolist(), abs=1e-3)


def test_predictions_are_printed_and_logged_and_do_not_change_the_losses(corpus, tmp_path):
    lines: list[str] = []
    config = settings(corpus, tmp_path / "run", steps=12, dropout=0.1)
    losses = [report.loss for report in pretrain(config, lines.append)]
    without = replace(config, out=tmp_path / "without", sample_predictions=False)
    assert losses == [report.loss for report in pretrain(without, lines.append)]
    assert [line.splitlines()[0] for line in lines] == ["step 0", "step 10", "step 12"]
    rows = [json.loads(line) for line in (tmp_path / "run" / "log.jsonl").read_text().splitlines()]
    logged = [row for row in rows if "samples" in row]
    assert [row["step"] for row in logged] == [0, 10, 12]
    assert cloze.format_predictions(logged[1]["samples"], 10) == lines[1]
    saved = checkpoint.load(tmp_path / "run" / "checkpoint")
    sentences = [row["text"] for row in logged[2]["samples"]]
    predicted = cloze.predict_masks(saved.model, saved.tokenizer, sentences)
    # the last predictions are those of the checkpoint, except that it is saved in half precision
    for logged_row, row in zip(logged[2]["samples"], predicted, strict=True):
        for (_, logged_probability), (_, probability) in zip(logged_row["guesses"][0], row["guesses"][0], strict=True):
            assert logged_probability == pytest.approx(probability, rel=0.02, abs=1e-3)
    assert [row["text"] for row in logged[1]["samples"]] == list(
        cloze.select_default_sentences(Tokenizer.load(corpus / "tokenizer"))
    )


def test_predictions_for_given_sentences_are_printed_above_the_progress_bar(corpus, tmp_path, capsys):
    run_pretrain(settings(corpus, tmp_path / "run", steps=2, sentences=("In the [MASK] our [MASK] sold it.",)))
    printed = capsys.readouterr().out
    assert "In the [MASK] our [MASK] sold it." in printed
    assert printed.index("step 0") < printed.index("2 steps")


@pytest.mark.parametrize(("text", "id"), [("No gap.", "sentence-without-mask"), ("[MASK] " * 600, "sentence-too-long")])
def test_an_unusable_sentence_is_refused(corpus, tmp_path, text, id):
    with raises_error(TextError, id):
        list(pretrain(settings(corpus, tmp_path / "run", sentences=(text,))))
    assert not (tmp_path / "run").exists()


# -- cards


def test_a_card_shows_ten_predictions(corpus, tmp_path):
    list(pretrain(settings(corpus, tmp_path / "run", steps=1)))
    saved = tmp_path / "run" / "checkpoint"
    record = checkpoint.load(saved).record
    assert len(record["cloze"]) == 10
    text = (saved / "README.md").read_text()
    assert text == render_card("run", record)
    for row in record["cloze"]:
        assert row["right"] == (row["guesses"][0][0][0].lower() in row["fits"])
        assert row["text"] in text
        assert f"{100 * row['guesses'][0][0][1]:.1f} %" in text


def test_right_and_wrong_predictions_are_counted_by_kind():
    row = {"text": "A [MASK] | b.", "guesses": [[["x", 0.25], ["|", 0.125]]], "fits": ["x", "y"]}
    rows = [row | {"kind": "places", "right": True}] * 2
    rows += [row | {"kind": "grammar", "right": right} for right in (True, False)]
    record = {
        "made_by": "a test", "command": "none", "from": "nothing", "data": ["x"], "objectives": ["y"], "steps": 1,
        "tokens": 2, "training_minutes": 3, "hardware": "none", "precision": "float32", "seed": 0, "finished": "now",
        "validation": {}, "settings": {}, "cloze": rows,
    }  # fmt: skip
    text = render_card("name", record)
    assert "All correct: places (2 of 2).\n" in text
    assert "With errors: grammar (1 of 2).\n" in text
    assert "| correct | A [MASK] \\| b. | `x` 25.0 %, `\\|` 12.5 % | x or y |" in text


def test_evaluate_adds_predictions_to_an_older_checkpoint(corpus, tmp_path, capsys):
    list(pretrain(settings(corpus, tmp_path / "run", steps=1)))
    saved = tmp_path / "run" / "checkpoint"
    record = checkpoint.load(saved).record
    del record["cloze"]
    checkpoint.write_record(saved, record, render_card("run", record))
    config = EvaluateConfig(
        task="pretraining", data=str(corpus), checkpoint=str(saved), limit=64, max_tokens=32, record=True
    )
    run_evaluate(config)
    assert len(checkpoint.load(saved).record["cloze"]) == 10
    assert "## Masked-word examples" in (saved / "README.md").read_text()


# -- snapshots


@pytest.mark.parametrize(("dtype", "share"), [("float8", 0.62), ("float16", 1.0)])
def test_snapshots_have_the_requested_dtype_and_metrics(corpus, tmp_path, dtype, share):
    config = settings(corpus, tmp_path / "run", steps=10, snapshots=True, snapshot_dtype=dtype, validation=corpus)
    list(pretrain(config))
    checkpoint_size = (tmp_path / "run" / "checkpoint" / "model.safetensors").stat().st_size
    for step in (0, 10):
        snapshot = tmp_path / "run" / "snapshots" / f"step-{step:08d}"
        assert checkpoint.load(snapshot).record["validation"]["masked_accuracy"] >= 0
        assert (snapshot / "model.safetensors").stat().st_size <= share * checkpoint_size + 1000


# -- TensorBoard


def test_a_missing_tensorboard_package_is_a_one_line_error(corpus, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with raises_error(BertlabError, "tensorboard-not-installed"):
        list(pretrain(settings(corpus, tmp_path / "run", steps=1, tensorboard=True)))


def test_every_row_of_the_log_is_in_the_event_files(corpus, tmp_path):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    list(pretrain(settings(corpus, tmp_path / "run", steps=10, validation=corpus, snapshots=True, tensorboard=True)))
    events = EventAccumulator(str(tmp_path / "run" / "tensorboard"))
    events.Reload()
    rows = [json.loads(line) for line in (tmp_path / "run" / "log.jsonl").read_text().splitlines()]
    for name in ("loss", "mlm_accuracy"):
        values = {event.step: event.value for event in events.Scalars(f"training/{name}")}
        assert values == pytest.approx({row["step"]: row[name] for row in rows if name in row}, rel=1e-5)
    assert 10 in {event.step for event in events.Scalars("validation/masked_accuracy")}
    assert events.Tensors("samples/text_summary")[0].step == 0


def test_a_resumed_run_replaces_the_events_of_repeated_steps(corpus, tmp_path):
    """A run killed before its first save replaces all events; one killed later, the events after its last save."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    config = settings(corpus, tmp_path / "run", steps=9, validation=corpus, tensorboard=True, save_minutes=5.0)
    list(itertools.islice(pretrain(config), 5))
    config = replace(config, save_minutes=0.0)
    list(itertools.islice(pretrain(config), 5))
    list(pretrain(config))
    events = EventAccumulator(str(tmp_path / "run" / "tensorboard"))
    events.Reload()
    assert [event.step for event in events.Scalars("training/loss")] == list(range(1, 10))
    assert [event.step for event in events.Scalars("validation/masked_accuracy")] == [0, 9]
