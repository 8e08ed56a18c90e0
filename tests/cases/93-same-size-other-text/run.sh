. "$(dirname "$0")/../lib/common.sh"
cat > s.py <<'P'
import asyncio, random, srv, sys
WELCOME = "welcome to our little shop of books and maps, sorted by town and year; "
SORRY = "sorry: this server cannot look at any order now, come back in an hour. "
text, pause_s = {"shop": (WELCOME, 0.02), "sorry": (SORRY, 0.0)}[sys.argv[1]]
async def answer(r):
    await asyncio.sleep(pause_s)
    return srv.page(f"<title>Shop</title>{text * 80}<p>{random.randrange(10**9):09d}")
srv.run(answer, log=f"{sys.argv[1]}.jsonl")
P
mkdir site; cat > site/workload.toml <<T
[workload]
name = "site"
title = "Shop"
[pacing]
kind = "think"
mean_s = 0.2
cap_s = 1.0
distribution = "exponential"
[connections]
parallel = 1
[limits]
good_s = 20.0
tolerable_s = 29.0
[mix]
kind = "sequence"
sequence = ["home", "again"]
[operations.home]
path = "/"
title = "Shop"
[operations.again]
path = "/again"
title = "Shop"
T
serve s.py shop; a=$PORT
serve s.py sorry; b=$PORT
for _ in 1 2 3 4; do # limits are long, but nothing follows from a pair that a busy host made invalid
  "$LS" compare site --sessions 12 --target "http://127.0.0.1:$a" --b "target=http://127.0.0.1:$b" --profile brief --warm-up 0.5 --steady 2 --pairs 2 > out 2>&1
  grep -q "another text" out && break
done
sed -n '/another text/,$p' out | head -4
grep -q "another text" out || { wrong "another text of the same size is not named"; tail -20 out; }
grep -q "(better)" out && wrong "another text is called better"
finish
