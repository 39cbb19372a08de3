"""Replaced-token detection, the pre-training objective of ELECTRA.

A small generator is trained with MLM. Tokens sampled from the generator's predictions replace the masked tokens, and a
discriminator predicts for every token of the result whether it was replaced.

Source: Clark et al. 2020, arXiv 2003.10555, section 2, and google-research/electra.

Shape legend: B batch, T tokens, H hidden, K masked positions of a row (see `replace_tokens`), P = B * K, V vocabulary.
"""

from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F

from bertlab.nn.replaced_tokens import ReplacedTokenModel
from bertlab.tasks.loss import Loss
from bertlab.tasks.masked_lm import PretrainingLoss
from bertlab.text.batch import Batch, PairBatch
from bertlab.text.pretraining.masking import IGNORED, draw_uniform

DEFAULT_WEIGHT = 50.0
"""The weight of the discriminator's loss (lambda in section 2)."""
# The index of the random stream with which the replacements are sampled; `text.pretraining.masking` uses the streams 0
# to 2 and 4.
REPLACEMENT_STREAM = 3
CHUNK_ROWS = 1024  # how many distributions over the vocabulary are computed together, which bounds the memory


@dataclass(frozen=True)
class ReplacedTokenLoss:
    """The generator's MLM loss plus the weighted binary cross-entropy of the discriminator, a mean over all tokens."""

    mlm_loss: PretrainingLoss
    """The loss of the generator, without a sentence-pair objective."""
    weight: float = DEFAULT_WEIGHT

    def __call__(self, model: ReplacedTokenModel, batch: PairBatch) -> Loss:
        targets = self.mlm_loss.make_targets(batch)
        hidden_PH = self.mlm_loss.encode(model.generator, targets)
        generator_loss = self.mlm_loss.compute(model.generator, batch, targets, hidden_PH)
        sampled_P = sample_tokens(model, hidden_PH, batch.key_B)
        inputs, is_replaced_BT = replace_tokens(batch.inputs, sampled_P, *targets[1:])
        mask_BT = inputs.attention_mask_BT
        # the hidden states of padding are undefined
        hidden_BTH = model.discriminator(inputs).hidden_BTH.masked_fill(~mask_BT[..., None], 0.0)
        logits_BT = model.discriminator.rtd(hidden_BTH).float()
        errors_BT = F.binary_cross_entropy_with_logits(logits_BT, is_replaced_BT.float(), reduction="none")

        def average(values_BT: torch.Tensor) -> torch.Tensor:
            return (values_BT * mask_BT).sum() / mask_BT.sum().clamp(min=1)

        loss, predicted_BT = average(errors_BT), logits_BT.detach() > 0
        metrics = {
            "replaced_loss": loss.detach(),
            "replaced_weighted_loss": self.weight * loss.detach(),
            "replaced_accuracy": average(predicted_BT == is_replaced_BT),
            "replaced_share": average(is_replaced_BT),
            "replaced_predicted_share": average(predicted_BT),
            "replaced_found_share": average(predicted_BT & is_replaced_BT),
        }
        parts = {**generator_loss.parts, "replaced": self.weight * loss}
        ratios = {
            "replaced_precision": ("replaced_found_share", "replaced_predicted_share"),
            "replaced_recall": ("replaced_found_share", "replaced_share"),
        }
        return Loss(sum(parts.values()), generator_loss.metrics | metrics, mask_BT.sum(), parts, ratios)

    def count_items(self, batch: PairBatch) -> dict[str, torch.Tensor | int]:
        """Count the masked tokens and all tokens, over which the parts of the loss are averaged."""
        return {**self.mlm_loss.count_items(batch), "replaced": batch.inputs.attention_mask_BT.sum()}


@torch.no_grad()
def sample_tokens(model: ReplacedTokenModel, hidden_PH: torch.Tensor, key_B: torch.Tensor) -> torch.Tensor:
    """Sample a token from the generator's prediction for each position -> ids_P.

    Like masks, the sampled tokens are a pure function of the keys, so that a run can be resumed and batches can be
    split.
    """
    random_P = draw_uniform(key_B, REPLACEMENT_STREAM, len(hidden_PH) // max(1, len(key_B))).flatten()
    sampled = []
    for chunk_PH, chunk_P in zip(hidden_PH.split(CHUNK_ROWS), random_P.split(CHUNK_ROWS), strict=True):
        cumulative_PV = model.generator.mlm(chunk_PH).float().softmax(-1).cumsum(-1)
        # The last sum may differ from 1 because of rounding, so the random number is multiplied by this sum. With
        # `right`, a token with the probability 0 is never sampled.
        threshold_P1 = chunk_P[:, None] * cumulative_PV[:, -1:]
        index_P1 = torch.searchsorted(cumulative_PV, threshold_P1, right=True)
        sampled.append(index_P1[:, 0].clamp(max=cumulative_PV.shape[1] - 1))
    return torch.cat(sampled)


def replace_tokens(
    inputs: Batch, sampled_P: torch.Tensor, index_P: torch.Tensor, labels_P: torch.Tensor
) -> tuple[Batch, torch.Tensor]:
    """Replace tokens of a batch with sampled ones, and label the tokens that are different afterwards.

    Args:
        inputs: the batch before it was masked.
        index_P: the positions of the sampled tokens in the flattened batch.
        labels_P: the original tokens. A row with fewer than K masked tokens also has other positions. The label of
            such a position is `IGNORED`, and the token there is not replaced.

    Returns:
        The changed batch, and bool [B, T]: True for tokens that differ from the original. A sampled token that equals
        the original therefore counts as original.
    """
    original_BT = inputs.input_ids_BT
    flat = original_BT.flatten()
    new_P = torch.where(labels_P != IGNORED, sampled_P, flat[index_P])
    changed_BT = flat.scatter(0, index_P, new_P).view_as(original_BT)
    return replace(inputs, input_ids_BT=changed_BT), changed_BT != original_BT
