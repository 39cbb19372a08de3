"""Calls to the library, each returning its result together with Python code that reproduces it.

A page names a function and its arguments once. Both the result and the code are made from them, so the code that a page
shows always computes the result that the page shows.
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import streamlit as st

from bertlab.session import Session
from bertlab.views import export
from bertlab_app import access
from bertlab_app.data import sessions, stepwise_results

# How many results of a method are kept. Attention takes up to 150 MB for 512 tokens; two are enough for thirty
# students whose pages show the same head.
NUM_CACHED = {"attention": 2, "neuron": 2, "sentence_vectors": 8, "xray": 16}
STATE = "STATE"  # a placeholder in the code of a canvas view; the browser replaces it with the view's current state


@dataclass(frozen=True)
class Expression:
    """A value and the Python code that computes it."""

    result: Any  # the value
    code: str  # the Python expression, such as "result" or "result[0]"
    steps: tuple[str, ...] = ()  # the imports and assignments that the expression needs
    checkpoint: sessions.CheckpointKey | None = None
    """The checkpoint that the code opens as `session`; None if the code needs none."""

    def __getitem__(self, key: object) -> "Expression":
        return Expression(self.result[key], f"{self.code}[{key!r}]", self.steps, self.checkpoint)

    def field(self, name: str) -> "Expression":
        """Return the expression of an attribute of the value."""
        return Expression(getattr(self.result, name), f"{self.code}.{name}", self.steps, self.checkpoint)

    def script(self, *further_steps: str) -> str:
        """Write a Python script with the steps of this expression, followed by `further_steps`."""
        source = sessions.loadable_name(self.checkpoint) if self.checkpoint else ""
        return export.python_lines(source, dict.fromkeys((*self.steps, *further_steps)))


def call_session(
    checkpoint: sessions.CheckpointKey, method: str, /, *arguments, progress: Callable | None = None, **options
) -> Expression:
    """Call a method of `Session`; the result is cached. The generated code assigns it to the variable `result`."""
    values, keywords = _evaluate(arguments), _evaluate(options)
    # the first argument of `intervene` and `head_effects` is the task type
    texts = values[1:] if method in ("intervene", "head_effects") else values
    sessions.record_request(checkpoint, *(text for text in texts[:2] if isinstance(text, str)))
    if method in stepwise_results.METHODS:
        result = stepwise_results.METHODS[method](checkpoint, *values, progress=progress, **keywords)
    else:
        # Streamlit cannot draw a progress bar from a cached function, so the cache holds lists that are filled here
        slots = _make_cache(NUM_CACHED.get(method, 256))
        slot = slots(checkpoint, method, values, tuple(sorted(keywords.items())))
        if not slot:
            if progress and "progress" in inspect.signature(getattr(Session, method)).parameters:
                keywords = keywords | {"progress": progress}
            slot.append(getattr(sessions.open_session(checkpoint), method)(*values, **keywords))
        result = slot[0]
    session = Expression(None, "session", checkpoint=checkpoint)
    return assign("result", _make_call(f"session.{method}", result, (arguments, options, session)))


def compute(checkpoint: sessions.CheckpointKey, method: str, /, *arguments, **options):
    """Return the cached result of a method of `Session`; the arguments are those of `call_session`."""
    return call_session(checkpoint, method, *arguments, **options).result


@cache
def _make_cache(max_entries: int) -> Callable[..., list]:
    def make_slot(checkpoint: sessions.CheckpointKey, method: str, values: tuple, options: tuple) -> list:
        return []

    make_slot.__qualname__ += f"_{max_entries}"  # Streamlit tells caches apart by the name of the function
    return st.cache_resource(max_entries=max_entries, show_spinner=False)(make_slot)


def call_function(
    function: Callable, /, *arguments, compute_with: Callable | None = None, steps: tuple[str, ...] = (), **options
) -> Expression:
    result = (compute_with or function)(*_evaluate(arguments), **_evaluate(options))
    return replace(describe_call(function, *arguments, steps=steps, **options), result=result)


def describe_call(function: Callable, *arguments, steps: tuple[str, ...] = (), **options) -> Expression:
    """Describe a call of a function of the library without calling it: the value of the expression is None.

    The arguments are those of `call_function`.
    """
    steps = (f"from {function.__module__} import {function.__name__}", *steps)
    return _make_call(function.__name__, None, (arguments, options), steps)


def assign(name: str, value: object) -> Expression:
    """Assign a value to a variable in the generated code, for example a long text that several calls use."""
    step = f"{name} = {_write_code(value)}"
    return Expression(_evaluate(value), name, (*_collect_steps(value), step), _find_checkpoint(value))


def make_path_expression(path: Path) -> Expression:
    return Expression(path, f"Path({access.format_path(path)!r})", ("from pathlib import Path",))


def write_canvas_code(
    view: Expression, make_html: Callable, file_name: str, figure: Callable | None = None, *state_keys: str
) -> str:
    imports = ["from pathlib import Path", f"from {make_html.__module__} import {make_html.__name__}"]
    steps = [
        f'page = {make_html.__name__}({view.code}, options={{"state": state}})',
        f'Path({file_name!r}).write_text(page, encoding="utf-8")',
    ]
    if figure:
        imports.append(f"from {figure.__module__} import {figure.__name__}")
        values = ", ".join([view.code, *(f"state[{key!r}]" for key in state_keys)])
        steps.append(f"figure = {figure.__name__}({values})")
    import_lines, other_lines = view.script(*imports, *steps).split("\n\n", 1)
    # The browser replaces the first occurrence of STATE. This line comes before the checkpoint's path and the texts,
    # which may also contain this word.
    return f"{import_lines}\n\nstate = {STATE}  # as on the screen\n{other_lines}"


def _make_call(name: str, result: object, parts: tuple, steps: tuple[str, ...] = ()) -> Expression:
    arguments, options = parts[:2]
    argument_codes = [*map(_write_code, arguments), *(f"{key}={_write_code(value)}" for key, value in options.items())]
    return Expression(
        result, f"{name}({', '.join(argument_codes)})", (*steps, *_collect_steps(parts)), _find_checkpoint(parts)
    )


def _collect_expressions(value: object) -> list[Expression]:
    """Collect the expressions in a value, including those nested in tuples, lists and dictionaries."""
    if isinstance(value, Expression):
        return [value]
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, tuple | list):
        return [expression for part in value for expression in _collect_expressions(part)]
    return []


def _collect_steps(value: object) -> list[str]:
    return [step for expression in _collect_expressions(value) for step in expression.steps]


def _find_checkpoint(value: object) -> sessions.CheckpointKey | None:
    """Find the checkpoint of the first expression in a value that has a checkpoint; None if no expression has one."""
    checkpoints = (expression.checkpoint for expression in _collect_expressions(value))
    return next(filter(None, checkpoints), None)


def _evaluate(value: object):
    """Replace the expressions in a value with their results."""
    if isinstance(value, Expression):
        return value.result
    if not _collect_expressions(value):
        return value
    if isinstance(value, Mapping):
        return {key: _evaluate(part) for key, part in value.items()}
    return type(value)(map(_evaluate, value))


def _write_code(value: object) -> str:
    """Write a value as Python code; an expression in it is written as its code."""
    if isinstance(value, Expression):
        return value.code
    if not _collect_expressions(value):
        return repr(value)
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{key!r}: {_write_code(part)}' for key, part in value.items())}}}"
    items = ", ".join(map(_write_code, value))
    return f"[{items}]" if isinstance(value, list) else f"({items},)"
