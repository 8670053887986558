// The certificate of what the page found itself: a change of class with the fewest features, or none up to some number. Its proof is that
// all sets of fewer changes were enumerated, which a checker does again in its own way.

import { isNoneUpTo } from "./walk.js";

// sample: raw values; target: class number or null; locked: features that stay; changes: [feature, state] pairs of least number, or null
// where there is none of up to `limit` features.
export function certify(model, { sample, target = null, locked = [], changes = null, limit = null }) {
  const states = model.statesOf(sample);
  if (model.domain && !model.domain.data) throw new Error("a browser would round the limits.");
  const { label } = model.evaluate(states);
  const stays = new Set(locked);
  const movable = model.features.map(({ number }) => number).filter((f) => !stays.has(f));
  const k = changes ? changes.length - 1 : (limit ?? movable.length);
  if (!isNoneUpTo(model, states, k, locked, model.wantedOf(label, target))) throw new Error("the certificate would not be true. Please report this sample.");
  const most = limit === null ? null : String(limit);
  const question = { kind: "whatif", sample, label, target, ties: "lowest", cost: { kind: "L0" }, movable, region: null, limit: most };
  const proof = { kind: "enumerate" };
  const domain = model.domain && { domain: model.domain.data };
  const certificate = { format: "sugenet certificate", version: 3, network: model.fingerprint, ...domain, question, proof };
  if (changes === null) return { ...certificate, answer: "none", witness: null };
  const witness = [...sample];
  for (const [f, state] of changes) witness[f] = model.valueOf(f, state, sample[f]);
  const value = String(changes.length);
  return { ...certificate, answer: "counterfactual", witness, value, lower: value };
}
