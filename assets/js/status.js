// One polite live region for progress, errors and the end of a run; never for the streaming text.
const line = make("p", "sd-status-line");
line.setAttribute("role", "status");
line.setAttribute("aria-live", "polite");
element.firstElementChild.append(line);

const draw = () => {
  const { kind = "info", text = "", word: key = "", values = {} } = JSON.parse(props.value || "{}");
  const shown = key ? fill(key, localized(values)) : text;
  if (line.textContent !== shown) line.textContent = shown;
  line.dataset.kind = kind;
};

const localized = (values) =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, number(value, 2)]));

watch(["value", "words"], draw);
draw();
