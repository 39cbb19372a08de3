"""Make the README's animation, assets/tour.webp, from the running app: `python -m scripts.make_tour`.

The animation points at words on the attention page, follows one head, switches heads off on the head-surgery page, and
plays a training run in the time machine.
"""

import io
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

from PIL import Image
from playwright.sync_api import Page

from benchmarks.app_process import run_app
from benchmarks.browser import open_browser

ROOT = Path(__file__).parents[1]
OUT = ROOT / "assets" / "tour.webp"
WIDTH, HEIGHT = 1180, 780  # pixels of the browser
SCALE = 0.8  # size of the picture relative to the browser
MAX_BYTES = 3_000_000
SHORT, LONG = 130, 1100  # how long a frame is shown, in milliseconds

# A headless browser draws no mouse pointer, so the page draws a dot that follows the mouse.
POINTER = """() => {
  const dot = document.createElement("div");
  dot.style.cssText = "position:fixed;width:18px;height:18px;border-radius:9px;background:rgba(230,90,0,.55);"
    + "border:2px solid white;pointer-events:none;z-index:99999999;transform:translate(-50%,-50%);left:-50px";
  document.body.append(dot);
  addEventListener("mousemove", (event) => {
    dot.style.left = event.clientX + "px";
    dot.style.top = event.clientY + "px";
  });
}"""

Frame = tuple[Image.Image, int]
"""A picture, and the milliseconds for which it is shown."""


def capture_frame(page: Page, milliseconds: int = SHORT) -> Frame:
    """Return a screenshot and the time for which it is shown."""
    image = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    return image.resize((round(WIDTH * SCALE), round(HEIGHT * SCALE)), Image.Resampling.LANCZOS), milliseconds


def open_page(page: Page, address: str, path: str, ready: str, **parameters: str) -> None:
    """Open a page of the app and wait until it is complete."""
    page.goto(f"http://{address}/{path}?{urlencode(parameters)}")
    page.locator(ready).first.wait_for(timeout=120_000)
    page.wait_for_selector('[data-test-script-state="notRunning"]')
    page.wait_for_timeout(2500)  # the view fades in, and the indicator of the running script disappears
    page.evaluate(POINTER)


def move_pointer(page: Page, places: list[tuple[float, float]], milliseconds: int = LONG) -> Iterator[Frame]:
    """Move the pointer to each place (x, y in pixels), and yield a frame there."""
    for x, y in places:
        page.mouse.move(x, y, steps=3)
        page.wait_for_timeout(250)
        yield capture_frame(page, milliseconds)


def show_attention(page: Page, address: str) -> Iterator[Frame]:
    """Point at words on the attention page."""
    pair = {"a": "The boy put the glass on the table.", "b": "It fell because the table was not level."}
    open_page(page, address, "attention", ".bl-attention canvas", layer="1", hide="1", **pair)
    box = page.locator(".bl-attention canvas").first.bounding_box()
    page.mouse.move(WIDTH / 2, HEIGHT / 2)  # over the page, so that the wheel scrolls it and not the sidebar
    page.mouse.wheel(0, max(box["y"] - 150, 0))
    page.wait_for_timeout(600)
    box = page.locator(".bl-attention canvas").first.bounding_box()
    yield capture_frame(page, LONG)
    left = box["x"] + 0.18 * box["width"]
    yield from move_pointer(
        page, [(left, box["y"] + share * min(box["height"], 520)) for share in (0.2, 0.35, 0.5, 0.65)]
    )


def show_head_surgery(page: Page, address: str) -> Iterator[Frame]:
    """Switch three heads off."""
    open_page(page, address, "heads", ".heads .grid button")
    yield capture_frame(page, LONG)
    for number in (8, 11, 20):
        button = page.locator(".heads .grid button:not(.row)").nth(number)
        box = button.bounding_box()
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, steps=4)
        yield capture_frame(page, 500)
        button.click()
        page.wait_for_timeout(1800)
        yield capture_frame(page, LONG)


def show_time_machine(page: Page, address: str) -> Iterator[Frame]:
    """Play the first snapshots of a training run."""
    open_page(page, address, "time-machine", ".bl-slider", at="0")
    slider = page.locator(".bl-slider").first
    slider.focus()
    page.keyboard.press("Home")
    page.wait_for_timeout(500)
    yield capture_frame(page, LONG)
    for _ in range(7):
        page.keyboard.press("ArrowRight")
        page.wait_for_timeout(450)
        yield capture_frame(page, 650)
    yield capture_frame(page, LONG)


def save_animation(frames: list[Frame], out: Path) -> int:
    """Write the frames as one animated WebP within `MAX_BYTES`; return its size in bytes."""
    images, durations = zip(*frames, strict=True)
    for quality in (80, 70, 60, 50, 40, 30):
        buffer = io.BytesIO()
        images[0].save(
            buffer, "WEBP", save_all=True, append_images=images[1:], duration=list(durations), loop=0,
            quality=quality, method=6,
        )  # fmt: skip
        if len(buffer.getvalue()) < MAX_BYTES:
            break
    temporary = out.with_suffix(".part")
    temporary.write_bytes(buffer.getvalue())
    temporary.rename(out)
    return len(buffer.getvalue())


def main() -> None:
    with run_app() as address, open_browser() as browser:
        frames: list[Frame] = []
        for scene in (show_attention, show_head_surgery, show_time_machine):
            page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light")
            frames += scene(page, address)
            page.close()
    size = save_animation(frames, OUT)
    print(f"{OUT.relative_to(ROOT)}: {len(frames)} frames, {size / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
