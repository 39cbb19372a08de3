"""`nn/fast` against `nn/bert.py`: every layout, forward and backward, in every precision, with and without padding.

Shape legend: B batch, T tokens, H hidden, N heads, D head size, X tokens of all rows, G rows of a length bucket,
R selected positions, P positions of one row, I inputs, O outputs of a linear layer.
"""

import copy
import itertools
from unittest import mock

import pytest
import torch
import torch.nn.functional as F
from support.encoders import CONFIG, assert_close, make_batch, oracle, ours, uneven_batch
from torch._dynamo.testing import CompileCounterWithBackend

from bertlab.nn.bert import Bert, make_additive_mask
from bertlab.nn.fast import layouts, linear
from bertlab.nn.fast.ablation import ablate_each_head
from bertlab.nn.fast.attention import attention, padded_attention
from bertlab.nn.fast.bucketed_attention import HeadBucketLayout
from bertlab.nn.fast.buckets import BucketLayout
from bertlab.nn.fast.dropout import Dropout, dropout
from bertlab.nn.fast.layouts import PaddedLayout, VarlenLayout, choose_layout
from bertlab.nn.fast.model import FastBert, compile_layers
from bertlab.nn.interventions import Interventions
from bertlab.nn.trace import Trace
from bertlab.text.batch import Batch

NEEDS_CUDA = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")


@pytest.fixture(scope="module")
def hf():
    return oracle()


def varlen_row_by_row(query_XND, key_XND, value_XND, row_offsets, max_length, causal, dropout_rate):
    """Variable-length attention computed for each row separately; a GPU computes it in one kernel."""
    parts = []
    for begin, end in itertools.pairwise(row_offsets.tolist()):
        row = (part[begin:end].transpose(0, 1) for part in (query_XND, key_XND, value_XND))
        parts.append(F.scaled_dot_product_attention(*row, is_causal=causal).transpose(0, 1))
    return torch.cat(parts)


def layout_of(name: str, batch: Batch, hidden_BTH: torch.Tensor, causal: bool):
    """The layout of this name, even if `choose_layout` would choose another one for this batch."""
    shape, real_BT = tuple(batch.input_ids_BT.shape), batch.attention_mask_BT
    match name:
        case "padded":
            return PaddedLayout(shape, make_additive_mask(real_BT, hidden_BTH, causal=causal))
        case "buckets":
            return BucketLayout(real_BT, hidden_BTH, causal)
        case "head-buckets":
            return HeadBucketLayout(real_BT, hidden_BTH, causal, CONFIG.num_heads)
        case "varlen":
            return VarlenLayout(real_BT, batch.lengths, causal)


def results(model: Bert, batch: Batch, positions_R: torch.Tensor | None) -> list[torch.Tensor]:
    """Hidden states of all tokens or at the selected positions, then the gradients of embeddings and encoder."""
    model.zero_grad()
    hidden = (
        model(batch).hidden_BTH[batch.attention_mask_BT]
        if positions_R is None
        else model.encode_positions(batch, positions_R)
    )
    (hidden.float() ** 2).mean().backward()
    weights = (*model.embeddings.parameters(), *model.encoder.parameters())
    return [hidden.detach().float(), *(p.grad.float().clone() for p in weights)]


@pytest.mark.parametrize(
    ("padded", "causal", "selected"),  # every pair of two values
    [(False, False, False), (False, True, True), (True, False, True), (True, True, False)],
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=["float32", "bfloat16"])
@pytest.mark.parametrize("layout", ["padded", "buckets", "head-buckets", "varlen"])
def test_every_layout_equals_the_reference_model(hf, layout, dtype, padded, causal, selected, monkeypatch):
    monkeypatch.setattr(layouts, "varlen_attention", varlen_row_by_row)
    choose = mock.Mock(side_effect=lambda config, batch, hidden_BTH: layout_of(layout, batch, hidden_BTH, causal))
    monkeypatch.setattr("bertlab.nn.fast.model.choose_layout", choose)
    batch = uneven_batch() if padded else make_batch(True, False, B=5)
    config = CONFIG.replace(left_to_right=causal)
    plain, fast = (ours(hf, config, kind).to(dtype) for kind in (Bert, FastBert))
    positions_R = None
    if selected:
        positions_R = torch.tensor([0, 8, 28, 1, 34, 28])  # one of them twice
        assert batch.attention_mask_BT.flatten()[positions_R].all()
    expected, got = (results(model, batch, positions_R) for model in (plain, fast))
    assert choose.call_count == 1
    for ours_X, theirs_X in zip(got, expected, strict=True):
        if dtype == torch.float32:
            assert_close(ours_X, theirs_X, tolerance=1e-5)
        else:  # eight bits of precision, over three layers
            assert (ours_X - theirs_X).norm() <= 0.05 * theirs_X.norm() + 1e-3


@pytest.mark.parametrize("causal", [False, True])
def test_the_pooled_output_equals_that_of_the_reference_model(hf, causal):
    batch, config = uneven_batch(), CONFIG.replace(left_to_right=causal)
    plain, fast = (ours(hf, config, kind) for kind in (Bert, FastBert))
    starts_with_token_B = batch.attention_mask_BT[:, 0]
    expected_BH = plain(batch).pooled_BH[starts_with_token_B]
    for pooled_BH in (plain.pool(batch), fast.pool(batch), fast(batch).pooled_BH):
        assert_close(pooled_BH[starts_with_token_B], expected_BH)


@torch.no_grad()
def test_a_pass_with_trace_or_interventions_equals_the_reference_exactly(hf):
    plain, fast, batch = ours(hf), ours(hf, kind=FastBert), uneven_batch()
    for options in ({"trace": Trace.of("probs")}, {"interventions": Interventions.ablate_heads(CONFIG, [(0, 1)])}):
        assert torch.equal(fast(batch, **options).hidden_BTH, plain(batch, **options).hidden_BTH)


def test_the_layout_is_chosen_by_device_precision_and_padding(monkeypatch):
    full, padded = make_batch(True, False), make_batch(True, True)
    unmasked = Batch(full.input_ids_BT, full.token_type_ids_BT, None)

    def layout_type(batch, dtype):
        return type(choose_layout(CONFIG, batch, torch.zeros(*batch.input_ids_BT.shape, 32, dtype=dtype)))

    for batch in (full, unmasked):
        assert layout_type(batch, torch.float32) is PaddedLayout
        assert layout_type(batch, torch.bfloat16) is HeadBucketLayout
    assert layout_type(padded, torch.float32) is BucketLayout
    assert layout_type(padded, torch.bfloat16) is HeadBucketLayout


@torch.no_grad()
def test_padding_is_not_computed(hf):
    """Only tokens reach the feed-forward layers, and in the last layer only the selected ones."""
    model, batch, row_counts = ours(hf, kind=FastBert), make_batch(True, True), []
    for layer in model.encoder.layers:
        layer.feed_forward.register_forward_hook(lambda module, inputs, output: row_counts.append(inputs[0].shape[0]))
    tokens = int(batch.attention_mask_BT.sum())
    assert tokens < batch.attention_mask_BT.numel()
    hidden_BTH = model(batch).hidden_BTH
    assert row_counts == [tokens] * CONFIG.num_layers
    assert not hidden_BTH[~batch.attention_mask_BT].any()
    row_counts.clear()
    assert_close(model.pool(batch), model.pooler(hidden_BTH))
    assert row_counts == [tokens] * (CONFIG.num_layers - 1) + [len(batch.input_ids_BT)]


def test_bfloat16_products_have_few_different_shapes(hf, monkeypatch):
    """For any lengths of the rows, a product has a multiple of TOKENS_STEP rows, or all B * T positions."""
    monkeypatch.setattr("bertlab.nn.fast.bucketed_attention.TOKENS_STEP", 16)
    model, batch, row_counts = ours(hf, kind=FastBert).to(torch.bfloat16), uneven_batch(), []
    model.encoder.layers[0].feed_forward.register_forward_hook(
        lambda module, inputs, output: row_counts.append(len(inputs[0]))
    )
    for removed in range(12):
        fewer_BT = batch.attention_mask_BT & (torch.arange(11) >= removed)
        model(Batch(batch.input_ids_BT, batch.token_type_ids_BT, fewer_BT))
    assert set(row_counts) <= {16, 32, 48, 64, 80, fewer_BT.numel()}
    assert len(set(row_counts)) > 2


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("masked", [False, True])
def test_attention_equals_its_formula(masked, dtype):
    query, key, value = torch.randn(3, 2, 4, 7, 8, generator=torch.Generator().manual_seed(0)).to(dtype).unbind(0)
    mask_BT = torch.ones(2, 7, dtype=torch.bool)
    mask_BT[1, 4:] = not masked
    scores = query.double() @ key.double().transpose(-1, -2) / 8**0.5
    expected = scores.masked_fill(~mask_BT[:, None, None, :], float("-inf")).softmax(-1) @ value.double()
    got = attention(query, key, value, make_additive_mask(mask_BT, query[:, 0]))
    assert_close(got.double(), expected, tolerance=1e-5 if dtype == torch.float32 else 2e-2)


@pytest.mark.parametrize("share", [0.0, 0.25])
def test_bucketed_attention_has_the_right_gradient(share):
    """Compared with finite differences in float64, with the same dropout in every call."""
    real_BT = uneven_batch().attention_mask_BT
    layout = HeadBucketLayout(real_BT, torch.zeros(1, dtype=torch.float64), causal=False, num_heads=2)
    assert len(layout.position_X) == real_BT.numel()  # fewer tokens than TOKENS_STEP, so padding is included
    assert {bucket.padded_length for bucket in layout.buckets} == {32}
    qkv_XC = torch.randn(len(layout.position_X), 3 * 4, dtype=torch.float64, requires_grad=True)

    def real_outputs(qkv_XC):
        torch.manual_seed(0)
        return layout.attend(qkv_XC, 2, share)[real_BT.flatten()]

    assert torch.autograd.gradcheck(real_outputs, (qkv_XC,), fast_mode=True)
    if not share:
        qkv_BTC = qkv_XC.detach().view(*real_BT.shape, -1)
        expected_BTH = padded_attention(qkv_BTC, 2, make_additive_mask(real_BT, qkv_BTC), 0.0)
        assert_close(real_outputs(qkv_XC), expected_BTH[real_BT], tolerance=1e-12)


@torch.no_grad()
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("layer", range(CONFIG.num_layers))
def test_ablating_each_head_equals_one_pass_per_head(hf, layer, causal):
    model, one, trace = ours(hf, CONFIG.replace(left_to_right=causal)), make_batch(True, False, B=1), Trace.of("hidden")
    model(one, trace=trace)
    positions_P = torch.tensor([0, 4])
    got_NPH = ablate_each_head(model, one, trace["hidden"][layer], layer, positions_P, batch_size=3)
    for head in range(CONFIG.num_heads):
        interventions = Interventions.ablate_heads(CONFIG, [(layer, head)])
        assert_close(got_NPH[head], model(one, interventions=interventions).hidden_BTH[0, positions_P])


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5])
def test_dropout_drops_its_share_and_scales_the_rest(share):
    torch.manual_seed(0)
    hidden = torch.full((301, 1001), 2.0, requires_grad=True)
    output = dropout(hidden, share)
    output.sum().backward()
    dropped = output == 0
    assert float(dropped.float().mean()) == pytest.approx(share, abs=0.003)
    assert_close(output[~dropped], torch.full_like(output[~dropped], 2 / (1 - share)))
    assert_close(hidden.grad, output.detach() / 2)
    torch.manual_seed(0)
    assert torch.equal(dropout(hidden, share), output)
    # each random number decides four neighbours, which must be dropped independently
    groups = (dropped.flatten()[:301_000].view(-1, 4).float() - share).T
    assert share == 0 or torch.corrcoef(groups).triu(1).abs().max() < 0.02
    assert Dropout(share).eval()(hidden) is hidden


def test_compiles_to_one_graph(hf):
    model, batch = ours(hf, kind=FastBert), make_batch(True, True)
    compiled = torch.compile(lambda: model(batch).hidden_BTH, backend="eager", fullgraph=True)
    assert_close(compiled(), model(batch).hidden_BTH, batch.attention_mask_BT)


def test_few_compiled_graphs_serve_all_layers_and_any_number_of_tokens(hf):
    plain, compiled = (ours(hf, kind=FastBert).train() for _ in range(2))
    backend = CompileCounterWithBackend("aot_eager")
    compile_layers(compiled, backend)
    for B in (3, 4, 6):
        for padded in (True, False):
            batch = make_batch(True, padded, B=B)
            for model in (plain, compiled):
                model.zero_grad()
                model(batch).hidden_BTH.square().mean().backward()
            for expected, got in zip(plain.parameters(), compiled.parameters(), strict=True):
                assert expected.grad is got.grad is None or assert_close(got.grad, expected.grad) is None
    assert backend.frame_count <= 4
    other = copy.deepcopy(compiled)
    torch.nn.init.zeros_(other.encoder.layers[0].feed_forward.down.weight)
    plain.load_state_dict(other.state_dict())
    with torch.inference_mode():
        assert_close(other.eval()(batch).hidden_BTH, plain.eval()(batch).hidden_BTH)


@pytest.mark.cuda
@NEEDS_CUDA
@pytest.mark.parametrize("left_to_right", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_cuda_without_padding_equals_the_cpu_forward_and_backward(hf, dtype, left_to_right):
    """In half precision the kernel gets the rows without padding, in float32 with it."""
    batch, outputs = uneven_batch(), []
    for device, kind in (("cpu", torch.float32), ("cuda", dtype)):
        model = ours(hf, CONFIG.replace(left_to_right=left_to_right), FastBert).to(device, kind)
        hidden_BTH = model(batch.to(device)).hidden_BTH
        real = hidden_BTH[batch.attention_mask_BT.to(device)]
        real.float().square().mean().backward()
        outputs.append([real.detach(), *(p.grad for p in model.encoder.parameters())])
    for cpu, cuda in zip(*outputs, strict=True):
        error = (cpu - cuda.cpu().float()).norm() / cpu.norm().clamp(min=1e-3)
        assert error < (1e-4 if dtype == torch.float32 else 0.05)


@pytest.mark.cuda
@NEEDS_CUDA
def test_cuda_attention_dropout_depends_on_the_seed(hf):
    batch, outputs = uneven_batch().to("cuda"), []
    model = ours(hf, CONFIG.replace(attention_dropout=0.3), FastBert).to("cuda", torch.bfloat16).train()
    for seed in (0, 1, 0):
        torch.manual_seed(seed)
        outputs.append(model(batch).hidden_BTH[batch.attention_mask_BT])
    outputs[0].float().square().mean().backward()
    assert all(p.grad is None or p.grad.isfinite().all() for p in model.parameters())
    assert torch.equal(outputs[0], outputs[2])
    assert not torch.equal(outputs[0], outputs[1])


@pytest.mark.cuda
@NEEDS_CUDA
@torch.no_grad()
@pytest.mark.parametrize("padded", [False, True])
def test_cuda_agrees_with_cpu(hf, padded):
    batch = make_batch(True, padded)
    expected_BTH = ours(hf)(batch).hidden_BTH
    model = ours(hf, kind=FastBert).to("cuda")
    for trace in (None, Trace.of("probs")):
        assert_close(model(batch.to("cuda"), trace=trace).hidden_BTH.cpu(), expected_BTH, batch.attention_mask_BT, 1e-4)


@pytest.mark.parametrize("operator", ["simulated", "real"])
def test_a_linear_layer_with_fused_bias_equals_the_plain_one(operator, monkeypatch):
    """Forward, and the gradients of the inputs, the weight and the bias."""
    if operator == "real" and not linear.supports_fused_bias(torch.empty(1, dtype=torch.bfloat16)):
        pytest.skip("needs a CPU that multiplies bfloat16")
    if operator == "simulated":
        monkeypatch.setattr(linear, "supports_fused_bias", lambda like: True)
        monkeypatch.setattr(linear, "multiply_with_bias", F.linear)
    dtype = torch.bfloat16 if operator == "real" else torch.float64
    plain = torch.nn.Linear(24, 40, dtype=dtype)
    fused = linear.Linear.from_linear(copy.deepcopy(plain))
    outputs = []
    for layer in (plain, fused):
        inputs_BTI = torch.linspace(-1, 1, 6 * 5 * 24, dtype=dtype).view(6, 5, 24).requires_grad_()
        outputs_BTO = layer(inputs_BTI)
        outputs_BTO.square().sum().backward()
        outputs.append([outputs_BTO, inputs_BTI.grad, layer.weight.grad, layer.bias.grad])
    assert type(outputs[1][0].grad_fn).__name__ == "_FusedLinearBackward"
    for expected, got in zip(*outputs, strict=True):
        torch.testing.assert_close(got, expected, rtol=2e-2 if operator == "real" else 1e-12, atol=1e-12)
