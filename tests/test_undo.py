"""Links and undo: the address holds what a user typed or chose and restores it, and every change can be undone."""

from collections import defaultdict
from functools import cache

import pytest
from bertlab_app import url
from bertlab_app.examples import read_examples
from bertlab_app.i18n import language
from bertlab_app.widgets import selection
from streamlit.testing.v1 import AppTest
from support.pages import SCREENS, open_example_page, open_page
from support.texts import text

from bertlab.config.languages import list_message_ids, render

KINDS = ("text_input", "text_area", "slider", "number_input", "toggle", "checkbox", "button_group", "radio")


def controls(app: AppTest) -> dict:
    """The controls of a page whose value can be set, by key."""
    widgets = {widget.key: widget for kind in KINDS for widget in app.get(kind) if widget.key and not widget.disabled}
    return {key: widget for key, widget in widgets.items() if key != "lang"}


@cache
def ids_by_text() -> dict[str, set[str]]:
    """The ids of the messages that read alike, by their English and their Korean text."""
    ids = defaultdict(set)
    for id in list_message_ids():
        for code in ("en", "ko"):
            ids[render(id, code)].add(id)
    return ids


def change_value(app: AppTest, widget) -> None:
    """Set a control to a new value, if it has one."""
    if widget.type in ("text_input", "text_area"):
        widget.set_value("The keeper carried tea, bread and a lantern.")
    elif widget.type in ("slider", "number_input"):
        if isinstance(widget.value, int | float):
            widget.set_value(widget.min if widget.value != widget.min else widget.max)
    elif widget.type in ("toggle", "checkbox"):
        widget.set_value(not widget.value)
    elif widget.type == "radio":
        widget.set_value(widget.options[-1])
    elif widget.type == "button_group":
        # AppTest knows only the labels; the id of a label's message is PREFIX-VALUE, with one prefix for all options
        ids = [ids_by_text()[label] for label in widget.options]
        prefixes = set.intersection(*({id.rpartition("-")[0] for id in of_label} for of_label in ids))
        values = {id.rpartition("-")[2] for id in ids[-1] if id.rpartition("-")[0] in prefixes}
        # the names of metrics are the labels of measures, but the options of the page The paper have other values
        others = [value for value in values if value != widget.value and f"metric-{value}" not in list_message_ids()]
        if others and isinstance(widget.value, str):
            app.session_state[widget.key] = sorted(others)[0]


def values(app: AppTest) -> dict:
    return {key: widget.value for key, widget in controls(app).items()}


def parameters(app: AppTest) -> dict:
    return {name: value[0] if isinstance(value, list) else value for name, value in app.query_params.items()}


@pytest.mark.parametrize("screen", SCREENS)
def test_a_page_opened_by_link_shows_what_its_sender_saw(shipped, screen):
    sender = open_page(screen, lang="ko", checkpoint="scratch" if screen not in ("answer", "xray") else "squad")
    for _ in range(2):  # a change may add controls
        for widget in controls(sender).values():
            change_value(sender, widget)
        sender.run()
        assert not sender.exception, sender.exception[0].message
    link = parameters(sender)
    receiver = open_page(screen, **link)
    assert values(receiver) == values(sender)
    assert receiver.session_state["checkpoint"] == sender.session_state["checkpoint"]
    assert receiver.session_state["lang"] == "ko"
    assert parameters(receiver) == link


def undo(app: AppTest) -> None:
    app.button(key="undo").click().run()
    assert not app.exception, app.exception[0].message


@pytest.mark.parametrize("screen", SCREENS)
def test_every_change_on_a_page_can_be_undone(shipped, monkeypatch, screen):
    monkeypatch.setattr(url, "SAME_CHANGE_SECONDS", 0.0)
    app = open_page(screen)
    before = values(app)
    for widget in controls(app).values():
        change_value(app, widget)
    app.run()
    if values(app) != before:
        undo(app)
        assert values(app) == before


def test_changes_are_undone_one_by_one_back_to_the_first_state(shipped, monkeypatch):
    monkeypatch.setattr(url, "SAME_CHANGE_SECONDS", 0.0)
    app = open_page("input")
    for typed in ("Green", "Green tea", "Green tea, some bread"):
        app.text_input(key="a").set_value(typed).run()
    shown = []
    for _ in range(4):
        undo(app)
        shown.append(app.text_input(key="a").value)
    assert shown == ["Green tea", "Green", "Green tea.", "Green tea."]
    assert len(app.toast) == 1


def test_letters_typed_in_quick_succession_are_one_change(shipped, monkeypatch):
    monkeypatch.setattr(url, "SAME_CHANGE_SECONDS", 1e9)
    app = open_page("input")
    for typed in ("Green tea, s", "Green tea, so", "Green tea, som"):
        app.text_input(key="a").set_value(typed).run()
    app.text_input(key="b").set_value("Bread.").run()
    undo(app)
    assert [app.text_input(key=key).value for key in "ab"] == ["Green tea, som", "A bowl."]
    undo(app)
    assert [app.text_input(key=key).value for key in "ab"] == ["Green tea.", "A bowl."]


def test_undo_on_one_page_keeps_changes_of_another(shipped, monkeypatch):
    monkeypatch.setattr(url, "SAME_CHANGE_SECONDS", 0.0)
    app = open_page("input")
    app.text_input(key="a").set_value("Bread.").run()
    app.switch_page("bertlab_app/pages/next_sentence.py").run()
    undo(app)
    app.switch_page("bertlab_app/pages/input.py").run()
    assert app.text_input(key="a").value == "Bread."
    undo(app)
    assert app.text_input(key="a").value == "Green tea."


def test_undo_restores_masked_words(shipped, monkeypatch):
    monkeypatch.setattr(url, "SAME_CHANGE_SECONDS", 0.0)
    app = open_page("fill_mask", mask="1")
    next(button for button in app.button if button.label == text("fill-mask-reset")).click().run()
    assert "mask" not in parameters(app)
    undo(app)
    assert parameters(app)["mask"] == "1"


def test_a_masked_word_stays_masked_in_the_edited_text(shipped, monkeypatch):
    monkeypatch.setattr(url, "SAME_CHANGE_SECONDS", 0.0)
    app = open_page("fill_mask", text="She opened the window.", mask="3")
    app.text_input(key="text").set_value("Today she opened the big window.").run()
    assert app.session_state["url.values"]["mask"] == "5"
    app.text_input(key="text").set_value("Rain.").run()
    assert app.session_state["url.values"]["mask"] == ""
    app.button(key="undo").click().run()
    assert app.session_state["url.values"]["mask"] == "5"


def test_an_example_in_another_language_is_no_change_to_undo(shipped, monkeypatch):
    monkeypatch.setattr(selection, "examples_for", lambda task: read_examples(language()))
    app = open_example_page("next_sentence")
    app.session_state["lang"] = "ko"
    app.run()
    korean = app.text_input(key="first").value
    app.session_state["lang"] = "en"
    app.run()
    english = app.text_input(key="first").value
    app.button(key="undo").click().run()
    assert app.text_input(key="first").value == english != korean
    assert [toast.value for toast in app.toast] == [text("undo-nothing")]


def test_undo_restores_the_checkpoint_and_keeps_the_language(shipped, monkeypatch):
    monkeypatch.setattr(url, "SAME_CHANGE_SECONDS", 0.0)
    app = open_page("start", lang="ko")
    next(button for button in app.button if button.key == "open-scratch").click().run()
    assert app.session_state["checkpoint"] == "scratch"
    undo(app)
    assert app.session_state["checkpoint"] == "auto"
    assert app.session_state["lang"] == "ko"


def test_the_back_button_restores_texts_and_keeps_language_and_checkpoint(shipped, monkeypatch):
    app = open_page("input", lang="en")
    app.session_state["lang"], app.session_state["checkpoint"] = "ko", "scratch"
    app.run()
    assert parameters(app)["lang"] == "ko"
    monkeypatch.setattr(url, "used_browser_history", lambda: True)
    app.query_params.clear()
    app.query_params["a"] = "An earlier text."
    app.run()
    assert app.text_input(key="a").value == "An earlier text."
    assert [app.session_state[name] for name in ("lang", "checkpoint")] == ["ko", "scratch"]
    assert {name: parameters(app).get(name) for name in ("lang", "checkpoint")} == {
        "lang": "ko",
        "checkpoint": "scratch",
    }


def test_a_rerun_without_changes_keeps_a_text_that_is_being_typed(shipped):
    page = open_page("answer")
    drawn = page.text_area("passage")
    assert drawn.proto.set_value
    page.run()
    again = page.text_area("passage")
    assert not again.proto.set_value, "set_value would overwrite a text that the browser has not sent yet"
    # a browser that has not drawn the field yet takes the text from `default`
    assert again.proto.default == drawn.value != ""
