"""An encoder with another vocabulary or more layers: which weights it keeps, and pre-training from it."""

import pytest
import torch
from support.errors import raises_error

from bertlab.checkpoints import checkpoint
from bertlab.checkpoints.vocabulary import replace_vocabulary
from bertlab.config.errors import BertlabError
from bertlab.text.tokenizers.training import learn_vocabulary
from bertlab.text.tokenizers.wordpiece import Tokenizer
from bertlab.training.pretraining.config import PretrainConfig
from bertlab.training.pretraining.prepare import PrepareConfig
from bertlab.training.pretraining.prepare import run as prepare
from bertlab.training.pretraining.pretrain import pretrain
from scripts.morpheme_vocabulary import convert_marks, mark_morphemes

OTHER = ["The potter drank green tea.", "할머니가 부엌에서 차를 끓였다.", "도자기와 녹차, 그리고 그릇."]


@pytest.fixture(scope="module")
def other() -> Tokenizer:
    return Tokenizer.train(OTHER * 3, 300, cased=True, coverage=1.0)


def test_shared_tokens_keep_their_rows_and_the_encoder_stays(tiny_checkpoint, other):
    loaded = checkpoint.load(tiny_checkpoint)
    model = replace_vocabulary(loaded, other, ["mlm", "nsp"])
    assert model.head_names == ("mlm", "nsp")
    old, new = loaded.model.state_dict(), model.state_dict()
    for name, tensor in new.items():
        if name not in ("embeddings.token.weight", "heads.mlm.bias"):
            assert torch.equal(tensor, old[name]), name
    old_tokens = loaded.tokenizer.tokens(range(loaded.tokenizer.vocab_size))
    shared = [token for token in other.tokens(range(other.vocab_size)) if token in old_tokens]
    assert len(shared) > 20
    new_embeddings, old_embeddings = new["embeddings.token.weight"], old["embeddings.token.weight"]
    for number, token in enumerate(other.tokens(range(other.vocab_size))):
        same = token in old_tokens and torch.equal(new_embeddings[number], old_embeddings[old_tokens.index(token)])
        assert same == (token in old_tokens), token
    assert torch.equal(new["heads.mlm.bias"], torch.zeros(other.vocab_size))


def test_pretraining_continues_with_another_vocabulary(tmp_path, tiny_checkpoint):
    text = tmp_path / "text.txt"
    text.write_text("\n\n".join("\n".join(OTHER) for _ in range(40)), encoding="utf-8")
    prepare(PrepareConfig(text=(str(text),), out=tmp_path / "corpus", vocab_size=120, cased=True, workers=1))
    settings = {"corpus": tmp_path / "corpus", "from_": str(tiny_checkpoint), "steps": 3, "batch_size": 4}
    settings |= {"max_tokens": 32, "threads": 1, "snapshots": False}
    with raises_error(BertlabError, "from-vocabulary-differs"):
        list(pretrain(PretrainConfig(out=tmp_path / "refused", **settings)))
    with raises_error(BertlabError, "new-vocabulary-without-from"):
        list(pretrain(PretrainConfig(out=tmp_path / "none", new_vocabulary=True, **settings | {"from_": None})))
    assert len(list(pretrain(PretrainConfig(out=tmp_path / "run", new_vocabulary=True, **settings)))) == 3
    pretrained = checkpoint.load(tmp_path / "run" / "checkpoint")
    assert pretrained.tokenizer.digest == Tokenizer.load(tmp_path / "corpus" / "tokenizer").digest
    assert "a new vocabulary" in pretrained.record["from"]


def test_tokens_of_a_morpheme_vocabulary_do_not_cross_morphemes(tmp_path):
    words = [("기차", "에서"), ("기차", "는"), ("바다", "에서"), ("바다", "는")]
    lines = [mark_morphemes("".join(word), word) for word in words for _ in range(20)]
    vocabulary = tmp_path / "vocab.txt"
    vocabulary.write_text("\n".join(convert_marks(learn_vocabulary(lines, 60, cased=True, strip_accents=False))))
    tokenizer = Tokenizer.from_vocab(vocabulary, lowercase=False, strip_accents=False)
    for word in words:
        tokens = tokenizer.tokens(tokenizer.encode_ids(["".join(word)])[0])
        assert tokens == [word[0], f"##{word[1]}"]
    assert mark_morphemes("기차", ["배"]) == "기차", "an analysis that does not fit the text is ignored"
