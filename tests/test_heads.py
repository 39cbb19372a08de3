"""The four output layers of fine-tuning: outputs equal to those of transformers, saving, loading, and predictions."""

import json
from dataclasses import replace

import pytest
import torch
import transformers
from support.errors import raises_error
from transformers import BertConfig

import bertlab
from bertlab.checkpoints import checkpoint, onnx_files
from bertlab.cli import main
from bertlab.config.errors import CheckpointError, MissingHead, TextError
from bertlab.nn.fast.model import FastBert
from bertlab.nn.heads import HEADS, register_head
from bertlab.text.batch import collate

TEXT, PAIR = "The keeper carried the lantern.", "Rain fell on the harbour."
THEIRS = {
    "classify": transformers.BertForSequenceClassification,
    "regress": transformers.BertForSequenceClassification,
    "choose": transformers.BertForMultipleChoice,
    "tag": transformers.BertForTokenClassification,
}
LABELS = {"classify": ("bad", "so-so", "good"), "tag": ("O", "B-PER", "I-PER", "B-LOC", "I-LOC")}


@pytest.fixture(scope="module", params=list(THEIRS))
def head(request):
    return request.param


@pytest.fixture(scope="module")
def ours(head, tiny_model):
    return with_head(tiny_model, head)


def with_head(tiny_model, head, labels=None):
    labels = LABELS.get(head, ()) if labels is None else labels
    torch.manual_seed(1)
    model = FastBert(tiny_model.config.replace(labels=labels), [head])
    body = {name: tensor for name, tensor in tiny_model.state_dict().items() if not name.startswith("heads.")}
    model.load_state_dict(body, strict=False)
    return model.eval()


def logits_of(head, model, batch):
    encoded = model(batch)
    read = encoded.hidden_BTH if head == "tag" else encoded.pooled_BH
    return getattr(model, head)(read)


@torch.inference_mode()
def hf_logits(head, theirs, batch):
    inputs = {
        "input_ids": batch.input_ids_BT,
        "token_type_ids": batch.token_type_ids_BT,
        "attention_mask": batch.attention_mask_BT.long(),
    }
    if head == "choose":
        return theirs(**{name: tensor[None] for name, tensor in inputs.items()}).logits[0]
    logits = theirs(**inputs).logits
    return logits[:, 0] if head == "regress" else logits


@torch.inference_mode()
def test_ours_opens_in_transformers(head, ours, tiny_tokenizer, tmp_path):
    path = checkpoint.save(tmp_path / "mine", ours, tiny_tokenizer, {}, dtype=torch.float32)
    theirs = THEIRS[head].from_pretrained(path).eval()
    batch = collate(tiny_tokenizer.encode_batch([TEXT, PAIR]))
    mask = batch.attention_mask_BT if head == "tag" else ...
    torch.testing.assert_close(logits_of(head, ours, batch)[mask], hf_logits(head, theirs, batch)[mask])
    if head in LABELS:
        assert tuple(theirs.config.id2label.values()) == LABELS[head]
        assert theirs.config.label2id[LABELS[head][1]] == 1
    assert theirs.config.problem_type == ("regression" if head == "regress" else None)


@torch.inference_mode()
def test_theirs_opens_here(head, tiny_model, tiny_tokenizer, tmp_path):
    labels = LABELS.get(head, ("LABEL_0",))
    config = BertConfig(
        **tiny_model.config.to_hf(),
        id2label=dict(enumerate(labels)),
        label2id={name: n for n, name in enumerate(labels)},
    )
    torch.manual_seed(2)
    theirs = THEIRS[head](config).eval()
    theirs.save_pretrained(tmp_path)
    tiny_tokenizer.save(tmp_path)
    session = bertlab.load(tmp_path)
    assert session.heads == (head,)
    assert session.labels == LABELS.get(head, ())
    batch = collate(tiny_tokenizer.encode_batch([TEXT, PAIR]))
    mask = batch.attention_mask_BT if head == "tag" else ...
    torch.testing.assert_close(logits_of(head, session.model, batch)[mask], hf_logits(head, theirs, batch)[mask])


def test_a_saved_task_head_loads_unchanged(head, ours, tiny_tokenizer, tmp_path):
    path = checkpoint.save(tmp_path / "mine", ours, tiny_tokenizer, {}, dtype=torch.float32)
    again = checkpoint.load(path)
    assert again.heads == (head,)
    assert again.config == ours.config
    assert all(torch.equal(again.model.state_dict()[name], tensor) for name, tensor in ours.state_dict().items())


def test_two_default_labels_need_no_names(tiny_model, tiny_tokenizer, tmp_path):
    transformers.BertForSequenceClassification(BertConfig(**tiny_model.config.to_hf())).save_pretrained(tmp_path)
    tiny_tokenizer.save(tmp_path)
    assert "id2label" not in json.loads((tmp_path / "config.json").read_text())
    assert bertlab.load(tmp_path).labels == ("LABEL_0", "LABEL_1")


def test_without_architectures_the_pooler_shows_which_task_head_it_is(tiny_model, tiny_tokenizer, tmp_path):
    for head, name in (("classify", "a"), ("tag", "b")):
        hf = THEIRS[head](BertConfig(**tiny_model.config.to_hf(), num_labels=4))
        hf.save_pretrained(tmp_path / name)
        tiny_tokenizer.save(tmp_path / name)
        edit(tmp_path / name, architectures=None)
        assert bertlab.load(tmp_path / name).heads == (head,)


def edit(path, **changes):
    fields = json.loads((path / "config.json").read_text()) | changes
    (path / "config.json").write_text(json.dumps(fields))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"problem_type": "multi_label_classification"}, "multi-label"),
        (
            {"id2label": {"0": "a", "1": "b"}},
            r"classifier.weight has the shape \[3, 16\], but config.json requires \[2,",
        ),
        ({"id2label": {"0": "a", "2": "b"}}, "have the numbers 0, 2; they must be numbered from 0"),
    ],
)
def test_labels_that_do_not_fit(changes, message, tiny_model, tiny_tokenizer, tmp_path):
    model = with_head(tiny_model, "classify")
    path = checkpoint.save(tmp_path / "mine", model, tiny_tokenizer, {}, dtype=torch.float32)
    edit(path, **changes)
    with pytest.raises(CheckpointError, match=message) as error:
        checkpoint.load(path)
    assert "\n" not in str(error.value)


def test_a_checkpoint_has_at_most_one_classifier(tiny_model, tiny_tokenizer, tmp_path):
    model = FastBert(tiny_model.config.replace(labels=("a", "b")), ["classify", "tag"])
    with raises_error(CheckpointError, "checkpoint-several-classifiers"):
        checkpoint.save(tmp_path / "mine", model, tiny_tokenizer, {})
    with raises_error(CheckpointError, "labels-missing"):
        FastBert(tiny_model.config, ["classify"])


def test_a_task_head_can_be_saved_with_the_pretraining_heads(tiny_model, tiny_tokenizer, tmp_path):
    model = FastBert(tiny_model.config.replace(labels=("a", "b")), ["mlm", "nsp", "tag"])
    path = checkpoint.save(tmp_path / "mine", model, tiny_tokenizer, {}, dtype=torch.float32)
    assert checkpoint.load(path).heads == ("mlm", "nsp", "tag")


def test_an_output_layer_of_ones_own_with_labels_opens_again(tiny_model, tiny_tokenizer, tmp_path, monkeypatch):
    monkeypatch.setitem(HEADS, "sky", None)  # so that the layer is removed at the end
    register_head("sky", replace(HEADS["tag"], hf_class="BertModel", hf_modules={"": "sky"}))
    model = with_head(tiny_model, "sky", ("dry", "wet", "storm"))
    path = checkpoint.save(tmp_path / "mine", model, tiny_tokenizer, {}, dtype=torch.float32)
    again = checkpoint.load(path)
    assert (again.heads, again.config.labels) == (("sky",), ("dry", "wet", "storm"))
    assert torch.equal(again.model.heads["sky"].weight, model.heads["sky"].weight)
    exported = checkpoint.load(onnx_files.save(tmp_path / "fast", model, tiny_tokenizer, {}))
    assert (exported.heads, exported.config.labels) == (("sky",), ("dry", "wet", "storm"))


@pytest.fixture(scope="module")
def directories(tmp_path_factory, tiny_model, tiny_tokenizer):
    root = tmp_path_factory.mktemp("heads")
    for name in THEIRS:
        checkpoint.save(root / name, with_head(tiny_model, name), tiny_tokenizer, {}, dtype=torch.float32)
    record = {"settings": {"unit": "character"}}
    checkpoint.save(root / "tag-characters", with_head(tiny_model, "tag"), tiny_tokenizer, record, dtype=torch.float32)
    return root


def test_classify(directories, tiny_tokenizer):
    session = bertlab.load(directories / "classify")
    fact = session.classify(TEXT, PAIR)
    with torch.inference_mode():
        probs = logits_of("classify", session.model, collate([tiny_tokenizer.encode(TEXT, PAIR)]))[0].softmax(-1)
    assert [share.label for share in fact.labels] == list(LABELS["classify"])
    assert [share.probability for share in fact.labels] == pytest.approx(probs.tolist())
    assert fact.best.probability == max(share.probability for share in fact.labels)
    assert fact.value is None
    value = bertlab.load(directories / "regress").classify(TEXT)
    assert isinstance(value.value, float)
    assert (value.labels, value.best) == ((), None)


def test_choose(directories):
    session = bertlab.load(directories / "choose")
    found = session.choose(TEXT, ["Rain fell.", "She asked for tea, and he brought a kettle."])
    assert sum(choice.probability for choice in found) == pytest.approx(1)
    assert (found[0].score > found[1].score) == (found[0].probability > found[1].probability)
    for choices in (["alone"], "ab", []):
        with pytest.raises(TextError):
            session.choose(TEXT, choices)


@pytest.mark.parametrize("name", ["tag", "tag-characters"])
def test_tag(directories, name):
    session = bertlab.load(directories / name)
    text = "The keeper, of the mill: 할머니가  fell."
    found = session.tag(text)
    assert found.labels == LABELS["tag"]
    for row in (*found.words, *found.entities):
        assert text[row.start : row.end] == row.text
    for word in found.words:
        assert sum(word.probabilities) == pytest.approx(1)
        assert word.tag == LABELS["tag"][max(range(5), key=word.probabilities.__getitem__)]
    tagged = {word.start for e in found.entities for word in found.words if e.start <= word.start < e.end}
    assert tagged == {word.start for word in found.words if word.tag != "O"}
    if name == "tag":
        words = ["The", "keeper", ",", "of", "the", "mill", ":", "할머니가", "fell", "."]
        assert [word.text for word in found.words] == words


def test_parts_of_speech_make_no_entities(tiny_model, tiny_tokenizer, tmp_path):
    model = with_head(tiny_model, "tag", ("NOUN", "VERB", "PUNCT"))
    session = bertlab.load(checkpoint.save(tmp_path / "pos", model, tiny_tokenizer, {}, dtype=torch.float32))
    found = session.tag(TEXT)
    assert found.entities == ()
    assert {word.tag for word in found.words} <= {"NOUN", "VERB", "PUNCT"}


def test_missing_heads_are_named(checkpoints):
    session = bertlab.load(checkpoints / "strongest")
    for ask in (lambda: session.classify(TEXT), lambda: session.choose(TEXT, ["a", "b"]), lambda: session.tag(TEXT)):
        with raises_error(MissingHead, "head-missing") as caught:
            ask()
        assert caught.value.params["remedy"].id == "head-remedy-finetune"
    with raises_error(MissingHead, "head-missing") as caught:
        session.classify(TEXT)
    for language, task in (("en", "sst2"), ("ko", "nsmc")):
        assert f"bertlab finetune {task}" in caught.value.render(language), (
            "the command names a task in the language of the reader"
        )


def test_hostile_text_and_long_text(directories, capsys):
    for command in ("classify", "tag"):
        assert main([command, "\x1b[31m red <b>", "--checkpoint", str(directories / command)]) == 0
        assert "\x1b" not in capsys.readouterr().out
        for text in ("", "tea " * 80):
            assert main([command, text, "--checkpoint", str(directories / command)]) == 2
            assert capsys.readouterr().err.count("\n") == 1
