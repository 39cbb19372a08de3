"""The parts of the evaluation page: rows, columns, metrics, chart and examples. Computes nothing."""

import hashlib
import os
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import streamlit as st

from bertlab.app import calls, display, fields, frame, plots, selection, url
from bertlab.app.data import labelled_rows, sessions
from bertlab.app.i18n import error_text, language, t
from bertlab.app.parts.batch import as_csv
from bertlab.app.parts.samples import sample
from bertlab.checkpoints.checkpoint import Checkpoint
from bertlab.config.errors import BertlabError
from bertlab.config.tasks import TASKS, TaskSpec
from bertlab.explore.batch_predict import PAIR_NAMES, TEXT_NAMES, guess_column
from bertlab.tasks.error_analysis import AnalysisRows, ErrorAnalysis, ScoredRow
from bertlab.tasks.registry import finetune_types
from bertlab.tasks.task_flags import finetune_type
from bertlab.text.readers.registry import upload_suffixes
from bertlab.training import error_analysis
from bertlab.views import evaluation
from bertlab.views.numbers import SignedNumber
from bertlab.views.passage import escape_html

QUESTIONS = {"classify": "classify", "tag": "tag", "question": "answer"}  # page -> its prediction
SPLITS = ["validation", "test", "train"]
LABEL_NAMES = ("label", "labels", "target", "class", "score", "ner_tags", "tags", "gold", "answer")
MAX_EXAMPLES = 20  # examples in the list
MAX_INVALID_ROWS = 20  # invalid rows in the list
NOT_PERCENT = {"null_threshold", "pearson", "spearman", "matthews"}  # metrics that are not percentages
# metric -> the key of its explanation; the F1 of spans and that of labels are defined differently
EXPLAINED = {
    "accuracy": "accuracy", "f1": "f1_class", "f1_from_3": "f1_class", "matthews": "mcc", "pearson": "pearson",
    "spearman": "spearman", "entity_f1": "f1_entity", "entity_precision": "f1_entity", "entity_recall": "f1_entity",
    "exact_match": "exact_match", "null_threshold": "tau", "rouge_w": "rouge_w",
}  # fmt: skip


@dataclass(frozen=True)
class Source:
    """Where labelled rows come from."""

    name: str
    """A path, or the name of the file that was pasted or uploaded."""
    split: str
    """Which split of a directory."""
    content: bytes | None = None
    """The pasted or uploaded content; None for a path."""
    stamp: str = ""
    """A hash of the content."""


# -- the task and the rows ---------------------------------------------------------------------------------------


def question() -> str:
    """The prediction to evaluate: what the checkpoint of the sidebar can do, or with "auto" the user's choice."""
    picked, able = st.session_state.get("opened", sessions.AUTO), []
    for page, prediction in QUESTIONS.items():
        with suppress(BertlabError):
            if picked == sessions.AUTO:
                sessions.select_checkpoint(prediction, language())
                able.append(page)
            elif selection.can_predict(sessions.open_session(sessions.find_checkpoint(picked)), prediction):
                return prediction
    if not able:
        return next(iter(QUESTIONS.values()))
    named = {page: t(page) for page in able}
    return QUESTIONS[
        fields.choice(st.segmented_control, t("evaluation-prediction-type"), named, "measure", required=True)
    ]


def task(loaded: Checkpoint) -> str:
    """Choose the task whose metrics are computed; "" is the one that the checkpoint was fine-tuned on."""
    kinds = {task_type.name for task_type in finetune_types() if task_type.head in loaded.heads}
    named = {"": t("evaluation-task-own")} | {name: name for name, spec in TASKS.items() if spec.kind in kinds}
    return fields.choice(st.selectbox, t("evaluation-task"), named, "task", help=t("evaluation-task-help"))


def source(spec: TaskSpec) -> Source | None:
    """Choose the rows: a path, an upload or pasted text. None while there are none."""
    ways = {name: t(f"evaluation-source-{name}") for name in ("path", "paste", "upload")}
    way = fields.choice(st.segmented_control, t("evaluation-source"), ways, "from", required=True)
    if way == "path":
        left, right = st.columns([3, 1])
        path = fields.text_line(left, t("evaluation-path"), "", key="rows", help=t("evaluation-path-help"))
        splits = {name: t(f"evaluation-split-{name}") for name in SPLITS}
        split = fields.choice(right.selectbox, t("evaluation-split"), splits, "split")
        return Source(path.strip(), split) if path.strip() else None
    if way == "paste":
        pasted = url.text(st.text_area, t("evaluation-paste"), "", key="pasted", height=180)
        return (
            _source_of_content(f"rows{_suffix(pasted, spec)}", pasted.encode("utf-8", "replace"))
            if pasted.strip()
            else None
        )
    upload = st.file_uploader(t("evaluation-upload"), upload_suffixes(), key="evaluation-upload")
    return _source_of_content(Path(upload.name).name, upload.getvalue()) if upload else None


def _suffix(pasted: str, spec: TaskSpec) -> str:
    """The file suffix that fits pasted rows. A table copied from a spreadsheet has tabs."""
    pasted = pasted.lstrip("\n")
    if pasted.lstrip()[:1] in ("{", "["):
        return finetune_type(spec.kind).json_suffix
    return ".tsv" if "\t" in pasted.partition("\n")[0] else ".csv"


def _source_of_content(name: str, content: bytes) -> Source:
    return Source(name, "validation", content, hashlib.blake2s(content).hexdigest())


def columns(spec: TaskSpec, rows: AnalysisRows) -> tuple[tuple[str, ...], str]:
    """Choose the columns of the texts and of the label, which are guessed first; empty where the task fixes them."""
    task_type = finetune_type(spec.kind)
    if task_type.fixed_columns:
        return (), ""
    names = list(rows.columns)
    reads_pairs = "pair_column" in task_type.column_flags
    places = st.columns(3 if reads_pairs else 2)
    known = spec.text[0] if spec.text and spec.text[0] in names else None
    text = known or guess_column(names, task_type.token_columns + TEXT_NAMES) or names[0]
    text = fields.column(places[0], t("evaluation-column-text"), text, names, "textcolumn")
    texts = (text,)
    if reads_pairs:
        pair = next((name for name in spec.text[1:] if name in names), "")
        if not spec.text:
            pair = guess_column(names, PAIR_NAMES) or ""
        pair = fields.column(places[1], t("evaluation-column-pair"), pair, ["", *names], "paircolumn")
        texts = (text, pair) if pair else texts
    own = next((name for name in spec.label if name.partition(".")[0] in names), None)
    guess = own.partition(".")[0] if own else guess_column(names, LABEL_NAMES) or names[-1]
    label = fields.column(places[-1], t("evaluation-column-label"), guess, names, "labelcolumn")
    return texts, "" if own and label == guess else label


def show_sample_rows(spec: TaskSpec, labels: Sequence[str], language: str) -> None:
    """Explain which rows are needed, and offer sample rows to try.

    Args:
        language: that of the checkpoint.
    """
    frame.note(t(f"evaluation-format-{spec.kind}"))
    rows = sample(spec, labels, language)
    st.code(rows, language=None, wrap_lines=True)

    def insert() -> None:
        for name, value in {"from": "paste", "pasted": rows}.items():
            st.session_state[name] = value
            url.store(name, value)

    st.button(t("evaluation-insert-sample"), icon=":material/content_paste:", on_click=insert)
    display.explain("label_probability")


# -- running the evaluation --------------------------------------------------------------------------------------


def is_requested(
    checkpoint: sessions.Checkpoint, source: Source, task: str, columns: tuple, most: int, total: int
) -> bool:
    """Whether to run this evaluation: its button was clicked, here or by the sender of the link."""
    settings = (sessions.short_name(checkpoint), source.name, source.split, source.stamp, task, columns, most)
    mark = hashlib.blake2s(repr(settings).encode("utf-8", "replace")).hexdigest()[:8]
    if source.content is not None and url.recall("from") == "upload":
        st.caption(t("evaluation-upload-not-in-link"))
    clicked = st.button(t("evaluation-run", count=min(most, total)), icon=":material/play_arrow:", type="primary")
    ran = mark if clicked else url.recall("ran")
    url.store("ran", ran)
    return ran == mark


def progress(parts: Sequence) -> Iterator:
    """Show a progress bar while the batches are evaluated."""
    bar = st.progress(0.0)
    for number, part in enumerate(parts):
        bar.progress(number / len(parts), t("evaluation-progress", share=number / len(parts)))
        yield part
    bar.empty()


def read_rows(checkpoint: sessions.Checkpoint, loaded: Checkpoint, source: Source, task: str) -> calls.Expression:
    """Read the rows of a source.

    Raises:
        DataError: they cannot be read, or a visitor may not read them.
    """

    def read(name: str, spec: TaskSpec, split: str) -> AnalysisRows:
        return labelled_rows.read_rows(source.name, source.content, spec, split)

    # os.path leaves the name of an unknown user as it is, where pathlib raises
    name = source.name if source.content is not None else os.path.expanduser(source.name)
    spec = calls.assign("spec", _spec(checkpoint, loaded, task))
    call = calls.call_function(error_analysis.read_labelled_rows, name, spec, source.split, implementation=read)
    return calls.assign("rows", call)


def evaluate(
    checkpoint: sessions.Checkpoint, loaded: Checkpoint, rows: calls.Expression, source: Source, task: str,
    columns: tuple[tuple[str, ...], str], most: int,
) -> calls.Expression:  # fmt: skip
    """Evaluate a checkpoint on rows.

    Args:
        checkpoint: the checkpoint.
        loaded: the same one, opened.
        rows: what `read_rows` returned for `source`.
        source: where the rows come from.
        task: what `task` returned.
        columns: what `columns` returned.
        most: the number of rows at most.

    Raises:
        BertlabError: the checkpoint does not fit the rows.
    """

    def run(loaded: Checkpoint, rows: AnalysisRows, spec: TaskSpec, most: int) -> ErrorAnalysis:
        key = (source.name, source.stamp, source.split, *columns)
        return labelled_rows.analyse(checkpoint, key, rows, spec, most, progress)

    session, spec = _loaded(checkpoint, loaded), _spec(checkpoint, loaded, task, columns)
    call = calls.call_function(error_analysis.analyse_errors, session, rows, spec, most, implementation=run)
    return calls.assign("analysis", call)


def _loaded(checkpoint: sessions.Checkpoint, loaded: Checkpoint) -> calls.Expression:
    return calls.Expression(loaded, "session.loaded", checkpoint=checkpoint)


def _spec(
    checkpoint: sessions.Checkpoint, loaded: Checkpoint, task: str, columns: tuple[tuple[str, ...], str] = ((), "")
) -> calls.Expression:
    """The task to evaluate on, with the columns that the user chose."""
    return calls.call_function(error_analysis.find_task, _loaded(checkpoint, loaded), task, *columns)


# -- results -----------------------------------------------------------------------------------------------------


def show_metrics(found: ErrorAnalysis) -> None:
    """Show the task's metrics, the number of rows they were computed on, and their explanations."""
    shown = {name: value for name, value in found.metrics.items() if name not in ("examples", "total")}
    texts = {name: f"{SignedNumber(value):.1f}{'%' * (name not in NOT_PERCENT)}" for name, value in shown.items()}
    cells = "".join(f"<div><b>{value}</b><span>{t(f'metric-{name}')}</span></div>" for name, value in texts.items())
    st.html(f'<div class="figures">{cells}</div>')
    st.caption(coverage(found))
    if found.confusion and finetune_type(found.spec.kind).has_confusion_of_labels:
        st.caption(t("evaluation-majority", share=found.confusion.majority_share))
    if found.invalid_rows:
        _show_invalid_rows([error_text(line) for line in found.invalid_rows])
    display.explain(*explanations(shown))


def coverage(found: ErrorAnalysis) -> str:
    """Which rows the metrics cover: all valid rows or an even sample of them, and how many rows are invalid."""
    invalid = len(found.invalid_rows)
    usable = found.usable
    scope = "sample" if len(found.rows) < usable else "single" if usable == 1 else "all"
    id = f"evaluation-coverage-{scope}{'-valid' if invalid else ''}"
    return t(id, count=len(found.rows), total=usable, invalid=invalid)


def _show_invalid_rows(lines: Sequence[str]) -> None:
    """Show the first error of the invalid rows in a note, and more of them in a list below it."""
    count = len(lines)
    if count == 1:
        frame.note(t("evaluation-invalid-row", first=lines[0]))
        return
    frame.note(t("evaluation-invalid-rows", count=count, first=lines[0]))
    title = "evaluation-invalid-rows-all" if count <= MAX_INVALID_ROWS else "evaluation-invalid-rows-first"
    with st.expander(t(title, count=count, shown=MAX_INVALID_ROWS)):
        rows = "".join(f'<li dir="auto">{escape_html(line)}</li>' for line in lines[:MAX_INVALID_ROWS])
        st.html(f'<ul class="small">{rows}</ul>')


def explanations(metrics: Collection[str]) -> list[str]:
    """The keys of the explanations of some metrics."""
    explained = EXPLAINED | ({"f1": "f1"} if "exact_match" in metrics else {})
    return list(dict.fromkeys(explained[name] for name in metrics if name in explained))


def chart(checkpoint: sessions.Checkpoint, analysis: calls.Expression) -> Sequence[int] | None:
    """Draw the chart that fits the task type.

    Returns:
        the numbers of the rows that are selected in it; None for all rows.
    """
    if analysis.result.confusion:
        return _confusion(checkpoint, analysis)
    return (_groups if analysis.result.groups else _values)(checkpoint, analysis)


def _confusion(checkpoint: sessions.Checkpoint, analysis: calls.Expression) -> Sequence[int] | None:
    found = analysis.result
    confusion = found.confusion
    st.subheader(t("evaluation-confusion"), anchor=False)
    st.caption(
        t(
            "evaluation-confusion-lead"
            if finetune_type(found.spec.kind).has_confusion_of_labels
            else "evaluation-confusion-entities-lead"
        )
    )
    place = st.container()  # the chart is above the field whose choice it marks
    order = sorted(confusion.cells, key=lambda cell: (cell[0] == cell[1], -len(confusion.cells[cell])))

    options = {"": t("evaluation-show-all")}
    for g, s in order:
        label, prediction = (confusion.names[side] or t("evaluation-nothing") for side in (g, s))
        options[f"{g}.{s}"] = t(
            "evaluation-confusion-cell", label=label, prediction=prediction, count=len(confusion.cells[g, s])
        )
    picked = fields.choice(st.selectbox, t("evaluation-show"), options, "cell")
    chosen = tuple(map(int, picked.split("."))) if picked else None

    def choose(cell: list) -> None:
        if (option := f"{cell[0]}.{cell[1]}") in options:
            st.session_state["cell"] = "" if option == picked else option

    cells = [(g, s) for g in range(len(confusion.names)) for s in range(len(confusion.names))]
    data = {
        "label": [confusion.names[g] for g, _ in cells], "prediction": [confusion.names[s] for _, s in cells],
        "count": [confusion.counts_GP[cell] for cell in cells], "share": [confusion.shares_GP[cell] for cell in cells],
    }  # fmt: skip
    with place:
        saved = {"data": data, "extra_columns": _subject(checkpoint, found)}
        cells = analysis.field("confusion")
        plots.draw("confusion", evaluation.confusion_map, cells, chosen, on_click=choose, **saved, lang=language())
        display.explain("confusion", "label_probability")
    return confusion.cells[chosen] if chosen else None


def _subject(checkpoint: sessions.Checkpoint, found: ErrorAnalysis) -> dict[str, str]:
    """The columns of every saved file that name the checkpoint, the task type and the data."""
    return {"checkpoint": sessions.short_name(checkpoint), "task_type": found.spec.kind, "data": found.name}


def _groups(checkpoint: sessions.Checkpoint, analysis: calls.Expression) -> Sequence[int] | None:
    found = analysis.result
    st.subheader(t("evaluation-groups"), anchor=False)
    ways = {name: t(f"evaluation-group-by-{name}") for name in found.groups}
    by = fields.choice(st.segmented_control, t("evaluation-group-by"), ways, "by", required=True)
    groups = found.groups[by]
    place = st.container()
    options = {"": t("evaluation-show-all")}
    options |= {str(number): group.name or t("figure-other") for number, group in enumerate(groups)}
    picked = fields.choice(st.selectbox, t("evaluation-show"), options, "cell")

    def choose(group: list) -> None:
        st.session_state["cell"] = "" if str(group[0]) == picked else str(group[0])

    data = {
        "group": [group.name for group in groups], "rows": [len(group.rows) for group in groups],
        "f1": [group.f1 for group in groups], "exact_match": [group.exact_match for group in groups],
    }  # fmt: skip
    with place:
        saved = {"data": data, "extra_columns": _subject(checkpoint, found)}
        shown = analysis.field("groups")[by]
        plots.draw("groups", evaluation.group_bars, shown, on_click=choose, **saved, lang=language())
        display.explain("label_probability")
    return groups[int(picked)].rows if picked else None


def _values(checkpoint: sessions.Checkpoint, analysis: calls.Expression) -> Sequence[int] | None:
    found = analysis.result
    st.subheader(t("evaluation-values"), anchor=False)
    st.caption(t("evaluation-values-lead"))
    place = st.container()
    rows = {number: found.rows[number] for number in found.hardest()}
    options = {"": t("evaluation-show-all")}
    options |= {str(number): f"{row.id}: {row.gold} → {row.prediction}" for number, row in rows.items()}
    picked = fields.choice(st.selectbox, t("evaluation-show"), options, "cell")

    def choose(row: list) -> None:
        st.session_state["cell"] = "" if str(row[0]) == picked else str(row[0])

    data = {
        "id": [row.id for row in found.rows], "text": [" | ".join(row.texts) for row in found.rows],
        "label": [row.values[0] for row in found.rows], "prediction": [row.values[1] for row in found.rows],
    }  # fmt: skip
    with place:
        saved = {"data": data, "extra_columns": _subject(checkpoint, found)}
        shown = analysis.field("rows")
        plots.draw("values", evaluation.value_scatter, shown, on_click=choose, **saved, lang=language())
    return [int(picked)] if picked else None


def list_examples(checkpoint: sessions.Checkpoint, found: ErrorAnalysis, members: Sequence[int] | None) -> None:
    """List the hardest of the selected rows, each with a link to its attention, and offer all of them as a file."""
    order = found.hardest(members)
    st.subheader(t("evaluation-hardest" if members is None else "evaluation-selected"), anchor=False)
    id = "evaluation-hardest-count" if len(order) > MAX_EXAMPLES else "evaluation-hardest-count-all"
    st.caption(t(id, shown=min(MAX_EXAMPLES, len(order)), count=len(order)))
    joint = "" if found.spec.unit == "character" else " "
    words = {name: t(f"evaluation-{name}") for name in ("label", "prediction", "probability", "nothing")}
    for number in order[:MAX_EXAMPLES]:
        row = found.rows[number]
        with st.container(border=True, key=f"example-{number}"):
            left, right = st.columns([5, 1], vertical_alignment="center")
            left.html(evaluation.row_html(row, words, joint))
            if right.button(t("attention"), key=f"open-{number}", icon=":material/hub:", help=t("open-in-attention")):
                _open(checkpoint, found.spec.kind, row, joint)
    subject = _subject(checkpoint, found)
    st.download_button(
        t("evaluation-download", count=len(order)),
        lambda: as_csv(row | subject for row in evaluation.table([found.rows[number] for number in order], joint)),
        "evaluation.csv", "text/csv", on_click="ignore", icon=":material/download:",
    )  # fmt: skip


def _open(checkpoint: sessions.Checkpoint, kind: str, row: ScoredRow, joint: str) -> None:
    task_type = finetune_type(kind)
    predict = partial(sessions.compute, checkpoint, task_type.command)
    selection.open_attention_page(checkpoint, *task_type.attention_texts(row, joint, predict))
