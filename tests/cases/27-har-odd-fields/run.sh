. "$(dirname "$0")/../lib/common.sh"
"$PY" - <<'P'
import copy, har
good = har.entry("http://shop.example/", text="<title>Shop</title>")
def odd(name, change):
    entry = copy.deepcopy(har.entry("http://shop.example/a.js", 0.1, mime="application/javascript"))
    change(entry); har.write(f"{name}.har", [good, entry])
odd("redirect-null", lambda e: e["response"].update(redirectURL=None))
odd("mime-null", lambda e: e["response"]["content"].update(mimeType=None))
odd("text-null", lambda e: e["response"]["content"].update(text=None))
odd("time-null", lambda e: e.update(time=None))
odd("header-null", lambda e: e["response"]["headers"].append({"name": "X", "value": None}))
odd("header-number", lambda e: e["response"]["headers"].append({"name": "Content-Length", "value": 12}))
odd("no-response", lambda e: e.pop("response"))
odd("no-date", lambda e: e.pop("startedDateTime"))
odd("date-null", lambda e: e.update(startedDateTime=None))
odd("status-minus", lambda e: e["response"].update(status=-999))
odd("type-null", lambda e: e.update(_resourceType=None, _fromCache=None))
odd("transfer-float", lambda e: e["response"].update(_transferSize=12.5))
odd("post-null", lambda e: e["request"].update(postData=None))
odd("post-params-null", lambda e: e["request"].update(method="POST", postData={"mimeType": "application/x-www-form-urlencoded", "params": None, "text": "a=1"}))
odd("param-value-null", lambda e: e["request"].update(method="POST", postData={"mimeType": "multipart/form-data; boundary=x", "params": [{"name": "f", "fileName": "a", "value": None}]}))
odd("content-missing", lambda e: e["response"].pop("content"))
odd("connect", lambda e: e["request"].update(method="CONNECT", url="shop.example:443"))
odd("data-url", lambda e: e["request"].update(url="data:image/png;base64,AAAA"))
odd("blob-url", lambda e: e["request"].update(url="blob:http://shop.example/0b1c"))
odd("extension", lambda e: e["request"].update(url="chrome-extension://abc/x.js"))
odd("fiddler-date", lambda e: e.update(startedDateTime="2026-03-01T10:00:00.1234567+01:00"))
odd("zone-without-colon", lambda e: e.update(startedDateTime="2026-03-01T10:00:00.123+0100"))
P
for file in *.har; do rm -rf site; "$LS" workloads from-har $file -o site > out 2>&1; rc=$?; [ $rc = 0 ] && echo "ok    $file" || { echo "exit $rc $file: $(tail -1 out)"; wrong "$file is refused"; }; done
finish
