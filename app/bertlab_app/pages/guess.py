"""Your class against BERT: guesses for a masked word, and the predictions of every snapshot of a training run."""

from functools import partial

import streamlit as st
from bertlab_app import calls
from bertlab_app.classroom import current, roles
from bertlab_app.data import training_runs
from bertlab_app.examples import read_examples
from bertlab_app.i18n import language, t
from bertlab_app.widgets import display, fields, frame, plots, selection

from bertlab.abilities.timeline.guess_figures import guess_bars, guess_columns
from bertlab.abilities.timeline.guesses import compare_guesses
from bertlab.views.numbers import percent
from bertlab.views.passage import escape_html

frame.heading("guess")


def read_counts() -> dict[str, int] | None:
    """Return how often each word was guessed; None until the answer to the current question is revealed."""
    place = current.find_place()
    if place and place.step.page == "guess" and place.step.question and place.step.question.kind == "word":
        if place.phase != "revealed":
            return None
        if place.class_id:
            return dict(current.open_store().count_guesses(place.step_index))
        return {current.find_own_guess(place, ""): 1}
    typed_guesses = fields.text_line(
        st, t("guess-guesses"), t("guess-example"), key="guesses", help=t("guess-guesses-help")
    )
    words = [" ".join(word.split()).lower() for word in typed_guesses.split(",")]
    return {word: words.count(word) for word in words if word}


runs = training_runs.find_runs()
run_name = fields.text(
    st.selectbox, t("run"), training_runs.choose_default_run(runs, language()), key="run", options=list(runs),
    accept_new_options=True, help=t("run-help"),
)  # fmt: skip
with frame.show_errors():
    if not run_name:
        frame.note_with_command(t("run-none"), training_runs.EXAMPLE_COMMAND)
    else:
        run = training_runs.find_run(run_name)
        run_language = training_runs.read_language(run)
        example = read_examples(run_language).masked_sentence
        text = fields.text_line(st, t("guess-text"), example, key="guess-text", help=t("heads-text-help"))
        tokenizer = training_runs.read_tokenizer(run)
        selection.note_language_by_tokenizer(run.name, tokenizer, run_language, "fill-mask", [text])
        counts = read_counts()
        if counts is None:
            frame.note(t("guess-first" if roles.is_in_class() else "guess-first-alone"))
        elif not counts:
            frame.note(t("guess-none"))
        else:
            guess_timeline = calls.assign(
                "guesses",
                calls.call_function(
                    compare_guesses, calls.make_path_expression(run), text, counts,
                    compute_with=partial(compare_guesses, run_snapshot=training_runs.run_snapshot),
                ),
            )  # fmt: skip
            timeline = guess_timeline.result
            index = fields.integer_choice(
                st.select_slider, t("guess-step"), range(len(timeline.snapshots)), timeline.closest, key="snapshot",
                format_func=lambda index: f"{timeline.snapshots[index].step:,}",
            )  # fmt: skip
            closest_step = timeline.snapshots[timeline.closest].step
            closest_line = t(
                "guess-closest", step=f"{closest_step:,}", overlap=percent(timeline.overlap_S[timeline.closest])
            )
            overlap_line = t(
                "guess-overlap", step=f"{timeline.snapshots[index].step:,}", overlap=percent(timeline.overlap_S[index])
            )
            st.html(f'<p class="say">{escape_html(overlap_line)}</p><p class="small">{escape_html(closest_line)}</p>')
            plots.draw(
                "guess-bars", guess_bars, guess_timeline, index, data=guess_columns(timeline, index), lang=language()
            )
            display.explain("mask_probability", "guess_overlap")
