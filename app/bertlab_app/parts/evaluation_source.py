"""Fields of the Evaluation page: which prediction, task, rows and columns to evaluate."""

import hashlib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import streamlit as st

from bertlab.checkpoints.checkpoint import Checkpoint
from bertlab.config.errors import BertlabError
from bertlab.config.tasks import TASKS, TaskSpec
from bertlab.tasks.error_analysis import AnalysisRows
from bertlab.tasks.example_rows import format_json_lines, generate_rows
from bertlab.tasks.registry import list_finetune_types
from bertlab.tasks.task_flags import get_finetune_type
from bertlab.text.readers.invalid_rows import InvalidRowAction
from bertlab.text.readers.registry import upload_suffixes
from bertlab.text.readers.text_file import SECOND_TEXT_NAMES, TEXT_NAMES, guess_column
from bertlab_app import display, fields, frame, selection, url, url_fields
from bertlab_app.data import sessions
from bertlab_app.i18n import language, t
from bertlab_app.parts.samples import format_sample_rows

COMMANDS = ("classify", "tag", "answer", "choose")  # the commands whose predictions can be evaluated
EXAMPLE_FILE = "example-rows.jsonl"  # the name of the file in which example rows are downloaded
SPLITS = ["validation", "test", "train"]  # the splits that a user can choose from a directory; the first is the default
# names that the label column often has, in the order in which they are tried
LABEL_NAMES = ("label", "labels", "target", "class", "score", "ner_tags", "tags", "gold", "answer")


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
    source = _choose_rows(spec, generate_rows(spec, labels, model_language))
    if source is None or source.is_example:
        return source
    skips_invalid_rows = url_fields.flag(
        st.toggle, t("evaluation-skip-invalid"), key="skip", default=True, help=t("evaluation-skip-invalid-help")
    )
    return source if skips_invalid_rows else replace(source, invalid_row_action="stop")


def _choose_rows(spec: TaskSpec, example_rows: Sequence[dict]) -> Source | None:
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
        return replace(_make_source(EXAMPLE_FILE, content), is_example=True)
    if kind == "path":
        left, right = st.columns([3, 1])
        path = fields.text_line(
            left, t("evaluation-path"), "", key="rows", is_path=True, help=t("evaluation-path-help")
        )
        splits = {name: t(f"evaluation-split-{name}") for name in SPLITS}
        split = fields.choice(right.selectbox, t("evaluation-split"), splits, "split")
        return Source(path.strip(), split) if path.strip() else None
    if kind == "paste":
        pasted_text = url_fields.text(st.text_area, t("evaluation-paste"), "", key="pasted", height=180)
        if not pasted_text.strip():
            return None
        return _make_source(f"rows{_guess_suffix(pasted_text, spec)}", pasted_text.encode("utf-8", "replace"))
    upload = st.file_uploader(t("evaluation-upload"), upload_suffixes(), key="evaluation-upload")
    return _make_source(Path(upload.name).name, upload.getvalue()) if upload else None


def _guess_suffix(pasted_text: str, spec: TaskSpec) -> str:
    pasted_text = pasted_text.lstrip("\n")
    if pasted_text.lstrip()[:1] in ("{", "["):
        return ".json" if get_finetune_type(spec.kind).reads_windows else ".jsonl"  # SQuAD is one object
    return ".tsv" if "\t" in pasted_text.partition("\n")[0] else ".csv"


def _make_source(name: str, content: bytes) -> Source:
    return Source(name, "validation", content, hashlib.blake2s(content).hexdigest())


def choose_columns(spec: TaskSpec, rows: AnalysisRows) -> tuple[tuple[str, ...], str]:
    """Let the user choose the text columns and the label column. The defaults are the task's columns, or a guess."""
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
