// The time machine: one slider over the snapshots of a run moves attention, candidates for each mask, NSP and the loss curve.
// One payload holds the data of all snapshots. Makes no network requests.
// Shapes: S moments (snapshots), L layers, N heads, T tokens; the codes of a moment are [L, N, T, T], p = (code / 255)^2.
import { Surface, digits, drawText, mix, paper, readTheme, watch } from "./canvas.js";
import { element, handle } from "./dom.js";
import { inflate, received } from "./payload.js";
import { literal, saveMenu } from "./save.js";
import { Recorder } from "./svg.js";
import { words } from "./words.js";

const START = { at: null, against: null, layer: 0, head: 0 };
const SHOWN = 6; // candidates shown for each mask
const BEAT = 800; // ms per snapshot during playback
const EMIT_AFTER = 300; // ms without a further change before the state is reported to the host
const CURVE = 132;
const WIDE = 760;

const clamp = (value, low, high) => Math.min(Math.max(value, low), high);
const grouped = (number) => Math.round(number).toLocaleString("en-US");
const percent = (share) => (share > 0 && share < 0.001 ? "< 0.1%" : `${(share * 100).toFixed(1)}%`);

function vector(tag, attributes) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  return node;
}

/** A sparkline of a probability over all snapshots, with a dot at the current one. */
function spark(shares, most, at) {
  const x = (index) => 2 + (index / Math.max(1, shares.length - 1)) * 66;
  const y = (share) => 17 - (share / Math.max(most, 1e-6)) * 14;
  const picture = vector("svg", { viewBox: "0 0 70 20", class: "bl-spark", "aria-hidden": "true" });
  picture.append(
    vector("path", { d: shares.map((share, i) => `${i ? "L" : "M"}${x(i).toFixed(1)} ${y(share).toFixed(1)}`).join("") }),
    vector("circle", { cx: x(at), cy: y(shares[at]), r: 2.6 }),
  );
  return picture;
}

/** One snapshot: thumbnails of all heads, the selected head, the candidates for each mask, and NSP. */
class Side {
  constructor(view, held) {
    this.view = view;
    this.held = held;
    this.title = element("div", { class: "bl-card-title" });
    this.gridBox = element("div", { class: "bl-moment-grid" });
    this.headBox = element("div", { class: "bl-moment-head" });
    this.predictions = element("div", { class: "bl-moment-predictions" });
    this.node = element("div", { class: "bl-card bl-moment" }, this.title,
      element("div", { class: "bl-moment-parts" }, this.gridBox, this.headBox, this.predictions));
    this.grid = new Surface(this.gridBox, "bl-over", () => this.drawGrid());
    this.head = new Surface(this.headBox, "bl-over", () => this.drawHead());
    const grid = this.grid.canvas;
    grid.tabIndex = 0;
    grid.setAttribute("role", "application");
    grid.addEventListener("click", (event) => {
      const [x, y] = this.where(grid, event);
      const [head, layer] = [Math.floor((x - this.left) / this.cell), Math.floor((y - this.top) / this.cell)];
      const { data } = this.view;
      if (head >= 0 && head < data.heads && layer >= 0 && layer < data.layers) this.view.set({ layer, head });
    });
    grid.addEventListener("keydown", (event) => {
      const by = { ArrowDown: [1, 0], ArrowUp: [-1, 0], ArrowRight: [0, 1], ArrowLeft: [0, -1] }[event.key];
      if (!by) return;
      event.preventDefault();
      event.stopPropagation();
      this.view.set({ layer: this.view.state.layer + by[0], head: this.view.state.head + by[1] });
    });
    const head = this.head.canvas;
    head.tabIndex = 0;
    head.setAttribute("role", "application");
    head.addEventListener("keydown", (event) => this.walk(event));
    head.addEventListener("blur", () => this.view.point(null));
    head.addEventListener("pointermove", (event) => {
      const [x, y] = this.where(head, event);
      const [col, row] = [Math.floor((x - this.labels) / this.step), Math.floor((y - this.heading) / this.step)];
      const inside = col >= 0 && row >= 0 && col < this.view.data.size && row < this.view.data.size;
      this.view.point(inside ? { row, col } : null);
    });
    head.addEventListener("pointerleave", () => this.view.point(null));
    if (held) {
      this.picker = element("select", { "aria-label": view.words.held, onchange: () => view.set({ against: Number(this.picker.value) }) },
        ...view.data.moments.map(({ step }) => element("option", { value: step }, `${view.words.step} ${grouped(step)}`)));
      this.title.append(element("label", { class: "bl-group" }, element("span", { class: "bl-name" }, view.words.held), this.picker));
    } else {
      this.name = element("span");
      this.title.append(this.name);
    }
  }

  /** The arrow keys move over pairs of tokens here; elsewhere they move in time. */
  walk(event) {
    const { data, pointed } = this.view;
    const by = { ArrowDown: [1, 0], ArrowUp: [-1, 0], ArrowRight: [0, 1], ArrowLeft: [0, -1] }[event.key];
    if (!by && event.key !== "Escape") return;
    event.preventDefault();
    event.stopPropagation();
    const to = (now, step) => clamp(now + step, 0, data.size - 1);
    if (!by) this.view.point(null);
    else this.view.point(pointed ? { row: to(pointed.row, by[0]), col: to(pointed.col, by[1]) } : { row: 0, col: 0 });
  }

  get at() {
    return this.held ? this.view.against : this.view.at;
  }

  where(canvas, event) {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  layout() {
    const { data, theme, words: text } = this.view;
    const narrow = this.view.root.classList.contains("bl-narrow");
    const room = narrow ? this.gridBox.clientWidth : this.node.clientWidth * (this.view.sides.length > 1 ? 0.35 : 0.3);
    this.left = this.top = data.heads > 1 || data.layers > 1 ? 20 : 2;
    this.cell = Math.floor(clamp((room - this.left - 2) / data.heads, 8, clamp(300 / data.layers, 14, 76)));
    this.grid.resize(this.left + this.cell * data.heads + 2, this.top + this.cell * data.layers + 2);
    this.grid.canvas.setAttribute("aria-label", text.everyHead);
    const wide = Math.min(this.headBox.clientWidth, 520);
    const measure = this.head.context;
    measure.font = `${theme.size * 0.86}px ${theme.family}`;
    const longest = Math.max(24, ...data.tokens.map((token) => measure.measureText(token).width));
    const label = Math.ceil(Math.min(longest, wide < 420 ? 62 : 96)) + 8;
    this.step = clamp((wide - label - 2) / data.size, 1, 30);
    this.named = this.step >= theme.size * 0.62;
    this.labels = this.heading = this.named ? label : 2;
    if (!this.named) this.step = clamp((wide - 4) / data.size, 1, 30);
    this.head.resize(Math.ceil(this.labels + this.step * data.size + 2), Math.ceil(this.heading + this.step * data.size + 2));
  }

  draw() {
    const { view } = this;
    const { words: text, data } = view;
    const moment = data.moments[this.at];
    if (this.held) this.picker.value = String(moment.step);
    else this.name.textContent = `${text.step} ${grouped(moment.step)}`;
    const layer = text.layerNumber.replace("{}", view.state.layer), head = text.headNumber.replace("{}", view.state.head);
    this.head.canvas.setAttribute("aria-label", `${layer} · ${head}: ${text.everyPair}`);
    this.drawGrid();
    this.drawHead();
    this.say();
  }

  drawGrid(context = this.grid.begin()) {
    const { view, cell, left, top } = this;
    const { data, theme, state } = view;
    const atlas = view.atlas(this.at);
    context.font = `${theme.size * 0.8}px ${theme.family}`;
    context.fillStyle = theme.muted;
    const every = cell < 16 ? 2 : 1;
    if (left > 2) {
      context.textAlign = "center";
      for (let head = 0; head < data.heads; head += every) context.fillText(String(head), left + (head + 0.5) * cell, top / 2);
      context.textAlign = "right";
      for (let layer = 0; layer < data.layers; layer += every) context.fillText(String(layer), left - 5, top + (layer + 0.5) * cell);
    }
    context.imageSmoothingEnabled = true;
    const gap = cell > 20 ? 2 : 1;
    for (let layer = 0; layer < data.layers; layer++) {
      for (let head = 0; head < data.heads; head++) {
        const [x, y] = [left + head * cell, top + layer * cell];
        context.drawImage(atlas, head * data.size, layer * data.size, data.size, data.size, x + gap / 2, y + gap / 2, cell - gap, cell - gap);
        context.strokeStyle = theme.hair;
        context.lineWidth = 1;
        context.strokeRect(x + gap / 2, y + gap / 2, cell - gap, cell - gap);
      }
    }
    context.strokeStyle = theme.accent;
    context.lineWidth = 2.5;
    context.strokeRect(left + state.head * cell, top + state.layer * cell, cell, cell);
  }

  drawHead(context = this.head.begin()) {
    const { view, step, labels, heading } = this;
    const { data, theme, state, pointed } = view;
    const side = step * data.size;
    context.imageSmoothingEnabled = step * this.head.ratio < 1.5;
    context.drawImage(view.atlas(this.at), state.head * data.size, state.layer * data.size, data.size, data.size, labels, heading, side, side);
    context.strokeStyle = theme.hair;
    context.lineWidth = 1;
    context.strokeRect(labels - 0.5, heading - 0.5, side + 1, side + 1);
    if (this.named) {
      context.font = `${Math.min(theme.size * 0.86, step)}px ${theme.family}`;
      for (let i = 0; i < data.size; i++) {
        const ink = data.masked.has(i) ? theme.accent : data.hideable.has(i) ? theme.muted : theme.ink;
        context.fillStyle = ink;
        context.textAlign = "right";
        drawText(context, data.tokens[i], labels - 5, heading + (i + 0.5) * step, labels - 7);
        context.save();
        context.translate(labels + (i + 0.5) * step, heading - 5);
        context.rotate(-Math.PI / 2);
        context.textAlign = "left";
        drawText(context, data.tokens[i], 0, 0, heading - 7);
        context.restore();
      }
    }
    if (pointed) {
      context.strokeStyle = theme.ink;
      context.lineWidth = 1.5;
      context.strokeRect(labels + pointed.col * step, heading + pointed.row * step, step, step);
      context.strokeStyle = theme.faint;
      context.strokeRect(labels, heading + pointed.row * step, side, step);
    }
  }

  /** The candidates for each mask, most probable first, and the probability that B follows A. */
  say() {
    const { data, words: text } = this.view;
    const { at } = this;
    const blocks = data.masks.map(({ words: names, probs }, number) => {
      const now = probs[at];
      const order = names.map((_, i) => i).sort((a, b) => now[b] - now[a]).slice(0, SHOWN);
      const most = Math.max(1e-6, ...probs.flat()); // the sparklines of a mask share one scale over the whole run
      return element("div", { class: "bl-words" },
        element("div", { class: "bl-name" }, data.masks.length > 1 ? `[MASK] ${number + 1}` : "[MASK]"),
        ...order.map((i) => element("div", { class: "bl-word" },
          element("bdi", {}, names[i]),
          element("span", { class: "bl-bar-room" }, element("span", { class: "bl-bar-part", style: `width:${(now[i] * 100).toFixed(2)}%` })),
          element("span", { class: "bl-share" }, percent(now[i])),
          spark(probs.map((shares) => shares[i]), most, at))));
    });
    if (!blocks.length) blocks.push(element("p", { class: "bl-name" }, text.noMask));
    if (data.follows) {
      const share = data.follows[at];
      blocks.push(element("div", { class: "bl-words" }, element("div", { class: "bl-name" }, text.follows),
        element("div", { class: "bl-word" }, element("bdi", {}, share >= 0.5 ? text.yes : text.no),
          element("span", { class: "bl-bar-room bl-half" }, element("span", { class: "bl-bar-part", style: `width:${(share * 100).toFixed(2)}%` })),
          element("span", { class: "bl-share" }, percent(Math.max(share, 1 - share))), spark(data.follows, 1, at))));
    } else blocks.push(element("p", { class: "bl-name" }, text.noPair));
    this.predictions.replaceChildren(...blocks);
  }

  destroy() {
    this.grid.destroy();
    this.head.destroy();
    this.node.remove();
  }
}

class TimelineView {
  constructor(root, emit) {
    this.root = element("section", { class: "bl-view bl-timeline" });
    this.emit = emit;
    this.state = { ...START };
    this.reported = new Set();
    this.generation = 0;
    this.pointed = null;
    this.sides = [];
    root.append(this.root);
    this.root.addEventListener("keydown", (event) => this.key(event));
    this.unwatch = watch(this.root, (what) => {
      if (!this.data) return;
      if (what === "theme") this.theme = null;
      this.layout();
    });
  }

  async load(payload, options) {
    const generation = ++this.generation;
    const { header, blocks, hosted, language } = received("timeline", payload, options);
    const fresh = this.data?.id !== header.id;
    if (fresh) {
      const codes = await Promise.all(blocks.map((block) => inflate(block.packed)));
      if (generation !== this.generation) return;
      this.stop();
      this.data = {
        ...header, codes, size: header.tokens.length, hideable: new Set(header.hideable),
        masked: new Set(header.masks.map(({ position }) => position)),
      };
      this.atlases = new Map();
      this.pointed = null;
    }
    const rebuilt = fresh || language !== this.language;
    this.language = language;
    this.words = words(hosted);
    this.code = hosted.code ?? null;
    this.subject = hosted.subject;
    this.obey(hosted.state);
    this.check();
    if (rebuilt) this.build();
    this.layout();
  }

  /** Apply the host's state, unless it repeats a state that this view reported: that would undo later changes. */
  obey(state) {
    if (!state) return;
    const text = JSON.stringify(Object.keys(START).map((name) => state[name] ?? START[name]));
    if (text === this.hosted || this.reported.has(text)) return;
    this.hosted = text;
    for (const name of Object.keys(START)) if (name in state) this.state[name] = state[name];
  }

  check() {
    const { state, data } = this;
    const whole = (value, limit) => (Number.isInteger(value) ? clamp(value, 0, limit - 1) : 0);
    state.layer = whole(state.layer, data.layers);
    state.head = whole(state.head, data.heads);
    for (const name of ["at", "against"]) if (!Number.isInteger(state[name])) state[name] = null;
    this.at = state.at === null ? data.moments.length - 1 : this.nearest(state.at);
    this.against = state.against === null ? null : this.nearest(state.against);
  }

  nearest(step) {
    const far = ({ step: other }) => Math.abs(Math.log1p(Math.max(0, step)) - Math.log1p(other));
    return this.data.moments.reduce((best, moment, i, all) => (far(moment) < far(all[best]) ? i : best), 0);
  }

  set(change) {
    const beside = this.state.against !== null;
    Object.assign(this.state, change);
    this.check();
    if (beside !== (this.state.against !== null)) {
      this.beside();
      this.layout();
    } else this.draw();
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.report(), EMIT_AFTER);
  }

  report() {
    if (this.playing) return; // a host that reruns for every frame would stutter
    const { at, against, layer, head } = this.state;
    this.reported.add(JSON.stringify([at, against, layer, head]));
    this.emit?.({ at, against, layer, head });
  }

  go(index) {
    const moment = clamp(index, 0, this.data.moments.length - 1);
    this.set({ at: this.data.moments[moment].step });
  }

  play() {
    if (this.playing) return this.stop();
    if (this.at === this.data.moments.length - 1) this.go(0);
    this.playing = setInterval(() => {
      if (!this.root.isConnected) return this.stop();
      this.go(this.at + 1);
      if (this.at === this.data.moments.length - 1) this.stop();
    }, BEAT);
    this.showPlay();
    return undefined;
  }

  stop() {
    if (!this.playing) return;
    clearInterval(this.playing);
    this.playing = 0;
    this.showPlay();
    this.report();
  }

  showPlay() {
    const { words: text } = this;
    if (!this.playButton) return;
    this.playButton.replaceChildren(this.playing ? "❚❚" : "▶", ` ${this.playing ? text.pause : text.play}`);
  }

  key(event) {
    const kind = event.composedPath()[0]?.tagName;
    if (event.key === " " && kind !== "BUTTON" && kind !== "SELECT") {
      event.preventDefault();
      this.play();
    } else if (kind !== "INPUT" && kind !== "SELECT") {
      const to = { ArrowLeft: this.at - 1, ArrowRight: this.at + 1, Home: 0, End: this.data.moments.length - 1 }[event.key];
      if (to === undefined) return;
      event.preventDefault();
      this.go(to);
    }
  }

  build() {
    const { words: text, data } = this;
    const last = data.moments.length - 1;
    for (const side of this.sides) side.destroy();
    this.curve?.destroy();
    this.sides = [];
    this.playButton = element("button", { type: "button", class: "bl-play", disabled: !last, onclick: () => this.play() });
    this.slider = element("input", {
      type: "range", min: 0, max: last, step: 1, class: "bl-slider", "aria-label": text.moment,
      oninput: () => { this.stop(); this.go(Number(this.slider.value)); },
    });
    const step = (by, sign, label) => element("button", { type: "button", class: "bl-step", "aria-label": label, title: label, onclick: () => { this.stop(); this.go(this.at + by); } }, sign);
    this.down = step(-1, "‹", text.earlier);
    this.up = step(1, "›", text.later);
    this.value = element("span", { class: "bl-value bl-moment-name" });
    this.both = element("button", { type: "button", title: text.besideTip, onclick: () => {
      const { moments } = data;
      this.set({ against: this.against === null ? moments[this.at > 0 ? 0 : last].step : null });
    } }, text.beside);
    this.bar = element("div", { class: "bl-bar bl-timebar", role: "toolbar", "aria-label": text.moment },
      this.playButton, this.down, this.slider, this.up, this.value, this.both);
    this.curveBox = element("div", { class: "bl-curve" });
    this.curve = new Surface(this.curveBox, "bl-over", () => this.drawCurve());
    const canvas = this.curve.canvas;
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", text.loss);
    const jump = (event) => {
      const box = canvas.getBoundingClientRect();
      const share = clamp((event.clientX - box.left - this.plot.left) / this.plot.width, 0, 1);
      this.stop();
      const nearest = this.nearest(Math.expm1(share * this.plot.far));
      if (nearest !== this.at) this.go(nearest);
    };
    canvas.addEventListener("pointerdown", (event) => { canvas.setPointerCapture(event.pointerId); jump(event); });
    canvas.addEventListener("pointermove", (event) => { if (canvas.hasPointerCapture(event.pointerId)) jump(event); });
    this.figures = element("div", { class: "bl-figures" });
    this.stage = element("div", { class: "bl-stage bl-sides" });
    this.readout = element("div", { class: "bl-readout", role: "status" });
    this.scale = element("div", { class: "bl-legend" });
    const save = saveMenu(text, { name: "time-machine", code: this.code && (() => this.code.replace("STATE", () => literal(this.state))),
      svg: () => this.svg(), data: () => this.columns(), subject: this.subject });
    this.bar.append(save);
    this.root.replaceChildren(this.bar, this.curveBox, this.figures, this.stage, element("div", { class: "bl-status" }, this.readout, this.scale));
    this.beside();
    this.showPlay();
  }

  /** One or two panes: the pinned snapshot to the left of the moving one. */
  beside() {
    for (const side of this.sides) side.destroy();
    this.sides = [...(this.against === null ? [] : [new Side(this, true)]), new Side(this, false)];
    this.stage.classList.toggle("bl-two", this.sides.length > 1);
    this.stage.append(...this.sides.map((side) => side.node));
  }

  layout() {
    if (!this.root.isConnected || !this.bar || !this.root.clientWidth) return;
    if (!this.theme) {
      this.theme = readTheme(this.root);
      this.atlases.clear();
    }
    this.root.classList.toggle("bl-narrow", this.root.clientWidth < WIDE);
    this.curve.resize(this.curveBox.clientWidth, CURVE);
    for (const side of this.sides) side.layout();
    const stops = Array.from({ length: 9 }, (_, i) => this.theme.css(mix(this.theme.ramp, i / 8))).join(", ");
    this.scale.replaceChildren(element("span", { class: "bl-group", title: this.words.scale }, "0",
      element("span", { style: `display:inline-block;width:84px;height:10px;border-radius:3px;background:linear-gradient(90deg, ${stops}) border-box;border:1px solid ${this.theme.hair}` }), "1"));
    this.draw();
  }

  /** The curve and all visible snapshots as one SVG, in the colours of the light theme. */
  svg() {
    const [theme, atlases, pointed] = [this.theme, this.atlases, this.pointed];
    Object.assign(this, { theme: paper(theme), atlases: new Map(), pointed: null });
    const high = (side) => Math.max(side.grid.height, side.head.height) + 40;
    const wide = (side) => side.grid.width + side.head.width + 24;
    const recorder = new Recorder(Math.max(this.curve.width, ...this.sides.map(wide)), this.curve.height + this.sides.reduce((sum, side) => sum + high(side), 0), this.theme.ground);
    try {
      this.drawCurve(recorder);
      let top = this.curve.height + 20;
      for (const side of this.sides) {
        recorder.save();
        recorder.translate(0, top);
        Object.assign(recorder, { font: `600 ${this.theme.size}px ${this.theme.family}`, fillStyle: this.theme.ink, textAlign: "left", globalAlpha: 1 });
        recorder.fillText(`${this.words.step} ${grouped(this.data.moments[side.at].step)}`, 0, 0);
        recorder.translate(0, 14);
        side.drawGrid(recorder);
        recorder.translate(side.grid.width + 24, 0);
        side.drawHead(recorder);
        recorder.restore();
        top += high(side);
      }
      return recorder.text();
    } finally {
      Object.assign(this, { theme, atlases, pointed });
    }
  }

  /** A row for every snapshot: its step, and its predictions for this text. */
  columns() {
    const { moments, masks, follows } = this.data;
    const columns = { step: moments.map(({ step }) => step), tokens: moments.map(({ tokens }) => tokens) };
    masks.forEach(({ words: names, probs }, mask) => names.forEach((name, i) => { columns[`mask_${mask + 1} ${name}`] = probs.map((shares) => shares[i]); }));
    if (follows) columns.is_next = follows;
    for (const name of Object.keys(Object.assign({}, ...moments.map(({ validation }) => validation)))) {
      columns[`validation ${name}`] = moments.map(({ validation }) => validation[name]);
    }
    return columns;
  }

  /** All heads of a snapshot as one image with one pixel per pair of tokens, made when first shown. */
  atlas(at) {
    const known = this.atlases.get(at);
    if (known) return known;
    const { data } = this;
    const size = data.size;
    const canvas = document.createElement("canvas");
    canvas.width = data.heads * size;
    canvas.height = data.layers * size;
    const image = new ImageData(canvas.width, canvas.height);
    const pixels = new Uint32Array(image.data.buffer);
    const table = Uint32Array.from({ length: 256 }, (_, code) => {
      const [red, green, blue] = mix(this.theme.ramp, code / 255);
      return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
    });
    const codes = data.codes[at];
    for (let layer = 0, from = 0; layer < data.layers; layer++) {
      for (let head = 0; head < data.heads; head++) {
        for (let row = 0; row < size; row++) {
          const to = (layer * size + row) * canvas.width + head * size;
          for (let col = 0; col < size; col++) pixels[to + col] = table[codes[from++]];
        }
      }
    }
    canvas.getContext("2d").putImageData(image, 0, 0);
    this.atlases.set(at, canvas);
    return canvas;
  }

  probability(at, row, col) {
    const { data, state } = this;
    const code = data.codes[at][((state.layer * data.heads + state.head) * data.size + row) * data.size + col];
    return (code / 255) ** 2;
  }

  draw() {
    if (!this.root.isConnected || !this.theme) return;
    const { data, words: text } = this;
    const moment = data.moments[this.at];
    this.slider.value = String(this.at);
    this.slider.setAttribute("aria-valuetext", `${text.step} ${grouped(moment.step)}`);
    this.down.disabled = this.at === 0;
    this.up.disabled = this.at === data.moments.length - 1;
    this.both.setAttribute("aria-pressed", String(this.against !== null));
    this.both.disabled = data.moments.length < 2;
    this.value.replaceChildren(`${text.step} ${grouped(moment.step)}`, element("small", {}, ` · ${grouped(moment.tokens)} ${text.tokensRead}`));
    const measured = [["masked_accuracy", text.masked, percent], ["nsp_accuracy", text.sentences, percent],
      ["bits_per_character", text.bits, (value) => value.toFixed(2)], ["mlm_loss", text.maskedLoss, (value) => value.toFixed(2)]]
      .filter(([name]) => name in moment.validation)
      .map(([name, label, shown]) => element("span", {}, element("strong", {}, shown(moment.validation[name])), ` ${label}`));
    this.figures.replaceChildren(element("span", { class: "bl-name" }, measured.length ? text.heldOut : text.unmeasured), ...measured);
    this.drawCurve();
    for (const side of this.sides) side.draw();
    this.tell();
  }

  drawCurve(context = this.curve.begin()) {
    const { data, theme } = this;
    if (!theme || !this.curve.width) return;
    const { curve, moments } = data;
    const width = this.curve.width;
    const losses = curve.loss.filter((value) => value !== null);
    const far = Math.log1p(Math.max(moments.at(-1).step, ...curve.step, 1));
    const plot = { left: 34, top: 10, width: width - 34 - 12, height: CURVE - 10 - 22, far };
    this.plot = plot;
    const [low, high] = losses.length ? [Math.min(...losses), Math.max(...losses)] : [0, 1];
    const x = (step) => plot.left + (Math.log1p(step) / far) * plot.width;
    const y = (loss) => plot.top + (1 - (loss - low) / Math.max(high - low, 1e-6)) * plot.height;
    context.font = `${theme.size * 0.82}px ${theme.family}`;
    context.fillStyle = theme.muted;
    context.strokeStyle = theme.hair;
    context.lineWidth = 1;
    context.textAlign = "center";
    let free = -Infinity;
    for (const step of [0, ...Array.from({ length: 12 }, (_, i) => 10 ** (i + 1))]) {
      if (Math.log1p(step) > far) break;
      context.beginPath();
      context.moveTo(x(step), plot.top);
      context.lineTo(x(step), plot.top + plot.height);
      context.stroke();
      if (x(step) < free) continue;
      context.fillText(grouped(step), clamp(x(step), plot.left, width - 24), CURVE - 9);
      free = x(step) + context.measureText(grouped(step)).width + 10;
    }
    if (losses.length) {
      context.textAlign = "right";
      context.fillText(high.toFixed(1), plot.left - 6, plot.top + 4);
      context.fillText(low.toFixed(1), plot.left - 6, plot.top + plot.height - 4);
      context.textAlign = "left";
      context.fillText(this.words.loss, plot.left + 6, plot.top + plot.height - 6);
    }
    context.strokeStyle = theme.muted;
    context.lineWidth = 1.5;
    context.beginPath();
    let drawing = false;
    curve.loss.forEach((loss, i) => {
      if (loss === null) drawing = false;
      else if (drawing) context.lineTo(x(curve.step[i]), y(loss));
      else { context.moveTo(x(curve.step[i]), y(loss)); drawing = true; }
    });
    context.stroke();
    const near = (step) => {
      let best = -1;
      curve.step.forEach((other, i) => { if (curve.loss[i] !== null && (best < 0 || Math.abs(other - step) < Math.abs(curve.step[best] - step))) best = i; });
      return best < 0 ? plot.top + plot.height / 2 : y(curve.loss[best]);
    };
    for (const { step } of moments) {
      context.beginPath();
      context.arc(x(step), near(step), 3, 0, 7);
      context.fillStyle = theme.ground;
      context.strokeStyle = theme.muted;
      context.fill();
      context.stroke();
    }
    const mark = (at, colour, dash) => {
      const { step } = moments[at];
      context.strokeStyle = context.fillStyle = colour;
      context.lineWidth = 2;
      context.setLineDash(dash);
      context.beginPath();
      context.moveTo(x(step), plot.top - 4);
      context.lineTo(x(step), plot.top + plot.height);
      context.stroke();
      context.setLineDash([]);
      context.beginPath();
      context.arc(x(step), near(step), 5.5, 0, 7);
      context.fill();
    };
    if (this.against !== null) mark(this.against, theme.segments[1], [5, 4]);
    mark(this.at, theme.accent, []);
  }

  point(pointed) {
    if (pointed?.row === this.pointed?.row && pointed?.col === this.pointed?.col) return;
    this.pointed = pointed;
    for (const side of this.sides) side.drawHead();
    this.tell();
  }

  /** The line below the picture: the hovered pair of tokens in every visible snapshot, or a hint. */
  tell() {
    const { pointed, data, words: text } = this;
    if (!pointed) return this.readout.replaceChildren(text.timeHint);
    const bold = (word) => element("strong", {}, element("bdi", {}, word));
    const shares = this.sides.flatMap(({ at }) => [` · ${text.step} ${grouped(data.moments[at].step)}: `, bold(digits(this.probability(at, pointed.row, pointed.col), 0.004))]);
    return this.readout.replaceChildren(bold(data.tokens[pointed.row]), " → ", bold(data.tokens[pointed.col]), ...shares);
  }

  fail() {
    this.stop();
    this.data = null;
    this.bar = null;
    this.sides = [];
    this.root.replaceChildren(element("p", { class: "bl-message", role: "alert" }, (this.words ?? words({})).broken));
  }

  destroy() {
    clearTimeout(this.timer);
    clearInterval(this.playing);
    this.generation++;
    this.unwatch();
    for (const side of this.sides) side.destroy();
    this.curve?.destroy();
    this.root.remove();
  }
}

/** Mount the time machine in root; emit({at, against, layer, head}) is called after every change. Returns the same handle as the attention view. */
export function render(root, payload, emit = null, options = {}) {
  return handle(new TimelineView(root, emit), payload, options);
}
