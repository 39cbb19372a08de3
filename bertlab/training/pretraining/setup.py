"""Open the inputs of a pre-training run: corpora, tokenizer, model and teacher."""

from dataclasses import dataclass

import torch

from bertlab.checkpoints import checkpoint, locate
from bertlab.checkpoints.vocabulary import extend_vocabulary, replace_vocabulary
from bertlab.config.config import ModelConfig
from bertlab.config.errors import BertlabError
from bertlab.config.presets import change_family, get_preset, make_generator_config
from bertlab.nn.bert import Bert
from bertlab.nn.fast.model import FastBert
from bertlab.nn.local_attention_init import initialise_local_attention, supports_local_attention_init
from bertlab.nn.matching_head_init import initialise_matching_head
from bertlab.nn.replaced_tokens import ReplacedTokenModel
from bertlab.nn.teacher_init import initialise_from_teacher
from bertlab.tasks.distillation import compute_weights_digest, open_teacher
from bertlab.tasks.pretraining_objectives import TOKEN_OBJECTIVES, list_pretraining_heads
from bertlab.text.pretraining.corpus import Corpus
from bertlab.text.tokenizers.extension import is_extension
from bertlab.text.tokenizers.wordpiece import Tokenizer
from bertlab.training.pretraining import cloze
from bertlab.training.pretraining.config import PretrainConfig
from bertlab.training.run_directory import CHECKPOINT, GENERATOR

# Keys of `bertlab.json` whose values are summed over all runs that trained the weights.
SUMMED_FIELDS = ("steps", "tokens", "training_minutes")


@dataclass(frozen=True)
class PretrainingInputs:
    """The corpora, tokenizer and models of a pre-training run."""

    corpus: Corpus  # the training text
    tokenizer: Tokenizer  # the tokenizer of the corpus; the model uses the same one
    model: Bert | ReplacedTokenModel  # the model to train, with random weights or those of a checkpoint
    validation: Corpus | None  # held-out text with the same vocabulary; None if there is none
    teacher: Bert | None  # the teacher of distillation, with the same vocabulary; None without distillation
    sentences: tuple[str, ...]
    """Sentences whose [MASK] tokens are predicted during the run, to show the progress; () for none."""
    earlier_runs: dict  # the totals of the earlier runs that trained the initial weights, see `_sum_earlier_runs`

    @property
    def fingerprint(self) -> dict:
        """Counts and digests of the training data and the teacher; a run is resumed only if they are unchanged."""
        facts = self.corpus.facts
        fingerprint = {
            "documents": facts["documents"],
            "tokens": facts["tokens"],
            "vocabulary": self.tokenizer.digest,
            "order": facts["settings"]["seed"],  # the seed that shuffled the documents
            "weights": facts.get("weights"),  # how many times an epoch uses each text source
        }
        return fingerprint | ({"teacher": compute_weights_digest(self.teacher)} if self.teacher else {})


def open_inputs(config: PretrainConfig) -> PretrainingInputs:
    """Open the corpora and checkpoints that a configuration names."""
    corpus = Corpus.open(config.corpus)
    tokenizer = Tokenizer.load(config.corpus / "tokenizer")
    model = _set_attention_direction(_make_model(config, tokenizer), config)
    max_pair_tokens, positions = config.final_max_tokens or config.max_tokens, model.config.max_tokens
    if max_pair_tokens > positions:
        raise BertlabError("pairs-too-long", tokens=max_pair_tokens, positions=positions)
    validation = Corpus.open(config.validation) if config.validation else None
    if validation:
        validation.check_vocabulary(tokenizer, config.validation, config.corpus / "tokenizer")
    predicts_masks = not model.config.left_to_right
    if config.teacher and not predicts_masks:
        raise BertlabError("teacher-of-left-to-right")
    teacher = None
    if config.teacher:
        error = BertlabError("teacher-vocabulary-differs", teacher=config.teacher, corpus=config.corpus)
        teacher = open_teacher(config.teacher, "mlm", tokenizer, max_pair_tokens, error).model
    if config.teacher_cosine and teacher.config.hidden_size != model.config.hidden_size:
        sizes = {"hidden": model.config.hidden_size, "teacher_hidden": teacher.config.hidden_size}
        raise BertlabError("teacher-cosine-of-other-size", **sizes)
    if config.start == "teacher" and config.from_ is None:
        if teacher is None:
            raise BertlabError("start-teacher-without-teacher")
        initialise_from_teacher(model, teacher)
    sentences = (
        (config.sentences or cloze.select_default_sentences(tokenizer))
        if config.sample_predictions and predicts_masks
        else ()
    )
    cloze.check_sentences(sentences, tokenizer, positions)
    if TOKEN_OBJECTIVES[config.token_objective].has_generator:
        model = _add_generator(model, config)
    return PretrainingInputs(corpus, tokenizer, model, validation, teacher, sentences, _sum_earlier_runs(config))


def describe_origin(config: PretrainConfig, tokenizer: Tokenizer) -> str:
    """Describe for the model card the initial weights of a run, and the new tokens of the run's vocabulary."""
    if config.from_ is None:
        return f"random weights ({config.start})"
    name = locate.make_display_name(config.from_)
    if config.new_vocabulary:
        return f"{name} (encoder only, with a new vocabulary)"
    new_tokens = tokenizer.vocab_size - Tokenizer.load(locate.find(config.from_, needs_weights=False)).vocab_size
    return f"{name} (with {new_tokens:,} new tokens)" if new_tokens else name


def load_generator(discriminator: checkpoint.Checkpoint) -> Bert:
    """Load the generator that a discriminator was pre-trained with, from the same run directory."""
    path = discriminator.path.parent / GENERATOR
    if discriminator.path.name != CHECKPOINT or not path.is_dir():
        raise BertlabError("generator-missing", checkpoint=discriminator.name)
    generator = checkpoint.load(path).model
    generator.require_head("mlm")
    tables = [model.embeddings.token.weight.cpu() for model in (discriminator.model, generator)]
    if tables[0].shape != tables[1].shape or not torch.allclose(*tables, atol=1e-2):
        raise BertlabError("generator-differs", generator=path, checkpoint=discriminator.name)
    return generator


def _make_model(config: PretrainConfig, tokenizer: Tokenizer) -> Bert:
    """Make a model with random weights, or load one from a checkpoint."""
    heads = list_pretraining_heads(config.pair_objective, config.token_objective)
    if config.from_ is None:
        sizes = _choose_sizes(config)
        sizes = sizes.replace(
            vocab_size=tokenizer.vocab_size, pad_token_id=tokenizer.pad_id, hidden_dropout=config.dropout,
            attention_dropout=config.dropout, initializer_range=_choose_initializer_range(config, sizes.hidden_size),
        )  # fmt: skip
        return _initialise_model(
            change_family(sizes, config.family), heads, config.start, compares_sentences=config.pair_objective == "next"
        )
    loaded = checkpoint.load(config.from_, heads=heads)
    if config.new_vocabulary:
        return _replace_dropout(replace_vocabulary(loaded, tokenizer, heads), config.dropout)
    if is_extension(tokenizer, loaded.tokenizer):
        return _replace_dropout(extend_vocabulary(loaded, tokenizer), config.dropout)
    if loaded.tokenizer.digest != tokenizer.digest:
        raise BertlabError("from-vocabulary-differs", corpus=config.corpus, checkpoint=config.from_)
    return _replace_dropout(loaded.model, config.dropout)


def _initialise_model(config: ModelConfig, heads: tuple[str, ...], start: str, *, compares_sentences: bool) -> Bert:
    """Make a model with the initial weights that `start` names."""
    model = FastBert(config, heads=heads)
    if start in ("neighbours", "matches"):
        if not supports_local_attention_init(config):
            raise BertlabError("start-unsupported", start=start, family=config.model_type)
        initialise_local_attention(model)
    if start == "matches" and compares_sentences and config.type_vocab_size > 1:
        initialise_matching_head(model)
    return model


def _add_generator(discriminator: Bert, config: PretrainConfig) -> ReplacedTokenModel:
    sizes = make_generator_config(discriminator.config, config.generator_size)
    sizes = sizes.replace(initializer_range=_choose_initializer_range(config, sizes.hidden_size))
    generator = FastBert(sizes, heads=("mlm",))
    if config.start == "neighbours":
        initialise_local_attention(generator)
    return ReplacedTokenModel(discriminator, generator)


def _choose_initializer_range(config: PretrainConfig, hidden_size: int) -> float:
    return config.init or round(0.8 / hidden_size**0.5, 4)


def _choose_sizes(config: PretrainConfig) -> ModelConfig:
    sizes = {"num_layers": config.layers, "num_heads": config.attention_heads, "hidden_size": config.hidden}
    sizes["intermediate_size"] = 4 * config.hidden if config.hidden else None
    return get_preset(config.preset).replace(**{name: size for name, size in sizes.items() if size})


def _replace_dropout(model: Bert, dropout: float) -> Bert:
    config = model.config.replace(hidden_dropout=dropout, attention_dropout=dropout)
    new_model = FastBert(config, heads=model.head_names)
    new_model.load_state_dict(model.state_dict())
    return new_model


def _set_attention_direction(model: Bert, config: PretrainConfig) -> Bert:
    if config.left_to_right and "left_to_right" not in model.config.hf_fields:
        raise BertlabError("left-to-right-unsupported", family=model.config.model_type)
    model.config = model.config.replace(left_to_right=config.left_to_right or model.config.left_to_right)
    if model.config.left_to_right and config.pair_objective != "none":
        raise BertlabError("left-to-right-with-sentence-pair")
    return model


def _sum_earlier_runs(config: PretrainConfig) -> dict:
    """Sum the runs that trained the initial weights, and list their data; {} if none are recorded."""
    record = {} if config.from_ is None else checkpoint.read_record(config.from_)
    if any(type(record.get(name)) not in (int, float) for name in SUMMED_FIELDS):
        return {}
    earlier_totals = record.get("before", {})
    totals = {name: round(record[name] + earlier_totals.get(name, 0), 1) for name in SUMMED_FIELDS}
    data = dict.fromkeys([*earlier_totals.get("data", []), *record.get("data", [])])
    attributions = dict.fromkeys(filter(None, [earlier_totals.get("attribution"), record.get("attribution")]))
    return totals | {"data": list(data), "attribution": "; ".join(attributions)}
