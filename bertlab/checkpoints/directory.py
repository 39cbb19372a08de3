"""Replace a directory as a whole: write beside it, flush to the disk, rename."""

import os
import secrets
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(target: Path, owned: Iterable[str]) -> Iterator[Path]:
    """A `with` block that fills a new directory, which then takes the place of `target`.

    If the block or the renaming fails, `target` is what it was before.

    Args:
        target: the directory to replace or create; the directory above it is created if necessary.
        owned: names of files that an old `target` does not hand over; all its other files are moved to the new one.

    Raises:
        OSError: the directory cannot be written.
    """
    new = target.parent / f".{target.name}.{secrets.token_hex(4)}.unfinished"
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        new.mkdir()
        yield new
        for path in [*new.iterdir(), new]:
            _flush(path)
        _take_place(new, target, set(owned))
    finally:
        shutil.rmtree(new, ignore_errors=True)


def _flush(path: Path) -> None:
    """Wait until a file or directory is on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _take_place(new: Path, target: Path, owned: set[str]) -> None:
    """Rename `new` to `target`. An old `target` is renamed first, and renamed back if that fails."""
    if not target.exists():
        new.rename(target)
    else:
        old = new.with_suffix(".replaced")
        target.rename(old)
        try:
            new.rename(target)
        except OSError:
            old.rename(target)
            raise
        written = {path.name for path in target.iterdir()}
        for path in old.iterdir():
            if path.name not in owned | written:
                path.rename(target / path.name)
        shutil.rmtree(old, ignore_errors=True)
    _flush(target.parent)
