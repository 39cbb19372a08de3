"""The implementation that the fine-tuning benchmarks compare bertlab with (the peer).

It is `transformers` with `datasets`, used as in the examples of `transformers`.
"""

import importlib.util
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import datasets
import torch
import transformers

from bertlab.config.errors import BertlabError
from bertlab.tasks.span.squad import read_rows
from bertlab.tasks.task_type import TaskType
from bertlab.text.readers.splits import read_split


def read_task_rows(source: str | Path, split: str, task_type: TaskType) -> list[dict]:
    """Return the rows of one split of a task."""
    return read_rows(source, split) if task_type.reads_windows else read_split(source, split).rows


def encode_rows(
    rows: Sequence[Mapping],
    task_type: TaskType,
    columns: Sequence[str],
    tokenizer: transformers.PreTrainedTokenizerFast,
    max_tokens: int,
    overlap: int,
) -> datasets.Dataset:
    """Convert the rows of a task to model inputs with labels."""
    if task_type.reads_windows:
        return encode_span_rows(rows, tokenizer, max_tokens, overlap)
    return encode_text_rows(rows, tokenizer, columns, max_tokens)


def load_tokenizer(checkpoint: Path) -> transformers.PreTrainedTokenizerFast:
    """Return the fast tokenizer of a checkpoint."""
    return transformers.AutoTokenizer.from_pretrained(checkpoint)


def encode_span_rows(
    rows: Sequence[Mapping],
    tokenizer: transformers.PreTrainedTokenizerFast,
    max_tokens: int = 384,
    overlap: int = 128,
    processes: int | None = None,
) -> datasets.Dataset:
    """Convert SQuAD rows to model inputs with start and end positions, as `run_qa.py` does."""

    def encode_batch(batch: dict) -> dict:
        """Tokenise rows into windows. If a window lacks a part of the answer, both positions are that of [CLS]."""
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

    return _map_rows(rows, encode_batch, processes)


def encode_text_rows(
    rows: Sequence[Mapping],
    tokenizer: transformers.PreTrainedTokenizerFast,
    columns: Sequence[str],
    max_tokens: int = 128,
    processes: int | None = None,
) -> datasets.Dataset:
    """Convert rows of one or two texts and a label to model inputs with `labels`, as `run_glue.py` does."""

    def encode_batch(batch: dict) -> dict:
        inputs = tokenizer(*(batch[column] for column in columns), truncation=True, max_length=max_tokens)
        inputs["labels"] = batch["label"]
        return inputs

    return _map_rows(rows, encode_batch, processes)


def _map_rows(rows: Sequence[Mapping], function: Callable[[dict], dict], processes: int | None) -> datasets.Dataset:
    data = rows if isinstance(rows, datasets.Dataset) else datasets.Dataset.from_list(drop_row_locations(rows))
    # By default `map` writes the result to a file and maps it into memory.
    return data.map(
        function, batched=True, num_proc=processes, remove_columns=data.column_names, load_from_cache_file=False
    )


class TimedTrainer(transformers.Trainer):
    """A Trainer that measures its tokens per second, excluding the first `warm_up_steps` steps of each training."""

    warm_up_steps = 2
    clock: Callable[[], float] = staticmethod(time.perf_counter)  # returns the time in seconds

    def train(self, *arguments, **options):
        """Delete the measurements of an earlier call, and train."""
        self.step_end_times: list[float] = []
        self.token_counts: list[torch.Tensor] = []
        return super().train(*arguments, **options)

    def training_step(self, model, inputs, *arguments, **options):
        """Count the tokens of a batch, and do the training step."""
        self.token_counts.append(inputs["attention_mask"].sum())  # a tensor: .item() would wait for the GPU
        return super().training_step(model, inputs, *arguments, **options)

    def record_step_end(self) -> None:
        """Record the time at which a step ends; at both ends of the measured interval, wait for the GPU first."""
        if self.args.device.type == "cuda" and self.state.global_step in (self.warm_up_steps, self.state.max_steps):
            torch.cuda.synchronize()
        self.step_end_times.append(self.clock())

    @property
    def tokens_per_second(self) -> float:
        """The tokens per second after the warm-up, without padding; the time for building batches is included."""
        tokens = int(sum(self.token_counts[self.warm_up_steps :]))
        return tokens / (self.step_end_times[-1] - self.step_end_times[self.warm_up_steps - 1])


class _StepEndCallback(transformers.TrainerCallback):
    """Calls `record_step_end` of a trainer after each of its steps."""

    def __init__(self, trainer: TimedTrainer):
        self.trainer = trainer

    def on_step_end(self, *_, **__) -> None:
        self.trainer.record_step_end()


def make_trainer(
    checkpoint: Path,
    task_type: TaskType,
    data: datasets.Dataset,
    tokenizer: transformers.PreTrainedTokenizerFast,
    out: Path,
    *,
    num_labels: int = 2,
    dropout: float = 0.1,
    seed: int = 0,
    clock: Callable[[], float] = time.perf_counter,
    **arguments,
) -> TimedTrainer:
    """Return a Trainer that fine-tunes a checkpoint and pads each batch to its longest row."""
    if importlib.util.find_spec("accelerate") is None:
        raise BertlabError("bench-needs-accelerate")
    transformers.logging.set_verbosity_error()  # hide the warning that the weights of the output layer are new
    transformers.logging.disable_progress_bar()
    transformers.set_seed(seed)
    settings = {"hidden_dropout_prob": dropout, "attention_probs_dropout_prob": dropout}
    if task_type.has_labels:
        settings["num_labels"] = num_labels
    if task_type.predicts_value:
        settings |= {"num_labels": 1, "problem_type": "regression"}
    # the class that opens any architecture: BertForSequenceClassification -> AutoModelForSequenceClassification
    auto_class = getattr(transformers, task_type.hf_class.replace("Bert", "AutoModel", 1))
    # Without `dtype` the weights have the type of the file: float16 for shipped checkpoints, which is slow on a CPU.
    model = auto_class.from_pretrained(checkpoint, attn_implementation="sdpa", dtype=torch.float32, **settings)
    quiet = {"report_to": [], "save_strategy": "no", "logging_strategy": "no", "disable_tqdm": True}
    training_arguments = transformers.TrainingArguments(str(out), seed=seed, **quiet, **arguments)
    training_arguments._n_gpu = min(1, training_arguments.n_gpu)  # otherwise every visible GPU gets a batch
    trainer = TimedTrainer(
        model,
        training_arguments,
        data_collator=transformers.DataCollatorWithPadding(tokenizer),
        train_dataset=data,
        processing_class=tokenizer,
    )
    trainer.clock = clock
    trainer.add_callback(_StepEndCallback(trainer))
    trainer.remove_callback(transformers.PrinterCallback)
    return trainer


def drop_row_locations(rows: Sequence[dict]) -> list[dict]:
    """Return the rows without the field "where" (file and line). Arrow cannot store it, because it has mixed types."""
    return [{name: value for name, value in row.items() if name != "where"} for row in rows]
