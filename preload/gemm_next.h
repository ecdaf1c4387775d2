/* preload/gemm_next.h - finds the functions behind ours, once for each place that calls.
 * Two libraries with functions of the same name may be private to two callers: each keeps its own.
 */
#ifndef AS_PRELOAD_GEMM_NEXT_H
#define AS_PRELOAD_GEMM_NEXT_H

#include "trace/shm/gemm_shm.h"

/* For the functions that take the place of others: seen from outside, by whom called, and where. */
#define AS_GEMM_EXPORT __attribute__((visibility("default")))
#define AS_GEMM_CALLER __builtin_return_address(0)
#define AS_GEMM_FRAME  __builtin_frame_address(0)

/* Functions that are called from here and not replaced, numbered after those that are. */
enum as_gemm_helper {
    AS_GEMM_CALL_VERSION = AS_GEMM_FUNCTION_COUNT,
    AS_GEMM_CALL_DESC,
    AS_GEMM_CALL_QUERY,
    AS_GEMM_CALL_QUERY_MD,
    AS_GEMM_CALL_COUNT
};

typedef void (*as_gemm_function)(void);

/* The function of that number and name which the code at `caller` would have called without us.
 * NULL when there is none. Keeps the library that has it from being unloaded. */
as_gemm_function as_gemm_find(unsigned number, const char *name, const void *caller);

/* The same for functions that cannot do without: the process ends, as it does without us when the
 * dynamic linker finds no such symbol. */
as_gemm_function as_gemm_next(unsigned number, const char *name, const void *caller);

#endif
