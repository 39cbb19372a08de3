"""`bertlab bench app`: measure the running app in a browser."""

import os
import socket
import statistics
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlencode

from playwright.sync_api import Browser, Page, sync_playwright
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from bertlab.bench.app_pages import CASES, MOVING, PATIENCE, WORDS, Case
from bertlab.bench.app_scripts import INSIDE, MOVED, NOTES, PAINTED, WATCH
from bertlab.bench.app_visitors import visit_together
from bertlab.bench.chromium import launch_chromium
from bertlab.bench.harness import BenchOptions, report
from bertlab.bench.results import Result
from bertlab.config.errors import BertlabError
from bertlab.views import payload


@dataclass(frozen=True)
class AppBenchConfig(BenchOptions):
    """Measure the app in a headless Chromium: text changes, simultaneous visitors, the attention view, and layout
    shifts. Times are in milliseconds.

    change: from the keystroke (including the delay before the field reacts to typing) or from Enter to the frame that
    shows the new picture. Every text is new to the server. thirty: visitors simulated with Streamlit's protocol,
    because thirty browsers would use the cores that are measured, and one real browser. The time is from sending the
    new text to the end of the script run. attention: payload size, first paint, hover and layer switch. shift: the
    browser's cumulative layout shift after a text change.

    Examples:
      bertlab bench app
      bertlab bench app --parts change shift --changes 6
    """

    parts: tuple[Literal["change", "thirty", "attention", "shift"], ...] = ("change", "thirty", "attention", "shift")
    """What to measure."""
    changes: int = 10
    """Number of text changes on each page."""
    people: int = 30
    """Number of simultaneous visitors."""
    turns: int = 3
    """Number of text changes by each visitor."""
    seconds: float = 20
    """Seconds over which the text changes of --turns are spread, with random pauses; 0 for all at once."""
    checkpoint: str = ""
    """The checkpoint to open. Default: the one that suits each page."""


@contextmanager
def server() -> Iterator[str]:
    """Start an app on a free port, yield its address, and stop it afterwards."""
    with socket.socket() as probe:
        probe.bind(("localhost", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "bertlab", "app", "--port", str(port), "--no-browser"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    # a group of its own: the command starts Streamlit as a child, and both have to go
    process = subprocess.Popen(command, start_new_session=True, **quiet)
    try:
        deadline = time.monotonic() + 60
        while True:
            try:
                urllib.request.urlopen(f"http://localhost:{port}/_stcore/health", timeout=5).close()
                break
            except OSError:
                if process.poll() is not None or time.monotonic() > deadline:
                    raise BertlabError("bench-app-did-not-start") from None
                time.sleep(0.25)
        yield f"localhost:{port}"
    finally:
        os.killpg(process.pid, 15)
        process.wait(20)


def visit(
    browser: Browser, address: str, case: Case, options: AppBenchConfig, *, width: int = 1280, **parameters: str
) -> Page:
    """Open a page in a fresh context that notes what it draws."""
    page = browser.new_context(viewport={"width": width, "height": 900}).new_page()
    page.set_default_timeout(PATIENCE * 1000)
    page.add_init_script(NOTES)
    chosen = {"checkpoint": options.checkpoint} if options.checkpoint else {}
    page.goto(f"http://{address}/{case.page}?{urlencode(case.parameters | chosen | parameters)}")
    return page


def wait_until_idle(page: Page) -> None:
    """Wait until a page is drawn and its script has ended."""
    page.wait_for_selector("h1")
    page.wait_for_selector('[data-test-script-state="notRunning"]')
    page.wait_for_timeout(700)


def change(page: Page, case: Case, word: str, *, enter: bool) -> float:
    """Enter a new text and return the milliseconds until its answer is on the screen."""
    entry = page.locator(f".st-key-{case.key} input")
    page.evaluate(WATCH, [case.picture, word, PATIENCE * 1000])
    entry.fill(case.text.format(word=word))
    if enter:
        entry.press("Enter")
    took = page.evaluate("bench.shown")
    page.wait_for_timeout(700)
    return took


def changes(browser: Browser, address: str, case: Case, options: AppBenchConfig) -> dict:
    """Return the median times of changing one page's text, sent by Enter and by a pause in typing."""
    page = visit(browser, address, case, options)
    wait_until_idle(page)
    change(page, case, WORDS[0], enter=True)
    words = iter(WORDS[1:] * 2)
    times = {
        kind: [change(page, case, next(words), enter=kind == "enter") for _ in range(options.changes)]
        for kind in ("enter", "keystroke")
    }
    page.context.close()
    return {f"{kind}_ms": round(statistics.median(found), 1) for kind, found in times.items()} | {
        "enter_worst_ms": round(max(times["enter"]), 1)
    }


def attention(browser: Browser, address: str, options: AppBenchConfig) -> dict:
    """Return sizes and times of the attention view of a long input in the app."""
    case = CASES["attention_long"]
    frames, painted, drawn = [], [], []
    for word in WORDS[-3:]:
        page = visit(browser, address, case, options, a=case.text.format(word=word))
        times = page.evaluate(PAINTED, word)
        painted.append(times[0])
        drawn.append(times[1])
        again = page.context.new_page()
        again.on("websocket", lambda line: line.on("framereceived", lambda data: frames.append(data)))
        again.add_init_script(NOTES)
        again.goto(page.url)
        warm = again.evaluate(PAINTED, word)[0]
        wait_until_idle(again)
        if word != WORDS[-1]:
            page.context.close()
    times = again.evaluate(INSIDE)
    again.context.close()
    elements = [ForwardMsg.FromString(frame).delta.new_element for frame in frames]
    packed = next(found for element in elements if (found := element.bidi_component.bytes))
    header, _ = payload.unpack(packed)
    return {
        "tokens": len(header["tokens"]),
        "layers": header["layers"],
        "heads": header["heads"],
        "payload_bytes": len(packed),
        "navigation_to_paint_ms": round(statistics.median(painted), 1),
        "navigation_to_paint_again_ms": round(warm, 1),
        "arrival_to_paint_ms": round(statistics.median(drawn), 1),
        "hover_ms": round(statistics.median(times["hover"]), 1),
        "layer_switch_ms": round(statistics.median(times["layers"]), 1),
    }


def shifts(browser: Browser, address: str, options: AppBenchConfig) -> dict:
    """Return the layout shift of each page after a changed text, by the width of the browser window."""
    found = {}
    for width in (1280, 390):
        for name, (key, parameters, text) in MOVING.items():
            page = visit(browser, address, Case(name, key, text, parameters=parameters), options, width=width)
            entry = page.locator(f".st-key-{key} input")
            entry.wait_for()
            wait_until_idle(page)
            page.wait_for_timeout(5000)  # figures come after the script has run
            page.evaluate(MOVED)
            entry.fill(text)
            entry.press("Enter")
            page.wait_for_timeout(2000)
            wait_until_idle(page)
            page.wait_for_timeout(3000)
            found[f"{name}_{width}"] = round(page.evaluate("bench.moved"), 3)
            page.context.close()
    return found


def thirty(browser: Browser, address: str, options: AppBenchConfig) -> dict:
    """Return the times of many visitors, and those of one real browser among them."""
    case = CASES["fill_mask"]
    page = visit(browser, address, case, options)
    wait_until_idle(page)
    seen = []
    words = iter(WORDS[::-1])
    with ThreadPoolExecutor(1) as pool:
        visits = pool.submit(visit_together, address, options)
        while not visits.done():
            seen.append(change(page, case, next(words), enter=True))
            page.wait_for_timeout(1000)
    page.context.close()
    visitors = visits.result()
    errors = [error for visitor in visitors for error in visitor.errors]
    times = [taken for visitor in visitors for taken in visitor.times]
    opening = [taken for visitor in visitors for taken in visitor.opening]
    return {
        "people": len(visitors),
        "interactions": len(times),
        "errors": len(errors),
        "first_error": errors[0] if errors else None,
        **spread("opening", opening),
        **spread("interaction", times),
        **spread("browser_among_them", seen),
    }


def spread(name: str, times: list[float]) -> dict:
    """Return the median and the 95th percentile of times."""
    if len(times) < 2:
        return {f"{name}_p50_ms": None, f"{name}_p95_ms": None}
    parts = statistics.quantiles(times, n=20, method="inclusive")
    return {f"{name}_p50_ms": round(parts[9], 1), f"{name}_p95_ms": round(parts[18], 1)}


def bench(config: AppBenchConfig) -> dict:
    """Return the measurements of the chosen parts."""
    measurements: dict = {"cores": os.cpu_count()}
    with server() as address, sync_playwright() as driver:
        browser = launch_chromium(driver)
        measurements["chromium"] = browser.version
        for case in CASES.values():  # each page once, so that checkpoints are loaded
            page = visit(browser, address, case, config)
            wait_until_idle(page)
            page.context.close()
        measurements["load_before"] = round(os.getloadavg()[0], 1)
        if "change" in config.parts:
            measurements["change"] = {name: changes(browser, address, case, config) for name, case in CASES.items()}
        if "thirty" in config.parts:
            measurements["thirty"] = thirty(browser, address, config)
        if "attention" in config.parts:
            measurements["attention"] = attention(browser, address, config)
        if "shift" in config.parts:
            measurements["shift"] = shifts(browser, address, config)
        browser.close()
    return measurements


def run(config: AppBenchConfig) -> None:
    """Measure, print and record."""
    measurements = bench(config)
    results = []
    if change_times := measurements.get("change"):
        slowest = max(times["enter_ms"] for times in change_times.values())
        claim = "App: from Enter to the new answer, slowest page, median"
        results.append(Result(claim, slowest, unit="ms", n=config.changes, aim=300))
    if crowd := measurements.get("thirty"):
        claim = f"App: response time with {crowd['people']} simultaneous visitors, 95th percentile"
        results.append(Result(claim, crowd["interaction_p95_ms"], unit="ms", n=crowd["interactions"], aim=1500))
        claim = f"App: errors with {crowd['people']} simultaneous visitors"
        results.append(Result(claim, crowd["errors"], n=crowd["interactions"], aim=0))
    if view := measurements.get("attention"):
        claim = f"App: attention of {view['tokens']} tokens, from navigation to first paint"
        results.append(Result(claim, view["navigation_to_paint_ms"], unit="ms", n=3, aim=1000))
    if shift := measurements.get("shift"):
        claim = "App: cumulative layout shift after a text change, worst page"
        results.append(Result(claim, max(shift.values()), n=len(shift), aim=0.1))
    report(measurements, results, config)
