"""The package: what importing it loads, and a wheel that works outside the clone."""

import json
import os
import shutil
import subprocess
import sys
import urllib.request
import zipfile
from pathlib import Path

import pytest
from support.ports import free_port, wait_for_port
from support.stories import stories

import bertlab

ROOT = Path(__file__).resolve().parents[1]
HEAVY = {
    "torch", "streamlit", "numpy", "transformers", "tokenizers", "datasets", "pyarrow", "tyro", "fluent.runtime",
    "pandas", "plotly", "bertviz", "anywidget", "safetensors", "huggingface_hub", "httpx2", "docstring_parser",
    "sklearn", "scipy",
}  # fmt: skip


def imported_by(code: str) -> set[str]:
    """The modules of `HEAVY` that a new process has imported after running this code."""
    script = f"import sys\n{code}\nprint(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT)
    return HEAVY & set(done.stderr.split())


@pytest.mark.parametrize(
    "code",
    [
        "import bertlab; bertlab.__version__; dir(bertlab)",
        "from bertlab.cli import main; main(['--help'])",
        "from bertlab.cli import main; main(['--version'])",
        "from bertlab import BertlabError, prepare, pretrain, finetune, evaluate",
    ],
)
def test_heavy_libraries_are_imported_only_when_needed(code):
    """`import bertlab` and `bertlab --help` answer at once, since neither loads torch."""
    assert not imported_by(code)


def test_every_public_name_exists():
    assert sorted(bertlab.__all__) == bertlab.__all__
    assert all(getattr(bertlab, name) is not None for name in bertlab.__all__)
    assert set(bertlab.__all__) <= set(dir(bertlab))


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    pytest.importorskip("setuptools")
    source, out = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    for name in ("app", "bertlab"):
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source / name)
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "-q", "-w", str(out), "."]
    done = subprocess.run(command, cwd=source, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return next(out.glob("*.whl"))


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory) -> Path:
    """The Python of a new environment that has bertlab from the wheel, and its dependencies from this environment."""
    home = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(home)], check=True)
    python = home / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    packages = subprocess.run(
        [str(python), "-c", "import site; print(site.getsitepackages()[0])"], capture_output=True, text=True, check=True
    ).stdout.strip()
    Path(packages, "dependencies.pth").write_text("\n".join(path for path in sys.path if "site-packages" in path))
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(packages)
    return python


def clean_environment(**more: str) -> dict[str, str]:
    """The environment of this process without what names bertlab's files."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("BERTLAB", "PYTHONPATH"))}
    return inherited | {"HF_HUB_OFFLINE": "1"} | more


def run(python: Path, *words: str, at: Path | None = None) -> subprocess.CompletedProcess:
    """Run Python outside the clone."""
    command = [str(python), *words]
    return subprocess.run(
        command, cwd=at or python.parent, env=clean_environment(), capture_output=True, text=True, encoding="utf-8"
    )


@pytest.mark.release
def test_the_wheel_holds_every_file_of_the_package(wheel):
    with zipfile.ZipFile(wheel) as archive:
        stored = {name for name in archive.namelist() if name.startswith(("bertlab/", "bertlab_app/"))}
    packages = (ROOT / "bertlab", ROOT / "app" / "bertlab_app")
    files = {
        path.relative_to(package.parent).as_posix()
        for package in packages
        for path in package.rglob("*")
        if path.is_file()
    }
    assert stored == {name for name in files if "__pycache__" not in name}
    assert {"bertlab/py.typed", "bertlab/locales/ko/language.toml", "bertlab/views/static/canvas.js"} <= stored


# These run in one process, since importing torch costs more than all of them do.
USE = """
import contextlib, io, json, os, sys
from pathlib import Path
from streamlit.testing.v1 import AppTest
import bertlab
import bertlab_app
from bertlab.cli.dispatch import main

for name in bertlab.__all__:
    getattr(bertlab, name)
results = {"module": bertlab.__file__, "shipped": len(bertlab.find_shipped_checkpoints()), "fill_mask": []}
for assets in (None, sys.argv[1]):
    if assets:
        os.environ["BERTLAB_ASSETS"] = assets
    errors = io.StringIO()
    with contextlib.redirect_stderr(errors):
        code = main(["fill-mask", "Green [MASK]."])
    results["fill_mask"].append((code, errors.getvalue()))
script = Path(bertlab_app.__file__).parent / "launch" / "streamlit_app.py"
app = AppTest.from_file(str(script), default_timeout=120).run()
results["page"] = (len(app.exception), len(app.main))
print(json.dumps(results))
"""


@pytest.mark.release
def test_the_wheel_works_outside_the_clone(installed, shipped, tmp_path):
    assert run(installed, "-m", "bertlab", "--help").returncode == 0
    (tmp_path / "checkpoints").symlink_to(shipped)
    done = run(installed, "-c", USE, str(tmp_path))
    assert done.returncode == 0, done.stderr
    results = json.loads(done.stdout.splitlines()[-1])
    assert str(installed.parents[1]) in results["module"], "not the bertlab of the wheel"
    assert results["shipped"] == 0
    (code, error), second = results["fill_mask"]
    assert code == 2
    assert "BERTLAB_ASSETS" in error, "the error says how to name the shipped checkpoints"
    assert len(error.splitlines()) == 1
    assert second == [0, ""]
    exceptions, elements = results["page"]
    assert exceptions == 0, done.stderr
    assert elements > 0


# Whole training in one process, for the same reason.
TRAIN = """
import json
import bertlab

corpus = bertlab.prepare("stories.txt", out="corpus", vocab_size=120, workers=1)
small = dict(layers=1, hidden=16, attention_heads=2, steps=3, batch_size=4, max_tokens=32, threads=1, snapshots=False)
pretrained = bertlab.pretrain(corpus.path, "pretrained", **small)
data = dict(data="reviews.csv", text_column="text", label_column="label", threads=1)
tuned = bertlab.finetune(
    "custom", "tuned", from_=pretrained.checkpoint, kind="classification", epochs=1.0, batch_size=8, max_tokens=16,
    **data,
)
result = bertlab.evaluate("custom", tuned.checkpoint, **data)
assert bertlab.load(tuned.checkpoint).classify("Good tea.").best.label in {"good", "bad"}
print(json.dumps({
    "module": bertlab.__file__, "documents": corpus.documents, "steps": [pretrained.steps, tuned.steps],
    "metrics": dict(result.metrics),
}))
"""


@pytest.mark.release
def test_the_wheel_prepares_trains_and_evaluates_outside_the_clone(installed, tmp_path):
    (tmp_path / "stories.txt").write_text("\n\n".join(stories(40)), encoding="utf-8")
    rows = [f"The {label} tea number {number}.,{label}" for number in range(12) for label in ("good", "bad")]
    (tmp_path / "reviews.csv").write_text("\n".join(["text,label", *rows]), encoding="utf-8")
    done = run(installed, "-c", TRAIN, at=tmp_path)
    assert done.returncode == 0, done.stderr
    results = json.loads(done.stdout.splitlines()[-1])
    assert str(installed.parents[1]) in results["module"], "not the bertlab of the wheel"
    assert results["documents"] == 40
    assert results["steps"] == [3, 3]
    assert results["metrics"]["examples"] == 24
    assert 0 <= results["metrics"]["accuracy"] <= 100
    for checkpoint in ("pretrained/checkpoint", "tuned/checkpoint"):
        assert (tmp_path / checkpoint / "model.safetensors").is_file()


@pytest.mark.release
@pytest.mark.parametrize("words", [("-c", "import bertlab"), ("-m", "bertlab", "--help")], ids=["import", "help"])
def test_the_wheel_imports_heavy_libraries_only_when_needed(installed, words):
    done = run(installed, "-X", "importtime", *words)
    assert done.returncode == 0, done.stderr
    modules = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert any(name.startswith("bertlab") for name in modules)
    assert not HEAVY & modules


@pytest.mark.release
def test_the_app_of_the_wheel_serves(installed, shipped, tmp_path):
    port = free_port()
    (tmp_path / "checkpoints").symlink_to(shipped)
    command, environment = [str(installed), "-m", "bertlab", "app"], clean_environment(BERTLAB_ASSETS=str(tmp_path))
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    server = subprocess.Popen([*command, "--port", str(port), "--no-browser"], cwd=tmp_path, env=environment, **quiet)
    try:
        wait_for_port(port, server)
        with urllib.request.urlopen(f"http://localhost:{port}/_stcore/health", timeout=20) as answer:
            assert answer.status == 200
    finally:
        server.terminate()
        server.wait(20)
