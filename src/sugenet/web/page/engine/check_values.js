// For the checker: raw values of a certificate, exactly. A value is read as the encoder in Python reads it, or refused.

import { Beyond, exact, Wrong } from "./check_form.js";
import { Fraction, ONE, ZERO } from "./exact.js";

const LARGEST = 2 ** 53;

// A raw value with its state and, for numbers, its exact size as written and as the coding takes it (-1 is 0 for bipolar bits).
export function readValue(coding, value, name) {
  if (coding.kind === "onehot") {
    if (!coding.takes(value)) throw new Wrong(`${name} is ${String(value)}, which is no category.`);
    return { value, state: coding.state(value) };
  }
  if (!["number", "boolean", "string"].includes(typeof value)) throw new Wrong(`${name} needs a number.`);
  const written = exact(typeof value === "boolean" ? Number(value) : value);
  const number = coding.bipolar && written.compare(new Fraction(-1n)) === 0 ? ZERO : written;
  if (!coding.cuts.every(Number.isFinite)) throw new Beyond("a coding has an infinite cut.");
  const near = typeof value === "string" ? nearestFloat(number) : number === ZERO ? 0 : Number(value);
  const isApart = (cut) => near >= cut === number.compare(Fraction.ofNumber(cut)) >= 0;
  if (typeof value === "string" && !coding.cuts.every(isApart)) throw new Wrong(`${name} is ${value}, which no float keeps apart from a cut.`);
  if (!coding.takes(near) || (coding.whole && !number.isWhole)) throw new Wrong(`${name} is ${value}, which the network does not take.`);
  return { value, written, number, near, state: coding.state(near) };
}

// Quotients of whole numbers below 2^53 are rounded correctly.
function nearestFloat(number) {
  const [top, bottom] = [Number(number.top), Number(number.bottom)];
  const power = (number.bottom & (number.bottom - 1n)) === 0n; // a power of two: the fraction was a float, or is divided exactly
  if (Math.abs(top) >= LARGEST || (bottom >= LARGEST && !power)) throw new Beyond("numbers of this size lose digits in a browser.");
  return top / bottom;
}

// All values of a raw sample.
export function readSample(model, values) {
  if (!Array.isArray(values) || values.length !== model.features.length) {
    throw new Wrong(`a sample has not ${model.features.length} values, one for each feature.`);
  }
  return values.map((value, f) => readValue(model.features[f].coding, value, model.features[f].name));
}

export function statesOf(sample) {
  return Int32Array.from(sample, ({ state }) => state);
}

// Whether two raw values are the same as written: -1 and 0 are the same bit but not the same value.
export function isSame(a, b) {
  if (a.written) return a.written.compare(b.written) === 0;
  const plain = (value) => (typeof value === "boolean" ? Number(value) : value);
  return plain(a.value) === plain(b.value);
}

// The features in which two samples differ, each with the size of the change and the number of bits that it flips.
export function changesOf(model, before, after) {
  const changes = new Map();
  before.forEach((value, f) => {
    if (isSame(value, after[f])) return;
    const { coding } = model.features[f];
    const distance = coding.kind === "onehot" ? ONE : after[f].number.minus(value.number).abs();
    changes.set(f, { distance, bits: flips(coding, value.state, after[f].state) });
  });
  return changes;
}

export function flips(coding, before, after) {
  let count = 0;
  for (let place = 0; place < coding.width; place++) if (coding.bit(before, place) !== coding.bit(after, place)) count++;
  return count;
}

// What changes cost; for L2 the sum of squares.
export function priceOf(claim, changes) {
  const sum = (price) => [...changes].reduce((total, [f, change]) => total.plus(price(change, f)), ZERO);
  const whole = (count) => new Fraction(BigInt(count));
  switch (claim.kind) {
    case "L0":
      return whole(changes.size);
    case "Hamming":
      return sum(({ bits }) => whole(bits));
    case "L1":
      return sum(({ distance }) => distance);
    case "L2":
      return sum(({ distance }) => distance.times(distance));
    case "Linf":
      return [...changes.values()].reduce((most, { distance }) => (distance.compare(most) > 0 ? distance : most), ZERO);
    case "Prices": {
      const prices = new Map(claim.prices.map(([f, price]) => [f, exact(price)]));
      return sum(({ distance }, f) => {
        if (!prices.has(f)) throw new Wrong(`feature ${f} has no price.`);
        return claim.per_unit ? prices.get(f).times(distance) : prices.get(f);
      });
    }
    default:
      throw new Wrong(`unknown cost ${claim.kind}.`);
  }
}

// Whether a value that was read is within a limit: a pair of bounds, or a list of values.
export function meets(coding, value, limit) {
  if (!Array.isArray(limit)) {
    return limit["one of"].some((one) => {
      if (coding.kind === "onehot") return coding.takes(one) && coding.state(one) === value.state;
      return readValue(coding, one, "a limit").number.compare(value.number) === 0;
    });
  }
  const [low, high] = limit;
  if (coding.kind === "onehot") {
    if (low !== null || high !== null) throw new Wrong("a category has bounds, which only numbers can have.");
    return true;
  }
  return (low === null || value.number.compare(exact(low)) >= 0) && (high === null || value.number.compare(exact(high)) <= 0);
}

// See that a witness lies in a region around the sample.
export function liesInside(model, region, before, after) {
  const changes = changesOf(model, before, after);
  const { kind } = region;
  if (kind === "Anything") return;
  if (kind === "Free" || kind === "Box") {
    const open = kind === "Free" ? region.features : region.limits.map(([f]) => f);
    for (const f of changes.keys()) if (!open.includes(f)) throw new Wrong(`the witness changes feature ${f}, which must stay.`);
    if (kind === "Box") within(model, region.limits, after);
    return;
  }
  const radius = exact(region.radius);
  const most = kind === "L2" ? radius.times(radius) : radius;
  const price = priceOf(region, changes);
  if (price.compare(most) > 0) throw new Wrong(`the witness is at ${price}, outside the region of ${most}.`);
}

export function within(model, limits, sample) {
  for (const [f, limit] of limits) {
    if (meets(model.features[f].coding, sample[f], limit)) continue;
    throw new Wrong(`the witness has ${sample[f].value} for feature ${f}, outside its limits.`);
  }
}

// A value of a coding that stands for a state, nearest to a value that was read; null where the state cannot occur.
export function moved(coding, value, state, name) {
  if (coding.kind === "onehot") return { value: coding.categories[state], state };
  const near = coding.valueOf(state, value.near);
  return near === null ? null : readValue(coding, near, name);
}
