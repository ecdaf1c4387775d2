/* analyze/run/timeline.c - every call of a run in the order the calls ended, all threads together.
 * Streams: memory does not grow with the length of the run. */
#include "analyze/run/timeline.h"

#include <assay/scope.h>
#include <string.h>

#include "base/alloc.h"
#include "base/vec.h"

/* The calls of one thread that ended within the events read so far. */
struct lane {
    struct as_timeline *timeline;
    struct as_span_walker *walker;
    struct as_span_visitor visitor;
    struct as_span *queue;
    size_t n, at, capacity;
    bool done;
};

struct as_timeline {
    struct as_run *run;
    struct lane *lane;
    size_t n_lanes;
    size_t *heap; /* lanes with a call waiting, the earliest end first */
    size_t n_heap;
    bool started, no_memory;
    uint64_t number, cumulative_ns;
};

static bool is_call(const struct as_run *run, uint32_t site)
{
    uint32_t category = as_run_site_at(run, site)->category;

    return category == ASSAY_CATEGORY_LAYER || category == ASSAY_CATEGORY_FUNCTION
    || category == ASSAY_CATEGORY_TIMER;
}

static void keep(void *user, const struct as_span *span)
{
    struct lane *lane = user;

    if (!is_call(lane->timeline->run, span->site))
        return;
    if (!AS_VEC_RESERVE(lane->queue, lane->n, lane->capacity)) {
        lane->timeline->no_memory = true;
        return;
    }
    lane->queue[lane->n++] = *span;
}

struct as_timeline *as_timeline_new(struct as_run *run)
{
    struct as_timeline *t = as_alloc_zero(1, sizeof *t);

    if (!t)
        return NULL;
    t->run = run;
    t->lane = as_alloc_zero(run->n_threads, sizeof *t->lane);
    t->heap = as_alloc_zero(run->n_threads, sizeof *t->heap);
    if (!t->lane || !t->heap) {
        as_timeline_free(t);
        return NULL;
    }
    for (size_t i = 0; i < run->n_threads; i++) {
        struct lane *lane = &t->lane[i];

        lane->timeline = t;
        lane->visitor = (struct as_span_visitor){.user = lane, .end = keep};
        lane->walker = as_span_walker_new(run, &run->thread[i], &lane->visitor);
        if (!lane->walker) {
            as_timeline_free(t);
            return NULL;
        }
        t->n_lanes++;
    }
    return t;
}

void as_timeline_free(struct as_timeline *t)
{
    if (!t)
        return;
    for (size_t i = 0; t->lane && i < t->n_lanes; i++) {
        as_span_walker_free(t->lane[i].walker);
        as_free(t->lane[i].queue);
    }
    as_free(t->lane);
    as_free(t->heap);
    as_free(t);
}

/* Reads on until the lane has a call to give or is at its end. */
static int fill(struct as_timeline *t, struct lane *lane, struct assay_error *err)
{
    if (lane->at == lane->n)
        lane->at = lane->n = 0;
    while (lane->at == lane->n && !lane->done) {
        int rc = as_span_walker_step(lane->walker, err);

        if (rc < 0)
            return rc;
        if (t->no_memory)
            return as_fail_nomem(err);
        lane->done = rc == 0;
    }
    return ASSAY_OK;
}

static uint64_t end_of(const struct as_timeline *t, size_t lane)
{
    return t->lane[lane].queue[t->lane[lane].at].end_ns;
}

static bool earlier(const struct as_timeline *t, size_t a, size_t b)
{
    uint64_t x = end_of(t, a), y = end_of(t, b);

    return x != y ? x < y : a < b;
}

static void sift_down(struct as_timeline *t, size_t i)
{
    for (;;) {
        size_t least = i, left = 2 * i + 1, kept;

        if (left < t->n_heap && earlier(t, t->heap[left], t->heap[least]))
            least = left;
        if (left + 1 < t->n_heap && earlier(t, t->heap[left + 1], t->heap[least]))
            least = left + 1;
        if (least == i)
            return;
        kept = t->heap[i];
        t->heap[i] = t->heap[least];
        t->heap[least] = kept;
        i = least;
    }
}

static int start(struct as_timeline *t, struct assay_error *err)
{
    for (size_t i = 0; i < t->n_lanes; i++) {
        int rc = fill(t, &t->lane[i], err);

        if (rc < 0)
            return rc;
        if (t->lane[i].at < t->lane[i].n)
            t->heap[t->n_heap++] = i;
    }
    for (size_t i = t->n_heap; i-- > 0;)
        sift_down(t, i);
    t->started = true;
    return ASSAY_OK;
}

int as_timeline_next(struct as_timeline *t, struct as_timeline_entry *out, struct assay_error *err)
{
    struct lane *lane;
    int rc = t->started ? ASSAY_OK : start(t, err);

    if (rc < 0 || t->n_heap == 0)
        return rc;
    lane = &t->lane[t->heap[0]];
    out->span = lane->queue[lane->at++];
    if (out->span.state == AS_SPAN_OK || out->span.state == AS_SPAN_FAILED)
        t->cumulative_ns += out->span.end_ns - out->span.start_ns;
    out->cumulative_ns = t->cumulative_ns;
    out->number = t->number++;
    rc = fill(t, lane, err);
    if (rc < 0)
        return rc;
    if (lane->at == lane->n)
        t->heap[0] = t->heap[--t->n_heap];
    if (t->n_heap)
        sift_down(t, 0);
    return 1;
}
