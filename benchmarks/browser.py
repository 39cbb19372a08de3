"""The browser that benchmarks and scripts control: start it, open files in it, and time what a page draws."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, sync_playwright

from bertlab.config.errors import BertlabError

# the names under which Chromium or Chrome may be installed, in the order in which they are tried
EXECUTABLES = ("chromium", "google-chrome", "chromium-browser", "chrome", "chromium-headless-shell")
ARGUMENTS = ["--no-sandbox", "--headless", "--disable-gpu", "--no-first-run", "--disable-sync"]

# `nextFrame` waits until a frame is drawn, and then reads pixels, which makes the browser finish postponed drawing.
# `timeAction` returns the milliseconds from an action to the end of its frame.
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


@contextmanager
def open_browser() -> Iterator[Browser]:
    """Start Chromium: BERTLAB_CHROMIUM, or else the first one on the PATH."""
    path = os.environ.get("BERTLAB_CHROMIUM") or next(filter(None, map(shutil.which, EXECUTABLES)), None)
    if path is None:
        raise BertlabError("bench-needs-chromium")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield browser
        browser.close()
