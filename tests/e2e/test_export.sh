#!/usr/bin/env bash
# assay export: every format, of runs in every state, judged by check_export.py; size limits; wrong use.
[ -n "${BASH_VERSION:-}" ] || exec bash "$0" "$@"
set -uo pipefail
build=$1
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
python=/usr/bin/python3
pid=
trap '[ -n "$pid" ] && kill "$pid" 2>/dev/null; rm -rf "$work"' EXIT
formats='chrome-trace perfetto speedscope folded flamegraph json csv'
failed=0

fail() {
    echo "test_export.sh: $*" >&2
    failed=1
}

# make KIND [N]: records $work/KIND/run.assay.
make() {
    mkdir -p "$work/$1"
    "$build/tests/make_odd_run" "$1" "$work/$1/run.assay" "${2:-10}" 2>/dev/null
}

# exports FOLDER [options]: all formats of its run; what is said goes to FOLDER/said.
exports() {
    local folder=$1 format
    shift
    : >"$folder/said"
    for format in $formats; do
        "$build/assay" export "$folder/run.assay" --to "$format" -o "$folder/$format" "$@" 2>>"$folder/said" ||
            fail "$folder: $format: $(cat "$folder/said")"
    done
}

# judge FOLDER [LIMIT | live]: prints the counts.
judge() {
    "$python" "$here/check_export.py" "$@" || fail "$1: not valid"
    "$python" "$here/check_flame_graph.py" "$1/flamegraph" >/dev/null || fail "$1: not a valid picture"
    [ $# -lt 2 ] || [ "$2" = live ] || [ "$(stat -c %s "$1/flamegraph")" -le "$2" ] || fail "$1: the picture is too large"
}

# expect WHAT GOT WANTED
expect() {
    [ "$2" = "$3" ] || fail "$1: '$2' instead of '$3'"
}

# whole KIND N WANTED: a run exported whole.
whole() {
    make "$1" "$2"
    exports "$work/$1"
    expect "$1" "$(judge "$work/$1")" "$3"
}

whole plain 20 'spans=80 calls=60 iterations=20 samples=20 losses=0 threads=1'
expect 'plain says' "$(grep -v "^wrote " "$work/plain/said")" ''
whole hostile 3 'spans=39 calls=39 iterations=0 samples=36 losses=0 threads=1'
whole unbalanced 20 'spans=102 calls=102 iterations=1 samples=0 losses=0 threads=1'
whole empty 0 'spans=0 calls=0 iterations=0 samples=0 losses=0 threads=0'
whole threads 20 'spans=1600 calls=1200 iterations=400 samples=400 losses=0 threads=20'
whole deep 5000 'spans=4096 calls=4096 iterations=0 samples=0 losses=0 threads=1'
whole killed 20 'spans=81 calls=61 iterations=20 samples=20 losses=0 threads=1'
grep -q 'incomplete: it was not closed' "$work/killed/said" || fail 'killed: not told'

# As many calls as the report counts.
calls=$("$build/assay" report "$work/plain/run.assay" --json 2>/dev/null |
    "$python" -c 'import json,sys; print(json.load(sys.stdin)["summary"]["total_calls"])')
expect 'calls of the report' "$calls" 60

# One thread of many.
exports "$work/threads" --thread 3
expect 'one thread' "$(judge "$work/threads")" 'spans=80 calls=60 iterations=20 samples=20 losses=0 threads=1'

# Events lost while recording: told in the file and at standard error.
make lossy 100000
exports "$work/lossy"
judge "$work/lossy" >"$work/lossy/counts"
if ! grep -q 'losses=0' "$work/lossy/counts"; then
    grep -q 'events were lost while recording' "$work/lossy/said" || fail 'lossy: not told'
fi

# A run that is still being recorded.
mkdir "$work/live"
"$build/tests/make_odd_run" live "$work/live/run.assay" 20 2>/dev/null &
pid=$!
for _ in $(seq 100); do
    [ -e "$work/live/run.assay.ready" ] && break
    sleep 0.1
done
exports "$work/live"
expect live "$(judge "$work/live" live)" 'spans=80 calls=60 iterations=20 samples=20 losses=0 threads=1'
grep -q 'still being recorded' "$work/live/said" || fail 'live: not told'
kill "$pid"
wait "$pid" 2>/dev/null
pid=

# Cut and damaged files still give something valid.
size=$(stat -c %s "$work/threads/run.assay")
mkdir "$work/cut"
for part in 3 20 45 60 75 90 99; do
    head -c $((size * part / 100)) "$work/threads/run.assay" >"$work/cut/run.assay"
    "$build/assay" export "$work/cut/run.assay" --to csv -o /dev/null 2>/dev/null || continue
    exports "$work/cut"
    judge "$work/cut" >/dev/null
done
mkdir "$work/damaged"
for part in 10 30 50 70 90; do
    cp "$work/threads/run.assay" "$work/damaged/run.assay"
    printf 'damage' | dd of="$work/damaged/run.assay" bs=1 seek=$((size * part / 100)) conv=notrunc status=none
    exports "$work/damaged"
    judge "$work/damaged" >/dev/null
done
grep -q 'corrupt block' "$work/damaged/said" || fail 'damaged: not told'

# Limits: never exceeded, valid, and every number right.
for kind in plain threads unbalanced hostile deep; do
    for limit in 30k 60k 200k; do
        exports "$work/$kind" --max-size $limit
        judge "$work/$kind" $((${limit%k} * 1024)) >/dev/null
    done
done
make many 20000
exports "$work/many" --max-size 100k
judge "$work/many" 102400 >"$work/many/counts"
grep -q 'left out [0-9,]* of 20,000 spans' "$work/many/said" || fail 'many: not told'
for format in chrome-trace perfetto speedscope json csv; do
    size=$(stat -c %s "$work/many/$format")
    [ "$size" -gt 90000 ] || fail "many: $format used only $size of 102400 bytes"
done
exports "$work/threads" --max-size 60k
"$python" - "$work/threads/chrome-trace" <<'END' || fail 'a limit left threads without any span'
import json, sys
rows = {e['tid'] for e in json.load(open(sys.argv[1]))['traceEvents'] if e['ph'] == 'X' and e['cat'] != 'iteration'}
sys.exit(len(rows) != 20)
END

# Perfetto's bytes by an independent judge, where Debian's protobuf-compiler is there.
if command -v protoc >/dev/null; then
    exports "$work/hostile"
    for kind in hostile plain; do
        protoc -I "$here" --decode=judge.Trace perfetto.proto <"$work/$kind/perfetto" >"$work/$kind/text" 2>"$work/$kind/said" ||
            fail "protoc refuses $kind"
        [ -s "$work/$kind/said" ] && fail "protoc warns of $kind: $(cat "$work/$kind/said")"
        grep -qE '^ *[0-9]+[:{ ]' "$work/$kind/text" && fail "$kind has fields that perfetto.proto does not know"
    done
    expect 'slices by protoc' "$(grep -c TYPE_SLICE_BEGIN "$work/hostile/text")" 39
fi

# Standard output is the same as a file.
for format in $formats; do
    "$build/assay" export "$work/plain/run.assay" --to "$format" >"$work/stdout" 2>/dev/null || fail "stdout: $format"
    "$build/assay" export "$work/plain/run.assay" --to "$format" -o "$work/file" 2>/dev/null
    cmp -s "$work/stdout" "$work/file" || fail "$format differs between standard output and a file"
done

# In a build that can make allocations fail: each one in turn. Done whole, or failed in words and nothing left behind.
# failing FORMAT: with the options of --max-size as well.
failing() {
    local n count status options
    for options in '' '--max-size=40k'; do
        # shellcheck disable=SC2086
        count=$(ASSAY_ALLOC_COUNT=1 "$build/assay" export "$work/hostile/run.assay" --to "$1" $options -o "$work/whole" 2>&1 |
            sed -n 's/^allocations: //p')
        for n in $(seq "${count:-0}"); do
            rm -f "$work"/part*
            ASSAY_ALLOC_FAIL=$n "$build/assay" export "$work/hostile/run.assay" --to "$1" $options -o "$work/part" 2>"$work/said"
            status=$?
            case $status in
            0) cmp -s "$work/whole" "$work/part" || fail "$1: allocation $n failed and the file is another" ;;
            3) [ -z "$(ls "$work"/part* 2>/dev/null)" ] || fail "$1: allocation $n failed and left a file" ;;
            *) fail "$1: allocation $n: status $status: $(cat "$work/said")" ;;
            esac
        done
    done
}
for format in $formats; do
    failing "$format"
done

# refused STATUS WORDS ARGUMENTS...: fails with that status, says so, leaves no file.
refused() {
    local status=$1 words=$2 got
    shift 2
    rm -f "$work/none"
    "$build/assay" export "$@" -o "$work/none" 2>"$work/said"
    got=$?
    expect "status of $*" "$got" "$status"
    grep -qF -- "$words" "$work/said" || fail "$*: says $(cat "$work/said")"
    [ -e "$work/none" ] && fail "$*: left a file"
}
run=$work/plain/run.assay
refused 2 'chrome-trace' "$run"
refused 2 'perfetto' "$run" --to perfeto
refused 2 'no thread 99' "$run" --to json --thread 99
refused 2 '10M' "$run" --to json --max-size ten
refused 2 '10M' "$run" --to json --max-size 1.5M
refused 2 '10M' "$run" --to json --max-size -1
refused 2 '10M' "$run" --to json --max-size 99999999999999999999
refused 2 '10M' "$run" --to json --max-size 99999999999G
refused 2 '10M' "$run" --to json --max-size 0
refused 3 'too small' "$run" --to json --max-size 100
refused 3 'too small' "$run" --to csv --max-size 10
refused 3 'nothing.assay' "$work/nothing.assay" --to csv
"$build/assay" export "$run" --to csv >/dev/full 2>"$work/said"
expect 'a full disk' $? 3
"$build/assay" export "$run" --to csv -q --max-size 1k -o "$work/file" 2>"$work/said" || fail 'quiet failed'
expect 'quiet' "$(cat "$work/said")" ''

exit "$failed"
