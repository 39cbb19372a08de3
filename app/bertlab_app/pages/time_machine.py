"""Time machine: predictions and attention of every snapshot of a training run, with a slider for the training step."""

import time
from functools import partial
from pathlib import Path

import streamlit as st
from bertlab_app import calls
from bertlab_app.data import training_runs
from bertlab_app.examples import read_examples
from bertlab_app.i18n import language, t
from bertlab_app.widgets import components, display, fields, frame, selection, sentences

from bertlab.abilities.timeline.compute import timeline
from bertlab.checkpoints import history
from bertlab.views import html

frame.heading("time-machine")
runs = training_runs.find_runs()
run_name = fields.text(
    st.selectbox, t("run"), training_runs.choose_default_run(runs, language()), key="run", options=list(runs),
    accept_new_options=True, help=t("run-help"),
)  # fmt: skip


@st.fragment
@frame.show_errors()
def show_timeline(run: Path, first: str, second: str) -> None:
    """Compute the predictions of every snapshot for the texts, with a progress bar, and draw the timeline."""
    container, start_time = st.empty(), time.monotonic()

    def show_progress(done: int, total: int) -> None:
        if time.monotonic() - start_time > frame.PROGRESS_DELAY:
            container.progress(done / total, t("time-machine-progress", done=done, total=total))

    compute_with = partial(timeline, run_snapshot=training_runs.run_snapshot, on_progress=show_progress)
    texts = (first, second or None)
    timeline_call = calls.assign(
        "snapshots", calls.call_function(timeline, calls.make_path_expression(run), *texts, compute_with=compute_with)
    )
    code = calls.write_canvas_code(timeline_call, html.timeline_html, "time-machine.html")
    options = components.canvas_options() | {"code": code}
    payload = training_runs.pack_timeline(run, *texts, timeline_call.result, options)
    container.empty()
    components.draw_canvas("timeline", payload)
    display.sentence(sentences.timeline(timeline_call.result))
    display.explain("attention", "mask_probability", "nsp_probability", "loss")


with frame.show_errors():
    if run_name:
        run = training_runs.find_run(run_name)
        run_language = training_runs.read_language(run)
        first_example, second_example = read_examples(run_language).time_machine_pair
        left, right = st.columns(2)
        # each language has its own keys, so that a run of another language opens with an example in that language
        a = fields.text_line(left, t("time-machine-sentence-a"), first_example, key=f"then.{run_language}.a")
        b = fields.text_line(
            right, t("sentence-b"), second_example, key=f"then.{run_language}.b", placeholder=t("sentence-b-optional")
        )
        start = history.read_settings(run).get("start")
        if start in ("neighbours", "matches"):
            st.caption(t("time-machine-start-neighbours", start=start))
        tokenizer = training_runs.read_tokenizer(run)
        selection.note_language_by_tokenizer(run.name, tokenizer, run_language, "fill-mask", [a, b])
        with st.container(key="moments"):
            show_timeline(run, a, b)
    else:
        frame.note_with_command(t("run-none"), training_runs.EXAMPLE_COMMAND)
