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

/* The same at a multiple of `align`, a power of two of which `size` is a multiple. */
void *as_alloc_aligned(size_t align, size_t size) __attribute__((malloc, warn_unused_result));

/* Whole pages, zeroed, that go back to the system when they are freed; with huge ones where the
 * system has them. For large blocks that stay. */
void *as_alloc_pages(size_t size) __attribute__((warn_unused_result));
/* `size` as it was asked for. Accepts NULL. */
void as_free_pages(void *block, size_t size);

/* `old` grown or shrunk to `count` things of `size` bytes; on NULL the old block stays. */
void *as_realloc(void *old, size_t count, size_t size) __attribute__((warn_unused_result));

/* A copy of `text` the caller owns, or NULL. */
char *as_strdup(const char *text) __attribute__((malloc, warn_unused_result));

/* Accepts NULL. */
void as_free(void *block);

/* What the blocks above take of the heap now, pages apart; 0 where the heap does not report it. */
uint64_t as_alloc_live_bytes(void);

/* Writes into every page of the bytes `from` to `to`, which hold nothing yet: a block that is
 * filled bit by bit would otherwise make the process seem to grow. */
void as_touch(void *block, size_t from, size_t to);

/* Gives memory that is free back to the system, so that one phase of measuring does not change the
 * next. */
void as_alloc_tidy(void);

/* In builds made with ASSAY_FAULTS: allocation number `nth` (from 1) fails, and every later one too
 * when `persistent`. 0 switches failing off. Elsewhere it does nothing. */
void as_alloc_fail_at(uint64_t nth, int persistent);

/* How many allocations were asked for since as_alloc_fail_at(); 0 in builds without ASSAY_FAULTS.
 */
uint64_t as_alloc_count(void);

#endif
