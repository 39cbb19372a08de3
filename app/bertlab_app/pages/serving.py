"""Faster serving: how much each optimisation speeds up a classifier on a CPU, measured by `bertlab bench serve`."""

import streamlit as st
from bertlab_app import calls, url
from bertlab_app.i18n import language, t
from bertlab_app.widgets import display, fields, frame, plots

from bertlab.abilities.cost import serving_figures as serving_views
from bertlab.abilities.cost.serving_figures import format_speed, format_times, name_step
from bertlab.abilities.cost.serving_rows import (
    COMPARED_STEP,
    PEERS,
    PUBLISHED,
    STEPS,
    ServingRun,
    list_values,
    read_runs,
)
from bertlab.config.tasks import get_task
from bertlab.views.numbers import percent, signed
from bertlab.views.passage import escape_html

COMMAND = "bertlab bench serve sst2 --record"  # the command that makes the measurements
UNITS = {"throughput": "texts/s", "latency": "ms"}  # quantity that the figure can show -> its unit


def explain_steps(run: ServingRun) -> None:
    """Say for each step what it changes and why it is faster, and name the other libraries that were measured."""
    layers, hidden = run.student_size
    values = {
        "tokens": run.max_tokens, "mean": run.mean_tokens, "size": f"{layers} x {hidden}", "cores": run.cores,
        "share": percent(run.repeated), "rows": percent(run.repeated_rows),
    }  # fmt: skip
    items = [
        f"<p><b>{escape_html(name_step(name, language()))}.</b> {escape_html(t(f'serving-why-{name}', **values))}</p>"
        for name in (*STEPS, "peers")
    ]
    st.html(f'<div class="small">{"".join(items)}</div>')


def show_numbers(run: ServingRun) -> None:
    """Show the table of all measurements, and how they were made."""
    rows = [run.find(name) for name in (*STEPS, *PEERS)]
    columns = {
        "step": [name_step(row.name, language()) for row in rows],
        "throughput": [
            f"{format_speed(row.texts_per_second)} ({format_speed(row.slowest)}–{format_speed(row.fastest)})"
            for row in rows
        ],
        "times": [format_times(run.times_faster(row.name)) for row in rows],
        "p50": [f"{row.p50_ms:,.1f}" for row in rows],
        "p95": [f"{row.p95_ms:,.1f}" for row in rows],
        "accuracy": ["–" if row.accuracy is None else f"{row.accuracy:.2f}%" for row in rows],
        "changed": ["–" if row.changed is None else f"{row.changed:,}" for row in rows],
    }
    display.table({t(f"serving-column-{name}"): values for name, values in columns.items()})
    if run.base is None:
        published = PUBLISHED[run.task]
        gap = published.percent - run.find("student").accuracy
        st.caption(t("serving-published", accuracy=f"{published.percent:.1f}%", gap=f"{gap:.1f}"))
        st.caption(f"{t('number-source')}: [{published.title}]({published.link})")
    st.caption(t("serving-measured", texts=run.texts, mean=run.mean_tokens, rows=run.rows, batch=run.batch_size,
                 rounds=run.rounds))  # fmt: skip
    st.caption(t("serving-run", hardware=run.hardware, date=run.date, commit=run.commit or "–", command=run.command))


frame.heading("serving")
with frame.show_errors():
    runs = calls.call_function(read_runs)
    if not runs.result:
        frame.note_with_command(t("serving-no-runs"), COMMAND)
    else:
        tasks = sorted(runs.result, key=lambda task: (get_task(task).language != language(), task))
        names = {task: t(f"serving-task-{task}") for task in tasks}
        run = runs[fields.choice(st.segmented_control, t("serving-task"), names, "serving-task", required=True)]
        first_step, compared_step = run.result.find(STEPS[0]), run.result.find(COMPARED_STEP)
        with st.container(horizontal=True):
            speedup = serving_views.format_times(run.result.times_faster(COMPARED_STEP))
            st.metric(t("serving-throughput"), speedup, help=t("serving-throughput-help"))
            st.metric(
                t("serving-latency"), f"{first_step.p50_ms:.0f} → {compared_step.p50_ms:.1f} ms",
                help=t("serving-latency-help"),
            )  # fmt: skip
            st.metric(t("serving-change"), t("serving-points", points=signed(-run.result.points_lost, 2)),
                      help=t("serving-change-help"))  # fmt: skip
        display.explain("accuracy")
        quantity = fields.choice(
            st.segmented_control, t("serving-shown"), {name: t(f"serving-{name}") for name in UNITS}, "serving-shown",
            required=True,
        )  # fmt: skip
        values = calls.call_function(list_values, run, quantity)
        plots.draw("steps", serving_views.step_bars, values, UNITS[quantity], lang=language())
        explain_steps(run.result)
        st.subheader(t("serving-numbers"), anchor=False)
        show_numbers(run.result)
url.write_address()
