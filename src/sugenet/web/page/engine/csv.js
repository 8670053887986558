// Samples from CSV text: one row per sample, one column per feature, or the raw columns that features are read from. A column with the
// true class may stand beside them.

import { sourcesOf, textOf } from "./columns.js";
import { readNumber } from "./exact.js";

const SEPARATORS = [",", ";", "\t"];

// The fields of all lines. Quoted fields may hold separators and line breaks.
function fieldsOf(text, separator) {
  const rows = [];
  let row = [];
  const pattern = new RegExp(`(?:"((?:[^"]|"")*)"|(?!")([^${separator}\\r\\n]*))(${separator}|\\r\\n|\\n|\\r|$)`, "y");
  while (pattern.lastIndex < text.length) {
    const match = pattern.exec(text);
    if (!match) throw new Error(`Line ${rows.length + 1} has a quotation mark that does not end.`);
    row.push(match[1] === undefined ? match[2].trim() : match[1].replaceAll('""', '"'));
    if (match[3] === separator) {
      if (pattern.lastIndex === text.length) row.push("");
      continue;
    }
    rows.push(row);
    row = [];
  }
  if (row.length) rows.push(row);
  return rows.filter((fields) => fields.length > 1 || fields[0] !== "");
}

function valueOf({ name, coding }, cells, line, preparation) {
  let [text] = cells;
  try {
    if (preparation) text = textOf(preparation, cells, coding);
  } catch (error) {
    throw new Error(`Line ${line}: ${name} is ${cells.join(", ").slice(0, 60) || "empty"}, which ${error.message}.`);
  }
  if (coding.kind === "onehot") {
    const state = coding.names.indexOf(text);
    if (state >= 0) return coding.categories[state];
    throw new Error(`Line ${line}: ${name} is ${text.slice(0, 60) || "empty"}, which is not one of its ${coding.names.length} categories.`);
  }
  const value = readNumber(text);
  if (value !== null && coding.takes(value)) return value;
  throw new Error(`Line ${line}: ${name} is ${text.slice(0, 60) || "empty"}, which is not a value of this feature.`);
}

// Values and true classes of all samples, or an Error that names the line and the column.
export function readSamples(model, text) {
  const plain = text.replace(/^\ufeff/, "");
  const [firstLine = ""] = plain.split(/[\r\n]/, 1);
  const separator = SEPARATORS.reduce((a, b) => (firstLine.split(b).length > firstLine.split(a).length ? b : a));
  const rows = fieldsOf(plain, separator);
  const { columns } = model;
  const names = model.features.map(({ name }) => name);
  let sources = sourcesOf(model, rows[0] ?? []);
  const isThere = (name) => rows[0]?.includes(name);
  const hasHeader = sources.flat().every(isThere);
  const isRaw = !hasHeader && columns && rows[0]?.length === columns.names.length && columns.names.length !== names.length;
  if (!hasHeader && !isRaw && rows[0]?.length === names.length && !sources.flat().some(isThere)) sources = names.map((name) => [name]);
  const header = hasHeader ? rows.shift() : isRaw ? columns.names : names;
  if (!rows.length) throw new Error("The file has no samples.");
  if (!hasHeader && (rows[0].length !== header.length || (columns && sources.flat().some(isThere)))) {
    const missing = sources.flat().find((name) => !isThere(name));
    throw new Error(`The file has no column ${missing}, and ${rows[0].length} columns for ${names.length} features.`);
  }
  const places = sources.map((source) => source.map((name) => header.indexOf(name)));
  const known = new Set([...places.flat(), ...(columns?.names ?? []).map((name) => header.indexOf(name))]);
  const others = header.flatMap((name, place) => (known.has(place) ? [] : [[name, place]]));
  const isTruth = ([, place]) => rows.every((row) => model.classes.includes(row[place]));
  if (others.length && !(others.length === 1 && isTruth(others[0]))) {
    const unread = others.filter((other) => !isTruth(other) || others.length > 1).map(([name]) => name);
    throw new Error(`These columns are not features: ${unread.slice(0, 5).join(", ")}. Remove them; one column with class names may stay.`);
  }
  return rows.map((row, k) => {
    const line = k + 1 + Number(hasHeader);
    if (row.length !== header.length) throw new Error(`Line ${line} has ${row.length} fields, and the first line has ${header.length}.`);
    const values = model.features.map((feature, f) => valueOf(feature, places[f].map((place) => row[place]), line, columns?.features[f]));
    return { values, truth: others.length ? model.classes.indexOf(row[others[0][1]]) : null };
  });
}
