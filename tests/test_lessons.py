"""The lessons: built from their sources, complete, short, accessible, and correct from top to bottom in both languages.

`make lessons` runs every lesson with its solutions; `make test` runs one lesson of each language.
"""

import html
import re
import shutil
import sys
from functools import cache
from pathlib import Path
from typing import ClassVar
from urllib.parse import parse_qs, unquote, urlsplit

import nbformat
import pytest
from bertlab_app.registry import PAGES

import bertlab
from bertlab import lessons as kit
from scripts import build_lessons, lessons

ROOT = lessons.NOTEBOOKS.parent
SOURCES = lessons.find_sources()
EACH = [(source, language) for source in SOURCES for language in lessons.LANGUAGES]
each_lesson = pytest.mark.parametrize(("source", "language"), EACH, ids=[f"{s.stem[:2]}-{lang}" for s, lang in EACH])
# not the copies that JupyterLab makes
NOTEBOOKS = sorted(path for path in lessons.NOTEBOOKS.rglob("*.ipynb") if ".ipynb_checkpoints" not in path.parts)
ALWAYS = {("en", ""): "01", ("ko", "solutions"): "09"}  # what `make test` runs: two that train nothing
RUNS = [
    pytest.param(
        source, language, kind, id=f"{source.stem[:2]}-{language}{kind and '-'}{kind}",
        marks=[] if ALWAYS.get((language, kind)) == source.stem[:2] else [pytest.mark.lessons],
    )
    for source, language in EACH
    for kind in ("", "solutions")
]  # fmt: skip
has_checkpoints = pytest.mark.skipif(
    "strongest" not in bertlab.find_shipped_checkpoints(), reason="no shipped checkpoints"
)


@cache
def stored(source: Path, language: str, kind: str = "") -> nbformat.NotebookNode:
    return nbformat.read(lessons.NOTEBOOKS / language / kind / f"{source.stem}.ipynb", as_version=4)


def sources(notebook) -> list[tuple[str, str, dict]]:
    return [
        (cell.cell_type, cell.source, {k: v for k, v in cell.metadata.items() if k != "execution"})
        for cell in notebook.cells
    ]


def printed(cell) -> str:
    return "".join(output.get("text", "") for output in cell.get("outputs", []))


@each_lesson
def test_the_notebooks_are_built_from_the_source(source, language):
    cells = lessons.read_lesson(source)
    advice = f"run scripts.build_lessons {source.stem[:2]}"
    assert sources(stored(source, language)) == sources(lessons.make_lesson(cells, language, source.stem)), advice
    solutions = lessons.make_solutions(cells, language, source.stem)
    assert sources(stored(source, language, "solutions")) == sources(solutions), advice


def test_the_list_names_every_lesson():
    stored_list = nbformat.read(lessons.NOTEBOOKS / "lessons.ipynb", as_version=4)
    assert sources(stored_list) == sources(lessons.make_list()), "run scripts.build_lessons"


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem[:2])
def test_a_lesson_has_all_its_parts_in_both_languages(source):
    cells = lessons.read_lesson(source)
    for kind in ("exercise", "check", "solution"):
        assert [cell.label for cell in cells if cell.kind == kind] == ["1", "2", "3"]
    assert any(cell.kind == "predict" for cell in cells)
    texts = [cell.label for cell in cells if cell.kind == "[markdown]"]
    assert texts == list(lessons.LANGUAGES) * (len(texts) // 2), "each text in English, then in Korean"


@each_lesson
def test_a_lesson_is_stored_with_its_outputs(source, language):
    notebook = stored(source, language)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert sum(bool(cell.outputs) for cell in code) >= 7
    assert not [output for cell in code for output in cell.outputs if output.output_type == "error"]
    assert not [output for cell in code for output in cell.outputs if output.get("name") == "stderr"]
    assert "/work/" not in nbformat.writes(notebook), "no path of a machine"
    for cell in stored(source, language, "solutions").cells:
        if any(tag.startswith("check") for tag in cell.metadata.get("tags", [])):
            number = cell.metadata.tags[0].split("-")[1]
            assert printed(cell).strip() == kit.render("lesson-correct", language, number=number)


@each_lesson
def test_every_drawing_has_a_picture_and_an_alt_text(source, language):
    for cell in stored(source, language).cells:
        for _, alt in re.findall(r"!(\[([^\]]*)\])\(", cell.source if cell.cell_type == "markdown" else ""):
            assert alt.strip()
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            if any(kind.startswith("application/vnd") for kind in data):
                alt = output.metadata["image/png"]["alt"]
                assert alt == data["text/plain"]
                assert len(alt) > 15
                assert bool(re.search("[가-힣]", alt)) == (language == "ko")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.parent.name)
def test_links_lead_somewhere(path):
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type != "markdown":
            continue
        for link in re.findall(r"\]\(([^)]*)\)", cell.source):
            parts = urlsplit(link)
            if parts.scheme:
                assert link.startswith((lessons.APP, "https://arxiv.org/abs/")), link
                if link.startswith(lessons.APP):
                    assert parts.path.strip("/") in PAGES, link
                    assert parse_qs(parts.query)["lang"], link
            else:
                assert (path.parent / unquote(link)).exists(), link


def test_lessons_link_to_the_pages_they_explain_and_call_them_by_their_names():
    linked = set()
    for source in SOURCES:
        for cell in lessons.read_lesson(source):
            for name, page in re.findall(r"\[([^\]]*)\]\(app:([\w-]+)", cell.text):
                assert name == kit.render(page, cell.label), source.name
                linked.add((page, cell.label, source.stem[:2]))
    numbers = {source.stem[:2] for source in SOURCES}
    for page, number in kit.PAGE_LESSONS.items():
        assert page in PAGES
        assert number in numbers
        assert {(page, language, number) for language in lessons.LANGUAGES} <= linked


@has_checkpoints
@pytest.mark.slow
@pytest.mark.parametrize(("source", "language", "kind"), RUNS)
def test_a_lesson_runs_from_top_to_bottom(source, language, kind, monkeypatch):
    monkeypatch.setenv("FAST", "1")
    cells = lessons.read_lesson(source)
    make = lessons.make_solutions if kind else lessons.make_lesson
    made = make(cells, language, source.stem)
    build_lessons.execute(made, lessons.NOTEBOOKS / language / kind)
    checks = [cell for cell in made.cells if any("check" in tag for tag in cell.metadata.get("tags", []))]
    expected = "lesson-correct" if kind else "lesson-not-answered"
    assert [printed(cell).strip() for cell in checks] == [
        kit.render(expected, language, number=str(number)) for number in (1, 2, 3)
    ]


@each_lesson
def test_a_folded_result_does_not_give_the_answer_away(source, language):
    """JupyterLab shows the first line of a folded output."""
    predictions = [cell for cell in stored(source, language).cells if "predict" in cell.metadata.get("tags", [])]
    assert predictions
    for cell in predictions:
        assert cell.metadata.jupyter.outputs_hidden
        assert cell.outputs[0]["data"] == {"text/plain": build_lessons.COVER_LINES[language]}
        assert len(cell.outputs) > 1


def test_new_texts_keep_the_outputs_of_the_same_code_only():
    cells = lessons.read_lesson(SOURCES[0])
    old, made = stored(SOURCES[0], "en"), lessons.make_lesson(cells, "en", SOURCES[0].stem)
    build_lessons.keep_outputs(made, old)
    assert [cell.get("outputs") for cell in made.cells] == [cell.get("outputs") for cell in old.cells]
    made.cells[2].source += "\nprint(1)"
    with pytest.raises(ValueError, match="--texts"):
        build_lessons.keep_outputs(made, old)


def test_a_check_prints_the_advice_of_the_first_unmet_condition(capsys, monkeypatch):
    monkeypatch.setattr(kit, "_language", "ko")
    conditions = ((lambda a: a > 1, "first"), (lambda a: a > 2, "second"))
    kit.check(1, ..., *conditions)
    kit.check(1, 1, *conditions)
    kit.check(1, 2, *conditions)
    kit.check(1, "two", *conditions)  # comparing it fails
    kit.check(1, 3, *conditions)
    lines = capsys.readouterr().out.splitlines()
    assert [("first" in line, "second" in line) for line in lines] == [
        (False, False), (True, False), (False, True), (True, False), (False, False)
    ]  # fmt: skip
    assert lines[0] == kit.render("lesson-not-answered", "ko", number=1)
    assert lines[4] == kit.render("lesson-correct", "ko", number=1)


def run_first_cell(path: Path, shell) -> None:
    """Run the first cell as IPython does, with `shell` in place of its shell."""
    from IPython.core.inputtransformer2 import TransformerManager

    code = TransformerManager().transform_cell(nbformat.read(path, as_version=4).cells[0].source)
    exec(code, {"get_ipython": lambda: shell})


@each_lesson
def test_a_notebook_copied_elsewhere_keeps_its_language_and_names_its_checkpoints(
    source, language, monkeypatch, tmp_path
):
    monkeypatch.setattr(kit, "_language", "")
    monkeypatch.chdir(tmp_path)
    for kind in ("", "solutions"):
        copy = shutil.copy(lessons.NOTEBOOKS / language / kind / f"{source.stem}.ipynb", tmp_path)
        run_first_cell(Path(copy), shell=None)  # bertlab is installed, so no command runs
        assert kit.pick(en="tea", ko="차") == {"en": "tea", "ko": "차"}[language]
        first_line = stored(source, language, kind).cells[0].source.splitlines()[0]
        names = first_line.partition(": ")[2].split(", ")
        own = f"# {lessons.NO_CHECKPOINTS[language]}"
        assert first_line == own or all((ROOT / "assets" / "checkpoints" / name).is_dir() for name in names)


def test_the_first_cell_installs_bertlab_if_it_is_missing(monkeypatch, tmp_path):
    class Shell:
        commands: ClassVar[list] = []

        def system(self, command):
            self.commands.append(command)

        def run_line_magic(self, name, arguments):
            self.commands.append(f"{name} {arguments}")
            sys.modules["bertlab.lessons"] = kit

    monkeypatch.setattr(kit, "_language", "")
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setitem(sys.modules, "bertlab.lessons", None)  # importing it fails
    monkeypatch.chdir(tmp_path)
    run_first_cell(lessons.NOTEBOOKS / "ko" / f"{SOURCES[0].stem}.ipynb", Shell())
    assert Shell.commands == [
        "git clone --quiet --depth 1 REPOSITORY bertlab-clone", "pip install --quiet --editable bertlab-clone"
    ]  # fmt: skip
    assert sys.path[0] == str(tmp_path / "bertlab-clone")
    assert kit.language() == "ko"


@pytest.mark.parametrize("language", lessons.LANGUAGES)
def test_the_page_lessons_lists_the_notebooks(language):
    from support.pages import bodies, open_page

    listed = kit.list_lessons(language)
    assert [Path(path).stem for _, path in listed] == [source.stem for source in SOURCES]
    assert all((lessons.NOTEBOOKS.parent / path).is_file() for _, path in listed)
    (body,) = [body for body in bodies(open_page("lessons", lang=language)) if listed[0][1] in body]
    assert all(title in html.unescape(body) for title, _ in listed)


def test_a_language_without_lessons_has_an_empty_list():
    assert kit.list_lessons("xx") == ()
