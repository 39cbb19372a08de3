"""The canvas views in a real Chromium without a network, operated with mouse and keyboard as a user would."""

import base64
import csv
import itertools
import json
import re
import time
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest
from support.colours import SIGHTS, oklab
from support.texts import text
from support.view_facts import attention, long_attention, neuron, rows

import bertlab
from bertlab.abilities.attention import bertviz_view
from bertlab.views import assets, figures, html, payload

pytestmark = pytest.mark.browser


@pytest.fixture
def visit(chromium, tmp_path):
    """Open HTML from disk with the network off; any error or request on the page fails the test."""
    contexts, problems = [], []

    def open_page(text, *, width=1280, height=900, scheme="light", ready="globalThis.bertlab"):
        context = chromium.new_context(viewport={"width": width, "height": height}, color_scheme=scheme, offline=True)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("console", lambda message: message.type == "error" and problems.append(message.text))
        page.on("dialog", lambda dialog: (problems.append("a dialog opened"), dialog.dismiss()))
        page.on("request", lambda request: request.url.startswith("http") and problems.append(request.url))
        file = tmp_path / f"page{len(contexts)}.html"
        file.write_text(text, encoding="utf-8")
        page.goto(file.as_uri())
        until(page, ready)
        if ready == "globalThis.bertlab":
            page.evaluate("bertlab.ready")
            page.evaluate("() => { window.heard = []; bertlab.listen((state) => heard.push(state)); }")
            settle(page)
        return page

    open_page.problems = problems
    yield open_page
    for context in contexts:
        context.close()
    assert not problems


def until(page, expression, seconds=10):
    """Wait for an expression to be true; wait_for_function would need eval, which the pages' policy forbids."""
    end = time.monotonic() + seconds
    while not page.evaluate(f"() => Boolean({expression})"):
        assert time.monotonic() < end, f"still not: {expression}"
        page.wait_for_timeout(20)


def settle(page):
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def state(page):
    return page.evaluate("bertlab.state()")


def readout(page):
    return page.locator("[role=status]").inner_text()


def update(page, packed, options=None):
    page.evaluate(
        "([text, options]) => bertlab.update(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)), options)",
        [base64.b64encode(packed).decode(), options or {}],
    )
    settle(page)


def ink(page, selector="canvas.bl-under"):
    """How many pixels of a canvas are drawn on."""
    return page.evaluate(
        """(selector) => {
          const canvas = document.querySelector(selector);
          const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
          let drawn = 0;
          for (let i = 3; i < data.length; i += 4) drawn += data[i] > 0;
          return drawn;
        }""",
        selector,
    )


def token_at(page, side, index):
    """The middle of a token's row in the lines view: 24 px rows after a margin of 8, at the default size of type."""
    box = page.locator("canvas.bl-over").first.bounding_box()
    x = box["x"] + box["width"] * (0.3 if side == "query" else 0.7)
    return x, box["y"] + 8 + 24 * (index + 0.5)


def values(text):
    """A readout's numbers: 'a attends to b 0.123 · c 0.045' -> [0.123, 0.045]."""
    return [float(value) for value in re.findall(r"\S+ (0\.\d+|1\.0+)(?= · |$)", text)]


def test_lines_are_drawn_and_described_in_words(visit):
    fact = attention()
    page = visit(html.attention_html(fact))
    assert ink(page) > 2000
    page.mouse.move(*token_at(page, "query", 2))
    settle(page)
    line = readout(page)
    assert line.startswith("lamp attends to")
    mean = fact.probs_LNTT[0, :, 2].mean(0)
    best = np.argsort(-mean)[:5]
    assert values(line) == [pytest.approx(mean[i], abs=6e-4) for i in best]
    assert page.locator("canvas.bl-under.bl-dim").count() == 1
    page.mouse.move(*token_at(page, "key", 3))
    settle(page)
    assert readout(page).startswith(f"on {text('canvas-attended-by')}")
    assert max(values(readout(page))) == pytest.approx(fact.probs_LNTT[0, :, :, 3].mean(0).max(), abs=6e-4)


def test_a_click_pins_a_token_and_shift_click_sums_several(visit):
    fact = attention()
    page = visit(html.attention_html(fact))
    page.mouse.click(*token_at(page, "query", 1))
    page.keyboard.down("Shift")
    page.mouse.click(*token_at(page, "query", 4))
    page.keyboard.up("Shift")
    page.mouse.move(5, 5)
    settle(page)
    assert state(page)["tokens"] == [1, 4]
    total = fact.probs_LNTT[0, :, [1, 4]].mean(1).sum(0)
    assert readout(page).startswith("the + the attends to")
    assert max(values(readout(page))) == pytest.approx(total.max(), abs=6e-4)
    page.locator("canvas.bl-over").focus()
    page.keyboard.press("Escape")
    assert state(page)["tokens"] == []


def test_head_squares_toggle_and_solo(visit):
    page = visit(html.attention_html(attention()))
    before = ink(page)
    square = page.locator(".bl-head")
    square.nth(1).click()
    assert state(page)["heads"] == [0, 2, 3]
    assert square.nth(1).get_attribute("aria-pressed") == "false"
    square.nth(2).dblclick()
    settle(page)
    assert state(page)["heads"] == [2]
    assert [square.nth(i).get_attribute("aria-pressed") for i in range(4)] == ["false", "false", "true", "false"]
    assert 0 < ink(page) != before
    square.nth(2).click()
    assert state(page)["heads"] == [2], "the last head stays"
    square.nth(2).dblclick()
    assert state(page)["heads"] is None


def test_quick_changes_reach_the_host_as_one_state(visit):
    page = visit(html.attention_html(attention()))
    page.evaluate("() => { const next = document.querySelectorAll('.bl-step')[1]; next.click(); next.click(); }")
    until(page, "heard.length > 0")
    page.wait_for_timeout(300)
    heard = page.evaluate("heard")
    assert [choice["layer"] for choice in heard] == [2]
    assert heard[0] == state(page)


def test_keyboard_alone_is_enough(visit):
    fact = attention()
    page = visit(html.attention_html(fact))
    page.keyboard.press("Tab")
    reached = set()
    for _ in range(14):
        reached.add(page.evaluate("document.activeElement.className || document.activeElement.tagName"))
        page.keyboard.press("Tab")
    assert {"bl-step", "bl-head", "bl-over", "SELECT", "INPUT"} <= reached
    page.locator("canvas.bl-over").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    settle(page)
    assert readout(page).startswith("the attends to")
    page.keyboard.press("ArrowRight")
    settle(page)
    assert state(page)["layer"] == 1
    assert max(values(readout(page))) == pytest.approx(fact.probs_LNTT[1, :, 1].mean(0).max(), abs=6e-4)
    page.keyboard.press("s")
    settle(page)
    assert readout(page).startswith(f"the {text('canvas-attended-by')}")
    page.locator(".bl-head").first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("s")
    assert state(page)["heads"] == [1]
    page.locator("[data-view=grid]").focus()
    page.keyboard.press("Enter")
    settle(page)
    for _ in range(30):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.tagName") == "CANVAS":
            break
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Space")
    settle(page)
    assert (state(page)["view"], state(page)["heads"]) == ("lines", [2])
    ring = "getComputedStyle(document.activeElement).outlineStyle"
    assert page.evaluate(f"[document.activeElement.ariaLabel, {ring}]") == ["Lines", "solid"], (
        "the lines view then has the focus"
    )


def test_the_sentence_filter_and_hiding_choose_rows_and_columns(visit):
    fact = attention()
    page = visit(html.attention_html(fact))
    page.locator("select").select_option("ba")
    page.get_by_label(text("canvas-hide")).check()
    settle(page)
    page.mouse.move(*token_at(page, "query", 0))
    settle(page)
    line = readout(page)
    assert line.startswith("so attends to")
    mean = fact.probs_LNTT[0, :, 9, 1:8].mean(0)
    assert max(values(line)) == pytest.approx(mean.max(), abs=6e-4)
    page.get_by_label(text("canvas-renormalise")).check()
    page.mouse.move(*token_at(page, "query", 0))
    settle(page)
    scaled = fact.probs_LNTT[0, :, 9, 1:8]
    scaled = (scaled / scaled.sum(-1, keepdims=True)).mean(0)
    assert max(values(readout(page))) == pytest.approx(scaled.max(), abs=6e-4)


def test_one_sentence_has_no_sentence_filter(visit):
    tokens = rows(second=())
    page = visit(html.attention_html(attention(tokens=tokens), options={"state": {"filter": "ab"}}))
    assert not page.locator("select").is_visible()
    assert state(page)["filter"] == "all"


def test_the_grid_opens_a_head(visit):
    page = visit(html.attention_html(attention(), options={"state": {"view": "grid"}}))
    box = page.locator(".bl-stage .bl-over").first.bounding_box()
    label = 29.4  # the names' margin at 14 px
    side = (box["width"] - 30) / 4
    side = min(side, 114)
    page.mouse.click(box["x"] + label + 2.5 * side, box["y"] + label + 1.5 * side)
    settle(page)
    assert (state(page)["layer"], state(page)["head"]) == (1, 2)
    assert "Layer 1 · Head 2" in page.locator(".bl-card-title").inner_text()
    page.get_by_text(text("canvas-as-lines")).click()
    assert (state(page)["view"], state(page)["heads"]) == ("lines", [2])


def test_the_heat_map_reads_out_the_value(visit):
    fact = attention()
    page = visit(html.attention_html(fact, options={"state": {"view": "matrix", "layer": 2, "head": 3}}))
    canvas = page.locator("canvas.bl-over")
    canvas.focus()
    for key in ("ArrowRight", "ArrowDown", "ArrowDown", "ArrowRight", "ArrowRight"):
        page.keyboard.press(key)
    settle(page)
    line = readout(page)
    assert line.endswith("(Layer 2 · Head 3)")
    value = float(re.search(r"(\d\.\d+) \(", line)[1])
    assert value == pytest.approx(fact.probs_LNTT[2, 3, 2, 2], abs=6e-4)
    page.keyboard.press("Enter")
    assert (state(page)["tokens"], state(page)["side"]) == ([2], "query")
    page.locator(".bl-head").nth(1).click()
    settle(page)
    value = float(re.search(r"(\d\.\d+) \(", readout(page))[1])
    assert value == pytest.approx(fact.probs_LNTT[2, 1, 2, 2], abs=6e-4)


def test_the_heat_map_follows_the_pointer(visit):
    page = visit(html.attention_html(attention(), options={"state": {"view": "matrix"}}))
    box = page.locator("canvas.bl-over").bounding_box()
    readouts = set()
    for step in range(6):
        page.mouse.move(box["x"] + box["width"] * 0.5 + 36 * step, box["y"] + box["height"] * 0.6)
        settle(page)
        readouts.add(readout(page))
    assert len(readouts) == 6
    assert all("attends to" in text for text in readouts)


def test_choices_survive_another_text_and_a_late_state_of_the_host(visit):
    page = visit(html.attention_html(attention()))
    page.locator(".bl-step").nth(1).click()
    page.locator(".bl-head").nth(3).dblclick()
    until(page, "heard.length > 0")
    echo = page.evaluate("heard.at(-1)")
    page.locator(".bl-step").nth(1).click()
    other = attention(tokens=rows(["a", "new", "text"]), seed=5)
    update(page, payload.AttentionPack(other).bytes(), {"state": echo})
    assert (state(page)["layer"], state(page)["heads"]) == (2, [3]), (
        "an older state that the host sends back must not undo a later choice"
    )
    page.mouse.move(*token_at(page, "query", 2))
    settle(page)
    assert readout(page).startswith("new attends to")
    update(page, payload.AttentionPack(other).bytes(), {"state": {"layer": 0, "heads": None, "view": "grid"}})
    assert (state(page)["layer"], state(page)["heads"], state(page)["view"]) == (0, None, "grid")
    fewer = attention(layers=2, heads=2)
    update(page, payload.AttentionPack(fewer).bytes(), {"state": {"layer": 9, "heads": [1, 7], "view": "lines"}})
    assert (state(page)["layer"], state(page)["heads"]) == (1, [1])
    assert page.locator(".bl-head").count() == 2


@pytest.mark.parametrize(
    "nonsense", [{"view": "x", "layer": -3, "heads": "all"}, {"tokens": [99, None], "layer": 1.5}, {"heads": []}]
)
def test_an_invalid_state_of_a_link_is_replaced_by_the_defaults(visit, nonsense):
    page = visit(html.attention_html(attention(), options={"state": nonsense}))
    assert ink(page) > 1000
    assert state(page) == state(visit(html.attention_html(attention())))


def test_a_long_input_is_sent_layer_by_layer_on_request(visit):
    pack = payload.AttentionPack(long_attention(180))
    page = visit(html.attention_html(attention()))
    update(page, pack.bytes({"layer": 4}), {"state": {"layer": 4}})
    assert page.locator("[data-view=grid]").get_attribute("aria-pressed") == "true", "overview first"
    assert ink(page, ".bl-stage .bl-over") > 100_000
    page.locator("[data-view=lines]").click()
    until(page, "heard.some((state) => state.view === 'lines')")
    assert ink(page) == 0, "the page has only one head of this layer yet"
    update(page, pack.bytes({"view": "lines", "layer": 4}))
    assert ink(page) > 2000
    page.locator(".bl-step").nth(1).click()
    settle(page)
    assert ink(page) == 0
    until(page, "heard.some((state) => state.layer === 5)")
    update(page, pack.bytes({"view": "lines", "layer": 5}))
    assert ink(page) > 2000
    page.locator("[data-view=matrix]").click()
    page.locator(".bl-head").nth(7).click()
    settle(page)
    page.locator("canvas.bl-over").focus()
    page.keyboard.press("ArrowDown")
    settle(page)
    assert "Layer 5 · Head 7" in readout(page), "the page has the whole layer"
    page.locator("[data-view=lines]").click()
    page.get_by_label(text("canvas-fit")).check()
    settle(page)
    scroll = page.locator(".bl-scroll")
    assert scroll.evaluate("(node) => node.scrollHeight <= node.clientHeight + 1")


def test_a_new_long_text_requests_the_layer_in_view(visit):
    page = visit(html.attention_html(attention(layers=12), options={"state": {"layer": 7, "view": "lines"}}))
    update(page, payload.AttentionPack(long_attention(170)).bytes())
    assert page.evaluate("heard.at(-1)?.layer") == 7
    assert ink(page) == 0


def test_a_drag_pins_neighbouring_tokens(visit):
    fact = attention()
    page = visit(html.attention_html(fact))
    page.mouse.move(*token_at(page, "query", 2))
    page.mouse.down()
    page.mouse.move(*token_at(page, "query", 4), steps=4)
    page.mouse.up()
    page.mouse.move(5, 5)
    until(page, "bertlab.state().tokens.length === 3")
    settle(page)
    assert state(page)["tokens"] == [2, 3, 4]
    assert readout(page).startswith("lamp + on + the attends to")
    assert max(values(readout(page))) == pytest.approx(fact.probs_LNTT[0, :, 2:5].mean(0).sum(0).max(), abs=6e-4)


def test_a_search_highlights_counts_and_steps_through_matches(visit):
    fact = attention()
    page = visit(html.attention_html(fact))
    before = ink(page, "canvas.bl-over")
    page.get_by_label(text("canvas-find")).fill("THE")
    settle(page)
    assert page.locator(".bl-count").inner_text() == "0 / 3"
    assert ink(page, "canvas.bl-over") > before + 500, "matches are highlighted"
    for place in (1, 2, 3, 1):
        page.keyboard.press("Enter")
        assert page.locator(".bl-count").inner_text() == f"{place} / 3"
    page.keyboard.press("Shift+Enter")
    assert page.locator(".bl-count").inner_text() == "3 / 3"
    settle(page)
    assert readout(page).startswith("the attends to")
    page.get_by_role("button", name=text("canvas-pin-matches")).click()
    assert state(page)["tokens"] == [1, 4, 10]
    page.get_by_label(text("canvas-find")).fill("boats")
    assert page.locator(".bl-count").inner_text() == "0 / 0"
    until(page, "heard.at(-1)?.find === 'boats'")


def test_tokens_are_merged_into_words_as_in_clark_et_al(visit):
    tokens = rows(["the", "lamp", "##light", "##er", "went"], ["un", "##seen"])
    fact = attention(tokens=tokens)
    page = visit(html.attention_html(fact))
    page.get_by_label(text("canvas-whole-words")).check()
    settle(page)
    page.mouse.move(*token_at(page, "query", 2))
    settle(page)
    line = readout(page)
    assert line.startswith("lamplighter attends to")
    groups = [[0], [1], [2, 3, 4], [5], [6], [7, 8], [9]]
    mean = fact.probs_LNTT[0].mean(0)
    expected = [mean[np.ix_(groups[2], group)].sum(1).mean() for group in groups]
    assert sum(expected) == pytest.approx(1, abs=1e-4)
    assert values(line) == [pytest.approx(value, abs=6e-4) for value in sorted(expected, reverse=True)[:5]]
    page.mouse.click(*token_at(page, "query", 5))
    page.get_by_label(text("canvas-whole-words")).uncheck()
    settle(page)
    assert state(page)["tokens"] == [7], "a pinned word is stored as its first token"
    assert not visit(html.attention_html(attention())).get_by_label(text("canvas-whole-words")).is_visible()


def test_every_change_can_be_undone(visit):
    page = visit(html.attention_html(attention()))
    undo, redo = page.get_by_label(text("canvas-undo")), page.get_by_label(text("canvas-redo"))
    assert undo.is_disabled()
    start = state(page)
    page.locator(".bl-step").nth(1).click()
    page.get_by_label(text("canvas-hide")).check()
    page.mouse.click(*token_at(page, "query", 1))
    page.get_by_label(text("canvas-find")).type("boat")
    page.get_by_label(text("canvas-zoom-in")).click()
    end = state(page)
    assert (end["layer"], end["hide"], end["tokens"], end["find"], end["zoom"]) == (1, True, [2], "boat", 150)
    page.locator("canvas.bl-over").focus()
    page.keyboard.press("Control+z")
    assert (state(page)["zoom"], state(page)["find"]) == (100, "boat")
    for _ in range(4):
        undo.click()
    assert state(page) == start
    assert undo.is_disabled()
    for _ in range(4):
        redo.click()
    page.locator("canvas.bl-over").focus()
    page.keyboard.press("Control+Shift+z")
    assert state(page) == end
    until(page, "heard.at(-1)?.zoom === 150")


@pytest.mark.parametrize("look", ["lines", "matrix"])
def test_zoom_widens_the_picture_and_keeps_its_middle(visit, look):
    page = visit(html.attention_html(long_attention(60, 1, 2), options={"state": {"view": look}}))
    scroll = page.locator(".bl-scroll")
    scroll.evaluate("(node) => { node.scrollTop = (node.scrollHeight - node.clientHeight) / 2; }")
    high = scroll.evaluate("(node) => node.scrollHeight")
    page.get_by_label(text("canvas-zoom-in")).click()
    page.locator("canvas.bl-over").focus()
    page.keyboard.press("+")
    settle(page)
    assert state(page)["zoom"] == 200
    assert scroll.evaluate("(node) => node.scrollHeight") > 1.7 * high
    middle = scroll.evaluate("(node) => (node.scrollTop + node.clientHeight / 2) / node.scrollHeight")
    assert middle == pytest.approx(0.5, abs=0.06)


@pytest.mark.parametrize("look", ["lines", "grid", "matrix", "neuron"])
def test_a_view_is_saved_as_image_page_numbers_and_code(visit, tmp_path, look):
    fact = attention()
    subject = {"checkpoint": "strongest", "text": "The lamp, lit"}
    options = {"state": {"view": look, "layer": 1, "head": 2}, "code": "state = STATE", "subject": subject}
    shown = html.neuron_html(neuron()) if look == "neuron" else html.attention_html(fact, options=options)
    page = visit(shown, scheme="dark")
    settle(page)
    files = {}
    for kind in ["svg", "png", "csv", "html", *(["py"] if look != "neuron" else [])]:
        page.locator(".bl-save").click()
        with page.expect_download() as saved:
            page.locator(f"[data-save={kind}]").click()
        files[kind] = tmp_path / f"{look}.{kind}"
        saved.value.save_as(files[kind])
    picture = ElementTree.parse(files["svg"]).getroot()
    words = [text.text for text in picture.iter("{http://www.w3.org/2000/svg}text")]
    assert ("L0" if look == "grid" else "lamp") in words
    shapes = sum(1 for _ in picture.iter("{http://www.w3.org/2000/svg}" + ("path" if look == "lines" else "rect")))
    assert shapes > 100
    assert "rgba" not in files["svg"].read_text(encoding="utf-8")
    png = files["png"].read_bytes()
    assert png[:4] == b"\x89PNG"
    size = [int.from_bytes(png[at : at + 4], "big") for at in (16, 20)]
    assert size == pytest.approx([3 * float(picture.get(side)) for side in ("width", "height")], abs=3)
    with files["csv"].open(encoding="utf-8-sig", newline="") as lines:
        table = list(csv.DictReader(lines))
    offline = page.context.new_page()
    offline.goto(files["html"].as_uri())
    assert offline.locator("figure svg text").count() == len(words)
    assert offline.locator("tr").count() == min(len(table), 1000) + 1
    if look == "neuron":
        assert [float(row["probability"]) for row in table] == pytest.approx(neuron().probs_TT[1], rel=1e-4)
    else:
        one_head = [row for row in table if (row["layer"], row["head"]) == ("1", "2")]
        assert len(one_head) == len(fact.tokens) ** 2
        assert [float(row["probability"]) for row in one_head] == pytest.approx(fact.probs_LNTT[1, 2].ravel(), abs=2e-5)
        assert {row["checkpoint"] for row in table} == {"strongest"}
        assert {row["text"] for row in table} == {"The lamp, lit"}
        names = {}
        exec(files["py"].read_text(encoding="utf-8"), names)
        assert names["state"] == state(page)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_are_legible_in_both_themes(visit, scheme):
    page = visit(html.attention_html(attention()), scheme=scheme)
    look = page.evaluate(
        """() => {
          const canvas = document.querySelector("canvas.bl-over");
          const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
          let darkest = 255, brightest = 0;
          for (let i = 0; i < data.length; i += 4) {
            if (data[i + 3] < 200 || Math.abs(data[i] - data[i + 2]) > 24) continue;
            darkest = Math.min(darkest, data[i]);
            brightest = Math.max(brightest, data[i]);
          }
          const ground = getComputedStyle(document.querySelector(".bl-view")).backgroundColor;
          return { darkest, brightest, ground: Number(ground.match(/\\d+/)[0]) };
        }"""
    )
    if scheme == "light":
        assert look["ground"] > 240
        assert look["darkest"] < 70
    else:
        assert look["ground"] < 40
        assert look["brightest"] > 200


def test_the_view_uses_and_follows_the_colours_of_its_host(visit):
    page = visit(html.attention_html(attention()))
    page.evaluate(
        """() => {
          const style = document.querySelector("#view").style;
          style.setProperty("--st-background-color", "rgb(10, 20, 60)");
          style.setProperty("--st-text-color", "rgb(255, 240, 200)");
        }"""
    )
    page.wait_for_timeout(200)
    settle(page)
    uses_new_colour = page.evaluate(
        """() => {
          const canvas = document.querySelector("canvas.bl-over");
          const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
          for (let i = 0; i < data.length; i += 4) {
            if (data[i] > 240 && data[i + 1] > 225 && data[i + 3] > 200) return true;
          }
          return false;
        }"""
    )
    assert uses_new_colour, "the canvas still uses the old text colour"


def smallest_distance(colours, sight):
    """The distance in OKLab of the two most similar colours, as seen with one kind of colour vision."""
    rgb = np.array([[int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)] for colour in colours])
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    seen = oklab(linear @ np.transpose(SIGHTS[sight]))
    return (np.linalg.norm(seen[:, None] - seen[None], axis=-1) + np.eye(len(colours))).min()


@pytest.mark.parametrize("sight", SIGHTS)
def test_the_colours_of_figures_are_told_apart_with_every_kind_of_sight(sight):
    assert smallest_distance([*figures.COLOURS, figures.GREY], sight) > 0.09


def test_heads_are_told_apart_with_every_kind_of_sight(visit):
    script = f"{assets.bundle_module('attention')}; globalThis.headColours = headColours;"
    page = visit(f"<!doctype html><script type=module>{script}</script>", ready="globalThis.headColours")
    for count, dark in itertools.product((12, 16), (False, True)):
        colours = page.evaluate("([count, dark]) => headColours(count, dark)", [count, dark])
        assert len(set(colours)) == count
        # 0.02 is just noticeable side by side; three times that is told apart at a distance
        assert min(smallest_distance(colours, sight) for sight in SIGHTS) > 0.055, (count, dark)


HOSTILE = [
    "</script><script>window.hacked=1</script>",
    "<img src=x onerror=window.hacked=1>",
    "<!--",
    "عربي",
    "👩‍👩‍👧",
    "안녕",
]


def test_tokens_are_drawn_as_text(visit):
    tokens = list(rows())
    for i, token in enumerate(HOSTILE):
        tokens[i + 1] = replace(tokens[i + 1], token=token)
    fact = replace(attention(), tokens=tuple(tokens))
    page = visit(html.attention_html(fact, title=HOSTILE[0]))
    for index, token in enumerate(HOSTILE, 1):
        page.mouse.move(*token_at(page, "query", index))
        settle(page)
        assert readout(page).startswith(token)
    page.locator("[data-view=matrix]").click()
    settle(page)
    assert page.title() == HOSTILE[0]
    assert page.evaluate("window.hacked") is None
    assert page.locator("img").count() == 0


@pytest.mark.parametrize("view", ["lines", "grid", "matrix"])
def test_on_a_phone_nothing_scrolls_sideways(visit, view):
    page = visit(html.attention_html(attention(12, 12), options={"state": {"view": view}}), width=390, height=844)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert ink(page, ".bl-stage canvas") > 500


def test_resizing_redraws(visit):
    page = visit(html.attention_html(attention()))
    wide = page.locator("canvas.bl-over").bounding_box()["width"]
    page.set_viewport_size({"width": 600, "height": 900})
    page.wait_for_timeout(100)
    settle(page)
    assert page.locator("canvas.bl-over").bounding_box()["width"] < wide
    assert ink(page) > 1000


def test_texts_in_korean(visit):
    page = visit(html.attention_html(attention(), options={"lang": "ko", "labels": {"lines": "줄"}}))
    assert page.get_by_role("button", name=text("canvas-grid", "ko")).is_visible()
    assert page.get_by_role("button", name="줄", exact=True).is_visible()


def test_invalid_bytes_show_an_error_until_valid_bytes_come(visit):
    page = visit(html.attention_html(attention()))
    page.evaluate("console.error = () => {}")
    update(page, b"not a payload at all")
    assert "cannot be read" in page.locator("[role=alert]").inner_text()
    update(page, payload.AttentionPack(attention()).bytes())
    assert ink(page) > 1000, "good bytes bring the picture back"


def test_neuron_view_opens_a_token(visit):
    fact = neuron()
    page = visit(html.neuron_html(fact))
    assert ink(page, "canvas.bl-over") > 2000
    assert "Layer 1 · Head 2 · D = 8" in page.locator(".bl-bar").inner_text()
    page.locator("canvas.bl-over").focus()
    page.keyboard.press("ArrowDown")
    until(page, "heard.length > 0")
    assert page.evaluate("heard") == [{"token": 2}]
    assert page.locator("select").input_value() == "2"
    box = page.locator("canvas.bl-over").bounding_box()
    page.mouse.move(box["x"] + box["width"] - 60, box["y"] + 64 + 25 * 3.5)
    settle(page)
    line = readout(page)
    assert line.startswith("lamp → on")
    score, probability = (float(number) for number in re.findall(r"-?\d\.\d+", line))
    assert score == pytest.approx(fact.scores_TT[2, 3], abs=6e-4)
    assert probability == pytest.approx(fact.probs_TT[2, 3], abs=6e-4)
    page.mouse.move(box["x"] + box["width"] * 0.62, box["y"] + 64 + 25 * 3.5)
    settle(page)
    dimension, q, k, product = (float(number) for number in re.findall(r"-?\d+\.?\d*", readout(page)))
    assert q == pytest.approx(fact.query_TD[2, int(dimension)], abs=6e-4)
    assert k == pytest.approx(fact.key_TD[3, int(dimension)], abs=6e-4)
    assert product == pytest.approx(q * k, abs=2e-3)
    page.set_viewport_size({"width": 390, "height": 800})
    page.wait_for_timeout(100)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_bertviz_works_from_disk_without_a_network(visit):
    tokens = list(rows())
    tokens[2] = replace(tokens[2], token=HOSTILE[0])
    fact = replace(attention(), tokens=tuple(tokens))
    page = visit(bertviz_view.head_view_html(fact, layer=1), ready="document.querySelector('svg line')")
    size = len(tokens)
    assert page.locator("svg #attention line").count() == 4 * size * size
    assert page.locator("#layer").input_value() == "1"
    weight = page.locator("svg #attention .headAttention").nth(2).locator("line").nth(3 * size + 4)
    assert float(weight.get_attribute("stroke-opacity")) == pytest.approx(fact.probs_LNTT[1, 2, 3, 4] / 4, abs=2e-4)
    page.locator("#filter").select_option(label="A -> B")
    assert page.locator("svg #attention line").count() == 4 * 9 * 7
    assert page.get_by_text(HOSTILE[0]).count() >= 1
    assert page.evaluate("window.hacked") is None


def test_bertviz_draws_all_heads_and_the_neurons_of_one(visit, tiny_checkpoint):
    session = bertlab.load(tiny_checkpoint)
    vectors = session.head_vectors("Green tea.", "A bowl.")
    layers, heads, size, dims = vectors.queries_LNTD.shape
    scores = vectors.queries_LNTD @ vectors.keys_LNTD.swapaxes(-1, -2) / dims**0.5
    assert np.exp(scores) / np.exp(scores).sum(-1, keepdims=True) == pytest.approx(vectors.probs_LNTT, abs=1e-5)
    fact = session.attention("Green tea.", "A bowl.")
    page = visit(bertviz_view.model_view_html(fact), ready="document.querySelector('svg line')")
    assert page.locator("svg line").count() >= layers * heads * size
    page = visit(bertviz_view.neuron_view_html(vectors, layer=1, head=1), ready="document.querySelector('svg line')")
    assert (page.locator("#layer").input_value(), page.locator("#att_head").input_value()) == ("1", "1")
    page.locator("#filter").select_option(label="A -> B")
    frame = bertviz_view.NotebookFrame(bertviz_view.head_view_html(fact))._repr_html_()
    assert frame.startswith('<iframe srcdoc="&lt;!doctype html&gt;')


def adapter_page(host):
    module = json.dumps(assets.bundle_for_host("attention", host))
    return (
        f"<!doctype html><style>{assets.css()}</style><div id=host></div><script type=module>"
        f"const file = new Blob([{module}], {{ type: 'text/javascript' }});"
        "globalThis.adapter = (await import(URL.createObjectURL(file))).default;</script>"
    )


def test_the_streamlit_adapter_mounts_once_and_keeps_choices(visit):
    page = visit(adapter_page("streamlit"), ready="globalThis.adapter")
    page.evaluate(
        """async (text) => {
          const data = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
          const parentElement = document.getElementById("host").attachShadow({ mode: "open" });
          const style = document.querySelector("style").cloneNode(true);
          parentElement.append(style);
          window.heard = [];
          const setStateValue = (name, value) => heard.push([name, value]);
          window.again = () => adapter({ parentElement, data: data.slice(), setStateValue });
          window.cleanup = again();
          await new Promise((done) => setTimeout(done, 300));
        }""",
        base64.b64encode(payload.AttentionPack(attention()).bytes()).decode(),
    )
    page.locator(".bl-step").nth(1).click()
    until(page, "heard.length === 1")
    assert page.evaluate("heard[0][0]") == "state"
    page.evaluate("() => { again(); }")
    page.wait_for_timeout(200)
    assert page.locator(".bl-view").count() == 1
    assert page.locator(".bl-value").inner_text().startswith("1")
    page.evaluate("() => { cleanup(); }")
    assert page.locator(".bl-view").count() == 0


def test_the_jupyter_adapter_sends_and_receives_states(visit):
    page = visit(adapter_page("jupyter"), ready="globalThis.adapter")
    page.evaluate(
        """async (text) => {
          const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
          const values = { payload: new DataView(bytes.buffer), state: { layer: 1 } };
          const listeners = {};
          window.model = {
            get: (name) => values[name],
            set: (name, value) => { values[name] = value; listeners[`change:${name}`]?.(); },
            save_changes: () => { window.saved = values.state; },
            on: (name, call) => { listeners[name] = call; }, off: (name) => { delete listeners[name]; },
          };
          window.cleanup = adapter.render({ model, el: document.getElementById("host") });
          await new Promise((done) => setTimeout(done, 300));
        }""",
        base64.b64encode(payload.AttentionPack(attention()).bytes()).decode(),
    )
    assert page.locator(".bl-value").inner_text().startswith("1")
    page.locator(".bl-step").nth(1).click()
    until(page, "window.saved?.layer === 2")
    page.evaluate("model.set('state', { layer: 0, view: 'matrix' })")
    page.wait_for_timeout(200)
    assert page.locator(".bl-value").inner_text().startswith("0")
    assert page.locator("[data-view=matrix]").get_attribute("aria-pressed") == "true"
    page.evaluate("() => { cleanup(); }")
    assert page.locator(".bl-view").count() == 0
