// Questions and their answers: reasons and changes as they come in, sorted, shown on the input, pinned in pairs, checked.
import { announce, button, byId, fill, h, isPhone, link, look, many, reveal, say, toast } from "./dom.js";
import { makeCards } from "./cards.js";
import { aClass, duration, unit, upper, withHeld, within } from "./words.js";

const alike = (a, b) => a.length === b.length && a.every((value, i) => value === b[i]);
const MANY = 128; // of more features a change is looked for before it is proved
const BUDGET = 1e6; // changes that are walked to find the smallest that matters
const SECONDS = 3;

export function makeAnswers(app) {
  const { payload, model, state, ask } = app;
  const word = unit(payload);
  const anything = "whatever else changes";
  const make = makeCards(app);
  let cards = [];
  let runs = [];
  let compared = []; // the pinned cards that stand side by side now
  let order = "found";
  let wanted = null; // the key of an answer to show as soon as it is there
  let recalled = null; // the sample whose stored answers are shown
  let going = 0; // of several ways to another input the last one asked for is gone

  const near = h("option", { value: "near" }, "with few changes");
  const region = h("select", { label: "How much else may change", test: "region" }, near, h("option", { value: "any" }, anything));
  const check = button("Check my rule", checkHeld, "check-rule");
  const about = [button("Why this class?", () => why(region.value), "why", "primary"), button("Nearest changes", nearestAll, "nearest-all"), button("How many?", () => count(region.value), "count")];
  const ruleWords = h("p", { class: "quiet", test: "rule-words" });
  const text = h("input", { type: "text", label: "A rule in words", placeholder: ruleExample(), test: "rule-text" });
  const form = h("form", null, text, h("button", { type: "submit", test: "ask-rule" }, "Check this rule"));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    checkText();
  });
  fill(
    byId("questions"),
    h("div", { class: "ask" },
      h("div", { class: "line" }, about[0], region),
      h("div", { class: "line" }, about[1], check, about[2]),
      ruleWords,
      payload.server && form),
  );
  const sorts = [["found", "newest first"], ["near", "nearest first"], ["size", "smallest first"], ["class", "by class"]];
  const sort = h("select", { test: "sort" }, sorts.map(([value, name]) => h("option", { value }, name)));
  sort.addEventListener("change", () => {
    order = sort.value;
    draw();
  });
  const running = h("div", null);
  const list = h("div", { role: "list", label: "Answers", test: "answers" });
  const bar = h("div", { class: "order" }, h("label", null, "sort ", sort), link("Clear", clear));
  const empty = h("p", { class: "empty" }, "No answers yet. Ask why, or choose a class in the race to go to its nearest input.");
  const more = link("", () => {
    for (const card of cards) card.isMore = false;
    draw();
  }, "more-reasons");
  fill(byId("answers"), running, bar, list, more, empty);
  const storedNote = h("span", { class: "quiet", role: "status", test: "stored-note" });
  const storedList = h("div", { role: "list", label: "Stored answers", test: "stored" });
  if (payload.results) {
    const title = h("h2", { id: "stored-title" }, `In ${payload.results.name}`);
    fill(byId("stored"), h("div", { class: "bar" }, title, storedNote), storedList);
    byId("stored").hidden = false;
  }

  function ruleExample() {
    const { title, coding } = model.features[0];
    return `${coding.width ? coding.words(title, 0, true) : title} -> ${payload.classes[0]}`;
  }

  // -- asking ----------------------------------------------------------------------------------------------------------------

  // Asks one question; `card` makes a card of each part, or of the whole answer where it has none.
  // It has a line of its own while it is worked on, or that of the questions `whole` that it is one of.
  async function put(title, question, card, { whole = null, isSeen = true, first = null, early = null } = {}) {
    cards = cards.filter((one) => !one.stale || one.pinned || one.stored !== null);
    const run = whole ?? begin(title, question.sample ?? state.values.slice());
    Object.assign(run, { title, words: "", share: undefined });
    draw();
    if (isSeen) reveal(run.line);
    const clock = setInterval(() => run.refresh(), 1000);
    try {
      early ??= first && (await first(question, run.control.signal));
      if (early && !run.dropped) add(run, card(early, -1));
      const found = await ask(question, {
        signal: run.control.signal,
        onProgress: (progress) => tellProgress(run, progress),
        onPart: (part) => run.dropped || add(run, card(part, run.parts++)),
      });
      const answer = better(found, early);
      if (run.dropped) return null;
      if (!whole) end(run);
      if (!run.parts || question.kind === "rule") add(run, card(answer, -1));
      draw();
      if (isSeen) reveal((run.first ?? cards[0]).line);
      announce(run.parts > 1 && question.kind !== "rule" ? `${title}: ${many(run.parts, "answer")}` : cards[0].said);
      return answer;
    } catch (error) {
      if (run.dropped) return null;
      if (error.name === "AbortError") {
        end(run);
        toast("Stopped. Nothing more is known than before.");
      } else announce((run.error = error.message));
      leaveOpen();
      return null;
    } finally {
      clearInterval(clock);
    }
  }

  // A smaller change that was found before stays, though less may be proved about it.
  function better(found, early) {
    const size = (answer) => Object.keys(answer.changes || {}).length || Infinity;
    if (!early || found.is_minimum || found.outcome === "none" || size(found) <= size(early)) return found;
    return { ...found, outcome: "found", is_minimum: false, changes: early.changes, label: early.label, lower: found.lower ?? early.lower, certificate: null };
  }

  // Nothing more is worked out: what was found is a fact all the same.
  function leaveOpen() {
    cards = cards.map((one) => (one.state === "working" ? { ...one.open(), values: one.values, stale: one.stale, pinned: one.pinned } : one));
    draw();
  }

  function add(run, card) {
    cards = cards.filter((old) => old.key !== card.key || old.pinned);
    cards.unshift({ ...card, values: run.values, stale: !alike(run.values, state.values) });
    if (!card.isMore) run.first = cards[0];
    if (card.key === wanted) show(cards[0], card.stored === null && card.kind !== "reason");
    draw();
  }

  function begin(title, values) {
    const run = { title, control: new AbortController(), words: "", values, parts: 0, began: performance.now() };
    runs.push(run);
    return run;
  }

  function end(run) {
    runs = runs.filter((other) => other !== run);
  }

  function tellProgress(run, { words, share, tried, total }) {
    run.words = words || `${many(tried, "change")} of ${total.toLocaleString("en")}`;
    run.share = share ?? (total ? tried / total : undefined);
    drawRuns();
  }

  // Where there are many features the proof takes its time: what a search finds stands there meanwhile.
  async function nearest(k, go, how = {}) {
    const target = k === null ? null : payload.classes[k];
    const key = `whatif:${target ?? ""}`;
    if (go) wanted = key;
    const turn = go ? ++going : 0;
    const held = heldNow();
    const keep = held.map((f) => payload.features[f][0]);
    const sample = state.values.slice();
    const question = { kind: "whatif", sample, cost: "L0", target, keep, n: 1 };
    const title = `Nearest change to ${target === null ? "another class" : aClass(target)}`;
    const first = k !== null && payload.features.length > MANY ? ask.quick : null;
    const answer = await put(title, question, (found) => make.change(key, found, target, held.length, sample), { first, isSeen: !go, ...how });
    const size = Object.keys((answer && answer.changes) || {}).length;
    if (!go || !size || turn !== going || !alike(held, heldNow())) return answer;
    const least = answer.is_minimum ? "proved to be the least" : `at least ${answer.lower} are needed`;
    app.morph(make.changesOf(answer).map(stateOf), upper(`${withHeld(held.length, word)}${many(size, word)} changed, ${least}.`));
    return answer;
  }

  function heldNow() {
    return [...state.locks].sort((a, b) => a - b);
  }

  // What a search finds for each class stands there at once; then each is worked out, the nearest first. One Cancel ends all of it.
  async function nearestAll() {
    const { label, scores } = state.result;
    const values = state.values.slice();
    const held = heldNow();
    const keep = held.map((f) => payload.features[f][0]);
    const others = payload.classes.map((_, k) => k).filter((k) => k !== label).sort((a, b) => scores[b] - scores[a]);
    const known = new Map();
    const size = (k) => (known.get(k) ? Object.keys(known.get(k).changes).length : Infinity);
    sort.value = order = "near";
    const run = begin("Nearest changes", values);
    run.words = "looking for changes to every class";
    draw();
    reveal(run.line);
    const { signal } = run.control;
    const over = () => signal.aborted || !alike(state.values, values);
    try {
      for (const k of others) {
        const target = payload.classes[k];
        const found = await ask.quick({ sample: values, target, keep }, signal);
        if (over()) return;
        known.set(k, found);
        if (!found) continue;
        const isFirst = !run.first;
        add(run, make.change(`whatif:${target}`, found, target, held.length, values));
        if (isFirst) reveal(run.first.line);
      }
      for (const [at, k] of others.sort((a, b) => size(a) - size(b)).entries()) {
        const answer = await nearest(k, false, { whole: run, first: null, isSeen: at === 0, early: known.get(k) });
        if (!answer || over()) return;
      }
    } catch (error) {
      if (error.name !== "AbortError") toast(error.message);
    } finally {
      if (!run.error) end(run);
      leaveOpen();
    }
  }

  // The smallest change that alters the class, whatever is held: known from the verdict, or walked for this.
  async function smallest() {
    const known = state.locks.size ? null : await app.least();
    if (known && known.size !== null) return known;
    const found = await app.engine.run("nearest", { states: state.states, target: null, budget: BUDGET, seconds: SECONDS });
    return { size: { minimum: found.changes?.length, none: 0 }[found.outcome] ?? null, walked: found.provedUpTo };
  }

  // The region that is chosen: the smallest one in which something matters, or any input. Where no such is known it is any input.
  async function chosen(which) {
    const values = state.values.slice();
    const { size, walked } = which === "near" ? await smallest() : { size: null, walked: 0 };
    if (!alike(values, state.values)) return null;
    if (size) return { kind: { kind: "L0", radius: String(size) }, words: `with up to ${many(size, word)} changed`, walked };
    return { kind: { kind: "AnyInput" }, words: anything, walked };
  }

  function reach({ size }) {
    say(near, size ? `with up to ${size} changed` : "with few changes");
  }

  // The first reason is drawn on the input at once; the others wait behind a link.
  async function why(which, shown = `why:${which}:0`) {
    const { label } = state;
    state.choice.answer = null;
    wanted = shown;
    const sample = state.values.slice();
    const around = await chosen(which);
    if (!around) return null;
    const isNear = around.kind.kind === "L0";
    const [minimal, n] = isNear ? ["size", 5] : ["subset", payload.server ? 1 : 3];
    const question = { kind: "why", sample, region: around.kind, minimal, n };
    const reason = (part, number) => {
      const key = `why:${which}:${number}`;
      return { ...make.reason(key, part, label, around.words + within(payload)), isMore: number > 0 && key !== shown };
    };
    const card = (part, number) => (number < 0 ? make.other("why", part) : reason(part, number));
    return put(`Why ${aClass(label)}, ${around.words}`, question, card);
  }

  async function checkHeld() {
    const { label } = state;
    const held = heldNow();
    const turn = ++going;
    const features = payload.features.filter((_, f) => !state.locks.has(f)).map(([name]) => name);
    const question = { kind: "verify", sample: state.values.slice(), region: { kind: "Free", features }, target: null };
    wanted = "hold";
    const answer = await put("Check my rule", question, (found) => make.rule(found, held, label, question.sample));
    if (!answer || answer.outcome !== "refuted" || turn !== going || !alike(held, heldNow())) return;
    app.morph(make.changesOf(answer).map(stateOf), `A counterexample: it is ${aClass(answer.label)}. What you hold is as before.`);
  }

  function checkText() {
    const rule = text.value.trim();
    const asked = make.named(rule);
    if (rule) put("Check a rule", { kind: "rule", text: asked }, (found) => make.other(`rule:${rule}`, found));
  }

  // Counts what the verdict walked, or the region that something matters in; with any input, all that is not held.
  async function count(which) {
    const { label } = state;
    const sample = state.values.slice();
    const held = heldNow();
    const found = await chosen(which);
    if (!found) return;
    const { walked } = found;
    const isNear = which === "near" && (found.kind.kind === "L0" || walked > 0);
    const size = found.kind.radius ?? String(walked);
    const features = payload.features.filter((_, f) => !held.includes(f)).map(([name]) => name);
    const free = held.length ? { kind: "Free", features } : found.kind;
    const where = isNear ? `with up to ${many(Number(size), word)} changed` : "in all";
    const keep = held.map((f) => payload.features[f][0]);
    const question = { kind: "count", sample, region: isNear ? { kind: "L0", radius: size } : free, keep: isNear ? keep : [] };
    put(`How many inputs ${where} keep the class`, question, (answer) => make.count(answer, label, where + within(payload), held.length));
  }

  // -- a results file: what it says of the sample stands above what is asked -------------------------------------------------

  async function recall() {
    const { index, values } = payload.samples[state.sample];
    if (!payload.results || index === null || recalled === index) return;
    recalled = index;
    say(storedNote, "");
    let found = { row: null, answer: null };
    let trouble = "";
    try {
      found = await ask({ kind: "stored", index, sample: values });
    } catch (error) {
      trouble = error.message;
    }
    if (recalled !== index) return; // another sample was chosen meanwhile
    const { row, answer } = found;
    const limit = row && row.time_limit !== null ? `; the limit was ${duration(row.time_limit)}` : "";
    say(storedNote, trouble || (row ? `answered in ${duration(row.seconds)}${limit}` : "not answered yet"));
    const key = (n) => `stored:${index}:${n}`;
    const label = payload.classes[state.baseResult.label];
    const around = answer?.region === "any input" ? "for any input" : `with ${answer?.region}`;
    const reasons = (answer?.reasons ?? []).map((part, n) => make.reason(key(n), part, label, around));
    const recent = reasons.length ? reasons : answer ? [make.stored(key(0), answer, values)] : [];
    for (const card of recent.reverse()) add({ values }, { ...card, stored: index });
  }

  // The file was read again: what it says may be another answer.
  function forget() {
    recalled = null;
    cards = cards.filter((card) => card.stored === null);
    recall();
  }

  // -- showing ---------------------------------------------------------------------------------------------------------------

  function show(card, isFar = true) {
    wanted = null;
    const hide = state.choice.answer === card.key;
    state.choice.answer = hide ? null : card.key;
    if (!hide) state.choice.neuron = null;
    app.scrollToMarks = !hide;
    if (!hide && isFar) look(byId("board"));
    state.tell("choice");
  }

  function point() {
    const card = cards.find((one) => one.key === state.choice.answer);
    if (!card || !card.features.length) return app.point("answer", null);
    const marks = new Map();
    if (card.kind !== "change") for (const f of card.features) marks.set(f, { glyph: "=", holds: "keep", words: "must stay as it is" });
    for (const { feature, before, after } of card.changes) marks.set(feature, app.changeMark(feature, before, after));
    const legend = card.kind === "change" ? "The number is the value it takes." : "= stays as it is.";
    return app.point("answer", { title: card.name, legend, marks });
  }

  // Lines of runs and cards are made once and then only changed, so that a button stays under the pointer and keeps the focus.
  function runLine(run) {
    const chip = h("span", { class: "chip" });
    const title = h("span", null);
    const words = h("p", null);
    const progress = h("progress", { max: 1, label: "Progress" });
    const stop = link("", () => {
      if (run.error) end(run);
      else {
        run.words = "stopping";
        run.control.abort("cancelled");
      }
      draw();
    }, "cancel");
    run.line = h("div", { class: "answer", test: "run" },
      h("p", { class: "kind" }, title, chip),
      words,
      h("div", { class: "actions" }, progress, stop));
    run.refresh = () => {
      say(title, run.title);
      chip.dataset.state = run.error ? "failed" : "working";
      say(chip, chip.dataset.state);
      words.className = run.error ? "said" : "list";
      const seconds = Math.floor((performance.now() - run.began) / 1000);
      say(words, run.error || `${run.words || "asking"}${seconds ? `, ${seconds} s` : ""}`);
      progress.hidden = run.share === undefined || Boolean(run.error);
      progress.value = run.share ?? 0;
      say(stop, run.error ? "Dismiss" : "Cancel");
    };
    return run.line;
  }

  function drawRuns() {
    fill(running, runs.map((run) => run.line || runLine(run)));
    for (const run of runs) run.refresh();
  }

  function draw() {
    drawRuns();
    const sorted = cards.slice();
    const rank = (card) => payload.classes.indexOf(card.goal);
    const isOther = (card) => Number(card.kind !== "change");
    if (order === "near") sorted.sort((a, b) => isOther(a) - isOther(b) || a.size - b.size);
    if (order === "size") sorted.sort((a, b) => a.size - b.size);
    if (order === "class") sorted.sort((a, b) => rank(a) - rank(b) || a.size - b.size);
    const asked = cards.filter((card) => card.stored === null).length;
    bar.hidden = !asked;
    empty.hidden = asked > 0 || runs.length > 0;
    const lines = (some) => some.map((card) => card.line || cardLine(card));
    const ofFile = (card) => card.stored !== null;
    fill(list, lines(sorted.filter((card) => !ofFile(card) && !card.isMore)));
    const hidden = cards.filter((card) => card.isMore).length;
    more.hidden = !hidden;
    say(more, `Show ${many(hidden, "more reason")}`);
    fill(storedList, lines(cards.filter(ofFile)));
    for (const card of cards) card.refresh?.();
    const pinned = cards.filter((card) => card.pinned).sort((a, b) => a.pinned - b.pinned);
    if (!alike(pinned, compared)) fill(byId("pinned"), pinned.length ? make.pair(pinned) : null);
    compared = pinned;
    point();
  }

  function cardLine(card) {
    const { drawer } = app;
    const name = h("span", null);
    const showing = link("", () => show(card), "show");
    const going = link("Go there", () => app.morph(card.changes.map(stateOf), card.said), "go-there");
    const back = link("Back to that input", () => { state.stroke(); state.setValues(card.values); }, "back-there");
    const pinning = link("", () => pin(card), "pin");
    const certificate = () => (card.certificate ? drawer.open(card.certificate, card.said) : drawer.certify(card.certify, card.said));
    const about = { role: "listitem", test: "answer", "data-kind": card.kind, "data-size": card.size };
    card.line = h("div", { class: "answer", ...about },
      h("p", { class: "kind" }, name, h("span", { class: "chip", "data-state": card.state }, card.word ?? card.state)),
      h("p", { class: "said" }, card.said),
      card.detail && h("p", { class: "list" }, card.detail),
      h("div", { class: "actions" },
        showing, going, back, pinning,
        (card.certificate || card.certify) && link("Certificate", certificate, "open-certificate")));
    card.refresh = () => {
      const open = state.choice.answer === card.key;
      card.line.classList.toggle("shown", open);
      say(name, `${card.name}${card.stale ? ", for the input before" : ""}`);
      say(showing, open ? "Hide" : "Show");
      showing.ariaPressed = String(open);
      say(pinning, card.pinned ? "Unpin" : "Pin");
      pinning.ariaPressed = String(Boolean(card.pinned));
      showing.hidden = pinning.hidden = !card.features.length;
      going.hidden = !card.changes.length || card.stale;
      back.hidden = !card.stale;
    };
    return card.line;
  }

  function stateOf({ feature, after }) {
    return [feature, model.stateOf(feature, after)];
  }

  // Two pins at most: a third takes the place of the older one.
  function pin(card) {
    const pinned = cards.filter((one) => one.pinned).sort((a, b) => a.pinned - b.pinned);
    if (!card.pinned && pinned.length === 2) pinned[0].pinned = 0;
    card.pinned = card.pinned ? 0 : 1 + Math.max(0, ...pinned.map((one) => one.pinned));
    draw();
  }

  function clear() {
    stop();
    cards = cards.filter((card) => card.pinned || card.stored !== null);
    draw();
  }

  // -- following the input ---------------------------------------------------------------------------------------------------

  function stop() {
    for (const run of runs) {
      run.dropped = true;
      run.control.abort("dropped");
    }
    runs = [];
  }

  function refresh(what) {
    if (what === "input" || what === "sample") {
      if (runs.some((run) => !alike(run.values, state.values))) stop();
      for (const card of cards) card.stale = !alike(card.values, state.values);
      const { index } = payload.samples[state.sample];
      if (what === "sample") cards = cards.filter((card) => card.pinned || (card.stored === null ? !card.stale : card.stored === index));
      if (what === "sample") recall();
      if (cards.some((card) => card.key === state.choice.answer && card.stale)) state.choice.answer = null;
    }
    const held = state.locks.size;
    const broken = model.broken(state.states) !== null;
    for (const one of about) one.disabled = broken;
    check.disabled = !held || broken;
    const how = payload.grid ? `choose Hold above the input${isPhone() ? "" : ", or press L on them"}.` : "press hold beside them.";
    const rule = `While ${make.these(held)}, it is ${aClass(state.label)} whatever the others do.`;
    say(ruleWords, held ? rule : `To check a rule, hold some ${word}s first: ${how}`);
    draw();
  }

  // A link names an answer; asking again gives it.
  function restore(key) {
    if (!key || model.broken(state.states) !== null || cards.some((card) => card.key === key)) return;
    const [kind, which] = key.split(":");
    wanted = key;
    state.choice.answer = null;
    const target = payload.classes.indexOf(key.slice("whatif:".length));
    if (kind === "stored") return; // it comes with the sample
    if (kind === "whatif" && (target >= 0 || !which)) nearest(which ? target : null, false);
    else if (kind === "why" && (which === "near" || which === "any")) why(which, key);
    else if (kind === "hold" && state.locks.size) checkHeld();
  }

  return { refresh, nearest, restore, forget, reach };
}
