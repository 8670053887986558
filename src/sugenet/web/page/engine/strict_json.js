// JSON as text from people: no key may stand twice in an object, where readers differ on which one counts.

// What the text says; an Error with what is wrong where it is no JSON or says something twice.
export function parseStrict(text) {
  const data = JSON.parse(text);
  const open = []; // for each object or list that is open: the keys so far, or null
  let last = null;
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"|[{}[\]:]/g)) {
    if (token === "{") open.push(new Set());
    else if (token === "[") open.push(null);
    else if (token === "}" || token === "]") open.pop();
    else if (token === ":") {
      const key = JSON.parse(last);
      const keys = open.at(-1);
      if (keys.has(key)) throw new Error(`the key ${last.slice(0, 40)} stands twice.`);
      keys.add(key);
    }
    last = token;
  }
  return data;
}
