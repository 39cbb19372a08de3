// Mounts a view as an anywidget; `payload` has the bytes, and `state` is synchronised in both directions.
import { render } from "./VIEW.js";

function mount({ model, el }) {
  const root = document.createElement("div");
  el.appendChild(root);
  const emit = (state) => {
    model.set("state", state);
    model.save_changes();
  };
  const options = () => ({ state: Object.keys(model.get("state")).length ? model.get("state") : undefined });
  const handle = render(root, model.get("payload"), emit, options());
  const update = () => handle.update(model.get("payload"), options());
  model.on("change:payload", update);
  model.on("change:state", update);
  return () => {
    model.off("change:payload", update);
    model.off("change:state", update);
    handle.destroy();
  };
}

export default { render: mount };
