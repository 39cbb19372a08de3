"""Sentence-pair objectives (next sentence, order, none), and longer pairs in the last part of a run."""

import itertools
import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
import torch
import transformers
from support.errors import raises_error
from support.sentence_pairs import bag_of_lengths_accuracy, documents
from support.stories import losses, settings

from bertlab.checkpoints import checkpoint
from bertlab.config.errors import BertlabError
from bertlab.nn.bert import Bert
from bertlab.nn.fast.model import FastBert
from bertlab.tasks.masked_lm import PretrainingLoss
from bertlab.text.pretraining.corpus import Corpus
from bertlab.text.pretraining.masking import MaskRule
from bertlab.text.pretraining.sampler import LongPairs, PairSampler
from bertlab.text.pretraining.sentence_pairs import IN_ORDER, SWAPPED, make_pairs
from bertlab.text.tokenizers.wordpiece import Tokenizer
from bertlab.training.evaluate import EvaluateConfig, evaluate
from bertlab.training.pretraining.pretrain import pretrain
from bertlab.training.pretraining.setup import open_inputs

# -- pairs


def test_order_swaps_half_of_consecutive_pairs(library):
    pairs = make_pairs(library, 128, np.random.default_rng(1), pair_objective="order")
    n = len(pairs)
    assert n > 1500
    assert np.mean(pairs.label_E == SWAPPED) == pytest.approx(0.5, abs=4 * 0.5 / n**0.5)
    assert np.array_equal(pairs.document_a_E, pairs.document_b_E)
    in_order = pairs.label_E == IN_ORDER
    gap = pairs.b_start_E - (pairs.a_start_E + pairs.a_length_E)
    back = pairs.a_start_E - (pairs.b_start_E + pairs.b_length_E)
    assert (gap[in_order] >= 0).all()
    assert (back[~in_order] >= 0).all()
    assert (pairs.a_length_E >= 1).all()
    assert (pairs.b_length_E >= 1).all()
    assert (pairs.a_length_E + pairs.b_length_E + 3).max() <= 128


def test_lengths_do_not_reveal_the_order(library):
    drawn_pairs = [make_pairs(library, 128, np.random.default_rng(seed), pair_objective="order") for seed in range(3)]
    assert max(map(bag_of_lengths_accuracy, drawn_pairs)) < 0.57


def test_without_a_second_sentence_every_segment_is_read_once(library):
    rows = make_pairs(library, 128, np.random.default_rng(1), short_probability=0.0, pair_objective="none")
    assert not rows.b_length_E.any()
    assert (rows.a_length_E >= 1).all()
    assert rows.a_length_E.max() == 126
    assert np.isin(rows.a_start_E, library.sentence_start).all()
    seen = np.zeros(len(library.tokens), int)
    for start, length in zip(rows.a_start_E, rows.a_length_E, strict=True):
        seen[start : start + length] += 1
    assert seen.max() == 1
    # the rest was cut off where a row was full, since the next row begins with a new segment
    assert seen.mean() > 0.8
    assert np.mean(rows.a_length_E == 126) > 0.8


@pytest.mark.parametrize("pair_objective", ["order", "none"])
@pytest.mark.parametrize("lengths", [[[1]], [[1], [1]], [[500]], [[1, 1]], [[300, 1], [2]]])
def test_very_short_or_long_documents(lengths, pair_objective):
    for seed in range(20):
        pairs = make_pairs(documents(lengths), 32, np.random.default_rng(seed), pair_objective=pair_objective)
        assert (pairs.a_length_E >= 1).all()
        max_length = 30 if pair_objective == "none" else 29
        assert (pairs.a_length_E + pairs.b_length_E <= max_length).all()


def test_a_row_without_sentence_b_is_cls_a_sep(corpus):
    tokenizer = Tokenizer.load(corpus / "tokenizer")
    inputs = next(PairSampler(Corpus.open(corpus), tokenizer, 32, 32, seed=0, pair_objective="none")).inputs
    assert not inputs.token_type_ids_BT.any()
    for ids, mask in zip(inputs.input_ids_BT, inputs.attention_mask_BT, strict=True):
        n = int(mask.sum())
        assert ids[0] == tokenizer.cls_id
        assert (ids == tokenizer.sep_id).nonzero().flatten().tolist() == [n - 1]
        assert (ids[n:] == tokenizer.pad_id).all()


# -- the loss


@pytest.mark.parametrize("pair_objective", ["next", "order", "none"])
def test_the_loss_is_that_of_transformers(corpus, tiny_model, pair_objective):
    tokenizer = Tokenizer.load(corpus / "tokenizer")
    batch = next(PairSampler(Corpus.open(corpus), tokenizer, 8, 32, seed=0, pair_objective=pair_objective))
    rule = MaskRule.for_tokenizer(tokenizer, whole_word=pair_objective == "order")
    loss = PretrainingLoss(rule, pair_objective)(tiny_model, batch)
    from bertlab.checkpoints.maps import state_to_hf
    from bertlab.text.pretraining.masking import IGNORED, mask_tokens

    inputs, index_P, labels_P = mask_tokens(batch.inputs, batch.key_B, rule)
    labels_BT = torch.full(inputs.input_ids_BT.shape, IGNORED)
    used_P = labels_P != IGNORED
    labels_BT.view(-1)[index_P[used_P]] = labels_P[used_P]
    theirs = transformers.BertForPreTraining(transformers.BertConfig(**tiny_model.config.to_hf())).eval()
    theirs.load_state_dict(state_to_hf(tiny_model), strict=False)
    out = theirs(inputs.input_ids_BT, inputs.attention_mask_BT, inputs.token_type_ids_BT)
    cross_entropy = torch.nn.functional.cross_entropy
    expected = cross_entropy(out.prediction_logits.flatten(0, 1), labels_BT.flatten())
    if pair_objective != "none":
        expected = expected + cross_entropy(out.seq_relationship_logits, batch.pair_labels_B)
    assert loss.value.item() == pytest.approx(expected.item(), abs=1e-4)
    names = {"next": {"nsp_loss", "nsp_accuracy"}, "order": {"order_loss", "order_accuracy"}, "none": set()}
    assert set(loss.metrics) == {"mlm_loss", "mlm_accuracy"} | names[pair_objective]


# -- runs


@pytest.mark.parametrize(
    ("pair_objective", "heads", "objectives"),
    [("order", ("mlm", "nsp"), ["masked words", "sentence order"]), ("none", ("mlm",), ["masked words"])],
)
def test_a_run_records_and_evaluates_its_objectives(corpus, tmp_path, pair_objective, heads, objectives):
    list(
        pretrain(
            settings(
                corpus,
                tmp_path / "run",
                steps=3,
                pair_objective=pair_objective,
                whole_word=True,
                mask_spans="ngram",
                validation=corpus,
            )
        )
    )
    saved = tmp_path / "run" / "checkpoint"
    loaded = checkpoint.load(saved)
    assert loaded.heads == heads
    assert loaded.record["objectives"] == objectives
    assert loaded.record["settings"]["whole_word"] is True
    assert loaded.record["settings"]["mask_spans"] == "ngram"
    metrics = loaded.record["validation"]
    assert ("order_accuracy" in metrics) == (pair_objective == "order")
    assert "nsp_accuracy" not in metrics
    again = evaluate(EvaluateConfig(task="pretraining", data=str(corpus), checkpoint=str(saved), limit=256))
    assert again["mlm_loss"] == pytest.approx(metrics["mlm_loss"], abs=1e-2)
    assert set(again) == set(metrics)
    card = (saved / "README.md").read_text()
    assert ("sentence-order accuracy" in card) == (pair_objective == "order")
    opened, info = transformers.AutoModelForMaskedLM.from_pretrained(saved, output_loading_info=True)
    assert opened.config.hidden_size == loaded.config.hidden_size
    assert not info["missing_keys"]


# -- lengths that change during a run


def sampler(corpus, **changes) -> PairSampler:
    opened = replace(Corpus.open(corpus), block_size=32)
    tokenizer = Tokenizer.load(corpus / "tokenizer")
    return PairSampler(opened, tokenizer, 8, 32, seed=3, long_pairs=LongPairs(64, 0.25), **changes)


def test_longer_pairs_begin_at_their_share_of_the_run_and_continue(corpus):
    run, sizes, keys = sampler(corpus), [], []
    for step in range(40):
        assert run.update_progress(step / 40) == (step == 30)
        position = run.position
        batch = next(run)
        sizes.append(tuple(batch.inputs.input_ids_BT.shape))
        keys += batch.key_B.tolist()
        again = sampler(corpus, position=position)
        assert not again.update_progress(step / 40)
        assert torch.equal(next(again).inputs.input_ids_BT, batch.inputs.input_ids_BT)
    assert sizes == [(8, 32)] * 30 + [(4, 64)] * 10
    assert len(set(keys)) == len(keys)


def test_a_run_may_begin_without_masks(corpus):
    run, usual = sampler(corpus, pairs_only_share=0.25), sampler(corpus)
    for step in range(32):
        assert run.update_progress(step / 40) == (step in (10, 30))
        usual.update_progress(step / 40)
        position = run.position
        batch, expected = next(run), next(usual)
        assert torch.equal(batch.inputs.input_ids_BT, expected.inputs.input_ids_BT)
        assert torch.equal(batch.key_B, torch.full_like(batch.key_B, -1) if step < 10 else expected.key_B)
        again = sampler(corpus, pairs_only_share=0.25, position=position)
        assert not again.update_progress(step / 40)
        assert torch.equal(next(again).key_B, batch.key_B)


def test_only_sentence_pairs_are_trained_without_masks(corpus, tmp_path):
    config = settings(corpus, tmp_path / "run", steps=12, pairs_only_share=0.5, random_b_position="same")
    reports = list(pretrain(config))
    assert [report.metrics["mlm_loss"] == 0 for report in reports] == [True] * 6 + [False] * 6
    assert all(report.metrics["nsp_loss"] > 0 for report in reports)


def test_without_sentence_pairs_tokens_are_masked_from_the_start(corpus, tmp_path):
    config = settings(corpus, tmp_path / "run", steps=2, pairs_only_share=0.5, pair_objective="none")
    assert all(report.metrics["mlm_loss"] > 0 for report in pretrain(config))


@pytest.mark.parametrize("stop", [5, 8, 10])
def test_a_run_stopped_anywhere_resumes_bit_for_bit(corpus, tmp_path, stop):
    whole = settings(corpus, tmp_path / "whole", steps=12, final_max_tokens=64, final_share=0.34, dropout=0.1)
    list(pretrain(whole))
    resumed = replace(whole, out=tmp_path / "resumed")
    list(itertools.islice(pretrain(resumed), stop))
    list(pretrain(resumed))
    assert losses(tmp_path / "resumed") == losses(tmp_path / "whole")
    rows = [json.loads(line) for line in (tmp_path / "whole" / "log.jsonl").read_text().splitlines()]
    tokens = np.diff([0] + [row["tokens"] for row in rows if "loss" in row])
    assert (tokens <= 4 * 32).all()
    assert tokens[8:].mean() == pytest.approx(tokens[:8].mean(), rel=0.5)
    assert checkpoint.load(tmp_path / "whole" / "checkpoint").record["settings"]["final_max_tokens"] == 64


def test_the_jump_of_the_loss_at_longer_pairs_is_no_divergence(corpus, tmp_path, monkeypatch):
    true_loss = PretrainingLoss.__call__

    def loss_with_jump(self, model, batch):
        loss = true_loss(self, model, batch)
        return replace(loss, value=loss.value + 20 * (batch.inputs.input_ids_BT.shape[1] > 32))

    monkeypatch.setattr(PretrainingLoss, "__call__", loss_with_jump)
    reports = list(pretrain(settings(corpus, tmp_path / "run", steps=80, final_max_tokens=64, final_share=0.5)))
    assert reports[-1].step == 80
    assert reports[-1].loss > reports[30].loss + 10


@pytest.mark.parametrize(
    ("changes", "id", "params"),
    [
        ({"final_max_tokens": 32}, "final-max-tokens-too-few", {"value": 32}),
        ({"final_max_tokens": 1024}, "pairs-too-long", {"positions": 512}),
        ({"final_share": 1.5, "final_max_tokens": 64}, "setting-out-of-range", {"flag": "final-share"}),
        ({"chosen_share": 0.0}, "setting-out-of-range", {"flag": "chosen-share"}),
        ({"teacher_share": 0.9}, "teacher-flags-without-teacher", {"flags": ["--teacher-share"]}),
    ],
)
def test_settings_that_contradict_each_other_are_refused(corpus, tmp_path, changes, id, params):
    with raises_error(BertlabError, id, **params):
        list(pretrain(settings(corpus, tmp_path / "run", **changes)))
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("pair_objective", ["order", "none"])
def test_micro_batches_give_the_losses_of_whole_batches(corpus, tmp_path, pair_objective):
    config = settings(
        corpus,
        tmp_path / "whole",
        steps=6,
        pair_objective=pair_objective,
        final_max_tokens=64,
        final_share=0.5,
        sample_predictions=False,
    )
    whole = [report.loss for report in pretrain(config)]
    micro_batches = [report.loss for report in pretrain(replace(config, out=tmp_path / "micro-batches", accumulate=2))]
    assert micro_batches == pytest.approx(whole, rel=1e-3)


# -- a teacher


@pytest.fixture(scope="module")
def teacher(corpus, tmp_path_factory):
    """A checkpoint that was trained on the stories for 60 steps."""
    out = tmp_path_factory.mktemp("teacher") / "trained"
    list(pretrain(settings(corpus, out, steps=60, batch_size=16, layers=1)))
    return out / "checkpoint"


def test_a_student_becomes_more_similar_to_its_teacher_than_without_distillation(corpus, teacher, tmp_path):
    """Measured by the KL divergence of their predictions for masked tokens; the student has another shape."""
    tokenizer = Tokenizer.load(corpus / "tokenizer")
    batch = next(PairSampler(Corpus.open(corpus), tokenizer, 32, 32, seed=9))
    inputs, index_P, _ = PretrainingLoss(MaskRule.for_tokenizer(tokenizer)).make_targets(batch)
    distillation, divergence = {"teacher": str(teacher), "teacher_share": 0.9}, {}
    for name, changes in (("distilled", distillation), ("alone", {})):
        list(pretrain(settings(corpus, tmp_path / name, steps=30, batch_size=16, seed=5, **changes)))
        models = [checkpoint.load(path).model for path in (teacher, tmp_path / name / "checkpoint")]
        with torch.no_grad():
            theirs, ours = (model.mlm(model.encode_positions(inputs, index_P)).log_softmax(-1) for model in models)
        divergence[name] = torch.nn.functional.kl_div(ours, theirs, reduction="batchmean", log_target=True).item()
    assert divergence["distilled"] < 0.8 * divergence["alone"]
    card = (tmp_path / "distilled" / "checkpoint" / "README.md").read_text()
    assert "teacher trained, teacher_share 0.9" in card
    assert str(tmp_path) not in card


def test_the_cosine_loss_brings_hidden_states_closer_to_those_of_the_teacher(corpus, teacher, tmp_path):
    tokenizer = Tokenizer.load(corpus / "tokenizer")
    batch = next(PairSampler(Corpus.open(corpus), tokenizer, 32, 32, seed=9))
    inputs, index_P, _ = PretrainingLoss(MaskRule.for_tokenizer(tokenizer)).make_targets(batch)
    taught, similarity = checkpoint.load(teacher).model, {}
    for weight in (0.0, 2.0):
        config = settings(corpus, tmp_path / str(weight), steps=30, seed=5, teacher=str(teacher), teacher_cosine=weight)
        reports = list(pretrain(replace(config, accumulate=2)))
        model = checkpoint.load(tmp_path / str(weight) / "checkpoint").model
        with torch.no_grad():
            theirs_PH, ours_PH = (each.encode_positions(inputs, index_P) for each in (taught, model))
        similarity[weight] = torch.cosine_similarity(ours_PH, theirs_PH, dim=-1).mean().item()
        assert ("cosine_distance" in reports[-1].metrics) == bool(weight)
    assert similarity[2.0] > similarity[0.0] + 0.1
    with raises_error(BertlabError, "teacher-cosine-of-other-size", teacher_hidden=taught.config.hidden_size):
        list(pretrain(settings(corpus, tmp_path / "run", teacher=str(teacher), teacher_cosine=1.0, hidden=64)))


@pytest.mark.cuda
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_distillation_on_a_gpu_gives_the_losses_of_a_cpu(corpus, teacher, tmp_path):
    here = settings(corpus, tmp_path / "cpu", teacher=str(teacher))
    there = replace(here, out=tmp_path / "cuda", device="cuda")
    cpu_losses, cuda_losses = ([report.loss for report in pretrain(config)] for config in (here, there))
    assert cuda_losses == pytest.approx(cpu_losses, rel=1e-3)


def test_a_run_with_a_teacher_resumes_bit_for_bit(corpus, teacher, tmp_path):
    whole, halves = (settings(corpus, tmp_path / name, teacher=str(teacher)) for name in ("whole", "halves"))
    list(pretrain(whole))
    for report in pretrain(halves):
        if report.step == 6:
            break
    list(pretrain(halves))
    assert losses(tmp_path / "halves") == losses(tmp_path / "whole")
    other = shutil.copytree(tmp_path / "whole" / "checkpoint", tmp_path / "other")
    config = replace(whole, out=tmp_path / "again", steps=1, teacher=str(other))
    list(pretrain(config))
    shutil.rmtree(other)
    shutil.copytree(teacher, other)
    with raises_error(BertlabError, "run-data-differs"):
        list(pretrain(config))


@pytest.mark.parametrize("family", ["bert", "distilbert"])
def test_a_student_starts_with_every_other_layer_of_its_teacher(family, corpus, teacher, tmp_path):
    taught = checkpoint.load(teacher).model
    sizes = {"hidden": taught.config.hidden_size, "attention_heads": taught.config.num_heads, "layers": 1}
    config = settings(corpus, tmp_path / "run", teacher=str(teacher), start="teacher", family=family, **sizes)
    student = open_inputs(replace(config, pair_objective="none")).model
    ours, theirs = student.state_dict(), taught.state_dict()
    assert torch.equal(
        ours["encoder.layers.0.feed_forward.up.weight"], theirs["encoder.layers.0.feed_forward.up.weight"]
    )
    assert torch.equal(ours["heads.mlm.dense.weight"], theirs["heads.mlm.dense.weight"])
    ids_BT = torch.randint(5, 40, (2, 7), generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        embedded = [model.embeddings(ids_BT, torch.zeros_like(ids_BT)) for model in (student, taught)]
    torch.testing.assert_close(*embedded)
    for changes, id in (
        ({"teacher": None}, "start-teacher-without-teacher"),
        ({"layers": taught.config.num_layers + 1}, "start-teacher-too-shallow"),
        ({"hidden": 2 * taught.config.hidden_size}, "start-teacher-differs"),
    ):
        with raises_error(BertlabError, id):
            open_inputs(replace(config, **changes))


@pytest.mark.parametrize(("teacher_rows", "student_rows"), [(0, 3), (3, 0)])
def test_teacher_and_student_may_have_embedding_rows_beyond_the_vocabulary(
    tiny_model, tiny_tokenizer, corpus, teacher_rows, student_rows
):
    def padded(rows: int) -> Bert:
        torch.manual_seed(rows)
        return FastBert(tiny_model.config.replace(vocab_size=tiny_model.config.vocab_size + rows), ("mlm", "nsp"))

    batch = next(PairSampler(Corpus.open(corpus), Tokenizer.load(corpus / "tokenizer"), 4, 32, seed=1))
    loss = PretrainingLoss(MaskRule.for_tokenizer(tiny_tokenizer), teacher=padded(teacher_rows), teacher_share=0.5)
    assert 0 < loss(padded(student_rows), batch).value.item() < 100


def test_an_unsuitable_teacher_is_refused(corpus, teacher, tiny_checkpoint, tmp_path):
    def refused(**changes) -> str:
        with pytest.raises(BertlabError) as error:
            list(pretrain(settings(corpus, tmp_path / "run", **{"teacher": str(teacher), **changes})))
        assert not (tmp_path / "run").exists()
        return error.value.id

    assert refused(teacher=str(tiny_checkpoint)) == "teacher-vocabulary-differs"
    left_to_right = tmp_path / "left"
    list(pretrain(settings(corpus, left_to_right, steps=1, left_to_right=True, pair_objective="none")))
    for changes in ({"left_to_right": True}, {"from_": str(left_to_right / "checkpoint"), "preset": "mini"}):
        assert refused(pair_objective="none", **changes) == "teacher-of-left-to-right"
    assert refused(teacher_share=1.0) == "setting-out-of-range"
    loaded = checkpoint.load(teacher)
    short = loaded.config.replace(max_positions=16)
    for name, config, heads, id in (
        ("headless", loaded.config, ("nsp",), "head-missing"),
        ("short", short, ("mlm",), "inputs-too-long-for-teacher"),
    ):
        checkpoint.save(tmp_path / name, FastBert(config, heads), loaded.tokenizer, {"steps": 1})
        assert refused(teacher=str(tmp_path / name)) == id
