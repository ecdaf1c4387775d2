/* preload/own_memory.h - how much of the program's resident memory is ours, now and at its peak. */
#ifndef AS_PRELOAD_OWN_MEMORY_H
#define AS_PRELOAD_OWN_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/shm/target_shm.h"

/* Notes it in the share: whenever the table of live blocks, which only grows, has grown by a
 * little, and when the program ends. Keeps errno. */
void as_own_memory_note(struct as_shm_header *shm);

/* Whether so much more may be mapped: of a limit to the address space, which the program may set at
 * any time, a small part is for us. What was mapped then is told to the other. */
bool as_own_memory_may_map(uint64_t bytes);
void as_own_memory_mapped(uint64_t bytes);

#endif
