"""`bertlab bench attention-view`: measure the attention view in a headless Chromium, and compare it with bertviz.

Both views show the same input. The benchmark measures the bytes that the browser receives, the first paint, a hover,
and a switch to another layer. Two times are measured: the wall-clock time, and the CPU time of the page's process,
which other programs on the machine hardly affect. The attention is synthetic, with peaks like those of trained heads.

bertviz's page is the result of `head_view(html_action="return")`. The libraries that it would load from a CDN are
embedded in the page. If a page does not open within the time limit, the table says so.
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
from typing import Annotated

import numpy as np
import tyro
from playwright.sync_api import Error, Page, sync_playwright

from benchmarks.chromium import launch_chromium
from benchmarks.harness import BenchOptions, report
from benchmarks.results import Result
from bertlab.abilities.results import AttentionMap, TokenRow
from bertlab.config.errors import BertlabError
from bertlab.views import assets, html, payload

NUM_HOVERS, NUM_SWITCHES = 9, 5  # how many hovers and layer switches are timed
COLUMNS = ("view", "tokens", "bytes", "CPU time in Python", "first paint", "hover", "layer switch")
# the first row of the table: the largest acceptable values for an input of 128 tokens; "" for a column without a target
TARGETS = ("*target*", "128", "1 MB", "", "1000 ms", "50 ms", "150 ms")

# This script defines two functions. `nextFrame` waits until a frame is drawn, and then reads pixels, which makes the
# browser finish postponed drawing. `timeAction` returns the milliseconds from an action to the end of its frame.
DEFINE_TIMERS = """window.nextFrame = async () => {
  await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
  for (const canvas of document.querySelectorAll("canvas")) canvas.getContext("2d").getImageData(0, 0, 1, 1);
};
window.timeAction = async (action) => {
  const start = performance.now();
  await action();
  await nextFrame();
  return performance.now() - start;
};"""
# This function measures the time of a hover over row `i` of bertlab's view.
HOVER = """(i) => timeAction(() => {
  const canvas = document.querySelector("canvas.bl-over"), box = canvas.getBoundingClientRect();
  canvas.dispatchEvent(new PointerEvent("pointermove",
    { clientX: box.left + box.width * 0.3, clientY: box.top + 20 + 24 * i, pointerType: "mouse" }));
})"""
# This function measures the time of a switch from layer `i` to the next one in bertlab's view.
# For a long input the app sends a layer when the user opens it. Here `layerBytes` already contains the layers, so that
# only unpacking and drawing are timed.
SWITCH_LAYER = """(i) => timeAction(async () => {
  document.querySelectorAll(".bl-step")[1].click();
  if (window.layerBytes[i]) await bertlab.update(window.layerBytes[i]);
  const shownLayer = () => Number(document.querySelector(".bl-value").firstChild.data);
  while (shownLayer() !== i + 1) await new Promise((resolve) => setTimeout(resolve));
})"""
# This script measures how long it takes to show all attention lines of the first layer of a long input.
SHOW_LINES = """timeAction(async () => {
  document.querySelector("[data-view=lines]").click();
  await bertlab.update(window.layerBytes.shift());
})"""
# This function decodes the payloads of layers from base64, and stores them in `layerBytes`.
DECODE_LAYERS = """(layers) => {
  window.layerBytes = layers.map((text) => Uint8Array.from(atob(text), (char) => char.charCodeAt(0)));
}"""
# bertviz loads jQuery and d3 with require.js, which comes from a CDN. `LOCAL_REQUIRE` replaces require.js: it passes on
# the copies of both libraries that the page contains.
REQUIRE_FROM_CDN = re.compile(r'<script src="https://[^"]*/require.min.js"></script>')
LOCAL_REQUIRE = """
window.require = { config() {} };
window.requirejs = (names, run) => run(window.jQuery, window.d3);
"""
# These functions measure the same in bertviz's view: a hover over token `i`, and a switch from layer `i` to the next.
BERTVIZ_HOVER = """(i) => timeAction(() => {
  const event = new MouseEvent("mouseover", { bubbles: true });
  document.querySelectorAll("#left text")[i].dispatchEvent(event);
})"""
BERTVIZ_SWITCH_LAYER = """(i) => timeAction(() => {
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

    tokens: Annotated[tuple[int, ...], tyro.conf.arg(metavar="INT ...")] = (32, 128, 512)
    """Input lengths for bertlab's view."""
    bertviz: Annotated[tuple[int, ...], tyro.conf.arg(metavar="INT ...")] = (32, 128)
    """Input lengths for bertviz's view."""
    limit: float = 120
    """Maximum seconds for a page to open."""
    layers: int = 12
    """Layers of the synthetic model."""
    attention_heads: Annotated[int, tyro.conf.arg(aliases=("--heads",))] = 12
    """Attention heads in each layer."""


def make_synthetic_attention(layers: int, heads: int, size: int) -> AttentionMap:
    """Return random attention over two sentences, in which heads attend to neighbours or to the first token.

    Args:
        layers: the number of layers.
        heads: the number of heads in each layer.
        size: the number of tokens.
    """
    rng = np.random.default_rng(0)
    distance = np.abs(np.arange(size)[:, None] - np.arange(size)[None])
    scores = rng.normal(0, 1.2, (layers, heads, size, size)).astype(np.float32)
    scores -= rng.uniform(0, 2, (layers, heads, 1, 1)) * np.minimum(distance / 2, 6)
    scores[..., 0] += rng.uniform(0, 4, (layers, heads, 1))
    exponentials = np.exp(scores - scores.max(-1, keepdims=True))
    tokens = tuple(TokenRow(i, i, f"word{i}", 6 * i, 6 * i + 5, int(i > size // 2), False) for i in range(size))
    return AttentionMap(tokens, (exponentials / exponentials.sum(-1, keepdims=True)).astype(np.float32))


class PageTimer:
    """Measures the wall-clock time of actions in a page, and the CPU time of the page's process.

    Args:
        page: the page. It must define the functions of `DEFINE_TIMERS` before an action is timed.
    """

    def __init__(self, page: Page):
        self.page, self.devtools = page, page.context.new_cdp_session(page)
        self.devtools.send("Performance.enable")

    def read_cpu_ms(self) -> float:
        """Return the CPU time of the page's process so far, in milliseconds."""
        metrics = {row["name"]: row["value"] for row in self.devtools.send("Performance.getMetrics")["metrics"]}
        return 1000 * metrics.get("ProcessTime", metrics["TaskDuration"])

    def time_repeatedly(self, script: str, count: int) -> str:
        """Run a script `count` times, with the arguments 0, 1, 2 and so on.

        Returns:
            The median wall-clock time and the mean CPU time of a run, as text.
        """
        before = self.read_cpu_ms()
        times = [self.page.evaluate(script, i) for i in range(count)]
        return format_times(statistics.median(times), (self.read_cpu_ms() - before) / count)


def format_times(wall_ms: float, cpu_ms: float) -> str:
    """Return a wall-clock time, with the CPU time in brackets.

    >>> format_times(12.3, 4.5)
    '12 ms (4 ms)'
    """
    return f"{wall_ms:.0f} ms ({cpu_ms:.0f} ms)"


def open_html(page: Page, content: str, ready_selector: str, limit: float) -> tuple[PageTimer, str]:
    """Open HTML from a file, and return a timer of the page and, as text, the time until the page was drawn.

    Args:
        page: an empty page.
        content: the HTML.
        ready_selector: the CSS selector of an element that is present once the page is drawn.
        limit: the maximum time, in seconds.

    Raises:
        playwright.sync_api.Error: the page is not drawn within the limit.
    """
    timer = PageTimer(page)
    page.set_default_timeout(1000 * limit)
    page.add_init_script(DEFINE_TIMERS)
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "view.html"
        file.write_text(content, encoding="utf-8")
        page.goto(file.as_uri(), wait_until="commit")
        page.wait_for_selector(ready_selector, state="attached")
        page.evaluate("globalThis.bertlab?.ready")  # waits for a promise of bertlab's view; bertviz's page has none
        page.evaluate("nextFrame()")
        return timer, format_times(page.evaluate("performance.now()"), timer.read_cpu_ms())


def time_call(function: Callable):
    """Call a function, and return its result and, as text, its CPU time."""
    start = time.process_time()
    result = function()
    return result, f"{1000 * (time.process_time() - start):.0f} ms"


def measure_bertlab(page: Page, attention: AttentionMap, limit: float) -> list[tuple[str, ...]]:
    """Return bertlab's table rows: the initial view and, for a long input, all attention lines of a layer."""
    size = str(len(attention.tokens))
    pack, packing_time = time_call(lambda: payload.AttentionPack(attention))
    first_bytes = pack.bytes()
    document = html.payload_html("attention", first_bytes, "bench")
    timer, paint_time = open_html(page, document, "canvas.bl-over", limit)
    page.evaluate("window.layerBytes = []")
    hover_time = timer.time_repeatedly(HOVER, NUM_HOVERS)
    first_view = ("bertlab, first view", size, f"{len(first_bytes):,}", packing_time, paint_time, hover_time)
    if not pack.is_sent_in_parts:
        return [(*first_view, timer.time_repeatedly(SWITCH_LAYER, NUM_SWITCHES))]
    layers = [pack.bytes({"view": "lines", "layer": n}) for n in range(NUM_SWITCHES)]
    last_layer, packing_time = time_call(lambda: pack.bytes({"view": "lines", "layer": NUM_SWITCHES}))
    page.evaluate(DECODE_LAYERS, [base64.b64encode(layer).decode() for layer in [*layers, last_layer]])
    before = timer.read_cpu_ms()
    paint_ms = page.evaluate(SHOW_LINES)
    paint_time = format_times(paint_ms, timer.read_cpu_ms() - before)
    hover_time = timer.time_repeatedly(HOVER, NUM_HOVERS)
    switch_time = timer.time_repeatedly(SWITCH_LAYER, NUM_SWITCHES)
    full_layer = ("bertlab, a layer in full", size, f"{len(last_layer):,}", packing_time, paint_time, hover_time)
    return [(*first_view, ""), (*full_layer, switch_time)]


def measure_bertviz(page: Page, attention: AttentionMap, limit: float) -> list[tuple[str, ...]]:
    """Return a list with the table row of bertviz's head view.

    If the page did not open, the row says so instead of the times.

    Raises:
        BertlabError: the installed version of bertviz loads its libraries in a different way.
    """
    import torch
    from bertviz import head_view  # imported only here, because it imports transformers

    second_start = next(row.position for row in attention.tokens if row.segment == 1)
    probs = [torch.from_numpy(probs_NTT)[None] for probs_NTT in attention.probs_LNTT]
    tokens = [row.token for row in attention.tokens]
    view, building_time = time_call(lambda: head_view(probs, tokens, second_start, html_action="return").data)
    row = ("bertviz, head view", str(len(tokens)), f"{len(view.encode()):,}", building_time)
    libraries = (
        f"{assets.read_static('vendor/jquery.slim.min.js')}\n{assets.read_static('vendor/d3.min.js')}\n{LOCAL_REQUIRE}"
    )
    view, num_replaced = REQUIRE_FROM_CDN.subn(lambda _: f"<script>{libraries}</script>", view)
    if not num_replaced:
        raise BertlabError("bench-bertviz-changed")
    try:
        timer, paint_time = open_html(page, f"<!doctype html><meta charset=utf-8>{view}", "svg line", limit)
        hover_time = timer.time_repeatedly(BERTVIZ_HOVER, NUM_HOVERS)
        return [(*row, paint_time, hover_time, timer.time_repeatedly(BERTVIZ_SWITCH_LAYER, NUM_SWITCHES))]
    except Error as error:
        if "Timeout" in error.message:
            return [(*row, f"did not open in {limit:.0f} s", "", "")]
        return [(*row, f"did not open: {error.message.splitlines()[0]}", "", "")]


def format_row(cells: tuple[str, ...]) -> str:
    """Return a row of a table in Markdown."""
    return f"| {' | '.join(cells)} |"


def measure(config: AttentionViewBenchConfig) -> dict:
    """Return the columns and the rows of the table, and print each row as soon as it is measured."""
    measurements: dict = {"columns": COLUMNS, "rows": []}
    layers, heads = config.layers, config.attention_heads
    with sync_playwright() as driver:
        views = [(measure_bertlab, size) for size in config.tokens]
        views += [(measure_bertviz, size) for size in config.bertviz]
        for index, (measure_view, size) in enumerate(views):
            # A new browser for each view: a page that does not open must not slow down the next one.
            browser = launch_chromium(driver)
            if index == 0 and not config.json:
                print(f"Chromium {browser.version}, {platform.machine()}, {layers} x {heads} heads;")
                print("times: median wall-clock time (in brackets: mean CPU time of the page)\n")
                print("\n".join(map(format_row, (COLUMNS, ("---",) * len(COLUMNS), TARGETS))), flush=True)
            page = browser.new_page(viewport={"width": 1280, "height": 900})
            for row in measure_view(page, make_synthetic_attention(layers, heads, size), config.limit):
                measurements["rows"].append(row)
                if not config.json:
                    print(format_row(row), flush=True)
            browser.close()
    return measurements


def run(config: AttentionViewBenchConfig) -> None:
    """Measure both views. With `--record`, record how many times larger and slower bertviz's view is.

    These ratios are computed for the longest input that both views could show.
    """
    measurements = measure(config)
    # (view, tokens) -> row, for the rows with a time of the first paint; the numbers below are indices in `COLUMNS`
    timed_rows = {(row[0], int(row[1])): row for row in measurements["rows"] if " ms" in row[4]}
    sizes = [
        size for name, size in timed_rows if name.startswith("bertviz") and ("bertlab, first view", size) in timed_rows
    ]
    results = []
    if sizes:
        size = max(sizes)
        claim = f"App: attention view of {config.layers} x {config.attention_heads} heads, {size} tokens"
        bertlab_row, bertviz_row = timed_rows["bertlab, first view", size], timed_rows["bertviz, head view", size]
        for name, column in (("size in bytes", 2), ("first paint", 4), ("layer switch", 6)):
            if bertlab_row[column] and bertviz_row[column]:
                bertviz_value, bertlab_value = (
                    _parse_leading_number(row[column]) for row in (bertviz_row, bertlab_row)
                )
                ratio = round(bertviz_value / bertlab_value, 1)
                results.append(Result(f"{claim}, {name}", ratio, unit="x", n=1, peer="bertviz head view"))
    report(measurements if config.json else {}, results, config)


def _parse_leading_number(cell: str) -> float:
    return float(cell.split()[0].replace(",", ""))
