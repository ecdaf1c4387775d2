# tests/e2e/test_outputs.sh - files that are written: whole or not at all, for their owner alone, never over an input, never
# through a link, nothing left over after a failure or a signal.
. "$(dirname "$0")/lib.sh"

"$make_run" "$tmp/run.assay" nested iterations channels || exit 1
run=$tmp/run.assay
cp "$run" "$tmp/run.copy"
"$assay" zoo mlp -q -o "$tmp/model.onnx" || exit 1
model=$tmp/model.onnx
cp "$model" "$tmp/model.copy"
export XDG_CACHE_HOME="$tmp/cache"

intact() {
    check "$1: the run is as it was" cmp "$run" "$tmp/run.copy"
    check "$1: the model is as it was" cmp "$model" "$tmp/model.copy"
    check "$1: nothing is left over" sh -c "[ -z \"\$(find '$tmp' -name '.assay-*')\" ]"
}

# --- an output is no input, --force or not ---
cp "$run" "$tmp/plain"
for force in "" --force; do
    exits 3 "report onto its run $force" "$assay" report $force -o "$tmp/plain" "$tmp/plain"; says "this command reads that file"
    exits 3 "report onto another name of its run $force" "$assay" report $force -o "$tmp/./plain" "$tmp/plain"; says "this command reads"
    exits 3 "export onto its run $force" "$assay" export --to csv $force -o "$tmp/plain" "$tmp/plain"; says "this command reads"
    exits 3 "a JSON export onto the run $force" "$assay" report $force --export-json "$tmp/plain" "$tmp/plain"; says "this command reads"
    exits 3 "inspect onto its model $force" "$assay" inspect $force -o "$model" "$model"; says "this command reads"
    exits 3 "diff onto one of two $force" "$assay" diff $force -o "$tmp/plain" "$run" "$tmp/plain"; says "cannot write"
    check "the run is as it was $force" cmp "$run" "$tmp/plain"
done
ln "$run" "$tmp/second"
exits 3 "a second name of the input" "$assay" report --force -o "$tmp/second" "$run"; says "this command reads"
rm "$tmp/second"
# The ring of a program that was killed holds its last events.
cp "$run" "$tmp/live.assay"
printf 'ring' >"$tmp/live.assay.ring"
"$assay" report -q "$tmp/live.assay" >/dev/null 2>&1
if exits 3 "a report onto the ring" "$assay" report --force -o "$tmp/live.assay.ring" "$tmp/live.assay"; then says "this command reads"; fi
check "the ring is as it was" grep -q '^ring' "$tmp/live.assay.ring"
rm "$tmp/live.assay" "$tmp/live.assay.ring"
intact inputs

# --- a run or a model is replaced with --force only ---
cp "$model" "$tmp/unnamed" # known by its content
"$assay" zoo llama:layers=1,width=32,heads=4,ffn=32,vocab=50 --to gguf -q -o "$tmp/l.bin" || exit 1
for there in "$run" "$model" "$tmp/unnamed" "$tmp/l.bin"; do
    exits 3 "the version over $(basename "$there")" "$assay" version -o "$there"; says "--force replaces it"
done
exits 3 "a picture over a model" "$assay" inspect zoo:mlp --graph "$tmp/g.svg" --export-json "$model"; says "--force replaces it"
exits 3 "a model over a model" "$assay" zoo mlp:seed=3 -o "$model"; says "--force replaces it"
exits 3 "a machine page over a run" "$assay" explain p95 -o "$tmp/run.copy"; says "a recorded run is there"
exits 0 "forced" "$assay" version --force -o "$tmp/unnamed"
check "it is replaced" grep -q assay "$tmp/unnamed"
printf '{"weight_map":{}}' >"$tmp/empty.onnx"
exits 3 "a model by its name" "$assay" version -o "$tmp/empty.onnx"; says "a model is there"
: >"$tmp/empty.onnx"
exits 0 "an empty file is nothing" "$assay" version -o "$tmp/empty.onnx"
intact models

# --- two outputs of one name: the second would replace the first ---
for second in "$tmp/both" "$tmp/./both" "$tmp/../$(basename "$tmp")/both"; do
    exits 2 "one file twice" "$assay" inspect zoo:mlp -q -o "$tmp/both" --export-json "$second"; says "name the same file"
done
check "nothing is written" [ ! -e "$tmp/both" ]
exits 0 "a device twice" "$assay" inspect zoo:mlp -q -o /dev/null --export-json /dev/null
exits 0 "two files" "$assay" inspect zoo:mlp -q -o "$tmp/both" --export-json "$tmp/both.json"

# --- modes ---
umask 000
exits 0 "a new file" "$assay" report -o "$tmp/new.txt" "$run"
check "is its owner's" [ "$(stat -c %a "$tmp/new.txt")" = 600 ]
for mode in 640 600 644 400; do
    chmod "$mode" "$tmp/new.txt"
    exits 0 "replaced with mode $mode" "$assay" report -o "$tmp/new.txt" "$run"
    check "keeps mode $mode" [ "$(stat -c %a "$tmp/new.txt")" = "$mode" ]
done
exits 0 "tables" "$assay" report --export-csv "$tmp/tables" -q "$run"
check "tables are their owner's" sh -c "[ -z \"\$(find '$tmp/tables' -type f ! -perm 600)\" ]"
umask 022

# --- links ---
echo target >"$tmp/target"
ln -s target "$tmp/link"
exits 3 "a link to a file" "$assay" version -o "$tmp/link"; says "symbolic link"
check "its target is as it was" grep -q target "$tmp/target"
ln -s /dev/null "$tmp/nothing"
exits 0 "a link of ours to a device" "$assay" version -o "$tmp/nothing"
"$assay" version -o /dev/stdout | grep -q assay || fail "/dev/stdout in a pipe"
# A link in the folder of a benchmark leads nowhere: nothing is written through it, or removed.
for part in csv figs witness; do
    rm -rf "$tmp/linked" "$tmp/elsewhere" && mkdir "$tmp/linked" "$tmp/elsewhere" && echo words >"$tmp/elsewhere/results.csv"
    ln -s ../elsewhere "$tmp/linked/$part"
    for force in "" --force; do
        exits 3 "a folder with a link for $part $force" "$assay" bench --iterations 2 -q $force --output-dir "$tmp/linked" true; says "symbolic link"
    done
    check "$part: what it points to is as it was" [ "$(ls "$tmp/elsewhere")$(cat "$tmp/elsewhere/results.csv")" = "results.csvwords" ]
done
mkfifo "$tmp/pipe"
cat "$tmp/pipe" >"$tmp/piped" &
exits 0 "a pipe" "$assay" version -o "$tmp/pipe"
wait
check "gets it" grep -q assay "$tmp/piped"

# --- closed standard descriptors ---
for closed in "0<&-" "1>&-" "2>&-" "0<&- 1>&- 2>&-"; do
    sh -c "'$assay' inspect zoo:mlp --export-json '$tmp/closed.json' -q $closed" >/dev/null 2>&1
    check "a file written with $closed is JSON" "$python" -c 'import json, sys; json.load(open(sys.argv[1]))' "$tmp/closed.json"
    rm -f "$tmp/closed.json"
done
sh -c "'$assay' version 1>&-" 2>"$tmp/err"
[ $? = 3 ] || fail "standard output that is closed is not 3"

# --- a limit on the size of files ---
echo older >"$tmp/limited"
exits 3 "past the limit" sh -c "ulimit -f 1; exec '$assay' zoo mlp -q --to onnx -o '$tmp/limited'"; says "File too large"
check "the older file stays" grep -q older "$tmp/limited"
intact limit

# --- a home that is not there is not made ---
home=$tmp/nohome
exits 0 "no home" env -u XDG_CACHE_HOME HOME="$home" "$assay" profile zoo:mlp --iterations 1 --warmup 0 --no-roofline -q
check "no home is made" [ ! -e "$home" ]

# --- a stale temporary file of an older version is in nobody's way ---
for i in $(seq 1 40); do : >"$tmp/out.txt.part.$i"; done
unshare -rpf --mount-proc true 2>/dev/null &&
    for i in 1 2 3; do
        exits 0 "as process 1 of a container" unshare -rpf --mount-proc "$assay" version -o "$tmp/out.txt"
    done
rm -f "$tmp"/out.txt.part.*

# --- signals: nothing is left over, also where files cannot be nameless ---
command -v strace >/dev/null || { finish; exit; }
export ASAN_OPTIONS="$ASAN_OPTIONS:detect_leaks=0" # which cannot work under strace
for signal in INT TERM HUP; do
    # Without nameless files, and asleep when the file is put on the disk. A shell ignores INT for what it starts aside.
    env --default-signal=INT strace -qq -o "$tmp/strace.out" -e trace=openat,fsync -e inject=openat:error=EOPNOTSUPP:when="$(
        strace -qq -e trace=openat "$assay" zoo mlp -q -o "$tmp/count.onnx" --force 2>&1 | grep -n O_TMPFILE | cut -d: -f1
    )" -e inject=fsync:delay_enter=3000000:when=1 "$assay" zoo mlp -q -o "$tmp/slow.onnx" --force &
    tracer=$!
    for i in $(seq 1 100); do
        [ -n "$(find "$tmp" -name '.assay-*.part')" ] && break
        sleep 0.05
    done
    [ -n "$(find "$tmp" -name '.assay-*.part')" ] || fail "$signal: there was no temporary file to be removed"
    child=$(cat /proc/$tracer/task/$tracer/children 2>/dev/null)
    kill -"$signal" $child 2>/dev/null
    wait "$tracer"
    got=$?
    check "$signal ends it ($got)" [ "$got" -gt 128 ]
    check "$signal: no file" [ ! -e "$tmp/slow.onnx" ]
    intact "$signal"
done

# --- faults: every system call that can fail while a file is written ---
faults() {
    name=$1 out=$2
    shift 2
    for call in write:ENOSPC fsync:EIO linkat:EIO renameat:EIO renameat2:EIO $opening fchmod:EPERM; do
        error=${call#*:} call=${call%:*}
        # The places of the calls that have to do with the output: all but those before the folder is opened.
        case $call in
        openat) places=$(strace -qq -e trace=openat "$assay" "$@" 2>&1 | grep -n 'O_TMPFILE\|O_DIRECTORY' | cut -d: -f1 | tail -1) ;;
        write) [ "$name" = graph ] && places=1 || places="1 2" ;; # the second is standard output
        *) places="1 2" ;;
        esac
        echo older >"$out"
        for place in $places; do
            echo older >"$out"
            strace -f -qq -o "$tmp/strace.out" -e trace="$call" -e inject="$call:error=$error:when=$place" "$assay" "$@" \
                >"$tmp/printed" 2>"$tmp/err"
            got=$?
            grep -q INJECTED "$tmp/strace.out" || continue
            sentence="$name, $call $place: $error"
            n_faults=$((n_faults + 1))
            [ "$got" = 3 ] || { fail "$sentence: exit $got, not 3: $(cat "$tmp/err")"; continue; }
            grep -qF "$out" "$tmp/err" || fail "$sentence: the file is not named: $(cat "$tmp/err")"
            [ "$(wc -l <"$tmp/err")" = 1 ] || fail "$sentence: not one sentence: $(cat "$tmp/err")"
            # The folder is put on the disk last, when the new file is whole and in its place.
            if ! grep -q older "$out"; then
                [ "$call$place" = fsync2 ] || fail "$sentence: the older file is gone"
            fi
            [ -z "$(find "$tmp" -name '.assay-*')" ] || fail "$sentence: something is left over"
        done
    done
}
n_faults=0
opening=openat:EMFILE
mkdir "$tmp/csv"
faults report "$tmp/f.txt" report -q -o "$tmp/f.txt" "$run"
faults inspect "$tmp/f.json" inspect -q --json --no-sandbox -o "$tmp/f.json" "$model"
faults export "$tmp/f.trace" export -q --to chrome-trace -o "$tmp/f.trace" "$run"
faults zoo "$tmp/f.bin" zoo mlp --to onnx -q -o "$tmp/f.bin"
faults graph "$tmp/f.svg" inspect -q --no-sandbox --graph "$tmp/f.svg" "$model"
# Confined, another process puts outputs in place. One that cannot be opened early is opened later, as ever.
opening=
faults inspect "$tmp/f.json" inspect -q --json -o "$tmp/f.json" "$model"
faults graph "$tmp/f.svg" inspect -q --graph "$tmp/f.svg" "$model"
confined() { # the kernel has Landlock, and no sanitizer traces the process
    [ -z "$(sed -n 's/^ASSAY_SANITIZE:STRING=//p' "$build/CMakeCache.txt")" ] &&
        "$python" -c 'import ctypes, sys; sys.exit(ctypes.CDLL(None).syscall(444, None, 0, 1) < 1)'
}
confined && check "an output that cannot be opened early is written" sh -c "strace -qq -o '$tmp/strace.out' -e trace=openat \
    -e inject=openat:error=EMFILE:when=\$(strace -qq -e trace=openat '$assay' inspect -q -o '$tmp/late' '$model' 2>&1 | grep -n O_TMPFILE | cut -d: -f1) \
    '$assay' inspect -q -o '$tmp/late' '$model' && grep -q INJECTED '$tmp/strace.out' && [ -s '$tmp/late' ]"
# --- a good run outlives runs that cannot be written, however many ---
quick="--iterations 3 --warmup 0 --no-roofline --no-history -q"
mkdir "$tmp/full"
exits 0 "a good profile" "$assay" profile $quick zoo:mlp -o "$tmp/full/p.assay"
cp "$tmp/full/p.assay" "$tmp/full/p.copy"
for i in 1 2; do
    (ulimit -f 4; exec "$assay" profile $quick zoo:mlp -o "$tmp/full/p.assay") >"$tmp/printed" 2>"$tmp/err"
    check "profile, disk full, time $i: exit 3" [ $? = 3 ]
    says "p.assay"
    check "profile, disk full, time $i: the older run is there" cmp "$tmp/full/p.assay" "$tmp/full/p.copy"
done
check "and nothing else" [ "$(ls "$tmp/full")" = "p.assay
p.copy" ]
exits 0 "a good run" "$assay" run -q -o "$tmp/full/r.assay" -- true
cp "$tmp/full/r.assay" "$tmp/full/r.copy"
for i in 1 2 3; do
    (ulimit -f 2; exec "$assay" run -q -o "$tmp/full/r.assay" -- true) >"$tmp/printed" 2>"$tmp/err"
    check "run, disk full, time $i: the status is the command's" [ $? = 0 ]
    says "the run is incomplete"
    check "run, disk full, time $i: the good run is kept" cmp "$tmp/full/r.assay.old" "$tmp/full/r.copy"
done
exits 3 "a report that cannot be written is known before the command runs" \
    "$assay" run -q -o "$tmp/full/s.assay" --report-file /nonexistent/x -- touch "$tmp/full/ran"
check "it did not run" [ ! -e "$tmp/full/ran" ]
check "faults were injected ($n_faults)" [ "$n_faults" -ge 20 ]
intact faults
finish
