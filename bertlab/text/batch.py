"""Batches: the tensors that a model reads, padded on the right, and their labels.

Shape legend: B batch, T tokens, C choices.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cached_property

import torch


class _TensorRows:
    """Base class of frozen dataclasses whose fields are tensors, or other such dataclasses, with one entry per row."""

    def to(self, device) -> "_TensorRows":
        return self._map(lambda value: value.to(device))

    def __len__(self) -> int:
        return len(getattr(self, fields(self)[0].name))

    def shard(self, index: int, count: int) -> "_TensorRows":
        """Return the rows of process `index` of `count` processes: rows index, index + count, index + 2 count, ..."""

        def select(value):
            return value.shard(index, count) if isinstance(value, _TensorRows) else value[index::count]

        return self._map(select)

    def dummy_row(self) -> "_TensorRows":
        """Return one row of zeros without padding, for a process that has no row of a batch but must compute a loss."""

        def make_row(value):
            if isinstance(value, _TensorRows):
                return value.dummy_row()
            # A bool tensor is an attention mask, which is True where there is no padding.
            return torch.full((1, *value.shape[1:]), value.dtype == torch.bool, dtype=value.dtype, device=value.device)

        return self._map(make_row)

    def _map(self, change: Callable) -> "_TensorRows":
        return type(self)(**{f.name: change(getattr(self, f.name)) for f in fields(self)})


@dataclass(frozen=True)
class Batch(_TensorRows):
    """The three inputs of a BERT."""

    input_ids_BT: torch.Tensor  # token ids, int64 [B, T]
    token_type_ids_BT: torch.Tensor  # token types, int64 [B, T]: 0 for [CLS] A [SEP], 1 for B [SEP]
    attention_mask_BT: torch.Tensor  # bool [B, T]: True where there is a token, False at padding

    @cached_property
    def lengths(self) -> list[int]:
        """The number of tokens in each row. The first access synchronises with the GPU; the list is then cached."""
        return self.attention_mask_BT.sum(1).tolist()

    def group(self, size: int) -> "Batch":
        """Put every `size` consecutive rows into one row: [B, T] -> [B / size, size, T]."""
        return self._map(lambda value: value.unflatten(0, (-1, size)))

    def ungroup(self) -> "Batch":
        """Undo `group`: [B, C, T] -> [B * C, T]."""
        return self._map(lambda value: value.flatten(0, -2))


@dataclass(frozen=True)
class PairBatch(_TensorRows):
    """Sentence pairs, not yet masked."""

    inputs: Batch  # [CLS] A [SEP] B [SEP]
    key_B: torch.Tensor  # the seed of each row's masks, int64 [B]; negative for a row in which nothing is masked
    pair_labels_B: torch.Tensor
    """The label of the sentence-pair objective, int64 [B]: 0 for IsNext and 1 for NotNext, or 0 for sentences in their
    original order and 1 for swapped ones."""


def collate(encodings, pad_token_id: int = 0) -> Batch:
    """Pad encodings (objects with `.ids` and `.token_type_ids`) to the longest and stack them into a batch."""
    length = max((len(e.ids) for e in encodings), default=1)
    shape = (len(encodings), length)
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
class LabelBatch(_TensorRows):
    """Inputs and their labels."""

    inputs: Batch  # [B, T]; in multiple choice [B, C, T] with C choices
    labels_B: torch.Tensor
    """In classification and multiple choice, the index of the class or of the correct choice, int64 [B]; in regression,
    the value, float [B]; in tagging, the index of each token's tag, int64 [B, T], -100 at tokens without a tag."""


@dataclass(frozen=True)
class SpanBatch(_TensorRows):
    """Windows of passages, and where each of them contains the answer."""

    inputs: Batch  # [CLS] question [SEP] window [SEP]
    start_B: torch.Tensor  # position of the first token of the answer, int64 [B]; 0 where the window contains no answer
    end_B: torch.Tensor  # position of the last token of the answer, int64 [B]; 0 where the window contains no answer
