"""Build the lessons: write the notebooks of `notebooks/src`, execute them, and add pictures of their figures.

    python -m scripts.build_lessons            all lessons and the list of lessons
    python -m scripts.build_lessons 03         lessons whose name begins with 03
    python -m scripts.build_lessons --texts    only new texts; the outputs of the unchanged code are kept

Pictures need a Chromium. They are for readers outside JupyterLab, which draws the figures itself.
"""

import base64
import os
import sys
import time
from pathlib import Path

import nbformat

from scripts import lessons

ROOT = Path(__file__).resolve().parent.parent
PLOTLY, WIDGET = "application/vnd.plotly.v1+json", "application/vnd.jupyter.widget-view+json"
WIDTH = 760  # of a picture, in pixels
COVER_LINES = {"en": "(Predict first, then run the cell.)", "ko": "(먼저 예상해 보고 셀을 실행하세요.)"}


def execute(notebook: nbformat.NotebookNode, directory: Path, timeout: int = 600) -> None:
    """Run all cells of a notebook as in JupyterLab, with one thread."""
    import nbclient

    os.environ.update(PYTHONPATH=str(ROOT), OMP_NUM_THREADS="1", TOKENIZERS_PARALLELISM="false", HF_HUB_OFFLINE="1")
    os.environ.setdefault("FAST", "1")
    directory.mkdir(parents=True, exist_ok=True)
    resources = {"metadata": {"path": str(directory)}}
    nbclient.NotebookClient(notebook, timeout=timeout, kernel_name="python3", resources=resources).execute()
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)  # times, which differ in every build
    notebook.metadata["language_info"] = {"name": "python"}


def add_pictures(notebook: nbformat.NotebookNode) -> None:
    """Add a PNG picture to every output that is a figure or a widget."""
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", []) if "data" in output]
    drawings = [output for output in outputs if {PLOTLY, WIDGET} & output.data.keys()]
    if not drawings:
        return
    from benchmarks.browser import open_browser

    with open_browser() as browser:
        page = browser.new_page(viewport={"width": WIDTH, "height": 600}, color_scheme="light")
        for output in drawings:
            picture = (
                _picture_figure(page, output) if PLOTLY in output.data else _picture_widget(page, notebook, output)
            )
            output.data["image/png"] = base64.b64encode(picture).decode()
            output.metadata["image/png"] = {"alt": output.data["text/plain"]}


def _picture_figure(page, output) -> bytes:
    from plotly.offline import get_plotlyjs

    figure = dict(output.data[PLOTLY])
    height = figure["layout"].get("height", 450)
    page.set_content(
        f'<body style="margin: 0; background: white"><div id="view" style="height: {height}px"></div></body>'
    )
    page.add_script_tag(content=get_plotlyjs())
    page.evaluate(
        "([figure, width]) => Plotly.newPlot('view', figure.data, {...figure.layout, width}, {staticPlot: true})",
        [figure, WIDTH],
    )
    page.wait_for_timeout(300)
    return page.locator("#view").screenshot()


def _picture_widget(page, notebook, output) -> bytes:
    from bertlab.views.html import payload_html
    from bertlab.views.payload import unpack, with_options

    models = notebook.metadata.widgets["application/vnd.jupyter.widget-state+json"]["state"]
    model = models[output.data[WIDGET]["model_id"]]
    (data,) = (base64.b64decode(buffer["data"]) for buffer in model["buffers"] if buffer["path"] == ["payload"])
    kind = unpack(data)[0]["kind"]
    options = {"lang": notebook.metadata.lesson.language, "state": model["state"].get("state", {})}
    page.set_content(payload_html(kind, with_options(data, options), "", options["lang"]))
    page.add_style_tag(content="h1 { display: none } body { padding: 8px !important }")
    page.locator(".bl-view").first.wait_for()
    page.wait_for_timeout(800)
    return page.locator("#view").screenshot()


def cover_results(notebook: nbformat.NotebookNode) -> None:
    """Put a line before each result that the reader should predict: JupyterLab shows the first line of a folded one."""
    line = COVER_LINES[notebook.metadata.lesson.language]
    for cell in notebook.cells:
        if "predict" in cell.metadata.get("tags", []):
            cell.outputs.insert(0, nbformat.v4.new_output("display_data", data={"text/plain": line}))


def keep_outputs(notebook: nbformat.NotebookNode, stored: nbformat.NotebookNode) -> None:
    """Copy the outputs of a stored notebook; raise ValueError if it has other code."""
    code, stored_code = (
        [cell for cell in each.cells if cell.cell_type == "code" and cell.id != "setup"] for each in (notebook, stored)
    )
    if [cell.source for cell in code] != [cell.source for cell in stored_code]:
        raise ValueError("the code has changed: build without --texts")
    for cell, old in zip(code, stored_code, strict=True):
        cell.outputs, cell.execution_count = old.outputs, old.execution_count
    if "widgets" in stored.metadata:
        notebook.metadata["widgets"] = stored.metadata.widgets


def build(path: Path, only_texts: bool) -> None:
    """Build one lesson with its solutions, in every language."""
    cells = lessons.read_lesson(path)
    for language in lessons.LANGUAGES:
        for kind, notebook in (
            ("", lessons.make_lesson(cells, language, path.stem)),
            ("solutions", lessons.make_solutions(cells, language, path.stem)),
        ):
            directory = lessons.NOTEBOOKS / language / kind
            target, start = directory / f"{path.stem}.ipynb", time.time()
            if only_texts:
                keep_outputs(notebook, nbformat.read(target, as_version=4))
            else:
                execute(notebook, directory)
                add_pictures(notebook)
                cover_results(notebook)
            if kind == "solutions":
                notebook.metadata.pop("widgets", None)  # %%capture hides the widgets of the lesson's code
            nbformat.write(notebook, target)
            seconds, size = time.time() - start, target.stat().st_size
            print(f"{target.relative_to(ROOT)}: {seconds:.0f} s, {size / 1000:.0f} kB", flush=True)


def main() -> None:
    """Build the lessons that the command line names, and the list of lessons."""
    only_texts = "--texts" in sys.argv
    names = tuple(argument for argument in sys.argv[1:] if argument != "--texts")
    for path in lessons.find_sources():
        if not names or path.stem.startswith(names):
            build(path, only_texts)
    nbformat.write(lessons.make_list(), lessons.NOTEBOOKS / "lessons.ipynb")


if __name__ == "__main__":
    main()
