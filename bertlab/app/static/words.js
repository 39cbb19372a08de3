// A text as words to click. Python sends which words are masked; a click reports the number of its word.
export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".words");
  const focused = [...root.querySelectorAll("button")].indexOf(root.getRootNode().activeElement);
  root.dir = "auto";
  root.replaceChildren();
  data.words.forEach(({ before, word, hidden, mark }, number) => {
    const button = document.createElement("button");
    button.type = "button";
    button.className = mark ? "mark" : "";
    button.textContent = hidden ? "[MASK]" : word;
    button.title = hidden ? word : "";
    button.setAttribute("aria-pressed", String(hidden));
    button.onclick = () => setTriggerValue("clicked", number);
    root.append(before, button);
  });
  root.append(data.after);
  root.querySelectorAll("button")[focused]?.focus();
}
