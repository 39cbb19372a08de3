"""The effect of each word on a classification: mask it and compare the predictions.

A deletion test (representation erasure, Li et al. 2016, arXiv 1612.08220, section 3), measured in log-odds because
probabilities near 1 hardly move. It does not find words that matter only together.

Shape legend: R inputs (the whole one, then one without each word), H hidden, K labels.
"""

import torch

from bertlab.explore.encode import encode
from bertlab.explore.facts import WordEffect, WordEffects
from bertlab.nn.bert import Bert
from bertlab.tasks.inference import device_of
from bertlab.text.batch import collate
from bertlab.text.tokenizers.wordpiece import Tokenizer
from bertlab.text.word_spans import MASK, mask_spans, words

BATCH_SIZE = 32


def word_effects(model: Bert, tokenizer: Tokenizer, text: str, pair: str | None = None) -> WordEffects:
    """The effect of each word on the label's log-odds, or on the value of a regression.

    Raises:
        TextError: a text is empty, or too long for the model.
    """
    encodings, places = [encode(tokenizer, text, pair, model.config)], []
    for second, side in enumerate((text, pair or "")):
        for start, end in words(side):
            if side[start:end] != MASK:
                hidden = mask_spans(side, [(start, end)])
                encodings.append(encode(tokenizer, *((text, hidden) if second else (hidden, pair)), model.config))
                places.append((side[start:end], start, end, bool(second)))
    scores_RK = torch.cat(
        [_scores(model, tokenizer, encodings[at : at + BATCH_SIZE]) for at in range(0, len(encodings), BATCH_SIZE)]
    )
    label = None
    if "classify" in model.heads:
        best = int(scores_RK[0].argmax())
        label = model.config.labels[best]
        others_RK = torch.cat([scores_RK[:, :best], scores_RK[:, best + 1 :]], dim=1)
        # log(p / (1 - p)) of a softmax, without the cancellation of 1 - p
        score_R = scores_RK[:, best] - others_RK.logsumexp(1)
    else:
        score_R = scores_RK[:, 0]
    drops = (score_R[0] - score_R[1:]).tolist()
    return WordEffects(label, tuple(WordEffect(*place, drop) for place, drop in zip(places, drops, strict=True)))


def _scores(model: Bert, tokenizer: Tokenizer, encodings: list) -> torch.Tensor:
    pooled_RH = model.pooled(collate(encodings, tokenizer.pad_id).to(device_of(model)))
    scores = model.classify(pooled_RH) if "classify" in model.heads else model.regress(pooled_RH)
    return scores.float().reshape(len(encodings), -1).cpu()
