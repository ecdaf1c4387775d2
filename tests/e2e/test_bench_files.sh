#!/bin/sh
# The CSV files of a benchmark and the files beside them, judged by Python. usage: test_bench_files.sh BUILD
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
/usr/bin/python3 "$here/check_bench_files.py" "$1/tests/program_bench_files" "$work"
