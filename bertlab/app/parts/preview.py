"""A small picture of attention for the first page: one layer's heads as arcs over a short sentence."""

from bertlab.explore.facts import AttentionMap

MIN_WEIGHT = 0.08  # weaker attention is left out
LETTER, GAP = 11, 20  # widths in the units of the drawing


def arcs(attention: AttentionMap, layer: int) -> dict:
    """The positions of the words, and an arc for each strong attention weight, as `static/arcs.js` draws them.

    [CLS], [SEP] and the attention of a word to itself are left out.
    """
    words, centres, right = [], {}, 0.0
    for token in attention.tokens:
        if not token.special:
            width = LETTER * len(token.token) + GAP
            centres[token.position] = right + width / 2
            words.append({"x": right + width / 2, "text": token.token})
            right += width
    drawn = [
        {"from": centres[row], "to": centres[column], "head": head, "weight": round(float(probs_TT[row, column]), 3)}
        for head, probs_TT in enumerate(attention.probs_LNTT[layer])
        for row, column in zip(*(probs_TT > MIN_WEIGHT).nonzero(), strict=True)
        if row != column and row in centres and column in centres
    ]
    return {"words": words, "arcs": drawn, "width": right}
