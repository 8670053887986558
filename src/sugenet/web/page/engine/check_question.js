// For the checker: what a question says, worked out again from the certificate and the model alone, in whole numbers. The match count of
// the first layer is a sum over features, so what each single change adds to it is measured once, by evaluating the network.

import { Beyond, exact, Wrong } from "./check_form.js";
import { flips, meets, moved, readSample, readValue, statesOf } from "./check_values.js";
import { bitsGiven, thresholdOf, valuesOf } from "./cut.js";
import { Fraction, ONE, ZERO } from "./exact.js";
import { pack } from "./layers.js";

const SUMMED = ["Hamming", "L0", "L1", "L2", "Prices"]; // costs that add up; for the others every set of options is allowed

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

// A question about one sample as a plain problem:
//   base, features: for each feature that can change its options {price, gain}; budget in whole units or null; goal.
export function problemAround(model, question, claim, strict, limit) {
  const sample = readSample(model, question.sample);
  const states = statesOf(sample);
  const { label } = model.evaluate(states);
  if (label !== question.label) throw new Wrong(`the sample has class ${label}, not ${question.label}.`);
  const fixed = new Set(question.kind === "reason" ? question.fixed : []);
  const { options, budget } = optionsAround(model, sample, claim, strict, limit);
  for (const feature of fixed) options.delete(feature);
  return inWholeNumbers(model, states, options, budget, strict, question, limit);
}

// Options {state, price} of every feature in a region, or within a cost, and what their prices may sum to.
function optionsAround(model, sample, claim, strict, limit) {
  const { kind } = claim;
  let bound = claim.radius === undefined ? null : exact(claim.radius);
  if (bound && kind === "L2") bound = bound.times(bound);
  if (claim.total !== undefined && claim.total !== null) bound = exact(claim.total);
  const prices = kind === "Prices" ? new Map(claim.prices.map(([f, price]) => [f, exact(price)])) : null;
  const movable = claim.features === undefined ? model.features.map(({ number }) => number) : [...claim.features].sort((a, b) => a - b);
  const limits = kind === "Box" ? new Map(claim.limits) : null;
  const options = new Map();
  for (const f of movable) {
    const { coding, name } = model.features[f];
    if ((prices && !prices.has(f)) || (limits && !limits.has(f))) continue;
    const found = [];
    for (let state = 0; state < coding.states; state++) {
      limit.look();
      if (state === sample[f].state) continue;
      if (limits) {
        if (someInside(coding, state, limits.get(f), name)) found.push({ state, price: ZERO });
        continue;
      }
      const there = moved(coding, sample[f], state, name);
      if (there === null) continue;
      const distance = coding.kind === "onehot" ? ONE : there.number.minus(sample[f].number).abs();
      if (kind === "Linf" && bound && (strict ? distance.compare(bound) >= 0 : distance.compare(bound) > 0)) continue;
      if (!isWithin(claim.region ?? null, f, coding, there, distance)) continue;
      const bits = flips(coding, sample[f].state, state);
      found.push({ state, price: priceOfMove(kind, distance, bits, prices?.get(f), claim.per_unit) });
    }
    if (found.length) options.set(f, found);
  }
  return { options, budget: SUMMED.includes(kind) ? bound : null };
}

function priceOfMove(kind, distance, bits, price, perUnit) {
  if (kind === "Hamming") return new Fraction(BigInt(bits));
  if (kind === "L0") return ONE;
  if (kind === "L1") return distance;
  if (kind === "L2") return distance.times(distance);
  if (kind === "Prices") return perUnit ? price.times(distance) : price;
  return ZERO;
}

// Whether a counterfactual may move a feature there: regions without a budget of their own.
function isWithin(region, f, coding, there, distance) {
  if (region === null || region.kind === "Anything") return true;
  if (region.kind === "Linf") return distance.compare(exact(region.radius)) <= 0;
  if (region.kind === "Free") return region.features.includes(f);
  const limits = new Map(region.limits);
  if (!limits.has(f)) return false;
  const limit = limits.get(f);
  if (coding.kind === "steps" && !Array.isArray(limit) && limit["one of"].length > 1) {
    throw new Wrong("a counterfactual's region limits numbers by bounds, not by lists.");
  }
  return meets(coding, there, limit);
}

// -- limits without a sample --------------------------------------------------------------------------------------------------------

// Whether a state has a value within a limit.
function someInside(coding, state, limit, name) {
  if (coding.kind === "onehot") return meets(coding, { value: coding.categories[state], state }, limit);
  if (!Array.isArray(limit)) {
    return limit["one of"].some((one) => readValue(coding, one, name).state === state);
  }
  const ends = coding.interval(state);
  if (ends === null) return false;
  let low = Number.isFinite(ends[0]) ? Fraction.ofNumber(ends[0]) : null;
  let high = Number.isFinite(ends[1]) ? Fraction.ofNumber(ends[1]) : null;
  if (limit[0] !== null && (low === null || exact(limit[0]).compare(low) > 0)) low = exact(limit[0]);
  if (limit[1] !== null && (high === null || exact(limit[1]).compare(high) < 0)) high = exact(limit[1]);
  if (low === null || high === null) return true;
  return coding.whole ? low.ceil() <= high.floor() : low.compare(high) <= 0;
}

// "Every input within limits has the class", or "none has it": any combination of states, the first of each feature taken as the sample.
export function problemWithin(model, question, limit) {
  const limits = new Map(question.where);
  const options = new Map();
  const states = new Int32Array(model.features.length);
  for (const { number: f, name, coding } of model.features) {
    limit.look();
    const all = Array.from({ length: coding.states }, (_, state) => state);
    const found = all.filter((state) => someInside(coding, state, limits.get(f) ?? [null, null], name));
    if (!found.length) throw new Wrong(`nothing that can occur meets the limits of feature ${f}.`);
    states[f] = found[0];
    if (found.length > 1) options.set(f, found.slice(1).map((state) => ({ state, price: ZERO })));
  }
  const never = question.kind === "never";
  const goal = { label: never ? null : question.label, target: never ? question.label : null, ties: "lowest" };
  return inWholeNumbers(model, states, options, null, false, goal, limit);
}

// -- whole numbers ------------------------------------------------------------------------------------------------------------------

function inWholeNumbers(model, states, options, bound, strict, { label, target, ties }, limit) {
  const unit = unitOf([...options.values()].flat());
  const scaled = bound && bound.times(new Fraction(unit));
  const budget = bound === null ? null : strict ? scaled.ceil() - 1n : scaled.floor();
  if (budget !== null && budget < 0n) throw new Wrong("the budget does not even allow the empty set of changes.");
  const base = firstMargins(model, states);
  const features = [];
  for (const [f, row] of options) {
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
  }
  return { base, features, budget, goal: { label, target, ties } };
}

const LARGEST_UNIT = 2n ** 16384n;

// Units in one: a common denominator of the prices; or, where sums would leave 60 bits, a power of two, and prices are rounded down.
// Rounding down asks about more changes than the question does, so what is shown of them holds for the question.
function unitOf(options) {
  let unit = 1n;
  let total = ZERO;
  for (const { price } of options) {
    unit = new Fraction(unit, price.bottom).top * price.bottom; // least common multiple
    if (unit > LARGEST_UNIT) throw new Wrong("the costs are too finely divided: they have no common denominator of a sane size.");
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
