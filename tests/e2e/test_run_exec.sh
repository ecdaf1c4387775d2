# tests/e2e/test_run_exec.sh - a command that becomes another program by exec is watched in that one, by default: shells,
# env, nice, scripts, shims. What the library cannot go into is named. The environment stays as it was.
. "$(dirname "$0")/lib.sh"
if grep -q '^ASSAY_SANITIZE:STRING=.' "$build/CMakeCache.txt"; then
    echo 'skipped: a sanitizer wants to be the first library'
    exit 77
fi
cd "$tmp" || exit 1
export XDG_RUNTIME_DIR=$tmp/runtime
mkdir -m 700 runtime bin

# 20 MB in Python objects: a heap that no shell has.
printf 'kept = [bytearray(1000) for i in range(20000)]\n' >work.py
printf '#!/usr/bin/env python3\nkept = [bytearray(1000) for i in range(20000)]\n' >work
printf '#!/bin/sh\nexec %s "$@"\n' "$python" >bin/python3 # as version managers have it
chmod +x work bin/python3

# becomes SENTENCE COMMAND...: the heap is that of the last program, and of that alone.
becomes() {
    sentence=$1
    shift
    exits 0 "$sentence" "$assay" run --no-report -o e.assay -- "$@"
    "$assay" report --json e.assay | $python -c '
import json, sys
p = json.load(sys.stdin)["program"]
assert p["heap_why"] is None, p["heap_why"]
assert p["heap"]["n_heaps"] == 1 and 20e6 < p["heap"]["peak_bytes"] < 30e6, (p["heap"]["n_heaps"], p["heap"]["peak_bytes"])
assert p["processes"][0]["heap_watched"]' 2>err || fail "$sentence: $(tail -1 err)"
}
becomes 'a shell' sh -c "exec $python work.py"
becomes 'env' env "$python" work.py
becomes 'env with an empty environment' env -i "$python" work.py
becomes 'nice' nice "$python" work.py
becomes 'a library that is preloaded by env' env LD_PRELOAD=libm.so.6 "$python" work.py
becomes 'three after each other' sh -c "exec env sh -c 'exec $python work.py'"
PATH=$tmp/bin:$PATH becomes 'a script whose first line names env, and a shim' ./work
for call in 'os.execv(p, a)' 'os.execve(p, a, {})' 'os.execvp("python3", a)' 'os.execve(os.open(p, os.O_RDONLY), a, os.environ)'; do
    becomes "$call" "$python" -c "import os; p = '$python'; a = [p, 'work.py']; $call"
done

# One that does not succeed changes nothing.
becomes 'an exec that fails before' "$python" -c "
import os
for path in ('/nowhere', '.', 'work.py'):
    try:
        os.execv(path, ['x'])
    except OSError:
        pass
try:
    os.execve('/bin/true', ['x'] * 10, {str(i): 'x' * 100000 for i in range(100)})  # too long
except OSError as e:
    assert e.errno == 7
exec(open('work.py').read())"

# Nothing of ours is in what the program and its children see.
for command in 'exec env' 'exec sh -c env' 'exec env -i env' 'exec env LD_PRELOAD=libm.so.6 env'; do
    sh -c "$command" >without
    "$assay" run -o e.assay -- sh -c "$command" >with
    cmp -s without with || fail "$command prints something else: $(diff without with)"
done

# A process that has the library and not the rest of what assay gave it goes its way.
[ "$(LD_PRELOAD=$build/libassay-preload.so sh -c 'exec env echo here')" = here ] || fail 'the library alone is in the way of exec'
[ "$("$assay" run --follow -o e.assay -- env -u ASSAY_SHARE sh -c '/bin/echo there; exec echo here' | tr '\n' ' ')" = 'there here ' ] ||
    fail 'a child without the folder cannot start programs'

# Where the library cannot go the reason is named.
printf 'int main(void) { return 5; }\n' >static.c
if ${CC:-cc} -static -o static static.c 2>/dev/null; then
    exits 5 'a static program' "$assay" run --no-report -o e.assay -- env ./static
    "$assay" report --json e.assay | grep -q '"heap_why": "the command became.*statically linked' || fail 'a static program has another reason'
fi
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
    cp "$(command -v id)" rights
    chown 12345 rights
    chmod 4755 rights
    chmod 755 "$tmp"
    # A user who cannot read the library: the loader must have nothing to complain of.
    mkdir -m 700 only
    cp "$assay" "$build/libassay-preload.so" only/
    exits 0 'another user' only/assay run --no-report -o e.assay -- setpriv --reuid=12345 --regid=12345 --clear-groups echo here
    [ "$(cat out err)" = here ] || fail "another user: $(cat out err)"
    exits 0 'a setuid program' "$assay" run --no-report -o e.assay -- env ./rights
    "$assay" report --json e.assay | grep -q '"heap_why": "the command became.*other rights' || fail 'a setuid program has another reason'
fi
finish
