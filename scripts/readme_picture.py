"""Makes assets/attention.png, the README's picture, from the running app: `python scripts/readme_picture.py`.

Knows one page and one address of it.
"""

from urllib.parse import urlencode

from bench_app import ROOT, server
from chromium import launched
from playwright.sync_api import sync_playwright

SHOWN = {
    "a": "The boy put the glass on the table.",
    "b": "It fell because the table was not level.",
    "layer": "1",
    "hide": "1",
}


def main() -> None:
    with server() as address, sync_playwright() as playwright:
        browser = launched(playwright)
        page = browser.new_page(viewport={"width": 1240, "height": 930}, color_scheme="light")
        page.goto(f"{address}/attention?{urlencode(SHOWN)}")
        page.locator("canvas").first.wait_for()
        page.wait_for_timeout(3000)  # the picture fades in, and the running man leaves
        page.mouse.move(620, 600)
        page.screenshot(path=ROOT / "assets" / "attention.png")
        browser.close()


if __name__ == "__main__":
    main()
