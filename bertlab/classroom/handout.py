"""The handout of a lesson: one printable HTML page with the steps and questions, and the answers at the end."""

import html

from bertlab.classroom.lesson import Lesson, Question
from bertlab.classroom.step_text import render_markdown
from bertlab.config.languages import render

_STYLE = """
body { font: 16px/1.5 "Source Sans 3", "Noto Sans KR", "Apple SD Gothic Neo", "Malgun Gothic", sans-serif;
  max-width: 44rem; margin: 2rem auto; padding: 0 1rem; color: #20262d; background: #fff; }
body { word-break: keep-all; overflow-wrap: anywhere; }
h1 { font-size: 1.8rem; line-height: 1.2; } h2 { font-size: 1.2rem; margin-bottom: 0.2rem; }
section { break-inside: avoid; margin-bottom: 1.6rem; }
.question { border-inline-start: 4px solid #0f6e84; padding: 0.2rem 0.9rem; background: #f3f1ec; }
.line { border-bottom: 1px solid #20262d; height: 1.8rem; }
ul.choices { list-style: none; padding: 0; } ul.choices p { display: inline; }
.small { font-size: 0.9rem; color: #555; } a { color: #0f6e84; }
.answers { break-before: page; }
@media print { body { margin: 0; max-width: none; } }
"""


def make_handout(lesson: Lesson, language: str, address: str = "") -> str:
    """Make the handout of a lesson: one HTML page that needs no network.

    The handout does not contain the teacher's notes. HTML in the text of the lesson is shown as text.

    Args:
        address: the address of the app, for the links to its pages; "" for a handout without links.
    """
    steps = "".join(_make_step(lesson, index, language, address) for index in range(len(lesson.steps)))
    answers = "".join(
        f"<h2>{number}. {html.escape(step.title)}</h2>{_make_answer(step.question, language)}"
        for number, step in enumerate(lesson.steps, 1)
        if step.question and (step.question.answer is not None or step.question.reveal)
    )
    title, minutes = html.escape(lesson.title), render("class-minutes", language, count=lesson.minutes)
    return (
        f'<!doctype html><html lang="{html.escape(language)}"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><title>{title}</title>'
        f"<style>{_STYLE}</style></head><body><h1>{title}</h1>"
        f'<p>{html.escape(lesson.lead)} <span class="small">{minutes}</span></p>{steps}'
        f'<section class="answers"><h1>{render("class-answers", language)}</h1>{answers}</section></body></html>'
    )


def _make_step(lesson: Lesson, index: int, language: str, address: str) -> str:
    step = lesson.steps[index]
    link = ""
    if address:
        href = html.escape(address.rstrip("/") + "/" + step.address)
        link = f'<p class="small"><a href="{href}">{render("class-page-link", language)}</a></p>'
    question = _make_question(step.question) if step.question else ""
    title = f"<h2>{index + 1}. {html.escape(step.title)}</h2>"
    return f"<section>{title}{render_markdown(step.say)}{link}{question}</section>"


def _make_question(question: Question) -> str:
    if question.kind == "choices":
        choices = "".join(f"<li>☐ {render_markdown(choice)}</li>" for choice in question.choices)
        answer_space = f'<ul class="choices">{choices}</ul>'
    else:
        answer_space = '<div class="line"></div>'
    return f'<div class="question">{render_markdown(question.ask)}{answer_space}</div>'


def _make_answer(question: Question, language: str) -> str:
    text = ""
    if question.answer is not None:
        answer = (
            question.choices[question.answer] if question.kind == "choices" else f"{question.answer}{question.unit}"
        )
        text = render_markdown(render("class-answer", language, answer=answer))
    return text + render_markdown(question.reveal)
