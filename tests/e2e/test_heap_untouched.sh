# tests/e2e/test_heap_untouched.sh - a program that is watched has the heap it has alone: the same blocks, as large and as
# aligned, from whatever malloc it uses, and the same peak RSS once what is ours is subtracted.
. "$(dirname "$0")/lib.sh"
. "$here/heap_lib.sh"
shapes=$build/tests/heap_shapes containers=$build/tests/heap_containers
module=$(cd "$build" && pwd)/tests/libheap_deep.so

if grep -q '^ASSAY_SANITIZE:STRING=.' "$build/CMakeCache.txt"; then
    echo "a program built with a sanitizer has a malloc of its own"
    exit 77
fi

# placed SENTENCE: on a machine so busy that a thread waits too long for another one's table, its block is left out, and
# counted as that.
placed() {
    [ "$(figure unplaced)" -le 8 ] || fail "$1: $(figure unplaced) blocks found no place"
    [ "$(figure foreign_frees)" -le "$(figure unplaced)" ] || fail "$1: $(figure foreign_frees) blocks are not known"
}
figure() { sed -n "s/^$1 //p" "$tmp/figures" | head -1; }

# same_peak COMMAND...: within 2 % of the peak it has alone.
same_peak() {
    alone=$("$@") || fail "$*: exit $?"
    under heap,stacks "$@"
    [ "$status" = 0 ] || fail "$* watched: exit $status"
    net=$(($(figure peak_rss_bytes) - $(figure peak_table_bytes) - $(figure share_bytes)))
    over=$((net - alone))
    [ "${over#-}" -le $((alone / 50)) ] || fail "$*: a peak of $net, not $alone: $over more"
    [ "$(figure unplaced)" = 0 ] && [ "$(figure foreign_frees)" = 0 ] || fail "$*: blocks are unknown"
    echo "$*: $alone bytes alone, $net watched, and $(figure peak_table_bytes) of the table"
}

same_peak "$shapes" small
has allocations 3000000 "each small block"
same_peak "$shapes" aligned
has allocations 200000 "each aligned block"
same_peak "$shapes" early
[ ! -x "$containers" ] || same_peak "$containers"

# As the report has it.
if [ -x "$assay" ]; then
    alone=$("$shapes" small)
    "$assay" run --no-report -o "$tmp/small.assay" -- "$shapes" small >/dev/null 2>"$tmp/err" || fail "assay run: $(cat "$tmp/err")"
    told=$("$assay" report --json "$tmp/small.assay" | "$python" -c 'import json, sys; print(json.load(sys.stdin)["program"]["peak_rss_bytes"])')
    over=$((told - alone))
    [ "${over#-}" -le $((alone / 50)) ] || fail "assay run reports a peak of $told, not $alone"
fi

# The very same places, where the kernel does not shuffle them.
fixed=
setarch -R true 2>/dev/null && fixed="setarch -R"
# same_blocks COMMAND...: what it prints of its blocks.
same_blocks() {
    # shellcheck disable=SC2086
    $fixed "$@" >"$tmp/alone"
    # shellcheck disable=SC2086
    under heap,stacks,follow $fixed "$@"
    [ "$status" = 0 ] || fail "$* watched: exit $status"
    cmp -s "$tmp/alone" "$tmp/out" || fail "$*: other blocks: $(diff "$tmp/alone" "$tmp/out" | head -5)"
}
[ -z "$fixed" ] || same_blocks "$shapes" blocks
[ -z "$fixed" ] || [ ! -x "$containers" ] || same_blocks "$containers" blocks

# Blocks that come and go on eight threads while the table grows are all found again.
under heap "$shapes" together
[ "$status" = 0 ] || fail "eight threads: exit $status"
[ "$(figure allocations)" -ge 1600000 ] && [ "$(figure live_blocks)" -le 20 ] || fail "eight threads leave $(figure live_blocks) blocks"
placed "eight threads"
has unseen_frees 0 "eight threads"

# 1500 threads at a time count in more memory than is mapped at first; in a child anew.
for watch in heap heap,follow; do
    under $watch "$shapes" crowd
    [ "$status" = 77 ] && break # the system has not so many threads
    [ "$status" = 0 ] || fail "a crowd of threads: exit $status: $(cat "$tmp/err")"
    for share in "$shares"/*.share; do
        "$build/tests/model_heap_read" "$share" >"$tmp/figures"
        site 223 allocations 1500 "a crowd of threads ($watch)"
        site 223 frees 1500 "a crowd of threads ($watch)"
        placed "a crowd of threads ($watch)"
        [ "$(figure threads)" -ge 1500 ] || fail "$(figure threads) threads in a crowd"
    done
done

# A program that limits its address space gets all it would get; what the table has no memory for is not counted.
under heap "$shapes" limited
[ "$status" = 0 ] || fail "a limited program: exit $status"
[ "$(figure unplaced)" -ge 1 ] || fail "the table grew beyond its part of the limit"
[ "$(($(figure unplaced) + $(figure allocations)))" = 3000000 ] || fail "$(figure unplaced) blocks left out, $(figure allocations) counted"

# Modules that bind deeply free with the C library's own free what we have counted.
under heap,stacks "$shapes" deep "$module"
[ "$status" = 0 ] || fail "a module with deep binding: exit $status: $(head -3 "$tmp/err")"
unseen=$(figure unseen_frees)
[ "$unseen" -ge 5000 ] || fail "$unseen blocks were seen to be freed by the module"
[ "$(figure live_blocks)" -le 100 ] || fail "$(figure live_blocks) blocks freed by the module are taken for leaks"

if command -v php >/dev/null; then
    under heap,stacks php -r 'echo 1;'
    [ "$status" = 0 ] && [ "$(cat "$tmp/out")" = 1 ] || fail "php: exit $status: $(head -3 "$tmp/err")"
    "$assay" run --no-report -o "$tmp/php.assay" -- php -r 'echo 1;' >"$tmp/out" 2>"$tmp/err" || fail "assay run php: $(cat "$tmp/err")"
    [ "$(cat "$tmp/out")" = 1 ] || fail "php prints $(cat "$tmp/out")"
fi

# Whichever malloc a program uses is counted, and gives what it gives.
for name in libjemalloc.so.2 libtcmalloc_minimal.so.4 libmimalloc.so.2 libmimalloc.so.3; do
    allocator=$(/sbin/ldconfig -p 2>/dev/null | awk -v name="$name" '$1 == name { print $NF; exit }')
    [ -n "$allocator" ] || continue
    rm -rf "$shares"
    mkdir -m 700 "$shares"
    for what in counts threads stress peak; do
        rm -f "$shares"/*
        LD_PRELOAD="$preload $allocator" ASSAY_SHARE=$shares ASSAY_WATCH=heap,stacks "$target" $what >"$tmp/out" 2>"$tmp/err"
        [ $? = 0 ] || fail "$what with $name: $(head -3 "$tmp/err")"
        "$build/tests/model_heap_read" "$shares"/*.share >"$tmp/figures" || fail "$what with $name left no figures"
        placed "$what with $name"
        case $what in
        counts)
            site 101 allocations 1000 "$name"
            site 101 frees 600 "$name"
            site 107 temporary 30 "$name"
            ;;
        threads) site 109 blocks 400 "$name" ;;
        peak) [ "$(figure peak_bytes)" -ge 10000000 ] || fail "the peak with $name" ;;
        esac
    done
    for program in "$shapes aligned" "$containers"; do
        [ -x "${program% *}" ] || continue
        # shellcheck disable=SC2086
        LD_PRELOAD="$allocator" $program >/dev/null || continue
        # shellcheck disable=SC2086
        LD_PRELOAD="$preload $allocator" ASSAY_SHARE=$shares ASSAY_WATCH=heap $program >/dev/null || fail "$program with $name"
    done
done

finish
