// Plotly figures in the page's own colours: the light ones come from the server, the dark ones from
// a table that comes with the figures.
let darkColours = {};
const isDark = () => document.body.classList.contains("dark");

const recoloured = (node) => {
  if (typeof node === "string") return (isDark() && darkColours[node]) || node;
  if (Array.isArray(node)) return node.map(recoloured);
  if (node === null || typeof node !== "object") return node;
  return Object.fromEntries(Object.entries(node).map(([key, value]) => [key, recoloured(value)]));
};

const themed = (layout) => {
  const style = getComputedStyle(root);
  const grid = style.getPropertyValue("--sd-line").trim();
  const axes = Object.keys(layout).filter((key) => /^[xy]axis/.test(key));
  const lines = { gridcolor: grid, linecolor: grid, zerolinecolor: grid, fixedrange: true };
  return {
    ...recoloured(layout),
    ...Object.fromEntries(axes.map((key) => [key, { ...layout[key], ...lines }])),
    autosize: true,
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    font: { ...layout.font, color: style.color, family: style.fontFamily },
    separators: props.language === "it" ? ",." : ".,",
  };
};

const plotted = (plot, figure) => {
  const show = () =>
    window.Plotly.react(plot, recoloured(figure.data), themed(figure.layout), {
      responsive: true,
      displayModeBar: false,
    });
  if (window.Plotly) return void show();
  // The script is large: on a busy machine the first figures may be there before it.
  document.querySelector('script[src*="plotly"]')?.addEventListener("load", show, { once: true });
};

// Cards in a box, one for each chart, made when it first comes; its text is for screen readers.
const chartCards = (box) => {
  const cards = [];
  const added = () => {
    const card = make("figure", "sd-chart");
    const parts = { title: make("figcaption"), plot: make("div", "sd-plot"), text: make("p", "sd-unseen") };
    parts.plot.setAttribute("aria-hidden", "true");
    card.append(parts.title, parts.plot, parts.text);
    box.append(card);
    return parts;
  };
  return (shown) =>
    shown.forEach(({ title, text, figure }, index) => {
      cards[index] ??= added();
      cards[index].title.textContent = title;
      cards[index].text.textContent = text;
      plotted(cards[index].plot, figure);
    });
};
