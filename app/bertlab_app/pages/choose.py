"""Choose: the probability of each ending of a context, and how the vector W scores the endings.

Shape legend: C choices (the endings), H hidden size.
"""

from collections.abc import Sequence

import streamlit as st
from bertlab_app import calls
from bertlab_app.i18n import language, t
from bertlab_app.widgets import display, fields, frame, plots, selection

from bertlab.abilities.choose import figures as choice_figures
from bertlab.tasks.multiple_choice import Choice
from bertlab.views.numbers import percent, signed
from bertlab.views.passage import escape_html

MIN_ENDINGS, MAX_ENDINGS = 2, 5

frame.heading("choose")
examples = selection.examples_for("choose")
left, right = st.columns(2, gap="large")
context = fields.text_line(left, t("choose-context"), examples.choice_context, key="context")
endings_container = left.container()  # for the endings, above the number field, whose value is read first
num_endings = fields.number(
    left.number_input, t("choose-count"), MIN_ENDINGS, MAX_ENDINGS, len(examples.choices), key="endings",
    width=fields.NUMBER_WIDTH,
)  # fmt: skip
endings = [
    fields.text_line(
        endings_container, t("choose-ending", number=index + 1), "".join(examples.choices[index : index + 1]),
        key=f"ending{index}",
    )
    for index in range(num_endings)
]  # fmt: skip


def rank_choices(choices: Sequence[Choice]) -> list[int]:
    """Return the indices of the choices, the most probable one first."""
    return sorted(range(len(choices)), key=lambda index: -choices[index].probability)


def show_probabilities(scores: calls.Expression) -> None:
    """Show the best ending, and the probabilities of all endings."""
    choices = scores.result.choices
    best = rank_choices(choices)[0]
    line = f"<b>{escape_html(choices[best].text)}</b> · {percent(choices[best].probability)}"
    st.html(f'<p class="say" dir="auto">{line}</p>')
    data = {name: [getattr(choice, name) for choice in choices] for name in ("text", "score", "probability")}
    plots.draw("choice-bars", choice_figures.choice_bars, scores, data=data, zoom=fields.zoom_switch(st))
    display.explain("choice_probability", "choice_score")


def show_products(scores: calls.Expression) -> None:
    """Show in which dimensions the products with W differ between the best ending and another one."""
    choices = scores.result.choices
    best, *others = rank_choices(choices)
    st.subheader(t("choose-vector"), anchor=False, help=t("choose-vector-help"))
    names = {str(index): t("choose-ending", number=index + 1) for index in others}
    other = int(fields.choice(st.segmented_control, t("choose-compare", number=best + 1), names, key="rival"))
    difference = signed(choices[best].score - choices[other].score, 2)
    st.caption(t("choose-difference", first=best + 1, second=other + 1, difference=difference))
    products_CH = scores.result.products_CH
    data = {"dimension": list(range(products_CH.shape[1]))}
    data |= {f"product_{index + 1}": products_CH[index].tolist() for index in range(num_endings)}
    plots.draw("choice-products", choice_figures.choice_products, scores, best, other, data=data, lang=language())


empty_numbers = [number for number, ending in enumerate(endings, 1) if not ending.strip()]
scores = None
with right.container(key="choices"), frame.show_errors():
    checkpoint = selection.open_checkpoint("choose", context, *endings)
    if empty_numbers:
        frame.note(t("choose-empty", number=empty_numbers[0]))
    else:
        scores = calls.call_session(checkpoint, "choice_scores", context, endings)
        show_probabilities(scores)
if scores:
    show_products(scores)
    if st.button(t("open-in-attention"), icon=":material/hub:"):
        choices = scores.result.choices
        selection.open_attention_page(checkpoint, context, choices[rank_choices(choices)[0]].text)
