"""Each recipe of CONTRIBUTING.md, applied as it stands there to a copy of the repository: lint, tests and commands."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from support.recipes import read_recipes

ROOT = Path(__file__).resolve().parents[1]
BIN = Path(sys.executable).parent
COPIED = ("app", "benchmarks", "bertlab", "scripts", "tests", "CONTRIBUTING.md", "pyproject.toml")
LINKED = ("assets", "docs", "notebooks")  # large, and the recipes change nothing in them
SKIPPED = shutil.ignore_patterns("__pycache__", ".ruff_cache", "*.egg-info")


@dataclass(frozen=True)
class Case:
    """What the bound of a recipe is, and which tests concern what it adds."""

    num_files: int
    tests: tuple[str, ...]


CASES = {
    "A task of a known type": Case(1, ("uses.py::test_a_task_of_a_known_type", "../test_tasks.py")),
    "A family of encoders": Case(1, ("uses.py::test_a_family_of_encoders",)),
    "An optimiser": Case(1, ("uses.py::test_an_optimiser", "../test_optimizers.py")),
    "A file format": Case(1, ("uses.py::TestAFileFormat", "../test_task_data.py")),
    "An interface language": Case(2, ("uses.py::test_an_interface_language", "../test_catalogues.py")),
    "A colour of the views": Case(1, ("uses.py::test_a_colour_of_the_views", "../test_palette.py")),
}


@pytest.fixture
def copy(tmp_path) -> Path:
    """A copy of the repository."""
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, tmp_path / name, ignore=SKIPPED)
        else:
            shutil.copy(ROOT / name, tmp_path / name)
    for name in LINKED:
        (tmp_path / name).symlink_to(ROOT / name)
    return tmp_path


def run(copy: Path, *command: str | Path) -> None:
    """Run a command in the copy, with the copy's packages."""
    environment = os.environ | {"PYTHONPATH": f"{copy}:{copy / 'app'}", "RUFF_NO_CACHE": "true"}
    done = subprocess.run(list(map(str, command)), cwd=copy, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, f"{command}\n{done.stdout[-3000:]}{done.stderr[-1000:]}"


@pytest.mark.slow
@pytest.mark.parametrize("title", CASES)
def test_a_recipe_is_complete(title, copy):
    case = CASES[title]
    changed = read_recipes()[title].apply(copy)
    assert len(changed) == case.num_files
    python_files = [name for name in changed if name.endswith(".py")]
    if python_files:
        run(copy, BIN / "ruff", "format", *python_files)
        run(copy, BIN / "ruff", "check", *python_files)
        run(copy, BIN / "lint-imports", "--no-cache")
    quick = "not slow and not browser and not release"
    tests = [copy / "tests" / "recipes" / name for name in case.tests]
    run(copy, sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-m", quick, *tests)
