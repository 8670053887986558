// The certificate drawer: what an answer rests on, as JSON that may be changed, and checks of it that share nothing with the search.
import { button, byId, copy, download, fill, h, say, toast } from "./dom.js";
import { call } from "./ask.js";
import { parseStrict, writePlain } from "./engine/strict_json.js";

const SAID = { true: ["proved", "Holds"], false: ["refuted", "Does not hold"], null: ["undecided", "Not checkable here"] };

export function makeDrawer(app) {
  const dialog = byId("drawer");
  let turn = 0; // of what is in the drawer now: an answer about an older text comes too late
  const claim = h("p", "claim");
  const text = h("textarea", { label: "Certificate as JSON, may be edited", spellcheck: "false", test: "certificate" });
  const result = h("div", { class: "result", role: "status", test: "recheck-result" });
  const inPage = (certificate) => app.engine.run("check", { text: certificate });
  const onServer = (certificate) => call("POST", "/api/check", `{"certificate": ${certificate}}`); // as it is spelled
  const here = button("Re-check here", () => recheck(inPage), "recheck", "primary");
  const there = app.payload.server && button("Re-check on the server", () => recheck(onServer), "recheck-server");
  const close = button("Close", () => dialog.close(), "close-drawer");
  const take = button("Copy", () => copy(text.value, "The certificate is copied."));
  const save = button("Download", () => download("certificate.json", text.value));
  fill(
    dialog,
    h("div", { class: "bar" }, h("h2", { id: "drawer-title" }, "Certificate"), close),
    claim,
    h("p", { class: "quiet" }, "What the answer rests on. Change anything, then check it: the checker shares nothing with the search."),
    text,
    h("div", { class: "toolbar" }, here, there, take, save),
    result,
  );
  text.addEventListener("input", () => {
    turn++;
    show("", "", "Changed. Check it again.");
  });
  dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });

  function show(kind, word, sentence) {
    result.dataset.state = kind;
    fill(result, word && h("strong", { class: "chip", "data-state": kind }, word), word ? `: ${sentence}` : sentence);
  }

  async function recheck(check) {
    const mine = ++turn;
    const certificate = text.value;
    try {
      parseStrict(certificate);
    } catch (error) {
      return show("refuted", "Does not hold", `This is not JSON: ${error.message}`);
    }
    show("working", "working", "Checking it.");
    try {
      const found = await check(certificate);
      if (mine === turn) show(...SAID[String(found.holds)], found.said);
    } catch (error) {
      if (mine === turn) show("failed", "Failed", error.message);
    }
  }

  function open(certificate, sentence) {
    turn++;
    say(claim, sentence);
    text.value = writePlain(certificate);
    show("", "", "Not checked yet.");
    dialog.showModal();
    here.focus();
  }

  // The engine writes the certificate of what the browser found only when somebody wants to see it.
  async function certify(claimed, sentence) {
    const mine = ++turn;
    const patience = setTimeout(() => toast("Writing the certificate."), 400);
    try {
      const certificate = await app.engine.run("certify", claimed);
      if (mine === turn) open(certificate, sentence);
    } catch (error) {
      toast(`No certificate: ${error.message}`);
    }
    clearTimeout(patience);
  }

  return { open, certify };
}
