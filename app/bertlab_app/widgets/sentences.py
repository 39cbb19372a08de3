"""One sentence about each figure, computed from the numbers that the figure draws.

Each function is named after a figure. It takes the result that the figure draws, and returns the id and the parameters
of a message, which `display.sentence` shows. Layers and heads are counted from 0, as in the figures.

Shape legend: L layers, M layers of the second of two compared models, N heads, T tokens, W words, H hidden size,
P distances between positions or predictions, U units (the tokens or words that are compared), S snapshots, G labels.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bertlab.abilities.attention.block import BlockMap
from bertlab.abilities.compare.compute import Comparison
from bertlab.abilities.next_sentence.laboratory import RankedSentence
from bertlab.abilities.pretraining_example.results import PretrainingExample
from bertlab.abilities.results import HeadEffects, InputMap, Lens, PredictionChange, SpanXray, WordEffects
from bertlab.abilities.timeline.compute import Timeline
from bertlab.abilities.wordpiece.positions import PositionSimilarity
from bertlab.abilities.writing.corrections import Correction
from bertlab.abilities.writing.surprise import TextSurprise
from bertlab.abilities.writing.type_ahead import TypeAhead
from bertlab.tasks.error_analysis import QuestionGroup, ScoredRow
from bertlab.tasks.masked_lm import Candidate
from bertlab.tasks.span.answer import Answers
from bertlab.tasks.tag_prediction import Tags
from bertlab.views.benchmarks import TaskResult
from bertlab.views.curves import METRICS, smooth
from bertlab.views.export import Columns
from bertlab.views.numbers import SignedNumber, percent

MIN_DECIMAL = 0.01  # values with a smaller magnitude, such as learning rates, are written with a power of ten
FAR_DISTANCE = 10  # in positions; the similarity at this distance is compared with that of neighbouring positions
TOP_RANK = 5  # the largest rank of a true token that counts as near the top
MIN_CHANGE = 0.001  # smaller changes of a probability are invisible in percent with one decimal


class Quote(str):
    """A text of the user, of a file or of a vocabulary, which is shown in bold."""


@dataclass(frozen=True)
class Sentence:
    """A sentence about a figure."""

    id: str  # the id of the message
    values: Mapping[str, object]  # the parameters of the message


def make_sentence(id: str, **values: object) -> Sentence:
    """Make the sentence whose message id is "sentence-" followed by `id`."""
    return Sentence(f"sentence-{id}", values)


def candidates(candidates: Sequence[Candidate]) -> Sentence:
    """Compare the two most probable tokens for a mask, and give the total probability of all tokens in the figure."""
    total_share = percent(sum(row.probability for row in candidates))
    values = {"first": Quote(candidates[0].token), "count": len(candidates), "shown": total_share}
    if len(candidates) < 2 or not candidates[1].probability:
        return make_sentence("candidate", **values)
    ratio = candidates[0].probability / candidates[1].probability
    return make_sentence("candidates", second=Quote(candidates[1].token), ratio=ratio, **values)


def word_effects(effects: WordEffects) -> Sentence | None:
    """Name the word with the largest effect on a label or value."""
    if not effects.words:
        return None
    word = max(effects.words, key=lambda word: abs(word.effect))
    values = {"word": Quote(word.text), "effect": abs(word.effect)}
    direction = "falls" if word.effect >= 0 else "rises"
    if effects.label is None:
        return make_sentence(f"word-value-{direction}", **values)
    return make_sentence(f"word-label-{direction}", label=Quote(effects.label), **values)


def token_rates(rates: Mapping[str, tuple[float, float]]) -> Sentence | None:
    """Compare how many tokens per word two vocabularies need: {name: (tokens per word, share of unknown words)}."""
    if any(not rate for rate, _ in rates.values()):
        return None
    (better, low), (worse, high) = sorted(((name, rate) for name, (rate, _) in rates.items()), key=lambda row: row[1])
    if low == high:
        return make_sentence("token-rates-equal", rate=low)
    return make_sentence("token-rates", few=Quote(better), many=Quote(worse), low=low, high=high, ratio=high / low)


def positions(similarity: PositionSimilarity) -> Sentence:
    """Compare the similarity of neighbouring position vectors with the similarity of distant ones."""
    distance = min(FAR_DISTANCE, len(similarity.learned_P) - 1)
    near, distant = float(similarity.learned_P[1]), float(similarity.learned_P[distance])
    return make_sentence("positions", near=near, distance=distance, distant=distant)


def embeddings(input_map: InputMap) -> Sentence:
    """Compare the mean norms of the token, position and segment embeddings."""
    vectors_by_part = {
        "token": input_map.token_TH,
        "position": input_map.position_TH,
        "segment": input_map.token_type_TH,
    }
    lengths = {name: float(np.linalg.norm(vectors, axis=-1).mean()) for name, vectors in vectors_by_part.items()}
    return make_sentence("embeddings", **lengths)


def ranking(rows: Sequence[RankedSentence]) -> Sentence:
    """Name the most and the least probable candidate for the next sentence by their numbers, counted from 1."""
    best, worst = (choose(rows, key=lambda row: row.probability) for choose in (max, min))
    values = {"best": best.index + 1, "high": percent(best.probability)}
    if len(rows) < 2:
        return make_sentence("ranking-one", **values)
    return make_sentence("ranking", worst=worst.index + 1, low=percent(worst.probability), **values)


def tags(tags: Tags) -> Sentence | None:
    """Name the word whose tag is least certain."""
    if not tags.words:
        return None
    word = min(tags.words, key=tags.probability)
    return make_sentence("tags", word=Quote(word.text), tag=Quote(word.tag), share=percent(tags.probability(word)))


def span(answers: Answers, passage: str) -> Sentence | None:
    """Name the word in which the answer most probably starts, and the word in which the answer most probably ends."""
    if not answers.words:
        return None
    start, end = (int(np.argmax(probs)) for probs in (answers.start_probs, answers.end_probs))
    words = [Quote(passage[slice(*answers.words[index])]) for index in (start, end)]
    shares = [percent(answers.start_probs[start]), percent(answers.end_probs[end])]
    return make_sentence("span", start=words[0], end=words[1], start_share=shares[0], end_share=shares[1])


def lens(lens: Lens) -> Sentence:
    """Say at how many positions the middle layer already predicts what the last layer predicts."""
    middle = len(lens.rank_LT) // 2  # index l + 1 is the output of layer l
    num_settled, total = int((lens.rank_LT[middle] == 1).sum()), lens.rank_LT.shape[1]
    return make_sentence("lens", layer=middle - 1, settled=num_settled, total=total)


def lens_at(lens: Lens, position: int) -> Sentence:
    """Name the first layer from which on the final prediction at a position has rank 1."""
    ranks = lens.rank_LT[:, position].tolist()
    first_index = next(index for index in range(len(ranks)) if all(rank == 1 for rank in ranks[index:]))
    word = Quote(lens.final_T[position])
    if not first_index:  # index 0 is the embeddings, l + 1 the output of layer l
        return make_sentence("lens-at-once", word=word)
    return make_sentence("lens-at", word=word, layer=first_index - 1)


def head_effects(effects: HeadEffects, label: str) -> Sentence:
    """Name the head that helps a prediction most, and the one that hurts it most."""
    effects_LN = effects.effects_LN
    extremes = (effects_LN.argmin(), effects_LN.argmax())
    indices = [np.unravel_index(int(flat_index), effects_LN.shape) for flat_index in extremes]
    lowest, highest = (float(effects_LN[index]) for index in indices)
    helping_head, hurting_head = (f"{effects.layers[layer]}.{head}" for layer, head in indices)
    helping = {"helping": helping_head, "falls": -lowest}
    hurting = {"hurting": hurting_head, "rises": highest}
    if lowest >= 0:
        return make_sentence("head-effects-none-helps", label=Quote(label), **hurting)
    if highest <= 0:
        return make_sentence("head-effects-none-hurts", label=Quote(label), **helping)
    return make_sentence("head-effects", label=Quote(label), **helping, **hurting)


def block(block_map: BlockMap) -> Sentence:
    """Compare how much attention and the feed-forward network add to the hidden state in one layer."""
    vectors = {"attention": block_map.attention_H, "feed_forward": block_map.feed_forward_H}
    return make_sentence(
        "block", layer=block_map.layer, **{name: float(np.linalg.norm(vector)) for name, vector in vectors.items()}
    )


def layer_norms(block_map: BlockMap) -> Sentence:
    """Name two layers: those in which attention and the feed-forward network add most to the hidden state."""
    layers = block_map.layers[1:]  # the first one stands for the embeddings
    attention = max(layers, key=lambda summary: summary.attention_norm)
    feed_forward = max(layers, key=lambda summary: summary.feed_forward_norm)
    return make_sentence(
        "layer-norms", attention=attention.attention_norm, attention_layer=attention.layer,
        feed_forward=feed_forward.feed_forward_norm, feed_forward_layer=feed_forward.layer,
    )  # fmt: skip


def predictions(example: PretrainingExample) -> Sentence | None:
    """Count the predictions that rank the true token first, and those that rank it among the first `TOP_RANK`."""
    ranks = [row.rank for row in example.predictions]
    if not ranks:
        return None
    if len(ranks) == 1:
        return make_sentence("prediction-right" if ranks[0] == 1 else "prediction-wrong")
    num_first, num_top = sum(rank == 1 for rank in ranks), sum(rank <= TOP_RANK for rank in ranks)
    return make_sentence("predictions", count=len(ranks), first=num_first, among=num_top, guesses=TOP_RANK)


def results(rows: Sequence[TaskResult]) -> Sentence | None:
    """Compare our best result with the best published one, or name the best published one."""
    published_rows = [row for row in rows if row[1] != "validation"]
    own_rows = [row for row in rows if row[1] == "validation"]
    if not published_rows:
        return None
    best_published = max(published_rows, key=lambda row: row[2])
    values = {"best": Quote(best_published[0]), "value": best_published[2]}
    if not own_rows:
        return make_sentence("results", **values)
    best_own = max(own_rows, key=lambda row: row[2])
    difference = round(best_own[2], 1) - round(best_published[2], 1)
    id = "results-below" if difference < 0 else "results-above"
    return make_sentence(id, ours=Quote(best_own[0]), own_value=best_own[2], difference=abs(difference), **values)


def compared_heads(comparison: Comparison) -> Sentence:
    """Name the head whose attention differs most, and count the heads that differ less than half as much."""
    js_LN = comparison.js_LN
    layer, head = np.unravel_index(int(js_LN.argmax()), js_LN.shape)
    largest = float(js_LN[layer, head])
    if not largest:
        return make_sentence("compared-heads-equal")
    num_small = int((js_LN < largest / 2).sum())
    return make_sentence("compared-heads", head=f"{layer}.{head}", most=largest, less=num_small, total=js_LN.size)


def compared_head(comparison: Comparison, layer: int, head: int) -> Sentence:
    """Name the two tokens between which the attention of one head changes most."""
    difference_UU = comparison.difference_UU(layer, head)
    query, key = np.unravel_index(int(np.abs(difference_UU).argmax()), difference_UU.shape)
    change = float(difference_UU[query, key])
    if not change:
        return make_sentence("compared-head-equal", head=f"{layer}.{head}")
    values = {"query": Quote(comparison.units[query].label), "key": Quote(comparison.units[key].label)}
    id = "compared-head-more" if change > 0 else "compared-head-less"
    return make_sentence(id, head=f"{layer}.{head}", points=100 * abs(change), **values)


def compared_layers(comparison: Comparison) -> Sentence | None:
    """Name the layer whose hidden states are least similar; None if the models have different numbers of layers."""
    cka_LM = comparison.cka_LM
    if cka_LM.shape[0] != cka_LM.shape[1]:
        return None
    cka_L = np.diagonal(cka_LM)
    index = int(cka_L.argmin())
    if not index:
        return make_sentence("compared-embeddings", cka=float(cka_L[0]))
    return make_sentence("compared-layers", layer=index - 1, cka=float(cka_L[index]))


def changed_tokens(comparison: Comparison, index: int) -> Sentence:
    """Name the token whose hidden state differs most; index 0 is the embeddings, l + 1 the output of layer l."""
    distance_U = comparison.cosine_distance_LU[index]
    unit = int(distance_U.argmax())
    return make_sentence("changed-tokens", unit=Quote(comparison.units[unit].label), distance=float(distance_U[unit]))


def parts(parts: Mapping[str, float], name: str) -> Sentence:
    """Give the largest part of a total, such as the memory of a model, and its share."""
    return make_sentence("parts", part=Quote(name), share=percent(max(parts.values()) / (sum(parts.values()) or 1)))


def windows(span_xray: SpanXray) -> Sentence | None:
    """Name the windows with the best and the second-best span, and the one with the lowest no-answer score.

    Windows are counted from 1, as in the figure. None if no window has a span.
    """
    readings = span_xray.readings
    ranked = sorted(
        (index for index, reading in enumerate(readings) if reading.answer), key=lambda index: -readings[index].score
    )
    if not ranked:
        return None
    lowest = min(range(len(readings)), key=lambda index: readings[index].no_answer_score)
    values = {
        "best": ranked[0] + 1, "score": f"{SignedNumber(readings[ranked[0]].score):.2f}", "lowest": lowest + 1,
        "no_answer": f"{SignedNumber(readings[lowest].no_answer_score):.2f}",
    }  # fmt: skip
    if len(ranked) == 1:
        return make_sentence("windows-one-span", **values)
    return make_sentence(
        "windows", second=ranked[1] + 1, lead=readings[ranked[0]].score - readings[ranked[1]].score, **values
    )


def prediction_change(change: PredictionChange, names: Mapping[str, str]) -> Sentence:
    """Name the outcome whose probability changes most."""
    outcome = max(change.outcomes, key=lambda outcome: abs(outcome.after - outcome.before))
    difference = outcome.after - outcome.before
    if abs(difference) < MIN_CHANGE:
        return make_sentence("prediction-change-none")
    id = "prediction-change-rises" if difference > 0 else "prediction-change-falls"
    return make_sentence(id, outcome=Quote(names.get(outcome.label, outcome.label)), points=100 * abs(difference))


def surprise(surprise: TextSurprise, misfits: int, threshold: float) -> Sentence:
    """Name the most surprising word, and give the mean, the sum and the pseudo-perplexity."""
    word = max(surprise.words, key=lambda word: word.surprise)
    return make_sentence(
        "surprise", word=Quote(word.text), most=word.surprise, misfits=misfits, threshold=threshold,
        total=surprise.total, tokens=surprise.num_tokens, mean=surprise.mean, perplexity=surprise.pseudo_perplexity,
    )  # fmt: skip


def type_ahead(proposals: TypeAhead) -> Sentence | None:
    """Name the most probable next word, and the probability that a punctuation mark comes instead."""
    if not proposals.words:
        return None
    word, stop = proposals.words[0], percent(proposals.stop_probability)
    return make_sentence("type-ahead", word=Quote(word.text), share=percent(word.probability), stop=stop)


def corrections(suggestions: Sequence[Correction], margin: float) -> Sentence:
    """Count the suggested corrections of a text, and name the one with the largest gain."""
    if not suggestions:
        return make_sentence("corrections-none", margin=margin)
    best = max(suggestions, key=lambda correction: correction.gain)
    values = {"original": Quote(best.original), "replacement": Quote(best.replacement), "gain": best.gain}
    return make_sentence("corrections", count=len(suggestions), margin=margin, **values)


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
