// How one token was judged: a sentence, the draw against its threshold, and both distributions.
root.setAttribute("role", "region");
root.tabIndex = 0; // long verdicts scroll
root.setAttribute("aria-live", "polite");

const percent = (share) => `${Math.min(100, Math.max(0, share * 100))}%`;

function headline(shown) {
  const line = make("p", "sd-verdict-line");
  line.append(chipNode(shown.outcome, shown.text));
  line.append(make("b", "", ` ${word(`state_${shown.outcome}`)}. `), shown.sentence);
  if (shown.found) line.append(` ${shown.found}`);
  line.append(make("span", "sd-where", shown.where));
  return line;
}

// The ruler from 0 to 1: draws in the filled part accept; the mark is the draw that was made.
function ruler({ threshold, draw }) {
  const box = make("div", "sd-ruler-box");
  const line = make("div", "sd-ruler");
  const kept = make("div", "sd-ruler-kept");
  const mark = make("div", "sd-ruler-mark");
  kept.style.width = percent(threshold);
  mark.style.left = percent(draw);
  line.append(kept, mark);
  const notes = make("p", "sd-facts");
  for (const [key, value] of [["verdict_threshold", threshold], ["verdict_draw", draw]]) {
    const note = make("span", `sd-note-${key}`);
    note.append(worded("span", "", key), ` ${number(value, 3)}`);
    notes.append(note);
  }
  box.append(line, notes);
  return box;
}

function bars(shown) {
  const kinds = ["q", "p", "r"].filter((kind) => shown.rows.some((row) => row[kind] !== null));
  const names = { q: "verdict_q", p: "verdict_p", r: "verdict_residual" };
  const table = make("table", "sd-odds");
  const head = make("tr");
  head.append(worded("th", "", "verdict_token"));
  for (const kind of kinds) head.append(worded("th", `sd-odds-${kind}`, names[kind]));
  for (const cell of head.children) cell.scope = "col";
  const body = make("tbody");
  for (const row of shown.rows) body.append(barRow(row, kinds));
  const top = make("thead");
  top.append(head);
  table.append(top, body);
  if (shown.is_greedy) table.append(worded("caption", "", "verdict_greedy_note"));
  return table;
}

function barRow(row, kinds) {
  const line = make("tr");
  const name = make("th");
  name.scope = "row";
  const letters = make("span", "sd-odds-token");
  letters.append(...glyphs(row.text));
  name.append(letters);
  for (const mark of ["drafted", "chosen"]) {
    const key = mark === "chosen" ? "verdict_drawn" : "verdict_drafted";
    if (row[mark]) name.append(worded("span", `sd-tag sd-tag-${mark}`, key));
  }
  line.append(name);
  for (const kind of kinds) {
    const cell = make("td", `sd-odds-${kind}`);
    const fillBar = make("div", "sd-odds-bar");
    fillBar.style.width = percent(row[kind] ?? 0);
    cell.append(fillBar, make("span", "", row[kind] === null ? "–" : number(row[kind], 3)));
    line.append(cell);
  }
  return line;
}

const draw = () => {
  root.replaceChildren();
  if (!props.value) root.append(worded("p", "sd-quiet", "verdict_hint"));
  else {
    const shown = JSON.parse(props.value);
    root.append(headline(shown));
    const panel = make("div", "sd-verdict-panel");
    if (shown.bar) panel.append(ruler(shown.bar));
    if (shown.rows.length) panel.append(bars(shown));
    root.append(panel);
  }
  relabel(root);
};

watch(["value", "words"], draw);
draw();
