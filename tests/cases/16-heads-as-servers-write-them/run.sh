. "$(dirname "$0")/../lib/common.sh"
cat > s.py <<'P'
import srv
B = b"<title>x</title>"
L = b"Content-Length: %d\r\n" % len(B)
C = b"%x\r\n%s\r\n0\r\n\r\n" % (len(B), B)
ANSWERS = {
    "/blank-before-colon": b"HTTP/1.1 200 OK\r\nServer : old\r\n" + L + b"\r\n" + B,
    "/folded": b"HTTP/1.1 200 OK\r\nX-Long: one,\r\n two\r\n" + L + b"\r\n" + B,
    "/fields-120": b"HTTP/1.1 200 OK\r\n" + b"".join(b"X-%d: y\r\n" % n for n in range(120)) + L + b"\r\n" + B,
    "/head-80k": b"HTTP/1.1 200 OK\r\n" + b"".join(b"X-%d: %s\r\n" % (n, b"y" * 8000) for n in range(10)) + L + b"\r\n" + B,
    "/no-reason": b"HTTP/1.1 200\r\n" + L + b"\r\n" + B,
    "/latin-reason": b"HTTP/1.1 200 Tr\xe8s bien\r\n" + L + b"\r\n" + B,
    "/length-list": b"HTTP/1.1 200 OK\r\nContent-Length: %d, %d\r\n\r\n" % (len(B), len(B)) + B,
    "/identity": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\n" + L + b"\r\n" + B,
    "/bare-lf": b"HTTP/1.1 200 OK\n" + L.replace(b"\r\n", b"\n") + b"\n" + B,
    "/latin-value": b"HTTP/1.1 200 OK\r\nX-Name: caf\xe9\r\n" + L + b"\r\n" + B,
    "/no-colon": b"HTTP/1.1 200 OK\r\nthis is no field\r\n" + L + b"\r\n" + B,
    "/tab": b"HTTP/1.1 200 OK\r\nX-Tab:\ta\tb\r\n" + L + b"\r\n" + B,
    "/chunk-blanks": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + C.replace(b"%x\r\n" % len(B), b"%x  \r\n" % len(B), 1),
    "/trailer": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n" + C[:-2] + b"X-Sum: 1\r\n\r\n",
    "/early-hints": b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\nHTTP/1.1 200 OK\r\n" + L + b"\r\n" + B,
    "/until-close": b"HTTP/1.0 200 OK\r\n\r\n" + B,
}
async def answer(r):
    response = ANSWERS.get(r.target, srv.page("ok"))
    if r.target == "/until-close" and r.method == "GET":
        r.writer.write(response); await r.writer.drain(); return None
    return response
if __name__ == "__main__": srv.run(answer)
P
serve s.py
for path in $("$PY" -c 'import s; print(*s.ANSWERS)'); do
  rm -rf site; mkdir site; cat > site/workload.toml <<T
[workload]
name = "site"
title = "Heads"
[pacing]
kind = "think"
mean_s = 0.2
cap_s = 3.0
distribution = "exponential"
[connections]
parallel = 1
[limits]
good_s = 1.0
tolerable_s = 2.0
[mix]
kind = "sequence"
sequence = ["home"]
[operations.home]
path = "$path"
title = "x"
T
  "$LS" try site --target "http://127.0.0.1:$PORT" > out 2>&1; rc=$?
  status=$(curl -s -m 5 -w '%{http_code} %{size_download}' -o body "http://127.0.0.1:$PORT$path"); echo "--- $path: loadstone exit $rc, curl $status $([ $rc = 0 ] || sed -n '/home.*:/p' out | tail -1 | cut -c1-120)"
  case $status in "200 16") [ $rc = 0 ] || wrong "$path: curl takes it";; esac
done
finish
