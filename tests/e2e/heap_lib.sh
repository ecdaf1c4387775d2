# tests/e2e/heap_lib.sh - sourced after lib.sh: runs programs with the library put into them and reads their shares.
preload=$build/libassay-preload.so
target=$build/tests/heap_target
# Shares belong into memory: a thousand of them take a while to leave a disk.
shares=$(mktemp -d /dev/shm/assay-test.XXXXXX 2>/dev/null || mktemp -d)/shares
trap 'rm -rf "$tmp" "${shares%/shares}"' EXIT

# under WATCH COMMAND...: runs it watched; its share's figures are left in figures, its status in $status.
under() {
    watch=$1
    shift
    rm -rf "$shares"
    mkdir -m 700 "$shares"
    LD_PRELOAD=$preload ASSAY_SHARE=$shares ASSAY_WATCH=$watch "$@" >"$tmp/out" 2>"$tmp/err"
    status=$?
    : >"$tmp/figures"
    for share in "$shares"/*.share; do
        [ ! -e "$share" ] || "$build/tests/model_heap_read" "$share" >>"$tmp/figures" || fail "$* left a share that cannot be read"
    done
}

# has NAME VALUE SENTENCE: that figure must be that.
has() {
    got=$(sed -n "s/^$1 //p" "$tmp/figures" | head -1)
    [ "$got" = "$2" ] || fail "$3: $1 is ${got:-missing}, not $2"
}

# site SIZE FIGURE VALUE SENTENCE: of the site whose blocks have that size on average.
site() {
    got=$(awk -v size="$1" -v name="$2" '/^site / {
        for (i = 5; i <= NF; i++) { split($i, a, "="); v[a[1]] = a[2] }
        if (v["bytes"] == size * v["allocations"] && v["allocations"] > 0) { sub(/^layer=/, "", $4); v["layer"] = $4; v["kind"] = $2; print v[name]; exit } }' "$tmp/figures")
    [ "$got" = "$3" ] || fail "$4: $2 of blocks of $1 bytes is ${got:-missing}, not $3"
}
