"""What `transformers` makes of the same rows, and the benchmarks that hold us beside it; no time is judged."""

import json

import numpy as np
import pytest
from test_questions import story

from bertlab.cli import main
from bertlab.learn import peer
from bertlab.learn.turns import compared
from bertlab.text.spans import span_features


@pytest.fixture(scope="module")
def rows() -> list[dict]:
    found = [story(number) for number in range(40)]
    for row in found[::5]:  # longer than a window
        row["context"] += " The harbour was quiet and the boats stayed in." * 6
    for row in found[1::7]:
        row["answers"] = {"text": [], "answer_start": []}
    return found


def test_run_qa_s_features_are_ours(rows, tiny_checkpoint, tiny_tokenizer):
    max_tokens, room = 64, None
    ours = span_features(tiny_tokenizer, rows, max_tokens, 24, unanswerable=True)
    windows = list(ours.windows)
    theirs = peer.tokenizer(tiny_checkpoint)
    compared_windows = 0
    for number, row in enumerate(rows):
        own = range(*ours.windows.of_question(number).indices(len(windows)))
        room = max_tokens - 3 - windows[own[0]].question_tokens
        # they count what neighbours share, we how far apart they begin
        found = peer.span_rows([row], theirs, max_tokens, room - 24)
        assert len(found) == len(own)
        for given, w in zip(found, own, strict=True):
            assert given["input_ids"] == windows[w].ids.tolist()
            assert given["token_type_ids"] == windows[w].token_type_ids.tolist()
            assert (given["start_positions"], given["end_positions"]) == (ours.start_W[w], ours.end_W[w])
            compared_windows += 1
    assert compared_windows == len(windows) > len(rows)
    assert 0 < np.count_nonzero(ours.start_W) < len(windows)


def test_ratios_are_taken_turn_by_turn():
    found = compared([(10.0, 10.0), (40.0, 10.0), (20.0, 10.0)], "rows_per_second")
    assert found == {
        "bertlab_rows_per_second": 20, "transformers_rows_per_second": 10, "ratio": 2.0, "ratio_least": 1.0,
        "ratio_most": 4.0,
    }  # fmt: skip


def test_bench_features_runs_both(rows, tiny_checkpoint, tmp_path, capsys):
    answered = [row for row in rows if row["answers"]["text"]]
    article = [
        {"context": row["context"], "qas": [{"id": row["id"], "question": row["question"], "answers": [
            {"text": row["answers"]["text"][0], "answer_start": row["answers"]["answer_start"][0]}]}]}
        for row in answered
    ]  # fmt: skip
    (tmp_path / "rows.json").write_text(json.dumps({"data": [{"title": "", "paragraphs": article}]}))
    words = ["bench", "features", "--data", str(tmp_path / "rows.json"), "--checkpoint", str(tiny_checkpoint), "--json"]
    assert main([*words, "--max-tokens", "64", "--stride", "24"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["questions"] == len(answered)
    assert found["ratio_least"] <= found["ratio"] <= found["ratio_most"]
