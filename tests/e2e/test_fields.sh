# tests/e2e/test_fields.sh - docs/fields.md describes every JSON key and CSV column that is printed.
. "$(dirname "$0")/lib.sh"

root=$(cd "$here/../.." && pwd)
export XDG_CACHE_HOME="$tmp/cache" HOME="$tmp/home"
mkdir "$tmp/docs" && cd "$tmp" || exit 1
# document NAME COMMAND...: what the command prints must be there.
document() {
    to=$1
    shift
    "$@" >"$tmp/docs/$to" 2>"$tmp/err"
    [ -s "$tmp/docs/$to" ] || fail "$* prints something: $(cat "$tmp/err")"
}
"$build/examples/basic" -o basic.assay >/dev/null
"$build/examples/manager" >/dev/null 2>&1
"$build/examples/program" -o docs/session.json --iterations 30 >/dev/null 2>&1
document report.json "$assay" report basic.assay --section all --json
document manager.json "$assay" report manager.assay --json
document export.json "$assay" export basic.assay --to json
document verify.json "$assay" verify basic.assay --json
document diff.json "$assay" diff basic.assay basic.assay --json
document diff_model.json "$assay" diff zoo:mlp zoo:mlp:hidden=64 --json
document inspect.json "$assay" inspect zoo:llama --train --fit 8GiB --scale batch=1,2 --weights --group op --json
document zoo.json "$assay" zoo --json
document version.json "$assay" version --json
case $build in
*asan* | *tsan*) ;;
*)
    "$assay" run -o watch.assay -- "$build/examples/basic" -o other.assay >/dev/null 2>&1
    document watch.json "$assay" report watch.assay --section all --json
    ;;
esac
document bench.json "$assay" bench --grid n=1,2 --output-dir bench --json -- sleep 0.00{n}
document bench_model.json "$assay" bench zoo:mlp --grid batch=1,2 --output-dir bench_model --json
document diff_metrics.json "$assay" diff bench/run.assay bench/run.assay --json
document help.json "$assay" help --json
# Tables: each is a file, or several in a folder.
document inspect.csv "$assay" inspect zoo:mlp --format csv
document inspect_groups.csv "$assay" inspect zoo:mlp --group op --format csv
document models.csv "$assay" inspect zoo:mlp zoo:mlp:hidden=64 --format csv
document diff.csv "$assay" diff basic.assay basic.assay --format csv
document diff_model.csv "$assay" diff zoo:mlp zoo:mlp:hidden=64 --format csv
document diff_metrics.csv "$assay" diff bench/run.assay bench/run.assay --format csv
document verify.csv "$assay" verify basic.assay --format csv
document zoo.csv "$assay" zoo --format csv
document explain.csv "$assay" explain roofline --format csv
document profile.csv "$assay" report "$here/screens/profile.json" --format csv
"$assay" report "$here/screens/profile.json" --section all --export-csv csv_profile >/dev/null 2>&1
document sweep.csv "$assay" report "$here/screens/sweep.json" --format csv
for name in operations overhead machine; do
    document $name.csv "$assay" report "$here/screens/$name.json" --format csv
done
for run in basic manager watch; do
    [ ! -e $run.assay ] || "$assay" report $run.assay --section all --export-csv csv_$run >/dev/null 2>&1
done
"$assay" report "$here/screens/run.json" --section all --export-csv csv_program >/dev/null 2>&1
check "every key and column is described" "$python" "$here/check_fields.py" "$root/docs/fields.md" "$root"/docs/schema/*.json \
    docs/*.json docs/*.csv $(ls bench/csv/*.csv bench/*.csv csv_*/*.csv 2>/dev/null)
# The check can fail.
printf '{"a_key_of_nobody": 1}\n' >other.json
exits 1 "a key that is not described" "$python" "$here/check_fields.py" "$root/docs/fields.md" other.json
finish
