"""Longformer and BigBird: the numbers of `transformers`, the pattern of the attention, and what is refused."""

import json

import pytest
import torch
import transformers
from support.encoders import assert_close, scramble
from support.errors import raises_error
from support.families import SIZES, train_hf_tokenizer
from support.pages import errors, open_page
from support.texts import text as interface_text
from support.tiny_model import TEXTS

import bertlab
from bertlab.abilities.cost import Workload
from bertlab.abilities.cost.flops import count_score_flop
from bertlab.checkpoints import checkpoint, onnx_files
from bertlab.config.errors import CheckpointError
from bertlab.config.presets import get_preset
from bertlab.config.sparse import BlockAttention, WindowAttention
from bertlab.nn.trace import Trace
from bertlab.nn.variants.sparse import make_block_mask
from bertlab.text.batch import Batch

TOLERANCE = 1e-5
QUESTION, PASSAGE = "Who set the bowl down by the river?", "The potter set the bowl down and then she sang. " * 3


def save_longformer(directory, head: str) -> torch.nn.Module:
    """Write a tiny Longformer, whose layers have windows of 4 and 8 tokens, and return the model of `transformers`."""
    tokenizer = train_hf_tokenizer("Roberta")
    config = transformers.LongformerConfig(
        **SIZES | {"max_position_embeddings": 140, "type_vocab_size": 1, "layer_norm_eps": 1e-5},
        vocab_size=len(tokenizer), attention_window=[4, 8], pad_token_id=tokenizer.pad_token_id,
        sep_token_id=tokenizer.sep_token_id, num_labels=2,
    )  # fmt: skip
    return _save(
        directory, getattr(transformers, f"LongformerFor{head}" if head else "LongformerModel"), config, tokenizer
    )


def save_big_bird(directory, head: str, **changes) -> torch.nn.Module:
    """Write a tiny BigBird, whose blocks have 4 tokens, and return the model of `transformers`."""
    tokenizer = transformers.BigBirdTokenizer().train_new_from_iterator(TEXTS * 3, 300)
    config = transformers.BigBirdConfig(
        **SIZES | {"max_position_embeddings": 200, "block_size": 4, "num_random_blocks": 2, "num_labels": 2} | changes,
        vocab_size=len(tokenizer), pad_token_id=tokenizer.pad_token_id, sep_token_id=tokenizer.sep_token_id,
    )  # fmt: skip
    return _save(directory, getattr(transformers, f"BigBirdFor{head}" if head else "BigBirdModel"), config, tokenizer)


def _save(directory, kind, config, tokenizer) -> torch.nn.Module:
    model = scramble(kind(config))
    model.tie_weights()
    model.save_pretrained(directory)
    tokenizer.save_pretrained(directory)
    return model.eval()


def compare(ours, theirs, batch: Batch, head: str, *, with_types: bool) -> list[torch.Tensor]:
    """Compare hidden states and logits with those of `transformers`; return our attention of every layer."""
    inputs = {"input_ids": batch.input_ids_BT, "attention_mask": batch.attention_mask_BT.long()}
    if with_types:
        inputs["token_type_ids"] = batch.token_type_ids_BT
    if head == "MultipleChoice":
        inputs = {name: tensor[None] for name, tensor in inputs.items()}
    trace, is_token_BT = Trace.of("hidden", "probs"), batch.attention_mask_BT
    with torch.no_grad():
        outputs = theirs(**inputs, output_hidden_states=True)
        ours.model(batch, trace=trace)
        logits = {name: ours.model.logits(name, batch) for name in ours.heads}
    for ours_BTH, theirs_BTH in zip(trace["hidden"], outputs.hidden_states, strict=True):
        assert_close(ours_BTH, theirs_BTH[:, : ours_BTH.shape[1]], is_token_BT, TOLERANCE)
    if head == "QuestionAnswering":
        # `transformers` subtracts a million from the logits of the question's tokens in BigBird
        is_scored_BT = is_token_BT & (outputs.start_logits > -1e5)
        assert (is_scored_BT[:, 0] & is_scored_BT[:, 6]).all()
        their_logits = torch.stack([outputs.start_logits, outputs.end_logits], -1)
        assert_close(logits["span"], their_logits, is_scored_BT, TOLERANCE)
    elif head == "PreTraining":
        assert_close(logits["mlm"], outputs.prediction_logits, is_token_BT, TOLERANCE)
        assert_close(logits["nsp"], outputs.seq_relationship_logits, None, TOLERANCE)
    elif head:
        (our_logits,) = logits.values()
        their_logits = outputs.logits.T if head == "MultipleChoice" else outputs.logits
        assert_close(
            our_logits, their_logits, is_token_BT if our_logits.shape[:2] == is_token_BT.shape else None, TOLERANCE
        )
    return trace["probs"]


@pytest.mark.parametrize(
    "head", ["", "MaskedLM", "SequenceClassification", "TokenClassification", "QuestionAnswering", "MultipleChoice"]
)
def test_a_longformer_computes_the_same_numbers_and_is_exported_again(head, tmp_path):
    theirs = save_longformer(tmp_path / "hf", head)
    loaded = checkpoint.load(tmp_path / "hf")
    encoded = train_hf_tokenizer("Roberta")([QUESTION, "Who?"], [PASSAGE] * 2, padding=True, return_tensors="pt")
    batch = Batch(encoded.input_ids, torch.zeros_like(encoded.input_ids), encoded.attention_mask.bool())
    probs = compare(loaded, theirs, batch, head, with_types=False)
    position_T = torch.arange(probs[0].shape[-1])
    for side, probs_BNTT in zip((2, 4), probs, strict=True):
        is_near_TT = (position_T[:, None] - position_T).abs() <= side
        far_BNTT = probs_BNTT[:1].masked_fill(is_near_TT, 0)  # the second input has padding
        if head in ("", "MaskedLM", "TokenClassification"):
            assert not far_BNTT.any()
        elif head == "SequenceClassification":
            assert far_BNTT[:, :, 0].any()
            assert far_BNTT[..., 0].any()
            assert not far_BNTT[:, :, 1:, 1:].any()
        else:
            assert far_BNTT.any()
    exported = checkpoint.save(tmp_path / "out", loaded.model, loaded.tokenizer, {}, dtype=torch.float32)
    again, info = type(theirs).from_pretrained(exported, output_loading_info=True)
    assert not info["missing_keys"]
    compare(loaded, again.eval(), batch, head, with_types=False)
    assert again.config.attention_window == [4, 8]


@pytest.mark.parametrize(
    "head",
    ["", "MaskedLM", "PreTraining", "SequenceClassification", "TokenClassification", "QuestionAnswering",
     "MultipleChoice"],
)  # fmt: skip
def test_a_big_bird_computes_the_same_numbers_and_is_exported_again(head, tmp_path):
    theirs = save_big_bird(tmp_path / "hf", head)
    loaded = checkpoint.load(tmp_path / "hf")
    generator = torch.Generator().manual_seed(1)
    for T in (61, 20):  # `transformers` continues with full attention after the first short text
        input_ids_BT = torch.randint(6, loaded.tokenizer.vocab_size, (2, T), generator=generator)
        attention_mask_BT = torch.ones(2, T, dtype=torch.bool)
        attention_mask_BT[1, -13:], input_ids_BT[1, -13:] = False, loaded.config.pad_token_id
        input_ids_BT[:, 5] = loaded.tokenizer.sep_id  # the end of the question
        token_type_ids_BT = (torch.arange(T) > 8).long().expand(2, T)
        batch = Batch(input_ids_BT, token_type_ids_BT, attention_mask_BT)
        probs = compare(loaded, theirs, batch, head, with_types=True)
        if T == 61:  # block 5 attends to blocks 0, 4, 5, 6 and 15
            is_seen_T = probs[0][0, :, 20:24].sum((0, 1)) > 0
            assert is_seen_T.nonzero().flatten().tolist() == [*range(4), *range(16, 28), 60]
            assert (probs[0][0, :, :4] > 0).all()
        else:
            assert (probs[0][0] > 0).all()
    exported = checkpoint.save(tmp_path / "out", loaded.model, loaded.tokenizer, {}, dtype=torch.float32)
    again, info = type(theirs).from_pretrained(exported, output_loading_info=True)
    assert not [name for name in info["missing_keys"] if ".pooler." not in name]  # a classifier does not use it
    assert (again.config.block_size, again.config.attention_type) == (4, "block_sparse")
    assert again.config.sep_token_id == theirs.config.sep_token_id
    compare(loaded, again.eval(), batch, head, with_types=True)


def test_a_head_of_sparse_attention_can_be_ablated(tmp_path):
    save_longformer(tmp_path / "long", "MaskedLM")
    save_big_bird(tmp_path / "bird", "MaskedLM")
    text = "The potter set the [MASK] down by the river, and " + PASSAGE
    for name in ("long", "bird"):
        session = bertlab.load(tmp_path / name)
        effects = session.head_effects("masked_lm", text)
        changed = session.intervene("masked_lm", text, changes="0.1")
        outcome = next(row for row in changed.outcomes if row.label == effects.label)
        assert float(effects.effects_LN[0, 1]) == pytest.approx(
            outcome.log_odds_after - outcome.log_odds_before, abs=1e-4
        )
        with raises_error(CheckpointError, "block-of-other-layers"):
            session.block(text, layer=0, head=0, position=1)
        with raises_error(CheckpointError, "onnx-sparse"):
            onnx_files.save(tmp_path / "onnx", session.model, session.tokenizer, {})


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        ("long", {"attention_window": [4]}),
        ("long", {"attention_window": 5}),
        ("long", {"attention_window": "4"}),
        ("long", {"sep_token_id": None}),
        ("bird", {"block_size": 0}),
        ("bird", {"num_random_blocks": -1}),
        ("bird", {"attention_type": "dense"}),
        ("bird", {"rescale_embeddings": True}),
    ],
)
def test_invalid_settings_are_refused(kind, fields, tmp_path):
    save_longformer(tmp_path, "MaskedLM") if kind == "long" else save_big_bird(tmp_path, "MaskedLM")
    path = tmp_path / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | fields))
    with raises_error(CheckpointError, "config-field-unsupported") as caught:
        checkpoint.load(tmp_path)
    assert caught.value.params["name"] == next(iter(fields))


def test_the_attention_page_describes_the_pattern(tmp_path):
    save_longformer(tmp_path / "long", "MaskedLM")
    save_big_bird(tmp_path / "bird", "MaskedLM")
    for name, a, id, values in (
        ("long", QUESTION, "attention-pattern-window-global", {"layer": 1, "side": 4}),
        ("bird", QUESTION, "attention-pattern-block-full", {"limit": 36}),
        ("bird", PASSAGE, "attention-pattern-block", {"size": 4}),
    ):
        page = open_page("attention", checkpoint=str(tmp_path / name), a=a, b="", layer="1")
        assert not page.exception
        assert not errors(page)
        assert interface_text(id, **values) in [caption.value for caption in page.caption]


def test_counted_pairs_are_those_of_the_masks():
    blocks = BlockAttention(block_size=2, num_random_blocks=0)
    for tokens in (12, 20, 40):
        mask_11TT = make_block_mask(torch.zeros(1, tokens, 1), blocks)
        assert blocks.count_pairs(tokens) == int((mask_11TT >= 0).sum())
    position_T = torch.arange(30)
    near_TT = (position_T[:, None] - position_T).abs() <= 3
    assert WindowAttention((6,)).count_pairs(30) == int(near_TT.sum())


def test_sparse_attention_grows_with_the_length_and_full_attention_with_its_square():
    workload = Workload(get_preset("base"))
    flop = count_score_flop(workload, [8192, 16384])
    ratios = {name: after / before for name, (before, after) in flop.items() if name != "tokens"}
    assert ratios["full"] == 4
    assert 2 <= ratios["longformer"] < 2.1
    assert 2 <= ratios["big-bird"] < 2.1
    page = open_page("cost")
    assert not page.exception
    assert not errors(page)
    flop = {name: column[0] for name, column in count_score_flop(workload, [4096]).items()}
    longformer, big_bird = (f"{flop['full'] / flop[name]:.1f}" for name in ("longformer", "big-bird"))
    note = interface_text("cost-sparse-note", tokens=4096, longformer=longformer, bigbird=big_bird)
    assert note in [caption.value for caption in page.caption]
