// What every view has: theme, times, copying, tabs, search, keys, live.
import { absolute, fill, relative } from "./times.js";
import { html, icon, nameOf, unsecret, visible } from "./svg.js";
import { listen } from "./live.js";

const root = document.documentElement;
const $ = (selector, scope = document) => scope.querySelector(selector);
const all = (selector, scope = document) => [...scope.querySelectorAll(selector)];
fill();
setInterval(() => { if (!document.hidden) fill(); }, 30000);

// theme: system → light → dark → system
const order = [undefined, "light", "dark"];
function nextTheme() {
  const next = order[(order.indexOf(root.dataset.theme) + 1) % 3];
  if (next) root.dataset.theme = next; else delete root.dataset.theme;
  try { next ? localStorage.setItem("theme", next) : localStorage.removeItem("theme"); } catch { /* stays for this page */ }
  toast(`Theme: ${next ?? "as the system"}`);
}

const toastBox = html("div", { class: "toast", role: "status", hidden: true });
document.body.append(toastBox);
let toastTimer;
export function toast(text) {
  toastBox.textContent = text; toastBox.hidden = false;
  clearTimeout(toastTimer); toastTimer = setTimeout(() => { toastBox.hidden = true; }, 2400);
}
async function copy(text) {
  try { await navigator.clipboard.writeText(text); toast("Copied"); } catch { toast("Copying is not allowed here"); }
}

// tabs: arrows move, the panel follows
function openTab(tab) {
  for (const other of all("[role=tab]", tab.parentElement)) {
    const on = other === tab;
    other.setAttribute("aria-selected", on); other.tabIndex = on ? 0 : -1;
    $("#" + other.getAttribute("aria-controls")).hidden = !on;
  }
}
for (const list of all("[role=tablist]")) {
  list.addEventListener("click", (e) => { const tab = e.target.closest("[role=tab]"); if (tab) openTab(tab); });
  list.addEventListener("keydown", (e) => {
    const tabs = all("[role=tab]", list), at = tabs.indexOf(document.activeElement);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1 }[e.key];
    if (to === undefined) return;
    e.preventDefault(); const tab = tabs[(to + tabs.length) % tabs.length]; openTab(tab); tab.focus();
  });
}

// search: a combobox over one list, asked 120 ms after the last key
const palette = $("#palette"), input = $("input", palette), options = $("[role=listbox]", palette);
const segment = (text) => encodeURIComponent(text).replace(/[!'()*]/g, (c) => "%" + c.charCodeAt(0).toString(16));
const isOdd = (ns, name) => ns.length + name.length > 600 || [ns, name].some((t) => unsecret(t) !== t || t.startsWith("~") || t === "." || t === "..");
function addressOf(hit) {
  if (hit.kind === "run") return `/run/${segment(hit.run_id)}`;
  if (isOdd(hit.namespace, hit.name)) return `/search?q=${segment(unsecret(hit.name).split("***")[0].slice(0, 200))}`;
  return `/${hit.kind === "job" ? "job" : "dataset"}/${segment(hit.namespace) || "~"}/${segment(hit.name)}`;
}
let asking = null, timer = 0;
async function ask() {
  const text = input.value.trim();
  asking?.abort(); asking = new AbortController();
  if (!text) { options.replaceChildren(); return; }
  try {
    const answer = await fetch(`/api/v1/find?limit=6&q=${encodeURIComponent(text)}`, { signal: asking.signal });
    if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
    const { items } = await answer.json();
    const rows = items.map((hit, i) => {
      const label = hit.kind === "run" ? hit.error || hit.run_id : hit.kind === "column" ? `${hit.name} · ${hit.column}` : hit.name;
      return html("div", { role: "option", id: `o${i}`, "aria-selected": "false", "data-to": addressOf(hit) }, icon(hit.kind), html("span", { class: "sr" }, `${hit.kind}: `), nameOf(label), html("span", { class: "ns", dir: "auto" }, visible(hit.kind === "run" ? hit.name : hit.namespace).slice(0, 80)));
    });
    rows.push(html("div", { role: "option", id: "o-all", "aria-selected": "false", "data-to": `/search?q=${encodeURIComponent(text)}` }, icon("search"), `All results for “${visible(text).slice(0, 60)}”`));
    options.replaceChildren(...rows); choose(0);
  } catch (problem) {
    if (problem.name !== "AbortError") options.replaceChildren(html("div", { class: "empty" }, `Search did not work: ${problem.message}`));
  }
}
function choose(index) {
  const shown = all("[role=option]", options);
  shown.forEach((o, i) => o.setAttribute("aria-selected", i === index));
  if (shown[index]) { input.setAttribute("aria-activedescendant", shown[index].id); shown[index].scrollIntoView({ block: "nearest" }); } else input.removeAttribute("aria-activedescendant");
}
function openPalette() { palette.showModal(); input.select(); }
input.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(ask, 120); });
input.addEventListener("keydown", (e) => {
  const shown = all("[role=option]", options), at = shown.findIndex((o) => o.getAttribute("aria-selected") === "true");
  if (e.key === "ArrowDown") { e.preventDefault(); choose(Math.min(at + 1, shown.length - 1)); }
  if (e.key === "ArrowUp") { e.preventDefault(); choose(Math.max(at - 1, 0)); }
  if (e.key === "Enter" && input.value.trim()) location.href = shown[at]?.dataset.to ?? `/search?q=${encodeURIComponent(input.value)}`;
});
options.addEventListener("click", (e) => { const o = e.target.closest("[role=option]"); if (o) location.href = o.dataset.to; });
for (const dialog of all("dialog")) dialog.addEventListener("click", (e) => { if (e.target === dialog) dialog.close(); });

// rows: j and k move, Enter opens
let row = -1;
function moveRow(step) {
  const rows = all("[data-rows] > [data-href]").filter((r) => r.offsetParent);
  if (!rows.length) return;
  row = Math.max(0, Math.min(rows.length - 1, row + step));
  rows.forEach((r, i) => r.classList.toggle("cur", i === row));
  rows[row].scrollIntoView({ block: "nearest" });
}
const goto = { n: "/", j: "/jobs", d: "/datasets", l: "/lineage", f: "/findings" };
let pending = "";
document.addEventListener("keydown", (e) => {
  if (e.key === "k" && (e.ctrlKey || e.metaKey)) { e.preventDefault(); openPalette(); return; }
  if (e.ctrlKey || e.metaKey || e.altKey || e.target.closest("input, select, textarea, dialog, [data-keys]")) return;
  if (pending === "g" && goto[e.key]) { location.href = goto[e.key]; pending = ""; return; }
  pending = e.key === "g" ? "g" : "";
  const act = { "/": openPalette, "?": () => $("#keys").showModal(), t: nextTheme, j: () => moveRow(1), k: () => moveRow(-1),
    Enter: () => { const current = $(".cur[data-href]"); if (current && e.target === document.body) location.href = current.dataset.href; },
    y: () => copy(location.href) }[e.key];
  if (act) { if (e.key !== "Enter") e.preventDefault(); act(); }
});

document.addEventListener("click", (e) => {
  const button = e.target.closest("button");
  if (!button) {
    const on = e.target.closest("a, input, summary, [data-keys]") ? null : e.target.closest("[data-rows] > tr[data-href]");
    if (on && !getSelection().toString()) location.href = on.dataset.href;
    return;
  }
  const { open, copy: text, copyOf, act } = button.dataset;
  if (open === "palette") openPalette();
  else if (open) $("#" + open)?.showModal();
  if (text) copy(text);
  if (copyOf) copy($("#" + copyOf).textContent);
  if (act === "theme") nextTheme();
  if (act === "live") setLive(button.getAttribute("aria-pressed") !== "true");
  if (act === "fold") {
    const isOpen = button.getAttribute("aria-expanded") !== "true"; button.setAttribute("aria-expanded", isOpen);
    button.querySelector("svg").replaceWith(icon(isOpen ? "down" : "right"));
    for (const child of all(`[data-in="${CSS.escape(button.dataset.group)}"]`)) child.hidden = !isOpen;
  }
});

// live: what is on the screen is asked for again and its cells change; order and scroll never do
let isLive = true, isStale = false, isAsking = false;
try { isLive = localStorage.getItem("live") !== "off"; } catch { /* live */ }
const liveButton = $("[data-act=live]");
function setLive(on) {
  isLive = on; liveButton.setAttribute("aria-pressed", on); $("span", liveButton).textContent = on ? "Live" : "Paused";
  $("svg", liveButton).replaceWith(icon(on ? "dot" : "pause"));
  try { on ? localStorage.removeItem("live") : localStorage.setItem("live", "off"); } catch { /* for this page */ }
  if (on && isStale) refresh();
}
const seen = new Set(all("[data-row]").map((r) => r.dataset.row));
let shownAt = new Date();
async function refresh() {
  if (isAsking) { isStale = true; return; }
  if (!isLive || document.hidden || !$("[data-cell]")) { isStale = true; return; }
  isAsking = true; isStale = false;
  try {
    const answer = await fetch(location.pathname + location.search, { headers: { Accept: "text/html" } });
    if (!answer.ok) return;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const fresh = new Map(all("[data-cell]", page).map((c) => [c.dataset.cell, c]));
    for (const cell of all("[data-cell]")) {
      const other = fresh.get(cell.dataset.cell);
      if (other && other.innerHTML !== cell.dataset.was) {
        const was = other.innerHTML;
        cell.replaceChildren(...[...document.importNode(other, true).childNodes]); cell.className = other.className; cell.dataset.was = was;
      }
    }
    fill(); shownAt = new Date();
    const appended = all("[data-row]", page).filter((r) => !seen.has(r.dataset.row)).length, more = $("#more-new");
    more.hidden = !appended; more.textContent = `${appended} new`;
  } finally { isAsking = false; setTimeout(() => { if (isStale) refresh(); }, 5000); }
}
$("#more-new").addEventListener("click", () => location.reload());
document.addEventListener("visibilitychange", () => { if (!document.hidden && isStale) refresh(); });
if (!isLive) setLive(false);
if (!$(".sign-in")) listen((news) => {
  const lost = news === "lost";
  $("#stale").hidden = !lost;
  if (lost) { $("#stale-at").textContent = relative(shownAt); $("#stale-at").title = absolute(shownAt); }
  if (news === "stored") refresh();
});
