"""`OnnxBert`: a model in an ONNX file, which ONNX Runtime runs; its predictions are those of a `Bert`.

A server calls `OnnxBert.logits` directly, from any number of threads; `torch.set_num_threads` before `load` sets those
of ONNX Runtime. Everything else that a `Bert` has (attention, weights, gradients) raises an error.

Shape legend: B batch, T tokens, H hidden, K outputs of an output layer, V vocabulary, R positions (indices of B * T).
"""

import json
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import NoReturn

import numpy as np
import torch
from torch import nn

from bertlab.config.config import ModelConfig
from bertlab.config.errors import CheckpointError, TextError, first_line
from bertlab.nn.bert import BertInput, BertOutput
from bertlab.nn.heads import HEADS, TaskHeads
from bertlab.nn.interventions import Interventions
from bertlab.nn.onnx_graph import INPUTS, POSITIONS, name_outputs
from bertlab.nn.trace import Trace

VERSION = 1  # of the metadata and the outputs; a file of another version is rejected
METADATA = "bertlab"  # the key under which a file stores version, output layers and type of the weights


def require_onnxruntime() -> ModuleType:
    """Import `onnxruntime`; raises CheckpointError if it is not installed."""
    try:
        import onnxruntime
    except ImportError:
        raise CheckpointError("onnx-library-missing") from None
    return onnxruntime


class OnnxBert(TaskHeads):
    """A model in an ONNX file that `onnx_files.save` wrote; `threads` compute one batch, by default torch's number.

    Raises CheckpointError if ONNX Runtime is not installed, or the file is damaged or not of this version of bertlab.
    """

    def __init__(self, path: Path, config: ModelConfig, threads: int | None = None):
        nn.Module.__init__(self)
        runtime = require_onnxruntime()
        from onnxruntime.capi import onnxruntime_pybind11_state as errors

        # The errors for a file that cannot be opened have no common base class.
        damage: tuple[type[Exception], ...]
        damage = (errors.Fail, errors.InvalidArgument, errors.InvalidGraph, errors.InvalidProtobuf, errors.NoSuchFile)
        damage += (errors.NotImplemented, errors.RuntimeException)
        self.config, self.path = config, path
        options = runtime.SessionOptions()
        options.intra_op_num_threads = threads or torch.get_num_threads()
        options.inter_op_num_threads = 1
        options.log_severity_level = 4  # errors are raised, so printing would show them twice
        try:
            self.session = runtime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        except damage as error:
            raise CheckpointError("weights-damaged", path=path, reason=first_line(error)) from None
        metadata = _read_metadata(self.session.get_modelmeta().custom_metadata_map, path)
        self._head_names = tuple(metadata["heads"])
        self.weight_type: str = metadata["weights"]  # "float32" or "int8"
        self.input_names = {each.name for each in self.session.get_inputs()}
        self.output_names = name_outputs(self._head_names)
        if {each.name for each in self.session.get_outputs()} != set(self.output_names):
            raise CheckpointError("onnx-version-unknown", path=path, version="?", expected=VERSION)
        self._run_options = runtime.RunOptions()
        if len(self.output_names) > 1:  # each call needs one of the outputs, so the others are not computed
            self._run_options.only_execute_path_to_fetches = True

    @property
    def head_names(self) -> tuple[str, ...]:
        return self._head_names

    @property
    def gives_hidden_states(self) -> bool:
        return not self._head_names

    def logits(self, name: str, batch: BertInput, positions_R: torch.Tensor | None = None) -> torch.Tensor:
        """See `TaskHeads.logits`.

        With int8 weights, the scale of the activations is computed over the whole batch, so the logits of a text depend
        slightly on the other texts.
        """
        self.require_head(name)
        if name != "mlm":
            logits = self._run(self._head_names.index(name), batch, None)
            return logits if positions_R is None else logits.flatten(0, 1)[positions_R]
        B, T = batch.input_ids_BT.shape
        if positions_R is not None:
            return self._run(self._head_names.index(name), batch, positions_R)
        return self._run(self._head_names.index(name), batch, torch.arange(B * T)).unflatten(0, (B, T))

    def forward(
        self, batch: BertInput, *, trace: Trace | None = None, interventions: Interventions | None = None
    ) -> BertOutput:
        """Compute the last layer's output; raises CheckpointError if the file has output layers, TextError for long
        texts."""
        if trace is not None or interventions is not None or not self.gives_hidden_states:
            self._refuse()
        return BertOutput(self._run(0, batch, None), None)

    def _run(self, output_index: int, batch: BertInput, positions_R: torch.Tensor | None) -> torch.Tensor:
        B, T = batch.input_ids_BT.shape
        if self.config.max_tokens < T:
            raise TextError("text-too-long", tokens=T, limit=self.config.max_tokens)
        mask_BT = torch.ones(B, T) if batch.attention_mask_BT is None else batch.attention_mask_BT
        arrays = (
            batch.input_ids_BT.cpu().numpy(),
            mask_BT.cpu().numpy().astype(np.int64),
            batch.token_type_ids_BT.cpu().numpy(),
        )
        feed = dict(zip(INPUTS, arrays, strict=True))
        feed[POSITIONS] = np.zeros(0, np.int64) if positions_R is None else positions_R.cpu().numpy().astype(np.int64)
        feed = {name: array for name, array in feed.items() if name in self.input_names}
        return torch.from_numpy(self.session.run([self.output_names[output_index]], feed, self._run_options)[0])

    # -- methods and attributes of a `Bert` that a model in an ONNX file does not have --------------------------------

    def _refuse(self, *args, **kwargs) -> NoReturn:
        """Raise CheckpointError: a model in an ONNX file only predicts."""
        raise CheckpointError("onnx-no-internals", name=self.path.parent.name)

    head = encode_positions = pool = pooler = state_dict = add_heads = __deepcopy__ = _refuse
    embeddings = encoder = heads = property(_refuse)


def _read_metadata(metadata: Mapping[str, str], path: Path) -> dict:
    try:
        fields = json.loads(metadata[METADATA])
        version, heads = fields["version"], fields["heads"]
    except (KeyError, ValueError, TypeError):
        raise CheckpointError("onnx-not-of-bertlab", path=path) from None
    if version != VERSION or not isinstance(heads, list) or not set(heads) <= HEADS.keys():
        raise CheckpointError("onnx-version-unknown", path=path, version=str(version)[:20], expected=VERSION)
    return {"heads": heads, "weights": str(fields.get("weights", "float32"))}
