"""`bertlab bench app`: measure the response times of the running app in a browser."""

import asyncio
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated, Literal
from urllib.parse import urlencode

import tyro
from bertlab_app.registry import menu
from playwright.sync_api import Browser, Page
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.asyncio.client import connect

from benchmarks.app_pages import LAYOUT_SHIFT_CHANGES, TIMED_CHANGES, TIMEOUT_SECONDS, WORDS, TextChange
from benchmarks.app_process import run_app
from benchmarks.browser import open_browser
from benchmarks.harness import BenchOptions, describe_load, report
from benchmarks.results import Result
from bertlab.config.errors import BertlabError
from bertlab.views import payload

PARTS = ("visit", "change", "attention", "shift")
SECONDS_BEFORE_VISITS = 5  # the pause between the warm-up visit and the timed visits

# This script runs first in every page. It records when a text was last changed, and which texts the canvases drew.
RECORD_EVENTS = """
window.bench = { changedAt: 0, drawnTexts: new Set() };
const recordChange = () => { bench.changedAt = performance.now(); };
document.addEventListener("input", recordChange, true);
document.addEventListener("keydown", (event) => { if (event.key === "Enter") recordChange(); }, true);
const fillText = CanvasRenderingContext2D.prototype.fillText;
CanvasRenderingContext2D.prototype.fillText = function (text, ...position) {
  bench.drawnTexts.add(text);
  return fillText.call(this, text, ...position);
};
"""
# From the moment it runs, this script adds up all layout shifts in `bench.layoutShift`.
OBSERVE_LAYOUT_SHIFTS = """() => {
  bench.layoutShift = 0;
  const add = (list) => list.getEntries().forEach((entry) => { bench.layoutShift += entry.value; });
  new PerformanceObserver(add).observe({ type: "layout-shift" });
}"""
# This function sets `bench.responseTime` to a promise of a time in milliseconds: from the next text change to the first
# frame in which the element of `selector` has changed or, without a selector, a canvas has drawn `word`.
WATCH_RESULT = """([selector, word, timeout]) => {
  const result = () =>
    selector ? document.querySelector(selector)?.innerHTML : bench.drawnTexts.has(word) && word;
  const before = selector && result();
  const start = performance.now();
  bench.changedAt = 0;
  bench.drawnTexts.clear();
  bench.responseTime = new Promise((resolve, reject) => {
    const check = () => {
      const now = result();
      if (bench.changedAt && now && now !== before) setTimeout(() => resolve(performance.now() - bench.changedAt));
      else if (performance.now() - start > timeout) reject(new Error(`${word}: no answer`));
      else requestAnimationFrame(check);
    };
    check();
  });
}"""
# This function waits until a canvas has drawn the word, and returns the milliseconds since navigation.
WAIT_FOR_WORD = """async (word) => {
  while (!bench.drawnTexts.has(word)) await new Promise(requestAnimationFrame);
  await new Promise((resolve) => setTimeout(resolve));
  return performance.now();
}"""


@dataclass(frozen=True)
class AppBenchConfig(BenchOptions):
    """Measure the response times of the app, in milliseconds.

    The part `visit` opens every page once, without a browser, and measures the time until its script has run, which
    includes loading the checkpoint of the page. Everything else uses a headless Chromium.

    The part `change` types a new text on each page, presses Enter, and measures the time until the new result is drawn.
    The part `attention` measures the first paint of the attention view of a long input. The part `shift` measures the
    browser's cumulative layout shift after a text change.

    Examples:
      bertlab bench app
      bertlab bench app --parts change shift --changes 6
    """

    parts: Annotated[tuple[Literal[PARTS], ...], tyro.conf.arg(metavar=f"{{{','.join(PARTS)}}} ...")] = PARTS
    """The parts to measure."""
    changes: int = 10
    """Number of text changes on each page."""


async def time_visit(address: str, page: str) -> float:
    """Open a page in a new session of Streamlit, and return the milliseconds until its script has run."""
    url = f"ws://{address}/_stcore/stream"
    message = BackMsg()
    message.rerun_script.page_name = page
    async with connect(url, subprotocols=["streamlit"], max_size=None) as connection, asyncio.timeout(TIMEOUT_SECONDS):
        start = time.perf_counter()
        await connection.send(message.SerializeToString())
        async for data in connection:
            reply, error = ForwardMsg.FromString(data), ""
            if reply.WhichOneof("type") == "delta":
                element = reply.delta.new_element
                error = element.exception.type or (element.html.body if 'role="alert"' in element.html.body else "")
            elif reply.WhichOneof("type") == "script_finished":
                if reply.script_finished == ForwardMsg.FINISHED_SUCCESSFULLY:
                    return (time.perf_counter() - start) * 1000
                # a page may show a first result, compute more and then run again
                if reply.script_finished != ForwardMsg.FINISHED_EARLY_FOR_RERUN:
                    error = ForwardMsg.ScriptFinishedStatus.Name(reply.script_finished)
            if error:
                raise BertlabError("bench-app-page-failed", page=page, error=error)
    raise BertlabError("bench-app-page-failed", page=page, error="closed")


def time_first_visits(address: str) -> dict[str, float]:
    """Visit every page once and return {page: milliseconds}.

    The time of a page includes the loading of its checkpoint, if no earlier page needed this checkpoint. It does not
    include the import of the app's modules: the server imports them in the seconds after a warm-up visit.
    """
    asyncio.run(time_visit(address, "paper"))
    time.sleep(SECONDS_BEFORE_VISITS)
    pages = [page.name for section in menu().values() for page in section]
    return {page: round(asyncio.run(time_visit(address, "" if page == "start" else page)), 1) for page in pages}


def open_page(
    browser: Browser, address: str, change: TextChange, on_message: Callable = lambda _: None, *, width: int = 1280,
    **parameters: str,
) -> Page:  # fmt: skip
    """Open the page of a text change in a new browser context, with a script that records what is drawn."""
    page = browser.new_context(viewport={"width": width, "height": 900}).new_page()
    page.set_default_timeout(TIMEOUT_SECONDS * 1000)
    page.add_init_script(RECORD_EVENTS)
    page.on("websocket", lambda connection: connection.on("framereceived", on_message))
    page.goto(f"http://{address}/{change.page}?{urlencode(change.parameters | parameters)}")
    return page


def wait_until_idle(page: Page) -> None:
    """Wait until the script of a page has ended, and then for another 0.7 seconds, in which the result is drawn."""
    page.wait_for_selector("h1")
    page.wait_for_selector('[data-test-script-state="notRunning"]')
    page.wait_for_timeout(700)


def enter_text(page: Page, change: TextChange, word: str) -> None:
    """Enter the text of a change, and press Enter."""
    field = page.locator(f".st-key-{change.field_key} {'textarea' if change.is_multiline else 'input'}")
    # if the text contains {number}, the number is different for each word, and at least 2
    field.fill(change.text.format(word=word, number=2 + WORDS.index(word)))
    field.press("Control+Enter" if change.is_multiline else "Enter")


def time_change(page: Page, change: TextChange, word: str) -> float:
    """Enter a new text and return the milliseconds until its result is drawn."""
    page.evaluate(WATCH_RESULT, [change.result_selector, word, TIMEOUT_SECONDS * 1000])
    enter_text(page, change, word)
    response_ms = page.evaluate("bench.responseTime")
    page.wait_for_timeout(700)
    return response_ms


def measure_changes(browser: Browser, address: str, change: TextChange, count: int) -> float:
    """Return the median response time of one page to a new text."""
    page = open_page(browser, address, change)
    wait_until_idle(page)
    times = [time_change(page, change, word) for word in WORDS[: count + 1]]
    page.context.close()
    return round(statistics.median(times[1:]), 1)  # the first is a warm-up


def measure_attention_view(browser: Browser, address: str) -> dict:
    """Return the number of tokens, and the median time from navigation to the first paint of the attention view."""
    change = TIMED_CHANGES["attention_long"]
    messages: list[bytes] = []  # from the server
    paint_ms = []
    for word in WORDS[-3:]:
        # a lambda, because playwright sets an attribute of the function, which `messages.append` cannot have
        page = open_page(browser, address, change, lambda data: messages.append(data), a=change.text.format(word=word))
        paint_ms.append(page.evaluate(WAIT_FOR_WORD, word))
        wait_until_idle(page)
        page.context.close()
    elements = [ForwardMsg.FromString(message).delta.new_element for message in messages]
    header, _ = payload.unpack(next(data for element in elements if (data := element.bidi_component.bytes)))
    return {"tokens": len(header["tokens"]), "navigation_to_paint_ms": round(statistics.median(paint_ms), 1)}


def measure_layout_shifts(browser: Browser, address: str) -> dict:
    """Return {"PAGE_WIDTH": layout shift after a text change} for two widths of the window."""
    shifts = {}
    for width in (1280, 390):
        for change in LAYOUT_SHIFT_CHANGES:
            page = open_page(browser, address, change, width=width)
            page.locator(f".st-key-{change.field_key}").wait_for()
            wait_until_idle(page)
            page.wait_for_timeout(5000)  # figures are drawn after the script has ended
            page.evaluate(OBSERVE_LAYOUT_SHIFTS)
            enter_text(page, change, WORDS[0])
            page.wait_for_timeout(2000)
            wait_until_idle(page)
            page.wait_for_timeout(3000)
            shifts[f"{change.page}_{width}"] = round(page.evaluate("bench.layoutShift"), 3)
            page.context.close()
    return shifts


def measure(config: AppBenchConfig) -> dict:
    """Start the app, measure the selected parts, and return the measurements by part."""
    measurements: dict = {"hardware": describe_load()}
    with run_app() as address:
        if "visit" in config.parts:  # first, because the other parts fill the caches of the app
            measurements["visit"] = time_first_visits(address)
        with open_browser() as browser:
            measurements["chromium"] = browser.version
            for change in TIMED_CHANGES.values():  # open each page once, so that its checkpoint is loaded
                page = open_page(browser, address, change)
                wait_until_idle(page)
                page.context.close()
            if "change" in config.parts:
                measurements["change"] = {
                    name: measure_changes(browser, address, change, config.changes)
                    for name, change in TIMED_CHANGES.items()
                }
            if "attention" in config.parts:
                measurements["attention"] = measure_attention_view(browser, address)
            if "shift" in config.parts:
                measurements["shift"] = measure_layout_shifts(browser, address)
    return measurements


def run(config: AppBenchConfig) -> None:
    """Measure the app, print the measurements, and record the results if `--record` is given."""
    measurements = measure(config)
    results = []
    if visits := measurements.get("visit"):
        claim = "App: first visit of a page, from the request to the end of its script, slowest page"
        spread = (min(visits.values()), max(visits.values()))
        results.append(Result(claim, spread[1], "ms", spread, n=len(visits), target=1000))
    if change_times := measurements.get("change"):
        medians = list(change_times.values())
        claim = "App: from Enter to the new answer, slowest page, median"
        results.append(Result(claim, max(medians), "ms", (min(medians), max(medians)), n=len(medians), target=300))
    if view := measurements.get("attention"):
        claim = f"App: attention of {view['tokens']} tokens, from navigation to first paint"
        results.append(Result(claim, view["navigation_to_paint_ms"], "ms", n=3, target=1000))
    if shift := measurements.get("shift"):
        claim = "App: cumulative layout shift after a text change, worst page"
        results.append(Result(claim, max(shift.values()), n=len(shift), target=0.1))
    report(measurements, [replace(result, hardware=measurements["hardware"]) for result in results], config)
