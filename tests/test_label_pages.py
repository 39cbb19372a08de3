"""Word effects, entities and batch predictions of fine-tuned checkpoints, and their pages."""

import csv
import io
import json
import math
import unicodedata

import pytest
import torch
from bertlab_app.widgets import batch, files
from support.figures import draw_from_code, read_charts, saved_figures, trace_values
from support.pages import HOSTILE, bodies, errors, open_page
from support.texts import text

import bertlab
from bertlab.abilities.files.batch import predict_texts
from bertlab.checkpoints import checkpoint
from bertlab.config.errors import MissingHead
from bertlab.nn.fast.model import FastBert
from bertlab.tasks.classification import Classification
from bertlab.tasks.tag_prediction import Entity, TaggedWord, Tags
from bertlab.text.readers.pasted_table import parse_pasted_table
from bertlab.text.readers.text_file import TEXT_NAMES
from bertlab.text.word_spans import detect_text_language
from bertlab.views import labels


@pytest.fixture
def judge(shipped):
    return bertlab.load("sst2")


@pytest.fixture
def tagger(shipped):
    return bertlab.load("wikiann_en")


def log_odds(classification, label: str) -> float:
    probability = next(share.probability for share in classification.labels if share.label == label)
    return math.log(probability / (1 - probability))


def test_a_word_s_effect_is_the_drop_of_the_log_odds_without_it(judge):
    found = judge.word_effects("Green tea, some bread.", "A bowl [MASK].")
    whole = judge.classify("Green tea, some bread.", "A bowl [MASK].")
    assert found.label == whole.best.label
    first = [word for word in found.words if not word.second]
    assert [word.text for word in first] == ["Green", "tea", ",", "some", "bread", "."]
    assert [word.text for word in found.words if word.second] == ["A", "bowl", "."], "a mask is not masked again"
    without = judge.classify("Green [MASK], some bread.", "A bowl [MASK].")
    expected = log_odds(whole, found.label) - log_odds(without, found.label)
    assert first[1].effect == pytest.approx(expected, abs=1e-4)


@pytest.fixture
def saved_as(tmp_path, tiny_model, tiny_tokenizer):
    """saved_as(head, record) is the directory of a checkpoint with such a head and record."""

    def save(head: str, record: dict):
        model = FastBert(tiny_model.config.replace(labels=("no", "yes") if head == "classify" else ()), [head])
        model.load_state_dict(tiny_model.state_dict(), strict=False)
        return checkpoint.save(tmp_path / head, model, tiny_tokenizer, record, dtype=torch.float32)

    return save


def test_word_effects_of_a_regression_are_drops_of_the_value(saved_as):
    session = bertlab.load(saved_as("regress", {}))
    found = session.word_effects("Green tea.", "A bowl.")
    assert found.label is None
    expected = session.classify("Green tea.", "A bowl.").value - session.classify("Green tea.", "[MASK] bowl.").value
    assert next(word for word in found.words if word.text == "A").effect == pytest.approx(expected, abs=1e-5)


def test_word_effects_need_a_classifier(shipped):
    with pytest.raises(MissingHead):
        bertlab.load("strongest").word_effects("Green tea.")


def test_batch_predictions_report_invalid_texts(judge, tagger):
    rows = predict_texts(judge, "classify", [("Green tea.", None), ("tea " * 200, None), ("A bowl.", "Some bread.")])
    assert [set(row) for row in rows] == [set(rows[0])] * 3
    assert (rows[1]["error"].id, rows[1]["error"].params["limit"]) == ("text-too-long", 64)
    assert rows[1]["label"] is None
    assert rows[2]["probability"] == judge.classify("A bowl.", "Some bread.").best.probability
    assert len(predict_texts(tagger, "tag", [("The potter left.", None)])[0]["tags"].split()) == 4
    with pytest.raises(MissingHead):
        predict_texts(judge, "tag", [("tea", None)])
    read = list(csv.DictReader(io.StringIO(batch.encode_csv(rows).decode("utf-8-sig"))))
    assert [row["text"] for row in read] == ["Green tea.", "tea " * 200, "A bowl."]


def test_entities_are_marked_in_their_text_and_nothing_else_is_html():
    text = "Ana <b> met Bo"
    names = ("O", "B-PER", "I-PER")
    words = tuple(
        TaggedWord(text[s:e], s, e, names[k], tuple(0.8 if i == k else 0.1 for i in range(3)))
        for s, e, k in ((0, 3, 1), (4, 5, 0), (8, 11, 0), (12, 14, 1))
    )
    tags = Tags(names, words, (Entity("Ana", 0, 3, "PER", 0.8), Entity("Bo", 12, 14, "PER", 0.8)))
    html = labels.tagged_html(text, tags)
    assert html.count("<mark") == 2
    assert "&lt;b&gt;" in html
    assert "PER: person | B-PER 80.0%" in html
    assert "PER: 사람 | B-PER 80.0%" in labels.tagged_html(text, tags, lang="ko")
    assert labels.tag_heat(tags).data[0].z[1] == [0.8, 0.1, 0.1, 0.8]


def test_classify_page_predicts_while_typing(shipped):
    app = open_page("classify", judged="Green tea.")
    assert not errors(app)
    before = next(body for body in bodies(app) if 'class="say"' in body)
    app.text_input[0].set_value("The harbour was dark and the boats stayed in.").run()
    assert next(body for body in bodies(app) if 'class="say"' in body) != before
    assert app.query_params["judged"] == "The harbour was dark and the boats stayed in."


@pytest.mark.parametrize("language", ["en", "ko"])
def test_value_is_shown_on_the_scale_of_training(shipped, saved_as, monkeypatch, language):
    app = open_page("classify", lang=language, checkpoint=str(saved_as("regress", {"value_range": [-1, 7.5]})))
    assert any(text("classify-value-range", language, low=-1, high=7.5) in body for body in bodies(app))
    drawing = read_charts(app)[0]
    assert drawing["data"][0]["x"] == [-1, 7.5]
    assert trace_values(
        json.loads(draw_from_code(saved_figures(app)[0]["code"], monkeypatch).to_json())
    ) == trace_values(drawing)


@pytest.mark.parametrize(
    "value_range", [None, 5, [0], [5, 0], ["a", "b"], [0, float("nan")], [0, 10**400], [float("-inf"), 1], {"low": 0}]
)
def test_value_without_scale_is_shown_alone(shipped, saved_as, value_range):
    app = open_page(
        "classify", checkpoint=str(saved_as("regress", {} if value_range is None else {"value_range": value_range}))
    )
    begin = text("classify-value-range", low=0, high=0).partition("0")[0]
    assert not any(begin in body for body in bodies(app))
    charts = [chart["data"] for chart in read_charts(app)]
    assert [drawn[0]["type"] for drawn in charts] == ["bar"]  # of the word effects; the value has no figure


@pytest.mark.parametrize(("value", "place"), [(1.2, 1.2), (-12.0, 1.0), (7e4, 2.0)])
def test_value_outside_its_scale_is_drawn_at_the_end(value, place):
    drawn = labels.value_scale(Classification((), value), (1.0, 2.0))
    assert list(drawn.data[0].x) == [1.0, 2.0]
    assert list(drawn.data[1].x) == [place]


def second_field(app) -> list[str]:
    return [field.value for field in app.text_input if field.key == "judged2"]


@pytest.mark.parametrize("language", ["en", "ko"])
def test_checkpoints_of_single_texts_show_the_second_field_on_request(shipped, saved_as, language):
    record = {"task": {"kind": "classification", "text": ["sentence"]}}
    path = str(saved_as("classify", record))
    app = open_page("classify", lang=language, checkpoint=path)
    assert text("classify-trained-on-single-texts", language) in [caption.value for caption in app.caption]
    assert second_field(app) == []
    app = next(b for b in app.button if b.label == text("classify-add-second-text", language)).click().run()
    assert second_field(app) == [""]
    app.text_input(key="judged2").set_value("A bowl.").run()
    linked = {name: "".join(value) for name, value in app.query_params.items()}
    app.text_input(key="judged2").set_value("").run()
    app.text_area[0].set_value("tea").run()
    assert second_field(app) == [""], "the field stays when a user empties it"
    assert second_field(open_page("classify", **linked)) == ["A bowl."]
    assert second_field(open_page("classify", checkpoint=path, judged2="A bowl.")) == ["A bowl."], "an older link"
    assert not app.exception


@pytest.mark.parametrize("task", [None, 3, {}, {"kind": "classification", "text": "sentence"}])
def test_the_second_field_is_shown_unless_the_task_has_single_texts(shipped, saved_as, task):
    app = open_page("classify", checkpoint=str(saved_as("classify", {"task": task})))
    assert second_field(app) == [""]
    assert text("classify-trained-on-single-texts") not in [caption.value for caption in app.caption]


def test_a_table_for_a_checkpoint_of_single_texts_has_no_pairs_at_first(shipped, saved_as):
    path = str(saved_as("classify", {"task": {"kind": "classification", "text": ["sentence"]}}))
    app = open_page("classify", checkpoint=path, **{"batch-classify": "Green tea.\tA bowl.\nRain.\tA boat."})
    assert app.selectbox(key="pair-classify").value == ""


@pytest.mark.parametrize("screen", ["classify", "tag"])
def test_pasted_lines_become_a_table(shipped, screen):
    app = open_page(screen)
    app = predict_batch(app.text_area[0].set_value(f"Green tea.\n\n{HOSTILE}\n").run(), screen)
    assert list(app.dataframe[-1].value["text"]) == ["Green tea.", HOSTILE]


def predict_batch(app, screen: str):
    """Click the button that predicts all texts of the box; the page afterwards."""
    app = next(button for button in app.button if button.key == f"ask-{screen}").click().run()
    assert not app.exception, app.exception[0].message
    return app


@pytest.mark.parametrize(
    ("pasted", "columns", "rows"),
    [
        ("Good, I think.\nBad, I fear.", None, 0),
        ("Well, yes.\nNo, no.", None, 0),  # the same number of commas in every line
        ("review, please\nThe film was good.", None, 0),
        ("text", None, 0),
        ("Green tea.\tA bowl.\nRain.", None, 0),
        ("", None, 0),
        ('"Green tea', None, 0),
        ("Text, or is it prose?\nYes, sir.\nNo, never.", None, 0),
        ("Text, then answer.\nYes, sir.", None, 0),
        ("\ttext\n0\tGood film.\n1\tBad film.", ("1", "text"), 2),
        (",text,label\n0,Good film.,1", ("1", "text", "label"), 1),
        ("문장,정답\n좋은 영화다.,긍정\n", ("문장", "정답"), 1),
        ("text\nGood, I think.\nBad", ("text",), 2),
        ('Sentence,stars\n"Good, I think.",4\n', ("Sentence", "stars"), 1),
        ('id\tsentence\n1\tGood, "I think.\n2\tBad.\n', ("id", "sentence"), 2),
        ("Green tea.\tA bowl.\nRain.\t", ("1", "2"), 2),
    ],
)
def test_pasted_table_is_distinguished_from_lines(pasted, columns, rows):
    found = parse_pasted_table(pasted, TEXT_NAMES)
    assert (found and found.columns, len(found or ())) == (columns, rows)


@pytest.mark.parametrize(
    "pasted",
    [
        "text,label\nGood.,1\nBad.\n",
        "text,label\nGood, I think.,1\nBad.,0",
        'text,label\n"Good.,1\nBad.,0',
        "text,text\na,b",
    ],
)
def test_damaged_pasted_table_is_reported_in_one_line(shipped, pasted):
    app = open_page("tag", lang="ko", **{"batch-tag": pasted})
    assert ["붙여 넣은 표" in error for error in errors(app)] == [True]


@pytest.mark.parametrize("language", ["en", "ko"])
def test_columns_of_pasted_table_are_chosen_and_stored_in_the_link(shipped, language):
    app = open_page("classify", lang=language)
    app.text_area[0].set_value('id,premise,hypothesis\n1,"Green tea, some bread.",A bowl.\n2,Rain fell.,Boats.').run()
    assert text("batch-table", language, rows=2, columns=3) in [caption.value for caption in app.caption]
    table = predict_batch(app, "classify").dataframe[-1].value
    assert list(table["premise"]) == ["Green tea, some bread.", "Rain fell."]
    assert list(table["hypothesis"]) == ["A bowl.", "Boats."]
    app.selectbox(key="text-classify").set_value("hypothesis").run()
    app.selectbox(key="pair-classify").set_value("").run()
    linked = {name: "".join(value) for name, value in app.query_params.items()}
    again = predict_batch(open_page("classify", **linked), "classify").dataframe[-1].value
    alone = bertlab.load("sst2").classify("A bowl.").best.probability
    assert again["probability"][0] == pytest.approx(alone)


def test_unnamed_pasted_pairs_are_pairs_for_pair_checkpoints(shipped, saved_as):
    pasted = {"batch-classify": "Green tea.\tA bowl.\nRain fell.\t"}
    unknown = open_page("classify", **pasted)  # the second column may be anything
    assert unknown.selectbox(key="pair-classify").value == ""
    two = saved_as("classify", {"task": {"kind": "classification", "text": ["premise", "hypothesis"]}})
    app = open_page("classify", checkpoint=str(two), **pasted)
    assert text("batch-table-without-header", rows=2, columns=2) in [caption.value for caption in app.caption]
    table = predict_batch(app, "classify").dataframe[-1].value
    assert list(table["2"]) == ["A bowl.", ""]
    assert [bool(error) for error in table["error"]] == [False, True]
    app.text_area[0].set_value("text\tstars\nGood.\t4").run()
    assert (app.selectbox(key="text-classify").value, app.selectbox(key="pair-classify").value) == ("text", "")


@pytest.fixture
def student(monkeypatch):
    """A visitor who may not start a job on a whole file, and uploads a table to the panel instead."""
    monkeypatch.setattr(files, "may_start_jobs", lambda: False)


def test_columns_of_uploaded_table_are_chosen(shipped, student):
    app = open_page("classify")
    content = 'id,Review,sentence2\n1,"Green tea, some bread.",A bowl.\n2,Rain fell.,The boats.\n'
    app.file_uploader(key="upload-classify").set_value(("rows.csv", content.encode(), "text/csv")).run()
    assert not app.exception, app.exception[0].message
    assert (app.selectbox(key="text-classify").value, app.selectbox(key="pair-classify").value) == (
        "Review", "sentence2",
    )  # fmt: skip
    table = predict_batch(app, "classify").dataframe[-1].value
    assert list(table["Review"]) == ["Green tea, some bread.", "Rain fell."]
    assert list(table["sentence2"]) == ["A bowl.", "The boats."]
    assert not any(table["error"])


@pytest.mark.parametrize(("language", "why"), [("en", "the text is empty"), ("ko", "비어")])
@pytest.mark.parametrize("screen", ["classify", "tag"])
def test_row_without_text_stays_in_order_with_an_error(shipped, student, screen, language, why):
    app = open_page(screen, lang=language)
    rows = [
        '{"text": "Green tea."}',
        '{"label": 1}',
        '{"text": null}',
        '{"text": NaN}',
        '{"text": "A bowl."}',
        '{"text": 0}',
    ]
    app.file_uploader[0].set_value(("rows.jsonl", "\n".join(rows).encode(), "application/json")).run()
    assert not app.exception, app.exception[0].message
    assert any(text("batch-empty-texts", language, count=3, first=2) in body for body in bodies(app))
    app = predict_batch(app, screen)
    table = app.dataframe[-1].value
    assert list(table["text"]) == ["Green tea.", "", "", "", "A bowl.", "0"]
    assert [why in error for error in table["error"]] == [False, True, True, True, False, False]
    assert any(text("batch-failed-rows", language, count=3, total=6) in body for body in bodies(app))


def test_row_without_second_text_has_an_error(shipped, student):
    app = open_page("classify")
    rows = '{"premise": "Green tea.", "hypothesis": "A bowl."}\n{"premise": "Rain fell."}\n'
    app.file_uploader[0].set_value(("rows.jsonl", rows.encode(), "application/json")).run()
    table = predict_batch(app, "classify").dataframe[-1].value
    assert [bool(error) for error in table["error"]] == [False, True]
    assert "second text is empty" in table["error"][1]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("rows.csv", b"text,label\nGreen tea.,1,2\n", "rows.csv row 2: has 3 fields"),
        ("rows.jsonl", b'{"text": "tea"}\n{"te', "rows.jsonl row 2: is not JSON"),
        ("차" * 300 + ".csv", b"", "차.csv is empty"),
    ],
)
def test_unreadable_upload_is_reported_by_name(shipped, student, name, content, message):
    app = open_page("tag")
    app.file_uploader[0].set_value((name, content, "text/plain")).run()
    assert not app.exception, app.exception[0].message
    (line,) = errors(app)
    assert message in line
    assert "/tmp" not in line


def test_word_effects_of_long_text_need_a_click(shipped):
    app = open_page("classify", judged="tea " * 45)
    assert not errors(app)
    assert len(read_charts(app)) == 1, "while typing, only the labels are drawn"
    next(button for button in app.button if button.key == "weigh").click().run()
    assert len(read_charts(app)) == 2


def test_columns_of_batch_predictions_are_translated(shipped):
    linked = {"lang": "ko", "checkpoint": "sst2"}
    columns = json.loads(
        predict_batch(open_page("classify", **linked, **{"batch-classify": "Good.\nBad."}), "classify")
        .dataframe[-1]
        .proto.columns
    )
    assert {name: columns[name]["label"] for name in ("text", "predicted")} == {
        "text": text("batch-text", "ko"), "predicted": text("batch-predicted", "ko"),
    }  # fmt: skip
    table = "text,id\nGood.,1\nBad.,2"
    columns = json.loads(
        predict_batch(open_page("classify", **linked, **{"batch-classify": table}), "classify")
        .dataframe[-1]
        .proto.columns
    )
    assert "label" not in columns.get("text", {})
    assert columns["predicted"]["label"] == text("batch-predicted", "ko")


def test_korean_letters_are_composed_and_chinese_ones_are_not_english(shipped):
    decomposed = unicodedata.normalize("NFD", "정말 좋은 영화")
    app = open_page("classify", judged=decomposed)
    assert app.query_params["judged"] in ("정말 좋은 영화", ["정말 좋은 영화"])
    assert any("[UNK]" in body for body in bodies(app)), "the note that the checkpoint is English"
    detected = [detect_text_language([text]) for text in (decomposed, "ᄒᆞᆫ", "國破山河在", "🙂", "tea 漢字", "é")]
    assert detected == ["ko", "ko", None, None, "en", "en"]


@pytest.mark.parametrize("unit", ["word", "token"])
def test_tags_of_tokens_are_shown_by_word_or_by_token(unit, monkeypatch):
    sentence = "이순신은 1592년 한산도에서 일본 함대를 물리쳤다."
    app = open_page("tag", lang="ko", named=sentence, unit=unit)
    assert not errors(app)
    assert any("PS: 사람" in caption.value and "QT: 수량" in caption.value for caption in app.caption)
    tags = bertlab.load("klue_ner").tag(sentence)
    (chart,) = read_charts(app)
    (heat,) = trace_values(chart)
    words = heat["customdata"][: len(heat["z"]) // len(tags.labels)]
    assert words == (sentence.split() if unit == "word" else [word.text for word in tags.words])
    column = next(number for number, word in enumerate(words) if word.startswith("한"))
    island = next(word for word in tags.words if word.start == sentence.index("한산도"))
    assert heat["z"][column :: len(words)] == pytest.approx(list(island.probabilities), abs=1e-4)
    drawn = draw_from_code(saved_figures(app)[0]["code"], monkeypatch)
    assert list(drawn.data[0].customdata[0]) == words
