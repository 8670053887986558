// From the values of the first layer, bits or levels, to the class, without making new arrays: for walks and searches that ask this a million times.

import { pack } from "./layers.js";

export class Voter {
  constructor(model) {
    this.head = model.head;
    this.steps = model.layers.slice(1).map((layer) => ({
      layer,
      counts: new Int32Array(layer.outputs),
      values: layer.room(),
      packed: new Uint32Array((layer.inputs + 31) >>> 5),
    }));
    this.packed = new Uint32Array((model.head.inputs + 31) >>> 5);
    this.votes = new Int32Array(model.head.outputs);
  }

  // Votes of the classes for the values of the first layer; the array is used again.
  of(active) {
    let values = active;
    for (const { layer, counts, values: after, packed } of this.steps) {
      layer.counts(values, pack(values, packed), counts);
      layer.activity(counts, after);
      values = after;
    }
    this.head.counts(values, pack(values, this.packed), this.votes);
    return this.votes;
  }

  label(active) {
    return this.head.label(this.of(active));
  }
}
