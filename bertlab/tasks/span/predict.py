"""What a checkpoint answers to SQuAD's questions, many at once, and how good that is.

Rows and a model in, answers and figures out; knows no files and no optimiser.
"""

import math
from collections.abc import Callable, Sequence

import torch
from torch import nn

from bertlab.config.languages import language_of
from bertlab.config.tasks import TaskSpec
from bertlab.tasks.span.decoding import Decoded, decode_all
from bertlab.tasks.span.metrics import script_of, squad
from bertlab.tasks.span.windows import span_windows
from bertlab.text.batches import score_spans

ROWS_AT_ONCE = 512


def spoken(spec: TaskSpec, rows: Sequence[dict]) -> TaskSpec:
    """The task with a language to compare answers in: its own, or where it says none that of the questions."""
    return spec if spec.language else spec.replace(language=language_of([row["question"] for row in rows]))


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
    max_tokens = min(max_tokens, model.config.max_positions)

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


def squad_answers(model: nn.Module, tokenizer, rows: Sequence[dict], **options) -> tuple[dict, dict]:
    """Answers and no-answer margins of SQuAD rows, both by id, as `answer_metrics.squad` takes them.

    Args:
        options: as for `answer_all`.
    """
    decoded = answer_all(model, tokenizer, rows, **options)
    ids = [row["id"] for row in rows]
    answers = {id: found.text for id, found in zip(ids, decoded, strict=True)}
    return answers, {id: found.no_answer_margin for id, found in zip(ids, decoded, strict=True)}


def squad_figures(model: nn.Module, tokenizer, rows: Sequence[dict], spec: TaskSpec, **options) -> dict:
    """The task's measures of a model's answers; where not every question has one, with tau tuned on these rows.

    Args:
        options: as for `answer_all`.
    """
    return measured(*squad_answers(model, tokenizer, rows, **options), rows, spec)


def measured(
    answers: dict[str, str],
    margins: dict[str, float],
    rows: Sequence[dict],
    spec: TaskSpec,
    threshold: float | None = None,
) -> dict:
    """The task's measures in percent by their official definition; for v2.0 with "no answer" where the margin says so.

    Args:
        answers, margins: as `squad_answers` gives them.
        threshold: tau, above which a margin means "no answer"; None takes the one with the best F1 on these rows, as
            section 4.3 of the paper does on the dev set; in KLUE-MRC the best ROUGE-W.

    Returns:
        `answer_metrics.squad`'s figures; for v2.0 also null_threshold, the tau that was used.
    """
    script = script_of(spec)
    if not spec.unanswerable:
        return squad(answers, rows, "1.1", script=script)
    if threshold is None:
        best = squad(answers, rows, "2.0", margins, script=script)[f"best_{spec.metrics[0]}_threshold"]
        # halfway to the next margin, so that rounding the weights does not turn the question that the best one is of
        threshold = (best + min((m for m in margins.values() if best < m < math.inf), default=best)) / 2
    found = squad(answers, rows, "2.0", margins, threshold, script)
    return found | {"null_threshold": threshold}
