// Attention as a reader explores it: lines between tokens, all heads at once, one head as a heat map.
// Drawn on canvas from one payload; every choice is reported through emit and can be set through options.
// Knows nothing of models or hosts, and fetches nothing. Shapes: L layers, N heads, T tokens; layer data is [N, T, T].
import { Surface, WORDS, digits, drawText, element, inflate, mix, palette, readTheme, unpack, watch, words } from "./common.js";

export { WORDS, palette };

const START = { view: "lines", layer: 0, head: 0, heads: null, filter: "all", hide: false, renorm: false, fit: false, tokens: [], side: "query" };
const VIEWS = ["lines", "grid", "matrix"];
const FILTERS = { all: [null, null], aa: [0, 0], ab: [0, 1], ba: [1, 0], bb: [1, 1] };
const KEPT_LAYERS = 4; // layers of a long input held as floats at once
const MOST_LINES = 10000;
const BUSY = 1200; // from here on lines are one device pixel wide, which browsers draw many times faster
const LEVELS = 24; // steps of opacity; the lines of one head and one step are one path
const THUMB = 64;
const EMIT_AFTER = 150; // ms without a further change before the host hears of it

/** The numbers of one payload: inflated when asked for, filtered, renormalised. */
class Attention {
  constructor(header, blocks) {
    Object.assign(this, { id: header.id, tokens: header.tokens, segments: header.segments, hideable: new Set(header.hideable) });
    Object.assign(this, { layers: header.layers, heads: header.heads, size: header.tokens.length, error: header.error });
    this.scale = header.scale;
    this.packed = new Map();
    this.floats = new Map();
    this.opening = new Map();
    this.pooled = new Map();
    this.small = this.layers * this.heads * this.size * this.size <= 4e6;
    this.add(blocks);
  }

  /** Take further blocks of the same input: layers that were asked for later. */
  add(blocks) {
    for (const block of blocks) {
      if (block.kind === "layer") this.packed.set(block.layer, block.packed);
      else if (block.kind === "thumbs") this.thumbs = { side: block.side, packed: block.packed };
    }
  }

  has(layer) {
    return this.packed.has(layer);
  }

  /** The layer's probabilities if they are at hand, else null; `open` brings them to hand. */
  ready(layer) {
    return this.floats.get(layer) ?? null;
  }

  open(layer) {
    if (this.floats.has(layer) || !this.has(layer)) return Promise.resolve(this.ready(layer));
    if (!this.opening.has(layer)) {
      this.opening.set(layer, inflate(this.packed.get(layer)).then((codes) => {
        this.opening.delete(layer);
        if (!this.small && this.floats.size >= KEPT_LAYERS) this.floats.delete(this.floats.keys().next().value);
        const probs = this.decode(codes, this.heads * this.size * this.size);
        this.floats.set(layer, probs);
        return probs;
      }));
    }
    return this.opening.get(layer);
  }

  decode(codes, count) {
    const probs = new Float32Array(count);
    if (this.scale.bytes === 2) { // high bytes first, then low bytes
      for (let i = 0; i < count; i++) probs[i] = (codes[i] * 256 + codes[count + i]) / 65535;
      return probs;
    }
    const table = Float32Array.from({ length: 256 }, (_, code) => (code / 255) ** (1 / this.scale.power));
    for (let i = 0; i < count; i++) probs[i] = table[codes[i]];
    return probs;
  }

  async openThumbs() {
    if (!this.thumbs || this.thumbs.probs) return;
    const { side, packed } = this.thumbs;
    this.thumbs.probs = this.decode(await inflate(packed), this.layers * this.heads * side * side);
  }

  /** Query and key positions that the filter and the hiding leave. */
  positions({ filter, hide }) {
    const [query, key] = FILTERS[filter] ?? FILTERS.all;
    const keep = (segment) => Array.from(this.tokens.keys())
      .filter((i) => (segment === null || this.segments[i] === segment) && !(hide && this.hideable.has(i)));
    return { rows: keep(query), cols: keep(key) };
  }

  /** What each row of a head is multiplied by: 1, or what makes the visible part sum to 1. */
  factors(probs, head, { rows, cols }, renorm) {
    const size = this.size;
    const factors = new Float32Array(size).fill(1);
    if (!renorm || cols.length === size) return factors;
    for (const row of rows) {
      const at = (head * size + row) * size;
      let sum = 0;
      for (const col of cols) sum += probs[at + col];
      factors[row] = sum > 1e-6 ? 1 / sum : 0;
    }
    return factors;
  }

  /** A head shrunk to at most THUMB x THUMB by taking maxima, so that a lone strong link stays visible. */
  thumb(layer, head, places, state) {
    const key = `${layer}.${head}`;
    const known = this.pooled.get(key);
    if (known) return known;
    const probs = this.ready(layer);
    const { rows, cols } = places;
    let result;
    if (probs) {
      const high = Math.min(rows.length, THUMB);
      const wide = Math.min(cols.length, THUMB);
      const values = new Float32Array(high * wide);
      const factors = this.factors(probs, head, places, state.renorm);
      for (let r = 0; r < rows.length; r++) {
        const at = (head * this.size + rows[r]) * this.size;
        const to = Math.floor((r * high) / rows.length) * wide;
        const factor = factors[rows[r]];
        for (let c = 0; c < cols.length; c++) {
          const value = probs[at + cols[c]] * factor;
          const spot = to + Math.floor((c * wide) / cols.length);
          if (value > values[spot]) values[spot] = value;
        }
      }
      result = { high, wide, values };
    } else if (this.thumbs?.probs) {
      const side = this.thumbs.side;
      const bins = (kept) => [...new Set(kept.map((i) => Math.floor((i * side) / this.size)))];
      const [high, wide] = [bins(rows), bins(cols)];
      const values = new Float32Array(high.length * wide.length);
      const at = (layer * this.heads + head) * side * side;
      high.forEach((row, r) => wide.forEach((col, c) => { values[r * wide.length + c] = this.thumbs.probs[at + row * side + col]; }));
      result = { high: high.length, wide: wide.length, values };
    } else return null;
    this.pooled.set(key, result);
    return result;
  }
}

/** Lines between two columns of tokens. The lines of all tokens lie on one canvas, what the pointer asks for on a second. */
class Lines {
  constructor(view) {
    this.view = view;
    this.pane = element("div", { class: "bl-pane" });
    this.scroll = element("div", { class: "bl-scroll", onscroll: () => this.draw() });
    this.spacer = element("div");
    this.sticky = element("div", { class: "bl-sticky" });
    this.scroll.append(this.sticky, this.spacer);
    this.pane.append(this.scroll);
    this.under = new Surface(this.sticky, "bl-under", () => this.drawUnder());
    this.over = new Surface(this.sticky, "bl-over", () => this.drawOver());
    const canvas = this.over.canvas;
    canvas.tabIndex = 0;
    canvas.setAttribute("role", "application");
    canvas.setAttribute("aria-label", view.words.lines);
    canvas.addEventListener("pointermove", (event) => { if (event.pointerType !== "touch") this.hover(this.spot(event)); });
    canvas.addEventListener("pointerleave", () => this.hover(null));
    canvas.addEventListener("click", (event) => this.pick(this.spot(event), event.shiftKey || event.ctrlKey || event.metaKey));
    canvas.addEventListener("keydown", (event) => this.key(event));
    this.hovered = null;
  }

  /** Measure, and find the lines to draw; called whenever data, state or size changed. */
  layout() {
    const { data, state, places } = this.view;
    const width = this.pane.clientWidth;
    if (!width) return;
    const font = this.view.theme.size;
    const long = Math.max(places.rows.length, places.cols.length, 1);
    const tallest = Math.max(240, Math.min(720, innerHeight * 0.82));
    this.top = 8;
    const roomy = Math.round(font * 1.72);
    this.step = state.fit ? Math.min(roomy, Math.max(1, (tallest - 2 * this.top) / long)) : roomy;
    const full = Math.ceil(long * this.step + 2 * this.top);
    const height = Math.min(full, Math.round(tallest));
    const wide = Math.min(width, 1060);
    const narrow = width < 560;
    const measure = this.over.context;
    measure.font = `${font}px ${this.view.theme.family}`;
    const longest = Math.max(...new Set([...places.rows, ...places.cols].map((at) => measure.measureText(data.tokens[at]).width)), 30);
    this.narrow = narrow;
    this.gutter = narrow ? 46 : Math.min(190, wide * 0.18);
    this.column = Math.ceil(Math.min(longest + 26, narrow ? Math.min(96, wide * 0.24) : Math.min(180, wide * 0.18)));
    const lines = Math.min(wide - 2 * (this.gutter + this.column), 440);
    this.left = Math.round((width - lines) / 2);
    this.right = width - this.left;
    this.spread = Math.min(this.step * 0.5, 13);
    this.spacer.style.height = `${full}px`;
    this.width = full > height + 1 ? this.scroll.clientWidth || width : width;
    this.scroll.style.height = `${height}px`;
    this.height = height;
    this.findLines();
    this.under.resize(width, height, this.busy ? 1 : undefined);
    this.over.resize(width, height);
    this.view.overflows = long * roomy + 2 * this.top > tallest;
    this.draw();
  }

  findLines() {
    const { data, state, places, shown } = this.view;
    const probs = data.ready(state.layer);
    this.lines = [];
    this.busy = false;
    this.value = null;
    if (!probs) return;
    const size = data.size;
    // many heads share the picture: weak links wait for the pointer, so that the strong ones can be told apart
    const strength = Math.min(1, 1.4 / shown.length ** 0.42);
    const least = shown.length > 1 ? 0.035 : 0.02;
    this.factors = new Map(shown.map((head) => [head, data.factors(probs, head, places, state.renorm)]));
    this.value = (head, row, col) => probs[(head * size + row) * size + col] * this.factors.get(head)[row];
    const counts = new Uint32Array(LEVELS + 1);
    const found = shown.map((head) => {
      const levels = Array.from({ length: LEVELS + 1 }, () => []);
      const factors = this.factors.get(head);
      for (let r = 0; r < places.rows.length; r++) {
        const row = places.rows[r];
        const at = (head * size + row) * size;
        const factor = factors[row] * strength;
        for (let c = 0; c < places.cols.length; c++) {
          const alpha = probs[at + places.cols[c]] * factor;
          if (alpha < least) continue;
          const level = Math.min(LEVELS, Math.ceil(Math.sqrt(alpha) * LEVELS));
          levels[level].push(r, c);
          counts[level]++;
        }
      }
      return { head, levels };
    });
    let room = MOST_LINES;
    let lowest = LEVELS;
    while (lowest > 0 && counts[lowest] <= room) room -= counts[lowest--];
    for (const { head, levels } of found) {
      for (let level = lowest + 1; level <= LEVELS; level++) {
        if (levels[level].length) this.lines.push({ head, alpha: ((level - 0.5) / LEVELS) ** 2, ends: levels[level] });
      }
    }
    this.busy = MOST_LINES - room > BUSY;
  }

  y(index) {
    return this.top + (index + 0.5) * this.step - this.scrolled;
  }

  /** Heads run side by side within a row, so that their colours do not mix into grey. */
  lane(head) {
    const { shown } = this.view;
    return shown.length > 1 ? (shown.indexOf(head) / (shown.length - 1) - 0.5) * this.spread : 0;
  }

  draw() {
    this.under.draw();
    this.over.draw();
  }

  pen(context, head, alpha) {
    context.globalAlpha = Math.min(1, alpha);
    context.strokeStyle = this.view.colours[head];
    context.setLineDash(head >= 16 ? [6, 3] : []);
  }

  drawUnder() {
    this.scrolled = this.scroll.scrollTop;
    const context = this.under.begin();
    const [from, to] = [this.left + 9, this.right - 9];
    context.lineWidth = this.busy ? 1 : Math.max(1, Math.min(this.view.shown.length > 1 ? 1.5 : 2, this.step / 9));
    for (const { head, alpha, ends } of this.lines) {
      const lane = this.lane(head);
      this.pen(context, head, alpha);
      for (let i = 0; i < ends.length; i += 2) {
        const a = this.y(ends[i]) + lane;
        const b = this.y(ends[i + 1]) + lane;
        if ((a < 0 && b < 0) || (a > this.height && b > this.height)) continue;
        context.beginPath();
        context.moveTo(from, a);
        context.lineTo(to, b);
        context.stroke();
      }
    }
  }

  /** The tokens under the pointer, else those kept: {side, list} in positions of the input. */
  focus() {
    if (this.hovered) return { side: this.hovered.side, list: [this.hovered.position] };
    const { state, places } = this.view;
    const visible = state.side === "query" ? places.rows : places.cols;
    const list = state.tokens.filter((token) => visible.includes(token));
    return list.length ? { side: state.side, list } : null;
  }

  /** For a focus: what every token of the other column gets, per shown head (mean over heads; sum over focused tokens). */
  sums(focus) {
    const { shown, places } = this.view;
    const others = focus.side === "query" ? places.cols : places.rows;
    const parts = shown.map(() => new Float32Array(others.length));
    const totals = new Float32Array(others.length);
    if (!this.value) return { others, parts, totals };
    shown.forEach((head, h) => others.forEach((other, o) => {
      let sum = 0;
      for (const token of focus.list) sum += focus.side === "query" ? this.value(head, token, other) : this.value(head, other, token);
      parts[h][o] = sum / shown.length;
      totals[o] += sum / shown.length;
    }));
    return { others, parts, totals };
  }

  drawOver() {
    const { view } = this;
    const { data, theme, places } = view;
    this.scrolled = this.scroll.scrollTop;
    const context = this.over.begin();
    const focus = this.focus();
    this.under.canvas.classList.toggle("bl-dim", Boolean(focus));
    const sums = focus ? this.sums(focus) : null;
    const most = sums ? Math.max(1e-6, ...sums.totals) : 1;
    if (focus) this.drawFocus(context, focus);
    const size = Math.min(theme.size, this.step * 0.78);
    const labelled = this.step >= theme.size * 1.1;
    for (const side of ["query", "key"]) {
      const list = side === "query" ? places.rows : places.cols;
      const focused = focus?.side === side ? new Set(focus.list) : null;
      const edge = side === "query" ? this.left : this.right;
      const out = side === "query" ? -1 : 1;
      const strong = focus && !focused ? sums.totals : null;
      const order = labelled ? null : this.labelOrder(list, focused, strong);
      for (let i = 0; i < list.length; i++) {
        const y = this.y(i);
        if (y < -this.step || y > this.height + this.step) continue;
        const position = list[i];
        if (focused?.has(position)) {
          context.globalAlpha = 1;
          context.fillStyle = theme.accentSoft;
          const high = Math.max(this.step - 2, size + 6);
          context.beginPath();
          context.roundRect(side === "query" ? edge - this.column : edge - 4, y - high / 2, this.column + 4, high, 5);
          context.fill();
        }
        context.globalAlpha = data.hideable.has(position) ? 0.35 : 0.85;
        context.fillStyle = data.hideable.has(position) ? theme.muted : theme.segments[data.segments[position] === 1 ? 1 : 0];
        context.fillRect(edge - (side === "query" ? -3 : 6), y - this.step / 2 + (this.step > 6 ? 1 : 0), 3, this.step - (this.step > 6 ? 2 : 0));
        if (order && !order.has(i)) continue;
        const weight = strong ? strong[i] / most : 1;
        context.globalAlpha = focused ? (focused.has(position) ? 1 : 0.3) : 0.3 + 0.7 * Math.min(1, weight * 1.6);
        this.drawToken(context, position, edge + out * 10 + (side === "query" ? 6 : -6) , y, side, order ? theme.size * 0.86 : Math.max(size, theme.size * 0.86));
      }
      if (strong) this.drawBars(context, side, sums, most, labelled ? null : order);
    }
    context.globalAlpha = 1;
    if (!this.value) {
      context.fillStyle = theme.muted;
      context.font = `${theme.size}px ${theme.family}`;
      context.textAlign = "center";
      context.fillText(view.message(), (this.left + this.right) / 2, this.height / 2);
    }
  }

  /** When rows are too thin to name every token: the focused and strongest first, and none that would overlap. */
  labelOrder(list, focused, strong) {
    const space = Math.ceil((this.view.theme.size * 1.2) / this.step);
    const taken = new Set();
    const chosen = new Set();
    const offer = (i) => {
      if (taken.has(i)) return;
      chosen.add(i);
      for (let k = i - space + 1; k < i + space; k++) taken.add(k);
    };
    if (focused) list.forEach((position, i) => { if (focused.has(position)) offer(i); });
    else if (strong) Array.from(list.keys()).sort((a, b) => strong[b] - strong[a]).slice(0, 40).forEach(offer);
    else for (let i = 0; i < list.length; i += space) offer(i);
    return chosen;
  }

  drawToken(context, position, x, y, side, size) {
    const { data, theme } = this.view;
    context.font = `${size}px ${theme.family}`;
    context.textAlign = side === "query" ? "right" : "left";
    context.fillStyle = data.hideable.has(position) ? theme.muted : theme.ink;
    drawText(context, data.tokens[position], x, y, this.column - 14);
  }

  drawFocus(context, focus) {
    const { places, shown } = this.view;
    if (!this.value) return;
    const [rows, cols] = focus.side === "query" ? [focus.list, places.cols] : [places.rows, focus.list];
    const rowAt = new Map(places.rows.map((position, i) => [position, i]));
    const colAt = new Map(places.cols.map((position, i) => [position, i]));
    const strength = 1 / shown.length ** 0.18;
    context.lineWidth = shown.length > 1 ? 1.5 : 2;
    for (const head of shown) {
      const lane = this.lane(head);
      for (const row of rows) {
        for (const col of cols) {
          const alpha = this.value(head, row, col) ** 0.75 * strength;
          if (alpha < 0.012) continue;
          this.pen(context, head, alpha);
          context.beginPath();
          context.moveTo(this.left + 9, this.y(rowAt.get(row)) + lane);
          context.lineTo(this.right - 9, this.y(colAt.get(col)) + lane);
          context.stroke();
        }
      }
    }
    context.setLineDash([]);
  }

  drawBars(context, side, { others, parts, totals }, most, order) {
    const { theme, shown, colours, data } = this.view;
    const out = side === "query" ? -1 : 1;
    // without room beside the tokens, bars lie behind their names
    const behind = this.narrow;
    const edge = (side === "query" ? this.left : this.right) + out * (behind ? 4 : this.column + 6);
    const scale = (behind ? this.column - 6 : this.gutter - 50) / most;
    const size = theme.size * 0.8;
    const thick = behind ? this.step - 3 : Math.min(this.step * 0.5, 12);
    context.font = `${size}px ${theme.family}`;
    context.textAlign = side === "query" ? "right" : "left";
    for (let i = 0; i < others.length; i++) {
      const y = this.y(i);
      if (y < -this.step || y > this.height + this.step) continue;
      let x = edge;
      context.globalAlpha = behind ? 0.3 : 0.95;
      for (let h = 0; h < shown.length; h++) {
        const long = parts[h][i] * scale;
        if (long < 0.2) continue;
        context.fillStyle = colours[shown[h]];
        context.fillRect(out > 0 ? x : x - long, y - thick / 2, long, thick);
        x += out * long;
      }
      if (totals[i] < 0.005 || (order && !order.has(i))) continue;
      context.globalAlpha = 0.45 + 0.55 * Math.min(1, (totals[i] / most) * 1.5);
      context.fillStyle = theme.ink;
      context.fillText(digits(totals[i], data.error), behind ? edge + out * (this.column + 2) : x + out * 5, y);
    }
  }

  spot(event) {
    const box = this.over.canvas.getBoundingClientRect();
    const x = event.clientX - box.left;
    const i = Math.floor((event.clientY - box.top + this.scroll.scrollTop - this.top) / this.step);
    const side = x < this.left + 12 ? "query" : x > this.right - 12 ? "key" : null;
    const list = side === "query" ? this.view.places.rows : this.view.places.cols;
    return side && i >= 0 && i < list.length ? { side, position: list[i], index: i } : null;
  }

  hover(spot) {
    if (spot?.position === this.hovered?.position && spot?.side === this.hovered?.side) return;
    this.hovered = spot;
    this.over.canvas.style.cursor = spot ? "pointer" : "default";
    this.over.draw();
    this.tell();
  }

  tell() {
    const { view } = this;
    const focus = this.focus();
    if (!focus) return view.say(null);
    const { others, totals } = this.sums(focus);
    const best = Array.from(others.keys()).sort((a, b) => totals[b] - totals[a]).slice(0, view.narrow ? 3 : 5);
    const subject = focus.list.length === 1 ? view.data.tokens[focus.list[0]]
      : focus.list.map((position) => view.data.tokens[position]).join(" + ");
    view.say(subject, focus.side === "query" ? view.words.attends : view.words.attended,
      best.map((o) => [view.data.tokens[others[o]], digits(totals[o], view.data.error)]));
  }

  pick(spot, more) {
    const { state } = this.view;
    if (!spot) return this.view.set({ tokens: [] });
    const held = state.side === spot.side ? state.tokens : [];
    const tokens = held.includes(spot.position) ? (more ? held.filter((token) => token !== spot.position) : [])
      : more ? [...held, spot.position] : [spot.position];
    this.view.set({ tokens, side: spot.side });
  }

  key(event) {
    const { view } = this;
    const { state, places } = view;
    const side = this.hovered?.side ?? state.side;
    const list = side === "query" ? places.rows : places.cols;
    const now = this.hovered ? list.indexOf(this.hovered.position) : list.indexOf(state.tokens.at(-1) ?? -1);
    const go = (index, column = side) => {
      const into = column === "query" ? places.rows : places.cols;
      const at = Math.min(Math.max(index, 0), into.length - 1);
      if (!into.length) return;
      this.hover({ side: column, position: into[at], index: at });
      const y = this.top + at * this.step;
      if (y < this.scroll.scrollTop) this.scroll.scrollTop = y - this.top;
      else if (y + this.step > this.scroll.scrollTop + this.height) this.scroll.scrollTop = y + this.step + this.top - this.height;
    };
    const keys = {
      ArrowDown: () => go(now + 1), ArrowUp: () => go(now < 0 ? 0 : now - 1), Home: () => go(0), End: () => go(list.length - 1),
      ArrowLeft: () => view.stepLayer(-1), ArrowRight: () => view.stepLayer(1),
      Enter: () => this.pick(this.hovered, event.shiftKey), " ": () => this.pick(this.hovered, event.shiftKey),
      Escape: () => { this.hover(null); view.set({ tokens: [] }); },
      s: () => go(Math.max(now, 0), side === "query" ? "key" : "query"),
    };
    if (!keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
  }

  destroy() {
    this.under.destroy();
    this.over.destroy();
    this.pane.remove();
  }
}

/** One head as a heat map: rows are queries, columns are keys. */
class Matrix {
  constructor(view, host = null) {
    this.view = view;
    this.pane = host ?? element("div", { class: "bl-pane" });
    this.scroll = element("div", { class: "bl-scroll", onscroll: () => this.surface.draw() });
    this.spacer = element("div");
    this.sticky = element("div", { class: "bl-sticky" });
    this.scroll.append(this.sticky, this.spacer);
    this.pane.append(this.scroll);
    this.surface = new Surface(this.sticky, "bl-over", () => this.drawNow());
    const canvas = this.surface.canvas;
    canvas.tabIndex = 0;
    canvas.setAttribute("role", "application");
    canvas.setAttribute("aria-label", view.words.matrix);
    canvas.addEventListener("pointermove", (event) => { if (event.pointerType !== "touch") this.hover(this.spot(event)); });
    canvas.addEventListener("pointerleave", () => this.hover(null));
    canvas.addEventListener("click", (event) => this.pick(this.spot(event), event.shiftKey || event.ctrlKey || event.metaKey));
    canvas.addEventListener("keydown", (event) => this.key(event));
    this.image = document.createElement("canvas");
    this.at = null;
  }

  layout() {
    const { places, theme, state, data } = this.view;
    const width = this.pane.clientWidth;
    if (!width) return;
    const measure = this.surface.context;
    measure.font = `600 ${theme.size * 0.86}px ${theme.family}`;
    const longest = (list) => Math.max(24, ...list.map((position) => measure.measureText(data.tokens[position]).width));
    const limit = width < 480 ? 74 : 120;
    this.labels = Math.ceil(Math.min(longest(places.rows), limit)) + 12;
    this.heading = Math.ceil(Math.min(longest(places.cols), limit)) + 12;
    const most = Math.max(200, Math.min(720, innerHeight * 0.82));
    const across = (width - this.labels - 4) / Math.max(1, places.cols.length);
    const down = (most - this.heading - 4) / Math.max(1, places.rows.length);
    const least = theme.size * 0.95;
    const fitted = Math.min(across, down, 34);
    this.cell = state.fit || this.compact ? fitted : Math.max(fitted, least);
    this.named = this.cell >= theme.size * 0.8;
    if (!this.named) this.cell = Math.max(this.cell, 0.5);
    const full = { width: this.labels + places.cols.length * this.cell + 4, height: this.heading + places.rows.length * this.cell + 4 };
    this.width = Math.min(width, Math.ceil(full.width));
    this.height = Math.min(most, Math.ceil(full.height));
    // what fits stands in the middle; what does not starts at the left and scrolls
    this.indent = Math.max(0, Math.floor((width - full.width) / 2));
    this.labels += this.indent;
    this.spacer.style.width = `${full.width + this.indent}px`;
    this.spacer.style.height = `${full.height}px`;
    this.scroll.style.width = `${width}px`;
    this.scroll.style.height = `${this.height}px`;
    this.surface.resize(width, this.height);
    this.view.overflows = least * places.rows.length + this.heading > most || least * places.cols.length + this.labels > width;
    this.paint();
    this.surface.draw();
  }

  /** The head as an image of one pixel a cell, scaled when drawn. */
  paint() {
    const { data, state, places, theme } = this.view;
    const probs = data.ready(state.layer);
    const { rows, cols } = places;
    this.value = null;
    let pooled = null;
    if (!probs) pooled = data.thumb(state.layer, state.head, places, state);
    const [high, wide] = probs ? [rows.length, cols.length] : pooled ? [pooled.high, pooled.wide] : [0, 0];
    this.image.width = Math.max(1, wide);
    this.image.height = Math.max(1, high);
    if (!high || !wide) return;
    if (probs) {
      const factors = data.factors(probs, state.head, places, state.renorm);
      this.value = (row, col) => probs[(state.head * data.size + row) * data.size + col] * factors[row];
    }
    const ramp = Array.from({ length: 256 }, (_, i) => mix(theme.ramp, i / 255));
    const image = new ImageData(wide, high);
    for (let r = 0; r < high; r++) {
      for (let c = 0; c < wide; c++) {
        const value = probs ? this.value(rows[r], cols[c]) : pooled.values[r * wide + c];
        const [red, green, blue] = ramp[Math.min(255, Math.round(Math.sqrt(value) * 255))];
        const at = (r * wide + c) * 4;
        image.data[at] = red;
        image.data[at + 1] = green;
        image.data[at + 2] = blue;
        image.data[at + 3] = 255;
      }
    }
    this.image.getContext("2d").putImageData(image, 0, 0);
  }

  drawNow() {
    const { view, cell, labels, heading } = this;
    const { places, theme, data, state } = view;
    const context = this.surface.begin();
    const { rows, cols } = places;
    const [dx, dy] = [this.scroll.scrollLeft, this.scroll.scrollTop];
    const [x0, y0] = [labels - dx, heading - dy];
    context.save();
    context.beginPath();
    context.rect(labels, heading, this.surface.width - labels, this.height - heading);
    context.clip();
    context.imageSmoothingEnabled = cell * this.surface.ratio < 1.5;
    context.globalAlpha = this.value ? 1 : 0.5;
    context.drawImage(this.image, x0, y0, cols.length * cell, rows.length * cell);
    context.globalAlpha = 1;
    if (cell >= 9) {
      context.strokeStyle = theme.ground;
      context.lineWidth = 1;
      context.beginPath();
      for (let c = 0; c <= cols.length; c++) { context.moveTo(x0 + c * cell, y0); context.lineTo(x0 + c * cell, y0 + rows.length * cell); }
      for (let r = 0; r <= rows.length; r++) { context.moveTo(x0, y0 + r * cell); context.lineTo(x0 + cols.length * cell, y0 + r * cell); }
      context.stroke();
    }
    context.strokeStyle = theme.hair;
    context.strokeRect(x0 - 0.5, y0 - 0.5, cols.length * cell + 1, rows.length * cell + 1);
    const kept = state.side === "query" ? state.tokens.map((token) => rows.indexOf(token)).filter((r) => r >= 0) : [];
    context.strokeStyle = theme.accent;
    context.lineWidth = 2;
    for (const r of kept) context.strokeRect(x0, y0 + r * cell, cols.length * cell, cell);
    if (this.at) {
      context.fillStyle = theme.wash;
      context.strokeStyle = theme.faint;
      context.lineWidth = 1;
      context.strokeRect(x0, y0 + this.at.r * cell, cols.length * cell, cell);
      context.strokeRect(x0 + this.at.c * cell, y0, cell, rows.length * cell);
      context.strokeStyle = theme.ink;
      context.lineWidth = 2;
      context.strokeRect(x0 + this.at.c * cell, y0 + this.at.r * cell, cell, cell);
    }
    context.restore();
    this.axis(context, rows, heading, dy, this.at?.r, new Set(kept), false);
    this.axis(context, cols, labels, dx, this.at?.c, new Set(), true);
    if (!this.value) {
      context.font = `${theme.size}px ${theme.family}`;
      context.textAlign = "center";
      context.fillStyle = theme.ink;
      context.fillText(view.message(), this.surface.width / 2, this.height / 2);
    }
  }

  axis(context, list, start, scrolled, at, kept, across) {
    const { theme, data } = this.view;
    const extent = across ? this.surface.width : this.height;
    const room = (across ? this.heading : this.labels - this.indent) - 12;
    const size = Math.min(theme.size * 0.86, Math.max(this.cell * 0.86, theme.size * 0.78));
    const every = Math.max(1, Math.ceil((size * 1.15) / this.cell));
    const special = at !== undefined ? at : -1;
    context.save();
    context.beginPath();
    const over = size * 0.6; // the first name may be taller than its row
    if (across) context.rect(start - over, 0, extent - start + over, this.heading);
    else context.rect(0, start - over, this.labels, extent - start + over);
    context.clip();
    for (let i = 0; i < list.length; i++) {
      const chosen = i === special || kept.has(i);
      if (!chosen && (i % every || (special >= 0 && Math.abs(i - special) < every))) continue;
      const middle = start + (i + 0.5) * this.cell - scrolled;
      if (middle < start - this.cell || middle > extent + this.cell) continue;
      context.globalAlpha = at === undefined || chosen ? 1 : 0.45;
      context.font = `${chosen ? 600 : 400} ${size}px ${theme.family}`;
      context.fillStyle = data.hideable.has(list[i]) && !chosen ? theme.muted : theme.ink;
      const tint = theme.segments[data.segments[list[i]] === 1 ? 1 : 0];
      if (across) {
        context.save();
        context.translate(middle, this.heading - 8);
        context.rotate(-Math.PI / 2);
        context.textAlign = "left";
        drawText(context, data.tokens[list[i]], 0, 0, room);
        context.restore();
      } else {
        context.textAlign = "right";
        drawText(context, data.tokens[list[i]], this.labels - 8, middle, room);
      }
      if (!data.hideable.has(list[i])) {
        context.fillStyle = tint;
        const thick = Math.max(1, Math.min(this.cell - 2, this.cell * every - 2));
        if (across) context.fillRect(middle - thick / 2, this.heading - 4, thick, 2.5);
        else context.fillRect(this.labels - 4, middle - thick / 2, 2.5, thick);
      }
    }
    context.restore();
    context.globalAlpha = 1;
  }

  spot(event) {
    const box = this.surface.canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    const { rows, cols } = this.view.places;
    const c = Math.floor((x - this.labels + this.scroll.scrollLeft) / this.cell);
    const r = Math.floor((y - this.heading + this.scroll.scrollTop) / this.cell);
    if (y < this.heading || r < 0 || r >= rows.length || c >= cols.length) return null;
    return { r, c: x < this.labels ? null : Math.max(0, c) };
  }

  hover(at) {
    const next = at && at.c !== null ? at : null;
    if (next?.r === this.at?.r && next?.c === this.at?.c) return;
    this.at = next;
    this.surface.draw();
    this.tell();
  }

  tell() {
    const { view } = this;
    const { rows, cols } = view.places;
    if (!this.at || !this.value || this.at.r >= rows.length || this.at.c >= cols.length) return view.say(null);
    const [row, col] = [rows[this.at.r], cols[this.at.c]];
    view.say(view.data.tokens[row], view.words.attends, [[view.data.tokens[col], digits(this.value(row, col), view.data.error)]],
      `${view.words.layer} ${view.state.layer} · ${view.words.head} ${view.state.head}`);
  }

  pick(at, more) {
    const { state, places } = this.view;
    if (!at) return this.view.set({ tokens: [] });
    const position = places.rows[at.r];
    const held = state.side === "query" ? state.tokens : [];
    const tokens = held.includes(position) ? held.filter((token) => more && token !== position) : more ? [...held, position] : [position];
    this.view.set({ tokens, side: "query" });
  }

  key(event) {
    const { view } = this;
    const { rows, cols } = view.places;
    if (!rows.length || !cols.length) return;
    const now = this.at ?? { r: 0, c: -1 };
    const go = (r, c) => {
      this.hover({ r: Math.min(Math.max(r, 0), rows.length - 1), c: Math.min(Math.max(c, 0), cols.length - 1) });
      const reveal = (at, start, scrolled, extent) => {
        const [from, to] = [at * this.cell, (at + 1) * this.cell];
        return from < scrolled ? from : to > scrolled + extent - start ? to - extent + start + 4 : scrolled;
      };
      this.scroll.scrollTop = reveal(this.at.r, this.heading, this.scroll.scrollTop, this.height);
      this.scroll.scrollLeft = reveal(this.at.c, this.labels, this.scroll.scrollLeft, this.surface.width);
    };
    const keys = {
      ArrowDown: () => go(now.r + 1, now.c), ArrowUp: () => go(now.r - 1, now.c), ArrowRight: () => go(now.r, now.c + 1),
      ArrowLeft: () => go(now.r, now.c - 1), Home: () => go(now.r, 0), End: () => go(now.r, cols.length - 1),
      PageUp: () => view.stepLayer(-1), PageDown: () => view.stepLayer(1),
      Enter: () => this.pick(this.at, event.shiftKey), " ": () => this.pick(this.at, event.shiftKey),
      Escape: () => { this.hover(null); view.set({ tokens: [] }); },
    };
    if (!keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
  }

  destroy() {
    this.surface.destroy();
    this.pane.remove();
  }
}

/** Layers x heads as small pictures; the chosen one opens beside them. */
class Grid {
  constructor(view) {
    this.view = view;
    this.pane = element("div", { class: "bl-pane bl-stage" });
    this.board = element("div", { class: "bl-pane" });
    this.title = element("span");
    this.asLines = element("button", { class: "bl-quiet", type: "button", onclick: () => view.set({ view: "lines", heads: [view.state.head] }) }, view.words.asLines);
    this.asMatrix = element("button", { class: "bl-quiet", type: "button", onclick: () => view.set({ view: "matrix" }) }, view.words.asMatrix);
    this.card = element("div", { class: "bl-card" },
      element("div", { class: "bl-card-title" }, this.title, element("span", { class: "bl-group" }, this.asLines, this.asMatrix)));
    this.inner = element("div", { class: "bl-pane" });
    this.card.append(this.inner);
    this.pane.append(this.board, this.card);
    this.surface = new Surface(this.board, "bl-over", () => this.drawNow());
    this.surface.canvas.style.display = "block";
    this.detail = new Matrix(view, this.inner);
    this.detail.compact = true;
    const canvas = this.surface.canvas;
    canvas.tabIndex = 0;
    canvas.setAttribute("role", "application");
    canvas.setAttribute("aria-label", view.words.grid);
    canvas.addEventListener("pointermove", (event) => this.hover(this.spot(event)));
    canvas.addEventListener("pointerleave", () => this.hover(null));
    canvas.addEventListener("click", (event) => { const at = this.spot(event); if (at) view.set(at); });
    canvas.addEventListener("dblclick", (event) => { const at = this.spot(event); if (at) view.set({ ...at, view: "lines", heads: [at.head] }); });
    canvas.addEventListener("keydown", (event) => this.key(event));
    this.at = null;
    this.atlas = document.createElement("canvas");
  }

  layout() {
    const { data, theme, state } = this.view;
    const total = this.pane.clientWidth;
    if (!total) return;
    const beside = total >= 820;
    this.pane.style.gridTemplateColumns = beside ? "minmax(0, 1.12fr) minmax(0, 1fr)" : "minmax(0, 1fr)";
    const width = this.board.clientWidth;
    this.label = Math.ceil(theme.size * 2.1);
    this.gap = width < 480 ? 2 : 4;
    const most = Math.max(240, Math.min(720, innerHeight * 0.82));
    const across = (width - this.label) / data.heads - this.gap;
    const down = (most - this.label) / data.layers - this.gap;
    this.side = Math.max(14, Math.min(across, Math.max(down, 30), 110));
    this.height = Math.ceil(this.label + data.layers * (this.side + this.gap));
    this.surface.resize(width, this.height);
    this.title.textContent = `${this.view.words.layer} ${state.layer} · ${this.view.words.head} ${state.head}`;
    this.detail.layout();
    this.view.overflows = false;
    this.surface.draw();
  }

  drawNow() {
    const { data, state, theme, places } = this.view;
    const context = this.surface.begin();
    const pitch = this.side + this.gap;
    const ramp = Array.from({ length: 256 }, (_, i) => mix(theme.ramp, i / 255));
    context.font = `${theme.size * 0.78}px ${theme.family}`;
    context.textAlign = "center";
    const lit = this.at ?? state;
    for (let head = 0; head < data.heads; head++) {
      context.fillStyle = head === lit.head ? theme.ink : theme.muted;
      context.fillText(`H${head}`, this.label + head * pitch + this.side / 2, this.label / 2);
    }
    context.imageSmoothingEnabled = true;
    context.imageSmoothingQuality = "medium";
    for (let layer = 0; layer < data.layers; layer++) {
      context.fillStyle = layer === lit.layer ? theme.ink : theme.muted;
      context.fillText(`L${layer}`, this.label / 2, this.label + layer * pitch + this.side / 2);
      for (let head = 0; head < data.heads; head++) {
        const [x, y] = [this.label + head * pitch, this.label + layer * pitch];
        const picture = data.thumb(layer, head, places, state);
        if (picture && picture.high && picture.wide) {
          this.stamp(picture, ramp);
          context.imageSmoothingEnabled = picture.wide > this.side * this.surface.ratio;
          context.drawImage(picture.canvas, x, y, this.side, this.side);
        } else {
          context.fillStyle = theme.wash;
          context.fillRect(x, y, this.side, this.side);
        }
        context.strokeStyle = theme.hair;
        context.lineWidth = 1;
        context.strokeRect(x + 0.5, y + 0.5, this.side - 1, this.side - 1);
      }
    }
    const frame = (at, colour, thick) => {
      context.strokeStyle = colour;
      context.lineWidth = thick;
      context.strokeRect(this.label + at.head * pitch - 1, this.label + at.layer * pitch - 1, this.side + 2, this.side + 2);
    };
    if (this.at) frame(this.at, theme.faint, 2);
    frame(state, theme.accent, 2.5);
  }

  /** The thumb's own little canvas, drawn once for each theme. */
  stamp(picture, ramp) {
    if (picture.canvas && picture.dark === this.view.theme.dark) return;
    picture.dark = this.view.theme.dark;
    picture.canvas = document.createElement("canvas");
    picture.canvas.width = picture.wide;
    picture.canvas.height = picture.high;
    const image = new ImageData(picture.wide, picture.high);
    picture.values.forEach((value, i) => {
      const [red, green, blue] = ramp[Math.min(255, Math.round(Math.sqrt(value) * 255))];
      image.data.set([red, green, blue, 255], i * 4);
    });
    picture.canvas.getContext("2d").putImageData(image, 0, 0);
  }

  spot(event) {
    const box = this.surface.canvas.getBoundingClientRect();
    const pitch = this.side + this.gap;
    const head = Math.floor((event.clientX - box.left - this.label) / pitch);
    const layer = Math.floor((event.clientY - box.top - this.label) / pitch);
    const { data } = this.view;
    return head >= 0 && layer >= 0 && head < data.heads && layer < data.layers ? { layer, head } : null;
  }

  hover(at) {
    if (at?.layer === this.at?.layer && at?.head === this.at?.head) return;
    this.at = at;
    this.surface.canvas.style.cursor = at ? "pointer" : "default";
    this.surface.draw();
    const { words: text } = this.view;
    this.view.say(at ? `${text.layer} ${at.layer} · ${text.head} ${at.head}` : null);
  }

  key(event) {
    const { view } = this;
    const { data, state } = view;
    const go = (layer, head) => view.set({
      layer: Math.min(Math.max(layer, 0), data.layers - 1), head: Math.min(Math.max(head, 0), data.heads - 1),
    });
    const keys = {
      ArrowDown: () => go(state.layer + 1, state.head), ArrowUp: () => go(state.layer - 1, state.head),
      ArrowRight: () => go(state.layer, state.head + 1), ArrowLeft: () => go(state.layer, state.head - 1),
      Enter: () => view.set({ view: "lines", heads: [state.head] }),
    };
    if (!keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
  }

  destroy() {
    this.detail.destroy();
    this.surface.destroy();
    this.pane.remove();
  }
}

/** State, controls, and which of the three pictures is on the screen. */
class AttentionView {
  constructor(root, emit) {
    this.root = element("section", { class: "bl-view bl-attention" });
    this.emit = emit;
    this.state = { ...START };
    this.told = new Set();
    this.emitTimer = 0;
    this.generation = 0;
    root.append(this.root);
    this.unwatch = watch(this.root, (what) => {
      if (!this.data) return;
      if (what === "theme") this.theme = null;
      this.refresh();
    });
  }

  /** Take a payload: a first one, the same again, more layers of the same input, or another input. */
  async load(payload, options) {
    const generation = ++this.generation;
    const { header, blocks } = unpack(payload);
    if (header.kind !== "attention") throw new Error("not an attention payload");
    const hosted = { ...header.options, ...options };
    const rebuilt = JSON.stringify([hosted.lang, hosted.labels]) !== this.language;
    this.language = JSON.stringify([hosted.lang, hosted.labels]);
    this.words = words(hosted);
    const fresh = this.data?.id !== header.id;
    if (fresh) this.data = new Attention(header, blocks);
    else this.data.add(blocks);
    this.obey(hosted.state);
    this.check();
    if (fresh && !this.data.has(this.state.layer)) {
      // a first picture shows the layer that came; later the reader's layer stands, and the host is told to bring it
      if (this.mounted) this.report();
      else this.state.layer = blocks.find((block) => block.kind === "layer").layer;
    }
    this.mounted = true;
    if (!this.bar || rebuilt || this.barFor !== `${this.data.layers}.${this.data.heads}.${this.data.segments.includes(1)}`) this.build();
    await this.settle(generation);
  }

  /** The host's state counts when it is new to us; an echo of what we reported ourselves must not undo later choices. */
  obey(state) {
    if (!state) return;
    const text = JSON.stringify(state);
    if (text === this.hosted || this.told.has(this.digest({ ...START, ...state }))) return;
    this.hosted = text;
    for (const name of Object.keys(START)) if (name in state) this.state[name] = state[name];
  }

  digest(state) {
    return JSON.stringify(Object.keys(START).map((name) => state[name]));
  }

  /** Bring the state within what this payload has. */
  check() {
    const { state, data } = this;
    const whole = (value, limit) => (Number.isInteger(value) ? Math.min(Math.max(value, 0), limit - 1) : 0);
    if (!VIEWS.includes(state.view)) state.view = "lines";
    if (!(state.filter in FILTERS) || !data.segments.includes(1)) state.filter = "all";
    state.layer = whole(state.layer, data.layers);
    state.head = whole(state.head, data.heads);
    const heads = Array.isArray(state.heads) ? [...new Set(state.heads)].filter((head) => Number.isInteger(head) && head >= 0 && head < data.heads) : [];
    state.heads = heads.length && heads.length < data.heads ? heads.sort((a, b) => a - b) : null;
    state.tokens = (Array.isArray(state.tokens) ? state.tokens : []).filter((token) => Number.isInteger(token) && token >= 0 && token < data.size);
    state.side = state.side === "key" ? "key" : "query";
    for (const flag of ["hide", "renorm", "fit"]) state[flag] = Boolean(state[flag]);
  }

  set(change) {
    Object.assign(this.state, change);
    this.check();
    this.settle(this.generation);
    clearTimeout(this.emitTimer);
    this.emitTimer = setTimeout(() => this.report(), EMIT_AFTER);
  }

  report() {
    this.told.add(this.digest(this.state));
    this.emit?.({ ...this.state, tokens: [...this.state.tokens], heads: this.state.heads && [...this.state.heads] });
  }

  stepLayer(by) {
    this.set({ layer: this.state.layer + by });
  }

  /** Make what the picture needs ready, then draw. What is at hand is drawn without waiting. */
  async settle(generation) {
    const { data, state } = this;
    if (!data.ready(state.layer)) {
      await data.open(state.layer);
      if (generation !== this.generation) return;
    }
    if (state.view === "grid" || !data.has(state.layer)) await data.openThumbs();
    this.refresh();
    if (state.view === "grid" && data.small) {
      await Promise.all(Array.from({ length: data.layers }, (_, layer) => data.open(layer)));
      if (generation === this.generation && this.state.view === "grid") this.refresh();
    }
  }

  message() {
    const { data, state } = this;
    if (!this.places.rows.length || !this.places.cols.length) return this.words.empty;
    return data.ready(state.layer) ? "" : `${this.words.fetching} ${state.layer} …`;
  }

  refresh() {
    if (!this.root.isConnected || !this.bar) return;
    const { data, state } = this;
    this.theme ??= readTheme(this.root);
    this.narrow = this.root.clientWidth < 560;
    this.colours = palette(data.heads, this.theme.dark);
    this.places = data.positions(state);
    this.shown = state.heads ?? Array.from({ length: data.heads }, (_, head) => head);
    const look = JSON.stringify([data.id, state.filter, state.hide, state.renorm, data.floats.size]);
    if (look !== this.look) data.pooled.clear();
    this.look = look;
    if (this.pane?.kind !== state.view) {
      this.pane?.destroy();
      this.pane = new { lines: Lines, grid: Grid, matrix: Matrix }[state.view](this);
      this.pane.kind = state.view;
      this.stage.append(this.pane.pane);
    }
    if (this.pane.at?.r >= this.places.rows.length || this.pane.at?.c >= this.places.cols.length) this.pane.at = null;
    if (this.pane.hovered && !(this.pane.hovered.side === "query" ? this.places.rows : this.places.cols).includes(this.pane.hovered.position)) {
      this.pane.hovered = null;
    }
    this.pane.layout();
    this.showControls();
    if (this.pane.tell) this.pane.tell();
    else this.say(null);
  }

  build() {
    const { words: text, data } = this;
    this.pane?.destroy();
    this.pane = null;
    this.barFor = `${data.layers}.${data.heads}.${data.segments.includes(1)}`;
    const button = (label, attributes) => element("button", { type: "button", ...attributes }, label);
    this.viewButtons = VIEWS.map((view) => button(text[view], { "data-view": view, onclick: () => this.set({ view }) }));
    this.down = button("‹", { class: "bl-step", "aria-label": text.previous, title: text.previous, onclick: () => this.stepLayer(-1) });
    this.up = button("›", { class: "bl-step", "aria-label": text.next, title: text.next, onclick: () => this.stepLayer(1) });
    this.layerValue = element("span", { class: "bl-value", "aria-live": "polite" });
    const stepper = element("span", { class: "bl-group", role: "group", "aria-label": text.layer, onkeydown: (event) => {
      const by = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1 }[event.key];
      if (by) { event.preventDefault(); this.stepLayer(by); }
    } }, element("span", { class: "bl-name" }, text.layer), this.down, this.layerValue, this.up);
    this.filter = element("select", { "aria-label": text.filter, onchange: () => this.set({ filter: this.filter.value }) },
      ...Object.keys(FILTERS).map((key) => element("option", { value: key }, key === "all" ? text.everything : `${key[0].toUpperCase()} → ${key[1].toUpperCase()}`)));
    this.filterGroup = element("label", { class: "bl-group" }, element("span", { class: "bl-name" }, text.filter), this.filter);
    const check = (name, tip) => {
      const input = element("input", { type: "checkbox", onchange: () => this.set({ [name]: input.checked }) });
      return { input, label: element("label", { class: "bl-check", title: tip }, input, text[name === "renorm" ? "renormalise" : name]) };
    };
    this.hide = check("hide", text.hideTip);
    this.renorm = check("renorm", text.renormaliseTip);
    this.fit = check("fit", text.fitTip);
    this.headButtons = Array.from({ length: data.heads }, (_, head) => button(String(head), {
      class: "bl-head", "data-head": head, tabindex: head ? -1 : 0, "aria-label": `${text.head} ${head}`,
      onclick: () => this.clickHead(head), ondblclick: () => this.solo(head),
    }));
    this.heads = element("div", { class: "bl-heads", role: "group", "aria-label": text.heads, onkeydown: (event) => {
      const now = this.headButtons.indexOf(event.target);
      const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (now < 0) return;
      if (event.key.toLowerCase() === "s") this.solo(now);
      if (!by) return;
      event.preventDefault();
      const next = (now + by + data.heads) % data.heads;
      this.headButtons.forEach((node, head) => { node.tabIndex = head === next ? 0 : -1; });
      this.headButtons[next].focus();
    } }, element("span", { class: "bl-name" }, text.heads), ...this.headButtons);
    this.every = button(text.all, { class: "bl-quiet", onclick: () => this.set({ heads: null }) });
    this.heads.append(this.every);
    this.bar = element("div", { class: "bl-bar", role: "toolbar", "aria-label": text.view },
      element("div", { class: "bl-segmented", role: "group", "aria-label": text.view }, ...this.viewButtons),
      stepper, this.filterGroup, this.hide.label, this.renorm.label, this.fit.label);
    this.headBar = element("div", { class: "bl-bar" }, this.heads);
    this.stage = element("div", { class: "bl-stage" });
    this.readout = element("div", { class: "bl-readout", role: "status" });
    this.legend = element("div", { class: "bl-legend" });
    this.root.replaceChildren(this.bar, this.headBar, this.stage, element("div", { class: "bl-status" }, this.readout, this.legend));
  }

  clickHead(head) {
    if (this.state.view !== "lines") return this.set({ head });
    const on = new Set(this.shown);
    if (on.has(head) && on.size > 1) on.delete(head);
    else on.add(head);
    this.set({ heads: [...on] });
  }

  solo(head) {
    if (this.state.view !== "lines") return;
    this.set(this.state.heads?.length === 1 && this.state.heads[0] === head ? { heads: null } : { heads: [head], head });
  }

  showControls() {
    const { state, data, theme, words: text } = this;
    const lines = state.view === "lines";
    for (const node of this.viewButtons) node.setAttribute("aria-pressed", String(node.dataset.view === state.view));
    this.layerValue.replaceChildren(String(state.layer), element("small", {}, ` / ${data.layers - 1}`));
    this.down.disabled = state.layer === 0;
    this.up.disabled = state.layer === data.layers - 1;
    this.filter.value = state.filter;
    this.filterGroup.hidden = !data.segments.includes(1);
    this.filterGroup.style.display = this.filterGroup.hidden ? "none" : "";
    for (const name of ["hide", "renorm", "fit"]) this[name].input.checked = state[name];
    this.renorm.input.disabled = this.places.cols.length === data.size;
    this.fit.label.style.display = this.overflows ? "" : "none";
    const on = new Set(lines ? this.shown : [state.head]);
    this.headButtons.forEach((node, head) => {
      node.style.setProperty("--head", this.colours[head]);
      node.style.setProperty("--on-head", readable(this.colours[head]));
      node.setAttribute("aria-pressed", String(on.has(head)));
      node.title = lines ? text.headTip : text.squareTip;
    });
    this.headBar.style.display = state.view === "grid" ? "none" : "";
    this.every.style.display = lines ? "" : "none";
    this.every.disabled = !state.heads;
    this.legend.replaceChildren(...this.legendParts(state.view));
  }

  legendParts(view) {
    const { theme, data, words: text } = this;
    const parts = data.segments.includes(1)
      ? ["A", "B"].map((name, i) => element("span", {}, swatch(theme.segments[i]), name)) : [];
    if (view !== "lines") {
      const stops = Array.from({ length: 9 }, (_, i) => theme.css(mix(theme.ramp, i / 8))).join(", ");
      const strip = element("span", { style: `display:inline-block;width:84px;height:10px;border-radius:3px;background:linear-gradient(90deg, ${stops}) border-box;border:1px solid ${theme.hair}` });
      parts.push(element("span", { class: "bl-group", title: text.scale }, "0", strip, "1"));
    }
    return parts;
  }

  /** Under the picture: who attends to whom and how much; with nothing to say, what can be done. */
  say(subject, verb = "", pairs = [], place = "") {
    const { words: text, state } = this;
    if (!subject) {
      this.readout.replaceChildren({ lines: text.hint, grid: text.gridHint, matrix: text.matrixHint }[state.view]);
      return;
    }
    const parts = [element("strong", {}, element("bdi", {}, subject))];
    if (verb) parts.push(` ${verb} `);
    pairs.forEach(([token, value], i) => parts.push(i ? " · " : "", element("bdi", {}, token), " ", element("strong", {}, value)));
    if (place) parts.push(` (${place})`);
    this.readout.replaceChildren(...parts);
  }

  fail() {
    this.bar = null;
    this.data = null;
    this.root.replaceChildren(element("p", { class: "bl-message", role: "alert" }, (this.words ?? WORDS.en).broken));
  }

  destroy() {
    clearTimeout(this.emitTimer);
    this.generation++;
    this.unwatch();
    this.pane?.destroy();
    this.root.remove();
  }
}

function swatch(colour) {
  return element("span", { class: "bl-swatch", style: `background:${colour}` });
}

function readable(hex) {
  const [r, g, b] = [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
  return 0.299 * r + 0.587 * g + 0.114 * b > 140 ? "#101319" : "#ffffff";
}

/**
 * Mount the attention view in root. emit(state) hears every choice; options: {state, lang, labels}, over those in the payload.
 * Returns {update(payload, options), destroy(), ready, state()}; ready resolves once the first picture is drawn.
 */
export function render(root, payload, emit = null, options = {}) {
  const view = new AttentionView(root, emit);
  const load = (bytes, given) => view.load(bytes, given).catch((error) => {
    console.error(error);
    view.fail();
  });
  return {
    ready: load(payload, options),
    update: (bytes, given = options) => load(bytes, given),
    destroy: () => view.destroy(),
    state: () => ({ ...view.state }),
    hear: (listener) => { view.emit = listener; },
  };
}
