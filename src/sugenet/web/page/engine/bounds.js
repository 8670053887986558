// Polarized bounds: features may take some of their states, and every neuron gets a least and a largest match count that hold whatever is
// chosen. An undecided input counts as neither literal for the least and as both for the largest, so no activity is missed.

import { effectsOf } from "./effects.js";
import { popcount } from "./layers.js";

// allowed[f] lists the states that feature f may take.
export function bounds(model, allowed) {
  const layers = [first(model, allowed)];
  for (const layer of model.layers.slice(1)) layers.push(after(layer, layers.at(-1).state));
  const inputs = layers.at(-1).state;
  const { lo, hi } = range(model.head.rows, inputs);
  return { layers: model.layers.length ? layers : [], head: { lo, hi }, classes: possibleClasses(model, inputs) };
}

// The first layer is bounded exactly: the best and the worst state of each feature, feature by feature.
function first(model, allowed) {
  const effects = effectsOf(model);
  const { constants, listeners, tau, outputs } = effects;
  const low = Float64Array.from(constants);
  const high = Float64Array.from(constants);
  listeners.forEach((neurons, f) => {
    // Along steps with one weight a neuron is furthest at an end, so levels need two looks, not all of them.
    const states = model.readsLevels ? ends(allowed[f]) : allowed[f];
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
  return judged(Int32Array.from(low), Int32Array.from(high), tau, outputs);
}

function ends(states) {
  return [Math.min(...states), Math.max(...states)];
}

function after(layer, inputs) {
  const { lo, hi } = range(layer.rows, inputs);
  return judged(lo, hi, layer.tau, layer.outputs);
}

// +1: active whatever is chosen, -1: never, 0: undecided.
function judged(lo, hi, tau, outputs) {
  const state = new Int8Array(outputs);
  for (let j = 0; j < outputs; j++) state[j] = lo[j] >= tau[j] ? 1 : hi[j] < tau[j] ? -1 : 0;
  return { lo, hi, state };
}

// Least and largest match counts over inputs that are on (+1), off (-1) or undecided (0).
function range(rows, inputs) {
  const lo = new Int32Array(rows.outputs);
  const hi = new Int32Array(rows.outputs);
  if (rows.signs) packedRange(rows, inputs, lo, hi);
  else {
    for (let j = 0; j < rows.outputs; j++) {
      const { places, weights } = rows.row(j);
      for (let i = 0; i < places.length; i++) {
        const size = Math.abs(weights[i]);
        const held = inputs[places[i]] * Math.sign(weights[i]);
        if (held > 0) lo[j] += size;
        if (held >= 0) hi[j] += size;
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

// Ranks as sums over the head's inputs: rank_k = constant_k + sum of factors[k][i] where input i is on. Exact numbers, or BigInts.
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
      const missing = head.rows.row(k).weights.reduce((sum, weight) => sum + Math.max(0, -weight), 0);
      return slope * head.number(missing) + head.offsets[k];
    });
    RANKS.set(model, { factors, constants });
  }
  return RANKS.get(model);
}

// Class a remains possible unless some class b beats it for certain, seen on the difference of their rows: what counts for both cancels.
function possibleClasses(model, inputs) {
  const { factors, constants } = ranksOf(model);
  const zero = model.head.number(0);
  const canReach = (a, b) => {
    let most = constants[a] - constants[b];
    const [up, down] = [factors[a], factors[b]];
    for (let i = 0; i < inputs.length; i++) {
      const difference = up[i] - down[i];
      if (inputs[i] > 0 || (inputs[i] === 0 && difference > zero)) most += difference;
    }
    return a < b ? most >= zero : most > zero;
  };
  const classes = model.classes.map((_, k) => k);
  return classes.filter((a) => classes.every((b) => a === b || canReach(a, b)));
}
