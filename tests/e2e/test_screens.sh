# tests/e2e/test_screens.sh - every page as it is stored in expect/screens, at 60, 80 and 120 columns, in color with UTF-8 and
# plain in ASCII. The runs behind the pages are stored too (screens/*.json), so no number depends on this machine.
# `sh test_screens.sh BUILD update` stores the pages as they are now: look at the difference before it is committed.
. "$(dirname "$0")/lib.sh"
update=$2
fixtures=$here/screens
cd "$fixtures" || exit 1

# screen NAME COMMAND...: its page in all forms.
screen() {
    name=$1
    shift
    for width in 60 80 120; do
        for form in color ascii; do
            look="--glyphs unicode --color always"
            [ $form = ascii ] && look="--glyphs ascii --color never"
            # shellcheck disable=SC2086
            "$assay" "$@" --width $width $look >"$tmp/page" 2>"$tmp/err" || fail "$name at $width: $(head -1 "$tmp/err")"
            stored=$here/expect/screens/$name-$width-$form.txt
            if [ "$update" = update ]; then
                mkdir -p "$here/expect/screens"
                cp "$tmp/page" "$stored"
            fi
            check "$name at $width columns, $form" diff -u "$stored" "$tmp/page"
            check "$name at $width columns, $form: no line is longer" "$python" -c '
import re, sys, unicodedata
for line in open(sys.argv[1], encoding="utf-8").read().splitlines():
    if len(re.sub(r"\x1b\[[0-9;]*[mK]", "", line)) > int(sys.argv[2]):
        sys.exit(line)' "$tmp/page" $width
        done
    done
}

screen profile report profile.json
screen roofline report profile.json --section roofline
screen diff diff profile.json profile_after.json --top 12
screen sweep report sweep.json
screen bench report bench.json
screen machine report machine.json
screen operations report operations.json
screen overhead report overhead.json
screen run report run.json
screen inspect inspect zoo:mobilenetv2
screen models inspect zoo:mobilenetv2 zoo:resnet18
screen explain explain roofline
screen interrupted report interrupted.json
screen session report session.json
screen session_parts report session.json --section threads,phases,iterations,latency,health
screen model_diff diff zoo:resnet18 zoo:resnet34 --top 8
screen zoo zoo
screen help_zoo help zoo
finish
