// Charts: runs per hour, and history (duration or volume) with its expected band.
// Each is one tab stop: arrows move the cursor, Enter opens, the tip says what a table row would.
import { area, el, html, line, linear, ticks } from "./svg.js";
import { absolute, dayMonth, hm } from "./times.js";

const tip = html("div", { class: "tip", role: "status", hidden: true });
document.body.append(tip);
function showTip(x, y, title, rows) {
  tip.replaceChildren(html("b", {}, title), html("dl", {}, rows.map(([k, v]) => [html("dt", {}, k), html("dd", {}, v)])));
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  tip.style.left = Math.min(x + 14, innerWidth - box.width - 8) + "px";
  tip.style.top = Math.max(8, Math.min(y - box.height / 2, innerHeight - box.height - 8)) + "px";
}
const hideTip = () => { tip.hidden = true; };

// one cursor for mouse and keyboard
function cursor(box, count, xOf, describe, open) {
  let at = -1;
  const show = (i, x, y) => { at = i; box.querySelector(".cursor")?.setAttribute("x1", xOf(i)); box.querySelector(".cursor")?.setAttribute("x2", xOf(i)); box.querySelector(".cursor")?.removeAttribute("visibility"); showTip(x, y, ...describe(i)); };
  const clear = () => { hideTip(); box.querySelector(".cursor")?.setAttribute("visibility", "hidden"); };
  const near = (x) => { let best = 0; for (let i = 1; i < count; i++) if (Math.abs(xOf(i) - x) < Math.abs(xOf(best) - x)) best = i; return best; };
  box.onpointermove = (e) => show(near(e.clientX - box.getBoundingClientRect().left), e.clientX, e.clientY);
  box.onpointerleave = clear; box.onblur = clear;
  box.onclick = () => open?.(at);
  box.onkeydown = (e) => {
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: count - 1 }[e.key];
    if (to !== undefined) { e.preventDefault(); const i = Math.max(0, Math.min(count - 1, to)), r = box.getBoundingClientRect(); show(i, r.left + xOf(i), r.top + r.height / 2); }
    if (e.key === "Enter") open?.(at);
    if (e.key === "Escape") clear();
  };
}
const time = (s) => s < 90 ? `${+s.toFixed(s < 10 ? 1 : 0)} s` : s < 5400 ? `${+(s / 60).toFixed(1)} min` : s < 172800 ? `${+(s / 3600).toFixed(1)} h` : `${+(s / 86400).toFixed(1)} d`;
const bytes = (n) => { let k = 0; while (n >= 1000 && k < 5) { n /= 1000; k++; } return `${+n.toFixed(n < 10 ? 1 : 0)} ${["B", "kB", "MB", "GB", "TB", "PB"][k]}`; };
const compact = (n) => n >= 1e6 ? `${+(n / 1e6).toFixed(2)} M` : n >= 1e4 ? `${+(n / 1e3).toFixed(1)} k` : n.toLocaleString("en-GB").replace(/,/g, " ");

// failures stand on the axis, so that their heights can be compared; a single one is never thinner than 3 px
const OUTCOMES = [["failed", "bad", "Failed"], ["aborted", "stop", "Aborted"], ["fixed", "fix", "Fixed by retry"], ["running", "run", "Running"], ["completed", "ok", "Completed"]];
export function runsPerHour(box, { spans: data, step: seconds }) {
  const W = box.clientWidth, H = box.clientHeight, left = 34, right = 4, top = 8, bottom = 38;
  const total = (d) => OUTCOMES.reduce((sum, [k]) => sum + (d[k] ?? 0), 0);
  const yt = ticks(Math.max(...data.map((d) => Math.max(total(d), d.before ?? 0))), 3), max = yt.at(-1), y = linear(0, max, H - bottom, top);
  const step = (W - left - right) / data.length, x = (i) => left + step * i, bar = Math.max(2, Math.min(28, step - Math.max(2, step * 0.22)));
  const svg = el("svg", { "aria-hidden": "true" });
  for (const t of yt) svg.append(el("line", { class: t ? "grid" : "axisline", x1: left, x2: W - right, y1: y(t), y2: y(t) }), el("text", { x: left - 6, y: y(t) + 4, "text-anchor": "end" }, t));
  const labelEvery = Math.ceil(44 / step);
  data.forEach((d, i) => {
    let base = H - bottom;
    const bx = x(i) + (step - bar) / 2;
    for (const [key, cls] of OUTCOMES) {
      const n = d[key] ?? 0; if (!n) continue;
      const h = Math.max(key === "completed" ? 1 : 3, y(0) - y(n));
      svg.append(el("rect", { class: "c-" + cls, x: bx, y: base - h, width: bar, height: Math.max(1, h - 1) }));
      if (key === "fixed") for (let k = 2; k < h - 1; k += 4) svg.append(el("rect", { class: "h-fix", x: bx, y: base - k - 2, width: bar, height: 1.5 }));
      base -= h;
    }
    if (d.failed) svg.append(el("text", { class: "bad", x: bx + bar / 2, y: H - 22, "text-anchor": "middle" }, d.failed));
    if ((data.length - 1 - i) % labelEvery === 0) svg.append(el("text", { x: bx + bar / 2, y: H - 5, "text-anchor": "middle" }, seconds > 3600 ? dayMonth(new Date(d.at)) : hm(new Date(d.at))));
  });
  if (box.dataset.compare === "on") svg.append(el("path", { class: "before", d: data.map((d, i) => `${i ? "L" : "M"}${x(i).toFixed(1)} ${y(d.before).toFixed(1)}H${(x(i) + step).toFixed(1)}`).join("") }));
  svg.append(el("text", { x: left - 6, y: H - 22, "text-anchor": "end" }, "failed"));
  svg.append(el("line", { class: "cursor", visibility: "hidden", y1: top, y2: H - bottom }));
  box.replaceChildren(svg);
  cursor(box, data.length, (i) => x(i) + step / 2, (i) => [`${dayMonth(new Date(data[i].at))} ${hm(new Date(data[i].at))}–${hm(new Date(+new Date(data[i].at) + seconds * 1000))}`,
    OUTCOMES.slice().reverse().filter(([k]) => data[i][k]).map(([k, , label]) => [label, `${data[i][k]} runs`]).concat(box.dataset.compare === "on" ? [["Time before", `${data[i].before ?? 0} runs`]] : [])]);
}

// duration or volume: the band is what was expected before each run, not after
export function history(box, { points: given, unit }) {
  const points = given.filter((p) => p.value != null || p.mid != null);
  if (points.length < 2) return;
  const W = box.clientWidth, H = box.clientHeight, left = 58, right = 12, top = 12, bottom = 22;
  const t0 = +new Date(points[0].at), t1 = +new Date(points.at(-1).at), x = linear(t0, t1, left + 6, W - right - 4);
  // points, not bars: where all lie far from zero the axis is cut, and says so with a break
  const values = points.flatMap((p) => [p.value, p.hi, p.lo]).filter((v) => v != null), most = Math.max(...values), least = Math.min(...values);
  const cut = least > most * 0.6 && most - least > most * 0.08, scale = unit !== "s" ? 1 : most > 172800 ? 86400 : most > 5400 ? 3600 : most > 90 ? 60 : 1, span = ticks((cut ? (most - least) * 1.5 : most * 1.04) / scale, 3).map((t) => t * scale), gap = span[1] - span[0];
  const base = cut ? Math.max(0, Math.floor((least - (most - least) * 0.2) / gap) * gap) : 0;
  const yt = span.map((t) => t + base), y = linear(base, yt.at(-1), H - bottom, top);
  const svg = el("svg", { "aria-hidden": "true" }), px = points.map((p) => x(+new Date(p.at)));
  for (const t of yt) svg.append(el("line", { class: t > base ? "grid" : "axisline", x1: left, x2: W - right, y1: y(t), y2: y(t) }), el("text", { x: left - 6, y: y(t) + 4, "text-anchor": "end" }, unit === "s" ? time(t) : unit === "bytes" ? bytes(t) : compact(t)));
  if (cut) svg.append(el("path", { class: "cut", d: `M${left - 3} ${H - bottom - 5}l6-3m-6 6l6-3` }));
  const known = points.map((p, i) => [p, px[i]]).filter(([p]) => p.mid != null), along = (key) => known.map(([p, at]) => [at, y(p[key])]);
  if (known.length > 1) svg.append(el("path", { class: "band", d: area(along("hi"), along("lo")) }), el("path", { class: "bandedge", d: line(along("hi")) }), el("path", { class: "bandedge", d: line(along("lo")) }), el("path", { class: "median", d: line(along("mid")) }));
  const labels = Math.max(1, Math.min(10, Math.floor((W - left) / 84))), isShort = t1 - t0 < 3 * 864e5;
  for (let k = 0; k <= labels; k++) { const at = t0 + ((t1 - t0) * k) / labels, d = new Date(at); svg.append(el("text", { x: x(at), y: H - 5, "text-anchor": k === 0 ? "start" : k === labels ? "end" : "middle" }, isShort ? hm(d) : dayMonth(d))); }
  points.forEach((p, i) => {
    const cx = px[i], cy = p.value == null ? y(p.mid ?? base) : y(p.value);
    if (p.outcome === "failed") svg.append(el("path", { class: "pt-bad", d: `M${cx - 4} ${cy - 4}l8 8m0-8l-8 8` }));
    else if (p.outcome === "missing") svg.append(el("rect", { class: "pt-miss", x: cx - 4, y: cy - 4, width: 8, height: 8, transform: `rotate(45 ${cx} ${cy})` }));
    else if (p.value != null && p.hi != null && (p.value > p.hi || p.value < p.lo)) svg.append(el("path", { class: "pt-out", d: p.value > p.hi ? `M${cx} ${cy - 6}l5.5 9h-11z` : `M${cx} ${cy + 6}l5.5-9h-11z` }));
    else if (p.outcome === "fixed") svg.append(el("circle", { class: "pt-fix", cx, cy, r: 3.5 }), el("circle", { class: "c-fix", cx, cy, r: 1.2 }));
    else if (p.outcome === "running") svg.append(el("circle", { class: "pt-run", cx, cy, r: 3.5 }));
    else svg.append(el("circle", { class: "pt", cx, cy, r: 3 }));
  });
  svg.append(el("line", { class: "cursor", visibility: "hidden", y1: top, y2: H - bottom }));
  box.replaceChildren(svg);
  const amount = (v) => unit === "s" ? time(v) : unit === "bytes" ? bytes(v) : `${compact(v)} ${unit}`;
  const words = { failed: "Failed", fixed: "Fixed by retry", missing: "Expected, not written", running: "Running" };
  cursor(box, points.length, (i) => px[i], (i) => {
    const p = points[i], out = p.value != null && p.hi != null && (p.value > p.hi || p.value < p.lo);
    return [absolute(new Date(p.at)).split("\n")[0].replace(/:\d\d .*$/, ""), [["Outcome", (words[p.outcome] ?? "Completed") + (out ? ", outside the band" : "")],
      p.value != null && [p.outcome === "failed" ? "Until failure" : "Measured", amount(p.value)], p.lo != null && ["Expected", `${amount(p.lo)} – ${amount(p.hi)}`]].filter(Boolean)];
  }, (i) => { if (points[i]?.href) location.href = points[i].href; });
}

const kinds = { runsPerHour, history };
export function drawAll() {
  for (const box of document.querySelectorAll("[data-chart]")) {
    const data = JSON.parse(document.getElementById(box.dataset.from).textContent);
    new ResizeObserver(() => kinds[box.dataset.chart](box, data)).observe(box);
  }
}
drawAll();

