"""Windows, labels and decoding of answers, against plain loops with the rules of `run_squad.py`."""

import gzip
import json
import os
from pathlib import Path

import numpy as np
import pyarrow.parquet
import pytest
from support.errors import raises_error, raises_row_error
from support.task_rows import read_squad

from bertlab.config.errors import DataError, TextError
from bertlab.tasks.span.decoding import decode_spans
from bertlab.tasks.span.squad import make_examples, read_predictions, read_scores, select_trainable_rows
from bertlab.tasks.span.windows import encode_questions, make_span_windows, make_windows
from bertlab.text.batch import collate
from bertlab.text.readers.invalid_rows import InvalidRows
from bertlab.text.tokenizers.wordpiece import SPECIAL_TOKENS, Tokenizer

LETTERS = [chr(c) for c in range(ord("a"), ord("z") + 1)]
PASSAGE = "The kettle of Anna is red. Ben owns a Blue teapot, which Carla broke; 주전자 is Korean for it. "
QUESTION = "Who owns the blue teapot?"


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory) -> Tokenizer:
    path = tmp_path_factory.mktemp("vocab") / "vocab.txt"
    tokens = [
        *SPECIAL_TOKENS,
        *LETTERS,
        *(f"##{c}" for c in LETTERS),
        "the",
        "tea",
        "##pot",
        "owns",
        ".",
        ",",
        ";",
        "?",
    ]
    path.write_text("\n".join(tokens), encoding="utf-8")
    return Tokenizer.from_vocab(path)


def row(id="q", question=QUESTION, context=PASSAGE, texts=("Blue teapot",), starts=None):
    starts = [context.index(text) for text in texts] if starts is None else starts
    return {"id": id, "title": "", "context": context, "question": question,
            "answers": {"text": list(texts), "answer_start": starts}}  # fmt: skip


def google_windows(tokens, capacity, stride):
    """(first, length) of every window, by the loop of `convert_examples_to_features`."""
    spans, first = [], 0
    while first < tokens:
        length = min(tokens - first, capacity)
        spans.append((first, length))
        if first + length == tokens:
            break
        first += min(length, stride)
    return spans


def google_is_max_context(spans, k, position):
    scores = []
    for first, length in spans:
        end = first + length - 1
        inside = first <= position <= end
        scores.append(min(position - first, end - position) + 0.01 * length if inside else float("-inf"))
    return scores.index(max(scores)) == k


# -- windows


@pytest.mark.parametrize(("max_tokens", "stride"), [(384, 128), (40, 5), (40, 16), (40, 100), (30, 1)])
def test_windows_equal_those_of_run_squad(tokenizer, max_tokens, stride):
    passage = PASSAGE * 3
    question, whole = tokenizer.encode_ids([QUESTION])[0], tokenizer.encode(passage)
    windows = make_windows(tokenizer, QUESTION, passage, max_tokens, stride)
    expected = google_windows(len(whole) - 2, max_tokens - 3 - len(question), stride)
    assert [(w.first_passage_token, len(w.ids[w.passage_slice])) for w in windows] == expected
    for k, window in enumerate(windows):
        assert len(window) <= max_tokens
        first, length = expected[k]
        shown = list(whole.ids[1 + first : 1 + first + length])
        assert window.ids.tolist() == [tokenizer.cls_id, *question, tokenizer.sep_id, *shown, tokenizer.sep_id]
        assert window.token_type_ids.tolist() == [0] * (len(question) + 2) + [1] * (length + 1)
        assert [tuple(o) for o in window.offsets_T2[window.passage_slice]] == list(
            whole.offsets[1 + first : 1 + first + length]
        )
        best = [google_is_max_context(expected, k, place) for place in range(first, first + length)]
        assert window.is_max_context_T[window.passage_slice].tolist() == best
        outside = np.delete(window.is_max_context_T, np.r_[window.passage_slice])
        assert not outside.any()
    shown = np.concatenate(
        [np.flatnonzero(w.is_max_context_T) - w.passage_slice.start + w.first_passage_token for w in windows]
    )
    assert sorted(shown.tolist()) == list(range(len(whole) - 2)), "every token has its maximum context exactly once"


def test_a_single_window_equals_the_encoding_of_the_pair(tokenizer):
    (window,) = make_windows(tokenizer, QUESTION, PASSAGE)
    encoding = tokenizer.encode(QUESTION, PASSAGE)
    assert window.ids.tolist() == list(encoding.ids)
    assert window.token_type_ids.tolist() == list(encoding.token_type_ids)
    assert collate([window]).input_ids_BT.shape == (1, len(encoding))


def test_a_long_question_keeps_its_first_tokens(tokenizer):
    window = make_windows(tokenizer, "owns " * 100, PASSAGE, max_question=7)[0]
    assert window.num_question_tokens == 7
    assert window.ids[8] == tokenizer.sep_id


@pytest.mark.parametrize(
    ("question", "passage", "options", "message"),
    [
        ("", PASSAGE, {}, "question is empty"),
        (" \u200b\n", PASSAGE, {}, "question is empty"),
        (QUESTION, " ", {}, "passage is empty"),
        (QUESTION, PASSAGE, {"max_tokens": 8}, "too short for a question"),
        (QUESTION, PASSAGE, {"stride": 0}, "at least 1"),
    ],
)
def test_texts_without_a_window_raise_an_error(tokenizer, question, passage, options, message):
    with pytest.raises(TextError, match=message):
        make_windows(tokenizer, question, passage, **options)


def test_a_typed_separator_stays_inside_its_segment(tokenizer):
    (window,) = make_windows(tokenizer, "the [SEP] tea", "owns [SEP] [CLS] it")
    assert window.num_question_tokens == 3
    assert window.token_type_ids.tolist() == [0] * 5 + [1] * 6


def test_a_passage_of_many_questions_is_tokenised_once(tokenizer):
    windows = make_span_windows(tokenizer, [QUESTION, "owns?", "the?"], [PASSAGE, "tea", PASSAGE], 40, 8)
    assert len(windows.passages) == 2
    alone = make_windows(tokenizer, "the?", PASSAGE, 40, 8)
    for one, other in zip(windows[windows.find_question_windows(2)], alone, strict=True):
        assert one.ids.tolist() == other.ids.tolist()
        assert one.is_max_context_T.tolist() == other.is_max_context_T.tolist()
    assert windows[-1].ids.tolist() == alone[-1].ids.tolist()
    with pytest.raises(IndexError):
        windows[len(windows)]


# -- training labels


@pytest.mark.parametrize(
    ("answer", "touched"),
    [
        ("Anna", "Anna"),
        ("Blue teapot", "Blue teapot"),
        ("The", "The"),
        ("주전자", "주전자"),
        ("broke;", "broke;"),
        ("pot", "pot"),
        ("tea", "tea"),
        ("eapo", "teapot"),
        (" red.", "red."),
    ],
)
@pytest.mark.parametrize("max_tokens", [384, 40])
def test_start_and_end_labels_mark_the_answer(tokenizer, answer, touched, max_tokens):
    features = encode_questions(tokenizer, make_examples([row(texts=[answer])]), max_tokens, stride=7)
    inside = 0
    for window, start, end in zip(features.windows, *features.start_and_end_W, strict=True):
        begin, stop = PASSAGE.index(touched), PASSAGE.index(touched) + len(touched)
        covered = window.offsets_T2[window.passage_slice]
        if start == 0:
            assert end == 0
            assert not (covered[0, 0] <= begin and stop <= covered[-1, 1])
            continue
        inside += 1
        assert window.passage_slice.start <= start <= end < window.passage_slice.stop
        assert PASSAGE[window.offsets_T2[start, 0] : window.offsets_T2[end, 1]] == touched
    assert inside >= 1
    assert len(features) == 1 or inside < len(features)


def test_a_misplaced_answer_raises_an_error_or_is_skipped():
    rows = [row("good"), row("bad", starts=[1]), row("worse", starts=[-1]), row("last", texts=["Carla"])]
    rows = [{**each, "where": ("file", number, None)} for number, each in enumerate(rows, 1)]
    with raises_row_error("answer-misplaced", row=2, answer="'Blue teapot'", start=1):
        select_trainable_rows(rows)
    trainable = select_trainable_rows(rows, invalid_rows=(skipped_rows := InvalidRows("skip")))
    assert [each["id"] for each in trainable] == ["good", "last"]
    assert len(skipped_rows) == 2


def test_unanswerable_rows_are_labelled_with_cls_if_allowed(tokenizer):
    rows = [{**row(texts=[]), "where": ("file", 1, None)}, row()]
    with raises_row_error("row-without-answer"):
        select_trainable_rows(rows)
    assert select_trainable_rows(rows, has_unanswerable=True) == rows
    start_W, end_W = encode_questions(tokenizer, make_examples(rows)).start_and_end_W
    assert start_W[0] == end_W[0] == 0 < start_W[1]


# -- decoding


def reference_decoding(windows, starts, ends, passage, n_best, longest):
    """Every allowed pair of every window, by plain loops; an answer does not run across the end of a sentence."""
    spans, no_answer = [], min(s[0] + e[0] for s, e in zip(starts, ends, strict=True))
    for k, window in enumerate(windows):
        inside = range(window.passage_slice.start, window.passage_slice.stop)
        best_starts = sorted((i for i in inside if window.is_max_context_T[i]), key=lambda i: (-starts[k][i], i))[
            :n_best
        ]
        best_ends = sorted(inside, key=lambda j: (-ends[k][j], j))[:n_best]
        for i in best_starts:
            for j in best_ends:
                begin, end = window.offsets_T2[i, 0], window.offsets_T2[j, 1]
                if i <= j < i + longest and ". " not in passage[begin:end]:
                    spans.append((-(starts[k][i] + ends[k][j]), k, begin, end))
    best = {}
    for negative, _, begin, end in sorted(spans):
        best.setdefault(passage[begin:end], (passage[begin:end], begin, end, -negative))
    return list(best.values())[:n_best], no_answer


@pytest.mark.parametrize("rounded", [False, True], ids=["distinct", "ties"])
@pytest.mark.parametrize(("max_tokens", "n_best", "longest"), [(384, 20, 30), (40, 20, 30), (40, 3, 4), (45, 1, 1)])
def test_decoding_equals_the_reference_loop(tokenizer, max_tokens, n_best, longest, rounded):
    rng = np.random.default_rng(max_tokens + n_best)
    passage = PASSAGE * 2
    windows = make_windows(tokenizer, QUESTION, passage, max_tokens, 9)
    starts, ends = ([rng.normal(size=len(w)) for w in windows] for _ in range(2))
    if rounded:
        starts, ends = ([np.round(logits) for logits in side] for side in (starts, ends))
    decoded = decode_spans(windows, starts, ends, passage, n_best, longest)
    expected, no_answer = reference_decoding(windows, starts, ends, passage, n_best, longest)
    assert [(s.text, s.start, s.end) for s in decoded.spans] == [e[:3] for e in expected]
    assert np.allclose([s.score for s in decoded.spans], [e[3] for e in expected])
    assert np.isclose(decoded.no_answer_score, no_answer)
    assert np.isclose(decoded.no_answer_margin, no_answer - expected[0][3] if expected else np.inf)
    assert all(passage[s.start : s.end] == s.text for s in decoded.spans)


def test_an_answer_stays_within_a_sentence(tokenizer):
    windows = make_windows(tokenizer, QUESTION, PASSAGE, 384, 128)
    offsets = windows[0].offsets_T2
    start = next(t for t in range(len(offsets)) if PASSAGE[slice(*offsets[t])] == "r" and offsets[t][0] > 20)  # "red"
    end = next(t for t in range(start, len(offsets)) if PASSAGE[slice(*offsets[t])] == "owns")
    starts, ends = np.zeros(len(offsets)), np.zeros(len(offsets))
    starts[start], ends[end], ends[start + 2] = 9, 9, 5
    assert decode_spans(windows, [starts], [ends], PASSAGE).text == "red"


def test_decoding_ignores_padding_and_accepts_float16(tokenizer):
    windows = make_windows(tokenizer, QUESTION, PASSAGE, 60, 20)
    rng = np.random.default_rng(0)
    starts, ends = ([rng.normal(size=len(w)).astype(np.float16) for w in windows] for _ in range(2))
    padded = [[np.pad(x, (0, 200), constant_values=99) for x in side] for side in (starts, ends)]
    assert decode_spans(windows, *padded, PASSAGE) == decode_spans(windows, starts, ends, PASSAGE)


def test_gold_labels_decode_to_the_gold_answer(tokenizer):
    rows = [row("a"), row("b", texts=["Anna"]), row("c", texts=["주전자"]), row("d", context="tea", texts=["tea"])]
    features = encode_questions(tokenizer, make_examples(rows), 50, 10)
    start_W, end_W = features.start_and_end_W
    # only the labelled positions have a positive score, so the best span is the labelled one
    for question, (gold, each) in enumerate(zip(["Blue teapot", "Anna", "주전자", "tea"], rows, strict=True)):
        found = features.windows.find_question_windows(question)
        windows = features.windows[found]
        logits = [
            [np.eye(1, len(w), place)[0] for w, place in zip(windows, side[found], strict=True)]
            for side in (start_W, end_W)
        ]
        assert decode_spans(windows, *logits, each["context"]).text == gold


# -- files


def as_squad_json(rows):
    paragraphs = [
        {
            "context": r["context"],
            "qas": [
                {
                    "id": r["id"],
                    "question": r["question"],
                    "answers": [
                        {"text": t, "answer_start": s}
                        for t, s in zip(r["answers"]["text"], r["answers"]["answer_start"], strict=True)
                    ],
                }
            ],
        }
        for r in rows
    ]
    return {"version": "v2.0", "data": [{"title": "", "paragraphs": paragraphs}]}


def test_every_file_format_of_squad_gives_the_same_rows(tmp_path):
    rows = [row("a"), row("b", texts=["Anna", "red"]), row("c", texts=[], context="주전자")]
    text = json.dumps(as_squad_json(rows))
    (tmp_path / "squad.json").write_text(text, encoding="utf-8")
    (tmp_path / "squad.json.gz").write_bytes(gzip.compress(text.encode()))
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "squad.parquet")
    for name in ("squad.json", "squad.json.gz", "squad.parquet"):
        read = read_squad(tmp_path / name)
        assert [row_read.pop("where") for row_read in read] == [
            (str(tmp_path / name), n, "abc"[n - 1]) for n in (1, 2, 3)
        ]
        assert read == rows, name


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "there is no file"),
        (b"", "is empty"),
        (b"{", "not JSON"),
        (b"[]", "no rows"),
        (b'{"version": 1}', "no column context, question"),
        (b'{"data": []}', "no questions"),
        (
            b'{"data": [{"paragraphs": [{"context": "x", "qas": [{"id": "1"}]}]}]}',
            "paragraph 1, question 1 has no 'question'",
        ),
        (
            b'{"data": [{"paragraphs": [{"context": 5, "qas": [{"id": "1", "question": "?"}]}]}]}',
            "no text in the column 'context'",
        ),
        (b"PAR1 and nothing more", "as Parquet"),
        (b"\x1f\x8b\x08broken", "its gz data"),
        (b"\xff\xfe\xfd", "UTF-8"),
    ],
)
def test_an_invalid_question_file_raises_a_one_line_error(tmp_path, content, message):
    path = tmp_path / "squad"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(DataError, match=message) as caught:
        read_squad(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "content",
    [
        '{"a": "tea", "b": ""}',
        '[{"id": "a", "prediction_text": "tea"}, {"id": "b", "prediction_text": ""}]',
        '{"id": "a", "prediction_text": "tea"}\n{"id": "b", "prediction_text": ""}\n',
    ],
    ids=["dict", "list", "lines"],
)
def test_every_file_format_of_predictions_is_read(tmp_path, content):
    (tmp_path / "predictions").write_text(content, encoding="utf-8")
    assert read_predictions(tmp_path / "predictions") == {"a": "tea", "b": ""}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is empty"),
        ("tea", "not JSON"),
        ("3", "not a JSON object but number"),
        ("[1]", "not a JSON object but number"),
        ('{"a": 1}', "must be text"),
        ('{"id": "a"}\n{"id"', "row 2: is not JSON"),
        ('[{"id": "a", "prediction_text": "x"}, {"id": "a", "prediction_text": "y"}]', "two predictions"),
    ],
)
def test_an_invalid_predictions_file_raises_an_error(tmp_path, content, message):
    (tmp_path / "predictions").write_text(content, encoding="utf-8")
    with pytest.raises(DataError, match=message):
        read_predictions(tmp_path / "predictions")


def test_no_answer_scores_must_be_numbers(tmp_path):
    (tmp_path / "scores").write_text('{"a": -1, "b": 0.5}', encoding="utf-8")
    assert read_scores(tmp_path / "scores") == {"a": -1.0, "b": 0.5}
    (tmp_path / "scores").write_text('{"a": true}', encoding="utf-8")
    with raises_error(DataError, "no-answer-scores-invalid"):
        read_scores(tmp_path / "scores")


# -- real questions


@pytest.fixture(scope="module")
def data() -> Path:
    if "BERTLAB_DATA" not in os.environ:
        pytest.skip("BERTLAB_DATA names no data directory")
    return Path(os.environ["BERTLAB_DATA"])


@pytest.mark.parametrize(
    ("file", "questions", "unanswerable"),
    [("squad/validation.parquet", 5665, False), ("squad_v2/validation.parquet", 6307, True),
     ("korean/korquad/KorQuAD_v1.0_dev.json.gz", 5774, False)],
)  # fmt: skip
def test_labels_of_real_questions_cover_their_answers(data, file, questions, unanswerable):
    rows = read_squad(data / "tasks" / file)
    assert len(rows) == questions
    tokenizer = Tokenizer.from_vocab(data / "vocab" / "bert-base-uncased-vocab.txt")
    assert select_trainable_rows(rows[:1500], unanswerable) == rows[:1500]
    features = encode_questions(tokenizer, make_examples(rows[:1500]))
    start_W, end_W = features.start_and_end_W
    for w, window in enumerate(features.windows):
        if start_W[w]:
            question = features.windows.question_W[w]
            gold = rows[question]["answers"]["text"][0]
            begin, end = window.offsets_T2[start_W[w], 0], window.offsets_T2[end_W[w], 1]
            assert gold.strip() in rows[question]["context"][begin:end], rows[question]["id"]
    labelled_questions = np.unique(features.windows.question_W[start_W > 0])
    answered = sum(bool(r["answers"]["text"]) for r in rows[:1500])
    assert len(labelled_questions) > 0.995 * answered
