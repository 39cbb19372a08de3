// Draws a text whose words are buttons, shaded by their surprise. A click reports the number of the word.
export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".writing");
  const focused = [...root.querySelectorAll("button")].indexOf(root.getRootNode().activeElement);
  root.dir = "auto";
  root.replaceChildren();
  data.words.forEach(({ before, word, strength, misfit, title }, number) => {
    const button = document.createElement("button");
    button.type = "button";
    button.className = misfit ? "misfit" : "";
    button.textContent = word;
    button.title = title;
    button.setAttribute("aria-label", title);
    button.setAttribute("aria-pressed", String(number === data.chosen));
    button.style.setProperty("--strength", `${Math.round(100 * strength)}%`);
    button.onclick = () => setTriggerValue("clicked", number);
    root.append(before, button);
  });
  root.append(data.after);
  root.querySelectorAll("button")[focused]?.focus();
}
