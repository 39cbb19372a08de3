// The grid of layers and heads. A click toggles a head, a double-click keeps only this head of its layer, a click on a layer
// toggles all its heads. Every message is the complete line of changes (`bertlab.explore.intervention_syntax`), so that a lost
// or late message does no harm.
const DOUBLE_CLICK = 230; // milliseconds between the two clicks of a double-click, at most

export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".heads");
  const state = (root.state ??= { log: data.log, out: new Set(), waiting: null, sent: null });
  root.data = data;
  if (state.sent === null || data.received === state.sent || data.log === state.sent) {
    state.sent = null;
    if (!state.waiting) Object.assign(state, { log: data.log, out: new Set(data.out) });
  }
  if (root.shape !== `${data.layers}.${data.heads}`) build(root, setTriggerValue);
  paint(root);
}

function element(name, attributes = {}, text = "") {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.textContent = text;
  return node;
}

function build(root, send) {
  const { layers, heads } = root.data;
  root.shape = `${layers}.${heads}`;
  const grid = element("div", { class: "grid", role: "group" });
  grid.style.gridTemplateColumns = `minmax(2.2rem, max-content) repeat(${heads}, minmax(0, 1fr))`;
  grid.append(element("span", { class: "corner" }));
  for (let head = 0; head < heads; head++) grid.append(element("span", { class: "column", "aria-hidden": "true" }, head));
  for (let layer = 0; layer < layers; layer++) {
    grid.append(element("button", { type: "button", class: "row", "data-layer": layer, tabindex: "-1" }));
    for (let head = 0; head < heads; head++) {
      grid.append(element("button", { type: "button", "data-layer": layer, "data-head": head, tabindex: "-1" }));
    }
  }
  grid.querySelectorAll("button")[1].tabIndex = 0;
  const tip = element("div", { class: "tip", role: "status" });
  tip.hidden = true;
  root.replaceChildren(grid, element("div", { class: "legend" }), element("div", { class: "hint" }), tip);
  const cell = (event) => event.target.closest?.("button");
  grid.onclick = (event) => cell(event) && handleClick(root, cell(event), event.detail === 0, send);
  grid.onkeydown = (event) => handleKey(root, cell(event), event, send);
  // focusin and focusout have no handler property
  for (const kind of ["pointerover", "focusin"]) grid.addEventListener(kind, (event) => showTip(root, cell(event)));
  for (const kind of ["pointerleave", "focusout"]) grid.addEventListener(kind, () => { tip.hidden = true; });
}

const place = (button) => ({ layer: Number(button.dataset.layer), head: button.dataset.head === undefined ? null : Number(button.dataset.head) });
const name = (layer, head) => `${layer}.${head}`;
const others = (root, layer) => [...Array(root.data.heads).keys()].map((head) => name(layer, head));

function handleClick(root, button, byKey, send) {
  const { state } = root, { layer, head } = place(button);
  if (head === null) {
    flush(root, send);
    const row = others(root, layer), all = row.every((one) => state.out.has(one));
    row.forEach((one) => (all ? state.out.delete(one) : state.out.add(one)));
    return apply(root, `${layer}`, send);
  }
  const part = name(layer, head);
  if (state.waiting?.part === part) {
    clearTimeout(state.waiting.timer);
    toggle(state.out, part);
    state.waiting = null;
    return keepOnly(root, layer, head, send);
  }
  flush(root, send);
  toggle(state.out, part);
  state.waiting = { part, timer: setTimeout(() => flush(root, send), byKey ? 0 : DOUBLE_CLICK) };
  paint(root);
}

function keepOnly(root, layer, head, send) {
  const { out } = root.state, row = others(root, layer), own = name(layer, head);
  const alone = row.every((one) => out.has(one) !== (one === own));
  row.forEach((one) => (alone || one === own ? out.delete(one) : out.add(one)));
  apply(root, alone ? `${layer}s` : `${own}s`, send);
}

const toggle = (set, item) => (set.has(item) ? set.delete(item) : set.add(item));

function flush(root, send) {
  const { waiting } = root.state;
  if (!waiting) return;
  clearTimeout(waiting.timer);
  root.state.waiting = null;
  apply(root, waiting.part, send);
}

function apply(root, part, send) {
  const { state } = root;
  state.log = state.sent = state.log ? `${state.log},${part}` : part;
  paint(root);
  send("log", state.log);
}

function handleKey(root, button, event, send) {
  if (!button) return;
  const { layer, head } = place(button), { layers, heads } = root.data;
  if (event.key.toLowerCase() === "s" && !event.ctrlKey && !event.metaKey && head !== null) return keepOnly(root, layer, head, send);
  const column = head === null ? -1 : head;
  const steps = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0], Home: [0, -1 - column], End: [0, heads] };
  if (!steps[event.key]) return;
  event.preventDefault();
  const to = [layer + steps[event.key][0], column + steps[event.key][1]];
  const [toLayer, toColumn] = [Math.min(Math.max(to[0], 0), layers - 1), Math.min(Math.max(to[1], -1), heads - 1)];
  button.tabIndex = -1;
  const next = root.querySelectorAll(".grid button")[toLayer * (heads + 1) + toColumn + 1];
  next.tabIndex = 0;
  next.focus();
}

const signed = (value, digits = 2) => `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(digits)}`;
const fill = (text, values) => text.replace(/\{(\w+)\}/g, (_, key) => values[key] ?? "");
const percent = (value) => (value > 0 && value < 0.001 ? "< 0.1%" : `${(100 * value).toFixed(1)}%`);

/** The colour of a head's effect: log-odds that fall without the head mean that it helps. Strong effects have strong colours. */
function colour({ helps, hurts }, value, limit) {
  const share = Math.min(1, 0.06 + 0.86 * Math.abs(value) / limit);
  return `color-mix(in srgb, ${value < 0 ? helps : hurts} ${(100 * share).toFixed(1)}%, transparent)`;
}

/** The colour of a cell's number: readable on a strong colour in either theme; "" on a weak one, for the theme's own. */
function ink({ dark, light }, value, limit) {
  const share = Math.abs(value) / limit;
  return value > 0 ? (share > 0.6 ? dark : "") : share > 0.75 ? light : "";
}

function describe(root, layer, head) {
  const { effects, probabilities, roles, texts, before } = root.data, lines = [fill(texts.head, { layer, head })];
  if (effects) lines.push(fill(texts.effect, { effect: signed(effects[layer][head]), before: percent(before), after: percent(probabilities[layer][head]) }));
  if (roles) lines.push(fill(texts.role, { role: texts.roles[roles[layer][head][0]], share: percent(roles[layer][head][1]) }));
  if (root.state.out.has(name(layer, head))) lines.push(texts.off);
  return lines;
}

function paint(root) {
  const { data, state } = root, { texts, effects, limit } = data;
  root.querySelector(".grid").setAttribute("aria-label", texts.label);
  for (const button of root.querySelectorAll(".grid button")) {
    const { layer, head } = place(button);
    if (head === null) {
      button.textContent = root.clientWidth < 480 ? `${layer}` : fill(texts.layer, { layer });
      button.title = texts.toggle;
      button.setAttribute("aria-pressed", others(root, layer).every((one) => state.out.has(one)));
      continue;
    }
    const out = state.out.has(name(layer, head)), value = effects?.[layer][head];
    button.className = out ? "out" : "";
    button.setAttribute("aria-pressed", out);
    button.setAttribute("aria-label", describe(root, layer, head).join(" · "));
    button.style.backgroundColor = value === undefined ? "" : colour(data.colours, value, limit);
    button.style.color = value === undefined ? "" : ink(data.colours, value, limit);
    // a cell that is too narrow for a number shows its sign, so that colour is never the only difference
    if (value === undefined || Math.abs(value) < 0.05) delete button.dataset.sign;
    else button.dataset.sign = value < 0 ? "−" : "+";
    button.textContent = out ? "×" : value === undefined || Math.abs(value) < 0.05 ? "" : signed(value, 1);
  }
  const bar = element("i");
  bar.style.background = `linear-gradient(90deg, ${[-1, -0.5, 0, 0.5, 1].map((share) => colour(data.colours, share, 1)).join(",")})`;
  const scale = element("span", { class: "scale" });
  if (effects) scale.append(`−${limit.toFixed(1)}`, bar, `+${limit.toFixed(1)}`);
  const legend = effects ? [element("span", {}, texts.helps), scale, element("span", {}, texts.hurts)] : [texts.unmeasured];
  root.querySelector(".legend").replaceChildren(...legend);
  root.querySelector(".hint").textContent = texts.hint;
}

function showTip(root, button) {
  const tip = root.querySelector(".tip");
  const { layer, head } = button ? place(button) : { head: null };
  tip.hidden = head === null;
  if (head === null) return;
  const [title, ...lines] = describe(root, layer, head);
  tip.replaceChildren(element("b", {}, title), ...lines.map((line) => element("div", {}, line)));
  const frame = root.getBoundingClientRect(), box = button.getBoundingClientRect();
  const left = box.right - frame.left + 8;
  tip.style.left = `${left + tip.offsetWidth <= frame.width ? left : Math.max(0, box.left - frame.left - tip.offsetWidth - 8)}px`;
  tip.style.top = `${box.bottom - frame.top + 4}px`;
}
