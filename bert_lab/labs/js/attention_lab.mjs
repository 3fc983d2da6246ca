// The attention lab: the attention of each token, by layer and head, and what its output depends on.
import { addStyle, COLORS, controlRow, element, labelled, labFrame, pushButton, redraws, sliderFor, svgElement, textFor } from "./elements.mjs";

const ROW = 30; // pixels of height that a token has
const FEW_HEADS = 6, FEW_TOKENS = 24; // with more, a panel takes the lab's whole width
const BOTH_WAYS = "both ways";
const READS = [[BOTH_WAYS, "each token looks at all"], ["causal", "each token looks at itself and at those before it"]];
const ATTENTION_CSS = `
.bl-lab .bl-view { container-type: inline-size; }
.bl-lab .bl-panels { display: grid; gap: 14px 32px; margin-top: 8px; align-items: start; justify-items: start; grid-template-columns: 100%; }
@container (min-width: 620px) {
  .bl-lab .bl-panels { grid-template-columns: minmax(0, 1.15fr) minmax(0, 1fr); grid-template-rows: auto 1fr; max-width: 860px; }
  .bl-lab .bl-panel.bl-all { grid-column: 2; grid-row: 1 / 3; }
  .bl-lab .bl-many-tokens .bl-all { grid-row: 1; }
  .bl-lab .bl-many-tokens .bl-moves { grid-column: 1 / -1; }
  .bl-lab .bl-panels.bl-many-heads { grid-template-columns: 100%; grid-template-rows: auto; }
  .bl-lab .bl-many-heads .bl-all { grid-column: 1; grid-row: 2; }
}
.bl-lab .bl-panel { max-width: 100%; overflow-x: auto; padding: 2px; }
.bl-lab .bl-panel .bl-name { margin: 0 0 4px; font-weight: 700; }
.bl-lab .bl-said { min-height: 1.5em; margin: 6px 0 0; }
.bl-lab .bl-notes { max-width: 50em; margin: 8px 0 0; font-size: 14px; color: var(--bl-quiet); }
.bl-lab .bl-panel.bl-narrow { container-type: inline-size; width: 100%; }
.bl-lab table.bl-looks { width: 100%; max-width: 430px; margin: 0; border-collapse: separate; border-spacing: 0; }
.bl-lab table.bl-looks th, .bl-lab table.bl-looks td { width: 1px; height: ${ROW}px; padding: 0 4px; border: 0; white-space: nowrap;
  vertical-align: middle; line-height: ${ROW}px; overflow-wrap: normal; }
.bl-lab table.bl-looks td.bl-lines { width: auto; min-width: 44px; padding: 0; }
.bl-lab table.bl-looks .bl-digits { min-width: 3.1em; text-align: right; font-variant-numeric: tabular-nums; }
.bl-lab .bl-lines svg { width: 100%; height: auto; overflow: visible; }
.bl-lab .bl-lines path { fill: none; stroke: var(--bl-accent); stroke-opacity: .75; vector-effect: non-scaling-stroke; }
.bl-lab .bl-looker { display: flex; align-items: center; gap: 8px; margin: 0; padding-right: 6px; border-radius: 4px;
  height: ${ROW - 2}px; font-weight: normal; color: inherit; cursor: pointer; }
.bl-lab .bl-looker:hover { background: var(--bl-soft); }
.bl-lab .bl-looker:has(:checked) { background: var(--bl-soft); box-shadow: inset 0 0 0 2px #D55E00; font-weight: 700; }
.bl-lab .bl-zero { color: var(--bl-quiet); }
@container (max-width: 400px) {
  .bl-lab table.bl-looks { font-size: 14px; }
  .bl-lab table.bl-looks th, .bl-lab table.bl-looks td { padding: 0 2px; }
  .bl-lab table.bl-looks td.bl-lines { min-width: 34px; }
  .bl-lab table.bl-looks .bl-digits { min-width: 2.8em; }
  .bl-lab .bl-looker { gap: 4px; padding-right: 4px; }
  .bl-lab .bl-looker input { width: 16px; height: 16px; }
}
.bl-lab .bl-most { font-weight: 700; }
.bl-lab .bl-heads { display: grid; gap: 3px; align-items: center; justify-items: center; width: max-content; max-width: 100%; font-size: 14px; }
.bl-lab .bl-heads > span { padding-right: 4px; white-space: nowrap; }
.bl-lab button.bl-map { position: relative; display: block; width: 100%; min-width: 22px; min-height: 0; padding: 0 5px; line-height: 0;
  border: 3px solid transparent; border-radius: 3px; background: none; }
.bl-lab button.bl-map[aria-checked="true"] { border-color: #D55E00; }
.bl-lab button.bl-map canvas { width: 100%; aspect-ratio: 1; border: 1px solid ${COLORS.grey}; image-rendering: pixelated; }
.bl-lab .bl-map::before, .bl-lab .bl-map::after { content: ""; position: absolute; width: 5px; top: var(--bl-from); height: var(--bl-size);
  background: #D55E00; }
.bl-lab .bl-map::before { left: 0; }
.bl-lab .bl-map::after { right: 0; }
.bl-lab .bl-square { display: grid; justify-content: start; }
.bl-lab .bl-square canvas { display: block; width: 100%; height: auto; border: 1px solid ${COLORS.grey}; }
.bl-lab .bl-square .bl-down { display: grid; padding-right: 8px; text-align: right; }
.bl-lab .bl-square .bl-down > span { display: flex; align-items: center; justify-content: flex-end; }
.bl-lab .bl-square .bl-across { display: grid; grid-column: 2; margin: 0 7px 3px; }
.bl-lab .bl-square span { min-height: 0; line-height: 1; }
.bl-lab .bl-square .bl-across > span { writing-mode: vertical-rl; transform: rotate(180deg); justify-self: center; }
.bl-lab .bl-square .bl-map { position: relative; padding: 0 6px; line-height: 0; }
.bl-lab .bl-square .bl-chosen { font-weight: 700; text-decoration: underline; }
`;

/**
 * The data to show: {tokens, layers, heads, level, moved}, or null if the text cannot be used.
 *
 * level(layer, head, i, j) is the attention weight of position i on j, and moved(i, j) how far output i moves when token j
 * changes. Both are 0 for exactly zero, else 1 + hundredths. The values on a page are stored without padding. Since no
 * position attends to padding, it only adds zeros.
 */
export function attentionValues(model) {
  let shown = model.get("shown"), padding = 0;
  const stored = model.get("sentences");
  if (stored) {
    const entry = stored[storedAt(model)];
    shown = entry[model.get("reads")];
    padding = model.get("padding");
  }
  if (!shown.tokens) return null;
  const { layers, heads, influence } = shown;
  const size = shown.tokens.length;
  const bytes = Uint8Array.from(atob(shown.maps), (letter) => letter.charCodeAt(0));
  const inside = (i, j) => i < size && j < size;
  return {
    layers, heads,
    tokens: [...shown.tokens, ...Array(padding).fill("[PAD]")],
    level: (layer, head, i, j) => (inside(i, j) ? bytes[((layer * heads + head) * size + i) * size + j] : 0),
    moved: (i, j) => (inside(i, j) ? influence[i][j] : 0),
  };
}

/** The number of the stored sentence that the model names. */
function storedAt(model) {
  const stored = model.get("sentences");
  const at = stored.findIndex(({ text, pair }) => text === model.get("text") && pair === model.get("pair"));
  if (at < 0) throw new Error(`this page has no values of the sentence "${model.get("text")}"`);
  return at;
}

/** The text of a level: "0" is exactly zero, "0.00" is rounded. */
export function levelText(level) {
  return level === 0 ? "0" : ((level - 1) / 100).toFixed(2);
}

/** The largest attention weights of the token, in words. */
export function attentionSaid({ tokens, level }, layer, head, token) {
  const place = `layer ${layer}, head ${head}: position ${token}, ${tokens[token]},`;
  const seen = tokens.map((_, j) => [level(layer, head, token, j), j]).filter(([value]) => value > 0);
  if (!seen.length) return `${place} is padding: it is not computed, and nobody looks at it.`;
  const best = seen.sort(([a, i], [b, j]) => b - a || i - j).filter(([value], k) => k === 0 || value > 1).slice(0, 3);
  return `${place} looks most at ${best.map(([value, j]) => `${tokens[j]} (${levelText(value)})`).join(", ")}.`;
}

/** The influence matrix in words. */
export function influenceSaid({ tokens, moved }, token) {
  const row = tokens.map((_, j) => moved(token, j));
  const zeros = tokens.map((_, i) => tokens.filter((_, j) => moved(i, j) === 0).length).reduce((a, b) => a + b);
  const count = `${zeros} of ${tokens.length ** 2} entries are exactly zero.`;
  const most = Math.max(...row), at = row.indexOf(most), name = `position ${token} (${tokens[token]})`;
  if (most === 0) return `${count} The output at ${name} is not moved by any token.`;
  const which = at === token ? "its own token" : `position ${at} (${tokens[at]})`;
  return `${count} The output at ${name} moves most when ${which} changes (${levelText(most)}).`;
}

function shortened(token) {
  return token.length > 12 ? `${token.slice(0, 11)}\u2026` : token;
}

function mixedColor(stops, share) {
  const place = Math.min(Math.max(share, 0), 1) * (stops.length - 1);
  const low = Math.min(Math.floor(place), stops.length - 2);
  const channel = (color, k) => parseInt(color.slice(1 + 2 * k, 3 + 2 * k), 16);
  const mixed = [0, 1, 2].map((k) => Math.round(channel(stops[low], k) * (1 - place + low) + channel(stops[low + 1], k) * (place - low)));
  return `rgb(${mixed.join(" ")})`;
}

const LOOKS = [COLORS.white, COLORS.blue];
const MOVES = [COLORS.white, COLORS.sky, COLORS.blue, COLORS.black];

/** A square of size x size cells: white to dark from 0 to the highest level, and grey where it is exactly zero. */
function paintSquare(context, x, y, cell, size, levels, top, stops) {
  for (let i = 0; i < size; i++) {
    for (let j = 0; j < size; j++) {
      const level = levels(i, j);
      context.fillStyle = level === 0 ? COLORS.grey : mixedColor(stops, (level - 1) / Math.max(top - 1, 1));
      context.fillRect(x + j * cell, y + i * cell, cell, cell);
      if (level === 0 && cell >= 16) writeOn(context, "0", x + (j + 0.5) * cell, y + (i + 0.5) * cell, { align: "center", size: Math.min(0.6 * cell, 28) });
    }
  }
}

function writeOn(context, text, x, y, { align = "left", size = 16, bold = false } = {}) {
  context.font = `${bold ? "bold " : ""}${size}px sans-serif`;
  context.textAlign = align;
  context.textBaseline = "middle";
  context.fillStyle = COLORS.black;
  context.fillText(text, x, y);
}

function highest({ tokens, layers, heads, level, moved }) {
  let looks = 1, moves = 1;
  for (let i = 0; i < tokens.length; i++) {
    for (let j = 0; j < tokens.length; j++) {
      moves = Math.max(moves, moved(i, j));
      for (let l = 0; l < layers; l++) for (let h = 0; h < heads; h++) looks = Math.max(looks, level(l, h, i, j));
    }
  }
  return { looks, moves };
}

function lineWidth(level) {
  return Math.max(0.75, 0.1 * (level - 1));
}

export function renderAttentionLab({ model, el }) {
  addStyle("bert-lab-attention", ATTENTION_CSS);
  const { controls, result, guard } = labFrame(el, { model });
  const stored = model.get("sentences");
  if (stored) storedAt(model);
  let values = null, tops = null, madeFrom = [];

  // ---- controls

  const texts = stored ? [sentenceMenu(model, stored)] : [
    textFor(model, "text", { label: "sentence", width: "24em" }),
    textFor(model, "pair", { label: "second", width: "16em" }),
  ];
  const reads = READS.map(([name, meaning]) => pushButton(name, () => {
    model.set("reads", name);
    model.save_changes();
  }, { title: meaning }));
  const padding = sliderFor(model, "padding", { min: 0, max: 8 });
  const layer = sliderFor(model, "layer", { min: 0, max: () => (values ? values.layers : 1) - 1 });
  const head = sliderFor(model, "head", { min: 0, max: () => (values ? values.heads : 1) - 1 });
  const save = pushButton("Save as PNG", () => guard(savePicture));
  const readsGroup = element("span", { class: "bl-field", role: "group", "aria-label": "reads" },
    element("span", { class: "bl-name" }, "reads"), ...reads);
  controls.append(
    controlRow(...texts.map(({ field }) => field)),
    controlRow(readsGroup, padding.field),
    controlRow(layer.field, head.field, save));

  // ---- result: the lines, all heads, what moves what

  const said = element("p", { class: "bl-said", role: "status" });
  const lines = element("form", { class: "bl-panel bl-narrow", submit: (event) => event.preventDefault() });
  const heads = element("div", { class: "bl-panel bl-all" });
  const square = element("div", { class: "bl-panel bl-moves", role: "group", "aria-label": "Influence", tabindex: 0 });
  const row = element("div", { class: "bl-panels" }, lines, heads, square);
  const panels = element("div", { class: "bl-view" }, said, row, element("p", { class: "bl-notes" },
    "Weight: how much the chosen token takes from each, in the chosen head; all its weights sum to 1. Moves: how far the output of the",
    " chosen token moves when that token is replaced by the next one of the vocabulary, through all layers and heads. 0 without decimals,",
    " and grey: exactly zero.", stored ? " This page has the values of some sentences; in JupyterLab the lab reads any." : ""));
  result.append(panels);
  let rows = [], svg = null, maps = [], squareBox = null, squareSaid = null, squareCanvas = null, squareNames = [];

  function choose(changes) {
    for (const [name, value] of Object.entries(changes)) model.set(name, value);
    model.save_changes();
  }

  function buildLines() {
    const { tokens } = values;
    svg = svgElement("svg", { viewBox: `0 0 100 ${ROW * tokens.length}`, preserveAspectRatio: "none", "aria-hidden": "true",
      style: `height:${ROW * tokens.length}px` });
    rows = tokens.map((token, i) => {
      const input = element("input", { type: "radio", name: "token", "aria-label": `position ${i}, ${token}`,
        change: () => guard(() => choose({ token: i })) });
      const weight = element("td", { class: "bl-digits" }), moves = element("td", { class: "bl-digits" });
      const row = element("tr", {},
        element("td", {}, element("label", { class: "bl-looker", title: `${i} ${token}` }, input, shortened(token))),
        ...(i ? [] : [element("td", { class: "bl-lines", rowspan: tokens.length }, svg)]),
        element("th", { scope: "row", style: "font-weight:normal", title: `${i} ${token}` }, shortened(token)), weight, moves);
      return { input, weight, moves, row };
    });
    const headers = ["looks", "", "at", "weight", "moves"].map((name, k) =>
      (name ? element("th", { scope: "col", class: k > 2 ? "bl-digits" : null }, name) : element("td", { class: "bl-lines" })));
    lines.replaceChildren(element("table", { class: "bl-looks", "aria-label": "Where the chosen token looks" },
      element("thead", {}, element("tr", {}, ...headers)), element("tbody", {}, ...rows.map(({ row }) => row))));
  }

  function buildHeads() {
    const { layers, heads: across, tokens, level } = values;
    const side = Math.max(26, Math.min(88, Math.floor(860 / across)));
    maps = [];
    const cells = [element("span"), ...Array.from({ length: across }, (_, h) => element("span", { "aria-hidden": "true" }, across > FEW_HEADS ? h : `head ${h}`))];
    for (let l = 0; l < layers; l++) {
      cells.push(element("span", { "aria-hidden": "true" }, `layer ${l}`));
      for (let h = 0; h < across; h++) {
        const canvas = element("canvas", { width: tokens.length, height: tokens.length });
        paintSquare(canvas.getContext("2d"), 0, 0, 1, tokens.length, (i, j) => level(l, h, i, j), tops.looks, LOOKS);
        const button = element("button", { type: "button", class: "bl-map", role: "radio",
          click: () => guard(() => choose({ layer: l, head: h })) }, canvas);
        maps.push({ l, h, button });
        cells.push(button);
      }
    }
    const grid = element("div", { class: "bl-heads", role: "radiogroup", "aria-label": "All heads", keydown: walk,
      style: `grid-template-columns: auto repeat(${across}, minmax(0, ${side}px))` }, ...cells);
    heads.replaceChildren(element("div", { class: "bl-name" }, "All heads: a row looks at the columns"), grid);
  }

  /** Arrow keys go from map to map. */
  function walk(event) {
    const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
    if (!step || event.shiftKey || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    const to = maps.find(({ l, h }) => l === model.get("layer") + step[0] && h === model.get("head") + step[1]);
    if (!to) return;
    guard(() => choose({ layer: to.l, head: to.h }));
    to.button.focus();
  }

  function buildSquare() {
    const { tokens, moved } = values;
    const size = tokens.length, cell = Math.max(12, Math.min(28, Math.floor(300 / size))), sharp = 2 * cell * size;
    squareCanvas = element("canvas", { width: sharp, height: sharp, role: "img" });
    paintSquare(squareCanvas.getContext("2d"), 0, 0, 2 * cell, size, moved, tops.moves, MOVES);
    squareNames = tokens.map((token) => element("span", {}, shortened(token)));
    squareBox = element("div", { class: "bl-map" }, squareCanvas);
    squareSaid = element("p", { style: "margin: 4px 0 0" });
    square.replaceChildren(
      element("div", { class: "bl-name" }, "Influence: which output each token moves"),
      element("div", { class: "bl-square", style: `grid-template-columns: auto minmax(${12 * size + 14}px, ${cell * size + 14}px); font-size: ${size > FEW_TOKENS ? 11 : size > 10 ? 12 : 14}px` },
        element("div", { class: "bl-across", "aria-hidden": "true", style: `grid-template-columns: repeat(${size}, 1fr)` },
          ...tokens.map((token) => element("span", {}, shortened(token)))),
        element("div", { class: "bl-down", "aria-hidden": "true", style: `grid-template-rows: repeat(${size}, 1fr)` }, ...squareNames),
        squareBox),
      squareSaid);
  }

  // ---- what is chosen

  function draw() {
    const source = stored ? ["text", "pair", "reads", "padding"].map((name) => model.get(name)) : [model.get("shown")];
    if (source.some((value, k) => value !== madeFrom[k]) || !madeFrom.length) {
      madeFrom = source;
      values = attentionValues(model);
      if (values) {
        tops = highest(values);
        row.classList.toggle("bl-many-heads", values.heads > FEW_HEADS);
        row.classList.toggle("bl-many-tokens", values.tokens.length > FEW_TOKENS);
        buildLines();
        buildHeads();
        buildSquare();
      }
    }
    for (const control of [...texts, padding, layer, head]) control.show();
    reads.forEach((button, k) => button.setAttribute("aria-pressed", String(READS[k][0] === model.get("reads"))));
    panels.hidden = !values;
    save.disabled = !values;
    if (values) mark();
  }

  function chosen() {
    return [model.get("layer"), model.get("head"), Math.min(model.get("token"), values.tokens.length - 1)];
  }

  function mark() {
    const [l, h, token] = chosen(), size = values.tokens.length;
    const now = attentionSaid(values, l, h, token);
    if (said.textContent !== now) said.textContent = now;
    const levels = values.tokens.map((_, j) => values.level(l, h, token, j)), most = Math.max(...levels);
    rows.forEach(({ input, weight, moves }, j) => {
      input.checked = j === token;
      weight.textContent = levelText(levels[j]);
      weight.className = `bl-digits${levels[j] === 0 ? " bl-zero" : levels[j] === most ? " bl-most" : ""}`;
      moves.textContent = levelText(values.moved(token, j));
      moves.className = `bl-digits${values.moved(token, j) === 0 ? " bl-zero" : ""}`;
    });
    const y = (i) => ROW * (i + 0.5);
    svg.replaceChildren(...levels.flatMap((level, j) => (level <= 1 ? [] : [svgElement("path", {
      d: `M0 ${y(token)} C50 ${y(token)} 50 ${y(j)} 100 ${y(j)}`, "stroke-width": lineWidth(level) })])));
    for (const { l: row, h: column, button } of maps) {
      const is = row === l && column === h;
      button.setAttribute("aria-checked", String(is));
      button.tabIndex = is ? 0 : -1;
      const best = values.tokens.map((_, j) => values.level(row, column, token, j)), top = Math.max(...best);
      const where = top ? `at ${values.tokens[best.indexOf(top)]} (${levelText(top)})` : "nowhere";
      const label = `layer ${row}, head ${column}: looks most ${where}`;
      button.setAttribute("aria-label", label);
      button.title = label;
      button.style.setProperty("--bl-from", `calc(1px + (100% - 2px) * ${token / size})`);
      button.style.setProperty("--bl-size", `calc((100% - 2px) / ${size})`);
    }
    squareBox.style.setProperty("--bl-from", `calc(1px + (100% - 2px) * ${token / size})`);
    squareBox.style.setProperty("--bl-size", `calc((100% - 2px) / ${size})`);
    squareNames.forEach((name, i) => { name.className = i === token ? "bl-chosen" : ""; });
    squareSaid.textContent = influenceSaid(values, token);
    squareCanvas.setAttribute("aria-label", `Influence matrix, a row for each output, a column for each token that changes. ${squareSaid.textContent}`);
  }

  // ---- the picture

  function savePicture() {
    const [l, h, token] = chosen();
    const canvas = drawnPicture(values, tops, { layer: l, head: h, token, reads: model.get("reads") });
    canvas.toBlob((blob) => guard(() => {
      if (!blob) throw new Error("this browser could not make a PNG of it");
      const link = element("a", { href: URL.createObjectURL(blob), download: `attention_layer${l}_head${h}_token${token}.png` });
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 10000);
    }), "image/png");
  }

  return redraws(model, ["text", "pair", "reads", "padding", "layer", "head", "token", "shown"], () => guard(draw));
}

/** On a page: a menu of the sentences whose values are stored. */
function sentenceMenu(model, stored) {
  const names = stored.map(({ text, pair }) => (pair ? `${text} / ${pair}` : text));
  const input = element("select", {}, ...names.map((name, k) => element("option", { value: k }, name)));
  input.addEventListener("change", () => {
    const { text, pair } = stored[Number(input.value)];
    model.set("text", text);
    model.set("pair", pair);
    model.save_changes();
  });
  return { field: labelled("sentence", input), input, show: () => { input.value = storedAt(model); } };
}

/** All that the lab shows, on white: a canvas of its own. */
function drawnPicture(values, tops, { layer, head, token, reads }) {
  const { tokens, layers, heads, level, moved } = values, size = tokens.length;
  const line = 26, dot = Math.max(1, Math.floor(Math.max(40, Math.min(110, 480 / heads)) / size)), side = dot * size;
  const cell = Math.max(12, Math.min(28, Math.floor(340 / size)));
  const top = 84, name = 110, x1 = 24, x2 = x1 + 450, x3 = x2 + 70 + heads * (side + 8) + 36;
  const said = attentionSaid(values, layer, head, token), text = `${tokens.join(" ")}   (${reads})`;
  const height = top + 40 + Math.max(size * line, layers * (side + 8), size * cell + name);
  const canvas = element("canvas", { height: 2 * height });
  const context = canvas.getContext("2d");
  context.font = "bold 16px sans-serif";
  const wide = Math.max(...[said, text].map((line) => context.measureText(line).width));
  const width = Math.ceil(Math.max(x3 + name + size * cell, x3 + 340, x1 + wide)) + 24;
  canvas.width = 2 * width;
  context.scale(2, 2);
  context.fillStyle = COLORS.white;
  context.fillRect(0, 0, width, height);
  writeOn(context, said, x1, 24, { bold: true });
  writeOn(context, text, x1, 50);

  writeOn(context, "looks", x1 + name, top, { align: "right", bold: true });
  writeOn(context, "at", x1 + name + 160, top, { bold: true });
  writeOn(context, "weight", x1 + 410, top, { align: "right", bold: true });
  const y = (i) => top + 30 + line * i;
  tokens.forEach((piece, j) => {
    const value = level(layer, head, token, j);
    writeOn(context, shortened(piece), x1 + name, y(j), { align: "right", bold: j === token });
    writeOn(context, shortened(piece), x1 + name + 160, y(j));
    writeOn(context, levelText(value), x1 + 410, y(j), { align: "right" });
    if (value <= 1) return;
    context.beginPath();
    context.moveTo(x1 + name + 8, y(token));
    context.bezierCurveTo(x1 + name + 80, y(token), x1 + name + 80, y(j), x1 + name + 152, y(j));
    context.lineWidth = lineWidth(value);
    context.globalAlpha = 0.75;
    context.strokeStyle = COLORS.blue;
    context.stroke();
    context.globalAlpha = 1;
  });

  for (let l = 0; l < layers; l++) {
    writeOn(context, `layer ${l}`, x2, top + 20 + l * (side + 8) + side / 2, { size: 14 });
    for (let h = 0; h < heads; h++) {
      const x = x2 + 64 + h * (side + 8), y0 = top + 20 + l * (side + 8);
      if (l === 0) writeOn(context, heads > FEW_HEADS ? String(h) : `head ${h}`, x + side / 2, top, { align: "center", size: 14, bold: true });
      paintSquare(context, x, y0, dot, size, (i, j) => level(l, h, i, j), tops.looks, LOOKS);
      framed(context, x, y0, side, l === layer && h === head);
    }
  }

  const y3 = top + name;
  writeOn(context, "influence: output (row) moved by token (column)", x3, top, { size: 14, bold: true });
  paintSquare(context, x3 + name, y3, cell, size, moved, tops.moves, MOVES);
  framed(context, x3 + name, y3, size * cell, false);
  tokens.forEach((piece, i) => {
    const small = Math.min(14, cell);
    writeOn(context, shortened(piece), x3 + name - 8, y3 + (i + 0.5) * cell, { align: "right", size: small, bold: i === token });
    context.save();
    context.translate(x3 + name + (i + 0.5) * cell, y3 - 6);
    context.rotate(-Math.PI / 2);
    writeOn(context, shortened(piece), 0, 0, { size: small });
    context.restore();
  });
  return canvas;
}

function framed(context, x, y, side, strong) {
  context.lineWidth = strong ? 4 : 1;
  context.strokeStyle = strong ? COLORS.vermillion : COLORS.grey;
  context.strokeRect(x, y, side, side);
}
