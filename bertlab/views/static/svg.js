// A canvas context that records what is drawn as SVG. It implements only the methods that the views use.

const MAX_CELLS = 20000; // cells that are drawn as rectangles, over all images; further images are embedded as pixels
const STYLE = ["globalAlpha", "fillStyle", "strokeStyle", "lineWidth", "font", "textAlign"];

export class Recorder {
  /**
   * Sizes are in pixels; ground is the colour of the background. parts and defs: the SVG so far; d: the current path; dash: the
   * attribute of the line dash; stack: what `restore` restores; open: the number of groups to close; cells: the number
   * of rectangles that `drawImage` has drawn.
   */
  constructor(width, height, ground) {
    Object.assign(this, { width, height, ground, parts: [], defs: [], d: "", dash: "", stack: [], open: 0, cells: 0 });
    Object.assign(this, { globalAlpha: 1, fillStyle: "#000000", strokeStyle: "#000000", lineWidth: 1, font: "10px sans-serif", textAlign: "left" });
    this.textMeasurer = document.createElement("canvas").getContext("2d");
  }

  save() {
    this.stack.push([STYLE.map((name) => this[name]), this.open]);
    this.open = 0;
  }

  restore() {
    this.parts.push("<\/g>".repeat(this.open));
    const [values, open] = this.stack.pop();
    STYLE.forEach((name, i) => { this[name] = values[i]; });
    this.open = open;
  }

  group(attributes) {
    this.parts.push(`<g ${attributes}>`);
    this.open++;
  }

  translate(x, y) {
    this.group(`transform="translate(${formatNumber(x)} ${formatNumber(y)})"`);
  }

  rotate(angle) {
    this.group(`transform="rotate(${formatNumber((angle * 180) / Math.PI)})"`);
  }

  clip() {
    this.defs.push(`<clipPath id="c${this.defs.length}"><path d="${this.d}"/><\/clipPath>`);
    this.group(`clip-path="url(#c${this.defs.length - 1})"`);
  }

  setLineDash(dash) {
    this.dash = dash.length ? ` stroke-dasharray="${dash.join(" ")}"` : "";
  }

  beginPath() {
    this.d = "";
  }

  moveTo(x, y) {
    this.d += `M${formatNumber(x)} ${formatNumber(y)}`;
  }

  lineTo(x, y) {
    this.d += `L${formatNumber(x)} ${formatNumber(y)}`;
  }

  rect(x, y, width, height) {
    this.d += `M${formatNumber(x)} ${formatNumber(y)}h${formatNumber(width)}v${formatNumber(height)}h${formatNumber(-width)}z`;
  }

  roundRect(x, y, width, height, radius) {
    const r = Math.min(radius, width / 2, height / 2);
    const arc = (dx, dy) => `a${formatNumber(r)} ${formatNumber(r)} 0 0 1 ${formatNumber(dx)} ${formatNumber(dy)}`;
    this.d += `M${formatNumber(x + r)} ${formatNumber(y)}h${formatNumber(width - 2 * r)}${arc(r, r)}v${formatNumber(height - 2 * r)}${arc(-r, r)}h${formatNumber(2 * r - width)}${arc(-r, -r)}v${formatNumber(2 * r - height)}${arc(r, -r)}z`;
  }

  /** Draw a full circle; the views draw no other arcs. */
  arc(x, y, r) {
    this.d += `M${formatNumber(x - r)} ${formatNumber(y)}a${formatNumber(r)} ${formatNumber(r)} 0 1 1 ${formatNumber(2 * r)} 0a${formatNumber(r)} ${formatNumber(r)} 0 1 1 ${formatNumber(-2 * r)} 0z`;
  }

  stroke() {
    this.parts.push(`<path d="${this.d}" fill="none"${this.strokeAttributes()}/>`);
  }

  fill() {
    this.parts.push(`<path d="${this.d}"${this.fillAttributes()}/>`);
  }

  fillRect(x, y, width, height) {
    this.parts.push(`<rect x="${formatNumber(x)}" y="${formatNumber(y)}" width="${formatNumber(width)}" height="${formatNumber(height)}"${this.fillAttributes()}/>`);
  }

  strokeRect(x, y, width, height) {
    this.parts.push(`<rect x="${formatNumber(x)}" y="${formatNumber(y)}" width="${formatNumber(width)}" height="${formatNumber(height)}" fill="none"${this.strokeAttributes()}/>`);
  }

  clearRect() {} // a recording starts empty

  measureText(text) {
    this.textMeasurer.font = this.font;
    return this.textMeasurer.measureText(text);
  }

  fillText(text, x, y) {
    const [, weight = "400", size, family] = /^(?:(\d+) )?([\d.]+)px (.*)$/.exec(this.font);
    const anchor = { right: "end", center: "middle" }[this.textAlign] ?? "start";
    // the baseline is about a third of the font size below the middle; not every SVG viewer supports dominant-baseline
    this.parts.push(`<text x="${formatNumber(x)}" y="${formatNumber(y + Number(size) * 0.35)}" font-size="${formatNumber(Number(size))}" font-weight="${weight}" font-family="${escapeXml(family)}" text-anchor="${anchor}" xml:space="preserve"${this.fillAttributes()}>${escapeXml(text)}<\/text>`);
  }

  /**
   * Draw a canvas with one pixel per cell: as rectangles if there are few, else as an embedded image without smoothing. The
   * arguments are those of `drawImage` of a canvas context.
   */
  drawImage(whole, ...box) {
    const image = box.length > 4 ? crop(whole, ...box.splice(0, 4)) : whole;
    const [x, y, width, height] = box;
    const [columnCount, rowCount] = [image.width, image.height];
    if (this.cells + columnCount * rowCount > MAX_CELLS) {
      this.parts.push(`<image x="${formatNumber(x)}" y="${formatNumber(y)}" width="${formatNumber(width)}" height="${formatNumber(height)}" preserveAspectRatio="none" style="image-rendering:pixelated" href="${image.toDataURL()}" opacity="${formatNumber(this.globalAlpha)}"/>`);
      return;
    }
    this.cells += columnCount * rowCount;
    const { data } = image.getContext("2d").getImageData(0, 0, columnCount, rowCount);
    const [cw, ch] = [width / columnCount, height / rowCount];
    this.parts.push(`<g shape-rendering="crispEdges" opacity="${formatNumber(this.globalAlpha)}">`);
    for (let r = 0; r < rowCount; r++) {
      for (let c = 0; c < columnCount; c++) {
        const at = (r * columnCount + c) * 4;
        this.parts.push(`<rect x="${formatNumber(x + c * cw)}" y="${formatNumber(y + r * ch)}" width="${formatNumber(cw)}" height="${formatNumber(ch)}" fill="${hex(data.subarray(at, at + 3))}"/>`);
      }
    }
    this.parts.push("<\/g>");
  }

  fillAttributes() {
    const [colour, alpha] = splitColour(this.fillStyle);
    return ` fill="${colour}"${opacity("fill", alpha * this.globalAlpha)}`;
  }

  strokeAttributes() {
    const [colour, alpha] = splitColour(this.strokeStyle);
    return ` stroke="${colour}" stroke-width="${formatNumber(this.lineWidth)}"${opacity("stroke", alpha * this.globalAlpha)}${this.dash}`;
  }

  /** The SVG as text. */
  text() {
    return `<svg xmlns="http://www.w3.org/2000/svg" width="${formatNumber(this.width)}" height="${formatNumber(this.height)}" viewBox="0 0 ${formatNumber(this.width)} ${formatNumber(this.height)}">`
      + `<defs>${this.defs.join("")}<\/defs><rect width="100%" height="100%" fill="${splitColour(this.ground)[0]}"/>${this.parts.join("")}<\/svg>`;
  }
}

function crop(image, x, y, width, height) {
  const part = document.createElement("canvas");
  Object.assign(part, { width, height });
  part.getContext("2d").drawImage(image, x, y, width, height, 0, 0, width, height);
  return part;
}

function formatNumber(value) {
  return String(Math.round(value * 100) / 100);
}

function opacity(kind, alpha) {
  return alpha < 0.999 ? ` ${kind}-opacity="${Math.round(alpha * 1000) / 1000}"` : "";
}

/** Split a colour into its hexadecimal form and its opacity, because not every SVG viewer supports rgba: "rgba(1, 2, 3, 0.4)" -> ["#010203", 0.4]. */
function splitColour(colour) {
  const channels = /^rgba?\(([^)]*)\)$/.exec(colour);
  if (!channels) return [colour, 1];
  const [r, g, b, alpha = 1] = channels[1].split(/[\s,/]+/).map(Number);
  return [hex([r, g, b]), alpha];
}

function hex(channels) {
  return `#${Array.from(channels, (value) => value.toString(16).padStart(2, "0")).join("")}`;
}

function escapeXml(text) {
  return text.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "\ufffd").toWellFormed().replace(/[&<>"]/g, (letter) => `&#${letter.charCodeAt(0)};`);
}
