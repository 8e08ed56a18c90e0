. "$(dirname "$0")/../lib/common.sh"
cat > s.py <<'P'
import srv
def answer(r):
    extra = {
        "/in":   "Set-Cookie: sid=42; Path=/\r\nSet-Cookie: pref=x; Path=/\r\n",
        "/out":  "Set-Cookie: sid=; Path=/; Expires=Thu, 01 Jan 1970 00:00:00 GMT\r\nSet-Cookie: pref=; Max-Age=-1\r\n",
        "/shop/": "Set-Cookie: JSESSIONID=of-shop; Path=/shop\r\n",
        "/blog/": "Set-Cookie: JSESSIONID=of-blog; Path=/blog\r\nSet-Cookie: alien=1; Domain=other.example\r\nSet-Cookie: tls=1; Secure\r\n",
    }.get(r.target, "")
    return srv.page("<title>x</title>", extra=extra)
srv.run(answer)
P
serve s.py
mkdir site; cat > site/workload.toml <<'T'
[workload]
name = "site"
title = "Cookies"
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
sequence = ["in", "out", "after", "shop", "blog", "shop2"]
[operations.in]
path = "/in"
[operations.out]
path = "/out"
[operations.after]
path = "/after"
[operations.shop]
path = "/shop/"
[operations.blog]
path = "/blog/"
[operations.shop2]
path = "/shop/cart"
T
"$LS" try site --target "http://127.0.0.1:$PORT" > out 2>&1; echo "exit $?"
"$PY" - > seen <<'P'
import srv
for request in srv.log():
    if request["method"] == "GET": print(request["target"], "Cookie:", dict(request["headers"]).get("cookie", "-"))
P
cat seen
grep -q '^/after Cookie: -' seen && right "deleted cookies are gone" || wrong "a cookie with a date in the past, or Max-Age=-1, is still sent"
grep '^/shop/cart' seen | grep -q 'JSESSIONID=of-shop' && right "paths" || wrong "the cookie of another path replaced the cookie of /shop: the session is lost"
grep -q 'alien=1' seen && wrong "a cookie for another domain was kept"
grep -q 'tls=1' seen && wrong "a Secure cookie is sent without TLS"
finish
