#!/usr/bin/env bash
# Every exported function has a manual page, and every page renders without a warning. usage: check_man3.sh BUILD
set -euo pipefail
build=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "check_man3.sh: $1" >&2; exit 1; }
cp -r "$build/man3" "$work/man3"
cd "$work"
# Names that end in an underscore are not for callers.
for library in "$build"/libassay{,-trace,-experiment}.so; do
    [ -e "$library" ] || continue # no shared experiments with sanitizers
    nm -D --defined-only "$library" | sed -n 's/.* [TiB] \(assay_[a-z0-9_]*[a-z0-9]\)\(@.*\)\?$/\1/p'
done | sort -u >names
[ "$(wc -l <names)" -gt 200 ] || fail "only $(wc -l <names) functions are exported"
while read -r name; do
    [ -s "man3/$name.3" ] || fail "$name has no page"
done <names
for page in assay-manager assay-session assay-experiment-witness assay_manager_new; do
    for part in NAME SYNOPSIS DESCRIPTION 'SEE ALSO'; do
        grep -q "^\.SH $part" "man3/$page.3" || fail "$page(3) has no $part"
    done
done
grep -q 'ASSAY_SCOPE(name)' man3/assay-scope.3 || fail 'assay-scope(3) has no ASSAY_SCOPE'
[ "$(cat man3/ASSAY_SCOPE.3)" = '.so man3/assay-scope.3' ] || fail 'ASSAY_SCOPE does not refer to its header'
grep -q '^\.SH RETURN VALUE' man3/assay_manager_new.3 || fail 'assay_manager_new(3) has no RETURN VALUE'
[ "$(cat man3/assay_manager_disable.3)" = '.so man3/assay_manager_enable.3' ] || fail 'disable does not refer to enable'
if command -v groff >/dev/null; then
    groff -man -Tutf8 -ww -z man3/*.3 >warnings 2>&1
    [ ! -s warnings ] || fail "$(head -3 warnings)"
fi
