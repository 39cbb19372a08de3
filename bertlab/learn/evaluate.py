"""What a checkpoint is worth: masked accuracy, bits per character and NSP accuracy; SQuAD's EM and F1.

Knows no optimiser; a model goes in, a row of figures comes out.
"""

from collections.abc import Callable, Sequence

import torch
from torch import nn

from bertlab.learn.metrics import bits_per_character, squad
from bertlab.learn.objectives import PretrainingLoss
from bertlab.text.buckets import score_spans
from bertlab.text.corpus import Corpus
from bertlab.text.masking import IGNORED, MaskRule, mask_tokens
from bertlab.text.sampler import PairSampler
from bertlab.text.spans import Decoded, decode_all, span_windows

ROWS_AT_ONCE = 512
VALIDATION_SEED = 20181011  # one fixed set of pairs and masks, whatever the run's own seed


def pretraining_figures(
    model: nn.Module, tokenizer, corpus: Corpus, *, rows: int, max_tokens: int = 128, batch_size: int = 64
) -> dict:
    """Measure both objectives on the first `rows` pairs of a held-out corpus, 15 % masks, always the same ones.

    Returns:
        masked_accuracy and nsp_accuracy (0..1), mlm_loss (nats a masked piece), nsp_loss, bits_per_character (mlm_loss
        spread over the corpus's characters a token, so that vocabularies can be compared), rows, masked_tokens.
    """
    parameter = next(model.parameters())
    rule = MaskRule.of(tokenizer).to(parameter.device)
    sampler = PairSampler(corpus, tokenizer, batch_size, max_tokens, VALIDATION_SEED)
    loss = PretrainingLoss(rule)
    was_training = model.training
    model.eval()
    sums = dict.fromkeys(("masked", "hits", "mlm", "rows", "nsp", "nsp_hits"), 0.0)
    with torch.inference_mode():
        while sums["rows"] < rows and sampler.place.epoch == 0:
            batch = next(sampler).to(parameter.device)
            figures = loss(model, batch).figures
            _, _, labels_P = mask_tokens(batch.inputs, batch.key_B, rule)
            masked, size = int((labels_P != IGNORED).sum()), len(batch.nsp_labels_B)
            sums["masked"] += masked
            sums["hits"] += masked * float(figures["mlm_accuracy"])
            sums["mlm"] += masked * float(figures["mlm_loss"])
            sums["rows"] += size
            sums["nsp"] += size * float(figures["nsp_loss"])
            sums["nsp_hits"] += size * float(figures["nsp_accuracy"])
    model.train(was_training)
    mlm_loss = sums["mlm"] / sums["masked"]
    return {
        "masked_accuracy": sums["hits"] / sums["masked"],
        "mlm_loss": mlm_loss,
        "bits_per_character": bits_per_character(mlm_loss * corpus.facts["tokens"], corpus.facts["characters"]),
        "nsp_accuracy": sums["nsp_hits"] / sums["rows"],
        "nsp_loss": sums["nsp"] / sums["rows"],
        "rows": int(sums["rows"]),
        "masked_tokens": int(sums["masked"]),
    }


def answer_all(
    model: nn.Module,
    tokenizer,
    rows: Sequence[dict],
    *,
    max_tokens: int = 384,
    stride: int = 128,
    batch_size: int = 32,
    progress: Callable = iter,
) -> list[Decoded]:
    """Ask every question of SQuAD rows; one `Decoded` a row, in their order.

    Args:
        progress: wraps the parts the rows are taken in (say, `tqdm`).
    """
    parameter = next(model.parameters())

    def score(batch):
        return model.span(model(batch.to(parameter.device)).hidden_BTH)

    decoded: list[Decoded] = []
    was_training = model.training
    model.eval()
    with torch.inference_mode():
        for first in progress(range(0, len(rows), ROWS_AT_ONCE)):
            part = rows[first : first + ROWS_AT_ONCE]
            windows = span_windows(
                tokenizer, [r["question"] for r in part], [r["context"] for r in part], max_tokens, stride
            )
            decoded += decode_all(windows, *score_spans(windows, score, tokenizer.pad_id, batch_size))
    model.train(was_training)
    return decoded


def squad_figures(model: nn.Module, tokenizer, rows: Sequence[dict], version: str = "1.1", **options) -> dict:
    """Exact match and F1 of a model's answers, in percent, by the official definition.

    Args:
        options: as for `answer_all`.
    """
    decoded = answer_all(model, tokenizer, rows, **options)
    predictions = {row["id"]: found.text for row, found in zip(rows, decoded, strict=True)}
    margins = {row["id"]: found.no_answer_margin for row, found in zip(rows, decoded, strict=True)}
    return squad(predictions, rows, version, margins if version == "2.0" else None)
