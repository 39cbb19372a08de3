"""The command of an ability: its inputs become flags, and its result is printed as lines or as JSON."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

from bertlab.abilities.ability import TEXT, Ability
from bertlab.cli.query import QueryOptions, open_session, print_result, read_texts


@cache
def make_options(ability: type[Ability]) -> type[Ability]:
    """Return a subclass of an ability whose instances also have the options of every command that prints a result."""
    body = {"__doc__": ability.__doc__, "__module__": ability.__module__}
    return dataclass(frozen=True, kw_only=True)(type(ability.__name__, (ability, QueryOptions), body))


def ask(options: Ability) -> None:
    """Open the checkpoint, compute the result and print it; what a reader must know goes to standard error.

    Args:
        options: an instance of the class that `make_options` returns.
    """
    marked = [name for name, hint in options.inputs().items() if TEXT in getattr(hint, "__metadata__", ())]
    given = {name: value for name in marked if (value := getattr(options, name)) is not None}
    flat = [text for value in given.values() for text in ([value] if isinstance(value, str) else value)]
    texts = iter(read_texts(*flat))
    read = {
        name: next(texts) if isinstance(value, str) else tuple(next(texts) for _ in value)
        for name, value in given.items()
    }
    options = replace(options, **read)
    session = open_session(options, options.opens_like or options.name, *options.list_texts())
    result = session.ask(options, _show_progress)
    for note in options.notes(session, result):
        print(note, file=sys.stderr)
    print_result(options, session, options.as_json(result) if options.json else {}, lambda: options.lines(result))


def _show_progress(parts: Sequence) -> Sequence:
    from tqdm import tqdm

    bar_format = "{percentage:3.0f}%|{bar}| {elapsed}<{remaining}"
    return tqdm(parts, leave=False, disable=None if len(parts) > 1 else True, bar_format=bar_format)
