"""Functions for the teaching notebooks in `notebooks`: their language, tables, figures with alt text, exercises."""

import html
import json
import os
import re
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from bertlab.config.languages import DEFAULT, render
from bertlab.config.text_table import format_table

FAST_VARIABLE = "FAST"  # the environment variable that says whether slow cells should compute less
REPOSITORY = Path(__file__).parent.parent
# page of the app -> the number of the lesson that computes by hand what the page shows
PAGE_LESSONS = {
    "attention": "01", "input": "02", "wordpiece": "02", "fill-mask": "03", "pretraining": "03", "next-sentence": "04",
    "training": "06", "time-machine": "06", "train-live": "06", "classify": "07", "compare": "07", "answer": "08",
    "xray": "08", "heads": "09", "paper": "10", "serving": "12",
}  # fmt: skip
Value = TypeVar("Value")
# (function that returns whether an answer meets a condition, advice to print if the answer does not)
Condition = tuple[Callable[[Any], Any], str]

_language = DEFAULT  # of the notebook that this process runs


def use_language(code: str) -> None:
    """Set the language of the notebook; its first cell calls this function."""
    global _language
    _language = code


def language() -> str:
    """Return the code of the notebook's language (see `use_language`)."""
    return _language


@cache
def list_lessons(language: str) -> tuple[tuple[str, str], ...]:
    """List the lessons in a language: for each, its title and its path in the repository.

    The list is empty if bertlab was installed without the repository, or if the language has no lessons.
    """
    lessons = []
    for path in sorted((REPOSITORY / "notebooks" / language).glob("[0-9]*.ipynb")):
        first_text = json.loads(path.read_text(encoding="utf-8"))["cells"][1]  # follows the cell that installs bertlab
        lessons.append(
            ("".join(first_text["source"]).split("\n")[0].removeprefix("# "), str(path.relative_to(REPOSITORY)))
        )
    return tuple(lessons)


def find_lesson(page: str, language: str) -> str | None:
    """Find the title of the lesson for a page of the app (see `PAGE_LESSONS`); None if there is none in this language.

    >>> find_lesson("lessons", "en")
    """
    number = PAGE_LESSONS.get(page)
    titles = (title for title, path in list_lessons(language) if Path(path).name[:2] == number)
    return next(titles, None)


def pick(**values: Value) -> Value:
    """Return the value for the language of the notebook.

    >>> pick(en="tea", ko="차")
    'tea'
    """
    return values.get(language(), values[DEFAULT])


def is_fast() -> bool:
    """Whether slow cells should compute less: the environment variable `FAST` is 1."""
    return os.environ.get(FAST_VARIABLE) == "1"


def show(drawing: Any, alt: str) -> None:
    """Show a Plotly figure or a widget, with a text for readers who cannot see it."""
    from IPython.display import display

    if hasattr(drawing, "to_plotly_json"):
        content = json.loads(_compress(drawing).to_json())
        bundle = {"application/vnd.plotly.v1+json": {**content, "config": {"displayModeBar": False}}}
    else:
        bundle, _ = drawing._repr_mimebundle_()
        bundle = {kind: data for kind, data in bundle.items() if kind.startswith("application/vnd.jupyter")}
    display({**bundle, "text/plain": alt}, raw=True)


def _compress(figure: Any) -> Any:
    """Convert long lists of numbers in a figure to 32-bit arrays."""
    for trace in figure.data:
        for name in ("x", "y", "z", "customdata"):
            values = getattr(trace, name, None)
            array = np.asarray(values) if values is not None and len(values) > 8 else np.zeros(0, str)
            if array.dtype.kind in "if" and array.size > 50:
                trace[name] = array.astype(np.float32)
    return figure


def show_table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Show a table; numbers are aligned to the right."""
    from IPython.display import display

    texts = [[str(cell) for cell in row] for row in rows]
    alignments = ["<" if any(row[n] and not _is_number(row[n]) for row in texts) else ">" for n in range(len(columns))]
    display(
        {
            "text/html": _make_html_table(columns, texts, alignments),
            "text/plain": "\n".join(format_table([list(columns), *texts], "".join(alignments))),
        },
        raw=True,
    )


def run_check(lesson: str, number: int) -> None:
    """Check the answer to an exercise with the conditions in the source file of the lesson.

    The notebook does not contain the conditions, because many of them would reveal the answer.
    """
    from IPython import get_ipython

    path = REPOSITORY / "notebooks" / "src" / f"{lesson}.py"
    if not path.is_file():
        print(render("lesson-without-checks", language()))
        return
    cells = re.split(r"^# %%", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    code = next(cell for cell in cells if cell.startswith(f" check {number}\n"))
    # `split` has removed the "# %%" of the first line, so that line needs a new comment mark
    exec(compile("#" + code, str(path), "exec"), get_ipython().user_ns)


def check(number: int, answer: object, *conditions: Condition) -> None:
    """Check the answer to an exercise, and print the advice of the first condition that it does not meet.

    Args:
        conditions: pairs of a function and a piece of advice. The function takes the answer; if it returns false or
            raises an error, the advice is printed.
    """
    if answer is ...:
        print(render("lesson-not-answered", language(), number=number))
        return
    for meets_condition, advice in conditions:
        try:
            is_met = bool(meets_condition(answer))
        except Exception:  # noqa: BLE001  an answer may be of any type
            is_met = False
        if not is_met:
            print(render("lesson-not-yet", language(), number=number, advice=advice))
            return
    print(render("lesson-correct", language(), number=number))


def _is_number(text: str) -> bool:
    """Whether a cell is a number, possibly with a sign or a percent sign.

    >>> [_is_number(text) for text in ("12", "−0.5", "99.1 %", "tea")]
    [True, True, True, False]
    """
    return text.replace("−", "-").rstrip(" %").lstrip("+-").replace(".", "", 1).replace(",", "").isdigit()


def _make_html_table(columns: Sequence[str], rows: Sequence[Sequence[str]], alignments: Sequence[str]) -> str:
    styles = [f'style="text-align: {"left" if alignment == "<" else "right"}"' for alignment in alignments]
    head = "".join(f"<th {style}>{html.escape(cell)}</th>" for cell, style in zip(columns, styles, strict=True))
    body = "".join(
        "<tr>" + "".join(f"<td {s}>{html.escape(cell)}</td>" for cell, s in zip(row, styles, strict=True)) + "</tr>\n"
        for row in rows
    )
    return f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody>\n</table>"
