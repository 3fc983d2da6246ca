// The draw microscope: the masking of one sentence, one draw at a time.

import { BERT_SPLIT, PCG32, ValueError, asProbability, mlmMask, sampleCategorical, quoted } from "./engine.mjs";
import { CHOSEN, PENDING, controlRow, element, labFrame, marked, pushButton, redraws, sliderFor, textFor, tokenStrip } from "./elements.mjs";
import { digitsOf, fixed, general } from "./rates.mjs";

const SPECIAL_TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"];
const MAX_LETTERS = 100; // a longer word is [UNK]

/**
 * The ids of a text of plain ASCII, [CLS] and [SEP] included: BERT's WordPiece without the part that only other
 * letters need. Returns null for a text with other characters. words: the vocabulary by id.
 */
export function wordPieces(text, words) {
  if (/[^\t\n\r\x20-\x7e]/.test(text)) return null;
  const known = new Map(words.map((word, id) => [word, id]));
  const ids = [known.get("[CLS]")];
  for (const part of text.split(/(\[(?:PAD|UNK|CLS|SEP|MASK)\])/)) {
    if (SPECIAL_TOKENS.includes(part)) ids.push(known.get(part));
    else for (const word of part.toLowerCase().match(/[a-z0-9]+|[^\sa-z0-9]/g) ?? []) ids.push(...piecesOf(word, known));
  }
  ids.push(known.get("[SEP]"));
  return ids;
}

/** The pieces of one word: always the longest in the vocabulary. A word that has no such pieces is [UNK]. */
function piecesOf(word, known) {
  const pieces = [];
  for (let start = 0; start < word.length;) {
    let end = word.length;
    const piece = () => (start ? "##" : "") + word.slice(start, end);
    while (end > start && !known.has(piece())) end -= 1;
    if (end === start || word.length > MAX_LETTERS) return [known.get("[UNK]")];
    pieces.push(known.get(piece()));
    start = end;
  }
  return pieces;
}

const hexOf = (raw) => `0x${raw.toString(16).padStart(8, "0")}`;

/** Returns the draws of a PCG32 and records them: [name, n, raw words, value]. */
class RecordedDraws {
  constructor(rng) {
    this.rng = rng;
    this.draws = [];
  }

  uniform() { return this.#keep("uniform", null, () => this.rng.uniform()); }

  below(n) { return this.#keep("below", n, () => this.rng.below(n)); }

  #keep(name, n, draw) {
    const again = this.rng.copy();
    const value = draw();
    const raws = [];
    while (again.state !== this.rng.state) raws.push(again.nextU32()); // `below` may have used several
    this.draws.push([name, n, raws, value]);
    return value;
  }
}

/**
 * Mask one row and explain each draw: {steps, fates, inputs, labels}.
 *
 * A step is {position, token, kind, raws, value, says, fates, shown}: `says` is one sentence, `fates` and `shown` are
 * the row after it, and an id that is not drawn yet is null. name: id -> the token's text.
 */
export function traceDraws(ids, special, maskId, vocab, p, rng, name) {
  asProbability(p, "p"); // also where no position is masked
  const steps = [], inputs = [], labels = [];
  const start = special.map((flag) => (flag ? "S" : PENDING));
  const fates = [...start], shown = [...ids];
  ids.forEach((id, t) => {
    const recorder = new RecordedDraws(rng);
    // Positions draw one after another, so the row can be masked one position at a time.
    const one = mlmMask([id], [special[t]], maskId, vocab, p, recorder);
    inputs.push(one.inputs[0]);
    labels.push(one.labels[0]);
    recorder.draws.forEach(([drawn, n, raws, value], i) => {
      let kind = drawn, says;
      if (kind === "below") {
        fates[t] = "R";
        shown[t] = value;
        const rejected = raws.slice(0, -1).map(hexOf).join(", ");
        const before = rejected && `${rejected} rejected, being below 2^32 mod ${n} = ${2 ** 32 % n}; `;
        says = `${before}${hexOf(raws.at(-1))} mod ${n} = ${value}: show \`${name(value)}\`.`;
      } else if (i === 0) {
        kind = "pick";
        [fates[t], says] = pickSays(value, p, name(id));
      } else {
        kind = "action";
        [fates[t], says] = actionSays(value, name(id));
        shown[t] = { M: maskId, R: null, K: id }[fates[t]];
      }
      steps.push({ position: t, token: name(id), kind, raws, value, says, fates: [...fates], shown: [...shown] });
    });
  });
  return { steps, fates: start, inputs, labels };
}

function pickSays(u, p, token) {
  const text = digitsOf(u, [p]);
  return u < p ? [CHOSEN, `${text} < ${general(p)}: picked, and the label is \`${token}\`.`]
    : ["-", `${text} >= ${general(p)}: not picked.`];
}

function actionSays(u, token) {
  const low = BERT_SPLIT[0], high = BERT_SPLIT[0] + BERT_SPLIT[1];
  const text = digitsOf(u, [low, high]);
  return [
    ["M", `${text} < ${general(low)}: show \`[MASK]\`.`],
    ["R", `${general(low)} <= ${text} < ${general(high)}: show a random token; the next draw says which.`],
    ["K", `${text} >= ${general(high)}: keep \`${token}\`.`],
  ][sampleCategorical(BERT_SPLIT, u)];
}

/** The facts of draw number `at` (0 is before the first): pairs of a name and a text where `backticks` mark code. */
export function rowsAbout({ steps, inputs, labels }, at) {
  const rows = [["draw", `none yet, of ${steps.length}`]];
  if (at > 0) {
    const { kind, position, token, raws, value, says } = steps[at - 1];
    rows[0] = ["draw", `${at} of ${steps.length}: ${kind}, position ${position}, \`${token}\``];
    rows.push(["raw word", raws.map((raw) => `\`${hexOf(raw)}\``).join(", ")]);
    if (kind !== "below") rows.push(["uniform", `\`${hexOf(raws.at(-1))}\` / 2^32 = ${fixed(value, 10)}`]);
    rows.push(["decides", says]);
  }
  if (at === steps.length) {
    rows.push(["inputs", `\`[${inputs.join(", ")}]\``], ["labels", `\`[${labels.join(", ")}]\``]);
  }
  return rows;
}

/** The number written in a field: a BigInt for an integer field. */
export function numberIn(text, what, whole) {
  const written = String(text).trim();
  const fits = whole ? /^[+-]?\d+$/ : /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;
  if (!fits.test(written)) throw new ValueError(`${what}: expected ${whole ? "a whole number" : "a number"}, got ${quoted(String(text))}`);
  return whole ? BigInt(written.replace("+", "")) : Number(written);
}

/** The trace for the values of the fields, or null until Python has split the text. */
export function traceOf({ text, seed, p, row, words, alone }) {
  if (!text.trim()) throw new ValueError("sentence: expected at least one word, got an empty text");
  const ids = row.text === text ? row.ids : wordPieces(text, words);
  if (ids === null && !alone) return null;
  if (ids === null) {
    const odd = text.match(/[^\t\n\r\x20-\x7e]/u)[0];
    throw new ValueError(`sentence: expected plain letters (a to z), digits and signs on this page, got ${quoted(odd)}; in JupyterLab the lab takes any text`);
  }
  const specials = new Set(SPECIAL_TOKENS.map((token) => words.indexOf(token)));
  const name = (id) => words[id];
  const rate = numberIn(p, "p", false), rng = new PCG32(numberIn(seed, "seed", true));
  const trace = traceDraws(ids, ids.map((id) => specials.has(id)), words.indexOf("[MASK]"), words.length, rate, rng, name);
  return { ...trace, tokens: ids.map(name), name };
}

/** Show the microscope in `el`, tied to `model`. */
export function renderMicroscope({ model, el }) {
  const { controls, result, guard, leave } = labFrame(el, { model });
  let trace = null;
  const count = () => trace?.steps.length ?? 0;
  const go = (by) => {
    if (trace === null) return;
    model.set("step", Math.min(Math.max(model.get("step") + by, 0), count()));
    model.save_changes();
  };
  const fields = [
    textFor(model, "text", { label: "sentence", width: "34em" }),
    textFor(model, "seed", { width: "14.5em", inputmode: "numeric" }),
    textFor(model, "p", { width: "8em", inputmode: "decimal" }),
  ];
  const slider = sliderFor(model, "step", { label: "draw", min: 0, max: count });
  controls.append(controlRow(fields[0].field), controlRow(fields[1].field, fields[2].field),
    controlRow(pushButton("Back", () => go(-1), { title: "One draw back" }),
      pushButton("Next", () => go(+1), { title: "One draw on" }), slider.field));
  const table = element("div", { role: "status" }), strip = element("div", {});
  result.append(table, strip);

  const draw = () => {
    for (const field of fields) field.show();
    // After an error, show no results of earlier values.
    trace = null;
    table.replaceChildren();
    strip.replaceChildren();
    const values = ["text", "seed", "p", "row", "words"].map((key) => [key, model.get(key)]);
    trace = traceOf({ ...Object.fromEntries(values), alone: model.alone === true });
    if (trace === null) {
      table.replaceChildren("One moment: Python splits the sentence.");
      return;
    }
    const at = Math.min(model.get("step"), count());
    if (at !== model.get("step")) model.set("step", at);
    const cells = rowsAbout(trace, at).map(([name, text]) =>
      element("tr", {}, element("th", { scope: "row" }, name), element("td", {}, ...marked(text))));
    table.replaceChildren(element("table", {}, element("tbody", {}, ...cells)));
    if (at === 0) {
      strip.replaceChildren(tokenStrip(trace.tokens, trace.fates));
    } else {
      const step = trace.steps[at - 1];
      const shown = step.shown.map((id) => (id === null ? "?" : trace.name(id)));
      strip.replaceChildren(tokenStrip(trace.tokens, step.fates, shown, { at: step.position }));
    }
  };
  const end = redraws(model, ["text", "seed", "p", "row", "step"], () => {
    guard(draw);
    slider.show();
  });
  return () => { end(); leave(); };
}
