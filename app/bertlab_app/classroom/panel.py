"""The panel of a lesson beside the pages: the text of the step, its question, and everyone's guesses."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from bertlab.classroom.lesson import MAX_WORD_LENGTH, Question
from bertlab.classroom.step_text import make_heading
from bertlab.views.passage import escape_html
from bertlab_app import url
from bertlab_app.classroom import compute, current, distribution, roles, teacher
from bertlab_app.classroom.current import Place
from bertlab_app.i18n import language, t
from bertlab_app.registry import PAGES
from bertlab_app.widgets import components, frame

# The maximum number of students' pages that are drawn at once after a new step. All sessions share one process: if
# thirty pages were drawn at once, every student would wait for all of them before the panel appears.
PAGES_AT_ONCE = 2
_page_slots = threading.BoundedSemaphore(PAGES_AT_ONCE)


def follow(page: str) -> None:
    """Open the page of the current step if this session has not opened it yet."""
    state = st.session_state
    with frame.show_errors():
        if place := current.return_to_address(page):
            state["class.followed"] = place.key
        place = current.find_place()
        previous = state.get("class.followed")
        state["class.phase"], state["class.page"] = place and place.phase, _page_hash()
        if place is None or previous == place.key:
            return
        # without a class, a link to a step contains the values that the sender of the link has changed, so keep them
        if previous is None and not place.class_id and page == place.step.page:
            state["class.followed"] = place.key
            return
        open_step(place)


def open_step(place: Place) -> None:
    """Open the page of a step, and fill its fields with the parameters in the address of the step."""
    st.session_state["class.followed"], st.session_state["class.is_opening"] = place.key, True
    st.switch_page(PAGES[place.step.page].script, query_params=url.replace_values(place.step.parameters))


def draw() -> None:
    """Draw the panel if this session is in a lesson."""
    with frame.show_errors():
        place = current.find_place()
        if place is None:
            return
        for name in ("lesson", "present"):
            url.store(name, url.recall(name), in_address=not place.class_id or name == "present")
        is_presenting = teacher.is_presenting()
        key = "class-presenting" if is_presenting else "class-panel"
        components.apply_further_style(key)
        with st.container(key=key):
            st.fragment(_draw_step)()
            if roles.is_teacher() and not is_presenting:
                teacher.draw_menu(place)


def hide_page() -> bool:
    """If the step's page would give the answer away, show a note instead."""
    with frame.show_errors():
        place = current.find_place()
        if place and place.hides_page and place.step.page == (st.session_state["url.page"] or "start"):
            st.title(t(f"{place.step.page}-title"), anchor=False)
            frame.note(t("class-page-hidden"))
            for name, value in place.step.parameters.items():
                url.store(name, value, default=None)  # keeps the value in the address, for a reload
            return True
    return False


@contextmanager
def take_turn() -> Iterator[None]:
    """Wait until fewer than `PAGES_AT_ONCE` students' pages are being drawn for a new step, then run the block."""
    is_opening = st.session_state.pop("class.is_opening", False)
    must_wait = is_opening and roles.is_in_class() and not roles.is_teacher()
    if must_wait:
        _page_slots.acquire()
    try:
        yield
    finally:
        if must_wait:
            _page_slots.release()


@frame.show_errors()
def _draw_step() -> None:
    # the state is read before the step, so that a change after this line makes the browser run the panel again
    class_state = current.open_store().describe() if roles.is_in_class() else ""
    place = current.find_place()
    if place is None:
        st.rerun(scope="app")
    if place.key != st.session_state.get("class.followed") or _is_requested_by_previous_page():
        open_step(place)
    if place.class_id:
        components.rerun_on_classroom_change(class_state, is_teacher=roles.is_teacher())
    # the page Guess, and a page that is hidden until the answer is revealed, must be drawn again at that moment
    depends_on_phase = place.step.page == "guess" or place.step.hides_page
    if depends_on_phase and place.phase != st.session_state.get("class.phase"):
        st.session_state["class.is_opening"] = True
        st.rerun(scope="app")
    if place.class_id and not roles.is_teacher():
        current.open_store().record_presence(roles.token())
    st.html(make_heading(place.lesson, place.step_index, language()))
    st.markdown(compute.fill_in_step(place.step).say)
    if place.step.question:
        st.markdown(f"**{t('class-question')}** {place.step.question.ask}")
        if roles.is_teacher():
            teacher.draw_question(place, place.step.question)
        else:
            _draw_question(place, place.step.question)
    if roles.is_teacher():
        teacher.draw_controls(place)
    else:
        _draw_navigation(place)


def _page_hash() -> str:
    """Return Streamlit's hash of the page that the browser shows."""
    return getattr(get_script_run_ctx(), "page_script_hash", "")


def _is_requested_by_previous_page() -> bool:
    """Whether the browser still showed the previous page when it requested this run of the panel."""
    context = get_script_run_ctx()
    is_fragment = bool(getattr(context, "fragment_ids_this_run", None))
    return is_fragment and _page_hash() != st.session_state["class.page"]


def _draw_question(place: Place, question: Question) -> None:
    """Draw the question for a student: the form with the student's guess or, later, all guesses and the answer."""
    own_guess = current.find_own_guess(place, roles.token() if place.class_id else "")
    if problem := st.session_state.pop("class.problem", ""):
        frame.note(t(problem), "error")
    if place.phase == "closed":
        st.html(f'<p class="small">{t("class-not-open")}</p>')
    elif place.phase == "open":
        _draw_form(place, question, own_guess)
    else:
        if own_guess is not None:
            line = t("class-own-guess", guess=distribution.describe_guess(question, own_guess))
            st.html(f'<p class="small" dir="auto">{escape_html(line)}</p>')
        store = current.open_store() if place.class_id else None
        counts = store.count_guesses(place.step_index) if store else {own_guess: 1}
        teacher.draw_revealed(question, counts, own_guess)


def _draw_form(place: Place, question: Question, own_guess: str | None) -> None:
    """Draw the form for a guess and, if the student has already sent one, a line that shows it."""
    key = f"class.form.{place.class_id}.{place.lesson.name}.{place.step_index}"
    with st.form(key, border=False):
        if question.kind == "choices":
            st.radio(
                t("class-guess"), range(len(question.choices)), key=f"{key}.value", index=None,
                format_func=question.choices.__getitem__, label_visibility="collapsed",
            )  # fmt: skip
        elif question.kind == "number":
            limits = {"min_value": _to_float(question.low), "max_value": _to_float(question.high)}
            label = f"{t('class-guess')} {question.unit}"
            st.number_input(label, key=f"{key}.value", value=None, step=1.0, format="%g", **limits)
        else:
            st.text_input(t("class-guess"), key=f"{key}.value", max_chars=MAX_WORD_LENGTH)
        label = t("class-send" if own_guess is None else "class-change")
        st.form_submit_button(label, type="primary", width="stretch", on_click=_send, args=(place, question, key))
    if own_guess is not None:
        line = t("class-guess-sent", guess=distribution.describe_guess(question, own_guess))
        st.html(f'<p class="small" role="status" dir="auto">{escape_html(line)}</p>')


def _send(place: Place, question: Question, key: str) -> None:
    """Record the guess that the form contains; if it cannot be recorded, the panel says why."""
    value = st.session_state.get(f"{key}.value")
    guess = None if value is None else question.parse_guess(value)
    if guess is None:
        st.session_state["class.problem"] = "class-guess-first"
    elif not place.class_id:
        st.session_state[f"lesson.guess.{place.lesson.name}.{place.step_index}"] = guess
    elif not current.open_store().record_guess(roles.token(), place.step_index, guess):
        st.session_state["class.problem"] = "class-question-closed"


def _to_float(number: float | None) -> float | None:
    return None if number is None else float(number)


def _draw_navigation(place: Place) -> None:
    """Draw a student's buttons: back to the page of the step and, without a class, to the other steps."""
    name, index, count = place.lesson.name, place.step_index, len(place.lesson.steps)
    is_last = index == count - 1
    if not place.class_id:
        with st.container(horizontal=True):
            st.button(
                t("class-back"), icon=":material/arrow_back:", key="lesson-back", disabled=index == 0,
                on_click=current.store_place, args=(name, index - 1),
            )  # fmt: skip
            st.button(
                t("class-finish" if is_last else "class-next"), key="lesson-next", type="primary",
                icon=":material/check:" if is_last else ":material/arrow_forward:", on_click=current.store_place,
                args=("", 0) if is_last else (name, index + 1),
            )  # fmt: skip
        if is_last and place.lesson.next_pages:
            _draw_next_pages(place.lesson.next_pages)
    with st.container(horizontal=True):
        if st.button(t("class-page-again"), key="class-page-again", type="tertiary"):
            st.session_state["class.followed"] = ""
            st.rerun(scope="app")
        if not place.class_id and not is_last:
            st.button(t("class-leave"), key="lesson-leave", type="tertiary", on_click=current.store_place, args=("", 0))


def _draw_next_pages(names: tuple[str, ...]) -> None:
    """Draw a button for each page that a reader may want to see next."""
    st.html(f'<p class="small">{t("class-what-next")}</p>')
    for name in names:
        page = PAGES[name]
        if st.button(t(page.name), icon=page.icon, key=f"lesson-to-{name}", width="stretch"):
            current.store_place("", 0)
            st.switch_page(page.script)
