. "$(dirname "$0")/../lib/common.sh"
"$PY" -c 'import har; har.write("a.har", [har.entry("http://shop.example/", text="<title>Shop</title>")], creator="Fiddler", bom=True)'
"$LS" workloads from-har a.har -o site; rc=$?; echo "exit $rc"
[ $rc = 0 ] || wrong "the recording with a byte order mark is refused"
"$PY" - <<'P'
import json
text = open("a.har", encoding="utf-8-sig").read(); open("b.har", "w", encoding="utf-16").write(text)
P
"$LS" workloads from-har b.har -o site2; echo "UTF-16 (PowerShell >): exit $?"
finish
