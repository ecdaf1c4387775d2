# tests/e2e/test_max_isa.sh - caps on instruction sets: the lowest of the option, the variables and the processor is what oneDNN
# and our kernels report, peaks and results belong to it, and outputs agree with those of all instructions.
. "$(dirname "$0")/lib.sh"
export XDG_CACHE_HOME="$tmp/cache" HOME="$tmp/home"
unset ASSAY_MAX_ISA ONEDNN_MAX_CPU_ISA DNNL_MAX_CPU_ISA

hardware=$(reported kernel_isa)
order='generic sse41 avx avx2 avx2_vnni avx512_core avx512_core_vnni avx512_core_bf16'
rank() { echo "$order" | tr ' ' '\n' | grep -nx "$1" | cut -d: -f1; }
# lower A B: the lower of two levels.
lower() { if [ "$(rank "$1")" -le "$(rank "$2")" ]; then echo "$1"; else echo "$2"; fi; }
[ "$(rank "$hardware")" -ge 2 ] || {
    echo "skipped: the processor reports $hardware, which cannot be capped"
    exit 77
}

# is WANTED SOURCE SENTENCE [OPTIONS...]: what a profile reports; SOURCE is checked where the cap is below the hardware.
is() {
    wanted=$(lower "$1" "$hardware") source=$2 sentence=$3
    shift 3
    [ "$wanted" != "$hardware" ] || source=None
    got=$(reported kernel_isa "$@")
    [ "$got" = "$wanted" ] || fail "$sentence: kernels report $got, not $wanted"
    got=$(reported kernel_isa_capped_by "$@")
    [ "$got" = "$source" ] || fail "$sentence: capped by $got, not $source"
    got=$(reported library "$@")
    case $got in
    *", $wanted" | None) ;;
    *) fail "$sentence: the library reports $got, not $wanted" ;;
    esac
}
is "$hardware" None "nothing is capped"
for isa in sse41 avx avx2 avx512_core; do
    is "$isa" --max-isa "--max-isa $isa" --max-isa "$isa"
done
is avx512_core --max-isa "upper case and a short name" --max-isa AVX512
export ASSAY_MAX_ISA=sse41
is sse41 ASSAY_MAX_ISA "ASSAY_MAX_ISA alone"
is sse41 ASSAY_MAX_ISA "ASSAY_MAX_ISA below the option" --max-isa avx2
export ASSAY_MAX_ISA=AVX2
is sse41 --max-isa "the option below ASSAY_MAX_ISA" --max-isa sse41
export DNNL_MAX_CPU_ISA=SSE41
is sse41 DNNL_MAX_CPU_ISA "DNNL_MAX_CPU_ISA below both" --max-isa avx
unset ASSAY_MAX_ISA
is sse41 DNNL_MAX_CPU_ISA "DNNL_MAX_CPU_ISA alone"
export DNNL_MAX_CPU_ISA=ALL ONEDNN_MAX_CPU_ISA=AVX
is avx ONEDNN_MAX_CPU_ISA "ONEDNN_MAX_CPU_ISA, the newer name"
export ONEDNN_MAX_CPU_ISA=nonsense
is "$hardware" None "what oneDNN ignores is ignored"
unset DNNL_MAX_CPU_ISA ONEDNN_MAX_CPU_ISA

# Wrong use is answered with the list.
list='sse41, avx, avx2, avx2_vnni, avx512_core, avx512_core_vnni, avx512_core_bf16'
for command in 'profile zoo:mlp' 'sweep --batch 1,2 zoo:mlp' 'bench zoo:mlp' 'machine --quick'; do
    # shellcheck disable=SC2086
    exits 2 "an unknown level, $command" "$assay" $command --max-isa avx3
    says "--max-isa cannot be 'avx3'; it is one of $list"
    # shellcheck disable=SC2086
    exits 2 "an unknown level in the environment, $command" env ASSAY_MAX_ISA= "$assay" $command
    says "ASSAY_MAX_ISA cannot be ''; it is one of $list"
done
exits 2 "a command has kernels of its own" "$assay" bench --max-isa avx --grid a=1 -- true
says "--max-isa caps assay's own kernels"

# Pages and files name it.
exits 0 "a capped page" "$assay" profile --no-roofline --no-history --iterations 2 --max-isa sse41 zoo:mlp
if [ "$hardware" != sse41 ]; then
    check "names the cap" grep -q "capped at sse41 by --max-isa; the CPU has $hardware" "$tmp/out"
fi
exits 0 "kernels in plain C" "$assay" profile --no-roofline --no-history --iterations 2 --kernels reference --max-isa sse41 zoo:mlp
check "name it too" grep -q 'plain C kernels, sse41' "$tmp/out"
exits 0 "a capped bench" "$assay" bench --iterations 2 --json --max-isa sse41 --output-dir "$tmp/bench" zoo:mlp
check "has it in its results and its fingerprint" "$python" -c "
import json
b = json.load(open('$tmp/out'))
assert b['kernel_isa'] == b['fingerprint']['kernel_isa'] == 'sse41', b
assert b['kernel_isa_hardware'] == '$hardware'" "$tmp/out"
if [ "$hardware" != sse41 ]; then
    exits 3 "samples of two instruction sets are not mixed" "$assay" bench --iterations 2 --resume --output-dir "$tmp/bench" zoo:mlp
    says 'another value of kernel_isa'
fi

# The page of a sweep too.
exits 0 "a sweep" "$assay" sweep zoo:mlp --threads 1,2 --time 0.2 --max-isa sse41
check "reports the cap" grep -q 'kernels sse41' "$tmp/out"

# Peaks belong to an instruction set.
for isa in sse41 "$hardware"; do
    exits 0 "peaks of $isa" "$assay" machine --quick --threads 1 --json --max-isa "$isa"
    cp "$tmp/out" "$tmp/$isa.json"
done
check "peaks are those of the capped kernels" "$python" -c "
import json
low, high = (json.load(open('$tmp/' + n + '.json')) for n in ('sse41', '$hardware'))
assert low['cpu']['kernel_isa'] == 'sse41' and high['cpu']['kernel_isa'] == '$hardware'
text = json.dumps(low['peaks'])
assert 'avx' not in text.replace('capped below AVX512_BF16', ''), text
assert ('$hardware' == 'sse41') == (low['peaks']['fingerprint'] == high['peaks']['fingerprint'])"

# Outputs agree: the same inputs, every level that the processor has.
fused=$build/tests/model_fused
for model in zoo:mlp "zoo:squeezenet1_1:size=64" zoo:lstm-tagger; do
    "$fused" --library -p "$model" >"$tmp/native" 2>&1 || fail "$model runs: $(tail -1 "$tmp/native")"
    for isa in sse41 avx avx2 avx512_core; do
        ASSAY_MAX_ISA=$isa "$fused" --library -p "$model" >"$tmp/capped" 2>&1 || fail "$model runs with $isa: $(tail -1 "$tmp/capped")"
        check "$model gives the same with $isa" "$python" -c "
rows = [[float(l.split()[1]) for l in open(f) if l[0].isdigit()] for f in ('$tmp/native', '$tmp/capped')]
assert len(rows[0]) == len(rows[1]) > 0
most = max(map(abs, rows[0]))
assert max(abs(a - b) for a, b in zip(*rows)) <= 1e-4 * most"
    done
done
finish
