// What the page shows: the sample, its changes, what is held, what is chosen. With undo, and as text in the address.
import { readNumber } from "./engine/exact.js";
import { isNumber } from "./features.js";

const DEPTH = 400;

export class State {
  constructor(model, payload) {
    this.model = model;
    this.payload = payload;
    this.locks = new Set();
    this.listeners = [];
    this.choice = { layer: 0, neuron: null, answer: null };
    this.load(payload.start || 0);
  }

  on(listener) {
    this.listeners.push(listener);
  }

  tell(what) {
    for (const listener of this.listeners) listener(what, this);
  }

  load(position) {
    this.sample = position;
    this.base = this.payload.samples[position].values;
    this.values = this.base.slice();
    this.states = this.model.statesOf(this.values);
    this.baseStates = this.states.slice();
    this.baseResult = this.model.evaluate(this.states);
    this.undone = [];
    this.done = [];
    this.evaluate();
  }

  evaluate() {
    this.result = this.model.evaluate(this.states);
  }

  get label() {
    return this.payload.classes[this.result.label];
  }

  // Where in the page a sample of the data set is; -1 where the page does not hold it.
  position(index) {
    return this.payload.samples.findIndex((sample) => sample.index === index);
  }

  // The number of a sample that an address names and the data set has, but not the page; else null.
  missing(hash) {
    const found = /^#s=(\d{1,9})(?:&|$)/.exec(hash);
    return found && Number(found[1]) < this.payload.count && this.position(Number(found[1])) < 0 ? Number(found[1]) : null;
  }

  insert(sample) {
    const { samples } = this.payload;
    if (this.position(sample.index) >= 0) return;
    const place = samples.findIndex(({ index }) => index > sample.index);
    const at = place < 0 ? samples.length : place;
    samples.splice(at, 0, sample);
    if (at <= this.sample) this.sample++;
  }

  changed() {
    const out = [];
    for (let f = 0; f < this.states.length; f++) if (this.values[f] !== this.base[f]) out.push(f);
    return out;
  }

  // One stroke is one step of undo, however many features it touches.
  stroke() {
    this.done.push(this.values.slice());
    if (this.done.length > DEPTH) this.done.shift();
    this.undone = [];
  }

  put(feature, value) {
    this.values[feature] = value;
    this.states[feature] = this.model.stateOf(feature, value);
  }

  // A state takes a raw value of few digits near the sample's own, so going back gives the sample's value again.
  move(feature, state, near = this.base[feature]) {
    const own = state === this.baseStates[feature];
    this.values[feature] = own ? this.base[feature] : this.model.shownOf(feature, state, this.values.with(feature, near));
    this.states[feature] = state;
  }

  moved() {
    this.evaluate();
    this.tell("input");
  }

  set(pairs) {
    this.stroke();
    for (const [feature, state] of pairs) this.move(feature, state);
    this.moved();
  }

  setValues(values) {
    values.forEach((value, feature) => this.put(feature, value));
    this.moved();
  }

  next(feature, step) {
    const states = this.model.reachableStates(feature);
    const place = states.indexOf(this.states[feature]) + step;
    return states[(place + states.length) % states.length];
  }

  undo() {
    if (!this.done.length) return false;
    this.undone.push(this.values.slice());
    this.setValues(this.done.pop());
    return true;
  }

  redo() {
    if (!this.undone.length) return false;
    this.done.push(this.values.slice());
    this.setValues(this.undone.pop());
    return true;
  }

  reset() {
    this.stroke();
    this.setValues(this.base);
  }

  hold(feature, on) {
    if (on === undefined) on = !this.locks.has(feature);
    if (on) this.locks.add(feature);
    else this.locks.delete(feature);
    this.tell("locks");
  }

  // -- the address -----------------------------------------------------------------------------------------------------------

  toHash() {
    const parts = [`s=${this.payload.samples[this.sample].index ?? this.sample}`];
    const changed = this.changed();
    if (changed.length) parts.push(`c=${changed.map((f) => `${f}:${this.valueText(f)}`).join(",")}`);
    if (this.locks.size) parts.push(`h=${[...this.locks].sort((a, b) => a - b).join(",")}`);
    if (this.choice.neuron !== null) parts.push(`n=${this.choice.layer + 1}.${this.choice.neuron + 1}`);
    else if (this.choice.layer) parts.push(`n=${this.choice.layer + 1}`);
    if (this.choice.answer) parts.push(`a=${encodeURIComponent(this.choice.answer)}`);
    return `#${parts.join("&")}`;
  }

  valueText(feature) {
    return isNumber(this.payload, feature) ? String(this.values[feature]) : `~${this.states[feature]}`;
  }

  // An address may be old or written by hand: what does not fit the model is left out.
  fromHash(hash) {
    const parts = new Map(hash.replace(/^#/, "").split("&").map((part) => [part[0], part.slice(2)]));
    const position = this.payload.samples.findIndex((sample, place) => String(sample.index ?? place) === parts.get("s"));
    this.load(position < 0 ? this.payload.start || 0 : position);
    for (const part of (parts.get("c") || "").split(",").filter(Boolean)) this.restore(part);
    const held = (parts.get("h") || "").split(",").filter(Boolean).map(Number);
    this.locks = new Set(held.filter((f) => Number.isInteger(f) && f >= 0 && f < this.values.length));
    const [layer, neuron] = (parts.get("n") || "1").split(".").map((text) => Number(text) - 1);
    const known = this.payload.layers[layer];
    this.choice = { layer: known ? layer : 0, neuron: known && neuron >= 0 && neuron < known.outputs ? neuron : null, answer: null };
    try {
      this.choice.answer = parts.has("a") ? decodeURIComponent(parts.get("a")) : null;
    } catch {
      this.choice.answer = null;
    }
    this.evaluate();
    this.tell("sample");
  }

  restore(part) {
    const [place, text] = part.split(":");
    const feature = Number(place);
    if (!text || !Number.isInteger(feature) || feature < 0 || feature >= this.values.length) return;
    const { coding } = this.model.features[feature];
    if (text.startsWith("~")) {
      const state = Number(text.slice(1));
      if (this.model.reachableStates(feature).includes(state)) this.move(feature, state);
      return;
    }
    const value = readNumber(text);
    if (isNumber(this.payload, feature) && value !== null && coding.takes(value)) this.put(feature, value);
  }
}
