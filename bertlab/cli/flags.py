"""The fields of a configuration as flags: what `--help` says of each, in the words of its docstring, in sections.

A configuration's `SECTIONS` names the fields that stand together under a heading. tyro's own rule for dataclasses knows
no such sections, keeps the line breaks of a docstring that is indented, and says of what is unset that its default is
None.
"""

import dataclasses
import inspect
import shutil
import textwrap
from functools import cache
from typing import Annotated, get_type_hints

import docstring_parser
import tyro
from tyro.constructors import ConstructorRegistry, StructConstructorSpec, StructFieldSpec, StructTypeInfo

NOTHING = ("None", "''", "", "False", "True")  # a default that the words beside it, or the flag itself, tell already


def parse(kind: type, words: list[str], **how) -> object:
    """Words of a command line -> a configuration; how: as `tyro.cli` takes it."""
    return tyro.cli(kind, args=words, registry=_registry(), config=(tyro.conf.FlagCreatePairsOff,), **how)


def about(kind: type) -> tuple[str, str]:
    """The docstring of a configuration: what the command does, in lines as wide as the terminal, and its examples."""
    text, _, examples = inspect.getdoc(kind).partition("\n\nExamples:\n")
    width = shutil.get_terminal_size().columns
    return "\n\n".join(textwrap.fill(paragraph, width) for paragraph in text.split("\n\n")), examples


class _Section:
    """A section as tyro knows it: a thing made of some fields of a class, whose flags do not bear the section's name.

    given: the configuration that they change, if any.
    """

    kind: type
    names: tuple[str, ...]
    given: object


@cache
def _registry() -> ConstructorRegistry:
    registry = ConstructorRegistry()
    registry.struct_rule(_of_section)
    registry.struct_rule(_of_dataclass)
    return registry


def _of_section(info: StructTypeInfo) -> StructConstructorSpec | None:
    if not (isinstance(info.type, type) and issubclass(info.type, _Section)):
        return None
    bare = tyro.conf.arg(prefix_name=False)
    rows = (_flag(info.type.kind, name, info.type.given, bare) for name in info.type.names)
    return StructConstructorSpec(instantiate=dict, fields=tuple(rows))


def _of_dataclass(info: StructTypeInfo) -> StructConstructorSpec | None:
    if not dataclasses.is_dataclass(kind := info.type):
        return None
    sections = getattr(kind, "SECTIONS", {})
    elsewhere = {name for names in sections.values() for name in names}
    names = [field.name for field in dataclasses.fields(kind) if field.name not in elsewhere]
    rows = [_flag(kind, name, info.default) for name in names]
    for title, names in sections.items():
        section = type(title, (_Section,), {"kind": kind, "names": names, "given": info.default})
        rows.append(StructFieldSpec(title, section, section(), helptext=""))

    def made(**values):
        return kind(**{name: value for title in sections for name, value in values.pop(title).items()}, **values)

    return StructConstructorSpec(instantiate=made, fields=tuple(rows))


def _flag(kind: type, name: str, given: object, *more) -> StructFieldSpec:
    """given: as in `_Section`; more: of `tyro.conf.arg`."""
    field, hint = kind.__dataclass_fields__[name], get_type_hints(kind, include_extras=True)[name]
    if dataclasses.is_dataclass(given):
        default = getattr(given, name)
    elif field.default_factory is not dataclasses.MISSING:
        default = field.default_factory()
    else:
        default = tyro.MISSING if field.default is dataclasses.MISSING else field.default
    for settings in (tyro.conf.arg(help_behavior_hint=_default), *more):
        hint = Annotated[hint, settings]
    return StructFieldSpec(name, hint, default, helptext=lambda: _of_flag(_words(kind).get(name, ""), default) or None)


@cache
def _words(kind: type) -> dict[str, str]:
    """What is said of each field below it, in `kind` or what it goes back to."""
    said: dict[str, str] = {}
    for owner in reversed(kind.__mro__[:-1]):
        for row in docstring_parser.parse_from_object(owner).params:
            said[row.arg_name] = " ".join((row.description or "").split())
    return said


def _of_flag(words: str, default: object) -> str:
    """What a field does, in the words of its flag, which of one that is so unless told otherwise begins with --no.

    >>> _of_flag("Open a browser.", True), _of_flag("Print JSON.", False)
    ('Do not open a browser.', 'Print JSON.')
    """
    return f"Do not {words[:1].lower()}{words[1:]}" if default is True else words


def _default(value: str) -> str:
    """
    >>> _default("32"), _default("None")
    ('(default: 32)', '')
    """
    return "" if value in NOTHING else f"(default: {value})"
