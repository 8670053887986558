// For the checker: bounds on every layer, worked out again in plain whole numbers.

import { fields, Wrong } from "./check_form.js";
import { looseNeurons, mostFeatures } from "./check_walk.js";

// See that bounds alone exclude every violation.
export function checkBounds(proof, model, problem, time) {
  fields(proof, ["kind"], "the proof");
  let state = problem.base.map((margin) => margin >= 0);
  const can = new Set(looseNeurons(problem));
  let loose = state.map((_, j) => can.has(j));
  let limit = mostTurned(problem, loose);
  for (const layer of model.layers.slice(1)) {
    time.look();
    const rows = Array.from(layer.tau, (_, j) => denseRow(layer.rows, j));
    const next = rows.map((row, j) => judged(row, layer.tau[j], state, loose, limit));
    state = next.map(({ active }) => active);
    loose = next.map(({ open }) => open);
    limit = loose.filter(Boolean).length;
  }
  const head = model.classes.map((_, k) => denseRow(model.head.rows, k));
  for (const parts of casesOf(model, problem.goal)) {
    const sums = parts.map((part) => overInputs(part, head));
    if (!contradict(sums) && !sums.some((sum) => isImpossible(sum, state, loose, limit))) {
      throw new Wrong("bounds do not exclude a violation, against what the certificate claims.");
    }
  }
  return "bounds through all layers exclude every violation";
}

function denseRow(rows, j) {
  const row = new Array(rows.inputs).fill(0);
  const { places, weights } = rows.row(j);
  places.forEach((place, i) => (row[place] = weights[i]));
  return row;
}

// Whether a neuron is active at the sample, and whether at most `limit` loose inputs can turn it.
function judged(row, tau, state, loose, limit) {
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
    return Math.max(0, ...features.flat().map(({ gain }) => watched.filter((j) => brings(gain, j) >= need(j)).length));
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

// slope_a M_a - slope_b M_b >= least, in the exact whole numbers by which scores compare, without a common factor.
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
