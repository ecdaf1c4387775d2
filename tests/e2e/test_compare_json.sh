#!/bin/sh
# A comparison of backends as JSON, judged by Python's reader. usage: test_compare_json.sh BUILD
set -eu
here=$(cd "$(dirname "$0")" && pwd)
/usr/bin/python3 "$here/check_compare_json.py" "$1/tests/model_compare"
