// The search of a page that is opened from the disk: browsers refuse workers there, so its script runs in a hidden frame.
if (location.protocol === "file:") {
  window.IFrameWorker = window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.body.appendChild(document.createElement("iframe"));
      frame.hidden = true;
      const scope = (this.scope = frame.contentWindow);
      const load = (source) =>
        new Promise((loaded) => {
          const script = scope.document.createElement("script");
          Object.assign(script, { src: new URL(source, location.href).href, onload: loaded });
          scope.document.body.appendChild(script);
        });
      scope.importScripts = (...sources) => sources.reduce((last, each) => last.then(() => load(each)), Promise.resolve());
      scope.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      this.ready = load(url);
    }

    postMessage(data) {
      this.ready.then(() => this.scope.dispatchEvent(new MessageEvent("message", { data })));
    }
  };
}
