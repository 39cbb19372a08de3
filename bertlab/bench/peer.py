"""The peer of the benchmarks: `transformers` with `datasets` and its `Trainer`, written as its own examples are."""

import importlib.util
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import datasets
import torch
import transformers

from bertlab.config.errors import BertlabError
from bertlab.tasks.span.squad import read_rows
from bertlab.tasks.task_type import FinetuneTaskType
from bertlab.text.readers.splits import read_split


def read_task_rows(source: str | Path, split: str, task_type: FinetuneTaskType) -> list[dict]:
    """Return the rows of one split of a task."""
    return read_rows(source, split) if task_type.reads_windows else read_split(source, split).rows


def model_inputs(
    rows: Sequence[Mapping],
    task_type: FinetuneTaskType,
    columns: Sequence[str],
    tokenizer: transformers.PreTrainedTokenizerFast,
    max_tokens: int,
    overlap: int,
) -> datasets.Dataset:
    """Turn the rows of a task into model inputs with labels.

    Args:
        columns: the texts, for a task type that does not read windows.
        overlap: tokens that neighbouring windows share, for one that does.
    """
    if task_type.reads_windows:
        return span_rows(rows, tokenizer, max_tokens, overlap)
    return text_rows(rows, tokenizer, columns, max_tokens)


def tokenizer(checkpoint: Path) -> transformers.PreTrainedTokenizerFast:
    """Return the checkpoint's own fast tokenizer."""
    return transformers.AutoTokenizer.from_pretrained(checkpoint)


def span_rows(
    rows: Sequence[Mapping],
    tokenizer: transformers.PreTrainedTokenizerFast,
    max_tokens: int = 384,
    overlap: int = 128,
    workers: int | None = None,
) -> datasets.Dataset:
    """Turn SQuAD rows into model inputs with start and end positions, as `run_qa.py` does.

    Args:
        rows: a `datasets.Dataset`, or a list that becomes one.
        overlap: tokens that neighbouring windows share; `run_qa.py` calls it doc_stride.
        workers: processes of `datasets.map`; None for one, in which the tokenizer still uses every core.
    """

    def features(batch: dict) -> dict:
        questions = [question.lstrip() for question in batch["question"]]
        inputs = tokenizer(
            questions, batch["context"], truncation="only_second", max_length=max_tokens, stride=overlap,
            return_overflowing_tokens=True, return_offsets_mapping=True,
        )  # fmt: skip
        samples, offsets = inputs.pop("overflow_to_sample_mapping"), inputs.pop("offset_mapping")
        inputs["start_positions"], inputs["end_positions"] = [], []
        for i, offset in enumerate(offsets):
            ids, sequence_ids = inputs["input_ids"][i], inputs.sequence_ids(i)
            start = end = cls = ids.index(tokenizer.cls_token_id)
            answers = batch["answers"][samples[i]]
            if answers["answer_start"]:
                answer_start = answers["answer_start"][0]
                answer_end = answer_start + len(answers["text"][0])
                first, last = 0, len(ids) - 1
                while sequence_ids[first] != 1:
                    first += 1
                while sequence_ids[last] != 1:
                    last -= 1
                if offset[first][0] <= answer_start and offset[last][1] >= answer_end:
                    while first < len(offset) and offset[first][0] <= answer_start:
                        first += 1
                    while offset[last][1] >= answer_end:
                        last -= 1
                    start, end = first - 1, last + 1
            inputs["start_positions"].append(cls if start == cls else start)
            inputs["end_positions"].append(cls if start == cls else end)
        return inputs

    return _mapped(rows, features, workers)


def text_rows(
    rows: Sequence[Mapping],
    tokenizer: transformers.PreTrainedTokenizerFast,
    columns: Sequence[str],
    max_tokens: int = 128,
    workers: int | None = None,
) -> datasets.Dataset:
    """Turn rows of one or two texts and a label into model inputs with `labels`, as `run_glue.py` does."""

    def features(batch: dict) -> dict:
        inputs = tokenizer(*(batch[column] for column in columns), truncation=True, max_length=max_tokens)
        inputs["labels"] = batch["label"]
        return inputs

    return _mapped(rows, features, workers)


def _mapped(rows: Sequence[Mapping], features: Callable[[dict], dict], workers: int | None) -> datasets.Dataset:
    data = rows if isinstance(rows, datasets.Dataset) else datasets.Dataset.from_list(without_places(rows))
    # written to a file and memory-mapped, as is the default
    return data.map(
        features, batched=True, num_proc=workers, remove_columns=data.column_names, load_from_cache_file=False
    )


class CountingTrainer(transformers.Trainer):
    """A Trainer that counts the tokens it reads and times its steps, without the first `warm` ones."""

    warm = 2
    clock: Callable[[], float] = staticmethod(time.perf_counter)

    def train(self, *arguments, **options):
        self.ended: list[float] = []
        self.read: list[torch.Tensor] = []
        return super().train(*arguments, **options)

    def training_step(self, model, inputs, *arguments, **options):
        self.read.append(inputs["attention_mask"].sum())  # read later: .item() would wait for the GPU
        return super().training_step(model, inputs, *arguments, **options)

    def on_step_end(self) -> None:
        if self.args.device.type == "cuda" and self.state.global_step in (self.warm, self.state.max_steps):
            torch.cuda.synchronize()
        self.ended.append(self.clock())

    @property
    def tokens_per_second(self) -> float:
        """Tokens without padding per second, from the end of one step to the end of another, batches included."""
        return int(sum(self.read[self.warm :])) / (self.ended[-1] - self.ended[self.warm - 1])


class _Clock(transformers.TrainerCallback):
    def __init__(self, trainer: CountingTrainer):
        self.trainer = trainer

    def on_step_end(self, *_, **__) -> None:
        self.trainer.on_step_end()


def trainer(
    checkpoint: Path,
    task_type: FinetuneTaskType,
    data: datasets.Dataset,
    tokenizer: transformers.PreTrainedTokenizerFast,
    out: Path,
    *,
    labels: int = 2,
    dropout: float = 0.1,
    seed: int = 0,
    clock: Callable[[], float] = time.perf_counter,
    **arguments,
) -> CountingTrainer:
    """Return a `Trainer` over a checkpoint that pads each batch to its longest row.

    Args:
        task_type: its `hf_class` names the class of the model.
        labels: number of labels, for a task type that has them.
        arguments: of `transformers.TrainingArguments`.

    Raises:
        BertlabError: `accelerate`, which the Trainer needs, is not installed.
    """
    if importlib.util.find_spec("accelerate") is None:
        raise BertlabError("bench-needs-accelerate")
    transformers.logging.set_verbosity_error()  # it would warn that a new task head has no weights
    transformers.logging.disable_progress_bar()
    transformers.set_seed(seed)
    settings = {"hidden_dropout_prob": dropout, "attention_probs_dropout_prob": dropout}
    if task_type.uses_labels:
        settings["num_labels"] = labels
    if task_type.predicts_value:
        settings |= {"num_labels": 1, "problem_type": "regression"}
    auto_class = getattr(transformers, task_type.hf_class.replace("Bert", "AutoModel", 1))
    model = auto_class.from_pretrained(checkpoint, attn_implementation="sdpa", **settings)
    quiet = {"report_to": [], "save_strategy": "no", "logging_strategy": "no", "disable_tqdm": True}
    settings_of_run = transformers.TrainingArguments(str(out), seed=seed, **quiet, **arguments)
    settings_of_run._n_gpu = min(1, settings_of_run.n_gpu)  # else it gives every visible GPU a batch
    counting = CountingTrainer(
        model,
        settings_of_run,
        data_collator=transformers.DataCollatorWithPadding(tokenizer),
        train_dataset=data,
        processing_class=tokenizer,
    )
    counting.clock = clock
    counting.add_callback(_Clock(counting))
    counting.remove_callback(transformers.PrinterCallback)
    return counting


def without_places(rows: Sequence[dict]) -> list[dict]:
    """Rows without the file and line that they were read from, a tuple of mixed types that Arrow cannot store."""
    return [{name: value for name, value in row.items() if name != "where"} for row in rows]
