// The page's connection to the worker, which runs the model.
//
// Some browsers start no worker for a page from disk. The same program then runs in the page: its answers are the same, but
// the page does not react while it computes.

/**
 * The model in the worker. `ask` resolves with the result, or with null if a newer request has replaced this one. The result of
 * `load` (true) and the lists that tests ask for are never replaced.
 */
export class Model {
  constructor(source) {
    this.source = source;
    this.pending = new Map();
    this.newest = 0;
    this.unconfirmed = []; // the messages that were sent before the worker's first answer; null after it
    try {
      this.connect(new Worker(URL.createObjectURL(new Blob([source], { type: "text/javascript" }))));
      this.port.onerror = (event) => {
        event.preventDefault();
        if (this.unconfirmed) this.runInPage();
        else this.fail();
      };
    } catch {
      this.runInPage();
    }
  }

  connect(port) {
    this.port = port;
    port.onmessage = ({ data }) => this.receive(data);
  }

  /** Run the worker's program as a script of the page, where `self` is one end of a channel. */
  runInPage() {
    const { port1, port2 } = new MessageChannel();
    globalThis.bertlabPort = port2;
    const script = document.createElement("script");
    script.textContent = `{ const self = globalThis.bertlabPort; ${this.source}\n}`;
    document.head.append(script);
    this.connect(port1);
    this.isInPage = true;
    for (const message of this.unconfirmed) port1.postMessage(message);
  }

  send(message) {
    this.unconfirmed?.push(message);
    this.port?.postMessage(message);
  }

  ask(kind, request = {}, onPart = () => {}) {
    const id = ++this.newest;
    return new Promise((resolve, reject) => {
      this.pending.set(id, { resolve, reject, onPart });
      this.send({ ...request, id, kind });
    });
  }

  /** Send a part of the weights. */
  addWeights(text) {
    this.send({ kind: "weights", text });
  }

  receive({ id, part, result, error }) {
    this.unconfirmed = null;
    const request = this.pending.get(id);
    if (!request) return;
    const isNewest = id === this.newest;
    if (part !== undefined) {
      if (isNewest) request.onPart(part);
      return;
    }
    this.pending.delete(id);
    if (error) request.reject({ ...error, isNewest });
    else request.resolve(isNewest || result === true || Array.isArray(result) ? result : null);
  }

  /** Reject every pending request, because the worker has stopped. */
  fail() {
    for (const id of [...this.pending.keys()]) this.receive({ id, error: { id: "errorFailed" } });
  }
}
