// For the checker: every set of changes once more, one by one; each different pattern of the first layer is judged by the layers behind.

import { Beyond, Wrong } from "./check_form.js";
import { violates, votesBehind } from "./check_question.js";

const MOST_SETS = 100_000_000; // under a minute
const MOST_PATTERNS = 4_000_000; // that fit in a page's memory
const LOOK = 1 << 14; // sets between two looks at the clock
const WORD = (1n << 64n) - 1n;

export function checkWalk(claimed, model, problem, limit) {
  if (claimed.patterns === null || claimed.patterns < 1n || claimed.patterns > claimed.sets) {
    throw new Wrong("a walk meets a pattern or more, and no more of them than sets.");
  }
  if (claimed.sets > MOST_SETS) throw new Beyond(`the browser goes through at most ${many(MOST_SETS)} sets of changes.`);
  if (claimed.patterns > MOST_PATTERNS) throw new Beyond(`the browser keeps at most ${many(MOST_PATTERNS)} patterns.`);
  const proof = { sets: Number(claimed.sets), patterns: Number(claimed.patterns), digest: claimed.digest };
  const found = walkFacts(model, problem, proof, limit);
  if (found.sets > proof.sets) throw new Wrong(`there are more than the ${many(proof.sets)} sets of changes that the certificate says.`);
  if (found.patterns > proof.patterns) throw new Wrong(`there are more than the ${many(proof.patterns)} patterns that the certificate says.`);
  if (found.isBad) throw new Wrong("a change that the certificate excludes is a violation.");
  if (found.sets !== proof.sets || found.patterns !== proof.patterns || found.digest !== proof.digest) {
    const seen = `${found.sets} sets, ${found.patterns} patterns and digest ${found.digest}`;
    throw new Wrong(`the walk has ${seen}, but the certificate says otherwise.`);
  }
  return `none of the ${many(found.sets)} changes is a violation (${many(found.patterns)} patterns, digest ${found.digest})`;
}

function many(count) {
  return count.toLocaleString("en");
}

// What a walk over all sets of changes sees: how many, how many patterns, their digest, and whether one is a violation. It stops where
// there are more sets or patterns than the proof says.
function walkFacts(model, problem, most, limit) {
  const { sets, patterns, loose } = walk(problem, most, limit);
  if (sets > most.sets || patterns.size > most.patterns) return { sets, patterns: patterns.size };
  const start = Uint8Array.from(problem.base, (margin) => (margin >= 0 ? 1 : 0));
  let digest = 0n;
  let isBad = false;
  for (const pattern of patterns) {
    limit.look();
    const active = Uint8Array.from(start);
    let mixed = 0n;
    for (const j of turnedIn(pattern, loose)) {
      active[j] ^= 1;
      mixed ^= splitmix64(BigInt(j + 1));
    }
    digest = (digest + splitmix64(mixed)) & WORD;
    isBad ||= violates(model, problem.goal, votesBehind(model, active));
  }
  return { sets, patterns: patterns.size, digest: digest.toString(16).padStart(16, "0"), isBad };
}

function splitmix64(value) {
  let z = (value + 0x9e3779b97f4a7c15n) & WORD;
  z = ((z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n) & WORD;
  z = ((z ^ (z >> 27n)) * 0x94d049bb133111ebn) & WORD;
  return z ^ (z >> 31n);
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

// How many sets of at most one option a feature are within the budget, and their different patterns. A pattern is text: of every loose
// neuron whether it has turned, 16 to a character.
function walk(problem, most, limit) {
  const loose = looseNeurons(problem);
  const number = numbersFor(problem);
  const watched = ({ price, gain }) => ({ price: number(price), gain: Int32Array.from(loose, (j) => gain[j]) });
  const features = problem.features.map((row) => row.map(watched));
  const base = Int32Array.from(loose, (j) => problem.base[j]);
  const patterns = new Set();
  const codes = new Array(Math.ceil(loose.length / 16));
  let sets = 0;
  const visit = (from, sums, left) => {
    if (++sets > most.sets || patterns.size > most.patterns) return;
    if (sets % LOOK === 0) limit.look();
    for (let c = 0; c < codes.length; c++) {
      let code = 0;
      for (let i = 16 * c; i < Math.min(16 * c + 16, base.length); i++) if (sums[i] >= 0 !== base[i] >= 0) code |= 1 << (i & 15);
      codes[c] = code;
    }
    patterns.add(String.fromCharCode(...codes));
    const after = new Int32Array(base.length);
    for (let f = from; f < features.length && sets <= most.sets && patterns.size <= most.patterns; f++) {
      for (const { price, gain } of features[f]) {
        if (left !== null && price > left) continue;
        for (let i = 0; i < after.length; i++) after[i] = sums[i] + gain[i];
        visit(f + 1, after, left === null ? null : left - price);
      }
    }
  };
  visit(0, base, problem.budget === null ? null : number(problem.budget));
  return { sets, patterns, loose };
}

// Prices as plain numbers where these are exact, which is much faster, else as they are.
function numbersFor({ features, budget }) {
  const total = features.flat().reduce((sum, { price }) => sum + price, 0n);
  if (total >= 2n ** 60n) throw new Beyond("the costs are too finely divided to walk through again.");
  return total + (budget ?? 0n) < 2n ** 53n ? Number : BigInt;
}

function turnedIn(pattern, loose) {
  return loose.filter((_, i) => (pattern.charCodeAt(i >> 4) >> (i & 15)) & 1);
}
