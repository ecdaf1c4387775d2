# tests/e2e/test_heap_manners.sh - a program with the library put into it does what it does without: same output, same
# exit status, no descriptor, nothing in the environment, children of its own.
. "$(dirname "$0")/lib.sh"
. "$here/heap_lib.sh"

# same_as_alone COMMAND: alone, watched, and watched with all that it starts; out and err and status.
n_programs=0
same_as_alone() {
    (cd "$tmp/place" && eval "exec env $1") >"$tmp/alone.out" 2>"$tmp/alone.err" </dev/null
    alone=$?
    for watch in heap,stacks,gemm heap,follow; do
        # With `follow` the environment tells, and the loader complains when it cannot open us.
        case $watch$1 in *follow*environ* | *follow*ulimit\ -n*) continue ;; esac
        rm -rf "$shares"
        mkdir -m 700 "$shares"
        (cd "$tmp/place" && eval "exec env LD_PRELOAD=$preload ASSAY_SHARE=$shares ASSAY_WATCH=$watch $1") \
            >"$tmp/watched.out" 2>"$tmp/watched.err" </dev/null
        watched=$?
        [ "$alone" = "$watched" ] || fail "$1: exit $watched, not $alone: $(head -3 "$tmp/watched.err")"
        cmp -s "$tmp/alone.out" "$tmp/watched.out" || fail "$1: prints something else: $(diff "$tmp/alone.out" "$tmp/watched.out" | head -5)"
        cmp -s "$tmp/alone.err" "$tmp/watched.err" || fail "$1: complains otherwise: $(diff "$tmp/alone.err" "$tmp/watched.err" | head -5)"
        for share in $(find "$shares" -name '*.share' | head -5); do
            case $1 in *ulimit* | *LD_PRELOAD=*) break ;; esac
            "$build/tests/model_heap_read" "$share" >/dev/null || fail "$1: its share $share cannot be read"
        done
    done
    n_programs=$((n_programs + 1))
}

mkdir "$tmp/place"
printf 'b 2\na 1\nc 3\nb 2\n' >"$tmp/place/lines"
printf 'int main(void) { return 3; }\n' >"$tmp/place/three.c"
printf '#include <string>\n#include <iostream>\nint main() { std::string s(1000, 120); std::cout << s.size() << std::endl; }\n' >"$tmp/place/text.cpp"
cp -r "$here" "$tmp/place/tree"

while IFS= read -r line; do
    case $line in '' | '#'*) continue ;; esac
    command -v "${line%% *}" >/dev/null || continue
    same_as_alone "$line"
done <<'LIST'
true
false
echo one two
printf %s\\n x
cat lines
sort lines
sort -u -k2 lines
uniq -c lines
wc lines
head -2 lines
tail -2 lines
tr a-z A-Z <lines
cut -c1 lines
grep -n b lines
grep nothing lines
sed s/a/x/ lines
awk '{s += $2} END {print s}' lines
find tree -name '*.sh' -newer /nowhere
find tree -name 'check_*'
ls tree
ls /nowhere
stat -c %s lines
md5sum lines
sha256sum lines
base64 lines
od -c lines
diff lines three.c
cmp lines three.c
tar cf - --mtime=@0 --owner=0 --group=0 --sort=name lines three.c
gzip -nc lines
xz -c lines
bzip2 -c lines
expr 6 '*' 7
seq 1 10000
factor 1234567890
date -u -d @0
id -u
env -i A=1 env
nl lines
paste lines lines
join lines lines
comm lines lines
fold -w 3 lines
xargs -n1 echo <lines
bash -c 'x=$(for i in 1 2 3; do echo $i; done); echo $x; exit 5'
bash -c 'f() { if [ $1 -gt 0 ]; then (f $(($1 - 1))); else echo deep; fi; }; f 20'
bash -c 'i=0; while [ $i -lt 1000 ]; do (exit 3); i=$((i + 1)); done; echo $?'
bash -c 'kill -TERM $$'
bash -c 'ulimit -v 4000000; exec sort lines'
bash -c 'ulimit -f 1000; exec sort lines'
bash -c 'ulimit -n 3; exec echo few'
dash -c 'trap "echo bye" EXIT; cat lines | sort | uniq'
perl -e 'my %h; $h{$_ % 7} .= $_ for 1..100000; print length(join "", values %h), "\n"'
perl -e 'fork or exit 4; wait; print $? >> 8, "\n"; exec "echo", "more"'
python3 -c 'print(sum(len(str(i)) for i in range(100000)))'
python3 -c 'import os; [os.waitpid(os.fork() or os._exit(i % 256), 0) for i in range(200)]; print("forked")'
python3 -c 'import subprocess; print(subprocess.run(["sort", "lines"], capture_output=True).stdout)'
python3 -c 'import threading; t = [threading.Thread(target=lambda: [bytes(i) for i in range(999)]) for i in range(300)]; [x.start() for x in t]; [x.join() for x in t]; print(len(t))'
python3 -c 'import os; print(os.environ.get("LD_PRELOAD"), [k for k in os.environ if "ASSAY" in k]); os.closerange(3, 256); print(len(bytearray(10**7)))'
python3 -c 'import os; os.abort()'
python3 -c 'import json, re, sqlite3, ctypes, decimal; c = sqlite3.connect(":memory:"); c.execute("create table t (a)"); c.executemany("insert into t values (?)", [(i,) for i in range(9999)]); print(c.execute("select sum(a) from t").fetchall())'
python3 -c 'import resource; resource.setrlimit(resource.RLIMIT_AS, (2**30, 2**30)); x = bytearray(2**31)'
python3 -c 'import numpy as n; a = n.arange(90000.0).reshape(300, 300); print((a @ a).sum(), n.linalg.det(n.eye(50)))'
sqlite3 :memory: 'create table t(a); insert into t values (1), (2); select sum(a) from t;'
gcc -o three three.c
gcc -S -o - three.c
g++ -fsyntax-only text.cpp
make -f /nowhere
git --version
openssl dgst -sha256 lines
cmake --version
objdump -f /bin/true
nm -D /bin/true
strings -n 12 /bin/true
timeout 5 sleep 0
nice -n 1 echo nice
env LD_PRELOAD= sort lines
LIST
[ "$n_programs" -ge 50 ] || echo "only $n_programs programs are installed here"

# The environment is as it would be without us, whoever else is in LD_PRELOAD.
other=$(ldd /bin/ls | sed -n 's/.*=> \(.*libc\.so\.6\) .*/\1/p')
for list in "$preload" "$preload:$other" "$other:$preload" "$other:$preload:$other" "$other $preload"; do
    wanted=$(LD_PRELOAD=$(printf %s "$list" | sed -e "s#$preload:##" -e "s#[: ]*$preload##") env | grep '^LD_PRELOAD=.')
    got=$(LD_PRELOAD=$list ASSAY_SHARE=$shares ASSAY_WATCH=heap env | grep -E 'LD_PRELOAD|ASSAY_')
    [ "$got" = "$wanted" ] || fail "LD_PRELOAD=$list becomes '$got', not '$wanted'"
done

# Children stay out unless they are to be followed.
under heap sh -c 'sh -c "exit 0"; sort /dev/null; :'
[ "$(ls "$shares" | wc -l)" = 1 ] || fail "a child left a share: $(ls "$shares")"
under heap,follow sh -c 'sort /dev/null; sort /dev/null; exec sort /dev/null'
[ "$(ls "$shares" | wc -l)" -ge 4 ] || fail "children are followed: $(ls "$shares")"
[ "$(ls "$shares" | grep -cE '^[0-9]+\.1\.share$')" -ge 1 ] || fail "a process that became another program has two shares"
[ "$(grep -c '^state execed' "$tmp/figures")" -ge 1 ] || fail "exec is told"

# Descriptors, and where nothing may be written.
under heap sh -c 'exec ls /proc/self/fd'
[ "$(wc -l <"$tmp/out")" = "$(ls /proc/self/fd | wc -l)" ] || fail "a descriptor is open: $(cat "$tmp/out")"
[ "$(stat -c %a "$shares"/*.share | sort -u)" = 600 ] || fail "a share can be read by others"
LD_PRELOAD=$preload ASSAY_SHARE=/nowhere ASSAY_WATCH=heap sort "$tmp/place/lines" >"$tmp/out" 2>"$tmp/err"
[ $? = 0 ] && [ ! -s "$tmp/err" ] || fail "without a folder the program runs as ever"

# A disk that is full, or fills up: the program does not notice.
full='mount -t tmpfs -o size=$1 tmpfs "$2" && shift 2 && "$@"'
if unshare -m true 2>/dev/null; then
    mkdir "$tmp/full"
    for size in 16k 64k 700k 1200k; do
        unshare -m sh -c "$full" - "$size" "$tmp/full" env LD_PRELOAD="$preload" ASSAY_SHARE="$tmp/full" \
            ASSAY_WATCH=heap,stacks "$python" -c 'import json; print(sum(len(json.dumps(i)) for i in range(99999)))' >"$tmp/out" 2>"$tmp/err"
        [ $? = 0 ] && [ "$(cat "$tmp/out")" = 488885 ] && [ ! -s "$tmp/err" ] || fail "a disk of $size: $(cat "$tmp/out" "$tmp/err")"
    done
fi

if ! grep -q '^ASSAY_SANITIZE:STRING=.' "$build/CMakeCache.txt"; then
    rm -rf "$shares"
    mkdir -m 700 "$shares"
    LD_PRELOAD=$preload ASSAY_SHARE=$shares ASSAY_WATCH=heap,stacks "$build/tests/heap_own_malloc" || fail "a malloc of the program's own is bypassed"
    "$build/tests/model_heap_read" "$shares"/*.share 2>&1 | grep -q 'has its own malloc' || fail "a malloc of the program's own is told"
    # A program that forbids system calls dies of ours: none is made from then on.
    for how in prctl seccomp strict asks; do
        under heap,stacks,gemm "$build/tests/heap_filter" $how
        [ "$status" = 0 ] || fail "a filter set by $how: exit $status: $(cat "$tmp/err")"
        if [ $how = asks ]; then
            has state ended "no filter was set"
            has allocations 301500 "no filter was set"
        else
            has state quiet "a filter set by $how"
            has allocations 1500 "what came before the filter set by $how"
        fi
    done
    for what in promises errno stress foreign forks; do
        under heap,stacks "$target" $what
        [ "$status" = 0 ] || fail "$what: exit $status: $(cat "$tmp/err")"
    done
    under heap "$target" forks
    has allocations 1 "children do not count in their parent's share"
    under heap "$target" twice
    [ "$status" = 134 ] && grep -q 'double free' "$tmp/err" || fail "the C library sees a double free: $status $(cat "$tmp/err")"
    under heap "$target" killed
    [ "$status" = 137 ] || fail "a killed program: $status"
    site 139 blocks 1 "the share of a killed program can be read"
    has state attached "the share of a killed program can be read"
    under heap "$target" leaves
    [ "$status" = 7 ] || fail "_exit: $status"
    has state ended "_exit"
fi

finish
