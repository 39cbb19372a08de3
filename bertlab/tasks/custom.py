"""Anybody's own data as a task, named by kind and columns on the command line; and a known task with other columns.

Knows flags and rows of the task table; no data.
"""

from dataclasses import asdict, dataclass, fields
from typing import Annotated, Literal

import tyro

from bertlab.config.errors import BertlabError
from bertlab.config.tasks import KINDS, LEFT_OUT, TASKS, Kind, TaskSpec, questions, task

OWN = "own"
# what is left out may be named too, to be told why
TaskName = Literal[(OWN, *TASKS, *LEFT_OUT)]

METRICS = {
    "classify": ("accuracy",),
    "regress": ("spearman", "pearson"),
    "choose": ("accuracy",),
    "tag": ("entity_f1", "entity_precision", "entity_recall"),
}
_NAME = tyro.conf.arg(metavar="NAME")


@dataclass(frozen=True, kw_only=True)
class Columns:
    """The flags that make a task of a user's own rows; beside a known task's name they say what its columns are."""

    kind: Annotated[str | None, tyro.conf.arg(metavar="|".join(KINDS))] = None
    """Of a task of your own: a label, a number, one of several choices, a tag for every word, or an answer's place."""
    text_column: Annotated[str | None, _NAME] = None
    """The text; for choose the context; for tag the tokens (a list, or words with spaces between); for span the
    passage, `context` if not given."""
    pair_column: Annotated[str | None, _NAME] = None
    """The second text of a pair; for span the question, `question` if not given."""
    choice_columns: Annotated[tuple[str, ...], tyro.conf.arg(metavar="NAME ...")] = ()
    """For choose: one column for each choice, or a single one with lists of choices."""
    label_column: Annotated[str | None, _NAME] = None
    """The label, the number, the choice's number from 0, the tags, or the answer's text (`answers` or `answer` if not
    given): it stands where a column `answer_start` says (characters from 0), else where it first occurs."""
    id_column: Annotated[str | None, _NAME] = None
    """What tells rows apart; it names them in messages and predictions, and may not repeat."""

    def spec(self, name: str, remembered: dict | None = None) -> TaskSpec:
        """The task of that name with these columns.

        Args:
            remembered: what a checkpoint noted of the task it was taught, see `noted`; it stands in for a missing kind.

        Raises:
            BertlabError: flags are missing, or do not fit the kind.
        """
        if self.kind not in (None, *KINDS):
            raise BertlabError(f"--kind is {self.kind}: it is one of {', '.join(KINDS)}")
        if name != OWN:
            row = task(name)
            if self.kind not in (None, row.kind):
                raise BertlabError(f"{name} is of the kind {row.kind}; for your own data say `own` in its place")
        elif self.kind is None and remembered:
            told = {key: tuple(value) if isinstance(value, list) else value for key, value in remembered.items()}
            usual = plain("span") if told["kind"] == "span" else TaskSpec  # older records do not say these
            row = TaskSpec(**{"text": usual.text, "label": usual.label, **told})
        elif self.kind is None:
            raise BertlabError(f"to use your own data, say of which kind it is: --kind {'|'.join(KINDS)}")
        else:
            row = plain(self.kind)
            needed = {
                "classify": "text_column",
                "regress": "text_column",
                "tag": "text_column",
                "choose": "choice_columns",
            }
            flag = needed.get(self.kind)
            if flag and not getattr(self, flag):
                raise BertlabError(f"name the column to read with --{flag.replace('_', '-')}")
            if self.kind == "choose" and not self.text_column:
                raise BertlabError("name the column of the context with --text-column")
        if self.pair_column and row.kind not in ("classify", "regress", "span"):
            raise BertlabError(f"--pair-column is for classify, regress and span, not for {row.kind}")
        if self.choice_columns and row.kind != "choose":
            raise BertlabError(f"--choice-columns is for choose, not for {row.kind}")
        return row.replace(**self._changes(row))

    def _changes(self, row: TaskSpec) -> dict:
        changes: dict = {}
        if row.kind == "span":
            changes["text"] = (self.text_column or row.text[0], self.pair_column or row.text[1])
        elif self.text_column or self.pair_column or self.choice_columns:
            first = self.text_column or (row.text[0] if row.text else "")
            rest = self.choice_columns or ((self.pair_column,) if self.pair_column else ())
            # a text column alone replaces the texts of a pair: what else could be meant
            changes["text"] = (first, *rest) if rest or row.kind != "choose" else (first, *row.text[1:])
            changes["start"] = "" if self.choice_columns else row.start
        if self.label_column:
            changes["label"] = (self.label_column,)
        if self.id_column:
            changes["id"] = self.id_column
        return changes


def plain(kind: Kind) -> TaskSpec:
    """A task of one kind that nothing else is known of; questions have SQuAD's columns."""
    return questions("", "", "") if kind == "span" else TaskSpec(kind, "", "", METRICS[kind], "", id="")


def noted(spec: TaskSpec) -> dict:
    """A task as a checkpoint's `bertlab.json` notes it: what differs from the defaults, and its columns."""
    usual = {f.name: f.default for f in fields(TaskSpec)}
    return {name: value for name, value in asdict(spec).items() if value != usual[name] or name in ("text", "label")}
