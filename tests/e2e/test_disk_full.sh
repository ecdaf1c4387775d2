#!/bin/sh
# A file system of 64 kB: recording and reporting into it fail with 3 and name the file, and what was there stays.
set -eu
build=$(cd "$1" && pwd)
if [ "${ASSAY_IN_NAMESPACE:-}" != 1 ]; then
    unshare -m true 2>/dev/null || { echo 'skipped: no right to mount'; exit 77; }
    ASSAY_IN_NAMESPACE=1 exec unshare -m sh "$0" "$build"
fi
work=$(mktemp -d)
disk=$work/disk
mkdir "$disk"
mount -t tmpfs -o size=64k tmpfs "$disk" || { echo 'skipped: cannot mount a tmpfs'; rmdir "$disk" "$work"; exit 77; }
trap 'umount "$disk"; rm -rf "$work"' EXIT
fail() { echo "test_disk_full: $1" >&2; exit 1; }
status() { set +e; "$@" >"$work/out" 2>"$work/err"; code=$?; set -e; }

# The ring does not fit, which only costs the safety against kills; the run does not fit, which is an error.
status "$build/examples/basic" -o "$disk/run.assay" --iterations 2000
[ "$code" -eq 3 ] || fail "recording ended with $code: $(cat "$work/err")"
grep -q "$disk/run.assay" "$work/err" || fail "the sentence does not name the file: $(cat "$work/err")"
"$build/assay" report "$disk/run.assay" --json >"$work/report.json" || fail 'what was written cannot be read'
/usr/bin/python3 -c 'import json, sys
r = json.load(open(sys.argv[1]))
assert r["summary"]["total_calls"] > 100, r["summary"]
h = r["run"]["health"]
assert h["lost"]["write_failed"] > 0 and h["lost_events"] == sum(h["lost"].values()) and not h["lost_unknown"], h' "$work/report.json"
[ -e "$disk/run.assay.ring" ] || fail 'the ring, which has the account of what was lost, is gone'
rm "$disk/run.assay" "$disk/run.assay.ring"

# A file system with no room at all.
dd if=/dev/zero of="$disk/ballast" bs=1k count=1000 2>/dev/null || true
status "$build/examples/basic" -o "$disk/run.assay"
[ "$code" -eq 3 ] && grep -q run.assay "$work/err" || fail "a full disk ended with $code: $(cat "$work/err")"
[ ! -e "$disk/run.assay" ] || fail 'a run that could not be opened left a file'
[ "$(ls "$disk")" = ballast ] || fail "left behind: $(ls "$disk")"

# Reports and exports onto it: exit 3, the file named, an older one untouched.
"$build/examples/basic" -o "$work/good.assay" --iterations 500 >/dev/null
rm "$disk/ballast"
echo older >"$disk/report.txt"
dd if=/dev/zero of="$disk/ballast" bs=1k count=1000 2>/dev/null || true
for arguments in 'report --json' 'report' 'report --format=markdown' 'export --to chrome-trace' 'export --to csv' 'export --to perfetto'; do
    # shellcheck disable=SC2086
    status "$build/assay" $arguments "$work/good.assay" -o "$disk/report.txt"
    [ "$code" -eq 3 ] || fail "$arguments ended with $code"
    grep -q "$disk/report.txt" "$work/err" || fail "$arguments does not name the file: $(cat "$work/err")"
    [ "$(cat "$disk/report.txt")" = older ] || fail "$arguments touched the older file"
done
status "$build/assay" report "$work/good.assay" --export-csv "$disk/tables"
[ "$code" -eq 3 ] && grep -q "$disk/tables" "$work/err" || fail "csv ended with $code"
