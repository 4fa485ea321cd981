// Two lanes of tokens, the comparison and the legend.
// The value is a growing string of JSON lines; only the unread tail is parsed.
const WORD_JOINER = "\u2060"; // a seam never starts a line
const STATES = ["pending", "accepted", "rejected", "untested", "resampled", "bonus"];
let firstLine = "";
let consumed = 0;
let view = emptyView();

function emptyView() {
  return { run: null, totals: null, isOver: false };
}

// --- the frame, built once -------------------------------------------------------------------
function lane(name) {
  const frame = make("section", "sd-lane");
  frame.dataset.lane = name;
  const head = make("header");
  const titles = make("div", "sd-lane-title");
  titles.append(worded("h2", "", `lane_${name}`), worded("p", "", `lane_${name}_sub`));
  const figures = { rate: make("b"), seconds: make("b"), first: make("b"), tokens: make("b") };
  const list = make("div", "sd-figures");
  for (const [key, label] of [
    ["rate", "tokens_per_second"],
    ["seconds", "seconds"],
    ["first", "first_token"],
    ["tokens", "tokens"],
  ]) {
    const cell = defined(make("span", `sd-figure sd-figure-${key}`), label);
    cell.append(figures[key], worded("small", "", label));
    list.append(cell);
  }
  head.append(titles, list);
  const box = make("div", "sd-box");
  box.setAttribute("role", "listbox");
  box.tabIndex = 0;
  const context = make("p", "sd-context");
  const text = make("div", "sd-text");
  box.append(context, text);
  const copy = worded("button", "sd-copy", "copy");
  copy.type = "button";
  copy.disabled = true;
  copy.addEventListener("click", () => copyAnswer(name));
  frame.append(head, box, copy);
  return { frame, box, context, text, figures, copy, ...emptyLane() };
}

function emptyLane() {
  return { answer: null, pending: [], rounds: [], landed: 0, late: [Infinity, 0], keepsUp: true };
}

const lanes = { normal: lane("normal"), speculative: lane("speculative") };

function legend() {
  const list = make("ul", "sd-legend");
  for (const state of STATES) {
    const item = make("li");
    item.append(chipNode(state, "", `state_${state}`), worded("small", "", `state_${state}_sub`));
    list.append(item);
  }
  const seam = make("li");
  seam.append(make("span", "sd-seam", WORD_JOINER), worded("small", "", "seam_sub"));
  list.append(seam);
  return list;
}

const finalOnly = make("label", "sd-switch");
const finalBox = make("input");
finalBox.type = "checkbox";
finalBox.checked = new URLSearchParams(location.hash.slice(1)).get("final") === "1";
const showFinal = () => root.classList.toggle("sd-final-only", finalBox.checked);
finalBox.addEventListener("change", () => {
  showFinal();
  announce("sd-final-text", finalBox.checked);
});
showFinal();
finalOnly.append(finalBox, worded("span", "", "final_only"));

const legendBar = make("div", "sd-legend-bar");
legendBar.append(legend(), finalOnly);
const laneRow = make("div", "sd-lanes");
laneRow.append(lanes.normal.frame, lanes.speculative.frame);
const measureRow = make("div", "sd-measures");
measureRow.append(...Object.values(measures).map((item) => item.cell));
const playerBar = buildPlayer();
root.append(laneRow, playerBar, measureRow, difference, legendBar);

// --- reading the lines -----------------------------------------------------------------------
function read() {
  const value = props.value || "";
  const first = value.slice(0, value.indexOf("\n"));
  if (first !== firstLine) startOver(first);
  const fresh = value.slice(consumed);
  consumed = value.length;
  for (const line of fresh.split("\n")) if (line) apply(JSON.parse(line));
  for (const item of Object.values(lanes)) if (item.keepsUp) item.box.scrollTop = item.box.scrollHeight;
  drawTotals();
}

function startOver(first) {
  firstLine = first;
  consumed = 0;
  view = emptyView();
  for (const [name, { copy, frame }] of Object.entries(lanes)) {
    again(name);
    copy.disabled = true;
    frame.dataset.state = "waiting";
  }
  clearPlayer();
}

function apply([kind, ...rest]) {
  const actions = { run, pending, round, again, totals: (values) => (view.totals = values), end, failed };
  actions[kind](...rest);
}

function run(id, prompt, isChat, turns, recording) {
  view.run = { prompt, isChat, turns };
  announce("sd-run-opened", recording);
  drawContext();
}

function pending(name, text) {
  const item = lanes[name];
  item.frame.dataset.state = "live";
  const chip = token(text, "pending");
  item.pending.push(chip);
  item.text.append(chip);
}

function round(name, index, chips, [drafted, landed]) {
  const item = lanes[name];
  item.frame.dataset.state = "live";
  for (const chip of item.pending) chip.remove();
  item.pending = [];
  const group = make("span", "sd-round");
  chips.forEach(([text, outcome, position, count], order) => {
    group.append(token(text, outcome, { lane: name, round: index, position }, count));
    const isLast = order === chips.length - 1;
    if (isLast && name === "speculative") group.append(make("span", "sd-seam", WORD_JOINER));
    // A plain token holds its own line breaks; in a box they are glyphs, and the breaks follow it.
    if (isOutput(outcome) && outcome !== "normal") group.append(make("span", "sd-breaks", text.replace(/[^\n]/g, "")));
  });
  item.text.append(group);
  item.rounds.push({ group, drafted, landed, ...countsOf(chips, item.rounds.at(-1)) });
  item.landed = item.rounds.length;
}

// A server told the fates of its drafts: the lane's rounds come once more.
function again(name) {
  lanes[name].text.replaceChildren();
  Object.assign(lanes[name], emptyLane());
}

function end(name, reason, text, [, outcome, , count]) {
  const item = lanes[name];
  for (const chip of item.pending) chip.remove();
  item.pending = [];
  if (count) item.text.append(token("", outcome, null, count));
  if (reason === "end_of_text") markEnd(item);
  item.frame.dataset.state = reason;
  item.answer = text;
  item.copy.disabled = !text;
  if (Object.values(lanes).every(({ answer }) => answer !== null)) readyPlayer();
}

function markEnd(item) {
  const kept = item.text.querySelectorAll(".sd-chip:not(.is-rejected, .is-untested)");
  const last = kept[kept.length - 1];
  if (!last) return;
  last.classList.add("is-end");
  last.title = word("end_of_text");
}

function failed() {
  view.isOver = true;
  for (const item of Object.values(lanes)) {
    for (const chip of item.pending) chip.remove();
    item.pending = [];
    if (item.frame.dataset.state === "live") item.frame.dataset.state = "stopped";
  }
}

// Of all rounds up to this one, so that no moment of a replay has to add them up.
function countsOf(chips, before = { tokens: 0, accepted: 0, tested: 0 }) {
  const sum = (...outcomes) => {
    const own = chips.filter(([, outcome]) => outcomes.includes(outcome));
    return own.reduce((total, [, , , count]) => total + count, 0);
  };
  return {
    tokens: before.tokens + sum("accepted", "resampled", "bonus", "normal"),
    accepted: before.accepted + sum("accepted"),
    tested: before.tested + sum("accepted", "rejected"),
    refused: sum("rejected") > 0,
  };
}

const isOutput = (outcome) => outcome !== "rejected" && outcome !== "untested";

// --- choosing tokens, with the mouse, a finger or the arrow keys ------------------------------
let chosen = null;

// The server knows how each token was judged; the timeline marks the round.
function choose(chip) {
  if (!chip?.verdict?.place || chip === chosen) return;
  chosen = chip;
  const { place } = chip.verdict;
  trigger("token_select", place);
  window.dispatchEvent(new CustomEvent("sd-token-chosen", { detail: place }));
}

function markRound({ lane: name, round: index }) {
  for (const chip of root.querySelectorAll(".sd-chip.is-marked")) chip.classList.remove("is-marked");
  const chips = [...lanes[name].text.querySelectorAll(".sd-chip")];
  const own = chips.filter((chip) => chip.verdict.place?.round === index);
  for (const chip of own) chip.classList.add("is-marked");
  if (own.length) scrollInside(lanes[name].box, own[0]);
  return own;
}

// Scrolls the box alone: the page keeps its place.
function scrollInside(box, chip) {
  const [inner, outer] = [chip.getBoundingClientRect(), box.getBoundingClientRect()];
  if (inner.top < outer.top) box.scrollTop -= outer.top - inner.top + 16;
  else if (inner.bottom > outer.bottom - 40) box.scrollTop += inner.bottom - outer.bottom + 56;
}

window.addEventListener("sd-round-pointed", ({ detail }) => markRound(detail));
window.addEventListener("sd-round-chosen", ({ detail }) => {
  markRound(detail)[0]?.focus({ preventScroll: true });
});

const isSeen = (chip) => chip.checkVisibility({ visibilityProperty: true });

for (const item of Object.values(lanes)) {
  const chips = () => [...item.text.querySelectorAll(".sd-chip")].filter(isSeen);
  item.box.addEventListener("focusin", (event) => choose(event.target.closest?.(".sd-chip")));
  item.box.addEventListener("click", (event) => event.target.closest?.(".sd-text .sd-chip")?.focus());
  item.box.addEventListener("scroll", () => {
    item.keepsUp = item.box.scrollTop + item.box.clientHeight > item.box.scrollHeight - 24;
  });
  item.box.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const all = step || event.key === "Home" || event.key === "End" ? chips() : [];
    if (!all.length) return;
    event.preventDefault();
    const at = all.indexOf(document.activeElement);
    const next = { Home: 0, End: all.length - 1 }[event.key] ?? Math.max(0, Math.min(all.length - 1, at + step));
    all[next].focus({ preventScroll: true });
    scrollInside(item.box, all[next]);
  });
}

// --- words -----------------------------------------------------------------------------------
function drawContext() {
  for (const item of Object.values(lanes)) {
    item.context.replaceChildren();
    const { run } = view;
    if (!run) {
      item.context.append(worded("span", "sd-quiet", "empty_lane"));
      relabel(item.context);
      continue;
    }
    for (const [role, text] of run.turns) addTurn(item.context, role === "user" ? "you" : "model", text);
    if (run.isChat) addTurn(item.context, "you", run.prompt);
    else item.context.append(run.prompt);
    item.box.classList.toggle("is-completion", !run.isChat);
  }
}

function addTurn(parent, who, text) {
  const turn = make("span", "sd-turn");
  turn.append(worded("b", "", who), ` ${text}`);
  parent.append(turn);
  relabel(turn);
}

async function copyAnswer(name) {
  const { answer, copy } = lanes[name];
  await copyText(answer);
  copy.textContent = word("copied");
  setTimeout(() => (copy.textContent = word("copy")), 1500);
}

function drawWords() {
  relabel(root);
  for (const [name, item] of Object.entries(lanes)) {
    item.box.setAttribute("aria-label", fill("answer_of", { lane: word(`lane_${name}`) }));
  }
  drawContext();
  labelPlayer(playerBar);
  drawTotals();
}

watch("value", read);
watch("words", drawWords);
drawWords();
read();
