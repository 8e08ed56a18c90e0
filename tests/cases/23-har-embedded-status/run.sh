. "$(dirname "$0")/../lib/common.sh"
cat > s.py <<'P'
import srv
def answer(r):
    return {"/beacon.gif": srv.page("", "204 No Content"),
            "/video.mp4": srv.page("x" * 100, "206 Partial Content" if "range" in dict(r.headers) else "200 OK", "video/mp4", "Content-Range: bytes 0-99/100\r\n"),
            "/avatar": srv.page("", "302 Found", extra="Location: https://avatars.example/1.png\r\n"),
            "/moved.png": srv.page("", "302 Found", extra="Location: /real.png\r\n"),
            "/gone.png": srv.page("no", "404 Not Found")}.get(r.target, srv.page("<title>Shop</title>"))
srv.run(answer)
P
serve s.py
for name in "beacon.gif 204 image/gif" "video.mp4 206 video/mp4" "avatar 302 image/png" "moved.png 302 image/png"; do set -- $name
  "$PY" - $1 $2 $3 <<'P'
import sys, har
name, status, mime = sys.argv[1:]
goal = {"avatar": "https://avatars.example/1.png", "moved.png": "http://shop.example/real.png"}.get(name, "")
entries = [har.entry("http://shop.example/", text="<title>Shop</title>", kind="document"),
           har.entry(f"http://shop.example/{name}", 0.05, status=int(status), mime=mime, redirect=goal, kind="image",
                     request_headers=[("Range", "bytes=0-")] if status == "206" else ())]
if goal: entries.append(har.entry(goal, 0.08, mime="image/png", kind="image"))
har.write("a.har", entries)
P
  rm -rf site; "$LS" workloads from-har a.har -o site > imported 2>&1; grep -i "left out" imported
  "$LS" try site --target "http://127.0.0.1:$PORT" > out 2>&1; rc=$?; echo "--- $1 $2: exit $rc"; [ $rc = 0 ] || tail -3 out
  [ $rc = 0 ] || wrong "$1: an answer that browsers accept makes the page an error"
done
finish
