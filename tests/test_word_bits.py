"""The script that compares checkpoints by word bits, with models whose bits can be computed by hand."""

import json
import sys

import torch

from bertlab.checkpoints import checkpoint
from bertlab.config.config import ModelConfig
from bertlab.nn.fast.model import FastBert
from bertlab.text.tokenizers.wordpiece import Tokenizer
from scripts import compare_word_bits

SPECIAL_TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def save_uniform_model(directory, words: list[str]) -> str:
    """Save a model whose weights are all 0, so that every token of its vocabulary has the same probability."""
    vocab = directory.with_suffix(".txt")
    vocab.write_text("\n".join([*SPECIAL_TOKENS, *words]) + "\n", encoding="utf-8")
    tokenizer = Tokenizer.from_vocab(vocab)
    config = ModelConfig(
        vocab_size=tokenizer.vocab_size, hidden_size=8, num_layers=1, num_heads=1, intermediate_size=8,
        max_positions=96,
    )  # fmt: skip
    model = FastBert(config, ["mlm"])
    with torch.no_grad():
        for weight in model.parameters():
            weight.zero_()
    return str(checkpoint.save(directory, model, tokenizer, {}, dtype=torch.float32))


def test_word_bits_of_two_vocabularies(tmp_path, monkeypatch, capsys):
    # 8 tokens have 3 bits each, and 16 tokens 4 bits. "teapot" is two tokens of the first vocabulary.
    two_tokens = save_uniform_model(tmp_path / "two_tokens", ["red", "tea", "##pot"])
    one_token = save_uniform_model(tmp_path / "one_token", ["red", "teapot", *"abcdefghi"])
    paragraphs = " ".join(["red teapot"] * 20), " ".join(["red"] * 60)
    assert list(map(len, paragraphs)) == [219, 239]
    (tmp_path / "texts.jsonl").write_text(json.dumps({"text": "\n".join(paragraphs)}), encoding="utf-8")
    arguments = ["--texts", str(tmp_path / "texts.jsonl"), "--checkpoints", two_tokens, one_token]
    monkeypatch.setattr(sys, "argv", ["compare_word_bits.py", *arguments])
    compare_word_bits.main()
    lines = [line.strip() for line in capsys.readouterr().out.replace(f"{tmp_path}/", "").splitlines()]
    # Bits per character: 120 tokens of 3 bits and 100 tokens of 4 bits, over 458 characters. With two paragraphs, the
    # deviations from the ratio are d and -d, and the standard error is 2 d / 458. For the first vocabulary,
    # d = 180 - 360 / 458 * 219 = 7.86; for the second, 160 - 400 / 458 * 219 = -31.27; for the difference, -39.13.
    assert lines == [
        "texts.jsonl: 2 paragraphs, 458 characters",
        "two_tokens: 26.14 tokens per 100 characters, 0.7860 ± 0.0343 word bits",  # 120 tokens, 459 characters
        "one_token: 21.79 tokens per 100 characters, 0.8734 ± 0.1365 word bits",
        "minus two_tokens: +0.0873 ± 0.1709",
        "two_tokens: 20 words split differently, 6.000 bits each",
        "two_tokens: 80 words split alike, 3.000 bits each",
        "one_token: 20 words split differently, 4.000 bits each",
        "one_token: 80 words split alike, 4.000 bits each",
    ]
