. "$(dirname "$0")/../lib/common.sh"
cat > s.py <<'P'
import srv
srv.run(lambda r: srv.page("<title>x</title>", extra="Set-Cookie: a=1\r\n"))
P
serve s.py
mkdir site; cat > site/workload.toml <<'T'
[workload]
name = "site"
title = "Declared headers"
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
[headers]
Host = "shop.example"
User-Agent = "Mozilla/5.0 (declared)"
Accept = "application/json"
Cookie = "consent=yes"
[mix]
kind = "sequence"
sequence = ["home", "again"]
[operations.home]
path = "/"
[operations.again]
path = "/again"
T
"$LS" workloads check site; echo "check: exit $?"
"$LS" try site --target "http://127.0.0.1:$PORT" > out 2>&1; rc=$?; tail -5 out; echo "exit $rc"
"$PY" - <<'P' || wrong "a header that the workload declares is sent twice"
import srv, collections
bad = 0
for request in srv.log():
    if request["method"] == "HEAD": continue
    names = collections.Counter(name for name, _ in request["headers"])
    twice = {n: [v for k, v in request["headers"] if k == n] for n, c in names.items() if c > 1}
    if twice: print(request["target"], twice); bad = 1
raise SystemExit(bad)
P
finish
