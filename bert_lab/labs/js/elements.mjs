// The shared elements of the labs: a header line, rows of labelled controls, the result, an error line, the token strip.

export const COLORS = {
  black: "#000000", orange: "#E69F00", sky: "#56B4E9", green: "#009E73", yellow: "#F0E442",
  blue: "#0072B2", vermillion: "#D55E00", purple: "#CC79A7", grey: "#BBBBBB", white: "#FFFFFF",
};

// The fates of a position: letter -> [color of its background, meaning in a few words].
export const FATES = {
  "S": [COLORS.grey, "special: never picked"],
  "-": [COLORS.white, "not picked"],
  "M": [COLORS.orange, "picked, shown as [MASK]"],
  "R": [COLORS.sky, "picked, shown as a random token"],
  "K": [COLORS.yellow, "picked, kept as it is"],
};
export const PENDING = "."; // a position that masking has not come to yet
export const CHOSEN = "?"; // picked, and what will be shown there is not drawn yet
const STRIP_FATES = {
  ...FATES,
  [PENDING]: [COLORS.white, "not visited yet"],
  [CHOSEN]: [COLORS.white, "picked, what to show is drawn next"],
};

// Light, then dark. JupyterLab sets an attribute of its body, and a page of the book one of its root. Without either,
// the system's setting is used.
const DARK_LOOK = `--bl-paper: #16191d; --bl-ink: #e8e8e8; --bl-quiet: #b4bac2; --bl-line: #5b636d; --bl-soft: #262b31;
  --bl-accent: #56B4E9; --bl-good: #4fd0a5; --bl-bad: #ff9a5c; --bl-button: #2c333b; color-scheme: dark;`;
const LOOK_CSS = `
.bl-lab {
  --bl-paper: #fff; --bl-ink: #111; --bl-quiet: #4a4f55; --bl-line: #8a9099; --bl-soft: #eef1f4;
  --bl-accent: #0072B2; --bl-good: #00704f; --bl-bad: #a84400; --bl-button: #f2f4f6; color-scheme: light;
  font: 16px/1.5 var(--jp-ui-font-family, var(--pst-font-family-base, system-ui, sans-serif));
  max-width: 62em; box-sizing: border-box; margin: 6px 0; padding: 10px 16px 12px; text-align: left;
  border: 1px solid var(--bl-line); border-left: 5px solid #0072B2; border-radius: 4px;
  background: var(--bl-paper); color: var(--bl-ink);
}
[data-jp-theme-light="false"] .bl-lab, html[data-theme="dark"] .bl-lab { ${DARK_LOOK} }
@media (prefers-color-scheme: dark) {
  html:not([data-theme]) body:not([data-jp-theme-light]) .bl-lab { ${DARK_LOOK} }
}
.bl-lab *, .bl-lab *::before { box-sizing: border-box; }
.bl-lab .bl-header { margin-bottom: 6px; }
.bl-lab .bl-title { font-weight: 700; color: var(--bl-accent); margin-right: .4em; }
.bl-lab code { font-size: 95%; background: var(--bl-soft); color: inherit; padding: 0 .2em; border: 0; border-radius: 3px;
  overflow-wrap: anywhere; }
.bl-lab ul { margin: .3em 0 0; padding-left: 1.3em; }
.bl-lab .bl-row { display: flex; flex-wrap: wrap; align-items: center; gap: 6px 24px; margin: 6px 0; }
.bl-lab .bl-row.bl-tight { gap: 6px 8px; }
.bl-lab .bl-field { display: inline-flex; flex-wrap: wrap; align-items: center; gap: 4px 10px; margin: 0; max-width: 100%;
  color: inherit; }
.bl-lab .bl-field > .bl-name { min-width: 3.4em; margin: 0; font-weight: normal; color: inherit; }
.bl-lab .bl-field:has(input[type="range"]) { flex-wrap: nowrap; }
.bl-lab .bl-field > .bl-value { min-width: 3.2em; font-variant-numeric: tabular-nums; }
.bl-lab input, .bl-lab select, .bl-lab button { font: inherit; color: inherit; margin: 0; }
.bl-lab input[type="range"] { flex: 0 1 200px; width: 200px; min-width: 60px; max-width: 100%; height: 28px; accent-color: var(--bl-accent); cursor: pointer; }
.bl-lab input[type="checkbox"], .bl-lab input[type="radio"] { width: 19px; height: 19px; flex: none;
  accent-color: var(--bl-accent); }
.bl-lab input[type="text"], .bl-lab select { min-height: 34px; padding: 2px 8px; max-width: 100%;
  border: 1px solid var(--bl-line); border-radius: 4px; background: var(--bl-paper); }
.bl-lab button { min-height: 34px; padding: 2px 14px; border: 1px solid var(--bl-line); border-radius: 4px;
  background: var(--bl-button); cursor: pointer; }
.bl-lab button:hover:not(:disabled) { border-color: var(--bl-accent); }
.bl-lab button:disabled { opacity: .55; cursor: default; }
.bl-lab button[aria-pressed="true"] { border-color: var(--bl-accent); box-shadow: inset 0 0 0 1px var(--bl-accent); }
.bl-lab button[aria-pressed="true"]::before { content: "\\2713\\00a0"; }
.bl-lab :focus-visible { outline: 3px solid var(--bl-accent); outline-offset: 2px; }
.bl-lab .bl-good { color: var(--bl-good); font-weight: 700; }
.bl-lab .bl-bad { color: var(--bl-bad); font-weight: 700; }
.bl-lab .bl-error { color: var(--bl-bad); font-weight: 700; margin-top: 6px; overflow-wrap: anywhere; }
.bl-lab .bl-error:empty { margin: 0; }
.bl-lab table { border-collapse: collapse; margin: .4em 0; font-size: 16px; width: auto; display: table; }
.bl-lab th, .bl-lab td { padding: 3px 10px; text-align: left; vertical-align: top; background: none; color: inherit;
  border: 0; border-bottom: 1px solid var(--bl-line); white-space: normal; overflow-wrap: anywhere; }
.bl-lab th { font-weight: 700; white-space: nowrap; }
.bl-lab svg { display: block; max-width: 100%; height: auto; }
.bl-lab svg text { fill: var(--bl-ink); font-size: 14px; }
.bl-lab .bl-strip { margin-top: 4px; }
.bl-lab .bl-box { display: inline-block; min-width: 3.2em; margin: 2px 4px 6px 0; padding: 2px 8px 3px;
  border: 1px solid #666; border-radius: 4px; color: #000; text-align: center; vertical-align: top; line-height: 1.35;
  font-size: 15px; }
.bl-lab .bl-box.bl-pending { border-style: dashed; }
.bl-lab .bl-box.bl-here { border: 3px solid #0072B2; outline: 2px solid var(--bl-paper); }
.bl-lab .bl-legend { font-size: 14px; line-height: 1.7; color: var(--bl-ink); }
.bl-lab .bl-legend > span { display: inline-block; margin-right: 14px; }
.bl-lab .bl-legend b { display: inline-block; min-width: 1.3em; padding: 0 3px; border: 1px solid #666; border-radius: 3px;
  color: #000; text-align: center; }
.bl-lab .bl-hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
@media (forced-colors: active) { .bl-lab .bl-box, .bl-lab .bl-legend b { forced-color-adjust: none; } }
@media screen { .bl-is-live > .bl-static { display: none; } }
@media print { .bl-is-live > .bl-live { display: none; } }
`;

/** An HTML element: attributes by name (a function is an event's listener), then children: nodes or texts. */
export function element(tag, attributes = {}, ...children) {
  return fitOut(document.createElement(tag), attributes, children);
}

/** The same for SVG. */
export function svgElement(tag, attributes = {}, ...children) {
  return fitOut(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function fitOut(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") node.addEventListener(name, value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, String(value));
  }
  node.append(...children);
  return node;
}

/** A line of plain text as nodes, where `backticks` mark code. */
export function marked(text) {
  return text.split(/`([^`]+)`/).map((part, i) => (i % 2 ? element("code", {}, part) : part));
}

/** Put a style into the document, once. */
export function addStyle(id, css) {
  if (!document.getElementById(id)) document.head.append(element("style", { id }, css));
}

/** Put the shared style into the document, once, and keep plain keys from JupyterLab's shortcuts. */
export function dressUp() {
  addStyle("bert-lab-look", LOOK_CSS);
  // JupyterLab handles plain keys itself while the focus is in an output, unless the focused element has this
  // attribute. Shift+Enter and the like still work.
  if (!window.bertLabKeys) {
    window.bertLabKeys = true;
    window.addEventListener("keydown", (key) => {
      if (!(key.target instanceof Element) || !key.target.closest(".bl-lab")) return;
      const plain = !(key.shiftKey || key.ctrlKey || key.metaKey || key.altKey);
      key.target.toggleAttribute("data-lm-suppress-shortcuts", plain);
    }, true);
  }
}

/**
 * The frame of a lab inside `el`: {root, controls, result, guard}.
 *
 * title and howTo come from the model's `header` unless given. `controls` and `result` are for the lab to fill. `guard(fn)` runs fn; what it throws shows in the error line, and
 * the lab stays usable; the line is cleared when it succeeds. With nothing of its own to say, the line shows the
 * model's `error`, which is Python's.
 */
export function labFrame(el, { model, title = model.get("header")[0], howTo = model.get("header")[1] }) {
  dressUp();
  const controls = element("div", { class: "bl-controls" });
  const result = element("div", { class: "bl-result" });
  const line = element("div", { class: "bl-error", role: "alert" });
  const header = element("div", { class: "bl-header" },
    element("span", { class: "bl-title" }, ...marked(title)), " ", ...marked(howTo));
  const root = element("div", { class: "bl-lab", role: "group", "aria-label": title }, header, controls, result, line);
  el.append(root);
  let own = "";
  const say = () => {
    const text = own || model.get("error") || "";
    if (line.textContent !== text) line.textContent = text;
  };
  model.on("change:error", say);
  const guard = (action) => {
    try {
      action();
      own = "";
    } catch (problem) {
      own = `${problem.name}: ${problem.message}`;
      if (problem.name !== "ValueError") console.error(problem); // not the reader's doing
    }
    say();
  };
  say();
  return { root, controls, result, guard, leave: () => model.off("change:error", say) };
}

/**
 * Draw now, and again after changes of the named values: once for all changes of one event.
 * Returns a function that ends it.
 */
export function redraws(model, names, draw) {
  let waiting = false;
  const later = () => {
    if (waiting) return;
    waiting = true;
    queueMicrotask(() => { waiting = false; draw(); });
  };
  for (const name of names) model.on(`change:${name}`, later);
  draw();
  return () => { for (const name of names) model.off(`change:${name}`, later); };
}

/** A row of controls. */
export function controlRow(...parts) {
  return element("div", { class: "bl-row" }, ...parts);
}

/** A button. */
export function pushButton(text, pressed, attributes = {}) {
  return element("button", { type: "button", click: pressed, ...attributes }, text);
}

// A page can have several copies of this module, so the ids of each copy begin with another word.
const ID_START = `bl-${Math.random().toString(36).slice(2)}`;
let idCount = 0;

/** A control with its name in front of it, or behind it for a box to tick. */
export function labelled(name, control, ...more) {
  control.id = `${ID_START}-${(idCount += 1)}`;
  const label = element("label", { class: "bl-name", for: control.id }, name);
  return element("div", { class: "bl-field" },
    ...(control.type === "checkbox" ? [control, label] : [label, control]), ...more);
}

/**
 * A slider tied to a value of the model: {field, show}. It follows the pointer, and sends the final value to Python.
 * `max` may be a function; `say` writes the value as text; `show()` brings it to the model's value.
 */
export function sliderFor(model, name, { label = name, min, max, step = 1, say = String }) {
  const highest = () => (typeof max === "function" ? max() : max);
  const input = element("input", { type: "range", min, max: highest(), step });
  const output = element("span", { class: "bl-value", "aria-hidden": "true" }); // the slider itself says it
  input.addEventListener("input", () => { model.set(name, Number(input.value)); show(); });
  input.addEventListener("change", () => model.save_changes());
  function show() {
    const value = model.get(name);
    input.max = highest();
    input.value = value;
    output.textContent = say(value);
    input.setAttribute("aria-valuetext", say(value));
  }
  return { field: labelled(label, input, output), input, show };
}

/** A list to choose from, tied to a value of the model; `options` are pairs of a value and its text. */
export function menuFor(model, name, { label = name, options }) {
  const input = element("select", {}, ...options.map(([, text], i) => element("option", { value: i }, text)));
  input.addEventListener("change", () => { model.set(name, options[Number(input.value)][0]); model.save_changes(); });
  const show = () => { input.value = options.findIndex(([value]) => value === model.get(name)); };
  return { field: labelled(label, input), input, show };
}

/** A box to tick, tied to a value of the model. */
export function tickFor(model, name, { label = name }) {
  const input = element("input", { type: "checkbox" });
  input.addEventListener("change", () => { model.set(name, input.checked); model.save_changes(); });
  return { field: labelled(label, input), input, show: () => { input.checked = model.get(name); } };
}

/**
 * A line of text, tied to a value of the model. It is set when Enter is pressed or the field loses the focus.
 * `show()` keeps what the reader is typing until the model's value changes.
 */
export function textFor(model, name, { label = name, width = "12em", ...attributes }) {
  const input = element("input", {
    type: "text", autocomplete: "off", spellcheck: "false", style: `width:${width}`, ...attributes });
  const take = () => { model.set(name, input.value); model.save_changes(); };
  input.addEventListener("change", take);
  input.addEventListener("keydown", ({ key }) => { if (key === "Enter") take(); }); // JupyterLab keeps the change back
  let shown = null;
  const show = () => {
    const value = String(model.get(name));
    if (value !== shown) input.value = shown = value;
  };
  return { field: labelled(label, input), input, show };
}

/**
 * A sentence as a row of boxes, with a color and a letter for the fate of each token. A long row wraps.
 * tokens, fates, shown: one text for each position; at: the position to frame; legend: whether to explain the letters.
 */
export function tokenStrip(tokens, fates, shown = tokens, { at = null, legend = true } = {}) {
  const said = tokens.map((token, i) => {
    const instead = fates[i] === "R" ? ` (${shown[i]})` : "";
    return `position ${i}, ${token}: ${STRIP_FATES[fates[i]][1]}${instead}`;
  });
  const boxes = tokens.map((token, i) => {
    const kind = `bl-box${i === at ? " bl-here" : ""}${fates[i] === PENDING ? " bl-pending" : ""}`;
    const top = "MR".includes(fates[i]) ? [element("s", {}, token), ` ${shown[i]}`] : [token];
    return element("span", { role: "listitem", title: said[i], class: kind, style: `background:${STRIP_FATES[fates[i]][0]}` },
      ...top, element("br"), element("b", {}, fates[i]));
  });
  const row = element("div", { role: "list", "aria-label": `Token strip: ${said.join("; ")}` }, ...boxes);
  return element("div", { class: "bl-strip" }, row, ...(legend ? [stripLegend()] : []));
}

function stripLegend() {
  const entries = Object.entries(FATES).map(([letter, [color, meaning]]) =>
    element("span", {}, element("b", { style: `background:${color}` }, letter), ` ${meaning}`));
  return element("div", { class: "bl-legend" }, ...entries);
}

/** The letter of FATES for each position of one row, from the results of masking. */
export function fatesOf(ids, special, inputs, labels, maskId) {
  return ids.map((original, t) => {
    if (labels[t] === -100) return special[t] ? "S" : "-";
    return inputs[t] === maskId ? "M" : inputs[t] === original ? "K" : "R";
  });
}
