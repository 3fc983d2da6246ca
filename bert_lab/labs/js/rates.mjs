// What shares a masking routine must show, as bert_lab/measuring/rates.py has it, and numbers written as Python writes them.

/** `x` with so many digits after the point, as Python's f"{x:.4f}": a tie goes to the even digit. */
export function fixed(x, places) {
  if (!Number.isFinite(x)) return Number.isNaN(x) ? "nan" : x > 0 ? "inf" : "-inf";
  const text = x.toFixed(places);
  // toFixed rounds exact ties up (away from zero); only a number that ends in a 5 and nothing more is one.
  const longer = x.toFixed(Math.min(100, places + 60));
  const point = longer.length - Math.min(100, places + 60);
  const cut = point + places;
  if (!/^50*$/.test(longer.slice(cut))) return text;
  const down = places ? longer.slice(0, cut) : longer.slice(0, point - 1);
  return Number(down.at(-1)) % 2 ? text : down;
}

/** A whole number, or one with so many digits, with commas between thousands, as Python's f"{x:,.0f}". */
export function grouped(x, places = 0) {
  const [whole, ...rest] = fixed(x, places).split(".");
  return [whole.replace(/\B(?=(\d{3})+$)/g, ","), ...rest].join(".");
}

/** A number of 0..1 in six significant digits at most, as Python's f"{x:g}". */
export function general(x) {
  if (x === 0 || !Number.isFinite(x)) return fixed(x, 0);
  const exponent = Number(Math.abs(x).toExponential(5).split("e")[1]);
  const short = (text) => (text.includes(".") ? text.replace(/\.?0+$/, "") : text);
  if (exponent >= -4 && exponent < 6) return short(fixed(x, 5 - exponent));
  const [mantissa] = x.toExponential(5).split("e");
  return `${short(mantissa)}e${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
}

/** A uniform in as few decimals, from four on, as leave it on its side of 1 and of each threshold. */
export function digitsOf(u, thresholds) {
  for (let places = 4; ; places++) {
    const text = fixed(u, places);
    if (places === 32 || [...thresholds, 1].every((t) => Number(text) < t === u < t)) return text;
  }
}

/** The exact shares of what a picked position shows: [MASK], another token, the token itself. */
export function exactShares(vocab, [m, r, k]) {
  return [m + r / vocab, (r * (vocab - 2)) / vocab, k + r / vocab];
}

/** How often the picked positions show [MASK], another token, the token itself. */
export function countShown(inputs, labels, maskId) {
  const counts = [0, 0, 0];
  for (let t = 0; t < labels.length; t++) {
    if (labels[t] !== -100) counts[inputs[t] === maskId ? 0 : inputs[t] === labels[t] ? 2 : 1] += 1;
  }
  return counts;
}

/** The chance of 0, 1, ..., n picks among n candidates of probability p each. */
export function pickPmf(n, p) {
  let ways = 1;
  return Array.from({ length: n + 1 }, (_, k) => {
    if (k) ways = (ways * (n - k + 1)) / k;
    return ways * p ** k * (1 - p) ** (n - k);
  });
}

/** The mean number of picks among n candidates, minus and plus `sds` standard deviations. */
export function pickBand(n, p, sds = 4) {
  const sd = Math.sqrt(n * p * (1 - p));
  return [n * p - sds * sd, n * p + sds * sd];
}

/**
 * The chance that a chi-square variable with 1 or 2 degrees of freedom, and noncentrality 2 * `pairs`, exceeds x.
 *
 * It is a Poisson mixture: with j pairs more, drawn with mean `pairs`, the chance is the regularized upper gamma
 * function Q(dof / 2 + j, x / 2), and Q(a + 1, y) = Q(a, y) + y^a e^-y / gamma(a + 1).
 */
function chiSquareAbove(x, dof, pairs = 0) {
  const y = x / 2;
  if (y === 0 || Math.sqrt(2 * pairs) > Math.sqrt(x) + 20) return 1; // twenty standard deviations beyond x
  let above = dof === 2 ? Math.exp(-y) : erfc(Math.sqrt(y));
  if (pairs === 0) return above;
  let a = dof / 2;
  let step = Math.exp(-y) * (dof === 2 ? y : Math.sqrt(y) / (Math.sqrt(Math.PI) / 2));
  let weight = Math.exp(-pairs);
  let total = 0;
  const last = Math.ceil(pairs + 40 * Math.sqrt(pairs) + 60); // far beyond the mean
  for (let j = 0; j <= last; j++) {
    total += weight * above;
    above += step;
    a += 1;
    step *= y / a;
    weight *= pairs / (j + 1);
  }
  return Math.min(total, 1);
}

/** The complementary error function for x >= 0, by its series or its continued fraction. */
function erfc(x) {
  const square = x * x;
  if (x < 2.5) {
    let term = x, sum = x;
    for (let n = 1; term > 1e-18 * sum; n++) {
      term *= square / (n + 0.5);
      sum += term;
    }
    return 1 - (2 / Math.sqrt(Math.PI)) * Math.exp(-square) * sum;
  }
  let tail = 0;
  for (let n = 80; n > 0; n--) tail = n / 2 / (x + tail);
  return Math.exp(-square) / Math.sqrt(Math.PI) / (x + tail);
}

/** Where a chi-square variable with 1 or 2 degrees of freedom is exceeded with chance alpha. */
function chiSquareCritical(alpha, dof) {
  let low = 0, high = 2000;
  for (let i = 0; i < 200; i++) {
    const middle = (low + high) / 2;
    if (chiSquareAbove(middle, dof) > alpha) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

/** Pearson's chi-square test of three counts against exact shares: {statistic, dof, pValue}. */
export function chiSquare(counts, shares) {
  const total = counts.reduce((sum, count) => sum + count, 0);
  const dof = shares.filter((share) => share > 0).length - 1;
  if (counts.some((count, i) => count && !(shares[i] > 0))) return { statistic: Infinity, dof, pValue: 0 };
  let statistic = 0;
  counts.forEach((count, i) => {
    const expected = total * shares[i];
    if (shares[i] > 0) statistic += ((count - expected) * (count - expected)) / expected;
  });
  return { statistic, dof, pValue: dof ? chiSquareAbove(statistic, dof) : 1 };
}

/** The chance that the chi-square test of `picks` picks notices a routine of shares `wrong`. */
export function power(picks, shares, wrong, alpha = 0.001) {
  const possible = shares.map((share) => share > 0);
  const seenShare = wrong.reduce((sum, share, i) => sum + (possible[i] ? share : 0), 0);
  const outside = wrong.reduce((sum, share, i) => sum + (possible[i] ? 0 : share), 0);
  const staysHidden = (1 - outside) ** picks; // no count falls into a cell that must stay empty
  const dof = possible.filter(Boolean).length - 1;
  if (dof === 0 || staysHidden === 0) return 1 - staysHidden;
  let distance = 0;
  shares.forEach((share, i) => {
    if (possible[i]) distance += (wrong[i] / seenShare - share) ** 2 / share;
  });
  const noncentrality = picks * distance;
  const rejected = noncentrality === 0 ? alpha : chiSquareAbove(chiSquareCritical(alpha, dof), dof, noncentrality / 2);
  return 1 - staysHidden * (1 - rejected);
}
