"""`bertlab compress`: each way of pruning equals the model with the same parts set to zero, and zeros stay zero."""

import json

import pytest
import torch
from safetensors.torch import load_file
from support.errors import raises_error
from support.tiny_model import TEXTS

import bertlab
from bertlab.checkpoints import checkpoint
from bertlab.checkpoints.files import WEIGHTS
from bertlab.checkpoints.prune import prune
from bertlab.checkpoints.shrink import keep_first_layers, keep_neurons, keep_output_layer, zero_small_weights
from bertlab.cli import main
from bertlab.config.errors import CheckpointError
from bertlab.config.tasks import get_task
from bertlab.nn.bert import Bert
from bertlab.nn.interventions import Interventions
from bertlab.tasks.classification import CLASSIFICATION
from bertlab.tasks.training_data import TrainingOptions, read_training_data
from bertlab.text.batch import collate
from bertlab.training.compression import compress as command
from bertlab.training.compression.importance import choose_heads_to_prune, choose_neurons_to_keep, compute_importance
from bertlab.training.compression.retrain import retrain

ROWS = [(text, index % 2) for index, text in enumerate(TEXTS[:5] * 8)]


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """A directory with a training and a validation split of a task of single texts."""
    directory = tmp_path_factory.mktemp("rows")
    for split, count in (("train", 40), ("validation", 10)):
        lines = "".join(json.dumps({"sentence": text, "label": label}) + "\n" for text, label in ROWS[:count])
        (directory / f"{split}.jsonl").write_text(lines)
    return directory


@pytest.fixture
def loaded(shipped):
    return checkpoint.load("sst2")


@pytest.fixture
def data(loaded, rows):
    options = TrainingOptions(data=str(rows), validation=None, max_tokens=32)
    return read_training_data(CLASSIFICATION, get_task("sst2"), loaded, options)


@pytest.fixture
def batch(loaded):
    return collate([loaded.tokenizer.encode(text) for text in TEXTS], loaded.tokenizer.pad_id)


def take(data, count: int, batch_size: int = 8) -> list:
    batches = data.make_batches(batch_size, 0, (0, 1))
    return [next(batches) for _ in range(count)]


def test_the_importance_of_a_head_is_the_slope_of_the_loss_along_its_scale(loaded, data):
    """The reference is a difference of two losses, computed for one row at a time."""
    (batch,) = take(data, 1, 4)
    importance = compute_importance(loaded.model, [batch], data.loss)
    config, step = loaded.config, 1e-2
    expected_LN = torch.zeros(config.num_layers, config.num_heads)
    inputs, labels = batch.inputs, batch.labels_B
    for layer in range(config.num_layers):
        for head in range(config.num_heads):
            losses = []
            for factor in (1 + step, 1 - step):
                scale_L1N = torch.ones(config.num_layers, 1, config.num_heads)
                scale_L1N[layer, 0, head] = factor
                hidden = loaded.model(inputs, interventions=Interventions(head_scale_LBN=scale_L1N))
                logits_BK = loaded.model.classify(hidden.pooled_BH)
                losses.append(torch.nn.functional.cross_entropy(logits_BK, labels, reduction="none"))
            expected_LN[layer, head] = ((losses[0] - losses[1]) / (2 * step)).abs().sum()
    expected_LN /= expected_LN.norm(dim=1, keepdim=True)
    torch.testing.assert_close(importance.heads_LN, expected_LN, rtol=0.02, atol=0.002)


def test_the_importance_of_a_neuron_is_the_slope_of_the_loss_along_its_output(loaded, data):
    (batch,) = take(data, 1, 4)
    neurons_LI = compute_importance(loaded.model, [batch], data.loss).neurons_LI
    for layer, neuron in ((0, 3), (1, 17)):
        weight_HI = loaded.model.encoder.layers[layer].feed_forward.down.weight
        original, losses = weight_HI.detach().clone(), []
        for factor in (1.01, 0.99):
            with torch.no_grad():
                weight_HI[:, neuron] = factor * original[:, neuron]
                losses.append(float(data.loss(loaded.model, batch).value.detach()))
        with torch.no_grad():
            weight_HI.copy_(original)
        assert neurons_LI[layer, neuron].item() == pytest.approx(abs(losses[0] - losses[1]) / 0.02, rel=0.02, abs=1e-4)


def test_importance_changes_nothing(loaded, data):
    before = {name: tensor.clone() for name, tensor in loaded.model.state_dict().items()}
    compute_importance(loaded.model, take(data, 2), data.loss)
    assert all(torch.equal(before[name], tensor) for name, tensor in loaded.model.state_dict().items())
    assert all(parameter.grad is None and parameter.requires_grad for parameter in loaded.model.parameters())
    assert not loaded.model.training


def test_heads_pruned_by_importance_equal_the_masked_model(loaded, data, batch):
    """With and without the fast implementation, in training mode or not, and after saving."""
    importance = compute_importance(loaded.model, take(data, 3), data.loss)
    heads = choose_heads_to_prune(importance.heads_LN, 0.5)
    assert len(heads) == 2
    least = importance.heads_LN.argmin(1).tolist()
    assert heads == list(enumerate(least)), "the less important head of each layer"
    ablated = Interventions.ablate_heads(loaded.config, heads)
    pruned = prune(loaded.model, heads)
    with torch.inference_mode():
        expected = loaded.model.classify(loaded.model(batch, interventions=ablated).pooled_BH)
        for logits in (pruned.logits("classify", batch), pruned.classify(Bert.forward(pruned, batch).pooled_BH)):
            torch.testing.assert_close(logits, expected, rtol=1e-4, atol=1e-5)


def test_neurons_pruned_by_importance_equal_the_masked_model(loaded, data, batch):
    importance = compute_importance(loaded.model, take(data, 3), data.loss)
    neurons_LI = choose_neurons_to_keep(importance.neurons_LI, 0.5, multiple=1)
    assert all(len(neurons_I) == loaded.config.intermediate_size // 2 for neurons_I in neurons_LI)
    pruned = keep_neurons(loaded.model, neurons_LI)
    masked = keep_output_layer(loaded.model, "classify")
    with torch.no_grad():
        for layer, neurons_I in enumerate(neurons_LI):
            weight_HI = masked.encoder.layers[layer].feed_forward.down.weight
            weight_HI.mul_(torch.zeros(weight_HI.shape[1]).index_fill(0, neurons_I, 1.0))
        torch.testing.assert_close(pruned.logits("classify", batch), masked.logits("classify", batch))
    assert pruned.config.intermediate_size == loaded.config.intermediate_size // 2


def test_the_first_layers_remain(loaded, batch):
    pruned = keep_first_layers(prune(loaded.model, [(0, 1), (1, 0)]), 1)
    assert (pruned.config.num_layers, pruned.config.pruned_heads) == (1, ((0, 1),))
    expected = prune(loaded.model, [(0, 1)])
    del expected.encoder.layers[1]
    with torch.inference_mode():
        torch.testing.assert_close(pruned.logits("classify", batch), expected.logits("classify", batch))


def test_pruned_weights_stay_zero_in_retraining(loaded, data):
    sparse, masks = zero_small_weights(loaded.model, 0.6)
    assert len(masks) == 4 * loaded.config.num_layers
    retrained = retrain(sparse, data, 5, masks=masks, learning_rate=1e-2, batch_size=8)
    moved = 0
    for name, parameter in retrained.named_parameters():
        original = loaded.model.get_parameter(name)
        if name in masks:
            assert not parameter[masks[name] == 0].any()
            assert float((parameter == 0).float().mean()) == pytest.approx(0.6, abs=0.01)
            limit = original.abs()[masks[name] == 0].max()
            assert original.abs()[masks[name] == 1].min() >= limit, "the smallest weights are pruned"
        moved += int(not torch.equal(parameter * (original != 0), original * (parameter != 0)))
    assert moved > len(masks)


def run(capsys, *words) -> dict:
    assert main(["compress", *map(str, words), "--json"]) == 0, capsys.readouterr().err
    return json.loads(capsys.readouterr().out.splitlines()[-1])


@pytest.mark.parametrize(
    "flags",
    [
        ["--heads", "0.5"],
        ["--neurons", "0.5", "--keep-layers", "1", "--heads", "0.5", "--retrain-steps", "2"],
        ["--magnitude", "0.5", "--retrain-steps", "2", "--weights", "float16"],
        ["--format", "onnx", "--heads", "0.5", "--neurons", "0.5"],
        ["--format", "onnx", "--weights", "int8"],
    ],
    ids=["heads", "all", "magnitude", "onnx", "int8"],
)
def test_a_compressed_checkpoint_opens_and_its_metric_is_the_printed_one(shipped, rows, tmp_path, capsys, flags):
    out = tmp_path / "out"
    result = run(capsys, "sst2", "--task", "sst2", "--data", rows, "--out", out, *flags)
    for each in (result["before"], result["after"]):
        assert each["megabytes"] > 0
        assert each["latency_ms"] > 0
        assert each["texts_per_second"] > 0
    assert main(["evaluate", "sst2", "--checkpoint", str(out), "--data", str(rows), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == result["after"]["metrics"]
    assert main(["classify", TEXTS[0], "--checkpoint", str(out)]) == 0
    assert main(["info", "--checkpoint", str(out)]) == 0
    capsys.readouterr()
    session = bertlab.load(str(out))
    if "onnx" in flags:
        with pytest.raises(CheckpointError):
            session.attention(TEXTS[0])
    else:
        config = session.config
        assert session.attention(TEXTS[0]).probs_LNTT.shape[:2] == (config.num_layers, config.num_heads)
        assert result["after"]["parameters"] < result["before"]["parameters"]
    if "--keep-layers" in flags:
        assert (session.config.num_layers, session.config.intermediate_size) == (1, 16)
        assert result["changes"]["pruned_heads"] == [[0, head] for head in (0, 1) if (0, head) in config.pruned_heads]
    again = ["compress", str(out), "--task", "sst2", "--data", str(rows), "--out", str(tmp_path / "again")]
    code = main([*again, "--format", "onnx", "--weights", "int8"])
    assert code == (2 if "onnx" in flags else 0), "an ONNX file cannot be quantised again"


def test_the_table_names_every_measurement(shipped, rows, tmp_path, capsys):
    words = ["sst2", "--task", "sst2", "--data", str(rows), "--out", str(tmp_path / "out"), "--heads", "0.5"]
    assert main(["compress", *words]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("  ")[0] for line in lines[1:7]] == [
        "size in MB", "weights that are not zero", "one text in ms (median)", "texts/s in batches", "accuracy",
        "examples",
    ]  # fmt: skip


def test_bfloat16_is_measured_where_the_processor_has_it(shipped, rows, tmp_path, capsys, monkeypatch):
    words = ["sst2", "--task", "sst2", "--data", rows, "--weights", "bfloat16"]
    if command.supports_bfloat16():
        run(capsys, *words, "--out", tmp_path / "out")
        assert {tensor.dtype for tensor in load_file(tmp_path / "out" / WEIGHTS).values()} == {torch.bfloat16}
        session, original = bertlab.load(tmp_path / "out", dtype="bfloat16"), bertlab.load("sst2")
        assert session.model.pooler.dense.weight.dtype == torch.bfloat16
        probability, expected = (each.classify(TEXTS[0]).labels[0].probability for each in (session, original))
        assert probability == pytest.approx(expected, abs=0.05)
    monkeypatch.setattr(command, "supports_bfloat16", lambda: False)
    with raises_error(ValueError, "bfloat16-not-supported"):
        command.compress(
            command.CompressConfig("sst2", task="sst2", data=str(rows), weights="bfloat16", out=str(tmp_path / "other"))
        )


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["sst2", "--task", "weather"], "weather"),
        (["sst2", "--task", "sst2", "--heads", "1"], "heads"),
        (["sst2", "--task", "sst2", "--neurons", "-0.1"], "neurons"),
        (["sst2", "--task", "sst2", "--magnitude", "1.5"], "magnitude"),
        (["sst2", "--task", "sst2", "--keep-layers", "9"], "2 layers"),
        (["sst2", "--task", "sst2", "--retrain-steps", "-1"], "retrain-steps"),
        (["strongest", "--task", "sst2"], "classification"),
        (["sst2", "--task", "sst2", "--weights", "int8"], "onnx"),
        (["sst2", "--task", "sst2", "--weights", "bfloat16", "--format", "onnx"], "checkpoint"),
        (["nowhere/at/all", "--task", "sst2"], "nowhere"),
    ],
)
def test_bad_input_is_one_line(shipped, rows, tmp_path, capsys, words, part):
    assert main(["compress", *words, "--data", str(rows), "--out", str(tmp_path / "out")]) == 2
    lines = capsys.readouterr().err.strip().splitlines()
    assert len(lines) == 1
    assert part in lines[0]
    assert not (tmp_path / "out").exists()
