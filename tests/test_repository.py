"""Rules for the repository: sizes of checkpoints, no downloads, no unsafe unpickling, existing links, fast CSS."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
BIN = Path(sys.executable).parent


def tracked(*patterns: str) -> list[Path]:
    listed = subprocess.run(["git", "ls-files", *patterns], cwd=ROOT, capture_output=True, text=True, check=True)
    return [ROOT / name for name in listed.stdout.split("\n") if name]


@pytest.mark.skipif(shutil.which("git") is None or not (ROOT / ".git").exists(), reason="not a git checkout")
def test_nothing_is_fetched_from_elsewhere_at_run_time():
    pattern = re.compile(r"https?://(cdn|cdnjs|unpkg|code\.jquery|fonts\.g|d3js|raw\.githubusercontent)")
    for path in tracked("bertlab/*.py", "bertlab/*.js", "bertlab/*.css", "app/bertlab_app/*", "notebooks/*"):
        if "vendor" not in path.parts:
            assert not pattern.search(path.read_text(encoding="utf-8", errors="ignore")), path


@pytest.mark.skipif(not (ROOT / "assets" / "checkpoints").is_dir(), reason="no shipped checkpoints")
def test_shipped_checkpoints_and_runs_fit_their_bounds():
    sizes = {}
    for path in (ROOT / "assets").rglob("*"):
        if path.is_file():
            name = "/".join(path.relative_to(ROOT / "assets").parts[:2])
            sizes[name] = sizes.get(name, 0) + path.stat().st_size / 1e6
    assert sum(sizes.values()) < 260, sizes
    for name, bound in {"scratch": 20, "strongest": 50}.items():
        assert sizes.get(f"checkpoints/{name}", 0) <= bound, sizes


def test_the_model_that_a_lesson_opens_is_read_in_a_sitting():
    assert len((ROOT / "bertlab/nn/bert.py").read_text(encoding="utf-8").splitlines()) <= 300


def test_nothing_is_unpickled_that_could_run_code():
    """torch.load appears once, with weights_only=True; pickle.load not at all."""
    loads = []
    for path in (ROOT / "bertlab").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"pickle\.(load|loads|Unpickler)\b", text), path
        loads += re.findall(r"torch\.load\([^)]*\)", text)
    assert all("weights_only=True" in load for load in loads), loads


@pytest.mark.parametrize("path", sorted(ROOT.glob("assets/checkpoints/*/README.md")), ids=lambda path: path.parent.name)
def test_a_shipped_card_states_held_out_and_published_results(path):
    record = json.loads((path.parent / "bertlab.json").read_text(encoding="utf-8"))
    text = path.read_text(encoding="utf-8")
    assert record["validation"]
    assert "Held-out" in record["note"]
    assert record["note"] in text
    if "task" in record:  # published results of models of this size, or that there are none
        assert "ublished" in record["note"]
