. "$(dirname "$0")/../lib/common.sh"
cat > s.py <<'P'
import asyncio, srv, sys
kind = sys.argv[1]
async def answer(r):
    if r.method != "POST": return srv.page("ok")
    response = srv.page("too large", "413 Payload Too Large", extra="Connection: close\r\n")
    r.writer.write(response); await r.writer.drain()
    if kind == "lingers":                      # as nginx does: half-close, then read on for a while
        r.writer.write_eof()
        while await r.reader.read(1 << 20): pass
    if kind == "waits": await asyncio.sleep(30)  # reads nothing more, keeps the connection
    return None
srv.run(answer, reads_body=False)
P
mkdir site; cat > site/workload.toml <<'T'
[workload]
name = "site"
title = "An upload"
[pacing]
kind = "think"
mean_s = 0.2
cap_s = 3.0
distribution = "exponential"
[connections]
parallel = 1
[limits]
good_s = 1.0
tolerable_s = 2.0
[mix]
kind = "sequence"
sequence = ["send"]
[operations.send]
method = "POST"
path = "/upload"
status = [413]
timeout_s = 8
uploads = { file = { file_name = "a.bin", bytes = 33554432 } }
T
for kind in lingers closes waits; do
  serve s.py $kind
  "$LS" try site --target "http://127.0.0.1:$PORT" > out 2>&1; rc=$?; echo "--- $kind: exit $rc"; tail -6 out
  [ $rc = 0 ] || wrong "$kind: the answer 413 (which the workload accepts) was not seen"
done
finish
