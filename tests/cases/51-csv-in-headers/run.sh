. "$(dirname "$0")/../lib/common.sh"
cat > s.py <<'P'
import srv
srv.run(lambda r: srv.page("<title>x</title>"))
P
serve s.py
mkdir site; cat > site/workload.toml <<'T'
[workload]
name = "site"
title = "A table"
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
[values]
row = { kind = "table", file = "rows.csv" }
[mix]
kind = "sequence"
sequence = ["home"]
[operations.home]
path = "/{row.path}"
headers = { X-Name = "{row.name}" }
T
printf 'path,name\na b?c#d,"one\r\nX-Injected: yes"\n' > site/rows.csv
"$LS" workloads check site; echo "check exit $?"
"$LS" try site --target "http://127.0.0.1:$PORT" > out 2>&1; echo "exit $?"; tail -4 out
"$PY" - <<'P' || wrong "a line break in a value begins another header"
import srv
bad = 0
for o in srv.log():
    if o["method"] == "GET":
        print(o["target"], [h for h in o["headers"] if h[0].startswith("x-")]); bad |= any(h[0] == "x-injected" for h in o["headers"])
raise SystemExit(bad)
P
finish
