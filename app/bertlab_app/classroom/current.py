"""The lesson of a session, and the current step of this lesson.

In a class (a teacher and students, see `bertlab app --class`), the teacher chooses the step. Without a class, the
reader chooses it.
"""

import os
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

import streamlit as st

from bertlab.classroom.lesson import Lesson, Step, find_lessons, locate_lesson, read_lesson
from bertlab.classroom.store import ClassStore
from bertlab.cli.app import CLASSROOM_LESSON
from bertlab.config.languages import DEFAULT
from bertlab_app import access, url
from bertlab_app.i18n import language
from bertlab_app.registry import PAGES


@dataclass(frozen=True)
class Place:
    """A step of a lesson, and the phase of its question."""

    lesson: Lesson  # the lesson in the language of the session
    step_index: int  # the index of the step in the lesson
    phase: str  # one of `bertlab.classroom.store.PHASES`
    class_id: int  # the id of the class; 0 without a class

    @property
    def step(self) -> Step:
        return self.lesson.steps[self.step_index]

    @property
    def hides_page(self) -> bool:
        """Whether the page of the step is hidden at this moment."""
        return self.step.hides_page and self.step.question is not None and self.phase != "revealed"

    @property
    def key(self) -> str:
        """A key that differs between any two steps, and between the same step in two languages."""
        return f"{self.class_id}.{self.lesson.name}.{self.step_index}.{language()}"


def find_place() -> Place | None:
    """Find the step at which this session is; None if the session is in no lesson."""
    if name := os.environ.get(CLASSROOM_LESSON):
        lesson, state = load_lesson(name), open_store().get_state()
        return Place(lesson, min(state.step, len(lesson.steps) - 1), state.phase, state.id)
    name, _, step_number = url.recall("lesson").partition(".")
    if name not in find_lessons():
        return None
    lesson = load_lesson(name)
    is_valid = step_number.isdecimal() and len(step_number) < 4
    step_index = min(max(int(step_number) if is_valid else 1, 1), len(lesson.steps)) - 1
    phase = "revealed" if f"lesson.guess.{name}.{step_index}" in st.session_state else "open"
    return Place(lesson, step_index, phase, 0)


def store_place(lesson: str, step_index: int) -> None:
    """Go to a step of a lesson without a class."""
    st.session_state["url.values"]["lesson"] = f"{lesson}.{step_index + 1}" if lesson else ""


def return_to_address(page: str) -> Place | None:
    """Go to the step in the address after the browser's back or forward button."""
    if os.environ.get(CLASSROOM_LESSON) or not url.used_browser_history():
        return None
    values = st.session_state["url.values"]
    values["lesson"] = st.query_params.get("lesson", "")
    place = find_place()
    if place and place.step.page != page and place.step.parameters.items() <= st.query_params.to_dict().items():
        steps, index = place.lesson.steps, place.step_index
        neighbours = (neighbour for neighbour in (index - 1, index + 1) if neighbour in range(len(steps)))
        new_index = next((neighbour for neighbour in neighbours if steps[neighbour].page == page), None)
        store_place("" if new_index is None else place.lesson.name, new_index or 0)
        st.query_params.from_dict(url.make_address({} if new_index is None else steps[new_index].parameters))
        place = find_place()
    return place


def find_own_guess(place: Place, token: str) -> str | None:
    """Return the guess of this session for the question of a step; None if there is none."""
    if place.class_id:
        return open_store().find_guess(token, place.step_index)
    return st.session_state.get(f"lesson.guess.{place.lesson.name}.{place.step_index}")


def load_lesson(name: str, code: str = "") -> Lesson:
    """Read a lesson in a language; in English or any other one if it is not written in this language."""
    files = locate_lesson(name)
    path = files.get(code or language()) or files.get(DEFAULT) or next(iter(files.values()))
    return _read_cached(path, path.stat().st_mtime_ns)


@lru_cache(32)
def _read_cached(path: Path, version: int) -> Lesson:
    """Read a lesson file."""
    return read_lesson(path, PAGES)


@cache
def open_store() -> ClassStore:
    """Open the file that stores the state and the guesses of the class."""
    name = os.environ[CLASSROOM_LESSON]
    return ClassStore(Path(access.CLASSROOM_DIRECTORY), name if name in find_lessons() else Path(name).stem)
