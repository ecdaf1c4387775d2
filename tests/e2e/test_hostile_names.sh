# tests/e2e/test_hostile_names.sh - names with escapes, bidi marks, pipes and formulas never reach output raw.
. "$(dirname "$0")/lib.sh"

MAKE_RUN_LABEL="$(printf 'label \033[2J \342\200\256 *bold* <b>')" "$make_run" "$tmp/run.assay" hostile || exit 1
for form in "" "--format=markdown" "--json" "--glyphs=ascii" "--color=never --wide" "-s all" "-s all --json" "-s all --format=markdown"; do
    "$assay" report $form "$tmp/run.assay" >"$tmp/out" || fail "report $form"
    check "no control character with '$form'" sh -c "! LC_ALL=C tr -d '\n' <'$tmp/out' | LC_ALL=C grep -q '[[:cntrl:]]'"
    check "no bidi mark with '$form'" sh -c "! grep -q '$(printf '\342\200\256')' '$tmp/out'"
    check "valid UTF-8 with '$form'" "$python" -c 'import sys; open(sys.argv[1], encoding="utf-8").read()' "$tmp/out"
done
"$assay" report -s all --format=markdown "$tmp/run.assay" >"$tmp/run.md"
check "a pipe in a name makes no cell" "$python" "$here/check_markdown.py" "$tmp/run.md"
check "no HTML reaches Markdown" sh -c "! grep -Eq '(^|[^\\\\])<(script|b)' '$tmp/run.md'"
check "no link reaches Markdown" sh -c "! grep -Fq '[link](' '$tmp/run.md'"
"$assay" report --glyphs ascii -s all "$tmp/run.assay" >"$tmp/out"
check "ASCII stays ASCII whatever the names" sh -c "! LC_ALL=C grep -n '[^ -~]' '$tmp/out'"
"$assay" verify "$tmp/run.assay" >"$tmp/out"
check "verify too" sh -c "! LC_ALL=C tr -d '\n' <'$tmp/out' | LC_ALL=C grep -q '[[:cntrl:]]'"
for format in chrome-trace perfetto speedscope folded json csv; do
    exits 0 "export to $format" "$assay" export --to "$format" -q -o "$tmp/exported" --force "$tmp/run.assay"
    check "the export to $format has bytes" test -s "$tmp/exported"
    for escape in 31m 0m 2J; do # a lone ESC may be a number of Perfetto's
        check "no escape in $format" sh -c "! LC_ALL=C grep -aqF '$(printf '\033')[$escape' '$tmp/exported'"
    done
    check "no bidi mark in $format" sh -c "! LC_ALL=C grep -aq '$(printf '\342\200\256')' '$tmp/exported'"
done
finish
