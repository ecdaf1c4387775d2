#!/bin/sh
# Sites of `assay run` are shown by who allocates, past xmalloc() and containers, with the lines of the source; stacks are whole.
# usage: test_callers.sh BUILD
. "$(dirname "$0")/lib.sh"
command -v g++ >/dev/null || { echo 'skipped: no g++ here'; exit 77; }
cd "$tmp" || exit 1
cat >rows.c <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
__attribute__((noinline)) static void *xmalloc(size_t n)
{
    void *p = malloc(n);
    if (!p)
        abort();
    return memset(p, 1, n);
}
__attribute__((noinline)) static char *make_row(void)
{
    char *row = xmalloc(100000); /* a row */
    row[0] = 2;
    return row;
}
__attribute__((noinline)) static char *make_page(void)
{
    char *page = xmalloc(300000); /* a page */
    page[0] = 3;
    return page;
}
static inline char *small(size_t n)
{
    return malloc(n); /* inlined */
}
__attribute__((noinline)) static char *plain(void)
{
    char *p = small(5000000); /* plain */
    p[0] = 1;
    return p;
}
__attribute__((noinline)) static int down(int n, char **keep)
{
    int got = n ? down(n - 1, keep) : (*keep = make_row(), 1); /* down */
    return got + (*keep)[0];
}
int main(void)
{
    static char *keep[2000];
    int n = 0;
    for (int i = 0; i < 300; i++) {
        keep[n++] = make_row();
        keep[n++] = make_page();
    }
    keep[n++] = plain();
    for (int i = 0; i < 200; i++)
        down(i % 2 ? 400 : 1000, &keep[n++]);
    fflush(stdout);
    _exit(keep[5] == keep[6]);
}
C
cat >cells.cpp <<'CPP'
#include <string>
#include <unistd.h>
#include <vector>
__attribute__((noinline)) static void load(std::vector<std::string> &names)
{
    for (int i = 0; i < 2000; i++)
        names.push_back(std::string(10000, 'x')); // names
}
__attribute__((noinline)) static void widen(std::vector<double> &cells)
{
    cells.resize(2000000); // cells
}
int main()
{
    static std::vector<std::string> names;
    static std::vector<double> cells;
    load(names);
    widen(cells);
    _exit(names.size() != 2000);
}
CPP
cc -O1 -g -fno-optimize-sibling-calls -fno-ipa-pure-const rows.c -o rows && g++ -O1 -g cells.cpp -o cells || exit 1
exits 0 'a program of C' "$assay" run -q -o rows.assay -- ./rows
exits 0 'a program of C++' "$assay" run -q -o cells.assay -- ./cells
"$assay" report --json -q rows.assay >rows.json
"$assay" report --json -q cells.assay >cells.json
[ "$("$python" -c 'import json; print(bool(json.load(open("rows.json"))["program"]["heap"]))')" = True ] ||
    { echo 'skipped: the heap cannot be watched here'; exit 77; }
lines=yes
ldconfig -p 2>/dev/null | grep -q 'libdw\.so\.1' || lines=no
check 'callers are those of the source' "$python" "$here/check_callers.py" $lines
cat "$tmp/check.out"
COLUMNS=120 "$assay" report --section all rows.assay >page
grep -q '~make_page.* via xmalloc.*~' page || fail 'the page marks what is estimated'
grep -q 'divided among its callers' page || fail 'and explains it'
if [ $lines = yes ]; then
    grep -qF "make_row  rows.c:$(grep -n 'a row' rows.c | cut -d: -f1)" page || fail 'the page has lines'
    grep -qF "small  rows.c:$(grep -n 'inlined \*' rows.c | cut -d: -f1)" page || fail 'also of what is inlined'
    grep -qE "down  rows.c:$(grep -n 'down \*' rows.c | cut -d: -f1)  [0-9]{3} times" page || fail 'recursion is one line'
fi

for to in folded speedscope pprof flamegraph; do exits 0 "export to $to" "$assay" export -q --to $to rows.assay -o out.$to; done
exits 0 'what was live' "$assay" export -q --to folded --heap live rows.assay -o live.folded
check 'exports have the same functions and lines' "$python" "$here/check_export_heap.py" rows.json out.folded out.speedscope out.pprof live.folded
check 'the flame graph too' "$python" "$here/check_flame_graph.py" out.flamegraph rows.json
if [ $lines = yes ]; then
    grep -q 'rows\.c' out.pprof && grep -q '"line":' out.speedscope || fail 'exports have lines'
    check 'folded stacks have what is inlined' grep -q 'main (rows);plain (rows);small (rows) ' out.folded
fi

if command -v rustc >/dev/null; then
    cat >made.rs <<'RS'
mod made { #[inline(never)] pub fn build(n: usize) -> Vec<u64> { let mut v = Vec::new(); for i in 0..n as u64 { v.push(i * 3); } v } }
fn main() { let v = made::build(4_000_000); println!("{}", v.len()); }
RS
    if rustc -g -O -C symbol-mangling-version=v0 made.rs -o made 2>/dev/null; then
        exits 0 'a program of Rust' "$assay" run -q -o made.assay -- ./made
        "$assay" report --json -q made.assay >out
        "$python" -c 'import json, sys; sys.exit(not any(c["function"] == "made::made::build" for s in json.load(sys.stdin)["program"]["heap"]["sites"] for c in s["callers"]))' \
            <out || fail 'who allocates in Rust is known'
    fi
fi

# Debug information that is damaged costs lines; the program and its run are as they were.
cat >damage.py <<'PY'
import random, re, subprocess, sys
data = bytearray(open("rows", "rb").read())
found = re.findall(r"\] (\.debug_\w+)\s+PROGBITS\s+\w+ (\w+) (\w+)", subprocess.run(["readelf", "-SW", "rows"], capture_output=True, text=True).stdout)
random.seed(int(sys.argv[1]))
for _, offset, size in found:
    for _ in range(random.choice([1, 20, 500])):
        data[int(offset, 16) + random.randrange(int(size, 16))] = random.randrange(256)
open("bad", "wb").write(data)
PY
cp rows bad
for seed in $(seq 8); do
    "$python" damage.py "$seed"
    exits 0 "a program with damaged debug information ($seed)" "$assay" run -q -o bad.assay -- ./bad
    exits 0 'its report' "$assay" report --json -q bad.assay
    "$python" -c 'import json, sys; sys.exit(not any(s["function"] == "xmalloc" and s["allocations"] == 800 for s in json.load(sys.stdin)["program"]["heap"]["sites"]))' \
        <out || fail "damage $seed leaves functions and counts"
done
# So does a reader that crashes.
mkdir lib
printf 'int dwarf_begin(int fd) { __builtin_trap(); return fd; }\n' >fake.c
for name in dwarf_end dwarf_addrdie dwarf_get_units dwarf_child dwarf_siblingof dwarf_tag dwarf_attr dwarf_attr_integrate dwarf_formstring \
    dwarf_formudata dwarf_haspc dwarf_ranges dwarf_dieoffset dwarf_getsrc_die dwarf_lineno dwarf_linesrc dwarf_getsrcfiles dwarf_filesrc; do
    echo "int $name(void) { return 0; }" >>fake.c
done
cc -shared -fPIC -w fake.c -o lib/libdw.so.1 || exit 1
LD_LIBRARY_PATH=$tmp/lib exits 0 'a libdw that crashes' "$assay" run -q -o crashed.assay -- ./rows
exits 0 'its report' "$assay" report --json -q crashed.assay
grep -q '"xmalloc"' out || fail 'there are functions'
grep -q 'rows\.c' out && fail 'the other libdw was not used'
grep -q '"lines_why": *"debug information of' out || fail 'and the reason why there are no lines'
finish
