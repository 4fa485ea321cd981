// Recorded runs: choose one, open a file (also by dropping it on the page), save the run on screen.
const LARGEST = 8_000_000;
const choice = make("select");
const opener = make("input", "sd-unseen");
const openButton = worded("button", "", "recordings_open");
const saveButton = worded("button", "", "recordings_save");

Object.assign(opener, { type: "file", accept: ".json,.gz", tabIndex: -1 });
opener.setAttribute("aria-hidden", "true");
for (const button of [openButton, saveButton]) button.type = "button";
const label = make("label");
label.append(worded("span", "", "recordings"), choice);
if (fixed.names.length) root.append(label);
root.append(openButton, opener, saveButton);

choice.addEventListener("change", () => {
  if (choice.value) trigger("recording_select", { name: choice.value });
  choice.value = "";
});
openButton.addEventListener("click", () => opener.click());
saveButton.addEventListener("click", () => trigger("recording_save", {}));
opener.addEventListener("change", () => {
  send(opener.files[0]);
  opener.value = "";
});

function send(file) {
  if (!file) return;
  if (file.size > LARGEST) return trigger("recording_open", { data: "", tooLarge: true });
  const reader = new FileReader();
  reader.addEventListener("load", () => {
    trigger("recording_open", { data: reader.result.slice(reader.result.indexOf(",") + 1) });
  });
  reader.readAsDataURL(file);
}

const holdsFile = (event) => [...(event.dataTransfer?.types ?? [])].includes("Files");
document.addEventListener("dragover", (event) => holdsFile(event) && event.preventDefault());
document.addEventListener("drop", (event) => {
  if (!holdsFile(event)) return;
  event.preventDefault();
  send(event.dataTransfer.files[0]);
});

function handOver() {
  if (!props.value) return;
  const { name, data } = JSON.parse(props.value);
  download(name, `data:application/gzip;base64,${data}`);
}

const drawWords = () => {
  const options = fixed.names.map((name) => {
    // A file that was given by hand goes by its own name.
    const option = make("option", "", word(`example_${name}`) || name);
    option.value = name;
    return option;
  });
  const first = worded("option", "", "recordings_choose");
  first.value = "";
  choice.replaceChildren(first, ...options);
  relabel(root);
};

watch("value", handOver);
watch("words", drawWords);
drawWords();
