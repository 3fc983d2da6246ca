// BERT's masking in JavaScript, by the masking contract (notebooks/masking_contract.md) and nothing else: the PCG32
// generator, below, sampleCategorical, mlmMask and wholeWordMask in their fixed order of draws. No dependencies.

const MULTIPLIER = 6364136223846793005n;
const MULTIPLIER_HIGH = Number(MULTIPLIER >> 32n);
const MULTIPLIER_LOW = Number(MULTIPLIER & 0xffffffffn);
const MULTIPLIER_LOW_TOP = MULTIPLIER_LOW >>> 16;
const MULTIPLIER_LOW_END = MULTIPLIER_LOW & 0xffff;
const TWO_32 = 4294967296;

export const IGNORE = -100; // the label of a position where nothing is predicted
export const BERT_SPLIT = [0.8, 0.1, 0.1]; // of the picked positions: shown as [MASK], as a random token, as they are

/** A wrong value, as in Python; a wrong type is a TypeError. */
export class ValueError extends RangeError {
  get name() { return "ValueError"; }
}

/** A text of the value for an error message, never too long. */
export function quoted(value) {
  const text = typeof value === "string" ? `'${value}'` : String(value);
  return text.length > 60 ? `${text.slice(0, 57)}...` : text;
}

/** `value`, a BigInt or a safe integer, as a BigInt of low..high-1. */
function asBigInt(value, name, low, high) {
  if (typeof value !== "bigint" && !(typeof value === "number" && Number.isInteger(value))) {
    throw new TypeError(`${name}: expected an integer, got ${quoted(value)}`);
  }
  if (typeof value === "number" && !Number.isSafeInteger(value)) {
    throw new TypeError(`${name}: expected a BigInt for a number beyond 2^53, got ${quoted(value)}`);
  }
  const number = BigInt(value);
  if (number < low || number >= high) {
    throw new ValueError(`${name}: expected an integer from ${low} to ${high - 1n}, got ${number}`);
  }
  return number;
}

/** `value` as an integer number of low..high-1. */
function asInteger(value, name, low, high) {
  if (typeof value !== "number" || !Number.isInteger(value)) {
    throw new TypeError(`${name}: expected an integer, got ${quoted(value)}`);
  }
  if (value < low || value >= high) {
    throw new ValueError(`${name}: expected an integer from ${low} to ${high - 1}, got ${value}`);
  }
  return value;
}

function asReal(value, name) {
  if (typeof value !== "number") throw new TypeError(`${name}: expected a number, got ${quoted(value)}`);
  if (Number.isNaN(value)) throw new ValueError(`${name}: expected a number, got nan`);
  return value;
}

/** `value` as a list with a length: an array or a typed array. */
function asList(value, name) {
  if (!Array.isArray(value) && !(ArrayBuffer.isView(value) && typeof value.length === "number")) {
    throw new TypeError(`${name}: expected an array, got ${quoted(value)}`);
  }
  return value;
}

/**
 * The PCG32 generator (XSH-RR): 64 bits of state, 32 bits out; 0 <= seed < 2^64, 0 <= stream < 2^63.
 *
 * Numbers beyond 2^53 must be BigInts. `state` (which can be set again) and `inc` are BigInts. A draw uses halves of
 * 32 bits, since a BigInt for each would be some fifty times slower.
 */
export class PCG32 {
  #high = 0;
  #low = 0;
  #incHigh;
  #incLow;

  constructor(seed, stream = 54n) {
    const start = asBigInt(seed, "seed", 0n, 1n << 64n);
    const inc = 2n * asBigInt(stream, "stream", 0n, 1n << 63n) + 1n;
    this.#incHigh = Number(inc >> 32n);
    this.#incLow = Number(inc & 0xffffffffn);
    // One step from state 0, add the seed, one more step.
    this.state = BigInt.asUintN(64, (inc + start) * MULTIPLIER + inc);
  }

  get state() { return (BigInt(this.#high) << 32n) | BigInt(this.#low); }

  set state(value) {
    const state = asBigInt(value, "state", 0n, 1n << 64n);
    this.#high = Number(state >> 32n);
    this.#low = Number(state & 0xffffffffn);
  }

  get inc() { return (BigInt(this.#incHigh) << 32n) | BigInt(this.#incLow); }

  /** The next raw word, a number of 0..2^32-1. */
  nextU32() {
    const high = this.#high, low = this.#low;
    // state * MULTIPLIER + inc: the lower halves are multiplied in pieces of 16 bits, whose products are exact.
    const top = low >>> 16, end = low & 0xffff;
    const ends = end * MULTIPLIER_LOW_END;
    const middle = top * MULTIPLIER_LOW_END + end * MULTIPLIER_LOW_TOP + (ends >>> 16);
    const carried = top * MULTIPLIER_LOW_TOP + Math.floor(middle / 65536);
    const newLow = (((middle & 0xffff) << 16) | (ends & 0xffff)) >>> 0;
    const sum = newLow + this.#incLow;
    this.#low = sum >>> 0;
    this.#high = (carried + Math.imul(high, MULTIPLIER_LOW) + Math.imul(low, MULTIPLIER_HIGH) + this.#incHigh
      + (sum >= TWO_32 ? 1 : 0)) >>> 0;
    // ((old >> 18) ^ old) >> 27, its lower 32 bits, turned right by old >> 59; all from the state before the step.
    const mixedHigh = (high >>> 18) ^ high;
    const mixedLow = ((high << 14) | (low >>> 18)) ^ low;
    const word = (mixedHigh << 5) | (mixedLow >>> 27);
    const turn = high >>> 27;
    return ((word >>> turn) | (word << (-turn & 31))) >>> 0;
  }

  /** One raw word times 2^-32: a number of [0, 1), exact. */
  uniform() { return this.nextU32() / TWO_32; }

  /** A uniform integer of 0..n-1, 1 <= n < 2^32: raw words below 2^32 mod n are skipped. */
  below(n) {
    asInteger(n, "n", 1, TWO_32);
    const threshold = TWO_32 % n;
    let raw = this.nextU32();
    while (raw < threshold) raw = this.nextU32();
    return raw % n;
  }

  /** A copy, which makes the same draws. */
  copy() {
    const twin = new PCG32(0n, this.inc >> 1n);
    twin.#high = this.#high;
    twin.#low = this.#low;
    return twin;
  }
}

/** One step of SplitMix64 from the state z. */
function mix64(z) {
  const wrap = (value) => BigInt.asUintN(64, value);
  z = wrap(z + 0x9e3779b97f4a7c15n);
  z = wrap((z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n);
  z = wrap((z ^ (z >> 27n)) * 0x94d049bb133111ebn);
  return z ^ (z >> 31n);
}

/** The generator that masks example number `index` in an epoch. */
export function exampleStream(seed, epoch, index) {
  const start = asBigInt(seed, "seed", 0n, 1n << 64n);
  const round = asBigInt(epoch, "epoch", 0n, 1n << 63n);
  const place = asBigInt(index, "index", 0n, 1n << 63n);
  const key = mix64(BigInt.asUintN(64, mix64(BigInt.asUintN(64, mix64(start) + round)) + place));
  return new PCG32(key, place);
}

/** Running sums of the weights; infinite from the last positive one on, so that no draw goes past it. */
function cumulativeWeights(weights) {
  const checked = Array.from(asList(weights, "weights"), (weight, i) => asReal(weight, `weights[${i}]`));
  const total = checked.reduce((sum, weight) => sum + weight, 0);
  if (!(checked.every((weight) => weight >= 0) && total > 0 && total <= 1 + 1e-9)) {
    throw new ValueError(`weights: expected finite weights >= 0 that sum to 1, got ${quoted(checked)}`);
  }
  const last = checked.findLastIndex((weight) => weight > 0);
  let running = 0;
  return checked.map((weight, i) => {
    running += weight;
    return i < last ? running : Infinity;
  });
}

/** The smallest index whose cumulative weight exceeds u (strictly); never past the last positive weight. */
export function sampleCategorical(weights, u) {
  const sums = cumulativeWeights(weights);
  if (!(asReal(u, "u") >= 0 && u < 1)) throw new ValueError(`u: expected a number in [0, 1), got ${quoted(u)}`);
  return sums.findIndex((sum) => sum > u);
}

/** Three finite shares >= 0 that sum to 1 within 1e-9. */
export function asSplit(split) {
  const shares = Array.from(asList(split, "split"), (share) => asReal(share, "split"));
  const total = shares.reduce((sum, share) => sum + share, 0);
  if (shares.length !== 3 || !shares.every((share) => share >= 0) || !(Math.abs(total - 1) <= 1e-9)) {
    throw new ValueError(`split: expected three finite numbers >= 0 that sum to 1, got ${quoted(shares)}`);
  }
  return shares;
}

/** `value` as a number of 0..1. */
export function asProbability(value, name) {
  if (!(asReal(value, name) >= 0 && value <= 1)) {
    throw new ValueError(`${name}: expected a probability from 0 to 1, got ${quoted(value)}`);
  }
  return value;
}

/** Booleans or 0/1, `count` of them. */
function checkFlags(flags, name, count) {
  if (asList(flags, name).length !== count) {
    throw new ValueError(`${name}: expected as many as ids, ${count}, got ${flags.length}`);
  }
  for (let t = 0; t < count; t++) {
    const flag = flags[t];
    if (typeof flag !== "boolean" && typeof flag !== "number") {
      throw new TypeError(`${name}: expected booleans or 0/1, got ${quoted(flag)} at ${name}[${t}]`);
    }
    if (flag !== true && flag !== false && flag !== 0 && flag !== 1) {
      throw new ValueError(`${name}: expected booleans or 0/1, got ${flag} at ${name}[${t}]`);
    }
  }
}

/** Check the arguments of both maskings: {inputs, labels, hide}; hide(t) picks position t and draws its action. */
function startMasking(ids, special, maskId, vocab, p, rng, split) {
  asInteger(vocab, "vocab", 1, TWO_32);
  asInteger(maskId, "maskId", 0, vocab);
  asProbability(p, "p");
  const [maskBelow, randomBelow] = cumulativeWeights(asSplit(split));
  const count = asList(ids, "ids").length;
  for (let t = 0; t < count; t++) {
    const id = ids[t];
    if (typeof id !== "number" || !Number.isInteger(id)) {
      throw new TypeError(`ids: expected integers, got ${quoted(id)} at ids[${t}]`);
    }
    if (id < 0 || id >= vocab) {
      throw new ValueError(`ids: expected ids from 0 to ${vocab - 1}, got ${id} at ids[${t}]`);
    }
  }
  checkFlags(special, "special", count);
  if (typeof rng?.uniform !== "function" || typeof rng.below !== "function") {
    throw new TypeError(`rng: expected a generator with uniform() and below(n), such as new PCG32(42n), got ${quoted(rng)}`);
  }
  const Ids = vocab > 2 ** 31 ? Float64Array : Int32Array;
  const inputs = Ids.from(ids), labels = new Ids(count).fill(IGNORE);
  const hide = (t) => {
    labels[t] = inputs[t];
    const u = rng.uniform();
    if (u < maskBelow) inputs[t] = maskId;
    else if (u < randomBelow) inputs[t] = rng.below(vocab);
  };
  return { inputs, labels, hide };
}

/**
 * Pick positions with probability p and hide their tokens: {inputs, labels}.
 *
 * ids and special are flat, in C order: a batch is its rows one after another. ids: integers, 0 <= id < vocab;
 * special: booleans or 0/1, as many. rng: a PCG32, or anything with uniform() and below(n); it advances by exactly
 * the draws made, and not at all if an argument is refused. split: shares of [MASK], random and kept.
 * inputs is what the model sees; labels hold the original id at picked positions and -100 elsewhere. Both are
 * Int32Array, or Float64Array where ids do not fit into that (vocab > 2^31); what comes in is never changed.
 */
export function mlmMask(ids, special, maskId, vocab, p, rng, split = BERT_SPLIT) {
  const { inputs, labels, hide } = startMasking(ids, special, maskId, vocab, p, rng, split);
  for (let t = 0; t < inputs.length; t++) {
    if (!special[t] && rng.uniform() < p) hide(t);
  }
  return { inputs, labels };
}

/**
 * The same for whole words: one draw picks a word, and each of its pieces draws its own action.
 *
 * continues: booleans or 0/1, as many as ids; true where a piece continues the word of the position before it. width:
 * positions in a row; a row begins a word, and so does what follows a special position.
 */
export function wholeWordMask(ids, special, continues, width, maskId, vocab, p, rng, split = BERT_SPLIT) {
  const { inputs, labels, hide } = startMasking(ids, special, maskId, vocab, p, rng, split);
  checkFlags(continues, "continues", inputs.length);
  asInteger(width, "width", 1, TWO_32);
  let picked = false;
  for (let t = 0; t < inputs.length; t++) {
    if (special[t]) continue;
    if (!continues[t] || t % width === 0 || special[t - 1]) picked = rng.uniform() < p;
    if (picked) hide(t);
  }
  return { inputs, labels };
}
