"""Distillation in fine-tuning: a classifier learns the labels of the rows and the predictions of a teacher.

Shape legend: B batch, K labels.
"""

import hashlib
from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from torch import nn

from bertlab.checkpoints import checkpoint
from bertlab.config.errors import BertlabError
from bertlab.nn.bert import Bert
from bertlab.tasks.loss import Loss, label_loss
from bertlab.tasks.training_data import TrainingData
from bertlab.text.batch import LabelBatch


@dataclass(frozen=True)
class DistilledLabelLoss:
    """The weighted mean of two cross-entropies: against the labels, and against the probabilities of a teacher.

    Source: Hinton et al. 2015 (arXiv 1503.02531), section 2, at temperature 1.
    """

    teacher: Bert
    """A classifier, whose weights do not change."""
    teacher_digest: str
    """A digest of these weights as they were loaded."""
    label_indices: tuple[int, ...]
    """For each label of the student, its index among the teacher's labels."""
    share: float
    """The weight of the cross-entropy against the teacher, 0 to 1; the one against the labels has weight 1 - share."""

    def __call__(self, model: nn.Module, batch: LabelBatch) -> Loss:
        logits_BK = model.classify(model.pool(batch.inputs)).float()
        with torch.no_grad():
            teacher_BK = self.teacher.logits("classify", batch.inputs)[:, list(self.label_indices)].softmax(-1)
        loss = label_loss(logits_BK, batch)
        value = (1 - self.share) * loss.value + self.share * F.cross_entropy(logits_BK, teacher_BK)
        return replace(loss, value=value)


def add_teacher(data: TrainingData, source: str, share: float) -> TrainingData:
    """Return the data of a classification run with a loss that includes the predictions of a teacher.

    Args:
        data: the data.
        source: the checkpoint of the teacher.
        share: the weight of the teacher's predictions, 0 to 1.

    Raises:
        BertlabError: the checkpoint cannot be opened, is no classifier, or has another vocabulary, other labels or too
            few positions.
    """
    loaded = checkpoint.load(source)
    loaded.model.require_head("classify")
    if loaded.tokenizer.digest != data.loaded.tokenizer.digest:
        raise BertlabError("teacher-of-other-vocabulary", teacher=source, checkpoint=data.loaded.name)
    teacher_labels = [label.lower() for label in loaded.config.labels]
    labels = [label.lower() for label in data.labels]
    if sorted(teacher_labels) != sorted(labels):
        raise BertlabError(
            "teacher-of-other-labels", teacher=source, labels=list(loaded.config.labels), expected=list(data.labels)
        )
    if data.options.max_tokens > loaded.config.max_tokens:
        tokens, positions = data.options.max_tokens, loaded.config.max_tokens
        raise BertlabError("texts-too-long-for-teacher", tokens=tokens, positions=positions)
    indices = tuple(teacher_labels.index(label) for label in labels)
    teacher = loaded.model.eval().requires_grad_(False)
    return replace(data, distillation=DistilledLabelLoss(teacher, compute_weights_digest(teacher), indices, share))


def compute_weights_digest(model: Bert) -> str:
    """Compute a short digest of a model's weights, which identifies the teacher of a run."""
    digest = hashlib.blake2b(digest_size=8)
    for _, tensor in sorted(model.state_dict().items()):
        digest.update(tensor.numpy())
    return digest.hexdigest()
