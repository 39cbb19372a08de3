"""The page Summary: its example, a link, a reference, and texts of all kinds."""

import pytest
from bertlab_app.examples import read_examples
from support.figures import read_charts
from support.pages import HOSTILE, bodies, errors, open_example_page

from bertlab.text.pretraining.sentences import find_sentences


@pytest.fixture(autouse=True)
def cache(monkeypatch, tmp_path_factory, shipped):
    monkeypatch.setenv("BERTLAB_CACHE", str(tmp_path_factory.mktemp("cache")))


def open_page(**parameters):
    page = open_example_page("summary", **parameters)
    assert not errors(page)
    return page


def marked(page) -> str:
    (text,) = (body for body in bodies(page) if "bl-passage" in body)
    return text


def notes(page) -> list[str]:
    return [body for body in bodies(page) if 'class="note' in body]


@pytest.mark.parametrize("language", ["en", "ko"])
def test_the_page_opens_with_its_example(language):
    page = open_page(lang=language)
    assert page.text_area[0].value == read_examples("en").report  # the test checkpoint is English
    assert len(find_sentences(read_examples(language).report)) == 15
    assert marked(page).count("</mark>") == 3
    assert marked(page).count("dotted") == 3
    assert len(read_charts(page)) == 1
    assert "ROUGE" not in "".join(body for body in bodies(page) if "<table" in body)


def test_a_link_opens_a_choice_and_a_reference():
    first = (
        "Rain fell in the hills. The river rose. The mill stood still. Bread was dear. Rain fell in the hills again."
    )
    page = open_page(document=first, count="5", diversity="0", reference="Rain fell in the hills.")
    assert marked(page).count("</mark>") == 4  # the first and the last sentence share three words
    assert len(notes(page)) == 2  # an untrained checkpoint, and fewer sentences than requested
    assert any("ROUGE-L" in body and "<table" in body for body in bodies(page))


@pytest.mark.parametrize("document", ["", " \n", "*** 🙂", "Only one sentence here", "비가 왔다"])
def test_a_text_without_a_choice_gives_one_line(document):
    page = open_page(document=document)
    assert len(notes(page)) == 1
    assert not read_charts(page)


def test_long_mixed_and_hostile_texts_are_summarised():
    mixed = f"{HOSTILE}. The river rose. 비가 많이 왔다. " + "Rain " * 600 + ". " + "The mill stood. " * 50
    page = open_page(document=mixed)
    assert "<script>alert" not in marked(page)
    assert "<img" not in marked(page)
    assert len(notes(page)) == 3  # an untrained checkpoint, a second language, a long sentence
    page = open_page(document="Rain fell. " * 2100)
    assert any("2,100" in body and "2,000" in body for body in notes(page))
    assert marked(page).count("</mark>") == 1
