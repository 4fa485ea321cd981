// One round step by step, predictions and tasks, and claims beside figures: all of the run on screen.
let lesson = null;
let at = { step: 0, question: 0 };
let score = { asked: 0, right: 0 };

// --- asking for the lesson: only while the tab is seen -------------------------------------------
let isStale = true;
const ask = () => {
  if (!isStale || !root.offsetParent) return;
  isStale = false;
  trigger("lesson_wanted", {});
};
new IntersectionObserver(ask).observe(root);
window.addEventListener("sd-run-ready", () => {
  isStale = true;
  ask();
});

// --- small parts ----------------------------------------------------------------------------------
const button = (key, action, className = "") => {
  const node = worded("button", `sd-button ${className}`, key);
  node.type = "button";
  node.addEventListener("click", action);
  return node;
};

const panel = (key, ...content) => {
  const box = make("section", "sd-learn-panel");
  box.append(worded("h2", "", key), ...content);
  return box;
};

const fact = (key, shown) => {
  const cell = make("div", "sd-learn-fact");
  cell.append(worded("small", "", key), make("b", "", shown));
  return cell;
};

const quotable = (text) => text.trim().replaceAll("\n", "↵").replaceAll("\t", "⇥") || "␣";

// --- the five steps ---------------------------------------------------------------------------------
const SEEN = {
  draft: () => "pending",
  verify: () => "pending",
  accept: (state) => (state === "accepted" || state === "rejected" ? state : "pending"),
  resample: (state) => state,
  bonus: (state) => state,
};
const isDraft = ({ outcome }) => ["accepted", "rejected", "untested"].includes(outcome);

function tokenCell(token, key) {
  const cell = make("div", "sd-learn-token");
  const facts = make("dl");
  const add = (name, value) => facts.append(make("dt", "", name), make("dd", "", value));
  if (isDraft(token)) add("q", number(token.draft_prob, 3));
  if (key !== "draft") add("p", number(token.target_prob, 3));
  if (key !== "draft" && key !== "verify" && isDraft(token) && token.threshold !== null && token.draw !== null) {
    add("min(1, p÷q)", number(token.threshold, 3));
    add(word("learn_draw"), number(token.draw, 3));
  }
  cell.append(chipNode(SEEN[key](token.outcome), token.text), facts);
  return cell;
}

function stepBar() {
  const list = make("ol", "sd-learn-steps");
  lesson.steps.forEach(({ key }, index) => {
    const item = make("li");
    const choose = button(`learn_step_${key}`, () => goTo(index));
    if (index === at.step) choose.setAttribute("aria-current", "step");
    item.append(choose);
    list.append(item);
  });
  return list;
}

function stepBody() {
  const { key, tokens, sentence, round_index: round } = lesson.steps[at.step];
  const row = make("div", "sd-learn-tokens");
  const shown = key === "draft" || key === "verify" || key === "accept" ? tokens.filter(isDraft) : tokens;
  row.append(...shown.map((token) => tokenCell(token, key)));
  const text = make("p", "sd-learn-sentence", sentence);
  text.setAttribute("aria-live", "polite");
  const buttons = make("div", "sd-learn-buttons");
  const back = button("learn_back", () => goTo(at.step - 1));
  const next = button("learn_next", () => goTo(at.step + 1), "is-primary");
  back.disabled = at.step === 0;
  next.disabled = at.step === lesson.steps.length - 1;
  buttons.append(back, next);
  if (round !== null) {
    buttons.append(button("learn_show", () => showRound(round)));
    buttons.append(make("span", "sd-quiet", fill("learn_round", { round: round + 1 })));
  }
  return [text, row, buttons];
}

function goTo(step) {
  at.step = step;
  drawSteps();
  steps.querySelector('[aria-current="step"]').focus({ preventScroll: true });
}

function showRound(round) {
  window.dispatchEvent(new CustomEvent("sd-tab-wanted", { detail: "race" }));
  const detail = { lane: "speculative", round };
  requestAnimationFrame(() => window.dispatchEvent(new CustomEvent("sd-round-chosen", { detail })));
}

// --- the prediction: the draw stays hidden until an answer is given -----------------------------
function drawQuestion() {
  const { questions, is_greedy: isGreedy } = lesson;
  if (!questions.length) return question.replaceChildren(worded("p", "sd-quiet", "learn_no_question"));
  const { before, token } = questions[at.question % questions.length];
  const context = make("p", "sd-learn-context");
  context.append(make("span", "sd-quiet", `… ${before}`), chipNode("pending", token.text));
  const hidden = fact(isGreedy ? "learn_best" : "learn_draw", word("learn_hidden"));
  hidden.classList.add("is-hidden");
  const facts = make("div", "sd-learn-facts");
  facts.append(fact("learn_q", number(token.draft_prob, 3)));
  if (!isGreedy) facts.append(fact("learn_p", number(token.target_prob, 3)), fact("learn_threshold", number(token.threshold, 3)));
  facts.append(hidden);
  const verdict = make("p", "sd-learn-verdict");
  verdict.setAttribute("role", "status");
  const buttons = make("div", "sd-learn-buttons");
  const answers = [["learn_yes", "accepted"], ["learn_no", "rejected"]].map(([key, fate]) =>
    button(key, () => reveal(fate, token, { answers, hidden, verdict }), "is-primary"),
  );
  const tally = make("span", "sd-quiet", score.asked ? fill("learn_score", score) : "");
  buttons.append(...answers, button("learn_another", nextQuestion), tally);
  question.replaceChildren(context, facts, buttons, verdict);
  relabel(question);
}

function reveal(fate, token, { answers, hidden, verdict }) {
  for (const node of answers) node.disabled = true;
  const { is_greedy: isGreedy } = lesson;
  const isRight = fate === token.outcome;
  score = { asked: score.asked + 1, right: score.right + Number(isRight) };
  hidden.classList.remove("is-hidden");
  hidden.lastChild.textContent = isGreedy ? `“${quotable(token.best)}”` : number(token.draw, 3);
  const shown = { draw: number(token.draw, 3), threshold: number(token.threshold, 3), best: quotable(token.best) };
  const why = fill(`learn_${isGreedy ? "greedy_" : ""}was_${token.outcome}`, shown);
  verdict.dataset.right = isRight;
  verdict.textContent = `${word(isRight ? "learn_right" : "learn_wrong")} ${why} ${fill("learn_score", score)}`;
  question.querySelector(".sd-chip").replaceWith(chipNode(token.outcome, token.text));
}

function nextQuestion() {
  at.question += 1;
  drawQuestion();
}

// --- the tasks ------------------------------------------------------------------------------------
const spoken = (answers) =>
  answers.map((value) => number(value, Number.isInteger(value) ? 0 : 2)).join(` ${word("learn_or")} `);

function taskForm({ key, answers, tolerance, values }) {
  const form = make("form", "sd-learn-task");
  const field = make("input");
  Object.assign(field, { type: "text", inputMode: "decimal", size: 6, autocomplete: "off", id: `sd-task-${key}` });
  const label = make("label", "", fill(`learn_task_${key}`, values));
  label.htmlFor = field.id;
  const said = make("span", "sd-learn-said");
  said.setAttribute("role", "status");
  const check = worded("button", "sd-button", "learn_check");
  const show = button("learn_reveal", () => {
    said.dataset.right = "";
    said.textContent = fill("learn_task_answer", { answer: spoken(answers) });
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const given = Number.parseFloat(field.value.replace(",", "."));
    const isRight = answers.some((answer) => Math.abs(answer - given) <= tolerance);
    said.dataset.right = isRight;
    said.textContent = isRight ? fill("learn_task_right", { answer: spoken(answers) }) : word("learn_task_wrong");
  });
  const line = make("div", "sd-learn-buttons");
  line.append(field, check, show, said);
  form.append(label, line);
  return form;
}

// --- claims ---------------------------------------------------------------------------------------
function claimTable(kind) {
  const table = make("table", "sd-claims");
  const head = make("thead");
  const titles = make("tr");
  titles.append(...["said", "own", "note"].map((key) => worded("th", "", `claims_head_${key}`)));
  for (const cell of titles.children) cell.scope = "col";
  head.append(titles);
  const body = make("tbody");
  for (const { said, own, note } of lesson.claims.filter((claim) => claim.kind === kind)) {
    const line = make("tr");
    const name = make("th", "", said);
    name.scope = "row";
    line.append(name, make("td", "sd-claims-own", own), make("td", "", note));
    body.append(line);
  }
  table.append(worded("caption", "", `claims_kind_${kind}`), head, body);
  return table;
}

// --- drawing --------------------------------------------------------------------------------------
const steps = make("div", "sd-learn-body");
const question = make("div", "sd-learn-body");

function drawSteps() {
  steps.replaceChildren(stepBar(), ...stepBody());
  relabel(steps);
}

function draw() {
  lesson = props.value ? JSON.parse(props.value) : null;
  if (!lesson) {
    root.replaceChildren(worded("p", "sd-quiet", "learn_empty"));
    return relabel(root);
  }
  const prompt = make("p", "sd-quiet sd-learn-of", fill("learn_of", { prompt: lesson.prompt }));
  const two = make("div", "sd-learn-two");
  two.append(panel("learn_predict", question), panel("learn_tasks", ...lesson.tasks.map(taskForm)));
  root.replaceChildren(
    panel("learn_steps", prompt, steps),
    two,
    panel("claims", claimTable("claim"), claimTable("challenge")),
  );
  drawSteps();
  drawQuestion();
  relabel(root);
}

watch("value", () => {
  [at, score] = [{ step: 0, question: 0 }, { asked: 0, right: 0 }];
  draw();
});
watch("words", () => {
  draw();
  isStale = true;
  ask();
});
draw();
