// A .sugenet file (docs/format.md) read in the browser: bytes in, the payload of the page out, or an Error that says what is wrong.
// The seal, the sizes and the fingerprint are all recomputed, so a certificate checked here is about the network in the file.

import { OneHot, Steps } from "./codings.js";
import { Fraction, nextDown, shortest } from "./exact.js";
import { Sha256 } from "./sha256.js";
import { parseStrict } from "./strict_json.js";

const FILE_LIMIT = 2 ** 28; // bytes
const HEADER_LIMIT = 2 ** 24;
const WEIGHT_LIMIT = 2 ** 25; // weights of a layer
const NEVER = 2 ** 31; // a threshold of a quantized neuron that nothing reaches
const FAR = 2 ** 40; // thresholds beyond are out of reach of any match count
const PIXEL_LIMIT = 4096; // larger pictures are shown as tables
const CHANNELS = [1, 3];
const TYPES = { I8: Int8Array, U8: Uint8Array, I16: Int16Array, I32: Int32Array, I64: BigInt64Array, F64: Float64Array };
const GEOMETRY = ["shape", "kernel", "stride", "dilation", "pads"];
const NAMES = { dense: "DenseLayer", level: "LevelLayer", stairs: "StairLayer", conv: "ConvLayer", "stairs conv": "StairConv", pool: "PoolLayer", "level pool": "PoolLayer" };
const KINDS = Object.keys(NAMES);

function see(isTrue, fact) {
  if (!isTrue) throw new Error(`The file cannot be read: ${fact}.`);
}

const product = (numbers) => numbers.reduce((a, b) => a * b, 1);
const utf8 = (text) => new TextEncoder().encode(text);

// -- container ---------------------------------------------------------------------------------------------------------------

// Integers of a document as numbers. A BigInt that a number would round is refused.
function plain(value, fact) {
  if (typeof value !== "bigint") return value;
  see(value >= -(2n ** 53n) && value <= 2n ** 53n, `${fact} is beyond 2^53, and the page would round it`);
  return Number(value);
}

function plainAll(value) {
  if (Array.isArray(value)) return value.map(plainAll);
  if (value && typeof value === "object") return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, plainAll(one)]));
  return plain(value, "an integer");
}

function openFile(bytes) {
  see(bytes.length >= 10 && bytes.length <= FILE_LIMIT, `it has ${bytes.length} bytes, and a network file has 10 to 2^28`);
  const length = new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0, true);
  see(length >= 2n && length <= BigInt(Math.min(HEADER_LIMIT, bytes.length - 8)), "this is not a .sugenet file");
  const end = 8 + Number(length);
  let header;
  let document;
  try {
    header = parseStrict(new TextDecoder("utf-8", { fatal: true }).decode(bytes.subarray(8, end)));
    document = parseStrict(header.__metadata__.sugenet);
  } catch {
    throw new Error("The file cannot be read: this is not a .sugenet file.");
  }
  see(document?.format === "sugenet", "this is not a .sugenet file");
  see(typeof document.version === "bigint" && document.version <= 7n, "it is of a newer version. Use a newer sugenet page");
  seeSeal(bytes.subarray(0, end), bytes, document.sha256);
  return { document, tensors: tensorsOf(header, bytes, end) };
}

// The SHA-256 of the file with zeros in place of its own digits.
function seeSeal(header, bytes, stated) {
  const mark = utf8('\\"sha256\\":\\"');
  let at = 0;
  while (at < header.length && !mark.every((byte, i) => header[at + i] === byte)) at++;
  const start = at + mark.length;
  const zeros = new Uint8Array(64).fill(48);
  const actual = new Sha256().update(bytes.subarray(0, start)).update(zeros).update(bytes.subarray(start + 64)).hex();
  const written = new TextDecoder().decode(bytes.subarray(start, start + 64));
  see(written === stated && actual === stated, "its bytes do not have the SHA-256 that it states. It is damaged: save it again");
}

function tensorsOf(header, bytes, end) {
  const tensors = new Map();
  const entries = Object.entries(plainAll(header)).filter(([name]) => name !== "__metadata__");
  entries.sort((a, b) => a[1].data_offsets[0] - b[1].data_offsets[0] || a[1].data_offsets[1] - b[1].data_offsets[1]);
  let reached = 0;
  for (const [name, { dtype, shape, data_offsets: [first, last] }] of entries) {
    const Type = Object.hasOwn(TYPES, dtype) ? TYPES[dtype] : null;
    see(Type && first === reached && last >= first && end + last <= bytes.length, `the tensor ${name} does not fit`);
    see(product(shape) * Type.BYTES_PER_ELEMENT === last - first, `the tensor ${name} does not have its shape`);
    tensors.set(name, { shape, values: new Type(bytes.slice(end + first, end + last).buffer) });
    reached = last;
  }
  see(end + reached === bytes.length, "its tensors do not fill it");
  return tensors;
}

// -- parts -------------------------------------------------------------------------------------------------------------------

class Source {
  constructor(bytes) {
    const { document, tensors } = openFile(bytes);
    this.tensors = tensors;
    this.raw = document;
    see(document.layers.every(({ kind }) => KINDS.includes(kind)) && document.codings.every(({ kind }) => kind !== "real"), "its first layer reads real numbers as they are, which the page does not show. Ask in Python or on the command line");
    see(!document.domain?.laws.length, "it states laws that inputs obey. Use: sugenet serve, or sugenet report --interactive");
    this.codings = this.readCodings();
    this.features = document.features.map(([name, number]) => [name, plain(number, "a coding")]);
    see(this.features.every(([, number]) => number in this.codings), "a feature names a coding that is not there");
    this.layers = document.layers.map(({ theta, ...part }) => plainAll(part));
    const { bias, scale, ...head } = document.head;
    this.head = { ...plainAll(head), bias: bias.map((text) => Fraction.ofText(text)), scale: scale.map((text) => Fraction.ofText(text)) };
    this.widths = this.features.map(([, number]) => this.codings[number].width);
    this.rows = new Map();
  }

  values(name, size) {
    const tensor = this.tensors.get(name);
    see(tensor && tensor.values.length === size, `the tensor ${name} is missing or has another size`);
    return tensor.values;
  }

  // Codings as the page has them, with the text that fingerprints have.
  readCodings() {
    const all = this.tensors.get("cuts").values;
    let at = 0;
    const codings = this.raw.codings.map((part) => {
      if (part.kind === "onehot") {
        const categories = part.categories.map(category);
        return { kind: "onehot", categories, names: part.categories.map(nameOf), width: categories.length, text: `OneHot(categories=${tuple(part.categories.map(repr))})` };
      }
      const cuts = [...all.subarray(at, at + Number(part.cuts))];
      at += Number(part.cuts);
      see(cuts.length === Number(part.cuts), "it has fewer cuts than it says");
      const [low, high] = [end(part.low), end(part.high)];
      see(!(part.whole && cuts.includes(-Number.MAX_VALUE) && low < -Number.MAX_VALUE), "a feature has integers below all floats");
      const ends = `low=${repr(part.low)}, high=${repr(part.high)}, whole=${repr(part.whole)}, bipolar=${repr(part.bipolar)}`;
      return {
        kind: "steps",
        cuts: cuts.map((cut) => (Number.isFinite(cut) ? cut : String(cut))),
        low: Number.isFinite(low) ? low : null,
        high: Number.isFinite(high) ? high : null,
        whole: part.whole,
        bipolar: part.bipolar,
        width: cuts.length,
        text: `Steps(cuts=${tuple(cuts.map(float))}, ${ends})`,
      };
    });
    see(at === all.length, "it has more cuts than it says");
    return codings;
  }

  // Weights row by row: integers, or packed signs with or without zeros.
  weights(name, { weights, outputs }, width) {
    if (!this.rows.has(name)) this.rows.set(name, this.readWeights(name, weights, outputs, width));
    return this.rows.get(name);
  }

  readWeights(name, form, outputs, width) {
    const size = outputs * width;
    see(size <= WEIGHT_LIMIT, `${name} has ${size} weights, more than the page reads`);
    if (form === "integer") {
      const values = Array.from(this.values(`${name}.weights`, size), Number);
      see(values.every((value) => Math.abs(value) < NEVER), `the weights of ${name} are beyond 2^31, and the page counts in 31 bits`);
      return Int32Array.from(values);
    }
    const octets = Math.ceil(width / 8);
    const signs = this.bits(`${name}.positive`, outputs, width);
    const some = form === "ternary" ? this.bits(`${name}.nonzero`, outputs, width) : null;
    see(form === "ternary" || form === "binary", `${name} has weights ${form}`);
    see(!some || signs.every((octet, k) => (octet & ~some[k]) === 0), `${name} has signs of weights that are 0`);
    const out = new Int32Array(size);
    for (let j = 0, k = 0; j < outputs; j++) {
      for (let i = 0; i < width; i++, k++) {
        const at = j * octets + (i >> 3);
        if (!some || (some[at] >> (i & 7)) & 1) out[k] = (((signs[at] >> (i & 7)) & 1) << 1) - 1;
      }
    }
    return out;
  }

  // Rows of bits. Those after the last of a row are 0.
  bits(name, rows, width) {
    const octets = Math.ceil(width / 8);
    const values = this.values(name, rows * octets);
    for (let j = 1; width & 7 && j <= rows; j++) see(values[j * octets - 1] >> (width & 7) === 0, `the tensor ${name} has bits that nothing reads`);
    return values;
  }

  flags(name, count) {
    const octets = this.bits(name, 1, count);
    return Array.from({ length: count }, (_, i) => Boolean((octets[i >> 3] >> (i & 7)) & 1));
  }

  // The thresholds of a layer, neuron by neuron; of a quantized one, row of weights by row.
  thresholds(name, part) {
    if ("steps" in part) return this.values(`${name}.${part.kind === "stairs conv" ? "steps" : "tau"}`, part.outputs * part.steps);
    const positions = "shape" in part ? product(positionsOf(part)) : 1;
    const { shape, values } = this.tensors.get(`${name}.tau`);
    see(values.length === part.outputs * (shape.length === 1 ? 1 : positions), `the tensor ${name}.tau has another size`);
    if (shape.length > 1 || positions === 1) return values;
    const wide = new values.constructor(part.outputs * positions);
    values.forEach((value, channel) => wide.fill(value, channel * positions, (channel + 1) * positions));
    return wide;
  }
}

// A category, if JavaScript has it exactly: it reads 1.0 as 1.
function category(value) {
  const isFloat = typeof value === "number";
  see(!(isFloat && Number.isInteger(value)) && !(typeof value === "object" && value !== null), `the page cannot hold the category ${value}`);
  return plain(value, "a category");
}

function nameOf(value) {
  return typeof value === "string" ? value : repr(value);
}

function end(value) {
  if (value !== null && typeof value === "object") return value.float === "inf" ? Infinity : -Infinity;
  return plain(value, "a limit of a feature");
}

// How many positions a window has, down and across.
function positionsOf({ shape, kernel, stride, dilation, pads }) {
  return [0, 1].map((axis) => {
    const room = shape[axis + 1] + pads[axis] + pads[axis + 2] - dilation[axis] * (kernel[axis] - 1) - 1;
    return Math.floor(room / stride[axis]) + 1;
  });
}

// -- fingerprint -------------------------------------------------------------------------------------------------------------

// Values as Python writes them.
function float(value) {
  if (Number.isInteger(value) && Math.abs(value) < 1e15) return Object.is(value, -0) ? "-0.0" : `${value}.0`;
  return shortest(value);
}

function tuple(texts) {
  return texts.length === 1 ? `(${texts[0]},)` : `(${texts.join(", ")})`;
}

const HIDDEN = /[\p{C}\p{Zl}\p{Zp}\p{Zs}]/u;

function quoted(text) {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  const short = { "\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\", [quote]: `\\${quote}` };
  const letters = Array.from(text, (letter) => {
    if (Object.hasOwn(short, letter)) return short[letter];
    if (letter === " " || !HIDDEN.test(letter)) return letter;
    const code = letter.codePointAt(0);
    const [sign, digits] = code < 256 ? ["x", 2] : code < 65536 ? ["u", 4] : ["U", 8];
    return `\\${sign}${code.toString(16).padStart(digits, "0")}`;
  });
  return quote + letters.join("") + quote;
}

function repr(value) {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (Array.isArray(value)) return tuple(value.map(repr));
  if (typeof value === "object") return value.float ?? repr(value["one of"]);
  if (typeof value === "string") return quoted(value);
  return typeof value === "bigint" ? String(value) : float(value);
}

// JSON as Python's json.dumps writes it.
function dumps(value) {
  if (Array.isArray(value)) return `[${value.map(dumps).join(", ")}]`;
  if (typeof value !== "string") return value === null ? "null" : String(value);
  return JSON.stringify(value).replace(/[\u007f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

// An array as fingerprints have it: its shape, then 64-bit integers.
function digested(shape, values) {
  const wide = BigInt64Array.from(values, (value) => BigInt(value));
  return [utf8(dumps(shape)), new Uint8Array(wide.buffer)];
}

function fingerprintOf(source) {
  const digest = new Sha256().update(utf8("sugenet network 1\n"));
  const feed = (pieces) => pieces.forEach((piece) => digest.update(piece));
  const codings = source.codings.map(({ text }) => new Sha256().update(utf8(text)).digest());
  source.features.forEach(([, number]) => digest.update(codings[number]));
  feed([utf8(dumps([source.features.map(([name]) => name), source.raw.classes]))]);
  let tops = source.widths;
  source.layers.forEach((part, index) => {
    const [name, { kind }] = [`layer${index + 1}`, part];
    const positions = "shape" in part ? product(positionsOf(part)) : 1;
    feed([utf8(NAMES[kind])]);
    if ("shape" in part) feed([utf8(`Window(${GEOMETRY.map((key) => `${key}=${tuple(part[key].map(String))}`).join(", ")})`)]);
    if (kind.endsWith("conv")) feed([utf8(dumps([part.groups, part.top]))]);
    if (kind === "level pool") feed([utf8(dumps(part.top))]);
    if (kind === "stairs conv") feed([utf8(dumps(part.pad))]);
    if (kind.endsWith("pool")) feed(digested([part.shape[0]], source.flags(`${name}.every`, part.shape[0])));
    else {
      const kernel = "shape" in part ? [part.outputs, part.shape[0] / part.groups, ...part.kernel] : [part.outputs, part.inputs];
      feed(digested(kernel, source.weights(name, part, product(kernel.slice(1)))));
      const taus = source.thresholds(name, part);
      feed(digested("steps" in part ? [part.outputs, part.steps] : [taus.length], taus));
    }
    if (kind === "stairs") feed(digested([part.inputs], part.reads === "levels" ? tops : new Array(part.inputs).fill(1)));
    tops = new Array((part.outputs ?? part.shape[0]) * positions).fill(part.steps ?? (kind.endsWith("pool") ? part.top : null) ?? 1);
  });
  const { head } = source;
  feed(digested([head.outputs, head.inputs], source.weights("head", head, head.inputs)));
  if ("top" in head) feed(digested([tops.length], tops));
  feed([utf8(dumps([head.bias.map(String), head.scale.map(String)]))]);
  return digest.hex();
}

// -- payload -----------------------------------------------------------------------------------------------------------------

function base64(array) {
  const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
  let text = "";
  for (let at = 0; at < bytes.length; at += 1 << 14) text += String.fromCharCode(...bytes.subarray(at, at + (1 << 14)));
  return btoa(text);
}

// Rows of truth values, each in whole 32-bit words, the first value in the lowest bit.
function packed(weights, outputs, inputs, isOn) {
  const span = (inputs + 31) >>> 5;
  const words = new Uint32Array(outputs * span);
  for (let j = 0, k = 0; j < outputs; j++) {
    for (let i = 0; i < inputs; i++, k++) if (isOn(weights[k])) words[j * span + (i >>> 5)] |= 1 << (i & 31);
  }
  return base64(words);
}

function rowsOf(weights, outputs, inputs) {
  const size = { inputs, outputs };
  if (weights.some((weight) => Math.abs(weight) > 1)) return { kind: "weights", ...size, weights: base64(weights) };
  const mask = weights.includes(0) ? packed(weights, outputs, inputs, (weight) => weight !== 0) : null;
  return { kind: "dense", ...size, signs: packed(weights, outputs, inputs, (weight) => weight > 0), mask };
}

// The largest match count of each row must stay within the page's 31 bits.
function seeSizes(name, weights, outputs, topOf) {
  const inputs = weights.length / outputs;
  for (let j = 0, k = 0; j < outputs; j++) {
    let size = 0;
    for (let i = 0; i < inputs; i++, k++) size += Math.abs(weights[k]) * topOf(i);
    see(size < NEVER, `sums of ${name} reach beyond 2^31, and the page counts in 31 bits`);
  }
}

function clipped(values) {
  return Array.from(values, (value) => Math.max(-FAR, Math.min(FAR, Number(value))));
}

function layerOf(source, name, part, tops) {
  const { kind, outputs } = part;
  if (kind.endsWith("pool")) {
    const size = { inputs: product(part.shape), outputs: part.shape[0] * product(positionsOf(part)) };
    const pool = { kind, ...size, window: windowOf(part), every: source.flags(`${name}.every`, part.shape[0]) };
    return kind === "pool" ? pool : { ...pool, top: part.top, height: part.top };
  }
  const width = "shape" in part ? (part.shape[0] / part.groups) * product(part.kernel) : part.inputs;
  const weights = source.weights(name, part, width);
  const taus = source.thresholds(name, part);
  const size = { inputs: part.inputs, outputs };
  if (kind === "stairs") {
    const inputTops = part.reads === "levels" ? tops : new Array(part.inputs).fill(1);
    seeSizes(name, weights, outputs, (i) => inputTops[i]);
    return { kind, ...size, weights: base64(weights), tops: inputTops, height: part.steps, steps: base64(Uint32Array.from(taus, Number)) };
  }
  if ("shape" in part) {
    const top = part.top ?? 1;
    seeSizes(name, weights, outputs, () => top);
    const maps = { inputs: product(part.shape), outputs: outputs * product(positionsOf(part)), window: windowOf(part), channels: outputs, weights: base64(weights), groups: part.groups, top: part.top };
    if (kind === "conv") return { kind, ...maps, tau: clipped(taus) };
    const lowest = Array.from({ length: outputs }, (_, j) => top * weights.subarray(j * width, (j + 1) * width).reduce((sum, weight) => sum + Math.min(weight, 0), 0));
    const above = Array.from(taus, (step, k) => (Number(step) === NEVER ? NEVER : Number(step) - lowest[Math.floor(k / part.steps)]));
    return { kind, ...maps, pad: part.pad, height: part.steps, steps: base64(Uint32Array.from(above)) };
  }
  seeSizes(name, weights, outputs, (i) => (kind === "level" ? tops[i] : 1));
  if (kind === "level") return { kind: "levels", ...size, weights: base64(weights), tops, tau: clipped(taus) };
  return { ...rowsOf(weights, outputs, part.inputs), tau: clipped(taus) };
}

function windowOf(part) {
  return Object.fromEntries(GEOMETRY.map((key) => [key, part[key]]));
}

function headOf(source, tops) {
  const { head } = source;
  const { inputs, outputs, bias, scale } = head;
  const weights = source.weights("head", head, inputs);
  const topOf = (i) => ("top" in head ? tops[i] : 1);
  seeSizes("the last layer", weights, outputs, topOf);
  const sizes = Array.from({ length: outputs }, (_, j) => {
    let size = 0;
    for (let i = 0; i < inputs; i++) size += Math.abs(weights[j * inputs + i]) * topOf(i);
    return BigInt(size);
  });
  const slopes = scale.map((one) => one.plus(one));
  const offsets = bias.map((one, k) => one.minus(scale[k].times(new Fraction(sizes[k]))));
  const gcd = (a, b) => (b ? gcd(b, a % b) : a);
  const unit = [...slopes, ...offsets].reduce((all, { bottom }) => (all / gcd(all, bottom)) * bottom, 1n);
  const whole = (one) => String((one.top * unit) / one.bottom);
  const rows = "top" in head ? { kind: "levels", inputs, outputs, weights: base64(weights), tops } : rowsOf(weights, outputs, inputs);
  return { ...rows, slopes: slopes.map(whole), offsets: offsets.map(whole), unit: String(unit), scale: scale.map(near), bias: bias.map(near) };
}

// The nearest float, for showing only.
function near(fraction) {
  const below = Math.max(-Number.MAX_VALUE, Math.min(Number.MAX_VALUE, fraction.toNumber()));
  const above = Math.min(Number.MAX_VALUE, -nextDown(-below));
  const away = (float) => Fraction.ofNumber(float).minus(fraction).abs();
  return away(above).compare(away(below)) < 0 ? above : below;
}

// The picture that a sample is: shades of grey, or colours whose channels come first or last; null for a table.
function gridOf(source) {
  const codings = source.features.map(([, number]) => source.codings[number]);
  const [first] = codings;
  const isRange = codings.every(({ kind, low, high }) => kind === "steps" && low !== null && high !== null && low === first.low && high === first.high);
  if (!codings.length || !isRange || first.low === first.high) return null;
  const side = Math.round(Math.sqrt(codings.length));
  const names = source.features.map(([name]) => name);
  const isPixels = names.every((name) => name.toLowerCase().includes("pixel")) || names.every((name, f) => name === `x${f + 1}`);
  if (side >= 4 && side * side === codings.length && isPixels) return { rows: side, columns: side, channels: 1, last: true };
  const stated = source.raw.source?.shape?.map(Number) ?? [];
  const shape = stated.length === 2 ? [...stated, 1] : stated;
  if (shape.length !== 3 || !(CHANNELS.includes(shape[0]) || CHANNELS.includes(shape[2]))) return null;
  const last = CHANNELS.includes(shape[2]);
  const [rows, columns, channels] = last ? shape : [...shape.slice(1), shape[0]];
  return Math.min(rows, columns) < 4 || rows * columns > PIXEL_LIMIT ? null : { rows, columns, channels, last };
}

// Whether the first layer reads levels of features, not bits.
function readsLevels([first]) {
  if (!first) return false;
  return ["level", "level pool", "stairs conv"].includes(first.kind) || first.reads === "levels" || (first.kind === "conv" && first.top !== null);
}

// A value of the first state that a feature can have.
function lowest(coding) {
  const values = coding.kind === "onehot" ? new OneHot(coding) : new Steps(coding);
  let state = 0;
  while (!values.possible(state)) state++;
  return values.valueOf(state);
}

// -- inputs that can occur ---------------------------------------------------------------------------------------------------

// The limits of the file, as the page has them; null without any. They are those of the training range where they are written alike.
function domainOf({ raw, codings, features }) {
  if (!raw.domain) return null;
  const spans = new Map(raw.domain.limits.map(([f, span]) => [plain(f, "a feature"), span]));
  see(spans.size === raw.domain.limits.length && [...spans.keys()].every((f) => f in features), "it has limits of a feature that is not there, or twice");
  const [entries, numbers] = raw.seen ?? [[], []];
  const isSeen = numbers.length === spans.size && numbers.every((number, f) => spans.has(f) && repr(spans.get(f)) === repr(entries[number]));
  const count = spans.size;
  const written = features.map(([, number], f) => `${number} ${spans.has(f) ? repr(spans.get(f)) : ""}`);
  const places = [...new Set(written)];
  const kept = places.map((text) => {
    const f = written.indexOf(text);
    const { width: _, text: _text, ...coding } = codings[features[f][1]];
    return spans.has(f) ? { ...coding, limit: limitOf(coding, spans.get(f)) } : coding;
  });
  return {
    words: isSeen ? "for inputs within what was seen in training" : `for inputs within limits of ${count} feature${count === 1 ? "" : "s"}`,
    laws: [],
    codings: kept,
    places: written.map((text) => places.indexOf(text)),
    lawful: null,
    data: plainAll(raw.domain),
  };
}

// The limit of a feature as floats: two ends, null for no end, or the values that it has.
function limitOf(coding, span) {
  if (coding.kind === "onehot") return { values: span["one of"].map(category) };
  const steps = new Steps(coding);
  const values = Array.isArray(span) ? null : span["one of"].map((value) => plain(value, "a limit"));
  const [low, high] = values ? [] : [span[0] === null ? -Infinity : rounded(span[0], true), span[1] === null ? Infinity : rounded(span[1], false)];
  if (coding.bipolar) {
    const holds = (bit) => (values ? values.includes(bit) : low <= bit && bit <= high);
    return { values: [0, 1].filter((bit) => holds(bit) || (bit === 0 && holds(-1))) };
  }
  if (values) return { values: values.filter((value) => steps.takes(value)) };
  return [Math.max(steps.low, low), Math.min(steps.high, high)].map((limit) => (Number.isFinite(limit) ? limit : null));
}

// The nearest float from there on, up or down.
function rounded(limit, isUp) {
  if (typeof limit !== "string") return plain(limit, "a limit");
  const exact = Fraction.ofText(limit);
  const float = near(exact);
  const order = Fraction.ofNumber(float).compare(exact);
  if (isUp) return order < 0 ? -nextDown(-float) : float;
  return order > 0 ? nextDown(float) : float;
}

const REFUSED = "The file cannot be read: ";

// A part of another type than the format has must not end in an error of JavaScript.
export function payloadOf(bytes, title, version) {
  try {
    return readPayload(bytes, title, version);
  } catch (error) {
    throw error.message.startsWith(REFUSED) ? error : new Error(`${REFUSED}its parts are not those of the format.`);
  }
}

function readPayload(bytes, title, version) {
  const source = new Source(bytes);
  see(fingerprintOf(source) === source.raw.fingerprint, "the network in it has another fingerprint than it states");
  const levels = readsLevels(source.layers);
  const width = source.widths.reduce((sum, one) => sum + one, 0);
  let tops = levels ? source.widths : new Array(width).fill(1);
  const layers = source.layers.map((part, index) => {
    const layer = layerOf(source, `layer${index + 1}`, part, tops);
    tops = new Array(layer.outputs).fill(layer.height ?? 1);
    return layer;
  });
  const { classes, notes, fingerprint } = source.raw;
  const domain = domainOf(source);
  const start = (number, f) => lowest(domain ? domain.codings[domain.places[f]] : source.codings[number]);
  const sizes = [levels ? source.features.length : width, ...layers.map(({ outputs }) => outputs), source.head.outputs];
  const count = source.features.length;
  return {
    format: "sugenet page",
    version: 1,
    server: false,
    title,
    description: `network ${sizes.join("-")} over ${count} feature${count === 1 ? "" : "s"}, classes ${classes.join(", ")}`,
    fingerprint,
    notes,
    sugenet: version,
    classes,
    codings: source.codings.map(({ width: _, text, ...coding }) => coding),
    features: source.features,
    grid: gridOf(source),
    levels,
    layers,
    head: headOf(source, tops),
    samples: [{ index: null, values: source.features.map(([, number], f) => start(number, f)), truth: null }],
    start: 0,
    count: 0,
    answers: [],
    results: null,
    ...(domain && { domain }),
    ...(domain?.words.endsWith("seen in training") && { anywhere: null }),
    ...(source.raw.columns && { columns: plainAll(source.raw.columns) }),
  };
}
