// The list and its detail: a row fills the right side, the address follows; a and m acknowledge and mute.
import { fill } from "./times.js";
import { toast } from "./app.js";

const $ = (selector) => document.querySelector(selector);
const rows = [...document.querySelectorAll("#findings tr[data-id]")];

async function show(row) {
  const address = row.querySelector("a.what").href;
  for (const other of rows) other.setAttribute("aria-selected", other === row);
  row.scrollIntoView({ block: "nearest" });
  history.replaceState(null, "", address);
  const waiting = setTimeout(() => $("#detail").classList.add("wait"), 300);
  try {
    const answer = await fetch(address);
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    if (row.getAttribute("aria-selected") !== "true") return;
    $("#detail").replaceChildren(...document.importNode(page.querySelector("#detail"), true).childNodes);
    fill($("#detail"));
  } catch { toast("The detail could not be read; try again"); } finally { clearTimeout(waiting); $("#detail").classList.remove("wait"); }
}
for (const row of rows) row.addEventListener("click", (e) => {
  if (e.target.closest("a:not(.what)") || e.ctrlKey || e.metaKey || e.shiftKey) return;
  e.preventDefault(); show(row);
});
document.addEventListener("keydown", (e) => {
  if (e.target.closest("input, textarea, select, dialog") || e.ctrlKey || e.metaKey) return;
  if (e.key === "a") $("#ack")?.showModal();
  if (e.key === "m") $("#mute")?.showModal();
  const at = rows.findIndex((r) => r.getAttribute("aria-selected") === "true");
  if (e.key === "j" || e.key === "k") { const row = rows[at + (e.key === "j" ? 1 : -1)]; if (row) show(row); }
});

async function say(what, words) {
  const id = $("[data-finding]")?.dataset.finding;
  if (!id) return;
  const body = JSON.stringify(Object.fromEntries(Object.entries(words).filter(([, value]) => value)));
  const answer = await fetch(`/api/v1/findings/${id}/${what}`, { method: "POST", headers: { "Content-Type": "application/json" }, body });
  if (answer.ok) location.reload();
  else toast((await answer.json().catch(() => ({}))).message ?? `The server answered ${answer.status}`);
}
for (const form of document.querySelectorAll("form[data-form]")) form.addEventListener("submit", (e) => {
  if (e.submitter?.value === "yes") say(form.dataset.form, Object.fromEntries(new FormData(form)));
});
document.addEventListener("click", (e) => { const b = e.target.closest("[data-say]"); if (b) say(b.dataset.say, {}); });
