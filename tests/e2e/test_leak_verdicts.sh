# tests/e2e/test_leak_verdicts.sh - what `assay run` says of programs that leak and of programs that do not, and that
# `assay report` says the same of the run.
. "$(dirname "$0")/lib.sh"
cd "$tmp" || exit 1

cat >list.py <<'PY'
import time
kept = []
for i in range(300):
    kept.append(bytearray(200_000))
    time.sleep(0.004)
PY
cat >stops.py <<'PY'
import time
kept = []
for i in range(450):
    if i < 100:
        kept.append(bytearray(200_000))
    time.sleep(0.004)
PY
cat >saw.py <<'PY'
import time
for epoch in range(12):
    kept = []
    for i in range(25):
        kept.append(bytearray(400_000))
        time.sleep(0.004)
PY
cat >file.py <<'PY'
import mmap, time
with open("weights", "w+b") as f:
    f.truncate(100 << 20)
    m = mmap.mmap(f.fileno(), 0)
    for at in range(0, 100 << 20, 4096):
        m[at] = 1
        if at % (1 << 19) == 0:
            time.sleep(0.006)
PY
cat >grow.js <<'JS'
const kept = []; let i = 0;
const timer = setInterval(() => { kept.push(new Array(50000).fill(i)); if (++i > 250) clearInterval(timer); }, 4);
JS

# verdict WANTED SENTENCE COMMAND...: of the run as it ends, and of its report; the status of --fail-on-leak agrees.
verdict() {
    wanted=$1 sentence=$2
    shift 2
    "$assay" run --fail-on-leak --no-report -o run.assay -- "$@" >out 2>err
    got=$?
    said=$("$assay" report --json run.assay | "$python" -c 'import json, sys; print(json.load(sys.stdin)["program"]["growth"]["verdict"])')
    case " $wanted " in *" $said "*) ;; *) fail "$sentence: $said, not $wanted: $("$assay" report --section leaks run.assay | head -4)" ;; esac
    status=0
    [ "$said" = grows ] && status=1
    [ "$got" = $status ] || fail "$sentence: exit $got, and the verdict is $said: $(cat err)"
    "$assay" report --fail-on-leak -q run.assay >/dev/null 2>&1
    again=$?
    [ $again = $status ] || fail "$sentence: report --fail-on-leak ends with $again, run with $got"
}

verdict grows "a list that is kept until the interpreter frees it" "$python" list.py
verdict "no_growth grew_and_was_given_back" "a cache that stops growing" "$python" stops.py
verdict no_growth "memory that comes back every epoch" "$python" saw.py
verdict no_growth "pages of a file" "$python" file.py
if "$python" -c 'import torch' 2>/dev/null && ! grep -q '^ASSAY_SANITIZE:STRING=.' "$build/CMakeCache.txt"; then
    cat >loads.py <<'PY'
import torch
net = torch.nn.Linear(64, 64)
for i in range(300):
    net(torch.rand(16, 64)).sum().backward()
PY
    # Libraries are loaded and relocated for most of its time: memory grows, and no block does.
    verdict "no_growth unknown grew_and_stopped grew_and_was_given_back" "a program that mostly loads libraries" "$python" loads.py
fi
cat >raw.c <<'C'
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(void)
{
    for (int i = 0; i < 400; i++) {
        memset((char *)syscall(SYS_mmap, 0, 1 << 17, 3, 0x22, -1, 0), 1, 1 << 17);
        usleep(4000);
    }
}
C
cc -O1 -o raw raw.c || fail "a program that maps by itself is not built"
verdict grows "memory that no block and no mapping of libc explains" ./raw
if command -v node >/dev/null; then
    verdict "unknown no_growth" "a heap that is collected" node grow.js
    check "the runtime is named" sh -c "'$assay' report --json run.assay | grep -q '\"runtime\": \"V8\"'"
fi
finish
