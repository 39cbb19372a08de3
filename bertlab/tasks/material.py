"""What a task gives to a run: batches, a loss, a fresh model, and how it is measured; for spans and for all the others.

Knows where rows come from; no optimiser and no directory of a run.
"""

import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
import torch
from torch import nn

from bertlab.checkpoints.checkpoint import Checkpoint
from bertlab.config.errors import BertlabError, DataError
from bertlab.config.tasks import TaskSpec
from bertlab.nn.bert import Bert
from bertlab.nn.fast.model import FastBert
from bertlab.tasks.examples import Examples, held_out, read_examples
from bertlab.tasks.features import features
from bertlab.tasks.labelled import answers, figures, named, predict
from bertlab.tasks.span.predict import spoken, squad_figures
from bertlab.tasks.span.squad import measurable, read_rows
from bertlab.tasks.span.unanswerable import add_unanswerable
from bertlab.tasks.span.windows import Ragged, SpanFeatures, span_features, well_placed
from bertlab.text.batch import SpanBatch, collate
from bertlab.text.batches import ShuffledSampler
from bertlab.text.readers.invalid_rows import InvalidRowAction, InvalidRows
from bertlab.text.readers.rows import evenly_spaced
from bertlab.text.readers.splits import available_splits, has_split, read_split
from bertlab.training import distributed
from bertlab.training.objectives import OBJECTIVES

DRAWN = "rows drawn from the training set"
# what the progress bar shows of each kind: a figure of its loss, and its name there
SHOWN = {
    "classify": ("accuracy", "accuracy"),
    "regress": ("error", "error"),
    "choose": ("accuracy", "accuracy"),
    "tag": ("tag_accuracy", "tags"),
    "span": ("exact", "exact"),
}


@dataclass(frozen=True)
class Material:
    """batches: (batch size, seed) -> what a trainer goes through. measure: (model, rows at most or None, progress) ->
    figures on the held-out rows; None where there are none. facts: for `bertlab.json`. digest: of what is learned from.

    build: dropout -> what to train where that is more than the encoder under a plain output layer (`nn.bilstm`); such
    weights have no place in a checkpoint, so a run then leaves its figures and log alone.
    """

    spec: TaskSpec
    loaded: Checkpoint
    labels: tuple[str, ...]
    batches: Callable[[int, int], ShuffledSampler]
    measure: Callable[[Bert, int | None, Callable], dict] | None
    facts: dict
    max_tokens: int
    digest: int
    build: Callable[[float], nn.Module] | None = None
    loss: Callable = field(init=False)

    def __post_init__(self):
        object.__setattr__(self, "loss", OBJECTIVES[self.spec.kind])

    @property
    def made_of(self) -> dict:
        """What tells other training rows from the same ones, for `runs.claim`."""
        return {"examples": self.facts["examples"], "digest": self.digest}

    def model(self, dropout: float) -> nn.Module:
        """What a run begins with."""
        if self.build is not None:
            return self.build(dropout)
        return with_head(self.loaded.model, self.spec.kind, dropout, self.labels)


def with_head(encoder: Bert, kind: str, dropout: float, labels: tuple[str, ...] = ()) -> Bert:
    """The encoder under a new output layer of random weights; pre-training's heads stay behind, as in the paper.

    A head of the same kind and labels goes along: what answers questions learns from there that some have no answer.
    """
    model = FastBert(
        encoder.config.replace(hidden_dropout=dropout, attention_dropout=dropout, labels=labels), heads=[kind]
    )
    known = kind in encoder.heads and encoder.config.labels == labels
    kept = {
        name: tensor
        for name, tensor in encoder.state_dict().items()
        if not name.startswith("heads.") or (known and name.startswith(f"heads.{kind}."))
    }
    model.load_state_dict(kept, strict=False)
    if not known:
        # a checkpoint that was taught with this seed began with the very head that would be drawn here
        with torch.random.fork_rng([]):
            torch.manual_seed(torch.initial_seed() + zlib.crc32(model.pooler.dense.weight.detach().numpy().tobytes()))
            model.heads.apply(model.initialise)
    return model


def labelled_material(
    spec: TaskSpec,
    loaded: Checkpoint,
    *,
    data: str | None,
    validation: str | None,
    max_tokens: int,
    hold_out: float,
    invalid: InvalidRowAction,
    seed: int,
) -> Material:
    """Everything but spans; see `FinetuneConfig` for what is said by each.

    Raises:
        BertlabError: rows that are not the task's, or nothing to learn.
    """
    source = data or spec.hub_id
    complain = InvalidRows(invalid)
    train = read_examples(read_split(source, "train"), spec, (), complain, training=True)
    parts: dict[str, Examples] = {}
    for split in _held_out_splits(spec, data, validation):
        parts[split] = read_examples(read_split(validation or source, split), spec, train.labels, complain)
    if not parts and hold_out:
        train, parts[DRAWN] = held_out(train, hold_out, np.random.default_rng(seed).permutation)
    for examples in parts.values():
        if not examples.labelled:
            raise BertlabError(
                f"{examples.name} has no labels, so nothing can be measured on it: name labelled rows with --validation"
            )
    learned = features(loaded.tokenizer, train, max_tokens)
    measured = {split: features(loaded.tokenizer, examples, max_tokens) for split, examples in parts.items()}

    def measure(model: Bert, limit: int | None, progress: Callable) -> dict:
        found: dict = {}
        for number, (split, whole) in enumerate(measured.items()):
            own = whole
            if limit is not None and limit < len(whole.examples):
                some = whole.examples.of(evenly_spaced(len(whole.examples), limit))
                own = features(loaded.tokenizer, some, max_tokens)
            told = figures(own.examples, answers(spec, predict(model, own, progress=progress)))
            found |= named(told, split, first=not number)
        return found

    facts = {"examples": len(train), "skipped": len(complain), "held_out": sum(map(len, parts.values()))}
    if parts:
        facts["measured_on"] = [DRAWN if DRAWN in parts else Path(str(validation or source)).name]
    if spec.kind == "regress":
        values = [row.target for row in train]
        facts["value_range"] = [min(values), max(values)]
    labels = train.labels if spec.kind in ("classify", "tag") else ()
    batches = partial(learned.batches, share=distributed.data_shard())
    digest = _digest(learned.ids, np.array(str([row.target for row in train]).encode()))
    return Material(train.spec, loaded, labels, batches, measure if parts else None, facts, max_tokens, digest)


def _held_out_splits(spec: TaskSpec, data: str | None, validation: str | None) -> tuple[str, ...]:
    """What is measured: of --validation, which has to have something; else what lies beside the training rows."""
    if validation:
        return available_splits(validation, spec.validation, "validation") or spec.validation[:1]
    if data is None:
        return spec.validation
    return () if Path(data).is_file() else available_splits(data, spec.validation, "validation")


def span_material(
    spec: TaskSpec,
    loaded: Checkpoint,
    *,
    data: str | None,
    validation: str | None,
    max_tokens: int,
    stride: int,
    make_unanswerable: float | None,
    invalid: InvalidRowAction,
    seed: int,
) -> Material:
    """Answers in passages; a row whose answer is not where it says is left out and counted.

    Raises:
        BertlabError: rows that are not questions, nothing to learn, or held-out rows without answers.
    """
    source = data or spec.hub_id
    complain = InvalidRows(invalid)
    rows = read_rows(source, "train", complain, spec, training=True)
    spec = spoken(spec, rows)
    if make_unanswerable is not None:
        if not spec.unanswerable:
            raise BertlabError("every question of this task has an answer: --make-unanswerable is for squad_v2")
        rows, _ = well_placed(rows, spec.unanswerable, complain)  # what is made of an answer leans on its place
        rows = add_unanswerable(rows, make_unanswerable, seed)
    if validation is None and (data is None or has_split(data, "validation")):
        validation = source
    held_out = read_rows(validation, "validation", complain, spec) if validation else []
    if held_out:
        held_out = measurable(held_out, validation, spec.unanswerable, complain)
    found = span_features(loaded.tokenizer, rows, max_tokens, stride, unanswerable=spec.unanswerable, complain=complain)
    if not len(found):
        raise DataError("no row is left to learn from")

    def measure(model: Bert, limit: int | None, progress: Callable) -> dict:
        own = held_out
        if limit is not None and limit < len(held_out):
            own = [held_out[i] for i in evenly_spaced(len(held_out), limit)]
        return squad_figures(
            model, loaded.tokenizer, own, spec, max_tokens=max_tokens, stride=stride, progress=progress
        )

    def batches(batch_size: int, seed: int) -> ShuffledSampler:
        return span_batches(found, loaded.tokenizer.pad_id, batch_size, seed)

    facts = {"examples": len(rows), "skipped": len(complain)}
    if held_out:
        facts["measured_on"] = [Path(str(validation)).name]
    digest = _digest(found.windows.question_ids, found.windows.passage_ids.flat, found.start_W, found.end_W)
    return Material(spec, loaded, (), batches, measure if held_out else None, facts, max_tokens, digest)


def _digest(ids: Ragged, *others: np.ndarray) -> int:
    """A number that another order of tokens, rows or answers does not share but by an unlikely chance."""
    found = 0
    for part in (ids.flat, ids.start, *others):
        found = zlib.crc32(np.ascontiguousarray(part).tobytes(), found)
    return found


def span_batches(features: SpanFeatures, pad_id: int, batch_size: int, seed: int) -> ShuffledSampler:
    """Windows and where their answers lie, in shuffled batches."""
    windows = features.windows

    def make(rows: np.ndarray) -> SpanBatch:
        inputs = collate([windows[int(w)] for w in rows], pad_id)
        return SpanBatch(inputs, torch.from_numpy(features.start_W[rows]), torch.from_numpy(features.end_W[rows]))

    return ShuffledSampler(len(windows), batch_size, seed, make, distributed.data_shard())
