// A lesson beside the views: what a step says, its question, the reader's own guess, and then the answer.
// abilities/live/lessons.py prepares the steps; their texts are HTML that was made from Markdown without HTML in it.
import { element } from "../dom.js";
import { format } from "./panels.js";

const STORE = "bertlab.guesses";
const MAX_WORD_LENGTH = 40;

/** The guesses of the reader, {"lesson.step": guess}: in the browser's storage or, where it may not be used, in memory. */
class Guesses {
  constructor() {
    try {
      this.guesses = { ...JSON.parse(localStorage.getItem(STORE)) };
    } catch {
      this.guesses = {};
    }
  }

  get(key) {
    return typeof this.guesses[key] === "string" ? this.guesses[key] : null;
  }

  set(key, guess) {
    this.guesses[key] = guess;
    this.save();
  }

  clear(lesson) {
    for (const key of Object.keys(this.guesses)) if (key.startsWith(`${lesson}.`)) delete this.guesses[key];
    this.save();
  }

  save() {
    try {
      localStorage.setItem(STORE, JSON.stringify(this.guesses));
    } catch {
      // some browsers give a page from disk no storage; the guesses then last until the page is closed
    }
  }
}

/** The list of lessons, and the panel of the open one. page.state.lesson is {name, step}, with the step counted from 1, or null. */
export class Lessons {
  constructor(page) {
    Object.assign(this, { page, content: page.settings.lessons, guesses: new Guesses() });
    this.panel = element("aside", { class: "lesson", onkeydown: (event) => this.handleKey(event) });
  }

  get lesson() {
    return this.content?.lessons.find(({ name }) => name === this.page.state.lesson?.name) ?? null;
  }

  get step() {
    return this.lesson.steps[this.page.state.lesson.step - 1];
  }

  /** The name of the step in the address and in the storage. */
  get key() {
    const { name, step } = this.page.state.lesson;
    return `${name}.${step}`;
  }

  /** Read "attention.3"; null if there is no such lesson. */
  parse(text) {
    const [name, number] = (text ?? "").split(".");
    const lesson = this.content?.lessons.find((other) => other.name === name);
    if (!lesson) return null;
    return { name, step: Math.min(Math.max(Number.parseInt(number, 10) || 1, 1), lesson.steps.length) };
  }

  /** The changes of the page's state that show the view of the step: none if there is no view, or if it waits for the reader's guess. */
  get view() {
    const { view, waits } = this.step;
    if (!view || (waits && this.guesses.get(this.key) === null)) return {};
    const { tab, texts, off, look } = view;
    const stepTexts = texts.length ? [texts[0], texts[1] ?? ""] : this.page.exampleOf(tab);
    return { tab, off, look, texts: { ...this.page.state.texts, [tab]: stepTexts } };
  }

  open(name, step) {
    this.page.state.lesson = { name, step };
    this.show();
  }

  /** Show the view of the step, and focus its heading, from where the arrow keys lead to the other steps. */
  show() {
    Object.assign(this.page.state, this.view);
    this.page.rebuild({ addsHistoryEntry: true });
    this.panel.querySelector("h2").focus();
  }

  leave() {
    this.page.state.lesson = null;
    this.page.rebuild({ addsHistoryEntry: true });
    document.getElementById("lessons").querySelector("button").focus();
  }

  handleKey(event) {
    const move = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!move || event.target.matches("input") || event.ctrlKey || event.metaKey || event.altKey) return;
    const { name, step } = this.page.state.lesson;
    if (this.lesson.steps[step - 1 + move]) this.open(name, step + move);
    event.preventDefault();
  }

  /** The buttons that open a lesson. */
  buildList() {
    if (!this.content) return null;
    const { text, state } = this.page;
    const { language, lessons } = this.content;
    return element("nav", { id: "lessons", class: "lessons", "aria-label": text.lessons }, element("span", { class: "small" }, text.lessons),
      ...lessons.map(({ name, title, minutes, lead }) => element("button", {
        type: "button", id: `lesson-${name}`, title: lead, "aria-pressed": String(name === state.lesson?.name), onclick: () => this.open(name, 1),
      }, element("span", { lang: language }, title), element("span", { class: "small" }, ` · ${format(text.lessonMinutes, minutes)}`))));
  }

  /** Build the panel again if the step, the language or the guess has changed; otherwise keep it, with a guess that is not sent yet. */
  buildPanel() {
    if (!this.lesson) {
      this.panelKey = "";
      return null;
    }
    const { text, state } = this.page;
    const panelKey = `${this.key}.${state.lang}.${this.guesses.get(this.key)}`;
    if (panelKey === this.panelKey) return this.panel;
    this.panelKey = panelKey;
    const { lesson, step } = this;
    const { name, step: number } = state.lesson;
    const button = (id, label, isOff, onclick) => element("button", { type: "button", id, disabled: isOff, onclick }, label);
    this.panel.setAttribute("aria-label", lesson.title);
    this.panel.replaceChildren(
      element("p", { class: "small" }, element("span", { lang: this.content.language }, lesson.title), ` · ${format(text.lessonStep, number, lesson.steps.length)}`),
      element("h2", { tabindex: -1, lang: this.content.language }, step.title),
      this.markup("div", step.say),
      ...this.buildNotes().map((note) => element("p", { class: "small note" }, note)),
      ...(step.question ? this.buildQuestion(step.question) : []),
      element("div", { class: "row" },
        button("lesson-back", text.lessonBack, number === 1, () => this.open(name, number - 1)),
        button("lesson-next", text.lessonNext, number === lesson.steps.length, () => this.open(name, number + 1))),
      element("div", { class: "row quiet" },
        step.view ? button("lesson-show", text.lessonShow, false, () => this.show()) : null,
        button("lesson-restart", text.lessonRestart, false, () => { this.guesses.clear(name); this.open(name, 1); }),
        button("lesson-leave", text.lessonLeave, false, () => this.leave())));
    return this.panel;
  }

  /** The notes of a step: what this file cannot show of it, and why numbers differ. */
  buildNotes() {
    const { page: { text, state, settings }, content, step } = this;
    const isAnswered = this.guesses.get(this.key) !== null;
    const isWaiting = step.waits && !isAnswered;
    const notes = [];
    if (!step.view) notes.push(text.lessonNeedsApp);
    else if (isWaiting) notes.push(text.lessonWaits);
    else if (!step.isComplete) notes.push(text.lessonSimilar);
    const isFirst = state.lesson.step === 1;
    if (isFirst && content.language !== state.lang) notes.push(format(text.lessonLanguage, settings.languages[content.language]));
    if (isFirst && content.checkpoint === settings.name) notes.push(text.lessonRounded);
    const isOtherCheckpoint = content.checkpoint && content.checkpoint !== settings.name;
    if (isOtherCheckpoint && (isFirst || (isAnswered && step.view))) notes.push(format(text.lessonCheckpoint, content.checkpoint, settings.name));
    return notes;
  }

  buildQuestion(question) {
    const guess = this.guesses.get(this.key);
    const ask = element("div", { class: "ask" }, element("strong", {}, this.page.text.lessonQuestion), this.markup("div", question.ask));
    return [ask, ...(guess === null ? [this.buildForm(question)] : this.buildAnswer(question, guess))];
  }

  buildForm(question) {
    const { text } = this.page;
    const { kind, choices, unit } = question;
    const problem = element("p", { class: "error", role: "alert" });
    const label = unit ? `${text.lessonGuess} (${unit})` : text.lessonGuess;
    const field = kind === "number" ? { type: "text", inputmode: "decimal" } : { type: "text", maxlength: MAX_WORD_LENGTH, autocomplete: "off" };
    const fields = kind === "choices"
      ? choices.map((choice, i) => element("label", { class: "choice" }, element("input", { type: "radio", name: "guess", value: i }), this.markup("span", choice)))
      : [element("label", { for: "lesson-guess" }, label), element("input", { id: "lesson-guess", name: "guess", ...field })];
    const form = element("form", {
      onsubmit: (event) => {
        event.preventDefault();
        const guess = readGuess(question, new FormData(form).get("guess"));
        if (guess === null) problem.textContent = describeProblem(question, text);
        else this.send(guess);
      },
    }, element("fieldset", { "aria-label": text.lessonGuess }, ...fields), problem, element("button", { class: "primary" }, text.lessonSend));
    return form;
  }

  /** Remember the guess and show the answer and, if it waited for the guess, the view. */
  send(guess) {
    this.guesses.set(this.key, guess);
    if (this.step.waits) Object.assign(this.page.state, this.view);
    this.page.rebuild({ addsHistoryEntry: true });
    this.panel.querySelector(".answer").focus();
  }

  buildAnswer({ kind, choices, answer, unit, reveal }, guess) {
    const { text } = this.page;
    const isChoice = kind === "choices";
    const list = choices.map((choice, i) => element("li", { class: i === answer ? "right" : "" }, this.markup("span", choice),
      i === answer ? ` ✓` : "", String(i) === guess ? element("span", { class: "small" }, ` ← ${text.lessonYou}`) : ""));
    return [
      element("div", { class: "answer", tabindex: -1 },
        isChoice ? element("ul", {}, ...list) : element("p", { dir: "auto" }, format(text.lessonOwnGuess, `${guess}${unit}`)),
        !isChoice && answer !== null ? element("p", { dir: "auto" }, format(text.lessonAnswer, `${answer}${unit}`)) : null,
        this.markup("div", reveal)),
    ];
  }

  markup(tag, html) {
    const node = element(tag, { lang: this.content.language });
    node.innerHTML = html;
    return node;
  }
}

/** Read a guess as text; null if it does not answer the question. `Question.parse_guess` in classroom/lesson.py does the same. */
function readGuess({ kind, low, high }, value) {
  const text = (value ?? "").trim();
  if (kind === "choices") return value;
  if (kind === "word") return text.split(/\s+/).join(" ").slice(0, MAX_WORD_LENGTH).toLowerCase() || null;
  const number = Number(text.replace(",", ".").replace(/%$/, ""));
  const isValid = text && Number.isFinite(number) && (low === null || number >= low) && (high === null || number <= high);
  return isValid ? String(number) : null;
}

function describeProblem({ kind, low, high }, text) {
  return kind === "number" && low !== null && high !== null ? format(text.lessonGuessRange, low, high) : text.lessonGuessFirst;
}
