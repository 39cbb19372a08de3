"""Make a prediction for each row of a file, and store the results in parts, so that an interrupted job can continue.

A job is a directory that contains the input file, the settings of the job (`job.json`), its progress
(`state.json`), and the parts of the results (`file_results`).

Shape legend: S texts, P dimensions of a sentence vector.
"""

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from bertlab.abilities.files.batch import predict_texts
from bertlab.abilities.files.results import INPUT_PREFIX, OUTPUT_PREFIX, count_results, count_unusable, write_part
from bertlab.config.errors import BertlabError, DataError, MissingHead, TextError
from bertlab.config.files import read_json_object, write_atomically
from bertlab.config.languages import DEFAULT, Message
from bertlab.text.readers.file_scan import read_records
from bertlab.text.readers.registry import Record
from bertlab.text.readers.rows import format_cell, format_text

if TYPE_CHECKING:
    from bertlab.session import Session

# the commands whose predictions a job can make, by their names on the command line
COMMANDS = ("classify", "tag", "answer", "embed", "next-sentence")
PART_SECONDS, PART_ROWS = 5.0, 2_000  # a part ends after this many seconds or rows, the first part after 1 s
MAX_TEXT_CHARACTERS = 100_000  # a row with a longer text gets an error instead of a prediction
# {command: how many rows are computed at once}; 16 for all other commands. After each such group of rows, the job
# checks whether the part should end and whether the job was cancelled.
ROWS_AT_ONCE = {"embed": 128, "answer": 1}
CANCEL = "cancel"  # the name of the file that requests a running job to stop
Pair = tuple[str, str | None]  # (text, second text or None); for "answer", (passage, question)


@dataclass(frozen=True)
class FileJob:
    """The settings of a job."""

    file: str
    """The name of the file in the job's directory."""
    title: str
    """The name of the file as the user knows it."""
    command: str
    """One of `COMMANDS`."""
    checkpoint: str
    """The checkpoint, as the `source` argument of `bertlab.load`."""
    column: str
    """The column of the texts or, for "answer", of the passages."""
    pair_column: str = ""
    """The column of the second texts or, for "answer", of the questions; "" for none."""
    question: str = ""
    """The question for all rows of an "answer" job without a column of questions."""
    num_rows: int = 0
    """The number of rows of the file."""
    language: str = DEFAULT
    """The language of the messages that say why a row cannot be used."""
    created: float = 0.0
    """When the job was created, in seconds since 1970."""


@dataclass(frozen=True)
class JobState:
    """The progress of a job."""

    status: str = "waiting"
    """"waiting", "running", "finished", "cancelled" or "failed"."""
    done: int = 0
    """The number of rows whose results are stored."""
    unusable: int = 0
    """How many of these rows have an error instead of a prediction."""
    seconds: float = 0.0
    """The time spent on the rows whose results are stored."""
    reason: str = ""
    """Why the job failed; "" if it did not."""


def write_job(directory: Path, job: FileJob) -> None:
    """Write the settings of a job.

    Raises:
        BertlabError: the file cannot be written.
    """
    write_atomically(directory / "job.json", json.dumps(asdict(job), ensure_ascii=False))


def read_job(directory: Path) -> FileJob:
    """Read the settings of a job.

    Raises:
        BertlabError: there is no such job, or its settings are damaged.
    """
    try:
        return FileJob(**read_json_object(directory / "job.json"))
    except TypeError:
        raise DataError("file-job-damaged", path=directory) from None


def read_state(directory: Path) -> JobState:
    """Read the progress of a job. A state that is missing or damaged counts as "waiting"."""
    try:
        return JobState(**read_json_object(directory / "state.json"))
    except (BertlabError, TypeError):
        return JobState()


def write_state(directory: Path, state: JobState) -> None:
    """Store the progress of a job.

    Raises:
        BertlabError: the file cannot be written.
    """
    write_atomically(directory / "state.json", json.dumps(asdict(state), ensure_ascii=False))


def run_job(session: Session, directory: Path) -> JobState:
    """Make predictions for the rows that have no result yet, until the file ends or the job is cancelled.

    Args:
        session: the session of the job's checkpoint.
        directory: the directory of the job.

    Returns:
        The last state, which is also stored.

    Raises:
        BertlabError: the file cannot be read, or the checkpoint lacks the output layer.
    """
    job, state = read_job(directory), read_state(directory)
    num_done, unusable = count_results(directory), count_unusable(directory)
    state = replace(state, status="running", done=num_done, unusable=unusable, reason="")
    write_state(directory, state)
    predict = _RowPredictor(session, job)
    remaining_records = islice(read_records(directory / job.file), state.done, None)
    rows: list[dict] = []
    started, seconds_before = time.monotonic(), state.seconds
    part_end = started + 1.0

    def store_rows() -> None:
        """Write the results in `rows` as one part, store the progress, and begin the next part."""
        nonlocal rows, state, part_end
        if rows:
            write_part(directory, state.done, rows)
            unusable = state.unusable + sum(row["error"] is not None for row in rows)
            seconds = seconds_before + time.monotonic() - started
            state = replace(state, done=state.done + len(rows), unusable=unusable, seconds=seconds)
            write_state(directory, state)
        rows, part_end = [], time.monotonic() + PART_SECONDS

    rows_at_once = ROWS_AT_ONCE.get(job.command, 16)
    while records := tuple(islice(remaining_records, rows_at_once)):
        if (directory / CANCEL).exists():
            state = replace(state, status="cancelled")
            break
        rows += predict(records)
        if time.monotonic() >= part_end or len(rows) >= PART_ROWS:
            store_rows()
    store_rows()
    state = replace(state, status="cancelled" if state.status == "cancelled" else "finished")
    write_state(directory, state)
    return state


class _RowPredictor:
    """Makes the predictions for rows of a file. For equal texts, the prediction is made once."""

    def __init__(self, session: Session, job: FileJob):
        self.session, self.job = session, job
        self.predictions: dict[Pair, dict] = {}  # the predictions made so far

    def __call__(self, records: tuple[Record, ...]) -> list[dict]:
        """Make predictions for some rows -> [{"row", "error", the columns of the file and of the prediction}, ...]."""
        pairs = [None if record.values is None else self._choose_texts(record.values) for record in records]
        if len(self.predictions) > 10_000 or self.job.command == "embed":  # vectors are too large to keep
            self.predictions.clear()
        problems = [
            record.reason if pair is None else self._find_problem(pair)
            for record, pair in zip(records, pairs, strict=True)
        ]
        usable_pairs = [pair for pair, problem in zip(pairs, problems, strict=True) if problem is None]
        new_pairs = list(dict.fromkeys(pair for pair in usable_pairs if pair not in self.predictions))
        self.predictions.update(zip(new_pairs, self._predict(new_pairs), strict=True))
        rows = []
        for record, pair, problem in zip(records, pairs, problems, strict=True):
            prediction = dict(self.predictions[pair]) if problem is None else {}
            error = problem or prediction.pop("error", None)
            rows.append(
                {"row": record.number, "error": error.render(self.job.language) if error else None}
                | {f"{INPUT_PREFIX}{name}": format_cell(value) for name, value in (record.values or {}).items()}
                | {f"{OUTPUT_PREFIX}{name}": value for name, value in prediction.items()}
            )
        return rows

    def _choose_texts(self, values: dict) -> Pair:
        """Take the texts that the command reads from the columns of a row."""
        job, text = self.job, format_text(values.get(self.job.column))
        if job.command == "answer":
            return text, format_text(values.get(job.pair_column)) if job.pair_column else job.question
        return text, format_text(values.get(job.pair_column)) if job.pair_column else None

    def _find_problem(self, pair: Pair) -> Message | None:
        """Return a message that says why no prediction can be made for the texts of a row; None if one can be made."""
        if not all(text.strip() for text in pair if text is not None):
            return Message("row-without-text")
        longest = max(len(text or "") for text in pair)
        if longest > MAX_TEXT_CHARACTERS:
            return Message("file-job-text-too-long", count=longest, limit=MAX_TEXT_CHARACTERS)
        tokenizer = self.session.tokenizer
        for ids in tokenizer.encode_ids([text for text in pair if text is not None]):
            if len(ids) and all(id == tokenizer.unk_id for id in ids):
                return Message("file-job-text-unknown")
        return None

    def _predict(self, pairs: list[Pair]) -> list[dict]:
        """Make a prediction for each pair -> [{field of the prediction: value} or {"error": its error}, ...]."""
        if not pairs:
            return []
        if self.job.command == "embed":
            return self._embed([text for text, _ in pairs])
        if self.job.command == "answer":
            return [self._answer(passage, question) for passage, question in pairs]
        rows = predict_texts(self.session, self.job.command, pairs)
        return [{name: value for name, value in row.items() if name not in ("text", "pair")} for row in rows]

    def _answer(self, passage: str, question: str) -> dict:
        """Answer one question; the answer is "" if the passage does not contain an answer."""
        try:
            answers = self.session.answer(question, passage, n_best=1)
        except MissingHead:
            raise
        except BertlabError as error:
            return {"error": error}
        return {"answer": answers.text, "probability": answers.answers[0].probability if answers.text else None}

    def _embed(self, texts: list[str]) -> list[dict]:
        """Compute the vectors of texts together or, if one of them has no vector, of each text by itself."""
        try:
            # without the cache on the disk, because the job stores the vectors with its results
            vectors = self.session.sentence_vectors(texts, use_cache=False).vectors_SP
        except TextError as error:
            if len(texts) == 1:
                # the row number in this error is an index into `texts`, not into the file
                return [{"error": Message("row-without-text") if error.id == "text-without-tokens" else error}]
            return [row for text in texts for row in self._embed([text])]
        return [{"vector": vector} for vector in vectors]
