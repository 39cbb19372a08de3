"""Prepare the shipped lessons for the page that runs a model in the browser (`abilities/live/export.py`).

A step of a lesson shows a page of the app. In the HTML file, the step shows the view of the file that corresponds to
this page or comes close to it, if there is such a view. The notes for the teacher are left out, because students read
the file.
"""

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from markdown_it import MarkdownIt

from bertlab.abilities.surgery import syntax as intervention_syntax
from bertlab.classroom.lesson import Question, Step, find_lessons, read_lesson
from bertlab.config.config import ModelConfig
from bertlab.config.errors import CheckpointError, InterventionError
from bertlab.tasks.registry import default_checkpoint
from bertlab.text.word_spans import find_words, mask_spans

if TYPE_CHECKING:
    from bertlab.session import Session

# Markdown to HTML; HTML in the Markdown is escaped
_MARKDOWN = MarkdownIt("commonmark", {"html": False})

# page of the app -> the tab of the file, and the fields of the page's address that contain texts
_TABS = {
    "start": ("fill", ()),
    "input": ("attention", ("a", "b")),
    "attention": ("attention", ("a", "b")),
    "fill-mask": ("fill", ("text",)),
    "guess": ("fill", ("guess-text",)),
    "next-sentence": ("next", ("first", "second")),
    "heads": ("heads", ("masked",)),
    "logit-lens": ("lens", ("masked",)),
}
_SIMILAR_PAGES = ("start", "input", "guess")  # the view of the file shows only a part of what these pages show
# fields with one number in the address of the page Attention, which are also part of the state of the file's view
_STATE_FIELDS = ("layer", "head")


def collect_lessons(session: "Session", tabs: Collection[str]) -> dict | None:
    """Collect the lessons whose sentences a model can read.

    Args:
        session: the model; its vocabulary decides the language of the lessons.
        tabs: the tabs of the file.

    Returns:
        {"language", "checkpoint", "lessons"}: the language of the lessons, the checkpoint that they were written for
        ("" if unknown), and the lessons. Only those lessons are included that have a view for at least half of their
        steps, and whose text has no computed values. None if there are no such lessons.
    """
    language = session.tokenizer.language
    try:
        checkpoint = default_checkpoint("fill-mask", language).name
    except CheckpointError:
        checkpoint = ""
    lessons = []
    for files in find_lessons().values():
        if path := files.get(language):
            lesson = read_lesson(path, pages=None)
            if lesson.has_computed_values:
                continue
            steps = [
                description
                for step in lesson.steps
                if (description := _describe_step(step, session.name, session.config, tabs)) is not None
            ]
            if 2 * sum(step["view"] is not None for step in steps) >= len(steps):
                texts = {"name": lesson.name, "title": lesson.title, "minutes": lesson.minutes, "lead": lesson.lead}
                lessons.append(texts | {"steps": steps})
    return {"language": language, "checkpoint": checkpoint, "lessons": lessons} if lessons else None


def find_view(
    page: str, values: Mapping[str, str], config: ModelConfig, tabs: Collection[str]
) -> tuple[dict | None, bool]:
    """Find the view of the file that shows a page of the app.

    Args:
        page: the name of the page.
        values: the fields in its address, with their values.
        config: the model.
        tabs: the tabs of the file.

    Returns:
        The view, or None if the file has none; and whether the view shows everything that the page shows. The view is
        {"tab", "texts", "off", "look"}, where "off" lists the ablated heads and "look" has the state of the attention
        view. Empty texts stand for the example of the tab.

    >>> config = ModelConfig(num_layers=2, num_heads=2, hidden_size=4)
    >>> view, is_complete = find_view("heads", {"masked": "A [MASK].", "changes": "1"}, config, ["heads"])
    >>> view["tab"], view["texts"], view["off"], is_complete
    ('heads', ['A [MASK].'], ['1.0', '1.1'], True)
    >>> find_view("time-machine", {}, config, ["heads"])
    (None, False)
    """
    tab, names = _TABS.get(page, ("", ()))
    if tab not in tabs:
        return None, False
    texts = [values.get(name, "") for name in names]
    is_complete = page not in _SIMILAR_PAGES
    if page == "fill-mask" and values.get("mask"):
        spans = find_words(texts[0])
        masked_words = [int(index) for index in values["mask"].split(".") if index.isdecimal()]
        texts[0] = mask_spans(texts[0], [spans[index] for index in masked_words if index < len(spans)])
    if not any(texts):
        texts = []
        is_complete = False
    ablated_heads: list[str] = []
    view_state: dict = {}
    if page == "heads":
        try:
            line = values.get("changes", "")
            heads = intervention_syntax.read_heads(line, config.num_heads) if line else frozenset()
        except InterventionError:  # the line changes something other than heads
            heads, is_complete = frozenset(), False
        ablated_heads = [f"{layer}.{head}" for layer, head in sorted(heads) if layer < config.num_layers]
    elif page == "attention":
        is_complete = values.get("look", "heads") == "heads"
        view_state = {name: int(values[name]) for name in _STATE_FIELDS if values.get(name, "").isdecimal()}
        numbers = values.get("heads", "").strip("[]").split(",")
        shown_heads = [int(number) for number in numbers if number.strip().isdecimal()]
        if not shown_heads and values.get("look") == "neuron":
            # the file shows this head as lines; it cannot show the computation inside the head
            shown_heads = [view_state.get("head", 0)]
        view_state |= {"heads": shown_heads} if shown_heads else {}
    return {"tab": tab, "texts": texts, "off": ablated_heads, "look": view_state}, is_complete


def _describe_step(step: Step, checkpoint: str, config: ModelConfig, tabs: Collection[str]) -> dict | None:
    """Describe a step for `static/live/lesson.js`; None for a step that makes no sense without the app.

    A step whose page the file lacks makes sense if it asks a question that has an answer.
    """
    view, is_complete = find_view(step.page, step.parameters, config, tabs)
    if view is None and (step.question is None or step.question.answer is None):
        return None
    # In two cases the view would show the answer to the question, so it appears only after the reader's guess: on the
    # page Guess, and if the step shows another checkpoint, because the question then asks about the file's checkpoint.
    step_checkpoint = step.parameters.get("checkpoint", checkpoint)
    shows_answer = step.page == "guess" or step_checkpoint != checkpoint
    waits_for_guess = view is not None and step.question is not None and shows_answer
    return {
        "title": step.title,
        "say": _MARKDOWN.render(step.say),
        "view": view,
        "isComplete": is_complete and step_checkpoint == checkpoint,
        "waits": waits_for_guess,
        "question": _describe_question(step.question) if step.question else None,
    }


def _describe_question(question: Question) -> dict:
    """Describe a question for `static/live/lesson.js`, with its Markdown as HTML."""
    return {
        "ask": _MARKDOWN.render(question.ask),
        "kind": question.kind,
        "choices": [_MARKDOWN.renderInline(choice) for choice in question.choices],
        "answer": question.answer,
        "unit": question.unit,
        "low": question.low,
        "high": question.high,
        "reveal": _MARKDOWN.render(question.reveal),
    }
