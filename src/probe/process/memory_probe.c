/* probe/process/memory_probe.c - reads what the kernel says of this process's memory, again and
 * again. Files stay open between samples; a child that was forked opens its own. */
#include "probe/process/memory_probe.h"

#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/cursor.h"
#include "base/units.h"
#include "probe/process/process_memory.h"
#include "probe/system/root_file.h"
#include "probe/system/topology.h"
#include "trace/record/quiet_file.h"

#define UNKNOWN       ASSAY_UNKNOWN
#define TEXT_CAPACITY 4096

/* ---- texts ---- */

void as_memory_snapshot_clear(struct assay_memory_snapshot *out)
{
    *out = (struct assay_memory_snapshot){
        .rss_bytes = UNKNOWN,
        .peak_rss_bytes = UNKNOWN,
        .anonymous_bytes = UNKNOWN,
        .file_bytes = UNKNOWN,
        .shared_memory_bytes = UNKNOWN,
        .swap_bytes = UNKNOWN,
        .virtual_bytes = UNKNOWN,
        .pss_bytes = UNKNOWN,
        .uss_bytes = UNKNOWN,
        .minor_faults = UNKNOWN,
        .major_faults = UNKNOWN,
        .memory_total_bytes = UNKNOWN,
        .kv_cache_bytes = UNKNOWN,
        .activation_bytes = UNKNOWN,
        .temp_buffer_bytes = UNKNOWN,
        .parameter_bytes = UNKNOWN,
        .gradient_bytes = UNKNOWN,
        .optimizer_bytes = UNKNOWN,
    };
}

/* In the order in which the kernel writes them, so that the text is walked once. */
void as_memory_parse_status(struct assay_memory_snapshot *out, const char *text)
{
    const struct {
        const char *key;
        uint64_t *bytes;
    } fields[] = {
        {"VmSize", &out->virtual_bytes}, {"VmHWM", &out->peak_rss_bytes},
        {"VmRSS", &out->rss_bytes},      {"RssAnon", &out->anonymous_bytes},
        {"RssFile", &out->file_bytes},   {"RssShmem", &out->shared_memory_bytes},
        {"VmSwap", &out->swap_bytes},
    };
    const char *line = text;

    for (size_t i = 0; i < AS_COUNT_OF(fields); i++) {
        uint64_t kib, bytes;
        size_t size;
        const char *at = as_text_field(line, fields[i].key, &size);

        if (!at) /* another order: from the beginning */
            at = as_text_field(text, fields[i].key, &size);
        if (!at)
            continue;
        line = at[size] ? at + size + 1 : text;
        if (as_text_word_u64(&at, &kib) && as_mul_u64(kib, 1024, &bytes))
            *fields[i].bytes = bytes;
    }
}

/* "size resident ...", in pages. */
void as_memory_parse_statm(struct assay_memory_snapshot *out, const char *text, uint64_t page_bytes)
{
    const char *at = text;
    uint64_t size, resident, bytes;

    if (!as_text_word_u64(&at, &size) || !as_text_word_u64(&at, &resident))
        return;
    if (as_mul_u64(size, page_bytes, &bytes))
        out->virtual_bytes = bytes;
    if (as_mul_u64(resident, page_bytes, &bytes))
        out->rss_bytes = bytes;
}

/* "pid (name) state ppid ...": the name may hold anything, blanks and brackets too, so what is
 * behind its last bracket counts. */
void as_memory_parse_stat(struct assay_memory_snapshot *out, const char *text)
{
    enum { MINOR = 7, MAJOR = 9 }; /* words behind the name, from 0 */
    const char *at = strrchr(text, ')');
    uint64_t *into[] = {[MINOR] = &out->minor_faults, [MAJOR] = &out->major_faults};
    size_t size;

    if (!at)
        return;
    at++;
    for (int i = 0; i <= MAJOR; i++) {
        uint64_t value;

        if (!into[i]) {
            if (!as_text_word(&at, &size))
                return;
        } else if (as_text_word_u64(&at, &value) && value != ASSAY_UNKNOWN) {
            *into[i] = value;
        } else {
            return;
        }
    }
}

void as_memory_parse_rollup(struct assay_memory_snapshot *out, const char *text)
{
    uint64_t pss, clean, dirty, huge, sum;

    if (as_text_field_kib(text, "Pss", &pss))
        out->pss_bytes = pss;
    if (!as_text_field_kib(text, "Private_Clean", &clean) ||
        !as_text_field_kib(text, "Private_Dirty", &dirty) || !as_add_u64(clean, dirty, &sum))
        return;
    if (as_text_field_kib(text, "Private_Hugetlb", &huge) && !as_add_u64(sum, huge, &sum))
        return;
    out->uss_bytes = sum;
}

/* ---- files that stay open ---- */

static uint64_t page_size(void)
{
    long size = sysconf(_SC_PAGESIZE);

    return size > 0 ? (uint64_t)size : 4096;
}

static const char *const file_path[] = {
    [AS_MEMORY_STATM] = "/proc/self/statm",
    [AS_MEMORY_STATUS] = "/proc/self/status",
    [AS_MEMORY_STAT] = "/proc/self/stat",
    [AS_MEMORY_ROLLUP] = "/proc/self/smaps_rollup",
};
_Static_assert(AS_COUNT_OF(file_path) == AS_MEMORY_FILE_COUNT, "a path each");

static void forget(struct as_memory_reader *r)
{
    for (int i = 0; i < AS_MEMORY_FILE_COUNT; i++)
        r->file[i].fd = -1;
}

void as_memory_reader_init(struct as_memory_reader *reader, const char *root)
{
    *reader =
        (struct as_memory_reader){.root = root, .total_bytes = UNKNOWN, .page_bytes = page_size()};
    forget(reader);
}

/* A program that closes all it finds may have opened a file of its own under our number. Others may
 * look while the file is opened anew. */
static bool is_own(const struct as_memory_reader *r, enum as_memory_file which, int fd)
{
    struct stat st;

    return fd >= 0 && fstat(fd, &st) == 0 &&
           st.st_dev == __atomic_load_n(&r->file[which].device, __ATOMIC_RELAXED) &&
           st.st_ino == __atomic_load_n(&r->file[which].inode, __ATOMIC_RELAXED);
}

static bool is_ours(const struct as_memory_reader *r, enum as_memory_file which)
{
    return is_own(r, which, r->file[which].fd);
}

static void shut(struct as_memory_reader *r, enum as_memory_file which)
{
    if (is_ours(r, which))
        close(r->file[which].fd);
    __atomic_store_n(&r->file[which].fd, -1, __ATOMIC_RELAXED);
}

void as_memory_reader_fini(struct as_memory_reader *reader)
{
    for (int i = 0; i < AS_MEMORY_FILE_COUNT; i++)
        shut(reader, (enum as_memory_file)i);
}

static bool open_file(struct as_memory_reader *r, enum as_memory_file which)
{
    char full[PATH_MAX];
    struct stat st;
    int fd;

    if (snprintf(full, sizeof full, "%s%s", r->root, file_path[which]) >= (int)sizeof full)
        return false;
    fd = as_quiet_open(AT_FDCWD, full, O_RDONLY | O_NONBLOCK, 0);
    if (fd >= 0)
        fd = as_quiet_raise(fd, true);
    if (fd < 0)
        return false;
    if (fstat(fd, &st) != 0) {
        as_quiet_close(&fd);
        return false;
    }
    __atomic_store_n(&r->file[which].device, st.st_dev, __ATOMIC_RELAXED);
    __atomic_store_n(&r->file[which].inode, st.st_ino, __ATOMIC_RELAXED);
    __atomic_store_n(&r->file[which].fd, fd, __ATOMIC_RELEASE); /* others may peek */
    return true;
}

/* "/proc/self" was whoever opened it: what a parent opened tells of the parent. */
static void own_files(struct as_memory_reader *r)
{
    pid_t pid = getpid();

    if (r->pid == pid)
        return;
    as_memory_reader_fini(r);
    r->pid = pid;
}

/* The kernel gives these texts whole in one read; a second one would make them again. */
static bool read_once(const struct as_memory_reader *r, enum as_memory_file which, char *out)
{
    ssize_t n = pread(r->file[which].fd, out, TEXT_CAPACITY - 1, 0);

    out[n > 0 ? n : 0] = '\0';
    return n > 0;
}

/* "" and false when it cannot be read. */
static bool read_text(struct as_memory_reader *r, enum as_memory_file which,
                      char out[TEXT_CAPACITY])
{
    out[0] = '\0';
    if (is_ours(r, which) && read_once(r, which, out))
        return true;
    shut(r, which);
    return open_file(r, which) && read_once(r, which, out);
}

/* ---- the peak ---- */

#define PEAK_BITS 42 /* KiB below, the process above: a pid has at most 22 bits */

/* The greatest resident memory that was read of this process. The kernel's own mark (VmHWM) is made
 * of counts that lag behind by processor, so that a later reading of it may be lower than an
 * earlier one, or than memory that was seen to be resident. */
static _Atomic uint64_t seen_peak;

/* The greatest reading of process `pid` so far, this one included. */
static uint64_t raise_peak(pid_t pid, uint64_t bytes)
{
    const uint64_t mask = ((uint64_t)1 << PEAK_BITS) - 1, owner = (uint64_t)pid << PEAK_BITS;
    uint64_t old = atomic_load_explicit(&seen_peak, memory_order_relaxed);
    uint64_t kib = bytes / 1024;

    if (kib > mask)
        return bytes;
    for (;;) {
        /* A child made by fork() begins with a peak of its own. */
        uint64_t seen = old >> PEAK_BITS == (uint64_t)pid ? old & mask : 0;

        if (seen * 1024 >= bytes)
            return seen * 1024;
        if (atomic_compare_exchange_weak_explicit(&seen_peak, &old, owner | kib,
                                                  memory_order_relaxed, memory_order_relaxed))
            return bytes;
    }
}

void as_memory_forget_peak(void)
{
    atomic_store_explicit(&seen_peak, 0, memory_order_relaxed);
}

/* Readings of another root are texts of a test. */
static bool is_of_here(const struct as_memory_reader *reader)
{
    return reader->root[0] == '\0';
}

/* ---- samples ---- */

uint64_t as_memory_read_rss(struct as_memory_reader *reader)
{
    struct assay_memory_snapshot s = {.rss_bytes = UNKNOWN};
    char text[TEXT_CAPACITY];

    own_files(reader);
    if (read_text(reader, AS_MEMORY_STATM, text))
        as_memory_parse_statm(&s, text, page_size());
    if (is_of_here(reader) && s.rss_bytes != UNKNOWN)
        (void)raise_peak(reader->pid, s.rss_bytes);
    return s.rss_bytes;
}

uint64_t as_memory_peek_rss(const struct as_memory_reader *reader)
{
    const int fd = __atomic_load_n(&reader->file[AS_MEMORY_STATM].fd, __ATOMIC_ACQUIRE);
    char text[128]; /* seven numbers, of which the second counts */
    ssize_t n = is_own(reader, AS_MEMORY_STATM, fd) ? pread(fd, text, sizeof text - 1, 0) : -1;
    uint64_t pages = 0, bytes;
    const char *at = text;

    if (n <= 0)
        return UNKNOWN;
    text[n] = '\0';
    while (*at >= '0' && *at <= '9')
        at++;
    if (at == text || *at++ != ' ' || *at < '0' || *at > '9')
        return UNKNOWN;
    for (; *at >= '0' && *at <= '9'; at++) {
        if (!as_mul_u64(pages, 10, &pages))
            return UNKNOWN;
        pages += (uint64_t)(*at - '0');
    }
    return as_mul_u64(pages, reader->page_bytes, &bytes) ? bytes : UNKNOWN;
}

uint64_t as_memory_read_total(struct as_memory_reader *reader)
{
    struct as_container container;
    char text[TEXT_CAPACITY];
    uint64_t bytes;

    if (reader->total_read)
        return reader->total_bytes;
    (void)as_root_read(reader->root, "/proc/meminfo", text, sizeof text); /* "" when it cannot */
    if (as_text_field_kib(text, "MemTotal", &bytes) && bytes > 0)
        reader->total_bytes = bytes;
    as_container_read(&container, reader->root);
    if (container.memory_bytes.set && container.memory_bytes.value >= 1 &&
        container.memory_bytes.value < (double)reader->total_bytes)
        reader->total_bytes = (uint64_t)container.memory_bytes.value;
    reader->total_read = true;
    return reader->total_bytes;
}

static void read_status(struct as_memory_reader *r, struct assay_memory_snapshot *out)
{
    char text[TEXT_CAPACITY];

    if (read_text(r, AS_MEMORY_STATUS, text))
        as_memory_parse_status(out, text);
    if (out->rss_bytes == UNKNOWN && read_text(r, AS_MEMORY_STATM, text))
        as_memory_parse_statm(out, text, page_size());
}

/* The same counts as in /proc/self/stat at a fifth of the cost; a prepared root has the file alone.
 */
static void ask_faults(struct assay_memory_snapshot *out)
{
    struct as_process_events events;

    as_process_events_read(&events, false);
    if (!events.minor_faults.why)
        out->minor_faults = events.minor_faults.value;
    if (!events.major_faults.why)
        out->major_faults = events.major_faults.value;
}

static void read_faults(struct as_memory_reader *r, struct assay_memory_snapshot *out)
{
    char text[TEXT_CAPACITY];

    if (r->root[0] == '\0') {
        ask_faults(out);
        return;
    }
    if (read_text(r, AS_MEMORY_STAT, text))
        as_memory_parse_stat(out, text);
}

static void read_shares(struct as_memory_reader *r, struct assay_memory_snapshot *out)
{
    char text[TEXT_CAPACITY];

    if (read_text(r, AS_MEMORY_ROLLUP, text))
        as_memory_parse_rollup(out, text);
}

static void read_counts(struct assay_memory_snapshot *out)
{
    struct assay_memory_counts counts;

    assay_memory_read_counts(&counts);
    if (!counts.any)
        return;
    out->kv_cache_bytes = counts.current_bytes[ASSAY_MEMORY_KV_CACHE];
    out->activation_bytes = counts.current_bytes[ASSAY_MEMORY_ACTIVATIONS];
    out->temp_buffer_bytes = counts.current_bytes[ASSAY_MEMORY_TEMP];
    out->parameter_bytes = counts.current_bytes[ASSAY_MEMORY_PARAMETERS];
    out->gradient_bytes = counts.current_bytes[ASSAY_MEMORY_GRADIENTS];
    out->optimizer_bytes = counts.current_bytes[ASSAY_MEMORY_OPTIMIZER];
}

void as_memory_now(uint64_t *monotonic_ns, uint64_t *unix_us)
{
    static _Atomic uint64_t shift_ns; /* wall less steady; 0: not looked at yet */
    uint64_t shift = atomic_load_explicit(&shift_ns, memory_order_relaxed), none = 0;

    if (shift == 0) {
        struct as_clock_anchor anchor = as_clock_read_anchor(AS_CLOCK_MONOTONIC);

        shift = anchor.real_ns - anchor.mono_ns;
        if (!atomic_compare_exchange_strong_explicit(&shift_ns, &none, shift, memory_order_relaxed,
                                                     memory_order_relaxed))
            shift = none;
    }
    *monotonic_ns = as_clock_mono_ns();
    *unix_us = (*monotonic_ns + shift) / 1000;
}

/* One sentence for the gravest of what is missing. */
static const char *why_unknown(const struct assay_memory_snapshot *s, enum assay_capture how)
{
    const struct {
        uint64_t value;
        const char *why;
    } wants[] = {
        {s->rss_bytes,
         "neither /proc/self/status nor /proc/self/statm reports the resident memory"},
        {s->peak_rss_bytes, "/proc/self/status does not report the peak"},
        {s->anonymous_bytes, "/proc/self/status does not report what resident memory is made of"},
        {s->file_bytes, "/proc/self/status does not report what resident memory is made of"},
        {s->shared_memory_bytes,
         "/proc/self/status does not report what resident memory is made of"},
        {s->swap_bytes, "/proc/self/status does not report what is swapped out"},
        {s->virtual_bytes, "/proc/self/status does not report the size of the address space"},
        {s->major_faults, "the system does not report the page faults"},
        {s->minor_faults, "the system does not report the page faults"},
        {s->memory_total_bytes, "/proc/meminfo does not report the memory of the machine"},
        {how == ASSAY_CAPTURE_ALL ? s->pss_bytes : 0, "/proc/self/smaps_rollup does not report it"},
        {how == ASSAY_CAPTURE_ALL ? s->uss_bytes : 0, "/proc/self/smaps_rollup does not report it"},
        {s->kv_cache_bytes, "the program does not count its memory by category"},
        {s->pss_bytes, "pss and uss are read only when all is asked for"},
    };

    for (size_t i = 0; i < AS_COUNT_OF(wants); i++)
        if (wants[i].value == UNKNOWN)
            return wants[i].why;
    return NULL;
}

int as_memory_read(struct as_memory_reader *reader, struct assay_memory_snapshot *out,
                   enum assay_capture how, struct assay_error *err)
{
    as_memory_snapshot_clear(out);
    own_files(reader);
    as_memory_now(&out->monotonic_ns, &out->timestamp_us);
    read_status(reader, out);
    if (is_of_here(reader) && out->peak_rss_bytes != UNKNOWN) {
        if (out->rss_bytes != UNKNOWN && out->rss_bytes > out->peak_rss_bytes)
            out->peak_rss_bytes = out->rss_bytes;
        out->peak_rss_bytes = raise_peak(reader->pid, out->peak_rss_bytes);
    }
    read_faults(reader, out);
    if (how == ASSAY_CAPTURE_ALL)
        read_shares(reader, out);
    read_counts(out);
    out->memory_total_bytes = as_memory_read_total(reader);
    out->why = why_unknown(out, how);
    if (out->rss_bytes == UNKNOWN && out->virtual_bytes == UNKNOWN && out->swap_bytes == UNKNOWN &&
        out->peak_rss_bytes == UNKNOWN && out->pss_bytes == UNKNOWN)
        return as_fail(err, ASSAY_ERR_UNSUPPORTED,
                       "the memory of this process cannot be read: is %s/proc mounted?",
                       reader->root);
    return ASSAY_OK;
}

/* ---- one reading, from any thread ---- */

/* The reader of the whole process, with its descriptors, belongs to whoever holds `holder`: a
 * process id, so that a child forked meanwhile sees that the holder is not of its own. */
static struct {
    _Atomic pid_t holder;
    struct as_memory_reader reader;
    bool ready;
} common;

static bool hold_common(pid_t pid)
{
    pid_t seen = atomic_load_explicit(&common.holder, memory_order_relaxed);

    return seen != pid &&
           atomic_compare_exchange_strong_explicit(&common.holder, &seen, pid, memory_order_acquire,
                                                   memory_order_relaxed);
}

int assay_memory_capture(struct assay_memory_snapshot *out, enum assay_capture how,
                         struct assay_error *err)
{
    struct as_memory_reader mine;
    int rc;

    if (!out)
        return as_fail(err, ASSAY_ERR_USAGE, "the pointer for the snapshot is NULL");
    if (!hold_common(
            getpid())) { /* another thread is reading: files of our own are quicker than waiting */
        as_memory_reader_init(&mine, "");
        rc = as_memory_read(&mine, out, how, err);
        as_memory_reader_fini(&mine);
        return rc;
    }
    if (!common.ready)
        as_memory_reader_init(&common.reader, "");
    common.ready = true;
    rc = as_memory_read(&common.reader, out, how, err);
    atomic_store_explicit(&common.holder, 0, memory_order_release);
    return rc;
}
