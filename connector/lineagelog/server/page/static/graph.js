// The lineage graph: asked for in one call with its states, laid out in a worker. Nothing moves when states, highlights or a
// neighbour more are drawn; only panning and zooming move the picture.
import { el, html, icon, middle, nameOf, unsecret, visible } from "./svg.js";
import { absolute, dayMonth, hm, relative } from "./times.js";

const $ = (selector) => document.querySelector(selector);
const canvas = $("#canvas"), svg = $("#canvas > svg"), world = $("#world"), bar = $("#graph-bar").dataset;
const W = 186, H = 42, GAP_X = 232, GAP_Y = 58, FRAME = 150;
const ICON = { completed: "ok", failed: "failed", fixed: "fixed", running: "running", late: "late", stuck: "stuck", stale: "stale", aborted: "aborted", none: "waiting" };
const TONE = { failed: "bad", stale: "warn", late: "warn", stuck: "warn", fixed: "warn", running: "run", aborted: "stop", none: "idle" };
const WORD = { completed: "completed", failed: "failed", fixed: "fixed by retry", late: "late", stuck: "stuck", stale: "stale", running: "running", aborted: "aborted", none: "" };
const GLYPH = { ok: "M3 7.5 6 10.3 11.2 4", failed: "M2.75 1.25h8.5a1.5 1.5 0 0 1 1.5 1.5v8.5a1.5 1.5 0 0 1-1.5 1.5h-8.5a1.5 1.5 0 0 1-1.5-1.5v-8.5a1.5 1.5 0 0 1 1.5-1.5M4.5 4.5l5 5m0-5-5 5", fixed: "M12.2 7A5.2 5.2 0 1 1 10.4 3M10.6.8v2.6H8M4.8 7l1.7 1.7L9.3 5.5", late: "M12.5 7a5.5 5.5 0 1 1-11 0 5.5 5.5 0 1 1 11 0M7 3.8V7l2.4 1.6", stuck: "M3 1.5h8M3 12.5h8M4 1.5c0 3 3 3.6 3 5.5s-3 2.5-3 5.5M10 1.5c0 3-3 3.6-3 5.5s3 2.5 3 5.5", stale: "M7 1.3 12.9 12H1.1zM7 5.3v3.2M7 10v.6", running: "M12.5 7a5.5 5.5 0 1 1-11 0 5.5 5.5 0 1 1 11 0M7 1.5v11", aborted: "M12.5 7a5.5 5.5 0 1 1-11 0 5.5 5.5 0 1 1 11 0M3.2 10.8l7.6-7.6", waiting: "M4 7h6" };

let nodes = new Map(), edges = new Map(), focus = null, selected = null, view = { x: 0, y: 0, k: 1 }, answer = null;
const hidden = new Set(), query = new URLSearchParams(location.search);
let locked = query.get("lock"), blast = query.get("blast") === "1", opened = (query.get("open") ?? "").split(",").filter(Boolean);
const next = (id) => [...edges.values()].filter((e) => e.a === id).map((e) => e.b), prev = (id) => [...edges.values()].filter((e) => e.b === id).map((e) => e.a);
const reach = (id, step, seen = new Set()) => { let ring = [id]; while (ring.length) { ring = ring.flatMap(step).filter((n) => !seen.has(n) && n !== id && seen.add(n)); } return seen; };
const segment = (text) => encodeURIComponent(text).replace(/[!'()*]/g, (c) => "%" + c.charCodeAt(0).toString(16));
const keyOf = (id) => id.slice(id.indexOf(":") + 1);
const pathOf = (n) => n.namespace.length + n.name.length > 600 || [n.namespace, n.name].some((t) => unsecret(t) !== t || t.startsWith("~") || t === "." || t === "..") ? `~/~${keyOf(n.id)}` : `${segment(n.namespace) || "~"}/${segment(n.name)}`;
const compact = (n) => n >= 1e6 ? `${+(n / 1e6).toFixed(2)} M` : n >= 1e4 ? `${+(n / 1e3).toFixed(1)} k` : String(n);
const bytes = (n) => { let k = 0; while (n >= 1000 && k < 5) { n /= 1000; k++; } return `${+n.toFixed(n < 10 ? 1 : 0)} ${["B", "kB", "MB", "GB", "TB", "PB"][k]}`; };

// --- asking ----------------------------------------------------------------------------------------------------------

let asking = null;
async function ask(parameters) {
  const search = new URLSearchParams(Object.entries(parameters).filter(([, v]) => v !== null && v !== ""));
  const reply = await fetch(`/api/v1/graph?${search}`, { signal: asking?.signal });
  const body = await reply.json();
  if (!reply.ok) throw new Error(body.message ?? `the server answered ${reply.status}`);
  return body;
}
function say(...content) { const box = $("#graph-said"); box.hidden = !content.length; box.replaceChildren(...content); }

async function load() {
  asking?.abort(); asking = new AbortController();
  const waiting = setTimeout(() => say("Asking for the lineage…"), 300);
  try {
    answer = await ask({ kind: bar.kind, name: `~${bar.key}`, up: $("#up").value, down: $("#down").value, as_of: query.get("at"), compare: query.get("compare"), nodes: query.get("nodes") });
    clearTimeout(waiting); say();
    await take(answer);
    for (const id of opened.slice(0, 30)) if (nodes.has(id)) await expand(id, false);
  } catch (problem) {
    clearTimeout(waiting);
    if (problem.name !== "AbortError") say(html("b", {}, "The lineage could not be read. "), problem.message);
  }
}

let worker = null, ticket = 0;
try { worker = new Worker(new URL("./layout.js", import.meta.url), { type: "module" }); } catch { /* laid out here */ }
async function layOut(list, links) {
  const plain = { nodes: list.map(({ id, hop }) => ({ id, hop })), edges: links.map(({ a, b }) => ({ a, b })) };
  const here = async () => (await import("./layout.js")).place(plain.nodes, plain.edges);
  if (!worker) return here();
  const mine = ++ticket;
  return new Promise((done) => {
    const end = setTimeout(() => { worker = null; done(here()); }, 1500);
    worker.onmessage = (e) => { if (e.data.ticket === mine) { clearTimeout(end); done(e.data.places); } };
    worker.onerror = () => { clearTimeout(end); worker = null; done(here()); };
    worker.postMessage({ ...plain, ticket: mine });
  });
}

async function take(graph) {
  const list = [...graph.nodes, ...graph.groups.map((g) => ({ ...g, kind: "group", of: g.kind, name: `${g.count} more ${g.kind === "job" ? "jobs" : "datasets"}`, namespace: "", said: "", up: 0, down: 0 }))];
  const links = [...graph.edges, ...graph.groups.flatMap((g) => [...g.a.map((a) => ({ a, b: g.id })), ...g.b.map((b) => ({ a: g.id, b }))])];
  const places = new Map((await layOut(list, links)).map((p) => [p.id, p]));
  const was = nodes.get(graph.focus), is = places.get(graph.focus), isFirst = !was;
  nodes = new Map(list.map((n) => [n.id, { ...n, ...places.get(n.id) }]));
  edges = new Map(links.map((e) => [`${e.a} ${e.b}`, { ...e }]));
  focus = graph.focus;
  if (was) { view.x += (was.x - is.x) * view.k; view.y += (was.y - is.y) * view.k; }
  if (!selected || !nodes.has(selected)) selected = focus;
  await draw();
  if (isFirst) fit(true); else move();
  $("#n-shown").textContent = graph.shown; $("#n-total").textContent = graph.total;
  if (graph.groups.length) say(`${graph.total - graph.shown} more are in groups: choose one to see its members.`);
  else if (graph.total === 1) say("Nothing is known to read or write it.");
}

// --- drawing ---------------------------------------------------------------------------------------------------------

async function draw() {
  $("#edges").replaceChildren(); $("#nodes").replaceChildren();
  drawEdges();
  let count = 0;
  for (const n of nodes.values()) { drawNode(n); if (++count % FRAME === 0) await new Promise(requestAnimationFrame); }
  paint(); panel(); table();
}
function drawEdges() {
  const layer = $("#edges"), parts = [];
  for (const e of edges.values()) {
    const a = nodes.get(e.a), b = nodes.get(e.b); if (!a || !b) continue;
    const x1 = a.x + W, y1 = a.y + H / 2, x2 = b.x, y2 = b.y + H / 2, dx = Math.max(30, Math.abs(x2 - x1) / 2);
    e.el = el("path", { d: `M${x1} ${y1}C${x1 + dx} ${y1} ${x2 - dx} ${y2} ${x2} ${y2}` }); parts.push(e.el);
  }
  layer.replaceChildren(...parts);
}
function labelOf(n) {
  const name = visible(n.name), dot = name.indexOf(".");
  return n.kind === "job" && name.length > 23 && dot > 0 ? middle(name.slice(dot + 1), 23) : middle(n.name, 23);
}
function textOf(n) {
  if (n.kind === "group") return n.state === "none" || n.state === "completed" ? "all as they should be" : `worst: ${WORD[n.state]}`;
  if (n.said) return n.said;
  const when = n.at ? relative(new Date(n.at)) : "";
  if (n.kind === "dataset") return n.rows != null ? `${compact(n.rows)} rows, ${when}` : n.bytes != null ? `${bytes(n.bytes)}, ${when}` : n.state === "none" ? "read only" : `written ${when}`;
  return [WORD[n.state], when].filter(Boolean).join(", ");
}
function drawNode(n) {
  const g = el("g", { transform: `translate(${n.x} ${n.y})`, tabindex: -1, role: "button", "data-id": n.id });
  if (n.kind === "group") g.append(el("rect", { class: "back", x: 4.5, y: 4.5, width: W - 1, height: H - 1, rx: 4 }));
  g.append(el("rect", { class: "box", x: 0.5, y: 0.5, width: W - 1, height: H - 1, rx: n.kind === "job" ? 10 : 3 }));
  const shape = { job: "M4 2.5v9L11.5 7z", dataset: "M1.75 2.25h10.5v9.5H1.75zM1.75 5.4h10.5M5.4 5.4v6.3", group: "M4.5 4.5H2V2h10v7.5H9.5M2 4.5h7.5V12H2z" }[n.kind];
  g.append(el("rect", { class: "hitbar", x: 1, y: n.kind === "job" ? 9 : 3, width: 3, height: n.kind === "job" ? H - 18 : H - 6, rx: 1 }),
    el("g", { transform: "translate(10 7) scale(.9)" }, el("path", { class: "gi", d: shape })),
    el("text", { x: 28, y: 17, "aria-hidden": "true", direction: "ltr" }, labelOf(n)),
    el("g", { class: "state", transform: "translate(10 24) scale(.86)" }), el("text", { class: "m", x: 28, y: 34, "aria-hidden": "true" }), el("title"));
  n.el = g; more(n); $("#nodes").append(g);
}
function more(n) {
  for (const old of n.el.querySelectorAll(".more")) old.remove();
  for (const [side, count] of [["up", n.up], ["down", n.down]]) if (count) {
    const cx = side === "up" ? -8 : W + 8;
    n.el.append(el("g", { class: "more", "aria-hidden": "true", "data-side": side }, el("rect", { class: "exp", x: cx - 13, y: H / 2 - 8, width: 26, height: 16, rx: 8 }), el("text", { class: "ex", x: cx, y: H / 2 + 4 }, "+" + count)));
  }
}
const isHit = (n) => ["failed", "late", "stuck", "stale"].includes(n.state);

function paint() {
  const lit = locked && nodes.has(locked) ? new Set([locked, ...reach(locked, next), ...reach(locked, prev)]) : null;
  const below = blast ? reach(focus, next) : new Set();
  world.classList.toggle("faded", Boolean(lit));
  for (const n of nodes.values()) {
    const tone = TONE[n.state] ?? "", role = !blast ? "" : n.id === focus ? "origin" : below.has(n.id) ? (isHit(n) ? "hit" : "risk") : "";
    n.role = role;
    n.el.setAttribute("class", ["n", n.kind, role, n.id === focus && "focus", n.id === selected && "sel", lit?.has(n.id) && "lit", hidden.has(n.id) && "absent", n.change && `change-${n.change}`].filter(Boolean).join(" "));
    n.el.setAttribute("aria-pressed", n.id === selected); n.el.setAttribute("tabindex", n.id === selected ? 0 : -1);
    const text = textOf(n), meta = n.el.querySelector("text.m");
    meta.textContent = middle(text, 30); meta.setAttribute("class", "m " + (["idle", "stop"].includes(tone) ? "" : tone));
    n.el.querySelector(".state").replaceChildren(el("path", { class: "si " + tone, d: GLYPH[ICON[n.state]] }));
    const said = [`${n.kind} ${visible(n.name).slice(0, 600)}`, visible(n.namespace).slice(0, 300), text, n.change && `compared: ${n.change}`, n.hidden ? `${n.hidden} more jobs at it, not yours to see` : "", { hit: "hit", risk: "at risk", origin: "origin of the blast radius" }[role]].filter(Boolean).join("\n");
    n.el.querySelector("title").textContent = said; n.el.setAttribute("aria-label", said.replaceAll("\n", ", "));
    n.el.querySelector(".cmp-g")?.remove();
    const sign = { new: "+", gone: "−", changed: "~" }[n.change];
    if (sign) n.el.append(el("g", { class: "cmp-g", transform: `translate(${W - 4} 2)` }, el("circle", { class: "cmp-bg", r: 8 }), el("text", { class: n.change === "gone" ? "cmp-e" : "cmp", y: 4 }, sign)));
  }
  for (const e of edges.values()) {
    if (!e.el) continue;
    const b = nodes.get(e.b), isBelow = blast && (e.a === focus || below.has(e.a)) && below.has(e.b);
    e.el.setAttribute("class", ["e", isBelow && (b.role === "hit" ? "hit" : "risk"), e.is_announced && "announced", e.change, lit?.has(e.a) && lit?.has(e.b) && "lit", (hidden.has(e.a) || hidden.has(e.b)) && "absent"].filter(Boolean).join(" "));
  }
  const roles = [...nodes.values()].map((n) => [n.role, n.count ?? 1]), sum = (role) => roles.reduce((t, [r, c]) => t + (r === role ? c : 0), 0);
  $("#n-hit").textContent = sum("hit"); $("#n-risk").textContent = sum("risk"); $("#blast-hud").hidden = !blast;
  $("[data-g=blast]").setAttribute("aria-pressed", blast);
}

// one hop more: what is there stays where it is, the new nodes come beside it
async function expand(id, remember = true) {
  const n = nodes.get(id); if (!n || n.kind === "group" || !(n.up || n.down)) return;
  const more_ = await ask({ kind: n.kind, name: `~${keyOf(id)}`, up: 1, down: 1, as_of: query.get("at") });
  for (const kid of more_.nodes) {
    if (nodes.has(kid.id) || kid.hop === 0) continue;
    const x = n.x + (kid.hop > 0 ? GAP_X : -GAP_X), taken = [...nodes.values()].filter((m) => Math.abs(m.x - x) < W).map((m) => m.y);
    let y = n.y;
    for (let k = 0; taken.some((t) => Math.abs(t - y) < GAP_Y - 6); k++) y = n.y + Math.ceil((k + 1) / 2) * GAP_Y * (k % 2 ? -1 : 1);
    const fresh = { ...kid, hop: n.hop + kid.hop, x, y };
    nodes.set(kid.id, fresh); drawNode(fresh);
  }
  for (const e of more_.edges) if (nodes.has(e.a) && nodes.has(e.b)) edges.set(`${e.a} ${e.b}`, { ...e });
  for (const m of nodes.values()) if (m.kind !== "group") { const own = more_.nodes.find((k) => k.id === m.id); if (own && m.id === id) { m.up = own.up; m.down = own.down; } }
  for (const kid of more_.nodes) if (kid.hop !== 0) { const m = nodes.get(kid.id), side = kid.hop > 0 ? "up" : "down"; if (m[side] && opened.indexOf(kid.id) < 0) m[side] = Math.max(0, kid[side]); more(m); }
  more(n); drawEdges(); paint(); panel(); table();
  $("#n-shown").textContent = [...nodes.values()].filter((m) => m.kind !== "group").length;
  if (remember) { if (!opened.includes(id)) opened.push(id); keep(); }
}

// --- the address holds all that is seen --------------------------------------------------------------------------------

function keep() {
  const set = (key, value) => { if (value) query.set(key, value); else query.delete(key); };
  query.set("up", $("#up").value); query.set("down", $("#down").value);
  set("lock", locked); set("blast", blast ? "1" : ""); set("open", opened.join(",")); set("view", canvas.hidden ? "table" : "");
  history.replaceState(null, "", `${location.pathname}?${query}`);
}

// --- the picture -------------------------------------------------------------------------------------------------------

function fit(isFirst) {
  const box = canvas.getBoundingClientRect(), xs = [...nodes.values()].map((n) => n.x), ys = [...nodes.values()].map((n) => n.y);
  if (!xs.length || !box.width) return;
  const left = Math.min(...xs), top = Math.min(...ys), w = Math.max(...xs) + W - left, h = Math.max(...ys) + H - top;
  const k = Math.max(isFirst ? 0.88 : 0.15, Math.min(1.1, (box.width - 60) / w, (box.height - 90) / h)), f = nodes.get(focus);
  view = { k, x: (box.width - w * k) / 2 - left * k, y: (box.height - 40 - h * k) / 2 - top * k };
  // from the left edge, as long as the middle is well in the picture
  if (w * k > box.width - 40) { view.x = 24 - left * k; if (f.x * k + view.x + W * k > box.width * 0.7) view.x = box.width / 3 - (f.x + W / 2) * k; }
  if (h * k > box.height) view.y = box.height / 2 - (f.y + H / 2) * k;
  move();
}
function move() { world.setAttribute("transform", `translate(${view.x.toFixed(1)} ${view.y.toFixed(1)}) scale(${view.k.toFixed(3)})`); $("#zoom").textContent = Math.round(view.k * 100) + " %"; }
function zoom(factor, cx, cy) { const k = Math.min(2, Math.max(0.1, view.k * factor)); view.x = cx - ((cx - view.x) * k) / view.k; view.y = cy - ((cy - view.y) * k) / view.k; view.k = k; move(); }
function select(id, isFocus) { selected = id; paint(); panel(); if (isFocus) nodes.get(id).el.focus({ preventScroll: true }); }

// --- the panel and the table -------------------------------------------------------------------------------------------

let columnsOf = null, columns = [];
async function readColumns(n) {
  columnsOf = n.id; columns = [];
  try {
    const found = await ask({ kind: "column", name: `~${keyOf(n.id)}`, up: 1, down: 1, as_of: query.get("at"), nodes: 2000 });
    if (columnsOf !== n.id) return;
    const own = found.nodes.filter((c) => c.hop === 0);
    columns = own.map((c) => ({ name: c.column, from: found.edges.filter((e) => e.b === c.id).length + c.up, to: found.edges.filter((e) => e.a === c.id).length + c.down }));
  } catch { columns = []; }
  listColumns();
}
function listColumns() {
  const part = $("#p-search").value.toLowerCase(), all = columns.filter((c) => c.name.toLowerCase().includes(part)), shown = all.slice(0, 10);
  $("#p-cols").hidden = !columns.length;
  $("#p-list").replaceChildren(...shown.map((c) => html("li", {}, html("a", { class: "colrow plain", href: `${$("#p-open").getAttribute("href")}?column=${segment(c.name)}#columns` }, html("span", {}), nameOf(c.name || "the whole dataset"), html("span", { class: "ty" }, `${c.from} in, ${c.to} out`)))));
  $("#p-count").textContent = `${shown.length} of ${all.length} columns with lineage; their edges are not drawn`;
}
function panel() {
  const n = nodes.get(selected); if (!n) return;
  const tone = TONE[n.state], isGroup = n.kind === "group", path = isGroup ? "" : pathOf(n);
  $("#p-kind").replaceChildren(icon(isGroup ? "downstream" : n.kind), isGroup ? `${n.count} ${n.of === "job" ? "jobs" : "datasets"}` : n.kind);
  const name = $("#p-name"); name.textContent = visible(n.name).slice(0, 300); name.title = visible(n.name).slice(0, 2000); $("#p-ns").textContent = visible(n.namespace).slice(0, 120);
  $("#p-state").className = "st st-" + (tone ?? "ok"); $("#p-state").replaceChildren(icon(ICON[n.state]), textOf(n));
  $("#p-open").hidden = isGroup; $("#p-acts").hidden = isGroup;
  if (!isGroup) {
    $("#p-open").href = `/${n.kind}/${path}`; $("#p-focus").href = `/lineage/${n.kind}/${path}`; $("#p-focus").hidden = n.id === focus;
    $("#p-expand").hidden = !(n.up || n.down); $("#p-lock").setAttribute("aria-pressed", locked === n.id);
  }
  $("#p-text").textContent = [n.at && absolute(new Date(n.at)).split("\n")[0], n.findings ? `${n.findings} open findings` : "", n.hidden ? `${n.hidden} more jobs at it, not yours to see` : ""].filter(Boolean).join("; ");
  if (n.kind === "dataset") { if (columnsOf !== n.id) readColumns(n); else listColumns(); } else { columnsOf = null; $("#p-cols").hidden = true; }
  $("#p-members").hidden = !isGroup;
  if (isGroup) $("#p-mlist").replaceChildren(...n.members.map((m) => html("li", {}, nameOf(m))), n.count > n.members.length ? html("li", { class: "dim" }, `and ${n.count - n.members.length} more`) : "", answer && answer.total <= 2000 ? html("li", {}, html("a", { href: `?${new URLSearchParams({ ...Object.fromEntries(query), nodes: "2000" })}` }, `Draw all ${answer.total}`)) : "");
}
function table() {
  const hops = (h) => (h === 0 ? "middle" : `${Math.abs(h)} ${h < 0 ? "up" : "down"}`), list = (ids) => ids.map((i) => nodes.get(i)).filter(Boolean).map((m) => middle(m.name, 40)).slice(0, 5).join(", ") || "–";
  $("#rows").replaceChildren(...[...nodes.values()].filter((n) => n.kind !== "group").sort((a, b) => a.hop - b.hop || a.y - b.y).map((n) =>
    html("tr", {}, html("td", {}, n.kind), html("th", { scope: "row" }, html("a", { class: "plain one", href: `/${n.kind}/${pathOf(n)}` }, nameOf(n.name))), html("td", { class: "p3" }, html("span", { class: "ns", title: visible(n.namespace).slice(0, 300) }, visible(n.namespace).slice(0, 120))), html("td", {}, hops(n.hop)),
      html("td", {}, html("span", { class: "st st-" + (TONE[n.state] ?? "ok") }, icon(ICON[n.state]), html("span", {}, textOf(n)))), html("td", { class: "p3" }, list(prev(n.id))), html("td", { class: "p3" }, list(next(n.id))))));
}

// --- time ------------------------------------------------------------------------------------------------------------

const newest = bar.newest ? new Date(bar.newest) : new Date(), slider = $("#moment"), HALF = 18e5;
function moment() {
  const back = 48 - Number(slider.value);
  return back ? new Date(Math.floor(newest / HALF) * HALF + HALF - back * HALF) : null;
}
function sayMoment() {
  const at = query.get("at"), date = at ? new Date(at) : null;
  $("#as-of").textContent = date && !Number.isNaN(+date) ? `${dayMonth(date)} ${hm(date)}` : at ?? "now"; if (date && !Number.isNaN(+date)) $("#as-of").title = absolute(date);
  $("#as-of-what").textContent = at ? "as it was then" : "as it is";
  slider.setAttribute("aria-valuetext", $("#as-of").textContent);
}
function marks() {
  const box = $("#track"), w = box.clientWidth, s = box.querySelector("svg"); s.replaceChildren();
  for (let k = 0; k <= 48; k += 8) {
    const x = (w * k) / 48, d = new Date(Math.floor(newest / HALF) * HALF + HALF - (48 - k) * HALF);
    s.append(el("line", { class: "tick", x1: x, x2: x, y1: 12, y2: 20 }), el("text", { x, y: 34, "text-anchor": k === 0 ? "start" : k === 48 ? "end" : "middle" }, k === 48 ? "now" : (k === 0 ? dayMonth(d) + " " : "") + hm(d)));
  }
}
{
  const at = query.get("at") ? new Date(query.get("at")) : null;
  if (at && !Number.isNaN(+at)) slider.value = Math.max(0, 48 - Math.round((Math.floor(newest / HALF) * HALF + HALF - at) / HALF));
}
slider.addEventListener("input", () => { const at = moment(); if (at) query.set("at", at.toISOString()); else query.delete("at"); sayMoment(); });
slider.addEventListener("change", () => { keep(); load(); });

// --- hands -----------------------------------------------------------------------------------------------------------

let drag = null;
canvas.addEventListener("pointerdown", (e) => { if (e.target.closest(".hud")) return; drag = { x: e.clientX - view.x, y: e.clientY - view.y, moved: false }; });
addEventListener("pointermove", (e) => { if (!drag || drag.done) return; const x = e.clientX - drag.x, y = e.clientY - drag.y; if (drag.moved || Math.hypot(x - view.x, y - view.y) > 4) { drag.moved = true; canvas.classList.add("panning"); view.x = x; view.y = y; move(); } });
addEventListener("pointerup", () => { canvas.classList.remove("panning"); if (drag) drag.done = true; setTimeout(() => { drag = null; }); });
canvas.addEventListener("wheel", (e) => { e.preventDefault(); const r = canvas.getBoundingClientRect(); zoom(Math.exp(-e.deltaY / 400), e.clientX - r.left, e.clientY - r.top); }, { passive: false });
svg.addEventListener("click", (e) => {
  if (drag?.moved) return;
  const g = e.target.closest("[data-id]"), side = e.target.closest("[data-side]");
  if (side) expand(g.dataset.id);
  else if (g) { if (selected === g.dataset.id) { locked = locked === selected ? null : selected; keep(); } select(g.dataset.id, true); } else { locked = null; keep(); paint(); panel(); }
});
svg.addEventListener("pointerover", (e) => { if (locked) return; const g = e.target.closest("[data-id]"); for (const edge of edges.values()) edge.el?.classList.toggle("lit", Boolean(g) && (edge.a === g.dataset.id || edge.b === g.dataset.id)); });
svg.addEventListener("keydown", (e) => {
  const n = nodes.get(selected), beside = [...nodes.values()].filter((m) => Math.abs(m.x - n.x) < W).sort((a, b) => a.y - b.y), i = beside.indexOf(n);
  const to = { ArrowRight: next(n.id)[0], ArrowLeft: prev(n.id)[0], ArrowDown: beside[i + 1]?.id, ArrowUp: beside[i - 1]?.id }[e.key];
  if (e.key.startsWith("Arrow")) { e.preventDefault(); if (to) select(to, true); }
  if (e.key === "+") expand(selected);
  if (e.key === "h") { hidden.add(selected); paint(); } if (e.key === "a") { hidden.clear(); paint(); }
  if (e.key === "l") { locked = locked ? null : selected; keep(); paint(); panel(); } if (e.key === "Escape") { locked = null; keep(); paint(); }
  if (e.key === "Enter" && n.kind !== "group") location.href = $("#p-open").href;
});
$("#p-search").addEventListener("input", listColumns);
$("#p-expand").addEventListener("click", () => expand(selected));
$("#p-lock").addEventListener("click", () => { locked = locked === selected ? null : selected; keep(); paint(); panel(); });
document.addEventListener("click", (e) => {
  const b = e.target.closest("[data-g]"); if (!b) return;
  const r = canvas.getBoundingClientRect();
  ({ in: () => zoom(1.25, r.width / 2, r.height / 2), out: () => zoom(0.8, r.width / 2, r.height / 2), fit: () => fit(false),
    blast: () => { blast = !blast; keep(); paint(); },
    compare: () => { if (query.get("compare")) query.delete("compare"); else query.set("compare", new Date((query.get("at") ? +new Date(query.get("at")) : +newest) - 864e5).toISOString()); b.setAttribute("aria-pressed", query.has("compare")); keep(); load(); },
    graph: () => show(false), table: () => show(true) })[b.dataset.g]();
});
function show(asTable) { $("#tableview").hidden = !asTable; canvas.hidden = asTable; document.querySelectorAll("[data-g=graph],[data-g=table]").forEach((b) => b.setAttribute("aria-pressed", (b.dataset.g === "table") === asTable)); keep(); }
for (const range of [$("#up"), $("#down")]) {
  range.addEventListener("input", () => { range.parentElement.querySelector("output").textContent = range.value; });
  range.addEventListener("change", () => { keep(); load(); });
}
sayMoment(); marks(); new ResizeObserver(marks).observe($("#track"));
if (query.get("view") === "table") show(true);
load();
