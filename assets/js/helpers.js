// Shared by every view. All text reaches the page through textContent, never through markup.
const root = element.firstElementChild;

const make = (tag, className = "", text = "") => {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text) node.textContent = text;
  return node;
};

// An element whose text is the word of that key, in whichever language is chosen.
const worded = (tag, className, key) => {
  const node = make(tag, className);
  node.dataset.word = key;
  return node;
};

const word = (key) => props.words[key] ?? "";

const fill = (key, values) =>
  word(key).replace(/\{(\w+)\}/g, (_, name) => values[name] ?? "");

// A number that says what it means while it is pointed at or focused.
const defined = (node, name) => {
  node.dataset.define = `define_${name}`;
  node.tabIndex = 0;
  return node;
};

const relabel = (root) => {
  root.lang = props.language;
  for (const node of root.querySelectorAll("[data-define]")) {
    node.dataset.tip = word(node.dataset.define);
    node.setAttribute("aria-description", node.dataset.tip);
  }
  for (const node of root.querySelectorAll("[data-word]")) node.textContent = word(node.dataset.word);
};

const number = (value, digits) =>
  value === null || value === undefined
    ? "–"
    : value.toLocaleString(props.language, {
        minimumFractionDigits: digits,
        maximumFractionDigits: digits,
      });

const speedupText = (value) => (value ? `${number(value, 2)}×` : "–");

// How one view tells another what happened in the browser alone.
const announce = (name, detail) => window.dispatchEvent(new CustomEvent(name, { detail }));

const copyText = async (text) => {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  // Browsers keep the clipboard from pages served over plain http, localhost excepted.
  const field = make("textarea", "sd-unseen");
  field.value = text;
  root.append(field);
  field.select();
  document.execCommand("copy");
  field.remove();
};

const download = (name, address) => {
  const link = make("a");
  link.href = address;
  link.download = name;
  link.click();
};

const downloadBlob = (name, blob) => {
  const address = URL.createObjectURL(blob);
  download(name, address);
  setTimeout(() => URL.revokeObjectURL(address), 1000);
};
