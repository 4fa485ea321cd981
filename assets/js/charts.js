// Three Plotly figures that are redrawn in place: react() keeps the root, so nothing flickers.
const root = element.firstElementChild;
const cards = new Map();

for (const key of ["latency", "speed", "memory"]) {
  const box = make("figure", "sd-chart");
  const plot = make("div", "sd-plot");
  const text = make("p", "sd-unseen");
  plot.setAttribute("aria-hidden", "true");
  box.append(worded("figcaption", "", `chart_${key}`), plot, text);
  root.append(box);
  cards.set(key, { plot, text });
}

const isDark = () => document.body.classList.contains("dark");

const recoloured = (node) => {
  if (typeof node === "string") return (isDark() && props.dark[node]) || node;
  if (Array.isArray(node)) return node.map(recoloured);
  if (node === null || typeof node !== "object") return node;
  return Object.fromEntries(Object.entries(node).map(([key, value]) => [key, recoloured(value)]));
};

const themed = (layout) => {
  const style = getComputedStyle(root);
  const ink = style.color;
  const grid = style.getPropertyValue("--sd-line").trim();
  const axes = Object.keys(layout).filter((key) => /^[xy]axis/.test(key));
  const styledAxes = axes.map((key) => [
    key,
    { ...layout[key], gridcolor: grid, linecolor: grid, zerolinecolor: grid, fixedrange: true },
  ]);
  return {
    ...layout,
    ...Object.fromEntries(styledAxes),
    autosize: true,
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    font: { ...layout.font, color: ink, family: style.fontFamily },
    hoverlabel: { bgcolor: style.getPropertyValue("--sd-surface").trim(), font: { color: ink } },
    separators: props.language === "it" ? ",." : ".,",
  };
};

const draw = () => {
  for (const chart of JSON.parse(props.value || "[]")) {
    const { plot, text } = cards.get(chart.key);
    text.textContent = chart.text;
    if (!window.Plotly) continue;
    window.Plotly.react(plot, recoloured(chart.figure.data), themed(chart.figure.layout), {
      responsive: true,
      displayModeBar: false,
    });
  }
};

const drawWords = () => {
  relabel(root);
  for (const { text } of cards.values()) text.textContent ||= word("not_measured");
};

new MutationObserver(draw).observe(document.body, { attributes: true, attributeFilter: ["class"] });
watch("value", draw);
watch("words", drawWords);
drawWords();
draw();
