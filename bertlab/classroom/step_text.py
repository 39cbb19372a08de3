"""Make the HTML of a step's text. This works without a session of the app.

The lesson panel is the part of the app, beside its pages, that shows the current step.
"""

import html

from markdown_it import MarkdownIt

from bertlab.classroom.computed_values import find_value_names
from bertlab.classroom.lesson import Lesson
from bertlab.config.languages import render


def render_markdown(text: str) -> str:
    """Render the Markdown of a lesson as HTML. HTML in the text is shown as text."""
    return MarkdownIt("commonmark", {"html": False}).render(text)


def make_heading(lesson: Lesson, step_index: int, language: str) -> str:
    """Make the first lines of the lesson panel as HTML: titles of lesson and step, and "step 2 of 8"."""
    number, count = step_index + 1, len(lesson.steps)
    position = render("class-step-of", language, number=number, count=count)
    return (
        f'<p class="small">{html.escape(lesson.title)} · {position}</p>'
        f'<progress value="{number}" max="{count}" aria-hidden="true"></progress>'
        f'<p class="name" role="heading" aria-level="2">{html.escape(lesson.steps[step_index].title)}</p>'
    )


def make_preview(lesson: Lesson, step_index: int, phase: str, language: str) -> str:
    """Make the preview of a new step as HTML. Students read it until the app has drawn the lesson panel and the page.

    The preview contains neither the answer nor the notes. A text with computed values is left out, because these
    values need a model.
    """
    step = lesson.steps[step_index]
    parts = [make_heading(lesson, step_index, language)]
    if not find_value_names(step.say):
        parts.append(render_markdown(step.say))
    if step.question:
        parts.append(render_markdown(f"**{render('class-question', language)}** {step.question.ask}"))
    is_question_closed = step.question and phase == "closed"
    parts.append(f'<p class="small">{render("class-not-open" if is_question_closed else "page-loading", language)}</p>')
    return "".join(parts)
