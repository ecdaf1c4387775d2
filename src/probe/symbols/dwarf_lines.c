/* probe/symbols/dwarf_lines.c - starts the process that reads debug information, hears its answers
 * and ends it. A file that ends it, or takes too long, is left and the next ones get another. */
#include "probe/symbols/dwarf_lines.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/file/file_open.h"
#include "probe/symbols/dwarf_internal.h"

#define ANSWER_BYTES  (64u << 10)           /* written and read at once */
#define ADDRESS_BYTES (UINT64_C(16) << 30)  /* files are mapped: most of it is never touched */
#define MAX_SAID      (UINT64_C(256) << 20) /* by one process */
#define NS_PER_SECOND UINT64_C(1000000000)

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#define SANITIZED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define SANITIZED 0
#endif

/* ---- the process that reads ---- */

struct speaker {
    int fd;
    size_t used;
    uint8_t bytes[ANSWER_BYTES + AS_DWARF_ANSWER_MAX];
};

static void flush(struct speaker *s)
{
    for (size_t at = 0; at < s->used;) {
        ssize_t n = write(s->fd, s->bytes + at, s->used - at);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            _exit(1); /* nobody hears it */
        at += (size_t)n;
    }
    s->used = 0;
}

static void put(struct speaker *s, uint64_t value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        s->bytes[s->used++] = (uint8_t)(value >> 8 * i);
}

static void put_frame(struct speaker *s, const struct as_dwarf_found *f)
{
    size_t function = f->function ? strnlen(f->function, AS_DWARF_MAX_TEXT) : 0;
    size_t file = f->file ? strnlen(f->file, AS_DWARF_MAX_TEXT) : 0;

    put(s, f->line > UINT32_MAX ? 0 : f->line, 4);
    put(s, function, 2);
    put(s, file, 2);
    if (function)
        memcpy(s->bytes + s->used, f->function, function);
    s->used += function;
    if (file)
        memcpy(s->bytes + s->used, f->file, file);
    s->used += file;
}

static void answer(struct speaker *s, const struct as_dwarf_library *library,
                   const struct as_dwarf_module *m)
{
    struct as_dwarf_file *file = as_dwarf_file_open(library, m->path);
    struct as_dwarf_found found[AS_DWARF_MAX_DEPTH];

    for (size_t i = 0; file && i < m->n; i++) {
        size_t n = as_dwarf_file_find(file, m->address[i], found);

        if (n == 0)
            continue;
        put(s, AS_DWARF_PLACE, 1);
        put(s, i, 4);
        put(s, n, 1);
        for (size_t k = 0; k < n; k++)
            put_frame(s, &found[k]);
        if (s->used >= ANSWER_BYTES)
            flush(s);
    }
    as_dwarf_file_close(file);
}

static void limit_all(const struct as_dwarf_limits *limits)
{
    (void)setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    (void)setrlimit(RLIMIT_FSIZE, &(struct rlimit){0, 0});
    (void)setrlimit(RLIMIT_CPU, &(struct rlimit){limits->cpu_seconds, limits->cpu_seconds});
#if !SANITIZED /* which needs terabytes of addresses */
    (void)setrlimit(RLIMIT_DATA, &(struct rlimit){limits->data_bytes, limits->data_bytes});
    (void)setrlimit(RLIMIT_AS, &(struct rlimit){ADDRESS_BYTES, ADDRESS_BYTES});
#endif
}

static _Noreturn void read_all(int fd, const struct as_dwarf_module *module, size_t from, size_t n,
                               const struct as_dwarf_limits *limits)
{
    static struct speaker speaker;
    const struct as_dwarf_library *library;

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    limit_all(limits);
    speaker.fd = fd;
    library = as_dwarf_library_open();
    for (size_t i = from; library && i < n; i++) {
        put(&speaker, AS_DWARF_BEGINS, 1);
        put(&speaker, i, 4);
        flush(&speaker);
        answer(&speaker, library, &module[i]);
    }
    put(&speaker, AS_DWARF_ENDS, 1);
    put(&speaker, library != NULL, 1);
    flush(&speaker);
    _exit(0);
}

/* ---- the one that asks ---- */

/* The end of its answers to read from; -1: it could not be started. */
static int start(pid_t *pid, const struct as_dwarf_module *module, size_t from, size_t n,
                 const struct as_dwarf_limits *limits)
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) != 0)
        return -1;
    ends[0] = as_fd_above_standard(ends[0]);
    ends[1] = as_fd_above_standard(ends[1]);
    *pid = ends[0] >= 0 && ends[1] >= 0 ? fork() : -1;
    if (*pid == 0)
        read_all(ends[1], module, from, n, limits);
    if (ends[1] >= 0)
        close(ends[1]);
    if (*pid < 0 && ends[0] >= 0) {
        close(ends[0]);
        ends[0] = -1;
    }
    return ends[0];
}

/* Reads on as soon as there is something. 0: it has ended, or the time is over. */
static size_t hear(int fd, uint8_t *to, uint64_t until_ns)
{
    for (;;) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        uint64_t now_ns = as_clock_mono_ns();
        ssize_t n;

        if (now_ns >= until_ns)
            return 0;
        if (poll(&p, 1, (int)((until_ns - now_ns) / 1000000 + 1)) < 0 && errno != EINTR)
            return 0;
        if (!p.revents)
            continue;
        n = read(fd, to, ANSWER_BYTES);
        if (n >= 0 || errno != EINTR)
            return n > 0 ? (size_t)n : 0;
    }
}

/* What was said up to its end. NOMEM alone fails. */
static int hear_all(int fd, struct as_dwarf_answers *a, uint64_t until_ns)
{
    struct as_buffer buffer = {.max_bytes = ANSWER_BYTES + 2 * AS_DWARF_ANSWER_MAX};
    uint64_t said = 0;
    int rc = 1;

    while (rc == 1 && said < MAX_SAID) {
        uint8_t *to = as_buffer_reserve(&buffer, ANSWER_BYTES);
        struct as_cursor c;
        size_t n;

        if (!to) {
            rc = ASSAY_ERR_NOMEM;
            break;
        }
        n = hear(fd, to, until_ns);
        if (n == 0)
            break;
        said += n;
        buffer.size += n;
        c = as_cursor_over(buffer.data, buffer.size);
        rc = as_dwarf_answers_take(a, &c);
        buffer.size = as_cursor_left(&c);
        memmove(buffer.data, c.at, buffer.size);
    }
    as_buffer_fini(&buffer);
    return rc == ASSAY_ERR_NOMEM ? rc : ASSAY_OK;
}

static int ask_once(struct as_dwarf_answers *a, const struct as_dwarf_limits *limits,
                    uint64_t until_ns)
{
    pid_t pid = -1;
    int fd = start(&pid, a->module, a->next, a->n_modules, limits), rc;

    if (fd < 0) {
        a->next = a->n_modules;
        return ASSAY_OK;
    }
    rc = hear_all(fd, a, until_ns);
    close(fd);
    (void)kill(pid, SIGKILL);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    return rc;
}

static size_t count(const struct as_dwarf_module *module, size_t from, size_t to)
{
    size_t n = 0;

    for (size_t i = from; i < to; i++)
        n += module[i].n;
    return n;
}

int as_dwarf_look_up(const struct as_dwarf_module *module, size_t n_modules,
                     const struct as_dwarf_limits *limits, struct as_dwarf_place *place,
                     struct as_arena *arena, struct as_dwarf_report *report,
                     struct assay_error *err)
{
    struct as_dwarf_answers a = {
        .module = module, .n_modules = n_modules, .place = place, .arena = arena, .at = n_modules};
    uint64_t until_ns = as_clock_mono_ns() + limits->wall_seconds * NS_PER_SECOND;
    int rc = ASSAY_OK;

    memset(place, 0, count(module, 0, n_modules) * sizeof *place);
    *report = (struct as_dwarf_report){0};
    for (uint32_t i = 0; i <= limits->restarts && a.next < n_modules && rc == ASSAY_OK; i++) {
        size_t before = a.next;

        if (as_clock_mono_ns() >= until_ns)
            break;
        a.at = n_modules;
        rc = ask_once(&a, limits, until_ns);
        if (a.ended)
            break;
        if (a.next == before) /* it did not get so far as to begin one */
            a.next++;
        report->given_up++;
        report->unanswered += count(module, a.next - 1, a.next);
    }
    if (!a.ended)
        report->unanswered += count(module, a.next, n_modules);
    report->missing = a.missing;
    as_hash_map_fini(&a.texts);
    return rc < 0 ? as_fail_nomem(err) : ASSAY_OK;
}
