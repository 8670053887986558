// For the checker: what a question says, recomputed from the certificate and the model alone, in integers. The match count of
// the first layer is a sum over features, so what each single change adds to it is measured once, by evaluating the network.

import { Beyond, Wrong } from "./check_form.js";
import { bitsGiven, thresholdOf, valuesOf } from "./expanded.js";
import { Fraction, ZERO } from "./exact.js";
import { pack } from "./layers.js";

// The classes with the largest score.
export function topsOf(model, votes) {
  const ranks = model.classes.map((_, k) => model.head.rank(votes, k));
  const best = ranks.reduce((a, b) => (b > a ? b : a));
  return ranks.flatMap((rank, k) => (rank === best ? [k] : []));
}

// Whether votes violate "the class stays label", or with a target "it does not become target", with the tie rule.
export function violates(model, { label, target, ties }, votes) {
  const tops = topsOf(model, votes);
  if (target === null) return ties === "lowest" ? tops[0] !== label : tops.length > 1 || tops[0] !== label;
  return ties === "lowest" ? tops[0] === target : tops.includes(target);
}

const MOST_STEPS = 20_000; // of the neurons of the first layer, that fit in a page's memory for every option

// M - tau of the first layer, of neurons with several levels for each step; of the bits themselves where there is no hidden layer.
function firstMargins(model, states) {
  if (!model.layers.length) return Array.from(model.bits(states), (bit) => bit - 1);
  const [layer] = model.layers;
  if (!layer.levels) return Array.from(model.evaluate(states).layers[0].M, (count, j) => count - layer.tau[j]);
  const { values, steps } = bitsGiven(model, 0);
  if (values.length > MOST_STEPS) throw new Beyond("layer 1 has too many steps for a browser.");
  const { M } = model.evaluate(states).layers[0];
  return Array.from(values, (value, at) => {
    const { places, tau, step } = thresholdOf(layer, value, steps[at]);
    return (step ? places.filter((place) => states[place] >= step).length : M[value]) - tau;
  });
}

// A question as a plain problem: base, M - tau of the first layer to start from; features, for each feature that can change its options
// {price, gain}; budget in whole units or null; goal.
export function problemOf(model, inputs, goal, limit) {
  const rows = model.features.map((_, f) => {
    limit.look();
    return inputs.states(f);
  });
  const states = Int32Array.from(rows, ([first]) => first.state);
  const others = rows.map((row) => row.slice(1));
  const unit = unitOf(others.flat());
  const scaled = inputs.budget?.times(new Fraction(unit));
  const budget = inputs.budget === null ? null : inputs.strict ? scaled.ceil() - 1n : scaled.floor();
  const base = firstMargins(model, states);
  const features = [];
  others.forEach((row, f) => {
    const kept = [];
    for (const { state, price } of row) {
      limit.look();
      const weight = price.times(new Fraction(unit)).floor();
      if (budget !== null && weight > budget) continue;
      const after = Int32Array.from(states);
      after[f] = state;
      kept.push({ price: weight, gain: firstMargins(model, after).map((margin, j) => margin - base[j]) });
    }
    if (kept.length) features.push(kept);
  });
  return { base, features, budget, goal };
}

const LARGEST_UNIT = 2n ** 16384n;

// Units in one: a common denominator of the prices; or, where sums would leave 60 bits, a power of two, and prices are rounded down.
// Rounding down asks about more changes than the question does, so what is shown of them holds for the question.
function unitOf(options) {
  let unit = 1n;
  let total = ZERO;
  for (const { price } of options) {
    unit = new Fraction(unit, price.bottom).top * price.bottom; // least common multiple
    if (unit >= LARGEST_UNIT) throw new Wrong("the costs are too finely divided: they have no common denominator of a sane size.");
    total = total.plus(price);
  }
  if (total.times(new Fraction(unit)).compare(new Fraction(2n ** 60n)) < 0) return unit;
  const length = total.floor().toString(2).length;
  return 2n ** BigInt(Math.max(0, 59 - (total.floor() === 0n ? 0 : length)));
}

// Votes of the classes for an activity of the first layer, by the layers behind it; of its steps where it has levels.
export function votesBehind(model, active) {
  let values = model.layers[0]?.levels ? valuesOf(model, 0, active) : active;
  for (const layer of model.layers.slice(1)) values = layer.activity(layer.counts(values, pack(values)));
  return model.head.counts(values, pack(values));
}
