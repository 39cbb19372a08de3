"""Probabilities of tokens at masked positions of many inputs, computed in batches of similar lengths.

Shape legend: P positions of one input, R positions of all inputs of a batch, B batch, T tokens, H hidden, V vocabulary.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import torch

from bertlab.nn.bert import Bert
from bertlab.tasks.inference import find_device
from bertlab.text.batch import collate
from bertlab.text.tokenizers.wordpiece import Tokenizer

# The maximum number of tokens in a batch. Larger batches are no faster on one core, and would make a progress bar jump.
BATCH_TOKENS = 2048


@dataclass(frozen=True)
class TokenQuery:
    """A question to the model: how probable is a token at a masked position of an input?"""

    ids: tuple[int, ...]
    """The input with its [MASK] tokens, [CLS] and [SEP]."""
    position: int
    """The masked position."""
    target: int
    """The id of the token whose probability is computed."""


@dataclass(frozen=True)
class _Row:
    """A row of a batch, as `collate` reads it."""

    ids: tuple[int, ...]

    @cached_property
    def token_type_ids(self) -> tuple[int, ...]:
        return (0,) * len(self.ids)


def compute_log_probs(
    model: Bert, tokenizer: Tokenizer, queries: Sequence[TokenQuery], progress: Callable[[Sequence], Iterable] = iter
) -> list[float]:
    """Compute the natural logarithm of the probability of every query's token.

    Equal inputs are computed once.

    Args:
        model: a model with an MLM output layer.
        tokenizer: its tokenizer.
        queries: the queries, in any order.
        progress: wraps the sequence of batches, as `tqdm` does.
    """
    # ids of an input -> position -> the indices of the queries for this position
    indices_by_input: dict[tuple[int, ...], dict[int, list[int]]] = {}
    for index, query in enumerate(queries):
        indices_by_input.setdefault(query.ids, {}).setdefault(query.position, []).append(index)
    log_probs = [0.0] * len(queries)
    inputs = [(ids, tuple(positions)) for ids, positions in indices_by_input.items()]
    for ids, positions, log_probs_PV in predict_positions(model, tokenizer, inputs, progress):
        for position, log_probs_V in zip(positions, log_probs_PV, strict=True):
            query_indices = indices_by_input[ids][position]
            values = log_probs_V[[queries[index].target for index in query_indices]].tolist()
            for index, value in zip(query_indices, values, strict=True):
                log_probs[index] = value
    return log_probs


@torch.inference_mode()
def predict_positions(
    model: Bert,
    tokenizer: Tokenizer,
    inputs: Sequence[tuple[tuple[int, ...], tuple[int, ...]]],
    progress: Callable[[Sequence], Iterable] = iter,
) -> Iterator[tuple[tuple[int, ...], tuple[int, ...], torch.Tensor]]:
    """Yield each input with its positions and log_probs_PV, the log-probabilities of all tokens at these positions.

    Args:
        model: a model with an MLM output layer.
        tokenizer: its tokenizer.
        inputs: the ids and the positions of each input. The inputs are yielded in the order of their lengths.
        progress: wraps the sequence of batches.
    """
    device = find_device(model)
    for batch in progress(_make_batches(inputs)):
        tensors = collate([_Row(ids) for ids, _ in batch], tokenizer.pad_id).to(device)
        num_tokens = tensors.input_ids_BT.shape[1]
        index_R = [row * num_tokens + position for row, (_, positions) in enumerate(batch) for position in positions]
        logits_RV = model.logits("mlm", tensors, torch.tensor(index_R, device=device))
        # the embedding table may be padded, and its last rows then belong to no token
        log_probs_RV = logits_RV[:, : tokenizer.vocab_size].float().log_softmax(-1)
        counts = [len(positions) for _, positions in batch]
        for (ids, positions), log_probs_PV in zip(batch, log_probs_RV.split(counts), strict=True):
            yield ids, positions, log_probs_PV


def _make_batches(inputs: Sequence[tuple[tuple[int, ...], tuple[int, ...]]]) -> list[list[tuple]]:
    """Group inputs of similar lengths into batches of at most about `BATCH_TOKENS` tokens."""
    batches: list[list[tuple]] = []
    for each in sorted(inputs, key=lambda each: len(each[0])):
        length = len(each[0])
        if not batches or (len(batches[-1]) + 1) * length > BATCH_TOKENS:
            batches.append([])
        batches[-1].append(each)
    return batches
