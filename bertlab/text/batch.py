"""What goes into a model: rectangular integer tensors, padded on the right.

Knows token ids, not text, and no model.

Shape legend: B batch, T tokens.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cached_property

import torch


class _Rows:
    """A frozen dataclass of tensors, or of others of its kind, whose first dimension is the row."""

    def to(self, device) -> "_Rows":
        """The same batch with every tensor on `device`."""
        return self._each(lambda value: value.to(device))

    def __len__(self) -> int:
        return len(getattr(self, fields(self)[0].name))

    def part(self, k: int, n: int) -> "_Rows":
        """Rows k, k + n, k + 2n, ..."""
        return self._each(lambda value: value.part(k, n) if isinstance(value, _Rows) else value[k::n])

    def stand_in(self) -> "_Rows":
        """One row of zeros, none of it padding, for who has no row and must compute something."""

        def row(value):
            if isinstance(value, _Rows):
                return value.stand_in()
            return torch.full((1, *value.shape[1:]), value.dtype == torch.bool, dtype=value.dtype, device=value.device)

        return self._each(row)

    def _each(self, change: Callable) -> "_Rows":
        return type(self)(**{f.name: change(getattr(self, f.name)) for f in fields(self)})


@dataclass(frozen=True)
class Batch(_Rows):
    """The three inputs of a BERT.

    input_ids_BT: int64 piece ids. token_type_ids_BT: int64, 0 for [CLS] A [SEP], 1 for B [SEP].
    attention_mask_BT: bool, True where there is a token, False on padding.
    """

    input_ids_BT: torch.Tensor
    token_type_ids_BT: torch.Tensor
    attention_mask_BT: torch.Tensor

    @cached_property
    def lengths(self) -> list[int]:
        """How many tokens each row has. A GPU is waited for when this is first asked, and not by a second model."""
        return self.attention_mask_BT.sum(1).tolist()

    def grouped(self, size: int) -> "Batch":
        """Inputs that belong together as one row: [B, T] -> [B / size, size, T]."""
        return self._each(lambda value: value.unflatten(0, (-1, size)))

    def flat(self) -> "Batch":
        """`grouped` undone."""
        return self._each(lambda value: value.flatten(0, -2))


@dataclass(frozen=True)
class PairBatch(_Rows):
    """Sentence pairs, not yet masked. key_B: int64, what each row's masks are drawn from. nsp_labels_B: 0 = IsNext."""

    inputs: Batch
    key_B: torch.Tensor
    nsp_labels_B: torch.Tensor


def collate(encodings, pad_token_id: int = 0) -> Batch:
    """Pad encodings (anything with `.ids` and `.token_type_ids`) to the longest of them."""
    longest = max((len(e.ids) for e in encodings), default=1)
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
class LabelBatch(_Rows):
    """Inputs and what to learn of them: labels_B, int64 numbers of labels or float values; of tags [B, T], -100 where a
    token tells none; of choices the number of the right one, the inputs being [B, C, T]."""

    inputs: Batch
    labels_B: torch.Tensor


@dataclass(frozen=True)
class SpanBatch(_Rows):
    """Windows and the positions of the first and last token of each answer, 0 where there is none."""

    inputs: Batch
    start_B: torch.Tensor
    end_B: torch.Tensor
