. "$(dirname "$0")/../lib/common.sh"
if [ -z "$IN_NS" ]; then cp /etc/hosts hosts; printf '127.0.0.11 many.example\n127.0.0.12 many.example\n127.0.0.13 many.example\n' >> hosts
  export IN_NS=1 HOSTS=$PWD/hosts; unshare -m sh -c 'mount --bind "$HOSTS" /etc/hosts && exec bash "$0"' "$(realpath "$HERE/run.sh")"; exit $?; fi
cat > s.py <<'P'
import srv
def answer(r): 
    with open("at", "a") as f: f.write(r.writer.get_extra_info("sockname")[0] + "\n")
    return srv.page("ok")
srv.run(answer, host="0.0.0.0")
P
serve s.py
getent ahosts many.example | head -3
"$LS" run "http://many.example:$PORT/" --sessions 9 --seconds 3 > out 2>&1; echo "exit $?"; tail -12 out
sort at | uniq -c
[ "$(sort -u at | wc -l)" -ge 3 ] && right "all addresses" || wrong "not all three addresses receive load"
grep -rqi "127.0.0.1[123]" out results/*/report.html results/*/verdict.json results/*/manifest.json 2>/dev/null && echo "the address is named somewhere" || echo "no report names which address it was"
finish
