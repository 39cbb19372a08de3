"""Tiny random models of the families in `transformers`, and their checkpoints."""

from pathlib import Path

import torch
import transformers

from bertlab.text.tokenizers.wordpiece import Tokenizer
from support.encoders import scramble

SIZES = {
    "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24,
    "max_position_embeddings": 40,
}  # fmt: skip
# class prefix -> (fields of the configuration, output layers of its classes)
HEADS = ("MaskedLM", "SequenceClassification", "QuestionAnswering", "MultipleChoice", "TokenClassification")
FAMILIES = {
    "Bert": (SIZES, (*HEADS, "PreTraining")),
    "DistilBert": (
        {"dim": 16, "n_layers": 2, "n_heads": 2, "hidden_dim": 24, "max_position_embeddings": 40}, HEADS,
    ),
    "Roberta": (SIZES | {"type_vocab_size": 1, "pad_token_id": 1, "layer_norm_eps": 1e-5}, HEADS),
    "XLMRoberta": (SIZES | {"type_vocab_size": 1, "pad_token_id": 1, "layer_norm_eps": 1e-5}, HEADS),
    "Electra": (SIZES | {"embedding_size": 8}, (*HEADS, "PreTraining")),
    "Albert": (SIZES | {"embedding_size": 8}, (*HEADS, "PreTraining")),
}  # fmt: skip


def make_hf_model(prefix: str, head: str, vocab_size: int, **changes) -> torch.nn.Module:
    """Make a model of `transformers` with scrambled weights, whose attention maps can be read."""
    fields = FAMILIES[prefix][0] | {"vocab_size": vocab_size, "num_labels": 2 if head != "TokenClassification" else 3}
    config = getattr(transformers, f"{prefix}Config")(**fields | changes)
    config._attn_implementation = "eager"
    kind = getattr(transformers, f"{prefix}For{head}" if head else f"{prefix}Model")
    model = scramble(kind(config))
    model.tie_weights()
    return model


def save_hf_checkpoint(directory: Path, model: torch.nn.Module, tokenizer: Tokenizer) -> Path:
    """Write a checkpoint as `transformers` does."""
    model.save_pretrained(directory)
    tokenizer.save(directory)
    return directory
