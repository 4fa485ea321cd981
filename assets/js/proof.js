// A proof: the verdict in a sentence, its numbers, and what should be beside what is.
const bar = make("progress", "sd-progress");
const empty = worded("p", "sd-quiet", "proof_hint");
const sentence = make("p", "sd-proof-verdict");
const figures = make("div", "sd-measures sd-score-measures");
const charts = make("div", "sd-bench-charts sd-proof-charts");
const notes = make("div", "sd-score-notes");
const drawCharts = chartCards(charts);
sentence.setAttribute("role", "status");
root.append(bar, empty, sentence, figures, charts, notes);

const cell = (title, value, sub) => {
  const box = make("div", "sd-measure");
  box.append(make("span", "", title), make("b", "", value), make("small", "", sub));
  return box;
};

const tiny = (value) => {
  if (value === null) return "–";
  if (value === 0) return "0";
  return value < 0.001
    ? value.toLocaleString(props.language, { notation: "scientific", maximumFractionDigits: 1 })
    : number(value, 3);
};

const share = (value) =>
  value.toLocaleString(props.language, { style: "percent", minimumFractionDigits: 2, maximumFractionDigits: 2 });

const between = (fit) => ({ distance: share(fit.distance), low: share(fit.low), high: share(fit.high) });

const drawFigures = ({ lanes, significance, planned, done }) => {
  const isOver = done === planned;
  const names = { speculative: word("lane_speculative"), normal: word("lane_normal") };
  const filled = (key, lane) => fill(key, { lane: names[lane].toLowerCase() });
  figures.replaceChildren(
    ...Object.keys(names).flatMap((lane) => [
      cell(
        filled("proof_p_value", lane),
        isOver ? tiny(lanes[lane].p_value) : "–",
        fill("proof_p_value_sub", { significance: tiny(significance) }),
      ),
      cell(filled("proof_distance", lane), share(lanes[lane].distance), fill("proof_distance_sub", between(lanes[lane]))),
    ]),
  );
};

const drawNotes = ({ settings, num_outcomes, num_passes, seconds, fault }) => {
  const values = {
    ...settings,
    seed: String(settings.seed),
    temperature: number(settings.temperature, 1),
    top_p: number(settings.top_p, 1),
    outcomes: number(num_outcomes, 0),
    passes: number(num_passes, 0),
    seconds: number(seconds, 1),
  };
  notes.replaceChildren(
    ...(fault ? [make("p", "sd-score-first", `${word("proof_break_it")} – ${word(`proof_fault_${fault}`)}`)] : []),
    make("p", "", fill("proof_remembered", values)),
    make("p", "sd-quiet", fill("proof_settings", values)),
  );
};

const draw = () => {
  const shown = JSON.parse(props.value || "null");
  darkColours = shown?.dark ?? {};
  bar.max = shown?.planned || 1;
  bar.value = shown?.done || 0;
  bar.setAttribute("aria-label", word("tab_proof"));
  bar.style.visibility = shown && shown.done < shown.planned ? "visible" : "hidden";
  empty.hidden = Boolean(shown);
  for (const part of [sentence, figures, charts, notes]) part.hidden = !shown;
  if (shown) {
    const fit = shown.lanes.speculative;
    const values = { p: tiny(fit.p_value), runs: number(shown.done, 0), ...between(fit) };
    sentence.textContent = shown.verdict ? fill(shown.verdict, values) : "";
    sentence.dataset.verdict = shown.verdict ?? "";
    drawFigures(shown);
    drawCharts(shown.charts);
    drawNotes(shown);
  }
  relabel(root);
};

new MutationObserver(draw).observe(document.body, { attributes: true, attributeFilter: ["class"] });
watch(["value", "words"], draw);
draw();
