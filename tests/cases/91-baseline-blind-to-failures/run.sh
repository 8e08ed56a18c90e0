. "$(dirname "$0")/../lib/common.sh"
"$LS" repeat static --rate 400 --station workers=4,service=0.008 --virtual --profile brief --runs 6 >a 2>&1
"$LS" baseline save main >s 2>&1
"$LS" repeat static --rate 400 --station workers=4,service=0.008,queue=0 --virtual --profile brief --runs 6 --name new >b 2>&1
"$LS" baseline check main --fail-if "p95 > +10%" >c 2>&1; rc=$?; cat c
[ $rc != 0 ] || wrong "all six later runs fail, and the check passes"
finish
