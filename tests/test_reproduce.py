"""The paper's ablations: causal attention, features of a frozen encoder, and the command that reproduces a table."""

import json
from dataclasses import replace

import pytest
import torch
from support.errors import command_error, raises_error
from support.task_rows import directory_of
from torch.testing import assert_close

import bertlab
from bertlab.abilities.surgery import ablation_figures as ablation
from bertlab.checkpoints import checkpoint
from bertlab.cli import main
from bertlab.config.errors import BertlabError, MissingHead
from bertlab.config.tasks import get_task
from bertlab.nn.bilstm import FEATURE_LAYERS, BertBiLSTM
from bertlab.nn.fast.ablation import ablate_each_head
from bertlab.nn.fast.model import FastBert
from bertlab.nn.interventions import Interventions
from bertlab.nn.trace import Trace
from bertlab.tasks.masked_lm import PretrainingLoss
from bertlab.tasks.registry import TASK_TYPES
from bertlab.text.batch import Batch, LabelBatch
from bertlab.text.pretraining.masking import IGNORED, MaskRule, label_next_tokens, mask_tokens
from bertlab.training.gradient import GlobalGradient
from bertlab.training.paper.ablations import TABLES
from bertlab.training.paper.reproduce import (
    ReproduceConfig,
    compare_directions,
    list_cells,
    read_table,
    reproduce,
    summarise_directions,
)
from bertlab.training.pretraining.config import PretrainConfig
from bertlab.training.pretraining.prepare import PrepareConfig
from bertlab.training.pretraining.prepare import run as prepare
from bertlab.training.pretraining.pretrain import pretrain

SENTENCE = "The keeper of the old mill carried the lantern. It was dark."


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    directory = tmp_path_factory.mktemp("corpus")
    rows = [{"text": "\n".join(f"{SENTENCE} {SENTENCE} {k}" for k in range(8))} for _ in range(60)]
    (directory / "text.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    prepare(PrepareConfig((str(directory / "text.jsonl"),), directory / "prepared", vocab_size=120, workers=1))
    return directory / "prepared"


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    directory = tmp_path_factory.mktemp("tasks")
    for folder, name in (("glue", "mrpc"), ("glue", "sst2"), ("", "squad"), ("ner", "wikiann_en")):
        directory_of(directory / folder / name, get_task(name))
    return directory


@pytest.fixture
def batch(tiny_model):
    torch.manual_seed(3)
    input_ids_BT = torch.randint(5, tiny_model.config.vocab_size - 1, (2, 9))
    mask_BT = torch.ones(2, 9, dtype=torch.bool)
    mask_BT[1, 6:] = False
    return Batch(input_ids_BT.masked_fill(~mask_BT, 0), torch.zeros(2, 9, dtype=torch.int64), mask_BT)


@pytest.fixture
def causal_model(tiny_model):
    """The weights of the tiny model with causal attention."""
    model = FastBert(tiny_model.config.replace(left_to_right=True), ("mlm", "span"))
    model.load_state_dict(tiny_model.state_dict(), strict=False)
    return model.eval()


# -- left to right -----------------------------------------------------------------------------------------------


def test_a_token_attends_to_earlier_tokens_only(causal_model, tiny_model, batch):
    ids_BT = batch.input_ids_BT.clone()
    ids_BT[:, 4] += 1
    changed = replace(batch, input_ids_BT=ids_BT)
    one, other = causal_model(batch).hidden_BTH, causal_model(changed).hidden_BTH
    assert torch.equal(one[:, :4], other[:, :4])
    assert not torch.allclose(one[0, 4:], other[0, 4:])
    assert not torch.allclose(tiny_model(batch).hidden_BTH[:, :4], tiny_model(changed).hidden_BTH[:, :4])
    trace = Trace.of("probs", "scores")
    real_BT = batch.attention_mask_BT
    assert_close(causal_model(batch, trace=trace).hidden_BTH[real_BT], one[real_BT])
    later_TT = torch.ones(9, 9, dtype=torch.bool).triu(1)
    for probs_BNTT, scores_BNTT in zip(trace["probs"], trace["scores"], strict=True):
        assert not probs_BNTT[..., later_TT].any()
        assert torch.isinf(scores_BNTT[..., later_TT]).all()
        assert_close(probs_BNTT.sum(-1), torch.ones_like(probs_BNTT[..., 0]))


def test_heads_of_a_causal_model_can_be_ablated(causal_model, batch):
    one = replace(batch, input_ids_BT=batch.input_ids_BT[:1], token_type_ids_BT=batch.token_type_ids_BT[:1],
                  attention_mask_BT=None)  # fmt: skip
    trace = Trace.of("hidden")
    positions_P = torch.arange(causal_model(one, trace=trace).hidden_BTH.shape[1])
    for layer in range(causal_model.config.num_layers):
        ablated_NPH = ablate_each_head(causal_model, one, trace["hidden"][layer], layer, positions_P, batch_size=8)
        for head, hidden_PH in enumerate(ablated_NPH):
            ablation = Interventions.ablate_heads(causal_model.config, [(layer, head)])
            assert_close(hidden_PH, causal_model(one, interventions=ablation).hidden_BTH[0])


def test_a_causal_model_pools_the_last_token(causal_model, batch):
    hidden_BTH = causal_model(batch).hidden_BTH
    assert_close(
        causal_model(batch).pooled_BH,
        torch.cat([causal_model.pooler(hidden_BTH[:1, 8:]), causal_model.pooler(hidden_BTH[1:, 5:6])]),
    )


def test_transformers_opens_a_causal_model_as_a_decoder(causal_model, tiny_tokenizer, batch, tmp_path):
    transformers = pytest.importorskip("transformers")
    checkpoint.save(tmp_path / "left", causal_model, tiny_tokenizer, {}, dtype=torch.float32)
    assert json.loads((tmp_path / "left" / "config.json").read_text())["is_decoder"] is True
    theirs = transformers.BertModel.from_pretrained(tmp_path / "left", add_pooling_layer=False).eval()
    with torch.no_grad():
        expected_BTH = theirs(batch.input_ids_BT, batch.attention_mask_BT.long(), use_cache=False).last_hidden_state
    real = batch.attention_mask_BT
    assert_close(causal_model(batch).hidden_BTH[real], expected_BTH[real], atol=1e-4, rtol=1e-4)
    opened = bertlab.load(tmp_path / "left")
    assert opened.config.left_to_right
    with raises_error(MissingHead, "head-mlm-causal"):
        opened.fill_mask("A [MASK].")


def test_left_to_right_must_be_true_or_false(causal_model, tiny_tokenizer, tmp_path):
    checkpoint.save(tmp_path / "odd", causal_model, tiny_tokenizer, {})
    path = tmp_path / "odd" / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"is_decoder": 3}))
    with raises_error(BertlabError, "config-value-invalid", name="left_to_right"):
        checkpoint.load(tmp_path / "odd")


def test_the_loss_of_a_causal_model_covers_every_next_token(causal_model, tiny_tokenizer, batch):
    _, index_P, labels_P = label_next_tokens(batch)
    flat, labelled_P = batch.input_ids_BT.flatten(), labels_P != IGNORED
    assert labelled_P.sum() == 8 + 5
    assert torch.equal(labels_P[labelled_P], flat[index_P[labelled_P] + 1])

    class PairBatch:
        inputs, key_B, pair_labels_B = batch, torch.arange(2), torch.zeros(2, dtype=torch.int64)

        def __len__(self):
            return 2

    loss = PretrainingLoss(MaskRule.for_tokenizer(tiny_tokenizer), "none", left_to_right=True)
    head = causal_model.heads["mlm"]
    assert int(loss.count_items(PairBatch())["mlm"]) == 13
    logits_BTV = head(causal_model(batch).hidden_BTH, causal_model.embeddings.token.weight)
    expected = torch.nn.functional.cross_entropy(logits_BTV.flatten(0, 1)[index_P], labels_P)
    assert_close(loss(causal_model, PairBatch()).value, expected)


def test_a_causal_model_learns_to_predict_next_tokens(corpus, tmp_path):
    config = PretrainConfig(
        corpus=corpus, out=tmp_path / "run", preset="tiny", layers=1, hidden=32, attention_heads=4, steps=60,
        batch_size=8, max_tokens=32, pair_objective="none", left_to_right=True, precision="float32", device="cpu",
        validation=corpus, evaluate_rows=16, snapshots=False, mask_share=0.5, random_share=0.5,
    )  # fmt: skip
    reports = list(pretrain(config))
    opened = bertlab.load(tmp_path / "run" / "checkpoint")
    assert opened.config.left_to_right
    assert (opened.config.num_layers, opened.config.hidden_size, opened.config.intermediate_size) == (1, 32, 128)
    assert opened.record["objectives"] == ["next words"]
    assert reports[0].metrics["mlm_accuracy"] < 0.2, "an untrained model predicts by chance"
    assert reports[-1].metrics["mlm_accuracy"] > reports[0].metrics["mlm_accuracy"] + 0.1
    with raises_error(BertlabError, "left-to-right-with-sentence-pair"):
        list(pretrain(replace(config, pair_objective="next", out=tmp_path / "other")))
    with raises_error(BertlabError, "mask-shares-too-large"):
        list(pretrain(replace(config, mask_share=0.9, out=tmp_path / "other")))


@pytest.mark.parametrize(("mask", "rnd"), [(1.0, 0.0), (0.8, 0.0), (0.8, 0.2), (0.0, 0.8), (0.0, 1.0)])
def test_the_masking_schemes_of_table8_have_their_shares(mask, rnd, tiny_tokenizer):
    ids_BT = torch.randint(5, tiny_tokenizer.vocab_size, (400, 40))
    rule = MaskRule.for_tokenizer(tiny_tokenizer, mask_share=mask, random_share=rnd)
    batch = Batch(ids_BT, torch.zeros_like(ids_BT), torch.ones_like(ids_BT, dtype=torch.bool))
    masked, index_P, labels_P = mask_tokens(batch, torch.arange(400), rule)
    masked_P = masked.input_ids_BT.flatten()[index_P][labels_P != IGNORED]
    labels_P = labels_P[labels_P != IGNORED]
    assert float((masked_P == rule.mask_id).float().mean()) == pytest.approx(mask, abs=0.04)
    # within 0.04, since a random token may happen to be the original one
    assert float((masked_P == labels_P).float().mean()) == pytest.approx(1 - mask - rnd, abs=0.04)


# -- a BiLSTM on top ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("feature_layers", FEATURE_LAYERS)
def test_the_chosen_layers_are_the_features_of_a_frozen_encoder(feature_layers, tiny_model, batch):
    encoder = FastBert(tiny_model.config.replace(labels=("O", "B-X")))
    encoder.load_state_dict(tiny_model.state_dict(), strict=False)
    model = BertBiLSTM(encoder, "tag", feature_layers=feature_layers, width=8, freezes_bert=True)
    trace = Trace.of("hidden")
    tiny_model(batch, trace=trace)
    zero, one, two = trace["hidden"]
    expected = {
        "embeddings": zero, "last": two, "second-to-last": one, "sum-4": (one + two) / 2, "sum-all": (one + two) / 2,
        "concat-4": torch.cat([one, two], -1),
    }  # fmt: skip
    assert_close(model.train().compute_features(batch), expected[feature_layers])
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=1.0)
    GlobalGradient(model, TASK_TYPES["tagging"].loss)(LabelBatch(batch, torch.ones(2, 9, dtype=torch.int64)))
    optimizer.step()
    changed = {name for name, tensor in model.state_dict().items() if not torch.equal(tensor, before[name])}
    assert not any(name.startswith("bert.") for name in changed)
    assert {"heads.tag.weight", "lstm.weight_ih_l1_reverse"} <= changed
    assert ("mix_L" in changed) == (feature_layers in ("sum-4", "sum-all"))


def test_padding_does_not_reach_the_bilstm(tiny_model, batch):
    model = BertBiLSTM(
        FastBert(tiny_model.config.replace(labels=("O", "B-X"))), "tag", width=8, freezes_bert=True
    ).eval()
    alone = Batch(*(tensor[1:, :6] for tensor in vars(batch).values()))
    assert_close(model.tag(model(batch).hidden_BTH)[1, :6], model.tag(model(alone).hidden_BTH)[0])


# -- tables ------------------------------------------------------------------------------------------------------


def settings(tmp_path, corpus, data, table, **changes) -> ReproduceConfig:
    defaults = {
        "table": table, "out": tmp_path / table, "corpus": corpus, "data": data, "steps": 2, "epochs": 1,
        "max_tokens": 32, "batch_size": 8, "lstm_width": 8, "device": "cpu",
    }  # fmt: skip
    return ReproduceConfig(**{**defaults, **changes})


@pytest.mark.parametrize("table", TABLES)
def test_every_row_has_a_result_of_the_paper_and_a_pretraining_run(table):
    definition = TABLES[table]
    assert definition.reference_row in definition.rows
    for row in definition.rows.values():
        assert set(row.paper_results) == {
            name for name in row.columns or definition.columns if not definition.columns[name].is_optional
        }
        assert not definition.pretrainings or row.pretrained in definition.pretrainings
        assert row.feature_layers in FEATURE_LAYERS


def test_an_optional_column_is_computed_only_if_named(tmp_path, corpus, data):
    config = settings(tmp_path, corpus, data, "table5")
    assert {cell.column for cell in list_cells(config)} == {"mrpc", "sst2", "squad"}
    assert {cell.column for cell in list_cells(replace(config, columns=("ner",)))} == {"ner"}
    assert not any("ner" in row.paper_results for row in TABLES["table5"].rows.values())


def test_settings_may_change_before_the_first_result(tmp_path, data, tiny_checkpoint):
    config = ReproduceConfig(
        table="table7", out=tmp_path / "t7", from_=str(tiny_checkpoint), ner="wnut17", device="cpu"
    )
    with raises_error(BertlabError, "hub-data-unavailable"):
        list(reproduce(config))
    changed = replace(config, ner="wikiann_en", data=data, epochs=1.0, max_tokens=32, lstm_width=8, rows=("last",))
    assert [progress.activity for progress in reproduce(changed)][-1] == "done"


def test_rows_share_a_pretraining_run_and_finished_cells_are_kept(tmp_path, corpus, data):
    rows = ("left-to-right", "bilstm")
    config = settings(tmp_path, corpus, data, "table5", rows=rows, columns=("sst2",))
    reports = list(reproduce(config))
    assert [report.done for report in reports] == sorted(report.done for report in reports)
    assert reports[-1].done == reports[-1].total == 2
    assert sorted(p.name for p in (tmp_path / "table5" / "pretrained-seed0").iterdir()) == ["left-to-right"]
    assert bertlab.load(tmp_path / "table5" / "left-to-right-seed0" / "sst2" / "checkpoint").config.left_to_right
    assert not (tmp_path / "table5" / "bilstm-seed0" / "sst2" / "checkpoint").exists()
    table = read_table(config)
    assert all(row["cells"]["sst2"]["paper"] > 90 for row in table["rows"].values())
    assert list(reproduce(config)) == []
    (tmp_path / "table5" / "bilstm-seed0" / "sst2.json").unlink()
    assert {report.cell.row for report in reproduce(config)} == {"bilstm"}
    assert read_table(config)["rows"]["left-to-right"] == table["rows"]["left-to-right"]
    with raises_error(BertlabError, "reproduce-other-settings", changed=["steps"]):
        list(reproduce(replace(config, steps=3)))


def test_the_command_prints_and_writes_the_table(tmp_path, data, tiny_checkpoint, capsys):
    words = ["reproduce", "table7", "--data", str(data), "--from", str(tiny_checkpoint), "--out", str(tmp_path / "t7")]
    words += ["--epochs", "1", "--max-tokens", "32", "--lstm-width", "8", "--device", "cpu"]
    assert main([*words, "--seeds", "2", "--rows", "last", "sum-4"]) == 0
    printed = capsys.readouterr().out
    assert "| last layer |" in printed
    assert "Against the row “last layer”" in printed
    table = json.loads((tmp_path / "t7" / "table7.json").read_text())
    assert len(table["rows"]["sum-4"]["cells"]["ner-frozen"]["values"]) == 2
    page = (tmp_path / "t7" / "table7.html").read_text()
    assert "plotly" in page
    assert 'src="http' not in page
    assert main([*words, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert list(rows) == list(TABLES["table7"].rows)
    assert rows["finetuned"]["cells"]["ner"]["paper"] == 96.4


def test_perplexity_and_mask_shares_come_from_pretraining(tmp_path, corpus, data):
    config = settings(tmp_path, corpus, data, "table6", validation=corpus, rows=("l2", "l4"), columns=("perplexity",))
    list(reproduce(config))
    values = [row["cells"]["perplexity"]["mean"] for row in read_table(config)["rows"].values()]
    assert all(1 < value < 1000 for value in values)
    assert list_cells(replace(config, validation=None, columns=()))[0].column != "perplexity"
    mask_config = settings(tmp_path, corpus, data, "table8", rows=("m0-s20-r80",), columns=("ner-frozen",))
    list(reproduce(mask_config))
    run = json.loads((tmp_path / "table8/pretrained-seed0/m0-s20-r80/run.json").read_text())
    assert (run["mask_share"], run["random_share"]) == (0.0, 0.8)


def table_of(*means: float) -> dict:
    rows = {
        name: {"title": name.upper(), "cells": {"c": {"mean": mean, "spread": None, "values": [mean], "paper": paper}}}
        for name, mean, paper in zip("abd", means, (84.2, 84.3, 83.6), strict=True)
    }
    column = {"title": "C", "task": "sst2", "paper_task": "MNLI", "lower": False}
    return {
        "rows": rows, "columns": {"c": column}, "against": "a", "seeds": 3, "table": "table8", "title": "<b>T",
        "source": "here",
    }  # fmt: skip


def test_the_summary_counts_agreeing_directions():
    assert [comparison["agrees"] for comparison in compare_directions(table_of(70, 71, 69))] == [True, True]
    assert summarise_directions(table_of(70, 71, 69)).endswith("in all 2 comparisons.")
    text = summarise_directions(table_of(70, 69, 69))
    assert "1 of 2" in text
    assert "B on C (-1.00, the paper +0.10)" in text
    assert summarise_directions(table_of(70, 70, 69)).endswith(
        "1 of 2 differences have the paper's direction; 1 of ours is zero."
    )
    assert summarise_directions({**table_of(70, 71, 69), "rows": {}}) == "Nothing can be compared with the paper yet."


def test_the_figure_shows_differences_from_the_reference_row():
    figure = ablation.figure(table_of(70, 71, 69))
    ours, paper = figure.data
    assert list(ours.x) == [1, -1]
    assert list(paper.x) == pytest.approx([0.1, -0.6])
    assert "<b>" not in figure.layout.title.text


@pytest.mark.parametrize(
    ("words", "id"),
    [
        (["table5", "--data", "{data}"], "reproduce-needs-corpus"),
        (["table5", "--corpus", "{data}", "--data", "{data}"], "corpus-not-found"),
        (["table7", "--data", "{data}/glue", "--from", "{tiny}"], "reproduce-task-not-found"),
        (["table7", "--data", "{data}/nowhere", "--from", "{tiny}"], "reproduce-data-not-found"),
        (["table7", "--data", "{data}", "--from", "nobody"], "hub-unreachable"),
        (["table7", "--data", "{data}", "--from", "{tiny}", "--rows", "third"], "reproduce-row-unknown"),
        (["table7", "--data", "{data}", "--from", "{tiny}", "--seeds", "0"], "setting-out-of-range"),
        (
            ["table6", "--corpus", "{corpus}", "--data", "{data}", "--columns", "perplexity"],
            "reproduce-perplexity-needs-validation",
        ),
    ],
)
def test_missing_data_and_invalid_settings_are_reported_before_training(
    words, id, tmp_path, data, corpus, tiny_checkpoint
):
    paths = {"data": data, "corpus": corpus, "tiny": tiny_checkpoint}
    error = command_error("reproduce", *(word.format(**paths) for word in words), "--out", str(tmp_path / "out"))
    assert error.id == id
    assert not (tmp_path / "out").exists()
