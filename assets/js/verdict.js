// Why one token was kept or refused, in a sentence and in numbers.
const verdict = make("div", "sd-verdict");
verdict.id = "sd-verdict";

function drawVerdict() {
  const shown = view.verdict;
  verdict.replaceChildren();
  if (!shown) return void verdict.append(worded("p", "sd-quiet", "verdict_hint")), relabel(verdict);
  const { text, outcome, numbers, roundIndex } = shown;
  const line = make("p");
  const [p, q, u] = numbers.at(-1) ?? [null, null, null];
  line.append(chipNode(outcome, text));
  line.append(make("b", "", ` ${word(`state_${outcome}`)}. `), sentence(outcome));
  if (numbers.length > 1) line.append(` (${fill("several_tokens", { count: numbers.length })})`);
  const facts = make("p", "sd-facts");
  const add = (key, value) => facts.append(make("span", "", `${word(key)} = ${value}`));
  if (roundIndex !== undefined) facts.append(make("span", "", fill("round", { index: roundIndex + 1 })));
  if (q !== null) add("verdict_q", number(q, 3));
  if (p !== null) add("verdict_p", number(p, 3));
  if (p !== null && q) add("verdict_threshold", number(Math.min(1, p / q), 3));
  if (u !== null) add("verdict_draw", number(u, 3));
  verdict.append(line, facts);
}

function sentence(outcome) {
  const greedy = view.totals?.greedy && word(`verdict_greedy_${outcome}`);
  return greedy || word(`verdict_${outcome}`) || word(`state_${outcome}_sub`);
}

function choose(chip) {
  if (!chip?.verdict) return;
  view.verdict = chip.verdict;
  drawVerdict();
}

