/* trace/record/guest.c - everything the recorder owns inside somebody else's program. The rules
 * stand in the header. */
#include "trace/record/guest.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/units.h"
#include "trace/record/own_task.h"
#include "trace/record/ring.h"
#include "trace/record/run_claim.h"
#include "trace/record/site_table.h"

#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#define UNSHARE_TABLE 2u /* CLOSE_RANGE_UNSHARE */

/* The stack is address space that counts against the program's limits. Sanitizers need more. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define STACK_BYTES ((size_t)8 << 20)
#else
#define STACK_BYTES ((size_t)1 << 20)
#endif

#define MOST_PATIENT_NS 1000000000u /* between two looks of a caller that has time */

#define RING_SEALED 0400 /* not even its owner shortens it by mistake */
#define RING_OPEN   0600

enum keeper_word { KEEPER_WAITS, KEEPER_ALONE, KEEPER_STOPS };

enum thread_state { THREAD_BEGINS, THREAD_SETTLED, THREAD_REFUSED };

enum call_state { CALL_NONE, CALL_POSTED, CALL_RUNNING, CALL_DONE };

static struct {
    pthread_t thread;
    _Atomic bool runs;
    _Atomic bool stop;
    pthread_t keeper;
    bool keeps;
    _Atomic uint32_t alone; /* enum keeper_word */
    bool own_table;
    _Atomic uint32_t settled; /* enum thread_state */

    _Atomic uint32_t wake;
    _Atomic uint32_t sleeping;
    _Atomic uint32_t needed, satisfied;

    pthread_mutex_t call_lock;
    _Atomic uint32_t call; /* enum call_state */
    void (*work)(void *);
    void *argument;

    void (*main)(void);
    void (*retire)(void);
    struct as_run_claim files; /* descriptors: of the thread's table, or of the task of rule 2 */
    bool created;              /* made, and not yet in place */
    char folder[PATH_MAX];     /* absolute; for rule 2 */
    int lock_fd;               /* of rule 2, in the program's table; -1: none */
    struct as_file_id lock_id;
    _Atomic uintptr_t caller; /* rule 2: the thread that a call is done for */
    bool may_open;            /* and whether that call may use files */
    int proc[AS_GUEST_PROC_COUNT];
} guest = {.call_lock = PTHREAD_MUTEX_INITIALIZER,
           .files = {.folder = -1, .run_fd = -1, .ring_fd = -1},
           .lock_fd = -1,
           .proc = {-1, -1}};

static const char *const proc_path[] = {
    [AS_GUEST_STAT] = "/proc/self/stat",
    [AS_GUEST_STATM] = "/proc/self/statm",
};
_Static_assert(AS_COUNT_OF(proc_path) == AS_GUEST_PROC_COUNT, "a path each");

/* ---- waiting ---- */

void as_futex_wait(_Atomic uint32_t *word, uint32_t value, uint64_t timeout_ns)
{
    struct timespec t = {(time_t)(timeout_ns / 1000000000u), (long)(timeout_ns % 1000000000u)};

    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, &t, NULL, 0);
}

void as_futex_wake(_Atomic uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
}

void as_guest_wake(void)
{
    atomic_fetch_add(&guest.wake, 1);
    if (atomic_load(&guest.sleeping))
        as_futex_wake(&guest.wake);
}

uint32_t as_guest_wake_count(void)
{
    return atomic_load(&guest.wake);
}

void as_guest_sleep(uint32_t seen, uint64_t most_ns)
{
    atomic_store(&guest.sleeping, 1);
    if (atomic_load(&guest.wake) == seen && !atomic_load(&guest.stop))
        as_futex_wait(&guest.wake, seen, most_ns);
    atomic_store(&guest.sleeping, 0);
}

bool as_guest_has_thread(void)
{
    return atomic_load(&guest.runs);
}

/* The task of rule 2 has the thread-local memory of the thread it works for. */
bool as_guest_is_here(void)
{
    return atomic_load(&guest.runs) ? pthread_equal(guest.thread, pthread_self())
                                    : atomic_load(&guest.caller) == (uintptr_t)pthread_self();
}

static void close_files(void)
{
    as_quiet_close(&guest.files.ring_fd);
    as_quiet_close(&guest.files.run_fd);
    as_quiet_close(&guest.files.folder);
}

static void work_apart(void *unused)
{
    (void)unused;
    guest.work(guest.argument);
    close_files();
}

/* Rule 2. Without a task the work is done here, and with files only when no other thread is there
 * who could put another file under the number of ours. */
static void call_apart(void)
{
    guest.may_open = true;
    atomic_store(&guest.caller, (uintptr_t)pthread_self());
    if (!as_own_task_run(work_apart, NULL)) {
        guest.may_open = as_is_only_thread();
        as_own_stack_run(work_apart, NULL);
    }
    atomic_store(&guest.caller, 0);
}

static void call_thread(void)
{
    uint32_t state;

    atomic_store(&guest.call, CALL_POSTED);
    as_guest_wake();
    while ((state = atomic_load(&guest.call)) != CALL_DONE)
        as_futex_wait(&guest.call, state, MOST_PATIENT_NS);
    atomic_store(&guest.call, CALL_NONE);
}

void as_guest_call(void (*work)(void *), void *argument)
{
    struct as_held held;

    as_signals_block(&held); /* a handler that forks would wait for the lock */
    if (as_guest_is_here()) {
        work(argument);
        as_signals_restore(&held);
        return;
    }
    pthread_mutex_lock(&guest.call_lock);
    guest.work = work;
    guest.argument = argument;
    if (atomic_load(&guest.runs))
        call_thread();
    else
        call_apart();
    pthread_mutex_unlock(&guest.call_lock);
    as_signals_restore(&held);
}

void as_guest_serve(void)
{
    uint32_t posted = CALL_POSTED;

    if (!atomic_compare_exchange_strong(&guest.call, &posted, CALL_RUNNING))
        return;
    guest.work(guest.argument);
    atomic_store(&guest.call, CALL_DONE);
    as_futex_wake(&guest.call);
}

void as_guest_need(void)
{
    const uint32_t ticket = atomic_fetch_add(&guest.needed, 1) + 1;
    const uint64_t until = as_clock_mono_ns() + AS_GUEST_PATIENCE_NS;
    uint32_t seen;

    as_guest_wake();
    while ((int32_t)((seen = atomic_load(&guest.satisfied)) - ticket) < 0) {
        uint64_t now = as_clock_mono_ns();

        if (now >= until)
            return;
        as_futex_wait(&guest.satisfied, seen, until - now);
    }
}

bool as_guest_is_needed(uint32_t *ticket)
{
    *ticket = atomic_load(&guest.needed);
    return *ticket != atomic_load(&guest.satisfied);
}

void as_guest_satisfy(uint32_t ticket)
{
    atomic_store(&guest.satisfied, ticket);
    as_futex_wake(&guest.satisfied);
}

/* ---- the thread ---- */

/* A table of descriptors of its own, with nothing in it. */
static bool unshare_table(void)
{
    if (syscall(SYS_close_range, 0u, ~0u, UNSHARE_TABLE) == 0)
        return true;
    if (unshare(CLONE_FILES) != 0)
        return false;
    if (syscall(SYS_close_range, 0u, ~0u, 0u) != 0) {
        struct rlimit limit;
        long most = getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < 1u << 20
                        ? (long)limit.rlim_cur
                        : 1L << 20;

        for (long fd = 0; fd < most; fd++)
            (void)syscall(SYS_close, (int)fd);
    }
    return true;
}

/* Held open, so that no root and no limit of the program's takes them away later. */
static void open_proc(void)
{
    for (int i = 0; i < AS_GUEST_PROC_COUNT; i++)
        guest.proc[i] = as_quiet_open(AT_FDCWD, proc_path[i], O_RDONLY, 0);
}

static void *thread_main(void *unused)
{
    bool own;

    (void)unused;
    guest.own_table = unshare_table();
    if (guest.own_table)
        open_proc();
    prctl(PR_SET_NAME, "assay-trace");
    own = guest.own_table;
    atomic_store(&guest.settled, own ? THREAD_SETTLED : THREAD_REFUSED);
    as_futex_wake(&guest.settled);
    if (own)
        guest.main();
    return NULL;
}

static bool create_thread(pthread_t *thread, void *(*main)(void *))
{
    pthread_attr_t attributes;
    struct as_held held;
    bool ok = false;

    as_signals_block(&held); /* inherited: the program's signals are never delivered there */
    if (pthread_attr_init(&attributes) == 0) {
        ok = pthread_attr_setstacksize(&attributes, STACK_BYTES) == 0 &&
             pthread_create(thread, &attributes, main, NULL) == 0;
        pthread_attr_destroy(&attributes);
    }
    if (!ok) /* the program's own thread-local memory may be larger than that stack */
        ok = pthread_create(thread, NULL, main, NULL) == 0;
    as_signals_restore(&held);
    return ok;
}

bool as_guest_prepare(void)
{
    return as_own_task_prepare();
}

bool as_guest_start(void (*main)(void), void (*retire)(void))
{
    uint32_t state;

    atomic_store(&guest.stop, false);
    atomic_store(&guest.settled, THREAD_BEGINS);
    atomic_store(&guest.call, CALL_NONE);
    atomic_store(&guest.satisfied, atomic_load(&guest.needed));
    guest.main = main;
    guest.retire = retire;
    guest.own_table = guest.keeps = false;
    if (!create_thread(&guest.thread, thread_main))
        return false;
    while ((state = atomic_load(&guest.settled)) == THREAD_BEGINS)
        as_futex_wait(&guest.settled, THREAD_BEGINS, MOST_PATIENT_NS);
    if (state == THREAD_REFUSED) {
        pthread_join(guest.thread, NULL);
        return false;
    }
    atomic_fetch_add(&as_own_threads, 1);
    atomic_store(&guest.runs, true);
    return true;
}

/* ---- the keeper ---- */

static void *keeper_main(void *unused)
{
    (void)unused;
    prctl(PR_SET_NAME, "assay-keep");
    while (atomic_load(&guest.alone) == KEEPER_WAITS)
        as_futex_wait(&guest.alone, KEEPER_WAITS, MOST_PATIENT_NS);
    if (atomic_load(&guest.alone) == KEEPER_ALONE) {
        guest.retire();
        atomic_fetch_sub(&as_own_threads, 1);
    }
    return NULL;
}

void as_guest_keep(void)
{
    if (!atomic_load(&guest.runs) || guest.keeps)
        return;
    atomic_store(&guest.alone, KEEPER_WAITS);
    guest.keeps = create_thread(&guest.keeper, keeper_main);
    atomic_fetch_add(&as_own_threads, guest.keeps);
}

_Atomic uint32_t as_own_threads;

bool as_guest_program_has_ended(void)
{
    void *list = NULL;
    size_t size;
    struct statx tasks;

    /* Every thread has such a list until it ends, and the first one keeps its number after that. */
    if (syscall(SYS_get_robust_list, getpid(), &list, &size) != 0 || list)
        return false;
    return syscall(SYS_statx, AT_FDCWD, "/proc/self/task", 0, STATX_NLINK, &tasks) == 0 &&
           tasks.stx_nlink == 2 + 1 + atomic_load(&as_own_threads); /* ".", "..", the first */
}

bool as_guest_is_alone(void)
{
    if (!guest.keeps)
        return false;
    atomic_store(&guest.alone, KEEPER_ALONE);
    as_futex_wake(&guest.alone);
    return true;
}

static void stop_keeper(void)
{
    uint32_t waits = KEEPER_WAITS;

    if (!guest.keeps || pthread_equal(guest.keeper, pthread_self()))
        return;
    if (atomic_compare_exchange_strong(&guest.alone, &waits, KEEPER_STOPS))
        as_futex_wake(&guest.alone);
    pthread_join(guest.keeper, NULL);
    atomic_fetch_sub(&as_own_threads, 1);
    guest.keeps = false;
}

bool as_guest_is_stopping(void)
{
    return atomic_load(&guest.stop);
}

/* The last that the thread does: once a descriptor is closed it must not look for work again. */
static void leave(void *unused)
{
    (void)unused;
    for (int i = 0; i < AS_GUEST_PROC_COUNT; i++)
        as_quiet_close(&guest.proc[i]);
    atomic_store(&guest.stop, true);
}

static void leave_with_files(void *unused)
{
    (void)as_ring_tell_started(guest.files.ring_fd);
    close_files();
    leave(unused);
}

static void stop_after(void (*last_work)(void *))
{
    if (!atomic_load(&guest.runs))
        return;
    as_guest_call(last_work, NULL);
    as_guest_wake();
    as_futex_wake(&guest.wake);
    if (!pthread_equal(guest.thread, pthread_self())) /* it was the last, and ends the program */
        pthread_join(guest.thread, NULL);
    atomic_fetch_sub(&as_own_threads, 1);
    stop_keeper();
    atomic_store(&guest.runs, false);
    guest.own_table = false;
}

void as_guest_stop(void)
{
    stop_after(leave);
}

void as_guest_retire(void)
{
    stop_after(leave_with_files);
}

void as_guest_lock(void)
{
    pthread_mutex_lock(&guest.call_lock);
}

void as_guest_unlock(void)
{
    pthread_mutex_unlock(&guest.call_lock);
}

/* ---- files ---- */

static void forget_files(void)
{
    guest.files = AS_RUN_CLAIM_NONE;
    guest.created = false;
    guest.folder[0] = '\0';
}

void as_guest_forget(void)
{
    atomic_store(&as_own_threads, 0);
    pthread_mutex_init(&guest.call_lock, NULL);
    atomic_store(&guest.runs, false);
    atomic_store(&guest.call, CALL_NONE);
    atomic_store(&guest.sleeping, 0);
    atomic_store(&guest.caller, 0);
    guest.own_table = guest.keeps = false;
    guest.proc[AS_GUEST_STAT] = guest.proc[AS_GUEST_STATM] = -1;
    as_guest_release();
    forget_files();
}

/* Opens a file of ours for writing that not even its owner may write: he may change that for a
 * moment. */
static int open_sealed(const char *path)
{
    const int flags = O_NOFOLLOW | O_NONBLOCK;
    int fd = as_quiet_open(AT_FDCWD, path, O_RDWR | flags, 0), seen;
    struct as_file_id id;

    if (fd >= 0 || errno != EACCES)
        return fd;
    seen = as_quiet_open(AT_FDCWD, path, O_RDONLY | flags, 0);
    if (seen < 0 || !as_quiet_identify(seen, &id) || !as_quiet_chmod(seen, RING_OPEN)) {
        as_quiet_close(&seen);
        errno = EACCES;
        return -1;
    }
    fd = as_quiet_open(AT_FDCWD, path, O_RDWR | flags, 0);
    (void)as_quiet_chmod(seen, id.mode & 0777);
    as_quiet_close(&seen);
    return fd;
}

/* Rule 2: the file of that name, if it still is that one. */
static int reopen(const char *name, const struct as_file_id *own)
{
    char path[PATH_MAX];
    struct as_file_id id;
    int fd;

    if (own->inode == 0 || !guest.may_open ||
        snprintf(path, sizeof path, "%s%s", guest.folder, name) >= (int)sizeof path) {
        errno = EBADF;
        return -1;
    }
    fd = open_sealed(path);
    if (fd >= 0 && (!as_quiet_identify(fd, &id) || !as_file_is_same(&id, own))) {
        as_quiet_close(&fd);
        errno = ESTALE;
    }
    return fd;
}

int as_guest_borrow_run(void)
{
    struct as_run_claim *f = &guest.files;

    if (!guest.own_table && f->run_fd < 0)
        f->run_fd = reopen(f->temp_run[0] ? f->temp_run : f->run, &f->run_id);
    return f->run_fd;
}

int as_guest_borrow_ring(void)
{
    struct as_run_claim *f = &guest.files;

    if (!guest.own_table && f->ring_fd < 0)
        f->ring_fd = reopen(f->temp_ring[0] ? f->temp_ring : f->ring, &f->ring_id);
    return f->ring_fd;
}

static bool borrow_folder(void)
{
    struct as_run_claim *f = &guest.files;

    if (!guest.own_table && f->folder < 0 && guest.may_open && guest.folder[0])
        f->folder = as_quiet_open(AT_FDCWD, guest.folder, O_PATH | O_DIRECTORY, 0);
    return f->folder >= 0;
}

int as_guest_create(const char *path, const char *shown, struct assay_error *err)
{
    const char *slash = strrchr(path, '/');
    int rc;

    if (!guest.own_table && !guest.may_open)
        return as_fail(err, ASSAY_ERR_LIMIT,
                       "cannot create %s: the recorder gets no thread, and the program has several",
                       shown);
    rc = as_run_claim_open(&guest.files, path, shown, err);
    (void)snprintf(guest.folder, sizeof guest.folder, "%.*s/", slash ? (int)(slash - path) : 1,
                   slash ? path : ".");
    guest.created = true;
    if (rc < 0)
        as_guest_drop();
    return rc;
}

uint64_t as_guest_started(void)
{
    return guest.own_table || !guest.may_open ? 0 : as_ring_started();
}

void as_guest_drop(void)
{
    (void)borrow_folder();
    as_run_claim_drop(&guest.files);
    forget_files();
}

/* The number is used while nobody else is there who could give it another meaning. */
static void hold_lock(void)
{
    struct as_run_claim *f = &guest.files;
    int fd = as_guest_borrow_ring();

    guest.lock_id = f->ring_id;
    guest.lock_fd = fd < 0 ? -1 : as_quiet_raise(fd, false);
    if (guest.lock_fd >= 0)
        (void)as_quiet_lock(guest.lock_fd);
    as_quiet_close(&f->ring_fd);
}

void as_guest_hold(void)
{
    struct as_held held;

    as_signals_block(&held);
    guest.may_open = as_is_only_thread();
    if (!atomic_load(&guest.runs) && guest.may_open && guest.created)
        hold_lock();
    as_signals_restore(&held);
}

void as_guest_release(void)
{
    struct as_file_id id;
    struct as_held held;

    if (guest.lock_fd < 0)
        return;
    as_signals_block(&held);
    if (as_is_only_thread() && as_quiet_identify(guest.lock_fd, &id) &&
        as_file_is_same(&id, &guest.lock_id))
        as_quiet_close(&guest.lock_fd);
    guest.lock_fd = -1;
    as_signals_restore(&held);
}

int as_guest_publish(bool child, char path[PATH_MAX], struct assay_error *err)
{
    struct as_run_claim *files = &guest.files;
    size_t above = strlen(guest.folder);
    int rc;

    if (as_guest_borrow_run() < 0 || as_guest_borrow_ring() < 0 || !borrow_folder())
        return as_fail_sys(err, ASSAY_ERR_IO, "cannot put %s in place", files->path);
    if (!guest.own_table)
        (void)as_quiet_lock(files->ring_fd); /* refused when as_guest_hold() has it */
    rc = child ? as_run_claim_publish_free(files, err) : as_run_claim_publish(files, err);
    if (rc < 0)
        return rc;
    guest.created = false;
    if (child && above + strlen(files->run) < PATH_MAX)
        memcpy(path + above, files->run, strlen(files->run) + 1); /* it may have got a number */
    (void)as_quiet_chmod(files->ring_fd, RING_SEALED);
    return ASSAY_OK;
}

bool as_guest_is_in_place(void)
{
    const struct as_run_claim *f = &guest.files;
    struct as_file_id run, ring;

    return borrow_folder() && as_quiet_identify_at(f->folder, f->run, &run) &&
           as_file_is_same(&run, &f->run_id) && as_quiet_identify_at(f->folder, f->ring, &ring) &&
           as_file_is_same(&ring, &f->ring_id);
}

bool as_guest_finish(bool keeps_ring)
{
    struct as_run_claim *files = &guest.files;
    int run = as_guest_borrow_run();
    bool in_place = false;

    if (run >= 0)
        (void)as_quiet_sync(run);
    if (borrow_folder())
        in_place = as_run_claim_finish(files, keeps_ring);
    files->has_ring = false;
    as_guest_drop();
    return in_place;
}

bool as_guest_read_proc(enum as_guest_proc which, char *text, size_t size)
{
    struct iovec part = {text, size - 1};
    int fd = guest.proc[which];
    ssize_t n;

    if (!guest.own_table)
        fd = guest.may_open ? as_quiet_open(AT_FDCWD, proc_path[which], O_RDONLY, 0) : -1;
    n = fd < 0 ? -1 : (ssize_t)syscall(SYS_preadv, fd, &part, 1, 0L, 0L);
    if (!guest.own_table)
        as_quiet_close(&fd);
    text[n > 0 ? n : 0] = '\0';
    return n > 0;
}
