// Draws the server-sent events of the run that is under way. Several workloads of one run are added up; of percentiles
// the worst is shown.
"use strict";
const MOST_SECONDS = 300;
const MOST_LINES = 6;
const show = (id, text) => { document.getElementById(id).textContent = text; };
let run, seconds, errors;

function begin(event) {
  run = event;
  seconds = new Map();
  errors = 0;
  show("what", event.what);
  show("study", event.study);
}

function second(event) {
  if (!run) return;
  const at = seconds.get(event.at_s) || { per_s: 0, p50_s: 0, p99_s: 0, active: 0, errors: 0, operations: {} };
  at.per_s += event.per_s;
  at.active += event.active;
  at.errors += event.errors;
  at.p50_s = Math.max(at.p50_s, event.p50_s);
  at.p99_s = Math.max(at.p99_s, event.p99_s);
  Object.entries(event.operations).forEach(([name, per_s]) => {
    at.operations[name] = (at.operations[name] || 0) + per_s;
  });
  seconds.set(event.at_s, at);
  errors += event.errors;
  show("phase", event.phase);
  show("per_s", at.per_s.toFixed(1));
  show("p50", (1000 * at.p50_s).toFixed(1));
  show("p99", (1000 * at.p99_s).toFixed(1));
  show("active", at.active);
  show("errors", errors);
  show("driver", event.driver.toFixed(0));
  document.getElementById("progress").value = event.at_s / run.total_s;
  show("left", `${Math.max(0, run.total_s - event.at_s).toFixed(0)} s left of this iteration`);
  draw([...seconds.entries()].slice(-MOST_SECONDS));
}

function draw(shown) {
  const line = (value) => shown.map(([at, one]) => [at, value(one)]);
  chart("per_s", new Map([["operations", line((one) => one.per_s)]]));
  const answered = (name) => shown.filter(([, one]) => one.p99_s > 0).map(([at, one]) => [at, 1000 * one[name]]);
  chart("times", new Map([["median", answered("p50_s")], ["99th percentile", answered("p99_s")]]));
  chart("errors", new Map([["errors", line((one) => one.errors)]]));
  chart("each", new Map(busiest(shown).map((name) => [name, line((one) => one.operations[name] || 0)])));
}

// Operations by how often they came, the rest left out.
function busiest(shown) {
  const sums = new Map();
  shown.forEach(([, one]) => Object.entries(one.operations).forEach(([name, per_s]) => {
    sums.set(name, (sums.get(name) || 0) + per_s);
  }));
  return [...sums.entries()].sort((a, b) => b[1] - a[1]).slice(0, MOST_LINES).map(([name]) => name);
}

new EventSource("/live/events").onmessage = (message) => {
  const event = JSON.parse(message.data);
  if (event.kind === "run") begin(event);
  if (event.kind === "iteration") seconds = new Map();
  if (event.kind === "second") second(event);
  if (event.kind === "end") show("phase", `${event.run} ended: ${event.status}`);
  if (event.kind === "idle") show("what", "nothing runs now");
};
