"""Give a model another vocabulary: the encoder is kept, and only the embeddings of new tokens are drawn.

An encoder of one language is a better start for another than random weights (Artetxe, Ruder and Yogatama 2020, arXiv
1910.11856, section 3, where the encoder is frozen; here all weights are trained further).

Shape legend: V vocabulary, H hidden.
"""

from collections.abc import Iterable

import torch

from bertlab.checkpoints.checkpoint import Checkpoint
from bertlab.nn.bert import Bert
from bertlab.nn.fast.model import FastBert
from bertlab.text.tokenizers.wordpiece import Tokenizer

TABLES = ("embeddings.token.weight", "heads.mlm.bias")  # the tensors with one row per token of the vocabulary


@torch.no_grad()
def replace_vocabulary(loaded: Checkpoint, tokenizer: Tokenizer, heads: Iterable[str] = ()) -> Bert:
    """A copy of a checkpoint's model whose token embeddings, [V, H], have a row for each token of another tokenizer.

    Tokens of both vocabularies (digits, punctuation, names) keep their row; the others are drawn from a normal
    distribution with the mean and standard deviation of the old table in each of the H columns. The bias of the MLM
    head starts at 0.

    Args:
        loaded: the checkpoint; it is not changed.
        tokenizer: the new vocabulary.
        heads: the task heads of the new model; those that the checkpoint has keep their weights.
    """
    config = loaded.config.replace(vocab_size=tokenizer.vocab_size, pad_token_id=tokenizer.pad_id)
    model = FastBert(config, heads=heads)
    old, new = loaded.model.state_dict(), model.state_dict()
    for name in new.keys() & old.keys() - set(TABLES):
        new[name].copy_(old[name])
    old_VH, new_VH = old[TABLES[0]], new[TABLES[0]]
    new_VH.copy_(old_VH.mean(0) + old_VH.std(0) * torch.randn_like(new_VH))
    old_ids = {token: id for id, token in enumerate(_tokens(loaded.tokenizer))}
    shared = [(id, old_ids[token]) for id, token in enumerate(_tokens(tokenizer)) if token in old_ids]
    ours, theirs = torch.tensor(shared).T
    new_VH[ours] = old_VH[theirs]
    return model


def _tokens(tokenizer: Tokenizer) -> list[str]:
    return tokenizer.tokens(range(tokenizer.vocab_size))
