"""Download a checkpoint from the Hugging Face hub: the files that bertlab reads, never code, up to a size limit."""

import os
import sys
from pathlib import Path

import httpx2
import huggingface_hub
from huggingface_hub.errors import (
    DryRunError,
    GatedRepoError,
    HFValidationError,
    LocalEntryNotFoundError,
    OfflineModeIsEnabled,
    RepositoryNotFoundError,
)

from bertlab.checkpoints.assets import find_asset_directory
from bertlab.checkpoints.files import INDEX, OLD_WEIGHTS, WEIGHTS, read_config
from bertlab.config.errors import CheckpointError, first_line
from bertlab.config.languages import Message

# The files that are downloaded first: configuration, record, tokenizer and the settings of sentence vectors.
SMALL_FILES = [
    "config.json", "bertlab.json", "tokenizer.json", "tokenizer_config.json", "vocab.txt", "modules.json",
    "1_Pooling/config.json", "sentence_bert_config.json", "config_sentence_transformers.json",
]  # fmt: skip
# Patterns of the files with safetensors weights; `OLD_WEIGHTS` is downloaded only if a model has none of them.
WEIGHT_FILES = [WEIGHTS, INDEX, "model-*-of-*.safetensors"]
MAX_SIZE_VARIABLE = "BERTLAB_MAX_DOWNLOAD"  # environment variable: the maximum size of the weights, in GB
DEFAULT_MAX_SIZE = 4.0  # GB; the largest BERT has 1.3 GB of weights


def download(hub_id: str, needs_weights: bool = True) -> Path:
    """Download those files of a checkpoint that are not in the cache yet, and return its directory in the cache.

    `config.json` is read before the weights are requested, so that a mistyped id costs only kilobytes. Raises
    CheckpointError.
    """
    try:
        directory = Path(huggingface_hub.snapshot_download(hub_id, allow_patterns=SMALL_FILES))
        if not needs_weights:
            return directory
        read_config(directory)
        return _download_weights(hub_id, directory)
    except GatedRepoError:
        raise CheckpointError("hub-model-gated", name=hub_id) from None
    except RepositoryNotFoundError:
        raise CheckpointError("hub-model-not-found", name=hub_id, shipped=find_asset_directory("checkpoints")) from None
    except HFValidationError:
        raise CheckpointError("hub-name-invalid", name=hub_id) from None
    except (LocalEntryNotFoundError, OfflineModeIsEnabled):
        raise CheckpointError("hub-unreachable", name=hub_id, shipped=find_asset_directory("checkpoints")) from None
    except (OSError, httpx2.HTTPError) as error:
        reason = getattr(error, "strerror", None) or first_line(error)
        raise CheckpointError("hub-download-failed", name=hub_id, reason=reason) from None


def _download_weights(hub_id: str, directory: Path) -> Path:
    """Download the weights of a model whose small files are in `directory`."""
    try:
        files = huggingface_hub.snapshot_download(hub_id, allow_patterns=[*WEIGHT_FILES, OLD_WEIGHTS], dry_run=True)
    except DryRunError:  # the hub cannot be reached, but the weights may be in the cache
        if any(directory.glob("*.safetensors")) or (directory / OLD_WEIGHTS).exists():
            return directory
        raise CheckpointError("hub-unreachable", name=hub_id, shipped=find_asset_directory("checkpoints")) from None
    if safetensors_files := [file for file in files if file.filename != OLD_WEIGHTS]:
        files = safetensors_files
    download_bytes = sum(file.file_size or 0 for file in files if file.will_download)
    value = os.environ.get(MAX_SIZE_VARIABLE) or DEFAULT_MAX_SIZE
    try:
        limit = float(value)
    except ValueError:
        raise CheckpointError("hub-limit-invalid", variable=MAX_SIZE_VARIABLE, value=value) from None
    if download_bytes > limit * 1e9:
        raise CheckpointError(
            "hub-weights-too-large",
            name=hub_id, size=f"{download_bytes / 1e9:.1f}", limit=f"{limit:g}", variable=MAX_SIZE_VARIABLE,
        )  # fmt: skip
    if download_bytes:
        print(Message("hub-download-size", name=hub_id, size=f"{download_bytes / 1e6:,.0f}"), file=sys.stderr)
    names = [*SMALL_FILES, *(file.filename for file in files)]
    return Path(huggingface_hub.snapshot_download(hub_id, allow_patterns=names))
