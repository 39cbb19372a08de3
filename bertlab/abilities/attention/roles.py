"""Find the role of each attention head in one input: the simple pattern with the largest share of its attention.

The patterns are those of Clark et al. 2019 (arXiv 1906.04341), section 3.

Shape legend: R roles, T tokens, N heads, L layers.
"""

from collections.abc import Sequence

import numpy as np

from bertlab.abilities.results import AttentionMap, HeadRoles, TokenRow

# A role has the name of the key that the queries attend to; "same" is another occurrence of the query's token.
PATTERNS = ("previous", "next", "itself", "same")  # the roles that are not named after a special token
ROLES = ("previous", "next", "itself", "[CLS]", "[SEP]", "same")


def find_head_roles(attention: AttentionMap) -> HeadRoles:
    """Find, for every head, the pattern with the largest share of its attention."""
    patterns_RTT = make_patterns(attention.tokens)
    queries_T = [token.position for token in attention.tokens if not token.special]
    share_RLN = np.einsum("lnqk,rqk->rlnq", attention.probs_LNTT, patterns_RTT)[..., queries_T].mean(-1)
    best_LN = share_RLN.argmax(0)
    # the vocabulary of the checkpoint may have other names for [CLS] and [SEP]
    own_names = {"[CLS]": attention.tokens[0].token, "[SEP]": attention.tokens[-1].token}
    roles = [own_names.get(role, role) for role in ROLES]
    names_LN = tuple(tuple(roles[role] for role in best_N) for best_N in best_LN)
    return HeadRoles(names_LN, share_RLN.max(0))


def make_patterns(tokens: Sequence[TokenRow]) -> np.ndarray:
    """Mark the (query, key) pairs that belong to each role -> float32 [R, T, T], 0 or 1."""
    ids_T = np.array([token.id for token in tokens])
    size = len(tokens)
    is_sep_T = np.array([token.special and token.position > 0 for token in tokens])
    itself_TT = np.eye(size)
    cls_TT, sep_TT = np.zeros((size, size)), np.zeros((size, size))
    cls_TT[:, 0], sep_TT[:, is_sep_T] = 1, 1
    same_TT = (ids_T[:, None] == ids_T[None]) - itself_TT
    patterns = (np.eye(size, k=-1), np.eye(size, k=1), itself_TT, cls_TT, sep_TT, same_TT)
    return np.stack(patterns).astype(np.float32)
