// "What if α or c were …": the theory chart's two curves redrawn from its own formula.
const asked = { acceptance_rate: null, cost_ratio: null };
const sliders = {};

const expectedTokens = (alpha, length) =>
  alpha >= 1 ? length + 1 : (1 - alpha ** (length + 1)) / (1 - alpha);

const speedupAt = (alpha, c, v, length) => expectedTokens(alpha, length) / (length * c + v);

function buildWhatIf(item) {
  const form = make("div", "sd-what-if");
  form.append(worded("span", "sd-what-if-title", "what_if"));
  for (const [name, key] of [["acceptance_rate", "what_if_alpha"], ["cost_ratio", "what_if_c"]]) {
    const label = make("label");
    const input = make("input");
    const shown = make("output");
    Object.assign(input, { type: "range", min: 0, max: 1, step: 0.01, disabled: true });
    input.addEventListener("input", () => {
      asked[name] = Number(input.value);
      redrawTheory();
    });
    label.append(worded("span", "", key), input, shown);
    sliders[name] = { input, shown };
    form.append(label);
  }
  const reset = worded("button", "sd-reset", "what_if_reset");
  reset.type = "button";
  reset.addEventListener("click", () => {
    resetWhatIf();
    redrawTheory();
  });
  form.append(reset);
  item.plot.after(form);
}

const measuredRatios = () => cards.get("theory").chart?.figure.layout.meta ?? {};

function resetWhatIf() {
  asked.acceptance_rate = asked.cost_ratio = null;
  labelWhatIf();
}

function labelWhatIf() {
  const measured = measuredRatios();
  for (const [name, { input, shown }] of Object.entries(sliders)) {
    const value = asked[name] ?? measured[name];
    input.disabled = measured[name] === undefined;
    input.value = value ?? 0;
    shown.textContent = value === undefined ? "–" : number(value, 2);
  }
}

function redrawTheory() {
  const item = cards.get("theory");
  labelWhatIf();
  item.isStale = true;
  drawCard(item);
}

// The figure as it came, or with both curves and the best point for what was asked.
function whatIf(item) {
  const { figure } = item.chart;
  if (item.key !== "theory" || (asked.acceptance_rate ?? asked.cost_ratio) === null) return figure;
  const measured = measuredRatios();
  const alpha = asked.acceptance_rate ?? measured.acceptance_rate;
  const c = asked.cost_ratio ?? measured.cost_ratio;
  const ratioAt = (length) => 1 + ((measured.verify_ratio - 1) * length) / measured.num_draft_tokens;
  const [own, textbook, best, ...rest] = figure.data;
  const curve = own.x.map((length) => speedupAt(alpha, c, ratioAt(length), length));
  const plain = own.x.map((length) => speedupAt(alpha, c, 1, length));
  const top = curve.indexOf(Math.max(...curve));
  const data = [{ ...own, y: curve }, { ...textbook, y: plain }, { ...best, x: [top], y: [curve[top]] }, ...rest];
  return { data, layout: figure.layout };
}
