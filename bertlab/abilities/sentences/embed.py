"""Sentence vectors: one vector of length 1 for each text.

Shape legend: B batch, T tokens, H hidden, P dimensions of a vector (the hidden size times the number of pooling modes).
"""

from collections.abc import Callable, Sequence

import numpy as np

from bertlab.checkpoints.sentence_settings import SentenceSettings
from bertlab.nn.bert import Bert
from bertlab.nn.pooling import pool_sentences
from bertlab.tasks.features import Input
from bertlab.tasks.inference import find_device
from bertlab.text.batch import collate
from bertlab.text.tokenizers.wordpiece import Encoding, Tokenizer


def embed_texts(
    model: Bert,
    encodings: Sequence[Encoding | Input],
    pad_id: int,
    batch_size: int = 32,
    pooling: Sequence[str] = ("mean",),
    progress: Callable = iter,
) -> np.ndarray:
    """Pool the last hidden states of each input and scale the result to length 1 -> float32 [inputs, P].

    Args:
        model: the model.
        encodings: the inputs.
        pad_id: the token id of padding.
        batch_size: the maximum number of inputs in a batch.
        pooling: the pooling modes, keys of `nn.pooling.POOLING_MODES`.
        progress: wraps the iterable of batches, as `tqdm` does.

    Source: Reimers and Gurevych 2019 (arXiv 1908.10084), section 3.
    """
    device = find_device(model)
    vectors = np.zeros((len(encodings), model.config.hidden_size * len(pooling)), np.float32)
    order = sorted(range(len(encodings)), key=lambda row: -len(encodings[row]))
    for first in progress(range(0, len(order), batch_size)):
        rows = order[first : first + batch_size]
        batch = collate([encodings[row] for row in rows], pad_id).to(device)
        vectors[rows] = pool_sentences(model(batch).hidden_BTH, batch.attention_mask_BT, pooling).cpu().numpy()
    return vectors


def encode_sentences(
    tokenizer: Tokenizer, texts: Sequence[str], settings: SentenceSettings, max_positions: int
) -> tuple[list[Input], list[int]]:
    """Tokenise many texts at once, and truncate those that are too long.

    Args:
        tokenizer: the tokenizer of the model.
        texts: the texts; the input of a text without tokens has only [CLS] and [SEP].
        settings: the settings with which the checkpoint makes vectors.
        max_positions: the number of positions of the model.

    Returns:
        The inputs, and the indices of the texts that were truncated.
    """
    limit = min(settings.max_tokens or max_positions, max_positions) - 2  # tokens between [CLS] and [SEP]
    inputs, truncated = [], []
    for index, ids in enumerate(tokenizer.encode_ids([settings.prompt + text for text in texts])):
        if len(ids) > limit:
            truncated.append(index)
        ids = np.array([tokenizer.cls_id, *ids[:limit], tokenizer.sep_id])
        inputs.append(Input(ids, np.zeros(len(ids), np.int64)))
    return inputs, truncated
