"""Measures the running window: a change of text, thirty people at once, the attention view of a long input, and what
moves as an answer comes.

`python scripts/bench_app.py [--parts change thirty attention shift] [--out FILE.json]` starts `bertlab app` on a free
port, waits until its pages have been opened once, prints one JSON object and stops the server. Times are in
milliseconds.

- change: in a real Chromium, from the keystroke (the field's own pause for more typing included) or from Enter, to the
  frame that shows the new picture, the last thing on its page. Every text is new to the server.
- thirty: people who speak Streamlit's own protocol, since thirty browsers would take the cores that are measured. From
  the message with the new text to the end of the script's run; errors are whatever the page would show as one. One real
  browser works among them.
- attention: bytes of the payload; from navigation to the painted canvas, and from the payload's arrival to it; hover
  and layer switch as in `bench_attention.py`, inside the app.

Knows nothing of models nor of how the pages work, only what stands on them; see BENCHMARKS.md for what was measured
where.
"""

import asyncio
import json
import os
import random
import socket
import statistics
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal
from urllib.parse import urlencode

import tyro
from chromium import launched
from playwright.sync_api import Browser, Page, sync_playwright
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import WebSocketException

from bertlab.views import payload

ROOT = Path(__file__).parent.parent
PATIENCE = 30  # seconds after which an answer counts as an error

WORDS = [
    "river", "garden", "bridge", "castle", "window", "island", "forest", "market", "engine", "bottle", "letter",
    "mirror", "basket", "hammer", "ladder", "candle", "pocket", "saddle", "tunnel", "valley", "wagon", "carpet",
    "bucket", "needle", "barrel", "feather", "pillow", "shovel", "lantern", "anchor", "blanket", "kettle", "ribbon",
    "trumpet", "violin", "orchard", "harbor", "meadow", "cottage", "temple", "palace", "museum", "library", "station",
    "factory", "kitchen",
]  # fmt: skip
LONG = (
    "The {word} was the last thing the old man had kept from the farm where he was born, and every evening he carried "
    "it to the door and looked at it for a while before he began to cook. His neighbours knew the story well, because "
    "he had told it so often: how his mother had found it in the snow, how his brother had wanted to sell it for two "
    "horses, and how, in the year of the great storm, it was the only thing that the water did not take. Nobody "
    "believed all of it, but everybody liked to listen, and the children always asked him to tell the end of it twice."
)


@dataclass(frozen=True)
class Case:
    """A page, the field that is changed there, new texts for it, and what shows that the answer is there.

    picture: a CSS selector of what is drawn last; empty for a canvas, where the text's own word must be drawn.
    """

    page: str
    key: str
    text: str
    picture: str = ""
    parameters: dict[str, str] = field(default_factory=dict)


CASES = {
    "fill_mask": Case(
        "fill-mask", "text", "She put the {word} on the table and closed the door.", ".st-key-mask-0 .main-svg",
        {"mask": "6"},
    ),
    "next_sentence": Case("next-sentence", "second", "Nobody had seen the {word} before.", ".st-key-gauge .main-svg"),
    "attention_short": Case("attention", "a", "The old {word} stood beside the road.", "", {"b": ""}),
    "attention_long": Case("attention", "a", LONG, "", {"b": ""}),
    "question": Case("question", "question", "When did the keeper of the {word} leave?", ".st-key-curves .main-svg"),
}  # fmt: skip

# The field that is changed, its page and parameters, and another text of the same kind.
MOVING = {
    "input": ("a", {}, "The girl put the small stone into the river."),
    "attention": ("a", {}, "The girl put the small stone into the river."),
    "fill-mask": ("text", {}, "The girl put the [MASK] stone into the river."),
    "next-sentence": ("second", {}, "Nobody had seen the bridge before that winter."),
    "question": ("question", {}, "When did the keeper of the bridge leave?"),
    "heads": ("masked", {}, "The girl put the small [MASK] into the river before dawn."),
    "depth": ("masked", {}, "The girl put the small [MASK] into the river before dawn."),
    "xray": ("question", {}, "When did the keeper of the bridge leave?"),
    "compare": ("b2", {"between": "inputs"}, "The girl put the small stone into the lake."),
    "classify": ("judged", {}, "A film that is far too long, and still I would see it again."),
    "tag": ("named", {}, "The museum in Lyon was opened by Anna Keller in the spring."),
}  # fmt: skip
MOVED = """() => {
  bench.moved = 0;
  const add = (list) => list.getEntries().forEach((entry) => { bench.moved += entry.value; });
  new PerformanceObserver(add).observe({ type: "layout-shift" });
}"""

# What a page notes of itself: when the last text was sent, what its canvases wrote, and when a large message came.
NOTES = """
window.bench = { sent: 0, written: new Set(), arrived: 0 };
document.addEventListener("input", () => { bench.sent = performance.now(); }, true);
document.addEventListener("keydown", (event) => { if (event.key === "Enter") bench.sent = performance.now(); }, true);
const write = CanvasRenderingContext2D.prototype.fillText;
CanvasRenderingContext2D.prototype.fillText = function (text, ...place) {
  bench.written.add(text);
  return write.call(this, text, ...place);
};
const Plain = window.WebSocket;
window.WebSocket = class extends Plain {
  constructor(...settings) {
    super(...settings);
    this.addEventListener("message", ({ data }) => {
      if ((data.byteLength ?? data.size) > 10000) bench.arrived = performance.now();
    });
  }
};
"""

# The promise of the time of the first frame that shows another picture, or a canvas that wrote the word.
WATCH = """([picture, word, patience]) => {
  const drawn = () => picture ? document.querySelector(picture)?.innerHTML : bench.written.has(word) && word;
  const before = picture && drawn();
  const began = performance.now();
  bench.sent = 0;
  bench.written.clear();
  bench.shown = new Promise((done, fail) => {
    const look = () => {
      const now = drawn();
      if (bench.sent && now && now !== before) setTimeout(() => done(performance.now() - bench.sent));
      else if (performance.now() - began > patience) fail(new Error(`${word}: no answer`));
      else requestAnimationFrame(look);
    };
    look();
  });
}"""

PAINTED = """async (word) => {
  while (!bench.written.has(word)) await new Promise(requestAnimationFrame);
  await new Promise((done) => setTimeout(done));
  return [performance.now(), performance.now() - bench.arrived];
}"""

# Hovers and layer switches, in milliseconds each, of the attention view of a document.
PROBE = """async () => {
  const frame = async () => {
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
    for (const canvas of document.querySelectorAll("canvas")) canvas.getContext("2d").getImageData(0, 0, 1, 1);
  };
  const canvas = document.querySelector("canvas.bl-over");
  const box = canvas.getBoundingClientRect();
  const next = document.querySelectorAll(".bl-step")[1];
  const layer = () => Number(document.querySelector(".bl-value").firstChild.data);
  const hover = [], layers = [];
  for (let i = 0; i < 15; i++) {
    const start = performance.now();
    canvas.dispatchEvent(new PointerEvent("pointermove",
      { clientX: box.left + box.width * 0.3, clientY: box.top + 20 + 24 * i, pointerType: "mouse" }));
    await frame();
    hover.push(performance.now() - start);
  }
  canvas.dispatchEvent(new PointerEvent("pointerleave"));
  await frame();
  while (!next.disabled) {
    const start = performance.now();
    const wanted = layer() + 1;
    next.click();
    while (layer() !== wanted) await new Promise((done) => setTimeout(done));
    await frame();
    layers.push(performance.now() - start);
  }
  return { hover, layers };
}"""

# Here the document is the shadow that Streamlit puts a component into.
INSIDE = f"""async () => {{
  const holds = (node) => node.shadowRoot?.querySelector("canvas.bl-over");
  const root = [...document.querySelectorAll("*")].find(holds)?.shadowRoot ?? window.document;
  return ((document) => ({PROBE})())(root);
}}"""


@dataclass(frozen=True)
class Options:
    """parts: what to measure; changes: of text, on each page; people, turns: how many, and how often each changes a
    text; seconds: over which the turns are spread, with pauses of random length (0: all at once); checkpoint: to open
    instead of what suits the page; out: also write the JSON there."""

    parts: tuple[Literal["change", "thirty", "attention", "shift"], ...] = ("change", "thirty", "attention", "shift")
    changes: int = 10
    people: int = 30
    turns: int = 3
    seconds: float = 20
    checkpoint: str = ""
    out: Path | None = None


# -- the server --------------------------------------------------------------------------------------------------


@contextmanager
def server() -> Iterator[str]:
    """The address of a window of its own, stopped afterwards."""
    with socket.socket() as probe:
        probe.bind(("localhost", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "bertlab", "app", "--port", str(port), "--no-browser"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    # a group of its own: the command starts Streamlit as a child, and both have to go
    process = subprocess.Popen(command, cwd=ROOT, start_new_session=True, **quiet)
    try:
        deadline = time.monotonic() + 60
        while True:
            try:
                urllib.request.urlopen(f"http://localhost:{port}/_stcore/health", timeout=5).close()
                break
            except OSError:
                if process.poll() is not None or time.monotonic() > deadline:
                    raise SystemExit("the window did not start; try `python -m bertlab app`") from None
                time.sleep(0.25)
        yield f"localhost:{port}"
    finally:
        os.killpg(process.pid, 15)
        process.wait(20)


# -- a person's browser ------------------------------------------------------------------------------------------


def visit(
    browser: Browser, address: str, case: Case, options: Options, *, width: int = 1280, **parameters: str
) -> Page:
    """A page opened in a fresh context that notes what it does."""
    page = browser.new_context(viewport={"width": width, "height": 900}).new_page()
    page.set_default_timeout(PATIENCE * 1000)
    page.add_init_script(NOTES)
    chosen = {"checkpoint": options.checkpoint} if options.checkpoint else {}
    page.goto(f"http://{address}/{case.page}?{urlencode(case.parameters | chosen | parameters)}")
    return page


def settled(page: Page) -> None:
    """Wait until a page has been drawn and its script rests."""
    page.wait_for_selector("h1")
    page.wait_for_selector('[data-test-script-state="notRunning"]')
    page.wait_for_timeout(700)


def change(page: Page, case: Case, word: str, *, enter: bool) -> float:
    """Write a new text; milliseconds until its answer is on the screen."""
    entry = page.locator(f".st-key-{case.key} input")
    page.evaluate(WATCH, [case.picture, word, PATIENCE * 1000])
    entry.fill(case.text.format(word=word))
    if enter:
        entry.press("Enter")
    took = page.evaluate("bench.shown")
    page.wait_for_timeout(700)
    return took


def changes(browser: Browser, address: str, case: Case, options: Options) -> dict:
    """Medians over changes of one page's text, sent by a pause in typing and by Enter."""
    page = visit(browser, address, case, options)
    settled(page)
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


def attention(browser: Browser, address: str, options: Options) -> dict:
    """The attention view of a long input inside the app."""
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
        settled(again)
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


def shifts(browser: Browser, address: str, options: Options) -> dict:
    """Each page's layout shift after a changed text, by the window's width."""
    found = {}
    for width in (1280, 390):
        for name, (key, parameters, text) in MOVING.items():
            page = visit(browser, address, Case(name, key, text, parameters=parameters), options, width=width)
            entry = page.locator(f".st-key-{key} input")
            entry.wait_for()
            settled(page)
            page.wait_for_timeout(5000)  # figures come after the script has run
            page.evaluate(MOVED)
            entry.fill(text)
            entry.press("Enter")
            page.wait_for_timeout(2000)
            settled(page)
            page.wait_for_timeout(3000)
            found[f"{name}_{width}"] = round(page.evaluate("bench.moved"), 3)
            page.context.close()
    return found


# -- many people -------------------------------------------------------------------------------------------------


class Person:
    """One session over Streamlit's websocket: opens a page, writes texts, notes times and errors."""

    def __init__(self, number: int, options: Options):
        self.case = list(CASES.values())[number % len(CASES)]
        self.random = random.Random(number)
        self.number, self.options = number, options
        self.opening: list[float] = []
        self.times: list[float] = []
        self.errors: list[str] = []
        self.page = self.query = ""

    async def live(self, address: str) -> None:
        """All turns. A broken line or a late answer is an error, and the end of the visit."""
        try:
            async with connect(f"ws://{address}/_stcore/stream", subprotocols=["streamlit"], max_size=None) as line:
                await self.turns(line)
        except (WebSocketException, OSError, TimeoutError) as error:
            self.errors.append(type(error).__name__)

    async def turns(self, line: ClientConnection) -> None:
        start = BackMsg()
        start.rerun_script.page_name = self.case.page
        chosen = {"checkpoint": self.options.checkpoint} if self.options.checkpoint else {}
        start.rerun_script.query_string = self.query = urlencode(self.case.parameters | chosen)
        field_id = await self.ask(line, start, self.opening)
        for turn in range(self.options.turns):
            await asyncio.sleep(self.random.uniform(0, 2) * self.options.seconds / (self.options.turns + 1))
            # nobody writes what somebody has written before
            word = f"{WORDS[self.number % len(WORDS)]} and the {WORDS[-1 - turn]}"
            message = BackMsg()
            message.rerun_script.page_script_hash, message.rerun_script.query_string = self.page, self.query
            widget = message.rerun_script.widget_states.widgets.add()
            widget.id, widget.string_value = field_id, self.case.text.format(word=word)
            await self.ask(line, message, self.times)

    async def ask(self, line: ClientConnection, message: BackMsg, times: list[float]) -> str:
        """Send a message, read until the script has run; the id of the field."""
        field_id = ""
        start = time.perf_counter()
        await line.send(message.SerializeToString())
        async with asyncio.timeout(PATIENCE):
            while True:
                reply = ForwardMsg.FromString(await line.recv())
                kind = reply.WhichOneof("type")
                if kind == "new_session":
                    self.page = reply.new_session.page_script_hash
                elif kind == "navigation":
                    self.page = reply.navigation.page_script_hash
                elif kind == "page_info_changed":
                    self.query = reply.page_info_changed.query_string
                elif kind == "delta":
                    element = reply.delta.new_element
                    if element.text_input.id.endswith(f"-{self.case.key}"):
                        field_id = element.text_input.id
                    if element.HasField("exception"):
                        self.errors.append(element.exception.type)
                    if 'role="alert"' in element.html.body:
                        self.errors.append(element.html.body)
                elif kind == "script_finished":
                    if reply.script_finished == ForwardMsg.FINISHED_SUCCESSFULLY:
                        break
                    self.errors.append(ForwardMsg.ScriptFinishedStatus.Name(reply.script_finished))
        times.append((time.perf_counter() - start) * 1000)
        return field_id


def crowd(address: str, options: Options) -> list[Person]:
    """Everybody's visit, all at once."""
    people = [Person(number, options) for number in range(options.people)]

    async def together() -> None:
        await asyncio.gather(*(person.live(address) for person in people))

    asyncio.run(together())
    return people


def thirty(browser: Browser, address: str, options: Options) -> dict:
    """Many people, and what one of them sees in a browser meanwhile."""
    case = CASES["fill_mask"]
    page = visit(browser, address, case, options)
    settled(page)
    seen = []
    words = iter(WORDS[::-1])
    with ThreadPoolExecutor(1) as pool:
        visits = pool.submit(crowd, address, options)
        while not visits.done():
            seen.append(change(page, case, next(words), enter=True))
            page.wait_for_timeout(1000)
    page.context.close()
    people = visits.result()
    errors = [error for person in people for error in person.errors]
    times = [taken for person in people for taken in person.times]
    opening = [taken for person in people for taken in person.opening]
    return {
        "people": len(people),
        "interactions": len(times),
        "errors": len(errors),
        "first_error": errors[0] if errors else None,
        **spread("opening", opening),
        **spread("interaction", times),
        **spread("browser_among_them", seen),
    }


def spread(name: str, times: list[float]) -> dict:
    """Median and 95th percentile."""
    if len(times) < 2:
        return {f"{name}_p50_ms": None, f"{name}_p95_ms": None}
    parts = statistics.quantiles(times, n=20, method="inclusive")
    return {f"{name}_p50_ms": round(parts[9], 1), f"{name}_p95_ms": round(parts[18], 1)}


# -- all of it ---------------------------------------------------------------------------------------------------


def main(options: Options) -> None:
    report = {"cores": os.cpu_count()}
    with server() as address, sync_playwright() as driver:
        browser = launched(driver)
        report["chromium"] = browser.version
        for case in CASES.values():
            page = visit(browser, address, case, options)
            settled(page)
            page.context.close()
        report["load_before"] = round(os.getloadavg()[0], 1)
        if "change" in options.parts:
            report["change"] = {name: changes(browser, address, case, options) for name, case in CASES.items()}
        if "thirty" in options.parts:
            report["thirty"] = thirty(browser, address, options)
        if "attention" in options.parts:
            report["attention"] = attention(browser, address, options)
        if "shift" in options.parts:
            report["shift"] = shifts(browser, address, options)
        browser.close()
    text = json.dumps(report, indent=1)
    print(text)
    if options.out:
        part = options.out.with_name(options.out.name + ".part")
        part.write_text(text, encoding="utf-8")
        part.replace(options.out)


if __name__ == "__main__":
    main(tyro.cli(Options))
