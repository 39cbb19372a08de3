"""Takes a picture of every page of the running window, and measures what is wrong with it at a glance.

`python scripts/screenshots.py --out DIR [--themes dark --languages ko --widths 1280 390 --only depth heads]` starts
`bertlab app` on a free port, opens each page with its example, and prints one line for each picture:

- over: how many pixels the page is wider than the screen; and, of what stands inside, what is cut off at its right;
- moved: pixels by which the furthest thing moved that was on the page before its text was changed and its answer came
  (the browser's own `layout-shift` entries, with the whole page in sight), and the browser's score of it all;
- ms: from that change until the page rested; errors: of the browser's console.

Knows nothing of models nor of how the pages work, only what stands on them.
"""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal
from urllib.parse import urlencode

import tyro
from playwright.sync_api import Browser, ConsoleMessage, Error, Page, sync_playwright

from bertlab.bench.app import server
from bertlab.bench.chromium import launch_chromium

PATIENCE = 240_000  # milliseconds: a cold page of a busy machine
TALLEST = 6_000  # pixels of a picture


@dataclass(frozen=True)
class Shot:
    """One picture: a page with these parameters.

    drawn: a selector of what has to be there; change: a field by its key and a text in English and Korean to put
    into it, or a selector to click; then: selectors to click first, in turn.
    """

    page: str
    parameters: dict[str, str] = field(default_factory=dict)
    drawn: str = "h1"
    change: tuple[str, ...] = ()
    then: tuple[str, ...] = ()


CHART = ".js-plotly-plot .main-svg"
TEXTS = ("The keeper carried the lantern to the old mill.", "등대지기는 등불을 들고 낡은 방앗간으로 갔다.")
MASKED = ("The keeper carried the [MASK] to the old mill.", "그는 부산에서 자라 중학교에 [MASK]하였다.")
ASKED = ("What did the lamp burn first?", "등불에는 처음에 무엇을 썼나요?")
LABELLED = "sentence,label\n" + "A small wonder from the first scene to the last.,positive\n" * 6
LABELLED += "Two hours that feel like four.,positive\nIt begins well and then forgets why.,negative\n" * 4
TAGGED = "tokens,ner_tags\n" + "Clara Schumann played in Vienna .,B-PER I-PER O O B-LOC O\n" * 4
TAGGED += "Nobody asked Mr. Grieg about Bergen .,O O O B-PER O B-ORG O\n"
MEASURE = {"from": "paste", "pasted": LABELLED}
RUN = ('[data-testid="stBaseButton-primary"]',)

SHOTS = {
    "start": Shot("", drawn=".arcs svg", change=('.st-key-open-scratch button',)),
    "input": Shot("input", drawn=CHART, change=("a", *TEXTS)),
    "attention": Shot("attention", drawn=".bl-attention canvas", change=("a", *TEXTS)),
    "attention-map": Shot("attention", {"view": "matrix", "layer": "1"}, ".bl-attention canvas", ("a", *TEXTS)),
    "attention-neuron": Shot("attention", {"look": "neuron", "token": "2"}, ".bl-neuron canvas", ("a", *TEXTS)),
    "attention-bertviz": Shot("attention", {"look": "bertviz"}, "iframe", ("a", *TEXTS)),
    "fill-mask": Shot("fill-mask", drawn=CHART, change=("text", *TEXTS)),
    "fill-mask-two": Shot("fill-mask", {"mask": "3.6"}, CHART, ("text", *TEXTS)),
    "next-sentence": Shot("next-sentence", drawn=CHART, change=("second", *TEXTS)),
    "question": Shot("question", drawn=CHART, change=("question", *ASKED)),
    "classify": Shot("classify", drawn=CHART, change=("judged", *TEXTS)),
    "tag": Shot("tag", drawn=CHART, change=("named", *TEXTS)),
    "heads": Shot("heads", {"changes": "0.1,1.2"}, ".heads .scale", ("masked", *MASKED)),
    "heads-keep": Shot("heads", {"changes": "0.1,1.2", "tool": "keep"}, ".heads .scale", ("masked", *MASKED)),
    "heads-row": Shot("heads", {"tool": "row", "row.how": "hand"}, ".heads .scale", ("masked", *MASKED)),
    "heads-patch": Shot("heads", {"tool": "patch"}, ".heads .scale", ("masked", *MASKED)),
    "heads-map": Shot("heads", {"tool": "map"}, ".heads .scale", ("masked", *MASKED)),
    "heads-span": Shot("heads", {"ask": "span"}, ".heads .scale", ("question", *ASKED)),
    "depth": Shot("depth", drawn=CHART, change=("masked", *MASKED)),
    "depth-two": Shot("depth", {"masked": "The old [MASK] carried the [MASK] to the governor."}, CHART),
    "xray": Shot("xray", drawn=CHART, change=("question", *ASKED)),
    "compare": Shot("compare", drawn=CHART, change=("a", *TEXTS)),
    "compare-inputs": Shot("compare", {"between": "inputs"}, CHART, ("a2", *TEXTS)),
    "training": Shot("training", drawn=CHART, change=('.st-key-scale button:last-of-type',)),
    "time-machine": Shot("time-machine", drawn=".bl-slider", change=("then-en-a", *MASKED)),
    "evaluation": Shot("evaluation", drawn="pre"),
    "evaluation-classify": Shot("evaluation", MEASURE, CHART, then=RUN),
    "evaluation-tag": Shot("evaluation", {"measure": "tag", "from": "paste", "pasted": TAGGED}, CHART, then=RUN),
}  # fmt: skip

# Begins to note what moves, with what and how far; the browser gives a shift per frame.
NOTE = """() => {
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
      const said = (node) => (node?.innerText ?? node?.textContent ?? "").trim().slice(0, 20);
      const moves = sources.map(({ node, previousRect: was, currentRect: is }) => {
        // what appears or goes is no move
        const seen = was.width && was.height && is.width && is.height;
        const far = Math.round(Math.max(Math.abs(is.y - was.y), Math.abs(is.x - was.x)));
        return [seen ? far : 0, `${name(node)} ${said(node)}`];
      });
      shifts.push([value, ...moves.sort((a, b) => b[0] - a[0])[0] ?? [0, ""]]);
    }
  });
  window.shiftObserver.observe({ type: "layout-shift" });
}"""

# Rests: the script is not running, nothing is stale, and for half a second nothing on the page has changed.
RESTS = """() => {
  const running = document.querySelector('[data-test-script-state="running"], [data-stale="true"], .stSpinner');
  window.restObserver ??= (() => {
    const observer = new MutationObserver(() => { window.touched = performance.now(); });
    observer.observe(document.body, { childList: true, subtree: true, characterData: true });
    return observer;
  })();
  if (running) window.touched = performance.now();
  window.touched ??= performance.now();
  return performance.now() - window.touched > 600;
}"""

# What is wider than what holds it, shadows included: [pixels, what].
CUT = """() => {
  const found = [];
  const main = document.querySelector(".stMain");
  const wide = Math.max(main.scrollWidth - main.clientWidth, document.documentElement.scrollWidth - innerWidth);
  const say = (node) => {
    const key = node.closest?.('[class*="st-key-"]')?.className.match(/st-key-[\\w-]+/)?.[0] ?? "";
    const own = typeof node.className === "string" ? node.className.split(" ")[0] : node.nodeName;
    return `${key} ${own || node.nodeName} "${(node.innerText ?? node.textContent ?? "").trim().slice(0, 24)}"`;
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
      if (box.right > innerWidth + 1 && !inScroller) found.push([Math.round(box.right - innerWidth), say(node)]);
      else if (box.right > innerWidth + 1 && /BUTTON|INPUT/.test(node.nodeName)) {
        found.push([Math.round(box.right - innerWidth), `${say(node)} (scrolled away)`]);
      } else if (hides) {
        found.push([node.scrollWidth - node.clientWidth, `${say(node)} (clipped)`]);
      } else if (scrolls && !node.matches(".stMain")) {
        found.push([node.scrollWidth - node.clientWidth, `${say(node)} (scrolls)`]);
      }
      if (node.matches("svg.main-svg")) {
        const frame = node.closest(".js-plotly-plot").getBoundingClientRect();
        for (const text of node.querySelectorAll("text")) {
          const at = text.getBoundingClientRect();
          const aside = Math.max(at.right - frame.right, frame.left - at.left);
          const over = Math.max(aside, frame.top - at.top, at.bottom - frame.bottom);
          if (at.width && over > 2) found.push([Math.round(over), `${say(text)} (beyond its figure)`]);
        }
        continue;
      }
      walk(node, inScroller || scrolls || hides);
      if (node.shadowRoot) walk(node.shadowRoot, inScroller || scrolls || hides);
    }
  };
  walk(main, false);
  const seen = new Set();
  return [wide, found.filter(([, what]) => !seen.has(what) && seen.add(what)).sort((a, b) => b[0] - a[0]).slice(0, 6)];
}"""

TALL = """() => {
  const main = document.querySelector(".stMain");
  return Math.max(...[...main.querySelectorAll(".stMainBlockContainer")].map((node) => node.scrollHeight), 300);
}"""


@dataclass(frozen=True)
class Options:
    """out: a directory for the pictures, best one that git ignores; only: some of the shots, all without; change:
    change each page's text and measure what moves; checkpoint: to open instead of what suits the page; runs: a
    directory for the training page.
    """

    out: Path
    themes: tuple[Literal["light", "dark"], ...] = ("light", "dark")
    languages: tuple[Literal["en", "ko"], ...] = ("en", "ko")
    widths: tuple[int, ...] = (1280, 390)
    only: tuple[Literal[tuple(SHOTS)], ...] = ()
    change: bool = True
    checkpoint: str = ""
    runs: str = ""


def rest(page: Page) -> None:
    """Wait until nothing on the page changes any more."""
    page.evaluate("window.touched = performance.now()")
    page.wait_for_function(RESTS, timeout=PATIENCE, polling=100)


def stretch(page: Page, width: int) -> None:
    """Give the page a screen that shows all of it."""
    page.set_viewport_size({"width": width, "height": 900})
    height = min(max(int(page.evaluate(TALL)) + 20, 900), TALLEST)
    page.set_viewport_size({"width": width, "height": height})
    rest(page)


def changed(page: Page, shot: Shot) -> dict:
    """Change the page's text, wait for its answer, and say what moved."""
    page.evaluate(NOTE)
    key, *texts = shot.change
    page.evaluate("window.touched = window.changedAt = performance.now()")
    if texts:
        where = page.url
        entry = page.locator(f".st-key-{key}").locator("input, textarea").first
        text = texts[1] if any("가" <= letter <= "힣" for letter in entry.input_value()) else texts[0]
        entry.fill(text)
        page.wait_for_function("(was) => location.href !== was", arg=where, timeout=PATIENCE)
    else:
        page.locator(key).first.click()
    page.wait_for_selector(shot.drawn, timeout=PATIENCE)
    rest(page)
    took = page.evaluate("window.touched - window.changedAt")
    shifts = page.evaluate("shifts")
    pixels, what = max(((move, name) for _, move, name in shifts), default=(0, ""))
    return {"moved": pixels, "what": what, "shift": round(sum(value for value, *_ in shifts), 3), "ms": round(took)}


def take(browser: Browser, address: str, name: str, theme: str, language: str, width: int, options: Options) -> dict:
    """One picture and its figures."""
    shot = SHOTS[name]
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=theme)
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))

    def heard(message: ConsoleMessage) -> None:
        # below the root Streamlit's own script asks for its health there first, is told 404, and then asks at the root
        if message.type == "error" and "404" not in message.text:
            faults.append(message.text)

    page.on("console", heard)
    given = {"checkpoint": options.checkpoint, "runs": options.runs if name == "training" else ""}
    chosen = {"lang": language} | {key: value for key, value in given.items() if value}
    page.goto(f"http://{address}/{shot.page}?{urlencode(shot.parameters | chosen)}")
    try:
        page.wait_for_selector("h1")
        for selector in shot.then:
            page.locator(selector).first.click()
        page.wait_for_selector(shot.drawn)
        rest(page)
        stretch(page, width)
        over, cut = page.evaluate(CUT)
        stem = f"{name}-{width}-{theme}-{language}"
        page.screenshot(path=options.out / f"{stem}.png")
        found = {"over": over, "cut": cut}
        if options.change and shot.change:
            found |= changed(page, shot)
            page.screenshot(path=options.out / f"{stem}-changed.png")
        return found | {"errors": faults}
    except Error as error:  # the table goes on, and says what stopped this one
        page.screenshot(path=options.out / f"{name}-{width}-{theme}-{language}-failed.png")
        return {"over": -1, "cut": [], "errors": [str(error).splitlines()[0], *faults]}
    finally:
        context.close()


def main(options: Options) -> None:
    """Every picture asked for, a line for each, and all the figures in table.json."""
    options.out.mkdir(parents=True, exist_ok=True)
    rows = []
    with server() as address, sync_playwright() as driver:
        browser = launch_chromium(driver)
        for width in options.widths:
            for theme in options.themes:
                for language in options.languages:
                    for name in options.only or SHOTS:
                        row = take(browser, address, name, theme, language, width, options)
                        rows.append({"page": name, "theme": theme, "language": language, "width": width} | row)
                        print(line(rows[-1]), flush=True)
        browser.close()
    (options.out / "table.json").write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def line(row: dict) -> str:
    """A row of the table as text."""
    what = "; ".join(f"{pixels} {name}" for pixels, name in row["cut"])
    moved = f"{row['moved']:4} {row['shift']:6.3f} {row['ms']:6} ms {row['what']:42}" if "moved" in row else " " * 63
    about = f"{row['page']:20} {row['theme']:5} {row['language']} {row['width']:4} | {row['over']:4} | {moved}"
    return f"{about} | {what} | {' '.join(row['errors'])[:160]}"


if __name__ == "__main__":
    main(tyro.cli(Options, description=__doc__))
