// Opening files in the page: a network, then samples as CSV or as an image, dropped onto it or chosen. The page is written anew with what
// was read in it, as `sugenet report --interactive` writes it, so there is one way to start.
import { readSamples } from "./engine/csv.js";
import { Model } from "./engine/model.js";
import { payloadOf } from "./engine/network_file.js";
import { writePlain } from "./engine/strict_json.js";
import { byId, many, toast } from "./dom.js";

const SAMPLE_LIMIT = 400;
const [BEFORE, AFTER] = document.documentElement.outerHTML.split(byId("payload").textContent); // before anything is drawn

export function makeOpening(payload) {
  const isFixed = payload.server || payload.outside; // then others choose what is shown
  byId("open").hidden = isFixed;
  byId("open-page").hidden = !payload.empty;
  if (payload.empty) for (const id of ["explorer", "sample", "skip", "to-lesson", "share", "theme", "help", "open"]) byId(id).hidden = true;
  if (isFixed) return;
  const choose = () => byId("files").click();
  byId("open").addEventListener("click", choose);
  byId("choose").addEventListener("click", choose);
  byId("files").addEventListener("change", () => open(payload, byId("files").files));
  window.addEventListener("dragover", (event) => event.preventDefault());
  window.addEventListener("drop", (event) => {
    event.preventDefault();
    open(payload, event.dataTransfer.files);
  });
}

async function open(payload, files) {
  const isNetwork = (file) => file.name.toLowerCase().endsWith(".sugenet");
  const networks = [...files].filter(isNetwork);
  const others = [...files].filter((file) => !isNetwork(file));
  try {
    if (networks.length > 1) throw new Error("Drop one network at a time.");
    let next = payload;
    for (const file of networks) next = await openNetwork(file, payload.sugenet);
    if (next.empty) throw new Error("Drop a .sugenet file first: the samples need a network.");
    if (others.length) next = await openSamples(next, others);
    if (next !== payload) write(next);
  } catch (error) {
    toast(error.message);
  }
}

async function openNetwork(file, version) {
  return payloadOf(new Uint8Array(await file.arrayBuffer()), file.name.replace(/\.sugenet$/i, ""), version);
}

async function openSamples(payload, files) {
  const model = new Model({ ...payload, domain: null });
  const images = files.filter((file) => file.type.startsWith("image/"));
  if (files.length > 1 && images.length < files.length) throw new Error("Drop one CSV file, or images.");
  const samples = [];
  for (const file of images) samples.push({ values: await readImage(payload, model, file), truth: null });
  if (!images.length) samples.push(...readSamples(model, await files[0].text()));
  const kept = samples.slice(0, SAMPLE_LIMIT).map((sample, index) => ({ index, ...sample }));
  const note = samples.length > SAMPLE_LIMIT ? `, first ${many(SAMPLE_LIMIT, "sample")} of ${samples.length.toLocaleString("en")}` : "";
  const title = payload.title.replace(/, first 400 samples of [\d,]+$/, "") + note;
  return { ...payload, title, samples: kept, start: 0, count: kept.length, answers: [], results: null };
}

// Shades of grey, one pixel per feature, in the numbers that the network reads.
async function readImage({ grid }, model, file) {
  if (!grid || grid.channels > 1) throw new Error("This network does not read images in shades of grey. Drop a CSV file.");
  const bitmap = await createImageBitmap(file, { colorSpaceConversion: "none", premultiplyAlpha: "none" }).catch(() => {
    throw new Error(`${file.name} is not an image that this browser reads.`);
  });
  const { width, height } = bitmap;
  if (width !== grid.columns || height !== grid.rows) throw new Error(`${file.name} has ${width} x ${height} pixels, and the network reads ${grid.columns} x ${grid.rows}.`);
  const canvas = Object.assign(document.createElement("canvas"), { width, height });
  const context = canvas.getContext("2d");
  context.drawImage(bitmap, 0, 0);
  const { data } = context.getImageData(0, 0, width, height);
  const { low, high } = model.features[0].coding;
  return model.features.map((_, f) => {
    const [red, green, blue, alpha] = data.subarray(4 * f, 4 * f + 4);
    if (alpha !== 255) throw new Error(`${file.name} has transparent pixels.`);
    const shade = (red * 19595 + green * 38470 + blue * 7471 + 32768) >> 16; // ITU-R 601, as Python's reader of images
    if (shade < low || shade > high) throw new Error(`${file.name} has the shade ${shade}, and the network reads ${low} to ${high}. Drop a CSV file.`);
    return shade;
  });
}

function write(payload) {
  const data = writePlain(payload).replaceAll("<", "\\u003c");
  location.assign(URL.createObjectURL(new Blob([`<!doctype html>\n${BEFORE}${data}${AFTER}`], { type: "text/html" })));
}
