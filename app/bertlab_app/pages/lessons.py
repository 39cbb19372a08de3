"""Lessons: start a lesson without a class, save its handout, see how to teach it to a class, and find the notebooks."""

from functools import partial

import streamlit as st
from bertlab_app.classroom import current, roles
from bertlab_app.i18n import language, t
from bertlab_app.widgets import frame

from bertlab.classroom.handout import make_handout
from bertlab.classroom.lesson import find_lessons
from bertlab.lessons import list_lessons
from bertlab.views.passage import escape_html

frame.heading("lessons")
if roles.is_in_class():
    frame.note(t("lessons-in-class"))
else:
    for name in find_lessons():
        with frame.show_errors(), st.container(border=True):
            lesson = current.load_lesson(name)
            minutes = t("class-minutes", count=lesson.minutes)
            steps = t("lessons-steps", count=len(lesson.steps))
            st.html(f'<p class="name">{escape_html(lesson.title)}<span>{minutes} · {steps}</span></p>')
            st.html(f'<p class="small">{escape_html(lesson.lead)}</p>')
            with st.container(horizontal=True):
                st.button(
                    t("lessons-start"), key=f"start-{name}", icon=":material/play_arrow:", type="primary",
                    on_click=current.store_place, args=(name, 0),
                )  # fmt: skip
                if not lesson.has_computed_values:  # a handout here is made without a model
                    # the server calls this function outside of the session, so the language is an argument
                    st.download_button(
                        t("class-handout"), partial(make_handout, lesson, language()), f"{name}.html", "text/html",
                        on_click="ignore", icon=":material/description:", key=f"handout-{name}",
                    )  # fmt: skip
    st.subheader(t("lessons-class"), anchor=False)
    frame.note_with_command(t("lessons-class-lead"), "bertlab app --class attention")
    frame.note_with_command(t("lessons-own-lead"), "bertlab app --class my_lesson.toml")
    if notebooks := list_lessons(language()):
        st.subheader(t("lessons-notebooks"), anchor=False)
        frame.note_with_command(t("lessons-notebooks-lead"), "make lab")
        lines = (f"<li>{escape_html(title)} <code>{escape_html(path)}</code></li>" for title, path in notebooks)
        st.html(f'<ul class="small" style="list-style: none; padding: 0">{"".join(lines)}</ul>')
