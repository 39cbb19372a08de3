"""The scripts and styles of the canvas views as strings, bundled for the host that mounts them.

The files under `static` are plain ES modules that import each other by name; a host that takes one string gets them
joined. Knows nothing of data or of what the hosts do with a string.
"""

import re
from functools import cache
from importlib.resources import files
from typing import Literal

View = Literal["attention", "neuron", "figure", "timeline"]
_IMPORT = re.compile(r'^import \{[^}]*\} from "\./([\w/]+\.js)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?!default)", re.MULTILINE)
# comments on lines of their own, and indentation: a host sends a script with every change
_COMMENT = re.compile(r"^[ \t]*(?://[^\n]*\n|/\*\*.*?\*/\n)|^[ \t]+", re.MULTILINE | re.DOTALL)


@cache
def static(name: str) -> str:
    """The text of a file under `static`, such as "attention.js" or "vendor/d3.min.js"."""
    return files(__package__).joinpath("static", *name.split("/")).read_text(encoding="utf-8")


def css() -> str:
    """The style of every canvas view."""
    return static("common.css")


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


def _strip(source: str) -> str:
    return _COMMENT.sub("", _IMPORT.sub("", source))
