// Sentences. One unit for changes: pixels where the input is an image, values of a colour where it has colours, features otherwise.
import { many } from "./dom.js";

export function unit({ grid }) {
  return grid ? (grid.channels > 1 ? "colour value" : "pixel") : "feature";
}

// "a 4", "an 8", but "malignant": a class named by a digit gets an article.
export function aClass(name) {
  return /^\d$/.test(name) ? `${name === "8" ? "an" : "a"} ${name}` : name;
}

// Which inputs every answer is about, as it ends a claim; nothing where all can occur.
export function within({ domain }) {
  return domain ? `, ${domain.words}` : "";
}

// What the figures on the page mean, for those who point at them and in the lesson.
export const TERMS = {
  M: "The match count M: how many of the literals that the weights select hold in this input.",
  tau: "The threshold tau: a neuron is on if its match count M is at least tau.",
  possibility: "The possibility of a class: 1 for the winner, exp(score − best score) for the others.",
  behind: "How far the score of a class is below that of the winner.",
};

export function verdictWords(found, held, word, occurs) {
  const begin = (text) => upper(`${withHeld(held, word)}${text}${occurs}: proved`);
  const size = found.outcome === "minimum" ? found.changes.length : 0;
  if (size === 1) return begin(`changing 1 ${word} makes it ${aClass(found.label)}`);
  if (found.outcome === "none") return begin("nothing that may change alters it");
  if (!found.provedUpTo) return "";
  const upTo = found.provedUpTo > 1 ? "up to " : "";
  const but = size ? `, but ${size} make it ${aClass(found.label)}` : "";
  return begin(`no change of ${upTo}${many(found.provedUpTo, word)} alters it${but}`);
}

// What is held belongs to a claim: without it, fewer changes may do.
export function withHeld(held, word) {
  return held ? `with ${many(held, word)} held, ` : "";
}

export function upper(text) {
  return text[0].toUpperCase() + text.slice(1);
}

export function showValue(value) {
  return typeof value === "number" && !Number.isInteger(value) ? String(Number(value.toPrecision(6))) : String(value);
}

export function duration(seconds) {
  const units = [[172800, 86400, "days"], [7200, 3600, "h"], [120, 60, "min"], [0.1, 1, "s"], [0, 0.001, "ms"]];
  const [, size, name] = units.find(([least]) => seconds >= least);
  return seconds ? `${Number((seconds / size).toPrecision(3))} ${name}` : "0 s";
}

// A share with two decimals, as Python writes it: the nearest, and 0 and 100 only where they are exact.
export function percent(part, whole) {
  const [a, b] = [BigInt(part), BigInt(whole)];
  if (a === 0n || a === b) return a ? "100 %" : "0 %";
  const [parts, rest] = [(10000n * a) / b, (10000n * a) % b];
  const isUp = 2n * rest > b || (2n * rest === b && parts % 2n === 1n);
  const nearest = parts + (isUp ? 1n : 0n);
  if (nearest === 0n) return "under 0.01 %";
  if (nearest === 10000n) return "over 99.99 %";
  return `${nearest / 100n}.${String(nearest % 100n).padStart(2, "0")} %`;
}

export function listed(items, most) {
  return items.length > most ? `${items.slice(0, most).join("; ")}; and ${items.length - most} more` : items.join("; ");
}

// What an answer is called on the page; a change that is not proved to be the least, and all others, are undecided.
export function stateOf({ outcome, is_minimum: isLeast }) {
  if (["proved", "none", "counted"].includes(outcome) || (outcome === "found" && isLeast !== false)) return "proved";
  return outcome === "refuted" ? "refuted" : "undecided";
}
