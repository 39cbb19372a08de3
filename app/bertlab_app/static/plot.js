// Draws a Plotly chart and redraws it in place. `st.plotly_chart` would build a new chart after every change and draw it twice.
const CONFIG = { displayModeBar: false };
const MIN_WIDTH = 150;
const observed = new WeakMap(); // chart -> the observer of its width
let library; // a promise of Plotly, which all charts share

export default async function ({ data, parentElement, setTriggerValue }) {
  const chart = parentElement.querySelector(".plot");
  chart.report = data.clickable && ((point) => setTriggerValue("clicked", copyPlain(point.customdata)));
  chart.reportSelection = data.selectable
    && ((points) => points.length && setTriggerValue("selected", points.map((point) => copyPlain(point.customdata))));
  const description = JSON.stringify(data.figure);
  if (chart.description !== description) {
    chart.description = description;
    chart.style.minHeight = `${data.figure.layout.height}px`;
    chart.figure = data.figure;
    await draw(chart, data.script);
  }
  // Streamlit also calls this when newer data arrives, while the chart stays on the page.
  return () => {
    if (chart.isConnected) return;
    observed.get(chart)?.disconnect();
    window.Plotly?.purge(chart);
  };
}

async function draw(chart, file) {
  const { figure } = chart;
  const Plotly = await (library ??= load(file));
  if (figure !== chart.figure || !chart.isConnected) return;
  Plotly.react(chart, figure.data, { ...figure.layout, width: fittingWidth(chart) }, CONFIG);
  if (observed.has(chart)) return;
  chart.on("plotly_click", ({ points }) => {
    if (chart.report) chart.report(points[0]);
    if (chart.reportSelection) chart.reportSelection(points.slice(0, 1));
  });
  // The event has no points when a selection ends.
  chart.on("plotly_selected", (event) => chart.reportSelection && chart.reportSelection(event?.points ?? []));
  const observer = new ResizeObserver(() => {
    if (chart.layout.width !== fittingWidth(chart)) Plotly.relayout(chart, { width: fittingWidth(chart) });
  });
  observer.observe(chart);
  observed.set(chart, observer);
}

const fittingWidth = (chart) => Math.max(chart.getBoundingClientRect().width, MIN_WIDTH);
const copyPlain = (value) => (ArrayBuffer.isView(value) ? [...value] : value);

/** Load Plotly from the app's server, at the same base address as Streamlit's own scripts. */
function load(file) {
  const base = document.querySelector('script[src*="static/js/"]').src.split("static/js/")[0];
  return new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = base + file;
    script.onload = () => resolve(window.Plotly);
    script.onerror = () => {
      library = undefined; // the next chart tries again
      reject(new Error(`${script.src} cannot be loaded`));
    };
    document.head.append(script);
  });
}
