"""The teacher's part of the classroom panel: the steps, the question, all guesses, and the menu for the lesson.

Each function that changes the state of the lesson, or deletes or exports the guesses of the students, first checks that
this session belongs to the teacher.
"""

import os
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import streamlit as st

from bertlab.classroom.handout import make_handout
from bertlab.classroom.lesson import Question
from bertlab.cli.app import CLASSROOM_ADDRESS
from bertlab.config.errors import BertlabError
from bertlab.views.passage import escape_html
from bertlab.views.qr_code import qr_code
from bertlab_app import url
from bertlab_app.classroom import compute, current, distribution, roles
from bertlab_app.classroom.current import Place
from bertlab_app.i18n import language, t
from bertlab_app.widgets import frame


def is_presenting() -> bool:
    """Whether this session is the teacher's view for a projector: large type, no sidebar, no notes, arrow keys."""
    return roles.is_teacher() and url.recall("present") == "1"


def check_teacher() -> None:
    """Raise an error if this session is not the teacher's."""
    if not roles.is_teacher():
        raise BertlabError("class-needs-key")


def go_to(step_index: int) -> None:
    """Take the teacher and all students to the step with this index."""
    check_teacher()
    current.open_store().go_to(step_index)


def set_phase(phase: str) -> None:
    """Open or close the question of the current step, or reveal the answer to it."""
    check_teacher()
    current.open_store().set_phase(phase)


def delete_all() -> None:
    check_teacher()
    current.open_store().delete_all()


def make_csv_export() -> Callable[[], str]:
    """Return a function that makes a CSV file of all guesses, without names; it may be called outside of a session."""
    check_teacher()
    return current.open_store().export_csv


def draw_question(place: Place, question: Question) -> None:
    """Draw the number of students who have answered, the guesses, and the button for the next phase."""
    store = current.open_store()
    counts = store.count_guesses(place.step_index)
    if place.phase != "closed":
        num_answered = sum(counts.values())
        num_present = max(store.count_present(), num_answered)
        line = t("class-answered", answered=num_answered, present=num_present, waiting=num_present - num_answered)
        st.html(f'<p class="say" role="status">{line}</p>')
    # on the projector, a growing distribution would influence those who have not answered yet
    if place.phase == "revealed":
        draw_revealed(question, counts, None)
    elif place.phase == "open" and not is_presenting():
        st.html(distribution.draw_bars(question, counts, own_guess=None, shows_answer=False))
    next_phase = {"closed": "open", "open": "revealed", "revealed": "open"}[place.phase]
    label = t({"closed": "class-open", "open": "class-reveal", "revealed": "class-open-again"}[place.phase])
    st.button(
        label, key="class-phase", type="secondary" if place.phase == "revealed" else "primary", width="stretch",
        on_click=set_phase, args=(next_phase,), shortcut="Down" if is_presenting() else None,
    )  # fmt: skip


def draw_revealed(question: Question, counts: dict[str, int], own_guess: str | None) -> None:
    """Draw the guesses of the class, the answer, and the text that explains it."""
    st.html(distribution.draw_bars(question, counts, own_guess=own_guess, shows_answer=True))
    if question.kind != "choices" and question.answer is not None:
        answer = f"{question.answer:g}{question.unit}" if question.kind == "number" else question.answer
        st.html(f'<p class="answer" dir="auto">{escape_html(t("class-answer", answer=answer))}</p>')
    st.markdown(question.reveal)


def draw_controls(place: Place) -> None:
    """Draw the buttons to the other steps, the notes, and the list of steps."""
    index, last_index = place.step_index, len(place.lesson.steps) - 1
    if not place.step.question or place.phase == "closed":
        line = t("class-here", count=current.open_store().count_present())
        st.html(f'<p class="small" role="status">{line}</p>')
    shortcuts = ("Left", "Right") if is_presenting() else (None, None)
    with st.container(horizontal=True):
        st.button(
            t("class-back"), icon=":material/arrow_back:", key="class-back", disabled=index == 0, on_click=go_to,
            args=(index - 1,), shortcut=shortcuts[0],
        )  # fmt: skip
        st.button(
            t("class-next"), icon=":material/arrow_forward:", key="class-next", disabled=index == last_index,
            on_click=go_to, args=(index + 1,), shortcut=shortcuts[1],
        )  # fmt: skip
    if (st.session_state["url.page"] or "start") != place.step.page and st.button(
        t("class-page-again"), key="class-page-again", type="tertiary"
    ):
        st.session_state["class.followed"] = ""  # forget the step whose page was opened last, to open it again
        st.rerun(scope="app")
    if is_presenting():
        draw_address(with_qr_code=index == 0)
        return
    if place.step.notes:
        with st.container(border=True, key="class-notes"):
            st.markdown(f"**{t('class-notes')}** {place.step.notes}")
    with st.expander(t("class-steps")):
        for step_index, step in enumerate(place.lesson.steps):
            minutes = f" · {t('class-minutes', count=step.minutes)}" if step.minutes else ""
            st.button(
                f"{step_index + 1}. {step.title}{minutes}", key=f"class-step-{step_index}", type="tertiary",
                disabled=step_index == index, on_click=go_to, args=(step_index,),
            )  # fmt: skip


def draw_menu(place: Place) -> None:
    """Draw the menu of the lesson: the students' address, and the buttons for projector, handout, CSV and deletion."""
    address = os.environ.get(CLASSROOM_ADDRESS, "")
    with st.expander(t("class-menu"), icon=":material/groups:"):
        draw_address(with_qr_code=True)
        st.link_button(
            t("class-present"), f"/?present=1&lang={language()}", icon=":material/present_to_all:", width="stretch"
        )
        lesson = replace(place.lesson, steps=tuple(map(compute.fill_in_step, place.lesson.steps)))
        st.download_button(
            t("class-handout"), partial(make_handout, lesson, language(), address),
            f"{place.lesson.name}.html", "text/html", on_click="ignore", icon=":material/description:", width="stretch",
        )  # fmt: skip
        st.download_button(
            t("class-csv"), make_csv_export(), "guesses.csv", "text/csv", on_click="ignore", icon=":material/download:",
            width="stretch",
        )  # fmt: skip
        is_sure = st.checkbox(t("class-delete-sure"), key="class-delete-sure")
        st.button(
            t("class-delete"), key="class-delete", icon=":material/delete:", width="stretch", disabled=not is_sure,
            on_click=_delete_and_uncheck,
        )  # fmt: skip


def draw_address(*, with_qr_code: bool) -> None:
    address = os.environ.get(CLASSROOM_ADDRESS, "")
    st.html(f"<p>{t('class-join')} <b>{escape_html(address)}</b></p>")
    if with_qr_code:
        with frame.show_errors():
            label, source = escape_html(t("class-qr-code")), escape_html(qr_code(address))
            st.html(f'<img class="qr-code" alt="{label}" src="{source}">')


def _delete_and_uncheck() -> None:
    """Delete all guesses after the teacher has confirmed it, and uncheck the confirmation."""
    delete_all()
    st.session_state["class-delete-sure"] = False
    st.toast(t("class-deleted"))
