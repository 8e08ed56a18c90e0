. "$(dirname "$0")/../lib/common.sh"
cat > s.py <<'P'
import srv
PAGES = {"/helmet": (b'<head><title data-react-helmet="true">Shop</title></head>', "text/html; charset=utf-8"),
         "/capitals": (b"<HTML><HEAD><TITLE>Shop</TITLE></HEAD>", "text/html"),
         "/late": (b"<head><style>" + b"a{color:red}\n" * 2000 + b"</style><title>Shop</title></head>", "text/html"),
         "/latin": ("<head><title>B\u00fccher</title></head>".encode("latin-1"), "text/html; charset=iso-8859-1"),
         "/japanese": ("<head><title>\u672c\u5c4b</title></head>".encode("shift_jis"), "text/html; charset=Shift_JIS"),
         "/svg": (b"<body><svg><title>icon</title></svg></body>", "text/html"),
         "/spaced": (b"<head><title>\n  The\n  shop </title></head>", "text/html")}
def answer(r):
    body, kind = PAGES.get(r.target, (b"ok", "text/html"))
    return srv.page(body, kind=kind)
if __name__ == "__main__": srv.run(answer)
P
serve s.py
for name in helmet capitals late latin japanese svg spaced; do
  "$PY" - $name <<'P'
import sys, har, s
body, kind = s.PAGES["/" + sys.argv[1]]
text = body.decode(kind.partition("charset=")[2] or "utf-8")     # as browsers put it into the recording
har.write("a.har", [har.entry(f"http://shop.example/{sys.argv[1]}", text=text, mime=kind)])
P
  rm -rf site; "$LS" workloads from-har a.har -o site > imported 2>&1 || cat imported
  "$LS" try site --target "http://127.0.0.1:$PORT" > out 2>&1; rc=$?; echo "--- $name: $(grep title site/workload.toml | tail -1): exit $rc"; [ $rc = 0 ] || tail -3 out
  [ $rc = 0 ] || wrong "$name: the unchanged page counts as an error"
done
finish
