"""Initialise a head of the first layer to find tokens of sentence B that also occur in sentence A.

Next-sentence prediction has to compare both sentences: names and things that they share show that B follows A. A pair
gives one bit of training signal, and from plain random weights, a run of a few minutes hardly learns to compare.

Here one head of the first layer starts with equal weights for queries and keys, so that a token attends to itself and
to other occurrences of the same token, and its queries prefer sentence A. A token of B that also occurs in A attends to
A; another one also attends to itself. The head writes which sentence it attends to, and in the second layer, half of
the heads start with plain random weights, with which [CLS] averages over all tokens. All weights are trained
afterwards, and the architecture is that of BERT.

Shape legend: H hidden, D head size, S directions in which position embeddings differ least.
"""

import torch

from bertlab.nn.bert import Bert

MATCH_SCORE = 12.0  # the approximate attention score of an occurrence of the same token
SENTENCE_SCORE = 2.4  # how much higher the score of a token of A is than that of the same token in B, divided by 2
SIGNAL = 6.0  # the length of the vector that the head writes; a hidden state has the length sqrt(H)
NUM_POSITIONS = 160  # the positions of which the directions are determined


@torch.no_grad()
def initialise_matching_head(model: Bert) -> None:
    """Overwrite the last head of the first layer, and the second half of the heads of the second layer.

    Call this after `initialise_local_attention`, which sets the position embeddings.

    Args:
        model: an untrained model with at least two layers and two token types.
    """
    config, embeddings = model.config, model.embeddings
    H, D = config.hidden_size, config.head_size
    position, sentence = embeddings.position.weight[:NUM_POSITIONS], embeddings.token_type.weight
    tables = (position, sentence, embeddings.token.weight)
    rms = sum(table.square().mean() for table in tables).sqrt()  # LayerNorm divides by it
    # In these directions, the queries and keys of a token hardly depend on its position.
    quiet_HS = torch.linalg.eigh(position.T @ position).eigenvectors[:, : H // 2]
    difference_H = quiet_HS @ (quiet_HS.T @ (sentence[1] - sentence[0]))
    direction_H = difference_H / difference_H.norm()
    half = difference_H.norm() / 2 / rms  # how far A and B are from their middle in this direction
    middle = direction_H @ sentence.mean(0) / rms

    first = model.encoder.layers[0].attention
    query_HH, key_HH, value_HH = first.qkv.weight.view(3, H, H)
    query_bias_H, key_bias_H, value_bias_H = first.qkv.bias.view(3, H)
    rows = slice(H - D, H)
    # Row 0 reads the sentence, the others the token.
    random_SD = torch.cat([(quiet_HS.T @ direction_H)[:, None], torch.randn(H // 2, D - 1)], 1)
    basis_HD = quiet_HS @ torch.linalg.qr(random_SD).Q
    token_square = (D - 1) * (embeddings.token.weight.square().mean() / rms**2)
    key_HH[rows] = basis_HD.T * (MATCH_SCORE * D**0.5 / token_square).sqrt()
    query_HH[rows] = key_HH[rows]
    key_HH[H - D], key_bias_H[H - D] = direction_H / half, -middle / half  # -1 in A, 1 in B
    query_HH[H - D], query_bias_H[H - D] = 0.0, -SENTENCE_SCORE * D**0.5
    value_HH[H - D], value_bias_H[H - D] = direction_H / half, -middle / half
    signal_H = torch.randn(H)
    first.out.weight[:, H - D] = SIGNAL * signal_H / signal_H.norm()

    if len(model.encoder.layers) > 1:
        second_HH, second_key_HH, _ = model.encoder.layers[1].attention.qkv.weight.view(3, H, H)
        for weight_HH in (second_HH, second_key_HH):
            weight_HH[config.num_heads // 2 * D :].normal_(0, config.initializer_range)
