"""Initialise a head of the first layer to find tokens of sentence B that also occur in sentence A.

For next-sentence prediction, a model has to compare the sentences, which it hardly learns from one bit in a few
minutes. Here one head starts with equal weights for queries and keys, so that a token attends to occurrences of the
same token, with a bias towards sentence A. The output of the head says which sentence was attended to; in the second
layer, half of the heads start with plain random weights, so that [CLS] averages these outputs.

Shape legend: H hidden, D head size, S directions in which position embeddings differ least (S = H / 2).
"""

import torch

from bertlab.nn.bert import Bert

MATCH_SCORE = 12.0  # the approximate attention score of an occurrence of the same token
SENTENCE_SCORE = 2.4  # is added to the attention score of tokens in A, and subtracted from that of tokens in B
# The length of the vector that the head outputs if it attends to only one sentence; hidden states have the length
# sqrt(H).
SIGNAL_LENGTH = 6.0
NUM_POSITIONS = 160  # the S directions are computed from the embeddings of this many positions


@torch.no_grad()
def initialise_matching_head(model: Bert) -> None:
    """Initialise the last head of an untrained model's first layer to match tokens, and half of the second layer's to
    average.

    Call this after `initialise_local_attention`, which sets the position embeddings.
    """
    config, embeddings = model.config, model.embeddings
    H, D = config.hidden_size, config.head_size
    position, token_type = embeddings.position.weight[:NUM_POSITIONS], embeddings.token_type.weight
    tables = (position, token_type, embeddings.token.weight)
    rms = sum(table.square().mean() for table in tables).sqrt()  # LayerNorm divides the sum of the embeddings by `rms`
    # In these directions, the queries and keys of a token hardly depend on its position.
    position_free_HS = torch.linalg.eigh(position.T @ position).eigenvectors[:, : H // 2]
    difference_H = position_free_HS @ (position_free_HS.T @ (token_type[1] - token_type[0]))
    direction_H = difference_H / difference_H.norm()
    # In this direction, the hidden states of tokens in A are at middle - half_distance, those in B at
    # middle + half_distance.
    half_distance = difference_H.norm() / 2 / rms
    middle = direction_H @ token_type.mean(0) / rms

    first_attention = model.encoder.layers[0].attention
    query_HH, key_HH, value_HH = first_attention.qkv.weight.view(3, H, H)
    query_bias_H, key_bias_H, value_bias_H = first_attention.qkv.bias.view(3, H)
    rows = slice(H - D, H)
    # Of the head's D rows of weights, the first one detects the sentence of a token; the others detect the token
    # itself.
    random_SD = torch.cat([(position_free_HS.T @ direction_H)[:, None], torch.randn(H // 2, D - 1)], 1)
    basis_HD = position_free_HS @ torch.linalg.qr(random_SD).Q
    token_square = (D - 1) * (embeddings.token.weight.square().mean() / rms**2)
    key_HH[rows] = basis_HD.T * (MATCH_SCORE * D**0.5 / token_square).sqrt()
    query_HH[rows] = key_HH[rows]
    # the first element of the key, and of the value, is -1 for tokens in A and 1 for tokens in B
    key_HH[H - D], key_bias_H[H - D] = direction_H / half_distance, -middle / half_distance
    query_HH[H - D], query_bias_H[H - D] = 0.0, -SENTENCE_SCORE * D**0.5
    value_HH[H - D], value_bias_H[H - D] = direction_H / half_distance, -middle / half_distance
    signal_H = torch.randn(H)
    first_attention.out.weight[:, H - D] = SIGNAL_LENGTH * signal_H / signal_H.norm()

    if len(model.encoder.layers) > 1:
        second_query_HH, second_key_HH, _ = model.encoder.layers[1].attention.qkv.weight.view(3, H, H)
        for weight_HH in (second_query_HH, second_key_HH):
            weight_HH[config.num_heads // 2 * D :].normal_(0, config.initializer_range)
