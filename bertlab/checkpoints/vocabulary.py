"""Replace or extend the vocabulary of a model.

Shape legend: V vocabulary, H hidden.
"""

from collections.abc import Iterable

import torch

from bertlab.checkpoints.checkpoint import Checkpoint
from bertlab.nn.bert import Bert
from bertlab.nn.fast.model import FastBert
from bertlab.text.tokenizers.extension import split_token
from bertlab.text.tokenizers.wordpiece import Tokenizer

TOKEN_EMBEDDINGS, MLM_BIAS = "embeddings.token.weight", "heads.mlm.bias"
TOKEN_DIMENSIONS = {TOKEN_EMBEDDINGS: 0, MLM_BIAS: 0, "heads.mlm.extra.weight": 1}
"""Tensors with an entry for each token -> the dimension of the tokens; only MobileBERT has the last one."""


@torch.no_grad()
def replace_vocabulary(checkpoint: Checkpoint, tokenizer: Tokenizer, heads: Iterable[str] = ()) -> Bert:
    """Return a copy of a checkpoint's model with token embeddings, [V, H], for another tokenizer.

    It keeps the layers, which is better for another language than random ones (Artetxe, Ruder and Yogatama 2020, arXiv
    1910.11856, section 3). Tokens in both vocabularies keep their embeddings; new ones are drawn from a normal
    distribution with the mean and standard deviation of the old ones in each column. The MLM bias is 0.
    """
    config = checkpoint.config.replace(vocab_size=tokenizer.vocab_size, pad_token_id=tokenizer.pad_id)
    model = FastBert(config, heads=heads)
    old, new = checkpoint.model.state_dict(), model.state_dict()
    for name in new.keys() & old.keys() - {TOKEN_EMBEDDINGS, MLM_BIAS}:
        new[name].copy_(old[name])
    old_VH, new_VH = old[TOKEN_EMBEDDINGS], new[TOKEN_EMBEDDINGS]
    new_VH.copy_(old_VH.mean(0) + old_VH.std(0) * torch.randn_like(new_VH))
    tokens, old_tokens = (each.tokens(range(each.vocab_size)) for each in (tokenizer, checkpoint.tokenizer))
    old_ids = {token: id for id, token in enumerate(old_tokens)}
    shared_ids = [(id, old_ids[token]) for id, token in enumerate(tokens) if token in old_ids]  # (new id, old id)
    new_rows, old_rows = torch.tensor(shared_ids).T
    new_VH[new_rows] = old_VH[old_rows]
    return model


@torch.no_grad()
def extend_vocabulary(checkpoint: Checkpoint, tokenizer: Tokenizer) -> Bert:
    """Return a copy of a checkpoint's model with weights for the additional tokens of an extended vocabulary.

    In every tensor with an entry for each token, that of a new token is the mean of those of the old tokens into which
    it was split before (Koto, Lau and Baldwin 2021, arXiv 2109.04607). So the outputs for a text without new tokens do
    not change, apart from the additional logits.
    """
    old_tokenizer = checkpoint.tokenizer
    num_old_tokens = old_tokenizer.vocab_size  # the tables may have more rows, which belong to no token
    new_tokens = tokenizer.tokens(range(num_old_tokens, tokenizer.vocab_size))
    piece_ids = [split_token(token, old_tokenizer) for token in new_tokens]
    state = dict(checkpoint.model.state_dict())
    for name, dim in TOKEN_DIMENSIONS.items():
        if name in state:
            old_V = state[name].movedim(dim, 0)  # with or without a second dimension
            added_V = torch.stack([old_V[ids].mean(0) for ids in piece_ids])
            state[name] = torch.cat([old_V[:num_old_tokens], added_V]).movedim(0, dim).contiguous()
    model = FastBert(checkpoint.config.replace(vocab_size=tokenizer.vocab_size), heads=checkpoint.heads)
    model.load_state_dict(state)
    return model.train(checkpoint.model.training)
