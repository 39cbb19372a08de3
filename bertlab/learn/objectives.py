"""What is minimised: masked words plus next sentence, and the span of an answer. Knows no data source.

Shape legend: B batch, T tokens, H hidden, P masked positions, V vocabulary.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn

from bertlab.learn.cross_entropy import decoded_cross_entropy
from bertlab.learn.gradient import Loss
from bertlab.text.masking import IGNORED, MaskRule, mask_tokens


@dataclass(frozen=True)
class PretrainingLoss:
    """MLM mean + NSP mean over a `PairBatch` (Devlin et al. 2019, appendix A.2), masks drawn on the batch's device."""

    rule: MaskRule

    def __call__(self, model: nn.Module, batch) -> Loss:
        inputs, index_P, labels_P = mask_tokens(batch.inputs, batch.key_B, self.rule)
        B, T = inputs.input_ids_BT.shape
        cls_B = torch.arange(B, device=index_P.device) * T
        hidden_RH = model.hidden_rows(inputs, torch.cat([cls_B, index_P]))
        head = model.heads["mlm"]
        mlm, hits = decoded_cross_entropy(
            head.transform(hidden_RH[B:]), model.embeddings.token.weight, head.bias, labels_P
        )
        nsp_logits_B2 = model.nsp(model.pooler(hidden_RH[:B, None])).float()
        nsp = F.cross_entropy(nsp_logits_B2, batch.nsp_labels_B)
        with torch.no_grad():
            hits = hits / (labels_P != IGNORED).sum()
            nsp_hits = (nsp_logits_B2.argmax(-1) == batch.nsp_labels_B).float().mean()
        figures = {"mlm_loss": mlm.detach(), "mlm_accuracy": hits, "nsp_loss": nsp.detach(), "nsp_accuracy": nsp_hits}
        return Loss(mlm + nsp, figures, inputs.attention_mask_BT.sum(), {"mlm": mlm, "nsp": nsp})

    def counts(self, batch) -> dict[str, torch.Tensor | int]:
        """How many masked words and sentence pairs the two means are over."""
        _, _, labels_P = mask_tokens(batch.inputs, batch.key_B, self.rule)
        return {"mlm": (labels_P != IGNORED).sum(), "nsp": len(batch)}


def span_loss(model: nn.Module, batch) -> Loss:
    """Mean of the start and end cross-entropies over a `SpanBatch` (section 4.2); padding cannot be chosen."""
    inputs = batch.inputs
    logits_BT2 = model.span(model(inputs).hidden_BTH).float()
    logits_BT2 = logits_BT2.masked_fill(~inputs.attention_mask_BT[..., None], float("-inf"))
    start = F.cross_entropy(logits_BT2[..., 0], batch.start_B)
    end = F.cross_entropy(logits_BT2[..., 1], batch.end_B)
    with torch.no_grad():
        picked = logits_BT2.argmax(1)
        hits = ((picked[:, 0] == batch.start_B) & (picked[:, 1] == batch.end_B)).float().mean()
    return Loss((start + end) / 2, {"exact": hits}, inputs.attention_mask_BT.sum())
