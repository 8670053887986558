// The certificate of what the page found itself: a change of class with the fewest features, or none up to some number. Its proof is what
// the walk saw: the number of sets, of patterns, and their digest, which the checker finds again in its own way.

import { patternsUpTo } from "./walk.js";

const WORD = (1n << 64n) - 1n;

// sample: raw values; target: class number or null; locked: features that stay; changes: [feature, state] pairs of least number, or null
// where there is none of up to `limit` features.
export function certify(model, { sample, target = null, locked = [], changes = null, limit = null }) {
  const states = model.statesOf(sample);
  if (model.domain && !model.domain.data) throw new Error("a browser would round the limits.");
  const { label } = model.evaluate(states);
  const stays = new Set(locked);
  const movable = model.features.map(({ number }) => number).filter((f) => !stays.has(f));
  const k = changes ? changes.length - 1 : (limit ?? movable.length);
  const found = patternsUpTo(model, states, k, locked, model.wantedOf(label, target));
  if (found === null) throw new Error("the certificate would not be true. Please report this sample.");
  const most = limit === null ? null : String(limit);
  const question = { kind: "whatif", sample, label, target, ties: "lowest", cost: { kind: "L0" }, movable, region: null, limit: most };
  const proof = { kind: "walk", sets: found.sets, patterns: found.patterns.length, digest: digestOf(found.patterns) };
  const domain = model.domain && { domain: model.domain.data };
  const certificate = { format: "sugenet certificate", version: 3, network: model.fingerprint, ...domain, question, proof };
  if (changes === null) return { ...certificate, answer: "none", witness: null };
  const witness = [...sample];
  for (const [f, state] of changes) witness[f] = model.valueOf(f, state, sample[f]);
  const value = String(changes.length);
  return { ...certificate, answer: "counterfactual", witness, value, lower: value };
}

// With h for splitmix64: the sum of h(z) over the patterns modulo 2^64, z the XOR of h(j + 1) over the neurons j that a pattern turns.
function digestOf(patterns) {
  const mixed = patterns.map((turned) => turned.reduce((z, j) => z ^ splitmix64(BigInt(j + 1)), 0n));
  const sum = mixed.reduce((total, z) => total + splitmix64(z), 0n);
  return (sum & WORD).toString(16).padStart(16, "0");
}

function splitmix64(value) {
  let z = (value + 0x9e3779b97f4a7c15n) & WORD;
  z = ((z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n) & WORD;
  z = ((z ^ (z >> 27n)) * 0x94d049bb133111ebn) & WORD;
  return z ^ (z >> 31n);
}
