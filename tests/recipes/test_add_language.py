"""Recipe of CONTRIBUTING.md: an interface language, added as a folder and shown by the app."""

import numpy as np
import pytest
from support.pages import errors, open_page

from bertlab.abilities.answer import span_attention
from bertlab.config import languages


@pytest.fixture
def pseudo(tmp_path, monkeypatch):
    """A language `xx` in a folder outside the package, which translates one title, one axis and one error."""
    folder = tmp_path / "xx"
    (folder / "errors").mkdir(parents=True)
    (folder / "language.toml").write_text('name = "Pseudo"\nscript = "[ŧđ]"\n', encoding="utf-8")
    (folder / "figures.ftl").write_text("figure-layer-number = ŧayer { $layer }\n", encoding="utf-8")
    (folder / "pages.ftl").write_text("input-title = Ŧokens\n", encoding="utf-8")
    (folder / "errors" / "text.ftl").write_text("text-empty = ŧexŧ is empŧy\n", encoding="utf-8")
    monkeypatch.setenv("BERTLAB_LOCALES", str(tmp_path))
    for cached in (languages.languages, languages._load_bundle):
        cached.cache_clear()
    yield
    monkeypatch.undo()
    for cached in (languages.languages, languages._load_bundle):
        cached.cache_clear()


def test_the_app_is_shown_in_a_new_language(pseudo, shipped):
    page = open_page("input", lang="xx")
    assert not page.exception
    assert page.title[0].value == "Ŧokens"
    assert "xx" in languages.languages()
    page.text_input(key="a").set_value("").run()
    assert "ŧexŧ is empŧy" in " ".join(errors(page))


def test_figures_are_in_a_new_language(pseudo):
    figure = span_attention.heads_map(np.full((2, 3), 0.1), 0.1, lang="xx")
    assert figure.layout.yaxis.ticktext == ("ŧayer 0", "ŧayer 1")
    assert figure.layout.xaxis.title.text == "Head", "what the folder lacks appears in English"
