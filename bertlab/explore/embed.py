"""Sentence embeddings: one vector for each text.

Shape legend: B batch, T tokens, H hidden.
"""

from collections.abc import Sequence

import numpy as np
import torch

from bertlab.nn.bert import Bert
from bertlab.tasks.inference import device_of
from bertlab.text.batch import collate
from bertlab.text.tokenizers.wordpiece import Encoding


def embed_texts(model: Bert, encodings: Sequence[Encoding], pad_id: int, batch_size: int = 32) -> np.ndarray:
    """Compute the mean of each input's last hidden states, scaled to length 1 -> float32 [inputs, H].

    Source: Reimers and Gurevych 2019 (arXiv 1908.10084), mean pooling.
    """
    device = device_of(model)
    vectors = np.zeros((len(encodings), model.config.hidden_size), np.float32)
    order = sorted(range(len(encodings)), key=lambda row: -len(encodings[row]))
    for first in range(0, len(order), batch_size):
        rows = order[first : first + batch_size]
        batch = collate([encodings[row] for row in rows], pad_id).to(device)
        weight_BT1 = batch.attention_mask_BT[..., None].float()
        mean_BH = (model(batch).hidden_BTH * weight_BT1).sum(1) / weight_BT1.sum(1)
        vectors[rows] = torch.nn.functional.normalize(mean_BH, dim=-1).cpu().numpy()
    return vectors
