// Sorts tables by a click on a column's head and filters them by what is typed; without it all is there to read.
"use strict";
for (const table of document.querySelectorAll("table[data-sort]")) {
  const body = table.tBodies[0];
  for (const button of table.querySelectorAll("thead button")) {
    button.addEventListener("click", () => {
      const head = button.closest("th");
      const up = head.getAttribute("aria-sort") !== "ascending";
      for (const other of table.querySelectorAll("th[aria-sort]")) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const key = (row) => row.cells[head.cellIndex].dataset.v ?? row.cells[head.cellIndex].textContent;
      const rows = Array.from(body.rows, (row) => [key(row), row]);
      const numbers = rows.every(([value]) => value === "" || !Number.isNaN(Number(value)));
      const order = numbers
        ? (a, b) => (a[0] === "" ? -1 : Number(a[0])) - (b[0] === "" ? -1 : Number(b[0]))
        : (a, b) => (a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0);
      rows.sort((a, b) => (up ? 1 : -1) * order(a, b));
      body.append(...rows.map(([, row]) => row));
    });
  }
}
for (const field of document.querySelectorAll("input[data-filter]")) {
  const rows = Array.from(document.getElementById(field.dataset.filter).tBodies[0].rows, (row) => [
    row,
    (row.textContent + " " + Array.from(row.querySelectorAll("bdi[title]"), (each) => each.title).join(" ")).toLowerCase(),
  ]);
  const count = field.parentElement.querySelector("output");
  const whole = count.textContent;
  field.hidden = false;
  field.addEventListener("input", () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const [row, text] of rows) {
      row.hidden = !words.every((word) => text.includes(word));
      shown += row.hidden ? 0 : 1;
    }
    count.textContent = words.length ? shown + " of " + whole : whole;
  });
}
