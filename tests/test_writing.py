"""Writing aids: surprise compared with a loop over single inputs, proposals, type-ahead, and the command."""

import json
import math

import pytest
import torch
from support.errors import raises_error

import bertlab
from bertlab.abilities.writing import masked_inputs, surprise
from bertlab.abilities.writing.surprise import compute_surprise, compute_surprises, split_text
from bertlab.cli import main
from bertlab.config.errors import BertlabError, MissingHead, TextError
from bertlab.text.word_spans import find_words

TEXT = "The keeper carried a lantern. 비가 많이 왔다! Don't pour the tea."


@pytest.fixture
def session(tiny_checkpoint):
    return bertlab.load(tiny_checkpoint)


def probability(session, ids, position, target) -> float:
    """The probability of a token at a position, from one input of its own."""
    batch = torch.tensor([ids])
    with torch.inference_mode():
        from bertlab.text.batch import Batch

        hidden = session.model(Batch(batch, torch.zeros_like(batch), torch.ones_like(batch, dtype=torch.bool)))
        logits = session.model.mlm(hidden.hidden_BTH)[0, position, : session.tokenizer.vocab_size]
    return float(logits.softmax(-1)[target])


@pytest.mark.parametrize("masking", ["word", "token"])
def test_surprise_equals_a_loop_over_single_inputs(session, masking):
    found = session.surprise(TEXT, masking)
    encoding, mask = session.tokenizer.encode(TEXT), session.tokenizer.mask_id
    assert [word.text for word in found.words] == [TEXT[start:end] for start, end in find_words(TEXT)]
    total = 0.0
    for word in found.words:
        inside = [n for n, (start, end) in enumerate(encoding.offsets)
                  if not encoding.special[n] and word.start <= start and end <= word.end]  # fmt: skip
        assert [encoding.tokens[n] for n in inside] == [token.token for token in word.tokens]
        for number, position in enumerate(inside):
            ids = list(encoding.ids)
            for masked in inside[number:] if masking == "word" else [position]:
                ids[masked] = mask
            expected = probability(session, ids, position, encoding.ids[position])
            assert word.tokens[number].probability == pytest.approx(expected, rel=1e-3)
            assert word.tokens[number].surprise == pytest.approx(-math.log(expected), abs=1e-3)
            total -= math.log(expected)
    assert found.total == pytest.approx(total, abs=1e-2)
    assert found.num_tokens == len(encoding.ids) - 2
    assert found.pseudo_perplexity == pytest.approx(math.exp(total / found.num_tokens), rel=1e-3)
    assert any(len(word.tokens) > 1 for word in found.words)


def test_several_texts_and_small_batches_change_nothing(session, monkeypatch):
    texts = [TEXT, "Rain!", "lantern [MASK] lantern"]
    alone = [compute_surprise(session.model, session.tokenizer, text).total for text in texts]
    monkeypatch.setattr(masked_inputs, "BATCH_TOKENS", 40)
    together = [found.total for found in compute_surprises(session.model, session.tokenizer, texts)]
    assert together == pytest.approx(alone, abs=1e-3)
    masked = session.surprise(texts[2])
    assert [word.text for word in masked.words] == ["lantern", "lantern"]
    gap = session.surprise("lantern ___ lantern")
    assert [(word.start, word.end) for word in gap.words] == [(0, 7), (12, 19)]
    assert gap.total == pytest.approx(masked.total)


def test_long_texts_are_read_in_parts_that_cover_them(session, monkeypatch):
    monkeypatch.setattr(surprise, "PART_TOKENS", 20)
    text = f"  {TEXT} " * 6 + "rain and tea " * 40 + "x" * 300
    parts = split_text(session.model, session.tokenizer, text)
    assert "".join(part.text for part in parts) == text
    assert [part.start for part in parts] == [sum(len(p.text) for p in parts[:n]) for n in range(len(parts))]
    assert all(len(part.encoding.ids) <= 22 for part in parts if "x" not in part.text)
    found = session.surprise(text)
    assert all(text[word.start : word.end] == word.text for word in found.words)


def test_proposals_are_the_most_probable_whole_words(session):
    found = session.surprise(TEXT)
    index = next(n for n, word in enumerate(found.words) if word.text == "keeper")
    (proposals,) = session.propose_words(TEXT, [index], 3)
    masked = session.fill_mask(TEXT.replace("keeper", "[MASK]"), 100)[0]
    whole = [c for c in masked.candidates if c.token[0] not in "#[" and any(map(str.isalnum, c.token))]
    expected = [(c.token, c.probability) for c in whole if c.token.lower() != "keeper"][:3]
    assert [word.text for word in proposals.proposals] == [token for token, _ in expected]
    assert [word.probability for word in proposals.proposals] == pytest.approx([p for _, p in expected], rel=1e-3)
    with raises_error(BertlabError, "writing-word-missing"):
        session.propose_words(TEXT, [99])


def test_misfits_are_words_above_the_threshold(session):
    found = session.surprise(TEXT)
    words = [word for word in found.words if not word.is_punctuation]
    limit = sorted(word.surprise for word in words)[-3]
    assert len(found.find_misfits(limit)) == 2
    assert len(found.find_misfits(0.0)) == len(words)
    assert found.find_misfits(1e9) == []


def test_type_ahead_predicts_a_mask_after_the_text(session):
    text = "The keeper carried a"
    found = session.type_ahead(text, 4)
    for words, shown in ((found.words, f"{text} [MASK]"), (found.last_words, f"{text} [MASK].")):
        candidates = [c for c in session.fill_mask(shown, 100)[0].candidates if c.token[0] not in "#["]
        expected = [c for c in candidates if any(map(str.isalnum, c.token))][:4]
        assert [(word.text, round(word.probability, 5)) for word in words] == [
            (candidate.token, round(candidate.probability, 5)) for candidate in expected
        ]
    assert found.gaps == ()
    assert found.endings
    assert session.type_ahead("The keeper. ").endings == ()


def test_gaps_are_filled_while_the_others_stay_masked(session):
    found = session.type_ahead("The ___ carried a [MASK].", 1)
    fills = session.fill_mask("The [MASK] carried a [MASK].", 100)
    assert [(gap.start, gap.end) for gap in found.gaps] == [(4, 7), (18, 24)]
    for gap, fill in zip(found.gaps, fills, strict=True):
        best = next(c for c in fill.candidates if c.token[0] not in "#[" and any(map(str.isalnum, c.token)))
        assert gap.words[0].text == best.token


def test_bad_input_is_one_line(session, checkpoints):
    for text in ("", " \n"):
        with raises_error(TextError, "text-empty"):
            session.surprise(text)
        with raises_error(TextError, "text-empty"):
            session.type_ahead(text)
    with raises_error(BertlabError, "writing-masking-unknown"):
        session.surprise("tea", "letter")
    for method in ("surprise", "type_ahead"):
        with pytest.raises(MissingHead):
            getattr(bertlab.load(checkpoints / "bare"), method)("tea")


def test_the_command(tiny_checkpoint, capsys):
    words = ["writing", "The keeper carried a ___", "--checkpoint", str(tiny_checkpoint)]
    assert main([*words, "--threshold", "0", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [word["text"] for word in found["surprise"]["words"]][:4] == ["The", "keeper", "carried", "a"]
    assert found["total"] == pytest.approx(sum(word["surprise"] for word in found["surprise"]["words"]), abs=1e-4)
    assert len(found["type_ahead"]["gaps"]) == 1
    assert found["misfits"][0]["text"] == "The"
    assert main([*words, "--threshold", "0", "--no-mask-rest-of-word"]) == 0
    printed = capsys.readouterr().out
    assert "pseudo-perplexity" in printed
    assert "gap 1" in printed
    text = ["writing", "The keeepr carried a lan tern.", *words[2:], "--spelling", "--margin"]
    assert main([*text, "0", "--json"]) == 0
    (joined,) = (row for row in json.loads(capsys.readouterr().out)["corrections"] if row["kind"] == "join")
    assert joined["replacement"] == "lantern"
    assert main([*text, "0"]) == 0
    assert "lan tern  ->  lantern" in capsys.readouterr().out
    assert main([*text, "1000"]) == 0
    assert "no changes are suggested" in capsys.readouterr().out
    assert main([*words[:3], str(tiny_checkpoint), "--top-k", "0"]) == 2
