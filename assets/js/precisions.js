// This run beside the last one in another precision. Always two rows, so that nothing moves.
const COLUMNS = ["precision", "run_memory", "run_normal", "run_speculative", "acceptance_rate"];

const line = (cells, tag) => {
  const row = make("tr");
  cells.forEach((text, column) => {
    const cell = make(tag, column > 0 ? "sd-number" : "", text);
    if (tag === "th") cell.scope = "col";
    row.append(cell);
  });
  return row;
};

const cellsOf = (run) => {
  if (!run) return COLUMNS.map(() => "–");
  const memory = run.memory_bytes === null ? "–" : number(run.memory_bytes / 1e6, 0);
  const rate = run.acceptance_rate === null ? "–" : `${number(run.acceptance_rate * 100, 0)} %`;
  return [run.precision, memory, number(run.normal, 1), number(run.speculative, 1), rate];
};

const sentence = ({ rows, word: key, values, other_prompt: isOther }) => {
  if (rows.length < 2) return word("precision_hint");
  const shown = { ...values, rate: number(values.rate, 1), other: number(values.other, 1) };
  return [key ? fill(key, shown) : "", isOther ? word("precision_other_prompt") : ""].join(" ").trim();
};

const draw = () => {
  const value = JSON.parse(props.value || '{"rows":[],"values":{}}');
  const table = make("table");
  const head = make("thead");
  const body = make("tbody");
  head.append(line(COLUMNS.map(word), "th"));
  body.append(...[0, 1].map((index) => line(cellsOf(value.rows[index]), "td")));
  table.append(worded("caption", "", "precision_compared"), head, body);
  root.replaceChildren(table, make("p", "sd-quiet", sentence(value)));
  relabel(root);
};

watch(["value", "words"], draw);
draw();
