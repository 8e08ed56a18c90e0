. "$(dirname "$0")/../lib/common.sh"
cat > s.py <<'P'
import srv
srv.run(lambda r: srv.page("{}", kind="application/json") if r.method == "POST" else srv.page("<title>Shop</title>"))
P
serve s.py
"$PY" - <<'P'
import har, json
def gql(at, text): return har.entry("http://shop.example/graphql", at, method="POST", sent=json.dumps({"query": text}), sent_mime="application/json", mime="application/json", text="{}", kind="fetch")
page = har.entry("http://shop.example/", text="<title>Shop</title>")
har.write("graphql.har", [page, gql(3, "{ me { id } }"), gql(6, "{ products { id } }"), gql(9, "mutation { pay { id } }")])
har.write("form.har", [page, *(har.entry("http://shop.example/cart", 3 * n, method="POST", sent=f"product={n}", text="{}", mime="application/json") for n in (5, 9, 12))])
har.write("search.har", [page, *(har.entry(f"http://shop.example/search?q={w}", 3 * n, text="<title>Shop</title>") for n, w in enumerate(("chairs", "tables", "lamps"), 1))])
P
for name in graphql form search; do
  rm -rf site; "$LS" workloads from-har $name.har -o site > imported 2>&1; cat imported; grep -n "^sequence" site/workload.toml
  "$LS" try site --target "http://127.0.0.1:$PORT" > out 2>&1; echo "$name: exit $?"
  "$PY" - > seen <<'P'
import srv
rows = [o["target"] + " " + o["body"] for o in srv.log() if o["method"] == "POST" or "/search" in o["target"]]
print(*rows[-3:], sep="\n"); raise SystemExit(len(set(rows[-3:])) != 3)
P
  rc=$?; cat seen; [ $rc = 0 ] || wrong "$name: three different requests were recorded, and one is sent three times"
done
finish
