"""The format of the lessons: `notebooks/src/*.py` -> one notebook per language, its solutions, and the list of lessons.

A source is Python in percent format. It contains the code once, and each text once per language:

    # %% [markdown] en
    # # 1. From a sentence to an attention map
    # %% [markdown] ko
    # # 1. 문장에서 어텐션 맵까지
    # %%
    session = bertlab.load("strongest")
    # %% predict
    code whose output stays folded in JupyterLab until the reader has made a prediction
    # %% exercise 1
    answer = ...
    # %% check 1
    check(1, answer, ...)
    # %% solution 1
    answer = 42

An exercise is in the lesson, its solution in the notebook of solutions, and its check in both, as a call of
`bertlab.lessons.run_check`, which reads the code of the check from the source. A link
`(app:attention?a=Rain fell.)` leads to that page of the app, in the language of the text and with this value in a
field; further values follow after `&`.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import nbformat

NOTEBOOKS = Path(__file__).resolve().parent.parent / "notebooks"
SOURCES = NOTEBOOKS / "src"
LANGUAGES = ("en", "ko")
CELL = re.compile(r"^# %%(?: (\[markdown\]|predict|exercise|check|solution))?(?: (\w+))?$", re.MULTILINE)
APP_LINK = re.compile(r"\(app:([\w-]+)(?:\?([^)]*))?\)")
APP = "http://localhost:8501"
# the first cell of a notebook; the clone also contains the checkpoints, and the checks of the exercises
SETUP = """\
# {checkpoints}
# {hint}
try:
    import bertlab.lessons
except ModuleNotFoundError:
    import os, sys
    !git clone --quiet --depth 1 REPOSITORY bertlab-clone
    %pip install --quiet --editable bertlab-clone
    sys.path.insert(0, os.path.abspath("bertlab-clone"))
    import bertlab.lessons

bertlab.lessons.use_language("{language}")"""
SETUP_HINT = {
    "en": "If bertlab is missing here (on Colab, for example), write its repository's address in place of REPOSITORY.",
    "ko": "여기에 bertlab이 없으면(예: Colab) REPOSITORY 자리에 bertlab 저장소의 주소를 넣으세요.",
}
CHECKPOINTS = {"en": "Checkpoints in this lesson: {names}", "ko": "이 수업에서 쓰는 체크포인트: {names}"}
NO_CHECKPOINTS = {"en": "This lesson trains its own models.", "ko": "이 수업에서는 모델을 직접 학습해요."}
CHECKPOINT = re.compile(
    r'(?:load\(|name = |base = |from_=)(?:pick\(en="(?P<en>\w+)", ko="(?P<ko>\w+)"\)|"(?P<all>\w+)")'
)
SOLUTIONS = {
    "en": "# Solutions: {title}\n\nThe lesson is [here](../{name}.ipynb). The first cell runs its code without output.",
    "ko": "# 풀이: {title}\n\n수업은 [여기](../{name}.ipynb)에 있어요. 첫 셀은 수업의 코드를 출력 없이 실행해요.",
}
LIST = {
    "en": "# Lessons\n\nOpen a lesson and run its cells from top to bottom with Shift+Enter. They need no network. "
    "Each has three exercises; the cell below an exercise checks your answer, and the solutions are in a notebook of "
    "their own. Links to the app work while `make app` is running.",
    "ko": "# 수업\n\n수업을 열고 Shift+Enter로 셀을 위에서부터 실행하세요. 네트워크가 없어도 돼요. 수업마다 연습 "
    "문제가 세 개 있고, 문제 아래 셀이 답을 확인해 줘요. 풀이는 따로 있어요. 앱으로 가는 링크는 `make app`을 실행하는 "
    "동안 열려요.",
}
LINKS = {
    "en": "[{title}](en/{name}.ipynb) ([solutions](en/solutions/{name}.ipynb))",
    "ko": "[{title}](ko/{name}.ipynb) ([풀이](ko/solutions/{name}.ipynb))",
}


@dataclass(frozen=True)
class Cell:
    """One cell of a source."""

    kind: str  # "[markdown]", "code", "predict", "exercise", "check" or "solution"
    label: str  # the language of a text, or the number of an exercise; "" otherwise
    text: str  # for a text without the comment signs


def read_lesson(path: Path) -> list[Cell]:
    """Read the cells of a source; raise ValueError if a line "# %%" begins no cell, or a text is not a comment."""
    source = path.read_text(encoding="utf-8")
    for line in source.splitlines():
        if line.startswith("# %%") and not CELL.match(line):
            raise ValueError(f"{path.name}: not a cell: {line}")
    marks = list(CELL.finditer(source))
    ends = [mark.start() for mark in marks[1:]] + [len(source)]
    return [
        Cell(mark[1] or "code", mark[2] or "", _uncomment(path, mark[1], source[mark.end() : end].strip("\n")))
        for mark, end in zip(marks, ends, strict=True)
    ]


def _uncomment(path: Path, kind: str | None, text: str) -> str:
    if kind != "[markdown]":
        return text
    lines = text.split("\n")
    if invalid := [line for line in lines if line != "#" and not line.startswith("# ")]:
        raise ValueError(f"{path.name}: a text must be a comment: {invalid[0]!r}")
    return "\n".join(line[2:] for line in lines)


def make_lesson(cells: list[Cell], language: str, name: str) -> nbformat.NotebookNode:
    """Make the notebook of a lesson in one language, without outputs."""
    notebook_cells = [
        _make_cell(_hide_check(cell, name))
        for cell in cells
        if cell.kind != "solution" and (cell.kind != "[markdown]" or cell.label == language)
    ]
    return _make_notebook(notebook_cells, language, make_setup(cells, language))


def make_solutions(cells: list[Cell], language: str, name: str) -> nbformat.NotebookNode:
    """Make the notebook of the solutions in one language, without outputs."""
    texts = [cell for cell in cells if cell.kind != "[markdown]" or cell.label == language]
    code = "\n\n".join(cell.text for cell in texts if cell.kind in ("code", "predict"))
    heading = SOLUTIONS[language].format(title=find_title(cells, language), name=name)
    notebook_cells = [nbformat.v4.new_markdown_cell(heading), _make_cell(Cell("code", "", f"%%capture\n{code}"))]
    notebook_cells[1].metadata["jupyter"] = {"source_hidden": True}
    for index, cell in enumerate(texts):
        if cell.kind == "exercise":
            solution = next(c for c in texts if c.kind == "solution" and c.label == cell.label)
            check = next(c for c in texts if c.kind == "check" and c.label == cell.label)
            notebook_cells += [
                _make_cell(texts[index - 1]),
                _make_cell(_complete(cell, solution)),
                _make_cell(_hide_check(check, name)),
            ]
    return _make_notebook(notebook_cells, language, make_setup(cells, language))


def make_setup(cells: list[Cell], language: str) -> str:
    """Make the code of the first cell, which installs bertlab if it is missing and sets the language."""
    uses = [use for cell in cells if cell.kind != "[markdown]" for use in CHECKPOINT.finditer(cell.text)]
    names = ", ".join(dict.fromkeys(use[language] or use["all"] for use in uses))
    checkpoints = (CHECKPOINTS if names else NO_CHECKPOINTS)[language].format(names=names)
    return SETUP.format(checkpoints=checkpoints, hint=SETUP_HINT[language], language=language)


def _hide_check(cell: Cell, name: str) -> Cell:
    if cell.kind != "check":
        return cell
    call = f'from bertlab.lessons import run_check\n\nrun_check("{name}", {cell.label})'
    return Cell(cell.kind, cell.label, call)


def _complete(exercise: Cell, solution: Cell) -> Cell:
    other_lines = "\n".join(line for line in exercise.text.split("\n") if " = ..." not in line).strip()
    return Cell(solution.kind, solution.label, f"{other_lines}\n\n{solution.text}".strip())


def find_title(cells: list[Cell], language: str) -> str:
    """Return the heading of the first text of a lesson."""
    first = next(cell for cell in cells if cell.kind == "[markdown]" and cell.label == language)
    return first.text.split("\n")[0].removeprefix("# ")


def make_list() -> nbformat.NotebookNode:
    """Make the notebook that lists all lessons, in every language."""
    lessons = {path.stem: read_lesson(path) for path in find_sources()}
    notebook_cells = []
    for language in LANGUAGES:
        links = [
            LINKS[language].format(title=find_title(cells, language), name=name) for name, cells in lessons.items()
        ]
        notebook_cells.append(
            nbformat.v4.new_markdown_cell(LIST[language] + "\n\n" + "\n".join(f"- {link}" for link in links))
        )
    return _make_notebook(notebook_cells, LANGUAGES[0])


def find_sources() -> list[Path]:
    """Find the sources of all lessons, in order."""
    return sorted(SOURCES.glob("[0-9]*.py"))


def _make_cell(cell: Cell) -> nbformat.NotebookNode:
    if cell.kind == "[markdown]":
        return nbformat.v4.new_markdown_cell(APP_LINK.sub(lambda link: _make_app_link(link, cell.label), cell.text))
    code_cell = nbformat.v4.new_code_cell(cell.text)
    if cell.kind != "code":
        code_cell.metadata["tags"] = [cell.kind if not cell.label else f"{cell.kind}-{cell.label}"]
    if cell.kind == "predict":
        code_cell.metadata["jupyter"] = {"outputs_hidden": True}
    elif cell.kind == "check":
        code_cell.metadata["jupyter"] = {"source_hidden": True}
    return code_cell


def _make_app_link(link: re.Match, language: str) -> str:
    fields = [field.replace("\n", " ").partition("=") for field in (link[2] or "").split("&") if field]
    values = [f"{name}={quote(value, safe='')}" for name, _, value in [*fields, ("lang", "", language)]]
    return f"({APP}/{link[1]}?{'&'.join(values)})"


def _make_notebook(cells: list[nbformat.NotebookNode], language: str, setup: str = "") -> nbformat.NotebookNode:
    for number, cell in enumerate(cells):
        cell.id = f"cell-{number}"  # by default random, so that every build would differ
    if setup:
        cells = [nbformat.v4.new_code_cell(setup, id="setup"), *cells]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}, "lesson": {"language": language}}
    return nbformat.v4.new_notebook(cells=cells, metadata=metadata)
