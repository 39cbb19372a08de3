"""The paper: its eleven tasks, each with an example, its published results and ours."""

import streamlit as st
from bertlab_app import display, fields, frame, plots, sentences, url
from bertlab_app.data import paper_results
from bertlab_app.i18n import language, t
from bertlab_app.parts import paper as parts
from bertlab_app.registry import PAGES

from bertlab.config.paper import TASKS
from bertlab.config.tasks import get_task
from bertlab.tasks.registry import TASK_TYPES
from bertlab.views import benchmarks
from bertlab.views.passage import escape_html

frame.heading("paper")
with frame.show_errors():
    names = {paper_task.name: paper_task.title for paper_task in TASKS}
    name = fields.choice(st.pills, t("paper-task"), names, "paper-task", required=True)
    task = next(paper_task for paper_task in TASKS if paper_task.name == name)
    task_type = TASK_TYPES[get_task(name).kind]
    own_results = paper_results.find_results()

    left, right = st.columns([2, 3], gap="large")
    with left:
        st.html(f"<p>{escape_html(t(f'paper-about-{name}'))}</p>")
        parts.show_example(task)
        parts.show_open_button(task, own_results, PAGES[task_type.page])
    with right:
        with st.container(horizontal=True):
            st.metric(t("paper-training-rows"), f"{task.training_rows:,}")
            st.metric(t("paper-measure"), parts.name_measure(parts.list_measures(task)[0]))
        measure = parts.choose_measure(task)
        results = parts.list_results(measure, own_results)
        data = benchmarks.result_columns(results)
        plots.draw("results", benchmarks.task_bars, results, data=data, extra_columns={}, lang=language())
        parts.describe_own_results(name, own_results)
        display.sentence(sentences.results(results))
        display.explain(parts.find_explanation(measure))

    st.subheader(t("paper-overview"), anchor=False)
    parts.show_overview(own_results)
    parts.show_averages()
    st.subheader(t("paper-korean"), anchor=False)
    parts.show_korean_tasks(own_results)
url.write_address()
