#!/bin/sh
# Outputs that a profile writes, compares, bisects and searches for NaN, as NumPy and ONNX read them. usage: test_kept_outputs.sh BUILD
set -eu
here=$(cd "$(dirname "$0")" && pwd)
/usr/bin/python3 -c 'import numpy, onnx' 2>/dev/null || { echo 'skipped: no NumPy or no ONNX here'; exit 77; }
work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
export XDG_CACHE_HOME="$work/cache" HOME="$work/home" LC_ALL=C.UTF-8
unset ASSAY_ALLOC_FAIL ASSAY_ALLOC_COUNT || :
/usr/bin/python3 "$here/check_kept_outputs.py" "$1/assay" "$work"
