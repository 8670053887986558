// Certificates seen again in the browser, by code that shares nothing with the walks and bounds of this page, nor with Python, but the
// network itself. A witness is replayed; a proof that there is none is done again. What this page cannot do it says, and leaves open.
// The certificate names its network by a fingerprint; that this page's network has it is taken from whoever made the page.

import { checkBounds } from "./check_bounds.js";
import { checkComposed } from "./check_composed.js";
import { Beyond, readCertificate, Wrong } from "./check_form.js";
import { Limit } from "./check_limit.js";
import { around, cheaper, Inputs, rowOf, statesOf, within } from "./check_meaning.js";
import { problemOf, topsOf, violates } from "./check_question.js";
import { checkReason } from "./check_reason.js";
import { checkWalk } from "./check_walk.js";
import { ZERO } from "./exact.js";
import { parseStrict } from "./strict_json.js";

const SECONDS = 60;
const NOTHING = "nothing is claimed, so there is nothing to check.";

// {holds: true or false, said: what was checked or what is wrong} of a certificate as JSON text; holds is null where this page cannot
// tell, or not in time.
export function check(text, model, { seconds = SECONDS } = {}) {
  try {
    return { holds: true, said: checked(parsed(text), model, new Limit(seconds)) };
  } catch (error) {
    if (error instanceof Wrong) return { holds: false, said: error.message };
    const said = error instanceof Beyond ? error.message : `the browser could not check it: ${error.message}.`;
    return { holds: null, said: `${said} This has to be checked outside the browser: sugenet check certificate.json MODEL` };
  }
}

function parsed(text) {
  try {
    return parseStrict(text);
  } catch (error) {
    throw new Wrong(`this is not JSON: ${error.message}`);
  }
}

function checked(data, model, limit) {
  if (data !== null && typeof data === "object" && "networks" in data) return checkComposed(data, model, limit, checked);
  const certificate = readCertificate(data, model);
  const { question, answer, proof, domain } = certificate;
  const asked = { model, question, limits: domain.limits, limit };
  if (question.sample) asked.sample = rowOf(model, question.sample);
  if (answer === "unknown") throw new Beyond(NOTHING);
  if (question.kind === "whatif") return checkedWhatif(asked, certificate);
  if (answer === "refuted") return checkedWitness(asked, rowOf(model, certificate.witness));
  if (answer === "undecided") return checkedPart(asked, certificate);
  const proved = checkedNone(asked, inputsOf(asked), proof);
  return question.kind === "reason" ? checkReason(certificate, asked, proved) : proved;
}

// The inputs that a question, other than one about a counterfactual, is about.
function inputsOf({ model, question, sample, limits }) {
  return sample ? around(model, sample, question.region, limits, question.fixed) : within(model, question.where, limits);
}

function seeLabel({ model, question, sample }) {
  const [found] = topsOf(model, model.evaluate(statesOf(model, sample)).votes);
  if (found !== question.label) throw new Wrong(`the sample has class ${found}, not ${question.label}.`);
}

// What would be a violation.
function goalOf({ kind, label, target = null, ties = "lowest" }) {
  return kind === "never" ? { label: null, target: label, ties } : { label, target, ties };
}

// -- proofs that there is nothing -----------------------------------------------------------------------------------------------------

function checkedNone(asked, inputs, proof) {
  const { model, question, sample, limit } = asked;
  if (sample) seeLabel(asked);
  const problem = problemOf(model, inputs, goalOf(question), limit);
  return proof.kind === "enumerate" ? checkWalk(model, problem, limit) : checkBounds(model, problem, limit);
}

// An undecided answer may claim a part of its region.
function checkedPart(asked, { proof, proved_up_to: upTo }) {
  if (upTo === null && proof === null) throw new Beyond(NOTHING);
  if (upTo === null || proof === null) throw new Wrong("there is a proof, but nothing that it proves, or the other way round.");
  const { model, sample } = asked;
  const inputs = inputsOf(asked);
  const { measure, budget } = inputs;
  if (budget === null || upTo.compare(ZERO) < 0 || upTo.compare(budget) > 0) throw new Wrong("a part of a region is claimed that is not one.");
  const said = checkedNone(asked, new Inputs(model, inputs.allowed, { sample, measure, budget: upTo }), proof);
  return `up to ${measure.kind === "L2" ? "a sum of squares of " : ""}${upTo}: ${said}; the rest is not decided`;
}

// -- witnesses ------------------------------------------------------------------------------------------------------------------------

function checkedWitness(asked, witness) {
  const { model, question, sample } = asked;
  if (sample) seeLabel(asked);
  inputsOf(asked).see(witness);
  const { votes } = model.evaluate(statesOf(model, witness));
  if (!violates(model, goalOf(question), votes)) throw new Wrong("the witness is not a violation.");
  return `the witness lies ${sample ? "in the region" : "within the limits"} and has class ${model.classes[topsOf(model, votes)[0]]}`;
}

// -- counterfactuals ------------------------------------------------------------------------------------------------------------------

function checkedWhatif(asked, certificate) {
  const { model, question, sample, limits } = asked;
  const { answer, proof, lower } = certificate;
  seeLabel(asked);
  const cheaperThan = (bound, strict) => cheaper(model, sample, question, limits, bound, strict);
  const inside = cheaperThan(question.limit, false); // refuses a box without the sample
  const said = [`the sample has class ${model.classes[question.label]}`];
  if (answer === "counterfactual") said.push(checkedCounterfactual(asked, certificate, inside));
  if (answer === "none") {
    const proved = checkedNone(asked, inside, proof);
    return [...said, question.limit === null ? proved : `up to ${question.limit}: ${proved}`].join("; ");
  }
  if (lower.compare(ZERO) <= 0) {
    if (proof !== null || lower.compare(ZERO) < 0) throw new Wrong("nothing costs less than 0, so there is nothing to prove.");
    return said.join("; ");
  }
  if (proof === null) throw new Wrong(`there is no proof that nothing below ${lower} changes the answer.`);
  return [...said, `below ${lower}: ${checkedNone(asked, cheaperThan(lower, true), proof)}`].join("; ");
}

function checkedCounterfactual({ model, question }, { witness: row, value, lower }, inside) {
  const witness = rowOf(model, row);
  inside.see(witness);
  const price = inside.cost(witness);
  if (price.compare(value) !== 0) throw new Wrong(`the witness costs ${price}, not ${value}.`);
  if (lower.compare(price) > 0) throw new Wrong("the lower bound is above the cost of the witness.");
  if (!violates(model, goalOf(question), model.evaluate(statesOf(model, witness)).votes)) throw new Wrong("the witness does not change the answer as claimed.");
  return `the witness changes it at cost ${price}`;
}
