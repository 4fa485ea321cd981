// The list of this visit's runs, newest first.
const COLUMNS = ["run_time", "run_prompt", "run_source", "run_normal", "run_speculative", "speedup"];

root.tabIndex = 0; // wide lists scroll

const row = (cells, tag) => {
  const line = make("tr");
  cells.forEach((text, column) => {
    const cell = make(tag, column > 2 ? "sd-number" : "", text);
    if (tag === "th") cell.scope = "col";
    line.append(cell);
  });
  return line;
};

const draw = () => {
  const runs = JSON.parse(props.value || "[]");
  const table = make("table");
  const head = make("thead");
  const body = make("tbody");
  head.append(row(COLUMNS.map(word), "th"));
  for (const run of runs) {
    const time = new Date(run.time * 1000).toLocaleTimeString(props.language);
    const rates = [number(run.normal, 1), number(run.speculative, 1), speedupText(run.speedup)];
    body.append(row([time, run.prompt, word(`draft_${run.source}`), ...rates], "td"));
  }
  table.append(worded("caption", "", "runs"), head, body);
  const empty = runs.length ? [] : [worded("p", "sd-quiet", "runs_empty")];
  root.replaceChildren(table, ...empty);
  relabel(root);
};

watch(["value", "words"], draw);
draw();
