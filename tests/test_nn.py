"""The model against `transformers`, part by part, so that a failure names the part; then traces and interventions.

Every test runs on `Bert` and on `FastBert`, which must give the same results.

Shape legend: B batch, T tokens, H hidden, N heads, D head size, V vocabulary, L layers, R selected positions, X all
tokens of a batch without padding.
"""

import pytest
import torch
import torch.nn.functional as F
import transformers
from support.encoders import CONFIG, assert_close, hf_inputs, make_batch, oracle, ours
from support.errors import raises_error

from bertlab.checkpoints.maps import get_hf_names
from bertlab.config.config import ACTIVATIONS
from bertlab.config.errors import InterventionError, MissingHead, TextError
from bertlab.nn.bert import Bert, make_additive_mask
from bertlab.nn.fast.model import FastBert
from bertlab.nn.heads import HEADS
from bertlab.nn.interventions import Interventions
from bertlab.nn.trace import KINDS, Trace
from bertlab.text.batch import Batch


@pytest.fixture(scope="module")
def hf():
    return oracle()


@pytest.fixture(scope="module", params=[Bert, FastBert], ids=["plain", "fast"])
def kind(request):
    return request.param


@pytest.fixture(scope="module")
def model(hf, kind):
    return ours(hf, kind=kind)


@pytest.fixture(
    params=[(False, False), (False, True), (True, False), (True, True)],
    ids=["single", "single-padded", "pair", "pair-padded"],
)
def batch(request):
    return make_batch(*request.param)


@torch.no_grad()
def test_embeddings(hf, model, batch):
    theirs_BTH = hf.bert.embeddings(batch.input_ids_BT, batch.token_type_ids_BT)
    assert_close(model.embeddings(batch.input_ids_BT, batch.token_type_ids_BT), theirs_BTH)


@torch.no_grad()
def test_self_attention(hf, model, batch):
    hidden_BTH = hf.bert.embeddings(batch.input_ids_BT, batch.token_type_ids_BT)
    mask = make_additive_mask(batch.attention_mask_BT, hidden_BTH)
    theirs_BTH, theirs_probs_BNTT = hf.bert.encoder.layer[0].attention.self(hidden_BTH, mask)
    trace = Trace.of("head_outputs", "probs")
    model.encoder.layers[0].attention(hidden_BTH, mask, trace=trace)
    assert_close(trace["head_outputs"][0].transpose(1, 2).flatten(2), theirs_BTH)
    assert_close(trace["probs"][0], theirs_probs_BNTT)


@torch.no_grad()
def test_layer(hf, model, batch):
    hidden_BTH = hf.bert.embeddings(batch.input_ids_BT, batch.token_type_ids_BT)
    mask = make_additive_mask(batch.attention_mask_BT, hidden_BTH)
    theirs_BTH = hf.bert.encoder.layer[1](hidden_BTH, mask)
    theirs_BTH = theirs_BTH[0] if isinstance(theirs_BTH, tuple) else theirs_BTH
    assert_close(model.encoder.layers[1](hidden_BTH, mask), theirs_BTH)


@torch.no_grad()
def test_encoder(hf, model, batch):
    theirs = hf.bert(**hf_inputs(batch), output_hidden_states=True, output_attentions=True)
    trace = Trace.of("hidden", "probs")
    encoded = model(batch, trace=trace)
    real_BT = batch.attention_mask_BT
    assert len(trace["hidden"]) == len(theirs.hidden_states)
    for ours_BTH, theirs_BTH in zip(trace["hidden"], theirs.hidden_states, strict=True):
        assert_close(ours_BTH, theirs_BTH, real_BT)
    for ours_BNTT, theirs_BNTT in zip(trace["probs"], theirs.attentions, strict=True):
        assert_close(ours_BNTT.transpose(1, 2), theirs_BNTT.transpose(1, 2), real_BT)
    assert_close(encoded.hidden_BTH, theirs.last_hidden_state, real_BT)
    assert_close(model(batch).hidden_BTH, theirs.last_hidden_state, real_BT)


@torch.no_grad()
def test_pooler(hf, model, batch):
    assert_close(model(batch).pooled_BH, hf.bert(**hf_inputs(batch)).pooler_output)


@torch.no_grad()
def test_pretraining_heads(hf, model, batch):
    encoded, theirs = model(batch), hf(**hf_inputs(batch))
    assert_close(model.mlm(encoded.hidden_BTH), theirs.prediction_logits, batch.attention_mask_BT, 2e-5)
    assert_close(model.nsp(encoded.pooled_BH), theirs.seq_relationship_logits)


@torch.no_grad()
def test_span_head(batch, kind):
    hf = oracle(transformers.BertForQuestionAnswering)
    model = ours(hf, kind=kind)
    assert model.head_names == ("span",)
    start_BT, end_BT = model.span(model(batch).hidden_BTH).unbind(-1)
    theirs = hf(**hf_inputs(batch))
    assert_close(start_BT, theirs.start_logits, batch.attention_mask_BT)
    assert_close(end_BT, theirs.end_logits, batch.attention_mask_BT)


@torch.no_grad()
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_activations(activation, kind):
    config = CONFIG.replace(activation=activation)
    hf, batch = oracle(config=config), make_batch(True, True)
    theirs = hf(**hf_inputs(batch)).prediction_logits
    model = ours(hf, config, kind)
    assert_close(model.mlm(model(batch).hidden_BTH), theirs, batch.attention_mask_BT, 2e-5)


def test_gradients(batch, kind):
    hf = oracle()
    model = ours(hf, kind=kind)
    labels_X = torch.arange(int(batch.attention_mask_BT.sum())) % CONFIG.vocab_size
    nsp_labels_B = torch.tensor([0, 1, 1])

    def loss(logits_BTV, logits_B2):
        return F.cross_entropy(logits_BTV[batch.attention_mask_BT], labels_X) + F.cross_entropy(logits_B2, nsp_labels_B)

    theirs = hf(**hf_inputs(batch))
    loss(theirs.prediction_logits, theirs.seq_relationship_logits).backward()
    encoded = model(batch)
    loss(model.mlm(encoded.hidden_BTH), model.nsp(encoded.pooled_BH)).backward()
    theirs_grads = {name: parameter.grad for name, parameter in hf.named_parameters()}
    for name, parameter in model.named_parameters():
        names = get_hf_names(name)
        for theirs_name, grad in zip(names, parameter.grad.chunk(len(names)), strict=True):
            torch.testing.assert_close(
                grad, theirs_grads[theirs_name], atol=1e-5, rtol=1e-4, msg=lambda text, at=theirs_name: f"{at}: {text}"
            )


def test_encode_positions_equals_a_selection_of_all_hidden_states(hf, batch, kind):
    positions_R = torch.tensor([0, 11, 22, 1, 13, 24, 1])
    positions_R = positions_R[batch.attention_mask_BT.flatten()[positions_R]]
    results = []
    for encode in (
        lambda m: m.encode_positions(batch, positions_R),
        lambda m: m(batch).hidden_BTH.flatten(0, 1)[positions_R],
    ):
        model = ours(hf, kind=kind)
        hidden_RH = encode(model)
        model.mlm(hidden_RH).logsumexp(-1).sum().backward()
        results.append((hidden_RH, *(p.grad for p in model.parameters() if p.grad is not None)))
    for encoded, selected in zip(*results, strict=True):
        assert_close(encoded, selected, tolerance=1e-4)


def test_padding_changes_nothing(model):
    short = make_batch(True, False, B=1, T=9)
    long = make_batch(True, False, B=1, T=14)
    long.input_ids_BT[:, :9], long.token_type_ids_BT[:, :9] = short.input_ids_BT, short.token_type_ids_BT
    long.attention_mask_BT[:, 9:] = False
    assert_close(model(long).hidden_BTH[:, :9], model(short).hidden_BTH)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_a_row_of_padding_alone_stays_finite(hf, dtype, kind):
    model, batch = ours(hf, kind=kind).to(dtype), make_batch(False, True)
    batch.attention_mask_BT[1] = False
    assert model(batch).hidden_BTH.isfinite().all()


def test_no_mask_means_no_padding(model):
    batch = make_batch(True, False)
    unmasked = Batch(batch.input_ids_BT, batch.token_type_ids_BT, None)
    assert_close(model(unmasked).hidden_BTH, model(batch).hidden_BTH, tolerance=0)


def test_trains_in_pure_bfloat16(hf, batch, kind):
    model, reference = ours(hf, kind=kind).to(torch.bfloat16), ours(hf, kind=kind)
    encoded = model(batch)
    assert encoded.hidden_BTH.dtype == torch.bfloat16
    off = (encoded.hidden_BTH - reference(batch).hidden_BTH)[batch.attention_mask_BT].abs().mean()
    assert off < 0.05, f"bfloat16 is {off} away from float32"
    (
        model.mlm(encoded.hidden_BTH).float().logsumexp(-1).mean() + model.nsp(encoded.pooled_BH).float().mean()
    ).backward()
    assert all(p.grad.dtype == torch.bfloat16 and p.grad.isfinite().all() for p in model.parameters())


@pytest.mark.parametrize("dropout", ["hidden_dropout", "attention_dropout"])
def test_each_dropout_changes_the_output_in_training_only(dropout, kind):
    model, batch = kind(CONFIG.replace(**{dropout: 0.5})).train(), make_batch(True, False)
    assert not torch.equal(model(batch).hidden_BTH, model(batch).hidden_BTH)
    model.eval()
    assert torch.equal(model(batch).hidden_BTH, model(batch).hidden_BTH)


def test_initial_weights_follow_a_truncated_normal_distribution(kind):
    torch.manual_seed(0)
    model = kind(CONFIG.replace(vocab_size=2000, labels=("a", "b")), heads=HEADS)
    for name, parameter in model.named_parameters():
        if name.endswith("bias"):
            assert not parameter.any(), name
        elif "norm" in name:
            assert (parameter == 1).all(), name
        else:
            assert parameter.abs().max() <= 0.04, name
    # cutting a normal distribution off at two standard deviations leaves 0.88 of its standard deviation: 0.88 * 0.02
    assert model.embeddings.token.weight.std().item() == pytest.approx(0.0176, abs=3e-4)


@pytest.mark.parametrize("kind", [Bert, FastBert])
def test_embeddings_are_not_initialised_where_weights_are_loaded(kind, monkeypatch):
    """On the meta device, torch's initialisation of an embedding imports its compiler, which takes seconds."""
    monkeypatch.setattr(torch.nn.Embedding, "reset_parameters", lambda _: pytest.fail("initialised"))
    with torch.device("meta"):
        model = kind(CONFIG)
    assert all(parameter.requires_grad and parameter.is_meta for parameter in model.parameters())


@pytest.mark.parametrize("head", HEADS)
def test_the_error_names_the_missing_head(head):
    with raises_error(MissingHead, "head-missing", head=HEADS[head].title):
        getattr(Bert(CONFIG), head)(torch.zeros(1, 1, CONFIG.hidden_size))


def test_heads_can_be_added():
    model = Bert(CONFIG, ["nsp"]).to(torch.bfloat16)
    model.add_heads(["nsp", "span"])
    assert model.head_names == ("nsp", "span")
    assert model.span(torch.zeros(2, 5, CONFIG.hidden_size, dtype=torch.bfloat16)).shape == (2, 5, 2)


def test_too_many_tokens_are_refused(model):
    with raises_error(TextError, "text-too-long", tokens=25, limit=24):
        model(make_batch(False, False, T=25))


@torch.no_grad()
def test_trace_records_every_kind(model):
    batch, trace = make_batch(True, True), Trace.of(*KINDS)
    model(batch, trace=trace)
    B, T, N, D = 3, 11, CONFIG.num_heads, CONFIG.head_size
    shapes = {kind: [tuple(tensor.shape) for tensor in trace[kind]] for kind in KINDS}
    assert shapes == {
        "embeddings": [(B, T, CONFIG.hidden_size)] * 4,
        "hidden": [(B, T, CONFIG.hidden_size)] * (CONFIG.num_layers + 1),
        **{kind: [(B, N, T, D)] * CONFIG.num_layers for kind in ("query", "key", "value", "head_outputs")},
        **{kind: [(B, N, T, T)] * CONFIG.num_layers for kind in ("scores", "probs")},
    }
    token_BTH, position_BTH, token_type_BTH, normed_BTH = trace["embeddings"]
    assert_close(model.embeddings.norm(token_BTH + position_BTH + token_type_BTH), normed_BTH)
    padding_BT = ~batch.attention_mask_BT
    for layer in range(CONFIG.num_layers):
        scores_BNTT, probs_BNTT = trace["scores"][layer], trace["probs"][layer]
        assert_close(probs_BNTT.sum(-1), torch.ones(B, N, T))
        assert_close(scores_BNTT.softmax(-1), probs_BNTT)
        assert (scores_BNTT.isneginf() == padding_BT[:, None, None, :]).all()
        by_hand_BNTT = trace["query"][layer] @ trace["key"][layer].transpose(-1, -2) / D**0.5
        assert_close(by_hand_BNTT[~scores_BNTT.isneginf()], scores_BNTT[~scores_BNTT.isneginf()])
        assert_close(probs_BNTT @ trace["value"][layer], trace["head_outputs"][layer])


def test_trace_keeps_no_graph(model):
    trace = Trace.of(*KINDS)
    model(make_batch(False, False), trace=trace)
    assert not any(tensor.requires_grad for kind in KINDS for tensor in trace[kind])


@torch.no_grad()
@pytest.mark.parametrize(("layer", "head"), [(0, 3), (1, 0), (2, 1)])
def test_ablating_a_head_equals_zeroing_its_columns(hf, model, batch, layer, head):
    cut, D = ours(hf, kind=type(model)), CONFIG.head_size
    cut.encoder.layers[layer].attention.out.weight[:, head * D : (head + 1) * D] = 0
    expected_BTH = cut(batch).hidden_BTH
    interventions = Interventions.ablate_heads(CONFIG, [(layer, head)])
    real_BT = batch.attention_mask_BT
    assert_close(model(batch, interventions=interventions).hidden_BTH, expected_BTH, real_BT)
    assert_close(model(batch, interventions=interventions, trace=Trace.of("probs")).hidden_BTH, expected_BTH, real_BT)
    assert (model(batch).hidden_BTH - expected_BTH).abs().max() > 1e-3


@torch.no_grad()
def test_many_ablations_run_as_one_batch(model):
    one = make_batch(True, False, B=1)
    groups = [[], [(0, 1)], [(0, 1), (2, 3)]]
    three = Batch(*(getattr(one, name).expand(3, -1) for name in vars(one)))
    together_BTH = model(three, interventions=Interventions.ablate_heads_per_row(CONFIG, groups)).hidden_BTH
    for row, heads in enumerate(groups):
        assert_close(
            together_BTH[row], model(one, interventions=Interventions.ablate_heads(CONFIG, heads)).hidden_BTH[0]
        )


@torch.no_grad()
def test_a_row_of_attention_is_replaced(model, batch):
    T, plain, changed = 11, Trace.of("probs", "value", "head_outputs"), Trace.of("probs", "head_outputs")
    model(batch, trace=plain)
    model(batch, trace=changed, interventions=Interventions(attention_rows={(1, 2, 4): torch.full((T,), 1 / T)}))
    assert_close(changed["probs"][1][:, 2, 4], torch.full((3, T), 1 / T))
    assert_close(changed["head_outputs"][1][:, 2, 4], plain["value"][1][:, 2].mean(1))
    untouched = torch.ones_like(plain["probs"][1], dtype=torch.bool)
    untouched[:, 2, 4] = False
    assert torch.equal(changed["probs"][1][untouched], plain["probs"][1][untouched])
    assert torch.equal(changed["probs"][0], plain["probs"][0])
    assert not torch.equal(changed["probs"][2], plain["probs"][2])


@torch.no_grad()
@pytest.mark.parametrize("layer", range(CONFIG.num_layers + 1))
def test_a_hidden_state_is_patched(model, layer):
    clean, other = make_batch(True, False, B=1), make_batch(True, False, B=2)
    other = Batch(*(getattr(other, name)[1:] for name in vars(other)))
    before, source, after = Trace.of("hidden"), Trace.of("hidden"), Trace.of("hidden")
    model(clean, trace=before)
    expected_BTH = model(other, trace=source).hidden_BTH
    one = {(layer, 5): source["hidden"][layer][0, 5]}
    model(clean, trace=after, interventions=Interventions(patches=one))
    assert torch.equal(after["hidden"][layer][0, 5], source["hidden"][layer][0, 5])
    assert torch.equal(after["hidden"][layer][0, :5], before["hidden"][layer][0, :5])
    for earlier in range(layer):
        assert torch.equal(after["hidden"][earlier], before["hidden"][earlier])
    every = {(layer, position): source["hidden"][layer][0, position] for position in range(11)}
    assert_close(model(clean, interventions=Interventions(patches=every)).hidden_BTH, expected_BTH)


def test_gradients_reach_patched_states_and_replaced_attention_rows(model):
    hidden_H = torch.zeros(CONFIG.hidden_size, requires_grad=True)
    probs_T = torch.full((11,), 1 / 11, requires_grad=True)
    interventions = Interventions(patches={(0, 3): hidden_H}, attention_rows={(1, 0, 0): probs_T})
    model(make_batch(False, False), interventions=interventions).pooled_BH.sum().backward()
    assert hidden_H.grad.abs().sum() > 0
    assert probs_T.grad.abs().sum() > 0


@pytest.mark.parametrize(
    ("make", "id", "params"),
    [
        (lambda: Interventions.ablate_heads(CONFIG, [(3, 0)]), "layer-out-of-range", {"layer": 3, "last": 2}),
        (lambda: Interventions.ablate_heads(CONFIG, [(0, 4)]), "head-out-of-range", {"head": 4, "last": 3}),
        (lambda: Interventions.ablate_heads(CONFIG, [(-1, 0)]), "layer-out-of-range", {"layer": -1}),
        (
            lambda: Interventions(attention_rows={(0, 0, 11): torch.zeros(11)}),
            "position-out-of-range",
            {"position": 11},
        ),
        (lambda: Interventions(attention_rows={(0, 9, 0): torch.zeros(11)}), "head-out-of-range", {"head": 9}),
        (lambda: Interventions(attention_rows={(0, 0, 0): torch.zeros(5)}), "attention-row-shape", {"expected": 11}),
        (lambda: Interventions(patches={(4, 0): torch.zeros(32)}), "layer-out-of-range", {"layer": 3, "last": 2}),
        (lambda: Interventions(patches={(0, 0): torch.zeros(8)}), "hidden-state-shape", {"expected": 32}),
        (lambda: Interventions(head_scale_LBN=torch.ones(1, 3, 4)), "head-scale-shape", {"expected": "[3, batch, 4]"}),
        (lambda: Interventions(head_scale_LBN=torch.ones(12)), "head-scale-shape", {"shape": "[12]"}),
        (lambda: Interventions(head_scale_LBN=torch.ones(3, 2, 4)), "head-scale-rows", {"rows": 2, "expected": 3}),
    ],
)
def test_interventions_that_do_not_fit_the_model_are_refused(model, make, id, params):
    with raises_error(InterventionError, id, **params):
        model(make_batch(True, False), interventions=make())
