# Sourced by every run.sh. LOADSTONE names the command, PYTHON a Python 3.11.
# A case works in a new folder ($W) and ends the servers that it started.
LS=${LOADSTONE:-loadstone}
PY=${PYTHON:-python3}
HERE=$(cd "$(dirname "${BASH_SOURCE[1]}")" && pwd)
LIB=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
export PYTHONPATH=$LIB${PYTHONPATH:+:$PYTHONPATH} PYTHONDONTWRITEBYTECODE=1
W=$(mktemp -d); PIDS=()
cleanup() { for p in "${PIDS[@]}"; do kill "$p" 2>/dev/null; wait "$p" 2>/dev/null; done; [ -n "$KEEP" ] && echo "kept: $W" || rm -rf "$W"; }
trap cleanup EXIT
cd "$W" || exit 99
BAD=0
# has_verdict: whether a run ended with a verdict, whichever: a busy host may be too slow for a pass
has_verdict() { [ "$1" = 0 ] || [ "$1" = 1 ] || [ "$1" = 3 ]; }
# serve SCRIPT [ARGUMENTS]: starts a server that writes its port to $W/port, and sets PORT
serve() { rm -f port; "$PY" "$@" & PIDS+=($!); for _ in $(seq 1200); do [ -s port ] && break; sleep 0.05; done; PORT=$(cat port); }
wrong() { echo "WRONG: $*"; BAD=1; }
right() { echo "right: $*"; }
finish() { exit $BAD; }
