// JSON read without loss. JSON.parse rounds integers beyond 2^53, reads 1.0 as 1, and lets the last of two equal keys win.

const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*|true|false|null|[{}[\]]/g;
const DIGITS = 4300; // of a number, as Python reads
const LONG = /[[,:]\s*-?\d{16}/;

// What the text says, with a BigInt for each integer and a number for each float; an Error where it is no JSON or has a key twice.
export function parseStrict(text, number = exactly) {
  JSON.parse(text); // throws where it is no JSON, so that tokens are all that is left to read
  const open = [{ value: [], key: null }]; // objects and lists that are not closed yet
  for (const [token] of text.matchAll(TOKEN)) {
    const inner = open.at(-1);
    if (token === "{" || token === "[") open.push({ value: token === "[" ? [] : Object.create(null), key: null });
    else if (token === "}" || token === "]") {
      open.pop();
      add(open.at(-1), inner.value);
    } else if (!Array.isArray(inner.value) && inner.key === null) {
      inner.key = JSON.parse(token);
      if (Object.hasOwn(inner.value, inner.key)) throw new Error(`the key ${token.slice(0, 40)} stands twice.`);
    } else add(inner, /^[-\d]/.test(token) ? number(token) : JSON.parse(token));
  }
  return open[0].value[0];
}

// The same for the page's own use: integers are numbers, except those that a number would round.
export function parsePlain(text) {
  return LONG.test(text) ? parseStrict(text, plainly) : JSON.parse(text);
}

// The text of what `parsePlain` gave. Integers have all their digits, and a list without lists is one line.
export function writePlain(data, line = "\n") {
  if (typeof data === "bigint" || Number.isInteger(data)) return String(BigInt(data));
  if (data === null || typeof data !== "object") return JSON.stringify(data);
  const inner = `${line} `;
  const isList = Array.isArray(data);
  const parts = isList ? data.map((value) => writePlain(value, inner)) : Object.entries(data).map(([key, value]) => `${JSON.stringify(key)}: ${writePlain(value, inner)}`);
  const [first, last] = isList ? "[]" : "{}";
  if (isList && !data.some((value) => value !== null && typeof value === "object")) return `[${parts.join(", ")}]`;
  return parts.length ? `${first}${inner}${parts.join(`,${inner}`)}${line}${last}` : first + last;
}

function add(inner, value) {
  if (Array.isArray(inner.value)) inner.value.push(value);
  else inner.value[inner.key] = value;
  inner.key = null;
}

function exactly(token) {
  if (/[.eE]/.test(token)) return Number(token);
  if (token.length > DIGITS) throw new Error(`an integer has more than ${DIGITS} digits.`);
  return BigInt(token);
}

function plainly(token) {
  const near = Number(token);
  return Number.isSafeInteger(near) || /[.eE]/.test(token) ? near : BigInt(token);
}
