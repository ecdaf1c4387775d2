# tests/e2e/test_heap_counts.sh - what a program allocates is counted exactly: by site, thread, layer and kind.
. "$(dirname "$0")/lib.sh"
. "$here/heap_lib.sh"

if grep -q '^ASSAY_SANITIZE:STRING=.' "$build/CMakeCache.txt"; then
    echo "a program built with a sanitizer has a malloc of its own"
    exit 77
fi

works() { [ "$status" = 0 ] || fail "$1: exit $status: $(head -3 "$tmp/err")"; }

under heap "$target" counts
works "a program that allocates"
has allocations 1080 "known allocations"
has frees 680 "known frees"
has allocated_bytes 109360 "known bytes"
has live_bytes 40400 "what is left"
has live_blocks 400 "what is left"
has peak_bytes 101000 "the greatest moment of one thread"
has peak_slack_bytes 0 "one thread is exact"
own=$(sed -n 's/^own_bytes //p' "$tmp/figures")
[ "$own" -ge 16384 ] && [ "$own" -le 300000 ] || fail "a thousand blocks take $own bytes of the table"
has foreign_frees 0 "all blocks are known"
has unplaced 0 "the table has room"
has state ended "a return from main"
site 101 allocations 1000 "a site of its own"
site 101 frees 600 "a site of its own"
site 101 live 40400 "a site of its own"
site 103 allocations 50 "calloc"
site 107 temporary 30 "freed at once"
site 101 temporary 0 "not freed at once"
site 101 kind malloc "the kind"

under heap "$target" peak
has peak_bytes 10000000 "the peak is not the end"
has live_bytes 3000000 "the peak is not the end"
grep '^site ' "$tmp/figures" | head -1 | grep -q 'peak=10000000' || fail "the peak has its owner"

under heap "$target" threads
works "eight threads"
site 109 allocations 80000 "eight threads"
site 109 frees 79600 "frees on other threads"
site 109 blocks 400 "frees on other threads"
peak=$(sed -n 's/^peak_bytes //p' "$tmp/figures") slack=$(sed -n 's/^peak_slack_bytes //p' "$tmp/figures")
[ "$peak" -ge 8720000 ] && [ $((peak - slack)) -le 8722432 ] || fail "the peak of threads: $peak less $slack"

under heap "$target" short-threads
site 113 allocations 500 "threads that come and go"
has threads 2 "a thread that ended leaves its place to the next"

under heap,stacks "$target" layers "$tmp/layers.assay"
works "layers"
site 127 layer outer "allocated in a layer"
site 127 live 381 "allocated in a layer"
site 1000 layer inner "the innermost layer"
site 1000 same_layer 0 "freed in the next call"
site 2000 same_layer 3 "freed in its own call"
has iterations 3 "marks of iterations"
grep -q '^layer outer calls=3 peak=3127 net=1381$' "$tmp/figures" || fail "the outer layer: $(grep '^layer' "$tmp/figures")"
grep -q '^layer inner calls=3 peak=3000 net=1000$' "$tmp/figures" || fail "the inner layer: $(grep '^layer' "$tmp/figures")"
# shellcheck disable=SC2046
set -- $(sed -n 's/^mark //p' "$tmp/figures")
[ $(($2 - $1)) = 1127 ] && [ $(($3 - $2)) = 127 ] || fail "live bytes at the marks: $*"

under heap "$target" foreign
works "blocks of somebody else"
has foreign_frees 20 "blocks of somebody else"
has allocations 0 "blocks of somebody else"

# Each process counts what is its own; blocks it has from before a fork are counted apart.
under heap,follow "$target" forked
works "forks"
[ "$(sed -n 's/^allocations //p' "$tmp/figures" | sort -n | tr '\n' ' ')" = "0 11 1000 " ] || fail "a fork counts what was inherited: $(grep '^allocations' "$tmp/figures")"
[ "$(sed -n 's/^frees //p' "$tmp/figures" | sort -n | tr '\n' ' ')" = "0 0 0 " ] || fail "frees of inherited blocks are no frees: $(grep '^frees' "$tmp/figures")"
[ "$(sed -n 's/^inherited_frees //p' "$tmp/figures" | sort -n | tr '\n' ' ')" = "0 5 601 " ] || fail "frees of inherited blocks: $(grep '^inherited' "$tmp/figures")"
site 109 blocks 10 "what a child allocates"
site 113 blocks 1 "what a child makes larger"

under heap "$target" mappings
works "mappings"
has mapped_live_bytes 1572864 "mappings are counted apart"
has live_bytes 0 "mappings are counted apart"

if [ -x "$build/tests/heap_operators" ]; then
    under heap "$build/tests/heap_operators"
    works "C++ operators"
    site 151 kind new "operator new"
    site 151 allocations 100 "operator new"
    site 151 frees 90 "operator delete"
    site 157 blocks 0 "arrays"
    site 163 blocks 0 "aligned"
    site 167 blocks 0 "nothrow"
fi

# A sample stands for what it was drawn from; with 65 MB in 128 samples the sum is within a third.
under heap,stacks "$target" stress
works "a heap in motion"
estimated=$(sed -n 's/^stack .* bytes=\([0-9]*\) .*/\1/p' "$tmp/figures" | awk '{s += $1} END {printf "%d", s / 1048576}')
exact=$(($(sed -n 's/^allocated_bytes //p' "$tmp/figures") / 1048576))
[ "$estimated" -gt $((exact * 95 / 100)) ] && [ "$estimated" -lt $((exact * 105 / 100)) ] || fail "stacks stand for $estimated MiB of $exact"
has live_blocks 4 "all but the blocks of the C library were freed"

finish
