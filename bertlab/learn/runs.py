"""The directory of a run: whose it is, and its log. Knows neither model nor data."""

import json
from dataclasses import asdict
from pathlib import Path

from bertlab.spec.errors import BertlabError


def claim(directory: Path, config) -> None:
    """Make the directory a run's own, or find that it is already this run's.

    Settings that do not change the losses (how often to save or to measure, where, on how many threads) may differ.

    Raises:
        BertlabError: it holds a run of other settings, or cannot be written.
    """
    free = {"out", "save_minutes", "evaluate_every", "evaluate_rows", "validation", "threads", "snapshots"}
    free |= {"attribution", "note"}
    settings = json.loads(json.dumps({k: v for k, v in asdict(config).items() if k not in free}, default=str))
    path = Path(directory) / "run.json"
    if path.is_file():
        theirs = json.loads(path.read_text())
        changed = sorted(k for k in settings | theirs if settings.get(k) != theirs.get(k))
        if changed:
            raise BertlabError(
                f"{directory} holds a run with another {', '.join(changed)}: name another --out, or repeat its settings"
            )
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(settings, indent=2))
    except OSError as error:
        raise BertlabError(f"{directory} cannot be written: {error.strerror}") from error


class RunLog:
    """One JSON row a line; opening it for a run that goes on at `step` drops the rows after that step."""

    def __init__(self, path: Path, step: int):
        kept = []
        if path.is_file():
            for line in path.read_text().splitlines():
                try:
                    row = json.loads(line)
                except json.JSONDecodeError:
                    break  # the last line of a run that was killed
                if row["step"] <= step:
                    kept.append(line)
        building = path.with_suffix(".building")
        building.write_text("".join(f"{line}\n" for line in kept))
        building.replace(path)
        self._file = path.open("a", buffering=1)

    def write(self, row: dict) -> None:
        self._file.write(json.dumps(row) + "\n")
