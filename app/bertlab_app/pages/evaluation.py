"""Evaluation: the metrics of a checkpoint on labelled rows, its confusion matrix, and the hardest examples."""

import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

import streamlit as st
from bertlab_app import calls, url
from bertlab_app.data import labelled_rows, sessions
from bertlab_app.i18n import language, t
from bertlab_app.widgets import display, evaluation_results, fields, frame, selection
from bertlab_app.widgets.samples import format_sample_rows

from bertlab.checkpoints.checkpoint import Checkpoint
from bertlab.config.errors import BertlabError, DataError
from bertlab.config.tasks import TASKS, TaskSpec
from bertlab.tasks.error_analysis import AnalysisRows, ErrorAnalysis
from bertlab.tasks.example_rows import format_json_lines, generate_rows, write_example_rows
from bertlab.tasks.registry import list_finetune_types
from bertlab.tasks.task_flags import get_finetune_type
from bertlab.text.readers.invalid_rows import InvalidRowAction
from bertlab.text.readers.registry import upload_suffixes
from bertlab.text.readers.text_file import SECOND_TEXT_NAMES, TEXT_NAMES, guess_column
from bertlab.training import error_analysis

COMMANDS = ("classify", "tag", "answer", "choose")  # the commands whose predictions can be evaluated
EXAMPLE_FILE = "example-rows.jsonl"  # the name of the file in which example rows are downloaded
SPLITS = ["validation", "test", "train"]  # the splits that a user can choose from a directory; the first is the default
# names that the label column often has, in the order in which they are tried
LABEL_NAMES = ("label", "labels", "target", "class", "score", "ner_tags", "tags", "gold", "answer")
MAX_ROWS = 500  # the largest number of rows that a user can choose, because all users share the CPU cores
DEFAULT_ROWS = 200  # the number of rows to evaluate if the user does not change it
DEFAULT_EXAMPLE_ROWS = 100  # the same for example rows, which are evaluated as soon as the page opens


@dataclass(frozen=True)
class Source:
    """Where the labelled rows come from."""

    name: str  # a path, or the name of the file that was pasted or uploaded
    split: str  # the split to read if the path is a directory
    content: bytes | None = None  # the pasted or uploaded content; None for a path
    content_hash: str = ""  # a hash of the content; "" for a path
    invalid_row_action: InvalidRowAction = "skip"
    """What to do about an invalid row: leave it out and report it, or stop with its error."""
    is_example: bool = False
    """Whether the rows are generated from templates. They are evaluated without a click on the start button."""


def choose_command() -> str:
    """Return the first command that the sidebar's checkpoint supports; for "auto", let the user choose one."""
    checkpoint_name, commands = st.session_state.get("opened", sessions.AUTO), []
    for command in COMMANDS:
        with suppress(BertlabError):
            if checkpoint_name == sessions.AUTO:
                sessions.select_checkpoint(command, language())
                commands.append(command)
            elif selection.supports_command(sessions.open_session(sessions.find_checkpoint(checkpoint_name)), command):
                return command
    if not commands:
        return COMMANDS[0]
    names = {command: t(command) for command in commands}  # each command has a page of the same name
    return fields.choice(st.segmented_control, t("evaluation-prediction-type"), names, "measure", required=True)


def choose_task(loaded: Checkpoint) -> str:
    """Let the user choose the task whose metrics are computed."""
    types = {task_type.name for task_type in list_finetune_types() if task_type.head in loaded.heads}
    names = {"": t("evaluation-task-own")} | {name: name for name, spec in TASKS.items() if spec.kind in types}
    return fields.choice(st.selectbox, t("evaluation-task"), names, "task", help=t("evaluation-task-help"))


def choose_source(spec: TaskSpec, labels: Sequence[str], model_language: str) -> Source | None:
    """Let the user choose the rows, and what happens to invalid rows."""
    source = choose_rows(spec, generate_rows(spec, labels, model_language))
    if source is None or source.is_example:
        return source
    skips_invalid_rows = fields.flag(
        st.toggle, t("evaluation-skip-invalid"), key="skip", default=True, help=t("evaluation-skip-invalid-help")
    )
    return source if skips_invalid_rows else replace(source, invalid_row_action="stop")


def choose_rows(spec: TaskSpec, example_rows: Sequence[dict]) -> Source | None:
    """Let the user choose the example rows (if any), enter a path, paste rows, or upload a file."""
    kinds = ("examples",) * bool(example_rows) + ("path", "paste", "upload")
    names = {kind: t(f"evaluation-source-{kind}") for kind in kinds}
    kind = fields.choice(st.segmented_control, t("evaluation-source"), names, "from", required=True)
    if kind == "examples":
        content = format_json_lines(example_rows).encode()
        st.caption(t("evaluation-examples-note", count=len(example_rows)))
        st.download_button(
            t("evaluation-examples-download"), content, EXAMPLE_FILE, icon=":material/download:", type="tertiary"
        )
        return replace(make_source(EXAMPLE_FILE, content), is_example=True)
    if kind == "path":
        left, right = st.columns([3, 1])
        path = fields.text_line(
            left, t("evaluation-path"), "", key="rows", is_path=True, help=t("evaluation-path-help")
        )
        splits = {name: t(f"evaluation-split-{name}") for name in SPLITS}
        split = fields.choice(right.selectbox, t("evaluation-split"), splits, "split")
        return Source(path.strip(), split) if path.strip() else None
    if kind == "paste":
        pasted_text = fields.text(st.text_area, t("evaluation-paste"), "", key="pasted", height=180)
        if not pasted_text.strip():
            return None
        return make_source(f"rows{guess_suffix(pasted_text, spec)}", pasted_text.encode("utf-8", "replace"))
    upload = st.file_uploader(t("evaluation-upload"), upload_suffixes(), key="evaluation-upload")
    return make_source(Path(upload.name).name, upload.getvalue()) if upload else None


def guess_suffix(pasted_text: str, spec: TaskSpec) -> str:
    pasted_text = pasted_text.lstrip("\n")
    if pasted_text.lstrip()[:1] in ("{", "["):
        return ".json" if get_finetune_type(spec.kind).reads_windows else ".jsonl"  # SQuAD is one object
    return ".tsv" if "\t" in pasted_text.partition("\n")[0] else ".csv"


def make_source(name: str, content: bytes) -> Source:
    return Source(name, "validation", content, hashlib.blake2s(content).hexdigest())


def choose_columns(spec: TaskSpec, rows: AnalysisRows) -> tuple[tuple[str, ...], str]:
    """Let the user choose the text columns and the label column."""
    task_type = get_finetune_type(spec.kind)
    if task_type.has_fixed_columns:
        return (), ""
    names = list(rows.columns)
    reads_pairs = "pair_column" in task_type.column_flags
    layout_columns = st.columns(3 if reads_pairs else 2)
    task_column = spec.text[0] if spec.text and spec.text[0] in names else None
    text_column = task_column or guess_column(names, task_type.token_columns + TEXT_NAMES) or names[0]
    text_column = fields.column(layout_columns[0], t("evaluation-column-text"), text_column, names, "textcolumn")
    text_columns = (text_column,)
    if reads_pairs:
        pair_column = next((name for name in spec.text[1:] if name in names), "")
        if not spec.text:
            pair_column = guess_column(names, SECOND_TEXT_NAMES) or ""
        label = t("evaluation-column-pair")
        pair_column = fields.column(layout_columns[1], label, pair_column, ["", *names], "paircolumn")
        text_columns = (text_column, pair_column) if pair_column else text_columns
    task_label = next((name for name in spec.label if name.partition(".")[0] in names), None)
    guess = task_label.partition(".")[0] if task_label else guess_column(names, LABEL_NAMES) or names[-1]
    label_column = fields.column(layout_columns[-1], t("evaluation-column-label"), guess, names, "labelcolumn")
    return text_columns, "" if task_label and label_column == guess else label_column


def show_sample_rows(spec: TaskSpec, labels: Sequence[str], model_language: str) -> None:
    """Explain the format of the rows, with a few sample rows and a button that puts them into the field for pasting."""
    frame.note(t(f"evaluation-format-{spec.kind}"))
    rows = format_sample_rows(spec, labels, model_language)
    st.code(rows, language=None, wrap_lines=True)

    def insert_sample() -> None:
        for name, value in {"from": "paste", "pasted": rows}.items():
            st.session_state[name] = value
            url.store(name, value)

    st.button(t("evaluation-insert-sample"), icon=":material/content_paste:", on_click=insert_sample)
    display.explain("label_probability")


def draw_start_button(
    checkpoint: sessions.CheckpointKey, source: Source, task: str, columns: tuple, max_rows: int, total: int
) -> bool:
    if source.is_example:
        return True
    name = sessions.loadable_name(checkpoint)
    settings = (
        name,
        source.name,
        source.split,
        source.content_hash,
        task,
        columns,
        max_rows,
        source.invalid_row_action,
    )
    settings_hash = hashlib.blake2s(repr(settings).encode("utf-8", "replace")).hexdigest()[:8]
    if source.content is not None and url.recall("from") == "upload":
        st.caption(t("evaluation-upload-not-in-link"))
    is_clicked = st.button(
        t("evaluation-run", count=min(max_rows, total)), icon=":material/play_arrow:", type="primary"
    )
    started_hash = settings_hash if is_clicked else url.recall("ran")
    url.store("ran", started_hash)
    return started_hash == settings_hash


def read_rows(checkpoint: sessions.CheckpointKey, loaded: Checkpoint, source: Source, task: str) -> calls.Expression:
    """Read the rows of a source, and return them with the Python code that reads them, which the page shows."""

    # `name` is the path in the Python code that the page shows; `labelled_rows` needs the path that the user typed
    def read_source(name: str, spec: TaskSpec, split: str, **options: InvalidRowAction) -> AnalysisRows:
        return labelled_rows.read_rows(source.name, source.content, spec, split, **options)

    # `os.path` returns the home directory of an unknown user ("~nobody") unchanged; `pathlib` would raise
    name = source.name if source.content is not None else os.path.expanduser(source.name)
    spec = calls.assign("spec", find_task(checkpoint, loaded, task))
    if source.is_example:
        arguments = (name, spec, loaded.config.labels, sessions.open_session(checkpoint).language)
        path_call = calls.call_function(write_example_rows, *arguments, compute_with=lambda name, *_: name)
        name = calls.assign("path", path_call)
    arguments, options = (name, spec, source.split), invalid_option(source)
    with suggest_skipping():
        call = calls.call_function(error_analysis.read_labelled_rows, *arguments, compute_with=read_source, **options)
    return calls.assign("rows", call)


def evaluate(
    checkpoint: sessions.CheckpointKey, loaded: Checkpoint, rows: calls.Expression, source: Source, task: str,
    columns: tuple[tuple[str, ...], str], max_rows: int,
) -> calls.Expression:  # fmt: skip

    def analyse(
        loaded: Checkpoint, rows: AnalysisRows, spec: TaskSpec, max_rows: int, **options: InvalidRowAction
    ) -> ErrorAnalysis:
        modification_times = () if source.content is not None else labelled_rows.read_modification_times(source.name)
        key = (source.name, source.content_hash, modification_times, source.split, *columns)
        progress = frame.progress_bar(st.empty(), "evaluation-progress")
        return labelled_rows.analyse(checkpoint, key, rows, spec, max_rows, progress, **options)

    loaded_expression, spec = make_loaded_expression(checkpoint, loaded), find_task(checkpoint, loaded, task, columns)
    arguments, options = (loaded_expression, rows, spec, max_rows), invalid_option(source)
    with suggest_skipping():
        call = calls.call_function(error_analysis.analyse_errors, *arguments, compute_with=analyse, **options)
    return calls.assign("analysis", call)


def invalid_option(source: Source) -> dict[str, InvalidRowAction]:
    """Return the option for invalid rows; {} for the default, which the Python code on the page leaves out."""
    return {} if source.invalid_row_action == "skip" else {"invalid": source.invalid_row_action}


@contextmanager
def suggest_skipping() -> Iterator[None]:
    """Reword the error about an invalid row: name the switch on this page instead of the command-line flag."""
    try:
        yield
    except DataError as error:
        if error.id != "invalid-row-stops":
            raise
        raise DataError("evaluation-stopped-at-invalid-row", **error.params) from None


def make_loaded_expression(checkpoint: sessions.CheckpointKey, loaded: Checkpoint) -> calls.Expression:
    """Make the expression of an opened checkpoint for the Python code that the page shows."""
    return calls.Expression(loaded, "session.loaded", checkpoint=checkpoint)


def find_task(
    checkpoint: sessions.CheckpointKey, loaded: Checkpoint, task: str, columns: tuple[tuple[str, ...], str] = ((), "")
) -> calls.Expression:
    """Find the task of the evaluation with `error_analysis.find_task`; the user chose the `columns`."""
    return calls.call_function(error_analysis.find_task, make_loaded_expression(checkpoint, loaded), task, *columns)


frame.heading("evaluation")
with frame.show_errors():
    command = choose_command()
    checkpoint = selection.open_checkpoint(command)
    loaded = sessions.open_session(checkpoint).loaded
    task = choose_task(loaded)
    spec = error_analysis.find_task(loaded, task)
    labels, row_language = loaded.config.labels, sessions.open_session(checkpoint).language
    source = choose_source(spec, labels, row_language)
    if source is None:
        show_sample_rows(spec, labels, row_language)
    else:
        rows = read_rows(checkpoint, loaded, source, task)
        # Example rows have the columns of the task if the task specifies columns; ((), "") stands for these columns.
        has_task_columns = source.is_example and spec.text
        columns = ((), "") if has_task_columns else choose_columns(spec, rows.result)
        default_rows = DEFAULT_EXAMPLE_ROWS if source.is_example else DEFAULT_ROWS
        max_rows = fields.number(
            st.slider, t("evaluation-max-rows"), 50, MAX_ROWS, default_rows, key="most", step=50,
            help=t("evaluation-max-rows-help"),
        )  # fmt: skip
        if draw_start_button(checkpoint, source, task, columns, max_rows, len(rows.result)):
            analysis = evaluate(checkpoint, loaded, rows, source, task, columns, max_rows)
            texts = [text for row in analysis.result.rows for text in row.texts]
            selection.note_other_language(checkpoint, command, texts)
            evaluation_results.show_metrics(analysis.result)
            selected = evaluation_results.draw_chart(checkpoint, analysis)
            evaluation_results.list_examples(checkpoint, analysis.result, selected)
