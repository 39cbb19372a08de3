"""Summary: the highest-scoring sentences of a text, marked in the text, beside the first sentences of the text."""

import os
from collections import Counter

import streamlit as st
from bertlab_app import calls
from bertlab_app.data import sessions
from bertlab_app.i18n import language, t
from bertlab_app.widgets import display, fields, frame, plots, selection
from bertlab_app.widgets.batch import draw_csv_button

from bertlab.abilities.summary import DIVERSITY, NUM_SENTENCES
from bertlab.abilities.summary.compute import Summary, compare_with_references
from bertlab.abilities.summary.figures import score_bars, sentence_list_html, summary_html
from bertlab.abilities.summary.lines import METRIC_NAMES
from bertlab.config.languages import detect_language
from bertlab.tasks.registry import TASK_TYPES
from bertlab.tasks.rouge import METRICS
from bertlab.text.pretraining.sentences import find_sentences
from bertlab.views.numbers import percent

MAX_SENTENCES = 2_000  # the rest of a longer text is left out, because all users share the CPU cores
MAX_CHOSEN = 10  # the highest number of summary sentences that the user can set
MAX_REPEATED = 10  # maximum length of the list of sentences that were left out as repetitions
LONG_TEXT = 4_000  # characters; a longer text scrolls in its own frame
SCROLLED_HEIGHT = 420  # the height of this frame in pixels


def note_limits(checkpoint: sessions.CheckpointKey, summary: Summary, count: int) -> None:
    """Say what limits the choice: the checkpoint, a second language, repetitions, and sentences that are too long."""
    if not summary.is_checkpoint_suited:
        name = os.path.basename(sessions.open_session(checkpoint).name)
        frame.note(t("summary-untrained", checkpoint=name))
    if summary.has_learned_scores:
        st.caption(t("summary-learned", checkpoint=os.path.basename(sessions.open_session(checkpoint).name)))
    languages = Counter(detect_language([sentence.text]) for sentence in summary.sentences)
    if not summary.has_learned_scores and len(languages) > 1:
        frame.note(t("summary-mixed", count=min(languages.values())))
    if len(summary.truncated):
        frame.note(t("summary-cut", count=len(summary.truncated)))
    if len(summary.chosen) < min(count, len(summary.sentences)):
        frame.note(t("summary-fewer", chosen=len(summary.chosen)))


def draw_sentences(container, heading: str, summary: Summary, indices: tuple[int, ...]) -> None:
    with container:
        st.subheader(t(heading), anchor=False)
        st.html(sentence_list_html(summary, indices))


def draw_reference(summary: Summary) -> None:
    """Compare the chosen and the first sentences with a reference summary, if the user enters one."""
    reference = fields.text(
        st.text_area, t("summary-reference"), "", key="reference", height=80,
        placeholder=t("summary-reference-placeholder"),
    )  # fmt: skip
    fields.note_too_long_for_link(st, reference)
    comparison = compare_with_references([summary], [reference])
    if comparison:
        chosen_label = t("summary-best" if summary.has_learned_scores else "summary-chosen")
        columns = {t("summary-metric"): [chosen_label, t("summary-first")]}
        for metric in METRICS:
            columns[METRIC_NAMES[metric]] = [percent(row[metric]) for row in (comparison.summary, comparison.first)]
        display.table(columns)
        display.explain("rouge")


def show_summary(document: str, count: int, options: dict[str, float]) -> None:
    """Summarise a text of at least two sentences, and show the result."""
    checkpoint = selection.open_checkpoint("embed", document)
    text, progress = calls.assign("document", document), frame.progress_bar(st.empty(), "summary-progress")
    summary_call = calls.assign("summary", calls.call_session(
        checkpoint, "summary", text, count, progress=progress, **options
    ))  # fmt: skip
    summary = summary_call.result
    note_limits(checkpoint, summary, count)
    with st.container(height=SCROLLED_HEIGHT) if len(document) > LONG_TEXT else st.container(key="highlights"):
        st.html(summary_html(document, summary))
    st.caption(t("summary-legend-learned" if summary.has_learned_scores else "summary-legend"))
    if summary.repeated:
        numbers = [str(index + 1) for index in summary.repeated[:MAX_REPEATED]]
        num_unlisted = len(summary.repeated) - len(numbers)
        st.caption(t("summary-repeated", numbers=", ".join(numbers), count=len(summary.repeated), more=num_unlisted))
    left, right = st.columns(2, gap="large")
    draw_sentences(left, "summary-best" if summary.has_learned_scores else "summary-chosen", summary, summary.chosen)
    draw_sentences(right, "summary-first", summary, summary.first)
    num_shared = len({*summary.chosen} & {*summary.first})
    st.caption(t("summary-overlap", shared=num_shared, count=len(summary.first)))
    score_name = "score" if summary.has_learned_scores else "centrality"
    rows = [
        {"number": index + 1, "sentence": sentence.text, score_name: sentence.score,
         "is-chosen": index in summary.chosen}
        for index, sentence in enumerate(summary.sentences)
    ]  # fmt: skip
    plots.draw(
        "centrality",
        score_bars,
        summary_call,
        lang=language(),
        data={name: [row[name] for row in rows] for name in rows[0]},
    )
    draw_csv_button([{t(f"summary-{name}"): cell for name, cell in row.items()} for row in rows], "summary")
    learned_keys, centrality_keys = (
        ("summary_score", "trigram_blocking"),
        ("centrality", "summary_choice", "sentence_cosine"),
    )
    display.explain(*(learned_keys if summary.has_learned_scores else centrality_keys))
    draw_reference(summary)


frame.heading("summary")
with frame.show_errors():
    document = fields.text(
        st.text_area, t("summary-document"), selection.examples_for("embed").report, key="document", height=200
    )
    fields.note_too_long_for_link(st, document)
    left, right = st.columns(2)
    count = fields.integer_choice(
        left.select_slider, t("summary-count"), range(1, MAX_CHOSEN + 1), NUM_SENTENCES, key="count"
    )
    session = sessions.open_session(selection.select_checkpoint("embed", [document]))
    has_learned_scores = TASK_TYPES["summarisation"].can_predict(session.model)
    diversity = fields.number(
        right.slider, t("summary-diversity"), 0.0, 1.0, DIVERSITY, key="diversity", step=0.05, format="%.2f",
        help=t("summary-diversity-unused" if has_learned_scores else "summary-diversity-help"),
        disabled=has_learned_scores,
    )  # fmt: skip
    spans = find_sentences(document)
    if len(spans) > MAX_SENTENCES:
        frame.note(t("summary-too-long", count=len(spans), limit=MAX_SENTENCES))
        document = document[: spans[MAX_SENTENCES - 1][1]]
    if len(spans) < 2:
        frame.note(t("summary-single" if spans else "summary-empty"))
    else:
        show_summary(document, count, {} if has_learned_scores else {"diversity": diversity})
