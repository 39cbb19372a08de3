"""Write a checkpoint as an ONNX file, which ONNX Runtime runs faster on a CPU than PyTorch runs the checkpoint.

Other programs can run model.onnx too: its inputs are `input_ids`, `attention_mask` and `token_type_ids` (int64, any
number of rows and tokens), its output is `logits`. With masked language modelling there is one more input, `positions`:
the tokens to predict, as row * (tokens per row) + token.
"""

import copy
import json
import warnings
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import torch

from bertlab.checkpoints import checkpoint
from bertlab.checkpoints.files import ONNX
from bertlab.checkpoints.int8 import quantise_rows
from bertlab.checkpoints.sentence_settings import SentenceSettings
from bertlab.config.errors import CheckpointError
from bertlab.nn.bert import Bert
from bertlab.nn.heads import HEADS
from bertlab.nn.onnx_graph import OnnxGraph, QuantisedEmbedding, name_inputs, name_outputs
from bertlab.nn.onnx_model import METADATA, VERSION, OnnxBert, require_onnxruntime
from bertlab.text.tokenizers.wordpiece import Tokenizer

OPSET = 18  # the version of ONNX's operators; ONNX Runtime supports it since version 1.14 (2023)
WEIGHT_TYPES = ("float32", "int8")  # the types of weights that an ONNX file can have


def save(
    directory: str | Path,
    model: Bert,
    tokenizer: Tokenizer,
    record: dict,
    *,
    heads: Sequence[str] | None = None,
    weights: str = "float32",
    card: str = "",
    sentence_settings: SentenceSettings | None = None,
    progress: Callable[[Iterable], Iterable] = iter,
) -> Path:
    """Write a checkpoint directory with an ONNX file, which `checkpoint.load` opens, and return its path.

    With `heads` = (), the file computes hidden states. With "int8", a matrix has one scale for each row, and
    activations are quantised while the model computes, with one scale for each tensor (dynamic quantisation). Raises
    CheckpointError and MissingHead.
    """
    if isinstance(model, OnnxBert):
        raise CheckpointError("onnx-already", name=model.path.parent.name)
    if model.config.sparse:
        raise CheckpointError("onnx-sparse", type=model.config.model_type)
    if weights not in WEIGHT_TYPES:
        raise CheckpointError("onnx-weights-unknown", weights=weights, types=list(WEIGHT_TYPES))
    require_onnxruntime()
    _require_onnx()
    checkpoint.check_target(directory)
    names = tuple(model.head_names if heads is None else heads)
    for name in names:
        model.require_head(name)
    has_labels = any(HEADS[name].has_labels for name in names)
    config = model.config if has_labels else model.config.replace(labels=())
    # Every step is a function with the parameters (path of the file, graph, type of the weights).
    steps = [_export, *([_quantise] if weights == "int8" else []), _add_metadata]
    model = copy.deepcopy(model).float().cpu().eval().requires_grad_(False)

    def write_weights(new_directory: Path) -> None:
        graph = OnnxGraph(model, names)
        if weights == "int8":
            # The token embeddings, the largest table, get one scale for each token.
            codes_VH, scale_V = quantise_rows(model.embeddings.token.weight)
            model.embeddings.token = QuantisedEmbedding(torch.from_numpy(codes_VH), torch.from_numpy(scale_V))
        for step in progress(steps):
            step(new_directory / ONNX, graph, weights)

    fields = checkpoint.make_config_fields(config, names, torch.float32)
    return checkpoint.write_directory(directory, write_weights, fields, tokenizer, record, card, sentence_settings)


def _require_onnx() -> object:
    try:
        import onnx
    except ImportError:
        raise CheckpointError("onnx-library-missing") from None
    return onnx


@torch.no_grad()
def _export(path: Path, graph: OnnxGraph, weights: str) -> None:
    names = graph.head_names  # PyTorch's newer exporter gives the same graph in ten times the time
    with warnings.catch_warnings():
        # torch warns that some sizes become constants; these, such as the head size, do not depend on the input.
        warnings.simplefilter("ignore")
        torch.onnx.export(
            graph, graph.make_example(), str(path), dynamo=False, opset_version=OPSET, dynamic_axes=graph.dynamic_axes,
            input_names=list(name_inputs(names)), output_names=list(name_outputs(names)),
        )  # fmt: skip


def _quantise(path: Path, graph: OnnxGraph, weights: str) -> None:
    """Replace the products with weight matrices by products of integers."""
    from onnxruntime.quantization import QuantType, quant_utils, quantize_dynamic

    file = _require_onnx().load(path)
    # This marks the file as preprocessed. Otherwise `quantize_dynamic` recommends preprocessing, which would have no
    # effect on this graph.
    quant_utils.add_pre_process_metadata(file)
    quantize_dynamic(file, path, op_types_to_quantize=["MatMul"], per_channel=True, weight_type=QuantType.QInt8)


def _add_metadata(path: Path, graph: OnnxGraph, weights: str) -> None:
    onnx = _require_onnx()
    file = onnx.load(path)
    metadata = {"version": VERSION, "heads": list(graph.head_names), "weights": weights}
    onnx.helper.set_model_props(file, {METADATA: json.dumps(metadata)})
    onnx.save(file, path)
