// For the checker: every set of changes once more, one by one; each different pattern of the first layer is evaluated by the layers behind.

import { Beyond, Wrong } from "./check_form.js";
import { violates, votesBehind } from "./check_question.js";

const MOST_SETS = 100_000_000; // under a minute
const MOST_PATTERNS = 4_000_000; // that fit in a page's memory; then they are forgotten
const LOOK = 1 << 14; // sets between two looks at the clock
const STEPS = 1 << 20; // after which sets are not counted in advance

// See that no set of changes is a violation.
export function checkWalk(model, problem, limit) {
  const number = numbersFor(problem);
  if (countSets(problem, number) > MOST_SETS) throw beyond();
  const sets = walk(model, problem, number, limit);
  return `none of the ${sets.toLocaleString("en")} sets of changes is a violation (walk in the browser)`;
}

function beyond() {
  return new Beyond(`the browser enumerates at most ${MOST_SETS.toLocaleString("en")} sets of changes.`);
}

// How many sets of at most one option a feature are within the budget, without enumerating them; 0 where that takes long.
function countSets({ features, budget }, number) {
  if (budget === null) return features.reduce((all, row) => all * (row.length + 1), 1);
  const most = number(budget);
  let sums = new Map([[number(0n), 1]]);
  let steps = 0;
  for (const row of features) {
    const more = new Map(sums);
    for (const { price } of row) {
      if ((steps += sums.size) > STEPS) return 0;
      for (const [sum, sets] of sums) {
        const after = sum + number(price);
        if (after <= most) more.set(after, (more.get(after) ?? 0) + sets);
      }
    }
    sums = more;
  }
  return [...sums.values()].reduce((all, sets) => all + sets, 0);
}

// Neurons that any set of changes within the budget could turn; the others need not be watched.
export function looseNeurons({ base, features, budget }) {
  const most = mostFeatures(features, budget);
  const reach = (j, pick) => {
    const steps = features.map((row) => Math.max(0, ...row.map(({ gain }) => pick(gain[j]))));
    return steps.sort((a, b) => b - a).slice(0, most).reduce((sum, step) => sum + step, 0);
  };
  return base.flatMap((margin, j) => ((margin >= 0 ? margin - reach(j, (gain) => -gain) < 0 : margin + reach(j, (gain) => gain) >= 0) ? [j] : []));
}

// How many features can change together within the budget.
export function mostFeatures(features, budget) {
  if (budget === null) return features.length;
  const lightest = features.map((row) => row.map(({ price }) => price).reduce((a, b) => (b < a ? b : a)));
  let total = 0n;
  let count = 0;
  for (const price of lightest.sort((a, b) => (a < b ? -1 : a > b ? 1 : 0))) {
    total += price;
    if (total > budget) break;
    count++;
  }
  return count;
}

// How many sets of at most one option a feature are within the budget; each different pattern of loose neurons is evaluated. A pattern is
// text: of every loose neuron whether it has turned, 16 to a character.
function walk(model, problem, number, limit) {
  const loose = looseNeurons(problem);
  const watched = ({ price, gain }) => ({ price: number(price), gain: Int32Array.from(loose, (j) => gain[j]) });
  const features = problem.features.map((row) => row.map(watched));
  const base = Int32Array.from(loose, (j) => problem.base[j]);
  const start = Uint8Array.from(problem.base, (margin) => (margin >= 0 ? 1 : 0));
  const patterns = new Set();
  const codes = new Array(Math.ceil(loose.length / 16));
  let sets = 0;
  const evaluate = (pattern) => {
    limit.look();
    if (patterns.size >= MOST_PATTERNS) patterns.clear();
    patterns.add(pattern);
    const active = Uint8Array.from(start);
    for (const j of turnedIn(pattern, loose)) active[j] ^= 1;
    if (violates(model, problem.goal, votesBehind(model, active))) throw new Wrong("a change that the certificate excludes is a violation.");
  };
  const visit = (from, sums, left) => {
    if (++sets > MOST_SETS) throw beyond();
    if (sets % LOOK === 0) limit.look();
    for (let c = 0; c < codes.length; c++) {
      let code = 0;
      for (let i = 16 * c; i < Math.min(16 * c + 16, base.length); i++) if (sums[i] >= 0 !== base[i] >= 0) code |= 1 << (i & 15);
      codes[c] = code;
    }
    const pattern = String.fromCharCode(...codes);
    if (!patterns.has(pattern)) evaluate(pattern);
    const after = new Int32Array(base.length);
    for (let f = from; f < features.length; f++) {
      for (const { price, gain } of features[f]) {
        if (left !== null && price > left) continue;
        for (let i = 0; i < after.length; i++) after[i] = sums[i] + gain[i];
        visit(f + 1, after, left === null ? null : left - price);
      }
    }
  };
  visit(0, base, problem.budget === null ? null : number(problem.budget));
  return sets;
}

// Prices as plain numbers where these are exact, which is much faster, else as they are.
function numbersFor({ features, budget }) {
  const total = features.flat().reduce((sum, { price }) => sum + price, 0n);
  return total + (budget ?? 0n) < 2n ** 53n ? Number : BigInt;
}

function turnedIn(pattern, loose) {
  return loose.filter((_, i) => (pattern.charCodeAt(i >> 4) >> (i & 15)) & 1);
}
