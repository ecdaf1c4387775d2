#!/bin/sh
# What the release build is hardened with, as the installed files show it. usage: test_hardening.sh BUILD
. "$(dirname "$0")/lib.sh"
command -v readelf >/dev/null || exit 77
grep -q '^CMAKE_BUILD_TYPE:STRING=Release$' "$build/CMakeCache.txt" || exit 77
grep -q '^ASSAY_SANITIZE:STRING=$' "$build/CMakeCache.txt" || exit 77
exits 0 "installing" env DESTDIR="$tmp/root" cmake --install "$build" --prefix /usr
program=$tmp/root/usr/bin/assay
libraries=$(find "$tmp/root" -name '*.so*' -type f)
[ "$(echo "$libraries" | wc -l)" -ge 4 ] || fail "there are not four libraries: $libraries"

readelf -h "$program" | grep -q 'Type: *DYN' || fail "the program has a fixed address"
readelf -d "$program" | grep -q 'Flags:.*PIE' || fail "the program is not marked PIE"
for file in "$program" $libraries; do
    name=$(basename "$file")
    readelf -lW "$file" >"$tmp/segments"
    readelf -dW "$file" >"$tmp/dynamic"
    grep -q GNU_RELRO "$tmp/segments" || fail "$name has no RELRO"
    grep -Eq 'BIND_NOW|FLAGS_1.*NOW' "$tmp/dynamic" || fail "$name binds lazily"
    grep GNU_STACK "$tmp/segments" | grep -Eq ' RW +0x' || fail "$name asks for a stack that can be executed"
    grep -q 'RWE' "$tmp/segments" && fail "$name has a segment that can be written and executed"
    grep -q TEXTREL "$tmp/dynamic" && fail "$name has text relocations"
done
readelf -sW "$program" | grep -q '__stack_chk_fail' || fail "the stack of the program is not guarded"
# By name: __stack_chk_fail is none of them.
for file in "$program" $libraries; do
    checked=$(readelf --dyn-syms -W "$file" | grep -oE ' __(memcpy|memmove|memset|snprintf|vsnprintf|realpath|read|fdelt)_chk@' | sort -u | wc -l)
    [ "$checked" -ge 2 ] || fail "$(basename "$file") calls $checked checked functions, not two"
done

# What the instructions show: frames larger than a page are probed, functions begin with a mark for indirect calls.
has() { grep -q "^$1:INTERNAL=1" "$build/CMakeCache.txt"; }
if command -v objdump >/dev/null && [ "$(uname -m)" = x86_64 ]; then
    for file in "$program" $libraries; do
        objdump -d --no-show-raw-insn "$file" >"$tmp/code"
        if has ASSAY_HAS_STACK_CLASH; then
            grep -Eq 'orq? +\$0x0,(0x[0-9a-f]+)?\(%rsp' "$tmp/code" || fail "$(basename "$file") does not probe its stack"
        fi
        if has ASSAY_HAS_CF_PROTECTION; then
            [ "$(grep -c endbr64 "$tmp/code")" -gt 50 ] || fail "$(basename "$file") is not marked for indirect calls"
        fi
    done
fi

# Every object of ours is marked for indirect branch tracking and shadow stacks where the compiler marks any; whether the
# program itself keeps the marks depends on the start files of the system, which a one-line program shows.
cc=$(sed -n 's/^CMAKE_C_COMPILER:[A-Z]*=//p' "$build/CMakeCache.txt")
flags='-O2 -fPIE -pie -fcf-protection=full'
if has ASSAY_HAS_CF_PROTECTION; then
    echo 'int main(void){return 0;}' >"$tmp/one.c"
    $cc $flags "$tmp/one.c" -o "$tmp/one" && $cc $flags -c "$tmp/one.c" -o "$tmp/one.o" || fail "the compiler"
    wanted() { readelf -nW "$1" 2>/dev/null | grep -o 'x86 feature: .*IBT, SHSTK'; }
    if [ -n "$(wanted "$tmp/one.o")" ]; then
        objects=$(find "$build/CMakeFiles/trace_objects.dir" "$build/CMakeFiles/assay.dir" "$build/CMakeFiles/assay-preload.dir" -name '*.c.o')
        [ -n "$objects" ] || fail "there are no objects"
        for object in $objects; do
            [ -n "$(wanted "$object")" ] || fail "$object is not marked for IBT and SHSTK"
        done
    fi
    if [ -n "$(wanted "$tmp/one")" ]; then
        [ -n "$(wanted "$program")" ] || fail "the program lost its marks for IBT and SHSTK"
    fi
fi
finish
