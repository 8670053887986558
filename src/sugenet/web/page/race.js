// The race of the classes: votes of each, how far behind the winner, and how possible it is. A click asks for the nearest change.
import { byId, fill, h, number, put, say } from "./dom.js";
import { TERMS } from "./words.js";

export function makeRace(app) {
  const { payload, model, state } = app;
  const rows = payload.classes.map((name, k) => {
    const run = h("span", { class: "run" });
    const best = h("span", { class: "best" });
    const possible = h("span", { class: "possible" });
    const votes = h("span", { class: "votes" });
    const behind = h("span", { class: "behind" });
    const line = h("button", { type: "button", class: "line", test: `nearest-${name}`, onclick: () => app.answers.nearest(k, true) },
      h("span", { class: "who", title: name }, name),
      h("span", { class: "lane", "aria-hidden": "true" }, run, best, possible),
      votes,
      behind);
    const element = h("div", { role: "listitem", test: "race-row", "data-class": name }, line);
    return { element, line, run, best, possible, votes, behind };
  });
  const widest = Math.min(16, Math.max(...payload.classes.map((name) => name.length)));
  rows.forEach((row) => put(row.line, "--who", `${Math.max(2, 1.2 * widest)}ch`));
  const { slopes, offsets } = payload.head;
  const alike = new Set(slopes).size === 1 && new Set(offsets).size === 1; // then votes compare; else only scores do
  fill(
    byId("race"),
    h("div", { class: "race", role: "list", label: "Votes of each class" }, rows.map((row) => row.element)),
    h("p", { class: "legend" },
      h("i", { title: TERMS.M }, h("span", { class: "k" }), "votes: matches M of n"),
      h("i", { title: TERMS.possibility }, h("span", { class: "d" }), "possibility, 0 to 1"),
      h("i", { title: TERMS.behind }, alike ? "right: votes below the winner" : "right: score below the winner")),
  );
  say(byId("race-note"), "choose a class to go to its nearest input");

  function refresh() {
    const { votes, sizes, scores, possibility, label, tied } = state.result;
    const left = app.reach().classes;
    const broken = model.broken(state.states) !== null;
    rows.forEach((row, k) => {
      const first = k === label;
      row.element.classList.toggle("first", first);
      row.line.disabled = first || broken;
      put(row.run, "--share", sizes[k] ? Math.max(0, votes[k] / sizes[k]) : 0);
      put(row.best, "--best", sizes[k] ? votes[label] / sizes[k] : 0);
      row.best.hidden = first || !alike;
      put(row.possible, "--possible", possibility[k]);
      say(row.votes, `${votes[k]} of ${sizes[k]}`);
      const gap = alike ? votes[label] - votes[k] : Math.max(0, scores[label] - scores[k]); // floats decide nothing: a tie is one of ranks
      const isTie = model.head.rank(votes, k) === model.head.rank(votes, label);
      const text = first ? (tied ? "tie, first" : "wins") : isTie ? "tie" : `−${number(gap)}`;
      say(row.behind, text);
      const out = state.locks.size > 0 && !left.includes(k);
      row.element.classList.toggle("out", out);
      const held = out ? "ruled out by what is held, " : "";
      const said = `${number(gap)} ${alike ? "votes" : ""} behind. Go to the nearest ${payload.classes[k]}`;
      const facts = `${votes[k]} of ${sizes[k]} votes, possibility ${number(possibility[k])}, ${held}${first ? "wins" : said}`;
      row.line.ariaLabel = `${payload.classes[k]}: ${facts}`;
      row.line.title = first ? "" : `Go to the nearest ${payload.classes[k]}${out ? "; ruled out by what is held" : ""}`;
    });
  }

  return { refresh };
}
