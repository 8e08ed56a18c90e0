. "$(dirname "$0")/../lib/common.sh"
"$PY" - <<'P'
import har
moved = '<html><head><title>301 Moved Permanently</title></head></html>'
def visit(first, then):
    return [har.entry(first + "/", 0, status=301, text=moved, redirect=then + "/", response_headers=[("Location", then + "/")]),
            har.entry(then + "/", 0.05, text="<title>Shop</title>"), har.entry(then + "/a.css", 0.1, mime="text/css"),
            har.entry(then + "/cart", 5, text="<title>Cart</title>"), har.entry(then + "/pay", 9, method="POST", sent="a=1", text="<title>Paid</title>")]
har.write("scheme.har", visit("http://shop.example", "https://shop.example"))
har.write("www.har", visit("https://shop.example", "https://www.shop.example"))
har.write("hsts.har", [dict(e, response=dict(e["response"], status=307)) if i == 0 else e for i, e in enumerate(visit("http://shop.example", "https://shop.example"))])
P
for name in scheme www hsts; do
  "$LS" workloads from-har $name.har -o site-$name > out 2>&1; rc=$?; echo "--- $name: exit $rc"; cat out
  n=$(grep -c '^\[operations\.' site-$name/workload.toml 2>/dev/null); echo "operations: $n of 3"
  [ "${n:-0}" -ge 3 ] || wrong "$name: the visit's pages are left out"
done
finish
