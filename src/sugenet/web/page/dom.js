// Making and changing elements. Text is always set as text, so a name that looks like HTML stays a name; and what
// would turn it around, or cannot be seen, is spelled out, as `sugenet.visible` does it.

const SHORT = { test: "data-test", label: "aria-label" };

const UNSEEN = /(?![\t\n])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\u034f\u115f\u1160\u2800\u3164\ufe00-\ufe0f\uffa0]/gu;

export function visible(text) {
  return text.replace(UNSEEN, (one) => {
    const code = one.codePointAt(0);
    const [sign, digits] = code < 256 ? ["x", 2] : code < 65536 ? ["u", 4] : ["U", 8];
    return `\\${sign}${code.toString(16).padStart(digits, "0")}`;
  });
}

export function h(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value" || name === "checked" || name === "disabled" || name === "hidden") element[name] = value;
    else element.setAttribute(SHORT[name] || name, value === true ? "" : visible(String(value)));
  }
  element.append(...present(children));
  return element;
}

export function byId(id) {
  return document.getElementById(id);
}

// The children an element shall have. What is there already is left alone, and what has the focus keeps it.
export function fill(element, ...children) {
  const wanted = present(children);
  const now = element.childNodes;
  if (wanted.length === now.length && wanted.every((child, i) => child === now[i])) return element;
  const focused = element.contains(document.activeElement) ? document.activeElement : null;
  element.replaceChildren(...wanted);
  if (focused && element.contains(focused)) focused.focus({ preventScroll: true });
  return element;
}

function present(children) {
  const kept = children.flat().filter((child) => child !== null && child !== undefined && child !== false);
  return kept.map((child) => (typeof child === "string" ? visible(child) : child));
}

// Writes text only where it differs: screen readers stay quiet, and the browser has nothing to lay out again.
export function say(element, words) {
  const text = visible(String(words));
  if (element.textContent !== text) element.textContent = text;
}

export function put(element, name, value) {
  const text = String(value);
  if (element.style.getPropertyValue(name) !== text) element.style.setProperty(name, text);
}

export function many(count, word) {
  return `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`;
}

export function number(value) {
  if (Number.isInteger(value)) return value.toLocaleString("en");
  return Math.abs(value) < 1e-4 ? `under ${value < 0 ? "−" : ""}0.0001` : String(Number(value.toPrecision(4)));
}

export function button(text, act, test, kind) {
  return h("button", { type: "button", class: kind, test, onclick: act }, text);
}

export function link(text, act, test) {
  return button(text, act, test, "link");
}

// One choice out of several, as radio buttons that look like a row of buttons.
export function choices(element, name, options, chosen, choose) {
  fill(
    element,
    options.map(([value, text, extra]) => {
      const radio = h("input", { type: "radio", name, value, checked: value === chosen, onchange: () => choose(value) });
      return h("label", { class: "choice", ...extra }, radio, h("span", null, text));
    }),
  );
}

export function isTyping(target) {
  return target instanceof HTMLElement && target.matches("textarea, select, input[type=text]");
}

export function calm() {
  return window.matchMedia("(prefers-reduced-motion: reduce)").matches;
}

// A phone has no keys and no pointer that rests on something.
export function isPhone() {
  return window.matchMedia("(max-width: 719px), (hover: none)").matches;
}

// Scrolls what has just appeared into sight where some of it is out of it; of something long, its beginning.
export function reveal(element) {
  const { top, bottom, height } = element.getBoundingClientRect();
  if (top >= 0 && bottom <= window.innerHeight) return;
  const block = height > window.innerHeight || top < 0 ? "start" : "end";
  element.scrollIntoView({ block, behavior: calm() ? "auto" : "smooth" });
}

// Scrolls an element into sight where most of it is out of it: on a narrow screen the input is far from the answers.
export function look(element) {
  const { top, bottom, height } = element.getBoundingClientRect();
  const seen = Math.min(bottom, window.innerHeight) - Math.max(top, 0);
  if (seen < 0.6 * Math.min(height, window.innerHeight)) element.scrollIntoView({ block: "center", behavior: calm() ? "auto" : "smooth" });
}

// For those who listen: what was found, once it is found. Steps on the way to it stay silent.
export function announce(text) {
  say(byId("spoken"), text);
}

let hiding = 0;

export function toast(text) {
  const element = byId("toast");
  say(element, text);
  element.hidden = false;
  clearTimeout(hiding);
  hiding = setTimeout(() => { element.hidden = true; }, 3200);
}

export function copy(text, done) {
  navigator.clipboard.writeText(text).then(() => toast(done), () => toast("The browser did not allow copying."));
}

export function download(name, text) {
  const url = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  const link = h("a", { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}
