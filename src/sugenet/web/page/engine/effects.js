// What each state of each feature adds to the match counts of the first layer. They are sums over features, so this says all about it:
// M_j = constant_j + sum over features of gain(feature, state, j). Without a hidden layer, the bits themselves are the neurons.

const KNOWN = new WeakMap();

export function effectsOf(model) {
  if (!KNOWN.has(model)) KNOWN.set(model, new Effects(model));
  return KNOWN.get(model);
}

class Effects {
  constructor(model) {
    const layer = model.layers[0];
    this.outputs = layer ? layer.outputs : model.width;
    this.tau = layer ? layer.tau : new Float64Array(model.width).fill(1);
    this.constants = new Float64Array(this.outputs);
    this.later = model.layers.slice(1);
    const columns = this.columns(model, layer);
    this.levels = model.readsLevels;
    // For each feature the neurons that listen to it, and for each state what it adds to them; for levels, what one level adds.
    this.listeners = [];
    this.tables = [];
    model.features.forEach((feature, f) => this.add(model, feature, f, columns));
  }

  // For each input the neurons that read it, with their weights.
  columns(model, layer) {
    const columns = Array.from({ length: layer ? layer.inputs : model.width }, () => []);
    for (let j = 0; j < this.outputs; j++) {
      const { places, weights } = layer ? layer.rows.row(j) : { places: [j], weights: [1] };
      places.forEach((place, i) => {
        columns[place].push([j, weights[i]]);
        if (weights[i] < 0) this.constants[j] -= weights[i] * (model.readsLevels ? model.features[place].coding.width : 1);
      });
    }
    return columns;
  }

  add(model, { coding }, f, columns) {
    const inputs = this.levels ? [columns[f]] : columns.slice(model.starts[f], model.starts[f + 1]);
    const places = new Map();
    for (const column of inputs) for (const [j] of column) if (!places.has(j)) places.set(j, places.size);
    this.listeners.push(Int32Array.from(places.keys()));
    if (this.levels) {
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

  // What a state of a feature adds to each of its listeners.
  gains(feature, state) {
    return this.levels ? this.tables[feature][0].map((weight) => weight * state) : this.tables[feature][state];
  }

  // M - tau of every neuron.
  margins(states) {
    const out = Float64Array.from(this.constants, (constant, j) => constant - this.tau[j]);
    this.listeners.forEach((neurons, f) => {
      const row = this.gains(f, states[f]);
      for (let i = 0; i < neurons.length; i++) out[neurons[i]] += row[i];
    });
    return out;
  }
}
