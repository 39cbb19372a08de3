"""The tasks a BERT is fine-tuned on, one row each; a new task is a new row. Standard library only."""

from dataclasses import dataclass
from typing import Literal

from bertlab.spec.errors import BertlabError

Kind = Literal["span"]


@dataclass(frozen=True)
class TaskSpec:
    """kind: which head, features, objective and decoder it takes. hub_id: where its rows are published, with these
    columns. source: who defined it and its measure."""

    kind: Kind
    hub_id: str
    language: str
    metrics: tuple[str, ...]
    source: str
    unanswerable: bool = False


TASKS = {
    # Rajpurkar et al. 2016; Devlin et al. 2019, section 4.2
    "squad": TaskSpec("span", "rajpurkar/squad", "en", ("exact_match", "f1"), "arXiv 1606.05250"),
    # Rajpurkar et al. 2018; Devlin et al. 2019, section 4.3
    "squad_v2": TaskSpec("span", "rajpurkar/squad_v2", "en", ("exact", "f1"), "arXiv 1806.03822", unanswerable=True),
}


def task(name: str) -> TaskSpec:
    """A task by name.

    >>> task("squad").kind
    'span'
    """
    if name not in TASKS:
        raise BertlabError(f"no task is called {name!r}; there are {', '.join(TASKS)}")
    return TASKS[name]
