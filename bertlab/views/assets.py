"""The scripts and styles of the canvas views as strings, bundled for the host that mounts them.

The ES modules under `static` import each other by relative paths; for a host (Streamlit, Jupyter or an HTML page), they
are joined into one string. `palette.js` (the palette) and `catalogue.js` (texts of every language) are generated.
"""

import json
import posixpath
import re
from functools import cache
from importlib.resources import files
from typing import Literal

from bertlab.config.languages import languages, list_message_ids, render
from bertlab.views.palette import PALETTE

View = Literal["attention", "neuron", "figure", "timeline", "live/page"]
_IMPORT = re.compile(r'^import \{[^}]*\} from "(\.{1,2}/[\w/]+\.js)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?!default)", re.MULTILINE)
# Whole-line comments and indentation, removed because a host may send the script many times.
_COMMENT = re.compile(r"^[ \t]*(?://[^\n]*\n|/\*\*.*?\*/\n)|^[ \t]+", re.MULTILINE | re.DOTALL)


@cache
def read_static(name: str) -> str:
    """Read a file under `static`, such as "attention.js", or generate one of `_GENERATED`."""
    if name in _GENERATED:
        return _GENERATED[name]()
    return files(__package__).joinpath("static", *name.split("/")).read_text(encoding="utf-8")


def css() -> str:
    """Return the CSS that all canvas views share, with the palette's colours, which apply if the host sets none."""
    light, dark = (
        " ".join(f"--bl-{name}-default: {PALETTE['themes'][theme][name]};" for name in ("ink", "ground", "accent"))
        for theme in ("light", "dark")
    )
    return (
        f".bl-view {{ {light} --bl-orange: {PALETTE['orange']}; }}\n"
        f"@media (prefers-color-scheme: dark) {{ .bl-view {{ {dark} }} }}\n{read_static('common.css')}"
    )


@cache
def bundle_module(view: View) -> str:
    """Bundle a view into one self-contained ES module that exports `render(root, payload, emit, options)`."""
    return "".join(_strip_module(read_static(name)) for name in _resolve_imports(f"{view}.js"))


@cache
def bundle_for_host(view: View, host: Literal["streamlit", "jupyter", "page"]) -> str:
    """Bundle a view with the few lines that mount it in a host.

    Their default export is the only one, because anywidget would call an exported `render` itself. Streamlit's
    component is mounted with a `key=` and with `data=payload` (a dictionary for the view "figure").
    """
    return _EXPORT.sub("", bundle_module(view)) + _strip_module(read_static(f"{host}.js"))


@cache
def bundle_script(view: View) -> str:
    """Bundle a view that mounts itself, as a classic script: a module would not run until the whole page is parsed."""
    return f'(() => {{\n"use strict";\n{_EXPORT.sub("", bundle_module(view))}}})();\n'


@cache
def bundle_worker(name: str) -> str:
    """Bundle a script for a Web Worker with its comments, because students read it."""
    sources = ((path, read_static(path)) for path in _resolve_imports(name))
    return "\n".join(f"// ---- {path} ----\n{_EXPORT.sub('', _IMPORT.sub('', source))}" for path, source in sources)


def collect_texts(prefix: str) -> dict[str, dict[str, str]]:
    """Collect the messages whose ids begin with a prefix, as {language: {name in JavaScript: text}}."""
    ids = {_to_camel_case(id.removeprefix(prefix)): id for id in sorted(list_message_ids()) if id.startswith(prefix)}
    return {code: {name: render(id, code) for name, id in ids.items()} for code in languages()}


def _resolve_imports(name: str, resolved: tuple[str, ...] = ()) -> tuple[str, ...]:
    """List a file of `static` and everything it imports, each file once and after the files that it imports."""
    for path in _IMPORT.findall(read_static(name)):
        imported = posixpath.normpath(posixpath.join(posixpath.dirname(name), path))
        resolved = resolved if imported in resolved else _resolve_imports(imported, resolved)
    return (*resolved, name)


def _make_palette_js() -> str:
    return f"export const PALETTE = {json.dumps(PALETTE)};\n"


def _make_catalogue_js() -> str:
    texts = collect_texts("canvas-")
    # the script may be written into an HTML page, where "</script>" in a text would end it
    return f"export const CATALOGUE = {json.dumps(texts, ensure_ascii=False)};\n".replace("<", "\\u003c")


def _to_camel_case(id: str) -> str:
    """Convert the id of a message to its name in JavaScript.

    >>> _to_camel_case("zoom-in")
    'zoomIn'
    """
    return re.sub(r"-(\w)", lambda match: match[1].upper(), id)


def _strip_module(source: str) -> str:
    """Remove the imports, comments and indentation of a module."""
    return _COMMENT.sub("", _IMPORT.sub("", source))


_GENERATED = {"palette.js": _make_palette_js, "catalogue.js": _make_catalogue_js}
