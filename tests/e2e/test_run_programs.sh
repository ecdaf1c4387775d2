# tests/e2e/test_run_programs.sh - ordinary programs behave under `assay run` as they do without it:
# the same output, the same exit status, the same descriptors and environment.
. "$(dirname "$0")/lib.sh"
manners=$build/tests/run_manners
cd "$tmp" || exit 1
mkdir in
seq 1 2000 >in/numbers
printf 'b 2\na 1\nc 3\na 9\n' >in/words
printf '#include <stdio.h>\nint main(void) { puts("hello"); return 3; }\n' >in/hello.c
printf 'all: x\nx: ; @echo made; false\n' >in/Makefile
printf '#!/bin/sh\necho script "$@"; exit 4\n' >in/script
printf 'echo no first line "$1"; exit 6\n' >in/plain
printf '#!/usr/bin/env python3\nimport sys\nprint(sys.argv[1:])\nsys.exit(5)\n' >in/script.py
chmod +x in/script in/plain in/script.py
git init -q in/repo 2>/dev/null && (cd in/repo && git -c user.name=x -c user.email=x commit -q --allow-empty -m first --date=@0)
compared=0
# A folder of this test's own for what assay makes beside a run: other tests run at the same time.
mkdir -m 700 runtime
export XDG_RUNTIME_DIR=$tmp/runtime

# compare COMMAND...: once without and once with, from the same state.
compare() {
    command -v "$1" >/dev/null || return
    compared=$((compared + 1))
    "$@" <in/numbers >out.without 2>err.without
    without=$?
    "$assay" run -o run.assay $options -- "$@" <in/numbers >out.with 2>err.with
    with=$?
    cmp -s out.without out.with || fail "$* prints something else: $(diff out.without out.with | head -4)"
    # What a shell says of a command that a signal ended, and we of ours.
    sed -i '/^\(Terminated\|Killed\|Aborted\|assay: .* was ended by signal .*\)\( (core dumped)\)\?$/d' err.without err.with
    cmp -s err.without err.with || fail "$* says something else: $(diff err.without err.with | head -4)"
    [ "$with" = "$without" ] || fail "$* ends with $with, not $without"
    [ -s run.assay ] || fail "$* leaves no run"
}

for options in "" "--follow"; do
    compare true
    compare false
    compare echo -n some words
    compare printf '%s\n' a b
    compare cat
    compare cat in/numbers nonexistent
    compare tac in/numbers
    compare head -3 in/numbers
    compare tail -n 2 in/numbers
    compare wc in/numbers
    compare sort -rn in/numbers
    compare sort -u -k1,1 in/words
    compare uniq -c in/words
    compare cut -d' ' -f2 in/words
    compare tr a-z A-Z
    compare paste in/words in/words
    compare join in/words in/words
    compare comm in/words in/words
    compare nl in/words
    compare od -c in/words
    compare fold -w 10 in/words
    compare expr 1 + 2
    compare expr 1 = 2
    compare test -d in
    compare basename /a/b/c.x .x
    compare dirname /a/b
    compare seq 5 -1 1
    compare stat -c %s in/words
    compare ls -a in
    compare ls nonexistent
    compare du -b in/words
    compare md5sum in/numbers
    compare sha256sum in/numbers
    compare cksum in/numbers
    compare base64 in/words
    compare date -u -d @0
    compare sh -c 'exit 77'
    compare sh -c 'echo out; echo err >&2; exit 9'
    compare sh -c 'seq 100 | grep 9 | wc -l'
    compare sh -c 'kill -TERM $$'
    compare sh -c 'kill -KILL $$'
    compare sh -c 'trap "echo trapped" USR1; kill -USR1 $$; exit 1'
    compare sh -c 'ls /proc/self/fd | wc -l'
    compare ls /proc/self/fd
    compare bash -c 'for i in 1 2 3; do (echo $i) & wait; done'
    compare bash -c 'exec 9<in/words; read -u 9 x; echo "$x"; ls -l /proc/self/fd | wc -l'
    compare bash -c 'exec python3 -c "print(7)"'
    compare dd if=in/numbers of=/dev/null status=none
    compare grep -n 99 in/numbers
    compare grep nothing in/numbers
    compare sed -n '5,7p;s/1/x/g' in/numbers
    compare awk '{s += $1} END {print s; exit 8}' in/numbers
    compare find in -name '*.c'
    compare xargs -n 500 echo
    compare diff in/words in/numbers
    compare cmp in/words in/numbers
    compare tar -cf - --mtime=@0 -C in words numbers
    compare gzip -nc in/numbers
    compare xz -c in/numbers
    compare zstd -qc in/numbers
    compare openssl dgst -sha1 in/numbers
    compare make -s -f in/Makefile
    compare cc -o hello in/hello.c
    compare cc -c in/nonexistent.c
    compare ./hello
    compare git -C in/repo log --oneline
    compare git -C in/repo nonsense
    compare python3 -c 'raise SystemExit("said at the end")'
    compare sqlite3 :memory: 'create table t(x); insert into t values (1), (2); select sum(x) from t;'
    compare timeout 5 true
    compare nice true
    compare xargs --version
    compare ./in/script a 'b c'
    compare ./in/plain word
    compare ./in/script.py a 'b c'
    compare "$manners" errno
    compare "$manners" close
    compare "$manners" fork
    compare "$manners" thread
    compare "$manners" signals
    compare "$manners" abort
    compare "$manners" preload
    compare "$manners" lock
    # A sanitizer's runtime looks for itself in the environment.
    grep -q '^ASSAY_SANITIZE:STRING=.' "$build/CMakeCache.txt" || {
        compare "$manners" auxv
        compare env "$manners" auxv
    }
done
[ $compared -ge 100 ] || fail "only $compared comparisons were made"

# The environment that the command and its children see. With --follow they see ours, as they must.
for options in "" --no-heap --no-gemm --no-stacks "--no-heap --no-gemm"; do
    compare env
    compare env -i sh -c env
    compare sh -c 'env | sort'
    compare perl -e 'print join(",", sort keys %ENV), "\n"; exit 12'
    compare python3 -c 'import os, sys; print(sorted(os.environ.items())); sys.exit(13)'
    compare python3 -c 'import subprocess; print(subprocess.run(["env"], capture_output=True, text=True).stdout)'
done

# An environment in which our variables have a meaning already.
options=
if ! grep -q '^ASSAY_SANITIZE:STRING=.' "$build/CMakeCache.txt"; then # whose runtime wants to be first there
    export LD_PRELOAD=libm.so.6
    compare env
    compare sh -c env
    unset LD_PRELOAD
fi
export ASSAY_WATCH=mine
"$assay" run -o run.assay -- true || fail "a variable of ours that is set does harm"
unset ASSAY_WATCH

# Nothing of ours is left behind.
left=$(ls "$XDG_RUNTIME_DIR")
[ -z "$left" ] || fail "folders stay: $left"
finish
