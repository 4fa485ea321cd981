// Another run beside the one on screen. It is compared anew when another run comes on screen.
darkColours = fixed.dark;
const LARGEST = 8_000_000;
const choice = make("select");
const opener = make("input", "sd-unseen");
const openButton = worded("button", "", "recordings_open");
const sheet = make("div", "sd-compared");
const plot = make("div", "sd-plot");
let asked = null;

Object.assign(opener, { type: "file", accept: ".json,.gz", tabIndex: -1 });
opener.setAttribute("aria-hidden", "true");
openButton.type = "button";
choice.setAttribute("aria-labelledby", "sd-compare-title");
const title = worded("h2", "", "compare");
title.id = "sd-compare-title";
const bar = make("div", "sd-recordings");
bar.append(title, ...(fixed.names.length ? [choice] : []), openButton, opener);
root.append(bar, sheet);

const ask = (event, detail) => {
  asked = [event, detail];
  trigger(event, detail);
};

choice.addEventListener("change", () => choice.value && ask("comparison_select", { name: choice.value }));
openButton.addEventListener("click", () => opener.click());
opener.addEventListener("change", () => {
  const [file] = opener.files;
  opener.value = "";
  if (!file) return;
  choice.value = "";
  if (file.size > LARGEST) return ask("comparison_open", { data: "" });
  const reader = new FileReader();
  reader.addEventListener("load", () => {
    ask("comparison_open", { data: reader.result.slice(reader.result.indexOf(",") + 1) });
  });
  reader.readAsDataURL(file);
});
window.addEventListener("sd-run-ready", () => asked && trigger(...asked));

function row(cells, tag) {
  const line = make("tr");
  cells.forEach((text, column) => {
    const cell = make(column ? tag : "th", "", text);
    cell.scope = column ? (tag === "th" ? "col" : "") : tag === "th" ? "col" : "row";
    line.append(cell);
  });
  return line;
}

function compared({ rows, figure }) {
  const table = make("table");
  const [head, body] = [make("thead"), make("tbody")];
  head.append(row(["", word("compare_this"), word("compare_other")], "th"));
  body.append(...rows.map(([key, ours, theirs]) => row([word(key), ours, theirs], "td")));
  table.append(head, body);
  const box = make("figure", "sd-chart");
  box.append(worded("figcaption", "", "compare_speed_chart"), plot);
  sheet.replaceChildren(table, box);
  plot.setAttribute("aria-hidden", "true");
  relabel(sheet);
  plotted(plot, figure);
}

function draw() {
  const value = JSON.parse(props.value || "{}");
  sheet.classList.toggle("is-empty", !value.rows);
  if (value.rows) compared(value);
  else sheet.replaceChildren(make("p", value.error ? "sd-error" : "sd-quiet", value.error ?? word("compare_hint")));
}

const drawWords = () => {
  const options = fixed.names.map((name) => {
    const option = make("option", "", word(`example_${name}`) || name);
    option.value = name;
    return option;
  });
  const first = worded("option", "", "recordings_choose");
  first.value = "";
  const chosen = choice.value;
  choice.replaceChildren(first, ...options);
  choice.value = chosen;
  relabel(root);
  if (asked) trigger(...asked);
  else draw();
};

new MutationObserver(draw).observe(document.body, { attributes: true, attributeFilter: ["class"] });
watch("value", draw);
watch("words", drawWords);
drawWords();
