/* tests/fuzz/fuzz_gemm_shm.c - any bytes as the products' part of a share.
 * The first byte chooses how much of the file there is; then come the part's header and entries. */
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "probe/heap/gemm_watch.h"
#include "trace/shm/gemm_shm.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char path[64];

static void leave(void)
{
    unlink(path);
}

static int open_file(void)
{
    if (!path[0]) {
        snprintf(path, sizeof path, "/dev/shm/fuzz-gemm-%ld", (long)getpid());
        atexit(leave);
    }
    return open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
}

static void put(int fd, const void *data, size_t size, size_t offset)
{
    if (size && pwrite(fd, data, size, (off_t)offset) != (ssize_t)size)
        exit(1);
}

static void make_share(const uint8_t *data, size_t size)
{
    const size_t entries_at = AS_SHM_GEMM_AT + offsetof(struct as_gemm_shm, entry);
    struct as_shm_header header = {.magic = AS_SHM_MAGIC, .size_bytes = AS_SHM_BYTES};
    size_t head =
        size - 1 < sizeof(struct as_gemm_header) ? size - 1 : sizeof(struct as_gemm_header);
    int fd = open_file();

    if (fd < 0)
        exit(1);
    if (data[0] % 16 == 15)
        put(fd, data + 1, size - 1, 0); /* all of it is theirs */
    else
        put(fd, &header, sizeof header, 0);
    if (data[0] % 16 < 8 && ftruncate(fd, AS_SHM_GEMM_AT + AS_SHM_GEMM_BYTES) != 0)
        exit(1);
    put(fd, data + 1, head, AS_SHM_GEMM_AT);
    put(fd, data + 1 + head, size - 1 - head, entries_at);
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct as_arena arena = {0};
    struct as_gemm_calls *calls;
    struct assay_error err;
    uint64_t unplaced;
    size_t n;

    if (size == 0)
        return 0;
    make_share(data, size);
    if (as_gemm_watch_read(path, &arena, &calls, &n, &unplaced, &err) < 0 && err.msg[0] == '\0')
        abort();
    for (size_t i = 0; i < n; i++) {
        const struct as_gemm_calls *c = &calls[i];

        if (c->calls == 0 || !c->function || !c->dtype || c->flops < 0 || isinf(c->flops) ||
            !memchr(c->shape, '\0', sizeof c->shape) || c->min_ns > c->max_ns ||
            (i && c->time_ns > calls[i - 1].time_ns))
            abort();
    }
    as_arena_fini(&arena);
    return 0;
}
