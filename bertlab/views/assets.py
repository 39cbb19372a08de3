"""The scripts and styles of the canvas views as strings, bundled for the host that mounts them.

The files under `static` are plain ES modules that import each other by relative paths. For a host (Streamlit, Jupyter
or an HTML page), they are joined into one string. Two modules are generated: `palette.js` from the palette, and
`catalogue.js` from the texts of every language.
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
# Two patterns: an import of another module under `static`, whose path is the group, and the keyword of an export.
_IMPORT = re.compile(r'^import \{[^}]*\} from "(\.{1,2}/[\w/]+\.js)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?!default)", re.MULTILINE)
# Whole-line comments and indentation, which are removed, because a host may send the script to the browser many times.
_COMMENT = re.compile(r"^[ \t]*(?://[^\n]*\n|/\*\*.*?\*/\n)|^[ \t]+", re.MULTILINE | re.DOTALL)


@cache
def read_static(name: str) -> str:
    """Read a file under `static`, such as "attention.js", or generate a file of `_GENERATED`, which is not on disk."""
    if name in _GENERATED:
        return _GENERATED[name]()
    return files(__package__).joinpath("static", *name.split("/")).read_text(encoding="utf-8")


def css() -> str:
    """Return the CSS that all canvas views share."""
    return _make_theme_css() + read_static("common.css")


@cache
def bundle_module(view: View) -> str:
    """Bundle a view into one self-contained ES module that exports `render(root, payload, emit, options)`."""
    return "".join(_strip_module(read_static(name)) for name in _resolve_imports(f"{view}.js"))


@cache
def bundle_for_host(view: View, host: Literal["streamlit", "jupyter", "page"]) -> str:
    """Bundle a view with the few lines that mount it in a host.

    The default export of these lines is the only export, because anywidget would call an exported `render` itself.
    """
    return _EXPORT.sub("", bundle_module(view)) + _strip_module(read_static(f"{host}.js"))


@cache
def bundle_script(view: View) -> str:
    """Bundle a view that mounts itself, as a classic script: a module would not run until the whole page is parsed."""
    return f'(() => {{\n"use strict";\n{_EXPORT.sub("", bundle_module(view))}}})();\n'


def streamlit_js(view: View = "attention") -> str:
    """Return the script for the argument `js` of `st.components.v2.component`.

    The component is mounted with a `key=` and with `data=payload`; the view "figure" takes a dictionary instead
    (figure.js describes it). The attribute `state` of the component's result is the state of the view.
    """
    return bundle_for_host(view, "streamlit")


@cache
def bundle_worker(name: str) -> str:
    """Bundle a script for a Web Worker; unlike the other bundles, it keeps its comments, because students read it."""
    sources = ((path, read_static(path)) for path in _resolve_imports(name))
    return "\n".join(f"// ---- {path} ----\n{_EXPORT.sub('', _IMPORT.sub('', source))}" for path, source in sources)


def collect_texts(prefix: str) -> dict[str, dict[str, str]]:
    """Collect the messages whose ids begin with a prefix, as {language: {name in JavaScript: text}}."""
    ids = {
        _to_camel_case(id.removeprefix(prefix)): id for id in sorted(list_message_ids()) if id.startswith(prefix)
    }  # fmt: skip
    return {code: {name: render(id, code) for name, id in ids.items()} for code in languages()}


def _resolve_imports(name: str, resolved: tuple[str, ...] = ()) -> tuple[str, ...]:
    """List a file of `static` and everything it imports, each file once and after the files that it imports.

    Args:
        name: the file.
        resolved: files that are listed already.
    """
    for path in _IMPORT.findall(read_static(name)):
        imported = posixpath.normpath(posixpath.join(posixpath.dirname(name), path))
        resolved = resolved if imported in resolved else _resolve_imports(imported, resolved)
    return (*resolved, name)


def _make_palette_js() -> str:
    return f"export const PALETTE = {json.dumps(PALETTE)};\n"


def _make_catalogue_js() -> str:
    """Generate the texts of the canvas views (`locales/*/views/canvas.ftl`) in every language."""
    texts = collect_texts("canvas-")
    # the script may be written into an HTML page, where "</script>" in a text would end it
    return f"export const CATALOGUE = {json.dumps(texts, ensure_ascii=False)};\n".replace("<", "\\u003c")


def _to_camel_case(id: str) -> str:
    """Convert the id of a message to its name in JavaScript.

    >>> _to_camel_case("zoom-in")
    'zoomIn'
    """
    return re.sub(r"-(\w)", lambda match: match[1].upper(), id)


def _make_theme_css() -> str:
    """Generate CSS variables with the palette's colours of text (ink), background (ground) and accent.

    They apply if the host sets no colours.
    """
    light, dark = (
        " ".join(f"--bl-{name}-default: {PALETTE['themes'][theme][name]};" for name in ("ink", "ground", "accent"))
        for theme in ("light", "dark")
    )
    return (
        f".bl-view {{ {light} --bl-orange: {PALETTE['orange']}; }}\n"
        f"@media (prefers-color-scheme: dark) {{ .bl-view {{ {dark} }} }}\n"
    )


def _strip_module(source: str) -> str:
    """Remove the imports, comments and indentation of a module."""
    return _COMMENT.sub("", _IMPORT.sub("", source))


# name of a file that is not under `static` -> the function that generates it
_GENERATED = {"palette.js": _make_palette_js, "catalogue.js": _make_catalogue_js}
