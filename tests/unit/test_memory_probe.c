/* tests/unit/test_memory_probe.c - readings of memory: prepared texts, hostile ones, and this very
 * process with the system's own count as judge. */
#include "root_kit.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

#include "probe/process/memory_probe.h"

#define UNKNOWN ASSAY_UNKNOWN
#define BLOCK   ((size_t)64 << 20)

static const char status_text[] =
    "Name:\tVmRSS: 1 kB\nVmSize:\t  9000 kB\nVmHWM:\t 3000 kB\nVmRSS:\t 2000 kB\n"
    "RssAnon:\t 1000 kB\nRssFile:\t 900 kB\nRssShmem:\t 100 kB\nVmSwap:\t 8 kB\n";
static const char stat_text[] = "1 (a) b) (c) R 2 3 4 5 6 7 111 9 222 11\n";

static struct assay_memory_snapshot cleared(void)
{
    struct assay_memory_snapshot s;

    as_memory_snapshot_clear(&s);
    return s;
}

static void texts_are_read(void **state)
{
    struct kit_root root = kit_root_new();
    struct assay_memory_snapshot s;
    struct as_memory_reader reader;

    (void)state;
    kit_root_put(&root, "/proc/self/status", status_text);
    kit_root_put(&root, "/proc/self/stat", stat_text);
    kit_root_put(&root, "/proc/self/statm", "100 50 1 1 0 1 0\n");
    kit_root_put(&root, "/proc/self/smaps_rollup",
                 "00-ff ---p 00000000 00:00 0    [rollup]\nRss: 7 kB\nPss: 55 kB\nPss_Dirty: 1 kB\n"
                 "Private_Clean: 10 kB\nPrivate_Dirty: 20 kB\n");
    kit_root_put(&root, "/proc/meminfo", "MemTotal: 16000 kB\n");
    as_memory_reader_init(&reader, root.path);
    assert_int_equal(as_memory_read(&reader, &s, ASSAY_CAPTURE_ALL, NULL), ASSAY_OK);
    assert_int_equal(s.rss_bytes, 2000 * 1024);
    assert_int_equal(s.peak_rss_bytes, 3000 * 1024);
    assert_int_equal(s.anonymous_bytes, 1000 * 1024);
    assert_int_equal(s.file_bytes, 900 * 1024);
    assert_int_equal(s.shared_memory_bytes, 100 * 1024);
    assert_int_equal(s.swap_bytes, 8 * 1024);
    assert_int_equal(s.virtual_bytes, 9000 * 1024);
    assert_int_equal(s.pss_bytes, 55 * 1024);
    assert_int_equal(s.uss_bytes, 30 * 1024);
    assert_int_equal(s.minor_faults, 111);
    assert_int_equal(s.major_faults, 222);
    assert_int_equal(s.memory_total_bytes, 16000 * 1024);
    assert_true(s.kv_cache_bytes == UNKNOWN); /* nobody counts */
    assert_non_null(s.why);
    assert_int_equal(as_memory_read_rss(&reader), 50 * sysconf(_SC_PAGESIZE));
    kit_root_put(&root, "/proc/self/status", "VmRSS:\t 1 kB\n"); /* the open file tells anew */
    assert_int_equal(as_memory_read(&reader, &s, ASSAY_CAPTURE_USUAL, NULL), ASSAY_OK);
    assert_int_equal(s.rss_bytes, 1024);
    assert_true(s.peak_rss_bytes == UNKNOWN && s.pss_bytes == UNKNOWN);
    assert_non_null(strstr(s.why, "peak"));
    as_memory_reader_fini(&reader);
    as_memory_reader_fini(&reader);
    kit_root_fini(&root);
}

static void absence_is_unknown_and_never_zero(void **state)
{
    struct kit_root root = kit_root_new();
    struct assay_memory_snapshot s;
    struct as_memory_reader reader;
    struct assay_error err = {0};

    (void)state;
    as_memory_reader_init(&reader, root.path);
    assert_int_equal(as_memory_read(&reader, &s, ASSAY_CAPTURE_ALL, &err), ASSAY_ERR_UNSUPPORTED);
    assert_non_null(strstr(err.msg, root.path));
    assert_true(s.rss_bytes == UNKNOWN && s.peak_rss_bytes == UNKNOWN && s.swap_bytes == UNKNOWN);
    assert_true(s.minor_faults == UNKNOWN && s.memory_total_bytes == UNKNOWN);
    assert_non_null(s.why);
    assert_true(as_memory_read_rss(&reader) == UNKNOWN);
    /* The least file is enough not to fail, and a file that comes later is found. */
    kit_root_put(&root, "/proc/self/statm", "100 50\n");
    assert_int_equal(as_memory_read(&reader, &s, ASSAY_CAPTURE_USUAL, &err), ASSAY_OK);
    assert_int_equal(s.rss_bytes, 50 * sysconf(_SC_PAGESIZE));
    assert_int_equal(s.virtual_bytes, 100 * sysconf(_SC_PAGESIZE));
    as_memory_reader_fini(&reader);
    kit_root_fini(&root);
}

static void a_container_may_have_less(void **state)
{
    struct kit_root root = kit_root_new();
    struct as_memory_reader reader;

    (void)state;
    kit_root_put(&root, "/proc/meminfo", "MemTotal: 16000 kB\n");
    kit_root_put(&root, "/proc/self/cgroup", "0::/a\n");
    kit_root_put(&root, "/sys/fs/cgroup/cgroup.controllers", "cpu memory\n");
    kit_root_put(&root, "/sys/fs/cgroup/a/memory.max", "1000000\n");
    kit_root_put(&root, "/sys/fs/cgroup/a/memory.current", "1\n");
    as_memory_reader_init(&reader, root.path);
    assert_int_equal(as_memory_read_total(&reader), 1000000);
    as_memory_reader_fini(&reader);
    kit_root_fini(&root);
}

static void hostile_texts_leave_things_unknown(void **state)
{
    static const char *const bad[] = {
        "",
        "VmRSS",
        "VmRSS:",
        "VmRSS: kB",
        "VmRSS: -1 kB",
        "VmRSS: 18446744073709551615 kB",
        "VmRSS: 99999999999999999999999 kB",
        "VmRSS: 1x kB",
        "xVmRSS: 1 kB",
    };
    static const char *const bad_stat[] = {"",
                                           "1",
                                           "1 (",
                                           "1 (x",
                                           "1 (x)",
                                           "1 (x) R 1 2 3 4 5 6",
                                           "1 (x) R 1 2 3 4 5 6 -7 8 9",
                                           "1 (x) R 1 2 3 4 5 6 q"};
    static const char *const bad_statm[] = {"", "1", "x y", "1 18446744073709551615", "1 -2"};
    struct assay_memory_snapshot s = cleared();

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(bad); i++)
        as_memory_parse_status(&s, bad[i]);
    for (size_t i = 0; i < UNIT_COUNT(bad_stat); i++)
        as_memory_parse_stat(&s, bad_stat[i]);
    for (size_t i = 0; i < UNIT_COUNT(bad_statm); i++)
        as_memory_parse_statm(&s, bad_statm[i], 4096);
    as_memory_parse_rollup(&s, "Private_Clean: 18014398509481983 kB\nPrivate_Dirty: 9 kB\n");
    assert_true(s.rss_bytes == UNKNOWN);
    assert_true(s.minor_faults == UNKNOWN && s.major_faults == UNKNOWN);
    assert_true(s.uss_bytes == UNKNOWN && s.pss_bytes == UNKNOWN);
}

static uint64_t distance(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

static char *map_block(void)
{
    char *block = mmap(NULL, BLOCK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    assert_true(block != MAP_FAILED);
    return block;
}

static void this_process_is_read_and_the_system_agrees(void **state)
{
    const uint64_t slack = (uint64_t)8 << 20;
#ifdef __SANITIZE_THREAD__ /* it keeps notes of all memory, several times as large */
    const uint64_t more = 8 * BLOCK;
#else
    const uint64_t more = slack;
#endif
    struct assay_memory_snapshot before, held, after;
    struct rusage usage;
    char *block;

    (void)state;
    if (assay_memory_capture(&before, ASSAY_CAPTURE_ALL, NULL) < 0)
        skip();
    block = map_block();
    memset(block, 1, BLOCK);
    assert_int_equal(assay_memory_capture(&held, ASSAY_CAPTURE_ALL, NULL), ASSAY_OK);
    assert_int_equal(munmap(block, BLOCK), 0);
    assert_int_equal(assay_memory_capture(&after, ASSAY_CAPTURE_ALL, NULL), ASSAY_OK);
    assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
    assert_in_range(held.rss_bytes, before.rss_bytes + BLOCK - slack,
                    before.rss_bytes + BLOCK + more);
    assert_in_range(held.anonymous_bytes, before.anonymous_bytes + BLOCK - slack,
                    before.anonymous_bytes + BLOCK + more);
    assert_true(distance(held.virtual_bytes, before.virtual_bytes + BLOCK) < slack);
    assert_true(held.rss_bytes - after.rss_bytes > BLOCK - slack);
    assert_true(distance(after.rss_bytes, before.rss_bytes) < more);
    assert_true(after.peak_rss_bytes >= before.rss_bytes + BLOCK - slack);
    assert_true(distance(after.peak_rss_bytes, (uint64_t)usage.ru_maxrss * 1024) < slack);
    assert_true(held.minor_faults > before.minor_faults);
    assert_true((uint64_t)usage.ru_minflt >= after.minor_faults);
    assert_true(held.memory_total_bytes > held.rss_bytes);
    if (held.pss_bytes != UNKNOWN) {
        assert_true(held.pss_bytes <= held.rss_bytes + slack);
        assert_true(held.uss_bytes <= held.pss_bytes + slack);
        assert_true(held.uss_bytes >= BLOCK - slack);
    }
    assert_true(held.monotonic_ns > before.monotonic_ns);
    assert_true(distance(after.timestamp_us / 1000000, (uint64_t)time(NULL)) <= 2);
}

static void a_peak_never_falls_and_is_no_child_s(void **state)
{
    struct assay_memory_snapshot s;
    uint64_t peak = 0;
    char *block;
    int status;
    pid_t pid;

    (void)state;
    if (assay_memory_capture(&s, ASSAY_CAPTURE_USUAL, NULL) < 0 || s.peak_rss_bytes == UNKNOWN)
        skip();
    for (unsigned i = 0; i < 300; i++) {
        size_t size = (size_t)(i * 7 % 64 + 1) << 12;

        block = map_block();
        memset(block, 1, size);
        assert_int_equal(assay_memory_capture(&s, ASSAY_CAPTURE_USUAL, NULL), ASSAY_OK);
        assert_true(s.peak_rss_bytes >= peak && s.peak_rss_bytes >= s.rss_bytes);
        peak = s.peak_rss_bytes;
        assert_int_equal(munmap(block, BLOCK), 0);
    }
    block = map_block();
    memset(block, 1, BLOCK);
    assert_int_equal(munmap(block, BLOCK), 0);
    assert_int_equal(assay_memory_capture(&s, ASSAY_CAPTURE_USUAL, NULL), ASSAY_OK);
    peak = s.peak_rss_bytes;
    pid = fork();
    if (pid == 0)
        _exit(assay_memory_capture(&s, ASSAY_CAPTURE_USUAL, NULL) < 0 ||
              s.peak_rss_bytes > peak - BLOCK / 2);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void the_program_s_account_is_in_the_snapshot(void **state)
{
    struct assay_memory_snapshot s;

    (void)state;
    assay_memory_add(ASSAY_MEMORY_KV_CACHE, 10);
    assay_memory_add(ASSAY_MEMORY_TEMP, 20);
    if (assay_memory_capture(&s, ASSAY_CAPTURE_USUAL, NULL) < 0)
        skip();
    assert_int_equal(s.kv_cache_bytes, 10);
    assert_int_equal(s.temp_buffer_bytes, 20);
    assert_int_equal(s.activation_bytes, 0); /* the program counts, and holds none of these */
    assay_memory_sub(ASSAY_MEMORY_KV_CACHE, 10);
    assay_memory_sub(ASSAY_MEMORY_TEMP, 20);
}

/* The parent holds a block that the child gives back: a child that read its parent's file would not
 * see it go. */
static void a_child_reads_itself(void **state)
{
    struct assay_memory_snapshot before = cleared(), s = cleared();
    struct as_memory_reader reader;
    char *block = map_block();
    uint64_t rss;
    int status = -1;
    pid_t child;

    (void)state;
    memset(block, 1, BLOCK);
    as_memory_reader_init(&reader, "");
    rss = as_memory_read_rss(&reader);
    if (rss == UNKNOWN || assay_memory_capture(&before, ASSAY_CAPTURE_USUAL, NULL) < 0)
        skip();
    child = fork();
    if (child == 0) {
        int bad = munmap(block, BLOCK) != 0;

        bad |= as_memory_read_rss(&reader) > rss - BLOCK / 2;
        bad |= assay_memory_capture(&s, ASSAY_CAPTURE_USUAL, NULL) < 0 ||
               s.rss_bytes > before.rss_bytes - BLOCK / 2;
        as_memory_reader_fini(&reader);
        _exit(bad);
    }
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_true(as_memory_read_rss(&reader) > BLOCK); /* ours still works */
    as_memory_reader_fini(&reader);
    assert_int_equal(munmap(block, BLOCK), 0);
}

static void *capture_often(void *user)
{
    _Atomic int *failed = user;
    struct assay_memory_snapshot s;

    for (int i = 0; i < 200; i++)
        if (assay_memory_capture(&s, ASSAY_CAPTURE_USUAL, NULL) < 0 || s.rss_bytes == 0 ||
            s.rss_bytes == UNKNOWN)
            atomic_fetch_add(failed, 1);
    return NULL;
}

static void several_threads_read_at_once(void **state)
{
    struct assay_memory_snapshot s;
    _Atomic int failed = 0;
    pthread_t thread[4];

    (void)state;
    if (assay_memory_capture(&s, ASSAY_CAPTURE_USUAL, NULL) < 0)
        skip();
    for (size_t i = 0; i < UNIT_COUNT(thread); i++)
        assert_int_equal(pthread_create(&thread[i], NULL, capture_often, &failed), 0);
    for (size_t i = 0; i < UNIT_COUNT(thread); i++)
        assert_int_equal(pthread_join(thread[i], NULL), 0);
    assert_int_equal(failed, 0);
}

/* Programs that become daemons close whatever they find. */
static void a_descriptor_taken_from_us_is_left_to_its_new_owner(void **state)
{
    struct kit_root root = kit_root_new();
    struct as_memory_reader reader;
    char path[128];
    int fd, theirs;

    (void)state;
    kit_root_put(&root, "/theirs", "not for us");
    kit_root_put(&root, "/proc/self/statm", "100 50\n");
    as_memory_reader_init(&reader, root.path);
    assert_int_equal(as_memory_read_rss(&reader), 50 * sysconf(_SC_PAGESIZE));
    fd = reader.file[AS_MEMORY_STATM].fd;
    assert_true(snprintf(path, sizeof path, "%s/theirs", root.path) < (int)sizeof path);
    theirs = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(theirs >= 0);
    assert_int_equal(dup2(theirs, fd), fd);
    assert_int_equal(as_memory_read_rss(&reader), 50 * sysconf(_SC_PAGESIZE));
    as_memory_reader_fini(&reader);
    assert_true(fcntl(fd, F_GETFD) >= 0); /* not closed under its owner */
    close(fd);
    close(theirs);
    kit_root_fini(&root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_read),
        cmocka_unit_test(absence_is_unknown_and_never_zero),
        cmocka_unit_test(a_container_may_have_less),
        cmocka_unit_test(hostile_texts_leave_things_unknown),
        cmocka_unit_test(this_process_is_read_and_the_system_agrees),
        cmocka_unit_test(a_peak_never_falls_and_is_no_child_s),
        cmocka_unit_test(the_program_s_account_is_in_the_snapshot),
        cmocka_unit_test(a_child_reads_itself),
        cmocka_unit_test(several_threads_read_at_once),
        cmocka_unit_test(a_descriptor_taken_from_us_is_left_to_its_new_owner),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
