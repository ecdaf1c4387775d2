# tests/e2e/test_run_gaps.sh - what `assay run` cannot see it says, and takes for nothing else: children whose heap is
# not watched, programs that become others, limits, programs one after the other, products that go by unseen.
. "$(dirname "$0")/lib.sh"
if grep -q '^ASSAY_SANITIZE:STRING=.' "$build/CMakeCache.txt"; then
    echo 'skipped: a sanitizer does not run beneath a limit, and its heap comes first'
    exit 77
fi
cd "$tmp" || exit 1
export XDG_RUNTIME_DIR=$tmp/runtime
mkdir -m 700 runtime

# look RUN EXPRESSION: of what the JSON of the run says of the program, p.
look() {
    "$assay" report --json "$1" >json && $python -c "import json; p = json.load(open('json'))['program']; assert $2, $3" 2>err ||
        fail "$sentence: $(tail -1 err)"
}

# A child that fills its memory, rests and ends is no leak, watched or not; one that grows to its end may be.
cat >fill.py <<'PY'
import sys, time
kept = []
for i in range(100):
    kept.append(bytearray(1 << 20))
    time.sleep(.015)
time.sleep(float(sys.argv[1]))
PY
printf '#!/bin/sh\n%s fill.py "$1"\n:\n' "$python" >wrap.sh
chmod +x wrap.sh
exits 0 'memory of a child that rested and ended' "$assay" run --fail-on-leak --no-report -o w.assay -- ./wrap.sh 0.4
look w.assay "p['growth']['verdict'] in ('grew_and_was_given_back', 'no_growth')" "p['growth']"
look w.assay "all(80e6 < (s['net_bytes'] or 100e6) < 120e6 for s in p['growth']['series'] if s['name'] == 'anonymous')" "p['growth']"
look w.assay "all(s['exhausts'] is None for s in p['growth']['series'])" "p['growth']"
exits 1 'memory of a child that grew to its end' "$assay" run --fail-on-leak --no-report -o w.assay -- ./wrap.sh 0
look w.assay "'--follow' in p['growth']['text']" "p['growth']['text']"
exits 1 'the same with its heap watched: the interpreter freed it, not the program' "$assay" run --follow --fail-on-leak --no-report -o w.assay -- ./wrap.sh 0

# A program that forbids itself system calls: what is known of its heap ends there, and says so.
exits 0 'a program under a filter of system calls' "$assay" run --no-report -o f.assay -- "$build/tests/heap_filter" prctl
look f.assay "'seccomp' in p['heap_why']" "p['heap_why']"
look f.assay "[s['name'] for s in p['growth']['series']].count('heap_live') == 0" "p['growth']"

exits 0 'a program that becomes another under such a filter' "$assay" run --follow --no-report -o f.assay -- "$build/tests/heap_filter" exec
grep -qx done out || fail "the other program did not run: $(cat out)"

# A program that takes the library out of its own way.
cat >other.py <<'PY'
import os, sys
if "SECOND" not in os.environ:
    os.environ.update(SECOND="1", LD_PRELOAD="libm.so.6")
    os.execv(sys.executable, [sys.executable, *sys.argv])
kept = [bytearray(100000) for i in range(1000)]
PY
exits 0 'a program that becomes another' "$assay" run --follow --no-report -o o.assay -- $python other.py
look o.assay "'did not get into that one' in p['heap_why']" "p['heap_why']"
exits 0 'one that is followed' "$assay" run --follow --no-report -o o.assay -- sh -c "exec $python -c pass"
look o.assay "p['heap_why'] is None" "p['heap_why']"

# A limit that leaves no room for the library's counters is named, and so is one that memory will reach.
exits 0 'a small address space' sh -c "ulimit -v 300000; exec '$assay' run --no-report -o l.assay -- $python -c pass"
look l.assay "'293 MiB (ulimit -v)' in p['heap_why']" "p['heap_why']"
exits 0 'a limit ahead' sh -c "ulimit -v 900000; exec '$assay' run --no-report -o l.assay -- $python fill.py 0"
look l.assay "all(s['exhausts'] in (None, 'address_space') for s in p['growth']['series'])" "p['growth']"

# Programs one after the other do not add up, programs beside each other may.
one="$python -c 'import time; x = bytearray(10 << 20); time.sleep(.2)'"
exits 0 'one after the other' "$assay" run --follow --no-report -o s.assay -- sh -c "$one; $one; $one"
look s.assay "10 << 20 < p['heap']['peak_bytes'] < 14 << 20" "p['heap']['peak_bytes']"
look s.assay "p['heap']['peak_slack_bytes'] < 1 << 20" "p['heap']['peak_slack_bytes']"
exits 0 'beside each other' "$assay" run --follow --no-report -o s.assay -- sh -c "$one & $one & $one & wait"
look s.assay "p['heap']['peak_bytes'] > 30 << 20" "p['heap']['peak_bytes']"

# A library that is reached by dlsym.
if $python -c 'import ctypes; ctypes.CDLL("libblas.so.3")' 2>/dev/null; then
    exits 0 'products by dlsym' "$assay" run --report -o b.assay -- $python -c 'import ctypes; ctypes.CDLL("libblas.so.3")'
    tr -s '\n ' '  ' <"$tmp/err" | grep -qF 'none of its calls went through a watched function' || fail "nothing is said of $sentence: $(cat "$tmp/err")"
    look b.assay "'was loaded' in p['products']['why']" "p['products']"
fi
exits 0 'no such library' "$assay" run --no-report -o b.assay -- $python -c pass
look b.assay "p['products']['why'] is None" "p['products']"

# Why a peak is unknown is a line that wraps.
exits 0 'a short program' env COLUMNS=80 "$assay" run --no-heap --no-gemm --report -o t.assay -- true
check 'it fits in 80 columns' $python -c 'assert all(len(line) <= 81 for line in open("err", encoding="utf-8"))'
finish
