// For the checker: that no feature of a reason can be left out, and that no smaller reason exists.

import { Beyond, Wrong } from "./check_form.js";
import { around, isSame, rowOf, statesOf } from "./check_meaning.js";
import { violates } from "./check_question.js";

const MOST_WORK = 20_000_000; // sets that are looked at in the search for a smaller reason

export function checkReason(certificate, { model, question, sample, limits, limit }, proved) {
  const { answer, witness, contrasts } = certificate;
  const fixed = new Set(question.fixed);
  const inputs = around(model, sample, question.region, limits); // a counterexample changes fixed features
  const said = [`these ${fixed.size} features suffice: ${proved}`];

  // Features that a counterexample changes, after it is replayed.
  const changedBy = (raw) => {
    limit.look();
    const row = rowOf(model, raw);
    inputs.see(row, "a counterexample");
    if (!violates(model, question, model.evaluate(statesOf(model, row)).votes)) throw new Wrong("a counterexample does not change the answer as claimed.");
    return model.features.flatMap(({ coding }, f) => (isSame(coding, sample[f], row[f]) ? [] : [f]));
  };

  if (witness !== null) {
    const left = new Set(fixed);
    for (const [feature, row] of witness) {
      const met = changedBy(row).filter((f) => fixed.has(f));
      if (met.length !== 1 || met[0] !== feature) {
        throw new Wrong(`the counterexample for feature ${feature} changes another one of the reason, or not this one.`);
      }
      left.delete(feature);
    }
    if (left.size) throw new Wrong(`nothing shows that feature ${[...left].sort((a, b) => a - b)[0]} cannot be left out.`);
    said.push("each has a counterexample that leaves the others of them alone");
  }
  if (answer === "minimum") {
    const sets = contrasts.map((changes) => {
      const row = [...question.sample];
      for (const [feature, value] of changes) row[feature] = value;
      return changedBy(row);
    });
    if (fixed.size && hittingSetWithin(sets, fixed.size - 1)) throw new Wrong("the counterexamples do not exclude a smaller reason.");
    said.push(fixed.size ? `no ${fixed.size - 1} features meet all of ${sets.length} counterexamples` : "none is smaller than nothing");
  }
  return said.join("; ");
}

// Whether some set of at most so many elements meets all sets; by branching on a smallest set that is not met.
export function hittingSetWithin(sets, size) {
  let work = 0;

  const search = (left, room, banned) => {
    work += left.length + 1;
    if (work > MOST_WORK) throw new Beyond("there are too many counterexamples to see in a browser that no smaller reason exists.");
    if (!left.length) return true;
    const open = left.map((row) => row.filter((f) => !banned.has(f))).sort((a, b) => a.length - b.length);
    const apart = new Set(); // sets that share nothing need an element each
    let least = 0;
    for (const row of open) {
      if (row.some((f) => apart.has(f))) continue;
      least++;
      row.forEach((f) => apart.add(f));
    }
    if (least > room || !open[0].length) return false;
    const tried = new Set(banned);
    for (const f of open[0]) {
      if (search(left.filter((row) => !row.includes(f)), room - 1, tried)) return true;
      tried.add(f);
    }
    return false;
  };

  return search(sets, size, new Set());
}
