/* preload/gemm_record.h - the time of one product, from its call to its return, into the share.
 * A product within a product is part of the outer one and not counted again. */
#ifndef AS_PRELOAD_GEMM_RECORD_H
#define AS_PRELOAD_GEMM_RECORD_H

#include <stdbool.h>

#include "trace/shm/gemm_shm.h"

/* Whether the call is to be counted; then as_gemm_leave() follows. `frame` is the address of the
 * wrapper's frame: what is called from within lies below it, and what comes after a jump out of a
 * product does not. */
bool as_gemm_enter(const void *frame);

uint64_t as_gemm_now_ns(void);

/* Adds the call to the line of its key. Keeps errno. */
void as_gemm_leave(uint64_t start_ns, const struct as_gemm_key *key);

#endif
