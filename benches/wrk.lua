-- Prints what wrk measured as one line of JSON: requests, and times in microseconds.
done = function(summary, latency, requests)
  io.write(string.format('{"requests":%d,"p50":%d,"p99":%d,"p99.9":%d,"max":%d}\n', summary.requests,
    latency:percentile(50), latency:percentile(99), latency:percentile(99.9), latency.max))
end
