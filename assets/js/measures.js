// The comparison below the lanes: speedup, acceptance, tokens per pass, and whether the output is equal.
function measure(name) {
  const cell = defined(make("div", `sd-measure sd-measure-${name}`), name);
  const value = make("b", "", "–");
  const note = make("small");
  cell.append(worded("span", "", name), value, note);
  return { cell, value, note };
}

const measures = {
  speedup: measure("speedup"),
  acceptance_rate: measure("acceptance_rate"),
  mean_acceptance_length: measure("mean_acceptance_length"),
  output: measure("output"),
};
const bestNormal = make("p", "sd-best");
measures.output.cell.append(bestNormal);

function drawTotals() {
  const totals = totalsNow();
  for (const [name, item] of Object.entries(lanes)) {
    const run = totals?.[name];
    item.figures.rate.textContent = number(run?.rate, 1);
    item.figures.seconds.textContent = number(run?.seconds, 2);
    item.figures.first.textContent = run?.first ? `${number(run.first, 2)}` : "–";
    item.figures.tokens.textContent = run ? number(run.tokens, 0) : "–";
  }
  const fast = totals?.speculative;
  const put = (name, value, note) => {
    measures[name].value.textContent = value;
    measures[name].note.textContent = note;
  };
  const isFaster = (totals?.speedup ?? 1) >= 1;
  root.classList.toggle("sd-slower", !isFaster);
  const speedupNote = totals?.strict ? "strict_speedup" : !totals?.finished ? "so_far" : isFaster ? "faster" : "slower";
  put("speedup", speedupText(totals?.speedup), totals?.speedup ? word(speedupNote) : "");
  put(
    "acceptance_rate",
    fast && fast.alpha !== null ? fast.alpha.toLocaleString(props.language, { style: "percent", maximumFractionDigits: 0 }) : "–",
    fast?.tested ? fill("acceptance_rate_sub", fast) : "",
  );
  put("mean_acceptance_length", number(fast?.tau, 2), word("mean_acceptance_length_sub"));
  put("output", ...outputWords(totals));
  drawDifference(totals?.finished ? totals.why : null);
  bestNormal.textContent = totals?.best
    ? fill("best_normal", {
        precision: totals.best[0],
        rate: number(totals.best[1], 1),
        speedup: speedupText(totals.speedup_over_best),
      })
    : "";
}

function outputWords(totals) {
  measures.output.cell.dataset.match = "";
  if (!totals) return ["–", word("output_waiting")];
  if (!totals.greedy) return ["≈", word("output_sampling")];
  if (!totals.normal.tokens || !totals.speculative.tokens) return ["–", word("output_waiting")];
  measures.output.cell.dataset.match = totals.same ? "same" : "different";
  if (totals.same) return ["✓", word(totals.finished ? "output_same" : "output_same_so_far")];
  const why = totals.finished && totals.why ? `: ${word(`difference_${totals.why.cause}_short`)}` : "";
  return ["≠", fill("output_differs", { index: totals.difference + 1 }) + why];
}

// The first difference: both candidates' logits in each shape and precision, and what they mean.
const difference = make("div", "sd-scroll sd-difference");
difference.tabIndex = 0; // long tables scroll

function drawDifference(why) {
  difference.hidden = !why;
  if (!why) return difference.replaceChildren();
  const values = { ...why, rows: why.num_rows, behind: number(why.behind, 4), rounding: number(why.rounding, 4) };
  const table = make("table");
  const cells = (tag, texts) => {
    const line = make("tr");
    line.append(...texts.map((text, column) => make(column ? tag : "th", column ? "sd-number" : "", text)));
    line.firstChild.scope = tag === "th" ? "col" : "row";
    return line;
  };
  const head = make("thead");
  const body = make("tbody");
  const names = [word("lane_normal"), word("lane_speculative")];
  head.append(cells("th", [fill("difference_logits", values), ...names, word("difference_gap")]));
  for (const cell of head.firstChild.children) cell.scope = "col";
  why.texts.forEach((text, index) => {
    const shown = text === null ? [word("difference_ended")] : glyphs(text);
    head.firstChild.children[index + 1].append(make("br"), ...shown);
  });
  body.append(
    ...why.rows.map(([name, ...logits]) =>
      cells("td", [fill(`difference_${name}`, values), ...logits.map((logit) => number(logit, 4))]),
    ),
  );
  table.append(head, body);
  difference.replaceChildren(make("p", "", fill(`difference_${why.cause}`, values)), table);
}

