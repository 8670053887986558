// The least number of features whose change makes another class: all sets of one feature, then of two, and so on, none left out.
// Everything behind the first layer depends on which of its neurons are active, or on which of its levels each reaches, and few of these
// can turn at all, so each different pattern of them is evaluated once.

import { effectsOf } from "./effects.js";
import { search } from "./search.js";
import { SignatureTable } from "./table.js";
import { Voter } from "./votes.js";

const STEP = 1 << 17; // sets between two words of progress
const MOST_SETS = 2e7; // to walk, unless more are asked for
const MOST_GAINS = 2e7; // numbers to keep about all options; beyond, nothing is walked
const MOST_LANES = 5e7; // the same, once they are in lanes

// What makes one of the wanted classes with the fewest changed features, every other state of a feature counting 1.
//   target: the class to reach, or null for any other; locked: features that stay; most: features to change at most;
//   budget: sets to enumerate at most; seconds: time to take; onProgress({k, tried, total}).
export function nearest(model, states, about = {}) {
  const { target = null, locked = [], most = Infinity, budget = MOST_SETS, seconds = 30, onProgress = () => {} } = about;
  const end = performance.now() + 1000 * seconds;
  const voter = new Voter(model);
  const effects = effectsOf(model);
  const counts = effects.counts(states);
  const label = voter.label(effects.values(counts));
  const wanted = model.wantedOf(label, target);
  const facts = { tried: 1, patterns: 1, provedUpTo: 0 };
  if (wanted(label)) return { outcome: "minimum", changes: [], label, ...facts };
  const movable = movableOf(model, states, new Set(locked));
  const last = Math.min(most, movable.length);
  const fits = movable.reduce((sum, { feature, others }) => sum + others.length * effects.listeners[feature].length, 0) <= MOST_GAINS;
  const options = fits ? movable.map((row) => optionsOf(model, states, row)) : [];
  for (let k = 1; k <= last; k++) {
    const sets = setsOf(movable.map(({ others }) => others.length), k);
    if (!fits || facts.tried + sets > budget) return leftOpen(model, states, movable, wanted, { label, most, end }, facts);
    const level = new Level(effects, counts, options, k, voter, wanted, end);
    const found = level.walk((share) => onProgress({ k, tried: facts.tried + Math.floor(share * sets), total: facts.tried + sets }));
    if (level.isLate) return leftOpen(model, states, movable, wanted, { label, most, end }, facts);
    facts.patterns += level.table.size;
    if (found) {
      const changes = found.map(({ feature, state }) => [feature, state]);
      return { outcome: "minimum", changes, label: model.evaluate(changed(states, changes)).label, ...facts };
    }
    facts.tried += sets;
    facts.provedUpTo = k;
  }
  return { outcome: "none", changes: null, label, ...facts, provedUpTo: last };
}

// Not settled by walking: what is proved so far, and a change that does it, if a search finds one. It may be as small as is still possible.
// Where only so many features may change, nothing is searched: a change of that size would have been walked to.
function leftOpen(model, states, movable, wanted, { label, most, end }, facts) {
  if (most < movable.length) return { outcome: "undecided", changes: null, label, ...facts };
  const every = movable.flatMap(({ feature, others }) => others.map((state) => [feature, state]));
  const changes = search(model, states, every, wanted, { end });
  const reached = changes && model.evaluate(changed(states, changes)).label;
  const outcome = changes?.length === facts.provedUpTo + 1 ? "minimum" : "undecided";
  return { outcome, changes, label: reached ?? label, ...facts };
}

// Whether none of the sets of up to k features makes a wanted class.
export function isNoneUpTo(model, states, k, locked, wanted) {
  const effects = effectsOf(model);
  const counts = effects.counts(states);
  const movable = movableOf(model, states, new Set(locked));
  const options = movable.map((row) => optionsOf(model, states, row));
  let sets = 1;
  for (let size = 1; size <= Math.min(k, movable.length); size++) {
    sets += setsOf(movable.map(({ others }) => others.length), size);
    if (sets > MOST_SETS) throw new Error(`these are more than ${MOST_SETS.toLocaleString("en")} sets of changes.`);
    const level = new Level(effects, counts, options, size, new Voter(model), wanted, Infinity);
    if (level.walk(() => {})) return false;
    if (level.isLate) throw new Error("these are too many changes for a browser.");
  }
  return true;
}

// How many inputs of each class there are with up to `most` features changed, every state of a feature counting as one value; null counts
// where these are more than `budget`, or take longer than `seconds`. Inputs that break a law do not count.
export function countUpTo(model, states, { most = Infinity, locked = [], budget = MOST_SETS, seconds = 30, onProgress = () => {} } = {}) {
  const end = performance.now() + 1000 * seconds;
  const effects = effectsOf(model);
  const before = effects.counts(states);
  const movable = movableOf(model, states, new Set(locked));
  const sizes = movable.map(({ others }) => others.length);
  const last = Math.min(most, movable.length);
  const all = Array.from({ length: last + 1 }, (_, k) => setsOf(sizes, k)).reduce((sum, sets) => sum + sets, 0);
  const gains = movable.reduce((sum, { feature, others }) => sum + others.length * effects.listeners[feature].length, 0);
  if (all > budget || gains > MOST_GAINS) return { counts: null, all };
  const options = movable.map((row) => optionsOf(model, states, row));
  const { label } = model.evaluate(states);
  model.wantedOf(label, null);
  const counts = model.classes.map((_, k) => Number(k === label));
  let done = 1;
  for (let k = 1; k <= last; k++) {
    const sets = setsOf(sizes, k);
    const level = new Count(effects, before, options, k, new Voter(model), null, end);
    level.walk((share) => onProgress({ k, tried: done + Math.floor(share * sets), total: all }));
    if (level.isLate) return { counts: null, all };
    if (level.tally) level.tally.forEach((count, other) => (counts[other] += count));
    else counts[label] += sets; // nothing can turn
    done += sets;
  }
  const broken = model.brokenClass < 0 ? 0 : counts.pop();
  return { counts, all: all - broken };
}

export function changed(states, changes) {
  const after = Int32Array.from(states);
  for (const [feature, state] of changes) after[feature] = state;
  return after;
}

// The features that may change, each with the other states that it can take.
function movableOf(model, states, locked) {
  return model.features
    .filter(({ number }) => !locked.has(number))
    .map(({ number: feature }) => ({ feature, others: model.possibleStates(feature).filter((state) => state !== states[feature]) }))
    .filter(({ others }) => others.length);
}

// What each other state of a feature adds to the first layer.
function optionsOf(model, states, { feature, others }) {
  const effects = effectsOf(model);
  const from = effects.gains(feature, states[feature]);
  const neurons = effects.listeners[feature];
  return others.map((state) => ({ feature, state, neurons, gain: effects.gains(feature, state).map((value, i) => value - from[i]) }));
}

// How many sets of k features there are, with a choice of state for each: the elementary symmetric polynomial of the choices.
function setsOf(sizes, k) {
  const sums = new Float64Array(k + 1);
  sums[0] = 1;
  for (const size of sizes) for (let i = k; i >= 1; i--) sums[i] += sums[i - 1] * size;
  return sums[k];
}

// All sets of exactly k features. Margins of neurons, or of their steps, that k features can turn are lanes of 32-bit words, four bytes to a word where they
// are small: one addition moves four neurons, and the top bit of a lane says whether its neuron is active.
class Level {
  constructor(effects, counts, options, k, voter, wanted, end) {
    Object.assign(this, { k, voter, wanted, end });
    this.fragile = fragile(effects, counts, options, k);
    const largest = this.fragile.reduce((most, { margin, reach }) => Math.max(most, Math.abs(margin) + reach), 0);
    this.lanes = largest < 128 ? 4 : 1;
    this.bits = 32 / this.lanes;
    this.words = Math.ceil(this.fragile.length / this.lanes);
    this.isLate = this.words * options.reduce((sum, row) => sum + row.length, 0) > MOST_LANES;
    if (this.isLate) return;
    this.start = new Int32Array(this.words);
    this.fragile.forEach(({ margin }, i) => this.put(this.start, 0, i, margin + 2 ** (this.bits - 1)));
    this.choose(options);
    this.values = effects.values(counts);
    this.base = this.values.slice(); // without what is fragile
    for (const { value, margin } of this.fragile) if (margin >= 0) this.base[value]--;
    this.places = this.fragile.map(({ value }, i) => this.placeOf(value, i));
    this.table = new SignatureTable(Math.max(1, Math.ceil(this.words / this.bits)));
  }

  // Adds to a lane; a negative number borrows from the lane above, which the sum of all of them pays back.
  put(words, at, i, value) {
    words[at + Math.floor(i / this.lanes)] += value * 2 ** (this.bits * (i % this.lanes));
  }

  // Where the activity of a neuron, or of a step, stands in a pattern.
  placeOf(value, i) {
    const word = Math.floor(i / this.lanes);
    return { value, word: Math.floor(word / this.bits), bit: this.bits * (i % this.lanes) + (word % this.bits) };
  }

  // Options in lanes. One that moves no fragile neuron makes nothing new of a smaller set, and of two that move them alike one is enough;
  // whoever counts keeps the former, and how many of the latter there are.
  choose(options, keepsIdle = false) {
    const lanes = new Map();
    this.fragile.forEach(({ unit }, i) => lanes.set(unit, [...(lanes.get(unit) ?? []), i]));
    this.options = [];
    this.weights = []; // how many options each stands for
    this.behind = []; // for each option the first option of the next feature
    this.sizes = []; // how many options of each feature are walked
    const rows = [];
    for (const choices of options) {
      const seen = new Map();
      for (const option of choices) {
        const row = new Int32Array(this.words);
        option.neurons.forEach((unit, i) => lanes.get(unit)?.forEach((lane) => this.put(row, 0, lane, option.gain[i])));
        const look = row.join();
        if (seen.has(look)) this.weights[seen.get(look)]++;
        else if (keepsIdle || row.some((word) => word !== 0)) {
          seen.set(look, rows.length);
          this.options.push(option);
          this.weights.push(1);
          rows.push(row);
        }
      }
      this.sizes.push(seen.size);
      while (this.behind.length < this.options.length) this.behind.push(this.options.length);
    }
    this.gains = new Int32Array(rows.length * this.words);
    rows.forEach((row, i) => this.gains.set(row, i * this.words));
  }

  // The first set that makes a wanted class, or null.
  walk(onShare) {
    if (!this.words || this.isLate) return null;
    this.sums = new Int32Array(this.k * this.words);
    this.sums.set(this.start);
    this.chosen = new Int32Array(this.k).fill(-1);
    this.key = new Uint32Array(this.table.span);
    this.seen = 0;
    this.onShare = onShare;
    this.total = setsOf(this.sizes, this.k);
    return this.descend(0, 0) ? Array.from(this.chosen, (i) => this.options[i]) : null;
  }

  descend(depth, from) {
    if (depth === this.k - 1) return this.leaves(from);
    const { words, sums, gains } = this;
    for (let i = from; i < this.options.length && !this.isLate; i++) {
      const [at, next, gain] = [depth * words, (depth + 1) * words, i * words];
      for (let w = 0; w < words; w++) sums[next + w] = sums[at + w] + gains[gain + w];
      this.chosen[depth] = i;
      if (this.descend(depth + 1, this.behind[i])) return true;
    }
    return false;
  }

  // The last feature of the set: its pattern is read from the lanes and looked up.
  leaves(from) {
    const { words, sums, gains, key, bits } = this;
    const at = (this.k - 1) * words;
    const top = bits - 1;
    const mask = bits === 8 ? 0x80808080 : 0x80000000;
    const shift = bits === 8 ? 3 : 5;
    for (let i = from; i < this.options.length; i++) {
      key.fill(0);
      for (let w = 0, gain = i * words; w < words; w++, gain++) {
        key[w >> shift] |= ((sums[at + w] + gains[gain]) & mask) >>> (top - (w & top));
      }
      if (this.evaluated(i)) {
        this.chosen[this.k - 1] = i;
        return true;
      }
    }
    const before = this.seen;
    this.seen += Math.max(0, this.options.length - from);
    if (Math.floor(before / STEP) !== Math.floor(this.seen / STEP)) {
      this.onShare(this.seen / this.total);
      if (performance.now() > this.end) this.isLate = true;
    }
    return false;
  }

  // Whether the pattern of the last option is new and bad. Time is looked at now and then.
  evaluated() {
    if (!this.table.add(this.key)) return false;
    if ((this.table.size & 255) === 0 && performance.now() > this.end) this.isLate = true;
    return this.wanted(this.label());
  }

  // The class of a pattern, by the layers behind the first.
  label() {
    const { key, values, base, places } = this;
    for (let i = 0; i < places.length; i++) values[places[i].value] = base[places[i].value];
    for (let i = 0; i < places.length; i++) values[places[i].value] += (key[places[i].word] >>> places[i].bit) & 1;
    return this.voter.label(values);
  }
}

// The same walk, but of options that move alike each counts: they are walked once, with their number.
class Count extends Level {
  choose(options) {
    super.choose(options, true);
    this.labels = new Map();
  }

  leaves(from) {
    this.tally ??= new Float64Array(this.voter.head.outputs);
    this.prefix = 1;
    for (let depth = 0; depth < this.k - 1; depth++) this.prefix *= this.weights[this.chosen[depth]];
    return super.leaves(from);
  }

  evaluated(i) {
    const name = this.key.length === 1 ? this.key[0] : this.key.join();
    let label = this.labels.get(name);
    if (label === undefined) this.labels.set(name, (label = this.label()));
    this.tally[label] += this.prefix * this.weights[i];
    return false;
  }
}

// Neurons, or steps of them, that some k features can turn: the largest gains of k features towards their threshold reach it.
function fragile(effects, counts, options, k) {
  const up = Array.from(counts, () => []);
  const down = Array.from(counts, () => []);
  for (const row of options) {
    const [most, least] = [new Int32Array(row[0].gain), new Int32Array(row[0].gain)];
    for (const { gain } of row) {
      for (let i = 0; i < gain.length; i++) {
        if (gain[i] > most[i]) most[i] = gain[i];
        if (gain[i] < least[i]) least[i] = gain[i];
      }
    }
    row[0].neurons.forEach((neuron, i) => {
      if (most[i] > 0) up[neuron].push(most[i]);
      if (least[i] < 0) down[neuron].push(-least[i]);
    });
  }
  const largest = (steps) => steps.sort((a, b) => b - a).slice(0, k).reduce((sum, step) => sum + step, 0);
  const found = [];
  counts.forEach((count, unit) => {
    const [rise, fall] = [largest(up[unit]), largest(down[unit])];
    if (!rise && !fall) return;
    for (const { step, tau } of effects.steps(unit)) {
      const margin = count - tau;
      if (margin >= 0 ? margin < fall : margin + rise >= 0) {
        found.push({ unit, value: effects.owner(unit), step, margin, reach: Math.max(rise, fall) });
      }
    }
  });
  return found;
}
