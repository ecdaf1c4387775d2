/* tests/unit/test_ring_damage.c - the ring of a killed program, cut and changed.
 * A ring has no checksums: a changed record is one wrong record. It is never a crash, and never
 * more events than there were. */
#include "recorder_kit.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>

#include "stats/describe/rng.h"
#include "trace/record/ring.h"

#define N_SCOPES 1500

static uint8_t *ring;
static size_t ring_bytes;
static int ring_fd = -1;
static uint64_t n_events;

static void record_and_die(void)
{
    struct assay_session_options options = {.size = sizeof(struct assay_session_options)};

    options.ring_kib = 128;
    if (assay_session_open("run.assay", &options, NULL) < 0)
        _exit(1);
    for (int i = 0; i < N_SCOPES; i++) {
        ASSAY_SCOPE("outer");
        assay_iteration((uint64_t)i);
    }
    raise(SIGKILL);
}

static int make_ring(void **state)
{
    struct stat st;
    struct rec r;
    int status;
    pid_t pid;

    if (rec_enter(state) != 0)
        return -1;
    pid = fork();
    if (pid == 0)
        record_and_die();
    if (waitpid(pid, &status, 0) != pid || !WIFSIGNALED(status))
        return -1;
    ring_fd = open("run.assay.ring", O_RDWR);
    if (ring_fd < 0 || fstat(ring_fd, &st) != 0)
        return -1;
    ring_bytes = (size_t)st.st_size;
    ring = malloc(ring_bytes);
    if (!ring || pread(ring_fd, ring, ring_bytes, 0) != (ssize_t)ring_bytes)
        return -1;
    r = rec_read("run.assay");
    n_events = r.layers->events;
    rec_done(&r);
    return n_events == N_SCOPES * 5 ? 0 : -1;
}

static int drop_ring(void **state)
{
    free(ring);
    close(ring_fd);
    rec_clean(state);
    return rec_leave(state);
}

/* Reads everything there is of the run; returns how many events, and `*calls` complete ones. */
static uint64_t read_run(uint64_t *calls, bool *told)
{
    struct rec r = rec_read("run.assay");
    uint64_t events = r.layers->events;

    assert_true(events <= n_events);
    *calls = rec_calls(&r, "outer");
    *told = r.layers->lost_unknown || r.layers->lost_events > 0;
    rec_done(&r);
    return events;
}

static void a_ring_cut_anywhere_gives_what_is_left(void **state)
{
    uint64_t last = n_events, calls;
    bool told;

    (void)state;
    /* Downwards, so that the file only ever shrinks. Every byte of the headers, steps in the
     * records. */
    for (size_t size = ring_bytes; size-- > 0;) {
        uint64_t events;

        if (size > 2 * AS_RING_PAGE + 256 && size % 1009 != 0)
            continue;
        if (size < 2 * AS_RING_PAGE && size > 256 && size % 61 != 0)
            continue;
        assert_int_equal(ftruncate(ring_fd, (off_t)size), 0);
        events = read_run(&calls, &told);
        assert_true(events <= last);
        last = events;
    }
    assert_int_equal(pwrite(ring_fd, ring, ring_bytes, 0), ring_bytes);
    assert_int_equal(read_run(&calls, &told), n_events);
    assert_int_equal(calls, N_SCOPES);
}

static void change(size_t at, uint8_t with)
{
    uint8_t byte = ring[at] ^ with;

    assert_int_equal(pwrite(ring_fd, &byte, 1, (off_t)at), 1);
}

static void a_ring_with_any_byte_changed_is_read(void **state)
{
    /* The file's header, the lane's, and of the first chunk its header and records. */
    const size_t lane = AS_RING_PAGE, chunk = 2 * (size_t)AS_RING_PAGE;
    struct as_rng rng;
    size_t step = 1;

    (void)state;
    as_rng_seed(&rng, 9);
    for (size_t at = 0; at < chunk + AS_CHUNK_BYTES; at += step) {
        uint8_t with = (uint8_t)(1 + as_rng_below(&rng, 255));
        uint64_t calls, events;
        bool told;

        step = at < 64 || (at >= lane && at < lane + 64) || (at >= chunk && at < chunk + 256) ? 1
               : at < chunk                                                                   ? 97
                                                                                              : 41;
        change(at, with);
        events = read_run(&calls, &told);
        if (at >= chunk + 64 &&
            at < chunk + ASSAY_CHUNK_END_) { /* one record: at most it and what it closes */
            assert_true(events + 1 >= n_events);
            assert_true(calls + 2 >= N_SCOPES);
        }
        change(at, 0);
    }
}

/* Random bytes where the ring was: many times over, nothing of it may crash or hang. */
static void a_ring_of_noise_is_read(void **state)
{
    struct as_rng rng;

    (void)state;
    as_rng_seed(&rng, 10);
    for (int round = 0; round < 40; round++) {
        struct rec r;

        for (size_t i = 0; i < 2000; i++) {
            size_t at = (size_t)as_rng_below(&rng, ring_bytes - 64) + 64;

            change(at, (uint8_t)as_rng_next(&rng));
        }
        r = rec_read("run.assay");
        rec_done(&r);
        assert_int_equal(pwrite(ring_fd, ring, ring_bytes, 0), ring_bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_ring_cut_anywhere_gives_what_is_left),
        cmocka_unit_test(a_ring_with_any_byte_changed_is_read),
        cmocka_unit_test(a_ring_of_noise_is_read),
    };

    return cmocka_run_group_tests(tests, make_ring, drop_ring);
}
