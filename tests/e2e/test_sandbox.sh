# tests/e2e/test_sandbox.sh - what inspect and profile give up, seen from inside: a library put into them tries at their end.
# And the limits of time and memory. usage: test_sandbox.sh BUILD
. "$(dirname "$0")/lib.sh"
cd "$tmp" || exit 1
sanitized=$(sed -n 's/^ASSAY_SANITIZE:STRING=//p' "$build/CMakeCache.txt")

have() { "$python" -c '
import ctypes, sys
libc = ctypes.CDLL(None, use_errno=True)
sys.exit(libc.syscall(444, None, 0, 1) < 1)'; }
if [ -n "$sanitized" ]; then
    echo "not checked from inside: a sanitizer cannot be joined by such a library"
elif ! have; then
    echo "not checked from inside: this kernel has no Landlock"
else
    mkdir elsewhere work home home/.keys home/tables && echo words >elsewhere/secret && echo words >work/private
    chmod 644 elsewhere/secret && chmod 600 work/private
    for file in notes .settings .keys/id; do echo words >"home/$file"; done
    "$assay" zoo mlp -q -o work/model.onnx && cp work/model.onnx home || fail "a model"
    cc -D_GNU_SOURCE -Wall -Werror -shared -fPIC -pthread -o probe.so "$here/sandbox_probe.c" || fail "the probe cannot be built"
    tries=$(grep -c '^ *tell("' "$here/sandbox_probe.c")
    export PROBE_FOLDER="$tmp/elsewhere" PROBE_WORK="$tmp/work" PROBE_PROCESS=$$
    export PROBE_HOME="$tmp/home" PROBE_TABLES="$tmp/home/tables"
    probed() { LD_PRELOAD=$tmp/probe.so "$assay" "$@" -q </dev/null 2>&1 >/dev/null | grep '^probe ' >got; }
    for command in "inspect" "profile --iterations 2 --warmup 0 --no-roofline --no-history" "sweep --batch 1,2 --iterations 2 --warmup 0 --no-roofline"; do
        # shellcheck disable=SC2086
        probed $command "$tmp/work/model.onnx"
        check "$command: all is tried" [ "$(wc -l <got)" = "$((tries + 5))" ]
        check "$command: what is needed is kept" [ "$(grep -c '^probe own .*: allowed$' got)" = 8 ]
        grep -v '^probe own ' got | grep -Ev ': (Permission denied|Operation not permitted|Function not implemented)$' >left
        check "$command: nothing else is" diff /dev/null left
        check "$command: nothing is made elsewhere" test ! -e elsewhere/made -a ! -e work/made -a ! -e "/dev/shm/assay-probe-$$"
        check "$command: no mode is changed" [ "$(stat -c %a elsewhere/secret work/private | tr '\n' ' ')" = "644 600 " ]
    done
    probed inspect zoo:mlp
    check "a built-in model opens no folder" grep -qx 'probe own input: Permission denied' got
    # Of a file that holds its own weights nothing beside it is read.
    "$assay" zoo llama:layers=1,width=32,heads=4,ffn=32,vocab=50 --to gguf -q -o work/model.gguf || fail "a GGUF file"
    probed inspect "$tmp/work/model.gguf"
    check "nothing beside a GGUF file is read" grep -qx 'probe own input: Permission denied' got
    # Everything in one folder, where a person keeps other things: outputs give it to nobody.
    echo words >home/private && chmod 600 home/private
    home() {
        (cd home && export PROBE_WORK="$PWD" && probed "$@" && mv got ../got)
        check "$1 at home: all is tried" [ "$(wc -l <got)" = "$((tries + 5))" ]
        grep -v '^probe own ' got | grep -Ev ': (Permission denied|Operation not permitted|Function not implemented)$' >left
        check "$1 at home: nothing else is" diff /dev/null left
        check "$1 at home: what was there is as it was" sh -c 'cd home && cat notes .settings .keys/id | sort -u | grep -qx words && [ ! -e made ]'
        check "$1 at home: nothing is left over" sh -c '! ls -a home | grep -q "[.]assay-\|[.]new[.]"'
    }
    for again in first second; do
        home inspect model.onnx --force -o page.txt --export-json j.json --graph g.svg
        home profile model.onnx --iterations 2 --warmup 0 --no-roofline --no-history --force -o page.txt --export-json j.json \
            --export-markdown m.md --trace t.json
        home sweep model.onnx --batch 1,2 --iterations 2 --warmup 0 --no-roofline -o s.assay --export-json j.json
        for file in page.txt j.json g.svg m.md t.json s.assay; do
            check "$file is written, $again" test -s "home/$file"
        done
    done
    check "an older run is kept" "$assay" verify -q home/s.assay.old
    # A folder for tables may be written, with no right that other users would get by it.
    probed inspect "$tmp/work/model.onnx" --export-csv home/tables
    check "tables are written" test -s home/tables/layers.csv
    for what in 'make set-user-id' 'make set-group-id' 'create set-user-id' 'nameless set-user-id' 'sticky folder' 'node'; do
        check "tables: $what" grep -qx "probe $what: Operation not permitted" got
    done
    # A folder that was made for an output goes when nothing came into it.
    exits 3 "a model that is none" "$assay" inspect home/notes --export-csv home/new/tables -q
    check "no folder is left" test ! -e home/new
    # Killed without a chance to clean up: the second process does.
    "$assay" profile zoo:mlp --time 60 --iterations 200000 --no-roofline --no-history -q --trace home/t.json >out 2>err &
    profile=$!
    held=
    until [ -n "$held" ] || ! kill -0 $profile 2>/dev/null; do
        held=$(sed -n 's,.* \(/tmp/assay-[A-Za-z0-9]*\)/.*,\1,p' /proc/$profile/maps 2>/dev/null | head -1)
    done
    check "it records into a folder in /tmp" test -d "$held"
    kill -KILL $profile
    wait $profile 2>/dev/null
    for i in $(seq 1 500); do [ -e "$held" ] || break; sleep 0.02; done
    check "nothing is left of it when it is killed" test ! -e "$held"
    # Without the sandbox, so that the probe is known to reach what it names.
    probed inspect "$tmp/work/model.onnx" --no-sandbox
    for what in 'make set-user-id' 'make set-group-id' 'create set-user-id' 'nameless set-user-id' 'scheduler' 'scheduler parameters' \
        'scheduler attributes' adjtimex clock_adjtime 'read hidden' 'change hidden' 'make in hidden' users; do
        check "--no-sandbox: $what" grep -qx "probe $what: allowed" got
    done
    rm -rf work/made "/dev/shm/assay-probe-$$"
    for what in kill tkill tgkill sigqueue tgsigqueue 'owner of a pipe' limits fork clone terminal 'its environ' 'its cmdline' /proc socket \
        read write 'write beside' chmod fchmod chown fchown utimes futimes truncate rename unshare setuid; do
        check "--no-sandbox: $what" grep -qx "probe $what: allowed" got
    done
fi

# Inputs and outputs in folders of their own still work.
mkdir in results
"$assay" zoo mlp -o in/model.onnx || fail "a model"
exits 0 "an input and outputs elsewhere" "$assay" profile "$tmp/in/model.onnx" -q --iterations 3 --warmup 0 --no-history --no-roofline \
    -o "$tmp/results/run.assay" --export-json "$tmp/results/a.json" --export-csv "$tmp/results/new/csv" --trace "$tmp/results/trace.json"
for file in run.assay a.json new/csv/layers.csv trace.json; do
    check "$file is written" test -s "results/$file"
done
chmod 640 results/new/csv/*.csv results/a.json && chmod 644 results/run.assay
exits 0 "outputs that replace others" "$assay" profile "$tmp/in/model.onnx" -q --iterations 3 --warmup 0 --no-history --no-roofline --force \
    -o results/run.assay --export-json "$tmp/results/a.json" --export-csv results/new/csv
check "keep their modes" [ "$(stat -c %a results/run.assay results/a.json results/new/csv/*.csv | sort | uniq | tr '\n' ' ')" = "640 644 " ]
exits 0 "a device is written" "$assay" inspect in/model.onnx -o /dev/null
exits 3 "a full device" "$assay" inspect in/model.onnx -q -o /dev/full
ln -s in/model.onnx link.onnx
exits 0 "a model behind a link" "$assay" inspect link.onnx

# Limits.
exits 3 "too little time" "$assay" profile zoo:mlp --time 60 --iterations 200000 --no-roofline --no-history --timeout 1 -q
says "stopped after 1 s: --timeout"
check "nothing is left" sh -c "! ls -a | grep -q '^[.]assay-'"
# A signal that is inherited blocked or ignored ends the command all the same.
for inherited in --block-signal=ALRM --ignore-signal=ALRM; do
    exits 3 "too little time with $inherited" env $inherited "$assay" profile zoo:mlp --time 60 --iterations 200000 --no-roofline --no-history --timeout 1 -q
    says "stopped after 1 s: --timeout"
done
exits 0 "time enough" "$assay" inspect zoo:mlp --timeout 100
exits 3 "a command that takes too long" "$assay" bench -q --timeout 1 --iterations 2 --output-dir over -- sh -c 'echo $$ >pid; exec sleep 1000'
says "stopped after 1 s: --timeout"
check "it has ended" sh -c 'while kill -0 "$(cat pid)" 2>/dev/null; do :; done'
exits 3 "a model that takes too long" "$assay" bench -q --timeout 1 --iterations 500000 -g threads=1 --output-dir slow zoo:mlp
says "stopped after 1 s: --timeout"
exits 2 "a time that is none" "$assay" inspect zoo:mlp --timeout soon
exits 2 "a size that is none" "$assay" inspect zoo:mlp --max-memory much
says "--max-memory is an amount"
if [ -z "$sanitized" ]; then
    exits 3 "too little memory" "$assay" profile zoo:vgg16 --iterations 1 --warmup 0 --no-roofline --no-history -q --max-memory 64MiB
    says "memory"
    exits 0 "memory enough" "$assay" inspect zoo:vgg16 --max-memory 64MiB
fi
finish
