// The view Time machine: a slider selects a snapshot of a training run; the view shows its attention, its predictions (tokens for each mask, next sentence) and its place on the loss curve.
// One payload has the data of all snapshots. This module makes no network requests.
// Shapes: S moments (snapshots), L layers, N heads, T tokens; the codes of a moment are [L, N, T, T], p = (code / 255)^2.
import { Surface, formatProbability, interpolate, lightTheme, observe, readTheme } from "./canvas.js";
import { element, mountView } from "./dom.js";
import { CURVE_HEIGHT, drawLossCurve } from "./loss_curve.js";
import { clamp, formatCount, formatPercent } from "./numbers.js";
import { inflate, readPayload } from "./payload.js";
import { pythonLiteral, saveMenu } from "./save.js";
import { SnapshotPanel } from "./snapshot_panel.js";
import { Recorder } from "./svg.js";
import { viewTexts } from "./texts.js";

// In the state, at and against are steps. In the view, `this.at` and `this.against` are the indices of the nearest moments.
const INITIAL_STATE = { at: null, against: null, layer: 0, head: 0 };
const FRAME_INTERVAL = 800; // ms that playback shows each snapshot
const EMIT_AFTER = 300; // ms without a further change before the state is reported to the host
const MIN_WIDE = 760; // pixels; with less width, the parts of a snapshot are stacked

class TimelineView {
  constructor(root, emit) {
    this.root = element("section", { class: "bl-view bl-timeline" });
    this.emit = emit;
    this.state = { ...INITIAL_STATE };
    this.reported = new Set(); // the states, as text, that were reported to the host
    this.generation = 0; // counts the calls of load, so that an older call can stop
    this.pointed = null;
    this.panels = [];
    root.append(this.root);
    this.root.addEventListener("keydown", (event) => this.handleKey(event));
    this.stopObserving = observe(this, () => this.layout());
  }

  async load(payload, options) {
    const generation = ++this.generation;
    const { header, blocks, hostOptions, language } = readPayload("timeline", payload, options);
    const isNewInput = this.data?.id !== header.id;
    if (isNewInput) {
      const codes = await Promise.all(blocks.map((block) => inflate(block.packed)));
      if (generation !== this.generation) return;
      this.stop();
      this.data = {
        ...header, codes, size: header.tokens.length, hideable: new Set(header.hideable),
        masked: new Set(header.masks.map(({ position }) => position)),
      };
      this.atlases = new Map();
      this.pointed = null;
    }
    const mustRebuild = isNewInput || language !== this.language;
    this.language = language;
    this.texts = viewTexts(hostOptions);
    this.code = hostOptions.code ?? null;
    this.subject = hostOptions.subject;
    this.applyHostState(hostOptions.state);
    this.validate();
    if (mustRebuild) this.build();
    this.layout();
  }

  /** Apply the host's state, unless it repeats a state that this view reported: that would undo later changes. */
  applyHostState(state) {
    if (!state) return;
    const text = JSON.stringify(Object.keys(INITIAL_STATE).map((name) => state[name] ?? INITIAL_STATE[name]));
    if (text === this.lastHostState || this.reported.has(text)) return;
    this.lastHostState = text;
    for (const name of Object.keys(INITIAL_STATE)) if (name in state) this.state[name] = state[name];
  }

  validate() {
    const { state, data } = this;
    const clampIndex = (value, limit) => (Number.isInteger(value) ? clamp(value, 0, limit - 1) : 0);
    state.layer = clampIndex(state.layer, data.layers);
    state.head = clampIndex(state.head, data.heads);
    for (const name of ["at", "against"]) if (!Number.isInteger(state[name])) state[name] = null;
    this.at = state.at === null ? 0 : this.nearest(state.at);
    this.against = state.against === null ? null : this.nearest(state.against);
  }

  /** The index of the moment that is nearest to a step on the logarithmic axis. */
  nearest(step) {
    const distance = ({ step: other }) => Math.abs(Math.log1p(Math.max(0, step)) - Math.log1p(other));
    return this.data.moments.reduce((best, moment, i, all) => (distance(moment) < distance(all[best]) ? i : best), 0);
  }

  set(change) {
    const wasComparing = this.state.against !== null;
    Object.assign(this.state, change);
    this.validate();
    if (wasComparing !== (this.state.against !== null)) {
      this.buildPanels();
      this.layout();
    } else this.draw();
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.report(), EMIT_AFTER);
  }

  report() {
    if (this.playing) return; // a host that reruns for every frame would stutter
    const { at, against, layer, head } = this.state;
    this.reported.add(JSON.stringify([at, against, layer, head]));
    this.emit?.({ at, against, layer, head });
  }

  goTo(index) {
    const moment = clamp(index, 0, this.data.moments.length - 1);
    this.set({ at: this.data.moments[moment].step });
  }

  /** Start the playback, or stop it if it runs. */
  play() {
    if (this.playing) return this.stop();
    if (this.at === this.data.moments.length - 1) this.goTo(0);
    this.playing = setInterval(() => {
      if (!this.root.isConnected) return this.stop();
      this.goTo(this.at + 1);
      if (this.at === this.data.moments.length - 1) this.stop();
    }, FRAME_INTERVAL);
    this.showPlayButton();
    return undefined;
  }

  stop() {
    if (!this.playing) return;
    clearInterval(this.playing);
    this.playing = 0;
    this.showPlayButton();
    this.report();
  }

  showPlayButton() {
    const { texts: text } = this;
    if (!this.playButton) return;
    this.playButton.replaceChildren(this.playing ? "❚❚" : "▶", ` ${this.playing ? text.pause : text.play}`);
  }

  handleKey(event) {
    const kind = event.composedPath()[0]?.tagName;
    if (event.key === " " && kind !== "BUTTON" && kind !== "SELECT") {
      event.preventDefault();
      this.play();
    } else if (kind !== "INPUT" && kind !== "SELECT") {
      const index = { ArrowLeft: this.at - 1, ArrowRight: this.at + 1, Home: 0, End: this.data.moments.length - 1 }[event.key];
      if (index === undefined) return;
      event.preventDefault();
      this.goTo(index);
    }
  }

  build() {
    const { texts: text, data } = this;
    const last = data.moments.length - 1;
    for (const panel of this.panels) panel.destroy();
    this.curve?.destroy();
    this.panels = [];
    this.playButton = element("button", { type: "button", class: "bl-play", disabled: !last, onclick: () => this.play() });
    this.slider = element("input", {
      type: "range", min: 0, max: last, step: 1, class: "bl-slider", "aria-label": text.trainingStep,
      oninput: () => { this.stop(); this.goTo(Number(this.slider.value)); },
    });
    const makeStepButton = (by, sign, label) => element("button", { type: "button", class: "bl-step", "aria-label": label, title: label, onclick: () => { this.stop(); this.goTo(this.at + by); } }, sign);
    this.previousButton = makeStepButton(-1, "‹", text.earlier);
    this.nextButton = makeStepButton(1, "›", text.later);
    this.value = element("span", { class: "bl-value bl-moment-name" });
    this.compareButton = element("button", { type: "button", title: text.sideBySideTip, onclick: () => {
      const { moments } = data;
      this.set({ against: this.against === null ? moments[this.at > 0 ? 0 : last].step : null });
    } }, text.sideBySide);
    this.bar = element("div", { class: "bl-bar bl-timebar", role: "toolbar", "aria-label": text.trainingStep },
      this.playButton, this.previousButton, this.slider, this.nextButton, this.value, this.compareButton);
    this.curveBox = element("div", { class: "bl-curve" });
    this.curve = new Surface(this.curveBox, "bl-over", () => this.drawCurve());
    const canvas = this.curve.canvas;
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", text.loss);
    const jump = (event) => {
      const box = canvas.getBoundingClientRect();
      const share = clamp((event.clientX - box.left - this.plot.left) / this.plot.width, 0, 1);
      this.stop();
      const nearest = this.nearest(Math.expm1(share * this.plot.logSteps));
      if (nearest !== this.at) this.goTo(nearest);
    };
    canvas.addEventListener("pointerdown", (event) => { canvas.setPointerCapture(event.pointerId); jump(event); });
    canvas.addEventListener("pointermove", (event) => { if (canvas.hasPointerCapture(event.pointerId)) jump(event); });
    this.figures = element("div", { class: "bl-figures" });
    this.stage = element("div", { class: "bl-stage bl-sides" });
    this.readout = element("div", { class: "bl-readout", role: "status" });
    this.scale = element("div", { class: "bl-legend" });
    const save = saveMenu(text, { name: "time-machine", code: this.code && (() => this.code.replace("STATE", () => pythonLiteral(this.state))),
      svg: () => this.svg(), data: () => this.columns(), subject: this.subject });
    this.bar.append(save);
    this.root.replaceChildren(this.bar, this.curveBox, this.figures, this.stage, element("div", { class: "bl-status" }, this.readout, this.scale));
    this.buildPanels();
    this.showPlayButton();
  }

  /** Build one panel, or two for a comparison: the pinned snapshot to the left of the one that the slider selects. */
  buildPanels() {
    for (const panel of this.panels) panel.destroy();
    this.panels = [...(this.against === null ? [] : [new SnapshotPanel(this, true)]), new SnapshotPanel(this, false)];
    this.stage.classList.toggle("bl-two", this.panels.length > 1);
    this.stage.append(...this.panels.map((panel) => panel.node));
  }

  layout() {
    if (!this.root.isConnected || !this.bar || !this.root.clientWidth) return;
    if (!this.theme) {
      this.theme = readTheme(this.root);
      this.atlases.clear();
    }
    this.root.classList.toggle("bl-narrow", this.root.clientWidth < MIN_WIDE);
    this.curve.resize(this.curveBox.clientWidth, CURVE_HEIGHT);
    for (const panel of this.panels) panel.layout();
    const stops = Array.from({ length: 9 }, (_, i) => this.theme.css(interpolate(this.theme.ramp, i / 8))).join(", ");
    this.scale.replaceChildren(element("span", { class: "bl-group", title: this.texts.scale }, "0",
      element("span", { style: `display:inline-block;width:84px;height:10px;border-radius:3px;background:linear-gradient(90deg, ${stops}) border-box;border:1px solid ${this.theme.hair}` }), "1"));
    this.draw();
  }

  /** The curve and all visible snapshots as one SVG, in the colours of the light theme. */
  svg() {
    const [theme, atlases, pointed] = [this.theme, this.atlases, this.pointed];
    Object.assign(this, { theme: lightTheme(theme), atlases: new Map(), pointed: null });
    const heightOf = (panel) => Math.max(panel.grid.height, panel.head.height) + 40;
    const widthOf = (panel) => panel.grid.width + panel.head.width + 24;
    const recorder = new Recorder(Math.max(this.curve.width, ...this.panels.map(widthOf)), this.curve.height + this.panels.reduce((sum, panel) => sum + heightOf(panel), 0), this.theme.ground);
    try {
      this.drawCurve(recorder);
      let top = this.curve.height + 20;
      for (const panel of this.panels) {
        recorder.save();
        recorder.translate(0, top);
        Object.assign(recorder, { font: `600 ${this.theme.size}px ${this.theme.family}`, fillStyle: this.theme.ink, textAlign: "left", globalAlpha: 1 });
        recorder.fillText(`${this.texts.step} ${formatCount(this.data.moments[panel.at].step)}`, 0, 0);
        recorder.translate(0, 14);
        panel.drawGrid(recorder);
        recorder.translate(panel.grid.width + 24, 0);
        panel.drawHead(recorder);
        recorder.restore();
        top += heightOf(panel);
      }
      return recorder.text();
    } finally {
      Object.assign(this, { theme, atlases, pointed });
    }
  }

  /** A row for every snapshot: its step, and its predictions for this text. */
  columns() {
    const { moments, masks, follows } = this.data;
    const columns = { step: moments.map(({ step }) => step), tokens: moments.map(({ tokens }) => tokens) };
    masks.forEach(({ words: names, probs }, mask) => names.forEach((name, i) => { columns[`mask_${mask + 1} ${name}`] = probs.map((shares) => shares[i]); }));
    if (follows) columns.is_next = follows;
    for (const name of Object.keys(Object.assign({}, ...moments.map(({ validation }) => validation)))) {
      columns[`validation ${name}`] = moments.map(({ validation }) => validation[name]);
    }
    return columns;
  }

  /** All heads of a snapshot as one image with one pixel per pair of tokens, made when first shown. */
  atlas(at) {
    const cached = this.atlases.get(at);
    if (cached) return cached;
    const { data } = this;
    const size = data.size;
    const canvas = document.createElement("canvas");
    canvas.width = data.heads * size;
    canvas.height = data.layers * size;
    const image = new ImageData(canvas.width, canvas.height);
    const pixels = new Uint32Array(image.data.buffer);
    const table = Uint32Array.from({ length: 256 }, (_, code) => {
      const [red, green, blue] = interpolate(this.theme.ramp, code / 255);
      return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
    });
    const codes = data.codes[at];
    for (let layer = 0, from = 0; layer < data.layers; layer++) {
      for (let head = 0; head < data.heads; head++) {
        for (let row = 0; row < size; row++) {
          const to = (layer * size + row) * canvas.width + head * size;
          for (let col = 0; col < size; col++) pixels[to + col] = table[codes[from++]];
        }
      }
    }
    canvas.getContext("2d").putImageData(image, 0, 0);
    this.atlases.set(at, canvas);
    return canvas;
  }

  probability(at, row, col) {
    const { data, state } = this;
    const code = data.codes[at][((state.layer * data.heads + state.head) * data.size + row) * data.size + col];
    return (code / 255) ** 2;
  }

  draw() {
    if (!this.root.isConnected || !this.theme) return;
    const { data, texts: text } = this;
    const moment = data.moments[this.at];
    this.slider.value = String(this.at);
    this.slider.setAttribute("aria-valuetext", `${text.step} ${formatCount(moment.step)}`);
    this.previousButton.disabled = this.at === 0;
    this.nextButton.disabled = this.at === data.moments.length - 1;
    this.compareButton.setAttribute("aria-pressed", String(this.against !== null));
    this.compareButton.disabled = data.moments.length < 2;
    this.value.replaceChildren(`${text.step} ${formatCount(moment.step)}`, element("small", {}, ` · ${text.tokensRead.replace("{}", formatCount(moment.tokens))}`));
    const metrics = [["masked_accuracy", text.mlmAccuracy, formatPercent], ["nsp_accuracy", text.nspAccuracy, formatPercent],
      ["bits_per_character", text.bits, (value) => value.toFixed(2)], ["mlm_loss", text.maskedLoss, (value) => value.toFixed(2)]]
      .filter(([name]) => name in moment.validation)
      .map(([name, label, format]) => element("span", {}, element("strong", {}, format(moment.validation[name])), ` ${label}`));
    this.figures.replaceChildren(element("span", { class: "bl-name" }, metrics.length ? text.heldOut : text.notEvaluated), ...metrics);
    this.drawCurve();
    for (const panel of this.panels) panel.draw();
    this.updateReadout();
  }

  drawCurve(context = this.curve.begin()) {
    if (!this.theme || !this.curve.width) return;
    const { data, theme, at, against, texts } = this;
    this.plot = drawLossCurve(context, { data, theme, at, against, label: texts.loss, width: this.curve.width });
  }

  setPointed(pointed) {
    if (pointed?.row === this.pointed?.row && pointed?.col === this.pointed?.col) return;
    this.pointed = pointed;
    for (const panel of this.panels) panel.drawHead();
    this.updateReadout();
  }

  /** The line below the picture: the hovered pair of tokens in every visible snapshot, or a hint. */
  updateReadout() {
    const { pointed, data, texts: text } = this;
    if (!pointed) return this.readout.replaceChildren(text.timeHint);
    const bold = (word) => element("strong", {}, element("bdi", {}, word));
    const shares = this.panels.flatMap(({ at }) => [` · ${text.step} ${formatCount(data.moments[at].step)}: `, bold(formatProbability(this.probability(at, pointed.row, pointed.col), 0.004))]);
    return this.readout.replaceChildren(bold(data.tokens[pointed.row]), " → ", bold(data.tokens[pointed.col]), ...shares);
  }

  showError() {
    this.stop();
    this.data = null;
    this.bar = null;
    this.panels = [];
    this.root.replaceChildren(element("p", { class: "bl-message", role: "alert" }, (this.texts ?? viewTexts({})).invalidPayload));
  }

  destroy() {
    clearTimeout(this.timer);
    clearInterval(this.playing);
    this.generation++;
    this.stopObserving();
    for (const panel of this.panels) panel.destroy();
    this.curve?.destroy();
    this.root.remove();
  }
}

/** Mount the time machine in root; emit({at, against, layer, head}) is called after every change. Returns the same handle as the attention view. */
export function render(root, payload, emit = null, options = {}) {
  return mountView(new TimelineView(root, emit), payload, options);
}
