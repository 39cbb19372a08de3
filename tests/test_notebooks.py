"""The widgets of the canvas views in Jupyter. The lessons have their own tests: test_lessons.py."""

import base64
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support.ports import free_port, wait_for_port

from bertlab.views import payload

ROOT = Path(__file__).parent.parent


@pytest.fixture
def kernel(monkeypatch) -> None:
    """The environment in which a kernel finds this project."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")


def run(notebook) -> None:
    import nbclient

    where = {"metadata": {"path": str(ROOT)}}
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3", resources=where).execute()


@pytest.fixture(scope="module")
def nbformat():
    """Imported late: it builds a grammar, which takes seconds."""
    import nbformat

    return nbformat


def test_every_widget_is_stored_in_the_notebook(kernel, nbformat, tiny_checkpoint, runs):
    """The notebook stores everything that a browser needs to draw a widget: module, style and bytes."""
    sources = [
        f"import bertlab\nsession = bertlab.load({str(tiny_checkpoint)!r})",
        "from bertlab.views.widget import AttentionWidget, NeuronWidget, TimelineWidget\n"
        'AttentionWidget(session.attention("Rain fell.", "The boats stayed in."), state={"layer": 1}, lang="ko")',
        'NeuronWidget(session.neuron("Rain fell.", layer=1, head=1))',
        "from pathlib import Path\nfrom bertlab.abilities.timeline.compute import timeline\n"
        "from bertlab.checkpoints import history\n"
        f"run = Path({str(runs / 'learner')!r})\n"
        'TimelineWidget(timeline(run, "Rain [MASK] on the harbour."), log=history.read_log(run), state={"at": 10})',
        "from bertlab.abilities.compare import figures\nfrom bertlab.abilities.compare.compute import compare\n"
        'figures.head_differences(compare(session, session, "Rain fell.", None, "Bread fell."))',
    ]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in sources])
    run(notebook)
    models = notebook.metadata.widgets["application/vnd.jupyter.widget-state+json"]["state"]
    for cell, kind in zip(notebook.cells[1:4], ("attention", "neuron", "timeline"), strict=True):
        (output,) = cell.outputs
        model = models[output["data"]["application/vnd.jupyter.widget-view+json"]["model_id"]]
        assert model["model_module"] == "anywidget"
        exports = re.findall(r"^export .*", model["state"]["_esm"], re.MULTILINE)
        assert exports == ["export default { render: mount };"], "anywidget mistakes a named render for the default one"
        assert ".bl-view" in model["state"]["_css"]
        (buffer,) = (buffer for buffer in model["buffers"] if buffer["path"] == ["payload"])
        header, blocks = payload.unpack(base64.b64decode(buffer["data"]))
        assert header["kind"] == kind
        assert blocks
    assert "application/vnd.plotly.v1+json" in notebook.cells[4].outputs[0]["data"]


@pytest.mark.release
@pytest.mark.browser
def test_every_widget_is_drawn_in_jupyterlab(chromium, kernel, nbformat, tiny_checkpoint, runs, tmp_path):
    """Only a real JupyterLab in a real browser shows that a widget stays blank."""
    pytest.importorskip("jupyterlab")
    source = f"""
import bertlab
from pathlib import Path
from IPython.display import display
from bertlab.abilities.timeline.compute import timeline
from bertlab.views.widget import AttentionWidget, NeuronWidget, TimelineWidget
session = bertlab.load({str(tiny_checkpoint)!r})
display(AttentionWidget(session.attention("Rain fell.")))
display(NeuronWidget(session.neuron("Rain fell.", layer=1, head=1)))
display(TimelineWidget(timeline(Path({str(runs / "learner")!r}), "Rain [MASK] on the harbour.")))
"""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source)])
    notebook.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(notebook, tmp_path / "widgets.ipynb")
    port = free_port()
    command = [
        sys.executable, "-m", "jupyterlab", "--no-browser", f"--ServerApp.port={port}", "--ServerApp.port_retries=0",
        "--IdentityProvider.token=", f"--ServerApp.root_dir={tmp_path}", "--allow-root",
        "--LabApp.news_url=", "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
    ]  # fmt: skip
    homes = {f"JUPYTER_{name}_DIR": str(tmp_path / name.lower()) for name in ("CONFIG", "RUNTIME")}
    with (tmp_path / "lab.log").open("w") as log:
        lab = subprocess.Popen(command, cwd=tmp_path, stdout=log, stderr=log, env={**os.environ, **homes})
        try:
            page, messages = chromium.new_page(), []
            page.on("console", lambda message: messages.append(message.text))
            wait_for_port(port, lab)
            page.goto(f"http://localhost:{port}/lab/tree/widgets.ipynb?reset")
            cell = page.locator(".jp-Notebook .jp-Cell .cm-content").first
            cell.click(timeout=120_000)
            page.locator(".jp-Notebook-ExecutionIndicator[data-status=idle]").wait_for(timeout=120_000)
            cell.click()  # while the kernel started, JupyterLab may have moved the focus elsewhere
            page.keyboard.press("Shift+Enter")
            views = page.locator(".jp-OutputArea-output .bl-view")
            for number in range(3):
                views.nth(number).locator("canvas, svg").first.wait_for(timeout=120_000)
            assert not [message for message in messages if "is not a function" in message]
        finally:
            lab.terminate()
            lab.wait(30)
