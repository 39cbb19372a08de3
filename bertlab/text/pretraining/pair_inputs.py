"""Build the model's inputs from sentence pairs.

Shape legend: B batch, T tokens, E pairs.
"""

import numpy as np
import torch

from bertlab.text.batch import Batch
from bertlab.text.pretraining.sentence_pairs import Documents, Pairs
from bertlab.text.tokenizers.wordpiece import Tokenizer


def assemble_inputs(
    documents: Documents, pairs: Pairs, rows: np.ndarray, tokenizer: Tokenizer, max_tokens: int
) -> Batch:
    """Build [CLS] A [SEP] B [SEP], or [CLS] A [SEP] if B is empty, for the pairs with the indices `rows`, padded."""
    cls_id, sep_id, pad_id = tokenizer.cls_id, tokenizer.sep_id, tokenizer.pad_id
    a_start, a_length = pairs.a_start_E[rows, None], pairs.a_length_E[rows, None]
    b_start, b_length = pairs.b_start_E[rows, None], pairs.b_length_E[rows, None]
    t = np.arange(max_tokens)
    # Where the first and the last [SEP] of each row are, [B, 1]; without B, they are the same.
    first_sep = 1 + a_length
    last_sep = np.where(b_length, 2 + a_length + b_length, first_sep)
    token_index_BT = np.where(t < first_sep, a_start + t - 1, b_start + t - first_sep - 1)
    ids_BT = documents.tokens[token_index_BT.clip(0, len(documents.tokens) - 1)].astype(np.int64)
    ids_BT[:, 0] = cls_id
    ids_BT[(t == first_sep) | (t == last_sep)] = sep_id
    ids_BT[t > last_sep] = pad_id
    return Batch(
        torch.from_numpy(ids_BT),
        torch.from_numpy(((t > first_sep) & (t <= last_sep)).astype(np.int64)),
        torch.from_numpy(t <= last_sep),
    )
