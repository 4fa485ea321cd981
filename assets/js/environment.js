// What the run was measured on, and what the bundled weights are.
const measuredOn = make("p", "sd-environment");
const weights = worded("p", "sd-environment", "weights_note");
root.append(measuredOn, weights);

const notes = make("p", "sd-environment");
root.append(notes);

const draw = () => {
  const told = props.value ? JSON.parse(props.value) : null;
  weights.hidden = told?.word === "environment_served";
  measuredOn.textContent = told ? fill(told.word, told) : "";
  notes.textContent = (told?.notes ?? []).map(([key, values]) => fill(key, values)).join(" ");
  relabel(root);
};

watch(["value", "words"], draw);
draw();
