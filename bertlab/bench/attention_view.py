"""`bertlab bench attention-view`: the attention view in a headless Chromium, beside bertviz's head view.

For the same input: bytes that reach the browser, first paint, a hover, and a change of layer; each as wall time and,
since other programs may share the machine, as processor time of the page's own process. The attention is synthetic,
peaked as that of trained heads. bertviz's page is what `head_view(html_action="return")` returns, with the libraries
that it would load from a CDN put into it. A page that does not open within the limit is reported as such.
"""

import base64
import platform
import re
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from playwright.sync_api import Error, Page, sync_playwright

from bertlab.bench.chromium import launch_chromium
from bertlab.bench.harness import BenchOptions, report
from bertlab.bench.results import Result
from bertlab.config.errors import BertlabError
from bertlab.explore.facts import AttentionMap, TokenRow
from bertlab.views import assets, html, payload

HOVERS, SWITCHES = 9, 5
COLUMNS = ("view", "tokens", "bytes", "built in Python", "first paint", "hover", "layer switch")
AIMS = ("*aim*", "128", "1 MB", "", "1000 ms", "50 ms", "150 ms")

# frame(): a drawn frame, its pixels read back so that what the browser put off is counted too
FRAME = """window.frame = async () => {
  await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  for (const canvas of document.querySelectorAll("canvas")) canvas.getContext("2d").getImageData(0, 0, 1, 1);
};
window.clock = async (act) => {
  const start = performance.now();
  await act();
  await frame();
  return performance.now() - start;
};"""
HOVER = """(i) => clock(() => {
  const canvas = document.querySelector("canvas.bl-over"), box = canvas.getBoundingClientRect();
  canvas.dispatchEvent(new PointerEvent("pointermove",
    { clientX: box.left + box.width * 0.3, clientY: box.top + 20 + 24 * i, pointerType: "mouse" }));
})"""
# a long input's layer comes when asked for: its bytes are at hand, opening and drawing them is what is timed
SWITCH = """(i) => clock(async () => {
  document.querySelectorAll(".bl-step")[1].click();
  if (window.layers[i]) await bertlab.update(window.layers[i]);
  const layer = () => Number(document.querySelector(".bl-value").firstChild.data);
  while (layer() !== i + 1) await new Promise((done) => setTimeout(done));
})"""
LINES = """clock(async () => {
  document.querySelector("[data-view=lines]").click();
  await bertlab.update(window.layers.shift());
})"""
# bertviz asks require.js, from a CDN, for jQuery and d3
CDN = re.compile(r'<script src="https://[^"]*/require.min.js"></script>')
REQUIRE = """
window.require = { config() {} };
window.requirejs = (names, run) => run(window.jQuery, window.d3);
"""
BERTVIZ_HOVER = """(i) => clock(() => {
  const over = new MouseEvent("mouseover", { bubbles: true });
  document.querySelectorAll("#left text")[i].dispatchEvent(over);
})"""
BERTVIZ_SWITCH = """(i) => clock(() => {
  const select = document.querySelector("select#layer");
  select.selectedIndex = i + 1;
  select.dispatchEvent(new Event("change", { bubbles: true }));
})"""


@dataclass(frozen=True)
class AttentionViewBenchConfig(BenchOptions):
    """Measure the attention view in a browser and compare it with bertviz.

    Examples:
      bertlab bench attention-view
      bertlab bench attention-view --tokens 128 --bertviz 128 --limit 400
    """

    tokens: tuple[int, ...] = (32, 128, 512)
    """Input lengths for bertlab's view."""
    bertviz: tuple[int, ...] = (32, 128)
    """Input lengths for bertviz's view."""
    limit: float = 120
    """Seconds that a page of bertviz may take to open."""
    layers: int = 12
    """Layers of the synthetic model."""
    heads: int = 12
    """Heads of each layer."""


def synthetic_attention(layers: int, heads: int, size: int) -> AttentionMap:
    """Return attention of two sentences: heads that attend to neighbours or to the first token, with noise."""
    rng = np.random.default_rng(0)
    distance = np.abs(np.arange(size)[:, None] - np.arange(size)[None])
    scores = rng.normal(0, 1.2, (layers, heads, size, size)).astype(np.float32)
    scores -= rng.uniform(0, 2, (layers, heads, 1, 1)) * np.minimum(distance / 2, 6)
    scores[..., 0] += rng.uniform(0, 4, (layers, heads, 1))
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    tokens = tuple(TokenRow(i, i, f"word{i}", 6 * i, 6 * i + 5, int(i > size // 2), False) for i in range(size))
    return AttentionMap(tokens, (powers / powers.sum(-1, keepdims=True)).astype(np.float32))


class Meter:
    """Wall time (the page's own clock) and processor time (of the page's process) of what happens in a page."""

    def __init__(self, page: Page):
        self.page, self.tools = page, page.context.new_cdp_session(page)
        self.tools.send("Performance.enable")

    def processor(self) -> float:
        """Milliseconds so far."""
        metrics = {row["name"]: row["value"] for row in self.tools.send("Performance.getMetrics")["metrics"]}
        return 1000 * metrics.get("ProcessTime", metrics["TaskDuration"])

    def each(self, script: str, count: int) -> str:
        """A script run for 0, 1, ...: median on the wall, mean of the processor."""
        before = self.processor()
        times = [self.page.evaluate(script, i) for i in range(count)]
        return figure(statistics.median(times), (self.processor() - before) / count)


def figure(wall: float, processor: float) -> str:
    return f"{wall:.0f} ms ({processor:.0f} ms)"


def opened(page: Page, text: str, ready: str, limit: float) -> tuple[Meter, str]:
    """Open HTML from disk, with the time until it is drawn. Raises Playwright's Error past the limit, in seconds."""
    meter = Meter(page)
    page.set_default_timeout(1000 * limit)
    page.add_init_script(FRAME)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "view.html"
        file.write_text(text, encoding="utf-8")
        page.goto(file.as_uri(), wait_until="commit")
        page.wait_for_selector(ready, state="attached")
        page.evaluate("globalThis.bertlab?.ready")
        page.evaluate("frame()")
        return meter, figure(page.evaluate("performance.now()"), meter.processor())


def timed(make: Callable):
    """What a function gives, and its processor time as text."""
    start = time.process_time()
    made = make()
    return made, f"{1000 * (time.process_time() - start):.0f} ms"


def ours(page: Page, fact: AttentionMap, limit: float) -> list[tuple[str, ...]]:
    """The rows of one length: the first view, and for a long input also lines over a layer in full."""
    size = str(len(fact.tokens))
    pack, packing = timed(lambda: payload.AttentionPack(fact))
    sent = pack.bytes()
    meter, paint = opened(page, html.packed_html("attention", sent, "bench"), "canvas.bl-over", limit)
    first = ("bertlab, first view", size, f"{len(sent):,}", packing, paint)
    page.evaluate("window.layers = []")
    if pack.whole:
        return [(*first, meter.each(HOVER, HOVERS), meter.each(SWITCH, SWITCHES))]
    overview = (*first, meter.each(HOVER, HOVERS), "")
    layers = [pack.bytes({"view": "lines", "layer": n}) for n in range(SWITCHES)]
    layer, making = timed(lambda: pack.bytes({"view": "lines", "layer": SWITCHES}))
    decode = "(texts) => { window.layers = texts.map((text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0))); }"
    page.evaluate(decode, [base64.b64encode(part).decode() for part in [*layers, layer]])
    before = meter.processor()
    shown = page.evaluate(LINES)
    paint = figure(shown, meter.processor() - before)
    hover = meter.each(HOVER, HOVERS)
    return [
        overview,
        ("bertlab, a layer in full", size, f"{len(layer):,}", making, paint, hover, meter.each(SWITCH, SWITCHES)),
    ]


def bertviz(page: Page, fact: AttentionMap, limit: float) -> list[tuple[str, ...]]:
    """bertviz's row for the same input."""
    import torch
    from bertviz import head_view  # brings transformers along, so only where it is asked for

    second = next(row.position for row in fact.tokens if row.segment == 1)
    attention = [torch.from_numpy(layer)[None] for layer in fact.probs_LNTT]
    tokens = [row.token for row in fact.tokens]
    made, making = timed(lambda: head_view(attention, tokens, second, html_action="return").data)
    size = ("bertviz, head view", str(len(tokens)), f"{len(made.encode()):,}", making)
    libraries = f"{assets.static('vendor/jquery.slim.min.js')}\n{assets.static('vendor/d3.min.js')}\n{REQUIRE}"
    shown, changed = CDN.subn(lambda _: f"<script>{libraries}</script>", made)
    if not changed:
        raise BertlabError("bench-bertviz-changed")
    try:
        meter, paint = opened(page, f"<!doctype html><meta charset=utf-8>{shown}", "svg line", limit)
        return [(*size, paint, meter.each(BERTVIZ_HOVER, HOVERS), meter.each(BERTVIZ_SWITCH, SWITCHES))]
    except Error as error:
        why = "Timeout" if "Timeout" in error.message else error.message.splitlines()[0]
        said = f"did not open in {limit:.0f} s" if why == "Timeout" else f"did not open: {why}"
        return [(*size, said, "", "")]


def table_row(cells: tuple[str, ...]) -> str:
    """Return a row of a table in Markdown."""
    return f"| {' | '.join(cells)} |"


def bench(config: AttentionViewBenchConfig) -> dict:
    """Return the columns and the rows of the table, and print each row when it is measured."""
    measured: dict = {"columns": COLUMNS, "rows": []}
    with sync_playwright() as driver:
        tasks = [(ours, size) for size in config.tokens] + [(bertviz, size) for size in config.bertviz]
        for number, (measure, size) in enumerate(tasks):
            # a browser for each: a page that does not open is left behind with its browser
            browser = launch_chromium(driver)
            if not number and not config.json:
                print(f"Chromium {browser.version}, {platform.machine()}, {config.layers} x {config.heads} heads;")
                print("times: wall, median (in brackets: the page's processor, mean)\n")
                print("\n".join(map(table_row, (COLUMNS, ("---",) * len(COLUMNS), AIMS))), flush=True)
            page = browser.new_page(viewport={"width": 1280, "height": 900})
            for row in measure(page, synthetic_attention(config.layers, config.heads, size), config.limit):
                measured["rows"].append(row)
                if not config.json:
                    print(table_row(row), flush=True)
            browser.close()
    return measured


def run(config: AttentionViewBenchConfig) -> None:
    """Measure, print and record: sizes and first paints at the longest input that both views opened."""
    measured = bench(config)
    shown = {(row[0], int(row[1])): row for row in measured["rows"] if " ms" in row[4]}
    both = [size for name, size in shown if name.startswith("bertviz") and ("bertlab, first view", size) in shown]
    results = []
    if both:
        size = max(both)
        own, other = shown["bertlab, first view", size], shown["bertviz, head view", size]
        for name, column in (("size in bytes", 2), ("first paint", 4), ("layer switch", 6)):
            if own[column] and other[column]:
                ratio = round(_number(other[column]) / _number(own[column]), 1)
                claim = f"App: attention view of {config.layers} x {config.heads} heads, {size} tokens, {name}"
                results.append(Result(claim, ratio, unit="x", n=1, peer="bertviz head view"))
    report(measured if config.json else {}, results, config)


def _number(cell: str) -> float:
    return float(cell.split()[0].replace(",", ""))
