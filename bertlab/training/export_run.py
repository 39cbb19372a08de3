"""`bertlab export-run`: a run -> a directory small enough to ship, for the time machine and the curves.

Settings without paths, a thinned log, and the snapshots as they are, the result last. Knows no model: it copies.
"""

import json
import math
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from bertlab.checkpoints import history
from bertlab.checkpoints.files import CARD, CONFIG, RECORD, WEIGHTS
from bertlab.config.errors import BertlabError, DataError

FILES = (CONFIG, WEIGHTS, RECORD, CARD, "tokenizer.json", "tokenizer_config.json", "vocab.txt")


@dataclass(frozen=True, kw_only=True)
class ExportRunConfig:
    """Make a shippable directory of a run: settings, a log of about 400 rows, and its snapshots.

    Examples:
      bertlab export-run runs/mine --out assets/runs/mine
      bertlab export-run runs/mine --out assets/runs/mine --snapshots 8
    """

    source: tyro.conf.Positional[Path]
    """The run's directory."""
    out: Annotated[Path, tyro.conf.arg(metavar="DIR")]
    """Where to write; must not be there yet."""
    rows: int = history.ROWS
    """Rows of the log, about."""
    snapshots: Annotated[int | None, tyro.conf.arg(metavar="INT")] = None
    """At most this many snapshots, spread over the logarithm of the step, the first and the last among them; all of
    them if not given."""


def export_run(config: ExportRunConfig) -> Path:
    """Write the directory -> where it is. It is written beside its place and renamed when whole.

    Raises:
        BertlabError: there is no such run, it has no snapshots or is damaged, `out` is there already or cannot be
            written.
    """
    if not config.source.is_dir() or not history.is_run(config.source):
        raise DataError(f"{config.source} is no run: it has neither {history.LOG} nor {history.SNAPSHOTS}")
    if config.out.exists():
        raise BertlabError(f"{config.out} is there already: choose another --out, or remove it first")
    if config.rows < 2 or (config.snapshots is not None and config.snapshots < 2):
        raise BertlabError("--rows and --snapshots must be at least 2")
    rows = history.read_log(config.source)
    kept = _spread(history.find_snapshots(config.source), config.snapshots)
    settings = {name: _without_path(value) for name, value in history.read_settings(config.source).items()}
    state = history.run_status(config.source, rows).state
    building = config.out.with_name(f".{config.out.name}.unfinished")
    shutil.rmtree(building, ignore_errors=True)
    try:
        for snapshot in kept:
            target = building / history.SNAPSHOTS / f"step-{snapshot.step:08d}"
            target.mkdir(parents=True)
            for name in FILES:
                if (snapshot.path / name).is_file():
                    shutil.copyfile(snapshot.path / name, target / name)
        thinned = history.thin_log(rows, config.rows)
        (building / history.LOG).write_text("".join(f"{json.dumps(row)}\n" for row in thinned), encoding="utf-8")
        (building / history.SETTINGS).write_text(json.dumps(settings | {"exported": state}, indent=2) + "\n")
        building.rename(config.out)
    except OSError as error:
        raise BertlabError(f"{config.out} cannot be written: {error.strerror}") from error
    finally:
        shutil.rmtree(building, ignore_errors=True)
    return config.out


def _spread(snapshots: list[history.Snapshot], most: int | None) -> list[history.Snapshot]:
    """At most so many of them, evenly by the logarithm of their step; first and last stay."""
    if most is None or len(snapshots) <= most:
        return snapshots
    places = [math.log1p(snapshot.step) for snapshot in snapshots]
    wanted = [places[0] + (places[-1] - places[0]) * number / (most - 1) for number in range(most)]
    nearest = {min(range(len(places)), key=lambda at: abs(places[at] - place)) for place in wanted}
    return [snapshots[at] for at in sorted(nearest)]


def _without_path(value):
    """A setting, of a path only its last part: where a run lay is nobody's business."""
    return Path(value).name if isinstance(value, str) and "/" in value else value


def run(config: ExportRunConfig) -> None:
    """Write the directory; prints what it holds."""
    out = export_run(config)
    files = [path for path in out.rglob("*") if path.is_file()]
    megabytes = sum(path.stat().st_size for path in files) / 1e6
    steps = ", ".join(f"{snapshot.step:,}" for snapshot in history.find_snapshots(out))
    print(f"{out}: {megabytes:.1f} MB, {len(history.read_log(out))} rows, snapshots at steps {steps}")
