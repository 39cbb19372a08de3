"""The guesses of the students as bars, in plain HTML, because a chart would be slow to redraw every second."""

import html
import statistics
from collections.abc import Mapping

from bertlab.classroom.lesson import Question
from bertlab.views.passage import escape_html
from bertlab_app.i18n import t

MAX_BARS = 10  # how many of the most frequent words have a bar of their own; all other words share one more bar
NUM_RANGES = 8  # if there are more than `MAX_BARS` numbers, so many bars are drawn, each for a range of numbers


def draw_bars(question: Question, counts: Mapping[str, int], *, own_guess: str | None, shows_answer: bool) -> str:
    total = sum(counts.values())
    rows = []
    answer = question.answer
    if answer is not None:
        answer = str(answer) if question.kind == "choices" else question.parse_guess(answer)
    for label, values in _group_guesses(question, counts):
        count = sum(counts.get(value, 0) for value in values)
        marks = " ✓" * (shows_answer and answer in values) + f" ← {t('class-you')}" * (own_guess in values)
        width = 100 * count / total if total else 0
        rows.append(
            f'<div class="guess-row"><span dir="auto">{escape_html(label)}<b>{html.escape(marks)}</b></span>'
            f'<i><i style="width:{width:.0f}%"></i></i><span>{count}</span></div>'
        )
    lines = [f'<div class="guesses" role="img" aria-label="{html.escape(t("class-guesses"))}">{"".join(rows)}</div>']
    if question.kind == "number" and total:
        median = statistics.median(float(value) for value, count in counts.items() for _ in range(count))
        lines.append(f'<p class="small">{t("class-median", median=f"{median:g}{question.unit}")}</p>')
    return "".join(lines)


def describe_guess(question: Question, value: str) -> str:
    """Describe a guess as plain text: a choice by its text, a number with its unit."""
    if question.kind == "choices" and value.isdecimal() and int(value) < len(question.choices):
        return question.choices[int(value)]
    return f"{value}{question.unit}" if question.kind == "number" else value


def _group_guesses(question: Question, counts: Mapping[str, int]) -> list[tuple[str, list[str]]]:
    """Return (label, guesses) for each bar."""
    if question.kind == "choices":
        return [(choice, [str(index)]) for index, choice in enumerate(question.choices)]
    if question.kind == "word" or len(counts) <= MAX_BARS:
        if question.kind == "number":
            sorted_guesses = sorted(counts, key=float)
        else:
            sorted_guesses = sorted(counts, key=lambda word: (-counts[word], word))
        bars = [(describe_guess(question, value), [value]) for value in sorted_guesses[:MAX_BARS]]
        if others := sorted_guesses[MAX_BARS:]:
            bars.append((t("class-other-guesses"), others))
        return bars
    sorted_guesses = sorted(counts, key=float)
    low, high = float(sorted_guesses[0]), float(sorted_guesses[-1])
    range_width = (high - low) / NUM_RANGES
    ranges: list[list[str]] = [[] for _ in range(NUM_RANGES)]
    for value in sorted_guesses:
        ranges[min(int((float(value) - low) / range_width), NUM_RANGES - 1)].append(value)
    edges = [f"{low + range_width * index:.3g}" for index in range(NUM_RANGES + 1)]
    return [(f"{edges[index]}–{edges[index + 1]}{question.unit}", values) for index, values in enumerate(ranges)]
