"""Every family: open checkpoints of `transformers`, compute the same numbers, and export them again."""

import json
from pathlib import Path

import pytest
import tokenizers
import torch
import transformers
from safetensors.torch import load_file, save_file
from support.encoders import assert_close
from support.errors import command_error, raises_error
from support.families import FAMILIES, SUBWORD_FAMILIES, make_hf_model, save_hf_checkpoint, train_hf_tokenizer
from support.pages import errors, open_page
from support.texts import text as interface_text

import bertlab
from bertlab.abilities.live.export import live_html
from bertlab.checkpoints import checkpoint
from bertlab.checkpoints.prune import prune
from bertlab.cli import main
from bertlab.config.errors import CheckpointError, InterventionError
from bertlab.config.presets import list_pretrainable_families
from bertlab.nn.trace import Trace
from bertlab.text.batch import Batch
from bertlab.text.tokenizers.wordpiece import Tokenizer
from bertlab.training.pretraining.config import make_recipe_settings, recipe_from_arguments

CASES = [(prefix, head, {}) for prefix, (_, heads) in FAMILIES.items() for head in ("", *heads)]
CASES += [
    ("Roberta", "SequenceClassification", {"type_vocab_size": 2}),
    ("Electra", "MaskedLM", {"embedding_size": 16}),  # no projection
    ("Albert", "MaskedLM", {"num_hidden_layers": 4, "num_hidden_groups": 2}),
    ("ModernBert", "SequenceClassification", {"classifier_pooling": "mean"}),
    ("ModernBert", "MaskedLM", {"layer_types": ["full_attention"] * 4}),
    ("MobileBert", "PreTraining", {"classifier_activation": False}),
]
TOLERANCE = 1e-5


def make_batch(pad_token_id: int, vocab_size: int, padded: bool) -> Batch:
    """Two pairs of texts of 9 tokens; if `padded`, the second has 5."""
    generator = torch.Generator().manual_seed(7)
    input_ids_BT = torch.randint(5, vocab_size, (2, 9), generator=generator)
    attention_mask_BT = torch.ones(2, 9, dtype=torch.bool)
    token_type_ids_BT = (torch.arange(9) > 3).long().expand(2, 9).clone()
    if padded:
        attention_mask_BT[1, 5:] = False
        input_ids_BT[1, 5:] = pad_token_id
        token_type_ids_BT[1, 5:] = 0
    return Batch(input_ids_BT, token_type_ids_BT, attention_mask_BT)


def compute_theirs(model, batch: Batch, is_choice: bool) -> dict:
    """Compute the output of `transformers`; a multiple choice is made of the rows of the batch."""
    inputs = {"input_ids": batch.input_ids_BT, "attention_mask": batch.attention_mask_BT.long()}
    if getattr(model.config, "type_vocab_size", 1) > 1:
        inputs["token_type_ids"] = batch.token_type_ids_BT
    if is_choice:
        inputs = {name: tensor[None] for name, tensor in inputs.items()}
    with torch.no_grad():
        return model(**inputs, output_hidden_states=True, output_attentions=True)


def compute_logits(model, heads, batch: Batch) -> list[torch.Tensor]:
    """Compute the output of every output layer, in the order of `transformers`."""
    with torch.no_grad():
        hidden_BTH, pooled_BH = model(batch).hidden_BTH, model.pool(batch)
    pooled = {"nsp", "classify", "regress", "choose"}
    return [getattr(model, name)(pooled_BH if name in pooled else hidden_BTH) for name in heads]


@pytest.mark.parametrize(("prefix", "head", "changes"), CASES)
def test_a_checkpoint_computes_the_same_numbers_and_is_exported_again(prefix, head, changes, tiny_tokenizer, tmp_path):
    theirs = save_hf_checkpoint(tmp_path / "hf", prefix, head, tiny_tokenizer, **changes)
    loaded = checkpoint.load(tmp_path / "hf")
    exported = checkpoint.save(tmp_path / "out", loaded.model, loaded.tokenizer, {}, dtype=torch.float32)
    assert transformers.AutoConfig.from_pretrained(exported).architectures[0] == type(theirs).__name__
    again, info = type(theirs).from_pretrained(exported, output_loading_info=True, attn_implementation="eager")
    assert not info["missing_keys"]
    assert not [name for name in info["unexpected_keys"] if ".pooler." not in name]
    for padded in (False, True):
        batch = make_batch(loaded.config.pad_token_id, loaded.tokenizer.vocab_size, padded)
        outputs = compute_theirs(theirs, batch, head == "MultipleChoice")
        trace = Trace.of("hidden", "probs")
        with torch.no_grad():
            loaded.model(batch, trace=trace)
        is_token_BT = batch.attention_mask_BT
        assert len(outputs.hidden_states) == len(trace["hidden"]) == len(outputs.attentions) + 1
        for ours_BTH, theirs_BTH in zip(trace["hidden"], outputs.hidden_states, strict=True):
            assert_close(ours_BTH, theirs_BTH, is_token_BT, TOLERANCE)
        for ours_BNTT, theirs_BNTT in zip(trace["probs"], outputs.attentions, strict=True):
            assert_close(ours_BNTT.transpose(1, 2), theirs_BNTT.transpose(1, 2), is_token_BT, TOLERANCE)
        ours_BTH = loaded.model(batch).hidden_BTH  # the fast path
        assert_close(ours_BTH, outputs.hidden_states[-1], is_token_BT, TOLERANCE)
        names = ("prediction_logits", "seq_relationship_logits", "sop_logits", "logits")
        logits = [outputs[name] for name in names if name in outputs]
        if head == "QuestionAnswering":
            logits = [torch.stack([outputs.start_logits, outputs.end_logits], -1)]
        elif head == "MultipleChoice":
            logits = [logits[0][0]]
        ours = compute_logits(loaded.model, loaded.heads, batch)
        for our_logits, their_logits in zip(ours, logits, strict=True):
            per_token = our_logits.shape[:2] == is_token_BT.shape
            assert_close(our_logits, their_logits, is_token_BT if per_token else None, TOLERANCE)
        final = compute_theirs(again.eval(), batch, head == "MultipleChoice")
        assert_close(final.hidden_states[-1], outputs.hidden_states[-1], is_token_BT, 1e-6)


@pytest.mark.parametrize("prefix", SUBWORD_FAMILIES)
def test_the_tokenizer_of_a_family_gives_the_same_ids(prefix, tmp_path):
    theirs = train_hf_tokenizer(prefix)
    theirs.save_pretrained(tmp_path / "hf")
    ours = Tokenizer.load(tmp_path / "hf")
    pairs = [("The potter set the bowl down.", "Café, 도자기!"), ("  two  spaces ", "x"), ("a 🙂 b\n", "말해요")]
    for text, pair in pairs:
        encoding = ours.encode(text, pair)
        assert list(encoding.ids) == theirs(text, pair).input_ids
        assert list(ours.encode(text).ids) == theirs(text).input_ids
        for (start, end), segment, special in zip(
            encoding.offsets, encoding.token_type_ids, encoding.special, strict=True
        ):
            written = (text, pair)[segment][start:end]
            assert special or not written.strip() or written == written.strip(), "offsets leave out spaces"
    mask = theirs.mask_token
    assert ours.encode(f"tea {mask}.").ids == ours.encode("tea [MASK].").ids
    assert mask in ours.encode("tea [MASK].").tokens
    ours.save(tmp_path / "out")
    again = transformers.AutoTokenizer.from_pretrained(tmp_path / "out")
    assert again(*pairs[0]).input_ids == theirs(*pairs[0]).input_ids
    assert Tokenizer.load(tmp_path / "out").digest == ours.digest


def test_a_damaged_checkpoint_of_a_family_is_refused_in_one_line(tiny_tokenizer, tmp_path):
    tokenizer = train_hf_tokenizer("Roberta")
    theirs = make_hf_model("Roberta", "MaskedLM", len(tokenizer), pad_token_id=tokenizer.pad_token_id)
    theirs.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    session = bertlab.load(tmp_path)
    assert session.fill_mask("The <mask> sang.") == session.fill_mask("The [MASK] sang.")
    weights, config = load_file(tmp_path / "model.safetensors"), json.loads((tmp_path / "config.json").read_text())

    def refused(id, *, fields=None, tensors=None, **params):
        (tmp_path / "config.json").write_text(json.dumps(config | (fields or {})))
        save_file({**weights, **(tensors or {})}, tmp_path / "model.safetensors")
        with raises_error(CheckpointError, "checkpoint-unusable" if params else id) as caught:
            checkpoint.load(tmp_path)
        error = caught.value.params["reason"] if params else caught.value
        assert error.id == id
        assert {name: error.params[name] for name in params} == params

    refused("weights-of-other-family", fields={"model_type": "electra"}, other="roberta")
    refused("weights-layer-count", fields={"num_hidden_layers": 3}, stored=2)
    refused("weights-unused", tensors={"roberta.extra.weight": torch.ones(2)}, more=0)
    refused("config-quantised", fields={"quantization_config": {"quant_method": "gptq"}})
    quantised = {"lm_head.dense.weight": torch.ones(16, 16, dtype=torch.int8)}
    refused("weights-tensor-type", tensors=quantised, tensor="lm_head.dense.weight")
    name = "roberta.encoder.layer.1.output.dense.bias"
    tensor = weights.pop(name)
    refused("weights-tensor-missing", tensor=name)
    weights[name] = tensor
    refused("checkpoint-tokenizer-of-other", fields={"pad_token_id": 1})
    (tmp_path / "tokenizer.json").write_text(train_hf_tokenizer("XLMRoberta", 150).backend_tokenizer.to_str())
    refused("checkpoint-tokenizer-of-other")


def test_the_tokenizer_of_xlm_r_in_an_albert_is_refused(tmp_path):
    tokenizer = train_hf_tokenizer("XLMRoberta")
    make_hf_model("Albert", "MaskedLM", len(tokenizer) + 3).save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    with raises_error(CheckpointError, "checkpoint-token-ids-differ", ids=[1, 0, 2]) as caught:
        checkpoint.load(tmp_path)
    assert caught.value.params["fields"] == ["pad_token_id 0", "bos_token_id 2", "eos_token_id 3"]
    assert "\n" not in caught.value.render("ko") != str(caught.value)


def test_save_writes_the_ids_that_tell_tokenizers_apart(tiny_tokenizer, tmp_path):
    save_hf_checkpoint(tmp_path / "hf", "Albert", "MaskedLM", tiny_tokenizer)
    loaded = checkpoint.load(tmp_path / "hf")
    exported = checkpoint.save(tmp_path / "out", loaded.model, loaded.tokenizer, {})
    train_hf_tokenizer("XLMRoberta").save_pretrained(exported)
    with raises_error(CheckpointError, "checkpoint-token-ids-differ"):
        checkpoint.load(exported)


@pytest.mark.parametrize(
    ("prefix", "first_ids"),
    [
        ("Albert", ["[PAD]", *(f"[unused{n}]" for n in range(1, 9)), "[UNK]", "[CLS]", "[SEP]", "[MASK]"]),
        ("Albert", ["[UNK]", "[PAD]", "[CLS]", "[SEP]", "[MASK]"]),
        ("Bert", ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]),
    ],
    ids=["BERT's vocabulary", "KoBERT's vocabulary", "XLM-R's vocabulary, as in the multilingual MiniLM"],
)
def test_a_tokenizer_with_some_other_ids_opens(prefix, first_ids, tmp_path):
    backend = tokenizers.Tokenizer(tokenizers.models.Unigram([(token, -1.0) for token in [*first_ids, "▁tea"]], 0))
    backend.save(str(tmp_path / "tokenizer.json"))
    make_hf_model(prefix, "MaskedLM", len(first_ids) + 1).save_pretrained(tmp_path)
    assert checkpoint.load(tmp_path).config.pad_token_id == 0


def test_the_explorer_names_the_special_tokens_of_the_checkpoint(tiny_tokenizer, tmp_path):
    save_hf_checkpoint(tmp_path, "Roberta", "MaskedLM", tiny_tokenizer)
    session = bertlab.load(tmp_path)
    attention = session.attention("The potter set the <mask> down.", "A bowl.")
    assert [row.token for row in attention.tokens if row.special] == ["<s>", "</s>", "</s>", "</s>"]
    assert "<mask>" in [row.token for row in attention.tokens]
    named = {name for names in session.head_roles("The potter set the bowl down.").names_LN for name in names}
    assert named <= {"previous", "next", "itself", "same", "<s>", "</s>"}
    (fill,) = session.fill_mask("The [MASK] sang.", originals=["potter"])
    assert (fill.start, fill.end) == (4, 10)
    page = open_page("attention", checkpoint=str(tmp_path))
    assert not page.exception
    assert not errors(page)


def test_modernbert_is_explored_and_what_it_lacks_is_one_line(tiny_tokenizer, tmp_path):
    save_hf_checkpoint(tmp_path, "ModernBert", "MaskedLM", tiny_tokenizer)
    session, text = bertlab.load(tmp_path), "The potter set the [MASK] down."
    effects = session.head_effects("masked_lm", text)
    for layer, head in ((0, 1), (3, 0)):
        changed = session.intervene("masked_lm", text, changes=f"{layer}.{head}")
        outcome = next(row for row in changed.outcomes if row.label == effects.label)
        expected = outcome.log_odds_after - outcome.log_odds_before
        assert float(effects.effects_LN[layer, head]) == pytest.approx(expected, abs=1e-4)
    lens = session.lens(text)
    assert lens.final_T == lens.tokens_LT[-1]
    assert lens.rank_LT[-1].max() == 1
    with raises_error(CheckpointError, "block-of-other-layers", type="modernbert"):
        session.block(text, layer=0, head=0, position=1)
    with raises_error(CheckpointError, "positions-rotary", type="modernbert"):
        session.position_similarity()
    with raises_error(CheckpointError, "live-model-unsupported"):
        live_html(session)
    with raises_error(InterventionError, "prune-unsupported"):
        prune(session.model, [(0, 0)])


def test_the_input_page_names_the_embeddings_that_modernbert_does_not_have(tiny_tokenizer, tmp_path):
    save_hf_checkpoint(tmp_path, "ModernBert", "MaskedLM", tiny_tokenizer)
    page = open_page("input", checkpoint=str(tmp_path))
    captions = [caption.value for caption in page.caption]
    assert interface_text("input-without-position") in captions
    assert interface_text("input-without-segment") in captions
    bert = [caption.value for caption in open_page("input", checkpoint="").caption]
    assert interface_text("input-without-position") not in bert


ROWS = {
    "classification": [{"text": f"Day {i}.", "label": ("dry", "wet")[i % 2]} for i in range(12)],
    "span": [
        {
            "context": f"Keeper {i} lit the lamp.", "question": "Who lit the lamp?",
            "answers": {"text": [f"Keeper {i}"], "answer_start": [0]},
        }
        for i in range(12)
    ],
    "tagging": [{"tokens": ["Keeper", "saw", "rain"], "ner_tags": ["B-PER", "O", "O"]} for _ in range(12)],
}  # fmt: skip
COLUMNS = {
    "classification": ["--text-column", "text", "--label-column", "label"],
    "span": [],
    "tagging": ["--text-column", "tokens", "--label-column", "ner_tags"],
}


@pytest.mark.slow
@pytest.mark.parametrize("prefix", [prefix for prefix in FAMILIES if prefix != "Bert"])
def test_a_family_is_fine_tuned_and_keeps_its_architecture(prefix, tiny_tokenizer, tmp_path):
    save_hf_checkpoint(tmp_path / "pretrained", prefix, "MaskedLM", tiny_tokenizer)
    for kind, rows in ROWS.items():
        (tmp_path / f"{kind}.jsonl").write_text("\n".join(map(json.dumps, rows)))
        words = ["finetune", "custom", "--type", kind, *COLUMNS[kind], "--data", str(tmp_path / f"{kind}.jsonl")]
        words += ["--from", str(tmp_path / "pretrained"), "--out", str(tmp_path / kind), "--epochs", "1"]
        words += ["--batch-size", "4", "--max-tokens", "36", "--precision", "float32", "--threads", "1"]
        assert main([*words, "--device", "cpu", "--optim.lr", "1e-2"]) == 0
        before, after = (checkpoint.load(tmp_path / name) for name in ("pretrained", f"{kind}/checkpoint"))
        assert after.config.family == before.config.family
        weights, trained = before.model.state_dict(), after.model.state_dict()
        name = next(name for name in weights if name.startswith("encoder.") and name.endswith("up.weight"))
        assert not torch.equal(weights[name], trained[name]), f"{kind}: the layers were trained"


PRETRAINED = [name for name in list_pretrainable_families() if name != "bert"]


@pytest.mark.slow
@pytest.mark.parametrize("family", PRETRAINED)
def test_a_family_is_pretrained_and_transformers_opens_its_checkpoint(family, corpus, tmp_path):
    words = ["pretrain", str(corpus), "--out", str(tmp_path / "run"), "--family", family, "--preset", "tiny"]
    words += ["--steps", "3", "--batch-size", "4", "--max-tokens", "32", "--threads", "1", "--precision", "float32"]
    assert main([*words, "--device", "cpu", "--no-snapshots"]) == 0
    # the MLM of ELECTRA is its generator; tests/test_replaced_tokens.py tests the discriminator
    directory = tmp_path / "run" / ("generator" if family == "electra" else "checkpoint")
    ours = checkpoint.load(directory)
    assert ours.config.model_type == family
    assert ("nsp" in ours.heads) == (family == "albert")
    theirs = transformers.AutoModelForMaskedLM.from_pretrained(
        directory, dtype=torch.float32, attn_implementation="eager"
    ).eval()  # fmt: skip
    for padded in (False, True):
        batch = make_batch(ours.config.pad_token_id, ours.config.vocab_size, padded)
        (logits,) = compute_logits(ours.model, ["mlm"], batch)
        assert_close(logits, compute_theirs(theirs, batch, False).logits, batch.attention_mask_BT, TOLERANCE)


def test_a_family_brings_settings_that_flags_change():
    assert recipe_from_arguments(["--family", "modernbert"]).chosen_share == 0.3
    fast = recipe_from_arguments(["--recipe=fast", "--family=albert"])
    assert (fast.pair_objective, fast.optim.name, fast.start) == ("order", "muon", "neighbours")
    settings = make_recipe_settings(None, Path("run"), recipe="fast", family="roberta", pair_objective="next")
    assert settings.pair_objective == "next"


@pytest.mark.parametrize(
    ("family", "flags", "id"),
    [
        ("modernbert", ["--start", "neighbours"], "start-unsupported"),
        ("distilbert", ["--left-to-right"], "left-to-right-unsupported"),
    ],
)
def test_settings_that_a_family_cannot_have_are_refused(family, flags, id, corpus, tmp_path):
    run = tmp_path / "run"
    error = command_error("pretrain", str(corpus), "--out", str(run), "--family", family, "--steps", "1", *flags)
    assert (error.id, error.params["family"]) == (id, family)
