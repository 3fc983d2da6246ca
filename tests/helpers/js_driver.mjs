// Runs what the labs run, for the tests: a task and its items come in as JSON, the results go out as JSON.
// Values that JSON lacks are written as texts: "@nan", "@inf", "@none", "@big:12", "@list:3" (a Uint8Array).

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";

import * as attentionLab from "../../bert_lab/labs/js/attention_lab.mjs";
import * as engine from "../../bert_lab/labs/js/engine.mjs";
import * as maskingLab from "../../bert_lab/labs/js/masking_lab.mjs";
import * as microscope from "../../bert_lab/labs/js/microscope.mjs";
import { PageModel } from "../../bert_lab/labs/js/page.mjs";
import * as prediction from "../../bert_lab/labs/js/prediction.mjs";
import * as rates from "../../bert_lab/labs/js/rates.mjs";

const hex = (value) => `0x${value.toString(16).padStart(16, "0")}`;
const sha = (array) => createHash("sha256").update(Buffer.from(Int32Array.from(array).buffer)).digest("hex");
const generator = (item) => new engine.PCG32(BigInt(item.seed_hex), BigInt(item.stream_hex));
const maskedBy = (item, call) => {
  const rng = generator(item);
  const { inputs, labels } = call(rng);
  return { inputs: Array.from(inputs), labels: Array.from(labels), state_hex: hex(rng.state) };
};
const times = (n, draw) => Array.from({ length: n }, draw);

function revived(value) {
  if (Array.isArray(value)) return value.map(revived);
  if (typeof value !== "string" || value[0] !== "@") return value;
  const [name, rest] = value.slice(1).split(":");
  if (name === "big") return BigInt(rest);
  if (name === "list") return new Uint8Array(Number(rest));
  return { nan: NaN, inf: Infinity, none: undefined }[name];
}

const tasks = {
  generator(item) {
    const rng = generator(item), first = rng.state;
    const words = times(6, () => rng.nextU32());
    const again = generator(item);
    return {
      first_state_hex: hex(first), inc_hex: hex(rng.inc), words,
      uniforms: times(3, () => again.uniform()),
      below_40: times(3, () => again.below(40)),
      below_3221225472: times(6, () => again.below(3221225472)),
      state_hex: hex(again.state),
    };
  },

  // A copy draws on its own, and a state can be put back.
  copies(item) {
    const rng = generator(item), start = rng.state;
    const twin = rng.copy();
    const own = times(5, () => rng.nextU32());
    const same = [start === twin.state, rng.inc === twin.inc];
    const copied = times(5, () => twin.nextU32());
    rng.state = start;
    return { own, same, copied, again: times(5, () => rng.nextU32()) };
  },

  // below(n) of a fresh generator, and the state after it.
  below(item) {
    const rng = generator(item);
    return [rng.below(item.n), hex(rng.state)];
  },

  categorical: ({ weights, u }) => engine.sampleCategorical(weights, u),

  mask(item) {
    const ids = item.typed ? Float64Array.from(item.ids) : item.ids;
    const before = JSON.stringify([ids, item.special_mask]);
    const masked = maskedBy(item, (rng) =>
      engine.mlmMask(ids, item.special_mask, item.mask_id, item.vocab, item.p, rng, item.split));
    return { ...masked, kept: before === JSON.stringify([ids, item.special_mask]) };
  },

  words: (item) => maskedBy(item, (rng) => engine.wholeWordMask(
    item.ids, item.special_mask, item.continues, item.width, item.mask_id, item.vocab, item.p, rng, item.split)),

  stream(item) {
    const rng = engine.exampleStream(...[item.seed_hex, item.epoch_hex, item.index_hex].map(BigInt));
    return { first_state_hex: hex(rng.state), inc_hex: hex(rng.inc), words: times(6, () => rng.nextU32()) };
  },

  // Any object with uniform() and below(n) will do: these hand out what is listed.
  scripted({ uniforms, belows, ...item }) {
    const asked = [];
    const rng = { uniform: () => uniforms.shift(), below: (n) => { asked.push(n); return belows.shift(); } };
    const { inputs, labels } = engine.mlmMask(item.ids, item.special_mask, item.mask_id, item.vocab, item.p, rng);
    return { inputs: Array.from(inputs), labels: Array.from(labels), asked, left: [...uniforms, ...belows] };
  },

  // What a call with such arguments throws, and that nothing was drawn: [name, message], or null.
  refusal({ call, args }) {
    const rng = new engine.PCG32(42n), start = rng.state;
    const given = args.map((arg) => (arg === "@rng" ? rng : revived(arg)));
    try {
      if (call === "PCG32") new engine.PCG32(...given);
      else if (call === "state") rng.state = given[0];
      else if (call === "below") rng.below(...given);
      else engine[call](...given);
    } catch (problem) {
      return [problem.name, problem.message, problem instanceof TypeError || problem instanceof RangeError, rng.state === start];
    }
    return null;
  },

  number({ call, args }) {
    return rates[call](...revived(args));
  },

  lab(state) {
    const masked = maskingLab.maskBatches(state);
    const again = maskingLab.rowAgain(state);
    return {
      inputs: sha(masked.inputs), labels: sha(masked.labels), counts: masked.counts,
      verdict: maskingLab.verdictOf(state, masked),
      first: maskingLab.rowOf(state, masked, 0),
      again: again && { said: again.said, ...maskingLab.rowOf(state, masked, again.row) },
      alt: [maskingLab.picksReport(state, masked), masked.test && maskingLab.sharesReport(masked)].filter(Boolean)
        .map((report) => report.alt).join(" "),
    };
  },

  recipe: ({ name, split }) => maskingLab.sharesOfRecipe(name, split),

  trace(state) {
    try {
      const trace = microscope.traceOf(state);
      if (trace === null) return null;
      const { tokens, fates, steps, inputs, labels } = trace;
      return { tokens, fates, steps, inputs, labels, rows: times(steps.length + 1, (_, at) => microscope.rowsAbout(trace, at)) };
    } catch (problem) {
      return `${problem.name}: ${problem.message}`;
    }
  },

  // Every position is picked, and so most below() are asked for; a name for an id is "w" and the id.
  rejections({ seed, vocab }) {
    const ids = [5, 5, 5, 5, 5, 5], special = ids.map(() => 0);
    return microscope.traceDraws(ids, special, 4, vocab, 1, new engine.PCG32(seed), (id) => `w${id}`);
  },

  pieces: ({ text, words }) => microscope.wordPieces(text, words),

  told: ({ options, right, choice }) => prediction.truthOf(options, right, choice),

  // All that the attention lab draws of a state, and what it says of each token.
  attention(state) {
    try {
      const values = attentionLab.attentionValues(new PageModel(state));
      if (values === null) return null;
      const { tokens, layers, heads, level, moved } = values;
      const square = (of) => tokens.map((_, i) => tokens.map((_, j) => of(i, j)));
      return {
        tokens,
        maps: times(layers, (_, l) => times(heads, (_, h) => square((i, j) => level(l, h, i, j)))),
        influence: square(moved),
        said: tokens.map((_, i) => attentionLab.attentionSaid(values, state.layer, state.head, i)),
        moves: tokens.map((_, i) => attentionLab.influenceSaid(values, i)),
      };
    } catch (problem) {
      return `${problem.name}: ${problem.message}`;
    }
  },

  written: ({ level }) => attentionLab.levelText(level),

  // A model of a page, set and asked in the order of the list.
  model({ values, sets }) {
    const model = new PageModel(values), heard = [];
    const listener = () => heard.push(model.get("a"));
    model.on("change:a", listener);
    for (const [name, value] of sets) {
      model.set(name, value);
      model.save_changes();
    }
    model.off("change:a", listener);
    model.set("a", "unheard");
    return { heard, values: model.values, alone: model.alone };
  },
};

const { task, items, shared = {} } = JSON.parse(readFileSync(0, "utf-8"));
process.stdout.write(JSON.stringify(items.map((item) => tasks[task]({ ...shared, ...item }))));
