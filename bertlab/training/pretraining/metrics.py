"""How well a model does what it was pre-trained for: masked accuracy, bits per character, next sentence or order.

A model and a held-out corpus in, figures out; knows no run.
"""

import math
from collections.abc import Callable

import torch
from torch import nn

from bertlab.config.errors import DataError
from bertlab.text.pretraining.corpus import Corpus
from bertlab.text.pretraining.masking import IGNORED, MaskRule
from bertlab.text.pretraining.sampler import PairSampler
from bertlab.text.pretraining.sentence_pairs import Second
from bertlab.training.objectives import PretrainingLoss

VALIDATION_SEED = 20181011  # one fixed set of pairs and masks, whatever the run's own seed
DEFAULT_PAIRS = 4096  # that `bertlab evaluate` takes if it is not told how many


def evaluation_command(rows: int) -> str:
    """What measures a checkpoint on so many pairs.

    >>> evaluation_command(256)
    'bertlab evaluate pretraining --checkpoint CHECKPOINT --data VALIDATION --limit 256'
    """
    limit = "" if rows == DEFAULT_PAIRS else f" --limit {rows}"
    return f"bertlab evaluate pretraining --checkpoint CHECKPOINT --data VALIDATION{limit}"


def evaluate_pretraining(
    model: nn.Module,
    tokenizer,
    corpus: Corpus,
    *,
    rows: int,
    max_tokens: int | None = None,
    batch_size: int = 64,
    second: Second = "next",
    progress: Callable = iter,
) -> dict:
    """Measure the objectives on the first `rows` pairs of a held-out corpus, 15 % masks, always the same ones; of a
    model that reads from left to right every next word in their place.

    Args:
        max_tokens: in a pair; 128, or as many as the model has positions, if not given.
        second: what the model was asked of a second sentence.
        progress: wraps the parts that the pairs are taken in (say, `tqdm`).

    Returns:
        masked_accuracy (0..1), mlm_loss (nats a masked piece), bits_per_character (mlm_loss spread over the corpus's
        characters a token, so that vocabularies can be compared); nsp_accuracy and nsp_loss, or order_accuracy and
        order_loss, or neither; rows, masked_tokens.
    """
    parameter = next(model.parameters())
    rule = MaskRule.of(tokenizer).to(parameter.device)
    max_tokens = max_tokens or min(128, model.config.max_positions)
    sampler = PairSampler(corpus, tokenizer, batch_size, max_tokens, VALIDATION_SEED, second=second)
    loss = PretrainingLoss(rule, second, model.config.left_to_right)
    was_training = model.training
    model.eval()
    count = {"rows": 0, "masked": 0}
    sums: dict[str, float] = {}
    with torch.inference_mode():
        for _ in progress(range(0, rows, batch_size)):
            if sampler.place.epoch:  # the corpus has no more, and what wraps this goes to its end
                continue
            batch = next(sampler).to(parameter.device)
            figures = loss(model, batch).metrics
            _, _, labels_P = loss.hide(batch)
            masked, size = int((labels_P != IGNORED).sum()), len(batch.nsp_labels_B)
            count["masked"] += masked
            count["rows"] += size
            for name, figure in figures.items():
                sums[name] = sums.get(name, 0.0) + (masked if name.startswith("mlm_") else size) * float(figure)
    model.train(was_training)
    means = {name: s / count["masked" if name.startswith("mlm_") else "rows"] for name, s in sums.items()}
    bits = bits_per_character(means["mlm_loss"] * corpus.facts["tokens"], corpus.facts["characters"])
    return {
        "masked_accuracy": means.pop("mlm_accuracy"),
        "mlm_loss": means.pop("mlm_loss"),
        "bits_per_character": bits,
        **dict(sorted(means.items())),
        "rows": count["rows"],
        "masked_tokens": count["masked"],
    }


def format_metrics(figures: dict[str, float], step: int) -> str:
    """Figures as a line for a terminal.

    >>> format_metrics({"masked_accuracy": 0.4312, "mlm_loss": 3.1, "bits_per_character": 1.05, "nsp_accuracy": 1.0}, 9)
    'step 9, held out: masked accuracy 43.1 %, nsp accuracy 100.0 %, bits per character 1.050'
    """
    shares = [f"{name.replace('_', ' ')} {100 * x:.1f} %" for name, x in figures.items() if name.endswith("_accuracy")]
    bits = f"bits per character {figures['bits_per_character']:.3f}"
    return f"step {step:,}, held out: {', '.join([*shares, bits])}"


def bits_per_character(nats: float, characters: int) -> float:
    """Cost of the masked pieces, spread over the characters they hide: nats / ln 2 / characters.

    Unlike a loss per piece, it compares models with different vocabularies.

    Args:
        nats: sum (not mean) over the masked positions of -ln P(original piece).
        characters: how many characters these pieces stand for.

    >>> bits_per_character(3 * math.log(2), 6)
    0.5
    """
    if characters <= 0:
        raise DataError("no characters to spread the bits over")
    return nats / math.log(2) / characters
