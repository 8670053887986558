// Answers as cards: what is said, which features it is about, how they change; and two of them side by side.
import { h, many, put } from "./dom.js";
import { featureAt } from "./engine/model.js";
import { colour, newWords, shade, valueWords } from "./features.js";
import { aClass, listed, percent, stateOf, unit, upper, withHeld, within } from "./words.js";

export function makeCards({ payload, model }) {
  const word = unit(payload);
  const occurs = within(payload);
  const titles = model.features.map(({ title }) => title);
  const place = new Map(model.features.map(({ name, number }) => [name, number]));
  const isRenamed = model.features.some(({ name, title }) => name !== title);

  // A value that others found is shown as the page itself would put it.
  function changesOf(found, sample) {
    return Object.entries(found.changes || {}).map(([name, [before, after]]) => {
      const feature = place.get(name);
      return { feature, before, after: sample ? model.shownOf(feature, model.stateOf(feature, after), sample) : after };
    });
  }

  function listOf(changes) {
    const words = ({ feature, before, after }) => `${titles[feature]}: ${valueWords(model, feature, before)} → ${newWords(model, feature, after)}`;
    return listed(changes.map(words), 12);
  }

  // What others say of x130 the page says of pixel (4,17).
  function plainly(text) {
    return isRenamed ? text.replace(/\bx\d+\b|channel \d+ pixel \(\d+,\d+\)/g, (name) => titles[place.get(name)] ?? name) : text;
  }

  // A rule that is typed names features as they are shown; whoever is asked knows their own names.
  function named(rule) {
    if (!isRenamed) return rule;
    return model.features.reduce((text, { name, title }) => text.replaceAll(title, name), rule);
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

  function change(key, found, target, held, sample) {
    const changes = changesOf(found, sample);
    const size = changes.length;
    const [start, verb] = size === 1 ? [`one changed ${word}`, "makes"] : [`${size} changed ${word}s`, "make"];
    const least = size === 1 ? "" : ", and no fewer can";
    const isLeast = found.is_minimum;
    const end = isLeast ? `${least}${occurs}: proved` : found.outcome === "working" ? ". Whether fewer can is being worked out." : `; at least ${found.lower} must change${occurs}`;
    const words = size ? `${start} ${verb} it ${aClass(found.label)}${end}` : plainly(found.sentence);
    const said = upper(withHeld(held, word) + words);
    const goal = found.label ?? target ?? "another class";
    const open = () => change(key, { ...found, outcome: "found", is_minimum: false }, target, held, sample); // what it says when nothing more is worked out
    const about = { open, name: `nearest ${goal}`, goal, size: size || Infinity, features: changes.map((one) => one.feature), changes };
    return card(key, "change", found, { ...about, state: found.outcome === "working" ? "working" : stateOf(found), said, detail: listOf(changes) });
  }

  function reason(key, part, label, where) {
    const size = part.features.length;
    const [needed, enough] = size === 1 ? ["it cannot be left out", "it suffices"] : ["none of them can be left out", "they suffice"];
    const status = { minimum: "none smaller exists", minimal: needed, sufficient: enough }[part.status];
    const end = status ? `proved; ${status}` : "not proved";
    const said = upper(`${aClass(label)}, ${where}${size ? `, while ${these(size)}: ${end}` : ": proved, and no other class is there"}`);
    const about = { goal: label, size, features: part.features, detail: plainly(listed(part.conditions, 12)) };
    return card(key, "reason", part, { ...about, state: status ? "proved" : "undecided", said });
  }

  function rule(found, held, label, sample) {
    const changes = changesOf(found, sample);
    const ends = {
      proved: "proved",
      refuted: `refuted, with ${many(changes.length, "other")} changed it is ${aClass(found.label ?? "")}`,
      undecided: "undecided",
    };
    const said = `While ${these(held.length)}, it is ${aClass(label)} whatever the others do${occurs}: ${ends[found.outcome]}`;
    const detail = changes.length ? listOf(changes) : plainly(found.sentence);
    const about = { name: "my rule", goal: label, size: held.length, features: held, changes };
    return card("hold", "rule", found, { ...about, state: stateOf(found), said, detail });
  }

  // How many inputs keep the class, and what the others are.
  function count(found, label, where, held) {
    const kept = found.counts?.[label];
    if (found.outcome !== "counted" || kept === undefined) return other("count", found);
    const share = percent(kept, found.total);
    const whole = (count) => BigInt(count).toLocaleString("en");
    const said = upper(`${withHeld(held, word)}of ${whole(found.total)} inputs ${where}, ${whole(kept)} are ${aClass(label)}: ${share}`);
    const others = Object.entries(found.counts).filter(([name, size]) => name !== label && Number(size) > 0).sort(([, a], [, b]) => Number(b) - Number(a));
    const detail = others.length ? `The others: ${listed(others.map(([name, size]) => `${whole(size)} ${aClass(name)}`), 12)}` : "";
    return card("count", "count", found, { name: "how many", goal: label, state: "proved", word: "counted", said, detail });
  }

  function other(key, found) {
    const shown = found.verdict ? { ...found, outcome: found.verdict.outcome, certificate: found.verdict.certificate } : found;
    return card(key, found.kind || "answer", shown, { state: stateOf(shown), said: plainly(found.sentence) });
  }

  // What a results file says about a sample, in the words in which it was answered.
  function stored(key, found, sample) {
    const changes = changesOf(found, sample);
    const [kind, verdict] = changes.length ? ["change", "counterexample"] : ["stored", "verdict"];
    const name = { verify: verdict, whatif: "nearest change", why: "reasons", count: "count", predict: "prediction" }[found.kind];
    const about = { name, goal: found.label ?? "", size: changes.length || Infinity };
    const state = ["predicted", "estimated", "refused"].includes(found.outcome) ? "" : stateOf(found);
    const shown = { features: changes.map((one) => one.feature), changes, state, word: found.outcome, said: plainly(found.sentence) };
    return card(key, kind, found, { ...about, ...shown });
  }

  // -- side by side ----------------------------------------------------------------------------------------------------------

  function pair(pinned) {
    const half = (one) => h("div", null, payload.grid && mini(one), h("p", null, h("strong", null, one.name)), h("p", null, one.said));
    let words = "Pin a second answer to compare the two.";
    if (pinned.length === 2) {
      const [a, b] = pinned.map((one) => one.features);
      const without = (left, right) => left.filter((f) => !right.includes(f));
      const tell = (title, items) => `${title}: ${items.length ? listed(items.map((f) => titles[f]), 8) : "none"}`;
      const both = a.filter((f) => b.includes(f));
      words = [tell("In both", both), tell("Only left", without(a, b)), tell("Only right", without(b, a))].join(". ");
    }
    return h("div", { class: "pair" }, pinned.map(half), h("p", { class: "quiet" }, words));
  }

  function mini(one) {
    const after = new Map(one.changes.map((change) => [change.feature, change.after]));
    const picture = h("div", { class: payload.grid.channels > 1 ? "mini coloured" : "mini", role: "img", label: one.said });
    const { rows, columns, channels } = payload.grid;
    picture.style.gridTemplateColumns = `repeat(${columns}, 1fr)`;
    const values = one.values.map((value, f) => (after.has(f) ? after.get(f) : value));
    for (let pixel = 0; pixel < rows * columns; pixel++) {
      const features = Array.from({ length: channels }, (_, channel) => featureAt(payload.grid, pixel, channel));
      const isNew = features.some((f) => after.has(f));
      const cell = h("span", { class: isNew ? "new" : features.some((f) => one.features.includes(f)) ? "in" : "" });
      if (channels > 1) put(cell, "--colour", colour(payload, features, values));
      else put(cell, "--shade", shade(payload, pixel, values[pixel]));
      picture.append(cell);
    }
    return picture;
  }

  return { change, reason, rule, count, named, plainly, other, stored, pair, these, changesOf };
}
