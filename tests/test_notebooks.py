"""The lessons run from top to bottom, on the shipped checkpoint or on a tiny random one where none is shipped."""

import base64
from pathlib import Path

import pytest

import bertlab
from bertlab.views import payload

ROOT = Path(__file__).parent.parent
LESSONS = sorted((ROOT / "notebooks").glob("*.ipynb"))


@pytest.fixture
def kernel(monkeypatch, request) -> None:
    """A kernel that finds this project and a checkpoint."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    if "strongest" not in bertlab.shipped():
        monkeypatch.setenv("BERTLAB_CHECKPOINTS", str(request.getfixturevalue("checkpoints")))


def run(notebook) -> None:
    import nbclient

    where = {"metadata": {"path": str(ROOT)}}
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3", resources=where).execute()


@pytest.fixture(scope="module")
def nbformat():
    """Imported late: it builds a grammar, which takes seconds."""
    import nbformat

    return nbformat


def test_there_are_lessons():
    assert LESSONS


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda path: path.stem)
def test_a_lesson_runs(kernel, nbformat, lesson):
    notebook = nbformat.read(lesson, as_version=4)
    run(notebook)
    assert any(cell.get("outputs") for cell in notebook.cells)


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda path: path.stem)
def test_a_lesson_is_kept_clean(nbformat, lesson):
    notebook = nbformat.read(lesson, as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert len(code) <= 10, "a lesson has ten cells"
    assert all(not cell.outputs and cell.execution_count is None for cell in code), (
        "strip the outputs before committing"
    )
    assert sum("assert " in cell.source for cell in code) >= 1, "what is rebuilt by hand is held against the library"
    assert lesson.stat().st_size < 50_000


def test_every_widget_comes_up_in_a_notebook(kernel, nbformat, tiny_checkpoint, runs):
    """The cell makes it, and what a page needs to draw it travels with the notebook: module, style and bytes."""
    sources = [
        f"import bertlab\nsession = bertlab.load({str(tiny_checkpoint)!r})",
        "from bertlab.views.widget import AttentionWidget, NeuronWidget, TimelineWidget\n"
        'AttentionWidget(session.attention("Rain fell.", "The boats stayed in."), state={"layer": 1}, lang="ko")',
        'NeuronWidget(session.neuron("Rain fell.", layer=1, head=1))',
        "from pathlib import Path\nfrom bertlab.explore.timeline import timeline\n"
        "from bertlab.checkpoints import history\n"
        f"run = Path({str(runs / 'learner')!r})\n"
        'TimelineWidget(timeline(run, "Rain [MASK] on the harbour."), log=history.read_log(run), state={"at": 10})',
        "from bertlab.explore.compare import compare\nfrom bertlab.views import differences\n"
        'differences.head_differences(compare(session, session, "Rain fell.", None, "Bread fell."))',
    ]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in sources])
    run(notebook)
    models = notebook.metadata.widgets["application/vnd.jupyter.widget-state+json"]["state"]
    for cell, kind in zip(notebook.cells[1:4], ("attention", "neuron", "timeline"), strict=True):
        (output,) = cell.outputs
        model = models[output["data"]["application/vnd.jupyter.widget-view+json"]["model_id"]]
        assert model["model_module"] == "anywidget"
        assert "export default" in model["state"]["_esm"] or "export {" in model["state"]["_esm"]
        assert ".bl-view" in model["state"]["_css"]
        (buffer,) = (buffer for buffer in model["buffers"] if buffer["path"] == ["payload"])
        header, blocks = payload.unpack(base64.b64decode(buffer["data"]))
        assert header["kind"] == kind
        assert blocks
    assert "application/vnd.plotly.v1+json" in notebook.cells[4].outputs[0]["data"]
