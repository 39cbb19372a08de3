"""`bertlab bench time-machine`: measure the frame times of the time machine while its slider is dragged.

The page opens as the HTML file that its Save menu writes. All snapshots are shown in a shuffled order.
"""

import random
import statistics
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import Page

from benchmarks.browser import DEFINE_TIMERS, open_browser
from benchmarks.harness import BenchOptions, describe_load, report
from benchmarks.results import Result
from bertlab.abilities.timeline.compute import timeline
from bertlab.checkpoints import history
from bertlab.views import html

# the two texts of a short and of a long input
INPUTS = {
    "short": ("She opened the [MASK] and went into the house.", "It was cold outside, and nobody was at home."),
    "long": (
        "The old man told the [MASK] about the farm where he was born, how his mother had found the dog in the snow, "
        "and how his brother had wanted to sell it for two horses.",
        "Nobody believed all of it, but everybody liked to listen, and the children always asked him to tell the end "
        "of it twice before they went home.",
    ),
}
# This function moves the slider to each snapshot in turn. It returns the milliseconds until each frame is drawn.
DRAG_SLIDER = """async (order) => {
  const slider = document.querySelector(".bl-slider"), times = [];
  for (const snapshot of order) {
    await new Promise((resolve) => setTimeout(resolve, 40));
    times.push(await timeAction(() => {
      slider.value = snapshot;
      slider.dispatchEvent(new Event("input", { bubbles: true }));
    }));
  }
  return times;
}"""


@dataclass(frozen=True)
class TimeMachineBenchConfig(BenchOptions):
    """Measure the frame times of the time machine, the page that replays the snapshots of a run, in a browser.

    Examples:
      bertlab bench time-machine
      bertlab bench time-machine --run runs/en --rounds 5
    """

    run: Path = Path("assets/runs/tiny-en")
    """The run directory, which must have snapshots."""
    rounds: int = 3
    """How many times each snapshot is shown again after it was first shown."""


def time_frames(page: Page, rounds: int) -> dict:
    """Return the number of snapshots, and the median and the largest frame time after each was shown once."""
    order = list(range(int(page.evaluate("document.querySelector('.bl-slider').max")) + 1))
    random.Random(0).shuffle(order)
    page.evaluate(DRAG_SLIDER, order)
    times = [frame_time for _ in range(rounds) for frame_time in page.evaluate(DRAG_SLIDER, order)]
    return {
        "snapshots": len(order),
        "frame_ms": round(statistics.median(times), 1),
        "frame_worst_ms": round(max(times), 1),
    }


def measure(config: TimeMachineBenchConfig) -> dict[str, dict]:
    """Return the frame times of a short and a long input, with one snapshot and with two side by side."""
    measurements = {}
    log_rows = history.thin_log(history.read_log(config.run))
    with TemporaryDirectory() as directory, open_browser() as browser:
        for name, texts in INPUTS.items():
            run_timeline = timeline(config.run, *texts)
            # the value of "against" is the index of the snapshot that is shown beside the selected one
            for view, state in (("one", {}), ("side by side", {"against": 0})):
                file = Path(directory) / "time-machine.html"
                document = html.timeline_html(run_timeline, log=log_rows, options={"state": state})
                file.write_text(document, encoding="utf-8")
                page = browser.new_page(viewport={"width": 1280, "height": 1000})
                page.add_init_script(DEFINE_TIMERS)
                page.goto(file.as_uri())
                page.locator(".bl-slider").wait_for(timeout=60_000)
                page.wait_for_timeout(500)
                measurements[f"{name}, {view}"] = time_frames(page, config.rounds)
                page.close()
    return measurements


def run(config: TimeMachineBenchConfig) -> None:
    """Measure, print the measurements, and record the result if `--record` is given."""
    hardware, views = describe_load(), measure(config)
    slowest = max(view["frame_ms"] for view in views.values())
    count = config.rounds * next(iter(views.values()))["snapshots"]
    claim = "App: a frame of the time machine while its slider is dragged, slowest view, median"
    report(views, [Result(claim, slowest, unit="ms", n=count, target=100, hardware=hardware)], config)
