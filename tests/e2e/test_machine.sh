# tests/e2e/test_machine.sh - `assay machine`: figures, the cache and what can happen to it, widths, wrong use.
. "$(dirname "$0")/lib.sh"

export XDG_CACHE_HOME="$tmp/cache" HOME="$tmp/home"
cache=$XDG_CACHE_HOME/assay/$(peaks_name)

exits 0 "a quick look" "$assay" machine --quick --json
check "is right" "$python" "$here/check_machine_json.py" "$tmp/out" measured
check "and is not kept" test ! -e "$cache"

# From here on with one processor, where that can be had: half the time, and one finding more.
if command -v taskset >/dev/null; then
    taskset -cp "$("$python" -c 'import os; print(min(os.sched_getaffinity(0)))')" $$ >/dev/null
    exits 0 "on one processor" "$assay" machine --quick --json
    check "one is usable, and that is said" "$python" -c '
import json, sys
m = json.load(open(sys.argv[1]))
assert m["usable"]["processors"] == 1
assert "one_processor" in [f["rule"] for f in m["findings"]]' "$tmp/out"
fi

exits 0 "the first full look" "$assay" machine --json
check "is measured" "$python" "$here/check_machine_json.py" "$tmp/out" measured
check "and kept" test -s "$cache"
check "in a folder of the user's own" test "$(stat -c %a "$XDG_CACHE_HOME/assay")" = 700
cp "$tmp/out" "$tmp/first"
cp "$cache" "$tmp/good"
exits 0 "the second" "$assay" machine --json
check "comes from the cache" "$python" "$here/check_machine_json.py" "$tmp/out" cache
check "with the same peaks" "$python" -c '
import json, sys
a, b = (json.load(open(f))["peaks"] for f in sys.argv[1:])
for k in ("compute", "bandwidth", "levels", "frequency_hz", "fingerprint"):
    assert a[k] == b[k], k' "$tmp/first" "$tmp/out"
check "and the cache is untouched" cmp "$tmp/good" "$cache"

# Damage of any kind means measuring again, and a whole cache afterwards.
printf 'not a cache' >"$cache"
exits 0 "a damaged cache" "$assay" machine --json
check "is said" grep -q "$(basename "$cache") is damaged: measuring again" "$tmp/err"
check "is measured" "$python" "$here/check_machine_json.py" "$tmp/out" measured
check "and is whole again" "$python" -m json.tool "$cache"
sed 's/"fingerprint":"./"fingerprint":"x/' "$tmp/good" >"$cache"
exits 0 "a cache of another machine" "$assay" machine --json
check "is said" grep -q "of another machine or version" "$tmp/err"
check "and replaced" grep -q '"fingerprint":"[0-9a-f]*"' "$cache"

# A cache that cannot be written is a note, not a failure.
exits 0 "nowhere to keep it" env XDG_CACHE_HOME=/proc/nowhere "$assay" machine --fresh --json
check "is a note" grep -q "^note: the peaks are not kept: " "$tmp/err"
check "and the figures are there" "$python" "$here/check_machine_json.py" "$tmp/out" measured
exits 0 "no home at all" env -u HOME -u XDG_CACHE_HOME "$assay" machine --quick
mkdir -p "$tmp/home/.cache/assay"
cp "$cache" "$tmp/home/.cache/assay"
exits 0 "a relative cache does not count" env XDG_CACHE_HOME=here HOME="$tmp/home" "$assay" machine --json
check "and home is used" "$python" "$here/check_machine_json.py" "$tmp/out" cache
check "nothing was made here" test ! -e here

# The page, at every width.
for width in 80 100 160; do
    exits 0 "a page of $width" "$assay" machine --width $width --glyphs unicode
    check "no line is longer than $width" "$python" -c '
import sys
for line in open(sys.argv[1], encoding="utf-8").read().splitlines():
    if len(line) > int(sys.argv[2]):
        sys.exit(line)' "$tmp/out" $width
    for words in "^Peak compute" "^f32 .* [0-9.]+ [GT]FLOP/s" "^Memory bandwidth" "^DRAM .* read .* [0-9.]+ [GM]B/s" \
        "^Ridge points" "^Noise" "^  floor " "it to measure" "measured .* ago"; do
        check "it has $words" grep -Eq "$words" "$tmp/out"
    done
done
exits 0 "Markdown" "$assay" machine --format=markdown
check "has tables" grep -q "^| f32 " "$tmp/out"
check "has headings" grep -q "^## Ridge points" "$tmp/out"
exits 0 "one thread alone" "$assay" machine --threads 1 --quick --json
check "has one thread alone" "$python" -c '
import json, sys
p = json.load(open(sys.argv[1]))["peaks"]
assert {c["threads"] for c in p["compute"]} == {1}' "$tmp/out"
exits 2 "more threads than processors" "$assay" machine --threads 256
says "this process may use"
exits 2 "no threads" "$assay" machine --threads 0
exits 2 "an operand" "$assay" machine here
finish
