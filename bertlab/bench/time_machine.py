"""`bertlab bench time-machine`: how long a frame of the time machine takes while its slider is dragged.

The view is the offline page that its Save menu writes, in a headless Chromium. A frame lasts from the slider's event to
the end of the frame that shows the new moment, its pixels read back. Every moment is visited in a shuffled order, first
when its picture has to be drawn and then again.
"""

import os
import random
import statistics
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import Page, sync_playwright

from bertlab.bench.chromium import launch_chromium
from bertlab.bench.harness import BenchOptions, report
from bertlab.bench.results import Result
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
class TimeMachineBenchConfig(BenchOptions):
    """Measure the frames of the time machine in a browser.

    Examples:
      bertlab bench time-machine
      bertlab bench time-machine --run runs/en --rounds 5
    """

    run: Path = Path("assets/runs/tiny-en")
    """A run with snapshots."""
    rounds: int = 3
    """Number of repetitions for each snapshot after the first."""


def time_frames(page: Page, rounds: int) -> dict:
    """Return the median and the slowest frame, of moments drawn for the first time and of moments drawn again."""
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


def bench(options: TimeMachineBenchConfig) -> dict:
    """Return the frame times of a short and a long input, with one moment and with two side by side."""
    found = {"cores": os.cpu_count(), "load": round(os.getloadavg()[0], 1)}
    rows = history.thin_log(history.read_log(options.run))
    with TemporaryDirectory() as directory, sync_playwright() as driver:
        browser = launch_chromium(driver)
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
                found[f"{name}, {view}"] = about | time_frames(page, options.rounds)
                page.close()
        browser.close()
    return found


def run(config: TimeMachineBenchConfig) -> None:
    """Measure, print and record."""
    measurements = bench(config)
    views = [view for view in measurements.values() if isinstance(view, dict)]
    slowest = max(view["frame_ms"] for view in views)
    claim = "App: a frame of the time machine while its slider is dragged, slowest view, median"
    result = Result(claim, slowest, unit="ms", n=config.rounds * views[0]["moments"], aim=100)
    report(measurements, [result], config)
