// Draws the server-sent events of the run that is under way. Several workloads of one run are added up; of percentiles
// the worst is shown.
"use strict";
const show = (id, text) => { document.getElementById(id).textContent = text; };
let run, seconds, errors;

function begin(event) {
  run = event;
  seconds = new Map();
  errors = 0;
  show("what", event.what);
  show("study", event.study);
}

function line(id, values, unit) {
  const top = Math.max(...values, 1e-9);
  const step = 300 / Math.max(1, values.length - 1);
  const points = values.map((value, at) => `${(at * step).toFixed(1)},${(100 - 95 * value / top).toFixed(1)}`);
  document.getElementById("line_" + id).setAttribute("points", points.join(" "));
  show("top_" + id, `highest: ${top.toPrecision(4)} ${unit}`);
}

function second(event) {
  if (!run) return;
  const at = seconds.get(event.at_s) || { per_s: 0, p50_s: 0, p99_s: 0, active: 0 };
  at.per_s += event.per_s;
  at.active += event.active;
  at.p50_s = Math.max(at.p50_s, event.p50_s);
  at.p99_s = Math.max(at.p99_s, event.p99_s);
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
  const shown = [...seconds.values()].slice(-300);
  line("per_s", shown.map((one) => one.per_s), "operations/s");
  line("p99", shown.map((one) => 1000 * one.p99_s), "ms");
}

new EventSource("/live/events").onmessage = (message) => {
  const event = JSON.parse(message.data);
  if (event.kind === "run") begin(event);
  if (event.kind === "iteration") seconds = new Map();
  if (event.kind === "second") second(event);
  if (event.kind === "end") show("phase", `${event.run} ended: ${event.status}`);
  if (event.kind === "idle") show("what", "nothing runs now");
};
