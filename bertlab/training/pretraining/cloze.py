"""Cloze sentences: what a model predicts for [MASK], during training and for its model card.

Ten sentences in English and ten in Korean, each with the words that fit. Source: the Cloze task of Taylor 1953; Devlin
et al. 2019, section 3.1.

Shape legend: B sentences, T tokens, M masks, H hidden, V vocabulary.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import nn
from tqdm.utils import disp_len

from bertlab.config.errors import TextError
from bertlab.text.batch import collate
from bertlab.text.tokenizers.wordpiece import Tokenizer

TOP = 3  # predictions recorded for each [MASK]


@dataclass(frozen=True)
class Cloze:
    """A sentence with one [MASK], and the words that fit."""

    text: str
    """The sentence."""
    fits: tuple[str, ...]
    """The tokens that are right."""
    kind: str
    """The kind of knowledge it takes."""


CLOZES = {
    "en": (
        Cloze("The children [MASK] playing in the garden.", ("were", "are"), "grammar"),
        Cloze("He was too tired [MASK] walk any further.", ("to",), "grammar"),
        Cloze("My mother said that [MASK] was tired.", ("she",), "who is meant"),
        Cloze("The king said that [MASK] was tired.", ("he",), "who is meant"),
        Cloze("As a matter of [MASK], I have never been there.", ("fact",), "fixed phrases"),
        Cloze("On the other [MASK], the price was low.", ("hand",), "fixed phrases"),
        Cloze("Paris is the capital of [MASK].", ("france",), "places"),
        Cloze("London is the capital of [MASK].", ("england", "britain"), "places"),
        Cloze("A week has seven [MASK].", ("days",), "everyday knowledge"),
        Cloze("She was cold, so she closed the [MASK].", ("door", "doors", "window", "windows"), "everyday knowledge"),
    ),
    "ko": (
        Cloze("아이들이 마당에서 놀고 [MASK].", ("있다", "있었다"), "grammar"),
        Cloze("그는 끝까지 포기하지 [MASK].", ("않았다", "않는다"), "grammar"),
        Cloze("그녀는 [MASK] 어머니를 찾아갔다.", ("자신의", "그의"), "who is meant"),
        Cloze("아버지와 [MASK] 모두 선생님이었다.", ("어머니",), "who is meant"),
        Cloze("제2차 세계 [MASK] 때 지어진 다리이다.", ("대전",), "fixed phrases"),
        Cloze("비가 많이 왔기 [MASK] 경기가 늦어졌다.", ("때문에",), "fixed phrases"),
        Cloze("대한민국의 수도 [MASK] 시내에 있는 시장이다.", ("서울",), "places"),
        Cloze("일본의 수도 [MASK] 시내에 있는 공원이다.", ("도쿄",), "places"),
        Cloze("한 시간은 육십 [MASK] 동안이다.", ("분",), "everyday knowledge"),
        Cloze("하루는 스물네 [MASK] 동안이다.", ("시간",), "everyday knowledge"),
    ),
}


def default_sentences(tokenizer: Tokenizer) -> tuple[str, ...]:
    """One sentence of each kind, in the language of the vocabulary, to follow during training."""
    first = {cloze.kind: cloze.text for cloze in reversed(CLOZES[tokenizer.language])}
    return tuple(reversed(first.values()))


def check_sentences(texts: Sequence[str], tokenizer: Tokenizer, positions: int) -> None:
    """Check that each sentence has a [MASK] and fits into the model.

    Raises:
        TextError: one has no [MASK], or more tokens than the model has positions.
    """
    for text in texts:
        encoding = tokenizer.encode(text)
        if tokenizer.mask_id not in encoding.ids:
            raise TextError("sentence-without-mask", text=text)
        if len(encoding) > positions:
            raise TextError("sentence-too-long", text=f"{text[:40]}…", tokens=len(encoding), positions=positions)


@torch.inference_mode()
def predict_masks(model: nn.Module, tokenizer: Tokenizer, texts: Sequence[str]) -> list[dict]:
    """Predict the masked tokens of some sentences.

    Returns:
        a row for each sentence, as the log stores it: {"text": ..., "guesses": [[[token, probability], ...], ...]},
        with a list of the `TOP` most probable tokens for every [MASK].
    """
    encodings = [tokenizer.encode(text) for text in texts]
    batch = collate(encodings, tokenizer.pad_id).to(next(model.parameters()).device)
    was_training = model.training
    model.eval()
    masks_M2 = (batch.input_ids_BT == tokenizer.mask_id).nonzero()
    hidden_MH = model(batch).hidden_BTH[masks_M2[:, 0], masks_M2[:, 1]]
    probs_MV = model.mlm(hidden_MH)[:, : tokenizer.vocab_size].float().softmax(-1)
    model.train(was_training)
    best = probs_MV.topk(min(TOP, tokenizer.vocab_size))
    rows = [{"text": text, "guesses": []} for text in texts]
    for row, ids, probs in zip(masks_M2[:, 0].tolist(), best.indices.tolist(), best.values.tolist(), strict=True):
        pairs = zip(tokenizer.pieces(ids), probs, strict=True)
        rows[row]["guesses"].append([[piece, round(prob, 4)] for piece, prob in pairs])
    return rows


def answer_clozes(model: nn.Module, tokenizer: Tokenizer) -> list[dict]:
    """Predict the ten sentences of the vocabulary's language, for `bertlab.json`.

    Returns:
        rows of `predict_masks` with `fits`, `kind` and `right` (whether the most probable token fits).
    """
    clozes = CLOZES[tokenizer.language]
    rows = predict_masks(model, tokenizer, [cloze.text for cloze in clozes])
    return [
        {**row, "fits": list(cloze.fits), "kind": cloze.kind, "right": row["guesses"][0][0][0].lower() in cloze.fits}
        for row, cloze in zip(rows, clozes, strict=True)
    ]


def format_predictions(rows: list[dict], step: int) -> str:
    """Rows of `predict_masks` as lines for a terminal.

    >>> print(format_predictions([{"text": "A [MASK].", "guesses": [[["cat", 0.5], ["dog", 0.25]]]}], 1000))
    step 1,000
      A [MASK].  cat 50 %   dog 25 %
    """
    width = max(disp_len(row["text"]) for row in rows)  # a Hangul syllable is two columns wide
    lines = [f"step {step:,}"]
    for row in rows:
        each = ("   ".join(f"{piece} {100 * prob:.0f} %" for piece, prob in found) for found in row["guesses"])
        lines.append(f"  {row['text']}{' ' * (width - disp_len(row['text']))}  {' | '.join(each)}")
    return "\n".join(lines)
