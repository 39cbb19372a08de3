"""Masked language modelling: the pre-training loss, and the prediction of masked tokens.

Shape legend: B batch, T tokens, H hidden, P positions to predict, R positions of the hidden states that `encode`
computes ([CLS] of every row, then the P positions), M masks, V vocabulary.
"""

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn

from bertlab.checkpoints.checkpoint import Checkpoint
from bertlab.config.errors import TextError
from bertlab.nn.fast.cross_entropy import decoded_cross_entropy
from bertlab.tasks.loss import Loss
from bertlab.tasks.recomputable_prediction import RecomputablePrediction
from bertlab.tasks.sentence_pair import PAIR_OBJECTIVES
from bertlab.tasks.task_type import TaskType
from bertlab.text.pretraining.masking import IGNORED, MaskRule, label_next_tokens, mask_tokens
from bertlab.text.pretraining.sentence_pairs import PairObjectiveName
from bertlab.text.tokenizers.wordpiece import Encoding, Tokenizer


@dataclass(frozen=True)
class PretrainingLoss:
    """The pre-training loss of a `PairBatch`: the mean loss of the tokens to predict plus that of the sentence pairs.

    Source: Devlin et al. 2019, appendix A.2; for distillation, Hinton et al. 2015 and Sanh et al. 2019.
    """

    rule: MaskRule
    """How the tokens to mask are chosen; the random choice is made on the device of the batch."""
    pair_objective: PairObjectiveName = "next"
    left_to_right: bool = False
    """Whether to predict each token from the tokens before it, without masks; for causal attention (section 5.1)."""
    teacher: nn.Module | None = None
    """The teacher of distillation, a model with an MLM output layer and the same vocabulary; None if there is none."""
    teacher_share: float = 0.5
    """The share of the teacher's distribution in the target; the original token has the remaining share."""
    cosine_weight: float = 0.0
    """The weight of the cosine distance between the last hidden states of model and teacher at the tokens to predict;
    if it is not 0, model and teacher must have the same hidden size."""

    def make_targets(self, batch) -> tuple:
        """Mask a batch with `mask_tokens`; with `left_to_right`, call `label_next_tokens` instead.

        Returns:
            The inputs; the positions to predict in the flattened batch, [P]; the labels at these positions, [P].
        """
        if self.left_to_right:
            return label_next_tokens(batch.inputs)
        return mask_tokens(batch.inputs, batch.key_B, self.rule)

    def __call__(self, model: nn.Module, batch) -> Loss:
        targets = self.make_targets(batch)
        return self.compute(model, batch, targets, self.encode(model, targets))

    def encode(self, model: nn.Module, targets: tuple) -> torch.Tensor:
        """Compute hidden_RH, the last layer's output at the [CLS] of every pair, then at the positions to predict.

        Without a sentence-pair objective, the positions of [CLS] are left out.
        """
        inputs, index_P, _ = targets
        B, T = inputs.input_ids_BT.shape
        num_pairs = B if PAIR_OBJECTIVES[self.pair_objective] else 0
        cls_index = torch.arange(num_pairs, device=index_P.device) * T
        return model.encode_positions(inputs, torch.cat([cls_index, index_P]))

    def compute(self, model: nn.Module, batch, targets: tuple, hidden_RH: torch.Tensor) -> Loss:
        """Compute the loss of a batch from its targets and the output of `encode`."""
        inputs, index_P, labels_P = targets
        B = len(batch)
        hidden_PH = hidden_RH[len(hidden_RH) - len(labels_P) :]
        objective = PAIR_OBJECTIVES[self.pair_objective]
        head = model.heads["mlm"]
        teacher_PH, teacher_PV = self._run_teacher(inputs, index_P, len(model.embeddings.token.weight))
        loss, mlm_loss, num_correct = decoded_cross_entropy(
            head.transform(hidden_PH), head.make_decoder_weight(model.embeddings.token.weight), head.bias, labels_P,
            teacher_PV, self.teacher_share,
        )  # fmt: skip
        has_label_P = labels_P != IGNORED
        num_labels = has_label_P.sum().clamp(min=1)
        metrics, parts = {"mlm_loss": mlm_loss, "mlm_accuracy": num_correct / num_labels}, {"mlm": loss}
        if self.cosine_weight:
            similarity_P = F.cosine_similarity(hidden_PH.float(), teacher_PH.float(), dim=-1)
            distance = ((1 - similarity_P) * has_label_P).sum() / num_labels
            parts["cosine"] = self.cosine_weight * distance
            metrics["cosine_distance"] = distance.detach()
        if objective:
            logits_B2 = model.head(objective.head)(model.pooler(hidden_RH[:B, None])).float()
            parts[objective.name] = pair_loss = F.cross_entropy(logits_B2, batch.pair_labels_B)
            with torch.no_grad():
                accuracy = (logits_B2.argmax(-1) == batch.pair_labels_B).float().mean()
            metrics |= {f"{objective.name}_loss": pair_loss.detach(), f"{objective.name}_accuracy": accuracy}
        return Loss(sum(parts.values()), metrics, inputs.attention_mask_BT.sum(), parts)

    @torch.no_grad()
    def _run_teacher(self, inputs, index_P: torch.Tensor, size: int) -> tuple[torch.Tensor | None, ...]:
        """Compute the teacher's hidden states, [P, H], and logits, [P, V], V = `size`; both None without a teacher."""
        if self.teacher is None:
            return None, None
        hidden_PH = self.teacher.encode_positions(inputs, index_P)
        logits_PV = self.teacher.mlm(hidden_PH)
        # The teacher's embedding table may have more or fewer padding rows after the vocabulary than the student's.
        return hidden_PH, F.pad(logits_PV, (0, size - logits_PV.shape[1]), value=float("-inf"))

    def count_items(self, batch) -> dict[str, torch.Tensor | int]:
        """Count the tokens to predict and the sentence pairs, over which the parts of the loss are averaged."""
        _, _, labels_P = self.make_targets(batch)
        objective = PAIR_OBJECTIVES[self.pair_objective]
        token_parts = ("mlm", "cosine") if self.cosine_weight else ("mlm",)
        counts = dict.fromkeys(token_parts, (labels_P != IGNORED).sum())
        return counts | ({objective.name: len(batch)} if objective else {})


# -- prediction --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Candidate:
    """A token that the model predicts for a mask."""

    token: str
    """The token as in the vocabulary; "##" marks tokens that continue a word."""
    id: int
    probability: float


@dataclass(frozen=True)
class Original:
    """The token that a [MASK] replaced, and the probability that the model assigns to it."""

    token: str
    id: int
    probability: float
    rank: int
    """The rank of the token by probability; 1 is the most probable."""

    @property
    def loss(self) -> float:
        """The negative log-probability in nats; the MLM loss is its mean over the predicted tokens."""
        return -math.log(max(self.probability, sys.float_info.min))


@dataclass(frozen=True)
class MaskFill:
    """The predictions for one mask."""

    position: int
    """The position of the mask among the tokens of the input."""
    start: int
    """The index of the first character of [MASK] in the text."""
    end: int
    """The index of the character after [MASK]."""
    candidates: tuple[Candidate, ...]
    """The most probable tokens, most probable first."""
    original: Original | None = None
    """The token that the mask replaced; None if it is unknown or not a single token."""


def read_mask_logits(
    tokenizer: Tokenizer,
    encoding: Encoding,
    positions: Sequence[int],
    logits_MV: torch.Tensor,
    top_k: int = 5,
    originals: Sequence[str] = (),
) -> list[MaskFill]:
    """Find the `top_k` most probable tokens for every [MASK], independently of the other masks.

    Args:
        positions: the positions of the masks, from `find_mask_positions`.
        originals: the words that the masks replaced, in order; "" for a mask whose word is not known. A word of several
            tokens is treated in the same way.
    """
    # the embedding table may be padded, and its last rows then belong to no token
    probs_MV = logits_MV[:, : tokenizer.vocab_size].softmax(-1)
    best = probs_MV.topk(min(top_k, tokenizer.vocab_size))
    words = (*originals, *[""] * len(positions))[: len(positions)]
    return [
        MaskFill(
            position,
            *encoding.offsets[position],
            tuple(map(Candidate, tokenizer.tokens(ids), ids, probs)),
            _rank_original(tokenizer, word, probs_V),
        )
        for position, word, probs_V, ids, probs in zip(
            positions, words, probs_MV, best.indices.tolist(), best.values.tolist(), strict=True
        )
    ]


def _rank_original(tokenizer: Tokenizer, word: str, probs_V: torch.Tensor) -> Original | None:
    ids = tokenizer.encode_word(word) if word else []
    if len(ids) != 1 or ids[0] == tokenizer.unk_id:
        return None
    probability = probs_V[ids[0]]
    rank = 1 + int((probs_V > probability).sum())
    return Original(tokenizer.tokens(ids)[0], ids[0], float(probability), rank)


def find_mask_positions(tokenizer: Tokenizer, encoding: Encoding) -> list[int]:
    """Find the positions of [MASK] in an input.

    Raises:
        TextError: there is no [MASK].
    """
    positions = [position for position, id in enumerate(encoding.ids) if id == tokenizer.mask_id]
    if not positions:
        raise TextError("mask-missing")
    return positions


def _recompute(
    task_type: TaskType, loaded: Checkpoint, encoding: Encoding, pair: str | None, mask: int
) -> RecomputablePrediction:
    positions = find_mask_positions(loaded.tokenizer, encoding)
    if not 0 <= mask < len(positions):
        raise TextError("mask-out-of-range", mask=mask, last=len(positions) - 1)

    def compute_logits(hidden_B1H: torch.Tensor) -> torch.Tensor:
        return loaded.model.mlm(hidden_B1H[:, 0])[:, : loaded.tokenizer.vocab_size]

    return RecomputablePrediction(
        task_type.name, encoding, (positions[mask],), compute_logits, lambda id: loaded.tokenizer.tokens([id])[0]
    )


MASKED_LM = TaskType(name="masked_lm", head="mlm", command="fill-mask", page="fill-mask", recompute=_recompute)
