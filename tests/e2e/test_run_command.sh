# tests/e2e/test_run_command.sh - `assay run` itself: options, exit statuses, what cannot be run or watched,
# and what it leaves behind.
. "$(dirname "$0")/lib.sh"
manners=$build/tests/run_manners
cd "$tmp" || exit 1
export XDG_RUNTIME_DIR=$tmp/runtime
mkdir -m 700 runtime

# silent SENTENCE: the last `exits` said nothing at standard error.
silent() { [ ! -s err ] || fail "$sentence: said $(head -2 err)"; }
# tells TEXT: the page of the last run has it.
tells() { grep -qF -e "$1" page || fail "$sentence: '$1' is not in: $(head -30 page)"; }

# Exit statuses are the command's.
for status in 0 1 2 3 42 126 127 255; do
    exits $status "status $status comes through" "$assay" run -o r.assay -- sh -c "exit $status"
    silent
done
exits 127 "a missing command" "$assay" run -o new.assay nosuchcommand
says "command not found: nosuchcommand"
exits 127 "a missing path" "$assay" run -o new.assay -- ./not/there x
says "command not found: ./not/there"
exits 127 "an empty name" "$assay" run -o new.assay -- ""
says "empty name"
exits 126 "a folder" "$assay" run -o new.assay -- "$tmp"
says "is a folder"
echo text >plain && chmod 644 plain
exits 126 "a file that is not executable" "$assay" run -o new.assay -- ./plain
says "permission denied"
printf '\177ELF\2\1\1\0garbage' >broken && chmod 755 broken
exits 126 "a damaged program" "$assay" run -o new.assay -- ./broken
says "not a program for this machine"
printf '#!/not/there\n' >orphan && chmod 755 orphan
exits 127 "a script whose interpreter is missing" "$assay" run -o new.assay -- ./orphan
says "interpreter"
check "what did not run leaves no run" test ! -e new.assay

# Signals that end the command.
exits 137 "a killed command" "$assay" run -o r.assay -- sh -c 'kill -KILL $$'
says "ended by signal SIGKILL"
exits 134 "a command that aborts" "$assay" run -o r.assay -- "$manners" abort
says "ended by signal SIGABRT"
exits 137 "--quiet" "$assay" run -q -o r.assay -- sh -c 'kill -KILL $$'
silent

# Options.
exits 2 "no command" "$assay" run
says "run needs COMMAND"
exits 2 "an unknown option" "$assay" run --nosuch -- true
says "no option --nosuch"
exits 2 "an interval of 0" "$assay" run --interval 0 -- true
says "--interval is a whole number"
exits 2 "contradictions" "$assay" run --no-report --json -- true
says "choose one of --no-report and --format"
exits 2 "leaks without a heap" "$assay" run --no-heap --fail-on-leak -- true
says "--fail-on-leak"
exits 0 "options after the command are the command's" "$assay" run -o r.assay echo --help -o x -- -q
check "and reach it unchanged" test "$(cat out)" = "--help -o x -- -q"
exits 0 "-- before the command" "$assay" run -o r.assay -- echo -- -n
check "the second -- is the command's" test "$(cat out)" = "-- -n"
exits 0 "help" "$assay" run --help
check "help tells of the exit status" grep -q "exit status is that of the command" out

# The run file.
mkdir here && (cd here && "$assay" run true && "$assay" run true) || fail "run.assay is the name when none is given"
check "an older run is kept" test -s here/run.assay.old
exits 0 "a folder that is missing is made" "$assay" run -o "$tmp/made/for/r.assay" -- true
check "the run is in it" test -s made/for/r.assay
echo "no folder" >nowhere
exits 3 "a run that cannot be written" "$assay" run -o "$tmp/nowhere/r.assay" -- touch ran
says "nowhere"
check "and the command was not started" test ! -e ran
echo "not a run" >other
exits 3 "another kind of file in the way" "$assay" run -o other -- touch ran
check "it stays" grep -q "not a run" other
check "the command was not started then either" test ! -e ran
exits 5 "a folder that disappears" sh -c "mkdir gone && '$assay' run -o gone/r.assay -- sh -c 'rm -r gone; exit 5'"
exits 0 "a run whose folder of shares disappears" "$assay" run --interval 1 -o r.assay -- sh -c 'rm -rf runtime; mkdir runtime'

# Standard streams.
exits 0 "standard input is the command's" sh -c "echo words | '$assay' run -o r.assay -- cat"
check "it got it" test "$(cat out)" = words
exits 0 "closed streams" sh -c "'$assay' run -o r.assay -- sh -c 'ls /proc/self/fd >list' <&- >&- 2>&-"
sh -c "sh -c 'ls /proc/self/fd >list.without' <&- >&- 2>&-"
check "stay closed" cmp list list.without
check "and nothing but the run is in the run" sh -c "'$assay' report r.assay >/dev/null"
exits 0 "the page goes to standard error" "$assay" run --report -o r.assay -- echo words
check "standard output has only the command's" test "$(cat out)" = words
check "and the page is there" test -s err
exits 0 "the page in a file" "$assay" run --report-file page -o r.assay -- true
check "is there" test -s page
exits 0 "JSON in a file" "$assay" run --json --report-file page.json -o r.assay -- true
check "it is JSON" "$python" -c 'import json, sys; json.load(open("page.json"))'
exits 0 "JSON at standard error" "$assay" run --json -o r.assay -- echo words
check "it is all that is said" "$python" -c 'import json, sys; json.load(open("err"))'
exits 3 "a page that cannot be written is refused before" "$assay" run --report-file /dev/full/x -o r.assay -- touch ran
check "nothing ran" [ ! -e ran ]
exits 7 "a disk that is full then" "$assay" run -q --report-file /dev/full -o r.assay -- sh -c 'exit 7'
says "no summary: "

# Programs that take no library.
watch() {
    sentence=$1
    shift
    "$assay" run --report-file page --width 160 -o r.assay -- "$@" >out 2>err
}
printf '#include <stdio.h>\nint main(void) { puts("fixed"); return 0; }\n' >fixed.c
if cc -static -o fixed fixed.c 2>/dev/null; then
    watch "a static program" ./fixed
    check "runs" test "$(cat out)" = fixed
    tells "statically linked"
    printf '#!%s/fixed\n' "$tmp" >script && chmod 755 script
    watch "a script with a static interpreter" ./script
    tells "statically linked"
fi
cp /bin/true other_user
if [ "$(id -u)" = 0 ] && chown nobody other_user && chmod 4755 other_user; then
    watch "a setuid program" ./other_user
    tells "setuid"
fi
mkdir bare && cp "$assay" bare/assay
"$tmp/bare/assay" run --report-file page -o r.assay -- true 2>err
sentence="no library beside the program"
tells "libassay-preload.so"
if "$tmp/bare/assay" run --fail-on-leak -o r.assay -- true 2>err; then
    check "leaks that cannot be told are said to be so" grep -q "leaks are unknown" err
else
    fail "--fail-on-leak fails without a heap"
fi
if ! grep -q '^ASSAY_SANITIZE:STRING=.' "$build/CMakeCache.txt"; then # which needs room for its shadow
    exits 42 "out of memory" "$assay" run -o r.assay -- "$manners" memory
    for kib in 2000000 300000 60000; do
        exits 9 "little memory for everything: $kib KiB" sh -c "ulimit -v $kib; '$assay' run -o r.assay -- sh -c 'exit 9'"
    done
fi
# A file that may not grow: the command goes on as it would, and one sentence tells.
exits 9 "a run that cannot be written to its end" sh -c "ulimit -f 8; exec '$assay' run -o r.assay -- sh -c 'sleep 0.2; exit 9'"
says "the run is incomplete"
# Asked through the same shell: some do not pass on that SIGCHLD was ignored when they started. Signals 32 and 33 are the C
# library's own: no program can hand them on.
of_program() { printf '%x' $((0x$1 & ~0x180000000)); }
ignored=$(sh -c "ulimit -f 8; exec sed -n 's/^SigIgn:.//p' /proc/self/status")
exits 0 "what is ignored can be asked for" sh -c "ulimit -f 8; exec '$assay' run --quiet -o r.assay -- sed -n 's/^SigIgn:.//p' /proc/self/status"
[ "$(of_program "$(cat out)")" = "$(of_program "$ignored")" ] || fail "what the command ignores is what we were started with: $(cat out), not $ignored"

# The heap of what the command was before exec is not the program's.
if ! grep -q '^ASSAY_SANITIZE:STRING=.' "$build/CMakeCache.txt"; then
    exits 0 "a shell that becomes another program" "$assay" run --json --report-file heap.json -o r.assay -- sh -c 'exec sort /dev/null'
    check "its heap is the last one's" "$python" -c 'import json; assert json.load(open("heap.json"))["program"]["heap"]["n_heaps"] == 1'
    exits 0 "followed it has a heap" "$assay" run --follow --json --report-file heap.json -o r.assay -- sh -c 'exec sort /dev/null'
    check "followed it has a heap" "$python" -c 'import json; assert json.load(open("heap.json"))["program"]["heap"]["n_heaps"] == 2'
fi

exits 42 "few descriptors" sh -c "ulimit -n 16; '$assay' run -o r.assay -- '$manners' fork"

# Processes that outlive the command are not waited for, and told.
exits 0 "a process left behind" "$assay" run -o r.assay -- sh -c 'sleep 100 >/dev/null 2>&1 & echo $!; sleep 0.5'
says "still runs and is watched no longer"
check "it is named" grep -q "sleep 100" err
check "and does still run" kill "$(cat out)"

check "no folder stays" sh -c "[ -z \"\$(ls runtime)\" ]"
finish
