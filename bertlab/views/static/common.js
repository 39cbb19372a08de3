// What every canvas view shares: the payload envelope, theme, palette, text fitting, a sharp canvas, DOM building, words.
// Knows nothing of attention, of hosts, of the network.

/** Split a payload into its JSON header and its still compressed blocks. Layout: "BLAB", uint32 LE header size, header, blocks. */
export function unpack(payload) {
  const bytes = payload instanceof Uint8Array ? payload
    : ArrayBuffer.isView(payload) ? new Uint8Array(payload.buffer, payload.byteOffset, payload.byteLength)
      : new Uint8Array(payload);
  const text = new TextDecoder();
  if (bytes.length < 8 || text.decode(bytes.subarray(0, 4)) !== "BLAB") throw new Error("not a bertlab payload");
  const size = new DataView(bytes.buffer, bytes.byteOffset).getUint32(4, true);
  const header = JSON.parse(text.decode(bytes.subarray(8, 8 + size)));
  let at = 8 + size;
  const blocks = header.blocks.map((block) => {
    const packed = bytes.slice(at, at + block.bytes);
    at += block.bytes;
    return { ...block, packed };
  });
  if (at > bytes.length) throw new Error("the payload is cut short");
  return { header, blocks };
}

/** zlib bytes -> bytes, with the browser's own decoder. */
export async function inflate(packed) {
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// Chosen by search: the largest smallest OKLab distance under normal sight and simulated protan-, deuteran- and
// tritanopia, within a lightness range that stands out from the ground.
const PALETTES = {
  light: [
    ["#8d4be4", "#f24718", "#3ec8b0", "#7a1a08", "#1f6b80", "#b4b913", "#b12748", "#0b92aa", "#771cab", "#f770eb", "#303f75",
      "#b5776e"],
    ["#8f57d8", "#ef91a8", "#6b2a36", "#6dca27", "#cc3f49", "#6a40af", "#c168f1", "#971f08", "#e95f94", "#074a6d", "#c1a1dc",
      "#416ba8", "#571195", "#869d41", "#9f487e", "#3e95c2"],
  ],
  dark: [
    ["#4374c3", "#4dfaf3", "#f89122", "#2cb09b", "#b8ea57", "#b83f8a", "#a8a0d1", "#f5b7bc", "#7e8508", "#7fc9fb", "#f94a59",
      "#c666f4"],
    ["#ad3aba", "#45fafc", "#f59684", "#51a9fb", "#cc2c5c", "#7955df", "#d4cb64", "#bf7b45", "#2cdcb7", "#32978c", "#b2f389",
      "#a86cec", "#f64fa1", "#acc1ef", "#c695cc", "#8ab127"],
  ],
};

/** One colour for each head. Beyond sixteen heads colours repeat; the views then dash the lines of the repeated ones. */
export function palette(count, dark) {
  const [twelve, sixteen] = PALETTES[dark ? "dark" : "light"];
  const colours = count > twelve.length ? sixteen : twelve;
  return Array.from({ length: count }, (_, head) => colours[head % colours.length]);
}

/** The host's colours as the canvas needs them, read from the root's computed style. */
export function readTheme(root) {
  const style = getComputedStyle(root);
  const probe = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgb = (value, fallback) => {
    probe.clearRect(0, 0, 1, 1);
    probe.fillStyle = fallback;
    probe.fillStyle = value || fallback;
    probe.fillRect(0, 0, 1, 1);
    return Array.from(probe.getImageData(0, 0, 1, 1).data.slice(0, 3));
  };
  const ink = rgb(style.color, "#1f2430");
  const ground = rgb(style.backgroundColor, "#ffffff");
  const dark = luminance(ground) < luminance(ink);
  const css = ([r, g, b], alpha = 1) => `rgba(${r}, ${g}, ${b}, ${alpha})`;
  return {
    dark, ink: css(ink), ground: css(ground), muted: css(ink, 0.58), faint: css(ink, 0.3), hair: css(ink, 0.12), wash: css(ink, 0.05),
    accent: css(rgb(style.accentColor, "#2f6fd0")), accentSoft: css(rgb(style.accentColor, "#2f6fd0"), 0.16),
    segments: dark ? ["#6aa9ff", "#f3b04d"] : ["#2f6fd0", "#c77a0a"],
    positive: dark ? [102, 170, 255] : [32, 98, 200],
    negative: dark ? [255, 165, 70] : [214, 106, 0],
    groundRgb: ground, inkRgb: ink,
    ramp: dark ? [ground, [28, 72, 140], [76, 150, 230], [214, 236, 255]] : [ground, [158, 198, 240], [40, 104, 196], [8, 28, 84]],
    family: style.fontFamily, size: Math.max(11, parseFloat(style.fontSize) || 14), css,
  };
}

function luminance([r, g, b]) {
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

/** A colour between the stops of a ramp; where runs from 0 to 1. */
export function mix(ramp, where) {
  const scaled = Math.min(Math.max(where, 0), 1) * (ramp.length - 1);
  const low = Math.min(Math.floor(scaled), ramp.length - 2);
  const part = scaled - low;
  return ramp[low].map((value, channel) => Math.round(value + (ramp[low + 1][channel] - value) * part));
}

/** Sharp canvas that fills its host and is drawn once a frame at most. */
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

  begin() {
    const context = this.context;
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    context.clearRect(0, 0, this.width, this.height);
    context.globalAlpha = 1;
    context.setLineDash([]);
    context.textBaseline = "middle";
    return context;
  }

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

/** Draw a text no wider than width, cut with an ellipsis between characters as a reader sees them. */
export function drawText(context, text, x, y, width) {
  context.fillText(fit(context, text, width), x, y);
}

const fitted = new Map();
const segmenter = typeof Intl.Segmenter === "function" ? new Intl.Segmenter() : null;

function fit(context, text, width) {
  const key = `${context.font}|${Math.round(width)}|${text}`;
  const known = fitted.get(key);
  if (known !== undefined) return known;
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
  if (fitted.size > 20000) fitted.clear();
  fitted.set(key, result);
  return result;
}

/** Build one DOM element; children that are strings become text, never markup. */
export function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

/** A probability with as many digits as the payload's precision carries. */
export function digits(value, error = 0) {
  if (!Number.isFinite(value)) return "–";
  if (value > 0 && value < 0.001) return "<0.001";
  return value.toFixed(error < 0.0005 || value < 0.0995 ? 3 : 2);
}

/** Tell the view when its size or its host's colours change; returns what stops it. */
export function watch(root, changed) {
  const sizes = new ResizeObserver(() => changed("size"));
  sizes.observe(root);
  const recoloured = (event) => {
    if (event.target === root && (event.propertyName === "color" || event.propertyName === "background-color")) changed("theme");
  };
  root.addEventListener("transitionend", recoloured);
  const scheme = matchMedia("(prefers-color-scheme: dark)");
  const schemed = () => changed("theme");
  scheme.addEventListener("change", schemed);
  document.fonts?.ready.then(() => changed("theme"));
  return () => {
    sizes.disconnect();
    root.removeEventListener("transitionend", recoloured);
    scheme.removeEventListener("change", schemed);
  };
}

/** The words on the controls. A host may pass options.labels to replace any of them. */
export const WORDS = {
  en: {
    view: "View", lines: "Lines", grid: "All heads", matrix: "Heat map", layer: "Layer", head: "Head", heads: "Heads", all: "All",
    previous: "Previous layer", next: "Next layer", filter: "Sentences", everything: "All", hide: "Hide [CLS] [SEP]", renormalise: "Renormalise rows",
    hideTip: "Leave the added special tokens out of the picture", renormaliseTip: "Divide what is left of each row by its sum, so that it is 1 again",
    headTip: "Click: on or off. Double-click: this head alone", squareTip: "Show this head", fit: "Fit", fitTip: "Squeeze all tokens into view",
    asLines: "As lines", asMatrix: "As heat map", fetching: "Fetching layer", broken: "This picture's data cannot be read; run the page again.",
    empty: "No tokens left to show: change the filter.", attends: "attends to", attended: "is attended by", sum: "Sum over", tokens: "tokens",
    hint: "Hover a token. Click keeps it, Shift-click adds another, Esc lets go; ← → change the layer.", scale: "probability, square-root scale",
    gridHint: "Every square is one head: rows attend to columns. Click one to open it.", matrixHint: "Rows attend to columns. Click a row to keep it.",
    query: "Query", key: "Key", product: "q × k", dot: "q·k / √D", softmax: "Softmax", dimension: "dimension",
    neuronHint: "Pick the token that asks. Blue is positive, orange negative.",
    previousToken: "Previous token", nextToken: "Next token",
    save: "Save", saveSvg: "SVG, vector", saveCsv: "CSV, the numbers", savePython: "Python lines", saveHtml: "HTML, one offline page", data: "Data",
    saveFailed: "This browser could not save the picture.", lang: "en",
    play: "Play", pause: "Pause", moment: "Moment of the training", earlier: "Earlier snapshot", later: "Later snapshot", step: "step",
    tokensRead: "tokens read", beside: "Side by side", besideTip: "Hold one moment beside the one that moves", held: "Held", everyHead: "Every head: arrows choose one",
    loss: "loss", masked: "of hidden words right", follows: "B follows A", bits: "bits per character", maskedLoss: "loss of hidden words", heldOut: "On held-out text:",
    unmeasured: "Nothing was measured at this snapshot.", yes: "follows", no: "does not", noMask: "Write [MASK] in sentence A, and the words behind it move here.",
    noPair: "With a sentence B, its chance of following moves here.",
    timeHint: "← → move in time, space plays. Click a head to see it large; point into it to read a number.",
  },
  ko: {
    view: "보기", lines: "선", grid: "모든 헤드", matrix: "히트맵", layer: "층", head: "헤드", heads: "헤드", all: "전체",
    previous: "이전 층", next: "다음 층", filter: "문장", everything: "전체", hide: "[CLS] [SEP] 숨기기", renormalise: "행 다시 정규화",
    hideTip: "덧붙은 특수 토큰을 그림에서 뺍니다", renormaliseTip: "남은 값을 행의 합으로 나누어 다시 1이 되게 합니다",
    headTip: "클릭: 켜고 끄기. 두 번 클릭: 이 헤드만", squareTip: "이 헤드 보기", fit: "맞춤", fitTip: "모든 토큰을 한 화면에 넣습니다",
    asLines: "선으로", asMatrix: "히트맵으로", fetching: "가져오는 층:", broken: "그림의 자료를 읽을 수 없습니다. 페이지를 다시 실행하세요.",
    empty: "남은 토큰이 없습니다. 문장 선택을 바꾸세요.", attends: "이(가) 보는 것:", attended: "을(를) 보는 것:", sum: "합:", tokens: "개 토큰",
    hint: "토큰에 올려 보세요. 클릭하면 고정, Shift-클릭은 더하기, Esc는 풀기, ← →는 층 바꾸기.", scale: "확률, 제곱근 눈금",
    gridHint: "네모 하나가 헤드 하나: 행이 열을 봅니다. 클릭하면 열립니다.", matrixHint: "행이 열을 봅니다. 행을 클릭하면 고정됩니다.",
    query: "질의", key: "키", product: "q × k", dot: "q·k / √D", softmax: "소프트맥스", dimension: "차원",
    neuronHint: "묻는 토큰을 고르세요. 파랑은 양수, 주황은 음수.",
    previousToken: "이전 토큰", nextToken: "다음 토큰",
    save: "저장", saveSvg: "SVG, 벡터 그림", saveCsv: "CSV, 숫자", savePython: "파이썬 코드", saveHtml: "HTML, 오프라인 한 장", data: "자료",
    saveFailed: "이 브라우저에서 그림을 저장하지 못했습니다.", lang: "ko",
    play: "재생", pause: "멈춤", moment: "학습의 순간", earlier: "이전 스냅샷", later: "다음 스냅샷", step: "스텝",
    tokensRead: "토큰 읽음", beside: "나란히", besideTip: "한 순간을 붙잡아 움직이는 순간 옆에 둡니다", held: "붙잡은 순간", everyHead: "모든 헤드: 화살표로 고르기",
    loss: "손실", masked: "숨긴 낱말 정답", follows: "B가 A에 이어짐", bits: "글자당 비트", maskedLoss: "숨긴 낱말의 손실", heldOut: "따로 떼어 둔 글에서:",
    unmeasured: "이 스냅샷에서는 잰 값이 없습니다.", yes: "이어짐", no: "안 이어짐", noMask: "문장 A에 [MASK]를 쓰면 그 자리의 낱말이 여기서 움직입니다.",
    noPair: "문장 B를 쓰면 이어질 확률이 여기서 움직입니다.",
    timeHint: "← →는 시간 이동, 스페이스는 재생. 헤드를 누르면 크게 보이고, 가리키면 값이 보입니다.",
  },
};

export function words(options) {
  return { ...WORDS.en, ...(WORDS[options?.lang] ?? {}), ...(options?.labels ?? {}) };
}
