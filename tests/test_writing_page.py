"""The page Writing: the surprise of words, proposals that replace a word, type-ahead, and texts of all kinds."""

import pytest
from bertlab_app.examples import read_examples
from support.figures import read_charts
from support.pages import HOSTILE, bodies, errors, open_example_page

from bertlab.abilities.writing.corrections import Correction
from bertlab.session import Session


@pytest.fixture(autouse=True)
def _shipped(shipped):
    pass


def open_page(**parameters):
    page = open_example_page("writing", **parameters)
    assert not errors(page)
    return page


def notes(page) -> list[str]:
    return [body for body in bodies(page) if 'class="note' in body]


def buttons(page, prefix: str):
    return [button for button in page.button if button.key and button.key.startswith(prefix)]


@pytest.mark.parametrize("language", ["en", "ko"])
def test_the_page_opens_with_its_example(language):
    page = open_page(lang=language)
    assert page.text_area[0].value == read_examples("en").draft  # the test checkpoint is English
    assert len(read_charts(page)) == 1
    assert any("nats" in body or "내트" in body for body in bodies(page))


def test_a_proposal_replaces_the_word_and_undo_restores_it():
    text = "Rain fell on the old mill."
    page = open_page(draft=text, threshold="0", word="5")
    proposals = buttons(page, "proposed-proposals-")
    assert proposals
    page = proposals[0].click().run()
    changed = page.text_area[0].value
    assert changed != text
    assert changed.startswith("Rain fell on the old ")
    assert changed.endswith(".")
    page = next(button for button in page.button if button.key == "undo").click().run()
    assert page.text_area[0].value == text


def test_type_ahead_appends_a_word_and_fills_a_gap():
    text = "The ___ carried a"
    page = open_page(aid="next", begin=text)
    filled = buttons(page, "proposed-gap-1-")[0].click().run().text_input[0].value
    assert "___" not in filled
    assert filled.endswith(" carried a")
    page = open_page(aid="next", begin=text)
    assert buttons(page, "proposed-next-words-")[0].click().run().text_input[0].value.startswith(f"{text} ")
    assert read_charts(page)


@pytest.mark.parametrize("aid", ["surprise", "spelling", "next"])
@pytest.mark.parametrize("text", ["", " \n", "*** 🙂"])
def test_a_text_without_words_gives_one_line(aid, text):
    page = open_page(aid=aid, draft=text, begin=text)
    assert len(notes(page)) == 1
    assert not read_charts(page)


@pytest.mark.parametrize("aid", ["surprise", "spelling", "next"])
def test_long_and_hostile_texts_are_read(aid):
    page = open_page(
        aid=aid, draft=f"{HOSTILE} 비가 왔다. " + "rain " * 300, begin="<img src=x> **b** ___", threshold="0"
    )
    assert not any("<script>alert" in body or "<img" in body for body in bodies(page))
    if aid != "next":
        assert any("200" in body for body in notes(page))


def test_a_checkpoint_without_an_output_layer_is_replaced(shipped):
    page = open_page(checkpoint=str(shipped / "bare"))
    assert len(notes(page)) == 1
    assert "strongest" in notes(page)[0]
    assert read_charts(page)


def test_corrections_are_marked_and_applied_together_or_alone():
    text = "The keeepr carried a lan tern."
    page = open_page(aid="spelling", draft=text, margin="0")
    (marked,) = (body for body in bodies(page) if "bl-passage" in body)
    count = marked.count("</ins>")
    assert count == len(buttons(page, "proposed-correction-")) > 0
    alone = buttons(page, "proposed-correction-")[0].click().run().text_area[0].value
    assert alone != text
    page = open_page(aid="spelling", draft="The keeper.", margin="30")
    assert not buttons(page, "proposed-correction-")
    assert any("30.0" in body for body in bodies(page))


def test_all_corrections_are_applied_and_undone_together(monkeypatch):
    text = "The keper carried a lan tern."
    found = (Correction(4, 9, "keper", "keeper", "letter", 9.0), Correction(20, 28, "lan tern", "lantern", "join", 8.0))
    monkeypatch.setattr(Session, "suggest_corrections", lambda *_, **__: found)
    page = open_page(aid="spelling", draft=text, margin="5")
    page = next(button for button in page.button if button.key == "apply-all").click().run()
    assert page.text_area[0].value == "The keeper carried a lantern."
    page = next(button for button in page.button if button.key == "undo").click().run()
    assert page.text_area[0].value == text
