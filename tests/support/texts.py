"""Interface texts, as the tests of the pages look for them."""

from bertlab.config.languages import render


def text(id: str, language: str = "en", **values: object) -> str:
    """The interface text of this id in a language."""
    return render(id, language, **values)
