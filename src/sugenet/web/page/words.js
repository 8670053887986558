// Sentences. One unit for changes: pixels where the input is an image, features otherwise.
import { many } from "./dom.js";

export function unit(payload) {
  return payload.grid ? "pixel" : "feature";
}

// "a 4", "an 8", but "malignant": a class named by a digit gets an article.
export function aClass(name) {
  return /^\d$/.test(name) ? `${name === "8" ? "an" : "a"} ${name}` : name;
}

export function verdictWords(found, held, word) {
  const begin = (text) => upper(`${withHeld(held, word)}${text}: proved`);
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

export function listed(items, most) {
  return items.length > most ? `${items.slice(0, most).join("; ")}; and ${items.length - most} more` : items.join("; ");
}

// What an outcome is called on the page; a change that is not proved to be the least, and all others, are undecided.
export function stateOf(outcome) {
  if (["proved", "minimum", "minimal", "sufficient", "none", "counted"].includes(outcome)) return "proved";
  return outcome === "refuted" ? "refuted" : "undecided";
}
