"""`bertlab bench attention-view`: compare the attention view in a headless Chromium with bertviz's head view.

Both views show the same synthetic attention, with peaks like those of trained heads. bertviz's page is the result of
`head_view(html_action="return")`; the libraries that it would load from a CDN are embedded in the page.
"""

import platform
import re
import statistics
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch
from playwright.sync_api import Error, Page
from scipy.special import softmax

from benchmarks.browser import DEFINE_TIMERS, open_browser
from benchmarks.harness import BenchOptions, report
from benchmarks.results import Result
from bertlab.abilities.results import AttentionMap, TokenRow
from bertlab.config.errors import BertlabError
from bertlab.views import assets, html, payload

NUM_SWITCHES = 5  # how many layer switches are timed

# These functions return the milliseconds of a switch from layer `i` to the next one.
SWITCH_LAYER = """(i) => timeAction(async () => {
  document.querySelectorAll(".bl-step")[1].click();
  const shownLayer = () => Number(document.querySelector(".bl-value").firstChild.data);
  while (shownLayer() !== i + 1) await new Promise((resolve) => setTimeout(resolve));
})"""
BERTVIZ_SWITCH_LAYER = """(i) => timeAction(() => {
  const select = document.querySelector("select#layer");
  select.selectedIndex = i + 1;
  select.dispatchEvent(new Event("change", { bubbles: true }));
})"""
# bertviz loads jQuery and d3 with require.js, which comes from a CDN. `LOCAL_REQUIRE` replaces require.js: it passes on
# the copies of both libraries that the page contains.
REQUIRE_FROM_CDN = re.compile(r'<script src="https://[^"]*/require.min.js"></script>')
LOCAL_REQUIRE = """
window.require = { config() {} };
window.requirejs = (names, run) => run(window.jQuery, window.d3);
"""


@dataclass(frozen=True)
class AttentionViewBenchConfig(BenchOptions):
    """Measure the attention view in a browser and compare it with bertviz.

    Examples:
      bertlab bench attention-view
      bertlab bench attention-view --tokens 64 --bertviz 64 --limit 400
    """

    tokens: int = 128
    """Tokens of the input for bertlab's view."""
    bertviz: int = 128
    """Tokens of the input for bertviz's view. Ratios are recorded if this number equals --tokens."""
    limit: float = 120
    """Maximum seconds for a page to open."""
    layers: int = 12
    """Layers of the synthetic model."""
    attention_heads: int = 12
    """Attention heads in each layer."""


@dataclass(frozen=True)
class ViewTimes:
    """The measurements of one view, in bytes and milliseconds."""

    size_in_bytes: int
    first_paint: float
    layer_switch: float  # median


def make_synthetic_attention(layers: int, heads: int, size: int) -> AttentionMap:
    """Return random attention over two sentences, in which heads attend to neighbours or to the first token."""
    rng = np.random.default_rng(0)
    distance = np.abs(np.arange(size)[:, None] - np.arange(size)[None])
    scores = rng.normal(0, 1.2, (layers, heads, size, size)).astype(np.float32)
    scores -= rng.uniform(0, 2, (layers, heads, 1, 1)) * np.minimum(distance / 2, 6)
    scores[..., 0] += rng.uniform(0, 4, (layers, heads, 1))
    tokens = tuple(TokenRow(i, i, f"word{i}", 6 * i, 6 * i + 5, int(i > size // 2), False) for i in range(size))
    return AttentionMap(tokens, softmax(scores, axis=-1).astype(np.float32))


def make_bertlab_page(attention: AttentionMap) -> tuple[str, int]:
    """Return the HTML of bertlab's view, and the bytes of its data."""
    data = payload.AttentionPack(attention).complete_bytes()
    return html.payload_html("attention", data, "bench"), len(data)


def make_bertviz_page(attention: AttentionMap) -> tuple[str, int]:
    """Return the HTML of bertviz's view, and its bytes without the libraries."""
    from bertviz import head_view  # imported only here, because it imports transformers

    second_start = next(row.position for row in attention.tokens if row.segment == 1)
    probs = [torch.from_numpy(probs_NTT)[None] for probs_NTT in attention.probs_LNTT]
    view = head_view(probs, [row.token for row in attention.tokens], second_start, html_action="return").data
    scripts = [assets.read_static(f"vendor/{name}.min.js") for name in ("jquery.slim", "d3")]
    libraries = "\n".join(["<script>", *scripts, f"{LOCAL_REQUIRE}</script>"])
    page, num_replaced = REQUIRE_FROM_CDN.subn(lambda _: libraries, view)
    if not num_replaced:  # the installed version of bertviz loads its libraries in a different way
        raise BertlabError("bench-bertviz-changed")
    return f"<!doctype html><meta charset=utf-8>{page}", len(view.encode())


def time_view(page: Page, made: tuple[str, int], ready_selector: str, switch_layer: str) -> ViewTimes:
    """Open HTML from a file, and time its first paint and layer switches."""
    document, size = made
    page.add_init_script(DEFINE_TIMERS)
    with TemporaryDirectory() as directory:
        file = Path(directory) / "view.html"
        file.write_text(document, encoding="utf-8")
        page.goto(file.as_uri(), wait_until="commit")
        page.wait_for_selector(ready_selector, state="attached")
        page.evaluate("globalThis.bertlab?.ready")  # waits for a promise of bertlab's view; bertviz's page has none
        page.evaluate("nextFrame()")
        first_paint = page.evaluate("performance.now()")
    switch = statistics.median(page.evaluate(switch_layer, i) for i in range(NUM_SWITCHES))
    return ViewTimes(size, round(first_paint, 1), round(switch, 1))


def measure(config: AttentionViewBenchConfig) -> dict[str, ViewTimes | str]:
    """Return the times of both views, or why a page did not open."""
    views = {
        "bertlab": (config.tokens, make_bertlab_page, "canvas.bl-over", SWITCH_LAYER),
        "bertviz": (config.bertviz, make_bertviz_page, "svg line", BERTVIZ_SWITCH_LAYER),
    }
    measurements: dict[str, ViewTimes | str] = {}
    for name, (size, make_page, ready_selector, switch_layer) in views.items():
        made = make_page(make_synthetic_attention(config.layers, config.attention_heads, size))
        with open_browser() as browser:  # a new one, because a page that does not open must not slow down the next one
            page = browser.new_page(viewport={"width": 1280, "height": 900})
            page.set_default_timeout(1000 * config.limit)
            try:
                measurements[name] = time_view(page, made, ready_selector, switch_layer)
            except Error as error:
                measurements[name] = f"did not open in {config.limit:.0f} s: {error.message.splitlines()[0]}"
    return measurements


def run(config: AttentionViewBenchConfig) -> None:
    """Measure both views. With `--record`, record how many times larger and slower bertviz's view is."""
    measurements = measure(config)
    bertlab, bertviz = (vars(view) if isinstance(view, ViewTimes) else view for view in measurements.values())
    results = []
    if isinstance(bertlab, dict) and isinstance(bertviz, dict) and config.tokens == config.bertviz:
        claim = f"App: attention view of {config.layers} x {config.attention_heads} heads, {config.tokens} tokens"
        results = [
            Result(f"{claim}, {name.replace('_', ' ')}", round(bertviz[name] / bertlab[name], 1), "x", n=1,
                   peer="bertviz head view")
            for name in ("size_in_bytes", "first_paint", "layer_switch")
        ]  # fmt: skip
    report({"machine": platform.machine(), "bertlab": bertlab, "bertviz": bertviz}, results, config)
