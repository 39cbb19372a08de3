"""Replace a directory atomically: write a new one beside it, flush it to the disk, and rename it."""

import os
import secrets
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replace_directory(target: Path, obsolete_files: Iterable[str]) -> Iterator[Path]:
    """Yield a new directory for a `with` block to fill, and then replace `target` with it.

    If the block or the replacement fails, `target` is unchanged. Of an existing `target`, files are moved to the new
    directory unless they are `obsolete_files` or it has the same name. Raises OSError.
    """
    new_directory = target.parent / f".{target.name}.{secrets.token_hex(4)}.unfinished"
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        new_directory.mkdir()
        yield new_directory
        for path in [*new_directory.iterdir(), new_directory]:
            flush(path)
        _swap(new_directory, target, set(obsolete_files))
    finally:
        shutil.rmtree(new_directory, ignore_errors=True)


def flush(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _swap(new_directory: Path, target: Path, obsolete_files: set[str]) -> None:
    """An existing `target` is first renamed, and gets its name back if the new directory cannot be renamed."""
    if not target.exists():
        new_directory.rename(target)
    else:
        old_directory = new_directory.with_suffix(".replaced")
        target.rename(old_directory)
        try:
            new_directory.rename(target)
        except OSError:
            old_directory.rename(target)
            raise
        new_names = {path.name for path in target.iterdir()}
        for path in old_directory.iterdir():
            if path.name not in obsolete_files | new_names:
                path.rename(target / path.name)
        shutil.rmtree(old_directory, ignore_errors=True)
    flush(target.parent)
