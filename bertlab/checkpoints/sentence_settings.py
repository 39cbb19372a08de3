"""Read and write how a checkpoint computes sentence vectors, in the files of `sentence-transformers`.

We read the keys of versions 2 to 6, and write those of version 2, which all read. This module does not import torch.
"""

import json
from dataclasses import dataclass
from pathlib import Path

from bertlab.config.errors import CheckpointError
from bertlab.config.files import read_json_object, read_text

MODULES, POOLING_DIRECTORY, ENCODER_CONFIG = "modules.json", "1_Pooling", "sentence_bert_config.json"
VECTOR_CONFIG = "config_sentence_transformers.json"  # the prompts and the similarity function
FILES = (MODULES, POOLING_DIRECTORY, ENCODER_CONFIG, VECTOR_CONFIG)

# Key of 1_Pooling/config.json before version 6 -> pooling mode, in the order of concatenation.
_MODE_OF_KEY = {
    "pooling_mode_cls_token": "cls", "pooling_mode_max_tokens": "max", "pooling_mode_mean_tokens": "mean",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens", "pooling_mode_weightedmean_tokens": "weightedmean",
    "pooling_mode_lasttoken": "lasttoken",
}  # fmt: skip
_SUPPORTED_MODES = ("cls", "max", "mean", "mean_sqrt_len_tokens")  # those that bertlab can compute
_CLASS_PREFIX = "sentence_transformers.models."  # comes before the name of each class in modules.json


@dataclass(frozen=True)
class SentenceSettings:
    pooling: tuple[str, ...] = ("mean",)  # keys of `nn.pooling.POOLING_MODES`, whose results are concatenated
    max_tokens: int | None = None  # texts are truncated after them; None if only the model limits it
    prompt: str = ""  # text before every text to encode
    is_recorded: bool = False  # the checkpoint has settings, so it was probably trained to make vectors


def read_sentence_settings(directory: Path) -> SentenceSettings:
    """Read how a checkpoint computes sentence vectors (by default, mean pooling). Raises CheckpointError."""
    if not (directory / MODULES).is_file():
        return SentenceSettings()
    pooling: tuple[str, ...] = ("mean",)
    for name, path in _read_modules(directory / MODULES):
        if name == "Pooling":
            pooling = _read_pooling(directory / path / "config.json")
        elif name not in ("Transformer", "Normalize", "Dropout"):
            raise CheckpointError("sentence-module-unknown", path=directory, module=name)
    vector_config = _read_optional(directory / VECTOR_CONFIG)
    prompts, prompt_name = vector_config.get("prompts"), vector_config.get("default_prompt_name")
    prompt = prompts.get(prompt_name) if isinstance(prompts, dict) and isinstance(prompt_name, str) else ""
    limit = _read_optional(directory / ENCODER_CONFIG).get("max_seq_length")
    if limit is None:  # version 6 stores the limit with the tokenizer
        limit = _read_optional(directory / "tokenizer_config.json").get("model_max_length")
    # [CLS] and [SEP] need two tokens; a huge limit (transformers writes 10^30) means that there is none.
    max_tokens = limit if type(limit) is int and 2 < limit < 10**6 else None
    return SentenceSettings(pooling, max_tokens, prompt if isinstance(prompt, str) else "", is_recorded=True)


def format_sentence_settings(settings: SentenceSettings, hidden_size: int) -> dict[str, str]:
    """Format the files of `sentence-transformers` -> {path in the checkpoint: content}."""
    # (directory, class) of each module.
    modules = (("", "Transformer"), (POOLING_DIRECTORY, "Pooling"), ("2_Normalize", "Normalize"))
    rows = [
        {"idx": index, "name": str(index), "path": path, "type": _CLASS_PREFIX + name}
        for index, (path, name) in enumerate(modules)
    ]
    pooling = {"word_embedding_dimension": hidden_size}
    pooling |= {key: mode in settings.pooling for key, mode in _MODE_OF_KEY.items()}
    contents = {
        MODULES: rows,
        f"{POOLING_DIRECTORY}/config.json": pooling,
        ENCODER_CONFIG: {"max_seq_length": settings.max_tokens, "do_lower_case": False},
        VECTOR_CONFIG: {"prompts": {}, "default_prompt_name": None, "similarity_fn_name": "cosine"},
    }
    return {path: json.dumps(content, indent=2) + "\n" for path, content in contents.items()}


def _read_modules(path: Path) -> list[tuple[str, str]]:
    try:
        rows = json.loads(read_text(path))
        return [(str(row["type"]).rpartition(".")[2], str(row["path"])) for row in rows]
    except (ValueError, RecursionError, TypeError, KeyError):
        raise CheckpointError("json-invalid", path=path) from None


def _read_pooling(path: Path) -> tuple[str, ...]:
    fields = read_json_object(path)
    modes = fields.get("pooling_mode") or [mode for key, mode in _MODE_OF_KEY.items() if fields.get(key)] or "mean"
    modes = (modes,) if isinstance(modes, str) else tuple(map(str, modes))
    if fields.get("include_prompt") is False or not all(mode in _SUPPORTED_MODES for mode in modes):
        raise CheckpointError("sentence-pooling-unknown", path=path, modes=list(modes))
    return modes


def _read_optional(path: Path) -> dict:
    return read_json_object(path) if path.is_file() else {}
