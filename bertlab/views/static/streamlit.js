// Mounts a view as a Streamlit component (v2); `data` has the bytes of the payload, and the component returns the view's state as `state`.
import { render } from "./VIEW.js";

const mounted = new WeakMap();

export default function ({ parentElement, data, setStateValue }) {
  if (!data) return undefined;
  const emit = (state) => setStateValue("state", state);
  let handle = mounted.get(parentElement);
  if (handle) {
    handle.listen(emit);
    handle.update(data);
  } else {
    const root = document.createElement("div");
    parentElement.appendChild(root);
    handle = render(root, data, emit);
    mounted.set(parentElement, handle);
  }
  return () => {
    if (mounted.get(parentElement) !== handle) return;
    mounted.delete(parentElement);
    handle.destroy();
  };
}
