/* preload/heap_start.h - the heap part of the share, made ready and handed on to children.
 * Called by attach.c alone, when nothing else of the program runs. */
#ifndef AS_PRELOAD_HEAP_START_H
#define AS_PRELOAD_HEAP_START_H

#include "trace/shm/target_shm.h"

/* Before anything else: finds the functions behind ours, whether they are counted or not. */
void as_heap_prepare(void);

/* The constructor's: from then on allocations are counted, unless the program brings a malloc of
 * its own; then the share says so. */
void as_heap_start(struct as_shm_header *shm);

/* How many cells the share knows; asked in a forked child, before it has one of its own. */
uint32_t as_heap_inherited(const struct as_shm_header *shm);

/* A forked child's, whose share is new: blocks of `inherited` cells are its parent's. */
void as_heap_follow(struct as_shm_header *shm, uint32_t inherited);

#endif
