"""Read and check the configuration and the record of a checkpoint directory. This module does not import torch."""

from pathlib import Path

from bertlab.config.config import ModelConfig
from bertlab.config.errors import CheckpointError, first_line
from bertlab.config.files import read_json_object
from bertlab.config.rotary import RotaryAttention
from bertlab.config.sparse import SparseAttention

# File names in a checkpoint directory: the configuration, the record of the training, and the model card.
CONFIG, RECORD, CARD = "config.json", "bertlab.json", "README.md"
# The weights; the list of the files over which large weights are spread; and weights in an older format.
WEIGHTS, INDEX, OLD_WEIGHTS = "model.safetensors", "model.safetensors.index.json", "pytorch_model.bin"
ONNX = "model.onnx"  # the weights and the computation in one file

# No published model has more layers than this. Without a limit, building a model with a forged number of layers would
# take minutes.
MAX_LAYERS = 1000


def read_config(directory: Path) -> ModelConfig:
    """Read `config.json`; the weights may be missing. Raises CheckpointError if it does not describe a BERT."""
    path = directory / CONFIG
    if not path.is_file():
        raise CheckpointError("checkpoint-no-config", path=directory)
    fields = read_json_object(path)
    architectures = fields.get("architectures") or []
    if not isinstance(architectures, list) or not all(isinstance(name, str) for name in architectures):
        raise CheckpointError("config-architectures-invalid", path=path)
    try:
        config = ModelConfig.from_hf(fields)
    except TypeError as error:
        raise CheckpointError("config-not-a-bert", path=path, reason=first_line(error)) from None
    for name, value in vars(config).items():
        if not _is_valid_field(config, name, value):
            # Long integers are not shown: Python refuses to convert those with thousands of digits to strings.
            value_text = "10^19 or more" if isinstance(value, int) and abs(value) >= 10**19 else repr(value)
            raise CheckpointError("config-value-invalid", path=path, name=name, value=value_text)
    return config


def read_record(directory: Path) -> dict:
    """Return the content of `bertlab.json`; {} if there is no such file. Raises CheckpointError if it is damaged."""
    path = directory / RECORD
    return read_json_object(path) if path.exists() else {}


def _is_valid_field(config: ModelConfig, name: str, value: object) -> bool:
    """The check depends on the type of the field's default."""
    if value == getattr(config.family, name, None) == 0:  # the family requires 0, such as 0 token types
        return True
    if name == "pad_token_id" and config.family.positions_after_padding:
        return type(value) is int and 0 <= value < 10**8
    default = getattr(ModelConfig, name)
    if default is None:  # an optional size, or settings that were checked when they were read
        is_settings = isinstance(value, RotaryAttention | SparseAttention)
        return value is None or is_settings or (type(value) is int and 0 < value < 10**6)
    if isinstance(default, bool):
        return isinstance(value, bool)
    if isinstance(default, int) and name != "pad_token_id":
        return type(value) is int and 0 < value < (MAX_LAYERS + 1 if name == "num_layers" else 10**8)
    if isinstance(default, float):
        return type(value) in (int, float) and 0 <= value <= 1
    return True
