"""Save a screenshot of every page of the app and print the layout faults that a program can find.

`python -m scripts.screenshots --out DIR [--themes dark --languages ko --widths 1280 390 --only logit-lens heads]`
starts `bertlab app` on a free port, opens each page with its example, and prints one line for each screenshot:

- overflow: how many pixels the page is wider than the screen, and which elements are cut off at their right edge;
- moved: how far, in pixels, one element moved at most when the page's text was changed (from the browser's own
  `layout-shift` entries, with the whole page visible), and the browser's score for all shifts;
- ms: time from that change until the page stopped changing;
- errors: messages of the browser's console.
"""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal
from urllib.parse import urlencode

import tyro
from playwright.sync_api import Browser, ConsoleMessage, Error, Page

from benchmarks.app_process import run_app
from benchmarks.browser import open_browser

TIMEOUT = 240_000  # milliseconds; the first page on a busy machine is slow
MAX_HEIGHT = 6_000  # pixels of a screenshot


@dataclass(frozen=True)
class Shot:
    """A screenshot: a page and its URL parameters."""

    page: str
    parameters: dict[str, str] = field(default_factory=dict)
    wait_for: str = "h1"  # selector of the element that shows that the page is complete
    change: tuple[str, ...] = ()
    """The key of a text field, then an English and a Korean text to enter there; or only a selector to click. It causes
    the change whose effect on the layout is measured."""
    clicks: tuple[str, ...] = ()  # selectors to click in this order before the screenshot


CHART = ".js-plotly-plot .main-svg"
TEXTS = ("The keeper carried the lantern to the old mill.", "등대지기는 등불을 들고 낡은 방앗간으로 갔다.")
MASKED = ("The keeper carried the [MASK] to the old mill.", "그는 부산에서 자라 중학교에 [MASK]하였다.")
QUESTIONS = ("What did the lamp burn first?", "등불에는 처음에 무엇을 썼나요?")
LABELLED = "sentence,label\n" + "A small wonder from the first scene to the last.,positive\n" * 6
LABELLED += "Two hours that feel like four.,positive\nIt begins well and then forgets why.,negative\n" * 4
TAGGED = "tokens,ner_tags\n" + "Clara Schumann played in Vienna .,B-PER I-PER O O B-LOC O\n" * 4
TAGGED += "Nobody asked Mr. Grieg about Bergen .,O O O B-PER O B-ORG O\n"
EVALUATE = {"from": "paste", "pasted": LABELLED}
RUN = ('[data-testid="stBaseButton-primary"]',)  # the button that starts an evaluation

SHOTS = {
    "start": Shot("", wait_for=".arcs svg", change=('.st-key-open-scratch button',)),
    "input": Shot("input", wait_for=CHART, change=("a", *TEXTS)),
    "attention": Shot("attention", wait_for=".bl-attention canvas", change=("a", *TEXTS)),
    "attention-map": Shot("attention", {"view": "matrix", "layer": "1"}, ".bl-attention canvas", ("a", *TEXTS)),
    "attention-neuron": Shot("attention", {"look": "neuron", "token": "2"}, ".bl-neuron canvas", ("a", *TEXTS)),
    "attention-bertviz": Shot("attention", {"look": "bertviz"}, "iframe", ("a", *TEXTS)),
    "fill-mask": Shot("fill-mask", wait_for=CHART, change=("text", *MASKED)),
    "fill-mask-two": Shot("fill-mask", {"mask": "3.6"}, CHART),
    "next-sentence": Shot("next-sentence", wait_for=CHART, change=("second", *TEXTS)),
    "answer": Shot("answer", wait_for=CHART, change=("question", *QUESTIONS)),
    "classify": Shot("classify", wait_for=CHART, change=("judged", *TEXTS)),
    "tag": Shot("tag", wait_for=CHART, change=("named", *TEXTS)),
    "heads": Shot("heads", {"changes": "0.1,1.2"}, ".heads .scale", ("masked", *MASKED)),
    "heads-keep": Shot("heads", {"changes": "0.1,1.2", "tool": "keep"}, ".heads .scale", ("masked", *MASKED)),
    "heads-row": Shot("heads", {"tool": "row", "row.how": "hand"}, ".heads .scale", ("masked", *MASKED)),
    "heads-patch": Shot("heads", {"tool": "patch"}, ".heads .scale", ("masked", *MASKED)),
    "heads-map": Shot("heads", {"tool": "map"}, ".heads .scale", ("masked", *MASKED)),
    "heads-span": Shot("heads", {"ask": "span"}, ".heads .scale", ("question", *QUESTIONS)),
    "logit-lens": Shot("logit-lens", wait_for=CHART, change=("masked", *MASKED)),
    "logit-lens-two": Shot("logit-lens", {"masked": "The old [MASK] carried the [MASK] to the governor."}, CHART),
    "xray": Shot("xray", wait_for=CHART, change=("question", *QUESTIONS)),
    "compare": Shot("compare", wait_for=CHART, change=("a", *TEXTS)),
    "compare-inputs": Shot("compare", {"between": "inputs"}, CHART, ("a2", *TEXTS)),
    "serving": Shot("serving"),
    "training": Shot("training", wait_for=CHART, change=('.st-key-scale button:last-of-type',)),
    "time-machine": Shot("time-machine", wait_for=".bl-slider", change=("then-en-a", *MASKED)),
    "evaluation": Shot("evaluation", wait_for="pre"),
    "evaluation-classify": Shot("evaluation", EVALUATE, CHART, clicks=RUN),
    "evaluation-tag": Shot("evaluation", {"measure": "tag", "from": "paste", "pasted": TAGGED}, CHART, clicks=RUN),
}  # fmt: skip

# Record which element moves and how far; the browser reports one shift per frame.
RECORD_SHIFTS = """() => {
  window.shifts = [];
  const name = (node) => {
    for (let at = node; at; at = at.parentElement ?? at.getRootNode?.().host) {
      const key = [...(at.classList ?? [])].find((part) => part.startsWith("st-key-") || part.startsWith("bl-"));
      if (key) return key;
      const test = at.dataset?.testid;
      if (test && !/^(stVerticalBlock|stLayoutWrapper|stElementContainer|stMarkdown)/.test(test)) return test;
    }
    return node?.nodeName ?? "gone";
  };
  window.shiftObserver?.disconnect();
  window.shiftObserver = new PerformanceObserver((list) => {
    for (const { value, sources } of list.getEntries()) {
      const textOf = (node) => (node?.innerText ?? node?.textContent ?? "").trim().slice(0, 20);
      const moves = sources.map(({ node, previousRect: was, currentRect: is }) => {
        // an element that appears or disappears has not moved
        const isVisible = was.width && was.height && is.width && is.height;
        const distance = Math.round(Math.max(Math.abs(is.y - was.y), Math.abs(is.x - was.x)));
        return [isVisible ? distance : 0, `${name(node)} ${textOf(node)}`];
      });
      shifts.push([value, ...moves.sort((a, b) => b[0] - a[0])[0] ?? [0, ""]]);
    }
  });
  window.shiftObserver.observe({ type: "layout-shift" });
}"""

# The page is idle: no script runs, nothing is stale, and for 0.6 s nothing on the page has changed.
IS_IDLE = """() => {
  const running = document.querySelector('[data-test-script-state="running"], [data-stale="true"], .stSpinner');
  window.idleObserver ??= (() => {
    const observer = new MutationObserver(() => { window.lastChange = performance.now(); });
    observer.observe(document.body, { childList: true, subtree: true, characterData: true });
    return observer;
  })();
  if (running) window.lastChange = performance.now();
  window.lastChange ??= performance.now();
  return performance.now() - window.lastChange > 600;
}"""

# Finds elements that are wider than their container, in shadow roots too. Returns the pixels by which the page is too
# wide, and a list of [pixels, element].
FIND_OVERFLOW = """() => {
  const overflows = [];
  const main = document.querySelector(".stMain");
  const wide = Math.max(main.scrollWidth - main.clientWidth, document.documentElement.scrollWidth - innerWidth);
  const describe = (node) => {
    const key = node.closest?.('[class*="st-key-"]')?.className.match(/st-key-[\\w-]+/)?.[0] ?? "";
    const firstClass = typeof node.className === "string" ? node.className.split(" ")[0] : node.nodeName;
    return `${key} ${firstClass || node.nodeName} "${(node.innerText ?? node.textContent ?? "").trim().slice(0, 24)}"`;
  };
  const walk = (root, inScroller) => {
    for (const node of root.children) {
      if (["STYLE", "SCRIPT", "IFRAME"].includes(node.nodeName)) continue;
      const style = getComputedStyle(node);
      if (style.display === "none" || style.visibility === "hidden" || +style.opacity === 0) continue;
      if (node.nodeName === "CANVAS" || node.matches(".bl-hidden, .stSidebar, [data-testid=stHeader]")) continue;
      const box = node.getBoundingClientRect();
      if (!box.width || !box.height) { if (style.position === "fixed") continue; }
      const scrolls = /auto|scroll/.test(style.overflowX) && node.scrollWidth > node.clientWidth + 1;
      const hides = /hidden|clip/.test(style.overflowX) && node.scrollWidth > node.clientWidth + 1 && node.clientWidth
        && !node.closest("svg, .stDataFrame, input, .stSelectbox, .stSlider");
      if (box.right > innerWidth + 1 && !inScroller) {
        overflows.push([Math.round(box.right - innerWidth), describe(node)]);
      } else if (box.right > innerWidth + 1 && /BUTTON|INPUT/.test(node.nodeName)) {
        overflows.push([Math.round(box.right - innerWidth), `${describe(node)} (scrolled away)`]);
      } else if (hides) {
        overflows.push([node.scrollWidth - node.clientWidth, `${describe(node)} (clipped)`]);
      } else if (scrolls && !node.matches(".stMain")) {
        overflows.push([node.scrollWidth - node.clientWidth, `${describe(node)} (scrolls)`]);
      }
      if (node.matches("svg.main-svg")) {
        const frame = node.closest(".js-plotly-plot").getBoundingClientRect();
        for (const text of node.querySelectorAll("text")) {
          const at = text.getBoundingClientRect();
          const sideways = Math.max(at.right - frame.right, frame.left - at.left);
          const over = Math.max(sideways, frame.top - at.top, at.bottom - frame.bottom);
          if (at.width && over > 2) overflows.push([Math.round(over), `${describe(text)} (beyond its figure)`]);
        }
        continue;
      }
      walk(node, inScroller || scrolls || hides);
      if (node.shadowRoot) walk(node.shadowRoot, inScroller || scrolls || hides);
    }
  };
  walk(main, false);
  const widest = overflows.sort((a, b) => b[0] - a[0]);
  const elements = widest.map(([, element]) => element);
  return [wide, widest.filter(([, element], index) => elements.indexOf(element) === index).slice(0, 6)];
}"""

CONTENT_HEIGHT = """() => {
  const main = document.querySelector(".stMain");
  return Math.max(...[...main.querySelectorAll(".stMainBlockContainer")].map((node) => node.scrollHeight), 300);
}"""


@dataclass(frozen=True)
class Options:
    out: Path
    """The directory for the screenshots; it should be one that git ignores."""
    themes: tuple[Literal["light", "dark"], ...] = ("light", "dark")
    languages: tuple[Literal["en", "ko"], ...] = ("en", "ko")
    widths: tuple[int, ...] = (1280, 390)
    only: tuple[Literal[tuple(SHOTS)], ...] = ()
    """The screenshots to take. Default: all."""
    change: bool = True
    """Change the text of each page and measure what moves."""
    checkpoint: str = ""
    """The checkpoint to open instead of the default of each page."""
    runs: str = ""
    """The directory of runs for the training page."""


def wait_until_idle(page: Page) -> None:
    """Wait until nothing on the page changes any more."""
    page.evaluate("window.lastChange = performance.now()")
    page.wait_for_function(IS_IDLE, timeout=TIMEOUT, polling=100)


def fit_screen_to_page(page: Page, width: int) -> None:
    """Make the browser's screen high enough to show the whole page."""
    page.set_viewport_size({"width": width, "height": 900})
    height = min(max(int(page.evaluate(CONTENT_HEIGHT)) + 20, 900), MAX_HEIGHT)
    page.set_viewport_size({"width": width, "height": height})
    wait_until_idle(page)


def measure_change(page: Page, shot: Shot) -> dict:
    """Change the page's text, wait for the new result, and return what moved."""
    page.evaluate(RECORD_SHIFTS)
    key, *texts = shot.change
    page.evaluate("window.lastChange = window.changedAt = performance.now()")
    if texts:
        previous_url = page.url
        entry = page.locator(f".st-key-{key}").locator("input, textarea").first
        text = texts[1] if any("가" <= letter <= "힣" for letter in entry.input_value()) else texts[0]
        entry.fill(text)
        page.wait_for_function("(was) => location.href !== was", arg=previous_url, timeout=TIMEOUT)
    else:
        page.locator(key).first.click()
    page.wait_for_selector(shot.wait_for, timeout=TIMEOUT)
    wait_until_idle(page)
    milliseconds = page.evaluate("window.lastChange - window.changedAt")
    shifts = page.evaluate("shifts")
    pixels, element = max(((pixels, name) for _, pixels, name in shifts), default=(0, ""))
    score = round(sum(value for value, *_ in shifts), 3)
    return {"moved": pixels, "element": element, "shift": score, "ms": round(milliseconds)}


def take_screenshot(
    browser: Browser, address: str, name: str, theme: str, language: str, width: int, options: Options
) -> dict:
    """Save one screenshot and return its row of the table."""
    shot = SHOTS[name]
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=theme)
    page = context.new_page()
    page.set_default_timeout(TIMEOUT)
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))

    def record_error(message: ConsoleMessage) -> None:
        # On a page below the root, Streamlit first requests its health check under the page's path, which gives 404.
        if message.type == "error" and "404" not in message.text:
            errors.append(message.text)

    page.on("console", record_error)
    choices = {"checkpoint": options.checkpoint, "runs": options.runs if name == "training" else ""}
    parameters = shot.parameters | {"lang": language} | {key: value for key, value in choices.items() if value}
    page.goto(f"http://{address}/{shot.page}?{urlencode(parameters)}")
    try:
        page.wait_for_selector("h1")
        for selector in shot.clicks:
            page.locator(selector).first.click()
        page.wait_for_selector(shot.wait_for)
        wait_until_idle(page)
        fit_screen_to_page(page, width)
        overflow, cut_off = page.evaluate(FIND_OVERFLOW)
        stem = f"{name}-{width}-{theme}-{language}"
        page.screenshot(path=options.out / f"{stem}.png")
        row = {"overflow": overflow, "cut_off": cut_off}
        if options.change and shot.change:
            row |= measure_change(page, shot)
            page.screenshot(path=options.out / f"{stem}-changed.png")
        return row | {"errors": errors}
    except Error as error:  # it is reported in the row, so that the other screenshots are still taken
        page.screenshot(path=options.out / f"{name}-{width}-{theme}-{language}-failed.png")
        return {"overflow": -1, "cut_off": [], "errors": [str(error).splitlines()[0], *errors]}
    finally:
        context.close()


def main(options: Options) -> None:
    """Take the screenshots, print a line for each, and write all rows to table.json."""
    options.out.mkdir(parents=True, exist_ok=True)
    rows = []
    with run_app() as address, open_browser() as browser:
        for width in options.widths:
            for theme in options.themes:
                for language in options.languages:
                    for name in options.only or SHOTS:
                        row = take_screenshot(browser, address, name, theme, language, width, options)
                        rows.append({"page": name, "theme": theme, "language": language, "width": width} | row)
                        print(format_row(rows[-1]), flush=True)
    (options.out / "table.json").write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def format_row(row: dict) -> str:
    """Return a row of the table as text."""
    cut_off = "; ".join(f"{pixels} {name}" for pixels, name in row["cut_off"])
    moved = f"{row['moved']:4} {row['shift']:6.3f} {row['ms']:6} ms {row['element']:42}" if "moved" in row else " " * 63
    about = f"{row['page']:20} {row['theme']:5} {row['language']} {row['width']:4} | {row['overflow']:4} | {moved}"
    return f"{about} | {cut_off} | {' '.join(row['errors'])[:160]}"


if __name__ == "__main__":
    main(tyro.cli(Options, description=__doc__))
