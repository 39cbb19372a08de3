"""What a fine-tuned model says of a text: its label or value, the best way to go on, the tag of every word.

Encoded inputs in, facts out. Knows no checkpoint and no file.

Shape legend: C choices, W words, K labels.
"""

from collections.abc import Sequence

import numpy as np

from bertlab.explore.encode import batch_of_one
from bertlab.explore.facts import Choice, Classification, Entity, LabelShare, Tags, WordTags
from bertlab.explore.predict import device_of
from bertlab.explore.word_spans import words
from bertlab.nn.bert import Bert
from bertlab.tasks.tag_spans import entity_spans, is_scheme
from bertlab.text.batch import collate
from bertlab.text.tokenizers.wordpiece import Encoding


def classifier(model: Bert) -> str:
    """Which head `classify` asks: "classify" or "regress". Raises MissingHead."""
    if "regress" not in model.heads:
        model.head("classify")
    return "regress" if "regress" in model.heads else "classify"


def classify(model: Bert, encoding: Encoding) -> Classification:
    """The probability of every label, or the value. Raises MissingHead."""
    head = classifier(model)
    pooled_1H = model.pooled(batch_of_one(encoding, device_of(model)))
    if head == "regress":
        return Classification((), float(model.regress(pooled_1H)[0]))
    probs_K = model.classify(pooled_1H)[0].softmax(-1).tolist()
    return Classification(tuple(map(LabelShare, model.config.labels, probs_K)))


def choose(model: Bert, choices: Sequence[str], encodings: Sequence[Encoding], pad_id: int) -> list[Choice]:
    """Every choice with its share; encodings: context and choice, one for each. Raises MissingHead."""
    model.head("choose")
    batch = collate(encodings, pad_id).to(device_of(model))
    score_C = model.choose(model.pooled(batch))
    return [Choice(*row) for row in zip(choices, score_C.softmax(-1).tolist(), score_C.tolist(), strict=True)]


def tag(model: Bert, text: str, encoding: Encoding, by_piece: bool = False) -> Tags:
    """The tag of every word, read at its first piece, and the entities; none of these where the tags mark none.

    Args:
        by_piece: every piece has a tag of its own, as where the tags were learned on characters (KLUE-NER): a Korean
            name and the particle after it are one word.

    Raises:
        MissingHead: the model has no tagging head.
    """
    labels = model.config.labels
    probs_TK = model.tag(model(batch_of_one(encoding, device_of(model))).hidden_BTH)[0].softmax(-1).cpu().numpy()
    places_T = [(position, *encoding.offsets[position]) for position, s in enumerate(encoding.special) if not s]
    if by_piece:
        units = places_T
    else:
        firsts = _first_pieces(places_T, words(text))
        units = [(position, start, end) for position, (start, end) in firsts]
    rows = [
        WordTags(text[start:end], start, end, labels[int(probs_TK[p].argmax())], tuple(probs_TK[p].tolist()))
        for p, start, end in units
    ]
    entities = []
    for label, first, last in entity_spans([row.tag for row in rows]) if is_scheme(labels) else ():
        inside = rows[first : last + 1]
        start, end = inside[0].start, inside[-1].end
        entities.append(
            Entity(text[start:end], start, end, label, float(np.mean([max(w.probabilities) for w in inside])))
        )
    return Tags(labels, tuple(rows), tuple(entities))


def _first_pieces(
    pieces: Sequence[tuple[int, int, int]], places: Sequence[tuple[int, int]]
) -> list[tuple[int, tuple[int, int]]]:
    """For every word, the first piece that begins in it; words without one (spaces to the tokenizer) are left out.

    >>> _first_pieces([(1, 0, 3), (2, 3, 5), (3, 6, 9)], [(0, 5), (6, 9)])
    [(1, (0, 5)), (3, (6, 9))]
    """
    begins = np.array([start for _, start, _ in pieces], np.int64)
    found = []
    for start, end in places:
        at = int(np.searchsorted(begins, start))
        if at < len(begins) and begins[at] < end:
            found.append((pieces[at][0], (start, end)))
    return found
