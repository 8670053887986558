// For the checker: the certificate format, as strictly as sugenet.checker.form reads it. Data from `parseStrict`, where an integer is a
// BigInt and a float is a number, becomes plain values: indices are numbers, exact numbers are fractions, raw values stay as they are.
// A field that nobody expects could narrow what is checked without anybody noticing, so there must be none.

import { Fraction, ZERO } from "./exact.js";

// The certificate is damaged, for another network, or untrue.
export class Wrong extends Error {}

// The certificate may be right, but this page cannot see it again.
export class Beyond extends Error {}

const LONGEST = 4300; // characters of a number
const BALLS = ["Hamming", "L0", "L1", "L2", "Linf"];

function shortened(value) {
  if (value === null || value === undefined) return "null";
  return Array.isArray(value) ? "a list" : typeof value === "object" ? "a JSON object" : String(value).slice(0, 40);
}

function wrong(needed, value) {
  return new Wrong(`${needed} is needed, not ${shortened(value)}.`);
}

// -- readers: (value, {features, classes}) => what it is, or an error ---------------------------------------------------------------

// An integer, a finite float, or text such as -7/2 in lowest terms.
export function exact(value) {
  if (typeof value === "bigint") return new Fraction(value);
  if (typeof value === "number" && Number.isFinite(value)) return Fraction.ofNumber(value);
  if (typeof value !== "string" || !/^-?[0-9]+(\/[1-9][0-9]*)?$/.test(value)) throw wrong("a number such as 3 or -7/2", value);
  if (value.length > LONGEST) throw new Beyond("a number has too many digits for a browser.");
  const number = Fraction.ofText(value);
  if (String(number) !== value) throw new Wrong(`the number ${value.slice(0, 40)} is not in lowest terms.`);
  return number;
}

function notNegative(value) {
  const number = exact(value);
  if (number.compare(ZERO) < 0) throw new Wrong(`the number ${number} is negative.`);
  return number;
}

function natural(value) {
  if (typeof value !== "bigint" || value < 0n) throw wrong("an integer of at least 0", value);
  return value;
}

function indexBelow(value, count, what) {
  if (typeof value !== "bigint" || value < 0n || value >= count) throw wrong(`${what} from 0 to ${count - 1}`, value);
  return Number(value);
}

const feature = (value, { features }) => indexBelow(value, features, "a feature");
const label = (value, { classes }) => indexBelow(value, classes, "a class");

function scalar(value) {
  if (value !== null && (typeof value === "object" || value === Infinity || value === -Infinity)) throw wrong("a raw value", value);
  return value;
}

function ofType(type, needed) {
  return (value) => {
    if (typeof value !== type) throw wrong(needed, value);
    return value;
  };
}

const text = ofType("string", "text");
const truth = ofType("boolean", "true or false");
const orNull = (read) => (value, sizes) => (value === null ? null : read(value, sizes));

function nothing(value) {
  if (value !== null) throw wrong("null", value);
  return null;
}

function oneOf(...allowed) {
  return (value) => {
    if (!allowed.includes(value)) throw wrong(allowed.join(" or "), value);
    return value;
  };
}

function isObject(value) {
  return value !== null && typeof value === "object" && !Array.isArray(value);
}

function listOf(read) {
  return (value, sizes) => {
    if (!Array.isArray(value)) throw wrong("a list", value);
    return value.map((part) => read(part, sizes));
  };
}

function pair(first, second) {
  return (value, sizes) => {
    if (!Array.isArray(value)) throw wrong("a list", value);
    if (value.length !== 2) throw new Wrong(`a list has ${value.length} parts, but must have 2.`);
    return [first(value[0], sizes), second(value[1], sizes)];
  };
}

// An object with these fields and no others; `may` lists those that may be left out.
function object(readers, what, may = []) {
  return (value, sizes) => {
    if (!isObject(value)) throw wrong("a JSON object", value);
    for (const name of Object.keys(value)) if (!Object.hasOwn(readers, name)) throw new Wrong(`${what} has a field ${name.slice(0, 40)} that it must not have.`);
    const found = {};
    for (const [name, read] of Object.entries(readers)) {
      if (Object.hasOwn(value, name)) found[name] = named(name, () => read(value[name], sizes));
      else if (!may.includes(name)) throw new Wrong(`${what} has no field ${name}.`);
    }
    return found;
  };
}

// What is wrong, with the field where it is.
function named(name, read) {
  try {
    return read();
  } catch (error) {
    if (error instanceof Wrong) throw new Wrong(`${name}: ${error.message}`);
    throw error;
  }
}

// Objects by the text of one of their fields. What is checked in Python only is not looked into.
function byField(field, kinds, elsewhere = [], what = "") {
  return (value, sizes) => {
    if (!isObject(value)) throw wrong("a JSON object", value);
    const kind = value[field];
    if (elsewhere.includes(kind)) throw new Beyond(`the browser does not check ${what} of kind ${kind}.`);
    if (typeof kind !== "string" || !Object.hasOwn(kinds, kind)) throw new Wrong(`unknown ${field} ${shortened(kind)}.`);
    return object({ [field]: text, ...kinds[kind] }, kind)(value, sizes);
  };
}

function once(read, indexOf = (one) => one) {
  return (value, sizes) => {
    const found = read(value, sizes);
    if (new Set(found.map(indexOf)).size < found.length) throw new Wrong("a feature occurs twice.");
    return found;
  };
}

const features = once(listOf(feature));

function row(value, sizes) {
  const found = listOf(scalar)(value, sizes);
  if (found.length !== sizes.features) throw new Wrong(`a sample has ${found.length} values, but the network reads ${sizes.features} features.`);
  return found;
}

// -- the format ---------------------------------------------------------------------------------------------------------------------

// {low, high}, null for no bound; or {values}.
function limit(value, sizes) {
  if (Array.isArray(value)) {
    const [low, high] = pair(orNull(exact), orNull(exact))(value, sizes);
    return { low, high };
  }
  const values = object({ "one of": listOf(scalar) }, "a limit")(value, sizes)["one of"];
  if (!values.length) throw new Wrong("a limit allows no value.");
  return { values };
}

const firstOf = ([first]) => first;
const limits = once(listOf(pair(feature, limit)), firstOf);

const REGIONS = { Free: { features }, Box: { limits }, AnyInput: {}, Linf: { radius: notNegative } };
const regionInside = byField("kind", REGIONS); // of a counterfactual: without a budget of its own
const region = byField("kind", { ...Object.fromEntries(BALLS.map((kind) => [kind, { radius: notNegative }])), ...REGIONS });
const prices = once(listOf(pair(feature, notNegative)), firstOf);
const cost = byField("kind", { ...Object.fromEntries(BALLS.map((kind) => [kind, {}])), Prices: { prices, per_unit: truth } });

const ABOUT = { sample: row, label, target: orNull(label), ties: oneOf("lowest", "against") };
const WITHIN = { label, where: limits };
const VERDICTS = { robust: { ...ABOUT, region }, always: WITHIN, never: WITHIN };
const REASONS = { reason: { ...ABOUT, region, fixed: features } };
const WHATIFS = { whatif: { ...ABOUT, cost, movable: features, region: orNull(regionInside), limit: orNull(notNegative) } };
const QUESTIONS_ELSEWHERE = ["count", "monotone", "fair", "agree", "query"];
const PROOFS_ELSEWHERE = ["order", "lemma", "patches", "dual"];

function question(kinds) {
  return (value, sizes) => {
    if (isObject(value) && value.kind === "reason" && "precision" in value) throw new Beyond("the browser does not count shares of inputs.");
    const found = byField("kind", kinds, QUESTIONS_ELSEWHERE, "questions")(value, sizes);
    if ((found.target ?? null) !== null && found.target === found.label) throw new Wrong("the target is the class of the sample.");
    return found;
  };
}

const PROOFS = { bound: {}, enumerate: {} };
const proof = byField("kind", PROOFS, PROOFS_ELSEWHERE, "proofs");
const counterexamples = listOf(pair(feature, row));
const contrasts = listOf(listOf(pair(feature, scalar)));

// A condition of a clause: a feature, a value, and whether the feature reaches or has it.
function condition(value, sizes) {
  if (!Array.isArray(value) || value.length !== 3) throw wrong("a feature, a value and a truth", value);
  return [feature(value[0], sizes), scalar(value[1], sizes), truth(value[2], sizes)];
}

const law = object({ text, clauses: listOf(listOf(condition)) }, "a law");

function domain(value, sizes) {
  const found = object({ limits, laws: listOf(law) }, "the domain")(value, sizes);
  if (new Set(found.laws.map((one) => one.text)).size < found.laws.length) throw new Wrong("a law occurs twice.");
  if (!found.limits.length && !found.laws.length) throw new Wrong("a domain without limits and laws must be left out.");
  if (found.laws.length) throw new Beyond("the browser does not check laws of inputs.");
  return found;
}

// For each answer its fields.
const ANSWERS = {
  proved: { question: question(VERDICTS), witness: nothing, proof },
  refuted: { question: question(VERDICTS), witness: row, proof: nothing },
  undecided: { question: question(VERDICTS), witness: nothing, proof: orNull(proof), proved_up_to: orNull(exact) },
  counterfactual: { question: question(WHATIFS), witness: row, value: exact, lower: exact, proof: orNull(proof) },
  open: { question: question(WHATIFS), witness: nothing, lower: exact, proof: orNull(proof) },
  none: { question: question(WHATIFS), witness: nothing, proof },
  unknown: { question: question(REASONS), witness: orNull(counterexamples), proof: nothing },
  sufficient: { question: question(REASONS), witness: nothing, proof },
  minimal: { question: question(REASONS), witness: counterexamples, proof },
  minimum: { question: question(REASONS), witness: orNull(counterexamples), proof, contrasts },
};

// -- several samples ----------------------------------------------------------------------------------------------------------------

const GIVEN = object({ kind: oneOf("given"), name: text, values: listOf(text), gaps: listOf(notNegative) }, "a reading");
const READ = object({ name: text, network: natural, classes: nothing, sample: row }, "a reading");

function reading(value, sizes) {
  if (isObject(value) && ((value.classes ?? null) !== null || "domain" in value)) throw new Beyond("the browser does not check readings with some of the classes or inputs.");
  if (!isObject(value) || !("kind" in value)) return READ(value, sizes);
  const found = GIVEN(value, sizes);
  const isBest = found.gaps.some((gap) => gap.compare(ZERO) === 0);
  if (found.values.length !== found.gaps.length || !isBest) throw new Wrong("a reading that is given needs a gap for each value, and 0 for the best.");
  if (new Set(found.values).size < found.values.length) throw new Wrong("a reading that is given has a value twice.");
  return found;
}

const indices = listOf((value) => indexBelow(value, 2 ** 31, "an index"));
const whole = byField("kind", { sum: { left: (value) => indexBelow(value, 2 ** 31, "an index") } }, ["sudoku", "stated"], "composites");
const everywhere = byField("kind", { ...Object.fromEntries(BALLS.map((kind) => [kind, { radius: notNegative }])), AnyInput: {} });
const asked = byField("kind", { robust: { region: everywhere, joint: truth } }, ["possible", "reason", "whatif"], "questions about several samples");
const part = object({ reading: (value) => indexBelow(value, 2 ** 31, "a reading"), certificate: (value) => value }, "a part");
const enumerated = byField("kind", { enumerate: {} });
const COMPOSED = { proved: { proof: enumerated }, refuted: { choice: indices }, undecided: {} };

// A certificate about samples of this network together as plain values; what is about each of them is as it was.
export function readComposed(data, model) {
  if (!isObject(data) || data.format !== "sugenet certificate" || data.version !== 3n) throw new Wrong("this is not a sugenet certificate of version 3.");
  if (!Array.isArray(data.networks) || data.networks.length !== 1) throw new Beyond("the browser checks answers about samples of one network.");
  if (data.networks[0] !== model.fingerprint) throw new Wrong("the certificate is for another network than that of this page.");
  if (isObject(data.question)) asked(data.question); // what is checked elsewhere
  if (isObject(data.whole)) whole(data.whole);
  if (typeof data.answer !== "string" || !Object.hasOwn(COMPOSED, data.answer)) throw new Wrong(`unknown answer ${shortened(data.answer)}.`);
  const outside = { format: text, version: natural, networks: listOf(text), readings: listOf(reading), whole, question: asked, answer: text, parts: listOf(part) };
  const sizes = { features: model.features.length, classes: model.classes.length };
  const found = object({ ...outside, ...COMPOSED[data.answer] }, "the certificate")(data, sizes);
  const { question, readings } = found;
  if (question.joint && ["AnyInput", "Linf"].includes(question.region.kind)) throw new Wrong("a budget that images share is one that adds up their changes.");
  if (new Set(readings.map(({ name }) => name)).size < readings.length) throw new Wrong("each reading needs a name of its own.");
  const isRead = readings.some(({ sample }) => sample) && readings.every(({ gaps, network }) => gaps || network === 0n);
  if (!isRead) throw new Wrong("a network reads nothing, or is not there.");
  return found;
}

// A certificate about this network as plain values.
export function readCertificate(data, model) {
  if (!isObject(data) || data.format !== "sugenet certificate" || data.version !== 3n) throw new Wrong("this is not a sugenet certificate of version 3.");
  if (data.answer === "counted" || "networks" in data || "ratings" in data) throw new Beyond("the browser does not check certificates of this kind.");
  if (typeof data.network === "string" && data.network !== model.fingerprint) {
    throw new Wrong(`the certificate is for the network ${data.network.slice(0, 12)}, not for ${model.fingerprint.slice(0, 12)}.`);
  }
  if (typeof data.answer !== "string" || !Object.hasOwn(ANSWERS, data.answer)) throw new Wrong(`unknown answer ${shortened(data.answer)}.`);
  const outside = { format: text, version: natural, network: text, answer: text, domain, ...ANSWERS[data.answer] };
  const sizes = { features: model.features.length, classes: model.classes.length };
  return { domain: { limits: [], laws: [] }, ...object(outside, "the certificate", ["domain"])(data, sizes) };
}
