// Asking a question: the server where there is one, else a precomputed answer, else the engine in the browser,
// else an honest "undecided" that names the command to run.
import { many } from "./dom.js";
import { parsePlain, writePlain } from "./engine/strict_json.js";
import { newWords, valueWords } from "./features.js";
import { listed, within } from "./words.js";

const BUDGET = 2e7; // changes tried in the browser for one question
const BOXES = 2e4; // boxes of inputs bounded in the browser for one rule
const MANY = 128; // of more features one reason is looked for, not several
const FEW = 8; // held features that are named in a command
const WAIT = 20; // seconds of one long poll
const SEARCH = 5; // seconds that a change is searched for before it is worked out
const SAMPLES = 100; // that are looked at for one of another class
const UNREADABLE = "The server's answer cannot be read.";
const LAST = 3000; // milliseconds that a cancelled question is still waited for

export function makeAsk(app) {
  const { payload, model } = app;
  const names = payload.features.map(([name]) => name);
  const place = new Map(names.map((name, f) => [name, f]));
  const known = new Map();
  const occurs = within(payload);

  async function ask(question, { onPart = () => {}, onProgress = () => {}, signal = new AbortController().signal } = {}) {
    if (question.kind === "stored") return stored(question);
    const before = !payload.server && payload.answers.find((pair) => same(pair.question, question));
    if (before) {
      (before.answer.reasons || []).forEach(onPart);
      return before.answer;
    }
    const counted = question.kind === "count" && (await countHere(question, onProgress, signal));
    if (counted) return counted;
    if (payload.server && !(question.kind === "count" && question.keep.length)) {
      const { keep, ...plain } = question;
      return askServer(question.kind === "count" ? plain : question, onPart, onProgress, signal);
    }
    return (await askEngine(question, onPart, onProgress, signal)) || askElsewhere(question);
  }

  // An answer of a results file: the file is the server's, or was put into the page.
  async function stored({ index, sample }) {
    if (payload.server) {
      const { row, answer } = await call("GET", `/api/results/${index}`);
      return { row, answer: answer && ours(answer, { sample }) };
    }
    const { rows, answers } = payload.results;
    const at = rows.sample.indexOf(index);
    const row = at < 0 ? null : Object.fromEntries(Object.entries(rows).map(([name, column]) => [name, column[at]]));
    return { row, answer: answers[index] ?? null };
  }

  // -- server ----------------------------------------------------------------------------------------------------------------

  async function askServer(question, onPart, onProgress, signal) {
    const cancelled = () => new DOMException("cancelled", "AbortError");
    // On cancel the question ends by itself, with what is known so far; a server that does not say so soon is not waited for.
    const givenUp = new Promise((_, fail) => {
      signal.addEventListener("abort", () => setTimeout(() => fail(cancelled()), LAST), { once: true });
    });
    givenUp.catch(() => {});
    const asked = call("POST", "/api/questions", payload.within ? { ...question, within: payload.within } : question);
    const stop = () => asked.then(({ id }) => call("DELETE", `/api/questions/${id}`)).catch(() => {});
    signal.addEventListener("abort", stop, { once: true });
    const { id, place } = await Promise.race([asked, givenUp]);
    tell({ place });
    let seen = 0;
    for (;;) {
      const found = await Promise.race([call("GET", `/api/questions/${id}?seen=${seen}&wait=${WAIT}`), givenUp]);
      if (!Array.isArray(found.parts) || (found.answer && typeof found.answer.sentence !== "string")) throw new Error(UNREADABLE);
      seen += found.parts.length;
      for (const part of found.parts) onPart(ours(part, question));
      if (found.state === "failed") throw new Error(found.error || "The server could not answer.");
      if (found.state === "done" || found.state === "cancelled") {
        if (!found.answer && signal.aborted) throw cancelled();
        if (!found.answer) throw new Error(found.error || "The question was cancelled.");
        return ours(found.answer, question);
      }
      tell(found);
    }

    function tell({ place: at, progress }) {
      onProgress({ words: Number.isInteger(at) ? `waiting: place ${at} in the queue` : progress || "working on it" });
    }
  }

  // Another server may have taken the place of the page's own: its certificates name another network, its changes lead elsewhere.
  function ours(answer, { sample }) {
    const { certificate } = answer.verdict || answer;
    const isOther = certificate && certificate.network !== payload.fingerprint;
    if (isOther || (sample && answer.changes && labelAfter(sample, answer.changes) !== answer.label)) {
      throw new Error("The server's answer does not fit this network. Load the page again.");
    }
    return answer;
  }

  function labelAfter(sample, changes) {
    if (!Object.keys(changes).every((name) => place.has(name))) return null;
    const values = sample.slice();
    for (const [name, [, after]] of Object.entries(changes)) values[place.get(name)] = after;
    return payload.classes[model.evaluate(model.statesOf(values)).label];
  }

  // -- engine ----------------------------------------------------------------------------------------------------------------

  async function askEngine(question, onPart, onProgress, signal) {
    const states = question.sample ? model.statesOf(question.sample) : null;
    if (question.kind === "whatif" && question.cost === "L0") return nearest(question, states, onProgress, signal);
    if (question.kind === "verify" && question.region.kind === "Free") return free(question, states, onProgress, signal);
    if (question.kind === "why" && question.region.kind === "AnyInput") return whyAnyInput(question, states, onPart, onProgress, signal);
    if (question.kind === "why" && question.region.kind === "L0") return whyNear(question, states, onPart, onProgress, signal);
    return null;
  }

  function run(name, args, onProgress, signal) {
    return app.engine.run(name, args, { onProgress, signal });
  }

  async function nearest(question, states, onProgress, signal) {
    const target = question.target === null ? null : payload.classes.indexOf(question.target);
    const locked = (question.keep || []).map((name) => place.get(name));
    const found = await run("nearest", { states, target, locked, budget: BUDGET }, onProgress, signal);
    const from = payload.classes[model.evaluate(states).label];
    const lower = found.provedUpTo + 1;
    const about = { kind: "whatif", certificate: null };
    if (found.changes) {
      const isLeast = found.outcome === "minimum";
      if (isLeast) about.certify = { sample: question.sample, target, locked, changes: found.changes, limit: null };
      const changes = changesOf(question.sample, found.changes);
      const size = found.changes.length;
      const label = payload.classes[found.label];
      const least = isLeast ? "proved to be the least" : `the least is at least ${lower}`;
      const sentence = `${from} becomes ${label} with ${many(size, "feature")} changed, ${least}${occurs}: ${changeWords(changes)}`;
      return { ...about, outcome: "found", is_minimum: isLeast, cost: String(size), lower: String(isLeast ? size : lower), label, changes, sentence };
    }
    const all = `whatever is changed${locked.length ? " of what may change" : ""}`;
    const goal = target === null ? `the class stays ${from}` : `the class does not become ${question.target}`;
    if (found.outcome === "none") return { ...about, outcome: "none", sentence: `${goal}, ${all}${occurs}: proved` };
    const sentence = `Undecided here. Proved so far: any change needs at least ${many(lower, "feature")}${occurs}. ${commandWords(question)}`;
    return { ...about, outcome: "undecided", lower: String(lower), sentence };
  }

  // A change that is found at once, before anything is proved about it: towards the nearest sample of the class, else by a search.
  async function quick({ sample, target, keep }, signal) {
    const wanted = payload.classes.indexOf(target);
    const locked = keep.map((name) => place.get(name));
    const states = model.statesOf(sample);
    const away = (other) => other.reduce((sum, state, f) => sum + Number(state !== states[f]), 0);
    const goals = labelled().filter(({ label }) => label === wanted).sort((a, b) => away(a.states) - away(b.states));
    let found = goals.length ? await run("towards", { states, goal: goals[0].states, target: wanted, locked }, undefined, signal) : null;
    found ??= (await run("nearest", { states, target: wanted, locked, budget: 0, seconds: SEARCH }, undefined, signal)).changes;
    if (!found?.length) return null;
    return { kind: "whatif", outcome: "working", changes: changesOf(sample, found), label: target, certificate: null, lower: "1" };
  }

  // The states and classes of the samples that the page holds, worked out once.
  function labelled() {
    for (const one of payload.samples.slice(0, SAMPLES)) {
      if (known.has(one)) continue;
      const states = model.statesOf(one.values);
      known.set(one, { states, label: model.evaluate(states).label });
    }
    return [...known.values()];
  }

  // All inputs that can be walked here, one by one; null where these are too many.
  async function countHere({ sample, region, keep }, onProgress, signal) {
    const locked = region.kind === "Free" ? names.map((_, f) => f).filter((f) => !region.features.includes(names[f])) : keep.map((name) => place.get(name));
    const states = model.statesOf(sample);
    const most = region.kind === "L0" ? Number(region.radius) : undefined;
    const { counts, all } = await run("count", { states, most, locked }, onProgress, signal);
    if (!counts) return null;
    return { kind: "count", outcome: "counted", counts: Object.fromEntries(counts.map((count, k) => [payload.classes[k], count])), total: all, certificate: null, sentence: "" };
  }

  async function free(question, states, onProgress, signal) {
    const movable = new Set(question.region.features.map((name) => place.get(name)));
    const locked = names.map((_, f) => f).filter((f) => !movable.has(f));
    const label = payload.classes[model.evaluate(states).label];
    const claim = `the class stays ${label}, whatever ${many(movable.size, "feature")} do${occurs}`;
    const tell = ({ boxes }) => onProgress({ words: `bounds of ${boxes.toLocaleString("en")} boxes of inputs` });
    const found = await run("free", { states, locked, budget: BOXES }, tell, signal);
    const boxes = `bounds of ${found.boxes.toLocaleString("en")} boxes of inputs`;
    const engine = { bounds: "bounds through all layers", branching: boxes, search: "local search" }[found.by];
    const about = { kind: "verify", certificate: null };
    if (found.outcome === "proved") return { ...about, outcome: "proved", sentence: `${claim}: proved by ${engine}` };
    if (found.outcome === "refuted") {
      const changes = changesOf(question.sample, found.changes);
      const other = payload.classes[found.label];
      const sentence = `${claim}: refuted by ${engine}. Class ${other} with ${changeWords(changes)}`;
      return { ...about, outcome: "refuted", label: other, changes, sentence };
    }
    const sentence = `${claim}: undecided here after ${engine}; no input against it was found. ${commandWords(question)}`;
    return { ...about, outcome: "undecided", sentence };
  }

  // Free one feature after another while the claim can still be shown; a feature that must stay, because freeing it gives another
  // class, makes the reason minimal. Where that stays open for some feature the reason is called sufficient, not minimal.
  async function shrink(states, order, holds, onProgress) {
    const kept = new Set(order);
    let minimal = true;
    let last = null;
    for (const [step, feature] of order.entries()) {
      kept.delete(feature);
      const found = await holds([...kept].sort((a, b) => a - b));
      if (found.held) last = found;
      else {
        kept.add(feature);
        minimal = minimal && found.refuted;
      }
      onProgress({ words: `${step + 1} of ${order.length} features looked at`, share: (step + 1) / order.length });
    }
    return { features: [...kept].sort((a, b) => a - b), status: minimal ? "minimal" : "sufficient", certify: last?.certify || null };
  }

  async function reasons(question, states, region, holds, onPart, onProgress) {
    const label = payload.classes[model.evaluate(states).label];
    const parts = [];
    const seen = new Set();
    for (let round = 0; round < (names.length > MANY ? 1 : question.n || 1); round++) {
      const order = orderOf(round);
      const found = await shrink(states, order, holds, onProgress);
      if (seen.has(found.features.join())) continue;
      seen.add(found.features.join());
      const conditions = found.features.map((f) => model.describe(f, states[f]));
      const part = { ...found, names: found.features.map((f) => names[f]), conditions, certificate: null };
      parts.push(part);
      onPart(part);
    }
    parts.sort((a, b) => a.features.length - b.features.length);
    const size = ({ conditions, status }) => `(${conditions.length} of ${names.length} features: proved ${status})`;
    const sentence = parts.map((part) => `${label}, ${region}, because ${part.conditions.join(" and ")} ${size(part)}`).join("\n");
    return { kind: "why", outcome: parts.length ? "found" : "undecided", reasons: parts, sentence };
  }

  function whyAnyInput(question, states, onPart, onProgress, signal) {
    const holds = async (locked) => {
      const found = await run("free", { states, locked, budget: 400 }, undefined, signal);
      return { held: found.outcome === "proved", refuted: found.outcome === "refuted", certify: null };
    };
    return reasons(question, states, payload.domain?.words ?? "for any input", holds, onPart, onProgress);
  }

  function whyNear(question, states, onPart, onProgress, signal) {
    const most = Number(question.region.radius);
    const holds = async (locked) => {
      const found = await run("nearest", { states, target: null, locked, most, budget: BUDGET }, undefined, signal);
      const certify = { sample: question.sample, target: null, locked, changes: null, limit: most };
      return { held: found.outcome === "none", refuted: found.outcome === "minimum", certify };
    };
    return reasons(question, states, `with up to ${many(most, "feature")} changed${occurs}`, holds, onPart, onProgress);
  }

  // The first round frees features in their order; later rounds in other orders, the same ones each time.
  function orderOf(round) {
    const order = names.map((_, f) => f);
    let seed = 2654435761 * (round + 1);
    for (let i = order.length - 1; i > 0 && round > 0; i--) {
      seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
      const j = seed % (i + 1);
      [order[i], order[j]] = [order[j], order[i]];
    }
    return order;
  }

  // -- words -----------------------------------------------------------------------------------------------------------------

  function changesOf(sample, changes) {
    return Object.fromEntries(changes.map(([f, state]) => [names[f], [sample[f], model.shownOf(f, state, sample)]]));
  }

  function changeWords(changes) {
    const words = ([name, [before, after]]) => {
      const feature = place.get(name);
      return `${model.features[feature].title} from ${valueWords(model, feature, before)} to ${newWords(model, feature, after)}`;
    };
    return listed(Object.entries(changes).map(words), 6);
  }

  function askElsewhere(question) {
    const sentence = `Undecided: the browser cannot answer this on its own. ${commandWords(question)}`;
    return { kind: question.kind, outcome: "undecided", certificate: null, sentence };
  }

  function commandWords(question) {
    return `Ask on the command line: ${command(question)}`;
  }

  // The command line takes samples by their number; for any other input the served page is the way.
  function command({ kind, sample, target, keep = [] }) {
    const own = (one) => one.index !== null && sample && one.values.every((value, f) => value === sample[f]);
    const at = payload.samples.find(own);
    const laws = (payload.domain?.data?.laws ?? []).map((law) => ` --law ${quoted(law.text)}`).join("");
    const range = payload.within ?? (payload.domain?.words.includes("within what was seen") ? "data" : null);
    const more = `${range ? ` --within ${range}` : ""}${laws}`;
    if (!at || kind !== "whatif" || keep.length > FEW) return `sugenet serve ${quoted(payload.title)}${more}`;
    const to = target === null ? "" : ` --target ${quoted(target)}`;
    return `sugenet whatif ${quoted(payload.title)} --index ${at.index}${to}${keep.map((name) => ` --keep ${quoted(name)}`).join("")}${more}`;
  }

  return Object.assign(ask, { quick });
}

function quoted(text) {
  return /^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

// One request to our own server. What it says against a request becomes the error's sentence.
// body: data, or its JSON text.
export async function call(method, path, body) {
  const headers = method === "GET" ? {} : { "X-Sugenet": "1", ...(body === undefined ? {} : { "Content-Type": "application/json" }) };
  let reply;
  try {
    reply = await fetch(path, { method, headers, body: body === undefined || typeof body === "string" ? body : writePlain(body) });
  } catch {
    throw new Error("The server does not answer. Is `sugenet serve` still running?");
  }
  const found = await reply.text().then(parsePlain).catch(() => null);
  if (!reply.ok) throw new Error((found && found.error) || `The server answered ${reply.status} without a sentence.`);
  if (method !== "DELETE" && (found === null || typeof found !== "object")) throw new Error(UNREADABLE);
  return found;
}

const DEFAULTS = { target: null, keep: [] };

function same(a, b) {
  const sorted = (value) => Object.entries(value).sort(([x], [y]) => (x < y ? -1 : 1));
  const plain = (question) => {
    const { n, time_limit, seed, ...rest } = { ...DEFAULTS, ...question };
    return writePlain(sorted({ ...rest, region: sorted(rest.region || {}) }));
  };
  return plain(a) === plain(b);
}
