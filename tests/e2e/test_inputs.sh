# tests/e2e/test_inputs.sh - files that are read: short reads and signals change nothing, an error of the disk is an error that
# names the file, and a file that shrinks while it is read ends the command with one sentence.
. "$(dirname "$0")/lib.sh"

if nm -D "$assay" | grep -qE '__(asan|tsan)_'; then
    echo "a library cannot be put before those of a sanitizer"
    exit 77
fi
"$make_run" "$tmp/run.assay" nested iterations channels || exit 1
"$assay" zoo resnet18:classes=10 -q -o "$tmp/model.onnx" || exit 1
"$assay" zoo resnet18:classes=10 --external -q -o "$tmp/beside.onnx" || exit 1
"$assay" zoo llama:layers=2,vocab=4000,width=256,heads=4 -q -o "$tmp/model.gguf" || exit 1
"$assay" report --json "$tmp/run.assay" >"$tmp/run.json" || exit 1

# READS=short: every read gives at most 1000 bytes, every other one is interrupted first. READS=bad: those behind the first
# BAD_AFTER of files named NAME fail with EIO. READS=shrink: files named NAME are cut to 4 kB once a part of them is mapped.
cat >"$tmp/reads.c" <<'EOF2'
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int is(const char *mode)
{
    const char *reads = getenv("READS");

    return reads && strcmp(reads, mode) == 0;
}

static int path_of(int fd, char path[4096])
{
    char link[64];
    ssize_t n;

    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    n = readlink(link, path, 4095);
    path[n > 0 ? n : 0] = 0;
    return n > 0 && path[0] == '/' && getenv("NAME") && strstr(path, getenv("NAME"));
}

/* -1: fail with errno; else the size to ask for. */
static long bend(int fd, size_t size)
{
    static int turn, seen;
    char path[4096];

    if (is("short")) {
        path_of(fd, path);
        if (strncmp(path, "/tmp/", 5) != 0)
            return (long)size;
        if (turn++ % 2) {
            errno = EINTR;
            return -1;
        }
        return (long)(size < 1000 ? size : 1000);
    }
    if (is("bad") && path_of(fd, path) && seen++ >= atoi(getenv("BAD_AFTER"))) {
        close(creat(getenv("FAILED_READ"), 0600));
        errno = EIO;
        return -1;
    }
    return (long)size;
}

ssize_t read(int fd, void *to, size_t size)
{
    long n = bend(fd, size);
    ssize_t (*next)(int, void *, size_t) = dlsym(RTLD_NEXT, "read");

    return n < 0 ? -1 : next(fd, to, (size_t)n);
}

ssize_t pread64(int fd, void *to, size_t size, off_t at)
{
    long n = bend(fd, size);
    ssize_t (*next)(int, void *, size_t, off_t) = dlsym(RTLD_NEXT, "pread64");

    return n < 0 ? -1 : next(fd, to, (size_t)n, at);
}

ssize_t pread(int fd, void *to, size_t size, off_t at)
{
    return pread64(fd, to, size, at);
}

void *mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset)
{
    void *(*next)(void *, size_t, int, int, int, off_t) = dlsym(RTLD_NEXT, "mmap");
    void *got = next(at, size, prot, flags, fd, offset);
    char path[4096];

    if (fd >= 0 && is("shrink") && path_of(fd, path) && truncate(path, 4096) != 0)
        abort();
    return got;
}

void *mmap64(void *at, size_t size, int prot, int flags, int fd, off_t offset)
{
    return mmap(at, size, prot, flags, fd, offset);
}
EOF2
cc -O1 -shared -fPIC -w -o "$tmp/reads.so" "$tmp/reads.c" -ldl || exit 77
bent() {
    LD_PRELOAD=$tmp/reads.so "$@"
}
steady() { sed -E 's/"(unix_ns|time|read_ns|load_ns)": *[0-9.]+//g'; }

# --- short and interrupted reads ---
for what in "report --json run.assay" "report run.json" "verify run.assay" "export --to csv run.assay" "export --to json run.assay" \
    "inspect --json model.onnx" "inspect --json beside.onnx" "inspect --json model.gguf" "diff --json run.assay run.assay"; do
    cd "$tmp" || exit 1
    "$assay" $what 2>/dev/null | steady >"$tmp/want"
    READS=short bent "$assay" $what 2>"$tmp/err" | steady >"$tmp/got"
    check "short reads change nothing: $what" cmp "$tmp/want" "$tmp/got"
    check "and nothing is said: $what" [ ! -s "$tmp/err" ]
done

# --- errors of the disk ---
export FAILED_READ="$tmp/failed_read"
n_bad=0
for case in "report run.assay" "report run.json" "verify run.assay" "export --to csv run.assay" "export --to json run.assay" \
    "diff run.assay run.assay" "inspect model.onnx" "inspect model.gguf" "profile model.onnx"; do
    name=${case#* }
    name=${name#--to csv }
    name=${name#--to json }
    name=${name%% *}
    for after in 0 1 2 3; do
        sentence="EIO after $after reads: $case"
        rm -f "$tmp/failed_read"
        READS=bad NAME="$name" BAD_AFTER=$after bent "$assay" $case >"$tmp/out" 2>"$tmp/err"
        got=$?
        [ -e "$tmp/failed_read" ] || continue # it takes fewer reads
        n_bad=$((n_bad + 1))
        [ "$got" = 3 ] || fail "$sentence: exit $got, not 3"
        says "$name"
        says "Input/output error"
    done
done
check "reads failed ($n_bad)" [ "$n_bad" -ge 20 ]

# --- files that shrink ---
shrinks() {
    what=$1 name=$2
    shift 2
    cp "$tmp/$name" "$tmp/kept"
    READS=shrink NAME="$name" bent "$assay" "$@" >"$tmp/out" 2>"$tmp/err"
    got=$?
    sentence="$what: a file that shrinks"
    mv "$tmp/kept" "$tmp/$name"
    [ "$got" = 3 ] || fail "$sentence: exit $got, not 3"
    says "$name"
    says "cut short"
}
shrinks "profile of ONNX" model.onnx profile --iterations 1 --warmup 0 --no-roofline --no-history -q --no-sandbox model.onnx
shrinks "profile of GGUF" model.gguf profile --iterations 1 --warmup 0 --no-roofline --no-history -q --no-sandbox model.gguf
shrinks "profile of weights beside" beside.onnx.data profile --iterations 1 --warmup 0 --no-roofline --no-history -q --no-sandbox beside.onnx

# The graph is not mapped: what shrinks after it was opened is shown as it was.
"$assay" inspect --json model.onnx | steady >"$tmp/want"
cp model.onnx kept
READS=shrink NAME=model.onnx bent "$assay" inspect --no-sandbox --json model.onnx 2>"$tmp/err" | steady >"$tmp/got"
mv kept model.onnx
check "a graph is in memory once it was read" sh -c "cmp '$tmp/want' '$tmp/got' || grep -q 'cut short' '$tmp/err'"
finish
