"""JavaScript that `bertlab bench app` runs in a page, to note and to time what it draws."""

MOVED = """() => {
  bench.moved = 0;
  const add = (list) => list.getEntries().forEach((entry) => { bench.moved += entry.value; });
  new PerformanceObserver(add).observe({ type: "layout-shift" });
}"""

# Added to every page: notes when the last text was sent, what canvases wrote, and when a large message arrived.
NOTES = """
window.bench = { sent: 0, written: new Set(), arrived: 0 };
document.addEventListener("input", () => { bench.sent = performance.now(); }, true);
document.addEventListener("keydown", (event) => { if (event.key === "Enter") bench.sent = performance.now(); }, true);
const write = CanvasRenderingContext2D.prototype.fillText;
CanvasRenderingContext2D.prototype.fillText = function (text, ...place) {
  bench.written.add(text);
  return write.call(this, text, ...place);
};
const Plain = window.WebSocket;
window.WebSocket = class extends Plain {
  constructor(...settings) {
    super(...settings);
    this.addEventListener("message", ({ data }) => {
      if ((data.byteLength ?? data.size) > 10000) bench.arrived = performance.now();
    });
  }
};
"""

# Sets a promise of the time until the first frame with another picture, or until a canvas wrote the word.
WATCH = """([picture, word, patience]) => {
  const drawn = () => picture ? document.querySelector(picture)?.innerHTML : bench.written.has(word) && word;
  const before = picture && drawn();
  const began = performance.now();
  bench.sent = 0;
  bench.written.clear();
  bench.shown = new Promise((done, fail) => {
    const look = () => {
      const now = drawn();
      if (bench.sent && now && now !== before) setTimeout(() => done(performance.now() - bench.sent));
      else if (performance.now() - began > patience) fail(new Error(`${word}: no answer`));
      else requestAnimationFrame(look);
    };
    look();
  });
}"""

PAINTED = """async (word) => {
  while (!bench.written.has(word)) await new Promise(requestAnimationFrame);
  await new Promise((done) => setTimeout(done));
  return [performance.now(), performance.now() - bench.arrived];
}"""

# Hovers and layer switches, in milliseconds each, of the attention view of a document.
PROBE = """async () => {
  const frame = async () => {
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
    for (const canvas of document.querySelectorAll("canvas")) canvas.getContext("2d").getImageData(0, 0, 1, 1);
  };
  const canvas = document.querySelector("canvas.bl-over");
  const box = canvas.getBoundingClientRect();
  const next = document.querySelectorAll(".bl-step")[1];
  const layer = () => Number(document.querySelector(".bl-value").firstChild.data);
  const hover = [], layers = [];
  for (let i = 0; i < 15; i++) {
    const start = performance.now();
    canvas.dispatchEvent(new PointerEvent("pointermove",
      { clientX: box.left + box.width * 0.3, clientY: box.top + 20 + 24 * i, pointerType: "mouse" }));
    await frame();
    hover.push(performance.now() - start);
  }
  canvas.dispatchEvent(new PointerEvent("pointerleave"));
  await frame();
  while (!next.disabled) {
    const start = performance.now();
    const wanted = layer() + 1;
    next.click();
    while (layer() !== wanted) await new Promise((done) => setTimeout(done));
    await frame();
    layers.push(performance.now() - start);
  }
  return { hover, layers };
}"""

# In the app the view is inside the shadow root of a Streamlit component.
INSIDE = f"""async () => {{
  const holds = (node) => node.shadowRoot?.querySelector("canvas.bl-over");
  const root = [...document.querySelectorAll("*")].find(holds)?.shadowRoot ?? window.document;
  return ((document) => ({PROBE})())(root);
}}"""
