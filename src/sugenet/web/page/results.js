// Answers about a whole data set: a table that is sorted, filtered and turned page by page; a row leads to its sample.
import { call } from "./ask.js";
import { announce, button, byId, choices, fill, h, say } from "./dom.js";
import { Fraction } from "./engine/exact.js";
import { pixelOf } from "./engine/model.js";
import { share } from "./features.js";
import { duration, showValue, stateOf, upper } from "./words.js";

const PAGE = 50; // rows that are drawn at a time

export function makeResults(app) {
  const { payload } = app;
  const { classes, grid } = payload;
  let found = null; // what the file says as a whole
  let rows = null; // and of each sample, as columns
  let place = new Map(); // where in the columns a sample stands
  let shown = []; // rows that are shown, in their order, as places in the columns
  let view = { by: "sample", down: false, outcome: "", wrong: false, page: 0 };
  let turn = 0; // pictures of a page that was left are not drawn any more
  let chosen = null; // the sample that was gone to last

  // -- what is there ---------------------------------------------------------------------------------------------------------

  const named = (k) => (k === null ? "" : classes[k]);
  const isWrong = (i) => rows.truth[i] !== null && rows.truth[i] !== rows.index[i];
  const unit = () => (found.cost === "L2" ? "squared cost" : "cost");
  const exact = (i) => {
    const text = rows.cost[i] ?? rows.lower[i];
    return text === null ? null : Fraction.ofText(text);
  };

  // Each column: its key in the address, its heading, what a row is sorted by and what it shows; some only where there is something.
  const columns = [
    { key: "sample", name: "sample", value: (i) => rows.sample[i], cell: leading },
    { key: "picture", name: "picture", cell: picture, there: () => grid },
    { key: "class", name: "class", value: (i) => rows.index[i], cell: (i) => named(rows.index[i]) },
    { key: "truth", name: "true class", value: (i) => rows.truth[i], cell: truth, there: () => rows.truth.some((k) => k !== null) },
    { key: "outcome", name: "outcome", value: (i) => rows.outcome[i], cell: outcome },
    { key: "cost", get name() { return unit(); }, value: exact, cell: cost, there: () => found.cost },
    { key: "time", name: "time", value: (i) => rows.seconds[i], cell: (i) => duration(rows.seconds[i]) },
    { key: "certificate", name: "certificate", value: (i) => Number(rows.certified[i]), cell: (i) => (rows.certified[i] ? "yes" : "none") },
    { key: "engine", name: "engine", value: (i) => rows.engine[i], cell: (i) => rows.engine[i] ?? "" },
  ];
  let here = columns; // those of them that this file has

  // -- parts -----------------------------------------------------------------------------------------------------------------

  const headline = h("h1", { test: "results-headline" }, "Reading the results.");
  const question = h("p", { class: "quiet", test: "results-question" });
  const facts = h("p", { class: "facts", test: "results-facts" });
  const home = h("a", { href: "#", test: "from-results", onclick: back }, "Back to the network");
  const wrongBox = h("input", { type: "checkbox", test: "only-wrong", onchange: () => change({ wrong: wrongBox.checked, page: 0 }) });
  const wrongWords = h("span", null);
  const wrong = h("label", { class: "choice" }, wrongBox, wrongWords);
  const outcomes = h("div", { class: "joined outcomes", role: "radiogroup", label: "Outcome" });
  const reload = payload.server && button("Reload", read, "reload");
  const trouble = h("p", { class: "trouble", role: "alert", hidden: true, test: "results-trouble" });
  const notes = h("p", { class: "quiet", test: "results-notes" });
  const head = h("tr", { role: "row" });
  const body = h("tbody", { role: "rowgroup", test: "rows" });
  const table = h("table", { class: "results", role: "table", label: "Answers by sample" }, h("thead", { role: "rowgroup" }, head), body);
  const before = button("‹", () => turnTo(view.page - 1), "page-before");
  const after = button("›", () => turnTo(view.page + 1), "page-after");
  const range = h("span", { class: "quiet", role: "status", test: "range" });
  const filters = h("div", { class: "filters" }, outcomes, wrong, h("div", { class: "pages" }, before, range, after));
  before.ariaLabel = "Previous page";
  after.ariaLabel = "Next page";
  fill(
    byId("results-page"),
    h("div", { class: "verdict" }, question, headline, h("div", { class: "under" }, facts, reload, home), trouble, notes),
    filters,
    table,
  );
  filters.hidden = table.hidden = true; // until there is something in them
  body.addEventListener("click", (event) => {
    const row = event.target.closest("tr");
    const to = row && row.querySelector("a");
    if (to && event.target !== to && !String(getSelection())) to.click();
  });
  body.addEventListener("keydown", walk);

  // Headings and filters are made once for all rows that are read, so that what has the focus keeps it while the order changes.
  function drawHead() {
    here = columns.filter(({ there }) => !there || there());
    fill(head, here.map((column) => {
      column.arrow = h("span", { class: "arrow", "aria-hidden": "true" });
      const sort = button([column.name, column.arrow], () => sortBy(column.key), `by-${column.key}`, "sort");
      column.head = h("th", { scope: "col", role: "columnheader", class: `c-${column.key}` }, column.value ? sort : column.name);
      return column.head;
    }));
  }

  function drawFilters() {
    const counts = new Map();
    for (const one of rows.outcome) counts.set(one, (counts.get(one) || 0) + 1);
    const options = [["", `all ${rows.sample.length.toLocaleString("en")}`, { test: "outcome-all" }]];
    for (const [one, count] of [...counts].sort()) options.push([one, `${one} ${count.toLocaleString("en")}`, { test: `outcome-${one}` }]);
    choices(outcomes, "outcome", options, view.outcome, (one) => change({ outcome: one, page: 0 }));
    const count = rows.sample.filter((_, i) => isWrong(i)).length;
    wrong.hidden = rows.truth.every((k) => k === null);
    say(wrongWords, `wrongly classified ${count.toLocaleString("en")}`);
  }

  function order() {
    const { value } = here.find(({ key }) => key === view.by) || columns[0];
    shown = rows.sample.map((_, i) => i).filter((i) => (!view.outcome || rows.outcome[i] === view.outcome) && (!view.wrong || isWrong(i)));
    const keys = new Map(shown.map((i) => [i, value(i)]));
    const sign = view.down ? -1 : 1;
    shown.sort((i, j) => compare(keys.get(i), keys.get(j), sign) || rows.sample[i] - rows.sample[j]);
    view.page = Math.max(0, Math.min(view.page, Math.ceil(shown.length / PAGE) - 1));
  }

  function draw() {
    if (!found) return;
    if (!rows.outcome.includes(view.outcome)) view.outcome = "";
    for (const radio of outcomes.querySelectorAll("input")) radio.checked = radio.value === view.outcome;
    wrongBox.checked = view.wrong;
    order();
    for (const { key, head: cell, arrow } of here.filter(({ value }) => value)) {
      const sorted = key === view.by;
      cell.ariaSort = sorted ? (view.down ? "descending" : "ascending") : "none";
      say(arrow, sorted ? (view.down ? "▼" : "▲") : "");
    }
    turn++;
    const first = view.page * PAGE;
    const visible = shown.slice(first, first + PAGE);
    fill(body, visible.map((i) => rowOf(i, visible)));
    const last = first + visible.length;
    const [from, to, of] = [first + 1, last, shown.length].map((count) => count.toLocaleString("en"));
    say(range, shown.length ? `${from} to ${to} of ${of}` : "no sample is like this");
    before.disabled = !view.page;
    after.disabled = last >= shown.length;
    before.hidden = after.hidden = shown.length <= PAGE;
    if (grid) paint(visible, turn);
    byId("to-results").href = toHash();
  }

  function rowOf(i, visible) {
    const sample = rows.sample[i];
    const isFirst = visible.includes(place.get(chosen)) ? sample === chosen : i === visible[0];
    const cells = here.map(({ key, name, cell }) => h("td", { role: "cell", class: `c-${key}`, "data-name": name }, cell(i, isFirst)));
    return h("tr", { role: "row", test: "row", "data-sample": sample, class: sample === chosen ? "chosen" : null }, cells);
  }

  // -- cells -----------------------------------------------------------------------------------------------------------------

  // One row at a time can be reached by Tab, the others from there by arrows.
  function leading(i, isFirst) {
    const sample = rows.sample[i];
    if (!app.holds(sample)) return String(sample);
    const href = `#s=${sample}&a=${encodeURIComponent(`stored:${sample}:0`)}`;
    return h("a", { href, tabindex: isFirst ? 0 : -1, onclick: () => { chosen = sample; } }, String(sample));
  }

  function truth(i) {
    const name = named(rows.truth[i]);
    return isWrong(i) ? h("span", { class: "chip", "data-state": "refuted" }, name) : name;
  }

  function outcome(i) {
    const kind = rows.settled[i] ? stateOf({ outcome: rows.outcome[i] }) : "undecided";
    return h("span", { class: "chip", "data-state": kind === "undecided" && rows.settled[i] ? null : kind }, rows.outcome[i]);
  }

  // In few digits; the exact number is the title.
  function cost(i) {
    const number = exact(i);
    if (!number) return null;
    const words = showValue(number.toNumber());
    const whole = String(number);
    return h("span", { title: words === whole ? null : whole }, rows.cost[i] === null ? `≥ ${words}` : words);
  }

  function picture(i) {
    const size = { width: grid.columns, height: grid.rows };
    return h("span", { class: grid.channels > 1 ? "thumb coloured" : "thumb" }, h("canvas", { ...size, role: "img", label: `sample ${rows.sample[i]}` }));
  }

  async function paint(visible, mine) {
    const canvases = [...body.querySelectorAll("canvas")];
    for (const [at, i] of visible.entries()) {
      const sample = rows.sample[i];
      if (!app.holds(sample)) continue;
      let values;
      try {
        ({ values } = await app.sampleOf(sample));
      } catch {
        return; // the table goes without; whoever goes to the sample is told why
      }
      if (mine !== turn || byId("results-page").hidden) return;
      const context = canvases[at].getContext("2d");
      const image = context.createImageData(grid.columns, grid.rows);
      values.forEach((value, f) => {
        const [pixel, channel] = pixelOf(grid, f);
        image.data[4 * pixel + (grid.channels > 1 ? channel : 3)] = Math.round(255 * share(payload, f, value));
        if (grid.channels > 1) image.data[4 * pixel + 3] = 255;
      });
      context.putImageData(image, 0, 0);
    }
  }

  // -- acting ----------------------------------------------------------------------------------------------------------------

  function change(wanted) {
    view = { ...view, ...wanted };
    draw();
    app.writeHash(true);
  }

  function sortBy(key) {
    change({ by: key, down: view.by === key && !view.down, page: 0 });
    announce(`Sorted by ${columns.find((one) => one.key === key).name}, ${view.down ? "descending" : "ascending"}`);
  }

  function turnTo(page) {
    change({ page });
    const { top } = table.getBoundingClientRect();
    if (top < 0) table.scrollIntoView();
  }

  function back(event) {
    event.preventDefault();
    location.hash = app.state.toHash();
  }

  function walk(event) {
    const links = [...body.querySelectorAll("a")];
    const at = links.indexOf(event.target);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: links.length - 1 }[event.key];
    if (at < 0 || to === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    const next = links[Math.max(0, Math.min(to, links.length - 1))];
    event.target.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  }

  // -- reading ---------------------------------------------------------------------------------------------------------------

  function take(read) {
    found = read;
    ({ rows } = read);
    place = new Map(rows.sample.map((sample, i) => [sample, i]));
    const [first, ...rest] = found.summary;
    say(question, `${found.name}: ${found.question}`);
    say(headline, upper(first));
    say(facts, rest.map(upper).join(". "));
    say(notes, found.notes.join(" "));
    filters.hidden = table.hidden = false;
    drawHead();
    drawFilters();
    draw();
  }

  async function read() {
    if (reload) reload.disabled = true;
    try {
      take(payload.server ? await call("GET", "/api/results") : payload.results);
      app.answers.forget();
      trouble.hidden = true;
    } catch (error) {
      say(trouble, error.message);
      trouble.hidden = false;
      if (!found) say(headline, "The results cannot be shown.");
    }
    if (reload) reload.disabled = false;
  }

  // -- the address -----------------------------------------------------------------------------------------------------------

  function toHash() {
    const parts = ["#results"];
    if (view.by !== "sample" || view.down) parts.push(`o=${view.down ? "-" : ""}${view.by}`);
    if (view.outcome) parts.push(`f=${encodeURIComponent(view.outcome)}`);
    if (view.wrong) parts.push("w=1");
    if (view.page) parts.push(`p=${view.page + 1}`);
    return parts.join("&");
  }

  // An address may be old or written by hand: what there is not is left out.
  async function fromHash(hash) {
    const parts = new Map(hash.split("&").map((part) => [part[0], part.slice(2)]));
    const by = (parts.get("o") || "").replace(/^-/, "");
    const known = columns.some(({ key, value }) => value && key === by);
    const page = Number(parts.get("p") || 1) - 1;
    const down = (parts.get("o") || "").startsWith("-");
    view = { by: known ? by : "sample", down, outcome: "", wrong: parts.get("w") === "1", page: Number.isInteger(page) ? page : 0 };
    try {
      view.outcome = decodeURIComponent(parts.get("f") || "");
    } catch {
      view.outcome = "";
    }
    if (found) draw();
    else await read();
    body.querySelector(".chosen a")?.focus();
  }

  return { toHash, fromHash };
}

// Numbers and fractions by size, texts by letters; what is not known comes last, whichever way.
function compare(a, b, sign) {
  if (a === null || b === null) return Number(a === null) - Number(b === null);
  if (a instanceof Fraction) return sign * a.compare(b);
  return a < b ? -sign : a > b ? sign : 0;
}
