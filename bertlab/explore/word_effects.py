"""Which words a classification goes by: each is hidden in turn, and what is said without it is compared.

A deletion test (representation erasure, Li et al. 2016, arXiv 1612.08220, section 3), measured in log-odds:
probabilities near 1 hardly move whatever is hidden. Words that matter only together are not found by it. Knows no
checkpoint.

Shape legend: R readings (the whole input, then one without each word), K labels.
"""

import torch

from bertlab.explore.encode import encode
from bertlab.explore.facts import WordEffect, WordEffects
from bertlab.explore.predict import device_of
from bertlab.explore.word_spans import MASK, mask_spans, words
from bertlab.nn.bert import Bert
from bertlab.text.batch import collate
from bertlab.text.tokenizers.wordpiece import Tokenizer

ROWS_AT_ONCE = 32


def word_effects(model: Bert, tokenizer: Tokenizer, text: str, pair: str | None = None) -> WordEffects:
    """What hiding each word does to the label's log-odds, or to the value.

    Raises:
        TextError: an empty text, or one that is too long for the model.
    """
    limit = model.config.max_positions
    readings, places = [encode(tokenizer, text, pair, limit)], []
    for second, side in enumerate((text, pair or "")):
        for start, end in words(side):
            if side[start:end] != MASK:
                hidden = mask_spans(side, [(start, end)])
                readings.append(encode(tokenizer, *((text, hidden) if second else (hidden, pair)), limit))
                places.append((side[start:end], start, end, bool(second)))
    scores_RK = torch.cat(
        [_scores(model, tokenizer, readings[at : at + ROWS_AT_ONCE]) for at in range(0, len(readings), ROWS_AT_ONCE)]
    )
    label = None
    if "classify" in model.heads:
        best = int(scores_RK[0].argmax())
        label = model.config.labels[best]
        others_RK = torch.cat([scores_RK[:, :best], scores_RK[:, best + 1 :]], dim=1)
        # log(p / (1 - p)) of a softmax, without the cancellation of 1 - p
        measure_R = scores_RK[:, best] - others_RK.logsumexp(1)
    else:
        measure_R = scores_RK[:, 0]
    drops = (measure_R[0] - measure_R[1:]).tolist()
    return WordEffects(label, tuple(WordEffect(*place, drop) for place, drop in zip(places, drops, strict=True)))


def _scores(model: Bert, tokenizer: Tokenizer, readings: list) -> torch.Tensor:
    pooled_RH = model.pooled(collate(readings, tokenizer.pad_id).to(device_of(model)))
    scores = model.classify(pooled_RH) if "classify" in model.heads else model.regress(pooled_RH)
    return scores.float().reshape(len(readings), -1).cpu()
