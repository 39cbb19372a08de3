"""Faster serving: how much each optimisation speeds up a classifier on a CPU, measured by `bertlab bench serve`."""

import streamlit as st
from bertlab_app import calls, display, fields, frame, plots, url
from bertlab_app.i18n import language, t
from bertlab_app.parts import serving as parts

from bertlab.abilities.cost import serving_figures as serving_views
from bertlab.abilities.cost.serving_rows import COMPARED_STEP, STEPS, list_values, read_runs
from bertlab.config.tasks import get_task
from bertlab.views.numbers import signed

COMMAND = "bertlab bench serve sst2 --record"  # the command that makes the measurements
UNITS = {"throughput": "texts/s", "latency": "ms"}  # quantity that the figure can show -> its unit

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
        parts.explain_steps(run.result)
        st.subheader(t("serving-numbers"), anchor=False)
        parts.show_numbers(run.result)
url.write_address()
