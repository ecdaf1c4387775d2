# tests/e2e/test_tsan_archive.sh - a program built with ThreadSanitizer and linked with the recorder's archive, which is built
# without, has no race to report: what threads share without a lock goes through no function that the sanitizer replaces.
. "$(dirname "$0")/lib.sh"

root=$(cd "$(dirname "$0")/../.." && pwd)
if nm -D "$build/libassay-trace.so" | grep -qE '__(asan|tsan)_'; then
    echo "the archive itself is built with a sanitizer"
    exit 77
fi
cat >"$tmp/threads.c" <<'EOF2'
#include <assay/session.h>
#include <pthread.h>
#include <stdio.h>

static void *work(void *unused)
{
    char name[32];

    for (int i = 0; i < 2000; i++) {
        uint32_t layer;

        snprintf(name, sizeof name, "layer %d", i % 500);
        layer = assay_layer(name);
        assay_begin(layer);
        assay_note("key", i);
        assay_end(layer);
        assay_message(name);
        assay_async_begin(name, (uint64_t)i);
        assay_async_end(name, (uint64_t)i);
    }
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t thread[4];

    if (argc != 2 || assay_session_open(argv[1], NULL, NULL) < 0)
        return 1;
    for (int i = 0; i < 4; i++)
        pthread_create(&thread[i], NULL, work, NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(thread[i], NULL);
    return assay_session_close(NULL) < 0;
}
EOF2
if ! cc -fsanitize=thread -O1 -g -I "$root/include" -o "$tmp/threads" "$tmp/threads.c" "$build/libassay-trace.a" -pthread 2>"$tmp/err"; then
    echo "no ThreadSanitizer here"
    exit 77
fi
exits 0 "no race" "$tmp/threads" "$tmp/run.assay"
check "nothing is reported" sh -c "! grep -q ThreadSanitizer '$tmp/err'"
finish
