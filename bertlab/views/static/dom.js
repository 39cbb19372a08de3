// Building DOM elements, and the handle that a host gets of a mounted view.

/** Build one DOM element; children that are strings become text, never markup. */
export function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

/** The handle of a mounted view, with which a host updates it, removes it and reads its state. */
export function handle(view, payload, options) {
  const load = (bytes, given) => view.load(bytes, given).catch((error) => {
    console.error(error);
    view.fail();
  });
  return {
    ready: load(payload, options),
    update: (bytes, given = options) => load(bytes, given),
    destroy: () => view.destroy(),
    state: () => ({ ...view.state }),
    hear: (listener) => { view.emit = listener; },
  };
}
