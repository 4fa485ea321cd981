// What a hall and a sharer need: a link, a picture, a report, a larger size, the keyboard map.
const tool = (key, action, className = "") => {
  const node = key ? worded("button", className, key) : make("button", className);
  node.type = "button";
  node.addEventListener("click", action);
  return node;
};

const linkButton = tool("tools_link", async () => {
  write();
  await copyText(location.href);
  linkButton.textContent = word("tools_linked");
  setTimeout(() => (linkButton.textContent = word("tools_link")), 1500);
});
const pictureButtons = ["SVG", "PNG"].map((kind) => {
  const node = tool("", () => announce("sd-picture-wanted", kind));
  node.textContent = kind;
  return node;
});
const pictures = make("span", "sd-tools-group");
pictures.append(worded("span", "", "tools_picture"), ...pictureButtons);
const reportButton = tool("tools_report", () => trigger("report_wanted", {}));
const dialog = keyboardMap();
const keysButton = tool("", () => dialog.showModal());
keysButton.append(make("kbd", "", "?"), worded("span", "", "tools_keys"));
const presenter = make("label", "sd-switch");
const presenterBox = make("input");
presenterBox.type = "checkbox";
presenterBox.addEventListener("change", () => {
  showSize(presenterBox.checked);
  keep();
});
presenter.append(presenterBox, worded("span", "", "tools_presenter"));
root.append(linkButton, reportButton, pictures, panelMenu(), presenter, keysButton, dialog);

function handOver() {
  if (!props.value) return;
  const { name, html } = JSON.parse(props.value);
  downloadBlob(name, new Blob([html], { type: "text/html" }));
}

const drawWords = () => {
  relabel(root);
  for (const node of pictureButtons) {
    node.setAttribute("aria-label", fill("tools_picture_as", { kind: node.textContent }));
  }
};

watch("value", handOver);
watch("words", drawWords);
drawWords();
connectAddress();
presenterBox.checked = page.isPresenter;
