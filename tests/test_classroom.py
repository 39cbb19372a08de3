"""A class without a browser: what a student receives and can do, and what only the teacher can."""

import asyncio
import html
import re
from functools import wraps
from types import SimpleNamespace

import pytest
import streamlit as st
from bertlab_app import access, url
from bertlab_app.classroom import compute, current, distribution, panel, roles, teacher
from bertlab_app.launch import class_server
from bertlab_app.registry import PAGES
from bertlab_app.widgets import plots
from starlette.requests import Request
from streamlit.util import calc_hash
from support.errors import raises_error
from support.figures import read_charts
from support.pages import bodies, errors, open_page
from support.texts import text

from bertlab.abilities.attention import block_figures as block
from bertlab.classroom.computed_values import VALUE_NAMES
from bertlab.classroom.handout import make_handout
from bertlab.classroom.lesson import Question, find_lessons, read_lesson
from bertlab.classroom.step_text import make_preview
from bertlab.cli.app import CLASSROOM_ADDRESS, CLASSROOM_KEY, CLASSROOM_LESSON
from bertlab.config.errors import BertlabError

KEY = "a-key-that-nobody-guesses"
LESSON = """
title = "Tea"
minutes = 45
[[steps]]
title = "Leaves"
page = "lessons"
say = "Say."
notes = "SECRET-NOTES"
[steps.question]
ask = "Which?"
choices = ["green", "black"]
answer = 2
reveal = "SECRET-REVEAL"
[[steps]]
title = "Water"
page = "cost"
hide_page = true
say = "Next."
[steps.question]
ask = "How hot?"
kind = "number"
answer = 80
"""


@pytest.fixture
def store(tmp_path, monkeypatch):
    """A running class with `LESSON`; its store."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tea.toml").write_text(LESSON)
    monkeypatch.setenv(CLASSROOM_LESSON, str(tmp_path / "tea.toml"))
    monkeypatch.setenv(CLASSROOM_KEY, KEY)
    monkeypatch.setenv(CLASSROOM_ADDRESS, "http://192.168.0.7:8501/")
    monkeypatch.setattr(roles, "read_cookie", lambda name: "")
    current.open_store.cache_clear()
    yield current.open_store()
    current.open_store().close()
    current.open_store.cache_clear()


def everything(app) -> str:
    """All that the server sends to a visitor, as one text."""
    return "".join(str(getattr(node, "proto", "")) for node in app._tree) + str(dict(app.query_params))


def buttons(app) -> set[str]:
    return {button.key for button in app.get("button")}


TEACHER_BUTTONS = {"class-phase", "class-next", "class-back", "class-delete", "class-step-1"}


@pytest.mark.parametrize("key", ["", "wrong", KEY[:-1], KEY + "x", "None"])
def test_without_the_key_nobody_is_the_teacher(store, key):
    app = open_page("lessons", key=key)
    assert not buttons(app) & TEACHER_BUTTONS
    assert "Leaves" in everything(app), "the panel follows the class"
    for secret in ("SECRET-NOTES", "SECRET-REVEAL", KEY, roles._digest_key()):
        assert secret not in everything(app)


def test_a_cookie_makes_a_teacher_only_if_it_comes_from_the_key(store, monkeypatch):
    for value, expected in ((KEY, False), ("0" * 64, False), (roles._digest_key(), True)):
        monkeypatch.setattr(roles, "read_cookie", lambda name, value=value: value)
        assert bool(buttons(open_page("lessons")) & TEACHER_BUTTONS) is expected


def test_a_reload_keeps_the_participant(store, monkeypatch):
    token = open_page("lessons").session_state["class.token"]
    monkeypatch.setattr(roles, "read_cookie", lambda name: token if name == roles.PARTICIPANT_COOKIE else "")
    assert open_page("lessons").session_state["class.token"] == token
    monkeypatch.setattr(roles, "read_cookie", lambda name: "x; path=/evil")
    assert re.fullmatch("[0-9a-f]{32}", open_page("lessons").session_state["class.token"])


def test_no_value_of_an_address_makes_a_teacher(store):
    names = {"class.is_teacher": "1", "present": "1", "lesson": "attention.1", "teacher": "1", "class.followed": "x"}
    app = open_page("lessons", **names)
    assert not buttons(app) & TEACHER_BUTTONS
    assert app.session_state["class.is_teacher"] is False


def test_the_key_opens_the_teacher_s_controls_and_leaves_the_address(store):
    app = open_page("lessons", key=KEY)
    assert buttons(app) >= TEACHER_BUTTONS - {"class-step-0"}
    assert "SECRET-NOTES" in everything(app)
    assert "SECRET-REVEAL" not in everything(app), "the teacher's screen may be on a projector"
    assert KEY not in everything(app)
    app.button(key="class-phase").click().run()
    assert store.get_state().phase == "open"
    app.button(key="class-next").click().run()
    assert store.get_state().step == 1
    assert app.session_state["url.page"] == "cost", "the teacher's page follows too"


def test_the_teacher_comes_back_from_another_page(store):
    app = open_page("wordpiece", {"class.followed": "1.tea.0.en"}, key=KEY)
    assert app.session_state["url.page"] == "wordpiece"
    app.button(key="class-page-again").click().run()
    assert app.session_state["url.page"] == "lessons"
    assert "class-page-again" not in buttons(open_page("lessons", key=KEY))


def test_a_view_for_the_projector_shows_no_notes(store):
    app = open_page("lessons", key=KEY, present="1")
    assert {"class-phase", "class-next"} <= buttons(app)
    assert "class-delete" not in buttons(app)
    assert "SECRET-NOTES" not in everything(app)


@pytest.mark.parametrize(
    "action", [lambda: teacher.go_to(1), lambda: teacher.set_phase("open"), teacher.delete_all, teacher.make_csv_export]
)
def test_each_action_of_the_teacher_checks_the_key(store, action):
    with raises_error(BertlabError, "class-needs-key"):
        action()
    assert (store.get_state().step, store.get_state().phase) == (0, "closed")


def test_a_student_guesses_and_sees_the_class_only_after_the_reveal(store):
    store.set_phase("open")
    for number in range(3):
        store.record_guess(f"other-{number}", 0, "0")
    app = open_page("lessons")
    app.radio[0].set_value(1)
    next(button for button in app.get("button") if "FormSubmitter" in button.key).click()
    app.run()
    assert store.count_guesses(0) == {"0": 3, "1": 1}
    assert any(button.label == "Change my guess" for button in app.get("button"))
    assert 'class=\\"guess-row' not in everything(app)
    assert "SECRET-REVEAL" not in everything(app)
    store.set_phase("revealed")
    app.run()
    assert "SECRET-REVEAL" in everything(app)
    assert 'class=\\"guess-row' in everything(app)
    assert "other-0" not in everything(app)


def test_a_page_that_gives_the_answer_away_is_hidden_until_the_reveal(store):
    store.go_to(1)
    for phase, is_hidden in (("closed", True), ("open", True), ("revealed", False)):
        store.set_phase(phase)
        for key in ("", KEY):
            app = open_page("cost", key=key)
            assert (text("class-page-hidden") in "".join(bodies(app))) is is_hidden
            assert (text("cost-lead") in "".join(bodies(app))) is not is_hidden
    store.set_phase("open")
    assert open_page("wordpiece").session_state["url.page"] == "cost", "the class opens the page of its step"


def test_only_pages_that_the_class_opens_for_a_student_wait_for_their_turn(store, monkeypatch):
    waits = []
    turns = SimpleNamespace(acquire=lambda: waits.append(1), release=lambda: waits.append(-1))
    monkeypatch.setattr(panel, "_page_slots", turns)
    app = open_page("lessons")
    assert waits == [1, -1]
    app.run()
    assert waits == [1, -1], "the same page again"
    open_page("lessons", key=KEY)
    assert waits == [1, -1], "the teacher"


def test_a_figure_that_takes_long_is_made_once_for_the_class(monkeypatch):
    made = []

    @wraps(block.layer_norms)
    def draw(*arguments, **options):
        made.append(options["lang"])
        return draw.__wrapped__(*arguments, **options)

    monkeypatch.setattr(block, "layer_norms", draw)
    plots._make_once.clear()
    page = {"look": "neuron", "layer": "1", "a": "Green tea is hot."}
    first, second = (read_charts(open_page("attention", **page)) for _ in range(2))
    assert first == second
    assert made == ["en"]
    for change in ({"a": "Black tea is hot."}, {"layer": "2"}, {"lang": "ko"}):
        assert read_charts(open_page("attention", **page | change)) != first
    assert made == ["en", "en", "en", "ko"]


def test_a_late_guess_does_not_count(store):
    store.set_phase("open")
    app = open_page("lessons")
    app.radio[0].set_value(1)
    store.set_phase("revealed")
    next(button for button in app.get("button") if "FormSubmitter" in button.key).click()
    app.run()
    assert not store.count_guesses(0)
    assert text("class-question-closed") in "".join(errors(app))


def test_two_sessions_are_two_participants(store):
    tokens = {open_page("lessons").session_state["class.token"] for _ in range(2)}
    assert len(tokens) == 2
    assert all(re.fullmatch("[0-9a-f]{32}", token) for token in tokens)
    assert store.count_present() == 2


def ask_for_news(monkeypatch, query: str = "", cookie: str = "") -> str:
    monkeypatch.setattr(class_server, "_latest", (0.0, ""))
    scope = {"type": "http", "headers": [(b"cookie", cookie.encode())], "query_string": query.encode()}
    return asyncio.run(class_server.answer_news(Request(scope))).body.decode()


def test_the_text_of_a_new_step_comes_with_the_news(store, monkeypatch):
    store.go_to(1)
    store.set_phase("revealed")
    store.go_to(0)
    news, _, step = ask_for_news(monkeypatch, "seen=1.1.revealed&lang=en").partition("\n")
    assert news.split(" ")[0] == "1.0.closed"
    for line in ("Leaves", "Say.", "Which?", "step 1 of 2", text("class-not-open")):
        assert line in step
    for secret in ("SECRET-NOTES", "SECRET-REVEAL", "green", "black", KEY):
        assert secret not in step
    assert "2단계 중 1단계" in ask_for_news(monkeypatch, "seen=&lang=ko")
    assert "step 1 of 2" in ask_for_news(monkeypatch, "seen=../x&lang=../x")
    for query in ("seen=1.0.open&lang=en", "seen=1.1.open", "lang=", ""):
        assert "\n" not in ask_for_news(monkeypatch, query), "the same step, or the teacher"


def test_the_text_of_a_step_leaves_out_what_only_a_model_can_compute():
    lesson = read_lesson(find_lessons()["tour"]["en"], PAGES)
    preview = make_preview(lesson, 0, "closed", "en")
    assert lesson.steps[0].title in preview
    assert "$" not in preview
    assert text("page-loading") in preview


def test_browsers_learn_where_the_class_is_and_how_many_have_guessed_but_nothing_else(store, monkeypatch):
    def ask(cookie: str) -> str:
        return ask_for_news(monkeypatch, cookie=cookie)

    answers = [ask("")]
    store.go_to(1)
    answers.append(ask("bertlab-participant=../../x"))
    store.set_phase("open")
    answers.append(ask(f"bertlab-participant={'0' * 32}"))
    store.record_guess("token", 1, "SECRET-GUESS")
    answers.append(ask(f"bertlab-participant={'0' * 32}"))
    assert [answer.split(" ")[0] for answer in answers] == ["1.0.closed", "1.1.closed", "1.1.open", "1.1.open"]
    assert len(set(answers)) == 4
    assert store.count_present() == 1, "who asks with a token is present"
    assert "SECRET-GUESS" not in answers[3]


def test_no_page_opens_the_guesses(store, tmp_path):
    assert access.is_restricted(), "a class may be reached through a proxy, even on a loopback address"
    (tmp_path / "runs" / "link").symlink_to(tmp_path / "runs" / "classroom")
    for path in ("runs/classroom", "runs/classroom/class.sqlite", "runs/x/../classroom/class.sqlite", "runs/link"):
        assert not access.is_allowed(path), path
    assert access.is_allowed("runs/mine")
    assert not access.is_allowed("tea.toml")


def test_a_lesson_can_be_gone_through_alone(monkeypatch):
    monkeypatch.delenv(CLASSROOM_LESSON, raising=False)
    app = open_page("lessons", lesson="attention.2")
    assert app.session_state["url.page"] == "input"
    assert not buttons(app) & TEACHER_BUTTONS
    assert not app.text_input, "the page would give the answer away"
    assert "a" in app.query_params, "a reload finds the texts of the step"
    app.number_input[0].set_value(9)
    next(button for button in app.get("button") if "FormSubmitter" in button.key).click()
    app.run()
    assert "**[CLS]**" in everything(app), "alone, the answer follows the guess"
    shown = open_page("input", {"lesson.guess.attention.1": "9"}, lesson="attention.2", a="A bird sang.")
    assert shown.text_input[0].value == "A bird sang.", "after the guess, the page is there"
    app.button(key="lesson-next").click().run()
    assert app.session_state["url.page"] == "attention"
    assert app.query_params["lesson"] == "attention.3"
    assert app.text_input(key="b").value == "", "the step has no second sentence"
    app.button(key="lesson-leave").click().run()
    assert "lesson" not in app.query_params


@pytest.mark.parametrize("code", ["en", "ko"])
def test_the_tour_goes_from_the_start_page_to_the_prediction(monkeypatch, code):
    monkeypatch.delenv(CLASSROOM_LESSON, raising=False)
    steps = read_lesson(find_lessons()["tour"][code], PAGES).steps
    app = open_page("start", lang=code)
    app.button(key="start-tour").click().run()
    for number, step in enumerate(steps, 1):
        assert app.session_state["url.page"] == step.page
        assert app.query_params["lesson"] == f"tour.{number}"
        shown = {name: app.query_params[name] for name in app.query_params}
        assert step.parameters.items() <= shown.items() | {("b", "")}
        text = next(block.value for block in app.markdown if step.say[-20:] in block.value)
        assert not re.search(r"\$|–", text), "every value is computed"
        share = re.search(r"(\d+)\\\.\d\\%", text)
        assert not share or int(share[1]) > 40, "the step shows something worth seeing"
        if number < len(steps):
            app.button(key="lesson-next").click().run()
    assert "lesson-leave" not in buttons(app)
    app.button(key="lesson-back").click().run()
    assert app.query_params["lesson"] == "tour.4"
    app.button(key="lesson-leave").click().run()
    assert "lesson" not in app.query_params
    assert "lesson-next" not in buttons(app)


def test_the_back_button_leads_through_the_steps(monkeypatch):
    monkeypatch.delenv(CLASSROOM_LESSON, raising=False)
    steps = read_lesson(find_lessons()["tour"]["en"], PAGES).steps
    app = open_page("input", lesson="tour.2", lang="en")
    assert app.session_state["url.page"] == "attention"
    monkeypatch.setattr(url, "used_browser_history", lambda: True)

    def go_back(page, values, **address):
        app._page_hash = calc_hash(page)
        app.query_params.clear()
        for name, value in ({**values, **address}).items():
            app.query_params[name] = value
        app.run()
        return app.session_state["url.page"], app.session_state["url.values"]["lesson"]

    assert go_back("input", steps[0].parameters, lesson="tour.1") == ("input", "tour.1")
    # what Streamlit puts into the history when a step opens another page: this page with the values of the next one
    assert go_back("input", steps[1].parameters, lesson="tour.2") == ("input", "tour.1")
    assert app.text_input(key="a").value == steps[0].parameters["a"]
    assert go_back("lessons", steps[0].parameters, lesson="tour.1") == ("lessons", "")
    assert go_back("lessons", {}, lesson="tour.2") == ("lessons", "tour.2"), "the reader has opened another page"


def test_undo_within_a_step_stays_in_the_step(monkeypatch):
    monkeypatch.delenv(CLASSROOM_LESSON, raising=False)
    steps = read_lesson(find_lessons()["tour"]["en"], PAGES).steps
    app = open_page("attention", lesson="tour.2", lang="en", **steps[1].parameters)

    def undo():
        app.button(key="undo").click().run()
        return app.text_input(key="a").value, app.query_params["lesson"]

    app.text_input(key="a").set_value("A cat slept.").run()
    assert undo() == (steps[1].parameters["a"], "tour.2")
    app.text_input(key="a").set_value("A dog slept.").run()
    app.button(key="lesson-next").click().run()
    assert app.session_state["url.page"] == "attention", "the next step has the same page"
    app.text_input(key="a").set_value("A bird slept.").run()
    assert undo() == (steps[2].parameters["a"], "tour.3")
    assert undo() == (steps[2].parameters["a"], "tour.3"), "changes of the previous step are not undone in this one"
    assert app.toast[0].value == text("undo-nothing")


def test_the_tour_ends_with_pages_to_see_next_and_is_no_button_in_a_class(store):
    app = open_page("lessons", lesson="tour.5")
    assert not {"lesson-next", "start-tour"} & (buttons(app) | buttons(open_page("start")))
    assert compute.COMPUTATIONS.keys() == VALUE_NAMES.keys()


def test_the_last_step_leads_on(monkeypatch):
    monkeypatch.delenv(CLASSROOM_LESSON, raising=False)
    app = open_page("fill-mask", lesson="tour.5", text="Green [MASK].", lang="en")
    assert app.session_state["url.page"] == "fill-mask"
    assert app.query_params["text"] == "Green [MASK].", "a copied link contains what its reader has changed"
    app.button(key="lesson-to-lessons").click().run()
    assert app.session_state["url.page"] == "lessons"
    assert "lesson" not in app.query_params


@pytest.mark.parametrize(
    "value", ["none.1", "attention", "attention.x", "attention.0", "attention.999999", "..", "../x.1"]
)
def test_a_wrong_lesson_in_an_address_is_harmless(monkeypatch, value):
    monkeypatch.delenv(CLASSROOM_LESSON, raising=False)
    open_page("lessons", lesson=value)


def test_bars_show_numbers_in_ranges_and_escape_words(monkeypatch):
    monkeypatch.setattr(distribution, "t", lambda id, **values: id)
    number = Question("How many?", "number", answer=3.0, unit=" %")
    bars = distribution.draw_bars(number, {str(n): 1 for n in range(40)}, own_guess="3", shows_answer=True)
    assert bars.count("guess-row") == 8
    assert bars.count("✓") == 1
    word = Question("Which?", "word", answer="tea")
    bars = distribution.draw_bars(word, {"<img src=x>": 2, "tea": 1}, own_guess=None, shows_answer=False)
    assert "<img" not in bars
    assert "✓" not in bars


@pytest.mark.parametrize("code", ["en", "ko"])
@pytest.mark.parametrize("name", list(find_lessons()))
def test_a_handout_has_every_step_but_no_notes(name, code):
    lesson = read_lesson(find_lessons()[name][code], PAGES)
    page = make_handout(lesson, code, "http://192.168.0.7:8501/")
    assert page.count("<section") == len(lesson.steps) + 1
    assert "http://192.168.0.7:8501/" in page
    assert not any(step.notes and step.notes[:30] in page for step in lesson.steps)
    assert page.count("<script") == page.count("src=") == 0


@pytest.mark.parametrize("code", ["en", "ko"])
def test_downloads_are_made_outside_of_the_session(store, monkeypatch, code):
    made = {}
    monkeypatch.setattr(st, "download_button", lambda label, data, name, *_, **__: made.update({name: data}))
    open_page("cost", key=KEY, lang=code)
    store.set_phase("open")
    store.record_guess("token", 0, "1")
    assert made["guesses.csv"]().splitlines()[1].startswith("1,tea,1,1,1,"), "also guesses after the page was drawn"
    assert f'lang="{code}"' in made["tea.html"]()
    monkeypatch.delenv(CLASSROOM_LESSON)
    made.clear()
    open_page("lessons", lang=code)
    assert made.keys() == {f"{name}.html" for name in find_lessons()} - {"tour.html"}
    for name, make in made.items():
        assert read_lesson(find_lessons()[name.removesuffix(".html")][code], PAGES).title in html.unescape(make())
