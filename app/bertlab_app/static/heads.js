// The grid of heads on the head surgery page, one row for each layer. A click switches a head off or on, a double-click keeps
// only this head of its layer, and a click on a layer switches all its heads. Every message to Python is the complete line of changes
// (`bertlab.abilities.surgery.syntax`), so nothing is lost if a message does not arrive.
const DOUBLE_CLICK_MS = 230; // maximum time between the two clicks of a double-click

export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".heads");
  const state = (root.state ??= { line: data.line, off: new Set(), pending: null, sent: null });
  root.data = data;
  // until Python has received the last message, its data are older than the state shown here
  if (state.sent === null || data.received === state.sent || data.line === state.sent) {
    state.sent = null;
    if (!state.pending) Object.assign(state, { line: data.line, off: new Set(data.off) });
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

/** The layer and head of a button; the head is null for the button of a whole layer. */
const layerAndHead = (button) => ({ layer: Number(button.dataset.layer), head: button.dataset.head === undefined ? null : Number(button.dataset.head) });
const headName = (layer, head) => `${layer}.${head}`;
/** The names of all heads of a layer. */
const headsOf = (root, layer) => [...Array(root.data.heads).keys()].map((head) => headName(layer, head));

function handleClick(root, button, byKeyboard, send) {
  const { state } = root, { layer, head } = layerAndHead(button);
  if (head === null) {
    flush(root, send);
    const row = headsOf(root, layer), allOff = row.every((item) => state.off.has(item));
    row.forEach((item) => (allOff ? state.off.delete(item) : state.off.add(item)));
    return apply(root, `${layer}`, send);
  }
  const name = headName(layer, head);
  if (state.pending?.head === name) {
    clearTimeout(state.pending.timer);
    toggle(state.off, name);
    state.pending = null;
    return keepOnly(root, layer, head, send);
  }
  flush(root, send);
  toggle(state.off, name);
  state.pending = { head: name, timer: setTimeout(() => flush(root, send), byKeyboard ? 0 : DOUBLE_CLICK_MS) };
  paint(root);
}

/** Switch off all other heads of the layer, or, if they are off already, switch all heads of the layer on. */
function keepOnly(root, layer, head, send) {
  const { off } = root.state, row = headsOf(root, layer), own = headName(layer, head);
  const isAlone = row.every((item) => off.has(item) !== (item === own));
  row.forEach((item) => (isAlone || item === own ? off.delete(item) : off.add(item)));
  apply(root, isAlone ? `${layer}s` : `${own}s`, send);
}

const toggle = (set, item) => (set.has(item) ? set.delete(item) : set.add(item));

/** Send a click that was held back because it could have been the first half of a double-click. */
function flush(root, send) {
  const { pending } = root.state;
  if (!pending) return;
  clearTimeout(pending.timer);
  root.state.pending = null;
  apply(root, pending.head, send);
}

/** Append a change to the line of changes and send the whole line. */
function apply(root, change, send) {
  const { state } = root;
  state.line = state.sent = state.line ? `${state.line},${change}` : change;
  paint(root);
  send("line", state.line);
}

function handleKey(root, button, event, send) {
  if (!button) return;
  const { layer, head } = layerAndHead(button), { layers, heads } = root.data;
  if (event.key.toLowerCase() === "s" && !event.ctrlKey && !event.metaKey && head !== null) return keepOnly(root, layer, head, send);
  const column = head === null ? -1 : head;
  const steps = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0], Home: [0, -1 - column], End: [0, heads] };
  if (!steps[event.key]) return;
  event.preventDefault();
  const [down, right] = steps[event.key];
  const [toLayer, toColumn] = [Math.min(Math.max(layer + down, 0), layers - 1), Math.min(Math.max(column + right, -1), heads - 1)];
  button.tabIndex = -1;
  const next = root.querySelectorAll(".grid button")[toLayer * (heads + 1) + toColumn + 1];
  next.tabIndex = 0;
  next.focus();
}

const signed = (value, digits = 2) => `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(digits)}`;
const fillTemplate = (text, values) => text.replace(/\{(\w+)\}/g, (_, key) => values[key] ?? "");
const percent = (value) => (value > 0 && value < 0.001 ? "< 0.1%" : `${(100 * value).toFixed(1)}%`);

/** The colour of a head's effect. A head helps if the log-odds fall when it is off. The larger the effect, the stronger the colour. */
function colour({ helps, hurts }, value, limit) {
  const share = Math.min(1, 0.06 + 0.86 * Math.abs(value) / limit);
  return `color-mix(in srgb, ${value < 0 ? helps : hurts} ${(100 * share).toFixed(1)}%, transparent)`;
}

/** The colour of a cell's number: dark or light on a strong background, "" (the text colour of the theme) on a weak one. */
function textColour({ dark, light }, value, limit) {
  const share = Math.abs(value) / limit;
  return value > 0 ? (share > 0.6 ? dark : "") : share > 0.75 ? light : "";
}

function describe(root, layer, head) {
  const { effects, probabilities, roles, texts, before } = root.data, lines = [fillTemplate(texts.head, { layer, head })];
  if (effects) lines.push(fillTemplate(texts.effect, { effect: signed(effects[layer][head]), before: percent(before), after: percent(probabilities[layer][head]) }));
  if (roles) lines.push(fillTemplate(texts.role, { role: texts.roles[roles[layer][head][0]], share: percent(roles[layer][head][1]) }));
  if (root.state.off.has(headName(layer, head))) lines.push(texts.off);
  return lines;
}

function paint(root) {
  const { data, state } = root, { texts, effects, limit } = data;
  const grid = root.querySelector(".grid");
  grid.setAttribute("aria-label", texts.label);
  grid.classList.toggle("dense", data.heads > 6);
  for (const button of root.querySelectorAll(".grid button")) {
    const { layer, head } = layerAndHead(button);
    if (head === null) {
      button.textContent = root.clientWidth < 480 ? `${layer}` : fillTemplate(texts.layer, { layer });
      button.title = texts.toggle;
      button.setAttribute("aria-pressed", headsOf(root, layer).every((item) => state.off.has(item)));
      continue;
    }
    const isOff = state.off.has(headName(layer, head)), value = effects?.[layer][head];
    button.className = isOff ? "off" : "";
    button.setAttribute("aria-pressed", isOff);
    button.setAttribute("aria-label", describe(root, layer, head).join(" · "));
    button.style.backgroundColor = value === undefined ? "" : colour(data.colours, value, limit);
    button.style.color = value === undefined ? "" : textColour(data.colours, value, limit);
    // on a phone, a cell of a dense grid is too narrow for a number and shows the sign, so that the colour is not the only difference
    if (value === undefined || Math.abs(value) < 0.05) delete button.dataset.sign;
    else button.dataset.sign = value < 0 ? "−" : "+";
    button.textContent = isOff ? "×" : value === undefined || Math.abs(value) < 0.05 ? "" : signed(value, 1);
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
  const { layer, head } = button ? layerAndHead(button) : { head: null };
  tip.hidden = head === null;
  if (head === null) return;
  const [title, ...lines] = describe(root, layer, head);
  tip.replaceChildren(element("b", {}, title), ...lines.map((line) => element("div", {}, line)));
  const frame = root.getBoundingClientRect(), box = button.getBoundingClientRect();
  const left = box.right - frame.left + 8;
  tip.style.left = `${left + tip.offsetWidth <= frame.width ? left : Math.max(0, box.left - frame.left - tip.offsetWidth - 8)}px`;
  tip.style.top = `${box.bottom - frame.top + 4}px`;
}
