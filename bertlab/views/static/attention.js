// The attention view: lines between tokens, all heads as thumbnails, or one head as a heat map.
// Holds the state and the controls and draws one of the three pictures from a payload. Every change of the state is reported
// through emit, and options can set it. Makes no network requests.
import { mix, paper, palette, readTheme, watch } from "./canvas.js";
import { FILTERS, TokenData, Words } from "./data.js";
import { element, handle } from "./dom.js";
import { Grid } from "./grid.js";
import { Lines } from "./lines.js";
import { Matrix } from "./matrix.js";
import { PALETTE } from "./palette.js";
import { received } from "./payload.js";
import { literal, saveMenu } from "./save.js";
import { History, START, VIEWS, ZOOMS, digest, sensible } from "./state.js";
import { words } from "./words.js";

const EMIT_AFTER = 150; // ms without a further change before the state is reported to the host
const FETCH_AFTER = 40; // ms, if the picture needs data from the host

/** The state, the controls and the current picture. */
class AttentionView {
  constructor(root, emit) {
    this.root = element("section", { class: "bl-view bl-attention" });
    this.emit = emit;
    this.state = { ...START };
    this.history = new History();
    this.reported = new Set();
    this.emitTimer = 0;
    this.generation = 0;
    root.append(this.root);
    this.root.addEventListener("keydown", (event) => this.shortcut(event));
    this.unwatch = watch(this.root, (what) => {
      if (!this.data) return;
      if (what === "theme") this.theme = null;
      this.refresh();
    });
  }

  /** Read a payload: the first one, the same one again, more layers of the same input, or another input. */
  async load(payload, options) {
    const generation = ++this.generation;
    const { header, blocks, hosted, language } = received("attention", payload, options);
    const rebuilt = language !== this.language;
    this.language = language;
    this.words = words(hosted);
    const fresh = this.tokenData?.id !== header.id;
    if (fresh) [this.tokenData, this.merged] = [new TokenData(header, blocks), null];
    else this.tokenData.add(blocks);
    this.code = hosted.code ?? null;
    this.subject = hosted.subject;
    this.obey(hosted.state);
    this.check();
    if (fresh && !this.tokenData.has(this.state.layer, this.needed)) {
      // the first picture shows what was sent; later the user's choice is kept and the host is asked for the data
      const came = blocks.find((block) => block.kind !== "thumbs");
      if (this.mounted) this.report();
      else Object.assign(this.state, { layer: came.layer, head: came.head ?? this.state.head });
    }
    this.mounted = true;
    if (!this.bar || rebuilt || this.barFor !== this.shape) this.build();
    await this.settle(generation);
  }

  /** Apply the host's state, unless it repeats a state that this view reported: that would undo later changes. */
  obey(state) {
    if (!state) return;
    const text = JSON.stringify(state);
    if (text === this.hosted || this.reported.has(digest({ ...START, ...state }))) return;
    this.hosted = text;
    for (const name of Object.keys(START)) if (name in state) this.state[name] = state[name];
  }

  /** Restrict the state to the layers, heads and tokens of this payload. */
  check() {
    this.state = sensible(this.state, this.tokenData);
    if (this.state.merge && !this.tokenData.words) this.state.merge = false;
    if (this.state.merge) this.merged ??= new Words(this.tokenData);
    this.data = this.state.merge ? this.merged : this.tokenData;
  }

  /** Draw, unless a new input has no layout yet; `refresh` then draws it. */
  steady(draw) {
    return () => {
      if (this.placed === this.data) draw();
    };
  }

  get shape() {
    const { layers, heads, segments } = this.tokenData;
    return `${layers}.${heads}.${segments.includes(1)}.${Boolean(this.tokenData.words)}`;
  }

  /** The name of the picture that is shown. */
  get look() {
    return this.state.view === "auto" ? (this.tokenData.thumbs ? "grid" : "lines") : this.state.view;
  }

  get shown() {
    return this.state.heads ?? Array.from({ length: this.tokenData.heads }, (_, head) => head);
  }

  /** The heads that the picture shows in full. */
  get needed() {
    return this.look === "lines" ? this.shown : [this.state.head];
  }

  /** The positions of the pinned tokens among those shown. */
  get held() {
    return [...new Set(this.state.tokens.map((token) => this.data.at(token)))];
  }

  hold(positions, side) {
    this.set({ tokens: positions.map((position) => this.data.token(position)), side });
  }

  place({ layer, head }) {
    return `${this.words.layerNumber.replace("{}", layer)} · ${this.words.headNumber.replace("{}", head)}`;
  }

  set(change) {
    const before = { ...this.state };
    this.state = { ...this.state, ...change };
    this.check();
    if (digest(before) !== digest(this.state)) this.history.note(before, change);
    this.changed();
  }

  changed() {
    this.settle(this.generation);
    clearTimeout(this.emitTimer);
    this.emitTimer = setTimeout(() => this.report(), this.tokenData.has(this.state.layer, this.needed) ? EMIT_AFTER : FETCH_AFTER);
  }

  /** Undo or redo. */
  turn(way) {
    const state = this.history[way](this.state);
    if (!state) return;
    this.state = state;
    this.check();
    this.changed();
  }

  shortcut(event) {
    const key = event.key.toLowerCase();
    if ((event.ctrlKey || event.metaKey) && (key === "z" || key === "y")) {
      const way = key === "y" || event.shiftKey ? "forth" : "back";
      if (!this.history[way === "back" ? "past" : "future"].length) return; // leave the key to the host, which may have its own undo
      event.preventDefault();
      event.stopPropagation();
      this.turn(way);
    } else if ((event.key === "+" || event.key === "-") && !event.ctrlKey && !event.metaKey && event.target !== this.search) {
      event.preventDefault();
      this.stepZoom(event.key === "+" ? 1 : -1);
    }
  }

  stepZoom(by) {
    this.set({ zoom: ZOOMS[Math.min(Math.max(ZOOMS.indexOf(this.state.zoom) + by, 0), ZOOMS.length - 1)] });
  }

  /** Go to the next or the previous search result. */
  seek(by) {
    const matches = this.matches;
    if (!matches.length) return;
    this.match = (this.match + by + matches.length) % matches.length;
    this.pane.reveal?.(matches[this.match]);
    this.showFound();
  }

  report() {
    clearTimeout(this.emitTimer);
    this.reported.add(digest(this.state));
    this.emit?.({ ...this.state, tokens: [...this.state.tokens], heads: this.state.heads && [...this.state.heads] });
  }

  stepLayer(by) {
    this.set({ layer: this.state.layer + by });
  }

  /** Prepare the data of the picture, then draw; without waiting if it is there already. */
  async settle(generation) {
    const { tokenData, state } = this;
    const ready = () => tokenData.ready(state.layer, this.needed);
    if (!ready()) {
      await tokenData.open(state.layer, this.needed);
      if (generation !== this.generation) return;
    }
    if (this.look === "grid" || !ready()) await tokenData.openThumbs();
    if (generation !== this.generation) return;
    this.refresh();
    if (this.look === "grid" && tokenData.small) {
      await Promise.all(Array.from({ length: tokenData.layers }, (_, layer) => tokenData.open(layer, this.every)));
      if (generation === this.generation && this.look === "grid") this.refresh();
    }
  }

  get every() {
    return Array.from({ length: this.tokenData.heads }, (_, head) => head);
  }

  message() {
    const { data, state } = this;
    if (!this.places.rows.length || !this.places.cols.length) return this.words.empty;
    return data.ready(state.layer, this.needed) ? "" : `${this.words.fetching} ${state.layer} …`;
  }

  refresh() {
    if (!this.root.isConnected || !this.bar) return;
    const { data, state } = this;
    this.theme ??= readTheme(this.root);
    this.narrow = this.root.clientWidth < 560;
    this.colours = palette(data.heads, this.theme.dark);
    this.places = data.positions(state);
    this.placed = data;
    this.matches = data.find(state.find).filter((position) => !(state.hide && data.hideable.has(position)));
    this.matching = new Set(this.matches);
    if (this.foundFor !== `${data.id}.${state.find}`) this.match = -1;
    this.foundFor = `${data.id}.${state.find}`;
    const look = JSON.stringify([data.id, state.filter, state.hide, state.renorm]);
    if (look !== this.pooledFor) data.pooled.clear();
    this.pooledFor = look;
    if (this.pane?.kind !== this.look) {
      const focused = this.pane?.pane.contains(this.root.getRootNode().activeElement);
      this.pane?.destroy();
      this.pane = new { lines: Lines, grid: Grid, matrix: Matrix }[this.look](this);
      this.pane.kind = this.look;
      this.stage.append(this.pane.pane);
      // after a change of picture by keyboard, the focus moves to the new picture
      if (focused) this.stage.querySelector("canvas[tabindex]")?.focus({ preventScroll: true });
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
    this.barFor = this.shape;
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
      const input = element("input", { type: "checkbox", name, onchange: () => this.set({ [name]: input.checked }) });
      return { input, label: element("label", { class: "bl-check", title: tip }, input, text[{ renorm: "renormalise", merge: "merged" }[name] ?? name]) };
    };
    this.hide = check("hide", text.hideTip);
    this.renorm = check("renorm", text.renormaliseTip);
    this.fit = check("fit", text.fitTip);
    this.merge = check("merge", text.mergeTip);
    this.merge.label.style.display = this.tokenData.words ? "" : "none";
    this.headButtons = Array.from({ length: data.heads }, (_, head) => button(String(head), {
      class: "bl-head", "data-head": head, tabindex: head ? -1 : 0, "aria-label": text.headNumber.replace("{}", head),
      onclick: () => this.clickHead(head), ondblclick: () => this.solo(head),
    }));
    this.heads = element("div", { class: "bl-heads", role: "group", "aria-label": text.heads, onkeydown: (event) => {
      const now = this.headButtons.indexOf(event.target);
      const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (now < 0) return;
      if (event.key.toLowerCase() === "s" && !event.ctrlKey && !event.metaKey) this.solo(now);
      if (!by) return;
      event.preventDefault();
      const next = (now + by + data.heads) % data.heads;
      this.headButtons.forEach((node, head) => { node.tabIndex = head === next ? 0 : -1; });
      this.headButtons[next].focus();
    } }, element("span", { class: "bl-name" }, text.heads), ...this.headButtons);
    this.all = button(text.all, { class: "bl-quiet", onclick: () => this.set({ heads: null }) });
    this.heads.append(this.all);
    this.bar = element("div", { class: "bl-bar", role: "toolbar", "aria-label": text.view },
      element("div", { class: "bl-segmented", role: "group", "aria-label": text.view }, ...this.viewButtons),
      stepper, this.filterGroup, this.hide.label, this.renorm.label, this.merge.label, this.fit.label);
    this.headBar = element("div", { class: "bl-bar" }, this.heads);
    this.tools = this.buildTools(button);
    this.stage = element("div", { class: "bl-stage" });
    this.readout = element("div", { class: "bl-readout", role: "status" });
    this.legend = element("div", { class: "bl-legend" });
    this.root.replaceChildren(this.bar, this.headBar, this.tools, this.stage, element("div", { class: "bl-status" }, this.readout, this.legend));
  }

  /** Search, zoom, undo and save. */
  buildTools(button) {
    const { words: text } = this;
    this.search = element("input", { type: "search", class: "bl-search", placeholder: text.find, "aria-label": text.find, title: text.findTip,
      oninput: () => this.set({ find: this.search.value }),
      onkeydown: (event) => {
        if (event.key === "Enter") this.seek(event.shiftKey ? -1 : 1);
        else if (event.key === "Escape") this.set({ find: "" });
      } });
    this.foundCount = element("span", { class: "bl-name bl-count", "aria-live": "polite" });
    this.holdFound = button(text.holdFound, { class: "bl-quiet", title: text.holdFoundTip, onclick: () => this.hold(this.matches, this.state.side) });
    const step = (sign, label, onclick) => button(sign, { class: "bl-tool", "aria-label": label, title: label, onclick });
    this.zoomOut = step("−", text.zoomOut, () => this.stepZoom(-1));
    this.zoomIn = step("+", text.zoomIn, () => this.stepZoom(1));
    this.zoomValue = element("span", { class: "bl-zoom" });
    this.undo = step("↶", text.undo, () => this.turn("back"));
    this.redo = step("↷", text.redo, () => this.turn("forth"));
    const save = saveMenu(text, { name: "attention", code: this.code && (() => this.python()), svg: () => this.svg(), data: () => this.columns(), subject: this.subject });
    return element("div", { class: "bl-bar bl-tools" },
      element("span", { class: "bl-group" }, this.search, this.foundCount, this.holdFound),
      element("span", { class: "bl-group", role: "group", "aria-label": text.zoom }, this.zoomOut, this.zoomValue, this.zoomIn),
      element("span", { class: "bl-group" }, this.undo, this.redo), save);
  }

  showFound() {
    const { length } = this.matches;
    this.foundCount.textContent = this.state.find.trim() ? `${length ? this.match + 1 : 0} / ${length}` : "";
    this.holdFound.disabled = !length;
  }

  /** The picture as SVG, in the colours of the light theme. */
  svg() {
    const [theme, colours] = [this.theme, this.colours];
    Object.assign(this, { theme: paper(theme), colours: palette(this.data.heads, false) });
    try {
      return this.pane.svg();
    } finally {
      Object.assign(this, { theme, colours });
      this.refresh();
    }
  }

  /** The data of the picture: a row for every head and pair of tokens shown; with pinned tokens, only theirs. */
  columns() {
    const { data, state, places } = this;
    const heads = this.needed.filter((head) => data.head(state.layer, head));
    const held = new Set(this.held);
    const chosen = (list, side) => (held.size && state.side === side ? list.filter((position) => held.has(position)) : list);
    const [rows, cols] = [chosen(places.rows, "query"), chosen(places.cols, "key")];
    const columns = { layer: [], head: [], query_position: [], query: [], key_position: [], key: [], probability: [] };
    for (const head of heads) {
      const probs = data.head(state.layer, head);
      const factors = data.factors(probs, places, state.renorm);
      for (const row of rows) {
        for (const col of cols) {
          const probability = Number((probs[row * data.size + col] * factors[row]).toPrecision(5));
          const values = [state.layer, head, row, data.tokens[row], col, data.tokens[col], probability];
          Object.values(columns).forEach((list, i) => list.push(values[i]));
        }
      }
    }
    return columns;
  }

  /** The host's Python lines, with the current state in place of STATE. */
  python() {
    return this.code.replace("STATE", () => literal(this.state));
  }

  clickHead(head) {
    if (this.look !== "lines") return this.set({ head });
    const on = new Set(this.shown);
    if (on.has(head) && on.size > 1) on.delete(head);
    else on.add(head);
    this.set({ heads: [...on] });
  }

  solo(head) {
    if (this.look !== "lines") return;
    this.set(this.state.heads?.length === 1 && this.state.heads[0] === head ? { heads: null } : { heads: [head], head });
  }

  showControls() {
    const { state, data, theme, words: text } = this;
    const lines = this.look === "lines";
    for (const node of this.viewButtons) node.setAttribute("aria-pressed", String(node.dataset.view === this.look));
    this.layerValue.replaceChildren(String(state.layer), element("small", {}, ` / ${data.layers - 1}`));
    this.down.disabled = state.layer === 0;
    this.up.disabled = state.layer === data.layers - 1;
    this.filter.value = state.filter;
    this.filterGroup.hidden = !data.segments.includes(1);
    this.filterGroup.style.display = this.filterGroup.hidden ? "none" : "";
    for (const name of ["hide", "renorm", "fit", "merge"]) this[name].input.checked = state[name];
    if (this.search.value !== state.find) this.search.value = state.find;
    this.undo.disabled = !this.history.past.length;
    this.redo.disabled = !this.history.future.length;
    this.zoomValue.textContent = `${state.zoom}%`;
    this.zoomOut.disabled = state.zoom === ZOOMS[0];
    this.zoomIn.disabled = state.zoom === ZOOMS.at(-1);
    this.showFound();
    this.renorm.input.disabled = this.places.cols.length === data.size;
    this.fit.label.style.display = this.overflows ? "" : "none";
    const on = new Set(lines ? this.shown : [state.head]);
    this.headButtons.forEach((node, head) => {
      node.style.setProperty("--head", this.colours[head]);
      node.style.setProperty("--on-head", readable(this.colours[head]));
      node.setAttribute("aria-pressed", String(on.has(head)));
      node.title = lines ? text.headTip : text.squareTip;
    });
    this.headBar.style.display = this.look === "grid" ? "none" : "";
    this.all.style.display = lines ? "" : "none";
    this.all.disabled = !state.heads;
    this.legend.replaceChildren(...this.legendParts(this.look));
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

  /** The line below the picture: how much the token attends to which others, or a hint at what can be done. */
  say(subject, verb = "", pairs = [], place = "") {
    const { words: text } = this;
    if (!subject) {
      this.readout.replaceChildren({ lines: text.hint, grid: text.gridHint, matrix: text.matrixHint }[this.look]);
      return;
    }
    const parts = [element("strong", {}, element("bdi", {}, subject))];
    if (verb) parts.push(` ${verb} `);
    pairs.forEach(([token, value], i) => parts.push(i ? " · " : "", element("bdi", {}, token), " ", element("strong", {}, value)));
    if (place) parts.push(` (${place})`);
    this.readout.replaceChildren(...parts);
  }

  fail() {
    this.bar = this.data = this.tokenData = null;
    this.root.replaceChildren(element("p", { class: "bl-message", role: "alert" }, (this.words ?? words({})).broken));
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
  return 0.299 * r + 0.587 * g + 0.114 * b > 115 ? PALETTE.themes.dark.ground : PALETTE.themes.light.ground;
}

/**
 * Mount the attention view in root. emit(state) is called after every change; options {state, lang, labels} replace those in the payload.
 * Returns {update(payload, options), destroy(), ready, state()}; ready resolves when the first picture is drawn.
 */
export function render(root, payload, emit = null, options = {}) {
  return handle(new AttentionView(root, emit), payload, options);
}
