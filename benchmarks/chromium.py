"""Start the browser that benchmarks and screenshots control."""

import os
import shutil

from playwright.sync_api import Browser, Playwright

from bertlab.config.errors import BertlabError

# the names under which Chromium or Chrome may be installed, in the order in which they are tried
EXECUTABLES = ("chromium", "google-chrome", "chromium-browser", "chrome", "chromium-headless-shell")
# command-line arguments of the browser
ARGUMENTS = ["--no-sandbox", "--headless", "--disable-gpu", "--no-first-run", "--disable-sync"]


def launch_chromium(driver: Playwright) -> Browser:
    """Start the Chromium that `find_chromium` finds.

    Raises:
        BertlabError: no Chromium is on the PATH.
    """
    return driver.chromium.launch(executable_path=find_chromium(), args=ARGUMENTS)


def find_chromium() -> str:
    """Return the path of Chromium, from the environment variable BERTLAB_CHROMIUM or else from the PATH.

    Raises:
        BertlabError: the variable is not set, and no Chromium is on the PATH.
    """
    path = os.environ.get("BERTLAB_CHROMIUM") or next(filter(None, map(shutil.which, EXECUTABLES)), None)
    if path is None:
        raise BertlabError("bench-needs-chromium")
    return path
