// Features read from the raw columns of a table, as sugenet.nn.columns says: cells of a line in, the text of a feature's value out.

import { Steps } from "./codings.js";
import { readNumber, shortest } from "./exact.js";

const GAPS = new Set(["", "na", "n/a", "nan", "nat", "<na>", "null", "none", "?"]);
const BITS = new Map([["0", false], ["0.0", false], ["false", false], ["1", true], ["1.0", true], ["true", true]]);
const MOMENT = /^(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d))?(\.\d+)?(?:Z|([+-]\d\d):?(\d\d))?)?$/;
const DAY = 86400;

// The names of the columns that each feature is read from: its own if it is there, otherwise the raw ones.
export function sourcesOf({ columns, features }, header) {
  return features.map(({ name }, f) => {
    const raw = columns?.features[f].columns.map((place) => columns.names[place]) ?? [name];
    if (!header.includes(name)) return raw;
    const twice = raw.find((column) => column !== name && header.includes(column));
    if (twice) throw new Error(`The file gives ${name} twice, also by the column ${twice}. Remove one.`);
    return [name];
  });
}

export function rangeLabels(cuts) {
  const texts = cuts.map(shortest);
  if (!texts.length) return ["any number"];
  return [`below ${texts[0]}`, ...texts.slice(1).map((high, k) => `${texts[k]} up to ${high}`), `${texts.at(-1)} or more`];
}

// Seconds since 1970, and whether there is a fraction of one; null for a text that is not a date.
function momentOf(text) {
  const match = MOMENT.exec(text);
  if (!match) return null;
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map((part) => Number(part ?? 0));
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day || hour > 23 || minute > 59 || second > 59) return null;
  const away = match[8] ? 60 * Number(match[8]) + Number(match[8][0] + match[9]) : 0;
  return { seconds: date.getTime() / 1000 + 3600 * hour + 60 * (minute - away) + second, isBroken: /[1-9]/.test(match[7] ?? "") };
}

function partOf(text, how) {
  const moment = momentOf(text);
  if (!moment) {
    if (readNumber(text) !== null) return text;
    throw new Error("is not a date such as 2020-12-31 or 2020-12-31 23:59:00");
  }
  if (moment.isBroken && how === "seconds") throw new Error("has a fraction of a second");
  const days = Math.floor(moment.seconds / DAY);
  const date = new Date(days * DAY * 1000);
  const parts = { days, seconds: moment.seconds, year: date.getUTCFullYear(), month: date.getUTCMonth() + 1, weekday: ((((days + 3) % 7) + 7) % 7) + 1 };
  return String(parts[how]);
}

function categoryOf(text, names, categories) {
  const number = names.includes(text) ? null : readNumber(text);
  const equal = number === null ? -1 : categories.findIndex((one) => one !== null && typeof one !== "string" && Number(one) === number);
  if (equal >= 0) return names[equal];
  const isTruth = ["true", "false"].includes(text.toLowerCase());
  const spellings = isTruth ? ["True", "False", "true", "false", "TRUE", "FALSE"].filter((one) => one.toLowerCase() === text.toLowerCase()) : [];
  return [text, ...spellings].find((one) => names.includes(one)) ?? text;
}

// The text of the value of a feature. An Error says what is wrong with the cells.
export function textOf({ how, fill, cuts }, cells, coding) {
  const { names = [], categories = [] } = coding;
  let [text] = cells;
  if (cells.length > 1) {
    const bits = cells.map((cell) => BITS.get(cell.toLowerCase()));
    const isGap = cells.every((cell) => GAPS.has(cell.toLowerCase()));
    if (!isGap && (bits.includes(undefined) || bits.filter(Boolean).length !== 1)) throw new Error("is not 1 in exactly one of its columns and 0 in the others");
    text = isGap ? "" : names[bits.indexOf(true)];
  }
  const isName = names.includes(text) && categories[names.indexOf(text)] !== null;
  if (GAPS.has(text.toLowerCase()) && !isName) {
    if (fill === null && !categories.includes(null)) throw new Error("is missing");
    return fill === null || names.length ? names[categories.indexOf(fill)] : String(fill);
  }
  text = categoryOf(text, names, categories);
  if (how === "ranges" && !names.includes(text)) {
    const number = readNumber(text);
    if (number === null) throw new Error("is neither a number nor one of the ranges");
    return rangeLabels(cuts)[new Steps({ cuts }).state(number)];
  }
  return ["value", "one-hot", "ranges"].includes(how) ? text : partOf(text, how);
}
