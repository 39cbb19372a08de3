"""Evaluate the pre-training objectives on held-out text."""

import math
from collections.abc import Callable

import torch
from torch import nn

from bertlab.config.errors import DataError
from bertlab.tasks.masked_lm import PretrainingLoss
from bertlab.tasks.pretraining_objectives import TOKEN_OBJECTIVES, TokenObjectiveName
from bertlab.tasks.replaced_tokens import DEFAULT_WEIGHT
from bertlab.text.pretraining.corpus import Corpus
from bertlab.text.pretraining.masking import MaskRule
from bertlab.text.pretraining.sampler import PairSampler
from bertlab.text.pretraining.sentence_pairs import PairObjectiveName

# The seed of the pairs and masks for evaluation. It is fixed, so that these are the same for all models.
VALIDATION_SEED = 20181011
# The number of pairs that `bertlab evaluate pretraining` uses by default.
DEFAULT_PAIRS = 4096


def format_evaluation_command(pairs: int) -> str:
    """Format the command that evaluates a checkpoint on this many pairs.

    >>> format_evaluation_command(256)
    'bertlab evaluate pretraining --checkpoint CHECKPOINT --data VALIDATION --limit 256'
    """
    limit = "" if pairs == DEFAULT_PAIRS else f" --limit {pairs}"
    return f"bertlab evaluate pretraining --checkpoint CHECKPOINT --data VALIDATION{limit}"


def evaluate_pretraining(
    model: nn.Module,
    tokenizer,
    corpus: Corpus,
    *,
    max_pairs: int,
    max_tokens: int | None = None,
    batch_size: int = 64,
    pair_objective: PairObjectiveName = "next",
    token_objective: TokenObjectiveName = "masked",
    replaced_weight: float = DEFAULT_WEIGHT,
    progress: Callable = iter,
) -> dict:
    """Evaluate a model on the first pairs of a held-out corpus, with 15 % of the tokens masked.

    The pairs and masks are the same in every evaluation. A left-to-right model predicts every next token instead. With
    the objective "replaced", `model` is a `ReplacedTokenModel`.

    Args:
        max_tokens: maximum length of a pair; by default 128, or the number of the model's positions if smaller.

    Returns:
        masked_accuracy (0..1), mlm_loss (nats per masked token), bits_per_character; the metrics of the sentence-pair
        objective and of `ReplacedTokenLoss`; rows (pairs) and masked_tokens.
    """
    parameter = next(model.parameters())
    rule = MaskRule.for_tokenizer(tokenizer).to(parameter.device)
    max_tokens = max_tokens or min(128, model.config.max_tokens)
    sampler = PairSampler(corpus, tokenizer, batch_size, max_tokens, VALIDATION_SEED, pair_objective=pair_objective)
    loss = PretrainingLoss(rule, pair_objective, model.config.left_to_right)
    loss = TOKEN_OBJECTIVES[token_objective].make_loss(loss, replaced_weight)
    was_training = model.training
    model.eval()
    counts: dict[str, int] = {}  # part of the loss -> number of items; "rows" -> number of pairs
    sums: dict[str, float] = {}  # metric -> sum over the items that it is averaged over
    with torch.inference_mode():
        for _ in progress(range(0, max_pairs, batch_size)):
            if sampler.position.epoch:  # the corpus has no more pairs; go on, so that a progress bar reaches its end
                continue
            batch = next(sampler).to(parameter.device)
            result = loss(model, batch)
            batch_counts = {name: int(count) for name, count in loss.count_items(batch).items()} | {"rows": len(batch)}
            for name, count in batch_counts.items():
                counts[name] = counts.get(name, 0) + count
            for name, metric in result.metrics.items():
                # the metric "mlm_loss" is a mean over the items of the part "mlm"
                sums[name] = sums.get(name, 0.0) + batch_counts[name.split("_")[0]] * float(metric)
    model.train(was_training)
    means = {name: total / counts[name.split("_")[0]] for name, total in sums.items()}
    means |= result.compute_ratios(means)
    bits = bits_per_character(means["mlm_loss"] * corpus.facts["tokens"], corpus.facts["characters"])
    return {
        "masked_accuracy": means.pop("mlm_accuracy"),
        "mlm_loss": means.pop("mlm_loss"),
        "bits_per_character": bits,
        **dict(sorted(means.items())),
        "rows": counts["rows"],
        "masked_tokens": counts["mlm"],
    }


def format_metrics(metrics: dict[str, float], step: int) -> str:
    """Format metrics as a line for a terminal.

    >>> format_metrics({"masked_accuracy": 0.4312, "mlm_loss": 3.1, "bits_per_character": 1.05, "nsp_accuracy": 1.0}, 9)
    'step 9, held out: masked accuracy 43.1 %, nsp accuracy 100.0 %, bits per character 1.050'
    """
    shares = [f"{name.replace('_', ' ')} {100 * x:.1f} %" for name, x in metrics.items() if name.endswith("_accuracy")]
    bits = f"bits per character {metrics['bits_per_character']:.3f}"
    return f"step {step:,}, held out: {', '.join([*shares, bits])}"


def bits_per_character(nats: float, characters: int) -> float:
    """Compute pseudo bits per character, nats / ln 2 / characters, from the loss of the masked tokens.

    Unlike a loss per token, it does not depend on how long the tokens are. It favours a vocabulary that splits more
    words, because the other tokens of a word stay visible while one is predicted.

    Args:
        nats: the mean loss of the masked tokens times the number of all tokens.

    >>> bits_per_character(3 * math.log(2), 6)
    0.5
    """
    if characters <= 0:
        raise DataError("corpus-without-characters")
    return nats / math.log(2) / characters
