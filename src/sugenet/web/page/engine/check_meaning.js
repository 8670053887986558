// For the checker: what a question means, as sugenet.checker.meaning says it: which values a feature has, which inputs are allowed, and
// what a change costs. For each feature, the values that its coding, the domain, the region and the limits allow are intersected as sets,
// before anything is priced. Then they are grouped by state, and a state costs what its cheapest allowed value costs.
//
// A value is a category, told apart by type, or the fraction of an integer or of a finite float. A bit is off, written -1 or 0 and kept as
// 0, or on. A sample's own values can always occur. A box contains its sample. Only the data of codings is used, not their methods.

import { exact, Wrong } from "./check_form.js";
import { Fraction, nextDown, ONE, ZERO } from "./exact.js";

const LARGEST = Fraction.ofNumber(Number.MAX_VALUE);
const MINUS_ONE = new Fraction(-1n);

// -- numbers: fractions, and Infinity and -Infinity as ends ---------------------------------------------------------------------------

function compare(a, b) {
  if (a instanceof Fraction && b instanceof Fraction) return a.compare(b);
  const [x, y] = [a, b].map((end) => (end instanceof Fraction ? 0 : end));
  return x < y ? -1 : x > y ? 1 : 0;
}

const larger = (a, b) => (compare(a, b) < 0 ? b : a);
const smaller = (a, b) => (compare(a, b) < 0 ? a : b);
const negative = (end) => (end instanceof Fraction ? ZERO.minus(end) : -end);
const ofFloat = (value) => (Number.isFinite(value) ? Fraction.ofNumber(value) : value);

// -- values: categories, or disjoint rising pairs [least, largest] of numbers ---------------------------------------------------------

const isCategory = (coding) => coding.kind === "onehot";

// Codings write integers as numbers; in certificates they are BigInts. The page holds no category such as 1.0.
const categoriesOf = (coding) => coding.categories.map((category) => (Number.isInteger(category) ? BigInt(category) : category));

function valueOf(coding, raw) {
  if (isCategory(coding)) {
    if (!categoriesOf(coding).includes(raw)) throw new Wrong(`${String(raw).slice(0, 40)} is not a category of its feature.`);
    return raw;
  }
  const number = exact(raw);
  if (coding.bipolar && number.compare(MINUS_ONE) === 0) return ZERO;
  if (!between(coding, number, number).length) throw new Wrong(`${String(raw).slice(0, 40)} is not a value of its feature.`);
  return number;
}

// The values that a raw sample names.
export function rowOf(model, row) {
  return row.map((raw, f) => {
    try {
      return valueOf(model.features[f].coding, raw);
    } catch (error) {
      if (error instanceof Wrong) throw new Wrong(`feature ${f}: ${error.message}`);
      throw error;
    }
  });
}

// The largest integer or float up to a bound, or below it; -Infinity if there is none.
function down(coding, bound, strict = false) {
  if (coding.whole) return bound instanceof Fraction ? new Fraction(strict ? bound.ceil() - 1n : bound.floor()) : bound;
  if (compare(bound, LARGEST) > 0) return LARGEST;
  if (!(bound instanceof Fraction)) return bound;
  const near = bound.toNumber();
  return ofFloat(strict && compare(ofFloat(near), bound) === 0 ? nextDown(near) : near);
}

// The values from `low` to `high`; or above the one, below the other.
function between(coding, low, high, { above = false, below = false } = {}) {
  const least = larger(negative(down(coding, negative(low), above)), negative(down(coding, negative(ofFloat(coding.low)))));
  const most = smaller(down(coding, high, below), down(coding, ofFloat(coding.high)));
  return compare(least, most) <= 0 && least !== Infinity && most !== -Infinity ? [[least, most]] : [];
}

function all(coding) {
  return isCategory(coding) ? categoriesOf(coding) : between(coding, -Infinity, Infinity);
}

function single(coding, value) {
  return isCategory(coding) ? [value] : [[value, value]];
}

// The values that are in both sets.
function both(coding, first, second) {
  if (isCategory(coding)) return first.filter((value) => second.includes(value));
  const pairs = first.flatMap(([a, b]) => second.map(([c, d]) => [larger(a, c), smaller(b, d)]));
  return pairs.filter(([low, high]) => compare(low, high) <= 0);
}

// The values that a limit allows.
function limited(coding, { low, high, values }) {
  if (isCategory(coding)) {
    if (values) return values.map((value) => valueOf(coding, value));
    if (low === null && high === null) return categoriesOf(coding);
    throw new Wrong("a category has bounds, which only numbers have.");
  }
  let spans = values ? values.map((value) => [exact(value), exact(value)]) : [[low ?? -Infinity, high ?? Infinity]];
  if (coding.bipolar) {
    const holds = (name) => spans.some(([a, b]) => compare(a, name) <= 0 && compare(name, b) <= 0);
    spans = [...(holds(MINUS_ONE) || holds(ZERO) ? [[ZERO, ZERO]] : []), ...(holds(ONE) ? [[ONE, ONE]] : [])]; // off is both -1 and 0
  }
  return spans.flatMap(([a, b]) => between(coding, a, b));
}

// All values of a feature that can occur, its own among them.
function occurring(coding, own, limit) {
  if (limit === undefined) return all(coding);
  const values = limited(coding, limit);
  return both(coding, values, single(coding, own)).length ? values : [...values, ...single(coding, own)];
}

// The values that are at most so far from its own, or less far.
function near(coding, own, far, strict) {
  if (!isCategory(coding)) return between(coding, own.minus(far), own.plus(far), { above: strict, below: strict });
  return far.compare(ONE) > (strict ? 0 : -1) ? categoriesOf(coding) : far.compare(ZERO) > (strict ? 0 : -1) ? [own] : [];
}

// -- states and costs -----------------------------------------------------------------------------------------------------------------

const KNOWN = new WeakMap(); // for each coding its cuts as fractions, and the values of each state

function cutsOf(coding) {
  if (!KNOWN.has(coding)) {
    const cuts = coding.cuts.map(ofFloat);
    const ends = [-Infinity, ...cuts, Infinity];
    KNOWN.set(coding, { cuts, cells: ends.slice(1).map((high, state) => between(coding, ends[state], high, { below: state < cuts.length })) });
  }
  return KNOWN.get(coding);
}

// The states of a feature, each with the values of it that are in a set.
function statesWithin(coding, values) {
  const cells = isCategory(coding) ? categoriesOf(coding).map((category) => [category]) : cutsOf(coding).cells;
  return cells.map((cell, state) => [state, both(coding, values, cell)]).filter(([, inside]) => inside.length);
}

function stateOf(coding, value) {
  if (isCategory(coding)) return categoriesOf(coding).indexOf(value);
  const { cuts } = cutsOf(coding);
  let [low, high] = [0, cuts.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (compare(cuts[middle], value) <= 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

export function statesOf(model, row) {
  return Int32Array.from(row, (value, f) => stateOf(model.features[f].coding, value));
}

export function isSame(coding, a, b) {
  return isCategory(coding) ? a === b : a.compare(b) === 0;
}

function distance(coding, before, after) {
  if (isCategory(coding)) return before === after ? ZERO : ONE;
  return after.minus(before).abs();
}

// The value of a set that is nearest to a value.
function nearest(coding, values, value) {
  if (isCategory(coding)) return values.includes(value) ? value : values[0];
  const clamped = values.map(([low, high]) => smaller(larger(value, low), high));
  return clamped.reduce((a, b) => (distance(coding, value, b).compare(distance(coding, value, a)) < 0 ? b : a));
}

// What a change of one feature costs. A measure is a region with a radius, or a cost: {kind, prices, per_unit}.
function costOf({ kind, prices, per_unit: perUnit }, f, coding, before, after) {
  const far = distance(coding, before, after);
  const moved = far.compare(ZERO) > 0;
  if (kind === "Hamming") return new Fraction(BigInt(isCategory(coding) ? 2 * moved : Math.abs(stateOf(coding, after) - stateOf(coding, before))));
  if (kind === "L0") return moved ? ONE : ZERO;
  if (kind === "L2") return far.times(far);
  if (kind !== "Prices") return far;
  const price = prices.get(f) ?? ZERO;
  return perUnit ? price.times(far) : moved ? price : ZERO;
}

// -- inputs ---------------------------------------------------------------------------------------------------------------------------

// A set of inputs: values of every feature, and what the changes of a sample may cost together.
export class Inputs {
  // strict: whether inputs that cost exactly the budget are left out.
  constructor(model, allowed, { sample = null, measure = null, budget = null, strict = false } = {}) {
    Object.assign(this, { model, allowed, sample, measure, budget, strict });
  }

  cost(row) {
    const costs = this.model.features.map(({ coding }, f) => costOf(this.measure, f, coding, this.sample[f], row[f]));
    return costs.reduce((a, b) => (this.measure.kind === "Linf" ? larger(a, b) : a.plus(b)), ZERO);
  }

  // See that an input is one of the set.
  see(row, what = "the witness") {
    this.model.features.forEach(({ coding }, f) => {
      if (both(coding, this.allowed[f], single(coding, row[f])).length) return;
      throw new Wrong(`${what} has ${row[f]} for feature ${f}, which the question does not allow.`);
    });
    if (this.budget === null) return;
    const cost = this.cost(row);
    if (cost.compare(this.budget) >= (this.strict ? 0 : 1)) throw new Wrong(`${what} is at ${cost}, outside the region of ${this.budget}.`);
  }

  // Of a feature the states that it can take, as {state, price}: the sample's own first, then in order. Without a budget, no price matters.
  states(f) {
    const { coding } = this.model.features[f];
    const own = this.sample?.[f];
    const isPriced = this.budget !== null;
    const found = statesWithin(coding, this.allowed[f]).map(([state, values]) => {
      const price = isPriced ? costOf(this.measure, f, coding, own, nearest(coding, values, own)) : ZERO;
      return { state, price };
    });
    if (this.sample === null) return found;
    const here = stateOf(coding, own);
    return [...found.filter(({ state }) => state === here), ...found.filter(({ state }) => state !== here)];
  }
}

// The inputs of a region around a sample that can occur: limits are those of the domain.
export function around(model, sample, region, limits, fixed = []) {
  const staying = new Set(fixed);
  const domain = new Map(limits);
  const box = new Map(region.kind === "Box" ? region.limits : []);
  const free = region.kind === "Free" ? new Set(region.features) : region.kind === "Box" ? box : null;
  const allowed = model.features.map(({ coding }, f) => {
    const own = sample[f];
    let values = staying.has(f) || (free && !free.has(f)) ? single(coding, own) : occurring(coding, own, domain.get(f));
    if (region.kind === "Linf") values = both(coding, values, near(coding, own, region.radius, false));
    if (!box.has(f)) return values;
    const inside = limited(coding, box.get(f));
    if (!both(coding, inside, single(coding, own)).length) throw new Wrong(`the sample is outside the box, by feature ${f}.`);
    return both(coding, values, inside);
  });
  if (region.radius === undefined || region.kind === "Linf") return new Inputs(model, allowed, { sample });
  const budget = region.kind === "L2" ? region.radius.times(region.radius) : region.radius;
  return new Inputs(model, allowed, { sample, measure: region, budget });
}

// The inputs that a counterfactual's question allows, up to a cost or below it.
export function cheaper(model, sample, { cost, movable, region }, limits, bound, strict) {
  const prices = new Map(cost.prices);
  const open = new Set(cost.kind === "Prices" ? movable.filter((f) => prices.has(f)) : movable);
  const fixed = model.features.map(({ number }) => number).filter((f) => !open.has(f));
  const { allowed } = around(model, sample, region ?? { kind: "AnyInput" }, limits, fixed);
  if (cost.kind !== "Linf") return new Inputs(model, allowed, { sample, measure: { ...cost, prices }, budget: bound, strict });
  const inside = (values, f) => both(model.features[f].coding, values, near(model.features[f].coding, sample[f], bound, strict));
  return new Inputs(model, bound === null ? allowed : allowed.map(inside), { sample, measure: cost, strict });
}

// All inputs within limits that can occur.
export function within(model, where, limits) {
  const allowed = model.features.map(({ coding }, f) => {
    const named = [...limits, ...where].filter(([g]) => f === g).map(([, limit]) => limited(coding, limit));
    const values = named.reduce((some, more) => both(coding, some, more), all(coding));
    if (!values.length) throw new Wrong(`no value of feature ${f} is allowed, so the question is about no input.`);
    return values;
  });
  return new Inputs(model, allowed);
}
