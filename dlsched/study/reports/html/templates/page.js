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

  // Plots: each is drawn when the page has time for it, and all of them before it is printed.
  const waiting = Array.from(document.querySelectorAll(".plot"));
  const fine = window.matchMedia("(pointer: fine)").matches;
  const common = { automargin: true, linecolor: "#808080", tickcolor: "#808080", showline: true, ticks: "outside", ticklen: 4, zeroline: false };
  function draw(plot) {
    const spec = JSON.parse(plot.querySelector("script").textContent);
    for (const trace of spec.traces) {
      if (trace.index) {
        trace.hovertext = trace.index.map((at, dot) => spec.names[at] + "<br>" + trace.name + ": " + trace.sign + trace.x[dot]);
      }
      if (trace.share) {
        trace.hovertext = trace.x.map((tau, step) => trace.name + "<br>" + Number((100 * trace.y[step]).toPrecision(4)) + " % of instances<br>within " + tau + " \u00d7 the best");
      }
      if (trace.hovertext) trace.hoverinfo = "text";
    }
    const layout = Object.assign({}, spec.layout, {
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", showlegend: false, autosize: true, hovermode: "closest",
      dragmode: fine ? "zoom" : false, margin: { l: 8, r: 14, t: 6, b: 8 },
      font: { family: getComputedStyle(document.body).fontFamily, size: 12 },
      hoverlabel: { align: "left", namelength: -1 },
    });
    layout.xaxis = Object.assign({}, common, spec.layout.xaxis);
    layout.yaxis = spec.layout.yaxis.showticklabels === false ? spec.layout.yaxis : Object.assign({}, common, spec.layout.yaxis);
    plot.replaceChildren();
    Plotly.newPlot(plot, spec.traces, layout, { displayModeBar: false, responsive: true, showTips: false, typesetMath: false });
    plot.dataset.drawn = "yes";
  }
  function next() {
    if (waiting.length === 0) return;
    draw(waiting.shift());
    setTimeout(next, 0);
  }
  window.addEventListener("beforeprint", () => { while (waiting.length) draw(waiting.shift()); });
  next();
})();
