"""The panel that predicts a whole file in a background process: upload, progress, cancel, resume, download.

A page calls `draw_panel` last, even if the page shows an error above the panel. The address contains the id of the job,
so that the panel shows the job again after a reload.
"""

import os
import time

import streamlit as st

from bertlab.abilities.cost.figures import format_duration
from bertlab.abilities.files import results as file_results
from bertlab.abilities.files.batch import PREDICTION_COLUMNS
from bertlab.abilities.files.predictions import FileJob
from bertlab.config.errors import BertlabError, DataError
from bertlab.tasks.registry import list_types_for_command
from bertlab.text.readers.encoding import make_printable
from bertlab.text.readers.file_scan import MAX_BYTES, MAX_ROWS, FileScan, scan_file
from bertlab.text.readers.registry import upload_suffixes
from bertlab.text.readers.text_file import SECOND_TEXT_NAMES, TEXT_NAMES, choose_text_column, guess_column
from bertlab_app import access, url
from bertlab_app.classroom import roles
from bertlab_app.data import file_jobs, labelled_rows, sessions
from bertlab_app.i18n import language, t
from bertlab_app.widgets import display, fields, frame, selection

JOB = "job"  # the key under which the address contains the id of a job
REFRESH_SECONDS = 2  # time between two updates of the panel while a job runs
# the maximum numbers of jobs, of unusable rows with the reasons, and of result rows that the panel lists
MAX_LISTED, MAX_REASONS, MAX_PREVIEW = 10, 10, 20
# names that the columns of passages and questions often have, in the order in which they are tried
PASSAGE_NAMES = ("context", "passage", "지문", "본문", *TEXT_NAMES)
QUESTION_NAMES = ("question", "query", "질문")
TRANSLATED_COLUMNS = {  # column of the results -> message id of its name; columns of the file keep their names
    "row": "files-row", "answer": "files-answer", "vector": "files-vector", "probability": "batch-probability",
    "error": "batch-error",
} | {field: f"batch-{column}" for field, column in PREDICTION_COLUMNS.items()}  # fmt: skip
MEDIA_TYPES = {".csv": "text/csv", ".parquet": "application/vnd.apache.parquet"}  # suffix -> media type


def may_start_jobs() -> bool:
    """Whether this visitor may start jobs and see their files: anyone if paths are not restricted, else the teacher."""
    return roles.is_teacher() or not access.is_restricted()


def draw_panel(command: str, question: str = "") -> None:
    """Draw the panel. Visitors who may not start jobs see nothing.

    The app picks a checkpoint for the language of the file, which may differ from the language of the page's text.
    """
    if not may_start_jobs():
        return
    id = url.recall(JOB)
    title = t("files-embed" if command == "embed" else "files")
    with st.expander(title, icon=":material/upload_file:", expanded=bool(id)), frame.show_errors():
        if error := st.session_state.pop("files.error", None):
            frame.note(error.render(language()), "error")
        if id and _has_command(id, command):
            url.store(JOB, id)
            is_running = file_jobs.find(id).is_running
            st.fragment(_draw_job, run_every=REFRESH_SECONDS if is_running else None)(id)
        else:
            _draw_new_job(command, question)
        _draw_job_list(command, id)


def _has_command(id: str, command: str) -> bool:
    """Whether a job was started for a command."""
    try:
        return file_jobs.find(id).job.command == command
    except DataError as error:
        url.store(JOB, "")
        frame.note(error.render(language()), "error")
        return False


def _draw_new_job(command: str, question: str) -> None:
    """Draw the upload field and, for an uploaded file, its columns and the button that starts the job."""
    limits = {"rows": MAX_ROWS, "megabytes": MAX_BYTES >> 20, "directory": access.JOB_DIRECTORY}
    upload = st.file_uploader(t("files-upload"), upload_suffixes(), key=f"files-upload-{command}")
    st.caption(t("files-limits", **limits))
    if not upload:
        return
    scan = _scan_upload(upload)
    st.caption(t("files-rows", rows=scan.num_rows, columns=len(scan.columns)))
    left, right = st.columns(2)
    names = PASSAGE_NAMES if command == "answer" else TEXT_NAMES
    label = t("files-passage-column" if command == "answer" else "batch-text-column")
    guess = choose_text_column(scan.columns, names, scan.sample)
    column = fields.column(left, label, guess, scan.columns, f"files-text-{command}")
    texts = [row.get(column, "") for row in scan.sample]
    checkpoint = selection.select_checkpoint(command, texts)
    if command == "answer":
        pair_column = _draw_question_column(right, scan, question)
    else:
        pair_column = _draw_pair_column(right, scan, checkpoint, command)
    selection.note_other_language(checkpoint, command, texts)
    if selection.needs_pair(checkpoint, command) and not pair_column:
        frame.note(t("batch-second-text-missing"))
        return
    if command == "answer" and not pair_column and not question.strip():
        frame.note(t("files-question-missing"))
        return
    job = FileJob(
        file="", title=make_printable(upload.name)[-100:], command=command, checkpoint=checkpoint.source, column=column,
        pair_column=pair_column, question=question if command == "answer" and not pair_column else "",
        num_rows=scan.num_rows, language=language(),
    )  # fmt: skip
    running_job = file_jobs.find_running()
    if running_job:
        page = "sentences" if running_job.job.command == "embed" else running_job.job.command
        frame.note(t("files-busy", title=running_job.job.title, page=t(page)))
    start_id = "files-start-embed" if command == "embed" else "files-start"
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button(
            t(start_id, count=scan.num_rows), type="primary", icon=":material/play_arrow:", key="files-start",
            on_click=_start_job, args=(job, upload), disabled=running_job is not None,
        )  # fmt: skip
        st.caption(t("files-checkpoint", checkpoint=_name_checkpoint(job)), width="content")


def _scan_upload(upload) -> FileScan:
    """Scan an uploaded file; the result is stored in the session."""
    stored_scan = st.session_state.get("files.scan")
    if not stored_scan or stored_scan[0] != upload.file_id:
        if upload.size > MAX_BYTES:
            raise DataError("file-job-too-large", path=make_printable(upload.name), megabytes=MAX_BYTES >> 20)
        with st.spinner(t("files-scanning")), labelled_rows.temporary_file(upload.name, upload.getvalue()) as path:
            stored_scan = (upload.file_id, scan_file(path))
        st.session_state["files.scan"] = stored_scan
    return stored_scan[1]


def _draw_question_column(container, scan: FileScan, question: str) -> str:
    """Let the user choose the column of the questions."""
    options = {"": t("files-question-of-page", question=question[:60])} | {name: name for name in scan.columns}
    guess = guess_column(scan.columns, QUESTION_NAMES) or ""
    options = {guess: options[guess]} | options
    return fields.choice(container.selectbox, t("files-question-column"), options, "files-question-column")


def _draw_pair_column(container, scan: FileScan, checkpoint: sessions.CheckpointKey, command: str) -> str:
    """Let the user choose the column of the second texts."""
    task_types = list_types_for_command(command)
    if not task_types or "pair_column" not in task_types[0].column_flags or len(scan.columns) == 1:
        return ""
    guess = guess_column(scan.columns, SECOND_TEXT_NAMES) or ""
    if not selection.needs_pair(checkpoint, command) and sessions.open_session(checkpoint).num_texts == 1:
        guess = ""
    return fields.column(container, t("batch-pair-column"), guess, ["", *scan.columns], f"files-pair-{command}")


def _start_job(job: FileJob, upload) -> None:
    """Start a job and put its id into the address."""
    _run_action(lambda: url.store(JOB, file_jobs.start(job, lambda stream: stream.write(upload.getbuffer()))))


def _run_action(action) -> None:
    """Run the action of a button if this visitor may use the panel."""
    try:
        if may_start_jobs():
            action()
    except BertlabError as error:
        st.session_state["files.error"] = error


@frame.show_errors()
def _draw_job(id: str) -> None:
    """Draw the current state of a job."""
    stored_job = file_jobs.find(id)
    job, state = stored_job.job, stored_job.state
    if stored_job.is_running != st.session_state.get("files.was_running", stored_job.is_running):
        st.session_state["files.was_running"] = stored_job.is_running
        st.rerun(scope="app")
    st.session_state["files.was_running"] = stored_job.is_running
    column_names = " + ".join(part for part in (job.pair_column or job.question, job.column) if part)
    display.table(
        {t("files-file"): [job.title], t("files-column"): [column_names], t("checkpoint"): [_name_checkpoint(job)]}
    )
    counts = {"done": state.done, "total": job.num_rows}
    share = min(state.done / max(1, job.num_rows), 1.0)
    if stored_job.is_running and not state.done:
        st.progress(0.0, t("files-preparing"))
    elif stored_job.is_running:
        remaining = format_duration((job.num_rows - state.done) * state.seconds / state.done, language())
        st.progress(share, t("files-progress", **counts, left=remaining))
    elif state.status != "finished":
        st.progress(share, t("files-progress-stopped", **counts))
    if not stored_job.is_running and state.status in ("finished", "cancelled", "interrupted"):
        frame.note(t(f"files-{state.status}", **counts))
    if state.status == "failed":
        frame.note(t("files-failed", reason=state.reason), "error")
    if stored_job.is_running:
        st.caption(t("files-close-tab"))
    _draw_job_buttons(stored_job)
    if state.done:
        _draw_results(stored_job)


def _name_checkpoint(job: FileJob) -> str:
    return make_printable(os.path.basename(job.checkpoint))


def _draw_job_buttons(stored_job: file_jobs.StoredJob) -> None:
    """Draw the buttons that stop, resume, close and delete a job, and those that download its results."""
    id, state = stored_job.id, stored_job.state
    with st.container(horizontal=True, vertical_alignment="center"):
        if stored_job.is_running:
            st.button(
                t("files-cancelling" if stored_job.is_cancelling else "files-cancel"), icon=":material/stop:",
                key="files-cancel", on_click=_run_action, args=(lambda: file_jobs.cancel(id),),
                disabled=stored_job.is_cancelling,
            )  # fmt: skip
        elif state.status != "finished":
            st.button(
                t("files-resume"), type="primary", icon=":material/play_arrow:", key="files-resume",
                on_click=_run_action, args=(lambda: file_jobs.resume(id),),
                disabled=file_jobs.find_running() is not None,
            )  # fmt: skip
        if state.done:
            for suffix, media_type in MEDIA_TYPES.items():
                st.download_button(
                    t("files-download", format=suffix[1:].capitalize() if suffix == ".parquet" else "CSV"),
                    lambda suffix=suffix: file_results.export_results(stored_job.directory, suffix).read_bytes(),
                    f"{stored_job.job.command}-{id[:15]}{suffix}", media_type, on_click="ignore",
                    icon=":material/download:", key=f"files-download{suffix}",
                )  # fmt: skip
        if not stored_job.is_running:
            with st.popover(t("files-delete"), icon=":material/delete:"):
                st.button(
                    t("files-delete-confirm"), key="files-delete", on_click=_run_action, args=(lambda: _delete_job(id),)
                )  # fmt: skip
        st.button(t("files-close"), type="tertiary", key="files-close", on_click=url.store, args=(JOB, ""))


def _delete_job(id: str) -> None:
    file_jobs.delete(id)
    url.store(JOB, "")


def _draw_results(stored_job: file_jobs.StoredJob) -> None:
    """Show which rows of the file could not be used, with the reasons, and the first rows of the results."""
    if stored_job.state.unusable:
        frame.note(t("files-unusable", count=stored_job.state.unusable, shown=MAX_REASONS))
        rows = file_results.read_unusable(stored_job.directory, MAX_REASONS)
        display.table({t("files-row"): [f"{row:,}" for row, _ in rows], t("files-reason"): [text for _, text in rows]})
    results = file_results.read_results(stored_job.directory, MAX_PREVIEW)
    st.caption(t("files-preview", count=len(results)))
    # {name of a column: "row", "error" or the name of a field of the prediction}
    added_columns = file_results.list_added_columns(results)
    names = {
        column: t(TRANSLATED_COLUMNS[field]) for column, field in added_columns.items() if field in TRANSLATED_COLUMNS
    }
    # the predictions stand beside the text, because the other columns of a wide file would push them out of sight
    row_column = next(column for column, field in added_columns.items() if field == "row")
    text_columns = [
        column for column in (stored_job.job.column, stored_job.job.pair_column) if column in results.column_names
    ]
    order = list(dict.fromkeys([row_column, *text_columns, *added_columns, *results.column_names]))
    st.dataframe(results.select(order), hide_index=True, column_config=names)


def _draw_job_list(command: str, open_id: str) -> None:
    jobs = [stored_job for stored_job in file_jobs.list_jobs(command) if stored_job.id != open_id]
    if not jobs:
        return
    st.caption(t("files-stored"))
    for stored_job in jobs[:MAX_LISTED]:
        status = "running" if stored_job.is_running else stored_job.state.status
        created = time.strftime("%Y-%m-%d %H:%M", time.localtime(stored_job.job.created))
        line = f"{created} · {display.escape_markdown(stored_job.job.title)} · {t(f'files-status-{status}')}"
        st.button(
            line, type="tertiary", key=f"files-open-{stored_job.id}", on_click=url.store, args=(JOB, stored_job.id)
        )
