// The save menu of a picture: SVG, PNG, CSV, Python lines and an offline HTML file, all made in the browser.
import { element } from "./dom.js";
import { PALETTE } from "./palette.js";

export const SVG = "http://www.w3.org/2000/svg"; // the namespace of SVG elements
const PNG_SCALE = 3; // pixels per CSS pixel, so that the picture is sharp in print
const MAX_TABLE_ROWS = 1000; // in the table of an HTML file; the CSV inside it has all rows

/**
 * A button and its menu. picture: {name, svg(), data(), code, page(), subject}; a format is offered only if its part of the picture is given.
 * subject: {checkpoint, text, ...}, values that are added to every row of the data as further columns.
 * svg() -> text; data() -> {column: [values]}; code: text or () -> text; page() -> text of an HTML file. svg, data and page may also return promises.
 */
export function saveMenu(text, picture) {
  if (!("popover" in HTMLElement.prototype)) return element("span"); // Firefox before 125 and Safari before 17: no menu
  const menu = element("div", { class: "bl-menu", popover: "auto", role: "menu", "aria-label": text.save });
  const addItem = (kind, label, make) => menu.append(element("button", { type: "button", role: "menuitem", "data-save": kind, onclick: async () => {
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
    addItem("svg", text.saveSvg, async () => new Blob([await picture.svg()], { type: "image/svg+xml" }));
    addItem("png", "PNG", async () => toPng(await picture.svg()));
  }
  if (picture.data) addItem("csv", text.saveCsv, async () => new Blob(["\ufeff", toCsv(await tableWithSubject(picture))], { type: "text/csv" }));
  if (picture.code) addItem("py", text.savePython, async () => new Blob([pythonLines(picture)], { type: "text/x-python" }));
  const page = picture.page ?? (picture.svg && (async () => htmlPage(text, picture, await picture.svg(), (await picture.data?.()) ?? {})));
  if (page) addItem("html", text.saveHtml, async () => new Blob([await page()], { type: "text/html" }));
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

/** The columns of a picture and, repeated in every row, its subject, such as the checkpoint and the text. */
async function tableWithSubject(picture) {
  const columns = (await picture.data?.()) ?? {};
  const count = toRows(columns).length;
  const repeated = Object.entries(picture.subject ?? {}).map(([name, value]) => [name, Array(count).fill(value)]);
  return { ...columns, ...Object.fromEntries(repeated) };
}

function pythonLines({ code }) {
  return typeof code === "function" ? code() : code;
}

/** Write a JSON value as a Python literal. */
export function pythonLiteral(value) {
  if (value === null) return "None";
  if (value === true) return "True";
  if (value === false) return "False";
  if (Array.isArray(value)) return `[${value.map(pythonLiteral).join(", ")}]`;
  if (typeof value === "object") return `{${Object.entries(value).map(([name, item]) => `${pythonLiteral(name)}: ${pythonLiteral(item)}`).join(", ")}}`;
  return JSON.stringify(value); // a JSON string is a valid Python string
}

/** Download a file. */
export function download(name, blob) {
  const link = element("a", { download: name, href: URL.createObjectURL(blob) });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}

/** Write columns as comma-separated values (RFC 4180). */
export function toCsv(columns) {
  const cell = (value) => {
    const text = value === null || value === undefined ? "" : String(value);
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return `${[Object.keys(columns), ...toRows(columns)].map((row) => row.map(cell).join(",")).join("\r\n")}\r\n`;
}

function toRows(columns) {
  const lists = Object.values(columns);
  return Array.from({ length: Math.max(0, ...lists.map((list) => list.length)) }, (_, i) => lists.map((list) => list[i]));
}

/** Convert SVG to PNG, drawn by the browser. */
export async function toPng(svg) {
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
 * is written once, because a long text in every row would multiply the size of the file.
 */
function htmlPage(text, picture, svg, columns) {
  const title = picture.title ?? picture.name ?? "";
  const cells = (row, tag) => element("tr", {}, ...row.map((value) => element(tag, {}, value === null || value === undefined ? "" : String(value))));
  const rows = toRows(columns);
  const body = element("body", {}, element("h1", {}, title));
  const figure = element("figure");
  body.append(figure);
  for (const [name, value] of Object.entries(picture.subject ?? {})) body.append(element("p", {}, `${name}: ${value}`));
  if (rows.length) {
    const bytes = new TextEncoder().encode(`\ufeff${toCsv(columns)}`);
    const base64 = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
    const link = element("a", { download: `${picture.name}.csv`, href: `data:text/csv;base64,${base64}` }, text.saveCsv);
    body.append(element("details", {}, element("summary", {}, `${text.data} (${rows.length})`), element("p", {}, link),
      element("table", {}, cells(Object.keys(columns), "th"), ...rows.slice(0, MAX_TABLE_ROWS).map((row) => cells(row, "td"))),
      rows.length > MAX_TABLE_ROWS ? element("p", {}, "…") : null));
  }
  if (picture.code) body.append(element("details", {}, element("summary", {}, "Python"), element("pre", {}, pythonLines(picture))));
  const style = element("style", {}, `body{font:16px/1.5 system-ui,sans-serif;color:${INK};background:${GROUND};max-width:1100px;margin:24px auto;padding:0 16px}`
    + "figure{margin:16px 0;overflow-x:auto}h1{font-size:20px;overflow-wrap:anywhere}td,th{padding:2px 12px 2px 0;text-align:start;border-bottom:1px solid #ddd}"
    + "pre{overflow-x:auto;background:#f4f5f7;padding:12px}details{margin:8px 0}");
  const head = element("head", {}, element("meta", { charset: "utf-8" }), element("meta", { name: "viewport", content: "width=device-width, initial-scale=1" }),
    element("meta", { "http-equiv": "Content-Security-Policy", content: "default-src 'none'; style-src 'unsafe-inline'; img-src data:" }),
    element("title", {}, title), style);
  // parsed as XML, so that nothing in the picture can become HTML
  figure.append(document.importNode(new DOMParser().parseFromString(svg, "image/svg+xml").documentElement, true));
  return `<!doctype html>\n${element("html", { lang: text.lang }, head, body).outerHTML}\n`;
}

const { ink: INK, ground: GROUND } = PALETTE.themes.light;
const INTERACTION_LAYERS = ".hoverlayer, .draglayer, .zoomlayer, .selectionlayer, .menulayer, .updatemenu-container";

/** Write a drawn SVG, or the layers of a Plotly chart, as one SVG text with the light theme's colours. */
export function exportSvg(layers) {
  const box = layers[0].getBoundingClientRect();
  const viewBox = layers[0].viewBox?.baseVal;
  const size = [Math.round(box.width), Math.round(box.height)];
  const svg = document.createElementNS(SVG, "svg");
  const set = (node, attributes) => Object.entries(attributes).forEach(([name, value]) => node.setAttribute(name, value));
  set(svg, { xmlns: SVG, width: size[0], height: size[1], viewBox: viewBox?.width ? `${viewBox.x} ${viewBox.y} ${viewBox.width} ${viewBox.height}` : `0 0 ${size.join(" ")}` });
  const ground = document.createElementNS(SVG, "rect");
  set(ground, { width: "100%", height: "100%", fill: GROUND });
  svg.append(ground);
  for (const layer of layers) {
    const copy = layer.cloneNode(true);
    // the copy does not have the text styles that come from the page's style sheets
    const [from, to] = [layer.querySelectorAll("text"), copy.querySelectorAll("text")];
    to.forEach((node, i) => {
      const style = getComputedStyle(from[i]);
      Object.assign(node.style, { fontFamily: style.fontFamily.replaceAll('"', "'"), fontSize: style.fontSize, fontWeight: style.fontWeight,
        textAnchor: style.textAnchor, fill: INK, whiteSpace: "pre" });
      // the text keeps its width even if another program replaces the font
      if (!node.childElementCount && from[i].getComputedTextLength() > 0) set(node, { textLength: from[i].getComputedTextLength().toFixed(1), lengthAdjust: "spacingAndGlyphs" });
    });
    copy.querySelectorAll(INTERACTION_LAYERS).forEach((node) => node.remove());
    svg.append(...copy.childNodes);
  }
  // references to clip paths and gradients may contain the address of the page
  return new XMLSerializer().serializeToString(svg).replace(/url\((&quot;|['"])?[^)#]*#([^)'"&]+)(&quot;|['"])?\)/g, "url(#$2)");
}
