# tests/e2e/test_session_env.sh - a program that only has marks is recorded when the environment asks for it, whatever it is
# linked with; a report at its end has the numbers of assay report; nothing of it can hurt the program.
. "$(dirname "$0")/lib.sh"

root=$(cd "$(dirname "$0")/../.." && pwd)
if nm -D "$build/libassay-trace.so" | grep -qE '__(asan|tsan)_'; then
    echo "a library built with a sanitizer needs sanitized programs"
    exit 77
fi
unset ASSAY_RUN ASSAY_REPORT ASSAY_RUN_OWNER
cat >"$tmp/marks.c" <<'EOF2'
#include <assay/assay.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int sink;

static void fib(int n)
{
    ASSAY_SCOPE("recursive");
    if (n > 0) {
        fib(n - 1);
        ASSAY_SCOPE("inner");
        for (int i = 0; i < 2000; i++)
            sink += i;
    }
}

static int open_and_close(const char *path)
{
    struct assay_error err;
    int rc = assay_session_open(path, NULL, &err);

    if (rc < 0)
        printf("open: %s\n", err.msg);
    if (assay_session_close(&err) < 0)
        printf("close: %s\n", err.msg);
    return rc;
}

static void in_child(char **argv, const char *how)
{
    pid_t pid = fork();

    if (pid == 0) {
        if (strcmp(how, "exec") == 0)
            execl(argv[0], argv[0], "plain", (char *)0);
        fib(2);
        exit(0);
    }
    printf("%ld\n", (long)pid);
    waitpid(pid, NULL, 0);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "plain";

    fib(5);
    {
        ASSAY_SCOPE_NAMED(scope, "failing");
        assay_scope_fail(&scope);
    }
    if (strcmp(how, "open") == 0)
        return open_and_close(argv[2]) == ASSAY_ERR_STATE ? 0 : 7;
    if (strcmp(how, "exec") == 0 || strcmp(how, "fork") == 0)
        in_child(argv, how);
    if (strcmp(how, "away") == 0 && chdir("/") != 0)
        return 6;
    if (strcmp(how, "become") == 0)
        execl(argv[0], argv[0], "plain", (char *)0);
    fib(3);
    return 5;
}
EOF2
cc -O2 -I "$root/include" -o "$tmp/shared" "$tmp/marks.c" -L "$build" -lassay-trace "-Wl,-rpath,$build" &&
    cc -O2 -I "$root/include" -o "$tmp/whole" "$tmp/marks.c" -L "$build" -lassay "-Wl,-rpath,$build" &&
    cc -O2 -I "$root/include" -o "$tmp/static" "$tmp/marks.c" "$build/libassay-trace.a" -pthread || exit 1
cd "$tmp" || exit 1

for how in shared whole static; do
    exits 5 "$how: without the variable it runs as ever" "./$how"
    exits 5 "$how: recorded" env ASSAY_RUN="new/folder/$how.assay" "./$how"
    check "$how: nothing is printed" test ! -s err -a ! -s out
    exits 0 "$how: the run is whole" "$assay" verify "new/folder/$how.assay"
    check "$how: its layers are there" sh -c "'$assay' report -s layers -c name,calls 'new/folder/$how.assay' | grep -Eq '^inner +8\$'"
done

# The name: %p and %%, and that of children.
exits 5 "a pid in the name" env ASSAY_RUN=at-%p-%%.assay ./shared
check "it is the pid of the process" sh -c "ls | grep -Eq '^at-[0-9]+-%[.]assay\$'"
exits 5 "a child by fork" env ASSAY_RUN=fork.assay ./shared fork
check "has a run of its own" "$assay" verify "fork.$(cat out).assay"
exits 5 "a child by exec" env ASSAY_RUN=exec.assay ./shared exec
check "has a run of its own" "$assay" verify "exec.$(cat out).assay"
check "the parent's is its own" "$assay" verify exec.assay
check "and was not replaced" test ! -e exec.assay.old
exits 5 "a program that becomes another" env ASSAY_RUN=become.assay ./shared become
check "leaves its run" sh -c "'$assay' report become.assay | grep -q 'recursive'"
check "the other has its own" sh -c "ls | grep -Eq '^become[.][0-9]+[.]assay\$'"

# A session of the program itself.
exits 0 "the environment's session goes on" env ASSAY_RUN=first.assay ./shared open second.assay
check "open fails with a sentence" grep -q 'open: the environment (ASSAY_RUN or ASSAY_REPORT) already has this process recorded into .*/first.assay' out
check "so does close" grep -q 'close: the session was opened by the environment' out
check "nothing else was recorded" test ! -e second.assay
exits 0 "the run is whole" "$assay" verify first.assay

# The command itself is started in the same shell.
exits 0 "assay is not recorded" env ASSAY_RUN=first.assay ASSAY_REPORT=1 "$assay" report first.assay
check "it reads the run" grep -q recursive out
check "and leaves it alone" test ! -s err -a ! -e first.assay.old

# A program that goes elsewhere.
exits 5 "another folder at the end" env ASSAY_RUN=away.assay ASSAY_REPORT=away.txt ./static away
check "the run and its report are where they were asked for" sh -c "'$assay' verify away.assay && grep -q recursive away.txt"
check "nothing is left" test ! -e away.assay.ring

# What cannot be recorded.
mkdir -p closed && echo text >closed/file
exits 5 "a file that is not a run" env ASSAY_RUN=closed/file ./shared
check "one line says so" grep -Eq '^assay: ASSAY_RUN: /.*closed/file exists and is not a run file.*; nothing is recorded$' err
check "and only one" test "$(wc -l <err)" = 1
escape=$(printf '\033')
exits 5 "a name that a terminal would obey" env ASSAY_RUN="closed/file/n${escape}[31m.assay" ./shared
check "the name is escaped" grep -qF 'n\x1b[31m' "$tmp/err"
check "no escape sequence reaches the terminal" sh -c '! grep -q "$1" "$2"' - "$escape" "$tmp/err"
exits 5 "a folder that cannot be" env ASSAY_RUN=closed/file/run.assay ./shared
check "one line says so" grep -q '^assay: ASSAY_RUN: .*nothing is recorded$' err
exits 5 "a path that is too long" env ASSAY_RUN="$(printf 'x%.0s' $(seq 5000))" ./shared
check "one line says so" grep -q '^assay: ASSAY_RUN: the path is too long; nothing is recorded$' err

# The report.
exits 5 "a report at the end" env ASSAY_RUN=told.assay ASSAY_REPORT=1 ./static
cp err told.txt
check "nothing at standard output" test ! -s out
"$assay" report --json told.assay >told.json || fail "the run cannot be read"
check "has the numbers of assay report" "$python" - <<'EOF2'
import json
layers = {l["name"]: l for l in json.load(open("told.json"))["layers"]}
lines = open("told.txt").read().splitlines()
assert lines[0].startswith("assay: ") and "3 layers, 19 calls (1 failed)" in lines[0], lines[0]
rows = [l.split() for l in lines[1:] if l.split()[0] in layers]
assert len(rows) == len(layers) == 3, lines
order = sorted(layers.values(), key=lambda l: -l["self_ns"])
assert [r[0] for r in rows] == [l["name"] for l in order], rows
for r in rows:
    l = layers[r[0]]
    ns = lambda text: round(float(text) * 1e6)
    assert int(r[1]) == l["calls"], r
    assert ns(r[2]) == l["total_ns"], (r, l)
    assert ns(r[3]) == l["self_ns"], (r, l)
    assert abs(float(r[4]) - 100 * l["share"]) <= 0.051, (r, l)
    assert abs(ns(r[6]) - l["mean_ns"]) <= 1, (r, l)
EOF2
exits 5 "a report in a file" env ASSAY_RUN=told.assay ASSAY_REPORT=told-%p.txt ./shared
check "nothing is printed" test ! -s err -a ! -s out
check "the file has it" grep -q recursive told-*.txt
exits 5 "a report that cannot be written" env ASSAY_REPORT=/proc/nowhere/x ./shared
check "one line reports it" sh -c "test \$(wc -l <err) -eq 1 && grep -q '^assay: the end of the session: ' err"
exits 5 "a report in a folder that is missing" env ASSAY_REPORT=made/here/x.txt ./shared
check "the folder is made" test -s made/here/x.txt
exits 5 "a report alone" env ASSAY_REPORT=1 ./shared fork
check "is printed once" sh -c "grep -c '^assay: ' err | grep -qx 1"
check "and leaves no run" sh -c "test -z \"\$(find /tmp -maxdepth 2 -path '/tmp/assay-??????/run.assay' -newer told.json -user \$(id -u))\""
exits 5 "0 is no report" env ASSAY_REPORT=0 ./shared
check "nothing is printed" test ! -s err
finish
