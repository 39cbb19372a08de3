"""The lessons run from top to bottom, on the shipped checkpoint or on a tiny random one where none is shipped."""

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

import bertlab

ROOT = Path(__file__).parent.parent
LESSONS = sorted((ROOT / "notebooks").glob("*.ipynb"))


@pytest.fixture
def kernel(monkeypatch, request) -> None:
    """A kernel that finds this project and a checkpoint."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    if "strongest" not in bertlab.shipped():
        monkeypatch.setenv("BERTLAB_CHECKPOINTS", str(request.getfixturevalue("checkpoints")))


def test_there_are_lessons():
    assert LESSONS


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda path: path.stem)
def test_a_lesson_runs(kernel, lesson):
    notebook = nbformat.read(lesson, as_version=4)
    NotebookClient(notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(ROOT)}}).execute()
    assert any(cell.get("outputs") for cell in notebook.cells)


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda path: path.stem)
def test_a_lesson_is_kept_clean(lesson):
    notebook = nbformat.read(lesson, as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert len(code) <= 10, "a lesson has ten cells"
    assert all(not cell.outputs and cell.execution_count is None for cell in code), (
        "strip the outputs before committing"
    )
    assert sum("assert " in cell.source for cell in code) >= 1, "what is rebuilt by hand is held against the library"
    assert lesson.stat().st_size < 50_000
