# tests/e2e/lib.sh - sourced by the scripts: where the programs are, and how a check says what it wants.
# Every script ends with `finish`, which fails when any check did.
build=$1
assay=$build/assay
make_run=$build/tests/make_run
here=$(cd "$(dirname "$0")" && pwd)
python=/usr/bin/python3
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
unset NO_COLOR CLICOLOR_FORCE COLUMNS ASSAY_ALLOC_FAIL ASSAY_ALLOC_COUNT
export LC_ALL=C.UTF-8 TERM=dumb
: >"$tmp/failures"

fail() {
    # Into a file: checks at the end of a pipe run in a shell of their own.
    echo "FAILED: $1" | tee -a "$tmp/failures"
}

# check SENTENCE COMMAND...: the command must succeed.
check() {
    sentence=$1
    shift
    "$@" >"$tmp/check.out" 2>&1 || {
        fail "$sentence"
        sed 's/^/    /' "$tmp/check.out" | head -20
    }
}

# exits STATUS SENTENCE COMMAND...: the command must end with that status; its output is left in out and err.
exits() {
    wanted=$1 sentence=$2
    shift 2
    "$@" >"$tmp/out" 2>"$tmp/err"
    got=$?
    [ "$got" = "$wanted" ] || {
        fail "$sentence: exit $got, not $wanted"
        sed 's/^/    /' "$tmp/err" | head -5
    }
}

# says TEXT: the last `exits` printed exactly one sentence at standard error, with TEXT in it.
says() {
    [ "$(wc -l <"$tmp/err")" = 1 ] || fail "$sentence: not one sentence: $(head -3 "$tmp/err")"
    grep -q '^assay: ' "$tmp/err" || fail "$sentence: no 'assay: ' before it"
    grep -qF -e "$1" "$tmp/err" || fail "$sentence: '$1' is not in: $(cat "$tmp/err")"
}

# Runs of blanks and rules shrink.
squeeze() {
    sed -E -e 's/[─-]{2,}/--/g' -e 's/ +/ /g' -e 's/ $//'
}

# Numbers and their units become N, bars go: what is left does not depend on the clock.
normal() {
    sed -E -e 's/[▏▎▍▌▋▊▉█▁▂▃▄▅▆▇]+//g' -e 's/~?[0-9][0-9.,]*/N/g' -e 's/\b(ns|us|ms|s)\b/U/g' | squeeze
}

# reported KEY [OPTIONS...]: what a profile reports of the machine: kernel_isa, kernel_isa_capped_by, library.
reported() {
    key=$1
    shift
    "$assay" profile --no-roofline --no-history --iterations 1 --warmup 0 --json -q "$@" zoo:mlp |
        "$python" -c "import json, sys; print(json.load(sys.stdin)['machine']['$key'])"
}

# The name of the file of peaks: that of a capped run has the instruction set in it.
peaks_name() {
    if [ "$(reported kernel_isa_capped_by)" = None ]; then echo machine.json; else echo "machine-$(reported kernel_isa).json"; fi
}

# same FILE SENTENCE: standard input must equal the stored file.
same() {
    cat >"$tmp/same.out"
    if [ -n "$ASSAY_STORE" ]; then
        cp "$tmp/same.out" "$here/expect/$1"
    elif ! diff -u "$here/expect/$1" "$tmp/same.out" >"$tmp/same.diff"; then
        fail "$2"
        sed 's/^/    /' "$tmp/same.diff" | head -40
    fi
}

finish() {
    [ ! -s "$tmp/failures" ] || {
        echo "$(wc -l <"$tmp/failures") failed"
        exit 1
    }
}
