// The history of a case, drawn by uPlot from the figures beside it: medians, intervals, marks.
"use strict";

function shownTime(microseconds) {
  if (microseconds == null) return "";
  for (const unit of ["µs", "ms"]) {
    if (Math.abs(microseconds) < 1000) return `${Number(microseconds.toPrecision(3))} ${unit}`;
    microseconds /= 1000;
  }
  return `${Number(microseconds.toPrecision(3))} s`;
}

// Vertical lines with a name at their top: solid ones for changes, dashed ones for versions.
function drawMarks(chart, marks, { colour, dash, row }) {
  const { ctx, bbox } = chart;
  const scale = devicePixelRatio;
  ctx.save();
  ctx.font = `${12 * scale}px system-ui, sans-serif`;
  ctx.textAlign = "center";
  for (const mark of marks) {
    if (mark.x < chart.scales.x.min || mark.x > chart.scales.x.max) continue;
    const x = Math.round(chart.valToPos(mark.x, "x", true));
    const stroke = typeof colour === "function" ? colour(mark) : colour;
    ctx.strokeStyle = ctx.fillStyle = stroke;
    ctx.lineWidth = scale;
    ctx.setLineDash(dash.map((part) => part * scale));
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    ctx.fillText(mark.name, x, bbox.top - (6 + 14 * row) * scale);
  }
  ctx.restore();
}

// Nights without a result, as crosses on the lower edge.
function drawMissing(chart, values, colour) {
  const { ctx, bbox } = chart;
  const [arm, bottom] = [3 * devicePixelRatio, bbox.top + bbox.height - 6 * devicePixelRatio];
  ctx.save();
  ctx.strokeStyle = colour;
  ctx.lineWidth = devicePixelRatio;
  ctx.beginPath();
  chart.data[0].forEach((at, index) => {
    if (values[index] != null || at < chart.scales.x.min || at > chart.scales.x.max) return;
    const x = chart.valToPos(at, "x", true);
    ctx.moveTo(x - arm, bottom - arm);
    ctx.lineTo(x + arm, bottom + arm);
    ctx.moveTo(x - arm, bottom + arm);
    ctx.lineTo(x + arm, bottom - arm);
  });
  ctx.stroke();
  ctx.restore();
}

function drawSpikes(chart, spikes, values, { stroke, fill }) {
  const { ctx } = chart;
  ctx.save();
  ctx.strokeStyle = stroke;
  ctx.fillStyle = fill;
  ctx.lineWidth = 1.5 * devicePixelRatio;
  for (const index of spikes) {
    const at = chart.data[0][index];
    if (at < chart.scales.x.min || at > chart.scales.x.max) continue;
    ctx.beginPath();
    ctx.arc(chart.valToPos(at, "x", true), chart.valToPos(values[index], "y", true), 4 * devicePixelRatio, 0, 2 * Math.PI);
    ctx.fill();
    ctx.stroke();
  }
  ctx.restore();
}

function seriesOf(told, colour) {
  const time = (_, value) => shownTime(value);
  const plain = { points: { show: false }, value: time };
  const night = (chart, value, _, index) => {
    if (value == null) return "";
    const day = new Date(value * 1000).toLocaleDateString(undefined, { dateStyle: "medium" });
    const commit = index == null ? null : told.commits[index];
    return commit ? `${day}, ${commit}` : day;
  };
  const found = [
    [{ label: "night", value: night }, told.x],
    [{ ...plain, label: "to", width: 0, stroke: colour.step }, told.high],
    [{ ...plain, label: "from", width: 0, stroke: colour.step }, told.low],
  ];
  if (told.level) found.push([{ ...plain, label: "level", stroke: colour.text, width: 1.5, dash: [8, 3] }, told.level]);
  if (told.normalised) {
    found.push([{ ...plain, label: "normalised", stroke: colour.normalised, width: 1, dash: [2, 3] }, told.normalised]);
  }
  found.push([{ label: "step", stroke: colour.step, width: 1, points: { show: true, size: 5, fill: colour.step }, value: time }, told.median]);
  return found;
}

function drawHistory(place) {
  const told = JSON.parse(place.dataset.history);
  const colour = {
    text: probe(null, "--text"), dim: probe(null, "--dim"), rule: probe(null, "--rule"), card: probe(null, "--card"),
    step: probe(null, "--part-0"), normalised: probe(null, "--part-1"), bad: probe(null, "--bad"), good: probe(null, "--good"),
  };
  const found = seriesOf(told, colour);
  const axis = { stroke: colour.dim, grid: { stroke: colour.rule, width: 1 }, ticks: { stroke: colour.rule, width: 1 } };
  const finish = (chart) => {
    drawMissing(chart, told.median, colour.dim);
    drawSpikes(chart, told.spikes, told.median, { stroke: colour.step, fill: colour.card });
    drawMarks(chart, told.marks, { colour: colour.dim, dash: [3, 3], row: 1 });
    drawMarks(chart, told.changes, { colour: (one) => (one.slower ? colour.bad : colour.good), dash: [], row: 0 });
  };
  place.replaceChildren();
  new uPlot(
    {
      width: place.clientWidth,
      height: 320,
      padding: [38, 12, 0, 0],
      cursor: { drag: { x: true, y: false } },
      axes: [axis, { ...axis, size: 68, values: (_, ticks) => ticks.map(shownTime) }],
      series: found.map(([one]) => one),
      bands: [{ series: [1, 2], fill: colour.step.replace("rgb(", "rgba(").replace(")", ", 0.18)") }],
      hooks: { draw: [finish] },
    },
    found.map(([, values]) => values),
    place,
  );
}

function drawHistories() {
  for (const place of document.querySelectorAll("[data-history]")) drawHistory(place);
}

document.addEventListener("DOMContentLoaded", drawHistories);
document.addEventListener("themechange", drawHistories);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawHistories);
