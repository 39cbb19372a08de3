"""The attention picture of the Start page: the heads of one layer as arcs over a short sentence."""

from bertlab.abilities.results import AttentionMap

MIN_WEIGHT = 0.08  # smaller attention weights are not drawn
LETTER_WIDTH, WORD_GAP = 11, 20  # the width of a letter and of the gap between words, in units of the SVG drawing


def make_arcs(attention: AttentionMap, layer: int) -> dict:
    """Compute the positions of the words and one arc for each large attention weight, for `static/arcs.js`.

    [CLS], [SEP] and the attention of a token to itself are not drawn.
    """
    words, centres, total_width = [], {}, 0.0
    for token in attention.tokens:
        if not token.special:
            width = LETTER_WIDTH * len(token.token) + WORD_GAP
            centres[token.position] = total_width + width / 2
            words.append({"x": total_width + width / 2, "text": token.token})
            total_width += width
    arcs = [
        {"from": centres[row], "to": centres[column], "head": head, "weight": round(float(probs_TT[row, column]), 3)}
        for head, probs_TT in enumerate(attention.probs_LNTT[layer])
        for row, column in zip(*(probs_TT > MIN_WEIGHT).nonzero(), strict=True)
        if row != column and row in centres and column in centres
    ]
    return {"words": words, "arcs": arcs, "width": total_width}
