"""The objectives of pre-training: one for tokens (masked or replaced tokens) and one for sentence pairs.

`TOKEN_OBJECTIVES` lists the objectives for tokens, and `sentence_pair.PAIR_OBJECTIVES` those for sentence pairs.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Literal

from bertlab.tasks.masked_lm import PretrainingLoss
from bertlab.tasks.replaced_tokens import ReplacedTokenLoss
from bertlab.tasks.sentence_pair import PAIR_OBJECTIVES
from bertlab.text.pretraining.sentence_pairs import PairObjectiveName

TokenObjectiveName = Literal["masked", "replaced"]
"""The value "masked": predict masked tokens (MLM); "replaced": detect replaced tokens (ELECTRA)."""


@dataclass(frozen=True)
class TokenObjective:
    """An objective for tokens."""

    description: str
    """The name of the objective in `bertlab.json`."""
    head: str
    make_loss: Callable[[PretrainingLoss, float], Callable]
    """(MLM loss, weight of the discriminator's loss) -> the loss function, (model, batch) -> `Loss`."""
    has_generator: bool = False
    """Whether a `nn.replaced_tokens.ReplacedTokenModel` is trained; the checkpoint then contains its discriminator."""
    progress_metric: tuple[str, str] = ("mlm_accuracy", "masked")
    """As `task_type.ProgressMetric`."""


# name of an objective for tokens -> the objective
TOKEN_OBJECTIVES: dict[TokenObjectiveName, TokenObjective] = {
    "masked": TokenObjective("masked words", "mlm", lambda loss, weight: loss),
    # Nine in ten tokens are original, so a discriminator that finds no replaced token has an accuracy near 90 %.
    # The progress bar therefore shows the recall.
    "replaced": TokenObjective(
        "replaced words", "rtd", ReplacedTokenLoss, has_generator=True, progress_metric=("replaced_recall", "found")
    ),
}


def find_token_objective(heads: Collection[str]) -> TokenObjectiveName:
    """Find the token objective of a checkpoint from the names of its output layers; "masked" if they show none.

    >>> find_token_objective(("mlm", "nsp")), find_token_objective(("rtd",)), find_token_objective(())
    ('masked', 'replaced', 'masked')
    """
    return next((name for name, objective in TOKEN_OBJECTIVES.items() if objective.head in heads), "masked")


def describe_objectives(
    pair_objective: PairObjectiveName, left_to_right: bool = False, token_objective: TokenObjectiveName = "masked"
) -> list[str]:
    """List the objectives of a pre-training run as `bertlab.json` records them.

    >>> describe_objectives("order")
    ['masked words', 'sentence order']
    >>> describe_objectives("none", token_objective="replaced")
    ['replaced words']
    """
    pair, description = PAIR_OBJECTIVES[pair_objective], TOKEN_OBJECTIVES[token_objective].description
    return ["next words" if left_to_right else description, *([pair.description] if pair else [])]


def list_pretraining_heads(
    pair_objective: PairObjectiveName, token_objective: TokenObjectiveName = "masked"
) -> tuple[str, ...]:
    """List the output layers that a checkpoint needs for pre-training with these objectives."""
    pair = PAIR_OBJECTIVES[pair_objective]
    return (TOKEN_OBJECTIVES[token_objective].head, *([pair.head] if pair else []))
