"""What `transformers` makes of the same rows, and the benchmarks that hold us beside it; no time is judged."""

import importlib
import json
import statistics
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
import torch
import torch.nn.functional as F
from support.stories import question_row
from support.task_rows import rows_of
from torch.utils.data import DataLoader

from bertlab.bench import peer
from bertlab.bench.ceiling import arithmetic
from bertlab.bench.turns import compared
from bertlab.checkpoints import checkpoint
from bertlab.cli import main
from bertlab.config.tasks import task
from bertlab.tasks.material import with_head
from bertlab.tasks.span.windows import span_features
from bertlab.text.batches import shuffled_epoch
from bertlab.training.finetune import FinetuneConfig, finetune
from bertlab.training.optimizers import OptimConfig


@pytest.fixture(scope="module")
def rows() -> list[dict]:
    found = [question_row(number) for number in range(40)]
    for row in found[::5]:  # longer than a window
        row["context"] += " The harbour was quiet and the boats stayed in." * 6
    for row in found[1::7]:
        row["answers"] = {"text": [], "answer_start": []}
    return found


def test_run_qa_s_features_are_ours(rows, tiny_checkpoint, tiny_tokenizer):
    max_tokens, room = 64, None
    ours = span_features(tiny_tokenizer, rows, max_tokens, 24, unanswerable=True)
    windows = list(ours.windows)
    theirs = peer.tokenizer(tiny_checkpoint)
    compared_windows = 0
    for number, row in enumerate(rows):
        own = range(*ours.windows.of_question(number).indices(len(windows)))
        room = max_tokens - 3 - windows[own[0]].question_tokens
        # they count what neighbours share, we how far apart they begin
        found = peer.span_rows([row], theirs, max_tokens, room - 24)
        assert len(found) == len(own)
        for given, w in zip(found, own, strict=True):
            assert given["input_ids"] == windows[w].ids.tolist()
            assert given["token_type_ids"] == windows[w].token_type_ids.tolist()
            assert (given["start_positions"], given["end_positions"]) == (ours.start_W[w], ours.end_W[w])
            compared_windows += 1
    assert compared_windows == len(windows) > len(rows)
    assert 0 < np.count_nonzero(ours.start_W) < len(windows)


@pytest.mark.parametrize("name", ["sst2", "stsb", "squad"])
def test_the_losses_are_those_of_the_trainer(name, tmp_path, tiny_checkpoint):
    """The same first weights, batches and rate, and no dropout. Of questions only those of one length: the Trainer lets
    padding be an answer."""
    spec, loaded = task(name), checkpoint.load(tiny_checkpoint)
    torch.manual_seed(0)
    model = with_head(loaded.model, spec.kind, 0.0, spec.labels)
    born = checkpoint.save(tmp_path / "born", model, loaded.tokenizer, {}, dtype=torch.float32)
    tokenizer, rows = peer.tokenizer(born), rows_of(spec, 48)
    if spec.kind == "span":
        lengths = [len(tokenizer(row["question"], row["context"]).input_ids) for row in rows]
        rows = [row for row, length in zip(rows, lengths, strict=True) if length == statistics.mode(lengths)]
        data = peer.span_rows(rows, tokenizer, 48, 8)
    else:
        data = peer.text_rows(rows, tokenizer, spec.text, 48)
    assert len(rows) > 8
    train = tmp_path / "train.parquet"
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), train)
    settings = FinetuneConfig(
        task=name, from_=str(born), data=str(train), hold_out=0.0, out=tmp_path / "run", epochs=3, batch_size=4,
        max_tokens=48, dropout=0.0, precision="float32", device="cpu",
        optim=OptimConfig(lr=1e-3, warmup=0.0, decay=0.0, beta2=0.999, eps=1e-8),
    )  # fmt: skip
    ours = [report.loss for report in finetune(settings)]
    trainer = peer.trainer(
        born, spec.kind, data, tokenizer, tmp_path / "peer", dropout=0.0, learning_rate=1e-3, num_train_epochs=1,
        lr_scheduler_type="constant", weight_decay=0.01, adam_epsilon=1e-8, max_grad_norm=1.0, use_cpu=True,
    )  # fmt: skip
    order = [rows.tolist() for epoch in range(3) for rows in shuffled_epoch(len(data), 4, 0, epoch)]
    trainer.get_train_dataloader = lambda: DataLoader(data, batch_sampler=order, collate_fn=trainer.data_collator)
    theirs, step = [], trainer.training_step
    trainer.training_step = lambda *given: theirs.append(step(*given)) or theirs[-1]
    trainer.train()
    assert ours == pytest.approx([float(loss) for loss in theirs], rel=1e-3)
    assert len(ours) == len(order)
    assert ours[-1] < ours[0]


@pytest.mark.cuda
@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two CUDA devices")
def test_the_peer_takes_one_gpu_where_there_are_more(tmp_path, tiny_checkpoint):
    tokenizer = peer.tokenizer(tiny_checkpoint)
    data = peer.text_rows(rows_of(task("sst2")), tokenizer, ("sentence",), 48)
    trainer = peer.trainer(tiny_checkpoint, "classify", data, tokenizer, tmp_path, per_device_train_batch_size=4)
    assert trainer.args.train_batch_size == 4


def test_ratios_are_taken_turn_by_turn():
    found = compared([(10.0, 10.0, 5.0), (40.0, 10.0, 10.0), (20.0, 10.0, 20.0)], ("a", "b"), "rows_per_second")
    assert found == {
        "bertlab_rows_per_second": 20, "a_rows_per_second": 10, "b_rows_per_second": 10,
        "ratio": 2.0, "ratio_least": 1.0, "ratio_most": 4.0,
        "ratio_to_b": 2.0, "ratio_to_b_least": 1.0, "ratio_to_b_most": 4.0,
    }  # fmt: skip


@pytest.fixture(scope="module")
def data(rows, tmp_path_factory) -> Path:
    """Directories of tasks: squad, glue/rte and glue/sst2, each with train and validation rows."""
    place = tmp_path_factory.mktemp("tasks")
    answered = [row for row in rows if row["answers"]["text"] and len(row["context"]) < 120]
    texts = [row["context"] for row in answered]
    entailed = [
        {"sentence1": text, "sentence2": row["question"], "label": i % 2, "idx": i}
        for i, (text, row) in enumerate(zip(texts, answered, strict=True))
    ]
    praised = [{"sentence": text, "label": i % 2, "idx": i} for i, text in enumerate(texts)]
    for name, own in (("squad", answered), ("glue/rte", entailed), ("glue/sst2", praised)):
        (place / name).mkdir(parents=True)
        for split in ("train", "validation"):
            pyarrow.parquet.write_table(pyarrow.Table.from_pylist(own), place / name / f"{split}.parquet")
    return place


def test_the_fused_attention_of_a_processor_is_counted():
    query_BNTD = torch.randn(2, 3, 5, 4, requires_grad=True)
    one_product = 2 * 2 * 3 * 5 * 5 * 4  # [T, D] x [D, T], for each of B x N heads
    with torch.no_grad():
        forward = arithmetic(lambda: F.scaled_dot_product_attention(query_BNTD, query_BNTD, query_BNTD))
    assert forward == 2 * one_product
    both = arithmetic(lambda: F.scaled_dot_product_attention(query_BNTD, query_BNTD, query_BNTD).sum().backward())
    assert both == (2 + 5) * one_product  # the way back makes the scores again, and four products more


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_linear_layers_arithmetic_is_counted_in_either_type(dtype):
    layer, inputs = torch.nn.Linear(8, 3).to(dtype), torch.ones(2, 5, 8, dtype=dtype)
    assert arithmetic(lambda: layer(inputs)) == 2 * 2 * 5 * 8 * 3


def test_bench_pretrain_says_how_much_of_the_machine_is_used(capsys):
    words = ["bench", "pretrain", "--preset", "tiny", "--vocab-size", "64", "--batch-size", "2", "--max-tokens", "32"]
    words += ["--steps", "1", "--rounds", "1", "--device", "cpu", "--precision", "float32", "--json"]
    assert main(words) == 0
    found = json.loads(capsys.readouterr().out)
    matrices = 2 * (4 * 128 * 128 + 2 * 128 * 512) - 2 * 128 * 512  # the last feed-forward sees masked words alone
    assert found["mflop_per_token"] * 1e6 > 6 * matrices
    assert found["share_of_ceiling"] > 0
    assert "pairs_drawn_tokens_per_second" not in found, "random pairs are not drawn from a corpus"


def test_bench_features_runs_both(data, tiny_checkpoint, capsys):
    words = ["bench", "features", "--data", str(data / "squad/train.parquet"), "--checkpoint", str(tiny_checkpoint)]
    assert main([*words, "--max-tokens", "64", "--stride", "24", "--rows", "20", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["questions"] == 20
    assert found["ratio_least"] <= found["ratio"] <= found["ratio_most"]


@pytest.mark.parametrize("task", ["sst2", "squad"])
def test_bench_finetune_runs_all_three(task, data, tiny_checkpoint, capsys):
    source = data / {"sst2": "glue/sst2", "squad": "squad"}[task]
    words = ["bench", "finetune", task, "--data", str(source), "--checkpoint", str(tiny_checkpoint), "--rows", "24"]
    words += ["--batch-size", "4", "--steps", "2", "--rounds", "2", "--device", "cpu", "--precision", "float32"]
    words += ["--clock", "processor", "--threads", "1"] if task == "sst2" else []
    assert main([*words, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["task"] == f"{task}, 24 rows"
    for name in ("ratio", "ratio_to_transformers_grouped"):
        assert 0 < found[f"{name}_least"] <= found[name] <= found[f"{name}_most"]


def test_the_comparison_is_resumable_and_puts_both_side_by_side(data, tiny_checkpoint, tmp_path, monkeypatch, capsys):
    monkeypatch.syspath_prepend(Path(__file__).parent.parent / "scripts")
    compare = importlib.import_module("compare_finetune")
    small = {name: replace(recipe, epochs=1.0, max_tokens=64) for name, recipe in compare.RECIPES.items()}
    monkeypatch.setattr(compare, "RECIPES", small)
    asked = compare.Compare(
        data=data, out=tmp_path, tasks=("rte", "squad"), seeds=(0,), encoder=str(tiny_checkpoint), quick=True
    )
    compare.main(asked)
    first = capsys.readouterr()
    results = json.loads((tmp_path / "results.json").read_text())
    assert [(row["task"], row["side"]) for row in results] == [
        (task, side) for task in ("rte", "squad") for side in ("bertlab", "transformers")
    ]
    assert {row["measure"] for row in results} == {"accuracy", "f1"}
    assert all(0 <= row["value"] <= 100 for row in results)
    by_name = {line.split()[0]: line for line in first.out.splitlines()}
    own, theirs = (row["value"] for row in results if row["task"] == "rte")
    assert f"{own:.2f} ± 0.00" in by_name["rte"]
    assert f"{own - theirs:+.2f}" in by_name["rte"]
    compare.main(asked)
    again = capsys.readouterr()
    assert again.out == first.out
    assert "transformers ..." not in again.err
