// The page in a cell: a frame without rights, joined to the widget's model. Two messages, each taken from the other side alone:
// the page says what it shows, the model says where to go.

function render({ model, el }) {
  const frame = document.createElement("iframe");
  frame.title = model.get("_title");
  frame.setAttribute("sandbox", "allow-scripts allow-downloads");
  frame.allow = "clipboard-write";
  Object.assign(frame.style, { display: "block", boxSizing: "border-box", width: "100%", border: "1px solid #8888", resize: "vertical" });
  const fit = () => { frame.style.height = `${model.get("height")}px`; };
  let ready = false;
  let own = false;

  function go() {
    const { turn, start, values } = model.get("_shown");
    if (ready && !own) frame.contentWindow?.postMessage({ sugenet: turn, start, values }, "*");
  }

  function hear({ source, data }) {
    if (!source || source !== frame.contentWindow || !Number.isInteger(data?.sugenet)) return;
    if (data.ready) {
      ready = true; // again and again, where a notebook takes the cell out of sight and back
      go();
      return;
    }
    own = true;
    model.set("_shown", { ...model.get("_shown"), turn: data.sugenet, values: data.values });
    model.save_changes();
    own = false;
  }

  window.addEventListener("message", hear);
  model.on("change:_shown", go);
  model.on("change:height", fit);
  fit();
  frame.srcdoc = model.get("_page");
  el.append(frame);
  return () => {
    window.removeEventListener("message", hear);
    model.off("change:_shown", go);
    model.off("change:height", fit);
  };
}

export default { render };
