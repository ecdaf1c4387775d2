/* trace/record/session.c - opens and ends the one recording session of the process, and follows it
 * through fork(). Everything that can fail happens before the first event; an older run is put
 * aside last.
 */
#include <assay/session.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/error.h"
#include "base/output.h"
#include "trace/record/event_code.h"
#include "trace/record/layer_now.h"
#include "trace/record/recorder.h"
#include "trace/record/session_env.h"
#include "trace/record/site_table.h"
#include "trace/run/run_meta.h"
#include "trace/run/run_path.h"
#include "trace/run/short_report.h"

#define R as_recorder

struct as_recorder as_recorder = {
    .lock = PTHREAD_MUTEX_INITIALIZER,
    .file_lock = PTHREAD_MUTEX_INITIALIZER,
    .epoch = 1,
    .file = {.fd = -1},
};

const char *assay_version(void)
{
    return ASSAY_VERSION;
}

static void set_gate(uint64_t epoch)
{
    __atomic_store_n(&assay_gate_.epoch, epoch, __ATOMIC_RELEASE);
}

bool as_recorder_put(uint16_t kind, const void *payload, size_t size, uint32_t records)
{
    bool ok;

    if (R.file.sys)
        return false;
    R.file.fd = as_guest_borrow_run();
    if (R.file.fd < 0)
        R.file.sys = errno;
    ok = as_run_writer_add(&R.file, kind, payload, size, records);
    if (R.file.sys)
        atomic_store(&R.failed, true);
    R.file.fd = -1;
    return ok;
}

struct block {
    const void *payload;
    size_t size;
    uint32_t records;
    uint16_t kind;
    bool ok;
};

static void write_block(void *argument)
{
    struct block *b = argument;

    pthread_mutex_lock(&R.file_lock);
    b->ok = as_recorder_put(b->kind, b->payload, b->size, b->records);
    pthread_mutex_unlock(&R.file_lock);
}

bool as_recorder_write(uint16_t kind, const void *payload, size_t size, uint32_t records)
{
    struct block block = {payload, size, records, kind, false};

    as_guest_call(write_block, &block);
    return block.ok;
}

void as_recorder_anchor(void)
{
    struct as_clock_anchor anchor = as_clock_read_anchor(R.clock);
    uint8_t entry[4 * AS_VARINT_MAX], *to = entry;

    to = as_put_varint(to, anchor.ticks);
    to = as_put_varint(to, anchor.width);
    to = as_put_varint(to, anchor.mono_ns);
    to = as_put_varint(to, anchor.real_ns);
    as_recorder_write(AS_BLOCK_CLOCK, entry, (size_t)(to - entry), 0);
}

void as_recorder_put_sites(void)
{
    const uint8_t *to = atomic_load_explicit(&R.sites_to, memory_order_acquire);

    if (!to || to == R.sites_at)
        return;
    as_recorder_put(AS_BLOCK_SITES, R.sites_at, (size_t)(to - R.sites_at), 0);
    R.sites_at = to;
}

static void forget_losses(void)
{
    for (int i = 0; i < AS_LOSS_REASON_COUNT; i++)
        atomic_store_explicit(&R.lost[i], 0, memory_order_relaxed);
}

/* A process made by a bare clone() has our memory and none of our threads: its session is its
 * parent's. */
static bool is_owner(void)
{
    return atomic_load_explicit(&R.owner, memory_order_relaxed) == getpid();
}

static void put_sites(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&R.file_lock);
    as_recorder_put_sites();
    pthread_mutex_unlock(&R.file_lock);
}

/* A name is in the file before the first event that uses it, so that a kill in between costs
 * nothing. Should the recorder's thread not come to run for long, it is written with the events. */
static void sites_to_file(const void *entries, size_t size)
{
    if (!atomic_load_explicit(&R.sites_to, memory_order_relaxed))
        R.sites_at = entries;
    atomic_store_explicit(&R.sites_to, (const uint8_t *)entries + size, memory_order_release);
    if (!is_owner())
        return;
    if (as_guest_has_thread() && !as_guest_is_here())
        as_guest_need();
    else
        as_guest_call(put_sites, NULL);
}

/* ---- fork ---- */

static struct as_held fork_mask; /* of the thread that forks; under the lock */

static void before_fork(void)
{
    struct as_held saved;

    as_signals_block(&saved); /* a handler's mark would wait for the locks we take */
    pthread_mutex_lock(&R.lock);
    as_sites_lock();
    as_guest_lock();
    pthread_mutex_lock(&R.file_lock);
    fork_mask = saved;
}

static void after_fork_in_parent(void)
{
    struct as_held saved = fork_mask;

    pthread_mutex_unlock(&R.file_lock);
    as_guest_unlock();
    as_sites_unlock();
    pthread_mutex_unlock(&R.lock);
    as_signals_restore(&saved);
}

static void forget_spare(void)
{
    as_lane_unmap(atomic_exchange(&R.spare, NULL));
    atomic_store(&R.wants_spare, false);
    atomic_store(&R.keeps_spare, false);
    R.next_index = 0;
}

/* The child has one thread, and the parent's ring still in its memory: it lets go of it before
 * anything else. */
static void leave_parent(bool follow)
{
    bool was_open = R.state != AS_RECORDER_CLOSED;

    pthread_mutex_init(&R.file_lock, NULL);
    pthread_mutex_init(&R.lock, NULL);
    set_gate(0);
    as_guest_forget();
    if (!was_open)
        return;
    as_sites_follow(NULL); /* until the child has a file, which gets all names then */
    for (uint32_t i = 0; i < R.n_lanes; i++) {
        if (R.lane[i] == assay_lane_.ring)
            as_lane_detach(R.lane[i]);
        else
            as_lane_unmap(R.lane[i]);
    }
    R.n_lanes = 0;
    forget_spare();
    as_lane_forget();
    as_memory_samples_forget();
    R.file.fd = -1; /* of the parent's table */
    R.sites_at = NULL;
    atomic_store(&R.sites_to, NULL);
    R.n_threads = 0;
    R.report_path[0] = '\0'; /* the parent's */
    R.temporary = R.from_environment = false;
    forget_losses();
    R.state = follow ? AS_RECORDER_CHILD : AS_RECORDER_CLOSED;
    if (follow) {
        R.drains_inline = true;
        R.epoch++;
        atomic_store(&R.owner, getpid());
        atomic_store(&R.live, R.epoch);
        set_gate(R.paused ? 0 : R.epoch);
    }
}

static void after_fork_in_child(void)
{
    struct as_held saved = fork_mask;

    as_sites_unlock();
    leave_parent(R.follow_fork && R.state != AS_RECORDER_CLOSED);
    as_signals_restore(&saved);
}

/* ---- opening ---- */

/* What is done where the files are; the error is the caller's. */
struct file_work {
    const char *path;
    bool child;
    int rc;
    struct assay_error *err;
};

/* The run and its ring, both under names of their own. */
static int create_files(const char *path, struct assay_error *err)
{
    int rc, fd;

    as_run_header_new(&R.header);
    rc = as_guest_create(R.full, path, err);
    if (rc < 0)
        return rc;
    fd = as_guest_borrow_run();
    rc = as_run_writer_open(&R.file, fd, &R.header, err);
    atomic_store(&R.failed, false);
    R.ring_is_gone = false;
    R.file.fd = -1;
    if (rc < 0)
        return as_fail_sys(err, ASSAY_ERR_IO, "cannot write %s", path);
    rc = as_ring_create(as_guest_borrow_ring(), R.header.id, R.n_chunks, as_guest_started(), err);
    if (rc < 0)
        return as_fail_sys(err, ASSAY_ERR_IO, "cannot write %s.ring", path);
    if (!as_recorder_write(AS_BLOCK_META, R.meta, R.meta_size, 0)) {
        errno = R.file.sys;
        return as_fail_sys(err, ASSAY_ERR_IO, "cannot write %s", path);
    }
    return ASSAY_OK;
}

static void create_work(void *argument)
{
    struct file_work *w = argument;

    w->rc = create_files(w->path, w->err);
}

static void publish_work(void *argument)
{
    struct file_work *w = argument;

    w->rc = as_guest_publish(w->child, R.full, w->err);
}

static void drop_work(void *unused)
{
    (void)unused;
    as_guest_drop();
    R.file.fd = -1;
}

static int run_work(void (*work)(void *), const char *path, bool child, struct assay_error *err)
{
    struct file_work w = {path, child, ASSAY_OK, err};

    as_guest_call(work, &w);
    return w.rc;
}

/* Facts of the child that differ from its parent's; a later meta block wins. */
static void write_child_meta(void)
{
    char json[96];
    int n = snprintf(json, sizeof json, "{\"pid\":%ld,\"parent_pid\":%ld}", (long)getpid(),
                     (long)getppid());

    as_recorder_write(AS_BLOCK_META, json, (size_t)n, 0);
}

/* The child's names, files and facts. */
static void create_child_work(void *argument)
{
    struct file_work *w = argument;
    char path[PATH_MAX];

    w->rc = ASSAY_ERR_LIMIT;
    if (!as_run_path_child(path, sizeof path, R.full, (long)getpid()))
        return;
    memcpy(R.path, path, sizeof path);
    memcpy(R.full, path, sizeof path);
    w->rc = create_files(R.full, w->err);
    if (w->rc < 0)
        return;
    write_child_meta();
    as_recorder_anchor();
}

static void publish_child_work(void *argument)
{
    as_recorder_anchor();
    publish_work(argument);
}

/* By a mark: without an error's sentence, which nobody would read. */
bool as_recorder_open_child(void)
{
    int rc;

    R.state = AS_RECORDER_CLOSED; /* until all of this worked; a second try would fail alike */
    rc = run_work(create_child_work, NULL, true, NULL);
    if (rc == ASSAY_OK) {
        as_sites_follow(sites_to_file);
        rc = run_work(publish_child_work, NULL, true, NULL);
    }
    if (rc < 0) {
        as_guest_call(drop_work, NULL);
        as_sites_follow(NULL);
        set_gate(0);
        return false;
    }
    R.state = AS_RECORDER_OPEN;
    return true;
}

static int take_options(const struct assay_session_options *given, struct assay_session_options *o,
                        struct assay_error *err)
{
    int rc = as_sized_take(o, sizeof *o, given, "options of a session", err);

    if (rc < 0)
        return rc;
    if (o->report_path && strlen(o->report_path) >= PATH_MAX)
        return as_fail(err, ASSAY_ERR_LIMIT, "the path of the report is too long");
    if (o->ring_kib == 0)
        o->ring_kib = 512;
    if (o->ring_kib < 128 || o->ring_kib > 64 * AS_RING_MAX_CHUNKS || o->ring_kib % 64 != 0)
        return as_fail(err, ASSAY_ERR_USAGE, "ring_kib is %u; it takes 128 to 4096 in steps of 64",
                       o->ring_kib);
    if (o->memory_interval_ms > 3600000)
        return as_fail(err, ASSAY_ERR_USAGE, "memory_interval_ms is %u; it takes up to an hour",
                       o->memory_interval_ms);
    return ASSAY_OK;
}

/* What lasts for the whole process. */
static int prepare_process(struct assay_error *err)
{
    static bool done;

    if (done)
        return ASSAY_OK;
    if (!R.packed) {
        void *packed = mmap(NULL, AS_CHUNK_PACKED_BYTES, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        R.packed = packed == MAP_FAILED ? NULL : packed;
    }
    /* The handlers last: a second try must not register them twice. */
    if (!R.packed || !as_lane_prepare() || !as_guest_prepare() || !as_sites_prepare() ||
        pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child) != 0)
        return as_fail_nomem(err);
    /* A child made without our handlers (clone) finds the gate shut. Refused on odd memory layouts,
     * which costs only that. */
    (void)!madvise(&assay_gate_, sizeof assay_gate_, MADV_WIPEONFORK);
    done = true;
    return ASSAY_OK;
}

static int configure(const char *path, const struct assay_session_options *o,
                     struct assay_error *err)
{
    struct as_clock_choice choice = as_clock_choose(o->clock == ASSAY_CLOCK_BEST);
    int n;

    R.clock = choice.kind;
    R.clock_reason = choice.reason;
    R.wait_when_full = o->overflow == ASSAY_OVERFLOW_WAIT;
    R.follow_fork = o->fork == ASSAY_FORK_FOLLOW;
    R.drains_inline = R.paused = R.from_environment = R.temporary = false;
    R.report_path[0] = '\0';
    if (o->report_path &&
        (strcmp(o->report_path, "-") == 0 || !as_run_path_absolute(R.report_path, o->report_path)))
        (void)snprintf(R.report_path, sizeof R.report_path, "%s", o->report_path);
    forget_spare();
    R.sites_at = NULL;
    atomic_store(&R.sites_to, NULL);
    R.n_chunks = o->ring_kib / 64;
    R.n_threads = 0;
    R.pair_ticks = R.floor_ticks = 0;
    atomic_store(&R.n_lanes, 0);
    forget_losses();
    if (snprintf(R.path, sizeof R.path, "%s", path) >= (int)sizeof R.path)
        return as_fail(err, ASSAY_ERR_LIMIT, "the path of the run is too long");
    if (!as_run_path_absolute(R.full, path)) /* a folder without a name: as long as it lasts */
        memcpy(R.full, R.path, sizeof R.full);
    n = as_run_meta_write(
        &(struct as_run_meta){
            .label = o->label,
            .clock = as_clock_name(R.clock),
            .clock_reason = R.clock_reason,
            .ring_bytes = (uint64_t)R.n_chunks * AS_CHUNK_BYTES,
            .when_full = R.wait_when_full ? "wait" : "drop",
        },
        R.meta, sizeof R.meta, err);
    if (n < 0)
        return n;
    R.meta_size = (size_t)n;
    return ASSAY_OK;
}

/* The first lane is made here, so that the cost can be measured where nothing is yet recorded. */
static int make_first_lane(struct assay_error *err)
{
    struct as_lane *lane = NULL;
    char json[128];
    int n;

    as_guest_call(as_lane_make_work, &lane);
    if (!lane)
        return as_fail_nomem(err);
    R.lane[0] = lane;
    atomic_store(&R.n_lanes, 1);
    as_lane_measure_cost(lane);
    n = snprintf(json, sizeof json,
                 "{\"cost\":{\"pair_ticks\":%llu,\"floor_ticks\":%llu},\"crash_safe\":%s}",
                 (unsigned long long)R.pair_ticks, (unsigned long long)R.floor_ticks,
                 lane->crash_safe ? "true" : "false");
    as_recorder_write(AS_BLOCK_META, json, (size_t)n, 0);
    return ASSAY_OK;
}

static int open_locked(const char *path, const struct assay_session_options *o,
                       struct assay_error *err)
{
    int rc;

    if (R.state != AS_RECORDER_CLOSED && R.from_environment)
        return as_fail(
            err, ASSAY_ERR_STATE,
            "the environment (ASSAY_RUN or ASSAY_REPORT) already has this process recorded "
            "into %s: unset it to let the program choose",
            R.path);
    if (R.state != AS_RECORDER_CLOSED)
        return as_fail(err, ASSAY_ERR_STATE, "a session is already recording into %s", R.path);
    rc = prepare_process(err);
    if (rc == ASSAY_OK)
        rc = as_run_path_check(path, err);
    if (rc == ASSAY_OK)
        rc = as_folder_make_above(path, 0777, err);
    if (rc == ASSAY_OK)
        rc = configure(path, o, err);
    if (rc < 0)
        return rc;
    R.epoch++;
    atomic_store(&R.owner, getpid());
    R.drains_inline = !as_guest_start(as_mover_main, as_mover_retire); /* slower, and still right */
    rc = run_work(create_work, path, false, err);
    if (rc < 0)
        goto out;
    as_guest_hold();
    as_recorder_anchor();
    rc = make_first_lane(err);
    if (rc < 0)
        goto out;
    as_sites_follow(sites_to_file);
    as_recorder_anchor(); /* the second, so that even a run killed at once can be placed in time */
    if (R.file.sys) {
        errno = R.file.sys;
        rc = as_fail_sys(err, ASSAY_ERR_IO, "cannot write %s", path);
        goto out;
    }
    rc = run_work(publish_work, path, false, err);
    if (rc < 0)
        goto out;
    as_memory_samples_open(o->memory_interval_ms);
    R.state = AS_RECORDER_OPEN;
    atomic_store(&R.live, R.epoch);
    as_guest_wake();
    as_lane_watch_first();
    set_gate(R.epoch);
    as_layer_source_offer(true);
out:
    if (rc < 0) {
        as_sites_follow(NULL);
        as_guest_call(drop_work, NULL);
        as_guest_release();
        as_guest_stop();
        if (atomic_load(&R.n_lanes))
            as_lane_unmap(R.lane[0]);
        atomic_store(&R.n_lanes, 0);
    }
    return rc;
}

static int open_session(const char *path, const struct assay_session_options *options,
                        struct assay_error *err)
{
    struct assay_session_options o;
    struct as_held saved;
    int rc;

    if (!path || !*path)
        return as_fail(err, ASSAY_ERR_USAGE, "a session needs the path of the run to record");
    rc = take_options(options, &o, err);
    if (rc < 0)
        return rc;
    as_signals_block(&saved);
    if (R.state != AS_RECORDER_CLOSED && !is_owner())
        leave_parent(false); /* nobody else is here who could hold the lock */
    pthread_mutex_lock(&R.lock);
    rc = open_locked(path, &o, err);
    pthread_mutex_unlock(&R.lock);
    as_signals_restore(&saved);
    return rc;
}

int assay_session_open(const char *path, const struct assay_session_options *options,
                       struct assay_error *err)
{
    return open_session(path, options, err);
}

int as_session_open_for_environment(const char *path, const struct assay_session_options *options,
                                    bool temporary, struct assay_error *err)
{
    int rc = open_session(path, options, err);

    if (rc == ASSAY_OK) { /* the library is being loaded: nobody else looks yet */
        R.from_environment = true;
        R.temporary = temporary;
    }
    return rc;
}

/* Whether the marks and calls of the program come to this copy of the recorder. A plugin may have
 * another in it, whose public functions the dynamic linker leads to the program's; its own state is
 * then never used. */
ASSAY_API char assay_recorder_;
ASSAY_API char assay_recorder_ = 1;
extern __attribute__((alias("assay_recorder_"), visibility("hidden"))) char own_recorder;

static bool is_in_use(void)
{
    const char *used = &assay_recorder_, *own = &own_recorder;

    __asm__("" : "+r"(used), "+r"(own)); /* the compiler may hold two names for two objects */
    return used == own;
}

__attribute__((constructor)) static void open_at_start(void)
{
    if (is_in_use())
        as_session_from_environment();
}

/* ---- ending ---- */

static uint64_t total_lost(void)
{
    uint64_t lost = 0;

    for (int i = 0; i < AS_LOSS_REASON_COUNT; i++)
        lost += atomic_load_explicit(&R.lost[i], memory_order_relaxed);
    return lost;
}

static void write_tail(void)
{
    uint8_t entry[4 * AS_VARINT_MAX], *to;

    for (uint32_t i = 0; i < AS_LOSS_REASON_COUNT; i++) {
        uint64_t lost = atomic_load(&R.lost[i]);

        if (!lost)
            continue;
        to = as_put_varint(entry, i);
        to = as_put_varint(to, lost);
        as_recorder_write(AS_BLOCK_LOSS, entry, (size_t)(to - entry), 0);
    }
    to = as_put_varint(entry, R.file.events);
    to = as_put_varint(to, total_lost());
    to = as_put_varint(to, R.n_threads);
    as_recorder_write(AS_BLOCK_END, entry, (size_t)(to - entry), 0);
}

/* A lane whose thread still lives stays mapped: that thread gives it back at its next event or its
 * end. */
static void leave_lanes(void)
{
    as_lane_release(false);
    for (uint32_t i = 0; i < R.n_lanes; i++) {
        if (!atomic_load(&R.lane[i]->owned) && R.lane[i]->epoch == R.epoch)
            as_lane_unmap(R.lane[i]);
    }
    atomic_store(&R.n_lanes, 0);
    forget_spare();
}

/* What the ring cannot keep for its reader is lost. */
static void drain_lanes(void)
{
    as_drain_lanes(true);
    if (atomic_load(&R.failed) && !as_guest_is_in_place()) {
        pthread_mutex_lock(&R.file_lock);
        R.ring_is_gone = true;
        pthread_mutex_unlock(&R.file_lock);
        as_drain_lanes(true);
    }
}

static void drain_work(void *unused)
{
    (void)unused;
    as_memory_samples_close();
    drain_lanes();
    for (uint32_t i = 0; i < R.n_lanes; i++)
        as_lane_tell_loss(R.lane[i], R.lane[i]->head->thread, R.lane[i]->after_drained);
    as_recorder_anchor();
}

/* The account that the run has no capacity for stands in the ring, with what was not moved. */
static void tell_end_in_ring(void)
{
    uint64_t lost[AS_LOSS_REASON_COUNT];
    int ring = as_guest_borrow_ring();

    for (uint32_t i = 0; i < AS_LOSS_REASON_COUNT; i++)
        lost[i] = atomic_load(&R.lost[i]);
    if (ring >= 0)
        (void)as_ring_tell_end(ring, R.file.sys, lost);
}

static void finish_work(void *in_place)
{
    write_tail();
    if (R.file.sys)
        tell_end_in_ring();
    *(bool *)in_place = as_guest_finish(R.file.sys != 0);
    R.file.fd = -1;
}

static int close_locked(struct assay_error *err)
{
    bool in_place = false;
    int rc = ASSAY_OK;

    if (R.state == AS_RECORDER_CLOSED)
        return as_fail(err, ASSAY_ERR_STATE, "no session is open");
    as_layer_source_offer(false);
    set_gate(0);
    atomic_store(&R.live, 0);
    if (R.state == AS_RECORDER_CHILD) { /* a child that recorded nothing leaves no file */
        R.state = AS_RECORDER_CLOSED;
        return ASSAY_OK;
    }
    as_guest_call(drain_work, NULL);
    as_sites_follow(NULL);
    as_guest_call(finish_work, &in_place);
    as_guest_release();
    as_guest_stop();
    leave_lanes();
    R.state = AS_RECORDER_CLOSED;
    if (R.file.sys) {
        errno = R.file.sys;
        rc = as_fail_sys(err, ASSAY_ERR_IO, "cannot write %s", R.path);
    } else if (!in_place) {
        rc = as_fail(err, ASSAY_ERR_IO, "%s was removed or replaced while it was recorded", R.path);
    }
    return rc;
}

static int put_report(const char *run, const char *path, struct assay_error *err)
{
    const bool to_stderr = strcmp(path, "-") == 0;
    struct as_out out;
    int rc = to_stderr ? ASSAY_OK : as_folder_make_above(path, 0777, err);

    if (rc == ASSAY_OK)
        rc = to_stderr ? as_out_fd(&out, STDERR_FILENO, "standard error", err)
                       : as_out_file(&out, path, err);
    if (rc < 0)
        return rc;
    rc = as_short_report(run, &out, err);
    if (rc < 0) {
        as_out_drop(&out);
        return rc;
    }
    return as_out_close(&out, err);
}

/* What follows a session that has ended: its report, and the end of a run that was made for the
 * report alone. */
static int finish(const char *run, const char *report, bool temporary, struct assay_error *err)
{
    int rc = report[0] ? put_report(run, report, err) : ASSAY_OK;

    if (temporary)
        as_run_path_remove_alone(run);
    return rc;
}

/* Only the recorder's own state is looked at: the public functions may lead to another copy. */
static int close_session(bool by_program, struct assay_error *err)
{
    char run[PATH_MAX], report[PATH_MAX];
    bool temporary, recorded;
    struct as_held saved;
    int rc, finished, kept;

    if (!is_owner())
        return as_fail(err, ASSAY_ERR_STATE, "no session is open");
    as_signals_block(&saved);
    pthread_mutex_lock(&R.lock);
    if (by_program && R.from_environment && R.state != AS_RECORDER_CLOSED) {
        rc = as_fail(err, ASSAY_ERR_STATE,
                     "the session was opened by the environment and ends with the program");
        recorded = false;
    } else {
        memcpy(run, R.full, sizeof run);
        memcpy(report, R.report_path, sizeof report);
        temporary = R.temporary;
        recorded = R.state == AS_RECORDER_OPEN;
        rc = close_locked(err);
    }
    pthread_mutex_unlock(&R.lock);
    as_signals_restore(&saved);
    if (!recorded)
        return rc;
    kept = errno;
    finished = finish(run, report, temporary, rc < 0 ? NULL : err);
    errno = kept;
    return rc < 0 ? rc : finished;
}

int assay_session_close(struct assay_error *err)
{
    return close_session(true, err);
}

__attribute__((destructor)) static void close_at_exit(void)
{
    const bool from_environment = R.from_environment;
    struct assay_error err = {0};

    if (R.state != AS_RECORDER_CLOSED && close_session(false, &err) < 0 && from_environment)
        as_session_env_failed(err.msg);
}

bool assay_session_is_open(void)
{
    struct as_held saved;
    bool open;

    if (!is_owner())
        return false;
    as_signals_block(&saved);
    pthread_mutex_lock(&R.lock);
    open = R.state != AS_RECORDER_CLOSED;
    pthread_mutex_unlock(&R.lock);
    as_signals_restore(&saved);
    return open;
}

static void set_paused(bool paused)
{
    struct as_held saved;

    if (!is_owner())
        return;
    as_signals_block(&saved);
    pthread_mutex_lock(&R.lock);
    R.paused = paused;
    if (R.state != AS_RECORDER_CLOSED)
        set_gate(paused ? 0 : R.epoch);
    pthread_mutex_unlock(&R.lock);
    as_signals_restore(&saved);
}

void assay_session_pause(void)
{
    set_paused(true);
}

void assay_session_resume(void)
{
    set_paused(false);
}

uint64_t assay_session_lost(void)
{
    return total_lost();
}
