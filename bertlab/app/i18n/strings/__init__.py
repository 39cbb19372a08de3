"""Every word the window shows, in English and Korean: one table, a module a page. Knows nothing else.

Texts are Markdown where Streamlit reads Markdown, so nothing a user typed may be put into one.
"""

from importlib import import_module
from pkgutil import iter_modules

STRINGS: dict[str, tuple[str, str]] = {}
for _page in iter_modules(__path__):
    _words = import_module(f"{__name__}.{_page.name}").STRINGS
    assert not (twice := STRINGS.keys() & _words.keys()), f"{_page.name} repeats {sorted(twice)}"
    STRINGS |= _words
