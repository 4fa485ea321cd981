// Which panels of the race are hidden, chosen in a menu; the style sheet hides them by their names.
const PANELS = ["normal", "measures", "legend", "verdict", "timeline", "why", "charts", "precisions", "comparison", "runs"];
const panelBoxes = new Map();

function panelMenu() {
  const menu = make("details", "sd-panels");
  const list = make("div", "sd-panels-list");
  list.setAttribute("role", "group");
  for (const name of PANELS) {
    const label = make("label");
    const box = make("input");
    box.type = "checkbox";
    box.addEventListener("change", () => {
      hidePanels(PANELS.filter((each) => !panelBoxes.get(each).checked));
      keep();
    });
    panelBoxes.set(name, box);
    label.append(box, worded("span", "", `panel_${name}`));
    list.append(label);
  }
  menu.append(worded("summary", "", "tools_panels"), list);
  document.addEventListener("pointerdown", ({ target }) => menu.contains(target) || (menu.open = false));
  menu.addEventListener("keydown", ({ key }) => {
    if (key !== "Escape") return;
    menu.open = false;
    menu.firstChild.focus();
  });
  return menu;
}

function hidePanels(names) {
  page.hidden = names;
  document.body.dataset.hidden = names.join(" ");
  for (const [name, box] of panelBoxes) box.checked = !names.includes(name);
  // A chart that was hidden has no size until it is seen again.
  window.dispatchEvent(new Event("resize"));
}
