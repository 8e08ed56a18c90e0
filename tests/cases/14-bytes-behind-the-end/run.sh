. "$(dirname "$0")/../lib/common.sh"
cat > s.py <<'P'
import asyncio, srv
async def answer(r):
    if r.target == "/beacon":      # 204 with a body that comes a moment later, as PHP scripts do
        r.writer.write(b"HTTP/1.1 204 No Content\r\nContent-Length: 2\r\n\r\n"); await r.writer.drain()
        await asyncio.sleep(0.02); return b"ok"
    return srv.page("<title>x</title>")
srv.run(answer)
P
serve s.py
mkdir site; cat > site/workload.toml <<T
[workload]
name = "site"
title = "Behind the end"
[pacing]
kind = "think"
mean_s = 0.8
cap_s = 3.0
distribution = "fixed"
[connections]
parallel = 1
[limits]
good_s = 1.0
tolerable_s = 2.0
[mix]
kind = "sequence"
sequence = ["beacon", "home"]
[operations.beacon]
path = "/beacon"
status = [204]
[operations.home]
path = "/"
T
"$LS" run site --target "http://127.0.0.1:$PORT" --sessions 3 --seconds 3 --profile demo > out 2>&1; echo "exit $?"; tail -25 out
grep -q "home: [0-9]* of" out && ! grep -q "beacon: [0-9]* of" out && wrong "the next operation is blamed for bytes after the answer 204"
"$LS" report latest --format md 2>/dev/null | grep -i "malformed\|began before\|beacon\|home" | head
finish
