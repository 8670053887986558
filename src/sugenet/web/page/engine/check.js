// Certificates seen again in the browser, by code that shares nothing with the walks and bounds of this page, nor with Python, but the
// network itself. A witness is replayed; a proof that there is none is done again. What this page cannot do it says, and leaves open.
// The certificate names its network by a fingerprint; that this page's network has it is taken from whoever made the page.

import { checkBounds } from "./check_bounds.js";
import { Beyond, checkForm, exact, fields, isZero, Wrong } from "./check_form.js";
import { Limit } from "./check_limit.js";
import { problemAround, problemWithin, topsOf, violates } from "./check_question.js";
import { checkReason } from "./check_reason.js";
import { changesOf, liesInside, priceOf, readSample, statesOf, within } from "./check_values.js";
import { checkWalk } from "./check_walk.js";

// proofs that are checked in Python only
const ELSEWHERE = ["sweep", "combinations", "branches", "rup", "drup", "patches", "parts", "dual"];
const FIELDS = ["format", "version", "network", "question", "answer", "witness", "proof"];
const SECONDS = 60;

// {holds: true or false, said: what was checked or what is wrong}; holds is null where this page cannot tell, or not in time.
export function check(certificate, model, { seconds = SECONDS } = {}) {
  try {
    return { holds: true, said: checked(certificate, model, new Limit(seconds)) };
  } catch (error) {
    if (error instanceof Beyond) {
      return { holds: null, said: `${error.message} This has to be checked outside the browser: sugenet check certificate.json MODEL` };
    }
    if (error instanceof Wrong) return { holds: false, said: error.message };
    return { holds: false, said: `the certificate is damaged: ${error.message}` };
  }
}

function checked(certificate, model, limit) {
  if (certificate?.format !== "sugenet certificate" || certificate.version !== 2) throw new Wrong("this is not a sugenet certificate of version 2.");
  if (certificate.network !== model.fingerprint) {
    throw new Wrong(`the certificate is for the network ${String(certificate.network).slice(0, 12)}, not for ${model.fingerprint.slice(0, 12)}.`);
  }
  if (Object.hasOwn(certificate, "domain")) throw new Beyond("the browser does not know limits and laws of inputs that can occur.");
  const { answer, question } = certificate;
  checkForm(question, model);
  const { kind } = question;
  checkOutside(certificate, ANSWERS[kind] ?? VERDICTS);
  if (kind === "whatif") return checkedWhatif(certificate, model, limit);
  if (kind === "reason") {
    if (answer === "unknown") throw new Beyond("nothing is claimed, so there is nothing to check.");
    return checkReason(certificate, model, checkedNone(question, question.region, certificate.proof, model, limit), limit);
  }
  if (answer === "refuted") return checkedWitness(question, certificate.witness, model);
  if (answer === "proved") return checkedNone(question, question.region, certificate.proof, model, limit);
  return checkedPart(certificate, model, limit);
}

// For each answer the fields that it has besides, and those of the others that must be null.
const VERDICTS = { proved: [[], ["witness"]], refuted: [[], ["proof"]], undecided: [["proved_up_to"], ["witness"]] };
const ANSWERS = {
  whatif: { counterfactual: [["value", "lower"], []], open: [["lower"], ["witness"]], none: [[], ["witness"]] },
  reason: { unknown: [[], ["proof"]], sufficient: [[], ["witness"]], minimal: [[], []], minimum: [["contrasts"], []] },
};

function checkOutside(certificate, answers) {
  const { answer } = certificate;
  if (typeof answer !== "string" || !Object.hasOwn(answers, answer)) throw new Wrong(`unknown answer ${String(answer).slice(0, 40)}.`);
  const [more, empty] = answers[answer];
  fields(certificate, [...FIELDS, ...more], "the certificate");
  for (const name of empty) if (certificate[name] !== null) throw new Wrong(`the field ${name} must be null where the answer is ${answer}.`);
}

// -- proofs that there is nothing -----------------------------------------------------------------------------------------------------

// claim: a region, or a cost with what it may come to. strict: what costs exactly that much is not asked about.
function checkedNone(question, claim, proof, model, limit, strict = false) {
  const kind = proof?.kind;
  if (kind === "trust") throw new Wrong(`there is no proof to check: the answer trusts ${String(proof.solver).slice(0, 40)}.`);
  if (ELSEWHERE.includes(kind)) throw new Beyond(`the browser does not check proofs of kind ${kind}.`);
  if (kind !== "walk" && kind !== "bounds") throw new Wrong("unknown kind of proof.");
  const within = question.kind === "always" || question.kind === "never";
  const problem = within ? problemWithin(model, question, limit) : problemAround(model, question, claim, strict, limit);
  return kind === "walk" ? checkWalk(proof, model, problem, limit) : checkBounds(proof, model, problem, limit);
}

// An undecided answer may claim a part of its region.
function checkedPart({ question, proof, proved_up_to: upTo }, model, limit) {
  if (upTo === null) {
    if (proof !== null) throw new Wrong("there is a proof, but nothing that it proves.");
    throw new Beyond("nothing is claimed, so there is nothing to check.");
  }
  if (question.kind !== "robust" || !["Hamming", "L0", "L1", "L2"].includes(question.region.kind)) {
    throw new Wrong("a part of a region is claimed that has no parts.");
  }
  exact(upTo, { least: 0 });
  const said = checkedNone(question, { ...question.region, total: upTo }, proof, model, limit);
  return `up to ${question.region.kind === "L2" ? "a sum of squares of " : ""}${upTo}: ${said}; the rest is not decided`;
}

// -- witnesses ------------------------------------------------------------------------------------------------------------------------

function votesOf(model, sample) {
  return model.evaluate(statesOf(sample)).votes;
}

function seeLabel(model, sample, label) {
  const [found] = topsOf(model, votesOf(model, sample));
  if (found !== label) throw new Wrong(`the sample has class ${found}, not ${label}.`);
}

function checkedWitness(question, row, model) {
  const witness = readSample(model, row);
  const votes = votesOf(model, witness);
  const [top] = topsOf(model, votes);
  if (question.kind === "robust") {
    const sample = readSample(model, question.sample);
    seeLabel(model, sample, question.label);
    liesInside(model, question.region, sample, witness);
    if (!violates(model, question, votes)) throw new Wrong("the witness does not change the answer as claimed.");
    return `the witness lies in the region and has class ${model.classes[top]}`;
  }
  within(model, question.where, witness);
  if ((top === question.label) === (question.kind === "always")) throw new Wrong("the witness is no violation.");
  return `the witness lies within the limits and has class ${model.classes[top]}`;
}

// -- counterfactuals ------------------------------------------------------------------------------------------------------------------

function checkedWhatif(certificate, model, limit) {
  const { question, answer, proof } = certificate;
  const sample = readSample(model, question.sample);
  seeLabel(model, sample, question.label);
  const said = [`the sample has class ${model.classes[question.label]}`];
  if (answer === "counterfactual") said.push(checkedCounterfactual(certificate, model, sample));
  const strict = answer !== "none"; // nothing is cheaper than the lower bound; or nothing up to the limit
  const bound = strict ? certificate.lower : question.limit;
  if (strict && isZero(exact(bound, { least: 0 }))) return said.join("; ");
  const claim = { ...question.cost, features: question.movable, region: question.region, total: bound };
  const proved = checkedNone(question, claim, proof, model, limit, strict);
  said.push(bound === null ? proved : `${strict ? "below" : "up to"} ${bound}: ${proved}`);
  return said.join("; ");
}

function checkedCounterfactual({ question, witness: row, value, lower }, model, sample) {
  const witness = readSample(model, row);
  const changes = changesOf(model, sample, witness);
  for (const f of changes.keys()) if (!question.movable.includes(f)) throw new Wrong(`the witness changes feature ${f}, which must stay.`);
  const price = priceOf(question.cost, changes);
  if (price.compare(exact(value)) !== 0) throw new Wrong(`the witness costs ${price}, not ${value}.`);
  if (exact(lower).compare(price) > 0) throw new Wrong("the lower bound is above the cost of the witness.");
  if (question.limit !== null && price.compare(exact(question.limit)) > 0) {
    throw new Wrong(`the witness costs ${price}, above the limit of ${question.limit}.`);
  }
  if (question.region !== null) liesInside(model, question.region, sample, witness);
  if (!violates(model, question, votesOf(model, witness))) throw new Wrong("the witness does not change the answer as claimed.");
  return `the witness changes it at cost ${price}`;
}
