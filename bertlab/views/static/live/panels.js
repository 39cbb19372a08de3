// What the tabs of the page show. A panel has the labels of its text fields, its lead, its examples, and `build`, which returns an
// object whose `compute(ask, texts)` asks the worker and draws the answer into `page.result`.
import { render } from "../attention.js";
import { element } from "../dom.js";

const COUNT = 8; // predictions shown for each mask
const makeExample = (texts, label = null) => ({ texts, label });
const maskedExamples = ({ examples }) => examples.masked.map((sentence) => makeExample([sentence, ""]));
const pairExamples = ({ examples }) => [["exampleFollow", "follow"], ["exampleNear", "near"], ["exampleOther", "other"]]
  .map(([label, name]) => makeExample(examples.next[name], label));

export const PANELS = {
  attention: {
    fields: ({ config }) => (config.hasTokenTypes ? ["first", "second"] : ["first"]),
    lead: () => "attentionLead",
    examples: ({ examples }) => [makeExample(examples.pair), makeExample([examples.sentence, ""])],
    build: (page) => new AttentionPanel(page),
  },
  fill: { fields: () => ["text"], lead: () => "fillLead", examples: maskedExamples, build: (page) => new FillPanel(page) },
  next: {
    fields: () => ["first", "second"],
    lead: ({ objective }) => (objective === "order" ? "nextLeadOrder" : "nextLead"),
    examples: pairExamples,
    build: (page) => new NextPanel(page),
  },
  heads: {
    fields: ({ tabs }) => ["text", ...(tabs.includes("next") ? ["headsSecond"] : [])],
    lead: () => "headsLead",
    examples: (settings) => [...(settings.tabs.includes("fill") ? maskedExamples(settings) : []), ...(settings.tabs.includes("next") ? pairExamples(settings) : [])],
    build: (page) => new HeadsPanel(page),
  },
  lens: { fields: () => ["text"], lead: () => "lensLead", examples: maskedExamples, build: (page) => new LensPanel(page) },
};

/** The attention view of bertlab, which gets a payload from the worker. */
class AttentionPanel {
  constructor(page) {
    this.page = page;
    this.root = element("div");
    page.result.append(this.root);
  }

  async compute(ask, [a, b]) {
    const { state } = this.page;
    const answer = await ask("attention", { a, b: b || null });
    if (!answer) return;
    if (this.handle) {
      await this.handle.update(answer.payload, { lang: state.lang });
      return;
    }
    const save = (look) => {
      state.look = Object.fromEntries(Object.entries(look).filter(([, value]) => value !== null && value !== false && value !== ""));
      this.page.writeAddress();
    };
    this.handle = render(this.root, answer.payload, null, { lang: state.lang, ...(state.look ? { state: state.look } : {}) });
    this.handle.listen(save);
    await this.handle.ready;
  }
}

/** The best tokens for each mask, and the words of the text, which can be hidden. */
class FillPanel {
  constructor(page) {
    this.page = page;
    this.hidden = new Map(); // the place of a word that was hidden by a click -> the word
    this.words = element("div", { class: "words", role: "group", "aria-label": page.text.words });
    this.masks = element("div", { class: "masks" });
    page.fields.at(-1).after(this.words);
    page.result.append(this.masks);
  }

  async compute(ask, [a]) {
    this.drawWords(a);
    const answer = await ask("fill", { a, count: COUNT });
    if (!answer) return;
    const { text } = this.page;
    this.masks.replaceChildren(...answer.masks.map((best, i) => element("section", {},
      answer.masks.length > 1 ? element("h2", {}, format(text.maskNumber, i + 1)) : null,
      bars(best.map(({ token, prob }) => [token, prob])))));
  }

  drawWords(text) {
    const words = text.split(/\s+/).filter((word) => word);
    this.words.replaceChildren(...words.map((word, i) => element("button", {
      type: "button", class: "word", id: `word-${i}`, "aria-pressed": String(word.includes("[MASK]")), onclick: () => this.toggle(words, i),
    }, word)));
  }

  toggle(words, i) {
    const changed = [...words];
    if (words[i].includes("[MASK]")) {
      changed[i] = this.hidden.get(i) ?? words[i];
    } else {
      this.hidden.set(i, words[i]);
      const [, before, , after] = words[i].match(/^(\p{P}*)(.*?)(\p{P}*)$/u);
      changed[i] = `${before}[MASK]${after}`;
    }
    this.page.setTexts([changed.join(" ")]);
    this.page.showTexts();
    this.drawWords(changed.join(" "));
    document.getElementById(`word-${i}`).focus();
  }
}

/** The probability that sentence B follows A. */
class NextPanel {
  constructor(page) {
    this.page = page;
  }

  async compute(ask, [a, b]) {
    const answer = await ask("next", { a, b });
    if (!answer) return;
    const [yes, no] = pairLabels(this.page);
    this.page.result.replaceChildren(bars([[yes, answer.follows], [no, 1 - answer.follows]]));
  }
}

/** A prediction with and without heads, and a map of what every single head contributes. */
class HeadsPanel {
  constructor(page) {
    const { config } = page.settings;
    this.page = page;
    this.effects = new Map(); // "layer.head" -> {change, before, after}
    this.table = element("div", { class: "scroll" });
    this.progress = element("progress", { max: config.numLayers * config.numHeads, value: 0 });
    this.progressText = element("span", {});
    this.note = element("p", { class: "small progress" }, this.progress, this.progressText);
    this.grid = element("div", { class: "scroll" });
    this.buttons = new Map();
    const layerButton = (layer) => element("button", { type: "button", title: page.text.layerSwitch, onclick: () => this.toggleLayer(layer) }, format(page.text.layer, layer));
    const row = (layer) => element("tr", {}, element("th", { scope: "row" }, layerButton(layer)),
      ...Array.from({ length: config.numHeads }, (_, head) => element("td", {}, this.makeButton(`${layer}.${head}`))));
    const header = element("tr", {}, element("td"), ...Array.from({ length: config.numHeads }, (_, head) => element("th", { scope: "col" }, String(head))));
    this.grid.append(element("table", { class: "heads" }, header, ...Array.from({ length: config.numLayers }, (_, layer) => row(layer))));
    this.reset = element("button", { type: "button", onclick: () => page.set({ off: [] }) }, page.text.reset);
    page.result.append(this.table, this.note, this.grid, this.reset);
    this.drawButtons();
  }

  makeButton(name) {
    const button = element("button", { type: "button", class: "head", onclick: () => this.toggle(name) });
    this.buttons.set(name, button);
    return button;
  }

  toggle(name) {
    const { off } = this.page.state;
    this.page.set({ off: off.includes(name) ? off.filter((other) => other !== name) : [...off, name] });
    this.drawButtons();
  }

  /** Switch all heads of a layer off, or on again if they are all off. */
  toggleLayer(layer) {
    const names = Array.from({ length: this.page.settings.config.numHeads }, (_, head) => `${layer}.${head}`);
    const others = this.page.state.off.filter((name) => !names.includes(name));
    const areOff = names.every((name) => this.page.state.off.includes(name));
    this.page.set({ off: areOff ? others : [...others, ...names] });
    this.drawButtons();
  }

  async compute(ask, [a, b]) {
    const { tabs } = this.page.settings;
    const hasMask = tabs.includes("fill") && a.includes("[MASK]");
    const input = { a, b: tabs.includes("next") && !hasMask ? b || null : null };
    if (JSON.stringify(input) !== this.input) { // the effects of single heads depend on the texts only
      this.input = JSON.stringify(input);
      this.effects.clear();
    }
    this.drawButtons();
    await ask("heads", { ...input, off: this.page.state.off, count: 5, measured: [...this.effects.keys()] }, (part) => {
      if (part.outcomes) this.drawOutcomes(part);
      for (const effect of part.effects ?? []) this.effects.set(`${effect.layer}.${effect.head}`, effect);
      this.drawButtons();
    });
  }

  /** Show how many heads are measured. When all are, the bar becomes invisible but keeps its space, so that the grid does not jump. */
  drawProgress() {
    const [measured, total] = [this.effects.size, this.buttons.size];
    this.progress.value = measured;
    this.progressText.textContent = format(this.page.text.measuring, measured, total);
    this.note.style.visibility = measured < total ? "visible" : "hidden";
  }

  drawOutcomes({ outcomes, isPair }) {
    const { text, state } = this.page;
    const labels = isPair ? pairLabels(this.page) : [];
    const line = ({ label, before, after }) => element("tr", {}, element("th", { scope: "row" }, isPair ? labels[label] : label),
      element("td", {}, percent(before)), element("td", {}, percent(after)), element("td", { class: "bar" }, bar(before, "before"), bar(after)));
    this.table.replaceChildren(element("table", { class: "outcomes" },
      element("tr", {}, ...[text.token, text.before, text.after, ""].map((name) => element("th", { scope: "col" }, name))), ...outcomes.map(line)),
    element("p", { class: "small" }, state.off.length ? "" : text.noHeadsOff));
  }

  drawButtons() {
    const { text, state } = this.page;
    this.drawProgress();
    const largest = Math.max(0.05, ...[...this.effects.values()].map(({ change }) => Math.abs(change)));
    for (const [name, button] of this.buttons) {
      const effect = this.effects.get(name);
      const isOff = state.off.includes(name);
      const share = effect ? Math.round((80 * Math.abs(effect.change)) / largest) : 0;
      const colour = effect?.change < 0 ? "--blue" : "--orange"; // less probable without the head: it helps
      button.style.background = share ? `color-mix(in srgb, var(${colour}) ${share}%, var(--ground))` : "";
      button.textContent = isOff ? "×" : "";
      button.setAttribute("aria-pressed", String(isOff));
      const parts = [format(text.headName, ...name.split("."))];
      if (isOff) parts.push(text.headOff);
      if (effect) parts.push(format(text.headEffect, percent(effect.before), percent(effect.after)));
      button.title = parts.join(" · ");
      button.setAttribute("aria-label", button.title);
    }
    this.reset.disabled = !state.off.length;
  }
}

/** A table of what each layer would predict at each token. */
class LensPanel {
  constructor(page) {
    this.page = page;
    this.scroll = element("div", { class: "scroll", tabindex: 0 });
    page.result.append(this.scroll, element("p", { class: "small" }, page.text.lensCaution));
  }

  async compute(ask, [a]) {
    await ask("lens", { a }, (part) => {
      if (part.tokens) this.drawTable(part);
      else this.drawColumn(part);
    });
  }

  drawTable({ tokens, layers }) {
    const { text } = this.page;
    const names = Array.from({ length: layers }, (_, i) => (i ? format(text.layer, i - 1) : text.embeddings));
    this.rows = names.map((name) => element("tr", {}, element("th", { scope: "row" }, name), ...tokens.map(() => element("td"))));
    const header = element("tr", {}, element("th", { scope: "row" }, text.input),
      ...tokens.map((token) => element("th", { scope: "col", class: token === "[MASK]" ? "mask" : "" }, token)));
    this.scroll.replaceChildren(element("table", { class: "lens" }, header, ...this.rows));
    this.scroll.querySelector(".mask")?.scrollIntoView({ block: "nearest", inline: "center" });
  }

  drawColumn({ position, column }) {
    column.forEach(({ token, prob }, layer) => {
      const cell = this.rows[layer].children[position + 1];
      cell.replaceChildren(token, element("small", {}, percent(prob)));
      cell.style.background = `color-mix(in srgb, var(--blue) ${Math.round(45 * prob)}%, var(--ground))`;
    });
  }
}

/** A list of labels with their probabilities as bars. */
function bars(rows) {
  return element("ul", { class: "bars" }, ...rows.map(([label, prob]) => element("li", {},
    element("span", { class: "label" }, label), bar(prob), element("span", { class: "number" }, percent(prob)))));
}

function bar(prob, kind = "") {
  return element("span", { class: `track ${kind}`, "aria-hidden": "true" }, element("span", { style: `width: ${100 * prob}%` }));
}

function pairLabels({ settings, text }) {
  return settings.objective === "order" ? [text.yesOrder, text.noOrder] : [text.yes, text.no];
}

function percent(share) {
  return share > 0 && share < 0.001 ? "< 0.1%" : `${(100 * share).toFixed(1)}%`;
}

/** Write values into the places "{}" of a text. */
export function format(text, ...values) {
  return values.reduce((filled, value) => filled.replace("{}", () => value), text);
}
