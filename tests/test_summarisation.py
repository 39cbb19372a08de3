"""Learned summaries: rows, windows, the loss, metrics, training, and the checkpoint in the command and on the page."""

import json
import random
from itertools import pairwise

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from support.errors import raises_error
from support.figures import read_charts
from support.pages import bodies, errors, open_example_page
from support.task_rows import jsonl

import bertlab
from bertlab.cli import main
from bertlab.config.errors import DataError
from bertlab.tasks.evaluation import analyse
from bertlab.tasks.features import NO_TAG
from bertlab.tasks.registry import TASK_TYPES
from bertlab.tasks.summary_rows import (
    choose_by_reference,
    choose_by_scores,
    find_windows,
    read_chosen_sentences,
    read_sentences,
)
from bertlab.tasks.training_data import make_finetuning_model
from bertlab.text.readers.invalid_rows import InvalidRows
from bertlab.text.readers.rows import Rows

TASK = TASK_TYPES["summarisation"]
SENTENCES = ["Rain fell on the roof.", "The keeper carried a lantern.", "Tea was cold.", "비가 왔다."]
OTHERS = ("the boats stayed", "she asked for tea", "rain fell on the roof", "차를 마셨다", "the potter set the bowl")


def read(rows, **options):
    data = Rows("mine.jsonl", tuple(dict.fromkeys(name for row in rows for name in row)), rows)
    return TASK.read(data, TASK.make_default_spec(), **options)


def make_rows(count: int, seed: int) -> list[dict]:
    """Documents of three to five sentences; those with a lantern are chosen."""
    rng, rows = random.Random(seed), []
    for number in range(count):
        is_chosen = [rng.random() < 0.5 for _ in range(rng.randint(3, 5))]
        sentences = [f"{'the lantern' if each else rng.choice(OTHERS)} {number}." for each in is_chosen]
        rows.append({"sentences": sentences, "chosen": [i for i, each in enumerate(is_chosen) if each]})
    return rows


# -- rows ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "cell",
    [
        [1, 3], [3, 1.0, 1], "1 3", "[1, 3]", "1,3", ["비가 왔다.", "The  keeper carried\na lantern."],
        "The keeper carried a lantern. 비가 왔다.", '["비가 왔다.", 1]',
    ],
)  # fmt: skip
def test_chosen_sentences_are_numbers_or_texts(cell):
    assert read_chosen_sentences(cell, SENTENCES) == (0, 1, 0, 1)


def test_cells_that_cannot_be_used_are_named():
    assert read_chosen_sentences([], SENTENCES) == (0, 0, 0, 0)
    assert read_chosen_sentences(2, SENTENCES) == (0, 0, 1, 0)
    for cell in (4, [-1], [True], [float("nan")], [None]):
        with raises_error(DataError, "chosen-sentence-unknown", last=3):
            read_chosen_sentences(cell, SENTENCES)
    for cell in ("Rain", ["Tea was cold. It rained."], "[Rain"):
        with raises_error(DataError, "chosen-sentence-not-found"):
            read_chosen_sentences(cell, SENTENCES)
    assert read_sentences("Tea.\n***\n비가 왔다.", "a") == ("Tea.", "비가 왔다.")
    for cell, error in ((None, "cell-missing"), (["a", 1], "cell-not-list-of-texts"), ("...", "row-empty")):
        with raises_error(DataError, error):
            read_sentences(cell, "a")


def test_rows_name_a_document_or_its_sentences():
    assert [row.texts for row in read([{"document": " ".join(SENTENCES), "chosen": [0]}])] == [tuple(SENTENCES)]
    examples = read([{"sentences": ["", "*"], "chosen": 1}, {"sentences": ["a", "b"], "chosen": [0, 1]}], training=True)
    assert [row.target for row in examples] == [(0, 1), (1, 1)]
    assert examples.spec.metrics == TASK.metrics
    invalid = InvalidRows("skip", max_printed=0)
    examples = read([{"text": "Tea.", "chosen": [0]}, {"text": "Tea.", "chosen": [1]}], invalid_rows=invalid)
    assert (len(examples), len(invalid)) == (1, 1)
    with raises_error(DataError, "one-label-only"):
        read([{"text": "Tea.", "chosen": [0]}], training=True)
    with raises_error(DataError, "rows-label-not-found"):
        read([{"text": "Tea."}], training=True)


def test_references_replace_chosen_sentences():
    reference = "The keeper carried the lantern, and tea was cold."
    rows = [{"article": " ".join(SENTENCES), "highlights": reference}, {"article": "Tea.", "highlights": ""}]
    examples = read(rows, training=True)
    assert [row.chosen for row in examples] == [(1, 2), ()]
    assert examples.spec.label == ("chosen",)
    assert "first_rougeL" in examples.spec.metrics
    assert choose_by_reference(SENTENCES, "비가 왔다") == [3]
    assert choose_by_reference(SENTENCES, "?") == []
    rows[0]["chosen"], rows[1]["chosen"] = [0], []
    assert [row.chosen for row in read(rows, training=True)] == [(0,), ()]


# -- inputs --------------------------------------------------------------------------------------------------------


def test_windows_overlap_and_contain_every_sentence():
    rng = random.Random(0)
    for _ in range(200):
        lengths = [rng.randint(1, 20) for _ in range(rng.randint(1, 30))]
        windows = find_windows(lengths, 20)
        assert all(0 < sum(lengths[first:last]) <= 20 for first, last in windows)
        assert windows[0][0] == 0
        assert windows[-1][1] == len(lengths)
        for (first, last), (next_first, next_last) in pairwise(windows):
            assert first < next_first <= last < next_last


def test_inputs_have_a_cls_per_sentence_and_alternating_segments(tiny_tokenizer):
    cls, sep = tiny_tokenizer.cls_id, tiny_tokenizer.sep_id
    row = {"sentences": ["[CLS] tea", *SENTENCES[:2]], "chosen": [0]}
    features = TASK.encode(tiny_tokenizer, read([row]), 64)
    parts = [[cls, *ids, sep] for ids in tiny_tokenizer.encode_plain(row["sentences"])]
    assert features[0].ids.tolist() == [id for part in parts for id in part]
    assert features[0].token_type_ids.tolist() == [i % 2 for i, part in enumerate(parts) for _ in part]
    batch = features.make_batch(np.array([0]))
    assert batch.labels_B[0][batch.labels_B[0] != NO_TAG].tolist() == [1, 0, 0]
    assert (batch.inputs.input_ids_BT[0][batch.labels_B[0] != NO_TAG] == cls).all()
    # in short windows, sentences are cut off, and a window begins with segment 0
    features = TASK.encode(tiny_tokenizer, read([row]), 6)
    assert features.truncated == ((0, 0), (0, 1), (0, 2))
    assert [len(features[i]) for i in range(3)] == [6, 6, 6]
    assert not features[1].token_type_ids.any()


def test_a_sentence_in_two_windows_has_the_score_with_more_context(tiny_tokenizer):
    row = {"sentences": ["tea"] * 5, "chosen": [0]}
    size = 3 * (len(tiny_tokenizer.encode_plain(["tea"])[0]) + 2)
    features = TASK.encode(tiny_tokenizer, read([row]), size)
    assert len(features) == 3  # sentences 0-2, 1-3, 2-4
    scores = [np.full(size, float(window)) for window in range(3)]
    assert TASK.decode(features, scores)[0].tolist() == [0, 0, 1, 2, 2]


# -- loss and metrics ----------------------------------------------------------------------------------------------


def test_the_loss_is_the_cross_entropy_of_every_sentence(tiny_model, tiny_tokenizer):
    model = make_finetuning_model(tiny_model, "summarise", 0.0).eval()
    features = TASK.encode(tiny_tokenizer, read(make_rows(3, seed=0)), 64)
    batch = features.make_batch(np.arange(3))
    loss = TASK.loss(model, batch)
    head, values = model.head("summarise"), []
    for i in range(3):
        single = features.make_batch(np.array([i]))
        hidden = model(single.inputs).hidden_BTH[0].detach()
        logits = [(hidden[p] @ head.weight[0] + head.bias).item() for p in np.flatnonzero(features.unit_I[i] >= 0)]
        values.append(F.binary_cross_entropy_with_logits(
            torch.tensor(logits), torch.tensor(features.examples[i].target, dtype=torch.float32), reduction="none"
        ))  # fmt: skip
    torch.testing.assert_close(loss.value.detach(), torch.cat(values).mean(), rtol=1e-4, atol=1e-5)
    assert TASK.loss.count_items(batch)["sentence"] == sum(len(row.texts) for row in features.examples)


def test_metrics_equal_values_computed_by_hand():
    examples = read([
        {"id": "a", "sentences": SENTENCES, "chosen": [1, 3], "summary": "비가 왔다"},
        {"id": "b", "sentences": SENTENCES, "chosen": [], "summary": ""},
        {"id": "c", "sentences": SENTENCES[:1], "chosen": [0], "summary": ""},
    ])  # fmt: skip
    scores = [np.array([0.1, 0.2, 0.3, 0.9]), np.zeros(4), np.zeros(1)]
    metrics = TASK.score(examples, scores)
    assert metrics["r_precision"] == pytest.approx(100 * (1 / 2 + 1) / 2)
    assert metrics["first_r_precision"] == pytest.approx(100 * (1 / 2 + 1) / 2)
    # 2 of 2 words of the reference; the summary has 2 + 3 + 5 words, and the first three sentences none of them
    assert metrics["rouge1"] == pytest.approx(100 * 4 / 12)
    assert metrics["first_rouge1"] == 0
    with raises_error(DataError, "summary-scores-count-differs", id="0", scores=3, count=4):
        TASK.score(examples, [scores[0][:3], *scores[1:]])


def test_repetitions_are_left_out():
    texts = ["Rain fell on us.", "Then rain fell on them.", "Tea."]
    assert choose_by_scores(texts, [0.2, 0.9, 0.1], 2) == ([1, 2], [0])
    assert choose_by_scores(texts, [0.2, 0.2, 0.2], 1) == ([0], [])


# -- training, evaluation, command and page ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def trained(tmp_path_factory, tiny_checkpoint):
    """A checkpoint that chooses sentences with a lantern."""
    place = tmp_path_factory.mktemp("summaries")
    words = ["finetune", "custom", "--type", "summarisation", "--from", str(tiny_checkpoint)]
    words += ["--out", str(place / "run"), "--data", str(jsonl(place / "rows.jsonl", make_rows(200, 0)))]
    words += ["--validation", str(jsonl(place / "held_out.jsonl", make_rows(30, 1))), "--epochs", "6", "--seed", "0"]
    words += ["--optim.lr", "1e-2", "--batch-size", "16", "--max-tokens", "24", "--dropout", "0"]
    words += ["--device", "cpu", "--precision", "float32", "--threads", "1"]
    assert main(words) == 0
    return place / "run" / "checkpoint"


def test_the_rule_is_learned_and_the_checkpoint_records_it(trained, tmp_path, capsys):
    opened = bertlab.load(trained)
    assert opened.record["validation"]["r_precision"] > 80
    assert opened.record["validation"]["first_r_precision"] < 65
    assert opened.record["task"]["kind"] == "summarisation"
    assert TASK.choose_max_tokens(opened.loaded) == opened.record["window_tokens"] < 64
    assert opened.heads == ("summarise",)
    capsys.readouterr()
    rows = [{"document": "the lantern. she asked for tea.", "summary": "the lantern"}]
    words = ["evaluate", "custom", "--checkpoint", str(trained), "--data", str(jsonl(tmp_path / "new.jsonl", rows))]
    assert main([*words, "--out", str(tmp_path / "scores.tsv"), "--json"]) == 0
    measured = json.loads(capsys.readouterr().out)
    assert measured["rouge1"] == measured["first_rouge1"] == pytest.approx(100 * 4 / 8)
    words = ["evaluate", "custom", "--type", "summarisation", "--data", str(tmp_path / "new.jsonl"), "--json"]
    assert main([*words, "--predictions", str(tmp_path / "scores.tsv")]) == 0
    assert json.loads(capsys.readouterr().out) == measured
    (tmp_path / "scores.tsv").write_text("index\tprediction\n0\tnan\n")
    assert main([*words, "--predictions", str(tmp_path / "scores.tsv")]) == 2


def test_the_error_analysis_names_the_sentences(trained):
    loaded = bertlab.load(trained).loaded
    analysis = analyse(TASK, loaded, read([{"sentences": ["tea", "the lantern"], "chosen": [0, 1]}]), iter)
    (row,) = analysis.rows
    assert (row.texts, row.gold, row.prediction, row.score) == (("tea the lantern",), "1, 2", "1, 2", 1)
    scores = [sentence.score for sentence in bertlab.load(trained).summary("tea\nthe lantern").sentences]
    assert row.probability == pytest.approx(min(scores), abs=1e-5)


def test_summaries_use_the_learned_scores(trained, tmp_path, capsys):
    session = bertlab.load(trained)
    # a text of many windows, in which nearly every sentence has a score on the right side
    text = "\n".join(sentence for row in make_rows(30, seed=2) for sentence in row["sentences"]) + "\n🙂"
    summary = session.summary(text, 2)
    scores = np.array([sentence.score for sentence in summary.sentences])
    is_lantern = np.array(["lantern" in sentence.text for sentence in summary.sentences])
    assert summary.has_learned_scores
    assert summary.is_checkpoint_suited is True
    assert all(text[each.start : each.end] == each.text for each in summary.sentences)
    assert np.mean((scores > 0.5) == is_lantern) > 0.85
    assert is_lantern[list(summary.chosen)].all()
    assert scores.argmax() in summary.chosen
    assert summary.first == (0, 1)
    (tmp_path / "a.txt").write_text(text, encoding="utf-8")
    capsys.readouterr()
    words = ["summary", str(tmp_path / "a.txt"), "--checkpoint", str(trained), "--sentences", "2"]
    assert main([*words, "--json"]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["scores"] == "learned"
    assert json.loads(captured.out)["documents"][0]["summary"] == summary.text
    assert not captured.err
    assert main(words) == 0
    assert "score" in capsys.readouterr().out


def test_the_page_shows_learned_scores(trained, shipped):
    document = "the boats stayed here 1. the boats stayed here 2. tea."
    page = open_example_page("summary", checkpoint=str(trained), document=document)
    assert not page.exception
    assert not errors(page)
    assert len(read_charts(page)) == 1
    assert page.slider[0].disabled
    assert any('class="note' in body for body in bodies(page))  # fewer sentences than requested
    assert any(caption.value.startswith("Sentence ") for caption in page.caption)
