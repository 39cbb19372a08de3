"""A directory <-> a model with its tokenizer, in the Hugging Face layout.

`bertlab.json` beside it says how the model was made. Nothing that can run code is ever unpickled, and a directory is
written whole or not at all. Knows no text and no training.
"""

import json
import os
import pickle
import secrets
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from bertlab.checkpoints import hub
from bertlab.checkpoints.maps import classifier, hf_to_state, state_to_hf
from bertlab.config.config import ModelConfig
from bertlab.config.errors import BertlabError, CheckpointError, first_line
from bertlab.config.files import write_atomically
from bertlab.config.tasks import TaskSpec
from bertlab.nn.bert import Bert, Pooler
from bertlab.nn.heads import CLASSIFIERS
from bertlab.text.pretraining.sentence_pairs import Second
from bertlab.text.tokenizers.wordpiece import Tokenizer

WEIGHTS, INDEX, OLD_WEIGHTS = "model.safetensors", "model.safetensors.index.json", "pytorch_model.bin"
CONFIG, RECORD, CARD = "config.json", "bertlab.json", "README.md"

PADDING = 1024  # rows that an embedding table may have beyond its vocabulary: tables are padded to round sizes

# The heads a model has -> the class that opens all of them in transformers; the first row that fits.
ARCHITECTURES = (
    ({"classify"}, "BertForSequenceClassification"),
    ({"regress"}, "BertForSequenceClassification"),
    ({"tag"}, "BertForTokenClassification"),
    ({"choose"}, "BertForMultipleChoice"),
    ({"mlm", "nsp"}, "BertForPreTraining"),
    ({"span"}, "BertForQuestionAnswering"),
    ({"mlm"}, "BertForMaskedLM"),
    ({"nsp"}, "BertForNextSentencePrediction"),
    (set(), "BertModel"),
)


@dataclass(frozen=True)
class Checkpoint:
    """model: in eval mode. name: the directory's name, or the hub id. record: what `bertlab.json` says, {} without one.
    fresh: the parts that had no weights and were given random ones (heads asked for, or "pooler")."""

    model: Bert
    tokenizer: Tokenizer
    record: dict
    name: str
    path: Path
    fresh: tuple[str, ...] = ()

    @property
    def config(self) -> ModelConfig:
        return self.model.config

    @property
    def heads(self) -> tuple[str, ...]:
        return self.model.head_names

    @property
    def null_threshold(self) -> float | None:
        """tau of a question answering model that may refuse, tuned on its dev set (section 4.3); None for others."""
        tau = self.record.get("null_threshold")
        return float(tau) if type(tau) in (int, float) else None

    @property
    def second(self) -> Second:
        """What it was asked of a second sentence: by its record, or next sentence if it has the head for it."""
        if "nsp" not in self.heads:
            return "none"
        return "order" if "sentence order" in self.record.get("objectives", ()) else "next"

    def max_tokens_for(self, spec: TaskSpec) -> int:
        """Tokens of an input when it is measured on a task: the task's own, or more where it was taught with more."""
        return max(spec.max_tokens, self._taught_with("max_tokens", 0))

    @property
    def stride(self) -> int:
        """How far each window of a long passage begins after the one before: as it was taught, or 128."""
        return self._taught_with("stride", 128)

    def _taught_with(self, setting: str, otherwise: int) -> int:
        settings = self.record.get("settings")
        value = settings.get(setting) if isinstance(settings, dict) else None
        return value if type(value) is int and value > 0 else otherwise


def load(source: str | Path, *, dtype: torch.dtype = torch.float32, heads: Iterable[str] = ()) -> Checkpoint:
    """Open a checkpoint: a directory of bertlab's or of any Hugging Face BERT, or a hub id.

    Args:
        dtype: what the weights are read into, whatever they are stored as.
        heads: those of these that the checkpoint lacks are made, with random weights.

    Raises:
        CheckpointError: it is missing, empty, damaged, foreign, or its files do not fit one another.
    """
    path = hub.find(source)
    config = read_config(path)
    tensors = _read_weights(path)
    try:
        head, labels = classifier(_read_json(path / CONFIG), tensors)
        config = config.replace(labels=labels)
        state, found = hf_to_state(tensors, config, head)
    except CheckpointError as error:
        raise CheckpointError(f"{source} cannot be opened: {error}") from None
    tokenizer = Tokenizer.load(path)
    if tokenizer.vocab_size > config.vocab_size:
        raise CheckpointError(
            f"{source} cannot be opened: its vocabulary has {tokenizer.vocab_size} pieces, "
            f"its embedding table {config.vocab_size} rows"
        )
    if tokenizer.vocab_size < config.vocab_size - PADDING:
        raise CheckpointError(
            f"{source} cannot be opened: its vocabulary has only {tokenizer.vocab_size} pieces for "
            f"{config.vocab_size} rows of embeddings; it belongs to another model"
        )
    with torch.device("meta"):  # the weights come from the file, so none are drawn
        model = Bert(config, found)
    missing = [name for name in heads if name not in found]
    fresh = tuple(missing)
    if not any(name.startswith("pooler.") for name in state):
        model.pooler = Pooler(config).apply(model.initialise)
        state |= {f"pooler.{name}": tensor for name, tensor in model.pooler.state_dict().items()}
        fresh = ("pooler", *fresh)
    # a copy, so that no parameter lives in the mapped pages of a file that somebody may overwrite
    model.load_state_dict({name: tensor.to(dtype, copy=True) for name, tensor in state.items()}, assign=True)
    model.add_heads(missing)
    return Checkpoint(model.eval(), tokenizer, read_record(path), checkpoint_name(source), path, fresh)


def read_record(source: str | Path) -> dict:
    """What a checkpoint's bertlab.json says of its making, without its weights; nothing where there is none.

    Raises:
        CheckpointError: there is no such checkpoint, or the file is damaged.
    """
    path = hub.find(source, weights=False) / RECORD
    return _read_json(path) if path.exists() else {}


def checkpoint_name(source: str | Path) -> str:
    """What to call a checkpoint: its directory's name, its run's if it is a run's result, or the hub id."""
    path = Path(source).expanduser()
    if not path.is_dir():
        return str(source)
    path = path.resolve()
    return path.parent.name if path.name == "checkpoint" else path.name


def read_config(path: Path) -> ModelConfig:
    """The configuration of the checkpoint in this directory, without its weights.

    Raises:
        CheckpointError: there is none, it is damaged, or it is not a BERT's.
    """
    if not (path / CONFIG).is_file():
        raise CheckpointError(f"{path} is not a checkpoint: it has no {CONFIG}")
    try:
        config = ModelConfig.from_hf(_read_json(path / CONFIG))
    except TypeError as error:
        raise CheckpointError(f"{path / CONFIG} is not a BERT's: {error}") from None
    for name, value in vars(config).items():
        if isinstance(getattr(ModelConfig, name), bool):
            valid = isinstance(value, bool)
        elif isinstance(getattr(ModelConfig, name), int) and name != "pad_token_id":
            valid = isinstance(value, int) and 0 < value < 10**8
        elif isinstance(getattr(ModelConfig, name), float):
            valid = isinstance(value, int | float) and 0 <= value <= 1
        else:
            valid = True
        if not valid:
            raise CheckpointError(f"{path / CONFIG} gives {name} as {value!r}, which no BERT can have")
    return config


def save(
    directory: str | Path,
    model: Bert,
    tokenizer: Tokenizer,
    record: dict,
    *,
    dtype: torch.dtype = torch.float16,
    card: str = "",
) -> Path:
    """Write a checkpoint that bertlab and `transformers` open -> its directory.

    It is written beside its place, flushed to the disk and then renamed, so `directory` is never half a checkpoint.
    Other files of an old checkpoint there (a log, say) are kept.

    Args:
        record: what becomes `bertlab.json`: anything `json.dumps` takes.
        dtype: what the weights are stored as. torch.float8_e4m3fn halves the file: matrices in eight bits, vectors in
            float16; measure what it costs on the stored file.
        card: the text of README.md; none is written without one.

    Raises:
        CheckpointError: `directory` is something other than a checkpoint, or cannot be written; then all is as it was.
    """
    target = Path(directory).expanduser().resolve()
    if target.exists() and not (target / CONFIG).is_file() and not (target.is_dir() and not any(target.iterdir())):
        raise CheckpointError(f"{directory} is there and is not a checkpoint: choose another directory")
    if len(rivals := [name for name in CLASSIFIERS if name in model.head_names]) > 1:
        raise CheckpointError(f"a checkpoint holds one of the heads {' and '.join(rivals)}, not both")
    tensors = {name: _stored(name, tensor, dtype) for name, tensor in state_to_hf(model).items()}
    texts = {
        CONFIG: json.dumps(_hf_config(model, dtype), indent=2) + "\n",
        RECORD: json.dumps(record, indent=2, ensure_ascii=False) + "\n",
    }
    if card:
        texts[CARD] = card
    unfinished = target.parent / f".{target.name}.{secrets.token_hex(4)}.unfinished"
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        unfinished.mkdir()
        save_file(tensors, unfinished / WEIGHTS, metadata={"format": "pt"})
        tokenizer.save(unfinished, max_tokens=model.config.max_positions)
        for name, text in texts.items():
            (unfinished / name).write_text(text, encoding="utf-8", newline="\n")
        # safetensors makes a file that its owner alone may read
        (unfinished / WEIGHTS).chmod((unfinished / CONFIG).stat().st_mode)
        for path in [*unfinished.iterdir(), unfinished]:
            _flush(path)
        _take_place(unfinished, target)
    except (OSError, SafetensorError, BertlabError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise CheckpointError(f"the checkpoint cannot be saved to {directory}: {reason}") from None
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return target


def write_record(directory: Path, record: dict, card: str) -> None:
    """Replace `bertlab.json` and the card of a checkpoint, each whole. Raises BertlabError if they cannot be."""
    write_atomically(directory / RECORD, json.dumps(record, indent=2, ensure_ascii=False) + "\n")
    write_atomically(directory / CARD, card)


def _stored(name: str, tensor: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    # eight bits are for the matrices; vectors (biases, LayerNorm) weigh nothing and matter more
    dtype = torch.float16 if dtype == torch.float8_e4m3fn and tensor.ndim < 2 else dtype
    stored = tensor.detach().to("cpu", dtype, copy=True).contiguous()
    if not bool(stored.float().isfinite().all()):
        raise CheckpointError(
            f"{name} holds numbers that are not finite in {dtype}: the training went wrong, or save wider"
        )
    return stored


def _hf_config(model: Bert, dtype: torch.dtype) -> dict:
    architecture = next(name for needed, name in ARCHITECTURES if needed <= set(model.head_names))
    # one output stands for regression in transformers, said here once more for who reads the file
    regression = {"id2label": {0: "LABEL_0"}, "problem_type": "regression"} if "regress" in model.head_names else {}
    return {
        "architectures": [architecture],
        "model_type": "bert",
        **model.config.to_hf(),
        **regression,
        "position_embedding_type": "absolute",
        # what to compute in; transformers widens what is stored in eight bits
        "dtype": str(torch.float16 if dtype == torch.float8_e4m3fn else dtype).removeprefix("torch."),
    }


def _flush(path: Path) -> None:
    """Wait until a file or directory is on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _take_place(new: Path, target: Path) -> None:
    """Rename `new` to `target`; an old `target` steps aside first and comes back if that fails."""
    if not target.exists():
        new.rename(target)
    else:
        old = new.with_suffix(".replaced")
        target.rename(old)
        try:
            new.rename(target)
        except OSError:
            old.rename(target)
            raise
        ours = {WEIGHTS, INDEX, OLD_WEIGHTS, CONFIG, RECORD, CARD} | {path.name for path in target.iterdir()}
        for path in old.iterdir():
            if path.name not in ours:
                path.rename(target / path.name)
        shutil.rmtree(old, ignore_errors=True)
    _flush(target.parent)


def _read_json(path: Path) -> dict:
    try:
        fields = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise CheckpointError(f"{path} cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise CheckpointError(f"{path} is damaged: it is not JSON") from None
    if not isinstance(fields, dict):
        raise CheckpointError(f"{path} is damaged: it holds a {type(fields).__name__}, not an object")
    return fields


def _read_weights(path: Path) -> dict[str, torch.Tensor]:
    if (path / WEIGHTS).is_file():
        return _read_safetensors(path / WEIGHTS)
    if (path / INDEX).is_file():
        shards = _read_json(path / INDEX).get("weight_map")
        if not isinstance(shards, dict) or not all(isinstance(shard, str) for shard in shards.values()):
            raise CheckpointError(f"{path / INDEX} is damaged: it has no weight_map of names")
        tensors = {}
        for shard in sorted({Path(shard).name for shard in shards.values()}):
            tensors |= _read_safetensors(path / shard)
        return tensors
    if (path / OLD_WEIGHTS).is_file():
        return _read_old(path / OLD_WEIGHTS)
    raise CheckpointError(f"{path} has no weights: neither {WEIGHTS} nor {OLD_WEIGHTS} is there")


def _read_safetensors(path: Path) -> dict[str, torch.Tensor]:
    try:
        return load_file(path)
    except (SafetensorError, OSError) as error:
        raise CheckpointError(f"{path} is damaged: {first_line(error)}") from None


def _read_old(path: Path) -> dict[str, torch.Tensor]:
    """A `pytorch_model.bin`, which is a pickle: read by the reader that builds tensors and nothing else."""
    refusals = (
        pickle.UnpicklingError,
        RuntimeError,
        EOFError,
        OSError,
        ValueError,
        TypeError,
        LookupError,
        AttributeError,
    )
    try:
        tensors = torch.load(path, map_location="cpu", weights_only=True)
    except refusals as error:
        raise CheckpointError(f"{path} is damaged, or holds more than weights: {first_line(error)}") from None
    if not isinstance(tensors, dict) or not all(
        isinstance(name, str) and isinstance(tensor, torch.Tensor) for name, tensor in tensors.items()
    ):
        raise CheckpointError(f"{path} is not a table of named tensors")
    return dict(tensors)
