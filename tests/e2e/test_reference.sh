# tests/e2e/test_reference.sh - counts against published figures: the zoo always, the model set where it is.
. "$(dirname "$0")/lib.sh"

models=${ASSAY_MODELS:-$here/../../../shared/models}
[ -d "$models" ] || {
    echo "the folder of model files is absent: real files are left out"
    models=
}
check "parameters and MACs are those of the reference" "$python" "$here/check_reference.py" "$assay" $models
cat "$tmp/check.out"
finish
