// Looking for an input of another class among the free features: one change after the other, each the best at hand, with restarts.
// It proves nothing; what it finds is a fact.

import { ranksOf } from "./bounds.js";
import { effectsOf } from "./effects.js";
import { Voter } from "./votes.js";

const FEW = 6; // states of a feature to try

// Small reproducible random numbers in 0..1 (mulberry32).
function randomNumbers(seed) {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

// every: [feature, state] pairs that may be taken. wanted(label): whether a class is what is looked for.
// The changes found, as [feature, state] pairs of which none can be taken back; null where nothing was found.
export function search(model, states, every, wanted, { tries = 6, seed = 1, end = Infinity } = {}) {
  const options = thinned(every);
  const random = randomNumbers(seed);
  const look = new Look(model, wanted);
  if (!look.goals.length) return null;
  for (let attempt = 0; attempt < tries; attempt++) {
    const now = Int32Array.from(states);
    if (attempt) for (const [f, s] of options) if (random() < 0.3 * random()) now[f] = s;
    const found = climb(look, now, options, end);
    if (found) return takenBack(look, found, states);
    if (performance.now() > end) return null;
  }
  return null;
}

// The changes towards another input of a wanted class that are needed: what differs is taken back as far as the class stays wanted. Null
// where what is locked keeps the class from it.
export function towards(model, states, { goal, target, locked = [] }) {
  const look = new Look(model, (k) => k === target);
  const now = Int32Array.from(goal);
  const isFixed = new Set(locked);
  for (const f of now.keys()) if (isFixed.has(f) || !model.features[f].coding.possible(now[f])) now[f] = states[f];
  look.stand(now);
  return look.isWanted() ? takenBack(look, now, states) : null;
}

// A few states of each feature, the first and the last among them: a pixel with 255 others need not try them all.
function thinned(options) {
  const rows = new Map();
  for (const option of options) rows.set(option[0], [...(rows.get(option[0]) ?? []), option]);
  const few = (row) => Array.from({ length: FEW }, (_, i) => row[Math.round((i * (row.length - 1)) / (FEW - 1))]);
  return [...rows.values()].flatMap((row) => (row.length > FEW ? few(row) : row));
}

// Every feature is changed at most once on the way, so it ends; a worse step is taken where there is no better one.
function climb(look, now, options, end) {
  const done = new Set();
  for (let left = new Set(options.map(([f]) => f)).size; left >= 0; left--) {
    look.stand(now);
    if (look.isWanted()) return now;
    let best = null;
    let most = -Infinity;
    for (const [i, [f, s]] of options.entries()) {
      if (done.has(f) || now[f] === s) continue;
      if ((i & 63) === 63 && performance.now() > end) return null;
      const worth = look.worth(f, now[f], s);
      if (worth > most) {
        most = worth;
        best = [f, s];
      }
    }
    if (!best) return null;
    now[best[0]] = best[1];
    done.add(best[0]);
  }
  return null;
}

// First many at once, then fewer, then each alone.
function takenBack(look, found, states) {
  const differing = () => Array.from(found.keys()).filter((f) => found[f] !== states[f]);
  for (const size of [64, 16, 4, 1]) {
    const left = differing();
    for (let at = 0; at < left.length; at += size) {
      const some = left.slice(at, at + size);
      const kept = some.map((f) => found[f]);
      for (const f of some) found[f] = states[f];
      look.stand(found);
      if (!look.isWanted()) some.forEach((f, i) => { found[f] = kept[i]; });
    }
  }
  return differing().map((f) => [f, found[f]]);
}

class Look {
  constructor(model, wanted) {
    this.model = model;
    this.wanted = wanted;
    this.effects = effectsOf(model);
    this.voter = new Voter(model);
    this.goals = model.classes.map((_, k) => k).filter(wanted);
    this.others = model.classes.map((_, k) => k).filter((k) => !wanted(k));
    this.ranks = ranksOf(model);
  }

  stand(states) {
    this.counts = this.effects.counts(states);
    this.values = this.effects.values(this.counts);
    this.active = this.values.slice(); // to try changes in
    this.lean = this.leaning();
  }

  isWanted() {
    return this.wanted(this.voter.label(this.active));
  }

  // With one hidden layer: which way each neuron should go, so that steps that turn nothing yet are told apart.
  leaning() {
    if (this.model.layers.length !== 1) return null;
    const [goal, other] = this.leaders();
    const { factors } = this.ranks;
    return Float64Array.from(factors[goal], (factor, j) => Number(factor - factors[other][j]));
  }

  leaders() {
    const votes = this.voter.of(this.active);
    const best = (classes) => classes.reduce((a, b) => (this.model.head.rank(votes, b) > this.model.head.rank(votes, a) ? b : a));
    return [best(this.goals), best(this.others)];
  }

  // How far the best wanted class is ahead after one change; floats are good enough to choose by.
  worth(f, before, after) {
    const { effects } = this;
    const [neurons, from, to] = [effects.listeners[f], effects.gains(f, before), effects.gains(f, after)];
    let nearer = 0;
    for (let i = 0; i < neurons.length; i++) {
      const unit = neurons[i];
      if (to[i] === from[i]) continue;
      const [value, count] = [effects.owner(unit), this.counts[unit] + to[i] - from[i]];
      this.active[value] += effects.reached(unit, count) - effects.reached(unit, this.counts[unit]);
      if (this.lean) nearer += (this.lean[value] * (to[i] - from[i])) / (1 + Math.abs(effects.slack(unit, count)));
    }
    const [goal, other] = this.leaders();
    const { head } = this.model;
    const ahead = Number(head.rank(this.voter.votes, goal) - head.rank(this.voter.votes, other));
    this.active.set(this.values);
    return ahead + 0.01 * nearer;
  }
}
