"""Sessions: results equal to those of `transformers` on the same checkpoint, errors, threads and hostile texts."""

import random
import unicodedata
from concurrent.futures import ThreadPoolExecutor
from dataclasses import FrozenInstanceError, replace
from itertools import pairwise

import numpy as np
import pytest
import torch
import transformers
from support.errors import raises_error
from support.hard_strings import HARD_STRINGS

import bertlab
from bertlab.abilities.results import as_json
from bertlab.checkpoints import checkpoint
from bertlab.config.errors import BertlabError, CheckpointError, InterventionError, MissingHead, TextError
from bertlab.config.languages import Message
from bertlab.nn.fast.model import FastBert
from bertlab.nn.interventions import Interventions
from bertlab.session import Session
from bertlab.tasks.masked_lm import find_mask_positions, read_mask_logits
from bertlab.text.batch import collate
from bertlab.text.word_spans import find_words, mask_spans

A, B = "The potter set the [MASK] bowl on the shelf.", "Rain fell on the harbour all night."
QUESTION = "Who carried the lantern?"
PASSAGE = (
    "The potter set the green bowl on the shelf beside the window. The keeper of the old mill carried the lantern. "
    "A train leaves for the coast at six; another follows at nine. Rain fell on the harbour all night."
)
CLOSE = {"rtol": 1e-4, "atol": 1e-5}


@pytest.fixture(scope="module")
def session(tiny_checkpoint) -> Session:
    return bertlab.load(tiny_checkpoint)


def hf(kind, directory, session, text, pair=None, **options):
    """The outputs of a model class of `transformers` for the same ids."""
    with torch.inference_mode():
        model = kind.from_pretrained(directory, attn_implementation="eager").eval()
        batch = collate([session.tokenizer.encode(text, pair)])
        return model(input_ids=batch.input_ids_BT, token_type_ids=batch.token_type_ids_BT, **options)


# -- inputs


def test_encode_gives_the_position_and_the_characters_of_every_token(session):
    rows = session.encode("Rain fell.", "할머니가 [MASK] [SEP]")
    assert [row.position for row in rows] == list(range(len(rows)))
    assert [row.token for row in rows if row.special] == ["[CLS]", "[SEP]", "[SEP]"]
    first = [row for row in rows if row.segment == 0 and not row.special]
    assert ["Rain fell."[row.start : row.end].lower() for row in first] == [row.token for row in first]
    typed = [row for row in rows if row.token in ("[MASK]", "[SEP]") and row.segment == 1]
    assert [row.special for row in typed] == [False, False, True], (
        "special tokens that a user typed do not count as special"
    )
    assert (typed[0].start, typed[0].end) == (5, 11)


def test_embeddings_add_up(session):
    embeddings = session.embeddings(A, B)
    added_TH = embeddings.token_TH + embeddings.position_TH + embeddings.token_type_TH
    norm = session.model.embeddings.norm
    expected_TH = torch.nn.functional.layer_norm(
        torch.from_numpy(added_TH), norm.normalized_shape, norm.weight.detach(), norm.bias.detach(), norm.eps
    )
    np.testing.assert_allclose(embeddings.sum_TH, expected_TH, **CLOSE)
    ids = [row.id for row in embeddings.tokens]
    np.testing.assert_array_equal(embeddings.token_TH, session.model.embeddings.token.weight.detach()[ids])


# -- predictions


@pytest.mark.parametrize("pair", [None, "그리고 [MASK] 끓였다."])
def test_masks_are_filled_as_by_transformers(session, tiny_checkpoint, pair):
    text = "The [MASK] set the green [MASK] on it."
    fills = session.fill_mask(text, 4, pair)
    logits_TV = hf(transformers.BertForPreTraining, tiny_checkpoint, session, text, pair).prediction_logits[0]
    assert len(fills) == (2 if pair is None else 3)
    for fill in fills:
        assert (pair if fill is fills[-1] and pair else text)[fill.start : fill.end] == "[MASK]"
        best = logits_TV[fill.position].softmax(-1).topk(4)
        assert [candidate.id for candidate in fill.candidates] == best.indices.tolist()
        np.testing.assert_allclose([c.probability for c in fill.candidates], best.values, **CLOSE)
        assert [c.token for c in fill.candidates] == session.tokenizer.tokens(best.indices.tolist())


def test_rows_of_a_padded_vocabulary_are_never_proposed(tiny_model, tiny_tokenizer):
    config = tiny_model.config.replace(vocab_size=tiny_tokenizer.vocab_size + 60)
    model = FastBert(config, ["mlm"]).eval()
    model.heads["mlm"].bias.data[tiny_tokenizer.vocab_size :] = 100.0
    encoding = tiny_tokenizer.encode("a [MASK]")
    positions = find_mask_positions(tiny_tokenizer, encoding)
    with torch.inference_mode():
        logits_MV = model.logits("mlm", collate([encoding]), torch.tensor(positions))
    (fill,) = read_mask_logits(tiny_tokenizer, encoding, positions, logits_MV, 10_000)
    assert len(fill.candidates) == tiny_tokenizer.vocab_size
    assert sum(c.probability for c in fill.candidates) == pytest.approx(1, abs=1e-4)


def test_next_sentence_is_that_of_transformers(session, tiny_checkpoint):
    prediction = session.next_sentence(A, B)
    logits_2 = hf(transformers.BertForPreTraining, tiny_checkpoint, session, A, B).seq_relationship_logits[0]
    assert prediction.probability == pytest.approx(float(logits_2.softmax(-1)[0]), abs=1e-5)
    assert prediction.label == ("IsNext" if prediction.probability >= 0.5 else "NotNext")


def test_answers_are_parts_of_the_passage_and_their_probabilities_follow_the_scores(session):
    found = session.answer(QUESTION, PASSAGE, 20, max_tokens=64)
    best = found.answers[0]
    assert all(answer.text == PASSAGE[answer.start : answer.end] for answer in found.answers)
    assert [answer.score for answer in found.answers] == sorted((a.score for a in found.answers), reverse=True)
    total = found.no_answer_probability + sum(answer.probability for answer in found.answers)
    assert total == pytest.approx(1)
    ratio = np.exp(best.score - found.no_answer_score)
    assert best.probability / found.no_answer_probability == pytest.approx(ratio, rel=1e-4)
    assert found.words == tuple(find_words(PASSAGE))


def test_probabilities_of_words_add_up_those_of_their_tokens(session, tiny_checkpoint, tiny_model):
    passage = "Rain fell on the harbourside, 할머니가."
    found = session.answer(QUESTION, passage)
    encoding = session.tokenizer.encode(QUESTION, passage)
    with torch.inference_mode():
        logits_T2 = session.model.span(session.model(collate([encoding])).hidden_BTH)[0]
    for column, probs_W in enumerate((found.start_probs, found.end_probs)):
        probs_T = logits_T2[:, column].softmax(-1)
        for (start, end), prob in zip(found.words, probs_W, strict=True):
            inside = [
                t
                for t, (b, e) in enumerate(encoding.offsets)
                if encoding.token_type_ids[t] and b < e and start <= b and e <= end
            ]
            assert inside
            assert prob == pytest.approx(float(probs_T[inside].sum()), rel=1e-4)
    assert found.windows == ((0, len(passage)),)


def test_a_passage_of_50000_characters_is_read_in_bounded_batches(session):
    passage = (PASSAGE + " ") * (50_000 // len(PASSAGE) + 1)
    shapes = []
    handle = session.model.register_forward_pre_hook(lambda _, inputs: shapes.append(inputs[0].input_ids_BT.shape))
    try:
        found = session.answer(QUESTION, passage, stride=32, max_tokens=64, n_best=3)
    finally:
        handle.remove()
    assert max(rows for rows, _ in shapes) == 8
    assert max(tokens for _, tokens in shapes) <= 64
    assert len(found.windows) == sum(rows for rows, _ in shapes) > 100
    ends = [end for _, end in found.windows]
    assert found.windows[0][0] == 0
    assert ends == sorted(ends)
    assert ends[-1] == len(passage.rstrip())
    assert all(start <= end for (_, end), (start, _) in pairwise(found.windows))
    shown = found.windows[found.best_window]
    assert all(
        prob == 0 for (start, end), prob in zip(found.words, found.start_probs, strict=True) if start >= shown[1]
    )
    assert all(answer.text == passage[answer.start : answer.end] for answer in found.answers)


def test_the_default_stride_is_that_of_the_fine_tuning(session):
    passage = " ".join([PASSAGE] * 9)
    trained_with_stride = Session(replace(session.loaded, record={"settings": {"stride": 16}}))
    assert trained_with_stride.answer(QUESTION, passage) == session.answer(QUESTION, passage, stride=16)
    assert trained_with_stride.answer(QUESTION, passage).windows != session.answer(QUESTION, passage).windows
    assert trained_with_stride.answer(QUESTION, passage, stride=128) == session.answer(QUESTION, passage)
    assert trained_with_stride.xray(QUESTION, passage, 5).answers == trained_with_stride.answer(QUESTION, passage)


def test_a_question_that_fills_the_window_is_refused(session):
    with raises_error(TextError, "passage-window-too-short"):
        session.answer("tea " * 200, PASSAGE)


def test_embeddings_are_mean_hidden_states_of_length_one(session):
    texts = ["Rain fell.", A, "The keeper of the old mill carried the lantern because the night was dark.", "tea"]
    vectors = session.embed(texts, batch_size=3)
    assert vectors.shape == (4, session.config.hidden_size)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, **CLOSE)
    for text, vector in zip(texts, vectors, strict=True):
        with torch.inference_mode():
            mean_H = session.model(collate([session.tokenizer.encode(text)])).hidden_BTH[0].mean(0)
        np.testing.assert_allclose(vector, mean_H / mean_H.norm(), **CLOSE)
    assert session.embed([]).shape == (0, session.config.hidden_size)


def test_the_published_encoder_embeds_similar_sentences_closely(minilm):
    session = bertlab.load(minilm)
    eats, dines, shares = session.embed(["A man is eating.", "Somebody has his dinner.", "Share prices fell."])
    assert eats @ dines > eats @ shares + 0.3
    with raises_error(MissingHead, "head-missing", head=Message("head-mlm")):
        session.fill_mask("A [MASK] of tea.")
    assert session.attention("A cup of tea.").probs_LNTT.shape == (6, 12, 7, 7)


# -- attention


def test_attention_is_that_of_transformers(session, tiny_checkpoint):
    found = session.attention(A, B)
    theirs = hf(transformers.BertModel, tiny_checkpoint, session, A, B, output_attentions=True).attentions
    np.testing.assert_allclose(found.probs_LNTT, torch.cat(theirs), **CLOSE)
    assert found.probs_LNTT.dtype == np.float32
    assert [row.token for row in found.tokens] == list(session.tokenizer.encode(A, B).tokens)


def test_ablating_a_head_changes_only_later_layers(session):
    before = session.attention(A).probs_LNTT
    after = session.attention(A, interventions=Interventions.ablate_heads(session.config, [(0, 1)])).probs_LNTT
    np.testing.assert_array_equal(after[0], before[0])
    assert np.abs(after[1] - before[1]).max() > 1e-3
    np.testing.assert_array_equal(session.attention(A).probs_LNTT, before, "the session itself is unchanged")
    with pytest.raises(InterventionError):
        session.attention(A, interventions=Interventions(attention_rows={(9, 0, 0): torch.ones(3)}))


@pytest.mark.parametrize(("layer", "head"), [(0, 1), (1, 0)])
def test_neuron_gives_query_key_scores_and_attention_of_one_head(session, layer, head):
    found = session.neuron(A, B, layer=layer, head=head)
    np.testing.assert_allclose(found.scores_TT, found.query_TD @ found.key_TD.T / 8**0.5, **CLOSE)
    np.testing.assert_allclose(found.probs_TT, torch.from_numpy(found.scores_TT).softmax(-1), **CLOSE)
    np.testing.assert_allclose(found.probs_TT, session.attention(A, B).probs_LNTT[layer, head], **CLOSE)


# -- errors

LONG = "tea " * 200


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda s: s.encode(""), TextError, "the text is empty"),
        (lambda s: s.encode(" \u200b\n\x00"), TextError, "the text is empty"),
        (lambda s: s.attention("tea", " "), TextError, "the second text is empty"),
        (lambda s: s.attention(LONG), TextError, r"\d\d\d tokens, but the model reads at most 64"),
        (lambda s: s.embed(["tea", LONG]), TextError, "at most 64"),
        (lambda s: s.embed("tea"), TextError, "into a list"),
        (lambda s: s.fill_mask(["one [MASK]", "two"]), TextError, "one text at a time"),
        (lambda s: s.answer(None, PASSAGE), TextError, "one text at a time"),
        (lambda s: s.fill_mask("no mask"), TextError, r"write \[MASK\]"),
        (lambda s: s.fill_mask("[MASK]", 0), BertlabError, "top_k is 0"),
        (lambda s: s.fill_mask("[MASK] " + LONG), TextError, "at most 64"),
        (lambda s: s.next_sentence("tea", ""), TextError, "the second text is empty"),
        (lambda s: s.answer("", PASSAGE), TextError, "question is empty"),
        (lambda s: s.answer(QUESTION, "\n"), TextError, "passage is empty"),
        (lambda s: s.answer(QUESTION, PASSAGE, n_best=0), BertlabError, "n_best is 0"),
        (lambda s: s.neuron("tea", layer=2), BertlabError, "no layer 2: layers go from 0 to 1"),
        (lambda s: s.neuron("tea", head=-1), BertlabError, "no head -1"),
    ],
)
def test_an_invalid_call_raises_a_one_line_error(session, call, error, message):
    with pytest.raises(error, match=message) as caught:
        call(session)
    assert "\n" not in str(caught.value)


def test_a_pair_on_a_model_with_one_token_type_is_refused(session):
    config = session.config.replace(type_vocab_size=1)
    single = Session(replace(session.loaded, model=FastBert(config, session.heads).eval()))
    assert single.attention(A).probs_LNTT.shape[0] == config.num_layers
    for ask in (single.attention, single.next_sentence):
        with raises_error(TextError, "pair-without-token-types"):
            ask(A, B)


@pytest.mark.parametrize(
    ("ask", "head"),
    [
        (lambda s: s.fill_mask("no mask either"), "masked-token"),
        (lambda s: s.next_sentence(LONG, B), "next-sentence"),
        (lambda s: s.answer(QUESTION, PASSAGE), "question-answering"),
    ],
)
def test_a_missing_task_head_is_reported_before_other_errors(checkpoints, ask, head):
    bare = bertlab.load(checkpoints / "bare")
    assert bare.heads == ()
    with pytest.raises(MissingHead, match=head):
        ask(bare)


# -- threads and random texts


def test_eight_threads_get_what_one_gets(session):
    texts = [PASSAGE[start : start + 60] + " [MASK]" for start in range(0, 120, 5)]

    def ask(text):
        return as_json(session.fill_mask(text)[0]), as_json(session.attention(text)), session.answer(QUESTION, text)

    alone = [ask(text) for text in texts]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(ask, texts * 3)) == alone * 3


def test_a_session_cannot_be_changed(session):
    with pytest.raises(FrozenInstanceError):
        session.loaded = None
    assert not session.model.training


def random_text(rng: random.Random, longest: int = 30) -> str:
    """Any code points, lone surrogates and unassigned ones among them; half of them from the common blocks."""
    top = rng.choice((0x80, 0x2000, 0x11000, 0x110000))
    return "".join(chr(rng.randrange(top)) for _ in range(rng.randrange(longest)))


def test_random_strings_are_read_or_refused(session):
    rng = random.Random(7)
    refused = 0
    for number in range(2_000):
        text = random_text(rng)
        try:
            rows = session.encode(text)
            if number % 25 == 0:
                (fill, *_) = session.fill_mask(f"{text} [MASK]", 2)
                assert all(0 <= c.probability <= 1 for c in fill.candidates)
                session.answer(text, text)
        except TextError:
            refused += 1
        else:
            assert all(0 <= row.start <= row.end <= len(text) for row in rows)
    assert refused < 600, "most random strings can be read"


@pytest.mark.parametrize("text", ["\ud800\udfff tea \udc00", "</script><script>a()", "[SEP] [CLS] [PAD]"])
def test_hostile_texts_are_read_like_other_texts(session, text):
    assert len(session.encode(text)) > 2
    assert session.attention(text, text).probs_LNTT.shape[-1] == len(session.encode(text, text))
    session.next_sentence(text, text)
    found = session.answer(text, text + " tea")
    assert all(answer.text == (text + " tea")[answer.start : answer.end] for answer in found.answers)


# -- words of a text


def test_every_token_lies_in_one_word(session):
    rng = random.Random(3)
    texts = [*HARD_STRINGS, *(random_text(rng) for _ in range(2_000))]
    for text in texts:
        # Python and `tokenizers` have different versions of Unicode, so newer characters may be split differently
        text = "".join(c for c in text if unicodedata.ucd_3_2_0.category(c) != "Cn")
        words = find_words(text)
        assert all(a < b for a, b in words)
        assert all(b <= c for (_, b), (c, _) in pairwise(words))
        (tokens,) = session.tokenizer.encode_segments([text])
        for begin, end in tokens.offsets:
            assert any(a <= begin and end <= b for a, b in words), (text, text[begin:end], words)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("She's 12, isn't she?", ["She's", "12", ",", "isn't", "she", "?"]),
        ("'quoted' words' end", ["'", "quoted", "'", "words", "'", "end"]),
        ("할머니가 보리차를.", ["할머니가", "보리차를", "."]),
        ("東京タワー", ["東", "京", "タワー"]),
        ("cafe\u0301 tea\u200bpot", ["cafe\u0301", "tea\u200bpot"]),
        ("[MASK][MASK]x", ["[MASK]", "[MASK]", "x"]),
        ("a_b-c", ["a", "_", "b", "-", "c"]),
        (" \t\n\u200b", []),
    ],
)
def test_words(text, expected):
    assert [text[start:end] for start, end in find_words(text)] == expected


def test_a_masked_word_becomes_one_mask_token(session):
    text = "The keeper of the old mill."
    for span in find_words(text):
        assert len(session.fill_mask(mask_spans(text, [span]), 1)) == 1
    assert mask_spans(text, [(11, 13), (0, 3)]) == "[MASK] keeper [MASK] the old mill."
    assert mask_spans(text, []) == text


@pytest.mark.parametrize("spans", [[(0, 99)], [(-1, 2)], [(2, 2)], [(0, 3), (2, 4)]])
def test_invalid_spans_cannot_be_masked(spans):
    with raises_error(TextError, "mask-span-invalid"):
        mask_spans("green tea", spans)


# -- shipped checkpoints


def test_shipped_checkpoints(shipped):
    assert list(bertlab.find_shipped_checkpoints()) == [
        "bare",
        "comve",
        "scratch",
        "squad",
        "sst2",
        "strongest",
        "wikiann_en",
    ]
    assert bertlab.default_checkpoint("fill-mask") == bertlab.default_checkpoint("nsp") == shipped / "strongest"
    assert bertlab.default_checkpoint("answer") == shipped / "squad"
    assert bertlab.load("squad").heads == ("span",)
    assert bertlab.load("squad").record["steps"] == 3


def test_a_directory_takes_precedence_over_a_shipped_checkpoint_of_its_name(
    shipped, tiny_checkpoint, tmp_path, monkeypatch
):
    (tmp_path / "squad").symlink_to(tiny_checkpoint)
    monkeypatch.chdir(tmp_path)
    assert bertlab.load("squad").heads == ("mlm", "nsp", "span")


def test_the_error_without_shipped_checkpoints_names_the_directory(tmp_path, monkeypatch):
    monkeypatch.setenv("BERTLAB_CHECKPOINTS", str(tmp_path / "nowhere"))
    assert bertlab.find_shipped_checkpoints() == {}
    with raises_error(CheckpointError, "checkpoint-not-shipped", names=["squad"], directory=tmp_path / "nowhere"):
        bertlab.default_checkpoint("answer")


def test_unfinished_checkpoints_are_not_shipped(tmp_path, monkeypatch, tiny_model, tiny_tokenizer):
    checkpoint.save(tmp_path / "mine", tiny_model, tiny_tokenizer, {})
    (tmp_path / "mine").rename(tmp_path / ".mine.0a1b.unfinished")
    monkeypatch.setenv("BERTLAB_CHECKPOINTS", str(tmp_path))
    assert bertlab.find_shipped_checkpoints() == {}


def test_the_package_lists_and_loads_its_public_names():
    assert bertlab.Session is Session
    assert {"load", "find_shipped_checkpoints", "Session"} <= set(dir(bertlab))
    with pytest.raises(AttributeError, match="no attribute 'unload'"):
        bertlab.unload  # noqa: B018
