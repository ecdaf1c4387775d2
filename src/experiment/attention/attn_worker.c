/* experiment/attention/attn_worker.c - threads and working memory of attention.
 * Every byte is counted here, and reported to the process's account. */
#include "experiment/attention/attn_worker.h"

#include <string.h>

#include <assay/memory.h>

#include "base/alloc.h"
#include "base/error.h"

int assay_attn_new(struct assay_attn **out, const struct assay_attn_options *options,
                   struct assay_error *err)
{
    struct assay_attn_options o;
    unsigned threads;
    struct assay_attn *attn;
    int rc;

    if (!out)
        return as_fail(err, ASSAY_ERR_USAGE, "no place for the worker was given");
    *out = NULL;
    rc = as_sized_take(&o, sizeof o, options, "options of a worker", err);
    if (rc < 0)
        return rc;
    threads = o.threads > 0 ? o.threads : 1;
    if (threads > AS_ATTN_MOST_THREADS)
        return as_fail(err, ASSAY_ERR_USAGE, "%u threads: 1 to %d are possible", threads,
                       AS_ATTN_MOST_THREADS);
    attn = as_alloc_zero(1, sizeof *attn);
    if (!attn)
        return as_fail_nomem(err);
    for (unsigned i = 0; i < AS_ATTN_MOST_THREADS; i++)
        atomic_flag_clear(&attn->taken[i]);
    attn->threads = threads;
    attn->kernels = as_attn_kernels_at(0);
    rc = as_thread_pool_new(&attn->pool, threads, err);
    if (rc < 0)
        as_free(attn);
    else
        *out = attn;
    return rc;
}

static void give_back(struct assay_attn *attn, size_t i)
{
    as_free(attn->buffer[i]);
    attn->buffer[i] = NULL;
    assay_memory_sub(ASSAY_MEMORY_TEMP, attn->buffer_bytes[i]);
    attn->usage.workspace_bytes -= attn->buffer_bytes[i];
    attn->buffer_bytes[i] = 0;
}

void assay_attn_reset_masks(struct assay_attn *attn)
{
    if (!attn)
        return;
    assay_hysteresis_free(attn->tracker);
    attn->tracker = NULL;
    as_attn_count_tracker(attn);
}

void assay_attn_free(struct assay_attn *attn)
{
    if (!attn)
        return;
    for (size_t i = 0; i < AS_ATTN_BUFFERS; i++)
        if (attn->buffer[i])
            give_back(attn, i);
    assay_attn_reset_masks(attn);
    as_thread_pool_free(attn->pool);
    as_free(attn);
}

void as_attn_count_tracker(struct assay_attn *attn)
{
    uint64_t bytes = as_hysteresis_bytes(attn->tracker);

    if (attn->tracker_bytes > 0)
        assay_memory_sub(ASSAY_MEMORY_TEMP, attn->tracker_bytes);
    if (bytes > 0)
        assay_memory_add(ASSAY_MEMORY_TEMP, bytes);
    attn->usage.workspace_bytes += bytes - attn->tracker_bytes;
    attn->tracker_bytes = bytes;
    if (bytes > 0 && attn->usage.workspace_bytes > attn->usage.peak_workspace_bytes)
        attn->usage.peak_workspace_bytes = attn->usage.workspace_bytes;
}

int as_attn_fit_one(struct assay_attn *attn, enum as_attn_buffer buffer, size_t need,
                    struct assay_error *err)
{
    size_t bytes = (need + 63) / 64 * 64;

    if (attn->buffer_bytes[buffer] == bytes)
        return ASSAY_OK;
    if (attn->buffer[buffer])
        give_back(attn, buffer);
    if (bytes == 0)
        return ASSAY_OK;
    attn->buffer[buffer] = as_alloc_aligned(64, bytes);
    if (!attn->buffer[buffer])
        return as_fail_nomem(err);
    attn->buffer_bytes[buffer] = bytes;
    assay_memory_add(ASSAY_MEMORY_TEMP, bytes);
    attn->usage.workspace_bytes += bytes;
    return ASSAY_OK;
}

int as_attn_fit(struct assay_attn *attn, const size_t need[AS_ATTN_BUFFERS],
                struct assay_error *err)
{
    int rc = ASSAY_OK;

    for (size_t i = 0; i < AS_ATTN_BUFFERS; i++)
        if (attn->buffer[i] && attn->buffer_bytes[i] != (need[i] + 63) / 64 * 64)
            give_back(attn, i);
    for (enum as_attn_buffer i = 0; i < AS_ATTN_BUFFERS && rc == ASSAY_OK; i++)
        rc = as_attn_fit_one(attn, i, need[i], err);
    if (attn->usage.workspace_bytes > attn->usage.peak_workspace_bytes)
        attn->usage.peak_workspace_bytes = attn->usage.workspace_bytes;
    return rc;
}

void assay_attn_read_usage(const struct assay_attn *attn, struct assay_attn_usage *out)
{
    if (out)
        *out = (struct assay_attn_usage){.size = sizeof *out};
    if (out && attn) {
        *out = attn->usage;
        out->size = sizeof *out;
    }
}

void assay_attn_reset_peak(struct assay_attn *attn)
{
    if (attn)
        attn->usage.peak_workspace_bytes = 0;
}

/* There are as many parts as threads, so one is free. */
unsigned as_attn_take_block(struct assay_attn *attn)
{
    for (unsigned i = 0;; i = (i + 1) % attn->threads)
        if (!atomic_flag_test_and_set_explicit(&attn->taken[i], memory_order_acquire))
            return i;
}

void as_attn_leave_block(struct assay_attn *attn, unsigned block)
{
    atomic_flag_clear_explicit(&attn->taken[block], memory_order_release);
}
