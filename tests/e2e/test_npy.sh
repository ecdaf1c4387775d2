#!/bin/sh
# Tensors written by NumPy are read as NumPy reads them. usage: test_npy.sh BUILD
set -eu
here=$(cd "$(dirname "$0")" && pwd)
/usr/bin/python3 -c 'import numpy' 2>/dev/null || { echo 'skipped: no NumPy here'; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
/usr/bin/python3 "$here/check_npy.py" "$1/tests/model_npy" "$work"
