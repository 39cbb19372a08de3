"""The splits of a data set: a file, a directory with a file for each split, or a data set of the hub."""

import re
from collections.abc import Sequence
from pathlib import Path

from bertlab.config.errors import DataError, NoSuchSplit
from bertlab.text.readers import hub
from bertlab.text.readers.data_file import DataFile, Limits
from bertlab.text.readers.encoding import printable
from bertlab.text.readers.invalid_rows import InvalidRows
from bertlab.text.readers.registry import format_of, known_suffix, shorten_names
from bertlab.text.readers.rows import Rows, concatenate, read_file

ALIASES = {"validation": ("validation", "dev", "valid"), "test": ("test",), "train": ("train",)}
PART = re.compile(r"(.+)-(\d+)-of-(\d+)")  # a split in several files, as the hub names them


def read_split(
    source: str | Path, split: str, limits: Limits | None = None, invalid_rows: InvalidRows | None = None
) -> Rows:
    """Read one split of a data set.

    Args:
        source: a file (which is the split), a directory that has a file for it, or a hub id: "owner/name", with
            ":configuration" and "@revision" where it has them.
        limits: the most that a file may hold; see `read_file`.
        invalid_rows: receives the rows of a file that cannot be read; without it the first one raises.

    Raises:
        DataError: no such source or split, a damaged file, or a hub that cannot be reached.
    """
    if paths := find_split(source, split):
        parts = [read_file(path, limits, invalid_rows=invalid_rows) for path in paths]
        for path, part in zip(paths, parts, strict=True):
            missing = [column for column in parts[0].columns if column not in part.columns]
            if missing and format_of(DataFile(path)).same_columns:
                raise DataError(
                    "part-column-not-found", path=part.name, column=shorten_names(missing), first=parts[0].name
                )
        return concatenate(split_name(source, split, paths), parts)
    return read_hub_split(str(source), split)


def read_hub_split(name: str, split: str) -> Rows:
    """Read one split of a data set of the hub.

    Raises:
        DataError: there is no such data set or split, or the hub cannot be reached.
    """
    rows = hub.load(name, split)
    names = {column: given for column, feature in rows.features.items() if (given := _class_names(feature))}
    return Rows(f"{name} ({split})", tuple(rows.column_names), rows.to_list(), names)


def split_name(source: str | Path, split: str, paths: Sequence[Path]) -> str:
    """What messages call a split: its one file, or the directory and the split."""
    return printable(paths[0]) if len(paths) == 1 else f"{printable(source)} ({split}, {len(paths)} files)"


def find_split(source: str | Path, split: str) -> tuple[Path, ...]:
    """Find the file of a split, or the files that make it up, in order; none for a hub id.

    In a directory that is `train.parquet`, `train-v1.1.json`, `mine_train.csv.gz`, or `train-00000-of-00002.parquet`
    and all the others of its kind; for the validation split `dev` and `valid` too. A plain text file is taken only
    where there is nothing else.

    Raises:
        DataError: there is no such file, several would do, one of the parts is missing, or the source is neither file
            nor directory nor hub id.
    """
    if not str(source):
        raise DataError("task-without-hub-data")
    path = Path(source)
    if path.is_dir():
        files = sorted(p for p in path.iterdir() if known_suffix(p) and not p.name.startswith("."))
        for name in ALIASES.get(split, (split,)):
            own = [p for p in files if _is_of(p, name)]
            own = [p for p in own if not known_suffix(p).startswith(".txt")] or own
            if own:
                return _complete(source, split, own)
        raise NoSuchSplit(
            "split-not-found", source=printable(source), split=split, files=shorten_names([p.name for p in files])
        )
    if path.exists():
        return (path,)
    if known_suffix(path) or not hub.is_hub_id(str(source)):
        raise DataError("file-not-found", path=printable(source))
    return ()


def has_split(source: str | Path, split: str) -> bool:
    """Whether a directory has a file for a split, or a data set of the hub has it; a file has none.

    Raises:
        DataError: several files of a directory would do, there is no such source, or the hub cannot be reached.
    """
    try:
        if not find_split(source, split):
            hub.load(str(source), split)
        return not Path(source).is_file()
    except NoSuchSplit:
        return False


def available_splits(source: str | Path, splits: Sequence[str], general: str) -> tuple[str, ...]:
    """Which of a task's splits a source has.

    Args:
        splits: their names in the task, such as ("validation_matched", "validation_mismatched").
        general: the usual name, tried where a directory or data set has none of them.

    Returns:
        for a file, the first of `splits`, whatever the file is called; () where there is none.
    """
    if Path(source).is_file():
        return tuple(splits[:1])
    found = tuple(split for split in splits if has_split(source, split))
    return found or ((general,) if has_split(source, general) else ())


def _class_names(feature: object) -> tuple[str, ...]:
    """The names of a ClassLabel, alone or in a list."""
    inner = getattr(feature, "feature", feature)
    return tuple(getattr(inner, "names", None) or ())


def _stem(path: Path) -> str:
    return path.name.lower().removesuffix(known_suffix(path))


def _complete(source: str | Path, split: str, files: Sequence[Path]) -> tuple[Path, ...]:
    """The one file of a split, or all its parts in order."""
    parts = {path: PART.fullmatch(_stem(path)) for path in files}
    kinds = {part and (part[1], part[3]) for part in parts.values()}
    numbers = sorted(int(part[2]) for part in parts.values() if part)
    if len(kinds) > 1 or (kinds == {None} and len(files) > 1) or len(set(numbers)) < len(numbers):
        names = shorten_names([path.name for path in files])
        raise DataError("split-ambiguous", source=printable(source), split=split, files=names)
    if kinds == {None}:
        return tuple(files)
    ((_, count),) = kinds
    if missing := set(range(int(count))) - set(numbers):
        raise DataError(
            "split-part-not-found", source=printable(source), split=split, part=min(missing), parts=int(count)
        )
    return tuple(sorted(files, key=lambda path: int(parts[path][2])))


def _is_of(path: Path, name: str) -> bool:
    stem = _stem(path)
    return stem == name or stem.startswith(f"{name}-") or stem.endswith((f"_{name}", f"-{name}"))
