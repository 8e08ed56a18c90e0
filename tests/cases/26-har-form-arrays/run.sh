. "$(dirname "$0")/../lib/common.sh"
cat > s.py <<'P'
import srv, secrets, urllib.parse
live = set()
def answer(r):
    if r.method == "POST":
        token = urllib.parse.parse_qs(r.body.decode()).get("csrf", [""])[0]
        return srv.page("<title>Done</title>") if token in live else srv.page("bad token", "403 Forbidden")
    token = secrets.token_hex(16); live.add(token)
    return srv.page(f'<title>Form</title><form><input type="hidden" name="csrf" value="{token}"></form>')
srv.run(answer)
P
serve s.py
"$PY" - <<'P'
import har
token = "5f3c9a1e7b2d4c608f1e2d3c4b5a6978"
page = f'<title>Form</title><form><input type="hidden" name="csrf" value="{token}"></form>'
for name, rest in (("simple", "note=a"), ("twice", "items%5B%5D=1&items%5B%5D=2"), ("lines", "note=first%0D%0Asecond"), ("blank", "note=a&submit")):
    har.write(f"{name}.har", [har.entry("http://shop.example/form", text=page),
                              har.entry("http://shop.example/form", 4, method="POST", sent=f"csrf={token}&{rest}", text="<title>Done</title>")])
P
for name in simple twice lines blank; do
  "$LS" workloads from-har $name.har -o site-$name > imported 2>&1; echo "--- $name"; grep -v "^wrote" imported
  "$LS" try site-$name --target "http://127.0.0.1:$PORT" > out 2>&1; rc=$?; tail -3 out; echo "exit $rc"
  [ $rc = 0 ] || { wrong "$name: the recorded token is sent"; grep -qi "csrf\|look at" imported && echo "(the import points at it)" || echo "(and the import does not say so)"; }
done
finish
