# tests/e2e/test_explain.sh - `assay explain`: every column, every sort key and every rule has an explanation.
. "$(dirname "$0")/lib.sh"
src=$here/../../src

"$assay" explain --json >"$tmp/explain.json" && "$assay" help --json >"$tmp/help.json" || exit 1
check "every column, sort key and rule is explained" "$python" - "$tmp/explain.json" "$tmp/help.json" "$src/analyze" <<'PY'
import glob, json, re, sys
known = {e["word"]: e["meaning"] for e in json.load(open(sys.argv[1]))["words"]}
wanted = set()
for command in json.load(open(sys.argv[2]))["commands"]:
    for option in command["options"]:
        if option["name"] in ("columns", "sort"):
            wanted |= set(option["words"])
rules = set()
for path in glob.glob(sys.argv[3] + "/**/*.c", recursive=True):
    text = open(path).read()
    rules |= set(re.findall(r'\.rule = "([a-z-]+)"', text))
    if re.search(r"(recommend|advice|_causes)\w*\.c$", path):
        rules |= set(re.findall(r'"([a-z]+(?:-[a-z]+)+)"', text))
assert len(rules) > 15 and len(wanted) > 40, (len(rules), len(wanted))
missing = sorted(w for w in wanted | rules if not known.get(w))
assert not missing, missing
PY
exits 0 "a term" "$assay" explain roofline
check "its meaning is printed" grep -q "measured on this machine" "$tmp/out"
exits 0 "a rule" "$assay" explain far-below-roof
check "with what to do" grep -q "Do:" "$tmp/out"
exits 0 "letter case, hyphens and other names do not matter" "$assay" explain Arithmetic-Intensity
check "it is the same term" grep -q "FLOPs / bytes" "$tmp/out"
exits 0 "the glossary" "$assay" explain --format markdown
check "docs/glossary.md is what it prints" cmp "$tmp/out" "$src/../docs/glossary.md"
exits 2 "a word with a slip" "$assay" explain roofine
says "did you mean 'roofline'?"
check "bash completes the words" sh -c "'$assay' completion bash | sed -n '/^    explain:\*/,/;;/p' | grep -q far-below-roof"
finish
