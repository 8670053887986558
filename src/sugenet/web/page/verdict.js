// The large sentence: the class at once, then what is proved about it, one more changed feature at a time.
import { announce, button, byId, fill, h, link, many, put, say } from "./dom.js";
import { waysToChange } from "./features.js";
import { unit, verdictWords, within } from "./words.js";

const FARTHEST = 3;
const FEW = 8; // so few features that may change are all changed at once, too
const BUDGET = 3e6; // changes of one size that are tried without being asked
const SECONDS = 30; // at most for one size, without being asked
const HOUR = 3600; // when asked; it can be stopped
const PAUSE = 60; // milliseconds without a change before the proof begins
const PATIENCE = 120; // milliseconds before the page says that it is working

export function makeVerdict(app) {
  const { payload, model, state } = app;
  const word = unit(payload);
  const occurs = within(payload);
  const section = byId("verdict").parentElement;
  let running = null;
  let timer = 0;
  let known = null;
  let waiting = []; // who wants to know how far the nearest change is

  // How many features the smallest change takes that alters the class: null where that is not known, 0 where there is none; and up to how
  // many all were tried. Undefined where the input changed meanwhile.
  function least() {
    return new Promise((tell) => {
      waiting.push(tell);
      if (known.isOver) settled();
    });
  }

  function settled() {
    const size = known.outcome === "none" ? 0 : (known.changes?.length ?? null);
    const found = { size, walked: known.provedUpTo };
    for (const tell of waiting.splice(0)) tell(found);
    app.answers.reach(found);
  }

  // While it is working the section keeps its height, so that the input does not move under the pointer.
  function refresh() {
    put(section, "min-height", `${section.offsetHeight}px`);
    running?.abort();
    clearTimeout(timer);
    for (const tell of waiting.splice(0)) tell(undefined);
    known = { provedUpTo: 0, outcome: "undecided", changes: null, tried: 0 };
    sentence();
    announce(""); // the same sentence, proved anew, is said anew
    if (app.way) return report("working", "on the way");
    const law = model.broken(state.states);
    if (law !== null) return refuse(law);
    report("working", `trying changes of 1 ${word}`);
    app.point("verdict", null);
    return (timer = setTimeout(() => prove(FARTHEST, BUDGET, SECONDS), PAUSE));
  }

  // The library refuses such a sample too.
  function refuse(law) {
    put(section, "min-height", "0");
    app.point("verdict", null);
    report("undecided", `This input breaks the law "${law}", so nothing is asked about it.`);
    say(byId("state"), "cannot occur");
    announce(byId("facts").textContent);
    known.isOver = true;
    settled();
  }

  function sentence() {
    const rest = verdictWords({ ...known, label: payload.classes[known.label] }, state.locks.size, word, occurs);
    if (byId("verdict").textContent !== `${state.label}. ${rest}`.trim()) {
      const [claim, proved] = occurs && rest ? rest.split(occurs) : [rest, ""];
      fill(byId("verdict"), h("span", { class: "label" }, `${state.label}.`), claim && ` ${claim}`, proved && h("small", null, occurs), proved);
    }
    const was = payload.classes[state.baseResult.label];
    const changed = state.changed().length;
    const same = was === state.label ? " too" : "";
    const invite = `Change a ${word} below: the network answers at once, and the sentence is proved anew.`;
    say(byId("compare"), changed ? `You changed ${many(changed, word)}; the sample itself is ${was}${same}.` : invite);
  }

  function report(kind, facts, share, ...actions) {
    byId("state").dataset.state = kind;
    say(byId("state"), kind);
    say(byId("facts"), facts);
    byId("progress").hidden = share === undefined;
    byId("progress").value = share ?? 0;
    const wasThere = byId("verdict-actions").contains(document.activeElement);
    fill(byId("verdict-actions"), actions);
    if (wasThere && actions.length && document.activeElement === document.body) actions[0].focus({ preventScroll: true });
  }

  async function prove(farthest, budget, seconds) {
    running?.abort(); // two clicks on "Try 4 pixels": the first proof would outlive the input it is about
    const control = (running = new AbortController());
    const { signal } = control;
    const movable = payload.features.filter((_, f) => !state.locks.has(f) && model.possibleStates(f).some((other) => other !== state.states[f])).length;
    const last = movable > FEW ? Math.min(farthest, movable) : movable;
    const ways = waysToChange(model, state.states, state.locks, last);
    const began = performance.now();
    const stop = link("Stop", () => control.abort("stopped"), "stop");
    const before = known.seconds ?? 0;
    try {
      for (let k = known.provedUpTo + 1; k <= last; k++) {
        if (ways[k] > budget) return finish(k, `${many(ways[k], "change")} of ${many(k, word)} not tried`);
        const total = ways.slice(0, k + 1).reduce((sum, count) => sum + count, 0);
        const trying = (share) => report("working", `trying ${many(total, "change")} of up to ${many(k, word)}`, share, stop);
        const patience = setTimeout(() => trying(0), PATIENCE);
        const args = { states: state.states, target: null, locked: [...state.locks], most: k, budget: Infinity, seconds };
        const onProgress = ({ tried }) => trying(Math.min(1, tried / total));
        const found = await app.engine.run("nearest", args, { signal, onProgress }).finally(() => clearTimeout(patience));
        if (signal.aborted) return;
        const isLate = performance.now() - began > 1000 * seconds;
        const why = isLate ? `not all tried in ${seconds} s` : "too many for a browser";
        if (found.outcome === "undecided") return finish(isLate ? k : null, `changes of ${many(k, word)}: ${why}`);
        known = { ...found, seconds: before + (performance.now() - began) / 1000 };
        if (found.outcome === "minimum") return finish();
        known.outcome = "undecided"; // nothing up to k: larger changes are open
        sentence();
      }
      if (last === movable) known.outcome = "none";
      finish(last + 1);
    } catch (error) {
      if (signal.reason === "stopped") finish(known.provedUpTo + 1, "stopped");
      else if (!signal.aborted) report("failed", `The proof failed: ${error.message}`);
    }
  }

  // Says what is known now; `next` is the size that was not tried, null where it cannot be, and why.
  function finish(next, open) {
    put(section, "min-height", "0");
    sentence();
    const size = known.changes ? known.changes.length - 1 : known.provedUpTo;
    const time = known.seconds < 0.1 ? "under 0.1" : known.seconds?.toFixed(1);
    const facts = size > 0 && `all ${many(known.tried, "change")} of up to ${many(size, word)} tried here in ${time} s`;
    const actions = [];
    if (known.changes) {
      const legend = "The number is the value it takes.";
      app.point("verdict", { title: "the change that the verdict names", legend, marks: app.changeMarks(known.changes) });
      const arrived = `Now ${payload.classes[known.label]}: ${many(known.changes.length, word)} changed, proved to be the least.`;
      actions.push(button("Take me there", () => app.morph(known.changes, arrived), "go"));
    } else if (known.outcome !== "none") {
      if (next !== null) actions.push(link(`Try ${many(next, word)}`, () => prove(next, Infinity, HOUR), "farther"));
      if (payload.server) actions.push(link("Ask the server for the nearest change", () => app.answers.nearest(null, true), "ask-server"));
    }
    if (size > 0 || known.changes) actions.push(link("Certificate", certificate, "verdict-certificate"));
    const decided = known.changes || known.provedUpTo > 0 || known.outcome === "none";
    report(decided ? "proved" : "undecided", [facts, open].filter(Boolean).join("; "), undefined, ...actions);
    announce(byId("verdict").textContent);
    known.isOver = true;
    settled();
  }

  function certificate() {
    const limit = known.changes ? null : known.provedUpTo;
    const claim = { sample: state.values.slice(), target: null, locked: [...state.locks], changes: known.changes, limit };
    app.drawer.certify(claim, byId("verdict").textContent);
  }

  return { refresh, least };
}
