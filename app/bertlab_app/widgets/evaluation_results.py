"""Results of the Evaluation page: metrics, invalid rows, a chart, and the hardest examples.

Shape legend: G labels of the data (gold), P predictions.
"""

from collections.abc import Collection, Sequence
from functools import partial

import streamlit as st

from bertlab.tasks.error_analysis import ErrorAnalysis
from bertlab.tasks.task_flags import get_finetune_type
from bertlab.views import evaluation
from bertlab.views.numbers import SignedNumber
from bertlab.views.passage import escape_html
from bertlab_app import calls
from bertlab_app.data import sessions
from bertlab_app.i18n import error_text, language, t
from bertlab_app.widgets import display, fields, frame, plots, selection, sentences
from bertlab_app.widgets.batch import encode_csv

MAX_EXAMPLES = 20  # how many of the hardest rows are listed
MAX_INVALID_ROWS = 20  # how many invalid rows are listed
NOT_PERCENT = {"null_threshold", "pearson", "spearman", "matthews"}  # metrics that are not percentages
# Metric -> the key of its explanation. This "f1" is the F1 of labels; for answers, `list_explanation_keys` replaces it.
EXPLANATIONS = {
    "accuracy": "accuracy", "f1": "f1_class", "f1_from_3": "f1_class", "matthews": "mcc", "pearson": "pearson",
    "spearman": "spearman", "entity_f1": "f1_entity", "entity_precision": "f1_entity", "entity_recall": "f1_entity",
    "exact_match": "exact_match", "null_threshold": "tau", "rouge_w": "rouge_w",
}  # fmt: skip


def show_metrics(analysis: ErrorAnalysis) -> None:
    """Show the metrics of the task, the rows that they were computed on, and explanations of the metrics."""
    metrics = {name: value for name, value in analysis.metrics.items() if name not in ("examples", "total")}
    texts = {name: f"{SignedNumber(value):.1f}{'%' * (name not in NOT_PERCENT)}" for name, value in metrics.items()}
    cells = "".join(f"<div><b>{value}</b><span>{t(f'metric-{name}')}</span></div>" for name, value in texts.items())
    st.html(f'<div class="figures">{cells}</div>')
    st.caption(describe_coverage(analysis))
    if analysis.confusion and analysis.confusion.counts_rows:
        st.caption(t("evaluation-majority", share=analysis.confusion.majority_share))
    if analysis.invalid_rows:
        _show_invalid_rows([error_text(error) for error in analysis.invalid_rows])
    display.explain(*list_explanation_keys(metrics))


def describe_coverage(analysis: ErrorAnalysis) -> str:
    """Say which rows the metrics cover: all valid rows or an even sample of them, and how many rows are invalid."""
    is_sample, num_invalid = len(analysis.rows) < analysis.num_valid, len(analysis.invalid_rows)
    scope = "sample" if is_sample else "single" if analysis.num_valid == 1 else "all"
    id = f"evaluation-coverage-{scope}{'-valid' if num_invalid else ''}"
    return t(id, count=len(analysis.rows), total=analysis.num_valid, invalid=num_invalid)


def _show_invalid_rows(errors: Sequence[str]) -> None:
    count = len(errors)
    if count == 1:
        frame.note(t("evaluation-invalid-row", first=errors[0]))
        return
    frame.note(t("evaluation-invalid-rows", count=count, first=errors[0]))
    title = "evaluation-invalid-rows-all" if count <= MAX_INVALID_ROWS else "evaluation-invalid-rows-first"
    with st.expander(t(title, count=count, shown=MAX_INVALID_ROWS)):
        items = "".join(f'<li dir="auto">{escape_html(error)}</li>' for error in errors[:MAX_INVALID_ROWS])
        st.html(f'<ul class="small">{items}</ul>')


def list_explanation_keys(metrics: Collection[str]) -> list[str]:
    explanations = EXPLANATIONS | ({"f1": "f1"} if "exact_match" in metrics else {})
    return list(dict.fromkeys(explanations[name] for name in metrics if name in explanations))


def draw_chart(checkpoint: sessions.CheckpointKey, analysis: calls.Expression) -> Sequence[int] | None:
    """Draw the chart that fits the task type."""
    if analysis.result.confusion:
        return _draw_confusion_matrix(checkpoint, analysis)
    return (_draw_groups if analysis.result.groups else _draw_values)(checkpoint, analysis)


def _draw_confusion_matrix(checkpoint: sessions.CheckpointKey, analysis: calls.Expression) -> Sequence[int] | None:
    """Draw the confusion matrix, with a field to choose a cell."""
    confusion = analysis.result.confusion
    st.subheader(t("evaluation-confusion"), anchor=False)
    st.caption(t("evaluation-confusion-lead" if confusion.counts_rows else "evaluation-confusion-entities-lead"))
    chart_container = st.container()  # filled after the field below, so that the chart marks the chosen cell
    errors_first = sorted(confusion.cells, key=lambda cell: (cell[0] == cell[1], -len(confusion.cells[cell])))

    options = {"": t("evaluation-show-all")}
    for cell in errors_first:
        label, prediction = (confusion.names[index] or t("evaluation-nothing") for index in cell)
        count = len(confusion.cells[cell])
        name = t("evaluation-confusion-cell", label=label, prediction=prediction, count=count)
        options[f"{cell[0]}.{cell[1]}"] = name
    chosen_option = fields.choice(st.selectbox, t("evaluation-show"), options, "cell")
    chosen_cell = tuple(map(int, chosen_option.split("."))) if chosen_option else None

    labels = range(len(confusion.names))
    cells = [(label, prediction) for label in labels for prediction in labels]
    data = {
        "label": [confusion.names[label] for label, _ in cells],
        "prediction": [confusion.names[prediction] for _, prediction in cells],
        "count": [confusion.counts_GP[cell] for cell in cells], "share": [confusion.shares_GP[cell] for cell in cells],
    }  # fmt: skip
    with chart_container:
        file_options = {"data": data, "extra_columns": _make_origin_columns(checkpoint, analysis.result)}
        matrix = analysis.field("confusion")
        plots.draw(
            "confusion", evaluation.confusion_map, matrix, chosen_cell, **file_options, lang=language(),
            on_click=lambda cell: _toggle(f"{cell[0]}.{cell[1]}", options, chosen_option),
        )  # fmt: skip
        names = [name or t("evaluation-nothing") for name in confusion.names]
        display.sentence(sentences.confusion(names, confusion.counts_GP))
        display.explain("confusion", "label_probability")
    return confusion.cells[chosen_cell] if chosen_cell else None


def _toggle(option: str, options: Collection[str], chosen_option: str) -> None:
    """Choose the clicked option or, if it is chosen already, none."""
    if option in options:
        st.session_state["cell"] = "" if option == chosen_option else option


def _make_origin_columns(checkpoint: sessions.CheckpointKey, analysis: ErrorAnalysis) -> dict[str, str]:
    """Return {column: its only value} for the columns that say, in every saved file, where the results come from."""
    return {"checkpoint": sessions.loadable_name(checkpoint), "task_type": analysis.spec.kind, "data": analysis.name}


def _draw_groups(checkpoint: sessions.CheckpointKey, analysis: calls.Expression) -> Sequence[int] | None:
    """Draw the metrics of each group of questions."""
    st.subheader(t("evaluation-groups"), anchor=False)
    criteria = {name: t(f"evaluation-group-by-{name}") for name in analysis.result.groups}
    criterion = fields.choice(st.segmented_control, t("evaluation-group-by"), criteria, "by", required=True)
    groups = analysis.result.groups[criterion]
    chart_container = st.container()
    options = {"": t("evaluation-show-all")}
    options |= {str(index): group.name or t("figure-other") for index, group in enumerate(groups)}
    chosen_option = fields.choice(st.selectbox, t("evaluation-show"), options, "cell")

    data = {
        "group": [group.name for group in groups], "rows": [len(group.rows) for group in groups],
        "f1": [group.f1 for group in groups], "exact_match": [group.exact_match for group in groups],
    }  # fmt: skip
    with chart_container:
        file_options = {"data": data, "extra_columns": _make_origin_columns(checkpoint, analysis.result)}
        bars = analysis.field("groups")[criterion]
        plots.draw(
            "groups", evaluation.group_bars, bars, **file_options, lang=language(),
            on_click=lambda data: _toggle(str(data[0]), options, chosen_option),
        )  # fmt: skip
        display.sentence(sentences.groups(groups, t("figure-other")))
        display.explain("label_probability")
    return groups[int(chosen_option)].rows if chosen_option else None


def _draw_values(checkpoint: sessions.CheckpointKey, analysis: calls.Expression) -> Sequence[int] | None:
    """Draw the labels and predictions of a regression."""
    result = analysis.result
    st.subheader(t("evaluation-values"), anchor=False)
    st.caption(t("evaluation-values-lead"))
    chart_container = st.container()
    rows = {index: result.rows[index] for index in result.sort_by_difficulty()}
    options = {"": t("evaluation-show-all")}
    options |= {str(index): f"{row.id}: {row.gold} → {row.prediction}" for index, row in rows.items()}
    chosen_option = fields.choice(st.selectbox, t("evaluation-show"), options, "cell")

    data = {
        "id": [row.id for row in result.rows], "text": [" | ".join(row.texts) for row in result.rows],
        "label": [row.values[0] for row in result.rows], "prediction": [row.values[1] for row in result.rows],
    }  # fmt: skip
    with chart_container:
        file_options = {"data": data, "extra_columns": _make_origin_columns(checkpoint, result)}
        plots.draw(
            "values", evaluation.value_scatter, analysis.field("rows"), **file_options, lang=language(),
            on_click=lambda data: _toggle(str(data[0]), options, chosen_option),
        )  # fmt: skip
        display.sentence(sentences.errors(result.rows))
    return [int(chosen_option)] if chosen_option else None


def list_examples(checkpoint: sessions.CheckpointKey, analysis: ErrorAnalysis, selected: Sequence[int] | None) -> None:
    """List the hardest of the selected rows, each with a button that opens it in Attention, and offer a CSV file."""
    hardest = analysis.sort_by_difficulty(selected)
    st.subheader(t("evaluation-hardest" if selected is None else "evaluation-selected"), anchor=False)
    id = "evaluation-hardest-count" if len(hardest) > MAX_EXAMPLES else "evaluation-hardest-count-all"
    st.caption(t(id, shown=min(MAX_EXAMPLES, len(hardest)), count=len(hardest)))
    separator = "" if analysis.spec.unit == "character" else " "
    names = {
        "label": t("evaluation-label"), "prediction": t("evaluation-prediction"),
        "probability": t("evaluation-probability"), "nothing": t("evaluation-nothing"),
    }  # fmt: skip
    for index in hardest[:MAX_EXAMPLES]:
        row = analysis.rows[index]
        with st.container(border=True, key=f"example-{index}"):
            left, right = st.columns([5, 1], vertical_alignment="center")
            left.html(evaluation.row_html(row, names, separator))
            tooltip = t("open-in-attention")
            if right.button(t("attention"), key=f"open-{index}", icon=":material/hub:", help=tooltip):
                task_type = get_finetune_type(analysis.spec.kind)
                predict = partial(calls.compute, checkpoint, task_type.command)
                selection.open_attention_page(checkpoint, *task_type.choose_attention_texts(row, separator, predict))
    origin_columns = _make_origin_columns(checkpoint, analysis)
    hardest_rows = [analysis.rows[index] for index in hardest]
    st.download_button(
        t("evaluation-download", count=len(hardest)),
        lambda: encode_csv(row | origin_columns for row in evaluation.table(hardest_rows, separator)),
        "evaluation.csv", "text/csv", on_click="ignore", icon=":material/download:",
    )  # fmt: skip
