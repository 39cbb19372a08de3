// The lines view: two columns of tokens, lines for attention between them, bars for what a token gives or receives.
// Shapes: N heads, T tokens; a head is [T, T].
import { Surface, digits, drawText, interactive, press } from "./canvas.js";
import { element } from "./dom.js";
import { Recorder } from "./svg.js";

const MOST_LINES = 10000;
const BUSY = 1200; // with more lines, each is one device pixel wide, which browsers draw many times faster
const LEVELS = 24; // steps of opacity; the lines of one head and one step are one path

/** Lines between two columns of tokens: those of all tokens on one canvas, those of the hovered token on a second. */
export class Lines {
  constructor(view) {
    this.view = view;
    this.pane = element("div", { class: "bl-pane" });
    this.scroll = element("div", { class: "bl-scroll", onscroll: () => this.draw() });
    this.spacer = element("div");
    this.sticky = element("div", { class: "bl-sticky" });
    this.scroll.append(this.sticky, this.spacer);
    this.pane.append(this.scroll);
    this.under = new Surface(this.sticky, "bl-under", view.steady(() => this.drawUnder()));
    this.over = interactive(this.sticky, view.words.lines, view.steady(() => this.drawOver()), {
      pointerdown: (event) => this.down(event),
      pointermove: (event) => { if (event.pointerType !== "touch") this.move(this.spot(event)); },
      pointerup: (event) => this.release(event),
      pointerleave: () => this.hover(null),
      click: (event) => { if (!this.dragged) this.pick(this.spot(event), many(event)); },
      keydown: (event) => this.key(event),
    });
    this.dragged = null; // the range of tokens selected by dragging
    this.hovered = null;
  }

  /** Compute the layout and the lines to draw, after every change of data, state or size. */
  layout() {
    const { data, state, places } = this.view;
    const width = this.pane.clientWidth;
    if (!width) return;
    const font = this.view.theme.size;
    const long = Math.max(places.rows.length, places.cols.length, 1);
    const tallest = Math.max(240, Math.min(720, innerHeight * 0.82));
    this.top = 8;
    const roomy = Math.round(font * 1.72);
    const middle = (this.scroll.scrollTop + (this.height ?? 0) / 2) / (this.step ?? roomy);
    const step = state.fit ? Math.min(roomy, Math.max(1, (tallest - 2 * this.top) / long)) : roomy;
    const zoomed = this.step && this.zoom !== state.zoom;
    this.zoom = state.zoom;
    this.step = Math.max(1, (step * state.zoom) / 100);
    const full = Math.ceil(long * this.step + 2 * this.top);
    this.full = full;
    const height = full - tallest < 2 * this.step ? full : Math.round(tallest); // rather a slightly larger picture than a scroll bar for one row
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
    if (zoomed) this.scroll.scrollTop = middle * this.step - height / 2; // keep the centre of the picture in place
    this.view.overflows = long * roomy + 2 * this.top - tallest >= 2 * roomy;
    this.draw();
  }

  findLines() {
    const { data, state, places, shown } = this.view;
    this.lines = [];
    this.busy = false;
    this.value = null;
    if (!data.ready(state.layer, shown)) return;
    const size = data.size;
    const probs = new Map(shown.map((head) => [head, data.head(state.layer, head)]));
    // with many heads, weak lines are drawn only for the hovered token, so that strong ones stay distinguishable
    const strength = Math.min(1, 1.4 / shown.length ** 0.42);
    const least = shown.length > 1 ? 0.035 : 0.02;
    this.factors = new Map(shown.map((head) => [head, data.factors(probs.get(head), places, state.renorm)]));
    this.value = (head, row, col) => probs.get(head)[row * size + col] * this.factors.get(head)[row];
    const counts = new Uint32Array(LEVELS + 1);
    const byLevel = shown.map((head) => {
      const levels = Array.from({ length: LEVELS + 1 }, () => []);
      const factors = this.factors.get(head);
      const values = probs.get(head);
      for (let r = 0; r < places.rows.length; r++) {
        const row = places.rows[r];
        const at = row * size;
        const factor = factors[row] * strength;
        for (let c = 0; c < places.cols.length; c++) {
          const alpha = values[at + places.cols[c]] * factor;
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
    for (const { head, levels } of byLevel) {
      for (let level = lowest + 1; level <= LEVELS; level++) {
        if (levels[level].length) this.lines.push({ head, alpha: ((level - 0.5) / LEVELS) ** 2, ends: levels[level] });
      }
    }
    this.busy = MOST_LINES - room > BUSY;
  }

  y(index) {
    return this.top + (index + 0.5) * this.step - this.scrolled;
  }

  /** The vertical offset of a head within a row, so that the colours of heads do not blend into grey. */
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
    this.paintUnder(this.under.begin());
  }

  paintUnder(context) {
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

  /** The tokens selected by dragging, else the hovered one, else the pinned ones: {side, list} in positions of the input. */
  focus() {
    if (this.dragged) return { side: this.dragged.side, list: this.range() };
    if (this.hovered) return { side: this.hovered.side, list: [this.hovered.position] };
    const { state, held } = this.view;
    const visible = new Set(this.list(state.side));
    const list = held.filter((token) => visible.has(token));
    return list.length ? { side: state.side, list } : null;
  }

  list(side) {
    return side === "query" ? this.view.places.rows : this.view.places.cols;
  }

  range() {
    const { side, from, to } = this.dragged;
    return this.list(side).slice(Math.min(from, to), Math.max(from, to) + 1);
  }

  /** The attention between the focused tokens and every token of the other column, per shown head (mean over heads; sum over focused tokens). */
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
    this.scrolled = this.scroll.scrollTop;
    this.under.canvas.classList.toggle("bl-dim", Boolean(this.focus()));
    this.paintOver(this.over.begin());
  }

  paintOver(context) {
    const { view } = this;
    const { data, theme, places } = view;
    const focus = this.focus();
    const sums = focus ? this.sums(focus) : null;
    const most = sums ? Math.max(1e-6, ...sums.totals) : 1;
    if (focus) this.drawFocus(context, focus);
    const size = Math.min(theme.size * Math.max(1, Math.min(1.7, view.state.zoom / 100)), this.step * 0.78);
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
        if (view.matching.has(position)) {
          context.globalAlpha = 1;
          context.fillStyle = theme.search;
          const high = Math.max(Math.min(this.step, size + 8), 3);
          context.fillRect(side === "query" ? edge - this.column : edge - 4, y - high / 2, this.column + 4, high);
        }
        if (order && !order.has(i)) continue;
        const weight = strong ? strong[i] / most : 1;
        context.globalAlpha = view.matching.has(position) ? 1 : focused ? (focused.has(position) ? 1 : 0.3) : 0.3 + 0.7 * Math.min(1, weight * 1.6);
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

  /** The tokens to label where rows are too thin to label all: focused and strongest ones first, without overlaps. */
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
    list.forEach((position, i) => { if (this.view.matching.has(position)) offer(i); });
    if (focused) return chosen;
    if (strong) Array.from(list.keys()).sort((a, b) => strong[b] - strong[a]).slice(0, 40).forEach(offer);
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
    // without space beside the tokens, bars are drawn behind the labels
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
    const some = focus.list.slice(0, 8).map((position) => view.data.tokens[position]).join(" + ");
    const subject = focus.list.length > 8 ? `${some} + … (${focus.list.length} ${view.words.tokens})` : some;
    view.say(subject, focus.side === "query" ? view.words.attends : view.words.attended,
      best.map((o) => [view.data.tokens[others[o]], digits(totals[o], view.data.error)]));
  }

  down(event) {
    this.dragged = null;
    const spot = event.button === 0 && event.pointerType !== "touch" ? this.spot(event) : null;
    this.start = spot;
  }

  /** Dragging selects tokens; otherwise the hovered token shows its lines. */
  move(spot) {
    if (this.start && spot?.side === this.start.side && (this.dragged || spot.index !== this.start.index)) {
      this.dragged = { side: spot.side, from: this.start.index, to: spot.index };
      this.over.draw();
      this.tell();
    } else this.hover(spot);
  }

  release(event) {
    this.start = null;
    if (!this.dragged) return;
    const { side } = this.dragged;
    const before = many(event) && this.view.state.side === side ? this.view.held : [];
    const tokens = [...new Set([...before, ...this.range()])];
    this.hovered = null;
    this.view.hold(tokens, side);
    // ignore the click event that follows a drag
    setTimeout(() => { this.dragged = null; this.over.draw(); });
  }

  pick(spot, more) {
    const { state, held } = this.view;
    if (!spot) return this.view.hold([], state.side);
    const now = state.side === spot.side ? held : [];
    const tokens = now.includes(spot.position) ? (more ? now.filter((token) => token !== spot.position) : [])
      : more ? [...now, spot.position] : [spot.position];
    this.view.hold(tokens, spot.side);
  }

  /** Scroll to a token and show its lines. */
  reveal(position) {
    const side = this.list(this.view.state.side).includes(position) ? this.view.state.side : this.view.state.side === "query" ? "key" : "query";
    const index = this.list(side).indexOf(position);
    if (index < 0) return;
    this.hover({ side, position, index });
    const y = this.top + index * this.step;
    if (y < this.scroll.scrollTop || y + this.step > this.scroll.scrollTop + this.height) this.scroll.scrollTop = y - this.height / 2;
  }

  /** The whole picture, including the parts outside the scrolled area. */
  svg() {
    const [scrolled, height] = [this.scrolled, this.height];
    [this.scrolled, this.height] = [0, this.full];
    const recorder = new Recorder(this.pane.clientWidth, this.full, this.view.theme.ground);
    if (!this.focus()) this.paintUnder(recorder);
    recorder.globalAlpha = 1;
    recorder.setLineDash([]);
    this.paintOver(recorder);
    [this.scrolled, this.height] = [scrolled, height];
    return recorder.text();
  }

  key(event) {
    const { view } = this;
    const { state, held } = view;
    const side = this.hovered?.side ?? state.side;
    const list = this.list(side);
    const now = this.hovered ? list.indexOf(this.hovered.position) : list.indexOf(held.at(-1) ?? -1);
    const go = (index, column = side) => {
      const into = this.list(column);
      const at = Math.min(Math.max(index, 0), into.length - 1);
      if (!into.length) return;
      this.hover({ side: column, position: into[at], index: at });
      const y = this.top + at * this.step;
      if (y < this.scroll.scrollTop) this.scroll.scrollTop = y - this.top;
      else if (y + this.step > this.scroll.scrollTop + this.height) this.scroll.scrollTop = y + this.step + this.top - this.height;
    };
    press(event, {
      ArrowDown: () => go(now + 1), ArrowUp: () => go(now < 0 ? 0 : now - 1), Home: () => go(0), End: () => go(list.length - 1),
      ArrowLeft: () => view.stepLayer(-1), ArrowRight: () => view.stepLayer(1),
      Enter: () => this.pick(this.hovered, event.shiftKey), " ": () => this.pick(this.hovered, event.shiftKey),
      Escape: () => { this.hover(null); view.hold([], state.side); },
      s: () => go(Math.max(now, 0), side === "query" ? "key" : "query"),
    });
  }

  destroy() {
    this.under.destroy();
    this.over.destroy();
    this.pane.remove();
  }
}

function many(event) {
  return event.shiftKey || event.ctrlKey || event.metaKey;
}
