"""A prediction in three parts: the inputs of the model, its outputs, and the result that is made from the outputs.

`Predictor` computes one query at a time. A server puts the inputs of several queries into one batch.

Shape legend: T tokens, H hidden, M masks, V vocabulary, K labels, P dimensions of a vector,
R positions of all inputs of a batch.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Protocol

import torch

from bertlab.config.errors import BertlabError
from bertlab.nn.bert import Bert
from bertlab.nn.heads import HEADS
from bertlab.tasks.inference import find_device
from bertlab.text.batch import collate


class ModelInput(Protocol):
    """One row of a batch, such as an `Encoding` or a `Window`."""

    ids: Sequence[int]
    """The token ids."""
    token_type_ids: Sequence[int]
    """The token types."""


@dataclass(frozen=True)
class Query:
    """One prediction that is not computed yet."""

    head: str
    """The output layer to compute, a key of `nn.heads.HEADS`; "" for the hidden states of the last layer."""
    inputs: tuple[ModelInput, ...]
    """The inputs; several for a long passage or a list of texts."""
    finish: Callable[[list[torch.Tensor]], Any]
    """A function that makes the result from the outputs of all inputs, float32 on the CPU: [K] for an output layer that
    reads the pooler's output, otherwise [T, K] (or [M, V], at `positions`), and [T, H] for hidden states."""
    positions: tuple[tuple[int, ...], ...] | None = None
    """For each input, the positions at which the output layer is computed; None for all positions."""


class ComputeOutputs(Protocol):
    """A function that computes one batch: the outputs of an output layer, one for each input."""

    def __call__(
        self, head: str, inputs: Sequence[ModelInput], positions: Sequence[tuple[int, ...]] | None
    ) -> list[torch.Tensor]:
        """Compute the outputs for inputs that are padded to the same length; see `Query` for the arguments."""


@torch.inference_mode()
def compute_outputs(
    model: Bert, pad_id: int, head: str, inputs: Sequence[ModelInput], positions: Sequence[tuple[int, ...]] | None
) -> list[torch.Tensor]:
    """Compute one batch with PyTorch or, for a model in an ONNX file, with ONNX Runtime.

    With its first two arguments fixed by `functools.partial`, this function is a `ComputeOutputs`.
    """
    batch = collate(inputs, pad_id).to(find_device(model))
    index_R = None
    if positions is not None:
        num_tokens = batch.input_ids_BT.shape[1]
        # the indices of the positions in the flattened batch
        indices = [
            row * num_tokens + position for row, row_positions in enumerate(positions) for position in row_positions
        ]
        index_R = torch.tensor(indices, device=batch.input_ids_BT.device)
    outputs = (model.logits(head, batch, index_R) if head else model(batch).hidden_BTH).float().cpu()
    if positions is not None:
        return list(outputs.split([len(row_positions) for row_positions in positions]))
    if head and HEADS[head].reads_pooled:
        return list(outputs)
    return [output_TK[: len(model_input.ids)] for output_TK, model_input in zip(outputs, inputs, strict=True)]


def answer_queries(
    queries: Sequence[Query], compute: ComputeOutputs, batch_size: int = 8
) -> list[object | BertlabError]:
    """Compute the results of queries that need the same output layer, in batches of inputs of similar length.

    Args:
        queries: the queries.
        compute: the function that computes one batch.
        batch_size: the maximum number of inputs in a batch.

    Returns:
        The result of each query; an error if the result cannot be made from the outputs.
    """
    results: list[object | BertlabError] = []
    for query, outputs in zip(queries, compute_all(queries, compute, batch_size), strict=True):
        try:
            results.append(query.finish(outputs))
        except BertlabError as error:
            results.append(error)
    return results


def compute_all(
    queries: Sequence[Query], compute: ComputeOutputs, batch_size: int = 8, progress: Callable = iter
) -> list[list[torch.Tensor]]:
    """Compute the outputs for the inputs of each query, longest inputs first."""
    # (query, index of one of its inputs) for the inputs of all queries
    rows = [(query, index) for query in queries for index in range(len(query.inputs))]
    lengths = [len(query.inputs[index].ids) for query, index in rows]
    order = sorted(range(len(rows)), key=lambda row: -lengths[row])
    outputs: list[torch.Tensor] = [torch.empty(0)] * len(rows)
    for first in progress(range(0, len(order), batch_size)):
        batch_rows = order[first : first + batch_size]
        batch = [rows[row] for row in batch_rows]
        first_query = batch[0][0]  # all queries need the same output layer
        positions = None if first_query.positions is None else [query.positions[index] for query, index in batch]
        batch_outputs = compute(first_query.head, [query.inputs[index] for query, index in batch], positions)
        for row, output in zip(batch_rows, batch_outputs, strict=True):
            outputs[row] = output
    remaining = iter(outputs)
    return [list(islice(remaining, len(query.inputs))) for query in queries]
