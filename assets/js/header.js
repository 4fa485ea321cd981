// Title and purpose. No value: only words.
const heading = make("div", "sd-title");
heading.append(worded("h1", "", "title"));
root.append(heading, worded("p", "", "subtitle"));
const draw = () => {
  relabel(root);
  document.documentElement.lang = props.language;
  document.title = word("title");
};
watch("words", draw);
draw();
