"""Training: curves, states and settings of the training runs in a directory, updated while a run is in progress."""

from pathlib import Path

import streamlit as st
from bertlab_app import calls
from bertlab_app.data import training_runs
from bertlab_app.i18n import language, t
from bertlab_app.widgets import display, evaluation_results, fields, frame, plots, sentences
from bertlab_app.widgets.display import NUMBERS

from bertlab.checkpoints import history
from bertlab.views import curves
from bertlab.views.numbers import percent
from bertlab.views.passage import escape_html

DEFAULT_DIRECTORY = "runs"  # relative to the directory in which the app was started
REFRESH_SECONDS = 5  # seconds between two updates of the page while a run is in progress
NUM_DEFAULT_RUNS = 4  # the number of runs that are drawn initially
MAX_SAMPLE_ROWS = 200  # how many of the latest rows the table of a run's sample sentences has

frame.heading("training")
directory = fields.text_line(
    st, t("training-directory"), DEFAULT_DIRECTORY, key="runs", is_path=True, help=t("training-directory-help")
)
all_runs = training_runs.find_runs(directory)
own_runs = {name: path for name, path in all_runs.items() if name not in history.find_shipped_runs()}
if all_runs and not own_runs and directory.strip() not in ("", DEFAULT_DIRECTORY):
    frame.note(t("training-no-runs", directory=directory[:100]), "error")
default_runs = training_runs.select_latest(own_runs or all_runs, NUM_DEFAULT_RUNS, language())
selected_runs = fields.multiple_choice(
    st.multiselect, t("training-runs"), list(all_runs), default_runs, key="curves",
    source=directory, placeholder=t("training-choose-runs"),
)  # fmt: skip
left, right = st.columns(2)
x = fields.choice(
    left.segmented_control, t("training-x-axis"), list(curves.X_AXES), key="over", required=True,
    format_func=lambda name: t(f"figure-x-{name}"),
)  # fmt: skip
scale = fields.choice(
    right.segmented_control, t("training-axis-scale"), ["linear", "log"], key="scale", required=True,
    format_func=lambda name: t(f"training-{name}"),
)  # fmt: skip


def show_status_table(statuses: dict[str, history.RunStatus], logs: dict[str, list[dict]]) -> None:
    """Show a table with the state and the latest metrics of each run."""
    last_steps = {name: next((row for row in reversed(logs[name]) if history.is_step(row)), {}) for name in statuses}
    numbers = {
        "step": [f"{status.step:,}" for status in statuses.values()],
        "tokens": [display.format_or_dash(last_steps[name].get("tokens"), ",") for name in statuses],
        "minutes": [f"{last_steps[name].get('seconds', 0) / 60:.1f}" for name in statuses],
        "speed": [display.format_or_dash(history.compute_tokens_per_second(logs[name]), ",.0f") for name in statuses],
        "recent": [display.format_or_dash(history.compute_recent_mean(logs[name], "loss"), ".3f") for name in statuses],
        "held-out": [format_held_out_metric(logs[name]) for name in statuses],
    }
    states = [t(f"training-state-{status.state}") for status in statuses.values()]
    columns = {"run": list(statuses), "state": states} | numbers
    display.table({t(f"training-{name}", steps=history.RECENT_STEPS): values for name, values in columns.items()})


def show_settings_table(settings: dict[str, list]) -> None:
    """Show the settings that differ between the runs."""
    texts = [["–" if value is None else str(value) for value in values] for values in settings.values()]
    st.subheader(t("training-differing-settings"), anchor=False)
    if len(settings) <= len(selected_runs):
        display.table({t("training-run"): selected_runs, **dict(zip(settings, texts, strict=True))})
    else:
        by_run = [list(column) for column in zip(*texts, strict=True)]
        display.table({t("training-setting"): list(settings), **dict(zip(selected_runs, by_run, strict=True))})


def format_held_out_metric(rows: list[dict]) -> str:
    """Format the latest metric on held-out text with its name; a dash if the log has no such metric."""
    if (latest := curves.find_main_held_out_value(rows)) is None:
        return "–"
    metric, value = latest
    return f"{percent(value) if curves.METRICS[metric].is_percent else format(value, '.3f')} {translate_metric(metric)}"


def translate_metric(metric: str) -> str:
    return t(f"metric-{metric}") if metric in curves.TASK_METRICS else t(f"training-{metric}")


def read_thinned_log(run: Path) -> calls.Expression:
    """Read the log of a run, reduced with `history.thin_log` to the rows that the curves on the page need."""
    log = calls.call_function(history.read_log, calls.make_path_expression(run), compute_with=training_runs.read_log)
    return calls.call_function(history.thin_log, log, compute_with=lambda _: training_runs.read_thinned_log(run))


@frame.show_errors()
def show_runs() -> None:
    """Show the selected runs in their current state."""
    logs = {name: training_runs.read_log(all_runs[name]) for name in selected_runs}
    statuses = {name: history.find_run_status(all_runs[name], logs[name]) for name in selected_runs}
    for name, status in statuses.items():
        if status.state in ("stopped", "diverged"):
            message = t(f"training-{status.state}", run=name, step=status.step, minutes=status.idle_seconds / 60)
            frame.note(message, "error" if status.state == "diverged" else "info")
        elif not logs[name]:
            frame.note(f"{name}: {t('training-empty-log')}")
    show_status_table(statuses, logs)
    if settings := history.find_differing_settings(history.read_settings(all_runs[name]) for name in selected_runs):
        show_settings_table(settings)
    logs_call = calls.assign("runs", {name: read_thinned_log(all_runs[name]) for name in selected_runs if logs[name]})
    thinned_logs = logs_call.result
    metrics = [
        metric for metric in curves.METRICS if any(curves.has_metric(log, metric) for log in thinned_logs.values())
    ]
    for index, metric in enumerate(metrics):
        options = {"x": x, "log": scale == "log", "lang": language()}
        options["axes"] = (t(f"figure-x-{x}"), translate_metric(metric))
        if index % 2 == 0:
            cells = st.columns(2)  # a new row of two charts, so that they keep their order on a narrow screen
        with cells[index % 2]:
            points = curves.curve_points(thinned_logs, metric, x)
            plots.draw(f"curve-{metric}", curves.run_curves, logs_call, metric, data=points, **options)
            display.sentence(sentences.curve(points, metric, translate_metric(metric)))
    if metrics:
        st.caption(t("training-legend"))
        task_metrics = [metric for metric in metrics if metric in curves.TASK_METRICS]
        other_metrics = [metric for metric in metrics if metric in NUMBERS and metric not in task_metrics]
        display.explain(*other_metrics, *evaluation_results.list_explanation_keys(task_metrics))
    latest_predictions = {
        name: history.read_sample_predictions(logs[name])[::-1][:MAX_SAMPLE_ROWS] for name in thinned_logs
    }
    sample_predictions = {name: predictions for name, predictions in latest_predictions.items() if predictions}
    if sample_predictions:
        st.subheader(t("training-sample-sentences"), anchor=False)
    for name, predictions in sample_predictions.items():
        st.html(f'<p class="name" dir="auto">{escape_html(name)}</p>')
        predicted_tokens = [
            " | ".join(
                " · ".join(f"{token} {percent(probability)}" for token, probability in candidates)
                for candidates in row.predictions
            )
            for row in predictions
        ]
        # the predictions come first, because a narrow screen cuts off the right of the table
        columns = (t("training-step"), t("training-predictions"), t("training-sentence"))
        values = ([row.step for row in predictions], predicted_tokens, [row.text for row in predictions])
        st.dataframe(dict(zip(columns, values, strict=True)), hide_index=True)


if not all_runs:
    frame.note_with_command(t("run-none"), training_runs.EXAMPLE_COMMAND)
elif not selected_runs:
    frame.note(t("training-no-selection"))
else:
    is_running = any(
        history.find_run_status(all_runs[name], training_runs.read_log(all_runs[name])).state == "running"
        for name in selected_runs
    )
    # an update resets the zoom of a chart, so the user can switch updates off
    is_refreshed = is_running and st.toggle(t("training-live"), True, key="training-live", help=t("training-live-help"))
    with st.container(key="runs-drawn"):
        st.fragment(show_runs, run_every=REFRESH_SECONDS if is_refreshed else None)()
