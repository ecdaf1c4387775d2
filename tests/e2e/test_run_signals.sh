# tests/e2e/test_run_signals.sh - signals under `assay run`: passed on once, inherited as they were, and a target
# that goes on when assay is killed.
. "$(dirname "$0")/lib.sh"
manners=$build/tests/run_manners
cd "$tmp" || exit 1
export XDG_RUNTIME_DIR=$tmp/runtime
mkdir -m 700 runtime

# The mask and what is ignored are inherited as they were.
for how in "" "trap '' HUP INT;" "trap '' CHLD PIPE;"; do
    sh -c "$how '$manners' signals >without"
    sh -c "$how '$assay' run -o r.assay -- '$manners' signals >with"
    [ $? = 42 ] || fail "a program that looks at its signals ends otherwise ($how)"
    check "signals are inherited as they were ($how)" cmp without with
done

# wait_for FILE TEXT: until the program says that it is ready.
wait_for() {
    while ! grep -q "$2" "$1" 2>/dev/null; do
        kill -0 "$pid" 2>/dev/null || return 1
    done
}

# A signal sent to assay reaches the program, which decides; the run is whole.
for signal in 2 15 1 3 10; do
    : >said
    # A shell starts what runs behind it with SIGINT and SIGQUIT ignored; these shall come through.
    "$python" -c 'import os, signal, sys
for s in (signal.SIGINT, signal.SIGQUIT): signal.signal(s, signal.SIG_DFL)
os.execv(sys.argv[1], sys.argv[1:])' "$assay" run -o "$signal.assay" -- "$manners" wait >said 2>err &
    pid=$!
    wait_for said ready || fail "the program did not start"
    kill -$signal $pid
    wait $pid
    [ $? = 42 ] || fail "signal $signal: the program's status is not ours: $(cat err)"
    check "signal $signal is passed on" grep -q "caught $signal\$" said
    check "and the run is whole" sh -c "'$assay' verify '$signal.assay'"
done

# One that does not handle it is ended by it.
: >said
"$assay" run -o r.assay -- sh -c 'echo ready; exec sleep 100' >said 2>err &
pid=$!
wait_for said ready
kill -TERM $pid
wait $pid
[ $? = 143 ] || fail "SIGTERM ends the program and gives 143"
check "and it is said" grep -q "ended by signal SIGTERM" err
check "no folder stays" sh -c "[ -z \"\$(ls runtime)\" ]"

# A program that signals its whole group is not signalled twice.
cat >twice.py <<'END'
import os, signal
seen = 0
def catch(number, frame):
    global seen
    seen += 1
signal.signal(signal.SIGTERM, catch)
os.kill(0, signal.SIGTERM)
for _ in range(300):
    signal.sigtimedwait([], 0.001)
print("seen", seen)
END
setsid --wait "$assay" run -o r.assay -- "$python" twice.py >said 2>err
check "a signal of the program to its own group comes once" grep -qx "seen 1" said

# Stopped and continued.
: >said
"$assay" run -o r.assay -- "$manners" wait >said 2>err &
pid=$!
wait_for said ready
kill -STOP $pid
kill -CONT $pid
kill -TERM $pid
wait $pid
[ $? = 42 ] || fail "assay stopped and continued loses the program's status"

# As the job in front of a terminal.
check "control-C, control-Z and the summary at a terminal" timeout 60 "$python" "$here/check_run_terminal.py" "$(cd "$build" && pwd)/assay" "$tmp"

# assay killed: the program goes on unharmed.
sh -c "'$assay' run -o killed.assay -- sh -c 'echo \$\$ >target; while [ ! -e go ]; do :; done; echo unharmed >result'" 2>/dev/null &
pid=$!
while [ ! -s target ] || [ ! -s killed.assay ]; do :; done
# Its parent is assay.
parent=$(sed 's/.*) . \([0-9]*\) .*/\1/' "/proc/$(cat target)/stat")
kill -KILL "$parent"
wait $pid 2>/dev/null
: >go
tries=0
while [ ! -s result ] && [ $tries -lt 200 ]; do
    tries=$((tries + 1))
    sleep 0.05
done
check "a program goes on when assay is killed" grep -q unharmed result
left=$(ls runtime)
[ -n "$left" ] && touch -d '1 hour ago' "runtime/$left"
"$assay" run -o r.assay -- true
check "what it left is tidied up by the next" sh -c "[ -z \"\$(ls runtime)\" ]"
check "the run says what was run" sh -c "'$assay' report --section program,heap killed.assay | grep -q 'end not seen'"
check "and the run is readable" sh -c "'$assay' report killed.assay >/dev/null"
finish
