// For the checker: whether a certificate has exactly the fields and kinds of values that it must have. A field that nobody expects could
// narrow what is checked without anybody noticing, so there must be none.

import { Fraction, ZERO } from "./exact.js";

// The certificate is damaged, for another network, or untrue.
export class Wrong extends Error {}

// The certificate may be right, but this page cannot see it again.
export class Beyond extends Error {}

const LONGEST = 9000; // characters of a number
const LARGEST = 2 ** 53; // beyond, a number in JSON may have lost digits on its way here
const BALLS = ["Hamming", "L0", "L1", "L2", "Linf"];

// A number of a certificate: a JSON number, or text such as 3 or -7/2.
export function exact(value, { least = null } = {}) {
  let number;
  if (typeof value === "string") {
    if (value.length > LONGEST || !/^-?[0-9]+(\/[0-9]+)?$/.test(value)) throw new Wrong(`${value.slice(0, 40)} is not a number such as 3 or -7/2.`);
    number = Fraction.ofText(value);
  } else {
    if (typeof value !== "number") throw new Wrong(`a number is needed, not ${value === null ? "null" : typeof value}.`);
    if (Math.abs(value) >= LARGEST) throw new Beyond("numbers of this size lose digits in a browser.");
    number = Fraction.ofNumber(value);
  }
  if (least !== null && number.compare(new Fraction(BigInt(least))) < 0) throw new Wrong(`${value} must not be below ${least}.`);
  return number;
}

// An object with these fields and no others; some may be left out.
export function fields(data, names, what, optional = []) {
  if (data === null || typeof data !== "object" || Array.isArray(data)) throw new Wrong(`${what} must be a JSON object.`);
  for (const name of names) if (!Object.hasOwn(data, name)) throw new Wrong(`${what} has no field ${name}.`);
  for (const name of Object.keys(data)) {
    if (!names.includes(name) && !optional.includes(name)) throw new Wrong(`${what} has a field ${name.slice(0, 40)} that it must not have.`);
  }
}

export function list(value, what) {
  if (!Array.isArray(value)) throw new Wrong(`${what} must be a list.`);
  return value;
}

export function pair(value, what) {
  if (list(value, what).length !== 2) throw new Wrong(`${what} must be a pair.`);
  return value;
}

export function place(value, count, what) {
  if (!Number.isSafeInteger(value) || value < 0 || value >= count) throw new Wrong(`${what} must be a number from 0 to ${count - 1}.`);
}

function oneOf(value, allowed, what) {
  if (!allowed.includes(value)) throw new Wrong(`unknown ${what}: it must be one of ${allowed.join(", ")}.`);
}

function features(value, model) {
  for (const feature of list(value, "features")) place(feature, model.features.length, "a feature");
  if (new Set(value).size < value.length) throw new Wrong("a feature stands twice.");
}

// A raw value; whether the encoder takes it is seen when it is read.
function rawValue(value, coding) {
  if (coding.kind !== "onehot") exact(typeof value === "boolean" ? Number(value) : value);
  else if (value !== null && typeof value === "object") throw new Wrong("a category is needed.");
}

function sample(value, model) {
  if (list(value, "a sample").length !== model.features.length) {
    throw new Wrong(`a sample has ${value.length} values, but the network reads ${model.features.length} features.`);
  }
}

function limits(value, model) {
  for (const row of list(value, "limits")) {
    const [feature, limit] = pair(row, "a limit");
    place(feature, model.features.length, "a feature");
    if (Array.isArray(limit)) {
      for (const end of pair(limit, "bounds")) if (end !== null) exact(end);
    } else {
      fields(limit, ["one of"], "a limit");
      if (!list(limit["one of"], "the values of a limit").length) throw new Wrong("a limit allows no value.");
      for (const one of limit["one of"]) rawValue(one, model.features[feature].coding);
    }
  }
  if (new Set(value.map(([feature]) => feature)).size < value.length) throw new Wrong("a feature has limits twice.");
}

function region(value, model) {
  const kind = value?.kind;
  oneOf(kind, [...BALLS, "Free", "Box", "Anything"], "kind of region");
  const what = `the region ${kind}`;
  if (BALLS.includes(kind)) {
    fields(value, ["kind", "radius"], what);
    exact(value.radius, { least: 0 });
  } else if (kind === "Free") {
    fields(value, ["kind", "features"], what);
    features(value.features, model);
  } else if (kind === "Box") {
    fields(value, ["kind", "limits"], what);
    limits(value.limits, model);
  } else fields(value, ["kind"], what);
}

function regionOrNone(value, model) {
  if (value === null) return;
  region(value, model);
  oneOf(value.kind, ["Linf", "Free", "Box", "Anything"], "region of a counterfactual");
}

function cost(value, model) {
  const kind = value?.kind;
  oneOf(kind, [...BALLS, "Prices"], "cost");
  if (kind !== "Prices") {
    fields(value, ["kind"], `the cost ${kind}`);
    return;
  }
  fields(value, ["kind", "prices", "per_unit"], "the cost Prices");
  if (typeof value.per_unit !== "boolean") throw new Wrong("true or false is needed.");
  for (const row of list(value.prices, "prices")) exact(pair(row, "a price")[1], { least: 0 });
  features(value.prices.map(([feature]) => feature), model);
}

const label = (value, model) => place(value, model.classes.length, "a class");
const labelOrNone = (value, model) => value === null || label(value, model);
const limit = (value) => value === null || exact(value, { least: 0 });
const ties = (value) => oneOf(value, ["lowest", "against"], "tie rule");

const ABOUT = { sample, label, target: labelOrNone, ties };
const QUESTIONS = {
  robust: { ...ABOUT, region },
  reason: { ...ABOUT, region, fixed: features },
  whatif: { ...ABOUT, cost, movable: features, region: regionOrNone, limit },
  always: { label, where: limits },
  never: { label, where: limits },
};

const ELSEWHERE = ["count", "monotone", "fair", "agree", "query"]; // questions that are checked in Python only

// Whether a question has the fields of its kind, and no others.
export function checkForm(question, model) {
  const kind = question?.kind;
  if (ELSEWHERE.includes(kind)) throw new Beyond(`the browser does not check questions of kind ${kind}.`);
  if (typeof kind !== "string" || !Object.hasOwn(QUESTIONS, kind)) throw new Wrong("unknown question.");
  const judges = QUESTIONS[kind];
  fields(question, ["kind", ...Object.keys(judges)], `the question ${question.kind}`);
  for (const [name, judge] of Object.entries(judges)) judge(question[name], model);
  if (Object.hasOwn(judges, "target") && question.target === question.label) {
    throw new Wrong("the target is the class that the sample has already.");
  }
}

export function isZero(fraction) {
  return fraction.compare(ZERO) === 0;
}
