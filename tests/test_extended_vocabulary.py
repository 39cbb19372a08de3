"""A vocabulary with additional tokens of a domain: which tokens, how they start, and everything that follows."""

import json
from collections import Counter
from dataclasses import replace
from itertools import combinations, islice
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers
from support.encoders import assert_close
from support.errors import raises_error
from support.families import make_hf_model, save_hf_checkpoint

import bertlab
from bertlab.abilities.compare.compute import compare
from bertlab.checkpoints import checkpoint
from bertlab.checkpoints.vocabulary import TOKEN_DIMENSIONS, extend_vocabulary
from bertlab.config.errors import BertlabError, DataError
from bertlab.text.tokenizers.extension import (
    choose_tokens,
    count_split_words,
    extend_tokenizer,
    is_extension,
    learn_new_tokens,
    split_token,
)
from bertlab.text.tokenizers.wordpiece import Tokenizer
from bertlab.training.finetune import FinetuneConfig, finetune
from bertlab.training.pretraining.config import PretrainConfig
from bertlab.training.pretraining.prepare import PrepareConfig
from bertlab.training.pretraining.prepare import run as prepare
from bertlab.training.pretraining.pretrain import pretrain

# The tiny vocabulary has all words but "weaving" and "kiln", which it splits.
DOMAIN = [
    "The potter asked for weaving. She carried the bowl on the kiln.",
    "Weaving leaves two cups and some tea. The kiln stayed beside the window.",
    "Who carried the weaving? He set another green bowl beside the kiln.",
]
OLD_WORDS = "The potter set the green bowl on the shelf."


@pytest.fixture(scope="module")
def extended(tiny_tokenizer) -> Tokenizer:
    return extend_tokenizer(tiny_tokenizer, learn_new_tokens(tiny_tokenizer, DOMAIN, 2))


@pytest.fixture(scope="module")
def domain_corpus(tmp_path_factory, tiny_checkpoint) -> Path:
    directory = tmp_path_factory.mktemp("domain")
    text = directory / "pottery.jsonl"
    text.write_text("".join(json.dumps({"text": "\n".join(DOMAIN)}) + "\n" for _ in range(40)))
    config = PrepareConfig(
        (str(text),), directory / "prepared", tokenizer=str(tiny_checkpoint), extend_vocabulary=2, workers=1
    )
    prepare(config)
    return directory / "prepared"


@pytest.fixture
def config(tmp_path, tiny_checkpoint, domain_corpus) -> PretrainConfig:
    return PretrainConfig(
        corpus=domain_corpus, out=tmp_path / "run", from_=str(tiny_checkpoint), steps=6, batch_size=4, max_tokens=32,
        threads=1, precision="float32", save_minutes=0.0,
    )  # fmt: skip


def count_tokens(tokenizer: Tokenizer, texts: list[str]) -> int:
    return sum(map(len, tokenizer.encode_plain(texts)))


# -- the tokens --------------------------------------------------------------------------------------------------


def test_new_tokens_are_words_of_the_text_that_the_vocabulary_splits(tiny_tokenizer, extended):
    first = tiny_tokenizer.vocab_size
    assert set(extended.tokens(range(first, first + 2))) == {"weaving", "kiln"}
    assert min(len(tiny_tokenizer.encode_word(word)) for word in ("weaving", "kiln")) > 1
    assert extended.tokens(range(first)) == tiny_tokenizer.tokens(range(first))
    assert extended.encode_ids([OLD_WORDS]) == tiny_tokenizer.encode_ids([OLD_WORDS])
    assert count_tokens(extended, DOMAIN) < count_tokens(tiny_tokenizer, DOMAIN)


def test_a_word_of_one_passage_counts_once(tiny_tokenizer):
    counts = count_split_words(tiny_tokenizer, ["kiln " * 50, "kiln", "bowl"])
    assert dict(counts) == {tuple(tiny_tokenizer.tokens(tiny_tokenizer.encode_word("kiln"))): 2}
    assert learn_new_tokens(tiny_tokenizer, ["kiln " * 50], 5) == []


def join_run(pieces: tuple[str, ...], token: str) -> tuple[str, ...]:
    """Replace a run of pieces that makes up the token."""
    for start, end in combinations(range(len(pieces) + 1), 2):
        if end - start > 1 and pieces[start] + "".join(piece[2:] for piece in pieces[start + 1 : end]) == token:
            return (*pieces[:start], token, *join_run(pieces[end:], token))
    return pieces


def test_each_token_saves_most_given_those_before():
    """All candidates are tried after each choice."""
    rng = np.random.default_rng(0)
    words = {}
    for _ in range(40):
        first, *rest = rng.choice(["te", "ab", "o", "ra"], rng.integers(2, 6))
        words[(first, *(f"##{piece}" for piece in rest))] = int(rng.integers(2, 20))
    for token in choose_tokens(words, 12):
        candidates = {
            pieces[start] + "".join(piece[2:] for piece in pieces[start + 1 : end])
            for pieces in words
            for start, end in combinations(range(len(pieces) + 1), 2)
            if end - start > 1
        }
        lengths = {
            candidate: sum(count * len(join_run(pieces, candidate)) for pieces, count in words.items())
            for candidate in candidates
        }
        assert lengths[token] == min(lengths.values())
        joined = Counter()
        for pieces, count in words.items():
            joined[join_run(pieces, token)] += count
        words = dict(joined)


def test_an_extension_is_recognised(tiny_tokenizer, extended, tmp_path):
    assert is_extension(extended, tiny_tokenizer)
    assert not is_extension(tiny_tokenizer, extended)
    assert not is_extension(tiny_tokenizer, tiny_tokenizer)
    other = Tokenizer.train(DOMAIN * 3, 500, coverage=1.0)
    assert not is_extension(other, tiny_tokenizer)
    vocabulary = tmp_path / "vocab.txt"
    vocabulary.write_text("".join(f"{token}\n" for token in extended.vocab), encoding="utf-8")
    cased = Tokenizer.from_vocab(vocabulary, lowercase=False)
    assert not is_extension(cased, tiny_tokenizer), "the normalisation differs"


def test_saved_files_give_the_same_ids_in_transformers(extended, tmp_path):
    extended.save(tmp_path)
    assert Tokenizer.load(tmp_path).digest == extended.digest
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path)
    for text in DOMAIN:
        assert tuple(theirs(text)["input_ids"]) == extended.encode(text).ids


# -- the weights -------------------------------------------------------------------------------------------------


def test_new_tokens_start_as_the_mean_of_their_pieces_and_nothing_else_changes(tiny_checkpoint, extended):
    loaded = checkpoint.load(tiny_checkpoint)
    model = extend_vocabulary(loaded, extended)
    old, new = loaded.model.state_dict(), model.state_dict()
    num_old = loaded.tokenizer.vocab_size
    assert old.keys() == new.keys()
    for name, tensor in old.items():
        assert torch.equal(new[name][:num_old] if name in TOKEN_DIMENSIONS else new[name], tensor), name
    for id in range(num_old, extended.vocab_size):
        ids = loaded.tokenizer.encode_word(extended.tokens([id])[0])
        assert len(ids) > 1
        for name in ("embeddings.token.weight", "heads.mlm.bias"):
            assert torch.allclose(new[name][id], old[name][ids].mean(0)), name


def test_a_token_inside_a_word_is_split_as_such(tiny_tokenizer):
    ids = split_token("##weaving", tiny_tokenizer)
    assert tiny_tokenizer.tokens(ids)[0].startswith("##")
    assert "".join(token[2:] for token in tiny_tokenizer.tokens(ids)) == "weaving"
    assert split_token("ж", tiny_tokenizer) == [tiny_tokenizer.unk_id]


def test_a_text_without_new_words_has_the_same_hidden_states_and_logits(tiny_checkpoint, extended, tmp_path):
    loaded = checkpoint.load(tiny_checkpoint)
    checkpoint.save(tmp_path / "more", extend_vocabulary(loaded, extended), extended, {}, dtype=torch.float32)
    before, after = bertlab.load(tiny_checkpoint), bertlab.load(tmp_path / "more")
    compared = compare(before, after, OLD_WORDS)
    np.testing.assert_allclose(compared.first_LNUU, compared.second_MNUU, atol=1e-6)
    np.testing.assert_allclose(compared.cosine_distance_LU, 0, atol=1e-6)
    masked = "The potter set the [MASK] bowl on the shelf."
    logits = []
    for session in (before, after):
        encoding = session.tokenizer.encode(masked)
        batch = torch.tensor([encoding.ids])
        hf = transformers.BertForMaskedLM.from_pretrained(session.path)
        with torch.no_grad():
            logits.append(hf(batch).logits)
    assert_close(logits[1][..., : loaded.tokenizer.vocab_size], logits[0])


@pytest.mark.parametrize("prefix", ["DistilBert", "Electra", "MobileBert"])
def test_other_families_with_wordpiece_are_extended_too(prefix, tmp_path, tiny_tokenizer, extended):
    save_hf_checkpoint(tmp_path / "old", prefix, "MaskedLM", tiny_tokenizer)
    loaded = checkpoint.load(tmp_path / "old")
    model = extend_vocabulary(loaded, extended)
    checkpoint.save(tmp_path / "new", model, extended, {}, dtype=torch.float32)
    ids = torch.tensor([tiny_tokenizer.encode(OLD_WORDS).ids])
    kind = getattr(transformers, f"{prefix}ForMaskedLM")
    with torch.no_grad():
        old, new = (kind.from_pretrained(tmp_path / name)(ids).logits for name in ("old", "new"))
    assert new.shape[-1] == extended.vocab_size
    assert_close(new[..., : tiny_tokenizer.vocab_size], old)


def test_rows_of_a_padded_table_are_replaced(tmp_path, tiny_tokenizer, extended):
    """Tables of published checkpoints are padded to a round number of rows, which belong to no token."""
    make_hf_model("Bert", "MaskedLM", extended.vocab_size).save_pretrained(tmp_path / "old")
    tiny_tokenizer.save(tmp_path / "old")
    loaded = checkpoint.load(tmp_path / "old")
    assert loaded.config.vocab_size == extended.vocab_size > loaded.tokenizer.vocab_size
    table = extend_vocabulary(loaded, extended).embeddings.token.weight
    pieces = split_token(extended.tokens([extended.vocab_size - 1])[0], tiny_tokenizer)
    assert torch.allclose(table[-1], loaded.model.embeddings.token.weight[pieces].mean(0))


# -- the commands ------------------------------------------------------------------------------------------------


def test_prepare_extends_the_vocabulary_of_a_checkpoint(domain_corpus, tiny_checkpoint, tiny_tokenizer, capsys):
    tokenizer = Tokenizer.load(domain_corpus / "tokenizer")
    assert tokenizer.vocab_size == tiny_tokenizer.vocab_size + 2
    assert is_extension(tokenizer, tiny_tokenizer)
    text = str(domain_corpus.with_name("pottery.jsonl"))
    again = PrepareConfig((text,), domain_corpus, tokenizer=str(tiny_checkpoint), extend_vocabulary=2, workers=1)
    prepare(again)
    assert "prepared earlier" in capsys.readouterr().out
    for changes in ({"extend_vocabulary": 3}, {"extend_vocabulary": None}):
        with raises_error(DataError, "corpus-differs"):
            prepare(replace(again, **changes))


def test_a_text_with_few_split_words_gives_fewer_tokens(tmp_path, tiny_checkpoint, tiny_tokenizer, capsys):
    text = tmp_path / "text.txt"
    text.write_text("\n\n".join(DOMAIN))
    prepare(PrepareConfig((str(text),), tmp_path / "out", tokenizer=str(tiny_checkpoint), extend_vocabulary=500))
    assert Tokenizer.load(tmp_path / "out" / "tokenizer").vocab_size == tiny_tokenizer.vocab_size + 2
    assert "new tokens, such as" in capsys.readouterr().out


def test_flags_that_do_not_fit_are_reported(tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("\n\n".join(DOMAIN))
    config = PrepareConfig((str(text),), tmp_path / "out", extend_vocabulary=5)
    with raises_error(DataError, "extend-vocabulary-without-tokenizer"):
        prepare(config)
    for family in ("Roberta", "XLMRoberta"):
        save_hf_checkpoint(tmp_path / family, family, "MaskedLM", None)
        with raises_error(DataError, "extend-vocabulary-unsupported"):
            prepare(replace(config, tokenizer=str(tmp_path / family)))


def test_pretraining_continues_with_the_new_tokens_and_resumes(config, tiny_checkpoint):
    whole = [report.loss for report in pretrain(replace(config, out=config.out.with_name("whole")))]
    assert len(whole) == 6
    first = [report.loss for report in islice(pretrain(config), 3)]
    rest = [report.loss for report in pretrain(config)]
    assert (first + rest)[:3] == whole[:3]
    assert rest[-1] == whole[-1]
    trained = checkpoint.load(config.out / "checkpoint")
    assert trained.record["from"] == "tiny (with 2 new tokens)"
    assert trained.tokenizer.digest == Tokenizer.load(config.corpus / "tokenizer").digest
    start = extend_vocabulary(checkpoint.load(tiny_checkpoint), trained.tokenizer).embeddings.token.weight
    assert not torch.allclose(trained.model.embeddings.token.weight[-2:], start[-2:], atol=1e-4), "not trained"
    hf = transformers.BertForMaskedLM.from_pretrained(config.out / "checkpoint")
    assert hf.config.vocab_size == trained.tokenizer.vocab_size


def test_the_result_is_fine_tuned_and_compared_by_word(config, tiny_checkpoint, tmp_path):
    list(pretrain(replace(config, steps=1)))
    rows = tmp_path / "rows.csv"
    rows.write_text("text,label\n" + "".join(f"{text},{number % 2}\n" for number, text in enumerate(DOMAIN * 4)))
    settings = FinetuneConfig(
        task="custom", kind="classification", data=str(rows), text_column="text", label_column="label",
        from_=str(config.out), out=tmp_path / "tuned", epochs=1, threads=1,
    )  # fmt: skip
    assert list(finetune(settings))
    compared = compare(bertlab.load(tiny_checkpoint), bertlab.load(config.out), "She asked for the kiln.")
    assert compared.unit_kind == "words"
    (kiln,) = (unit for unit in compared.units if unit.first == "kiln")
    assert len(kiln.first_positions) > len(kiln.second_positions) == 1


def test_a_different_vocabulary_is_still_an_error(config, tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("\n\n".join(DOMAIN))
    prepare(PrepareConfig((str(text),), tmp_path / "other", vocab_size=60, workers=1))
    with raises_error(BertlabError, "from-vocabulary-differs"):
        list(pretrain(replace(config, corpus=tmp_path / "other")))
