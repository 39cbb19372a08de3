// The grid view.
import { createInteractiveSurface, interpolate, runKeyAction } from "./canvas.js";
import { element } from "./dom.js";
import { Matrix } from "./matrix.js";
import { Recorder } from "./svg.js";

/** A thumbnail for every head, one row for each layer; beside them, or below if there is no space, the selected head as a matrix. */
export class Grid {
  constructor(view) {
    this.view = view;
    this.pane = element("div", { class: "bl-pane bl-stage" });
    this.board = element("div", { class: "bl-pane" });
    this.title = element("span");
    this.asLines = element("button", { class: "bl-quiet", type: "button", onclick: () => view.set({ view: "lines", heads: [view.state.head] }) }, view.texts.asLines);
    this.asMatrix = element("button", { class: "bl-quiet", type: "button", onclick: () => view.set({ view: "matrix" }) }, view.texts.asMatrix);
    this.card = element("div", { class: "bl-card" },
      element("div", { class: "bl-card-title" }, this.title, element("span", { class: "bl-group" }, this.asLines, this.asMatrix)));
    this.inner = element("div", { class: "bl-pane" });
    this.card.append(this.inner);
    this.pane.append(this.board, this.card);
    this.surface = createInteractiveSurface(this.board, view.texts.grid, view.whenLaidOut(() => this.paintOn(this.surface.begin())), {
      pointermove: (event) => this.setHovered(this.findHead(event)),
      pointerleave: () => this.setHovered(null),
      click: (event) => { const at = this.findHead(event); if (at) view.set(at); },
      dblclick: (event) => { const at = this.findHead(event); if (at) view.set({ ...at, view: "lines", heads: [at.head] }); },
      keydown: (event) => this.handleKey(event),
    });
    this.surface.canvas.style.display = "block";
    this.detail = new Matrix(view, this.inner);
    this.detail.compact = true; // it always fits into its card
    this.at = null; // the hovered thumbnail, {layer, head}
  }

  /** Compute the sizes in pixels: of a thumbnail (side), of the space between two (gap), and of the names of heads and layers (label). */
  layout() {
    const { data, theme, state } = this.view;
    const paneWidth = this.pane.clientWidth;
    if (!paneWidth) return;
    const isBeside = paneWidth >= 820;
    this.pane.style.gridTemplateColumns = isBeside ? "minmax(0, 1.12fr) minmax(0, 1fr)" : "minmax(0, 1fr)";
    const width = this.board.clientWidth;
    this.label = Math.ceil(theme.size * 2.1);
    this.gap = width < 480 ? 2 : 4;
    const maxHeight = Math.max(240, Math.min(720, innerHeight * 0.82));
    const maxSideByWidth = (width - this.label) / data.heads - this.gap;
    const maxSideByHeight = (maxHeight - this.label) / data.layers - this.gap;
    this.side = Math.max(14, Math.min(maxSideByWidth, Math.max(maxSideByHeight, 30), 110));
    this.height = Math.ceil(this.label + data.layers * (this.side + this.gap));
    this.surface.resize(width, this.height);
    this.title.textContent = this.view.headTitle(state);
    this.detail.layout();
    this.view.overflows = false;
    this.surface.draw();
  }

  /** The thumbnails, and the opened head to their right. */
  svg() {
    const { detail, view } = this;
    const detailLeft = this.surface.width + 24;
    const [width, height] = [detail.full.width + detail.indent, detail.full.height];
    const recorder = new Recorder(detailLeft + width, Math.max(this.height, height + 28), view.theme.ground);
    this.paintOn(recorder);
    recorder.save();
    recorder.font = `600 ${view.theme.size}px ${view.theme.family}`;
    recorder.fillStyle = view.theme.ink;
    recorder.textAlign = "left";
    recorder.fillText(this.title.textContent, detailLeft, 12);
    recorder.translate(detailLeft, 28);
    detail.paint();
    detail.paintOn(recorder, { dx: 0, dy: 0, width, height });
    recorder.restore();
    return recorder.text();
  }

  reveal(position) {
    this.detail.reveal(position);
  }

  updateReadout() {
    if (!this.at) this.detail.updateReadout();
  }

  paintOn(context) {
    const { data, state, theme, positions } = this.view;
    const pitch = this.side + this.gap;
    const ramp = Array.from({ length: 256 }, (_, i) => interpolate(theme.ramp, i / 255));
    context.font = `${theme.size * 0.78}px ${theme.family}`;
    context.textAlign = "center";
    const highlighted = this.at ?? state;
    for (let head = 0; head < data.heads; head++) {
      context.fillStyle = head === highlighted.head ? theme.ink : theme.muted;
      context.fillText(`H${head}`, this.label + head * pitch + this.side / 2, this.label / 2);
    }
    context.imageSmoothingEnabled = true;
    context.imageSmoothingQuality = "medium";
    for (let layer = 0; layer < data.layers; layer++) {
      context.fillStyle = layer === highlighted.layer ? theme.ink : theme.muted;
      context.fillText(`L${layer}`, this.label / 2, this.label + layer * pitch + this.side / 2);
      for (let head = 0; head < data.heads; head++) {
        const [x, y] = [this.label + head * pitch, this.label + layer * pitch];
        const picture = data.thumb(layer, head, positions, state);
        if (picture && picture.high && picture.wide) {
          this.renderThumbnail(picture, ramp);
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
    const drawFrame = (at, colour, lineWidth) => {
      context.strokeStyle = colour;
      context.lineWidth = lineWidth;
      context.strokeRect(this.label + at.head * pitch - 1, this.label + at.layer * pitch - 1, this.side + 2, this.side + 2);
    };
    if (this.at) drawFrame(this.at, theme.faint, 2);
    drawFrame(state, theme.accent, 2.5);
  }

  /** Draw the canvas of a thumbnail, unless it has one in the colours of this theme. */
  renderThumbnail(picture, ramp) {
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

  findHead(event) {
    const box = this.surface.canvas.getBoundingClientRect();
    const pitch = this.side + this.gap;
    const head = Math.floor((event.clientX - box.left - this.label) / pitch);
    const layer = Math.floor((event.clientY - box.top - this.label) / pitch);
    const { data } = this.view;
    return head >= 0 && layer >= 0 && head < data.heads && layer < data.layers ? { layer, head } : null;
  }

  setHovered(at) {
    if (at?.layer === this.at?.layer && at?.head === this.at?.head) return;
    this.at = at;
    this.surface.canvas.style.cursor = at ? "pointer" : "default";
    this.surface.draw();
    this.view.showReadout(at ? this.view.headTitle(at) : null);
  }

  handleKey(event) {
    const { view } = this;
    const { data, state } = view;
    const goTo = (layer, head) => view.set({
      layer: Math.min(Math.max(layer, 0), data.layers - 1), head: Math.min(Math.max(head, 0), data.heads - 1),
    });
    runKeyAction(event, {
      ArrowDown: () => goTo(state.layer + 1, state.head), ArrowUp: () => goTo(state.layer - 1, state.head),
      ArrowRight: () => goTo(state.layer, state.head + 1), ArrowLeft: () => goTo(state.layer, state.head - 1),
      Enter: () => view.set({ view: "lines", heads: [state.head] }), " ": () => view.set({ view: "lines", heads: [state.head] }),
    });
  }

  destroy() {
    this.detail.destroy();
    this.surface.destroy();
    this.pane.remove();
  }
}
