// The lesson: the paper's Example 1, playable. Four bipolar inputs, weights of -1, 0 or +1, a threshold tau, and the rules they make.
import { button, byId, fill, h, many, put, say } from "./dom.js";
import { TERMS } from "./words.js";

const EXAMPLE = { w: [1, 1, -1, 1], x: [1, -1, 1, -1], tau: 2 };
const LEAD =
  "A neuron of a binarized network adds up inputs of −1 or +1, each times a weight of −1 or +1, and is on when the sum reaches a " +
  "threshold. Counting says the same: each weight names a literal, the value of its input that it agrees with, and the neuron is on " +
  "when at least tau literals hold.";
const SOURCE =
  "This is Example 1 of A Sugeno Integral View of Binarized Neural Network Inference by Baaj and Prade: weights (+1, +1, −1, +1), " +
  "theta 0, so tau = ⌈(0 + 4) / 2⌉ = 2.";
const SIGN = { 1: "+1", "-1": "−1", 0: "0" };

export function makeLesson(app) {
  const lesson = { w: EXAMPLE.w.slice(), x: EXAMPLE.x.slice(), tau: EXAMPLE.tau, flips: 0, done: [false, false, false] };

  const rows = [0, 1, 2, 3].map((i) => {
    const x = button("", () => flip(i), `lesson-x${i + 1}`);
    const w = button("", () => weigh(i), `lesson-w${i + 1}`);
    const literal = h("td", null);
    const holds = h("td", null);
    return { x, w, literal, holds, element: h("tr", null, h("td", null, `x${i + 1}`), h("td", null, x), h("td", null, w), literal, holds) };
  });
  const status = h("p", { class: "status", role: "status", test: "lesson-status" });
  const sum = h("p", { class: "quiet" });
  const meter = h("div", { class: "thermo", "aria-hidden": "true" });
  const lower = button("−", () => tune(-1), "lesson-tau-down");
  const higher = button("+", () => tune(1), "lesson-tau-up");
  lower.ariaLabel = "Lower tau";
  higher.ariaLabel = "Raise tau";
  const tau = h("strong", null);
  const focal = h("ul", { class: "focal", test: "focal" });
  const focalTitle = h("p", { class: "quiet" });
  const steps = h("div", { class: "steps", test: "integral" });
  const tasks = h("ol", { class: "tasks", test: "tasks" });
  const heads = ["input", "value", "weight", "literal", "holds"].map((text) => h("th", { scope: "col" }, text));
  const again = button("Back to Example 1", start, "lesson-reset");
  const home = h("a", { href: "#", id: "from-lesson", test: "from-lesson" }, "Back to the network");

  fill(
    byId("lesson-page"),
    h("div", { class: "lesson" },
      h("div", null,
        h("h1", null, "A neuron is a set of rules"),
        h("p", { class: "lead" }, LEAD),
        h("p", { class: "lead quiet" }, SOURCE),
      ),
      h("section", null, h("h2", null, "Three small tasks"), tasks),
      h("div", { class: "stage" },
        h("section", null,
          h("h2", null, "1. Count the matches"),
          h("table", { class: "inputs" }, h("thead", null, h("tr", null, heads)), h("tbody", null, rows.map((row) => row.element))),
          meter, status, sum,
          h("div", { class: "toolbar" }, h("span", null, "tau = ", tau), lower, higher, again),
        ),
        h("section", null, h("h2", null, "2. Read the rules"), focalTitle, focal),
        h("section", null, h("h2", null, "3. The same as a Sugeno integral"), steps),
      ),
      h("section", null, h("h2", null, "Words on the page"), h("ul", null, Object.values(TERMS).map((text) => h("li", null, text)))),
      h("p", null, home, ": every meter there is a neuron like this one, with more literals."),
    ),
  );

  function lam() {
    return lesson.w.map((w, i) => w * (i + 1)).filter((literal) => literal !== 0);
  }

  function size() {
    return lesson.w.filter((w) => w !== 0).length;
  }

  function holds(literal) {
    return Math.sign(literal) === lesson.x[Math.abs(literal) - 1];
  }

  function start() {
    Object.assign(lesson, { w: EXAMPLE.w.slice(), x: EXAMPLE.x.slice(), tau: EXAMPLE.tau, flips: 0 });
    changed();
  }

  function flip(i) {
    lesson.x[i] = -lesson.x[i];
    lesson.flips++;
    changed();
  }

  function weigh(i) {
    lesson.w[i] = { 1: -1, "-1": 0, 0: 1 }[lesson.w[i]];
    lesson.tau = Math.min(lesson.tau, Math.max(1, size()));
    lesson.flips = 0;
    changed();
  }

  function tune(step) {
    lesson.tau = Math.min(size() + 1, Math.max(0, lesson.tau + step));
    lesson.flips = 0;
    changed();
  }

  function changed() {
    refresh();
    app.writeHash(true);
  }

  function refresh() {
    const literals = lam();
    const n = literals.length;
    const M = literals.filter(holds).length;
    const on = M >= lesson.tau;
    rows.forEach((row, i) => {
      const w = lesson.w[i];
      say(row.x, SIGN[lesson.x[i]]);
      row.x.ariaLabel = `Input ${i + 1} is ${lesson.x[i]}: flip`;
      say(row.w, SIGN[w]);
      row.w.ariaLabel = `Weight ${i + 1} is ${w}: change`;
      say(row.literal, w ? `x${i + 1} = ${SIGN[w]}` : "not read");
      const held = w !== 0 && w === lesson.x[i];
      row.holds.className = held ? "holds" : "fails";
      say(row.holds, w === 0 ? "" : held ? "✓ holds" : "✗ not now");
    });
    const at = h("span", { class: "at", "data-text": `tau = ${lesson.tau}` });
    put(at, "--tau", n ? Math.min(1, lesson.tau / n) : 0);
    fill(meter, Array.from({ length: n }, (_, i) => h("span", { class: i < M ? "full" : "" })), at);
    const s = lesson.w.reduce((sum, w, i) => sum + w * lesson.x[i], 0);
    const never = lesson.tau > n ? " It is never on: tau is above the number of literals." : "";
    const constant = lesson.tau <= 0 ? " It is always on: tau is 0." : never;
    say(status, `M = ${M} ${on ? "≥" : "<"} ${lesson.tau}: the neuron is ${on ? "on" : "off"}.`);
    say(sum, `The weighted sum s is ${String(s).replace("-", "−")} = 2M − ${n}.${constant}`);
    say(tau, String(lesson.tau));
    lower.disabled = lesson.tau <= 0;
    higher.disabled = lesson.tau > n;
    const sets = subsets(literals, lesson.tau);
    const lit = sets.filter((set) => set.every(holds));
    const rules = `Focal sets: any ${lesson.tau} of the ${many(n, "literal")}. ${many(sets.length, "rule")}, ${lit.length} true now.`;
    say(focalTitle, constant ? "A constant neuron has no focal sets." : rules);
    fill(focal, constant ? [] : sets.map((set) => {
      const all = set.every(holds);
      const missing = set.filter((literal) => !holds(literal)).length;
      return h("li", { class: all ? "lit" : "" },
        h("span", { class: "dot" }, all ? "●" : "○"),
        h("span", null, `if ${set.map(words).join(" and ")}, then on`),
        h("span", { class: all ? "holds" : "fails" }, all ? "true" : `${missing} missing`));
    }));
    integral(literals, sets, constant);
    decide(on, lit);
  }

  function words(literal) {
    return `x${Math.abs(literal)} = ${SIGN[Math.sign(literal)]}`;
  }

  function integral(literals, sets, constant) {
    const name = (literal) => `${Math.abs(literal)}${literal > 0 ? "⁺" : "⁻"}`;
    const value = (literal) => (holds(literal) ? 1 : 0);
    if (constant) return fill(steps, h("p", { class: "quiet" }, "A constant neuron has no capacity: one is 0 on no literal, 1 on all."));
    const mins = sets.map((set) => Math.min(...set.map(value)));
    const lines = sets.map((set, i) => `min{${set.map(name).join(", ")}} = min(${set.map(value).join(", ")}) = ${mins[i]}`);
    return fill(
      steps,
      h("p", null, "Each literal is 1 when it holds and 0 when not:"),
      h("code", { class: "mono" }, literals.map((literal) => `${name(literal)} = ${value(literal)}`).join("    ")),
      h("p", null, "Within a focal set the weakest literal counts (min):"),
      h("code", { class: "mono" }, lines.join("\n")),
      h("p", null, "Over the focal sets the best one counts (max):"),
      h("code", { class: "mono", test: "integral-value" }, `S(x) = max(${mins.join(", ")}) = ${Math.max(...mins)}`),
    );
  }

  // The tasks look at what was done, and stay ticked.
  function decide(on, lit) {
    const asPaper = lesson.w.every((w, i) => w === EXAMPLE.w[i]) && lesson.tau === EXAMPLE.tau;
    if (asPaper && on && lesson.flips === 1) lesson.done[0] = true;
    if (asPaper && lit.length === 6) lesson.done[1] = true;
    if (size() === 4 && lesson.tau === 4) lesson.done[2] = true;
    const texts = [
      ["Turn the neuron on with one flip of an input.", "From M = 1, any of x2, x3, x4 does it: three ways to reach tau."],
      ["Make all six rules true at once.", "All four literals hold, so every pair of them does."],
      ["Raise tau until a single rule is left.", "Now it asks for all four literals: an and. With tau = 1 any literal would do: an or."],
    ];
    fill(tasks, texts.map(([text, then], i) => {
      const [kind, mark, words] = lesson.done[i] ? ["done", "✓", `${text} ${then}`] : ["", `${i + 1}`, text];
      return h("li", { class: kind }, h("span", { class: "dot" }, mark), h("span", null, words));
    }));
  }

  function toHash() {
    const signs = (list) => list.map((v) => (v > 0 ? "+" : v < 0 ? "-" : "0")).join("");
    const same = JSON.stringify({ w: lesson.w, x: lesson.x, tau: lesson.tau }) === JSON.stringify(EXAMPLE);
    return same ? "#lesson" : `#lesson&w=${signs(lesson.w)}&x=${signs(lesson.x)}&t=${lesson.tau}`;
  }

  function fromHash(hash) {
    const parts = new Map(hash.split("&").map((part) => [part[0], part.slice(2)]));
    const value = { "+": 1, "-": -1, 0: 0 };
    const read = (text, form, fallback) => (form.test(text || "") ? [...text].map((c) => value[c]) : fallback.slice());
    lesson.w = read(parts.get("w"), /^[-+0]{4}$/, EXAMPLE.w);
    lesson.x = read(parts.get("x"), /^[-+]{4}$/, EXAMPLE.x);
    const wanted = parts.has("t") ? Number(parts.get("t")) : EXAMPLE.tau;
    lesson.tau = Number.isInteger(wanted) ? Math.min(size() + 1, Math.max(0, wanted)) : EXAMPLE.tau;
    lesson.flips = 0;
    refresh();
  }

  return { refresh, toHash, fromHash };
}

function subsets(items, size) {
  if (size < 0 || size > items.length) return [];
  if (size === 0) return [[]];
  const [first, ...rest] = items;
  return [...subsets(rest, size - 1).map((set) => [first, ...set]), ...subsets(rest, size)];
}
