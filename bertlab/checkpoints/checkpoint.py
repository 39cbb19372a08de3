"""Load a model and its tokenizer from a checkpoint directory in the Hugging Face layout, and save them.

`bertlab.json` beside the weights records how the model was trained. A directory is written completely or not at all.
"""

import json
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import save_file

from bertlab.checkpoints import files, locate, weight_files
from bertlab.checkpoints.directory import replace_directory
from bertlab.checkpoints.files import CARD, CONFIG, INDEX, OLD_WEIGHTS, ONNX, RECORD, WEIGHTS
from bertlab.checkpoints.maps import find_heads, find_labels, hf_to_state, state_to_hf
from bertlab.checkpoints.sentence_settings import FILES as SENTENCE_FILES
from bertlab.checkpoints.sentence_settings import SentenceSettings, format_sentence_settings, read_sentence_settings
from bertlab.config.config import ModelConfig
from bertlab.config.errors import BertlabError, CheckpointError
from bertlab.config.families import BERT, Family
from bertlab.config.files import describe_system_error, read_json_object, write_atomically
from bertlab.nn.bert import Bert
from bertlab.nn.fast.model import FastBert
from bertlab.nn.heads import HEADS, find_conflicting_heads, get_hf_head_names
from bertlab.text.pretraining.sentence_pairs import PairObjectiveName
from bertlab.text.tokenizers.wordpiece import Tokenizer

# An embedding table may be padded to a round size; this is the maximum number of rows that belong to no token.
MAX_PADDING_ROWS = 1024
FLOAT8 = torch.float8_e4m3fn  # the type of matrices that are stored in eight bits
# Field of config.json with the id of a special token -> attribute of `Tokenizer` with the id of the same token.
TOKEN_ID_FIELDS = {
    "pad_token_id": "pad_id", "bos_token_id": "cls_id", "cls_token_id": "cls_id", "eos_token_id": "sep_id",
    "sep_token_id": "sep_id",
}  # fmt: skip


@dataclass(frozen=True)
class Checkpoint:
    model: Bert  # in eval mode
    tokenizer: Tokenizer
    record: dict  # the content of `bertlab.json`: how the model was trained; {} if there is no such file
    name: str  # of the run or directory, or the hub id
    path: Path  # for a hub model, its directory in the cache
    initialised_parts: tuple[str, ...] = ()  # have random weights: "pooler" or output layers

    @property
    def config(self) -> ModelConfig:
        return self.model.config

    @property
    def heads(self) -> tuple[str, ...]:
        return self.model.head_names

    @property
    def null_threshold(self) -> float | None:
        """The threshold tau for "no answer", tuned on the dev set (Devlin et al. 2019, section 4.3)."""
        tau = self.record.get("null_threshold")
        return float(tau) if type(tau) in (int, float) and abs(tau) < 1e9 else None

    @property
    def pair_objective(self) -> PairObjectiveName:
        """The sentence-pair objective of pre-training, from the record or the model family; "none" without NSP."""
        if "nsp" not in self.heads:
            return "none"
        objectives = self.record.get("objectives")
        if not isinstance(objectives, list):
            return self.config.family.pair_objective
        return "order" if "sentence order" in objectives else "next"

    @property
    def sentence_settings(self) -> SentenceSettings:
        """See `read_sentence_settings`."""
        return read_sentence_settings(self.path)

    def max_tokens_for(self, default: int) -> int:
        """Return how many tokens an input may have: the larger of `default` and the maximum used in fine-tuning."""
        return max(default, self._read_setting("max_tokens", 0))

    @property
    def stride(self) -> int:
        """The distance in tokens between the starts of consecutive windows of a passage."""
        return self._read_setting("stride", 128)

    def _read_setting(self, name: str, default: int) -> int:
        settings = self.record.get("settings")
        value = settings.get(name) if isinstance(settings, dict) else None
        return value if type(value) is int and 0 < value < 10**9 else default


def load(source: str | Path, *, dtype: torch.dtype = torch.float32, heads: Iterable[str] = ()) -> Checkpoint:
    """Load a checkpoint of bertlab or of any Hugging Face BERT: a path, the name of a shipped checkpoint, or a hub id.

    Output layers of `heads` that the checkpoint lacks are initialised at random. Raises CheckpointError.
    """
    path = locate.find(source)
    config = files.read_config(path)
    if (path / ONNX).is_file() and not any((path / name).is_file() for name in (WEIGHTS, INDEX, OLD_WEIGHTS)):
        return _load_onnx(source, path, config, heads)
    tensors = weight_files.read_weights(path)
    try:
        stored_heads = find_heads(tensors, config.family, read_json_object(path / CONFIG))
        config = config.replace(labels=find_labels(config, stored_heads, tensors))
        state = hf_to_state(tensors, config, stored_heads)
    except CheckpointError as error:
        raise CheckpointError("checkpoint-unusable", name=source, reason=error) from None
    tokenizer = _load_tokenizer(source, path, config)
    with torch.device("meta"):  # the weights come from the file, so the model is built without values
        model = FastBert(config, stored_heads)
    initialised_parts = missing_heads = [name for name in heads if name not in stored_heads]
    if not any(name.startswith("pooler.") for name in state):
        model.pooler = model.make_pooler().apply(model.initialise_weights)
        pooler_state = {f"pooler.{name}": tensor for name, tensor in model.pooler.state_dict().items()}
        state |= pooler_state
        initialised_parts = [*(["pooler"] if pooler_state else []), *missing_heads]
    # The tensors are copied, so that no parameter stays mapped to a file that may be overwritten. A tensor that several
    # layers share is copied once.
    copies = {id(tensor): tensor.to(dtype, copy=True) for tensor in state.values()}
    model.load_state_dict({name: copies[id(tensor)] for name, tensor in state.items()}, assign=True)
    model.add_heads(missing_heads)
    record, name = files.read_record(path), locate.make_display_name(source)
    return Checkpoint(model.eval(), tokenizer, record, name, path, tuple(initialised_parts))


def _load_onnx(source: str | Path, path: Path, config: ModelConfig, heads: Iterable[str]) -> Checkpoint:
    from bertlab.nn.onnx_model import OnnxBert

    model = OnnxBert(path / ONNX, config)
    if not any(HEADS[name].has_labels for name in model.head_names):
        model.config = config.replace(labels=())
    for name in heads:
        model.require_head(name)
    tokenizer = _load_tokenizer(source, path, config)
    return Checkpoint(model.eval(), tokenizer, files.read_record(path), locate.make_display_name(source), path)


def _load_tokenizer(source: str | Path, path: Path, config: ModelConfig) -> Tokenizer:
    tokenizer = Tokenizer.load(path)
    if not config.vocab_size - MAX_PADDING_ROWS <= tokenizer.vocab_size <= config.vocab_size:
        raise CheckpointError(
            "checkpoint-vocabulary-size", name=source, tokens=tokenizer.vocab_size, rows=config.vocab_size
        )
    if config.family.positions_after_padding and tokenizer.pad_id != config.pad_token_id:
        raise CheckpointError(
            "checkpoint-tokenizer-of-other", name=source, token=tokenizer.special.pad, id=tokenizer.pad_id,
            expected=config.pad_token_id,
        )  # fmt: skip
    _check_token_ids(source, path, config, tokenizer)
    return tokenizer


def _check_token_ids(source: str | Path, path: Path, config: ModelConfig, tokenizer: Tokenizer) -> None:
    """Raise an error if config.json has ids for [PAD], [CLS] and [SEP], and all three differ from the tokenizer's.

    One wrong id is common: multilingual models have the tokenizer of XLM-R but BERT's pad_token_id, and an id that was
    never set may even exceed the vocabulary.
    """
    fields = read_json_object(path / CONFIG)
    config_ids = {
        name: fields[name]
        for name in TOKEN_ID_FIELDS
        if type(fields.get(name)) is int and 0 <= fields[name] < config.vocab_size
    }
    tokenizer_ids = {name: getattr(tokenizer, TOKEN_ID_FIELDS[name]) for name in config_ids}
    has_all_three = {TOKEN_ID_FIELDS[name] for name in config_ids} == set(TOKEN_ID_FIELDS.values())
    if has_all_three and not config_ids.items() & tokenizer_ids.items():
        raise CheckpointError(
            "checkpoint-token-ids-differ",
            name=source,
            fields=[f"{name} {id}" for name, id in config_ids.items()],
            ids=list(tokenizer_ids.values()),
        )


def read_record(source: str | Path) -> dict:
    """Return the content of a checkpoint's `bertlab.json` without loading its weights; {} if there is none."""
    return files.read_record(locate.find(source, needs_weights=False))


def save(
    directory: str | Path,
    model: Bert,
    tokenizer: Tokenizer,
    record: dict,
    *,
    dtype: torch.dtype = torch.float16,
    card: str = "",
    sentence_settings: SentenceSettings | None = None,
) -> Path:
    """Write a checkpoint that bertlab and `transformers` can load, and return its directory.

    `directory` is never incomplete. Other files in the directory of an older checkpoint, such as a log, are kept. With
    torch.float8_e4m3fn, matrices take eight bits and vectors float16, which costs precision: compute the metrics with
    the stored checkpoint. `record` is the content of `bertlab.json`, `card` that of README.md.

    Raises:
        CheckpointError: `directory` contains something other than a checkpoint or cannot be written, a weight is too
            large for `dtype`, or two output layers would get the same tensor names. `directory` is then unchanged.
    """
    for conflicting_heads in find_conflicting_heads(model.head_names, model.config.family).values():
        raise CheckpointError("checkpoint-several-classifiers", heads=conflicting_heads)
    check_target(directory)
    tensors = {name: _convert_for_storage(name, tensor, dtype) for name, tensor in state_to_hf(model).items()}

    def write_weights(new_directory: Path) -> None:
        save_file(tensors, new_directory / WEIGHTS, metadata={"format": "pt"})
        # safetensors creates a file that only its owner can read; give it the permissions of config.json.
        (new_directory / WEIGHTS).chmod((new_directory / CONFIG).stat().st_mode)

    fields = make_config_fields(model.config, model.head_names, dtype)
    return write_directory(directory, write_weights, fields, tokenizer, record, card, sentence_settings)


def check_target(directory: str | Path) -> Path:
    """Return the full path of a directory; raises CheckpointError if it has something other than a checkpoint."""
    target = Path(directory).expanduser().resolve()
    if target.exists() and not (target / CONFIG).is_file() and not (target.is_dir() and not any(target.iterdir())):
        raise CheckpointError("checkpoint-target-in-use", path=directory)
    return target


def write_directory(
    directory: str | Path,
    write_weights: Callable[[Path], None],
    fields: dict,
    tokenizer: Tokenizer,
    record: dict,
    card: str,
    sentence_settings: SentenceSettings | None,
) -> Path:
    """Write a checkpoint whose weights `write_weights` writes into the directory it is given; see `save`."""
    target, config = check_target(directory), ModelConfig.from_hf(fields)
    fields = {**fields, "cls_token_id": tokenizer.cls_id, "sep_token_id": tokenizer.sep_id}
    texts = {
        CONFIG: json.dumps(fields, indent=2) + "\n",
        RECORD: json.dumps(record, indent=2, ensure_ascii=False) + "\n",
    }
    if card:
        texts[CARD] = card
    if sentence_settings:
        texts |= format_sentence_settings(sentence_settings, config.hidden_size)
    obsolete_files = (WEIGHTS, INDEX, OLD_WEIGHTS, ONNX, CONFIG, RECORD, CARD, *SENTENCE_FILES)
    try:
        with replace_directory(target, obsolete_files) as new_directory:
            tokenizer.save(new_directory, max_tokens=config.max_positions)
            for name, text in texts.items():
                (new_directory / name).parent.mkdir(exist_ok=True)
                (new_directory / name).write_text(text, encoding="utf-8", newline="\n")
            write_weights(new_directory)
    except (OSError, UnicodeError, SafetensorError, BertlabError) as error:
        reason = error.params.get("reason", error) if isinstance(error, BertlabError) else describe_system_error(error)
        raise CheckpointError("checkpoint-not-saved", path=directory, reason=reason) from None
    return target


def write_record(directory: Path, record: dict, card: str) -> None:
    write_atomically(directory / RECORD, json.dumps(record, indent=2, ensure_ascii=False) + "\n")
    write_atomically(directory / CARD, card)


def _convert_for_storage(name: str, tensor: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Only matrices are stored in eight bits; vectors (biases, LayerNorm) are small and need more precision."""
    dtype = torch.float16 if dtype == FLOAT8 and tensor.ndim < 2 else dtype
    stored = tensor.detach().to("cpu", dtype, copy=True).contiguous()
    if not weight_files.is_finite(stored):
        raise CheckpointError("weights-overflow", tensor=name, dtype=str(dtype).removeprefix("torch."))
    return stored


def _choose_architecture(heads: Collection[str], family: Family = BERT) -> str:
    """Choose the class of `transformers` that loads a checkpoint with these output layers.

    >>> _choose_architecture(("mlm", "nsp")), _choose_architecture(("span",)), _choose_architecture(())
    ('BertForPreTraining', 'BertForQuestionAnswering', 'BertModel')
    """
    heads_named_classifier = [name for name in heads if HEADS[name].hf_modules[""] == "classifier"]
    if {"mlm", "nsp"} <= set(heads) and not heads_named_classifier:
        return f"{family.class_prefix}ForPreTraining"
    # The class for a fine-tuned output layer has precedence, although it ignores the output layers of pre-training.
    ordered_heads = sorted(
        heads, key=lambda name: (name not in heads_named_classifier, name in ("mlm", "nsp"), list(HEADS).index(name))
    )
    return get_hf_head_names(ordered_heads[0], family).hf_class if ordered_heads else f"{family.class_prefix}Model"


def make_config_fields(config: ModelConfig, heads: Collection[str], dtype: torch.dtype) -> dict:
    """Return the content of config.json; `dtype` is the type of the stored weights."""
    # transformers infers regression from a single label; the problem type states it explicitly.
    regression = {"id2label": {0: "LABEL_0"}, "problem_type": "regression"} if "regress" in heads else {}
    return {
        "architectures": [_choose_architecture(heads, config.family)],
        "model_type": config.model_type,
        **config.to_hf(),
        **regression,
        **({"position_embedding_type": positions} if (positions := config.family.position_embeddings) else {}),
        # The type in which transformers computes, and to which it converts weights that are stored in eight bits.
        "dtype": str(torch.float16 if dtype == FLOAT8 else dtype).removeprefix("torch."),
    }
