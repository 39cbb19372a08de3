"""A file is there whole or not at all. Standard library only; knows nothing of what is written."""

from contextlib import suppress
from pathlib import Path

from bertlab.config.errors import BertlabError


def write_atomically(path: Path, text: str) -> None:
    """Write a text (UTF-8) under another name and then give it its own, making the directory if there is none.

    Raises:
        BertlabError: it cannot be written; what was there before stays.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     write_atomically(Path(directory) / "new" / "tea.txt", "green\\n")
    ...     [(path.name, path.read_text()) for path in Path(directory, "new").iterdir()]
    [('tea.txt', 'green\\n')]
    """
    building = path.with_name(f".{path.name}.building")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        building.write_text(text, encoding="utf-8", newline="")
        building.replace(path)
    except OSError as error:
        with suppress(OSError):
            building.unlink()
        raise BertlabError(f"{path} cannot be written: {error.strerror}") from error
