// What each state of each feature adds to the match counts of the first layer. They are sums over features, so this says all about it:
// M_u = constant_u + sum over features of gain(feature, state, u) for every unit u, a neuron. Without a hidden layer the bits themselves are
// the neurons; of pooled levels the units are the steps: how many inputs reach each.

import { thresholdOf } from "./expanded.js";
import { topOf } from "./layers.js";

const KNOWN = new WeakMap();

export function effectsOf(model) {
  if (!KNOWN.has(model)) KNOWN.set(model, new Effects(model));
  return KNOWN.get(model);
}

class Effects {
  constructor(model) {
    this.layer = model.layers[0] ?? null;
    this.outputs = this.layer ? this.layer.outputs : model.width; // values that the layers behind read
    this.pooled = this.layer?.kind === "level pool";
    this.heights = this.pooled ? this.layer.height : 1; // units of a value
    this.units = this.outputs * this.heights;
    this.constants = new Float64Array(this.units);
    this.byLevel = model.readsLevels && !this.pooled;
    this.features = model.features;
    // For each feature the units that listen to it, and for each state what it adds to them; for levels, what one level adds.
    this.listeners = [];
    this.tables = [];
    if (this.pooled) this.pool(model);
    else {
      const columns = this.columns(model);
      model.features.forEach((feature, f) => this.add(model, feature, f, columns));
    }
  }

  // For each input the neurons that read it, with their weights.
  columns(model) {
    const { layer } = this;
    const columns = Array.from({ length: layer ? layer.inputs : model.width }, () => []);
    for (let j = 0; j < this.outputs; j++) {
      const { places, weights } = layer ? layer.rows.row(j) : { places: [j], weights: [1] };
      places.forEach((place, i) => {
        columns[place].push([j, weights[i]]);
        if (weights[i] < 0) this.constants[j] -= weights[i] * topOf(layer.rows, place);
      });
    }
    return columns;
  }

  add(model, { coding }, f, columns) {
    const inputs = this.byLevel ? [columns[f]] : columns.slice(model.starts[f], model.starts[f + 1]);
    const places = new Map();
    for (const column of inputs) for (const [j] of column) if (!places.has(j)) places.set(j, places.size);
    this.listeners.push(Int32Array.from(places.keys()));
    if (this.byLevel) {
      this.tables.push([Int32Array.from(columns[f], ([, weight]) => weight)]);
      return;
    }
    const table = Array.from({ length: coding.states }, () => new Int32Array(places.size));
    table.forEach((row, state) => {
      inputs.forEach((column, place) => {
        if (coding.bit(state, place)) for (const [j, weight] of column) row[places.get(j)] += weight;
      });
    });
    this.tables.push(table);
  }

  // Pooled levels: a feature at a state reaches the steps up to it, in every window that it is in.
  pool(model) {
    this.pools = this.constants.map((_, unit) => thresholdOf(this.layer, this.owner(unit), 1).tau);
    const windows = model.features.map(() => []);
    for (let j = 0; j < this.outputs; j++) for (const place of this.layer.rows.row(j).places) windows[place].push(j);
    model.features.forEach(({ coding }, f) => {
      const steps = windows[f].flatMap((j) => Array.from({ length: this.heights }, (_, m) => [j, m + 1]));
      this.listeners.push(Int32Array.from(steps, ([j, step]) => j * this.heights + step - 1));
      this.tables.push(Array.from({ length: coding.states }, (_, state) => Int32Array.from(steps, ([, step]) => (coding.level(state) >= step ? 1 : 0))));
    });
  }

  // The value that a unit belongs to.
  owner(unit) {
    return Math.floor(unit / this.heights);
  }

  // Steps of a unit as {step, tau}.
  *steps(unit) {
    if (!this.layer) yield { step: 1, tau: 1 };
    else if (this.pooled) yield { step: (unit % this.heights) + 1, tau: this.pools[unit] };
    else for (let step = 1; step <= this.layer.height; step++) yield { step, tau: this.layer.threshold(unit, step) };
  }

  // How many of its thresholds a unit reaches.
  reached(unit, count) {
    if (!this.layer) return count >= 1 ? 1 : 0;
    if (this.pooled) return count >= this.pools[unit] ? 1 : 0;
    return this.layer.level(unit, count);
  }

  // How far a unit is from its nearest threshold; for choosing only.
  slack(unit, count) {
    const tau = this.pooled ? this.pools[unit] : this.layer ? this.layer.nearest(unit, count) : 1;
    return tau === null ? Infinity : count - tau;
  }

  // What a state of a feature adds to each of its listeners.
  gains(feature, state) {
    if (!this.byLevel) return this.tables[feature][state];
    const level = this.features[feature].coding.level(state);
    return this.tables[feature][0].map((weight) => weight * level);
  }

  // The match count of every unit.
  counts(states) {
    const out = Float64Array.from(this.constants);
    this.listeners.forEach((units, f) => {
      const row = this.gains(f, states[f]);
      for (let i = 0; i < units.length; i++) out[units[i]] += row[i];
    });
    return out;
  }

  // The values of the first layer at such match counts.
  values(counts) {
    const out = this.layer ? this.layer.room() : new Uint8Array(this.outputs);
    counts.forEach((count, unit) => (out[this.owner(unit)] += this.reached(unit, count)));
    return out;
  }
}
