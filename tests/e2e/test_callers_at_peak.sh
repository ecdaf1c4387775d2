#!/bin/sh
# Behind a function that allocates for others, who held the peak of the heap is known from samples, also when all was freed since.
# usage: test_callers_at_peak.sh BUILD
. "$(dirname "$0")/lib.sh"
command -v g++ >/dev/null || { echo 'skipped: no g++ here'; exit 77; }
cd "$tmp" || exit 1
# 114.4 MiB of weights and 28.6 MiB of gradients are the peak; 687 MiB of scratch are allocated and freed on the way, and what comes
# last is small enough to stay below it. With an argument that one stays to the end.
cat >pool.h <<'C'
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#define PART __attribute__((noinline)) static char *
PART weights(void)
{
    char *p = (char *)TAKE(200000); /* the most */
    p[0] = 2;
    return p;
}
PART gradients(void)
{
    char *p = (char *)TAKE(100000); /* the rest */
    p[0] = 3;
    return p;
}
PART scratch(void)
{
    char *p = (char *)TAKE(150000); /* freed at once */
    p[0] = 4;
    return p;
}
PART last(void)
{
    char *p = (char *)TAKE(100000); /* after the peak */
    p[0] = 5;
    return p;
}
int main(int argc, char **argv)
{
    static char *keep[2000];
    int n = 0;
    (void)argv;
    for (int i = 0; i < 600; i++) {
        keep[n++] = weights();
        if (i % 2)
            keep[n++] = gradients();
        for (int k = 0; k < 8; k++)
            free(scratch());
    }
    while (n > 0)
        free(keep[--n]);
    for (int i = 0; i < 600; i++)
        keep[n++] = last();
    if (argc > 1)
        _exit(keep[5] == keep[6]);
    while (n > 0)
        free(keep[--n]);
    _exit(0);
}
C
cat >pool.c <<'C'
#define TAKE xmalloc
#include <stdlib.h>
#include <string.h>
__attribute__((noinline)) static void *xmalloc(size_t n)
{
    void *p = malloc(n);
    if (!p)
        abort();
    return memset(p, 1, n);
}
#include "pool.h"
C
cat >tensors.cpp <<'CPP'
#define TAKE at::detail::empty_cpu
#include <cstdlib>
#include <cstring>
namespace c10 {
__attribute__((noinline)) void *alloc_cpu(size_t n)
{
    void *p = nullptr;
    if (posix_memalign(&p, 64, n))
        abort();
    return memset(p, 1, n);
}
} // namespace c10
namespace at { namespace detail {
__attribute__((noinline)) char *empty_cpu(size_t n)
{
    char *p = (char *)c10::alloc_cpu(n);
    p[1] = 1;
    return p;
}
}} // namespace at::detail
#include "pool.h"
CPP
flags='-O1 -g -fno-optimize-sibling-calls'
cc $flags -fno-ipa-pure-const pool.c -o pool && g++ $flags -fno-ipa-pure-const -fpermissive tensors.cpp -o tensors || exit 1
for program in pool tensors; do
    for keeps in '' last; do
        name=$program$keeps
        exits 0 "$name runs" "$assay" run -q -o "$name.assay" -- "./$program" $keeps
        "$assay" report --json -q "$name.assay" >"$name.json"
        [ "$("$python" -c 'import json, sys; print(bool(json.load(open(sys.argv[1]))["program"]["heap"]))' "$name.json")" = True ] ||
            { echo 'skipped: the heap cannot be watched here'; exit 77; }
        for to in folded speedscope pprof flamegraph; do
            exits 0 "export of $name to $to" "$assay" export -q --to $to --heap peak "$name.assay" -o "$name.$to"
        done
        check "who held the peak of $name" "$python" "$here/check_callers_at_peak.py" "$name" "$keeps"
        cat "$tmp/check.out"
        COLUMNS=200 "$assay" report --section all "$name.assay" >page
        grep -q '^~weights.*via .*~1[0-9][0-9] MiB' page || fail "the page of $name has who held the peak"
        grep -q 'for [0-9] callers' page && fail "no row of $name is for several"
    done
done
# A run of an older version has no such samples: what it cannot show it does not guess.
exits 0 'an older run' "$python" "$here/patch_run.py" stacks_without_peaks pool.assay old.assay
"$assay" report --json -q old.assay >old.json
check 'it reads as it did' "$python" -c '
import json
heap = json.load(open("old.json"))["program"]["heap"]
assert len(heap["stacks"]) >= 4 and all(s["peak_live_bytes_estimate"] is None for s in heap["stacks"])
(site,) = [s for s in heap["sites"] if s["function"] == "xmalloc"]
assert len(site["callers"]) == 4 and all(c["peak_share"] is None for c in site["callers"])'
COLUMNS=120 "$assay" report --section all old.assay | grep -q '^xmalloc .*, for 4 callers' || fail 'its row is for all'
exits 3 'and has no export of the peak' "$assay" export -q --to folded --heap peak old.assay -o old.folded
says 'older version'
finish
