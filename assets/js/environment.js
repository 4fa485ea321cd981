// What the run was measured on, and what the bundled weights are.
const measuredOn = make("p", "sd-environment");
root.append(measuredOn, worded("p", "sd-environment", "weights_note"));

const draw = () => {
  measuredOn.textContent = props.value ? fill("environment", JSON.parse(props.value)) : "";
  relabel(root);
};

watch(["value", "words"], draw);
draw();
