"""Every family: open checkpoints of `transformers`, compute the same numbers, and export them again."""

import pytest
import torch
import transformers
from support.encoders import assert_close
from support.families import FAMILIES, make_hf_model, save_hf_checkpoint

from bertlab.checkpoints import checkpoint
from bertlab.nn.trace import Trace
from bertlab.text.batch import Batch

CASES = [(prefix, head) for prefix, (_, heads) in FAMILIES.items() for head in ("", *heads)]
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
    if model.config.model_type in ("bert", "electra", "albert", "mobilebert"):
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


@pytest.mark.parametrize(("prefix", "head"), CASES)
def test_a_checkpoint_computes_the_same_numbers_and_is_exported_again(prefix, head, tiny_tokenizer, tmp_path):
    theirs = make_hf_model(prefix, head, tiny_tokenizer.vocab_size)
    save_hf_checkpoint(tmp_path / "hf", theirs, tiny_tokenizer)
    loaded = checkpoint.load(tmp_path / "hf")
    exported = checkpoint.save(tmp_path / "out", loaded.model, loaded.tokenizer, {}, dtype=torch.float32)
    assert transformers.AutoConfig.from_pretrained(exported).architectures[0] == type(theirs).__name__
    again, info = type(theirs).from_pretrained(exported, output_loading_info=True, attn_implementation="eager")
    assert not info["missing_keys"]
    assert not [name for name in info["unexpected_keys"] if ".pooler." not in name]
    for padded in (False, True):
        batch = make_batch(loaded.config.pad_token_id, tiny_tokenizer.vocab_size, padded)
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
