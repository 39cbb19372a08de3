// The lines view: two columns of tokens, lines for attention between them, bars for the attention that a token gives or receives.
// Shapes: N heads, T tokens; a head is [T, T].
import { Surface, createInteractiveSurface, drawText, formatProbability, runKeyAction } from "./canvas.js";
import { element } from "./dom.js";
import { Recorder } from "./svg.js";

const MAX_LINES = 10000;
const MAX_WIDE_LINES = 1200; // with more lines, each is one device pixel wide, which browsers draw many times faster
const LEVELS = 24; // levels of opacity; lines of the same head and level share one style

/** Lines between two columns of tokens. The canvas `under` has the lines of all tokens, `over` the labels and the lines of the focused ones. */
export class Lines {
  constructor(view) {
    this.view = view;
    this.pane = element("div", { class: "bl-pane" });
    this.scroll = element("div", { class: "bl-scroll", onscroll: () => this.draw() });
    this.spacer = element("div");
    this.sticky = element("div", { class: "bl-sticky" });
    this.scroll.append(this.sticky, this.spacer);
    this.pane.append(this.scroll);
    this.under = new Surface(this.sticky, "bl-under", view.whenLaidOut(() => this.drawUnder()));
    this.over = createInteractiveSurface(this.sticky, view.texts.lines, view.whenLaidOut(() => this.drawOver()), {
      pointerdown: (event) => this.startDrag(event),
      pointermove: (event) => { if (event.pointerType !== "touch") this.movePointer(this.findToken(event)); },
      pointerup: (event) => this.endDrag(event),
      pointerleave: () => this.setHovered(null),
      click: (event) => { if (!this.dragged) this.pinToken(this.findToken(event), isAdding(event)); },
      keydown: (event) => this.handleKey(event),
    });
    this.dragged = null; // the range of rows selected by dragging
    this.hovered = null;
  }

  /**
   * Compute the layout and the lines to draw, after every change of data, state or size. In pixels: step is the height of a row,
   * column the width of the tokens, gutter the width of the bars beside them, and spread the distance between the lines of the first
   * and the last head within a row.
   */
  layout() {
    const { data, state, positions } = this.view;
    const width = this.pane.clientWidth;
    if (!width) return;
    const font = this.view.theme.size;
    const rowCount = Math.max(positions.rows.length, positions.cols.length, 1);
    const maxHeight = Math.max(240, Math.min(720, innerHeight * 0.82));
    this.top = 8;
    const defaultRowHeight = Math.round(font * 1.72);
    const middle = (this.scroll.scrollTop + (this.height ?? 0) / 2) / (this.step ?? defaultRowHeight);
    const step = state.fit ? Math.min(defaultRowHeight, Math.max(1, (maxHeight - 2 * this.top) / rowCount)) : defaultRowHeight;
    const zoomed = this.step && this.zoom !== state.zoom;
    this.zoom = state.zoom;
    this.step = Math.max(1, (step * state.zoom) / 100);
    const fullHeight = Math.ceil(rowCount * this.step + 2 * this.top);
    this.fullHeight = fullHeight;
    // a slightly higher picture is better than a scroll bar for one row
    const height = fullHeight - maxHeight < 2 * this.step ? fullHeight : Math.round(maxHeight);
    const wide = Math.min(width, 1060);
    const isNarrow = width < 560;
    const measure = this.over.context;
    measure.font = `${font}px ${this.view.theme.family}`;
    const longest = Math.max(...new Set([...positions.rows, ...positions.cols].map((at) => measure.measureText(data.tokens[at]).width)), 30);
    this.isNarrow = isNarrow;
    this.gutter = isNarrow ? 46 : Math.min(190, wide * 0.18);
    this.column = Math.ceil(Math.min(longest + 26, isNarrow ? Math.min(96, wide * 0.24) : Math.min(180, wide * 0.18)));
    const linesWidth = Math.min(wide - 2 * (this.gutter + this.column), 440);
    this.left = Math.round((width - linesWidth) / 2);
    this.right = width - this.left;
    this.spread = Math.min(this.step * 0.5, 13);
    this.spacer.style.height = `${fullHeight}px`;
    this.width = fullHeight > height + 1 ? this.scroll.clientWidth || width : width;
    this.scroll.style.height = `${height}px`;
    this.height = height;
    this.findLines();
    this.under.resize(width, height, this.hasManyLines ? 1 : undefined);
    this.over.resize(width, height);
    if (zoomed) this.scroll.scrollTop = middle * this.step - height / 2; // keep the centre of the picture in place
    this.view.overflows = rowCount * defaultRowHeight + 2 * this.top - maxHeight >= 2 * defaultRowHeight;
    this.draw();
  }

  /** Choose the lines to draw: the strongest of all visible ones, at most MAX_LINES. */
  findLines() {
    const { data, state, positions, shownHeads } = this.view;
    this.lines = [];
    this.hasManyLines = false;
    this.value = null; // (head, query, key) -> probability
    if (!data.ready(state.layer, shownHeads)) return;
    const size = data.size;
    const probs = new Map(shownHeads.map((head) => [head, data.head(state.layer, head)]));
    // with many heads, weak lines are drawn only for the hovered token, so that strong ones stay distinguishable
    const strength = Math.min(1, 1.4 / shownHeads.length ** 0.42);
    const minAlpha = shownHeads.length > 1 ? 0.035 : 0.02;
    this.factors = new Map(shownHeads.map((head) => [head, data.factors(probs.get(head), positions, state.renorm)]));
    this.value = (head, row, col) => probs.get(head)[row * size + col] * this.factors.get(head)[row];
    const counts = new Uint32Array(LEVELS + 1);
    const byLevel = shownHeads.map((head) => {
      const levels = Array.from({ length: LEVELS + 1 }, () => []);
      const factors = this.factors.get(head);
      const values = probs.get(head);
      for (let r = 0; r < positions.rows.length; r++) {
        const row = positions.rows[r];
        const at = row * size;
        const factor = factors[row] * strength;
        for (let c = 0; c < positions.cols.length; c++) {
          const alpha = values[at + positions.cols[c]] * factor;
          if (alpha < minAlpha) continue;
          const level = Math.min(LEVELS, Math.ceil(Math.sqrt(alpha) * LEVELS));
          levels[level].push(r, c);
          counts[level]++;
        }
      }
      return { head, levels };
    });
    let remainingLines = MAX_LINES;
    let lowest = LEVELS;
    while (lowest > 0 && counts[lowest] <= remainingLines) remainingLines -= counts[lowest--];
    for (const { head, levels } of byLevel) {
      for (let level = lowest + 1; level <= LEVELS; level++) {
        if (levels[level].length) this.lines.push({ head, alpha: ((level - 0.5) / LEVELS) ** 2, ends: levels[level] });
      }
    }
    this.hasManyLines = MAX_LINES - remainingLines > MAX_WIDE_LINES;
  }

  y(index) {
    return this.top + (index + 0.5) * this.step - this.scrolled;
  }

  /** The vertical offset of a head within a row, so that the colours of heads do not blend into grey. */
  laneOffset(head) {
    const { shownHeads } = this.view;
    return shownHeads.length > 1 ? (shownHeads.indexOf(head) / (shownHeads.length - 1) - 0.5) * this.spread : 0;
  }

  draw() {
    this.under.draw();
    this.over.draw();
  }

  setStroke(context, head, alpha) {
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
    context.lineWidth = this.hasManyLines ? 1 : Math.max(1, Math.min(this.view.shownHeads.length > 1 ? 1.5 : 2, this.step / 9));
    for (const { head, alpha, ends } of this.lines) {
      const lane = this.laneOffset(head);
      this.setStroke(context, head, alpha);
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

  /** The tokens selected by dragging, else the hovered one, else the pinned ones: {side, list}, where list has positions in the input. */
  getFocus() {
    if (this.dragged) return { side: this.dragged.side, list: this.draggedTokens() };
    if (this.hovered) return { side: this.hovered.side, list: [this.hovered.position] };
    const { state, pinned } = this.view;
    const visible = new Set(this.tokensOfSide(state.side));
    const list = pinned.filter((token) => visible.has(token));
    return list.length ? { side: state.side, list } : null;
  }

  tokensOfSide(side) {
    return side === "query" ? this.view.positions.rows : this.view.positions.cols;
  }

  draggedTokens() {
    const { side, from, to } = this.dragged;
    return this.tokensOfSide(side).slice(Math.min(from, to), Math.max(from, to) + 1);
  }

  /**
   * The attention between the focused tokens and every token of the other column (others), summed over the focused tokens.
   * totals is its mean over the shown heads; parts has the share of each head in that mean.
   */
  sumAttention(focus) {
    const { shownHeads, positions } = this.view;
    const others = focus.side === "query" ? positions.cols : positions.rows;
    const parts = shownHeads.map(() => new Float32Array(others.length));
    const totals = new Float32Array(others.length);
    if (!this.value) return { others, parts, totals };
    shownHeads.forEach((head, h) => others.forEach((other, o) => {
      let sum = 0;
      for (const token of focus.list) sum += focus.side === "query" ? this.value(head, token, other) : this.value(head, other, token);
      parts[h][o] = sum / shownHeads.length;
      totals[o] += sum / shownHeads.length;
    }));
    return { others, parts, totals };
  }

  drawOver() {
    this.scrolled = this.scroll.scrollTop;
    this.under.canvas.classList.toggle("bl-dim", Boolean(this.getFocus()));
    this.paintOver(this.over.begin());
  }

  paintOver(context) {
    const { view } = this;
    const { data, theme, positions } = view;
    const focus = this.getFocus();
    const sums = focus ? this.sumAttention(focus) : null;
    const maxTotal = sums ? Math.max(1e-6, ...sums.totals) : 1;
    if (focus) this.drawFocus(context, focus);
    const size = Math.min(theme.size * Math.max(1, Math.min(1.7, view.state.zoom / 100)), this.step * 0.78);
    const hasAllLabels = this.step >= theme.size * 1.1;
    for (const side of ["query", "key"]) {
      const list = side === "query" ? positions.rows : positions.cols;
      const focused = focus?.side === side ? new Set(focus.list) : null;
      const edge = side === "query" ? this.left : this.right;
      const outward = side === "query" ? -1 : 1;
      const weights = focus && !focused ? sums.totals : null; // attention between these tokens and the focused ones
      const labelledRows = hasAllLabels ? null : this.chooseLabels(list, focused, weights);
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
        if (view.matchSet.has(position)) {
          context.globalAlpha = 1;
          context.fillStyle = theme.search;
          const high = Math.max(Math.min(this.step, size + 8), 3);
          context.fillRect(side === "query" ? edge - this.column : edge - 4, y - high / 2, this.column + 4, high);
        }
        if (labelledRows && !labelledRows.has(i)) continue;
        const weight = weights ? weights[i] / maxTotal : 1;
        context.globalAlpha = view.matchSet.has(position) ? 1 : focused ? (focused.has(position) ? 1 : 0.3) : 0.3 + 0.7 * Math.min(1, weight * 1.6);
        this.drawToken(context, position, edge + outward * 10 + (side === "query" ? 6 : -6) , y, side, labelledRows ? theme.size * 0.86 : Math.max(size, theme.size * 0.86));
      }
      if (weights) this.drawBars(context, side, sums, maxTotal, labelledRows);
    }
    context.globalAlpha = 1;
    if (!this.value) {
      context.fillStyle = theme.muted;
      context.font = `${theme.size}px ${theme.family}`;
      context.textAlign = "center";
      context.fillText(view.message(), (this.left + this.right) / 2, this.height / 2);
    }
  }

  /** Choose which rows get a label if the rows are too thin to label all. Focused tokens and search results come first; labels never overlap. */
  chooseLabels(list, focused, weights) {
    const space = Math.ceil((this.view.theme.size * 1.2) / this.step);
    const occupied = new Set();
    const chosen = new Set();
    const addLabel = (i) => {
      if (occupied.has(i)) return;
      chosen.add(i);
      for (let k = i - space + 1; k < i + space; k++) occupied.add(k);
    };
    if (focused) list.forEach((position, i) => { if (focused.has(position)) addLabel(i); });
    list.forEach((position, i) => { if (this.view.matchSet.has(position)) addLabel(i); });
    if (focused) return chosen;
    if (weights) Array.from(list.keys()).sort((a, b) => weights[b] - weights[a]).slice(0, 40).forEach(addLabel);
    else for (let i = 0; i < list.length; i += space) addLabel(i);
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
    const { positions, shownHeads } = this.view;
    if (!this.value) return;
    const [rows, cols] = focus.side === "query" ? [focus.list, positions.cols] : [positions.rows, focus.list];
    const rowAt = new Map(positions.rows.map((position, i) => [position, i]));
    const colAt = new Map(positions.cols.map((position, i) => [position, i]));
    const strength = 1 / shownHeads.length ** 0.18;
    context.lineWidth = shownHeads.length > 1 ? 1.5 : 2;
    for (const head of shownHeads) {
      const lane = this.laneOffset(head);
      for (const row of rows) {
        for (const col of cols) {
          const alpha = this.value(head, row, col) ** 0.75 * strength;
          if (alpha < 0.012) continue;
          this.setStroke(context, head, alpha);
          context.beginPath();
          context.moveTo(this.left + 9, this.y(rowAt.get(row)) + lane);
          context.lineTo(this.right - 9, this.y(colAt.get(col)) + lane);
          context.stroke();
        }
      }
    }
    context.setLineDash([]);
  }

  drawBars(context, side, { others, parts, totals }, maxTotal, labelledRows) {
    const { theme, shownHeads, colours, data } = this.view;
    const outward = side === "query" ? -1 : 1;
    // if there is no space beside the tokens, bars are drawn behind the labels
    const isBehind = this.isNarrow;
    const edge = (side === "query" ? this.left : this.right) + outward * (isBehind ? 4 : this.column + 6);
    const scale = (isBehind ? this.column - 6 : this.gutter - 50) / maxTotal;
    const size = theme.size * 0.8;
    const thick = isBehind ? this.step - 3 : Math.min(this.step * 0.5, 12);
    context.font = `${size}px ${theme.family}`;
    context.textAlign = side === "query" ? "right" : "left";
    for (let i = 0; i < others.length; i++) {
      const y = this.y(i);
      if (y < -this.step || y > this.height + this.step) continue;
      let x = edge;
      context.globalAlpha = isBehind ? 0.3 : 0.95;
      for (let h = 0; h < shownHeads.length; h++) {
        const length = parts[h][i] * scale;
        if (length < 0.2) continue;
        context.fillStyle = colours[shownHeads[h]];
        context.fillRect(outward > 0 ? x : x - length, y - thick / 2, length, thick);
        x += outward * length;
      }
      if (totals[i] < 0.005 || (labelledRows && !labelledRows.has(i))) continue;
      context.globalAlpha = 0.45 + 0.55 * Math.min(1, (totals[i] / maxTotal) * 1.5);
      context.fillStyle = theme.ink;
      context.fillText(formatProbability(totals[i], data.error), isBehind ? edge + outward * (this.column + 2) : x + outward * 5, y);
    }
  }

  /** The token under the pointer: {side, position in the input, index in its column}; null if there is none. */
  findToken(event) {
    const box = this.over.canvas.getBoundingClientRect();
    const x = event.clientX - box.left;
    const i = Math.floor((event.clientY - box.top + this.scroll.scrollTop - this.top) / this.step);
    const side = x < this.left + 12 ? "query" : x > this.right - 12 ? "key" : null;
    const list = side === "query" ? this.view.positions.rows : this.view.positions.cols;
    return side && i >= 0 && i < list.length ? { side, position: list[i], index: i } : null;
  }

  setHovered(spot) {
    if (spot?.position === this.hovered?.position && spot?.side === this.hovered?.side) return;
    this.hovered = spot;
    this.over.canvas.style.cursor = spot ? "pointer" : "default";
    this.over.draw();
    this.updateReadout();
  }

  updateReadout() {
    const { view } = this;
    const focus = this.getFocus();
    if (!focus) return view.showReadout(null);
    const { others, totals } = this.sumAttention(focus);
    const best = Array.from(others.keys()).sort((a, b) => totals[b] - totals[a]).slice(0, view.isNarrow ? 3 : 5);
    const firstTokens = focus.list.slice(0, 8).map((position) => view.data.tokens[position]).join(" + ");
    const subject = focus.list.length > 8 ? `${firstTokens} + … (${view.texts.tokens.replace("{}", focus.list.length)})` : firstTokens;
    view.showReadout(subject, focus.side === "query" ? view.texts.attends : view.texts.attendedBy,
      best.map((o) => [view.data.tokens[others[o]], formatProbability(totals[o], view.data.error)]));
  }

  startDrag(event) {
    this.dragged = null;
    const spot = event.button === 0 && event.pointerType !== "touch" ? this.findToken(event) : null;
    this.dragStart = spot;
  }

  /** Extend the selection while dragging; otherwise show the lines of the hovered token. */
  movePointer(spot) {
    if (this.dragStart && spot?.side === this.dragStart.side && (this.dragged || spot.index !== this.dragStart.index)) {
      this.dragged = { side: spot.side, from: this.dragStart.index, to: spot.index };
      this.over.draw();
      this.updateReadout();
    } else this.setHovered(spot);
  }

  endDrag(event) {
    this.dragStart = null;
    if (!this.dragged) return;
    const { side } = this.dragged;
    const before = isAdding(event) && this.view.state.side === side ? this.view.pinned : [];
    const tokens = [...new Set([...before, ...this.draggedTokens()])];
    this.hovered = null;
    this.view.pin(tokens, side);
    // ignore the click event that follows a drag
    setTimeout(() => { this.dragged = null; this.over.draw(); });
  }

  /** Pin a token, or unpin it if it is pinned. */
  pinToken(spot, keepOthers) {
    const { state, pinned } = this.view;
    if (!spot) return this.view.pin([], state.side);
    const pinnedHere = state.side === spot.side ? pinned : [];
    const tokens = pinnedHere.includes(spot.position) ? (keepOthers ? pinnedHere.filter((token) => token !== spot.position) : [])
      : keepOthers ? [...pinnedHere, spot.position] : [spot.position];
    this.view.pin(tokens, spot.side);
  }

  /** Scroll to a token and show its lines. */
  reveal(position) {
    const side = this.tokensOfSide(this.view.state.side).includes(position) ? this.view.state.side : this.view.state.side === "query" ? "key" : "query";
    const index = this.tokensOfSide(side).indexOf(position);
    if (index < 0) return;
    this.setHovered({ side, position, index });
    const y = this.top + index * this.step;
    if (y < this.scroll.scrollTop || y + this.step > this.scroll.scrollTop + this.height) this.scroll.scrollTop = y - this.height / 2;
  }

  /** The whole picture, including the parts outside the scrolled area. */
  svg() {
    const [scrolled, height] = [this.scrolled, this.height];
    [this.scrolled, this.height] = [0, this.fullHeight];
    const recorder = new Recorder(this.pane.clientWidth, this.fullHeight, this.view.theme.ground);
    if (!this.getFocus()) this.paintUnder(recorder);
    recorder.globalAlpha = 1;
    recorder.setLineDash([]);
    this.paintOver(recorder);
    [this.scrolled, this.height] = [scrolled, height];
    return recorder.text();
  }

  handleKey(event) {
    const { view } = this;
    const { state, pinned } = view;
    const side = this.hovered?.side ?? state.side;
    const list = this.tokensOfSide(side);
    const current = this.hovered ? list.indexOf(this.hovered.position) : list.indexOf(pinned.at(-1) ?? -1);
    const goTo = (index, column = side) => {
      const positions = this.tokensOfSide(column);
      const at = Math.min(Math.max(index, 0), positions.length - 1);
      if (!positions.length) return;
      this.setHovered({ side: column, position: positions[at], index: at });
      const y = this.top + at * this.step;
      if (y < this.scroll.scrollTop) this.scroll.scrollTop = y - this.top;
      else if (y + this.step > this.scroll.scrollTop + this.height) this.scroll.scrollTop = y + this.step + this.top - this.height;
    };
    runKeyAction(event, {
      ArrowDown: () => goTo(current + 1), ArrowUp: () => goTo(current < 0 ? 0 : current - 1), Home: () => goTo(0), End: () => goTo(list.length - 1),
      ArrowLeft: () => view.stepLayer(-1), ArrowRight: () => view.stepLayer(1),
      Enter: () => this.pinToken(this.hovered, event.shiftKey), " ": () => this.pinToken(this.hovered, event.shiftKey),
      Escape: () => { this.setHovered(null); view.pin([], state.side); },
      s: () => goTo(Math.max(current, 0), side === "query" ? "key" : "query"),
    });
  }

  destroy() {
    this.under.destroy();
    this.over.destroy();
    this.pane.remove();
  }
}

/** Whether a click adds to the pinned tokens instead of replacing them. */
function isAdding(event) {
  return event.shiftKey || event.ctrlKey || event.metaKey;
}
