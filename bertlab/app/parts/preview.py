"""A small picture of attention for the first page: one layer's heads as arcs over a short sentence. Knows no model."""

from bertlab.explore.facts import AttentionMap

FLOOR = 0.08  # weaker attention is left out
LETTER, GAP = 11, 20  # widths in the units of the drawing


def arcs(attention: AttentionMap, layer: int) -> dict:
    """Words with their places, and an arc from each to those it looks at, as `static/arcs.js` draws them.

    The added [CLS] and [SEP] are left out, and what a word draws from itself.
    """
    words, centres, right = [], {}, 0.0
    for token in attention.tokens:
        if not token.special:
            width = LETTER * len(token.piece) + GAP
            centres[token.position] = right + width / 2
            words.append({"x": right + width / 2, "text": token.piece})
            right += width
    found = [
        {"from": centres[row], "to": centres[column], "head": head, "weight": round(float(probs_TT[row, column]), 3)}
        for head, probs_TT in enumerate(attention.probs_LNTT[layer])
        for row, column in zip(*(probs_TT > FLOOR).nonzero(), strict=True)
        if row != column and row in centres and column in centres
    ]
    return {"words": words, "arcs": found, "width": right}
