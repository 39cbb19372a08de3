"""What a BERT costs: estimates beside the real model, PyTorch's counters and the page that shows them."""

import json
from dataclasses import replace
from functools import cache

import pytest
import torch
import torch.nn.functional as F
from bertlab_app.data import machine
from support.errors import raises_error
from support.figures import draw_from_code, read_charts, saved_figures, trace_values
from support.pages import errors, open_page
from support.texts import text
from torch.profiler import ProfilerActivity, profile

from bertlab import cli
from bertlab.abilities.cost import Workload, estimate, estimate_growth
from bertlab.abilities.cost import measure as cost_measure
from bertlab.abilities.cost.figures import growth_columns
from bertlab.abilities.cost.flops import find_break_even_length
from bertlab.abilities.cost.hardware import GPUS
from bertlab.abilities.cost.measure_flops import count_flop
from bertlab.abilities.cost.measure_step import StepMeasurement, build_trainer
from bertlab.abilities.cost.memory import KERNEL_BYTES, compute_training_memory
from bertlab.abilities.cost.parameters import count_parameters
from bertlab.abilities.cost.published import BATCHES, PRETRAINING, find_largest_batch
from bertlab.abilities.cost.runs import estimate_runs
from bertlab.config.config import ModelConfig
from bertlab.config.errors import BertlabError
from bertlab.config.languages import render
from bertlab.config.presets import PRESETS, get_preset
from bertlab.nn.fast.linear import supports_fused_bias
from bertlab.nn.fast.model import FastBert
from bertlab.training.optimizers import OPTIMIZERS
from bertlab.training.trainer import Trainer

CPU = torch.device("cpu")
SMALL = ModelConfig(vocab_size=3000, hidden_size=128, num_layers=3, num_heads=4, intermediate_size=384)
WORKLOADS = {
    "bfloat16": Workload(SMALL, 64, 8, device="cpu"),
    "float32": Workload(SMALL, 64, 8, "float32", device="cpu"),
    "dropout": Workload(SMALL, 64, 8, "float32", dropout=0.1, device="cpu"),
    "dropout in bfloat16": Workload(SMALL, 64, 8, dropout=0.1, device="cpu"),
    "fine-tuning": Workload(SMALL, 96, 4, "float32", dropout=0.1, task="finetuning", device="cpu"),
    "muon": Workload(SMALL, 64, 4, "float32", "muon", device="cpu"),
    "recompute": Workload(SMALL, 64, 16, "float32", recompute=True, device="cpu"),
    "recompute in bfloat16": Workload(SMALL, 64, 16, recompute=True, device="cpu"),
}


def parameters_of(model) -> int:
    return sum(p.numel() for p in model.parameters())


# -- parameters, FLOP and memory beside the real model


@pytest.mark.parametrize("name", PRESETS)
def test_parameters_are_those_of_the_model(name):
    with torch.device("meta"):
        models = [FastBert(get_preset(name), heads) for heads in ((), ("mlm", "nsp"))]
    counts = [sum(count_parameters(get_preset(name), heads).values()) for heads in ((), ("mlm", "nsp"))]
    assert counts == [parameters_of(model) for model in models]


def test_parameters_of_bert_base_are_the_published_ones():
    assert sum(count_parameters(get_preset("base"), ()).values()) == 109_482_240
    assert estimate(Workload(get_preset("base"))).num_parameters == 110_106_428


def test_parameters_of_unusual_sizes_and_of_a_classifier_are_those_of_the_model():
    config = Workload(SMALL.replace(intermediate_size=100, type_vocab_size=3), 700, task="finetuning").config
    with torch.device("meta"):
        assert sum(count_parameters(config, ("classify",)).values()) == parameters_of(FastBert(config, ["classify"]))
    assert config.max_positions == 700


@cache
def start_training(name: str) -> Trainer:
    """A trainer of a workload after two steps, which allocate everything that is allocated only once."""
    trainer = build_trainer(WORKLOADS[name], CPU)
    steps = iter(trainer)
    next(steps)
    next(steps)
    return trainer


@pytest.mark.parametrize("name", WORKLOADS)
def test_flop_are_those_that_pytorch_counts(name):
    if WORKLOADS[name].precision == "bfloat16" and not supports_fused_bias(torch.empty(1, dtype=torch.bfloat16)):
        pytest.skip("this machine has no instructions for bfloat16")
    steps = iter(start_training(name))
    assert estimate(WORKLOADS[name]).flop_per_step == pytest.approx(count_flop(lambda: next(steps)), rel=0.01)


def test_the_fused_linear_layer_is_counted():
    layer = FastBert(SMALL).pooler.dense.bfloat16()
    inputs = torch.randn(2, 5, 128, dtype=torch.bfloat16)
    assert count_flop(lambda: layer(inputs)) == 2 * 10 * 128 * 128


def test_the_flop_of_fused_attention_on_the_cpu_are_counted():
    query_BNTD = torch.randn(2, 3, 5, 4, requires_grad=True)
    one_product = 2 * 2 * 3 * 5 * 5 * 4  # [T, D] x [D, T], for each of B x N heads
    with torch.no_grad():
        forward = count_flop(lambda: F.scaled_dot_product_attention(query_BNTD, query_BNTD, query_BNTD))
    assert forward == 2 * one_product
    both = count_flop(lambda: F.scaled_dot_product_attention(query_BNTD, query_BNTD, query_BNTD).sum().backward())
    assert both == (2 + 5) * one_product  # backward computes the scores again, and four more products


def allocated_peak(trainer: Trainer) -> int:
    """The peak of what PyTorch allocates for the weights, the optimiser and a training step, in bytes."""
    kept = sum(p.nbytes for p in trainer.optimizer.master_weights)
    kept += sum(value.nbytes for state in _states(trainer) for value in state.values() if value.ndim)
    if trainer.optimizer.working_model is not trainer.optimizer.model:
        kept += sum(p.nbytes for p in trainer.optimizer.working_weights)
        kept += sum(p.grad.nbytes for p in trainer.optimizer.master_weights)
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        next(iter(trainer))
    events = [event for event in profiler.profiler.kineto_results.events() if event.name() == "[memory]"]
    level = peak = 0
    for event in sorted(events, key=lambda event: event.start_ns()):
        level += event.nbytes()
        peak = max(peak, level)
    return kept + peak


def _states(trainer) -> list[dict]:
    return [state for optimizer in trainer.optimizer.optimizers for state in optimizer.state.values()]


@pytest.mark.parametrize("name", WORKLOADS)
def test_memory_is_what_pytorch_allocates(name):
    memory = compute_training_memory(WORKLOADS[name])
    allocated = allocated_peak(start_training(name))
    assert memory.total - memory.parts["kernels"] == pytest.approx(allocated, rel=0.05)


def test_activation_checkpointing_gives_the_same_gradients():
    batch = next(build_trainer(WORKLOADS["float32"], CPU).batches)
    gradients = []
    for recompute in (False, True):
        torch.manual_seed(0)
        model = FastBert(SMALL.replace(hidden_dropout=0.1, attention_dropout=0.1), recompute=recompute)
        torch.manual_seed(1)
        model.pool(batch.inputs).sum().backward()
        gradients.append([p.grad for p in model.parameters() if p.grad is not None])
    assert len(gradients[0]) > 10
    for one, other in zip(*gradients, strict=True):
        torch.testing.assert_close(one, other)


def test_activation_checkpointing_needs_less_memory_and_more_flop():
    plain = Workload(get_preset("base"), 512, 32)
    saving = replace(plain, recompute=True)
    assert compute_training_memory(saving).total < compute_training_memory(plain).total / 2
    assert 1.2 < estimate(saving).flop_per_step / estimate(plain).flop_per_step < 1.35


# -- growth


def test_only_attention_grows_with_the_square_of_the_length():
    short, long = estimate_growth(Workload(get_preset("base"), device="cpu"), [256, 512])
    growth = {name: long.forward_flop[name] / flop for name, flop in short.forward_flop.items()}
    assert growth["attention-scores"] == 4
    assert growth["feed-forward"] == pytest.approx(2, rel=0.01)
    assert growth["pooler"] == 1


def test_memory_grows_with_the_square_only_where_scores_are_stored():
    def ratio(**settings) -> float:
        costs = estimate_growth(Workload(get_preset("mini"), batch_size=64, **settings), [2048, 4096])
        short, long = (cost.training_memory.parts["activations"] for cost in costs)
        return long / short

    assert ratio(device="gpu") == pytest.approx(2, rel=0.02)
    assert ratio(device="cpu", precision="float32") == pytest.approx(2, rel=0.02)
    assert ratio(device="cpu") > 3


def test_scores_cost_as_much_as_the_rest_of_a_layer_at_the_named_length():
    length = find_break_even_length(Workload(get_preset("base")))
    cost = estimate(Workload(get_preset("base"), length, task="finetuning"))
    layers = get_preset("base").num_layers
    rest = cost.inference_flop["attention-projections"] + cost.inference_flop["feed-forward"]
    assert cost.inference_flop["attention-scores"] / layers == pytest.approx(rest / layers, rel=1e-6)


def test_the_columns_of_the_growth_figure_are_its_costs():
    costs = estimate_growth(Workload(get_preset("tiny")), [128, 256])
    columns = growth_columns(costs, "training-memory")
    assert columns["tokens"] == [128, 256]
    totals = [sum(values) for values in zip(*(columns[name] for name in columns if name != "tokens"), strict=True)]
    assert totals == [cost.training_memory.total for cost in costs]


# -- settings that no model has


def test_the_optimisers_are_those_of_training():
    for name in ("adamw", "muon"):
        assert name in OPTIMIZERS
        Workload(SMALL, optimizer=name)
    with raises_error(BertlabError, "optimizer-unknown", name="sgd"):
        Workload(SMALL, optimizer="sgd")


@pytest.mark.parametrize(
    ("changes", "sizes", "id"),
    [
        ({"tokens": 0}, {}, "cost-batch-invalid"),
        ({"batch_size": 2**30}, {}, "cost-batch-invalid"),
        ({}, {"num_layers": 0}, "cost-model-invalid"),
        ({}, {"num_layers": 2**24, "hidden_size": 2**24}, "cost-model-too-large"),
    ],
)
def test_absurd_sizes_are_refused(changes, sizes, id):
    with raises_error(BertlabError, id):
        Workload(SMALL.replace(**sizes), **changes)


# -- time, money and published numbers


def test_time_and_price_follow_from_peak_and_share():
    cost = estimate(Workload(get_preset("base")))
    (run,) = estimate_runs(cost, 1000, [GPUS["A100 SXM"]], share=0.5, price=2.0)
    assert run.step_seconds == pytest.approx(cost.flop_per_step / (312e12 * 0.5))
    assert run.dollars == pytest.approx(1000 * run.step_seconds / 3600 * 2.0)
    (twice,) = estimate_runs(cost, 1000, [GPUS["A100 SXM"]], share=0.25, price=2.0)
    assert twice.seconds == pytest.approx(2 * run.seconds)


def test_every_gpu_has_a_source_and_a_batch_that_does_not_fit():
    huge = estimate(Workload(get_preset("large"), 512, 4096))
    for run in estimate_runs(huge, 1, list(GPUS.values()), share=0.4):
        assert not run.fits, run.device
    assert all(gpu.source.startswith("https://") for gpu in GPUS.values())
    assert all(gpu.half_tflops > gpu.float32_tflops for gpu in GPUS.values())


def test_the_largest_batch_fits_and_the_next_one_does_not():
    workload = BATCHES[0].make_workload("float32")
    largest = find_largest_batch(workload, 12e9)
    sizes = [compute_training_memory(replace(workload, batch_size=largest + more)).total for more in (0, 1)]
    assert sizes[0] <= 12e9 < sizes[1]


def test_the_published_pretraining_is_possible():
    base, large = PRETRAINING
    assert 3 < large.flop / base.flop < 4
    assert all(0.02 < row.share_of_peak < 0.7 for row in PRETRAINING)


# -- measurement


def measured(**changes) -> cost_measure.Comparison:
    step = StepMeasurement(
        hardware="an abacus", parameters=1000, flop=10**9, memory_bytes=10**8, resident_bytes=12 * 10**7,
        runtime_bytes=4 * 10**8, seconds=2.0, wall_seconds=3.0, peak_flops=1e9, threads=1, steps=3,
    )  # fmt: skip
    return cost_measure.Comparison(step, 9 * 10**7, 2.5, 1000, 1e9)


def test_errors_are_relative_to_the_measurement():
    assert measured().memory_error == pytest.approx(-0.1)
    assert measured().time_error == pytest.approx(0.25)


def test_a_measurement_that_cannot_fit_is_refused_before_it_starts(monkeypatch):
    monkeypatch.setattr(cost_measure.subprocess, "run", lambda *_, **__: pytest.fail("the process was started"))
    with raises_error(BertlabError, "cost-does-not-fit"):
        cost_measure.compare_step(Workload(get_preset("large"), 512, 8192), device="cpu")
    monkeypatch.setattr(cost_measure, "read_available_memory", lambda device: 1e15)
    with raises_error(BertlabError, "cost-measurement-too-long"):
        cost_measure.compare_step(Workload(get_preset("large"), 512, 8192), device="cpu")


def test_a_process_that_fails_is_reported_in_one_line(monkeypatch):
    monkeypatch.setattr(cost_measure.sys, "executable", "false")
    with raises_error(BertlabError, "cost-measurement-failed"):
        cost_measure.compare_step(Workload(SMALL, 16, 2), device="cpu")


def test_a_measured_step_is_near_its_estimate():
    workload = Workload(SMALL.replace(vocab_size=20_000), 128, 16, "float32")
    comparison = cost_measure.compare_step(workload, steps=1, threads=1, device="cpu")
    assert comparison.measured.parameters == comparison.estimated_parameters
    assert comparison.measured.flop == pytest.approx(comparison.estimated_flop, rel=0.01)
    assert abs(comparison.memory_error) < 0.2
    assert comparison.measured.resident_bytes >= 0.9 * comparison.measured.memory_bytes
    assert abs(comparison.time_error) < 1.0  # a shared machine


def test_the_benchmark_records_its_errors(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr("benchmarks.cost.compare_step", lambda *_, **__: measured())
    recorded = []
    monkeypatch.setattr("benchmarks.harness.append_results", recorded.extend)
    assert cli.main(["bench", "cost", "--presets", "tiny", "--precision", "float32", "--record", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["presets"]["tiny"]["time_error_percent"] == 25.0
    assert [(row.value, row.spread, row.target) for row in recorded] == [
        (10.0, (-10.0, -10.0), 15.0), (25.0, (25.0, 25.0), 25.0)
    ]  # fmt: skip


# -- the command


def test_the_command_prints_every_part_and_every_gpu(capsys):
    assert cli.main(["cost", "--preset", "base", "--tokens", "512", "--batch-size", "32", "--device", "gpu"]) == 0
    out = capsys.readouterr().out
    assert "110 M" in out
    assert all(name in out for name in ("token embeddings", "attention scores (n²)", "optimiser", "logits", *GPUS))


def test_the_command_prints_json(capsys):
    words = ["cost", "--layers", "2", "--hidden", "128", "--attention-heads", "2", "--device", "gpu", "--json"]
    assert cli.main(words) == 0
    row = json.loads(capsys.readouterr().out)
    assert row["num_parameters"] == sum(row["parameters"].values())
    assert row["workload"]["model"]["intermediate_size"] == 512
    assert row["training_memory"]["total"] == sum(row["training_memory"]["parts"].values())
    assert row["gpus"].keys() == GPUS.keys()


@pytest.mark.parametrize(
    "words",
    [["--hidden", "130"], ["--tokens", "0"], ["--layers", "9" * 30], ["--optimizer", "sgd"], ["--vocab-size", "-4"],
     ["--layers", "16000000", "--hidden", "16000000"], ["--price", "-1"], ["--share", "1.5"]],
)  # fmt: skip
def test_the_command_refuses_bad_sizes_in_one_line(capsys, words):
    assert cli.main(["cost", *words]) == 2
    out, err = capsys.readouterr()
    assert not out
    assert err.count("\n") == 1


def test_the_command_measures(capsys, monkeypatch):
    monkeypatch.setattr(cost_measure, "compare_step", lambda *_, **__: measured())
    assert cli.main(["cost", "--preset", "tiny", "--measure"]) == 0
    assert "−10.0%" in capsys.readouterr().out
    assert cli.main(["cost", "--preset", "tiny", "--measure", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["measured"]["measured"]["parameters"] == 1000


# -- the page


@pytest.fixture
def fast_peak(monkeypatch):
    """The page does not measure the machine."""
    here = machine.Machine("an abacus", "cpu", 1e11, 8e9)
    monkeypatch.setattr(machine, "measure_peak", lambda precision: here)


@pytest.mark.parametrize("language", ["en", "ko"])
def test_the_page_shows_the_estimate_in_both_languages(shipped, fast_peak, language):
    app = open_page("cost", lang=language, preset="base", length="512", **{"cost-device": "gpu"})
    assert not app.exception, app.exception[0].message
    assert not errors(app)
    cost = estimate(Workload(get_preset("base"), 512))
    values = {metric.label: metric.value for metric in app.metric}
    assert values[render("cost-parameters", language)] == "110 M"
    assert values[render("cost-training-memory", language)] == f"{cost.training_memory.total / 1e9:.2f} GB"
    assert len(read_charts(app)) == 6
    tables = "".join(block.proto.body for block in app.get("html"))
    assert all(name in tables for name in ("an abacus", *GPUS))


def test_the_configuration_is_in_the_address_and_sizes_follow_the_preset(shipped, fast_peak):
    app = open_page("cost", preset="tiny", layers="5", **{"price-of": "T4", "hour-price": "7.5"})
    sizes = {key: app.number_input(key=f"cost.{key}").value for key in ("layers", "hidden", "intermediate")}
    assert sizes == {"layers": 5, "hidden": 128, "intermediate": 512}
    assert app.number_input(key="cost.price").value == 7.5
    app.number_input(key="cost.tokens").set_value(300).run()
    assert (app.query_params["length"], app.query_params["layers"]) == ("300", "5")
    app.button_group(key="preset").set_value("mini").run()
    assert app.number_input(key="cost.hidden").value == 256
    assert app.number_input(key="cost.layers").value == 5, "a field that the user changed stays"


@pytest.mark.parametrize(
    ("parameters", "id"), [({"attention-heads": "7"}, "heads-do-not-divide"), ({"hidden": "65536", "layers": "1000",
     "intermediate": "262144", "attention-heads": "1"}, "cost-model-too-large")],
)  # fmt: skip
def test_sizes_that_no_model_can_have_get_one_line(shipped, fast_peak, parameters, id):
    app = open_page("cost", **parameters)
    assert not app.exception
    assert len(errors(app)) == 1
    assert text(id, hidden=768, heads=7, limit="1e+13").split(" ")[0] in errors(app)[0]


@pytest.mark.parametrize("value", ["1e999", "-5", "abc", "999999999999999999999"])
def test_numbers_of_a_link_that_are_no_sizes_are_limited(shipped, fast_peak, value):
    app = open_page("cost", layers=value, length=value)
    assert not app.exception


def test_the_saved_code_draws_the_same_figures(shipped, fast_peak, monkeypatch):
    app = open_page("cost", preset="tiny", **{"growth-of": "training-memory"})
    charts = read_charts(app)
    for menu, chart in zip(saved_figures(app), charts, strict=True):
        assert trace_values(json.loads(draw_from_code(menu["code"], monkeypatch).to_json())) == trace_values(chart)


def test_the_button_measures_and_shows_the_errors(shipped, fast_peak, monkeypatch):
    calls = []
    monkeypatch.setattr(machine, "compare_step", lambda workload, **_: calls.append(workload) or measured())
    app = open_page("cost", preset="tiny")
    button = next(button for button in app.button if button.label == text("cost-measure-button"))
    button.click().run()
    assert [workload.config.num_layers for workload in calls] == [2]
    tables = "".join(block.proto.body for block in app.get("html"))
    assert "−10.0%" in tables
    assert "+25.0%" in tables


def test_a_refused_measurement_is_one_line(shipped, fast_peak):
    app = open_page("cost", preset="large", length="4096", sequences="60000")
    next(button for button in app.button if button.label == text("cost-measure-button")).click().run()
    assert not app.exception
    assert len(errors(app)) == 1


def test_one_measurement_runs_at_a_time():
    assert machine._MEASUREMENT_LOCK.acquire(blocking=False)
    try:
        with raises_error(BertlabError, "cost-measurement-running"):
            machine.measure_step(Workload(SMALL), 0.5)
    finally:
        machine._MEASUREMENT_LOCK.release()


def test_kernel_buffers_are_only_on_a_cpu():
    assert compute_training_memory(Workload(SMALL)).parts["kernels"] == 0
    assert compute_training_memory(Workload(SMALL, device="cpu")).parts["kernels"] == KERNEL_BYTES["bfloat16"]
