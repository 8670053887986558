// From the activity of the first layer to the class, without making new arrays: for walks and searches that ask this a million times.

import { effectsOf } from "./effects.js";
import { pack } from "./layers.js";

export class Voter {
  constructor(model) {
    this.head = model.head;
    this.steps = effectsOf(model).later.map((layer) => ({
      layer,
      counts: new Int32Array(layer.outputs),
      values: new Uint8Array(layer.outputs),
      packed: new Uint32Array((layer.inputs + 31) >>> 5),
    }));
    this.packed = new Uint32Array((model.head.inputs + 31) >>> 5);
    this.votes = new Int32Array(model.head.outputs);
  }

  // Votes of the classes for the activity (0 or 1) of the first layer; the array is used again.
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
