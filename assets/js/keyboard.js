// The keyboard map: every key that the page answers to, shown by "?".
const KEYS = [
  [["?"], "keys_help"],
  [["Esc"], "keys_escape"],
  [["Space"], "keys_space"],
  [["←", "→"], "keys_clock"],
  [["←", "→"], "keys_tokens"],
  [["Home", "End"], "keys_ends"],
  [["←", "→"], "keys_rounds"],
  [["↑", "↓"], "keys_lanes"],
  [["Enter"], "keys_enter"],
];

function keyboardMap() {
  const dialog = make("dialog", "sd-keys");
  const title = worded("h2", "", "keys_title");
  title.id = "sd-keys-title";
  dialog.setAttribute("aria-labelledby", title.id);
  const list = make("dl");
  for (const [keys, meaning] of KEYS) {
    const names = make("dt");
    names.append(...keys.map((key) => make("kbd", "", key)));
    list.append(names, worded("dd", "", meaning));
  }
  const close = worded("button", "sd-button", "keys_close");
  close.type = "button";
  close.addEventListener("click", () => dialog.close());
  dialog.append(title, list, close);
  document.addEventListener("keydown", (event) => {
    const isTyping = event.target.closest?.("input:not([type=range], [type=checkbox], [type=radio]), textarea, [contenteditable]");
    if (event.key !== "?" || isTyping || dialog.open) return;
    event.preventDefault();
    dialog.showModal();
  });
  return dialog;
}
