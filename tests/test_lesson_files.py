"""Lesson files: what a valid one means, and the error for each kind of invalid one."""

import re

import pytest
from bertlab_app.registry import PAGES
from support.errors import raises_error

from bertlab.classroom.computed_values import find_value_names
from bertlab.classroom.lesson import find_lessons, locate_lesson, read_lesson
from bertlab.config.errors import DataError
from bertlab.config.languages import Message, languages

LESSON = """
title = "Tea"
minutes = 45

[[steps]]
title = "A cup"
page = "http://192.168.0.7:8501/fill-mask?text=Green+%5BMASK%5D&lang=ko&key=secret"
say = "Look at the **cup**."
notes = "Bring cups."

[steps.question]
ask = "Which?"
choices = ["green", "black"]
answer = 2
reveal = "Black."

[[steps]]
title = "A number"
page = "/"
say = "Count."
question = { ask = "How many?", kind = "number", answer = 3.5, low = 0, high = 10, unit = "%" }
"""


@pytest.fixture
def write(tmp_path):
    def write(text):
        path = tmp_path / "2-tea.toml"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_a_lesson_is_read_with_addresses_copied_from_a_browser(write):
    lesson = read_lesson(write(LESSON), PAGES)
    first, second = lesson.steps
    assert (lesson.name, lesson.title, lesson.minutes) == ("tea", "Tea", 45)
    assert (first.page, dict(first.parameters)) == ("fill-mask", {"text": "Green [MASK]"})
    assert first.address == "fill-mask?text=Green+%5BMASK%5D"
    assert (first.question.kind, first.question.answer) == ("choices", 1)
    assert (second.page, second.address, second.question.answer) == ("start", "", 3.5)


@pytest.mark.parametrize(
    ("old", "new", "id", "field"),
    [
        ('title = "Tea"', 'title = "Tea', "lesson-not-toml", None),
        ('title = "Tea"', "", "lesson-field-missing", "title"),
        ("minutes = 45", 'minutes = "long"', "lesson-field-invalid", "minutes"),
        ("minutes = 45", "minutes = 45\nteacher = 1", "lesson-field-unknown", "teacher"),
        ("fill-mask?", "fill-msk?", "lesson-field-invalid", "page"),
        ('say = "Count."', 'say = "Count."\nhide_page = "yes"', "lesson-field-invalid", "hide_page"),
        ('say = "Count."', 'says = "Count."', "lesson-field-unknown", "says"),
        ('say = "Count."', 'say = "{ $share }"', "lesson-field-invalid", "say"),
        ("the **cup**", "{$sahre}", "lesson-field-invalid", "say"),
        ("minutes = 45", 'minutes = 45\nnext = ["start", "coffee"]', "lesson-field-invalid", "next"),
        ('["green", "black"]', '["green"]', "lesson-field-invalid", "choices"),
        ("answer = 2", "answer = 3", "lesson-field-invalid", "answer"),
        ("answer = 2", "answer = true", "lesson-field-invalid", "answer"),
        ('kind = "number"', 'kind = "colour"', "lesson-field-invalid", "kind"),
        ('kind = "number", ', "", "lesson-field-missing", "kind"),
        ("answer = 3.5", "answer = nan", "lesson-field-invalid", "answer"),
        ("answer = 3.5", 'answer = "x"', "lesson-field-invalid", "answer"),
    ],
)
def test_an_invalid_file_names_the_field(write, old, new, id, field):
    assert old in LESSON
    with raises_error(DataError, id) as error:
        read_lesson(write(LESSON.replace(old, new)), PAGES)
    assert error.value.params.get("field") == field
    for code in languages():
        message = error.value.render(code)
        assert "2-tea.toml" in message
        assert "\n" not in message


def test_an_error_names_the_line_or_the_step(write):
    with raises_error(DataError, "lesson-not-toml", line=Message("lesson-line", number="3")) as error:
        read_lesson(write(LESSON.replace("minutes = 45", "minutes = ")), PAGES)
    with raises_error(DataError, "lesson-field-missing") as error:
        read_lesson(write(LESSON.replace('title = "A number"', "")), PAGES)
    assert "step 2" in str(error.value)


@pytest.mark.parametrize("content", ["", "steps = 3\ntitle='a'\nminutes=1", "steps = [1]\ntitle='a'\nminutes=1", "\0"])
def test_no_file_causes_another_error(write, content):
    with pytest.raises(DataError):
        read_lesson(write(content), PAGES)


def test_an_unknown_lesson_and_a_binary_file_are_errors(tmp_path):
    with raises_error(DataError, "lesson-not-found"):
        locate_lesson(str(tmp_path / "none.toml"))
    path = tmp_path / "picture.toml"
    path.write_bytes(b"\xff\xfe\x00")
    with raises_error(DataError, "file-not-utf8"):
        read_lesson(path, PAGES)


@pytest.mark.parametrize("name", list(find_lessons()))
def test_a_shipped_lesson_has_the_same_steps_in_every_language(name):
    files = find_lessons()[name]
    assert files.keys() == set(languages())
    lessons = [read_lesson(path, PAGES) for path in files.values()]

    def shape(step):
        return (
            step.page,
            step.hides_page,
            step.minutes,
            step.question and (step.question.kind, len(step.question.choices)),
        )

    shapes = [list(map(shape, lesson.steps)) for lesson in lessons]
    assert all(shape == shapes[0] for shape in shapes)
    for lesson in lessons:
        assert sum(step.minutes for step in lesson.steps) == lesson.minutes
        assert all(step.notes for step in lesson.steps), "a teacher who has not prepared needs notes"
        computed = [[sorted(find_value_names(step.say)) for step in one.steps] for one in (lesson, lessons[0])]
        assert computed[0] == computed[1]
        if name == "tour":
            assert len(lesson.steps) == 5
            assert lesson.next_pages == lessons[0].next_pages != ()
            assert not re.search(r"\d\d|\d%", "".join(step.say for step in lesson.steps)), "its numbers are computed"
        else:
            assert lesson.minutes == 45
            assert sum(step.question is not None for step in lesson.steps) >= 4


def test_guesses_are_checked(write):
    choices, number = (step.question for step in read_lesson(write(LESSON), PAGES).steps)
    assert [choices.parse_guess(value) for value in (0, 1, 2, -1, "0", True, 0.5)] == ["0", "1", *[None] * 5]
    assert [number.parse_guess(value) for value in (0, 2.5, 11, -1, float("nan"), "3")] == ["0", "2.5", *[None] * 4]
