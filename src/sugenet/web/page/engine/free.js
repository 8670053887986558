// "Check my rule": some features stay as they are, all others may be anything. Does the class stay? Bounds first, then a search for an
// input against it, then boxes: where bounds leave it open, the states of one feature are split, until every box is settled.

import { bounds } from "./bounds.js";
import { effectsOf } from "./effects.js";
import { search } from "./search.js";
import { changed } from "./walk.js";

// Whether the class stays whatever the features that are not locked do; with a target, whether it never becomes that class.
//   budget: boxes to look at, at most; seconds: time to take; onProgress({boxes}).
export function free(model, states, { locked = [], target = null, budget = 50000, seconds = 15, onProgress = () => {} } = {}) {
  const end = performance.now() + 1000 * seconds;
  const fixed = new Set(locked);
  const { label } = model.evaluate(states);
  const wanted = model.wantedOf(label, target);
  const allowed = model.features.map(({ number }) => (fixed.has(number) ? [states[number]] : withOwn(model, number, states[number])));
  if (wanted(label)) return { outcome: "refuted", by: "search", changes: [], label, boxes: 0 };
  const open = (box) => bounds(model, box).classes.some(wanted);
  if (!open(allowed)) return { outcome: "proved", by: "bounds", changes: null, label, boxes: 1 };
  const options = allowed.flatMap((row, f) => row.filter((state) => state !== states[f]).map((state) => [f, state]));
  const refuted = (changes, by, boxes) => ({ outcome: "refuted", by, changes, label: model.evaluate(changed(states, changes)).label, boxes });
  const found = search(model, states, options, wanted, { end });
  if (found) return refuted(found, "search", 1);
  const stack = [allowed];
  let boxes = 1;
  while (stack.length) {
    const box = stack.pop();
    const feature = widest(model, box);
    for (const state of box[feature]) {
      const part = box.with(feature, [state]);
      if (++boxes > budget || performance.now() > end) return { outcome: "undecided", by: "branching", changes: null, label, boxes };
      if (boxes % 64 === 0) onProgress({ boxes });
      if (!open(part)) continue;
      if (part.every((row) => row.length === 1)) {
        // A box of one input is evaluated by the definition alone.
        const changes = part.map((row, f) => [f, row[0]]).filter(([f, own]) => own !== states[f]);
        if (wanted(model.evaluate(changed(states, changes)).label)) return refuted(changes, "branching", boxes);
      } else stack.push(part);
    }
  }
  return { outcome: "proved", by: "branching", changes: null, label, boxes };
}

// The sample's own state first, so that the box is never empty.
function withOwn(model, feature, own) {
  return [own, ...model.possibleStates(feature).filter((state) => state !== own)];
}

// The feature that moves the undecided neurons of the first layer most.
function widest(model, box) {
  const effects = effectsOf(model);
  const state = model.layers.length ? bounds(model, box).layers[0].state : null;
  let best = -1;
  let most = -1;
  box.forEach((states, f) => {
    if (states.length < 2) return;
    let sum = 0;
    const rows = states.map((s) => effects.gains(f, s));
    effects.listeners[f].forEach((neuron, i) => {
      if (state && state[effects.owner(neuron)]) return;
      const values = rows.map((row) => row[i]);
      sum += Math.max(...values) - Math.min(...values);
    });
    if (sum > most) {
      most = sum;
      best = f;
    }
  });
  return best;
}
