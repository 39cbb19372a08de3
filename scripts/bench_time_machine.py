"""Measures the time machine in a real Chromium: how long a frame takes while the slider is dragged, and the way there.

`python scripts/bench_time_machine.py --run DIR [--out FILE.json]` asks every snapshot of that run, opens the view as
the offline page that its Save menu gives (the same component as in the window), and prints one JSON object.

Times are in milliseconds. A frame goes from the slider's event to the end of the frame that shows the new moment, its
pixels read back; every moment is visited in a shuffled order, first when its picture has to be made and then again.

Knows nothing of models, only what stands on the page; see BENCHMARKS.md for what was measured where.
"""

import json
import os
import random
import statistics
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import tyro
from chromium import launched
from playwright.sync_api import Page, sync_playwright

from bertlab.checkpoints import history
from bertlab.explore.timeline import timeline
from bertlab.views import html, payload

SHORT = ("She opened the [MASK] and went into the house.", "It was cold outside, and nobody was at home.")
LONG = (
    "The old man told the [MASK] about the farm where he was born, how his mother had found the dog in the snow, and "
    "how his brother had wanted to sell it for two horses.",
    "Nobody believed all of it, but everybody liked to listen, and the children always asked him to tell the end of it "
    "twice before they went home.",
)

DRAG = """async (order) => {
  const slider = document.querySelector(".bl-slider"), times = [];
  for (const at of order) {
    await new Promise((done) => setTimeout(done, 40));
    const began = performance.now();
    slider.value = at;
    slider.dispatchEvent(new Event("input", { bubbles: true }));
    await new Promise(requestAnimationFrame);
    await new Promise((done) => setTimeout(done));
    // read back, so that what the browser put off is counted too
    for (const canvas of document.querySelectorAll("canvas")) canvas.getContext("2d").getImageData(0, 0, 1, 1);
    times.push(performance.now() - began);
  }
  return times;
}"""


@dataclass(frozen=True)
class Options:
    """run: a run's directory with snapshots; rounds: how often every moment is visited; out: also write the JSON."""

    run: Path
    rounds: int = 3
    out: Path | None = None


def frames(page: Page, rounds: int) -> dict:
    """Medians and worst of the frames of every moment in a shuffled order."""
    count = int(page.evaluate("document.querySelector('.bl-slider').max")) + 1
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
    found = {"cores": os.cpu_count(), "load": round(os.getloadavg()[0], 1)}
    rows = history.thin_log(history.read_log(options.run))
    with TemporaryDirectory() as directory, sync_playwright() as driver:
        browser = launched(driver)
        for name, texts in (("short", SHORT), ("long", LONG)):
            began = time.perf_counter()
            seen = timeline(options.run, *texts)
            packed = payload.timeline_bytes(seen, log=rows)
            about = {
                "tokens": len(seen.tokens),
                "payload_bytes": len(packed),
                "ahead_ms": round(1000 * (time.perf_counter() - began), 1),
            }
            for view, state in (("one", {}), ("side by side", {"against": 0})):
                file = Path(directory) / "machine.html"
                file.write_text(html.timeline_html(seen, log=rows, options={"state": state}), encoding="utf-8")
                page = browser.new_page(viewport={"width": 1280, "height": 1000})
                page.goto(file.as_uri())
                page.locator(".bl-slider").wait_for(timeout=60_000)
                page.wait_for_timeout(500)
                found[f"{name}, {view}"] = about | frames(page, options.rounds)
                page.close()
        browser.close()
    print(text := json.dumps(found, indent=2))
    if options.out:
        options.out.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(tyro.cli(Options, description=__doc__))
