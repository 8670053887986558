// The whole network at a glance: text and figures of each part, as they were worked out before.
import { byId, fill, h } from "./dom.js";

export function makeOverview({ payload }) {
  const parts = payload.overview;
  byId("to-overview").hidden = !parts;
  if (!parts) return null;
  const image = ({ title, svg }) => h("img", { src: `data:image/svg+xml,${encodeURIComponent(svg)}`, alt: title });
  fill(
    byId("overview-page"),
    h("h1", null, `${payload.title} at a glance`),
    h("p", null, h("a", { href: "#", id: "from-overview", test: "from-overview" }, "Back to the samples")),
    parts.map(({ title, text, figures }) => h("section", { test: "overview-part" },
      h("h2", null, title),
      h("div", { class: "figures" }, figures.map(image)),
      h("pre", { class: "said" }, text))),
  );
  return { toHash: () => "#overview" };
}
