/* preload/heap_samples.h - stacks of allocations, one for so many bytes on average.
 * The distance is drawn anew each time, so that no pattern of sizes hides from it. */
#ifndef AS_PRELOAD_HEAP_SAMPLES_H
#define AS_PRELOAD_HEAP_SAMPLES_H

#include "heap_count.h"

/* Bytes until the next sample of the thread. */
uint64_t as_heap_sample_distance(struct as_heap_thread *self);

/* The thread has allocated that far, this block last: keeps its stack. Returns its number; 0: none
 * was kept. */
uint32_t as_heap_sample(struct as_heap_shm *heap, struct as_heap_thread *self, uint32_t layer,
                        uint64_t size_bytes);

/* A block whose stack was kept is freed. */
void as_heap_sample_freed(struct as_heap_shm *heap, const struct as_block *b);

#endif
