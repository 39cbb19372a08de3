"""The training loop, its state, and that a run killed anywhere continues with identical losses."""

import copy
import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from safetensors.torch import load_file
from support.errors import raises_error
from support.stories import losses, settings, squad_file, stories
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import FlopCounterMode

from benchmarks.training_loop import TrainingLoop
from bertlab.checkpoints import checkpoint, history
from bertlab.cli import main
from bertlab.config import lock
from bertlab.config.config import ModelConfig
from bertlab.config.errors import BertlabError, CheckpointError, DataError
from bertlab.config.languages import Message
from bertlab.nn.fast import cross_entropy
from bertlab.nn.fast.cross_entropy import decoded_cross_entropy
from bertlab.nn.fast.model import FastBert, compile_layers
from bertlab.tasks.masked_lm import PretrainingLoss
from bertlab.text.pretraining.corpus import Corpus
from bertlab.text.pretraining.sampler import PairSampler
from bertlab.text.tokenizers.wordpiece import Tokenizer
from bertlab.training import devices, interrupt, run_directory, run_state, trainer
from bertlab.training.evaluate import EvaluateConfig, evaluate
from bertlab.training.evaluate import run as run_evaluate
from bertlab.training.finetune import FinetuneConfig, finetune, run_with_evaluations
from bertlab.training.interrupt import Interrupted
from bertlab.training.optimizers import OptimConfig, Optimizer
from bertlab.training.pretraining.metrics import evaluate_pretraining, format_metrics
from bertlab.training.pretraining.prepare import PrepareConfig
from bertlab.training.pretraining.prepare import run as prepare
from bertlab.training.pretraining.pretrain import pretrain
from bertlab.training.progress import show_progress

CONFIG = ModelConfig(vocab_size=20, hidden_size=8, num_layers=1, num_heads=2, intermediate_size=16)


# -- parts -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("share", [0.0, 0.25], ids=["labels only", "with a teacher"])
@pytest.mark.parametrize("sizes", [(64, 1), (4096, 64)], ids=["CPU", "GPU"])
def test_cross_entropy_equals_torchs_and_so_do_its_gradients(sizes, share, monkeypatch):
    monkeypatch.setattr(cross_entropy, "_get_chunk_sizes", lambda device: sizes)
    torch.manual_seed(0)
    leaves = [torch.randn(150, 16), torch.randn(37, 16), torch.randn(37)]
    labels_P = torch.randint(0, 37, (150,))
    labels_P[::7] = -100
    ours, theirs = ([leaf.clone().requires_grad_() for leaf in leaves] for _ in range(2))
    teacher_PV = 2 * torch.randn(150, 37) if share else None
    loss, plain, hits = decoded_cross_entropy(*ours, labels_P, teacher_PV, share)
    (3 * loss).backward()
    logits = F.linear(*theirs)
    expected = against_labels = F.cross_entropy(logits, labels_P)
    if share:
        used_P = labels_P != -100
        expected = (1 - share) * expected + share * F.cross_entropy(logits[used_P], teacher_PV[used_P].softmax(-1))
    (3 * expected).backward()
    assert loss.item() == pytest.approx(expected.item(), abs=1e-5)
    assert plain.item() == pytest.approx(against_labels.item(), abs=1e-5)
    assert hits == (logits.argmax(-1) == labels_P).sum()
    for a, b in zip(ours, theirs, strict=True):
        torch.testing.assert_close(a.grad, b.grad, atol=1e-6, rtol=1e-5)


def test_cross_entropy_without_gradients_multiplies_once():
    torch.manual_seed(0)
    leaves = [leaf.requires_grad_() for leaf in (torch.randn(150, 16), torch.randn(37, 16), torch.randn(37))]
    labels_P = torch.randint(0, 37, (150,))
    labels_P[::7] = -100
    trained = decoded_cross_entropy(*leaves, labels_P)
    with torch.inference_mode(), FlopCounterMode(display=False) as counter:
        measured = decoded_cross_entropy(*leaves, labels_P)
    assert [value.item() for value in measured] == [value.item() for value in trained]
    assert counter.get_total_flops() == 2 * 150 * 16 * 37


@pytest.mark.parametrize(
    ("low_share", "expected_at"),
    [
        (0.0, {0.0: 0.0, 0.05: 0.5, 0.1: 1.0, 0.5: 1.0, 0.9: 0.5, 1.0: 0.0}),
        (0.2, {0.01: 0.1, 0.05: 0.25, 0.199: 0.25, 0.25: 0.75, 0.3: 1.0, 0.9: 0.5, 1.0: 0.0}),
    ],
)
def test_the_learning_rate_rises_stays_and_falls_to_zero(low_share, expected_at):
    optim = OptimConfig(lr=1.0, warmup=0.1, decay=0.2, low_share=low_share, low_lr=0.25)
    assert [optim.learning_rate_at(share) for share in expected_at] == pytest.approx(list(expected_at.values()))


def test_the_optimiser_is_torchs_adamw():
    torch.manual_seed(1)
    model, twin = (FastBert(CONFIG, heads=("nsp",)) for _ in range(2))
    twin.load_state_dict(model.state_dict())
    ours = Optimizer(model, OptimConfig(max_grad_norm=1e9, weight_decay=0.0), torch.float32)
    theirs = torch.optim.AdamW(twin.parameters(), lr=1e-3, betas=(0.9, 0.98), eps=1e-6, weight_decay=0.0)
    x_BH = torch.randn(3, 8)
    for _ in range(3):
        for m in (model, twin):
            m.nsp(m.pooler(x_BH[:, None])).square().sum().backward()
        for p in twin.parameters():
            p.grad = torch.zeros_like(p) if p.grad is None else p.grad
        ours.clip()
        ours.step(1e-3)
        theirs.step()
        theirs.zero_grad()
    for a, b in zip(model.parameters(), twin.parameters(), strict=True):
        torch.testing.assert_close(a, b, atol=1e-7, rtol=1e-5)


def test_biases_and_layernorm_are_not_decayed():
    optimizer = Optimizer(FastBert(CONFIG), OptimConfig())
    decayed, not_decayed = optimizer.optimizers[0].param_groups
    assert decayed["weight_decay"] == 0.01
    assert {p.ndim for p in decayed["params"]} == {2}
    assert not_decayed["weight_decay"] == 0.0
    assert {p.ndim for p in not_decayed["params"]} == {1}


def test_bfloat16_training_updates_float32_weights():
    optimizer = Optimizer(FastBert(CONFIG, heads=("nsp",)), OptimConfig(weight_decay=0.0), torch.bfloat16)
    assert {p.dtype for p in optimizer.working_model.parameters()} == {torch.bfloat16}
    before = optimizer.model.pooler.dense.weight.clone()
    optimizer.working_model.pooler.dense.weight.sum().backward()
    optimizer.clip()
    optimizer.step(1e-5)
    change = (optimizer.model.pooler.dense.weight - before).detach().abs()
    # far smaller than the spacing of bfloat16 at these weights
    assert change.max() == pytest.approx(1e-5, rel=0.1)


# -- data --------------------------------------------------------------------------------------------------------


def test_the_number_of_workers_changes_nothing(corpus, tmp_path):
    source = json.loads((corpus / "corpus.json").read_text())["settings"]["sources"]
    two = PrepareConfig(tuple(source), tmp_path / "two", tokenizer=corpus / "tokenizer", workers=2)
    other = prepare(two)
    assert other.rows["input_ids"][:] == Corpus.open(corpus).rows["input_ids"][:]


def test_batches_resume_from_a_saved_position(corpus):
    tokenizer = Tokenizer.load(corpus / "tokenizer")
    opened = replace(Corpus.open(corpus), block_size=64)
    run = PairSampler(opened, tokenizer, 8, 32, seed=3)
    batches, positions = [], []
    for _ in range(400):
        positions.append(run.position)
        batches.append(next(run))
    assert positions[-1].epoch >= 1
    for i in (1, 17, 180, 399):
        again = next(PairSampler(opened, tokenizer, 8, 32, seed=3, position=positions[i]))
        assert torch.equal(again.inputs.input_ids_BT, batches[i].inputs.input_ids_BT)
        assert torch.equal(again.key_B, batches[i].key_B)
    keys = torch.cat([batch.key_B for batch in batches])
    assert len(keys.unique()) == len(keys)


def test_a_pair_reads_cls_a_sep_b_sep(corpus):
    tokenizer = Tokenizer.load(corpus / "tokenizer")
    inputs = next(PairSampler(Corpus.open(corpus), tokenizer, 32, 32, seed=0)).inputs
    for ids, types, mask in zip(inputs.input_ids_BT, inputs.token_type_ids_BT, inputs.attention_mask_BT, strict=True):
        n = int(mask.sum())
        seps = (ids == tokenizer.sep_id).nonzero().flatten().tolist()
        assert mask[:n].all()
        assert ids[0] == tokenizer.cls_id
        assert len(seps) == 2
        assert seps[1] == n - 1
        assert types.tolist() == [0] * (seps[0] + 1) + [1] * (n - seps[0] - 1) + [0] * (32 - n)
        assert (ids[n:] == tokenizer.pad_id).all()


@pytest.mark.parametrize(
    ("name", "text", "id"),
    [
        (None, "", "no-text-source"), ("absent.jsonl", None, "file-not-found"), ("", None, "directory-without-files"),
        ("d.pdf", "x", "file-format-unknown"),
    ],
)  # fmt: skip
def test_bad_sources_raise_a_one_line_error(name, text, id, tmp_path, corpus):
    if text and name:
        (tmp_path / name).write_text(text)
    sources = () if name is None else (str(tmp_path / name),)
    with pytest.raises(DataError) as caught:
        prepare(PrepareConfig(sources, tmp_path / "out", tokenizer=corpus / "tokenizer", workers=1))
    causes = [caught.value, *(value for value in caught.value.params.values() if hasattr(value, "id"))]
    assert id in [cause.id for cause in causes]
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "out").exists()


# -- runs --------------------------------------------------------------------------------------------------------


def test_pretraining_learns_and_its_checkpoint_opens(corpus, tmp_path):
    config = settings(corpus, tmp_path / "run", steps=150, batch_size=16, validation=corpus, optim=OptimConfig(lr=3e-3))
    config = replace(config, save_minutes=5.0)
    reports = list(pretrain(config))
    assert reports[-1].step == 150
    assert np.mean([r.loss for r in reports[-10:]]) < 0.7 * np.mean([r.loss for r in reports[:10]])
    loaded = checkpoint.load(tmp_path / "run" / "checkpoint")
    assert loaded.heads == ("mlm", "nsp")
    record = loaded.record
    assert record["tokens"] == reports[-1].tokens
    assert record["steps"] == 150
    metrics = evaluate_pretraining(loaded.model, loaded.tokenizer, Corpus.open(corpus), max_pairs=256)
    assert metrics["masked_accuracy"] == pytest.approx(record["validation"]["masked_accuracy"], abs=0.01)
    progress_values = []
    again = evaluate_pretraining(
        loaded.model,
        loaded.tokenizer,
        Corpus.open(corpus),
        max_pairs=10**5,
        progress=lambda parts: (progress_values.append(part) or part for part in parts),
    )
    assert again["rows"] < 10**5  # a small corpus has fewer rows, but the progress bar is full nevertheless
    assert progress_values[-1] > 10**5 - 100
    assert (
        f"{record['validation']['masked_accuracy']:.1%}" in (tmp_path / "run" / "checkpoint" / "README.md").read_text()
    )


def test_metrics_during_the_run_are_printed(corpus, tmp_path):
    lines: list[str] = []
    config = settings(corpus, tmp_path / "run", steps=5, validation=corpus, evaluate_every=2)
    list(pretrain(replace(config, sample_predictions=False), lines.append))
    rows = [json.loads(line) for line in (config.out / "log.jsonl").read_text().splitlines()]
    measured = {row["step"]: row["validation"] for row in rows if "validation" in row}
    assert lines[0] == "--validation is the training corpus, so its metrics are not those of held-out text"
    assert lines[1:] == [format_metrics(measured[step], step) for step in (0, 2, 4)]
    assert "\nOn stories.jsonl.\n" in (config.out / "checkpoint" / "README.md").read_text()


def test_snapshots_are_log_spaced(corpus, tmp_path):
    list(pretrain(settings(corpus, tmp_path / "run", steps=30, snapshots=True)))
    names = sorted(path.name for path in (tmp_path / "run" / "snapshots").iterdir())
    assert names == ["step-00000000", "step-00000010", "step-00000030"]
    assert checkpoint.load(tmp_path / "run" / "snapshots" / "step-00000010").record["steps"] == 10


@pytest.mark.parametrize("clock", ["wall", "cpu"])
def test_a_time_budget_ends_with_learning_rate_zero(corpus, tmp_path, monkeypatch, clock):
    """With a simulated clock: a step takes 0.125 s; an evaluation and a save take 15 minutes and are not counted."""
    now = [0.0]

    def taking(seconds, function):
        def timed(*arguments, **keywords):
            now[0] += seconds
            return function(*arguments, **keywords)

        return timed

    # the module has no other clock, so that reading it would fail
    read_clock = {"wall": "monotonic", "cpu": "process_time"}[clock]
    monkeypatch.setattr(trainer, "time", SimpleNamespace(**{read_clock: lambda: now[0]}))
    monkeypatch.setattr(run_state, "save_file", taking(900, run_state.save_file))
    monkeypatch.setattr(PretrainingLoss, "__call__", taking(0.125, PretrainingLoss.__call__))
    evaluation = "bertlab.training.pretraining.artifacts.evaluate_pretraining"
    monkeypatch.setattr(evaluation, taking(900, evaluate_pretraining))
    config = settings(corpus, tmp_path / "run", steps=10**6, minutes=0.125, validation=corpus, evaluate_every=20)
    config = replace(config, clock=clock)
    # the first process stops before it saves its 30th step
    reports = [*itertools.islice(pretrain(config), 30)][:29] + list(pretrain(config))
    assert [report.step for report in reports] == list(range(1, 61))
    assert reports[-1].seconds == 7.5
    expected = [config.optim.learning_rate_at(k / 60 + 0.5e-6) for k in range(60)]
    assert [report.learning_rate for report in reports] == pytest.approx(expected)
    assert reports[-1].learning_rate < 0.02 * config.optim.lr


def test_freed_memory_is_returned_during_a_run(corpus, tmp_path, monkeypatch):
    calls = []
    monkeypatch.setattr(devices, "release_memory", lambda: calls.append(True))
    monkeypatch.setattr(trainer, "MALLOC_TRIM_INTERVAL", 6)
    list(pretrain(settings(corpus, tmp_path / "run", steps=12, device="cpu")))
    assert len(calls) == 2


SCRIPT = """
import json, sys
from pathlib import Path
from bertlab.training.optimizers import OptimConfig
from bertlab.training.pretraining.config import PretrainConfig
from bertlab.training.pretraining.pretrain import pretrain
fields = json.loads(sys.argv[1])
fields["optim"] = OptimConfig(**fields["optim"])
for name in ("corpus", "out"):
    fields[name] = Path(fields[name])
for report in pretrain(PretrainConfig(**fields)):
    pass
"""


def test_a_killed_run_continues_with_identical_losses(corpus, tmp_path):
    """In bfloat16, where the state also needs the float32 weights; `test_optimizers` tests float32."""
    whole = settings(corpus, tmp_path / "whole", steps=40, precision="bfloat16", dropout=0.1, sample_predictions=False)
    list(pretrain(whole))
    killed = replace(whole, out=tmp_path / "killed")
    command = [sys.executable, "-c", SCRIPT, json.dumps(asdict(killed), default=str)]
    process = subprocess.Popen(command, env={**os.environ, "OMP_NUM_THREADS": "1"})
    log = tmp_path / "killed" / "log.jsonl"
    deadline = time.monotonic() + 60
    while not (log.is_file() and len(log.read_text().splitlines()) >= 6):
        assert process.poll() is None, "the run ended before it could be killed"
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert 6 <= len(losses(tmp_path / "killed")) < 40
    resumed = list(pretrain(killed))
    assert 1 < resumed[0].step <= 40
    assert losses(tmp_path / "killed") == losses(tmp_path / "whole")
    ours, theirs = (checkpoint.load(tmp_path / name / "checkpoint").model for name in ("killed", "whole"))
    for a, b in zip(ours.parameters(), theirs.parameters(), strict=True):
        assert torch.equal(a, b)


@pytest.fixture(autouse=True)
def terminal_signals():
    """Signal handlers as in a terminal. Without this, a background job ignores SIGINT, and nohup ignores SIGHUP."""
    default = dict.fromkeys(interrupt.STOP_SIGNALS, signal.SIG_DFL) | {signal.SIGINT: signal.default_int_handler}
    before = {signum: signal.signal(signum, handler) for signum, handler in default.items()}
    yield
    for signum, handler in before.items():
        signal.signal(signum, handler)


@pytest.fixture(scope="module")
def whole(corpus, tmp_path_factory) -> list[float]:
    """The losses of a run that nothing interrupts."""
    config = settings(corpus, tmp_path_factory.mktemp("whole") / "run")
    return [report.loss for report in pretrain(config)]


def interrupting(monkeypatch, at: int, times: int = 1, signum: int = signal.SIGINT):
    """Make step number `at` raise a stop signal while it runs."""
    plain = trainer.Trainer._step

    def step(self, progress):
        if self.progress.step + 1 == at:
            for _ in range(times):
                signal.raise_signal(signum)
        return plain(self, progress)

    monkeypatch.setattr(trainer.Trainer, "_step", step)


@pytest.mark.parametrize(("name", "times"), [("SIGINT", 1), ("SIGINT", 2), ("SIGTERM", 1), ("SIGHUP", 1)])
def test_a_stop_signal_loses_no_step(corpus, whole, tmp_path, monkeypatch, name, times):
    """Ctrl-C, also pressed twice at once; a scheduler; a terminal that is closed."""
    signum = getattr(signal, name)
    before = signal.getsignal(signum)
    config, lines = settings(corpus, tmp_path / "run", save_minutes=5.0), []
    with monkeypatch.context() as patched:
        interrupting(patched, at=5, times=times, signum=signum)
        with pytest.raises(Interrupted) as caught:
            list(pretrain(config))
    assert caught.value.args[0] == Message("run-interrupted", step="5")
    assert caught.value.exit_code == 128 + signum
    assert signal.getsignal(signum) is before
    assert [report.step for report in pretrain(config, lines.append)] == list(range(6, 13))
    assert lines[0] == f"{config.out} continues from step 5"
    assert losses(config.out) == whole


def test_ctrl_c_during_an_evaluation_loses_no_step(corpus, whole, tmp_path, monkeypatch):
    config = settings(corpus, tmp_path / "run", save_minutes=5.0, validation=corpus, evaluate_every=5)
    calls = []

    def interrupted_evaluation(*arguments, **keywords):
        calls.append(1)
        if len(calls) == 2:  # the first call is before step 1
            signal.raise_signal(signal.SIGINT)
        return evaluate_pretraining(*arguments, **keywords)

    with monkeypatch.context() as patched:
        patched.setattr("bertlab.training.pretraining.artifacts.evaluate_pretraining", interrupted_evaluation)
        with pytest.raises(Interrupted) as caught:
            list(pretrain(config))
        assert caught.value.args[0] == Message("run-interrupted", step="5")
    list(pretrain(config))
    assert losses(config.out) == whole


def test_a_second_ctrl_c_during_the_save_does_not_stop_the_save(corpus, tmp_path, monkeypatch):
    interrupting(monkeypatch, at=5)
    write = run_state.save_file

    def interrupted_write(*arguments, **keywords):
        signal.raise_signal(signal.SIGINT)
        write(*arguments, **keywords)

    monkeypatch.setattr(run_state, "save_file", interrupted_write)
    config = settings(corpus, tmp_path / "run", save_minutes=5.0)
    with pytest.raises(Interrupted):
        list(pretrain(config))
    assert run_state.read_values(config.out / "state.safetensors")["progress"]["step"] == 5


def test_a_second_ctrl_c_after_a_while_stops_the_step(corpus, tmp_path, monkeypatch):
    monkeypatch.setattr(interrupt, "REPEAT_SECONDS", -1.0)
    interrupting(monkeypatch, at=5, times=2)
    config = settings(corpus, tmp_path / "run", save_minutes=5.0)
    with pytest.raises(KeyboardInterrupt):
        list(pretrain(config))
    assert len(losses(config.out)) == 4
    assert not (config.out / "state.safetensors").exists()


def test_a_terminal_that_is_gone_does_not_prevent_the_save(corpus, tmp_path, monkeypatch):
    """After SIGHUP, printing a report fails, so the state is saved before the report is yielded."""
    interrupting(monkeypatch, at=5, signum=signal.SIGHUP)
    config = settings(corpus, tmp_path / "run", save_minutes=5.0)

    def print_reports():
        for report in pretrain(config):
            if report.step == 5:
                raise OSError("input/output error")

    with pytest.raises((OSError, Interrupted)):
        print_reports()
    assert run_state.read_values(config.out / "state.safetensors")["progress"]["step"] == 5


def test_a_signal_that_also_ends_the_loader_workers_loses_no_step(corpus, tmp_path, monkeypatch):
    """A scheduler signals the whole process group."""
    config = settings(corpus, tmp_path / "run", save_minutes=5.0)
    draw, drawn = PairSampler.__next__, []

    def draw_without_workers(sampler):
        drawn.append(1)
        if len(drawn) == 6:
            signal.raise_signal(signal.SIGTERM)
            raise BrokenProcessPool
        return draw(sampler)

    with monkeypatch.context() as patched:
        patched.setattr(PairSampler, "__next__", draw_without_workers)
        with pytest.raises(Interrupted) as caught:
            list(pretrain(config))
    assert caught.value.args[0] == Message("run-interrupted", step="5")
    assert caught.value.exit_code == 128 + signal.SIGTERM
    assert next(report.step for report in pretrain(config)) == 6


def test_a_signal_while_a_report_is_printed_loses_no_step(corpus, tmp_path):
    def print_reports():
        for report in pretrain(settings(corpus, tmp_path / "run", save_minutes=5.0)):
            if report.step == 5:
                signal.raise_signal(signal.SIGINT)

    with pytest.raises(Interrupted) as caught:
        print_reports()
    assert caught.value.args[0] == Message("run-interrupted", step="6")


def test_a_signal_to_an_abandoned_run_reaches_its_caller(corpus, tmp_path):
    run = pretrain(settings(corpus, tmp_path / "run"))
    next(run)
    signal.raise_signal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        run.close()


def test_an_ignored_ctrl_c_stays_ignored(corpus, tmp_path, monkeypatch):
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    interrupting(monkeypatch, at=2)
    assert len(list(pretrain(settings(corpus, tmp_path / "run", steps=4)))) == 4
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN


def test_the_command_line_says_what_was_saved_at_ctrl_c(corpus, tmp_path, monkeypatch, capsys):
    interrupting(monkeypatch, at=2)
    words = ["pretrain", str(corpus), "--out", str(tmp_path / "run"), "--preset", "tiny", "--steps", "4"]
    words += ["--no-sample-predictions"]
    assert main([*words, "--device", "cpu", "--batch-size", "2", "--max-tokens", "16", "--precision", "float32"]) == 130
    assert capsys.readouterr().err.splitlines()[-1] == "bertlab: stopped after step 2: run the same command to continue"


def test_a_run_killed_before_its_first_save_writes_no_row_twice(corpus, tmp_path):
    config = settings(corpus, tmp_path / "run", validation=corpus, save_minutes=5.0)
    list(itertools.islice(pretrain(config), 3))
    assert not (tmp_path / "run" / "state.safetensors").exists()
    list(pretrain(config))
    rows = rows_of(tmp_path / "run")
    for name, steps in {"validation": [0, 12], "samples": [0, 10, 12], "loss": list(range(1, 13))}.items():
        assert [row["step"] for row in rows if name in row] == steps, name


def test_starting_a_finished_run_again_writes_nothing(corpus, tmp_path):
    config = settings(corpus, tmp_path / "run", validation=corpus)
    list(pretrain(config))
    files = {path: path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file()}
    notices = []
    assert list(pretrain(replace(config, tensorboard=True), notices.append)) == []
    assert {path: path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file()} == files
    assert notices == [
        f"{tmp_path / 'run'} already finished at step 12: `bertlab evaluate pretraining --record` "
        "evaluates its checkpoint again; a larger --steps or --minutes trains it further"
    ]
    # a run that was killed while it wrote its checkpoint writes it when it is started again
    shutil.rmtree(tmp_path / "run" / "checkpoint")
    list(pretrain(config))
    assert checkpoint.load(tmp_path / "run" / "checkpoint").record["steps"] == 12


def test_a_second_start_of_a_run_that_is_under_way_is_refused(corpus, tmp_path, capsys):
    config = settings(corpus, tmp_path / "run")
    first = pretrain(config)
    next(first)
    words = f"pretrain {corpus} --out {config.out} --preset tiny --device cpu --precision float32".split()
    assert main(words) == 2
    err = capsys.readouterr().err
    assert str(config.out) in err
    assert err.endswith("is under way in another process: wait until it ends, or choose another --out\n")
    assert [report.step for report in first] == list(range(2, 13))
    notices = []
    assert list(pretrain(config, notices.append)) == []
    assert "already finished at step 12" in notices[0]


HOLDER = """
import os, sys, time
from pathlib import Path
from bertlab.config.lock import exclusive_lock
place = Path(sys.argv[1])
with exclusive_lock(place, "the holder"):
    helper = os.fork()  # inherits the open lock file and outlives the block
    if not helper:
        time.sleep(60)
        os._exit(0)
with exclusive_lock(place, "the holder"):
    print(helper, flush=True)
    time.sleep(60)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
def test_a_lock_ends_with_its_block_or_with_its_process(tmp_path):
    place = tmp_path / "run" / ".lock"
    process = subprocess.Popen([sys.executable, "-c", HOLDER, str(place)], stdout=subprocess.PIPE, text=True)
    os.kill(int(process.stdout.readline()), signal.SIGKILL)
    with raises_error(BertlabError, "lock-held", owner="the test"), lock.exclusive_lock(place, "the test"):
        pass
    process.kill()
    process.wait()
    with lock.exclusive_lock(place, "the test"):
        pass


def rows_of(out: Path) -> list[dict]:
    return [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]


def test_a_bfloat16_run_records_the_metrics_of_its_checkpoint(corpus, tmp_path):
    list(pretrain(settings(corpus, tmp_path / "run", validation=corpus, precision="bfloat16")))
    saved = tmp_path / "run" / "checkpoint"
    metrics = evaluate(
        EvaluateConfig(task="pretraining", data=str(corpus), checkpoint=str(saved), limit=256, json=True)
    )
    assert checkpoint.load(saved).record["validation"] == pytest.approx(metrics, rel=1e-6)


def test_evaluation_uses_at_most_the_positions_of_the_model(tmp_path, tiny_checkpoint):
    text = tmp_path / "stories.txt"
    text.write_text("\n\n".join(stories(9)))
    prepare(PrepareConfig((str(text),), tmp_path / "corpus", tokenizer=str(tiny_checkpoint), workers=1))
    config = settings(tmp_path / "corpus", tmp_path / "run", preset="mini", from_=str(tiny_checkpoint), max_tokens=64)
    list(pretrain(replace(config, validation=tmp_path / "corpus", steps=1, sample_predictions=False)))
    evaluation = EvaluateConfig("pretraining", data=str(tmp_path / "corpus"), checkpoint=str(config.out / "checkpoint"))
    recorded = checkpoint.load(config.out / "checkpoint").record["validation"]
    assert recorded == pytest.approx(evaluate(replace(evaluation, limit=256)), rel=1e-6)
    with raises_error(BertlabError, "text-too-long", tokens=128, limit=64):
        evaluate(replace(evaluation, max_tokens=128))


def test_a_card_adds_up_all_earlier_runs(corpus, tmp_path):
    earlier, start = {"steps": 0, "tokens": 0, "training_minutes": 0.0}, None
    for name, steps in (("first", 4), ("second", 5), ("third", 6)):
        flags = {"from_": start, "preset": "mini"} if start else {}
        config = settings(
            corpus, tmp_path / name, steps=steps, sample_predictions=False, attribution="mine, CC0", **flags
        )
        list(pretrain(config))
        start = str(config.out / "checkpoint")
        record, card = checkpoint.read_record(start), (config.out / "checkpoint" / "README.md").read_text()
        assert {key: record["before"].get(key, 0) for key in earlier} == pytest.approx(earlier)
        assert (", on stories.jsonl (mine, CC0)" in card) == (name != "first")
        assert (f"{earlier['steps']:,} steps, {earlier['tokens']:,} tokens" in card) == (name != "first")
        earlier = {key: round(value + record[key], 1) for key, value in earlier.items()}


@pytest.mark.parametrize(
    "changes", [{}, {"pair_objective": "none", "left_to_right": True}], ids=["masked", "left to right"]
)
def test_the_command_on_the_card_gives_the_metrics_on_the_card(corpus, tmp_path, capsys, changes):
    list(pretrain(settings(corpus, tmp_path / "run", validation=corpus, snapshots=True, **changes)))
    for name, rows in (("checkpoint", 256), ("snapshots/step-00000010", 64)):
        saved = tmp_path / "run" / name
        record = checkpoint.load(saved).record
        command = record["evaluate_command"].replace("CHECKPOINT", str(saved)).replace("VALIDATION", str(corpus))
        assert main([*command.split()[1:], "--json"]) == 0
        metrics = json.loads(capsys.readouterr().out)
        assert metrics["rows"] == rows
        # not equal: a snapshot is measured before its weights are rounded to half precision
        assert metrics == pytest.approx(record["validation"], rel=0.01)
    run_evaluate(EvaluateConfig(task="pretraining", data=str(corpus), checkpoint=str(saved), limit=128, record=True))
    assert checkpoint.read_record(saved)["measured_on"] == ["stories.jsonl"]
    assert checkpoint.load(saved).record["evaluate_command"].endswith(" --limit 128")


@pytest.mark.release
def test_a_run_with_compiled_layers_gives_the_same_losses(corpus, tmp_path, monkeypatch):
    list(pretrain(settings(corpus, tmp_path / "plain")))
    monkeypatch.setattr(devices, "can_compile", lambda device: True)
    compiled = []
    monkeypatch.setattr(
        trainer, "compile_layers", lambda model: (compiled.append(model), compile_layers(model, "aot_eager"))
    )
    list(pretrain(settings(corpus, tmp_path / "compiled")))
    assert compiled
    assert losses(tmp_path / "compiled") == pytest.approx(losses(tmp_path / "plain"), rel=1e-5)


MUON = OptimConfig(lr=1e-3, name="muon", ema=0.5)


@pytest.mark.cuda
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"precision": "bfloat16"},
        {"optim": MUON, "whole_word": True, "accumulate": 2},
        {"pair_objective": "order", "final_max_tokens": 64, "final_share": 0.5},
        {"pair_objective": "none", "left_to_right": True, "precision": "bfloat16"},
    ],
    ids=["plain", "bfloat16", "muon", "order", "left to right"],
)
def test_a_cuda_run_gives_the_losses_of_a_cpu_run_and_resumes(corpus, tmp_path, changes):
    here = settings(corpus, tmp_path / "cpu", steps=20, **{**changes, "precision": "float32"})
    there = settings(corpus, tmp_path / "cuda", steps=20, device="cuda", validation=corpus, snapshots=True, **changes)
    whole = [report.loss for report in pretrain(here)]
    list(itertools.islice(pretrain(there), 9))  # the state of the eighth is saved
    assert [report.step for report in pretrain(there)] == list(range(9, 21))
    assert losses(tmp_path / "cuda") == pytest.approx(whole, rel=0.05 if "precision" in changes else 1e-3)
    measured = checkpoint.load(tmp_path / "cuda" / "checkpoint").record["validation"]
    assert evaluate(
        EvaluateConfig(
            "pretraining", data=str(corpus), checkpoint=str(tmp_path / "cuda" / "checkpoint"), device="cuda", limit=256
        )
    ) == pytest.approx(measured, rel=0.01)


class SyncRecorder(TorchDispatchMode):
    """Records the operators that make the CPU wait for the GPU: they copy from it, or need values to know a size."""

    def __init__(self):
        super().__init__()
        self.operators: list[str] = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        inputs, outputs = (
            [t for t in tree_leaves(tree) if isinstance(t, torch.Tensor)] for tree in ((args, kwargs), out)
        )
        copies_to_cpu = any(t.is_cuda for t in inputs) and any(not t.is_cuda for t in outputs)
        by_mask = func.name() == "aten::index.Tensor" and any(t.dtype == torch.bool for t in inputs[1:])
        reading = ("aten::_local_scalar_dense", "aten::equal", "aten::nonzero", "aten::masked_select")
        reads_values = func.name() in reading
        if copies_to_cpu or ((reads_values or by_mask) and inputs[0].is_cuda):
            self.operators.append(func.name())
        return out


@pytest.mark.cuda
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("with_teacher", [False, True])
def test_a_step_waits_for_a_gpu_twice(corpus, with_teacher):
    """Once at its start for the lengths of the rows, once for its loss, gradient norm and metrics together."""
    loop = TrainingLoop("tiny", corpus, 8, 32, device=torch.device("cuda", 0), dtype=torch.bfloat16)
    if with_teacher:
        teacher = copy.deepcopy(loop.trainer.optimizer.working_model).eval()
        loop.trainer.gradient.loss = replace(loop.trainer.gradient.loss, teacher=teacher)
    loop.run_steps(2)
    with SyncRecorder() as recorder:
        loop.run_steps(3)
    assert recorder.operators == ["aten::_to_copy"] * 6


def test_an_unfinished_run_is_not_a_checkpoint(corpus, tmp_path):
    config = settings(corpus, tmp_path / "run", steps=4)
    list(itertools.islice(pretrain(config), 2))
    with raises_error(CheckpointError, "run-not-finished", path=config.out):
        checkpoint.load(config.out)
    with raises_error(BertlabError, "run-settings-differ", directory=config.out) as caught:
        list(pretrain(replace(config, minutes=2.0)))
    assert "(--minutes was unset, now 2.0)" in str(caught.value)
    (config.out / "state.safetensors").unlink()
    with raises_error(BertlabError, "run-settings-differ-unsaved", directory=config.out):
        list(pretrain(replace(config, minutes=2.0)))


@pytest.mark.parametrize("then", [{"steps": 8}, {"steps": 8, "minutes": 60.0}], ids=["steps", "steps and minutes"])
def test_a_finished_run_can_be_lengthened(corpus, tmp_path, then):
    config = settings(corpus, tmp_path / "run", steps=4)
    list(pretrain(config))
    moments = load_file(config.out / "state.safetensors")["exp_avg.embeddings.token.weight"]
    lines, longer = [], replace(config, **then)
    reports = pretrain(longer, lines.append)
    report = next(reports)
    assert (report.step, report.learning_rate) == (5, config.optim.learning_rate_at(4 / 8 + 0.5 / 8))
    assert moments.any()
    assert [report.step for report in reports] == [6, 7, 8]
    assert lines[0] == f"{config.out} continues from step 4, lengthened: its learning rate rises again"
    assert len(losses(config.out)) == 8
    saved = config.out / "checkpoint"
    assert checkpoint.read_record(saved)["lengthened_after"] == [4]
    assert "| lengthened | after step 4 |" in (saved / "README.md").read_text()
    with raises_error(BertlabError, "run-settings-differ-finished"):
        list(pretrain(config))  # fewer steps than the run has
    with raises_error(BertlabError, "run-settings-differ-finished", directory=config.out) as caught:
        list(pretrain(replace(longer, seed=1)))
    assert "(--seed was 0, now 1)" in str(caught.value)
    with raises_error(BertlabError, "run-settings-differ-finished"):
        list(pretrain(replace(longer, steps=16, seed=1)))


def test_a_lengthened_run_continues_the_moments_of_its_optimiser(corpus, tmp_path):
    """With a constant learning rate, 4 steps lengthened to 8 are the 8 steps of one run."""
    optim = OptimConfig(lr=1e-3, warmup=0.0, decay=0.0)
    list(pretrain(settings(corpus, tmp_path / "whole", steps=8, optim=optim)))
    config = settings(corpus, tmp_path / "run", steps=4, optim=optim)
    list(pretrain(config))
    list(pretrain(replace(config, steps=8)))
    assert losses(config.out) == losses(tmp_path / "whole")


def allocate_too_much(self, model, batch):
    """An allocation that fails at once: an exbibyte."""
    return torch.empty(2**60, dtype=torch.uint8, device=batch.inputs.input_ids_BT.device)


@pytest.mark.parametrize(
    "error", [None, torch.OutOfMemoryError("CUDA out of memory."), MemoryError()], ids=["CPU", "CUDA", "NumPy"]
)
def test_out_of_memory_is_a_one_line_error(corpus, tmp_path, monkeypatch, error):
    def fail(*arguments):
        if error:
            raise error
        return allocate_too_much(*arguments)

    monkeypatch.setattr(PretrainingLoss, "__call__", fail)
    with raises_error(BertlabError, "training-out-of-memory") as caught:
        list(pretrain(settings(corpus, tmp_path / "run")))
    assert "--accumulate" in str(caught.value)
    assert "--batch-size" in str(caught.value)


@pytest.mark.cuda
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_out_of_memory_on_a_gpu_is_a_one_line_error(corpus, tmp_path, monkeypatch):
    monkeypatch.setattr(PretrainingLoss, "__call__", allocate_too_much)
    with raises_error(BertlabError, "training-out-of-memory"):
        list(pretrain(settings(corpus, tmp_path / "run", device="cuda")))


def test_a_damaged_line_of_the_log_loses_no_other_line(corpus, tmp_path):
    config = settings(corpus, tmp_path / "run")
    list(itertools.islice(pretrain(config), 7))
    log = config.out / "log.jsonl"
    lines = log.read_text().splitlines()
    log.write_bytes(b"\n".join([b'{"step": \xff', b"[3]", *map(str.encode, lines), b'{"step"']))
    list(pretrain(config))
    assert [row["step"] for row in rows_of(config.out) if "loss" in row] == list(range(1, 13))


def test_a_damaged_state_is_refused(corpus, tmp_path):
    config = settings(corpus, tmp_path / "run")
    list(itertools.islice(pretrain(config), 4))
    path = config.out / "state.safetensors"
    tensors, values = run_state.read_state(path)
    for damaged in ({**tensors, "rng": torch.zeros(3)}, {k: v for k, v in tensors.items() if k != "rng"}):
        run_state.write_state(path, damaged, values)
        with raises_error(CheckpointError, "run-state-damaged", path=path):
            list(pretrain(config))
    path.write_bytes(b"\0" * 50)
    with raises_error(CheckpointError, "run-state-damaged", path=path):
        list(pretrain(config))


def test_a_state_is_flushed_to_disk_before_it_is_renamed(tmp_path, monkeypatch):
    events = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: events.append("fsync"))
    rename = os.replace
    monkeypatch.setattr(os, "replace", lambda *paths: (events.append("rename"), rename(*paths)))
    run_state.write_state(tmp_path / "state.safetensors", {"rng": torch.get_rng_state()}, {})
    assert events[:2] == ["fsync", "rename"]
    assert [path.name for path in tmp_path.iterdir()] == ["state.safetensors"]


@pytest.mark.parametrize(
    "flags",
    ["--mask-share nan", "--random-share nan", "--chosen-share nan", "--batch-size 100000000",
     "--seed 18446744073709551616", "--init inf", "--optim.lr nan", "--optim.name adam"],
)  # fmt: skip
def test_settings_out_of_range_print_one_line(corpus, tmp_path, capsys, flags):
    assert main(["pretrain", str(corpus), "--out", str(tmp_path / "run"), *flags.split()]) == 2
    line = capsys.readouterr().err
    assert flags.split()[0] in line
    assert line.count("\n") == 1
    assert not (tmp_path / "run").exists()


def test_damaged_settings_and_another_corpus_are_refused(corpus, tmp_path):
    config = settings(corpus, tmp_path / "run", steps=2)
    list(pretrain(config))
    path = tmp_path / "run" / "run.json"
    whole = path.read_text()
    path.write_text(whole[:50])
    with raises_error(BertlabError, "run-settings-damaged", path=path):
        list(pretrain(config))
    path.write_text(json.dumps(json.loads(whole) | {"data_fingerprint": {"documents": 7}}))
    with raises_error(BertlabError, "run-data-differs") as caught:
        list(pretrain(config))
    assert caught.value.params["differences"][0].params["before"] == "7"
    other = tmp_path / "other"
    shutil.copytree(corpus, other)
    facts = json.loads((other / "corpus.json").read_text())
    (other / "corpus.json").write_text(json.dumps(facts | {"weights": [3.0]}))
    path.write_text(json.dumps(json.loads(whole) | {"corpus": str(other)}))
    with raises_error(BertlabError, "run-data-differs") as caught:
        list(pretrain(replace(config, corpus=other)))
    assert "weights was [1.0], now [3.0]" in str(caught.value)


def test_held_out_text_of_another_vocabulary_is_refused(corpus, tmp_path):
    text = tmp_path / "held-out.txt"
    text.write_text("\n\n".join(stories(9)))
    prepare(PrepareConfig((str(text),), tmp_path / "other", vocab_size=120, workers=1))
    with pytest.raises(DataError, match=r"vocabulary of .*: prepare it again with --tokenizer .*tokenizer$"):
        list(pretrain(settings(corpus, tmp_path / "run", validation=tmp_path / "other")))
    assert not (tmp_path / "run").exists()


def test_a_damaged_corpus_is_refused(corpus, tmp_path):
    shutil.copytree(corpus, tmp_path / "cut")
    rows = next((tmp_path / "cut" / "rows").glob("*.arrow"))
    for content in (b"", rows.read_bytes()[:200]):
        rows.write_bytes(content)
        with raises_error(DataError, "corpus-checksum-differs"):
            Corpus.open(tmp_path / "cut")
    (tmp_path / "corpus.json").write_text('{"documents": 3')
    with raises_error(DataError, "corpus-facts-damaged"):
        Corpus.open(tmp_path)


def test_record_needs_a_checkpoint_that_bertlab_saved(tiny_checkpoint, tmp_path, capsys):
    shutil.copytree(tiny_checkpoint, tmp_path / "theirs")
    (tmp_path / "theirs" / "bertlab.json").unlink()
    words = ["evaluate", "pretraining", "--checkpoint", str(tmp_path / "theirs"), "--data", "nowhere", "--record"]
    assert main(words) == 2
    assert "has no bertlab.json for --record" in capsys.readouterr().err


def test_another_vocabulary_is_refused(corpus, tmp_path):
    list(pretrain(settings(corpus, tmp_path / "run", steps=1)))
    source = json.loads((corpus / "corpus.json").read_text())["settings"]["sources"]
    prepare(PrepareConfig(tuple(source), tmp_path / "other", vocab_size=120, workers=1))
    more = settings(tmp_path / "other", tmp_path / "more", from_=str(tmp_path / "run" / "checkpoint"), preset="mini")
    with raises_error(BertlabError, "from-vocabulary-differs"):
        list(pretrain(more))


def test_flags_for_new_weights_are_refused_with_from(corpus, tmp_path, tiny_checkpoint, capsys):
    words = ["pretrain", str(corpus), "--from", str(tiny_checkpoint), "--out", str(tmp_path / "run")]
    new_weights = "--preset tiny --layers 1 --hidden 8 --attention-heads 2 --init 0.1 --start paper"
    for flags, refused in (
        (new_weights, "--preset, --layers, --hidden, --attention-heads, --init, --start"),
        ("--recipe google --start neighbours", "--start"),
        ("--recipe fast --preset base", "--preset"),
    ):
        assert main([*words, *flags.split()]) == 2
        line = f"bertlab: --from continues a model with its own size and weights: leave out {refused}\n"
        assert capsys.readouterr().err == line
    for recipe in ("plain", "google", "fast"):
        assert main([*words, "--recipe", recipe]) == 2
        assert "was not tokenised with the vocabulary" in capsys.readouterr().err


def test_finetuning_squad_learns_stops_and_resumes(corpus, tmp_path):
    list(pretrain(settings(corpus, tmp_path / "base", steps=30)))
    config = FinetuneConfig(
        task="squad", from_=str(tmp_path / "base" / "checkpoint"), out=tmp_path / "squad",
        data=str(squad_file(tmp_path / "train.json", 300)), validation=str(squad_file(tmp_path / "dev.json", 60)),
        epochs=4, batch_size=16, max_tokens=64, dropout=0.0, optim=OptimConfig(lr=3e-3), precision="float32",
        device="cpu", threads=1, save_minutes=0.0,
    )  # fmt: skip
    whole = [report.loss for report in finetune(replace(config, out=tmp_path / "whole", save_minutes=5.0))]
    list(itertools.islice(finetune(config), 20))
    rest = [report.loss for report in finetune(config)]
    assert len(rest) <= len(whole) - 19
    assert rest == whole[-len(rest) :]
    loaded = checkpoint.load(tmp_path / "squad" / "checkpoint")
    assert loaded.heads == ("span",)
    assert loaded.record["validation"]["f1"] > 60
    before, notices = (tmp_path / "squad" / "log.jsonl").read_bytes(), []
    (again,) = run_with_evaluations(config, notify=notices.append)
    assert (again.is_final, again.metrics) == (True, loaded.record["validation"])
    assert "`bertlab evaluate squad --record`" in notices[0]
    assert (tmp_path / "squad" / "log.jsonl").read_bytes() == before


def test_evaluate_measures_a_checkpoint_and_records_it(corpus, tmp_path, capsys):
    list(pretrain(settings(corpus, tmp_path / "run", steps=3)))
    saved = tmp_path / "run" / "checkpoint"
    config = EvaluateConfig(task="pretraining", data=str(corpus), checkpoint=str(saved), limit=128, max_tokens=32)
    metrics = evaluate(config)
    assert metrics["rows"] == 128
    assert 0 <= metrics["masked_accuracy"] <= 1
    assert metrics == evaluate(config)
    run_evaluate(replace(config, record=True, json=True))
    assert json.loads(capsys.readouterr().out) == metrics
    assert checkpoint.load(saved).record["validation"] == metrics
    assert f"{metrics['bits_per_character']:.3f}" in (saved / "README.md").read_text()


@pytest.mark.parametrize(
    ("wrong", "line"),
    [
        ({}, "either --checkpoint"),
        ({"checkpoint": "x", "predictions": Path("y")}, "either --checkpoint"),
        ({"checkpoint": "x"}, "give --data"),
        ({"checkpoint": "x", "data": "y", "limit": 0}, "must be at least 1"),
    ],
)
def test_evaluate_names_missing_or_wrong_flags(wrong, line):
    with pytest.raises(BertlabError, match=line):
        evaluate(EvaluateConfig(task="pretraining", **wrong))


def test_the_benchmark_of_lengths_has_a_cell_for_each_length_and_batch_size(corpus, capsys):
    words = "bench lengths --preset tiny --max-tokens 16 24 --batch-sizes 2 3 --tokens 40 --rounds 1 --device cpu"
    assert main([*words.split(), "--corpus", str(corpus), "--json"]) == 0
    cells = json.loads(capsys.readouterr().out)["cells"]
    assert {T: list(row) for T, row in cells.items()} == {"16": ["2", "3"], "24": ["2", "3"]}
    assert all(speed > 0 for row in cells.values() for speed in row.values())


def test_the_bar_is_full_at_the_end_and_only_there(corpus, tmp_path, capsys):
    def interrupted_run():
        yield from itertools.islice(pretrain(settings(corpus, tmp_path / "run", steps=4)), 2)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        show_progress(interrupted_run(), "mlm_accuracy", "masked")
    assert "100.0%" not in capsys.readouterr().err
    show_progress(pretrain(settings(corpus, tmp_path / "other", steps=4)), "mlm_accuracy", "masked")
    assert "100.0%" in capsys.readouterr().err.splitlines()[-1]


def test_the_bar_of_a_resumed_run_moves(capsys):
    def late():
        for step, progress in enumerate([0.9, 0.92, 0.94]):
            time.sleep(0.15)  # longer than the bar waits before it is drawn again
            yield trainer.StepReport(step, progress, 1.0, {"accuracy": 0.5}, 1e-3, 1.0, 10, 1.0, 0.1)

    show_progress(late(), "accuracy", "right")
    shown = capsys.readouterr().err
    assert "92.0%" in shown
    assert "94.0%" in shown


def test_keys_of_a_run_that_are_no_settings_are_no_differing_settings():
    runs = [
        {"seed": 1, "initial_precision": "float32", "data_fingerprint": {"rows": 1}},
        {"seed": 2, "initial_precision": "bfloat16", "data_fingerprint": {"rows": 2}},
    ]
    runs = [
        run | {"lengthened_after": [seed], "exported": state}
        for run, seed, state in zip(runs, (10, 20), ("finished", "stopped"), strict=True)
    ]
    assert history.find_differing_settings(runs) == {"seed": [1, 2]}


def test_differing_settings_are_named_by_the_flags_that_a_user_types(tmp_path):
    config = FinetuneConfig(task="custom", kind="span", from_="tiny", out=tmp_path, precision="float32")
    run_directory.claim_run(config, torch.device("cpu"), {})
    changed = replace(config, task="squad", kind="tagging", from_="mini", optim=replace(config.optim, ema=0.5, lr=1.0))
    with raises_error(BertlabError, "run-settings-differ-unsaved") as caught:
        run_directory.claim_run(changed, torch.device("cpu"), {})
    flags = [difference.params["flag"] for difference in caught.value.params["differences"]]
    assert flags == ["--ema", "--from", "--optim.lr", "--type", "task"]
