"""Build command-line flags from a dataclass: names, defaults, and the help text from the docstring of each field.

The aliases of a field (`tyro.conf.arg(aliases=...)`) are older spellings of its flag. They are accepted, but the help
does not show them.
A dataclass may have `SECTIONS`, a dictionary from a heading to the names of the fields listed below it in `--help`.
This module replaces tyro's own rule for dataclasses. That rule has no sections, keeps the line breaks of an indented
docstring, and prints a default of None.
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

from bertlab.abilities.ability import Flag

HIDDEN_DEFAULTS = ("None", "''", "", "False", "True")  # not printed, because the help text or the flag implies them


def parse(config_type: type, arguments: list[str], **options) -> object:
    """Parse command-line arguments into an instance of `config_type`.

    Args:
        config_type: a dataclass.
        arguments: the arguments after the name of the command.
        options: passed on to `tyro.cli`, such as `prog` and `default`.
    """
    args = _replace_old_spellings(arguments, _find_old_spellings(config_type))
    return tyro.cli(
        config_type, args=args, registry=_make_registry(), config=(tyro.conf.FlagCreatePairsOff,), **options
    )


def split_docstring(config_type: type) -> tuple[str, str]:
    """Split the docstring of a dataclass into its description, wrapped to the terminal's width, and its examples."""
    text, _, examples = inspect.getdoc(config_type).partition("\n\nExamples:\n")
    width = shutil.get_terminal_size().columns
    paragraphs = (textwrap.fill(paragraph, width, break_on_hyphens=False) for paragraph in text.split("\n\n"))
    return "\n\n".join(paragraphs), examples


class _Section:
    """The fields of a dataclass under one heading, as a type that tyro can build.

    Attributes:
        config_type: the dataclass.
        names: the names of the fields.
        default: an instance of the dataclass whose values are the defaults. If tyro gives none, the dataclass's own
            defaults are used.
    """

    config_type: type
    names: tuple[str, ...]
    default: object


@cache
def _make_registry() -> ConstructorRegistry:
    """Return a registry with the rules by which this module describes sections and dataclasses to tyro."""
    registry = ConstructorRegistry()
    registry.struct_rule(_describe_section)
    registry.struct_rule(_describe_dataclass)
    return registry


def _describe_section(info: StructTypeInfo) -> StructConstructorSpec | None:
    """Describe the fields of a `_Section` to tyro, which makes a dictionary of their values.

    Returns None if the type is not a `_Section`.
    """
    if not (isinstance(info.type, type) and issubclass(info.type, _Section)):
        return None
    no_prefix = tyro.conf.arg(prefix_name=False)
    specs = (_describe_field(info.type.config_type, name, info.type.default, no_prefix) for name in info.type.names)
    return StructConstructorSpec(instantiate=dict, fields=tuple(specs))


def _describe_dataclass(info: StructTypeInfo) -> StructConstructorSpec | None:
    """Describe a dataclass to tyro: its fields outside of sections, then one field for each section.

    Returns None if the type is not a dataclass.
    """
    if not dataclasses.is_dataclass(config_type := info.type):
        return None
    sections = getattr(config_type, "SECTIONS", {})
    in_sections = {name for names in sections.values() for name in names}
    names = [field.name for field in dataclasses.fields(config_type) if field.name not in in_sections]
    specs = [_describe_field(config_type, name, info.default) for name in names]
    for title, names in sections.items():
        section = type(title, (_Section,), {"config_type": config_type, "names": names, "default": info.default})
        specs.append(StructFieldSpec(title, section, section(), helptext=""))

    # The values of each section are in a dictionary under its title. (This is a comment, because tyro would print a
    # docstring as help.)
    def build(**values):
        return config_type(**{name: value for title in sections for name, value in values.pop(title).items()}, **values)

    return StructConstructorSpec(instantiate=build, fields=tuple(specs))


def _describe_field(config_type: type, name: str, defaults: object, *markers) -> StructFieldSpec:
    """Describe one field to tyro.

    Args:
        config_type: the dataclass.
        name: the name of the field.
        defaults: an instance whose values are the defaults. If it is anything else, the dataclass's defaults are used.
        markers: additional annotations of the field, from `tyro.conf`.
    """
    field, hint = config_type.__dataclass_fields__[name], get_type_hints(config_type, include_extras=True)[name]
    if dataclasses.is_dataclass(defaults):
        default = getattr(defaults, name)
    elif field.default_factory is not dataclasses.MISSING:
        default = field.default_factory()
    else:
        default = tyro.MISSING if field.default is dataclasses.MISSING else field.default
    flag = next((mark for mark in getattr(hint, "__metadata__", ()) if isinstance(mark, Flag)), None)
    own = [] if flag is None else [tyro.conf.arg(metavar=flag.metavar), *[tyro.conf.Positional] * flag.is_positional]
    for marker in (*own, tyro.conf.arg(help_behavior_hint=_format_default), *markers):
        hint = Annotated[_remove_aliases(hint), marker]
    # the field of a nested dataclass has no help text, because the flags of that dataclass have help texts of their own
    text = "" if dataclasses.is_dataclass(default) else _read_field_docs(config_type).get(name, "")
    return StructFieldSpec(name, hint, default, helptext=lambda: _format_flag_help(text, default) or None)


def _remove_aliases(hint: object) -> object:
    """Return a type hint without the aliases of its flag: `parse` has replaced them before tyro reads the arguments."""
    if not hasattr(hint, "__metadata__"):
        return hint
    markers = [
        dataclasses.replace(marker, aliases=None) if getattr(marker, "aliases", None) else marker
        for marker in hint.__metadata__
    ]
    return Annotated[(hint.__origin__, *markers)]


@cache
def _find_old_spellings(config_type: type, prefix: str = "") -> dict[str, str]:
    """Return a dictionary from old to current spellings for the flags of a dataclass and its nested dataclasses."""
    current_by_old: dict[str, str] = {}
    for name, hint in get_type_hints(config_type, include_extras=True).items():
        markers = getattr(hint, "__metadata__", ())
        explicit_name = next((marker.name for marker in markers if getattr(marker, "name", None)), None)
        flag = explicit_name or name.strip("_").replace("_", "-")
        for alias in (alias for marker in markers for alias in getattr(marker, "aliases", None) or ()):
            old = alias.lstrip("-")
            current_by_old |= {f"--{prefix}{old}": f"--{prefix}{flag}", f"--{prefix}no-{old}": f"--{prefix}no-{flag}"}
        bare_type = hint.__origin__ if markers else hint
        if isinstance(bare_type, type) and dataclasses.is_dataclass(bare_type):
            current_by_old |= _find_old_spellings(bare_type, f"{prefix}{flag}.")
    return current_by_old


def _replace_old_spellings(arguments: list[str], current_by_old: dict[str, str]) -> list[str]:
    """Replace old spellings of flags with the current ones.

    >>> _replace_old_spellings(["rows.csv", "--old_flag=skip"], {"--old-flag": "--flag"})
    ['rows.csv', '--flag=skip']
    """
    replaced = []
    for argument in arguments:
        flag, equals, value = argument.partition("=")
        replaced.append(current_by_old.get(flag.replace("_", "-"), flag) + equals + value)
    return replaced


@cache
def _read_field_docs(config_type: type) -> dict[str, str]:
    """Return the docstring of each field of a dataclass, including inherited fields."""
    docs: dict[str, str] = {}
    for owner in reversed(config_type.__mro__[:-1]):
        for row in docstring_parser.parse_from_object(owner).params:
            docs[row.arg_name] = " ".join((row.description or "").split())
    return docs


def _format_flag_help(text: str, default: object) -> str:
    """Return the help text of a flag. If the option is on by default, the flag is --no-NAME, so the text is negated.

    >>> _format_flag_help("Open a browser.", True), _format_flag_help("Print JSON.", False)
    ('Do not open a browser.', 'Print JSON.')
    """
    return f"Do not {text[:1].lower()}{text[1:]}" if default is True else text


def _format_default(value: str) -> str:
    """Return a note on the default of a flag; "" if the default is clear without it.

    >>> _format_default("32"), _format_default("None")
    ('(default: 32)', '')
    """
    return "" if value in HIDDEN_DEFAULTS else f"(default: {value})"
