"""A cache on the disk that stores each sentence vector by its checkpoint and text, so that it is computed only once.

Each checkpoint has one SQLite file, named by a fingerprint of everything that determines its vectors. SQLite makes a
change completely or not at all, even if several processes use the same file. If the file is damaged or cannot be
written, the vectors are computed without the cache.

Shape legend: P dimensions of a vector.
"""

import hashlib
import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import numpy as np

from bertlab.checkpoints.checkpoint import Checkpoint
from bertlab.checkpoints.sentence_settings import SentenceSettings
from bertlab.nn.onnx_model import OnnxBert

DIRECTORY_VARIABLE = "BERTLAB_CACHE"  # the environment variable that names the directory of caches
MAX_BYTES = 1 << 30  # when a file is larger, the older half of its vectors is deleted
# columns: the hash of a text (`_make_key`), and the bytes of its vector (float32)
_TABLE = "CREATE TABLE IF NOT EXISTS vectors (text BLOB PRIMARY KEY, vector BLOB)"
_TEXTS_PER_QUERY = 500  # SQLite limits the number of parameters of a query


def find_directory() -> Path:
    """Find the directory of caches: `$BERTLAB_CACHE`, else `bertlab` in `$XDG_CACHE_HOME` or in `~/.cache`."""
    if directory := os.environ.get(DIRECTORY_VARIABLE):
        return Path(directory)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "bertlab"


def compute_fingerprint(loaded: Checkpoint, settings: SentenceSettings) -> str:
    """Compute a fingerprint of the weights, the tokenizer and the settings that determine a checkpoint's vectors."""
    digest = hashlib.blake2b(digest_size=16)
    is_onnx = isinstance(loaded.model, OnnxBert)
    if is_onnx:
        digest.update(loaded.model.path.read_bytes())
    for name, tensor in () if is_onnx else loaded.model.state_dict().items():
        if not name.startswith(("heads.", "pooler.")):
            digest.update(name.encode())
            digest.update(tensor.detach().cpu().float().contiguous().numpy())
    digest.update(loaded.tokenizer.digest.encode())
    digest.update(repr(settings).encode())
    return digest.hexdigest()


class VectorCache:
    """The vectors of one checkpoint.

    Args:
        fingerprint: the result of `compute_fingerprint`.
        size: P, the length of a vector.
        directory: the directory of caches; None uses `find_directory`.
    """

    def __init__(self, fingerprint: str, size: int, directory: Path | None = None):
        self.path = (directory or find_directory()) / "vectors" / f"{fingerprint}.sqlite"
        self.size = size

    def read(self, texts: Sequence[str]) -> dict[str, np.ndarray]:
        """Return {text: its vector} for the texts whose vectors are in the cache."""
        vectors: dict[str, np.ndarray] = {}
        text_of_key = {_make_key(text): text for text in texts}
        keys = list(text_of_key)
        with suppress(OSError, sqlite3.Error), self._open() as database:
            for first in range(0, len(keys), _TEXTS_PER_QUERY):
                part = keys[first : first + _TEXTS_PER_QUERY]
                placeholders = ",".join("?" * len(part))
                query = f"SELECT text, vector FROM vectors WHERE text IN ({placeholders})"
                for key, content in database.execute(query, part):
                    if len(content) == 4 * self.size:
                        vectors[text_of_key[key]] = np.frombuffer(content, np.float32)
        return vectors

    def write(self, texts: Sequence[str], vectors: np.ndarray) -> None:
        """Store the vectors of texts, float32 [texts, P]; does nothing if the file cannot be written."""
        rows = [(_make_key(text), vector.tobytes()) for text, vector in zip(texts, vectors, strict=True)]
        with suppress(OSError, sqlite3.Error), self._open() as database, database:
            database.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?)", rows)
            if self.path.stat().st_size > MAX_BYTES:
                half = "SELECT rowid FROM vectors ORDER BY rowid LIMIT (SELECT COUNT(*) / 2 FROM vectors)"
                database.execute(f"DELETE FROM vectors WHERE rowid IN ({half})")

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        """Open the file, and create it if there is none."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(self.path, timeout=10)) as database:
            try:
                database.execute(_TABLE)
            except sqlite3.DatabaseError as error:
                if not isinstance(error, sqlite3.OperationalError):
                    # The file is damaged. It is deleted, so that the next run creates a new one.
                    self.path.unlink(missing_ok=True)
                raise
            yield database


def _make_key(text: str) -> bytes:
    """Hash a text to the 16 bytes that stand for it in the cache."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
