// The network in the browser: raw values to states, states to bits, bits through packed layers to votes and a class. Same bits as Python.
// Layers and neurons are numbered from 1, like the literals that name them; features, states and classes from 0.

import { OneHot, Steps } from "./codings.js";
import { Head } from "./head.js";
import { Layer, pack, topOf } from "./layers.js";

const MOST_LITERALS = 20000; // beyond, a neuron over levels names its features only

// The network that engines are asked about: itself, or where there are laws one with a further class, which wins for inputs that break them.
export function askedOf(payload) {
  const { classes, domain } = payload;
  if (!domain?.laws.length) return new Model(payload);
  const codings = domain.codings.map((coding) => ({ ...coding, silent: [] }));
  return new Model({ ...payload, ...domain.lawful, classes: [...classes, ""], domain: { ...domain, codings }, levels: false, broken: classes.length });
}

export class Model {
  constructor(payload) {
    const { domain = null } = payload;
    this.fingerprint = payload.fingerprint;
    this.classes = payload.classes;
    this.columns = payload.columns ?? null; // how features are read from raw columns
    this.domain = domain;
    this.brokenClass = payload.broken ?? -1;
    const codings = (domain ?? payload).codings.map((data) => (data.kind === "onehot" ? new OneHot(data) : new Steps(data)));
    const title = titlesOf(payload);
    const codingOf = (place, number) => codings[domain ? domain.places[number] : place];
    this.features = payload.features.map(([name, place], number) => ({ number, name, title: title(name, number), coding: codingOf(place, number) }));
    this.starts = new Int32Array(this.features.length + 1); // first bit of each feature
    this.features.forEach(({ coding }, f) => (this.starts[f + 1] = this.starts[f] + coding.width));
    this.width = this.starts[this.features.length];
    this.featureOf = new Int32Array(this.width);
    this.features.forEach((_, f) => this.featureOf.fill(f, this.starts[f], this.starts[f + 1]));
    this.readsLevels = payload.levels;
    this.layers = payload.layers.map((data) => new Layer(data));
    this.head = new Head(payload.head);
    this.sizes = [this.width, ...this.layers.map((layer) => layer.outputs), this.head.outputs];
  }

  // -- features ---------------------------------------------------------------------------------------------------------------

  stateOf(feature, value) {
    return this.features[feature].coding.state(value);
  }

  statesOf(values) {
    return Int32Array.from(values, (value, f) => this.stateOf(f, value));
  }

  // The raw value of a state nearest to `near`; null where no value that can occur has the state.
  valueOf(feature, state, near) {
    return this.features[feature].coding.valueOf(state, near);
  }

  // The same for people: in few digits, and -1 where the bits of a sample are -1 and +1, not 0 and 1.
  shownOf(feature, state, sample) {
    const { coding } = this.features[feature];
    const isZero = (value, f) => this.features[f].coding.bipolar && Number(value) === 0;
    if (coding.bipolar && state === 0 && coding.width) return sample.some(isZero) ? 0 : -1;
    return coding.shownOf(state, sample[feature]);
  }

  reachable(feature, state) {
    return this.features[feature].coding.reachable(state);
  }

  // The states that a feature can take, in order.
  reachableStates(feature) {
    const { coding } = this.features[feature];
    return Array.from({ length: coding.states }, (_, state) => state).filter((state) => coding.reachable(state));
  }

  // Those that it may move to, within its limits.
  possibleStates(feature) {
    const { coding } = this.features[feature];
    return this.reachableStates(feature).filter((state) => coding.possible(state));
  }

  // The first law that an input breaks, as it was written; null where it obeys all. A clause [[feature, cut or category, whether on]] is
  // broken where all its literals fail.
  broken(states) {
    const isOn = (f, place) => (this.features[f].coding.kind === "steps" ? states[f] > place : states[f] === place);
    const fails = ([f, place, on]) => isOn(f, place) !== on;
    return this.domain?.laws.find(([, clauses]) => clauses.some((clause) => clause.every(fails)))?.[0] ?? null;
  }

  // The classes that a question about inputs that obey the laws looks for: one, or all but that of the input.
  wantedOf(label, target) {
    if (label === this.brokenClass) throw new Error("the input itself breaks a law, so it cannot occur.");
    return target === null ? (k) => k !== label && k !== this.brokenClass : (k) => k === target;
  }

  // What one state, or several together, say of a feature.
  describe(feature, states) {
    const { title, coding } = this.features[feature];
    if (typeof states === "number") return coding.describe(title, states);
    return states.length === 1 ? coding.describe(title, states[0]) : coding.describeSeveral(title, [...states]);
  }

  // The bits of all features, one value each.
  bits(states) {
    const out = new Uint8Array(this.width);
    for (let f = 0, at = 0; f < this.features.length; f++) {
      const { coding } = this.features[f];
      for (let place = 0; place < coding.width; place++) out[at++] = coding.bit(states[f], place);
    }
    return out;
  }

  bitsOf(states) {
    return pack(this.bits(states));
  }

  // What an input literal of a layer says.
  literalWords(layer, literal) {
    const place = Math.abs(literal) - 1;
    if (layer > 1) return `neuron ${place + 1} of layer ${layer - 1} is ${literal > 0 ? "on" : "off"}`;
    const { title, coding } = this.features[this.featureOf[place]];
    return coding.words(title, place - this.starts[this.featureOf[place]], literal > 0);
  }

  // -- evaluation -------------------------------------------------------------------------------------------------------------

  evaluate(states) {
    const layers = [];
    let values = this.readsLevels ? Int32Array.from(states, (state, f) => this.features[f].coding.level(state)) : this.bits(states);
    for (const layer of this.layers) {
      const M = layer.counts(values, pack(values));
      const active = layer.activity(M); // 0 or 1, or the level
      layers.push({ M, sizes: layer.sizes, active });
      values = active;
    }
    const { head } = this;
    const votes = head.counts(values, pack(values));
    return {
      layers,
      votes,
      sizes: head.sizes,
      scores: head.scores(votes),
      label: head.label(votes),
      tied: head.isTied(votes),
      possibility: head.possibility(votes),
    };
  }

  // -- neurons ----------------------------------------------------------------------------------------------------------------

  // A neuron, or a class as the layer behind the last (then without tau): its literals, signed, with their weights, over the bits of
  // the layer before. `levels` has [input, weight, top] where it reads levels; over those of a layer it has no literals.
  neuron(layer, j) {
    const { rows, tau } = layer <= this.layers.length ? this.layers[layer - 1] : this.head;
    const { places, weights } = rows.row(j - 1);
    const about = { tau: tau ? tau[j - 1] : null, size: rows.sizes[j - 1], levels: null };
    if (layer > 1 && this.layers[layer - 2].levels) {
      return { ...about, literals: [], weights: [], levels: places.map((place, i) => [place, weights[i], topOf(rows, place)]) };
    }
    if (layer > 1 || !this.readsLevels) {
      return { ...about, literals: places.map((place, i) => (weights[i] > 0 ? place + 1 : -place - 1)), weights: weights.map(Math.abs) };
    }
    const levels = places.map((f, i) => [f, weights[i], this.features[f].coding.width]);
    const literals = [];
    const sizes = [];
    if (levels.reduce((sum, [, , top]) => sum + top, 0) <= MOST_LITERALS) {
      for (const [f, weight, top] of levels) {
        for (let t = 1; t <= top; t++) {
          literals.push(Math.sign(weight) * (this.starts[f] + t));
          sizes.push(Math.abs(weight));
        }
      }
    }
    return { ...about, literals, weights: sizes, levels };
  }
}

const COLOURS = ["red", "green", "blue"];

// What features are called for people: their names, but pixel (r,c), with its colour, where a picture is drawn and nobody named them.
export function titlesOf({ grid, features }) {
  if (!grid) return (name) => name;
  const places = features.map((_, f) => {
    const [pixel, channel] = pixelOf(grid, f);
    return [`pixel (${Math.floor(pixel / grid.columns)},${pixel % grid.columns})`, channel];
  });
  const isGiven = ([name], f) => name !== `x${f + 1}` && name !== `channel ${places[f][1]} ${places[f][0]}`;
  if (features.some(isGiven)) return (name) => name;
  return (_, f) => `${places[f][0]}${grid.channels > 1 ? ` ${COLOURS[places[f][1]]}` : ""}`;
}

// Which pixel of a picture a feature belongs to, and which of its channels it is.
export function pixelOf({ rows, columns, channels, last }, feature) {
  const size = rows * columns;
  return last ? [Math.floor(feature / channels), feature % channels] : [feature % size, Math.floor(feature / size)];
}

export function featureAt({ rows, columns, channels, last }, pixel, channel) {
  return last ? pixel * channels + channel : channel * rows * columns + pixel;
}
