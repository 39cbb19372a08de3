// Mounts a view in a page of its own, which contains the payload as base64.
import { render } from "./VIEW.js";

const text = document.getElementById("payload").textContent;
const payload = Uint8Array.fromBase64?.(text) ?? Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
globalThis.bertlab = render(document.getElementById("view"), payload);
