"""`bertlab story-world`: write labelled rows about generated stories, for `bertlab finetune custom`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from bertlab.config.languages import DEFAULT
from bertlab.config.limits import check_limits
from bertlab.text.story_world.files import write_rows
from bertlab.text.story_world.rows import ROW_TASKS, RowTaskName, make_rows


@dataclass(frozen=True)
class StoryWorldOptions:
    """Write labelled rows about stories from the same generator as `bertlab prepare story-world`. The labels are exact,
    because the events of a story are known.

    The command also prints how to fine-tune a checkpoint on these rows.

    Examples:
      bertlab story-world questions --out runs/rows/questions.jsonl
      bertlab story-world sentiment --out runs/rows/reviews.jsonl --language ko --rows 2000
    """

    task: Annotated[tyro.conf.Positional[RowTaskName], tyro.conf.arg(metavar="TASK")]
    """next-sentence (pairs of sentences that follow each other or do not), questions (with and without an answer in the
    story), entities (people, places, objects and days), sentiment (whether the story ends well), endings (which of
    four sentences continues the story), pronouns (to whom a pronoun refers)."""
    out: Annotated[Path, tyro.conf.arg(metavar="FILE")]
    """The file for the training rows, in JSON Lines (.jsonl). The held-out rows are written beside it, to a file whose
    name ends in "-heldout"."""
    rows: int = 5000
    """The number of training rows. In addition, a tenth as many held-out rows are written."""
    language: Annotated[str, tyro.conf.arg(metavar="CODE")] = DEFAULT
    """The language of the stories: en or ko."""
    seed: int = 0
    """Seed of the stories."""


def story_world(config: StoryWorldOptions) -> None:
    """Write the training rows and the held-out rows, and print the command that fine-tunes on them.

    Raises:
        BertlabError: the language has no stories, or a file cannot be written.
    """
    check_limits(config)
    held_out_file = config.out.with_name(f"{config.out.stem}-heldout{config.out.suffix}")
    write_rows(config.out, make_rows(config.task, config.language, config.seed, config.rows))
    num_held_out = max(1, config.rows // 10)
    write_rows(held_out_file, make_rows(config.task, config.language, config.seed, num_held_out, held_out=True))
    task = ROW_TASKS[config.task]
    name = task.find_task(config.language)
    columns = [f"--{flag} {column}" for flag, column in task.columns.items()]
    type_flag = ["--type", task.kind] if name == "custom" else []
    data = ["--data", str(config.out), "--validation", str(held_out_file)]
    command = ["bertlab finetune", name, *type_flag, *columns, *data, "--from runs/first", f"--out runs/{config.task}"]
    print(f"{config.out}: {config.rows:,} rows; {held_out_file}: {num_held_out:,} rows of held-out stories")
    print("fine-tune a checkpoint on them, for example one that `bertlab pretrain` trained on stories:")
    print(" ", *command)
