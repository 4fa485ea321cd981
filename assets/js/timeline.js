// The one-clock timeline: its rounds are pointed at with the mouse or the arrow keys, and lead to the
// tokens; a token that is chosen marks its round here.
const timeline = { item: null, said: null, lane: "speculative", round: -1, now: null };
const LANES = ["normal", "speculative"];

function buildTimeline(item) {
  timeline.item = item;
  timeline.said = make("p", "sd-timeline-said");
  timeline.said.setAttribute("aria-live", "polite");
  item.plot.removeAttribute("aria-hidden");
  item.plot.tabIndex = 0;
  item.plot.setAttribute("role", "group");
  item.plot.after(timeline.said);
  item.plot.addEventListener("keydown", stepRound);
  window.addEventListener("sd-clock", ({ detail }) => markClock(detail.now));
  window.addEventListener("sd-token-chosen", ({ detail }) => markBlock(detail.lane, detail.round));
}

function labelTimeline() {
  timeline.item.plot.setAttribute("aria-label", word("chart_timeline"));
  sayRound();
}

const roundsOf = (lane) => {
  const name = word(`lane_${lane}`);
  return (timeline.item.chart?.table ?? []).slice(1).filter((row) => row[0] === name);
};

function connectTimeline({ plot }) {
  drawMark();
  if (plot.isConnectedToTokens) return;
  plot.isConnectedToTokens = true;
  plot.on("plotly_click", ({ points: [point] }) => {
    const [lane, round] = point.customdata;
    if (round < 0) return;
    markBlock(lane, round);
    window.dispatchEvent(new CustomEvent("sd-round-chosen", { detail: { lane, round } }));
  });
}

function stepRound(event) {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  const isOtherLane = event.key === "ArrowUp" || event.key === "ArrowDown";
  if (event.key === "Enter" && timeline.round >= 0) {
    const detail = { lane: timeline.lane, round: timeline.round };
    return window.dispatchEvent(new CustomEvent("sd-round-chosen", { detail }));
  }
  if (!step && !isOtherLane) return;
  event.preventDefault();
  const lane = isOtherLane ? LANES[event.key === "ArrowUp" ? 0 : 1] : timeline.lane;
  const last = roundsOf(lane).length - 1;
  if (last < 0) return;
  markBlock(lane, Math.max(0, Math.min(last, timeline.round + (step ?? 0))));
  window.dispatchEvent(new CustomEvent("sd-round-pointed", { detail: { lane, round: timeline.round } }));
}

function markBlock(lane, round) {
  Object.assign(timeline, { lane, round });
  drawMark();
  sayRound();
}

// The replay's clock, a few times a second while it runs.
let clockDue = 0;
function markClock(now) {
  timeline.now = now;
  if (clockDue || !timeline.item.isSeen) return;
  clockDue = setTimeout(() => {
    clockDue = 0;
    drawMark();
  }, 120);
}

const chosenRow = () => roundsOf(timeline.lane)[timeline.round];

function drawMark() {
  const { plot } = timeline.item;
  if (!window.Plotly || !plot.layout) return;
  const row = chosenRow();
  const shapes = [...(row ? [markShape(row)] : []), ...(timeline.now === null ? [] : [clockShape()])];
  window.Plotly.relayout(plot, { shapes });
}

function clockShape() {
  const line = { width: 1.5, dash: "dot", color: getComputedStyle(root).color };
  return { type: "line", x0: timeline.now, x1: timeline.now, yref: "paper", y0: 0, y1: 1, line };
}

function markShape([, , start, draft, verify, overhead, , , , waited = 0]) {
  const height = timeline.lane === "normal" ? [0.52, 1] : [0, 0.48];
  return {
    type: "rect",
    x0: start,
    x1: start + draft + verify + overhead + waited,
    yref: "paper",
    y0: height[0],
    y1: height[1],
    line: { width: 2, color: getComputedStyle(root).color },
  };
}

function sayRound() {
  const row = chosenRow();
  if (!row) return void (timeline.said.textContent = word("timeline_hint"));
  const [, round, , draft, verify, , drafted, kept, tokens, waited] = row;
  const milliseconds = (seconds) => number(seconds * 1000, 1);
  timeline.said.textContent = fill(waited === undefined ? "timeline_said" : "timeline_said_served", {
    lane: word(`lane_${timeline.lane}`),
    round,
    drafted,
    kept,
    tokens,
    draft: milliseconds(draft),
    verify: milliseconds(verify),
    waited: milliseconds(waited),
  });
}
