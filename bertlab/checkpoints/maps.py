"""Convert tensor names between bertlab and the Hugging Face layout of BERT, with one table for both directions.

Shape legend: H hidden, V vocabulary.
"""

import re
from collections.abc import Mapping

import torch

from bertlab.config.config import ModelConfig
from bertlab.config.errors import CheckpointError
from bertlab.nn.bert import Bert
from bertlab.nn.heads import HEADS

# Module of bertlab -> modules of Hugging Face, whose tensors are stacked in this order; "{}" is the number of a layer.
# Source: the parameter names of `transformers.BertForPreTraining`. `nn.heads.HEADS` has the modules of the task heads.
MODULES = {
    "embeddings.token": ("bert.embeddings.word_embeddings",),
    "embeddings.position": ("bert.embeddings.position_embeddings",),
    "embeddings.token_type": ("bert.embeddings.token_type_embeddings",),
    "embeddings.norm": ("bert.embeddings.LayerNorm",),
    "encoder.layers.{}.attention.qkv": (
        "bert.encoder.layer.{}.attention.self.query",
        "bert.encoder.layer.{}.attention.self.key",
        "bert.encoder.layer.{}.attention.self.value",
    ),
    "encoder.layers.{}.attention.out": ("bert.encoder.layer.{}.attention.output.dense",),
    "encoder.layers.{}.attention_norm": ("bert.encoder.layer.{}.attention.output.LayerNorm",),
    "encoder.layers.{}.feed_forward.up": ("bert.encoder.layer.{}.intermediate.dense",),
    "encoder.layers.{}.feed_forward.down": ("bert.encoder.layer.{}.output.dense",),
    "encoder.layers.{}.feed_forward_norm": ("bert.encoder.layer.{}.output.LayerNorm",),
    "pooler.dense": ("bert.pooler.dense",),
}

# Other names for the same tensors (pattern, replacement), which are applied in this order.
ALIASES = (
    (r"LayerNorm\.gamma$", "LayerNorm.weight"),  # in checkpoints that were converted from TensorFlow before 2019
    (r"LayerNorm\.beta$", "LayerNorm.bias"),
    (r"^(embeddings|encoder|pooler)\.", r"bert.\1."),  # in bare encoders, whose names have no prefix
)

# Buffers that some versions of transformers saved: 0, 1, 2, ... and zeros. They are not weights.
IGNORED_BUFFERS = r"^bert\.embeddings\.(position_ids|token_type_ids)$"

# Tensors with separate weights for each attention head, and the dimension of the heads: rows (0) or columns (1).
HEAD_TENSORS = (
    (r"\.(\d+)\.attention\.self\.(query|key|value)\.(weight|bias)$", 0),
    (r"\.(\d+)\.attention\.output\.dense\.weight$", 1),
)

# Some programs store a tied tensor twice: name of the copy -> name of the tensor that it must equal.
TIED_COPIES = {
    "cls.predictions.decoder.weight": "bert.embeddings.word_embeddings.weight",
    "cls.predictions.decoder.bias": "cls.predictions.bias",
}


def _all_modules() -> dict[str, tuple[str, ...]]:
    """Return `MODULES` together with the modules of the task heads (`nn.heads.HEADS`)."""
    heads = {
        f"heads.{name}{module and '.'}{module}": (hf_module,)
        for name, head in HEADS.items()
        for module, hf_module in head.hf_modules.items()
    }
    return MODULES | heads


def hf_names(name: str) -> tuple[str, ...]:
    """Return the Hugging Face names of the tensors that are stacked in one tensor of bertlab.

    >>> hf_names("encoder.layers.3.attention.qkv.bias")[1]
    'bert.encoder.layer.3.attention.self.key.bias'
    """
    layer = re.search(r"\.(\d+)\.", name)
    number = layer[1] if layer else ""
    module, _, parameter = re.sub(r"\.\d+\.", ".{}.", name).rpartition(".")
    return tuple(f"{hf_module.format(number)}.{parameter}" for hf_module in _all_modules()[module])


def state_to_hf(model: Bert) -> dict[str, torch.Tensor]:
    """Return the weights of a model by their Hugging Face names, as views of the memory of the model if possible.

    For a model without task heads these are the names of `transformers.BertModel`, without the prefix "bert.". The
    weights of pruned attention heads are not included.
    """
    tensors = {}
    for own_name, tensor in model.state_dict().items():
        names = hf_names(own_name)
        tensors.update(zip(names, tensor.chunk(len(names)), strict=True))
    for name, tensor in tensors.items():
        dim, remaining = _remaining_indices(name, model.config)
        if remaining is not None:
            tensors[name] = tensor.index_select(dim, remaining.to(tensor.device))
    return tensors if model.head_names else {name.removeprefix("bert."): tensor for name, tensor in tensors.items()}


def _classifier_heads() -> list[str]:
    """Return the task heads whose tensors are named "classifier"; `architectures` in config.json distinguishes them."""
    return [name for name, head in HEADS.items() if head.hf_modules[""] == "classifier"]


def find_classifier(fields: Mapping, tensors: Mapping[str, torch.Tensor]) -> tuple[str | None, tuple[str, ...]]:
    """Return the task head that the tensors named "classifier" belong to, and its labels.

    Args:
        fields: the content of config.json. If it names no architecture, a checkpoint without a pooler is a tagger,
            since `transformers` writes no pooler for taggers.
        tensors: the tensors of the checkpoint by their Hugging Face names.

    Returns:
        The name of the task head, and its labels, which are () for regression and multiple choice; (None, ()) if there
        are no such tensors.

    Raises:
        CheckpointError: the weight is not a matrix or is empty, or the model predicts several labels for one input,
            which bertlab does not support.
    """
    weight = tensors.get("classifier.weight")
    if weight is None:
        return None, ()
    if weight.ndim != 2 or not weight.numel():
        raise CheckpointError("weights-classifier-shape", shape=str(list(weight.shape)))
    by_class = {HEADS[name].hf_class: name for name in reversed(_classifier_heads())}
    architectures = [by_class[name] for name in fields.get("architectures") or () if name in by_class]
    has_pooler = any("pooler." in name for name in tensors)
    head = architectures[0] if architectures else "classify" if has_pooler else "tag"
    problem_type = fields.get("problem_type")
    if head == "classify" and problem_type == "multi_label_classification":
        raise CheckpointError("checkpoint-multi-label")
    if head == "classify" and (problem_type == "regression" or len(weight) == 1):
        return "regress", ()
    if head == "choose":
        return head, ()
    # transformers does not write the labels if they have these default names.
    return head, ModelConfig.from_hf(dict(fields)).labels or tuple(f"LABEL_{n}" for n in range(len(weight)))


def hf_to_state(
    tensors: Mapping[str, torch.Tensor], config: ModelConfig, classifier: str | None = None
) -> tuple[dict[str, torch.Tensor], tuple[str, ...]]:
    """Convert the tensors of a Hugging Face BERT to the state of `Bert(config, heads)`.

    Every tensor must be used, except for known buffers, and must have the shape that the configuration requires. Only
    the pooler may be missing, since `transformers` writes none for masked language models, question answering and
    tagging; the state then has no pooler either. The weights of pruned attention heads, which are not stored, become
    zeros.

    Args:
        tensors: the tensors by their Hugging Face names.
        config: the configuration of the model.
        classifier: the task head that the tensors named "classifier" belong to; see `find_classifier`.

    Returns:
        The state, and the names of the task heads.

    Raises:
        CheckpointError: a tensor is missing or unused, has a wrong shape or type, or differs from the tensor that it
            must equal.
    """
    unused = _rename_tensors(tensors)
    layers = {match[1] for name in unused if (match := re.match(r"bert\.encoder\.layer\.(\d{1,9})\.", name))}
    # Checked before the model is built, which would take minutes for a forged number of layers.
    if len(layers) != config.num_layers:
        raise CheckpointError("weights-layer-count", layers=config.num_layers, stored=len(layers))
    heads = tuple(
        name
        for name in HEADS
        if (name not in _classifier_heads() or name == classifier) and _has_part(unused, f"heads.{name}")
    )
    with torch.device("meta"):
        expected = Bert(config, heads).state_dict()
    if not _has_part(unused, "pooler"):
        if pooled_heads := [HEADS[name].title for name in heads if HEADS[name].pooled]:
            raise CheckpointError("weights-no-pooler", head=pooled_heads[0])
        expected = {name: tensor for name, tensor in expected.items() if not name.startswith("pooler.")}
    state = {}
    for own_name, meta in expected.items():
        names = hf_names(own_name)
        for name, part in zip(names, meta.chunk(len(names)), strict=True):
            dim, remaining = _remaining_indices(name, config)
            stored_part = part if remaining is None else part.index_select(dim, remaining.to("meta"))
            _check_tensor(name, unused.get(name), stored_part)
            if remaining is not None:
                unused[name] = unused[name].new_zeros(part.shape).index_copy(dim, remaining, unused[name])
        parts = [unused.pop(name) for name in names]
        state[own_name] = torch.cat(parts) if len(parts) > 1 else parts[0]
    if unused:
        names = sorted(unused)
        raise CheckpointError("weights-unused", tensors=names[:4], more=max(len(names) - 4, 0))
    return state, heads


def _remaining_indices(name: str, config: ModelConfig) -> tuple[int, torch.Tensor | None]:
    """Return the dimension along which a tensor is divided into attention heads, and the indices that are not pruned.

    The indices are None if no head of the tensor is pruned.
    """
    for pattern, dim in HEAD_TENSORS if config.pruned_heads else ():
        match = re.search(pattern, name)
        pruned = [head for layer, head in config.pruned_heads if match and layer == int(match[1])]
        if pruned:
            indices_ND = torch.arange(config.hidden_size).view(config.num_heads, config.head_size)
            remaining = [head for head in range(config.num_heads) if head not in pruned]
            return dim, indices_ND[remaining].flatten()
    return 0, None


def _rename_tensors(tensors: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Return the tensors under the names in `MODULES`, without ignored buffers and copies of tied tensors."""
    canonical = {}
    for stored_name, tensor in tensors.items():
        name = stored_name
        for pattern, replacement in ALIASES:
            name = re.sub(pattern, replacement, name)
        if name in canonical:
            raise CheckpointError("weights-tensor-twice", tensor=name, alias=stored_name)
        if not re.search(IGNORED_BUFFERS, name):
            canonical[name] = tensor
    for copy, original in TIED_COPIES.items():
        tied = canonical.pop(copy, None)
        if tied is not None and not torch.equal(canonical.setdefault(original, tied), tied):
            raise CheckpointError("weights-not-tied", tensor=copy, other=original)
    return canonical


def _has_part(tensors: Mapping[str, torch.Tensor], part: str) -> bool:
    """Return whether any of these tensors belongs to a part of the model, such as "pooler"."""
    hf_modules = {
        hf_module
        for module, own_hf_modules in _all_modules().items()
        if f"{module}.".startswith(f"{part}.")
        for hf_module in own_hf_modules
    }
    return any(name.rpartition(".")[0] in hf_modules for name in tensors)


def _check_tensor(name: str, tensor: torch.Tensor | None, expected: torch.Tensor) -> None:
    """Raise an error if a tensor is missing, or does not have the shape and type that the model needs."""
    shape = str(list(expected.shape))
    if tensor is None:
        raise CheckpointError("weights-tensor-missing", tensor=name, shape=shape)
    if tensor.shape != expected.shape:
        raise CheckpointError("weights-tensor-shape", tensor=name, shape=str(list(tensor.shape)), expected=shape)
    if not tensor.is_floating_point():
        raise CheckpointError("weights-tensor-type", tensor=name, type=str(tensor.dtype))
