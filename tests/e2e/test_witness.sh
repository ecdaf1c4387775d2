# tests/e2e/test_witness.sh - witnesses and bundles: recomputed by Python from their documented form, signed and
# checked by openssl, changed, cut, moved, and verified by `assay verify` and `assay bundle`.
. "$(dirname "$0")/lib.sh"
make=$build/tests/model_witness
judge="$here/check_witness.py"

mkdir -p "$tmp/run/witness"
cd "$tmp/run/witness" || exit 1
"$make" a.jsonl 30 packed 1700000000000000000 1 || exit 1
"$make" b.jsonl 20 hash 1700000000000000000 2 || exit 1
"$make" c.jsonl 10 full 1700000000000000000 3 || exit 1
check "Python finds the witnesses as documented" "$python" "$judge" witness a.jsonl b.jsonl c.jsonl
for w in a b c; do
    exits 0 "$w is whole" "$assay" verify $w.jsonl
    check "and said to be" grep -q "$w.jsonl: intact" "$tmp/out"
    check "with the head that Python finds" sh -c "'$python' '$judge' witness $w.jsonl | xargs -I@ grep -q 'head @' '$tmp/out'"
done

# The same run at another time has the same chain; another one has not.
"$make" "$tmp/later.jsonl" 30 packed 1800000000000000000 1
"$make" "$tmp/other.jsonl" 30 packed 1700000000000000000 9
head_of() { "$assay" verify --json "$1" | "$python" -c 'import json,sys; print(json.load(sys.stdin)["head"])'; }
check "a later run has the same chain" test "$(head_of a.jsonl)" = "$(head_of "$tmp/later.jsonl")"
check "another run has another" test "$(head_of a.jsonl)" != "$(head_of "$tmp/other.jsonl")"
exits 0 "so they are the same" "$assay" verify a.jsonl --same-as "$tmp/later.jsonl"
check "and said to be" grep -q "identical chain:" "$tmp/out"
exits 1 "and they are not" "$assay" verify a.jsonl --same-as "$tmp/other.jsonl" --json
check "which is told" grep -q '"sentence": "entry 0 differs in q_hash k_hash cut_cost' "$tmp/out"
exits 2 "a bundle is not compared" "$assay" verify --same-as a.jsonl "$tmp"
check "the files differ" sh -c "! cmp -s a.jsonl '$tmp/later.jsonl'"

# A killed run goes on where it was and ends as if it had not been killed.
"$make" "$tmp/killed.jsonl" 17 packed 1700000000000000000 1 kill
exits 1 "an unfinished witness" "$assay" verify "$tmp/killed.jsonl"
check "is said to be unfinished" grep -q "unfinished: the file ends after line 17 without a seal" "$tmp/out"
printf '{"q_hash":"12' >>"$tmp/killed.jsonl"
exits 1 "one cut inside a line" "$assay" verify "$tmp/killed.jsonl"
check "says where" grep -q "line 18: it is truncated" "$tmp/out"
"$make" "$tmp/killed.jsonl" 30 packed 1700000000000000000 1 resume 17
check "resumed it is the same file" cmp a.jsonl "$tmp/killed.jsonl"
exits 1 "an older file is never overwritten" "$make" a.jsonl 1 packed 1 1

# What was done to a witness, and the sentence that tells it.
changed() {
    what=$1 words=$2
    sed "$3" a.jsonl >"$tmp/changed.jsonl"
    exits 1 "$what" "$assay" verify "$tmp/changed.jsonl" --width 200
    check "$what is told: $words" grep -q "$words" "$tmp/out"
}
changed "a dropped line" "line 5: found entry 5, expected entry 4" 5d
changed "a repeated line" "line 6: entry 4 is out of order or repeated" 5p
changed "a moved line" "line 5: found entry 5, expected entry 4" '5{h;d};6G'
changed "a forged number" "line 7: entry_hash does not follow" '7s/"lambda":0.5/"lambda":0.6/'
changed "a forged time" "line 31: the seal does not match" '7s/"timestamp":1700/"timestamp":1600/'
changed "a blank" "line 7: byte 1 of it is unexpected" '7s/{/{ /'
changed "a forged count" "line 31: the seal counts 29 entries" '31s/"entries":30/"entries":29/'
changed "a line after the seal" "line 32: there is data after the seal" '31p'
exits 1 "an empty witness" sh -c ": >'$tmp/empty.jsonl'; '$assay' verify '$tmp/empty.jsonl'"
exits 3 "a file of another kind" "$assay" verify "$here/lib.sh"
exits 3 "a file that is not there" "$assay" verify "$tmp/nowhere.jsonl"
exits 3 "nothing to compute again" "$assay" verify --replay a.jsonl
says "cannot be replayed"
"$assay" verify --json "$tmp/changed.jsonl" >"$tmp/changed.json"
check "the JSON says the same" "$python" -c '
import json, sys
r = json.load(open(sys.argv[1]))
assert r["schema"] == "assay.verify_witness" and r["whole"] is False and r["first_bad_line"] == 32, r
assert r["entries"] == 30 and "after the seal" in r["sentence"]' "$tmp/changed.json"

# Bundles.
echo '{"model_commit":"abc1234","host":"a machine"}' >"$tmp/meta.json"
echo '{"accuracy":0.994}' >"$tmp/stats.json"
exits 0 "packing" "$assay" bundle pack -o all.rvf --meta "$tmp/meta.json" --stats "$tmp/stats.json" a.jsonl b.jsonl c.jsonl
check "Python finds the bundle as documented" "$python" "$judge" bundle all.rvf a.jsonl b.jsonl c.jsonl
exits 0 "the bundle" "$assay" verify all.rvf
check "is whole" grep -q "3 witnesses of 60 entries, 0 breaks" "$tmp/out"
check "and not signed" grep -q "not signed" "$tmp/out"
exits 0 "looking inside" "$assay" bundle inspect all.rvf
check "shows the witnesses" grep -Eq "3 +witness +b.jsonl +1.43 KiB +20" "$tmp/out"
check "shows what is known" grep -q "model_commit  abc1234" "$tmp/out"
check "and what is not" grep -q "weights_hash  unknown" "$tmp/out"
check "within 80 columns" sh -c "! grep -q '.\{81\}' '$tmp/out'"
exits 0 "the same as JSON" "$assay" bundle inspect --json all.rvf
check "is JSON" "$python" -m json.tool "$tmp/out"
exits 0 "the folder" "$assay" verify "$tmp/run"
check "is whole" grep -q "run: intact" "$tmp/out"
exits 0 "taking it apart" "$assay" bundle extract all.rvf -C "$tmp/parts"
check "gives five chains and texts" test "$(cd "$tmp/parts" && echo *)" = "segment-1-metadata.json segment-2-witness.bin segment-3-witness.bin segment-4-witness.bin segment-5-metadata.json segment-6-manifest.json"
check "of the size they have" test "$(wc -c <"$tmp/parts/segment-2-witness.bin")" = 2190
exits 3 "never over what is there" "$assay" bundle extract all.rvf -C "$tmp/parts"
says "--force replaces it"
exits 0 "unless told to" "$assay" bundle extract all.rvf -C "$tmp/parts" --force

# The folder must agree with itself.
cp -r "$tmp/run" "$tmp/swapped"
cp "$tmp/other.jsonl" "$tmp/swapped/witness/a.jsonl"
exits 1 "a witness of another run" "$assay" verify "$tmp/swapped"
check "is not the one in the bundle" grep -q "does not match the content of a.jsonl" "$tmp/out"
cp "$tmp/later.jsonl" "$tmp/swapped/witness/a.jsonl"
exits 1 "nor is one of another time" "$assay" verify "$tmp/swapped"
cp a.jsonl "$tmp/swapped/witness/a.jsonl"
cp "$tmp/other.jsonl" "$tmp/swapped/witness/d.jsonl"
exits 1 "a witness in no bundle" "$assay" verify "$tmp/swapped" --json
check "is told as JSON too" "$python" -c '
import json, sys
r = json.load(open(sys.argv[1]))
assert [f["name"] for f in r["files"] if not f["whole"]] == ["d.jsonl"], r' "$tmp/out"
rm "$tmp/swapped/witness/d.jsonl" "$tmp/swapped/witness/b.jsonl"
exits 1 "a bundle with a witness too many" "$assay" verify "$tmp/swapped"
exits 3 "a folder of something else" "$assay" verify "$tmp"

# Signatures.
if command -v openssl >/dev/null; then
    openssl genpkey -algorithm ed25519 -out "$tmp/key.pem" 2>/dev/null
    openssl pkey -in "$tmp/key.pem" -pubout -out "$tmp/public.pem"
    openssl genpkey -algorithm ed25519 -out "$tmp/other.pem" 2>/dev/null
    openssl pkey -in "$tmp/other.pem" -pubout -out "$tmp/other-public.pem"
    openssl genpkey -algorithm rsa -pkeyopt rsa_keygen_bits:2048 -out "$tmp/rsa.pem" 2>/dev/null
    openssl pkey -in "$tmp/key.pem" -aes128 -passout pass:secret -out "$tmp/locked.pem"
    exits 0 "signing" "$assay" bundle pack -o "$tmp/s.rvf" --sign-key "$tmp/key.pem" --meta "$tmp/meta.json" \
        --stats "$tmp/stats.json" a.jsonl b.jsonl c.jsonl
    check "Python finds it as documented" "$python" "$judge" signed "$tmp/s.rvf" "$tmp/part" "$tmp/signature" a.jsonl b.jsonl c.jsonl
    check "openssl accepts the signature" openssl pkeyutl -verify -pubin -inkey "$tmp/public.pem" -rawin \
        -in "$tmp/part" -sigfile "$tmp/signature"
    exits 0 "without a key" "$assay" bundle verify "$tmp/s.rvf"
    check "it is told that nobody was proven" grep -q "owner" "$tmp/out"
    exits 0 "with the key" "$assay" bundle verify "$tmp/s.rvf" --public-key "$tmp/public.pem"
    check "it is proven" grep -q "signed with the given key" "$tmp/out"
    exits 1 "with another key" "$assay" bundle verify "$tmp/s.rvf" --public-key "$tmp/other-public.pem"
    check "it is not" grep -q "another key" "$tmp/out"
    exits 1 "an unsigned one with a key" "$assay" verify all.rvf --public-key "$tmp/public.pem"
    # A folder of witnesses alone is proven by the chains in its bundle.
    cp -r "$tmp/run" "$tmp/proven" && rm "$tmp/proven/witness/all.rvf"
    exits 1 "a folder without a bundle and a key" "$assay" verify "$tmp/proven" --public-key "$tmp/public.pem"
    cp "$tmp/s.rvf" "$tmp/proven/witness/s.rvf"
    exits 0 "a folder with a signed bundle" "$assay" verify "$tmp/proven" --public-key "$tmp/public.pem"
    exits 1 "and another key" "$assay" verify "$tmp/proven" --public-key "$tmp/other-public.pem"
    echo text >"$tmp/proven/notes.txt"
    exits 1 "a file that the bundle does not hold" "$assay" verify "$tmp/proven" --public-key "$tmp/public.pem"
    grep -q "notes.txt: no signed bundle of the folder proves it" "$tmp/out" || fail "which file is not said"
    exits 0 "is not looked at without a key" "$assay" verify "$tmp/proven"
    rm "$tmp/proven/notes.txt"
    cp "$tmp/later.jsonl" "$tmp/proven/witness/a.jsonl"
    exits 1 "a witness exchanged" "$assay" verify "$tmp/proven" --public-key "$tmp/public.pem"
    exits 3 "a key of another kind" "$assay" bundle pack -o "$tmp/r.rvf" --sign-key "$tmp/rsa.pem" a.jsonl
    says "is not an Ed25519 key"
    exits 3 "a key with a passphrase" "$assay" bundle pack -o "$tmp/r.rvf" --sign-key "$tmp/locked.pem" a.jsonl
    says "has a passphrase"
    check "and nothing was written" test ! -e "$tmp/r.rvf"
    "$python" - "$tmp/s.rvf" "$tmp/forged.rvf" <<'PY'
import sys
data = bytearray(open(sys.argv[1], "rb").read())
data[data.index(b"}", data.rindex(b'"public_key"')) + 10] ^= 1  # a byte of the signature, behind the manifest
open(sys.argv[2], "wb").write(data)
PY
    exits 1 "a forged signature" "$assay" bundle verify "$tmp/forged.rvf" --json
    check "does not fit" grep -q '"signature": "broken"' "$tmp/out"
fi

# Damage and wrong use.
"$python" -c '
import sys
data = bytearray(open("all.rvf", "rb").read())
data[1500] ^= 4
open(sys.argv[1] + "/bad.rvf", "wb").write(data)
open(sys.argv[1] + "/cut.rvf", "wb").write(data[:700])
data[0] = 0
open(sys.argv[1] + "/magic.rvf", "wb").write(data)' "$tmp"
for bad in bad cut magic; do
    exits 1 "a damaged bundle ($bad)" "$assay" verify "$tmp/$bad.rvf"
    exits 1 "the same with bundle verify" "$assay" bundle verify "$tmp/$bad.rvf"
done
exits 3 "a damaged one is not taken apart" "$assay" bundle extract "$tmp/bad.rvf" -C "$tmp/never"
says "not intact"
exits 3 "a broken witness is not packed" "$assay" bundle pack -o "$tmp/n.rvf" "$tmp/changed.jsonl"
says "is not intact"
exits 2 "no such action" "$assay" bundle pak -o x a.jsonl
says "pack"
exits 2 "an option of another action" "$assay" bundle inspect --force all.rvf
says "has no option --force"
exits 2 "no output" "$assay" bundle pack a.jsonl
exits 2 "no folder" "$assay" bundle extract all.rvf
exits 2 "an output instead" "$assay" bundle extract all.rvf -C "$tmp/never" -o "$tmp/never"
exits 0 "a witness as a table" "$assay" verify --format csv a.jsonl --same-as a.jsonl
check "has a row for each check" test "$(cut -d, -f2-4 "$tmp/out" | tr '\n' ' ')" = "kind,check,result witness,whole,ok witness,same_as,ok "
exits 0 "a bundle as a table" "$assay" verify --format csv all.rvf
check "has its signature" grep -q "^all.rvf,bundle,signature," "$tmp/out"
exits 2 "a key for what is not signed" "$assay" verify a.jsonl --public-key "$tmp/meta.json"
says "nothing else is signed"
exits 3 "a full disk" "$assay" bundle pack -o /dev/full a.jsonl
says "/dev/full"
exits 2 "two files" "$assay" bundle inspect all.rvf all.rvf
exits 3 "a witness is no bundle" "$assay" bundle inspect a.jsonl
exits 3 "nor is a folder" "$assay" bundle inspect "$tmp"
says "is not a regular file"
cd / || exit 1
finish
