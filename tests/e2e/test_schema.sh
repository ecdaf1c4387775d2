# tests/e2e/test_schema.sh - `assay help schema`: the stored schemas are those printed, and documents keep to
# them, judged by python3-jsonschema.
. "$(dirname "$0")/lib.sh"

docs=$here/../../docs/schema
names=$("$assay" help schema | sed -n 's/^  \([a-z_]*\) .*/\1/p')
[ -n "$names" ] || fail "there are schemas"
for name in $names; do
    check "docs/schema/$name.json is what is printed: assay help schema $name >docs/schema/$name.json" \
        sh -c '"$1" help schema "$2" | cmp - "$3/$2.json"' sh "$assay" "$name" "$docs"
done
check "nothing else is stored" test "$(ls "$docs" | sed 's/\.json//' | sort | tr '\n' ' ')" = \
    "$(printf '%s\n' $names | sort | tr '\n' ' ')"
exits 2 "a schema that is none" "$assay" help schema nothing

export XDG_CACHE_HOME="$tmp/cache" HOME="$tmp/home"
"$assay" profile zoo:mlp --iterations 5 --no-roofline --no-history --json >"$tmp/profile.json" 2>/dev/null
"$assay" profile zoo:llama --iterations 3 --json --top 3 >"$tmp/profile-2.json" 2>/dev/null
"$assay" sweep zoo:mlp --batch 1,2 --iterations 3 --no-roofline --json >"$tmp/sweep.json" 2>/dev/null
"$assay" sweep zoo:mlp --shape input=1x784,0x784 --iterations 3 --max-latency 0.0001 --json >"$tmp/sweep-2.json" 2>/dev/null
"$assay" machine --quick --threads 1 --json >"$tmp/machine.json" 2>/dev/null
"$assay" machine --operations --quick --size 32 --json >"$tmp/operations.json" 2>/dev/null
"$assay" machine --overhead --quick --json >"$tmp/overhead.json" 2>/dev/null
for name in $names; do
    [ -s "$tmp/$name.json" ] || fail "there is a document of $name"
done
check "documents keep to their schemas" "$python" - "$docs" "$tmp" <<'PYTHON'
import glob, json, os, sys
import jsonschema

docs, tmp = sys.argv[1:]
for path in sorted(glob.glob(tmp + "/*.json")):
    document = json.load(open(path))
    schema = json.load(open(os.path.join(docs, document["schema"].removeprefix("assay.") + ".json")))
    jsonschema.Draft202012Validator.check_schema(schema)
    judge = jsonschema.Draft202012Validator(schema)
    for error in judge.iter_errors(document):
        raise SystemExit(f"{path}: {list(error.path)}: {error.message[:200]}")
    # The judge can say no: an unknown key, and a missing one.
    assert not judge.is_valid({**document, "unknown": 1})
    assert not judge.is_valid({k: v for k, v in document.items() if k != "schema"})
PYTHON
finish
