"""A prediction in three parts: the inputs of the model, its outputs, and the result that is made from the outputs.

The methods of `Predictor` compute one text at a time. With the parts, a server computes the inputs of several requests
as one batch, and may do so with another program than PyTorch. The results are those of `Predictor`.

Shape legend: T tokens, H hidden, M masks, V vocabulary, K labels, P dimensions of a vector,
R positions of all inputs of a batch.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import torch

from bertlab.config.errors import BertlabError, TextError
from bertlab.explore.embed import encode_sentences
from bertlab.explore.encode import encode
from bertlab.explore.predictor import Predictor
from bertlab.nn.bert import Bert
from bertlab.nn.heads import HEADS
from bertlab.nn.pooling import pool_sentences
from bertlab.tasks import inference
from bertlab.tasks.classification import Classification, read_label_logits
from bertlab.tasks.masked_lm import find_mask_positions, read_mask_logits
from bertlab.tasks.sentence_pair import read_pair_logits
from bertlab.tasks.span.answer import find_answers, read_span_logits
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
    """For each input, the tokens at which the output layer is computed; None for all tokens."""


class ComputeOutputs(Protocol):
    """A function that computes one batch: the outputs of an output layer, one for each input."""

    def __call__(
        self, head: str, inputs: Sequence[ModelInput], positions: Sequence[tuple[int, ...]] | None
    ) -> list[torch.Tensor]:
        """Compute the outputs for inputs that are padded to the same length; see `Query` for the arguments."""


def _encode(session: Predictor, text: str, pair: str | None = None) -> Encoding:
    return encode(session.tokenizer, text, pair, session.config)


# -- the three parts of each command -----------------------------------------------------------------------------


def prepare_fill_mask(session: Predictor, text: str, pair: str | None = None, top_k: int = 5) -> Query:
    """Prepare `Predictor.fill_mask`."""
    session.model.require_head("mlm")
    encoding, tokenizer = _encode(session, text, pair), session.tokenizer
    positions = tuple(find_mask_positions(tokenizer, encoding))
    return Query(
        "mlm",
        (encoding,),
        lambda outputs: read_mask_logits(tokenizer, encoding, positions, outputs[0], top_k),
        (positions,),
    )


def prepare_next_sentence(session: Predictor, first: str, second: str) -> Query:
    """Prepare `Predictor.next_sentence`."""
    session.model.require_head("nsp")
    objective = session.loaded.pair_objective
    return Query("nsp", (_encode(session, first, second),), lambda outputs: read_pair_logits(outputs[0], objective))


def prepare_classify(session: Predictor, text: str, pair: str | None = None) -> Query:
    """Prepare `Predictor.classify`."""
    task_type, labels = session.find_classifier(), session.config.labels
    if task_type.predicts_value:

        def finish(outputs: list[torch.Tensor]) -> Classification:
            return Classification((), float(outputs[0]))
    else:

        def finish(outputs: list[torch.Tensor]) -> Classification:
            return read_label_logits(labels, outputs[0])

    return Query(task_type.head, (_encode(session, text, pair),), finish)


def prepare_tag(session: Predictor, text: str) -> Query:
    """Prepare `Predictor.tag`."""
    session.model.require_head("tag")
    encoding, labels, by_token = _encode(session, text), session.config.labels, session.tags_tokens
    return Query("tag", (encoding,), lambda outputs: read_tag_logits(labels, text, encoding, outputs[0], by_token))


def prepare_answer(
    session: Predictor,
    question: str,
    passage: str,
    n_best: int = 5,
    max_answer_tokens: int = 30,
    threshold: float | None = None,
) -> Query:
    """Prepare `Predictor.answer`; `threshold` is its `null_threshold`."""
    session.model.require_head("span")
    settings = session.window_settings()
    max_tokens = min(settings["max_tokens"], session.config.max_tokens)
    windows = make_windows(session.tokenizer, question, passage, max_tokens, settings["stride"])
    tau = session.loaded.null_threshold if threshold is None else threshold

    def finish(outputs: list[torch.Tensor]) -> object:
        logits = [logits_T2.numpy() for logits_T2 in outputs]
        start_KT, end_KT = [logits_T2[:, 0] for logits_T2 in logits], [logits_T2[:, 1] for logits_T2 in logits]
        reading = read_span_logits(passage, windows, start_KT, end_KT, n_best, max_answer_tokens)
        return replace(find_answers(reading, n_best), null_threshold=tau)

    return Query("span", tuple(windows), finish)


def prepare_embed(session: Predictor, texts: Sequence[str]) -> Query:
    """Prepare the vectors of `Predictor.sentence_vectors`.

    The result is {"vectors": array [texts, P], "truncated": the indices of the texts that were truncated}.
    """
    settings = session.loaded.sentence_settings
    inputs, truncated = encode_sentences(session.tokenizer, texts, settings, session.config.max_tokens)
    for row, each in enumerate(inputs):
        if len(each) < 3:  # nothing between [CLS] and [SEP]
            raise TextError("text-without-tokens", row=row + 1)

    def finish(outputs: list[torch.Tensor]) -> dict:
        vectors = [
            pool_sentences(hidden_TH[None], torch.ones(1, len(hidden_TH), dtype=torch.bool), settings.pooling)[0]
            for hidden_TH in outputs
        ]
        return {"vectors": np.stack([vector.numpy() for vector in vectors]), "truncated": truncated}

    return Query("", tuple(inputs), finish)


PREPARE: dict[str, Callable[..., Query]] = {
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

    `functools.partial(compute_outputs, model, pad_id)` is a `ComputeOutputs`.
    """
    batch = collate(inputs, pad_id).to(inference.device_of(model))
    index_R = None
    if positions is not None:
        num_tokens = batch.input_ids_BT.shape[1]
        index_R = torch.tensor([row * num_tokens + position for row, each in enumerate(positions) for position in each])
        index_R = index_R.to(batch.input_ids_BT.device)
    outputs = inference.compute_outputs(model, head, batch, index_R).float().cpu()
    if positions is not None:
        return list(outputs.split([len(each) for each in positions]))
    if head and HEADS[head].reads_pooled:
        return list(outputs)
    return [output_TK[: len(each.ids)] for output_TK, each in zip(outputs, inputs, strict=True)]


def answer_queries(
    queries: Sequence[Query], compute: ComputeOutputs, batch_size: int = 8
) -> list[object | BertlabError]:
    """Compute queries that need the same output layer, in batches of inputs of similar length.

    Args:
        queries: the queries.
        compute: computes one batch.
        batch_size: the maximum number of inputs in a batch.

    Returns:
        The result of each query; an error if the result cannot be made from the outputs.
    """
    # (query, index of one of its inputs) for the inputs of all queries
    rows = [(query, index) for query in queries for index in range(len(query.inputs))]
    order = sorted(range(len(rows)), key=lambda row: -len(rows[row][0].inputs[rows[row][1]].ids))
    outputs: list[torch.Tensor] = [torch.empty(0)] * len(rows)
    for first in range(0, len(order), batch_size):
        chosen = [rows[row] for row in order[first : first + batch_size]]
        positions = None if chosen[0][0].positions is None else [query.positions[index] for query, index in chosen]
        computed = compute(chosen[0][0].head, [query.inputs[index] for query, index in chosen], positions)
        for row, output in zip(order[first : first + batch_size], computed, strict=True):
            outputs[row] = output
    results, first = [], 0
    for query in queries:
        try:
            results.append(query.finish(outputs[first : first + len(query.inputs)]))
        except BertlabError as error:
            results.append(error)
        first += len(query.inputs)
    return results
