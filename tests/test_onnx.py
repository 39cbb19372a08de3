"""ONNX files: their predictions equal those of the checkpoint, and what they lack is one line."""

import json
import sys
from pathlib import Path

import pytest
import torch
from support.families import FAMILIES, save_hf_checkpoint
from support.pages import errors, open_page
from support.tiny_model import TEXTS

import bertlab
from bertlab.checkpoints import checkpoint, onnx_files
from bertlab.checkpoints.files import ONNX
from bertlab.checkpoints.locate import find_shipped_checkpoints as find_shipped
from bertlab.cli import main
from bertlab.config.errors import CheckpointError, MissingHead, TextError
from bertlab.nn.heads import HEADS
from bertlab.nn.onnx_model import METADATA, OnnxBert
from bertlab.text.batch import Batch, collate

onnx = pytest.importorskip("onnx")
SENTENCE = "The potter set the green [MASK] on the shelf, and the boats [MASK] in."


def save_onnx(loaded: checkpoint.Checkpoint, directory: Path, **options) -> checkpoint.Checkpoint:
    """Write a checkpoint as an ONNX file, and open it."""
    arguments = directory, loaded.model, loaded.tokenizer, loaded.record
    return checkpoint.load(onnx_files.save(*arguments, **options))


def make_batch(config, lengths: list[int]) -> Batch:
    """Make random inputs of these lengths; the second half of each is the second text."""
    generator = torch.Generator().manual_seed(0)
    T = max(lengths)
    ids_BT = torch.randint(5, min(config.vocab_size, 100), (len(lengths), T), generator=generator)
    mask_BT = torch.arange(T) < torch.tensor(lengths)[:, None]
    types_BT = (torch.arange(T) >= torch.tensor(lengths)[:, None] // 2).long() * (config.type_vocab_size > 1)
    return Batch(ids_BT.masked_fill(~mask_BT, config.pad_token_id or 0), types_BT * mask_BT, mask_BT)


def assert_same_logits(loaded: checkpoint.Checkpoint, exported: checkpoint.Checkpoint, bound: float) -> None:
    """Compare the logits of all output layers for batches of several shapes, without those of padding."""
    assert isinstance(exported.model, OnnxBert)
    assert exported.heads == loaded.heads
    assert exported.config == loaded.config
    for lengths in ([1], [3, 20, 7], [36, 2], [12] * 5):
        batch = make_batch(loaded.config, lengths)
        for name in loaded.heads:
            with torch.inference_mode():
                expected, logits = (each.model.logits(name, batch) for each in (loaded, exported))
            if not HEADS[name].reads_pooled:
                expected, logits = expected[batch.attention_mask_BT], logits[batch.attention_mask_BT]
            torch.testing.assert_close(logits, expected, rtol=0, atol=bound)


@pytest.mark.parametrize("name", ["strongest", "squad", "sst2", "wikiann_en", "comve"])
def test_an_onnx_file_gives_the_logits_of_the_checkpoint(shipped, tmp_path, name):
    loaded = checkpoint.load(name)
    assert_same_logits(loaded, save_onnx(loaded, tmp_path / "onnx"), 1e-4)


@pytest.mark.parametrize("head", ["SequenceClassification", "MaskedLM"])
@pytest.mark.parametrize("prefix", [prefix for prefix in FAMILIES if prefix != "Bert"])
def test_every_family_can_be_exported(tiny_tokenizer, tmp_path, prefix, head):
    save_hf_checkpoint(tmp_path / "hf", prefix, head, tiny_tokenizer)
    loaded = checkpoint.load(tmp_path / "hf")
    assert_same_logits(loaded, save_onnx(loaded, tmp_path / "onnx"), 1e-4)


def test_an_onnx_file_fills_masks_and_classifies_as_the_commands_do(shipped, tmp_path, capsys):
    for name, words in (
        ("strongest", ["fill-mask", SENTENCE]),
        ("strongest", ["next-sentence", TEXTS[0], TEXTS[1]]),
        ("sst2", ["classify", TEXTS[0]]),
        ("wikiann_en", ["tag", TEXTS[0]]),
        ("squad", ["answer", "Who carried it?", TEXTS[2]]),
        ("comve", ["choose", TEXTS[0], TEXTS[1], TEXTS[4]]),
    ):
        directory = tmp_path / name
        if not directory.exists():
            assert main(["export", str(directory), "--checkpoint", name, "--format", "onnx"]) == 0
        capsys.readouterr()
        outputs = []
        for source in (name, str(directory)):
            assert not main([*words, "--checkpoint", source, "--json"])
            outputs.append(json.loads(capsys.readouterr().out) | {"checkpoint": name})
        assert round_numbers(outputs[0]) == round_numbers(outputs[1])


def round_numbers(value):
    """Round all numbers of a JSON value to four decimals."""
    if isinstance(value, dict):
        return {key: round_numbers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [round_numbers(item) for item in value]
    return round(value, 4) + 0.0 if isinstance(value, float) else value


def test_joint_filling_and_writing_aids_work_with_an_onnx_file(shipped, tmp_path):
    loaded = checkpoint.load("strongest")
    save_onnx(loaded, tmp_path / "onnx")
    session, original = bertlab.load(str(tmp_path / "onnx")), bertlab.load("strongest")
    results = [each.fill_jointly(SENTENCE) for each in (session, original)]
    assert [filling.text for filling in results[0].fillings] == [filling.text for filling in results[1].fillings]
    surprise, expected = (each.surprise(TEXTS[0]) for each in (session, original))
    assert surprise.total == pytest.approx(expected.total, abs=1e-3)


def test_a_model_without_output_layers_gives_sentence_vectors(shipped, tmp_path, monkeypatch):
    loaded = checkpoint.load("strongest")
    save_onnx(loaded, tmp_path / "onnx", heads=())
    session = bertlab.load(str(tmp_path / "onnx"))
    torch.testing.assert_close(
        torch.from_numpy(session.embed(TEXTS)), torch.from_numpy(bertlab.load("strongest").embed(TEXTS)), atol=1e-4,
        rtol=0,
    )  # fmt: skip
    assert "embed" in session.commands
    monkeypatch.setenv("BERTLAB_CACHE", str(tmp_path / "cache"))
    assert [session.sentence_vectors(TEXTS).num_cached for _ in range(2)] == [0, len(TEXTS)]
    with pytest.raises(MissingHead):
        session.fill_mask(SENTENCE)


@pytest.mark.skipif("sst2" not in find_shipped(), reason="no shipped checkpoints")
def test_eight_bit_weights_change_predictions_of_real_text_little(tmp_path):
    """The bound: the labels stay, and the probability of a label changes by at most 0.15, on average by 0.02.

    Measured: 0.099 for a sentence that praises and blames, 0.013 on average.
    """
    reviews = [
        "A quiet, lovely film that takes its time.", "I wanted to leave after ten minutes.",
        "The actors try hard, but the script gives them nothing to say.", "Funny, sad and beautifully shot.",
        "It is neither good nor bad.", "A waste of two hours.", "One of the warmest comedies of the year.",
        "The ending spoils what could have been a fine thriller.", "Dull.", "Go and see it!",
    ]  # fmt: skip
    loaded = checkpoint.load("sst2")
    exported = save_onnx(loaded, tmp_path / "onnx", weights="int8")
    batch = collate([loaded.tokenizer.encode(text) for text in reviews], loaded.tokenizer.pad_id)
    with torch.inference_mode():
        logits = [each.model.logits("classify", batch) for each in (loaded, exported)]
    expected, probabilities = (logits_BK.softmax(-1)[:, 1] for logits_BK in logits)
    difference = (probabilities - expected).abs()
    assert torch.equal(probabilities > 0.5, expected > 0.5)
    assert 0 < difference.max() <= 0.15
    assert difference.mean() <= 0.02
    size, original = ((each.path / name).stat().st_size for each, name in ((exported, ONNX), (loaded, "vocab.txt")))
    assert size - original < 0.3 * sum(4 * parameter.numel() for parameter in loaded.model.parameters())


def test_what_an_onnx_file_lacks_is_one_line(shipped, tmp_path, capsys):
    exported = save_onnx(checkpoint.load("strongest"), tmp_path / "onnx")
    session = bertlab.load(str(exported.path))
    for call in (
        lambda: session.attention(TEXTS[0]), lambda: session.lens(TEXTS[0]), lambda: session.embed([TEXTS[0]]),
        lambda: session.head_effects("masked_lm", SENTENCE), lambda: session.prune("0.1"),
        lambda: session.position_similarity(),
    ):  # fmt: skip
        with pytest.raises(CheckpointError) as caught:
            call()
        assert caught.value.id == "onnx-no-internals"
    with pytest.raises(TextError):
        session.fill_mask("tea " * 100 + "[MASK]")
    for words in (
        ["attention", TEXTS[0]], ["heads", SENTENCE], ["export", str(tmp_path / "copy")],
    ):  # fmt: skip
        assert main([*words, "--checkpoint", str(exported.path)]) == 2
        assert len(capsys.readouterr().err.strip().splitlines()) == 1
    assert main(["finetune", "sst2", "--from", str(exported.path), "--out", str(tmp_path / "run")]) == 2


PREDICTING = {"classify": "sst2", "fill_mask": "strongest"}
INSPECTING = ("attention", "heads", "logit_lens", "input", "sentences")


@pytest.mark.parametrize("screen", [*PREDICTING, *INSPECTING])
def test_pages_predict_with_an_onnx_file_and_say_what_it_lacks(shipped, tmp_path, monkeypatch, screen):
    monkeypatch.chdir(tmp_path)
    name = PREDICTING.get(screen, "strongest")
    save_onnx(checkpoint.load(name), tmp_path / "runs" / "exported")
    app = open_page(screen, checkpoint="runs/exported")
    assert not app.exception, app.exception[0].message
    lines = errors(app)
    assert len(lines) == (0 if screen in PREDICTING else 1), lines
    assert all("ONNX" in line for line in lines)


def change_metadata(path: Path, content: str | None) -> None:
    """Replace bertlab's metadata of an ONNX file; None removes them."""
    file = onnx.load(path)
    onnx.helper.set_model_props(file, {} if content is None else {METADATA: content})
    onnx.save(file, path)


@pytest.mark.parametrize(
    ("content", "id"),
    [
        (None, "onnx-not-of-bertlab"),
        ("{", "onnx-not-of-bertlab"),
        ('{"version": 2, "heads": ["classify"]}', "onnx-version-unknown"),
        ('{"version": 1, "heads": ["other"]}', "onnx-version-unknown"),
    ],
)
def test_a_file_of_another_version_is_rejected(shipped, tmp_path, content, id):
    exported = save_onnx(checkpoint.load("sst2"), tmp_path / "onnx")
    change_metadata(exported.path / ONNX, content)
    with pytest.raises(CheckpointError) as caught:
        checkpoint.load(exported.path)
    assert caught.value.id == id


def test_bad_input_is_one_line(shipped, tmp_path, monkeypatch, capsys):
    loaded = checkpoint.load("sst2")
    exported = save_onnx(loaded, tmp_path / "onnx", weights="int8")
    with pytest.raises(CheckpointError) as caught:
        save_onnx(exported, tmp_path / "again", weights="int8")
    assert caught.value.id == "onnx-already"
    with pytest.raises(MissingHead):
        save_onnx(loaded, tmp_path / "again", heads=["mlm"])
    for options in (["--dtype", "int8"], ["--dtype", "float16", "--format", "onnx"]):
        assert main(["export", str(tmp_path / "again"), "--checkpoint", "sst2", *options]) == 2
        assert len(capsys.readouterr().err.strip().splitlines()) == 1
    (exported.path / ONNX).write_bytes(b"no model")
    with pytest.raises(CheckpointError) as caught:
        checkpoint.load(exported.path)
    assert caught.value.id == "weights-damaged"
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(CheckpointError) as caught:
        checkpoint.load(exported.path)
    assert caught.value.id == "onnx-library-missing"
    assert not (tmp_path / "again").exists()
