"""JavaScript that `bertlab bench app` runs in a page, to record and to time what the page draws."""

# From the moment it runs, this script adds up all layout shifts in `bench.layoutShift`.
OBSERVE_LAYOUT_SHIFTS = """() => {
  bench.layoutShift = 0;
  const add = (list) => list.getEntries().forEach((entry) => { bench.layoutShift += entry.value; });
  new PerformanceObserver(add).observe({ type: "layout-shift" });
}"""

# This script runs first in every page. It records when a text was last changed, which texts the canvases drew, and when
# the last large message (more than 10,000 bytes) arrived.
RECORD_EVENTS = """
window.bench = { changedAt: 0, drawnTexts: new Set(), messageAt: 0 };
const recordChange = () => { bench.changedAt = performance.now(); };
document.addEventListener("input", recordChange, true);
document.addEventListener("keydown", (event) => { if (event.key === "Enter") recordChange(); }, true);
const fillText = CanvasRenderingContext2D.prototype.fillText;
CanvasRenderingContext2D.prototype.fillText = function (text, ...position) {
  bench.drawnTexts.add(text);
  return fillText.call(this, text, ...position);
};
const OriginalWebSocket = window.WebSocket;
window.WebSocket = class extends OriginalWebSocket {
  constructor(...settings) {
    super(...settings);
    this.addEventListener("message", ({ data }) => {
      if ((data.byteLength ?? data.size) > 10000) bench.messageAt = performance.now();
    });
  }
};
"""

# This function sets `bench.responseTime` to a promise of a time in milliseconds: from the next text change to the first
# frame in which the element of `selector` has changed or, without a selector, a canvas has drawn `word`.
WATCH_RESULT = """([selector, word, timeout]) => {
  const result = () =>
    selector ? document.querySelector(selector)?.innerHTML : bench.drawnTexts.has(word) && word;
  const before = selector && result();
  const start = performance.now();
  bench.changedAt = 0;
  bench.drawnTexts.clear();
  bench.responseTime = new Promise((resolve, reject) => {
    const check = () => {
      const now = result();
      if (bench.changedAt && now && now !== before) setTimeout(() => resolve(performance.now() - bench.changedAt));
      else if (performance.now() - start > timeout) reject(new Error(`${word}: no answer`));
      else requestAnimationFrame(check);
    };
    check();
  });
}"""

# This function waits until a canvas has drawn the word. It returns the milliseconds since navigation, and since the
# last large message.
WAIT_FOR_WORD = """async (word) => {
  while (!bench.drawnTexts.has(word)) await new Promise(requestAnimationFrame);
  await new Promise((resolve) => setTimeout(resolve));
  return [performance.now(), performance.now() - bench.messageAt];
}"""

# This function hovers over the attention view in `document`, and switches from each layer to the next. It returns the
# milliseconds of each hover and of each switch.
_TIME_ATTENTION_VIEW = """async () => {
  const nextFrame = async () => {
    await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
    for (const canvas of document.querySelectorAll("canvas")) canvas.getContext("2d").getImageData(0, 0, 1, 1);
  };
  const canvas = document.querySelector("canvas.bl-over");
  const box = canvas.getBoundingClientRect();
  const nextButton = document.querySelectorAll(".bl-step")[1];
  const shownLayer = () => Number(document.querySelector(".bl-value").firstChild.data);
  const hovers = [], switches = [];
  for (let i = 0; i < 15; i++) {
    const start = performance.now();
    canvas.dispatchEvent(new PointerEvent("pointermove",
      { clientX: box.left + box.width * 0.3, clientY: box.top + 20 + 24 * i, pointerType: "mouse" }));
    await nextFrame();
    hovers.push(performance.now() - start);
  }
  canvas.dispatchEvent(new PointerEvent("pointerleave"));
  await nextFrame();
  while (!nextButton.disabled) {
    const start = performance.now();
    const nextLayer = shownLayer() + 1;
    nextButton.click();
    while (shownLayer() !== nextLayer) await new Promise((resolve) => setTimeout(resolve));
    await nextFrame();
    switches.push(performance.now() - start);
  }
  return { hovers, switches };
}"""

# This function runs `_TIME_ATTENTION_VIEW` in the app, where the attention view is inside the shadow root of a
# Streamlit component.
TIME_ATTENTION_VIEW_IN_APP = f"""async () => {{
  const holdsView = (node) => node.shadowRoot?.querySelector("canvas.bl-over");
  const root = [...document.querySelectorAll("*")].find(holdsView)?.shadowRoot ?? window.document;
  return ((document) => ({_TIME_ATTENTION_VIEW})())(root);
}}"""
