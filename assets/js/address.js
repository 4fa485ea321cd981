// The page's state in the fragment of its address: it never leaves the browser unless it is shared.
const LONGEST = 1000;
const KEEP_MILLISECONDS = 300;
const page = { fields: {}, tab: "", recording: "", at: null, hidden: [], language: "", isFinal: false, isPresenter: false };
const specs = Object.entries(fixed.fields);
let wanted = null; // the moment that a link asks for, until its run is on screen
let isTabRestored = false;
let keepDue = 0;

const isKnown = (spec, value) => {
  if (spec.kind === "choice") return spec.values.includes(value);
  if (spec.kind === "flag") return typeof value === "boolean";
  if (spec.kind === "text") return value.length <= LONGEST;
  const { least, most } = spec;
  return Number.isFinite(value) && (least === null || value >= least) && (most === null || value <= most);
};

const typed = ({ kind }, text) => {
  if (kind === "number") return text.trim() ? Number(text) : NaN;
  return kind === "flag" ? { true: true, false: false }[text] : text;
};

function parsed(fragment) {
  const given = new URLSearchParams(fragment.slice(1));
  for (const [name, spec] of specs) {
    const value = given.has(name) ? typed(spec, given.get(name)) : undefined;
    if (value !== undefined && isKnown(spec, value)) page.fields[name] = value;
  }
  page.tab = fixed.tabs.includes(given.get("tab")) ? given.get("tab") : "";
  page.recording = fixed.names.includes(given.get("recording")) ? given.get("recording") : "";
  page.language = fixed.languages.includes(given.get("language")) ? given.get("language") : "";
  page.hidden = PANELS.filter((name) => given.get("hidden")?.split(",").includes(name));
  page.isFinal = given.get("final") === "1";
  page.isPresenter = given.get("presenter") === "1";
  const at = Number.parseFloat(given.get("at"));
  wanted = Number.isFinite(at) && at >= 0 ? at : null;
}

function fragment() {
  const state = new URLSearchParams();
  for (const [name, spec] of specs) {
    const value = page.fields[name] ?? spec.value;
    if (value !== spec.value && value !== null && isKnown(spec, value)) state.set(name, value);
  }
  if (page.tab && page.tab !== fixed.tabs[0]) state.set("tab", page.tab);
  if (page.recording && page.recording !== fixed.first) state.set("recording", page.recording);
  const at = wanted ?? page.at;
  if (at !== null) state.set("at", at.toFixed(3));
  if (page.hidden.length) state.set("hidden", page.hidden.join());
  if (page.isFinal) state.set("final", "1");
  if (page.isPresenter) state.set("presenter", "1");
  // Whoever opens a link sees it as it was, whatever their browser speaks.
  if (page.language || String(state)) state.set("language", page.language || props.language);
  return String(state);
}

function write() {
  keepDue = 0;
  const state = fragment();
  history.replaceState(history.state, "", location.pathname + location.search + (state && `#${state}`));
}

// Browsers refuse too many changes of the address in a short time.
function keep() {
  keepDue ||= setTimeout(write, KEEP_MILLISECONDS);
}

function showSize(isPresenter) {
  page.isPresenter = isPresenter;
  document.body.classList.toggle("sd-presenter", isPresenter);
}

function connectAddress() {
  parsed(location.hash);
  showSize(page.isPresenter);
  hidePanels(page.hidden);
  // Gradio's own components are set and read by functions that the server names here.
  window.specdemo = {
    restored: () => specs.map(([name, spec]) => page.fields[name] ?? spec.value),
    keepFields: (values) => {
      specs.forEach(([name], index) => (page.fields[name] = values[index]));
      keep();
    },
    keepLanguage: (language) => {
      page.language = language;
      keep();
    },
    keepTab: (tab) => {
      // The page opens its first tab by itself, before the one that a link wants.
      if (page.tab && !isTabRestored) return;
      page.tab = tab;
      keep();
    },
  };
  window.addEventListener("sd-run-opened", ({ detail }) => {
    Object.assign(page, { recording: detail ?? "", at: null });
    keep();
  });
  window.addEventListener("sd-run-ready", restoreMoment);
  window.addEventListener("sd-clock", ({ detail: { now, end } }) => {
    page.at = now < end ? now : null;
    keep();
  });
  window.addEventListener("sd-final-text", ({ detail }) => {
    page.isFinal = detail;
    keep();
  });
  window.addEventListener("sd-tab-wanted", ({ detail }) => trigger("tab_wanted", { tab: detail }));
  if (Object.keys(page.fields).length) trigger("fields_wanted", {});
  if (!fixed.first) restoreMoment();
}

// Only when its run is drawn: parts of a tab that is not open are not.
function restoreMoment() {
  if (wanted !== null) announce("sd-seek", wanted);
  wanted = null;
  if (page.tab && !isTabRestored) trigger("tab_wanted", { tab: page.tab });
  isTabRestored = true;
}
