"""Measures the time machine in a real Chromium: how long a frame takes while the slider is dragged, and the way there.

`python scripts/bench_time_machine.py --run DIR [--out FILE.json]` starts `bertlab app`, opens the page on that run and
prints one JSON object; times are in milliseconds. A frame goes from the slider's event to the end of the frame that
shows the new moment, every moment visited in a shuffled order, first when its picture has to be made and then again.

Knows nothing of models, only what stands on the page; see BENCHMARKS.md for what was measured where.
"""

import json
import os
import random
import shutil
import statistics
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

import tyro
from bench_app import server
from bench_attention import ARGS
from playwright.sync_api import Page, sync_playwright

SHORT = ("She opened the [MASK] and went into the house.", "It was cold outside, and nobody was at home.")
LONG = (
    "The old man told the [MASK] about the farm where he was born, how his mother had found the dog in the snow, and "
    "how his brother had wanted to sell it for two horses.",
    "Nobody believed all of it, but everybody liked to listen, and the children always asked him to tell the end of it "
    "twice before they went home.",
)

# Streamlit puts a component into a shadow root, so the page is searched through them.
FIND = """(selector) => {
  const look = (node) => {
    for (const child of node.querySelectorAll("*")) {
      if (child.matches(selector)) return child;
      const found = child.shadowRoot && look(child.shadowRoot);
      if (found) return found;
    }
    return null;
  };
  return look(document);
}"""

DRAG = f"""async (order) => {{
  const find = {FIND};
  const slider = find(".bl-slider"), times = [];
  for (const at of order) {{
    await new Promise((done) => setTimeout(done, 40));
    const began = performance.now();
    slider.value = at;
    slider.dispatchEvent(new Event("input", {{ bubbles: true }}));
    await new Promise(requestAnimationFrame);
    await new Promise((done) => setTimeout(done));
    // read back, so that what the browser put off is counted too
    const canvases = slider.getRootNode().querySelectorAll("canvas");
    for (const canvas of canvases) canvas.getContext("2d").getImageData(0, 0, 1, 1);
    times.push(performance.now() - began);
  }}
  return times;
}}"""


@dataclass(frozen=True)
class Options:
    """run: a run's directory with snapshots; rounds: how often every moment is visited; out: also write the JSON."""

    run: Path
    rounds: int = 3
    out: Path | None = None


def opened(page: Page, address: str, options: Options, texts: tuple[str, str], **parameters: str) -> float:
    """Open the page; milliseconds until the slider stands there."""
    asked = {"run": str(options.run.resolve()), "then.en.a": texts[0], "then.en.b": texts[1], **parameters}
    page.goto(f"http://{address}/time-machine?{urlencode(asked)}")
    page.wait_for_function(f'() => ({FIND})(".bl-slider")', timeout=120_000)
    took = page.evaluate("performance.now()")
    page.wait_for_timeout(1500)
    return took


def frames(page: Page, rounds: int) -> dict:
    """Medians and worst of the frames of every moment in a shuffled order."""
    count = int(page.evaluate(f'() => ({FIND})(".bl-slider").max')) + 1
    order = list(range(count))
    random.Random(0).shuffle(order)
    first = page.evaluate(DRAG, order)
    again = [time for _ in range(rounds) for time in page.evaluate(DRAG, order)]
    return {
        "moments": count,
        "first_ms": round(statistics.median(first), 1),
        "first_worst_ms": round(max(first), 1),
        "frame_ms": round(statistics.median(again), 1),
        "frame_worst_ms": round(max(again), 1),
    }


def main(options: Options) -> None:
    """Measure a short and a long input, one moment and two side by side."""
    chromium = os.environ.get("BERTLAB_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    found = {"cores": os.cpu_count(), "load": round(os.getloadavg()[0], 1)}
    with server() as address, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=ARGS)
        for name, texts in (("short", SHORT), ("long", LONG)):
            for view, parameters in (("one", {}), ("side by side", {"against": "0"})):
                page = browser.new_page(viewport={"width": 1280, "height": 1000})
                page.set_default_timeout(120_000)
                took = opened(page, address, options, texts, **parameters)
                found[f"{name}, {view}"] = {"open_ms": round(took, 1), **frames(page, options.rounds)}
                page.close()
        browser.close()
    print(text := json.dumps(found, indent=2))
    if options.out:
        options.out.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(tyro.cli(Options, description=__doc__))
