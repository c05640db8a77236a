"use strict";
(function () {
  // Tables: a click or a key on a head sorts by it, a second one the other way round; what has no number stays last.
  function value(row, index) {
    const cell = row.cells[index];
    const text = cell.dataset.v === undefined ? cell.textContent.trim() : cell.dataset.v;
    const number = text === "" ? NaN : Number(text);
    return Number.isNaN(number) ? { text: text, number: null, none: text === "\u2013" } : { text: text, number: number, none: false };
  }
  function compare(first, second) {
    if (first.number !== null && second.number !== null) return first.number - second.number;
    if (first.number !== null || second.number !== null) return first.number === null ? 1 : -1;
    return first.text < second.text ? -1 : first.text > second.text ? 1 : 0;
  }
  function sort(head) {
    const table = head.closest("table");
    const index = head.cellIndex;
    const down = head.getAttribute("aria-sort") === "ascending";
    const rows = Array.from(table.tBodies[0].rows, (row) => [value(row, index), row]);
    const numbers = rows.some(([key]) => key.number !== null);
    const last = (key) => key.none || (numbers && key.number === null);
    rows.sort(([first], [second]) => {
      if (last(first) || last(second)) return Number(last(first)) - Number(last(second));
      return down ? compare(second, first) : compare(first, second);
    });
    table.tBodies[0].append(...rows.map(([, row]) => row));
    for (const other of head.parentElement.cells) other.setAttribute("aria-sort", "none");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
  }
  for (const head of document.querySelectorAll("thead th")) {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    button.addEventListener("click", () => sort(head));
    head.append(button);
    head.setAttribute("aria-sort", "none");
  }
})();
