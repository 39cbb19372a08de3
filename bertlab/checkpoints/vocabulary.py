"""A model for another vocabulary: the encoder stays, and only pieces that it does not know are learnt anew.

An encoder of one language is a better start for another than random weights (Artetxe, Ruder and Yogatama 2020, arXiv
1910.11856, section 3, where the encoder is frozen; here everything goes on learning). Knows no training.

Shape legend: V vocabulary, H hidden.
"""

from collections.abc import Iterable

import torch

from bertlab.checkpoints.checkpoint import Checkpoint
from bertlab.nn.bert import Bert

TABLES = ("embeddings.token.weight", "heads.mlm.bias")  # what has a row for every piece


@torch.no_grad()
def replace_vocabulary(loaded: Checkpoint, tokenizer, heads: Iterable[str] = ()) -> Bert:
    """A copy of a checkpoint's model whose embeddings, [V, H], are those of `tokenizer`.

    Pieces that both vocabularies have (digits, punctuation, names) keep their row; the others are drawn around the mean
    of the old table, each of the H numbers with its own spread. The bias of the masked-word head starts at 0.

    Args:
        heads: of the new model; those that the checkpoint has keep their weights.
    """
    config = loaded.config.replace(vocab_size=tokenizer.vocab_size, pad_token_id=tokenizer.pad_id)
    model = Bert(config, heads=heads)
    old, new = loaded.model.state_dict(), model.state_dict()
    for name in new.keys() & old.keys() - set(TABLES):
        new[name].copy_(old[name])
    known_VH, table_VH = old[TABLES[0]], new[TABLES[0]]
    table_VH.copy_(known_VH.mean(0) + known_VH.std(0) * torch.randn_like(table_VH))
    ids = {piece: number for number, piece in enumerate(_pieces(loaded.tokenizer))}
    shared = [(number, ids[piece]) for number, piece in enumerate(_pieces(tokenizer)) if piece in ids]
    ours, theirs = torch.tensor(shared).T
    table_VH[ours] = known_VH[theirs]
    return model


def _pieces(tokenizer) -> list[str]:
    return tokenizer.pieces(range(tokenizer.vocab_size))
