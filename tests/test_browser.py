"""The app in a real Chromium, used as a person would use it. The tests are skipped where there is no Chromium.

They open the shipped checkpoints, and tiny random ones where none are shipped.
"""

import csv
import os
import re
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode
from xml.etree import ElementTree

import pytest
from support.texts import text

import bertlab
from bertlab.checkpoints import history

playwright = pytest.importorskip("playwright.sync_api")
expect = playwright.expect
expect.set_options(timeout=60_000)  # pages are slow on a busy machine
pytestmark = pytest.mark.browser

ROOT = Path(__file__).parent.parent
SHIPPED = {"strongest", "squad"} <= bertlab.find_shipped_checkpoints().keys()
PAGES = ["", "pretraining", "input", "attention", "fill-mask", "next-sentence", "answer", "heads", "logit-lens"]
HOSTILE = (
    """<script>window.owned=1</script></script><img src=x onerror="window.owned=1"> **b** $x$ :material/home: [l](x)"""
)


@pytest.fixture(scope="module")
def address(request) -> Iterator[str]:
    """Start the app; yield its URL."""
    environment = dict(os.environ, OMP_NUM_THREADS="1")
    if not SHIPPED:
        environment["BERTLAB_CHECKPOINTS"] = str(request.getfixturevalue("checkpoints"))
    if not history.find_shipped_runs():
        environment["BERTLAB_RUNS"] = str(request.getfixturevalue("runs"))
    with socket.socket() as listener:
        listener.bind(("localhost", 0))
        port = listener.getsockname()[1]
    command = [sys.executable, "-m", "streamlit", "run", str(ROOT / "app" / "streamlit_app.py")]
    server = subprocess.Popen(
        [*command, "--server.port", str(port), "--server.address", "localhost", "--server.headless", "true"],
        env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        for _ in range(240):
            try:
                urllib.request.urlopen(f"http://localhost:{port}/_stcore/health", timeout=5).close()
                break
            except (urllib.error.URLError, ConnectionError):
                assert server.poll() is None, "the server stopped"
                time.sleep(0.25)
        yield f"http://localhost:{port}"
    finally:
        server.terminate()
        server.wait(120)


@pytest.fixture(scope="module")
def browser(chromium):
    context = chromium.new_context()
    context.set_default_timeout(90_000)
    return context


@pytest.fixture
def visit(browser, address):
    """A function visit(page, **parameters) that opens a page in a new tab, which is a new session.

    All tabs share the browser's cache. A request to another machine or a JavaScript error fails the test. `before` is
    called with the new tab before the page is opened.
    """
    faults = []

    def visit(page, *, width=1280, height=900, theme="light", link="", before=None, **parameters):
        tab = browser.new_page()
        tab.set_viewport_size({"width": width, "height": height})
        tab.emulate_media(color_scheme=theme)
        local = (address, address.replace("http", "ws"), "data:", "blob:", "about:")
        tab.on("request", lambda request: request.url.startswith(local) or faults.append(request.url))
        tab.on("websocket", lambda socket: socket.url.startswith(local) or faults.append(socket.url))
        tab.on("pageerror", lambda error: faults.append(str(error)))
        if before:
            before(tab)
        tab.goto(link or f"{address}/{page}?{urlencode(parameters)}")
        tab.wait_for_selector("h1")
        tab.wait_for_selector('[data-test-script-state="notRunning"]')
        return tab

    yield visit
    for tab in browser.pages:
        tab.close()
    assert not faults


def navigate(tab, page, **parameters):
    """Open another page in the same tab, as a link inside the app does, without loading the app again."""
    tab.evaluate(
        "address => { history.pushState({}, '', address); dispatchEvent(new PopStateEvent('popstate')); }",
        f"/{page}?{urlencode(parameters)}",
    )
    link = tab.locator(f'[data-testid="stSidebarNavLink"][aria-current=page][href$="/{page}"]')
    link.wait_for(state="attached")
    tab.wait_for_selector('[data-test-script-state="notRunning"]')


def until(tab, condition: str, *arguments, seconds: float = 20):
    """Wait until a JavaScript function returns true."""
    tab.wait_for_function(condition, arg=list(arguments), timeout=seconds * 1000)


PAINTED = """() => {
  const all = [];
  const walk = (node) => { for (const child of node.querySelectorAll("*")) {
    if (child.tagName === "CANVAS") all.push(child);
    if (child.shadowRoot) walk(child.shadowRoot);
  } };
  walk(document.body);
  return all.some((canvas) => canvas.width && canvas.height
    && canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data.some((value) => value));
}"""


def test_a_copied_link_restores_the_layer_and_the_heads(visit):
    tab = visit("attention", layer="0")
    until(tab, PAINTED)
    box = tab.locator(".bl-attention canvas").last.bounding_box()
    readout = tab.locator(".bl-readout")
    hint = readout.inner_text()
    for part in range(20, 50, 2):  # one of these points is on a token of the first column
        tab.mouse.move(box["x"] + part / 100 * box["width"], box["y"] + 60)
        tab.wait_for_timeout(30)
        if readout.inner_text() != hint:
            break
    assert re.search(r"\d", readout.inner_text()), "hovering over a token shows what it attends to"
    tab.locator(".bl-step").last.click()
    tab.locator(".bl-head").first.dblclick()
    tab.wait_for_url(lambda url: "layer=1" in url and "heads=" in url)
    again = visit("", link=tab.url)
    until(again, PAINTED)
    assert again.locator(".bl-value").first.inner_text().startswith("1")
    pressed = [head.get_attribute("aria-pressed") for head in again.locator(".bl-head").all()]
    assert pressed[0] == "true"
    assert "true" not in pressed[1:]


def test_a_new_text_keeps_the_chosen_layer(visit):
    tab = visit("attention", a="Green tea.", b="")
    until(tab, PAINTED)
    tab.locator(".bl-step").last.click()
    tab.wait_for_url("**layer=1**")
    tab.get_by_label("Sentence A").fill("Some bread and a cup.")
    tab.wait_for_url("**bread**")
    tab.wait_for_timeout(1000)
    assert tab.locator(".bl-value").first.inner_text().startswith("1")
    assert "layer=1" in tab.url


def test_the_heat_map_survives_a_change_of_view_and_is_in_the_download(visit, tmp_path):
    tab = visit("attention", a="Green tea.", b="")
    until(tab, PAINTED)
    tab.get_by_text("Heat map").click()
    tab.locator(".bl-step").last.click()
    tab.wait_for_url(lambda url: "view=matrix" in url and "layer=1" in url)
    tab.get_by_text(text("view-neuron")).click()
    tab.locator(".bl-neuron").wait_for()
    tab.get_by_role("radio", name="Heads").click()
    tab.locator(".bl-attention").wait_for()
    until(tab, PAINTED)
    assert "view=matrix" in tab.url
    with tab.expect_download() as saved:
        tab.get_by_text(text("download-html")).click()
    saved.value.save_as(tmp_path / "attention.html")
    tab.wait_for_timeout(500)
    page = tab.context.new_page()
    page.goto((tmp_path / "attention.html").as_uri())
    until(page, PAINTED)
    assert "Green tea." in page.title()
    for view in (tab, page):
        assert view.locator(".bl-value").first.inner_text().startswith("1")
        assert view.get_by_role("button", name="Heat map").get_attribute("aria-pressed") == "true"


@pytest.mark.parametrize("look", ["neuron", "bertviz"])
def test_the_other_views_of_attention(visit, look):
    tab = visit("attention", look=look)
    if look == "neuron":
        until(tab, PAINTED)
    else:
        frame = tab.frame_locator("iframe")
        frame.locator("#vis svg").first.wait_for()
        assert frame.locator("#vis svg line").count() > 20


def test_mask_a_word_by_clicking_it(visit):
    tab = visit("fill-mask", text="The keeper carried the lantern.", mask="")
    words = tab.locator(".words button")
    words.nth(1).click()
    tab.locator(".js-plotly-plot .bars").first.wait_for()
    assert words.nth(1).inner_text() == "[MASK]"
    assert words.nth(1).get_attribute("aria-pressed") == "true"
    assert tab.get_by_text(text("fill-mask-masked-word", word="keeper")).is_visible()
    words.nth(4).focus()
    tab.keyboard.press("Enter")
    tab.get_by_text(text("fill-mask-masked-word", word="lantern")).wait_for()
    tab.wait_for_url("**mask=1.4**")
    again = visit("", link=tab.url)
    again.get_by_text(text("fill-mask-masked-word", word="lantern")).wait_for()
    assert again.locator(".words button").nth(1).inner_text() == "[MASK]"
    words.nth(1).click()
    tab.get_by_text(text("fill-mask-masked-word", word="keeper")).wait_for(state="detached")
    tab.get_by_role("button", name=text("fill-mask-reset")).click()
    tab.get_by_text(text("fill-mask-no-mask")).wait_for()


def test_predict_whether_one_sentence_follows_another(visit):
    tab = visit("next-sentence")
    prediction = tab.locator(".say").first
    prediction.wait_for()
    before = prediction.inner_text()
    chart = tab.locator(".st-key-gauge .js-plotly-plot").element_handle()
    drawn = chart.evaluate("chart => JSON.stringify(chart.data)")
    tab.get_by_label("Sentence B").fill("Parliament will vote on the new tax law next Tuesday.")
    until(tab, "([before]) => document.querySelector('.say').innerText !== before", before)
    until(tab, "([chart, drawn]) => JSON.stringify(chart.data) !== drawn", chart, drawn)
    assert chart.evaluate("chart => chart.isConnected"), "the chart is redrawn in place"
    if SHIPPED:
        assert text("next-sentence-no-next") in tab.locator(".say b").inner_text()
    tab.get_by_role("button", name=text("next-sentence-swap")).click()
    tab.wait_for_url(lambda url: "first=Parliament" in url and "second=The" in url)
    again = visit("", link=tab.url)
    expect(again.get_by_label("Sentence A")).to_have_value(re.compile("^Parliament"))


def test_ask_a_question(visit):
    tab = visit("answer")
    tab.locator("mark").first.wait_for()
    tab.get_by_label("Question").fill("What did the lamp burn first?")
    tab.wait_for_url("**question=What**")
    tab.wait_for_timeout(1500)
    marked = tab.locator("mark").all_inner_texts()
    passage = tab.get_by_label("Passage").input_value()
    assert "".join(marked) in passage
    if SHIPPED:
        assert "whale oil" in "".join(marked)
    tab.locator(".js-plotly-plot .scatterlayer").wait_for()
    again = visit("", link=tab.url)
    again.locator("mark").first.wait_for()
    assert again.locator("mark").all_inner_texts() == marked


@pytest.mark.parametrize("page", ["answer", "input"])
def test_a_figure_is_downloaded_in_five_formats(visit, tmp_path, page):
    tab = visit(page, theme="dark")
    tab.locator(".js-plotly-plot .main-svg").first.wait_for()
    files = {}
    for kind in ("svg", "png", "csv", "py", "html"):
        tab.locator(".bl-save").first.click()
        with tab.expect_download() as saved:
            tab.locator(f"[data-save={kind}]").first.click()
        files[kind] = tmp_path / saved.value.suggested_filename
        saved.value.save_as(files[kind])
    picture = ElementTree.parse(files["svg"]).getroot()
    assert picture.tag.endswith("}svg")
    labels = " ".join(picture.itertext())
    assert ("probability" if page == "answer" else text("figure-segment")) in labels
    assert files["png"].read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    with files["csv"].open(encoding="utf-8-sig", newline="") as lines:
        rows = list(csv.DictReader(lines))
    subject = {"checkpoint", "text", "text_2"}
    values = {"word", "start", "end"} if page == "answer" else {"trace", "x", "y", "value", "label"}
    assert rows[0].keys() == values | subject
    assert rows[0]["checkpoint"] == ("squad" if page == "answer" else "strongest")
    compile(files["py"].read_text(encoding="utf-8"), "figure.py", "exec")
    assert files["html"].stat().st_size < 1_000_000
    offline = tab.context.new_page()
    offline.goto(files["html"].as_uri())
    assert f"checkpoint: {rows[0]['checkpoint']}" in offline.locator("body").inner_text()
    assert offline.locator("figure svg text").count() > 4
    assert offline.locator("tr").count() == min(len(rows), 1000) + 1


def test_the_time_machine_is_downloaded_in_five_formats(visit, tmp_path):
    tab = visit("time-machine")
    until(tab, PAINTED)
    files = {}
    save = tab.locator(".bl-view .bl-save").first
    for kind in ("svg", "png", "csv", "py", "html"):
        save.focus()
        tab.keyboard.press("Enter")
        expect(tab.locator(".bl-view [data-save]").first).to_be_focused()
        item = tab.locator(f".bl-view [data-save={kind}]").first
        item.focus()
        with tab.expect_download() as saved:
            tab.keyboard.press("Enter")
        files[kind] = tmp_path / saved.value.suggested_filename
        saved.value.save_as(files[kind])
    assert "[CLS]" in " ".join(ElementTree.parse(files["svg"]).getroot().itertext())
    assert files["png"].read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    with files["csv"].open(encoding="utf-8-sig", newline="") as lines:
        rows = list(csv.DictReader(lines))
    assert list(rows[0])[:2] == ["step", "tokens"]
    assert len(rows) > 2
    compile(files["py"].read_text(encoding="utf-8"), "machine.py", "exec")
    offline = tab.context.new_page()
    offline.goto(files["html"].as_uri())
    assert offline.locator("figure svg text").count() > 4
    assert offline.locator("tr").count() == len(rows) + 1


def has_focus_ring(tab) -> bool:
    """Whether the focused element has a visible focus ring: an outline or a shadow on it or on a close ancestor."""
    return tab.evaluate(
        """() => {
          let node = document.activeElement;
          while (node?.shadowRoot?.activeElement) node = node.shadowRoot.activeElement;
          for (let at = node, up = 0; at instanceof Element && up < 4; at = at.parentElement, up++) {
            const style = getComputedStyle(at);
            if (style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0) return true;
            if (style.boxShadow !== "none") return true;
          }
          return false;
        }"""
    )


def walk_to(tab, target, key: str = "Tab", most: int = 90) -> None:
    """Press a key until `target` has the focus; it must show a focus ring."""
    for _ in range(most):
        tab.keyboard.press(key)
        if target.evaluate("(node) => node.getRootNode().activeElement === node"):
            assert has_focus_ring(tab)
            return
    raise AssertionError(f"{target} does not have the focus after pressing {key} {most} times")


def test_attention_by_keyboard_alone(visit):
    tab = visit("attention", view="lines")
    until(tab, PAINTED)
    readout = tab.locator(".bl-readout")
    walk_to(tab, tab.locator("[data-view=grid]"))
    tab.keyboard.press("Enter")
    walk_to(tab, tab.locator("canvas.bl-over").first)
    tab.keyboard.press("ArrowRight")
    tab.keyboard.press("Space")  # shows the second head as lines
    tab.wait_for_url(lambda url: "heads=%5B1%5D" in url and "view=lines" in url)
    walk_to(tab, tab.locator(".bl-head").first, "Shift+Tab")
    tab.keyboard.press("s")
    tab.wait_for_url(lambda url: "heads=%5B0%5D" in url)
    walk_to(tab, tab.get_by_label("Find a token"))
    tab.keyboard.type("the")
    tab.keyboard.press("Enter")
    expect(tab.locator(".bl-count")).to_contain_text("1 /")
    walk_to(tab, tab.locator("canvas.bl-over").first)
    tab.keyboard.press("Home")
    tab.keyboard.press("ArrowDown")
    tab.keyboard.press("Enter")
    tab.keyboard.press("ArrowRight")
    tab.keyboard.press("+")
    tab.wait_for_url(lambda url: "tokens=%5B1%5D" in url and "layer=1" in url and "zoom=150" in url)
    assert re.search(r"\d", readout.inner_text())


def test_heads_by_keyboard_alone(visit):
    tab = visit("heads", masked="The keeper carried the [MASK].", checkpoint="scratch")
    tab.locator(".heads .scale").wait_for()
    walk_to(tab, tab.locator('.heads button[data-layer="0"][data-head="0"]'))
    tab.keyboard.press("ArrowRight")
    tab.keyboard.press("Space")
    tab.wait_for_url("**changes=0.1")
    tab.keyboard.press("ArrowDown")
    tab.keyboard.press("S")
    tab.wait_for_url("**changes=0.1%2C1.1s")
    walk_to(tab, tab.get_by_role("button", name=text("heads-undo")))
    tab.keyboard.press("Enter")
    tab.wait_for_url("**changes=0.1")


def test_the_tools_of_head_surgery_by_keyboard_alone(visit):
    tab = visit("heads", masked="The keeper carried the [MASK].", checkpoint="scratch")
    tab.locator(".heads .scale").wait_for()
    tools = tab.locator(".st-key-tool [role=radio]")
    walk_to(tab, tools.first)
    tab.keyboard.press("ArrowRight")
    tab.keyboard.press("Enter")
    walk_to(tab, tab.locator(".st-key-put-row button"))
    tab.keyboard.press("Enter")
    tab.wait_for_url("**changes=r**")
    walk_to(tab, tools.nth(1), "Shift+Tab")
    tab.keyboard.press("ArrowRight")
    tab.keyboard.press("Enter")
    walk_to(tab, tab.locator(".st-key-put-patch button"))
    tab.keyboard.press("Enter")
    tab.wait_for_url("**changes=r**p**")


def test_a_field_whose_script_loads_late_still_shows_its_text(visit):
    held = []
    tab = visit("evaluation", before=lambda tab: tab.route("**/TextArea*.js", lambda route: held.append(route)), **{
        "from": "paste", "pasted": "sentence,label\nA small wonder.,positive\nA long evening.,negative",
    })  # fmt: skip
    tab.get_by_role("button", name=text("evaluation-run", count=2)).click()
    tab.locator(".js-plotly-plot .main-svg").first.wait_for()
    for route in held:
        route.continue_()
    expect(tab.locator(".st-key-pasted textarea")).to_have_value(re.compile("A small wonder"))


def test_a_typed_text_survives_a_change_of_page(visit):
    tab = visit("input", a="Green tea.", checkpoint="scratch", lang="ko")
    tab.get_by_role("link", name=text("attention", "ko")).first.click()
    until(tab, PAINTED)
    expect(tab.get_by_label("문장 A")).to_have_value("Green tea.")
    for parameter in ("a=Green", "checkpoint=scratch", "lang=ko"):
        tab.wait_for_url(f"**{parameter}**")


def test_hostile_text_is_drawn_as_text(visit):
    parameters = dict.fromkeys(["a", "text", "first", "question"], HOSTILE[:60])
    tab = visit(PAGES[1], **parameters, checkpoint=HOSTILE)
    for page in PAGES[1:]:
        if page != PAGES[1]:
            navigate(tab, page, **parameters, checkpoint=HOSTILE)
        fields = tab.locator(".stMain").locator("input[type=text], textarea")
        fields.first.wait_for()
        for field in fields.all():
            field.fill(HOSTILE)
            field.press("Control+Enter")
        tab.wait_for_timeout(500)  # the app waits for the end of typing before it runs the page
        tab.wait_for_selector('[data-test-script-state="notRunning"]')
        tab.wait_for_timeout(200)
        assert tab.evaluate("window.owned") is None, page
        assert tab.locator("img[src=x]").count() == 0, page


IS_DARK = """([dark]) => {
  const ground = getComputedStyle(document.querySelector(".stApp")).backgroundColor.match(/\\d+/g).slice(0, 3);
  return ground.reduce((sum, part) => sum + Number(part), 0) < 384 === dark;
}"""


def test_every_page_fits_a_phone_in_the_light_and_the_dark_theme(visit):
    tab = visit("", width=390)
    for page in PAGES:
        if page:  # click its link, which is in the closed menu on a phone
            title = tab.locator("h1").inner_text()
            tab.locator(f'[data-testid="stSidebarNavLink"][href$="/{page}"]').dispatch_event("click")
            until(tab, "([title]) => ![title, undefined].includes(document.querySelector('h1')?.innerText)", title)
            tab.wait_for_selector('[data-test-script-state="notRunning"]')
        for theme in ("dark", "light"):
            tab.emulate_media(color_scheme=theme)
            until(tab, IS_DARK, theme == "dark")
            inner, outer = tab.evaluate("[document.querySelector('.stMain').scrollWidth, innerWidth]")
            assert inner <= outer, f"{page or 'start'} is {inner} px wide on a screen of {outer} px, theme {theme}"


def test_the_logit_lens_opens_scrolled_to_the_followed_word(visit):
    tab = visit("logit-lens", width=390, lang="en")
    tab.wait_for_selector(".st-key-lens .js-plotly-plot")
    tab.wait_for_function("document.querySelector('.st-key-lens').scrollLeft > 0")


# makes Chromium behave like a browser without `scroll-initial-target`
WITHOUT_INITIAL_TARGET = """document.addEventListener("DOMContentLoaded", () => {
  const style = document.createElement("style");
  style.textContent = ".passage .bl-best { scroll-initial-target: none !important; }";
  document.head.append(style);
});"""
BEST_ANSWER_IN_VIEW = """([area]) => {
  const box = document.querySelector(`${area} .passage`), mark = box?.querySelector(".bl-best");
  if (!mark || box.scrollHeight <= box.clientHeight) return false;
  const [outer, inner] = [box.getBoundingClientRect(), mark.getBoundingClientRect()];
  return inner.top >= outer.top && inner.bottom <= outer.bottom;
}"""


@pytest.mark.skipif(not SHIPPED, reason="needs a checkpoint that finds the answer")
@pytest.mark.parametrize(("page", "area"), [("answer", ".st-key-answers"), ("xray", ".st-key-spans")])
def test_the_best_answer_of_a_long_passage_is_in_view(visit, page, area):
    filler = "The old mill beside the river still grinds grain for the village every morning. "
    passage = (
        f"The lighthouse was built in 1871. {filler * 30}The keeper of the lighthouse is called Anna Berg. {filler * 5}"
    )
    tab = visit(
        page, question="Who keeps the lighthouse?", passage=passage, lang="en", checkpoint="squad",
        before=lambda tab: tab.add_init_script(WITHOUT_INITIAL_TARGET),
    )  # fmt: skip
    best = tab.locator(f"{area} .passage .bl-best").first
    expect(best).to_contain_text("Anna Berg")
    until(tab, BEST_ANSWER_IN_VIEW, area)
    scroll = f"document.querySelector('{area} .passage').scrollTop"
    assert tab.evaluate(scroll) > 0
    tab.get_by_label(text("answer-question")).fill("When was the lighthouse built?")
    expect(best).to_contain_text("1871")
    until(tab, BEST_ANSWER_IN_VIEW, area)
    tab.get_by_label(text("answer-question")).fill("Who keeps the lighthouse?")
    expect(best).to_contain_text("Anna Berg")
    until(tab, BEST_ANSWER_IN_VIEW, area)


def test_the_whole_menu_and_the_controls_below_it_are_in_sight(visit):
    tab = visit("", width=1366, height=768, lang="en")
    foot, last = tab.get_by_test_id("stSidebarUserContent"), tab.get_by_test_id("stSidebarNavLink").last
    # looked up anew each time, because the app may draw the menu and the controls again
    above = """() => {
      const links = document.querySelectorAll("[data-testid=stSidebarNavLink]");
      const foot = document.querySelector("[data-testid=stSidebarUserContent]");
      const below = links.length && links[links.length - 1].getBoundingClientRect().bottom;
      return below && below <= foot.getBoundingClientRect().top + 3;
    }"""
    last.wait_for()
    foot.get_by_role("combobox").wait_for()
    until(tab, above)
    tab.set_viewport_size({"width": 1280, "height": 620})
    page_link = tab.locator("[data-testid=stSidebarNavLink][aria-current=page]")
    controls = (foot.get_by_text("한국어"), foot.get_by_role("button", name="Undo"), foot.get_by_role("combobox"))
    for page in ("", "evaluation"):
        if page:
            navigate(tab, page)
        for element in (*controls, page_link):
            element.wait_for()
            box = element.bounding_box()
            assert box["y"] >= 0, element
            assert box["y"] + box["height"] <= 620, element
        link_box = page_link.bounding_box()
        assert link_box["y"] + link_box["height"] <= foot.bounding_box()["y"], "the controls cover the link"
    tab.set_viewport_size({"width": 1366, "height": 768})
    foot.get_by_text("한국어").click()
    tab.get_by_role("link", name=text("attention", "ko")).first.wait_for()
    until(tab, above)


def test_the_back_button_restores_earlier_texts_and_steps_of_the_tour(visit):
    tab = visit("fill-mask", text="Green tea.")
    field = tab.get_by_label("Text", exact=True)
    field.fill("Green bread.")
    tab.wait_for_url("**bread**")
    tab.locator(".words button").first.click()
    tab.wait_for_url("**mask=0**")
    tab.get_by_role("link", name=text("next-sentence")).first.click()
    tab.get_by_label("Sentence B").wait_for()
    for first_word, whole_text in (("[MASK]", "Green bread."), ("Green", "Green bread."), ("Green", "Green tea.")):
        tab.go_back()
        until(tab, "([text]) => document.querySelector('input[aria-label=Text]')?.value === text", whole_text)
        tab.locator(".words button").first.get_by_text(first_word, exact=True).wait_for()
    tab.goto(tab.url.split("fill-mask")[0])
    tab.locator(".st-key-start-tour button").press("Enter")
    tab.wait_for_url("**/input?**lesson=tour.1")
    tab.locator(".st-key-lesson-next button").press("Enter")
    tab.wait_for_url("**/attention?**lesson=tour.2")
    panel = tab.locator(".st-key-class-panel").bounding_box()
    picture = tab.locator(".st-key-picture").bounding_box()
    assert picture["x"] + picture["width"] <= panel["x"], "the tour does not cover what it explains"
    tab.go_back()
    tab.wait_for_url("**/input?**lesson=tour.1")
    tab.go_back()
    tab.locator(".st-key-start-tour button").wait_for()
    tab.locator(".st-key-class-panel").wait_for(state="detached")


def test_ablate_heads_by_clicking_and_undo(visit):
    tab = visit("heads", masked="The keeper carried the [MASK].", checkpoint="scratch")
    tab.locator(".heads .scale").wait_for()  # shown once every head has been measured

    def cell(layer: int, head: int):
        return tab.locator(f'.heads button[data-layer="{layer}"][data-head="{head}"]')

    cell(1, 1).click()
    tab.wait_for_url("**changes=1.1")
    expect(cell(1, 1)).to_have_attribute("aria-pressed", "true")
    cell(0, 0).dblclick()
    tab.wait_for_url("**changes=1.1%2C0.0s")
    expect(cell(0, 0)).to_have_attribute("aria-pressed", "false")
    expect(cell(0, 1)).to_have_attribute("aria-pressed", "true")
    tab.get_by_role("button", name=text("heads-undo")).click()
    tab.wait_for_url("**changes=1.1")
    expect(cell(0, 1)).to_have_attribute("aria-pressed", "false")
    cell(0, 0).focus()
    tab.keyboard.press("ArrowRight")
    tab.keyboard.press("Enter")
    tab.wait_for_url("**changes=1.1%2C0.1")
    expect(tab.locator(".heads .tip")).to_contain_text("Layer 0, head 1")
    again = visit("", link=tab.url)
    expect(again.locator('.heads button[data-layer="0"][data-head="1"]')).to_have_attribute("aria-pressed", "true")


def test_the_tab_key_skips_the_closed_menu_of_a_phone(visit):
    tab = visit("wordpiece", width=390, height=844)
    until(tab, "() => getComputedStyle(document.querySelector('.stSidebar')).visibility === 'hidden'")
    in_menu, stops = "() => !!document.activeElement.closest('.stSidebar')", []
    for _ in range(12):
        tab.keyboard.press("Tab")
        assert not tab.evaluate(in_menu), tab.evaluate("document.activeElement.outerHTML")
        stops.append(tab.evaluate("document.activeElement.getAttribute('aria-label')"))
    assert text("wordpiece-text") in stops
    tab.get_by_role("button", name="Expand sidebar").click()
    until(tab, "() => document.querySelector('.stSidebar').dataset.collapsed === 'false'")
    tab.get_by_role("link", name=text("paper")).first.focus()
    assert tab.evaluate(in_menu)


def test_the_qr_code_opens_and_closes_with_the_keyboard(visit):
    tab = visit("cost")
    tab.locator(".st-key-qr-code button").focus()
    tab.keyboard.press("Enter")
    code = tab.locator("img.qr-code")
    expect(code).to_be_visible()
    assert code.evaluate("(image) => image.decode().then(() => image.naturalWidth)") > 100
    tab.keyboard.press("Escape")
    expect(code).to_have_count(0)
