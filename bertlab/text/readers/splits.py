"""Find and read the splits of a data set: a file, a directory with files for each split, or a hub data set."""

import re
from collections.abc import Sequence
from pathlib import Path

from bertlab.config.errors import DataError, NoSuchSplit
from bertlab.text.readers import hub
from bertlab.text.readers.data_file import DataFile, Limits
from bertlab.text.readers.encoding import make_printable
from bertlab.text.readers.invalid_rows import InvalidRows
from bertlab.text.readers.registry import find_suffix, format_of, shorten_names
from bertlab.text.readers.rows import Rows, concatenate, read_file

# the name of a split in a task -> the names that it may have in a directory
ALIASES = {"validation": ("validation", "dev", "valid"), "test": ("test",), "train": ("train",)}
# Matches the name of one of several files of a split, such as `train-00000-of-00002`.
PART = re.compile(r"(.+)-(\d+)-of-(\d+)")


def read_split(
    source: str | Path, split: str, limits: Limits | None = None, invalid_rows: InvalidRows | None = None
) -> Rows:
    """Read one split: a file, which is then the split, or a part of a directory or of a hub data set."""
    paths = find_split(source, split)
    if not paths:
        rows = hub.load(str(source), split)
        label_names = {column: names for column, feature in rows.features.items() if (names := _class_names(feature))}
        return Rows(f"{source} ({split})", tuple(rows.column_names), rows.to_list(), label_names)
    parts = [read_file(path, limits, invalid_rows=invalid_rows) for path in paths]
    for path, part in zip(paths, parts, strict=True):
        missing = [column for column in parts[0].columns if column not in part.columns]
        if missing and format_of(DataFile(path)).requires_same_columns:
            names = shorten_names(missing)
            raise DataError("part-column-not-found", path=part.name, column=names, first=parts[0].name)
    return concatenate(split_name(source, split, paths), parts)


def split_name(source: str | Path, split: str, paths: Sequence[Path]) -> str:
    """Return the name of a split in messages: its file or, if it has several, the directory and the split."""
    return make_printable(paths[0]) if len(paths) == 1 else f"{make_printable(source)} ({split}, {len(paths)} files)"


def find_split(source: str | Path, split: str) -> tuple[Path, ...]:
    """Find the file or the files of a split, in order; () for a hub id.

    In a directory, the file may be called `train.parquet`, `train-v1.1.json` or `mine_train.csv.gz`, or there may be
    several: `train-00000-of-00002.parquet` and so on. The validation split may also be called `dev` or `valid`. A plain
    text file is used only if there is no other file.

    Raises:
        NoSuchSplit: no file of the directory matches.
    """
    if not str(source):
        raise DataError("task-without-hub-data")
    path = Path(source)
    if path.is_dir():
        files = sorted(p for p in path.iterdir() if find_suffix(p) and not p.name.startswith("."))
        for name in ALIASES.get(split, (split,)):
            matching = [p for p in files if _is_file_of(p, name)]
            matching = [p for p in matching if not find_suffix(p).startswith(".txt")] or matching
            if matching:
                return _check_parts(source, split, matching)
        names = shorten_names([p.name for p in files])
        raise NoSuchSplit("split-not-found", source=make_printable(source), split=split, files=names)
    if path.exists():
        return (path,)
    if find_suffix(path) or not hub.is_hub_id(str(source)):
        raise DataError("file-not-found", path=make_printable(source))
    return ()


def has_split(source: str | Path, split: str) -> bool:
    """Whether a directory or a hub data set has a split; False for a file, which is not divided into splits."""
    try:
        if not find_split(source, split):
            hub.load(str(source), split)
        return not Path(source).is_file()
    except NoSuchSplit:
        return False


def available_splits(source: str | Path, splits: Sequence[str], usual_name: str) -> tuple[str, ...]:
    """Return the splits of a task that exist in a source; for a file, the first of `splits`, whatever its name.

    Args:
        usual_name: the usual name of the split, which is tried if a directory or data set has none of `splits`.
    """
    if Path(source).is_file():
        return tuple(splits[:1])
    available = tuple(split for split in splits if has_split(source, split))
    return available or ((usual_name,) if has_split(source, usual_name) else ())


def _class_names(feature: object) -> tuple[str, ...]:
    """Return the label names of a ClassLabel feature, or of one inside a list feature; () for other features."""
    inner = getattr(feature, "feature", feature)
    return tuple(getattr(inner, "names", None) or ())


def _strip_suffix(path: Path) -> str:
    return path.name.lower().removesuffix(find_suffix(path))


def _check_parts(source: str | Path, split: str, files: Sequence[Path]) -> tuple[Path, ...]:
    """Check that there is only one file, or that the files are all parts of one split; return them in order."""
    # file -> the match of its name with `PART`; None for a file that is not a part
    parts = {path: PART.fullmatch(_strip_suffix(path)) for path in files}
    # (name, number of parts) of each split; None if there is a file that is not a part
    groups = {part and (part[1], part[3]) for part in parts.values()}
    numbers = sorted(int(part[2]) for part in parts.values() if part)
    if len(groups) > 1 or (groups == {None} and len(files) > 1) or len(set(numbers)) < len(numbers):
        names = shorten_names([path.name for path in files])
        raise DataError("split-ambiguous", source=make_printable(source), split=split, files=names)
    if groups == {None}:
        return tuple(files)
    ((_, count),) = groups
    if missing := set(range(int(count))) - set(numbers):
        part = min(missing)
        raise DataError("split-part-not-found", source=make_printable(source), split=split, part=part, parts=int(count))
    return tuple(sorted(files, key=lambda path: int(parts[path][2])))


def _is_file_of(path: Path, name: str) -> bool:
    stem = _strip_suffix(path)
    return stem == name or stem.startswith(f"{name}-") or stem.endswith((f"_{name}", f"-{name}"))
