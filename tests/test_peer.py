"""The benchmarks: `transformers` makes the same features and losses of the same rows. Times are not tested."""

import json
import statistics
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
import torch
from bertlab_app.registry import PAGES
from support.errors import raises_error
from support.stories import question_row
from support.task_rows import rows_of
from torch.utils.data import DataLoader

from benchmarks import app_pages, finetune_parity, results, transformers_peer
from benchmarks.harness import summarise_rounds
from benchmarks.pretrain_peers import make_full_rows
from benchmarks.training_loop import prepare_synthetic_corpus
from bertlab.checkpoints import checkpoint
from bertlab.cli import main
from bertlab.config.errors import DataError
from bertlab.config.tasks import get_task
from bertlab.tasks.registry import TASK_TYPES
from bertlab.tasks.span.squad import make_examples
from bertlab.tasks.span.windows import encode_questions
from bertlab.tasks.training_data import make_finetuning_model
from bertlab.text.batches import shuffle_epoch
from bertlab.text.pretraining.corpus import Corpus
from bertlab.training.finetune import FinetuneConfig, finetune
from bertlab.training.optimizers import OptimConfig


@pytest.fixture(scope="module")
def rows() -> list[dict]:
    questions = [question_row(number) for number in range(40)]
    for row in questions[::5]:  # longer than a window
        row["context"] += " The harbour was quiet and the boats stayed in." * 6
    for row in questions[1::7]:
        row["answers"] = {"text": [], "answer_start": []}
    return questions


def test_span_features_equal_those_of_run_qa(rows, tiny_checkpoint, tiny_tokenizer):
    max_tokens, capacity = 64, None
    ours = encode_questions(tiny_tokenizer, make_examples(rows), max_tokens, 24)
    windows = list(ours.windows)
    theirs = transformers_peer.load_tokenizer(tiny_checkpoint)
    compared_windows = 0
    for number, row in enumerate(rows):
        window_numbers = range(*ours.windows.find_question_windows(number).indices(len(windows)))
        capacity = max_tokens - 3 - windows[window_numbers[0]].num_question_tokens
        # `stride` is the overlap of two windows in run_qa, and the distance of their starts in bertlab
        their_windows = transformers_peer.encode_span_rows([row], theirs, max_tokens, capacity - 24)
        assert len(their_windows) == len(window_numbers)
        for their_window, w in zip(their_windows, window_numbers, strict=True):
            assert their_window["input_ids"] == windows[w].ids.tolist()
            assert their_window["token_type_ids"] == windows[w].token_type_ids.tolist()
            assert (their_window["start_positions"], their_window["end_positions"]) == tuple(
                side[w] for side in ours.start_and_end_W
            )
            compared_windows += 1
    assert compared_windows == len(windows) > len(rows)
    assert 0 < np.count_nonzero(ours.start_and_end_W[0]) < len(windows)


@pytest.mark.parametrize("name", ["sst2", "stsb", "squad"])
def test_the_losses_equal_those_of_the_transformers_trainer(name, tmp_path, tiny_checkpoint):
    """Both have the same initial weights, batches and learning rate, and no dropout.

    The questions all have one length, since the Trainer allows answers in the padding.
    """
    spec, loaded = get_task(name), checkpoint.load(tiny_checkpoint)
    torch.manual_seed(0)
    model = make_finetuning_model(loaded.model, TASK_TYPES[spec.kind].head, 0.0, spec.labels)
    initial = checkpoint.save(tmp_path / "born", model, loaded.tokenizer, {}, dtype=torch.float32)
    tokenizer, rows = transformers_peer.load_tokenizer(initial), rows_of(spec, 48)
    if spec.kind == "span":
        lengths = [len(tokenizer(row["question"], row["context"]).input_ids) for row in rows]
        rows = [row for row, length in zip(rows, lengths, strict=True) if length == statistics.mode(lengths)]
        data = transformers_peer.encode_span_rows(rows, tokenizer, 48, 8)
    else:
        data = transformers_peer.encode_text_rows(rows, tokenizer, spec.text, 48)
    assert len(rows) > 8
    train = tmp_path / "train.parquet"
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), train)
    settings = FinetuneConfig(
        task=name, from_=str(initial), data=str(train), hold_out=0.0, out=tmp_path / "run", epochs=3, batch_size=4,
        max_tokens=48, dropout=0.0, precision="float32", device="cpu", threads=1,
        optim=OptimConfig(lr=1e-3, warmup=0.0, decay=0.0, beta2=0.999, eps=1e-8),
    )  # fmt: skip
    ours = [report.loss for report in finetune(settings)]
    trainer = transformers_peer.make_trainer(
        initial, TASK_TYPES[spec.kind], data, tokenizer, tmp_path / "peer", dropout=0.0, learning_rate=1e-3,
        num_train_epochs=1, lr_scheduler_type="constant", weight_decay=0.01, adam_epsilon=1e-8, max_grad_norm=1.0,
        use_cpu=True,
    )  # fmt: skip
    order = [rows.tolist() for epoch in range(3) for rows in shuffle_epoch(len(data), 4, 0, epoch)]
    trainer.get_train_dataloader = lambda: DataLoader(data, batch_sampler=order, collate_fn=trainer.data_collator)
    theirs, step = [], trainer.training_step
    trainer.training_step = lambda *args: theirs.append(step(*args)) or theirs[-1]
    trainer.train()
    assert ours == pytest.approx([float(loss) for loss in theirs], rel=1e-3)
    assert len(ours) == len(order)
    assert ours[-1] < ours[0]


def test_the_peer_trains_float32_weights_whatever_the_file_stores(tmp_path, tiny_model, tiny_tokenizer):
    checkpoint.save(tmp_path / "half", tiny_model, tiny_tokenizer, {}, dtype=torch.float16)
    tokenizer = transformers_peer.load_tokenizer(tmp_path / "half")
    trainer = transformers_peer.make_trainer(tmp_path / "half", TASK_TYPES["classification"], [], tokenizer, tmp_path)
    assert {parameter.dtype for parameter in trainer.model.parameters()} == {torch.float32}


@pytest.mark.cuda
@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two CUDA devices")
def test_the_peer_takes_one_gpu_where_there_are_more(tmp_path, tiny_checkpoint):
    tokenizer = transformers_peer.load_tokenizer(tiny_checkpoint)
    data = transformers_peer.encode_text_rows(rows_of(get_task("sst2")), tokenizer, ("sentence",), 48)
    trainer = transformers_peer.make_trainer(
        tiny_checkpoint, TASK_TYPES["classification"], data, tokenizer, tmp_path, per_device_train_batch_size=4
    )
    assert trainer.args.train_batch_size == 4


def test_a_ratio_is_computed_within_each_round():
    found = summarise_rounds([(10.0, 10.0, 5.0), (40.0, 10.0, 10.0), (20.0, 10.0, 20.0)], ("a", "b"), "rows_per_second")
    assert found == {
        "bertlab_rows_per_second": 20, "a_rows_per_second": 10, "b_rows_per_second": 10,
        "ratio": 2.0, "ratio_min": 1.0, "ratio_max": 4.0,
        "ratio_to_b": 2.0, "ratio_to_b_min": 1.0, "ratio_to_b_max": 4.0,
    }  # fmt: skip


@pytest.fixture(scope="module")
def data(rows, tmp_path_factory) -> Path:
    """Directories of tasks: squad, glue/rte and glue/sst2, each with train and validation rows."""
    place = tmp_path_factory.mktemp("tasks")
    squad_rows = [row for row in rows if row["answers"]["text"] and len(row["context"]) < 120]
    texts = [row["context"] for row in squad_rows]
    rte_rows = [
        {"sentence1": text, "sentence2": row["question"], "label": i % 2, "idx": i}
        for i, (text, row) in enumerate(zip(texts, squad_rows, strict=True))
    ]
    sst2_rows = [{"sentence": text, "label": i % 2, "idx": i} for i, text in enumerate(texts)]
    for name, task_rows in (("squad", squad_rows), ("glue/rte", rte_rows), ("glue/sst2", sst2_rows)):
        (place / name).mkdir(parents=True)
        for split in ("train", "validation"):
            pyarrow.parquet.write_table(pyarrow.Table.from_pylist(task_rows), place / name / f"{split}.parquet")
    return place


def measure(capsys, *words) -> dict:
    """Run a benchmark, and return the measurements that it prints."""
    assert main(["bench", *map(str, words), "--json"]) == 0
    return json.loads(capsys.readouterr().out.splitlines()[-1])


@pytest.mark.release
def test_bench_pretrain_runs_the_command_beside_both_peers(corpus, capsys):
    words = ["--corpus", corpus, "--preset", "tiny", "--batch-size", "4", "--max-tokens", "32", "--steps", "60"]
    words += ["--rounds", "1", "--device", "cpu", "--precision", "float32", "--threads", "1"]
    measured = measure(capsys, "pretrain", *words)
    for name in ("ratio", "ratio_to_full_rows"):
        assert 0 < measured[f"{name}_min"] == measured[name] == measured[f"{name}_max"]
    matrices = 2 * (4 * 128 * 128 + 2 * 128 * 512) - 2 * 128 * 512  # the last feed-forward sees masked tokens alone
    assert measured["mflop_per_token"] * 1e6 > 6 * matrices
    assert measured["mfu"] > 0
    assert measured["seconds_outside_training"] > 0


def test_a_synthetic_corpus_stands_in_for_a_real_one(tmp_path):
    corpus = Corpus.open(prepare_synthetic_corpus(tmp_path / "corpus", 100, num_documents=8))
    assert corpus.facts["documents"] == 8
    assert next(make_full_rows(tmp_path / "corpus", 2, 16)).inputs.input_ids_BT.max() < 100


def test_full_rows_have_no_padding_and_consecutive_text(corpus):
    batch = next(make_full_rows(corpus, 4, 16))
    assert batch.inputs.input_ids_BT.shape == (4, 16)
    assert batch.inputs.attention_mask_BT.all()
    text = Corpus.open(corpus).read_documents(0).tokens
    windows = {tuple(text[at : at + 14].tolist()) for at in range(0, len(text) - 14, 14)}
    assert all(tuple(row[1:-1]) in windows for row in batch.inputs.input_ids_BT.tolist())


def test_a_result_is_recorded_and_reported(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(results, "RESULTS_PATH", tmp_path / "bench" / "results.jsonl")
    old = results.Result("Training: speed of mini", 3.0, unit="x", spread=(2.0, 4.0), n=5, peer="transformers")
    results.append_results([old, replace(old, claim="App: answer", value=181.0, unit="ms", target=300, spread=None)])
    results.append_results([replace(old, value=4.07)])
    rows = results.read_results(results.RESULTS_PATH)
    assert [row.value for row in rows] == [3.0, 181.0, 4.07]
    assert all(row.date and row.command for row in rows)
    assert main(["bench", "report", "--results", str(results.RESULTS_PATH)]) == 0
    text = (tmp_path / "BENCHMARKS.md").read_text()
    assert "| speed of mini | 4.07x (2 to 4, n = 5) |  | transformers |" in text
    assert "| answer | 181 ms (n = 5) | 300 ms |" in text
    assert "3x" not in text, "the report has only the newest row of a claim"
    with raises_error(DataError, "bench-results-missing"):
        results.read_results(tmp_path / "none.jsonl")
    results.RESULTS_PATH.write_text('{"claim": 1, "size": 2}\n')
    with raises_error(DataError, "bench-results-line-invalid", line=1):
        results.read_results(results.RESULTS_PATH)


def test_the_benchmark_of_the_app_changes_a_text_of_every_page_that_has_a_field():
    changed = {change.page or "start" for change in app_pages.TIMED_CHANGES.values()}
    without_field = {"lessons", "paper", "serving", "training", "evaluation", "guess", "train-live"}
    many_checkpoints = {"sentences", "time-machine"}
    assert set(PAGES) - changed == without_field | many_checkpoints
    for change in app_pages.TIMED_CHANGES.values():
        assert change.text.format(word="a", number=1) != change.text.format(word="b", number=2), change.page


def test_the_report_of_this_repository_is_current_and_short():
    """`bertlab bench report` writes BENCHMARKS.md; nobody edits it by hand."""
    lines = results.format_report(results.read_results(results.RESULTS_PATH))
    assert (results.RESULTS_PATH.parents[1] / "BENCHMARKS.md").read_text(encoding="utf-8") == "\n".join(lines) + "\n"
    assert len(lines) <= 100


@pytest.mark.release
def test_bench_step_measures_every_part(capsys):
    measured = measure(capsys, "step", "--rounds", "1", "--preset", "tiny")
    assert {"Muon update, mini", "without padding, passage windows"} <= set(measured)
    assert all(row["speed_up"] > 0 for row in measured.values() if isinstance(row, dict))


@pytest.mark.release
def test_bench_prepare_measures_growing_amounts(tmp_path, tiny_checkpoint, capsys):
    table = pyarrow.table({"text": [f"The keeper of mill {i} carried the lantern. It was dark." for i in range(200)]})
    pyarrow.parquet.write_table(table, tmp_path / "text.parquet")
    words = [tmp_path / "text.parquet", "--megabytes", "0.005", "--copies", "1", "2", "--workers", "1"]
    once, twice = measure(capsys, "prepare", *words, "--tokenizer", tiny_checkpoint)["sizes"]
    assert twice["documents"] == 2 * once["documents"]
    assert once["peak_mb"] > 0


@pytest.mark.release
def test_bench_features_measures_both_libraries(data, tiny_checkpoint, capsys):
    words = ["--data", data / "squad/train.parquet", "--checkpoint", tiny_checkpoint]
    found = measure(capsys, "features", *words, "--max-tokens", "64", "--stride", "24", "--rows", "20")
    assert found["questions"] == 20
    assert found["ratio_min"] <= found["ratio"] <= found["ratio_max"]


@pytest.mark.release
@pytest.mark.parametrize("task", ["sst2", "squad"])
def test_bench_finetune_measures_all_three_implementations(task, data, tiny_checkpoint, capsys):
    source = data / {"sst2": "glue/sst2", "squad": "squad"}[task]
    words = [task, "--data", source, "--checkpoint", tiny_checkpoint, "--rows", "24", "--batch-size", "4"]
    words += ["--steps", "2", "--rounds", "2", "--device", "cpu", "--precision", "float32"]
    words += ["--clock", "cpu", "--threads", "1"] if task == "sst2" else []
    found = measure(capsys, "finetune", *words)
    assert found["task"] == f"{task}, 24 rows"
    for name in ("ratio", "ratio_to_transformers_grouped"):
        assert 0 < found[f"{name}_min"] <= found[name] <= found[f"{name}_max"]


@pytest.mark.release
def test_the_parity_benchmark_resumes_and_prints_both_sides(data, tiny_checkpoint, tmp_path, monkeypatch, capsys):
    small = {name: replace(recipe, epochs=1.0, max_tokens=64) for name, recipe in finetune_parity.RECIPES.items()}
    monkeypatch.setattr(finetune_parity, "RECIPES", small)
    config = finetune_parity.ParityBenchConfig(
        data=data, out=tmp_path, tasks=("rte", "squad"), seed_values=(0,), encoder=str(tiny_checkpoint)
    )
    finetune_parity.run(config)
    first = capsys.readouterr()
    results = json.loads((tmp_path / "results.json").read_text())
    assert [(row["task"], row["side"]) for row in results] == [
        (task, side) for task in ("rte", "squad") for side in ("bertlab", "transformers")
    ]
    assert {row["metric"] for row in results} == {"accuracy", "f1"}
    assert all(0 <= row["value"] <= 100 for row in results)
    by_name = {line.split()[0]: line for line in first.out.splitlines()}
    own, theirs = (row["value"] for row in results if row["task"] == "rte")
    assert f"{own:.2f} ± 0.00" in by_name["rte"]
    assert f"{own - theirs:+.2f}" in by_name["rte"]
    finetune_parity.run(config)
    again = capsys.readouterr()
    assert again.out == first.out
    assert "transformers ..." not in again.err
