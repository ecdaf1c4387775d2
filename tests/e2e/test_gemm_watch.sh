#!/bin/sh
# The matrix products of programs are seen, with their shapes, and their results stay. usage: test_gemm_watch.sh BUILD
. "$(dirname "$0")/lib.sh"
library=$build/libassay-preload.so
reader=$build/tests/model_gemm_read
[ -e "$library" ] || { echo 'skipped: the library is not built'; exit 77; }
# oneDNN 2 dies of instructions that the kernel of some machines does not allow.
export DNNL_MAX_CPU_ISA=AVX512_CORE_BF16 OMP_NUM_THREADS=2 OPENBLAS_NUM_THREADS=2

# watched CASE WORDS COMMAND...: runs it with and without the library; what it prints must be the same.
watched() {
    case=$1 words=$2
    shift 2
    "$@" >"$tmp/plain" 2>"$tmp/plain.err"
    status=$?
    [ "$status" = 77 ] && { echo "skipped: $case: $(head -1 "$tmp/plain.err")"; return 77; }
    [ "$status" = 0 ] || { fail "$case: fails without being watched: $(head -3 "$tmp/plain.err")"; return 1; }
    rm -rf "$tmp/share"
    mkdir -m 700 "$tmp/share"
    ASSAY_SHARE=$tmp/share ASSAY_WATCH=$words LD_PRELOAD=$library "$@" >"$tmp/seen" 2>"$tmp/seen.err" ||
        fail "$case: fails when watched: $(head -3 "$tmp/seen.err")"
    cmp -s "$tmp/plain" "$tmp/seen" || fail "$case: prints something else when watched"
    cmp -s "$tmp/plain.err" "$tmp/seen.err" || fail "$case: says something else when watched: $(head -3 "$tmp/seen.err")"
}

# seen NAME: the products are those of that case.
seen() {
    check "$case: what was seen" "$python" "$here/check_gemm_watch.py" "$reader" "$tmp/share" "$1"
}

multiply=$build/tests/multiply
# Our programs are sanitized there, and the sanitizer wants to be the first library.
if grep -q '^ASSAY_SANITIZE:[A-Z]*=.' "$build/CMakeCache.txt" 2>/dev/null; then
    echo 'without: programs of ours, which have a sanitizer in them'
else
    watched 'OpenBLAS' gemm "$multiply" libopenblas.so.0 && seen blas
    watched 'OpenBLAS, many shapes at once' gemm "$multiply" libopenblas.so.0 threads && seen threads
    watched 'OpenBLAS, watched for something else' follow "$multiply" libopenblas.so.0 && seen nothing
    # Its C functions call its Fortran functions: those are seen once.
    for reference in /usr/lib/*/blas/libblas.so.3; do
        watched 'reference BLAS' gemm "$multiply" "$reference" && seen blas
    done
    # What a driver of LAPACK calls is a part of it; a question for the size of a work space is no call.
    for lapack in /usr/lib/*/lapack/liblapack.so.3 /usr/lib/*/openblas-pthread/liblapack.so.3; do
        [ -e "$lapack" ] && watched "LAPACK ($lapack)" gemm "$build/tests/solve" lapack "$lapack" && seen lapack
    done
    watched 'names of NumPy 2' gemm "$build/tests/solve" scipy "$build/tests/libscipy_stand_in.so" && seen scipy
    watched 'oneDNN' gemm "$build/tests/multiply_dnnl" libdnnl.so.2 && seen dnnl
fi

watched 'NumPy' gemm "$python" -c '
import sys
try:
    import numpy as np
except ImportError:
    print("no NumPy here", file=sys.stderr)
    sys.exit(77)
def ramp(dtype, *shape):
    return (np.arange(np.prod(shape)) % 11 - 5).reshape(shape).astype(dtype)
for i in range(5):
    a = ramp(np.float32, 64, 32) @ ramp(np.float32, 32, 16)
x = ramp(np.float64, 40, 30)
b, c = x @ x.T, x.T @ ramp(np.float64, 40, 7)
for i in range(2):
    d = ramp(np.complex128, 4, 5) @ ramp(np.complex128, 5, 6)
print(a.sum(), (a * a).sum(), (b * b).sum(), (c * c).sum(), (d * d).sum())
' && seen numpy

# A followed child counts its own calls, not those of its parent before.
watched 'NumPy, forked' gemm,follow "$python" -c '
import os, sys
try:
    import numpy as np
except ImportError:
    print("no NumPy here", file=sys.stderr)
    sys.exit(77)
a = np.ones((8, 8), np.float32)
for i in range(3):
    a @ a.copy()
child = os.fork()
if child == 0:
    a @ a.copy()
    os._exit(0)
os.waitpid(child, 0)
' && {
    for share in "$tmp"/share/*.share; do "$reader" "$share" | sed -n 1p | cut -f 1,7; done | sort >"$tmp/forked"
    printf 'cblas_sgemm\t1\ncblas_sgemm\t3\n' | cmp -s - "$tmp/forked" ||
        fail "a followed child: $(tr '\n\t' ', ' <"$tmp/forked")"
}

watched 'PyTorch' gemm "$python" -c '
import sys
try:
    import torch
except ImportError:
    print("no PyTorch here", file=sys.stderr)
    sys.exit(77)
if not torch.backends.mkldnn.is_available():
    print("PyTorch without oneDNN", file=sys.stderr)
    sys.exit(77)
def ramp(*shape):
    return (torch.arange(torch.Size(shape).numel()) % 11 - 5).reshape(shape).float()
for i in range(3):
    a = torch.mm(ramp(64, 32), ramp(32, 16))
x = ramp(2, 8, 10, 10).requires_grad_()
y = torch.nn.functional.conv2d(x, ramp(16, 4, 3, 3), groups=2)
(y * y).sum().backward()
print((a * a).sum().item(), y.sum().item(), x.grad.sum().item())
' && seen torch
finish
