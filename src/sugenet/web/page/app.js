// The explorer: reads the payload, draws the parts, and lets them follow one state and one address.
import { startWorker } from "./engine/client.js";
import { Model } from "./engine/model.js";
import { parsePlain } from "./engine/strict_json.js";
import { makeAnswers } from "./answers.js";
import { call, makeAsk } from "./ask.js";
import { byId, isTyping, say, toast } from "./dom.js";
import { makeComposed } from "./composed.js";
import { makeDrawer } from "./drawer.js";
import { newWords, valueWords } from "./features.js";
import { makeFrame } from "./frame.js";
import { makeGrid } from "./grid.js";
import { makeLesson } from "./lesson.js";
import { makeNeurons } from "./neurons.js";
import { makeRace } from "./race.js";
import { makeOpening } from "./opening.js";
import { makeOutside } from "./outside.js";
import { makeOverview } from "./overview.js";
import { makeResults } from "./results.js";
import { State } from "./state.js";
import { makeTable } from "./table.js";
import { makeTools } from "./tools.js";
import { makeVerdict } from "./verdict.js";

const MOST = 2000; // samples that are kept once they came from the server

function start(payload) {
  const model = new Model(payload);
  const state = new State(model, payload);
  const app = { payload, model, state, engine: startWorker(payload), mode: "flip", level: 0, channel: 0, marked: new Map() };
  window.sugenet = { model, state, payload };

  // -- marks on the input: the neuron pointed at comes before the chosen answer, that before the verdict --------------------------

  const pointed = { neuron: null, answer: null, verdict: null };

  app.point = (source, highlight) => {
    if (!highlight && !pointed[source]) return;
    pointed[source] = highlight;
    app.remark();
  };

  app.remark = () => {
    const first = pointed.neuron || pointed.answer || (byId("morph").hidden ? pointed.verdict : null);
    app.marked = first ? first.marks : new Map();
    app.board.mark(app.marked);
    app.scrollToMarks = false;
    say(byId("marks"), first ? `Marked: ${first.title}. ${payload.grid ? first.legend : ""}` : "");
  };

  app.changeMark = (feature, before, after) => {
    const glyph = typeof after === "number" && String(after).length < 4 ? String(after) : "→";
    return { glyph, holds: "set", words: `${valueWords(model, feature, before)} becomes ${newWords(model, feature, after)}` };
  };

  app.changeMarks = (changes) =>
    new Map(changes.map(([f, to]) => [f, app.changeMark(f, state.values[f], model.shownOf(f, to, state.values))]));

  // -- address: the page is its link. Small steps replace the entry, a jump to another input or sample makes one of its own. -------

  let writing = 0;

  app.writeHash = (replace) => {
    clearTimeout(writing);
    if (payload.outside) return;
    const shown = [["lesson-page", lesson], ["results-page", results], ["overview-page", overview]].find(([id]) => !byId(id).hidden);
    const hash = (shown ? shown[1] : state).toHash();
    if (hash === location.hash || (!location.hash && hash === firstHash)) return;
    if (replace) history.replaceState(null, "", hash);
    else history.pushState(null, "", hash);
  };

  function scheduleHash() {
    clearTimeout(writing);
    if (app.push) app.writeHash(false);
    else writing = setTimeout(() => app.writeHash(true), 200);
    app.push = false;
  }

  async function read() {
    const { hash } = location;
    const toLesson = hash.startsWith("#lesson");
    const toResults = Boolean(results) && hash.startsWith("#results");
    const toOverview = Boolean(overview) && hash.startsWith("#overview");
    const isApart = toLesson || toResults || toOverview;
    const wasElsewhere = byId("results-page").hidden === toResults || byId("overview-page").hidden === toOverview;
    if (app.way) state.moved();
    byId("lesson-page").hidden = !toLesson;
    byId("results-page").hidden = !toResults;
    byId("overview-page").hidden = !toOverview;
    for (const id of ["explorer", "sample", "skip"]) byId(id).hidden = isApart;
    document.title = `${toLesson ? "Lesson" : toResults ? "Results" : toOverview ? "Overview" : payload.title}, sugenet`;
    if (wasElsewhere) window.scrollTo(0, 0);
    clearTimeout(writing);
    if (isApart) {
      byId("morph").hidden = true;
      if (toOverview) return;
      (toLesson ? lesson : results).fromHash(hash);
      return;
    }
    const missing = state.missing(hash);
    if (missing !== null) {
      await bring(missing);
      if (location.hash !== hash) return; // another one was read meanwhile
    }
    // Back from a lesson or the results to what was there: undo goes on from where it was.
    if (app.isShown && hash === state.toHash()) state.tell("choice");
    else state.fromHash(hash);
    app.isShown = true;
    app.answers.restore(state.choice.answer);
    clearTimeout(writing);
  }

  // -- samples: a page that is served has some of them, the others come when they are wanted ---------------------------------------

  const fetched = new Map();

  app.holds = (index) => payload.server || state.position(index) >= 0;

  app.sampleOf = async (index) => {
    if (state.position(index) >= 0) return payload.samples[state.position(index)];
    if (fetched.size > MOST) fetched.clear();
    if (!fetched.has(index)) fetched.set(index, await call("GET", `/api/samples/${index}`));
    return fetched.get(index);
  };

  async function bring(index) {
    if (!payload.server) return toast(`This file does not hold sample ${index}. Serve the network to see it: sugenet serve`);
    try {
      state.insert(await app.sampleOf(index));
    } catch (error) {
      toast(error.message);
    }
    return undefined;
  }

  app.goTo = (position) => {
    const count = payload.samples.length;
    state.choice.answer = null;
    state.load((position + count) % count);
    app.push = true;
    state.tell("sample");
  };

  // -- parts -----------------------------------------------------------------------------------------------------------------------

  app.board = payload.grid ? makeGrid(app) : makeTable(app);
  app.ask = makeAsk(app);
  app.drawer = makeDrawer(app);
  makeComposed(app);
  const tools = makeTools(app);
  app.morph = tools.morph;
  app.answers = makeAnswers(app);
  const neurons = makeNeurons(app);
  app.reach = neurons.reach;
  const race = makeRace(app);
  const verdict = makeVerdict(app);
  app.least = verdict.least;
  const lesson = makeLesson(app);
  const results = payload.results && makeResults(app);
  const overview = makeOverview(app);
  byId("to-results").hidden = !results;
  const frame = makeFrame(app);

  // One step of a way to another input: only what must follow at once.
  app.step = () => {
    state.evaluate();
    app.board.refresh();
    race.refresh();
    verdict.refresh();
  };

  state.on((what) => {
    if (what === "input" || what === "sample") app.way = null;
    if (what !== "choice") {
      verdict.refresh(); // first: it asks for a height, which costs nothing before the others write
      app.board.refresh();
      race.refresh();
      tools.refresh(what);
    }
    if (what === "sample") frame.refresh();
    neurons.refresh();
    app.answers.refresh(what);
    scheduleHash();
  });

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target) || document.querySelector("dialog[open]")) return;
    const act = {
      "?": () => byId("keys").showModal(),
      u: () => (event.shiftKey ? state.redo() : state.undo()),
      r: () => state.reset(),
      n: () => app.goTo(state.sample + 1),
      p: () => app.goTo(state.sample - 1),
    }[event.key.toLowerCase()];
    if (!act || (event.key !== "?" && byId("explorer").hidden)) return;
    event.preventDefault();
    act();
  });

  for (const id of ["from-lesson", "from-overview"]) {
    byId(id)?.addEventListener("click", (event) => {
      event.preventDefault();
      location.hash = state.toHash();
    });
  }
  window.addEventListener("popstate", read);
  const firstHash = state.toHash();
  read();
  makeOutside(app);
}

const embedded = parsePlain(byId("payload").textContent);
makeOpening(embedded);
// The address says `?within=any` where questions are about values outside the training range as well; precomputed answers are not.
const isWide = "anywhere" in embedded && new URLSearchParams(location.search).get("within") === "any";
if (!embedded.empty) start(isWide ? { ...embedded, domain: embedded.anywhere, answers: [], within: "any" } : embedded);
