# tests/e2e/test_advice.sh - models whose right first recommendation is obvious: each is run, and what is recommended is held
# against the table. Where the machine is too busy for a steady measurement a model is tried again, and then left out: most
# of the table must have been judged.
. "$(dirname "$0")/lib.sh"
export XDG_CACHE_HOME="$tmp/cache" HOME="$tmp/home"
models=${ASSAY_MODELS:-$here/../../../shared/models}
[ -d "$models" ] || models=/nowhere
"$python" "$here/check_advice.py" "$assay" "$models" "$tmp" >"$tmp/out" 2>&1
status=$?
[ "$status" -eq 77 ] && { tail -n 2 "$tmp/out"; exit 77; }
check "every first recommendation is the right one" [ "$status" -eq 0 ]
[ "$status" -eq 0 ] || cat "$tmp/out"
finish
