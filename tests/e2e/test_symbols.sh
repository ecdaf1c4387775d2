#!/bin/sh
# Addresses get the names that nm gives them, in real files. usage: test_symbols.sh BUILD
. "$(dirname "$0")/lib.sh"
for tool in nm readelf c++filt; do
    command -v $tool >/dev/null || { echo "skipped: no $tool here"; exit 77; }
done
libc=$(ldd /bin/sh | sed -n 's/.*=> \(.*libc\.so[^ ]*\).*/\1/p')
cxx=$(ldconfig -p 2>/dev/null | sed -n 's/.*=> \(.*libstdc++\.so\.6\)$/\1/p' | head -1)
[ -n "$cxx" ] || cxx=$(ls /usr/lib/*/libstdc++.so.6 2>/dev/null | head -1)
check 'real files have the names nm gives' \
    $python "$here/check_symbols.py" "$build/tests/program_symbols" "$assay" "$python" $libc $cxx
cat "$tmp/check.out"
finish
