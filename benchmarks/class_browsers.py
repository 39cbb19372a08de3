"""Students of a school class in real browsers: pages of one headless Chromium, each with cookies of its own."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from playwright.async_api import Browser, Page, async_playwright

from benchmarks.app_pages import TIMEOUT_SECONDS
from benchmarks.chromium import ARGUMENTS, find_chromium

# a JavaScript function that returns whether the whole page is drawn
IS_DRAWN = """() => document.querySelector("h1") && !document.querySelector(".skeleton, .news > *")
  && document.querySelector('[data-test-script-state="notRunning"]')"""
# A JavaScript function that returns whether the class panel contains a text. The panel shows a student the step of the
# lesson and its question.
PANEL_SHOWS = "text => document.querySelector('.st-key-class-panel')?.innerText.includes(text)"


@asynccontextmanager
async def open_browser() -> AsyncIterator[Browser]:
    """Start the Chromium that `find_chromium` finds, and close it at the end.

    Raises:
        BertlabError: no Chromium is on the PATH.
    """
    async with async_playwright() as driver:
        browser = await driver.chromium.launch(executable_path=find_chromium(), args=ARGUMENTS)
        yield browser
        await browser.close()


class BrowserStudent:
    """A student who uses the app in a browser, with the same methods as `class_students.Student`.

    Args:
        browser: the browser. The student gets a browser context of its own, with its own cookies.

    Attributes:
        errors: errors of the page's scripts, and errors shown on the page.
    """

    def __init__(self, browser: Browser):
        self.errors: list[str] = []
        self._browser = browser
        self._context = None
        self._page: Page

    async def open(self, address: str) -> None:
        """Open the students' address. At a second call, the browser still has the cookies of the first call."""
        self._context = self._context or await self._browser.new_context(locale="en-US")
        self._page = await self._context.new_page()
        # in milliseconds: ten times the limit of simulated students, because thirty browsers on two cores open slowly
        self._page.set_default_timeout(TIMEOUT_SECONDS * 10_000)
        self._page.on("pageerror", lambda error: self.errors.append(str(error)))
        await self._page.goto(f"http://{address}/", wait_until="commit")

    async def close(self) -> None:
        """Close the page."""
        self.errors += await self._page.locator('[role="alert"]').all_inner_texts()
        await self._page.close()

    async def wait_for(self, text: str) -> float:
        """Wait until the panel shows a text. Return the value of `time.perf_counter()` at that moment."""
        await self._page.wait_for_function(PANEL_SHOWS, arg=text)
        return time.perf_counter()

    async def wait_until_drawn(self) -> float:
        """Wait until the whole page is drawn. Return the value of `time.perf_counter()` at that moment."""
        await self._page.wait_for_function(IS_DRAWN)
        return time.perf_counter()

    async def guess(self, value: float) -> float:
        """Type a number into the form and send it. Return the milliseconds until the panel confirms it."""
        await self._page.locator(".st-key-class-panel input").fill(f"{value:g}")
        start = time.perf_counter()
        await self._page.locator(".st-key-class-panel .stFormSubmitButton button").click()
        return (await self.wait_for(f"Your guess: {value:g}") - start) * 1000
