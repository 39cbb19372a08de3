"""A prediction in three parts: the inputs of the model, its outputs, and the result that is made from the outputs.

`Predictor` computes one query at a time. A server puts the inputs of several queries into one batch.

Shape legend: T tokens, H hidden, M masks, V vocabulary, K labels, P dimensions of a vector,
R positions of all inputs of a batch.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Protocol

import numpy as np
import torch

from bertlab.abilities.encode import encode
from bertlab.abilities.sentences.embed import encode_sentences
from bertlab.checkpoint_info import CheckpointInfo
from bertlab.config.errors import BertlabError, TextError
from bertlab.nn.bert import Bert
from bertlab.nn.heads import HEADS
from bertlab.nn.pooling import pool_sentences
from bertlab.tasks.inference import compute_head_output, find_device, require_positive
from bertlab.tasks.masked_lm import find_mask_positions, read_mask_logits
from bertlab.tasks.sentence_pair import read_pair_logits
from bertlab.tasks.span.answer import SpanReading, find_answers, read_span_logits
from bertlab.tasks.span.windows import make_windows
from bertlab.tasks.tag_prediction import read_tag_logits
from bertlab.text.batch import collate
from bertlab.text.tokenizers.wordpiece import Encoding


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
    finish: Callable[[list[torch.Tensor]], object]
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


def _encode(info: CheckpointInfo, text: str, pair: str | None = None) -> Encoding:
    return encode(info.tokenizer, text, pair, info.config)


# -- a query for each command; the arguments and errors are those of the method of `Predictor` ------------------


def prepare_fill_mask(
    info: CheckpointInfo, text: str, pair: str | None = None, top_k: int = 5, originals: Sequence[str] = ()
) -> Query:
    """Prepare the query of `Predictor.fill_mask`."""
    info.model.require_head("mlm")
    encoding, tokenizer = _encode(info, text, pair), info.tokenizer
    require_positive(top_k=top_k)
    positions = tuple(find_mask_positions(tokenizer, encoding))
    return Query(
        "mlm",
        (encoding,),
        lambda outputs: read_mask_logits(tokenizer, encoding, positions, outputs[0], top_k, originals),
        (positions,),
    )


def prepare_next_sentence(info: CheckpointInfo, first: str, second: str) -> Query:
    """Prepare the query of `Predictor.next_sentence`."""
    info.model.require_head("nsp")
    objective = info.loaded.pair_objective
    return Query("nsp", (_encode(info, first, second),), lambda outputs: read_pair_logits(outputs[0], objective))


def prepare_classify(info: CheckpointInfo, text: str, pair: str | None = None) -> Query:
    """Prepare the query of `Predictor.classify`."""
    task_type, labels = info.find_classifier(), info.config.labels
    return Query(
        task_type.head, (_encode(info, text, pair),), lambda outputs: task_type.read_logits(labels, outputs[0])
    )


def prepare_tag(info: CheckpointInfo, text: str) -> Query:
    """Prepare the query of `Predictor.tag`."""
    info.model.require_head("tag")
    encoding, labels, by_token = _encode(info, text), info.config.labels, info.predicts_token_tags
    return Query("tag", (encoding,), lambda outputs: read_tag_logits(labels, text, encoding, outputs[0], by_token))


def prepare_answer(
    info: CheckpointInfo,
    question: str,
    passage: str,
    n_best: int = 5,
    max_answer_tokens: int = 30,
    threshold: float | None = None,
    stride: int | None = None,
    max_tokens: int | None = None,
) -> Query:
    """Prepare the query of `Predictor.answer`; `threshold` is its `null_threshold`."""
    query = prepare_reading(info, question, passage, n_best, max_answer_tokens, stride, max_tokens)
    tau = info.loaded.null_threshold if threshold is None else threshold
    return replace(
        query, finish=lambda outputs: replace(find_answers(query.finish(outputs), n_best), null_threshold=tau)
    )


def prepare_reading(
    info: CheckpointInfo,
    question: str,
    passage: str,
    n_best: int,
    max_answer_tokens: int,
    stride: int | None,
    max_tokens: int | None,
) -> Query:
    """Prepare the query whose result is a `SpanReading`; `prepare_answer` and `Session.xray` use it."""
    info.model.require_head("span")
    settings = info.window_settings(stride, max_tokens)
    require_positive(n_best=n_best, max_answer_tokens=max_answer_tokens, stride=settings["stride"])
    window_tokens = min(settings["max_tokens"], info.config.max_tokens)
    windows = make_windows(info.tokenizer, question, passage, window_tokens, settings["stride"])

    def finish(outputs: list[torch.Tensor]) -> SpanReading:
        """Split the logits of every window into those of starts and those of ends, and read spans from them."""
        logits = [logits_T2.numpy() for logits_T2 in outputs]
        start_KT, end_KT = [logits_T2[:, 0] for logits_T2 in logits], [logits_T2[:, 1] for logits_T2 in logits]
        return read_span_logits(passage, windows, start_KT, end_KT, n_best, max_answer_tokens)

    return Query("span", tuple(windows), finish)


def prepare_embed(info: CheckpointInfo, texts: Sequence[str]) -> Query:
    """Prepare a query for the vectors of `Predictor.sentence_vectors`.

    The result is {"vectors": array [texts, P], "truncated": the indices of the texts that were truncated}.
    """
    settings = info.loaded.sentence_settings
    inputs, truncated = encode_sentences(info.tokenizer, texts, settings, info.config.max_tokens)
    for row, model_input in enumerate(inputs):
        if len(model_input) < 3:  # nothing between [CLS] and [SEP]
            raise TextError("text-without-tokens", row=row + 1)

    def finish(outputs: list[torch.Tensor]) -> dict:
        """Pool the hidden states of every text."""
        vectors = [
            pool_sentences(hidden_TH[None], torch.ones(1, len(hidden_TH), dtype=torch.bool), settings.pooling)[0]
            for hidden_TH in outputs
        ]
        return {"vectors": np.stack([vector.numpy() for vector in vectors]), "truncated": truncated}

    return Query("", tuple(inputs), finish)


PREPARE_FUNCTIONS: dict[str, Callable[..., Query]] = {
    "fill-mask": prepare_fill_mask,
    "next-sentence": prepare_next_sentence,
    "classify": prepare_classify,
    "tag": prepare_tag,
    "answer": prepare_answer,
    "embed": prepare_embed,
}
"""Command -> a function that prepares its query from an open checkpoint and the arguments of the command."""


# -- computing ---------------------------------------------------------------------------------------------------


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
    outputs = compute_head_output(model, head, batch, index_R).float().cpu()
    if positions is not None:
        return list(outputs.split([len(row_positions) for row_positions in positions]))
    if head and HEADS[head].reads_pooled:
        return list(outputs)
    return [output_TK[: len(model_input.ids)] for output_TK, model_input in zip(outputs, inputs, strict=True)]


def answer_query(model: Bert, pad_id: int, query: Query, batch_size: int = 8, progress: Callable = iter) -> object:
    """Compute the result of one query.

    Args:
        model: the model.
        pad_id: the token id of padding.
        query: the query.
        batch_size: the maximum number of inputs in a batch.
        progress: wraps the sequence of batches, as `tqdm` does.
    """
    require_positive(batch_size=batch_size)
    (outputs,) = _compute_all([query], partial(compute_outputs, model, pad_id), batch_size, progress)
    return query.finish(outputs)


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
    for query, outputs in zip(queries, _compute_all(queries, compute, batch_size), strict=True):
        try:
            results.append(query.finish(outputs))
        except BertlabError as error:
            results.append(error)
    return results


def _compute_all(
    queries: Sequence[Query], compute: ComputeOutputs, batch_size: int, progress: Callable = iter
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
