// Mounts a view as an anywidget: `payload` are the bytes, `state` goes both ways.
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
  const changed = () => handle.update(model.get("payload"), options());
  model.on("change:payload", changed);
  model.on("change:state", changed);
  return () => {
    model.off("change:payload", changed);
    model.off("change:state", changed);
    handle.destroy();
  };
}

export default { render: mount };
