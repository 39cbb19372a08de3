"""The pages of the app without a browser: results of a tiny random checkpoint, and error messages."""

import re
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from bertlab_app.data import html_pages, sessions
from bertlab_app.widgets import fields
from support.figures import read_charts
from support.pages import HOSTILE, SCREENS, bodies, errors, open_example_page, open_page
from support.texts import text

import bertlab
from bertlab.abilities.attention.summary import find_most_striking_weight
from bertlab.checkpoints import checkpoint
from bertlab.nn.fast.model import FastBert
from bertlab.session import Session
from bertlab.tasks.span.answer import Answer, Answers
from bertlab.views.numbers import SignedNumber, percent
from bertlab.views.passage import escape_html


@pytest.mark.parametrize("screen", SCREENS)
def test_hostile_text_is_drawn_as_text_and_empty_fields_are_reported_in_one_line(shipped, screen):
    app = open_page(screen, **dict.fromkeys(["a", "b", "text", "first", "second", "question", "passage"], HOSTILE[:45]))
    for area in [*app.text_input, *app.text_area]:
        area.set_value(HOSTILE)
    app.run()
    assert not app.exception
    for body in bodies(app):
        assert "<script" not in body, body
        assert "<img" not in body, body
    for markdown in [*app.markdown, *app.caption, *app.subheader]:
        assert "alert(1)" not in markdown.value
    for area in [*app.text_input, *app.text_area]:
        area.set_value("")
    app.run()
    assert not app.exception
    assert all("\n" not in error for error in errors(app))
    if screen in ("attention", "input", "next_sentence", "answer"):
        assert len(errors(app)) == 1


@pytest.mark.parametrize("screen", ["input", "attention", "fill_mask", "next_sentence"])
def test_too_long_text_is_reported_in_one_line(shipped, screen):
    app = open_page(screen, mask="1", **dict.fromkeys(["a", "text", "first"], "tea and bread " * 60))
    assert len(errors(app)) == 1
    assert "64" in errors(app)[0]


@pytest.mark.parametrize(
    ("screen", "used"),
    [("fill_mask", "strongest"), ("next_sentence", "strongest"), ("answer", "squad"), ("classify", "sst2"),
     ("choose", "comve"), ("tag", "wikiann_en"), ("logit-lens", "strongest"), ("heads", "strongest"), ("xray", "squad"),
     ("evaluation", "sst2")],
)  # fmt: skip
def test_page_replaces_unsuitable_checkpoint_and_keeps_the_choice(shipped, screen, used):
    app = open_page(screen, checkpoint="bare", mask="1")
    assert not errors(app)
    assert any(text("checkpoint-replaced", chosen="bare", used=used) in body for body in bodies(app))
    assert any(f"<b>{used}</b>" in body for body in bodies(app))
    assert app.session_state["checkpoint"] == "bare"
    assert app.query_params["checkpoint"] == "bare"


@pytest.mark.parametrize(
    ("screen", "checkpoint"), [("evaluation", "squad"), ("evaluation", "wikiann_en"), ("attention", "sst2")]
)
def test_page_uses_the_chosen_checkpoint_if_it_is_suitable(shipped, screen, checkpoint):
    app = open_page(screen, checkpoint=checkpoint)
    assert any(f"<b>{checkpoint}</b>" in body for body in bodies(app))
    assert text("checkpoint-replaced", chosen=checkpoint, used="x")[:20] not in "".join(bodies(app))


def test_missing_task_head_is_reported_in_one_line(monkeypatch, tmp_path, checkpoints):
    monkeypatch.setenv("BERTLAB_CHECKPOINTS", str(tmp_path))
    app = open_page("answer", checkpoint=str(checkpoints / "bare"))
    assert len(errors(app)) == 1


@pytest.mark.parametrize(
    "name", ["/nowhere/at/all", "<script>alert(1)</script>", "~nobody-of-that-name", "x" * 5000, "a\0b", ""]
)
def test_invalid_checkpoint_is_reported_and_the_previous_one_stays(shipped, name):
    app = open_page("input", {"opened": "scratch"}, checkpoint=name)
    assert len(errors(app)) == 1
    assert "<script" not in errors(app)[0]
    assert any("<b>scratch</b>" in body for body in bodies(app))


def test_a_link_to_a_missing_checkpoint_opens_the_default(shipped):
    app = open_page("input", checkpoint="/nowhere")
    assert len(errors(app)) == 1
    assert any("<b>strongest</b>" in body for body in bodies(app))


def test_a_directory_opens(shipped, tiny_checkpoint):
    app = open_page("answer", checkpoint=str(tiny_checkpoint))
    assert not errors(app)
    assert any("<b>tiny</b>" in body for body in bodies(app))


@pytest.mark.parametrize(("page", "disabled"), [("attention", False), ("compare", True), ("training", True)])
def test_checkpoint_field_is_disabled_on_pages_that_ignore_it(shipped, page, disabled):
    app = open_page(page, checkpoint="scratch")
    field = next(box for box in app.selectbox if box.key == "checkpoint")
    assert field.disabled is disabled
    assert field.value == "scratch", "the other pages still use it"


def test_start_page_shows_validation_metrics(shipped):
    app = open_page("start")
    assert any("<b>1%</b>" in body for body in bodies(app))
    next(button for button in app.button if button.key == "open-scratch").click().run()
    assert app.session_state["checkpoint"] == "scratch"


@pytest.mark.parametrize(
    ("name", "page", "language"),
    [
        ("strongest", "fill-mask", "en"), ("squad", "answer", "ko"), ("sst2", "classify", "en"),
        ("comve", "choose", "ko"), ("wikiann_en", "tag", "en"), ("bare", "attention", "ko"),
    ],
)  # fmt: skip
def test_card_of_open_checkpoint_links_to_a_suitable_page(shipped, name, page, language):
    app = open_example_page("start", lang=language)
    app = app.button(key=f"open-{name}").click().run()
    assert not app.exception, app.exception[0].message
    (chosen,) = [body for body in bodies(app) if text("start-checkpoint-selected", language) in body]
    assert name in chosen
    assert f"open-{name}" not in [button.key for button in app.button], "there is nothing left to open"
    links = [link.proto.page for link in app.get("page_link")]
    expected = 3 if page == "fill-mask" else 2  # in the list of all pages, on the card, and below the prediction
    assert links.count(page) == expected


def test_start_page_masks_a_word_of_the_text_and_predicts_it(shipped):
    app = open_page("start", text="She asked for tea.", mask="3")
    assert not errors(app)
    session = bertlab.load("strongest")
    (fill,) = session.fill_mask("She asked for [MASK].", originals=["tea"])
    line = text("fill-mask-word-probability", word="tea", probability=percent(fill.original.probability),
                rank=fill.original.rank, loss=fill.original.loss)  # fmt: skip
    assert any(escape_html(line) in body for body in bodies(app))
    attention = session.attention("She asked for [MASK].")
    striking = find_most_striking_weight(attention)
    query, key = (attention.tokens[position].token for position in (striking.query, striking.key))
    line = text("start-arcs", layer=striking.layer, head=striking.head, query=query, key=key,
                share=percent(striking.share))  # fmt: skip
    assert any(escape_html(line) in body for body in bodies(app))
    app.text_input(key="text").set_value("She asked for bread.").run()
    assert app.query_params["text"] == "She asked for bread."


def test_start_page_reports_a_text_too_long_for_the_picture(shipped):
    app = open_page("start", text="tea and bread " * 12, mask="1")
    assert any(text("start-too-long", limit=32, count=38) in body for body in bodies(app))


def test_fill_mask_uses_the_second_sentence(shipped):
    app = open_page("fill_mask", text="She asked for tea.", text2="He brought a [MASK].", mask="3")
    assert not errors(app)
    assert len(read_charts(app)) == 2
    with_pair = bertlab.load("strongest").fill_mask("She asked for [MASK].", 8, "He brought a [MASK].", ["tea"])
    shown = read_charts(app)[1]["data"][0]["x"]
    assert sorted(shown) == pytest.approx(sorted(row.probability for row in with_pair[1].candidates), abs=1e-6)


def test_a_masked_word_of_several_tokens_has_no_probability(shipped):
    app = open_page("fill_mask", text="She asked for teapots.", mask="3")
    assert any(text("fill-mask-word-not-one-token", word="teapots") in body for body in bodies(app))


def test_link_restores_masked_words(shipped):
    app = open_page("fill_mask", text="Green tea, some [MASK].", mask="1.99.x")
    words = [body for body in bodies(app) if 'class="say"' in body]
    assert ["tea" in words[0], "[MASK]" in words[1]] == [True, True]
    assert len(read_charts(app)) == 2
    app.button[0].click().run()
    assert len(read_charts(app)) == 1, "what the user typed stays"
    assert "mask" not in app.query_params


@pytest.mark.parametrize("mask", ["9" * 5000, "1." * 5000, "²", "-1", "..", "٣"])
def test_invalid_mask_in_the_link_raises_no_error(shipped, mask):
    open_page("fill_mask", mask=mask)


def test_empty_text_is_reported(shipped):
    app = open_page("fill_mask")
    app.text_input[0].set_value("").run()
    assert any(text("fill-mask-empty") in body for body in bodies(app))


@pytest.mark.parametrize(
    ("screen", "field"), [("attention", 0), ("input", 1), ("fill_mask", 0), ("next_sentence", 1), ("answer", 0)]
)
def test_text_too_long_for_the_link_is_reported(shipped, screen, field):
    app = open_page(screen, mask="1")
    app.text_input[field].set_value("tea " * 1001).run()
    assert not app.exception
    assert [caption.value for caption in app.caption].count(text("text-too-long-for-link")) == 1
    assert "mask" not in app.query_params


def test_two_sentences_swap(shipped):
    app = open_page("next_sentence")
    app.button[0].click().run()
    assert [field.value for field in app.text_input] == ["A bowl.", "Green tea."]
    assert re.search(r"\d\.\d%", bodies(app)[1])


@pytest.mark.parametrize("look", ["heads", "neuron", "bertviz", "nonsense"])
def test_every_view_of_attention_opens(shipped, look):
    app = open_page("attention", look=look, layer="99", head="-3", tokens="[[", view="nonsense", heads='{"a":1}')
    assert not errors(app)


def test_bertviz_reports_too_long_input(shipped):
    app = open_page("attention", look="bertviz", a="q x z " * 11, b="q x z " * 8)
    assert not errors(app), "it fits the model and the head view"
    app = open_page("attention", look="bertviz", bertviz="neuron", a="q x z " * 11, b="q x z " * 8)
    assert len(errors(app)) == 1
    assert "32" in errors(app)[0]


@pytest.mark.parametrize("view", ["head", "model", "neuron"])
@pytest.mark.parametrize("language", ["en", "ko"])
def test_every_view_of_bertviz_opens(shipped, view, language):
    app = open_page("attention", look="bertviz", bertviz=view, lang=language)
    assert not errors(app)


def test_long_passage_is_answered_and_omitted_from_the_link(shipped):
    passage = "The keeper of the old mill carried the lantern. " * 100
    app = open_page("answer", question="Who carried it?")
    app.text_area[0].set_value(passage).run()
    assert not app.exception
    assert not errors(app)
    assert sum("<mark" in body for body in bodies(app)) == 1
    assert any("windows" in caption.value for caption in app.caption)
    app.run()
    assert "passage" not in app.query_params
    assert app.text_area[0].value == passage


@pytest.mark.parametrize("screen", ["answer", "xray"])
def test_the_end_of_a_very_long_passage_is_not_read(shipped, monkeypatch, screen):
    monkeypatch.setattr(fields, "MAX_PASSAGE_CHARACTERS", 20)
    captions = {caption.value for caption in open_page(screen, passage="Rain fell. Tea was cold.").caption}
    assert text("answer-passage-cut", count=24, limit=20) in captions
    captions = {caption.value for caption in open_page(screen, passage="Rain fell. Green tea").caption}
    assert text("answer-passage-cut", count=20, limit=20) not in captions


@pytest.mark.parametrize(("count", "truncated"), [(64, False), (65, True)])
def test_truncated_question_is_reported(shipped, count, truncated):
    app = open_page("answer", question="a " * count)
    note = text("answer-question-too-long", limit=64)
    assert any(caption.value == note for caption in app.caption) == truncated


@pytest.mark.parametrize(("no_answer", "noted"), [(0.9, True), (0.1, False)])
def test_likely_no_answer_is_reported(shipped, monkeypatch, no_answer, noted):
    answers = Answers((Answer("tea", 6, 9, 1.0, 0.5),), 0.0, no_answer, ((0, 5), (6, 9)), (0, 1), (0, 1), ((0, 9),), 0)
    monkeypatch.setattr(Session, "xray", lambda *_, **__: SimpleNamespace(answers=answers))
    app = open_page("answer", passage="Green tea.", question=f"Which {no_answer}?")
    assert any(text("answer-no-answer-likelier") in body for body in bodies(app)) == noted


def test_a_saved_page_is_named_by_checkpoint_and_text(shipped):
    page = html_pages.render_attention_page(sessions.find_checkpoint("scratch"), "Green <b>tea</b>.", "", {})
    assert "<h1>scratch · Green &lt;b&gt;tea&lt;/b&gt;.</h1>" in page


def test_missing_checkpoints_are_reported(monkeypatch, tmp_path):
    monkeypatch.setenv("BERTLAB_CHECKPOINTS", str(tmp_path))
    missing = text("checkpoint-none-installed"), text("checkpoint-missing-for-page"), text("run-none")
    for screen in SCREENS:
        app = open_page(screen)
        # these pages need no checkpoint
        reports = errors(app) or [body for body in bodies(app) if any(line in body for line in missing)]
        needs_none = ("cost", "guess", "lessons", "paper", "serving", "train_live", "training", "time_machine")
        assert reports or screen in needs_none


@pytest.fixture
def refusing(monkeypatch, tmp_path, tiny_model, tiny_tokenizer) -> Path:
    """The only shipped checkpoint: it may predict "no answer" and stores a threshold for it."""
    monkeypatch.setenv("BERTLAB_CHECKPOINTS", str(tmp_path))
    model = FastBert(tiny_model.config, ("span",))
    model.load_state_dict(tiny_model.state_dict(), strict=False)
    record = {"null_threshold": 7.25, "steps": 3}
    return checkpoint.save(tmp_path / "squad", model, tiny_tokenizer, record, dtype=torch.float32)


def test_threshold_of_checkpoint_or_link_decides_no_answer(refusing):
    best = bertlab.load(refusing).answer("Who?", "Green tea and two cups.")
    no_answer = text("answer-no-answer")
    inputs = {"question": "Who?", "passage": "Green tea and two cups."}
    app = open_page("answer", **inputs)
    assert not app.slider, "without the toggle the page always shows an answer"
    assert not any(no_answer in body for body in bodies(app))
    app.toggle(key="refuse").set_value(True).run()
    assert app.query_params["refuse"] == "1"
    assert app.slider[0].value == 7.2
    assert "tau" not in app.query_params
    app.slider[0].set_value(-30.0).run()
    assert app.query_params["tau"] == "-30.0"
    for page in (app, open_page("answer", tau="-30", refuse="1", **inputs)):
        assert not page.exception
        html_blocks = bodies(page)
        assert any(no_answer in body for body in html_blocks)
        assert any('class=" faint"' in body and best.answers[0].text in body for body in html_blocks), (
            "still shown, faintly"
        )
        assert any(f"{SignedNumber(best.no_answer_margin):+.2f}" in caption.value for caption in page.caption)
    app.slider[0].set_value(30.0).run()
    assert not any(no_answer in body for body in bodies(app))
    answered = text("answer-span-score", margin=best.no_answer_margin, tau=30.0)
    assert answered in [caption.value for caption in app.caption]


def test_checkpoint_that_always_answers_has_no_threshold_slider(shipped):
    assert not open_page("answer").slider


@pytest.mark.parametrize(
    ("screen", "command"), [("classify", "finetune sst2"), ("choose", "finetune swag"), ("tag", "finetune wikiann_en")]
)
def test_page_without_suitable_checkpoint_shows_training_command(shipped, screen, command, monkeypatch, tmp_path):
    monkeypatch.setenv("BERTLAB_CHECKPOINTS", str(tmp_path))
    app = open_page(screen)
    assert not errors(app)
    assert command in app.code[0].value
