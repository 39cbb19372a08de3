"""Measures the attention view in a real Chromium: bytes, first paint, hover and layer switch, for several lengths of
input.

`python scripts/bench_attention.py [--tokens 32 128 512] [--out FILE.json]` prints one JSON object. Attention is made
up, peaked as trained heads are; times are medians in milliseconds. Knows nothing of models; see BENCHMARKS.md for
what was measured where.
"""

import json
import platform
import shutil
import statistics
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import tyro
from playwright.sync_api import sync_playwright

from bertlab.explore.facts import AttentionMap, TokenRow
from bertlab.views import html, payload

ARGS = ["--no-sandbox", "--headless", "--disable-gpu", "--no-first-run", "--disable-sync"]

# frame(): a drawn frame, its pixels read back so that what the browser put off is counted too
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


@dataclass(frozen=True)
class Options:
    """tokens: lengths to measure; layers, heads: of the made-up model; out: also write the JSON there."""

    tokens: tuple[int, ...] = (32, 128, 512)
    layers: int = 12
    heads: int = 12
    out: Path | None = None


def made_up(layers: int, heads: int, size: int) -> AttentionMap:
    """Heads that look near, at the first token, or at themselves, with noise."""
    rng = np.random.default_rng(0)
    distance = np.abs(np.arange(size)[:, None] - np.arange(size)[None])
    scores = rng.normal(0, 1.2, (layers, heads, size, size)).astype(np.float32)
    scores -= rng.uniform(0, 2, (layers, heads, 1, 1)) * np.minimum(distance / 2, 6)
    scores[..., 0] += rng.uniform(0, 4, (layers, heads, 1))
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    tokens = tuple(TokenRow(i, i, f"word{i}", 6 * i, 6 * i + 5, int(i > size // 2), False) for i in range(size))
    return AttentionMap(tokens, (powers / powers.sum(-1, keepdims=True)).astype(np.float32))


def measure(browser, fact: AttentionMap) -> dict:
    """One length of input: bytes as sent to the app, and times in a page that holds all of it."""
    start = time.perf_counter()
    sent = payload.attention_bytes(fact)
    packing = time.perf_counter() - start
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "view.html"
        file.write_text(html.attention_html(fact), encoding="utf-8")
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.goto(file.as_uri())
        page.evaluate("bertlab.ready")
        first_paint = page.evaluate("performance.now()")
        times = page.evaluate(PROBE)
        page.close()
        size = file.stat().st_size
    return {
        "tokens": len(fact.tokens),
        "payload_bytes": len(sent),
        "packing_ms": round(packing * 1000, 1),
        "html_bytes": size,
        "first_paint_ms": round(first_paint, 1),
        "hover_ms": round(statistics.median(times["hover"]), 1),
        "layer_switch_ms": round(statistics.median(times["layers"]), 1),
    }


def main(options: Options) -> None:
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        raise SystemExit("no Chromium found; install one (Debian: apt-get install chromium)")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=ARGS)
        version = browser.version
        rows = [measure(browser, made_up(options.layers, options.heads, size)) for size in options.tokens]
        browser.close()
    report = {
        "chromium": version,
        "machine": platform.machine(),
        "layers": options.layers,
        "heads": options.heads,
        "rows": rows,
    }
    text = json.dumps(report, indent=1)
    print(text)
    if options.out:
        part = options.out.with_name(options.out.name + ".part")
        part.write_text(text, encoding="utf-8")
        part.replace(options.out)


if __name__ == "__main__":
    main(tyro.cli(Options))
