// The save menu of a picture: SVG, PNG, CSV, Python lines and an offline HTML file, all made in the browser.
import { element } from "./dom.js";
import { PALETTE } from "./palette.js";

export const SVG = "http://www.w3.org/2000/svg";
const PNG_SCALE = 3; // pixels per CSS pixel: sharp in print at its size on the screen
const TABLE_ROWS = 1000; // most rows in the table of an HTML file; its CSV has all

/**
 * A button and its menu. picture: {name, svg(), data(), code, page(), subject}; formats whose part is missing or null are not offered.
 * subject: {checkpoint, text, ...}, columns that are added to every row of the data.
 * svg() -> text; data() -> {column: [values]}; code: text or () -> text; page() -> text of an HTML file, or a promise of any of these.
 */
export function saveMenu(text, picture) {
  const menu = element("div", { class: "bl-menu", popover: "auto", role: "menu", "aria-label": text.save });
  const offer = (kind, label, make) => menu.append(element("button", { type: "button", role: "menuitem", "data-save": kind, onclick: async () => {
    menu.hidePopover();
    try {
      download(`${picture.name ?? "figure"}.${kind}`, await make());
    } catch (error) {
      console.warn(error);
      button.title = text.saveFailed;
      button.classList.add("bl-failed");
    }
  } }, label));
  if (picture.svg) {
    offer("svg", text.saveSvg, async () => new Blob([await picture.svg()], { type: "image/svg+xml" }));
    offer("png", "PNG", async () => png(await picture.svg()));
  }
  if (picture.data) offer("csv", text.saveCsv, async () => new Blob(["\ufeff", csv(await table(picture))], { type: "text/csv" }));
  if (picture.code) offer("py", text.savePython, async () => new Blob([lines(picture)], { type: "text/x-python" }));
  const page = picture.page ?? (picture.svg && (async () => htmlPage(text, picture, await picture.svg(), (await picture.data?.()) ?? {})));
  if (page) offer("html", text.saveHtml, async () => new Blob([await page()], { type: "text/html" }));
  const button = element("button", { type: "button", class: "bl-quiet bl-save", "aria-haspopup": "menu", onclick: () => {
    menu.togglePopover();
    const [at, size] = [button.getBoundingClientRect(), menu.getBoundingClientRect()];
    menu.style.left = `${Math.max(4, Math.min(at.right - size.width, innerWidth - size.width - 4))}px`;
    menu.style.top = `${at.bottom + size.height + 8 > innerHeight ? Math.max(4, at.top - size.height - 4) : at.bottom + 4}px`;
  } }, text.save);
  menu.addEventListener("toggle", (event) => { if (event.newState === "open") menu.firstElementChild?.focus(); });
  menu.addEventListener("keydown", (event) => {
    const items = [...menu.children];
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!by) return;
    event.preventDefault();
    items[(items.indexOf(event.target) + by + items.length) % items.length].focus();
  });
  return element("span", { class: "bl-saving" }, button, menu);
}

/** The columns of a picture, then those of its subject, such as the checkpoint and the text. */
async function table(picture) {
  const columns = (await picture.data?.()) ?? {};
  const count = rows(columns).length;
  const repeated = Object.entries(picture.subject ?? {}).map(([name, value]) => [name, Array(count).fill(value)]);
  return { ...columns, ...Object.fromEntries(repeated) };
}

function lines({ code }) {
  return typeof code === "function" ? code() : code;
}

/** A JSON value as a Python literal. */
export function literal(value) {
  if (value === null) return "None";
  if (value === true) return "True";
  if (value === false) return "False";
  if (Array.isArray(value)) return `[${value.map(literal).join(", ")}]`;
  if (typeof value === "object") return `{${Object.entries(value).map(([name, item]) => `${literal(name)}: ${literal(item)}`).join(", ")}}`;
  return JSON.stringify(value); // a JSON string is a valid Python string
}

/** Download a file. */
export function download(name, blob) {
  const link = element("a", { download: name, href: URL.createObjectURL(blob) });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}

/** Columns as comma-separated values (RFC 4180). */
export function csv(columns) {
  const cell = (value) => {
    const text = value === null || value === undefined ? "" : String(value);
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return `${[Object.keys(columns), ...rows(columns)].map((row) => row.map(cell).join(",")).join("\r\n")}\r\n`;
}

function rows(columns) {
  const lists = Object.values(columns);
  return Array.from({ length: Math.max(0, ...lists.map((list) => list.length)) }, (_, i) => lists.map((list) => list[i]));
}

/** Convert SVG to PNG, drawn by the browser. */
export async function png(svg) {
  const image = new Image();
  image.src = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
  try {
    await image.decode();
    const canvas = element("canvas", { width: Math.round(image.width * PNG_SCALE), height: Math.round(image.height * PNG_SCALE) });
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    return await new Promise((done, fail) => canvas.toBlob((blob) => (blob ? done(blob) : fail(new Error("no PNG"))), "image/png"));
  } finally {
    URL.revokeObjectURL(image.src);
  }
}

/**
 * An offline page without scripts: the picture, its subject, its data, and the Python lines that draw it again. The subject
 * is stated once: in every row, a long text would multiply the size of the file.
 */
function htmlPage(text, picture, svg, columns) {
  const title = picture.title ?? picture.name ?? "";
  const cells = (row, tag) => element("tr", {}, ...row.map((value) => element(tag, {}, value === null || value === undefined ? "" : String(value))));
  const all = rows(columns);
  const body = element("body", {}, element("h1", {}, title));
  const place = element("figure");
  body.append(place);
  for (const [name, value] of Object.entries(picture.subject ?? {})) body.append(element("p", {}, `${name}: ${value}`));
  if (all.length) {
    const bytes = new TextEncoder().encode(`\ufeff${csv(columns)}`);
    const base64 = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
    const link = element("a", { download: `${picture.name}.csv`, href: `data:text/csv;base64,${base64}` }, text.saveCsv);
    body.append(element("details", {}, element("summary", {}, `${text.data} (${all.length})`), element("p", {}, link),
      element("table", {}, cells(Object.keys(columns), "th"), ...all.slice(0, TABLE_ROWS).map((row) => cells(row, "td"))),
      all.length > TABLE_ROWS ? element("p", {}, "…") : null));
  }
  if (picture.code) body.append(element("details", {}, element("summary", {}, "Python"), element("pre", {}, lines(picture))));
  const style = element("style", {}, `body{font:16px/1.5 system-ui,sans-serif;color:${INK};background:${GROUND};max-width:1100px;margin:24px auto;padding:0 16px}`
    + "figure{margin:16px 0;overflow-x:auto}h1{font-size:20px;overflow-wrap:anywhere}td,th{padding:2px 12px 2px 0;text-align:start;border-bottom:1px solid #ddd}"
    + "pre{overflow-x:auto;background:#f4f5f7;padding:12px}details{margin:8px 0}");
  const head = element("head", {}, element("meta", { charset: "utf-8" }), element("meta", { name: "viewport", content: "width=device-width, initial-scale=1" }),
    element("meta", { "http-equiv": "Content-Security-Policy", content: "default-src 'none'; style-src 'unsafe-inline'; img-src data:" }),
    element("title", {}, title), style);
  // parsed as XML, so that nothing in the picture can become HTML
  place.append(document.importNode(new DOMParser().parseFromString(svg, "image/svg+xml").documentElement, true));
  return `<!doctype html>\n${element("html", { lang: text.lang }, head, body).outerHTML}\n`;
}

const { ink: INK, ground: GROUND } = PALETTE.themes.light;
const IDLE = ".hoverlayer, .draglayer, .zoomlayer, .selectionlayer, .menulayer, .updatemenu-container";

/** A drawn SVG, or the layers of a Plotly chart, as one SVG text, dark on white in every theme. */
export function standalone(layers) {
  const box = layers[0].getBoundingClientRect();
  const view = layers[0].viewBox?.baseVal;
  const size = [Math.round(box.width), Math.round(box.height)];
  const svg = document.createElementNS(SVG, "svg");
  const set = (node, attributes) => Object.entries(attributes).forEach(([name, value]) => node.setAttribute(name, value));
  set(svg, { xmlns: SVG, width: size[0], height: size[1], viewBox: view?.width ? `${view.x} ${view.y} ${view.width} ${view.height}` : `0 0 ${size.join(" ")}` });
  const ground = document.createElementNS(SVG, "rect");
  set(ground, { width: "100%", height: "100%", fill: GROUND });
  svg.append(ground);
  for (const layer of layers) {
    const copy = layer.cloneNode(true);
    // styles of text from the page's style sheets are not in the copy
    const [from, to] = [layer.querySelectorAll("text"), copy.querySelectorAll("text")];
    to.forEach((node, i) => {
      const style = getComputedStyle(from[i]);
      Object.assign(node.style, { fontFamily: style.fontFamily.replaceAll('"', "'"), fontSize: style.fontSize, fontWeight: style.fontWeight,
        textAnchor: style.textAnchor, fill: INK, whiteSpace: "pre" });
      // another font elsewhere must not take more space
      if (!node.childElementCount && from[i].getComputedTextLength() > 0) set(node, { textLength: from[i].getComputedTextLength().toFixed(1), lengthAdjust: "spacingAndGlyphs" });
    });
    copy.querySelectorAll(IDLE).forEach((node) => node.remove());
    svg.append(...copy.childNodes);
  }
  // references to clip paths and gradients may contain the address of the page
  return new XMLSerializer().serializeToString(svg).replace(/url\((&quot;|['"])?[^)#]*#([^)'"&]+)(&quot;|['"])?\)/g, "url(#$2)");
}
