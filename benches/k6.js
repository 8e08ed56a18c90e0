// One page over and over, closed (RATE 0) or at a constant arrival rate; prints its summary as JSON.
import http from "k6/http";

const seconds = `${__ENV.SECONDS}s`;
const rate = Number(__ENV.RATE);
const vus = Number(__ENV.VUS);

export const options = {
  scenarios: {
    page: rate
      ? { executor: "constant-arrival-rate", rate, timeUnit: "1s", duration: seconds, preAllocatedVUs: vus, maxVUs: 10 * vus }
      : { executor: "constant-vus", vus, duration: seconds },
  },
  discardResponseBodies: true,
  insecureSkipTLSVerify: true,
  noConnectionReuse: __ENV.CLOSE === "1",
  summaryTrendStats: ["med", "p(99)", "p(99.9)", "max"],
};

export default function () {
  http.get(__ENV.URL);
}

export function handleSummary(data) {
  return { stdout: JSON.stringify(data) };
}
