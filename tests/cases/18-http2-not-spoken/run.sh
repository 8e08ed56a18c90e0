. "$(dirname "$0")/../lib/common.sh"
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -keyout key.pem -out cert.pem -subj /CN=localhost -addext subjectAltName=DNS:localhost 2>/dev/null
cat > s.py <<'P'
import srv, ssl, sys
context = None
if sys.argv[1] != "plain":
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER); context.load_cert_chain("cert.pem", "key.pem")
    if sys.argv[1] == "alpn": context.set_alpn_protocols(["http/1.1"])
srv.run(lambda r: srv.page("ok"), context=context)
P
mkdir site; cat > site/workload.toml <<'T'
[workload]
name = "site"
title = "HTTP/2"
[pacing]
kind = "think"
mean_s = 0.2
cap_s = 3.0
distribution = "exponential"
[connections]
parallel = 1
protocol = "http2"
[limits]
good_s = 1.0
tolerable_s = 2.0
[mix]
kind = "sequence"
sequence = ["home"]
[operations.home]
path = "/"
timeout_s = 5
T
for kind in alpn none plain; do serve s.py $kind; t=https; [ $kind = plain ] && t=http
  timeout 60 "$LS" run site --target "$t://localhost:$PORT" $([ $t = https ] && echo --authority cert.pem) --sessions 2 --profile demo --seconds 2 > out 2>&1; rc=$?; echo "--- $kind: exit $rc"; tail -7 out | cut -c1-200
  grep -qi "http/2\|http2\|alpn" out && right "$kind: named" || wrong "$kind: the output does not name HTTP/2"; done
finish
