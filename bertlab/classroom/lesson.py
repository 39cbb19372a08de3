"""Read the files of class lessons, one TOML file each. Every step shows a page of the app, and may ask a question.

    title = "Where attention goes"
    minutes = 45
    lead = "One sentence for the list of lessons."
    next = ["attention", "training"]        # optional: pages that the last step suggests to a single reader

    [[steps]]
    title = "A pronoun"
    minutes = 5
    page = "attention?a=The+cat+slept+because+it+was+tired.&layer=1"   # an address copied from the browser works too
    say = "Text for the students, in Markdown. Computed values: *it* attends to { $key } with { $share }."
    notes = "Notes that only the teacher sees."
    hide_page = true      # optional: hide the page until the answer is shown, if the page would give it away

    [steps.question]
    ask = "Which word does *it* attend to most?"
    choices = ["cat", "slept", "tired"]     # or `kind = "number"`, or `kind = "word"`
    answer = 1                              # optional: a choice (1 for the first one), a number, or a word
    reveal = "Text to show after the guesses, in Markdown."

The shipped lessons are `bertlab/locales/CODE/classroom/NAME.toml`. The files of a lesson in different languages have
the same steps and the same kinds of questions, so one class can read the lesson in several languages.
`computed_values.VALUE_NAMES` lists the values that can be computed for each page.
"""

import math
import re
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from urllib.parse import parse_qsl, urlencode, urlsplit

from bertlab.classroom.computed_values import VALUE_NAMES, find_value_names
from bertlab.classroom.table import Table
from bertlab.config.errors import DataError
from bertlab.config.files import describe_system_error
from bertlab.config.languages import DEFAULT, Message, languages

KINDS = ("choices", "number", "word")  # the kinds of questions, by what a student enters as the answer
MAX_WORD_LENGTH = 40  # characters; the rest of a longer guess is not stored

# the names of the fields that the file, a step and a question may have
_LESSON_FIELDS = ("title", "minutes", "lead", "next", "steps")
_STEP_FIELDS = ("title", "minutes", "page", "say", "notes", "hide_page", "question")
_QUESTION_FIELDS = ("ask", "kind", "choices", "answer", "unit", "low", "high", "reveal")


@dataclass(frozen=True)
class Question:
    """A question of a step. Everyone answers it before the answer is revealed."""

    ask: str  # the question, in Markdown
    kind: str  # how the question is answered, one of `KINDS`: with one of several choices, a number or a word
    choices: tuple[str, ...] = ()
    answer: int | float | str | None = None
    """The correct answer: a number, a word, or the index of a choice (counted from 0); None if there is none."""
    unit: str = ""  # the unit of the numbers that are guessed, such as "%"; "" for none
    low: float | None = None
    high: float | None = None
    reveal: str = ""  # what is shown after the guesses, in Markdown

    def parse_guess(self, value: object) -> str | None:
        """Convert a guess to the text that is stored; None if it is not a valid answer to the question.

        >>> question = Question("How many?", "number", high=100)
        >>> question.parse_guess(12.0), question.parse_guess(101), question.parse_guess("many")
        ('12', None, None)
        """
        if self.kind == "word":
            word = " ".join(str(value).split())[:MAX_WORD_LENGTH].lower()
            return word or None
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            return None
        if self.kind == "choices":
            return str(int(value)) if value in range(len(self.choices)) else None
        if (self.low is not None and value < self.low) or (self.high is not None and value > self.high):
            return None
        return f"{value:g}"


@dataclass(frozen=True)
class Step:
    """A step of a lesson: a page of the app, a text about this page, and perhaps a question."""

    title: str
    minutes: int  # how long the step takes, in minutes; 0 if the file does not say
    page: str  # the name of the page, "start" for the start page
    parameters: Mapping[str, str]  # the query parameters in the address of the page: {name: value}
    say: str
    """The text that the students read, in Markdown. It may contain names of computed values, such as `{ $share }`."""
    notes: str  # notes for the teacher, in Markdown; students never receive them
    question: Question | None = None
    hides_page: bool = False
    """Whether the page is hidden until the answer is shown, because the page would give the answer away."""

    @property
    def address(self) -> str:
        """The address of the page, relative to the address of the app."""
        page = "" if self.page == "start" else self.page
        return f"{page}?{urlencode(self.parameters)}" if self.parameters else page


@dataclass(frozen=True)
class Lesson:
    """A lesson for a class of students."""

    name: str  # the name of the lesson's file without the suffix
    title: str
    minutes: int  # how long the lesson takes, in minutes
    lead: str  # one sentence for the list of lessons
    steps: tuple[Step, ...] = field(repr=False)
    next_pages: tuple[str, ...] = ()  # the names of the pages that the last step suggests

    @property
    def has_computed_values(self) -> bool:
        """Whether the text of any step contains computed values, for which the app needs a model."""
        return any(find_value_names(step.say) for step in self.steps)


@cache
def find_lessons() -> dict[str, dict[str, Path]]:
    """Find the shipped lessons -> {name: {language code: its file}}, in the order of the English file names.

    >>> "attention" in find_lessons()
    True
    """
    files_by_lesson: dict[str, dict[str, Path]] = {}
    for code, language in languages().items():
        for path in sorted((language.directory / "classroom").glob("*.toml")):
            files_by_lesson.setdefault(_strip_number(path.stem), {})[code] = path
    return files_by_lesson


def locate_lesson(name: str) -> dict[str, Path]:
    """Find the files of a lesson by its name, or by the path of a teacher's file -> {language code: file}."""
    shipped = find_lessons()
    if name in shipped:
        return shipped[name]
    path = Path(name).expanduser()
    if not path.is_file():
        raise DataError("lesson-not-found", name=name, known=list(shipped))
    return {DEFAULT: path}


def read_lesson(path: Path, pages: Collection[str] | None) -> Lesson:
    """Read a lesson file.

    Args:
        pages: the names of the app's pages; None to accept any page name in the file.

    >>> read_lesson(find_lessons()["attention"]["en"], ["attention", "heads", "start", "input"]).minutes
    45
    """
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except tomllib.TOMLDecodeError as error:
        line_match = re.search(r"\(at line (\d+)", str(error))
        line = Message("lesson-line", number=line_match[1]) if line_match else Message("lesson-last-line")
        reason = re.sub(r" \(at .*\)$", "", str(error))
        raise DataError("lesson-not-toml", path=path, line=line, reason=reason) from None
    except UnicodeDecodeError:
        raise DataError("file-not-utf8", path=path) from None
    except OSError as error:
        raise DataError("file-not-readable", path=path, reason=describe_system_error(error)) from None
    lesson = Table(path, Message("lesson-place-top"), content, _LESSON_FIELDS)
    steps = lesson.read_tables("steps")
    return Lesson(
        name=_strip_number(path.stem),
        title=lesson.read_text("title"),
        minutes=lesson.read_minutes(required=True),
        lead=lesson.read_text("lead", required=False),
        steps=tuple(_read_step(path, number, step, pages) for number, step in enumerate(steps, 1)),
        next_pages=lesson.read_pages("next", pages),
    )


def _strip_number(stem: str) -> str:
    """Remove the number at the start of the name of a shipped file: "1-attention" -> "attention"."""
    return re.sub(r"^\d+-", "", stem)


def _read_step(path: Path, number: int, content: object, pages: Collection[str] | None) -> Step:
    step = Table(path, Message("lesson-place-step", number=number), content, _STEP_FIELDS)
    page, parameters = _parse_address(step, pages)
    question = None
    if "question" in step.content:
        place = Message("lesson-place-question", number=number)
        question = _read_question(Table(path, place, step.content["question"], _QUESTION_FIELDS))
    say, allowed_names = step.read_text("say"), VALUE_NAMES.get(page, ())
    if not set(find_value_names(say)) <= set(allowed_names):
        placeholders = [f"{{ ${name} }}" for name in allowed_names] or "none"
        raise step.make_error("say", Message("lesson-expected-names", page=page, names=placeholders))
    notes = step.read_text("notes", required=False)
    return Step(
        step.read_text("title"), step.read_minutes(), page, parameters, say, notes, question,
        step.read_flag("hide_page"),
    )  # fmt: skip


def _parse_address(step: Table, pages: Collection[str] | None) -> tuple[str, dict[str, str]]:
    """Split the address of a step, which may be copied from a browser, into the name of the page and its parameters."""
    parts = urlsplit(step.read_text("page"))
    page = parts.path.strip("/") or "start"
    if pages is not None and page not in pages:
        raise step.make_error("page", Message("lesson-expected-page", pages=sorted(pages)))
    parameters = dict(parse_qsl(parts.query, keep_blank_values=True))
    # a copied address may also contain the language, the key and the lesson of the session that it was copied from
    return page, {name: value for name, value in parameters.items() if name not in ("lang", "key", "lesson", "present")}


def _read_question(table: Table) -> Question:
    kind = table.read_text("kind", required=False) or ("choices" if "choices" in table.content else "")
    if kind not in KINDS:
        raise table.make_error("kind", Message("lesson-expected-kind", kinds=list(KINDS)))
    choices = table.read_choices() if kind == "choices" else ()
    return Question(
        ask=table.read_text("ask"), kind=kind, choices=choices, answer=_read_answer(table, kind, choices),
        unit=table.read_text("unit", required=False), low=table.read_number("low"), high=table.read_number("high"),
        reveal=table.read_text("reveal", required=False),
    )  # fmt: skip


def _read_answer(table: Table, kind: str, choices: tuple[str, ...]) -> int | float | str | None:
    """Read the answer of a question. Choices are counted from 1 in the file, and from 0 in the result."""
    if "answer" not in table.content:
        return None
    answer = table.content["answer"]
    if kind == "choices":
        if type(answer) is not int or not 1 <= answer <= len(choices):
            raise table.make_error("answer", Message("lesson-expected-choice", count=len(choices)))
        return answer - 1
    return table.read_number("answer") if kind == "number" else table.read_text("answer")
