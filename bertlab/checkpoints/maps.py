"""Convert tensor names between bertlab and the Hugging Face layout; one table per family serves both directions."""

import re
from collections.abc import Iterable, Mapping

import torch

from bertlab.config.config import ModelConfig
from bertlab.config.errors import CheckpointError
from bertlab.config.families import BERT, FAMILIES, Family
from bertlab.nn.bert import Bert
from bertlab.nn.heads import HEADS, get_hf_head_names
from bertlab.nn.variants.model import FamilyBert

# Names of tensors in checkpoints that were converted from TensorFlow before 2019, and today's.
OLD_NAMES = ((r"LayerNorm\.gamma$", "LayerNorm.weight"), (r"LayerNorm\.beta$", "LayerNorm.bias"))
# Two constants (0, 1, 2, ... and zeros) that some versions of transformers save with the weights.
IGNORED_BUFFERS = r"\.embeddings\.(position_ids|token_type_ids)$"


def _find_head_modules(name: str, family: Family) -> dict[str, tuple[str, ...]]:
    """Map bertlab's modules of an output layer, and of a pooler that belongs to it, to modules of the checkpoint."""
    hf_head = get_hf_head_names(name, family)
    # The module "" is the output layer itself, so its name is not followed by a dot.
    head = {f"heads.{name}{module and '.'}{module}": (hf_module,) for module, hf_module in hf_head.modules.items()}
    return head | {f"pooler.{module}": (hf_module,) for module, hf_module in hf_head.pooler.items()}


def get_hf_names(name: str, config: ModelConfig | None = None, heads: Iterable[str] | None = None) -> tuple[str, ...]:
    """Return the Hugging Face names of the tensors that a tensor consists of, such as query, key and value.

    The result is () if a checkpoint does not store the tensor; `config` is by default BERT's, `heads` are all.

    >>> get_hf_names("encoder.layers.3.attention.qkv.bias")[1]
    'bert.encoder.layer.3.attention.self.key.bias'
    """
    family = config.family if config else BERT
    modules = dict(family.tensors)
    for head in HEADS if heads is None else heads:
        modules |= _find_head_modules(head, family)
    indices = [int(digits) for digits in re.findall(r"\.(\d+)(?=\.)", name)]  # the index of the layer comes first
    if config and indices:  # layers that share weights have the same index in a checkpoint
        indices[0] = config.find_weight_layer(indices[0])
    module, _, parameter = re.sub(r"\.\d+(?=\.)", ".{}", name).rpartition(".")
    return tuple(f"{hf_module.format(*indices)}.{parameter}" for hf_module in modules.get(module, ()))


def state_to_hf(model: Bert) -> dict[str, torch.Tensor]:
    """Return the weights of a model by their Hugging Face names; if possible, they share the memory of the model.

    Without output layers these are the names of `transformers.BertModel`, without "bert.". The result lacks pruned
    heads, and a pooler that the family stores only with output layers.
    """
    tensors = {}
    config, prefix = model.config, f"{model.config.family.prefix}."
    for own_name, tensor in model.state_dict().items():
        names = get_hf_names(own_name, config, model.head_names)
        for name, part in zip(names, tensor.chunk(max(1, len(names))), strict=False):
            tensors[name] = part
    return tensors if model.head_names else {name.removeprefix(prefix): tensor for name, tensor in tensors.items()}


def find_heads(tensors: Mapping[str, torch.Tensor], family: Family, fields: Mapping) -> tuple[str, ...]:
    """Find the output layers of a Hugging Face checkpoint with these fields of config.json, in the order of `HEADS`."""
    stored_modules = {name.rpartition(".")[0] for name in tensors}
    by_module: dict[str, list[str]] = {}
    for name in HEADS:
        by_module.setdefault(get_hf_head_names(name, family).modules[""], []).append(name)
    excluded = set()
    for module, candidates in by_module.items():
        if len(candidates) > 1 and f"{module}.weight" in tensors:
            excluded |= set(candidates) - {_identify_shared_head(tensors, family, fields, module, candidates)}
    return tuple(name for name in HEADS if name not in excluded and stored_modules & _find_own_modules(name, family))


def _identify_shared_head(
    tensors: Mapping[str, torch.Tensor], family: Family, fields: Mapping, module: str, candidates: list[str]
) -> str:
    """Find which of `candidates`, output layers that share a tensor name such as "classifier", a checkpoint has.

    The architecture in config.json tells. Without it, a checkpoint without a pooler is a tagger, because `transformers`
    writes no pooler for taggers.
    """
    weight = tensors[f"{module}.weight"]
    if weight.ndim != 2 or not weight.numel():
        raise CheckpointError("weights-classifier-shape", shape=str(list(weight.shape)))
    by_class = {get_hf_head_names(name, family).hf_class: name for name in reversed(candidates)}
    heads_of_architectures = [by_class[name] for name in fields.get("architectures") or () if name in by_class]
    stored_modules = {name.rpartition(".")[0] for name in tensors}
    has_pooler = any("pooler." in name for name in tensors)
    # Without an architecture, we choose the first candidate that reads the pooler if the checkpoint has a pooler, and
    # otherwise the first one that reads hidden states.
    by_pooler = [
        name
        for name in candidates
        if HEADS[name].reads_pooled
        and (has_pooler or stored_modules >= set(get_hf_head_names(name, family).pooler.values()) > set())
    ]
    by_hidden = [name for name in candidates if not HEADS[name].reads_pooled]
    head = [*heads_of_architectures, *by_pooler, *by_hidden, *candidates][0]
    problem_type = fields.get("problem_type")
    if head == "classify" and problem_type == "multi_label_classification":
        raise CheckpointError("checkpoint-multi-label")
    if head == "classify" and (problem_type == "regression" or len(weight) == 1):
        return "regress"
    return head


def find_labels(config: ModelConfig, heads: Iterable[str], tensors: Mapping[str, torch.Tensor]) -> tuple[str, ...]:
    """Return the labels of the output layers: those of config.json, or the default names, which it lacks."""
    for name in heads:
        if HEADS[name].has_labels:
            weight = tensors.get(f"{get_hf_head_names(name, config.family).modules['']}.weight", ())
            return config.labels or tuple(f"LABEL_{n}" for n in range(len(weight)))
    return ()


def hf_to_state(
    tensors: Mapping[str, torch.Tensor], config: ModelConfig, heads: tuple[str, ...]
) -> dict[str, torch.Tensor]:
    """Convert the tensors of a Hugging Face BERT to the state of `Bert(config, heads)`.

    Every tensor except `IGNORED_BUFFERS` must belong to the model, with the right shape. Only the pooler may be
    missing, because `transformers` writes none for masked language models, question answering and tagging. Raises
    CheckpointError.
    """
    family = config.family
    stored = _rename_tensors(tensors, family)
    stored_modules = {name.rpartition(".")[0] for name in stored}
    _check_layers(stored_modules, config)
    for name in heads:
        if get_hf_head_names(name, family).pooler:
            # Older versions of transformers also store the pooler of the encoder, which this output layer does not use.
            pooler_prefix = f"{family.prefix}.pooler."
            stored = {key: tensor for key, tensor in stored.items() if not key.startswith(pooler_prefix)}
    with torch.device("meta"):
        model = FamilyBert(config, heads)
    expected = {name: (get_hf_names(name, config, heads), tensor) for name, tensor in model.state_dict().items()}
    if not any(stored.keys() & set(names) for own_name, (names, _) in expected.items() if own_name[:7] == "pooler."):
        pooled_heads = [HEADS[name].title for name in heads if HEADS[name].reads_pooled]
        if pooled_heads and any(True for _ in model.pooler.parameters()):
            raise CheckpointError("weights-no-pooler", head=pooled_heads[0])
        expected = {name: row for name, row in expected.items() if not name.startswith("pooler.")}
    state = {}
    for own_name, (names, own_tensor) in expected.items():
        for name, part in zip(names, own_tensor.chunk(len(names)), strict=True):
            _check_tensor(name, stored.get(name), part)
        parts = [stored[name] for name in names]
        state[own_name] = torch.cat(parts) if len(parts) > 1 else parts[0]
    if unused := sorted(stored.keys() - {name for names, _ in expected.values() for name in names}):
        raise CheckpointError("weights-unused", tensors=unused[:4], more=max(len(unused) - 4, 0))
    return state


def _check_layers(stored_modules: Iterable[str], config: ModelConfig) -> None:
    """Raise an error if the weights are those of another family or number of layers.

    This comes before the model is built, which would take minutes for a forged number of layers.
    """
    layers = set()
    for names in config.family.tensors.values():
        for name in names if "{}" in names[0] else ():
            pattern = re.escape(name).replace(re.escape("{}"), r"(\d{1,9})")
            layers |= {match[1] for module in stored_modules if (match := re.fullmatch(pattern, module))}
    expected = config.num_layer_groups or config.num_layers
    if not layers:
        roots = {module.partition(".")[0] for module in stored_modules}
        for family in FAMILIES.values():
            if family.prefix in roots and family.prefix != config.family.prefix:
                raise CheckpointError(
                    "weights-of-other-family", type=config.model_type, other=family.model_type, name=family.prefix
                )
    if len(layers) != expected:
        raise CheckpointError("weights-layer-count", layers=expected, stored=len(layers))


def _find_own_modules(name: str, family: Family) -> set[str]:
    """Return the modules that, if a checkpoint has one of them, prove that it has this output layer.

    A module is left out if it also belongs to an output layer whose tensors have another name in checkpoints.
    """
    modules = set(get_hf_head_names(name, family).modules.values())
    return modules - {
        module
        for other in HEADS
        if other != name and get_hf_head_names(other, family).modules[""] != get_hf_head_names(name, family).modules[""]
        for (module,) in _find_head_modules(other, family).values()
    }


def _rename_tensors(tensors: Mapping[str, torch.Tensor], family: Family) -> dict[str, torch.Tensor]:
    prefix = f"{family.prefix}."
    # In checkpoints without output layers, the names have no prefix.
    roots = {
        name.removeprefix(prefix).partition(".")[0]
        for names in family.tensors.values()
        for name in names
        if name.startswith(prefix)
    }
    renamed_tensors = {}
    for stored_name, tensor in tensors.items():
        name = stored_name
        for pattern, replacement in OLD_NAMES:
            name = re.sub(pattern, replacement, name)
        if name.partition(".")[0] in roots:
            name = prefix + name
        if name in renamed_tensors:
            raise CheckpointError("weights-tensor-twice", tensor=name, alias=stored_name)
        if not re.search(IGNORED_BUFFERS, name):
            renamed_tensors[name] = tensor
    for copy, original in family.tied_copies.items():
        tied = renamed_tensors.pop(copy, None)
        if tied is not None and not torch.equal(renamed_tensors.setdefault(original, tied), tied):
            raise CheckpointError("weights-not-tied", tensor=copy, other=original)
    return renamed_tensors


def _check_tensor(name: str, tensor: torch.Tensor | None, expected: torch.Tensor) -> None:
    shape = str(list(expected.shape))
    if tensor is None:
        raise CheckpointError("weights-tensor-missing", tensor=name, shape=shape)
    if tensor.shape != expected.shape:
        raise CheckpointError("weights-tensor-shape", tensor=name, shape=str(list(tensor.shape)), expected=shape)
    if not tensor.is_floating_point():
        raise CheckpointError("weights-tensor-type", tensor=name, type=str(tensor.dtype))
