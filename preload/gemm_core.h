/* preload/gemm_core.h - for which processor an OpenBLAS has chosen its kernels, by its own word. */
#ifndef AS_PRELOAD_GEMM_CORE_H
#define AS_PRELOAD_GEMM_CORE_H

#include "trace/shm/gemm_shm.h"

/* Asks the library that has this function, once; nothing when it is not an OpenBLAS. Not for use
 * inside malloc. */
void as_gemm_core_ask(const void *function);

/* Writes the answer, when there is one that is not there yet. */
void as_gemm_core_put(struct as_gemm_header *header);

#endif
