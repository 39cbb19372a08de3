"""Our tensor names <-> those of the Hugging Face BERT layout: one table, read in both directions.

Knows names and shapes; no files, no tokenizer.

Shape legend: H hidden, V vocabulary.
"""

import re
from collections.abc import Mapping

import torch

from bertlab.config.config import ModelConfig
from bertlab.config.errors import CheckpointError
from bertlab.nn.bert import Bert
from bertlab.nn.heads import CLASSIFIERS, HEADS

# Our module -> theirs, "{}" for the number of the layer; more than one of theirs are stacked in that order.
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
    "heads.mlm": ("cls.predictions",),
    "heads.mlm.dense": ("cls.predictions.transform.dense",),
    "heads.mlm.norm": ("cls.predictions.transform.LayerNorm",),
    "heads.nsp": ("cls.seq_relationship",),
    "heads.span": ("qa_outputs",),
    **{f"heads.{name}": ("classifier",) for name in CLASSIFIERS},
}

# Which head the tensors called "classifier" are is told by the `architectures` of config.json.
CLASSIFIER_OF = {
    "BertForSequenceClassification": "classify",
    "BertForTokenClassification": "tag",
    "BertForMultipleChoice": "choose",
}

# What other writers call the same thing (pattern -> name), tried in this order.
ALIASES = (
    (r"LayerNorm\.gamma$", "LayerNorm.weight"),  # checkpoints converted from TensorFlow before 2019
    (r"LayerNorm\.beta$", "LayerNorm.bias"),
    (r"^(embeddings|encoder|pooler)\.", r"bert.\1."),  # a bare encoder, saved without the prefix
)

# Buffers some versions saved: 0, 1, 2, ... and zeros, no weights.
IGNORED = r"^bert\.embeddings\.(position_ids|token_type_ids)$"

# Where a head's weights lie in a tensor of the layout: its rows (0) or its columns (1).
PRUNABLE = (
    (r"\.(\d+)\.attention\.self\.(query|key|value)\.(weight|bias)$", 0),
    (r"\.(\d+)\.attention\.output\.dense\.weight$", 1),
)

# Copies that some writers store of a tensor that is tied: the copy -> what it must equal.
TIED = {
    "cls.predictions.decoder.weight": "bert.embeddings.word_embeddings.weight",
    "cls.predictions.decoder.bias": "cls.predictions.bias",
}


def hf_names(ours: str) -> tuple[str, ...]:
    """The tensors of the Hugging Face layout that one of ours is made of.

    >>> hf_names("encoder.layers.3.attention.qkv.bias")[1]
    'bert.encoder.layer.3.attention.self.key.bias'
    """
    layer = re.search(r"\.(\d+)\.", ours)
    number = layer[1] if layer else ""
    module, _, leaf = re.sub(r"\.\d+\.", ".{}.", ours).rpartition(".")
    return tuple(f"{theirs.format(number)}.{leaf}" for theirs in MODULES[module])


def state_to_hf(model: Bert) -> dict[str, torch.Tensor]:
    """A model's weights under their Hugging Face names, views of the model's own memory. A model without heads gets the
    names of `transformers.BertModel`, which have no "bert." in front. Pruned attention heads are left out."""
    tensors = {}
    for ours, tensor in model.state_dict().items():
        names = hf_names(ours)
        tensors.update(zip(names, tensor.chunk(len(names)), strict=True))
    for name, tensor in tensors.items():
        dim, kept = _kept(name, model.config)
        if kept is not None:
            tensors[name] = tensor.index_select(dim, kept.to(tensor.device))
    return tensors if model.head_names else {name.removeprefix("bert."): tensor for name, tensor in tensors.items()}


def classifier(fields: Mapping, tensors: Mapping[str, torch.Tensor]) -> tuple[str | None, tuple[str, ...]]:
    """Which head the tensors called "classifier" are, and its labels; (None, ()) where there are none.

    Args:
        fields: the config.json. Where it names no architecture, the pooler tells: `transformers` writes none for tags.

    Raises:
        CheckpointError: it gives several labels to one input, which no head here does.
    """
    weight = tensors.get("classifier.weight")
    if weight is None:
        return None, ()
    named = [CLASSIFIER_OF[name] for name in fields.get("architectures") or () if name in CLASSIFIER_OF]
    pooled = any("pooler." in name for name in tensors)
    head = named[0] if named else "classify" if pooled else "tag"
    problem = fields.get("problem_type")
    if head == "classify" and problem == "multi_label_classification":
        raise CheckpointError("it gives several labels to one text (multi-label), which bertlab does not read")
    if head == "classify" and (problem == "regression" or len(weight) == 1):
        return "regress", ()
    if head == "choose":
        return head, ()
    # transformers leaves the names out where they are these
    return head, ModelConfig.from_hf(dict(fields)).labels or tuple(f"LABEL_{n}" for n in range(len(weight)))


def hf_to_state(
    tensors: Mapping[str, torch.Tensor], config: ModelConfig, classifier: str | None = None
) -> tuple[dict[str, torch.Tensor], tuple[str, ...]]:
    """A Hugging Face BERT's tensors -> the state of `Bert(config, heads)`, and those heads.

    Every tensor is either used or known to be no weight, and every shape is the configuration's. The pooler alone may
    be absent, as `transformers` writes none for masked words, questions and tags; then the state has none either. The
    weights of pruned attention heads, which no file holds, come back as zeros.

    Args:
        classifier: which head the tensors called "classifier" are.

    Raises:
        CheckpointError: a tensor is missing, left over, of another shape, not of floating point, or untied.
    """
    theirs = _canonical(tensors)
    last = hf_names(f"encoder.layers.{config.num_layers - 1}.attention.out.weight")[0]
    if last not in theirs:  # said before building, which for a false number of layers could take for ever
        raise CheckpointError(
            f"the weights have no tensor {last}, so they are not a BERT of {config.num_layers} layers"
        )
    heads = tuple(
        name
        for name in HEADS
        if (name not in CLASSIFIERS or name == classifier) and any(_is_of(theirs, f"heads.{name}"))
    )
    with torch.device("meta"):
        wanted = Bert(config, heads).state_dict()
    if not any(_is_of(theirs, "pooler")):
        if reading := [HEADS[name].title for name in heads if HEADS[name].pooled]:
            raise CheckpointError(f"the weights have a {reading[0]} head but no pooler for it to read")
        wanted = {ours: tensor for ours, tensor in wanted.items() if not ours.startswith("pooler.")}
    state = {}
    for ours, meta in wanted.items():
        names = hf_names(ours)
        for name, part in zip(names, meta.chunk(len(names)), strict=True):
            dim, kept = _kept(name, config)
            _check(name, theirs.get(name), part if kept is None else part.index_select(dim, kept.to("meta")))
            if kept is not None:
                theirs[name] = theirs[name].new_zeros(part.shape).index_copy(dim, kept, theirs[name])
        pieces = [theirs.pop(name) for name in names]
        state[ours] = torch.cat(pieces) if len(pieces) > 1 else pieces[0]
    if theirs:
        raise CheckpointError(f"the weights hold tensors that this BERT has no place for: {_few(theirs)}")
    return state, heads


def _kept(name: str, config: ModelConfig) -> tuple[int, torch.Tensor | None]:
    """The dimension of a tensor along which heads lie, and what is left of it there; None where all is."""
    for pattern, dim in PRUNABLE if config.pruned_heads else ():
        found = re.search(pattern, name)
        gone = [head for layer, head in config.pruned_heads if found and layer == int(found[1])]
        if gone:
            places_ND = torch.arange(config.hidden_size).view(config.num_heads, config.head_size)
            left = [head for head in range(config.num_heads) if head not in gone]
            return dim, places_ND[left].flatten()
    return 0, None


def _canonical(tensors: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """The tensors under the names of `MODULES`: aliases resolved, ignored buffers and equal tied copies dropped."""
    theirs = {}
    for given, tensor in tensors.items():
        name = given
        for pattern, usual in ALIASES:
            name = re.sub(pattern, usual, name)
        if name in theirs:
            raise CheckpointError(f"the weights hold {name} twice, once as {given}")
        if not re.search(IGNORED, name):
            theirs[name] = tensor
    for copy, original in TIED.items():
        tied = theirs.pop(copy, None)
        if tied is not None and not torch.equal(theirs.setdefault(original, tied), tied):
            raise CheckpointError(f"{copy} differs from {original}; in a BERT the two are one tensor")
    return theirs


def _is_of(theirs: Mapping[str, torch.Tensor], part: str):
    """For every tensor, whether it belongs to this part of our model."""
    modules = [name for ours, names in MODULES.items() if f"{ours}.".startswith(f"{part}.") for name in names]
    return (name.rpartition(".")[0] in modules for name in theirs)


def _check(name: str, tensor: torch.Tensor | None, wanted: torch.Tensor) -> None:
    if tensor is None:
        raise CheckpointError(f"the weights have no tensor {name}, which should be of shape {list(wanted.shape)}")
    if tensor.shape != wanted.shape:
        raise CheckpointError(
            f"{name} has the shape {list(tensor.shape)}, but config.json makes it {list(wanted.shape)}"
        )
    if not tensor.is_floating_point():
        raise CheckpointError(f"{name} holds {tensor.dtype}, not floating-point weights")


def _few(names, most: int = 4) -> str:
    names = sorted(names)
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
