/* tests/fuzz/fuzz_heap_shm.c - any bytes at any place of a program's heap counters.
 * The file is sparse and keeps its size; the input says what is written where, piece by piece. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/cursor.h"
#include "probe/heap/heap_watch.h"
#include "trace/shm/heap_shm.h"

#define MEMORY_LIMIT ((size_t)256 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char path[64];
static int fd = -1;

static void leave(void)
{
    unlink(path);
}

static void prepare(void)
{
    if (fd >= 0)
        return;
    snprintf(path, sizeof path, "/dev/shm/fuzz-heap-share-%ld", (long)getpid());
    fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0)
        exit(1);
    atexit(leave);
}

static void put(const void *bytes, size_t size, uint64_t at)
{
    if (at > AS_SHM_BYTES || size > AS_SHM_BYTES - at ||
        pwrite(fd, bytes, size, (off_t)at) != (ssize_t)size)
        exit(1);
}

/* What a program would have written at first: two threads, a page of counters each. */
static void put_frame(void)
{
    const uint32_t page = AS_HEAP_ARENA_AT / AS_HEAP_PAGE;
    struct as_shm_header header = {
        .magic = AS_SHM_MAGIC, .size_bytes = AS_SHM_BYTES, .pid = 1, .watches = 1};
    struct as_heap_shm heap = {.version = AS_HEAP_VERSION,
                               .capacity_pages = AS_SHM_HEAP_BYTES / AS_HEAP_PAGE,
                               .n_cells = 70,
                               .n_stacks = 3,
                               .n_nodes = 9,
                               .n_layers = 3,
                               .n_threads = 2};
    uint32_t threads[2] = {page, page + AS_HEAP_THREAD_PAGES};

    put(&header, sizeof header, 0);
    put(&heap, sizeof heap, AS_SHM_HEAP_AT);
    put(threads, sizeof threads, AS_SHM_HEAP_AT + AS_HEAP_THREADS_AT);
}

/* Pieces of the input: which part, where in it, how much, the bytes. */
static void put_pieces(struct as_cursor *c)
{
    static const uint64_t part[] = {
        0,
        AS_SHM_MAPS_AT,
        AS_SHM_HEAP_AT,
        AS_SHM_HEAP_AT + AS_HEAP_CELLS_AT,
        AS_SHM_HEAP_AT + AS_HEAP_PEAK_AT,
        AS_SHM_HEAP_AT + AS_HEAP_THREADS_AT,
        AS_SHM_HEAP_AT + AS_HEAP_MARKS_AT,
        AS_SHM_HEAP_AT + AS_HEAP_LAYERS_AT,
        AS_SHM_HEAP_AT + AS_HEAP_STACKS_AT,
        AS_SHM_HEAP_AT + AS_HEAP_NODES_AT,
        AS_SHM_HEAP_AT + AS_HEAP_ARENA_AT,
        AS_SHM_HEAP_AT + AS_HEAP_ARENA_AT + 2 * AS_HEAP_PAGE, /* where its counters are */
        AS_SHM_HEAP_AT + AS_HEAP_ARENA_AT + 3 * AS_HEAP_PAGE,
    };
    const uint8_t *bytes;
    uint8_t which, length;
    uint16_t at;

    while (as_take_u8(c, &which) && as_take_u16le(c, &at) && as_take_u8(c, &length)) {
        size_t n = length < as_cursor_left(c) ? length : as_cursor_left(c);

        if (!as_take_bytes(c, n, &bytes))
            return;
        put(bytes, n, part[which % (sizeof part / sizeof *part)] + at);
    }
}

static void read_lists(struct as_heap_watch *watch, struct as_arena *arena)
{
    struct as_heap_stack *stack;
    struct as_heap_layer *layer;
    struct as_heap_site *site;
    uint64_t *live, first[16];
    size_t n;

    if (as_heap_watch_sites(watch, arena, &site, &n, NULL) == ASSAY_OK)
        for (size_t i = 0; i < n; i++)
            if (site[i].id >= AS_HEAP_CELLS || site[i].kind >= AS_HEAP_KIND_COUNT)
                abort();
    if (as_heap_watch_stacks(watch, arena, &stack, &n, NULL) == ASSAY_OK)
        for (size_t i = 0; i < n; i++)
            if (stack[i].n_frames > AS_HEAP_MAX_FRAMES || stack[i].live_bytes < 0)
                abort();
    if (as_heap_watch_layers(watch, arena, &layer, &n, NULL) == ASSAY_OK)
        for (size_t i = 0; i < n; i++)
            if (strlen(layer[i].name) > AS_HEAP_LAYER_NAME)
                abort();
    if (as_heap_watch_iterations(watch, arena, &live, &n, NULL) == ASSAY_OK && n > AS_HEAP_MARKS)
        abort();
    if (as_heap_watch_live(watch, first, 16) > AS_HEAP_CELLS)
        abort();
}

static void read_all(void)
{
    struct as_arena arena = {.max_bytes = MEMORY_LIMIT};
    struct as_heap_watch *watch;
    struct as_heap_totals totals;
    struct as_shm_header header;
    const char *maps;

    if (as_heap_watch_open(&watch, path, NULL) < 0)
        return;
    as_heap_watch_header(watch, &header);
    maps = as_heap_watch_maps(watch);
    if (strlen(header.program) >= sizeof header.program ||
        (maps && strlen(maps) > AS_SHM_MAPS_BYTES))
        abort();
    if (as_heap_watch_totals(watch, &totals, NULL) == ASSAY_OK &&
        (totals.peak_slack_bytes > totals.peak_bytes || totals.peak_bytes < totals.live_bytes))
        abort();
    read_lists(watch, &arena);
    as_arena_fini(&arena);
    as_heap_watch_close(watch);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct as_cursor c = as_cursor_over(data, size);

    prepare();
    if (ftruncate(fd, 0) != 0 || ftruncate(fd, (off_t)AS_SHM_BYTES) != 0)
        exit(1);
    put_frame();
    put_pieces(&c);
    read_all();
    return 0;
}
