. "$(dirname "$0")/../lib/common.sh"
cat > s.py <<'P'
import srv
srv.run(lambda r: srv.page("hello") if r.peer == "127.0.0.1" else srv.page("no", "403 Forbidden"))
P
serve s.py
"$LS" run "http://127.0.0.1:$PORT/" --sessions 5 --seconds 3 > out 2>&1; rc=$?
tail -25 out; echo "exit $rc"
"$PY" - <<'P' || wrong "requests come from several source addresses: a server that accepts only 127.0.0.1 refuses most of them"
import srv, collections
seen = collections.Counter(request["peer"] for request in srv.log()); print(seen)
raise SystemExit(len(seen) > 1)
P
grep -qi "127\.0\.0\.[2-9]\|several addresses\|source address" out && right "it says so" || echo "nothing on the terminal names the source addresses"
finish
