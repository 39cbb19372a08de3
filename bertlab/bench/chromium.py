"""The browser that benchmarks and screenshots drive."""

import os
import shutil

from playwright.sync_api import Browser, Playwright

from bertlab.config.errors import BertlabError

NAMES = ("chromium", "google-chrome", "chromium-browser", "chrome", "chromium-headless-shell")
ARGS = ["--no-sandbox", "--headless", "--disable-gpu", "--no-first-run", "--disable-sync"]


def launch_chromium(driver: Playwright) -> Browser:
    """Start the Chromium that BERTLAB_CHROMIUM names, or the first that is installed.

    Raises:
        BertlabError: there is none.
    """
    path = os.environ.get("BERTLAB_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        raise BertlabError("bench-needs-chromium")
    return driver.chromium.launch(executable_path=path, args=ARGS)
