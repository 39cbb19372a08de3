"""What a pre-training run begins from: its texts, its vocabulary, its weights, and a teacher. Knows no step."""

import hashlib
from dataclasses import dataclass

from bertlab.checkpoints import checkpoint, locate
from bertlab.checkpoints.vocabulary import replace_vocabulary
from bertlab.config.config import ModelConfig
from bertlab.config.errors import BertlabError
from bertlab.config.presets import preset
from bertlab.nn.bert import Bert
from bertlab.nn.fast.model import FastBert
from bertlab.nn.local_attention_init import attend_to_neighbours
from bertlab.text.pretraining.corpus import Corpus
from bertlab.text.tokenizers.wordpiece import Tokenizer
from bertlab.training.objectives import heads
from bertlab.training.pretraining import cloze
from bertlab.training.pretraining.config import PretrainConfig

SPENT = ("steps", "tokens", "training_minutes")  # what a record says of its run, and adds up over runs


@dataclass(frozen=True)
class Inputs:
    """validation: held-out text of the same vocabulary. sentences: those watched as the model learns. before: what the
    runs that the weights come from have spent, see `_spent_before`."""

    corpus: Corpus
    tokenizer: Tokenizer
    model: Bert
    validation: Corpus | None
    teacher: Bert | None
    sentences: tuple[str, ...]
    before: dict

    @property
    def made_of(self) -> dict:
        """What would change if the data did: a run on other data is another run."""
        facts = self.corpus.facts
        told = {"documents": facts["documents"], "tokens": facts["tokens"], "vocabulary": self.tokenizer.digest}
        told |= {"order": facts["settings"]["seed"], "weights": facts.get("weights")}
        return told | ({"teacher": _digest(self.teacher)} if self.teacher else {})


def open_inputs(config: PretrainConfig) -> Inputs:
    """What the configuration names, opened.

    Raises:
        BertlabError: one of them is missing, of another vocabulary, or too short for the pairs that are asked for.
    """
    corpus = Corpus.open(config.corpus)
    tokenizer = Tokenizer.load(config.corpus / "tokenizer")
    model = _left_to_right(_model(config, tokenizer), config)
    longest, positions = config.then_tokens or config.max_tokens, model.config.max_positions
    if longest > positions:
        raise BertlabError(f"pairs of {longest} tokens are too long: this model has {positions} positions")
    validation = Corpus.open(config.validation) if config.validation else None
    if validation:
        validation.check_vocabulary(tokenizer, config.validation, config.corpus / "tokenizer")
    fills = not model.config.left_to_right
    if config.teacher and not fills:
        raise BertlabError("--teacher fills gaps, and a model that reads from left to right is shown none")
    teacher = _teacher(config, tokenizer, longest) if config.teacher else None
    sentences = (config.sentences or cloze.watched(tokenizer)) if config.watch and fills else ()
    cloze.check(sentences, tokenizer, positions)
    return Inputs(corpus, tokenizer, model, validation, teacher, sentences, _spent_before(config))


def origin(config: PretrainConfig) -> str:
    """What the weights were before the first step, for the card."""
    if config.from_ is None:
        return f"random weights ({config.start})"
    encoder = " (its encoder, under another vocabulary)" if config.new_vocabulary else ""
    return locate.checkpoint_name(config.from_) + encoder


def _model(config: PretrainConfig, tokenizer: Tokenizer) -> Bert:
    """Random weights in the vocabulary's size, or those of a checkpoint."""
    dropout = {"hidden_dropout": config.dropout, "attention_dropout": config.dropout}
    if config.from_ is None:
        shape = _shape(config).replace(vocab_size=tokenizer.vocab_size, pad_token_id=tokenizer.pad_id, **dropout)
        shape = shape.replace(initializer_range=config.init or round(0.8 / shape.hidden_size**0.5, 4))
        model = FastBert(shape, heads=heads(config.second))
        if config.start == "neighbours":
            attend_to_neighbours(model)
        return model
    loaded = checkpoint.load(config.from_, heads=heads(config.second))
    if config.new_vocabulary:
        return _with_dropout(replace_vocabulary(loaded, tokenizer, heads(config.second)), config.dropout)
    if loaded.tokenizer.digest != tokenizer.digest:
        raise BertlabError(
            f"{config.corpus} was tokenised with another vocabulary than {config.from_}: prepare it again with "
            f"--tokenizer {config.from_}, or keep the encoder alone with --new-vocabulary"
        )
    return _with_dropout(loaded.model, config.dropout)


def _shape(config: PretrainConfig) -> ModelConfig:
    """The preset's sizes, but for those that the configuration names."""
    own = {"num_layers": config.layers, "num_heads": config.attention_heads, "hidden_size": config.hidden}
    own["intermediate_size"] = 4 * config.hidden if config.hidden else None
    return preset(config.preset).replace(**{name: size for name, size in own.items() if size})


def _with_dropout(model: Bert, dropout: float) -> Bert:
    """The same weights under another dropout."""
    changed = FastBert(model.config.replace(hidden_dropout=dropout, attention_dropout=dropout), heads=model.head_names)
    changed.load_state_dict(model.state_dict())
    return changed


def _left_to_right(model: Bert, config: PretrainConfig) -> Bert:
    """The model, reading from left to right if that is asked for, or if it always did."""
    model.config = model.config.replace(left_to_right=config.left_to_right or model.config.left_to_right)
    if model.config.left_to_right and config.second != "none":
        raise BertlabError(
            "a model that reads from left to right is asked nothing of a second sentence, as its first token sees no "
            "other: add --second none"
        )
    return model


def _teacher(config: PretrainConfig, tokenizer: Tokenizer, longest: int) -> Bert:
    loaded = checkpoint.load(config.teacher)
    if loaded.tokenizer.digest != tokenizer.digest:
        raise BertlabError(
            f"{config.teacher} has another vocabulary than {config.corpus}: it cannot say which word it would "
            f"put into a gap; prepare the corpus again with --tokenizer {config.teacher}"
        )
    loaded.model.head("mlm")  # which says what it lacks
    if longest > loaded.config.max_positions:
        positions = loaded.config.max_positions
        raise BertlabError(f"pairs of {longest} tokens are too long for the teacher: it has {positions} positions")
    return loaded.model.eval().requires_grad_(False)


def _digest(model: Bert) -> str:
    """A short fingerprint of a model's weights."""
    found = hashlib.blake2b(digest_size=8)
    for _, tensor in sorted(model.state_dict().items()):
        found.update(tensor.numpy())
    return found.hexdigest()


def _spent_before(config: PretrainConfig) -> dict[str, float]:
    """Steps, tokens and minutes of all runs that the weights come from, the texts they read and whose these are; {}
    where there were none, or nobody knows."""
    told = {} if config.from_ is None else checkpoint.read_record(config.from_)
    if any(type(told.get(name)) not in (int, float) for name in SPENT):
        return {}
    earlier = told.get("before", {})
    spent = {name: round(told[name] + earlier.get(name, 0), 1) for name in SPENT}
    data = dict.fromkeys([*earlier.get("data", []), *told.get("data", [])])
    whose = dict.fromkeys(filter(None, [earlier.get("attribution"), told.get("attribution")]))
    return spent | {"data": list(data), "attribution": "; ".join(whose)}
