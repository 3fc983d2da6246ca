// The masking lab: change the rate and the split, and see whether the result fits the exact shares.

import { IGNORE, PCG32, mlmMask } from "./engine.mjs";
import { COLORS, FATES, controlRow, element, fatesOf, labFrame, menuFor, pushButton, redraws, sliderFor, svgElement, tickFor, tokenStrip } from "./elements.mjs";
import { chiSquare, countShown, exactShares, fixed, grouped, pickBand, pickPmf, power } from "./rates.mjs";

const SHOWN = ["[MASK]", "another token", "the token itself"];
const SDS = 4; // the bands: so many standard deviations to each side

/** The split that a wrong recipe follows when it is asked for `split`. */
export function sharesOfRecipe(name, [m, r, k]) {
  if (name === "80/2/18") return [m, (1 - m) * r, (1 - m) * (1 - r)];
  if (name === "90/1/9") return [m + r, k * r, k * (1 - r)];
  if (name === "81/10/9") return [(1 - r) * (m + r), r, (1 - r) * k];
  return [m, r, k];
}

/**
 * Run the chosen code over the batches. state: {p, split, vocab, seed, batches, fresh, code, given}, where `given`
 * has the constants: {words, row, specials, mask, rows, sets, alpha, wrong}.
 * Returns {width, ids, special, inputs, labels, counts, shares, test}; the arrays are flat, `width` to a row.
 */
export function maskBatches({ p, split, vocab, seed, batches, fresh, code, given }) {
  const width = given.row.length;
  const rows = (fresh ? batches : Math.min(given.sets, batches)) * given.rows;
  const ids = new Int32Array(rows * width), special = new Uint8Array(rows * width);
  for (let t = 0; t < ids.length; t++) {
    ids[t] = given.row[t % width];
    special[t] = ids[t] < given.specials ? 1 : 0;
  }
  const asked = sharesOfRecipe(code, split);
  const { inputs, labels } = mlmMask(ids, special, given.mask, vocab, p, new PCG32(seed), asked);
  const counts = countShown(inputs, labels, given.mask);
  const shares = exactShares(vocab, split);
  const test = counts.some((count) => count) ? chiSquare(counts, shares) : null;
  return { width, ids, special, inputs, labels, counts, shares, test };
}

const totalOf = (numbers) => numbers.reduce((sum, number) => sum + number, 0);

/** The verdict: pairs of true (fits), false (does not fit) or null (a note) and a sentence. */
export function verdictOf(state, { width, ids, special, counts, shares, test }) {
  const { p, split, vocab, batches, code, given } = state;
  const candidates = totalOf(special.map((flag) => 1 - flag));
  const picks = totalOf(counts);
  const [low, high] = pickBand(candidates, p, SDS);
  const sets = ids.length / width / given.rows;
  let copies = sets === 1 ? " in 1 batch" : ` in ${sets} batches`;
  if (sets < batches) copies += ` (${batches - sets} more repeat them: no new evidence)`;
  const said = [[
    low - 1e-9 <= picks && picks <= high + 1e-9,
    `${grouped(picks)} of ${grouped(candidates)} candidates picked${copies};`
      + ` 4-sd band ${grouped(low)} to ${grouped(high)}.`,
  ]];
  if (test === null) return [...said, [null, "No picks, so there are no shares to test."]];
  const shown = [..."MRK"].map((letter, i) =>
    `${letter} ${fixed(counts[i] / picks, 4)} (exact ${fixed(shares[i], 4)})`).join(", ");
  const few = shares.some((share) => share > 0 && picks * share < 5);
  const rough = few ? " (rough: fewer than 5 expected in a cell)" : "";
  const value = test.pValue >= 0.0001 ? fixed(test.pValue, 4) : "below 0.0001";
  said.push([test.pValue >= given.alpha,
    `${shown}: chi-square ${fixed(test.statistic, 2)}, p value ${value}${rough}.`]);
  if (given.wrong.includes(code)) {
    const chance = power(picks, shares, exactShares(vocab, sharesOfRecipe(code, split)), given.alpha);
    said.push([null, `${grouped(picks)} picks are enough to notice this recipe with chance ${fixed(chance, 4)}.`]);
  }
  return said;
}

/** The fates of the tokens of one row: {tokens, fates, shown}. */
export function rowOf({ given }, { width, ids, special, inputs, labels }, row) {
  const [rowIds, rowSpecial, rowInputs, rowLabels] = [ids, special, inputs, labels].map((array) =>
    Array.from(array.subarray(row * width, (row + 1) * width)));
  const names = (list) => list.map((id) => given.words[id] ?? `#${id}`);
  const fates = fatesOf(rowIds, rowSpecial, rowInputs, rowLabels, given.mask);
  return { tokens: names(rowIds), fates, shown: names(rowInputs) };
}

/** The first row of the batch after the sets of masks: {row, said}, or null without such a batch. */
export function rowAgain({ batches, fresh, given }) {
  if (batches <= given.sets) return null;
  return fresh ? { row: given.sets * given.rows, said: "drawn anew" } : { row: 0, said: "the masks of batch 1 again" };
}

/** Picks of each row, compared with the exact binomial: the data of the left picture, and its text `alt`. */
export function picksReport({ p }, { width, labels, special }) {
  const rows = labels.length / width;
  let n = 0;
  for (let t = 0; t < width; t++) n += 1 - special[t];
  const picks = new Array(rows).fill(0);
  for (let t = 0; t < labels.length; t++) if (labels[t] !== IGNORE) picks[Math.floor(t / width)] += 1;
  const share = new Array(n + 1).fill(0);
  for (const pick of picks) share[pick] += 1;
  for (let k = 0; k <= n; k++) share[k] /= rows;
  const exact = pickPmf(n, p);
  const sd = exact.map((chance) => Math.sqrt((chance * (1 - chance)) / rows));
  const reach = 4.5 * Math.sqrt(n * p * (1 - p));
  const least = picks.reduce((a, b) => Math.min(a, b)), most = picks.reduce((a, b) => Math.max(a, b));
  const first = Math.max(0, Math.min(least, Math.floor(n * p - reach)));
  const last = Math.min(n, Math.max(most, Math.ceil(n * p + reach)));
  const bars = [];
  for (let k = first; k <= last; k++) bars.push({ k, share: share[k], exact: exact[k], sd: sd[k] });
  const inside = bars.filter((bar) => Math.abs(bar.share - bar.exact) <= SDS * bar.sd + 1e-12).length;
  const alt = `Picks in ${rows} rows of ${n} candidates: mean ${fixed(totalOf(picks) / rows, 4)}, exact ${fixed(n * p, 4)};`
    + ` ${inside} of the ${bars.length} bars lie within ${SDS} sd of the exact binomial.`;
  return { n, bars, alt };
}

/** What the picks show, compared with the exact shares: the data of the right picture, and its text `alt`. */
export function sharesReport({ counts, shares }) {
  const picks = totalOf(counts);
  const bars = [..."MRK"].map((letter, i) => ({
    letter, share: counts[i] / picks, exact: shares[i], sd: Math.sqrt((shares[i] * (1 - shares[i])) / picks) }));
  const said = bars.map(({ share, exact }, i) => `${SHOWN[i]} ${fixed(share, 4)} (exact ${fixed(exact, 4)})`);
  return { bars, alt: `What ${picks} picks show: ${said.join(", ")}.` };
}

// ---- pictures

const CHART = { width: 430, height: 290, left: 52, right: 10, top: 34, bottom: 62 };

/** A chart's frame: {svg, x, y, bar, mark}; y grows upward from 0 to `most`, x places one of `count` bars. */
function chartFrame(alt, count, most, ticks, upright) {
  const { width, height, left, right, top, bottom } = CHART;
  const wide = (width - left - right) / count, floor = height - bottom;
  const x = (i) => left + wide * (i + 0.5);
  const y = (value) => floor - (floor - top) * (value / most);
  const svg = svgElement("svg", { viewBox: `0 0 ${width} ${height}`, width, role: "img", "aria-label": alt });
  for (const tick of ticks) {
    svg.append(
      svgElement("line", { x1: left, x2: width - right, y1: y(tick), y2: y(tick), stroke: "var(--bl-line)", "stroke-opacity": 0.35 }),
      svgElement("text", { x: left - 6, y: y(tick) + 5, "text-anchor": "end" }, String(tick)));
  }
  svg.append(
    svgElement("line", { x1: left, x2: width - right, y1: floor, y2: floor, stroke: "var(--bl-ink)" }),
    svgElement("text", { x: 12, y: (top + floor) / 2, transform: `rotate(-90 12 ${(top + floor) / 2})`, "text-anchor": "middle" }, upright));
  const bar = (i, value, color, part = 0.8) => svg.append(svgElement("rect", {
    x: x(i) - (wide * part) / 2, y: y(value), width: wide * part, height: floor - y(value), fill: color, stroke: COLORS.blue }));
  // The exact value with its band. A paper-colored line beneath keeps it visible on a bar.
  const mark = (i, value, band) => {
    const high = y(Math.min(value + band, most)), low = y(Math.max(value - band, 0));
    for (const [stroke, thick] of [["var(--bl-paper)", 4.5], ["var(--bl-ink)", 1.5]]) {
      svg.append(svgElement("path", { d: `M${x(i)} ${high}V${low}M${x(i) - 5} ${high}h10M${x(i) - 5} ${low}h10`, stroke, "stroke-width": thick, fill: "none" }));
    }
    svg.append(svgElement("circle", { cx: x(i), cy: y(value), r: 4, fill: "var(--bl-ink)", stroke: "var(--bl-paper)" }));
  };
  const key = (color, what) => svg.append(
    svgElement("rect", { x: left + 4, y: 6, width: 18, height: 13, fill: color, stroke: COLORS.blue }),
    svgElement("text", { x: left + 28, y: 18 }, what),
    svgElement("circle", { cx: left + 122, cy: 13, r: 4, fill: "var(--bl-ink)" }),
    svgElement("path", { d: `M${left + 122} 5v16`, stroke: "var(--bl-ink)", "stroke-width": 1.5 }),
    svgElement("text", { x: left + 132, y: 18 }, `exact, ± ${SDS} sd`));
  const below = (i, lines) => lines.forEach((line, n) =>
    svg.append(svgElement("text", { x: x(i), y: floor + 18 + 17 * n, "text-anchor": "middle" }, line)));
  return { svg, x, y, bar, mark, key, below, floor };
}

/** Histogram of the picks in each row. */
function picksChart({ n, bars, alt }) {
  const top = Math.max(...bars.map(({ share, exact, sd }) => Math.max(share, exact + SDS * sd)));
  const step = [0.01, 0.02, 0.05, 0.1, 0.2].find((size) => top / size <= 6) ?? 0.2;
  const ticks = [];
  for (let i = 0; i * step <= top; i++) ticks.push(Number((i * step).toFixed(2)));
  const { svg, bar, mark, key, below, floor } = chartFrame(alt, bars.length, Math.min(top * 1.05, 1.02), ticks, "share of rows");
  bars.forEach(({ share }, i) => bar(i, share, COLORS.sky));
  bars.forEach(({ exact, sd }, i) => mark(i, exact, SDS * sd));
  const every = Math.ceil(bars.length / 14);
  bars.forEach(({ k }, i) => { if (k % every === 0) below(i, [String(k)]); });
  svg.append(svgElement("text", {
    x: (CHART.left + CHART.width - CHART.right) / 2, y: floor + 42, "text-anchor": "middle" }, `picks in a row of ${n} candidates`));
  key(COLORS.sky, "measured");
  return svg;
}

/** Bars of what the picks show. */
function sharesChart({ bars, alt }) {
  const { svg, x, y, bar, mark, key, below } = chartFrame(alt, 3, 1.2, [0, 0.2, 0.4, 0.6, 0.8, 1], "share of picks");
  bars.forEach(({ letter, share, exact, sd }, i) => {
    bar(i, share, FATES[letter][0], 0.6);
    mark(i, exact, SDS * sd);
    const top = y(Math.max(share, exact + SDS * sd)) - 8;
    svg.append(svgElement("text", { x: x(i), y: top - 17, "text-anchor": "middle" }, fixed(share, 4)),
      svgElement("text", { x: x(i), y: top, "text-anchor": "middle" }, `(exact ${fixed(exact, 4)})`));
    below(i, [letter, ...[["[MASK]"], ["another", "token"], ["the token", "itself"]][i]]);
  });
  key(COLORS.white, "measured");
  return svg;
}

// ---- the view

const LAB_STYLE = `
.bl-lab .bl-row .bl-field.bl-two-handles { flex-wrap: wrap; }
.bl-lab .bl-split { position: relative; width: 330px; max-width: 100%; height: 34px; }
.bl-lab .bl-split > div { position: absolute; top: 6px; height: 22px; border: 1px solid #666; color: #000; text-align: center;
  font-size: 14px; line-height: 20px; font-weight: 700; overflow: hidden; }
.bl-lab .bl-split input { position: absolute; left: 0; top: 0; width: 100%; height: 34px; margin: 0; background: none;
  -webkit-appearance: none; appearance: none; pointer-events: none; }
.bl-lab .bl-split input::-webkit-slider-runnable-track { background: none; height: 34px; }
.bl-lab .bl-split input::-moz-range-track { background: none; }
.bl-lab .bl-split input::-webkit-slider-thumb { -webkit-appearance: none; pointer-events: auto; width: 14px; height: 34px;
  border: 2px solid #fff; border-radius: 5px; background: #0072B2; box-shadow: 0 0 0 1px #000; cursor: ew-resize; }
.bl-lab .bl-split input::-moz-range-thumb { pointer-events: auto; width: 10px; height: 30px; border: 2px solid #fff;
  border-radius: 5px; background: #0072B2; box-shadow: 0 0 0 1px #000; cursor: ew-resize; }
.bl-lab .bl-split input:focus-visible { outline: none; }
.bl-lab .bl-split input:focus-visible::-webkit-slider-thumb { outline: 3px solid var(--bl-accent); outline-offset: 3px; }
.bl-lab .bl-split input:focus-visible::-moz-range-thumb { outline: 3px solid var(--bl-accent); outline-offset: 3px; }
.bl-lab .bl-charts { display: flex; flex-wrap: wrap; gap: 12px; margin: 8px 0; }
.bl-lab .bl-charts svg { flex: 1 1 340px; max-width: 430px; min-width: 0; }
`;

/** One slider with two handles: shares of M, R and K that always sum to 1. */
function splitControl(model) {
  const track = [..."MRK"].map((letter) => element("div", { style: `background:${FATES[letter][0]}`, "aria-hidden": "true" }, letter));
  const handle = (label) => element("input", { type: "range", min: 0, max: 100, step: 1, "aria-label": label });
  const handles = [handle("split, first handle: where [MASK] ends"), handle("split, second handle: where random ends")];
  const output = element("span", { class: "bl-value", "aria-hidden": "true" });
  const moved = (which) => {
    let [first, second] = handles.map((input) => Number(input.value));
    if (which === 0) first = Math.min(first, second);
    else second = Math.max(first, second);
    // Hundredths as whole numbers: each share is the double nearest to its two digits, as Python has it.
    model.set("split", [first / 100, (second - first) / 100, (100 - second) / 100]);
    show();
  };
  handles.forEach((input, which) => {
    input.addEventListener("input", () => moved(which));
    input.addEventListener("change", () => model.save_changes());
  });
  function show() {
    const shares = model.get("split");
    const said = [..."MRK"].map((letter, i) => `${letter} ${fixed(100 * shares[i], 0)}%`);
    const cuts = [0, shares[0], shares[0] + shares[1], 1];
    // A handle's middle goes from 7 pixels after the start to 7 before the end.
    track.forEach((part, i) => {
      const from = i ? `7px + ${cuts[i]} * (100% - 14px)` : "0px";
      const to = i < 2 ? `7px + ${cuts[i + 1]} * (100% - 14px)` : "100%";
      part.style.left = `calc(${from})`;
      part.style.width = `max(0px, calc(${to} - (${from})))`;
    });
    handles.forEach((input, i) => {
      input.value = Math.round(100 * cuts[i + 1]);
      input.setAttribute("aria-valuetext", said.join(", "));
      input.style.zIndex = i === 0 && cuts[1] > 0.5 ? 2 : 1; // so that handles on top of each other come apart
    });
    output.textContent = said.join("  ");
  }
  const field = element("div", { class: "bl-field bl-two-handles", role: "group", "aria-label": "split" },
    element("span", { class: "bl-name" }, "split"), element("div", { class: "bl-split" }, ...track, ...handles), output);
  return { field, show };
}

/** Show the lab in `el`, tied to `model`. */
export function renderMaskingLab({ model, el }) {
  const { root, controls, result, guard, leave } = labFrame(el, { model });
  root.prepend(element("style", {}, LAB_STYLE));
  const given = model.get("given");
  const two = (value) => fixed(value, 2);
  const inputs = [
    sliderFor(model, "p", { min: 0, max: 1, step: 0.01, say: two }),
    menuFor(model, "vocab", { label: "V", options: given.sizes.map((size) => [size, grouped(size)]) }),
    sliderFor(model, "seed", { min: 0, max: 99 }),
    splitControl(model),
    sliderFor(model, "batches", { min: 1, max: 400 }),
    menuFor(model, "code", {
      options: [["mlm_mask", "mlm_mask, correct"], ...given.wrong.map((name) => [name, `wrong: ${name}`])] }),
    tickFor(model, "fresh", { label: "new masks in every batch" }),
  ];
  const presets = given.presets.map(([name, settings]) => pushButton(name, () => {
    for (const [key, value] of Object.entries(settings)) model.set(key, value);
    model.save_changes();
  }, { title: `Preset: ${name}` }));
  const fields = inputs.map((input) => input.field);
  controls.append(
    element("div", { class: "bl-row bl-tight", role: "group", "aria-label": "presets" }, ...presets),
    controlRow(...fields.slice(0, 3)), controlRow(...fields.slice(3, 5)), controlRow(...fields.slice(5)));
  const strip = element("div", {}), verdict = element("div", { role: "status" });
  const charts = element("div", { class: "bl-charts" }), again = element("div", {});
  result.append(strip, verdict, charts, again);

  const names = ["p", "split", "vocab", "seed", "batches", "fresh", "code"];
  const draw = () => {
    for (const input of inputs) input.show();
    const state = { given, ...Object.fromEntries(names.map((name) => [name, model.get(name)])) };
    given.presets.forEach(([, settings], i) => {
      const now = Object.entries(settings).every(([key, value]) => String(state[key]) === String(value));
      presets[i].setAttribute("aria-pressed", String(now));
    });
    const masked = maskBatches(state);
    const said = verdictOf(state, masked).map(([fits, text]) => {
      const word = fits === null ? "note" : element("b", { class: fits ? "bl-good" : "bl-bad" }, fits ? "fits" : "does not fit");
      return element("li", {}, word, ": ", text);
    });
    const pictures = [picksChart(picksReport(state, masked))];
    if (masked.test !== null) pictures.push(sharesChart(sharesReport(masked)));
    const drawn = (row, legend) => {
      const { tokens, fates, shown } = rowOf(state, masked, row);
      return tokenStrip(tokens, fates, shown, { legend });
    };
    const later = rowAgain(state);
    const repeated = later === null ? [] : [
      element("b", {}, `Batch ${given.sets + 1}, row 1`), `: ${later.said}`, drawn(later.row, false)];
    // Replaced together, so that words and picture always agree.
    strip.replaceChildren(element("b", {}, "Batch 1, row 1"), drawn(0, true));
    verdict.replaceChildren(element("ul", {}, ...said));
    charts.replaceChildren(...pictures);
    again.replaceChildren(...repeated);
  };
  const end = redraws(model, names, () => guard(draw));
  return () => { end(); leave(); };
}
