// Drawing: elements, scales, ticks. Presentation attributes only, never style text.
const NS = "http://www.w3.org/2000/svg";
const ICONS = new URL("./icons.svg", import.meta.url).pathname;

export function el(tag, attrs = {}, ...kids) {
  const node = document.createElementNS(NS, tag);
  for (const [key, value] of Object.entries(attrs)) if (value != null && value !== false) node.setAttribute(key, value);
  for (const kid of kids.flat(Infinity)) if (kid != null) node.append(kid);
  return node;
}
export function html(tag, attrs = {}, ...kids) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(attrs)) if (value != null && value !== false) node.setAttribute(key, value === true ? "" : value);
  for (const kid of kids.flat(Infinity)) if (kid != null) node.append(kid);
  return node;
}
export const linear = (d0, d1, r0, r1) => (value) => r0 + ((value - d0) / (d1 - d0 || 1)) * (r1 - r0);

export function ticks(max, count = 4) {
  const rough = max / count, power = 10 ** Math.floor(Math.log10(rough || 1));
  const step = [1, 2, 2.5, 5, 10].map((m) => m * power).find((s) => s >= rough);
  const out = [];
  for (let v = 0; out.length < 2 || out.at(-1) < max; v += step) out.push(v);
  return out;
}
const points = (list) => list.map((p) => p.map((n) => n.toFixed(1)).join(",")).join("L");
export const area = (upper, lower) => `M${points(upper)}L${points(lower.slice().reverse())}Z`;
export const line = (list) => `M${points(list)}`;
export const icon = (name, cls = "i") => el("svg", { class: cls, "aria-hidden": "true" }, el("use", { href: `${ICONS}#${name}` }));

// what would rewrite the line of whoever reads it is written out: control and direction signs
// (and the password of a URL is not for the screen)
export const unsecret = (text) => text.replace(/(:\/\/[^\s/:@]*:)[^\s/@]+@/g, "$1***@");
export const visible = (text) => unsecret(text).replace(/[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/gu, (sign) => `[U+${sign.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}]`);
const CUT = 400;
// a name as HTML: two parts, so that the middle gives way and all of it is copied
export function nameOf(given) {
  const all = visible(given), text = all.length > CUT ? `${all.slice(0, 200)}…${all.slice(-14)}` : all;
  const k = text.length <= 14 ? 0 : Math.max(6, Math.min(14, Math.floor(text.length * 0.42)));
  return html("span", { class: "name", dir: "auto", title: all.slice(0, 2000) }, html("span", {}, k ? text.slice(0, -k) : text), k ? html("span", {}, text.slice(-k)) : null);
}
// the same in SVG, where the width in signs is known
export function middle(given, max) {
  const chars = [...visible(given.length > 2 * CUT ? given.slice(0, CUT) + given.slice(-CUT) : given)];
  if (chars.length <= max) return chars.join("");
  const tail = Math.ceil((max - 1) * 0.45);
  return chars.slice(0, max - 1 - tail).join("") + "…" + chars.slice(-tail).join("");
}
