// What the row of example buttons is. No value: only words.
root.append(worded("p", "", "examples"));
watch("words", () => relabel(root));
relabel(root);
