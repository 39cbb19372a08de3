// Draws a text whose words are buttons. Python says which words are masked; a click reports the number of the word.
export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".words");
  const focused = [...root.querySelectorAll("button")].indexOf(root.getRootNode().activeElement);
  root.dir = "auto";
  root.replaceChildren();
  data.words.forEach(({ before, word, masked, punctuation }, number) => {
    const button = document.createElement("button");
    button.type = "button";
    button.className = punctuation ? "punctuation" : "";
    button.textContent = masked ? "[MASK]" : word;
    button.title = masked ? word : "";
    button.setAttribute("aria-pressed", String(masked));
    button.onclick = () => setTriggerValue("clicked", number);
    root.append(before, button);
  });
  root.append(data.after);
  root.querySelectorAll("button")[focused]?.focus();
}
