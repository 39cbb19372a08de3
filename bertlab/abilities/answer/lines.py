"""Answers as lines for a terminal: the best one marked in its passage, then all candidates."""

import os
import sys

from bertlab.config.text_table import format_table
from bertlab.tasks.span.answer import Answers
from bertlab.views.numbers import percent
from bertlab.views.shortening import shorten_to_width
from bertlab.views.terminal import bar, make_printable

CONTEXT_CHARACTERS = 160  # characters of the passage that are shown before an answer, and as many after it


def answer_lines(passage: str, answers: Answers) -> list[str]:
    """Mark the best answer in the passage, or say that there is no answer; then list all candidate answers."""
    in_terminal = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    mark = ("\x1b[1;7m", "\x1b[0m") if in_terminal else ("»", "«")  # bold and inverted text
    lines = []
    if answers.refused:
        margin, min_margin = -answers.no_answer_margin, -answers.null_threshold
        lines = [
            f"no answer: the score of the best answer is {margin:+.2f} relative to that of no answer, but at least "
            f"{min_margin:+.2f} is required",
            "",
        ]
    elif answers.answers:
        best = answers.answers[0]
        before, after = passage[: best.start][-CONTEXT_CHARACTERS:], passage[best.end :][:CONTEXT_CHARACTERS]
        left_ellipsis = "…" if best.start > CONTEXT_CHARACTERS else ""
        right_ellipsis = "…" if len(passage) - best.end > CONTEXT_CHARACTERS else ""
        lines = [
            left_ellipsis
            + make_printable(before)
            + mark[0]
            + make_printable(best.text)
            + mark[1]
            + make_printable(after)
            + right_ellipsis,
            "",
        ]
    rows = [("answer", "", "probability", "score", "characters")]
    for answer in answers.answers:
        text, share = shorten_to_width(make_printable(answer.text), 48), answer.probability
        rows.append((text, bar(share), percent(share), f"{answer.score:.2f}", f"{answer.start}-{answer.end}"))
    share = answers.no_answer_probability
    rows.append(("(no answer)", bar(share), percent(share), f"{answers.no_answer_score:.2f}", ""))
    lines += format_table(rows, "<<>>>")
    if len(answers.windows) > 1:
        lines += ["", f"the best answer is in window {answers.best_window + 1} of {len(answers.windows)}"]
    return lines
