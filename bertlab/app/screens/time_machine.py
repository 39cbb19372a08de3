"""Time machine: one slider over the snapshots of a training run."""

import time
from pathlib import Path

import streamlit as st

from bertlab.app import components, loaders, url
from bertlab.app.examples import examples as examples_in
from bertlab.app.i18n import language, t

components.heading("time-machine")
known = loaders.runs()
picked = url.text(
    st.selectbox, t("run"), loaders.fitting_run(known, language()), key="run", options=list(known),
    accept_new_options=True, help=t("run-help"),
)  # fmt: skip


@st.fragment
@components.told()
def machine(run: Path, first: str, second: str) -> None:
    """Every snapshot asked, a bar while that goes on, and the picture."""
    place, began = st.empty(), time.monotonic()

    def done(count: int, of: int) -> None:
        if time.monotonic() - began > components.PATIENCE:
            place.progress(count / of, t("time-machine-working", done=count, of=of))

    code = components.lines(
        None, "from pathlib import Path", "from bertlab.explore.timeline import timeline",
        "from bertlab.views import html",
        "state = STATE  # as on the screen", f"moments = timeline({str(run)!r}, {first!r}, {second or None!r})",
        'page = html.timeline_html(moments, options={"state": state})',
        'Path("time-machine.html").write_text(page, encoding="utf-8")',
    )  # fmt: skip
    packed = loaders.moments(run, first, second, components.options() | {"code": code}, done)
    place.empty()
    components.canvas("timeline", packed)
    components.explain("attention", "mask_probability", "nsp_probability", "loss")


with components.told():
    if picked:
        run = loaders.run(picked)
        spoken = loaders.spoken(run)
        first, second = examples_in(spoken).moment
        left, right = st.columns(2)
        # a text for each language, so that a run of the other one begins with its own
        a = components.line(left, t("time-machine-a"), first, key=f"then.{spoken}.a")
        b = components.line(right, t("sentence-b"), second, key=f"then.{spoken}.b", placeholder=t("sentence-b-empty"))
        with st.container(key="moments"):
            machine(run, a, b)
    else:
        components.teach(t("run-none"), loaders.MAKE_RUN)
