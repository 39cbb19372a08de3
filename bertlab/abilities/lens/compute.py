"""The logit lens, which predicts tokens from every layer (nostalgebraist 2020), and joint filling of several masks.

The MLM output layer was trained on the last layer only, so its output for earlier layers may be misleading.

Shape legend: B batch, T tokens, H hidden, L layers, M masks, V vocabulary.
"""

from collections.abc import Iterator

import numpy as np
import torch

from bertlab.abilities.encode import make_batch_of_one, make_token_rows
from bertlab.abilities.results import Filling, JointFill, Lens
from bertlab.config.errors import TextError
from bertlab.nn.bert import Bert
from bertlab.nn.trace import Trace
from bertlab.tasks.inference import find_device, require_positive
from bertlab.tasks.registry import TASK_TYPES
from bertlab.text.batch import Batch
from bertlab.text.tokenizers.wordpiece import Encoding, Tokenizer

MAX_LOGITS = 2**24  # maximum number of logits in memory at once


def compute_lens(model: Bert, tokenizer: Tokenizer, encoding: Encoding) -> Lens:
    """Predict the token at every position from every layer, and rank the last layer's prediction in each layer.

    Raises:
        MissingHead: the model has no MLM output layer.
    """
    model.require_head(TASK_TYPES["masked_lm"].head)
    trace = Trace.of("hidden")
    model(make_batch_of_one(encoding, find_device(model)), trace=trace)
    hidden_LTH = model.normalise_layers(torch.cat(trace["hidden"]))
    final_T = torch.cat([probs_TV.argmax(-1) for probs_TV, _ in _predict_in_chunks(model, tokenizer, hidden_LTH[-1])])
    # All layers are computed together: for a short text this takes no longer than one layer, because reading the
    # embeddings of all tokens, with which the logits are computed, takes most of the time.
    targets_T = final_T.repeat(len(hidden_LTH))
    parts = [
        _rank_final_tokens(probs_TV, targets_T[chunk])
        for probs_TV, chunk in _predict_in_chunks(model, tokenizer, hidden_LTH.flatten(0, 1))
    ]
    ids, probs, ranks, final_probs = (
        torch.cat(tensors).view(hidden_LTH.shape[:2]).cpu().numpy() for tensors in zip(*parts, strict=True)
    )
    return Lens(
        tokens=make_token_rows(encoding),
        tokens_LT=tuple(tuple(tokenizer.tokens(ids_T)) for ids_T in ids.tolist()),
        probs_LT=probs,
        final_T=tuple(tokenizer.tokens(final_T.tolist())),
        rank_LT=ranks,
        probs_of_final_LT=final_probs,
    )


def fill_jointly(
    model: Bert, tokenizer: Tokenizer, encoding: Encoding, text: str, pair: str | None = None, beams: int = 5
) -> JointFill:
    """Fill all masks together by beam search from left to right; each token depends on those filled in before.

    BERT defines no joint probability; the product p(first) p(second | first) ... from left to right is used. Another
    order would give another product. For two masks, the search is exhaustive with as many beams as there are tokens in
    the vocabulary.

    Args:
        model: the model.
        tokenizer: its tokenizer.
        encoding: the encoded input.
        text: the text of the input.
        pair: the second text, if the input is a pair.
        beams: how many fillings the search keeps after each mask.

    Raises:
        MissingHead: the model has no MLM output layer.
        TextError: there is no [MASK].
    """
    model.require_head(TASK_TYPES["masked_lm"].head)
    require_positive(beams=beams)
    positions = [position for position, id in enumerate(encoding.ids) if id == tokenizer.mask_id]
    if not positions:
        raise TextError("mask-missing")
    batch = make_batch_of_one(encoding, find_device(model))
    independent_logp_MV = _predict_masks(model, tokenizer, batch, batch.input_ids_BT, positions)[0]
    independent_ids = independent_logp_MV.argmax(-1)
    # One more row of the batch contains the independent predictions, so that the joint probability of these
    # tokens is computed even if the beam search drops them.
    ids_BT, logp_B = batch.input_ids_BT, torch.zeros(1, device=independent_logp_MV.device)
    independent_input_1T, independent_logp = batch.input_ids_BT.clone(), 0.0
    for mask, position in enumerate(positions):
        rows_BT = torch.cat([ids_BT, independent_input_1T])
        logp_BV = _predict_masks(model, tokenizer, batch, rows_BT, [position])[:, 0]
        independent_logp += float(logp_BV[-1, independent_ids[mask]])
        independent_input_1T[0, position] = independent_ids[mask]
        logp_BV = logp_B[:, None] + logp_BV[:-1]
        logp_B, flat_index_B = logp_BV.flatten().topk(min(beams, logp_BV.numel()))
        ids_BT = ids_BT[flat_index_B // logp_BV.shape[1]].clone()
        ids_BT[:, position] = flat_index_B % logp_BV.shape[1]

    def make_filling(ids_T: torch.Tensor, logp: float) -> Filling:
        """Make a filling from an input whose masks are filled, and the joint log-probability of the tokens in them."""
        tokens = tuple(tokenizer.tokens(ids_T[positions].tolist()))
        # "Ġ" and "▁" stand for the space before a word
        words = tokens if tokenizer.kind == "WordPiece" else tuple(token.lstrip("Ġ▁") for token in tokens)
        return Filling(tokens, float(np.exp(logp)), _fill_text(encoding, positions, words, text, pair))

    return JointFill(
        fillings=tuple(map(make_filling, ids_BT, logp_B.tolist())),
        independent=make_filling(independent_input_1T[0], independent_logp),
        independent_probs=tuple(independent_logp_MV.max(-1).values.exp().tolist()),
        spans=tuple(encoding.offsets[position] for position in positions),
    )


def _predict_in_chunks(
    model: Bert, tokenizer: Tokenizer, hidden_TH: torch.Tensor
) -> Iterator[tuple[torch.Tensor, slice]]:
    """Yield probabilities over the vocabulary for a few positions at a time, with the slice of these positions."""
    size = max(1, MAX_LOGITS // tokenizer.vocab_size)
    for first in range(0, len(hidden_TH), size):
        chunk = slice(first, first + size)
        # The embedding table may be padded to a convenient size; its extra rows have no token.
        yield model.mlm(hidden_TH[chunk])[:, : tokenizer.vocab_size].softmax(-1), chunk


def _rank_final_tokens(probs_TV: torch.Tensor, final_T: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Find the most probable tokens, their probabilities, and the rank and probability of the last layer's tokens."""
    best_probs_T, ids_T = probs_TV.max(-1)
    final_probs_T = probs_TV.gather(-1, final_T[:, None])[:, 0]
    ranks_T = (probs_TV > final_probs_T[:, None]).sum(-1) + 1
    return ids_T, best_probs_T, ranks_T, final_probs_T


def _predict_masks(
    model: Bert, tokenizer: Tokenizer, batch: Batch, ids_BT: torch.Tensor, positions: list[int]
) -> torch.Tensor:
    """Compute log-probabilities at some positions of inputs that differ from `batch` only in their ids -> [B, M, V]."""
    rows_at_once = max(1, MAX_LOGITS // (tokenizer.vocab_size * len(positions)))
    parts = []
    for part_BT in ids_BT.split(rows_at_once):
        types_BT = batch.token_type_ids_BT.expand_as(part_BT)
        part_batch = Batch(part_BT, types_BT, torch.ones_like(part_BT, dtype=torch.bool))
        row_start_B1 = torch.arange(len(part_BT), device=part_BT.device)[:, None] * part_BT.shape[1]
        index_BM = row_start_B1 + torch.tensor(positions, device=part_BT.device)
        logits_BMV = model.logits("mlm", part_batch, index_BM.flatten()).unflatten(0, index_BM.shape)
        parts.append(logits_BMV[..., : tokenizer.vocab_size].log_softmax(-1))
    return torch.cat(parts)


def _fill_text(encoding: Encoding, positions: list[int], tokens: tuple[str, ...], text: str, pair: str | None) -> str:
    """Replace the masks of a text, and of its pair, by tokens, and join the two texts by " | "."""
    parts = [text] if pair is None else [text, pair]
    for position, token in reversed(list(zip(positions, tokens, strict=True))):
        (start, end), segment = encoding.offsets[position], encoding.token_type_ids[position]
        parts[segment] = parts[segment][:start] + token + parts[segment][end:]
    return " | ".join(parts)
