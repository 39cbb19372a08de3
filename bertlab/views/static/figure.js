// The save menu of a Plotly chart or an SVG in the same block of the host's page.
import { exportSvg, saveMenu } from "./save.js";
import { viewTexts } from "./texts.js";

/**
 * Mount the menu. data: {name, title, lang, frame, columns, code, subject}. frame: a selector of the element that contains the
 * chart and the menu; columns: the data to save, read from the chart if missing; the other fields are those of `saveMenu`.
 */
export function render(root, data) {
  const mount = (picture) => {
    const frame = () => root.getRootNode().host?.closest(picture.frame) ?? root.closest(picture.frame);
    const chart = () => frame().querySelector(".js-plotly-plot");
    const layers = () => (chart() ? [...chart().querySelectorAll(".main-svg")] : [findDeep(frame(), "svg")]);
    const columns = () => picture.columns ?? (chart() ? readChart(chart()) : {});
    root.className = "bl-view bl-beside";
    root.replaceChildren(saveMenu(viewTexts(picture), {
      name: picture.name, title: picture.title, code: picture.code, subject: picture.subject, svg: () => exportSvg(layers()), data: columns,
    }));
  };
  mount(data);
  return { update: mount, listen() {}, destroy: () => root.replaceChildren() };
}

/** Find an element that matches a selector; shadow roots are searched too. */
function findDeep(node, selector) {
  const match = node.querySelector(selector);
  if (match) return match;
  for (const child of node.querySelectorAll("*")) {
    const nested = child.shadowRoot && findDeep(child.shadowRoot, selector);
    if (nested) return nested;
  }
  return null;
}

/** Read the data of a Plotly chart as columns: a row for each mark with its trace, coordinates, value and label. */
function readChart(chart) {
  const columns = { trace: [], x: [], y: [], value: [], label: [] };
  const plain = (text) => (typeof text === "string" ? new DOMParser().parseFromString(text, "text/html").body.textContent : text);
  const add = (...row) => Object.values(columns).forEach((list, i) => list.push(plain(row[i])));
  const label = (value) => (typeof value === "object" ? undefined : value);
  for (const trace of chart._fullData) {
    const name = trace.name ?? trace.index;
    if (trace.z) trace.z.forEach((line, r) => line.forEach((value, c) => add(name, trace.x?.[c] ?? c, trace.y?.[r] ?? r, value, label(trace.customdata?.[r]?.[c]))));
    else for (let i = 0; i < Math.max(trace.x?.length ?? 0, trace.y?.length ?? 0); i++) add(name, trace.x?.[i], trace.y?.[i], undefined, label(trace.customdata?.[i]));
  }
  return Object.fromEntries(Object.entries(columns).filter(([, list]) => list.some((value) => value !== undefined && value !== null)));
}
