// The neuron view: one head for one query token: q, k, q x k, their dot product and the softmax, for every key token.
// Makes no network requests. Shapes: T tokens, D head size.
import { digits, drawText, paper, press, readTheme, scroller, watch } from "./canvas.js";
import { element, handle } from "./dom.js";
import { inflate, received } from "./payload.js";
import { literal, saveMenu } from "./save.js";
import { Recorder } from "./svg.js";
import { words } from "./words.js";

const WIDE = 720;

class NeuronView {
  constructor(root, emit) {
    this.root = element("section", { class: "bl-view bl-neuron" });
    this.emit = emit;
    this.state = { token: null };
    this.generation = 0;
    this.hovered = null;
    root.append(this.root);
    this.unwatch = watch(this.root, (what) => {
      if (!this.data) return;
      if (what === "theme") this.theme = null;
      this.refresh();
    });
  }

  async load(payload, options) {
    const generation = ++this.generation;
    const { header, blocks, hosted, language } = received("neuron", payload, options);
    const data = { ...header, size: header.tokens.length, hideable: new Set(header.hideable) };
    if (this.data?.id !== header.id) {
      for (const block of blocks) data[block.name] = new Float32Array((await inflate(block.packed)).buffer);
      if (generation !== this.generation) return;
      this.data = data;
      this.hovered = null;
    }
    this.code = hosted.code ?? null;
    this.subject = hosted.subject;
    const query = hosted.state?.token;
    const text = JSON.stringify(hosted.state ?? null);
    if (text !== this.hosted && Number.isInteger(query) && query !== this.lastReported) this.state.token = query;
    this.hosted = text;
    const first = header.tokens.findIndex((_, i) => !data.hideable.has(i));
    if (!Number.isInteger(this.state.token) || this.state.token < 0 || this.state.token >= data.size) this.state.token = Math.max(0, first);
    if (language !== this.language || !this.surface) {
      this.language = language;
      this.words = words(hosted);
      this.build();
    }
    this.fillPicker();
    this.refresh();
  }

  build() {
    const { words: text } = this;
    this.surface?.destroy();
    const step = (by, sign, label) => element("button", { type: "button", class: "bl-step", "aria-label": label, title: label, onclick: () => this.ask(this.state.token + by) }, sign);
    this.down = step(-1, "‹", text.previousToken);
    this.up = step(1, "›", text.nextToken);
    this.picker = element("select", { "aria-label": text.query, onchange: () => this.ask(Number(this.picker.value)) });
    this.place = element("span", { class: "bl-name" });
    this.bar = element("div", { class: "bl-bar" },
      element("span", { class: "bl-group" }, element("span", { class: "bl-name" }, text.query), this.down, this.picker, this.up), this.place,
      saveMenu(text, { name: "head", code: this.code && (() => this.code.replace("STATE", () => literal(this.state))), svg: () => this.svg(), data: () => this.columnsOfData(), subject: this.subject }));
    Object.assign(this, scroller(text.query, () => this.draw(), {
      pointermove: (event) => this.hover(this.spot(event)),
      pointerleave: () => this.hover(null),
      click: (event) => { const at = this.spot(event); if (at?.row >= 0 && at.part === "query") this.ask(at.row); },
      keydown: (event) => press(event, { ArrowUp: () => this.ask(this.state.token - 1), ArrowDown: () => this.ask(this.state.token + 1) }),
    }));
    this.readout = element("div", { role: "status" });
    this.root.replaceChildren(this.bar, this.scroll, element("div", { class: "bl-status" }, this.readout));
  }

  fillPicker() {
    const { data, words: text } = this;
    if (this.pickerFor !== data.id || !this.picker.options.length) {
      this.pickerFor = data.id;
      this.picker.replaceChildren(...data.tokens.map((token, i) => element("option", { value: i }, `${i}  ${token.slice(0, 24)}`)));
    }
    const layer = text.layerNumber.replace("{}", data.layer), head = text.headNumber.replace("{}", data.head);
    this.place.textContent = `${layer} · ${head} · D = ${data.dimensions}`;
  }

  ask(token) {
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
    this.down.disabled = this.state.token === 0;
    this.up.disabled = this.state.token === data.size - 1;
    const font = this.theme.size;
    this.step = Math.round(font * 1.8);
    this.top = Math.round(font * 4.6);
    const full = this.full = this.top + data.size * this.step + 8;
    const most = Math.max(260, Math.min(720, innerHeight * 0.82));
    // if there are more rows, half of the next one is visible
    const height = full <= most ? full : Math.round(this.top + (Math.floor((most - this.top) / this.step) - 0.5) * this.step);
    this.spacer.style.height = `${full}px`;
    this.scroll.style.height = `${height}px`;
    this.surface.resize(width, height);
    this.height = height;
    this.columns(this.scroll.clientWidth || width);
    const limit = (values) => values.reduce((most, value) => Math.max(most, Math.abs(value)), 1e-6);
    this.limits ??= new Map();
    if (this.limits.get("id") !== data.id) this.limits = new Map([["id", data.id], ["q", limit(data.query)], ["k", limit(data.key)]]);
    let product = 1e-6;
    for (let row = 0; row < data.size; row++) {
      for (let d = 0; d < data.dimensions; d++) product = Math.max(product, Math.abs(this.product(row, d)));
    }
    this.limits.set("p", product);
    this.limits.set("s", limit(data.scores.subarray(this.state.token * data.size, (this.state.token + 1) * data.size)));
    this.surface.draw();
    this.tell();
  }

  /** The left edges and widths of the columns at this width. */
  columns(width) {
    const wide = width >= WIDE;
    const token = wide ? Math.min(130, width * 0.11) : Math.min(74, width * 0.19);
    const gap = wide ? 16 : 8;
    const score = wide ? 96 : 48;
    const soft = wide ? 130 : 58;
    const parts = wide ? ["query", "links", "key", "k", "product", "dot", "softmax"] : ["key", "k", "product", "dot", "softmax"];
    const fixed = { query: token, links: Math.min(110, width * 0.09), key: token, dot: score, softmax: soft };
    const used = parts.reduce((sum, part) => sum + (fixed[part] ?? 0), 0) + gap * (parts.length - 1) + 4;
    const strip = Math.max(40, (width - used) / 2);
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

  strip(context, part, y, high, value, limit) {
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
    Object.assign(this, { theme: paper(theme), height: this.full, scrolled: 0 });
    const recorder = new Recorder(this.surface.width, this.full, this.theme.ground);
    this.paintOn(recorder);
    Object.assign(this, { theme, height });
    return recorder.text();
  }

  /** A row for every key token: its score with the query token, and its softmax probability. */
  columnsOfData() {
    const { data, state } = this;
    const part = (values) => Array.from(values.subarray(state.token * data.size, (state.token + 1) * data.size), (value) => Number(value.toPrecision(6)));
    return { query: data.tokens.map(() => data.tokens[state.token]), position: [...data.tokens.keys()], key: data.tokens, score: part(data.scores), probability: part(data.probs) };
  }

  paintOn(context) {
    const { data, theme, state, parts, words: text } = this;
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
      this.strip(context, "k", y, high, (d) => data.key[row * data.dimensions + d], this.limits.get("k"));
      this.strip(context, "product", y, high, (d) => this.product(row, d), this.limits.get("p"));
      this.dot(context, y, high, data.scores[query * data.size + row]);
      this.soft(context, y, high, data.probs[query * data.size + row]);
    }
    context.restore();
    this.heading(context, size, high, text);
  }

  heading(context, size, high, text) {
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
    this.strip(context, "product", y, high, (d) => data.query[state.token * data.dimensions + d], this.limits.get("q"));
    context.strokeStyle = theme.hair;
    context.beginPath();
    context.moveTo(0, this.top - 4.5);
    context.lineTo(this.surface.width, this.top - 4.5);
    context.stroke();
  }

  dot(context, y, high, score) {
    const { theme, parts } = this;
    const { x, width } = parts.dot;
    const number = width < 60 ? width : 46;
    const half = (width - number) / 2;
    if (half > 6) {
      const long = (score / this.limits.get("s")) * half;
      context.fillStyle = theme.css(score >= 0 ? theme.positive : theme.negative, 0.9);
      context.fillRect(Math.min(x + half, x + half + long), y - high / 2, Math.abs(long), high);
      context.fillStyle = theme.faint;
      context.fillRect(x + half - 0.5, y - high / 2 - 2, 1, high + 4);
    }
    context.fillStyle = theme.ink;
    context.textAlign = "right";
    context.font = `${theme.size * 0.86}px ${theme.family}`;
    context.fillText(score.toFixed(2), x + width, y);
  }

  soft(context, y, high, probability) {
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
    context.fillText(digits(probability), x + width, y);
    context.globalAlpha = 1;
  }

  spot(event) {
    const box = this.surface.canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    const row = y < this.top ? -1 : Math.floor((y + this.scroll.scrollTop - this.top) / this.step);
    if (row >= this.data.size) return null;
    const part = Object.keys(this.parts).find((name) => x >= this.parts[name].x - 4 && x <= this.parts[name].x + this.parts[name].width + 4);
    const inside = part === "k" || part === "product";
    const d = inside ? Math.min(this.data.dimensions - 1, Math.max(0, Math.floor(((x - this.parts[part].x) / this.parts[part].width) * this.data.dimensions))) : -1;
    return { row, part, d };
  }

  hover(at) {
    if (at?.row === this.hovered?.row && at?.part === this.hovered?.part && at?.d === this.hovered?.d) return;
    this.hovered = at;
    this.surface.canvas.style.cursor = at?.part === "query" && at.row >= 0 ? "pointer" : "default";
    this.surface.draw();
    this.tell();
  }

  tell() {
    const { data, state, hovered, words: text } = this;
    if (!hovered || hovered.row < 0) return this.readout.replaceChildren(text.neuronHint);
    const bold = (word) => element("strong", {}, element("bdi", {}, word));
    const pair = [bold(data.tokens[state.token]), " → ", bold(data.tokens[hovered.row])];
    if (hovered.d >= 0) {
      const q = data.query[state.token * data.dimensions + hovered.d];
      const k = data.key[hovered.row * data.dimensions + hovered.d];
      this.readout.replaceChildren(...pair, `  ${text.dimension} ${hovered.d}:  q ${q.toFixed(3)} × k ${k.toFixed(3)} = `, bold((q * k).toFixed(3)));
    } else {
      const at = state.token * data.size + hovered.row;
      this.readout.replaceChildren(...pair, `  ${text.dot} = `, bold(data.scores[at].toFixed(3)), `   ${text.softmax} `, bold(digits(data.probs[at])));
    }
  }

  fail() {
    this.data = null;
    this.root.replaceChildren(element("p", { class: "bl-message", role: "alert" }, (this.words ?? words({})).broken));
    this.surface = null;
  }

  destroy() {
    clearTimeout(this.timer);
    this.generation++;
    this.unwatch();
    this.surface?.destroy();
    this.root.remove();
  }
}

/** Mount the neuron view in root; emit({token}) is called with the query token. Returns the same handle as the attention view. */
export function render(root, payload, emit = null, options = {}) {
  return handle(new NeuronView(root, emit), payload, options);
}
