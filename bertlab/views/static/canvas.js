// Shared by all canvases: the host's colours, colours for heads, shortened text, and sharp and scrolling surfaces.
import { element } from "./dom.js";
import { PALETTE } from "./palette.js";

/** One colour for each head. With more than sixteen heads, colours repeat, and the views dash the lines of the repeated ones. */
export function headColours(count, dark) {
  const [twelve, sixteen] = themeColours(dark).heads;
  const colours = count > twelve.length ? sixteen : twelve;
  return Array.from({ length: count }, (_, head) => colours[head % colours.length]);
}

/** The host's colours, read from the computed style of the root, in the form that a canvas needs. */
export function readTheme(root) {
  const style = getComputedStyle(root);
  const context = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgb = (value, fallback) => {
    context.clearRect(0, 0, 1, 1);
    context.fillStyle = fallback;
    context.fillStyle = value || fallback;
    context.fillRect(0, 0, 1, 1);
    return Array.from(context.getImageData(0, 0, 1, 1).data.slice(0, 3));
  };
  const { ink, ground, accent } = PALETTE.themes.light;
  return makeTheme(rgb(style.color, ink), rgb(style.backgroundColor, ground), rgb(style.accentColor, accent), style.fontFamily,
    Math.max(11, parseFloat(style.fontSize) || 14));
}

/** Return a theme with the light colours, for saved pictures. */
export function lightTheme(theme) {
  const { ink, ground, accent } = PALETTE.themes.light;
  return makeTheme(channels(ink), channels(ground), channels(accent), theme.family, theme.size);
}

function themeColours(dark) {
  return PALETTE.themes[dark ? "dark" : "light"];
}

/** "#1f2430" -> [31, 36, 48] */
function channels(colour) {
  return [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
}

/** The colours and fonts of a canvas. muted, faint, hair and wash: the colour of the text (ink), ever more transparent. */
function makeTheme(ink, ground, accent, family, size) {
  const dark = luminance(ground) < luminance(ink);
  const colours = themeColours(dark);
  const css = ([r, g, b], alpha = 1) => `rgba(${r}, ${g}, ${b}, ${alpha})`;
  return {
    dark, ink: css(ink), ground: css(ground), muted: css(ink, 0.58), faint: css(ink, 0.3), hair: css(ink, 0.12), wash: css(ink, 0.05),
    accent: css(accent), accentSoft: css(accent, 0.16), search: colours.search, segments: colours.segments,
    positive: colours.positive, negative: colours.negative, ramp: [ground, ...colours.ramp],
    family, size, css,
  };
}

function luminance([r, g, b]) {
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

/** Interpolate a colour ramp at a share of its length, 0 to 1. */
export function interpolate(ramp, share) {
  const scaled = Math.min(Math.max(share, 0), 1) * (ramp.length - 1);
  const low = Math.min(Math.floor(scaled), ramp.length - 2);
  const fraction = scaled - low;
  return ramp[low].map((value, channel) => Math.round(value + (ramp[low + 1][channel] - value) * fraction));
}

/** A canvas in device pixels that fills its host and is drawn at most once per frame. */
export class Surface {
  constructor(host, className, draw) {
    this.canvas = element("canvas", { class: className });
    this.context = this.canvas.getContext("2d");
    this.drawNow = draw;
    this.width = this.height = 0;
    this.pending = 0;
    host.append(this.canvas);
  }

  resize(width, height, ratio = Math.min(globalThis.devicePixelRatio || 1, 3)) {
    if (width === this.width && height === this.height && ratio === this.ratio) return;
    Object.assign(this, { width, height, ratio });
    this.canvas.width = Math.max(1, Math.round(width * ratio));
    this.canvas.height = Math.max(1, Math.round(height * ratio));
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${height}px`;
  }

  /** Clear the canvas; return its context, in CSS pixels. */
  begin() {
    const context = this.context;
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    context.clearRect(0, 0, this.width, this.height);
    context.globalAlpha = 1;
    context.setLineDash([]);
    context.textBaseline = "middle";
    return context;
  }

  /** Draw in the next frame. */
  draw() {
    this.pending ||= requestAnimationFrame(() => {
      this.pending = 0;
      if (this.canvas.isConnected) this.drawNow();
    });
  }

  destroy() {
    cancelAnimationFrame(this.pending);
    this.canvas.remove();
  }
}

/** Draw a text; if it is wider than `width`, cut it between grapheme clusters and add an ellipsis. */
export function drawText(context, text, x, y, width) {
  context.fillText(shortenText(context, text, width), x, y);
}

const shortenedTexts = new Map();
const segmenter = typeof Intl.Segmenter === "function" ? new Intl.Segmenter() : null;

function shortenText(context, text, width) {
  const key = `${context.font}|${Math.round(width)}|${text}`;
  const cached = shortenedTexts.get(key);
  if (cached !== undefined) return cached;
  let result = text;
  if (context.measureText(text).width > width) {
    const parts = segmenter ? Array.from(segmenter.segment(text.slice(0, 400)), (part) => part.segment) : Array.from(text.slice(0, 400));
    let low = 0;
    let high = parts.length;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (context.measureText(`${parts.slice(0, middle).join("")}…`).width <= width) low = middle;
      else high = middle - 1;
    }
    result = `${parts.slice(0, low).join("")}…`;
  }
  if (shortenedTexts.size > 20000) shortenedTexts.clear();
  shortenedTexts.set(key, result);
  return result;
}

/** Format a probability with as many digits as the precision of the payload supports. */
export function formatProbability(value, error = 0) {
  if (!Number.isFinite(value)) return "–";
  if (value > 0 && value < 0.001) return "<0.001";
  return value.toFixed(error < 0.0005 || value < 0.0995 ? 3 : 2);
}

/**
 * Redraw a view whenever its size or the host's colours change; after a change of colours, the theme is read again.
 * Nothing is drawn before the view has data. Returns a function that stops the observation.
 */
export function observe(view, redraw) {
  const { root } = view;
  const handleChange = (what) => {
    if (!view.data) return;
    if (what === "theme") view.theme = null;
    redraw();
  };
  const sizes = new ResizeObserver(() => handleChange("size"));
  sizes.observe(root);
  const onTransitionEnd = (event) => {
    if (event.target === root && (event.propertyName === "color" || event.propertyName === "background-color")) handleChange("theme");
  };
  root.addEventListener("transitionend", onTransitionEnd);
  const scheme = matchMedia("(prefers-color-scheme: dark)");
  const onSchemeChange = () => handleChange("theme");
  scheme.addEventListener("change", onSchemeChange);
  document.fonts?.ready.then(() => handleChange("theme"));
  return () => {
    sizes.disconnect();
    root.removeEventListener("transitionend", onTransitionEnd);
    scheme.removeEventListener("change", onSchemeChange);
  };
}

/**
 * A canvas that stays in place while its content scrolls. listeners: event listeners of the canvas. Returns
 * {scroll, spacer, sticky, surface}; the size of the spacer is the size of the content.
 */
export function createScroller(label, paint, listeners) {
  const scroll = element("div", { class: "bl-scroll", onscroll: () => surface.draw() });
  const spacer = element("div");
  const sticky = element("div", { class: "bl-sticky" });
  scroll.append(sticky, spacer);
  const surface = createInteractiveSurface(sticky, label, paint, listeners);
  return { scroll, spacer, sticky, surface };
}

/** A surface that can be focused and operated by keyboard. */
export function createInteractiveSurface(host, label, paint, listeners) {
  const surface = new Surface(host, "bl-over", paint);
  const { canvas } = surface;
  canvas.tabIndex = 0;
  canvas.setAttribute("role", "application");
  canvas.setAttribute("aria-label", label);
  for (const [name, listener] of Object.entries(listeners)) canvas.addEventListener(name, listener);
  return surface;
}

/** Run the action of the pressed key in a table from keys to actions. Returns whether the key has an action. */
export function runKeyAction(event, keys) {
  const run = keys[event.key];
  if (!run) return false;
  event.preventDefault();
  run();
  return true;
}
