/* base/alloc.h - the only door to the heap, so that tests can make any allocation fail.
 * Sizes of arrays are multiplied here, checked; a failure is NULL, never an abort. */
#ifndef AS_BASE_ALLOC_H
#define AS_BASE_ALLOC_H

#include <stddef.h>
#include <stdint.h>

/* Memory of `size` bytes, or NULL. Freed with as_free(). */
void *as_alloc(size_t size) __attribute__((malloc, warn_unused_result));

/* Zeroed memory for `count` things of `size` bytes, or NULL. */
void *as_alloc_zero(size_t count, size_t size) __attribute__((malloc, warn_unused_result));

/* `old` grown or shrunk to `count` things of `size` bytes; on NULL the old block stays. */
void *as_realloc(void *old, size_t count, size_t size) __attribute__((warn_unused_result));

/* A copy of `text` the caller owns, or NULL. */
char *as_strdup(const char *text) __attribute__((malloc, warn_unused_result));

/* Accepts NULL. */
void as_free(void *block);

/* In builds made with ASSAY_FAULTS: allocation number `nth` (from 1) fails, and every later one too
 * when `persistent`. 0 switches failing off. Elsewhere it does nothing. */
void as_alloc_fail_at(uint64_t nth, int persistent);

/* How many allocations were asked for since as_alloc_fail_at(); 0 in builds without ASSAY_FAULTS.
 */
uint64_t as_alloc_count(void);

#endif
