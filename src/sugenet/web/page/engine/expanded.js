// The binary expansion, as `network.expanded` in Python: a value is as many bits as it has levels above 0, each saying that it
// reaches one. Certificates number these bits as here.

// The bits that a layer gives, in order: whose value, and from which level on. Values of maps stand channel by channel, level by level,
// pixel by pixel; others value by value. `l` counts layers from 0.
export function bitsGiven(model, l) {
  const layer = model.layers[l];
  const top = layer.height;
  const shape = layer.levels ? (model.layers[l + 1]?.shape ?? layer.outShape) : null;
  const [channels, pixels] = shape ?? [layer.outputs, 1];
  const values = new Int32Array(layer.outputs * top);
  const steps = new Int32Array(layer.outputs * top);
  let at = 0;
  for (let channel = 0; channel < channels; channel++) {
    for (let step = 1; step <= top; step++) {
      for (let pixel = 0; pixel < pixels; pixel++, at++) {
        values[at] = channel * pixels + pixel;
        steps[at] = step;
      }
    }
  }
  return { values, steps };
}

// The values of a layer whose bits are given.
export function valuesOf(model, l, bits) {
  const out = new Int32Array(model.layers[l].outputs);
  const { values } = bitsGiven(model, l);
  values.forEach((value, at) => (out[value] += bits[at]));
  return out;
}

// One bit as a threshold over values. Pooling asks which of its values reach the step: `step` is that, and 0 for sums.
export function thresholdOf(layer, value, step) {
  const { places, weights } = layer.rows.row(value);
  if (layer.kind === "level pool") {
    return { places, weights, tau: layer.rows.isEvery(value) ? places.length : 1, step };
  }
  return { places, weights, tau: layer.threshold(value, step), step: 0 };
}
