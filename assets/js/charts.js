// Plotly figures that are redrawn in place: react() keeps the root, so nothing flickers. A chart out
// of sight is drawn when it comes into view.
const CARDS = ["latency", "speed", "memory", "caches", "position", "histogram", "time", "theory"];
const cards = new Map();
let latest = { charts: [], why: [] };

const why = make("section", "sd-why");
const sentences = make("div", "sd-why-sentences");
why.append(worded("h2", "", "why"), sentences);
const grid = make("div", "sd-grid");

function card(key, className) {
  const box = make("figure", `sd-chart ${className}`);
  const head = make("div", "sd-chart-head");
  const plot = make("div", "sd-plot");
  const text = make("p", "sd-unseen");
  plot.setAttribute("aria-hidden", "true");
  head.append(worded("figcaption", "", `chart_${key}`), saveButtons(key));
  box.append(head, plot, text);
  const item = { key, box, plot, text, chart: null, isSeen: false, isStale: true };
  box.append(tableOf(item));
  cards.set(key, item);
  return box;
}

// --- saving and reading as a table ------------------------------------------------------------
function saveButtons(key) {
  const list = make("div", "sd-save");
  for (const kind of ["PNG", "SVG", "CSV"]) {
    const button = make("button", "", kind);
    button.type = "button";
    button.dataset.kind = kind;
    button.addEventListener("click", () => save(cards.get(key), kind));
    list.append(button);
  }
  return list;
}

function save(item, kind) {
  if (!item.chart) return;
  const filename = `specdemo-${item.key}`;
  if (kind === "CSV") return downloadBlob(`${filename}.csv`, new Blob([csv(item.chart.table)], { type: "text/csv" }));
  const { offsetWidth: width, offsetHeight: height } = item.plot;
  window.Plotly.downloadImage(item.plot, { format: kind.toLowerCase(), filename, width, height, scale: 2 });
}

const quoted = (cell) => (/[",\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell);
const csv = (table) => table.map((row) => row.map((cell) => quoted(String(cell ?? ""))).join(",")).join("\n") + "\n";

function tableOf(item) {
  const details = make("details", "sd-table");
  const body = make("div", "sd-table-body");
  details.append(worded("summary", "", "table"), body);
  body.tabIndex = 0;
  const fillIn = () => details.open && body.replaceChildren(htmlTable(item.chart?.table ?? []));
  details.addEventListener("toggle", fillIn);
  item.fillTable = fillIn;
  return details;
}

function htmlTable(rows) {
  const table = make("table");
  rows.forEach((cells, index) => {
    const line = make("tr");
    for (const cell of cells) {
      const isNumber = typeof cell === "number";
      const shown = isNumber ? cell.toLocaleString(props.language, { maximumSignificantDigits: 4 }) : cell ?? "–";
      line.append(make(index ? "td" : "th", isNumber ? "sd-number" : "", shown));
    }
    table.append(line);
  });
  return table;
}

// --- drawing ----------------------------------------------------------------------------------
const isDark = () => document.body.classList.contains("dark");

const recoloured = (node) => {
  if (typeof node === "string") return (isDark() && fixed.dark[node]) || node;
  if (Array.isArray(node)) return node.map(recoloured);
  if (node === null || typeof node !== "object") return node;
  return Object.fromEntries(Object.entries(node).map(([key, value]) => [key, recoloured(value)]));
};

const themed = (layout, isZoomable) => {
  const style = getComputedStyle(root);
  const big = Number.parseFloat(getComputedStyle(root.querySelector("figcaption")).fontSize) / 15;
  const ink = style.color;
  const grid = style.getPropertyValue("--sd-line").trim();
  const axes = Object.keys(layout).filter((key) => /^[xy]axis/.test(key));
  const still = isZoomable ? {} : { fixedrange: true };
  const styledAxes = axes.map((key) => [
    key,
    { gridcolor: grid, linecolor: grid, zerolinecolor: grid, ...still, ...layout[key] },
  ]);
  return {
    ...layout,
    ...Object.fromEntries(styledAxes),
    autosize: true,
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    font: { ...layout.font, size: (layout.font?.size ?? 12) * big, color: ink, family: style.fontFamily },
    hoverlabel: { bgcolor: style.getPropertyValue("--sd-surface").trim(), font: { color: ink } },
    separators: props.language === "it" ? ",." : ".,",
  };
};

function drawCard(item) {
  if (!item.isSeen || !item.isStale || !item.chart || !window.Plotly) return;
  item.isStale = false;
  const { data, layout } = whatIf(item);
  const isZoomable = item.key === "timeline";
  window.Plotly.react(item.plot, recoloured(data), recoloured(themed(layout, isZoomable)), {
    responsive: true,
    displayModeBar: false,
    doubleClick: "reset",
  });
  if (isZoomable) connectTimeline(item);
}

const drawAll = () => {
  for (const item of cards.values()) {
    item.isStale = true;
    drawCard(item);
  }
};

function read() {
  latest = JSON.parse(props.value || '{"charts":[],"why":[]}');
  for (const chart of latest.charts) {
    const item = cards.get(chart.key);
    item.chart = chart;
    item.isStale = true;
    item.text.textContent = chart.text;
    item.fillTable();
    drawCard(item);
  }
  Object.assign(timeline, { round: -1, now: null });
  sayRound();
  resetWhatIf();
  drawWhy();
}

function drawWhy() {
  const known = latest.why.map((sentence) => make("p", "", sentence));
  const waiting = worded("p", "sd-quiet", "why_waiting");
  sentences.replaceChildren(...(known.length ? known : [waiting]));
  relabel(why);
}

const seen = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) {
    const item = [...cards.values()].find(({ box }) => box === target);
    item.isSeen = isIntersecting;
    drawCard(item);
  }
}, { rootMargin: "80px" });

const drawWords = () => {
  relabel(root);
  for (const { key, box, text } of cards.values()) {
    text.textContent ||= word("not_measured");
    for (const button of box.querySelectorAll(".sd-save button")) {
      button.setAttribute("aria-label", fill("save_as", { title: word(`chart_${key}`), kind: button.dataset.kind }));
    }
  }
  labelTimeline();
  labelWhatIf();
  drawWhy();
};

const timelineCard = card("timeline", "sd-chart-wide");
root.append(timelineCard, why, grid);
grid.append(...CARDS.map((key) => card(key, key === "theory" ? "sd-chart-theory" : "")));
buildTimeline(cards.get("timeline"));
buildWhatIf(cards.get("theory"));
for (const { box } of cards.values()) seen.observe(box);

new MutationObserver(drawAll).observe(document.body, { attributes: true, attributeFilter: ["class"] });
watch("value", read);
watch("words", drawWords);
read();
drawWords();
