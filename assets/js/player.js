// Replay of a finished race on its own clock: any moment can be shown, forwards and backwards. A draft
// shows as pending from when it was complete; its verdicts land together, as they did.
const SPEEDS = [0.1, 0.25, 0.5, 1, 2, 5, 10];
const player = { now: Infinity, end: 0, moments: [], refusals: [], isPlaying: false, last: 0, nodes: {} };
const isCalm = () => window.matchMedia("(prefers-reduced-motion: reduce)").matches;

function buildPlayer() {
  const bar = make("div", "sd-player");
  bar.setAttribute("role", "group");
  const { nodes } = player;
  const button = (name, sign, action) => {
    nodes[name] = make("button", "", sign);
    nodes[name].type = "button";
    nodes[name].addEventListener("click", action);
    bar.append(nodes[name]);
  };
  button("start", "|◂", () => seek(0));
  button("back", "◂", () => seek(momentBefore(player.moments)));
  button("play", "▶", togglePlay);
  button("on", "▸", () => seek(momentAfter(player.moments)));
  button("refusal", "× ▸", () => seek(momentAfter(player.refusals)));
  button("end", "▸|", () => seek(player.end));
  nodes.clock = make("input");
  Object.assign(nodes.clock, { type: "range", min: 0, max: 1, step: "any", value: 1 });
  nodes.clock.addEventListener("input", () => seek(Number(nodes.clock.value)));
  nodes.clock.addEventListener("keydown", stepClock);
  nodes.time = make("output", "", "–");
  nodes.speed = make("select");
  for (const speed of SPEEDS) {
    const option = make("option", "", `${speed}×`);
    Object.assign(option, { value: speed, selected: speed === 1 });
    nodes.speed.append(option);
  }
  bar.append(nodes.clock, nodes.time, nodes.speed);
  document.addEventListener("keydown", playWithSpace);
  return bar;
}

function labelPlayer(bar) {
  const { nodes } = player;
  bar.setAttribute("aria-label", word("replay"));
  for (const name of ["start", "back", "on", "refusal", "end", "clock", "speed"]) {
    nodes[name].setAttribute("aria-label", word(`replay_${name}`));
    nodes[name].title = word(`replay_${name}`);
  }
  drawPlayer();
}

// --- when there is something to replay ----------------------------------------------------------
function readyPlayer() {
  const all = Object.values(lanes);
  const rounds = all.flatMap((item) => item.rounds);
  const times = rounds.flatMap(({ drafted, landed }) => [drafted, landed]);
  player.moments = [...new Set(times)].sort((a, b) => a - b);
  player.refusals = rounds.filter((round) => round.refused).map((round) => round.landed);
  player.end = player.moments.at(-1) ?? 0;
  player.now = player.end;
  drawPlayer();
  announce("sd-run-ready", null);
}

function clearPlayer() {
  Object.assign(player, { now: Infinity, end: 0, moments: [], refusals: [], isPlaying: false });
  drawPlayer();
}

window.addEventListener("sd-seek", ({ detail }) => player.end && seek(detail));

const momentAfter = (times) => times.find((time) => time > player.now + 1e-9) ?? player.end;
const momentBefore = (times) => times.findLast((time) => time < player.now - 1e-9) ?? 0;

// --- moving the clock ---------------------------------------------------------------------------
function seek(time) {
  player.isPlaying = false;
  show(time);
}

function show(time) {
  player.now = Math.max(0, Math.min(player.end, time));
  for (const item of Object.values(lanes)) showLane(item);
  lateDue ||= requestAnimationFrame(settleLate);
  drawPlayer();
  drawTotals();
  announce("sd-clock", { now: player.now, end: player.end });
}

// Only rounds between the last moment and this one change: those around it at once, the others in the
// frames that follow, so that no jump through a long run holds the page up.
const NEAR_TOKENS = 400;

function showLane(item) {
  const { rounds, landed: before } = item;
  const landed = countUpTo(rounds, player.now);
  item.landed = landed;
  item.late = [Math.min(item.late[0], before, landed), Math.max(item.late[1], before + 1, landed + 1)];
  settle(item, landed - roundsNear(item), landed + roundsNear(item));
  const seen = isDrafted(item, landed) ? rounds[landed] : rounds[landed - 1];
  if (seen) scrollInside(item.box, seen.group);
}

const isDrafted = ({ rounds }, index) => rounds[index]?.drafted <= player.now;

const roundsNear = ({ rounds }) => Math.ceil((NEAR_TOKENS * rounds.length) / Math.max(1, rounds.at(-1)?.tokens ?? 1));

function settle(item, first, last) {
  for (const [offset, round] of item.rounds.slice(Math.max(0, first), Math.max(0, last)).entries()) {
    const index = Math.max(0, first) + offset;
    const waits = index === item.landed && isDrafted(item, index) ? " is-drafted" : " is-future";
    const look = `sd-round${index < item.landed ? "" : waits}`;
    if (round.group.className !== look) round.group.className = look;
  }
}

let lateDue = 0;
function settleLate() {
  lateDue = 0;
  for (const item of Object.values(lanes)) {
    const [first, last] = item.late;
    const next = Math.min(last, first + roundsNear(item));
    settle(item, first, next);
    item.late = next < last ? [next, last] : [Infinity, 0];
    if (next < last) lateDue ||= requestAnimationFrame(settleLate);
  }
}

function countUpTo(rounds, time) {
  let [low, high] = [0, rounds.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (rounds[middle].landed <= time + 1e-9) low = middle + 1;
    else high = middle;
  }
  return low;
}

function togglePlay() {
  if (!player.end) return;
  player.isPlaying = !player.isPlaying;
  if (player.isPlaying) {
    if (player.now >= player.end) show(0);
    player.last = performance.now();
    requestAnimationFrame(tick);
  }
  drawPlayer();
}

function tick(at) {
  if (!player.isPlaying) return;
  const time = player.now + ((at - player.last) / 1000) * Number(player.nodes.speed.value);
  player.last = at;
  const isEvent = momentAfter(player.moments) <= time;
  if (isCalm() && !isEvent) player.now = time;
  else show(time);
  if (player.now >= player.end) player.isPlaying = false;
  else requestAnimationFrame(tick);
  if (!player.isPlaying) drawPlayer();
}

function stepClock(event) {
  const moments = { ArrowRight: momentAfter, ArrowUp: momentAfter, ArrowLeft: momentBefore, ArrowDown: momentBefore };
  if (!moments[event.key]) return;
  event.preventDefault();
  seek(moments[event.key](player.moments));
}

// The space bar plays only while nothing else would take it.
function playWithSpace(event) {
  if (event.key !== " " || event.defaultPrevented || document.activeElement !== document.body) return;
  event.preventDefault();
  const isLive = Object.values(lanes).some(({ frame }) => frame.dataset.state === "live");
  if (isLive) trigger("pause_toggle", {});
  else togglePlay();
}

// --- drawing ------------------------------------------------------------------------------------
function drawPlayer() {
  const { nodes, end, now } = player;
  for (const node of Object.values(nodes)) node.disabled = !end;
  nodes.play.textContent = player.isPlaying ? "❚❚" : "▶";
  nodes.play.setAttribute("aria-label", word(player.isPlaying ? "replay_pause" : "replay_play"));
  nodes.play.title = nodes.play.getAttribute("aria-label");
  nodes.clock.max = end || 1;
  nodes.clock.value = end ? now : 1;
  nodes.time.textContent = end ? `${number(now, 2)} s` : "–";
  nodes.clock.setAttribute("aria-valuetext", nodes.time.textContent);
}

// The numbers at a moment of the replay; at its end they are the server's own.
function totalsNow() {
  if (!view.totals || player.now >= player.end) return view.totals;
  const [normal, speculative] = [laneNow(lanes.normal), laneNow(lanes.speculative)];
  const speedup = normal.rate && speculative.rate ? speculative.rate / normal.rate : null;
  return { ...view.totals, normal, speculative, speedup, finished: false, best: null };
}

function laneNow({ rounds, landed }) {
  const { tokens, accepted, tested } = rounds[landed - 1] ?? { tokens: 0, accepted: 0, tested: 0 };
  const seconds = Math.min(player.now, rounds.at(-1)?.landed ?? 0);
  return {
    tokens,
    seconds,
    tested,
    accepted,
    rate: tokens && seconds ? tokens / seconds : null,
    first: landed ? rounds[0].landed : null,
    alpha: tested ? accepted / tested : null,
    tau: landed ? tokens / landed : null,
  };
}
