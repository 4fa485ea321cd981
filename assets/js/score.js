// Draft-and-score: the draft's text with the target's surprise, beside what decoding really gives.
const LEVELS = [0.5, 0.1, 0.01, 0];
const measures = make("div", "sd-measures sd-score-measures");
const lanes = make("div", "sd-lanes sd-score-lanes");
const legend = make("ul", "sd-legend");
const about = make("div", "sd-verdict");
const notes = make("div", "sd-score-notes");
about.id = "sd-score-about";
root.append(measures, lanes, legend, about, notes);

const shownText = (text) => text.replaceAll("\n", "↵").replaceAll("\t", "⇥").trim() || "␣";
const level = (token) => LEVELS.findIndex((least) => Math.exp(token.log_prob) >= least);
const percent = (logProb) => number(Math.exp(logProb), 3);
const shortProb = ({ log_prob }) =>
  Math.exp(log_prob) < 0.005 ? `<${number(0.01, 2)}` : number(Math.exp(log_prob), 2);

const measure = (key, value, sub) => {
  const box = make("div", "sd-measure");
  box.append(worded("span", "", key), make("b", "", value), make("small", "", sub));
  return box;
};

const chip = (token, isSample) => {
  const at = level(token);
  const node = make("span", `sd-surprise is-level-${at}${token.is_first ? " is-first" : ""}`);
  const [, space, rest] = /^( ?)(.*)$/s.exec(token.text);
  const body = make("span", "sd-body", rest ? rest.replaceAll("\n", "↵") : "␣");
  if (token.is_first) body.prepend(make("i", "sd-mark", "▸"));
  if (at >= 2 && !isSample) body.append(make("sup", "", shortProb(token)));
  // The line breaks after the box, not in it.
  node.append(rest ? space : "", body, "\n".repeat(token.text.split("\n").length - 1));
  return node;
};

const fillings = (token) => ({
  own: `“${shownText(token.text)}”`,
  own_prob: percent(token.log_prob),
  log_prob: number(token.log_prob, 2),
  best: `“${shownText(token.best ?? "")}”`,
  best_prob: percent(token.best_log_prob),
});

const say = (token) => {
  about.replaceChildren(
    token ? make("p", "", fill("score_token", fillings(token))) : worded("p", "sd-quiet", "score_token_hint"),
  );
  relabel(about);
};

const lane = (name, key, shown, tokens) => {
  const box = make("section", "sd-lane");
  box.dataset.lane = name === "normal" ? "normal" : "speculative";
  box.dataset.score = name;
  const head = make("header");
  const title = make("div", "sd-lane-title");
  title.append(worded("h2", "", key), worded("p", "", `score_lane_${name}_sub`));
  const figures = make("div", "sd-figures");
  const rate = make("span", "sd-figure sd-figure-rate");
  rate.append(make("b", "", number(shown?.rate, 1)), worded("small", "", "tokens_per_second"));
  const seconds = make("span", "sd-figure");
  seconds.append(make("b", "", number(shown?.seconds, 2)), worded("small", "", "seconds"));
  figures.append(seconds, rate);
  head.append(title, figures);
  const text = make("div", "sd-box");
  text.tabIndex = 0;
  const line = make("p", "sd-text");
  if (tokens) line.append(...chips(tokens));
  else if (shown?.text) line.textContent = shown.text;
  else line.append(worded("span", "sd-quiet", "empty_lane"));
  text.append(line);
  box.append(head, text);
  return box;
};

// One stop for the Tab key; the arrows move inside.
const chips = (tokens) => {
  const nodes = tokens.map((token) => {
    const node = chip(token, false);
    node.tabIndex = -1;
    node.setAttribute("aria-describedby", about.id);
    node.onmouseenter = node.onfocus = () => say(token);
    return node;
  });
  if (nodes.length) nodes[0].tabIndex = 0;
  nodes.forEach((node, index) => {
    node.onkeydown = (event) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      const to = { Home: 0, End: nodes.length - 1 }[event.key] ?? (step && index + step);
      if (to === undefined || !nodes[to]) return;
      event.preventDefault();
      nodes[to].focus();
    };
  });
  return nodes;
};

const drawMeasures = (shown) => {
  const { score = null, draft = null, score_seconds: seconds = null } = shown;
  measures.replaceChildren(
    measure("score_average", number(score?.average_log_likelihood, 4), word("score_average_sub")),
    measure(
      "score_answer_average",
      number(score?.answer_average_log_likelihood, 4),
      fill("score_answer_average_sub", { count: score?.num_answer_tokens ?? "–" }),
    ),
    measure(
      "score_perplexity",
      number(score?.perplexity, 2),
      fill("score_perplexity_sub", { answer: number(score?.answer_perplexity, 2) }),
    ),
    measure(
      "score_time",
      draft && seconds !== null ? `${number(draft.seconds + seconds, 2)} s` : "–",
      fill("score_time_sub", { draft: number(draft?.seconds, 2), score: number(seconds, 2) }),
    ),
  );
};

const drawNotes = (shown) => {
  const first = (shown.tokens ?? []).findIndex((token) => token.is_first);
  notes.replaceChildren();
  if (first >= 0) {
    const values = { index: shown.score.first_difference + 1, ...fillings(shown.tokens[first]) };
    notes.append(make("p", "sd-score-first", fill("score_first", values)));
  }
  if (shown.num_changed_ids !== null && shown.num_changed_ids !== undefined)
    notes.append(make("p", "sd-quiet", fill("score_changed", { count: shown.num_changed_ids })));
  if (shown.lacks_features) notes.append(worded("p", "sd-quiet", "score_lacks_features"));
  notes.append(worded("p", "sd-quiet", "score_why"));
};

const drawLegend = () => {
  const samples = [0.9, 0.3, 0.05, 0.001].map((prob) => ({ text: "abc", log_prob: Math.log(prob) }));
  legend.replaceChildren(
    ...[...samples, { ...samples[0], is_first: true }].map((sample, index) => {
      const item = make("li");
      item.append(chip(sample, true), worded("small", "", `score_level_${index === 4 ? "first" : index}`));
      return item;
    }),
  );
};

const draw = () => {
  const shown = JSON.parse(props.value || "{}");
  drawMeasures(shown);
  lanes.replaceChildren(
    lane("draft", "score_lane_draft", shown.draft, shown.tokens),
    lane("speculative", "lane_speculative", shown.speculative),
    lane("normal", "lane_normal", shown.normal),
  );
  drawLegend();
  drawNotes(shown);
  say(null);
  relabel(root);
};

watch(["value", "words"], draw);
draw();
