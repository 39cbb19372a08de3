"""Split the score of each choice into the products that add up to it (Devlin et al. 2019, section 4.4).

A product is one component of the choice's pooled [CLS] vector times the same component of the vector W, which is the
weight of the multiple-choice output layer.

Shape legend: C choices, H hidden.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bertlab.nn.bert import Bert
from bertlab.tasks.inference import find_device
from bertlab.tasks.multiple_choice import Choice, make_choices
from bertlab.text.batch import collate
from bertlab.text.tokenizers.wordpiece import Encoding


@dataclass(frozen=True)
class ChoiceScores:
    """The choices of a context, and the products and the bias that add up to their scores."""

    choices: tuple[Choice, ...]
    """The choices, in the given order."""
    products_CH: np.ndarray
    """For each choice, in each dimension, the product of W and the choice's pooled [CLS] vector."""
    bias: float
    """The bias of the output layer, which is added to the sum of the products of every choice."""


def compute_choice_scores(
    model: Bert, choices: Sequence[str], encodings: Sequence[Encoding], pad_id: int
) -> ChoiceScores:
    """Predict the probability of every choice, and split the score of the choice into products.

    The score of a choice is the sum of its products plus the bias.

    Args:
        model: the model.
        choices: the texts of the choices.
        encodings: for each choice, the encoding of the context and this choice.
        pad_id: the token id of padding.

    Raises:
        MissingHead: the model has no multiple-choice output layer.
    """
    layer = model.head("choose")
    pooled_CH = model.pool(collate(encodings, pad_id).to(find_device(model))).float()
    products_CH = pooled_CH * layer.weight[0].float()
    score_C = model.choose(pooled_CH)
    return ChoiceScores(tuple(make_choices(choices, score_C)), products_CH.cpu().numpy(), layer.bias.item())
