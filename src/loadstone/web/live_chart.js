// A chart of lines over the seconds of a run, with axes.
"use strict";
const SVG = "http://www.w3.org/2000/svg";
const COLORS = ["#3b82c4", "#d9822b", "#3a9d5d", "#a05cc4", "#c94f4f", "#8a8f98"];
const [WIDE, HIGH, LEFT, BOTTOM, TOP] = [420, 180, 48, 22, 8];

// Round steps, four or so of them, up to a largest value.
function ticks(most) {
  const rough = Math.max(most, 1e-9) / 4;
  const base = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((each) => each * base).find((each) => each >= rough);
  return Array.from({ length: Math.ceil(most / step - 1e-9) + 1 }, (_, at) => at * step);
}

// A line keeps its color while it is shown, whichever others come and go.
const places = new Map();
function colors(id, names) {
  const held = (places.get(id) || COLORS.map(() => null)).map((name) => (names.includes(name) ? name : null));
  names.filter((name) => !held.includes(name)).forEach((name) => { held[Math.max(0, held.indexOf(null))] = name; });
  places.set(id, held);
  return (name) => COLORS[Math.max(0, held.indexOf(name))];
}

function element(kind, attributes, text) {
  const made = document.createElementNS(SVG, kind);
  Object.entries(attributes).forEach(([name, value]) => made.setAttribute(name, value));
  made.textContent = text || "";
  return made;
}

// `series` are lines by name, each a list of [second, value]; values are told in the figure's title.
function chart(id, series) {
  const points = [...series.values()].flat();
  if (!points.length) return;
  const heights = ticks(Math.max(...points.map(([, value]) => value)) || 1);
  const [first, last] = [points[0][0], Math.max(...points.map(([at]) => at))];
  const top = heights[heights.length - 1];
  const x = (at) => LEFT + (WIDE - LEFT - 8) * (at - first) / Math.max(1, last - first);
  const y = (value) => HIGH - BOTTOM - (HIGH - BOTTOM - TOP) * value / top;
  const picture = document.getElementById("chart_" + id);
  picture.setAttribute("viewBox", `0 0 ${WIDE} ${HIGH}`);
  const parts = heights.flatMap((value) => [
    element("line", { x1: LEFT, x2: WIDE - 8, y1: y(value), y2: y(value), class: "grid" }),
    element("text", { x: LEFT - 6, y: y(value) + 4, "text-anchor": "end" }, String(+value.toPrecision(3))),
  ]);
  const step = ticks(last - first)[1] || 1;
  const begin = Math.ceil(first / step);
  const seconds = Array.from({ length: Math.max(0, Math.floor(last / step) - begin + 1) }, (_, at) => (begin + at) * step);
  parts.push(...seconds.map((at) =>
    element("text", { x: x(at), y: HIGH - 6, "text-anchor": "middle" }, `${at.toFixed(0)} s`)));
  const color = colors(id, [...series.keys()]);
  series.forEach((line, name) => parts.push(element("polyline", {
    points: line.map(([second, value]) => `${x(second).toFixed(1)},${y(value).toFixed(1)}`).join(" "),
    stroke: color(name),
  })));
  picture.replaceChildren(...parts);
  const key = document.getElementById("key_" + id);
  key.replaceChildren(...(series.size > 1 ? [...series.keys()] : []).map((name) => {
    const told = document.createElement("span");
    told.className = "key";
    told.style.color = color(name);
    told.textContent = `\u25cf ${name}`;
    return told;
  }));
}
