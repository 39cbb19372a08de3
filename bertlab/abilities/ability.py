"""What an ability declares. Modules that declare one import nothing heavy, so that `bertlab --help` stays fast.

From a declaration come the flags and the help of a command, the JSON of a route, the code that a page shows, the key of
the app's cache, and the tests that every ability passes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import MISSING, dataclass, fields
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Generic, TypeVar, cast, get_type_hints

from annotated_types import Interval

from bertlab.config.errors import BertlabError
from bertlab.config.languages import DEFAULT, Message, read_data
from bertlab.config.limits import Limit

if TYPE_CHECKING:
    from bertlab.abilities.queries import Query
    from bertlab.session import Session

Result = TypeVar("Result")
TEXT = "text"  # marks the inputs that are texts: "-" on the command line stands for standard input
SHOWN_ONLY = "shown-only"  # marks an input that changes only how the result is printed


@dataclass(frozen=True)
class Flag:
    """How an input is written on the command line; `cli.flags` tells tyro, whose import takes a tenth of a second."""

    metavar: str
    is_positional: bool = False


Text = Annotated[str, TEXT, Flag("TEXT", is_positional=True)]
OptionalText = Annotated[str | None, TEXT, Flag("[TEXT]", is_positional=True)]
Texts = Annotated[tuple[str, ...], TEXT, Flag("TEXT ...", is_positional=True)]
Count = Annotated[int, Interval(ge=1)]


@dataclass(frozen=True, kw_only=True)
class Ability(Generic[Result]):
    """Something one can ask of a checkpoint. Each field is an input; an instance is one question with its inputs."""

    name: ClassVar[str]
    """The command, the route and the page; with underscores, the method of `Session`."""
    summary: ClassVar[str]
    """One line for the list of commands."""
    needs: ClassVar[tuple[str, ...]] = ()
    """The output layers (keys of `nn.heads.HEADS`) one of which the checkpoint must have; () for any encoder."""
    doors: ClassVar[tuple[str, ...]] = ("command", "route", "method")
    """Where it is offered. An ability that reads a file is only a command; one of the same name has the other doors."""
    opens_like: ClassVar[str] = ""
    """The ability whose default checkpoint it opens, if not its own."""
    page: ClassVar[str] = ""
    """The page of the app, if it is not called like the ability."""
    example: ClassVar[dict[str, str]] = {}
    """Input -> the text of `examples.toml` with which commands, routes and tests try the ability in each language;
    "questions.0" is the first of several."""
    max_cached: ClassVar[int] = 256
    """How many results the app keeps."""

    def compute(self, session: Session, progress: Callable = iter) -> Result:
        """Compute the result; `progress` wraps the sequence of the parts that take long, as `tqdm` does.

        Raises:
            BertlabError: the inputs do not fit the checkpoint.
        """
        raise NotImplementedError

    def notes(self, session: Session, result: Result) -> list[Message]:
        """What a reader of the result must know, such as that a text was truncated."""
        return []

    def lines(self, result: Result) -> list[str]:
        """Write the result as lines for a terminal."""
        raise NotImplementedError

    def as_json(self, result: Result) -> dict:
        """Convert the result for `--json` and for the reply of the server."""
        from bertlab.abilities.results import as_json

        return as_json(result)

    @classmethod
    def inputs(cls) -> dict[str, Any]:
        """Return {input: its type, with its marks}, in order."""
        hints = get_type_hints(cls, include_extras=True)
        return {field.name: hints[field.name] for field in fields(cls)}

    @classmethod
    def required(cls) -> tuple[str, ...]:
        """Return the inputs without a default."""
        return tuple(field.name for field in fields(cls) if field.default is MISSING)

    @classmethod
    def method(cls) -> str:
        """Return the name of the method of `Session`."""
        return cls.name.replace("-", "_")

    @classmethod
    def make_example(cls, language: str = DEFAULT) -> Ability:
        """Return the example of a language: the inputs with which the ability is tried."""
        texts = read_data("examples", language)

        def find(path: str) -> object:
            key, *index = path.split(".")
            value = texts[key][int(index[0])] if index else texts[key]
            return tuple(value) if isinstance(value, list) else value

        return cls(**{name: find(path) for name, path in cls.example.items()})

    def check(self) -> None:
        """Check the ranges of the inputs.

        Raises:
            BertlabError: a number is out of range.
        """
        for name, hint in self.inputs().items():
            value = getattr(self, name)
            for mark in getattr(hint, "__metadata__", ()):
                if isinstance(mark, Interval) and value is not None:
                    limit = Limit(cast(float, mark.ge), cast(float, mark.le))
                    if not limit.contains(value):
                        raise BertlabError("input-out-of-range", name=name, value=str(value), limit=limit.describe())

    def list_texts(self) -> Iterator[str]:
        """Yield the texts of the inputs, from which the language is detected."""
        for name, hint in self.inputs().items():
            if TEXT in getattr(hint, "__metadata__", ()):
                value = getattr(self, name)
                yield from value if isinstance(value, tuple) else [value] if value else []

    def arguments(self) -> dict[str, object]:
        """Return the inputs that differ from their defaults, as the arguments of the method of `Session`."""
        return {
            field.name: getattr(self, field.name)
            for field in fields(self)
            if getattr(self, field.name) != field.default and not _is_shown_only(type(self), field.name)
        }


class Prediction(Ability[Result]):
    """An ability whose result is read from one output layer; the server computes several of them in a batch."""

    def prepare(self, session: Session) -> Query:
        """Prepare the inputs of the model, and the function that reads the result from its outputs."""
        raise NotImplementedError

    def compute(self, session: Session, progress: Callable = iter) -> Result:
        from bertlab.abilities.queries import compute_all, compute_outputs

        query, compute = self.prepare(session), partial(compute_outputs, session.model, session.tokenizer.pad_id)
        (outputs,) = compute_all([query], compute, progress=progress)
        return query.finish(outputs)


def _is_shown_only(ability: type[Ability], name: str) -> bool:
    return SHOWN_ONLY in getattr(ability.inputs()[name], "__metadata__", ())


def read_stdin() -> str:
    """Detect the encoding of standard input, and return its whole content as text."""
    from bertlab.text.readers.encoding import encoding_of

    content = sys.stdin.buffer.read()
    return content.decode(encoding_of(content), errors="replace").rstrip("\n")
