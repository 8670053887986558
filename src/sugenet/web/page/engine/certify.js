// The certificate of what the page found itself: a change of class with the fewest features, or none up to some number. It is written
// from a walk of its own, as the checker does it, so that what the quick walk of the page says is seen twice before anybody reads it.

import { problemAround } from "./check_question.js";
import { MOST_SETS, walkFacts } from "./check_walk.js";

// sample: raw values; target: class number or null; locked: features that stay; changes: [feature, state] pairs of least number, or null
// where there is none of up to `limit` features.
export function certify(model, { sample, target = null, locked = [], changes = null, limit = null }) {
  const stays = new Set(locked);
  const movable = model.features.map(({ number }) => number).filter((f) => !stays.has(f));
  const { label } = model.evaluate(model.statesOf(sample));
  const most = limit === null ? null : String(limit);
  const question = { kind: "whatif", sample, label, target, ties: "lowest", cost: { kind: "L0" }, movable, region: null, limit: most };
  const value = changes && String(changes.length);
  const claim = { kind: "L0", features: movable, region: null, total: value ?? most };
  const { sets, patterns, digest, isBad } = walkFacts(model, problemAround(model, question, claim, changes !== null));
  if (sets > MOST_SETS) throw new Error("there are too many sets of changes to write them down in the browser.");
  if (isBad) throw new Error("the certificate would not be true. Please report this sample.");
  const certificate = { format: "sugenet certificate", version: 2, network: model.fingerprint, question };
  const proof = { kind: "walk", sets, patterns, digest };
  if (changes === null) return { ...certificate, answer: "none", witness: null, proof };
  const witness = [...sample];
  for (const [f, state] of changes) witness[f] = model.valueOf(f, state, sample[f]);
  return { ...certificate, answer: "counterfactual", witness, proof, value, lower: value };
}
