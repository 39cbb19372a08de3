"""Measure the effect of each word on a classification: mask the word and compare the predictions.

This is a deletion test (representation erasure, Li et al. 2016, arXiv 1612.08220, section 3). Effects are measured in
log-odds, because probabilities near 1 hardly change. The test does not find words that matter only in combination.

Shape legend: R inputs (the unchanged one, then one for each masked word).
"""

from bertlab.abilities.encode import encode
from bertlab.abilities.results import WordEffect, WordEffects
from bertlab.nn.bert import Bert
from bertlab.tasks.inference import find_device
from bertlab.tasks.task_type import TaskType
from bertlab.text.batch import collate
from bertlab.text.tokenizers.wordpiece import Tokenizer
from bertlab.text.word_spans import MASK, find_words, mask_spans

BATCH_SIZE = 32  # inputs that are computed together


def compute_word_effects(
    model: Bert,
    tokenizer: Tokenizer,
    task_type: TaskType,
    text: str,
    pair: str | None = None,
) -> WordEffects:
    """Measure the effect of each word on the predicted label's log-odds, or on the value of a regression.

    Args:
        model: the model.
        tokenizer: the tokenizer of the model.
        task_type: the task type of the prediction to explain.
        text: the text.
        pair: the second text, if the input is a pair.

    Raises:
        TextError: a text is empty, or too long for the model.
    """
    encodings = [encode(tokenizer, text, pair, model.config)]
    masked_words = []  # (word, start, end, whether it is in the second text)
    for is_second, original in enumerate((text, pair or "")):
        for start, end in find_words(original):
            if original[start:end] != MASK:
                masked_text = mask_spans(original, [(start, end)])
                encodings.append(
                    encode(tokenizer, *((text, masked_text) if is_second else (masked_text, pair)), model.config)
                )
                masked_words.append((original[start:end], start, end, bool(is_second)))
    device = find_device(model)
    batches = (
        collate(encodings[first : first + BATCH_SIZE], tokenizer.pad_id).to(device)
        for first in range(0, len(encodings), BATCH_SIZE)
    )
    label, score_R = task_type.score_variants(model, task_type.head, batches)
    effects = (score_R[0] - score_R[1:]).tolist()
    return WordEffects(
        label, tuple(WordEffect(*word, effect) for word, effect in zip(masked_words, effects, strict=True))
    )
