/* tests/unit/test_damage.c - a run of 64 kB cut at every byte and with every byte changed.
 * What is read is always part of the original, and what is missing is said to be missing. */
#include "unit.h"

#include <assay/session.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "analyze/run/layers.h"
#include "base/alloc.h"
#include "trace/run/thread_events.h"

/* The whole is analyzed for one copy in so many; the events are compared for every one. */
#define ANALYZE_EVERY 16

/* One byte of so many, and every one at both ends, where headers are; builds with a sanitizer are
 * four times slower. With ASSAY_LONG in the environment (make check-more) every byte. */
#ifdef __SANITIZE_ADDRESS__
enum { USUAL_EVERY = 20 };
#else
enum { USUAL_EVERY = 5 };
#endif
enum { ENDS_BYTES = 4096 };
static size_t bytes_every = USUAL_EVERY;

static struct as_event *original; /* of the one thread, in order */
static size_t n_original;
static uint8_t *bytes; /* of the intact file */
static size_t n_bytes;

/* Reads every event of a run, in ticks. With `out` they are kept; otherwise each must be in the
 * original, behind the one before it. Returns how many there were. */
static uint64_t read_events(const struct as_run *run, struct as_event *out)
{
    struct as_thread_events events;
    struct as_event_batch batch;
    uint64_t n = 0;
    size_t at = 0;

    if (run->n_threads == 0)
        return 0;
    assert_int_equal(run->n_threads, 1);
    as_thread_events_init(&events, run, &run->thread[0]);
    while (as_thread_events_next(&events, &batch, NULL) > 0) {
        for (size_t i = 0; i < batch.n_events; i++, n++) {
            const struct as_event *e = &batch.event[i];

            if (out) {
                out[n] = *e;
                continue;
            }
            while (at < n_original && memcmp(&original[at], e, sizeof *e) != 0)
                at++;
            assert_true(at++ < n_original); /* never a record that was not recorded */
        }
    }
    as_thread_events_fini(&events);
    return n;
}

static bool is_left_out(size_t i)
{
    return i % bytes_every != 0 && i >= ENDS_BYTES && i + ENDS_BYTES < n_bytes;
}

/* Nested layers with long names, iterations, failures and notes, until the file is about 64 kB. */
static void record(const char *path)
{
    struct assay_error err;

    assert_int_equal(assay_session_open(path, NULL, &err), ASSAY_OK);
    for (int i = 0; i < 200; i++) {
        char name[160];

        memset(name, 'a' + i % 26, sizeof name);
        snprintf(name + 130, sizeof name - 130, "%d", i);
        assay_begin(assay_layer(name));
        assay_end(assay_layer(name));
    }
    for (int i = 0; i < 1000; i++) {
        if (i % 20 == 0)
            assay_iteration((uint64_t)i / 20);
        ASSAY_SCOPE("outer");
        {
            ASSAY_SCOPE("inner");
            assay_note("i", i);
        }
        ASSAY_BEGIN("other");
        if (i % 7)
            ASSAY_END("other");
        else
            ASSAY_END_FAILED("other");
    }
    assert_int_equal(assay_session_lost(), 0);
    assert_int_equal(assay_session_close(&err), ASSAY_OK);
}

static int make_original(void **state)
{
    char path[] = "/tmp/assay-damage-XXXXXX.assay";
    struct as_run *run;
    FILE *f;
    int fd = mkstemps(path, 6);

    (void)state;
    assert_true(fd >= 0);
    close(fd);
    record(path);
    assert_int_equal(as_run_open(&run, path, NULL), ASSAY_OK);
    n_original = (size_t)run->health.expected_events;
    original = as_alloc_zero(n_original, sizeof *original);
    assert_int_equal(run->health.events, n_original);
    assert_int_equal(read_events(run, original), n_original);
    n_bytes = (size_t)run->size_bytes;
    as_run_close(run);
    bytes = as_alloc(n_bytes);
    f = fopen(path, "rb");
    assert_non_null(f);
    assert_int_equal(fread(bytes, 1, n_bytes, f), n_bytes);
    fclose(f);
    unlink(path);
    assert_true(n_bytes > 60000 && n_bytes < 80000);
    return 0;
}

static int free_original(void **state)
{
    (void)state;
    as_free(original);
    as_free(bytes);
    return 0;
}

/* The analysis must hold as well, and give the same account of what is missing. */
static void analyze(struct as_run *run, uint64_t events)
{
    struct as_layers *layers;
    struct assay_error err;

    if (as_layers_analyze(&layers, run, NULL, &err) < 0) {
        assert_false(run->time.known); /* only a clock that is lost makes it impossible */
        return;
    }
    assert_int_equal(layers->events, events);
    if (run->health.closed)
        assert_int_equal(events + layers->lost_events, n_original);
    else
        assert_true(events == n_original || layers->lost_unknown || layers->lost_events > 0 ||
                    run->health.cut_bytes > 0);
    as_layers_free(layers);
}

/* Reads a spoilt copy. Returns the number of events read, or UINT64_MAX when it was refused with a
 * sentence. */
static uint64_t read_copy(const char *path, bool whole, struct as_run_health *health)
{
    struct assay_error err;
    struct as_run *run;
    uint64_t events;

    if (as_run_open(&run, path, &err) < 0) {
        assert_true(strlen(err.msg) > 10);
        return UINT64_MAX;
    }
    *health = run->health;
    events = read_events(run, NULL);
    assert_int_equal(events, health->events);
    if (health->closed) /* the session's own account */
        assert_true(events <= health->expected_events && health->expected_events == n_original);
    if (whole)
        analyze(run, events);
    as_run_close(run);
    return events;
}

static int memory_file(char path[64])
{
    int fd = memfd_create("damage", 0);

    assert_true(fd >= 0);
    snprintf(path, 64, "/proc/self/fd/%d", fd);
    return fd;
}

static void cut_at_every_byte_it_gives_a_prefix(void **state)
{
    struct as_run_health health;
    uint64_t before = 0;
    char path[64];
    int fd = memory_file(path);

    (void)state;
    for (size_t size = 0; size < n_bytes; size++) {
        uint64_t events;

        if (size)
            assert_int_equal(pwrite(fd, bytes + size - 1, 1, (off_t)size - 1), 1);
        if (is_left_out(size))
            continue;
        events = read_copy(path, size % ANALYZE_EVERY == 0, &health);
        if (events == UINT64_MAX) {
            assert_true(size < AS_RUN_HEADER_BYTES);
            continue;
        }
        assert_true(events >= before); /* one byte more never gives less */
        before = events;
        assert_false(health.closed);
        assert_int_equal(health.damaged_blocks, 0);
    }
    assert_int_equal(before, n_original);
    close(fd);
}

static void with_every_byte_changed_it_counts_the_loss(void **state)
{
    struct as_run_health health;
    uint32_t seed = 1;
    char path[64];
    int fd = memory_file(path);

    (void)state;
    assert_int_equal(pwrite(fd, bytes, n_bytes, 0), (ssize_t)n_bytes);
    for (size_t i = 0; i < n_bytes; i++) {
        uint8_t changed;
        uint64_t events;

        if (is_left_out(i))
            continue;
        seed = seed * 1664525u + 1013904223u;
        changed = bytes[i] ^ (uint8_t)(1 + (seed >> 24) % 255);
        assert_int_equal(pwrite(fd, &changed, 1, (off_t)i), 1);
        events = read_copy(path, i % ANALYZE_EVERY == 0, &health);
        assert_int_equal(pwrite(fd, bytes + i, 1, (off_t)i), 1);
        if (events == UINT64_MAX) {
            assert_true(i < AS_RUN_HEADER_BYTES);
            continue;
        }
        assert_true(health.damaged_blocks > 0 || health.cut_bytes > 0); /* no change goes unseen */
        assert_true(events == n_original || health.closed || health.damaged_events > 0 ||
                    health.cut_events > 0);
    }
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cut_at_every_byte_it_gives_a_prefix),
        cmocka_unit_test(with_every_byte_changed_it_counts_the_loss),
    };

    if (getenv("ASSAY_LONG"))
        bytes_every = 1;
    return cmocka_run_group_tests(tests, make_original, free_original);
}
