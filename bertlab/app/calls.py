"""Library calls of the pages, each with the Python code that repeats it.

A page names the function and its arguments once. The result and the code are made from the same arguments, so that the
code a page shows always computes what the page shows.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bertlab.app import access
from bertlab.app.data import sessions
from bertlab.views import export

STATE = "STATE"  # the browser replaces this word in the code of a canvas by the current state of the view


@dataclass(frozen=True)
class Expression:
    """A value and the Python code that computes it."""

    result: Any
    """The value."""
    code: str
    """The expression, such as "result" or "result[0]"."""
    steps: tuple[str, ...] = ()
    """The imports and assignments that the expression needs."""
    checkpoint: sessions.Checkpoint | None = None
    """The checkpoint that the code opens as `session`; None where it needs none."""

    def __getitem__(self, key: object) -> "Expression":
        return Expression(self.result[key], f"{self.code}[{key!r}]", self.steps, self.checkpoint)

    def field(self, name: str) -> "Expression":
        """A field of the value, with its code."""
        return Expression(getattr(self.result, name), f"{self.code}.{name}", self.steps, self.checkpoint)

    def script(self, *further_steps: str) -> str:
        """A Python script that takes the steps of this expression, and then further ones."""
        source = sessions.short_name(self.checkpoint) if self.checkpoint else ""
        return export.python_lines(source, dict.fromkeys((*self.steps, *further_steps)))


def session_call(
    checkpoint: sessions.Checkpoint, method: str, /, *arguments, progress: Callable | None = None, **options
) -> Expression:
    """Call a method of `Session`; in the code, the variable `result` holds its result.

    Args:
        checkpoint: the checkpoint to open.
        method: the name of the method.
        arguments: its positional arguments; an `Expression` passes its value and shows its code.
        progress: reports the progress of a long computation; not part of the code.
        options: its keyword arguments.

    Raises:
        BertlabError: what the method raises.
    """
    values, keywords = _value(arguments), _value(options)
    result = sessions.ask(checkpoint, method, *values, progress=progress, **keywords)
    session = Expression(None, "session", checkpoint=checkpoint)
    return assign("result", _call_expression(f"session.{method}", result, (arguments, options, session)))


def function_call(
    function: Callable, /, *arguments, through: Callable | None = None, steps: tuple[str, ...] = (), **options
) -> Expression:
    """Call a function of the library.

    Args:
        function: the function that the code imports and calls.
        arguments: its positional arguments; an `Expression` passes its value and shows its code.
        through: is called instead with the same arguments, for example a cached version of the function.
        steps: further steps that the code needs.
        options: its keyword arguments.

    Raises:
        BertlabError: what the function raises.
    """
    result = (through or function)(*_value(arguments), **_value(options))
    steps = (f"from {function.__module__} import {function.__name__}", *steps)
    return _call_expression(function.__name__, result, (arguments, options), steps)


def assign(name: str, value: object) -> Expression:
    """Give a value a name in the code, for example a long text that several calls use."""
    step = f"{name} = {_code(value)}"
    return Expression(_value(value), name, (*_steps(value), step), _checkpoint(value))


def path_argument(path: Path) -> Expression:
    """A path, shown in the code without the directories that other machines need not know."""
    return Expression(path, f"Path({access.shown_path(path)!r})", ("from pathlib import Path",))


def canvas_code(view: Expression, page: Callable, name: str, figure: Callable | None = None, *state: str) -> str:
    """The code of a canvas view: write it as an HTML file, and draw one figure of it.

    Args:
        view: what the view shows.
        page: the function of `bertlab.views.html` that makes the file.
        name: the name of the file.
        figure: the function that draws a figure of the view; None for none.
        state: keys of the view's state, which follow `view` in the arguments of `figure`.
    """
    imports = ["from pathlib import Path", f"from {page.__module__} import {page.__name__}"]
    steps = [
        f'page = {page.__name__}({view.code}, options={{"state": state}})',
        f'Path({name!r}).write_text(page, encoding="utf-8")',
    ]
    if figure:
        imports.append(f"from {figure.__module__} import {figure.__name__}")
        values = ", ".join([view.code, *(f"state[{key!r}]" for key in state)])
        steps.append(f"figure = {figure.__name__}({values})")
    # the browser replaces the first STATE, so that this line stands above every text of the user
    first = Expression(None, "", (f"state = {STATE}  # as on the screen", *view.steps), view.checkpoint)
    return first.script(*imports, *steps)


def _call_expression(name: str, result: object, parts: tuple, steps: tuple[str, ...] = ()) -> Expression:
    """The expression of a call; `parts` are its arguments, its options, and what else gives it steps."""
    arguments, options = parts[:2]
    written = [*map(_code, arguments), *(f"{key}={_code(value)}" for key, value in options.items())]
    return Expression(result, f"{name}({', '.join(written)})", (*steps, *_steps(parts)), _checkpoint(parts))


def _expressions(value: object) -> list[Expression]:
    """The expressions in a value, which may be nested in tuples, lists and dictionaries."""
    if isinstance(value, Expression):
        return [value]
    if isinstance(value, Mapping):
        value = list(value.values())
    return [found for part in value for found in _expressions(part)] if isinstance(value, tuple | list) else []


def _steps(value: object) -> list[str]:
    return [step for expression in _expressions(value) for step in expression.steps]


def _checkpoint(value: object) -> sessions.Checkpoint | None:
    return next((each.checkpoint for each in _expressions(value) if each.checkpoint), None)


def _value(value: object):
    """A value with the result of each expression in it."""
    if isinstance(value, Expression):
        return value.result
    if not _expressions(value):
        return value
    if isinstance(value, Mapping):
        return {key: _value(part) for key, part in value.items()}
    return type(value)(map(_value, value))


def _code(value: object) -> str:
    """A value as Python code."""
    if isinstance(value, Expression):
        return value.code
    if not _expressions(value):
        return repr(value)
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{key!r}: {_code(part)}' for key, part in value.items())}}}"
    inside = ", ".join(map(_code, value))
    return f"[{inside}]" if isinstance(value, list) else f"({inside},)"
