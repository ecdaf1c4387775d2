/* watch/watch_shm.h - the shares that an injected library makes in a folder, one a process.
 * They are found, read while their processes run, recorded when those have ended, and removed. */
#ifndef AS_WATCH_WATCH_SHM_H
#define AS_WATCH_WATCH_SHM_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/error.h"
#include "probe/heap/heap_watch.h"
#include "probe/process/process_tree.h"
#include "watch/watch_record.h"

#define AS_WATCH_SHM_MAX 256 /* recorded; more are counted and left */

struct as_watch_shm;

AS_MUST_USE int as_watch_shm_new(struct as_watch_shm **out, const char *folder, bool heap,
                                 bool gemm, struct assay_error *err);
void as_watch_shm_free(struct as_watch_shm *shm);

/* Looks for shares that are new in the folder. */
void as_watch_shm_find(struct as_watch_shm *shm);

/* Of the resident memory of the processes watched, what is ours. */
struct as_watch_inside {
    uint64_t table_bytes; /* anonymous */
    uint64_t share_bytes; /* of files in memory */
};

/* What is ours of the resident memory of all processes watched, now: read it right beside theirs.
 */
void as_watch_shm_inside(const struct as_watch_shm *shm, struct as_watch_inside *inside);

/* One reading, `seconds` after the run began: the live bytes of all processes watched, and a point
 * in the series of every site. False when none is watched; the bytes are 0 then. */
bool as_watch_shm_read(struct as_watch_shm *shm, double seconds, uint64_t *live_bytes);

/* Puts those whose processes have ended into the open session; all of them when `tree` is NULL.
 * What cannot be recorded leaves its sentence in `err`; the others are recorded all the same. */
AS_MUST_USE int as_watch_shm_record(struct as_watch_shm *shm, const struct as_process_tree *tree,
                                    struct assay_error *err);

/* Whether the heap of that process was watched; of any when `pid` is 0. */
bool as_watch_shm_watched(const struct as_watch_shm *shm, int64_t pid);

/* What is known of a heap that is no longer the process's. */
struct as_heap_lost {
    uint64_t exec_ns; /* on the clock of as_clock_mono_ns(); 0: unknown */
    uint64_t allocations;
    bool recorded;   /* what it was before: the new program was to be watched, too */
    const char *why; /* the library could not go along; "": not told. Borrowed */
};

/* Whether that process went on as another program, which was not watched. Its heap before is not
 * recorded, unless children are followed: it would be taken for the program's. Once all are
 * recorded. */
bool as_watch_shm_lost(const struct as_watch_shm *shm, int64_t pid, struct as_heap_lost *out);

/* When that process called exit(), on the clock of as_clock_mono_ns(); 0: it did not. Once it is
 * recorded. */
uint64_t as_watch_shm_exit_ns(const struct as_watch_shm *shm, int64_t pid);

/* What the heap of that process held when it called exit() or left main; NaN: unknown. Once it is
 * recorded. */
double as_watch_shm_exit_live_bytes(const struct as_watch_shm *shm, int64_t pid);

/* The kernel's peak of that process less what was ours of it, read by itself as it ended; 0: it was
 * killed, or went on as another program. Once it is recorded. It is the program's word: whoever
 * uses it checks it. */
uint64_t as_watch_shm_peak_bytes(const struct as_watch_shm *shm, int64_t pid);

/* A peak as the kernel reports it, less what was ours of it, when it is one of a process watched;
 * else as it is. */
uint64_t as_watch_shm_less_own(const struct as_watch_shm *shm, uint64_t peak_bytes);

/* A library of matrix products that a process had loaded although no product was seen at all; NULL:
 * there was none, or nobody could tell. Once all are recorded. */
const char *as_watch_shm_unseen_library(const struct as_watch_shm *shm);

/* For which processor the OpenBLAS that was called has chosen its kernels; NULL: not known. Once
 * all are recorded. */
const char *as_watch_shm_core(const struct as_watch_shm *shm);

/* Why a process stopped being counted, a static sentence: it was about to forbid itself system
 * calls, or to lock its memory. NULL: none did. Once all are recorded. */
const char *as_watch_shm_quiet(const struct as_watch_shm *shm);

size_t as_watch_shm_left_out(const struct as_watch_shm *shm);

/* ---- heap_series.c ---- */

#define AS_HEAP_SERIES_SAMPLES 256
#define AS_SITE_SERIES_MAX     256 /* sites that held most */

struct as_heap_sample {
    double seconds;
    uint64_t *live_bytes; /* [id] */
    size_t n;
};

/* {0} is empty. */
struct as_heap_series {
    struct as_heap_sample point[AS_HEAP_SERIES_SAMPLES];
    size_t n;
    uint32_t stride, waited; /* samples between two points; 0: every one */
    double next_seconds;     /* not before: one costs */
};

/* Takes a reading of the sites with ids below `n_ids`, or leaves it when the last is not long ago,
 * or without memory. */
void as_heap_series_add(struct as_heap_series *points, struct as_heap_watch *watch, size_t n_ids,
                        double seconds);

/* The series of the sites that held most at any point, in `arena`. */
AS_MUST_USE int as_heap_series_series(const struct as_heap_series *points, struct as_arena *arena,
                                      struct as_site_series **out, size_t *n,
                                      struct assay_error *err);

void as_heap_series_fini(struct as_heap_series *points);

#endif
