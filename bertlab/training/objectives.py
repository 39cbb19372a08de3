"""What is minimised: masked words plus a second sentence, and the five kinds of task. Knows no data source.

Shape legend: B batch, T tokens, H hidden, P masked positions, V vocabulary, C choices, K labels, X tagged tokens.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn

from bertlab.nn.fast.cross_entropy import decoded_cross_entropy
from bertlab.text.pretraining.masking import IGNORED, MaskRule, mask_tokens, next_tokens
from bertlab.text.pretraining.sentence_pairs import Second
from bertlab.training.gradient import Loss


@dataclass(frozen=True)
class Objective:
    """What is asked of [CLS] beside masked words. name: of its figures. told: in records. head: which answers."""

    name: str
    told: str
    head: str


SECOND: dict[Second, Objective | None] = {
    "next": Objective("nsp", "next sentence", "nsp"),
    # the same two-way head, so that the checkpoint is an ordinary BertForPreTraining; 1 says that A and B are swapped
    "order": Objective("order", "sentence order", "nsp"),
    "none": None,
}


def objectives(second: Second, left_to_right: bool = False) -> list[str]:
    """Their names, for a record.

    >>> objectives("order")
    ['masked words', 'sentence order']
    """
    return ["next words" if left_to_right else "masked words", *([asked.told] if (asked := SECOND[second]) else [])]


def heads(second: Second) -> tuple[str, ...]:
    """The heads that a model needs to be trained so."""
    return ("mlm", *([asked.head] if (asked := SECOND[second]) else []))


@dataclass(frozen=True)
class PretrainingLoss:
    """MLM mean + the mean of what is asked of the second sentence, over a `PairBatch` (Devlin et al. 2019, appendix
    A.2), masks drawn on the batch's device.

    left_to_right: for a model that reads so; every next word takes the place of the masked ones (section 5.1).
    teacher: with an mlm head over the same vocabulary; what it would put into each gap has `teacher_share` of the
    weight of what stood there (Hinton et al. 2015; Sanh et al. 2019)."""

    rule: MaskRule
    second: Second = "next"
    left_to_right: bool = False
    teacher: nn.Module | None = None
    teacher_share: float = 0.5

    def hide(self, batch) -> tuple:
        """What is read, the places asked about and what stands there, see `mask_tokens` and `next_tokens`."""
        return next_tokens(batch.inputs) if self.left_to_right else mask_tokens(batch.inputs, batch.key_B, self.rule)

    def __call__(self, model: nn.Module, batch) -> Loss:
        inputs, index_P, labels_P = self.hide(batch)
        B, T = inputs.input_ids_BT.shape
        asked = SECOND[self.second]
        cls_R = torch.arange(B if asked else 0, device=index_P.device) * T
        hidden_RH = model.hidden_rows(inputs, torch.cat([cls_R, index_P]))
        head = model.heads["mlm"]
        mlm, plain, hits = decoded_cross_entropy(
            head.transform(hidden_RH[len(cls_R) :]), model.embeddings.token.weight, head.bias, labels_P,
            self._taught(inputs, index_P, len(model.embeddings.token.weight)), self.teacher_share,
        )  # fmt: skip
        figures = {"mlm_loss": plain, "mlm_accuracy": hits / (labels_P != IGNORED).sum().clamp(min=1)}
        parts = {"mlm": mlm}
        if asked:
            logits_B2 = model.head(asked.head)(model.pooler(hidden_RH[:B, None])).float()
            parts[asked.name] = second = F.cross_entropy(logits_B2, batch.nsp_labels_B)
            with torch.no_grad():
                hits = (logits_B2.argmax(-1) == batch.nsp_labels_B).float().mean()
            figures |= {f"{asked.name}_loss": second.detach(), f"{asked.name}_accuracy": hits}
        return Loss(sum(parts.values()), figures, inputs.attention_mask_BT.sum(), parts)

    @torch.no_grad()
    def _taught(self, inputs, index_P: torch.Tensor, size: int) -> torch.Tensor | None:
        """What the teacher makes of the same gaps -> logits_PV, with as many columns as the pupil has."""
        if self.teacher is None:
            return None
        logits = self.teacher.mlm(self.teacher.hidden_rows(inputs, index_P))
        # either's table may have a few rows beyond the vocabulary
        return F.pad(logits, (0, size - logits.shape[1]), value=float("-inf"))

    def counts(self, batch) -> dict[str, torch.Tensor | int]:
        """How many masked words and sentence pairs the means are over."""
        _, _, labels_P = self.hide(batch)
        asked = SECOND[self.second]
        return {"mlm": (labels_P != IGNORED).sum()} | ({asked.name: len(batch)} if asked else {})


def classify_loss(model: nn.Module, batch) -> Loss:
    """Cross-entropy of the labels of a `LabelBatch` (section 4.1)."""
    logits_BK = model.classify(model.pooled(batch.inputs)).float()
    return _label_loss(logits_BK, batch)


def choose_loss(model: nn.Module, batch) -> Loss:
    """Cross-entropy of the right choice among the choices of each example (section 4.4)."""
    scores_BC = model.choose(model.pooled(batch.inputs.flat())).float().view(len(batch.labels_B), -1)
    return _label_loss(scores_BC, batch)


def _label_loss(logits_BK: torch.Tensor, batch) -> Loss:
    hits = (logits_BK.detach().argmax(-1) == batch.labels_B).float().mean()
    return Loss(F.cross_entropy(logits_BK, batch.labels_B), {"accuracy": hits}, batch.inputs.attention_mask_BT.sum())


def regress_loss(model: nn.Module, batch) -> Loss:
    """Mean squared error of the values of a `LabelBatch`."""
    value_B = model.regress(model.pooled(batch.inputs)).float()
    wanted_B = batch.labels_B.float()
    error = F.l1_loss(value_B.detach(), wanted_B)
    return Loss(F.mse_loss(value_B, wanted_B), {"error": error}, batch.inputs.attention_mask_BT.sum())


@dataclass(frozen=True)
class TagLoss:
    """Mean cross-entropy of the tags over the tokens that tell one (section 5.3)."""

    def __call__(self, model: nn.Module, batch) -> Loss:
        hidden_BTH, tags_BT = model(batch.inputs).hidden_BTH, batch.labels_B
        told_BT = tags_BT != IGNORED
        logits_XK, tags_X = model.tag(hidden_BTH[told_BT]).float(), tags_BT[told_BT]
        # a batch of spaces alone tells nothing, and costs nothing
        told = max(1, len(tags_X))
        hits = (logits_XK.detach().argmax(-1) == tags_X).sum() / told
        loss = F.cross_entropy(logits_XK, tags_X, reduction="sum") / told
        return Loss(loss, {"tag_accuracy": hits}, batch.inputs.attention_mask_BT.sum(), {"tag": loss})

    def counts(self, batch) -> dict[str, torch.Tensor]:
        """How many tokens the mean is over."""
        return {"tag": (batch.labels_B != IGNORED).sum()}


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


OBJECTIVES = {
    "classify": classify_loss,
    "regress": regress_loss,
    "choose": choose_loss,
    "tag": TagLoss(),
    "span": span_loss,
}
