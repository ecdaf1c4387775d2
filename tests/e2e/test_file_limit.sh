# tests/e2e/test_file_limit.sh - a limit on the size of files does not end the recorded program: what cannot be written is
# counted as lost, whichever thread of the program or of the recorder comes to the limit.
. "$(dirname "$0")/lib.sh"

root=$(cd "$(dirname "$0")/../.." && pwd)
if nm -D "$build/libassay-trace.so" | grep -qE '__(asan|tsan)_'; then
    echo "a library built with a sanitizer needs sanitized programs"
    exit 77
fi
cat >"$tmp/marks.c" <<'EOF2'
#include <assay/session.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/resource.h>

static void *mark(void *unused)
{
    for (int i = 0; i < 200000; i++) {
        ASSAY_SCOPE("work");
    }
    return unused;
}

int main(int argc, char **argv)
{
    struct assay_session_options options = {.size = sizeof options};
    struct rlimit limit = {argc > 2 ? 64 * 1024 : 700 * 1024, RLIM_INFINITY};
    pthread_t thread[3];
    struct assay_error err = {0};

    setrlimit(RLIMIT_FSIZE, &limit); /* the first lane fits, or not even that */
    options.overflow = ASSAY_OVERFLOW_WAIT;
    if (assay_session_open(argv[1], &options, &err) < 0)
        return puts(err.msg), 1;
    for (int i = 0; i < 3; i++)
        pthread_create(&thread[i], NULL, mark, NULL);
    mark(NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(thread[i], NULL);
    printf("%d %llu\n", assay_session_close(&err), (unsigned long long)assay_session_lost());
    return 0;
}
EOF2
cc -O2 -I "$root/include" -o "$tmp/marks" "$tmp/marks.c" "$build/libassay-trace.a" -pthread || exit 1
for small in "" small; do
    exits 0 "the program lives $small" "$tmp/marks" "$tmp/run$small.assay" $small
    check "the loss is counted $small" grep -Eq '^-2 [1-9][0-9]*$' "$tmp/out"
    exits 0 "what was written can be read $small" "$assay" report "$tmp/run$small.assay"
done
finish
