"""Give a checkpoint another vocabulary, and make the embedding of each new token from those of old tokens.

Run `python scripts/map_vocabulary.py CHECKPOINT VOCAB.txt OUT`. A token that both vocabularies contain keeps
its embedding and its bias in the MLM output layer. A new token gets the mean of the embeddings of the old tokens that
its text is made of. Tokens whose text the old vocabulary cannot write stay random, as with `bertlab pretrain
--new-vocabulary`.
"""

import sys

import torch

from bertlab.checkpoints import checkpoint
from bertlab.checkpoints.vocabulary import MLM_BIAS, TOKEN_EMBEDDINGS, replace_vocabulary
from bertlab.nn.bert import Bert
from bertlab.text.tokenizers.extension import split_token
from bertlab.text.tokenizers.wordpiece import Tokenizer


@torch.no_grad()
def map_vocabulary(source: checkpoint.Checkpoint, tokenizer: Tokenizer) -> tuple[Bert, int, int]:
    """Return the model with the new vocabulary, and the numbers of kept and of averaged tokens."""
    old = source.tokenizer
    old_ids = {token: id for id, token in enumerate(old.tokens(range(old.vocab_size)))}
    model = replace_vocabulary(source, tokenizer, source.heads)
    old_state, new_state = source.model.state_dict(), model.state_dict()
    kept = averaged = 0
    for row, token in enumerate(tokenizer.tokens(range(tokenizer.vocab_size))):
        ids = split_token(token, old)
        if old.unk_id not in ids or token == old.special.unk:
            new_state[TOKEN_EMBEDDINGS][row] = old_state[TOKEN_EMBEDDINGS][ids].mean(0)
            new_state[MLM_BIAS][row] = old_state[MLM_BIAS][ids].mean()
            kept, averaged = kept + (token in old_ids), averaged + (token not in old_ids)
    return model.eval(), kept, averaged


def main() -> None:
    """Write the checkpoint."""
    source, vocabulary, out = sys.argv[1:]
    loaded = checkpoint.load(source)
    tokenizer = Tokenizer.from_vocab(vocabulary, lowercase=False)
    model, kept, averaged = map_vocabulary(loaded, tokenizer)
    record = loaded.record | {"from": f"{source}, with the vocabulary {vocabulary}", "validation": None}
    checkpoint.save(out, model, tokenizer, record, dtype=torch.float32)
    print(f"{kept:,} tokens kept, {averaged:,} averaged, {tokenizer.vocab_size - kept - averaged:,} random")


if __name__ == "__main__":
    main()
