"""Replaced-token detection: labels, loss, shared embeddings, and runs that train a generator and a discriminator."""

import copy
import itertools
import json
import math
from dataclasses import replace

import pytest
import torch
import transformers
from support.encoders import assert_close
from support.errors import command_error, raises_error
from support.pages import bodies, open_page
from support.stories import losses, settings
from support.texts import text

from bertlab.checkpoints import checkpoint
from bertlab.config.errors import BertlabError
from bertlab.config.presets import change_family, get_preset, make_generator_config
from bertlab.nn.fast.model import FastBert
from bertlab.nn.replaced_tokens import SHARED_EMBEDDINGS, ReplacedTokenModel
from bertlab.tasks.masked_lm import PretrainingLoss
from bertlab.tasks.replaced_tokens import ReplacedTokenLoss, replace_tokens, sample_tokens
from bertlab.text.batch import Batch
from bertlab.text.pretraining.corpus import Corpus
from bertlab.text.pretraining.masking import IGNORED, MaskRule
from bertlab.text.pretraining.sampler import PairSampler
from bertlab.text.tokenizers.wordpiece import Tokenizer
from bertlab.training.evaluate import EvaluateConfig, evaluate
from bertlab.training.gradient import GlobalGradient
from bertlab.training.optimizers import OptimConfig, Optimizer
from bertlab.training.pretraining.config import make_recipe_settings, recipe_from_arguments
from bertlab.training.pretraining.pretrain import pretrain


def electra_settings(corpus, out, **changes):
    base = settings(corpus, out, **changes)
    defaults = make_recipe_settings(corpus, out, family="electra")
    names = ("family", "token_objective", "pair_objective", "mask_share", "random_share")
    own = {name: getattr(defaults, name) for name in names} | {"start": "paper"}
    return replace(base, **own | changes)


@pytest.fixture
def tokenizer(corpus):
    return Tokenizer.load(corpus / "tokenizer")


@pytest.fixture
def model(tokenizer):
    torch.manual_seed(0)
    config = get_preset("tiny").replace(vocab_size=tokenizer.vocab_size, hidden_dropout=0.0, attention_dropout=0.0)
    config = change_family(config, "electra")
    generator = FastBert(make_generator_config(config, 0.25).replace(initializer_range=0.3), heads=("mlm",))
    return ReplacedTokenModel(FastBert(config, heads=("rtd",)), generator)


@pytest.fixture
def batch(corpus, tokenizer):
    return next(PairSampler(Corpus.open(corpus), tokenizer, 9, 32, seed=0, pair_objective="none"))


@pytest.fixture
def loss(tokenizer):
    return ReplacedTokenLoss(PretrainingLoss(MaskRule.for_tokenizer(tokenizer), "none"))


def test_a_sampled_token_that_equals_the_original_counts_as_original():
    ids_BT = torch.tensor([[1, 10, 11, 12, 2], [1, 20, 21, 2, 0]])
    inputs = Batch(ids_BT, torch.zeros_like(ids_BT), ids_BT != 0)
    index_P, labels_P = torch.tensor([1, 3, 6, 7]), torch.tensor([10, 12, 20, IGNORED])
    changed, is_replaced_BT = replace_tokens(inputs, torch.tensor([10, 99, 98, 97]), index_P, labels_P)
    assert changed.input_ids_BT.tolist() == [[1, 10, 11, 99, 2], [1, 98, 21, 2, 0]]
    assert is_replaced_BT.nonzero().tolist() == [[0, 3], [1, 1]]


def test_tokens_are_sampled_from_the_prediction_and_depend_only_on_the_keys(model):
    hidden_1H = torch.randn(1, model.generator.config.hidden_size)
    keys = torch.arange(20_000)
    ids_P = sample_tokens(model, hidden_1H.expand(len(keys), -1), keys)
    probs_V = model.generator.mlm(hidden_1H)[0].softmax(-1)
    counts_V = torch.bincount(ids_P, minlength=len(probs_V)) / len(keys)
    assert (counts_V - probs_V).abs().max() < 4 * (probs_V * (1 - probs_V) / len(keys)).max().sqrt()
    assert torch.equal(sample_tokens(model, hidden_1H.expand(500, -1), keys[1500:2000]), ids_P[1500:2000])


def test_generator_and_discriminator_share_their_embeddings(model, loss, batch):
    for copied in (model, copy.deepcopy(model).to(torch.bfloat16)):
        for name in SHARED_EMBEDDINGS:
            assert getattr(copied.generator.embeddings, name) is getattr(copied.discriminator.embeddings, name)
    assert model.generator.embeddings.projection is not model.discriminator.embeddings.projection
    assert model.generator.config.hidden_size == model.discriminator.config.hidden_size // 4
    names = [name for name, _ in model.named_parameters()]
    assert len([name for name in names if name.endswith("embeddings.token.weight")]) == 1
    optimizer = Optimizer(model, OptimConfig(), torch.float32)
    loss(model, batch).value.backward()
    optimizer.clip()
    optimizer.step(0.1)
    first = model.discriminator.embeddings.token.weight
    assert torch.equal(first, model.generator.embeddings.token.weight)
    assert first.data_ptr() == model.generator.embeddings.token.weight.data_ptr()


def test_the_loss_is_that_of_transformers(model, loss, batch):
    from bertlab.checkpoints.maps import state_to_hf

    inputs, index_P, labels_P = targets = loss.mlm_loss.make_targets(batch)
    sampled_P = sample_tokens(model, loss.mlm_loss.encode(model.generator, targets), batch.key_B)
    changed, is_replaced_BT = replace_tokens(batch.inputs, sampled_P, index_P, labels_P)
    labels_BT = torch.full(inputs.input_ids_BT.shape, IGNORED)
    used_P = labels_P != IGNORED
    labels_BT.view(-1)[index_P[used_P]] = labels_P[used_P]
    expected = {}
    for ours, kind, fed, labels in (
        (model.generator, "MaskedLM", inputs, labels_BT),
        (model.discriminator, "PreTraining", changed, is_replaced_BT),
    ):
        config = transformers.ElectraConfig(**ours.config.to_hf())
        theirs = getattr(transformers, f"ElectraFor{kind}")(config).eval()
        missing = theirs.load_state_dict(state_to_hf(ours), strict=False).missing_keys
        theirs.tie_weights()
        assert all("generator_lm_head.weight" in name or "position_ids" in name for name in missing)
        with torch.no_grad():
            expected[kind] = theirs(
                fed.input_ids_BT, fed.attention_mask_BT.long(), fed.token_type_ids_BT, labels=labels
            ).loss.item()
    result = loss(model, batch)
    assert result.metrics["mlm_loss"].item() == pytest.approx(expected["MaskedLM"], abs=1e-5)
    assert result.metrics["replaced_loss"].item() == pytest.approx(expected["PreTraining"], abs=1e-5)
    assert result.value.item() == pytest.approx(expected["MaskedLM"] + 50 * expected["PreTraining"], abs=1e-3)


def test_the_generator_gets_no_gradient_from_the_discriminator(model, loss, batch):
    loss(model, batch).parts["replaced"].backward()
    assert all(p.grad is None for name, p in model.generator.named_parameters() if not name.startswith("embeddings."))
    assert model.discriminator.embeddings.token.weight.grad.any()


@pytest.mark.parametrize("accumulate", [2, 4])
def test_gradient_accumulation_gives_the_loss_of_the_whole_batch(model, loss, batch, accumulate):
    results = []
    for count in (1, accumulate):
        model.zero_grad()
        result = GlobalGradient(model, loss, count)(batch)
        metrics = {name: float(value) for name, value in result.metrics.items()}
        metrics |= result.compute_ratios(metrics)
        norm = sum(float(p.grad.norm()) for p in model.parameters() if p.grad is not None)
        results.append([result.value.item(), result.tokens.item(), norm, *metrics.values()])
    assert results[1] == pytest.approx(results[0], rel=1e-4)


def test_a_run_learns_and_writes_both_models(corpus, tmp_path):
    out = tmp_path / "run"
    config = electra_settings(corpus, out, steps=30, batch_size=8, validation=corpus, optim=OptimConfig(lr=3e-3))
    list(pretrain(config))
    trained = losses(out)
    assert sum(trained[-5:]) < 0.7 * sum(trained[:5])
    rows = [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]
    steps = [row for row in rows if "loss" in row]
    for row in steps:
        assert row["loss"] == pytest.approx(row["mlm_loss"] + 50 * row["replaced_loss"], rel=1e-4)
        assert {"mlm_accuracy", "replaced_accuracy", "replaced_precision", "replaced_recall"} <= row.keys()
        assert row["replaced_share"] < 0.2

    discriminator, generator = checkpoint.load(out), checkpoint.load(out / "generator")
    assert (discriminator.heads, generator.heads) == (("rtd",), ("mlm",))
    assert discriminator.record["objectives"] == ["replaced words"]
    assert generator.record["objectives"] == ["masked words"]
    assert generator.record["cloze"]
    assert not discriminator.record["cloze"]
    metrics = evaluate(EvaluateConfig(task="pretraining", checkpoint=str(out), data=corpus, limit=256))
    assert metrics == pytest.approx(discriminator.record["validation"], abs=1e-3)
    assert 0 < metrics["replaced_recall"] <= 1

    ids_BT = torch.randint(5, discriminator.config.vocab_size, (2, 9), generator=torch.Generator().manual_seed(1))
    inputs = Batch(ids_BT, torch.zeros_like(ids_BT), torch.ones_like(ids_BT, dtype=torch.bool))
    for loaded, path, kind in (
        (discriminator, out / "checkpoint", "ElectraForPreTraining"),
        (generator, out / "generator", "ElectraForMaskedLM"),
    ):
        assert json.loads((path / "config.json").read_text())["architectures"] == [kind]
        theirs, info = getattr(transformers, kind).from_pretrained(
            path, dtype=torch.float32, attn_implementation="eager", output_loading_info=True
        )
        assert not info["missing_keys"]
        assert not info["unexpected_keys"]
        with torch.no_grad():
            logits = theirs.eval()(ids_BT).logits
            hidden_BTH = loaded.model(inputs).hidden_BTH
            ours = getattr(loaded.model, loaded.heads[0])(hidden_BTH)
        assert_close(ours, logits, inputs.attention_mask_BT, 1e-5)


@pytest.mark.parametrize("changes", [{}, {"dropout": 0.1, "accumulate": 2, "optim": OptimConfig(name="muon", ema=0.9)}])
def test_a_run_resumes_bit_for_bit(corpus, tmp_path, changes):
    whole, resumed = tmp_path / "whole", tmp_path / "resumed"
    list(pretrain(electra_settings(corpus, whole, **changes)))
    list(itertools.islice(pretrain(electra_settings(corpus, resumed, **changes)), 5))
    list(pretrain(electra_settings(corpus, resumed, **changes)))
    assert losses(resumed) == losses(whole)
    for name in ("checkpoint", "generator"):
        ours, theirs = (checkpoint.load(run / name).model.state_dict() for run in (whole, resumed))
        assert all(torch.equal(ours[key], theirs[key]) for key in ours if not key.startswith("pooler."))


def test_without_a_generator_beside_it_a_discriminator_is_not_evaluated(corpus, tmp_path, model, tokenizer):
    directory = checkpoint.save(tmp_path / "alone", model.discriminator, tokenizer, {})
    with raises_error(BertlabError, "generator-missing"):
        evaluate(EvaluateConfig(task="pretraining", checkpoint=str(directory), data=corpus))


def test_muon_trains_the_matrices_of_both_models(model):
    optimizer = Optimizer(model, OptimConfig(name="muon"), torch.float32)
    count = sum(len(group["params"]) for group in optimizer.optimizers[1].param_groups)
    assert count == 2 * 4 * model.config.num_layers


def test_pages_and_commands_that_need_mlm_take_the_generator_only(shipped, model, tokenizer, tmp_path):
    paths = {}
    for name in ("discriminator", "generator"):
        paths[name] = str(checkpoint.save(tmp_path / name, getattr(model, name), tokenizer, {}))
    notes = {name: " ".join(bodies(open_page("fill_mask", checkpoint=path))) for name, path in paths.items()}
    note = text("checkpoint-replaced", chosen="discriminator", used="strongest")
    assert note in notes["discriminator"]
    assert text("checkpoint-replaced", chosen="generator", used="strongest") not in notes["generator"]
    assert command_error("fill-mask", "a [MASK]", "--checkpoint", paths["discriminator"]).id == "head-missing"


def test_the_family_selects_the_objective():
    config = recipe_from_arguments(["--family", "electra", "--preset", "tiny"])
    assert (config.token_objective, config.pair_objective, config.replaced_weight) == ("replaced", "none", 50.0)
    assert math.isclose(config.mask_share, 0.85)


@pytest.mark.parametrize(
    ("flags", "id", "listed"),
    [
        ("--family electra --pair-objective next", "token-objective-with-flags", ["--pair-objective"]),
        ("--token-objective replaced --from strongest --pair-objective none", "token-objective-with-flags", ["--from"]),
        ("--token-objective replaced --pair-objective none", "token-objective-unsupported", None),
        ("--generator-size 0.5", "generator-flags-without-generator", ["--generator-size"]),
        ("--family electra --generator-size 1.5", "setting-out-of-range", None),
        ("--family electra --replaced-weight 0", "setting-out-of-range", None),
    ],
)
def test_unsuitable_settings_are_refused(corpus, tmp_path, flags, id, listed):
    error = command_error("pretrain", str(corpus), "--out", str(tmp_path / "run"), "--steps", "1", *flags.split())
    assert error.id == id
    assert listed is None or error.params["flags"] == listed
