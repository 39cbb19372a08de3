"""Distillation: open a teacher and, for classification tasks, compute a loss from its predictions and the labels.

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
from bertlab.text.tokenizers.wordpiece import Tokenizer


@dataclass(frozen=True)
class DistilledLabelLoss:
    """The weighted mean of two cross-entropies: against the labels, and against the probabilities of a teacher.

    Source: Hinton et al. 2015 (arXiv 1503.02531), section 2, at temperature 1.
    """

    head: str
    """The output layer of the student and of the teacher."""
    teacher: Bert
    label_indices: tuple[int, ...]
    """For each label of the student, its index among the teacher's labels."""
    teacher_share: float
    """The share, 0 to 1, of the cross-entropy against the teacher; the other cross-entropy has the remaining share."""

    def __call__(self, model: nn.Module, batch: LabelBatch) -> Loss:
        logits_BK = model.logits(self.head, batch.inputs).float()
        with torch.no_grad():
            teacher_BK = self.teacher.logits(self.head, batch.inputs)[:, list(self.label_indices)].softmax(-1)
        loss = label_loss(logits_BK, batch)
        teacher_loss = F.cross_entropy(logits_BK, teacher_BK)
        value = (1 - self.teacher_share) * loss.value + self.teacher_share * teacher_loss
        return replace(loss, value=value)


def add_teacher(data: TrainingData, source: str, teacher_share: float) -> TrainingData:
    """Return the data of a classification run with a loss that includes the predictions of the checkpoint `source`."""
    head = data.task_type.head
    vocabulary_error = BertlabError("teacher-of-other-vocabulary", teacher=source, checkpoint=data.loaded.name)
    loaded = open_teacher(source, head, data.loaded.tokenizer, data.options.max_tokens, vocabulary_error)
    teacher_labels = [label.lower() for label in loaded.config.labels]
    labels = [label.lower() for label in data.labels]
    if sorted(teacher_labels) != sorted(labels):
        raise BertlabError(
            "teacher-of-other-labels", teacher=source, labels=list(loaded.config.labels), expected=list(data.labels)
        )
    indices = tuple(teacher_labels.index(label) for label in labels)
    return replace(
        data,
        loss=DistilledLabelLoss(head, loaded.model, indices, teacher_share),
        teacher=loaded.model,
        fingerprint=data.fingerprint | {"teacher": compute_weights_digest(loaded.model)},
    )


def open_teacher(
    source: str, head: str, tokenizer: Tokenizer, max_input_tokens: int, vocabulary_error: BertlabError
) -> checkpoint.Checkpoint:
    """Open a teacher, freeze its weights, and check that it can read the inputs of the student.

    Args:
        head: the output layer that the teacher needs.
        tokenizer, max_input_tokens: those of the student.
    """
    loaded = checkpoint.load(source)
    if loaded.tokenizer.digest != tokenizer.digest:
        raise vocabulary_error
    loaded.model.require_head(head)
    positions = loaded.config.max_tokens
    if max_input_tokens > positions:
        raise BertlabError("inputs-too-long-for-teacher", tokens=max_input_tokens, positions=positions)
    loaded.model.eval().requires_grad_(False)
    return loaded


def compute_weights_digest(model: Bert) -> str:
    """Compute a short digest of a model's weights; it identifies the teacher of a run."""
    digest = hashlib.blake2b(digest_size=8)
    for _, tensor in sorted(model.state_dict().items()):
        digest.update(tensor.numpy())
    return digest.hexdigest()
