"""`bertlab evaluate` for every task but the questions: a checkpoint, or anybody's predictions, by the official measure.

Also writes predictions, for rows without labels too. Knows files and models; no optimiser.
"""

from collections.abc import Callable

from bertlab.checkpoints.checkpoint import Checkpoint
from bertlab.config.errors import BertlabError
from bertlab.config.tasks import TaskSpec
from bertlab.nn.bert import Bert
from bertlab.tasks import submission
from bertlab.tasks.examples import Examples, read_examples
from bertlab.tasks.features import features
from bertlab.tasks.labelled import answers, figures, fitting_labels, named, predict
from bertlab.text.readers.invalid_rows import InvalidRows
from bertlab.text.readers.rows import Rows
from bertlab.text.readers.splits import available_splits, read_split


def evaluate_labelled(
    config, spec: TaskSpec, load: Callable[[tuple[str, ...]], Checkpoint], progress: Callable
) -> dict:
    """The figures of every split that is measured, those after the first under its name ("mismatched_accuracy").

    Args:
        config: an `EvaluateConfig`.
        load: heads -> the checkpoint to ask, with those heads.

    Raises:
        BertlabError: rows or predictions that do not fit the task, or nothing to measure and no file to write.
    """
    loaded = load((spec.kind,)) if config.checkpoint else None
    labels = fitting_labels(spec, loaded.config.labels) if loaded else spec.labels
    found: dict = {}
    parts = _parts(config, spec)
    for nth, (split, rows) in enumerate(parts.items()):
        if config.limit:
            rows = Rows(rows.name, rows.columns, rows.rows[: config.limit], rows.names)
        examples = read_examples(rows, spec, labels, InvalidRows(config.invalid))
        if not examples.labelled and not config.out:
            raise BertlabError(
                f"{examples.name} has no labels, so nothing can be measured on it: "
                "write the predictions to a file with --out"
            )
        if loaded:
            given = ask(
                loaded.model, loaded.tokenizer, examples, config.max_tokens or loaded.max_tokens_for(spec), progress
            )
        else:
            given = submission.read(config.predictions, examples)
        if config.out:
            official = next((names for names in (spec.test, spec.validation) if split in names), (split,))
            path = submission.place(config.out, config.what, examples, official.index(split), len(parts) > 1)
            submission.write(path, examples, given)
        told = figures(examples, given) if examples.labelled else {"examples": len(examples)}
        found |= named(told, split, first=not nth)
    return found


def ask(model: Bert, tokenizer, examples: Examples, max_tokens: int, progress: Callable = iter) -> list:
    """A model's answers to examples, see `labelled.answers`."""
    read = features(tokenizer, examples, min(max_tokens, model.config.max_positions))
    return answers(examples.spec, predict(model, read, progress=progress))


def _parts(config, spec: TaskSpec) -> dict[str, Rows]:
    """The splits to measure, by name."""
    source = config.data or spec.hub_id
    wanted = {"validation": spec.validation, "test": spec.test}.get(config.split, (config.split,))
    if config.split == "test" and not spec.test:
        raise BertlabError(f"{config.what} has no test split without answers; its validation split is measured")
    if config.data:
        # a directory may have one of two dev sets
        wanted = available_splits(config.data, wanted, config.split) or wanted[:1]
    return {split: read_split(source, split) for split in wanted}
