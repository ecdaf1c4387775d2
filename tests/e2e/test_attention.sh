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

# The same from the sources compiled in other ways, with the rest of the library as it is; a library made with
# sanitizers would need theirs, and tells nothing more.
sanitize=$(sed -n 's/^ASSAY_SANITIZE:STRING=//p' "$build/CMakeCache.txt")
flags="-std=c11 -D_GNU_SOURCE -I$root/include -I$root/src"
rest="$build/libassay-internal.a -lcrypto -lhwloc -lm -lpthread -ldl"
same() {
    "$work/other" bits >"$work/other.bits"
    cut -d' ' -f1,2 "$work/other.bits" | sort -u | cmp -s - "$work/digests" || { echo "FAILED: $* gives other bits"; exit 1; }
}
compile() {
    [ -z "$sanitize" ] && command -v "$1" >/dev/null || return 0
    "$@" $flags "$root/tests/helpers/model_attention.c" "$root"/src/experiment/attention/attn_*.c \
        "$root/src/experiment/attention/hysteresis.c" $rest -o "$work/other"
    same "$@"
}
# With less optimization the loops take half a minute: make check-more has that.
compile cc -O2
[ -z "${ASSAY_LONG:-}" ] || { compile cc -O0; compile cc -O1; }
compile cc -O3
compile cc -O3 -march=native -ffp-contract=fast
compile clang -O2

# The loops for AVX-512 with the operations of a stand-in, where the machine has none.
if [ -z "$sanitize" ] && [ "$(uname -m)" = x86_64 ]; then
    mkdir "$work/attn"
    cp "$root"/src/experiment/attention/attn_*.c "$work/attn"
    sed -i 's/__attribute__((target("avx512f,avx2,fma")))//' "$work/attn/attn_avx512.c"
    sed -i 's/as_isa_get() >= AS_ISA_AVX512_CORE/1/' "$work/attn/attn_kernels.c"
    cc -O2 $flags -I"$here/stand_in" -c "$work/attn/attn_avx512.c" -o "$work/avx512.o"
    rm "$work/attn/attn_avx512.c"
    cc -O2 $flags "$root/tests/helpers/model_attention.c" "$work"/attn/*.c "$work/avx512.o" \
        "$root/src/experiment/attention/hysteresis.c" $rest -o "$work/other"
    same 'the stand-in for AVX-512'
    grep -q ' avx512 ' "$work/other.bits" || { echo 'FAILED: the loops for AVX-512 were not run'; exit 1; }
fi

/usr/bin/python3 -c 'import numpy' 2>/dev/null || { echo 'skipped: no NumPy here'; exit 77; }
/usr/bin/python3 "$here/check_attention.py" "$build/tests/model_attention" "$work"
