#!/bin/sh
# Ctrl-C while something is measured: the first prints the partial result, the second ends at once. usage: test_interrupt.sh BUILD
. "$(dirname "$0")/lib.sh"
cd "$tmp" || exit 1
"$python" "$here/check_interrupt.py" "$assay" || fail "interruption"
finish
