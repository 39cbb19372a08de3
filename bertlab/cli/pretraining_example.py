"""`bertlab pretraining-example`: sample a pre-training example from a text, and predict its masked tokens."""

from dataclasses import dataclass
from typing import Literal

from bertlab.cli.query import TextQuery, open_session, print_result, read_texts


@dataclass(frozen=True)
class PretrainingExampleOptions(TextQuery):
    """Sample one pre-training example from a text, and show its sentence pair, masks, predictions and losses.

    Examples:
      bertlab pretraining-example "She lit the oven. The bread took an hour. It smelled good."
      bertlab pretraining-example - --seed 7 --whole-word < document.txt
    """

    seed: int = 1
    """Seed of the random choices; the same seed always gives the same example."""
    pair_objective: Literal["next", "order"] = "next"
    """Sentence-pair objective: next (sentence B follows A or is a random sentence, each with a probability of 50%), or
    order (A and B are neighbours, swapped with a probability of 50%)."""
    chosen_share: float = 0.15
    """Share of all tokens that is chosen for prediction. --mask-share and --random-share say what replaces them."""
    mask_share: float = 0.8
    """Of the chosen tokens, the share that is replaced by [MASK]."""
    random_share: float = 0.1
    """Of the chosen tokens, the share that is replaced by a random token; the rest stays unchanged."""
    whole_word: bool = False
    """Mask all tokens of a word together."""
    max_tokens: int = 128
    """Maximum number of tokens in the example."""
    top_k: int = 5
    """Number of predictions for each token."""


def pretraining_example(config: PretrainingExampleOptions) -> None:
    """Print the example, its predictions and its losses."""
    from bertlab.abilities.pretraining_example.lines import example_lines

    (text,) = read_texts(config.text)
    session = open_session(config, "fill-mask", text)
    example = session.pretraining_example(
        text, config.seed, top_k=config.top_k, pair_objective=config.pair_objective, chosen_share=config.chosen_share,
        mask_share=config.mask_share, random_share=config.random_share, whole_word=config.whole_word,
        max_tokens=config.max_tokens,
    )  # fmt: skip
    print_result(config, session, example, lambda: example_lines(example))
