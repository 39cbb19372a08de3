"""The scripts and styles of the canvas views as strings, bundled for the host that mounts them.

The files under `static` are plain ES modules that import each other by name; a host that takes one string gets them
joined. Two modules are generated: `palette.js` from the palette, `catalogue.js` from the texts of every language.
"""

import json
import re
from functools import cache
from importlib.resources import files
from typing import Literal

from bertlab.config.languages import languages, message_ids, render
from bertlab.views.palette import PALETTE

_PREFIX = "canvas-"  # of the messages that JavaScript shows
View = Literal["attention", "neuron", "figure", "timeline"]
_IMPORT = re.compile(r'^import \{[^}]*\} from "\./([\w/]+\.js)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?!default)", re.MULTILINE)
# Comments on lines of their own and indentation are removed, since a host sends the script with every change.
_COMMENT = re.compile(r"^[ \t]*(?://[^\n]*\n|/\*\*.*?\*/\n)|^[ \t]+", re.MULTILINE | re.DOTALL)


@cache
def static(name: str) -> str:
    """The text of a file under `static`, such as "attention.js" or "vendor/d3.min.js", or of a generated module."""
    if name in _GENERATED:
        return _GENERATED[name]()
    return files(__package__).joinpath("static", *name.split("/")).read_text(encoding="utf-8")


def css() -> str:
    """The style of every canvas view."""
    return _theme_css() + static("common.css")


@cache
def module(view: View) -> str:
    """One self-contained ES module that exports `render(root, payload, emit, options)`."""
    return "".join(_strip(static(name)) for name in _needed(f"{view}.js"))


@cache
def hosted(view: View, host: Literal["streamlit", "jupyter", "page"]) -> str:
    """The view's module followed by the few lines that mount it in a host.

    The default export of these lines is the only one: anywidget takes a named `render` for a mount function of its own.
    """
    return _EXPORT.sub("", module(view)) + _strip(static(f"{host}.js"))


def streamlit_js(view: View = "attention") -> str:
    """The `js=` of `st.components.v2.component`: mount with `data=payload` (for "figure": a dict, see figure.js), and a
    `key=`; the view's state arrives as `state`.
    """
    return hosted(view, "streamlit")


def _needed(name: str, before: tuple[str, ...] = ()) -> tuple[str, ...]:
    """A file of `static` and all that it imports, each once, after what it needs itself."""
    for other in _IMPORT.findall(static(name)):
        before = before if other in before else _needed(other, before)
    return (*before, name)


def _palette_js() -> str:
    return f"export const PALETTE = {json.dumps(PALETTE)};\n"


def _catalogue_js() -> str:
    """The texts of the canvas views (`locales/*/views`) in every language, by their names in JavaScript."""
    ids = {_camel_case(id.removeprefix(_PREFIX)): id for id in sorted(message_ids()) if id.startswith(_PREFIX)}
    texts = {code: {name: render(id, code) for name, id in ids.items()} for code in languages()}
    # the script may lie inside an HTML page, which "</script>" in a text would end
    return f"export const CATALOGUE = {json.dumps(texts, ensure_ascii=False)};\n".replace("<", "\\u003c")


def _camel_case(id: str) -> str:
    """The name of a message in JavaScript.

    >>> _camel_case("zoom-in")
    'zoomIn'
    """
    return re.sub(r"-(\w)", lambda letter: letter[1].upper(), id)


def _theme_css() -> str:
    """The palette as CSS variables: defaults of the ink, the ground and the accent where the host has none."""
    light, dark = (
        " ".join(f"--bl-{name}-default: {PALETTE['themes'][theme][name]};" for name in ("ink", "ground", "accent"))
        for theme in ("light", "dark")
    )
    return (
        f".bl-view {{ {light} --bl-orange: {PALETTE['orange']}; }}\n"
        f"@media (prefers-color-scheme: dark) {{ .bl-view {{ {dark} }} }}\n"
    )


def _strip(source: str) -> str:
    return _COMMENT.sub("", _IMPORT.sub("", source))


_GENERATED = {"palette.js": _palette_js, "catalogue.js": _catalogue_js}
