"""Sentence vectors: the losses, the rows, and checkpoints in the layout of sentence-transformers."""

import json

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from support.errors import raises_error

import bertlab
from bertlab.checkpoints.sentence_settings import SentenceSettings, format_sentence_settings, read_sentence_settings
from bertlab.cli import main
from bertlab.config.errors import BertlabError, CheckpointError, DataError
from bertlab.config.tasks import get_task
from bertlab.nn.pooling import pool_sentences
from bertlab.tasks.registry import TASK_TYPES
from bertlab.tasks.sentence_embedding import RANKING_SCALE, cosine_loss, ranking_loss
from bertlab.text.batch import collate
from bertlab.text.readers.rows import Rows

EMBEDDING = TASK_TYPES["sentence_embedding"]
TEXTS = ["Rain fell on the roof.", "The keeper carried the lantern because the night was dark.", "tea"]


def unit(*rows):
    return F.normalize(torch.tensor(rows, dtype=torch.float32), dim=-1)


# -- pooling -------------------------------------------------------------------------------------------------------


def test_pooling_ignores_padding_and_has_length_one():
    hidden = torch.tensor([[[1.0, 2.0], [3.0, -4.0], [torch.nan, 99.0]]])
    mask = torch.tensor([[True, True, False]])
    expected = {"mean": [[2.0, -1.0]], "cls": [[1.0, 2.0]], "max": [[3.0, 2.0]]}
    for mode, vector in expected.items():
        torch.testing.assert_close(pool_sentences(hidden, mask, [mode]), unit(*vector))
    torch.testing.assert_close(pool_sentences(hidden, mask, ["cls", "max"]), unit([1.0, 2.0, 3.0, 2.0]))


# -- losses --------------------------------------------------------------------------------------------------------


def test_the_cosine_is_fitted_to_the_value():
    vectors = torch.stack([unit([1, 0], [1, 0]), unit([0, 1], [1, 1])], dim=1)
    loss, metrics = cosine_loss(vectors, torch.tensor([0.0, 2**-0.5]))
    assert loss.item() == pytest.approx(0, abs=1e-6)
    assert metrics["error"].item() == pytest.approx(0, abs=1e-6)
    assert cosine_loss(vectors, torch.tensor([1.0, 2**-0.5]))[0].item() == pytest.approx(0.5)


def test_a_ranking_contrasts_pairs_with_the_batch_and_with_contradictions():
    first, second, negative = unit([1, 0], [0, 1]), unit([1, 0.2], [0.2, 1]), unit([1, 1], [1, -1])
    vectors = torch.stack([first, second, negative], dim=1)
    logits = RANKING_SCALE * torch.cat([first @ second.T, first @ negative.T], dim=1)
    different = torch.eye(2, dtype=torch.bool)
    loss, metrics = ranking_loss(vectors, torch.ones(2), different)
    assert loss.item() == pytest.approx(F.cross_entropy(logits, torch.arange(2)).item())
    assert metrics["accuracy"] == 1
    without, _ = ranking_loss(vectors, torch.zeros(2), different)
    assert without.item() == pytest.approx(F.cross_entropy(logits[:, :2], torch.arange(2)).item())
    # a pair with the same text is not a negative, so nothing is left to distinguish
    same, _ = ranking_loss(vectors[:, :2], torch.zeros(2), torch.ones(2, 2, dtype=torch.bool))
    assert same.item() == pytest.approx(0)


# -- rows ----------------------------------------------------------------------------------------------------------


def read(spec, rows):
    return EMBEDDING.read(Rows("mine.csv", tuple(rows[0]), rows), spec, training=True)


def test_inference_rows_become_entailed_pairs_with_a_contradiction():
    rows = [
        {"premise": "Tea is hot.", "hypothesis": "It is warm.", "label": 0},
        {"premise": "Tea is hot.", "hypothesis": "It is cold.", "label": 2},
        {"premise": "Tea is hot.", "hypothesis": "It is green.", "label": 1},
        {"premise": "Rain fell.", "hypothesis": "It was wet.", "label": 0},
    ]
    examples = read(get_task("klue_nli_vectors"), rows)
    assert [row.texts for row in examples] == [
        ("Tea is hot.", "It is warm.", "It is cold."),
        ("Rain fell.", "It was wet."),
    ]
    assert [row.target for row in examples] == [1.0, 0.0]
    with raises_error(DataError, "rows-without-entailment"):
        read(get_task("klue_nli_vectors"), rows[1:3])


def test_custom_rows_have_values_or_names_of_inference_or_no_label():
    spec = EMBEDDING.make_default_spec().replace(text=("a", "b"), label=("label",))
    values = read(spec, [{"a": "x y", "b": "x z", "label": 1}, {"a": "x", "b": "q", "label": 0.5}])
    assert (values.spec.metrics, values.labels) == (("spearman", "pearson"), ())
    names = read(spec, [{"a": "x", "b": "y", "label": "entailment"}, {"a": "x", "b": "z", "label": "neutral"}])
    assert (names.spec.metrics, len(names)) == (("retrieval_accuracy",), 1)
    pairs = read(spec, [{"a": "x", "b": "y"}, {"a": "p", "b": "q"}])
    assert (pairs.spec.metrics, len(pairs)) == (("retrieval_accuracy",), 2)


def test_pairs_without_labels_are_found_by_their_cosine(tmp_path, tiny_checkpoint, capsys):
    rows = [{"a": f"tea {number}", "b": f"hot tea {number}"} for number in range(30)]
    (tmp_path / "pairs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    words = ["finetune", "custom", "--type", "sentence_embedding", "--text-column", "a", "--pair-column", "b"]
    words += ["--data", str(tmp_path / "pairs.jsonl"), "--from", str(tiny_checkpoint), "--out", str(tmp_path / "run")]
    words += ["--pooling", "max", "--epochs", "1", "--device", "cpu", "--precision", "float32", "--threads", "1"]
    assert main(words) == 0
    opened = bertlab.load(tmp_path / "run")
    assert opened.record["settings"]["pooling"] == "max"
    assert opened.record["settings"]["loss"] == "ranking"
    assert 0 <= opened.record["validation"]["retrieval_accuracy"] <= 100
    capsys.readouterr()
    words = ["evaluate", "custom", "--checkpoint", str(tmp_path / "run"), "--data", str(tmp_path / "pairs.jsonl")]
    assert main([*words, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["examples"] == 30
    # the vectors follow the stored pooling
    with torch.inference_mode():
        batch = collate([opened.tokenizer.encode("hot tea")])
        vector = pool_sentences(opened.model(batch).hidden_BTH, batch.attention_mask_BT, ["max"])[0]
    np.testing.assert_allclose(opened.embed(["hot tea"])[0], vector, atol=1e-5)


def test_pooling_is_a_setting_of_sentence_vectors_only(tmp_path, tiny_checkpoint, capsys):
    words = ["finetune", "sst2", "--from", str(tiny_checkpoint), "--out", str(tmp_path), "--pooling", "cls"]
    assert main(words) == 2
    assert "stsb_vectors" in capsys.readouterr().err


# -- the layout of sentence-transformers ---------------------------------------------------------------------------


def write(directory, files: dict[str, object]):
    for name, content in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content))
    return directory


def modules(*types: str) -> list[dict]:
    return [{"idx": i, "name": str(i), "path": f"{i}_{t}" if i else "", "type": t} for i, t in enumerate(types)]


def test_settings_survive_the_layout_of_sentence_transformers(tmp_path):
    settings = SentenceSettings(("cls", "max"), max_tokens=77, is_recorded=True)
    write(tmp_path, format_sentence_settings(settings, 8))
    assert read_sentence_settings(tmp_path) == settings
    assert json.loads((tmp_path / "modules.json").read_text())[2]["type"].endswith("Normalize")


def test_files_of_version_six_are_read(tmp_path):
    names = [
        f"sentence_transformers.base.modules.{name}" for name in ("transformer.Transformer", "normalize.Normalize")
    ]
    names.insert(1, "sentence_transformers.sentence_transformer.modules.pooling.Pooling")
    rows = modules(*names)
    rows[1]["path"] = "1_Pooling"
    write(tmp_path, {
        "modules.json": rows, "1_Pooling/config.json": {"embedding_dimension": 8, "pooling_mode": "cls"},
        "sentence_bert_config.json": {}, "tokenizer_config.json": {"model_max_length": 128},
        "config_sentence_transformers.json": {"prompts": {"query": "query: "}, "default_prompt_name": "query"},
    })  # fmt: skip
    assert read_sentence_settings(tmp_path) == SentenceSettings(("cls",), 128, "query: ", is_recorded=True)


@pytest.mark.parametrize("modes", ["mean", "cls", "max", ["cls", "max"]])
def test_a_checkpoint_of_sentence_transformers_gives_the_same_vectors(tmp_path, tiny_checkpoint, modes):
    """The files are those of version 6; the expected vectors are pooled from the hidden states of `transformers`."""
    from transformers import AutoTokenizer, BertConfig, BertModel

    tokenizer = AutoTokenizer.from_pretrained(tiny_checkpoint)
    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    encoder = BertModel(BertConfig(vocab_size=len(tokenizer), max_position_embeddings=32, **sizes)).eval()
    encoder.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    names = ["base.modules.transformer.Transformer", "sentence_transformer.modules.pooling.Pooling"]
    names.append("sentence_transformer.modules.normalize.Normalize")
    rows = modules(*(f"sentence_transformers.{name}" for name in names))
    rows[1]["path"] = "1_Pooling"
    write(tmp_path, {
        "modules.json": rows, "sentence_bert_config.json": {"transformer_task": "feature-extraction"},
        "1_Pooling/config.json": {"embedding_dimension": 16, "pooling_mode": modes, "include_prompt": True},
    })  # fmt: skip
    with torch.inference_mode():
        hidden = [encoder(**tokenizer(text, return_tensors="pt")).last_hidden_state[0] for text in TEXTS]
    pooled = {"mean": lambda h: h.mean(0), "cls": lambda h: h[0], "max": lambda h: h.amax(0)}
    keys = [modes] if isinstance(modes, str) else modes
    expected = F.normalize(torch.stack([torch.cat([pooled[key](h) for key in keys]) for h in hidden]), dim=-1)
    opened = bertlab.load(tmp_path)
    assert opened.loaded.sentence_settings.is_recorded
    np.testing.assert_allclose(opened.embed(TEXTS), expected, atol=1e-5)


@pytest.mark.parametrize(
    ("files", "error"),
    [
        ({"modules.json": modules("a.Transformer", "a.Dense")}, "sentence-module-unknown"),
        ({"modules.json": "no JSON"}, "json-invalid"),
        (
            {
                "modules.json": modules("a.Transformer", "Pooling"),
                "1_Pooling/config.json": {"pooling_mode": "lasttoken"},
            },
            "sentence-pooling-unknown",
        ),
    ],
)
def test_settings_that_cannot_be_used_are_refused(tmp_path, files, error):
    with raises_error(CheckpointError, error):
        read_sentence_settings(write(tmp_path, files))


def test_a_checkpoint_without_such_files_uses_the_mean(tiny_checkpoint):
    assert read_sentence_settings(tiny_checkpoint) == SentenceSettings()


def test_export_preserves_the_pooling_and_saving_another_model_removes_it(tmp_path, tiny_checkpoint):
    session = bertlab.load(tiny_checkpoint)
    settings = SentenceSettings(("cls",), 16, is_recorded=True)
    saved = tmp_path / "vectors"
    bertlab.checkpoints.checkpoint.save(saved, session.model, session.tokenizer, {}, sentence_settings=settings)
    assert main(["export", str(tmp_path / "copy"), "--checkpoint", str(saved)]) == 0
    assert read_sentence_settings(tmp_path / "copy") == settings
    bertlab.checkpoints.checkpoint.save(saved, session.model, session.tokenizer, {})
    assert not read_sentence_settings(saved).is_recorded
    assert not (saved / "1_Pooling").exists()


def test_a_damaged_pooling_does_not_prevent_other_predictions(tmp_path, tiny_checkpoint):
    session = bertlab.load(tiny_checkpoint)
    saved = tmp_path / "vectors"
    bertlab.checkpoints.checkpoint.save(saved, session.model, session.tokenizer, {})
    write(saved, {"modules.json": modules("a.Transformer", "a.Dense")})
    opened = bertlab.load(saved)
    assert opened.fill_mask("Tea [MASK] hot.")
    with raises_error(BertlabError, "sentence-module-unknown", module="Dense"):
        opened.embed(TEXTS)
