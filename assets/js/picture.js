// The coloured answer with its legend and figures as one picture, drawn from the tokens on screen. All
// text becomes text nodes, so nothing in it can be markup.
const PICTURE = { width: 1200, margin: 40, size: 20, line: 38 };
const SVG = "http://www.w3.org/2000/svg";

const svgNode = (tag, attributes, text = "") => {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  if (text) node.textContent = text;
  return node;
};

const palette = () => {
  const style = getComputedStyle(document.body.classList.contains("dark") ? document.body : document.documentElement);
  return (name) => style.getPropertyValue(`--sd-${name}`).trim();
};

function textWidth(text, size, weight = 400) {
  textWidth.context ??= make("canvas").getContext("2d");
  textWidth.context.font = `${weight} ${size}px ${fontOf()}`;
  return textWidth.context.measureText(text).width;
}

const fontOf = () => getComputedStyle(root).fontFamily;

const lettersOf = (chip) => {
  const mark = chip.querySelector(".sd-mark")?.textContent ?? "";
  const letters = [...chip.querySelector(".sd-letters").childNodes].filter((node) => !node.classList?.contains("sd-plain"));
  return { mark, text: letters.map((node) => node.textContent).join("") };
};

// --- one token as a box -----------------------------------------------------------------------------
function drawToken(picture, { state, mark, text }, x, y, width) {
  const { size } = PICTURE;
  const [fillColour, ink] = [picture.colour(`${state}-fill`), picture.colour(`${state}-ink`) || picture.colour("ink")];
  const box = { x, y: y - size, width, height: size * 1.35, rx: 4 };
  if (fillColour && state !== "pending") picture.svg.append(svgNode("rect", { ...box, fill: fillColour }));
  if (state === "pending") picture.svg.append(svgNode("rect", { ...box, fill: "none", stroke: ink, "stroke-dasharray": "3 3" }));
  if (state === "resampled" || state === "bonus") {
    picture.svg.append(svgNode("rect", { x, y: y + size * 0.35 - 3, width, height: 3, fill: ink }));
  }
  const shown = svgNode("text", { x: x + 3, y, fill: ink, "font-size": size, "xml:space": "preserve" });
  if (mark) shown.append(svgNode("tspan", { "font-size": size * 0.72, "font-weight": 700 }, mark));
  const isStruck = state === "rejected" || state === "untested";
  shown.append(svgNode("tspan", isStruck ? { "text-decoration": "line-through" } : {}, text));
  picture.svg.append(shown);
}

const tokenWidth = ({ mark, text }) =>
  textWidth(text, PICTURE.size) + (mark ? textWidth(mark, PICTURE.size * 0.72, 700) : 0) + 6;

// Tokens wrap as on the page: a box is never split, a line break ends the line after its box.
function drawTokens(picture, chips) {
  const { width, margin, line, size } = PICTURE;
  let x = margin;
  for (const chip of chips) {
    const token = { state: [...chip.classList].find((name) => name.startsWith("is-")).slice(3), ...lettersOf(chip) };
    const own = tokenWidth(token);
    const space = chip.verdict.text.startsWith(" ") && token.text !== "␣" ? textWidth(" ", size) : 0;
    if (x + space + own > width - margin && x > margin) [x, picture.y] = [margin, picture.y + line];
    else x += space;
    drawToken(picture, token, x, picture.y, own);
    x += own + 1;
    const breaks = isOutput(chip.verdict.outcome) ? chip.verdict.text.split("\n").length - 1 : 0;
    if (breaks) [x, picture.y] = [margin, picture.y + line];
  }
  picture.y += line;
}

function drawLegendLine(picture) {
  let x = PICTURE.margin;
  for (const state of ["accepted", "rejected", "untested", "resampled", "bonus"]) {
    const token = { state, mark: fixed.marks[state] ?? "", text: word(`state_${state}`) };
    const width = tokenWidth(token);
    drawToken(picture, token, x, picture.y, width);
    x += width + 16;
  }
  picture.y += PICTURE.line;
}

function say(picture, text, size, { weight = 400, colour = "ink" } = {}) {
  const { margin, width } = PICTURE;
  let shown = text;
  while (shown && textWidth(shown, size, weight) > width - 2 * margin) shown = `${shown.slice(0, -2)}…`;
  const look = { x: margin, y: picture.y, fill: picture.colour(colour), "font-size": size, "font-weight": weight };
  picture.svg.append(svgNode("text", look, shown));
  picture.y += size * 1.75;
}

function figureLine() {
  const { normal, speculative, speedup } = totalsNow();
  return [
    `${word("speedup")} ${speedupText(speedup)}`,
    `${word("lane_normal")} ${number(normal.rate, 1)} ${word("tokens_per_second")}`,
    `${word("lane_speculative")} ${number(speculative.rate, 1)} ${word("tokens_per_second")}`,
    `${word("acceptance_rate")} ${speculative.alpha === null ? "–" : number(speculative.alpha * 100, 0)} %`,
    `τ ${number(speculative.tau, 2)}`,
  ].join("   ·   ");
}

function buildPicture() {
  const { width } = PICTURE;
  const background = svgNode("rect", { width, height: 10 });
  const picture = { svg: svgNode("svg", { xmlns: SVG, width, "font-family": fontOf() }), colour: palette(), y: 56 };
  background.setAttribute("fill", picture.colour("surface"));
  picture.svg.append(background);
  say(picture, view.run.prompt, 24, { weight: 650 });
  say(picture, figureLine(), 17, { colour: "quiet" });
  picture.y += 14;
  const shown = [...lanes.speculative.text.querySelectorAll(".sd-round:not(.is-future) .sd-chip")];
  drawTokens(picture, shown);
  picture.y += 10;
  drawLegendLine(picture);
  say(picture, document.querySelector("p.sd-environment")?.textContent ?? "", 13, { colour: "quiet" });
  const height = Math.ceil(picture.y + 8);
  for (const node of [picture.svg, background]) node.setAttribute("height", height);
  picture.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  return { text: new XMLSerializer().serializeToString(picture.svg), width, height };
}

async function savePicture(kind) {
  if (!view.totals || !view.run) return;
  const { text, width, height } = buildPicture();
  const drawing = new Blob([text], { type: "image/svg+xml" });
  if (kind === "SVG") return downloadBlob("specdemo.svg", drawing);
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  await image.decode();
  const canvas = make("canvas");
  Object.assign(canvas, { width: width * 2, height: height * 2 });
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  canvas.toBlob((blob) => downloadBlob("specdemo.png", blob), "image/png");
}

window.addEventListener("sd-picture-wanted", ({ detail }) => savePicture(detail));
