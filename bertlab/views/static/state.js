// The state of the attention view, its validation for an input, and undo. app/bertlab_app/url.py uses the same names in the address.
import { FILTERS } from "./data.js";

/**
 * The view "auto" shows lines for a short input and all heads for a long one. heads: the heads that the lines show, null
 * for all. head: the head that the other views show. filter: a key of FILTERS. tokens: the positions of the pinned tokens. side:
 * whether these are on the "query" or the "key" side. zoom: in percent. find: the text of the search. The flags: hide leaves out
 * [CLS] and [SEP], renorm makes the visible columns of every row sum to 1, fit shrinks the picture until it fits, and merge joins
 * the tokens of a word.
 */
export const INITIAL_STATE = {
  view: "auto", layer: 0, head: 0, heads: null, filter: "all", hide: false, renorm: false, fit: false, tokens: [], side: "query",
  merge: false, zoom: 100, find: "",
};
export const VIEWS = ["lines", "grid", "matrix"];
export const ZOOMS = [25, 50, 75, 100, 150, 200, 300, 400, 600, 800];
const MERGE_WITHIN = 1000; // ms: changes of the search or the zoom within this time, such as typed letters, are one step of undo
const MAX_UNDO_STEPS = 200;

/** Return the state with every invalid value replaced; a link may contain any values. */
export function validateState(uncheckedState, tokenData) {
  const state = { ...uncheckedState };
  const clampIndex = (value, limit) => (Number.isInteger(value) ? Math.min(Math.max(value, 0), limit - 1) : 0);
  if (!VIEWS.includes(state.view)) state.view = "auto";
  if (!Object.hasOwn(FILTERS, state.filter) || !tokenData.segments.includes(1)) state.filter = "all";
  state.layer = clampIndex(state.layer, tokenData.layers);
  state.head = clampIndex(state.head, tokenData.heads);
  const heads = Array.isArray(state.heads) ? [...new Set(state.heads)].filter((head) => Number.isInteger(head) && head >= 0 && head < tokenData.heads) : [];
  state.heads = heads.length && heads.length < tokenData.heads ? heads.sort((a, b) => a - b) : null;
  state.tokens = (Array.isArray(state.tokens) ? state.tokens : []).filter((token) => Number.isInteger(token) && token >= 0 && token < tokenData.size);
  state.side = state.side === "key" ? "key" : "query";
  state.zoom = ZOOMS.includes(state.zoom) ? state.zoom : 100;
  state.find = typeof state.find === "string" ? state.find.slice(0, 100) : "";
  for (const flag of ["hide", "renorm", "fit", "merge"]) state[flag] = state[flag] === true;
  return state;
}

/** A state as text, to compare states. */
export function stateKey(state) {
  return JSON.stringify(Object.keys(INITIAL_STATE).map((name) => state[name]));
}

/** Undo and redo. */
export class History {
  constructor() {
    this.past = [];
    this.future = [];
  }

  /** Record the state before a change. */
  record(before, change, now = performance.now()) {
    const field = Object.keys(change).join();
    const isMerged = ["find", "zoom"].includes(field) && field === this.field && now - this.recordedAt < MERGE_WITHIN;
    if (!isMerged) this.past.push({ ...before });
    if (this.past.length > MAX_UNDO_STEPS) this.past.shift();
    this.future = [];
    Object.assign(this, { field, recordedAt: now });
  }

  undo(state) {
    return this.moveState(this.past, this.future, state);
  }

  redo(state) {
    return this.moveState(this.future, this.past, state);
  }

  moveState(from, to, state) {
    this.field = null;
    if (!from.length) return null;
    to.push({ ...state });
    return from.pop();
  }
}
