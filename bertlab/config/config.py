"""What a BERT is, as one frozen row of numbers, and how that row reads in a Hugging Face `config.json`.

Knows no tensor and no file.
"""

from dataclasses import dataclass, replace

from bertlab.config.errors import CheckpointError

# our field -> its name in a Hugging Face BertConfig
HF_FIELDS = {
    "vocab_size": "vocab_size",
    "hidden_size": "hidden_size",
    "num_layers": "num_hidden_layers",
    "num_heads": "num_attention_heads",
    "intermediate_size": "intermediate_size",
    "max_positions": "max_position_embeddings",
    "type_vocab_size": "type_vocab_size",
    "activation": "hidden_act",
    "layer_norm_eps": "layer_norm_eps",
    "initializer_range": "initializer_range",
    "hidden_dropout": "hidden_dropout_prob",
    "attention_dropout": "attention_probs_dropout_prob",
    "pad_token_id": "pad_token_id",
    "left_to_right": "is_decoder",
}

# the name in config.json -> how torch's GELU is told: the exact erf form, or the tanh approximation of Google's code
ACTIVATIONS = {"gelu": "none", "gelu_new": "tanh", "gelu_pytorch_tanh": "tanh"}


@dataclass(frozen=True)
class ModelConfig:
    """The shape of a BERT (Devlin et al. 2019, section 3 and appendix A.2). Defaults are BERT-base, uncased.

    >>> ModelConfig(hidden_size=256, num_layers=4, num_heads=4, intermediate_size=1024).head_size
    64
    """

    vocab_size: int = 30522
    hidden_size: int = 768
    num_layers: int = 12
    num_heads: int = 12
    intermediate_size: int = 3072
    max_positions: int = 512
    type_vocab_size: int = 2
    activation: str = "gelu"
    layer_norm_eps: float = 1e-12
    initializer_range: float = 0.02
    hidden_dropout: float = 0.1
    attention_dropout: float = 0.1
    pad_token_id: int = 0
    left_to_right: bool = False  # a token sees itself and those before it; the paper's table 5 (section 5.1)
    labels: tuple[str, ...] = ()  # what a classify or tag head tells apart, in the order of its rows
    pruned_heads: tuple[tuple[int, int], ...] = ()  # (layer, head) pairs of zero weights, left out of a file of weights

    def __post_init__(self):
        if self.num_heads < 1 or self.hidden_size % self.num_heads:
            raise CheckpointError(
                f"hidden_size {self.hidden_size} cannot be divided into {self.num_heads} heads of equal size"
            )
        if self.activation not in ACTIVATIONS:
            raise CheckpointError(f"activation {self.activation!r} is not one of {', '.join(ACTIVATIONS)}")

    @property
    def head_size(self) -> int:
        return self.hidden_size // self.num_heads

    def replace(self, **changes) -> "ModelConfig":
        return replace(self, **changes)

    def to_hf(self) -> dict:
        """The fields as `transformers.BertConfig` names them; `pruned_heads`, as its versions before 5 read it, only
        where some are.

        >>> ModelConfig(pruned_heads=((0, 3), (2, 1), (2, 11))).to_hf()["pruned_heads"]
        {'0': [3], '2': [1, 11]}
        """
        fields = {hf: getattr(self, name) for name, hf in HF_FIELDS.items()}
        if self.labels:
            fields["id2label"] = dict(enumerate(self.labels))
            fields["label2id"] = {label: number for number, label in enumerate(self.labels)}
        for layer, head in sorted(self.pruned_heads):
            fields.setdefault("pruned_heads", {}).setdefault(str(layer), []).append(head)
        return fields

    @classmethod
    def from_hf(cls, fields: dict) -> "ModelConfig":
        """Read the `config.json` of any Hugging Face BERT.

        Raises:
            CheckpointError: it is not a BERT, or a size that has no default is missing.
        """
        family = fields.get("model_type", "bert")
        if family != "bert":
            raise CheckpointError(f"config.json says model_type {family!r}; bertlab opens 'bert'")
        position = fields.get("position_embedding_type", "absolute")
        if position != "absolute":
            raise CheckpointError(f"config.json says position_embedding_type {position!r}; BERT's is 'absolute'")
        required = ("vocab_size", "hidden_size", "num_layers", "num_heads", "intermediate_size")
        missing = [HF_FIELDS[name] for name in required if not isinstance(fields.get(HF_FIELDS[name]), int)]
        if missing:
            raise CheckpointError(f"config.json has no whole number for {', '.join(missing)}")
        known = {name: fields[hf] for name, hf in HF_FIELDS.items() if fields.get(hf) is not None}
        config = cls(**known, labels=_labels(fields.get("id2label")))
        return config.replace(pruned_heads=_pruned(fields.get("pruned_heads") or {}, config))


def _labels(names: object) -> tuple[str, ...]:
    """`id2label` of a config.json, whose keys are numbers as text, in order; () where it is none.

    >>> _labels({"1": "good", "0": "bad"})
    ('bad', 'good')
    """
    if not isinstance(names, dict):
        return ()
    by_number = {str(number): str(label) for number, label in names.items()}
    if by_number.keys() != {str(number) for number in range(len(by_number))}:
        raise CheckpointError(f"config.json numbers its labels {', '.join(by_number)}, not from 0 on")
    return tuple(by_number[str(number)] for number in range(len(by_number)))


def _pruned(table: object, config: ModelConfig) -> tuple[tuple[int, int], ...]:
    """The pairs of a `pruned_heads` table, {layer: [heads]}, in order."""
    try:
        pairs = sorted({(int(layer), head) for layer, heads in table.items() for head in heads})
    except (AttributeError, TypeError, ValueError):
        raise CheckpointError("config.json holds pruned_heads that are not lists of heads by layer") from None
    for layer, head in pairs:
        if not (0 <= layer < config.num_layers and type(head) is int and 0 <= head < config.num_heads):
            raise CheckpointError(f"config.json calls head {head} of layer {layer} pruned: there is none")
    return tuple(pairs)
