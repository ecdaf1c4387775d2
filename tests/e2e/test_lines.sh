#!/bin/sh
# Addresses get the lines and inlined functions that addr2line gives them: in the file, in one apart, in one shared by dwz;
# from files that are damaged nothing worse comes than no lines. usage: test_lines.sh BUILD
. "$(dirname "$0")/lib.sh"
for tool in addr2line eu-addr2line readelf c++filt objcopy g++; do
    command -v $tool >/dev/null || { echo "skipped: no $tool here"; exit 77; }
done
ldconfig -p 2>/dev/null | grep -q 'libdw\.so\.1' || { echo "skipped: no libdw here"; exit 77; }
symbols=$build/tests/program_symbols
cd "$tmp" || exit 1
cat >rows.cpp <<'CPP'
#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <vector>
struct row { std::string name; std::vector<int> cells; };
static inline void fill(std::vector<row> &t, int n)
{
    for (int i = 0; i < n; i++)
        t.push_back({std::to_string(i), std::vector<int>(i % 10)});
}
int main(int c, char **)
{
    std::vector<row> t;
    fill(t, 1000 * c);
    std::map<std::string, int> m;
    for (auto &r : t)
        m[r.name] += (int)r.cells.size();
    std::sort(t.begin(), t.end(), [](auto &a, auto &b) { return a.name < b.name; });
    printf("%zu\n", m.size());
}
CPP
g++ -std=c++17 -O2 -g rows.cpp -o rows || exit 1
g++ -std=c++17 -O2 -g -gdwarf-4 -gz rows.cpp -o packed || exit 1
check 'lines are those of addr2line' "$python" "$here/check_lines.py" "$symbols" rows packed "$assay"
cat "$tmp/check.out"
if command -v clang++ >/dev/null && command -v llvm-symbolizer-14 >/dev/null; then
    clang++ -std=c++17 -O2 -g rows.cpp -o by_clang || exit 1
    check 'also of a compiler that writes no table of addresses' "$python" "$here/check_lines.py" "$symbols" by_clang
fi

# apart NAME: the lines of that stripped file are in NAME.debug beside it.
apart() {
    objcopy --only-keep-debug rows "$1.debug"
    objcopy --strip-all --add-gnu-debuglink="$1.debug" rows "$1"
    readelf -S "$1" | grep -q '\.debug_info' && fail "$1 still has its lines"
}
# lines FILE >TEXT: of some addresses, whatever the file is called.
nm -S rows | awk '$3 ~ /[tTW]/ && $2 > "0000000000000010" { print $1 }' | head -40 >starts
"$python" - <<'PY'
at = [int(line, 16) for line in open("starts")]
open("addresses", "w").write("".join(f"{0x7f1000000000 + a + 6:x}\n" for a in at))
PY
lines() {
    "$python" -c 'import sys; sys.path.insert(0, sys.argv[1]); import check_symbols as c; print(c.maps_of(sys.argv[2], c.segments(sys.argv[2])), end="")' \
        "$here" "$tmp/$1" >"$1.maps"
    "$symbols" "$1.maps" --lines <addresses
}
lines rows | cut -f4- >wanted
grep -q 'rows\.cpp:' wanted || fail 'there are lines'
apart stripped
lines stripped | cut -f4- >got
cmp -s wanted got || fail 'a debug file apart has the same lines'
mkdir .debug && mv stripped.debug .debug
lines stripped | cut -f4- >got
cmp -s wanted got || fail 'and in the folder .debug'
objcopy --only-keep-debug --set-section-flags .note.gnu.build-id=noload,readonly rows other.debug 2>/dev/null
cp /bin/true .debug/stripped.debug
lines stripped | cut -f4- >got
grep -q 'rows\.cpp' got && fail 'the debug file of another build is not believed'
if command -v dwz >/dev/null; then
    g++ -std=c++17 -O2 -g rows.cpp -o second && dwz -m common.dwz rows second || fail 'dwz works here'
    readelf -S rows | grep -q gnu_debugaltlink || fail 'lines are in a common file'
    lines rows | cut -f4- >got
    cmp -s wanted got || fail 'what dwz put into another file is found'
    mv common.dwz away.dwz
    lines rows >got || fail 'a common file that is missing is survived'
fi
g++ -std=c++17 -O2 -g rows.cpp -o rows

# Damaged in ways that libdw may not survive: functions keep their names, and it ends.
cat >damage.py <<'PY'
import random, re, subprocess, sys
data = bytearray(open("rows", "rb").read())
found = re.findall(r"\] (\.debug_\w+)\s+PROGBITS\s+\w+ (\w+) (\w+)", subprocess.run(["readelf", "-SW", "rows"], capture_output=True, text=True).stdout)
random.seed(int(sys.argv[1]))
name, offset, size = random.choice(found)
offset, size = int(offset, 16), int(size, 16)
if random.random() < 0.2:
    data[offset:offset + size] = random.randbytes(size)
else:
    for _ in range(random.choice([1, 10, 1000])):
        data[offset + random.randrange(size)] = random.randrange(256)
open("bad", "wb").write(data)
PY
lines rows | cut -f1 >names
for seed in $(seq 60); do
    "$python" damage.py "$seed"
    lines bad >got || fail "damage $seed ends it"
    cut -f1 got | cmp -s names - || fail "damage $seed changes the names of functions"
done

# A libdw that crashes, is another one, or is not there costs lines and nothing else.
mkdir lib
for what in 'abort();' 'for (;;) raise(SIGSEGV);' '(void)!write(fd, "\3\1\2\3", 4); _exit(0);'; do
    printf '#include <signal.h>\n#include <stdlib.h>\n#include <unistd.h>\nvoid *dwarf_begin(int fd, int how) { (void)how; (void)fd; %s return 0; }\n' "$what" >fake.c
    for name in dwarf_end dwarf_addrdie dwarf_get_units dwarf_child dwarf_siblingof dwarf_tag dwarf_attr dwarf_attr_integrate dwarf_formstring \
        dwarf_formudata dwarf_haspc dwarf_ranges dwarf_dieoffset dwarf_getsrc_die dwarf_lineno dwarf_linesrc dwarf_getsrcfiles dwarf_filesrc; do
        echo "int $name(void) { return 0; }" >>fake.c
    done
    gcc -shared -fPIC -w fake.c -o lib/libdw.so.1 || exit 1
    LD_LIBRARY_PATH=$tmp/lib lines rows >got || fail "a libdw that does '$what' is survived"
    cut -f1 got | cmp -s names - || fail "a libdw that does '$what' leaves names"
    cut -f4- got | grep -q 'rows\.cpp' && fail "the libdw was not the one that does '$what'"
done
echo 'int nothing;' >fake.c && gcc -shared fake.c -o lib/libdw.so.1
LD_LIBRARY_PATH=$tmp/lib lines rows >got || fail 'a library without its functions is survived'
cut -f1 got | cmp -s names - || fail 'a library without its functions leaves names'

# Nobody on the network is asked.
if command -v strace >/dev/null && strace -o /dev/null true 2>/dev/null; then
    DEBUGINFOD_URLS=http://127.0.0.1:9 strace -f -e trace=network -o calls "$symbols" stripped.maps --lines <addresses >/dev/null
    grep -q 'socket(' calls && fail 'no debug file is looked for on the network'
fi
finish
