// One token as a box: hue, mark and shape say its fate; white space shows as glyphs.
const ONLY_SPACES = /^[ \u00a0]+$/;

// A token's leading space stands before its box, so that no line starts or ends with half a box.
function chipNode(state, text, key = "") {
  const chip = make("span", `sd-chip is-${state}`);
  const [, space, rest] = /^( ?)(.*)$/s.exec(text);
  const body = make("span", "sd-body");
  if (fixed.marks[state]) {
    const mark = make("i", "sd-mark", fixed.marks[state]);
    mark.setAttribute("aria-hidden", "true");
    body.append(mark);
  }
  const letters = key ? worded("span", "sd-letters", key) : make("span", "sd-letters");
  if (!key) letters.append(...(state === "normal" ? [rest || text] : glyphs(rest || text)));
  body.append(letters);
  chip.append(rest ? space : "", body);
  return chip;
}

function token(text, outcome, place = null, count = 1) {
  const chip = chipNode(outcome, text);
  chip.setAttribute("role", "option");
  chip.tabIndex = -1;
  const severalWord = text.startsWith("◌") ? "unknown_tokens" : "several_tokens";
  const several = count > 1 ? `, ${fill(severalWord, { count })}` : "";
  chip.setAttribute("aria-label", `${text.trim() || "␣"}, ${word(`state_${outcome}`)}${several}`);
  chip.verdict = { text, outcome, place };
  return chip;
}

// White space is seen as a glyph in a box, and as itself where only the final text is shown.
function glyphs(text) {
  if (!text) return ["◌"];
  if (ONLY_SPACES.test(text)) return glyph("␣".repeat(text.length), text);
  return text
    .split(/([\n\t\r])/)
    .filter(Boolean)
    .flatMap((part) => {
      const shown = { "\n": "↵", "\t": "⇥", "\r": "␍" }[part];
      return shown ? glyph(shown, part === "\t" ? part : "") : part;
    });
}

function glyph(shown, plain) {
  return [make("i", "sd-glyph", shown), make("span", "sd-plain", plain)];
}

