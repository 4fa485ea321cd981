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
  drawPlayer();
  drawTotals();
  announce("sd-clock", { now: player.now, end: player.end });
}

// Only the rounds between the last moment and this one change.
function showLane(item) {
  const landed = countUpTo(item.rounds, player.now);
  const [first, last] = landed < item.landed ? [landed, item.landed] : [item.landed, landed];
  for (let index = first; index < last; index += 1) {
    item.rounds[index].group.dataset.when = index < landed ? "past" : "future";
  }
  if (item.pendingRound) item.pendingRound.group.dataset.when = item.pendingRound.landed <= player.now ? "past" : "future";
  const next = item.rounds[landed];
  item.pendingRound = next?.drafted <= player.now ? next : null;
  if (item.pendingRound) item.pendingRound.group.dataset.when = "pending";
  item.landed = landed;
  const seen = item.pendingRound ?? item.rounds[landed - 1];
  if (seen) scrollInside(item.box, seen.group);
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

function laneNow(item) {
  const over = item.rounds.slice(0, item.landed);
  const sum = (key) => over.reduce((total, round) => total + round[key], 0);
  const [tokens, tested, accepted] = [sum("tokens"), sum("tested"), sum("accepted")];
  const seconds = Math.min(player.now, item.rounds.at(-1)?.landed ?? 0);
  return {
    tokens,
    seconds,
    tested,
    accepted,
    rate: tokens && seconds ? tokens / seconds : null,
    first: over.length ? over[0].landed : null,
    alpha: tested ? accepted / tested : null,
    tau: over.length ? tokens / over.length : null,
  };
}
