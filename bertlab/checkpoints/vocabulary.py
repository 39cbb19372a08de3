"""Replace the vocabulary of a model; its encoder is kept, and only the embeddings of new tokens are random.

To train in another language, an existing encoder is a better start than random weights (Artetxe, Ruder and Yogatama
2020, arXiv 1910.11856, section 3). In the paper, the encoder is frozen; here all weights are trained further.

Shape legend: V vocabulary, H hidden.
"""

from collections.abc import Iterable

import torch

from bertlab.checkpoints.checkpoint import Checkpoint
from bertlab.nn.bert import Bert
from bertlab.nn.fast.model import FastBert
from bertlab.text.tokenizers.wordpiece import Tokenizer

TOKEN_EMBEDDINGS, MLM_BIAS = "embeddings.token.weight", "heads.mlm.bias"  # the tensors with a row for each token


@torch.no_grad()
def replace_vocabulary(checkpoint: Checkpoint, tokenizer: Tokenizer, heads: Iterable[str] = ()) -> Bert:
    """Return a copy of a checkpoint's model whose token embeddings, [V, H], are those of another tokenizer.

    Tokens that are in both vocabularies, such as digits and punctuation, keep their embeddings. The embeddings of new
    tokens are drawn from a normal distribution with the mean and standard deviation of the old embeddings in each of
    the H columns. The bias of the MLM head is 0.

    Args:
        checkpoint: the checkpoint; it is not changed.
        tokenizer: the tokenizer with the new vocabulary.
        heads: the task heads of the new model. Heads that the checkpoint has keep their weights.
    """
    config = checkpoint.config.replace(vocab_size=tokenizer.vocab_size, pad_token_id=tokenizer.pad_id)
    model = FastBert(config, heads=heads)
    old, new = checkpoint.model.state_dict(), model.state_dict()
    for name in new.keys() & old.keys() - {TOKEN_EMBEDDINGS, MLM_BIAS}:
        new[name].copy_(old[name])
    old_VH, new_VH = old[TOKEN_EMBEDDINGS], new[TOKEN_EMBEDDINGS]
    new_VH.copy_(old_VH.mean(0) + old_VH.std(0) * torch.randn_like(new_VH))
    old_ids = {token: id for id, token in enumerate(_list_tokens(checkpoint.tokenizer))}
    shared = [(id, old_ids[token]) for id, token in enumerate(_list_tokens(tokenizer)) if token in old_ids]
    new_rows, old_rows = torch.tensor(shared).T
    new_VH[new_rows] = old_VH[old_rows]
    return model


def _list_tokens(tokenizer: Tokenizer) -> list[str]:
    return tokenizer.tokens(range(tokenizer.vocab_size))
