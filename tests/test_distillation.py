"""Fine-tuning with a teacher: what it changes, and which teachers are refused."""

from dataclasses import replace

import pytest
import torch
from support.errors import raises_error
from support.task_rows import jsonl, rows_of

from bertlab.checkpoints import checkpoint
from bertlab.config.errors import BertlabError, MissingHead
from bertlab.config.tasks import get_task
from bertlab.tasks.distillation import DistilledLabelLoss
from bertlab.text.tokenizers.wordpiece import Tokenizer
from bertlab.training.finetune import FinetuneConfig, finetune, read_data
from bertlab.training.optimizers import OptimConfig

ROWS = rows_of(get_task("sst2"), 120)


@pytest.fixture(scope="module")
def settings(tmp_path_factory, tiny_checkpoint) -> FinetuneConfig:
    directory = tmp_path_factory.mktemp("distillation")
    return FinetuneConfig(
        task="sst2", from_=str(tiny_checkpoint), data=str(jsonl(directory / "train.jsonl", ROWS)), hold_out=0.0,
        out=directory / "teacher", epochs=4, batch_size=8, max_tokens=48, dropout=0.0, optim=OptimConfig(lr=3e-3),
        precision="float32", device="cpu",
    )  # fmt: skip


@pytest.fixture(scope="module")
def teacher(settings):
    """A checkpoint that was fine-tuned for four epochs."""
    list(finetune(settings))
    return settings.out / "checkpoint"


def compute_probabilities(path, settings: FinetuneConfig) -> torch.Tensor:
    """The probabilities of the labels for the training rows, [B, K]."""
    batch = next(read_data(settings).make_batches(len(ROWS), 0, (0, 1)))
    with torch.no_grad():
        return checkpoint.load(path).model.logits("classify", batch.inputs).softmax(-1)


def test_a_student_predicts_more_like_its_teacher_than_without(settings, teacher, tmp_path):
    divergence = {}
    for name, changes in (("alone", {}), ("distilled", {"teacher": str(teacher), "teacher_share": 0.9})):
        config = replace(settings, out=tmp_path / name, epochs=1, optim=OptimConfig(lr=1e-3), **changes)
        list(finetune(config))
        student = compute_probabilities(tmp_path / name / "checkpoint", settings)
        target = compute_probabilities(teacher, settings)
        divergence[name] = torch.nn.functional.kl_div(student.log(), target, reduction="batchmean").item()
    assert divergence["distilled"] < divergence["alone"]
    record = checkpoint.load(tmp_path / "distilled" / "checkpoint").record
    assert (record["settings"]["teacher"], record["settings"]["teacher_share"]) == ("teacher", 0.9)


def test_the_loss_mixes_labels_and_the_probabilities_of_the_teacher(settings, teacher):
    data = read_data(replace(settings, teacher=str(teacher), teacher_share=0.25))
    batch, model = next(data.make_batches(6, 0, (0, 1))), data.make_model(0.0)
    with torch.no_grad():
        log_probs_BK = model.logits("classify", batch.inputs).log_softmax(-1)
        teacher_BK = checkpoint.load(teacher).model.logits("classify", batch.inputs).softmax(-1)
        target_BK = 0.75 * torch.nn.functional.one_hot(batch.labels_B, 2) + 0.25 * teacher_BK
        expected = -(target_BK * log_probs_BK).sum(-1).mean()
        assert data.loss(model, batch).value.item() == pytest.approx(expected.item(), abs=1e-6)


def test_the_labels_of_a_teacher_may_have_another_order(settings, teacher, tmp_path):
    loaded = checkpoint.load(teacher)
    model, head = loaded.model, loaded.model.heads["classify"]
    head.weight.data, head.bias.data = head.weight.data.flip(0), head.bias.data.flip(0)
    model.config = model.config.replace(labels=("POSITIVE", "NEGATIVE"))
    checkpoint.save(tmp_path / "reordered", model, loaded.tokenizer, {})
    values = []
    for path in (teacher, tmp_path / "reordered"):
        data = read_data(replace(settings, teacher=str(path)))
        batch = next(data.make_batches(6, 0, (0, 1)))
        values.append(data.loss(data.make_model(0.0), batch).value.item())
    assert values[0] == pytest.approx(values[1], abs=1e-4)


def test_a_run_is_not_resumed_with_another_teacher(settings, teacher, tmp_path):
    other = replace(settings, out=tmp_path / "other", seed=1, epochs=1)
    list(finetune(other))
    config = replace(settings, out=tmp_path / "run", teacher=str(teacher), epochs=1)
    next(iter(finetune(config)))
    loaded = checkpoint.load(other.out / "checkpoint")
    copy = checkpoint.load(teacher)
    checkpoint.save(teacher, loaded.model, loaded.tokenizer, {}, dtype=torch.float32)
    try:
        with raises_error(BertlabError, "run-data-differs"):
            list(finetune(config))
    finally:
        checkpoint.save(teacher, copy.model, copy.tokenizer, copy.record, dtype=torch.float32)


def test_teachers_that_do_not_fit_are_refused(settings, teacher, tiny_checkpoint, tmp_path):
    loaded = checkpoint.load(teacher)
    with raises_error(BertlabError, "teacher-flags-without-teacher", flags=["--teacher-share"]):
        read_data(replace(settings, teacher_share=0.9))
    with raises_error(BertlabError, "flag-needs-classification", task="stsb"):
        read_data(replace(settings, task="stsb", teacher=str(teacher)))
    with raises_error(MissingHead, "head-missing"):
        read_data(replace(settings, teacher=str(tiny_checkpoint)))
    vocabulary = Tokenizer.train(["tea with milk"] * 9, loaded.config.vocab_size)
    model = loaded.model
    model.config = model.config.replace(labels=("dry", "wet"))
    checkpoint.save(tmp_path / "labels", model, loaded.tokenizer, {})
    with raises_error(BertlabError, "teacher-of-other-labels", labels=["dry", "wet"]):
        read_data(replace(settings, teacher=str(tmp_path / "labels")))
    checkpoint.save(tmp_path / "vocabulary", model, vocabulary, {})
    with raises_error(BertlabError, "teacher-of-other-vocabulary"):
        read_data(replace(settings, teacher=str(tmp_path / "vocabulary")))


def test_the_teacher_stays_in_evaluation_mode(settings, teacher):
    loss = read_data(replace(settings, teacher=str(teacher))).loss
    assert isinstance(loss, DistilledLabelLoss)
    assert not loss.teacher.training
    assert not any(parameter.requires_grad for parameter in loss.teacher.parameters())
