"""Several processes or micro-batches give the losses of one process; a lost process does not make the others hang."""

import itertools
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors import safe_open
from support import stories
from support.forked_run import ForkedRun
from support.task_rows import features_of, read_examples, rows_of

from bertlab.checkpoints import checkpoint
from bertlab.cli import main
from bertlab.config.presets import get_preset
from bertlab.config.tasks import get_task
from bertlab.nn.fast.model import FastBert
from bertlab.tasks.masked_lm import PretrainingLoss
from bertlab.tasks.registry import TASK_TYPES
from bertlab.tasks.span.task import SpanLoss
from bertlab.tasks.training_data import make_finetuning_model
from bertlab.text.batch import Batch, SpanBatch, collate
from bertlab.text.pretraining.corpus import Corpus
from bertlab.text.pretraining.masking import MaskRule
from bertlab.text.pretraining.sampler import PairSampler
from bertlab.text.readers.rows import Rows
from bertlab.text.tokenizers.wordpiece import Tokenizer
from bertlab.training import distributed
from bertlab.training.gradient import GlobalGradient
from bertlab.training.pretraining.config import PretrainConfig
from bertlab.training.pretraining.prepare import PrepareConfig
from bertlab.training.pretraining.prepare import run as prepare
from bertlab.training.pretraining.pretrain import pretrain, resolve_loader_workers

ROOT = Path(__file__).resolve().parents[1]
STEPS = 30


@pytest.fixture(scope="module")
def alone(corpus, tmp_path_factory) -> list[dict]:
    """The log rows of a run with one process and whole batches of nine rows."""
    out = tmp_path_factory.mktemp("alone") / "run"
    list(pretrain(settings(corpus, out)))
    return rows(out)


def settings(corpus: Path, out: Path, **changes) -> PretrainConfig:
    return stories.settings(corpus, out, **({"steps": STEPS, "batch_size": 9} | changes))


def rows(out: Path) -> list[dict]:
    logged = [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]
    return [row for row in logged if "loss" in row]


def assert_same_losses(ours: list[dict], theirs: list[dict], tolerance: float = 2e-4) -> None:
    assert [row["step"] for row in ours] == [row["step"] for row in theirs]
    for name in ("loss", "mlm_loss", "nsp_loss", "mlm_accuracy", "nsp_accuracy", "gradient_norm", "tokens"):
        assert [row[name] for row in ours] == pytest.approx([row[name] for row in theirs], rel=tolerance), name


def flags(corpus: Path, out: Path, more: str = "", device: str = "cpu") -> list[str]:
    """The arguments of a run with the settings of `settings` and the flags `more`."""
    return (
        f"pretrain {corpus} --out {out} --preset tiny --layers 1 --hidden 32 "
        f"--attention-heads 2 --steps {STEPS} --batch-size 9 --max-tokens 32 --device {device} "
        f"--precision float32 --threads 1 --optim.lr 1e-3 --no-snapshots --save-minutes 0 {more}"
    ).split()


def torchrun(corpus: Path, out: Path, more: str = "", device: str = "cpu") -> subprocess.Popen:
    """Start a run with two processes as a user would."""
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", "-m", "bertlab"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    return subprocess.Popen(
        [*launch, *flags(corpus, out, more, device)], env=environment,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def fork(corpus: Path, out: Path, program: str = "bertlab", more: str = "") -> ForkedRun:
    """Start a run like `torchrun`, in less time: `bertlab`, or the Python file `program` with the same arguments."""
    return ForkedRun(program, flags(corpus, out, more), out.with_name(f"{out.name}-output"))


def wait_for_success(process: subprocess.Popen | ForkedRun) -> tuple[str, str]:
    """Wait until a process ends, which must succeed; return its stdout and stderr."""
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err[-4000:]
    return out, err


# -- micro-batches -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("accumulate", [2, 4, 50])
def test_gradient_accumulation_gives_the_losses_of_whole_batches(corpus, alone, tmp_path, accumulate):
    list(itertools.islice(pretrain(settings(corpus, tmp_path / "run", accumulate=accumulate)), 12))
    assert_same_losses(rows(tmp_path / "run"), alone[:12])


def gradients(corpus: Path, accumulate: int, dtype: torch.dtype) -> dict[str, torch.Tensor]:
    tokenizer = Tokenizer.load(corpus / "tokenizer")
    torch.manual_seed(0)
    config = get_preset("tiny").replace(vocab_size=tokenizer.vocab_size, hidden_dropout=0.0, attention_dropout=0.0)
    model = FastBert(config, heads=("mlm", "nsp")).to(dtype)
    batch = next(PairSampler(Corpus.open(corpus), tokenizer, 24, 32, seed=0))
    GlobalGradient(model, PretrainingLoss(MaskRule.for_tokenizer(tokenizer)), accumulate)(batch)
    return {name: p.grad.float() for name, p in model.named_parameters()}


def test_gradients_in_bfloat16_accumulate_in_float32(corpus):
    """With 24 micro-batches the error is hardly larger than with one; summed in bfloat16 it would be much larger."""
    exact = gradients(corpus, 1, torch.float32)
    whole, accumulated = gradients(corpus, 1, torch.bfloat16), gradients(corpus, 24, torch.bfloat16)

    def error(grads: dict[str, torch.Tensor]) -> float:
        return max(float((grads[name] - exact[name]).norm() / exact[name].norm()) for name in exact)

    assert error(accumulated) < 1.5 * error(whole)


def test_a_loss_without_counts_is_a_mean_over_rows(tiny_model):
    torch.manual_seed(0)
    ids_BT = torch.randint(5, 100, (7, 12))
    inputs = Batch(ids_BT, torch.zeros_like(ids_BT), torch.ones_like(ids_BT, dtype=torch.bool))
    batch = SpanBatch(inputs, torch.randint(0, 12, (7,)), torch.randint(0, 12, (7,)))
    results = {}
    for accumulate in (1, 3):
        tiny_model.zero_grad()
        loss = GlobalGradient(tiny_model, SpanLoss("span"), accumulate)(batch)
        norm = sum(float(p.grad.norm()) for p in tiny_model.parameters() if p.grad is not None)
        results[accumulate] = [loss.value.item(), loss.metrics["exact"].item(), loss.tokens.item(), norm]
    tiny_model.zero_grad()
    assert results[3] == pytest.approx(results[1], rel=1e-4)


@pytest.mark.parametrize("kind", ["pairs", "spans", "mnli", "swag", "stsb", "wnut17"])
def test_empty_batch_has_zero_weight(kind, corpus, tiny_model, tiny_tokenizer):
    model = tiny_model
    model.zero_grad()
    if kind == "pairs":
        opened = replace(Corpus.open(corpus), block_size=16)
        batch = next(PairSampler(opened, tiny_tokenizer, 9, 32, seed=3, shard=(20, 21)))
        loss = PretrainingLoss(MaskRule.for_tokenizer(tiny_tokenizer))
    elif kind == "spans":
        no_positions = torch.empty(0, dtype=torch.int64)
        batch, loss = SpanBatch(collate([]), no_positions, no_positions), SpanLoss("span")
    else:
        rows = rows_of(get_task(kind))
        examples = read_examples(Rows("mine.csv", tuple(rows[0]), rows), get_task(kind))
        batch = features_of(tiny_tokenizer, examples, 48).make_batch(np.array([], int))
        loss = TASK_TYPES[get_task(kind).kind].loss
        model = make_finetuning_model(tiny_model, TASK_TYPES[get_task(kind).kind].head, 0.0, get_task(kind).labels)
    assert not len(batch)
    result = GlobalGradient(model, loss, accumulate=2)(batch)
    assert [result.value, result.tokens, *result.metrics.values()] == [0] * (2 + len(result.metrics))
    assert all(p.grad is None or not p.grad.any() for p in model.parameters())
    tiny_model.zero_grad()


def test_data_shards_are_rows_of_the_global_batch(corpus):
    tokenizer, opened = Tokenizer.load(corpus / "tokenizer"), replace(Corpus.open(corpus), block_size=16)
    whole = PairSampler(opened, tokenizer, 9, 32, seed=3)
    shares = [PairSampler(opened, tokenizer, 9, 32, seed=3, shard=(r, 4)) for r in range(4)]
    for _ in range(80):
        batch, parts = next(whole), [next(share) for share in shares]
        assert all(share.position == whole.position for share in shares)
        for r, part in enumerate(parts):
            assert torch.equal(part.key_B, batch.key_B[r::4])
            assert torch.equal(part.inputs.input_ids_BT, batch.inputs.input_ids_BT[r::4])


@pytest.mark.parametrize(
    ("count", "cores", "workers"), [(1, 64, 2), (8, 256, 16), (8, 96, 12), (8, 8, 2), (16, 256, 32)]
)
def test_more_processes_have_more_loader_workers(monkeypatch, count, cores, workers):
    """Each process draws whole global batches, so more processes need more workers each, limited by the CPU cores."""
    monkeypatch.setattr(distributed.os, "sched_getaffinity", lambda pid: set(range(cores)), raising=False)
    monkeypatch.setattr(distributed, "world_size", lambda: count)
    monkeypatch.setenv("LOCAL_WORLD_SIZE", str(min(8, count)))
    config = settings(Path("corpus"), Path("run"))
    assert resolve_loader_workers(config, torch.device("cuda")) == workers
    assert resolve_loader_workers(config, torch.device("cpu")) == 0
    assert resolve_loader_workers(replace(config, loader_workers=5), torch.device("cuda")) == 5


# -- processes ---------------------------------------------------------------------------------------------------


SLOW_BETWEEN_STEPS = """
import os, sys, time
from bertlab.cli import dispatch
from bertlab.training.pretraining.artifacts import RunArtifacts

write_row = RunArtifacts.write_row

def write_row_slowly(artifacts, row):
    write_row(artifacts, row)
    if os.environ["RANK"] == "SLOW_RANK":
        time.sleep(0.3)

RunArtifacts.write_row = write_row_slowly
sys.exit(dispatch.main(sys.argv[1:]))
"""


@pytest.mark.release
@pytest.mark.parametrize("slow_rank", [0, 1])
def test_ctrl_c_between_two_steps_of_a_process_stops_both_after_the_same_step(corpus, tmp_path, slow_rank):
    """The signal arrives while one process is between two steps, and the other waits for it in the next one."""
    out, program = tmp_path / "run", tmp_path / "slow.py"
    program.write_text(SLOW_BETWEEN_STEPS.replace("SLOW_RANK", str(slow_rank)))
    process = fork(corpus, out, str(program), "--save-minutes 5 --no-sample-predictions --steps 100000")
    wait_until(process, lambda: (out / "log.jsonl").is_file() and len(rows(out)) >= 3)
    process.send_signal(signal.SIGINT)
    stderr = process.communicate(timeout=120)[1]
    step = rows(out)[-1]["step"]
    assert stderr.count(f"stopped after step {step:,}: run the same command to continue\n") == 1, stderr
    assert stderr.count("bertlab: ") == 1, stderr
    with safe_open(out / "state.safetensors", "pt") as state:
        assert json.loads(state.metadata()["trainer"])["progress"]["step"] == step


def test_two_processes_resume_a_run_of_one_process_with_its_losses(corpus, alone, tmp_path):
    """Of the nine rows of a batch, one process has 5 and the other 4, each in two micro-batches."""
    out = tmp_path / "run"
    list(itertools.islice(pretrain(settings(corpus, out)), 6))
    stdout, stderr = wait_for_success(torchrun(corpus, out, "--accumulate 2"))
    assert_same_losses(rows(out), alone)
    # only one of the two processes prints
    assert stdout.count(f"{STEPS} steps") == 1
    assert stderr.count("100.0%|") == 1
    assert "Warning" not in stderr
    assert json.loads((out / "checkpoint" / "bertlab.json").read_text())["hardware"].startswith("2 x 1 thread")


def test_two_processes_train_a_generator_and_a_discriminator_like_one(corpus, tmp_path):
    runs = tmp_path / "one", tmp_path / "two"
    assert main(flags(corpus, runs[0], "--family electra --accumulate 3")) == 0
    wait_for_success(fork(corpus, runs[1], more="--family electra"))
    ours, theirs = map(rows, runs)
    for name in ("loss", "mlm_loss", "mlm_accuracy", "replaced_loss", "replaced_recall", "gradient_norm", "tokens"):
        assert [row[name] for row in ours] == pytest.approx([row[name] for row in theirs], rel=1e-3), name
    assert (runs[1] / "generator" / "config.json").is_file()


@pytest.mark.cuda
@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two CUDA devices")
def test_two_gpus_resume_a_run_of_one_gpu_with_the_losses_of_a_cpu(corpus, alone, tmp_path):
    out = tmp_path / "run"
    list(itertools.islice(pretrain(settings(corpus, out, device="cuda")), 6))
    wait_for_success(torchrun(corpus, out, "--accumulate 2", device="cuda"))
    assert_same_losses(rows(out), alone, tolerance=1e-3)


@pytest.mark.release
def test_a_process_without_rows_of_a_batch_takes_part(tmp_path):
    """A corpus of one pair, a batch of nine, two processes."""
    text = tmp_path / "one.jsonl"
    text.write_text(json.dumps({"text": "The baker sold a lemon.\nThe pilot found a door."}) + "\n")
    prepare(PrepareConfig((str(text),), tmp_path / "corpus", vocab_size=60, workers=1))
    config = settings(tmp_path / "corpus", tmp_path / "one", steps=STEPS)
    list(pretrain(config))
    wait_for_success(fork(tmp_path / "corpus", tmp_path / "two"))
    assert_same_losses(rows(tmp_path / "two"), rows(tmp_path / "one"))


@pytest.mark.release
def test_a_lost_process_ends_the_run_and_one_process_resumes_it(corpus, alone, tmp_path):
    out = tmp_path / "run"
    process = torchrun(corpus, out)
    wait_until(process, lambda: (out / "log.jsonl").is_file())
    victim = rank_pid(process.pid, 1)
    wait_until(process, lambda: (out / "log.jsonl").read_text().count('"gradient_norm"') >= 3)
    os.kill(victim, signal.SIGKILL)
    _, err = process.communicate(timeout=120)
    assert process.returncode != 0
    assert "the state that was saved last is not lost" in err
    assert 3 <= len(rows(out)) < STEPS
    list(pretrain(settings(corpus, out)))
    assert_same_losses(rows(out), alone)


DIVERGING = """
import sys, time
from types import SimpleNamespace
from bertlab.cli import dispatch
from bertlab.training.divergence import Diverged, DivergenceDetector
from bertlab.checkpoints import checkpoint
from bertlab.cli import main

save, update = checkpoint.save, DivergenceDetector.update

def save_slowly(*arguments, **keywords):
    time.sleep(1)
    save(*arguments, **keywords)

def diverge_at_step_6(detector, loss, norm):
    detector.calls = getattr(detector, "calls", 0) + 1
    if detector.calls == 6:
        raise Diverged("loss-not-finite", value="nan")
    update(detector, loss, norm)

checkpoint.save, DivergenceDetector.update = save_slowly, diverge_at_step_6
dispatch.time = SimpleNamespace(sleep=lambda seconds: None)
sys.exit(dispatch.main(sys.argv[1:]))
"""


def test_the_last_good_state_is_saved_before_any_process_ends(corpus, tmp_path):
    """Here saving takes longer than the other process waits before it prints its error, as with a large model."""
    program = tmp_path / "diverging.py"
    program.write_text(DIVERGING)
    process = fork(corpus, tmp_path / "run", str(program))
    _, err = process.communicate(timeout=120)
    assert process.returncode != 0
    assert checkpoint.load(tmp_path / "run" / "last-good").record["steps"] == 4, err
    line = "the loss is nan at step 6; the state of step 4 is saved"
    assert f"bertlab: {line}: try a lower --optim.lr with another --out, and start with --from" in err
    assert f"process 1: {line}" in err or "process 1" not in err
    assert "nothing was saved" not in err


def wait_until(process: subprocess.Popen | ForkedRun, condition) -> None:
    """Wait until `condition()` is true while the process runs."""
    deadline = time.monotonic() + 90
    while not condition():
        assert process.poll() is None, process.communicate()[1][-4000:]
        assert time.monotonic() < deadline
        time.sleep(0.01)


def rank_pid(parent: int, rank: int) -> int:
    """The process id of this rank among the children of a process."""
    for path in Path("/proc").glob("[0-9]*"):
        try:
            environment = (path / "environ").read_bytes().split(b"\0")
            stat = (path / "stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if int(stat[1]) == parent and f"RANK={rank}".encode() in environment:
            return int(path.name)
    raise AssertionError(f"no process of rank {rank} under {parent}")


def test_starting_a_run_that_is_under_way_fails_in_all_processes(corpus, alone, tmp_path):
    first = pretrain(settings(corpus, tmp_path / "run"))
    reports = list(itertools.islice(first, 3))
    process = fork(corpus, tmp_path / "run")
    _, err = process.communicate(timeout=120)
    assert process.returncode != 0
    assert err.count(f"the run in {tmp_path / 'run'} is under way in another process") == 1
    assert len(reports) + len(list(first)) == STEPS
    assert_same_losses(rows(tmp_path / "run"), alone)
