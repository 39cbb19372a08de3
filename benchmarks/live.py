"""`bertlab bench live`: measure the size, opening time and response time of HTML files of `bertlab export-live`.

The model in the file runs on one core, in a web worker of a headless Chromium without a network.
"""

import statistics
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import Browser
from tqdm import tqdm

from benchmarks.browser import open_browser
from benchmarks.harness import BenchOptions, describe_load, report
from benchmarks.results import Result
from bertlab.abilities.live.export import write_live_page
from bertlab.session import load

NUM_TOKENS = 24  # the length of the timed input, with [CLS] and [SEP]
TEXT = " ".join(["the"] * (NUM_TOKENS - 2))
TARGETS_MS = {"scratch": 300, "strongest": 1000}  # checkpoint -> target for the time of a later answer
OPENING_TARGET_MS = 2000  # target for the time from opening the file to the first answer

# This function returns the milliseconds of one answer to the text `a`: the tokenisation, the forward pass, and making
# the payload of the attention view.
ANSWER = """async (a) => {
  const start = performance.now();
  await bertlab.ask("attention", { a, b: null });
  return performance.now() - start;
}"""


@dataclass(frozen=True)
class LiveBenchConfig(BenchOptions):
    """Measure how fast a browser opens the HTML files of `bertlab export-live`, and how fast they respond.

    Examples:
      bertlab bench live
      bertlab bench live --checkpoints scratch --rounds 20
      bertlab bench live --checkpoints strongest --record
    """

    checkpoints: tuple[str, ...] = ("scratch", "strongest")
    """The checkpoints to export."""
    rounds: int = 9
    """Number of rounds. In each round, every file is opened, and one response to an input is timed."""


def measure_page(browser: Browser, path: Path, rounds: int) -> tuple[list[float], list[float]]:
    """Return two times in ms for each round: from navigation to the first answer, and of a later answer."""
    opening_times, answer_times = [], []
    for _ in tqdm(range(rounds), path.stem, leave=False):
        context = browser.new_context(offline=True)
        page = context.new_page()
        start = time.perf_counter()
        page.goto(path.as_uri())
        page.evaluate("bertlab.ready")  # resolves when the first answer is shown
        opening_times.append(1000 * (time.perf_counter() - start))
        page.evaluate(ANSWER, TEXT)  # a warm-up, in which the browser compiles the code that it runs often
        answer_times.append(page.evaluate(ANSWER, TEXT))
        context.close()
    return opening_times, answer_times


def run(config: LiveBenchConfig) -> None:
    """Measure, print the measurements, and record the results if `--record` is given."""
    hardware, results = describe_load(), []
    measurements: dict = {"hardware": hardware}
    with TemporaryDirectory() as directory, open_browser() as browser:
        for name in config.checkpoints:
            session = load(name)
            assert len(session.tokenizer.encode(TEXT)) == NUM_TOKENS
            path = Path(directory) / f"{session.name}.html"
            measurements[f"{name}, MB"] = round(write_live_page(session, path) / 1e6, 1)
            opening_times, answer_times = measure_page(browser, path, config.rounds)
            for quantity, times, target in (
                ("from opening the file to the first answer", opening_times, OPENING_TARGET_MS),
                (f"attention of {NUM_TOKENS} tokens", answer_times, TARGETS_MS.get(name)),
            ):
                median, spread = round(statistics.median(times)), (round(min(times)), round(max(times)))
                measurements[f"{name}, {quantity}, ms"] = f"{median} ({spread[0]} to {spread[1]})"
                claim = f"App: {name} as one HTML file, {quantity}, median"
                results.append(Result(claim, median, "ms", spread, config.rounds, target=target, hardware=hardware))
    report(measurements, results, config)
