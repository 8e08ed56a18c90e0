. "$(dirname "$0")/../lib/common.sh"; PY2=${PYTHON_H2:-$PY}   # needs the package h2
cat > s.py <<'P'
import asyncio, sys, h2srv
import h2.errors
kind = sys.argv[1]
async def answer(c, stream, headers, turn):
    if kind == "goaway" and turn == 4:                 # as nginx: the last stream that is served is named, later ones are not
        c.h2.close_connection(error_code=0, last_stream_id=stream - 2 if stream > 1 else 0); await c.send()
        await asyncio.sleep(0.05); c.closed = True; c.writer.close(); return
    if kind == "refused" and turn % 4 == 0:            # RFC 9113, 8.7: not processed, safe to send again
        c.h2.reset_stream(stream, h2.errors.ErrorCodes.REFUSED_STREAM); await c.send(); return
    if kind == "early" and headers[":method"] == "POST":  # a whole answer, then RST_STREAM(NO_ERROR): stop sending (RFC 9113, 8.1)
        await c.respond(stream, 413, b"too large"); c.h2.reset_stream(stream, h2.errors.ErrorCodes.NO_ERROR); await c.send(); return
    if kind == "gzip": return await c.respond(stream, 200, b"", extra=[("content-encoding", "gzip")])
    if kind == "trailers": return await c.respond(stream, 200, b"<title>x</title>", trailers=[("grpc-status", "0")])
    await c.respond(stream)
h2srv.run(answer, {3: 1} if kind == "single" else {})    # 3: MAX_CONCURRENT_STREAMS
P
for kind in plain single goaway refused trailers gzip early; do
  rm -f port; "$PY2" s.py $kind & PIDS+=($!); for _ in $(seq 1200); do [ -s port ] && break; sleep 0.05; done; PORT=$(cat port)
  rm -rf site; mkdir site; cat > site/workload.toml <<T
[workload]
name = "site"
title = "HTTP/2"
[pacing]
kind = "think"
mean_s = 0.2
cap_s = 3.0
distribution = "exponential"
[connections]
parallel = 6
protocol = "http2"
[limits]
good_s = 1.0
tolerable_s = 2.0
[mix]
kind = "sequence"
sequence = ["home", "again"]
[operations.home]
$([ $kind = early ] && printf 'method = "POST"\nstatus = [413]\nuploads = { f = { file_name = "a", bytes = 8388608 } }\ntimeout_s = 8')
path = "/"
embedded = [$([ $kind = early ] || for n in $(seq 8); do printf '{ path = "/f%s" }, ' $n; done)]
[operations.again]
path = "/again"
embedded = [$([ $kind = early ] || for n in $(seq 8); do printf '{ path = "/g%s" }, ' $n; done)]
T
  timeout 60 "$LS" try site --target "http://127.0.0.1:$PORT" > out 2>&1; rc=$?; echo "--- $kind: exit $rc, $(wc -l < log.jsonl) requests over $(cut -d, -f1 log.jsonl | sort -u | wc -l) connections"; [ $rc = 0 ] || tail -4 out
  [ $rc = 0 ] || wrong "$kind: an error that browsers avoid"
done
finish
