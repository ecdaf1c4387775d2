/* probe/heap/gemm_watch.h - reads which matrix products and oneDNN primitives a watched process
 * ran. The bytes are hostile until checked. */
#ifndef AS_PROBE_HEAP_GEMM_WATCH_H
#define AS_PROBE_HEAP_GEMM_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "trace/shm/target_shm.h"

/* All calls of one function with one shape. */
struct as_gemm_calls {
    const char *function; /* "cblas_sgemm", "sgemm_", "dgesv_", "dnnl convolution", ...; static */
    const char *dtype;    /* "f32", "f64", ...; static */
    char shape[96];       /* "m 512 n 512 k 512", "n 512 nrhs 8", or that of source, weights and
                             destination */
    uint64_t m, n, k, batch; /* 0: not a product */
    uint64_t calls;
    double flops; /* of one call, 1 multiply-accumulate = 2 FLOPs; NaN: not known */
    uint64_t time_ns, min_ns, max_ns; /* wall time within the calls of all threads */
};

#define AS_GEMM_CORE_TEXT 32

/* For which processor an OpenBLAS in that process has chosen its kernels ("Haswell"); "": not
 * known, or another library. */
void as_gemm_watch_core(const char *path, char out[AS_GEMM_CORE_TEXT]);

/* Whether the function is one of LAPACK: a driver or a factorization, not a product. */
bool as_gemm_is_driver(const struct as_gemm_calls *calls);

/* The calls in the share at `path`, most time first, in `arena`. */
AS_MUST_USE int as_gemm_watch_read(const char *path, struct as_arena *arena,
                                   struct as_gemm_calls **out, size_t *n, uint64_t *unplaced,
                                   struct assay_error *err);

#endif
