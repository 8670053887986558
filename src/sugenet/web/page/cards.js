// Answers as cards: what is said, which features it is about, how they change; and two of them side by side.
import { h, many, put } from "./dom.js";
import { shade, valueWords } from "./features.js";
import { aClass, listed, stateOf, unit, upper, withHeld } from "./words.js";

export function makeCards({ payload, model }) {
  const word = unit(payload);
  const names = payload.features.map(([name]) => name);
  const place = new Map(names.map((name, f) => [name, f]));

  function changesOf(found) {
    return Object.entries(found.changes || {}).map(([name, [before, after]]) => ({ feature: place.get(name), before, after }));
  }

  function changeWords(changes) {
    return listed(changes.map(({ feature, before, after }) => `${names[feature]}: ${valueWords(model, feature, before)} → ${valueWords(model, feature, after)}`), 12);
  }

  function these(count) {
    return count === 1 ? `this ${word} stays` : `these ${count} ${word}s stay`;
  }

  // What every card has; a card of its own kind says more.
  function card(key, kind, found, more) {
    const { certificate = null, certify = null } = found;
    const plain = { name: kind, goal: "", size: Infinity, features: [], changes: [], detail: "", stored: null };
    return { key, kind, ...plain, certificate, certify, ...more };
  }

  function change(key, found, target, held) {
    const changes = changesOf(found);
    const size = changes.length;
    const [start, verb] = size === 1 ? [`one changed ${word}`, "makes"] : [`${size} changed ${word}s`, "make"];
    const least = size === 1 ? "" : ", and no fewer can";
    const words = found.outcome === "minimum" ? `${start} ${verb} it ${aClass(found.label)}${least}: proved` : found.sentence;
    const said = upper(withHeld(held, word) + words);
    const goal = found.label ?? target ?? "another class";
    const about = { name: `nearest ${goal}`, goal, size: size || Infinity, features: changes.map((one) => one.feature), changes };
    return card(key, "change", found, { ...about, state: stateOf(found.outcome), said, detail: changeWords(changes) });
  }

  function reason(key, part, label, where) {
    const size = part.features.length;
    const status = { minimum: "none smaller exists", minimal: "none of them can be left out", sufficient: "they suffice" }[part.status];
    const end = status ? `proved; ${status}` : "not proved";
    const said = upper(`${aClass(label)}, ${where}${size ? `, while ${these(size)}: ${end}` : ": nothing needs to be known, proved"}`);
    const about = { goal: label, size, features: part.features.map((name) => place.get(name)), detail: listed(part.conditions, 12) };
    return card(key, "reason", part, { ...about, state: status ? "proved" : "undecided", said });
  }

  function rule(found, held, label) {
    const changes = changesOf(found);
    const ends = {
      proved: "proved",
      refuted: `refuted, with ${many(changes.length, "other")} changed it is ${aClass(found.labels ? found.labels[0] : "")}`,
      undecided: "undecided",
    };
    const said = `While ${these(held.length)}, it is ${aClass(label)} whatever the others do: ${ends[found.outcome]}`;
    const detail = changes.length ? changeWords(changes) : found.sentence;
    const about = { name: "my rule", goal: label, size: held.length, features: held, changes };
    return card("hold", "rule", found, { ...about, state: stateOf(found.outcome), said, detail });
  }

  function other(key, found) {
    const shown = found.verdict ? { ...found, outcome: found.verdict.outcome, certificate: found.verdict.certificate } : found;
    return card(key, found.kind || "answer", shown, { state: stateOf(shown.outcome), said: found.sentence });
  }

  // What a results file says about a sample, in the words in which it was answered.
  function stored(key, found) {
    const changes = changesOf(found);
    const [kind, verdict] = changes.length ? ["change", "counterexample"] : ["stored", "verdict"];
    const name = { verify: verdict, whatif: "nearest change", why: "reasons", count: "count", predict: "prediction" }[found.kind];
    const about = { name, goal: found.label ?? found.labels?.[0] ?? "", size: changes.length || Infinity };
    const state = ["predicted", "estimated", "refused"].includes(found.outcome) ? "" : stateOf(found.outcome);
    const shown = { features: changes.map((one) => one.feature), changes, state, word: found.outcome, said: found.sentence };
    return card(key, kind, found, { ...about, ...shown });
  }

  // -- side by side ----------------------------------------------------------------------------------------------------------

  function pair(pinned) {
    const half = (one) => h("div", null, payload.grid && mini(one), h("p", null, h("strong", null, one.name)), h("p", null, one.said));
    let words = "Pin a second answer to compare the two.";
    if (pinned.length === 2) {
      const [a, b] = pinned.map((one) => one.features);
      const without = (left, right) => left.filter((f) => !right.includes(f));
      const tell = (title, items) => `${title}: ${items.length ? listed(items.map((f) => names[f]), 8) : "none"}`;
      const both = a.filter((f) => b.includes(f));
      words = [tell("In both", both), tell("Only left", without(a, b)), tell("Only right", without(b, a))].join(". ");
    }
    return h("div", { class: "pair" }, pinned.map(half), h("p", { class: "quiet" }, words));
  }

  function mini(one) {
    const after = new Map(one.changes.map((change) => [change.feature, change.after]));
    const picture = h("div", { class: "mini", role: "img", label: one.said });
    picture.style.gridTemplateColumns = `repeat(${payload.grid.columns}, 1fr)`;
    one.values.forEach((value, f) => {
      const cell = h("span", { class: after.has(f) ? "new" : one.features.includes(f) ? "in" : "" });
      put(cell, "--shade", shade(payload, f, after.has(f) ? after.get(f) : value));
      picture.append(cell);
    });
    return picture;
  }

  return { change, reason, rule, other, stored, pair, these, changesOf };
}
