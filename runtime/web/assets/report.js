// Draws what a report carries with it; nothing is loaded.

import { Chart } from "./chart.js";
import { ScatterChart } from "./scatter.js";

const drawing = JSON.parse(document.getElementById("drawing").textContent);
const drawn = drawing.charts.map((spec) => new Chart(spec, (at) => {
  for (const chart of drawn) chart.hover(at);
}));
document.getElementById("charts")?.append(...drawn.map((chart) => chart.root));
if (drawing.scatter) document.getElementById("scatter").append(new ScatterChart(drawing.scatter).root);
document.body.dataset.drawn = drawn.length;
for (const chart of drawn) chart.draw({ ...drawing, ahead: {}, last: null });
