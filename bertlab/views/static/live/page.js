// The page: tabs, text fields and the state, which is in the address behind "#". The worker computes; panels.js draws.
import { element } from "../dom.js";
import { Model } from "./connection.js";
import { Lessons } from "./lesson.js";
import { PANELS, format } from "./panels.js";

const COMPUTE_AFTER = 250; // ms without typing before an answer is computed
const SETTINGS = JSON.parse(document.getElementById("settings").textContent);
const WORKER = document.getElementById("worker").textContent;

/** The whole page. state: {tab, lang, texts: {tab: [a, b]}, off: heads that are off, look: the state of the attention view, lesson}. */
class Page {
  constructor(root, model) {
    Object.assign(this, { root, model, settings: SETTINGS });
    this.lessons = new Lessons(this);
    this.timer = 0;
    addEventListener("hashchange", () => this.open()); // also after the back button
    this.open();
  }

  /** Show what the address says. A link that names a step of a lesson and nothing else shows the view of this step. */
  open() {
    clearTimeout(this.timer);
    this.state = this.readAddress();
    if (this.state.lesson && !new URLSearchParams(location.hash.slice(1)).has("tab")) Object.assign(this.state, this.lessons.view);
    this.build();
  }

  get text() {
    return { ...SETTINGS.texts.en, ...SETTINGS.texts[this.state.lang] };
  }

  /** The state in the address, with defaults for what it lacks; a link may contain anything. */
  readAddress() {
    this.address = location.hash;
    const address = new URLSearchParams(location.hash.slice(1));
    const preferred = navigator.languages.map((name) => name.split("-")[0]).find((code) => SETTINGS.languages[code]);
    const tab = SETTINGS.tabs.includes(address.get("tab")) ? address.get("tab") : SETTINGS.tabs[0];
    const texts = { ...this.state?.texts };
    for (const name of SETTINGS.tabs) texts[name] ??= this.exampleOf(name);
    if (address.has("a")) texts[tab] = [address.get("a"), address.get("b") ?? ""];
    return {
      tab, texts,
      lang: SETTINGS.languages[address.get("lang")] ? address.get("lang") : preferred ?? "en",
      off: (address.get("off") ?? "").split(",").filter((name) => /^\d+\.\d+$/.test(name)),
      look: parseObject(address.get("look")),
      lesson: this.lessons.parse(address.get("lesson")),
    };
  }

  exampleOf(tab) {
    return PANELS[tab].examples(SETTINGS)[0].texts;
  }

  /** Write the state into the address. addsHistoryEntry: whether the back button of the browser should lead to what was shown before. */
  writeAddress({ addsHistoryEntry = false } = {}) {
    const { tab, lang, texts, off, look, lesson } = this.state;
    const [a, b] = texts[tab];
    const fields = { tab, lang, a, ...(b ? { b } : {}) };
    if (off.length && tab === "heads") fields.off = off.join();
    if (look && tab === "attention") fields.look = JSON.stringify(look);
    if (lesson) fields.lesson = `${lesson.name}.${lesson.step}`;
    const address = `#${new URLSearchParams(fields)}`;
    try {
      if (addsHistoryEntry && address !== location.hash) history.pushState(null, "", address);
      else history.replaceState(null, "", address);
    } catch {
      // a preview inside another program may forbid this, and Safari forbids it after a hundred changes in thirty seconds
    }
    this.address = location.hash;
  }

  /** Change the state, write it into the address, and compute again. */
  set(change, delay = 0) {
    Object.assign(this.state, change);
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      if (location.hash !== this.address) return; // a new address, which open() is about to show
      this.writeAddress(); // not with every letter, because Safari allows only a hundred changes in thirty seconds
      this.compute();
    }, delay);
  }

  setTexts(texts, delay = 0) {
    this.set({ texts: { ...this.state.texts, [this.state.tab]: texts } }, delay);
  }

  /** Build everything: after a change of the language, the tab, or the address. */
  build() {
    const { text, state } = this;
    document.documentElement.lang = state.lang;
    const panel = PANELS[state.tab];
    const { config, parameters, name } = SETTINGS;
    const labels = panel.fields(SETTINGS);
    const number = (value) => value.toLocaleString("en-US");
    this.status = element("p", { class: "status", role: "status" });
    this.error = element("p", { class: "error", role: "alert" });
    this.result = element("div", { class: "result" });
    this.fields = labels.map((_, i) => element("textarea", {
      id: `field-${i}`, rows: 1, spellcheck: "false",
      oninput: () => { this.fitFields(); this.setTexts(this.fields.map((field) => field.value), COMPUTE_AFTER); },
      onkeydown: (event) => { if (event.key === "Enter") event.preventDefault(); }, // a sentence is one line
    }));
    this.showTexts();
    const languages = Object.entries(SETTINGS.languages).map(([code, label]) => element("button", {
      type: "button", lang: code, "aria-pressed": String(code === state.lang), onclick: () => { this.state.lang = code; this.rebuild(); },
    }, label));
    const tabs = SETTINGS.tabs.map((tab) => element("button", {
      type: "button", role: "tab", id: `tab-${tab}`, "aria-selected": String(tab === state.tab), "aria-controls": "panel", tabindex: tab === state.tab ? 0 : -1,
      onclick: () => this.openTab(tab),
    }, text[tab]));
    const examples = panel.examples(SETTINGS).map(({ label, texts }) => element("button", {
      type: "button", class: "example", onclick: () => { this.setTexts(texts); this.showTexts(); },
    }, label ? text[label] : texts[0]));
    const focused = document.activeElement?.id;
    const lesson = this.lessons.buildPanel();
    this.root.classList.toggle("with-lesson", lesson !== null);
    document.body.classList.toggle("wide", lesson !== null);
    this.root.replaceChildren(...[
      element("header", {},
        element("h1", {}, name), element("div", { class: "languages", role: "group", "aria-label": text.language }, ...languages),
        element("p", {}, text.lead),
        element("p", { class: "small" }, format(text.facts, config.numLayers, config.numHeads, number(config.vocabSize), number(parameters))),
        SETTINGS.note[state.lang] ? element("p", { class: "small note" }, SETTINGS.note[state.lang]) : null,
        this.lessons.buildList()),
      lesson,
      element("div", { role: "tablist", "aria-label": text.tabs, onkeydown: (event) => this.moveTab(event) }, ...tabs),
      element("main", { role: "tabpanel", id: "panel", "aria-labelledby": `tab-${state.tab}` },
        element("p", { class: "lead" }, text[panel.lead(SETTINGS)]),
        ...this.fields.flatMap((field, i) => [element("label", { for: field.id }, text[labels[i]]), field]),
        element("div", { class: "examples" }, element("span", { class: "small" }, text.examples), ...examples),
        this.error, this.result, this.status),
      element("details", { class: "source" }, element("summary", {}, text.source), element("p", { class: "small" }, text.sourceLead),
        element("pre", { tabindex: 0, lang: "en" }, WORKER.trim())),
    ].filter((part) => part !== null));
    this.fitFields();
    document.getElementById(focused)?.focus();
    this.view = panel.build(this);
    this.compute();
  }

  rebuild(options) {
    this.writeAddress(options);
    this.build();
  }

  openTab(tab) {
    this.state.tab = tab;
    this.rebuild({ addsHistoryEntry: true });
    document.getElementById(`tab-${tab}`).focus();
  }

  moveTab(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const index = SETTINGS.tabs.indexOf(this.state.tab) + step;
    this.openTab(SETTINGS.tabs.at(index % SETTINGS.tabs.length));
  }

  showTexts() {
    this.fields.forEach((field, i) => { field.value = this.state.texts[this.state.tab][i] ?? ""; });
    this.fitFields();
  }

  /** Make the fields as high as their texts, in browsers that do not do it themselves (page.css: field-sizing). */
  fitFields() {
    if (CSS.supports("field-sizing", "content")) return;
    for (const field of this.fields) {
      field.style.height = "auto";
      if (field.scrollHeight) field.style.height = `${field.scrollHeight + 2}px`; // with its border; 0 before it is on the page
    }
  }

  /** Ask the model for the results that the open tab shows. */
  async compute() {
    if (this.failure) {
      this.showError(this.failure);
      return;
    }
    if (!this.isLoaded) {
      this.status.textContent = this.text.loading;
      return;
    }
    const { text, view, status } = this;
    const start = performance.now();
    let duration = null; // the time until the first part of the answer; other parts may follow for seconds
    status.textContent = text.computing;
    this.result.classList.add("stale");
    try {
      await view.compute((kind, request, onPart) => this.model.ask(kind, request, (part) => {
        duration ??= performance.now() - start;
        this.showAnswer();
        onPart?.(part);
      }), this.state.texts[this.state.tab].map((value) => value.trim()));
      if (view !== this.view) return;
      this.showAnswer();
      status.textContent = format(text.milliseconds, Math.round(duration ?? performance.now() - start));
    } catch (problem) {
      if (!problem.id) throw problem;
      if (problem.isNewest && view === this.view) this.showError(problem);
    }
  }

  /** Show an error that stays, because nothing can be computed without the model. */
  fail(problem) {
    this.failure ??= problem;
    this.showError(this.failure);
  }

  showAnswer() {
    this.error.textContent = "";
    this.result.hidden = false;
    this.result.classList.remove("stale");
  }

  showError({ id, parameters = [] }) {
    this.error.textContent = format(this.text[id] ?? this.text.errorFailed, ...parameters);
    this.status.textContent = "";
    this.result.hidden = true;
  }
}

function parseObject(text) {
  try {
    const value = JSON.parse(text);
    return value && typeof value === "object" && !Array.isArray(value) ? value : null;
  } catch {
    return null;
  }
}

// After this script, the file contains the weights in many parts, and a call of `addWeights` after each of them, so that the
// page is shown before they are read. Nothing works without the weights, so a fault of the file or the browser is shown at once.
// The page needs Chrome or Edge 111, Firefox 113, or Safari 16.4, or a later version (CompressionStream).
const CAN_DECOMPRESS = "DecompressionStream" in globalThis && "CompressionStream" in globalThis;
const model = new Model(WORKER);
const page = new Page(document.getElementById("page"), model);
const { config, weights: { numParts, ...weights }, tokenizer: tokenizerSettings } = SETTINGS;
const loading = CAN_DECOMPRESS ? model.ask("load", { config, weights, tokenizerSettings }) : Promise.reject({ id: "errorBrowser" });
let numArrived = 0;
const ready = loading.then(() => {
  page.isLoaded = true;
  return page.compute();
}, (problem) => page.fail(problem));

function addWeights() {
  const part = document.currentScript.previousElementSibling;
  numArrived++;
  if (CAN_DECOMPRESS) model.addWeights(part.textContent.trim());
  part.remove(); // it is large
  document.currentScript.remove();
}
document.addEventListener("DOMContentLoaded", () => {
  if (numArrived < numParts) page.fail({ id: "errorDamaged" });
});
globalThis.bertlab = { addWeights, ready, page, model, ask: (kind, request) => model.ask(kind, request) };
