/* analyze/detect/leak_window.h - the documented leak test: the last reading of a window less its
 * first. Windows overlap, so one growth is seen again and again; analyze/detect/leak_trend.h tells
 * it once. */
#ifndef AS_ANALYZE_DETECT_LEAK_WINDOW_H
#define AS_ANALYZE_DETECT_LEAK_WINDOW_H

#include <assay/leaks.h>

#include "base/arena.h"
#include "base/error.h"

#define AS_LEAK_MAX_KEPT  10000
#define AS_LEAK_MAX_NAMES 4000000 /* of layers in all leaks kept, together */

struct as_leak_reading {
    double mb, time;
    const char *layer; /* the same pointer for the same layer; NULL: the process */
};

/* Begun by as_leak_window_init(). */
struct as_leak_window {
    double threshold_mb;
    size_t size;
    struct as_leak_reading *ring; /* reading r is at r % size */
    uint64_t n_readings;
    struct assay_leak *leaks;
    size_t n_leaks, capacity, n_names;
    uint64_t n_seen; /* all of them, kept or not */
    double sum_increase_mb, sum_rate;
    uint64_t told_until; /* readings below this are in a window that was told */
    struct as_arena arena;
};

AS_MUST_USE int as_leak_window_init(struct as_leak_window *w, double threshold_mb, size_t size,
                                    struct assay_error *err);
void as_leak_window_fini(struct as_leak_window *w);
void as_leak_window_reset(struct as_leak_window *w);

/* 1: the window that ends here grew by more than the threshold and does not overlap one that was
 * told; `tell` is it, borrowed until the next call. */
AS_MUST_USE int as_leak_window_add(struct as_leak_window *w, const struct as_leak_reading *reading,
                                   struct assay_leak *tell, struct assay_error *err);

#endif
