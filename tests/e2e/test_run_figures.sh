# tests/e2e/test_run_figures.sh - the figures of `assay run` against what programs and the system say themselves.
. "$(dirname "$0")/lib.sh"
check "figures are right" "$python" "$here/check_run_figures.py" "$(cd "$build" && pwd)/assay" "$tmp"
finish
