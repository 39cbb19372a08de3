"""`bertlab bench app`: measure the response times of the running app in a browser."""

import os
import statistics
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Annotated, Literal
from urllib.parse import urlencode

import tyro
from playwright.sync_api import Browser, Page, sync_playwright
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from benchmarks.app_pages import LAYOUT_SHIFT_CHANGES, TIMED_CHANGES, TIMEOUT_SECONDS, WORDS, TextChange
from benchmarks.app_process import run_app
from benchmarks.app_scripts import (
    OBSERVE_LAYOUT_SHIFTS,
    RECORD_EVENTS,
    TIME_ATTENTION_VIEW_IN_APP,
    WAIT_FOR_WORD,
    WATCH_RESULT,
)
from benchmarks.app_visitors import simulate_visitors, time_first_visits
from benchmarks.chromium import launch_chromium
from benchmarks.harness import BenchOptions, report
from benchmarks.results import Result
from bertlab.views import payload

# the parts of the benchmark, which `AppBenchConfig` describes
PARTS = ("visit", "change", "visitors", "attention", "shift")
FORMER_PARTS = {"thirty": "visitors"}  # old name -> current name
Part = Literal[(*PARTS, *FORMER_PARTS)]


@dataclass(frozen=True)
class AppBenchConfig(BenchOptions):
    """Measure the response times of the app, in milliseconds.

    The benchmark has five parts (see --parts). The part `visit` and the simulated visitors use no browser; everything
    else uses a headless Chromium.

    The part `visit` opens every page once and measures the time until its script has run, which includes loading the
    checkpoint of the page.

    The part `change` types a new text on each page and measures the time until the new result is drawn. Half of
    the texts are sent by pressing Enter. The other half are sent by the text field itself, a short time after the
    typing stops; those times include the pause.

    The part `visitors` simulates simultaneous visitors over Streamlit's protocol, because real browsers would use the
    CPU cores that the app needs. It measures the time from a text change to the end of the script run, and at the same
    time the response time of one real browser.

    The part `attention` measures the attention view of a long input: payload size, first paint, hover and layer
    switch. The part `shift` measures the browser's cumulative layout shift after a text change.

    Examples:
      bertlab bench app
      bertlab bench app --parts change shift --changes 6
    """

    parts: Annotated[tuple[Part, ...], tyro.conf.arg(metavar=f"{{{','.join(PARTS)}}} ...")] = PARTS
    """The parts to measure."""
    changes: int = 10
    """Number of text changes on each page for each of the two ways to send a text: Enter, and a pause in typing."""
    visitors: Annotated[int, tyro.conf.arg(aliases=("--people",))] = 30
    """Number of simultaneous visitors."""
    visitor_changes: Annotated[int, tyro.conf.arg(aliases=("--turns",))] = 3
    """Number of text changes by each visitor."""
    visitor_seconds: Annotated[float, tyro.conf.arg(aliases=("--seconds", "--visit-seconds"))] = 20
    """For the part `visitors`: seconds over which each visitor's text changes are spread, at random intervals; 0 for no
    pauses."""
    checkpoint: str = ""
    """The checkpoint to open. Default: the default checkpoint of each page."""

    def __post_init__(self):
        object.__setattr__(self, "parts", tuple(FORMER_PARTS.get(part, part) for part in self.parts))


def open_page(
    browser: Browser, address: str, change: TextChange, options: AppBenchConfig, *, width: int = 1280, **parameters: str
) -> Page:
    """Open the page of a text change in a new browser context, with a script that records what is drawn.

    Args:
        width: the width of the browser window in pixels.
        parameters: additional query parameters of the address.
    """
    page = browser.new_context(viewport={"width": width, "height": 900}).new_page()
    page.set_default_timeout(TIMEOUT_SECONDS * 1000)
    page.add_init_script(RECORD_EVENTS)
    checkpoint = {"checkpoint": options.checkpoint} if options.checkpoint else {}
    page.goto(f"http://{address}/{change.page}?{urlencode(change.parameters | checkpoint | parameters)}")
    return page


def wait_until_idle(page: Page) -> None:
    """Wait until the script of a page has ended, and then for another 0.7 seconds, in which the result is drawn."""
    page.wait_for_selector("h1")
    page.wait_for_selector('[data-test-script-state="notRunning"]')
    page.wait_for_timeout(700)


def time_change(page: Page, change: TextChange, word: str, *, presses_enter: bool) -> float:
    """Enter a new text and return the milliseconds until its result is drawn.

    Args:
        word: the word that makes the text different from earlier ones.
        presses_enter: whether to press Enter (Ctrl+Enter in a field of several lines). If False, the field sends the
            text itself, after a pause in typing.
    """
    field = page.locator(f".st-key-{change.field_key} {'textarea' if change.is_multiline else 'input'}")
    page.evaluate(WATCH_RESULT, [change.result_selector, word, TIMEOUT_SECONDS * 1000])
    # if the text contains {number}, the number is different for each word, and at least 2
    field.fill(change.text.format(word=word, number=2 + WORDS.index(word)))
    if presses_enter:
        field.press("Control+Enter" if change.is_multiline else "Enter")
    response_ms = page.evaluate("bench.responseTime")
    page.wait_for_timeout(700)
    return response_ms


def measure_changes(browser: Browser, address: str, change: TextChange, options: AppBenchConfig) -> dict:
    """Return the median response times of one page to a new text, sent with Enter and by a pause in typing."""
    page = open_page(browser, address, change, options)
    wait_until_idle(page)
    time_change(page, change, WORDS[0], presses_enter=True)
    words = iter(WORDS[1:] * 2)
    # "keystroke" means that the field sends the text after a pause in typing; earlier results use this key, so it stays
    triggers = ("enter", "keystroke") if change.sends_after_pause else ("enter",)
    times = {
        trigger: [
            time_change(page, change, next(words), presses_enter=trigger == "enter") for _ in range(options.changes)
        ]
        for trigger in triggers
    }
    page.context.close()
    return {f"{trigger}_ms": round(statistics.median(values), 1) for trigger, values in times.items()} | {
        "enter_worst_ms": round(max(times["enter"]), 1)
    }


def measure_attention_view(browser: Browser, address: str, options: AppBenchConfig) -> dict:
    """Return the payload size and the times of the attention view of a long input in the app."""
    change = TIMED_CHANGES["attention_long"]
    messages: list[bytes] = []  # what the server sent when the page was opened again
    # times to the first paint: since navigation, and since the last large message arrived
    navigation_ms, arrival_ms = [], []

    def record_messages(connection) -> None:
        # a lambda, because playwright sets an attribute of the function, which `messages.append` cannot have
        connection.on("framereceived", lambda message: messages.append(message))

    for word in WORDS[-3:]:
        # `a` is the query parameter of the first text on this page
        page = open_page(browser, address, change, options, a=change.text.format(word=word))
        times = page.evaluate(WAIT_FOR_WORD, word)
        navigation_ms.append(times[0])
        arrival_ms.append(times[1])
        # Open the same address again: now the browser has the app's files in its cache. Record the received messages.
        second_page = page.context.new_page()
        second_page.on("websocket", record_messages)
        second_page.add_init_script(RECORD_EVENTS)
        second_page.goto(page.url)
        cached_ms = second_page.evaluate(WAIT_FOR_WORD, word)[0]
        wait_until_idle(second_page)
        if word != WORDS[-1]:
            page.context.close()
    view_times = second_page.evaluate(TIME_ATTENTION_VIEW_IN_APP)
    second_page.context.close()
    elements = [ForwardMsg.FromString(message).delta.new_element for message in messages]
    view_bytes = next(data for element in elements if (data := element.bidi_component.bytes))
    header, _ = payload.unpack(view_bytes)
    return {
        "tokens": len(header["tokens"]),
        "layers": header["layers"],
        "heads": header["heads"],
        "payload_bytes": len(view_bytes),
        "navigation_to_paint_ms": round(statistics.median(navigation_ms), 1),
        # "again" is the visit with the app's files in the browser's cache
        "navigation_to_paint_again_ms": round(cached_ms, 1),
        "arrival_to_paint_ms": round(statistics.median(arrival_ms), 1),
        "hover_ms": round(statistics.median(view_times["hovers"]), 1),
        "layer_switch_ms": round(statistics.median(view_times["switches"]), 1),
    }


def measure_layout_shifts(browser: Browser, address: str, options: AppBenchConfig) -> dict:
    """Return {"PAGE_WIDTH": layout shift after a text change} for every page and two widths of the window."""
    shifts = {}
    for width in (1280, 390):
        for change in LAYOUT_SHIFT_CHANGES:
            page = open_page(browser, address, change, options, width=width)
            field = page.locator(f".st-key-{change.field_key} {'textarea' if change.is_multiline else 'input'}")
            field.wait_for()
            wait_until_idle(page)
            page.wait_for_timeout(5000)  # figures are drawn after the script has ended
            page.evaluate(OBSERVE_LAYOUT_SHIFTS)
            field.fill(change.text)
            field.press("Control+Enter" if change.is_multiline else "Enter")
            page.wait_for_timeout(2000)
            wait_until_idle(page)
            page.wait_for_timeout(3000)
            shifts[f"{change.page}_{width}"] = round(page.evaluate("bench.layoutShift"), 3)
            page.context.close()
    return shifts


def measure_visitors(browser: Browser, address: str, options: AppBenchConfig) -> dict:
    """Return times and errors of the simulated visitors, and the response times of a real browser at the same time."""
    change = TIMED_CHANGES["fill_mask"]
    page = open_page(browser, address, change, options)
    wait_until_idle(page)
    browser_ms = []
    words = iter(WORDS[::-1])
    with ThreadPoolExecutor(1) as pool:
        simulation = pool.submit(simulate_visitors, address, options)
        while not simulation.done():
            browser_ms.append(time_change(page, change, next(words), presses_enter=True))
            page.wait_for_timeout(1000)
    page.context.close()
    visitors = simulation.result()
    errors = [error for visitor in visitors for error in visitor.errors]
    response_ms = [ms for visitor in visitors for ms in visitor.response_ms]
    opening_ms = [ms for visitor in visitors for ms in visitor.opening_ms]
    return {
        "visitors": len(visitors),
        "interactions": len(response_ms),
        "errors": len(errors),
        "first_error": errors[0] if errors else None,
        **compute_percentiles("opening", opening_ms),
        **compute_percentiles("interaction", response_ms),
        **compute_percentiles("browser", browser_ms),
    }


def compute_percentiles(name: str, times_ms: list[float]) -> dict:
    """Return the median and the 95th percentile of times in milliseconds; both are None for fewer than two times."""
    if len(times_ms) < 2:
        return {f"{name}_p50_ms": None, f"{name}_p95_ms": None}
    percentiles = statistics.quantiles(times_ms, n=20, method="inclusive")  # 5, 10, ..., 95
    return {f"{name}_p50_ms": round(percentiles[9], 1), f"{name}_p95_ms": round(percentiles[18], 1)}


def measure(config: AppBenchConfig) -> dict:
    """Start the app, measure the selected parts, and return the measurements by part."""
    measurements: dict = {"cores": os.cpu_count(), "load_before": round(os.getloadavg()[0], 1)}
    with run_app() as address, sync_playwright() as driver:
        if "visit" in config.parts:
            # This part comes first, because the other parts fill the caches of the app, and opening a page would then
            # take less time. It runs in another thread, because the event loop of playwright runs in this one.
            with ThreadPoolExecutor(1) as pool:
                measurements["visit"] = pool.submit(time_first_visits, address, config).result()
        browser = launch_chromium(driver)
        measurements["chromium"] = browser.version
        for change in TIMED_CHANGES.values():  # open each page once, so that its checkpoint is loaded
            page = open_page(browser, address, change, config)
            wait_until_idle(page)
            page.context.close()
        if "change" in config.parts:
            measurements["change"] = {
                name: measure_changes(browser, address, change, config) for name, change in TIMED_CHANGES.items()
            }
        if "visitors" in config.parts:
            measurements["visitors"] = measure_visitors(browser, address, config)
        if "attention" in config.parts:
            measurements["attention"] = measure_attention_view(browser, address, config)
        if "shift" in config.parts:
            measurements["shift"] = measure_layout_shifts(browser, address, config)
        browser.close()
    return measurements


def run(config: AppBenchConfig) -> None:
    """Measure the app, print the measurements, and record the results if `--record` is given."""
    measurements = measure(config)
    results = []
    if visits := measurements.get("visit"):
        claim = "App: first visit of a page, from the request to the end of its script, slowest page"
        spread = (min(visits.values()), max(visits.values()))
        results.append(Result(claim, max(visits.values()), "ms", spread, n=len(visits), target=1000))
    if change_times := measurements.get("change"):
        medians = [times["enter_ms"] for times in change_times.values()]
        slowest = max(medians)
        claim = "App: from Enter to the new answer, slowest page, median"
        results.append(Result(claim, slowest, "ms", (min(medians), slowest), n=len(medians), target=300))
    if visitors := measurements.get("visitors"):
        count, interactions = visitors["visitors"], visitors["interactions"]
        claim = f"App: response time with {count} simultaneous visitors, 95th percentile"
        results.append(Result(claim, visitors["interaction_p95_ms"], unit="ms", n=interactions, target=1500))
        claim = f"App: errors with {count} simultaneous visitors"
        results.append(Result(claim, visitors["errors"], n=interactions, target=0))
    if view := measurements.get("attention"):
        claim = f"App: attention of {view['tokens']} tokens, from navigation to first paint"
        results.append(Result(claim, view["navigation_to_paint_ms"], unit="ms", n=3, target=1000))
    if shift := measurements.get("shift"):
        claim = "App: cumulative layout shift after a text change, worst page"
        results.append(Result(claim, max(shift.values()), n=len(shift), target=0.1))
    # other processes on the machine lengthen all times, so each row contains the load
    hardware = f"{measurements['cores']} cores, load {measurements['load_before']} at the start"
    report(measurements, [replace(result, hardware=hardware) for result in results], config)
