// For the checker: whether the sum of digits that several samples show stays, from certificates about single samples. Each reading is
// evaluated again, each part is checked as any certificate, and the digits that no part excludes must not give another sum.

import { Beyond, readCertificate, readComposed, Wrong } from "./check_form.js";
import { isSame, rowOf, statesOf } from "./check_meaning.js";
import { topsOf } from "./check_question.js";

// What was checked. `check` checks a certificate about one sample of this network.
export function checkComposed(data, model, limit, check) {
  const certificate = readComposed(data, model);
  const readings = certificate.readings.map((one) => readingOf(one, model, limit));
  const { question, answer, parts, whole: { left } } = certificate;
  if (left < 1 || left >= readings.length) throw new Wrong("a sum has a number on the left and one on the right.");
  if (readings.some(({ classes }) => classes.some((name) => !/^[0-9]$/.test(name)))) throw new Wrong("a sum needs digits, but a class is not a digit.");
  const own = readings.map((one) => one.own);
  const allowed = readings.map(({ row, own: k, classes }) => new Set(row ? classes.keys() : [k]));
  const moved = [...own];
  const changed = new Set();
  let proved = 0;
  for (const { reading: index, certificate: about } of parts) {
    const reading = readings[index];
    if (!reading?.row) throw new Wrong("a part is about a reading that does not exist, or that is given.");
    const part = partOf(about, model, reading, question.region);
    check(about, model, limit);
    const { target } = part.question;
    if (part.answer === "proved") {
      proved++;
      for (const k of target === null ? reading.classes.keys() : [target]) if (k !== reading.own) allowed[index].delete(k);
    }
    if (part.answer !== "refuted") continue;
    if (changed.has(index)) throw new Wrong("a reading is changed twice.");
    changed.add(index);
    moved[index] = classOf(model, rowOf(model, part.witness));
  }
  const valueOf = (choice) => {
    const digits = readings.map(({ classes }, index) => classes[choice[index]]);
    return BigInt(digits.slice(0, left).join("")) + BigInt(digits.slice(left).join(""));
  };
  const value = valueOf(own);
  const given = readings.filter(({ row }) => !row).length;
  const end = given ? `; ${given} of the readings are as the certificate gives them` : "";
  const many = (count) => (count === 1 ? "1 part" : `${count} parts`);
  if (answer === "undecided") return `${many(proved)} proved; the composite is not decided${end}`;
  if (answer === "refuted") {
    const { choice } = certificate;
    if (choice.length !== moved.length || choice.some((k, index) => k !== moved[index])) throw new Wrong("the witnesses do not have the classes that are claimed.");
    if (valueOf(moved) === value) throw new Wrong("the witnesses do not change the value of the composite.");
    if (question.joint && changed.size > 1) throw new Wrong("several images are changed, each with a budget of its own.");
    return `with the witnesses of ${many(changed.size)} the value is ${valueOf(moved)}, not ${value}${end}`;
  }
  const digits = allowed.map((some, index) => [...some].map((k) => Number(readings[index].classes[k])));
  if (isOther(digits, left, value)) throw new Wrong("classes that no part excludes change the value of the composite, for all that is shown.");
  return `${many(proved)} checked, and what is left open does not change the value ${value}${end}`;
}

function readingOf(one, model, limit) {
  limit.look();
  if (one.gaps) return { classes: one.values, own: one.gaps.findIndex((gap) => gap.top === 0n), row: null };
  const row = rowOf(model, one.sample);
  return { classes: model.classes, own: classOf(model, row), row };
}

function classOf(model, row) {
  return topsOf(model, model.evaluate(statesOf(model, row)).votes)[0];
}

// A part as plain values, after it is seen to be about its reading and the region.
function partOf(about, model, reading, region) {
  const part = readCertificate(about, model);
  const { question, domain } = part;
  if (question.kind !== "robust") throw new Wrong(`a part answers ${question.kind}, not robust.`);
  const row = rowOf(model, question.sample);
  if (!row.every((value, f) => isSame(model.features[f].coding, value, reading.row[f]))) throw new Wrong("a part is about another sample than that of its reading.");
  if (question.ties !== "lowest") throw new Wrong("a part counts ties in another way than the class of a reading.");
  if (domain.limits.length) throw new Wrong("a part is about other inputs that can occur than its reading.");
  if (question.label !== reading.own) throw new Wrong("a part says that a reading has another class than it has.");
  const { kind, radius = null } = question.region;
  const isSameRegion = kind === region.kind && (radius === null || radius.compare(region.radius) === 0);
  if (!isSameRegion) throw new Wrong("a part is about another region than the composite.");
  return part;
}

// Whether some digits, one of those allowed for each reading, have another sum: column by column from the last, the carries that can
// occur, with and without a digit of the sum that differs.
function isOther(digits, left, value) {
  const numbers = [digits.slice(0, left), digits.slice(left)].map((number) => number.reverse());
  const columns = Math.max(...numbers.map((number) => number.length));
  const wanted = [...String(value).padStart(columns + 1, "0")].reverse().map(Number);
  if (wanted.length > columns + 1) throw new Beyond("the sum has too many digits.");
  let states = new Map([["0 true", [0, true]]]);
  for (let column = 0; column < columns; column++) {
    const [some, others] = numbers.map((number) => number[column] ?? [0]);
    const after = new Map();
    for (const [carry, same] of states.values()) {
      for (const a of some) {
        for (const b of others) {
          const both = a + b + carry;
          const state = [Math.floor(both / 10), same && both % 10 === wanted[column]];
          after.set(state.join(" "), state);
        }
      }
    }
    states = after;
  }
  return [...states.values()].some(([carry, same]) => !same || carry !== wanted[columns]);
}
