// The neuron view of one head: q, k, q x k, their dot product and its softmax, for one query token and every key token.
// This module makes no network requests. Shapes: T tokens, D head size.
import { createScroller, drawText, formatProbability, lightTheme, observe, readTheme, runKeyAction } from "./canvas.js";
import { element, mountView } from "./dom.js";
import { inflate, readPayload } from "./payload.js";
import { pythonLiteral, saveMenu } from "./save.js";
import { Recorder } from "./svg.js";
import { viewTexts } from "./texts.js";

const MIN_WIDE = 720; // pixels; with less width, columns are narrower and some are left out

class NeuronView {
  constructor(root, emit) {
    this.root = element("section", { class: "bl-view bl-neuron" });
    this.emit = emit;
    this.state = { token: null };
    this.generation = 0; // counts the calls of load, so that an older call can stop
    this.hovered = null;
    root.append(this.root);
    this.stopObserving = observe(this, () => this.refresh());
  }

  async load(payload, options) {
    const generation = ++this.generation;
    const { header, blocks, hostOptions, language } = readPayload("neuron", payload, options);
    const data = { ...header, size: header.tokens.length, hideable: new Set(header.hideable) };
    if (this.data?.id !== header.id) {
      for (const block of blocks) data[block.name] = new Float32Array((await inflate(block.packed)).buffer);
      if (generation !== this.generation) return;
      this.data = data;
      this.hovered = null;
    }
    this.code = hostOptions.code ?? null;
    this.subject = hostOptions.subject;
    const query = hostOptions.state?.token;
    const text = JSON.stringify(hostOptions.state ?? null);
    if (text !== this.lastHostState && Number.isInteger(query) && query !== this.lastReported) this.state.token = query;
    this.lastHostState = text;
    const first = header.tokens.findIndex((_, i) => !data.hideable.has(i));
    if (!Number.isInteger(this.state.token) || this.state.token < 0 || this.state.token >= data.size) this.state.token = Math.max(0, first);
    if (language !== this.language || !this.surface) {
      this.language = language;
      this.texts = viewTexts(hostOptions);
      this.build();
    }
    this.fillPicker();
    this.refresh();
  }

  build() {
    const { texts: text } = this;
    this.surface?.destroy();
    const makeStepButton = (by, sign, label) => element("button", { type: "button", class: "bl-step", "aria-label": label, title: label, onclick: () => this.setToken(this.state.token + by) }, sign);
    this.previousButton = makeStepButton(-1, "‹", text.previousToken);
    this.nextButton = makeStepButton(1, "›", text.nextToken);
    this.picker = element("select", { "aria-label": text.query, onchange: () => this.setToken(Number(this.picker.value)) });
    this.place = element("span", { class: "bl-name" });
    this.bar = element("div", { class: "bl-bar" },
      element("span", { class: "bl-group" }, element("span", { class: "bl-name" }, text.query), this.previousButton, this.picker, this.nextButton), this.place,
      saveMenu(text, { name: "head", code: this.code && (() => this.code.replace("STATE", () => pythonLiteral(this.state))), svg: () => this.svg(), data: () => this.dataColumns(), subject: this.subject }));
    Object.assign(this, createScroller(text.query, () => this.draw(), {
      pointermove: (event) => this.setHovered(this.findCell(event)),
      pointerleave: () => this.setHovered(null),
      click: (event) => { const at = this.findCell(event); if (at?.row >= 0 && at.part === "query") this.setToken(at.row); },
      keydown: (event) => runKeyAction(event, { ArrowUp: () => this.setToken(this.state.token - 1), ArrowDown: () => this.setToken(this.state.token + 1) }),
    }));
    this.readout = element("div", { role: "status" });
    this.root.replaceChildren(this.bar, this.scroll, element("div", { class: "bl-status" }, this.readout));
  }

  fillPicker() {
    const { data, texts: text } = this;
    if (this.pickerFor !== data.id || !this.picker.options.length) {
      this.pickerFor = data.id;
      this.picker.replaceChildren(...data.tokens.map((token, i) => element("option", { value: i }, `${i}  ${token.slice(0, 24)}`)));
    }
    const layer = text.layerNumber.replace("{}", data.layer), head = text.headNumber.replace("{}", data.head);
    this.place.textContent = `${layer} · ${head} · D = ${data.dimensions}`;
  }

  setToken(token) {
    const next = Math.min(Math.max(token, 0), this.data.size - 1);
    if (next === this.state.token) return;
    this.state.token = next;
    this.refresh();
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.lastReported = this.state.token;
      this.emit?.({ ...this.state });
    }, 150);
  }

  refresh() {
    if (!this.root.isConnected || !this.surface) return;
    const { data } = this;
    this.theme ??= readTheme(this.root);
    const width = this.root.clientWidth;
    if (!width) return;
    this.picker.value = String(this.state.token);
    this.previousButton.disabled = this.state.token === 0;
    this.nextButton.disabled = this.state.token === data.size - 1;
    const font = this.theme.size;
    this.step = Math.round(font * 1.8);
    this.top = Math.round(font * 4.6);
    const full = this.full = this.top + data.size * this.step + 8;
    const maxHeight = Math.max(260, Math.min(720, innerHeight * 0.82));
    // if not all rows fit, half of the next row is visible, to show that there are more
    const height = full <= maxHeight ? full : Math.round(this.top + (Math.floor((maxHeight - this.top) / this.step) - 0.5) * this.step);
    this.spacer.style.height = `${full}px`;
    this.scroll.style.height = `${height}px`;
    this.surface.resize(width, height);
    this.height = height;
    this.placeColumns(this.scroll.clientWidth || width);
    const largestMagnitude = (values) => values.reduce((max, value) => Math.max(max, Math.abs(value)), 1e-6);
    this.limits ??= new Map(); // the values with full colour, for q, k, p (q x k) and s (scores), and the id of their data
    if (this.limits.get("id") !== data.id) this.limits = new Map([["id", data.id], ["q", largestMagnitude(data.query)], ["k", largestMagnitude(data.key)]]);
    let largestProduct = 1e-6;
    for (let row = 0; row < data.size; row++) {
      for (let d = 0; d < data.dimensions; d++) largestProduct = Math.max(largestProduct, Math.abs(this.product(row, d)));
    }
    this.limits.set("p", largestProduct);
    this.limits.set("s", largestMagnitude(data.scores.subarray(this.state.token * data.size, (this.state.token + 1) * data.size)));
    this.surface.draw();
    this.updateReadout();
  }

  /** The left edges and widths of the columns at this width. */
  placeColumns(width) {
    const wide = width >= MIN_WIDE;
    const token = wide ? Math.min(130, width * 0.11) : Math.min(74, width * 0.19);
    const gap = wide ? 16 : 8;
    const score = wide ? 96 : 48;
    const softmax = wide ? 130 : 58;
    const parts = wide ? ["query", "links", "key", "k", "product", "dot", "softmax"] : ["key", "k", "product", "dot", "softmax"];
    const fixed = { query: token, links: Math.min(110, width * 0.09), key: token, dot: score, softmax };
    const usedWidth = parts.reduce((sum, part) => sum + (fixed[part] ?? 0), 0) + gap * (parts.length - 1) + 4;
    const strip = Math.max(40, (width - usedWidth) / 2);
    let x = 2;
    this.parts = {};
    for (const part of parts) {
      const size = fixed[part] ?? strip;
      this.parts[part] = { x, width: size };
      x += size + gap;
    }
  }

  product(row, d) {
    const { data, state } = this;
    return data.query[state.token * data.dimensions + d] * data.key[row * data.dimensions + d];
  }

  y(row) {
    return this.top + (row + 0.5) * this.step - this.scrolled;
  }

  /** Draw a vector as a strip of cells in a column (part). value: dimension -> number; limit: the absolute value with full colour. */
  drawStrip(context, part, y, high, value, limit) {
    const { dimensions } = this.data;
    const { x, width } = this.parts[part];
    const cell = width / dimensions;
    for (let d = 0; d < dimensions; d++) {
      const scaled = value(d) / limit;
      const tint = scaled >= 0 ? this.theme.positive : this.theme.negative;
      context.fillStyle = this.theme.css(tint, Math.min(1, Math.abs(scaled) ** 0.7));
      // positive values go up and negative ones down, so that the sign is visible without hue too
      context.fillRect(x + d * cell, scaled >= 0 ? y - high / 2 : y, Math.ceil(cell * 4) / 4, high / 2);
    }
    context.strokeStyle = this.theme.hair;
    context.strokeRect(x - 0.5, y - high / 2 - 0.5, width + 1, high + 1);
  }

  draw() {
    this.scrolled = this.scroll.scrollTop;
    this.paintOn(this.surface.begin());
  }

  /** The whole picture as SVG, in the colours of the light theme. */
  svg() {
    const [theme, height] = [this.theme, this.height];
    Object.assign(this, { theme: lightTheme(theme), height: this.full, scrolled: 0 });
    const recorder = new Recorder(this.surface.width, this.full, this.theme.ground);
    this.paintOn(recorder);
    Object.assign(this, { theme, height });
    return recorder.text();
  }

  /** A row for every key token: its score with the query token, and its softmax probability. */
  dataColumns() {
    const { data, state } = this;
    const rowOf = (values) => Array.from(values.subarray(state.token * data.size, (state.token + 1) * data.size), (value) => Number(value.toPrecision(6)));
    return { query: data.tokens.map(() => data.tokens[state.token]), position: [...data.tokens.keys()], key: data.tokens, score: rowOf(data.scores), probability: rowOf(data.probs) };
  }

  paintOn(context) {
    const { data, theme, state, parts, texts: text } = this;
    const size = theme.size * 0.93;
    context.lineWidth = 1;
    const high = this.step * 0.62;
    context.save();
    context.beginPath();
    context.rect(0, this.top, this.surface.width, this.height - this.top);
    context.clip();
    const query = state.token;
    for (let row = 0; row < data.size; row++) {
      const y = this.y(row);
      if (parts.links) {
        const probability = data.probs[query * data.size + row];
        if (probability > 0.002) {
          context.globalAlpha = Math.min(1, 0.06 + probability ** 0.6);
          context.strokeStyle = theme.accent;
          context.lineWidth = 2;
          context.beginPath();
          context.moveTo(parts.links.x - 8, this.y(query));
          context.lineTo(parts.links.x + parts.links.width + 8, y);
          context.stroke();
          context.lineWidth = 1;
        }
      }
      if (y < this.top - this.step || y > this.height + this.step) continue;
      context.globalAlpha = 1;
      if (this.hovered?.row === row) {
        context.fillStyle = theme.wash;
        context.fillRect(parts.key.x - 4, y - this.step / 2, this.surface.width, this.step);
      }
      context.font = `${size}px ${theme.family}`;
      if (parts.query) {
        if (row === query) {
          context.fillStyle = theme.accentSoft;
          context.beginPath();
          context.roundRect(parts.query.x, y - this.step / 2 + 1, parts.query.width + 6, this.step - 2, 5);
          context.fill();
        }
        context.textAlign = "right";
        context.globalAlpha = row === query || data.hideable.has(row) ? 1 : 0.7;
        context.fillStyle = data.hideable.has(row) ? theme.muted : theme.ink;
        drawText(context, data.tokens[row], parts.query.x + parts.query.width, y, parts.query.width - 4);
      }
      context.globalAlpha = 1;
      context.textAlign = "left";
      context.fillStyle = data.hideable.has(row) ? theme.muted : theme.ink;
      drawText(context, data.tokens[row], parts.key.x, y, parts.key.width);
      this.drawStrip(context, "k", y, high, (d) => data.key[row * data.dimensions + d], this.limits.get("k"));
      this.drawStrip(context, "product", y, high, (d) => this.product(row, d), this.limits.get("p"));
      this.drawScore(context, y, high, data.scores[query * data.size + row]);
      this.drawSoftmax(context, y, high, data.probs[query * data.size + row]);
    }
    context.restore();
    this.drawHeadings(context, size, high, text);
  }

  drawHeadings(context, size, high, text) {
    const { parts, theme, data, state } = this;
    context.globalAlpha = 1;
    context.fillStyle = theme.muted;
    context.font = `600 ${size * 0.88}px ${theme.family}`;
    const label = (part, word, align = "left") => {
      if (!parts[part]) return;
      context.textAlign = align;
      drawText(context, word, align === "right" ? parts[part].x + parts[part].width : parts[part].x, this.top - theme.size * 0.95, parts[part].width + 10);
    };
    label("query", text.query, "right");
    label("key", text.key);
    label("k", "k");
    label("product", text.product);
    label("dot", parts.dot.width < 60 ? "q·k/√D" : text.dot);
    label("softmax", text.softmax);
    const y = theme.size * 1.3;
    context.textAlign = "right";
    context.fillStyle = theme.ink;
    context.font = `600 ${size}px ${theme.family}`;
    drawText(context, `${data.tokens[state.token]}   q`, parts.product.x - 10, y, Math.max(60, parts.product.x - 20));
    this.drawStrip(context, "product", y, high, (d) => data.query[state.token * data.dimensions + d], this.limits.get("q"));
    context.strokeStyle = theme.hair;
    context.beginPath();
    context.moveTo(0, this.top - 4.5);
    context.lineTo(this.surface.width, this.top - 4.5);
    context.stroke();
  }

  drawScore(context, y, high, score) {
    const { theme, parts } = this;
    const { x, width } = parts.dot;
    const numberWidth = width < 60 ? width : 46;
    const half = (width - numberWidth) / 2;
    if (half > 6) {
      const length = (score / this.limits.get("s")) * half; // negative to the left
      context.fillStyle = theme.css(score >= 0 ? theme.positive : theme.negative, 0.9);
      context.fillRect(Math.min(x + half, x + half + length), y - high / 2, Math.abs(length), high);
      context.fillStyle = theme.faint;
      context.fillRect(x + half - 0.5, y - high / 2 - 2, 1, high + 4);
    }
    context.fillStyle = theme.ink;
    context.textAlign = "right";
    context.font = `${theme.size * 0.86}px ${theme.family}`;
    context.fillText(score.toFixed(2), x + width, y);
  }

  drawSoftmax(context, y, high, probability) {
    const { theme, parts } = this;
    const { x, width } = parts.softmax;
    const barWidth = width < 80 ? width : width - 44;
    context.fillStyle = theme.wash;
    context.fillRect(x, y - high / 2, barWidth, high);
    context.fillStyle = theme.accent;
    context.globalAlpha = barWidth === width ? 0.45 : 1;
    context.fillRect(x, y - high / 2, barWidth * probability, high);
    context.fillStyle = theme.ink;
    context.globalAlpha = 0.65 + 0.35 * Math.min(1, probability * 4);
    context.textAlign = "right";
    context.font = `${theme.size * 0.86}px ${theme.family}`;
    context.fillText(formatProbability(probability), x + width, y);
    context.globalAlpha = 1;
  }

  /** What is under the pointer: the row of a key token (-1 for the headings), the name of the column (part), and the dimension (d; -1 outside of a strip). */
  findCell(event) {
    const box = this.surface.canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    const row = y < this.top ? -1 : Math.floor((y + this.scroll.scrollTop - this.top) / this.step);
    if (row >= this.data.size) return null;
    const part = Object.keys(this.parts).find((name) => x >= this.parts[name].x - 4 && x <= this.parts[name].x + this.parts[name].width + 4);
    const isStrip = part === "k" || part === "product";
    const d = isStrip ? Math.min(this.data.dimensions - 1, Math.max(0, Math.floor(((x - this.parts[part].x) / this.parts[part].width) * this.data.dimensions))) : -1;
    return { row, part, d };
  }

  setHovered(at) {
    if (at?.row === this.hovered?.row && at?.part === this.hovered?.part && at?.d === this.hovered?.d) return;
    this.hovered = at;
    this.surface.canvas.style.cursor = at?.part === "query" && at.row >= 0 ? "pointer" : "default";
    this.surface.draw();
    this.updateReadout();
  }

  updateReadout() {
    const { data, state, hovered, texts: text } = this;
    if (!hovered || hovered.row < 0) return this.readout.replaceChildren(text.neuronHint);
    const bold = (word) => element("strong", {}, element("bdi", {}, word));
    const pair = [bold(data.tokens[state.token]), " → ", bold(data.tokens[hovered.row])];
    if (hovered.d >= 0) {
      const q = data.query[state.token * data.dimensions + hovered.d];
      const k = data.key[hovered.row * data.dimensions + hovered.d];
      this.readout.replaceChildren(...pair, `  ${text.dimension} ${hovered.d}:  q ${q.toFixed(3)} × k ${k.toFixed(3)} = `, bold((q * k).toFixed(3)));
    } else {
      const at = state.token * data.size + hovered.row;
      this.readout.replaceChildren(...pair, `  ${text.dot} = `, bold(data.scores[at].toFixed(3)), `   ${text.softmax} `, bold(formatProbability(data.probs[at])));
    }
  }

  showError() {
    this.data = null;
    this.root.replaceChildren(element("p", { class: "bl-message", role: "alert" }, (this.texts ?? viewTexts({})).invalidPayload));
    this.surface = null;
  }

  destroy() {
    clearTimeout(this.timer);
    this.generation++;
    this.stopObserving();
    this.surface?.destroy();
    this.root.remove();
  }
}

/** Mount the neuron view in root; emit({token}) is called with the query token. Returns the same handle as the attention view. */
export function render(root, payload, emit = null, options = {}) {
  return mountView(new NeuronView(root, emit), payload, options);
}
