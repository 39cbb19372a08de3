"""Changes inside a model and what they do to a prediction; heads pruned for good; the lens; masks filled together."""

import itertools
import json
import math
from dataclasses import replace

import numpy as np
import pytest
import torch
import transformers
from support.errors import raises_error

import bertlab
from bertlab.abilities.attention.roles import find_head_roles
from bertlab.abilities.encode import make_batch_of_one
from bertlab.abilities.results import as_json
from bertlab.abilities.surgery.compute import log_odds
from bertlab.abilities.surgery.syntax import MAX_PARTS, add, read_heads, resolve, split, undo
from bertlab.checkpoints import checkpoint
from bertlab.checkpoints.prune import prune
from bertlab.config.errors import BertlabError, CheckpointError, InterventionError, MissingHead, TextError
from bertlab.nn.interventions import Interventions
from bertlab.session import Session

MASKED, A, B = "The potter set the [MASK] on the shelf.", "Rain fell on the harbour.", "The boats stayed in."
QUESTION, PASSAGE = "Who carried it?", "The keeper of the old mill carried it; rain fell all night."
INPUTS = {"masked_lm": (MASKED, None), "sentence_pair": (A, B), "span": (QUESTION, PASSAGE)}


@pytest.fixture(scope="module")
def session(tiny_checkpoint) -> Session:
    return bertlab.load(tiny_checkpoint)


def intervene(session, kind, changes="", **options):
    text, pair = INPUTS[kind]
    return session.intervene(kind, text, pair, changes=changes, **options)


@pytest.mark.parametrize("kind", INPUTS)
def test_no_change_changes_nothing_and_probabilities_are_those_of_the_session(session, kind):
    found = intervene(session, kind)
    assert found.top == 0
    for outcome in found.outcomes:
        assert outcome.before == pytest.approx(outcome.after, rel=1e-9)
        assert math.log(outcome.before / (1 - outcome.before)) == pytest.approx(outcome.log_odds_before, abs=1e-6)
    best = found.outcomes[0]
    if kind == "masked_lm":
        expected = session.fill_mask(MASKED)[0].candidates[0]
        assert (best.label, best.before) == (expected.token, pytest.approx(expected.probability, rel=1e-5))
    if kind == "sentence_pair":
        probability = session.next_sentence(A, B).probability
        assert best.before == pytest.approx(max(probability, 1 - probability), rel=1e-5)
        assert [outcome.label for outcome in found.outcomes[:2]] == (
            ["IsNext", "NotNext"] if probability > 0.5 else ["NotNext", "IsNext"]
        )


def test_the_best_span_is_the_one_that_answer_finds(session):
    """The outcomes are spans with different texts, as in `answer`; the empty label among them stands for no answer."""
    found = intervene(session, "span", top_k=50)
    labels = [outcome.label for outcome in found.outcomes]
    best = session.answer(QUESTION, PASSAGE, n_best=1).answers[0]
    assert next(label for label in labels if label) == best.text
    assert all(label in PASSAGE for label in labels)


@pytest.mark.parametrize("kind", INPUTS)
def test_the_effect_of_a_head_is_that_of_ablating_it_alone(session, kind):
    text, pair = INPUTS[kind]
    effects = session.head_effects(kind, text, pair)
    assert effects.effects_LN.shape == (2, 2)
    assert np.ptp(effects.effects_LN) > 0.01, "the heads of a random model differ"
    for layer, head in np.ndindex(2, 2):
        outcome = intervene(session, kind, f"{layer}.{head}").outcomes[0]
        assert outcome.label == effects.label
        change = outcome.log_odds_after - outcome.log_odds_before
        assert effects.effects_LN[layer, head] == pytest.approx(change, abs=1e-4)
        assert effects.probabilities_LN[layer, head] == pytest.approx(outcome.after, abs=1e-5)
    (one,) = session.head_effects(kind, text, pair, layers=[1]).effects_LN
    np.testing.assert_allclose(one, effects.effects_LN[1], atol=1e-5)


def test_a_layer_of_a_long_text_is_measured_in_several_batches(session, monkeypatch):
    whole = session.head_effects("masked_lm", MASKED).effects_LN
    monkeypatch.setattr("bertlab.abilities.surgery.compute.MAX_PROBS", 1)
    np.testing.assert_allclose(session.head_effects("masked_lm", MASKED).effects_LN, whole, atol=1e-5)


def test_the_mask_to_predict_can_be_chosen(session):
    text = "The [MASK] set the bowl on the [MASK]."
    fills = session.fill_mask(text, 1)
    for number, fill in enumerate(fills):
        assert session.intervene("masked_lm", text, mask=number).outcomes[0].label == fill.candidates[0].token


def test_an_attention_row_can_be_replaced(session):
    model, encoding = session.model, session.tokenizer.encode(MASKED)
    row_T = torch.zeros(len(encoding))
    row_T[2], row_T[4] = 0.25, 0.75
    with torch.inference_mode():
        encoded = model(
            make_batch_of_one(encoding, torch.device("cpu")),
            interventions=Interventions(attention_rows={(1, 0, 5): row_T}),
        )
        position = encoding.ids.index(session.tokenizer.mask_id)
        expected = model.mlm(encoded.hidden_BTH[0, position]).softmax(-1).max()
    found = intervene(session, "masked_lm", "r1.0.5-2:1-4:3")
    assert found.outcomes[found.top].after == pytest.approx(float(expected), rel=1e-5)
    own = session.attention_row(MASKED, layer=1, head=0, position=5)
    own_weights = "-".join(f"{place}:{weight:.8f}" for place, weight in enumerate(own))
    same = intervene(session, "masked_lm", f"r1.0.5-{own_weights}").outcomes[0]
    assert same.after == pytest.approx(same.before, abs=1e-6), "replaced by the same row"
    assert intervene(session, "masked_lm", "r1.0.5-u").outcomes[0].after != pytest.approx(same.before, abs=1e-6)


def test_patching_every_position_from_another_text_gives_its_prediction(session):
    other = "The potter set the [MASK] on the window."
    theirs = session.intervene("masked_lm", other).outcomes[0]
    found = intervene(session, "masked_lm", "p1.a-1.a", other=other)
    assert found.outcomes[found.top].label == theirs.label
    assert found.outcomes[found.top].after == pytest.approx(theirs.before, rel=1e-5)
    one = intervene(session, "masked_lm", "p2.5-2.5", other=other)
    assert one.outcomes[one.top].label == theirs.label, (
        "the MLM output layer reads only the last hidden state of the mask"
    )


@pytest.mark.parametrize(
    ("changes", "id", "params"),
    [
        ("9.0", "layer-out-of-range", {"layer": 9, "last": 1}),
        ("0.7", "head-out-of-range", {"head": 7, "last": 1}),
        ("7", "layer-out-of-range", {"layer": 7}),
        ("r0.0.63-u", "position-out-of-range", {"position": 63}),
        ("r0.0.1-40:1", "position-out-of-range", {"position": 40}),
        ("p5.0-0.0", "layer-out-of-range", {"layer": 4, "last": 1}),
        ("p0.0-5.0", "layer-out-of-range", {"layer": 4, "last": 1}),
        ("h4.0-e.0", "layer-out-of-range", {"layer": 4, "last": 1}),
        ("he.0-4.0", "layer-out-of-range", {"layer": 4, "last": 1}),
        ("he.0-e.50", "patch-position-missing", {"position": 50}),
        ("he.50-e.0", "position-out-of-range", {"position": 50}),
        ("he.a-e.a", "patch-lengths-differ", {}),
    ],
)
def test_interventions_that_do_not_exist_are_refused(session, changes, id, params):
    with raises_error(InterventionError, id, **params):
        intervene(session, "masked_lm", changes, other="Rain.")


@pytest.mark.parametrize(
    ("objective", "labels"), [("next sentence", {"IsNext", "NotNext"}), ("sentence order", {"in order", "swapped"})]
)
def test_the_outcomes_of_a_sentence_pair_are_those_of_the_objective_of_the_checkpoint(session, objective, labels):
    trained = Session(replace(session.loaded, record={"objectives": ["masked words", objective]}))
    outcomes = intervene(trained, "sentence_pair").outcomes
    assert {outcome.label for outcome in outcomes} == labels
    assert outcomes[0].label == trained.next_sentence(A, B).label == trained.head_effects("sentence_pair", A, B).label


def test_predictions_that_cannot_be_made_are_refused(session, checkpoints):
    with raises_error(InterventionError, "patch-without-text"):
        intervene(session, "masked_lm", "p0.0-0.0")
    with raises_error(InterventionError, "layer-out-of-range", layer=2):
        session.head_effects("masked_lm", MASKED, layers=[2])
    with raises_error(TextError, "mask-out-of-range", mask=1, last=0):
        session.intervene("masked_lm", MASKED, mask=1)
    with raises_error(TextError, "mask-missing"):
        session.intervene("masked_lm", A)
    with raises_error(TextError, "second-text-missing", prediction="sentence_pair"):
        session.intervene("sentence_pair", A)
    with raises_error(TextError, "text-too-long", limit=64):
        session.head_effects("span", QUESTION, "rain " * 80)
    kinds = ["masked_lm", "sentence_pair", "classification", "span"]
    with raises_error(BertlabError, "prediction-unknown", prediction="poem", predictions=kinds):
        session.intervene("poem", A)
    bare = bertlab.load(checkpoints / "bare")
    for kind, (text, pair) in INPUTS.items():
        with pytest.raises(MissingHead):
            bare.head_effects(kind, text, pair)
    with pytest.raises(MissingHead):
        bare.lens(A)
    with pytest.raises(MissingHead):
        bare.fill_jointly(MASKED)


def test_log_odds_do_not_saturate():
    odds = log_odds(torch.tensor([60.0, 0.0, -5.0]))
    assert float(odds[0]) == pytest.approx(60 - math.log(1 + math.exp(-5)), abs=1e-6)
    assert float(odds[1]) == pytest.approx(-60, abs=1e-6)
    probs = torch.tensor([0.2, 0.3, 0.5], dtype=torch.float64)
    torch.testing.assert_close(log_odds(probs.log()), torch.logit(probs))


@pytest.mark.parametrize(
    "text",
    ["x", "0.3.1", "-1.0", "1.2r", "r1.2", "r0.0.0-", "r0.0.0-1", "r0.0.0-1:x", "p1-2", "p1.a-2.3", "p1.2-2.a", "p1.2-",
     "h1-2", "h1.a-2.3", "h1.2-2.a", "he.1-", "h-1.2", "hee.1", "٣.0", "<b>", "9" * 5000, "0.1s2"],
)  # fmt: skip
def test_a_change_that_cannot_be_read(text):
    with raises_error(InterventionError, "intervention-unreadable") as refusal:
        resolve(text, 2)
    assert len(str(refusal.value)) < 200


def test_both_forms_of_a_patch_mean_the_same():
    """The form of older addresses counts the embeddings as 0, today's calls them e."""
    for old, new in (("p0.5-0.4", "he.5-e.4"), ("p3.5-1.4", "h2.5-0.4"), ("p1.a-0.a", "h0.a-e.a")):
        assert resolve(old, 2) == resolve(new, 2)
        assert resolve(old, 2).parts == (new,)
        assert not resolve(f"{old},{new.split('-')[0]}", 2)


def test_resolved_changes_survive_parsing_adding_and_undoing():
    rng = np.random.default_rng(0)
    rows, patches = ["r0.1.3-u", "r0.1.3-2:0.5-4:1", "r0.1.3"], ["p1.2-0.1", "p1.2", "he.a-e.a", "h0.2"]
    parts = ["0.0", "0.1", "1.2", "0", "1", "2.1s", *rows, *patches]
    for _ in range(200):
        line = ",".join(rng.choice(parts, rng.integers(0, 9)))
        changes = resolve(line, 3)
        again = resolve(",".join(changes.parts), 3)
        assert (again.heads, again.rows, again.patches) == (changes.heads, changes.rows, changes.patches)
        more = add(line, "1.0", 3)
        assert undo(more) == ",".join(split(line))
        assert resolve(more, 3).heads == changes.heads ^ {(1, 0)}
    long = ",".join(["0.0"] * MAX_PARTS)
    assert split(add(long, "1.1", 3)) == ("1.1",)
    with raises_error(InterventionError, "attention-row-without-weight"):
        resolve("r0.0.0-1:0", 2)


@pytest.mark.parametrize("zeroed", [False, True])
@pytest.mark.parametrize("heads", ["0.1", "0.0,1.1"])
def test_a_pruned_checkpoint_predicts_as_the_original_with_ablated_heads(session, tmp_path, heads, zeroed):
    exported = session.prune(heads, zeroed=zeroed)
    before, after = (session.path / "model.safetensors").stat().st_size, tmp_path / "pruned" / "model.safetensors"
    checkpoint.save(tmp_path / "pruned", exported.model, session.tokenizer, {}, dtype=torch.float32)
    assert (after.stat().st_size < before) != zeroed
    for pruned in (exported, bertlab.load(tmp_path / "pruned")):
        for kind in INPUTS:
            expected, got = intervene(session, kind, heads), intervene(pruned, kind)
            assert got.outcomes[0].label == expected.outcomes[expected.top].label
            assert got.outcomes[0].before == pytest.approx(expected.outcomes[expected.top].after, rel=1e-5)
    config = json.loads((tmp_path / "pruned" / "config.json").read_text())
    assert ("pruned_heads" in config) != zeroed
    model = bertlab.load(tmp_path / "pruned").model
    again = checkpoint.save(tmp_path / "again", model, session.tokenizer, {}, dtype=torch.float32)
    assert (again / "model.safetensors").read_bytes() == after.read_bytes()
    assert intervene(session, "masked_lm").outcomes[0].before == pytest.approx(
        session.fill_mask(MASKED)[0].candidates[0].probability, rel=1e-5
    ), "the original session is unchanged"


def test_zeroed_heads_open_in_transformers_with_the_same_outputs(session, tmp_path):
    pruned = session.prune("0.1,1", zeroed=True)
    checkpoint.save(tmp_path / "pruned", pruned.model, session.tokenizer, {}, dtype=torch.float32)
    theirs = transformers.AutoModel.from_pretrained(tmp_path / "pruned").eval()
    encoding = session.tokenizer.encode(A, B)
    batch = make_batch_of_one(encoding, torch.device("cpu"))
    with torch.inference_mode():
        expected = session.model(
            batch, interventions=Interventions.ablate_heads(session.config, [(0, 1), (1, 0), (1, 1)])
        )
        got = theirs(input_ids=batch.input_ids_BT, token_type_ids=batch.token_type_ids_BT)
        torch.testing.assert_close(got.last_hidden_state, expected.hidden_BTH, rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(got.pooler_output, expected.pooled_BH, rtol=1e-4, atol=1e-5)


def test_zeroed_heads_get_no_gradient(tiny_model):
    model = prune(tiny_model, [(0, 1)], zeroed=True)
    with torch.enable_grad():
        ids_BT = torch.randint(5, 90, (2, 9))
        batch = type("Inputs", (), {"input_ids_BT": ids_BT, "token_type_ids_BT": 0 * ids_BT, "attention_mask_BT": None})
        model.mlm(model(batch).hidden_BTH).square().sum().backward()
    attention = model.encoder.layers[0].attention
    own, other = slice(8, 16), slice(0, 8)
    for gradient in (attention.qkv.weight.grad.view(3, 16, 16).transpose(0, 1), attention.out.weight.grad.T):
        assert not gradient[own].any()
        assert gradient[other].any()


def test_pruned_heads_have_no_weights_and_a_trace_shows_all_heads(session):
    """With and without a trace, and in the ablation of each head, the outputs are those of heads set to zero."""
    pruned, zeroed = (session.prune("0.1", zeroed=zeroed) for zeroed in (False, True))
    parameters = [sum(each.numel() for each in model.parameters()) for model in (pruned.model, zeroed.model)]
    assert parameters[1] - parameters[0] == 4 * 8 * 16 + 3 * 8
    for a, b in (
        (pruned.attention(A).probs_LNTT, zeroed.attention(A).probs_LNTT),
        (pruned.block(A, layer=0, head=0).heads_H, zeroed.block(A, layer=0, head=0).heads_H),
        (pruned.head_effects("masked_lm", MASKED).effects_LN, zeroed.head_effects("masked_lm", MASKED).effects_LN),
        (pruned.embed([A, B]), zeroed.embed([A, B])),
    ):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)
    again = pruned.prune("1.0", zeroed=True)
    assert not again.config.pruned_heads
    np.testing.assert_allclose(again.embed([A]), session.prune("0.1,1.0").embed([A]), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(
    ("heads", "id"),
    [
        ("5.0", "layer-out-of-range"),
        ("1", "prune-layer-empty"),
        ("", "heads-unreadable"),
        ("r0.0.0-u", "heads-unreadable"),
    ],
)
def test_invalid_heads_cannot_be_pruned(session, heads, id):
    with raises_error(InterventionError, id):
        session.prune(heads)
    assert read_heads("0.1,1", 2) == {(0, 1), (1, 0), (1, 1)}


@pytest.mark.parametrize("table", [{"9": [0]}, {"0": [7]}, {"0": 1}, [1], {"x": [0]}, {"0": ["a"]}, {"0": [True]}])
def test_a_config_with_invalid_pruned_heads_is_refused(session, tmp_path, table):
    saved = checkpoint.save(tmp_path / "odd", session.model, session.tokenizer, {})
    config = json.loads((saved / "config.json").read_text()) | {"pruned_heads": table}
    (saved / "config.json").write_text(json.dumps(config))
    with pytest.raises(CheckpointError):
        bertlab.load(saved)


def test_the_last_layer_of_the_lens_has_the_predictions_of_the_model(session):
    lens = session.lens(MASKED)
    assert lens.probs_LT.shape == (3, len(lens.tokens)) == lens.rank_LT.shape
    assert lens.tokens_LT[-1] == lens.final_T
    assert (lens.rank_LT[-1] == 1).all()
    np.testing.assert_allclose(lens.probs_of_final_LT[-1], lens.probs_LT[-1])
    assert (lens.probs_of_final_LT <= lens.probs_LT).all()
    fill = session.fill_mask(MASKED)[0]
    assert lens.final_T[fill.position] == fill.candidates[0].token
    assert lens.probs_LT[-1, fill.position] == pytest.approx(fill.candidates[0].probability, rel=1e-5)
    assert json.dumps(as_json(lens))


def test_the_lens_reads_a_layer_as_if_it_were_the_last(session, monkeypatch):
    monkeypatch.setattr("bertlab.abilities.lens.compute.MAX_LOGITS", 1)
    lens = session.lens(MASKED)
    model = session.model
    shallow = replace(model.config, num_layers=1)
    cut = type(model)(shallow, ["mlm"])
    cut.load_state_dict(model.state_dict(), strict=False)
    first = Session(replace(session.loaded, model=cut.eval())).lens(MASKED)
    assert lens.tokens_LT[1] == first.final_T
    np.testing.assert_allclose(lens.probs_LT[1], first.probs_LT[-1], rtol=1e-4)


def test_as_many_beams_as_tokens_find_the_likeliest_pair(session):
    text = "The [MASK] set the [MASK] bowl."
    found = session.fill_jointly(text, beams=session.tokenizer.vocab_size)
    best, best_tokens = 0.0, None
    for first in session.fill_mask(text, session.tokenizer.vocab_size)[0].candidates[:60]:
        then = session.fill_mask(text.replace("[MASK]", first.token, 1), 1) if first.token.isalpha() else None
        if then and first.probability * then[0].candidates[0].probability > best:
            best = first.probability * then[0].candidates[0].probability
            best_tokens = (first.token, then[0].candidates[0].token)
    assert found.fillings[0].probability >= best * (1 - 1e-5)
    if found.fillings[0].tokens[0].isalpha():
        assert found.fillings[0].tokens == best_tokens
    probabilities = [filling.probability for filling in found.fillings]
    assert probabilities == sorted(probabilities, reverse=True)


def test_masks_filled_one_by_one_are_compared_with_joint_fillings(session):
    text = "The [MASK] set the [MASK] on the [MASK]."
    found = session.fill_jointly(text, beams=3)
    fills = session.fill_mask(text, 1)
    assert found.independent.tokens == tuple(fill.candidates[0].token for fill in fills)
    assert found.independent_probs == pytest.approx([fill.candidates[0].probability for fill in fills], rel=1e-5)
    assert found.spans == tuple((fill.start, fill.end) for fill in fills)
    greedy = session.fill_jointly(text, beams=1)
    assert len(greedy.fillings) == 1
    assert found.fillings[0].probability >= greedy.fillings[0].probability * (1 - 1e-6)
    one = session.fill_jointly(MASKED)
    assert [f.probability for f in one.fillings] == pytest.approx(
        [c.probability for c in session.fill_mask(MASKED)[0].candidates], rel=1e-5
    )
    with raises_error(BertlabError, "number-below-one"):
        session.fill_jointly(MASKED, beams=0)
    with pytest.raises(TextError):
        session.fill_jointly(A)


def test_a_filling_is_written_into_its_text(session):
    found = session.fill_jointly("A [MASK] cup.", beams=2, pair="So [MASK]!")
    first, second = found.fillings[0].tokens
    assert found.fillings[0].text == f"A {first} cup. | So {second}!"


def test_roles_of_made_up_heads(session):
    attention = session.attention(A)
    size = len(attention.tokens)
    shift = np.eye(size, k=-1)
    shift[0, 0] = 1
    heads = [shift, np.eye(size), np.eye(size)[[0] * size], np.eye(size)[[size - 1] * size]]
    found = find_head_roles(replace(attention, probs_LNTT=np.array([heads], np.float32)))
    assert found.names_LN == (("previous", "itself", "[CLS]", "[SEP]"),)
    np.testing.assert_allclose(found.share_LN, 1, atol=0.2)
    assert found.share_LN[0, 1] == 1
    own = session.head_roles(A)
    assert all(0 < share <= 1.001 for share in itertools.chain(*own.share_LN.tolist()))
