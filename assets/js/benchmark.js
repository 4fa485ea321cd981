// A benchmark so far: a bar for how far it is, four charts, and the tables.
const bar = make("progress", "sd-progress");
const empty = worded("p", "sd-quiet", "bench_hint");
const charts = make("div", "sd-bench-charts");
const tables = make("div");
const drawCharts = chartCards(charts);
root.append(bar, empty, charts, tables);

const cells = (texts, numLabels, tag) => {
  const line = make("tr");
  texts.forEach((text, column) => {
    const cell = make(column === 0 ? "th" : tag, column < numLabels ? "" : "sd-number", text);
    if (tag === "th") cell.scope = "col";
    else if (column === 0) cell.scope = "row";
    line.append(cell);
  });
  return line;
};

const tableNode = ({ title, header, rows, note, num_labels }) => {
  const box = make("section", "sd-bench-table");
  const scroll = make("div", "sd-scroll");
  scroll.tabIndex = 0;
  const table = make("table");
  const head = make("thead");
  const body = make("tbody");
  head.append(cells(header, num_labels, "th"));
  body.append(...rows.map((row) => cells(row, num_labels, "td")));
  table.append(head, body);
  scroll.append(table);
  box.append(make("h3", "", title), scroll);
  if (note) box.append(make("p", "sd-quiet", note));
  return box;
};

const draw = () => {
  const shown = JSON.parse(props.value || "{}");
  darkColours = shown.dark ?? {};
  bar.max = shown.planned || 1;
  bar.value = shown.done || 0;
  bar.setAttribute("aria-label", word("tab_benchmark"));
  bar.style.visibility = shown.planned && shown.done < shown.planned ? "visible" : "hidden";
  empty.hidden = Boolean(shown.charts);
  charts.hidden = !shown.charts;
  drawCharts(shown.charts ?? []);
  tables.replaceChildren(...(shown.tables ?? []).map(tableNode));
  relabel(root);
};

new MutationObserver(draw).observe(document.body, { attributes: true, attributeFilter: ["class"] });
watch(["value", "words"], draw);
draw();
