// One snapshot in the view Time machine (timeline.js): thumbnails of all heads, the selected head, and the predictions (tokens for each mask, next sentence).
import { Surface, drawText } from "./canvas.js";
import { element } from "./dom.js";
import { clamp, formatCount, formatPercent } from "./numbers.js";

const MAX_CANDIDATES = 6; // candidates shown for each mask

function svgElement(tag, attributes) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  return node;
}

/** A sparkline of a probability over all snapshots, with a dot at the current one. */
function sparkline(shares, max, at) {
  const x = (index) => 2 + (index / Math.max(1, shares.length - 1)) * 66;
  const y = (share) => 17 - (share / Math.max(max, 1e-6)) * 14;
  const picture = svgElement("svg", { viewBox: "0 0 70 20", class: "bl-spark", "aria-hidden": "true" });
  picture.append(
    svgElement("path", { d: shares.map((share, i) => `${i ? "L" : "M"}${x(i).toFixed(1)} ${y(share).toFixed(1)}`).join("") }),
    svgElement("circle", { cx: x(at), cy: y(shares[at]), r: 2.6 }),
  );
  return picture;
}

/** The panel of one snapshot. A pinned panel shows the snapshot that the selected one is compared with. */
export class SnapshotPanel {
  constructor(view, isPinned) {
    this.view = view;
    this.isPinned = isPinned;
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
      const [x, y] = this.pointerPosition(grid, event);
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
    head.addEventListener("keydown", (event) => this.handlePairKey(event));
    head.addEventListener("blur", () => this.view.setPointed(null));
    head.addEventListener("pointermove", (event) => {
      const [x, y] = this.pointerPosition(head, event);
      const [col, row] = [Math.floor((x - this.labels) / this.step), Math.floor((y - this.heading) / this.step)];
      const isInside = col >= 0 && row >= 0 && col < this.view.data.size && row < this.view.data.size;
      this.view.setPointed(isInside ? { row, col } : null);
    });
    head.addEventListener("pointerleave", () => this.view.setPointed(null));
    if (isPinned) {
      this.picker = element("select", { "aria-label": view.texts.pinned, onchange: () => view.set({ against: Number(this.picker.value) }) },
        ...view.data.moments.map(({ step }) => element("option", { value: step }, `${view.texts.step} ${formatCount(step)}`)));
      this.title.append(element("label", { class: "bl-group" }, element("span", { class: "bl-name" }, view.texts.pinned), this.picker));
    } else {
      this.name = element("span");
      this.title.append(this.name);
    }
  }

  /** On the heat map, the arrow keys select a pair of tokens; elsewhere in the view they select a snapshot. */
  handlePairKey(event) {
    const { data, pointed } = this.view;
    const by = { ArrowDown: [1, 0], ArrowUp: [-1, 0], ArrowRight: [0, 1], ArrowLeft: [0, -1] }[event.key];
    if (!by && event.key !== "Escape") return;
    event.preventDefault();
    event.stopPropagation();
    const move = (index, by) => clamp(index + by, 0, data.size - 1);
    if (!by) this.view.setPointed(null);
    else this.view.setPointed(pointed ? { row: move(pointed.row, by[0]), col: move(pointed.col, by[1]) } : { row: 0, col: 0 });
  }

  get at() {
    return this.isPinned ? this.view.against : this.view.at;
  }

  pointerPosition(canvas, event) {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  /** Compute the sizes in pixels: of a thumbnail (cell), a token in the heat map (step), and the labels beside and above it. */
  layout() {
    const { data, theme, texts: text } = this.view;
    const narrow = this.view.root.classList.contains("bl-narrow");
    const gridWidth = narrow ? this.gridBox.clientWidth : this.node.clientWidth * (this.view.panels.length > 1 ? 0.35 : 0.3);
    this.left = this.top = data.heads > 1 || data.layers > 1 ? 20 : 2;
    this.cell = Math.floor(clamp((gridWidth - this.left - 2) / data.heads, 8, clamp(300 / data.layers, 14, 76)));
    this.grid.resize(this.left + this.cell * data.heads + 2, this.top + this.cell * data.layers + 2);
    this.grid.canvas.setAttribute("aria-label", text.allHeads);
    const wide = Math.min(this.headBox.clientWidth, 520);
    const measure = this.head.context;
    measure.font = `${theme.size * 0.86}px ${theme.family}`;
    const longest = Math.max(24, ...data.tokens.map((token) => measure.measureText(token).width));
    const label = Math.ceil(Math.min(longest, wide < 420 ? 62 : 96)) + 8;
    this.step = clamp((wide - label - 2) / data.size, 1, 30);
    this.hasLabels = this.step >= theme.size * 0.62;
    this.labels = this.heading = this.hasLabels ? label : 2;
    if (!this.hasLabels) this.step = clamp((wide - 4) / data.size, 1, 30);
    this.head.resize(Math.ceil(this.labels + this.step * data.size + 2), Math.ceil(this.heading + this.step * data.size + 2));
  }

  draw() {
    const { view } = this;
    const { texts: text, data } = view;
    const moment = data.moments[this.at];
    if (this.isPinned) this.picker.value = String(moment.step);
    else this.name.textContent = `${text.step} ${formatCount(moment.step)}`;
    const layer = text.layerNumber.replace("{}", view.state.layer), head = text.headNumber.replace("{}", view.state.head);
    this.head.canvas.setAttribute("aria-label", `${layer} · ${head}: ${text.tokenPairs}`);
    this.drawGrid();
    this.drawHead();
    this.showPredictions();
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
    if (this.hasLabels) {
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
  showPredictions() {
    const { data, texts: text } = this.view;
    const { at } = this;
    const blocks = data.masks.map(({ words: names, probs }, number) => {
      const current = probs[at];
      const order = names.map((_, i) => i).sort((a, b) => current[b] - current[a]).slice(0, MAX_CANDIDATES);
      const max = Math.max(1e-6, ...probs.flat()); // the sparklines of a mask share one scale over the whole run
      return element("div", { class: "bl-words" },
        element("div", { class: "bl-name" }, data.masks.length > 1 ? `[MASK] ${number + 1}` : "[MASK]"),
        ...order.map((i) => element("div", { class: "bl-word" },
          element("bdi", {}, names[i]),
          element("span", { class: "bl-bar-track" }, element("span", { class: "bl-bar-fill", style: `width:${(current[i] * 100).toFixed(2)}%` })),
          element("span", { class: "bl-share" }, formatPercent(current[i])),
          sparkline(probs.map((shares) => shares[i]), max, at))));
    });
    if (!blocks.length) blocks.push(element("p", { class: "bl-name" }, text.noMask));
    if (data.follows) {
      const share = data.follows[at];
      blocks.push(element("div", { class: "bl-words" }, element("div", { class: "bl-name" }, text.nspQuestion),
        element("div", { class: "bl-word" }, element("bdi", {}, share >= 0.5 ? text.isNext : text.notNext),
          element("span", { class: "bl-bar-track bl-half" }, element("span", { class: "bl-bar-fill", style: `width:${(share * 100).toFixed(2)}%` })),
          element("span", { class: "bl-share" }, formatPercent(Math.max(share, 1 - share))), sparkline(data.follows, 1, at))));
    } else blocks.push(element("p", { class: "bl-name" }, text.noPair));
    this.predictions.replaceChildren(...blocks);
  }

  destroy() {
    this.grid.destroy();
    this.head.destroy();
    this.node.remove();
  }
}
