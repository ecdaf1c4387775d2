#!/usr/bin/env bash
# Installs the tree, moves it, and builds consumers against it by pkg-config and by CMake. usage: installed.sh BUILD
set -euo pipefail
build=$1
here=$(cd "$(dirname "$0")" && pwd)
if grep -q '^ASSAY_SANITIZE:STRING=.' "$build/CMakeCache.txt"; then
    echo 'skipped: a sanitized library needs sanitized consumers'
    exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "installed.sh: $1" >&2; exit 1; }

DESTDIR=$work/stage cmake --install "$build" --prefix /opt/assay >/dev/null
mv "$work/stage/opt/assay" "$work/tree" # relocatable: nothing may remember /opt/assay
lib=$(dirname "$(find "$work/tree" -name libassay-trace.so)")
export PKG_CONFIG_PATH=$lib/pkgconfig LD_LIBRARY_PATH=$lib
! grep -rq '/opt/assay' "$lib/pkgconfig" || fail 'a package file remembers where it was installed'

strict=(-Wall -Wextra -Wpedantic -Werror)
check() { # PROGRAM LAYER: runs it, and the report must know the layer
    "$1" "$work/run.assay" >/dev/null || fail "$1 failed"
    "$work/tree/bin/assay" report "$work/run.assay" --json | grep -q "\"name\": \"$2\"" || fail "$1: no layer $2"
}
for name in assay-trace assay; do
    cc -std=gnu11 "${strict[@]}" "$here/consumer.c" $(pkg-config --cflags --libs $name) -o "$work/$name-c"
    check "$work/$name-c" inner
    c++ -std=c++17 "${strict[@]}" "$here/consumer.cpp" $(pkg-config --cflags --libs $name) -o "$work/$name-cpp"
    check "$work/$name-cpp" throwing
    cc -std=c11 "${strict[@]}" "$here/consumer.c" $(pkg-config --cflags $name) "$lib/lib$name.a" \
        $(pkg-config --static --libs-only-l $name | sed "s/-l$name//") -pthread -o "$work/$name-static"
    env -u LD_LIBRARY_PATH "$work/$name-static" "$work/run.assay" >/dev/null || fail "static $name"
done

# A program may have functions of the names that the archives use inside.
private() { pkg-config --static --libs-only-l "$1" | sed -E 's/-lassay(-[a-z]+)?//g'; }
own() { # NAME ARCHIVES... -- FLAGS...
    local name=$1 archives=() && shift
    while [ "$1" != -- ]; do archives+=("$lib/lib$1.a") && shift; done
    cc -std=gnu11 "${strict[@]}" "${@:2}" "$here/own_names.c" -I"$work/tree/include" "${archives[@]}" $(private assay) \
        -pthread -o "$work/own-$name" || fail "a program with an as_free() of its own does not link with $name"
    env -u LD_LIBRARY_PATH "$work/own-$name" "$work/run.assay" || fail "own names and $name"
}
own trace assay-trace --
own whole assay -- -DWHOLE
own both assay assay-trace -- -DWHOLE
own experiment assay-experiment assay -- -DWHOLE -DEXPERIMENT
cc -std=gnu11 "${strict[@]}" -DWHOLE -DEXPERIMENT "$here/own_names.c" $(pkg-config --cflags --libs assay-experiment) \
    -o "$work/own-shared"
"$work/own-shared" "$work/run.assay" || fail 'own names and the shared libraries'

c++ -std=c++17 "${strict[@]}" "$here/model.cpp" $(pkg-config --cflags --libs assay) -o "$work/model-cpp"
"$work/model-cpp" >/dev/null || fail 'a network described in C++ is not counted right'

cc -shared -fPIC "${strict[@]}" "$here/plugin.c" $(pkg-config --cflags --libs assay-trace) -o "$work/plugin.so"
cc -std=gnu11 -Wall -Werror "$here/host.c" $(pkg-config --cflags --libs assay-trace) -ldl -o "$work/host"
"$work/host" "$work/run.assay" "$work/plugin.so"
"$work/tree/bin/assay" report "$work/run.assay" --json | grep -q '"name": "plugin"' || fail 'a plugin was not recorded'

cmake -S "$here" -B "$work/cmake" -DCMAKE_PREFIX_PATH="$work/tree" >/dev/null
cmake --build "$work/cmake" >/dev/null
for program in "$work"/cmake/{trace-c,whole-c}-{shared,static}; do check "$program" inner; done
for program in "$work"/cmake/named-{trace,whole,archive}; do check "$program" inner; done
for program in "$work"/cmake/trace-cpp-{shared,static}; do check "$program" throwing; done
for program in "$work"/cmake/experiment{,-static}; do check "$program" inner; done

# Only what the headers promise leaves the libraries, and the recorder needs libc alone.
for name in assay-trace assay assay-experiment; do
    if nm -D --defined-only "$lib/lib$name.so" | awk '{print $3}' | grep -vE '^(assay_[a-z0-9_]*@@ASSAY_0\.1|ASSAY_0\.1(@@.*)?|_init|_fini)$'; then
        fail "lib$name.so exports more than assay_*, or a symbol without its version"
    fi
done
# The experiments' functions are in their library, and in no other.
for name in assay assay-experiment; do nm -D --defined-only "$lib/lib$name.so" | sed 's/.* //; s/@.*//' >"$work/$name.names"; done
for function in assay_witness_verify assay_bundle_pack assay_attn_new assay_csv_read_any; do
    grep -qx $function "$work/assay-experiment.names" || fail "libassay-experiment has no $function"
    ! grep -qx $function "$work/assay.names" || fail "libassay has $function"
done
# The headers and the package are of one version.
told=$(printf '#include <assay/error.h>\nASSAY_VERSION_MAJOR.ASSAY_VERSION_MINOR.ASSAY_VERSION_PATCH\n' |
    cc -E -P -I"$work/tree/include" - | tail -1 | tr -d ' ')
[ "$told" = "$(pkg-config --modversion assay)" ] || fail "the headers are of version $told"
needed=$(readelf -d "$lib/libassay-trace.so" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | grep -vE '^(libc\.so\.6|ld-linux.*)$' || true)
[ -z "$needed" ] || fail "libassay-trace.so needs $needed"
test -s "$work/tree/share/man/man1/assay-report.1" || fail 'no manual was installed'
test -s "$work/tree/share/man/man3/assay_manager_new.3" || fail 'no manual of the library was installed'
