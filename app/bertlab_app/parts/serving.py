"""The sentences and the table of the page Faster serving."""

import streamlit as st

from bertlab.abilities.cost.serving_figures import format_speed, format_times, name_step
from bertlab.abilities.cost.serving_rows import PEERS, PUBLISHED, STEPS, ServingRun
from bertlab.views.numbers import percent
from bertlab.views.passage import escape_html
from bertlab_app import display
from bertlab_app.i18n import language, t


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
