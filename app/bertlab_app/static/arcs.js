// Draws words in a row and an arc for each attention weight: one colour for each head, thicker arcs for larger weights.
const HEIGHT = 150;

function element(name, attributes, text = "") {
  const node = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.textContent = text;
  return node;
}

export default function ({ data, parentElement }) {
  const picture = element("svg", { viewBox: `0 0 ${data.width} ${HEIGHT + 34}`, "aria-hidden": "true" });
  for (const { from, to, head, weight } of data.arcs) {
    const top = HEIGHT - Math.min(HEIGHT * 1.3, 14 + Math.abs(from - to) * 0.55);
    picture.append(element("path", {
      d: `M${from} ${HEIGHT} C${from} ${top} ${to} ${top} ${to} ${HEIGHT}`, fill: "none", stroke: data.colours[head % data.colours.length],
      "stroke-width": 0.6 + 4 * weight, "stroke-opacity": 0.25 + 0.6 * weight, "stroke-linecap": "round",
    }));
  }
  for (const { x, text } of data.words) picture.append(element("text", { x, y: HEIGHT + 24 }, text));
  parentElement.querySelector(".arcs").replaceChildren(picture);
}
