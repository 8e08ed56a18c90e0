. "$(dirname "$0")/../lib/common.sh"
"$PY" - <<'P'
import har
e = [har.entry("https://app.shop.example/", text="<title>Shop</title>", kind="document")]
for n, path in enumerate(("/v1/me", "/v1/items", "/v1/cart")):
    e.append(har.entry("https://api.shop.example" + path, 0.3 + n * 3, mime="application/json", text='{"a":1}', kind="fetch", request_headers=[("Authorization", "Bearer abcdefghijklmnop123456")]))
e.append(har.entry("https://api.shop.example/v1/orders", 12, method="POST", sent='{"a":1}', sent_mime="application/json", mime="application/json", text='{"id":7}', kind="fetch"))
har.write("a.har", e)
P
"$LS" workloads from-har a.har -o site; rc=$?; echo "exit $rc"; grep -c '^\[operations\.' site/workload.toml; COLUMNS=120 "$LS" workloads from-har --help | grep -i "site\|host\|origin"
[ "$(grep -c '^\[operations\.' site/workload.toml)" -ge 4 ] || wrong "the calls of the interface are left out, and no option chooses their site"
finish
