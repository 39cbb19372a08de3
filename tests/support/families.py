"""Tiny random models of the families in `transformers`, and their checkpoints."""

from functools import cache
from pathlib import Path

import torch
import transformers

from bertlab.text.tokenizers.wordpiece import Tokenizer
from support.encoders import scramble
from support.tiny_model import TEXTS

SIZES = {
    "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24,
    "max_position_embeddings": 40,
}  # fmt: skip
SUBWORD_FAMILIES = ("Roberta", "XLMRoberta", "Albert")
# class prefix -> (fields of the configuration, output layers of its classes)
HEADS = ("MaskedLM", "SequenceClassification", "QuestionAnswering", "MultipleChoice", "TokenClassification")
FAMILIES = {
    "Bert": (SIZES, (*HEADS, "PreTraining")),
    "DistilBert": (
        {"dim": 16, "n_layers": 2, "n_heads": 2, "hidden_dim": 24, "max_position_embeddings": 40}, HEADS,
    ),
    "Roberta": (SIZES | {"type_vocab_size": 1, "layer_norm_eps": 1e-5}, HEADS),
    "XLMRoberta": (SIZES | {"type_vocab_size": 1, "layer_norm_eps": 1e-5}, HEADS),
    "Electra": (SIZES | {"embedding_size": 8}, (*HEADS, "PreTraining")),
    "Albert": (SIZES | {"embedding_size": 8}, (*HEADS, "PreTraining")),
    # four tokens on each side of a token are nearby; the first and the fourth layer are global
    "ModernBert": (SIZES | {"local_attention": 8, "num_hidden_layers": 4, "pad_token_id": 0}, HEADS),
    "MobileBert": (
        SIZES | {"embedding_size": 6, "intra_bottleneck_size": 8, "num_feedforward_networks": 3},
        (*HEADS, "PreTraining", "NextSentencePrediction"),
    ),
}  # fmt: skip


@cache
def train_hf_tokenizer(prefix: str, size: int = 320):
    """Train a tokenizer of `transformers`, as the checkpoints of the family have it."""
    return getattr(transformers, f"{prefix}Tokenizer")().train_new_from_iterator(TEXTS * 3, size)


def make_hf_model(prefix: str, head: str, vocab_size: int, **changes) -> torch.nn.Module:
    """Make a model of `transformers` with scrambled weights, whose attention maps can be read."""
    fields = FAMILIES[prefix][0] | {"vocab_size": vocab_size, "num_labels": 2 if head != "TokenClassification" else 3}
    config = getattr(transformers, f"{prefix}Config")(**fields | changes)
    config._attn_implementation = "eager"
    kind = getattr(transformers, f"{prefix}For{head}" if head else f"{prefix}Model")
    model = scramble(kind(config))
    model.tie_weights()
    return model


def save_hf_checkpoint(directory: Path, prefix: str, head: str, tokenizer: Tokenizer, **changes) -> torch.nn.Module:
    """Write a checkpoint as `transformers` does, and return its model.

    Args:
        directory: the directory to write.
        prefix: the class prefix of the family.
        head: the output layer of the class; "" for none.
        tokenizer: the tokenizer of families with WordPiece; the others get one of their own.
        changes: fields of the configuration.
    """
    if prefix in SUBWORD_FAMILIES:
        own = train_hf_tokenizer(prefix)
        model = make_hf_model(prefix, head, len(own), pad_token_id=own.pad_token_id, **changes)
        own.save_pretrained(directory)
    else:
        model = make_hf_model(prefix, head, tokenizer.vocab_size, **changes)
        tokenizer.save(directory)
    model.save_pretrained(directory)
    return model
