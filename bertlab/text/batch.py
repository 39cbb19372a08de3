"""What goes into a model: rectangular integer tensors, padded on the right.

Knows token ids, not text, and no model.

Shape legend: B batch, T tokens.
"""

from dataclasses import dataclass, fields

import torch


class _OnDevice:
    def to(self, device) -> "_OnDevice":
        """The same batch with every tensor on `device`."""
        return type(self)(**{f.name: getattr(self, f.name).to(device) for f in fields(self)})


@dataclass(frozen=True)
class Batch(_OnDevice):
    """The three inputs of a BERT.

    input_ids_BT: int64 piece ids. token_type_ids_BT: int64, 0 for [CLS] A [SEP], 1 for B [SEP].
    attention_mask_BT: bool, True where there is a token, False on padding.
    """

    input_ids_BT: torch.Tensor
    token_type_ids_BT: torch.Tensor
    attention_mask_BT: torch.Tensor


@dataclass(frozen=True)
class PairBatch(_OnDevice):
    """Sentence pairs, not yet masked. key_B: int64, what each row's masks are drawn from. nsp_labels_B: 0 = IsNext."""

    inputs: Batch
    key_B: torch.Tensor
    nsp_labels_B: torch.Tensor


def collate(encodings, pad_token_id: int = 0) -> Batch:
    """Pad encodings (anything with `.ids` and `.token_type_ids`) to the longest of them."""
    longest = max(len(e.ids) for e in encodings)
    shape = (len(encodings), longest)
    input_ids_BT = torch.full(shape, pad_token_id, dtype=torch.int64)
    token_type_ids_BT = torch.zeros(shape, dtype=torch.int64)
    attention_mask_BT = torch.zeros(shape, dtype=torch.bool)
    for row, encoding in enumerate(encodings):
        n = len(encoding.ids)
        input_ids_BT[row, :n] = torch.as_tensor(encoding.ids)
        token_type_ids_BT[row, :n] = torch.as_tensor(encoding.token_type_ids)
        attention_mask_BT[row, :n] = True
    return Batch(input_ids_BT, token_type_ids_BT, attention_mask_BT)


@dataclass(frozen=True)
class SpanBatch(_OnDevice):
    """Windows and the positions of the first and last token of each answer, 0 where there is none."""

    inputs: Batch
    start_B: torch.Tensor
    end_B: torch.Tensor
