#!/bin/sh
# The example that measures a function and a network says what it promises. usage: test_measure.sh BUILD
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$1/examples/measure" --quick >"$work/out"
expect() { grep -qE "$1" "$work/out" || { echo "no line with: $1"; cat "$work/out"; exit 1; }; }
expect '^dot product: [0-9.]+ us, 95 % CI [0-9.]+ to [0-9.]+ us, [0-9]+ samples of [0-9]+ calls'
expect '^Parameters   136,714$' # 256 x 512 + 512 + 512 x 10 + 10
expect '^FLOPs        2\.19 MFLOP$' # 2 x 8 x (256 x 512 + 512 x 10)
expect '^Latency      [0-9.]+ ms '
expect '^Memory       [0-9.]+ MB'
expect '^Bottleneck   (compute|memory|overhead)$'
expect '^Efficiency   [0-9.]+ % of'
expect '^  fc1.* ms .* GFLOP/s$'
expect '^  fc2.* ms .* GFLOP/s$'
