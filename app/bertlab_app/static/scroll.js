// Scrolls a passage to the best answer whenever the passage is drawn.
// The CSS property `scroll-initial-target` does this only once, and only in some browsers.
const observers = new WeakMap();

export default function ({ parentElement }) {
  const host = parentElement.getRootNode().host ?? parentElement;
  const area = host.closest('[class*="st-key-"]:not([class*="st-key-scroll-"])') ?? document.body;
  const done = new WeakSet();

  const scroll = () => {
    for (const box of area.querySelectorAll(".passage")) {
      const mark = box.querySelector(".bl-best");
      if (!mark || done.has(box) || !box.clientHeight) continue;
      done.add(box);
      const [outer, inner] = [box.getBoundingClientRect(), mark.getBoundingClientRect()];
      // `scrollIntoView` would also scroll the page
      box.scrollTop += inner.top - outer.top - (box.clientHeight - Math.min(inner.height, box.clientHeight)) / 2;
    }
  };

  observers.get(parentElement)?.disconnect();
  const observer = new MutationObserver(scroll);
  observer.observe(area, { childList: true, subtree: true });
  observers.set(parentElement, observer);
  scroll();
  return () => observer.disconnect();
}
