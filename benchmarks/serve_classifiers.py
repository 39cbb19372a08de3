"""The ways to classify texts that `bertlab bench serve` compares.

The functions tokenise the texts themselves, so that the measured time contains the tokenisation.

Shape legend: B batch, T tokens, K labels.
"""

import multiprocessing
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from inspect import signature
from pathlib import Path

import numpy as np
import torch
import transformers

from bertlab.checkpoints import checkpoint
from bertlab.checkpoints.onnx_files import OPSET
from bertlab.nn.onnx_model import require_onnxruntime
from bertlab.tasks.features import Input
from bertlab.text.batch import Batch, collate
from bertlab.text.tokenizers.wordpiece import Tokenizer

ClassifyBatch = Callable[[Sequence[str]], list[int]]
"""A function that classifies one batch of texts, and returns the index of the predicted label of each text."""


@dataclass
class Classifier:
    """Classify any number of texts, in batches; the texts of a batch may have similar lengths, to avoid padding."""

    classify_batches: Callable[[Iterable[Sequence[str]]], Iterable[list[int]]]  # yields the label indices of each batch
    batch_size: int
    groups_by_length: bool = True
    uses_cache: bool = False
    cache: dict[str, int] = field(default_factory=dict)  # text -> label index

    def classify(self, texts: Sequence[str]) -> list[int]:
        """Return the index of the predicted label of each text."""
        if not self.uses_cache:
            return self._classify_in_batches(texts)
        new_texts = [text for text in dict.fromkeys(texts) if text not in self.cache]
        self.cache |= zip(new_texts, self._classify_in_batches(new_texts), strict=True)
        return [self.cache[text] for text in texts]

    def _classify_in_batches(self, texts: Sequence[str]) -> list[int]:
        order = list(range(len(texts)))
        if self.groups_by_length:  # the longest first, so that no worker begins a long batch when the others are done
            order.sort(key=lambda index: -len(texts[index]))
        index_batches = [order[start : start + self.batch_size] for start in range(0, len(order), self.batch_size)]
        labels = [0] * len(texts)
        batches = ([texts[index] for index in batch] for batch in index_batches)
        for batch, predicted in zip(index_batches, self.classify_batches(batches), strict=True):
            for index, label in zip(batch, predicted, strict=True):
                labels[index] = label
        return labels


def make_transformers_function(
    model: torch.nn.Module, tokenizer: transformers.PreTrainedTokenizerBase, max_tokens: int, *, fixed_length: bool
) -> ClassifyBatch:
    """Make a function that classifies with a model of `transformers` in PyTorch."""
    padding = "max_length" if fixed_length else "longest"

    @torch.inference_mode()
    def classify_batch(texts: Sequence[str]) -> list[int]:
        inputs = tokenizer(list(texts), padding=padding, truncation=True, max_length=max_tokens, return_tensors="pt")
        return model(**inputs).logits.argmax(-1).tolist()

    return classify_batch


def make_exported_function(
    model: torch.nn.Module, tokenizer: transformers.PreTrainedTokenizerBase, max_tokens: int, path: Path
) -> ClassifyBatch:
    """Export a model of `transformers` to ONNX, and make a function that classifies with it in ONNX Runtime.

    The export, the session's default options and the padding to the longest text of a batch follow the documentation of
    `transformers` and Optimum (https://huggingface.co/docs/transformers/serialization).
    """
    runtime = require_onnxruntime()
    tokens = tokenizer(["one text", "another, longer text"], padding=True, return_tensors="pt")
    # the names of the inputs must be in the order of the model's arguments
    example = {name: tokens[name] for name in signature(model.forward).parameters if name in tokens}
    axes = {name: {0: "batch", 1: "tokens"} for name in example} | {"logits": {0: "batch"}}
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")  # the exporter warns of sizes that become constants, as intended
        torch.onnx.export(
            model, (example,), str(path), input_names=list(example), output_names=["logits"], dynamic_axes=axes,
            opset_version=OPSET, dynamo=False,
        )  # fmt: skip
    session = runtime.InferenceSession(str(path), providers=["CPUExecutionProvider"])

    def classify_batch(texts: Sequence[str]) -> list[int]:
        inputs = tokenizer(list(texts), padding=True, truncation=True, max_length=max_tokens, return_tensors="np")
        (logits_BK,) = session.run(["logits"], {name: inputs[name].astype(np.int64) for name in example})
        return logits_BK.argmax(-1).tolist()

    return classify_batch


def make_onnx_function(directory: Path, max_tokens: int, threads: int) -> ClassifyBatch:
    """Make a function that classifies with an ONNX file of `checkpoints.onnx_files.save`."""
    torch.set_num_threads(threads)
    loaded = checkpoint.load(directory)

    def classify_batch(texts: Sequence[str]) -> list[int]:
        batch = make_batch(loaded.tokenizer, texts, max_tokens)
        return loaded.model.logits("classify", batch).argmax(-1).tolist()

    return classify_batch


def make_batch(tokenizer: Tokenizer, texts: Sequence[str], max_tokens: int) -> Batch:
    """Tokenise texts, truncate them, and pad them to the longest of them."""
    rows = [[tokenizer.cls_id, *ids[: max_tokens - 2], tokenizer.sep_id] for ids in tokenizer.encode_ids(texts)]
    return collate([Input(np.array(row), np.zeros(len(row), np.int64)) for row in rows], tokenizer.pad_id)


_classify_in_worker: ClassifyBatch | None = None  # set in each worker process of `run_workers`


def _open_in_worker(directory: Path, max_tokens: int) -> None:
    global _classify_in_worker
    _classify_in_worker = make_onnx_function(directory, max_tokens, threads=1)


def _run_in_worker(texts: Sequence[str]) -> list[int]:
    return _classify_in_worker(texts)


@contextmanager
def run_workers(
    directory: Path, max_tokens: int, workers: int
) -> Iterator[Callable[[Iterable[Sequence[str]]], Iterable[list[int]]]]:
    """Run worker processes until the `with` block ends. Each classifies batches with an ONNX file and one thread."""
    context = multiprocessing.get_context("spawn")  # a fork would inherit the threads of this process
    with ProcessPoolExecutor(workers, context, _open_in_worker, (directory, max_tokens)) as pool:
        yield partial(pool.map, _run_in_worker)
