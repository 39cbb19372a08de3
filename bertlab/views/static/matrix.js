// The matrix view. Shapes: T tokens; a head is [T, T].
import { createScroller, drawText, formatProbability, interpolate, runKeyAction } from "./canvas.js";
import { element } from "./dom.js";
import { Recorder } from "./svg.js";

/** One head as a heat map: rows are queries, columns are keys. */
export class Matrix {
  constructor(view, host = null) {
    this.view = view;
    this.pane = host ?? element("div", { class: "bl-pane" });
    Object.assign(this, createScroller(view.texts.matrix, view.whenLaidOut(() => this.draw()), {
      pointermove: (event) => { if (event.pointerType !== "touch") this.setHovered(this.findCell(event)); },
      pointerleave: () => this.setHovered(null),
      click: (event) => this.pinRow(this.findCell(event), event.shiftKey || event.ctrlKey || event.metaKey),
      keydown: (event) => this.handleKey(event),
    }));
    this.pane.append(this.scroll);
    this.image = document.createElement("canvas");
    this.at = null; // the hovered cell, {r, c}
  }

  /** Compute the sizes in pixels: of a cell, of the row labels (labels) and of the column labels (heading). */
  layout() {
    const { positions, theme, state, data } = this.view;
    const width = this.pane.clientWidth;
    if (!width) return;
    const measure = this.surface.context;
    measure.font = `600 ${theme.size * 0.86}px ${theme.family}`;
    const longest = (list) => Math.max(24, ...list.map((position) => measure.measureText(data.tokens[position]).width));
    const limit = width < 480 ? 74 : 120;
    this.labels = Math.ceil(Math.min(longest(positions.rows), limit)) + 12;
    this.heading = Math.ceil(Math.min(longest(positions.cols), limit)) + 12;
    const maxHeight = Math.max(200, Math.min(720, innerHeight * 0.82));
    const cellWidth = (width - this.labels - 4) / Math.max(1, positions.cols.length);
    const cellHeight = (maxHeight - this.heading - 4) / Math.max(1, positions.rows.length);
    const readableCell = theme.size * 0.95;
    const fitted = Math.min(cellWidth, cellHeight, 34);
    const middle = [(this.scroll.scrollLeft + (this.width ?? 0) / 2) / (this.cell ?? 1), (this.scroll.scrollTop + (this.height ?? 0) / 2) / (this.cell ?? 1)];
    const zoomed = this.cell && this.zoom !== state.zoom;
    this.zoom = state.zoom;
    this.cell = ((state.fit || this.compact ? fitted : Math.max(fitted, readableCell)) * state.zoom) / 100;
    this.hasLabels = this.cell >= theme.size * 0.8;
    if (!this.hasLabels) this.cell = Math.max(this.cell, 0.5);
    const full = this.full = { width: this.labels + positions.cols.length * this.cell + 4, height: this.heading + positions.rows.length * this.cell + 4 };
    this.width = Math.min(width, Math.ceil(full.width));
    this.height = Math.min(maxHeight, Math.ceil(full.height));
    // centred if it fits, else aligned to the left and scrolled
    this.indent = Math.max(0, Math.floor((width - full.width) / 2));
    this.labels += this.indent;
    this.spacer.style.width = `${full.width + this.indent}px`;
    this.spacer.style.height = `${full.height}px`;
    this.scroll.style.width = `${width}px`;
    this.scroll.style.height = `${this.height}px`;
    this.surface.resize(width, this.height);
    if (zoomed) this.scroll.scrollTo(middle[0] * this.cell - this.width / 2, middle[1] * this.cell - this.height / 2);
    this.view.overflows = readableCell * positions.rows.length + this.heading > maxHeight || readableCell * positions.cols.length + this.labels > width;
    this.paint();
    this.surface.draw();
  }

  /** Draw the head into an image with one pixel per cell, which `paintOn` scales. */
  paint() {
    const { data, state, positions, theme } = this.view;
    const probs = data.head(state.layer, state.head);
    const { rows, cols } = positions;
    this.value = null;
    let thumbnail = null;
    if (!probs) thumbnail = data.thumb(state.layer, state.head, positions, state);
    const [high, wide] = probs ? [rows.length, cols.length] : thumbnail ? [thumbnail.high, thumbnail.wide] : [0, 0];
    this.image.width = Math.max(1, wide);
    this.image.height = Math.max(1, high);
    if (!high || !wide) return;
    if (probs) {
      const factors = data.factors(probs, positions, state.renorm);
      this.value = (row, col) => probs[row * data.size + col] * factors[row];
    }
    const ramp = Array.from({ length: 256 }, (_, i) => interpolate(theme.ramp, i / 255));
    const image = new ImageData(wide, high);
    for (let r = 0; r < high; r++) {
      for (let c = 0; c < wide; c++) {
        const value = probs ? this.value(rows[r], cols[c]) : thumbnail.values[r * wide + c];
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

  draw() {
    this.paintOn(this.surface.begin(), { dx: this.scroll.scrollLeft, dy: this.scroll.scrollTop, width: this.surface.width, height: this.height });
  }

  /** The whole picture, including the parts outside the scrolled area. */
  svg() {
    const [width, height] = [this.full.width + this.indent, this.full.height];
    const recorder = new Recorder(width, height, this.view.theme.ground);
    this.paint();
    this.paintOn(recorder, { dx: 0, dy: 0, width, height });
    return recorder.text();
  }

  paintOn(context, frame) {
    this.frame = frame;
    const { view, cell, labels, heading } = this;
    const { positions, theme, state } = view;
    const { rows, cols } = positions;
    const { dx, dy } = frame;
    const [x0, y0] = [labels - dx, heading - dy];
    context.save();
    context.beginPath();
    context.rect(labels, heading, frame.width - labels, frame.height - heading);
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
    const pinnedIndices = (list, side) => (state.side === side ? view.pinned.map((token) => list.indexOf(token)).filter((i) => i >= 0) : []);
    const [pinnedRows, pinnedCols] = [pinnedIndices(rows, "query"), pinnedIndices(cols, "key")];
    context.strokeStyle = theme.accent;
    context.lineWidth = 2;
    for (const r of pinnedRows) context.strokeRect(x0, y0 + r * cell, cols.length * cell, cell);
    for (const c of pinnedCols) context.strokeRect(x0 + c * cell, y0, cell, rows.length * cell);
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
    this.drawAxis(context, rows, heading, dy, this.at?.r, new Set(pinnedRows), false);
    this.drawAxis(context, cols, labels, dx, this.at?.c, new Set(pinnedCols), true);
    if (!this.value) {
      context.font = `${theme.size}px ${theme.family}`;
      context.textAlign = "center";
      context.fillStyle = theme.ink;
      context.fillText(view.message(), frame.width / 2, frame.height / 2);
    }
  }

  /** Draw the labels of the rows or of the columns. In pixels: start is where the cells begin, scrolled the scroll offset. at: the index of the hovered row or column. */
  drawAxis(context, list, start, scrolled, at, pinnedSet, isColumnAxis) {
    const { theme, data, matchSet } = this.view;
    const extent = isColumnAxis ? this.frame.width : this.frame.height;
    const maxLabelWidth = (isColumnAxis ? this.heading : this.labels - this.indent) - 12;
    const size = Math.min(theme.size * 0.86, Math.max(this.cell * 0.86, theme.size * 0.78));
    const every = Math.max(1, Math.ceil((size * 1.15) / this.cell));
    const hoveredIndex = at !== undefined ? at : -1;
    context.save();
    context.beginPath();
    const overhang = size * 0.6; // the first label may be taller than its row
    if (isColumnAxis) context.rect(start - overhang, 0, extent - start + overhang, this.heading);
    else context.rect(0, start - overhang, this.labels, extent - start + overhang);
    context.clip();
    for (let i = 0; i < list.length; i++) {
      const isMatch = matchSet.has(list[i]);
      const isHighlighted = i === hoveredIndex || pinnedSet.has(i) || isMatch;
      if (!isHighlighted && (i % every || (hoveredIndex >= 0 && Math.abs(i - hoveredIndex) < every))) continue;
      const middle = start + (i + 0.5) * this.cell - scrolled;
      if (middle < start - this.cell || middle > extent + this.cell) continue;
      context.globalAlpha = at === undefined || isHighlighted ? 1 : 0.45;
      context.font = `${isHighlighted ? 600 : 400} ${size}px ${theme.family}`;
      context.fillStyle = data.hideable.has(list[i]) && !isHighlighted ? theme.muted : theme.ink;
      const tint = theme.segments[data.segments[list[i]] === 1 ? 1 : 0];
      if (isMatch) {
        const ink = context.fillStyle;
        context.fillStyle = theme.search;
        const thick = Math.max(3, Math.min(this.cell, size + 4));
        if (isColumnAxis) context.fillRect(middle - thick / 2, 0, thick, this.heading);
        else context.fillRect(this.labels - maxLabelWidth - 8, middle - thick / 2, maxLabelWidth + 8, thick);
        context.fillStyle = ink;
      }
      if (isColumnAxis) {
        context.save();
        context.translate(middle, this.heading - 8);
        context.rotate(-Math.PI / 2);
        context.textAlign = "left";
        drawText(context, data.tokens[list[i]], 0, 0, maxLabelWidth);
        context.restore();
      } else {
        context.textAlign = "right";
        drawText(context, data.tokens[list[i]], this.labels - 8, middle, maxLabelWidth);
      }
      if (!data.hideable.has(list[i])) {
        context.fillStyle = tint;
        const thick = Math.max(1, Math.min(this.cell - 2, this.cell * every - 2));
        if (isColumnAxis) context.fillRect(middle - thick / 2, this.heading - 4, thick, 2.5);
        else context.fillRect(this.labels - 4, middle - thick / 2, 2.5, thick);
      }
    }
    context.restore();
    context.globalAlpha = 1;
  }

  findCell(event) {
    const box = this.surface.canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    const { rows, cols } = this.view.positions;
    const c = Math.floor((x - this.labels + this.scroll.scrollLeft) / this.cell);
    const r = Math.floor((y - this.heading + this.scroll.scrollTop) / this.cell);
    if (y < this.heading || r < 0 || r >= rows.length || c >= cols.length) return null;
    return { r, c: x < this.labels ? null : Math.max(0, c) };
  }

  setHovered(at) {
    const next = at && at.c !== null ? at : null;
    if (next?.r === this.at?.r && next?.c === this.at?.c) return;
    this.at = next;
    this.surface.draw();
    this.updateReadout();
  }

  updateReadout() {
    const { view } = this;
    const { rows, cols } = view.positions;
    if (!this.at || !this.value || this.at.r >= rows.length || this.at.c >= cols.length) return view.showReadout(null);
    const [row, col] = [rows[this.at.r], cols[this.at.c]];
    view.showReadout(view.data.tokens[row], view.texts.attends, [[view.data.tokens[col], formatProbability(this.value(row, col), view.data.error)]],
      view.headTitle(view.state));
  }

  /** Pin the query token of a row, or unpin it if it is pinned. */
  pinRow(at, keepOthers) {
    const { state, positions, pinned } = this.view;
    if (!at) return this.view.pin([], "query");
    const position = positions.rows[at.r];
    const pinnedRows = state.side === "query" ? pinned : [];
    const tokens = pinnedRows.includes(position) ? pinnedRows.filter((token) => keepOthers && token !== position)
      : keepOthers ? [...pinnedRows, position] : [position];
    this.view.pin(tokens, "query");
  }

  /** Scroll to the row of a token, or else to its column. */
  reveal(position) {
    const { rows, cols } = this.view.positions;
    const [r, c] = [rows.indexOf(position), cols.indexOf(position)];
    if (r >= 0 || c >= 0) this.goTo(Math.max(r, 0), Math.max(c, 0));
  }

  /** Move the hovered cell, and scroll until it is visible. */
  goTo(r, c) {
    const { rows, cols } = this.view.positions;
    this.setHovered({ r: Math.min(Math.max(r, 0), rows.length - 1), c: Math.min(Math.max(c, 0), cols.length - 1) });
    const findScrollOffset = (at, start, scrolled, extent) => {
      const [from, to] = [at * this.cell, (at + 1) * this.cell];
      return from < scrolled ? from : to > scrolled + extent - start ? to - extent + start + 4 : scrolled;
    };
    this.scroll.scrollTop = findScrollOffset(this.at.r, this.heading, this.scroll.scrollTop, this.height);
    this.scroll.scrollLeft = findScrollOffset(this.at.c, this.labels, this.scroll.scrollLeft, this.surface.width);
  }

  handleKey(event) {
    const { view } = this;
    const { rows, cols } = view.positions;
    if (!rows.length || !cols.length) return;
    const current = this.at ?? { r: 0, c: -1 };
    runKeyAction(event, {
      ArrowDown: () => this.goTo(current.r + 1, current.c), ArrowUp: () => this.goTo(current.r - 1, current.c),
      ArrowRight: () => this.goTo(current.r, current.c + 1), ArrowLeft: () => this.goTo(current.r, current.c - 1),
      Home: () => this.goTo(current.r, 0), End: () => this.goTo(current.r, cols.length - 1),
      PageUp: () => view.stepLayer(-1), PageDown: () => view.stepLayer(1),
      Enter: () => this.pinRow(this.at, event.shiftKey), " ": () => this.pinRow(this.at, event.shiftKey),
      Escape: () => { this.setHovered(null); view.pin([], "query"); },
    });
  }

  destroy() {
    this.surface.destroy();
    this.pane.remove();
  }
}
