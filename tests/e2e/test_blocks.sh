# tests/e2e/test_blocks.sh - the numbers behind quantised blocks, judged by NumPy.
. "$(dirname "$0")/lib.sh"

check "blocks are what NumPy makes of them" "$python" "$(dirname "$0")/check_blocks.py" "$1/tests/model_blocks"
exits 1 "a type that cannot be read" "$1/tests/model_blocks" iq2_xxs </dev/null
finish
