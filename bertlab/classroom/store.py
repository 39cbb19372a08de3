"""The state of a class of students and their guesses, in one SQLite file that stays intact if the server is killed.

The file contains no names. A participant is stored as the SHA-256 digest of a random token that only the participant's
browser has, so nobody can use the file to answer as somebody else.
"""

import csv
import hashlib
import io
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bertlab.config.errors import BertlabError
from bertlab.config.files import describe_system_error

FILE_NAME = "class.sqlite"
RESUME_SECONDS = 12 * 3600  # if a class last changed longer ago than this, a new class is started
PRESENT_SECONDS = 30  # a participant counts as present for this long after the last call of `record_presence`
PRESENCE_INTERVAL_SECONDS = 10  # the presence of a participant is written to the file at most once in this time
# the phases of a question: nobody can answer yet, everyone can answer, the answer is shown
PHASES = ("closed", "open", "revealed")

# Times are in seconds since 1970, steps are counted from 0, and a value is a guess from `Question.parse_guess`.
_TABLES = """
CREATE TABLE IF NOT EXISTS classes (
    id INTEGER PRIMARY KEY, lesson TEXT NOT NULL, started REAL NOT NULL, changed REAL NOT NULL, step INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS phases (
    class INTEGER NOT NULL, step INTEGER NOT NULL, phase TEXT NOT NULL, PRIMARY KEY (class, step)
);
CREATE TABLE IF NOT EXISTS guesses (
    class INTEGER NOT NULL, step INTEGER NOT NULL, participant TEXT NOT NULL, value TEXT NOT NULL, time REAL NOT NULL,
    PRIMARY KEY (class, step, participant)
);
CREATE TABLE IF NOT EXISTS presence (
    class INTEGER NOT NULL, participant TEXT NOT NULL, seen REAL NOT NULL, PRIMARY KEY (class, participant)
);
"""


@dataclass(frozen=True)
class ClassState:
    """The current step of a class of students, and the phase of this step's question."""

    id: int
    step: int  # the current step, counted from 0
    phase: str  # one of `PHASES`


class ClassStore:
    """The classes of students that take a lesson, in an SQLite file. All threads of a server can use one object."""

    def __init__(self, directory: Path, lesson: str):
        self.lesson, self._lock = lesson, threading.Lock()
        # Participant -> the time, in seconds since 1970, at which the presence was last written.
        self._presence_times: dict[str, float] = {}
        path = directory / FILE_NAME
        try:
            directory.mkdir(parents=True, exist_ok=True)
            path.touch(mode=0o600)
            self._connection = sqlite3.connect(path, check_same_thread=False, isolation_level=None, timeout=10)
            self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.execute("PRAGMA synchronous = NORMAL")  # in WAL mode, a killed process loses nothing
            self._connection.execute("PRAGMA secure_delete = ON")
            self._connection.executescript(_TABLES)
        except (OSError, sqlite3.Error) as error:
            reason = describe_system_error(error)
            raise BertlabError("class-file-unusable", path=path, reason=reason) from error

    def close(self) -> None:
        self._connection.close()

    # -- the class ---------------------------------------------------------------------------------------------------

    def get_state(self) -> ClassState:
        """Return the state of the current class; if it last changed over `RESUME_SECONDS` ago, start a new class."""
        with self._transaction() as execute:
            row = execute(
                "SELECT id, step, changed FROM classes WHERE lesson = ? ORDER BY id DESC LIMIT 1", self.lesson
            ).fetchone()
            now = time.time()
            if row is None or now - row[2] > RESUME_SECONDS:
                class_id = execute(
                    "INSERT INTO classes (lesson, started, changed, step) VALUES (?, ?, ?, 0)", self.lesson, now, now
                ).lastrowid
                return ClassState(class_id, 0, "closed")
            return ClassState(row[0], row[1], _read_phase(execute, row[0], row[1]))

    def go_to(self, step: int) -> None:
        """Go to a step, counted from 0. Its question has the phase that it had when the class was last here."""
        state = self.get_state()
        with self._transaction() as execute:
            execute("UPDATE classes SET step = ?, changed = ? WHERE id = ?", step, time.time(), state.id)

    def set_phase(self, phase: str) -> None:
        """Set the phase of the current step's question."""
        if phase not in PHASES:
            raise ValueError(f"{phase!r} is not one of {PHASES}")
        state = self.get_state()
        with self._transaction() as execute:
            execute("INSERT OR REPLACE INTO phases VALUES (?, ?, ?)", state.id, state.step, phase)
            execute("UPDATE classes SET changed = ? WHERE id = ?", time.time(), state.id)

    def delete_all(self) -> None:
        """Delete all classes in the file, with their guesses. The next class begins at the first step."""
        with self._transaction() as execute:
            for table in ("classes", "phases", "guesses", "presence"):
                execute(f"DELETE FROM {table}")
        self._presence_times.clear()
        with self._lock:
            self._connection.execute("VACUUM")
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def describe(self) -> str:
        """Describe the state of the class in a short text, which changes whenever the screens must redraw.

        Returns:
            Two words, separated by a space. The first one consists of the class, the step and the phase, the second one
            of the number of participants who are present, the number of guesses and the time of the latest guess.
        """
        state, present = self.get_state(), self.count_present()
        with self._transaction() as execute:
            query = "SELECT COUNT(*), MAX(time) FROM guesses WHERE class = ? AND step = ?"
            guesses = ".".join(map(str, execute(query, state.id, state.step).fetchone()))
        return f"{state.id}.{state.step}.{state.phase} {present}.{guesses}"

    # -- participants ------------------------------------------------------------------------------------------------

    def record_presence(self, token: str) -> None:
        """Record that the participant whose browser has this random token is present."""
        participant, now = _digest(token), time.time()
        if now - self._presence_times.get(participant, 0) < PRESENCE_INTERVAL_SECONDS:
            return
        self._presence_times[participant] = now
        state = self.get_state()
        with self._transaction() as execute:
            execute("INSERT OR REPLACE INTO presence VALUES (?, ?, ?)", state.id, participant, now)

    def count_present(self) -> int:
        """Count the participants who were present in the last `PRESENT_SECONDS`."""
        state = self.get_state()
        with self._transaction() as execute:
            since = time.time() - PRESENT_SECONDS
            return execute("SELECT COUNT(*) FROM presence WHERE class = ? AND seen > ?", state.id, since).fetchone()[0]

    def record_guess(self, token: str, step: int, value: str) -> bool:
        """Record a guess, in place of an earlier one for the step, and return whether its question is open."""
        state = self.get_state()
        with self._transaction() as execute:
            # Read the step again inside the transaction, so that no guess is accepted after the answer was shown.
            row = execute("SELECT step FROM classes WHERE id = ?", state.id).fetchone()
            if row is None or row[0] != step or _read_phase(execute, state.id, step) != "open":
                return False
            execute("INSERT OR REPLACE INTO guesses VALUES (?, ?, ?, ?, ?)", state.id, step, _digest(token), value,
                time.time())  # fmt: skip
            return True

    def find_guess(self, token: str, step: int) -> str | None:
        """Return the guess of a participant for a step of the current class; None if there is none."""
        state = self.get_state()
        with self._transaction() as execute:
            row = execute(
                "SELECT value FROM guesses WHERE class = ? AND step = ? AND participant = ?",
                state.id, step, _digest(token),
            ).fetchone()  # fmt: skip
            return row and row[0]

    def count_guesses(self, step: int) -> Counter[str]:
        """Count how often each value was guessed for a step of the current class."""
        state = self.get_state()
        with self._transaction() as execute:
            rows = execute(
                "SELECT value, COUNT(*) FROM guesses WHERE class = ? AND step = ? GROUP BY value", state.id, step
            ).fetchall()
            return Counter(dict(rows))

    def export_csv(self) -> str:
        """Return all guesses as CSV: class, lesson, step (from 1), participant (from 1 in each class), guess, time."""
        with self._transaction() as execute:
            rows = execute(
                "SELECT class, lesson, guesses.step, participant, value, time FROM guesses"
                " JOIN classes ON classes.id = guesses.class ORDER BY class, guesses.step, time"
            ).fetchall()
        # Participants are numbered in the order of their digests, so that the numbers do not reveal who joined first.
        participants_of_class: dict[int, list[str]] = {}
        for class_id, participant in sorted({(row[0], row[3]) for row in rows}):
            participants_of_class.setdefault(class_id, []).append(participant)
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(("class", "lesson", "step", "participant", "guess", "time"))
        for class_id, lesson, step, participant, value, seconds in rows:
            local_time = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seconds))
            participant_number = participants_of_class[class_id].index(participant) + 1
            writer.writerow((class_id, lesson, step + 1, participant_number, _escape_formula(value), local_time))
        return text.getvalue()

    @contextmanager
    def _transaction(self) -> Iterator[Callable]:
        """Yield a function that runs one SQL statement with its parameters, inside a transaction."""
        with self._lock:
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield lambda statement, *values: self._connection.execute(statement, values)
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")


def _read_phase(execute: Callable, class_id: int, step: int) -> str:
    row = execute("SELECT phase FROM phases WHERE class = ? AND step = ?", class_id, step).fetchone()
    return row[0] if row else "closed"


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def _escape_formula(value: str) -> str:
    """Put an apostrophe before a guess that a spreadsheet would run as a formula.

    >>> _escape_formula("=1+1"), _escape_formula("-3"), _escape_formula("tea")
    ("'=1+1", '-3', 'tea')
    """
    try:
        float(value)
    except ValueError:
        return f"'{value}" if value[:1] in "=+-@\t\r" else value
    return value
