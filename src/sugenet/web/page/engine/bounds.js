// Polarized bounds: features may take some of their states, and every neuron gets a least and a largest match count that hold whatever is
// chosen. An undecided input counts as neither literal for the least and as both for the largest, so no activity is missed.

import { effectsOf } from "./effects.js";
import { popcount, topOf } from "./layers.js";

// allowed[f] lists the states that feature f may take. For each layer: match counts (lo, hi), values (least, most), and state: +1 where the
// value is the same and above 0 whatever is chosen, -1 where it is 0, 0 undecided.
export function bounds(model, allowed) {
  const layers = [first(model, allowed)];
  for (const layer of model.layers.slice(1)) layers.push(after(layer, layers.at(-1)));
  const inputs = layers.at(-1);
  const { lo, hi } = range(model.head.rows, inputs);
  return { layers: model.layers.length ? layers : [], head: { lo, hi }, classes: possibleClasses(model, inputs) };
}

// The first layer is bounded exactly: the best and the worst state of each feature, feature by feature.
function first(model, allowed) {
  const effects = effectsOf(model);
  const { constants, listeners } = effects;
  const low = Float64Array.from(constants);
  const high = Float64Array.from(constants);
  listeners.forEach((neurons, f) => {
    // Along steps with one weight a neuron is furthest at an end, so levels need two looks, not all of them.
    const states = effects.byLevel ? ends(allowed[f]) : allowed[f];
    const rows = Array.from(states, (state) => effects.gains(f, state));
    for (let i = 0; i < neurons.length; i++) {
      let least = rows[0][i];
      let most = least;
      for (let r = 1; r < rows.length; r++) {
        if (rows[r][i] < least) least = rows[r][i];
        else if (rows[r][i] > most) most = rows[r][i];
      }
      low[neurons[i]] += least;
      high[neurons[i]] += most;
    }
  });
  const [least, most] = [effects.values(low), effects.values(high)];
  // Pooling counts nothing: its levels stand for match counts.
  const [lo, hi] = effects.pooled ? [least, most] : [low, high];
  return decided(Int32Array.from(lo), Int32Array.from(hi), least, most);
}

function ends(states) {
  return [Math.min(...states), Math.max(...states)];
}

function after(layer, inputs) {
  const { lo, hi } = range(layer.rows, inputs);
  return decided(lo, hi, layer.activity(lo), layer.activity(hi));
}

function decided(lo, hi, least, most) {
  return { lo, hi, least, most, state: Int8Array.from(least, (low, j) => (low !== most[j] ? 0 : low > 0 ? 1 : -1)) };
}

// Least and largest match counts over inputs between a least and a largest value.
function range(rows, { least, most, state }) {
  const lo = new Int32Array(rows.outputs);
  const hi = new Int32Array(rows.outputs);
  if (rows.signs) packedRange(rows, state, lo, hi);
  else if (rows.isEvery) {
    rows.counts(least, null, lo);
    rows.counts(most, null, hi);
  } else {
    for (let j = 0; j < rows.outputs; j++) {
      const { places, weights } = rows.row(j);
      for (let i = 0; i < places.length; i++) {
        const [place, weight] = [places[i], weights[i]];
        const top = topOf(rows, place);
        lo[j] += weight > 0 ? weight * least[place] : -weight * (top - most[place]);
        hi[j] += weight > 0 ? weight * most[place] : -weight * (top - least[place]);
      }
    }
  }
  return { lo, hi };
}

function packedRange({ signs, mask, span, sizes, outputs }, inputs, lo, hi) {
  const on = new Uint32Array(span);
  const off = new Uint32Array(span);
  for (let i = 0; i < inputs.length; i++) {
    if (inputs[i] > 0) on[i >>> 5] |= 1 << (i & 31);
    else if (inputs[i] < 0) off[i >>> 5] |= 1 << (i & 31);
  }
  for (let j = 0, at = 0; j < outputs; j++) {
    let held = 0;
    let failed = 0;
    for (let w = 0; w < span; w++, at++) {
      held += popcount(((on[w] & signs[at]) | (off[w] & ~signs[at])) & mask[at]);
      failed += popcount(((on[w] & ~signs[at]) | (off[w] & signs[at])) & mask[at]);
    }
    lo[j] = held;
    hi[j] = sizes[j] - failed;
  }
}

// -- classes ------------------------------------------------------------------------------------------------------------------------

const RANKS = new WeakMap();

// Ranks as sums over the head's inputs: rank_k = constant_k + sum of factors[k][i] times input i. Exact numbers, or BigInts.
export function ranksOf(model) {
  if (!RANKS.has(model)) {
    const { head } = model;
    const factors = head.slopes.map((slope, k) => {
      const row = Array.from({ length: head.inputs }, () => head.number(0));
      const { places, weights } = head.rows.row(k);
      places.forEach((place, i) => (row[place] = slope * head.number(weights[i])));
      return row;
    });
    const constants = head.slopes.map((slope, k) => {
      const { places, weights } = head.rows.row(k);
      const missing = weights.reduce((sum, weight, i) => sum + Math.max(0, -weight) * topOf(head.rows, places[i]), 0);
      return slope * head.number(missing) + head.offsets[k];
    });
    RANKS.set(model, { factors, constants });
  }
  return RANKS.get(model);
}

// Class a remains possible unless some class b beats it for certain, seen on the difference of their rows: what counts for both cancels.
function possibleClasses(model, { least, most: largest }) {
  const { factors, constants } = ranksOf(model);
  const { number } = model.head;
  const zero = number(0);
  const canReach = (a, b) => {
    let most = constants[a] - constants[b];
    const [up, down] = [factors[a], factors[b]];
    for (let i = 0; i < least.length; i++) {
      const difference = up[i] - down[i];
      most += difference * number(difference > zero ? largest[i] : least[i]);
    }
    return a < b ? most >= zero : most > zero;
  };
  const classes = model.classes.map((_, k) => k);
  return classes.filter((a) => classes.every((b) => a === b || canReach(a, b)));
}
