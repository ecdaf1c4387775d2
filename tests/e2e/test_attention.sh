#!/bin/sh
# Attention and its gating as NumPy and exact flows have them, and the same bits however the sources are compiled.
# usage: test_attention.sh BUILD
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
build=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Every kind of loops and every number of threads: one digest a shape.
"$build/tests/model_attention" bits >"$work/bits"
[ "$(wc -l <"$work/bits")" -ge 24 ] || { echo 'FAILED: too few digests'; exit 1; }
cut -d' ' -f1,2 "$work/bits" | sort -u >"$work/digests"
[ "$(wc -l <"$work/digests")" = 8 ] || { echo 'FAILED: bits depend on threads or on the loops'; cat "$work/bits"; exit 1; }

# The same from the sources compiled in other ways, with the rest of the library as it is.
sanitize=$(sed -n 's/^ASSAY_SANITIZE:STRING=//p' "$build/CMakeCache.txt")
compile() {
    compiler=$1
    shift
    command -v "$compiler" >/dev/null || return 0
    "$compiler" -std=c11 -D_GNU_SOURCE "$@" ${sanitize:+-fsanitize=$sanitize} -I"$root/include" -I"$root/src" \
        "$root/tests/helpers/model_attention.c" "$root"/src/experiment/attn_*.c "$root/src/experiment/hysteresis.c" \
        "$build/libassay.a" -lcrypto -lhwloc -lm -lpthread -ldl -o "$work/other"
    "$work/other" bits | cut -d' ' -f1,2 | sort -u >"$work/other.digests"
    cmp -s "$work/digests" "$work/other.digests" || { echo "FAILED: $compiler $* gives other bits"; exit 1; }
}
compile cc -O0
compile cc -O3
compile cc -O3 -march=native -ffp-contract=fast
[ -n "$sanitize" ] || compile clang -O2 # its sanitizers are not those the library was made with

/usr/bin/python3 -c 'import numpy' 2>/dev/null || { echo 'skipped: no NumPy here'; exit 77; }
/usr/bin/python3 "$here/check_attention.py" "$build/tests/model_attention" "$work"
