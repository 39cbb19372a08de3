"""Initialise a student of distillation with weights of its teacher, as DistilBERT does."""

import re

import torch

from bertlab.config.errors import BertlabError
from bertlab.nn.bert import Bert

# The beginning of the name of a weight in an encoder layer; the group is the index of the layer.
_LAYER_PREFIX = re.compile(r"^encoder\.layers\.(\d+)\.")


def choose_teacher_layer(layer: int, student_layers: int, teacher_layers: int) -> int:
    """Return the index of the teacher's layer whose weights are copied to a layer of the student.

    >>> [choose_teacher_layer(layer, 3, 6) for layer in range(3)]
    [0, 2, 4]
    """
    return layer * teacher_layers // student_layers


@torch.no_grad()
def initialise_from_teacher(student: Bert, teacher: Bert) -> None:
    """Copy the embeddings, the output layers and evenly spaced layers of a teacher into an untrained student.

    Tensors that the teacher lacks keep their random weights. Without token types, the teacher's type 0 is added to the
    position embeddings. Raises BertlabError if the models do not fit.

    Source: Sanh et al. 2019, arXiv 1910.01108, section 3.
    """
    layers, teacher_layers = student.config.num_layers, teacher.config.num_layers
    if layers > teacher_layers:
        raise BertlabError("start-teacher-too-shallow", layers=layers, teacher_layers=teacher_layers)
    weights, teacher_weights = student.state_dict(), teacher.state_dict()
    for name, tensor in weights.items():
        teacher_name = _LAYER_PREFIX.sub(
            lambda match: f"encoder.layers.{choose_teacher_layer(int(match[1]), layers, teacher_layers)}.", name
        )
        if (teacher_tensor := teacher_weights.get(teacher_name)) is None:
            continue
        if teacher_tensor.shape != tensor.shape:
            shapes = {"own": list(tensor.shape), "teachers": list(teacher_tensor.shape)}
            raise BertlabError("start-teacher-differs", name=name, **shapes)
        tensor.copy_(teacher_tensor)
    if "embeddings.token_type.weight" not in weights and "embeddings.token_type.weight" in teacher_weights:
        weights["embeddings.position.weight"] += teacher_weights["embeddings.token_type.weight"][0]
