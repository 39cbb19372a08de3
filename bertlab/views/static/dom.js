// Builds DOM elements, and the handle with which a host controls a mounted view.

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

/** Load a payload into a view and return its handle, with which a host updates it, removes it and reads its state. */
export function mountView(view, payload, options) {
  const load = (bytes, newOptions) => view.load(bytes, newOptions).catch((error) => {
    console.error(error);
    view.showError();
  });
  return {
    ready: load(payload, options),
    update: (bytes, newOptions = options) => load(bytes, newOptions),
    destroy: () => view.destroy(),
    state: () => ({ ...view.state }),
    listen: (listener) => { view.emit = listener; },
  };
}
