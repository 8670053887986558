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
  const start = held ? `With ${many(held, word)} held, ` : "";
  const upper = (text) => (start ? text : text[0].toUpperCase() + text.slice(1));
  if (found.outcome === "minimum") {
    const size = found.changes.length;
    const least = size === 1 ? "" : size === 2 ? `, and no single ${word} can` : `, and no ${size - 1} ${word}s can`;
    return `${start}${upper("changing")} ${many(size, word)} makes it ${aClass(found.label)}${least}: proved`;
  }
  if (found.outcome === "none") return `${start}${upper("nothing")} that may change alters it: proved`;
  if (found.provedUpTo > 0) return `${start}${upper("no")} change of up to ${many(found.provedUpTo, word)} alters it: proved`;
  return "";
}

export function showValue(value) {
  return typeof value === "number" && !Number.isInteger(value) ? String(Number(value.toPrecision(6))) : String(value);
}

export function listed(items, most) {
  return items.length > most ? `${items.slice(0, most).join("; ")}; and ${items.length - most} more` : items.join("; ");
}

// What an outcome is called on the page; a change that is not proved to be the least, and all others, are undecided.
export function stateOf(outcome) {
  return { proved: "proved", minimum: "proved", none: "proved", counted: "proved", refuted: "refuted" }[outcome] || "undecided";
}
