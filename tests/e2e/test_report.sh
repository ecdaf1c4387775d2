# tests/e2e/test_report.sh - `assay report` as text: what it says, in which order, in which width and glyphs.
. "$(dirname "$0")/lib.sh"

everything="nested described threads failed phases iterations channels notes unbalanced"
MAKE_RUN_LABEL="a test" "$make_run" "$tmp/all.assay" $everything || exit 1
"$make_run" "$tmp/kill.assay" nested kill 2>/dev/null
"$make_run" "$tmp/many.assay" many || exit 1
"$make_run" "$tmp/nothing.assay" nothing || exit 1

report() {
    "$assay" report --glyphs unicode --width 80 "$@"
}

report -s layers --top 50 --sort name -c name,category,op,shape,calls,failed,threads "$tmp/all.assay" |
    squeeze | same report_layers.txt "the layers are those recorded"
report -s phases,channels "$tmp/all.assay" | normal | same report_phases.txt "phases and channels are shown"
report -s latency "$tmp/all.assay" | normal | same report_latency.txt "latency is grouped by length"
report -s threads --thread 0 "$tmp/all.assay" | sed -n 1,3p | normal | same report_threads.txt "threads are shown"
report -s health "$tmp/all.assay" | squeeze | same report_health.txt "health counts what is unbalanced"
"$assay" report --glyphs unicode --width 1000 -s summary "$tmp/all.assay" | sed -e 's/ on .* clock .*/ on HOST/' -e 's/.*make_run.*/COMMAND/' -e 's/; .* that$//' | normal |
    same report_summary.txt "the headline tells what was recorded"
report "$tmp/nothing.assay" >"$tmp/out"
check "an empty run is said to be empty" grep -q "nothing was recorded" "$tmp/out"

# What is wrong comes first.
report "$tmp/kill.assay" >"$tmp/out"
check "the first line says that the run was not closed" \
    sh -c "sed -n 1p '$tmp/out' | grep -q 'not closed: the program ended without it; [0-9,]* events recovered from its ring'"
check "the second line says what was open" sh -c "sed -n 2p '$tmp/out' | grep -q 'open when it ended: .*train'"

# Counts are exact.
check "calls are counted exactly" sh -c "report() { '$assay' report --glyphs ascii \"\$@\"; }
    report -s layers -c name,calls '$tmp/all.assay' | grep -Eq '^block +250\$'"
check "failed calls are counted" sh -c "'$assay' report -s layers --top 50 -c name,failed '$tmp/all.assay' | grep -Eq '^fragile +2\$'"
check "what cannot be had is a dash" \
    sh -c "'$assay' report --top 50 -s layers -c name,flops,median '$tmp/all.assay' | grep -Eq '^never_ended +- +-\$'"

# Widths.
for width in 40 80 100 160; do
    "$assay" report --width $width --glyphs ascii "$tmp/all.assay" >"$tmp/out"
    check "no line is longer than $width columns" awk -v w=$width 'length > w && w >= 80 {print; bad = 1} END {exit bad}' "$tmp/out"
    check "no line ends with a blank at $width" sh -c "! grep -n ' \$' '$tmp/out'"
done
"$assay" report --wide --width 40 --glyphs ascii -s layers --top 60 "$tmp/many.assay" >"$tmp/out"
check "--wide cuts no name" sh -c "[ \$(grep -c 'layer_.*/with/a/long/path' '$tmp/out') = 60 ]"
"$assay" report -s layers --top 3 "$tmp/many.assay" >"$tmp/out"
check "--top shows so many rows" sh -c "[ \$(grep -c '^layer_' '$tmp/out') = 3 ]"
check "--top says how many there are" grep -q "57 more" "$tmp/out"

# Units: one to a column.
"$assay" report -s layers -c name,self,median --unit ms "$tmp/all.assay" >"$tmp/out"
check "--unit names the unit in the title" grep -q "self ms.*median ms" "$tmp/out"

# Glyphs and colour.
"$assay" report --glyphs ascii -s all "$tmp/all.assay" >"$tmp/out"
check "ASCII mode has no byte above 127" sh -c "! LC_ALL=C grep -n '[^ -~]' '$tmp/out'"
LC_ALL=C "$assay" report -s all "$tmp/all.assay" >"$tmp/out"
check "a locale without UTF-8 gives ASCII" sh -c "! LC_ALL=C grep -n '[^ -~]' '$tmp/out'"
"$assay" report -s all "$tmp/all.assay" >"$tmp/out"
check "no escape reaches a file" sh -c "! grep -q '$(printf '\033')' '$tmp/out'"
"$assay" report --color always "$tmp/all.assay" >"$tmp/out"
check "--color always colours" grep -q "$(printf '\033\\[1m')" "$tmp/out"
CLICOLOR_FORCE=1 "$assay" report "$tmp/all.assay" >"$tmp/out"
check "CLICOLOR_FORCE colours" grep -q "$(printf '\033')" "$tmp/out"
NO_COLOR=1 CLICOLOR_FORCE=1 "$assay" report "$tmp/all.assay" >"$tmp/out"
check "NO_COLOR wins over it" sh -c "! grep -q '$(printf '\033')' '$tmp/out'"

# The same run gives the same words.
"$assay" report -s all "$tmp/all.assay" >"$tmp/one"
"$assay" report -s all -o "$tmp/two" "$tmp/all.assay"
check "two reports of one run are equal, and --output writes the same" cmp "$tmp/one" "$tmp/two"
check "no half-written file stays" sh -c "! ls '$tmp' | grep -q part"

# Markdown.
"$assay" report --format=markdown -s all "$tmp/all.assay" >"$tmp/all.md"
check "the rows of a Markdown table have as many cells as its title" "$python" "$here/check_markdown.py" "$tmp/all.md"

# A run that is still being recorded.
"$make_run" "$tmp/live.assay" live >"$tmp/live.out" &
pid=$!
for i in 1 2 3 4 5 6 7 8 9 10; do
    grep -q live "$tmp/live.out" && break
    sleep 0.2
done
"$assay" report "$tmp/live.assay" >"$tmp/out"
check "a live run is said to be live" grep -q "still recording: process $pid" "$tmp/out"
check "and its layers are shown" grep -q "so_far" "$tmp/out"
kill $pid
wait $pid 2>/dev/null
finish
