/* tests/unit/test_heap_watch.c - heap counters read from files made by hand: sums, bounds,
 * refusals. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "probe/heap/heap_watch.h"
#include "trace/shm/heap_shm.h"
#include "watch/watch_shm.h"

#define PAGE (AS_HEAP_ARENA_AT / AS_HEAP_PAGE) /* the first one handed out */

struct kit {
    char path[64];
    int fd;
    struct as_heap_watch *watch;
    struct as_arena arena;
    struct assay_error err;
};

static void put(const struct kit *kit, const void *bytes, size_t size, uint64_t at)
{
    assert_int_equal(pwrite(kit->fd, bytes, size, (off_t)at), (ssize_t)size);
}

static void put_heap(const struct kit *kit, const struct as_heap_shm *heap)
{
    put(kit, heap, sizeof *heap, AS_SHM_HEAP_AT);
}

static struct as_heap_shm some_heap(void)
{
    return (struct as_heap_shm){.version = AS_HEAP_VERSION,
                                .capacity_pages = PAGE + 100,
                                .n_cells = 3,
                                .n_stacks = 2,
                                .n_nodes = 4,
                                .n_layers = 2,
                                .n_threads = 3,
                                .max_live_threads = 2,
                                .live_bytes = 700,
                                .peak_bytes = 900,
                                .iterations = AS_HEAP_MARKS + 2};
}

/* Threads 1 and 2 count cells 1 and 2; thread 0 has no place. */
static void put_threads(const struct kit *kit)
{
    const uint32_t page[3] = {0, PAGE, PAGE + 10};
    const struct as_heap_cell cell[3] = {{0}, {0x1234, 1, AS_HEAP_CELL_NEW}, {0x5678, 0, 0}};
    struct as_heap_counter counter[2] = {
        {.allocations = 10,
         .allocated_bytes = 1000,
         .frees = 4,
         .freed_bytes = 400,
         .temporary = 3},
        {.allocations = 1, .allocated_bytes = 50},
    };
    struct as_heap_thread *t = calloc(1, sizeof *t);

    assert_non_null(t);
    put(kit, page, sizeof page, AS_SHM_HEAP_AT + AS_HEAP_THREADS_AT);
    put(kit, cell, sizeof cell, AS_SHM_HEAP_AT + AS_HEAP_CELLS_AT);
    for (uint32_t i = 1; i < 3; i++) {
        uint32_t own = page[i] + AS_HEAP_THREAD_PAGES;

        t->allocations = 11;
        t->allocated_bytes = 1050;
        t->frees = 4;
        t->freed_bytes = 400;
        t->foreign_frees = i;
        t->unseen_frees = 2 * i;
        t->page[0] = own;
        put(kit, t, sizeof *t, AS_SHM_HEAP_AT + (uint64_t)page[i] * AS_HEAP_PAGE);
        put(kit, counter, sizeof counter,
            AS_SHM_HEAP_AT + (uint64_t)own * AS_HEAP_PAGE + sizeof *counter);
    }
    free(t);
}

static int open_kit(void **state)
{
    static struct kit kit;
    const struct as_shm_header header = {
        .magic = AS_SHM_MAGIC, .pid = 42, .program = "prog", .table_bytes = 12345};
    const struct as_heap_shm heap = some_heap();

    memset(&kit, 0, sizeof kit);
    snprintf(kit.path, sizeof kit.path, "/tmp/heap-watch-XXXXXX");
    kit.fd = mkstemp(kit.path);
    if (kit.fd < 0 || ftruncate(kit.fd, (off_t)AS_SHM_BYTES) != 0)
        return -1;
    put(&kit, &header, sizeof header, 0);
    put_heap(&kit, &heap);
    put_threads(&kit);
    if (as_heap_watch_open(&kit.watch, kit.path, &kit.err) < 0)
        return -1;
    *state = &kit;
    return 0;
}

static int close_kit(void **state)
{
    struct kit *kit = *state;

    as_heap_watch_close(kit->watch);
    as_arena_fini(&kit->arena);
    close(kit->fd);
    unlink(kit->path);
    return 0;
}

static void totals_are_sums_over_threads(void **state)
{
    struct kit *kit = *state;
    struct as_heap_totals t;

    assert_int_equal(as_heap_watch_totals(kit->watch, &t, &kit->err), ASSAY_OK);
    assert_int_equal(t.allocations, 22);
    assert_int_equal(t.allocated_bytes, 2100);
    assert_int_equal(t.live_bytes, 1300);
    assert_int_equal(t.live_blocks, 14);
    assert_int_equal(t.foreign_frees, 3);
    assert_int_equal(t.unseen_frees, 6);
    assert_int_equal(t.own_bytes, 12345);
    assert_true(t.share_bytes > 0 && t.share_bytes < AS_SHM_BYTES);
    assert_int_equal(t.n_sites, 2);
    assert_int_equal(t.n_threads, 2);
    /* Two threads: as high as all they allocated, as low as what lives. */
    assert_int_equal(t.peak_bytes, 2100);
    assert_int_equal(t.peak_slack_bytes, 800);
}

/* The newest too: often it is the only one. */
static void every_site_has_a_series(void **state)
{
    struct kit *kit = *state;
    struct as_heap_series points = {0};
    struct as_site_series *series = NULL;
    struct as_heap_totals t;
    size_t n = 0;

    assert_int_equal(as_heap_watch_totals(kit->watch, &t, &kit->err), ASSAY_OK);
    as_heap_series_add(&points, kit->watch, t.n_ids, 1);
    assert_int_equal(as_heap_series_series(&points, &kit->arena, &series, &n, &kit->err), ASSAY_OK);
    assert_int_equal(n, 2);
    assert_int_equal(series[0].id, 1);
    assert_true(series[0].live_bytes[0] == 1200);
    assert_int_equal(series[1].id, 2);
    assert_true(series[1].live_bytes[0] == 100);
    as_heap_series_fini(&points);
}

static void sites_have_their_layer_and_kind(void **state)
{
    struct kit *kit = *state;
    const struct as_heap_layer_entry layer = {
        .site = 9, .name_size = 4, .calls = 2, .name = "conv"};
    uint64_t live[8] = {0};
    struct as_heap_site *site;
    size_t n;

    put(kit, &layer, sizeof layer, AS_SHM_HEAP_AT + AS_HEAP_LAYERS_AT + sizeof layer);
    assert_int_equal(as_heap_watch_sites(kit->watch, &kit->arena, &site, &n, &kit->err), ASSAY_OK);
    assert_int_equal(n, 2);
    assert_int_equal(site[0].id, 1);
    assert_int_equal(site[0].address, 0x1234);
    assert_int_equal(site[0].kind, AS_HEAP_NEW);
    assert_string_equal(site[0].layer, "conv");
    assert_int_equal(site[0].allocations, 20);
    assert_int_equal(site[0].live_bytes, 1200);
    assert_int_equal(site[0].temporary, 6);
    assert_null(site[1].layer);
    assert_int_equal(site[1].live_blocks, 2);
    assert_int_equal(as_heap_watch_live(kit->watch, live, 2), 3);
    assert_int_equal(live[1], 1200);
    assert_int_equal(live[2], 0); /* no room for it */
}

static void the_last_marks_are_told_oldest_first(void **state)
{
    struct kit *kit = *state;
    uint64_t ring[AS_HEAP_MARKS], *live;
    size_t n;

    for (uint64_t i = 0; i < AS_HEAP_MARKS; i++)
        ring[i] = i;
    put(kit, ring, sizeof ring, AS_SHM_HEAP_AT + AS_HEAP_MARKS_AT);
    assert_int_equal(as_heap_watch_iterations(kit->watch, &kit->arena, &live, &n, &kit->err),
                     ASSAY_OK);
    assert_int_equal(n, AS_HEAP_MARKS);
    assert_int_equal(live[0], 2);
    assert_int_equal(live[n - 1], 1);
}

/* Two halves of the table, of which the last finished one counts. */
static void stacks_of_the_peak_are_those_of_its_last_snapshot(void **state)
{
    static const uint64_t peak[][2] = {
        {7, 300 * AS_HEAP_WEIGHT_ONE}, {7, 5000 * AS_HEAP_WEIGHT_ONE}, {7, UINT64_MAX}};
    static const double told[] = {300, 1000, 0}; /* no more than it allocated, nor less than 0 */
    struct kit *kit = *state;
    struct as_heap_node node[] = {{0, 0, 0}, {0x20, 0, 0}};
    struct as_heap_stack_entry e = {
        .node = 1, .samples = 3, .allocations = 1, .allocated_bytes = 1000 * AS_HEAP_WEIGHT_ONE};
    struct as_heap_shm heap = some_heap();
    struct as_heap_stack *stack;
    size_t n;

    put(kit, &e, sizeof e, AS_SHM_HEAP_AT + AS_HEAP_STACKS_AT + sizeof e);
    put(kit, node, sizeof node, AS_SHM_HEAP_AT + AS_HEAP_NODES_AT);
    assert_int_equal(as_heap_watch_stacks(kit->watch, &kit->arena, &stack, &n, NULL), ASSAY_OK);
    assert_true(n == 1 && stack[0].peak_live_bytes != stack[0].peak_live_bytes); /* NaN */
    for (uint64_t i = 0; i < 3; i++) {
        put(kit, peak[i], sizeof peak[i],
            AS_SHM_HEAP_AT + AS_HEAP_STACK_PEAK_AT + i % 2 * AS_HEAP_STACKS * sizeof **peak);
        heap.n_snapshots = i + 1;
        heap.snapshot_stacks[i % 2] = UINT32_MAX; /* no more than there are */
        put_heap(kit, &heap);
        assert_int_equal(as_heap_watch_stacks(kit->watch, &kit->arena, &stack, &n, NULL), ASSAY_OK);
        assert_int_equal(n, 1);
        assert_true(stack[0].peak_live_bytes == told[i]);
    }
    heap.snapshot_stacks[0] = 1; /* the stack came later */
    put_heap(kit, &heap);
    assert_int_equal(as_heap_watch_stacks(kit->watch, &kit->arena, &stack, &n, NULL), ASSAY_OK);
    assert_true(n == 1 && stack[0].peak_live_bytes == 0);
}

static void stacks_are_scaled_and_bounded(void **state)
{
    struct kit *kit = *state;
    struct as_heap_node node[] = {{0, 0, 0}, {0x20, 0, 0}, {0x10, 1, 0}, {0x30, 3, 0}};
    struct as_heap_stack_entry e = {.node = 2,
                                    .layer = 77, /* there is none of that number */
                                    .samples = 3,
                                    .allocations = 10 * AS_HEAP_WEIGHT_ONE,
                                    .allocated_bytes = 1000 * AS_HEAP_WEIGHT_ONE,
                                    .frees = 11 * AS_HEAP_WEIGHT_ONE};
    const uint64_t at = AS_SHM_HEAP_AT + AS_HEAP_STACKS_AT + sizeof e;
    struct as_heap_stack *stack;
    size_t n;

    put(kit, &e, sizeof e, at);
    put(kit, node, sizeof node, AS_SHM_HEAP_AT + AS_HEAP_NODES_AT);
    assert_int_equal(as_heap_watch_stacks(kit->watch, &kit->arena, &stack, &n, &kit->err),
                     ASSAY_OK);
    assert_int_equal(n, 1);
    assert_true(stack[0].allocations == 10 && stack[0].live_bytes == 1000);
    assert_true(stack[0].live_blocks == 0); /* freed between two looks */
    assert_null(stack[0].layer);
    assert_int_equal(stack[0].n_frames, 2);
    assert_int_equal(stack[0].frame[0], 0x10); /* innermost first */
    assert_int_equal(stack[0].frame[1], 0x20);
    e.node = 3; /* its own caller: one frame, and an end */
    put(kit, &e, sizeof e, at);
    assert_int_equal(as_heap_watch_stacks(kit->watch, &kit->arena, &stack, &n, &kit->err),
                     ASSAY_OK);
    assert_int_equal(n, 1);
    assert_int_equal(stack[0].n_frames, 1);
    e.node = 4; /* there is none of that number */
    put(kit, &e, sizeof e, at);
    assert_int_equal(as_heap_watch_stacks(kit->watch, &kit->arena, &stack, &n, &kit->err),
                     ASSAY_OK);
    assert_int_equal(n, 0);
}

static void a_layer_still_open_counts(void **state)
{
    struct kit *kit = *state;
    const struct as_heap_layer_entry entry = {
        .name_size = 4, .calls = 2, .peak_within_bytes = 10, .net_bytes = -5, .name = "conv"};
    struct as_heap_thread *t = calloc(1, sizeof *t);
    struct as_heap_layer *layer;
    size_t n;

    assert_non_null(t);
    t->allocated_bytes = 100;
    t->n_open = 1000; /* more than there can be: only what has a place is looked at */
    t->open[0] = (struct as_heap_open){.layer = 1, .start_bytes = 20, .max_bytes = 150};
    t->open[1] = (struct as_heap_open){.layer = 9999, .start_bytes = 0, .max_bytes = 5};
    put(kit, t, sizeof *t, AS_SHM_HEAP_AT + (uint64_t)PAGE * AS_HEAP_PAGE);
    put(kit, &entry, sizeof entry, AS_SHM_HEAP_AT + AS_HEAP_LAYERS_AT + sizeof entry);
    free(t);
    assert_int_equal(as_heap_watch_layers(kit->watch, &kit->arena, &layer, &n, &kit->err),
                     ASSAY_OK);
    assert_int_equal(n, 1);
    assert_int_equal(layer[0].calls, 3);
    assert_int_equal(layer[0].peak_within_bytes, 130);
    assert_int_equal(layer[0].net_bytes, 75);
}

static void places_outside_are_passed_over(void **state)
{
    static const uint32_t bad[] = {1, PAGE - 1, PAGE + 98, 0x80000000u, UINT32_MAX};
    struct kit *kit = *state;
    struct as_heap_totals t;

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        put(kit, &bad[i], sizeof *bad, AS_SHM_HEAP_AT + AS_HEAP_THREADS_AT + 4);
        assert_int_equal(as_heap_watch_totals(kit->watch, &t, &kit->err), ASSAY_OK);
        assert_int_equal(t.allocations, 11);
    }
}

static void what_was_not_counted_says_why(void **state)
{
    struct kit *kit = *state;
    struct as_heap_shm heap = some_heap();
    struct as_heap_totals t;

    heap.declined = AS_HEAP_OWN_MALLOC;
    put_heap(kit, &heap);
    assert_int_equal(as_heap_watch_totals(kit->watch, &t, &kit->err), ASSAY_ERR_UNSUPPORTED);
    assert_non_null(strstr(kit->err.msg, "its own malloc"));
    heap.declined = AS_HEAP_NO_CAPACITY;
    put_heap(kit, &heap);
    assert_int_equal(as_heap_watch_totals(kit->watch, &t, &kit->err), ASSAY_ERR_STATE);
    heap.version = 0;
    put_heap(kit, &heap);
    assert_int_equal(as_heap_watch_totals(kit->watch, &t, &kit->err), ASSAY_ERR_STATE);
    heap.version = AS_HEAP_VERSION + 1;
    put_heap(kit, &heap);
    assert_int_equal(as_heap_watch_totals(kit->watch, &t, &kit->err), ASSAY_ERR_UNSUPPORTED);
}

static void a_file_cut_while_open_is_an_error(void **state)
{
    struct kit *kit = *state;
    struct as_heap_totals t;

    assert_int_equal(ftruncate(kit->fd, 4096), 0);
    assert_int_equal(as_heap_watch_totals(kit->watch, &t, &kit->err), ASSAY_ERR_FORMAT);
    assert_int_equal(as_heap_watch_live(kit->watch, NULL, 0), 0);
    assert_null(as_heap_watch_maps(kit->watch));
}

static void the_map_of_memory_is_text(void **state)
{
    struct kit *kit = *state;
    struct as_shm_header header = {.magic = AS_SHM_MAGIC, .maps_bytes = 5};

    assert_null(as_heap_watch_maps(kit->watch));
    memset(header.program, 'x', sizeof header.program); /* not ended */
    put(kit, &header, sizeof header, 0);
    put(kit, "a-b r", 5, AS_SHM_MAPS_AT);
    assert_string_equal(as_heap_watch_maps(kit->watch), "a-b r");
    as_heap_watch_header(kit->watch, &header);
    assert_int_equal(strlen(header.program), sizeof header.program - 1);
    header.maps_bytes = AS_SHM_MAPS_BYTES + 1;
    put(kit, &header, sizeof header, 0);
    assert_null(as_heap_watch_maps(kit->watch));
}

static void other_files_are_refused(void **state)
{
    struct kit *kit = *state;
    char link[80];
    struct as_heap_watch *watch;

    snprintf(link, sizeof link, "%s.link", kit->path);
    assert_int_equal(symlink(kit->path, link), 0);
    assert_int_equal(as_heap_watch_open(&watch, link, &kit->err), ASSAY_ERR_IO);
    unlink(link);
    assert_null(watch);
    assert_int_equal(as_heap_watch_open(&watch, "/nowhere", &kit->err), ASSAY_ERR_IO);
    assert_int_equal(as_heap_watch_open(&watch, "/dev/null", &kit->err), ASSAY_ERR_FORMAT);
    assert_int_equal(as_heap_watch_open(&watch, "/tmp", &kit->err), ASSAY_ERR_FORMAT);
    put(kit, "x", 1, 0);
    assert_int_equal(as_heap_watch_open(&watch, kit->path, &kit->err), ASSAY_ERR_FORMAT);
    assert_int_equal(ftruncate(kit->fd, 100), 0);
    assert_int_equal(as_heap_watch_open(&watch, kit->path, &kit->err), ASSAY_ERR_FORMAT);
    as_heap_watch_close(NULL);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, open_kit, close_kit)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(totals_are_sums_over_threads),
        TEST(every_site_has_a_series),
        TEST(sites_have_their_layer_and_kind),
        TEST(the_last_marks_are_told_oldest_first),
        TEST(stacks_of_the_peak_are_those_of_its_last_snapshot),
        TEST(stacks_are_scaled_and_bounded),
        TEST(a_layer_still_open_counts),
        TEST(places_outside_are_passed_over),
        TEST(what_was_not_counted_says_why),
        TEST(a_file_cut_while_open_is_an_error),
        TEST(the_map_of_memory_is_text),
        TEST(other_files_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
