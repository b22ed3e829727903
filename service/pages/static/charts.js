// Curves on two logarithmic axes, drawn by uPlot from the table beside each.
"use strict";

function colours() {
  const style = getComputedStyle(document.documentElement);
  return ["--part-0", "--part-1", "--good", "--part-2", "--bad", "--warn"].map((name) => probe(style, name));
}

// A property that says light-dark(…) is resolved only where it is used.
function probe(_style, name) {
  const element = document.createElement("i");
  element.className = "probe";
  element.style.color = `var(${name})`;
  document.body.append(element);
  const found = getComputedStyle(element).color;
  element.remove();
  return found;
}

function size(bytes) {
  const units = ["B", "KiB", "MiB", "GiB"];
  let unit = 0;
  while (bytes >= 1024 && unit < 3) { bytes /= 1024; unit += 1; }
  return `${Number(bytes.toPrecision(3))} ${units[unit]}`;
}

function draw(place) {
  const { x, lines } = JSON.parse(place.dataset.curves);
  const [dim, rule] = [probe(null, "--dim"), probe(null, "--rule")];
  const palette = colours();
  const dashes = [[], [6, 3], [2, 3], [8, 3, 2, 3], [1, 2], [4, 4]];
  const axis = { stroke: dim, grid: { stroke: rule, width: 1 }, ticks: { stroke: rule, width: 1 } };
  place.replaceChildren();
  new uPlot(
    {
      width: place.clientWidth,
      height: 300,
      scales: { x: { time: false, distr: 3, log: 2 }, y: { distr: 3, log: 10 } },
      axes: [
        { ...axis, values: (_, ticks) => ticks.map((tick) => (tick ? size(tick) : "")), label: "message" },
        { ...axis, size: 60, label: "busbw, GB/s" },
      ],
      series: [
        { label: "message", value: (_, value) => (value == null ? "" : size(value)) },
        ...lines.map((line, at) => ({
          label: line.name,
          stroke: palette[at % palette.length],
          dash: dashes[at % dashes.length],
          width: 1.6,
          spanGaps: true,
          value: (_, value) => (value == null ? "" : `${Number(value.toPrecision(3))} GB/s`),
        })),
      ],
    },
    [x, ...lines.map((line) => line.values)],
    place,
  );
}

function drawAll() {
  for (const place of document.querySelectorAll("[data-curves]")) draw(place);
}

document.addEventListener("DOMContentLoaded", drawAll);
document.addEventListener("themechange", drawAll);
document.addEventListener("refreshed", drawAll);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
