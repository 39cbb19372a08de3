"""Tensor names of bertlab to those of the Hugging Face BERT layout and back: one table, read in both directions.

Shape legend: H hidden, V vocabulary.
"""

import re
from collections.abc import Mapping

import torch

from bertlab.config.config import ModelConfig
from bertlab.config.errors import CheckpointError
from bertlab.nn.bert import Bert
from bertlab.nn.heads import HEADS

# Module of bertlab -> modules of Hugging Face, whose tensors are stacked in this order; "{}" is the layer's number.
# Source: the parameter names of `transformers.BertForPreTraining`, `BertForQuestionAnswering` and those below.
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

# Names that other programs write for the same tensor (pattern -> name), replaced in this order.
ALIASES = (
    (r"LayerNorm\.gamma$", "LayerNorm.weight"),  # checkpoints converted from TensorFlow before 2019
    (r"LayerNorm\.beta$", "LayerNorm.bias"),
    (r"^(embeddings|encoder|pooler)\.", r"bert.\1."),  # a bare encoder, saved without the prefix
)

# Buffers that some versions of transformers saved: 0, 1, 2, ... and zeros. They are not weights.
IGNORED = r"^bert\.embeddings\.(position_ids|token_type_ids)$"

# Tensors with weights of single attention heads -> the dimension along which the heads lie: rows (0) or columns (1).
PRUNABLE = (
    (r"\.(\d+)\.attention\.self\.(query|key|value)\.(weight|bias)$", 0),
    (r"\.(\d+)\.attention\.output\.dense\.weight$", 1),
)

# Copies that some programs store of a tied tensor: the copy -> the tensor it must equal.
TIED = {
    "cls.predictions.decoder.weight": "bert.embeddings.word_embeddings.weight",
    "cls.predictions.decoder.bias": "cls.predictions.bias",
}


def _modules() -> dict[str, tuple[str, ...]]:
    """`MODULES` and the task heads, as `nn.heads.HEADS` names them."""
    heads = {
        f"heads.{name}{inner and '.'}{inner}": (theirs,)
        for name, head in HEADS.items()
        for inner, theirs in head.hf_modules.items()
    }
    return MODULES | heads


def hf_names(ours: str) -> tuple[str, ...]:
    """The names in the Hugging Face layout of the tensors that are stacked in one tensor of bertlab.

    >>> hf_names("encoder.layers.3.attention.qkv.bias")[1]
    'bert.encoder.layer.3.attention.self.key.bias'
    """
    layer = re.search(r"\.(\d+)\.", ours)
    number = layer[1] if layer else ""
    module, _, leaf = re.sub(r"\.\d+\.", ".{}.", ours).rpartition(".")
    return tuple(f"{theirs.format(number)}.{leaf}" for theirs in _modules()[module])


def state_to_hf(model: Bert) -> dict[str, torch.Tensor]:
    """A model's weights under their Hugging Face names, as views of the model's own memory where possible.

    A model without task heads gets the names of `transformers.BertModel`, which lack the prefix "bert.". Pruned
    attention heads are left out.
    """
    tensors = {}
    for ours, tensor in model.state_dict().items():
        names = hf_names(ours)
        tensors.update(zip(names, tensor.chunk(len(names)), strict=True))
    for name, tensor in tensors.items():
        dim, remaining = _remaining(name, model.config)
        if remaining is not None:
            tensors[name] = tensor.index_select(dim, remaining.to(tensor.device))
    return tensors if model.head_names else {name.removeprefix("bert."): tensor for name, tensor in tensors.items()}


def _classifiers() -> list[str]:
    """The task heads whose tensors are called "classifier"; `architectures` in config.json says which one it is."""
    return [name for name, head in HEADS.items() if head.hf_modules[""] == "classifier"]


def classifier(fields: Mapping, tensors: Mapping[str, torch.Tensor]) -> tuple[str | None, tuple[str, ...]]:
    """The task head that the tensors called "classifier" belong to, and its labels; (None, ()) without such tensors.

    Args:
        fields: the content of config.json. Where it names no architecture, a checkpoint without a pooler is a tagger,
            for which `transformers` writes none.
        tensors: the tensors of the checkpoint by their Hugging Face names.

    Raises:
        CheckpointError: the model gives several labels to one input, which no head of bertlab does.
    """
    weight = tensors.get("classifier.weight")
    if weight is None:
        return None, ()
    if weight.ndim != 2 or not weight.numel():
        raise CheckpointError("weights-classifier-shape", shape=str(list(weight.shape)))
    by_class = {HEADS[name].hf_class: name for name in reversed(_classifiers())}
    named = [by_class[name] for name in fields.get("architectures") or () if name in by_class]
    pooled = any("pooler." in name for name in tensors)
    head = named[0] if named else "classify" if pooled else "tag"
    problem = fields.get("problem_type")
    if head == "classify" and problem == "multi_label_classification":
        raise CheckpointError("checkpoint-multi-label")
    if head == "classify" and (problem == "regression" or len(weight) == 1):
        return "regress", ()
    if head == "choose":
        return head, ()
    # transformers omits labels that have these default names
    return head, ModelConfig.from_hf(dict(fields)).labels or tuple(f"LABEL_{n}" for n in range(len(weight)))


def hf_to_state(
    tensors: Mapping[str, torch.Tensor], config: ModelConfig, classifier: str | None = None
) -> tuple[dict[str, torch.Tensor], tuple[str, ...]]:
    """The tensors of a Hugging Face BERT -> the state of `Bert(config, heads)`, and the names of those task heads.

    Every tensor must be used, unless it is known not to be a weight, and must have the shape that the configuration
    gives it. Only the pooler may be absent, since `transformers` writes none for masked language models, question
    answering and tagging; then the state has none either. The weights of pruned attention heads, which the file does
    not hold, become zeros.

    Args:
        tensors: by their Hugging Face names.
        config: the configuration of the model.
        classifier: the task head that the tensors called "classifier" belong to.

    Raises:
        CheckpointError: a tensor is missing, unused, of another shape or not of floating point, or two tensors that
            must be equal differ.
    """
    theirs = _canonical(tensors)
    layers = {found[1] for name in theirs if (found := re.match(r"bert\.encoder\.layer\.(\d{1,9})\.", name))}
    if len(layers) != config.num_layers:  # before building: a forged number of layers would take minutes
        raise CheckpointError("weights-layer-count", layers=config.num_layers, stored=len(layers))
    heads = tuple(
        name
        for name in HEADS
        if (name not in _classifiers() or name == classifier) and any(_is_of(theirs, f"heads.{name}"))
    )
    with torch.device("meta"):
        expected = Bert(config, heads).state_dict()
    if not any(_is_of(theirs, "pooler")):
        if reading := [HEADS[name].title for name in heads if HEADS[name].pooled]:
            raise CheckpointError("weights-no-pooler", head=reading[0])
        expected = {ours: tensor for ours, tensor in expected.items() if not ours.startswith("pooler.")}
    state = {}
    for ours, meta in expected.items():
        names = hf_names(ours)
        for name, part in zip(names, meta.chunk(len(names)), strict=True):
            dim, remaining = _remaining(name, config)
            _check(name, theirs.get(name), part if remaining is None else part.index_select(dim, remaining.to("meta")))
            if remaining is not None:
                theirs[name] = theirs[name].new_zeros(part.shape).index_copy(dim, remaining, theirs[name])
        parts = [theirs.pop(name) for name in names]
        state[ours] = torch.cat(parts) if len(parts) > 1 else parts[0]
    if theirs:
        names = sorted(theirs)
        raise CheckpointError("weights-unused", tensors=names[:4], more=max(len(names) - 4, 0))
    return state, heads


def _remaining(name: str, config: ModelConfig) -> tuple[int, torch.Tensor | None]:
    """The dimension of a tensor along which heads lie, and the indices there that pruning leaves; None for all."""
    for pattern, dim in PRUNABLE if config.pruned_heads else ():
        found = re.search(pattern, name)
        pruned = [head for layer, head in config.pruned_heads if found and layer == int(found[1])]
        if pruned:
            indices_ND = torch.arange(config.hidden_size).view(config.num_heads, config.head_size)
            remaining = [head for head in range(config.num_heads) if head not in pruned]
            return dim, indices_ND[remaining].flatten()
    return 0, None


def _canonical(tensors: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """The tensors under the names of `MODULES`: aliases resolved, ignored buffers and equal tied copies dropped."""
    theirs = {}
    for stored, tensor in tensors.items():
        name = stored
        for pattern, usual in ALIASES:
            name = re.sub(pattern, usual, name)
        if name in theirs:
            raise CheckpointError("weights-tensor-twice", tensor=name, alias=stored)
        if not re.search(IGNORED, name):
            theirs[name] = tensor
    for copy, original in TIED.items():
        tied = theirs.pop(copy, None)
        if tied is not None and not torch.equal(theirs.setdefault(original, tied), tied):
            raise CheckpointError("weights-not-tied", tensor=copy, other=original)
    return theirs


def _is_of(theirs: Mapping[str, torch.Tensor], part: str):
    """For every tensor, whether it belongs to this part of the model."""
    modules = [name for ours, names in _modules().items() if f"{ours}.".startswith(f"{part}.") for name in names]
    return (name.rpartition(".")[0] in modules for name in theirs)


def _check(name: str, tensor: torch.Tensor | None, expected: torch.Tensor) -> None:
    """Refuse a tensor that is missing, or has another shape or type than the model needs."""
    shape = str(list(expected.shape))
    if tensor is None:
        raise CheckpointError("weights-tensor-missing", tensor=name, shape=shape)
    if tensor.shape != expected.shape:
        raise CheckpointError("weights-tensor-shape", tensor=name, shape=str(list(tensor.shape)), expected=shape)
    if not tensor.is_floating_point():
        raise CheckpointError("weights-tensor-type", tensor=name, type=str(tensor.dtype))
