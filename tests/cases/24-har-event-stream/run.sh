. "$(dirname "$0")/../lib/common.sh"
cat > s.py <<'P'
import asyncio, srv
async def answer(r):
    if r.target == "/events":
        r.writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-cache\r\n\r\n")
        while True:
            r.writer.write(b"data: tick\n\n"); await r.writer.drain(); await asyncio.sleep(1)
    return srv.page(f"<title>{'Cart' if r.target == '/cart' else 'Shop'}</title>")
srv.run(answer)
P
serve s.py
"$PY" - <<'P'
import har
har.write("a.har", [har.entry("http://shop.example/", text="<title>Shop</title>", kind="document"),
    har.entry("http://shop.example/events", 0.1, mime="text/event-stream", took_ms=20000, kind="eventsource", text="data: tick\n\n", request_headers=[("Accept", "text/event-stream")]),
    har.entry("http://shop.example/cart", 8, text="<title>Cart</title>", kind="document")])
P
"$LS" workloads from-har a.har -o site | tee imported; cat site/workload.toml | sed -n '/operations/,$p'
grep -qi "event" imported && right "the import names the stream" || echo "the import does not name the stream"
timeout 100 "$LS" try site --target "http://127.0.0.1:$PORT" > out 2>&1; rc=$?; tail -8 out; echo "exit $rc"
[ $rc = 0 ] || wrong "the page with an event stream ends by its time-out"
finish
