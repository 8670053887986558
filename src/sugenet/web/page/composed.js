// Answers about several samples, such as a sum or a grid of digits: what is said, its figures, and the certificate.
import { byId, fill, h, link } from "./dom.js";

export function makeComposed({ payload, drawer }) {
  const section = byId("composed");
  const answers = payload.composed || [];
  section.hidden = !answers.length;
  if (!answers.length) return;
  fill(section, h("h2", { id: "composed-title" }, "Several samples"), answers.map(line));

  function line({ claim, outcome, state, figures, certificate }) {
    const image = ({ title, svg }) => h("img", { src: `data:image/svg+xml,${encodeURIComponent(svg)}`, alt: title });
    return h("div", { class: "answer", test: "composed" },
      h("p", { class: "kind" }, h("span", { class: "chip", "data-state": state }, outcome)),
      h("p", { class: "said" }, claim),
      h("div", { class: "figures" }, figures.map(image)),
      h("div", { class: "actions" }, link("Certificate", () => drawer.open(certificate, claim), "open-composed")));
  }
}
