"""Sentences about the figures of training runs and evaluations, like the sentences in `bertlab_app.sentences`.

Shape legend: S snapshots, L layers, N heads, T tokens, W words, G labels, P predictions.
"""

from collections.abc import Sequence

import numpy as np

from bertlab.abilities.timeline.compute import Timeline
from bertlab.tasks.error_analysis import QuestionGroup, ScoredRow
from bertlab.views.curves import METRICS, smooth
from bertlab.views.export import Columns
from bertlab.views.numbers import SignedNumber, percent
from bertlab_app.widgets.sentences import Quote, Sentence, make_sentence

MIN_DECIMAL = 0.01  # values with a smaller magnitude, such as learning rates, are written with a power of ten


def curve(points: Columns, metric: str, name: str) -> Sentence | None:
    """Name the run whose curve reaches the best value, and say where this curve ends.

    The best value is the lowest one of a loss or an error, and the highest one of any other metric. The sentence is
    about the values on held-out text or, if no run has any, about the drawn curves of the training steps.
    """
    spec, curves = METRICS[metric], {}
    split = "held-out" if "held-out" in points["split"] else "training"
    for run, row_split, value in zip(points["run"], points["split"], points[metric], strict=True):
        if row_split == split:
            curves.setdefault(run, []).append(value)
    if not curves:
        return None
    if split == "training" and spec.is_noisy:
        split, curves = "smoothed", {run: smooth(values) for run, values in curves.items()}
    choose_best = min if spec.is_lower_better else max
    run = choose_best(curves, key=lambda run: choose_best(curves[run]))
    best, last = (_format_value(value, spec.is_percent) for value in (choose_best(curves[run]), curves[run][-1]))
    id, values = "curve-lowest" if spec.is_lower_better else "curve-highest", {"run": Quote(run), "value": best}
    if best == last:
        return make_sentence(f"{id}-at-end", metric=name, split=split, **values)
    return make_sentence(id, metric=name, split=split, last=last, **values)


def _format_value(value: float, is_percent: bool) -> str:
    """Format a value of a curve; a small one, such as a learning rate, with a power of ten: 1e-4."""
    if is_percent:
        return percent(value)
    if not 0 < abs(value) < MIN_DECIMAL:
        return f"{SignedNumber(value):.4g}"
    mantissa, exponent = f"{SignedNumber(value):.1e}".split("e")
    return f"{mantissa.removesuffix('.0')}e{int(exponent.replace('−', '-'))}"


def timeline(timeline: Timeline) -> Sentence | None:
    """Compare the first and the last snapshot: their predictions or, if they have none, their attention."""
    steps = [snapshot.step for snapshot in timeline.snapshots]
    ends = {"first": steps[0], "last": steps[-1]}
    if timeline.tracks:
        track = timeline.tracks[0]
        values = {"word": Quote(track.words[0]), "count": len(timeline.tracks)}
        probs_S = track.probs_SW[:, 0]
        if len(steps) == 1:
            return make_sentence("timeline-mask-one", **values, step=steps[0], share=percent(float(probs_S[0])))
        is_best_S = probs_S >= track.probs_SW.max(1)
        # the index of the first snapshot from which on `track.words[0]` is always the most probable word
        first_index = len(steps) - int(np.argmin(is_best_S[::-1])) if not is_best_S.all() else 0
        shares = {"low": percent(float(probs_S[0])), "high": percent(float(probs_S[-1]))}
        return make_sentence("timeline-mask", **values, **ends, **shares, since=steps[first_index])
    if len(steps) == 1:
        return None
    if timeline.follows is not None:
        low, high = percent(timeline.follows[0]), percent(timeline.follows[-1])
        return make_sentence("timeline-pair", **ends, low=low, high=high)
    first_LNTT, last_LNTT = (timeline.probs[index].astype(np.float32) for index in (0, -1))
    # the share of its attention that a token moves to other tokens, as a mean over the tokens
    moved_share_LN = np.abs(last_LNTT - first_LNTT).sum(-1).mean(-1) / 2
    layer, head = np.unravel_index(int(moved_share_LN.argmax()), moved_share_LN.shape)
    return make_sentence(
        "timeline-attention", **ends, head=f"{layer}.{head}", share=percent(float(moved_share_LN[layer, head]))
    )


def confusion(names: Sequence[str], counts_GP: np.ndarray) -> Sentence:
    """Name the most frequent pair of a label and a wrong prediction."""
    errors_GP = np.array(counts_GP).copy()
    np.fill_diagonal(errors_GP, 0)
    label, prediction = np.unravel_index(int(errors_GP.argmax()), errors_GP.shape)
    count = int(errors_GP[label, prediction])
    if not count:
        return make_sentence("confusion-none")
    return make_sentence("confusion", label=Quote(names[label]), prediction=Quote(names[prediction]), count=count)


def groups(groups: Sequence[QuestionGroup], other_name: str) -> Sentence | None:
    """Name the groups of questions with the highest and the lowest F1; None if there are no groups."""
    if not groups:
        return None
    best, worst = (choose(groups, key=lambda group: group.f1) for choose in (max, min))
    if round(best.f1, 1) == round(worst.f1, 1):
        return make_sentence("groups-equal", groups=len(groups), value=f"{best.f1:.1f}%")
    return make_sentence(
        "groups", best=Quote(best.name or other_name), high=f"{best.f1:.1f}%", best_count=len(best.rows),
        worst=Quote(worst.name or other_name), low=f"{worst.f1:.1f}%", worst_count=len(worst.rows),
    )  # fmt: skip


def errors(rows: Sequence[ScoredRow]) -> Sentence:
    """Give the mean absolute error of a regression, and the row with the largest error."""
    absolute_errors = [abs(label - prediction) for label, prediction in (row.values for row in rows)]
    worst = int(np.argmax(absolute_errors))
    label, prediction = (f"{SignedNumber(value):.2f}" for value in rows[worst].values)
    if len(rows) == 1:
        return make_sentence("errors-one", error=absolute_errors[0], label=label, prediction=prediction)
    mean = float(np.mean(absolute_errors))
    return make_sentence("errors", mean=mean, row=Quote(rows[worst].id), label=label, prediction=prediction)
