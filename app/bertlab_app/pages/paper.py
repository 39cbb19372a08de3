"""The paper: its eleven tasks, each with an example, its published results and ours."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress

import streamlit as st
from bertlab_app import url
from bertlab_app.data import paper_results, sessions
from bertlab_app.data.paper_results import OwnResult
from bertlab_app.i18n import language, t
from bertlab_app.registry import PAGES, Page
from bertlab_app.widgets import display, fields, frame, plots, sentences

from bertlab.config.errors import BertlabError
from bertlab.config.korean_results import KLUE, KOREAN_MEASURES, KPFBERT, PUBLISHED_KOREAN
from bertlab.config.paper import COLUMNS, PUBLISHED, REPLACEMENT_TASKS, SMALL_MODELS, TASKS, Measure, PaperTask
from bertlab.config.tasks import get_task
from bertlab.tasks.registry import TASK_TYPES
from bertlab.views import benchmarks
from bertlab.views.benchmarks import MISSING, TaskResult
from bertlab.views.passage import escape_html

# task -> another task whose checkpoints can answer the example of this task
ANSWERED_BY = {"squad": "squad_v2"} | REPLACEMENT_TASKS
# the command that reproduces the table of GLUE results
TABLE_COMMAND = "bertlab reproduce table1 --data tasks --from strongest --quick --out runs/table1"
# name of a source of the table of all tasks -> its address
SOURCES = {
    "Devlin et al. 2019": "https://arxiv.org/abs/1810.04805",
    "google-research/bert": "https://github.com/google-research/bert",
}
# name of a source of the table of Korean tasks -> its address
KOREAN_SOURCES = {"kpfBERT": KPFBERT, "KLUE": KLUE}


def list_measures(task: PaperTask) -> list[Measure]:
    """List the measures of a task that have published results: first the paper's, then the others that GLUE has."""
    paper_measures = [column for column in COLUMNS[task.table] if column.task == task.name]
    paper_metrics = {column.metric for column in paper_measures}
    other_measures = [Measure(task.name, metric, task.title) for metric in task.metrics if metric not in paper_metrics]
    return paper_measures + other_measures


def name_measure(measure: Measure) -> str:
    return t(f"metric-{measure.metric}")


def choose_measure(task: PaperTask) -> Measure:
    """Let the user choose the measure that the figure shows, if the task has several."""
    measures = {measure.name: measure for measure in list_measures(task)}
    if len(measures) == 1:
        return next(iter(measures.values()))
    names = {name: name_measure(measure) for name, measure in measures.items()}
    return measures[fields.choice(st.segmented_control, t("paper-shown"), names, "paper-measure", required=True)]


def find_explanation(measure: Measure) -> str:
    """Find the key of `display.NUMBERS` that explains a measure."""
    metric = measure.metric.removeprefix("mismatched_")
    if metric == "f1" and get_task(measure.task).kind != "span":
        return "f1_class"
    return {"matthews": "mcc"}.get(metric, metric)


def list_results(measure: Measure, own_results: Sequence[OwnResult]) -> list[TaskResult]:
    """List the published results on a measure, then ours, as (system, split, result in percent)."""
    table = next(task.table for task in TASKS if task.name == measure.task)
    published_rows = [
        (row.title, row.split, row.values[measure.name]) for row in PUBLISHED[table] if measure.name in row.values
    ]
    own_rows = [
        (result.system, "validation", result.values[measure.name])
        for result in own_results
        if measure.name in result.values
    ]
    return published_rows + own_rows


def show_example(task: PaperTask) -> None:
    """Show an example of a task: its texts with the names of their columns, and the correct answer."""
    spec = get_task(task.name)
    rows = "".join(
        f'<p class="small">{escape_html(column)}</p><p dir="auto" lang="en">{escape_html(text)}</p>'
        for column, text in zip(spec.text, task.text_example, strict=True)
    )
    answer = f'<p class="small">{t("paper-answer")}</p><p dir="auto" lang="en"><b>{escape_html(task.answer)}</b></p>'
    with st.container(border=True):
        st.html(rows + answer)


def show_open_button(task: PaperTask, own_results: Sequence[OwnResult], page: Page) -> None:
    same_task_results = [result for result in own_results if result.task == task.name and result.source]
    similar_task = ANSWERED_BY.get(task.name)
    similar_task_results = [result for result in own_results if result.task == similar_task and result.source]
    if not same_task_results + similar_task_results:
        frame.note_with_command(
            t("paper-no-checkpoint", task=task.title),
            f"bertlab finetune {task.name} --from strongest --out runs/{task.name}",
        )
        return
    result = (same_task_results + similar_task_results)[0]
    if st.button(t("paper-open", page=t(page.name)), icon=page.icon):
        for name, value in make_page_values(task, page).items():
            url.store(name, value)
        url.store("checkpoint", result.source)
        st.switch_page(page.script)
    if not same_task_results:
        st.caption(t("paper-similar-checkpoint", checkpoint=result.system, task=t(f"paper-trained-on-{result.task}")))


def make_page_values(task: PaperTask, page: Page) -> dict[str, str]:
    """Return {name of a field in the address: its value}, with which a page shows the example of a task."""
    first, *others = task.text_example
    if page.name == "answer":
        return {"passage": first, "question": others[0], "refuse": str(int(get_task(task.name).unanswerable))}
    if page.name == "choose":
        endings = {f"ending{number}": ending for number, ending in enumerate(others)}
        return {"context": first, "endings": str(len(others))} | endings
    return {"judged": first, "judged2": others[0] if others else ""}


def describe_own_results(task_name: str, own_results: Sequence[OwnResult]) -> None:
    """Say on how many rows our results on a task were measured, or that there are none."""
    results = [result for result in own_results if result.task == task_name]
    for result in results:
        if result.num_rows is not None:
            st.caption(t("paper-own-rows", system=result.system, rows=result.num_rows))
    if not results:
        st.caption(t("paper-no-own-result"))


def show_overview(own_results: Sequence[OwnResult]) -> None:
    """Show the table of all tasks: training rows, measure, published results and our best one."""
    rows = []
    for task in TASKS:
        measure = list_measures(task)[-1 if task.table in ("table2", "table3") else 0]
        own_values = [result.values[measure.name] for result in own_results if measure.name in result.values]
        rows.append(
            {
                "paper-task": task.title,
                "paper-training-rows": f"{task.training_rows:,}",
                "paper-measure": name_measure(measure),
                "paper-large": find_published(task.table, measure, "BERT large"),
                "paper-base": find_published(task.table, measure, "BERT base"),
                "paper-small": find_small_model_range(task.table, measure),
                "paper-ours": f"{max(own_values):.1f}" if own_values else MISSING,
            }
        )
    display.table({t(id): [row[id] for row in rows] for id in rows[0]})
    st.caption(t("paper-splits"))
    show_sources(SOURCES)


def show_averages() -> None:
    """Show the published averages of GLUE, and how each average is computed."""
    averages = {row.title: f"{row.average:.1f}" for row in PUBLISHED["table1"]}
    display.table({t("paper-system"): list(averages), t("paper-average"): list(averages.values())})
    st.caption(t("paper-averages"))
    st.code(TABLE_COMMAND, language="bash", wrap_lines=True)


def show_korean_tasks(own_results: Sequence[OwnResult]) -> None:
    """Show the published results of Korean and multilingual BERTs on Korean tasks, with our best ones first."""
    best_results = {measure.name: find_best(measure, own_results) for measure in KOREAN_MEASURES}
    sources = {address: name for name, address in KOREAN_SOURCES.items()}
    names = [t("paper-ours"), *(f"{row.title} ({sources[row.source]})" for row in PUBLISHED_KOREAN)]
    sizes = [describe_sizes(best_results.values()), *(describe_size(*row.size) for row in PUBLISHED_KOREAN)]
    columns = {t("paper-system"): names, t("paper-korean-size"): sizes}
    for measure in KOREAN_MEASURES:
        own_result = best_results[measure.name]
        values = [
            own_result and own_result.values[measure.name],
            *(row.values.get(measure.name) for row in PUBLISHED_KOREAN),
        ]
        title = f"{measure.title}, {name_measure(measure)}"
        columns[title] = [MISSING if value is None else f"{value:.2f}" for value in values]
    display.table(columns)
    st.caption(t("paper-korean-splits"))
    show_sources(KOREAN_SOURCES)


def find_best(measure: Measure, own_results: Sequence[OwnResult]) -> OwnResult | None:
    results = [result for result in own_results if measure.name in result.values]
    return max(results, key=lambda result: result.values[measure.name], default=None)


def describe_sizes(results: Iterable[OwnResult | None]) -> str:
    """Describe the sizes of the shipped checkpoints that have these results; a dash if no result is from one."""
    sizes = {}
    for result in results:
        if result is not None and result.source:
            with suppress(BertlabError, KeyError):
                config, _ = sessions.read_description(result.source)
                sizes[describe_size(config.num_layers, config.hidden_size)] = None
    return ", ".join(sizes) or MISSING


def describe_size(layers: int, hidden: int) -> str:
    return f"{layers}\N{NO-BREAK SPACE}×\N{NO-BREAK SPACE}{hidden}"


def show_sources(sources: Mapping[str, str]) -> None:
    """Show where the results of a table come from: the names of its sources, as links."""
    links = " · ".join(f"[{name}]({link})" for name, link in sources.items())
    st.caption(f"{t('number-source')}: {links}")


def find_published(table: str, measure: Measure, title: str) -> str:
    """Find the published result of a model, preferably the one on a test set, and format it with its split."""
    rows = [row for row in PUBLISHED[table] if row.title.startswith(title) and measure.name in row.values]
    rows.sort(key=lambda row: row.split != "test")
    if not rows:
        return MISSING
    return f"{rows[0].values[measure.name]:.1f}\N{NO-BREAK SPACE}{t(f'paper-split-{rows[0].split}')}"


def find_small_model_range(table: str, measure: Measure) -> str:
    values = [
        row.values[measure.name]
        for row in PUBLISHED[table]
        if row.source == SMALL_MODELS and measure.name in row.values
    ]
    return f"{min(values):.1f}–{max(values):.1f}\N{NO-BREAK SPACE}{t('paper-split-test')}" if values else MISSING


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
        show_example(task)
        show_open_button(task, own_results, PAGES[task_type.page])
    with right:
        with st.container(horizontal=True):
            st.metric(t("paper-training-rows"), f"{task.training_rows:,}")
            st.metric(t("paper-measure"), name_measure(list_measures(task)[0]))
        measure = choose_measure(task)
        results = list_results(measure, own_results)
        data = benchmarks.result_columns(results)
        plots.draw("results", benchmarks.task_bars, results, data=data, extra_columns={}, lang=language())
        describe_own_results(name, own_results)
        display.sentence(sentences.results(results))
        display.explain(find_explanation(measure))

    st.subheader(t("paper-overview"), anchor=False)
    show_overview(own_results)
    show_averages()
    st.subheader(t("paper-korean"), anchor=False)
    show_korean_tasks(own_results)
url.write_address()
