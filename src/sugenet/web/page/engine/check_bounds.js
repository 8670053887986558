// For the checker: bounds on every layer, recomputed in plain integers.

import { Beyond, Wrong } from "./check_form.js";
import { looseNeurons, mostFeatures } from "./check_walk.js";
import { bitsGiven, thresholdOf } from "./expanded.js";

const MOST_WEIGHTS = 50_000_000; // between two layers of steps

// See that bounds alone exclude every violation.
export function checkBounds(model, problem, time) {
  let state = problem.base.map((margin) => margin >= 0);
  const can = new Set(looseNeurons(problem));
  let loose = state.map((_, j) => can.has(j));
  let limit = mostTurned(problem, loose);
  for (let l = 1; l < model.layers.length; l++) {
    const next = Array.from(cutRows(model, l), ({ row, tau }) => {
      time.look();
      return decided(row, tau, state, loose, limit);
    });
    state = next.map(({ active }) => active);
    loose = next.map(({ open }) => open);
    limit = loose.filter(Boolean).length;
  }
  const read = readBy(model, model.layers.length);
  const head = model.classes.map((_, k) => denseRow(model.head.rows.row(k), read));
  for (const parts of casesOf(model, problem.goal)) {
    const sums = parts.map((part) => overInputs(part, head));
    if (!contradict(sums) && !sums.some((sum) => isImpossible(sum, state, loose, limit))) {
      throw new Wrong("bounds do not exclude a violation, although the certificate claims so.");
    }
  }
  return "bounds through all layers exclude every violation";
}

// The bits that a layer reads: those that the one before gives, or the bits of the features.
function readBy(model, l) {
  if (l > 0) return bitsGiven(model, l - 1);
  return { values: Int32Array.from({ length: model.width }, (_, i) => i), steps: new Int32Array(model.width).fill(1) };
}

// The neurons of a layer over these bits, cut into their steps: weights and tau.
function* cutRows(model, l) {
  const layer = model.layers[l];
  const read = readBy(model, l);
  const { values, steps } = bitsGiven(model, l);
  if (values.length * read.values.length > MOST_WEIGHTS) throw new Beyond(`layer ${l + 1} has too many steps for a browser.`);
  for (let at = 0; at < values.length; at++) {
    const found = thresholdOf(layer, values[at], steps[at]);
    yield { row: denseRow(found, read, found.step), tau: found.tau };
  }
}

// Weights over bits. With a step, only bits of that level are read: pooling asks which of its values reach it.
function denseRow({ places, weights }, read, step = 0) {
  const byPlace = new Map(places.map((place, i) => [place, weights[i]]));
  return Array.from(read.values, (value, at) => (step && read.steps[at] !== step ? 0 : (byPlace.get(value) ?? 0)));
}

// Whether a neuron is active at the sample, and whether at most `limit` loose inputs can turn it.
function decided(row, tau, state, loose, limit) {
  const count = row.reduce((sum, weight, i) => sum + (weight > 0 === state[i] ? Math.abs(weight) : 0), 0);
  const turning = row.flatMap((weight, i) => (loose[i] ? [state[i] ? -weight : weight] : []));
  const most = (steps) => steps.filter((step) => step > 0).sort((a, b) => b - a).slice(0, limit).reduce((sum, step) => sum + step, 0);
  const [fall, rise] = [most(turning.map((step) => -step)), most(turning)];
  return { active: count >= tau, open: count - fall >= tau !== count + rise >= tau };
}

// How many loose neurons of the first layer can turn together: each needs its distance, and the features bring only so much in all.
function mostTurned({ base, features, budget }, loose) {
  const watched = base.flatMap((_, j) => (loose[j] ? [j] : []));
  if (budget === null || !watched.length) return watched.length;
  const need = (j) => (base[j] >= 0 ? base[j] + 1 : -base[j]);
  const brings = (gain, j) => (base[j] >= 0 ? -gain[j] : gain[j]);
  const together = mostFeatures(features, budget);
  if (together <= 1) {
    return features.flat().reduce((most, { gain }) => Math.max(most, watched.filter((j) => brings(gain, j) >= need(j)).length), 0);
  }
  const brought = features.map((row) => Math.max(...row.map(({ gain }) => watched.reduce((sum, j) => sum + Math.max(0, brings(gain, j)), 0))));
  const total = brought.sort((a, b) => b - a).slice(0, together).reduce((sum, value) => sum + value, 0);
  let used = 0;
  let turned = 0;
  for (const distance of watched.map(need).sort((a, b) => a - b)) {
    used += distance;
    if (used <= total) turned++;
  }
  return Math.min(watched.length, turned);
}

// -- inequalities over the classes ---------------------------------------------------------------------------------------------------

// Violations: all parts of some case. A part {over, under, strictly} says that one class scores more than another, or at least as much.
function casesOf(model, { label, target, ties }) {
  const others = (k) => model.classes.map((_, j) => j).filter((j) => j !== k);
  if (target === null) return others(label).map((j) => [rankPart(model, j, label, ties === "lowest" && j > label)]);
  return [others(target).map((j) => rankPart(model, target, j, ties === "lowest" && j < target))];
}

// slope_a M_a - slope_b M_b >= least, in the exact integers by which scores compare, without a common factor.
function rankPart({ head }, a, b, strictly) {
  const [up, down] = [BigInt(head.slopes[a]), BigInt(head.slopes[b])];
  const least = BigInt(head.offsets[b]) - BigInt(head.offsets[a]) + (strictly ? 1n : 0n);
  const common = gcd(up, down);
  if (common === 0n) return { a, b, up, down, least: least > 0n ? 1n : 0n };
  return { a, b, up: up / common, down: down / common, least: ceilDivided(least, common) };
}

function gcd(a, b) {
  while (b) [a, b] = [b, a % b];
  return a < 0n ? -a : a;
}

function ceilDivided(value, by) {
  const whole = value / by; // towards 0
  return value > 0n && whole * by !== value ? whole + 1n : whole;
}

// The same over the inputs of the head: sum of factors[i] where input i is on >= least.
function overInputs({ a, b, up, down, least }, head) {
  const factors = head[a].map((weight, i) => up * BigInt(weight) - down * BigInt(head[b][i]));
  const missing = (row) => BigInt(row.reduce((sum, weight) => sum + Math.min(0, weight), 0));
  return { factors, least: least + up * missing(head[a]) - down * missing(head[b]) };
}

function isImpossible({ factors, least }, state, loose, limit) {
  const here = factors.reduce((sum, factor, i) => sum + (state[i] ? factor : 0n), 0n);
  const gains = factors.flatMap((factor, i) => (loose[i] ? [state[i] ? -factor : factor] : [])).filter((gain) => gain > 0n);
  const most = gains.sort((a, b) => (a < b ? 1 : a > b ? -1 : 0)).slice(0, limit);
  return most.reduce((sum, gain) => sum + gain, here) < least;
}

// Whether two parts of a case say s >= a and -s >= b of the same sum s, with a + b above 0.
function contradict(sums) {
  return sums.some((p, i) => sums.slice(i + 1).some((q) => p.factors.every((factor, k) => factor === -q.factors[k]) && p.least + q.least > 0n));
}
