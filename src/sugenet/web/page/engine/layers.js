// Layers over bits or levels. A neuron's match count is a constant plus the sum of weight times input, since a negative weight counts what
// its input leaves to the top; with weights -1, 0 and +1 it is the popcount of XNOR under a mask, 32 literals at a time.

// 32-bit words of base64 text, little-endian as every browser's processor.
function words(text) {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = binary.charCodeAt(i);
  return new Uint32Array(bytes.buffer);
}

export function popcount(x) {
  x -= (x >>> 1) & 0x55555555;
  x = (x & 0x33333333) + ((x >>> 2) & 0x33333333);
  return Math.imul((x + (x >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}

// Truth values (0 and 1) as words, the first in the lowest bit.
export function pack(values, out = new Uint32Array((values.length + 31) >>> 5)) {
  out.fill(0);
  for (let i = 0; i < values.length; i++) out[i >>> 5] |= values[i] << (i & 31);
  return out;
}

// Weights -1, 0, +1: a word of sign bits and a word of the mask for every 32 inputs.
class PackedRows {
  constructor(data) {
    this.inputs = data.inputs;
    this.outputs = data.outputs;
    this.span = (data.inputs + 31) >>> 5;
    this.signs = words(data.signs);
    this.mask = data.mask === null ? this.full() : words(data.mask);
    this.sizes = new Int32Array(this.outputs);
    for (let j = 0; j < this.outputs; j++) {
      for (let w = 0; w < this.span; w++) this.sizes[j] += popcount(this.mask[j * this.span + w]);
    }
  }

  full() {
    const rest = this.inputs & 31;
    const mask = new Uint32Array(this.outputs * this.span).fill(0xffffffff);
    if (rest) for (let j = 1; j <= this.outputs; j++) mask[j * this.span - 1] = 2 ** rest - 1;
    return mask;
  }

  counts(values, packed, out) {
    const { span, signs, mask } = this;
    for (let j = 0, at = 0; j < this.outputs; j++) {
      let count = 0;
      for (let w = 0; w < span; w++, at++) count += popcount(~(packed[w] ^ signs[at]) & mask[at]);
      out[j] = count;
    }
  }

  weight(j, i) {
    const at = j * this.span + (i >>> 5);
    const bit = i & 31;
    return (this.mask[at] >>> bit) & 1 ? (((this.signs[at] >>> bit) & 1) << 1) - 1 : 0;
  }

  row(j) {
    const places = [];
    const weights = [];
    for (let i = 0; i < this.inputs; i++) {
      const weight = this.weight(j, i);
      if (weight) {
        places.push(i);
        weights.push(weight);
      }
    }
    return { places, weights };
  }
}

// Whole weights of any size; inputs are bits, or levels from 0 to their tops.
class WeightedRows {
  constructor(data) {
    this.inputs = data.inputs;
    this.outputs = data.outputs;
    this.tops = data.tops ?? null;
    this.weights = new Int32Array(words(data.weights).buffer);
    this.sizes = new Int32Array(this.outputs);
    this.constants = new Int32Array(this.outputs);
    for (let j = 0, at = 0; j < this.outputs; j++) {
      for (let i = 0; i < this.inputs; i++, at++) {
        const most = Math.abs(this.weights[at]) * (this.tops ? this.tops[i] : 1);
        this.sizes[j] += most;
        if (this.weights[at] < 0) this.constants[j] += most;
      }
    }
  }

  counts(values, packed, out) {
    for (let j = 0, at = 0; j < this.outputs; j++) {
      let sum = this.constants[j];
      for (let i = 0; i < this.inputs; i++, at++) sum += this.weights[at] * values[i];
      out[j] = sum;
    }
  }

  row(j) {
    const places = [];
    const weights = [];
    for (let i = 0; i < this.inputs; i++) {
      const weight = this.weights[j * this.inputs + i];
      if (weight) {
        places.push(i);
        weights.push(weight);
      }
    }
    return { places, weights };
  }
}

// The largest level that an input can have.
export function topOf(rows, place) {
  return rows.tops ? rows.tops[place] : (rows.top ?? 1);
}

// For each position of a sliding window the pixel of each tap, row by row; -1 where it falls on padding.
function tapsOf({ shape, kernel, stride, dilation, pads }) {
  const [, height, width] = shape;
  const reach = kernel.map((size, axis) => dilation[axis] * (size - 1) + 1);
  const down = Math.floor((height + pads[0] + pads[2] - reach[0]) / stride[0]) + 1;
  const across = Math.floor((width + pads[1] + pads[3] - reach[1]) / stride[1]) + 1;
  const taps = [];
  for (let row = 0; row < down; row++) {
    for (let column = 0; column < across; column++) {
      for (let a = 0; a < kernel[0]; a++) {
        for (let b = 0; b < kernel[1]; b++) {
          const y = row * stride[0] - pads[0] + a * dilation[0];
          const x = column * stride[1] - pads[1] + b * dilation[1];
          taps.push(y >= 0 && y < height && x >= 0 && x < width ? y * width + x : -1);
        }
      }
    }
  }
  return Int32Array.from(taps);
}

// One neuron for each output channel and position; taps on padding are no literals. Pooling is a kernel of ones on its own channel.
class SlidingRows {
  constructor(data) {
    const pool = data.kind === "pool" || data.kind === "level pool";
    this.inputs = data.inputs;
    this.outputs = data.outputs;
    this.taps = tapsOf(data.window);
    this.kernelSize = data.window.kernel[0] * data.window.kernel[1];
    this.positions = this.taps.length / this.kernelSize;
    this.pixels = data.window.shape[1] * data.window.shape[2];
    const [channels] = data.window.shape;
    const groups = pool ? channels : data.groups;
    this.channels = pool ? channels : data.channels;
    this.perIn = channels / groups;
    this.perOut = this.channels / groups;
    this.top = data.top ?? 1;
    this.weights = pool ? new Int32Array(channels * this.kernelSize).fill(1) : new Int32Array(words(data.weights).buffer);
    this.sizes = new Int32Array(this.outputs);
    this.constants = new Int32Array(this.outputs);
    for (let j = 0; j < this.outputs; j++) {
      this.visit(j, (place, weight) => {
        this.sizes[j] += Math.abs(weight) * this.top;
        if (weight < 0) this.constants[j] -= weight * this.top;
      });
    }
  }

  // Every literal of neuron j: its input and its weight.
  visit(j, see) {
    const channel = Math.floor(j / this.positions);
    const taps = (j % this.positions) * this.kernelSize;
    const first = Math.floor(channel / this.perOut) * this.perIn;
    for (let c = 0; c < this.perIn; c++) {
      const kernel = (channel * this.perIn + c) * this.kernelSize;
      for (let t = 0; t < this.kernelSize; t++) {
        const pixel = this.taps[taps + t];
        if (pixel >= 0 && this.weights[kernel + t]) see((first + c) * this.pixels + pixel, this.weights[kernel + t]);
      }
    }
  }

  counts(values, packed, out) {
    const { taps, weights, kernelSize, perIn, perOut, pixels, positions } = this;
    for (let channel = 0, j = 0; channel < this.channels; channel++) {
      const first = Math.floor(channel / perOut) * perIn;
      for (let position = 0; position < positions; position++, j++) {
        let sum = this.constants[j];
        for (let c = 0; c < perIn; c++) {
          const kernel = (channel * perIn + c) * kernelSize;
          const map = (first + c) * pixels;
          for (let t = 0, tap = position * kernelSize; t < kernelSize; t++, tap++) {
            if (taps[tap] >= 0) sum += weights[kernel + t] * values[map + taps[tap]];
          }
        }
        out[j] = sum;
      }
    }
  }

  row(j) {
    const places = [];
    const weights = [];
    this.visit(j, (place, weight) => {
      places.push(place);
      weights.push(weight);
    });
    return { places, weights };
  }
}

// Pooling of levels: not a sum but the largest of the window, or the least.
class PooledRows extends SlidingRows {
  constructor(data) {
    super(data);
    this.every = data.every;
    this.sizes.fill(this.top);
  }

  isEvery(j) {
    return this.every[Math.floor(j / this.positions)];
  }

  counts(values, packed, out) {
    for (let j = 0; j < this.outputs; j++) {
      const every = this.isEvery(j);
      let found = every ? this.top : 0;
      this.visit(j, (place) => (found = every ? Math.min(found, values[place]) : Math.max(found, values[place])));
      out[j] = found;
    }
  }
}

// Rows of weights without thresholds, as the head has them.
export function makeRows(data) {
  if (data.kind === "dense") return new PackedRows(data);
  if (data.kind === "weights" || data.kind === "levels" || data.kind === "stairs") return new WeightedRows(data);
  if (data.kind === "conv" || data.kind === "stairs conv" || data.kind === "pool") return new SlidingRows(data);
  if (data.kind === "level pool") return new PooledRows(data);
  throw new Error(`this page does not know layers of kind ${data.kind}`);
}

// A hidden layer: rows, and thresholds. A neuron is active iff its match count reaches tau; the level of a staircase is how many of its
// thresholds are reached.
export class Layer {
  constructor(data) {
    this.kind = data.kind;
    this.rows = makeRows(data);
    this.inputs = data.inputs;
    this.outputs = data.outputs;
    this.sizes = this.rows.sizes;
    this.levels = ["stairs", "stairs conv", "level pool"].includes(data.kind); // or else bits
    this.height = this.levels ? data.height : 1;
    this.shape = data.window ? [data.window.shape[0], data.window.shape[1] * data.window.shape[2]] : null;
    this.outShape = data.window ? [this.rows.channels, this.rows.positions] : null;
    if (!this.levels) this.tau = data.kind === "pool" ? poolTau(data, this.rows) : Float64Array.from(data.tau);
    else if (data.kind !== "level pool") this.steps = words(data.steps);
    if (data.kind === "stairs conv") this.shifts = shiftsOf(data, this.rows);
  }

  // The match count from which on neuron j has a level, from 1.
  threshold(j, level) {
    if (!this.levels) return this.tau[j];
    if (this.kind === "level pool") return level;
    if (this.kind === "stairs") return this.steps[j * this.height + level - 1];
    const channel = Math.floor(j / this.rows.positions);
    return Math.max(0, this.steps[channel * this.height + level - 1] - this.shifts[j]);
  }

  // The level of neuron j at a match count: thresholds rise, so halves suffice.
  level(j, count) {
    let [low, high] = [0, this.height];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (count >= this.threshold(j, middle)) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  // The nearest threshold to a match count that some inputs reach and some do not; null where there is none.
  nearest(j, count) {
    if (!this.levels) return this.tau[j];
    const own = this.level(j, count);
    const open = [own, own + 1].filter((m) => m >= 1 && m <= this.height).map((m) => this.threshold(j, m));
    const distance = (tau) => Math.abs(2 * (count - tau) + 1);
    const found = open.filter((tau) => tau > 0 && tau <= this.sizes[j]).sort((a, b) => distance(a) - distance(b));
    return found.length ? found[0] : null;
  }

  counts(values, packed, out = new Int32Array(this.outputs)) {
    this.rows.counts(values, packed, out);
    return out;
  }

  activity(counts, out = this.room()) {
    if (this.levels) for (let j = 0; j < out.length; j++) out[j] = this.level(j, counts[j]);
    else for (let j = 0; j < out.length; j++) out[j] = counts[j] >= this.tau[j] ? 1 : 0;
    return out;
  }

  // An array for the values of its neurons.
  room() {
    return this.levels ? new Int32Array(this.outputs) : new Uint8Array(this.outputs);
  }
}

// Steps of a convolution are on the sum over all taps above its least, match counts leave out those on padding: what these add.
function shiftsOf(data, rows) {
  const shifts = new Float64Array(rows.outputs);
  for (let j = 0; j < rows.outputs; j++) {
    const channel = Math.floor(j / rows.positions);
    const taps = (j % rows.positions) * rows.kernelSize;
    for (let c = 0; c < rows.perIn; c++) {
      const kernel = (channel * rows.perIn + c) * rows.kernelSize;
      for (let t = 0; t < rows.kernelSize; t++) {
        const weight = rows.weights[kernel + t];
        if (rows.taps[taps + t] < 0) shifts[j] += data.pad * weight - Math.min(weight, 0) * rows.top;
      }
    }
  }
  return shifts;
}

// Any: one input of the window suffices. Every: all of them are needed.
function poolTau(data, rows) {
  return Float64Array.from(rows.sizes, (size, j) => (data.every[Math.floor(j / rows.positions)] ? size : 1));
}
