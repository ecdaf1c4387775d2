#!/bin/sh
# No room for a share: the watched program runs on, and the calls that have no line are counted.
set -eu
build=$(cd "$1" && pwd)
library=$build/libassay-preload.so
[ -e "$library" ] || { echo 'skipped: the library is not built'; exit 77; }
if grep -q '^ASSAY_SANITIZE:[A-Z]*=.' "$build/CMakeCache.txt"; then
    echo 'skipped: programs of ours have a sanitizer in them, which wants to be the first library'
    exit 77
fi
if [ "${ASSAY_IN_NAMESPACE:-}" != 1 ]; then
    unshare -m true 2>/dev/null || { echo 'skipped: no right to mount'; exit 77; }
    ASSAY_IN_NAMESPACE=1 exec unshare -m sh "$0" "$build"
fi
"$build/tests/multiply" libopenblas.so.0 >/dev/null 2>&1 || { echo 'skipped: no OpenBLAS here'; exit 77; }
work=$(mktemp -d)
disk=$work/disk
mkdir "$disk"
mount -t tmpfs -o size=64k,mode=0700 tmpfs "$disk" || { echo 'skipped: cannot mount a tmpfs'; rmdir "$disk" "$work"; exit 77; }
trap 'umount "$disk"; rm -rf "$work"' EXIT

# counted SIZE: four threads make 4000 calls with that much room; all of them are told of.
counted() {
    mount -o remount,size="$1" "$disk"
    rm -f "$disk"/*.share
    ASSAY_SHARE=$disk ASSAY_WATCH=gemm LD_PRELOAD=$library "$build/tests/multiply" libopenblas.so.0 threads ||
        { echo "with $1 the program ends with $?"; exit 1; }
    calls=$("$build/tests/model_gemm_read" "$disk"/*.share |
        awk -F '\t' '{ n += $1 == "unplaced" ? $2 : $7 } END { print n + 0 }')
    [ "$calls" = 4000 ] || { echo "with $1 there are $calls calls, not 4000"; exit 1; }
}
counted 64k
counted 160k
counted 16m
