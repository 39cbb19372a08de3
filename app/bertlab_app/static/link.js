// A button that copies the address of the page, which contains everything that the user typed or chose.
export default function ({ data, parentElement }) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = data.label;
  button.onclick = async () => {
    await navigator.clipboard.writeText(window.location.href);
    button.textContent = data.copied;
    setTimeout(() => { button.textContent = data.label; }, 1500);
  };
  parentElement.querySelector(".link").replaceChildren(button);
}
