"""Predict the masked tokens of cloze sentences, during training and for the model card.

`bertlab/locales/*/clozes.toml` contains ten sentences for each language, with the words that fit, and `everyday.toml`
120 more, by which checkpoints are chosen and compared.
Source: the Cloze task of Taylor 1953; Devlin et al. 2019, section 3.1.

Shape legend: B sentences, T tokens, M masks, H hidden, V vocabulary.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import torch
from torch import nn
from tqdm.utils import disp_len

from bertlab.config.errors import TextError
from bertlab.config.languages import read_data
from bertlab.text.batch import collate
from bertlab.text.tokenizers.wordpiece import Tokenizer

TOP = 3  # how many predictions are recorded for each [MASK]


@dataclass(frozen=True)
class Cloze:
    """A sentence with one [MASK], and the words that fit there."""

    text: str  # the sentence
    fits: tuple[str, ...]  # the tokens that count as correct
    kind: str  # the kind of knowledge that the sentence tests


@cache
def read_clozes(language: str) -> tuple[Cloze, ...]:
    """Read the cloze sentences of a language, or the English ones if `bertlab/locales` has none for the language."""
    rows = read_data("clozes", language)["clozes"]
    return tuple(Cloze(row["text"], tuple(row["fits"]), row["kind"]) for row in rows)


def select_default_sentences(tokenizer: Tokenizer) -> tuple[str, ...]:
    """Select the first sentence of each kind, in the language of the vocabulary, for the sample predictions."""
    first_of_kind: dict[str, str] = {}
    for cloze in read_clozes(tokenizer.language):
        first_of_kind.setdefault(cloze.kind, cloze.text)
    return tuple(first_of_kind.values())


def check_sentences(texts: Sequence[str], tokenizer: Tokenizer, positions: int) -> None:
    """Raise TextError unless each sentence has a [MASK] and is not too long for the model."""
    for text in texts:
        encoding = tokenizer.encode(text)
        if tokenizer.mask_id not in encoding.ids:
            raise TextError("sentence-without-mask", text=text)
        if len(encoding) > positions:
            raise TextError("sentence-too-long", text=f"{text[:40]}…", tokens=len(encoding), positions=positions)


@torch.inference_mode()
def predict_masks(model: nn.Module, tokenizer: Tokenizer, texts: Sequence[str], top: int = TOP) -> list[dict]:
    """Predict the masked tokens of some sentences.

    Returns:
        A row for each sentence, as the log stores it: {"text": ..., "guesses": [[[token, probability], ...], ...]}. For
        every [MASK], "guesses" has a list of the `top` most probable tokens.
    """
    encodings = [tokenizer.encode(text) for text in texts]
    batch = collate(encodings, tokenizer.pad_id).to(next(model.parameters()).device)
    was_training = model.training
    model.eval()
    masks_M2 = (batch.input_ids_BT == tokenizer.mask_id).nonzero()  # (row, position) of each mask
    hidden_MH = model(batch).hidden_BTH[masks_M2[:, 0], masks_M2[:, 1]]
    probs_MV = model.mlm(hidden_MH)[:, : tokenizer.vocab_size].float().softmax(-1)
    model.train(was_training)
    top_probs, top_ids = probs_MV.topk(min(top, tokenizer.vocab_size))
    rows = [{"text": text, "guesses": []} for text in texts]
    for sentence_index, ids, probs in zip(masks_M2[:, 0].tolist(), top_ids.tolist(), top_probs.tolist(), strict=True):
        pairs = zip(tokenizer.tokens(ids), probs, strict=True)
        rows[sentence_index]["guesses"].append([[token, round(prob, 4)] for token, prob in pairs])
    return rows


def answer_clozes(model: nn.Module, tokenizer: Tokenizer) -> list[dict]:
    """Predict all cloze sentences in the language of the vocabulary, for `bertlab.json`; [] without masked tokens.

    The rows of `predict_masks` get `fits`, `kind` and `right` (whether the most probable token fits).
    """
    if "mlm" not in model.head_names or model.config.left_to_right:
        return []
    sentences = read_clozes(tokenizer.language)
    rows = predict_masks(model, tokenizer, [cloze.text for cloze in sentences])
    return [
        {**row, "fits": list(cloze.fits), "kind": cloze.kind, "right": row["guesses"][0][0][0].lower() in cloze.fits}
        for row, cloze in zip(rows, sentences, strict=True)
    ]


def measure_everyday(model: nn.Module, tokenizer: Tokenizer, part: str) -> dict[str, float]:
    """Predict the everyday sentences in the language of the vocabulary (`bertlab/locales/*/everyday.toml`).

    Args:
        part: "validation" or "test".

    Returns:
        How often, in per cent, a word that fits is the most probable token (`everyday_first`) and among the five most
        probable (`everyday_among_five`), also for each kind of sentence (`among_five_KIND`); and the number of
        sentences. A token that continues a word does not count.
    """
    rows_by_kind = read_data("everyday", tokenizer.language)[part]
    ranks: dict[str, list[int]] = {}  # for each kind, the rank of the best word that fits, from 0; 5 if it is lower
    for kind, rows in rows_by_kind.items():
        predictions = predict_masks(model, tokenizer, [text for text, *_ in rows], top=5)
        best_tokens = [[token.lstrip("Ġ▁").lower() for token, _ in row["guesses"][0]] for row in predictions]
        ranks[kind] = [
            next((rank for rank, token in enumerate(tokens) if token in fits), 5)
            for tokens, (_, *fits) in zip(best_tokens, rows, strict=True)
        ]
    all_ranks = [rank for kind in ranks.values() for rank in kind]
    return {
        "everyday_first": 100 * sum(rank == 0 for rank in all_ranks) / len(all_ranks),
        "everyday_among_five": 100 * sum(rank < 5 for rank in all_ranks) / len(all_ranks),
        "sentences": len(all_ranks),
        **{f"among_five_{kind}": 100 * sum(rank < 5 for rank in each) / len(each) for kind, each in ranks.items()},
    }


def format_predictions(rows: list[dict], step: int) -> str:
    """Format rows of `predict_masks` as lines for a terminal.

    >>> print(format_predictions([{"text": "A [MASK].", "guesses": [[["cat", 0.5], ["dog", 0.25]]]}], 1000))
    step 1,000
      A [MASK].  cat 50 %   dog 25 %
    """
    width = max(disp_len(row["text"]) for row in rows)  # a Hangul syllable is two columns wide
    lines = [f"step {step:,}"]
    for row in rows:
        mask_texts = ("   ".join(f"{token} {100 * prob:.0f} %" for token, prob in tokens) for tokens in row["guesses"])
        lines.append(f"  {row['text']}{' ' * (width - disp_len(row['text']))}  {' | '.join(mask_texts)}")
    return "\n".join(lines)
