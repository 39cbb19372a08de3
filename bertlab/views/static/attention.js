// The attention view: lines between tokens, all heads as thumbnails, or one head as a heat map.
// This module has the state and the controls, and draws one of the three pictures from a payload. Every change of the state
// is reported through emit, and options can set the state. It makes no network requests.
import { headColours, interpolate, lightTheme, observe, readTheme } from "./canvas.js";
import { FILTERS, TokenData, WordData } from "./data.js";
import { element, mountView } from "./dom.js";
import { Grid } from "./grid.js";
import { Lines } from "./lines.js";
import { Matrix } from "./matrix.js";
import { PALETTE } from "./palette.js";
import { readPayload } from "./payload.js";
import { pythonLiteral, saveMenu } from "./save.js";
import { History, INITIAL_STATE, VIEWS, ZOOMS, stateKey, validateState } from "./state.js";
import { viewTexts } from "./texts.js";

const EMIT_AFTER = 150; // ms without a further change before the state is reported to the host
const FETCH_AFTER = 40; // ms instead of EMIT_AFTER if the picture waits for data from the host

/** The state, the controls and the current picture. */
class AttentionView {
  constructor(root, emit) {
    this.root = element("section", { class: "bl-view bl-attention" });
    this.emit = emit;
    this.state = { ...INITIAL_STATE };
    this.history = new History();
    this.reported = new Set(); // the keys of the states that were reported to the host
    this.emitTimer = 0;
    this.generation = 0; // counts the calls of load, so that drawing for an older payload can stop
    root.append(this.root);
    this.root.addEventListener("keydown", (event) => this.handleShortcut(event));
    this.stopObserving = observe(this, () => this.refresh());
  }

  /** Read a payload: the first one, a repeated one, more layers of the same input, or another input. */
  async load(payload, options) {
    const generation = ++this.generation;
    const { header, blocks, hostOptions, language } = readPayload("attention", payload, options);
    const languageChanged = language !== this.language;
    this.language = language;
    this.texts = viewTexts(hostOptions);
    const isNewInput = this.tokenData?.id !== header.id;
    if (isNewInput) [this.tokenData, this.merged] = [new TokenData(header, blocks), null];
    else this.tokenData.add(blocks);
    this.code = hostOptions.code ?? null;
    this.subject = hostOptions.subject;
    this.applyHostState(hostOptions.state);
    this.validate();
    if (isNewInput && !this.tokenData.has(this.state.layer, this.neededHeads)) {
      // The first picture shows whatever the payload has. Later, the user's choice stays and the host must send its data.
      const block = blocks.find((part) => part.kind !== "thumbs");
      if (this.isMounted) this.report();
      else Object.assign(this.state, { layer: block.layer, head: block.head ?? this.state.head });
    }
    this.isMounted = true;
    if (!this.bar || languageChanged || this.builtShape !== this.controlShape) this.build();
    await this.loadAndDraw(generation);
  }

  /** Apply the host's state, unless it repeats a state that this view reported: that would undo later changes. */
  applyHostState(state) {
    if (!state) return;
    const text = JSON.stringify(state);
    if (text === this.lastHostState || this.reported.has(stateKey({ ...INITIAL_STATE, ...state }))) return;
    this.lastHostState = text;
    for (const name of Object.keys(INITIAL_STATE)) if (name in state) this.state[name] = state[name];
  }

  /** Restrict the state to the layers, heads and tokens of this payload. */
  validate() {
    this.state = validateState(this.state, this.tokenData);
    if (this.state.merge && !this.tokenData.words) this.state.merge = false;
    if (this.state.merge) this.merged ??= new WordData(this.tokenData);
    this.data = this.state.merge ? this.merged : this.tokenData;
  }

  /** Wrap a draw function so that it draws nothing while a new input has no layout yet; `refresh` lays it out and draws it. */
  whenLaidOut(draw) {
    return () => {
      if (this.laidOutData === this.data) draw();
    };
  }

  /** A text of everything that the number of controls depends on; when it changes, the controls are built again. */
  get controlShape() {
    const { layers, heads, segments } = this.tokenData;
    return `${layers}.${heads}.${segments.includes(1)}.${Boolean(this.tokenData.words)}`;
  }

  /** The name of the shown picture. */
  get pictureName() {
    return this.state.view === "auto" ? (this.tokenData.thumbs ? "grid" : "lines") : this.state.view;
  }

  /** The heads that the line view shows. */
  get shownHeads() {
    return this.state.heads ?? Array.from({ length: this.tokenData.heads }, (_, head) => head);
  }

  /** The heads whose full data the picture needs. */
  get neededHeads() {
    return this.pictureName === "lines" ? this.shownHeads : [this.state.head];
  }

  /** The positions of the pinned tokens, as tokens or as merged words. */
  get pinned() {
    return [...new Set(this.state.tokens.map((token) => this.data.positionOf(token)))];
  }

  pin(positions, side) {
    this.set({ tokens: positions.map((position) => this.data.tokenOf(position)), side });
  }

  headTitle({ layer, head }) {
    return `${this.texts.layerNumber.replace("{}", layer)} · ${this.texts.headNumber.replace("{}", head)}`;
  }

  set(change) {
    const before = { ...this.state };
    this.state = { ...this.state, ...change };
    this.validate();
    if (stateKey(before) !== stateKey(this.state)) this.history.record(before, change);
    this.applyState();
  }

  /** Draw the new state now, and report it to the host a little later. */
  applyState() {
    this.loadAndDraw(this.generation);
    clearTimeout(this.emitTimer);
    this.emitTimer = setTimeout(() => this.report(), this.tokenData.has(this.state.layer, this.neededHeads) ? EMIT_AFTER : FETCH_AFTER);
  }

  /** Undo or redo; `action` is the name of a method of History. */
  applyHistory(action) {
    const state = this.history[action](this.state);
    if (!state) return;
    this.state = state;
    this.validate();
    this.applyState();
  }

  handleShortcut(event) {
    const key = event.key.toLowerCase();
    if ((event.ctrlKey || event.metaKey) && (key === "z" || key === "y")) {
      const action = key === "y" || event.shiftKey ? "redo" : "undo";
      if (!this.history[action === "undo" ? "past" : "future"].length) return; // the host may have an undo of its own, so it gets the key
      event.preventDefault();
      event.stopPropagation();
      this.applyHistory(action);
    } else if ((event.key === "+" || event.key === "-") && !event.ctrlKey && !event.metaKey && event.target !== this.search) {
      event.preventDefault();
      this.stepZoom(event.key === "+" ? 1 : -1);
    }
  }

  stepZoom(by) {
    this.set({ zoom: ZOOMS[Math.min(Math.max(ZOOMS.indexOf(this.state.zoom) + by, 0), ZOOMS.length - 1)] });
  }

  /** Go to the next or the previous search result. */
  goToMatch(by) {
    const matches = this.matches;
    if (!matches.length) return;
    this.match = (this.match + by + matches.length) % matches.length;
    this.picture.reveal?.(matches[this.match]);
    this.showMatchCount();
  }

  report() {
    clearTimeout(this.emitTimer);
    this.reported.add(stateKey(this.state));
    this.emit?.({ ...this.state, tokens: [...this.state.tokens], heads: this.state.heads && [...this.state.heads] });
  }

  stepLayer(by) {
    this.set({ layer: this.state.layer + by });
  }

  /** Decompress the data that the picture needs, if necessary, then draw. */
  async loadAndDraw(generation) {
    const { tokenData, state } = this;
    const ready = () => tokenData.ready(state.layer, this.neededHeads);
    if (!ready()) {
      await tokenData.open(state.layer, this.neededHeads);
      if (generation !== this.generation) return;
    }
    if (this.pictureName === "grid" || !ready()) await tokenData.openThumbs();
    if (generation !== this.generation) return;
    this.refresh();
    if (this.pictureName === "grid" && tokenData.isSmall) {
      await Promise.all(Array.from({ length: tokenData.layers }, (_, layer) => tokenData.open(layer, this.allHeads)));
      if (generation === this.generation && this.pictureName === "grid") this.refresh();
    }
  }

  get allHeads() {
    return Array.from({ length: this.tokenData.heads }, (_, head) => head);
  }

  /** The text that a picture shows if it has nothing to draw. */
  message() {
    const { data, state } = this;
    if (!this.positions.rows.length || !this.positions.cols.length) return this.texts.empty;
    return data.ready(state.layer, this.neededHeads) ? "" : this.texts.loading.replace("{}", state.layer);
  }

  refresh() {
    if (!this.root.isConnected || !this.bar) return;
    const { data, state } = this;
    this.theme ??= readTheme(this.root);
    this.isNarrow = this.root.clientWidth < 560;
    this.colours = headColours(data.heads, this.theme.dark);
    this.positions = data.positions(state);
    this.laidOutData = data;
    this.matches = data.find(state.find).filter((position) => !(state.hide && data.hideable.has(position)));
    this.matchSet = new Set(this.matches);
    if (this.matchKey !== `${data.id}.${state.find}`) this.match = -1;
    this.matchKey = `${data.id}.${state.find}`;
    const thumbnailKey = JSON.stringify([data.id, state.filter, state.hide, state.renorm]);
    if (thumbnailKey !== this.thumbnailKey) data.thumbnails.clear();
    this.thumbnailKey = thumbnailKey;
    if (this.picture?.kind !== this.pictureName) {
      const hadFocus = this.picture?.pane.contains(this.root.getRootNode().activeElement);
      this.picture?.destroy();
      this.picture = new { lines: Lines, grid: Grid, matrix: Matrix }[this.pictureName](this);
      this.picture.kind = this.pictureName;
      this.stage.append(this.picture.pane);
      // after a change of picture by keyboard, the focus moves to the new picture
      if (hadFocus) this.stage.querySelector("canvas[tabindex]")?.focus({ preventScroll: true });
    }
    if (this.picture.at?.r >= this.positions.rows.length || this.picture.at?.c >= this.positions.cols.length) this.picture.at = null;
    if (this.picture.hovered && !(this.picture.hovered.side === "query" ? this.positions.rows : this.positions.cols).includes(this.picture.hovered.position)) {
      this.picture.hovered = null;
    }
    this.picture.layout();
    this.showControls();
    if (this.picture.updateReadout) this.picture.updateReadout();
    else this.showReadout(null);
  }

  build() {
    const { texts: text, data } = this;
    this.picture?.destroy();
    this.picture = null;
    this.builtShape = this.controlShape;
    const button = (label, attributes) => element("button", { type: "button", ...attributes }, label);
    this.viewButtons = VIEWS.map((view) => button(text[view], { "data-view": view, onclick: () => this.set({ view }) }));
    this.previousLayerButton = button("‹", { class: "bl-step", "aria-label": text.previous, title: text.previous, onclick: () => this.stepLayer(-1) });
    this.nextLayerButton = button("›", { class: "bl-step", "aria-label": text.next, title: text.next, onclick: () => this.stepLayer(1) });
    this.layerValue = element("span", { class: "bl-value", "aria-live": "polite" });
    const stepper = element("span", { class: "bl-group", role: "group", "aria-label": text.layer, onkeydown: (event) => {
      const by = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1 }[event.key];
      if (by) { event.preventDefault(); this.stepLayer(by); }
    } }, element("span", { class: "bl-name" }, text.layer), this.previousLayerButton, this.layerValue, this.nextLayerButton);
    this.filter = element("select", { "aria-label": text.filter, onchange: () => this.set({ filter: this.filter.value }) },
      ...Object.keys(FILTERS).map((key) => element("option", { value: key }, key === "all" ? text.allSentences : `${key[0].toUpperCase()} → ${key[1].toUpperCase()}`)));
    this.filterGroup = element("label", { class: "bl-group" }, element("span", { class: "bl-name" }, text.filter), this.filter);
    const makeCheckbox = (name, tip) => {
      const input = element("input", { type: "checkbox", name, onchange: () => this.set({ [name]: input.checked }) });
      return { input, label: element("label", { class: "bl-check", title: tip }, input, text[{ renorm: "renormalise", merge: "wholeWords" }[name] ?? name]) };
    };
    this.hide = makeCheckbox("hide", text.hideTip);
    const hideable = [...this.tokenData.hideable].map((position) => this.tokenData.tokens[position]);
    // The vocabulary of the checkpoint may have other names for [CLS] and [SEP].
    if (hideable.length) this.hide.label.lastChild.data = text.hide.replace("[CLS]", hideable[0]).replace("[SEP]", hideable.at(-1));
    this.renorm = makeCheckbox("renorm", text.renormaliseTip);
    this.fit = makeCheckbox("fit", text.fitTip);
    this.merge = makeCheckbox("merge", text.wholeWordsTip);
    this.merge.label.style.display = this.tokenData.words ? "" : "none";
    this.headButtons = Array.from({ length: data.heads }, (_, head) => button(String(head), {
      class: "bl-head", "data-head": head, tabindex: head ? -1 : 0, "aria-label": text.headNumber.replace("{}", head),
      onclick: () => this.toggleHead(head), ondblclick: () => this.showOnlyHead(head),
    }));
    this.heads = element("div", { class: "bl-heads", role: "group", "aria-label": text.heads, onkeydown: (event) => {
      const current = this.headButtons.indexOf(event.target);
      const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (current < 0) return;
      if (event.key.toLowerCase() === "s" && !event.ctrlKey && !event.metaKey) this.showOnlyHead(current);
      if (!by) return;
      event.preventDefault();
      const next = (current + by + data.heads) % data.heads;
      this.headButtons.forEach((node, head) => { node.tabIndex = head === next ? 0 : -1; });
      this.headButtons[next].focus();
    } }, element("span", { class: "bl-name" }, text.heads), ...this.headButtons);
    this.allHeadsButton = button(text.all, { class: "bl-quiet", onclick: () => this.set({ heads: null }) });
    this.heads.append(this.allHeadsButton);
    this.bar = element("div", { class: "bl-bar", role: "toolbar", "aria-label": text.view },
      element("div", { class: "bl-segmented", role: "group", "aria-label": text.view }, ...this.viewButtons),
      stepper, this.filterGroup, this.hide.label, this.renorm.label, this.merge.label, this.fit.label);
    this.tools = element("div", { class: "bl-bar bl-tools" }, this.heads, ...this.buildTools(button));
    this.stage = element("div", { class: "bl-stage" });
    this.readout = element("div", { class: "bl-readout", role: "status" });
    this.legend = element("div", { class: "bl-legend" });
    this.root.replaceChildren(this.bar, this.tools, this.stage, element("div", { class: "bl-status" }, this.readout, this.legend));
  }

  /** Build the tools: search, zoom, undo and save. */
  buildTools(button) {
    const { texts: text } = this;
    this.search = element("input", { type: "search", class: "bl-search", placeholder: text.find, "aria-label": text.find, title: text.findTip,
      oninput: () => this.set({ find: this.search.value }),
      onkeydown: (event) => {
        if (event.key === "Enter") this.goToMatch(event.shiftKey ? -1 : 1);
        else if (event.key === "Escape") this.set({ find: "" });
      } });
    this.matchCount = element("span", { class: "bl-name bl-count", "aria-live": "polite" });
    this.pinMatchesButton = button(text.pinMatches, { class: "bl-quiet", title: text.pinMatchesTip, onclick: () => this.pin(this.matches, this.state.side) });
    const makeTool = (sign, label, onclick) => button(sign, { class: "bl-tool", "aria-label": label, title: label, onclick });
    this.zoomOut = makeTool("−", text.zoomOut, () => this.stepZoom(-1));
    this.zoomIn = makeTool("+", text.zoomIn, () => this.stepZoom(1));
    this.zoomValue = element("span", { class: "bl-zoom" });
    this.undo = makeTool("↶", text.undo, () => this.applyHistory("undo"));
    this.redo = makeTool("↷", text.redo, () => this.applyHistory("redo"));
    const save = saveMenu(text, { name: "attention", code: this.code && (() => this.python()), svg: () => this.svg(), data: () => this.columns(), subject: this.subject });
    return [
      element("span", { class: "bl-group" }, this.search, this.matchCount, this.pinMatchesButton),
      element("span", { class: "bl-group", role: "group", "aria-label": text.zoom }, this.zoomOut, this.zoomValue, this.zoomIn),
      element("span", { class: "bl-group" }, this.undo, this.redo), save,
    ];
  }

  showMatchCount() {
    const { length } = this.matches;
    const isSearching = Boolean(this.state.find.trim());
    this.matchCount.textContent = isSearching ? `${length ? this.match + 1 : 0} / ${length}` : "";
    for (const node of [this.matchCount, this.pinMatchesButton]) node.style.display = isSearching ? "" : "none";
    this.pinMatchesButton.disabled = !length;
  }

  /** The picture as SVG, in the colours of the light theme. */
  svg() {
    const [theme, colours] = [this.theme, this.colours];
    Object.assign(this, { theme: lightTheme(theme), colours: headColours(this.data.heads, false) });
    try {
      return this.picture.svg();
    } finally {
      Object.assign(this, { theme, colours });
      this.refresh();
    }
  }

  /** The data of the picture as columns: a row for each shown head and pair of tokens; with pinned tokens, only their pairs. */
  columns() {
    const { data, state, positions } = this;
    const heads = this.neededHeads.filter((head) => data.head(state.layer, head));
    const pinned = new Set(this.pinned);
    const choosePositions = (list, side) => (pinned.size && state.side === side ? list.filter((position) => pinned.has(position)) : list);
    const [rows, cols] = [choosePositions(positions.rows, "query"), choosePositions(positions.cols, "key")];
    const columns = { layer: [], head: [], query_position: [], query: [], key_position: [], key: [], probability: [] };
    for (const head of heads) {
      const probs = data.head(state.layer, head);
      const factors = data.factors(probs, positions, state.renorm);
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
    return this.code.replace("STATE", () => pythonLiteral(this.state));
  }

  toggleHead(head) {
    if (this.pictureName !== "lines") return this.set({ head });
    const heads = new Set(this.shownHeads);
    if (heads.has(head) && heads.size > 1) heads.delete(head);
    else heads.add(head);
    this.set({ heads: [...heads] });
  }

  showOnlyHead(head) {
    if (this.pictureName !== "lines") return;
    this.set(this.state.heads?.length === 1 && this.state.heads[0] === head ? { heads: null } : { heads: [head], head });
  }

  showControls() {
    const { state, data, theme, texts: text } = this;
    const lines = this.pictureName === "lines";
    for (const node of this.viewButtons) node.setAttribute("aria-pressed", String(node.dataset.view === this.pictureName));
    this.layerValue.replaceChildren(String(state.layer), element("small", {}, ` / ${data.layers - 1}`));
    this.previousLayerButton.disabled = state.layer === 0;
    this.nextLayerButton.disabled = state.layer === data.layers - 1;
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
    this.showMatchCount();
    this.renorm.input.disabled = this.positions.cols.length === data.size;
    this.fit.label.style.display = this.overflows ? "" : "none";
    const selectedHeads = new Set(lines ? this.shownHeads : [state.head]);
    this.headButtons.forEach((node, head) => {
      node.style.setProperty("--head", this.colours[head]);
      node.style.setProperty("--on-head", readableTextColour(this.colours[head]));
      node.setAttribute("aria-pressed", String(selectedHeads.has(head)));
      node.title = lines ? text.headTip : text.squareTip;
    });
    this.heads.style.display = this.pictureName === "grid" ? "none" : "";
    this.allHeadsButton.style.display = lines ? "" : "none";
    this.allHeadsButton.disabled = !state.heads;
    this.legend.replaceChildren(...this.legendParts(this.pictureName));
  }

  legendParts(view) {
    const { theme, data, texts: text } = this;
    const parts = data.segments.includes(1)
      ? ["A", "B"].map((name, i) => element("span", {}, swatch(theme.segments[i]), name)) : [];
    if (view !== "lines") {
      const stops = Array.from({ length: 9 }, (_, i) => theme.css(interpolate(theme.ramp, i / 8))).join(", ");
      const strip = element("span", { style: `display:inline-block;width:84px;height:10px;border-radius:3px;background:linear-gradient(90deg, ${stops}) border-box;border:1px solid ${theme.hair}` });
      parts.push(element("span", { class: "bl-group", title: text.scale }, "0", strip, "1"));
    }
    return parts;
  }

  /**
   * Write the line below the picture: subject, verb, pairs [token, attention] and, in brackets, the place (the name of the head).
   * Without a subject, the line is a hint about how to use the picture.
   */
  showReadout(subject, verb = "", pairs = [], place = "") {
    const { texts: text } = this;
    if (!subject) {
      this.readout.replaceChildren({ lines: text.hint, grid: text.gridHint, matrix: text.matrixHint }[this.pictureName]);
      return;
    }
    const parts = [element("strong", {}, element("bdi", {}, subject))];
    if (verb) parts.push(` ${verb} `);
    pairs.forEach(([token, value], i) => parts.push(i ? " · " : "", element("bdi", {}, token), " ", element("strong", {}, value)));
    if (place) parts.push(` (${place})`);
    this.readout.replaceChildren(...parts);
  }

  showError() {
    this.bar = this.data = this.tokenData = null;
    this.root.replaceChildren(element("p", { class: "bl-message", role: "alert" }, (this.texts ?? viewTexts({})).invalidPayload));
  }

  destroy() {
    clearTimeout(this.emitTimer);
    this.generation++;
    this.stopObserving();
    this.picture?.destroy();
    this.root.remove();
  }
}

function swatch(colour) {
  return element("span", { class: "bl-swatch", style: `background:${colour}` });
}

function readableTextColour(hex) {
  const [r, g, b] = [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
  return 0.299 * r + 0.587 * g + 0.114 * b > 115 ? PALETTE.themes.dark.ground : PALETTE.themes.light.ground;
}

/**
 * Mount the attention view in root. emit(state) is called after every change; options {state, lang, labels} replace those in the payload.
 * Returns {update(payload, options), destroy(), ready, state()}; ready resolves when the first picture is drawn.
 */
export function render(root, payload, emit = null, options = {}) {
  return mountView(new AttentionView(root, emit), payload, options);
}
