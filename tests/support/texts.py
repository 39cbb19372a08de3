"""Interface texts, which tests look for on the pages."""

from bertlab.config.languages import render


def text(id: str, language: str = "en", **values: object) -> str:
    """The interface text of this id in a language."""
    return render(id, language, **values)
