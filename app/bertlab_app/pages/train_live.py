"""Train a BERT live: pre-train a tiny BERT for a minute, and watch its curves and predictions during training."""

import streamlit as st
from bertlab_app import access, calls, url
from bertlab_app.classroom import roles
from bertlab_app.data import live_run, training_runs
from bertlab_app.i18n import language, t
from bertlab_app.registry import PAGES
from bertlab_app.widgets import display, fields, frame, plots

from bertlab.checkpoints import history
from bertlab.config.errors import BertlabError
from bertlab.views import curves
from bertlab.views.numbers import percent
from bertlab.views.passage import escape_html

REFRESH_SECONDS = 2  # seconds between two updates of the page while a run is in progress
RECENT_STEPS = 20  # the accuracy is shown as a mean over so few steps because it keeps rising in a run of one minute

frame.heading("train-live")
can_start = roles.is_teacher() or not access.is_restricted()


def start_run(text: str) -> None:
    try:
        if roles.is_teacher() or not access.is_restricted():
            live_run.start(language(), text)
    except BertlabError as error:
        st.session_state["live.error"] = error


def open_time_machine(name: str) -> None:
    parameters = url.replace_values({"run": name})
    st.switch_page(PAGES["time-machine"].script, query_params=parameters)


@frame.show_errors()
def show_run() -> None:
    """Show the latest run in its current state."""
    is_running = live_run.is_running()
    if is_running != st.session_state.get("live.was_running", is_running):
        st.session_state["live.was_running"] = is_running
        st.rerun(scope="app")
    st.session_state["live.was_running"] = is_running
    if error := live_run.find_error():
        frame.note(t("train-live-failed", reason=error), "error")
    run = live_run.find_latest()
    rows = history.read_log(run) if run else []
    steps = [row for row in rows if history.is_step(row)]
    if is_running:
        progress = min(steps[-1].get("progress", 0.0), 1.0) if steps else 0.0
        st.progress(progress, t("train-live-training" if steps else "train-live-preparing"))
    if not steps:
        if not is_running:
            frame.note(t("train-live-none" if can_start else "train-live-wait"))
        return
    accuracy = history.compute_recent_mean(steps, "mlm_accuracy", RECENT_STEPS)
    if accuracy is not None:
        line = t("train-live-accuracy", step=f"{steps[-1]['step']:,}", accuracy=percent(accuracy))
        st.html(f'<p class="say" role="status">{escape_html(line)}</p>')
    logs = calls.assign("runs", {run.name: read_live_log(run)})
    for container, metric in zip(st.columns(2), ("loss", "masked_accuracy"), strict=True):
        with container:
            options = {"x": "step", "lang": language(), "axes": (t("figure-x-step"), t(f"training-{metric}"))}
            points = curves.curve_points(logs.result, metric, "step")
            plots.draw(f"live-{metric}", curves.run_curves, logs, metric, data=points, **options)
    display.explain("loss", "masked_accuracy")
    if predictions := history.read_sample_predictions(rows):
        st.subheader(t("train-live-sentence"), anchor=False)
        st.html(f'<p dir="auto">{escape_html(predictions[0].text)}</p>')
        predicted_tokens = [
            " | ".join(
                " · ".join(f"{token} {percent(probability)}" for token, probability in candidates)
                for candidates in row.predictions
            )
            for row in predictions
        ]
        names = (t("training-step"), t("training-predictions"))
        display.table(dict(zip(names, ([f"{row.step:,}" for row in predictions], predicted_tokens), strict=True)))
    has_snapshots = (run / history.SNAPSHOTS).is_dir()
    if has_snapshots and st.button(t("train-live-time-machine"), icon=":material/history:", key="train-live-open"):
        open_time_machine(run.name)


def read_live_log(run) -> calls.Expression:
    """Read the rows of a run's log that the curves need."""
    return calls.call_function(
        history.read_log, calls.make_path_expression(run), compute_with=training_runs.read_thinned_log
    )


if can_start:
    names = {"stories": t("train-live-stories"), "text": t("train-live-own-text")}
    source = fields.choice(
        st.segmented_control,
        t("train-live-source"),
        list(names),
        key="train-live-source",
        format_func=names.get,
        required=True,
    )
    text = st.text_area(t("train-live-text"), key="train-live-text", height=160) if source == "text" else ""
    if source == "text" and not text.strip():
        st.caption(t("train-live-text-first"))
    is_running = live_run.is_running()
    with st.container(horizontal=True):
        st.button(
            t("train-live-start"), type="primary", icon=":material/play_arrow:", key="train-live-start",
            on_click=start_run, args=(text,), disabled=is_running or (source == "text" and not text.strip()),
        )  # fmt: skip
        st.button(
            t("train-live-cancel"), icon=":material/stop:", key="train-live-cancel", on_click=live_run.cancel,
            disabled=not is_running,
        )  # fmt: skip
    if error := st.session_state.pop("live.error", None):
        with frame.show_errors():
            raise error
# in a class, the page also updates while there is no run, so that it shows a run that the teacher starts
is_refreshed = live_run.is_running() or roles.is_in_class()
st.fragment(show_run, run_every=REFRESH_SECONDS if is_refreshed else None)()
