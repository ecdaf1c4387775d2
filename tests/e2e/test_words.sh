# tests/e2e/test_words.sh - help, manual and completions are printed from the same tables: they must agree.
. "$(dirname "$0")/lib.sh"

"$assay" help >"$tmp/help"
commands=$(sed -n '/^Commands/,/^$/s/^  \([a-z]*\) .*/\1/p' "$tmp/help")
check "there are commands" [ -n "$commands" ]
for shell in bash zsh fish; do
    "$assay" completion $shell >"$tmp/$shell"
    command -v $shell >/dev/null && check "$shell accepts its completion" $shell -n "$tmp/$shell"
done
"$assay" man | sed 's/\\-/-/g' >"$tmp/man"
for command in $commands; do
    "$assay" help "$command" >"$tmp/help.$command"
    "$assay" "$command" --help >"$tmp/help2"
    check "help $command and $command --help agree" cmp "$tmp/help.$command" "$tmp/help2"
    "$assay" man "$command" | sed 's/\\-/-/g' >"$tmp/man.$command"
    check "the manual lists $command" grep -q "^.B assay $command" "$tmp/man"
    options=$(grep -oE '(^|  )(-[a-z], )?--[a-z-]+' "$tmp/help.$command" | grep -oE -e '--[a-z-]+')
    check "$command has options" [ -n "$options" ]
    # Every command has examples, in help and manual, and they use options that exist.
    sed -n '/^Examples$/,/^$/s/^  \([^ ]\)/\1/p' "$tmp/help.$command" >"$tmp/examples"
    check "help $command has examples" [ -s "$tmp/examples" ]
    check "man $command has examples" grep -q '^\.SH EXAMPLES' "$tmp/man.$command"
    for used in $(sed 's/ -- .*//' "$tmp/examples" | grep "^assay $command" | grep -oE -e ' --[a-z-]+'); do
        printf "%s\n" "$options" | grep -qxF -e "$used" || fail "the option $used of an example of $command exists"
    done
    for option in $options; do
        name=${option#--}
        check "man $command has $option" grep -qE -e "^\.B (-., )?$option(=|$)" "$tmp/man.$command"
        check "bash completes $command $option" sh -c "sed -n '/^    $command:-\*/,/;;/p' '$tmp/bash' | grep -qE -e '[ \"]$option[ \"]'"
        check "zsh completes $command $option" sh -c "sed -n '/^    $command)/,/;;/p' '$tmp/zsh' | grep -qE -e '$option[]=})'\'']'"
        check "fish completes $command $option" grep -qE "seen_subcommand_from $command' -l $name( |$)" "$tmp/fish"
    done
    options=$(grep -oE -e '^\.B (-., )?--[a-z-]+' "$tmp/man.$command" | grep -oE -e '--[a-z-]+' | wc -l)
    check "man $command has no option that help lacks" [ "$options" = "$(grep -cE -e '^(  -., |      )--[a-z]' "$tmp/help.$command")" ]
done

# What the completion of bash offers.
cat >"$tmp/try.bash" <<'BASH'
source "$1"
try() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); _assay; echo "${COMPREPLY[*]}"; }
[[ " $(try assay '') " == *" report "* ]] || { echo commands; exit 1; }
[[ $(try assay rep) == report ]] || { echo rep; exit 1; }
[[ $(try assay report --sor) == --sort ]] || { echo --sor; exit 1; }
[[ $(try assay report --sort me) == "mean median memory" ]] || { echo --sort me; exit 1; }
[[ $(try assay report --sort = med) == median ]] || { echo --sort=med; exit 1; }
[[ $(try assay report --columns name,medi) == name,median ]] || { echo list; exit 1; }
[[ " $(try assay profile zo) " == *" zoo:resnet50 "* ]] || { echo zoo; exit 1; }
[[ $(try assay profile zoo : mobilenetv2) == mobilenetv2 ]] || { echo zoo:mobilenetv2; exit 1; }
[[ " $(try assay inspect zoo :) " == *" resnet50 "* ]] || { echo zoo:; exit 1; }
[[ $(try assay zoo mobilenetv2) == mobilenetv2 ]] || { echo zoo mobilenetv2; exit 1; }
[[ $(try assay help exi) == exit-status ]] || { echo topic; exit 1; }
BASH
check "bash completes words" bash "$tmp/try.bash" "$tmp/bash"

if command -v groff >/dev/null; then
    for page in "" $commands; do
        "$assay" man $page | groff -ww -Tutf8 -man >/dev/null 2>"$tmp/groff"
        check "groff has nothing to say about the manual of ${page:-assay}" sh -c "[ ! -s '$tmp/groff' ]"
    done
fi

# Every column and every section that help names can be asked for.
"$make_run" "$tmp/run.assay" nested || exit 1
for column in $("$assay" help columns | sed -n 's/^  \([a-z0-9_]*\) .*/\1/p'); do
    exits 0 "column $column" "$assay" report -s layers -c name,"$column" "$tmp/run.assay"
done
for section in $("$assay" help sections | sed -n 's/^  \([a-z]*\) .*/\1/p'); do
    case $section in anomalies | distributed | backends) continue ;; esac # of a manager: test_manager_run.sh
    exits 0 "section $section" "$assay" report -s "$section" "$tmp/run.assay"
done
for wanted in name op shape category calls failed total self share cum mean std min max median p50 p90 p95 p99 cv mad ci \
    threads flops gflops gbps first spark file; do
    check "column $wanted is there" sh -c "'$assay' help columns | grep -q '^  $wanted '"
done

"$assay" help exit-status | same help_exit_status.txt "the exit statuses are explained"
"$assay" help report --width 80 | same help_report.txt "the help of report is the stored one"
check "the version is told" sh -c "'$assay' --version | grep -Eq '^assay [0-9]+\.[0-9]+\.[0-9]+\$'"
check "and as JSON" sh -c "'$assay' --version --json | '$python' -m json.tool"
check "assay --help is assay help" sh -c "'$assay' --help | cmp - '$tmp/help'"
finish
