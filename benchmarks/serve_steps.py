"""The steps of `bertlab bench serve`, each of which is one way to classify the texts, and their measurement."""

import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch
import transformers
from tqdm import tqdm

from benchmarks.serve_classifiers import (
    Classifier,
    ClassifyBatch,
    make_exported_function,
    make_onnx_function,
    make_transformers_function,
    run_workers,
)
from benchmarks.transformers_peer import load_tokenizer
from bertlab.abilities.cost.serving_rows import StepResult
from bertlab.checkpoints import onnx_files
from bertlab.checkpoints.checkpoint import Checkpoint
from bertlab.config.presets import get_preset

NUM_SINGLE_TEXTS = 32  # how many texts a round classifies one at a time, to measure the latency


@dataclass(frozen=True)
class StepSettings:
    """The settings that all steps have in common."""

    batch_size: int
    max_tokens: int  # the length to which the first two steps pad; longer texts are truncated
    cores: int  # the number of threads that compute a batch, and the number of worker processes


@contextmanager
def open_steps(student: Checkpoint, base: Checkpoint | None, settings: StepSettings) -> Iterator[dict[str, Classifier]]:
    """Open the classifiers of all steps, and of the peers to compare with; close them when the `with` block ends."""
    torch.set_num_threads(settings.cores)
    batch_size, max_tokens = settings.batch_size, settings.max_tokens
    models = {"base": open_base(student, base), "student": _open_with_transformers(student)}
    with ExitStack() as stack:
        directory = Path(stack.enter_context(TemporaryDirectory()))
        files = {
            weights: onnx_files.save(
                directory / weights, student.model, student.tokenizer, {}, heads=("classify",), weights=weights
            )
            for weights in ("float32", "int8")
        }

        def make_classifier(classify_batch: ClassifyBatch, **options: bool) -> Classifier:
            return Classifier(lambda batches: map(classify_batch, batches), batch_size, **options)

        padded = {name: make_transformers_function(*models[name], max_tokens, fixed_length=True) for name in models}
        exported = {
            f"peer-{name}": make_exported_function(*models[name], max_tokens, directory / f"{name}.onnx")
            for name in models
        }
        dynamic = make_transformers_function(*models["student"], max_tokens, fixed_length=False)
        classify_in_workers = stack.enter_context(run_workers(files["int8"], max_tokens, settings.cores))
        yield {
            **{name: make_classifier(function, groups_by_length=False) for name, function in padded.items()},
            "dynamic": make_classifier(dynamic),
            "onnx": make_classifier(make_onnx_function(files["float32"], max_tokens, settings.cores)),
            "int8": make_classifier(make_onnx_function(files["int8"], max_tokens, settings.cores)),
            "workers": Classifier(classify_in_workers, batch_size),
            "cache": Classifier(classify_in_workers, batch_size, uses_cache=True),
            **{name: make_classifier(function, groups_by_length=False) for name, function in exported.items()},
        }


def open_base(student: Checkpoint, base: Checkpoint | None):
    """Open the model of the first step and its tokenizer."""
    if base is not None:
        return _open_with_transformers(base)
    sizes = get_preset("base").replace(vocab_size=student.config.vocab_size, labels=student.config.labels)
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=sizes.vocab_size, hidden_size=sizes.hidden_size, num_hidden_layers=sizes.num_layers,
        num_attention_heads=sizes.num_heads, intermediate_size=sizes.intermediate_size, num_labels=len(sizes.labels),
    )  # fmt: skip
    return transformers.BertForSequenceClassification(config).eval(), load_tokenizer(student.path)


def _open_with_transformers(loaded: Checkpoint):
    auto_class = transformers.AutoModelForSequenceClassification
    return auto_class.from_pretrained(loaded.path, dtype=torch.float32).eval(), load_tokenizer(loaded.path)


def repeat_texts(texts: Sequence[str], share: float, seed: int = 0) -> list[str]:
    """Make a list of requests in random order, as long as `texts`; a share of the requests repeats other requests.

    >>> stream = repeat_texts([str(number) for number in range(10)], 0.3)
    >>> len(stream), len(set(stream))
    (10, 7)
    """
    random = np.random.default_rng(seed)
    num_repeated = min(round(share * len(texts)), len(texts) - 1)
    distinct = random.permutation(len(texts))[: len(texts) - num_repeated]
    indices = [*distinct, *random.choice(distinct, num_repeated)]
    return [texts[index] for index in random.permutation(indices)]


def measure_speed(
    classifiers: Mapping[str, Classifier],
    texts: Mapping[str, Sequence[str]],
    rounds: int,
    seconds: float,
    *,
    quiet: bool = True,
) -> dict[str, tuple[list[float], list[float]]]:
    """Measure the throughput and the latency of classifiers alternately.

    Args:
        seconds: in a round, a classifier repeats all of its requests until this many seconds have passed. The cache is
            empty at the start of every repetition.

    Returns:
        {name: (texts per second of each round, milliseconds of each single text)}.
    """
    speeds: dict[str, tuple[list[float], list[float]]] = {name: ([], []) for name in classifiers}
    for name, classifier in classifiers.items():  # the first computation takes longer than others
        classifier.classify(texts[name][: 4 * classifier.batch_size])
    for name in tqdm([*classifiers] * rounds, "steps", leave=False, disable=quiet):
        classifier, requests = classifiers[name], texts[name]
        start, count = time.perf_counter(), 0
        while not count or time.perf_counter() - start < seconds:
            classifier.cache.clear()
            classifier.classify(requests)
            count += len(requests)
        speeds[name][0].append(count / (time.perf_counter() - start))
        classifier.cache.clear()
        for text in requests[:: max(1, len(requests) // NUM_SINGLE_TEXTS)][:NUM_SINGLE_TEXTS]:
            start = time.perf_counter()
            classifier.classify([text])
            speeds[name][1].append(1000 * (time.perf_counter() - start))
    return speeds


def make_step_result(
    name: str,
    speed: tuple[Sequence[float], Sequence[float]],
    targets: Sequence[int],
    predicted: Sequence[int] | None,
    predicted_by_student: Sequence[int] | None,
) -> StepResult:
    """Summarise the measurements of one step.

    Args:
        predicted: the label index of each row; None if the weights are random.
        predicted_by_student: those of the student in float32; None if the step uses another model.
    """
    throughputs, latencies_ms = speed
    p50, p95 = np.percentile(latencies_ms, [50, 95])
    accuracy = changed = None
    if predicted is not None:
        accuracy = round(100 * float(np.mean(np.equal(predicted, targets))), 2)
    if predicted is not None and predicted_by_student is not None:
        changed = int(np.not_equal(predicted, predicted_by_student).sum())
    return StepResult(
        name, round(statistics.median(throughputs), 1), round(min(throughputs), 1), round(max(throughputs), 1),
        round(float(p50), 2), round(float(p95), 2), accuracy, changed,
    )  # fmt: skip
