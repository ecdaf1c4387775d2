#!/bin/sh
# `assay verify FOLDER`: every file is listed and signed, results follow from the samples, and what is absent, changed,
# exchanged or added is a failure. usage: test_provenance.sh BUILD
. "$(dirname "$0")/lib.sh"
cd "$tmp" || exit 1
small="--workload attention --iterations 4 --short-max-len 16 --long-min-len 20 --long-max-len 30 --steps 2 --head-dim 8
 --lambda 0.3,0.5 --tau 0 --threads 1 --quiet"
for key in key other; do
    openssl genpkey -algorithm ed25519 -out $key.pem 2>/dev/null &&
        openssl pkey -in $key.pem -pubout -out $key.pub || fail "openssl"
done

# One signed folder of each workload; a model counts as a grid.
"$assay" bench $small --power constant:75W --sign-key key.pem --output-dir attention >out 2>err
"$assay" bench --iterations 3 --quiet --sign-key key.pem --output-dir commands 'true' 'echo a' >out 2>err
"$assay" bench --iterations 3 --quiet --sign-key key.pem --output-dir grid -g n=1,2 -- echo '{n}' >out 2>err
"$assay" bench --iterations 3 --quiet --sign-key key.pem --output-dir model -g threads=1 zoo:mlp >out 2>err
for folder in attention commands grid model; do
    exits 0 "$folder is intact" "$assay" verify $folder
    exits 0 "$folder is proven" "$assay" verify --json --public-key key.pub $folder
    check "every file of $folder is proven and listed" "$python" -c '
import json, os, sys
r = json.load(open("out"))
there = {os.path.relpath(os.path.join(d, f), sys.argv[1]) for d, _, files in os.walk(sys.argv[1]) for f in files}
assert {f["path"] for f in r["files"]} == there, there
assert all(f["proven"] and f["listed"] and not f["missing"] for f in r["files"])
assert r["signature"] == "proven" and r["files_listed"] == len(there)
again = {f["path"] for f in r["files"] if f["recomputed"]}
assert {"run.assay", "journal.jsonl", "results.json", "summary.md", "fingerprint.json"} <= again, again
assert all(p in again for p in there if p.endswith(".svg")), again
assert all(p in again for p in there if p.endswith(".csv") and not p.endswith(("memory.csv", "power.csv"))), again' $folder
    exits 1 "$folder with another key" "$assay" verify --public-key other.pub $folder
    grep -q "another key" out || fail "the other key is not named"
    for file in $(cd $folder && find . -type f | grep -v -e 'mincut_l0.5_t0.*csv' -e 'baseline.*csv.meta' | cut -c3-); do
        rm -rf less && cp -r $folder less && rm "less/$file"
        exits 1 "$folder without $file, with the key" "$assay" verify --public-key key.pub less
        case $file in
        bundle.rvf) exits 0 "$folder without its bundle is not signed" "$assay" verify less
            grep -q "not signed" out || fail "that it is not signed is not said" ;;
        *) exits 1 "$folder without $file" "$assay" verify less
            grep -q "it is missing" out || grep -q "lacks a witness" out || fail "that $file is missing is not said" ;;
        esac
        rm -rf less && cp -r $folder less && printf ' ' >>"less/$file"
        exits 1 "$folder with a byte behind $file" "$assay" verify --public-key key.pub less
        exits 1 "$folder with a byte behind $file, without the key" "$assay" verify less
    done
done

# A bundle that is gone takes the witness with it: no signature, no proof.
cp -r attention bare && rm bare/witness/witness.rvf
exits 1 "a folder whose bundle was removed" "$assay" verify --public-key key.pub bare
grep -q "no bundle of the folder is signed with the given key" out || fail "that nothing is signed is not said"
"$assay" bench $small --seed 7 --output-dir seven >out 2>err
cp seven/witness/mincut_l0.3_t0.jsonl bare/witness/
exits 1 "and whose witness is another's" "$assay" verify --public-key key.pub bare
cp -r attention swapped && cp seven/witness/mincut_l0.3_t0.jsonl swapped/witness/
exits 1 "a witness of another experiment" "$assay" verify --width 200 swapped
grep -q "does not match the content of mincut_l0.3_t0.jsonl" out || fail "which witness is not said"

# Signed anew by somebody else, and not at all.
cp -r attention again
"$assay" bench $small --power constant:75W --sign-key other.pem --resume --output-dir again >out 2>err
exits 0 "signed with the other key" "$assay" verify --public-key other.pub again
exits 1 "is not signed with ours" "$assay" verify --public-key key.pub again
exits 1 "an unsigned folder with a key" "$assay" verify --public-key key.pub seven
exits 0 "an unsigned folder is consistent" "$assay" verify seven
grep -q "not signed" out || fail "that it is not signed is not said"
mkdir empty && exits 1 "an empty folder with a key" "$assay" verify --public-key key.pub empty
exits 3 "an empty folder" "$assay" verify empty
exits 3 "a key that is not there" "$assay" verify --public-key nowhere.pub attention
exits 0 "resuming a signed folder without its key" "$assay" bench --iterations 3 --quiet --resume --output-dir commands 'true' 'echo a'
exits 0 "leaves it proven" "$assay" verify --public-key key.pub commands

# Files of nobody.
for name in notes.txt csv/extra.csv witness/extra.jsonl deep/er/file .hidden; do
    rm -rf more && cp -r attention more && mkdir -p "more/$(dirname $name)" && echo 1 >"more/$name"
    exits 1 "an extra file $name" "$assay" verify --json more
    "$python" -c 'import json, sys
assert [f["path"] for f in json.load(open("out"))["files"] if not f["listed"]] == [sys.argv[1]]' $name || fail "$name is not named"
done
rm -rf more && cp -r attention more && ln -sf /etc/passwd more/results.json
exits 1 "a link in place of a file" "$assay" verify more
grep -q "not a regular file" out || fail "that it is a link is not said"
echo 1 >seven/notes.txt
"$assay" bench --iterations 3 --quiet --output-dir plain 'true' 'echo a' >out 2>err
exits 0 "without a bundle" "$assay" verify plain
echo 1 >plain/notes.txt
exits 0 "a file nobody lists" "$assay" verify --json plain
"$python" -c 'import json
f = {f["path"]: f for f in json.load(open("out"))["files"]}["notes.txt"]
assert not f["proven"] and not f["listed"] and not f["recomputed"]' || fail "it counts as proven"
"$assay" verify plain | grep -q "notes.txt.*unchecked" || fail "it is not said to be unchecked"
rm plain/notes.txt

# Nothing is signed: results are held against the samples, samples against the journal.
for file in results.json results.csv summary.md fingerprint.json latency.svg; do
    rm -rf forged && cp -r plain forged && rm forged/$file
    exits 1 "an unsigned folder without $file" "$assay" verify forged
    rm -rf forged && cp -r plain forged && printf '\n' >>forged/$file
    exits 1 "an unsigned folder with another $file" "$assay" verify forged
    grep -q "$file: it differs from what the samples" out || fail "what differs is not said: $(cat out)"
done
for file in run.assay journal.jsonl; do
    rm -rf forged && cp -r plain forged && rm forged/$file
    exits 1 "an unsigned folder without $file" "$assay" verify forged
done
"$assay" bench --iterations 3 --quiet --output-dir second 'true' 'echo a' >out 2>err
rm -rf forged && cp -r plain forged && cp second/run.assay second/results.json second/results.csv second/summary.md second/fingerprint.json second/latency.svg forged/
exits 1 "results of other samples" "$assay" verify forged
grep -q "are not those of the journal" out || fail "that the samples differ is not said: $(cat out)"
rm -rf forged && cp -r plain forged && sed -i '$d' forged/journal.jsonl
exits 1 "a journal that lost a sample" "$assay" verify forged
exits 2 "a signature without a folder" "$assay" bench --sign-key key.pem 'true' 'echo a'
says "--sign-key needs the folder"
finish
