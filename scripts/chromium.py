"""The browser that the scripts here drive."""

import os
import shutil

from playwright.sync_api import Browser, Playwright

NAMES = ("chromium", "google-chrome", "chromium-browser", "chrome", "chromium-headless-shell")
ARGS = ["--no-sandbox", "--headless", "--disable-gpu", "--no-first-run", "--disable-sync"]


def launched(driver: Playwright) -> Browser:
    """A Chromium: the one that BERTLAB_CHROMIUM names, or the first that is installed. Exits where there is none."""
    path = os.environ.get("BERTLAB_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        raise SystemExit(
            "no Chromium found: install one (Debian: apt install chromium), or name it in BERTLAB_CHROMIUM"
        )
    return driver.chromium.launch(executable_path=path, args=ARGS)
