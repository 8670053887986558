// What the payload says of one feature: its coding, its states, the ends of its slider, its shade as a pixel.
import { showValue } from "./words.js";

export function codingOf(payload, feature) {
  return payload.codings[payload.features[feature][1]];
}

export function isNumber(payload, feature) {
  return codingOf(payload, feature).kind === "steps";
}

// A state in words without the feature's name: ">= 14.8", or "12.23 <= x < 14.8".
export function shortWords(model, feature, state) {
  return model.describe(feature, state).replace(model.features[feature].title, "x").replace(/^x /, "");
}

// A raw value in few digits, but never so few that it would fall on the other side of a cut.
export function valueWords(model, feature, value) {
  const short = showValue(value);
  return typeof value === "number" && model.stateOf(feature, Number(short)) !== model.stateOf(feature, value) ? String(value) : short;
}

// A changed value with the condition that it fulfils where others do so too: "12.6 (below 12.62)".
export function newWords(model, feature, value) {
  const span = model.features[feature].coding.span(model.stateOf(feature, value));
  return `${valueWords(model, feature, value)}${span && ` (${span})`}`;
}

// The reachable state nearest to a wanted one.
export function nearestState(model, feature, wanted) {
  const away = (state) => Math.abs(state - wanted);
  return model.reachableStates(feature).reduce((best, state) => (away(state) < away(best) ? state : best));
}

// How many ways there are to change exactly 0, 1, 2, ... of the features that may move: products of their other states.
export function waysToChange(model, states, locks, most) {
  const ways = [1, ...new Array(most).fill(0)];
  for (let f = 0; f < states.length; f++) {
    if (locks.has(f)) continue;
    const others = model.possibleStates(f).filter((other) => other !== states[f]).length;
    for (let k = most; k >= 1; k--) ways[k] += ways[k - 1] * others;
  }
  return ways;
}

// Where a slider begins and ends: the values that can occur, or else a little beyond the cuts and the samples.
export function ends(payload, feature) {
  const { cuts, low, high } = codingOf(payload, feature);
  const values = payload.samples.map((sample) => Number(sample.values[feature])).concat(cuts.map(Number)).filter(Number.isFinite);
  const least = Math.min(...values);
  const most = Math.max(...values);
  const span = most - least || Math.abs(most) || 1;
  const end = (given, seen, room) => (given !== null && Math.abs(given - seen) <= 4 * span ? given : seen + room);
  return [end(low, least, -0.05 * span), end(high, most, 0.05 * span)];
}

// A pixel's value as a share of its range.
export function share(payload, feature, value) {
  const { low, high, bipolar } = codingOf(payload, feature);
  return Math.min(1, Math.max(0, ((bipolar && value === -1 ? 0 : Number(value)) - low) / (high - low)));
}

export function shade(payload, feature, value) {
  return `${Math.round(100 * share(payload, feature, value))}%`;
}

// Three features as one colour.
export function colour(payload, features, values) {
  return `rgb(${features.map((f) => Math.round(255 * share(payload, f, values[f]))).join(" ")})`;
}
