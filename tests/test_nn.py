"""The model against `transformers`, part by part, so that a failure names the part; then what opens it up.

Shape legend: B batch, T tokens, H hidden, N heads, D head size, V vocabulary, L layers.
"""

import copy
import itertools
from unittest import mock

import pytest
import torch
import torch.nn.functional as F
import transformers
from torch._dynamo.testing import CompileCounterWithBackend

from bertlab.checkpoints.maps import hf_names, hf_to_state
from bertlab.config.config import ACTIVATIONS, ModelConfig
from bertlab.config.errors import InterventionError, MissingHead, TextError
from bertlab.nn.attention import additive_mask, attention, recorded_attention
from bertlab.nn.bert import Bert
from bertlab.nn.encoder import fuse
from bertlab.nn.fast.bucketed_attention import asked_attention, grouped_attention
from bertlab.nn.fast.dropout import Dropout, dropout
from bertlab.nn.fast.linear import Linear, bias_goes_along
from bertlab.nn.fast.packing import Tokens
from bertlab.nn.heads import HEADS
from bertlab.nn.interventions import Interventions
from bertlab.nn.trace import KINDS, Trace
from bertlab.text.batch import Batch

CONFIG = ModelConfig(
    vocab_size=61, hidden_size=32, num_layers=3, num_heads=4, intermediate_size=48, max_positions=24,
    hidden_dropout=0.0, attention_dropout=0.0,
)  # fmt: skip

NEEDS_CUDA = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")


def scramble(model: torch.nn.Module) -> torch.nn.Module:
    """Weights wide enough for attention to be uneven, and biases and norms that are not 0 and 1."""
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            noise = torch.randn(parameter.shape, generator=generator)
            is_scale = "norm" in name.lower() and name.endswith("weight")
            parameter.copy_(1 + 0.3 * noise if is_scale else 0.2 * noise)
    return model.eval()


def oracle(kind=transformers.BertForPreTraining, config: ModelConfig = CONFIG):
    return scramble(kind(transformers.BertConfig(**config.to_hf(), attn_implementation="eager")))


def ours(hf, config: ModelConfig = CONFIG) -> Bert:
    state, heads = hf_to_state(hf.state_dict(), config)
    model = Bert(config, heads)
    missing, unexpected = model.load_state_dict(state, strict=False)
    assert not unexpected
    assert all(name.startswith("pooler.") for name in missing)
    return model.eval()


def make_batch(paired: bool, padded: bool, B: int = 3, T: int = 11) -> Batch:
    generator = torch.Generator().manual_seed(5)
    input_ids_BT = torch.randint(1, CONFIG.vocab_size, (B, T), generator=generator)
    token_type_ids_BT = torch.zeros(B, T, dtype=torch.int64)
    attention_mask_BT = torch.ones(B, T, dtype=torch.bool)
    if paired:
        token_type_ids_BT[:, T // 2 :] = 1
    if padded:
        for row, length in enumerate((T, T - 4, 3)):
            attention_mask_BT[row, length:] = False
            input_ids_BT[row, length:] = 0
    return Batch(input_ids_BT, token_type_ids_BT, attention_mask_BT)


@pytest.fixture(scope="module")
def hf():
    return oracle()


@pytest.fixture(scope="module")
def model(hf):
    return ours(hf)


@pytest.fixture(
    params=[(False, False), (False, True), (True, False), (True, True)],
    ids=["single", "single-padded", "pair", "pair-padded"],
)
def batch(request):
    return make_batch(*request.param)


def hf_inputs(batch: Batch) -> dict:
    return {
        "input_ids": batch.input_ids_BT,
        "token_type_ids": batch.token_type_ids_BT,
        "attention_mask": batch.attention_mask_BT.long(),
    }


def assert_close(ours, theirs, where=None, tolerance=1e-5):
    """Equal within the tolerance, at the positions that hold a token."""
    if where is not None:
        ours, theirs = ours[where], theirs[where]
    torch.testing.assert_close(ours, theirs, atol=tolerance, rtol=tolerance)


# -- part by part ------------------------------------------------------------------------------------------------


@torch.no_grad()
def test_embeddings(hf, model, batch):
    theirs_BTH = hf.bert.embeddings(batch.input_ids_BT, batch.token_type_ids_BT)
    assert_close(model.embeddings(batch.input_ids_BT, batch.token_type_ids_BT), theirs_BTH)


@torch.no_grad()
@pytest.mark.parametrize("recorded", [False, True], ids=["fast", "recorded"])
def test_self_attention(hf, model, batch, recorded):
    hidden_BTH = hf.bert.embeddings(batch.input_ids_BT, batch.token_type_ids_BT)
    mask_B11T = additive_mask(batch.attention_mask_BT, torch.float32)
    theirs_BTH, theirs_probs_BNTT = hf.bert.encoder.layer[0].attention.self(hidden_BTH, mask_B11T)
    trace = Trace.of("head_outputs", *(["probs"] if recorded else []))
    model.encoder.layers[0].attention(hidden_BTH, mask_B11T, trace=trace)
    assert_close(trace["head_outputs"][0].transpose(1, 2).flatten(2), theirs_BTH)
    if recorded:
        assert_close(trace["probs"][0], theirs_probs_BNTT)


@torch.no_grad()
def test_block(hf, model, batch):
    hidden_BTH = hf.bert.embeddings(batch.input_ids_BT, batch.token_type_ids_BT)
    mask_B11T = additive_mask(batch.attention_mask_BT, torch.float32)
    theirs_BTH = hf.bert.encoder.layer[1](hidden_BTH, mask_B11T)
    theirs_BTH = theirs_BTH[0] if isinstance(theirs_BTH, tuple) else theirs_BTH
    assert_close(model.encoder.layers[1](hidden_BTH, mask_B11T), theirs_BTH)


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


@torch.no_grad()
def test_pooler(hf, model, batch):
    assert_close(model(batch).pooled_BH, hf.bert(**hf_inputs(batch)).pooler_output)


@torch.no_grad()
def test_masked_word_head(hf, model, batch):
    logits_BTV = model.mlm(model(batch).hidden_BTH)
    assert_close(logits_BTV, hf(**hf_inputs(batch)).prediction_logits, batch.attention_mask_BT, 2e-5)


@torch.no_grad()
def test_masked_word_head_takes_any_leading_shape(model, batch):
    hidden_BTH = model(batch).hidden_BTH
    assert_close(model.mlm(hidden_BTH[batch.attention_mask_BT]), model.mlm(hidden_BTH)[batch.attention_mask_BT])


@torch.no_grad()
def test_next_sentence_head(hf, model, batch):
    assert_close(model.nsp(model(batch).pooled_BH), hf(**hf_inputs(batch)).seq_relationship_logits)


@torch.no_grad()
def test_span_head(batch):
    hf = oracle(transformers.BertForQuestionAnswering)
    model = ours(hf)
    assert model.head_names == ("span",)
    start_BT, end_BT = model.span(model(batch).hidden_BTH).unbind(-1)
    theirs = hf(**hf_inputs(batch))
    assert_close(start_BT, theirs.start_logits, batch.attention_mask_BT)
    assert_close(end_BT, theirs.end_logits, batch.attention_mask_BT)


@torch.no_grad()
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_activations(activation):
    config = CONFIG.replace(activation=activation)
    hf, batch = oracle(config=config), make_batch(True, True)
    theirs = hf(**hf_inputs(batch)).prediction_logits
    model = ours(hf, config)
    assert_close(model.mlm(model(batch).hidden_BTH), theirs, batch.attention_mask_BT, 2e-5)


def test_gradients(batch):
    hf = oracle()
    model = ours(hf)
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
        names = hf_names(name)
        for theirs_name, grad in zip(names, parameter.grad.chunk(len(names)), strict=True):
            torch.testing.assert_close(
                grad, theirs_grads[theirs_name], atol=1e-5, rtol=1e-4, msg=lambda text, at=theirs_name: f"{at}: {text}"
            )


def test_hidden_rows_are_those_of_the_whole(hf, batch):
    rows_R = torch.tensor([0, 11, 22, 1, 13, 24, 1])
    rows_R = rows_R[batch.attention_mask_BT.flatten()[rows_R]]
    grads = []
    for pick in (lambda m: m.hidden_rows(batch, rows_R), lambda m: m(batch).hidden_BTH.flatten(0, 1)[rows_R]):
        model = ours(hf)
        hidden_RH = pick(model)
        model.mlm(hidden_RH).logsumexp(-1).sum().backward()
        grads.append((hidden_RH, *(p.grad for p in model.parameters() if p.grad is not None)))
    for mine, whole in zip(*grads, strict=True):
        assert_close(mine, whole, tolerance=1e-4)


# -- the two ways through attention ------------------------------------------------------------------------------


@torch.no_grad()
def test_fast_and_recorded_paths_agree(model, batch):
    recorded_BTH = model(batch, trace=Trace.of("probs")).hidden_BTH
    assert_close(model(batch).hidden_BTH, recorded_BTH, batch.attention_mask_BT)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("masked", [False, True])
def test_every_way_through_attention_is_the_same(masked, dtype):
    query, key, value = torch.randn(3, 2, 4, 7, 8, generator=torch.Generator().manual_seed(0)).to(dtype).unbind(0)
    mask_BT = torch.ones(2, 7, dtype=torch.bool)
    mask_BT[1, 4:] = not masked
    mask_B11T = additive_mask(mask_BT, dtype)
    assert (mask_B11T is None) == (not masked)
    scores = query.double() @ key.double().transpose(-1, -2) / 8**0.5
    by_hand = scores.masked_fill(~mask_BT[:, None, None, :], float("-inf")).softmax(-1) @ value.double()
    tolerance = 1e-5 if dtype == torch.float32 else 2e-2
    assert_close(attention(query, key, value, mask_B11T).double(), by_hand, tolerance=tolerance)
    written = recorded_attention(query, key, value, mask_B11T, layer=0, trace=None, interventions=None)
    assert_close(written.double(), by_hand, tolerance=tolerance)


@torch.no_grad()
def test_padding_is_left_out_on_the_way(hf):
    """Only tokens reach the feed-forward layers, every one of them, and the last layer's reach what was asked for."""
    model, batch, seen = ours(hf), make_batch(True, True), []
    for block in model.encoder.layers:
        block.feed_forward.register_forward_hook(lambda module, inputs, output: seen.append(inputs[0].shape[0]))
    tokens = int(batch.attention_mask_BT.sum())
    assert tokens < batch.attention_mask_BT.numel()
    hidden_BTH = model(batch).hidden_BTH
    assert seen == [tokens] * CONFIG.num_layers
    assert not hidden_BTH[~batch.attention_mask_BT].any()
    seen.clear()
    assert_close(model.pooled(batch), model.pooler(hidden_BTH))
    assert seen == [tokens] * (CONFIG.num_layers - 1) + [len(batch.input_ids_BT)]


def uneven_batch() -> Batch:
    """Rows of many lengths, one of them padded on its left, one of padding alone."""
    lengths_B = torch.tensor([11, 1, 6, 10, 3, 3, 0, 7])
    batch = make_batch(True, False, B=len(lengths_B))
    real_BT = torch.arange(11) < lengths_B[:, None]
    real_BT[2] = real_BT[2].flip(0)
    return Batch(batch.input_ids_BT * real_BT, batch.token_type_ids_BT, real_BT)


def row_by_row(query_XND, key_XND, value_XND, rows, dropout):
    """What a GPU's kernel does at once."""
    found = []
    for begin, end in itertools.pairwise(rows.offset_B1.tolist()):
        parts = (part[begin:end].transpose(0, 1) for part in (query_XND, key_XND, value_XND))
        found.append(F.scaled_dot_product_attention(*parts, is_causal=rows.left_to_right).transpose(0, 1))
    return torch.cat(found)


@pytest.mark.parametrize("left_to_right", [False, True])
@pytest.mark.parametrize("way", ["groups", "heads", "ragged"])
def test_rows_of_their_own_length_give_what_one_rectangle_gives(hf, way, left_to_right, monkeypatch):
    """Forward and backward; the way by heads in float32, which it is not taken for, so that digits can be compared."""
    ragged = way == "ragged"
    monkeypatch.setattr("bertlab.nn.bert.knows_ragged_rows", lambda like, head_size: ragged)
    monkeypatch.setattr("bertlab.nn.bert.pays_by_heads", lambda like: way == "heads")
    kernel = mock.Mock(side_effect=row_by_row)
    monkeypatch.setattr("bertlab.nn.attention.ragged_attention", kernel)
    model, batch = ours(hf), uneven_batch()
    model.config = model.config.replace(left_to_right=left_to_right)  # as pre-training says it, to a finished model
    real_BT, found = batch.attention_mask_BT, []
    tokens = Tokens.in_groups(real_BT, lambda real_GT: None)
    assert [(group.rows, group.longest) for group in tokens.groups] == [(2, 11), (2, 7), (2, 3), (1, 1), (1, 1)]
    for trace in (None, Trace.of("probs")):
        model.zero_grad()
        hidden_BTH = model(batch, trace=trace).hidden_BTH
        (hidden_BTH[real_BT] ** 2).sum().backward()
        found.append([hidden_BTH[real_BT].detach(), *(p.grad.clone() for p in model.encoder.parameters())])
    for apart, rectangle in zip(*found, strict=True):
        assert_close(apart, rectangle, tolerance=1e-4)
    assert kernel.call_count == ragged * CONFIG.num_layers
    begins_B = real_BT[:, 0]
    assert_close(model.pooled(batch)[begins_B], model(batch, trace=trace).pooled_BH[begins_B], tolerance=1e-4)


@pytest.mark.parametrize("dropout", [0.0, 0.25])
def test_grouped_attention_knows_its_gradient(dropout):
    """Against differences, in float64; chance is drawn alike each time."""
    real_BT = uneven_batch().attention_mask_BT
    tokens = Tokens.in_groups(real_BT, lambda real_GT: additive_mask(real_GT, torch.float64), num_heads=2)
    assert len(tokens.place_X) == real_BT.numel()  # too few for TOKENS_STEP: all padding is among them
    assert {group.longest for group in tokens.groups} == {32}
    qkv_XH = torch.randn(len(tokens.place_X), 3 * 4, dtype=torch.float64, requires_grad=True)

    def real_outputs(qkv_XH):
        torch.manual_seed(0)
        out_XH = grouped_attention(qkv_XH, tokens.groups, tokens.heads, dropout)
        return out_XH[real_BT.flatten()]

    assert torch.autograd.gradcheck(real_outputs, (qkv_XH,), fast_mode=True)
    if not dropout:
        hidden_BT3ND = qkv_XH.detach().view(*real_BT.shape, 3, 2, 2)
        query, key, value = hidden_BT3ND.permute(2, 0, 3, 1, 4)
        one_by_one = attention(query, key, value, additive_mask(real_BT, torch.float64))
        assert_close(real_outputs(qkv_XH), one_by_one.transpose(1, 2).flatten(2)[real_BT], tolerance=1e-12)


@pytest.mark.parametrize("dropout", [0.0, 0.25])
def test_a_few_queries_get_what_they_would_among_all(dropout):
    """Rows are asked three tokens, one twice, one alone, or nothing; gradients against differences, in float64."""
    real_BT = uneven_batch().attention_mask_BT
    tokens = Tokens.in_groups(real_BT, lambda real_GT: additive_mask(real_GT, torch.float64), num_heads=2)
    rows_R = torch.tensor([2, 7 * 11 + 4, 0, 9, 3 * 11 + 1, 7 * 11, 7 * 11 + 4])
    query_RH, key_value_XH = (torch.randn(rows, 4 * n).double() for n, rows in ((1, 7), (2, real_BT.numel())))
    parts = [part.requires_grad_() for part in (query_RH, key_value_XH)]
    heads, asked = tokens.heads, tokens.asked(rows_R)
    assert [longest for _, longest in asked.sizes] == [3]

    def outputs(query_RH, key_value_XH):
        torch.manual_seed(0)
        return asked_attention(query_RH, key_value_XH, tokens.groups, heads, asked, dropout)

    assert torch.autograd.gradcheck(outputs, parts, fast_mode=True)
    if not dropout:
        query_XH = torch.randn(real_BT.numel(), 4).double()
        query_XH[rows_R[:-1]] = query_RH.detach()[:-1]
        all_XH = grouped_attention(torch.cat([query_XH, key_value_XH], 1), tokens.groups, heads)
        assert_close(outputs(*parts)[:-1], all_XH[rows_R[:-1]], tolerance=1e-12)


def test_bfloat16_takes_the_bias_along_and_asks_the_last_layer_alone(hf):
    """What is only faster, and so would not be missed."""
    model, batch = ours(hf).bfloat16(), uneven_batch()
    alone = mock.patch("bertlab.nn.attention.asked_attention", wraps=asked_attention)
    along = mock.patch("bertlab.nn.fast.linear._Linear.apply", wraps=F.linear)
    with alone as asked, along as multiplied:
        model.hidden_rows(batch, torch.arange(len(batch.input_ids_BT)) * 11)
    assert asked.call_count == 1
    if bias_goes_along(torch.empty(1).bfloat16()):
        assert multiplied.call_count == 4 * CONFIG.num_layers + 1


def test_tokens_that_see_only_those_before_them_are_not_asked_alone():
    real_BT = uneven_batch().attention_mask_BT
    for T, can in ((1, True), (32, False)):
        tokens = Tokens.in_groups(real_BT, lambda real_GT, T=T: torch.zeros(len(real_GT), 1, T, 32), num_heads=2)
        assert tokens.can_ask is can


@pytest.mark.skipif(not bias_goes_along(torch.empty(1).bfloat16()), reason="this processor adds the bias afterwards")
def test_linear_layers_give_and_learn_what_they_do_elsewhere():
    layer, found = Linear(8, 3).bfloat16(), []
    for way in (layer, lambda inputs: F.linear(inputs, layer.weight, layer.bias)):
        layer.zero_grad()
        inputs = torch.linspace(-2, 2, 80).view(2, 5, 8).bfloat16().requires_grad_()
        out = way(inputs)
        (out.float() ** 2).sum().backward()
        found.append([out, inputs.grad, layer.weight.grad.clone(), layer.bias.grad.clone()])
    for own, other in zip(*found, strict=True):
        assert_close(own, other, tolerance=0.03)


def test_bfloat16_meets_few_shapes(hf, monkeypatch):
    """Whatever the lengths of the rows, products see multiples of a step, or the whole rectangle."""
    monkeypatch.setattr("bertlab.nn.fast.packing.TOKENS_STEP", 16)
    model, batch, seen = ours(hf).to(torch.bfloat16), uneven_batch(), []
    model.encoder.layers[0].feed_forward.register_forward_hook(
        lambda module, inputs, output: seen.append(len(inputs[0]))
    )
    for shorter in range(12):
        few = batch.attention_mask_BT & (torch.arange(11) >= shorter)
        model(Batch(batch.input_ids_BT, batch.token_type_ids_BT, few))
    assert set(seen) <= {16, 32, 48, 64, 80, few.numel()}
    assert len(set(seen)) > 2


@pytest.mark.cuda
@NEEDS_CUDA
@pytest.mark.parametrize("left_to_right", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_cuda_leaves_padding_out_forward_and_backward(hf, dtype, left_to_right):
    """In half precision rows go to the kernel as they are, in float32 as a rectangle: either is the processor's."""
    batch, found = uneven_batch(), []
    for device, kind in (("cpu", torch.float32), ("cuda", dtype)):
        model = ours(hf, CONFIG.replace(left_to_right=left_to_right)).to(device, kind)
        hidden_BTH = model(batch.to(device)).hidden_BTH
        real = hidden_BTH[batch.attention_mask_BT.to(device)]
        real.float().square().mean().backward()
        found.append([real.detach(), *(p.grad for p in model.encoder.parameters())])
    for here, there in zip(*found, strict=True):
        off = (here - there.cpu().float()).norm() / here.norm().clamp(min=1e-3)
        assert off < (1e-4 if dtype == torch.float32 else 0.05)


@pytest.mark.cuda
@NEEDS_CUDA
def test_cuda_drops_out_in_the_kernel_too(hf):
    batch, found = uneven_batch().to("cuda"), []
    model = ours(hf, CONFIG.replace(attention_dropout=0.3)).to("cuda", torch.bfloat16).train()
    for seed in (0, 1, 0):
        torch.manual_seed(seed)
        found.append(model(batch).hidden_BTH[batch.attention_mask_BT])
    found[0].float().square().mean().backward()
    assert all(p.grad is None or p.grad.isfinite().all() for p in model.parameters())
    assert torch.equal(found[0], found[2])
    assert not torch.equal(found[0], found[1])


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5])
def test_dropout_drops_its_share_and_keeps_the_sum(share):
    torch.manual_seed(0)
    hidden = torch.full((301, 1001), 2.0, requires_grad=True)
    found = dropout(hidden, share)
    found.sum().backward()
    gone = found == 0
    assert float(gone.float().mean()) == pytest.approx(share, abs=0.003)
    assert_close(found[~gone], torch.full_like(found[~gone], 2 / (1 - share)))
    assert_close(hidden.grad, found.detach() / 2)
    torch.manual_seed(0)
    assert torch.equal(dropout(hidden, share), found)
    # neighbours that share a random number are dropped independently
    together = (gone.flatten()[:301_000].view(-1, 4).float() - share).T
    assert share == 0 or torch.corrcoef(together).triu(1).abs().max() < 0.02
    assert Dropout(share).eval()(hidden) is hidden


def test_padding_changes_nothing(model):
    short = make_batch(True, False, B=1, T=9)
    long = make_batch(True, False, B=1, T=14)
    long.input_ids_BT[:, :9], long.token_type_ids_BT[:, :9] = short.input_ids_BT, short.token_type_ids_BT
    long.attention_mask_BT[:, 9:] = False
    assert_close(model(long).hidden_BTH[:, :9], model(short).hidden_BTH)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("trace", [None, Trace.of("probs")], ids=["fast", "recorded"])
def test_a_row_of_padding_alone_stays_finite(hf, dtype, trace):
    model, batch = ours(hf).to(dtype), make_batch(False, True)
    batch.attention_mask_BT[1] = False
    assert model(batch, trace=trace).hidden_BTH.isfinite().all()


def test_no_mask_means_no_padding(model):
    batch = make_batch(True, False)
    unmasked = Batch(batch.input_ids_BT, batch.token_type_ids_BT, None)
    assert_close(model(unmasked).hidden_BTH, model(batch).hidden_BTH, tolerance=0)


# -- precision, devices, training --------------------------------------------------------------------------------


def test_trains_in_pure_bfloat16(hf, batch):
    model, reference = ours(hf).to(torch.bfloat16), ours(hf)
    encoded = model(batch)
    assert encoded.hidden_BTH.dtype == torch.bfloat16
    off = (encoded.hidden_BTH - reference(batch).hidden_BTH)[batch.attention_mask_BT].abs().mean()
    assert off < 0.05, f"bfloat16 is {off} away from float32"
    (
        model.mlm(encoded.hidden_BTH).float().logsumexp(-1).mean() + model.nsp(encoded.pooled_BH).float().mean()
    ).backward()
    assert all(p.grad.dtype == torch.bfloat16 and p.grad.isfinite().all() for p in model.parameters())


def test_dropout_is_for_training_only():
    torch.manual_seed(0)
    model, batch = Bert(CONFIG.replace(hidden_dropout=0.5, attention_dropout=0.5)), make_batch(True, False)
    model.train()
    assert not torch.equal(model(batch).hidden_BTH, model(batch).hidden_BTH)
    model.eval()
    assert torch.equal(model(batch).hidden_BTH, model(batch).hidden_BTH)


@pytest.mark.parametrize("knob", ["hidden_dropout", "attention_dropout"])
def test_each_dropout_acts(knob):
    model, batch = Bert(CONFIG.replace(**{knob: 0.5})).train(), make_batch(True, False)
    assert not torch.equal(model(batch).hidden_BTH, model(batch).hidden_BTH)


def test_compiles_to_one_graph(model):
    batch = make_batch(True, True)
    compiled = torch.compile(lambda: model(batch).hidden_BTH, backend="eager", fullgraph=True)
    assert_close(compiled(), model(batch).hidden_BTH, batch.attention_mask_BT)


def test_few_fused_graphs_serve_all_blocks_and_any_number_of_tokens(hf):
    plain, fused, backend = ours(hf).train(), ours(hf).train(), CompileCounterWithBackend("aot_eager")
    fuse(fused, backend)
    for B in (3, 4, 6):
        for padded in (True, False):
            batch = make_batch(True, padded, B=B)
            for model in (plain, fused):
                model.zero_grad()
                model(batch).hidden_BTH.square().mean().backward()
            for here, there in zip(plain.parameters(), fused.parameters(), strict=True):
                assert here.grad is there.grad is None or assert_close(here.grad, there.grad) is None
    assert backend.frame_count <= 4
    other = copy.deepcopy(fused)
    torch.nn.init.zeros_(other.encoder.layers[0].feed_forward.down.weight)
    plain.load_state_dict(other.state_dict())
    with torch.inference_mode():
        assert_close(other.eval()(batch).hidden_BTH, plain.eval()(batch).hidden_BTH)


@pytest.mark.cuda
@NEEDS_CUDA
@torch.no_grad()
def test_cuda_agrees_with_cpu(hf, batch):
    expected_BTH = ours(hf)(batch).hidden_BTH
    model = ours(hf).to("cuda")
    for trace in (None, Trace.of("probs")):
        assert_close(model(batch.to("cuda"), trace=trace).hidden_BTH.cpu(), expected_BTH, batch.attention_mask_BT, 1e-4)


def test_fresh_weights():
    torch.manual_seed(0)
    model = Bert(CONFIG.replace(vocab_size=2000, labels=("a", "b")), heads=HEADS)
    for name, parameter in model.named_parameters():
        if name.endswith("bias"):
            assert not parameter.any(), name
        elif "norm" in name:
            assert (parameter == 1).all(), name
        else:
            assert parameter.abs().max() <= 0.04, name
    # a normal cut at two standard deviations has 0.88 of its standard deviation left
    assert model.embeddings.token.weight.std().item() == pytest.approx(0.0176, abs=3e-4)


def test_the_decoder_is_tied(model):
    assert not any("decoder" in name for name in model.state_dict())
    assert sum(p.shape == (CONFIG.vocab_size, CONFIG.hidden_size) for p in model.parameters()) == 1


# -- what is refused ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("head", HEADS)
def test_a_missing_head_is_named(head):
    with pytest.raises(MissingHead) as error:
        getattr(Bert(CONFIG), head)(torch.zeros(1, 1, CONFIG.hidden_size))
    assert HEADS[head].title in str(error.value)
    assert "\n" not in str(error.value)


def test_heads_can_be_added():
    model = Bert(CONFIG, ["nsp"]).to(torch.bfloat16)
    model.add_heads(["nsp", "span"])
    assert model.head_names == ("nsp", "span")
    assert model.span(torch.zeros(2, 5, CONFIG.hidden_size, dtype=torch.bfloat16)).shape == (2, 5, 2)


def test_too_many_tokens(model):
    with pytest.raises(TextError, match="25 tokens are too many: this model has 24 positions"):
        model(make_batch(False, False, T=25))


# -- trace -------------------------------------------------------------------------------------------------------


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


# -- interventions -----------------------------------------------------------------------------------------------------


@torch.no_grad()
@pytest.mark.parametrize("layer", range(CONFIG.num_layers))
@pytest.mark.parametrize("head", range(CONFIG.num_heads))
def test_knocking_a_head_out_is_zeroing_its_columns(hf, model, batch, layer, head):
    cut, D = ours(hf), CONFIG.head_size
    cut.encoder.layers[layer].attention.out.weight[:, head * D : (head + 1) * D] = 0
    expected_BTH = cut(batch).hidden_BTH
    interventions = Interventions.knock_out(CONFIG, [(layer, head)])
    real_BT = batch.attention_mask_BT
    assert_close(model(batch, interventions=interventions).hidden_BTH, expected_BTH, real_BT)
    assert_close(model(batch, interventions=interventions, trace=Trace.of("probs")).hidden_BTH, expected_BTH, real_BT)
    assert (model(batch).hidden_BTH - expected_BTH).abs().max() > 1e-3


@torch.no_grad()
def test_many_knock_outs_run_as_one_batch(model):
    one = make_batch(True, False, B=1)
    groups = [[], [(0, 1)], [(0, 1), (2, 3)]]
    three = Batch(*(getattr(one, name).expand(3, -1) for name in vars(one)))
    together_BTH = model(three, interventions=Interventions.knock_outs(CONFIG, groups)).hidden_BTH
    for row, heads in enumerate(groups):
        assert_close(together_BTH[row], model(one, interventions=Interventions.knock_out(CONFIG, heads)).hidden_BTH[0])


@torch.no_grad()
def test_a_row_of_attention_is_replaced(model, batch):
    T, plain, changed = 11, Trace.of("probs", "value", "head_outputs"), Trace.of("probs", "head_outputs")
    model(batch, trace=plain)
    model(batch, trace=changed, interventions=Interventions(rows={(1, 2, 4): torch.full((T,), 1 / T)}))
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


def test_gradients_flow_through_what_is_put_in(model):
    hidden_H = torch.zeros(CONFIG.hidden_size, requires_grad=True)
    probs_T = torch.full((11,), 1 / 11, requires_grad=True)
    interventions = Interventions(patches={(0, 3): hidden_H}, rows={(1, 0, 0): probs_T})
    model(make_batch(False, False), interventions=interventions).pooled_BH.sum().backward()
    assert hidden_H.grad.abs().sum() > 0
    assert probs_T.grad.abs().sum() > 0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Interventions.knock_out(CONFIG, [(3, 0)]), "there is no layer 3: they go from 0 to 2"),
        (lambda: Interventions.knock_out(CONFIG, [(0, 4)]), "there is no head 4: they go from 0 to 3"),
        (lambda: Interventions.knock_out(CONFIG, [(-1, 0)]), "there is no layer -1"),
        (lambda: Interventions(rows={(0, 0, 11): torch.zeros(11)}), "there is no position 11: they go from 0 to 10"),
        (lambda: Interventions(rows={(0, 9, 0): torch.zeros(11)}), "there is no head 9"),
        (lambda: Interventions(rows={(0, 0, 0): torch.zeros(5)}), r"has the shape \[5\]; it must end in 11"),
        (lambda: Interventions(patches={(4, 0): torch.zeros(32)}), "there is no layer 4: they go from 0 to 3"),
        (lambda: Interventions(patches={(0, 0): torch.zeros(8)}), r"has the shape \[8\]; it must end in 32"),
        (lambda: Interventions(head_scale_LBN=torch.ones(1, 3, 4)), r"this model's is \[3, batch, 4\]"),
        (lambda: Interventions(head_scale_LBN=torch.ones(3, 2, 4)), "2 rows; the batch has 3"),
    ],
)
def test_surgery_on_what_is_not_there(model, make, message):
    with pytest.raises(InterventionError, match=message) as error:
        model(make_batch(True, False), interventions=make())
    assert "\n" not in str(error.value)
