"""Write a checkpoint as one HTML page that runs the model in the browser, without server and network.

The page contains the weights in eight bits (`checkpoints.int8`), the tokenizer, the interface texts in every language,
and the scripts in `static/live`: a worker computes, and the page shows attention, masked words, next sentences, the
effect of heads, and the logit lens.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from bertlab.abilities.live.lessons import collect_lessons
from bertlab.checkpoints.int8 import pack_tensors
from bertlab.checkpoints.prune import restore_heads
from bertlab.config.config import ModelConfig
from bertlab.config.errors import CheckpointError
from bertlab.config.files import write_atomically
from bertlab.config.languages import DEFAULT, languages, read_data, render
from bertlab.text.tokenizers.wordpiece import Tokenizer
from bertlab.views import assets
from bertlab.views.palette import PALETTE
from bertlab.views.printable import encode_printable

if TYPE_CHECKING:
    from bertlab.session import Session

MAX_PARAMETERS = 60_000_000  # the app offers no page for a larger checkpoint, because the file would be too large
# How many characters of the weights the browser decodes at a time; divisible by 16, the length of an encoded block.
PART_LENGTH = 1 << 20
MAX_TOKENS = 128  # a longer input would take too long in a browser, and its attention too much memory

# The content security policy prevents the page from fetching or sending anything. The worker is started from a blob,
# because a page that was opened from disk cannot start one from a file. Some browsers read child-src, not worker-src.
# The weights come last, in parts, each followed by a script that reads it, so that the page appears before they arrive.
_PAGE = """<!doctype html>
<html lang="{lang}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; script-src 'unsafe-inline'; worker-src blob:; child-src blob:; \
style-src 'unsafe-inline'; img-src data: blob:">
<title>{title}</title>
<style>
:root {{ --blue: {blue}; --orange: {orange}; }}
:root {{ --ground: {light[ground]}; --ink: {light[ink]}; --accent: {light[accent]}; }}
@media (prefers-color-scheme: dark) {{
  :root {{ --ground: {dark[ground]}; --ink: {dark[ink]}; --accent: {dark[accent]}; }}
}}
{css}
</style>
</head>
<body>
<div id="page">{incomplete}</div>
<script type="application/json" id="settings">{settings}</script>
<script type="text/plain" id="worker">
{worker}
</script>
<script>
{script}
</script>
{weights}
</body>
</html>
"""
# Every part of the weights is followed by a call with which the page reads it.
_PART = '<script type="text/plain">{part}</script><script>bertlab.addWeights()</script>'


@dataclass(frozen=True)
class LivePage:
    """What the page of a checkpoint offers, and what it lacks."""

    tabs: tuple[str, ...]
    """The tabs of the page: "attention" and, if their output layers exist, "fill", "next", "heads" and "lens"."""
    note: str
    """The id of the message that says what is missing; "" if nothing is missing."""


def plan_page(session: Session) -> LivePage:
    """Find out what a page can offer with the output layers of a checkpoint."""
    if session.config.left_to_right:
        return LivePage(("attention",), "live-note-left-to-right")
    can_fill = "mlm" in session.heads
    can_predict_next = "nsp" in session.heads and session.config.type_vocab_size > 1
    has_tab = {
        "attention": True,
        "fill": can_fill,
        "next": can_predict_next,
        "heads": can_fill or can_predict_next,
        "lens": can_fill,
    }
    tabs = tuple(tab for tab, is_offered in has_tab.items() if is_offered)
    if can_fill and can_predict_next:
        return LivePage(tabs, "")
    note = "live-note-no-next" if can_fill else "live-note-no-masks" if can_predict_next else "live-note-encoder"
    return LivePage(tabs, note)


def can_export(session: Session) -> bool:
    """Whether the app can offer a page for a checkpoint: the page supports its model and its tokenizer, and the model
    is not too large."""
    if not session.config.is_like_bert:
        return False
    try:
        describe_tokenizer(session.tokenizer)
    except CheckpointError:
        return False
    return sum(parameter.numel() for parameter in session.model.parameters()) <= MAX_PARAMETERS


def live_html(session: Session, progress: Callable[[Iterable], Iterable] = iter) -> str:
    """Write a checkpoint as one offline page that runs it.

    Args:
        session: the checkpoint.
        progress: wraps the list of tensors that are quantised, as `tqdm` does.

    Raises:
        CheckpointError: the page does not support the checkpoint's model or tokenizer.
    """
    if not session.config.is_like_bert:
        raise CheckpointError("live-model-unsupported", name=session.name)
    tokenizer_settings = describe_tokenizer(session.tokenizer, session.name)
    config = session.config
    max_tokens = min(config.max_tokens, MAX_TOKENS)
    # `block` contains the bytes of all tensors, and `table` says where each one is; the tokens follow the tensors.
    table, block = pack_tensors(restore_heads(session.model), progress, max_tokens + config.first_position)
    tokens_start = len(block)
    block += "\n".join(session.tokenizer.tokens(range(session.tokenizer.vocab_size))).encode()
    compressed = _compress(block)
    parts = _split(encode_printable(compressed))
    page = plan_page(session)
    examples = read_data("examples", session.tokenizer.language)
    settings = {
        "name": session.name,
        "config": describe_config(config, session.tokenizer, max_tokens),
        "tokenizer": tokenizer_settings,
        "weights": {
            "table": table,
            "tokensStart": tokens_start,
            "blockBytes": len(block),
            "numBytes": len(compressed),
            "numParts": len(parts),
        },
        "parameters": sum(parameter.numel() for parameter in session.model.parameters()),
        "objective": session.loaded.pair_objective,
        "tabs": page.tabs,
        "note": {code: render(page.note, code) if page.note else "" for code in languages()},
        "languages": {code: language.name for code, language in languages().items()},
        "texts": assets.collect_texts("live-"),
        "lessons": collect_lessons(session, page.tabs),
        "examples": {
            "pair": examples["pair"],
            "sentence": examples["sentence"],
            "masked": [examples["masked_sentence"], examples["other_masked_sentence"]],
            "next": examples["next_sentence_pairs"],
        },
    }
    # the text of the weights has no "<" and the JSON none after the replacement, so neither can end its script element
    return _PAGE.format(
        lang=DEFAULT,
        title=escape(session.name),
        **PALETTE["themes"],
        blue=PALETTE["blue"],
        orange=PALETTE["orange"],
        css=assets.css() + assets.read_static("live/page.css"),
        settings=json.dumps(settings, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c"),
        worker=assets.bundle_worker("live/worker.js"),
        script=assets.bundle_script("live/page"),
        incomplete="".join(
            f'<p class="incomplete" lang="{code}">{escape(render("live-incomplete", code))}</p>' for code in languages()
        ),
        weights="\n".join(_PART.format(part=part) for part in parts),
    )


def _compress(block: bytes) -> bytes:
    """Compress the weights with Huffman coding alone, because they contain no repeated sequences of bytes."""
    compressor = zlib.compressobj(strategy=zlib.Z_HUFFMAN_ONLY)
    return compressor.compress(block) + compressor.flush()


def _split(text: str) -> list[str]:
    """Split the text of the weights into parts that can be decoded one by one."""
    return [text[start : start + PART_LENGTH] for start in range(0, len(text), PART_LENGTH)]


def write_live_page(session: Session, path: Path, progress: Callable[[Iterable], Iterable] = iter) -> int:
    """Write the page to a file, completely or not at all, and return its size in bytes.

    Raises:
        CheckpointError: as for `live_html`.
        BertlabError: the file cannot be written.
    """
    write_atomically(path, live_html(session, progress))
    return path.stat().st_size


def describe_config(config: ModelConfig, tokenizer: Tokenizer, max_tokens: int) -> dict:
    """Return what `static/live/model.js` needs to know about a model."""
    return {
        "hiddenSize": config.hidden_size,
        "numLayers": config.num_layers,
        "numHeads": config.num_heads,
        "firstPosition": config.first_position,
        "vocabSize": tokenizer.vocab_size,
        "layerNormEps": config.layer_norm_eps,
        "activation": config.activation,
        "leftToRight": config.left_to_right,
        "hasTokenTypes": config.type_vocab_size > 1,
        "maxTokens": max_tokens,
    }


def describe_tokenizer(tokenizer: Tokenizer, name: str = "") -> dict:
    """Return what `static/live/tokenizer.js` needs to know about a tokenizer besides its tokens.

    Raises:
        CheckpointError: the tokenizer has steps that the tokenizer of google-research/bert lacks.
    """
    description = tokenizer.describe()
    normaliser, added_tokens = description["normalizer"] or {}, description["added_tokens"]
    has_plain_added_tokens = all(
        token["special"] and not any(token[flag] for flag in ("normalized", "single_word", "lstrip", "rstrip"))
        for token in added_tokens
    )
    splitter = (description["pre_tokenizer"] or {}).get("type")
    if normaliser.get("type") != "BertNormalizer" or splitter != "BertPreTokenizer" or not has_plain_added_tokens:
        raise CheckpointError("live-tokenizer-unsupported", name=name)
    strip_accents = normaliser["strip_accents"]
    return {
        "special": sorted(token["content"] for token in added_tokens),
        "lowercase": normaliser["lowercase"],
        "stripAccents": normaliser["lowercase"] if strip_accents is None else strip_accents,
        "cleanText": normaliser["clean_text"],
        "splitChinese": normaliser["handle_chinese_chars"],
        "prefix": description["model"]["continuing_subword_prefix"],
        "maxWordLength": tokenizer.max_word_chars,
    }
